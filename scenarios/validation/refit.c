/* Step time is near linear in 1/clock and in the kernel factor, so two runs per row bracket the value at which the
 * prediction meets the measurement, and a third on the secant settles it. */
#include "scenarios/validation/refit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/training.h"

typedef struct sample {
    const char *group, *family; /* group: the parameter's name */
    const char *arch, *gpu, *width; /* clocks; gpu "": the whole architecture */
    double value, weight;
    bool filled; /* by kernels */
} sample;

typedef struct samples {
    sample *list;
    uint32_t count;
} samples;

/* What the suite's functions see of a refit. */
typedef struct refit {
    pw_refit_kind kind;
    pw_measured judges; /* sources that shape nothing */
} refit;

/* Reads the sources that only judge; each must have a row, so that a misspelt one is not taken for obeyed. */
static pw_status read_judges(const pw_catalogue *catalogue, pw_arena *arena, pw_measured *judges, pw_error *error) {
    char folder[4096], path[4608];
    pw_measured rows;
    PW_TRY(pw_validation_find(catalogue, folder, sizeof folder, error));
    snprintf(path, sizeof path, "%s/judges.csv", folder);
    PW_TRY(pw_measured_read(path, arena, judges, error));
    snprintf(path, sizeof path, "%s/data/%s", folder, pw_suite_training.file);
    PW_TRY(pw_measured_read(path, arena, &rows, error));
    for (uint32_t judge = 0; judge < judges->rows; judge++) {
        const char *source = pw_measured_text(judges, judge, "source");
        uint32_t row = 0;
        while (row < rows.rows && strcmp(pw_measured_text(&rows, row, "source"), source) != 0) row++;
        if (row == rows.rows)
            return pw_fail(error, PW_BAD_INPUT, judges->file, judges->lines[judge], "name a source of training-measured.csv",
                           "no measured row has the source '%s'", source);
    }
    return PW_OK;
}

static bool only_judges(const refit *of, const char *source) {
    for (uint32_t judge = 0; judge < of->judges.rows; judge++)
        if (strcmp(pw_measured_text(&of->judges, judge, "source"), source) == 0) return true;
    return false;
}

/* Predicted step time at x: kernel factor, or reference over sustained clock. */
static pw_status step_at(const pw_validation_context *context, pw_refit_kind kind, const pw_training_row *row, double x,
                         double *step_s, pw_error *error) {
    if (kind == PW_REFIT_STACKS) return pw_training_predict(context, row, x, 0, step_s, error);
    if (kind == PW_REFIT_CLOCKS) return pw_training_predict(context, row, 1, 1 / x, step_s, error);
    pw_training_row paced = *row;
    paced.pace = 1 / x;
    return pw_training_predict(context, &paced, 1, 0, step_s, error);
}

static pw_status solve(const pw_validation_context *context, pw_refit_kind kind, const pw_training_row *row, double *x,
                       pw_error *error) {
    double x0 = 1, x1 = kind == PW_REFIT_STACKS ? 1.1 : 1.15, t0, t1;
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
    *x = kind == PW_REFIT_STACKS ? x1 : 1 / x1;
    return PW_OK;
}

/* Is this a step that matrix multiplies fill? Gathering the weights of every layer or sending tokens to experts holds up a step,
 * and what the model misses there is no property of the GPU. Encoders and fine-tuning run at small sizes on frameworks of their
 * own, convolutional networks and recommenders move memory. */
