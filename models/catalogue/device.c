/* Rows of accelerators.csv as structs in SI units. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "models/catalogue/catalogue_internal.h"

const char *const pw_precision_names[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4", NULL};

double pw_precision_bytes(pw_precision precision) {
    static const double bytes[PW_PRECISION_COUNT] = {4, 4, 2, 2, 1, 0.5};
    return (unsigned)precision < PW_PRECISION_COUNT ? bytes[precision] : NAN;
}

typedef struct device_column {
    const char *column;
    size_t offset;
    bool positive; /* an explicit zero makes no sense */
} device_column;

#define PEAK(precision) (offsetof(pw_device, peak_flops) + sizeof(double) * PW_PRECISION_##precision)
static const device_column numbers[] = {
    {"fp32", PEAK(FP32), true},
    {"tf32_dense", PEAK(TF32), true},
    {"fp16_dense", PEAK(FP16), true},
    {"bf16_dense", PEAK(BF16), true},
    {"fp8_dense", PEAK(FP8), true},
    {"fp4_dense", PEAK(FP4), true},
    {"fp32", offsetof(pw_device, vector_flops), true},
    {"sm_count", offsetof(pw_device, sm_count), true},
    {"memory", offsetof(pw_device, memory_bytes), true},
    {"memory_bandwidth", offsetof(pw_device, memory_Bps), true},
    {"l2", offsetof(pw_device, l2_bytes), true},
    {"scaleup_per_direction", offsetof(pw_device, scaleup_Bps), false},
    {"scaleup_links", offsetof(pw_device, scaleup_links), false},
    {"pcie_per_direction", offsetof(pw_device, pcie_Bps), true},
    {"tdp", offsetof(pw_device, tdp_W), true},
    {"idle", offsetof(pw_device, idle_W), true},
    {"base_clock", offsetof(pw_device, base_Hz), true},
    {"boost_clock", offsetof(pw_device, boost_Hz), true},
    {"tensor_peak_clock", offsetof(pw_device, tensor_peak_Hz), true},
    {NULL, 0, false},
};
static const device_column texts[] = {
    {"name", offsetof(pw_device, name), true},
    {"vendor", offsetof(pw_device, vendor), false},
    {"arch", offsetof(pw_device, arch), false},
    {"form_factor", offsetof(pw_device, form_factor), false},
    {"memory_type", offsetof(pw_device, memory_type), false},
    {"provenance", offsetof(pw_device, provenance), false},
    {"source", offsetof(pw_device, source), false},
    {NULL, 0, false},
};

static pw_status find_column(const pw_table *table, const char *name, size_t *column, pw_error *error) {
    int found = pw_table_find_column(table, name);
    if (found < 0)
        return pw_fail(error, PW_BAD_INPUT, table->file, 1, "every accelerator column must be there, cells may be empty",
                       "column '%s' is missing", name);
    *column = (size_t)found;
    return PW_OK;
}

static pw_status read_field(const pw_table *table, const device_column *field, pw_device *devices, pw_error *error) {
    size_t column = 0;
    PW_TRY(find_column(table, field->column, &column, error));
    for (size_t row = 0; row < table->rows; row++) {
        double value = pw_table_number_at(table, row, column);
        if (value < 0 || (field->positive && value == 0) || isinf(value))
            return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], "an empty cell means unknown",
                           "column '%s': %s is not a possible value", field->column,
                           pw_table_text_at(table, row, column));
        *(double *)((char *)&devices[row] + field->offset) = value;
    }
    return PW_OK;
}

pw_status catalogue_read_devices(pw_catalogue *catalogue, pw_error *error) {
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    if (!table)
        return pw_fail(error, PW_NOT_FOUND, catalogue->folder, 0, "set PODWRIGHT_DATA to the catalogue's data folder",
                       "the folder holds no accelerators.csv");
    pw_device *devices = pw_arena_alloc(catalogue->arena, table->rows * sizeof *devices + 1);
    if (!devices) return pw_fail(error, PW_NO_MEMORY, table->file, 0, NULL, "no memory left");
    for (const device_column *field = numbers; field->column; field++) PW_TRY(read_field(table, field, devices, error));
    for (const device_column *field = texts; field->column; field++) {
        size_t column = 0;
        PW_TRY(find_column(table, field->column, &column, error));
        for (size_t row = 0; row < table->rows; row++) {
            const char *text = pw_table_text_at(table, row, column);
            memcpy((char *)&devices[row] + field->offset, &text, sizeof text);
        }
    }
    size_t reported = 0;
    PW_TRY(find_column(table, "memory_reported", &reported, error));
    for (size_t row = 0; row < table->rows; row++) {
        double bytes = pw_table_number_at(table, row, reported);
        if (bytes > 0) devices[row].memory_bytes = bytes;
        devices[row].line = table->lines[row];
    }
    catalogue->devices = devices;
    catalogue->device_count = table->rows;
    return PW_OK;
}

pw_status pw_catalogue_device(const pw_catalogue *catalogue, const char *name, const pw_device **device,
                              pw_error *error) {
    *device = NULL;
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    int row = table ? pw_table_find_row(table, name) : -1;
    if (row >= 0) {
        *device = &catalogue->devices[row];
        return PW_OK;
    }
    char hint[256] = "`podwright catalogue accelerators` lists them";
    const char *near = name && *name ? catalogue_nearest(catalogue, table, name) : NULL;
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'? `podwright catalogue accelerators` lists them", near);
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "no accelerator is called '%s'", name ? name : "");
}
