/* A recorded or scheduled program as a graph: what each rank does, and what has to end before it may start. Read from
 * Chakra (chakra.c, chakra_et.c) or GOAL (goal.c), paired and ordered by order.c, lowered to a job by lower.c. Internal.
 *
 * What a node means here:
 *   compute     takes its seconds on a resource of its rank (GPU, host, memory; GOAL: cpu N); one at a time on each
 *   send, recv  a message of the network; the receive buffer is there from the beginning. A send ends when its bytes have
 *               arrived, a receive when they have and what it depends on has ended
 *   collective  starts when all members are there; those of a group run one after another
 *   nothing     ends when what it depends on has ended
 */
#ifndef PW_REPLAY_TRACE_H
#define PW_REPLAY_TRACE_H

#include "models/workload/replay/replay.h"

typedef enum trace_kind { TRACE_NOTHING, TRACE_COMPUTE, TRACE_SEND, TRACE_RECV, TRACE_COLLECTIVE } trace_kind;
enum { TRACE_GPU, TRACE_HOST, TRACE_MEMORY, TRACE_RESOURCES = 64 }; /* GOAL: cpu N is resource N */

typedef struct trace_node {
    int64_t id, tag;
    double seconds; /* of a computation; NaN: not given */
    double operations, bytes; /* of a computation without seconds; bytes of a message or collective */
    int line;
    uint8_t kind, resource, collective; /* trace_kind; pw_collective_kind */
    uint32_t rank, other; /* other: peer of a message; group of a collective */
    uint32_t first_need, needs;
    uint32_t partner; /* of a message: the other end; of a collective: its number in the group */
} trace_node;

typedef struct trace_need { /* "after the end of" a node, or "after its start" */
    int64_t id;     /* until the rank is resolved */
    uint32_t node;  /* then */
    bool start;
} trace_need;

typedef struct trace_group {
    const char *name;
    uint32_t *members; /* in ring order */
    uint32_t count;
    uint32_t collectives; /* that every member takes part in */
} trace_group;

typedef struct trace {
    const pw_allocator *allocator;
    pw_arena *arena; /* names, groups */
    pw_error *error;
    uint32_t ranks;
    const char **files; /* [ranks] */
    uint32_t *first;    /* [ranks + 1]: nodes of a rank are a stretch */
    trace_node *nodes;  size_t node_count, node_capacity;
    trace_need *needs;  size_t need_count, need_capacity;
    trace_group *groups; uint32_t group_count, group_capacity; /* group 0: all ranks */
    uint32_t *order;    /* [nodes]: in an order in which everything could run */
} trace;

/* One node of the rank under construction, zeroed but for rank, seconds and operations (NaN, 0); NULL: no memory. */
trace_node *trace_add(trace *t, uint32_t rank);
bool trace_need_add(trace *t, trace_node *node, int64_t id, bool start); /* of the node added last */
/* Turns ids into nodes once a rank is whole. */
pw_status trace_resolve(trace *t, uint32_t rank);
pw_status trace_fail(const trace *t, const trace_node *node, pw_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
pw_status trace_no_memory(const trace *t);
uint32_t trace_group_find(const trace *t, const char *name); /* PW_NONE: none */
pw_status trace_group_add(trace *t, const char *name, const uint32_t *members, uint32_t count, uint32_t *group);

pw_status trace_read_chakra(trace *t, const char *path, uint32_t rank);    /* JSON */
pw_status trace_read_chakra_et(trace *t, const char *path, uint32_t rank); /* protobuf */
pw_status trace_read_groups(trace *t, const char *path);                   /* {"name": [ranks]} */
pw_status trace_read_goal(trace *t, const char *path);                     /* all ranks; sets ranks, files, first */

/* What the two forms of Chakra share: a node's type and attributes by name. */
typedef struct chakra_node {
    int64_t id, type;      /* type as in the schema's enumeration; -1: see type_name */
    const char *type_name;
    double duration_us;
    bool is_cpu;
    int64_t comm_type, source, destination, tag;
    double operations, tensor_bytes, comm_bytes;
    const char *group;
    int line;
} chakra_node;
void chakra_begin(chakra_node *node); /* empties it */
/* Puts a whole node among those of its rank; fails with file:line on a type or attribute that means nothing. */
pw_status chakra_add(trace *t, uint32_t rank, const chakra_node *node, trace_node **added);
/* A number of an attribute; unknown names are of no use to a replay. */
void chakra_attribute(chakra_node *node, const char *name, double value);

/* Pairs messages, counts collectives through, and finds an order in which everything could run; what would wait for ever is
 * PW_DEADLOCK with the nodes that wait. */
pw_status trace_order(trace *t);

/* The job; all arrays in arena. device: for computations without seconds. */
pw_status trace_lower(trace *t, const pw_device *device, const pw_replay_desc *desc, pw_arena *arena, pw_job **job,
                      double *compute_s);

#endif
