/* The builders of a result. */
#include "scenarios/report/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 1200 };

static const char *keep(pw_run_result *result, const char *text) {
    const char *copy = text && !result->is_out_of_memory ? pw_arena_text(result->arena, text) : NULL;
    if (text && !copy) result->is_out_of_memory = true;
    return copy;
}

static const char *keep_v(pw_run_result *result, const char *format, va_list arguments) {
    char text[LONGEST];
    vsnprintf(text, sizeof text, format, arguments);
    return keep(result, text);
}

static void add_line(pw_run_result *result, pw_line *lines, uint32_t *count, const char *label, const char *format,
                     va_list arguments) {
    PW_CHECK(*count < PW_RESULT_LINES);
    pw_line line = {keep(result, label), keep_v(result, format, arguments)};
    if (!result->is_out_of_memory) lines[(*count)++] = line;
}

void pw_result_line(pw_run_result *result, const char *label, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_line(result, result->head, &result->head_count, label, format, arguments);
    va_end(arguments);
}

void pw_result_answer(pw_run_result *result, const char *label, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_line(result, result->answers, &result->answer_count, label, format, arguments);
    va_end(arguments);
}

static void add_figure(pw_run_result *result, pw_figure *figures, uint32_t *count, uint32_t most, pw_figure figure) {
    PW_CHECK(*count < most);
    figure.name = keep(result, figure.name);
    figure.unit = keep(result, figure.unit);
    figure.text = keep(result, figure.text);
    if (!result->is_out_of_memory) figures[(*count)++] = figure;
}

void pw_result_figure(pw_run_result *result, const char *name, double value, const char *unit) {
    add_figure(result, result->figures, &result->figure_count, PW_RESULT_FIGURES, (pw_figure){name, value, unit, NULL});
}
void pw_result_word(pw_run_result *result, const char *name, const char *text) {
    add_figure(result, result->figures, &result->figure_count, PW_RESULT_FIGURES, (pw_figure){name, 0, "", text});
}
void pw_row_figure(pw_run_result *result, pw_result_row *row, const char *name, double value, const char *unit) {
    add_figure(result, row->figures, &row->figure_count, PW_ROW_FIGURES, (pw_figure){name, value, unit, NULL});
}
void pw_row_memory(pw_run_result *result, pw_result_row *row, const char *use, double bytes) {
    add_figure(result, row->memory, &row->memory_count, PW_ROW_MEMORY, (pw_figure){use, bytes, "bytes", NULL});
}

void pw_result_note(pw_run_result *result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *note = keep_v(result, format, arguments);
    va_end(arguments);
    if (result->note_count == result->note_capacity && !result->is_out_of_memory) { /* the old array stays in the arena */
        uint32_t grown = result->note_capacity ? 2 * result->note_capacity : 16;
        const char **notes = pw_arena_alloc(result->arena, grown * sizeof *notes);
        if (!notes) result->is_out_of_memory = true;
        else {
            if (result->note_count) memcpy(notes, result->notes, result->note_count * sizeof *notes);
            result->notes = notes;
            result->note_capacity = grown;
        }
    }
    if (!result->is_out_of_memory) ((const char **)(uintptr_t)result->notes)[result->note_count++] = note;
}

pw_result_row *pw_result_rows(pw_run_result *result, const char *word, uint32_t count) {
    result->row_word = keep(result, word);
    result->rows = result->is_out_of_memory ? NULL : pw_arena_alloc(result->arena, (count + 1) * sizeof *result->rows);
    if (!result->rows) result->is_out_of_memory = true;
    result->row_count = result->rows ? count : 0;
    return result->rows;
}

pw_happening *pw_result_happenings(pw_run_result *result, const char *word, uint32_t count) {
    result->happening_word = keep(result, word);
    result->happenings = result->is_out_of_memory ? NULL : pw_arena_alloc(result->arena, (count + (size_t)1) * sizeof *result->happenings);
    if (!result->happenings) result->is_out_of_memory = true;
    result->happening_count = result->happenings ? count : 0;
    return result->happenings;
}

pw_status pw_result_finish(const pw_run_result *result, pw_error *error) {
    return result->is_out_of_memory ? pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the report") : PW_OK;
}
