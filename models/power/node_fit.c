/* Levenberg-Marquardt of GSL on residuals whose squares are the terms of the sum, in units of the priors' spreads. */
#include "models/power/node_fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/math.h"

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

const char *pw_node_shared_name(int i) { return i < PW_NODE_SHARED ? shared[i].name : any_task; }
double pw_node_shared_value(const pw_node_values *values, int i) { return *(const double *)((const char *)&values->shared + shared[i].offset); }

const char *pw_node_draw_name(const char *task, char text[PW_NODE_NAME + 16]) {
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
        int row = pw_table_find_row(table, pw_node_draw_name(rows->task[task], name));
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

pw_status pw_node_prior(const pw_catalogue *catalogue, int i, double *prior, double *spread, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
    int row = pw_table_find_row(table, pw_node_shared_name(i));
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, NULL, "there is no row '%s'", pw_node_shared_name(i));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "prior", prior, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "prior_spread", spread, error));
    if (*spread > 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "give a spread above 0",
                   "the prior of '%s' has no spread", pw_node_shared_name(i));
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
    for (int i = 0; i < p.values; i++) PW_TRY(pw_node_prior(catalogue, i < PW_NODE_SHARED ? i : PW_NODE_SHARED, &p.prior[i], &p.spread[i], error));
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
