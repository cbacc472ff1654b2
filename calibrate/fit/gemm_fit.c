#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/tables.h"
#include "models/gpu/gemm.h"
#include "models/gpu/parameters.h"
#include "models/gpu/traffic.h"

static const double knee = 0.05; /* errors beyond 5 % count linearly */
static const char source[] = "fitted by podwright-fit to the fit rows of tests/validation/data/kernel-gemm.csv "
                             "(ai-dynamo/aiconfigurator, Apache-2.0)";

#define TIME(column) (!strcmp(column, "start") || !strcmp(column, "split") || !strcmp(column, "cast"))

enum {
#define COUNT(field, column, low, high, guess, text) gemm_##field,
    PW_GEMM_PARAMETER_MAP(COUNT)
#undef COUNT
    GEMM_PARAMETERS
};
enum {
#define COUNT(field, column, low, high, guess, text) traffic_##field,
    PW_TRAFFIC_PARAMETER_MAP(COUNT)
#undef COUNT
    TRAFFIC_PARAMETERS
};

static const pw_fit_parameter gemm_parameters[] = {
#define ENTRY(field, column, low, high, guess, text) {column, text, "", 1, low, high, guess},
    PW_GEMM_PARAMETER_MAP(ENTRY)};
static const pw_fit_parameter traffic_parameters[] = {PW_TRAFFIC_PARAMETER_MAP(ENTRY)
#undef ENTRY
};

/* Times are written in microseconds. */
static void with_units(const pw_fit_parameter *plain, size_t count, pw_fit_parameter *result) {
    for (size_t i = 0; i < count; i++) {
        result[i] = plain[i];
        if (!TIME(plain[i].name)) continue;
        result[i].unit = "us";
        result[i].scale = 1e6;
    }
}

/* The rows of one fit, and the device they ran on. */
typedef struct context {
    const pw_kernel_row **rows;
    size_t count;
    pw_gemm_machine machine;
    double device_Bps;
    bool casts;
} context;

static void predict_gemm(void *pointer, const double *values, double *predicted) {
    const context *c = pointer;
    pw_gemm_parameters parameters;
    pw_gemm_model model;
    memcpy(&parameters, values, sizeof parameters);
    pw_gemm_prepare(&parameters, &c->machine, &model);
    for (size_t i = 0; i < c->count; i++) {
        pw_kernel_cost cost;
        pw_gemm_cost(&model, 1, c->rows[i]->m, c->rows[i]->n, c->rows[i]->k, 2, c->casts, 1, c->machine.sms, &cost);
        predicted[i] = cost.total_s;
    }
}

static void predict_traffic(void *pointer, const double *values, double *predicted) {
    const context *c = pointer;
    const pw_traffic_parameters parameters = {values[traffic_start], values[traffic_memory_efficiency]};
    for (size_t i = 0; i < c->count; i++) {
        const pw_kernel_row *row = c->rows[i];
        double bytes = c->machine.element_bytes * (row->m + row->n) * row->k + 2 * row->m * row->n;
        pw_kernel_cost cost;
        pw_traffic_cost(&parameters, c->device_Bps, 0, bytes, 0, 1, 1, 1, &cost);
        predicted[i] = cost.total_s;
    }
}

_Static_assert(sizeof(pw_gemm_parameters) == GEMM_PARAMETERS * sizeof(double), "parameters are one array of numbers");

typedef void predictor(void *, const double *, double *);

typedef struct work {
    const pw_kernel_row **rows;
    double *measured, *predicted;
} work;

static bool work_create(work *w, size_t rows) {
    w->rows = malloc(rows * sizeof *w->rows);
    w->measured = malloc(rows * sizeof *w->measured);
    w->predicted = malloc(rows * sizeof *w->predicted);
    return w->rows && w->measured && w->predicted;
}

static void work_destroy(work *w) {
    free(w->rows);
    free(w->measured);
    free(w->predicted);
}

static context context_of(const pw_fit_group *group) {
    const pw_device *device = group->device;
    return (context){.machine = {.peak_flops = device->peak_flops[group->precision],
                                 .peak16_flops = pw_device_peak16(device),
                                 .sms = device->sm_count > 0 ? device->sm_count : 1,
                                 .memory_Bps = device->memory_Bps,
                                 .element_bytes = pw_precision_bytes(group->precision)},
                     .device_Bps = device->memory_Bps,
                     .casts = group->precision == PW_PRECISION_FP8};
}

/* What the rows of a fit must be. */
typedef enum selection { FIT_ROWS, CHECK_ROWS, TO_FIT, VECTOR_TO_FIT, VECTOR_CHECK } selection;

/* So few rows and so many columns that the kernel only streams a matrix, with enough blocks to ask for it. */
static bool streams(const pw_kernel_row *row) { return row->m <= 8 && row->n >= 4096; }

static bool selected(const pw_kernel_row *row, selection which) {
    switch (which) {
    case FIT_ROWS: return !row->check;
    case CHECK_ROWS: return row->check;
    case TO_FIT: return !row->check && !row->cached && !row->throttled;
    case VECTOR_TO_FIT: return !row->check && !row->cached && streams(row);
    case VECTOR_CHECK: return row->check && streams(row);
    }
    return false;
}

static void select_rows(const pw_measurements *all, const pw_fit_group *group, selection which, work *w, context *c) {
    c->rows = w->rows;
    c->count = 0;
    for (size_t i = group->first; i < group->first + group->rows; i++)
        if (selected(&all->rows[i], which)) {
            w->measured[c->count] = all->rows[i].seconds;
            w->rows[c->count++] = &all->rows[i];
        }
}

