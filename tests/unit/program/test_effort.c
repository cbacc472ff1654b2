/* What GPUs do is counted: sums, pauses, bins; folded as unfolded; and clocks of groups of GPUs. */
#include <math.h>

#include "tests/unit/program/fixture.h"

static const pw_effort_config counted = {.average_s = 0.1, .bins = 64, .bin_s = 1e-4};

static uint32_t all_of(uint32_t group, uint32_t member) { return group * 8 + member; }

/* Eight ranks of a node: multiply, all_reduce, multiply; the second half of the ranks multiplies twice as long. */
static world *mixed(void) {
    world *w = world_of(1, 8);
    uint16_t role = groups_of(w, "all", 1, 8, all_of);
    uint32_t small = gemm_segment(w, "small", 2048, 3), large = gemm_segment(w, "large", 4096, 2);
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint32_t t = template_of(w, kind ? "long" : "short");
        op(w, t, compute_op(0, small));
        op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, role, 1e8));
        op(w, t, compute_op(0, kind ? large : small));
        program_of(w, kind ? "long" : "short", t);
    }
    uint32_t *programs = own(w, 8 * sizeof *programs);
    for (uint32_t r = 0; r < 8; r++) programs[r] = r / 4;
    w->job.program_of_rank = programs;
    return w;
}

static void expect_work(const pw_gpu_work *a, const pw_gpu_work *b, double tolerance) {
    for (int p = 0; p < PW_PRECISION_COUNT; p++) PW_EXPECT_NEAR(a->tensor_flops[p], b->tensor_flops[p], tolerance);
    PW_EXPECT_NEAR(a->vector_flops, b->vector_flops, tolerance);
    PW_EXPECT_NEAR(a->memory_bytes, b->memory_bytes, tolerance);
    PW_EXPECT_NEAR(a->link_bytes, b->link_bytes, tolerance);
    PW_EXPECT_NEAR(a->busy_s, b->busy_s, tolerance);
}

PW_TEST(work_of_a_rank_is_that_of_its_kernels_and_transfers) {
    world *w = mixed();
    outcome o = run(w, &(options){.effort = &counted});
    EXPECT_RAN(o);
    double small = 2.0 * 2048 * 2048 * 2048, large = 2.0 * 4096 * 4096 * 4096;
    PW_EXPECT_NEAR(o.effort[0].work.tensor_flops[PW_PRECISION_BF16], 6 * small, 1e-12);
    PW_EXPECT_NEAR(o.effort[7].work.tensor_flops[PW_PRECISION_BF16], 3 * small + 2 * large, 1e-12);
    PW_EXPECT_NEAR(o.effort[0].work.link_bytes, 2 * 2 * 7.0 / 8 * 1e8, 1e-12); /* in and out */
    PW_EXPECT(o.effort[0].work.memory_bytes > 6 * 3 * 2 * 2048.0 * 2048);
    PW_EXPECT_NEAR(o.effort[0].compute_s, o.rank[0].compute_s, 1e-12);
    PW_EXPECT(o.effort[0].work.busy_s <= o.effort[0].span_s * (1 + 1e-12));
    PW_EXPECT_NEAR(o.effort[7].work.busy_s, o.effort[7].span_s, 1e-9); /* never without a kernel */
    world_free(w);
}

PW_TEST(totals_are_the_sum_over_ranks_and_flops_are_all_counted) {
    world *w = mixed();
    for (int fold = 0; fold < 2; fold++) {
        outcome o = run(w, &(options){.effort = &counted, .fold = fold});
        EXPECT_RAN(o);
        pw_gpu_work sum = {0};
        double flops = 0;
        for (uint32_t r = 0; r < 8; r++) pw_gpu_work_add(&sum, &o.effort[r].work, 1);
        for (int p = 0; p < PW_PRECISION_COUNT; p++) flops += sum.tensor_flops[p];
        expect_work(&o.totals.work, &sum, 1e-12);
        PW_EXPECT_NEAR(flops + sum.vector_flops, o.totals.flops, 1e-12);
    }
    world_free(w);
}

PW_TEST(folded_ranks_do_what_unfolded_ones_do) {
    world *w = mixed();
    outcome folded = run(w, &(options){.effort = &counted, .fold = true}), all = run(w, &(options){.effort = &counted});
    EXPECT_RAN(folded);
    EXPECT_RAN(all);
    PW_EXPECT(folded.totals.classes < all.totals.classes);
    for (uint32_t r = 0; r < 8; r++) {
        expect_work(&folded.effort[r].work, &all.effort[r].work, 1e-9);
        PW_EXPECT_NEAR(folded.effort[r].active_s, all.effort[r].active_s, 1e-9);
    }
    world_free(w);
}

PW_TEST(counting_changes_no_time) {
    world *w = mixed();
    outcome with = run(w, &(options){.effort = &counted}), without = run(w, &(options){0});
    PW_EXPECT(with.hash == without.hash && with.end == without.end && with.events == without.events);
    PW_EXPECT(without.totals.work.memory_bytes == 0 && without.effort[0].span_s == 0);
    world_free(w);
}

