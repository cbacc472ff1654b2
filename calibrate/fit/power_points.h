/* Rows of power-measured.csv as points that a model of a GPU's power can be fitted to. */
#ifndef PW_CALIBRATE_FIT_POWER_POINTS_H
#define PW_CALIBRATE_FIT_POWER_POINTS_H

#include "models/power/gpu_points.h"

typedef struct pw_fit_power_point {
    pw_power_point point;
    char task[96];
    double measured;
    bool check;
} pw_fit_power_point;

typedef struct pw_fit_power_points {
    const pw_allocator *allocator;
    pw_fit_power_point *points;
    size_t count, capacity;
} pw_fit_power_points;

/* <data>/power-measured.csv with the sides of <split>/split-power.csv; rows that no point describes, of provenance MEMORY or of no
 * family in the split are left out. */
pw_status pw_fit_power_points_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_fit_power_points *points,
                                   pw_error *error);
void pw_fit_power_points_free(pw_fit_power_points *points);

#endif
