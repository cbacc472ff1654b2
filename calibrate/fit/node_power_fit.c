/* Levenberg-Marquardt of GSL on residuals whose squares are the terms of the sum, in units of the priors' spreads. */
#include "calibrate/fit/node_power_fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/fit/fit.h"
#include "sim/file.h"
#include "sim/math.h"
#include "sim/stats.h"

static const double load_scale = 0.01, idle_scale = 0.05;
static const char any_task[] = "draw of any task";
enum { ITERATIONS = 200 };

typedef struct shared_name {
    const char *name;
    size_t offset;
    double low, high;
} shared_name;
static const shared_name shared[] = {
#define SHARED(field, name, low, high) {name, offsetof(pw_node_parameters, field), low, high},
    PW_NODE_POWER_MAP(SHARED)
#undef SHARED
};
_Static_assert(sizeof shared / sizeof *shared == PW_NODE_SHARED, "every shared figure is fitted");

static double *field_of(pw_node_parameters *parameters, int i) { return (double *)((char *)parameters + shared[i].offset); }

static const char *draw_name(const char *task, char text[PW_NODE_NAME + 16]) {
    snprintf(text, PW_NODE_NAME + 16, "draw of %s", task);
    return text;
}

pw_status pw_node_values_read(const pw_catalogue *catalogue, const pw_node_rows *rows, pw_node_values *values, pw_error *error) {
    const pw_table *table;
    char name[PW_NODE_NAME + 16];
    *values = (pw_node_values){0};
    PW_TRY(pw_node_parameters_read(catalogue, &values->shared, error));
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
    for (int task = 0; task < rows->tasks; task++) {
        int row = pw_table_find_row(table, draw_name(rows->task[task], name));
        values->draw[task] = 1;
        if (row >= 0) PW_TRY(pw_table_amount_of(table, (size_t)row, "value", &values->draw[task], error));
    }
    for (int i = 0; i < PW_NODE_VALUES; i++) values->error[i] = NAN;
    return PW_OK;
}

double pw_node_row_predict(const pw_node_row *row, const pw_node_values *values) {
    pw_node_load load = {.gpu_W = row->gpu_W, .fan_speed = NAN};
    if (row->task >= 0) {
        load.gpu_W *= values->shared.cap_draw * values->draw[row->task];
        load.host = PW_NODE_HOST_FEEDS;
    }
    pw_node_power_set_parameters(row->model, &values->shared);
    return pw_node_power_at(row->model, &load).wall_W;
}

typedef struct problem {
    const pw_node_rows *rows;
    int without_type, values;
    double prior[PW_NODE_VALUES], spread[PW_NODE_VALUES];
} problem;

static bool takes(const problem *p, const pw_node_row *row) { return row->shapes && !row->check && row->type != p->without_type; }

static pw_status read_priors(const pw_catalogue *catalogue, problem *p, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
    for (int i = 0; i < p->values; i++) {
        const char *name = i < PW_NODE_SHARED ? shared[i].name : any_task;
        int row = pw_table_find_row(table, name);
        if (row < 0) return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, NULL, "there is no row '%s'", name);
        PW_TRY(pw_table_amount_of(table, (size_t)row, "prior", &p->prior[i], error));
        PW_TRY(pw_table_amount_of(table, (size_t)row, "prior_spread", &p->spread[i], error));
        if (!(p->spread[i] > 0))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "give a spread above 0", "the prior of '%s' has no spread", name);
    }
    return PW_OK;
}

static void natural(const problem *p, const gsl_vector *x, pw_node_values *values) {
    for (int i = 0; i < p->values; i++) {
        double value = p->prior[i] + p->spread[i] * gsl_vector_get(x, (size_t)i);
        if (i < PW_NODE_SHARED) *field_of(&values->shared, i) = fmax(shared[i].low, fmin(shared[i].high, value));
        else values->draw[i - PW_NODE_SHARED] = value;
    }
}

static int residuals(const gsl_vector *x, void *context, gsl_vector *out) {
    const problem *p = context;
    pw_node_values values = {0};
    size_t at = 0;
    natural(p, x, &values);
    for (size_t i = 0; i < p->rows->count; i++) {
        const pw_node_row *row = &p->rows->rows[i];
        if (!takes(p, row)) continue;
        double e = pw_node_row_predict(row, &values) / row->measured_W - 1, scaled = e / load_scale;
        gsl_vector_set(out, at++, row->task < 0 ? e / idle_scale : copysign(sqrt(pw_log(1 + scaled * scaled)), e));
    }
    for (int i = 0; i < p->values; i++) gsl_vector_set(out, at++, gsl_vector_get(x, (size_t)i));
    return GSL_SUCCESS;
}

