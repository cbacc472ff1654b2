/* The training suite: a measured row becomes a cluster and a job, and runs through the simulator as a user's would. */
#include <math.h>
#include <string.h>

#include "models/workload/stack.h"
#include "scenarios/validation/training_row.h"

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    training_state *state = pw_arena_alloc(context->arena, sizeof *state);
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    context->state = state;
    PW_TRY(pw_layout_table(context, "software.csv", &state->software, error));
    PW_TRY(pw_layout_table(context, "systems.csv", &state->systems, error));
    PW_TRY(pw_layout_table(context, "layouts.csv", &state->layouts, error));
    PW_TRY(pw_layout_table(context, "experts.csv", &state->experts, error));
    PW_TRY(pw_layout_table(context, "sharding.csv", &state->sharding, error));
    PW_TRY(pw_layout_table(context, "tasks.csv", &state->tasks, error));
    PW_TRY(pw_layout_table(context, "formats.csv", &state->formats, error));
    PW_TRY(pw_layout_table(context, "padding.csv", &state->padding, error));
    return baseline_prepare(context, state, error);
}

/* --- Prediction ---------------------------------------------------------------------------------------------------- */

pw_status pw_training_run(const pw_validation_context *context, const pw_training_row *row, double factor, double clock_ratio,
                          pw_arena *arena, pw_train_result *result, pw_error *error) {
    pw_train_options options = {
        .ignore_memory = true, .interrupt = context->interrupt, .kernel_time_factor = factor, .clock_ratio = clock_ratio};
    return pw_train_run(pw_allocator_default(), context->catalogue, &row->cluster, &row->job, &options, NULL, 0, arena, result,
                        error);
}

pw_status pw_training_predict(const pw_validation_context *context, const pw_training_row *row, double factor,
                              double clock_ratio, double *step_s, pw_error *error) {
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_train_result result;
    pw_status status = pw_training_run(context, row, factor, clock_ratio, arena, &result, error);
    if (status == PW_OK) *step_s = result.step_s;
    pw_arena_destroy(arena);
    return status;
}

pw_status pw_training_describe(const pw_validation_context *context, uint32_t row, pw_arena *arena, pw_training_row *out,
                               pw_prediction *prediction, bool *runs, pw_error *error) {
    return describe(context, context->input, row, arena, out, prediction, runs, error);
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_training_row described = {0};
    bool runs = false;
    prediction->side = pw_validation_side(context->split, context->input, row);
    pw_status status = describe(context, context->input, row, arena, &described, prediction, &runs, error);
    if (status == PW_OK && runs) {
        pw_error failure = {0};
        pw_stack stack;
        status = pw_training_predict(context, &described, 1, 0, &prediction->plain, &failure);
        if (status == PW_OK)
            status = pw_stack_read(context->catalogue, described.stack, described.device, &stack, NULL, 0, &failure);
        pw_train_result result;
        if (status == PW_OK)
            status = pw_training_run(context, &described, stack.kernel_time_factor, 0, arena, &result, &failure);
        if (status == PW_OK) {
            prediction->stack = result.step_s;
            prediction->step_class = result.interval.step_class;
            if (!isnan(result.interval.low_s)) prediction->low = result.interval.low_s, prediction->high = result.interval.high_s;
        }
        prediction->baseline = baseline_seconds(context->state, &described);
        prediction->ran = status == PW_OK;
        if (status == PW_UNSUPPORTED || status == PW_BAD_INPUT || status == PW_NOT_FOUND || status == PW_DOES_NOT_FIT) {
            status = PW_OK;
            skip(prediction, "%.390s", failure.what);
        } else if (status != PW_OK && error) {
            *error = failure;
        }
    }
    pw_arena_destroy(arena);
    return status;
}

static const char *const required[] = {"id", "layers", "hidden", "heads", "vocab", "seq_len", "gpu", "n_gpus", "tp", "pp",
                                       "dp", "mbs", "gbs", "precision", "step_time_s", NULL};
static const char *const by[] = {"side", "source", "gpu", NULL};
const pw_suite pw_suite_training = {
    .name = "training",
    .text = "training steps, predicted against published step times",
    .unit = "s",
    .file = "training-measured.csv",
    .split = "split-training.csv",
    .required = required,
    .by = by,
    .baseline = "one MFU per GPU and precision, the median over fit rows (every source weighing the same)",
    .prepare = prepare,
    .predict = predict,
    .interval = true,
};
