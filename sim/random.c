/* Two 64-bit lanes absorb seed, name and number through the splitmix64 finaliser (Steele, Lea and Flood 2014) and are
 * expanded to the 256 bits of xoshiro256++. */
#include "sim/random.h"

#include <math.h>

#include "sim/math.h"
#include "sim/random_gsl.h"
#include "sim/status.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio */

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void absorb(uint64_t lanes[2], uint64_t word) {
    lanes[0] = mix((lanes[0] ^ word) + GOLDEN);
    lanes[1] = mix((lanes[1] + word) ^ ~GOLDEN) + lanes[0];
}

pw_random pw_random_stream(uint64_t seed, const char *name, uint64_t number) {
    uint64_t lanes[2] = {0, 0}, length = 0;
    absorb(lanes, seed);
    for (; name[length]; length++) absorb(lanes, (unsigned char)name[length]);
    absorb(lanes, length);
    absorb(lanes, number);
    pw_random random = {{mix(lanes[0] + GOLDEN), mix(lanes[0] + 2 * GOLDEN), mix(lanes[1] + 3 * GOLDEN),
                         mix(lanes[1] + 4 * GOLDEN) | 1}}; /* never all zero */
    return random;
}

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

uint64_t pw_random_bits(pw_random *random) {
    uint64_t *s = random->state, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double pw_random_uniform(pw_random *random) { return (double)(pw_random_bits(random) >> 11) * 0x1p-53; }

/* (0, 1]: fit for a logarithm */
static double positive(pw_random *random) { return (double)((pw_random_bits(random) >> 11) + 1) * 0x1p-53; }

/* Multiplication instead of division; the few values that would favour some results are drawn again (Lemire 2019). */
uint64_t pw_random_below(pw_random *random, uint64_t limit) {
    PW_CHECK(limit > 0);
    unsigned __int128 product = (unsigned __int128)pw_random_bits(random) * limit;
    if ((uint64_t)product < limit) {
        uint64_t threshold = -limit % limit;
        while ((uint64_t)product < threshold) product = (unsigned __int128)pw_random_bits(random) * limit;
    }
    return (uint64_t)(product >> 64);
}

double pw_random_exponential(pw_random *random, double mean) { return -mean * pw_log(positive(random)); }

/* Marsaglia's polar method. The second value is not kept: a stream's state is its generator's, nothing else. */
static double standard_normal(pw_random *random) {
    for (;;) {
        double x = 2 * pw_random_uniform(random) - 1, y = 2 * pw_random_uniform(random) - 1, r = x * x + y * y;
        if (r > 0 && r < 1) return x * sqrt(-2 * pw_log(r) / r);
    }
}

double pw_random_normal(pw_random *random, double mean, double deviation) {
    return mean + deviation * standard_normal(random);
}

double pw_random_lognormal(pw_random *random, double mean_of_log, double deviation_of_log) {
    return pw_exp(mean_of_log + deviation_of_log * standard_normal(random));
}

double pw_random_weibull(pw_random *random, double shape, double scale) {
    return scale * pw_pow(-pw_log(positive(random)), 1 / shape);
}

/* Marsaglia and Tsang 2000; below shape 1 by the boost of their section 6. */
double pw_random_gamma(pw_random *random, double shape, double scale) {
    PW_CHECK(shape > 0);
    if (shape < 1) {
        double boost = pw_pow(positive(random), 1 / shape);
        return boost * pw_random_gamma(random, shape + 1, scale);
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = standard_normal(random), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (pw_log(positive(random)) < 0.5 * x * x + d - d * v + d * pw_log(v)) return scale * d * v;
    }
}

/* Counts the arrivals of a Poisson process, in parts of at most 500 so that exp does not underflow. */
uint64_t pw_random_poisson(pw_random *random, double mean) {
    const double part = 500;
    uint64_t count = 0;
    PW_CHECK(mean < 0x1p53); /* above, a part is lost in rounding and the loop has no end */
    for (; mean > 0; mean -= part) {
        double product = positive(random), end = pw_exp(-(mean < part ? mean : part));
        for (; product > end; count++) product *= positive(random);
    }
    return count;
}

void pw_random_shuffle(pw_random *random, uint32_t *items, size_t count) {
    for (size_t left = count; left > 1; left--) {
        size_t other = (size_t)pw_random_below(random, left);
        uint32_t item = items[left - 1];
        items[left - 1] = items[other];
        items[other] = item;
    }
}

static void gsl_set(void *state, unsigned long seed) { *(pw_random *)state = pw_random_stream(seed, "gsl", 0); }
static unsigned long gsl_get(void *state) { return (unsigned long)(pw_random_bits(state) >> 32); }
static double gsl_get_double(void *state) { return pw_random_uniform(state); }

/* 32 bits: what GSL's integer routines expect at most on every platform */
static const gsl_rng_type gsl_type = {"podwright", UINT32_MAX, 0, sizeof(pw_random), gsl_set, gsl_get, gsl_get_double};
const gsl_rng_type *const pw_random_gsl = &gsl_type;

gsl_rng pw_random_as_gsl(pw_random *random) { return (gsl_rng){&gsl_type, random}; }
