/* CSV with a header row, read row by row: the form of every data file.
 *
 *   # comment lines may come before the header
 *   name,memory_bytes,clock_Hz
 *   h100-sxm,80e9,1.98e9
 *
 * Fields may be quoted ("a, b", "say ""x""") and may then hold line breaks. Spaces around unquoted fields are dropped.
 * A byte order mark and CRLF line ends are fine; blank lines are skipped. Files whose name or content is gzip are
 * unpacked on the way. Every row has as many fields as the header, or it is an error. Errors say
 * `file:line: column 'x': what`, where line is the line on which the row begins.
 *
 *   pw_csv *csv;
 *   PW_TRY(pw_csv_open("devices.csv", NULL, NULL, &csv, error));
 *   int memory;
 *   status = pw_csv_column(csv, "memory_bytes", &memory, error);
 *   for (bool row = true; status == PW_OK;) {
 *       status = pw_csv_next(csv, &row, error);
 *       if (status != PW_OK || !row) break;
 *       status = pw_csv_number(csv, memory, &device.memory_bytes, error);
 *   }
 *   pw_csv_close(csv);
 *
 * Cost: about 180 MB/s with three numbers in four columns; memory is one row.
 */
#ifndef PW_SIM_CSV_H
#define PW_SIM_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"

typedef struct pw_csv pw_csv;

typedef struct pw_csv_limits { /* 0: the default */
    uint64_t file_bytes;       /* unpacked; 4 GiB */
    uint32_t row_bytes;        /* 16 MiB */
    uint32_t columns;          /* 4096 */
} pw_csv_limits;

/* Opens path and reads the header. A header with an empty or repeated name is an error. limits, allocator may be NULL. */
pw_status pw_csv_open(const char *path, const pw_csv_limits *limits, const pw_allocator *allocator, pw_csv **csv,
                      pw_error *error);
/* The same from memory that stays valid until close (not unpacked); name stands for the file in errors. */
pw_status pw_csv_open_text(const void *text, size_t size, const char *name, const pw_csv_limits *limits,
                           const pw_allocator *allocator, pw_csv **csv, pw_error *error);
void pw_csv_close(pw_csv *csv); /* NULL is fine */

int pw_csv_columns(const pw_csv *csv);
const char *pw_csv_column_name(const pw_csv *csv, int column);
/* Number of the column with that name, or -1. */
int pw_csv_find(const pw_csv *csv, const char *name);
/* The same; a missing column is an error (PW_BAD_INPUT) with the nearest name as hint. */
pw_status pw_csv_column(const pw_csv *csv, const char *name, int *column, pw_error *error);

/* Reads the next row; *row is false after the last. */
pw_status pw_csv_next(pw_csv *csv, bool *row, pw_error *error);
const char *pw_csv_file(const pw_csv *csv);
int pw_csv_line(const pw_csv *csv); /* where the row begins */

/* Fields of the row, by column number. Texts are valid until the next row. Numbers are decimal ("4.5e11"). */
const char *pw_csv_text(const pw_csv *csv, int column);
bool pw_csv_is_empty(const pw_csv *csv, int column);
pw_status pw_csv_number(const pw_csv *csv, int column, double *value, pw_error *error);
pw_status pw_csv_integer(const pw_csv *csv, int column, int64_t *value, pw_error *error);
/* The same, but an empty field gives the fallback. */
pw_status pw_csv_number_or(const pw_csv *csv, int column, double fallback, double *value, pw_error *error);
pw_status pw_csv_integer_or(const pw_csv *csv, int column, int64_t fallback, int64_t *value, pw_error *error);

/* Fails with the place of a field of this row: "column 'x': ...". column -1: the whole row. */
pw_status pw_csv_fail(const pw_csv *csv, int column, const char *hint, pw_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
