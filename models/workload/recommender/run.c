/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/clock.h"
#include "models/workload/recommender/plan.h"
#include "models/workload/session.h"

typedef struct prepared {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    pw_recommender_plan plan;
    pw_job *job;
    double clock_ratio;
    const char *clock_source;
} prepared;

static void tear_down(prepared *s) {
    if (s->collectives) pw_collectives_destroy(s->collectives);
    if (s->gpu) pw_gpu_destroy(s->gpu);
    if (s->cluster) pw_cluster_destroy(s->cluster);
}

enum { MOST_NOTES = 8 };
typedef struct notes {
    pw_arena *arena;
    const char **items;
    uint32_t count;
    bool out_of_memory;
} notes;

__attribute__((format(printf, 2, 3))) static void note(notes *to, const char *format, ...) {
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = to->count < MOST_NOTES ? pw_arena_text(to->arena, text) : NULL;
    if (!kept) to->out_of_memory = true;
    else to->items[to->count++] = kept;
}

static pw_status write_notes(const prepared *s, pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    const pw_recommender_plan *plan = &s->plan;
    notes to = {.arena = arena, .items = pw_arena_alloc(arena, MOST_NOTES * sizeof *to.items)};
    if (!to.items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    note(&to, "Matrix multiplies in %s: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->gpu, PW_KERNEL_GEMM, plan->precision));
    note(&to, "Lookups and other kernels that move memory: %s.", pw_gpu_provenance(s->gpu, PW_KERNEL_EMBEDDING, plan->precision));
    if (plan->ranks > 1) note(&to, "Collectives: %s.", pw_collectives_provenance(s->collectives));
    if (s->clock_source && *s->clock_source)
        note(&to, "GPUs run at %.3f of the reference clock: %s.", s->clock_ratio, s->clock_source);
    if (s->job->kernel_time_factor != 1) note(&to, "Kernel times are multiplied by %.4f (stack).", s->job->kernel_time_factor);
    if (to.out_of_memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->notes = to.items;
    result->note_count = to.count;
    return PW_OK;
}

static pw_status check_memory(const prepared *s, bool ignore, const char *file, int line, pw_recommender_memory *a, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->cluster);
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
                         const pw_recommender_desc *desc, const pw_recommender_options *options, const char *file, int line,
                         pw_arena *arena, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->cluster);
    PW_TRY(pw_recommender_lower(catalogue, s->cluster, desc, arena, file, line, &s->job, error));
    s->clock_ratio = options->clock_ratio > 0 ? options->clock_ratio : 1;
    if (options->plain) s->job->kernel_time_factor = 1;
    else if (!(options->clock_ratio > 0))
        s->clock_ratio = pw_training_clock(catalogue, device, s->plan.precision, &s->clock_source);
    if (options->kernel_time_factor > 0) s->job->kernel_time_factor = options->kernel_time_factor;
    PW_TRY(pw_gpu_create(allocator, catalogue, device->name, &s->gpu, error));
    return pw_collectives_create(allocator, catalogue, s->cluster, true, &s->collectives, error);
}

static void fill_result(const prepared *s, const pw_session_result *ran, pw_recommender_result *result) {
    const pw_recommender_plan *plan = &s->plan;
    result->step_s = ran->end_s;
    result->samples_per_s = (double)plan->desc->batch / ran->end_s;
    result->flops_per_gpu = pw_recommender_training_flops(plan->model) * (double)plan->samples / ran->end_s;
    result->parameters = pw_recommender_mlp_parameters(plan->model) + plan->model->rows * (double)plan->model->width;
    result->device = pw_cluster_device(s->cluster);
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
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_recommender_desc *desc, const pw_recommender_options *options, const char *file, int line,
                     pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &s->cluster, error));
    PW_TRY(pw_recommender_plan_make(catalogue, pw_cluster_device(s->cluster), pw_cluster_gpus(s->cluster), desc, file, line,
                                    &s->plan, error));
    PW_TRY(check_memory(s, options->ignore_memory, file, line, &result->memory, error));
    PW_TRY(prepare(s, allocator, catalogue, desc, options, file, line, arena, error));
    pw_session_config config = {.allocator = allocator, .cluster = s->cluster, .gpu = s->gpu, .collectives = s->collectives,
                                .clock_ratio = s->clock_ratio, .seed = options->seed, .unfolded = options->unfolded,
                                .interrupt = options->interrupt, .sinks = options->sinks, .sink_count = options->sink_count};
    pw_session_result ran;
    PW_TRY(pw_session_run(&config, s->job, arena, &ran, error));
    fill_result(s, &ran, result);
    return write_notes(s, arena, result, error);
}

pw_status pw_recommender_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                             const pw_recommender_desc *desc, const pw_recommender_options *options, const char *file,
                             int line, pw_arena *arena, pw_recommender_result *result, pw_error *error) {
    static const pw_recommender_options defaults = {0};
    prepared s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result, error);
    tear_down(&s);
    return status;
}
