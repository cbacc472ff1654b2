/* The critical path: parts add up, home keeps its names, other programs' work is the bubble. */
#include "tests/unit/program/fixture.h"

static uint32_t pairs(uint32_t group, uint32_t member) { return group * 2 + member; }
static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }

static pw_op in_category(pw_op o, uint32_t category) { return o.category = category, o; }

static void expect_sum(const outcome *o) {
    double sum = 0, shares = 0;
    for (uint32_t i = 0; i < o->part_count; i++) {
        sum += o->parts[i].seconds;
        shares += o->parts[i].share;
        if (i > 0) PW_EXPECT(o->parts[i].seconds <= o->parts[i - 1].seconds);
    }
    PW_EXPECT_NEAR(sum, (double)o->end / 1e12, 1e-12);
    PW_EXPECT_NEAR(sum, o->blamed_s, 1e-12);
    PW_EXPECT_NEAR(shares, 1, 1e-12);
    PW_EXPECT(part_of(o, "unexplained") == 0);
}

PW_TEST(a_serial_run_is_the_sum_of_its_parts) {
    world *w = world_of(1, 4);
    uint16_t tp = groups_of(w, "tp", 2, 2, pairs), dp = groups_of(w, "dp", 1, 4, across);
    uint32_t t = template_of(w, "step"), s = gemm_segment(w, "gemms", 2048, 5), adam = w->job.segment_count;
    w->kernels[adam] = (pw_kernel){.kind = PW_KERNEL_OPTIMIZER, .memory = {.bytes = 1e9}};
    w->parts[adam] = (pw_segment_part){.kernel = adam, .repeats = 1};
    w->segments[adam] = (pw_segment){.name = "adam", .parts = &w->parts[adam], .count = 1};
    w->job.kernel_count = w->job.segment_count = adam + 1;
    for (int i = 0; i < 3; i++) {
        op(w, t, compute_op(0, s));
        op(w, t, in_category(collective_op(0, PW_COLLECTIVE_ALL_REDUCE, tp, 5e6), TP));
    }
    op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, dp, 50e6));
    op(w, t, in_category(compute_op(0, adam), OPTIMIZER));
    program_of(w, "rank", t);
    outcome o = run(w, &(options){.fold = true, .blame = true});
    EXPECT_RAN(o);
    expect_sum(&o);
    PW_EXPECT_TEXT(o.home, "rank");
    pw_kernel_cost cost;
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[0], NULL, &cost, NULL) == PW_OK);
    PW_EXPECT_NEAR(part_of(&o, "gemm"), 15 * cost.total_s, 1e-6);
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[adam], NULL, &cost, NULL) == PW_OK);
    PW_EXPECT_NEAR(part_of(&o, "optimizer"), cost.total_s, 1e-6);
    PW_EXPECT(part_of(&o, "tp communication") > 0);
    PW_EXPECT(part_of(&o, "dp communication") > part_of(&o, "tp communication"));
    PW_EXPECT_INT(o.part_count, 4);
    world_free(w);
}

/* Three stages of a one-way pipeline, the second the slowest: it is home; the others' fill and drain is the bubble. */
PW_TEST(fill_and_drain_of_other_stages_is_the_bubble) {
    world *w = world_of(1, 4);
    uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
    double work[3] = {1e-3, 2e-3, 1e-3};
    for (uint32_t stage = 0; stage < 3; stage++) {
        uint32_t t = template_of(w, "stage");
        for (int64_t m = 0; m < 5; m++) {
            pw_op o = signals(in_category(delay_op(0, work[stage]), COMPUTE), 1);
            if (stage > 0) {
                op(w, t, signals(message_op(PW_OP_RECV, 1, previous, m, 1e6), 0));
                o = waits_for(o, 0);
            }
            op(w, t, o);
            if (stage < 2) op(w, t, waits_for(message_op(PW_OP_SEND, 2, next, m, 1e6), 1));
        }
        w->program_of_rank[stage] = program_of(w, stage == 1 ? "middle" : stage ? "last" : "first", t);
    }
    w->program_of_rank[3] = program_of(w, "idle", template_of(w, "idle"));
    outcome o = run(w, &(options){.fold = true, .blame = true});
    EXPECT_RAN(o);
    expect_sum(&o);
    PW_EXPECT_TEXT(o.home, "middle");
    PW_EXPECT_NEAR(part_of(&o, "compute"), 10e-3, 1e-9);
    PW_EXPECT_NEAR(part_of(&o, "bubble"), 2e-3, 1e-9);
    pw_collective_cost cost;
    PW_CHECK(pw_message_cost_of(w->collectives, 0, 1, 1e6, &cost, NULL) == PW_OK);
    PW_EXPECT_NEAR(part_of(&o, "pp communication"), 2 * cost.total_s, 1e-6);
    PW_EXPECT_INT(o.part_count, 3);
    world_free(w);
}

