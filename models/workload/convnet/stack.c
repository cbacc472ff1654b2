#include "models/workload/convnet/stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static pw_status number_of(const pw_table *table, size_t row, const char *column, double *value, pw_error *error) {
    *value = pw_table_number_of(table, row, column);
    if (*value >= 0 && isfinite(*value)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "give a number of at least 0",
                   "%s: column '%s' is missing or out of range", pw_table_text_at(table, row, 0), column);
}

static pw_status find_row(const pw_table *table, const char *name, size_t *row, const char *file, int line, pw_error *error) {
    char hint[600] = "stacks:";
    size_t used = strlen(hint);
    double newest = -1;
    for (size_t i = 0; i < pw_table_rows(table); i++) {
        double year = pw_table_number_of(table, i, "year");
        if (used < sizeof hint)
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", pw_table_text_at(table, i, 0));
        if (!name && pw_table_number_of(table, i, "default") == 1 && year > newest) newest = year, *row = i;
    }
    if (newest >= 0) return PW_OK;
    int found = name ? pw_table_find_row(table, name) : -1;
    if (found < 0)
        return pw_fail(error, PW_NOT_FOUND, file, line, hint, "no software stack of convolutional networks is called '%s'",
                       name ? name : "(newest)");
    *row = (size_t)found;
    return PW_OK;
}

pw_status pw_convnet_stack_read(const pw_catalogue *catalogue, const char *name, pw_convnet_stack *stack, const char *file,
                                int line, pw_error *error) {
    const pw_table *table;
    size_t row = 0;
    double value;
    PW_TRY(pw_catalogue_need(catalogue, "convnet-stacks", &table, error));
    PW_TRY(find_row(table, name && *name ? name : NULL, &row, file, line, error));
    stack->name = pw_table_text_at(table, row, 0);
    stack->text = pw_table_text_of(table, row, "text");
    stack->source = pw_table_text_of(table, row, "source");
    PW_TRY(number_of(table, row, "year", &value, error));
    stack->year = (int64_t)value;
#define READ_SWITCH(column)                                \
    PW_TRY(number_of(table, row, #column, &value, error)); \
    stack->column = value != 0;
    PW_CONVNET_SWITCH_MAP(READ_SWITCH)
#undef READ_SWITCH
#define READ_NUMBER(column) PW_TRY(number_of(table, row, #column, &stack->column, error));
    PW_CONVNET_NUMBER_MAP(READ_NUMBER)
#undef READ_NUMBER
    if (!(stack->bucket > 0) || stack->jitter_from < 1)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),
                       "bucket is above 0, jitter_from at least 1", "stack %s has a value out of range", stack->name);
    const pw_table *factors = pw_catalogue_table(catalogue, "stack-factors");
    int factor_row = factors ? pw_table_find_row(factors, stack->name) : -1;
    stack->kernel_time_factor = 1;
    if (factor_row >= 0) PW_TRY(number_of(factors, (size_t)factor_row, "factor", &stack->kernel_time_factor, error));
    if (stack->kernel_time_factor > 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(factors), pw_table_line(factors, (size_t)factor_row), "above 0",
                   "the factor of stack %s is out of range", stack->name);
}
