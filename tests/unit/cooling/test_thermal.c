/* Thermal networks against closed forms and against fine integration. */
#include <stdlib.h>
#include <time.h>

#include "models/cooling/thermal.h"
#include "sim/math.h"
#include "sim/random.h"
#include "tests/harness/check.h"

static pw_thermal make(const pw_thermal_network *network) {
    pw_thermal thermal;
    pw_error error = {0};
    if (pw_thermal_init(&thermal, network, &error) != PW_OK) PW_FAILED("%s", error.what);
    return thermal;
}

/* One node: C = 500 J/K, 20 W/K to the air. */
static pw_thermal_network single(double feedback) {
    pw_thermal_network d = {.nodes = 1, .boundaries = 1, .heated = 1, .capacity_JpK = {500}, .feedback_WpK = {feedback}, .reference_C = {30}};
    d.outside_WpK[0][0] = 20;
    return d;
}

PW_TEST(one_node_follows_its_exponential) {
    pw_thermal_network d = single(0);
    pw_thermal thermal = make(&d);
    pw_thermal_step step;
    for (double h = 1e-6; h < 1e5; h *= 7) {
        double t = 25, heat = 700, air = 20, mean;
        pw_thermal_make_step(&thermal, h, &step);
        pw_thermal_advance(&step, 1, 1, &t, &heat, &air, &mean);
        PW_EXPECT_NEAR(t, 55 + (25 - 55) * exp(-h / 25), 1e-13);
        PW_EXPECT_NEAR(mean, 55 + (25 - 55) * -expm1(-h / 25) / (h / 25), 1e-13);
    }
}

PW_TEST(feedback_is_exact) { /* heat = 700 + 4 (T - 30): rate (20 - 4) / 500, end (700 - 120 + 400) / 16 */
    pw_thermal_network d = single(4);
    pw_thermal thermal = make(&d);
    pw_thermal_step step;
    double t = 25, heat = 700, air = 20, steady;
    pw_thermal_make_step(&thermal, 12, &step);
    pw_thermal_advance(&step, 1, 1, &t, &heat, &air, NULL);
    PW_EXPECT_NEAR(t, 61.25 + (25 - 61.25) * exp(-12 * 16 / 500.0), 1e-13);
    PW_EXPECT(pw_thermal_steady(&thermal, &heat, &air, &steady, NULL) == PW_OK);
    PW_EXPECT_NEAR(steady, 61.25, 1e-13);
}

PW_TEST(runaway_grows_and_is_named) {
    pw_thermal_network d = single(25);
    pw_thermal thermal = make(&d);
    pw_thermal_step step;
    pw_error error = {0};
    double t = 25, heat = 700, air = 20;
    double u = 700 - 25 * 30 + 20 * 20;
    pw_thermal_make_step(&thermal, 100, &step);
    pw_thermal_advance(&step, 1, 1, &t, &heat, &air, NULL);
    PW_EXPECT_NEAR(t, (25 + u / 5) * exp(1) - u / 5, 1e-12);
    PW_EXPECT(pw_thermal_steady(&thermal, &heat, &air, &t, &error) == PW_OUT_OF_RANGE);
    PW_EXPECT_CONTAINS(error.what, "run away");
    double start = 25;
    PW_EXPECT_NEAR(pw_thermal_time_to(&thermal, &start, &heat, &air, 0, 90, 1e6), 100 * log((90 + u / 5) / (25 + u / 5)), 1e-11);
}

PW_TEST(without_a_way_out_temperature_rises_in_a_line) {
    pw_thermal_network d = {.nodes = 2, .boundaries = 0, .heated = 1, .capacity_JpK = {50, 450}};
    d.between_WpK[0][1] = 30;
    pw_thermal thermal = make(&d);
    pw_thermal_step step;
    pw_error error = {0};
    double t[2] = {20, 20}, heat = 100, rate = 30 / 50.0 + 30 / 450.0;
    pw_thermal_make_step(&thermal, 40, &step);
    pw_thermal_advance(&step, 1, 1, t, &heat, NULL, NULL);
    PW_EXPECT_NEAR((50 * t[0] + 450 * t[1]) / 500, 20 + 100 * 40 / 500.0, 1e-13);
    PW_EXPECT_NEAR(t[0] - t[1], 100 / 50.0 / rate * (1 - exp(-rate * 40)), 1e-12);
    PW_EXPECT(pw_thermal_steady(&thermal, &heat, NULL, t, &error) == PW_OUT_OF_RANGE);
    double cold[2] = {20, 20};
    double at = pw_thermal_time_to(&thermal, cold, &heat, NULL, 0, 80, 1e6);
    pw_thermal_make_step(&thermal, at, &step);
    pw_thermal_advance(&step, 1, 1, cold, &heat, NULL, NULL);
    PW_EXPECT_NEAR(cold[0], 80, 1e-12);
    PW_EXPECT(at > 100);
}

