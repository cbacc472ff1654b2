/* Power signals: means and ramps against closed forms, spectra against known lines, smoothing against the energy law. */
#include <stdlib.h>

#include "models/power/meter_grid.h"
#include "models/power/meter_repeat.h"
#include "models/power/meter_smoothing.h"
#include "sim/random.h"
#include "tests/harness/catalogue.h"
#include "tests/harness/check.h"

static pw_error error;
#define OK(call) PW_EXPECT_INT((call), PW_OK)

/* high for `high_s`, low for low_s, `times` times. */
static pw_signal square(double high_W, double high_s, double low_W, double low_s, int times) {
    pw_signal s;
    pw_signal_init(&s, NULL);
    for (int i = 0; i < times; i++) {
        OK(pw_signal_put(&s, i * (high_s + low_s), high_W, &error));
        OK(pw_signal_put(&s, i * (high_s + low_s) + high_s, low_W, &error));
    }
    OK(pw_signal_end(&s, times * (high_s + low_s), &error));
    return s;
}

PW_TEST(energy_is_the_integral_of_power) {
    pw_signal s = square(1000, 3, 200, 1, 100);
    PW_EXPECT_NEAR(pw_signal_energy_J(&s, 0, 400), 100 * 3200, 1e-12);
    PW_EXPECT_NEAR(pw_signal_energy_J(&s, 2.5, 3.5), 0.5 * 1000 + 0.5 * 200, 1e-12);
    PW_EXPECT_NEAR(pw_signal_mean_W(&s), 800, 1e-12);
    PW_EXPECT_INT((int)s.count, 200);
    pw_signal part;
    OK(pw_signal_cut(&s, 2.5, 6, &part, &error));
    PW_EXPECT_NEAR(pw_signal_energy_J(&part, 0, part.end_s), pw_signal_energy_J(&s, 2.5, 6), 1e-12);
    pw_signal_free(&part);
    pw_signal_free(&s);
}

PW_TEST(equal_levels_join_and_the_last_of_a_time_counts) {
    pw_signal s;
    pw_signal_init(&s, NULL);
    OK(pw_signal_put(&s, 0, 5, &error));
    OK(pw_signal_put(&s, 1, 7, &error));
    OK(pw_signal_put(&s, 1, 5, &error));
    OK(pw_signal_put(&s, 2, 5, &error));
    OK(pw_signal_end(&s, 3, &error));
    PW_EXPECT_INT((int)s.count, 1);
    PW_EXPECT_NEAR(pw_signal_mean_W(&s), 5, 1e-15);
    PW_EXPECT_INT(pw_signal_put(&s, 0.5, NAN, &error), PW_BAD_INPUT);
    pw_signal_free(&s);
    PW_EXPECT_INT(pw_signal_put(&s, 0.5, 5, &error), PW_BAD_INPUT);
    pw_signal_free(&s);
}

PW_TEST(windows_tumble_slide_and_look_part_of_the_time) {
    pw_signal s = square(700, 0.025, 100, 0.075, 100); /* 10 Hz, a quarter of the time high */
    pw_instrument tumbling = {"a", 1, 1}, part = {"b", 0.025, 0.1}, sliding = {"c", 1, 0.1};
    pw_reading_summary r;
    OK(pw_signal_summarise(&s, &tumbling, &r, &error));
    PW_EXPECT_INT((int)r.count, 10);
    PW_EXPECT_NEAR(r.mean_W, 250, 1e-12);
    PW_EXPECT_NEAR(r.bias, 0, 1e-12);
    OK(pw_signal_summarise(&s, &part, &r, &error)); /* it looks in the last quarter of each period, where power is low */
    PW_EXPECT_INT((int)r.count, 100);
    PW_EXPECT_NEAR(r.mean_W, 100, 1e-9);
    PW_EXPECT_NEAR(r.bias, 100. / 250 - 1, 1e-9);
    OK(pw_signal_summarise(&s, &sliding, &r, &error));
    PW_EXPECT_INT((int)r.count, 100);
    PW_EXPECT_NEAR(r.least_W, 250, 1e-9);
    PW_EXPECT_NEAR(r.most_W, 250, 1e-9);
    pw_signal_free(&s);
}

