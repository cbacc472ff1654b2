/* Measured files: the whole CSV in memory, cells by column name. */
#include "scenarios/validation/validation.h"

#include <math.h>
#include <string.h>

#include "sim/csv.h"
#include "sim/text.h"

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

pw_status pw_measured_read(const char *path, pw_arena *arena, pw_measured *measured, pw_error *error) {
    pw_csv *csv = NULL;
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    *measured = (pw_measured){.file = pw_arena_text(arena, path), .columns = (uint32_t)pw_csv_columns(csv)};
    size_t cell_capacity = 0, line_capacity = 0;
    const pw_allocator *allocator = pw_allocator_default();
    void *cells = NULL, *lines = NULL;
    pw_status status = PW_OK;
    measured->names = pw_arena_alloc(arena, (measured->columns + 1) * sizeof *measured->names);
    if (!measured->file || !measured->names) status = no_memory(error);
    for (uint32_t c = 0; status == PW_OK && c < measured->columns; c++)
        if (!(measured->names[c] = pw_arena_text(arena, pw_csv_column_name(csv, (int)c)))) status = no_memory(error);
    for (bool row = true; status == PW_OK;) {
        status = pw_csv_next(csv, &row, error);
        if (status != PW_OK || !row) break;
        size_t first = (size_t)measured->rows * measured->columns;
        if (pw_grow(allocator, &cells, &cell_capacity, first + measured->columns, sizeof(char *)) != 0 ||
            pw_grow(allocator, &lines, &line_capacity, measured->rows + 1u, sizeof(int)) != 0) {
            status = no_memory(error);
            break;
        }
        for (uint32_t c = 0; c < measured->columns; c++) {
            const char *text = pw_csv_text(csv, (int)c);
            ((const char **)cells)[first + c] = *text ? pw_arena_text(arena, text) : "";
            if (!((const char **)cells)[first + c]) status = no_memory(error);
        }
        ((int *)lines)[measured->rows++] = pw_csv_line(csv);
    }
    if (status == PW_OK) {
        size_t count = (size_t)measured->rows * measured->columns;
        measured->cells = pw_arena_alloc(arena, (count + 1) * sizeof *measured->cells);
        measured->lines = pw_arena_alloc(arena, (measured->rows + 1u) * sizeof *measured->lines);
        if (!measured->cells || !measured->lines) {
            status = no_memory(error);
        } else if (measured->rows) {
            memcpy(measured->cells, cells, count * sizeof *measured->cells);
            memcpy(measured->lines, lines, measured->rows * sizeof *measured->lines);
        }
    }
    pw_free(allocator, cells, cell_capacity * sizeof(char *));
    pw_free(allocator, lines, line_capacity * sizeof(int));
    pw_csv_close(csv);
    return status;
}

int pw_measured_find(const pw_measured *measured, const char *column) {
    for (uint32_t c = 0; c < measured->columns; c++)
        if (strcmp(measured->names[c], column) == 0) return (int)c;
    return -1;
}

const char *pw_measured_text(const pw_measured *measured, uint32_t row, const char *column) {
    int c = pw_measured_find(measured, column);
    return c < 0 ? "" : measured->cells[(size_t)row * measured->columns + (uint32_t)c];
}

pw_status pw_measured_number(const pw_measured *measured, uint32_t row, const char *column, double *value,
                             pw_error *error) {
    const char *text = pw_measured_text(measured, row, column);
    *value = NAN;
    if (!*text) return PW_OK;
    const char *end;
    double number;
    if (!pw_text_number(text, &end, &number) || *end || !isfinite(number))
        return pw_fail(error, PW_BAD_INPUT, measured->file, measured->lines[row], "write a decimal number or leave it empty",
                       "column '%s': '%s' is no number", column, text);
    *value = number;
    return PW_OK;
}

pw_status pw_measured_integer(const pw_measured *measured, uint32_t row, const char *column, int64_t fallback,
                              int64_t *value, pw_error *error) {
    double number;
    PW_TRY(pw_measured_number(measured, row, column, &number, error));
    *value = fallback;
    if (isnan(number)) return PW_OK;
    if (number != floor(number) || fabs(number) > 1e15)
        return pw_fail(error, PW_BAD_INPUT, measured->file, measured->lines[row], NULL, "column '%s': %g is no whole number",
                       column, number);
    *value = (int64_t)number;
    return PW_OK;
}

const char *pw_validation_side(const pw_measured *split, const pw_measured *measured, uint32_t row) {
    int side = pw_measured_find(split, "side");
    if (side < 0) return "";
    for (uint32_t r = 0; r < split->rows; r++) {
        bool same = true;
        for (int c = 0; same && c < side; c++)
            same = strcmp(split->cells[(size_t)r * split->columns + (uint32_t)c],
                          pw_measured_text(measured, row, split->names[c])) == 0;
        if (same) return split->cells[(size_t)r * split->columns + (uint32_t)side];
    }
    return "";
}
