/* A socket of a CPU as a device: how long a kernel takes on its cores, from a roofline.
 *
 *   T = start + (C^4 + M^4)^(1/4)
 *   C = flops / (cores x clock x flops per cycle x efficiency x filling of the last wave of tiles and of the vectors)
 *   M = bytes / bandwidth, of the last cache when the operands fit into it, else of memory
 *
 * Multiplies that do not fit read operands again: 2 m n k elements / sqrt(elements of the last cache) come on top (the lower
 * bound of Hong and Kung 1981 for a cache of that size, which blocked BLAS libraries come near). Parameters: a row of the table
 * cpus. The equation of traffic is that of a GPU with other parameters; a CPU has no SMs, so its tiles go to cores.
 */
#ifndef PW_MODELS_GPU_CPU_H
#define PW_MODELS_GPU_CPU_H

#include "models/gpu/gpu.h"

#define PW_TABLE_CPUS "cpus"

typedef struct pw_cpu {
    const char *name, *provenance, *source; /* live as long as the catalogue */
    double cores, clock_Hz;
    double vector_bits, pipes, fused; /* fused: flops per lane, pipe and cycle (2: multiply-add) */
    double matrix_bf16;               /* flops per cycle and core of a matrix unit; NaN: none */
    double l3_bytes, cache_per_cycle; /* bytes per cycle and core from the last cache */
    double memory_Bps, core_Bps;      /* of the socket; what one core can draw */
    double multiply_efficiency, memory_efficiency;
    double tile;                      /* side of the block of the result that a core works on */
    double start_s;                   /* to start all cores and to wait for them */
} pw_cpu;

/* A row of the table by name. Fails with PW_NOT_FOUND and the nearest name, or PW_BAD_INPUT on a bad row. */
pw_status pw_cpu_find(const pw_catalogue *catalogue, const char *name, pw_cpu *cpu, pw_error *error);

/* flop/s of all cores; NaN: the CPU has no arithmetic of that precision (fp32 always, bf16 with a matrix unit). */
double pw_cpu_peak_flops(const pw_cpu *cpu, pw_precision precision);

/* On so many cores (0: all). GEMM, CONVOLUTION (without groups between 1 and depthwise) and the kernels bound by memory; others
 * and precisions without units: PW_UNSUPPORTED. PW_BAD_INPUT on sizes below 1 or more cores than there are. */
pw_status pw_cpu_kernel_cost(const pw_cpu *cpu, const pw_kernel *kernel, double cores, pw_kernel_cost *cost, pw_error *error);

#endif
