/* What boxes do when feeds, supplies, breakers and mains go: order and times of what follows. */
#include "models/power/feed.h"
#include "tests/harness/catalogue.h"

typedef struct seen { double at_s; uint32_t box; pw_box_mode mode; double cap_W; } seen;
typedef struct rig {
    pw_sim *sim;
    pw_feeds *feeds;
    seen seen[64];
    uint32_t count;
    pw_breaker breaker;
    pw_battery battery;
} rig;

static void note_change(void *object, uint32_t box, const pw_feed_box *now) {
    rig *r = object;
    if (r->count < 64) r->seen[r->count++] = (seen){pw_sim_seconds(r->sim), box, now->mode, now->cap_W};
}

/* DGX H100: six supplies of 3.3 kW, 4+2 on two feeds. */
static pw_feed_config dgx(rig *r, uint32_t boxes) {
    pw_error error = {0};
    pw_feed_config config = {.boxes = boxes, .guard_W = 10200, .draw_W = 10200, .braked_W = 7000, .settle_s = 1, .restore_s = 2,
                             .changed = note_change, .object = r};
    must(pw_supply_group_of_server(catalogue(), "DGX H100", &config.group, &error), &error);
    must(pw_sim_create(NULL, &r->sim, &error), &error);
    config.sim = r->sim;
    return config;
}

static void run(rig *r, const pw_feed_config *config, const pw_feed_event *events, uint32_t count) {
    pw_error error = {0};
    double feeds_J, boxes_J, loss_J;
    must(pw_feeds_create(config, events, count, &r->feeds, &error), &error);
    PW_EXPECT(pw_sim_run(r->sim, PW_TIME_MAX) == PW_OK);
    pw_feeds_energy(r->feeds, &feeds_J, &boxes_J, &loss_J);
    PW_EXPECT_NEAR(feeds_J, boxes_J + loss_J, 1e-9);
    PW_EXPECT(feeds_J > 0 && loss_J > 0);
}

static void end(rig *r) {
    pw_feeds_destroy(r->feeds);
    pw_sim_destroy(r->sim);
}

static bool logged(const rig *r, const char *what, double at_s) {
    uint32_t count;
    const pw_feed_entry *log = pw_feeds_log(r->feeds, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(log[i].what, what) && fabs(log[i].at_s - at_s) < 1e-9) return true;
    for (uint32_t i = 0; i < count; i++) printf("# %.9g %s x %u\n", log[i].at_s, log[i].what, log[i].boxes);
    return false;
}

PW_TEST(a_lost_feed_brakes_then_caps_then_frees) {
    rig r = {0};
    pw_feed_config config = dgx(&r, 2);
    pw_feed_event event = {.at_s = 3, .lasts_s = 10, .part = PW_PART_FEED, .index = 0, .first_box = 1, .boxes = 1};
    run(&r, &config, &event, 1);
    PW_EXPECT_INT(r.count, 3);
    PW_EXPECT(r.seen[0].mode == PW_BOX_BRAKED && r.seen[0].box == 1);
    PW_EXPECT_NEAR(r.seen[0].at_s, 3 + config.group.brake_s, 1e-11);
    PW_EXPECT(r.seen[1].mode == PW_BOX_CAPPED);
    PW_EXPECT_NEAR(r.seen[1].cap_W, 9900, 1e-15);
    PW_EXPECT_NEAR(r.seen[1].at_s, 4 + config.group.brake_s, 1e-11);
    PW_EXPECT(r.seen[2].mode == PW_BOX_FREE);
    PW_EXPECT_NEAR(r.seen[2].at_s, 15, 1e-11);
    PW_EXPECT(logged(&r, "feed a lost", 3) && logged(&r, "capped at 9900 W", 4 + config.group.brake_s));
    end(&r);
}

PW_TEST(a_box_that_needs_less_goes_on) {
    rig r = {0};
    pw_feed_config config = dgx(&r, 1);
    config.guard_W = config.draw_W = 9900;
    pw_feed_event event = {.at_s = 3, .lasts_s = INFINITY, .part = PW_PART_FEED, .index = 1, .boxes = 1};
    run(&r, &config, &event, 1);
    PW_EXPECT_INT(r.count, 0);
    PW_EXPECT_NEAR(pw_feeds_feed_W(r.feeds, 0), pw_supply_flow_at(&config.group, (pw_supply_state){.feeds_lost = 2}, 9900).input_W, 1e-15);
    PW_EXPECT_NEAR(pw_feeds_feed_W(r.feeds, 1), 0, 1e-15);
    end(&r);
}

