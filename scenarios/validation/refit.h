/* Parameters that only whole training steps show: the clock that a GPU sustains (power, and what the kernel model misses),
 * and the factor of a software stack. Fitted on fit rows alone: each row gives the value at which its prediction meets the
 * measurement; the parameter is their median, whole families weighing the same.
 *
 * Rows whose source judges.csv lists, beside the splits, shape nothing whatever side they are on: the table says why.
 *
 * Runs that gather sharded weights in every layer (ZeRO-2 and 3, FSDP), have experts, are no decoders or train a part of the
 * weights shape no clock, and the factor of their stack only where it has fewer than PW_REFIT_LEAST others.
 *
 * A parameter needs at least PW_REFIT_LEAST rows of its own. A GPU with fewer takes the value of its architecture, over all
 * GPUs of it; a stack with fewer has no factor.
 */
#ifndef PW_SCENARIOS_VALIDATION_REFIT_H
#define PW_SCENARIOS_VALIDATION_REFIT_H

#include "scenarios/validation/validation.h"

typedef enum pw_refit_kind {
    PW_REFIT_CLOCKS, /* sustained clock over reference clock, per architecture or GPU, and width of operands */
    PW_REFIT_STACKS, /* factor on kernel and host time, per stack, at the clocks on file */
    PW_REFIT_PACE    /* pace of arithmetic at the clocks that power gives, per architecture or GPU, and width of operands */
} pw_refit_kind;

enum { PW_REFIT_LEAST = 5 };

/* Fits over the fit rows that ship and writes the catalogue's table (training-clocks.csv, stack-factors.csv or training-pace.csv): fitted
 * rows in order of name, then the rows of the present table that nothing was fitted for and that are not FITTED. */
pw_status pw_refit_write(pw_refit_kind kind, const pw_catalogue *catalogue, const volatile int *interrupt, pw_file *file,
                         pw_arena *arena, pw_error *error);

#endif
