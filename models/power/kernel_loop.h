/* The time of a kernel in a benchmark loop: as if alone until the average power reaches the cap, then at the settled clock.
 *
 * The controller averages power exponentially with the time constant tau of table power-controller; from rest, the average A
 * follows dA/dt = (P - A) / tau and meets the cap after tau ln((P - idle) / (P - cap)). Short loops never throttle, however
 * much the kernel draws; that is why tables of short kernels show none of it and tables of long ones do.
 */
#ifndef PW_MODELS_POWER_KERNEL_LOOP_H
#define PW_MODELS_POWER_KERNEL_LOOP_H

#include "models/power/gpu_power.h"

#define PW_TABLE_POWER_CONTROLLER "power-controller"

typedef struct pw_kernel_loop {
    double before, timed; /* launches without a pause: before the clock is read, and in the measured part (at least 1) */
    double average_s;     /* tau */
} pw_kernel_loop;

/* tau of the catalogue's controller. */
pw_status pw_kernel_loop_average(const pw_catalogue *catalogue, double *average_s, pw_error *error);

/* Seconds of a mean launch in the measured part, from rest at temperature_C. launch: one launch, its span_s at clock ratio 1. */
double pw_kernel_loop_s(const pw_gpu_power *model, const pw_gpu_load *launch, const pw_gpu_limits *limits, double temperature_C,
                        const pw_kernel_loop *loop);
/* The same for a kernel on a GPU within its own limits, at the model's reference temperature. cost: of the kernel at clock ratio 1, which
 * stands in at clocks where the equations fail. */
double pw_kernel_loop_mean_s(const pw_gpu_power *model, const pw_gpu *gpu, const pw_kernel *kernel, const pw_kernel_cost *cost,
                             const pw_kernel_loop *loop);

#endif
