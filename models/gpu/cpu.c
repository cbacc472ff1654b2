/* The roofline of a CPU (cpu.h). */
#include "models/gpu/cpu.h"

#include <math.h>
#include <stdio.h>

#include "models/gpu/convolution.h"

static double positive(const pw_table *table, size_t row, const char *column, const char **bad) {
    double value = pw_table_number_of(table, row, column);
    if (!(value > 0 && isfinite(value))) *bad = column;
    return value;
}

pw_status pw_cpu_find(const pw_catalogue *catalogue, const char *name, pw_cpu *cpu, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_CPUS, &table, error));
    int found = pw_table_find_row(table, name);
    if (found < 0) {
        const char *near = pw_table_nearest(table, name);
        char hint[160];
        snprintf(hint, sizeof hint, near ? "did you mean \"%s\"?" : "`podwright catalogue cpus` lists them%s", near ? near : "");
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "unknown CPU \"%s\"", name);
    }
    size_t row = (size_t)found;
    const char *bad = NULL;
    *cpu = (pw_cpu){.name = pw_table_text_at(table, row, 0),
                    .provenance = pw_table_text_of(table, row, "provenance"),
                    .source = pw_table_text_of(table, row, "source"),
                    .cores = positive(table, row, "cores", &bad),
                    .clock_Hz = positive(table, row, "clock", &bad),
                    .vector_bits = positive(table, row, "vector", &bad),
                    .pipes = positive(table, row, "pipes", &bad),
                    .fused = positive(table, row, "fused", &bad),
                    .matrix_bf16 = pw_table_number_of(table, row, "matrix_bf16"),
                    .l3_bytes = positive(table, row, "l3", &bad),
                    .cache_per_cycle = positive(table, row, "cache_per_cycle", &bad),
                    .memory_Bps = positive(table, row, "memory_bandwidth", &bad),
                    .core_Bps = positive(table, row, "core_bandwidth", &bad),
                    .multiply_efficiency = positive(table, row, "multiply_efficiency", &bad),
                    .memory_efficiency = positive(table, row, "memory_efficiency", &bad),
                    .tile = positive(table, row, "tile", &bad),
                    .start_s = positive(table, row, "start", &bad)};
    if (!bad) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "a CPU that computes needs all of its figures, above 0",
                   "the CPU \"%s\" has no %s", cpu->name, bad);
}

static double lanes(const pw_cpu *cpu) { return cpu->vector_bits / 32; }

double pw_cpu_peak_flops(const pw_cpu *cpu, pw_precision precision) {
    if (precision == PW_PRECISION_FP32) return cpu->cores * cpu->clock_Hz * lanes(cpu) * cpu->pipes * cpu->fused;
    if (precision == PW_PRECISION_BF16 && cpu->matrix_bf16 > 0) return cpu->cores * cpu->clock_Hz * cpu->matrix_bf16;
    return NAN;
}

/* Bytes per second: of the last cache, or of memory. */
static double bandwidth(const pw_cpu *cpu, double cores, bool cached) {
    if (cached) return cores * cpu->clock_Hz * cpu->cache_per_cycle;
    return fmin(cpu->memory_efficiency * cpu->memory_Bps, cores * cpu->core_Bps);
}

static void join(const pw_cpu *cpu, double compute, double memory, double flops, double bytes, pw_kernel_cost *cost) {
    double c2 = compute * compute, m2 = memory * memory;
    *cost = (pw_kernel_cost){.start_s = cpu->start_s, .compute_s = compute, .memory_s = memory, .flops = flops,
                             .hbm_bytes = bytes, .total_s = cpu->start_s + sqrt(sqrt(c2 * c2 + m2 * m2))};
}

