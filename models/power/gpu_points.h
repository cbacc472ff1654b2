/* Measured power of GPUs as points: what was run, and what the model says of it. Shared by the fit and by validation, so that the one
 * fits what the other judges.
 *
 * What a point takes as given is what its load needs: for serving the measured throughput (a load is work per second); for a
 * workload under a cap the mean watts of the run at the default cap, which tell the share of time without kernels; for a
 * board test the flops of its kernel in a clock cycle. It never takes the measured value itself.
 */
#ifndef PW_MODELS_POWER_GPU_POINTS_H
#define PW_MODELS_POWER_GPU_POINTS_H

#include "models/power/gpu_loads.h"

/* Cells of a row of power-measured.csv; numbers NaN where empty. */
typedef struct pw_power_row {
    const char *category, *device, *task, *metric, *dtype;
    double gpus, batch, cap_W, default_cap_W;
    double throughput;   /* of the row of the same run that has it: tokens/s, all GPUs */
    double default_W;    /* mean watts of the same workload at the default cap */
} pw_power_row;

typedef enum pw_power_quantity {
    PW_POWER_RATIO,      /* throughput under the cap over that at the default cap */
    PW_POWER_CAPPED_W,   /* mean watts under the cap */
    PW_POWER_SERVING_W,
    PW_POWER_BOARD_W,
    PW_POWER_BOARD_HZ,
    PW_POWER_IDLE_W
} pw_power_quantity;

typedef struct pw_power_point {
    pw_power_quantity quantity;
    const pw_device *device;
    double cap_W, default_cap_W, default_W;
    double gap; /* of a board test: seconds without kernels per second with */
    pw_activity activity;
    pw_gpu_load load; /* serving */
} pw_power_point;

/* *known false, with the reason in why[size]: a row that no point describes. Fails on bad tables alone. */
pw_status pw_power_point_make(const pw_catalogue *catalogue, const pw_power_row *row, pw_power_point *point, bool *known,
                              char *why, size_t size, pw_error *error);
/* In the unit of the quantity. model: of the point's device. */
double pw_power_point_predict(const pw_gpu_power *model, const pw_power_point *point);
/* What anybody would say: the cubic law; the smaller of the cap and the watts at the default cap; TDP; boost clock; a tenth of the
 * TDP. */
double pw_power_point_baseline(const pw_power_point *point);

#endif