/* Two nodes, by the formula of a 2 x 2 matrix. */
PW_TEST(two_nodes_meet_their_closed_form) {
    pw_thermal_network d = {.nodes = 2, .boundaries = 1, .heated = 1, .capacity_JpK = {60, 900}};
    d.between_WpK[0][1] = 50;
    d.outside_WpK[1][0] = 25;
    pw_thermal thermal = make(&d);
    double a = 50 / 60.0, b = 50 / 60.0, c = 50 / 900.0, e = 75 / 900.0, half = (a + e) / 2, root = sqrt((a - e) * (a - e) / 4 + b * c);
    PW_EXPECT_NEAR(thermal.rate_ps[0], half - root, 1e-13);
    PW_EXPECT_NEAR(thermal.rate_ps[1], half + root, 1e-13);
    double end[2], heat = 700, air = 20;
    PW_EXPECT(pw_thermal_steady(&thermal, &heat, &air, end, NULL) == PW_OK);
    PW_EXPECT_NEAR(end[1], 20 + 700 / 25.0, 1e-13);
    PW_EXPECT_NEAR(end[0], 20 + 700 / 25.0 + 700 / 50.0, 1e-13);
    for (double h = 1e-3; h < 1e4; h *= 3) {
        double t[2] = {20, 20}, x = 20 - end[0], y = 20 - end[1], s = exp(-half * h) * (root * h < 1e-3 ? h : sinh(root * h) / root);
        double k = exp(-half * h) * cosh(root * h);
        if (root * h > 300) s = k = 0;
        pw_thermal_step step;
        pw_thermal_make_step(&thermal, h, &step);
        pw_thermal_advance(&step, 1, 1, t, &heat, &air, NULL);
        PW_EXPECT_NEAR(t[0], end[0] + k * x + s * (-(a - half) * x + b * y), 1e-9);
        PW_EXPECT_NEAR(t[1], end[1] + k * y + s * (c * x - (e - half) * y), 1e-9);
    }
}

static pw_thermal_network random_network(pw_random *random, int nodes) {
    pw_thermal_network d = {.nodes = nodes, .boundaries = 2, .heated = nodes > 1 ? nodes - 1 : 1};
    for (int i = 0; i < nodes; i++) {
        d.capacity_JpK[i] = pw_exp(3 + 4 * pw_random_uniform(random));
        d.feedback_WpK[i] = 0.2 * pw_random_uniform(random);
        d.reference_C[i] = 40;
        for (int j = i + 1; j < nodes; j++) d.between_WpK[i][j] = pw_random_uniform(random) < 0.6 ? pw_exp(4 * pw_random_uniform(random)) : 0;
        for (int b = 0; b < 2; b++) d.outside_WpK[i][b] = pw_exp(2 * pw_random_uniform(random));
    }
    return d;
}

PW_TEST(steps_compose_and_heat_is_conserved) {
    pw_random random = pw_random_stream(11, "networks", 0);
    for (int round = 0; round < 300; round++) {
        int n = 1 + round % PW_THERMAL_NODES;
        pw_thermal_network d = random_network(&random, n);
        pw_thermal thermal = make(&d);
        double start[8], heat[8], air[2] = {18, 35}, once[8], twice[8], mean[8], length = pw_exp(8 * pw_random_uniform(&random) - 3);
        for (int i = 0; i < n; i++) {
            start[i] = once[i] = twice[i] = 20 + 60 * pw_random_uniform(&random);
            heat[i] = 500 * pw_random_uniform(&random);
        }
        pw_thermal_step step;
        pw_thermal_make_step(&thermal, length, &step);
        pw_thermal_advance(&step, 1, 1, once, heat, air, mean);
        double parts[] = {0.1, 0.25, 0.65};
        for (int p = 0; p < 3; p++) {
            pw_thermal_make_step(&thermal, parts[p] * length, &step);
            pw_thermal_advance(&step, 1, 1, twice, heat, air, NULL);
        }
        double stored = 0, brought = 0;
        for (int i = 0; i < n; i++) {
            PW_EXPECT_NEAR(twice[i], once[i], 1e-11);
            stored += d.capacity_JpK[i] * (once[i] - start[i]);
            brought += (i < d.heated ? heat[i] : 0) + d.feedback_WpK[i] * (mean[i] - d.reference_C[i]);
        }
        double left = pw_thermal_heat_out(&thermal, mean, air, 0) + pw_thermal_heat_out(&thermal, mean, air, 1);
        if (!(fabs((brought - left) * length - stored) <= 1e-9 * (fabs(stored) + brought * length)))
            PW_FAILED("round %d: brought %g J, left %g J, stored %g J", round, brought * length, left * length, stored);
    }
}

