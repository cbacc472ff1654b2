/* What a GPU did in a span of time, as power sees it: operations and bytes, whatever time they took.
 *
 * Work is counted where kernels and transfers are costed and summed by whoever runs them; the power model turns work, time,
 * clock and temperature into energy. It holds no watts and no times but `busy_s`.
 */
#ifndef PW_MODELS_GPU_WORK_H
#define PW_MODELS_GPU_WORK_H

#include "models/gpu/gpu.h"

typedef struct pw_gpu_work {
    double tensor_flops[PW_PRECISION_COUNT]; /* of matrix multiplies, convolutions and fused attention */
    double vector_flops;                     /* of all other kernels */
    double memory_bytes;                     /* read from and written to HBM */
    double link_bytes;                       /* over NVLink and PCIe, in and out */
    double busy_s;                           /* a kernel was resident */
} pw_gpu_work;

/* Adds what `times` launches of the kernel do, `cost` being its cost; busy_s is left to the caller, who knows how kernels
 * overlap. */
void pw_gpu_work_add_kernel(pw_gpu_work *work, const pw_kernel *kernel, const pw_kernel_cost *cost, double times);
/* sum += factor x work, field by field. */
void pw_gpu_work_add(pw_gpu_work *sum, const pw_gpu_work *work, double factor);

#endif
