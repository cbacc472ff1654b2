/* What a GPU draws, and the clock at which it settles under its limits.
 *
 * Watts over a span follow from the work done in it (models/gpu/work.h), clock, temperature and die:
 *
 *   P = idle + static v^2 e^(k (T - T0)) + active v^2 x busy + v^2 (sum over p of e_p tensor flop/s_p + e_v vector flop/s)
 *       + (e_m + e_c v^2) memory B/s + e_l link B/s
 *
 * x: clock / boost clock; v = max(floor, 1 - slope (1 - x)): core voltage, 1 at boost; busy: share of the span in which a
 * kernel is resident. HBM and links have clocks of their own, so their energy per byte (e_m, e_l) is constant; e_c is what the same bytes cost on the die. A GPU on which nothing is
 * loaded (clock_ratio 0) draws idle alone. Parameters are few per device and live in gpu-power-parameters.csv; a device
 * without a row takes one of its architecture, scaled, and says so.
 *
 * Clocks are ratios to the clock for which the kernels' parameters hold, as in pw_gpu_state: the highest clock with kernels
 * on the GPU (load_clock). The short benchmark loops behind those parameters ran at it, whatever clock the data sheet states
 * its peaks for. Boost may be above 1. The settled clock is the largest step of the device at which no limit is broken; a slower clock
 * stretches only the part of the span that arithmetic takes, so rates fall with it. A model is immutable and may be shared
 * between threads; no call but create allocates; watts costs tens of nanoseconds, settle about a microsecond.
 *
 * The clock of one kernel that runs again and again (a benchmark loop):
 *
 *   pw_gpu_work work = {.busy_s = cost.total_s};            // cost: at clock ratio 1
 *   pw_gpu_work_add_kernel(&work, &kernel, &cost, 1);
 *   pw_gpu_load load = {.work = work, .span_s = cost.total_s, .time_of = time_at_clock, .context = &kernel_and_gpu};
 *   pw_gpu_settled settled = pw_gpu_power_settle(model, &load, &(pw_gpu_limits){0}, 55, pw_gpu_die_nominal);
 *   // settled.clock_ratio, settled.span_s, settled.watts.total
 */
#ifndef PW_MODELS_POWER_GPU_POWER_H
#define PW_MODELS_POWER_GPU_POWER_H

#include "models/gpu/work.h"

#define PW_TABLE_GPU_POWER "gpu-power-parameters"
#define PW_TABLE_GPU_PROFILES "gpu-power-profiles"

/* Why a clock is below boost: X(NAME, name, bit, text); name and bit as NVML's clocks event reasons and DCGM have them. */
#define PW_CLOCK_REASON_MAP(X)                                                                                     \
    X(NONE, "none", 0x0, "the highest clock")                                                                      \
    X(GPU_IDLE, "gpu_idle", 0x1, "nothing runs")                                                                   \
    X(CLOCKS_SETTING, "applications_clocks_setting", 0x2, "a clock or a profile that was asked for")               \
    X(SW_POWER_CAP, "sw_power_cap", 0x4, "the power cap, or the limit on peak current")                            \
    X(HW_SLOWDOWN, "hw_slowdown", 0x8, "the hardware halves the clock, for heat or a brake")                       \
    X(SYNC_BOOST, "sync_boost", 0x10, "held to the slowest GPU of its group")                                      \
    X(SW_THERMAL, "sw_thermal_slowdown", 0x20, "above the highest operating temperature")                          \
    X(HW_THERMAL, "hw_thermal_slowdown", 0x40, "at the slowdown temperature")                                      \
    X(HW_POWER_BRAKE, "hw_power_brake_slowdown", 0x80, "the server pulled the power brake")

typedef enum pw_clock_reason {
#define PW_CLOCK_REASON_ENUM(NAME, name, bit, text) PW_CLOCK_REASON_##NAME,
    PW_CLOCK_REASON_MAP(PW_CLOCK_REASON_ENUM)
#undef PW_CLOCK_REASON_ENUM
    PW_CLOCK_REASON_COUNT
} pw_clock_reason;
extern const char *const pw_clock_reason_names[];         /* NULL-terminated */
extern const uint32_t pw_clock_reason_bits[PW_CLOCK_REASON_COUNT];

typedef struct pw_gpu_power pw_gpu_power;

/* One device's parameters, resolved. Fails with PW_NOT_FOUND for an unknown device or one that nothing serves, PW_UNSUPPORTED
 * when the catalogue has no TDP or no clock for it, file:line on a bad cell. The catalogue must outlive it. */
pw_status pw_gpu_power_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *device,
                              pw_gpu_power **model, pw_error *error);
void pw_gpu_power_destroy(pw_gpu_power *model);

const pw_device *pw_gpu_power_device(const pw_gpu_power *model);
/* "fitted on V100-PCIe-32GB, ..." or "from H100-SXM5-80GB (same architecture Hopper), by SMs and clock"; lives as the model. */
const char *pw_gpu_power_provenance(const pw_gpu_power *model);