PW_TEST(runge_kutta_agrees) {
    pw_random random = pw_random_stream(12, "networks", 0);
    pw_thermal_network d = random_network(&random, 5);
    pw_thermal thermal = make(&d);
    double t[5] = {20, 30, 40, 50, 60}, exact[5], heat[4] = {100, 50, 0, 300}, air[2] = {18, 35}, length = 30, h = length / 300000;
    memcpy(exact, t, sizeof t);
    for (int s = 0; s < 300000; s++) {
        double k[4][5], x[5];
        for (int stage = 0; stage < 4; stage++)
            for (int i = 0; i < 5; i++) {
                for (int j = 0; j < 5; j++) x[j] = stage == 0 ? t[j] : t[j] + k[stage - 1][j] * (stage == 3 ? h : h / 2);
                double u = (i < 4 ? heat[i] : 0) + d.feedback_WpK[i] * (x[i] - 40);
                for (int j = 0; j < 5; j++) u += (i < j ? d.between_WpK[i][j] : d.between_WpK[j][i]) * (i == j ? 0 : x[j] - x[i]);
                for (int b = 0; b < 2; b++) u += d.outside_WpK[i][b] * (air[b] - x[i]);
                k[stage][i] = u / d.capacity_JpK[i];
            }
        for (int i = 0; i < 5; i++) t[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
    pw_thermal_step step;
    pw_thermal_make_step(&thermal, length, &step);
    pw_thermal_advance(&step, 1, 1, exact, heat, air, NULL);
    for (int i = 0; i < 5; i++) PW_EXPECT_NEAR(exact[i], t[i], 1e-9);
}

PW_TEST(many_parts_are_as_one_part) {
    enum { PARTS = 201, STRIDE = 210 };
    pw_random random = pw_random_stream(13, "networks", 0);
    pw_thermal_network d = random_network(&random, 3);
    pw_thermal thermal = make(&d);
    static double t[3 * STRIDE], heat[2 * STRIDE], air[2 * STRIDE], mean[3 * STRIDE];
    for (int i = 0; i < 3 * STRIDE; i++) t[i] = 20 + 50 * pw_random_uniform(&random);
    for (int i = 0; i < 2 * STRIDE; i++) heat[i] = 400 * pw_random_uniform(&random), air[i] = 20 + 10 * pw_random_uniform(&random);
    double one[PARTS][3], one_mean[PARTS][3];
    pw_thermal_step step;
    pw_thermal_make_step(&thermal, 1, &step);
    for (int p = 0; p < PARTS; p++) {
        double h[2] = {heat[p], heat[STRIDE + p]}, a[2] = {air[p], air[STRIDE + p]};
        for (int i = 0; i < 3; i++) one[p][i] = t[i * STRIDE + p];
        pw_thermal_advance(&step, 1, 1, one[p], h, a, one_mean[p]);
    }
    double beyond = t[PARTS];
    pw_thermal_advance(&step, PARTS, STRIDE, t, heat, air, mean);
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < 3; i++) PW_EXPECT(t[i * STRIDE + p] == one[p][i] && mean[i * STRIDE + p] == one_mean[p][i]);
    PW_EXPECT(t[PARTS] == beyond);
}

/* ---- crossings ---- */

PW_TEST(crossing_of_one_node_is_a_logarithm) {
    pw_thermal_network d = single(0);
    pw_thermal thermal = make(&d);
    double t = 25, heat = 1400, air = 20;
    PW_EXPECT_NEAR(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 60, 1e6), 25 * log(65.0 / 30.0), 1e-12);
    PW_EXPECT_NEAR(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 60, INFINITY), 25 * log(65.0 / 30.0), 1e-12);
    PW_EXPECT(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 60, 10) == INFINITY);
    PW_EXPECT(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 91, INFINITY) == INFINITY);
    PW_EXPECT(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 24, INFINITY) == INFINITY);
    PW_EXPECT(pw_thermal_time_to(&thermal, &t, &heat, &air, 0, 25, INFINITY) == 0);
}

