/* State of a running executor, shared by the files of this folder: ranks, streams, operations, instances of collectives.
 * Everything refers by index, so that growth moves nothing that a handler holds. Internal. */
#ifndef PW_MODELS_PROGRAM_RUN_H
#define PW_MODELS_PROGRAM_RUN_H

#include "models/program/executor.h"
#include "models/program/fold.h"
#include "models/program/segment.h"
#include "models/program/wires.h"

enum {
    WINDOW_LAUNCHES = 1024, /* launches a device queue takes before the host waits, as with CUDA streams */
    CHUNK = 1024 /* operations */
};

typedef enum op_phase {
    PHASE_ISSUED,    /* behind others of its stream, or waiting for slots */
    PHASE_LAUNCHING, /* the host has not launched it yet */
    PHASE_ARRIVED,   /* waits for partners */
    PHASE_RUNNING
} op_phase;

/* Many thousands wait at a time, so most are out of the caches when their turn comes: three lines of 64 bytes, the first
 * with all that the end of another operation touches (see op_fetch). */
typedef struct op_run {
    uint32_t index, generation, rank_class;
    uint32_t next;    /* in its stream; in the free list */
    uint32_t waiters; /* first wait for this operation: waiting operation x PW_OP_WAITS + which of its waits */
    uint32_t wait_next[PW_OP_WAITS];
    uint32_t launches;
    pw_span_id cause; pw_time cause_time; /* whose end made it ready, and when */
    uint8_t waits_left;
    bool front, on_host; /* on_host: a SYNC, in no stream */
    bool fluid;          /* a segment that shares its GPU */
    uint8_t phase;       /* op_phase */
    uint8_t waits_open;  /* bit w: waits for the operation that signals waits[w] */

    pw_op op;
    pw_time host_start; /* the host began to launch it */
    pw_time start;      /* waits over and launched */

    pw_time release; pw_span_id release_span; /* what held the host up last before that, and until when */
    union {
        struct {
            double duration_s, work_left, flops;
            pw_time since; /* work_left holds at this time */
            union {
                pw_event_id timer;
                pw_activity_id activity; /* if fluid */
            };
        } compute;
        struct { uint32_t sequence, next_member; } collective;
        struct { uint32_t partner, pending_next, plan; pw_time start; } transfer; /* messages and copies */
    };
} op_run;
enum { CHUNK_BYTES = CHUNK * sizeof(op_run) + 64 };
_Static_assert(sizeof(op_run) <= 192, "an operation under way takes three lines of the cache");

typedef struct stream_run {
    uint32_t head, tail;
    pw_time last_time;
    pw_span_id last_span;
} stream_run;

typedef struct slot_run {
    uint32_t op, generation; /* last issued operation that signals it; stale generation: done */
    pw_time time;            /* when and by what it was last signalled */
    pw_span_id span;
} slot_run;

typedef enum host_phase { HOST_RUNNING, HOST_BUSY, HOST_SYNC, HOST_WINDOW, HOST_DONE } host_phase;

typedef struct rank_run {
    pw_rank_class info;
    const pw_program *program;
    pw_walker *walker;
    pw_time host_time; /* the host is ready for its next operation */
    pw_time release; pw_span_id release_span;
    host_phase host;
    bool ended;
    pw_op busy_with;          /* a HOST operation under way */
    pw_time busy_from;
    uint32_t sync;            /* the SYNC operation that the host waits in */
    uint32_t in_flight, live; /* launches; operations */
    uint32_t running;         /* compute operations, */
    pw_time computes_since;   /* without a break since then */
    double clock_ratio;           /* now */
    double held_sms, held_memory; /* by collectives: SMs, share of the memory bandwidth */
    uint32_t *group_class;    /* [group roles] */
    uint32_t *sequence;       /* [group roles]: collectives issued so far */
    stream_run *streams;
    slot_run *slots;
    pw_capacity_id arithmetic, traffic; /* of its GPU; made when two segments first run side by side */
    pw_track host_track, *tracks;       /* [streams] */
} rank_run;

/* What GPUs of a class do (effort.c). */
typedef struct effort_run {
    uint32_t *segments;      /* [segments]: run so often */
    pw_gpu_work moved;       /* by transfers; busy_s of everything */
    double pauses_s;
    pw_time first, last;     /* computation began first, ended last; PW_TIME_MAX: not yet */
    pw_time resident_since;
    uint32_t resident;       /* operations that hold the GPU */
    pw_gpu_work *bins;       /* NULL: none */
} effort_run;

