#include "scenarios/validation/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/interval.h"
#include "scenarios/validation/validation.h"

typedef struct sample {
    const char *source, *model; /* together the family */
    double ratio, weight;       /* measured over predicted */
} sample;

static int by_ratio(const void *a, const void *b) {
    double x = ((const sample *)a)->ratio, y = ((const sample *)b)->ratio;
    return (x > y) - (x < y);
}

static double quantile(const sample *list, uint32_t count, double share) { /* sorted by ratio */
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) total += list[i].weight;
    for (uint32_t i = 0; i < count; i++)
        if ((sum += list[i].weight) >= share * total * (1 - 1e-12)) return list[i].ratio;
    return list[count - 1].ratio;
}

static uint32_t collect(const pw_validation *v, const char *step_class, sample *list) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        if (!p->ran || strcmp(p->side, "fit") != 0) continue;
        if (!p->step_class || strcmp(p->step_class, step_class) != 0) continue;
        list[count++] = (sample){pw_measured_text(v->input, row, "source"), pw_measured_text(v->input, row, "model"),
                                 p->measured / p->stack, 0};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t twins = 0;
        for (uint32_t k = 0; k < count; k++)
            twins += strcmp(list[i].source, list[k].source) == 0 && strcmp(list[i].model, list[k].model) == 0;
        list[i].weight = 1.0 / twins;
    }
    if (count) qsort(list, count, sizeof *list, by_ratio);
    return count;
}

pw_status pw_intervals_write(const pw_catalogue *catalogue, const volatile int *interrupt, pw_file *file, pw_arena *arena,
                             pw_error *error) {
    const char *only[] = {"side=fit"};
    pw_validation_options options = {.interrupt = interrupt, .only = only, .only_count = 1};
    pw_validation v;
    PW_TRY(pw_validation_run(&pw_suite_training, catalogue, &options, arena, &v, error));
    sample *list = pw_arena_alloc(arena, (v.input->rows + 1u) * sizeof *list);
    if (!list) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_file_text(file, "name,low [ratio],high [ratio],rows [count],families [count],provenance,source\n");
    for (int c = 0; c < PW_STEP_CLASS_COUNT; c++) {
        uint32_t rows = collect(&v, pw_step_class_names[c], list);
        double families = 0;
        for (uint32_t i = 0; i < rows; i++) families += list[i].weight;
        if (lround(families) < PW_INTERVALS_LEAST) continue;
        double tail = 0.5 * (1 - PW_INTERVAL_LEVEL);
        pw_file_csv_text(file, pw_step_class_names[c]);
        pw_file_csv_number(file, floor(1000 * quantile(list, rows, tail)) / 1000);
        pw_file_csv_number(file, ceil(1000 * quantile(list, rows, 1 - tail)) / 1000);
        pw_file_csv_integer(file, rows);
        pw_file_csv_integer(file, lround(families));
        pw_file_csv_text(file, "FITTED");
        pw_file_csv_text(file, "podwright calibrate intervals over the fit rows of training-measured.csv");
        pw_file_csv_end(file);
    }
    return PW_OK;
}
