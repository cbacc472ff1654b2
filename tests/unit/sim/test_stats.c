#include "sim/stats.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>

#include "sim/math.h"
#include "sim/random.h"
#include "tests/harness/check.h"

PW_TEST(moments_survive_a_large_offset) {
    pw_tally tally = {0};
    PW_EXPECT(isnan(pw_tally_variance(&tally)) && isnan(pw_tally_interval(&tally, 0.95)));
    const double values[] = {4, 7, 13, 16};
    for (int i = 0; i < 4; i++) pw_tally_add(&tally, 1e9 + values[i]);
    PW_EXPECT(tally.mean == 1e9 + 10);
    PW_EXPECT_NEAR(pw_tally_variance(&tally), 30, 1e-12);
    PW_EXPECT(tally.minimum == 1e9 + 4 && tally.maximum == 1e9 + 16);
}

PW_TEST(merged_tallies_equal_one_tally) {
    pw_random random = pw_random_stream(1, "tally", 0);
    pw_tally whole = {0}, parts[3] = {{0}}, merged = {0};
    for (int i = 0; i < 1000; i++) {
        double value = pw_random_normal(&random, 5, 2);
        pw_tally_add(&whole, value);
        pw_tally_add(&parts[i % 2], value); /* the third stays empty */
    }
    for (int i = 0; i < 3; i++) pw_tally_merge(&merged, &parts[i]);
    PW_EXPECT_INT(merged.count, whole.count);
    PW_EXPECT_NEAR(merged.mean, whole.mean, 1e-13);
    PW_EXPECT_NEAR(merged.squares, whole.squares, 1e-12);
    PW_EXPECT(merged.minimum == whole.minimum && merged.maximum == whole.maximum);
}

PW_TEST(the_interval_is_students) {
    pw_tally tally = {0};
    for (int i = 1; i <= 5; i++) pw_tally_add(&tally, i);
    PW_EXPECT_NEAR(pw_tally_interval(&tally, 0.95), 2.776445 * sqrt(2.5 / 5), 1e-9);
    PW_EXPECT_NEAR(pw_tally_interval(&tally, 0.99), 4.604095 * sqrt(2.5 / 5), 1e-9);
    PW_EXPECT(isnan(pw_tally_interval(&tally, 1)));
    int held = 0; /* it holds the true mean as often as it says */
    for (uint64_t run = 0; run < 2000; run++) {
        pw_random random = pw_random_stream(77, "interval", run);
        pw_tally one = {0};
        for (int i = 0; i < 8; i++) pw_tally_add(&one, pw_random_normal(&random, 3, 1));
        held += fabs(one.mean - 3) <= pw_tally_interval(&one, 0.9);
    }
    PW_EXPECT(abs(held - 1800) < 60);
}

PW_TEST(the_interval_of_any_count_is_finite_and_shrinks) {
    const double confidences[] = {1e-9, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9};
    for (size_t i = 0; i < sizeof confidences / sizeof *confidences; i++) {
        double before = (double)INFINITY;
        for (double count = 2; count < 0x1p64; count *= 1.5) {
            pw_tally tally = {.count = (uint64_t)count, .mean = 1, .squares = (double)((uint64_t)count - 1)};
            double now = pw_tally_interval(&tally, confidences[i]);
            PW_EXPECT(now >= 0 && now <= before);
            before = now;
        }
    }
}

static int handled;
static void count_handled(const char *reason, const char *file, int line, int number) {
    (void)reason, (void)file, (void)line, (void)number;
    handled++;
}