/* Cost and route of a transfer or collective of one size. */
typedef enum plan_kind { PLAN_COLLECTIVE, PLAN_MESSAGE, PLAN_COPY, PLAN_IO } plan_kind;
typedef struct plan {
    plan_kind kind;
    uint32_t owner, detail; /* as of a flow_class */
    int algorithm;          /* as asked for */
    double bytes;
    int resolved;
    double alpha_s, cap_Bps, sms, memory_Bps;
    pw_route_id route;
    bool routed;            /* some link limits it */
    bool limited;           /* so does a store */
    double operations;      /* of a store, per transfer */
    flow_class *flow;       /* folded runs */
    const flow_use *uses;   /* unfolded runs that are watched: of links */
    uint32_t use_count;
    uint32_t wire_route;    /* runs with wires */
    uint32_t next;          /* in its bucket */
} plan;

/* The bytes of a transfer (flow.c). */
typedef enum flow_state {
    FLOW_FREE,
    FLOW_LATENT, /* its latency runs */
    FLOW_LONE,   /* latency and bytes by one timer, not counted on its wires */
    FLOW_TIMED,  /* at its cap until the timer ends it */
    FLOW_SHARED, /* a fluid activity */
    FLOW_ENDED   /* its handler waits to be called */
} flow_state;
typedef struct flow_run {
    uint32_t route;          /* in wires */
    uint8_t state;           /* flow_state */
    bool limited;            /* by more than wires */
    uint32_t next, previous; /* timed ones of its route; free list */
    uint32_t due_next, due_previous; /* with the same timer */
    uint32_t plan, watched;  /* PW_NONE: a message of a collective; not watched */
    double bytes, cap_Bps;
    double rate_Bps;         /* the most that cap and wires allow */
    pw_time sent, due;
    double begin;            /* ticks after `sent` at which the bytes begin */
    double late;             /* ticks by which the event of the end comes after the end */
    union { pw_event_id timer; pw_activity_id activity; };
    struct pw_executor *x;   /* whose it is */
    pw_event_handler *done;
    void *object;
    uint64_t argument;
} flow_run;
typedef struct flow_order {
    uint32_t route;          /* in wires */
    uint32_t plan;           /* PW_NONE: none */
    bool limited;
    double bytes, cap_Bps;   /* cap 0 or above 1e300: none */
    double latency, late;    /* in ticks, before the bytes; by which now comes after the true beginning */
    pw_event_handler *done;
    void *object;
    uint64_t argument;
} flow_order;

/* The links of a fabric, shared by the executors that run on it. */
typedef struct link_share {
    pw_allocator allocator;
    pw_arena *arena;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_executor **executors;   /* NULL once destroyed */
    uint32_t count, left;      /* left: the last one frees it */
    bool folded;
    link_classes classes;      /* folded */
    wires *wires;              /* of links, or of link classes; NULL: all transfers go through the fluid system */
    bool fluid_only;           /* as asked for */
    flow_run *flows;           /* with wires */
    size_t flow_capacity;
    uint32_t flow_count, flow_free;
    uint32_t due_first, due_last; /* transfers of the timer made last; PW_NONE: it has fired */
    uint32_t latent_first, latent_last; /* the same of latencies */
    double flow_late;          /* of the transfer whose done runs */
    uint64_t flows_ended;
    pw_capacity_id *capacity;  /* [links], or [link classes] when folded; null: not made yet */
    uint32_t capacity_count;
    bool *dead;                /* [capacities]: gone for good */
} link_share;

typedef struct message_graph message_graph;
typedef struct instance {
    uint32_t index, group, sequence;
    uint32_t arrived, first_op; /* rank classes there, and their operations */
    uint32_t plan;
    pw_time start;
    uint32_t next; /* live ones of the group; free list */
    message_graph *graph;
} instance;

typedef struct record_names {
    pw_name launch, wait, send, recv, delay, host, io, quorum, copies[2];
    pw_name *categories, *segments; /* [category], [segment] */
    pw_name *collectives;           /* [role x PW_COLLECTIVE_KIND_COUNT + kind] */
} record_names;

struct pw_executor {
    pw_executor_config config;
    pw_allocator allocator;
    pw_arena *arena;
    const pw_job *job;
    pw_usage *usage;
    fold *fold;
    segment_memo *memo;
    rank_run *ranks; /* [fold->class_count] */
    uint32_t unfinished;

    op_run **chunks; /* CHUNK operations each, from a multiple of 64 bytes on */
    void **chunk_memory;
    size_t chunk_count, chunk_capacity, chunk_memory_capacity;
    uint32_t op_free;
    uint32_t *ready; /* ring of operations to launch in this instant */
    size_t ready_first, ready_count, ready_capacity;

