/* Fluid sharing: small systems with known answers, and what the interface promises. */
#include "sim/fluid.h"
#include "tests/harness/check.h"

static pw_sim *sim;
static pw_fluid *fluid;

static void begin(void) {
    pw_error error;
    PW_EXPECT(pw_sim_create(NULL, &sim, &error) == PW_OK);
    PW_EXPECT(pw_fluid_create(sim, true, &fluid, &error) == PW_OK);
}

static void end(void) {
    PW_EXPECT(pw_sim_error(sim)->status == PW_OK);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
}

#define ROUTE(...)                                                          \
    pw_fluid_route(fluid, (pw_use[]){__VA_ARGS__},                          \
                   (uint32_t)(sizeof((pw_use[]){__VA_ARGS__}) / sizeof(pw_use)))

static pw_activity_id start(pw_route_id route, double work, double share, double cap) {
    return pw_activity_start(fluid, route, &(pw_activity_config){.work = work, .share = share, .rate_cap = cap});
}

/* Records the order and the ticks of finishes. */
static int order[4096], finish_count;
static pw_time finish_at[4096];
static void note(pw_sim *s, void *object, uint64_t argument) {
    (void)object;
    order[finish_count] = (int)argument;
    finish_at[finish_count++] = pw_sim_now(s);
}
static pw_activity_id start_noted(pw_route_id route, double work, uint64_t number) {
    return pw_activity_start(fluid, route, &(pw_activity_config){.work = work, .done = note, .argument = number});
}

static void expect_rates(const pw_activity_id *ids, const double *rates, int count) {
    for (int i = 0; i < count; i++) PW_EXPECT_NEAR(pw_activity_rate(fluid, ids[i]), rates[i], 1e-14);
}
#define EXPECT_RATES(ids, ...) \
    expect_rates(ids, (double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))

PW_TEST(shares_weigh_the_split) {
    begin();
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 3), 1});
    pw_activity_id ids[] = {start(route, 1, 1, 0), start(route, 1, 0.5, 0)};
    EXPECT_RATES(ids, 2, 1);
    end();
}

PW_TEST(use_weights_draw_more_at_the_same_rate) {
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 3);
    pw_activity_id ids[] = {start(ROUTE({c, 1}), 1, 1, 0), start(ROUTE({c, 2}), 1, 1, 0)};
    EXPECT_RATES(ids, 1, 1);
    PW_EXPECT_NEAR(pw_capacity_load(fluid, c), 3, 1e-14);
    end();
}

PW_TEST(shares_and_use_weights_combine) {
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 20);
    pw_activity_id ids[] = {start(ROUTE({c, 1}), 1, 1, 0), start(ROUTE({c, 2}), 1, 0.5, 0)};
    EXPECT_RATES(ids, 10, 5);
    end();
}

PW_TEST(what_one_capacity_leaves_free_another_gives) {
    begin();
    pw_capacity_id c1 = pw_capacity_add(fluid, 20), c2 = pw_capacity_add(fluid, 60);
    pw_activity_id ids[] = {start(ROUTE({c1, 1}), 1, 1, 0), start(ROUTE({c1, 2}, {c2, 2}), 1, 0.5, 0),
                            start(ROUTE({c2, 1}), 1, 1, 0)};
    EXPECT_RATES(ids, 10, 5, 50);
    PW_EXPECT_NEAR(pw_capacity_load(fluid, c2), 60, 1e-14);
    /* the published variant: the first two meet on c1 and the second and third on c2 with weights 2 and 1 */
    pw_capacity_id d1 = pw_capacity_add(fluid, 20), d2 = pw_capacity_add(fluid, 60);
    pw_activity_id more[] = {start(ROUTE({d1, 1}, {d2, 2}), 1, 1, 0), start(ROUTE({d1, 2}), 1, 0.5, 0),
                             start(ROUTE({d2, 1}), 1, 1, 0)};
    EXPECT_RATES(more, 10, 5, 40);
    end();
}

PW_TEST(caps_act_as_a_pipe_each) {
    begin();
    pw_route_id none = pw_fluid_route(fluid, NULL, 0);
    pw_activity_id ids[] = {start(none, 1, 1, 10), start(none, 1, 0.5, 5), start(none, 1, 1, 60)};
    EXPECT_RATES(ids, 10, 5, 60);
    end();
}

