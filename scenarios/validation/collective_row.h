/* A measured collective as a group of GPUs on a cluster. */
#ifndef PW_SCENARIOS_VALIDATION_COLLECTIVE_ROW_H
#define PW_SCENARIOS_VALIDATION_COLLECTIVE_ROW_H

#include "models/collective/bench.h"
#include "scenarios/validation/validation.h"

pw_status collective_benches_create(const pw_validation_context *context, pw_benches **benches, pw_error *error);
/* Builds what the rows need. Not for several threads; collective_row_of afterwards is. */
void collective_benches_add(pw_benches *benches, const pw_measured *input);

typedef struct collective_row {
    const pw_bench *bench; /* NULL: the prediction says why the row cannot run */
    pw_collective_kind kind;
    double bytes, measured_s;
} collective_row;
/* A cell that is no number is an error with its place. */
pw_status collective_row_of(const pw_benches *benches, const pw_measured *input, uint32_t r, collective_row *row,
                            pw_prediction *prediction, pw_error *error);

#endif
