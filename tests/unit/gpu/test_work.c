/* Work is additive: counts of kernels sum, and no operation is counted twice. */
#include "models/gpu/work.h"
#include "tests/harness/check.h"

PW_TEST(a_kernel_counts_once_by_its_kind_and_format) {
    pw_gpu_work work = {0};
    const pw_kernel gemm = {.kind = PW_KERNEL_GEMM, .precision = PW_PRECISION_BF16};
    const pw_kernel norm = {.kind = PW_KERNEL_NORM, .precision = PW_PRECISION_BF16};
    const pw_kernel_cost cost = {.flops = 100, .hbm_bytes = 7};
    pw_gpu_work_add_kernel(&work, &gemm, &cost, 3);
    pw_gpu_work_add_kernel(&work, &norm, &cost, 2);
    PW_EXPECT(work.tensor_flops[PW_PRECISION_BF16] == 300);
    PW_EXPECT(work.tensor_flops[PW_PRECISION_FP8] == 0);
    PW_EXPECT(work.vector_flops == 200);
    PW_EXPECT(work.memory_bytes == 35);
    PW_EXPECT(work.busy_s == 0);
}

PW_TEST(sums_are_field_by_field) {
    pw_gpu_work sum = {.vector_flops = 1, .memory_bytes = 2, .link_bytes = 3, .busy_s = 4};
    sum.tensor_flops[PW_PRECISION_FP8] = 5;
    const pw_gpu_work work = sum;
    pw_gpu_work_add(&sum, &work, 2);
    PW_EXPECT(sum.tensor_flops[PW_PRECISION_FP8] == 15 && sum.vector_flops == 3 && sum.memory_bytes == 6);
    PW_EXPECT(sum.link_bytes == 9 && sum.busy_s == 12);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
