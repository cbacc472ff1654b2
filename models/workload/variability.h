/* Variability: GPUs are not equally fast, and now and then one stumbles. A step waits for the slowest of its ranks.
 *
 * Two effects, per rank and step, as shares of the kernels' time:
 *   speed    E_r b, E_r exponential: dies and their cooling differ; the same in every step. b is the spread over ln 2, so that
 *            the expected slowest grows by the spread for every doubling of the ranks. Sustained clocks hold the slowest of
 *            spread_from GPUs already, which is taken off.
 *   stumble  X_r, Pareto: P(X > x) = (tail_scale / x)^tail_index; new in every step: the operating system, a retry, a collector
 *            of garbage. It makes steps differ from each other.
 * Stragglers are GPUs known to be slow, by a factor.
 *
 * With draws = expected every rank runs at the pace expected of the slowest one (ranks stay alike and fold); with draws =
 * sampled each rank draws its own from the run's seed, and the wait at barriers comes out of the execution.
 */
#ifndef PW_MODELS_WORKLOAD_VARIABILITY_H
#define PW_MODELS_WORKLOAD_VARIABILITY_H

#include "models/catalogue/catalogue.h"
#include "sim/registry.h"

typedef enum pw_draws { PW_DRAWS_EXPECTED, PW_DRAWS_SAMPLED } pw_draws;

typedef struct pw_variability_desc {
    double spread, spread_from;     /* NaN: the catalogue's row "default" of the table variability */
    double tail_index, tail_scale;
    int draws;
    int64_t stragglers;             /* GPUs, chosen by the seed */
    double straggler_slowdown;      /* their kernels take so many times as long */
} pw_variability_desc;
extern const pw_kind pw_variability_kind;

/* desc NULL: the defaults. Every number of *to is set. */
pw_status pw_variability_resolve(const pw_catalogue *catalogue, const pw_variability_desc *desc, pw_variability_desc *to,
                                 pw_error *error);

/* Expected share by which the slowest of so many ranks is longer; below spread_from ranks it may be negative. */
double pw_variability_slowest(const pw_variability_desc *v, int64_t ranks);
/* (p90 - p10) / median of step times, of a job of so many ranks that only waits for its kernels. */
double pw_variability_step_spread(const pw_variability_desc *v, int64_t ranks);

/* Factors on kernel time of every rank, [ranks] in arena; NULL in *factors when all ranks are alike. */
pw_status pw_variability_draw(const pw_variability_desc *v, uint64_t seed, int64_t ranks, pw_arena *arena,
                              const double **factors, pw_error *error);

#endif
