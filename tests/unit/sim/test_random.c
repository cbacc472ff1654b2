#include "sim/random.h"

#include <gsl/gsl_randist.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/random_gsl.h"
#include "sim/stats.h"
#include "tests/harness/check.h"

/* The generator's published outputs from the state {1, 2, 3, 4}. */
PW_TEST(the_generator_is_xoshiro256_plus_plus) {
    static const uint64_t want[] = {41943041u, 58720359u, 3588806011781223u, 3591011842654386u, 9228616714210784205u,
                                    9973669472204895162u, 14011001112246962877u, 12406186145184390807u,
                                    15849039046786891736u, 10450023813501588000u};
    pw_random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) PW_EXPECT(pw_random_bits(&random) == want[i]);
}

/* Changing these changes every random result of every user: never by accident. */
PW_TEST(streams_keep_their_bits) {
    pw_random random = pw_random_stream(42, "failures of node", 17);
    uint64_t digest = 0;
    for (int i = 0; i < 1000; i++) {
        double values[9];
        values[0] = pw_random_uniform(&random);
        values[1] = pw_random_exponential(&random, 3);
        values[2] = pw_random_normal(&random, 1, 2);
        values[3] = pw_random_lognormal(&random, 0, 1);
        values[4] = pw_random_weibull(&random, 0.8, 10);
        values[5] = pw_random_gamma(&random, 0.5, 2);
        values[6] = pw_random_gamma(&random, 5, 2);
        values[7] = (double)pw_random_poisson(&random, 8);
        values[8] = (double)pw_random_below(&random, 1000);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            uint64_t bits;
            memcpy(&bits, &values[v], sizeof bits);
            digest = (digest ^ bits) * 0x100000001b3u;
        }
    }
    printf("# digest %016" PRIx64 "\n", digest);
    PW_EXPECT(digest == UINT64_C(0xdb55746df0586586));
}

PW_TEST(streams_differ_by_seed_name_and_number) {
    enum { SEEDS = 20, NAMES = 6, NUMBERS = 100, ALL = SEEDS * NAMES * NUMBERS };
    static const char *const names[NAMES] = {"", "a", "b", "ab", "ba", "a\x01"};
    static uint64_t first[ALL];
    int count = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int name = 0; name < NAMES; name++)
            for (uint64_t number = 0; number < NUMBERS; number++) {
                pw_random random = pw_random_stream(seed, names[name], number);
                first[count++] = pw_random_bits(&random);
            }
    int bits[64] = {0};
    for (int i = 0; i < ALL; i++) {
        for (int j = 0; j < i; j++)
            if (first[i] == first[j]) PW_FAILED("streams %d and %d begin alike", i, j);
        for (int bit = 0; bit < 64; bit++) bits[bit] += (int)(first[i] >> bit & 1);
    }
    for (int bit = 0; bit < 64; bit++) PW_EXPECT(abs(bits[bit] - ALL / 2) < 5 * 55); /* 5 sigma */
    pw_random one = pw_random_stream(7, "x", 3), same = pw_random_stream(7, "x", 3);
    PW_EXPECT(pw_random_bits(&one) == pw_random_bits(&same));
}

PW_TEST(below_is_uniform_and_in_range) {
    pw_random random = pw_random_stream(1, "below", 0);
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) counts[pw_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++) PW_EXPECT(abs(counts[i] - 10000) < 500);
    for (int i = 0; i < 100; i++) PW_EXPECT(pw_random_below(&random, 1) == 0);
    int thirds = 0; /* of 3/4 of the range: without drawing again, half of the results would divide by 3 */
    for (int i = 0; i < 30000; i++) thirds += pw_random_below(&random, UINT64_C(3) << 62) % 3 == 0;
    PW_EXPECT(abs(thirds - 10000) < 450);
}