PW_TEST(reverse_traffic_takes_a_small_part) {
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 10);
    pw_activity_id two[] = {start(ROUTE({c, 1}), 1, 1, 0), start(ROUTE({c, 0.05}), 1, 1, 0)};
    EXPECT_RATES(two, 10 / 1.05, 10 / 1.05);
    pw_capacity_id d = pw_capacity_add(fluid, 1), e = pw_capacity_add(fluid, 1);
    pw_route_id there = ROUTE({d, 1}, {e, 0.05}), back = ROUTE({d, 0.05}, {e, 1});
    pw_activity_id three[] = {start(there, 1, 1, 0), start(there, 1, 1, 0), start(back, 1, 1, 0)};
    EXPECT_RATES(three, 1 / 2.05, 1 / 2.05, 1 / 2.05);
    end();
}

PW_TEST(a_capped_activity_leaves_the_rest_to_the_other) {
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 1), d = pw_capacity_add(fluid, 1);
    pw_activity_id ids[] = {start(ROUTE({c, 2}), 1, 1, 0.1), start(ROUTE({c, 1}), 1, 1, 0),
                            start(ROUTE({d, 1}), 1, 1, 1), start(ROUTE({d, 1}), 1, 1, 0)};
    EXPECT_RATES(ids, 0.1, 0.8, 0.5, 0.5);
    end();
}

PW_TEST(crossed_weights_meet_at_one_eleventh) {
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 1), d = pw_capacity_add(fluid, 1);
    pw_activity_id ids[] = {start(ROUTE({c, 1}, {d, 10}), 1, 1, 0), start(ROUTE({c, 10}, {d, 1}), 1, 1, 0)};
    EXPECT_RATES(ids, 1.0 / 11, 1.0 / 11);
    end();
}

PW_TEST(the_parking_lot_gives_everybody_a_half) {
    begin();
    enum { LINKS = 9 };
    pw_use uses[LINKS];
    pw_activity_id ids[LINKS + 1];
    for (int i = 0; i < LINKS; i++) {
        uses[i] = (pw_use){pw_capacity_add(fluid, 1), 1};
        ids[i] = start(pw_fluid_route(fluid, &uses[i], 1), 1, 1, 0);
    }
    ids[LINKS] = start(pw_fluid_route(fluid, uses, LINKS), 1, 1, 0);
    for (int i = 0; i <= LINKS; i++) PW_EXPECT_NEAR(pw_activity_rate(fluid, ids[i]), 0.5, 1e-14);
    end();
}

PW_TEST(an_incast_ends_at_bytes_over_bandwidth_to_the_tick) {
    begin();
    finish_count = 0;
    pw_capacity_id down = pw_capacity_add(fluid, 50e9);
    for (uint64_t i = 0; i < 7; i++) start_noted(ROUTE({pw_capacity_add(fluid, 50e9), 1}, {down, 1}), 64e6, i);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 7);
    for (int i = 0; i < 7; i++) {
        PW_EXPECT_INT(finish_at[i], 8960000000);
        PW_EXPECT_INT(order[i], i);
    }
    PW_EXPECT_NEAR(pw_capacity_served(fluid, down), 7 * 64e6, 1e-15);
    end();
}

PW_TEST(a_finish_is_rounded_up_to_a_tick) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 3), 1});
    start_noted(route, 1, 0);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_at[0], 333333333334);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, (pw_capacity_id){0, 1}), 1, 1e-15);
    end();
}

PW_TEST(a_changing_capacity_gives_the_integral_of_its_profile) {
    begin();
    finish_count = 0;
    pw_capacity_id c = pw_capacity_add(fluid, 42);
    start_noted(ROUTE({c, 1}), 100, 0);
    PW_EXPECT(pw_sim_run(sim, 1000000000000) == PW_OK); /* 42 given */
    PW_EXPECT(pw_capacity_set(fluid, c, 2) == PW_OK);
    PW_EXPECT(pw_sim_run(sim, 10000000000000) == PW_OK); /* 18 more */
    PW_EXPECT_NEAR(pw_activity_work_left(fluid, (pw_activity_id){0, 1}), 40, 1e-13);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, c), 60, 1e-13);
    PW_EXPECT(pw_capacity_set(fluid, c, 0) == PW_OK);
    PW_EXPECT(pw_sim_run(sim, 20000000000000) == PW_OK);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, c), 60, 1e-13);
    PW_EXPECT_INT(pw_sim_events_pending(sim), 0);
    PW_EXPECT(pw_capacity_set(fluid, c, 40) == PW_OK);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 1);
    PW_EXPECT_INT(finish_at[0], 21000000000000);
    end();
}

