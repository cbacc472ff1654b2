/* Every function goes through one of two kernels that work on unevaluated sums of two doubles (Dekker 1971):
 *
 *   log m = 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)): the first two terms of the series carry both
 *           halves, the rest, below 2^-12 of the sum, is summed in double. Relative error about 2^-65.
 *   exp r = 1 + r + r^2/2 + ..., |r| <= ln(2)/2: the sum 1 + r is exact, the rest is below 0.07 of the sum.
 *
 * x^y = exp(y log x) needs the accuracy of the first: |y log x| reaches 745, which costs 10 bits.
 */
#include "sim/math.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "podwright needs plain IEEE double arithmetic (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

typedef struct pair {
    double high, low; /* value high + low, |low| <= half an ulp of high */
} pair;

/* ln 2 to 115 bits; the first part has 42 bits, so that a binary exponent times it is exact. */
#define LN2_FIRST 0x1.62e42fefa38p-1
#define LN2_SECOND 0x1.ef35793c7673p-45
/* ln 2 and 1 / ln 2 as pairs */
static const pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const pair log2_e = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};

static uint64_t to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^exponent for a normal result */
static double power_of_two(int exponent) { return from_bits((uint64_t)(exponent + 1023) << 52); }

static pair sum_ordered(double a, double b) { /* |a| >= |b| or a == 0 */
    double sum = a + b;
    return (pair){sum, b - (sum - a)};
}
static pair sum(double a, double b) {
    double total = a + b, part = total - a;
    return (pair){total, (a - (total - part)) + (b - part)};
}
static pair product(double a, double b) { /* no overflow below 2^990 */
    const double splitter = 134217729.0; /* 2^27 + 1 */
    double p = a * b, t = splitter * a, a1 = t - (t - a), a2 = a - a1, u = splitter * b, b1 = u - (u - b), b2 = b - b1;
    return (pair){p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}
static pair multiply(pair a, pair b) {
    pair p = product(a.high, b.high);
    return sum_ordered(p.high, p.low + (a.high * b.low + a.low * b.high));
}
static pair add(pair a, pair b) { /* |a| >= |b| */
    pair s = sum(a.high, b.high);
    return sum_ordered(s.high, s.low + (a.low + b.low));
}

/* x = 2^*exponent * result with result in [sqrt(1/2), sqrt(2)); x > 0 and finite */
static double split(double x, int *exponent) {
    int shift = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        shift = -54;
    }
    uint64_t bits = to_bits(x);
    const uint64_t root_half = 0x3FE6A09E667F3BCDu; /* sqrt(1/2) */
    int64_t above = (int64_t)(bits - root_half) >> 52;
    *exponent = (int)above + shift;
    return from_bits(bits - ((uint64_t)above << 52));
}

static pair log_kernel(double m) {
    if (m == 1) return (pair){0, 0};
    double f = m - 1; /* exact */
    pair below = sum(m, 1);
    double q = f / below.high;
    pair back = product(q, below.high);
    double rest = ((f - back.high) - back.low - q * below.low) / below.high;
    pair s = sum_ordered(q, rest), s2 = multiply(s, s);
    double z = s2.high, tail = 1.0 / 27;
    for (int n = 25; n >= 5; n -= 2) tail = tail * z + 1.0 / n;
    tail *= z * z;
    static const pair third = {1.0 / 3, 0x1.5555555555555p-56};
    pair series = add(multiply(s2, third), (pair){tail, 0}); /* log m = 2 s (1 + series) */
    pair bend = multiply(s, series);
    pair half = add(s, bend);
    return (pair){2 * half.high, 2 * half.low};
}

/* Natural logarithm of a positive finite x. */
static pair log_pair(double x) {
    int exponent;
    pair l = log_kernel(split(x, &exponent));
    if (exponent == 0) return l;
    double k = exponent;
    pair first = sum(k * LN2_FIRST, l.high);
    pair second = sum(k * LN2_SECOND, l.low);
    return sum_ordered(first.high, first.low + (second.high + second.low));
}

