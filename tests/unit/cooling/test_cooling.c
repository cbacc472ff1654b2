/* Cooled nodes against published temperatures, against their networks, and against laws. */
#include "models/cooling/cooling.h"
#include "tests/harness/catalogue.h"

static pw_cooling_desc defaults(void) {
    pw_cooling_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cooling_kind, &desc, arena(), &error), &error);
    return desc;
}

static pw_cooling *make(const char *gpu, pw_cooling_desc desc, uint32_t gpus, uint32_t nodes) {
    const pw_device *device;
    pw_cooling *cooling;
    pw_error error = {0};
    must(pw_catalogue_device(catalogue(), gpu, &device, &error), &error);
    must(pw_cooling_create(NULL, catalogue(), &desc, device, gpus, nodes, &cooling, &error), &error);
    return cooling;
}

static void load(pw_cooling *cooling, double front_W, double behind_W) {
    pw_cooling_facts facts = pw_cooling_get_facts(cooling);
    for (uint32_t gpu = 0; gpu < facts.nodes * facts.gpus_per_node; gpu++) pw_cooling_set_gpu(cooling, gpu, gpu % 2 ? behind_W : front_W, NAN);
}

/* Published temperatures of an HGX B200 at 20 degrees inlet. */
PW_TEST(b200_temperatures_are_those_measured) {
    pw_cooling_desc desc = defaults();
    desc.inlet_C = 20;
    pw_cooling *c = make("b200", desc, 8, 1);
    pw_error error = {0};
    load(c, 988, 988);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(fabs(pw_cooling_die_C(c)[0] - 54) < 1);
    PW_EXPECT(fabs(pw_cooling_die_C(c)[1] - 61) < 1.5);
    double gemm_fan = pw_cooling_node(c, 0).fan_share;
    load(c, 628, 686);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(fabs(pw_cooling_die_C(c)[0] - 43) < 2);
    PW_EXPECT(fabs(pw_cooling_die_C(c)[1] - 50) < 2.5);
    PW_EXPECT(pw_cooling_node(c, 0).fan_share < gemm_fan);
    load(c, 195, 195);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(fabs((pw_cooling_die_C(c)[0] - 20) / 195 - 0.058) < 0.004);
    pw_cooling_destroy(c);
}

PW_TEST(advancing_ends_where_settling_does) {
    const char *gpus[] = {"b200", "h100", "gb200", "A100-PCIe-80GB", "MI300X"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        pw_cooling_desc desc = defaults();
        desc.recirculation = strcmp(gpus[i], "gb200") ? 0.05 : 0;
        pw_cooling *moving = make(gpus[i], desc, 4, 2), *settled = make(gpus[i], desc, 4, 2);
        load(moving, 400, 380);
        load(settled, 400, 380);
        pw_cooling_set_rest(moving, 1, 500);
        pw_cooling_set_rest(settled, 1, 500);
        pw_error error = {0};
        must(pw_cooling_settle(settled, 0, 2, &error), &error);
        pw_cooling_advance(moving, 0, 2, 3600);
        for (uint32_t gpu = 0; gpu < 8; gpu++) PW_EXPECT(fabs(pw_cooling_die_C(moving)[gpu] - pw_cooling_die_C(settled)[gpu]) < 0.5);
        for (uint32_t n = 0; n < 2; n++) PW_EXPECT(fabs(pw_cooling_node(moving, n).fan_share - pw_cooling_node(settled, n).fan_share) < 0.0101);
        pw_cooling_destroy(moving);
        pw_cooling_destroy(settled);
    }
}