/* Mean and deviation within 5 standard errors of theirs. */
#define CHECK_MOMENTS(draw, true_mean, true_deviation)                                                     \
    do {                                                                                                   \
        pw_tally tally = {0};                                                                              \
        for (int i = 0; i < 200000; i++) pw_tally_add(&tally, (double)(draw));                             \
        double sigma = (true_deviation) / sqrt(200000.0);                                                  \
        if (fabs(tally.mean - (true_mean)) > 5 * sigma)                                                    \
            PW_FAILED("mean of %s is %g, expected %g", #draw, tally.mean, (double)(true_mean));            \
        PW_EXPECT_NEAR(pw_tally_deviation(&tally), true_deviation, 0.03);                                  \
    } while (0)

PW_TEST(variates_have_their_moments) {
    pw_random random = pw_random_stream(20240, "moments", 0);
    CHECK_MOMENTS(pw_random_uniform(&random), 0.5, sqrt(1.0 / 12));
    CHECK_MOMENTS(pw_random_exponential(&random, 3), 3, 3);
    CHECK_MOMENTS(pw_random_normal(&random, -1, 2), -1, 2);
    CHECK_MOMENTS(pw_random_lognormal(&random, 0, 0.5), exp(0.125), exp(0.125) * sqrt(exp(0.25) - 1));
    CHECK_MOMENTS(pw_random_weibull(&random, 2, 10), 10 * tgamma(1.5), 10 * sqrt(1 - pow(tgamma(1.5), 2)));
    CHECK_MOMENTS(pw_random_gamma(&random, 0.5, 2), 1, sqrt(2));
    CHECK_MOMENTS(pw_random_gamma(&random, 9, 2), 18, 6);
    CHECK_MOMENTS(pw_random_poisson(&random, 3), 3, sqrt(3));
    CHECK_MOMENTS(pw_random_poisson(&random, 0), 0, 0);
}

PW_TEST(a_large_poisson_mean_works) {
    pw_random random = pw_random_stream(3, "poisson", 0);
    pw_tally tally = {0};
    for (int i = 0; i < 2000; i++) pw_tally_add(&tally, (double)pw_random_poisson(&random, 1700));
    PW_EXPECT(fabs(tally.mean - 1700) < 5 * sqrt(1700 / 2000.0));
    PW_EXPECT_NEAR(pw_tally_deviation(&tally), sqrt(1700), 0.08);
}

static void draw_gamma(double shape) {
    pw_random random = pw_random_stream(3, "limits", 0);
    pw_random_gamma(&random, shape, 1);
}
static void draw_poisson(double mean) {
    pw_random random = pw_random_stream(3, "limits", 0);
    pw_random_poisson(&random, mean);
}

/* In a process of its own, which may not take longer than a few seconds. */
static bool aborts(void (*draw)(double), double parameter) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        (void)!freopen("/dev/null", "w", stderr);
        draw(parameter);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

PW_TEST(a_parameter_outside_its_range_is_caught_and_never_loops) {
    const double infinity = (double)INFINITY;
    PW_EXPECT(aborts(draw_gamma, (double)NAN) && aborts(draw_gamma, 0) && aborts(draw_gamma, -1e9) &&
              aborts(draw_gamma, -infinity));
    PW_EXPECT(aborts(draw_poisson, (double)NAN) && aborts(draw_poisson, infinity) && aborts(draw_poisson, 1e300));
    PW_EXPECT(!aborts(draw_gamma, 1e-300) && !aborts(draw_gamma, 1e300));
    PW_EXPECT(!aborts(draw_poisson, -1) && !aborts(draw_poisson, 1e5));
}

/* Kolmogorov-Smirnov against the true distribution, 1.95 / sqrt(n): 0.1 % level. */
PW_TEST(normal_and_exponential_have_their_shape) {
    enum { COUNT = 20000 };
    pw_random random = pw_random_stream(5, "shape", 0);
    for (int kind = 0; kind < 2; kind++) {
        pw_sample sample = {0};
        for (int i = 0; i < COUNT; i++)
            pw_sample_add(&sample, kind ? pw_random_normal(&random, 0, 1) : pw_random_exponential(&random, 1));
        pw_sample_quantile(&sample, 0);
        double worst = 0;
        for (int i = 0; i < COUNT; i++) {
            double x = sample.values[i], f = kind ? 0.5 * erfc(-x / sqrt(2)) : 1 - exp(-x);
            worst = fmax(worst, fmax(fabs(f - (double)i / COUNT), fabs(f - (double)(i + 1) / COUNT)));
        }
        PW_EXPECT(worst < 1.95 / sqrt(COUNT));
        pw_sample_release(&sample);
    }
}

PW_TEST(a_shuffle_is_a_fair_permutation) {
    pw_random random = pw_random_stream(9, "shuffle", 0);
    int counts[5][5] = {{0}};
    for (int i = 0; i < 50000; i++) {
        uint32_t items[5] = {0, 1, 2, 3, 4};
        int seen = 0;
        pw_random_shuffle(&random, items, 5);
        for (int p = 0; p < 5; p++) seen |= 1 << items[p], counts[p][items[p]]++;
        PW_EXPECT(seen == 31);
    }
    for (int p = 0; p < 5; p++)
        for (int item = 0; item < 5; item++) PW_EXPECT(abs(counts[p][item] - 10000) < 450);
    pw_random_shuffle(&random, NULL, 0);
}

PW_TEST(gsl_draws_from_a_stream) {
    pw_random random = pw_random_stream(1, "gsl test", 0), copy = random;
    gsl_rng rng = pw_random_as_gsl(&random);
    PW_EXPECT(gsl_rng_uniform(&rng) == pw_random_uniform(&copy));
    PW_EXPECT_TEXT(gsl_rng_name(&rng), "podwright");
    pw_tally tally = {0};
    for (int i = 0; i < 100000; i++) pw_tally_add(&tally, gsl_ran_gaussian_ziggurat(&rng, 2));
    PW_EXPECT(fabs(tally.mean) < 0.04);
    PW_EXPECT_NEAR(pw_tally_deviation(&tally), 2, 0.02);
    PW_EXPECT(gsl_rng_uniform_int(&rng, 10) < 10);
    gsl_rng *owned = gsl_rng_alloc(pw_random_gsl), *again = gsl_rng_alloc(pw_random_gsl);
    gsl_rng_set(owned, 5), gsl_rng_set(again, 5);
    PW_EXPECT(gsl_rng_get(owned) == gsl_rng_get(again));
    gsl_rng_set(again, 6);
    PW_EXPECT(gsl_rng_get(owned) != gsl_rng_get(again));
    gsl_rng_free(owned), gsl_rng_free(again);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
