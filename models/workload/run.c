/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/lower.h"
#include "models/workload/machine.h"
#include "models/workload/trainable.h"

typedef struct prepared {
    pw_machine machine;
    pw_plan plan;
    pw_job *job;
} prepared;

/* --- Notes --------------------------------------------------------------------------------------------------------- */

static pw_status write_notes(const prepared *s, pw_arena *arena, pw_train_result *result, pw_error *error) {
    const pw_plan *plan = &s->plan;
    pw_notes to = {.arena = arena};
    pw_note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    if (!isnan(plan->format.gradient_bytes))
        pw_note(&to, "Number format %s: %s (%s).", plan->format.name, plan->format.text, plan->format.source);
    if (!pw_plan_trains_all(plan)) {
        double trained = 0;
        for (int64_t stage = 0; stage < plan->p; stage++) trained += (double)plan->t * pw_plan_stage_trained(plan, stage);
        pw_note(&to, "Partial training: %.4g million weights get gradients; model FLOPs count the gradients of those alone, and of "
             "inputs where the backward pass goes through%s%s.", trained / 1e6,
             plan->desc->trainable == PW_TRAIN_LORA ? "; adapters: " : "",
             plan->desc->trainable == PW_TRAIN_LORA ? plan->adapter.source : "");
    }
    const char *targets = plan->desc->lora_targets;
    if (plan->desc->trainable != PW_TRAIN_LORA && targets && *targets)
        pw_note(&to, "lora_targets = \"%s\" changes nothing: there are no adapters, as trainable is not lora.", targets);
    if (plan->desc->padding > 0)
        pw_note(&to, "Sequences hold %lld tokens in the mean: %.3g %% of their positions are left out.", (long long)plan->sequence,
             100 * plan->desc->padding);
    if (strcmp(plan->optimizer.name, "adamw") != 0)
        pw_note(&to, "Optimizer %s: %s (%s).", plan->optimizer.name, plan->optimizer.text, plan->optimizer.source);
    pw_note(&to, "Matrix multiplies in %s: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->machine.gpu, PW_KERNEL_GEMM, plan->precision));
    if (plan->stack.flash_attention)
        pw_note(&to, "Attention: %s.", pw_gpu_provenance(s->machine.gpu, PW_KERNEL_ATTENTION, plan->precision16));
    pw_note(&to, "Kernels that move memory: %s.", pw_gpu_provenance(s->machine.gpu, PW_KERNEL_ELEMENTWISE, plan->precision16));
    pw_note(&to, "Collectives: %s.", pw_collectives_provenance(s->machine.collectives));
    if (plan->model->experts)
        pw_note(&to, "Experts: %s (%s); tokens of the busiest rank over the mean: %.3g.", plan->stack.experts.text,
             plan->stack.experts.source, plan->desc->expert_capacity > 0 ? plan->desc->expert_capacity : plan->desc->expert_imbalance);
    pw_machine_note(&s->machine, s->job, plan->stack.kernel_time_factor, &to);
    if (plan->order->splits) pw_note(&to, "Schedule %s: %s.", plan->order->name, plan->order->text);
    if (plan->sends_anyway)
        pw_note(&to, "Messages run behind computation, as schedule %s needs; stack %s alone would wait for them.",
             plan->order->name, plan->stack.name);
    if (plan->desc->optimizer_check == PW_CHECK_LATE && plan->p > 1)
        pw_note(&to, "The optimizer's check is late: stages begin the next step without waiting for each other, so the step is the "
             "time from beginning to end of the stage that takes longest.");
    if (plan->desc->recompute == PW_RECOMPUTE_SELECTIVE && plan->stack.flash_attention && !plan->desc->recompute_modules)
        pw_note(&to, "recompute = \"selective\" changes nothing: flash attention keeps no scores that could be computed again.");
    if (pw_plan_spreads(plan) && plan->slots % plan->positions)
        pw_note(&to, "%lld layers do not divide into %lld chunks: they hold %lld or %lld%s.", (long long)plan->shape.layers,
             (long long)plan->positions, (long long)(plan->slots / plan->positions),
             (long long)(plan->slots / plan->positions + 1),
             plan->first_short && plan->last_short ? ", with the embedding and the output layer counted as one each" : "");
    else if (pw_plan_spreads(plan) && plan->first_short == 1 && plan->last_short == 1)
        pw_note(&to, "%lld layers: the first and the last chunk have one less, for the embedding and the output layer.",
             (long long)plan->shape.layers);
    if (result->stages[0].memory.host > 0)
        pw_note(&to, "Offloaded: %.1f GB of host memory per GPU on stage 0.", result->stages[0].memory.host / 1e9);
    if (plan->vocabulary != plan->model->vocabulary)
        pw_note(&to, "The vocabulary is padded from %lld to %lld tokens; model FLOPs count the former.",
             (long long)plan->model->vocabulary, (long long)plan->vocabulary);
    if (plan->sharding != PW_SHARDING_NONE && plan->sharding != PW_SHARDING_ZERO3 && plan->stack.overlap_parameters &&
        pw_plan_data_ranks(plan) > 1)
        pw_note(&to, "Parameters are gathered behind the first forward passes, as in every step but the first.");
    pw_plan_note_idle(plan, &to);
    if (to.out_of_memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->notes = to.items;
    result->note_count = to.count;
    return PW_OK;
}

/* --- Memory ------------------------------------------------------------------------------------------------------ */

static pw_status refuse_memory(const prepared *s, const pw_catalogue *catalogue, const pw_train_desc *desc, int64_t stage,
                               const pw_memory_account *a, const char *file, int line, pw_arena *arena, pw_error *error) {
    const char *nearest = "";
    char hint[600];
    const pw_device *device = pw_cluster_device(s->machine.cluster);
    uint32_t node = pw_cluster_gpus_per_node(s->machine.cluster), domain = pw_cluster_scaleup_domain(s->machine.cluster);
    PW_TRY(pw_train_nearest_fit(catalogue, device, pw_cluster_gpus(s->machine.cluster), domain > node ? domain : node, desc, arena,
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
static pw_status check_memory(prepared *s, const pw_catalogue *catalogue, const pw_train_desc *desc, bool ignore,
                              const char *file, int line, pw_arena *arena, pw_stage_result *stages, pw_error *error) {
    pw_train_desc resolved = *desc;
    resolved.data_parallel = s->plan.d;
    int64_t fullest = 0;
    for (int64_t stage = 0; stage < s->plan.p; stage++) {
        pw_memory_account *account = &stages[stage].memory;
        PW_TRY(pw_train_memory(catalogue, pw_cluster_device(s->machine.cluster), &resolved, stage, account, error));
        if (account->total > stages[fullest].memory.total) fullest = stage;
    }
    const pw_memory_account *most = &stages[fullest].memory;
    if (ignore || !(most->total > most->capacity)) return PW_OK;
    return refuse_memory(s, catalogue, desc, fullest, most, file, line, arena, error);
}

/* --- Run ---------------------------------------------------------------------------------------------------------- */

/* Ranks drawn one by one are all different, so every one of them is simulated; a straggler sets the ranks of its copy of the
 * model apart. */
static pw_status check_draws(const prepared *s, const pw_variability_desc *v, pw_error *error) {
    const pw_plan *plan = &s->plan;
    const double most = 1e7; /* operations: about ten seconds */
    double per_rank = pw_plan_operations(plan) / (double)plan->p, operations = (double)plan->ranks * per_rank;
    if (!v || operations <= most) return PW_OK;
    if (v->draws != PW_DRAWS_SAMPLED) {
        double of_a_copy = (double)(plan->ranks / plan->d), copies = fmin((double)v->stragglers, (double)plan->d);
        if (v->straggler_slowdown == 1 || of_a_copy == 1 || copies * of_a_copy * per_rank <= most) return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take fewer stragglers, or fewer micro-batches",
                       "variability.stragglers %lld set %.0f ranks apart, about %.1g operations: too many to simulate",
                       (long long)v->stragglers, copies * of_a_copy, copies * of_a_copy * per_rank);
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use variability.draws = \"expected\"",
                   "variability.draws = \"sampled\" simulates each of %lld ranks, about %.1g operations: too many", (long long)s->plan.ranks,
                   operations);
}

static pw_status prepare(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue,
                         const pw_train_desc *desc, const pw_run_options *options, const char *file, int line,
                         pw_arena *arena, pw_error *error) {
    PW_TRY(pw_train_lower(catalogue, s->machine.cluster, desc, arena, file, line, &s->job, error));
    if (!options->plain) PW_TRY(check_draws(s, desc->variability, error));
    return pw_machine_prepare(&s->machine, allocator, catalogue, options, s->plan.precision, s->plan.stack.kernel_time_factor,
                              desc->variability, arena, s->job, error);
}

static void fill_stages(const prepared *s, const pw_session_result *ran, pw_stage_result *stages) {
    for (int64_t i = 0; i < s->plan.p; i++) {
        const pw_program_result *program = &ran->programs[i];
        pw_stage_result *stage = &stages[i];
        stage->stage = (uint32_t)i;
        stage->layers = (uint32_t)pw_plan_stage_layers(&s->plan, i);
        stage->ranks = program->ranks;
        stage->compute_s = program->compute_s;
        stage->communication_s = program->communication_s;
        stage->launch_wait_s = program->launch_wait_s;
        stage->idle_s = program->idle_s;
    }
}

/* With a late check no stage waits for the others before its next step, so steps follow each other at the pace of the stage
 * that is at work longest. What the others wait at either end goes on behind the neighbouring steps: it leaves the parts. */
static pw_status overlap_steps(const prepared *s, pw_session_result *ran, pw_arena *arena, pw_error *error) {
    if (s->plan.desc->optimizer_check != PW_CHECK_LATE) return PW_OK;
    double step = 0;
    for (int64_t i = 0; i < s->plan.p; i++) step = fmax(step, ran->programs[i].span_s);
    double behind = fmax(0, ran->end_s - step);
    pw_blame_part *parts = pw_arena_alloc(arena, (ran->part_count + 1) * sizeof *parts);
    if (!parts) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    for (uint32_t i = 0; i < ran->part_count; i++) parts[i] = ran->parts[i];
    static const char *const waits[] = {"bubble", "pp communication", "dp communication"};
    for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
        for (uint32_t i = 0; i < ran->part_count; i++) {
            double away = strcmp(parts[i].name, waits[w]) ? 0 : fmin(behind, parts[i].seconds);
            parts[i].seconds -= away;
            behind -= away;
        }
    ran->end_s = step + behind;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ran->part_count; i++)
        if (parts[i].seconds > 0) parts[count++] = parts[i];
    for (uint32_t i = 0; i < count; i++) parts[i].share = parts[i].seconds / ran->end_s;
    ran->parts = parts;
    ran->part_count = count;
    return PW_OK;
}

static pw_status fill_result(const prepared *s, const pw_session_result *ran, pw_stage_result *stages, pw_arena *arena,
                             pw_train_result *result, pw_error *error) {
    const pw_plan *plan = &s->plan;
    const pw_device *device = pw_cluster_device(s->machine.cluster);
    result->step_s = ran->end_s;
    result->parts = ran->parts;
    result->part_count = ran->part_count;
    result->home_program = ran->home_program;
    result->totals = ran->totals;
    result->simulated_events = ran->simulated_events;
    result->hash = ran->hash;
    result->power = pw_machine_power(&s->machine, arena);
    fill_stages(s, ran, stages);
    double tokens = (double)plan->desc->global_batch * (double)plan->sequence, gpus = (double)plan->ranks;
    double peak = device->peak_flops[plan->precision];
    result->tokens_per_s = tokens / result->step_s;
    result->tokens_per_s_per_gpu = result->tokens_per_s / gpus;
    result->flops_per_gpu = pw_plan_flops_per_token(plan, true) * result->tokens_per_s_per_gpu;
    result->mfu = result->flops_per_gpu / peak;
    result->mfu_full = pw_plan_flops_per_token(plan, false) * result->tokens_per_s_per_gpu / peak;
    char convention[160];
    snprintf(convention, sizeof convention, "model FLOPs, %s attention, dense %s peak %.1f TFLOP/s",
             plan->model->bidirectional ? "full" : "causal", pw_precision_names[plan->precision], peak / 1e12);
    result->mfu_convention = pw_arena_text(arena, convention);
    if (!result->mfu_convention) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    const pw_variability_desc *v = &s->machine.variability;
    result->step_spread = v->spread_from > 0 ? pw_variability_step_spread(v, plan->ranks) : 0;
    result->parameters = pw_model_parameters(plan->model);
    result->device = device;
    result->gpus = plan->ranks;
    result->data_parallel = plan->d;
    result->micro_batches = plan->micro_batches;
    result->stages = stages;
    result->stage_count = (uint32_t)plan->p;
    return write_notes(s, arena, result, error);
}

static pw_step_class class_of(const pw_plan *plan, const pw_program_result *home, double end_s) {
    const double share = 0.05; /* as the class's text says */
    if (plan->model->experts) return PW_STEP_EXPERTS;
    if (plan->desc->trainable != PW_TRAIN_ALL || plan->desc->frozen_layers > 0) return PW_STEP_PARTIAL;
    if (plan->model->bidirectional) return PW_STEP_ENCODER;
    if (plan->desc->offload_optimizer || plan->desc->offload_parameters || plan->desc->offload_activations) return PW_STEP_OFFLOAD;
    if (plan->sharding == PW_SHARDING_ZERO3) return PW_STEP_SHARDED;
    return home->launch_wait_s > share * end_s ? PW_STEP_LAUNCH : PW_STEP_DENSE;
}

/* Of the stage on which the critical path ends. */
static pw_status add_interval(const prepared *s, const pw_catalogue *catalogue, const pw_session_result *ran, pw_arena *arena,
                              pw_train_result *result, pw_error *error) {
    return pw_step_interval(catalogue, pw_cluster_device(s->machine.cluster), s->job, ran->home, s->machine.clock_ratio,
                            class_of(&s->plan, &ran->programs[ran->home], ran->end_s),
                            ran->end_s, ran->programs[ran->home].compute_s, arena, &result->interval, error);
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue,
                     const pw_cluster_desc *cluster, const pw_train_desc *desc, const pw_run_options *options,
                     const char *file, int line, pw_arena *arena, pw_train_result *result, pw_error *error) {
    PW_TRY(pw_machine_open(allocator, catalogue, cluster, &s->machine, error));
    PW_TRY(pw_plan_make(catalogue, pw_cluster_device(s->machine.cluster), pw_cluster_gpus(s->machine.cluster), desc, &s->plan, file, line,
                        error));
    pw_stage_result *stages = pw_arena_alloc(arena, (size_t)s->plan.p * sizeof *stages);
    if (!stages) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory for a result");
    PW_TRY(check_memory(s, catalogue, desc, options->ignore_memory, file, line, arena, stages, error));
    PW_TRY(prepare(s, allocator, catalogue, desc, options, file, line, arena, error));
    pw_session_result ran;
    PW_TRY(pw_machine_run(&s->machine, allocator, options, s->job, arena, &ran, error));
    PW_TRY(overlap_steps(s, &ran, arena, error));
    PW_TRY(fill_result(s, &ran, stages, arena, result, error));
    if (desc->stack_factor > 0 && result->mfu > 1)
        return pw_fail(error, PW_BAD_INPUT, file, line, "no software makes kernels faster than the GPU; take a factor nearer to 1",
                       "train.stack_factor %g makes the job faster than the GPU's peak: MFU %.0f %%", desc->stack_factor,
                       100 * result->mfu);
    return add_interval(s, catalogue, &ran, arena, result, error);
}

pw_status pw_train_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                       const pw_train_desc *desc, const pw_run_options *options, const char *file, int line,
                       pw_arena *arena, pw_train_result *result, pw_error *error) {
    static const pw_run_options defaults = {0};
    prepared s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result,
                           error);
    pw_machine_close(&s.machine);
    return status;
}
