/* How well kernel times are known: the covariance of the fitted parameters, carried to a total of kernel times.
 */
#ifndef PW_MODELS_GPU_UNCERTAINTY_H
#define PW_MODELS_GPU_UNCERTAINTY_H

#include "models/gpu/gpu.h"

typedef struct pw_kernel_count {
    const pw_kernel *kernel;
    double count; /* launches */
} pw_kernel_count;

/* Relative standard deviation of the summed solo time of kernels on a device at a clock ratio (delta method: gradient by
 * central differences of the kernel equations, times the covariances in the catalogue's kernel-*-covariance tables; fits of
 * different tables and precisions are independent). Where a device has no fit of its own, the spread of start-up and
 * efficiencies between the fitted devices is added. Kernel classes without fitted parameters of their own add nothing.
 * 0 for no kernels. */
pw_status pw_gpu_time_sd(const pw_catalogue *catalogue, const pw_device *device, const pw_kernel_count *kernels, size_t count,
                         double clock_ratio, double *relative_sd, pw_error *error);

#endif
