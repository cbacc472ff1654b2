/* One call from a description to an answer: cluster, memory check, lowering, execution, blame, result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/convnet/layers.h"

typedef struct prepared {
    pw_machine machine;
    pw_convnet_plan plan;
    pw_job *job;
} prepared;

static pw_status write_notes(const prepared *s, pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    const pw_convnet_plan *plan = &s->plan;
    pw_notes to = {.arena = arena};
    pw_note(&to, "Software stack %s: %s (%s).", plan->stack.name, plan->stack.text, plan->stack.source);
    pw_note(&to, "Convolutions in %s are implicit matrix multiplies: %s.", pw_precision_names[plan->precision],
         pw_gpu_provenance(s->machine.gpu, PW_KERNEL_CONVOLUTION, plan->precision));
    pw_note(&to, "Kernels that move memory: %s.", pw_gpu_provenance(s->machine.gpu, PW_KERNEL_NORM, plan->precision));
    if (plan->ranks > 1) pw_note(&to, "Collectives: %s.", pw_collectives_provenance(s->machine.collectives));
    pw_machine_note(&s->machine, s->job, plan->stack.kernel_time_factor, &to);
    if (!plan->desc->input) pw_note(&to, "Batches are there in time: the job has no input pipeline.");
    if (plan->desc->input && !(plan->desc->input->decode_per_core > 0)) pw_note(&to, "Decoding takes no time: decode_per_core is not given.");
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
        pw_convnet_account(&plan, pw_cluster_device(s->machine.cluster), &account);
        if (account.total <= account.capacity) fits = plan.batch;
        else too_large = plan.batch;
    }
    return fits;
}

static pw_status check_memory(const prepared *s, bool ignore, const char *file, int line, pw_convnet_memory *a, pw_error *error) {
    const pw_device *device = pw_cluster_device(s->machine.cluster);
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
                         const pw_run_options *options, const char *file, int line, pw_arena *arena, pw_error *error) {
    PW_TRY(pw_convnet_lower(catalogue, s->machine.cluster, desc, arena, file, line, &s->job, error));
    return pw_machine_prepare(&s->machine, allocator, catalogue, options, s->plan.precision, s->plan.stack.kernel_time_factor,
                              NULL, arena, s->job, error);
}

static void fill_result(const prepared *s, const pw_session_result *ran, pw_arena *arena, pw_convnet_result *result) {
    const pw_convnet_plan *plan = &s->plan;
    const pw_device *device = pw_cluster_device(s->machine.cluster);
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
    result->power = pw_machine_power(&s->machine, arena);
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_convnet_desc *desc, const pw_run_options *options, const char *file, int line,
                     pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    PW_TRY(pw_machine_open(allocator, catalogue, cluster, &s->machine, error));
    PW_TRY(pw_convnet_plan_make(catalogue, pw_cluster_device(s->machine.cluster), pw_cluster_gpus(s->machine.cluster),
                                pw_cluster_gpus_per_node(s->machine.cluster), desc, arena, file, line, &s->plan, error));
    PW_TRY(check_memory(s, options->ignore_memory, file, line, &result->memory, error));
    PW_TRY(prepare(s, allocator, catalogue, desc, options, file, line, arena, error));
    pw_session_result ran;
    PW_TRY(pw_machine_run(&s->machine, allocator, options, s->job, arena, &ran, error));
    fill_result(s, &ran, arena, result);
    PW_TRY(pw_step_interval(catalogue, result->device, s->job, 0, s->machine.clock_ratio, PW_STEP_CONVNET, result->step_s,
                            result->compute_s, arena, &result->interval, error));
    return write_notes(s, arena, result, error);
}

pw_status pw_convnet_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                         const pw_convnet_desc *desc, const pw_run_options *options, const char *file, int line,
                         pw_arena *arena, pw_convnet_result *result, pw_error *error) {
    static const pw_run_options defaults = {0};
    prepared s = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options ? options : &defaults, file, line, arena, result, error);
    pw_machine_close(&s.machine);
    return status;
}
