/* The controller of every kind of GPU as a run goes: power of what runs now, its average against the limit, steps of the clock.
 *
 * Power changes when a segment or transfer begins or ends and when the clock moves. In between it is constant and its exponential average is
 *
 *   A(t) = P + (A0 - P) e^(-(t - t0) / tau)
 *
 * so the moment at which A leaves the band [(1 - margin) x limit, limit] is known, and an event waits there and nowhere else. The
 * controller then moves the clock against the deviation once per decision time, until A is back in the band or the clock at its end:
 * step of clock = (limit - A) / (dP/df) x decision / (2 tau), at least one step of the device. Its damping is about 0.7. Internal to power_loop.
 */
#ifndef PW_MODELS_WORKLOAD_POWER_DYNAMIC_H
#define PW_MODELS_WORKLOAD_POWER_DYNAMIC_H

#include "models/power/gpu_power.h"
#include "models/program/executor.h"

/* A GPU of one class of ranks. */
typedef struct dynamic_gpu {
    double clock_ratio;      /* to begin with; then now */
    double average_W;        /* likewise */
    double temperature_C;
    pw_gpu_die die;
    pw_gpu_limits limits;
    double ceiling_ratio;    /* highest clock under all limits but power */
    pw_clock_reason ceiling_reason, reason;
    double watts;            /* now */
    pw_gpu_work rate;        /* per second, now */
    pw_time since, decided;  /* watts hold from then on; the clock moved last */
    pw_event_id timer;
    bool dirty;
    double clock_s;          /* integral of the clock over time */
    pw_gpu_watts energy_J;   /* by part */
    double by_reason_s[PW_CLOCK_REASON_COUNT];
    double *bins_J;          /* [bins] */
    pw_track track;
} dynamic_gpu;

typedef struct power_dynamic {
    const pw_gpu_power *model;
    double average_s, decision_s, margin, pace;
    dynamic_gpu *gpus;       /* [rank classes]; the caller fills the inputs before dynamic_begin */
    uint32_t count, bins;
    double bin_s;
    pw_executor *executor;
    pw_sim *sim;
    pw_recorder *recorder;   /* NULL: nobody */
    pw_name quantities[5];   /* clock, watts, temperature, reasons, members */
    pw_time origin;
} power_dynamic;

/* When the executor is ready, before its run. */
pw_status dynamic_begin(power_dynamic *d, pw_executor *executor, pw_sim *sim, pw_recorder *recorder, pw_error *error);
/* The executor says so: what a class does changes now. */
void dynamic_changed(void *dynamic, pw_executor *executor, uint32_t rank_class);
/* Brings all GPUs up to now. */
void dynamic_end(power_dynamic *d);
/* Other limits from now on for a class: cap, brake. */
void dynamic_limit(power_dynamic *d, uint32_t rank_class, const pw_gpu_limits *limits);

#endif