    struct quorum_group {          /* [group classes] */
        int64_t closed;            /* numbers below are closed */
        uint32_t first;            /* open ones, in order of opening */
    } *quorum_groups;
    struct quorum_run {
        int64_t number;
        double arrived;            /* members of each group */
        uint32_t first_op, last_op, next; /* next: of the group; in the free list */
    } *quorums;
    size_t quorum_count, quorum_capacity;
    uint32_t quorum_free;

    instance *instances;
    size_t instance_count, instance_capacity;
    uint32_t instance_free;
    uint32_t *group_live; /* [group classes]: first live instance */

    plan *plans;
    size_t plan_count, plan_capacity;
    uint32_t *plan_buckets, plan_bucket_count;
    pw_use *uses; /* scratch */
    uint32_t *use_links; /* what they are uses of: index into the share's capacities, PW_NONE: no link */
    size_t use_count, use_capacity, use_link_capacity;
    uint32_t *gpus; /* scratch: a group's GPUs */
    size_t gpu_capacity;

    uint32_t *pending, pending_count; /* buckets of sends and receives that wait for each other */

    uint32_t **position_of_rank; /* [roles][ranks]: in its group; message mode */
    struct store_run {             /* [stores x group classes]: one such store, of a group of the class */
        pw_capacity_id bandwidth, operations; /* null: not made yet */
    } *stores;
    link_share *share;
    uint32_t watched_as;           /* its number at the watch */
    pw_time origin;                /* its start; spans count from here */
    uint32_t round;                /* repetitions done */
    pw_time began, ended;          /* this repetition; all of them, PW_TIME_MAX: not yet */

    effort_run *efforts;           /* [rank classes]; NULL: not counted */
    pw_time effort_bin;            /* width of a bin */

    pw_executor_totals totals;
    bool recording;
    record_names names;
};

/* executor.c: the last rank class has ended */
void round_ended(pw_executor *x);

/* operation.c */
static inline op_run *op_at(const pw_executor *x, uint32_t index) { return &x->chunks[index / CHUNK][index % CHUNK]; }
static inline void op_fetch(const pw_executor *x, uint32_t index, bool whole) { /* into the caches, ahead of time */
    const char *at = (const char *)op_at(x, index);
    __builtin_prefetch(at, 1);
    if (!whole) return;
    __builtin_prefetch(at + 64, 1);
    __builtin_prefetch(at + 128, 1);
}
op_run *op_new(pw_executor *x); /* NULL: the simulation has failed */
void op_issue(pw_executor *x, op_run *op);
void op_complete(pw_executor *x, op_run *op, pw_span_id span); /* frees op */
void op_free(pw_executor *x, op_run *op);
bool op_bind_waits(pw_executor *x, op_run *op); /* true when nothing is left to wait for */
void run_ready(pw_executor *x);                 /* every event handler ends with it */

/* compute.c */
pw_status compute_cost(pw_executor *x, const op_run *op, segment_cost *cost);
pw_status compute_cost_alone(pw_executor *x, const op_run *op, segment_cost *cost); /* beside no communication */
void compute_begin(pw_executor *x, op_run *op);
void compute_rescale(pw_executor *x, uint32_t rank_class); /* clock or held SMs changed */

/* effort.c; all but the first only with x->efforts. effort_computes: the first segment begins on an empty GPU; effort_segment: one
 * has ended; effort_transfer: for each class that takes part. */
pw_status effort_prepare(pw_executor *x, pw_error *error);
void effort_computes(pw_executor *x, uint32_t rank_class);
void effort_segment(pw_executor *x, const op_run *op);
void effort_resident(pw_executor *x, uint32_t rank_class, int change); /* 1: one operation more holds the GPU, -1: one less */
void effort_changed(pw_executor *x, uint32_t rank_class); /* something began, ended or goes at another pace */
void effort_transfer(pw_executor *x, uint32_t rank_class, const plan *p, pw_time start);

/* host.c */
void host_run(pw_executor *x, uint32_t rank_class);
void host_launched_done(pw_executor *x, uint32_t rank_class, pw_span_id span); /* the queue got shorter */
void host_synced(pw_executor *x, op_run *op, pw_span_id span);

/* plan.c: index of the plan; PW_NONE when the simulation has failed */
uint32_t plan_collective(pw_executor *x, uint32_t group, const pw_op *op);
uint32_t plan_message(pw_executor *x, uint32_t rank_class, uint32_t role, double bytes);
uint32_t plan_copy(pw_executor *x, uint32_t rank_class, bool to_host, double bytes);
uint32_t plan_io(pw_executor *x, uint32_t rank_class, const pw_op *op); /* at a placed store */
void plan_finished(pw_executor *x, const plan *p);
pw_capacity_id plan_link(pw_executor *x, pw_link link); /* capacity of a link of an unfolded run */
void plan_add_link(void *object, pw_link link, double load); /* adds a use of it to x->uses; object: the executor */
pw_capacity_id plan_capacity(pw_executor *x, uint32_t index); /* of a link or link class */
void plan_use(pw_executor *x, pw_capacity_id id, double weight);
pw_route_id plan_route(pw_executor *x); /* of what is in x->uses */
/* The collective's group as GPUs in ring order, in x->gpus; 0 when memory is out. */
uint32_t plan_gpus(pw_executor *x, const group_class *group);

