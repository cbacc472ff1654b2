#include "models/workload/convnet/stack.h"

#include "models/workload/stack.h"

/* NULL: the newest default. */
static pw_status find_row(const pw_table *table, const char *name, size_t *row, const char *file, int line, pw_error *error) {
    double newest = -1;
    int found = name ? pw_table_find_row(table, name) : -1;
    for (size_t i = 0; !name && i < pw_table_rows(table); i++) {
        double year = pw_table_number_of(table, i, "year");
        if (pw_table_number_of(table, i, "default") == 1 && year > newest) newest = year, found = (int)i;
    }
    *row = (size_t)found;
    if (found >= 0) return PW_OK;
    char hint[600];
    return pw_fail(error, PW_NOT_FOUND, file, line, pw_table_names(table, "stacks:", hint, sizeof hint),
                   "no software stack of convolutional networks is called '%s'", name ? name : "(newest)");
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
    PW_TRY(pw_table_amount_of(table, row, "year", &value, error));
    stack->year = (int64_t)value;
#define READ_SWITCH(column)                                \
    PW_TRY(pw_table_amount_of(table, row, #column, &value, error)); \
    stack->column = value != 0;
    PW_CONVNET_SWITCH_MAP(READ_SWITCH)
#undef READ_SWITCH
#define READ_NUMBER(column) PW_TRY(pw_table_amount_of(table, row, #column, &stack->column, error));
    PW_CONVNET_NUMBER_MAP(READ_NUMBER)
#undef READ_NUMBER
    if (!(stack->bucket > 0))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),
                       "bucket is above 0", "stack %s has a value out of range", stack->name);
    return pw_stack_factor(catalogue, stack->name, &stack->kernel_time_factor, error);
}
