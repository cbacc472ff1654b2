/* Smoothing of a load before the grid sees it: ramp limits, a floor below which power is burned, and storage. All figures of a device
 * are for one GPU, so that a preset fits any cluster.
 *
 * A controller acts every `interval_s`. Its wish is the load, or, with storage, the load and the store's losses averaged over averaging_s, plus what brings the
 * store back to half full within another averaging_s; the floor and the ramp limits bound the wish. A deficit comes from the store, then from
 * the grid as far as its ramp lets it rise; what is left is held back: the load runs slower, and the rest of it is delayed. A surplus
 * fills the store, then lets the grid fall as far as its ramp and the floor allow; the rest is burned.
 *
 * Work in an interval goes with the power above the smallest level of the load (its idle power) that was served. Real work is lost more
 * slowly than power (clocks fall less than power does), so the delay is an upper bound.
 *
 * Law, asserted: energy from the grid = energy to the load + burned + lost in the store + gained by the store, to 1e-9.
 */
#ifndef PW_MODELS_POWER_METER_SMOOTHING_H
#define PW_MODELS_POWER_METER_SMOOTHING_H

#include "models/power/meter_signal.h"
#include "sim/registry.h"

/* NaN: not there. */
typedef struct pw_smoothing_desc {
    const char *name;
    double ramp_up_Wps, ramp_down_Wps; /* of one GPU */
    double floor_W, floor_hold_s;      /* of one GPU; held for so long after the load was last above it */
    double storage_J, storage_W, storage_efficiency, averaging_s; /* of one GPU; efficiency of a round trip */
    double interval_s;
} pw_smoothing_desc;
extern const pw_kind pw_smoothing_kind; /* "smoothing" */
/* A row of the table power-smoothing. */
pw_status pw_smoothing_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error);

typedef struct pw_smoothing_result {
    double load_J, grid_J, burned_J, lost_J, stored_J; /* of the whole signal; stored: at the end less at the beginning */
    double held_back_J;  /* asked for and not served when it was asked for */
    double delay_s;      /* by which the load ends later */
    double least_store, most_store; /* shares of capacity that were reached; NaN without storage */
} pw_smoothing_result;
/* The signal that the grid sees, `gpus` devices of desc under the load; *grid is initialised here and freed by the caller. A load that the limits
 * stretch beyond ten times its length is an error, and so are more than 2^26 intervals. */
pw_status pw_smooth(const pw_signal *load, const pw_smoothing_desc *desc, double gpus, pw_signal *grid, pw_smoothing_result *result, pw_error *error);

#endif
