#include "sim/stats.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double unknown = (double)NAN;

/* ---- moments ---- */

void pw_tally_add(pw_tally *tally, double value) {
    if (tally->count == 0 || value < tally->minimum) tally->minimum = value;
    if (tally->count == 0 || value > tally->maximum) tally->maximum = value;
    double distance = value - tally->mean;
    tally->mean += distance / (double)++tally->count;
    tally->squares += distance * (value - tally->mean);
}

void pw_tally_merge(pw_tally *tally, const pw_tally *other) { /* Chan, Golub and LeVeque 1979 */
    if (other->count == 0) return;
    if (tally->count == 0) {
        *tally = *other;
        return;
    }
    double a = (double)tally->count, b = (double)other->count, distance = other->mean - tally->mean;
    tally->mean += distance * (b / (a + b));
    tally->squares += other->squares + distance * distance * (a * b / (a + b));
    tally->count += other->count;
    if (other->minimum < tally->minimum) tally->minimum = other->minimum;
    if (other->maximum > tally->maximum) tally->maximum = other->maximum;
}

double pw_tally_variance(const pw_tally *tally) {
    return tally->count < 2 ? unknown : tally->squares / (double)(tally->count - 1);
}

double pw_tally_deviation(const pw_tally *tally) { return sqrt(pw_tally_variance(tally)); }

double pw_tally_interval(const pw_tally *tally, double confidence) {
    if (tally->count < 2 || !(confidence > 0 && confidence < 1)) return unknown;
    /* Inside these limits GSL always converges, so that its error handler, which ends the process, is never reached. From
     * 10^9 on t is normal to 6 decimals; a confidence may round to certainty. */
    const double normal = 1e9, p = 0.5 + confidence / 2;
    if (p >= 1) return unknown;
    double t = gsl_cdf_tdist_Pinv(p, fmin((double)(tally->count - 1), normal));
    if (!isfinite(t)) return unknown;
    t = floor(t * 1e6 + 0.5) / 1e6; /* GSL's last bits are the platform's */
    return t * sqrt(pw_tally_variance(tally) / (double)tally->count);
}

/* ---- over time ---- */

double pw_time_mean_integral(const pw_time_mean *mean, pw_time now) {
    if (!mean->begun) return 0;
    return mean->integral + mean->value * (double)(now - mean->since);
}

void pw_time_mean_set(pw_time_mean *mean, pw_time now, double value) {
    if (!mean->begun) {
        *mean = (pw_time_mean){now, now, value, 0, value, value, 1};
        return;
    }
    PW_CHECK(now >= mean->since);
    mean->integral = pw_time_mean_integral(mean, now);
    mean->since = now;
    mean->value = value;
    if (value < mean->minimum) mean->minimum = value;
    if (value > mean->maximum) mean->maximum = value;
}

double pw_time_mean_get(const pw_time_mean *mean, pw_time now) {
    if (!mean->begun) return unknown;
    if (now == mean->start) return mean->value;
    return pw_time_mean_integral(mean, now) / (double)(now - mean->start);
}

/* ---- quantiles ---- */

static int ascending_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pw_quantile(const double *ascending, size_t count, double p) {
    if (count == 0 || !(p >= 0 && p <= 1)) return unknown;
    double at = p * (double)(count - 1), below = floor(at);
    size_t i = (size_t)below;
    if (i + 1 >= count || at == below || ascending[i] == ascending[i + 1]) return ascending[i];
    return ascending[i] + (at - below) * (ascending[i + 1] - ascending[i]);
}

pw_status pw_sample_add(pw_sample *sample, double value) {
    if (isnan(value)) return PW_BAD_INPUT;
    if (pw_grow(sample->allocator, (void **)&sample->values, &sample->capacity, sample->count + 1,
                sizeof *sample->values) != 0)
        return PW_NO_MEMORY;
    sample->values[sample->count++] = value;
    sample->sorted = 0;
    return PW_OK;
}

double pw_sample_quantile(pw_sample *sample, double p) {
    if (!sample->sorted && sample->count) qsort(sample->values, sample->count, sizeof *sample->values, ascending_order);
    sample->sorted = 1;
    return pw_quantile(sample->values, sample->count, p);
}

