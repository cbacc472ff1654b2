/* Runs the jobs of a scenario side by side, and each alone where others slowed it.
 *
 * Every kind of job runs its own session. Here the session of the first waits until those of the others are there too (each
 * kind is called from within the runner of the one before it), then all run as one; so a kind needs no second form.
 *
 * Loss. What a job loses to the others is the time that it takes beside them minus the time that it takes alone on its nodes,
 * with the same failures. Each other job gets a part of it in proportion to the time for which it held the job's transfers
 * (models/program/watch.h); the parts add up to the loss.
 */
#ifndef PW_JOBS_TOGETHER_H
#define PW_JOBS_TOGETHER_H

#include "scenarios/jobs/job_on.h"
#include "scenarios/report/sides.h"

typedef struct pw_side_run {
    pw_side_by_side sides;
    pw_together *together; /* has the watch */
    pw_cluster *cluster;
} pw_side_run;

typedef struct pw_side_call {
    const pw_job_call *call;        /* allocator, catalogue, cluster, seed, flags, interrupt; desc, file and line are not read */
    pw_list jobs;                   /* of pw_job_list_kinds; empty: `job` alone, on the whole cluster */
    pw_one_of job;
    pw_list events;                 /* of pw_event_kinds */
    uint32_t bins, most_flows;      /* of the watch */
    const char *const *files; const int *lines; /* [jobs]: where each was written; files NULL: not known */
} pw_side_call;

/* Results live in arena. Call pw_side_run_end when they have been read, after a failure too. *failed: the job about which the
 * message is, PW_NONE: none of them. */
pw_status pw_jobs_side_by_side(const pw_side_call *side, pw_arena *arena, pw_side_run *result, uint32_t *failed, pw_error *error);
void pw_side_run_end(pw_side_run *result);

#endif
