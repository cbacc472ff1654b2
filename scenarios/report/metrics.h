/* The time series an operator would see: a sink that hears levels (models/power/levels.h), keeps readings at equal intervals, and writes
 * them as CSV and as OpenMetrics text with the field names of DCGM.
 *
 * Watts, utilisation and shares are means over the interval before a reading; clocks, temperatures and reasons are what they are at that
 * time; energies are integrals from the beginning. The power of the site is kept as it is heard, exactly, for meters.
 *
 * X(NAME, level, column, scale from level to column, is a mean, DCGM field, type, text) */
#ifndef PW_REPORT_METRICS_H
#define PW_REPORT_METRICS_H

#include "models/power/levels.h"
#include "models/power/meter_signal.h"
#include "sim/file.h"
#include "sim/record.h"

#define PW_METRIC_MAP(X)                                                                                                                          \
    X(POWER, PW_LEVEL_POWER, "power_W", 1, true, "DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W), mean over the interval.")                \
    X(UTILIZATION, PW_LEVEL_UTILIZATION, "utilization_%", 100, true, "DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).")                  \
    X(CLOCK, PW_LEVEL_CLOCK, "clock_MHz", 1e-6, false, "DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).")                           \
    X(TEMPERATURE, PW_LEVEL_TEMPERATURE, "temperature_C", 1, false, "DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).")                   \
    X(MEMORY_TEMPERATURE, PW_LEVEL_MEMORY_TEMPERATURE, "memory_temperature_C", 1, false, "DCGM_FI_DEV_MEMORY_TEMP", "gauge",                      \
      "Memory temperature (in C).")                                                                                                               \
    X(REASONS, PW_LEVEL_CLOCK_REASONS, "clock_reasons", 1, false, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gauge",                                    \
      "Bits of why the clock is below its highest.")                                                                                              \
    X(TENSOR, PW_LEVEL_TENSOR, "tensor_use", 1, true, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Tensor work over its peak (0 to 1).")          \
    X(MEMORY, PW_LEVEL_MEMORY, "memory_use", 1, true, "DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Memory traffic over the bandwidth (0 to 1).")         \
    X(LINK, PW_LEVEL_LINK, "link_tx_Bps", 1, true, "DCGM_FI_PROF_NVLINK_TX_BYTES", "gauge", "NVLink bytes sent per second.")                      \
    X(FAN, PW_LEVEL_FAN, "fan_share", 1, false, NULL, "gauge", "Fan speed over full speed (0 to 1).")
typedef enum pw_metric {
#define PW_METRIC_ENUM(NAME, ...) PW_METRIC_##NAME,
    PW_METRIC_MAP(PW_METRIC_ENUM)
#undef PW_METRIC_ENUM
    PW_METRIC_COUNT
} pw_metric;
extern const char *const pw_metric_columns[];   /* "power_W", ..., NULL */
extern const double pw_metric_scales[PW_METRIC_COUNT];

typedef enum pw_metric_of { PW_METRIC_OF_SITE, PW_METRIC_OF_RACK, PW_METRIC_OF_NODE, PW_METRIC_OF_GPU, PW_METRIC_OF_COUNT } pw_metric_of;
extern const char *const pw_metric_of_names[];  /* "site", "rack", "node", "gpu", NULL */

typedef struct pw_metrics_options {
    double interval_s;
    unsigned of;              /* bit per pw_metric_of that is kept; 0: nothing but the site's power */
    double ticks_per_second;  /* of the job's kind */
    const char *model;        /* name of the GPUs, for labels; NULL: unknown */
} pw_metrics_options;

typedef struct pw_metrics pw_metrics;
pw_status pw_metrics_create(const pw_allocator *allocator, const pw_metrics_options *options, pw_metrics **metrics, pw_error *error);
void pw_metrics_destroy(pw_metrics *metrics); /* NULL is fine */
void pw_metrics_set_model(pw_metrics *metrics, const char *model); /* text that outlives it */
pw_sink pw_metrics_sink(pw_metrics *metrics);
/* After the run: what went wrong while listening (memory, more readings than MOST), or PW_OK. heard: any level of a known quantity. */
pw_status pw_metrics_check(const pw_metrics *metrics, bool *heard, pw_error *error);
/* The power of the site, ended, or NULL: nobody reported it. Lives as metrics. */
const pw_signal *pw_metrics_site(const pw_metrics *metrics);

void pw_metrics_csv(const pw_metrics *metrics, pw_file *file);
/* OpenMetrics 1.0: one family after the other, each with its metrics, each with its readings in order of time; ends with # EOF. */
void pw_metrics_openmetrics(const pw_metrics *metrics, pw_file *file);

/* Which entity a track stands for. False: none. number: of a track "gpus CLASS" UINT32_MAX. */
bool pw_metric_entity(const char *track, pw_metric_of *of, uint32_t *number);

#endif