static pw_op work_op(double seconds) { return in_category(delay_op(0, seconds), COMPUTE); }
static double all_reduce_s(world *w, const uint32_t *gpus, uint32_t count, double bytes) {
    pw_group_shape shape;
    pw_collective_cost cost;
    PW_CHECK(pw_collective_shape(w->collectives, gpus, count, &shape, NULL) == PW_OK);
    PW_CHECK(pw_collective_cost_of(w->collectives, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, bytes, &cost, NULL) == PW_OK);
    return cost.total_s;
}

/* Two ranks take turns at being late: whoever is home waits every other round, and only the transfer is communication. */
PW_TEST(waiting_for_a_straggler_is_bubble_and_the_transfer_is_communication) {
    enum { ROUNDS = 6 };
    world *w = world_of(1, 2);
    uint16_t dp = groups_of(w, "dp", 1, 2, across);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t t = template_of(w, "rank");
        for (uint32_t i = 0; i < ROUNDS; i++) {
            op(w, t, work_op(i % 2 == r ? 3e-3 : 1e-3));
            op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, dp, 8e6));
        }
        w->program_of_rank[r] = program_of(w, r ? "odd" : "even", t);
    }
    outcome o = run(w, &(options){.fold = true, .blame = true});
    EXPECT_RAN(o);
    expect_sum(&o);
    PW_EXPECT_NEAR(part_of(&o, "compute"), ROUNDS * 2e-3, 1e-12);
    PW_EXPECT_NEAR(part_of(&o, "bubble"), ROUNDS * 1e-3, 1e-12);
    PW_EXPECT_NEAR(part_of(&o, "dp communication"), ROUNDS * all_reduce_s(w, w->gpu_of_rank, 2, 8e6), 1e-6);
    PW_EXPECT_INT(o.part_count, 3);
    world_free(w);
}

/* What runs behind computation costs nothing, however long it is; what sticks out is blamed for that. */
PW_TEST(overlapped_communication_is_never_blamed) {
    enum { ROUNDS = 8 };
    for (int exposed = 0; exposed < 2; exposed++) {
        world *w = world_of(1, 2);
        uint16_t tp = groups_of(w, "tp", 1, 2, across);
        double whole = all_reduce_s(w, w->gpu_of_rank, 2, 8e6), cover = exposed ? 0.25 * whole : 2 * whole;
        uint32_t t = template_of(w, "layer");
        for (int i = 0; i < ROUNDS; i++) {
            op(w, t, signals(waits_for(work_op(1e-3), 1), 0));
            op(w, t, signals(waits_for(in_category(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, tp, 8e6), TP), 0), 1));
            op(w, t, work_op(cover));
        }
        op(w, t, waits_for(work_op(1e-3), 1));
        program_of(w, "rank", t);
        outcome o = run(w, &(options){.fold = true, .blame = true});
        EXPECT_RAN(o);
        expect_sum(&o);
        PW_EXPECT_NEAR(part_of(&o, "compute"), ROUNDS * (1e-3 + cover) + 1e-3, 1e-6);
        PW_EXPECT_NEAR(part_of(&o, "tp communication"), exposed ? ROUNDS * 0.75 * whole : 0, 1e-6);
        PW_EXPECT_INT(o.part_count, exposed ? 2 : 1);
        world_free(w);
    }
}

