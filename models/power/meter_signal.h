/* A power signal: watts that change in steps, known exactly, and what meters make of it.
 *
 * A signal holds the watts from each change to the next. Energies, means over windows and ramps are exact: the energy up to a time is
 * piecewise linear, so nothing is sampled. An instrument reads the mean of the last `window_s` every `every_s`: a window as long as the
 * interval tumbles, a longer one slides, a shorter one looks part of the time only, as the sensors of some GPUs do.
 *
 *   pw_signal signal; pw_signal_init(&signal, NULL);
 *   PW_TRY(pw_signal_put(&signal, 0, 2100, error)); PW_TRY(pw_signal_put(&signal, 3, 7000, error));
 *   PW_TRY(pw_signal_end(&signal, 10, error));
 *   double energy_J = pw_signal_energy_J(&signal, 0, 10);
 *
 * Times are seconds from the beginning of the signal, watts are at least 0.
 */
#ifndef PW_MODELS_POWER_METER_SIGNAL_H
#define PW_MODELS_POWER_METER_SIGNAL_H

#include "models/catalogue/catalogue.h"
#include "sim/memory.h"
#include "sim/status.h"

typedef struct pw_signal {
    const pw_allocator *allocator;
    double *from_s, *watts; /* step i lasts from from_s[i] to from_s[i + 1], the last one to end_s; neighbours differ */
    double *joules;         /* energy before from_s[i] */
    size_t count;
    double end_s;           /* 0 until pw_signal_end */
    size_t room[3];         /* of the three arrays */
} pw_signal;

void pw_signal_init(pw_signal *signal, const pw_allocator *allocator);
void pw_signal_free(pw_signal *signal);

/* The signal has `watts` from time_s on. The first time is 0 and times do not fall; the last of equal times counts. */
pw_status pw_signal_put(pw_signal *signal, double time_s, double watts, pw_error *error);
/* Ends the signal at a time at or after the last change and above 0. */
pw_status pw_signal_end(pw_signal *signal, double end_s, pw_error *error);

/* Of an ended signal. 0 <= from_s <= to_s <= end_s. */
double pw_signal_energy_J(const pw_signal *signal, double from_s, double to_s);
double pw_signal_mean_W(const pw_signal *signal);
void pw_signal_range_W(const pw_signal *signal, double *least_W, double *most_W);
/* The part of a signal between two times, as a signal of its own that begins at 0. *part is initialised here. */
pw_status pw_signal_cut(const pw_signal *signal, double from_s, double to_s, pw_signal *part, pw_error *error);

typedef struct pw_instrument {
    const char *name;
    double window_s, every_s; /* above 0 */
} pw_instrument;
/* A row of the table power-meters. */
pw_status pw_instrument_of(const pw_catalogue *catalogue, const char *name, pw_instrument *instrument, pw_error *error);

typedef struct pw_readings {
    double *watts; /* reading k is taken at (k + 1) x every_s; a window that begins before 0 is cut there */
    size_t count;
} pw_readings;
/* How many readings the signal gives. */
size_t pw_signal_readings(const pw_signal *signal, const pw_instrument *instrument);
/* Fills watts[0 .. pw_signal_readings - 1]. */
void pw_signal_read(const pw_signal *signal, const pw_instrument *instrument, double *watts);

typedef struct pw_reading_summary {
    size_t count;
    double mean_W, least_W, most_W, p95_W;
    double rise_W, fall_W;   /* largest change from one reading to the next; >= 0 */
    double bias;             /* mean over the true mean of the time that was read, minus 1 */
} pw_reading_summary;
/* No memory or no reading: an error. */
pw_status pw_signal_summarise(const pw_signal *signal, const pw_instrument *instrument, pw_reading_summary *summary, pw_error *error);

typedef struct pw_ramp {
    double up_Wps, down_Wps; /* >= 0 */
    double up_at_s, down_at_s; /* between the two windows */
} pw_ramp;
/* Largest difference between the means of two neighbouring windows, per second, wherever the windows may lie. It is piecewise linear
 * in their place, so the extremes lie where a window's edge meets a change: found exactly. A signal shorter than two windows is an error. */
pw_status pw_signal_ramp(const pw_signal *signal, double window_s, pw_ramp *ramp, pw_error *error);

#endif
