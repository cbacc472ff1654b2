/* Watts are the sum of their parts, and the settled clock is the highest at which no limit is broken. */
#include "models/power/gpu_power.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pw_catalogue *catalogue;

static pw_gpu_power *open_model(const char *device) {
    pw_error error = {0};
    pw_gpu_power *model = NULL;
    if ((!catalogue && pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) ||
        pw_gpu_power_create(NULL, catalogue, device, &model, &error) != PW_OK) {
        printf("# %s\n", error.what);
        exit(1);
    }
    return model;
}

/* One millisecond of 16-bit multiplies at `share` of peak and of traffic at `memory` of bandwidth. */
static pw_gpu_load load_of(const pw_gpu_power *model, double share, double memory, double gap_s) {
    const pw_device *device = pw_gpu_power_device(model);
    pw_gpu_load load = {.span_s = 1e-3 + gap_s, .compute_s = share * 1e-3};
    load.work.tensor_flops[PW_PRECISION_FP16] = share * device->peak_flops[PW_PRECISION_FP16] * 1e-3;
    load.work.vector_flops = 1e9;
    load.work.memory_bytes = memory * device->memory_Bps * 1e-3;
    load.work.link_bytes = 1e6;
    load.work.busy_s = 1e-3;
    return load;
}

static const char *const devices[] = {"V100-PCIe-32GB", "A40", "A100-PCIe-40GB", "H100-SXM5-80GB", "H200-SXM-141GB",
                                      "B200-SXM-180GB", "MI300X", "Quadro RTX 6000", NULL};

PW_TEST(watts_are_the_sum_of_their_parts_and_energy_is_additive_in_work) {
    for (int i = 0; devices[i]; i++) {
        pw_gpu_power *model = open_model(devices[i]);
        pw_gpu_load load = load_of(model, 0.6, 0.4, 0);
        pw_gpu_power_state state = {.clock_ratio = 0.8, .temperature_C = 61};
        pw_gpu_watts w = pw_gpu_power_watts(model, &state, &load.work, 1e-3);
        PW_EXPECT_NEAR(w.idle + w.leakage + w.active + w.tensor + w.vector + w.memory + w.link, w.total, 1e-9 * w.total);
        PW_EXPECT(w.tensor > 0 && w.memory > 0 && w.vector > 0 && w.link > 0 && w.active > 0 && w.leakage > 0 && w.idle > 0);
        pw_gpu_watts none = pw_gpu_power_watts(model, &state, NULL, 1e-3);
        pw_gpu_work twice = {0};
        pw_gpu_work_add(&twice, &load.work, 2);
        pw_gpu_watts two = pw_gpu_power_watts(model, &state, &twice, 4e-3);
        PW_EXPECT_NEAR(two.total * 4e-3, 2 * w.total * 1e-3 + 2 * none.total * 1e-3, 1e-9 * two.total * 4e-3);
        pw_gpu_power_destroy(model);
    }
}

PW_TEST(a_gpu_with_nothing_loaded_draws_its_idle_watts) {
    pw_gpu_power *model = open_model("H100-SXM5-80GB");
    pw_gpu_power_state off = {.temperature_C = 30}, waiting = {.clock_ratio = 1, .temperature_C = 30};
    PW_EXPECT_NEAR(pw_gpu_power_watts(model, &off, NULL, 1).total, pw_gpu_power_figures_of(model)->idle_W, 0);
    PW_EXPECT(pw_gpu_power_watts(model, &waiting, NULL, 1).total > pw_gpu_power_figures_of(model)->idle_W);
    pw_gpu_power_destroy(model);
}

PW_TEST(power_rises_with_clock_heat_and_die) {
    pw_gpu_power *model = open_model("A100-SXM4-80GB");
    pw_gpu_load load = load_of(model, 0.6, 0.4, 0);
    double last = 0;
    for (double clock = 0.2; clock <= 1; clock += 0.05) {
        pw_gpu_power_state state = {.clock_ratio = clock, .temperature_C = 50};
        double watts = pw_gpu_power_watts(model, &state, &load.work, 1e-3).total;
        PW_EXPECT(watts > last);
        last = watts;
        state.temperature_C = 80;
        PW_EXPECT(pw_gpu_power_watts(model, &state, &load.work, 1e-3).total > watts);
        state.die = (pw_gpu_die){1.02, 1.02};
        PW_EXPECT(pw_gpu_power_watts(model, &state, &load.work, 1e-3).total > 1.01 * watts);
    }
    pw_gpu_power_destroy(model);
}

