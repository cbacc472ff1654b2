/* Any job on a cluster: one call that simulates it and says how long it took, where the time went and what each program did.
 * What front ends share once they have lowered a workload to programs.
 */
#ifndef PW_MODELS_WORKLOAD_SESSION_H
#define PW_MODELS_WORKLOAD_SESSION_H

#include "models/program/blame.h"
#include "models/program/executor.h"

typedef struct pw_session_runner pw_session_runner;

typedef struct pw_session_config {
    const pw_allocator *allocator;
    const pw_cluster *cluster;
    const pw_gpu *gpu;                 /* of every node; NULL: for jobs without segments */
    const pw_collectives *collectives;
    double clock_ratio;                /* of every GPU to the reference clock, above 0 */
    const double *clock_of_group;      /* [job->clock_groups]: in place of clock_ratio; may be NULL */
    const pw_effort_config *effort;    /* what GPUs do is counted, for the observer; may be NULL */
    /* What the GPUs of a class do changes (pw_executor_config); attach: called before the run begins; both may be NULL. */
    void (*effort_changed)(void *observer, pw_executor *executor, uint32_t rank_class);
    pw_status (*attach)(void *observer, pw_executor *executor, pw_sim *sim, pw_recorder *recorder, pw_error *error);
    /* Called when the job has ended, before the executor goes; NULL: nobody. A status other than PW_OK ends the run. */
    pw_status (*observe)(void *observer, const pw_executor *executor, pw_sim *sim, pw_error *error);
    void *observer;
    uint64_t seed;
    bool unfolded;                     /* simulate every rank */
    bool messages;                     /* and every message of a collective */
    const volatile int *interrupt;     /* not 0: the run ends with PW_INTERRUPTED; may be NULL */
    const pw_sink *sinks;              /* more listeners, e.g. a trace writer */
    uint32_t sink_count;
    const pw_session_runner *runner;   /* takes the place of the run; NULL: none */
} pw_session_config;

typedef struct pw_program_result { /* means over the ranks of a program, in s */
    const char *name;
    uint32_t ranks;
    double compute_s, communication_s, launch_wait_s;
    double idle_s; /* of the whole run, without computation */
    double span_s; /* the longest of its ranks, from the first computation to its end */
} pw_program_result;

typedef struct pw_session_result {
    double end_s;                     /* when the last operation of the home program ended, after the start; of one repetition */
    double ended_s;                   /* of the whole simulation's time, when its last repetition ended */
    uint32_t rounds;                  /* repetitions over which times are means; 1 */
    const pw_blame_part *parts;       /* along the critical path; they add up to end_s */
    uint32_t part_count;
    const char *home_program;
    uint32_t home;                    /* its number */
    const pw_program_result *programs; /* [job->program_count] */
    pw_executor_totals totals;
    double simulated_events;
    uint64_t hash;                    /* of all spans: equal runs have equal hashes */
} pw_session_result;

/* For jobs that run beside others (together.h): gets what pw_session_run got and fills *result when the run is over. */
struct pw_session_runner {
    void *object;
    pw_status (*run)(void *object, const pw_session_config *config, const pw_job *job, pw_arena *arena,
                     pw_session_result *result, pw_error *error);
};

/* Runs the job to its end. Everything in *result lives in arena; names of programs are the job's. Fails as the executor
 * does (PW_DEADLOCK says who waits for whom), or with PW_INTERRUPTED. */
pw_status pw_session_run(const pw_session_config *config, const pw_job *job, pw_arena *arena, pw_session_result *result,
                         pw_error *error);

#endif
