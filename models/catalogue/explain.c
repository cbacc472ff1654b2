/* Says where a value comes from: `NAME` shows every known cell of the rows with that name, `NAME.FIELD` one cell with its
 * unit, SI value, provenance, source and place. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "models/catalogue/catalogue_internal.h"
#include "sim/registry.h"
#include "sim/text.h"

/* Every table but the list of tables, and aliases only stand for others. */
static bool is_explained(const pw_table *table) {
    return strcmp(table->kind, "aliases") && strcmp(table->kind, "tables");
}

const char *catalogue_nearest(const pw_catalogue *catalogue, const pw_table *only, const char *name) {
    size_t most = catalogue->alias_count + 1, count = 0;
    for (size_t i = 0; i < catalogue->table_count; i++) most += catalogue->tables[i].rows;
    const char **names = pw_alloc(catalogue->allocator, most * sizeof *names);
    if (!names) return NULL;
    for (size_t i = 0; i < catalogue->table_count; i++) {
        const pw_table *table = &catalogue->tables[i];
        if (only ? table != only : !is_explained(table)) continue;
        for (size_t row = 0; row < table->rows; row++) names[count++] = table->cells[row * table->columns];
    }
    for (size_t i = 0; i < catalogue->alias_count; i++)
        if (!only || pw_table_find_row(only, catalogue->aliases[i].target) >= 0)
            names[count++] = catalogue->aliases[i].name;
    names[count] = NULL;
    const char *near = pw_nearest(names, name);
    pw_free(catalogue->allocator, names, most * sizeof *names);
    return near;
}

const char *pw_table_nearest(const pw_table *table, const char *name) {
    return name && *name ? catalogue_nearest(table->catalogue, table, name) : NULL;
}

/* Text that grows in the catalogue's allocator; the result is copied to the caller's arena. */
typedef struct writer {
    const pw_allocator *allocator;
    char *text;
    size_t used, capacity;
    bool failed;
} writer;

static void put(writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0 || out->failed ||
        pw_grow(out->allocator, (void **)&out->text, &out->capacity, out->used + (size_t)length + 1, 1))
        out->failed = true;
    else {
        vsnprintf(out->text + out->used, (size_t)length + 1, format, again);
        out->used += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

/* A field may have a source or provenance of its own ("memory_reported_source"); otherwise the row's holds. */
static const char *own_or_row(const pw_table *table, size_t row, const char *field, const char *what) {
    char own[128];
    snprintf(own, sizeof own, "%s_%s", field, what);
    const char *text = pw_table_text_of(table, row, own);
    return *text ? text : pw_table_text_of(table, row, what);
}

/* "3352 GB/s" */
static void put_value(writer *out, const pw_table *table, size_t row, size_t column) {
    const char *unit = table->column[column].unit;
    bool bare = !*unit || !strcmp(unit, "count") || !strcmp(unit, "ratio") || !strcmp(unit, "year");
    put(out, "%s%s%s", pw_table_text_at(table, row, column), bare ? "" : " ", bare ? "" : unit);
}

static void put_field(writer *out, const pw_table *table, size_t row, size_t column) {
    const table_column *info = &table->column[column];
    put(out, "%s.%s = ", table->cells[row * table->columns], info->name);
    if (!*pw_table_text_at(table, row, column)) put(out, "unknown");
    else put_value(out, table, row, column);
    put(out, "\n");
    double value = pw_table_number_at(table, row, column);
    char number[PW_NUMBER_TEXT];
    if (info->known && !isnan(value) && *info->known->si && strcmp(info->known->si, info->unit))
        put(out, "  in SI units  %s %s\n", pw_number_text(value, number, sizeof number), info->known->si);
    const char *provenance = own_or_row(table, row, info->name, "provenance");
    const char *source = own_or_row(table, row, info->name, "source");
    if (*provenance) put(out, "  provenance   %s\n", provenance);
    if (*source) put(out, "  source       %s\n", source);
    put(out, "  written in   %s:%d\n", table->file, table->lines[row]);
}

static void put_row(writer *out, const pw_table *table, size_t row) {
    size_t width = 0;
    for (size_t column = 1; column < table->columns; column++) {
        size_t length = strlen(table->column[column].name);
        if (*pw_table_text_at(table, row, column) && length > width) width = length;
    }
    put(out, "%s (%s)\n", table->cells[row * table->columns], *table->text ? table->text : table->kind);
    for (size_t column = 1; column < table->columns; column++) {
        if (!*pw_table_text_at(table, row, column)) continue;
        put(out, "  %-*s  ", (int)width, table->column[column].name);
        put_value(out, table, row, column);
        put(out, "\n");
    }
    put(out, "  %-*s  %s:%d\n", (int)width, "written in", table->file, table->lines[row]);
}

/* The rows with that name, those of the widest table first: what a thing is comes before what is added to it. */
static bool put_rows(writer *out, const pw_catalogue *catalogue, const char *name) {
    const char *target = catalogue_alias_target(catalogue, name);
    bool any = false;
    size_t width = 0;
    for (size_t i = 0; i < catalogue->table_count; i++)
        if (catalogue->tables[i].columns > width) width = catalogue->tables[i].columns;
    for (; width > 0; width--) {
        for (size_t i = 0; i < catalogue->table_count; i++) {
            const pw_table *table = &catalogue->tables[i];
            if (table->columns != width || !is_explained(table)) continue;
            for (size_t row = 0; row < table->rows; row++) {
                if (strcasecmp(table->cells[row * table->columns], target)) continue;
                if (any) put(out, "\n");
                put_row(out, table, row);
                any = true;
            }
        }
    }
    return any;
}

/* What is left after a name was found but the field was not. */
static pw_status no_field(const pw_catalogue *catalogue, const char *name, const char *field, pw_error *error) {
    const char *columns[256];
    size_t count = 0;
    for (size_t i = 0; i < catalogue->table_count; i++) {
        const pw_table *table = &catalogue->tables[i];
        if (!is_explained(table) || pw_table_find_row(table, name) < 0) continue;
        for (size_t column = 1; column < table->columns && count < 255; column++)
            columns[count++] = table->column[column].name;
    }
    columns[count] = NULL;
    char hint[512];
    const char *near = pw_nearest(columns, field);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s.%s'?", name, near);
    else snprintf(hint, sizeof hint, "`podwright explain '%s'` shows its fields", name);
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "'%s' has no field '%s'", name, field);
}

