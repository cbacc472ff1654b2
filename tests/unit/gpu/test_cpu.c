/* Laws of a CPU as a device: never faster than its roofline, slower on fewer cores, and the ratios to GPUs that people quote. */
#include <math.h>

#include "models/gpu/cpu.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_error error;

static pw_cpu cpu_of(const char *name) {
    pw_cpu cpu = {0};
    if (!catalogue && pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) PW_FAILED("%s", error.what);
    if (pw_cpu_find(catalogue, name, &cpu, &error) != PW_OK) PW_FAILED("%s", error.what);
    return cpu;
}

static pw_kernel gemm(pw_precision precision, int64_t m, int64_t n, int64_t k) {
    return (pw_kernel){.kind = PW_KERNEL_GEMM, .precision = precision, .gemm = {.batch = 1, .m = m, .n = n, .k = k}};
}

static double seconds(const pw_cpu *cpu, pw_kernel kernel, double cores) {
    pw_kernel_cost cost = {0};
    if (pw_cpu_kernel_cost(cpu, &kernel, cores, &cost, &error) != PW_OK) PW_FAILED("%s", error.what);
    return cost.total_s;
}

PW_TEST(peaks_are_those_of_the_data_sheets) {
    pw_cpu i7 = cpu_of("Core i7-960"), grace = cpu_of("Grace"), spr = cpu_of("Xeon 8480C");
    PW_EXPECT_NEAR(pw_cpu_peak_flops(&i7, PW_PRECISION_FP32), 102.4e9, 1e-12);
    PW_EXPECT_NEAR(pw_cpu_peak_flops(&grace, PW_PRECISION_FP32), 2 * 3.57e12, 0.01); /* twice double precision */
    PW_EXPECT_NEAR(pw_cpu_peak_flops(&spr, PW_PRECISION_BF16), 114.7e12, 0.01);
    PW_EXPECT(isnan(pw_cpu_peak_flops(&i7, PW_PRECISION_BF16)));
}

PW_TEST(nothing_beats_the_roofline) {
    const pw_table *table = NULL;
    cpu_of("Grace");
    PW_EXPECT_INT(pw_catalogue_need(catalogue, PW_TABLE_CPUS, &table, &error), PW_OK);
    PW_EXPECT(pw_table_rows(table) >= 6);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        if (isnan(pw_table_number_of(table, row, "cores"))) continue; /* memory alone is on file */
        pw_cpu cpu = cpu_of(pw_table_text_at(table, row, 0));
        for (int64_t size = 1; size <= 8192; size = size * 2 + 1) {
            double time = seconds(&cpu, gemm(PW_PRECISION_FP32, size, size, size), 0), n = (double)size;
            PW_EXPECT(time >= 2 * n * n * n / pw_cpu_peak_flops(&cpu, PW_PRECISION_FP32));
            PW_EXPECT(seconds(&cpu, gemm(PW_PRECISION_FP32, size, size, size), 1) >= time);
            pw_kernel stream = {.kind = PW_KERNEL_ELEMENTWISE, .precision = PW_PRECISION_FP32, .memory = {.bytes = 1e6 * n}};
            if (1e6 * n > cpu.l3_bytes) PW_EXPECT(seconds(&cpu, stream, 0) >= 1e6 * n / cpu.memory_Bps);
        }
    }
}

PW_TEST(large_multiplies_reach_their_efficiency_and_one_row_does_not) {
    pw_cpu cpu = cpu_of("EPYC 7742");
    double peak = pw_cpu_peak_flops(&cpu, PW_PRECISION_FP32);
    double large = 2 * pow(6144, 3) / seconds(&cpu, gemm(PW_PRECISION_FP32, 6144, 6144, 6144), 0) / peak;
    PW_EXPECT(large > 0.75 && large <= cpu.multiply_efficiency);
    double vector = seconds(&cpu, gemm(PW_PRECISION_FP32, 1, 16384, 16384), 0); /* weights stream from memory once */
    PW_EXPECT(vector >= 4 * 16384.0 * 16384 / cpu.memory_Bps);
}

