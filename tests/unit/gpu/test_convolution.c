/* A convolution is a matrix multiply in disguise: its operations, its traffic, and what follows for its three passes. */
#include "models/gpu/convolution.h"
#include "tests/harness/check.h"

#include <stdlib.h>

static pw_catalogue *catalogue;

static pw_gpu *open_gpu(const char *device) {
    pw_error error = {0};
    pw_gpu *gpu = NULL;
    if ((!catalogue && pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) ||
        pw_gpu_create(NULL, catalogue, device, &gpu, &error) != PW_OK) {
        printf("# %s\n", error.what);
        exit(1);
    }
    return gpu;
}

static pw_kernel convolution(int pass, int size, int in, int out, int window, int stride) {
    return (pw_kernel){.kind = PW_KERNEL_CONVOLUTION,
                       .precision = PW_PRECISION_FP16,
                       .convolution = {.batch = 32, .in_height = size, .in_width = size, .in_channels = in,
                                       .out_height = size / stride, .out_width = size / stride, .out_channels = out,
                                       .kernel_height = (int16_t)window, .kernel_width = (int16_t)window,
                                       .stride = (int16_t)stride, .pass = (int16_t)pass, .groups = 1}};
}

static pw_kernel_cost cost_of(const pw_gpu *gpu, const pw_kernel *kernel, double clock) {
    pw_gpu_state state = {clock, 0};
    pw_kernel_cost cost = {0};
    pw_error error = {0};
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, kernel, &state, &cost, &error), PW_OK);
    return cost;
}

PW_TEST(flops_are_two_per_tap_channel_and_output_in_every_pass) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    for (int pass = 0; pass < 3; pass++)
        for (int stride = 1; stride <= 2; stride++) {
            pw_kernel kernel = convolution(pass, 56, 64, 128, 3, stride);
            double pixels = 32.0 * (56 / stride) * (56 / stride);
            PW_EXPECT_NEAR(cost_of(gpu, &kernel, 1).flops, 2 * pixels * 64 * 128 * 9, 0);
        }
    pw_kernel grouped = convolution(0, 56, 64, 128, 3, 1);
    grouped.convolution.groups = 32;
    PW_EXPECT_NEAR(cost_of(gpu, &grouped, 1).flops, 2 * 32.0 * 56 * 56 * 64 / 32 * 128 * 9, 0);
    pw_gpu_destroy(gpu);
}

PW_TEST(a_window_of_one_is_the_multiply_itself) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    pw_kernel kernel = convolution(PW_CONVOLUTION_FORWARD, 56, 256, 128, 1, 1);
    pw_kernel multiply = {.kind = PW_KERNEL_GEMM, .precision = PW_PRECISION_FP16,
                          .gemm = {.batch = 1, .m = 32 * 56 * 56, .n = 128, .k = 256}};
    pw_kernel_cost a = cost_of(gpu, &kernel, 1), b = cost_of(gpu, &multiply, 1);
    PW_EXPECT_NEAR(a.total_s, b.total_s, 0);
    PW_EXPECT_NEAR(a.hbm_bytes, b.hbm_bytes, 0);
    kernel.convolution.pass = PW_CONVOLUTION_DATA;
    multiply.gemm.n = 256;
    multiply.gemm.k = 128;
    PW_EXPECT_NEAR(cost_of(gpu, &kernel, 1).total_s, cost_of(gpu, &multiply, 1).total_s, 0);
    pw_gpu_destroy(gpu);
}

PW_TEST(pixels_are_read_once_however_large_the_window) {
    const pw_kernel one = convolution(PW_CONVOLUTION_FORWARD, 56, 64, 64, 1, 1), three = convolution(0, 56, 64, 64, 3, 1);
    double pixels = 32.0 * 56 * 56 * 64;
    PW_EXPECT_NEAR(pw_convolution_elements(&one.convolution), 2 * pixels + 64 * 64, 0);
    PW_EXPECT_NEAR(pw_convolution_elements(&three.convolution), 2 * pixels + 9 * 64 * 64, 0);
    const pw_kernel skips = convolution(PW_CONVOLUTION_FORWARD, 56, 64, 64, 1, 2);
    PW_EXPECT_NEAR(pw_convolution_elements(&skips.convolution), 2 * pixels / 4 + 64 * 64, 0);
    const pw_kernel writes_all = convolution(PW_CONVOLUTION_DATA, 56, 64, 64, 1, 2);
    PW_EXPECT_NEAR(pw_convolution_elements(&writes_all.convolution), pixels + pixels / 4 + 64 * 64, 0);
}