PW_TEST(the_settled_clock_is_the_highest_step_within_the_cap) {
    for (int i = 0; devices[i]; i++) {
        pw_gpu_power *model = open_model(devices[i]);
        const pw_gpu_power_figures *g = pw_gpu_power_figures_of(model);
        pw_gpu_load load = load_of(model, 0.95, 0.3, 0);
        double least = g->cap_min_W > 0 ? g->cap_min_W : 0.4 * g->tdp_W, last = 0;
        int capped = 0;
        for (double cap = least; cap <= g->tdp_W; cap += g->tdp_W / 200) {
            pw_gpu_limits limits = {.cap_W = cap};
            pw_gpu_settled s = pw_gpu_power_settle(model, &load, &limits, 55, pw_gpu_die_nominal);
            PW_EXPECT(s.clock_ratio >= last);
            last = s.clock_ratio;
            if (s.over_cap) PW_EXPECT_NEAR(s.clock_ratio, g->min_ratio, 0);
            if (s.over_cap || s.reason != PW_CLOCK_REASON_SW_POWER_CAP) continue;
            capped++;
            PW_EXPECT(s.watts.total <= cap);
            double steps = (s.clock_ratio - g->min_ratio) / g->step_ratio;
            PW_EXPECT_NEAR(steps, floor(steps + 0.5), 1e-6);
            pw_gpu_limits fixed = {.clock_ratio = s.clock_ratio + g->step_ratio};
            pw_gpu_settled more = pw_gpu_power_settle(model, &load, &fixed, 55, pw_gpu_die_nominal);
            if (more.reason == PW_CLOCK_REASON_CLOCKS_SETTING) PW_EXPECT(more.watts.total > s.watts.total);
            pw_gpu_power_state state = {.clock_ratio = s.clock_ratio, .temperature_C = 55};
            pw_gpu_work work = load.work;
            work.busy_s = s.span_s;
            PW_EXPECT_NEAR(pw_gpu_power_watts(model, &state, &work, s.span_s).total, s.watts.total, 1e-9 * s.watts.total);
        }
        PW_EXPECT(capped > 0);
        pw_gpu_power_destroy(model);
    }
}

PW_TEST(a_cap_slows_arithmetic_and_spares_traffic) {
    pw_gpu_power *model = open_model("H100-SXM5-80GB");
    pw_gpu_load compute = load_of(model, 0.9, 0.2, 0), traffic = load_of(model, 0.02, 0.9, 0);
    pw_gpu_limits limits = {.cap_W = 350};
    double slow = pw_gpu_power_settle(model, &compute, &limits, 50, pw_gpu_die_nominal).span_s / compute.span_s;
    double fast = pw_gpu_power_settle(model, &traffic, &limits, 50, pw_gpu_die_nominal).span_s / traffic.span_s;
    PW_EXPECT(slow > 1.1 && fast < 1.05);
    pw_gpu_power_destroy(model);
}

PW_TEST(time_without_kernels_neither_stretches_nor_hides_a_cap) {
    pw_gpu_power *model = open_model("V100-PCIe-32GB");
    pw_gpu_load load = load_of(model, 0.9, 0.5, 0), paused = load_of(model, 0.9, 0.5, 1e-3);
    pw_gpu_limits limits = {.cap_W = 125};
    pw_gpu_settled a = pw_gpu_power_settle(model, &load, &limits, 50, pw_gpu_die_nominal);
    pw_gpu_settled b = pw_gpu_power_settle(model, &paused, &limits, 50, pw_gpu_die_nominal);
    PW_EXPECT_NEAR(a.clock_ratio, b.clock_ratio, 0);
    PW_EXPECT_NEAR(b.span_s - a.span_s, 1e-3, 1e-12);
    PW_EXPECT(b.watts.total < a.watts.total);
    pw_gpu_power_destroy(model);
}

