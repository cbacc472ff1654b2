#include "models/gpu/traffic.h"

#include <math.h>

void pw_traffic_cost(const pw_traffic_parameters *parameters, double memory_Bps, double vector_flops, double bytes,
                     double flops, double clock_ratio, double sm_share, double saturation, pw_kernel_cost *cost) {
    double memory = bytes / (parameters->memory_efficiency * memory_Bps * fmin(1, saturation * sm_share));
    double compute = vector_flops > 0 ? flops / (vector_flops * sm_share * clock_ratio) : 0;
    double c2 = compute * compute, m2 = memory * memory;
    cost->start_s = parameters->start;
    cost->compute_s = compute;
    cost->memory_s = memory;
    cost->total_s = parameters->start + sqrt(sqrt(c2 * c2 + m2 * m2));
    cost->flops = flops;
    cost->hbm_bytes = bytes;
}