PW_TEST(a_cache_that_holds_the_operands_is_faster_than_memory) {
    pw_cpu cpu = cpu_of("Grace");
    pw_kernel inside = {.kind = PW_KERNEL_ELEMENTWISE, .memory = {.bytes = 0.9 * cpu.l3_bytes}}, outside = inside;
    outside.memory.bytes = 1.1 * cpu.l3_bytes;
    PW_EXPECT(seconds(&cpu, outside, 0) > 2 * seconds(&cpu, inside, 0));
}

PW_TEST(convolutions_are_implicit_multiplies) {
    pw_cpu cpu = cpu_of("Xeon 8480C");
    pw_kernel c = {.kind = PW_KERNEL_CONVOLUTION, .precision = PW_PRECISION_FP32,
                   .convolution = {.batch = 16, .in_height = 28, .in_width = 28, .in_channels = 128, .out_height = 28, .out_width = 28,
                                   .out_channels = 128, .kernel_height = 3, .kernel_width = 3, .stride = 1, .groups = 1}};
    pw_kernel_cost cost = {0};
    for (int pass = 0; pass < 3; pass++) {
        c.convolution.pass = (int16_t)pass;
        PW_EXPECT_INT(pw_cpu_kernel_cost(&cpu, &c, 0, &cost, &error), PW_OK);
        PW_EXPECT_NEAR(cost.flops, 2.0 * 16 * 28 * 28 * 128 * 128 * 9, 1e-12);
        PW_EXPECT(cost.total_s >= cost.flops / pw_cpu_peak_flops(&cpu, PW_PRECISION_FP32));
    }
}

/* "Tens to hundreds of times": against a whole socket it is tens for tensor formats, and the ratio of bandwidths, about ten, for
 * kernels that only move data; hundreds only against a single core. */
PW_TEST(ratios_of_a_gpu_to_a_socket) {
    pw_cpu cpu = cpu_of("Xeon 8480C");
    pw_gpu *gpu = NULL;
    pw_kernel_cost on_gpu = {0};
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "H100-SXM5-80GB", &gpu, &error), PW_OK);
    pw_kernel half = gemm(PW_PRECISION_BF16, 8192, 8192, 8192);
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &half, NULL, &on_gpu, &error), PW_OK);
    double single = seconds(&cpu, gemm(PW_PRECISION_FP32, 8192, 8192, 8192), 0) / on_gpu.total_s;
    PW_EXPECT(single > 50 && single < 400);
    double matrix = seconds(&cpu, half, 0) / on_gpu.total_s;
    PW_EXPECT(matrix > 3 && matrix < 20);
    pw_kernel stream = {.kind = PW_KERNEL_ELEMENTWISE, .precision = PW_PRECISION_FP32, .memory = {.bytes = 4e9}};
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &stream, NULL, &on_gpu, &error), PW_OK);
    double moved = seconds(&cpu, stream, 0) / on_gpu.total_s;
    PW_EXPECT(moved > 7 && moved < 20);
    PW_EXPECT(seconds(&cpu, gemm(PW_PRECISION_FP32, 2048, 2048, 2048), 1) > 20 * seconds(&cpu, gemm(PW_PRECISION_FP32, 2048, 2048, 2048), 0));
    pw_gpu_destroy(gpu);
}

PW_TEST(what_a_cpu_cannot_do_is_refused) {
    pw_cpu cpu = cpu_of("Grace"), none;
    pw_kernel_cost cost;
    pw_kernel half = gemm(PW_PRECISION_FP16, 64, 64, 64), empty = gemm(PW_PRECISION_FP32, 0, 64, 64);
    pw_kernel attention = {.kind = PW_KERNEL_ATTENTION, .precision = PW_PRECISION_FP32};
    PW_EXPECT_INT(pw_cpu_kernel_cost(&cpu, &half, 0, &cost, &error), PW_UNSUPPORTED);
    PW_EXPECT_INT(pw_cpu_kernel_cost(&cpu, &attention, 0, &cost, &error), PW_UNSUPPORTED);
    PW_EXPECT_INT(pw_cpu_kernel_cost(&cpu, &empty, 0, &cost, &error), PW_BAD_INPUT);
    pw_kernel good = gemm(PW_PRECISION_FP32, 64, 64, 64);
    PW_EXPECT_INT(pw_cpu_kernel_cost(&cpu, &good, 73, &cost, &error), PW_BAD_INPUT);
    PW_EXPECT_INT(pw_cpu_find(catalogue, "Grase", &none, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "Grace");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
