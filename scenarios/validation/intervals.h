/* Intervals of step times, from what fit rows leave unexplained. */
#ifndef PW_SCENARIOS_VALIDATION_INTERVALS_H
#define PW_SCENARIOS_VALIDATION_INTERVALS_H

#include "models/catalogue/catalogue.h"
#include "sim/file.h"

/* Replays the fit rows that ship and writes step-intervals.csv: for each class of steps (models/workload/interval.h) the
 * quantiles of measured over predicted time, whole families weighing the same. Classes with fewer than PW_INTERVALS_LEAST
 * families are left out: nothing could be said about the next one. */
#define PW_INTERVALS_LEAST 2
pw_status pw_intervals_write(const pw_catalogue *catalogue, const volatile int *interrupt, pw_file *file, pw_arena *arena,
                             pw_error *error);

#endif