/* exp(r) 2^exponent; |r.high| <= 0.35. Rounds twice when the result is subnormal. */
static double exp_kernel(pair r, int exponent) {
    static const double inverse_factorial[] = {1.0 / 2,        1.0 / 6,         1.0 / 24,         1.0 / 120,
                                               1.0 / 720,      1.0 / 5040,      1.0 / 40320,      1.0 / 362880,
                                               1.0 / 3628800,  1.0 / 39916800,  1.0 / 479001600,  1.0 / 6227020800.0,
                                               1.0 / 87178291200.0};
    enum { TERMS = sizeof inverse_factorial / sizeof *inverse_factorial };
    double x = r.high, p = inverse_factorial[TERMS - 1];
    for (int n = TERMS - 2; n >= 0; n--) p = p * x + inverse_factorial[n];
    pair s = sum_ordered(1, x);
    double y = s.high + (s.low + (r.low + r.low * x + x * x * p));
    if (exponent > 1023) return y * power_of_two(1023) * power_of_two(exponent - 1023);
    if (exponent >= -1021) return y * power_of_two(exponent);
    return y * power_of_two(exponent + 1000) * power_of_two(-1000);
}

/* The nearest whole number of a value below 2^51 */
static double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

static double exp_pair(pair x) {
    if (x.high > 710) return (double)INFINITY;
    if (x.high < -746) return 0;
    double k = nearest(x.high * log2_e.high);
    pair r = sum(x.high - k * LN2_FIRST, -(k * LN2_SECOND)); /* the first difference is exact */
    r = sum(r.high, r.low + x.low);
    return exp_kernel(r, (int)k);
}

double pw_exp(double x) {
    if (x != x) return x;
    return exp_pair((pair){x, 0});
}

double pw_exp2(double x) {
    if (x != x) return x;
    if (x >= 1024) return (double)INFINITY;
    if (x < -1076) return 0;
    double k = nearest(x);
    pair r = product(x - k, ln2.high);
    r = sum_ordered(r.high, r.low + (x - k) * ln2.low);
    return exp_kernel(r, (int)k);
}

/* Answers of both logarithms outside (0, infinity) */
static bool log_special(double x, double *answer) {
    if (x > 0 && x < (double)INFINITY) return false;
    *answer = x == 0 ? -(double)INFINITY : x < 0 ? (double)NAN : x;
    return true;
}

double pw_log(double x) {
    double answer;
    if (log_special(x, &answer)) return answer;
    pair l = log_pair(x);
    return l.high + l.low;
}

double pw_log2(double x) {
    double answer;
    if (log_special(x, &answer)) return answer;
    int exponent;
    pair l = multiply(log_kernel(split(x, &exponent)), log2_e);
    pair total = sum(exponent, l.high);
    return total.high + (total.low + l.low);
}

/* 0: not whole, 1: odd, 2: even */
static int parity(double y) {
    double size = fabs(y);
    if (size >= 0x1p53) return 2;
    if (size != floor(size)) return 0;
    return (uint64_t)size & 1 ? 1 : 2;
}

double pw_pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    double size = fabs(x);
    if (isinf(y)) {
        if (size == 1) return 1;
        return (size > 1) == (y > 0) ? (double)INFINITY : 0;
    }
    int whole = parity(y);
    double sign = signbit(x) && whole == 1 ? -1 : 1;
    if (size == 0 || isinf(size)) return (size == 0) == (y > 0) ? sign * 0.0 : sign * (double)INFINITY;
    if (x < 0 && whole == 0) return (double)NAN;
    if (size == 1) return sign;
    if (y == 1) return x;
    if (fabs(y) >= 0x1p70) return (size > 1) == (y > 0) ? sign * (double)INFINITY : sign * 0.0;
    if (fabs(y) < 0x1p-70) return sign;
    pair l = log_pair(size), p = product(l.high, y);
    return sign * exp_pair(sum_ordered(p.high, p.low + l.low * y));
}
