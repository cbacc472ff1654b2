/* Fluid sharing and memory: every failing allocation is reported and leaks nothing; a warm system allocates nothing. */
#include "sim/fluid.h"
#include "tests/harness/check.h"

enum { CAPACITIES = 40, USES = 6 };

struct work {
    pw_fluid *fluid;
    pw_capacity_id capacities[CAPACITIES];
    uint64_t state;
    int left;
};

static uint32_t draw(struct work *work, uint32_t count) {
    work->state = work->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(work->state >> 33) % count;
}

static void next(pw_sim *sim, void *object, uint64_t argument) {
    (void)sim;
    (void)argument;
    struct work *work = object;
    if (work->left-- <= 0) return;
    pw_use uses[USES];
    uint32_t count = 1 + draw(work, USES), from = draw(work, 4);
    for (uint32_t i = 0; i < count; i++) uses[i] = (pw_use){work->capacities[(5 * from + 7 * i) % CAPACITIES], 1};
    pw_route_id route = pw_fluid_route(work->fluid, uses, count);
    pw_activity_id id = pw_activity_start(work->fluid, route,
                                          &(pw_activity_config){.work = 1 + draw(work, 8), .share = 1 + draw(work, 2),
                                                                .done = next, .object = work});
    if (draw(work, 3) == 0) pw_activity_set_cap(work->fluid, id, 0.25);
    if (draw(work, 5) == 0) pw_capacity_set(work->fluid, work->capacities[draw(work, CAPACITIES)], 1 + draw(work, 3));
}

/* Runs `steps` activities, `wide` at a time; returns how the run ended. */
static pw_status run(struct work *work, pw_sim *sim, int wide, int steps) {
    for (int i = 0; i < CAPACITIES; i++) work->capacities[i] = pw_capacity_add(work->fluid, 1 + i % 3);
    work->left = steps;
    for (int i = 0; i < wide; i++) pw_event_soon(sim, next, work, 0);
    return pw_sim_run(sim, PW_TIME_MAX);
}

PW_TEST(each_failing_allocation_is_reported_and_leaks_nothing) {
    unsigned long long allocations = 0;
    for (unsigned long long fail_at = 0; fail_at <= allocations; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_sim *sim = NULL;
        struct work work = {.state = 1};
        pw_error error = {0};
        pw_sim_config config = {.allocator = &counting.allocator, .expected_events = 4};
        pw_status status = pw_sim_create(&config, &sim, &error);
        if (status == PW_OK) {
            status = pw_fluid_create(sim, fail_at % 2, &work.fluid, &error);
            if (status == PW_OK) {
                status = run(&work, sim, 70, 400);
                pw_fluid_destroy(work.fluid);
            }
            pw_sim_destroy(sim);
        }
        if (fail_at == 0) {
            PW_EXPECT(status == PW_OK);
            allocations = counting.calls;
        } else {
            if (status != PW_NO_MEMORY)
                PW_FAILED("failing allocation %llu gives \"%s\"", fail_at, pw_status_text(status));
        }
        if (counting.live_bytes != 0) PW_FAILED("failing allocation %llu leaks %zu bytes", fail_at, counting.live_bytes);
    }
    PW_EXPECT(allocations > 50);
    printf("# %llu allocations\n", allocations);
}

PW_TEST(a_warm_system_allocates_nothing) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_sim *sim;
    struct work work = {.state = 1};
    pw_error error;
    pw_sim_config config = {.allocator = &counting.allocator};
    PW_EXPECT(pw_sim_create(&config, &sim, &error) == PW_OK);
    PW_EXPECT(pw_fluid_create(sim, false, &work.fluid, &error) == PW_OK);
    PW_EXPECT(run(&work, sim, 200, 100000) == PW_OK);
    unsigned long long calls = counting.calls;
    /* the same work again, so that nothing is larger than it was */
    for (int i = 0; i < CAPACITIES; i++) pw_capacity_set(work.fluid, work.capacities[i], 1 + i % 3);
    work.state = 1;
    work.left = 100000;
    for (int i = 0; i < 200; i++) pw_event_soon(sim, next, &work, 0);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(counting.calls - calls, 0);
    PW_EXPECT(pw_fluid_get_stats(work.fluid).bundles_peak > 20);
    PW_EXPECT_INT(work.left <= 0, 1);
    pw_fluid_destroy(work.fluid);
    pw_sim_destroy(sim);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
