/* Rows of recommenders: samples instead of tokens, a preset instead of a shape. */
#include <string.h>

#include "scenarios/validation/training_row.h"

static const char *text_of(const description *d, const char *column) { return pw_measured_text(d->input, d->row, column); }

pw_status describe_recommender(description *d, pw_error *error) {
    pw_recommender_desc *job = pw_arena_alloc(d->arena, sizeof *job);
    pw_recommender_model_desc *model = pw_arena_alloc(d->arena, sizeof *model);
    if (!job || !model) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_description_defaults(&pw_recommender_kind, job, d->arena, error));
    pw_error unknown = {0};
    if (pw_recommender_preset(d->catalogue, text_of(d, "model"), model, d->arena, &unknown) != PW_OK) {
        if (unknown.status == PW_NOT_FOUND) return skip(d->prediction, "%.390s", unknown.what);
        if (error) *error = unknown;
        return unknown.status;
    }
    d->out->recommender = job;
    job->name = text_of(d, "id");
    job->model = model;
    PW_TRY(pw_measured_integer(d->input, d->row, "gbs", 0, &job->batch, error));
    PW_TRY(pw_measured_integer(d->input, d->row, "n_gpus", 0, &d->out->gpus, error));
    PW_TRY(pw_measured_integer(d->input, d->row, "gpus_per_node", 8, &d->out->gpus_per_node, error));
    if (d->out->gpus < 1 || d->out->gpus_per_node < 1) return skip(d->prediction, "number of GPUs is not given%s", "");
    if (job->batch < 1) return skip(d->prediction, "the batch is not given%s", "");
    PW_TRY(describe_precision(d, &job->precision, error));
    if (*d->prediction->why) return PW_OK;
    pw_recommender_stack stack; /* the newest: no source names another */
    PW_TRY(pw_recommender_stack_read(d->catalogue, NULL, &stack, NULL, 0, error));
    d->out->stack = job->stack = stack.name;
    d->out->flops_per_gpu = pw_recommender_training_flops(model) * (double)job->batch / (double)d->out->gpus;
    return PW_OK;
}