PW_TEST(how_time_is_cut_does_not_matter) {
    pw_cooling_desc desc = defaults();
    pw_cooling *whole = make("h100", desc, 8, 1), *cut = make("h100", desc, 8, 1);
    load(whole, 700, 690);
    load(cut, 700, 690);
    pw_cooling_advance(whole, 0, 1, 12.3);
    double parts[] = {0.001, 0.999, 0.4, 0.6, 1, 2.25, 0.75, 3, 0.0625, 3.2375};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) pw_cooling_advance(cut, 0, 1, parts[i]);
    for (uint32_t gpu = 0; gpu < 8; gpu++) PW_EXPECT_NEAR(pw_cooling_die_C(cut)[gpu], pw_cooling_die_C(whole)[gpu], 1e-11);
    pw_cooling_destroy(whole);
    pw_cooling_destroy(cut);
}

PW_TEST(a_long_jump_is_many_short_steps) {
    pw_cooling_desc desc = defaults();
    pw_cooling *jump = make("h100", desc, 8, 1), *steps = make("h100", desc, 8, 1);
    double watts[] = {700, 200, 450};
    for (int phase = 0; phase < 3; phase++) {
        load(jump, watts[phase], watts[phase]);
        load(steps, watts[phase], watts[phase]);
        pw_cooling_advance(jump, 0, 1, 1800);
        for (int s = 0; s < 1800; s++) pw_cooling_advance(steps, 0, 1, 1);
        for (uint32_t gpu = 0; gpu < 8; gpu++) PW_EXPECT(fabs(pw_cooling_die_C(jump)[gpu] - pw_cooling_die_C(steps)[gpu]) < 1e-6);
        PW_EXPECT(pw_cooling_node(jump, 0).fan_share == pw_cooling_node(steps, 0).fan_share);
    }
    pw_cooling_destroy(jump);
    pw_cooling_destroy(steps);
}

PW_TEST(a_crossing_is_where_advancing_meets_it) {
    pw_cooling_desc desc = defaults();
    pw_cooling *c = make("h100", desc, 8, 1);
    load(c, 700, 700);
    pw_error error = {0};
    for (int i = 0; i < 3; i++) {
        double level = (double[]){45, 55, 60}[i], before = pw_cooling_die_C(c)[3];
        double at = pw_cooling_time_to(c, 3, false, level, 3600);
        PW_EXPECT(at > 0 && at < 3600);
        PW_EXPECT(pw_cooling_die_C(c)[3] == before);
        pw_cooling_advance(c, 0, 1, at);
        PW_EXPECT_NEAR(pw_cooling_die_C(c)[3], level, 1e-9);
    }
    PW_EXPECT(pw_cooling_time_to(c, 3, false, 200, 36000) == INFINITY);
    PW_EXPECT(pw_cooling_time_to(c, 3, true, 68, 3600) < INFINITY);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(pw_cooling_time_to(c, 3, false, 80, 360000) == INFINITY);
    pw_cooling_destroy(c);
}

PW_TEST(fans_fail_and_the_inlet_warms) {
    pw_cooling_desc desc = defaults();
    pw_cooling *c = make("h100", desc, 8, 1);
    pw_error error = {0};
    load(c, 650, 650);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    double cool = pw_cooling_node(c, 0).hottest_C, speed = pw_cooling_node(c, 0).fan_share;
    pw_cooling_set_inlet(c, 0, 35);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(pw_cooling_node(c, 0).fan_share > speed);
    PW_EXPECT(pw_cooling_node(c, 0).hottest_C > cool + 3 && pw_cooling_node(c, 0).hottest_C < cool + 10);
    pw_cooling_set_inlet(c, 0, 25);
    pw_cooling_set_fan_limit(c, 0, 0.4);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(pw_cooling_node(c, 0).fan_share <= 0.4);
    PW_EXPECT(pw_cooling_node(c, 0).hottest_C > cool + 5);
    pw_cooling_destroy(c);
}

