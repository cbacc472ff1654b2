/* Step functions of time: a utilization, a price, a grid factor. A value holds from its time to the next; the last holds for ever. */
#ifndef PW_MODELS_FACILITY_STEPS_H
#define PW_MODELS_FACILITY_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"
#include "sim/time.h"

/* Times rise strictly from 0, and neighbours differ. Ticks of 1 ns. Memory is the arena's. */
typedef struct facility_steps {
    pw_time *at;
    double *value;
    uint32_t count, capacity;
} facility_steps;

#define FACILITY_HOUR ((pw_time)3600 * 1000000000)
#define FACILITY_DAY (24 * FACILITY_HOUR)

/* Appends; `at` no earlier than the last. At the same time the value is replaced, an equal value adds nothing. */
pw_status facility_steps_add(facility_steps *steps, pw_arena *arena, pw_time at, double value, pw_error *error);

/* What a column of numbers may hold. */
typedef struct facility_column {
    const char *name;
    double least, most;
} facility_column;
/* Reads a CSV with one of `columns` (ends with a NULL name; *found: which) over [0, end): with a column hour (from 0, rising) each row
 * holds until the next and the last to the end, else a row is an hour and the file repeats. path: of facility_path. */
pw_status facility_read_steps(const char *path, const facility_column *columns, int *found, pw_time end, const pw_allocator *allocator,
                              pw_arena *arena, facility_steps *steps, pw_error *error);

enum { FACILITY_PATH = 4096 };
/* folder of `file` + name; a name must not lead out of that folder. what: the field, for messages. */
pw_status facility_path(const char *file, int line, const char *what, const char *name, char path[FACILITY_PATH], pw_error *error);

/* ---- Calendar: years of 365 days from 00:00 on 1 January. ---- */

int facility_month(pw_time at);                 /* 1 to 12 */
pw_time facility_next_month(pw_time at);        /* the first beginning of a month after `at` */
int facility_weekday(pw_time at, int new_year); /* 0 Monday ... 6 Sunday; new_year: that of 1 January of the first year */

#endif