PW_TEST(mean_of_readings_is_the_mean_power) {
    pw_random random = pw_random_stream(7, "test", 0);
    pw_signal s;
    pw_signal_init(&s, NULL);
    for (int i = 0; i < 1000; i++) OK(pw_signal_put(&s, 0.06 * i + (i ? 0.05 * pw_random_uniform(&random) : 0), 1000 * pw_random_uniform(&random), &error));
    OK(pw_signal_end(&s, 60, &error));
    for (int i = 0; i < 3; i++) {
        pw_instrument meter = {"m", (double[]){0.1, 1, 15}[i], (double[]){0.1, 1, 15}[i]};
        pw_reading_summary r;
        OK(pw_signal_summarise(&s, &meter, &r, &error));
        PW_EXPECT_NEAR(r.mean_W, pw_signal_mean_W(&s), 1e-12);
        PW_EXPECT(r.most_W <= 1000 && r.least_W >= 0 && r.p95_W <= r.most_W && r.p95_W >= r.mean_W);
    }
    pw_signal_free(&s);
}

PW_TEST(ramp_of_a_step_is_its_height_over_the_window) {
    pw_signal s = square(400, 10, 150, 10, 2);
    pw_ramp ramp;
    OK(pw_signal_ramp(&s, 2, &ramp, &error));
    PW_EXPECT_NEAR(ramp.up_Wps, 125, 1e-12);
    PW_EXPECT_NEAR(ramp.up_at_s, 20, 1e-12);
    PW_EXPECT_NEAR(ramp.down_Wps, 125, 1e-12);
    PW_EXPECT_NEAR(ramp.down_at_s, 10, 1e-12);
    PW_EXPECT_INT(pw_signal_ramp(&s, 21, &ramp, &error), PW_OUT_OF_RANGE);
    pw_signal_free(&s);
}

PW_TEST(ramps_are_no_smaller_than_any_pair_of_windows) {
    pw_random random = pw_random_stream(3, "test", 0);
    pw_signal s;
    pw_signal_init(&s, NULL);
    for (int i = 0; i < 200; i++) OK(pw_signal_put(&s, i * 0.3, 1000 * pw_random_uniform(&random), &error));
    OK(pw_signal_end(&s, 60, &error));
    pw_ramp ramp;
    OK(pw_signal_ramp(&s, 1, &ramp, &error));
    double most = 0;
    for (double t = 1; t <= 59; t += 0.001)
        most = fmax(most, pw_signal_energy_J(&s, t, t + 1) - pw_signal_energy_J(&s, t - 1, t));
    PW_EXPECT(most <= ramp.up_Wps * (1 + 1e-9));
    PW_EXPECT(most >= ramp.up_Wps * 0.98);
    pw_signal_free(&s);
}

PW_TEST(lines_of_a_square_wave_meet_fourier) {
    pw_signal s = square(1500, 0.5, 500, 0.5, 60); /* 1 Hz: odd harmonics of 4/pi x 500 / n */
    pw_spectrum spectrum;
    OK(pw_spectrum_make(&s, 0.1, 20, &spectrum, &error));
    for (int n = 1; n < 20; n += 2) {
        pw_band band = pw_spectrum_band(&spectrum, n - 0.4, n + 0.4);
        PW_EXPECT_NEAR(band.strongest_Hz, n, 1e-12);
        PW_EXPECT_NEAR(band.amplitude_W, 4 / 3.14159265358979323846 * 500 / n, 2e-3);
    }
    PW_EXPECT_NEAR(spectrum.variance_W2, 500. * 500, 1e-2);
    PW_EXPECT(pw_spectrum_band(&spectrum, 1.6, 2.4).amplitude_W < 1);
    pw_spectrum_free(&spectrum);
    PW_EXPECT_INT(pw_spectrum_make(&s, 0.001, 20, &spectrum, &error), PW_OUT_OF_RANGE);
    pw_signal_free(&s);
}