void pw_sample_release(pw_sample *sample) {
    pw_free(sample->allocator, sample->values, sample->capacity * sizeof *sample->values);
    sample->values = NULL;
    sample->count = sample->capacity = 0;
}

/* ---- histogram: the bin is the exponent and the first 7 bits of the fraction ---- */

enum { BITS = 7, LOWEST = -64, HIGHEST = 64, BINS = (HIGHEST - LOWEST) << BITS };

struct pw_histogram {
    const pw_allocator *allocator;
    uint64_t count, zeros, bins[BINS];
};

pw_histogram *pw_histogram_create(const pw_allocator *allocator) {
    pw_histogram *histogram = pw_alloc_zero(allocator, sizeof *histogram);
    if (histogram) histogram->allocator = allocator;
    return histogram;
}

void pw_histogram_destroy(pw_histogram *histogram) {
    if (histogram) pw_free(histogram->allocator, histogram, sizeof *histogram);
}

void pw_histogram_add(pw_histogram *histogram, double value, uint64_t times) {
    histogram->count += times;
    if (!(value >= 0x1p-64)) {
        histogram->zeros += times;
        return;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t bin = (bits >> (52 - BITS)) - ((uint64_t)(1023 + LOWEST) << BITS);
    histogram->bins[bin < BINS ? bin : BINS - 1] += times;
}

void pw_histogram_merge(pw_histogram *histogram, const pw_histogram *other) {
    histogram->count += other->count;
    histogram->zeros += other->zeros;
    for (int i = 0; i < BINS; i++) histogram->bins[i] += other->bins[i];
}

uint64_t pw_histogram_count(const pw_histogram *histogram) { return histogram->count; }

double pw_histogram_quantile(const pw_histogram *histogram, double p) {
    if (histogram->count == 0 || !(p >= 0 && p <= 1)) return unknown;
    double wanted = p * (double)(histogram->count - 1);
    /* a count above 2^53 is rounded in wanted, perhaps up */
    uint64_t last = histogram->count - 1, rank = wanted < (double)last ? (uint64_t)wanted : last, passed = histogram->zeros;
    if (rank < passed) return 0;
    for (uint64_t bin = 0; bin < BINS; bin++) {
        passed += histogram->bins[bin];
        if (rank >= passed) continue;
        uint64_t bits = (bin + ((uint64_t)(1023 + LOWEST) << BITS)) << (52 - BITS) | UINT64_C(1) << (51 - BITS);
        double middle;
        memcpy(&middle, &bits, sizeof middle);
        return middle;
    }
    return 0x1p64; /* not reached: the bins hold all that is counted */
}

/* ---- errors of predictions ---- */

pw_status pw_errors_summarise(const double *errors, size_t count, const pw_allocator *allocator,
                              pw_error_summary *summary) {
    memset(summary, 0, sizeof *summary);
    if (count == 0 || count > SIZE_MAX / sizeof(double)) return PW_BAD_INPUT;
    for (size_t i = 0; i < count; i++)
        if (isnan(errors[i])) return PW_BAD_INPUT;
    double *sizes = pw_alloc(allocator, count * sizeof *sizes);
    if (!sizes) return PW_NO_MEMORY;
    pw_tally signed_errors = {0}, absolute = {0};
    for (size_t i = 0; i < count; i++) {
        sizes[i] = fabs(errors[i]);
        pw_tally_add(&signed_errors, errors[i]);
        pw_tally_add(&absolute, sizes[i]);
        if (sizes[i] > fabs(errors[summary->worst_at])) summary->worst_at = i;
    }
    qsort(sizes, count, sizeof *sizes, ascending_order);
    summary->count = count;
    summary->bias = signed_errors.mean;
    summary->mean = absolute.mean;
    summary->median = pw_quantile(sizes, count, 0.5);
    summary->p90 = pw_quantile(sizes, count, 0.9);
    summary->worst = errors[summary->worst_at];
    pw_free(allocator, sizes, count * sizeof *sizes);
    return PW_OK;
}
