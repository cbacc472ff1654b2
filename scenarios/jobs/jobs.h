/* The kinds of jobs that a scenario can run.
 *
 * A kind of job is a description (a kind of the registry), a call that runs it on a cluster, and a result that every report
 * knows how to show. To add one: write models/workload/NAME.{h,c} (description, lowering, running, with session.h), then
 * scenarios/jobs/NAME.c with a `const pw_job_kind pw_job_NAME`, and add one line to PW_JOB_KINDS. The constructor in Lua, --set,
 * errors, help, describe, run and its three reports follow.
 */
#ifndef PW_JOBS_JOBS_H
#define PW_JOBS_JOBS_H

#include "models/workload/interval.h"
#include "models/workload/machine.h"
#include "scenarios/report/result.h"

typedef struct pw_job_call {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    const pw_cluster_desc *cluster;
    const void *desc; /* of the job's kind; it has passed its checks */
    uint64_t seed;
    bool ignore_memory, unfolded, messages; /* only true when the kind can */
    const volatile int *interrupt; /* not 0: end with PW_INTERRUPTED */
    const pw_sink *sinks;          /* more listeners, e.g. a trace writer */
    uint32_t sink_count;
    const pw_session_runner *runner; /* runs the job beside others; NULL: alone */
    const char *file;              /* where the user wrote the job, for messages */
    int line;
} pw_job_call;

typedef struct pw_job_kind {
    const pw_kind *kind;     /* its name is the constructor: o.train */
    const char *suite;       /* of validation, whose errors a report quotes; NULL: none */
    const char *answers;     /* what that suite judges, in the plural: "step times" */
    bool can_ignore_memory;  /* knows --ignore-memory */
    bool can_unfold;         /* knows --unfolded */
    bool is_endless;         /* goes on until the others end: not for a scenario with one job */
    bool can_message;        /* knows --messages */
    bool draws_power;        /* reads cluster.power */
    bool reads_cooling;      /* reads cluster.cooling whatever the power; those that draw power read it with that */
    double ticks_per_second; /* of what it records; 0: PW_TICKS_PER_SECOND_STEP */
    /* Runs the job; result->arena is set, all else zero. Fills at least device, gpus, hash, answers and figures. A message
     * about a field says kind.field and gets that field's line. */
    pw_status (*run)(const pw_job_call *call, pw_run_result *result, pw_error *error);
    /* Figures that `describe` shows without running, such as parameters (pw_result_figure); NULL: none. */
    void (*describe)(const void *desc, pw_run_result *facts);
} pw_job_kind;

/* One line each: (job kind, registry kind). */
#define PW_JOB_KINDS(X)            \
    X(pw_job_train, pw_train_kind) \
    X(pw_job_replay, pw_replay_kind) \
    X(pw_job_parameter_server, pw_parameter_server_kind) \
    X(pw_job_convnet, pw_convnet_kind) \
    X(pw_job_recommender, pw_recommender_kind) \
    X(pw_job_collective, pw_collective_job_kind) \
    X(pw_job_background, pw_background_kind) \
    X(pw_job_traffic, pw_traffic_kind) \
    X(pw_job_load_trace, pw_load_trace_kind) \
    X(pw_job_facility, pw_facility_kind)

extern const pw_job_kind *const pw_job_kinds[];     /* ends with NULL */
extern const pw_kind *const pw_job_registry_kinds[]; /* in the same order; ends with NULL */
const pw_job_kind *pw_job_kind_of(const pw_kind *kind); /* never NULL for a kind of the list above */

/* What a call says about a run of training. */
pw_run_options pw_job_options(const pw_job_call *call);
/* The line "range" and the figures of an interval; says so where nothing is on file about the class. */
void pw_job_put_interval(const pw_interval *interval, pw_run_result *result);
/* Refuses cluster.power where no job reads it. */
pw_status pw_job_check_power(const pw_job_kind *kind, const pw_cluster_desc *cluster, pw_error *error);
/* Watts, energy and clocks of a run, and the same per row of a program (row i belongs to program i; rows may be NULL); nothing when
 * power is NULL. per: what energy is told for, "token", and how many of them a run had; NULL: none. */
void pw_job_put_power(const pw_power_result *power, const char *per, double count, pw_run_result *result, pw_result_row *rows,
                      uint32_t row_count);
/* Refuses cluster.cooling where the job does not read it. */
pw_status pw_job_check_cooling(const pw_job_kind *kind, const pw_cluster_desc *cluster, pw_error *error);
/* Takes over what any lowered job has to say: blame, one row per program (named after it when word is "program", else
 * numbered), hash. gpus and device are the caller's. */
void pw_job_take_session(pw_run_result *result, const pw_session_result *session, uint32_t program_count, const char *word);

#endif
