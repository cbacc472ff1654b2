/* Parameters that only whole training steps show: the clock that a GPU sustains (power), and the factor of a software
 * stack. Fitted on fit rows alone: each row gives the value at which its prediction meets the measurement; the parameter
 * is their median, whole families weighing the same.
 */
#ifndef PW_SCENARIOS_VALIDATION_REFIT_H
#define PW_SCENARIOS_VALIDATION_REFIT_H

#include "scenarios/validation/validation.h"

typedef enum pw_refit_kind {
    PW_REFIT_CLOCKS, /* sustained clock over reference clock, per GPU and precision */
    PW_REFIT_STACKS  /* factor on kernel and host time, per stack, at the clocks on file */
} pw_refit_kind;

typedef struct pw_refit_group {
    const char *name;            /* "H100-SXM5-80GB fp8", "nemo-2024" */
    const char *device, *width;  /* clocks; NULL for stacks */
    uint32_t rows, families;
    double value, low, high;     /* weighted median and the quartiles over families */
} pw_refit_group;

/* Fits over the fit rows that ship. Groups in order of name; everything lives in arena. */
pw_status pw_refit_run(pw_refit_kind kind, const pw_catalogue *catalogue, const volatile int *interrupt, pw_arena *arena,
                       const pw_refit_group **groups, uint32_t *count, pw_error *error);

#endif
