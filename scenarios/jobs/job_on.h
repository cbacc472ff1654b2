/* Jobs side by side on one cluster, and parts that fail: the descriptions, and which nodes each job gets.
 */
#ifndef PW_JOBS_JOB_ON_H
#define PW_JOBS_JOB_ON_H

#include "models/workload/together.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/sides.h"

typedef enum pw_placement { PW_PLACE_PACKED, PW_PLACE_SPREAD, PW_PLACE_FRAGMENTED, PW_PLACE_STRIDED } pw_placement;

typedef struct pw_job_on_desc {
    const char *name;    /* NULL: after its kind */
    pw_one_of job;       /* of one of pw_job_registry_kinds */
    int64_t nodes;       /* 0: all that are left */
    int64_t first_node;  /* -1: the first free one */
    int placement;       /* pw_placement */
    int64_t stride;      /* PW_PLACE_STRIDED */
    pw_list node_list;   /* int64_t: exactly these, in this order */
    double start_s, gap_s;
    int64_t steps;       /* repetitions of the whole job */
    bool forever;        /* until the other jobs end */
} pw_job_on_desc;
extern const pw_kind pw_job_on_kind;
extern const pw_kind *const pw_job_list_kinds[]; /* what a list of jobs takes: job_on and every kind of job; ends with NULL */

typedef struct pw_fail_desc {
    const char *from, *to;   /* a cable, both directions: "leaf 3", "spine 1" */
    const char *switch_name; /* or all links of a switch */
    double at_s, repaired_s; /* repaired NaN: never */
    double capacity;         /* share that is left */
} pw_fail_desc;
extern const pw_kind pw_fail_kind;
extern const pw_kind *const pw_event_kinds[]; /* ends with NULL */

/* A job of a list as it runs: its description with all fields, and its nodes. */
typedef struct pw_placed_job {
    pw_job_on_desc desc; /* a bare job gets the defaults */
    const char *name;    /* unique */
    const pw_job_kind *kind;
    uint32_t *nodes, node_count;
    uint32_t *gpus;      /* [node_count x GPUs per node] */
    bool is_endless;
} pw_placed_job;

/* Gives every job its nodes. jobs: pw_one_of of pw_job_list_kinds. A message about item i says scenario.jobs[i]. */
pw_status pw_jobs_place(const pw_cluster *cluster, pw_list jobs, uint64_t seed, pw_arena *arena, pw_placed_job **placed,
                        pw_error *error);

/* Changes of capacity in order of time. Links that share their load (twins) are one pool: it loses as much as its parts do, and
 * what is left carries the rest. */
pw_status pw_events_make(const pw_cluster *cluster, const pw_part_names *names, pw_list events, pw_arena *arena,
                         pw_link_event **made, uint32_t *count, pw_error *error);

#endif
