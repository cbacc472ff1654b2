/* The factor of a stack from measured steps: median, interval of order statistics, what is left out. */
#include "scenarios/validation/steps.h"
#include "tests/harness/check.h"

PW_TEST(the_factor_is_the_median) {
    const double odd[] = {1.4, 1.1, 1.2}, even[] = {1.4, 1.1, 1.2, 1.3};
    PW_EXPECT_NEAR(pw_steps_fit_factors(odd, 3).factor, 1.2, 1e-15);
    PW_EXPECT_NEAR(pw_steps_fit_factors(even, 4).factor, 1.25, 1e-15);
    PW_EXPECT_NEAR(odd[0], 1.4, 0); /* left as they are */
}

PW_TEST(one_odd_step_moves_the_factor_little) {
    const double factors[] = {1.0, 1.01, 1.02, 1.03, 9};
    PW_EXPECT_NEAR(pw_steps_fit_factors(factors, 5).factor, 1.02, 1e-15);
}

PW_TEST(confidence_is_that_of_order_statistics) {
    /* 1 - 2 P(Bin(n, 1/2) < k), k the largest that keeps 90 %, else 1. */
    const struct { uint32_t count, k; double coverage; } cases[] = {
        {2, 1, 0.5},          {3, 1, 0.75},           {4, 1, 0.875},  {5, 1, 0.9375}, {7, 1, 1 - 2.0 / 128},
        {8, 2, 1 - 18.0 / 256}, {11, 3, 1 - 134.0 / 2048}, {20, 6, 0.958611}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double factors[32];
        for (uint32_t k = 0; k < cases[i].count; k++) factors[k] = 1 + 0.01 * k;
        pw_steps_fit fit = pw_steps_fit_factors(factors, cases[i].count);
        PW_EXPECT_NEAR(fit.coverage, cases[i].coverage, 1e-5);
        PW_EXPECT_NEAR(fit.low, 1 + 0.01 * (cases[i].k - 1), 1e-12);
        PW_EXPECT_NEAR(fit.high, 1 + 0.01 * (cases[i].count - cases[i].k), 1e-12);
    }
}

PW_TEST(one_step_has_no_interval) {
    const double one[] = {1.1};
    pw_steps_fit fit = pw_steps_fit_factors(one, 1);
    PW_EXPECT_NEAR(fit.factor, 1.1, 0);
    PW_EXPECT(isnan(fit.low) && isnan(fit.high) && isnan(fit.coverage) && isnan(pw_steps_left_out(one, 1, 0)));
}

PW_TEST(a_step_that_is_left_out_plays_no_part) {
    const double factors[] = {1.0, 1.1, 5.0};
    PW_EXPECT_NEAR(pw_steps_left_out(factors, 3, 2), 1.05, 1e-15);
    PW_EXPECT_NEAR(pw_steps_left_out(factors, 3, 0), 3.05, 1e-15);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
