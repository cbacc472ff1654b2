#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/report/layout.h"

static const pw_option options[] = {PW_HELP_OPTION, {0}};

enum { WIDTH = 100 };

static void put_field(pw_file *file, const pw_kind *kind, const pw_field *field) {
    char type[600], preset[160], range[200];
    pw_file_print(file, "%s.%s\n  ", kind->name, field->name);
    pw_layout_wrap(file, 2, WIDTH, field->text);
    pw_file_text(file, "  takes    ");
    pw_layout_wrap(file, 11, WIDTH, pw_api_type_text(field, type, sizeof type));
    pw_field_range_text(field, range, sizeof range);
    if (*range) pw_file_print(file, "  range    %s\n", range);
    pw_file_print(file, "  default  %s\n", pw_api_preset_text(field, preset, sizeof preset));
    const pw_kind *kind_of_item = field->item ? pw_field_kind(field, 0) : NULL;
    if (kind_of_item) pw_file_print(file, "  example  %s = { o.%s { ... } }\n", field->name, kind_of_item->name);
    else if (field->item && (field->item->type == PW_FIELD_NUMBER || field->item->type == PW_FIELD_INTEGER))
        pw_file_print(file, "  example  %s = { %s }\n", field->name, pw_unit_example(field->item->unit));
    else if (field->unit != PW_UNIT_NONE) pw_file_print(file, "  example  %s = %s\n", field->name, pw_unit_example(field->unit));
    else if (field->type == PW_FIELD_CHOICE) pw_file_print(file, "  example  %s = \"%s\"\n", field->name, field->choices[0]);
}

static void put_kind(pw_file *file, const pw_kind *kind) {
    pw_file_print(file, "o.%s\n  ", kind->name);
    pw_layout_wrap(file, 2, WIDTH, kind->text);
    pw_file_text(file, "\n");
    for (const pw_field *field = kind->fields; field->name; field++) {
        char preset[160], text[800];
        snprintf(text, sizeof text, "%s (%s)", field->text, pw_api_preset_text(field, preset, sizeof preset));
        pw_file_print(file, "  %-20s ", field->name);
        pw_layout_wrap(file, 23, WIDTH, text);
    }
}

static void put_units(pw_file *file) {
    for (const pw_unit_name *unit = pw_unit_names(); unit->name; unit++)
        pw_file_print(file, "u.%-8s %-10s %s\n", unit->name, pw_unit_text(unit->unit), unit->text);
}

/* Puts what a path such as --set takes leads to: job.micro_batch, cluster.network.port_rate, job.model.layers[3].channels.
 * Where several kinds are possible, the field of each that has it. Returns how many were put. */
static int put_path(pw_file *file, const pw_kind *kind, const char *path, int put) {
    char part[64];
    size_t length = strcspn(path, ".[");
    snprintf(part, sizeof part, "%.*s", (int)length, path);
    const pw_field *field = pw_kind_field(kind, part);
    if (!field) return put;
    path += length;
    if (*path == '[') path += strcspn(path, ".");
    if (*path == '.') {
        const pw_kind *inner;
        for (size_t i = 0; (inner = pw_field_kind(field, i)); i++) put = put_path(file, inner, path + 1, put);
        return put;
    }
    if (put) pw_file_text(file, "\n");
    put_field(file, kind, field);
    return put + 1;
}

/* Where a path that leads nowhere ends, for the hint: what `rest` says is no field of kind. */
typedef struct dead_end {
    const pw_kind *kind;
    const char *rest, *near;
    int depth;
} dead_end;

