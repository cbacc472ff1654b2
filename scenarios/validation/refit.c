/* Step time is near linear in 1/clock and in the kernel factor, so two runs per row bracket the value at which the
 * prediction meets the measurement, and a third on the secant settles it. */
#include "scenarios/validation/refit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/training.h"

typedef struct sample {
    const char *group, *family, *device, *width;
    double value, weight;
} sample;

/* Predicted step time at x: kernel factor, or reference over sustained clock. */
static pw_status step_at(const pw_validation_context *context, pw_refit_kind kind, const pw_training_row *row, double x,
                         double *step_s, pw_error *error) {
    if (kind == PW_REFIT_STACKS) return pw_training_predict(context, row, x, 0, step_s, error);
    return pw_training_predict(context, row, 1, 1 / x, step_s, error);
}

static pw_status solve(const pw_validation_context *context, pw_refit_kind kind, const pw_training_row *row, double *x,
                       pw_error *error) {
    double x0 = 1, x1 = kind == PW_REFIT_CLOCKS ? 1.15 : 1.1, t0, t1;
    PW_TRY(step_at(context, kind, row, x0, &t0, error));
    PW_TRY(step_at(context, kind, row, x1, &t1, error));
    for (int i = 0; i < 2 && t1 != t0; i++) {
        double next = x1 + (row->measured - t1) * (x1 - x0) / (t1 - t0);
        next = fmin(fmax(next, 0.5), 3);
        x0 = x1;
        t0 = t1;
        x1 = next;
        if (x1 == x0) break;
        PW_TRY(step_at(context, kind, row, x1, &t1, error));
    }
    *x = kind == PW_REFIT_CLOCKS ? 1 / x1 : x1;
    return PW_OK;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    pw_refit_kind kind = *(const pw_refit_kind *)context->user;
    if (strcmp(pw_validation_side(context->split, context->input, row), "fit") != 0) return PW_OK;
    if (strcmp(pw_measured_text(context->input, row, "quality"), "memory") == 0) return PW_OK;
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_training_row described = {0};
    bool runs = false;
    pw_status status = pw_training_describe(context, row, arena, &described, prediction, &runs, error);
    if (status == PW_OK && runs) {
        pw_error failure = {0};
        status = solve(context, kind, &described, &prediction->plain, &failure);
        prediction->ran = status == PW_OK;
        /* Names are kept in the prediction's text: "group\nfamily\ndevice\nwidth". */
        if (prediction->ran)
            snprintf(prediction->why, sizeof prediction->why, "%s\n%s", described.device->name,
                     kind == PW_REFIT_STACKS ? described.stack : described.width);
        if (status == PW_UNSUPPORTED || status == PW_BAD_INPUT || status == PW_NOT_FOUND) status = PW_OK;
        if (status != PW_OK && error) *error = failure;
    }
    pw_arena_destroy(arena);
    return status;
}

static int by_group(const void *a, const void *b) {
    const sample *x = a, *y = b;
    int order = strcmp(x->group, y->group);
    if (order == 0) order = (x->value > y->value) - (x->value < y->value);
    return order;
}

/* Value below which the given share of the weight lies; samples sorted by value. */
static double weighted_quantile(const sample *samples, uint32_t count, double share) {
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) total += samples[i].weight;
    for (uint32_t i = 0; i < count; i++) {
        sum += samples[i].weight;
        if (sum > share * total * (1 + 1e-12)) return samples[i].value;
        if (sum >= share * total * (1 - 1e-12) && i + 1 < count) return 0.5 * (samples[i].value + samples[i + 1].value);
    }
    return samples[count - 1].value;
}

pw_status pw_refit_run(pw_refit_kind kind, const pw_catalogue *catalogue, const volatile int *interrupt, pw_arena *arena,
                       const pw_refit_group **groups, uint32_t *count, pw_error *error) {
    pw_suite suite = pw_suite_training;
    suite.predict = predict;
    pw_validation_options options = {.interrupt = interrupt, .user = &kind};
    pw_validation validation;
    PW_TRY(pw_validation_run(&suite, catalogue, &options, arena, &validation, error));
    uint32_t rows = validation.input->rows, used = 0;
    sample *samples = pw_arena_alloc(arena, (rows + 1u) * sizeof *samples);
    pw_refit_group *found = pw_arena_alloc(arena, (rows + 1u) * sizeof *found);
    if (!samples || !found) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t row = 0; row < rows; row++) {
        const pw_prediction *p = &validation.predictions[row];
        if (!p->ran) continue;
        char *device = pw_arena_text(arena, p->why), *group = NULL;
        char *key = device ? strchr(device, '\n') : NULL;
        char text[512];
        if (key) {
            *key++ = '\0';
            if (kind == PW_REFIT_STACKS) group = key;
            else if (snprintf(text, sizeof text, "%s %s-bit", device, key) > 0) group = pw_arena_text(arena, text);
        }
        snprintf(text, sizeof text, "%s|%s", pw_measured_text(validation.input, row, "source"),
                 pw_measured_text(validation.input, row, "model"));
        samples[used] = (sample){group, pw_arena_text(arena, text), device, key, p->plain, 0};
        if (!group || !samples[used].family) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
        used++;
    }
    for (uint32_t i = 0; i < used; i++) {
        uint32_t twins = 0;
        for (uint32_t k = 0; k < used; k++)
            twins += strcmp(samples[i].family, samples[k].family) == 0 && strcmp(samples[i].group, samples[k].group) == 0;
        samples[i].weight = 1.0 / twins;
    }
    qsort(samples, used, sizeof *samples, by_group);
    *count = 0;
    for (uint32_t first = 0; first < used;) {
        uint32_t last = first;
        double families = 0;
        for (; last < used && strcmp(samples[last].group, samples[first].group) == 0; last++) families += samples[last].weight;
        found[(*count)++] = (pw_refit_group){samples[first].group, kind == PW_REFIT_CLOCKS ? samples[first].device : NULL,
                                             kind == PW_REFIT_CLOCKS ? samples[first].width : NULL, last - first,
                                             (uint32_t)lround(families), weighted_quantile(samples + first, last - first, 0.5),
                                             weighted_quantile(samples + first, last - first, 0.25),
                                             weighted_quantile(samples + first, last - first, 0.75)};
        first = last;
    }
    *groups = found;
    return PW_OK;
}
