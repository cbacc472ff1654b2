/* The tables that the fits write: a parameter table (one row a device and precision) and a covariance table.
 *
 * Values are written in the shortest form that reads back as the same bits, so that a second run with the same data
 * gives the same bytes.
 */
#ifndef PW_CALIBRATE_FIT_TABLES_H
#define PW_CALIBRATE_FIT_TABLES_H

#include <stdio.h>

#include "calibrate/fit/measurements.h"
#include "calibrate/fit/robust.h"
#include "sim/stats.h"

/* One parameter of a kernel's equation. */
typedef struct pw_fit_parameter {
    const char *name, *text;
    const char *unit; /* of the column: "us" for times, "" for the rest */
    double scale;     /* column = value x scale */
    double low, high, guess;
} pw_fit_parameter;

/* A fitted row, ready to write. */
typedef struct pw_fit_row {
    const pw_fit_group *group;
    pw_fit_result result;
    bool absent[PW_FIT_MAX_PARAMETERS]; /* written as an empty cell */
    pw_error_summary fit;
    char notes[400];
} pw_fit_row;

/* Writes <folder>/<kind>-parameters.csv and <folder>/<kind>-covariance.csv. */
pw_status pw_fit_write_tables(const char *folder, const char *kind, const pw_fit_parameter *parameters, size_t count,
                              const pw_fit_row *rows, size_t row_count, const char *source, pw_error *error);

/* A cell of a table of the catalogue, by row name and column name; text before value. */
typedef struct pw_fit_cell {
    const char *row, *column;
    double value; /* as the column counts; written with four figures */
    const char *text;
} pw_fit_cell;
/* Writes <folder>/<kind>.csv: the catalogue's table with new cells. */
pw_status pw_fit_rewrite(const pw_catalogue *catalogue, const char *kind, const char *folder, const pw_fit_cell *cells, size_t count,
                         pw_error *error);

/* The error report: a header, then a line per group and side. */
void pw_fit_report_header(FILE *report);
void pw_fit_report_line(FILE *report, const char *kernel, const pw_fit_group *group, const char *side,
                        const pw_error_summary *summary);

#endif