static bool kernels_fill(const pw_training_row *row, const pw_measured *input, uint32_t at) {
    if (row->convnet || row->recommender) return false;
    return row->job.sharding <= PW_SHARDING_ZERO1 && atof(pw_measured_text(input, at, "n_experts")) <= 1 &&
           !row->job.model->bidirectional && row->job.trainable == PW_TRAIN_ALL;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    const refit *of = context->user;
    pw_refit_kind kind = of->kind;
    if (strcmp(pw_validation_side(context->split, context->input, row), "fit") != 0) return PW_OK;
    if (strcmp(pw_measured_text(context->input, row, "quality"), "memory") == 0) return PW_OK;
    if (only_judges(of, pw_measured_text(context->input, row, "source"))) return PW_OK;
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_training_row described = {0};
    bool runs = false;
    pw_status status = pw_training_describe(context, row, arena, &described, prediction, &runs, error);
    bool filled = runs && kernels_fill(&described, context->input, row);
    if (status == PW_OK && runs && (kind == PW_REFIT_STACKS || filled)) {
        pw_error failure = {0};
        status = solve(context, kind, &described, &prediction->plain, &failure);
        prediction->ran = status == PW_OK;
        prediction->stack = filled;
        /* What the row bears on is kept in the prediction's text. */
        if (prediction->ran && kind == PW_REFIT_STACKS)
            snprintf(prediction->why, sizeof prediction->why, "%s", described.stack);
        else if (prediction->ran)
            snprintf(prediction->why, sizeof prediction->why, "%s\n%s\n%s", described.device->arch, described.device->name,
                     described.width);
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
static double weighted_quantile(const sample *list, uint32_t count, double share) {
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) total += list[i].weight;
    for (uint32_t i = 0; i < count; i++) {
        sum += list[i].weight;
        if (sum > share * total * (1 + 1e-12)) return list[i].value;
        if (sum >= share * total * (1 - 1e-12) && i + 1 < count) return 0.5 * (list[i].value + list[i + 1].value);
    }
    return list[count - 1].value;
}

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

static const char *joined(pw_arena *arena, const char *a, const char *between, const char *b, const char *after) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", a, between, b, after);
    return pw_arena_text(arena, text);
}

/* A parameter with enough rows that kernels fill does without the others. */
static void keep_filled(samples *of) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        uint32_t filled = 0;
        for (uint32_t k = 0; k < of->count; k++)
            filled += of->list[k].filled && strcmp(of->list[k].group, of->list[i].group) == 0;
        of->list[i].weight = of->list[i].filled || filled < PW_REFIT_LEAST;
    }
    for (uint32_t i = 0; i < of->count; i++)
        if (of->list[i].weight > 0) of->list[kept++] = of->list[i];
    of->count = kept;
}

/* Every row that ran, as a sample of its stack, or of its architecture and of its GPU. */
static pw_status collect(pw_refit_kind kind, const pw_validation *validation, pw_arena *arena, samples *out, pw_error *error) {
    uint32_t rows = validation->input->rows;
    out->list = pw_arena_alloc(arena, (2 * (size_t)rows + 1) * sizeof *out->list);
    if (!out->list) return no_memory(error);
    for (uint32_t row = 0; row < rows; row++) {
        const pw_prediction *p = &validation->predictions[row];
        if (!p->ran) continue;
        sample base = {.value = p->plain, .filled = p->stack != 0, .arch = "", .gpu = "", .width = ""};
        base.family = joined(arena, pw_measured_text(validation->input, row, "source"), "|",
                             pw_measured_text(validation->input, row, "model"), "");
        char *text = pw_arena_text(arena, p->why);
        if (!base.family || !text) return no_memory(error);
        if (kind == PW_REFIT_STACKS) {
            base.group = text;
            out->list[out->count++] = base;
            continue;
        }
        char *gpu = strchr(text, '\n'), *width = gpu ? strchr(gpu + 1, '\n') : NULL;
        if (!width) continue;
        *gpu++ = *width++ = '\0';
        base.arch = text;
        base.width = width;
        base.group = joined(arena, text, " ", width, "-bit");
        out->list[out->count] = base;
        base.gpu = gpu;
        base.group = joined(arena, gpu, " ", width, "-bit");
        out->list[out->count + 1] = base;
        if (!out->list[out->count].group || !base.group) return no_memory(error);
        out->count += 2;
    }
    keep_filled(out);
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t twins = 0;
        for (uint32_t k = 0; k < out->count; k++)
            twins += strcmp(out->list[i].group, out->list[k].group) == 0 &&
                     strcmp(out->list[i].family, out->list[k].family) == 0;
        out->list[i].weight = 1.0 / twins;
    }
    qsort(out->list, out->count, sizeof *out->list, by_group);
    return PW_OK;
}