PW_TEST(no_pass_beats_peak_flops) {
    static const char *const devices[] = {"A100-SXM4-80GB", "H100-SXM5-80GB", "V100-SXM2-16GB", "Quadro RTX 8000"};
    for (int d = 0; d < 4; d++) {
        pw_gpu *gpu = open_gpu(devices[d]);
        double peak = pw_gpu_device(gpu)->peak_flops[PW_PRECISION_FP16];
        for (int pass = 0; pass < 3; pass++)
            for (int channels = 3; channels <= 2048; channels *= 3) {
                pw_kernel kernel = convolution(pass, 28, channels, channels, 3, 1);
                pw_kernel_cost cost = cost_of(gpu, &kernel, 1);
                PW_EXPECT(cost.total_s > cost.flops / peak);
                PW_EXPECT(cost_of(gpu, &kernel, 0.5).total_s >= cost.total_s);
            }
        pw_gpu_destroy(gpu);
    }
}

/* Nine taps of 64 channels make 8 x 9 tiles at most: without splits of the pixels most SMs would idle. */
PW_TEST(a_weight_gradient_splits_the_pixels_over_the_device) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    pw_kernel kernel = convolution(PW_CONVOLUTION_WEIGHT, 56, 64, 64, 3, 1), forward = convolution(0, 56, 64, 64, 3, 1);
    kernel.convolution.batch = forward.convolution.batch = 256;
    PW_EXPECT(cost_of(gpu, &kernel, 1).total_s < 2 * cost_of(gpu, &forward, 1).total_s);
    pw_gpu_destroy(gpu);
}

PW_TEST(three_channels_cost_as_many_as_tensor_units_load_at_once) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    pw_kernel three = convolution(0, 224, 3, 64, 7, 2), eight = convolution(0, 224, 8, 64, 7, 2);
    PW_EXPECT_NEAR(cost_of(gpu, &three, 1).compute_s, cost_of(gpu, &eight, 1).compute_s, 0);
    three.precision = eight.precision = PW_PRECISION_FP32; /* no tensor units, no padding */
    PW_EXPECT(cost_of(gpu, &three, 1).compute_s < 0.6 * cost_of(gpu, &eight, 1).compute_s);
    pw_gpu_destroy(gpu);
}

PW_TEST(a_depthwise_convolution_is_bound_by_its_traffic) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    pw_kernel kernel = convolution(0, 56, 256, 256, 3, 1);
    pw_kernel_cost dense = cost_of(gpu, &kernel, 1);
    kernel.convolution.groups = 256;
    pw_kernel_cost depthwise = cost_of(gpu, &kernel, 1);
    PW_EXPECT(depthwise.memory_s > depthwise.compute_s);
    PW_EXPECT(depthwise.total_s < dense.total_s);
    PW_EXPECT_NEAR(depthwise.flops, dense.flops / 256, 0);
    pw_gpu_destroy(gpu);
}

PW_TEST(impossible_shapes_are_errors) {
    pw_gpu *gpu = open_gpu("A100-SXM4-80GB");
    pw_kernel kernel = convolution(0, 56, 64, 64, 3, 1);
    pw_kernel_cost cost;
    pw_error error = {0};
    kernel.convolution.groups = 3; /* does not divide 64 */
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "convolution");
    kernel = convolution(3, 56, 64, 64, 3, 1);
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), PW_BAD_INPUT);
    kernel = convolution(0, 56, 0, 64, 3, 1);
    PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), PW_BAD_INPUT);
    pw_gpu_destroy(gpu);
}

int main(int argc, char **argv) {
    int result = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return result;
}
