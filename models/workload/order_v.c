/* Two chunks per stage, down the stages and up again, so that the last part of the model meets the first on stage 0.
 *
 * zb-v: Qi et al. 2023 (arXiv 2401.10241), section 6: stage s fills the wait for its first gradient with forward passes of
 * both chunks; in the steady state each micro-batch is F B W of the first chunk and F B W of the second; at the end s
 * pairs of weight gradients are held back.
 *
 * v-half, v-min: Qi et al. 2024, "Pipeline Parallelism with Controllable Memory" (arXiv 2405.15362), section 3: the four
 * passes of a micro-batch have fixed offsets on every stage, in units F = B = W = 1, and repeat every 6 units. How far the
 * offsets move from stage to stage is how long an activation lives, so it is the memory: (1, 1, 1, 1) for v-min,
 * (2, 1, 2, 1) for v-half. The order is what those times say; a stage that waits, or holds as much as the steady state
 * does, makes a weight gradient meanwhile. */
#include "models/workload/order.h"

/* --- zb-v -------------------------------------------------------------------------------------------------------- */

typedef struct counter {
    int64_t micro, done[4][2]; /* [kind][chunk] */
    pw_pass_fn *emit;
    void *object;
} counter;

static int64_t done(const counter *c, pw_pass_kind kind, int chunk) { return c->done[kind][chunk]; }

/* The next pass of a kind; beyond the last micro-batch nothing happens but the counting. */
static void put(counter *c, pw_pass_kind kind, int chunk) {
    int64_t micro = c->done[kind][chunk]++;
    if (micro < c->micro)
        c->emit(c->object, &(pw_pass){.kind = (uint8_t)kind, .chunk = (uint16_t)chunk, .micro = (int32_t)micro});
}

static void put_three(counter *c, int chunk) {
    put(c, PW_PASS_FORWARD, chunk);
    put(c, PW_PASS_INPUT, chunk);
    put(c, PW_PASS_WEIGHT, chunk);
}

