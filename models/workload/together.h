/* Several jobs on one cluster in one simulation: they share the links, each has its own report.
 *
 * A run ends when the last job that is to end has ended; jobs without end (a noisy neighbour, background traffic) stop there.
 * Links may change their capacity on the way. pw_session_run is such a run with one job.
 */
#ifndef PW_MODELS_WORKLOAD_TOGETHER_H
#define PW_MODELS_WORKLOAD_TOGETHER_H

#include "models/workload/session.h"

typedef struct pw_together_job {
    /* What pw_session_run got; config->cluster is only the cluster that the job was lowered for. */
    const pw_session_config *config;
    const pw_job *job;
    pw_arena *arena;
    pw_session_result *result;
    const uint32_t *gpus;  /* GPU of the shared cluster for each GPU that the job speaks of; NULL: the same numbers */
    double start_s, gap_s; /* gap: between repetitions */
    uint32_t repeats;      /* 0 means 1 */
    bool endless;
} pw_together_job;

/* From at_s on the link (with its twins) has `part` of its bandwidth. */
typedef struct pw_link_event {
    double at_s;
    pw_link link;
    double part;
    bool last; /* nothing changes it later */
    const char *name; /* of the part that failed, for messages */
} pw_link_event;

typedef struct pw_together_config {
    const pw_allocator *allocator;
    const pw_cluster *cluster;           /* shared by all jobs; NULL: that of the first */
    const pw_collectives *collectives;   /* of it; NULL: those of the first job */
    const pw_link_event *events; uint32_t event_count; /* in order of time */
    bool watched;        /* the result has a watch */
    uint32_t bins, most_flows; /* as of the watch */
} pw_together_config;

typedef struct pw_together pw_together;
/* Runs the jobs and fills the result of each: times, blame and rows of a job that is repeated are means over its repetitions.
 * A job without end has no blame, and end_s is the length of its part of the run. seed and interrupt are those of the first
 * job. *together (not NULL when asked for) keeps the watch; the caller destroys it, after a failure too. */
pw_status pw_together_run(const pw_together_config *config, const pw_together_job *jobs, uint32_t count,
                          pw_together **together, pw_error *error);
const pw_watch *pw_together_watch(const pw_together *together); /* closed */
void pw_together_destroy(pw_together *together); /* NULL is fine */

#endif
