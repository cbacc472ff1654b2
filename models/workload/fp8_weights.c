/* Weights that live in fp8. A stack that gathers fp8 parameters keeps no 16-bit copy of a layer's matrices: one byte a weight,
 * the masters are in the optimizer. Where tensor cores take fp8 operands in one order only, the backward pass needs the
 * transpose as well, which is kept beside it: the table `fp8-transposes`, a row an architecture. */
#include <stdio.h>
#include <string.h>

#include "models/workload/plan.h"

pw_status pw_plan_fp8_weights(const pw_catalogue *catalogue, const pw_device *device, pw_plan *plan, const char *file, int line,
                              pw_error *error) {
    plan->matrix_bytes = plan->format.weight_bytes + plan->format.copy_bytes;
    bool narrow = plan->precision == PW_PRECISION_FP8 && plan->stack.fp8_parameter_gather && plan->sharding != PW_SHARDING_ZERO3;
    if (!narrow || !device) return PW_OK;
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "fp8-transposes", &table, error));
    char arch[64];
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(device->arch, " "), device->arch); /* "Blackwell Ultra" counts as Blackwell */
    int row = pw_table_find_row(table, arch);
    if (row < 0)
        return pw_fail(error, PW_UNSUPPORTED, file, line, "add a row to fp8-transposes.csv, or use precision = \"bf16\"",
                       "whether %s keeps transposes of fp8 weights is not on file", device->arch);
    double transpose = pw_table_number_of(table, (size_t)row, "transpose");
    if (!(transpose >= 0 && transpose <= 8))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "0 to 8 bytes",
                       "%s: column 'transpose' is missing or out of range", arch);
    plan->matrix_bytes = 1 + transpose;
    return PW_OK;
}
