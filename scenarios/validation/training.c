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
    PW_TRY(pw_layout_table(context, "convnet-software.csv", &state->convnet_software, error));
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
    pw_run_options options = {
        .ignore_memory = true, .interrupt = context->interrupt, .kernel_time_factor = factor, .clock_ratio = clock_ratio};
    return pw_train_run(pw_allocator_default(), context->catalogue, &row->cluster, &row->job, &options, NULL, 0, arena, result,
                        error);
}

pw_status pw_training_predict(const pw_validation_context *context, const pw_training_row *row, double factor,
                              double clock_ratio, double *step_s, pw_error *error) {
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_train_result result;
    pw_convnet_result images;
    if (row->recommender) {
        pw_status ran = recommender_run(context, row, factor, clock_ratio, arena, step_s, error);
        pw_arena_destroy(arena);
        return ran;
    }
    pw_status status = row->convnet ? convnet_run(context, row, factor, clock_ratio, arena, &images, error)
                                    : pw_training_run(context, row, factor, clock_ratio, arena, &result, error);
    if (status == PW_OK) *step_s = row->convnet ? images.step_s : result.step_s;
    pw_arena_destroy(arena);
    return status;
}

pw_status pw_training_describe(const pw_validation_context *context, uint32_t row, pw_arena *arena, pw_training_row *out,
                               pw_prediction *prediction, bool *runs, pw_error *error) {
    return describe(context, context->input, row, arena, out, prediction, runs, error);
}

static void take_step(pw_prediction *prediction, double step_s, const pw_interval *interval) {
    prediction->stack = step_s;
    prediction->step_class = interval->step_class;
    if (!isnan(interval->low_s)) prediction->low = interval->low_s, prediction->high = interval->high_s;
}

/* With the stack's factor, and an interval where one is on file. */
static pw_status predict_with_stack(const pw_validation_context *context, const pw_training_row *row, pw_arena *arena,
                                    pw_prediction *prediction, pw_error *error) {
    if (row->recommender) {
        double factor;
        PW_TRY(recommender_factor(context, row, &factor, error));
        prediction->step_class = "";
        return recommender_run(context, row, factor, 0, arena, &prediction->stack, error);
    }
    if (row->convnet) {
        pw_convnet_result images;
        double factor;
        PW_TRY(convnet_factor(context, row, &factor, error));
        PW_TRY(convnet_run(context, row, factor, 0, arena, &images, error));
        take_step(prediction, images.step_s, &images.interval);
        return PW_OK;
    }
    pw_stack stack;
    pw_train_result result;
    PW_TRY(pw_stack_read(context->catalogue, row->stack, row->device, &stack, NULL, 0, error));
    PW_TRY(pw_training_run(context, row, stack.kernel_time_factor, 0, arena, &result, error));
    take_step(prediction, result.step_s, &result.interval);
    return PW_OK;
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
        status = pw_training_predict(context, &described, 1, 0, &prediction->plain, &failure);
        if (status == PW_OK) status = predict_with_stack(context, &described, arena, prediction, &failure);
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
    .baseline = "one MFU per GPU and precision, for convolutional networks and recommenders their own: the median over fit rows (every source weighing the same)",
    .prepare = prepare,
    .predict = predict,
    .interval = true,
};
