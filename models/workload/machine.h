/* What jobs of training run on: a cluster with its GPUs and collectives, at the clock and with the factors on kernel time
 * that hold over a whole step. Each factor has its place here and in no front end: the sustained clock (table
 * training-clocks), the software stack (stack-factors) and the slowest rank (variability).
 */
#ifndef PW_MODELS_WORKLOAD_MACHINE_H
#define PW_MODELS_WORKLOAD_MACHINE_H

#include "models/workload/notes.h"
#include "models/workload/power_events.h"
#include "models/workload/session.h"
#include "models/workload/variability.h"

typedef struct pw_run_options {
    uint64_t seed;
    bool ignore_memory;        /* run a plan that does not fit (validation of published runs) */
    bool unfolded;             /* simulate every rank */
    bool messages;             /* and every message of a collective */
    bool plain;                /* kernels at the reference clock, without the stack's factor and variability: for tests of laws */
    double clock_ratio;        /* of every GPU to the reference clock; 0: the sustained clock of a training step */
    bool power;                /* clocks come from power, though the cluster says nothing of it */
    double pace;               /* of arithmetic at the clock that power gives; 0: on file. Above 0 power sets the clock. */
    double kernel_time_factor; /* in place of the stack's; 0: the stack's */
    const volatile int *interrupt; /* not 0: the run ends with PW_INTERRUPTED; may be NULL */
    const pw_sink *sinks;      /* more listeners, e.g. a trace writer */
    uint32_t sink_count;
    const pw_session_runner *runner; /* takes the place of the run; NULL: none */
} pw_run_options;

typedef struct pw_machine {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    double oversubscription;   /* as the description asks */
    double clock_ratio;
    const char *clock_source;  /* where the sustained clock comes from; NULL or "": it was asked for, or nothing is known */
    const pw_catalogue *catalogue;
    const pw_power_desc *power_desc; /* as the cluster says; NULL: nothing was said */
    double pace;
    pw_power_loop *power_loop;  /* NULL: clocks do not come from power */
    pw_power_result power;      /* of a run with it */
    pw_variability_desc variability; /* resolved; spread_from is 0 in a plain run */
} pw_machine;

/* Builds the cluster; the rest of *machine is zero. The caller closes it, after a failure too. */
pw_status pw_machine_open(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *desc,
                          pw_machine *machine, pw_error *error);
/* Sets the clock of `precision` and the job's factors on kernel time, and makes GPU and collectives. stack_factor: of the
 * job's software stack. variability NULL: as on file. Factors of single ranks lie in arena. */
pw_status pw_machine_prepare(pw_machine *machine, const pw_allocator *allocator, const pw_catalogue *catalogue,
                             const pw_run_options *options, pw_precision precision, double stack_factor,
                             const pw_variability_desc *variability, pw_arena *arena, pw_job *job, pw_error *error);
/* Runs the job (pw_session_run). */
pw_status pw_machine_run(pw_machine *machine, const pw_allocator *allocator, const pw_run_options *options,
                         const pw_job *job, pw_arena *arena, pw_session_result *result, pw_error *error);
/* A copy of what the run says of power, in arena; NULL: clocks did not come from power. */
const pw_power_result *pw_machine_power(const pw_machine *machine, pw_arena *arena);
void pw_machine_close(pw_machine *machine);

/* Sentences about clock, factors and ranks that differ. */
void pw_machine_note(const pw_machine *machine, const pw_job *job, double stack_factor, pw_notes *notes);

#endif
