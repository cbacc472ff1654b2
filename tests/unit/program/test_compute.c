/* Segments: host launches, clock changes, sharing of a GPU, host work, the launch window. */
#include "tests/unit/program/fixture.h"

static double kernel_s(world *w, uint32_t kernel, double clock) {
    pw_kernel_cost cost;
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[kernel], &(pw_gpu_state){.clock_ratio = clock}, &cost, NULL) == PW_OK);
    return cost.total_s;
}

static world *one_gpu(void) { return world_of(1, 1); }

PW_TEST(a_segment_takes_the_sum_of_its_kernels) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "compute"), s = gemm_segment(w, "s", 4096, 7);
    w->segments[s].repeats = 3;
    w->job.kernel_time_factor = 1.25;
    op(w, t, compute_op(0, s));
    program_of(w, "compute", t);
    outcome o = run(w, &(options){0});
    EXPECT_RAN(o);
    PW_EXPECT_NEAR((double)o.end, 21 * 1.25 * kernel_s(w, 0, 1) * 1e12, 1e-9);
    PW_EXPECT_NEAR(o.totals.flops, 21 * 2.0 * 4096 * 4096 * 4096, 1e-12);
    world_free(w);
}

PW_TEST(a_launch_bound_run_goes_at_the_pace_of_the_host) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "compute"), s = gemm_segment(w, "small", 128, 10);
    double kernel = kernel_s(w, 0, 1);
    w->job.launch_s = 8 * kernel;
    for (int i = 0; i < 50; i++) op(w, t, compute_op(0, s));
    program_of(w, "compute", t);
    outcome o = run(w, &(options){.blame = true});
    EXPECT_RAN(o);
    PW_EXPECT_NEAR((double)o.end, (500 * 8 * kernel + kernel) * 1e12, 1e-7);
    PW_EXPECT_NEAR(o.rank[0].launch_wait_s + o.rank[0].compute_s, (double)o.end / 1e12, 1e-9);
    PW_EXPECT_NEAR(part_of(&o, "launch"), (500 * 8 - 499) * kernel - kernel * 0, 3e-3);
    w->job.launch_s = kernel / 8; /* now the device is the slower one: only the first launch shows */
    outcome fast = run(w, &(options){0});
    EXPECT_RAN(fast);
    PW_EXPECT_NEAR((double)fast.end, (500 * kernel + kernel / 8) * 1e12, 1e-7);
    world_free(w);
}

/* The formula of the segment memo against kernels launched and run one by one. */
PW_TEST(a_segment_ends_as_its_kernels_one_by_one) {
    uint64_t seed = 12345;
    for (int round = 0; round < 200; round++) {
        world *w = one_gpu();
        pw_segment_part parts[4];
        uint32_t count = 0;
        for (uint32_t p = 0; p < 4; p++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            gemm_segment(w, "k", 128 << (seed >> 40) % 5, 1);
            parts[p] = (pw_segment_part){p, (uint32_t)(seed >> 45) % 4};
            count += parts[p].repeats;
        }
        w->segments[0] = (pw_segment){.name = "mixed", .parts = parts, .count = 4, .repeats = 1 + (uint32_t)(seed >> 50) % 3};
        double launch = 1e-6 * (double)((seed >> 33) % 20 + 1), host = 0, device = 0;
        w->job.launch_s = launch;
        if (count == 0) {
            world_free(w);
            continue;
        }
        for (uint32_t r = 0; r < w->segments[0].repeats; r++)
            for (uint32_t p = 0; p < 4; p++)
                for (uint32_t k = 0; k < parts[p].repeats; k++) {
                    host += launch;
                    device = (device > host ? device : host) + kernel_s(w, parts[p].kernel, 1);
                }
        uint32_t t = template_of(w, "compute");
        op(w, t, compute_op(0, 0));
        program_of(w, "compute", t);
        outcome o = run(w, &(options){0});
        EXPECT_RAN(o);
        if (llabs((long long)(o.end - ticks(device))) > 3)
            PW_FAILED("round %d (seed 12345): ends at %lld, expected %lld", round, (long long)o.end, (long long)ticks(device));
        world_free(w);
    }
}

PW_TEST(a_clock_change_rescales_what_is_left) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "compute"), s = gemm_segment(w, "s", 8192, 1);
    op(w, t, compute_op(0, s));
    program_of(w, "compute", t);
    double fast = kernel_s(w, 0, 1), slow = kernel_s(w, 0, 0.5), at = 0.25 * fast;
    outcome o = run(w, &(options){.clock_at_s = at, .clock_then = 0.5});
    EXPECT_RAN(o);
    double expected = at + (1 - at / fast) * slow;
    PW_EXPECT(llabs((long long)(o.end - ticks(expected))) <= 2);
    PW_EXPECT(slow > 1.5 * fast);
    world_free(w);
}

