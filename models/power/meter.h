/* The meter of a site: what a user asks of it, and what it says of a power signal. */
#ifndef PW_MODELS_POWER_METER_H
#define PW_MODELS_POWER_METER_H

#include "models/power/meter_grid.h"
#include "models/power/meter_smoothing.h"

typedef struct pw_meter_desc {
    pw_list instruments;                /* of text: rows of power-meters */
    double skip_s;                      /* at the beginning, not looked at */
    double repeat_s;                    /* NaN: the signal as it is; else repeated for so long */
    double jitter, spread;              /* between nodes, when repeated: meter_repeat.h */
    const pw_grid_limits *grid;         /* NULL: no limits */
    const pw_smoothing_desc *smoothing; /* NULL: none */
} pw_meter_desc;
extern const pw_kind pw_meter_kind; /* "meter" */

enum { PW_METER_INSTRUMENTS = 6 };
typedef struct pw_meter_side {          /* before or after smoothing */
    pw_reading_summary readings[PW_METER_INSTRUMENTS];
    bool has_reading[PW_METER_INSTRUMENTS]; /* false: the signal is shorter than its interval */
    pw_ramp ramp;                       /* over means of 1 s */
    bool has_ramp;                      /* the signal lasts 2 s at least */
    pw_grid_report grid;                /* count 0: no limits were given */
} pw_meter_side;
typedef struct pw_meter_report {
    pw_instrument instruments[PW_METER_INSTRUMENTS];
    uint32_t instrument_count;
    double length_s, energy_J;
    uint32_t repeats;                   /* 0: as it is */
    pw_meter_side plain, smooth;
    bool is_smooth;
    pw_smoothing_result cost;
} pw_meter_report;
/* The signal of `nodes` nodes with `gpus` GPUs. Messages say meter.FIELD, grid_limits.FIELD or smoothing.FIELD. */
pw_status pw_meter_read(const pw_catalogue *catalogue, const pw_meter_desc *desc, const pw_signal *site, uint32_t nodes, uint32_t gpus, uint64_t seed,
                        pw_meter_report *report, pw_error *error);

#endif