PW_TEST(a_flat_signal_keeps_every_limit_and_a_square_wave_breaks_them) {
    pw_grid_limits limits = {.connection_W = NAN, .ramp_up = 0.1, .ramp_down = 0.1, .ramp_window_s = 1, .range = 0.2, .band_from_Hz = 0.1,
                             .band_to_Hz = 20, .amplitude = 0.05};
    pw_grid_report report;
    pw_signal flat = square(300, 30, 300, 30, 1), wave = square(400, 1, 200, 1, 30);
    OK(pw_grid_check(&flat, &limits, &report, &error));
    PW_EXPECT_INT((int)report.broken, 0);
    PW_EXPECT_NEAR(report.connection_W, 300, 1e-12);
    limits.connection_W = 400;
    OK(pw_grid_check(&wave, &limits, &report, &error));
    PW_EXPECT_INT((int)report.count, 4);
    PW_EXPECT_INT((int)report.broken, 4);
    PW_EXPECT_NEAR(report.findings[0].value, 200. / 400, 1e-9);
    PW_EXPECT_NEAR(report.findings[2].value, 200. / 400, 1e-9);
    PW_EXPECT_NEAR(report.findings[3].at, 0.5, 1e-9);
    PW_EXPECT_NEAR(report.findings[3].value, 100. / 400 * sqrt(2), 0.01); /* root of the sum of squares of a square wave's lines */
    pw_signal_free(&flat);
    pw_signal_free(&wave);
}

static pw_smoothing_desc plain(void) {
    return (pw_smoothing_desc){.ramp_up_Wps = NAN, .ramp_down_Wps = NAN, .floor_W = NAN, .floor_hold_s = 10, .storage_J = NAN, .storage_W = NAN,
                               .storage_efficiency = NAN, .averaging_s = 1, .interval_s = 0.01};
}

PW_TEST(ramp_limits_hold_and_cost_what_they_burn_and_hold_back) {
    pw_signal s = square(700, 10, 100, 10, 3), grid;
    pw_smoothing_desc d = plain();
    pw_smoothing_result r;
    pw_ramp ramp;
    d.ramp_up_Wps = d.ramp_down_Wps = 100;
    OK(pw_smooth(&s, &d, 1, &grid, &r, &error));
    OK(pw_signal_ramp(&grid, 1, &ramp, &error));
    PW_EXPECT(ramp.up_Wps <= 100 * (1 + 1e-9) && ramp.down_Wps <= 100 * (1 + 1e-9));
    PW_EXPECT_NEAR(r.burned_J, 3 * 600. * 6 / 2, 0.02); /* triangles of 600 W and 6 s */
    PW_EXPECT(r.delay_s > 5.5 && r.delay_s < 6.5);      /* two rises of 6 s at half speed */
    PW_EXPECT_NEAR(r.grid_J, pw_signal_energy_J(&grid, 0, grid.end_s), 1e-9);
    PW_EXPECT_NEAR(r.grid_J, r.load_J + r.burned_J, 1e-9);
    pw_signal_free(&grid);
    pw_signal_free(&s);
}

PW_TEST(a_floor_burns_what_is_missing_while_it_is_held) {
    pw_signal s = square(700, 5, 100, 55, 1), grid;
    pw_smoothing_desc d = plain();
    pw_smoothing_result r;
    d.floor_W = 400;
    OK(pw_smooth(&s, &d, 2, &grid, &r, &error)); /* for two GPUs: a floor of 800 W is above the load all the time */
    PW_EXPECT_NEAR(r.burned_J, 0, 1e-9);
    pw_signal_free(&grid);
    OK(pw_smooth(&s, &d, 1, &grid, &r, &error));
    PW_EXPECT_NEAR(r.burned_J, 300 * 10, 2e-3);
    PW_EXPECT_INT((int)r.delay_s, 0);
    pw_signal_free(&grid);
    pw_signal_free(&s);
}

