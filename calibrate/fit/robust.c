/* Iteratively reweighted Levenberg-Marquardt (GSL manual, "Nonlinear Least-Squares Fitting", weighted data). */
#include "calibrate/fit/robust.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <stdlib.h>

#include "sim/math.h"

static const double difference_step = 1e-3; /* in units of the logit: wide against kinks */
static const double logit_limit = 9;        /* guesses at a limit start this far out */
static const double rest_at_limit = 1e-3;   /* share of the range within which a parameter counts as at its limit */
enum { REWEIGHTS = 12, STEPS = 12 };

typedef struct fit {
    const pw_fit_problem *problem;
    size_t free[PW_FIT_MAX_PARAMETERS], count;
    double *predicted, *ahead, *behind;
    bool failed;
} fit;

static double from_logit(double x, double low, double high) {
    double share = 1 / (1 + pw_exp(-x));
    return low * pw_exp(share * pw_log(high / low));
}

static double to_logit(double value, double low, double high) {
    double share = pw_log(value / low) / pw_log(high / low);
    double x = pw_log(share) - pw_log(1 - share);
    return fmax(-logit_limit, fmin(logit_limit, x));
}

static void natural(const fit *f, const gsl_vector *x, double *values) {
    const pw_fit_problem *p = f->problem;
    for (size_t i = 0; i < p->parameters; i++) values[i] = p->guess[i];
    for (size_t i = 0; i < f->count; i++) {
        size_t k = f->free[i];
        values[k] = from_logit(gsl_vector_get(x, i), p->low[k], p->high[k]);
    }
}

/* Logarithmic residuals at x into out. */
static void residuals(fit *f, const gsl_vector *x, double *out) {
    double values[PW_FIT_MAX_PARAMETERS];
    natural(f, x, values);
    f->problem->predict(f->problem->context, values, out);
    for (size_t i = 0; i < f->problem->rows; i++) {
        if (!(out[i] > 0) || isinf(out[i])) f->failed = true;
        out[i] = f->failed ? 0 : pw_log(out[i] / f->problem->measured[i]);
    }
}

static int function(const gsl_vector *x, void *context, gsl_vector *out) {
    fit *f = context;
    residuals(f, x, f->predicted);
    for (size_t i = 0; i < f->problem->rows; i++) gsl_vector_set(out, i, f->predicted[i]);
    return f->failed ? GSL_EBADFUNC : GSL_SUCCESS;
}

static int derivative(const gsl_vector *x, void *context, gsl_matrix *out) {
    fit *f = context;
    double place[PW_FIT_MAX_PARAMETERS];
    gsl_vector_view moved = gsl_vector_view_array(place, f->count);
    for (size_t j = 0; j < f->count; j++) {
        gsl_vector_memcpy(&moved.vector, x);
        gsl_vector_set(&moved.vector, j, gsl_vector_get(x, j) + difference_step);
        residuals(f, &moved.vector, f->ahead);
        gsl_vector_set(&moved.vector, j, gsl_vector_get(x, j) - difference_step);
        residuals(f, &moved.vector, f->behind);
        for (size_t i = 0; i < f->problem->rows; i++)
            gsl_matrix_set(out, i, j, (f->ahead[i] - f->behind[i]) / (2 * difference_step));
    }
    return f->failed ? GSL_EBADFUNC : GSL_SUCCESS;
}

static double robust_cost(const fit *f, const double *residual) {
    double knee = f->problem->knee, sum = 0;
    for (size_t i = 0; i < f->problem->rows; i++) {
        double z = residual[i] / knee;
        sum += 2 * knee * knee * (sqrt(1 + z * z) - 1);
    }
    return sum;
}

/* Reweights and steps from x, in place. Returns the cost. */
static double descend(fit *f, gsl_multifit_nlinear_workspace *work, gsl_multifit_nlinear_fdf *system, gsl_vector *x,
                      gsl_vector *weights) {
    size_t rows = f->problem->rows;
    double knee = f->problem->knee;
    for (int round = 0; round < REWEIGHTS && !f->failed; round++) {
        residuals(f, x, f->ahead);
        for (size_t i = 0; i < rows; i++) {
            double z = f->ahead[i] / knee;
            gsl_vector_set(weights, i, 1 / sqrt(1 + z * z));
        }
        if (gsl_multifit_nlinear_winit(x, weights, system, work)) break;
        int info;
        int status = gsl_multifit_nlinear_driver(STEPS, 1e-8, 1e-10, 0, NULL, NULL, &info, work);
        gsl_vector_memcpy(x, gsl_multifit_nlinear_position(work));
        if (status != GSL_SUCCESS && status != GSL_EMAXITER && status != GSL_ENOPROG) break;
    }
    residuals(f, x, f->ahead);
    return robust_cost(f, f->ahead);
}