PW_TEST(two_streams_share_a_gpu) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "compute"), s = gemm_segment(w, "s", 8192, 4);
    op(w, t, compute_op(0, s));
    program_of(w, "compute", t);
    outcome alone = run(w, &(options){0});
    op(w, t, compute_op(1, s));
    outcome both = run(w, &(options){0});
    EXPECT_RAN(alone);
    EXPECT_RAN(both);
    /* arithmetic twice as much as one device gives; start-up and traffic overlap */
    pw_kernel_cost cost;
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[0], NULL, &cost, NULL) == PW_OK);
    PW_EXPECT((double)both.end >= 2 * 4 * cost.compute_s * 1e12 * (1 - 1e-9));
    PW_EXPECT(both.end <= 2 * alone.end);
    outcome changed = run(w, &(options){.clock_at_s = 1e-4, .clock_then = 0.5});
    EXPECT_RAN(changed);
    PW_EXPECT(changed.end > both.end);
    world_free(w);
}

PW_TEST(host_work_and_sync_hold_up_later_launches) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "host");
    op(w, t, signals(delay_op(0, 5e-3), 0));
    op(w, t, (pw_op){.kind = PW_OP_HOST, PW_OP_INIT, .category = OTHER, .delay.seconds = 1e-3});
    op(w, t, delay_op(1, 1e-3)); /* 1 .. 2 ms */
    op(w, t, waits_for((pw_op){.kind = PW_OP_SYNC, PW_OP_INIT, .category = OTHER}, 0));
    op(w, t, delay_op(1, 2e-3)); /* 5 .. 7 ms */
    op(w, t, (pw_op){.kind = PW_OP_HOST, PW_OP_INIT, .category = OTHER, .delay.seconds = 3e-3}); /* until 8 ms */
    program_of(w, "host", t);
    outcome o = run(w, &(options){.blame = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(8e-3));
    PW_EXPECT_NEAR(o.blamed_s, 8e-3, 1e-12);
    world_free(w);
}

PW_TEST(a_wait_binds_to_the_last_signal_before_it) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "waits");
    op(w, t, waits_for(delay_op(2, 1e-3), 5)); /* nobody has signalled: no wait */
    op(w, t, signals(delay_op(0, 2e-3), 5));
    op(w, t, waits_for(delay_op(2, 1e-3), 5)); /* 2 .. 3 ms */
    op(w, t, signals(delay_op(0, 10e-3), 5));  /* later signal: not waited for */
    program_of(w, "waits", t);
    w->job.slots = 6;
    outcome o = run(w, &(options){0});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(12e-3));
    op(w, t, waits_for(delay_op(2, 1e-3), 5));
    o = run(w, &(options){0});
    PW_EXPECT_INT(o.end, ticks(13e-3));
    world_free(w);
}

PW_TEST(a_long_program_needs_the_memory_of_a_window) {
    world *w = one_gpu();
    uint32_t t = template_of(w, "long");
    op(w, t, (pw_op){.kind = PW_OP_LOOP, .loop = {.count = 100000, .length = 2}});
    op(w, t, delay_op(0, 1e-6));
    op(w, t, delay_op(1, 1e-6));
    program_of(w, "long", t);
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_sim *sim;
    pw_fluid *fluid;
    pw_executor *x;
    PW_CHECK(pw_sim_create(&(pw_sim_config){.allocator = &counting.allocator}, &sim, NULL) == PW_OK);
    PW_CHECK(pw_fluid_create(sim, false, &fluid, NULL) == PW_OK);
    pw_executor_config config = {.sim = sim, .fluid = fluid, .cluster = w->cluster, .collectives = w->collectives,
                                 .gpu = w->gpu, .clock_ratio = 1, .fold = true};
    PW_CHECK(pw_executor_create(&config, &w->job, &x, NULL) == PW_OK);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
    PW_EXPECT_INT(pw_executor_finish(x, NULL), PW_OK);
    PW_EXPECT_INT(pw_sim_now(sim), ticks(100000 * 1e-6));
    PW_EXPECT_INT(pw_executor_get_totals(x).operations, 200000);
    PW_EXPECT(counting.peak_bytes < 2000000);
    pw_executor_destroy(x);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    PW_EXPECT_INT(counting.live_bytes, 0);
    world_free(w);
}

/* A source sees the time at which the host asks; here it stops after 3 ms. */
typedef struct ticker {
    int emitted;
    pw_time last;
} ticker;

static bool emit_delays(void *object, uint32_t rank, pw_time now, pw_op *o) {
    ticker *source = object;
    (void)rank;
    source->last = now;
    if (now >= ticks(3e-3)) return false;
    if (source->emitted++ % 2 == 0) {
        *o = signals(delay_op(0, 1e-3), 0);
    } else {
        *o = (pw_op){.kind = PW_OP_SYNC, PW_OP_INIT, .category = OTHER};
        o->waits[0] = 0;
    }
    return true;
}

PW_TEST(a_source_is_asked_when_the_host_gets_there) {
    world *w = one_gpu();
    ticker source = {0};
    w->programs[0] = (pw_program){.name = "source", .source = emit_delays, .source_object = &source};
    w->job.program_count = 1;
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(3e-3));
    PW_EXPECT_INT(source.last, ticks(3e-3));
    PW_EXPECT_INT(source.emitted, 6);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
