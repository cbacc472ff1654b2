/* Clusters and groups that the tests of collectives share. */
#ifndef PW_TESTS_COLLECTIVE_GROUPS_H
#define PW_TESTS_COLLECTIVE_GROUPS_H

#include <stdlib.h>

#include "models/collective/collective.h"
#include "tests/harness/check.h"

enum { SINGLE_SWITCH, FAT_TREE, RAIL_OPTIMIZED };
enum { RING, TREE, NVLS, DIRECT, ALGORITHMS, /* of which auto thinks */
       NVLS_TREE = ALGORITHMS, HALVING_DOUBLING, RECURSIVE_DOUBLING, BRUCK, PAT, PAIRWISE, BINOMIAL, CHAIN, SCATTER_ALLGATHER,
       HIERARCHICAL, SHARP, CUSTOM, ALL_ALGORITHMS };

static inline const pw_catalogue *test_catalogue(void) {
    static pw_catalogue *loaded;
    pw_error error = {0};
    if (!loaded && pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &loaded, &error) != PW_OK)
        PW_FAILED("%s:%d: %s", error.file, error.line, error.what);
    return loaded;
}

typedef struct test_bench {
    pw_cluster *cluster;
    pw_collectives *collectives;
} test_bench;

static inline pw_cluster_desc test_describe(const char *server, int64_t nodes, int topology) {
    return (pw_cluster_desc){.name = "test",
                             .node = {.server = server, .nic_Bps = NAN, .nvlink_Bps = NAN, .gpudirect = true, .pxn = true},
                             .nodes = nodes,
                             .network = {topology, 1, 0, NAN, NAN, NAN, NAN}};
}

static inline test_bench test_open_desc(const pw_cluster_desc *desc, bool calibrated) {
    test_bench bench = {0};
    pw_error error = {0};
    if (pw_cluster_create(NULL, test_catalogue(), desc, &bench.cluster, &error) != PW_OK ||
        pw_collectives_create(NULL, test_catalogue(), bench.cluster, calibrated, &bench.collectives, &error) != PW_OK) {
        PW_FAILED("%s: %s:%d: %s (%s)", desc->node.server, error.file, error.line, error.what, error.hint);
        exit(1);
    }
    return bench;
}

static inline test_bench test_open(const char *server, int64_t nodes, int topology, bool calibrated) {
    pw_cluster_desc desc = test_describe(server, nodes, topology);
    return test_open_desc(&desc, calibrated);
}

static inline void test_close(test_bench *bench) {
    pw_collectives_destroy(bench->collectives);
    pw_cluster_destroy(bench->cluster);
}

/* GPUs first, first + step, ... */
static inline pw_group_shape test_group(const test_bench *bench, uint32_t first, uint32_t step, uint32_t count,
                                        uint32_t *gpus) {
    pw_group_shape shape = {0};
    pw_error error = {0};
    for (uint32_t i = 0; i < count; i++) gpus[i] = first + i * step;
    if (pw_collective_shape(bench->collectives, gpus, count, &shape, &error) != PW_OK) PW_FAILED("shape: %s", error.what);
    return shape;
}

static inline pw_collective_cost test_cost(const test_bench *bench, pw_collective_kind kind, int algorithm,
                                           const pw_group_shape *shape, double bytes) {
    pw_collective_cost cost = {0};
    pw_error error = {0};
    if (pw_collective_cost_of(bench->collectives, kind, algorithm, shape, bytes, &cost, &error) != PW_OK)
        PW_FAILED("%s: %s (%s)", pw_collective_names[kind], error.what, error.hint);
    return cost;
}

/* Same numbers everywhere: splitmix64. */
static inline uint64_t test_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static inline uint32_t test_below(uint64_t *state, uint32_t n) { return (uint32_t)(test_random(state) % n); }

#endif