PW_TEST(no_count_and_no_confidence_reaches_the_handler_of_gsl) {
    gsl_error_handler_t *before = gsl_set_error_handler(count_handled);
    const double odd[] = {0, 1, -1, 2, (double)NAN, (double)INFINITY, -(double)INFINITY, 1 - 0x1p-53};
    pw_tally tally = {.count = 5, .mean = 1, .squares = 4};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) PW_EXPECT(isnan(pw_tally_interval(&tally, odd[i])));
    for (uint64_t i = 0; i < 200000; i++) {
        pw_random random = pw_random_stream(11, "handler", i);
        double count = floor(2 + pw_exp2(63 * pw_random_uniform(&random))), tail = pw_exp2(-60 * pw_random_uniform(&random));
        tally = (pw_tally){.count = (uint64_t)count, .mean = 1, .squares = count};
        double width = pw_tally_interval(&tally, i % 2 ? tail : 1 - tail);
        if (!(width >= 0 && isfinite(width)) && (i % 2 || tail > 0x1p-51))
            PW_FAILED("seed 11, draw %llu: count %g, tail %g gives %g", (unsigned long long)i, count, tail, width);
    }
    PW_EXPECT_INT(handled, 0);
    gsl_set_error_handler(before);
}

PW_TEST(quantiles_between_equal_values_are_that_value) {
    const double infinity = (double)INFINITY, values[] = {-infinity, -infinity, 1, 1, infinity, infinity, infinity};
    const double expected[] = {-infinity, -infinity, 1, 1, infinity, infinity, infinity};
    for (int i = 0; i < 7; i++) PW_EXPECT(pw_quantile(values, 7, i / 6.0) == expected[i]);
    PW_EXPECT(pw_quantile(values + 4, 3, 0.3) == infinity && pw_quantile(values, 2, 0.3) == -infinity);
}

PW_TEST(the_mean_over_time_weighs_by_duration) {
    pw_time_mean mean = {0};
    PW_EXPECT(isnan(pw_time_mean_get(&mean, 5)) && pw_time_mean_integral(&mean, 5) == 0);
    pw_time_mean_set(&mean, 100, 4);
    PW_EXPECT(pw_time_mean_get(&mean, 100) == 4);
    pw_time_mean_set(&mean, 110, 1);
    pw_time_mean_set(&mean, 110, 2); /* replaced in the same instant */
    pw_time_mean_set(&mean, 130, 0);
    PW_EXPECT(pw_time_mean_integral(&mean, 130) == 80);
    PW_EXPECT(pw_time_mean_get(&mean, 130) == 80.0 / 30);
    PW_EXPECT(pw_time_mean_get(&mean, 140) == 2);
    PW_EXPECT(mean.minimum == 0 && mean.maximum == 4);
}