PW_TEST(a_dip_shorter_than_the_hold_up_is_nothing) {
    rig r = {0};
    pw_feed_config config = dgx(&r, 1);
    pw_feed_event dip = {.at_s = 3, .lasts_s = 0.004, .part = PW_PART_MAINS, .index = -1};
    run(&r, &config, &dip, 1);
    PW_EXPECT_INT(r.count, 0);
    end(&r);
    r = (rig){0};
    config = dgx(&r, 1);
    dip.lasts_s = 0.1;
    run(&r, &config, &dip, 1);
    PW_EXPECT(r.count == 2 && r.seen[0].mode == PW_BOX_BRAKED && r.seen[1].mode == PW_BOX_OFF);
    PW_EXPECT_NEAR(r.seen[1].at_s, 3 + config.group.hold_up_s * 3300 / 1700, 1e-10);
    end(&r);
}

PW_TEST(too_little_for_the_brake_lets_it_fall) {
    rig r = {0};
    pw_feed_config config = dgx(&r, 1);
    config.braked_W = 8500;
    pw_feed_event events[] = {{.at_s = 1, .lasts_s = INFINITY, .part = PW_PART_SUPPLY, .index = 5, .boxes = 1},
                              {.at_s = 3, .lasts_s = INFINITY, .part = PW_PART_FEED, .index = 0, .boxes = 1}};
    run(&r, &config, events, 2);
    PW_EXPECT(r.count == 2 && r.seen[0].mode == PW_BOX_BRAKED && r.seen[1].mode == PW_BOX_OFF);
    PW_EXPECT_NEAR(pw_feeds_box(r.feeds, 0).capacity_W, 6600, 1e-15);
    end(&r);
}

PW_TEST(an_overload_is_borne_for_a_while) { /* 6.6 kW left, 7 kW braked: 1.06 for 20 ms */
    rig r = {0};
    pw_feed_config config = dgx(&r, 1);
    pw_feed_event events[] = {{.at_s = 1, .lasts_s = INFINITY, .part = PW_PART_SUPPLY, .index = 5, .boxes = 1},
                              {.at_s = 3, .lasts_s = INFINITY, .part = PW_PART_FEED, .index = 0, .boxes = 1}};
    run(&r, &config, events, 2);
    double hold_up = config.group.hold_up_s * 3300 / (10200.0 / 5);
    PW_EXPECT(r.count == 2 && r.seen[1].mode == PW_BOX_OFF);
    PW_EXPECT_NEAR(r.seen[1].at_s, 3 + hold_up + config.group.overload_s, 1e-10);
    end(&r);
}

PW_TEST(only_braking_lasts_until_the_feed_is_back) {
    rig r = {0};
    pw_feed_config config = dgx(&r, 1);
    config.only_brakes = true;
    pw_feed_event event = {.at_s = 3, .lasts_s = 10, .part = PW_PART_FEED, .index = 0, .boxes = 1};
    run(&r, &config, &event, 1);
    PW_EXPECT(r.count == 2 && r.seen[0].mode == PW_BOX_BRAKED && r.seen[1].mode == PW_BOX_FREE);
    PW_EXPECT_NEAR(r.seen[1].at_s, 15, 1e-11);
    end(&r);
}

/* Four boxes in a rack: each feed carries 21 kW, then 41 kW when the other is lost. */
PW_TEST(the_other_breaker_trips_when_it_carries_all) {
    rig r = {0};
    pw_error error = {0};
    pw_feed_config config = dgx(&r, 4);
    config.guard_W = config.draw_W = 9800; /* boxes go on at full power */
    config.boxes_per_rack = 4;
    must(pw_breaker_make(catalogue(), "standard", 30000, &r.breaker, &error), &error);
    config.breaker = &r.breaker;
    pw_feed_event event = {.at_s = 600, .lasts_s = INFINITY, .part = PW_PART_FEED, .index = 0, .boxes = 4};
    run(&r, &config, &event, 1);
    double before = 4 * pw_supply_flow_at(&config.group, (pw_supply_state){0}, 9800).feed_W[1] / 30000;
    double after = 4 * pw_supply_flow_at(&config.group, (pw_supply_state){.feeds_lost = 1}, 9800).input_W / 30000;
    double trips = 600 + 60 * log((after * after - before * before * (1 - exp(-10))) / (after * after - 1.1025));
    PW_EXPECT(logged(&r, "breaker b of rack 0 trips", trips));
    PW_EXPECT_INT(r.count, 8); /* the brake comes first, but nothing is left: all fall after their hold-up */
    for (uint32_t i = 4; i < 8; i++) PW_EXPECT(r.seen[i].mode == PW_BOX_OFF && r.seen[i].at_s > trips);
    PW_EXPECT(pw_feeds_breaker(r.feeds, 0, 1)->open && !pw_feeds_breaker(r.feeds, 0, 0)->open);
    end(&r);
}

