/* Pipelines out of delays, sends and receives meet the closed forms of their schedules. */
#include "tests/unit/program/fixture.h"

/* Streams and slots of a stage; messages have streams of their own, so that none waits for another direction. */
enum { WORK, RECV_F, SEND_F, RECV_B, SEND_B };
enum { F_IN, F_OUT, B_IN, B_OUT };

typedef struct shape {
    uint32_t stages, micro_batches, chunks;
    double f, b, bytes;
} shape;

static uint16_t next_stage, previous_stage, wrap_next, wrap_previous;

static pw_op work_op(double seconds, int16_t done) {
    pw_op work = signals(delay_op(WORK, seconds), done);
    work.category = COMPUTE;
    return work;
}

static void forward(world *w, uint32_t t, const shape *s, uint32_t stage, int64_t tag) {
    pw_op work = work_op(s->f, F_OUT);
    if (stage > 0) {
        op(w, t, signals(message_op(PW_OP_RECV, RECV_F, previous_stage, tag, s->bytes), F_IN));
        work = waits_for(work, F_IN);
    }
    op(w, t, work);
    if (stage + 1 < s->stages) op(w, t, waits_for(message_op(PW_OP_SEND, SEND_F, next_stage, tag, s->bytes), F_OUT));
}

static void backward(world *w, uint32_t t, const shape *s, uint32_t stage, int64_t tag) {
    pw_op work = work_op(s->b, B_OUT);
    if (stage + 1 < s->stages) {
        op(w, t, signals(message_op(PW_OP_RECV, RECV_B, next_stage, 1000 + tag, s->bytes), B_IN));
        work = waits_for(work, B_IN);
    }
    op(w, t, work);
    if (stage > 0) op(w, t, waits_for(message_op(PW_OP_SEND, SEND_B, previous_stage, 1000 + tag, s->bytes), B_OUT));
}

static world *pipeline(const shape *s, bool gpipe) {
    world *w = world_of(1, s->stages);
    next_stage = peers_of(w, "pp next", 1);
    previous_stage = peers_of(w, "pp previous", -1);
    for (uint32_t stage = 0; stage < s->stages; stage++) {
        uint32_t t = template_of(w, "stage");
        uint32_t warm_up = gpipe ? s->micro_batches : s->stages - stage - 1;
        if (warm_up > s->micro_batches) warm_up = s->micro_batches;
        for (uint32_t m = 0; m < warm_up; m++) forward(w, t, s, stage, m);
        for (uint32_t m = warm_up; m < s->micro_batches; m++) {
            forward(w, t, s, stage, m);
            backward(w, t, s, stage, m - warm_up);
        }
        for (uint32_t m = s->micro_batches - warm_up; m < s->micro_batches; m++) backward(w, t, s, stage, m);
        w->program_of_rank[stage] = program_of(w, "stage", t);
    }
    return w;
}

static double hop(world *w, double bytes) {
    pw_collective_cost cost;
    PW_CHECK(pw_message_cost_of(w->collectives, 0, 1, bytes, &cost, NULL) == PW_OK);
    return cost.total_s;
}

static pw_time ticks_of(const outcome *o, const char *part) { return (pw_time)(part_of(o, part) * 1e12 + 0.5); }

PW_TEST(gpipe_takes_m_plus_p_minus_1_slots_and_two_trips) {
    shape s = {.stages = 4, .micro_batches = 8, .f = 1e-3, .b = 2e-3};
    world *w = pipeline(&s, true);
    outcome o = run(w, &(options){0});
    EXPECT_RAN(o);
    pw_time c = ticks(hop(w, 0));
    PW_EXPECT_INT(o.end, (8 + 4 - 1) * ticks(3e-3) + 2 * (4 - 1) * c);
    world_free(w);
}