PW_TEST(fan_power_is_cubic_and_air_carries_the_heat) {
    pw_cooling_desc desc = defaults();
    desc.fan_share = 0.5;
    pw_cooling *c = make("h100", desc, 8, 1);
    pw_cooling_facts facts = pw_cooling_get_facts(c);
    load(c, 600, 600);
    pw_cooling_set_rest(c, 0, 1500);
    pw_cooling_advance(c, 0, 1, 10);
    pw_cooling_state s = pw_cooling_node(c, 0);
    PW_EXPECT_NEAR(s.fan_W, facts.fan_full_W / 8, 1e-12);
    PW_EXPECT_NEAR(s.air_W, 8 * 600 + 1500 + s.fan_W, 1e-12);
    PW_EXPECT_NEAR(s.air_out_C - s.air_in_C, s.air_W / (1.204 * 1006 * facts.airflow_m3ps / 2), 1e-12);
    PW_EXPECT(s.liquid_W == 0);
    /* 1105 CFM at 80 % (user guide) */
    PW_EXPECT_NEAR(facts.airflow_m3ps * 0.8, 1105 * 0.3048 * 0.3048 * 0.3048 / 60, 0.01);
    pw_cooling_destroy(c);
}

PW_TEST(recirculated_exhaust_heats_the_inlet) {
    pw_cooling_desc desc = defaults();
    desc.fan_share = 0.8;
    desc.recirculation = 0.2;
    pw_cooling *c = make("h100", desc, 8, 1);
    load(c, 600, 600);
    pw_cooling_advance(c, 0, 1, 10);
    pw_cooling_state s = pw_cooling_node(c, 0);
    PW_EXPECT_NEAR(s.air_in_C, 0.8 * 25 + 0.2 * s.air_out_C, 1e-12);
    pw_cooling_destroy(c);
}

PW_TEST(slot_offset_can_be_given) {
    pw_cooling_desc desc = defaults();
    desc.slot_offset_K = 3.5;
    pw_cooling *c = make("b200", desc, 8, 1);
    pw_error error = {0};
    load(c, 800, 800);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT_NEAR(pw_cooling_die_C(c)[5] - pw_cooling_die_C(c)[4], 3.5, 1e-9);
    pw_cooling_destroy(c);
}

PW_TEST(liquid_takes_its_share_and_follows_its_flow) {
    pw_cooling_desc desc = defaults();
    pw_cooling *c = make("gb200", desc, 4, 1);
    pw_cooling_facts facts = pw_cooling_get_facts(c);
    pw_error error = {0};
    PW_EXPECT(facts.way == PW_COOLING_COLD_PLATE);
    load(c, 1200, 1200);
    pw_cooling_set_rest(c, 0, 1000);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    pw_cooling_state s = pw_cooling_node(c, 0);
    PW_EXPECT_NEAR(s.liquid_W, 0.87 * (4800 + 1000 + s.fan_W), 1e-12);
    PW_EXPECT_NEAR(s.liquid_W + s.air_W, 4800 + 1000 + s.fan_W, 1e-12);
    double resistance = (s.hottest_C - facts.coolant_C) / 1200;
    PW_EXPECT(resistance > 0.025 && resistance < 0.036); /* published: 0.027 to 0.035 K/W */
    PW_EXPECT_NEAR(s.coolant_out_C - facts.coolant_C, s.liquid_W / (4 * 2e-3 / 60 * 4.18e6), 1e-9);
    double hot = s.hottest_C;
    pw_cooling_set_coolant(c, 0, facts.coolant_C + 5);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT_NEAR(pw_cooling_node(c, 0).hottest_C, hot + 5, 1e-9);
    pw_cooling_set_coolant(c, 0, facts.coolant_C);
    pw_cooling_set_flow(c, 0, 0.3);
    must(pw_cooling_settle(c, 0, 1, &error), &error);
    PW_EXPECT(pw_cooling_node(c, 0).hottest_C > hot + 10);
    pw_cooling_set_flow(c, 0, 0); /* the pump stands */
    pw_cooling_advance(c, 0, 1, 60);
    PW_EXPECT(pw_cooling_node(c, 0).hottest_C > 95);
    pw_cooling_destroy(c);
}

