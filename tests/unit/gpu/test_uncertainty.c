/* Laws of uncertainty: it comes from the fitted covariance, does not change with the number of launches, and is larger where
 * parameters are borrowed. */
#include "models/gpu/uncertainty.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_error error;

static const pw_device *device_of(const char *name) {
    const pw_device *device = NULL;
    PW_EXPECT(pw_catalogue_device(catalogue, name, &device, &error) == PW_OK);
    return device;
}

static double sd_of(const char *device, const pw_kernel_count *kernels, size_t count) {
    double sd = -1;
    PW_EXPECT(pw_gpu_time_sd(catalogue, device_of(device), kernels, count, 1, &sd, &error) == PW_OK);
    return sd;
}

static const pw_kernel multiply = {.kind = PW_KERNEL_GEMM, .precision = PW_PRECISION_BF16,
                                   .gemm = {.batch = 1, .m = 4096, .n = 8192, .k = 8192, .quantised = true}};
static const pw_kernel sweep = {.kind = PW_KERNEL_NORM, .precision = PW_PRECISION_BF16, .memory = {.bytes = 1e9}};
static const pw_kernel attention = {.kind = PW_KERNEL_ATTENTION, .precision = PW_PRECISION_BF16,
                                    .attention = {.batch = 2, .queries = 4096, .keys = 4096, .heads = 32, .kv_heads = 8,
                                                  .head_dim = 128, .causal = true}};

PW_TEST(a_measured_device_is_known_to_a_few_percent) {
    double one = sd_of("H100-SXM5-80GB", &(pw_kernel_count){&multiply, 1}, 1);
    double many = sd_of("H100-SXM5-80GB", &(pw_kernel_count){&multiply, 1000}, 1);
    PW_EXPECT(one > 1e-5 && one < 0.03);
    PW_EXPECT_NEAR(many, one, 1e-9);
}

PW_TEST(a_compute_bound_multiply_is_as_uncertain_as_its_efficiency) {
    const pw_table *table;
    PW_EXPECT(pw_catalogue_need(catalogue, "kernel-gemm-covariance", &table, &error) == PW_OK);
    int row = pw_table_find_row(table, "A100-SXM4-80GB/bf16/flop_efficiency/flop_efficiency");
    PW_EXPECT(row >= 0);
    double sd = sd_of("A100-SXM4-80GB", &(pw_kernel_count){&multiply, 1}, 1);
    double efficiency = sqrt(pw_table_number_of(table, (size_t)row, "covariance_of_logs"));
    PW_EXPECT(sd > 0.3 * efficiency && sd < 3 * efficiency);
}

PW_TEST(independent_fits_add_less_than_their_sum) {
    pw_kernel_count all[] = {{&multiply, 3}, {&sweep, 5}, {&attention, 2}};
    double joint = sd_of("A100-SXM4-80GB", all, 3);
    double largest = 0;
    for (int i = 0; i < 3; i++) {
        double alone = sd_of("A100-SXM4-80GB", &all[i], 1);
        if (alone > largest) largest = alone;
    }
    PW_EXPECT(joint > 0 && joint < largest);
}

PW_TEST(borrowed_parameters_are_less_certain) {
    double own = sd_of("A100-SXM4-80GB", &(pw_kernel_count){&multiply, 1}, 1);
    double borrowed = sd_of("V100-SXM2-32GB", &(pw_kernel_count){&(pw_kernel){.kind = PW_KERNEL_GEMM, .precision = PW_PRECISION_FP16,
                                                .gemm = multiply.gemm}, 1}, 1);
    PW_EXPECT(borrowed > 3 * own);
}

PW_TEST(no_kernels_no_uncertainty) { PW_EXPECT(sd_of("A100-SXM4-80GB", NULL, 0) == 0); }

int main(int argc, char **argv) {
    if (pw_catalogue_load(pw_allocator_default(), NULL, &catalogue, &error) != PW_OK) return 1;
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return failed;
}