static pw_status solve(problem *p, size_t count, gsl_multifit_nlinear_workspace *work, gsl_matrix *covariance, pw_node_values *values,
                       pw_error *error) {
    gsl_multifit_nlinear_fdf system = {.f = residuals, .n = count + (size_t)p->values, .p = (size_t)p->values, .params = p};
    gsl_vector *x = gsl_vector_calloc((size_t)p->values);
    int info;
    if (!x || gsl_multifit_nlinear_init(x, &system, work)) {
        gsl_vector_free(x);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit");
    }
    int status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-8, 1e-7, 0, NULL, NULL, &info, work);
    natural(p, gsl_multifit_nlinear_position(work), values);
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, covariance);
    for (int i = 0; i < p->values; i++)
        values->error[i] = p->spread[i] * sqrt(gsl_matrix_get(covariance, (size_t)i, (size_t)i));
    gsl_vector_free(x);
    if (status != GSL_SUCCESS && status != GSL_ENOPROG)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "look for rows that contradict each other", "the fit of nodes does not settle");
    return PW_OK;
}

pw_status pw_node_values_fit(const pw_catalogue *catalogue, const pw_node_rows *rows, int without_type, pw_node_values *values,
                             pw_error *error) {
    problem p = {.rows = rows, .without_type = without_type, .values = PW_NODE_SHARED + rows->tasks};
    size_t count = 0;
    *values = (pw_node_values){0};
    PW_TRY(read_priors(catalogue, &p, error));
    for (size_t i = 0; i < rows->count; i++) count += takes(&p, &rows->rows[i]);
    if (!count) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "there are no nodes to fit");
    gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
    settings.fdtype = GSL_MULTIFIT_NLINEAR_CTRDIFF;
    settings.h_df = 1e-4;
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, count + (size_t)p.values, (size_t)p.values);
    gsl_matrix *covariance = gsl_matrix_alloc((size_t)p.values, (size_t)p.values);
    pw_status status = work && covariance ? solve(&p, count, work, covariance, values, error)
                                          : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit");
    gsl_multifit_nlinear_free(work);
    gsl_matrix_free(covariance);
    values->fitted_rows = count;
    return status;
}

/* ---- the table ---- */

static void write_row(pw_file *file, const char *name, double value, double error, double prior, double spread, size_t rows,
                      const char *provenance, const char *source) {
    char text[PW_NODE_NAME];
    pw_file_csv_text(file, name);
    snprintf(text, sizeof text, "%.4g", value);
    pw_file_csv_text(file, text);
    snprintf(text, sizeof text, "%.2g", error);
    pw_file_csv_text(file, isnan(error) ? "" : text);
    pw_file_csv_number(file, prior);
    pw_file_csv_number(file, spread);
    snprintf(text, sizeof text, "%zu", rows);
    pw_file_csv_text(file, rows ? text : "");
    pw_file_csv_text(file, provenance);
    pw_file_csv_text(file, source);
    pw_file_csv_end(file);
}

/* Text of the present table: a prior's source stays. */
static const char *source_of(const pw_table *table, const char *name) {
    int row = pw_table_find_row(table, name);
    return row < 0 ? "" : pw_table_text_of(table, (size_t)row, "source");
}

