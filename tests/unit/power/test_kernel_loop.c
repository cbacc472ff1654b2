/* A benchmark loop shows the free clock as long as it is short, and the clock under the cap when it is long. */
#include "models/power/kernel_loop.h"
#include "tests/harness/check.h"

#include <stdlib.h>

static pw_catalogue *catalogue;
static pw_gpu_power *power;

static void open_power(void) {
    pw_error error = {0};
    if (catalogue) return;
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK ||
        pw_gpu_power_create(NULL, catalogue, "H200-SXM-141GB", &power, &error) != PW_OK) {
        printf("# %s\n", error.what);
        exit(1);
    }
}

/* 10 ms of bf16 arithmetic at a rate that no cap of 300 W holds. */
static pw_gpu_load launch(void) {
    pw_gpu_load load = {.span_s = 0.01, .compute_s = 0.01, .work = {.busy_s = 0.01}};
    load.work.tensor_flops[PW_PRECISION_BF16] = 8e14 * 0.01;
    return load;
}

static double mean_s(double cap_W, double before, double timed) {
    open_power();
    const pw_gpu_load load = launch();
    const pw_gpu_limits limits = {.cap_W = cap_W};
    return pw_kernel_loop_s(power, &load, &limits, 50, &(pw_kernel_loop){before, timed, 0.1});
}

PW_TEST(a_short_loop_runs_at_the_free_clock) {
    PW_EXPECT(mean_s(300, 0, 1) == 0.01);
    PW_EXPECT(mean_s(0, 1, 1) == 0.01);
}

PW_TEST(a_long_loop_runs_at_the_clock_that_the_cap_allows) {
    open_power();
    const pw_gpu_load load = launch();
    const pw_gpu_limits limits = {.cap_W = 300};
    pw_gpu_settled held = pw_gpu_power_settle(power, &load, &limits, 50, pw_gpu_die_nominal);
    PW_EXPECT(held.clock_ratio < 1 && held.span_s > 0.01);
    PW_EXPECT_NEAR(mean_s(300, 1000, 10), held.span_s, 1e-12);
    PW_EXPECT(mean_s(300, 0, 1e6) < held.span_s && mean_s(300, 0, 1e6) > 0.999 * held.span_s);
}

/* dA/dt = (P - A) / tau from idle: the launches before the cap is met, to the launch. */
PW_TEST(the_cap_is_met_when_the_average_reaches_it) {
    open_power();
    const pw_gpu_load load = launch();
    pw_gpu_watts free = pw_gpu_power_watts(power, &(pw_gpu_power_state){1, 50, {1, 1}}, &load.work, 0.01);
    double idle_W = pw_gpu_power_figures_of(power)->idle_W, average_W = idle_W, step_s = 1e-6, at_s = 0;
    for (; average_W < 300; at_s += step_s) average_W += (free.total - average_W) * step_s / 0.1;
    double reached = at_s / 0.01, all = 40;
    const pw_gpu_limits limits = {.cap_W = 300};
    double held_s = pw_gpu_power_settle(power, &load, &limits, 50, pw_gpu_die_nominal).span_s;
    PW_EXPECT(reached > 1 && reached < all);
    PW_EXPECT_NEAR(mean_s(300, 0, all), (reached * 0.01 + (all - reached) * held_s) / all, 1e-6);
}

PW_TEST(longer_loops_and_lower_caps_take_longer) {
    double last = 0;
    for (double before = 0; before < 60; before += 3) {
        PW_EXPECT(mean_s(300, before, 5) >= last);
        last = mean_s(300, before, 5);
    }
    last = 1;
    for (double cap_W = 250; cap_W <= 700; cap_W += 50) {
        PW_EXPECT(mean_s(cap_W, 30, 30) <= last);
        last = mean_s(cap_W, 30, 30);
    }
}

int main(int argc, char **argv) {
    int result = pw_run_tests(argc, argv);
    pw_gpu_power_destroy(power);
    pw_catalogue_destroy(catalogue);
    return result;
}
