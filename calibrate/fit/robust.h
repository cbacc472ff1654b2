/* A robust least-squares fit of logarithms: the middle of all programs in this folder.
 *
 * Minimises sum of rho(log predicted - log measured) with rho(r) = 2 f^2 (sqrt(1 + (r/f)^2) - 1), which is r^2 for small
 * errors and 2 f |r| for large ones: a few odd rows do not bend the fit. Each parameter stays between its limits (it is
 * fitted as the logit of its place between them on a logarithmic scale). The kernels' minimum over tiles makes the
 * function continuous with kinks, so derivatives are central differences with a wide step, and the fit starts from
 * several points. GSL's trust-region solver does the steps; weights are renewed around it.
 */
#ifndef PW_CALIBRATE_FIT_ROBUST_H
#define PW_CALIBRATE_FIT_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/memory.h"
#include "sim/status.h"

enum { PW_FIT_MAX_PARAMETERS = 32 };

typedef struct pw_fit_problem {
    size_t rows, parameters; /* parameters <= PW_FIT_MAX_PARAMETERS */
    const double *low, *high, *guess;
    const bool *held;        /* a held parameter keeps its guess */
    const double *measured;  /* one per row, > 0 */
    /* Predicted value of every row, > 0, for parameters in their natural units. */
    void (*predict)(void *context, const double *parameters, double *predicted);
    void *context;
    double knee; /* f above, as a log ratio; 0.05 is 5 % */
    int starts;  /* 1 or more */
} pw_fit_problem;

typedef struct pw_fit_result {
    double value[PW_FIT_MAX_PARAMETERS];
    bool fitted[PW_FIT_MAX_PARAMETERS]; /* false: held, or came to rest at a limit; it has no error then */
    double error[PW_FIT_MAX_PARAMETERS]; /* standard error, in the unit of the value */
    double covariance[PW_FIT_MAX_PARAMETERS][PW_FIT_MAX_PARAMETERS]; /* of the logarithms; 0 where not fitted */
    double cost;
} pw_fit_result;

/* Fails with PW_BAD_INPUT when there are fewer rows than parameters or a prediction is not a positive number. */
pw_status pw_fit_robust(const pw_fit_problem *problem, pw_fit_result *result, pw_error *error);

#endif
