/* Step functions, their files, and the calendar. */
#include "models/facility/steps.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/csv.h"

_Static_assert(FACILITY_PATH >= PATH_MAX, "a path fits");

pw_status facility_steps_add(facility_steps *steps, pw_arena *arena, pw_time at, double value, pw_error *error) {
    if (steps->count && steps->value[steps->count - 1] == value) return PW_OK;
    if (steps->count && steps->at[steps->count - 1] == at) { /* replaced; then it may equal the one before */
        steps->count--;
        return facility_steps_add(steps, arena, at, value, error);
    }
    if (steps->count == steps->capacity) { /* the old arrays stay in the arena */
        uint32_t grown = steps->capacity ? 2 * steps->capacity : 16;
        pw_time *times = pw_arena_alloc(arena, grown * sizeof *times);
        double *values = pw_arena_alloc(arena, grown * sizeof *values);
        if (!times || !values) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a series over time");
        if (steps->count) {
            memcpy(times, steps->at, steps->count * sizeof *times);
            memcpy(values, steps->value, steps->count * sizeof *values);
        }
        steps->at = times;
        steps->value = values;
        steps->capacity = grown;
    }
    steps->at[steps->count] = at;
    steps->value[steps->count++] = value;
    return PW_OK;
}

/* ---- Files ---- */

pw_status facility_path(const char *file, int line, const char *what, const char *name, char path[FACILITY_PATH], pw_error *error) {
    const char *slash = file ? strrchr(file, '/') : NULL;
    char folder[PATH_MAX], real_path[PATH_MAX], real_folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) + 1 : 0, slash ? file : "");
    int length = snprintf(path, FACILITY_PATH, "%s%s", *name == '/' ? "" : folder, name);
    if (length >= FACILITY_PATH) return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s is too long", what);
    if (!realpath(path, real_path)) return PW_OK; /* there is none: reading it says so */
    size_t inside = realpath(*folder ? folder : ".", real_folder) ? strlen(real_folder) : 0;
    if (inside && (inside == 1 || (strncmp(real_path, real_folder, inside) == 0 && real_path[inside] == '/'))) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "copy it beside the scenario or below", "%s: '%.300s' lies outside the folder of the scenario",
                   what, name);
}

static pw_status find_column(pw_csv *csv, const facility_column *columns, int *found, int *column, pw_error *error) {
    for (*found = 0; columns[*found].name; (*found)++) {
        *column = pw_csv_find(csv, columns[*found].name);
        if (*column >= 0) return PW_OK;
    }
    return pw_csv_column(csv, columns[0].name, column, error);
}

static pw_status read_rows(pw_csv *csv, const facility_column *columns, int *found, pw_time end, pw_arena *arena, facility_steps *steps,
                           pw_error *error) {
    int column, hour = pw_csv_find(csv, "hour");
    PW_TRY(find_column(csv, columns, found, &column, error));
    const facility_column *wanted = &columns[*found];
    facility_steps file = {0};
    pw_time at = 0, last = -1;
    for (bool row = true;; at += FACILITY_HOUR) {
        double value, from = 0;
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) break;
        PW_TRY(pw_csv_number(csv, column, &value, error));
        if (!(value >= wanted->least && value <= wanted->most))
            return pw_csv_fail(csv, column, NULL, error, "%g is not between %g and %g", value, wanted->least, wanted->most);
        if (hour >= 0) {
            PW_TRY(pw_csv_number(csv, hour, &from, error));
            if (!(from >= 0 && from <= 1e6)) return pw_csv_fail(csv, hour, NULL, error, "%g is not between 0 and 1e6", from);
            at = pw_time_from_seconds(from * 3600, PW_TICKS_PER_SECOND_OPERATIONS);
            if (last < 0 && at != 0) return pw_csv_fail(csv, hour, NULL, error, "the first hour is %g, not 0", from);
            if (at <= last) return pw_csv_fail(csv, hour, NULL, error, "hours do not rise");
        }
        last = at;
        PW_TRY(facility_steps_add(&file, arena, at, value, error));
    }
    if (last < 0) return pw_fail(error, PW_BAD_INPUT, pw_csv_file(csv), 0, NULL, "the file has no rows");
    for (pw_time start = 0; start < end; start += at) { /* without hours: as often as it takes */
        for (uint32_t i = 0; i < file.count && start + file.at[i] < end; i++)
            PW_TRY(facility_steps_add(steps, arena, start + file.at[i], file.value[i], error));
        if (hour >= 0) break;
    }
    return PW_OK;
}

pw_status facility_read_steps(const char *path, const facility_column *columns, int *found, pw_time end, const pw_allocator *allocator,
                              pw_arena *arena, facility_steps *steps, pw_error *error) {
    pw_csv *csv;
    PW_TRY(pw_csv_open(path, NULL, allocator, &csv, error));
    pw_status status = read_rows(csv, columns, found, end, arena, steps, error);
    pw_csv_close(csv);
    return status;
}

/* ---- Calendar ---- */

static const int first_days[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

int facility_month(pw_time at) {
    int day = (int)(at / FACILITY_DAY % 365), month = 1;
    while (first_days[month] <= day) month++;
    return month;
}

pw_time facility_next_month(pw_time at) {
    pw_time year = at / (365 * FACILITY_DAY) * (365 * FACILITY_DAY);
    return year + first_days[facility_month(at)] * FACILITY_DAY;
}

int facility_weekday(pw_time at, int new_year) { return (int)((at / FACILITY_DAY + new_year) % 7); }