static pw_error_summary errors(const pw_measurements *all, const pw_fit_group *group, selection which, work *w,
                               predictor *predict, const double *values) {
    context c = context_of(group);
    select_rows(all, group, which, w, &c);
    predict(&c, values, w->predicted);
    for (size_t i = 0; i < c.count; i++) w->predicted[i] = w->predicted[i] / w->measured[i] - 1;
    pw_error_summary summary;
    (void)pw_errors_summarise(w->predicted, c.count, NULL, &summary); /* no rows, no memory: a summary of 0 rows */
    return summary;
}

/* Fits one group into rows[done]. Where the layer casts, only the sum of the two start-ups shows in the data: the
 * kernel's own is held at that of the device's fit without casts. */
static pw_status fit_group(const pw_measurements *all, const pw_fit_group *group, selection which, work *w,
                           const pw_fit_parameter *parameters, size_t count, predictor *predict, int starts,
                           pw_fit_row *rows, size_t done, pw_error *error) {
    double low[PW_FIT_MAX_PARAMETERS], high[PW_FIT_MAX_PARAMETERS], guess[PW_FIT_MAX_PARAMETERS];
    bool held[PW_FIT_MAX_PARAMETERS];
    context c = context_of(group);
    select_rows(all, group, which, w, &c);
    pw_fit_row *row = &rows[done];
    *row = (pw_fit_row){.group = group};
    for (size_t i = 0; i < count; i++) {
        low[i] = parameters[i].low;
        high[i] = parameters[i].high;
        guess[i] = parameters[i].guess;
        held[i] = row->absent[i] = !c.casts && !strncmp(parameters[i].name, "cast", 4);
    }
    for (size_t r = 0; r < done && c.casts; r++) {
        if (rows[r].group->device != group->device) continue;
        guess[gemm_start] = rows[r].result.value[gemm_start];
        held[gemm_start] = true;
        snprintf(row->notes, sizeof row->notes, "start held at %s's", pw_precision_names[rows[r].group->precision]);
    }
    pw_fit_problem problem = {.rows = c.count, .parameters = count, .low = low, .high = high, .guess = guess, .held = held,
                              .measured = w->measured, .predict = predict, .context = &c, .knee = knee, .starts = starts};
    PW_TRY(pw_fit_robust(&problem, &row->result, error));
    row->fit = errors(all, group, which, w, predict, row->result.value);
    return PW_OK;
}

typedef struct plan {
    const char *kernel, *kind;
    const pw_fit_parameter *parameters;
    size_t count;
    predictor *predict;
    selection fit, check;
    int starts;
    bool sixteen_bits_only;
} plan;

static pw_status run(const plan *p, const pw_measurements *all, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    pw_fit_parameter parameters[PW_FIT_MAX_PARAMETERS];
    with_units(p->parameters, p->count, parameters);
    work w;
    pw_fit_row *rows = calloc(all->group_count, sizeof *rows);
    pw_status status = PW_OK;
    size_t fitted = 0;
    if (!work_create(&w, all->count) || !rows) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit");
    for (size_t g = 0; g < all->group_count && status == PW_OK; g++) {
        const pw_fit_group *group = &all->groups[g];
        if (!group->primary || (p->sixteen_bits_only && pw_precision_bytes(group->precision) != 2)) continue;
        status = fit_group(all, group, p->fit, &w, parameters, p->count, p->predict, p->starts, rows, fitted, error);
        if (status == PW_OK) fitted++;
    }
    /* other stacks are judged by the parameters of the fitted one */
    for (size_t g = 0; g < all->group_count && status == PW_OK; g++)
        for (size_t r = 0; r < fitted; r++) {
            const pw_fit_group *group = &all->groups[g];
            if (rows[r].group->device != group->device || rows[r].group->precision != group->precision) continue;
            pw_error_summary fit = errors(all, group, p->fit == TO_FIT ? FIT_ROWS : p->fit, &w, p->predict, rows[r].result.value);
            pw_error_summary check = errors(all, group, p->check, &w, p->predict, rows[r].result.value);
            pw_fit_report_line(report, p->kernel, group, "fit", &fit);
            pw_fit_report_line(report, p->kernel, group, "check", &check);
        }
    if (status == PW_OK) status = pw_fit_write_tables(paths->folder, p->kind, parameters, p->count, rows, fitted, source, error);
    work_destroy(&w);
    free(rows);
    return status;
}

static pw_status read_and_run(const plan *p, const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report,
                              pw_error *error) {
    char data[512], split[512], loops[512];
    pw_measurements all;
    snprintf(data, sizeof data, "%s/kernel-gemm.csv", paths->data);
    snprintf(loops, sizeof loops, "%s/kernel-loops.csv", paths->split);
    snprintf(split, sizeof split, "%s/split-gemm.csv", paths->split);
    PW_TRY(pw_measurements_read_gemm(data, split, loops, paths->stack, catalogue, &all, error));
    pw_status status = run(p, &all, paths, report, error);
    pw_measurements_free(&all);
    return status;
}

pw_status pw_fit_gemm(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    static const plan p = {"gemm", "kernel-gemm", gemm_parameters, GEMM_PARAMETERS, predict_gemm, TO_FIT, CHECK_ROWS, 5, false};
    return read_and_run(&p, catalogue, paths, report, error);
}

pw_status pw_fit_traffic(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    static const plan p = {"traffic", "kernel-traffic", traffic_parameters, TRAFFIC_PARAMETERS, predict_traffic,
                           VECTOR_TO_FIT, VECTOR_CHECK, 1, true};
    return read_and_run(&p, catalogue, paths, report, error);
}