PW_TEST(what_two_events_take_away_is_back_after_both) {
    const pw_feed_part parts[] = {PW_PART_FEED, PW_PART_SUPPLY, PW_PART_BREAKER};
    for (size_t i = 0; i < 3; i++) {
        rig r = {0};
        uint32_t count;
        pw_error error = {0};
        pw_feed_config config = dgx(&r, 4);
        must(pw_breaker_make(catalogue(), "standard", 60000, &r.breaker, &error), &error);
        config.breaker = &r.breaker;
        config.boxes_per_rack = 4;
        const pw_feed_event events[] = {{.at_s = 1, .lasts_s = 10, .part = parts[i], .first_box = 1, .boxes = 1},
                                        {.at_s = 1, .lasts_s = 3, .part = parts[i], .first_box = 1, .boxes = 1}};
        must(pw_feeds_create(&config, events, 2, &r.feeds, &error), &error);
        PW_EXPECT(pw_sim_run(r.sim, pw_sim_ticks(r.sim, 6)) == PW_OK);
        PW_EXPECT(pw_feeds_box(r.feeds, 1).capacity_W < 6 * 3300 - 1);
        const pw_feed_entry *log = pw_feeds_log(r.feeds, &count);
        PW_EXPECT(count > 0 && log[0].first_box == 1 && log[0].boxes == 1); /* one box, said twice */
        PW_EXPECT(pw_sim_run(r.sim, PW_TIME_MAX) == PW_OK);
        PW_EXPECT_NEAR(pw_feeds_box(r.feeds, 1).capacity_W, 6 * 3300, 1e-12);
        end(&r);
    }
}

PW_TEST(caps_keep_the_other_breaker_closed) {
    rig r = {0};
    pw_error error = {0};
    pw_feed_config config = dgx(&r, 4);
    config.boxes_per_rack = 4;
    must(pw_breaker_make(catalogue(), "standard", 44000, &r.breaker, &error), &error);
    config.breaker = &r.breaker;
    pw_feed_event event = {.at_s = 600, .lasts_s = 3600, .part = PW_PART_FEED, .index = 0, .boxes = 4};
    run(&r, &config, &event, 1);
    PW_EXPECT_INT(r.count, 12);
    PW_EXPECT(!pw_feeds_breaker(r.feeds, 0, 1)->open && r.seen[11].mode == PW_BOX_FREE);
    end(&r);
}

PW_TEST(batteries_bridge_until_generators) {
    rig r = {0};
    pw_error error = {0};
    pw_feed_config config = dgx(&r, 3);
    must(pw_battery_make(catalogue(), "li-ion", 40000, &r.battery, &error), &error);
    config.battery = &r.battery;
    pw_feed_event event = {.at_s = 100, .lasts_s = 3600, .part = PW_PART_MAINS, .index = -1};
    run(&r, &config, &event, 1);
    PW_EXPECT_INT(r.count, 0);
    PW_EXPECT(logged(&r, "feed a: mains lost, on battery", 100) && logged(&r, "feed b: generators carry it", 115));
    end(&r);
    r = (rig){0};
    config = dgx(&r, 3);
    must(pw_battery_make(catalogue(), "flywheel", 40000, &r.battery, &error), &error);
    r.battery.start_s = 60;
    config.battery = &r.battery;
    run(&r, &config, &event, 1);
    double each = 3 * pw_supply_flow_at(&config.group, (pw_supply_state){0}, 10200).feed_W[0];
    PW_EXPECT(logged(&r, "feed a: the battery is empty", 100 + 15 * 40000 / each));
    PW_EXPECT(r.count == 6 && r.seen[5].mode == PW_BOX_OFF);
    end(&r);
}

PW_TEST(names_of_parts_are_read_and_bad_ones_refused) {
    pw_feed_part part;
    int index;
    pw_error error = {0};
    PW_EXPECT(pw_feed_event_part("feed b", 2, 6, &part, &index, &error) == PW_OK && part == PW_PART_FEED && index == 1);
    PW_EXPECT(pw_feed_event_part("supply 5", 2, 6, &part, &index, &error) == PW_OK && part == PW_PART_SUPPLY && index == 5);
    PW_EXPECT(pw_feed_event_part("mains", 2, 6, &part, &index, &error) == PW_OK && part == PW_PART_MAINS && index == -1);
    PW_EXPECT(pw_feed_event_part("breaker a", 2, 6, &part, &index, &error) == PW_OK && part == PW_PART_BREAKER && index == 0);
    static const char *const bad[] = {"feed c", "feed", "feed ab", "supply 6", "supply -1", "supply x", "psu 1", "", "mains c"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PW_EXPECT(pw_feed_event_part(bad[i], 2, 6, &part, &index, &error) == PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.hint, "supply 5");
    }
}

PW_TEST(a_plant_that_cannot_run_is_refused) {
    rig r = {0};
    pw_error error = {0};
    pw_feed_config config = dgx(&r, 4);
    config.draw_W = 20000;
    PW_EXPECT(pw_feeds_create(&config, NULL, 0, &r.feeds, &error) == PW_BAD_INPUT);
    config.draw_W = 10200;
    config.boxes_per_rack = 4;
    must(pw_breaker_make(catalogue(), "standard", 15000, &r.breaker, &error), &error);
    config.breaker = &r.breaker;
    PW_EXPECT(pw_feeds_create(&config, NULL, 0, &r.feeds, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "trips");
    pw_sim_destroy(r.sim);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