PW_TEST(one_forward_one_backward_with_delay_c_meets_its_form) {
    for (uint32_t p = 2; p <= 8; p *= 2)
        for (uint32_t k = 1; k <= 3; k++) {
            shape s = {.stages = p, .micro_batches = k * p, .f = 1e-3, .b = 2e-3};
            world *w = pipeline(&s, false);
            outcome o = run(w, &(options){.blame = true});
            EXPECT_RAN(o);
            pw_time c = ticks(hop(w, 0));
            PW_EXPECT_INT(o.end, (k * p + p - 1) * ticks(3e-3) + 2 * c * ((p - 1) * k + p - 2));
            /* whatever stage is home: its work, the textbook's bubble, and the hops */
            PW_EXPECT_INT(ticks_of(&o, "compute"), k * p * ticks(3e-3));
            PW_EXPECT_INT(ticks_of(&o, "bubble"), (p - 1) * ticks(3e-3));
            PW_EXPECT_INT(ticks_of(&o, "pp communication"), 2 * c * ((p - 1) * k + p - 2));
            world_free(w);
        }
}

PW_TEST(one_forward_one_backward_with_long_transfers_meets_its_form) {
    shape s = {.stages = 4, .micro_batches = 8, .f = 1e-3, .b = 2e-3, .bytes = 4e6};
    world *w = pipeline(&s, false);
    outcome o = run(w, &(options){0});
    EXPECT_RAN(o);
    double c = hop(w, s.bytes);
    PW_EXPECT_NEAR((double)o.end, 11 * 3e9 + 2 * c * 1e12 * (3 * 2 + 2), 1e-9);
    world_free(w);
}

PW_TEST(interleaving_divides_the_bubble_by_the_chunks) {
    /* Stage i runs chunks i, i + p, ... one after the other; micro-batches in groups of p. Zero-byte hops are short. */
    enum { P = 4, V = 2, M = 8 };
    double f = 1e-3, b = 1e-3; /* of a chunk */
    world *w = world_of(1, P);
    next_stage = peers_of(w, "pp next", 1);
    previous_stage = peers_of(w, "pp previous", -1);
    uint32_t *up = own(w, P * sizeof *up), *down = own(w, P * sizeof *down);
    for (uint32_t r = 0; r < P; r++) up[r] = down[r] = PW_NONE;
    up[P - 1] = 0;
    down[0] = P - 1;
    wrap_next = (uint16_t)w->job.peer_role_count++;
    wrap_previous = (uint16_t)w->job.peer_role_count++;
    w->peer_roles[wrap_next] = (pw_peer_role){"wrap next", up};
    w->peer_roles[wrap_previous] = (pw_peer_role){"wrap previous", down};
    for (uint32_t stage = 0; stage < P; stage++) {
        uint32_t t = template_of(w, "stage"), total = M * V, warm_up = (P - stage - 1) * 2 + (V - 1) * P;
        if (warm_up > total) warm_up = total;
        for (uint32_t i = 0; i < total + warm_up; i++) {
            for (int back = 0; back < 2; back++) {
                if (back ? i < warm_up : i >= total) continue;
                uint32_t n = back ? i - warm_up : i, round = n / (P * V), within = n % (P * V);
                uint32_t chunk = back ? V - 1 - within / P : within / P, batch = round * P + within % P;
                int64_t tag = (int64_t)batch * 100 + chunk * 10;
                bool first = chunk == 0 && stage == 0, last = chunk == V - 1 && stage == P - 1;
                pw_op work = work_op(back ? b : f, back ? B_OUT : F_OUT);
                if (back ? !last : !first) {
                    bool wraps = back ? stage == P - 1 : stage == 0;
                    uint16_t role = back ? (wraps ? wrap_next : next_stage) : (wraps ? wrap_previous : previous_stage);
                    int64_t at = back ? 5000 + tag + (wraps ? 10 : 0) : tag - (wraps ? 10 : 0);
                    op(w, t, signals(message_op(PW_OP_RECV, back ? RECV_B : RECV_F, role, at, 0), back ? B_IN : F_IN));
                    work = waits_for(work, back ? B_IN : F_IN);
                }
                op(w, t, work);
                if (back ? !first : !last) {
                    bool wraps = back ? stage == 0 : stage == P - 1;
                    uint16_t role = back ? (wraps ? wrap_previous : previous_stage) : (wraps ? wrap_next : next_stage);
                    op(w, t, waits_for(message_op(PW_OP_SEND, back ? SEND_B : SEND_F, role, back ? 5000 + tag : tag, 0),
                                       back ? B_OUT : F_OUT));
                }
            }
        }
        w->program_of_rank[stage] = program_of(w, "stage", t);
    }
    outcome o = run(w, &(options){.blame = true});
    EXPECT_RAN(o);
    double ideal = M * V * (f + b), bubble = (double)o.end / 1e12 - ideal;
    /* (p - 1)(f + b): without chunks it is v times that; hops add a little */
    PW_EXPECT_NEAR(bubble / ideal, (double)(P - 1) / (V * M), 0.03);
    /* the path hops from stage to stage, but home works all its time and waits for the bubble */
    PW_EXPECT_INT(ticks_of(&o, "compute"), M * V * ticks(f + b));
    PW_EXPECT_INT(ticks_of(&o, "bubble"), (P - 1) * ticks(f + b));
    PW_EXPECT_INT(ticks_of(&o, "pp communication"), o.end - (M * V + P - 1) * ticks(f + b));
    world_free(w);
}