PW_TEST(leakage_feeds_back_exactly) {
    pw_cooling_desc desc = defaults();
    desc.fan_share = 0.8;
    pw_cooling *plain = make("h100", desc, 1, 1), *leaky = make("h100", desc, 1, 1);
    pw_error error = {0};
    must(pw_cooling_set_feedback(leaky, 1.2, 60, &error), &error);
    pw_cooling_set_gpu(leaky, 0, 500, 100);
    must(pw_cooling_settle(leaky, 0, 1, &error), &error);
    double hot = pw_cooling_die_C(leaky)[0];
    pw_cooling_set_gpu(plain, 0, 500 + 1.2 * (hot - 60), 100);
    must(pw_cooling_settle(plain, 0, 1, &error), &error);
    PW_EXPECT_NEAR(pw_cooling_die_C(plain)[0], hot, 1e-10);
    must(pw_cooling_set_feedback(leaky, 40, 60, &error), &error);
    PW_EXPECT(pw_cooling_settle(leaky, 0, 1, &error) == PW_OUT_OF_RANGE);
    pw_cooling_destroy(plain);
    pw_cooling_destroy(leaky);
}

static void expect_refusal(const char *gpu, pw_cooling_desc desc, const char *text) {
    const pw_device *device;
    pw_cooling *cooling;
    pw_error error = {0};
    must(pw_catalogue_device(catalogue(), gpu, &device, &error), &error);
    PW_EXPECT(pw_cooling_create(NULL, catalogue(), &desc, device, 8, 1, &cooling, &error) != PW_OK);
    PW_EXPECT_CONTAINS(error.what, text);
}

PW_TEST(fields_that_do_nothing_are_refused) {
    pw_cooling_desc desc = defaults();
    desc.flow = 0.5;
    expect_refusal("h100", desc, "cooling.flow");
    desc = defaults();
    desc.coolant_C = 30;
    expect_refusal("h100", desc, "cooling.coolant");
    desc = defaults();
    desc.slot_offset_K = 3;
    expect_refusal("gb200", desc, "cooling.slot_offset");
    desc = defaults();
    desc.way = PW_COOLING_IMMERSION;
    desc.inlet_C = 25;
    expect_refusal("h100", desc, "cooling.inlet");
}

PW_TEST(every_accelerator_has_a_usual_cooling) {
    const pw_table *table = pw_catalogue_table(catalogue(), "accelerators");
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const pw_device *device;
        pw_cooling *c;
        pw_error error = {0};
        must(pw_catalogue_device(catalogue(), pw_table_text_at(table, row, 0), &device, &error), &error);
        pw_cooling_desc desc = defaults();
        must(pw_cooling_create(NULL, catalogue(), &desc, device, 2, 1, &c, &error), &error);
        double watts = isfinite(device->tdp_W) ? device->tdp_W : 200;
        load(c, watts, watts);
        must(pw_cooling_settle(c, 0, 1, &error), &error);
        double hot = pw_cooling_node(c, 0).hottest_C;
        if (!(hot > 30 && hot < 92)) PW_FAILED("%s at %g W: %g degrees", device->name, watts, hot);
        if (getenv("PW_SHOW")) printf("# %s %s: %g W, %.1f %.1f degrees, fans %g\n", device->name, pw_cooling_get_facts(c).row, watts, hot, pw_cooling_memory_C(c)[0], pw_cooling_node(c, 0).fan_share);
        pw_cooling_destroy(c);
    }
}

PW_TEST(memory_that_runs_out_is_an_error) {
    const pw_device *device;
    pw_error error = {0};
    must(pw_catalogue_device(catalogue(), "h100", &device, &error), &error);
    for (unsigned long long at = 1; at <= 4; at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = at;
        pw_cooling *c;
        pw_cooling_desc desc = defaults();
        PW_EXPECT(pw_cooling_create(&counting.allocator, catalogue(), &desc, device, 8, 2, &c, &error) == PW_NO_MEMORY);
        PW_EXPECT(counting.live_bytes == 0);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
