#include "models/power/kernel_loop.h"

#include <math.h>

#include "sim/math.h"

pw_status pw_kernel_loop_average(const pw_catalogue *catalogue, double *average_s, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_POWER_CONTROLLER, &table, error));
    int64_t row = pw_table_find_row(table, "default");
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, "the table needs that row", "power-controller has no row \"default\"");
    *average_s = pw_table_number_of(table, (size_t)row, "average");
    return *average_s > 0 ? PW_OK
                          : pw_fail(error, PW_BAD_INPUT, NULL, 0, "average is a time above 0", "power-controller: average of \"default\" is missing");
}

double pw_kernel_loop_s(const pw_gpu_power *model, const pw_gpu_load *launch, const pw_gpu_limits *limits, double temperature_C,
                        const pw_kernel_loop *loop) {
    pw_gpu_limits uncapped = *limits;
    uncapped.cap_W = HUGE_VAL;
    pw_gpu_settled free = pw_gpu_power_settle(model, launch, &uncapped, temperature_C, pw_gpu_die_nominal);
    pw_gpu_settled held = pw_gpu_power_settle(model, launch, limits, temperature_C, pw_gpu_die_nominal);
    if (!(held.span_s > free.span_s)) return free.span_s;
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(model);
    double cap_W = limits->cap_W > 0 ? limits->cap_W : figures->tdp_W;
    double rest_W = figures->idle_W, above_W = free.watts.total - cap_W;
    /* a controller that keeps a margin below the cap may hold what never reaches the cap itself: then at once */
    double reached_s = above_W > 0 && rest_W < cap_W ? loop->average_s * pw_log((free.watts.total - rest_W) / above_W) : 0;
    double at_once = reached_s / free.span_s - loop->before; /* measured launches at the free clock */
    if (at_once <= 0) return held.span_s;
    if (at_once >= loop->timed) return free.span_s;
    return (at_once * free.span_s + (loop->timed - at_once) * held.span_s) / loop->timed;
}

typedef struct launched {
    const pw_gpu *gpu;
    const pw_kernel *kernel;
    double otherwise_s; /* where the equations fail at a clock */
} launched;

static double time_at(void *context, double clock_ratio) {
    const launched *l = context;
    const pw_gpu_state state = {.clock_ratio = clock_ratio};
    pw_kernel_cost cost;
    return pw_gpu_kernel_cost(l->gpu, l->kernel, &state, &cost, NULL) == PW_OK ? cost.total_s : l->otherwise_s;
}

double pw_kernel_loop_mean_s(const pw_gpu_power *model, const pw_gpu *gpu, const pw_kernel *kernel, const pw_kernel_cost *cost,
                             const pw_kernel_loop *loop) {
    launched of = {gpu, kernel, cost->total_s};
    pw_gpu_load launch = {.work = {.busy_s = cost->total_s}, .span_s = cost->total_s, .time_of = time_at, .context = &of};
    pw_gpu_work_add_kernel(&launch.work, kernel, cost, 1);
    const pw_gpu_limits own = {0};
    return pw_kernel_loop_s(model, &launch, &own, pw_gpu_power_figures_of(model)->reference_C, loop);
}
