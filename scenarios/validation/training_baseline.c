/* The baseline: one MFU per GPU and precision (of convolutional networks and of recommenders, their own), the median over the fit rows that ship, every source weighing the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/training_row.h"

static double peak_of(const pw_training_row *row) { return row->device->peak_flops[row->arithmetic]; }

typedef struct mfu_sample {
    const pw_device *device;
    const char *width, *source;
    int family;
    double mfu, weight;
} mfu_sample;

static int by_mfu(const void *a, const void *b) {
    double x = ((const mfu_sample *)a)->mfu, y = ((const mfu_sample *)b)->mfu;
    return (x > y) - (x < y);
}

/* Median MFU of the samples with this device and width (NULL: any), every source weighing the same; NaN when there is
 * none. */
static double median_mfu(const mfu_sample *samples, uint32_t count, int family, const pw_device *device, const char *width,
                         mfu_sample *scratch) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (samples[i].family == family && (!device || samples[i].device == device) && (!width || strcmp(samples[i].width, width) == 0))
            scratch[n++] = samples[i];
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t twins = 0;
        for (uint32_t k = 0; k < n; k++) twins += strcmp(scratch[k].source, scratch[i].source) == 0;
        scratch[i].weight = 1.0 / twins;
        total += scratch[i].weight;
    }
    if (n) qsort(scratch, n, sizeof *scratch, by_mfu);
    for (uint32_t i = 0; i < n; i++)
        if ((sum += scratch[i].weight) >= 0.5 * total) return scratch[i].mfu;
    return n ? scratch[n - 1].mfu : NAN;
}

static bool is_known(const training_state *state, int family, const pw_device *device, const char *width) {
    for (uint32_t i = 0; i < state->baseline_count; i++) {
        const struct baseline_mfu *b = &state->baseline[i];
        bool same_width = b->width && width ? strcmp(b->width, width) == 0 : b->width == width;
        if (b->family == family && b->device == device && same_width) return true;
    }
    return false;
}

pw_status baseline_prepare(pw_validation_context *context, training_state *state, pw_error *error) {
    const pw_measured *shipped = context->shipped;
    mfu_sample *samples = pw_arena_alloc(context->arena, (shipped->rows + 1u) * sizeof *samples);
    mfu_sample *scratch = pw_arena_alloc(context->arena, (shipped->rows + 1u) * sizeof *scratch);
    state->baseline = pw_arena_alloc(context->arena, (3 * (size_t)shipped->rows + 1) * sizeof *state->baseline);
    if (!samples || !scratch || !state->baseline) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    uint32_t count = 0;
    for (uint32_t row = 0; row < shipped->rows; row++) {
        if (strcmp(pw_validation_side(context->split, shipped, row), "fit") != 0) continue;
        pw_training_row described = {0};
        pw_prediction unused = {0};
        bool runs;
        PW_TRY(describe(context, shipped, row, context->arena, &described, &unused, &runs, error));
        if (!runs) continue;
        samples[count++] = (mfu_sample){described.device, described.width, pw_measured_text(shipped, row, "source"),
                                        family_of(&described), described.flops_per_gpu / described.measured / peak_of(&described), 0};
    }
    /* Every (device, width) of the samples, then per device, then overall: looked up in that order. */
    for (int level = 0; level < 3; level++)
        for (uint32_t i = 0; i < count; i++) {
            const pw_device *device = level < 2 ? samples[i].device : NULL;
            const char *width = level == 0 ? samples[i].width : NULL;
            if (is_known(state, samples[i].family, device, width)) continue;
            double mfu = median_mfu(samples, count, samples[i].family, device, width, scratch);
            if (!isnan(mfu)) state->baseline[state->baseline_count++] = (struct baseline_mfu){device, width, samples[i].family, mfu};
        }
    return PW_OK;
}

double baseline_seconds(const training_state *state, const pw_training_row *row) {
    for (uint32_t i = 0; i < state->baseline_count; i++) {
        const struct baseline_mfu *b = &state->baseline[i];
        if (b->family == family_of(row) && (!b->device || b->device == row->device) && (!b->width || strcmp(b->width, row->width) == 0))
            return row->flops_per_gpu / (b->mfu * peak_of(row));
    }
    return NAN;
}
