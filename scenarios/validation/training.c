/* The training suite: a measured row becomes a cluster and a job, and runs through the simulator as a user's would. */
#include <math.h>
#include <string.h>

#include "models/workload/stack.h"
#include "scenarios/validation/training_row.h"

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    training_state *state = pw_arena_alloc(context->arena, sizeof *state);
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    context->state = state;
    state->power = false;
    training_memo_start(&state->memo);
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

static void take(pw_training_answer *answer, double step_s, const pw_interval *interval) {
    *answer = (pw_training_answer){step_s, interval->step_class, interval->low_s, interval->high_s};
}

static pw_status run(const pw_validation_context *context, const pw_training_row *row, double factor, double clock_ratio,
                     pw_arena *arena, pw_training_answer *answer, pw_error *error) {
    const pw_allocator *allocator = pw_allocator_default();
    const pw_catalogue *catalogue = context->catalogue;
    const pw_run_options options = {
        .ignore_memory = true, .interrupt = context->interrupt, .kernel_time_factor = factor, .clock_ratio = clock_ratio, .pace = row->pace,
        .power = ((const training_state *)context->state)->power};
    if (row->convnet) {
        pw_convnet_result ran;
        PW_TRY(pw_convnet_run(allocator, catalogue, &row->cluster, row->convnet, &options, NULL, 0, arena, &ran, error));
        take(answer, ran.step_s, &ran.interval);
    } else if (row->recommender) {
        pw_recommender_result ran;
        PW_TRY(pw_recommender_run(allocator, catalogue, &row->cluster, row->recommender, &options, NULL, 0, arena, &ran, error));
        take(answer, ran.step_s, &ran.interval);
    } else {
        pw_train_result ran;
        PW_TRY(pw_train_run(allocator, catalogue, &row->cluster, &row->job, &options, NULL, 0, arena, &ran, error));
        take(answer, ran.step_s, &ran.interval);
    }
    return PW_OK;
}

pw_status pw_training_answer_of(const pw_validation_context *context, const pw_training_row *row, double factor,
                                double clock_ratio, pw_training_answer *answer, pw_error *error) {
    training_state *state = context->state;
    training_key key;
    PW_TRY(training_key_make(row, factor, clock_ratio, &key, error));
    pw_status status = PW_OK;
    if (!training_memo_find(&state->memo, &key, answer)) {
        pw_arena *arena = pw_arena_create(pw_allocator_default());
        status = arena ? run(context, row, factor, clock_ratio, arena, answer, error)
                       : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
        pw_arena_destroy(arena);
        if (status == PW_OK) status = training_memo_keep(&state->memo, context->arena, &key, answer, error);
    }
    training_key_free(&key);
    return status;
}

pw_status pw_training_predict(const pw_validation_context *context, const pw_training_row *row, double factor,
                              double clock_ratio, double *step_s, pw_error *error) {
    pw_training_answer answer;
    PW_TRY(pw_training_answer_of(context, row, factor, clock_ratio, &answer, error));
    *step_s = answer.step_s;
    return PW_OK;
}

pw_status pw_training_describe(const pw_validation_context *context, uint32_t row, pw_arena *arena, pw_training_row *out,
                               pw_prediction *prediction, bool *runs, pw_error *error) {
    return describe(context, context->input, row, arena, out, prediction, runs, error);
}

/* Without the stack's factor, and with it; the interval where one is on file. */
static pw_status predict_both(const pw_validation_context *context, const pw_training_row *row, pw_prediction *prediction,
                              pw_error *error) {
    double factor;
    pw_training_answer answer;
    PW_TRY(pw_training_predict(context, row, 1, 0, &prediction->plain, error));
    PW_TRY(pw_stack_factor(context->catalogue, row->stack, &factor, error));
    PW_TRY(pw_training_answer_of(context, row, factor, 0, &answer, error));
    prediction->stack = answer.step_s;
    prediction->step_class = answer.step_class;
    if (!isnan(answer.low_s)) prediction->low = answer.low_s, prediction->high = answer.high_s;
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
        status = predict_both(context, &described, prediction, &failure);
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

static pw_status prepare_governed(pw_validation_context *context, pw_error *error) {
    PW_TRY(prepare(context, error));
    ((training_state *)context->state)->power = true;
    return PW_OK;
}

const pw_suite pw_suite_training_governed = {
    .name = "training-governed",
    .text = "training steps with clocks from power and heat, predicted against published step times",
    .unit = "s",
    .file = "training-measured.csv",
    .split = "split-training.csv",
    .required = required,
    .by = by,
    .baseline = "one MFU per GPU and precision, for convolutional networks and recommenders their own: the median over fit rows (every source weighing the same)",
    .prepare = prepare_governed,
    .predict = predict,
    .interval = true,
};
