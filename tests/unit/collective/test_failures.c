/* A dead cable makes no collective faster. */
#include <math.h>

#include "tests/unit/collective/groups.h"

enum { TORUS, DRAGONFLY, TREE_4, NETWORKS, NODES = 32 };

static int topology_of(int network) { return pw_topology_find(network == TORUS ? "torus" : network == DRAGONFLY ? "dragonfly" : "fat_tree"); }

static pw_cluster_desc describe(int network) {
    static const int64_t dims[] = {4, 8};
    pw_cluster_desc desc = test_describe("DGX A100 640GB", NODES, topology_of(network));
    if (network == TORUS) desc.network.dims = (pw_list){dims, 2}, desc.network.trunk_Bps = 25e9;
    if (network == DRAGONFLY) desc.network.group_switches = 4, desc.network.global_links = 2, desc.network.nodes_per_switch = 1;
    if (network == TREE_4) desc.network.radix = 32;
    return desc;
}

static double seconds(const test_bench *bench, pw_collective_kind kind, int algorithm, const uint32_t *gpus, const pw_group_shape *shape) {
    pw_collective_cost cost;
    pw_error error = {0};
    if (pw_collective_group_cost(bench->collectives, kind, algorithm, gpus, shape, 1e8, &cost, &error) != PW_OK)
        PW_FAILED("%s: %s", pw_algorithm_table[algorithm].name, error.what);
    return cost.total_s;
}

PW_TEST(no_collective_gets_faster_when_a_cable_dies) {
    uint64_t random = 31;
    uint32_t gpus[NODES * 8], slower = 0;
    for (int network = 0; network < NETWORKS; network++) {
        pw_cluster_desc desc = describe(network);
        test_bench whole = test_open_desc(&desc, false);
        for (int trial = 0; trial < 6; trial++) {
            pw_failure_desc dead = {.node = -1, .port = -1, .tier = 1, .index = test_below(&random, NODES / 8), .link = test_below(&random, 2)};
            pw_one_of item = {&pw_failure_kind, &dead};
            desc.network.failures = (pw_list){&item, 1};
            test_bench left = test_open_desc(&desc, false);
            uint32_t step = trial % 2 ? 8 : 4, count = NODES * 8 / step;
            pw_group_shape shape = test_group(&whole, 0, step, count, gpus), after = test_group(&left, 0, step, count, gpus);
            PW_EXPECT(after.network_Bps <= shape.network_Bps * (1 + 1e-9));
            for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
                for (int i = 0; pw_algorithm_table[i].name; i++) {
                    if (i == CUSTOM || !pw_algorithm_table[i].applies(kind, &shape, false)) continue;
                    double before = seconds(&whole, kind, i, gpus, &shape), now = seconds(&left, kind, i, gpus, &after);
                    slower += now > before * (1 + 1e-6);
                    if (now < before * (1 - 1e-9))
                        PW_FAILED("%s, trial %d: %s by %s takes %.6f of the time", pw_topology_names[desc.network.topology], trial,
                                  pw_collective_names[kind], pw_algorithm_table[i].name, now / before);
                }
            test_close(&left);
        }
        test_close(&whole);
    }
    PW_EXPECT(slower > 20);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
