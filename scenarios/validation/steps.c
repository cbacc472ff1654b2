#include "scenarios/validation/steps.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

static const double wanted = 0.9;

/* Probability that the k-th smallest and the k-th largest of n hold the median. */
static double coverage_of(uint32_t count, uint32_t k) { return 1 - 2 * gsl_cdf_binomial_P(k - 1, 0.5, count); }

pw_steps_fit pw_steps_fit_factors(const double *factors, uint32_t count) {
    double sorted[PW_STEPS_MOST];
    PW_CHECK(count >= 1 && count <= PW_STEPS_MOST);
    memcpy(sorted, factors, count * sizeof *sorted);
    gsl_sort(sorted, 1, count);
    pw_steps_fit fit = {.count = count, .factor = gsl_stats_median_from_sorted_data(sorted, 1, count), .low = NAN, .high = NAN,
                        .coverage = NAN, .spread = NAN};
    if (count >= 4)
        fit.spread = 0.5 * (gsl_stats_quantile_from_sorted_data(sorted, 1, count, 0.75) -
                            gsl_stats_quantile_from_sorted_data(sorted, 1, count, 0.25)) / fit.factor;
    if (count < 2) return fit;
    uint32_t k = 1;
    while (2 * (k + 1) <= count && coverage_of(count, k + 1) >= wanted) k++;
    fit.low = sorted[k - 1];
    fit.high = sorted[count - k];
    fit.coverage = coverage_of(count, k);
    return fit;
}

double pw_steps_left_out(const double *factors, uint32_t count, uint32_t index) {
    double others[PW_STEPS_MOST];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (i != index) others[kept++] = factors[i];
    return kept ? pw_steps_fit_factors(others, kept).factor : NAN;
}
