/* Rows of convolutional networks: images instead of tokens, a preset instead of a shape. */
#include <math.h>
#include <string.h>

#include "scenarios/validation/training_row.h"

static const char *text_of(const description *d, const char *column) { return pw_measured_text(d->input, d->row, column); }

static pw_status describe_batch(description *d, pw_convnet_desc *job, pw_error *error) {
    int64_t global_batch;
    PW_TRY(pw_measured_integer(d->input, d->row, "mbs", 0, &job->batch, error));
    PW_TRY(pw_measured_integer(d->input, d->row, "gbs", 0, &global_batch, error));
    PW_TRY(pw_measured_integer(d->input, d->row, "n_gpus", 0, &d->out->gpus, error));
    PW_TRY(pw_measured_integer(d->input, d->row, "gpus_per_node", 8, &d->out->gpus_per_node, error));
    if (d->out->gpus < 1 || d->out->gpus_per_node < 1) return skip(d->prediction, "number of GPUs is not given%s", "");
    if (job->batch < 1) return skip(d->prediction, "the batch per GPU is not given%s", "");
    if (global_batch != job->batch * d->out->gpus)
        return skip(d->prediction, "the global batch is not that of all GPUs%s", "");
    return PW_OK;
}

pw_status describe_convnet(description *d, pw_error *error) {
    pw_convnet_desc *job = pw_arena_alloc(d->arena, sizeof *job);
    pw_image_model_desc *model = pw_arena_alloc(d->arena, sizeof *model);
    if (!job || !model) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_description_defaults(&pw_convnet_kind, job, d->arena, error));
    pw_error unknown = {0};
    if (pw_image_model_preset(d->catalogue, text_of(d, "model"), model, d->arena, &unknown) != PW_OK) {
        if (unknown.status == PW_NOT_FOUND) return skip(d->prediction, "%.390s", unknown.what);
        if (error) *error = unknown;
        return unknown.status;
    }
    if (pw_catalogue_device(d->catalogue, text_of(d, "gpu"), &d->out->device, NULL) != PW_OK)
        return skip(d->prediction, "GPU '%s' is not in the catalogue", text_of(d, "gpu"));
    d->out->convnet = job;
    job->name = text_of(d, "id");
    job->model = model;
    PW_TRY(describe_batch(d, job, error));
    if (*d->prediction->why) return PW_OK;
    PW_TRY(describe_precision(d, &job->precision, error));
    if (*d->prediction->why) return PW_OK;
    const pw_measured *software = &d->state->convnet_software;
    int64_t found = pw_layout_match(software, "stack", d->input, d->row);
    if (found < 0) return skip(d->prediction, "software '%s' has no stack of convolutional networks on file", text_of(d, "software"));
    job->stack = d->out->stack = pw_measured_text(software, (uint32_t)found, "stack");
    const char *layout = pw_measured_text(software, (uint32_t)found, "channels_last");
    if (*layout)
        PW_TRY(pw_field_set_text(&pw_convnet_kind, pw_kind_field(&pw_convnet_kind, "channels_last"), job, layout, d->arena,
                                 software->file, software->lines[found], error));
    pw_image_shape shape;
    PW_TRY(pw_image_resolve(model, d->arena, NULL, 0, &shape, error));
    d->out->flops_per_gpu = shape.training_flops * (double)job->batch;
    return PW_OK;
}
