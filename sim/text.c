/* Reading: up to 15 digits and a power of ten up to 10^22 are exact in a double, so one multiplication or division
 * rounds correctly (Clinger, PLDI 1990); anything longer goes to strtod in the C locale. */
#include "sim/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static double slow_number(const char *text) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return (double)NAN;
    double value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

bool pw_text_number(const char *text, const char **end, double *value) {
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    uint64_t digits = 0;
    int64_t exponent = 0;
    int significant = 0, seen = 0;
    for (bool fraction = false;; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(*at)) break;
        seen = 1;
        if (significant || *at != '0') significant += significant < 1000;
        if (significant <= 18) digits = digits * 10 + (uint64_t)(*at - '0');
        if (fraction) exponent--;
    }
    if (!seen) return false;
    if (*at == 'e' || *at == 'E') {
        const char *digit = at + 1;
        bool down = *digit == '-';
        if (*digit == '-' || *digit == '+') digit++;
        if (is_digit(*digit)) {
            int64_t written = 0; /* stops far above the length of any text, so that no fraction makes up for it */
            for (; is_digit(*digit); digit++)
                if (written < INT64_C(1) << 58) written = written * 10 + (*digit - '0');
            exponent += down ? -written : written;
            at = digit;
        }
    }
    double result;
    if (significant <= 15 && exponent >= -22 && exponent <= 22) {
        result = exponent < 0 ? (double)digits / tens[-exponent] : (double)digits * tens[exponent];
        if (negative) result = -result;
    } else if (significant == 0) {
        result = negative ? -0.0 : 0.0;
    } else {
        result = slow_number(text);
        if (!isfinite(result)) return false;
    }
    if (end) *end = at;
    *value = result;
    return true;
}

bool pw_text_integer(const char *text, const char **end, int64_t *value) {
    const char *at = text;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (!is_digit(*at)) return false;
    int64_t result = 0;
    for (; is_digit(*at); at++) {
        int digit = *at - '0';
        if (__builtin_mul_overflow(result, 10, &result)) return false;
        if (__builtin_add_overflow(result, negative ? -digit : digit, &result)) return false;
    }
    if (end) *end = at;
    *value = result;
    return true;
}

/* Replaces whatever the locale uses as decimal point. */
static void print_digits(double value, int digits, char *text, size_t size) {
    snprintf(text, size, "%.*g", digits, value);
    char *to = text;
    bool pointed = false;
    for (const char *from = text; *from; from++) {
        if (is_digit(*from) || *from == '-' || *from == '+' || *from == 'e') *to++ = *from;
        else if (!pointed) *to++ = '.', pointed = true;
    }
    *to = '\0';
}

const char *pw_number_text(double value, char *text, size_t size) {
    if (!isfinite(value)) {
        snprintf(text, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return text;
    }
    if (fabs(value) < 1e15 && value == floor(value)) {
        snprintf(text, size, "%s%lld", value == 0 && signbit(value) ? "-" : "", (long long)value);
        return text;
    }
    double back = 0;
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        print_digits(value, digits, text, size);
        if (pw_text_number(text, NULL, &back) && back == value) break;
    }
    return text;
}

size_t pw_text_character(const char *text) {
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char lead = bytes[0], low = 0x80, high = 0xBF;
    size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (size_t i = 1; i < length; i++, low = 0x80, high = 0xBF)
        if (bytes[i] < low || bytes[i] > high) return 0;
    return length;
}

static unsigned char lower(char c) { return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }
static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

unsigned pw_text_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    unsigned rows[3][LONGEST + 1];
    size_t a_length = strnlen(a, LONGEST), b_length = strnlen(b, LONGEST);
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) last[j] = (unsigned)j, before[j] = 0;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned cost = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = least(least(last[j] + 1, row[j - 1] + 1), last[j - 1] + cost);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last, last = row, row = oldest;
    }
    return last[b_length];
}

/* A third of the letters may be wrong, or one text may begin the other ("bandwidth" for "bandwidth_Bps"). */
bool pw_text_is_near(const char *a, const char *b, unsigned distance) {
    size_t a_length = strlen(a), b_length = strlen(b), shorter = a_length < b_length ? a_length : b_length;
    if (a_length == 0) return false;
    if (distance <= (a_length <= 3 ? 1 : a_length / 3)) return true;
    if (shorter < 3) return false;
    for (size_t i = 0; i < shorter; i++)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}
