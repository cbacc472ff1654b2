/* Rows of power-measured.csv as points that a model of a GPU's power can be fitted to. */
#ifndef PW_CALIBRATE_FIT_POWER_POINTS_H
#define PW_CALIBRATE_FIT_POWER_POINTS_H

#include "models/power/gpu_points.h"
#include "models/power/kernel_loop.h"

typedef struct pw_fit_power_point {
    pw_power_point point;        /* of a kernel in a loop: its device alone */
    const pw_gpu *gpu;           /* of a kernel in a loop; NULL: another kind of point */
    pw_kernel kernel;
    pw_kernel_loop loop;
    char task[96];
    double measured;
    bool check;
} pw_fit_power_point;

typedef struct pw_fit_power_points {
    const pw_allocator *allocator;
    pw_fit_power_point *points;
    size_t count, capacity;
    pw_gpu **gpus;
    size_t gpu_count, gpu_capacity;
} pw_fit_power_points;

/* <data>/power-measured.csv with the sides of <split>/split-power.csv; rows that no point describes, of provenance MEMORY or of no
 * family in the split are left out. */
pw_status pw_fit_power_points_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_fit_power_points *points,
                                   pw_error *error);
/* Adds the multiplies of <data>/kernel-gemm.csv whose loops (<split>/kernel-loops.csv) last for more than two time constants of the
 * controller: seconds per launch tell the clock that a cap leaves. stack: the beginning of the fitted stack's name. gpus: made here,
 * to be destroyed by pw_fit_power_points_free. */
pw_status pw_fit_power_points_add_loops(const pw_catalogue *catalogue, const char *data, const char *split, const char *stack,
                                        pw_fit_power_points *points, pw_error *error);
/* Seconds per launch of a kernel in its loop. */
double pw_fit_power_loop_s(const pw_gpu_power *model, const pw_fit_power_point *point);
void pw_fit_power_points_free(pw_fit_power_points *points);

#endif
