/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/clock.h"
#include "models/workload/lower.h"

/* Everything that a run builds; torn down in reverse. */
typedef struct session {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_recorder *recorder;
    pw_blame *blame;
    pw_executor *executor;
    pw_plan plan;
    pw_job *job;
    double clock_ratio;
    const char *clock_source;
    uint64_t hash;
} session;

static void tear_down(session *s) {
    if (s->executor) pw_executor_destroy(s->executor);
    if (s->blame) pw_blame_destroy(s->blame);
    if (s->recorder) pw_recorder_destroy(s->recorder);
    if (s->fluid) pw_fluid_destroy(s->fluid);
    if (s->sim) pw_sim_destroy(s->sim);
    if (s->collectives) pw_collectives_destroy(s->collectives);
    if (s->gpu) pw_gpu_destroy(s->gpu);
    if (s->cluster) pw_cluster_destroy(s->cluster);
}

/* FNV-1a over what a span says, byte by byte from the lowest; the zero bytes on top of each word go in at once. */
static void hash_span(void *object, const pw_span *span) {
    const uint64_t prime = UINT64_C(0x100000001b3);
    uint64_t powers[9] = {1}, h = *(uint64_t *)object;
    for (int i = 1; i < 9; i++) powers[i] = powers[i - 1] * prime;
    const uint64_t words[] = {span->id, span->cause, span->track, span->category, span->label, (uint64_t)span->start,
                              (uint64_t)span->end};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint64_t word = words[i];
        int zeros = 8;
        for (; word; word >>= 8, zeros--) h = (h ^ (word & 255)) * prime;
        h *= powers[zeros];
    }
    *(uint64_t *)object = h;
}

/* --- Notes --------------------------------------------------------------------------------------------------------- */

typedef struct notes {
    pw_arena *arena;
    const char **items;
    uint32_t count, capacity;
    bool out_of_memory;
} notes;

__attribute__((format(printf, 2, 3))) static void note(notes *to, const char *format, ...) {
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = to->count < to->capacity ? pw_arena_text(to->arena, text) : NULL;
    if (!kept) to->out_of_memory = true;
    else to->items[to->count++] = kept;
}

