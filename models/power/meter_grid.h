/* What a utility asks of a load, and whether a power signal keeps to it: how fast power may rise and fall, how far it may swing within a
 * second, and how much of it may oscillate in bands of frequency where generators and lines resonate. Limits are shares of the connection. */
#ifndef PW_MODELS_POWER_METER_GRID_H
#define PW_MODELS_POWER_METER_GRID_H

#include "models/power/meter_spectrum.h"
#include "sim/registry.h"

/* NaN: no such limit. */
typedef struct pw_grid_limits {
    const char *name;
    double connection_W;      /* NaN: the largest mean of 15 s of the signal */
    double ramp_up, ramp_down; /* change of the mean power per second, as shares of the connection */
    double ramp_window_s;     /* means over so long are compared */
    double range;             /* largest mean of a window of ramp_window_s less the smallest */
    double band_from_Hz, band_to_Hz, amplitude; /* of the sine that swings as much as all of the band */
    pw_list bands;            /* of pw_one_of of pw_grid_band_kind: narrower ones */
} pw_grid_limits;
typedef struct pw_grid_band_desc {
    double from_Hz, to_Hz, amplitude;
} pw_grid_band_desc;
extern const pw_kind pw_grid_limits_kind, pw_grid_band_kind; /* "grid_limits", "grid_band" */
/* A row of the table grid-limits. */
pw_status pw_grid_limits_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error);

enum { PW_GRID_FINDINGS = 12, PW_GRID_BANDS = PW_GRID_FINDINGS - 3 };
typedef struct pw_grid_finding {
    char name[48];   /* "ramp up", "0.1 to 20 Hz" */
    double value, limit; /* shares of the connection; limit NaN: none, the value is told all the same */
    double watts;    /* value in W, or W/s */
    double at;       /* time in s of a ramp, frequency in Hz of the strongest line of a band; NaN */
    bool broken;
} pw_grid_finding;
typedef struct pw_grid_report {
    double connection_W;
    pw_grid_finding findings[PW_GRID_FINDINGS];
    size_t count, broken;
} pw_grid_report;
/* A signal that is too short for a ramp or a band that is limited is an error. Messages say grid_limits.FIELD. */
pw_status pw_grid_check(const pw_signal *signal, const pw_grid_limits *limits, pw_grid_report *report, pw_error *error);

#endif
