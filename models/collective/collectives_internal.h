/* What the files of this folder share about a cluster's collectives. */
#ifndef PW_MODELS_COLLECTIVE_INTERNAL_H
#define PW_MODELS_COLLECTIVE_INTERNAL_H

#include "models/collective/library.h"
#include "models/collective/parameters.h"

typedef struct algorithm_variant {
    int algorithm; /* of the table, or PW_ALGORITHM_AUTO */
    pw_collective_options options;
} algorithm_variant;

struct pw_collectives {
    const pw_allocator *allocator;
    const pw_cluster *cluster;
    bool calibrated;
    parameter_table parameters;
    library_constants library;
    parameter_stack stack;
    bool amd_host, threads, chooses_library;
    double launch_s[2], launch_member_s; /* what the way of launching adds: collectives, exchanges; for each further member of a process */
    uint32_t domain_gpus; /* GPUs numbered one after another that share NVLink, or a node where there is none; 0: several node types */
    bool crossbar;        /* GPUs of a domain share NVSwitches, apart from the way to the network */
    bool full;            /* every port of the network reaches every other at its own rate, whatever the others do */
    bool rails;           /* ports of a node are on rails of their own */
    bool mesh;            /* GPUs of a domain are joined by direct links */
    uint32_t *port_of;    /* per vertex of the fabric: the network port that it is, or PW_NONE */
    uint32_t vertices;
    double memory_traffic[PW_COLLECTIVE_KIND_COUNT]; /* HBM bytes per byte of the buffer, many members */
    algorithm_variant **variants; /* [variant_count], numbered after the algorithms of the table */
    size_t variant_count, variant_capacity;
    const volatile int *interrupt; /* NULL: none */
    char provenance[768];
};

const algorithm_variant *variant_of(const pw_collectives *collectives, int algorithm); /* NULL: of the table */
void variants_free(pw_collectives *collectives);
/* Whether the shape's options suit a kind and algorithm. */
pw_status variant_fits(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const pw_group_shape *shape,
                       pw_error *error);

/* uneven.c: algorithm_measure of an algorithm without a form in a group that is not even, from its messages on the links of these members. */
struct algorithm_figures;
pw_status collectives_measure_uneven(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const uint32_t *gpus,
                                     const pw_group_shape *shape, double bytes, struct algorithm_figures *figures, pw_error *error);
/* rehearse.c: its time by messages, each with a latency, alone; about_s: roughly; NaN where it has more than `most`. */
pw_status collectives_rehearse(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const uint32_t *gpus,
                               const pw_group_shape *shape, double bytes, double latency_s, double about_s, uint32_t most,
                               double *seconds, pw_error *error);

/* Raises a cost to what the links between these very members need. */
pw_status collectives_need(const pw_collectives *collectives, pw_collective_kind kind, const uint32_t *gpus,
                           const pw_group_shape *shape, double bytes, pw_collective_cost *cost, pw_error *error);

/* The algorithm that the library would pick, as one of the table's, and its protocol; auto where it has no model of its own. */
int collectives_chosen(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape, double bytes,
                       int *protocol);

/* Scale-up domain of a GPU: consecutive numbers share one. */
uint32_t collectives_domain(const pw_collectives *collectives, uint32_t gpu);

/* Link loads of a set of messages. Paths of equal length between two ports are used evenly, as adaptive routing and many
 * flows do; a GPU with several ports near it uses them evenly too. */
typedef struct load_sum {
    const pw_collectives *collectives;
    uint32_t count;    /* links in use, in order of first use; twins by their first */
    pw_link *links;
    double *bytes;     /* of links[i] */
    size_t links_capacity, bytes_capacity;
    uint32_t *table, table_size; /* open hash of indices into links */
    bool failed;       /* memory ran out: found by load_sum_message */
} load_sum;
void load_sum_create(const pw_collectives *collectives, load_sum *sum);
void load_sum_destroy(load_sum *sum);
void load_sum_clear(load_sum *sum); /* keeps the memory */
/* One message's bytes on the links of its route or routes. */
pw_status load_sum_message(load_sum *sum, uint32_t from, uint32_t to, double bytes, pw_error *error);
void load_sum_add(load_sum *sum, pw_link link, double bytes);
/* The rate at which all messages run together, in units of their bytes per second; infinity when there are none. */
double load_sum_rate(const load_sum *sum);
/* A message's bytes on links of nodes, and through the network from port to port. */
typedef void network_part_fn(void *object, uint32_t port_a, uint32_t port_b, double bytes);
pw_status collectives_message_parts(const pw_collectives *collectives, uint32_t from, uint32_t to, double bytes, pw_link_load_fn *add,
                                    network_part_fn *network, void *object, pw_error *error);
/* exchange.c: every member sends every other `bytes`, where domains and network are regular; *done false: they are not, sum is as it was. */
pw_status exchange_loads(const pw_collectives *collectives, const uint32_t *gpus, const pw_group_shape *shape, double bytes, load_sum *sum,
                         bool *done, pw_error *error);
/* PW_INTERRUPTED once the flag of pw_collectives_watch is set. */
pw_status collectives_check(const pw_collectives *collectives, pw_error *error);
/* Payload of the direct links between two GPUs of a mesh; 0 when there is none. */
pw_status collectives_direct_link(const pw_collectives *collectives, uint32_t from, uint32_t to, pw_link *link,
                                  double *bandwidth_Bps, pw_error *error);

/* Rate and latency of a single message. */
pw_status collectives_message_path(const pw_collectives *collectives, uint32_t from, uint32_t to, double *rate_Bps,
                                   double *latency_s, pw_error *error);

#endif
