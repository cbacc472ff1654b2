#include "sim/math.h"

#include <string.h>

#include "tests/harness/check.h"

static uint64_t state;
static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
static double uniform(double low, double high) { return low + (high - low) * ((double)(draw() >> 11) * 0x1p-53); }
static double any_positive(void) { /* every exponent alike, subnormal ones too */
    uint64_t bits = draw() % 0x7FF0000000000000u;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* distance in units of the last place of the true value */
static double ulps(double got, long double want) {
    if (isnan(got) || isinf(got) || isinf((double)want)) return got == (double)want ? 0 : 1e9;
    double near = fabs((double)want);
    double unit = nextafter(near, INFINITY) - near;
    return (double)(fabsl((long double)got - want) / unit);
}

#define WORST(function, long_function, draw_x, count)                                                \
    do {                                                                                             \
        double worst = 0, at = 0;                                                                    \
        state = 2024;                                                                                \
        for (int i = 0; i < (count); i++) {                                                          \
            double x = (draw_x), e = ulps(function(x), long_function((long double)x));               \
            if (e > worst) worst = e, at = x;                                                        \
        }                                                                                            \
        printf("# seed 2024: %s on %s: worst %.3f ulp at %.17g\n", #function, #draw_x, worst, at);   \
        PW_EXPECT(worst < 1);                                                                        \
    } while (0)

PW_TEST(exponentials_are_within_one_unit) {
    WORST(pw_exp, expl, uniform(-708, 709), 300000);
    WORST(pw_exp, expl, uniform(-1, 1), 300000);
    WORST(pw_exp, expl, uniform(-745, -708), 50000);
    WORST(pw_exp, expl, any_positive(), 50000);
    WORST(pw_exp2, exp2l, uniform(-1022, 1024), 300000);
    WORST(pw_exp2, exp2l, uniform(-1, 1), 300000);
    WORST(pw_exp2, exp2l, uniform(-1074, -1022), 50000);
}

PW_TEST(logarithms_are_within_one_unit) {
    WORST(pw_log, logl, any_positive(), 300000);
    WORST(pw_log, logl, uniform(0.5, 2), 300000);
    WORST(pw_log, logl, uniform(0.999, 1.001), 300000);
    WORST(pw_log, logl, 1 + uniform(-1e-9, 1e-9), 100000);
    WORST(pw_log2, log2l, any_positive(), 300000);
    WORST(pw_log2, log2l, uniform(0.5, 2), 300000);
    WORST(pw_log2, log2l, 1 + uniform(-1e-9, 1e-9), 100000);
}

PW_TEST(powers_are_within_one_unit) {
    double worst = 0;
    state = 7;
    for (int i = 0; i < 500000; i++) {
        double x = i % 2 ? any_positive() : uniform(0.5, 2), y = uniform(-1, 1) * exp(uniform(-5, 7));
        double e = ulps(pw_pow(x, y), powl((long double)x, (long double)y));
        if (e > worst) {
            worst = e;
            if (e > 1) printf("# pow(%.17g, %.17g)\n", x, y);
        }
    }
    printf("# seed 7: pw_pow: worst %.3f ulp\n", worst);
    PW_EXPECT(worst < 1);
}

static int same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

PW_TEST(special_values_follow_the_standard) {
    const double special[] = {0.0,  -0.0, 1,   -1,  2,    -2,   3,     -3,    0.5,   -0.5,  1.5,     -1.5,    INFINITY, -INFINITY,
                              NAN,  1e300, -1e300, 1e-300, -1e-300, 5e-324, 1e19, -1e19, 9007199254740991.0, -9007199254740991.0,
                              1 + 0x1p-52, 1 - 0x1p-53, 0x1p1023, 4, 709.9, -745.5, -2000, 1e18 + 128};
    enum { COUNT = sizeof special / sizeof *special };
    for (int i = 0; i < COUNT; i++) {
        double x = special[i];
        PW_EXPECT(same(pw_exp(x), exp(x)) || ulps(pw_exp(x), expl((long double)x)) < 1);
        PW_EXPECT(same(pw_exp2(x), exp2(x)) || ulps(pw_exp2(x), exp2l((long double)x)) < 1);
        PW_EXPECT(same(pw_log(x), log(x)) || ulps(pw_log(x), logl((long double)x)) < 1);
        PW_EXPECT(same(pw_log2(x), log2(x)) || ulps(pw_log2(x), log2l((long double)x)) < 1);
        for (int j = 0; j < COUNT; j++) {
            double y = special[j], got = pw_pow(x, y), want = pow(x, y);
            if (!same(got, want) && !(ulps(got, powl((long double)x, (long double)y)) < 1))
                PW_FAILED("pow(%g, %g) is %.17g, expected %.17g", x, y, got, want);
        }
    }
}

PW_TEST(exact_cases_are_exact) {
    for (int k = -1074; k < 1024; k++) {
        PW_EXPECT(pw_exp2(k) == ldexp(1, k));
        PW_EXPECT(pw_log2(ldexp(1, k)) == k);
        PW_EXPECT(pw_pow(2, k) == ldexp(1, k));
    }
    for (int x = 0; x < 1000; x++) {
        PW_EXPECT(pw_pow(x, 2) == (double)x * x);
        PW_EXPECT(pw_pow(x, 3) == (double)x * x * x);
        PW_EXPECT(pw_pow((double)x * x, 0.5) == x);
    }
    for (int n = 0; n <= 22; n++) {
        double ten = 1;
        for (int i = 0; i < n; i++) ten *= 10;
        PW_EXPECT(pw_pow(10, n) == ten);
    }
}

/* A digest of many results: the same number with every compiler, level and machine. */
PW_TEST(the_bits_are_the_same_everywhere) {
    uint64_t digest = 0xcbf29ce484222325u;
    state = 99;
    for (int i = 0; i < 20000; i++) {
        double x = any_positive(), z = uniform(-5, 5), e = uniform(-740, 700), f = uniform(-1070, 1020);
        double results[] = {pw_exp(e), pw_exp2(f), pw_log(x), pw_log2(x), pw_pow(x, z)};
        for (int j = 0; j < 5; j++) {
            uint64_t bits;
            memcpy(&bits, &results[j], sizeof bits);
            digest = (digest ^ bits) * 0x100000001b3u;
        }
    }
    printf("# digest %016" PRIx64 "\n", digest);
    PW_EXPECT(digest == UINT64_C(0x370bed4a3d371f15));
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