PW_TEST(quantiles_interpolate_between_order_statistics) {
    const double three[] = {1, 2, 4};
    PW_EXPECT(pw_quantile(three, 3, 0) == 1 && pw_quantile(three, 3, 0.5) == 2 && pw_quantile(three, 3, 1) == 4);
    PW_EXPECT(pw_quantile(three, 3, 0.75) == 3 && pw_quantile(three, 1, 0.3) == 1);
    PW_EXPECT(isnan(pw_quantile(three, 0, 0.5)) && isnan(pw_quantile(three, 3, 1.5)));
    pw_sample sample = {0};
    PW_EXPECT(isnan(pw_sample_quantile(&sample, 0.5)));
    for (int i = 100; i >= 0; i--) PW_EXPECT_INT(pw_sample_add(&sample, i), PW_OK);
    PW_EXPECT_INT(pw_sample_add(&sample, NAN), PW_BAD_INPUT);
    PW_EXPECT(pw_sample_quantile(&sample, 0.9) == 90);
    pw_sample_add(&sample, -1);
    PW_EXPECT(pw_sample_quantile(&sample, 0) == -1);
    pw_sample_release(&sample);
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    counting.fail_at = 1;
    pw_sample failing = {.allocator = &counting.allocator};
    PW_EXPECT_INT(pw_sample_add(&failing, 1), PW_NO_MEMORY);
    PW_EXPECT_INT(pw_sample_add(&failing, 1), PW_OK);
    pw_sample_release(&failing);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(histogram_quantiles_are_within_half_a_percent_and_merge) {
    pw_histogram *all = pw_histogram_create(NULL), *parts[2] = {pw_histogram_create(NULL), pw_histogram_create(NULL)};
    pw_sample exact = {0};
    PW_EXPECT(isnan(pw_histogram_quantile(all, 0.5)));
    pw_random random = pw_random_stream(4, "histogram", 0);
    for (int i = 0; i < 50001; i++) {
        double value = pw_random_lognormal(&random, -10, 3);
        pw_histogram_add(all, value, 1);
        pw_histogram_add(parts[i % 2], value, 1);
        pw_sample_add(&exact, value);
    }
    pw_histogram_merge(parts[0], parts[1]);
    PW_EXPECT_INT(pw_histogram_count(parts[0]), 50001);
    const double ps[] = {0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.9999, 1};
    for (int i = 0; i < 8; i++) {
        PW_EXPECT_NEAR(pw_histogram_quantile(all, ps[i]), pw_sample_quantile(&exact, ps[i]), 0.005 + (i > 5) * 0.05);
        PW_EXPECT(pw_histogram_quantile(all, ps[i]) == pw_histogram_quantile(parts[0], ps[i]));
    }
    pw_histogram *ends = pw_histogram_create(NULL);
    pw_histogram_add(ends, 0, 2), pw_histogram_add(ends, 1e-30, 1), pw_histogram_add(ends, INFINITY, 3);
    PW_EXPECT(pw_histogram_quantile(ends, 0.4) == 0);
    PW_EXPECT_NEAR(pw_histogram_quantile(ends, 0.6), 0x1p64, 0.004);
    pw_histogram_destroy(all), pw_histogram_destroy(parts[0]), pw_histogram_destroy(parts[1]), pw_histogram_destroy(ends);
    pw_histogram_destroy(NULL);
    pw_sample_release(&exact);
}

PW_TEST(histogram_quantiles_hold_for_any_count) {
    for (int bits = 1; bits < 64; bits++)
        for (uint64_t more = 0; more < 3; more++) {
            pw_histogram *histogram = pw_histogram_create(NULL);
            uint64_t half = (UINT64_C(1) << (bits - 1)) + more - 1;
            pw_histogram_add(histogram, 1, half + 1);
            pw_histogram_add(histogram, 1000, half);
            PW_EXPECT_NEAR(pw_histogram_quantile(histogram, 0), 1, 0.004);
            PW_EXPECT_NEAR(pw_histogram_quantile(histogram, 0.25), 1, 0.004);
            if (half > 2) PW_EXPECT_NEAR(pw_histogram_quantile(histogram, 0.75), 1000, 0.004);
            if (half) PW_EXPECT_NEAR(pw_histogram_quantile(histogram, 1), 1000, 0.004);
            pw_histogram_destroy(histogram);
        }
}

PW_TEST(errors_are_summed_up_in_one_line) {
    const double errors[] = {0.1, -0.2, 0.05, -0.05, 0};
    pw_error_summary summary;
    PW_EXPECT_INT(pw_errors_summarise(errors, 5, NULL, &summary), PW_OK);
    PW_EXPECT_INT(summary.count, 5);
    PW_EXPECT_NEAR(summary.bias, -0.02, 1e-12);
    PW_EXPECT_NEAR(summary.mean, 0.08, 1e-12);
    PW_EXPECT_NEAR(summary.median, 0.05, 1e-12);
    PW_EXPECT_NEAR(summary.p90, 0.16, 1e-12);
    PW_EXPECT(summary.worst == -0.2 && summary.worst_at == 1);
    const double bad[] = {0.1, NAN};
    PW_EXPECT_INT(pw_errors_summarise(bad, 2, NULL, &summary), PW_BAD_INPUT);
    PW_EXPECT_INT(pw_errors_summarise(bad, 0, NULL, &summary), PW_BAD_INPUT);
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    counting.fail_at = 1;
    PW_EXPECT_INT(pw_errors_summarise(errors, 5, &counting.allocator, &summary), PW_NO_MEMORY);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