PW_TEST(each_limit_binds_and_names_itself) {
    pw_gpu_power *model = open_model("H100-SXM5-80GB");
    const pw_gpu_power_figures *g = pw_gpu_power_figures_of(model);
    pw_gpu_load light = load_of(model, 0.05, 0.1, 0);
    pw_gpu_limits none = {0}, fixed = {.clock_ratio = 0.7}, brake = {.brake = true};
    pw_gpu_settled s = pw_gpu_power_settle(model, &light, &none, 50, pw_gpu_die_nominal);
    PW_EXPECT_NEAR(s.clock_ratio, g->load_ratio, g->step_ratio);
    PW_EXPECT_INT(s.reason, PW_CLOCK_REASON_NONE);
    s = pw_gpu_power_settle(model, &light, &fixed, 50, pw_gpu_die_nominal);
    PW_EXPECT(s.clock_ratio <= 0.7 && s.clock_ratio > 0.7 - g->step_ratio);
    PW_EXPECT_INT(s.reason, PW_CLOCK_REASON_CLOCKS_SETTING);
    s = pw_gpu_power_settle(model, &light, &brake, 50, pw_gpu_die_nominal);
    PW_EXPECT_NEAR(s.clock_ratio, 0.5 * g->boost_ratio, g->step_ratio);
    PW_EXPECT_INT(s.reason, PW_CLOCK_REASON_HW_POWER_BRAKE);
    s = pw_gpu_power_settle(model, &light, &none, g->max_operating_C + 0.5 * (g->slowdown_C - g->max_operating_C), pw_gpu_die_nominal);
    PW_EXPECT_NEAR(s.clock_ratio, 0.75 * g->boost_ratio, g->step_ratio);
    PW_EXPECT_INT(s.reason, PW_CLOCK_REASON_SW_THERMAL);
    s = pw_gpu_power_settle(model, &light, &none, g->slowdown_C, pw_gpu_die_nominal);
    PW_EXPECT_NEAR(s.clock_ratio, 0.5 * g->boost_ratio, g->step_ratio);
    PW_EXPECT_INT(s.reason, PW_CLOCK_REASON_HW_THERMAL);
    PW_EXPECT_TEXT(pw_clock_reason_names[s.reason], "hw_thermal_slowdown");
    PW_EXPECT_INT(pw_clock_reason_bits[s.reason], 0x40);
    pw_gpu_power_destroy(model);
}

PW_TEST(limits_out_of_range_are_refused) {
    pw_gpu_power *model = open_model("H100-SXM5-80GB");
    pw_error error = {0};
    pw_gpu_limits bad[] = {{.cap_W = 199}, {.cap_W = 701}, {.cap_W = NAN}, {.cap_W = -1}, {.clock_ratio = 0.01}, {.clock_ratio = 1.2}, {.clock_ratio = NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        PW_EXPECT_INT(pw_gpu_power_check_limits(model, &bad[i], &error), PW_BAD_INPUT);
    pw_gpu_limits good = {.cap_W = 200, .clock_ratio = 1};
    PW_EXPECT_INT(pw_gpu_power_check_limits(model, &good, &error), PW_OK);
    pw_gpu_profile profile;
    PW_EXPECT_INT(pw_gpu_power_profile(catalogue, model, "max-q-training", &profile, &error), PW_UNSUPPORTED);
    PW_EXPECT_INT(pw_gpu_power_profile(catalogue, model, "max-q", &profile, &error), PW_NOT_FOUND);
    pw_gpu_power_destroy(model);
}

PW_TEST(dies_are_drawn_from_their_seed_with_the_spread_on_file) {
    pw_gpu_power *model = open_model("B200-SXM-180GB");
    double sum = 0, square = 0;
    enum { DIES = 4000 };
    for (int i = 0; i < DIES; i++) {
        pw_gpu_die die = pw_gpu_die_draw(model, 7, (uint64_t)i);
        sum += die.dynamic;
        square += (die.dynamic - 1) * (die.dynamic - 1);
    }
    PW_EXPECT_NEAR(sum / DIES, 1, 0.002);
    PW_EXPECT(sqrt(square / DIES) > 0.01 && sqrt(square / DIES) < 0.04);
    pw_gpu_die a = pw_gpu_die_draw(model, 7, 3), b = pw_gpu_die_draw(model, 7, 3), c = pw_gpu_die_draw(model, 8, 3);
    PW_EXPECT(!memcmp(&a, &b, sizeof a) && memcmp(&a, &c, sizeof a) != 0);
    pw_gpu_power_destroy(model);
}

PW_TEST(a_device_without_a_row_says_whose_it_takes) {
    pw_gpu_power *kin = open_model("A100-PCIe-40GB"), *far = open_model("MI300X");
    PW_EXPECT(strstr(pw_gpu_power_provenance(kin), "A100-SXM4-80GB (same architecture Ampere)"));
    PW_EXPECT(strstr(pw_gpu_power_provenance(far), "no measurements of architecture CDNA3"));
    pw_gpu_power_destroy(kin);
    pw_gpu_power_destroy(far);
    pw_error error = {0};
    PW_EXPECT_INT(pw_gpu_power_create(NULL, catalogue, "H101", &kin, &error), PW_NOT_FOUND);
    PW_EXPECT_INT(pw_gpu_power_create(NULL, catalogue, "Gaudi2", &kin, &error), PW_UNSUPPORTED);
}

int main(int argc, char **argv) {
    int result = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return result;
}
