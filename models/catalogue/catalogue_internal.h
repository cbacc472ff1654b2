/* What the files of this folder share. */
#ifndef PW_MODELS_CATALOGUE_INTERNAL_H
#define PW_MODELS_CATALOGUE_INTERNAL_H

#include "models/catalogue/catalogue.h"

/* A unit as written in a column's header: SI value = number x factor / divisor, in unit si. */
typedef struct catalogue_unit {
    const char *name, *si;
    double factor, divisor;
} catalogue_unit;
const catalogue_unit *catalogue_find_unit(const char *name); /* NULL: unknown */
pw_status catalogue_bad_unit(const char *file, const char *column, const char *unit, pw_error *error);

typedef struct table_column {
    const char *name, *unit;
    const catalogue_unit *known; /* NULL: no unit */
} table_column;

struct pw_table {
    const pw_catalogue *catalogue;
    const char *kind, *text, *file;
    size_t rows, columns;
    table_column *column;
    const char **cells; /* rows x columns, in the catalogue's arena */
    double *numbers;    /* the same, SI; NaN where there is none */
    int *lines;
    size_t cells_capacity, numbers_capacity, lines_capacity;
};

typedef struct catalogue_alias {
    const char *name, *target;
} catalogue_alias;

struct pw_catalogue {
    const pw_allocator *allocator;
    pw_arena *arena;
    const char *folder;
    pw_table *tables;
    size_t table_count, table_capacity;
    catalogue_alias *aliases; /* in the arena */
    size_t alias_count;
    pw_device *devices; /* in the arena; one per row of accelerators */
    size_t device_count;
};

/* table.c: reads one file. The table's arrays belong to it even after a failure. */
pw_status catalogue_read_table(pw_catalogue *catalogue, const char *path, const char *kind, pw_table *table,
                               pw_error *error);
void catalogue_free_table(pw_table *table);
const char *catalogue_alias_target(const pw_catalogue *catalogue, const char *name); /* name itself when none */

/* device.c: fills catalogue->devices from the table accelerators. */
pw_status catalogue_read_devices(pw_catalogue *catalogue, pw_error *error);

/* Nearest known name among rows of one table (NULL: of all) and their aliases; NULL when none is near. */
const char *catalogue_nearest(const pw_catalogue *catalogue, const pw_table *only, const char *name);

#endif