/* Forward passes that ended on a track minus backward passes that ended: activations held. */
typedef struct in_flight {
    pw_name work;
    int now[256], most[256];
} in_flight;

static void count_in_flight(void *object, const pw_span *span) {
    in_flight *counts = object;
    pw_time length = span->end - span->start;
    if (length != ticks(1e-3) && length != ticks(2e-3)) return; /* hops and waits */
    if (counts->work == 0) counts->work = span->category; /* the first long span is a forward pass */
    if (span->category != counts->work) return;
    counts->now[span->track] += length == ticks(1e-3) ? 1 : -1;
    if (counts->now[span->track] > counts->most[span->track]) counts->most[span->track] = counts->now[span->track];
}

PW_TEST(stage_i_of_one_forward_one_backward_holds_p_minus_i_activations) {
    shape s = {.stages = 4, .micro_batches = 8, .f = 1e-3, .b = 2e-3};
    for (int gpipe = 0; gpipe < 2; gpipe++) {
        world *w = pipeline(&s, gpipe);
        in_flight counts = {0};
        outcome o = run(w, &(options){.sink = {.object = &counts, .on_span = count_in_flight}});
        EXPECT_RAN(o);
        uint32_t stage = 0;
        for (uint32_t t = 0; t < 256; t++)
            if (counts.most[t] > 0) {
                PW_EXPECT_INT(counts.now[t], 0);
                PW_EXPECT_INT(counts.most[t], gpipe ? 8 : 4 - stage);
                stage++;
            }
        PW_EXPECT_INT(stage, s.stages);
        world_free(w);
    }
}

PW_TEST(loops_and_calls_walk_like_the_written_out_list) {
    world *w = world_of(1, 2);
    next_stage = peers_of(w, "next", 1);
    uint32_t inner = template_of(w, "inner"), outer = template_of(w, "outer");
    op(w, inner, message_op(PW_OP_SEND, 0, next_stage, PW_ARGUMENT, 1));
    op(w, inner, (pw_op){.kind = PW_OP_LOOP, .loop = {.count = 2, .length = 1, .stride = 10}});
    op(w, inner, message_op(PW_OP_SEND, 0, next_stage, PW_ARGUMENT + 1, 1));
    op(w, outer, (pw_op){.kind = PW_OP_LOOP, .loop = {.count = 3, .length = 2, .stride = 100}});
    op(w, outer, (pw_op){.kind = PW_OP_CALL, .call = {.template_index = inner, .argument = PW_ARGUMENT + 5}});
    op(w, outer, message_op(PW_OP_SEND, 0, next_stage, 7, 1));
    uint32_t program = program_of(w, "walk", outer);
    w->program_of_rank[1] = program_of(w, "nothing", template_of(w, "nothing"));
    int64_t expected[] = {5, 6, 16, 7, 105, 106, 116, 7, 205, 206, 216, 7};
    PW_EXPECT_INT(pw_job_check(&w->job, NULL), PW_OK);
    pw_walker *walker = pw_walker_create(NULL, &w->job, program);
    pw_op o;
    size_t n = 0;
    for (; pw_walker_next(walker, &o); n++) PW_EXPECT_INT(o.message.tag, n < 12 ? expected[n] : -1);
    PW_EXPECT_INT(n, 12);
    pw_walker_destroy(walker);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
