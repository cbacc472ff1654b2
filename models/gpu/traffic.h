/* Kernels bound by memory traffic (norms, elementwise, embedding, softmax, loss, optimiser):
 *   T = start + (C^4 + M^4)^(1/4),  M = bytes / (memory efficiency x bandwidth),  C = flops / vector peak / clock ratio
 * The start-up makes the achieved bandwidth rise with the bytes, as measurements show.
 */
#ifndef PW_MODELS_GPU_TRAFFIC_H
#define PW_MODELS_GPU_TRAFFIC_H

#include "models/gpu/gpu.h"

/* As PW_GEMM_PARAMETER_MAP. */
#define PW_TRAFFIC_PARAMETER_MAP(X)                                                            \
    X(start, "start", 2e-7, 2e-5, 3e-6, "start-up of the kernel, s")                           \
    X(memory_efficiency, "memory_efficiency", 0.1, 1, 0.8, "best share of memory bandwidth")

typedef struct pw_traffic_parameters {
#define PW_TRAFFIC_FIELD(field, column, low, high, guess, text) double field;
    PW_TRAFFIC_PARAMETER_MAP(PW_TRAFFIC_FIELD)
#undef PW_TRAFFIC_FIELD
} pw_traffic_parameters;

/* vector_flops NaN or 0: arithmetic is not modelled. sm_share: SMs available over all SMs; a kernel needs about half
 * of them to draw the whole bandwidth (saturation 2, see gemm.h). */
void pw_traffic_cost(const pw_traffic_parameters *parameters, double memory_Bps, double vector_flops, double bytes,
                     double flops, double clock_ratio, double sm_share, double saturation, pw_kernel_cost *cost);

#endif