PW_TEST(a_cap_of_zero_pauses_and_a_new_cap_resumes) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 2), 1});
    pw_activity_id a = start_noted(route, 2, 0), b = start_noted(route, 10, 1);
    PW_EXPECT(pw_sim_run(sim, 1000000000000) == PW_OK);
    PW_EXPECT(pw_activity_set_cap(fluid, a, 0) == PW_OK);
    PW_EXPECT_NEAR(pw_activity_rate(fluid, a), 0, 0);
    PW_EXPECT_NEAR(pw_activity_rate(fluid, b), 2, 1e-14);
    PW_EXPECT(pw_activity_is_running(fluid, a));
    PW_EXPECT(pw_sim_run(sim, 3000000000000) == PW_OK);
    PW_EXPECT_NEAR(pw_activity_work_left(fluid, a), 1, 1e-14);
    PW_EXPECT_NEAR(pw_activity_work_left(fluid, b), 5, 1e-14);
    PW_EXPECT(pw_activity_set_cap(fluid, a, 0.5) == PW_OK);
    PW_EXPECT_NEAR(pw_activity_rate(fluid, b), 1.5, 1e-14);
    PW_EXPECT(pw_sim_run(sim, 4000000000000) == PW_OK);
    PW_EXPECT(pw_activity_set_cap(fluid, a, INFINITY) == PW_OK); /* none: half each */
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_at[0], 4500000000000);
    PW_EXPECT_INT(finish_at[1], 6000000000000); /* 3 left at 4.5 s, alone at rate 2 */
    end();
}

PW_TEST(stop_gives_back_what_is_left_and_calls_nobody) {
    begin();
    finish_count = 0;
    pw_capacity_id c = pw_capacity_add(fluid, 2);
    pw_activity_id a = start_noted(ROUTE({c, 1}), 2, 0);
    PW_EXPECT(pw_sim_run(sim, 250000000000) == PW_OK);
    double left;
    PW_EXPECT(pw_activity_stop(fluid, a, &left) == PW_OK);
    PW_EXPECT_NEAR(left, 1.5, 1e-14);
    PW_EXPECT(pw_activity_stop(fluid, a, &left) == PW_STALE_HANDLE);
    PW_EXPECT(pw_activity_set_cap(fluid, a, 1) == PW_STALE_HANDLE);
    PW_EXPECT(!pw_activity_is_running(fluid, a));
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 0);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, c), 0.5, 1e-14);
    end();
}

PW_TEST(a_route_change_keeps_the_work_left) {
    begin();
    finish_count = 0;
    pw_capacity_id c = pw_capacity_add(fluid, 1), d = pw_capacity_add(fluid, 3);
    pw_activity_id a = start_noted(ROUTE({c, 1}), 4, 0);
    PW_EXPECT(pw_sim_run(sim, 1000000000000) == PW_OK);
    PW_EXPECT(pw_activity_set_route(fluid, a, ROUTE({d, 1})) == PW_OK);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_at[0], 2000000000000);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, c), 1, 1e-14);
    PW_EXPECT_NEAR(pw_capacity_served(fluid, d), 3, 1e-14);
    end();
}

