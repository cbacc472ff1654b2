#include "models/workload/attention.h"

#include <string.h>

static pw_status ratio_of(const pw_table *table, size_t row, const char *column, double *ratio, pw_error *error) {
    *ratio = pw_table_number_of(table, row, column);
    if (*ratio > 0.1 && *ratio < 100) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "between 0.1 and 100",
                   "%s: column '%s' is missing or out of range", pw_table_text_at(table, row, 0), column);
}

pw_status pw_attention_slowdown_read(const pw_catalogue *catalogue, const char *stack, const pw_device *device,
                                     pw_attention_slowdown *slowdown, pw_error *error) {
    const pw_table *table = pw_catalogue_table(catalogue, "attention-kernels");
    *slowdown = (pw_attention_slowdown){1, 1};
    for (size_t row = 0; table && device && row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_of(table, row, "stack"), stack) != 0) continue;
        if (strcmp(pw_table_text_of(table, row, "arch"), device->arch) != 0) continue;
        PW_TRY(ratio_of(table, row, "forward", &slowdown->forward, error));
        return ratio_of(table, row, "backward", &slowdown->backward, error);
    }
    return PW_OK;
}
