/* Training of transformers: what models/workload/train.h answers, in the words of a report. */
#include "scenarios/jobs/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"

extern const pw_job_kind pw_job_train;

static const char *choice(const char *name, const pw_train_desc *job, char *text, size_t size) {
    return pw_report_value(pw_kind_field(&pw_train_kind, name), job, text, size);
}

static void put_head(const pw_train_desc *job, const pw_train_result *train, pw_run_result *result) {
    char a[64], b[64], c[64], d[64], e[64], line[600];
    double tokens = (double)job->sequence * (double)job->global_batch;
    pw_result_line(result, "job", "%s, %s parameters; sequence %s, batch %s sequences (%s tokens), %s",
                   job->model->name ? job->model->name : "model", pw_layout_large(train->parameters, a, sizeof a),
                   pw_layout_count(job->sequence, b, sizeof b), pw_layout_count(job->global_batch, c, sizeof c),
                   pw_layout_large(tokens, d, sizeof d), choice("precision", job, e, sizeof e));
    size_t used = (size_t)snprintf(line, sizeof line, "tensor %" PRId64 " x pipeline %" PRId64, job->tensor_parallel,
                                   job->pipeline_parallel);
    if (job->virtual_stages > 1)
        used += (size_t)snprintf(line + used, sizeof line - used, " (%" PRId64 " chunks each)", job->virtual_stages);
    if (job->context_parallel > 1)
        used += (size_t)snprintf(line + used, sizeof line - used, " x context %" PRId64, job->context_parallel);
    pw_result_line(result, "split", "%s x data %" PRId64 "; %" PRId64 " micro-batch%s of %" PRId64 "; sharding %s, recompute %s",
                   line, train->data_parallel, train->micro_batches, train->micro_batches == 1 ? "" : "es", job->micro_batch,
                   choice("sharding", job, a, sizeof a), choice("recompute", job, b, sizeof b));
}

static void put_answers(const pw_train_result *train, pw_run_result *result) {
    char a[64], b[64], c[64];
    pw_result_answer(result, "step", "%s, %s tokens/s, %s tokens/s per GPU", pw_layout_seconds(train->step_s, a, sizeof a),
                     pw_layout_large(train->tokens_per_s, b, sizeof b), pw_layout_rate(train->tokens_per_s_per_gpu, c, sizeof c));
    pw_result_figure(result, "step_s", train->step_s, "s");
    pw_job_put_interval(&train->interval, result);
    pw_result_answer(result, "MFU", "%.1f %%, %s per GPU (%s; %.1f %% with full attention)", 100 * train->mfu,
                     pw_unit_format(train->flops_per_gpu, PW_UNIT_FLOPS, a, sizeof a), train->mfu_convention,
                     100 * train->mfu_full);
    pw_result_figure(result, "tokens_per_s", train->tokens_per_s, "tokens/s");
    pw_result_figure(result, "tokens_per_s_per_gpu", train->tokens_per_s_per_gpu, "tokens/s");
    pw_result_figure(result, "flops_per_gpu", train->flops_per_gpu, "flop/s");
    pw_result_figure(result, "mfu", train->mfu, "");
    pw_result_figure(result, "mfu_full", train->mfu_full, "");
    pw_result_figure(result, "spread_of_steps", train->step_spread, "");
    pw_result_figure(result, "parameters", train->parameters, "");
    pw_result_word(result, "mfu_convention", train->mfu_convention);
    pw_result_figure(result, "gpus", (double)train->gpus, "");
    pw_result_figure(result, "data_parallel", (double)train->data_parallel, "");
    pw_result_figure(result, "micro_batches", (double)train->micro_batches, "");
}

static void put_stages(const pw_train_result *train, pw_run_result *result) {
    pw_result_row *rows = pw_result_rows(result, "stage", train->stage_count);
    for (uint32_t i = 0; rows && i < train->stage_count; i++) {
        const pw_stage_result *stage = &train->stages[i];
        const pw_memory_account *m = &stage->memory;
        rows[i].ranks = stage->ranks;
        rows[i].compute_s = stage->compute_s;
        rows[i].communication_s = stage->communication_s;
        rows[i].idle_s = stage->idle_s;
        rows[i].launch_wait_s = stage->launch_wait_s;
        rows[i].memory_total = m->total;
        rows[i].memory_capacity = m->capacity;
        pw_row_figure(result, &rows[i], "layers", stage->layers, "");
        pw_row_memory(result, &rows[i], "weights", m->weights);
        pw_row_memory(result, &rows[i], "gradients", m->gradients);
        pw_row_memory(result, &rows[i], "optimizer", m->optimizer);
        pw_row_memory(result, &rows[i], "activations", m->activations);
        pw_row_memory(result, &rows[i], "logits", m->logits);
        pw_row_memory(result, &rows[i], "buffers", m->buffers);
        pw_row_memory(result, &rows[i], "reserve", m->reserve);
    }
    pw_job_put_power(train->power, "token", train->tokens_per_s * train->step_s, result, rows, train->stage_count);
}

void pw_job_report_train(const pw_train_desc *job, const pw_train_result *train, pw_run_result *result) {
    result->device = train->device;
    result->gpus = train->gpus;
    result->hash = train->hash;
    result->parts = train->parts;
    result->part_count = train->part_count;
    result->home = train->home_program;
    put_head(job, train, result);
    put_answers(train, result);
    put_stages(train, result);
    for (uint32_t i = 0; i < train->note_count; i++) pw_result_note(result, "%s", train->notes[i]);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_run_options options = pw_job_options(call);
    pw_train_result train;
    PW_TRY(pw_train_run(call->allocator, call->catalogue, call->cluster, call->desc, &options, call->file, call->line,
                        result->arena, &train, error));
    pw_job_report_train(call->desc, &train, result);
    return pw_result_finish(result, error);
}

static void describe(const void *desc, pw_run_result *facts) {
    const pw_train_desc *job = desc;
    pw_result_figure(facts, "model_parameters", pw_model_parameters(job->model), "");
}

const pw_job_kind pw_job_train = {.kind = &pw_train_kind,
                                  .suite = "training",
                                  .answers = "step times",
                                  .can_ignore_memory = true,
                                  .draws_power = true,
                                  .can_unfold = true,
                                  .can_message = true,
                                  .run = run,
                                  .describe = describe};
