/* The factor of a software stack from a handful of measured steps of one's own: statistics alone; who runs the steps is the
 * caller's affair.
 *
 * Each step gives the factor at which its prediction meets the measurement. Their median is the factor. Its interval is that of
 * order statistics: of n steps, the k-th smallest and largest hold the median of the population with probability
 * 1 - 2 P(Bin(n, 1/2) < k), whatever the distribution; k is the largest for which that is 90 % or more, else 1. Source: David and
 * Nagaraja 2003, Order Statistics, section 7.1.
 */
#ifndef PW_SCENARIOS_VALIDATION_STEPS_H
#define PW_SCENARIOS_VALIDATION_STEPS_H

#include "sim/status.h"

#include <stdint.h>

typedef struct pw_steps_fit {
    uint32_t count;
    double factor;    /* median */
    double low, high; /* NaN for one step */
    double coverage;  /* of low to high, 0..1; NaN for one step */
    double spread;    /* half the distance between the quartiles, over the median; NaN below four steps */
} pw_steps_fit;

enum { PW_STEPS_MOST = 1000 };
/* factors: count of them, 1 to PW_STEPS_MOST, any order; left as they are. */
pw_steps_fit pw_steps_fit_factors(const double *factors, uint32_t count);
/* The median without the one at index; NaN when nothing is left. */
double pw_steps_left_out(const double *factors, uint32_t count, uint32_t index);

#endif