/* Home ends early; what the others still do until the end of the run keeps its name, their layers are bubble. */
PW_TEST(the_tail_of_other_programs_is_what_it_is) {
    world *w = world_of(1, 4);
    uint16_t dp = groups_of(w, "dp", 2, 2, pairs), tp = groups_of(w, "tp", 2, 2, pairs), next = peers_of(w, "next", 2);
    uint16_t previous = peers_of(w, "previous", -2);
    uint32_t busy = template_of(w, "busy"), late = template_of(w, "late");
    op(w, busy, signals(work_op(9e-3), 0));
    op(w, busy, waits_for(message_op(PW_OP_SEND, 1, next, 0, 0), 0));
    op(w, late, signals(message_op(PW_OP_RECV, 1, previous, 0, 0), 0));
    op(w, late, waits_for(work_op(2e-3), 0));
    op(w, late, in_category(collective_op(0, PW_COLLECTIVE_ALL_REDUCE, tp, 4e6), TP));
    op(w, late, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, dp, 64e6));
    op(w, late, in_category(delay_op(0, 1e-3), OPTIMIZER));
    for (uint32_t r = 0; r < 4; r++) w->program_of_rank[r] = r / 2;
    program_of(w, "busy", busy);
    program_of(w, "late", late);
    outcome o = run(w, &(options){.fold = true, .blame = true});
    EXPECT_RAN(o);
    expect_sum(&o);
    double inside = all_reduce_s(w, w->gpu_of_rank + 2, 2, 4e6), tail = all_reduce_s(w, w->gpu_of_rank + 2, 2, 64e6);
    PW_EXPECT_TEXT(o.home, "busy");
    PW_EXPECT_NEAR(part_of(&o, "compute"), 9e-3, 1e-12);
    PW_EXPECT_NEAR(part_of(&o, "bubble"), 2e-3 + inside, 1e-6);
    PW_EXPECT_NEAR(part_of(&o, "dp communication"), tail, 1e-6);
    PW_EXPECT_NEAR(part_of(&o, "optimizer"), 1e-3, 1e-12);
    PW_EXPECT_NEAR(part_of(&o, "tp communication"), 0, 1e-15);
    PW_EXPECT(part_of(&o, "pp communication") > 0);
    PW_EXPECT_INT(o.part_count, 5);
    world_free(w);
}

/* What a category is called decides nothing: of two names for the same communication, the class tells layer from transfer. */
PW_TEST(the_class_of_a_category_tells_layers_from_transfers_not_its_name) {
    for (int inner = 0; inner < 2; inner++) {
        for (int name = 0; name < 2; name++) {
            world *w = world_of(1, 4);
            pw_category categories[6];
            memcpy(categories, world_categories, sizeof categories);
            categories[TP] = (pw_category){name ? "tp" : "expert exchange",
                                           inner ? PW_BLAME_LAYER_COMMUNICATION : PW_BLAME_COMMUNICATION};
            w->job.categories = categories;
            uint16_t group = groups_of(w, "group", 2, 2, pairs), next = peers_of(w, "next", 2);
            uint16_t previous = peers_of(w, "previous", -2);
            uint32_t busy = template_of(w, "busy"), late = template_of(w, "late");
            op(w, busy, signals(work_op(9e-3), 0));
            op(w, busy, waits_for(message_op(PW_OP_SEND, 1, next, 0, 0), 0));
            op(w, late, signals(message_op(PW_OP_RECV, 1, previous, 0, 0), 0));
            op(w, late, waits_for(work_op(2e-3), 0));
            op(w, late, in_category(collective_op(0, PW_COLLECTIVE_ALL_REDUCE, group, 4e6), TP));
            for (uint32_t r = 0; r < 4; r++) w->program_of_rank[r] = r / 2;
            program_of(w, "busy", busy);
            program_of(w, "late", late);
            outcome o = run(w, &(options){.fold = true, .blame = true});
            EXPECT_RAN(o);
            expect_sum(&o);
            double exchange = all_reduce_s(w, w->gpu_of_rank + 2, 2, 4e6);
            PW_EXPECT_TEXT(o.home, "busy");
            PW_EXPECT_NEAR(part_of(&o, "bubble"), inner ? 2e-3 + exchange : 2e-3, 1e-6);
            PW_EXPECT_NEAR(part_of(&o, name ? "tp communication" : "expert exchange communication"), inner ? 0 : exchange, 1e-6);
            world_free(w);
        }
    }
}

/* Equal programs: home is the one that ends the run, else the first; the names of a run do not depend on chance. */
PW_TEST(of_equal_programs_home_is_the_one_that_ends_the_run) {
    for (int later = 0; later < 2; later++) {
        world *w = world_of(1, 2);
        uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
        uint32_t a = template_of(w, "a"), b = template_of(w, "b"), first = later ? a : b, second = later ? b : a;
        uint16_t there = later ? next : previous, back = later ? previous : next;
        op(w, first, signals(work_op(1e-3), 0));
        op(w, first, waits_for(message_op(PW_OP_SEND, 1, there, 0, 0), 0));
        op(w, second, signals(message_op(PW_OP_RECV, 1, back, 0, 0), 0));
        op(w, second, waits_for(work_op(1e-3), 0));
        w->program_of_rank[0] = program_of(w, "a", a);
        w->program_of_rank[1] = program_of(w, "b", b);
        outcome o = run(w, &(options){.fold = true, .blame = true});
        EXPECT_RAN(o);
        expect_sum(&o);
        PW_EXPECT_TEXT(o.home, later ? "b" : "a");
        PW_EXPECT_NEAR(part_of(&o, "compute"), 1e-3, 1e-12);
        PW_EXPECT_NEAR(part_of(&o, "bubble"), 1e-3, 1e-12);
        world_free(w);
    }
}