static bool has_group(const samples *all, const char *name) {
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].group, name) == 0) return true;
    return false;
}

static void write_text_or_nothing(pw_file *file, const char *text) {
    if (*text) pw_file_csv_text(file, text);
    else pw_file_csv_number(file, NAN);
}

static void write_group(pw_refit_kind kind, const sample *first, uint32_t rows, pw_file *file) {
    double families = 0;
    for (uint32_t i = 0; i < rows; i++) families += first[i].weight;
    pw_file_csv_text(file, first->group);
    if (kind != PW_REFIT_STACKS) {
        pw_file_csv_text(file, first->arch);
        write_text_or_nothing(file, first->gpu);
        pw_file_csv_text(file, strcmp(first->width, "8") == 0 ? "fp8" : strcmp(first->width, "32") == 0 ? "fp32" : "bf16");
    }
    static const double shares[] = {0.5, 0.25, 0.75};
    for (int i = 0; i < 3; i++) /* the fit is no better than three digits */
        pw_file_csv_number(file, round(1000 * weighted_quantile(first, rows, shares[i])) / 1000);
    pw_file_csv_integer(file, rows);
    pw_file_csv_integer(file, lround(families));
    pw_file_csv_text(file, "FITTED");
    pw_file_csv_text(file, "podwright calibrate over the fit rows of training-measured.csv");
    pw_file_csv_end(file);
}

/* Rows of the present table that no fit replaces (an assumption for hardware without measurements). */
static void write_others(const pw_table *table, const samples *all, pw_file *file) {
    int provenance = table ? pw_table_find_column(table, "provenance") : -1;
    for (size_t row = 0; provenance >= 0 && row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_at(table, row, (size_t)provenance), "FITTED") == 0) continue;
        if (has_group(all, pw_table_text_at(table, row, 0))) continue;
        for (size_t c = 0; c < pw_table_columns(table); c++) write_text_or_nothing(file, pw_table_text_at(table, row, c));
        pw_file_csv_end(file);
    }
}

static const char *const tables[] = {"training-clocks", "stack-factors", "training-pace"}; /* [pw_refit_kind] */

pw_status pw_refit_write(pw_refit_kind kind, const pw_catalogue *catalogue, const volatile int *interrupt, pw_file *file,
                         pw_arena *arena, pw_error *error) {
    pw_suite suite = pw_suite_training;
    suite.predict = predict;
    refit of = {.kind = kind};
    pw_validation_options options = {.interrupt = interrupt, .user = &of};
    pw_validation validation;
    PW_TRY(read_judges(catalogue, arena, &of.judges, error));
    PW_TRY(pw_validation_run(&suite, catalogue, &options, arena, &validation, error));
    samples all = {0};
    PW_TRY(collect(kind, &validation, arena, &all, error));
    pw_file_text(file, kind != PW_REFIT_STACKS
                           ? "name,arch,gpu,precision,ratio [ratio],low [ratio],high [ratio],rows [count],families [count],"
                             "provenance,source\n"
                           : "name,factor [ratio],low [ratio],high [ratio],rows [count],families [count],provenance,source\n");
    for (uint32_t first = 0, last; first < all.count; first = last) {
        for (last = first; last < all.count && strcmp(all.list[last].group, all.list[first].group) == 0;) last++;
        bool is_gpu = *all.list[first].gpu != '\0';
        if (last - first >= PW_REFIT_LEAST || (kind != PW_REFIT_STACKS && !is_gpu))
            write_group(kind, all.list + first, last - first, file);
    }
    write_others(pw_catalogue_table(catalogue, tables[kind]), &all, file);
    return PW_OK;
}
