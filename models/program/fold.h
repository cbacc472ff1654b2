/* Classes of equal ranks, groups and links. Internal to this folder; fold.c says how they are found. */
#ifndef PW_MODELS_PROGRAM_FOLD_H
#define PW_MODELS_PROGRAM_FOLD_H

#include "models/program/usage.h"

typedef struct group_class {
    uint32_t role;
    uint32_t representative; /* a group of the role */
    uint32_t groups;         /* so many equal ones */
    uint32_t members;        /* ranks per group */
    const uint32_t *classes; /* rank classes among the members, each once */
    uint32_t class_count;
} group_class;

/* What loads links together: the equal groups of one collective and algorithm, the equal sends, copies or io of a
 * class. */
typedef enum flow_kind { FLOW_COLLECTIVE, FLOW_MESSAGE, FLOW_COPY, FLOW_IO } flow_kind;
typedef struct flow_use {
    uint32_t link_class;
    double load; /* bytes over each of its links per byte of the flow */
} flow_use;
typedef struct flow_class {
    flow_kind kind;
    uint32_t owner;  /* group class; rank class */
    uint32_t detail; /* collective kind; peer role; to_host; 2 x store + write */
    int algorithm;   /* of a collective, resolved */
    const flow_use *uses;
    uint32_t use_count;
    double bytes; /* finished so far, kept by the executor */
} flow_class;

typedef struct link_class {
    double bandwidth_Bps; /* now */
    double whole_Bps;     /* undamaged */
    pw_link_kind kind;
    uint32_t links;
    bool binding; /* false: some other class is never less loaded, so this one cannot limit */
} link_class;

/* The links of a fabric as all jobs on it load them. */
typedef struct link_classes {
    link_class *links;
    uint32_t link_count;
    uint32_t *class_of_link; /* [links of the fabric], by the first of twins; PW_NONE: no flow uses it */
    flow_class *flows;       /* of all jobs, one job after another, then one of the links that are kept apart */
    uint32_t flow_count;
} link_classes;

typedef struct fold {
    bool folded; /* false: every rank is its own class; flows and link classes are not filled */
    bool exact;  /* links were told apart too (fold.c) */
    uint32_t class_count;
    uint32_t *class_of_rank;                  /* [ranks] */
    uint32_t *representative, *multiplicity;  /* [classes] */
    group_class *groups;
    uint32_t group_count;
    uint32_t **class_of_group; /* [role][group]: index into groups; NULL for a role that nobody uses */
    flow_class *flows;       /* its own among those of all jobs */
    uint32_t flow_count;
    const link_class *links; /* of all jobs */
    uint32_t link_count;
    const uint32_t *class_of_link;
} fold;

/* One of the jobs that run on a fabric together. usage: one per program of a checked job. */
typedef struct fold_job {
    pw_arena *arena; /* of the fold */
    const pw_collectives *collectives;
    const pw_job *job;
    const pw_usage *usage;
    fold *fold;      /* set */
} fold_job;

/* Folds all jobs, so that links are equal only when every job loads them alike. apart: links that are equal to no other (by
 * the first of twins), since they will change in the run. classes (NULL unless folded) lives in the arena `shared`. */
pw_status fold_create(pw_arena *shared, const pw_allocator *allocator, const pw_cluster *cluster, fold_job *jobs,
                      uint32_t count, bool folded, const pw_link *apart, uint32_t apart_count, link_classes *classes,
                      pw_error *error);

/* NULL when there is none. */
flow_class *fold_find_flow(fold *f, flow_kind kind, uint32_t owner, uint32_t detail, int algorithm);

/* Links are known by the first of their twins. */
static inline pw_twins fold_twins(const pw_cluster *cluster, pw_link link) {
    const pw_network *network = pw_cluster_network(cluster);
    return network ? pw_network_twins(network, link) : (pw_twins){link, 1};
}

#endif
