/* What a row trains and in which number format, which the sources write as words: tasks.csv, formats.csv and padding.csv. */
#include <math.h>
#include <string.h>

#include "models/workload/format.h"
#include "scenarios/validation/training_row.h"

static pw_status set_word(const pw_kind *kind, const char *field, void *to, const pw_measured *table, uint32_t row,
                          const char *column, pw_arena *arena, pw_error *error) {
    const char *text = pw_measured_text(table, row, column);
    if (!*text) return PW_OK;
    return pw_field_set_text(kind, pw_kind_field(kind, field), to, text, arena, table->file, table->lines[row], error);
}

pw_status share_layout(const pw_catalogue *catalogue, const char *preset, pw_model_desc *model, pw_arena *arena,
                       pw_error *error) {
    pw_model_desc like;
    PW_TRY(pw_model_preset(catalogue, preset, &like, arena, error));
    model->bidirectional = like.bidirectional;
    model->post_norm = like.post_norm;
    model->token_types = like.token_types;
    model->positions = like.positions;
    model->tied = like.tied;
    model->biases = like.biases;
    return PW_OK;
}

pw_status describe_task(description *d, pw_error *error) {
    const pw_measured *tasks = &d->state->tasks, *padding = &d->state->padding;
    pw_train_desc *job = &d->out->job;
    const char *task = pw_measured_text(d->input, d->row, "task"), *arch = pw_measured_text(d->input, d->row, "arch");
    int64_t found = pw_layout_match(tasks, "known", d->input, d->row);
    if (found < 0 && *task && *arch) return skip(d->prediction, "task '%s' of its architecture is not modelled", task);
    if (found >= 0) {
        const char *layout = pw_measured_text(tasks, (uint32_t)found, "layout");
        if (*layout) PW_TRY(share_layout(d->catalogue, layout, job->model, d->arena, error));
        PW_TRY(set_word(&pw_model_kind, "head", job->model, tasks, (uint32_t)found, "head", d->arena, error));
        PW_TRY(set_word(&pw_train_kind, "optimizer", job, tasks, (uint32_t)found, "optimizer", d->arena, error));
        PW_TRY(set_word(&pw_train_kind, "trainable", job, tasks, (uint32_t)found, "trainable", d->arena, error));
        PW_TRY(set_word(&pw_train_kind, "lora_targets", job, tasks, (uint32_t)found, "targets", d->arena, error));
        PW_TRY(pw_measured_integer(tasks, (uint32_t)found, "rank", job->lora_rank, &job->lora_rank, error));
    }
    found = pw_layout_match(padding, "padding", d->input, d->row);
    if (found >= 0) PW_TRY(pw_measured_number(padding, (uint32_t)found, "padding", &job->padding, error));
    return PW_OK;
}

int format_index(const char *name) {
    int index = 0;
    while (pw_format_names[index] && strcmp(pw_format_names[index], name) != 0) index++;
    return index;
}

static pw_status read_format(description *d, int *index, pw_format *format, pw_error *error) {
    const char *name = pw_layout_look_up(&d->state->formats, "format", d->input, d->row);
    if (!name) return skip(d->prediction, "precision '%s' is not modelled", pw_measured_text(d->input, d->row, "precision"));
    *index = format_index(name);
    PW_TRY(pw_format_read(d->catalogue, *index, format, d->state->formats.file, 0, error));
    d->out->arithmetic = format->matrix;
    return PW_OK;
}

pw_status describe_format(description *d, pw_error *error) {
    pw_format format;
    PW_TRY(read_format(d, &d->out->job.precision, &format, error));
    if (*d->prediction->why) return PW_OK;
    d->out->width = format.matrix == PW_PRECISION_FP8 || format.matrix == PW_PRECISION_FP4 ? "8" : format.matrix == PW_PRECISION_FP32 ? "32" : "16";
    return PW_OK;
}

pw_status describe_precision(description *d, int *precision, pw_error *error) {
    pw_format format;
    int index;
    PW_TRY(read_format(d, &index, &format, error));
    if (*d->prediction->why) return PW_OK;
    *precision = format.matrix;
    d->out->width = format.matrix >= PW_PRECISION_FP16 ? "16" : "32";
    return PW_OK;
}