/* elements: read and written once; a batch of multiplies shares the cores. */
static void multiply(const pw_cpu *cpu, pw_precision precision, double batch, double m, double n, double k, double elements,
                     double cores, pw_kernel_cost *cost) {
    double flops = 2 * batch * m * n * k, element = pw_precision_bytes(precision);
    double tiles = batch * ceil(m / cpu->tile) * ceil(n / cpu->tile);
    double rows = fmin(m, cpu->tile), columns = fmin(n, cpu->tile);
    /* a core does whole tiles, with whole vectors along the columns */
    double done = ceil(tiles / cores) * 2 * rows * ceil(columns / lanes(cpu)) * lanes(cpu) * k;
    double rate = pw_cpu_peak_flops(cpu, precision) / cpu->cores * cpu->multiply_efficiency;
    double bytes = elements * element;
    bool cached = bytes <= cpu->l3_bytes;
    if (!cached) bytes += flops * element / sqrt(cpu->l3_bytes / element);
    join(cpu, done / rate, bytes / bandwidth(cpu, cores, cached), flops, bytes, cost);
}

static pw_status bad_size(const pw_kernel *kernel, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "counts are at least 1; bytes and flops are finite and at least 0",
                   "a %s kernel has a size out of range", pw_kernel_class_names[kernel->kind]);
}

pw_status pw_cpu_kernel_cost(const pw_cpu *cpu, const pw_kernel *kernel, double cores, pw_kernel_cost *cost, pw_error *error) {
    PW_CHECK((unsigned)kernel->kind < PW_KERNEL_CLASS_COUNT);
    if (cores == 0) cores = cpu->cores;
    if (!(cores > 0 && cores <= cpu->cores))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s cannot run a kernel on %g of %g cores", cpu->name, cores, cpu->cores);
    bool multiplies = kernel->kind == PW_KERNEL_GEMM || kernel->kind == PW_KERNEL_CONVOLUTION;
    if (kernel->kind == PW_KERNEL_ATTENTION)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "give its two multiplies instead", "fused attention on a CPU is not modelled");
    if (multiplies && isnan(pw_cpu_peak_flops(cpu, kernel->precision)))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "fp32 always goes; bf16 needs a matrix unit", "%s has no %s arithmetic",
                       cpu->name, pw_precision_names[kernel->precision]);
    if (kernel->kind == PW_KERNEL_GEMM) {
        double batch = (double)kernel->gemm.batch, m = (double)kernel->gemm.m, n = (double)kernel->gemm.n;
        double k = (double)kernel->gemm.k;
        if (batch < 1 || m < 1 || n < 1 || k < 1) return bad_size(kernel, error);
        multiply(cpu, kernel->precision, batch, m, n, k, batch * (m * k + k * n + m * n), cores, cost);
    } else if (kernel->kind == PW_KERNEL_CONVOLUTION) {
        const pw_convolution *c = &kernel->convolution;
        if (!pw_convolution_is_valid(c)) return bad_size(kernel, error);
        if (c->groups > 1 && c->groups != c->in_channels)
            return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "give one convolution per group", "grouped convolutions on a CPU are not modelled");
        double pixels = (double)c->batch * c->out_height * c->out_width, groups = fmax(1, c->groups);
        double window = (double)c->kernel_height * c->kernel_width, in = c->in_channels / groups, out = c->out_channels / groups;
        double elements = (double)c->batch * c->in_height * c->in_width * c->in_channels + pixels * c->out_channels +
                          window * in * c->out_channels;
        double m = pixels, n = out, k = in * window; /* forward */
        if (c->pass == PW_CONVOLUTION_WEIGHT) m = in * window, k = pixels;
        multiply(cpu, kernel->precision, groups, m, n, k, elements, cores, cost);
    } else {
        double bytes = kernel->memory.bytes, flops = kernel->memory.flops;
        if (!(bytes >= 0 && flops >= 0) || isinf(bytes + flops)) return bad_size(kernel, error);
        double rate = pw_cpu_peak_flops(cpu, PW_PRECISION_FP32) / cpu->cores * cores;
        join(cpu, flops / rate, bytes / bandwidth(cpu, cores, bytes <= cpu->l3_bytes), flops, bytes, cost);
    }
    return PW_OK;
}
