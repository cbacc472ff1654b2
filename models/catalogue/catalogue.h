/* The catalogue: hardware figures as data with provenance.
 *
 * One CSV file per kind (accelerators, links, servers, stacks, fitted parameters, ...) below a data folder; a row is a named
 * thing, a cell is a value with the unit of its column, and every row says where it comes from. Nothing in the code
 * holds a hardware figure. Names are matched without regard to case; aliases.csv gives short names
 * ("h100" -> "H100-SXM5-80GB").
 */
#ifndef PW_MODELS_CATALOGUE_H
#define PW_MODELS_CATALOGUE_H

#include "sim/registry.h"
#include "sim/status.h"

/* Number formats of arithmetic, in the order of falling width. */
typedef enum pw_precision {
    PW_PRECISION_FP32,
    PW_PRECISION_TF32,
    PW_PRECISION_FP16,
    PW_PRECISION_BF16,
    PW_PRECISION_FP8,
    PW_PRECISION_FP4,
    PW_PRECISION_COUNT
} pw_precision;
extern const char *const pw_precision_names[]; /* "fp32", ..., NULL */
double pw_precision_bytes(pw_precision precision); /* of one stored element: 4, 4, 2, 2, 1, 0.5 */

/* An accelerator. Rates in SI; NaN: unknown. Peaks are dense. Texts live as long as the catalogue. */
typedef struct pw_device {
    const char *name, *vendor, *arch, *form_factor, *memory_type, *provenance, *source;
    double peak_flops[PW_PRECISION_COUNT]; /* flop/s with the tensor units where there are any */
    double vector_flops;                   /* fp32 without tensor units */
    double sm_count;                       /* SMs or compute units */
    double memory_bytes;                   /* as the device reports it where known, else the data sheet's GB x 10^9 */
    double memory_Bps, l2_bytes;
    double scaleup_Bps;                    /* per direction, all links of one GPU */
    double scaleup_links;
    double pcie_Bps;                       /* per direction */
    double tdp_W, idle_W, base_Hz, boost_Hz, tensor_peak_Hz;
    int line; /* in accelerators' file, for messages */
} pw_device;

typedef struct pw_catalogue pw_catalogue;

/* Where the data lie: $PODWRIGHT_DATA, else share/podwright/data (installed) or models/catalogue/data (source tree) in a
 * folder above the program's. Writes into path. */
pw_status pw_catalogue_find(char *path, size_t size, pw_error *error);

/* Loads every table below folder (NULL: pw_catalogue_find). The caller destroys it. Immutable after loading; may be
 * shared between threads. */
pw_status pw_catalogue_load(const pw_allocator *allocator, const char *folder, pw_catalogue **catalogue, pw_error *error);
void pw_catalogue_destroy(pw_catalogue *catalogue);
const char *pw_catalogue_folder(const pw_catalogue *catalogue);

/* Finds an accelerator by name or alias; an unknown name gives PW_NOT_FOUND and names the nearest. */
pw_status pw_catalogue_device(const pw_catalogue *catalogue, const char *name, const pw_device **device, pw_error *error);

/* Generic view, for `podwright catalogue` and `podwright explain`, and for other tables (links, servers, stacks...). */
typedef struct pw_table pw_table;
size_t pw_catalogue_table_count(const pw_catalogue *catalogue);
const pw_table *pw_catalogue_table_at(const pw_catalogue *catalogue, size_t index);
const pw_table *pw_catalogue_table(const pw_catalogue *catalogue, const char *kind); /* NULL when there is none */
/* The same for a table that podwright cannot do without: PW_NOT_FOUND names it. */
pw_status pw_catalogue_need(const pw_catalogue *catalogue, const char *kind, const pw_table **table, pw_error *error);
const char *pw_table_kind(const pw_table *table);  /* "accelerators", "links", "servers", ... */
const char *pw_table_text(const pw_table *table);  /* what one row is */
const char *pw_table_file(const pw_table *table);
size_t pw_table_rows(const pw_table *table);
size_t pw_table_columns(const pw_table *table);
const char *pw_table_column_name(const pw_table *table, size_t column); /* without the unit */
const char *pw_table_column_unit(const pw_table *table, size_t column); /* "GB/s"; "" when none */
int pw_table_find_column(const pw_table *table, const char *name);      /* -1: none */
int pw_table_find_row(const pw_table *table, const char *name);         /* by first column or alias; -1: none */
const char *pw_table_nearest(const pw_table *table, const char *name);  /* row or alias for a typing error; NULL: none */
const char *pw_table_text_at(const pw_table *table, size_t row, size_t column); /* "" for an empty cell */
/* Number in SI units (the column's unit applied); NaN for an empty cell. A cell that is no number is an error at load
 * for columns with a unit. */
double pw_table_number_at(const pw_table *table, size_t row, size_t column);
/* The same by the column's name; without such a column as for an empty cell. */
const char *pw_table_text_of(const pw_table *table, size_t row, const char *column);
double pw_table_number_of(const pw_table *table, size_t row, const char *column);
/* The same for a number that must be there, finite and at least 0: else PW_BAD_INPUT with the row's file:line. */
pw_status pw_table_amount_of(const pw_table *table, size_t row, const char *column, double *value, pw_error *error);
/* "HEAD a b c": the names of all rows behind `head`, as far as they fit into text[size]; for hints. Returns text. */
const char *pw_table_names(const pw_table *table, const char *head, char *text, size_t size);
int pw_table_line(const pw_table *table, size_t row);

/* Finds NAME or NAME.FIELD in any table; prints value, unit, provenance, source, file:line into a text buffer owned by
 * the arena. Unknown names and fields give PW_NOT_FOUND with the nearest. */
pw_status pw_catalogue_explain(const pw_catalogue *catalogue, const char *what, pw_arena *arena, const char **text,
                               pw_error *error);

#endif
