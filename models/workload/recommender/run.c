/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/recommender/plan.h"

typedef struct prepared {
    pw_machine machine;
    pw_recommender_plan plan;
    pw_job *job;
} prepared;

static pw_status write_notes(const prepared *s, pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    const pw_recommender_plan *plan = &s->plan;
    pw_notes to = {.arena = arena};
    pw_note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    pw_note(&to, "Matrix multiplies in %s: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->machine.gpu, PW_KERNEL_GEMM, plan->precision));
    pw_note(&to, "Lookups and other kernels that move memory: %s.", pw_gpu_provenance(s->machine.gpu, PW_KERNEL_EMBEDDING, plan->precision));
    if (plan->ranks > 1) pw_note(&to, "Collectives: %s.", pw_collectives_provenance(s->machine.collectives));
    pw_machine_note(&s->machine, s->job, plan->stack.kernel_time_factor, &to);
    if (to.out_of_memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->notes = to.items;
    result->note_count = to.count;
    return PW_OK;
}

static pw_status check_memory(const prepared *s, bool ignore, const char *file, int line, pw_recommender_memory *a, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->machine.cluster);
    pw_recommender_account(&s->plan, device, a);
    if (ignore || !(a->total > a->capacity)) return PW_OK;
    char hint[160] = "a smaller batch, fewer rows, or GPUs with more memory";
    double room = a->capacity - (a->total - a->embeddings), per_table = a->embeddings / s->plan.tables;
    if (room >= per_table)
        snprintf(hint, sizeof hint, "%.0f GPUs would hold the tables", ceil((double)s->plan.model->tables / floor(room / per_table)));
    return pw_fail(error, PW_DOES_NOT_FIT, file, line, hint,
                   "recommender.batch: %.0f tables on a GPU need %.1f GB on each %s, which has %.1f GB\n"
                   "  embeddings   %8.2f GB\n  perceptrons  %8.2f GB\n  activations  %8.2f GB\n  reserve      %8.2f GB",
                   s->plan.tables, a->total / 1e9, device->name, a->capacity / 1e9, a->embeddings / 1e9, a->perceptrons / 1e9,
                   a->activations / 1e9, a->reserve / 1e9);
}

static pw_status prepare(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue,
                         const pw_recommender_desc *desc, const pw_run_options *options, const char *file, int line,
                         pw_arena *arena, pw_error *error) {
    PW_TRY(pw_recommender_lower(catalogue, s->machine.cluster, desc, arena, file, line, &s->job, error));
    return pw_machine_prepare(&s->machine, allocator, catalogue, options, s->plan.precision, s->plan.stack.kernel_time_factor,
                              NULL, arena, s->job, error);
}

static void fill_result(const prepared *s, const pw_session_result *ran, pw_arena *arena, pw_recommender_result *result) {
    const pw_recommender_plan *plan = &s->plan;
    result->step_s = ran->end_s;
    result->samples_per_s = (double)plan->desc->batch / ran->end_s;
    result->flops_per_gpu = pw_recommender_training_flops(plan->model) * (double)plan->samples / ran->end_s;
    result->parameters = pw_recommender_mlp_parameters(plan->model) + plan->model->rows * (double)plan->model->width;
    result->device = pw_cluster_device(s->machine.cluster);
    result->gpus = plan->ranks;
    for (uint32_t p = 0; p < s->job->program_count; p++) {
        const pw_program_result *program = &ran->programs[p];
        double share = (double)program->ranks / (double)plan->ranks;
        result->compute_s += share * program->compute_s;
        result->communication_s += share * program->communication_s;
        result->idle_s += share * program->idle_s;
        result->launch_wait_s += share * program->launch_wait_s;
    }
    result->parts = ran->parts;
    result->part_count = ran->part_count;
    result->home_program = ran->home_program;
    result->totals = ran->totals;
    result->hash = ran->hash;
    result->power = pw_machine_power(&s->machine, arena);
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_recommender_desc *desc, const pw_run_options *options, const char *file, int line,
                     pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    PW_TRY(pw_machine_open(allocator, catalogue, cluster, &s->machine, error));
    PW_TRY(pw_recommender_plan_make(catalogue, pw_cluster_device(s->machine.cluster), pw_cluster_gpus(s->machine.cluster), desc, file, line,
                                    &s->plan, error));
    PW_TRY(check_memory(s, options->ignore_memory, file, line, &result->memory, error));
    PW_TRY(prepare(s, allocator, catalogue, desc, options, file, line, arena, error));
    pw_session_result ran;
    PW_TRY(pw_machine_run(&s->machine, allocator, options, s->job, arena, &ran, error));
    fill_result(s, &ran, arena, result);
    PW_TRY(pw_step_interval(catalogue, result->device, s->job, ran.home, s->machine.clock_ratio, PW_STEP_RECOMMENDER,
                            result->step_s, result->compute_s, arena, &result->interval, error));
    return write_notes(s, arena, result, error);
}

pw_status pw_recommender_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                             const pw_recommender_desc *desc, const pw_run_options *options, const char *file,
                             int line, pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    static const pw_run_options defaults = {0};
    prepared s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result, error);
    pw_machine_close(&s.machine);
    return status;
}
