/* Training of convolutional networks: what models/workload/convnet answers, in the words of a report. */
#include "models/workload/convnet/convnet.h"

#include <inttypes.h>
#include <stdio.h>

#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"

extern const pw_job_kind pw_job_convnet;

static void put_head(const pw_convnet_desc *job, const pw_convnet_result *ran, pw_run_result *result) {
    char a[64], b[64], c[64], d[64];
    pw_result_line(result, "job", "%s, %s parameters, %s forward FLOPs an image; batch %s per GPU (%s in all), %s, %s",
                   job->model->name && *job->model->name ? job->model->name : "image model",
                   pw_layout_large(ran->parameters, a, sizeof a), pw_layout_large(ran->forward_flops, b, sizeof b),
                   pw_layout_count(job->batch, c, sizeof c), pw_layout_count(job->batch * ran->gpus, d, sizeof d),
                   pw_precision_names[job->precision], job->optimizer == PW_SGD_LARS ? "LARS" : "SGD with momentum");
    if (!job->input) return;
    pw_result_line(result, "input", "%s an image from %s of %s; prefetch %s",
                   pw_unit_format(job->input->image_bytes, PW_UNIT_BYTES, a, sizeof a),
                   job->input->shared ? "a shared store" : "the node's store",
                   pw_unit_format(job->input->store_bandwidth_Bps, PW_UNIT_BYTES_PER_SECOND, b, sizeof b),
                   pw_report_value(pw_kind_field(&pw_input_kind, "prefetch"), job->input, c, sizeof c));
}

static void put_answers(const pw_convnet_result *ran, pw_run_result *result) {
    char a[64], b[64], c[64];
    pw_result_answer(result, "step", "%s, %s images/s, %s images/s per GPU", pw_layout_seconds(ran->step_s, a, sizeof a),
                     pw_layout_rate(ran->images_per_s, b, sizeof b), pw_layout_rate(ran->images_per_s_per_gpu, c, sizeof c));
    pw_result_figure(result, "step_s", ran->step_s, "s");
    pw_job_put_interval(&ran->interval, result);
    pw_result_answer(result, "MFU", "%.1f %%, %s per GPU (multiply-adds of convolutions and dense layers, three passes)",
                     100 * ran->mfu, pw_unit_format(ran->flops_per_gpu, PW_UNIT_FLOPS, a, sizeof a));
    pw_result_figure(result, "images_per_s", ran->images_per_s, "images/s");
    pw_result_figure(result, "images_per_s_per_gpu", ran->images_per_s_per_gpu, "images/s");
    pw_result_figure(result, "flops_per_gpu", ran->flops_per_gpu, "flop/s");
    pw_result_figure(result, "mfu", ran->mfu, "");
    pw_result_figure(result, "parameters", ran->parameters, "");
    pw_result_figure(result, "forward_flops", ran->forward_flops, "flop");
    pw_result_figure(result, "gpus", (double)ran->gpus, "");
}

static void put_worker(const pw_convnet_result *ran, pw_run_result *result) {
    const pw_convnet_memory *m = &ran->memory;
    pw_result_row *row = pw_result_rows(result, "worker", 1);
    if (!row) return;
    row->ranks = (uint32_t)ran->gpus;
    row->compute_s = ran->compute_s;
    row->communication_s = ran->communication_s;
    row->idle_s = ran->idle_s;
    row->launch_wait_s = ran->launch_wait_s;
    row->memory_total = m->total;
    row->memory_capacity = m->capacity;
    pw_row_memory(result, row, "weights", m->weights);
    pw_row_memory(result, row, "gradients", m->gradients);
    pw_row_memory(result, row, "optimizer", m->optimizer);
    pw_row_memory(result, row, "activations", m->activations);
    pw_row_memory(result, row, "buffers", m->buffers);
    pw_row_memory(result, row, "reserve", m->reserve);
    pw_job_put_power(ran->power, "image", ran->images_per_s * ran->step_s, result, row, 1);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_convnet_desc *job = call->desc;
    const pw_run_options options = pw_job_options(call);
    pw_convnet_result ran;
    PW_TRY(pw_convnet_run(call->allocator, call->catalogue, call->cluster, job, &options, call->file, call->line,
                          result->arena, &ran, error));
    result->device = ran.device;
    result->gpus = ran.gpus;
    result->hash = ran.hash;
    result->parts = ran.parts;
    result->part_count = ran.part_count;
    result->home = ran.home_program;
    put_head(job, &ran, result);
    put_answers(&ran, result);
    put_worker(&ran, result);
    for (uint32_t i = 0; i < ran.note_count; i++) pw_result_note(result, "%s", ran.notes[i]);
    return pw_result_finish(result, error);
}

static void describe(const void *desc, pw_run_result *facts) {
    const pw_convnet_desc *job = desc;
    pw_image_shape shape;
    if (pw_image_resolve(job->model, facts->arena, NULL, 0, &shape, NULL) != PW_OK) return; /* the run says what is wrong */
    pw_result_figure(facts, "model_parameters", shape.parameters, "");
    pw_result_figure(facts, "forward_flops", shape.forward_flops, "flop");
}

const pw_job_kind pw_job_convnet = {.kind = &pw_convnet_kind,
                                    .suite = "training",
                                    .answers = "step times",
                                    .can_ignore_memory = true,
                                    .draws_power = true,
                                    .can_unfold = true,
                                    .can_message = true,
                                    .run = run,
                                    .describe = describe};
