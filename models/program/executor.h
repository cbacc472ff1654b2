/* The executor: runs a job's programs on a cluster inside a simulation.
 *
 * Folding is partition refinement: ranks that issue the same program, sit alike and meet alike partners form a class that
 * is simulated once, with a multiplicity; groups and links fold with them (a link class is a set of links with equal
 * bandwidth and equal load from every class). The folded answer equals the unfolded one, unless telling links apart would
 * leave nothing to fold (totals.exact is then false, and a class runs at the pace of its most loaded links). A
 * message-mode run, a source, or fold = false simulates every rank.
 *
 * A drained event queue with waiting operations is PW_DEADLOCK; the message says who waits for whom.
 */
#ifndef PW_MODELS_EXECUTOR_H
#define PW_MODELS_EXECUTOR_H

#include "models/program/effort.h"
#include "models/program/program.h"
#include "models/program/watch.h"
#include "sim/event.h"
#include "sim/fluid.h"
#include "sim/record.h"

typedef struct pw_executor pw_executor;

typedef struct pw_executor_config {
    pw_sim *sim;
    pw_fluid *fluid;
    pw_recorder *recorder; /* NULL: nothing is reported; attach sinks before pw_executor_create */
    const pw_cluster *cluster;
    const pw_collectives *collectives;
    const pw_gpu *gpu;     /* NULL: for jobs without segments */
    double clock_ratio;    /* of every GPU; 1: reference clock */
    const double *clock_of_group; /* [job->clock_groups]: ratios in place of clock_ratio; NULL: that for all */
    bool fold;
    bool messages;         /* collectives message by message instead of fluid */
    bool fluid_only;       /* every transfer through the fluid system, also those that a timer can end; slow, for checks */
    const pw_effort_config *effort; /* NULL: what GPUs do is not counted (effort.h) */
    /* With effort: called when what the GPUs of a class do changes now, once or more in an instant; may be NULL. */
    void (*effort_changed)(void *object, pw_executor *executor, uint32_t rank_class);
    void *effort_object;
    pw_watch *watch;       /* NULL: links are not watched; else the same for all executors made together, not in message mode */
    pw_time start;         /* spans count from here; not before now */
    uint32_t repeats;      /* the whole job so often, each time when all ranks have ended; 0 means 1 */
    pw_time gap;           /* between one end and the next start */
    bool endless;          /* repeats without end, until the run is stopped */
    pw_event_handler *ended; /* (sim, ended_object, ended_argument) when the last repetition has ended; may be NULL */
    void *ended_object;
    uint64_t ended_argument;
} pw_executor_config;

/* Prepares classes, plans and capacities; schedules the start. The job must outlive the executor. */
pw_status pw_executor_create(const pw_executor_config *config, const pw_job *job, pw_executor **executor,
                             pw_error *error);
/* Several jobs on one cluster: the links they share are the same capacities of the fluid system, and they fold together, so
 * that folded and unfolded answers are equal here too. All have the simulation, the fluid system and the cluster of the first;
 * no GPU serves two jobs. When one of them cannot fold, none does. apart: links whose
 * capacity will change in the run (pw_executor_set_link). executors: [count], NULL after a failure. */
pw_status pw_executors_create(const pw_executor_config *configs, const pw_job *const *jobs, uint32_t count,
                              const pw_link *apart, uint32_t apart_count, pw_executor **executors, pw_error *error);
void pw_executor_destroy(pw_executor *executor);

/* After pw_sim_run returned PW_OK: PW_OK when every rank finished, else PW_DEADLOCK with the waiting cycle. */
pw_status pw_executor_finish(pw_executor *executor, pw_error *error);

/* Changes the clock of every GPU (ratio to the reference clock) from now on: running kernels are rescaled. */
pw_status pw_executor_set_clock(pw_executor *executor, double clock_ratio);
/* The same for the GPUs of one of the job's clock groups. PW_BAD_INPUT: there is no such group, or the ratio is not above 0. */
pw_status pw_executor_set_group_clock(pw_executor *executor, uint32_t group, double clock_ratio);
/* The same for one class of ranks. */
pw_status pw_executor_set_class_clock(pw_executor *executor, uint32_t index, double clock_ratio);
double pw_executor_clock(const pw_executor *executor, uint32_t index); /* of a class of ranks, now */

typedef struct pw_rank_class {
    uint32_t program, multiplicity, representative; /* a rank */
    pw_time begin, end;        /* when its first computation began and its last operation finished */
    double compute_s;          /* a segment ran, on one stream or several */
    double communication_s;    /* its communication streams were busy */
    double launch_wait_s;      /* compute time lost to the host's launches */
} pw_rank_class;
/* From now on the link (with its twins) has so much of its bandwidth, 0 to 1, for all executors that share it. It must be one
 * of `apart`, or the run unfolded. last: it will not change again; *waits (may be NULL) is then set to the name of a job that
 * has bytes on a link without capacity and so never ends, when the run is watched; a transfer that begins there later fails the
 * run. */
pw_status pw_executor_set_link(pw_executor *executor, pw_link link, double part, bool last, const char **waits);
pw_time pw_executor_ended(const pw_executor *executor); /* when its last rank ended, all repetitions done; PW_TIME_MAX: not yet */
uint32_t pw_executor_rounds(const pw_executor *executor); /* repetitions done */

uint32_t pw_executor_class_count(const pw_executor *executor);
const pw_rank_class *pw_executor_class(const pw_executor *executor, uint32_t index);
uint32_t pw_executor_class_of_rank(const pw_executor *executor, uint32_t rank);

/* What each GPU of a class did until now, or until the run ended; zero when effort is not counted. */
bool pw_executor_counts_effort(const pw_executor *executor);
pw_effort pw_executor_effort(const pw_executor *executor, uint32_t index);
/* Work per second of a GPU of the class now, once all else of the instant has happened: what runs, each at its pace. busy_s is 1 or 0.
 * Transfers count at the pace that they have alone. */
void pw_executor_effort_rate(const pw_executor *executor, uint32_t index, pw_gpu_work *per_s);
/* How long the segments that a GPU of the class has run take at another clock, one after another, beside no communication. */
pw_status pw_executor_compute_at(const pw_executor *executor, uint32_t index, double clock_ratio, double *compute_s, pw_error *error);
/* Work of one GPU of the class per bin of time, [count], from the start of the run; NULL without bins. The last bin may end later
 * than the run. */
const pw_gpu_work *pw_executor_effort_bins(const pw_executor *executor, uint32_t index, uint32_t *count, double *bin_s);

/* Totals over all ranks, for conservation tests: flops done, bytes sent over links of a kind. */
typedef struct pw_executor_totals {
    double flops;             /* over all ranks */
    double link_bytes[PW_LINK_KIND_COUNT];
    double collective_bytes;  /* sum over collectives of S x members */
    double io_bytes;          /* read or written at stores */
    pw_gpu_work work;         /* over all ranks; zero when effort is not counted */
    uint64_t operations;      /* simulated operations (folded) */
    uint32_t classes, link_classes;
    bool exact;               /* links were told apart too, so folding changes nothing; always true unfolded */
} pw_executor_totals;
pw_executor_totals pw_executor_get_totals(const pw_executor *executor);
/* Bytes over one link of the cluster's fabric until now (folded: of this job, in transfers that have ended; unfolded: of all
 * jobs that share the link). */
double pw_executor_link_bytes(const pw_executor *executor, pw_link link);

#endif
