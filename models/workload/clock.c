#include "models/workload/clock.h"

#include <string.h>

/* The ratio of a table's row for the device, else for its architecture; `none` without one. */
static double ratio_of(const pw_catalogue *catalogue, const char *name, const pw_device *device, pw_precision precision, double none,
                       const char **source) {
    *source = "";
    const pw_table *table = pw_catalogue_table(catalogue, name);
    if (!table) return none;
    const char *units = precision == PW_PRECISION_FP8 || precision == PW_PRECISION_FP4 ? "fp8" : precision == PW_PRECISION_FP32 ? "fp32" : "bf16";
    double best = none;
    bool found = false;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double ratio = pw_table_number_of(table, row, "ratio");
        if (strcmp(pw_table_text_of(table, row, "precision"), units) != 0 || !(ratio > 0)) continue;
        const char *gpu = pw_table_text_of(table, row, "gpu");
        bool own = !strcmp(gpu, device->name);
        bool of_arch = !*gpu && !strcmp(pw_table_text_of(table, row, "arch"), device->arch);
        if (!own && (!of_arch || found)) continue;
        best = ratio;
        found = true;
        *source = pw_table_text_of(table, row, "source");
        if (own) break;
    }
    return best;
}

double pw_training_clock(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision,
                         const char **source) {
    return ratio_of(catalogue, "training-clocks", device, precision, 1, source);
}

double pw_training_pace(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision, const char **source) {
    return ratio_of(catalogue, "training-pace", device, precision, 0, source);
}