/* Of several kinds the one in which the path gets furthest, then the first with a field of a similar name. */
static void follow(const pw_kind *kind, const char *path, int depth, dead_end *best) {
    char part[64];
    const char *dot = strchr(path, '.');
    snprintf(part, sizeof part, "%.*s", (int)strcspn(path, ".["), path);
    const pw_field *field = dot ? pw_kind_field(kind, part) : NULL;
    if (field && pw_field_kind(field, 0)) {
        const pw_kind *inner;
        for (size_t i = 0; (inner = pw_field_kind(field, i)); i++) follow(inner, dot + 1, depth + 1, best);
        return;
    }
    dead_end end = {kind, path, pw_kind_nearest(kind, path), depth};
    if (!best->kind || depth > best->depth || (depth == best->depth && end.near && !best->near)) *best = end;
}

/* True when the API answers. *status is not PW_OK when the kind is known but the field is not. */
static bool explain_api(pw_file *file, const char *what, pw_status *status, pw_error *error) {
    char name[128];
    const char *dot = strchr(what, '.');
    *status = PW_OK;
    if (strcmp(what, "units") == 0) {
        put_units(file);
        return true;
    }
    if (strncmp(what, "u.", 2) == 0) {
        for (const pw_unit_name *unit = pw_unit_names(); unit->name; unit++) {
            if (strcmp(unit->name, what + 2) != 0) continue;
            pw_file_print(file, "u.%s\n  unit of  %s\n  is       %s\n", unit->name, pw_unit_text(unit->unit), unit->text);
            return true;
        }
    }
    if (strncmp(what, "o.", 2) == 0) what += 2, dot = strchr(what, '.');
    snprintf(name, sizeof name, "%.*s", (int)(dot ? (size_t)(dot - what) : strlen(what)), what);
    const char *rest = dot ? dot + 1 : NULL;
    const pw_kind *kind = pw_api_kind(name);
    if (!kind && pw_kind_field(&pw_scenario_kind, name)) { /* a path as in --set */
        rest = what;
        kind = &pw_scenario_kind;
        const pw_field *field = pw_kind_field(kind, name);
        if (!dot && pw_field_kind(field, 0) && !pw_field_kind(field, 1)) kind = pw_field_kind(field, 0), rest = NULL;
    }
    if (!kind) return false;
    if (!rest) {
        put_kind(file, kind);
        return true;
    }
    if (put_path(file, kind, rest, 0) > 0) return true;
    dead_end end = {0};
    follow(kind, rest, 0, &end);
    char hint[400];
    if (end.near) snprintf(hint, sizeof hint, "did you mean '%s.%s'?", end.kind->name, end.near);
    else snprintf(hint, sizeof hint, "`podwright explain %s` lists its fields", end.kind->name);
    *status = pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "%s has no field '%.200s'", end.kind->name, end.rest);
    return true;
}

static pw_status explain_catalogue(const pw_host *host, pw_file *file, const char *what, pw_error *error) {
    pw_catalogue *catalogue;
    PW_TRY(pw_catalogue_load(host->allocator, NULL, &catalogue, error));
    pw_arena *arena = pw_arena_create(host->allocator);
    const char *text = NULL;
    pw_status status = arena ? pw_catalogue_explain(catalogue, what, arena, &text, error)
                             : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    if (status == PW_OK) pw_file_text(file, text);
    pw_arena_destroy(arena);
    pw_catalogue_destroy(catalogue);
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    pw_error error = {0};
    pw_file *file;
    pw_status status = pw_host_open(host, NULL, &file, &error);
    if (status != PW_OK) return pw_host_fail(host, &error);
    const char *what = arguments->operands[0];
    if (!explain_api(file, what, &status, &error)) status = explain_catalogue(host, file, what, &error);
    status = pw_host_close(file, status, &error);
    return status == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
}

const pw_command pw_command_explain = {
    "explain", "NAME[.FIELD]", "says what a part, a figure or a field is, and where its value comes from",
    "  podwright explain h100                      one row of the catalogue\n"
    "  podwright explain h100.memory_bandwidth     one figure, with unit, provenance and source\n"
    "  podwright explain train                     the fields of o.train\n"
    "  podwright explain train.tensor_parallel     one field; job.tensor_parallel does too\n"
    "  podwright explain units                     the units\n",
    options, 1, 1, run};