/* A one-way pipeline of random stages: the parts of a run always add up, and home's work is all there. */
PW_TEST(random_pipelines_add_up_and_keep_the_work_of_home) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t state = seed;
        world *w = world_of(1, 4);
        uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
        double work[4] = {0};
        for (uint32_t stage = 0; stage < 4; stage++) {
            uint32_t t = template_of(w, "stage");
            for (int64_t m = 0; m < 12; m++) {
                state = hash_in(state, (uint64_t)m + 1);
                double seconds = 1e-6 * (double)(1 + state % 1000);
                pw_op o = signals(work_op(seconds), 1);
                if (stage > 0) {
                    op(w, t, signals(message_op(PW_OP_RECV, 1, previous, m, 1e5), 0));
                    o = waits_for(o, 0);
                }
                if (stage > 0 && state & 4096) /* traffic the other way, which nobody waits for */
                    op(w, t, waits_for(message_op(PW_OP_SEND, 3, previous, 100 + m, 0), 0));
                op(w, t, o);
                work[stage] += seconds;
                if (stage < 3) op(w, t, waits_for(message_op(PW_OP_SEND, 2, next, m, 1e5), 1));
            }
            w->program_of_rank[stage] = program_of(w, stage == 0 ? "0" : stage == 1 ? "1" : stage == 2 ? "2" : "3", t);
        }
        state = seed;
        for (uint32_t stage = 0; stage < 4; stage++)
            for (int64_t m = 0; m < 12; m++) {
                state = hash_in(state, (uint64_t)m + 1);
                if (stage > 0 && state & 4096)
                    op(w, w->programs[stage - 1].template_index, message_op(PW_OP_RECV, 4, next, 100 + m, 0));
            }
        outcome o = run(w, &(options){.fold = true, .blame = true});
        if (o.status != PW_OK) PW_FAILED("seed %llu: %s", (unsigned long long)seed, o.error.what);
        expect_sum(&o);
        PW_EXPECT_NEAR(part_of(&o, "compute"), work[o.home[0] - '0'], 1e-9);
        world_free(w);
    }
}

/* Spans tile: a cause ends where what it released starts; waits for partners are not on the path. */
typedef struct tiling {
    pw_time end[4096];
    uint64_t bad, seen;
    pw_recorder *unused;
} tiling;

static void check_tiling(void *object, const pw_span *s) {
    tiling *all = object;
    PW_CHECK(s->id < 4096);
    all->end[s->id] = s->end;
    all->seen++;
    if (s->cause >= s->id || (s->cause == 0 ? s->start != 0 : all->end[s->cause] != s->start) || s->end < s->start) all->bad++;
}

PW_TEST(a_cause_ends_where_its_effect_starts) {
    world *w = world_of(2, 2);
    uint16_t dp = groups_of(w, "dp", 1, 4, across), tp = groups_of(w, "tp", 2, 2, pairs);
    uint32_t s = gemm_segment(w, "s", 512, 4);
    w->job.launch_s = 5e-6;
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t t = template_of(w, "step");
        for (int16_t i = 0; i < 20; i++) {
            op(w, t, signals(compute_op(0, s), i));
            op(w, t, delay_op(0, 1e-6 * (r + 1) * (i % 4)));
            if (i % 3 == 0) op(w, t, in_category(collective_op(0, PW_COLLECTIVE_ALL_REDUCE, tp, 1e5), TP));
            if (i % 5 == 0) op(w, t, (pw_op){.kind = PW_OP_HOST, PW_OP_INIT, .category = OTHER, .delay.seconds = 3e-5});
            op(w, t, waits_for(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, dp, 1e6), i));
            if (i == 12) op(w, t, waits_for((pw_op){.kind = PW_OP_SYNC, PW_OP_INIT, .category = OTHER}, i));
            op(w, t, (pw_op){.kind = PW_OP_MARK, .stream = 1, PW_OP_INIT, .category = OTHER, .mark.name = "layer"});
        }
        w->program_of_rank[r] = program_of(w, "rank", t);
    }
    tiling all = {0};
    outcome o = run(w, &(options){.fold = true, .blame = true, .sink = {.object = &all, .on_span = check_tiling}});
    EXPECT_RAN(o);
    PW_EXPECT_INT(all.bad, 0);
    PW_EXPECT(all.seen > 200);
    expect_sum(&o);
    PW_EXPECT(part_of(&o, "launch") > 0);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
