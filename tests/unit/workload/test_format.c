/* Number formats: which units multiply, what tensors take, what casts cost. */
#include <math.h>

#include "tests/harness/check.h"
#include "tests/unit/workload/runs.h"

static double multiply_s(pw_gpu *gpu, pw_precision precision) {
    pw_kernel kernel = {.kind = PW_KERNEL_GEMM, .precision = precision, .gemm = {.batch = 1, .m = 8192, .n = 8192, .k = 8192}};
    pw_kernel_cost cost;
    pw_error error = {0};
    must(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), &error);
    return cost.compute_s;
}

PW_TEST(formats_without_measurements_run_at_their_own_peak) {
    const char *gpus[] = {"A100-SXM4-80GB", "H100-SXM5-80GB", "V100-SXM2-32GB"};
    for (size_t i = 0; i < 3; i++) {
        const pw_device *a = device(gpus[i]);
        pw_gpu *gpu;
        pw_error error = {0};
        must(pw_gpu_create(NULL, catalogue(), gpus[i], &gpu, &error), &error);
        double halves = multiply_s(gpu, PW_PRECISION_FP16);
        for (int p = PW_PRECISION_FP32; p <= PW_PRECISION_TF32; p++) {
            if (!(a->peak_flops[p] > 0)) continue;
            PW_EXPECT_NEAR(multiply_s(gpu, (pw_precision)p) / halves, a->peak_flops[PW_PRECISION_FP16] / a->peak_flops[p], 0.03);
            PW_EXPECT_CONTAINS(pw_gpu_provenance(gpu, PW_KERNEL_GEMM, (pw_precision)p), "bf16");
        }
        pw_gpu_destroy(gpu);
    }
}

static pw_memory_account account_in(int format) {
    pw_model_desc model = preset("gpt3-1.3b");
    pw_train_desc desc = job(&model, "megatron-2021", 1024, 8);
    pw_memory_account account;
    pw_error error = {0};
    desc.precision = format;
    desc.sharding = PW_SHARDING_NONE;
    desc.data_parallel = 1;
    must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, 0, &account, &error), &error);
    return account;
}

PW_TEST(thirty_two_bits_double_what_sixteen_keep) {
    pw_memory_account wide = account_in(PW_PRECISION_FP32), narrow = account_in(PW_PRECISION_FP16);
    PW_EXPECT_NEAR(wide.weights, 2 * narrow.weights, 1e-12);
    PW_EXPECT_NEAR(wide.gradients + wide.optimizer, wide.weights * 3, 1e-12); /* Adam: 16 bytes a parameter */
    /* Dropout masks stay one byte: 34 + 5 a s/h become 66 + 9 a s/h. */
    double scores = 16.0 * 1024 / 2048;
    PW_EXPECT_NEAR(wide.activations / narrow.activations, (66 + 9 * scores) / (34 + 5 * scores), 1e-12);
}

PW_TEST(autocast_keeps_fp32_weights_a_copy_and_wide_norms) {
    pw_memory_account amp = account_in(PW_FORMAT_FP16_AMP), wide = account_in(PW_PRECISION_FP32),
                      narrow = account_in(PW_PRECISION_FP16);
    PW_EXPECT_NEAR(amp.weights, 1.5 * wide.weights, 1e-12);
    PW_EXPECT_NEAR(amp.gradients, wide.gradients, 1e-12);
    double scores = 16.0 * 1024 / 2048;
    PW_EXPECT_NEAR(amp.activations / narrow.activations, (38 + 7 * scores) / (34 + 5 * scores), 1e-12);
}

PW_TEST(a_wider_format_takes_longer_and_autocast_pays_its_casts) {
    pw_model_desc model = preset("gpt3-1.3b");
    pw_train_desc desc = job(&model, "megatron-2021", 1024, 64);
    double seconds[PW_FORMAT_COUNT];
    const int formats[] = {PW_PRECISION_FP16, PW_FORMAT_FP16_AMP, PW_PRECISION_TF32, PW_PRECISION_FP32};
    desc.sharding = PW_SHARDING_NONE;
    for (size_t i = 0; i < 4; i++) {
        desc.precision = formats[i];
        seconds[i] = run_plain(&desc, "DGX A100 640GB", 1, false).step_s;
        if (i) PW_EXPECT(seconds[i] > seconds[i - 1]);
    }
}

PW_TEST(a_format_without_a_row_or_a_unit_is_refused) {
    pw_format format;
    pw_error error = {0};
    PW_EXPECT_INT(pw_format_read(catalogue(), PW_FORMAT_COUNT, &format, "job.lua", 3, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "training in an unknown format is not modelled");
    PW_EXPECT_CONTAINS(error.hint, "fp16-amp");
    must(pw_format_read(catalogue(), PW_PRECISION_TF32, &format, "job.lua", 3, &error), &error);
    PW_EXPECT_INT(pw_format_check(&format, device("V100-SXM2-32GB"), "job.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "V100-SXM2-32GB has no tf32 arithmetic");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