static pw_status write_notes(const session *s, pw_arena *arena, pw_train_result *result, pw_error *error) {
    const pw_plan *plan = &s->plan;
    notes to = {.arena = arena, .capacity = 16};
    to.items = pw_arena_alloc(arena, to.capacity * sizeof *to.items);
    if (!to.items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    note(&to, "Matrix multiplies in %s: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->gpu, PW_KERNEL_GEMM, plan->precision));
    if (plan->stack.flash_attention)
        note(&to, "Attention: %s.", pw_gpu_provenance(s->gpu, PW_KERNEL_ATTENTION, plan->precision16));
    note(&to, "Kernels that move memory: %s.", pw_gpu_provenance(s->gpu, PW_KERNEL_ELEMENTWISE, plan->precision16));
    note(&to, "Collectives: %s.", pw_collectives_provenance(s->collectives));
    if (s->clock_source && *s->clock_source)
        note(&to, "GPUs run at %.3f of the reference clock: %s.", s->clock_ratio, s->clock_source);
    else if (s->clock_ratio == 1) note(&to, "GPUs run at the reference clock.");
    else note(&to, "GPUs run at %.3f of the reference clock, as asked.", s->clock_ratio);
    if (s->job->kernel_time_factor != 1)
        note(&to, "Kernel times are multiplied by %.4f (stack %.3f; %.2f %% per doubling beyond %.0f GPUs: the slowest rank).",
             s->job->kernel_time_factor, plan->stack.kernel_time_factor, 100 * plan->stack.jitter, plan->stack.jitter_from);
    if (plan->desc->recompute == PW_RECOMPUTE_SELECTIVE && plan->stack.flash_attention)
        note(&to, "recompute = \"selective\" changes nothing: flash attention keeps no scores that could be computed again.");
    if (plan->short_ends)
        note(&to, "%lld layers: the first and the last chunk have one less, for the embedding and the output layer.",
             (long long)plan->shape.layers);
    if (plan->vocabulary != plan->model->vocabulary)
        note(&to, "The vocabulary is padded from %lld to %lld tokens; model FLOPs count the former.",
             (long long)plan->model->vocabulary, (long long)plan->vocabulary);
    if (plan->zero1 && plan->stack.overlap_parameters && plan->d * plan->c > 1)
        note(&to, "Parameters are gathered behind the first forward passes, as in every step but the first.");
    if (to.out_of_memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->notes = to.items;
    result->note_count = to.count;
    return PW_OK;
}

/* --- Memory ------------------------------------------------------------------------------------------------------ */

static pw_status refuse_memory(const session *s, const pw_catalogue *catalogue, const pw_train_desc *desc, int64_t stage,
                               const pw_memory_account *a, const char *file, int line, pw_arena *arena, pw_error *error) {
    const char *nearest = "";
    char hint[600];
    const pw_device *device = pw_cluster_device(s->cluster);
    uint32_t node = pw_cluster_gpus_per_node(s->cluster), domain = pw_cluster_scaleup_domain(s->cluster);
    PW_TRY(pw_train_nearest_fit(catalogue, device, pw_cluster_gpus(s->cluster), domain > node ? domain : node, desc, arena,
                                &nearest, error));
    if (*nearest) snprintf(hint, sizeof hint, "the nearest plan that fits: %s", nearest);
    else snprintf(hint, sizeof hint, "no plan near this one fits; use more or larger GPUs, or a smaller model");
    return pw_fail(error, PW_DOES_NOT_FIT, file, line, hint,
                   "stage %lld needs %.1f GB on each %s, which has %.1f GB\n"
                   "  weights      %8.2f GB\n  gradients    %8.2f GB\n  optimizer    %8.2f GB\n  activations  %8.2f GB\n"
                   "  logits       %8.2f GB\n  buffers      %8.2f GB\n  reserve      %8.2f GB",
                   (long long)stage, a->total / 1e9, device->name, a->capacity / 1e9, a->weights / 1e9, a->gradients / 1e9,
                   a->optimizer / 1e9, a->activations / 1e9, a->logits / 1e9, a->buffers / 1e9, a->reserve / 1e9);
}

/* Accounts of all stages; the fullest decides. */
static pw_status check_memory(session *s, const pw_catalogue *catalogue, const pw_train_desc *desc, bool ignore,
                              const char *file, int line, pw_arena *arena, pw_stage_result *stages, pw_error *error) {
    pw_train_desc resolved = *desc;
    resolved.data_parallel = s->plan.d;
    int64_t fullest = 0;
    for (int64_t stage = 0; stage < s->plan.p; stage++) {
        pw_memory_account *account = &stages[stage].memory;
        PW_TRY(pw_train_memory(catalogue, pw_cluster_device(s->cluster), &resolved, stage, account, error));
        if (account->total > stages[fullest].memory.total) fullest = stage;
    }
    const pw_memory_account *most = &stages[fullest].memory;
    if (ignore || !(most->total > most->capacity)) return PW_OK;
    return refuse_memory(s, catalogue, desc, fullest, most, file, line, arena, error);
}

/* --- Run ---------------------------------------------------------------------------------------------------------- */

static pw_status build(session *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_train_desc *desc,
                       const pw_train_options *options, const char *file, int line, pw_arena *arena, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->cluster);
    PW_TRY(pw_train_lower(catalogue, s->cluster, desc, arena, file, line, &s->job, error));
    s->clock_ratio = options->clock_ratio > 0 ? options->clock_ratio : 1;
    if (options->plain) s->job->kernel_time_factor = 1;
    else if (!(options->clock_ratio > 0))
        s->clock_ratio = pw_training_clock(catalogue, device, s->plan.precision, &s->clock_source);
    if (options->kernel_time_factor > 0)
        s->job->kernel_time_factor *= options->kernel_time_factor / (options->plain ? 1 : s->plan.stack.kernel_time_factor);

    PW_TRY(pw_gpu_create(allocator, catalogue, device->name, &s->gpu, error));
    PW_TRY(pw_collectives_create(allocator, catalogue, s->cluster, true, &s->collectives, error));
    pw_sim_config config = {.allocator = allocator, .seed = options->seed};
    PW_TRY(pw_sim_create(&config, &s->sim, error));
    PW_TRY(pw_fluid_create(s->sim, false, &s->fluid, error));
    PW_TRY(pw_recorder_create(allocator, &s->recorder, error));
    PW_TRY(pw_blame_create(allocator, s->job, s->gpu, s->recorder, &s->blame, error));
    s->hash = UINT64_C(0xcbf29ce484222325);
    pw_sink hash = {.object = &s->hash, .on_span = hash_span};
    bool attached = pw_recorder_attach(s->recorder, &hash) == PW_OK;
    for (uint32_t i = 0; attached && i < options->sink_count; i++)
        attached = pw_recorder_attach(s->recorder, &options->sinks[i]) == PW_OK;
    if (!attached) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for what listens to the run");
    pw_executor_config executor = {.sim = s->sim, .fluid = s->fluid, .recorder = s->recorder, .cluster = s->cluster,
                                   .collectives = s->collectives, .gpu = s->gpu, .clock_ratio = s->clock_ratio,
                                   .fold = !options->unfolded};
    PW_TRY(pw_executor_create(&executor, s->job, &s->executor, error));
    if (options->interrupt) pw_sim_watch(s->sim, options->interrupt);
    return PW_OK;
}

static pw_status execute(session *s, pw_error *error) {
    pw_status status = pw_sim_run(s->sim, PW_TIME_MAX);
    if (status != PW_OK) {
        if (error) *error = *pw_sim_error(s->sim);
        return error && error->status == PW_OK
                   ? pw_fail(error, status, NULL, 0, NULL, "the run ended early: %s", pw_status_text(status))
                   : status;
    }
    PW_TRY(pw_executor_finish(s->executor, error));
    pw_recorder_close(s->recorder, pw_sim_now(s->sim));
    return PW_OK;
}

static pw_status copy_blame(session *s, pw_arena *arena, pw_train_result *result, pw_error *error) {
    const pw_blame_part *parts;
    const char *home;
    double total;
    PW_TRY(pw_blame_result(s->blame, &parts, &result->part_count, &total, &home, error));
    pw_blame_part *kept = pw_arena_alloc(arena, (result->part_count + 1) * sizeof *kept);
    result->home_program = pw_arena_text(arena, home ? home : "");
    bool good = kept && result->home_program;
    for (uint32_t i = 0; good && i < result->part_count; i++) {
        kept[i] = parts[i];
        kept[i].name = pw_arena_text(arena, parts[i].name);
        good = kept[i].name != NULL;
    }
    if (!good) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->parts = kept;
    result->step_s = total;
    return PW_OK;
}

/* Means over the ranks of a stage. */
static void fill_stages(const session *s, pw_stage_result *stages, double step_s) {
    for (uint32_t i = 0; i < pw_executor_class_count(s->executor); i++) {
        const pw_rank_class *class = pw_executor_class(s->executor, i);
        pw_stage_result *stage = &stages[class->program];
        stage->ranks += class->multiplicity;
        stage->compute_s += class->compute_s * class->multiplicity;
        stage->communication_s += class->communication_s * class->multiplicity;
        stage->launch_wait_s += class->launch_wait_s * class->multiplicity;
    }
    for (int64_t i = 0; i < s->plan.p; i++) {
        pw_stage_result *stage = &stages[i];
        stage->stage = (uint32_t)i;
        stage->layers = (uint32_t)pw_plan_stage_layers(&s->plan, i);
        stage->compute_s /= stage->ranks;
        stage->communication_s /= stage->ranks;
        stage->launch_wait_s /= stage->ranks;
        stage->idle_s = fmax(0, step_s - stage->compute_s);
    }
}

static pw_status fill_result(session *s, pw_stage_result *stages, pw_arena *arena, pw_train_result *result,
                             pw_error *error) {
    const pw_plan *plan = &s->plan;
    const pw_device *device = pw_cluster_device(s->cluster);
    PW_TRY(copy_blame(s, arena, result, error));
    fill_stages(s, stages, result->step_s);
    double tokens = (double)plan->desc->global_batch * (double)plan->sequence, gpus = (double)plan->ranks;
    double peak = device->peak_flops[plan->precision];
    result->tokens_per_s = tokens / result->step_s;
    result->tokens_per_s_per_gpu = result->tokens_per_s / gpus;
    result->flops_per_gpu = pw_model_flops_per_token(plan->model, plan->sequence, true) * result->tokens_per_s_per_gpu;
    result->mfu = result->flops_per_gpu / peak;
    result->mfu_full = pw_model_flops_per_token(plan->model, plan->sequence, false) * result->tokens_per_s_per_gpu / peak;
    char convention[160];
    snprintf(convention, sizeof convention, "model FLOPs, causal attention, dense %s peak %.1f TFLOP/s",
             pw_precision_names[plan->precision], peak / 1e12);
    result->mfu_convention = pw_arena_text(arena, convention);
    if (!result->mfu_convention) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->parameters = pw_model_parameters(plan->model);
    result->device = device;
    result->gpus = plan->ranks;
    result->data_parallel = plan->d;
    result->micro_batches = plan->micro_batches;
    result->stages = stages;
    result->stage_count = (uint32_t)plan->p;
    result->totals = pw_executor_get_totals(s->executor);
    result->simulated_events = (double)pw_sim_events_fired(s->sim);
    result->hash = s->hash;
    return write_notes(s, arena, result, error);
}

static pw_status run(session *s, const pw_allocator *allocator, const pw_catalogue *catalogue,
                     const pw_cluster_desc *cluster, const pw_train_desc *desc, const pw_train_options *options,
                     const char *file, int line, pw_arena *arena, pw_train_result *result, pw_error *error) {
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &s->cluster, error));
    PW_TRY(pw_plan_make(catalogue, pw_cluster_device(s->cluster), pw_cluster_gpus(s->cluster), desc, &s->plan, file, line,
                        error));
    pw_stage_result *stages = pw_arena_alloc(arena, (size_t)s->plan.p * sizeof *stages);
    if (!stages) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory for a result");
    PW_TRY(check_memory(s, catalogue, desc, options->ignore_memory, file, line, arena, stages, error));
    PW_TRY(build(s, allocator, catalogue, desc, options, file, line, arena, error));
    PW_TRY(execute(s, error));
    return fill_result(s, stages, arena, result, error);
}

pw_status pw_train_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                       const pw_train_desc *desc, const pw_train_options *options, const char *file, int line,
                       pw_arena *arena, pw_train_result *result, pw_error *error) {
    static const pw_train_options defaults = {0};
    session s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result,
                           error);
    tear_down(&s);
    return status;
}
