/* The solver against curves whose answer is known. */
#include "calibrate/fit/robust.h"

#include "calibrate/fit/measurements.h"
#include "sim/math.h"
#include "tests/harness/check.h"

enum { ROWS = 400 };
static const uint64_t seed = 7;

typedef struct curve {
    double x[ROWS], y[ROWS];
} curve;

/* y = start + x / rate: the shape of every kernel's time. */
static void predict(void *context, const double *p, double *predicted) {
    const curve *c = context;
    for (int i = 0; i < ROWS; i++) predicted[i] = p[0] + c->x[i] / p[1];
}

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Noise of the logarithm: uniform within +-noise; every 10th row is outlier times too slow. */
static curve make_curve(double noise, double outlier) {
    curve c;
    uint64_t state = seed;
    for (int i = 0; i < ROWS; i++) {
        c.x[i] = pw_pow(10, 3 + 4 * uniform(&state));
        double exact = 2e-6 + c.x[i] / 3e10;
        c.y[i] = exact * pw_exp(noise * (2 * uniform(&state) - 1)) * (i % 10 ? 1 : outlier);
    }
    return c;
}

static pw_status fit(curve *c, const bool *held, const double *guess, const double *high, pw_fit_result *result, pw_error *error) {
    static const double low[] = {1e-7, 1e9};
    pw_fit_problem problem = {.rows = ROWS, .parameters = 2, .low = low, .high = high, .guess = guess, .held = held,
                              .measured = c->y, .predict = predict, .context = c, .knee = 0.05, .starts = 2};
    return pw_fit_robust(&problem, result, error);
}
static const bool free_all[] = {false, false};
static const double guess[] = {1e-5, 5e9}, high[] = {1e-4, 1e12};

PW_TEST(exact_data_give_the_parameters_back) {
    curve c = make_curve(0, 1);
    pw_fit_result result;
    PW_EXPECT_INT(fit(&c, free_all, guess, high, &result, NULL), PW_OK);
    PW_EXPECT_NEAR(result.value[0], 2e-6, 1e-6);
    PW_EXPECT_NEAR(result.value[1], 3e10, 1e-6);
    PW_EXPECT(result.fitted[0] && result.fitted[1]);
}

PW_TEST(a_tenth_of_wild_rows_bends_the_fit_little) {
    printf("# seed %" PRIu64 "\n", seed);
    curve c = make_curve(0.02, 5);
    pw_fit_result result;
    PW_EXPECT_INT(fit(&c, free_all, guess, high, &result, NULL), PW_OK);
    PW_EXPECT_NEAR(result.value[0], 2e-6, 0.02);
    PW_EXPECT_NEAR(result.value[1], 3e10, 0.02);
}

/* y = p exactly: the variance of log p is the variance of the noise over the rows. */
static void predict_constant(void *context, const double *p, double *predicted) {
    (void)context;
    for (int i = 0; i < ROWS; i++) predicted[i] = p[0];
}
PW_TEST(the_standard_error_is_that_of_a_mean) {
    double measured[ROWS], sum = 0, squares = 0;
    uint64_t state = seed;
    for (int i = 0; i < ROWS; i++) {
        double noise = 0.01 * (2 * uniform(&state) - 1);
        measured[i] = 3 * pw_exp(noise);
        sum += noise;
        squares += noise * noise;
    }
    const double low = 0.1, top = 100, first = 1;
    const bool held = false;
    pw_fit_problem problem = {.rows = ROWS, .parameters = 1, .low = &low, .high = &top, .guess = &first, .held = &held,
                              .measured = measured, .predict = predict_constant, .knee = 1e3, .starts = 1};
    pw_fit_result result;
    PW_EXPECT_INT(pw_fit_robust(&problem, &result, NULL), PW_OK);
    double mean = sum / ROWS, variance = (squares - ROWS * mean * mean) / (ROWS - 1) / ROWS;
    PW_EXPECT_NEAR(result.value[0], 3 * pw_exp(mean), 1e-9);
    PW_EXPECT_NEAR(result.covariance[0][0], variance, 1e-3);
    PW_EXPECT_NEAR(result.error[0], result.value[0] * sqrt(variance), 1e-3);
}

PW_TEST(a_held_parameter_stays_and_has_no_error) {
    curve c = make_curve(0, 1);
    const bool held[] = {true, false};
    const double first[] = {2e-6, 5e9};
    pw_fit_result result;
    PW_EXPECT_INT(fit(&c, held, first, high, &result, NULL), PW_OK);
    PW_EXPECT(result.value[0] == 2e-6 && !result.fitted[0] && result.error[0] == 0);
    PW_EXPECT_NEAR(result.value[1], 3e10, 1e-6);
}

PW_TEST(a_parameter_that_wants_to_leave_its_limits_rests_there) {
    curve c = make_curve(0, 1);
    const double tight[] = {1e-4, 2e10};
    pw_fit_result result;
    PW_EXPECT_INT(fit(&c, free_all, guess, tight, &result, NULL), PW_OK);
    PW_EXPECT(result.value[1] == 2e10 && !result.fitted[1]);
}

PW_TEST(too_few_rows_and_impossible_predictions_are_errors) {
    curve c = make_curve(0, 1);
    static const double low[] = {1e-7, 1e9};
    pw_fit_problem problem = {.rows = 1, .parameters = 2, .low = low, .high = high, .guess = guess, .held = free_all,
                              .measured = c.y, .predict = predict, .context = &c, .knee = 0.05, .starts = 1};
    pw_fit_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_fit_robust(&problem, &result, &error), PW_BAD_INPUT);
    c.x[5] = -1e20;
    problem.rows = ROWS;
    PW_EXPECT_INT(pw_fit_robust(&problem, &result, &error), PW_BAD_INPUT);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