static pw_status write_table(const pw_catalogue *catalogue, const char *folder, const pw_node_rows *rows, const pw_node_values *values,
                             pw_error *error) {
    const pw_table *table;
    char path[1024], name[PW_NODE_NAME + 16];
    pw_file *file;
    problem p = {.rows = rows, .values = PW_NODE_SHARED + 1};
    PW_TRY(read_priors(catalogue, &p, error));
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
    snprintf(path, sizeof path, "%s/node-power-parameters.csv", folder);
    PW_TRY(pw_file_create(path, NULL, &file, error));
    pw_file_text(file, "# What the power of all servers shares; podwright-fit node-power writes this file. prior: what was held likely before any\n"
                       "# measurement was looked at, and how far it may be off; the source says why. fan constant: kW at full speed of a box of 1 kW in one\n"
                       "# rack unit. draw of TASK: factor of cap draw for one benchmark.\n");
    pw_file_text(file, "name,value [ratio],error [ratio],prior [ratio],prior_spread [ratio],fitted_rows [count],provenance,source\n");
    for (int i = 0; i < PW_NODE_SHARED; i++) {
        pw_node_parameters copy = values->shared;
        write_row(file, shared[i].name, *field_of(&copy, i), values->error[i], p.prior[i], p.spread[i], values->fitted_rows, "FITTED",
                  source_of(table, shared[i].name));
    }
    write_row(file, any_task, 1, NAN, p.prior[PW_NODE_SHARED], p.spread[PW_NODE_SHARED], 0, "ASSUMED", source_of(table, any_task));
    for (int task = 0; task < rows->tasks; task++) {
        size_t of_task = 0;
        for (size_t i = 0; i < rows->count; i++) of_task += rows->rows[i].task == task && rows->rows[i].shapes && !rows->rows[i].check;
        if (!of_task) continue;
        write_row(file, draw_name(rows->task[task], name), values->draw[task], values->error[PW_NODE_SHARED + task], p.prior[PW_NODE_SHARED],
                  p.spread[PW_NODE_SHARED], of_task, "FITTED", "MLPerf Inference nodes of power-measured.csv, fit families");
    }
    return pw_file_commit(file, error);
}

static void report_side(FILE *report, const char *what, const double *errors, size_t count) {
    double sum = 0, bias = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(errors[i]);
        bias += errors[i];
        worst = fmax(worst, fabs(errors[i]));
    }
    if (count)
        fprintf(report, "%-40s n %3zu  bias %+6.2f %%  mean %5.2f %%  worst %6.2f %%\n", what, count, 100 * bias / (double)count,
                100 * sum / (double)count, 100 * worst);
}

/* Of one type and side, loads or idle. */
static pw_status report_type(FILE *report, const pw_node_rows *rows, const pw_node_values *values, int type, int side, bool idle,
                             pw_error *error) {
    double *errors = pw_alloc(rows->allocator, (rows->count + 1) * sizeof *errors);
    size_t count = 0;
    char what[PW_NODE_NAME + 32];
    if (!errors) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the report");
    for (size_t i = 0; i < rows->count; i++) {
        const pw_node_row *row = &rows->rows[i];
        if ((type < 0 ? !row->shapes : row->type != type) || (side >= 0 && row->check != side) || (row->task < 0) != idle) continue;
        errors[count++] = pw_node_row_predict(row, values) / row->measured_W - 1;
    }
    snprintf(what, sizeof what, "%s%s, %s", type < 0 ? "all that may shape" : rows->type[type], idle ? " idle" : "",
             side < 0 ? "left out" : side ? "check" : "fit");
    report_side(report, what, errors, count);
    pw_free(rows->allocator, errors, (rows->count + 1) * sizeof *errors);
    return PW_OK;
}

static pw_status fit_and_report(const pw_catalogue *catalogue, const pw_fit_paths *paths, const pw_node_rows *rows, FILE *report,
                                pw_error *error) {
    pw_node_values values, without;
    PW_TRY(pw_node_values_fit(catalogue, rows, -1, &values, error));
    for (int idle = 0; idle < 2; idle++)
        for (int type = 0; type < rows->types; type++) {
            for (int side = 0; side < 2; side++) PW_TRY(report_type(report, rows, &values, type, side, idle, error));
            PW_TRY(pw_node_values_fit(catalogue, rows, type, &without, error));
            PW_TRY(report_type(report, rows, &without, type, -1, idle, error));
        }
    for (int side = 0; side < 2; side++) PW_TRY(report_type(report, rows, &values, -1, side, false, error));
    return write_table(catalogue, paths->folder, rows, &values, error);
}

pw_status pw_fit_node_power(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    char path[1024];
    pw_node_rows rows;
    snprintf(path, sizeof path, "%s/power-measured.csv", paths->data);
    PW_TRY(pw_node_rows_read(catalogue, path, paths->split, &rows, error));
    pw_status status = fit_and_report(catalogue, paths, &rows, report, error);
    pw_node_rows_free(&rows);
    return status;
}
