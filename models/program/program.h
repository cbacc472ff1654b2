/* Interface 3 of 5: the operation program. The one form between workloads and hardware.
 *
 * A front end lowers a job to one program per kind of rank. A program is what a host thread would issue: operations in
 * order, each on a stream of its rank; operations of a stream run one after another, streams run side by side. An
 * operation can wait for slots and signal a slot. As with device events, a wait binds, when the operation is issued, to
 * the last operation issued before it that signals the slot (none: no wait). Issuing is itself serial work of the host
 * (the launch stream): a compute operation costs its number of launches x the launch time.
 *
 * Programs are compact: templates (named lists of operations) that call each other, with loops; they are walked lazily,
 * so a step of 10^5 operations needs the memory of a few hundred. A source is a callback that emits the next operation
 * instead, for programs that depend on what happened.
 *
 * Ranks are not named in programs. An operation names a *role*: a group role ("tp", "dp") or a peer role ("pp next"); the
 * job's tables say which group or peer that is for each rank. Equal ranks therefore share one program, and folding can
 * see that they are equal.
 *
 * Compute operations name a segment: a run of kernels with no outside dependency, timed as one macro-operation.
 */
#ifndef PW_MODELS_PROGRAM_H
#define PW_MODELS_PROGRAM_H

#include "models/collective/collective.h"
#include "models/gpu/gpu.h"
#include "sim/time.h"

#define PW_OP_MAP(X)                                                                    \
    X(COMPUTE, "compute")       /* a segment of kernels */                              \
    X(COPY, "copy")             /* between device and host memory */                    \
    X(IO, "io")                 /* read or written at a store, which its readers share */ \
    X(SEND, "send")             /* to a peer role; meets the RECV with the same tag */  \
    X(RECV, "recv")                                                                     \
    X(COLLECTIVE, "collective") /* over a group role; starts when all members are there */ \
    X(QUORUM, "quorum")         /* over a group role; goes on when so many members are there, late ones at once */ \
    X(DELAY, "delay")           /* a fixed time on the stream */                        \
    X(HOST, "host")             /* a fixed time of the host thread (issues later ones later) */ \
    X(SYNC, "sync")             /* the host waits until the waited slots are done */    \
    X(MARK, "mark")             /* a named instant, e.g. the end of a phase */          \
    X(CALL, "call")             /* a template */                                        \
    X(LOOP, "loop")             /* the next `length` operations, `count` times */
typedef enum pw_op_kind {
#define PW_OP_ENUM(NAME, name) PW_OP_##NAME,
    PW_OP_MAP(PW_OP_ENUM)
#undef PW_OP_ENUM
    PW_OP_KIND_COUNT
} pw_op_kind;

#define PW_OP_WAITS 4
#define PW_NO_SLOT (-1)
/* A tag (or call argument) of PW_ARGUMENT stands for the argument of the enclosing call, PW_ARGUMENT + k for that plus
 * k. Inside a LOOP, the argument grows by `stride` per round. */
#define PW_ARGUMENT (INT64_C(1) << 60)

typedef struct pw_op {
    pw_op_kind kind;
    uint16_t stream;
    int16_t waits[PW_OP_WAITS]; /* slots, PW_NO_SLOT for none (initialise with PW_OP_INIT) */
    int16_t signal;             /* slot or PW_NO_SLOT */
    uint32_t category;          /* blame category, index into the job's categories */
    union {
        struct { uint32_t segment; } compute;
        struct { double bytes; bool to_host; } copy;
        struct { uint16_t store; bool write; double bytes, operations; } io; /* operations: files or requests */
        struct { uint16_t peer_role; uint16_t channel; int64_t tag; double bytes; } message;
        struct { pw_collective_kind kind; int algorithm; uint16_t group_role; double bytes; } collective;
        struct { uint16_t group_role; uint32_t needed; int64_t number; } quorum; /* of a group, numbers close in order */
        struct { double seconds; } delay; /* DELAY and HOST */
        struct { const char *name; } mark;
        struct { uint32_t template_index; int64_t argument; } call;
        struct { uint32_t count, length; int64_t stride; } loop;
    };
} pw_op;
#define PW_OP_INIT .waits = {PW_NO_SLOT, PW_NO_SLOT, PW_NO_SLOT, PW_NO_SLOT}, .signal = PW_NO_SLOT

typedef struct pw_template {
    const char *name;
    const pw_op *ops;
    uint32_t count;
} pw_template;

/* Emits the next operation of a source; returns false at the end. Kinds CALL and LOOP are not allowed. `now` is the
 * time at which the host asks. */
typedef bool pw_source_fn(void *object, uint32_t rank, pw_time now, pw_op *op);