/* A number in (-1, 1) for start s and parameter i: a Weyl sequence, so that starts spread evenly. */
static double spread(int s, size_t i) {
    double t = (s * 7 + 1) * (0.6180339887498949 + 0.1 * (double)i);
    return s == 0 ? 0 : 2 * (t - floor(t)) - 1;
}

static void spread_of_result(const fit *f, gsl_multifit_nlinear_workspace *work, const gsl_vector *x,
                             pw_fit_result *result) {
    const pw_fit_problem *p = f->problem;
    gsl_matrix *covariance = gsl_matrix_alloc(f->count, f->count);
    if (!covariance) return;
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 1e-10, covariance);
    double chi2;
    gsl_blas_ddot(gsl_multifit_nlinear_residual(work), gsl_multifit_nlinear_residual(work), &chi2);
    double variance = chi2 / (double)(p->rows > f->count ? p->rows - f->count : 1);
    double scale[PW_FIT_MAX_PARAMETERS]; /* d log(value) / dx */
    for (size_t i = 0; i < f->count; i++) {
        size_t k = f->free[i];
        double share = 1 / (1 + pw_exp(-gsl_vector_get(x, i)));
        scale[i] = share * (1 - share) * pw_log(p->high[k] / p->low[k]);
        result->fitted[k] = share > rest_at_limit && share < 1 - rest_at_limit;
        if (!result->fitted[k]) result->value[k] = share < 0.5 ? p->low[k] : p->high[k];
    }
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < f->count; j++) {
            size_t k = f->free[i], l = f->free[j];
            if (!result->fitted[k] || !result->fitted[l]) continue;
            result->covariance[k][l] = variance * scale[i] * scale[j] * gsl_matrix_get(covariance, i, j);
            if (i == j) result->error[k] = result->value[k] * sqrt(result->covariance[k][k]);
        }
    gsl_matrix_free(covariance);
}

pw_status pw_fit_robust(const pw_fit_problem *problem, pw_fit_result *result, pw_error *error) {
    fit f = {.problem = problem};
    *result = (pw_fit_result){.cost = INFINITY};
    for (size_t i = 0; i < problem->parameters; i++)
        if (!problem->held[i]) f.free[f.count++] = i;
    if (problem->rows < f.count || problem->rows == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "measure more shapes", "%zu rows cannot fix %zu parameters", problem->rows,
                       f.count);
    for (size_t i = 0; i < problem->parameters; i++) result->value[i] = problem->guess[i];
    if (f.count == 0) return PW_OK;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, problem->rows, f.count);
    gsl_vector *x = gsl_vector_alloc(f.count), *best = gsl_vector_alloc(f.count), *weights = gsl_vector_alloc(problem->rows);
    f.predicted = malloc(3 * problem->rows * sizeof *f.predicted);
    pw_status status = PW_OK;
    if (!work || !x || !best || !weights || !f.predicted) {
        status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a fit of %zu rows", problem->rows);
    } else {
        f.ahead = f.predicted + problem->rows;
        f.behind = f.ahead + problem->rows;
        gsl_multifit_nlinear_fdf system = {
            .f = function, .df = derivative, .n = problem->rows, .p = f.count, .params = &f};
        for (int start = 0; start < problem->starts && !f.failed; start++) {
            for (size_t i = 0; i < f.count; i++) {
                size_t k = f.free[i];
                gsl_vector_set(x, i, to_logit(problem->guess[k], problem->low[k], problem->high[k]) + spread(start, i));
            }
            double cost = descend(&f, work, &system, x, weights);
            if (cost < result->cost) {
                result->cost = cost;
                gsl_vector_memcpy(best, x);
            }
        }
        if (!f.failed) { /* once more from the best point, for its Jacobian */
            result->cost = descend(&f, work, &system, best, weights);
            natural(&f, best, result->value);
            spread_of_result(&f, work, best, result);
        }
        if (f.failed)
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a prediction during the fit is not a positive number");
    }
    free(f.predicted);
    gsl_vector_free(weights);
    gsl_vector_free(best);
    gsl_vector_free(x);
    if (work) gsl_multifit_nlinear_free(work);
    gsl_set_error_handler(handler);
    return status;
}
