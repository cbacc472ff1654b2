/* dualpipe and dualpipev: DeepSeek-AI 2024, DeepSeek-V3 technical report (arXiv 2412.19437), section 3.2.1, and the
 * published schedule of deepseek-ai/DualPipe.
 *
 * Half of the micro-batches enter at stage 0, half at stage p - 1, through two copies of the model: a stage holds one part
 * of each. Near the middle both directions meet early, so there are few steps until a forward pass of one direction and a
 * backward pass of the other run side by side, the arithmetic of one behind the communication of the other. A stage of the
 * second half does what its mirror image does, with the directions exchanged. dualpipev folds the pipeline at its middle:
 * the other direction is the way up, so one copy of the model is enough. */
#include "models/workload/order.h"

typedef struct dual {
    pw_pass_fn *emit;
    void *object;
    bool mirrored;
    int64_t forward[2], backward[2]; /* by direction: the next micro-batch */
    int64_t early[2], late[2];       /* weight gradients held back: micro-batches early .. late - 1 */
    int order[2 * PW_ORDER_STAGES], first, count; /* their directions, the oldest at first */
} dual;

static void put(dual *d, pw_pass_kind kind, int direction, int64_t micro, bool paired) {
    d->emit(d->object, &(pw_pass){.kind = (uint8_t)kind, .chunk = (uint16_t)(d->mirrored ? 1 - direction : direction),
                                  .paired = paired, .micro = (int32_t)micro});
}

static void forward(dual *d, int direction) { put(d, PW_PASS_FORWARD, direction, d->forward[direction]++, false); }

static void backward(dual *d, int direction) { put(d, PW_PASS_BACKWARD, direction, d->backward[direction]++, false); }

static void input(dual *d, int direction) {
    int64_t micro = d->backward[direction]++;
    put(d, PW_PASS_INPUT, direction, micro, false);
    if (d->early[direction] == d->late[direction]) d->early[direction] = d->late[direction] = micro;
    d->late[direction] = micro + 1;
    d->order[d->count++ % (2 * PW_ORDER_STAGES)] = direction;
}

static void weight(dual *d) {
    int direction = d->order[d->first++ % (2 * PW_ORDER_STAGES)];
    put(d, PW_PASS_WEIGHT, direction, d->early[direction]++, false);
}

static void both(dual *d, int ahead, int back) {
    put(d, PW_PASS_FORWARD, ahead, d->forward[ahead]++, true);
    backward(d, back);
}

/* half: stages of one side; here: from the outer end; micro: micro-batches of a direction, at least 2 half. */
static void dual_order(dual *d, int64_t half, int64_t here, int64_t micro) {
    int64_t inward = half - here - 1;
    for (int64_t i = 0; i < 2 * inward; i++) forward(d, 0);
    for (int64_t i = 0; i < here + 1; i++) {
        forward(d, 0);
        forward(d, 1);
    }
    for (int64_t i = 0; i < inward; i++) {
        input(d, 1);
        weight(d);
        forward(d, 1);
    }
    for (int64_t i = 0; i < micro - 2 * half + here + 1; i++) {
        if (i == 0 && inward == 0) { /* not side by side: the middle waits for nothing */
            forward(d, 0);
            backward(d, 1);
        } else {
            both(d, 0, 1);
        }
        both(d, 1, 0);
    }
    for (int64_t i = 0; i < inward; i++) {
        backward(d, 1);
        both(d, 1, 0);
    }
    for (int64_t i = 0; i < 2 * (here + 1); i++) { /* the second half holds its weight gradients back */
        bool splits = i > here;
        if (splits) input(d, i % 2 == 0 ? 1 : 0);
        else backward(d, i % 2 == 0 ? 1 : 0);
    }
    for (int64_t i = 0; i < inward; i++) {
        weight(d);
        input(d, 0);
    }
    for (int64_t i = 0; i < here + 1; i++) weight(d);
}

void pw_order_dualpipe(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    int64_t p = shape->stages, half = p / 2;
    dual d = {.emit = emit, .object = object, .mirrored = stage >= half};
    dual_order(&d, half, d.mirrored ? p - 1 - stage : stage, shape->micro_batches);
}

void pw_order_dualpipev(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    dual d = {.emit = emit, .object = object};
    dual_order(&d, shape->stages, stage, shape->micro_batches);
}