PW_TEST(routes_are_interned_whatever_their_order) {
    begin();
    pw_capacity_id a = pw_capacity_add(fluid, 1), b = pw_capacity_add(fluid, 1), c = pw_capacity_add(fluid, 1);
    pw_route_id route = ROUTE({a, 1}, {b, 2}, {c, 0.5});
    PW_EXPECT(route.generation != 0);
    PW_EXPECT_INT(ROUTE({c, 0.5}, {a, 1}, {b, 2}).index, route.index);
    PW_EXPECT_INT(ROUTE({b, 1}, {c, 0.5}, {b, 1}, {a, 1}).index, route.index);
    PW_EXPECT(ROUTE({a, 1}, {b, 2}, {c, 0.25}).index != route.index);
    PW_EXPECT(ROUTE({a, 1}, {b, 2}).index != route.index);
    for (int i = 0; i < 1000; i++) ROUTE({a, 1 + i}, {b, 2});
    PW_EXPECT_INT(ROUTE({b, 2}, {a, 501}).index, ROUTE({a, 501}, {b, 2}).index);
    end();
}

PW_TEST(equal_activities_are_one_bundle_and_end_in_one_batch) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 7), 1});
    for (uint64_t i = 0; i < 1000; i++) start_noted(route, 3, i);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 1000);
    for (int i = 0; i < 1000; i++) {
        PW_EXPECT_INT(order[i], i);
        PW_EXPECT_INT(finish_at[i], finish_at[0]);
    }
    pw_fluid_stats stats = pw_fluid_get_stats(fluid);
    PW_EXPECT_INT(stats.bundles_peak, 1);
    PW_EXPECT_INT(stats.activities_peak, 1000);
    PW_EXPECT_INT(stats.solves, 2); /* one for the starts, one for the finishes */
    end();
}

PW_TEST(members_of_a_bundle_end_in_order_of_their_work) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 1), 1});
    const double works[] = {3, 1, 2, 1, 4};
    for (uint64_t i = 0; i < 5; i++) start_noted(route, works[i], i);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    const int expected[] = {1, 3, 2, 0, 4};
    const double finish_s[] = {5, 5, 8, 10, 11}; /* processor sharing of 5, 3, 2 and 1 */
    for (int i = 0; i < 5; i++) {
        PW_EXPECT_INT(order[i], expected[i]);
        PW_EXPECT_NEAR(pw_time_to_seconds(finish_at[i], 1e12), finish_s[i], 1e-12);
    }
    end();
}

PW_TEST(finishes_of_an_instant_are_handed_over_in_order_of_start) {
    begin();
    finish_count = 0;
    pw_route_id routes[8];
    for (int i = 0; i < 8; i++) routes[i] = ROUTE({pw_capacity_add(fluid, 8 - i), 1});
    for (uint64_t i = 0; i < 64; i++) start_noted(routes[i * 5 % 8], 8 - (double)(i * 5 % 8), i);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 64);
    for (int i = 0; i < 64; i++) {
        PW_EXPECT_INT(order[i], i);
        PW_EXPECT_INT(finish_at[i], 8000000000000);
    }
    end();
}

static pw_route_id again_route;
static int again_left;
static void again(pw_sim *s, void *object, uint64_t argument) {
    note(s, object, argument);
    if (again_left-- > 0)
        pw_activity_start(fluid, again_route,
                          &(pw_activity_config){.work = 1, .done = again, .argument = argument + 1});
}

PW_TEST(a_handler_may_start_the_next_in_the_same_bundle) {
    begin();
    finish_count = 0;
    again_route = ROUTE({pw_capacity_add(fluid, 4), 1});
    again_left = 99;
    pw_activity_start(fluid, again_route, &(pw_activity_config){.work = 1, .done = again});
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 100);
    PW_EXPECT_INT(finish_at[99], 25000000000000);
    PW_EXPECT_INT(pw_fluid_get_stats(fluid).bundles_peak, 1);
    PW_EXPECT_INT(pw_fluid_get_stats(fluid).solves, 101);
    end();
}

PW_TEST(no_work_ends_in_the_same_instant) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 0), 1});
    pw_activity_id a = start_noted(route, 0, 5), b = start_noted(route, 0, 6);
    PW_EXPECT(pw_activity_is_running(fluid, a)); /* until its handler runs */
    PW_EXPECT(pw_activity_stop(fluid, b, NULL) == PW_OK);
    PW_EXPECT(pw_sim_run(sim, 0) == PW_OK);
    PW_EXPECT_INT(finish_count, 1);
    PW_EXPECT_INT(order[0], 5);
    PW_EXPECT(!pw_activity_is_running(fluid, a));
    end();
}