typedef struct pw_program {
    const char *name;        /* "stage 3" */
    uint32_t template_index; /* where to start; ignored with a source */
    pw_source_fn *source;    /* NULL: a template program. A rank with a source is never folded with others. */
    void *source_object;
    bool only_io;            /* the source emits no messages, copies or collectives, so that links fold around it */
} pw_program;

/* A run of kernels issued back to back on one stream. */
typedef struct pw_segment_part {
    uint32_t kernel;   /* index into the job's kernels */
    uint32_t repeats;
} pw_segment_part;
typedef struct pw_segment {
    const char *name;
    const pw_segment_part *parts;
    uint32_t count;
    uint32_t repeats; /* the whole run so many times; 0 means 1 */
} pw_segment;

/* A partition of (some) ranks into ordered groups. Groups of one member make its collectives free. */
typedef struct pw_group_role {
    const char *name;               /* "tp" */
    uint32_t groups;
    const uint32_t *group_of_rank;  /* [ranks], PW_NONE: not a member */
    const uint32_t *first;          /* [groups + 1]: members[first[g]] .. members[first[g+1]-1] */
    const uint32_t *members;        /* ranks in ring order */
} pw_group_role;
typedef struct pw_peer_role {
    const char *name;              /* "pp next" */
    const uint32_t *peer_of_rank;  /* [ranks], PW_NONE: none */
    double rate_Bps;               /* its messages are sent no faster; 0: as fast as they can */
} pw_peer_role;

/* Where data lie: what an IO operation reads from. Every group of the role has such a store of its own, which its members
 * share: all ranks of a job (a file system), those of a node (its disks). Bytes and operations are two capacities, each
 * shared max-min fair; a request takes its latency and then its share. The way to a store is no part of the fabric, unless
 * it is placed: it then lies striped over the memory of hosts of the cluster, those of some GPUs, and every byte takes the
 * links between its reader and all of them, in equal parts, while it takes the store's bandwidth. */
typedef struct pw_store {
    const char *name;
    uint16_t group_role;
    double bandwidth_Bps;
    double operations_per_s; /* INFINITY: not limited */
    double latency_s;
    double reader_Bps;       /* what one reader can take at most; INFINITY: not limited */
    const uint32_t *hosts;   /* GPUs of the cluster near whose memory it lies; NULL: not placed. The role has one group then. */
    uint32_t host_count;
} pw_store;

/* What a blame category is, so that the critical path can be summed up. */
typedef enum pw_blame_class {
    PW_BLAME_COMPUTE,       /* split further by kernel class */
    PW_BLAME_COMMUNICATION, /* between layers or programs, named by its category: "pp", "dp" */
    PW_BLAME_LAYER_COMMUNICATION, /* part of a layer's work, as of tensor or context parallel: named likewise at home,
                                     but another program that is busy with it keeps home waiting, as its computation */
    PW_BLAME_OPTIMIZER,     /* compute that is the optimiser's */
    PW_BLAME_HOST,
    PW_BLAME_OTHER
} pw_blame_class;
typedef struct pw_category {
    const char *name;
    pw_blame_class blame;
} pw_category;

/* A whole job. All arrays live in the front end's arena and outlive the executor. */
typedef struct pw_job {
    const char *name;
    uint32_t ranks;
    const uint32_t *gpu_of_rank;     /* cluster GPU number */
    const uint32_t *program_of_rank;
    const double *slowdown_of_rank;  /* factor on the kernel time of each rank, above 0; NULL: 1 */
    const uint32_t *clock_group_of_rank; /* GPUs whose clocks change together, below clock_groups; NULL: all of them */
    uint32_t clock_groups;           /* 0: 1 */
    const pw_program *programs;      uint32_t program_count;
    const pw_template *templates;    uint32_t template_count;
    const pw_segment *segments;      uint32_t segment_count;
    const pw_kernel *kernels;        uint32_t kernel_count;
    const pw_group_role *group_roles; uint32_t group_role_count;
    const pw_peer_role *peer_roles;  uint32_t peer_role_count;
    const pw_category *categories;   uint32_t category_count;
    const pw_store *stores;          uint32_t store_count;
    uint16_t streams, slots;         /* per rank */
    double launch_s;                 /* host time per kernel launch; 0: launches are free (CUDA graphs) */
    double kernel_time_factor;       /* the software stack's factor on kernel time; 1: none */
} pw_job;

/* Walks a template program operation by operation (CALL and LOOP resolved, tags substituted). */
typedef struct pw_walker pw_walker;
pw_status pw_job_check(const pw_job *job, pw_error *error); /* indices in range, no recursion, groups are partitions */
pw_walker *pw_walker_create(const pw_allocator *allocator, const pw_job *job, uint32_t program); /* NULL: no memory */
bool pw_walker_next(pw_walker *walker, pw_op *op); /* false at the end */
void pw_walker_restart(pw_walker *walker); /* from the first operation again */
void pw_walker_destroy(pw_walker *walker);

#endif