static pw_status explain(const pw_catalogue *catalogue, const char *what, writer *out, pw_error *error) {
    if (put_rows(out, catalogue, what)) return PW_OK;
    char name[256];
    const char *dot = strrchr(what, '.');
    snprintf(name, sizeof name, "%.*s", dot ? (int)(dot - what) : 0, what);
    bool is_known = false, any = false;
    for (size_t i = 0; *name && i < catalogue->table_count; i++) {
        const pw_table *table = &catalogue->tables[i];
        const char *target = catalogue_alias_target(catalogue, name);
        int column = pw_table_find_column(table, dot + 1);
        for (size_t row = 0; is_explained(table) && row < table->rows; row++) {
            if (strcasecmp(table->cells[row * table->columns], target)) continue;
            is_known = true;
            if (column < 0) continue;
            if (any) put(out, "\n");
            put_field(out, table, row, (size_t)column);
            any = true;
        }
    }
    if (any) return PW_OK;
    if (is_known) return no_field(catalogue, name, dot + 1, error);
    const char *near = catalogue_nearest(catalogue, NULL, what);
    bool with_field = !near && *name;
    if (with_field) near = catalogue_nearest(catalogue, NULL, name);
    char hint[512] = "`podwright catalogue` lists what there is";
    if (near) snprintf(hint, sizeof hint, "did you mean '%s%s'?", near, with_field ? dot : "");
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "the catalogue holds nothing called '%s'", what);
}

pw_status pw_catalogue_explain(const pw_catalogue *catalogue, const char *what, pw_arena *arena, const char **text,
                               pw_error *error) {
    *text = NULL;
    writer out = {.allocator = catalogue->allocator};
    pw_status status = explain(catalogue, what, &out, error);
    if (status == PW_OK) {
        *text = out.failed || !out.text ? NULL : pw_arena_text(arena, out.text);
        if (!*text) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    }
    pw_free(catalogue->allocator, out.text, out.capacity);
    return status;
}