PW_TEST(storage_lowers_the_peak_and_keeps_the_energy_law) {
    pw_signal s = square(700, 1, 300, 1, 60), grid;
    pw_smoothing_desc d = plain();
    pw_smoothing_result r;
    double least, most;
    d.storage_J = 400;
    d.storage_efficiency = 0.9;
    d.averaging_s = 10;
    OK(pw_smooth(&s, &d, 1, &grid, &r, &error));
    pw_signal last;
    OK(pw_signal_cut(&grid, 60, 120, &last, &error));
    pw_signal_range_W(&last, &least, &most);
    PW_EXPECT(most < 560 && least > 460);
    PW_EXPECT_NEAR(r.grid_J, r.load_J + r.lost_J + r.stored_J + r.burned_J, 1e-9);
    PW_EXPECT_NEAR(r.burned_J, 0, 1e-9);
    PW_EXPECT(r.lost_J > 0.03 * 60 * 200 && r.least_store > 0.05 && r.most_store <= 1);
    pw_signal_free(&last);
    pw_signal_free(&grid);
    d.storage_J = 1; /* nothing to speak of: the grid sees the load */
    OK(pw_smooth(&s, &d, 1, &grid, &r, &error));
    pw_signal_range_W(&grid, &least, &most);
    PW_EXPECT(most > 690);
    pw_signal_free(&grid);
    pw_signal_free(&s);
}

PW_TEST(nodes_without_jitter_add_up_and_with_jitter_blur) {
    pw_signal profile = square(1000, 1, 200, 0.5, 1), sum;
    pw_repeat repeat = {.nodes = 64, .times = 40, .seed = 1};
    double least, most;
    OK(pw_signal_repeat(&profile, &repeat, &sum, &error));
    pw_signal_range_W(&sum, &least, &most);
    PW_EXPECT_NEAR(most, 64000, 1e-12);
    PW_EXPECT_NEAR(sum.end_s, 60, 1e-12);
    pw_ramp sharp, soft;
    OK(pw_signal_ramp(&sum, 0.05, &sharp, &error));
    pw_signal_free(&sum);
    repeat.jitter = 0.03;
    repeat.spread = 0.02;
    OK(pw_signal_repeat(&profile, &repeat, &sum, &error));
    OK(pw_signal_ramp(&sum, 0.05, &soft, &error));
    PW_EXPECT(sum.end_s > 61 && sum.end_s < 68);
    PW_EXPECT(soft.down_Wps < sharp.down_Wps && soft.up_Wps > 0.9 * sharp.up_Wps); /* a barrier starts all at once */
    pw_signal_free(&sum);
    pw_signal_free(&profile);
}

PW_TEST(every_row_of_the_tables_can_be_used) {
    const pw_catalogue *files = catalogue();
    const char *tables[] = {"power-meters", "grid-limits", "power-smoothing"};
    pw_arena *memory = arena();
    for (int t = 0; t < 3; t++) {
        const pw_table *table = pw_catalogue_table(files, tables[t]);
        PW_EXPECT(table && pw_table_rows(table) > 0);
        for (size_t row = 0; table && row < pw_table_rows(table); row++) {
            const char *name = pw_table_text_at(table, row, 0);
            pw_instrument instrument;
            pw_grid_limits limits;
            pw_smoothing_desc smoothing;
            if (t == 0) OK(pw_instrument_of(files, name, &instrument, &error));
            if (t == 1) OK(pw_description_defaults(&pw_grid_limits_kind, &limits, memory, &error));
            if (t == 1) OK(pw_grid_limits_preset(files, name, &limits, memory, &error));
            if (t == 1) OK(pw_description_check(&pw_grid_limits_kind, &limits, "x", 1, &error));
            if (t == 2) OK(pw_description_defaults(&pw_smoothing_kind, &smoothing, memory, &error));
            if (t == 2) OK(pw_smoothing_preset(files, name, &smoothing, memory, &error));
            if (t == 2) OK(pw_description_check(&pw_smoothing_kind, &smoothing, "x", 1, &error));
        }
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