static pw_activity_id victim;
static pw_status victim_status;
static void stop_victim(pw_sim *s, void *object, uint64_t argument) {
    note(s, object, argument);
    victim_status = pw_activity_stop(fluid, victim, NULL);
}

PW_TEST(an_activity_done_but_not_handed_over_can_still_be_stopped) {
    begin();
    finish_count = 0;
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 1), 1});
    pw_activity_start(fluid, route, &(pw_activity_config){.work = 1, .done = stop_victim, .argument = 7});
    victim = start_noted(route, 1, 8);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 1);
    PW_EXPECT_INT(order[0], 7);
    PW_EXPECT(victim_status == PW_OK);
    /* an event at the tick of the finish, ahead of the engine's own */
    pw_time due = pw_sim_now(sim) + 1000000000000;
    victim = start_noted(route, 1, 9);
    pw_event_at(sim, due, -1, stop_victim, NULL, 10);
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, 2);
    PW_EXPECT_INT(order[1], 10);
    PW_EXPECT(victim_status == PW_OK);
    end();
}

PW_TEST(one_part_of_the_system_does_not_touch_another) {
    begin();
    pw_activity_id still[5], moving[5];
    pw_capacity_id c = pw_capacity_add(fluid, 0.7), d = pw_capacity_add(fluid, 1.1), e = pw_capacity_add(fluid, 0.9);
    for (int i = 0; i < 5; i++) still[i] = start(ROUTE({c, 1 + 0.1 * i}, {d, 0.3}), 1e6, 1 + 0.7 * i, 0);
    for (int i = 0; i < 5; i++) moving[i] = start(ROUTE({e, 1 + 0.1 * i}), 1e6, 1, 0);
    double before[5];
    for (int i = 0; i < 5; i++) before[i] = pw_activity_rate(fluid, still[i]);
    for (int i = 0; i < 5; i++) {
        PW_EXPECT(pw_activity_stop(fluid, moving[i], NULL) == PW_OK);
        PW_EXPECT(pw_capacity_set(fluid, e, 1 + i) == PW_OK);
        for (int k = 0; k < 40; k++) start(ROUTE({e, 1 + 0.01 * k}), 1e6, 1, 0); /* many: a full solve */
        PW_EXPECT(pw_sim_run(sim, pw_sim_now(sim) + 1000) == PW_OK);
        for (int k = 0; k < 5; k++) PW_EXPECT(pw_activity_rate(fluid, still[k]) == before[k]);
    }
    PW_EXPECT(pw_fluid_get_stats(fluid).full_fallbacks > 0);
    end();
}

/* A bundle that lives for long: its service counter must not eat the digits of small works. */
PW_TEST(small_works_after_a_long_time_keep_their_digits) {
    begin();
    pw_route_id route = ROUTE({pw_capacity_add(fluid, 1e15), 1});
    start(route, 1e25, 1, 0); /* keeps the bundle alive */
    for (int i = 0; i < 200; i++) {
        PW_EXPECT(pw_sim_run(sim, pw_sim_now(sim) + 1000000000000000) == PW_OK);
        finish_count = 0;
        pw_time at = pw_sim_now(sim);
        start_noted(route, 5e3, 0); /* 10 ps at half the rate */
        PW_EXPECT(pw_sim_run(sim, at + 1000000) == PW_OK);
        PW_EXPECT_INT(finish_count, 1);
        PW_EXPECT(finish_at[0] >= at + 10 && finish_at[0] <= at + 11);
    }
    end();
}

