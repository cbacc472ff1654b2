/* Reads one CSV file into a table: header "name [unit]", one row per thing, every cell kept as text and, where it is a
 * number, in SI units. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "models/catalogue/catalogue_internal.h"
#include "sim/csv.h"
#include "sim/text.h"

enum { LARGEST_FILE = 64 << 20, LARGEST_COLUMNS = 1024 }; /* all of it stays in memory */

static pw_status no_memory(const char *file, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, file, 0, NULL, "no memory left while reading the catalogue");
}

/* "memory [GB]" -> "memory", GB. */
static pw_status split_header(pw_catalogue *catalogue, const char *file, const char *header, table_column *column,
                              pw_error *error) {
    char *name = pw_arena_text(catalogue->arena, header);
    if (!name) return no_memory(file, error);
    column->name = name;
    column->unit = "";
    column->known = NULL;
    char *open = strchr(name, '[');
    size_t length = strlen(name);
    if (!open) return PW_OK;
    if (open == name || name[length - 1] != ']')
        return pw_fail(error, PW_BAD_INPUT, file, 1, "write it as: name [unit]", "column '%s' is malformed", header);
    name[length - 1] = '\0';
    column->unit = open + 1;
    while (open > name && (open[-1] == ' ' || open[-1] == '[')) open--;
    *open = '\0';
    column->known = catalogue_find_unit(column->unit);
    if (!column->known) return catalogue_bad_unit(file, column->name, column->unit, error);
    return PW_OK;
}

static pw_status read_cell(const pw_csv *csv, pw_table *table, size_t column, const char **cell, double *number,
                           pw_error *error) {
    const char *text = pw_csv_text(csv, (int)column), *end = text;
    *number = NAN;
    *cell = "";
    if (!*text) return PW_OK;
    *cell = pw_arena_text(table->catalogue->arena, text);
    if (!*cell) return no_memory(table->file, error);
    const table_column *info = &table->column[column];
    double value = 0;
    bool is_number = pw_text_number(text, &end, &value) && !*end;
    if (info->known && !is_number)
        return pw_csv_fail(csv, (int)column, "leave the cell empty when the value is unknown", error,
                           "'%s' is not a number", text);
    if (is_number) *number = info->known ? value * info->known->factor / info->known->divisor : value;
    if (isinf(*number)) return pw_csv_fail(csv, (int)column, NULL, error, "'%s' is too large", text);
    return PW_OK;
}

static pw_status read_rows(pw_csv *csv, pw_table *table, pw_error *error) {
    const pw_allocator *allocator = table->catalogue->allocator;
    for (bool row = true;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        size_t needed = (table->rows + 1) * table->columns;
        if (pw_grow(allocator, (void **)&table->cells, &table->cells_capacity, needed, sizeof *table->cells) ||
            pw_grow(allocator, (void **)&table->numbers, &table->numbers_capacity, needed, sizeof *table->numbers) ||
            pw_grow(allocator, (void **)&table->lines, &table->lines_capacity, table->rows + 1, sizeof *table->lines))
            return no_memory(table->file, error);
        size_t base = table->rows * table->columns;
        for (size_t column = 0; column < table->columns; column++)
            PW_TRY(read_cell(csv, table, column, &table->cells[base + column], &table->numbers[base + column], error));
        if (!*table->cells[base]) return pw_csv_fail(csv, 0, NULL, error, "the row has no name");
        table->lines[table->rows++] = pw_csv_line(csv);
    }
}

typedef struct named_row {
    const char *name;
    int line;
} named_row;