void pw_order_zb_v(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    int64_t p = shape->stages, micro = shape->micro_batches, full = micro > 2 * p - 1 ? micro : 2 * p - 1;
    counter c = {.micro = micro, .emit = emit, .object = object};
    for (int64_t i = 0; i < 2 * (p - stage) - 1; i++) put(&c, PW_PASS_FORWARD, 0);
    for (int64_t i = 0; i < stage; i++) {
        put(&c, PW_PASS_FORWARD, 1);
        put(&c, PW_PASS_FORWARD, 0);
    }
    for (int64_t i = 0; i < p - stage; i++) put_three(&c, 1);
    while (done(&c, PW_PASS_FORWARD, 1) < done(&c, PW_PASS_FORWARD, 0) || done(&c, PW_PASS_FORWARD, 0) < full) {
        if (done(&c, PW_PASS_FORWARD, 0) < full) put(&c, PW_PASS_FORWARD, 0);
        put(&c, PW_PASS_INPUT, 0);
        put(&c, PW_PASS_WEIGHT, 0);
        put_three(&c, 1);
    }
    for (int64_t i = 0; i < stage; i++) {
        put(&c, PW_PASS_INPUT, 0);
        put(&c, PW_PASS_INPUT, 1);
    }
    for (int64_t i = 0; i < p - stage; i++) {
        put(&c, PW_PASS_INPUT, 0);
        put(&c, PW_PASS_WEIGHT, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--)
        while (done(&c, PW_PASS_WEIGHT, chunk) < full) put(&c, PW_PASS_WEIGHT, chunk);
}

/* --- v-half, v-min ------------------------------------------------------------------------------------------------ */

enum { FIRST_DOWN, FIRST_UP, BACK_DOWN, BACK_UP, STEPS }; /* F of chunk 0, F of 1, B of 1, B of 0: as a micro-batch goes */
enum { INTERVAL = 6 };

typedef struct block {
    int64_t start[STEPS];
} block;

/* Offsets of the passes of micro-batch 0 on a stage. Two passes of a stage never meet, whatever the micro-batches: starts
 * differ modulo 6. `gap` postpones the way back where they would. */
static block block_of(bool half, int64_t p, int64_t s) {
    int64_t gap;
    if (half) {
        gap = p % 2 == 0 ? 3 : 0;
        return (block){{2 * s, 3 * p - s - 2, 3 * p + gap + 2 * s - 1, 6 * p + gap - s - 2}};
    }
    gap = p % 3 == 0 ? 2 : 0;
    return (block){{s, 2 * p - s - 1, 2 * p + gap + s, 4 * p + gap - s - 1}};
}

typedef struct v_stage {
    block at;
    int64_t next[STEPS];     /* micro-batch of each step's next pass */
    int64_t finished[STEPS]; /* micro-batches whose step has ended */
    int64_t weights, weight_next[STEPS], passes; /* weight gradients that can be made */
    int64_t kept;            /* passes whose activations are alive */
} v_stage;

/* The step whose next pass comes first; STEPS at the end. */
static int earliest(const v_stage *stage, const int64_t *next, int64_t micro, int from) {
    int best = STEPS;
    for (int step = from; step < STEPS; step++) {
        if (next[step] >= micro) continue;
        if (best == STEPS || stage->at.start[step] + INTERVAL * next[step] < stage->at.start[best] + INTERVAL * next[best])
            best = step;
    }
    return best;
}

/* Whether what a pass needs has ended. */
static bool is_ready(const v_stage *stages, int64_t p, int64_t s, int step) {
    int64_t micro = stages[s].next[step];
    bool down = step == FIRST_DOWN || step == BACK_DOWN, turns = down ? s == 0 : s == p - 1;
    if (!turns) return stages[down ? s - 1 : s + 1].finished[step] > micro;
    return step == FIRST_DOWN || stages[s].finished[step - 1] > micro;
}

static void v_order(bool half, const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    int64_t p = shape->stages, micro = shape->micro_batches, left = p;
    int64_t most = half ? 2 * (p / 2) + 2 : 2 * ((p + 1) / 3) + 2; /* alive in the steady state of the fullest stage */
    v_stage stages[PW_ORDER_V_STAGES];
    for (int64_t s = 0; s < p; s++) stages[s] = (v_stage){.at = block_of(half, p, s)};
    while (left > 0) { /* one unit of time */
        int ended[PW_ORDER_V_STAGES];
        for (int64_t s = 0; s < p; s++) {
            v_stage *here = &stages[s];
            ended[s] = STEPS;
            if (here->passes == INTERVAL * micro) continue;
            int step = earliest(here, here->next, micro, 0);
            pw_pass pass = {0};
            bool full = step <= FIRST_UP && here->kept == most;
            if (step < STEPS && !full && is_ready(stages, p, s, step)) {
                pass.micro = (int32_t)here->next[step]++;
                pass.chunk = step == FIRST_UP || step == BACK_DOWN;
                pass.kind = step >= BACK_DOWN ? PW_PASS_INPUT : PW_PASS_FORWARD;
                here->weights += step >= BACK_DOWN;
                here->kept += step <= FIRST_UP;
                ended[s] = step;
            } else if (here->weights > 0) { /* weight gradients in the order of their B */
                step = earliest(here, here->weight_next, micro, BACK_DOWN);
                pass.micro = (int32_t)here->weight_next[step]++;
                pass.chunk = step == BACK_DOWN;
                pass.kind = PW_PASS_WEIGHT;
                here->weights--;
                here->kept--;
            } else {
                continue;
            }
            if (s == stage) emit(object, &pass);
            left -= ++here->passes == INTERVAL * micro;
        }
        for (int64_t s = 0; s < p; s++)
            if (ended[s] < STEPS) stages[s].finished[ended[s]]++;
    }
}

void pw_order_v_half(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    v_order(true, shape, stage, emit, object);
}
void pw_order_v_min(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    v_order(false, shape, stage, emit, object);
}
