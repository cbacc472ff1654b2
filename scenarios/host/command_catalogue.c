#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/report/layout.h"
#include "sim/json.h"

enum { WIDTH = 120, WIDEST_CELL = 36, TEXT = 64 };

static const pw_option options[] = {{0, "csv", NULL, false, "as CSV: the table as it is on file"},
                                    {0, "json", NULL, false, "as JSON, schema podwright.catalogue/1"},
                                    {'o', "output", "FILE", false, "write to FILE"},
                                    PW_HELP_OPTION,
                                    {0}};

static void put_list(pw_file *file, const pw_catalogue *catalogue, bool as_json, bool as_csv) {
    pw_json json;
    if (as_json) {
        pw_json_begin(&json, file);
        pw_json_object(&json, NULL);
        pw_json_text(&json, "schema", "podwright.catalogue/1");
        pw_json_text(&json, "folder", pw_catalogue_folder(catalogue));
        pw_json_array(&json, "kinds");
    } else if (as_csv) pw_file_text(file, "kind,rows,text\n");
    for (size_t i = 0; i < pw_catalogue_table_count(catalogue); i++) {
        const pw_table *table = pw_catalogue_table_at(catalogue, i);
        if (as_json) {
            pw_json_object(&json, NULL);
            pw_json_text(&json, "kind", pw_table_kind(table));
            pw_json_integer(&json, "rows", (int64_t)pw_table_rows(table));
            pw_json_text(&json, "text", pw_table_text(table));
            pw_json_end(&json);
        } else if (as_csv) {
            pw_file_csv_text(file, pw_table_kind(table));
            pw_file_csv_integer(file, (int64_t)pw_table_rows(table));
            pw_file_csv_text(file, pw_table_text(table));
            pw_file_csv_end(file);
        } else {
            pw_file_print(file, "%-30s %5zu  ", pw_table_kind(table), pw_table_rows(table));
            pw_layout_wrap(file, 38, WIDTH, pw_table_text(table));
        }
    }
    if (as_json) {
        pw_json_end(&json);
        pw_json_end(&json);
    } else if (!as_csv) {
        pw_file_text(file, "\n`podwright catalogue KIND` shows one of them, `podwright explain NAME` one row.\n");
    }
}

/* Prints at most WIDEST_CELL characters, whole ones, and pads. */
static void put_cell(pw_file *file, const char *text, int width) {
    int shown = 0;
    const char *end = text;
    while (*end && shown < width) {
        end++;
        while (((unsigned char)*end & 0xC0) == 0x80) end++;
        shown++;
    }
    pw_file_write(file, text, (size_t)(end - text));
    pw_layout_repeat(file, ' ', width - shown);
}

static void heading(const pw_table *table, size_t column, char *text, size_t size) {
    const char *unit = pw_table_column_unit(table, column);
    bool is_bare = !*unit || !strcmp(unit, "count") || !strcmp(unit, "ratio") || !strcmp(unit, pw_table_column_name(table, column));
    snprintf(text, size, "%s%s%s", pw_table_column_name(table, column), is_bare ? "" : " ", is_bare ? "" : unit);
}

/* The width of a column, at most WIDEST_CELL. */
static int width_of(const pw_table *table, size_t column) {
    char text[160];
    heading(table, column, text, sizeof text);
    int width = pw_layout_width(text);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        int wide = pw_layout_width(pw_table_text_at(table, row, column));
        if (wide > width) width = wide;
    }
    return width > WIDEST_CELL ? WIDEST_CELL : width;
}

/* A cell, padded unless it ends the line. */
static void put_padded(pw_file *file, const char *text, int width, bool is_last) {
    int wide = pw_layout_width(text);
    put_cell(file, text, is_last && wide < width ? wide : width);
    pw_file_text(file, is_last ? "\n" : "  ");
}

