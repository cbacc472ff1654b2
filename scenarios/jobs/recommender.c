/* Training of recommenders: what models/workload/recommender answers, in the words of a report. */
#include "models/workload/recommender/recommender.h"

#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

extern const pw_job_kind pw_job_recommender;

static void put(const pw_recommender_desc *job, const pw_recommender_result *ran, pw_run_result *result) {
    char a[64], b[64], c[64];
    pw_result_line(result, "job", "%s, %s parameters, %s tables; batch %s, %s",
                   job->model->name && *job->model->name ? job->model->name : "recommender",
                   pw_layout_large(ran->parameters, a, sizeof a), pw_layout_count(job->model->tables, b, sizeof b),
                   pw_layout_count(job->batch, c, sizeof c), pw_precision_names[job->precision]);
    pw_result_answer(result, "step", "%s, %s samples/s", pw_layout_seconds(ran->step_s, a, sizeof a),
                     pw_layout_large(ran->samples_per_s, b, sizeof b));
    pw_result_figure(result, "step_s", ran->step_s, "s");
    pw_job_put_interval(&ran->interval, result);
    pw_result_figure(result, "samples_per_s", ran->samples_per_s, "samples/s");
    pw_result_figure(result, "flops_per_gpu", ran->flops_per_gpu, "flop/s");
    pw_result_figure(result, "parameters", ran->parameters, "");
    pw_result_figure(result, "gpus", (double)ran->gpus, "");
    pw_result_row *row = pw_result_rows(result, "worker", 1);
    if (!row) return;
    row->ranks = (uint32_t)ran->gpus;
    row->compute_s = ran->compute_s;
    row->communication_s = ran->communication_s;
    row->idle_s = ran->idle_s;
    row->launch_wait_s = ran->launch_wait_s;
    row->memory_total = ran->memory.total;
    row->memory_capacity = ran->memory.capacity;
    pw_row_memory(result, row, "embeddings", ran->memory.embeddings);
    pw_row_memory(result, row, "perceptrons", ran->memory.perceptrons);
    pw_row_memory(result, row, "activations", ran->memory.activations);
    pw_row_memory(result, row, "reserve", ran->memory.reserve);
    pw_job_put_power(ran->power, "sample", ran->samples_per_s * ran->step_s, result, row, 1);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_run_options options = pw_job_options(call);
    pw_recommender_result ran;
    PW_TRY(pw_recommender_run(call->allocator, call->catalogue, call->cluster, call->desc, &options, call->file, call->line,
                              result->arena, &ran, error));
    result->device = ran.device;
    result->gpus = ran.gpus;
    result->hash = ran.hash;
    result->parts = ran.parts;
    result->part_count = ran.part_count;
    result->home = ran.home_program;
    put(call->desc, &ran, result);
    for (uint32_t i = 0; i < ran.note_count; i++) pw_result_note(result, "%s", ran.notes[i]);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_recommender = {.kind = &pw_recommender_kind,
                                        .suite = "training",
                                        .answers = "step times",
                                        .can_ignore_memory = true,
                                        .draws_power = true,
                                        .can_unfold = true,
                                        .can_message = true,
                                        .run = run};
