#include "models/workload/optimizer.h"

#include <stdio.h>
#include <string.h>

static pw_status unknown_optimizer(const pw_table *table, const char *name, const char *file, int line, pw_error *error) {
    char hint[300];
    pw_table_names(table, "optimizers:", hint, sizeof hint);
    return pw_fail(error, PW_NOT_FOUND, file, line, hint, "no optimizer is called '%s'", name);
}

pw_status pw_optimizer_read(const pw_catalogue *catalogue, const char *name, pw_optimizer *optimizer, const char *file,
                            int line, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "optimizers", &table, error));
    int found = pw_table_find_row(table, name);
    if (found < 0) return unknown_optimizer(table, name, file, line, error);
    size_t row = (size_t)found;
    double factored, shards;
    optimizer->name = pw_table_text_at(table, row, 0);
    optimizer->text = pw_table_text_of(table, row, "text");
    optimizer->source = pw_table_text_of(table, row, "source");
    const struct { const char *column; double *value; } numbers[] = {
        {"state", &optimizer->state_bytes}, {"factored", &factored},
        {"update", &optimizer->update_bytes}, {"tensor_kernels", &optimizer->tensor_kernels}, {"shards", &shards}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i].value = pw_table_number_of(table, row, numbers[i].column);
        if (!(*numbers[i].value >= 0 && *numbers[i].value <= 10000))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "0 to 10000",
                           "%s: column '%s' is missing or out of range", optimizer->name, numbers[i].column);
    }
    optimizer->factored = factored != 0;
    optimizer->shards = shards != 0;
    return PW_OK;
}
