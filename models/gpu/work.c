#include "models/gpu/work.h"

static bool is_tensor(pw_kernel_class kind) {
    return kind == PW_KERNEL_GEMM || kind == PW_KERNEL_CONVOLUTION || kind == PW_KERNEL_ATTENTION;
}

void pw_gpu_work_add_kernel(pw_gpu_work *work, const pw_kernel *kernel, const pw_kernel_cost *cost, double times) {
    if (is_tensor(kernel->kind)) work->tensor_flops[kernel->precision] += times * cost->flops;
    else work->vector_flops += times * cost->flops;
    work->memory_bytes += times * cost->hbm_bytes;
}

void pw_gpu_work_add(pw_gpu_work *sum, const pw_gpu_work *work, double factor) {
    for (int p = 0; p < PW_PRECISION_COUNT; p++) sum->tensor_flops[p] += factor * work->tensor_flops[p];
    sum->vector_flops += factor * work->vector_flops;
    sum->memory_bytes += factor * work->memory_bytes;
    sum->link_bytes += factor * work->link_bytes;
    sum->busy_s += factor * work->busy_s;
}
