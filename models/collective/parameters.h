/* Measured times of collectives, as rows of the catalogue's table collective-parameters.
 *
 * A row is one straight piece of a time curve:
 *
 *   T(S) = a + hop * (hops inside domains) + network_hop * (hops between domains)
 *          + max(f S / bandwidth, network load * S / network_bandwidth),   f = scale-up load (1 + c / (n - 1))
 *
 * and the time of an algorithm is the least of its rows (its protocols), as the library picks the fastest. Bandwidths
 * were fitted on links that carry `link` and `network_link` bytes/s of payload and scale with the links of the cluster.
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
    int line;
} parameter_row;

typedef struct parameter_table {
    parameter_row *rows;
    size_t count, capacity;
    size_t own; /* rows of the generation itself come first, those for any generation after them */
    char generation[64];
    char file[512];
} parameter_table;

/* Rows for an architecture ("Hopper") and the rows for any. Fails when the table is missing or a row is wrong. */
pw_status parameters_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *arch,
                          parameter_table *set, pw_error *error);
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
} parameter_query;
typedef struct parameter_answer {
    double alpha_s, fluid_s, sms;
    const parameter_row *row; /* NULL: no row matches */
} parameter_answer;
parameter_answer parameters_least(const parameter_table *set, const parameter_query *query, bool own);

#endif