static int compare_names(const void *a, const void *b) {
    const named_row *left = a, *right = b;
    int order = strcasecmp(left->name, right->name);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

/* Names are unique where the first column is called "name"; other tables may be keyed by several columns. */
static pw_status check_names(const pw_table *table, pw_error *error) {
    if (strcmp(table->column[0].name, "name") || table->rows < 2) return PW_OK;
    const pw_allocator *allocator = table->catalogue->allocator;
    named_row *rows = pw_alloc(allocator, table->rows * sizeof *rows);
    if (!rows) return no_memory(table->file, error);
    for (size_t row = 0; row < table->rows; row++)
        rows[row] = (named_row){table->cells[row * table->columns], table->lines[row]};
    qsort(rows, table->rows, sizeof *rows, compare_names);
    pw_status status = PW_OK;
    for (size_t row = 1; row < table->rows && status == PW_OK; row++)
        if (!strcasecmp(rows[row].name, rows[row - 1].name))
            status = pw_fail(error, PW_BAD_INPUT, table->file, rows[row].line, "case does not tell names apart",
                             "'%s' is already in line %d", rows[row].name, rows[row - 1].line);
    pw_free(allocator, rows, table->rows * sizeof *rows);
    return status;
}

/* The reader of files compares whole headers; here "memory [GB]" and "Memory [GiB]" are one name. */
static pw_status check_columns(const pw_table *table, pw_error *error) {
    for (size_t column = 0; column < table->columns; column++) {
        const char *name = table->column[column].name;
        if (!*name) return pw_fail(error, PW_BAD_INPUT, table->file, 1, NULL, "column %zu has no name", column + 1);
        if (pw_table_find_column(table, name) != (int)column)
            return pw_fail(error, PW_BAD_INPUT, table->file, 1, "neither unit nor case tells names apart",
                           "column '%s' appears twice", name);
    }
    return PW_OK;
}

static pw_status read_open(pw_csv *csv, pw_table *table, pw_error *error) {
    pw_catalogue *catalogue = (pw_catalogue *)table->catalogue;
    table->columns = (size_t)pw_csv_columns(csv);
    table->column = pw_arena_alloc(catalogue->arena, table->columns * sizeof *table->column);
    if (!table->column) return no_memory(table->file, error);
    for (size_t column = 0; column < table->columns; column++)
        PW_TRY(split_header(catalogue, table->file, pw_csv_column_name(csv, (int)column), &table->column[column], error));
    PW_TRY(check_columns(table, error));
    PW_TRY(read_rows(csv, table, error));
    return check_names(table, error);
}

pw_status catalogue_read_table(pw_catalogue *catalogue, const char *path, const char *kind, pw_table *table,
                               pw_error *error) {
    *table = (pw_table){.catalogue = catalogue, .text = ""};
    table->kind = pw_arena_text(catalogue->arena, kind);
    table->file = pw_arena_text(catalogue->arena, path);
    if (!table->kind || !table->file) return no_memory(path, error);
    struct stat status_of_file;
    if (stat(path, &status_of_file) == 0 && !S_ISREG(status_of_file.st_mode)) /* a pipe would wait for ever */
        return pw_fail(error, PW_BAD_INPUT, path, 0, "move it out of the data folder", "this is not a regular file");
    static const pw_csv_limits limits = {.file_bytes = LARGEST_FILE, .columns = LARGEST_COLUMNS};
    pw_csv *csv = NULL;
    PW_TRY(pw_csv_open(path, &limits, catalogue->allocator, &csv, error));
    pw_status status = read_open(csv, table, error);
    pw_csv_close(csv);
    return status;
}

void catalogue_free_table(pw_table *table) {
    const pw_allocator *allocator = table->catalogue->allocator;
    pw_free(allocator, table->cells, table->cells_capacity * sizeof *table->cells);
    pw_free(allocator, table->numbers, table->numbers_capacity * sizeof *table->numbers);
    pw_free(allocator, table->lines, table->lines_capacity * sizeof *table->lines);
}

const char *pw_table_kind(const pw_table *table) { return table->kind; }
const char *pw_table_text(const pw_table *table) { return table->text; }
const char *pw_table_file(const pw_table *table) { return table->file; }
size_t pw_table_rows(const pw_table *table) { return table->rows; }
size_t pw_table_columns(const pw_table *table) { return table->columns; }

const char *pw_table_column_name(const pw_table *table, size_t column) {
    return column < table->columns ? table->column[column].name : "";
}
const char *pw_table_column_unit(const pw_table *table, size_t column) {
    return column < table->columns ? table->column[column].unit : "";
}

int pw_table_find_column(const pw_table *table, const char *name) {
    for (size_t column = 0; name && column < table->columns; column++)
        if (!strcasecmp(table->column[column].name, name)) return (int)column;
    return -1;
}

static int find_exact(const pw_table *table, const char *name) {
    for (size_t row = 0; row < table->rows; row++)
        if (!strcasecmp(table->cells[row * table->columns], name)) return (int)row;
    return -1;
}

int pw_table_find_row(const pw_table *table, const char *name) {
    if (!name) return -1;
    int row = find_exact(table, name);
    if (row >= 0) return row;
    const char *target = catalogue_alias_target(table->catalogue, name);
    return target == name ? -1 : find_exact(table, target);
}

const char *pw_table_text_at(const pw_table *table, size_t row, size_t column) {
    if (row >= table->rows || column >= table->columns) return "";
    return table->cells[row * table->columns + column];
}

double pw_table_number_at(const pw_table *table, size_t row, size_t column) {
    if (row >= table->rows || column >= table->columns) return NAN;
    return table->numbers[row * table->columns + column];
}

const char *pw_table_text_of(const pw_table *table, size_t row, const char *column) {
    int found = pw_table_find_column(table, column);
    return found < 0 ? "" : pw_table_text_at(table, row, (size_t)found);
}

double pw_table_number_of(const pw_table *table, size_t row, const char *column) {
    int found = pw_table_find_column(table, column);
    return found < 0 ? NAN : pw_table_number_at(table, row, (size_t)found);
}

pw_status pw_table_amount_of(const pw_table *table, size_t row, const char *column, double *value, pw_error *error) {
    *value = pw_table_number_of(table, row, column);
    if (*value >= 0 && isfinite(*value)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "give a number of at least 0",
                   "%s: column '%s' is missing or out of range", pw_table_text_at(table, row, 0), column);
}

const char *pw_table_names(const pw_table *table, const char *head, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", head);
    for (size_t row = 0; row < pw_table_rows(table) && used < size; row++)
        used += (size_t)snprintf(text + used, size - used, " %s", pw_table_text_at(table, row, 0));
    return text;
}

int pw_table_line(const pw_table *table, size_t row) { return row < table->rows ? table->lines[row] : 0; }
