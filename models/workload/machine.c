#include "models/workload/machine.h"

#include <stdlib.h>

#include "models/workload/clock.h"

pw_status pw_machine_open(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *desc,
                          pw_machine *machine, pw_error *error) {
    *machine = (pw_machine){.clock_ratio = 1, .oversubscription = desc->network.oversubscription, .power_desc = desc->power,
                            .catalogue = catalogue};
    PW_TRY(pw_cluster_create(allocator, catalogue, desc, &machine->cluster, error));
    return pw_cluster_need_equal(machine->cluster, "a training job", error);
}

/* Ranks that differ: all at the pace expected of the slowest, or each at its own. */
static pw_status vary(pw_machine *machine, const pw_catalogue *catalogue, const pw_variability_desc *desc, uint64_t seed,
                      pw_arena *arena, pw_job *job, pw_error *error) {
    pw_variability_desc *v = &machine->variability;
    PW_TRY(pw_variability_resolve(catalogue, desc, v, error));
    if (v->stragglers > job->ranks)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "stragglers are GPUs of the job", "variability.stragglers %lld are more than the %lld GPUs",
                       (long long)v->stragglers, (long long)job->ranks);
    if (v->draws == PW_DRAWS_EXPECTED) job->kernel_time_factor *= 1 + pw_variability_slowest(v, job->ranks);
    return pw_variability_draw(v, seed, job->ranks, arena, &job->slowdown_of_rank, error);
}

/* Whether clocks come from power; the pace that goes with it is on file for what published steps have told of, else 1. */
static bool governs(pw_machine *machine, const pw_run_options *options, const pw_catalogue *catalogue, pw_precision precision) {
    const char *source;
    if (options->plain || options->clock_ratio > 0) return false;
    if (machine->power_desc && machine->power_desc->model == PW_POWER_OFF) return false;
    double on_file = pw_training_pace(catalogue, pw_cluster_device(machine->cluster), precision, &source);
    machine->pace = options->pace > 0 ? options->pace : on_file > 0 ? on_file : 1;
    return options->pace > 0 || options->power || machine->power_desc;
}

pw_status pw_machine_prepare(pw_machine *machine, const pw_allocator *allocator, const pw_catalogue *catalogue,
                             const pw_run_options *options, pw_precision precision, double stack_factor,
                             const pw_variability_desc *variability, pw_arena *arena, pw_job *job, pw_error *error) {
    const pw_device *device = pw_cluster_device(machine->cluster);
    if (options->clock_ratio > 0) machine->clock_ratio = options->clock_ratio;
    else if (!options->plain) machine->clock_ratio = pw_training_clock(catalogue, device, precision, &machine->clock_source);
    job->kernel_time_factor = options->kernel_time_factor > 0 ? options->kernel_time_factor : options->plain ? 1 : stack_factor;
    if (!options->plain) PW_TRY(vary(machine, catalogue, variability, options->seed, arena, job, error));
    if (governs(machine, options, catalogue, precision))
        PW_TRY(pw_power_loop_create(allocator, catalogue, machine->cluster, machine->power_desc, machine->pace, options->seed, arena, job,
                                    &machine->power_loop, error));
    PW_TRY(pw_gpu_create(allocator, catalogue, device->name, &machine->gpu, error));
    PW_TRY(pw_collectives_create(allocator, catalogue, machine->cluster, true, &machine->collectives, error));
    pw_collectives_watch(machine->collectives, options->interrupt);
    return PW_OK;
}

pw_status pw_machine_run(pw_machine *machine, const pw_allocator *allocator, const pw_run_options *options,
                         const pw_job *job, pw_arena *arena, pw_session_result *result, pw_error *error) {
    const pw_session_config config = {.allocator = allocator,
                                      .cluster = machine->cluster,
                                      .gpu = machine->gpu,
                                      .collectives = machine->collectives,
                                      .clock_ratio = machine->clock_ratio,
                                      .seed = options->seed,
                                      .unfolded = options->unfolded,
                                      .messages = options->messages,
                                      .interrupt = options->interrupt,
                                      .sinks = options->sinks,
                                      .sink_count = options->sink_count,
                                      .runner = options->runner};
    if (!machine->power_loop) return pw_session_run(&config, job, arena, result, error);
    bool happens = pw_power_has_events(machine->power_desc);
    pw_session_config calm = config; /* listeners hear the run with its events alone */
    if (happens) {
        calm.sink_count = 0;
        pw_power_loop_keep(machine->power_loop);
    }
    PW_TRY(pw_power_loop_run(machine->power_loop, happens ? &calm : &config, job, arena, result, &machine->power, error));
    machine->clock_ratio = machine->pace * machine->power.clock_ratio;
    if (!happens) return PW_OK;
    pw_power_events *events = pw_arena_alloc(arena, sizeof *events);
    if (!events) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for events of power");
    machine->power.events = events;
    return pw_power_events_run(machine->power_loop, machine->catalogue, machine->power_desc, &config, job, result->end_s, arena, result,
                               events, error);
}

const pw_power_result *pw_machine_power(const pw_machine *machine, pw_arena *arena) {
    if (!machine->power_loop) return NULL;
    pw_power_result *power = pw_arena_alloc(arena, sizeof *power);
    if (power) *power = machine->power;
    return power;
}

void pw_machine_close(pw_machine *machine) {
    pw_power_loop_destroy(machine->power_loop);
    if (machine->collectives) pw_collectives_destroy(machine->collectives);
    if (machine->gpu) pw_gpu_destroy(machine->gpu);
    if (machine->cluster) pw_cluster_destroy(machine->cluster);
}

void pw_machine_note(const pw_machine *machine, const pw_job *job, double stack_factor, pw_notes *notes) {
    const pw_variability_desc *v = &machine->variability;
    if (machine->power_loop) pw_power_loop_note(&machine->power, notes);
    else if (machine->clock_source && *machine->clock_source)
        pw_note(notes, "GPUs run at %.3f of the reference clock: %s.", machine->clock_ratio, machine->clock_source);
    else if (machine->clock_ratio == 1) pw_note(notes, "GPUs run at the reference clock.");
    else pw_note(notes, "GPUs run at %.3f of the reference clock, as asked.", machine->clock_ratio);
    if (job->kernel_time_factor != 1)
        pw_note(notes, "Kernel times are multiplied by %.4f: stack %.3f, the rest is what the slowest of the ranks is expected to lose.",
                job->kernel_time_factor, stack_factor);
    if (v->draws == PW_DRAWS_SAMPLED) pw_note(notes, "The speed of each rank is drawn from the seed.");
    if (!v->stragglers && v->straggler_slowdown > 1 &&
        v->straggler_slowdown != strtod(pw_kind_field(&pw_variability_kind, "straggler_slowdown")->preset, NULL))
        pw_note(notes, "variability.straggler_slowdown changes nothing: there are no stragglers.");
    pw_cluster_facts facts = pw_cluster_get_facts(machine->cluster);
    if (facts.has_network && facts.network.leaves == 1 && machine->oversubscription > 1)
        pw_note(notes, "network.oversubscription changes nothing: one switch joins all nodes.");
    if (v->stragglers && v->straggler_slowdown > 1)
        pw_note(notes, "%lld straggler%s, chosen by the seed, %g times as slow.", (long long)v->stragglers,
                v->stragglers == 1 ? "" : "s", v->straggler_slowdown);
}
