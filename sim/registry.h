/* Interface 5 of 5: the field registry. One table per kind of description says everything about its fields.
 *
 * A description is a plain struct that a user fills (a cluster, a model, a training job). Its pw_kind lists the fields:
 * name, type, unit, range, default, text and where the value lives in the struct. The Lua API, command-line overrides
 * (--set path=value), errors with the nearest field name, --help, the generated API pages and the editor stubs all read
 * these tables; a field exists exactly when it is listed here.
 *
 * Every value in a struct is in SI base units (bytes, seconds, bytes/s, hertz, watt, ...). Lua multiplies by units;
 * text on the command line carries a unit suffix ("400 Gbps").
 */
#ifndef PW_SIM_REGISTRY_H
#define PW_SIM_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"

typedef enum pw_field_type {
    PW_FIELD_NUMBER,  /* double */
    PW_FIELD_INTEGER, /* int64_t */
    PW_FIELD_BOOL,    /* bool */
    PW_FIELD_TEXT,    /* const char * in the arena of the description */
    PW_FIELD_CHOICE,  /* int: index into choices */
    PW_FIELD_RECORD,  /* an embedded struct of kind `record` */
    PW_FIELD_POINTER  /* pointer to a struct of kind `record`, NULL when not given */
} pw_field_type;

/* Dimension of a number or integer. A dimensioned field refuses a bare number. */
typedef enum pw_unit {
    PW_UNIT_NONE,
    PW_UNIT_BYTES,           /* B, kB, MB, GB, TB, KiB, MiB, GiB, TiB */
    PW_UNIT_BYTES_PER_SECOND,/* Bps ... TBps, and bits: Gbps, Tbps */
    PW_UNIT_SECONDS,         /* s, ms, us, ns, ps, min, hour, day */
    PW_UNIT_HERTZ,           /* Hz, MHz, GHz */
    PW_UNIT_FLOPS,           /* flop/s: GFLOPs, TFLOPs, PFLOPs */
    PW_UNIT_WATTS,           /* W, kW, MW */
    PW_UNIT_CELSIUS,         /* degC */
    PW_UNIT_COUNT
} pw_unit;

/* One spelling of a unit: value in SI = written number x factor. Tables end with a NULL name. */
typedef struct pw_unit_name {
    const char *name;
    pw_unit unit;
    double factor;
    const char *text; /* "10^9 bytes" */
} pw_unit_name;
const pw_unit_name *pw_unit_names(void);
const char *pw_unit_text(pw_unit unit);    /* "bytes/s"; "" for PW_UNIT_NONE */
const char *pw_unit_example(pw_unit unit); /* what to write instead of a bare number: "400 * u.Gbps" */
/* Formats an SI value with a readable prefix, e.g. "450 GB/s", "12.3 ms", "80 GB". Returns text. */
const char *pw_unit_format(double value, pw_unit unit, char *text, size_t size);
/* Reads "400 Gbps", "450 GB/s", "8": *has_unit is false for a bare number, *value is SI. An unknown unit is an error that
 * names the nearest one of the wanted dimension. */
pw_status pw_unit_parse(const char *text, pw_unit wanted, double *value, bool *has_unit, pw_unit *unit, pw_error *error);

typedef struct pw_kind pw_kind;

typedef struct pw_field {
    const char *name;            /* field's name in Lua; NULL ends the table */
    pw_field_type type;
    pw_unit unit;
    size_t offset;               /* offsetof in the description struct */
    double minimum, maximum;     /* inclusive range of numbers and integers, SI; both 0: no limits */
    const char *preset;          /* default as text in the syntax of --set ("8", "400 Gbps", "zero1"); NULL: required;
                                    "" : optional without default (number NaN, integer 0, text NULL, pointer NULL) */
    const char *const *choices;  /* PW_FIELD_CHOICE: NULL-terminated names, in the order of the C enum */
    const pw_kind *record;       /* PW_FIELD_RECORD, PW_FIELD_POINTER */
    const char *text;            /* one sentence for documentation and help */
} pw_field;

struct pw_kind {
    const char *name;   /* "train": also the constructor's name in Lua */
    const char *text;   /* one sentence */
    size_t size;        /* sizeof the struct */
    const pw_field *fields;
    /* Checks what no single field can (NULL: nothing to check). place is "file:line" for messages. */
    pw_status (*check)(const void *description, const char *file, int line, pw_error *error);
};

/* Sets every field to its default (required ones to NaN / INT64_MIN / NULL / -1, so that a forgotten one shows). */
pw_status pw_description_defaults(const pw_kind *kind, void *description, pw_arena *arena, pw_error *error);
/* Finds a field; NULL when there is none. */
const pw_field *pw_kind_field(const pw_kind *kind, const char *name);
/* Name of the nearest field by edit distance, or NULL when nothing is near. */
const char *pw_kind_nearest(const pw_kind *kind, const char *name);
/* Nearest string of a NULL-terminated list, or NULL. */
const char *pw_nearest(const char *const *names, const char *name);

/* "between 1 and 4096", "at least 1 B", "" when there are no limits. Returns text. */
const char *pw_field_range_text(const pw_field *field, char *text, size_t size);

/* Setters check type, unit and range and name the field, its range and a hint in the error. file/line: where the user
 * wrote it. has_unit: the value carried a unit of dimension `unit`. */
pw_status pw_field_set_number(const pw_kind *kind, const pw_field *field, void *description, double value,
                              bool has_unit, pw_unit unit, const char *file, int line, pw_error *error);
pw_status pw_field_set_text(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                            pw_arena *arena, const char *file, int line, pw_error *error);
pw_status pw_field_set_bool(const pw_kind *kind, const pw_field *field, void *description, bool value,
                            const char *file, int line, pw_error *error);
/* Parses text in the syntax of the command line ("8", "400 Gbps", "true", "zero1") into any scalar field. */
pw_status pw_field_parse(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                         pw_arena *arena, const char *file, int line, pw_error *error);
/* Sets "a.b.c" below description by pw_field_parse; names the nearest field when a part is unknown. Pointer records
 * that are shared are copied into the arena first, so that an override never changes a shared preset. */
pw_status pw_description_set_path(const pw_kind *kind, void *description, const char *path, const char *text,
                                  pw_arena *arena, pw_error *error);
/* Required fields are present and every check passes, depth first. */
pw_status pw_description_check(const pw_kind *kind, const void *description, const char *file, int line,
                               pw_error *error);

#endif
