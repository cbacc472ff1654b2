/* The clock that a GPU holds over a whole training step: table training-clocks of the catalogue. */
#ifndef PW_MODELS_WORKLOAD_CLOCK_H
#define PW_MODELS_WORKLOAD_CLOCK_H

#include "models/catalogue/catalogue.h"

/* Ratio to the reference clock. The device's own row goes before its architecture's; 16-bit formats and tf32 are one, fp32 (which
 * spares the tensor units) another. 1 when
 * nothing is known. *source: where it comes from (lives as long as the catalogue), "" when nothing is known. */
double pw_training_clock(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision,
                         const char **source);

#endif
