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
    PW_FIELD_POINTER, /* pointer to a struct of kind `record`, NULL when not given */
    PW_FIELD_ONE_OF, /* pw_one_of: a record of one of `kinds` */
    PW_FIELD_LIST,    /* pw_list: values of the type `item` */
    PW_FIELD_HOOKS    /* pw_hooks: functions of the script, by the names in `choices` */
} pw_field_type;

typedef struct pw_kind pw_kind;

/* A record that carries its kind; record NULL: not given. */
typedef struct pw_one_of {
    const pw_kind *kind;
    const void *record;
} pw_one_of;

/* Several values of one type: int64_t, double, bool, int (choice), const char * or pw_one_of. items NULL: not given; an
 * empty list that was given has items. Items are counted from 1 in Lua, in paths and in messages. */
typedef struct pw_list {
    const void *items;
    uint32_t count;
} pw_list;
enum { PW_LIST_MOST = 1000000 }; /* items of any list */

/* Functions of the script that are called while a job runs. What a number means knows who filled it; 0: not given. In the order of the
 * field's choices. A command line cannot set them. */
enum { PW_HOOKS_MOST = 4 };
typedef struct pw_hooks {
    int64_t function[PW_HOOKS_MOST];
} pw_hooks;

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
    PW_UNIT_JOULES,          /* J, kJ, MJ, Wh, kWh, MWh */
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

/* A list is declared by a field of its own for the item, with offset 0 and no default; what it says of type, unit, range and
 * kinds holds for each item:
 *
 *   static const pw_field layers_of_a_stage = {"layers of a stage", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 1, 1e4, .text = "..."};
 *   {"stage_layers", PW_FIELD_LIST, PW_UNIT_NONE, AT(stage_layers), 1, 512, "", .item = &layers_of_a_stage, .text = "..."},
 *
 *   static const pw_kind *const layer_kinds[] = {&pw_conv_kind, &pw_pool_kind, NULL};
 *   static const pw_field layer = {"layer", PW_FIELD_ONE_OF, .kinds = layer_kinds, .text = "..."};
 *   {"layers", PW_FIELD_LIST, PW_UNIT_NONE, AT(layers), 1, 10000, .item = &layer, .text = "..."},
 *
 * Lua writes { 12, 14, 14, 12 } and { o.conv { ... }, o.pool { ... } }; --set job.stage_layers=12,14,14,12 replaces the list,
 * --set job.stage_layers[2]=13 and --set job.model.layers[3].channels=64 one item or a field of it. A message that is about
 * an item says kind.field[index] or kind.field[index].field, and then the line of that item is found. */
typedef struct pw_field {
    const char *name;            /* field's name in Lua; NULL ends the table */
    pw_field_type type;
    pw_unit unit;
    size_t offset;               /* offsetof in the description struct */
    double minimum, maximum;     /* inclusive range of numbers and integers, SI; of a list, of its count; both 0: no limits */
    const char *preset;          /* default as text in the syntax of --set ("8", "400 Gbps", "zero1", "1,2"); NULL: required;
                                    "" : optional without default (number NaN, integer 0, others NULL) */
    const char *const *choices;  /* PW_FIELD_CHOICE, PW_FIELD_HOOKS: NULL-terminated names, in the order of the C enum */
    const pw_kind *record;       /* PW_FIELD_RECORD, PW_FIELD_POINTER */
    const char *text;            /* one sentence for documentation and help */
    const pw_kind *const *kinds; /* PW_FIELD_ONE_OF: the permitted kinds, NULL-terminated */
    const struct pw_field *item; /* PW_FIELD_LIST */
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

/* "between 1 and 4096", "at least 1 B", "" when there are no limits; of a list "1 to 512 items, each between 1 and 9".
 * Returns text. */
const char *pw_field_range_text(const pw_field *field, char *text, size_t size);

/* "a whole number", "a conv or a pool", "a list of whole numbers": what a field takes, for messages. Returns text. */
const char *pw_field_wanted_text(const pw_field *field, char *text, size_t size);
/* What a nested field holds: the record of a RECORD, POINTER or ONE_OF and its kind, or NULL (also for other types). */
const void *pw_field_record(const pw_field *field, const void *description, const pw_kind **kind);
/* The kinds a field may hold: index 0, 1, ... of a RECORD, POINTER, ONE_OF or of the items of a LIST; NULL beyond. */
const pw_kind *pw_field_kind(const pw_field *field, size_t index);
/* The list in a field; empty for other types. */
pw_list pw_field_list(const pw_field *field, const void *description);
/* Item `index` (from 0) of a list as a field of its own, so that what reads and sets fields works on items too: its
 * description is the returned address. It is called "stage_layers[2]" in messages; name holds that text as long as the field
 * is used (PW_ITEM_NAME bytes). */
enum { PW_ITEM_NAME = 96 };
pw_field pw_field_item(const pw_field *field, uint32_t index, char name[PW_ITEM_NAME]);
const void *pw_list_at(const pw_field *field, pw_list list, uint32_t index);

/* Setters check type, unit and range and name the field, its range and a hint in the error. file/line: where the user
 * wrote it. has_unit: the value carried a unit of dimension `unit`. */
pw_status pw_field_set_number(const pw_kind *kind, const pw_field *field, void *description, double value,
                              bool has_unit, pw_unit unit, const char *file, int line, pw_error *error);
pw_status pw_field_set_text(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                            pw_arena *arena, const char *file, int line, pw_error *error);
pw_status pw_field_set_bool(const pw_kind *kind, const pw_field *field, void *description, bool value,
                            const char *file, int line, pw_error *error);
/* Puts a record of a permitted kind into a POINTER or ONE_OF. */
pw_status pw_field_set_record(const pw_kind *kind, const pw_field *field, void *description, pw_one_of value,
                              const char *file, int line, pw_error *error);
/* Replaces a list by `count` items, none of them given yet; *items is their memory in the arena, to be filled through
 * pw_field_item. */
pw_status pw_field_set_list(const pw_kind *kind, const pw_field *field, void *description, uint64_t count,
                            pw_arena *arena, const char *file, int line, void **items, pw_error *error);
/* Parses text in the syntax of the command line ("8", "400 Gbps", "true", "zero1", "12,14,14,12") into a scalar field or a list
 * of scalars. An empty text is an empty list, or none where the field is optional. */
pw_status pw_field_parse(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                         pw_arena *arena, const char *file, int line, pw_error *error);
/* Goes down "a.b[3].c" below description; names the nearest field when a part is unknown. A record on the way that was left out is
 * made with its defaults, unless it could be of several kinds. Records and lists on the way are copied into the arena, so that an override never changes a shared preset. What was reached is set through its kind,
 * field and description; of an item the field is called "b[3]". */
typedef struct pw_reached {
    const pw_kind *kind;
    pw_field field;
    void *description;
    void *made; size_t made_bytes; /* the reference to the first record that the path made, NULL: none; zero it to undo that */
    char name[PW_ITEM_NAME]; /* of the field, when it is an item: do not copy a pw_reached */
} pw_reached;
pw_status pw_description_reach(const pw_kind *kind, void *description, const char *path, pw_arena *arena,
                               pw_reached *reached, pw_error *error);
/* Sets what lies at a path by pw_field_parse. */
pw_status pw_description_set_path(const pw_kind *kind, void *description, const char *path, const char *text,
                                  pw_arena *arena, pw_error *error);
/* Required fields are present and every check passes, depth first. */
pw_status pw_description_check(const pw_kind *kind, const void *description, const char *file, int line,
                               pw_error *error);

#endif
