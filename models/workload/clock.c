#include "models/workload/clock.h"

#include <math.h>
#include <string.h>

static const char *cell(const pw_table *table, size_t row, const char *column) {
    int index = pw_table_find_column(table, column);
    return index < 0 ? "" : pw_table_text_at(table, row, (size_t)index);
}

double pw_training_clock(const pw_catalogue *catalogue, const pw_device *device, pw_precision precision,
                         const char **source) {
    *source = "";
    const pw_table *table = pw_catalogue_table(catalogue, "training-clocks");
    int ratio_column = table ? pw_table_find_column(table, "ratio") : -1;
    if (ratio_column < 0) return 1;
    double best = 1;
    bool own = false, found = false;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        bool is_fp8 = !strcmp(cell(table, row, "precision"), "fp8");
        const char *gpu = cell(table, row, "gpu");
        bool names_it = !strcmp(gpu, device->name);
        double ratio = pw_table_number_at(table, row, (size_t)ratio_column);
        if (is_fp8 != (precision == PW_PRECISION_FP8) || !(ratio > 0)) continue;
        if (!names_it && (strcmp(cell(table, row, "arch"), device->arch) != 0)) continue;
        if (found && (own || !names_it) && !(names_it && !own)) continue;
        if (!names_it && *gpu && found) continue;
        best = ratio;
        own = names_it;
        found = true;
        *source = cell(table, row, "source");
    }
    return best;
}
