/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/clock.h"
#include "models/workload/convnet/layers.h"
#include "models/workload/session.h"

typedef struct prepared {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    pw_convnet_plan plan;
    pw_job *job;
    double clock_ratio;
    const char *clock_source;
} prepared;

static void tear_down(prepared *s) {
    if (s->collectives) pw_collectives_destroy(s->collectives);
    if (s->gpu) pw_gpu_destroy(s->gpu);
    if (s->cluster) pw_cluster_destroy(s->cluster);
}

/* --- Notes -------------------------------------------------------------------------------------------------------- */

enum { MOST_NOTES = 12 };
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

static pw_status write_notes(const prepared *s, pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    const pw_convnet_plan *plan = &s->plan;
    notes to = {.arena = arena, .items = pw_arena_alloc(arena, MOST_NOTES * sizeof *to.items)};
    if (!to.items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    note(&to, "Convolutions in %s are implicit matrix multiplies: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->gpu, PW_KERNEL_CONVOLUTION, plan->precision));
    note(&to, "Kernels that move memory: %s.", pw_gpu_provenance(s->gpu, PW_KERNEL_NORM, plan->precision));
    if (plan->ranks > 1) note(&to, "Collectives: %s.", pw_collectives_provenance(s->collectives));
    if (s->clock_source && *s->clock_source)
        note(&to, "GPUs run at %.3f of the reference clock: %s.", s->clock_ratio, s->clock_source);
    else if (s->clock_ratio == 1) note(&to, "GPUs run at the reference clock.");
    else note(&to, "GPUs run at %.3f of the reference clock, as asked.", s->clock_ratio);
    if (s->job->kernel_time_factor != 1)
        note(&to, "Kernel times are multiplied by %.4f (stack %.3f; %.2f %% per doubling beyond %.0f GPUs: the slowest rank).",
             s->job->kernel_time_factor, plan->stack.kernel_time_factor, 100 * plan->stack.jitter, plan->stack.jitter_from);
    if (!plan->desc->input) note(&to, "Batches are there in time: the job has no input pipeline.");
    if (plan->desc->input && !(plan->desc->input->decode_per_core > 0)) note(&to, "Decoding takes no time: decode_per_core is not given.");
    if (to.out_of_memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->notes = to.items;
    result->note_count = to.count;
    return PW_OK;
}

/* --- Memory ------------------------------------------------------------------------------------------------------- */

/* The largest batch that fits; 0: none. */
static int64_t largest_batch(const prepared *s) {
    pw_convnet_plan plan = s->plan;
    pw_convnet_memory account;
    int64_t fits = 0, too_large = s->plan.batch;
    while (too_large - fits > 1) {
        plan.batch = fits + (too_large - fits) / 2;
        pw_convnet_account(&plan, pw_cluster_device(s->cluster), &account);
        if (account.total <= account.capacity) fits = plan.batch;
        else too_large = plan.batch;
    }
    return fits;
}

static pw_status check_memory(const prepared *s, bool ignore, const char *file, int line, pw_convnet_memory *a, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->cluster);
    pw_convnet_account(&s->plan, device, a);
    if (ignore || !(a->total > a->capacity)) return PW_OK;
    char hint[200] = "no batch fits: use a larger GPU or a smaller model";
    int64_t fits = largest_batch(s);
    if (fits > 0) snprintf(hint, sizeof hint, "the largest batch that fits is %lld", (long long)fits);
    return pw_fail(error, PW_DOES_NOT_FIT, file, line, hint,
                   "convnet.batch: %lld images need %.1f GB on each %s, which has %.1f GB\n"
                   "  weights      %8.2f GB\n  gradients    %8.2f GB\n  optimizer    %8.2f GB\n  activations  %8.2f GB\n"
                   "  buffers      %8.2f GB\n  reserve      %8.2f GB",
                   (long long)s->plan.batch, a->total / 1e9, device->name, a->capacity / 1e9, a->weights / 1e9,
                   a->gradients / 1e9, a->optimizer / 1e9, a->activations / 1e9, a->buffers / 1e9, a->reserve / 1e9);
}

/* --- Run ---------------------------------------------------------------------------------------------------------- */

static pw_status prepare(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_convnet_desc *desc,
                         const pw_convnet_options *options, const char *file, int line, pw_arena *arena, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->cluster);
    PW_TRY(pw_convnet_lower(catalogue, s->cluster, desc, arena, file, line, &s->job, error));
    s->clock_ratio = options->clock_ratio > 0 ? options->clock_ratio : 1;
    if (options->plain) s->job->kernel_time_factor = 1;
    else if (!(options->clock_ratio > 0))
        s->clock_ratio = pw_training_clock(catalogue, device, s->plan.precision, &s->clock_source);
    if (options->kernel_time_factor > 0)
        s->job->kernel_time_factor *= options->kernel_time_factor / (options->plain ? 1 : s->plan.stack.kernel_time_factor);
    PW_TRY(pw_gpu_create(allocator, catalogue, device->name, &s->gpu, error));
    return pw_collectives_create(allocator, catalogue, s->cluster, true, &s->collectives, error);
}

static void fill_result(const prepared *s, const pw_session_result *ran, pw_convnet_result *result) {
    const pw_convnet_plan *plan = &s->plan;
    const pw_device *device = pw_cluster_device(s->cluster);
    const pw_program_result *worker = &ran->programs[0];
    result->step_s = ran->end_s;
    result->images_per_s_per_gpu = (double)plan->batch / ran->end_s;
    result->images_per_s = result->images_per_s_per_gpu * (double)plan->ranks;
    result->flops_per_gpu = plan->shape.training_flops * result->images_per_s_per_gpu;
    result->mfu = result->flops_per_gpu / device->peak_flops[plan->precision];
    result->parameters = plan->shape.parameters;
    result->forward_flops = plan->shape.forward_flops;
    result->device = device;
    result->gpus = plan->ranks;
    result->compute_s = worker->compute_s;
    result->communication_s = worker->communication_s;
    result->idle_s = worker->idle_s;
    result->launch_wait_s = worker->launch_wait_s;
    result->parts = ran->parts;
    result->part_count = ran->part_count;
    result->home_program = ran->home_program;
    result->totals = ran->totals;
    result->simulated_events = ran->simulated_events;
    result->hash = ran->hash;
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_convnet_desc *desc, const pw_convnet_options *options, const char *file, int line,
                     pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &s->cluster, error));
    PW_TRY(pw_convnet_plan_make(catalogue, pw_cluster_device(s->cluster), pw_cluster_gpus(s->cluster),
                                pw_cluster_gpus_per_node(s->cluster), desc, arena, file, line, &s->plan, error));
    PW_TRY(check_memory(s, options->ignore_memory, file, line, &result->memory, error));
    PW_TRY(prepare(s, allocator, catalogue, desc, options, file, line, arena, error));
    pw_session_config config = {.allocator = allocator, .cluster = s->cluster, .gpu = s->gpu, .collectives = s->collectives,
                                .clock_ratio = s->clock_ratio, .seed = options->seed, .unfolded = options->unfolded,
                                .interrupt = options->interrupt, .sinks = options->sinks, .sink_count = options->sink_count};
    pw_session_result ran;
    PW_TRY(pw_session_run(&config, s->job, arena, &ran, error));
    fill_result(s, &ran, result);
    PW_TRY(pw_step_interval(catalogue, result->device, s->job, 0, s->clock_ratio, PW_STEP_CONVNET, result->step_s,
                            result->compute_s, arena, &result->interval, error));
    return write_notes(s, arena, result, error);
}

pw_status pw_convnet_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                         const pw_convnet_desc *desc, const pw_convnet_options *options, const char *file, int line,
                         pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    static const pw_convnet_options defaults = {0};
    prepared s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result, error);
    tear_down(&s);
    return status;
}
