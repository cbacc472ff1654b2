/* Measured times of collectives, as rows of the catalogue's tables collective-parameters (fitted) and collective-assumed (read,
 * derived or assumed).
 *
 * A row is one straight piece of a time curve:
 *
 *   T(S) = a + hop * (hops inside domains) + network_hop * (hops between domains)
 *          + max(f S / bandwidth, part of a channel / channel, network load * S / network_bandwidth)
 *   f = scale-up load (1 + c / (n - 1))
 *
 * and the time of an algorithm is the least of its rows that hold at this size (its protocols), as the library picks the fastest.
 * Bandwidths were fitted on links that carry `link` and `network_link` bytes/s of payload and scale with the links of the cluster.
 * A row may hold only until a number of bytes per member, where the library changes protocol by size; one that holds from there costs
 * as much before as at that size, so that more bytes never take less time. `channel` is the
 * rate of one channel of a point-to-point message; how many a message gets is the library's rule (library.h).
 *
 * The rows are of RDMA networks. Another software stack (network-stacks) brings hop and share of the port of its own, for small
 * messages (LL) and large ones (Simple); LL128 is not used there.
 */
#ifndef PW_MODELS_COLLECTIVE_PARAMETERS_H
#define PW_MODELS_COLLECTIVE_PARAMETERS_H

#include "models/collective/algorithm.h"

#define PARAMETER_KIND_MESSAGE PW_COLLECTIVE_KIND_COUNT /* send and receive of one pair */
#define PARAMETER_KIND_ANY (PW_COLLECTIVE_KIND_COUNT + 1)

typedef struct parameter_row {
    int kind;         /* pw_collective_kind, PARAMETER_KIND_MESSAGE or PARAMETER_KIND_ANY */
    int algorithm;    /* index into pw_algorithm_table; -1: messages */
    bool several;     /* domains: several or one */
    bool by_size;     /* bandwidth is of S itself, not of what the busiest member sends */
    bool by_member;   /* hop counts the other members of a domain, not hops */
    bool by_doubling; /* network_hop counts doublings of the number of domains, not hops */
    double a_s, hop_s, network_hop_s;
    double latency_s; /* of the longest hop where the row was fitted; what a cluster has above it adds up. NaN: ignored */
    double bandwidth_Bps, link_Bps, network_Bps, network_link_Bps; /* NaN: no such limit in this row */
    double c;
    double sms, sm_bytes; /* SMs at most; bytes that make one more SM worth while */
    double channel_Bps;   /* NaN: none */
    double from_bytes[2], until_bytes[2]; /* of a member: ranks in processes of their own, in threads of one; 0 and infinity: always */
    int protocol;         /* 0 LL, 1 LL128, 2 Simple; -1: another piece of the curve */
    int line;
} parameter_row;

/* A row of network-stacks. */
typedef struct parameter_stack {
    char name[32];
    bool is_rdma;
    double hop_s[2], share[2]; /* of small and large messages: time of a hop between domains, share of the port */
} parameter_stack;

typedef struct parameter_table {
    parameter_row *rows;
    size_t count, capacity;
    size_t own; /* rows of the generation itself come first, those for any generation after them */
    char generation[64];
    char file[512];
} parameter_table;

/* Rows for an architecture ("Hopper") and the rows for any; of a library and not newer than its version ("": the newest). Fails
 * when a table is missing or a row is wrong. */
pw_status parameters_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *arch, const char *library,
                          const char *version, parameter_table *set, pw_error *error);
/* The stack of that name; "" takes the one whose column `protocol` holds the ports' protocol, else "rdma". */
pw_status parameters_load_stack(const pw_catalogue *catalogue, const char *name, const char *nic_protocol, parameter_stack *stack,
                                pw_error *error);
/* Seconds that a way of launching adds to every operation on a generation and kind of host (collectives; exchanges and messages), for `members` in one process. */
pw_status parameters_load_launch(const pw_catalogue *catalogue, const char *launch, const char *arch, const char *host,
                                 double added_s[2], double *per_member_s, pw_error *error);
void parameters_free(const pw_allocator *allocator, parameter_table *set);

/* Whether there are rows for this algorithm: the generation's own, or those for any generation. */
bool parameters_has(const parameter_table *set, int kind, int algorithm, bool several, bool own);

/* Least time of the matching rows. */
typedef struct parameter_query {
    int kind, algorithm;
    uint32_t members, domains;
    double bytes;
    double scaleup_Bps, network_Bps; /* payload of the links in question */
    double latency_s;
    algorithm_load load;
    algorithm_hops hops;
    double member_bytes;           /* what rows' from and until are of: S / n, for send_recv and messages S */
    double channel_bytes;          /* of a point-to-point message: what the busiest channel carries, */
    double (*part_of)(const void *context, double member_bytes); /* and for another size */
    const void *context;
    bool threads;
    int protocol;                  /* rows of this protocol only; -1: all */
    const parameter_stack *stack;  /* NULL: RDMA */
} parameter_query;
typedef struct parameter_answer {
    double alpha_s, fluid_s, sms;
    const parameter_row *row; /* NULL: no row matches */
} parameter_answer;
parameter_answer parameters_least(const parameter_table *set, const parameter_query *query, bool own);

#endif
