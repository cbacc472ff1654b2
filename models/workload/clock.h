/* What a GPU holds over a whole training step: a sustained clock (table training-clocks), where power is not simulated; where it is, the
 * pace of arithmetic at the clock that power gives (training-pace). */
#ifndef PW_MODELS_WORKLOAD_CLOCK_H
#define PW_MODELS_WORKLOAD_CLOCK_H

#include "models/catalogue/catalogue.h"

/* Ratio to the reference clock. The device's own row goes before its architecture's; 16-bit formats and tf32 are one, fp32 (which
 * spares the tensor units) another. 1 when
 * nothing is known. *source: where it comes from (lives as long as the catalogue), "" when nothing is known. */
double pw_training_clock(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision,
                         const char **source);

/* Arithmetic of training steps over that of benchmarked kernels at one clock: what no power explains (the slowest GPU of a node, cold caches,
 * tails between kernels, kernels that the tables lack). Rows as above; 0 when nothing is known. */
double pw_training_pace(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision, const char **source);

#endif