PW_TEST(bad_input_is_refused_with_a_message) {
    pw_error error;
    for (int kind = 0; kind < 9; kind++) {
        PW_EXPECT(pw_sim_create(NULL, &sim, &error) == PW_OK);
        PW_EXPECT(pw_fluid_create(sim, false, &fluid, &error) == PW_OK);
        pw_capacity_id c = pw_capacity_add(fluid, 1);
        pw_route_id route = ROUTE({c, 1}), none = pw_fluid_route(fluid, NULL, 0);
        uint32_t generation = 0;
        if (kind == 0) generation = pw_capacity_add(fluid, -1).generation;
        if (kind == 1) generation = pw_capacity_add(fluid, INFINITY).generation;
        if (kind == 2) generation = ROUTE({c, 0}).generation;
        if (kind == 3) generation = ROUTE({{7, 1}, 1}).generation;
        if (kind == 4) generation = start(none, 1, 1, 0).generation;
        if (kind == 5) generation = start(route, NAN, 1, 0).generation;
        if (kind == 6) generation = start(route, 1, -1, 0).generation;
        if (kind == 7) generation = start(route, 1, 1, -1).generation;
        if (kind == 8) generation = start((pw_route_id){0, 0}, 1, 1, 0).generation;
        PW_EXPECT_INT(generation, 0);
        PW_EXPECT(pw_sim_error(sim)->status == PW_BAD_INPUT);
        PW_EXPECT(pw_sim_error(sim)->what[0] && pw_sim_error(sim)->hint[0]);
        PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_BAD_INPUT);
        pw_fluid_destroy(fluid);
        pw_sim_destroy(sim);
    }
    begin();
    pw_capacity_id c = pw_capacity_add(fluid, 1);
    pw_activity_id a = start(ROUTE({c, 1}), 1, 1, 0), b = start(pw_fluid_route(fluid, NULL, 0), 1, 1, 1);
    PW_EXPECT(pw_capacity_set(fluid, c, -1) == PW_BAD_INPUT);
    PW_EXPECT(pw_capacity_set(fluid, (pw_capacity_id){0, 0}, 1) == PW_STALE_HANDLE);
    PW_EXPECT(pw_activity_set_cap(fluid, a, NAN) == PW_BAD_INPUT);
    PW_EXPECT(pw_activity_set_cap(fluid, b, INFINITY) == PW_BAD_INPUT);
    PW_EXPECT(pw_activity_set_route(fluid, a, (pw_route_id){9, 1}) == PW_STALE_HANDLE);
    PW_EXPECT(pw_activity_set_route(fluid, a, pw_fluid_route(fluid, NULL, 0)) == PW_BAD_INPUT);
    PW_EXPECT_NEAR(pw_activity_rate(fluid, a), 1, 1e-15);
    end();
}

/* A deeper network than the random systems have: every incremental solve is compared with a full one (check_full). */
PW_TEST(relaxation_in_a_large_network_equals_full_solves) {
    enum { STAGES = 4, WIDTH = 24, FLOWS = 3000 };
    begin();
    finish_count = 0;
    uint64_t x = 42;
    pw_capacity_id links[STAGES][WIDTH];
    for (int s = 0; s < STAGES; s++)
        for (int i = 0; i < WIDTH; i++) links[s][i] = pw_capacity_add(fluid, 1 + (i * 7 + s * 3) % 5);
    double total = 0, served = 0;
    for (int f = 0; f < FLOWS; f++) {
        pw_use uses[STAGES];
        for (int s = 0; s < STAGES; s++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            uses[s] = (pw_use){links[s][(x >> 33) % WIDTH], s == 2 ? 0.5 : 1};
        }
        double work = 0.5 + (double)(x >> 40) * 0x1p-24;
        total += work;
        pw_activity_start(fluid, pw_fluid_route(fluid, uses, STAGES),
                          &(pw_activity_config){.work = work, .done = note, .rate_cap = f % 3 ? 0 : 0.1});
        if (f >= 400) PW_EXPECT(pw_sim_run(sim, pw_sim_now(sim) + 20000000000) == PW_OK);
    }
    PW_EXPECT(pw_sim_run(sim, PW_TIME_MAX) == PW_OK);
    PW_EXPECT_INT(finish_count, FLOWS);
    for (int i = 0; i < WIDTH; i++) served += pw_capacity_served(fluid, links[0][i]);
    PW_EXPECT_NEAR(served, total, 1e-12);
    pw_fluid_stats stats = pw_fluid_get_stats(fluid);
    PW_EXPECT(stats.levels_recomputed > 4 * stats.solves);
    PW_EXPECT(stats.full_fallbacks < stats.solves / 10);
    printf("# %" PRIu64 " solves, %" PRIu64 " levels, %" PRIu64 " full\n", stats.solves, stats.levels_recomputed,
           stats.full_fallbacks);
    end();
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
