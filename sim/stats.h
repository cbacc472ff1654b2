/* Statistics: running moments, means over time, quantiles, and how far predictions are from measurements.
 *
 * All results depend on the values and their order only, with the same bits everywhere.
 */
#ifndef PW_SIM_STATS_H
#define PW_SIM_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"
#include "sim/time.h"

/* Moments of a series (Welford 1962). Zero-initialise. */
typedef struct pw_tally {
    uint64_t count;
    double mean, squares; /* squares: sum of squared distances from the mean */
    double minimum, maximum;
} pw_tally;
void pw_tally_add(pw_tally *tally, double value);
void pw_tally_merge(pw_tally *tally, const pw_tally *other);
double pw_tally_variance(const pw_tally *tally);  /* of the population it samples; NaN below two values */
double pw_tally_deviation(const pw_tally *tally); /* its square root */
/* Half the width of the interval that holds the true mean with that confidence (0.95), by Student's t, its quantile
 * rounded to 6 decimals; NaN below two values and for a confidence outside (0, 1). Values must be independent. */
double pw_tally_interval(const pw_tally *tally, double confidence);

/* Mean over time of a quantity that holds its value until the next. Zero-initialise; the first set begins it. */
typedef struct pw_time_mean {
    pw_time start, since;
    double value, integral; /* value x ticks, until since */
    double minimum, maximum;
    int begun;
} pw_time_mean;
void pw_time_mean_set(pw_time_mean *mean, pw_time now, double value); /* now never goes back */
double pw_time_mean_integral(const pw_time_mean *mean, pw_time now);  /* value x ticks since the first set */
double pw_time_mean_get(const pw_time_mean *mean, pw_time now);       /* NaN before the first set */

/* A sample kept whole, for exact quantiles. Zero-initialise, or set the allocator. */
typedef struct pw_sample {
    const pw_allocator *allocator;
    double *values;
    size_t count, capacity;
    int sorted;
} pw_sample;
pw_status pw_sample_add(pw_sample *sample, double value); /* PW_NO_MEMORY, or PW_BAD_INPUT for NaN */
/* Quantile p in [0, 1], interpolated between order statistics (Hyndman and Fan's type 7); NaN when empty. Sorts. */
double pw_sample_quantile(pw_sample *sample, double p);
void pw_sample_release(pw_sample *sample);
/* The same of an ascending array. */
double pw_quantile(const double *ascending, size_t count, double p);

/* Quantiles of any number of values in fixed memory, mergeable: counts in bins of relative width 1/128, so a quantile is
 * within 0.4 % of a value of the sample. Values below 2^-64 count as 0, above 2^64 as 2^64. */
typedef struct pw_histogram pw_histogram;
pw_histogram *pw_histogram_create(const pw_allocator *allocator); /* 128 KiB; NULL when out of memory */
void pw_histogram_destroy(pw_histogram *histogram);
void pw_histogram_add(pw_histogram *histogram, double value, uint64_t times);
void pw_histogram_merge(pw_histogram *histogram, const pw_histogram *other);
uint64_t pw_histogram_count(const pw_histogram *histogram);
double pw_histogram_quantile(const pw_histogram *histogram, double p); /* NaN when empty */

/* Relative errors (predicted - measured) / measured, in one line. */
typedef struct pw_error_summary {
    size_t count;
    double bias;   /* mean of the signed errors */
    double mean;   /* mean of their sizes: MAPE as a fraction */
    double median, p90; /* of their sizes */
    double worst;  /* the signed error of largest size */
    size_t worst_at;
} pw_error_summary;
/* PW_BAD_INPUT when an error is NaN or count is 0. */
pw_status pw_errors_summarise(const double *errors, size_t count, const pw_allocator *allocator,
                              pw_error_summary *summary);

#endif