PW_TEST(a_short_peak_is_found) { /* a hot die beside a cold sink: the middle node rises and falls again */
    pw_thermal_network d = {.nodes = 3, .boundaries = 1, .heated = 1, .capacity_JpK = {40, 20, 800}};
    d.between_WpK[0][1] = 20;
    d.between_WpK[1][2] = 10;
    d.outside_WpK[2][0] = 30;
    pw_thermal thermal = make(&d);
    double start[3] = {90, 20, 20}, heat = 0, air = 20, peak = 0;
    pw_thermal_step step;
    for (double h = 0.1; h < 20; h += 0.1) {
        double t[3] = {90, 20, 20};
        pw_thermal_make_step(&thermal, h, &step);
        pw_thermal_advance(&step, 1, 1, t, &heat, &air, NULL);
        if (t[1] > peak) peak = t[1];
    }
    double at = pw_thermal_time_to(&thermal, start, &heat, &air, 1, peak - 0.01, 1e9);
    PW_EXPECT(at > 0.5 && at < 10);
    PW_EXPECT(pw_thermal_time_to(&thermal, start, &heat, &air, 1, peak + 0.5, 1e9) == INFINITY);
    pw_thermal_make_step(&thermal, at, &step);
    pw_thermal_advance(&step, 1, 1, start, &heat, &air, NULL);
    PW_EXPECT_NEAR(start[1], peak - 0.01, 1e-12);
}

PW_TEST(crossings_are_the_first_that_a_fine_search_sees) {
    pw_random random = pw_random_stream(14, "crossings", 0);
    int found = 0;
    for (int round = 0; round < 400; round++) {
        int n = 2 + round % 6;
        pw_thermal_network d = random_network(&random, n);
        pw_thermal thermal = make(&d);
        double start[8], t[8], heat[8], air[2] = {18, 35}, level = 25 + 40 * pw_random_uniform(&random), horizon = 200, first = INFINITY;
        for (int i = 0; i < n; i++) {
            start[i] = t[i] = 20 + 60 * pw_random_uniform(&random);
            heat[i] = 200 * pw_random_uniform(&random);
        }
        pw_thermal_step step;
        double h = 0.05;
        pw_thermal_make_step(&thermal, h, &step);
        for (int s = 1; s * h <= horizon && first == INFINITY; s++) {
            double before = t[0];
            pw_thermal_advance(&step, 1, 1, t, heat, air, NULL);
            if ((before < level) != (t[0] < level)) first = s * h;
        }
        double at = pw_thermal_time_to(&thermal, start, heat, air, 0, level, horizon);
        if (first == INFINITY) continue; /* the search may miss a touch; the other way round is an error */
        found++;
        if (!(at <= first + 1e-9)) PW_FAILED("round %d: crossing at %g s, seen before %g s", round, at, first);
        pw_thermal_make_step(&thermal, at, &step);
        pw_thermal_advance(&step, 1, 1, start, heat, air, NULL);
        PW_EXPECT_NEAR(start[0], level, 1e-11);
    }
    PW_EXPECT(found > 100);
}

PW_TEST(bad_networks_are_refused) {
    pw_thermal thermal;
    pw_error error = {0};
    pw_thermal_network d = single(0);
    d.capacity_JpK[0] = 0;
    PW_EXPECT(pw_thermal_init(&thermal, &d, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "heat capacity of thermal node 0 is 0 J/K");
    d = single(0);
    d.outside_WpK[0][0] = -1;
    PW_EXPECT(pw_thermal_init(&thermal, &d, &error) == PW_BAD_INPUT);
    d.nodes = 9;
    PW_EXPECT(pw_thermal_init(&thermal, &d, &error) == PW_BAD_INPUT);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
