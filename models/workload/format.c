#include "models/workload/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const pw_format_names[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "fp16-amp", "bf16-amp", NULL};

static pw_status read_precision(const pw_table *table, size_t row, const char *column, pw_precision *precision,
                                pw_error *error) {
    const char *text = pw_table_text_of(table, row, column);
    for (int i = 0; pw_precision_names[i]; i++) {
        if (strcmp(pw_precision_names[i], text) != 0) continue;
        *precision = (pw_precision)i;
        return PW_OK;
    }
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "fp32, tf32, fp16, bf16, fp8 or fp4",
                   "%s is \"%s\", which is no precision", column, text);
}

static pw_status unknown_format(const pw_table *table, int index, const char *file, int line, pw_error *error) {
    char hint[300];
    pw_table_names(table, "number formats:", hint, sizeof hint);
    return pw_fail(error, PW_UNSUPPORTED, file, line, hint, "training in %s is not modelled",
                   index >= 0 && index < PW_FORMAT_COUNT ? pw_format_names[index] : "an unknown format");
}

pw_status pw_format_read(const pw_catalogue *catalogue, int index, pw_format *format, const char *file, int line,
                         pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "training-formats", &table, error));
    int found = index >= 0 && index < PW_FORMAT_COUNT ? pw_table_find_row(table, pw_format_names[index]) : -1;
    if (found < 0) return unknown_format(table, index, file, line, error);
    size_t row = (size_t)found;
    format->name = pw_table_text_at(table, row, 0);
    format->text = pw_table_text_of(table, row, "text");
    format->source = pw_table_text_of(table, row, "source");
    PW_TRY(read_precision(table, row, "matrix", &format->matrix, error));
    PW_TRY(read_precision(table, row, "other", &format->other, error));
    const struct { const char *column; double *value; bool optional; } numbers[] = {
        {"element", &format->element_bytes, false},   {"wide", &format->wide_bytes, false},
        {"weight", &format->weight_bytes, false},     {"copy", &format->copy_bytes, false},
        {"gradient", &format->gradient_bytes, true},  {"wire", &format->wire_bytes, true},
        {"cast_weight", &format->cast_weight, false}, {"cast_gradient", &format->cast_gradient, false}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i].value = pw_table_number_of(table, row, numbers[i].column);
        if (numbers[i].optional && isnan(*numbers[i].value)) continue;
        if (!(*numbers[i].value >= 0 && *numbers[i].value <= 64))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "0 to 64 bytes",
                           "%s: column '%s' is missing or out of range", format->name, numbers[i].column);
    }
    if (format->element_bytes > 0 && format->wide_bytes > 0 && format->weight_bytes > 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "more than 0 bytes",
                   "%s: an element, a wide one and a weight need bytes", format->name);
}

pw_status pw_format_check(const pw_format *format, const pw_device *device, const char *file, int line, pw_error *error) {
    const pw_precision needed[] = {format->matrix, format->other};
    for (size_t i = 0; i < 2; i++)
        if (!(device->peak_flops[needed[i]] > 0))
            return pw_fail(error, PW_BAD_INPUT, file, line, "choose another precision or GPU", "%s has no %s arithmetic",
                           device->name, pw_precision_names[needed[i]]);
    return PW_OK;
}
