/* ASTRA-sim's analytical networks, as ASTRA-sim computes them: to compare with, and to see where they beat physics.
 *
 * Two modes. Unaware: a message takes floor(k L + m / B) ns over k links, whatever else is under way. Aware: a message is stored and
 * forwarded, each link carries one message after another in the order in which they come, for floor(m / B) ns each, and a message
 * arrives floor(L + m / B) ns after its turn. 1 GB/s is 2^30 B/s here, and 10^9 for memory. Each received message costs
 * the endpoint delay, a reduced one 3 floor(m / memory) ns more. The aware mode runs as events and has one dimension, as in
 * ASTRA-sim.
 *
 * Sizes count as ASTRA-sim counts them: bytes that one rank puts in. The equations and what they reproduce:
 * docs/models/compat.md.
 */
#ifndef PW_MODELS_COMPAT_ASTRA_H
#define PW_MODELS_COMPAT_ASTRA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"

enum { PW_ASTRA_DIMENSIONS = 8 };

typedef enum pw_astra_topology { PW_ASTRA_RING, PW_ASTRA_FULLY_CONNECTED, PW_ASTRA_SWITCH } pw_astra_topology;
extern const char *const pw_astra_topology_names[]; /* "Ring", "FullyConnected", "Switch", NULL */

typedef enum pw_astra_collective {
    PW_ASTRA_ALL_REDUCE,
    PW_ASTRA_ALL_GATHER,
    PW_ASTRA_REDUCE_SCATTER,
    PW_ASTRA_ALL_TO_ALL,
    PW_ASTRA_COLLECTIVE_COUNT
} pw_astra_collective;
extern const char *const pw_astra_collective_names[]; /* "all_reduce", ..., NULL */

typedef enum pw_astra_algorithm {
    PW_ASTRA_ALGORITHM_RING,
    PW_ASTRA_ALGORITHM_DIRECT,
    PW_ASTRA_ALGORITHM_HALVING_DOUBLING,
    PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE
} pw_astra_algorithm;
extern const char *const pw_astra_algorithm_names[]; /* "ring", "direct", "halvingDoubling", "doubleBinaryTree", NULL */

/* The network file (.yml): dimension 0 varies fastest in the number of an NPU. */
typedef struct pw_astra_dimension {
    pw_astra_topology topology;
    int64_t npus;                     /* 2 or more */
    double bandwidth_GBps, latency_ns; /* of a link and direction; GB: 2^30 bytes */
} pw_astra_dimension;
typedef struct pw_astra_network {
    pw_astra_dimension dimensions[PW_ASTRA_DIMENSIONS];
    int count;
    int64_t npus; /* of all dimensions */
} pw_astra_network;
pw_status pw_astra_network_read(const char *path, pw_astra_network *network, pw_error *error);

/* What of the system file (.json) changes the time of a collective. Keys that change none are passed over, others are refused. */
typedef struct pw_astra_system {
    int64_t endpoint_delay_ns, splits, active_chunks;
    double memory_GBps;    /* GB: 10^9 bytes */
    bool local_bw_aware;   /* an all-reduce scatters on the way up and gathers on the way down; else it runs on each dimension in turn */
    pw_astra_algorithm algorithms[PW_ASTRA_COLLECTIVE_COUNT][PW_ASTRA_DIMENSIONS];
    int given[PW_ASTRA_COLLECTIVE_COUNT]; /* for how many dimensions; 0: not in the file */
} pw_astra_system;
pw_status pw_astra_system_read(const char *path, const pw_astra_network *network, const pw_allocator *allocator, pw_astra_system *system,
                               pw_error *error);

/* Nanoseconds until the last rank is done. PW_UNSUPPORTED: ASTRA-sim may run this, but how is not known here. */
pw_status pw_astra_unaware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes,
                           int64_t *ns, pw_error *error);
pw_status pw_astra_aware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes,
                         const pw_allocator *allocator, int64_t *ns, pw_error *error);

/* The time that no schedule on these links can beat, in ns: over every cut of a dimension into one layer and the rest or into halves,
 * the bytes that must cross over what the cut links carry. Latencies and endpoints are not counted. */
double pw_astra_floor(const pw_astra_network *network, pw_astra_collective kind, int64_t bytes);

/* podwright's own time on the same links: the fastest of its algorithms, one latency a round and the fullest link, and which one. */
typedef struct pw_astra_answer {
    double ns;
    const char *algorithm;
} pw_astra_answer;
pw_status pw_astra_physical(const pw_astra_network *network, pw_astra_collective kind, int64_t bytes, const pw_allocator *allocator,
                            pw_astra_answer *answer, pw_error *error);

/* Bytes per ns of a link of 2^30 bytes times GB per second. */
double pw_astra_rate(const pw_astra_dimension *dimension);

#endif
