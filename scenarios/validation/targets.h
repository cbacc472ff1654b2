/* Targets: what the check rows should show, as a table; reached or missed, beside the baseline on the same rows.
 *
 * targets.csv beside the splits lists them: name, suite, only (conditions joined by ";"), variant (plain or stack), statistic
 * and limit, and what is missing where the target is missed. Conditions are COLUMN=VALUE[,VALUE...] and COLUMN>=NUMBER; "flops" is a column of the gemm suite.
 */
#ifndef PW_SCENARIOS_VALIDATION_TARGETS_H
#define PW_SCENARIOS_VALIDATION_TARGETS_H

#include "scenarios/validation/validation.h"

typedef struct pw_target {
    const char *name, *statistic; /* mape, absolute (in hundredths of the unit), median, p90, worst, bias (in %), right (of 1), within, beats (median over the baseline's) */
    const char *missing;          /* what the model lacks there and which data would settle it; "": not known */
    double limit, high;           /* at most limit; right: at least; within: between limit and high */
    double reached, baseline;     /* NaN: no row ran; no baseline of it */
    uint32_t n;
    bool met;
} pw_target;

/* Runs every suite that the table names, once. Everything lives in arena. */
pw_status pw_targets_run(const pw_catalogue *catalogue, const volatile int *interrupt, pw_arena *arena, const pw_target **targets,
                         uint32_t *count, pw_error *error);
void pw_targets_write(const pw_target *targets, uint32_t count, pw_file *out);

#endif