PW_TEST(bins_hold_all_work_however_often_they_were_widened) {
    world *w = mixed();
    for (uint32_t bins = 2; bins <= 4096; bins *= 8) {
        pw_effort_config effort = {.average_s = 0.1, .bins = bins, .bin_s = 1e-6};
        outcome o = run(w, &(options){.effort = &effort});
        EXPECT_RAN(o);
        PW_EXPECT(o.bins <= bins && o.bins * o.bin_s >= o.effort[0].span_s * (1 - 1e-12));
        for (uint32_t r = 0; r < 8; r++) expect_work(&o.binned[r], &o.effort[r].work, 1e-9);
    }
    world_free(w);
}

/* Pauses far shorter than the average count whole, far longer ones as the time constant. */
PW_TEST(an_average_forgets_long_pauses) {
    world *w = world_of(1, 1);
    uint32_t t = template_of(w, "pauses"), s = gemm_segment(w, "s", 4096, 100);
    op(w, t, compute_op(0, s));
    op(w, t, delay_op(0, 1e-3));
    op(w, t, compute_op(0, s));
    op(w, t, delay_op(0, 5));
    op(w, t, compute_op(0, s));
    op(w, t, delay_op(0, 2));
    program_of(w, "pauses", t);
    outcome o = run(w, &(options){.effort = &counted});
    EXPECT_RAN(o);
    double tau = 0.1;
    PW_EXPECT_NEAR(o.effort[0].active_s - o.effort[0].compute_s, tau * (1 - exp(-0.01)) + tau + tau * (1 - exp(-20)), 1e-9);
    PW_EXPECT_NEAR(o.effort[0].span_s, o.effort[0].compute_s + 7.001, 1e-9);
    outcome none = run(w, &(options){.effort = &(pw_effort_config){0}});
    PW_EXPECT_NEAR(none.effort[0].active_s, none.effort[0].compute_s, 1e-12);
    world_free(w);
}

PW_TEST(compute_at_a_clock_is_what_a_run_at_that_clock_takes) {
    world *w = mixed();
    outcome o = run(w, &(options){.effort = &counted}), half = run(w, &(options){.clock_ratio = 0.5});
    for (uint32_t r = 0; r < 8; r++) PW_EXPECT_NEAR(o.compute_at_half[r], half.rank[r].compute_s, 1e-7);
    world_free(w);
}

/* --- Clock groups -------------------------------------------------------------------------------------------------- */

static void two_groups(world *w) {
    uint32_t *groups = own(w, 8 * sizeof *groups);
    groups[5] = 1;
    w->job.clock_group_of_rank = groups;
    w->job.clock_groups = 2;
}

PW_TEST(a_slow_clock_group_holds_up_the_others_at_a_collective) {
    world *w = mixed();
    for (uint32_t r = 0; r < 8; r++) ((uint32_t *)w->job.program_of_rank)[r] = 0;
    outcome even = run(w, &(options){.fold = true});
    two_groups(w);
    double clocks[2] = {1, 0.6};
    for (int fold = 0; fold < 2; fold++) {
        outcome o = run(w, &(options){.fold = fold, .clock_of_group = clocks});
        EXPECT_RAN(o);
        PW_EXPECT(o.rank[5].compute_s > 1.2 * o.rank[0].compute_s);
        PW_EXPECT_NEAR(o.rank[0].compute_s, even.rank[0].compute_s, 1e-9); /* the others compute as before */
        /* all wait for the slow one before the collective; behind it only that one is late */
        PW_EXPECT_NEAR((double)(o.rank_end[0] - even.rank_end[0]) / 1e12, (o.rank[5].compute_s - o.rank[0].compute_s) / 2, 1e-6);
        PW_EXPECT_NEAR((double)(o.rank_end[5] - even.rank_end[5]) / 1e12, o.rank[5].compute_s - o.rank[0].compute_s, 1e-6);
        if (fold) PW_EXPECT(o.totals.classes == even.totals.classes + 1);
    }
    world_free(w);
}

PW_TEST(a_group_changes_its_clock_alone) {
    world *w = mixed();
    two_groups(w);
    outcome even = run(w, &(options){.fold = true});
    double at = even.rank[0].compute_s / 4; /* in the first segment */
    outcome o = run(w, &(options){.fold = true, .clock_at_s = at, .group_clock_then = 0.5});
    EXPECT_RAN(o);
    PW_EXPECT_NEAR(o.rank[0].compute_s, even.rank[0].compute_s, 1e-9);
    PW_EXPECT(o.rank[5].compute_s > 1.3 * even.rank[5].compute_s);
    outcome late = run(w, &(options){.clock_at_s = at, .group_clock_then = 0.5});
    for (uint32_t r = 0; r < 8; r++) PW_EXPECT(llabs((long long)(o.rank_end[r] - late.rank_end[r])) <= 2);
    world_free(w);
}

PW_TEST(clocks_that_are_none_are_refused) {
    world *w = mixed();
    two_groups(w);
    double clocks[2] = {1, 0};
    outcome o = run(w, &(options){.clock_of_group = clocks});
    PW_EXPECT(o.status == PW_BAD_INPUT);
    w->job.clock_groups = 1;
    o = run(w, &(options){0});
    PW_EXPECT(o.status == PW_BAD_INPUT);
    w->job.clock_groups = 2;
    o = run(w, &(options){.effort = &(pw_effort_config){.bins = 1, .bin_s = 1}});
    PW_EXPECT(o.status == PW_BAD_INPUT);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