/* Fixed figures of the device, for limits and pictures. NaN: the catalogue does not know. */
typedef struct pw_gpu_power_figures {
    double tdp_W, cap_min_W, idle_W;
    double boost_ratio;          /* highest clock, to the reference clock */
    double load_ratio;           /* highest clock with kernels on it: 1 */
    double memory_ratio;         /* the same with kernels that saturate the memory (`memory_from` of its bandwidth) */
    double min_ratio, step_ratio;
    double reference_Hz;         /* clock ratio 1 */
    double reference_C;          /* temperature at which the static part was fitted */
    double max_operating_C, slowdown_C, shutdown_C, memory_max_C;
} pw_gpu_power_figures;
const pw_gpu_power_figures *pw_gpu_power_figures_of(const pw_gpu_power *model);

/* A die's factors against the nominal one; drawn once per GPU. */
typedef struct pw_gpu_die {
    double still, dynamic;       /* on idle and static; on everything that switches on the die */
} pw_gpu_die;
extern const pw_gpu_die pw_gpu_die_nominal; /* {1, 1} */
/* Die `number` of a seed: independent normals, sigma from the table; the stream "gpu die". */
pw_gpu_die pw_gpu_die_draw(const pw_gpu_power *model, uint64_t seed, uint64_t number);

typedef struct pw_gpu_watts {    /* means over the span; total is their sum */
    double total, idle, leakage, active, tensor, vector, memory, link;
} pw_gpu_watts;

typedef struct pw_gpu_power_state {
    double clock_ratio;          /* 0: nothing loaded, clocks down */
    double temperature_C;        /* of the die */
    pw_gpu_die die;              /* {0, 0} is nominal too */
} pw_gpu_power_state;

/* Mean watts over a span of span_s > 0 in which `work` was done; work NULL: none. busy_s above span_s counts as span_s. */
pw_gpu_watts pw_gpu_power_watts(const pw_gpu_power *model, const pw_gpu_power_state *state, const pw_gpu_work *work,
                                double span_s);

/* A profile of the driver: row of gpu-power-profiles by name, for the device's architecture. */
typedef struct pw_gpu_profile {
    double clock;                /* highest clock, to boost; 0: no profile */
    double dynamic;              /* factor on everything that switches on the die */
} pw_gpu_profile;
pw_status pw_gpu_power_profile(const pw_catalogue *catalogue, const pw_gpu_power *model, const char *name,
                               pw_gpu_profile *profile, pw_error *error);

typedef struct pw_gpu_limits {   /* all zero: the device's own */
    double cap_W;                /* 0: the TDP */
    double clock_ratio;          /* a fixed clock; 0: none. Rounded down to a step */
    pw_gpu_profile profile;
    bool brake;                  /* the server's power brake: `slowdown` of the boost clock */
} pw_gpu_limits;
/* PW_BAD_INPUT on a cap below the device's least or above its TDP, a clock outside its range, or what is not finite. */
pw_status pw_gpu_power_check_limits(const pw_gpu_power *model, const pw_gpu_limits *limits, pw_error *error);

/* Watts that a controller holds under the limits: the cap less its margin. */
double pw_gpu_power_allowed(const pw_gpu_power *model, const pw_gpu_limits *limits);
/* The highest step of the clock under all limits but power, and what sets it. */
double pw_gpu_power_ceiling(const pw_gpu_power *model, const pw_gpu_limits *limits, double temperature_C, pw_clock_reason *reason);

/* Work that repeats, and the time it takes. */
typedef struct pw_gpu_load {
    pw_gpu_work work;            /* of one span; busy_s at clock ratio 1 */
    double span_s;               /* at clock ratio 1 */
    double compute_s;            /* part of it that goes with 1/clock, unless time_of is set */
    double (*time_of)(void *context, double clock_ratio); /* span at another clock, in place of compute_s; NULL: none */
    void *context;
} pw_gpu_load;

typedef struct pw_gpu_settled {
    double clock_ratio, span_s;
    double mean_ratio;           /* under a cap the controller goes to and fro between that step and the next: mean of the clock when power
                                    is just what is allowed; else clock_ratio */
    pw_gpu_watts watts;          /* at that clock */
    pw_clock_reason reason;
    bool over_cap;               /* the lowest clock still draws more than the cap */
} pw_gpu_settled;

/* The steady state of an averaging controller: the largest step at which power stays within the cap (less the margin that the
 * device's controller keeps), below the fixed clock, the profile, the brake and the thermal limits. Power is the mean over the
 * time in which kernels are resident: a controller is faster than the pauses of a job (data loading, evaluation), so
 * measured jobs are throttled while their mean lies below the cap. Where gaps are shorter than its window, pass a load without
 * gaps (busy_s = span_s). `watts` are means over the whole span. Above max_operating the highest clock falls linearly, to `slowdown` of
 * the boost clock at the slowdown temperature. Time outside kernels (span_s - busy_s) does not stretch. Limits must have passed
 * pw_gpu_power_check_limits. */
pw_gpu_settled pw_gpu_power_settle(const pw_gpu_power *model, const pw_gpu_load *load, const pw_gpu_limits *limits,
                                   double temperature_C, pw_gpu_die die);

#endif