/* The columns that fit, and what a row is in words where the table says it. */
static void put_text(pw_file *file, const pw_table *table) {
    int widths[512], used = 0, words = pw_table_find_column(table, "text");
    size_t columns = pw_table_columns(table), shown = 0;
    char text[160];
    for (; shown < columns && shown < 512; shown++) {
        int width = width_of(table, shown);
        if ((int)shown == words) words = -1; /* among the others */
        if (shown > 0 && used + width + 2 > WIDTH - (words > 0 ? TEXT : 0)) break;
        widths[shown] = width;
        used += width + 2;
    }
    for (size_t column = 0; column < shown; column++) {
        heading(table, column, text, sizeof text);
        put_padded(file, text, widths[column], words <= 0 && column + 1 == shown);
    }
    if (words > 0) pw_file_text(file, "text\n");
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        for (size_t column = 0; column < shown; column++)
            put_padded(file, pw_table_text_at(table, row, column), widths[column], words <= 0 && column + 1 == shown);
        if (words > 0) put_padded(file, pw_table_text_at(table, row, (size_t)words), WIDTH - used, true);
    }
    if (words > 0) shown++;
    if (shown < columns)
        pw_file_print(file, "\n%zu more column%s: --csv shows all of them, `podwright explain NAME` those of one row.\n",
                      columns - shown, columns - shown == 1 ? "" : "s");
}

static void put_csv(pw_file *file, const pw_table *table) {
    char text[160];
    for (size_t column = 0; column < pw_table_columns(table); column++) {
        const char *unit = pw_table_column_unit(table, column);
        snprintf(text, sizeof text, *unit ? "%s [%s]" : "%s", pw_table_column_name(table, column), unit);
        pw_file_csv_text(file, text);
    }
    pw_file_csv_end(file);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        for (size_t column = 0; column < pw_table_columns(table); column++)
            pw_file_csv_text(file, pw_table_text_at(table, row, column));
        pw_file_csv_end(file);
    }
}

static void put_json(pw_file *file, const pw_table *table) {
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.catalogue/1");
    pw_json_text(&json, "kind", pw_table_kind(table));
    pw_json_text(&json, "text", pw_table_text(table));
    pw_json_array(&json, "columns");
    for (size_t column = 0; column < pw_table_columns(table); column++) {
        pw_json_object(&json, NULL);
        pw_json_text(&json, "name", pw_table_column_name(table, column));
        pw_json_text(&json, "unit", pw_table_column_unit(table, column));
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_array(&json, "rows");
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        pw_json_object(&json, NULL);
        for (size_t column = 0; column < pw_table_columns(table); column++) {
            const char *cell = pw_table_text_at(table, row, column);
            if (*cell) pw_json_text(&json, pw_table_column_name(table, column), cell);
        }
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_end(&json);
}

static pw_status find_table(const pw_catalogue *catalogue, const char *kind, const pw_table **table, pw_error *error) {
    *table = pw_catalogue_table(catalogue, kind);
    if (*table) return PW_OK;
    const char *names[256];
    size_t count = 0;
    for (; count < pw_catalogue_table_count(catalogue) && count < 255; count++)
        names[count] = pw_table_kind(pw_catalogue_table_at(catalogue, count));
    names[count] = NULL;
    char hint[160] = "`podwright catalogue` lists them";
    const char *near = pw_nearest(names, kind);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "the catalogue has no kind '%.200s'", kind);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    pw_error error = {0};
    pw_catalogue *catalogue;
    if (pw_catalogue_load(host->allocator, NULL, &catalogue, &error) != PW_OK) return pw_host_fail(host, &error);
    const pw_table *table = NULL;
    pw_file *file;
    pw_status status = PW_OK;
    if (arguments->operand_count) status = find_table(catalogue, arguments->operands[0], &table, &error);
    if (status == PW_OK) status = pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, &error);
    if (status == PW_OK) {
        bool as_json = pw_arguments_has(arguments, "json"), as_csv = pw_arguments_has(arguments, "csv");
        if (!table) put_list(file, catalogue, as_json, as_csv);
        else if (as_json) put_json(file, table);
        else if (as_csv) put_csv(file, table);
        else put_text(file, table);
        status = pw_host_close(file, PW_OK, &error);
    }
    pw_catalogue_destroy(catalogue);
    return status == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
}

const pw_command pw_command_catalogue = {"catalogue", "[KIND]", "lists the hardware, models and parameters on file",
                                         NULL, options, 0, 1, run};