/* flow.c. flow_start: the bytes of a plan, at its cap or what its wires leave it; then done(sim, executor, argument).
 * flow_send: a transfer with its latency; done(sim, object, argument), while share->flow_late says by which fraction of a tick
 * it comes late. Both may move share->flows and the routes of its wires. */
void flow_start(pw_executor *x, uint32_t plan_index, pw_event_handler *done, uint64_t argument);
void flow_send(pw_executor *x, const flow_order *order);
void flow_add_wire(void *object, uint32_t on, double load); /* a pw_link_load_fn; object: the executor */
uint32_t flow_end_route(pw_executor *x, uint32_t from, uint32_t to); /* PW_NONE: the simulation has failed */
uint32_t flow_message_route(pw_executor *x, uint32_t from, uint32_t to); /* made at first use */
void flow_set_wire(link_share *share, uint32_t index, double bandwidth_Bps);

/* What it puts on links, by index into the share's capacities. */
static inline const flow_use *plan_uses(const plan *p, uint32_t *count) {
    *count = p->flow ? p->flow->use_count : p->use_count;
    return p->flow ? p->flow->uses : p->uses;
}
static inline bool plan_capped(const plan *p) { return p->cap_Bps > 0 && p->cap_Bps <= 1e300; }
double plan_count(const pw_executor *x, const plan *p); /* equal transfers that it stands for */
void plan_describe(const pw_executor *x, const plan *p, pw_watched_flow *flow);

/* watch.c */
void watch_join(pw_watch *watch, pw_executor *x);
bool watch_prepare(pw_watch *watch); /* once links are classified; false when memory is out */
uint32_t watch_begin(pw_watch *watch, const pw_executor *x, uint32_t plan_index, bool timed, pw_activity_id activity);
void watch_convert(pw_watch *watch, uint32_t index, pw_activity_id activity);
void watch_end(pw_watch *watch, uint32_t index);
void watch_change(pw_watch *watch); /* a capacity changes now */
/* Whether a transfer of a job that is to end is under way over the capacity; *who: whose. */
bool watch_uses(const pw_watch *watch, uint32_t capacity, const pw_executor **who);

/* collective.c, message.c, graph.c */
void collective_arrive(pw_executor *x, op_run *op);
const plan *collective_plan(const pw_executor *x, const op_run *op); /* NULL: not known yet */
void collective_finish(pw_executor *x, uint32_t instance_index);
void message_arrive(pw_executor *x, op_run *op);
void copy_begin(pw_executor *x, op_run *op);
/* Where a rank's peer expects or sends a message: the key under which both ends meet. */
typedef struct meeting {
    uint32_t sender; /* rank class */
    uint16_t role;   /* smallest role by which the sender reaches the receiver; UINT16_MAX: by none */
    uint16_t channel;
    int64_t tag;
} meeting;
meeting message_meeting(const pw_executor *x, const op_run *op);
/* Message by message: a member of a collective is there. The first one makes the graph; each begins as it comes. */
void graph_arrive(pw_executor *x, instance *one, const op_run *op);
void graph_destroy(pw_executor *x, message_graph *graph);

/* store.c */
void io_begin(pw_executor *x, op_run *op);
/* What one byte of a request at a store takes of its bandwidth and operations, into uses; returns how many. */
uint32_t store_uses(pw_executor *x, uint32_t rank_class, const pw_op *op, pw_use uses[2]);

/* quorum.c */
void quorum_arrive(pw_executor *x, op_run *op);
uint32_t quorum_arrived(const pw_executor *x, const op_run *op); /* members of its group so far */

/* report.c */
pw_status report_prepare(pw_executor *x, pw_error *error);
pw_span_id report_span(pw_executor *x, uint32_t rank_class, pw_track track, pw_name category, pw_name label,
                       pw_time start, pw_time end, pw_span_id cause);
/* The operation's own span, from start until now. */
pw_span_id report_op(pw_executor *x, const op_run *op, pw_time start);
void report_wait(pw_executor *x, const op_run *op, pw_time start); /* waited for partners until now */

/* deadlock.c */
pw_status deadlock_describe(pw_executor *x, pw_error *error);

#endif
