/* Shapes and loads on real clusters: what the cost model says of a group is what its links carry. */
#include <time.h>

#include "tests/unit/collective/groups.h"

typedef struct link_loads {
    const pw_fabric *fabric;
    const pw_network *network; /* to count twins; NULL: no network */
    double cut, total; /* seconds per byte of S on the busiest link; bytes on NVLinks into switches or GPUs */
    double *bytes;
} link_loads;

static void take_load(void *object, pw_link link, double bytes) {
    link_loads *loads = object;
    const pw_link_info *info = pw_fabric_link(loads->fabric, link);
    double need = bytes / info->bandwidth_Bps;
    if (need > loads->cut) loads->cut = need;
    loads->total += bytes * (loads->network ? pw_network_twins(loads->network, link).count : 1);
    if (loads->bytes) loads->bytes[link] += bytes;
}

static link_loads loads_of(const test_bench *bench, pw_collective_kind kind, int algorithm, const uint32_t *gpus,
                           const pw_group_shape *shape) {
    link_loads loads = {.fabric = pw_cluster_fabric(bench->cluster), .network = pw_cluster_network(bench->cluster)};
    pw_error error = {0};
    if (pw_collective_loads(bench->collectives, kind, algorithm, gpus, shape, take_load, &loads, &error) != PW_OK)
        PW_FAILED("loads: %s", error.what);
    return loads;
}

static const char *const servers[] = {"DGX A100 640GB", "DGX H100", "DGX B200", "GB200 NVL72",
                                      "MI300X 8-OAM platform", "DGX-1 V100", "HGX H100 8-GPU baseboard", "AWS p4d", "AWS p5en"};

static void floor_is_the_cut(const test_bench *bench, const char *server, const uint32_t *gpus,
                             const pw_group_shape *shape) {
    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
        for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
            if (!pw_algorithm_table[algorithm].applies(kind, shape, pw_cluster_has_multicast(bench->cluster))) continue;
            double S = 1e9, floor = test_cost(bench, kind, algorithm, shape, S).floor_s;
            double cut = S * loads_of(bench, kind, algorithm, gpus, shape).cut;
            if (fabs(floor / cut - 1) > 1e-9)
                PW_FAILED("%s: %s %s in %u x %u: floor %g s, links need %g s", server, pw_algorithm_table[algorithm].name,
                          pw_collective_names[kind], shape->domains, shape->per_domain, floor, cut);
        }
}

/* One switch, so that nothing but ports limits. Groups as training makes them: whole domains, a GPU per domain. */
PW_TEST(the_floor_from_the_shape_is_the_cut_of_the_links) {
    uint32_t gpus[288];
    for (size_t i = 0; i < 5; i++) {
        bool racks = i == 4; /* two NVL72: servers[3] again */
        test_bench bench = test_open(servers[racks ? 3 : i], racks ? 36 : 4, RAIL_OPTIMIZED, false);
        uint32_t all = pw_cluster_gpus(bench.cluster), domain = pw_cluster_scaleup_domain(bench.cluster);
        for (uint32_t n = 2; n <= domain; n += n < 16 ? 1 : 7) {
            pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
            floor_is_the_cut(&bench, racks ? "two NVL72" : servers[i], gpus, &shape);
        }
        if (domain < all) {
            pw_group_shape shape = test_group(&bench, 0, 1, all, gpus);
            PW_EXPECT(shape.even && shape.domains == all / domain && shape.per_domain == domain);
            floor_is_the_cut(&bench, racks ? "two NVL72" : servers[i], gpus, &shape);
            for (uint32_t first = 0; first < domain; first++) {
                shape = test_group(&bench, first, domain, all / domain, gpus);
                PW_EXPECT(shape.per_domain == 1 && shape.domains == all / domain && shape.even);
                floor_is_the_cut(&bench, racks ? "two NVL72" : servers[i], gpus, &shape);
            }
        }
        test_close(&bench);
    }
}

/* Whatever the wiring, order and topology, links need no longer than the calibrated time, and the floor never passes it. */
PW_TEST(links_carry_every_collective_within_its_time) {
    uint64_t random = 20240611;
    printf("# seed %llu\n", (unsigned long long)random);
    uint32_t gpus[288];
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        for (int topology = 0; topology < 3; topology++) {
            test_bench bench = test_open(servers[i], 4, topology, true);
            uint32_t all = pw_cluster_gpus(bench.cluster);
            for (int trial = 0; trial < 12; trial++) {
                uint32_t step = trial % 2 ? 1 : 1 + test_below(&random, 8), first = test_below(&random, all / 2);
                uint32_t most = (all - first + step - 1) / step;
                if (most < 2) continue;
                pw_group_shape shape = test_group(&bench, first, step, 2 + test_below(&random, most - 1), gpus);
                int kind = (int)test_below(&random, PW_COLLECTIVE_KIND_COUNT);
                if (!strcmp(servers[i], "DGX-1 V100") && (kind == PW_COLLECTIVE_ALL_TO_ALL_V || kind == PW_COLLECTIVE_GATHER ||
                                                          kind == PW_COLLECTIVE_SCATTER))
                    continue; /* pairs without a link of their own go through others, which the shape does not say */
                double S = 1e3 * (double)(1 + test_below(&random, 1000000));
                pw_collective_cost cost = test_cost(&bench, kind, PW_ALGORITHM_AUTO, &shape, S);
                PW_EXPECT(cost.total_s >= cost.floor_s && cost.total_s > 0);
                PW_EXPECT(cost.alpha_s > 0 && cost.alpha_s <= cost.total_s);
                PW_EXPECT_NEAR(cost.alpha_s + S / cost.cap_Bps, cost.total_s, 1e-9);
                if (!shape.even) continue;
                double need = S * loads_of(&bench, kind, cost.algorithm, gpus, &shape).cut;
                if (need > cost.total_s * (1 + 1e-9))
                    PW_FAILED("%s, %s: %s %s in %u x %u of %g bytes: %g s, links need %g s", servers[i],
                              pw_topology_names[topology], pw_algorithm_table[cost.algorithm].name,
                              pw_collective_names[kind], shape.domains, shape.per_domain, S, cost.total_s, need);
            }
            test_close(&bench);
        }
}

PW_TEST(relabelling_a_symmetric_domain_changes_nothing) {
    uint64_t random = 7;
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, true);
    uint32_t order[8];
    pw_group_shape plain = test_group(&bench, 0, 1, 8, order);
    for (int trial = 0; trial < 20; trial++) {
        for (uint32_t i = 7; i > 0; i--) {
            uint32_t j = test_below(&random, i + 1), swap = order[i];
            order[i] = order[j], order[j] = swap;
        }
        pw_group_shape shape;
        PW_EXPECT(pw_collective_shape(bench.collectives, order, 8, &shape, NULL) == PW_OK);
        PW_EXPECT(shape.scaleup_Bps == plain.scaleup_Bps && shape.domains == 1 && shape.latency_s == plain.latency_s);
        for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
            pw_collective_cost cost = test_cost(&bench, kind, PW_ALGORITHM_AUTO, &shape, 1e8);
            PW_EXPECT(cost.total_s == test_cost(&bench, kind, PW_ALGORITHM_AUTO, &plain, 1e8).total_s);
            PW_EXPECT_NEAR(loads_of(&bench, kind, cost.algorithm, order, &shape).cut * 1e8, cost.floor_s, 1e-9);
        }
    }
    test_close(&bench);
}

/* Sum over links = sum over messages of bytes x links of their routes. */
PW_TEST(bytes_on_links_are_bytes_of_messages_times_hops) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, false);
    uint32_t gpus[32];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    /* GPU, switch, GPU: two links per message */
    PW_EXPECT_NEAR(loads_of(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, gpus, &shape).total, 2 * 2 * 7.0, 1e-12);
    PW_EXPECT_NEAR(loads_of(&bench, PW_COLLECTIVE_ALL_TO_ALL, DIRECT, gpus, &shape).total, 2 * 7.0, 1e-12);
    shape = test_group(&bench, 1, 8, 4, gpus);
    pw_path path = {0};
    PW_EXPECT(pw_cluster_route(bench.cluster, 1, 9, 0, &path) == PW_OK);
    PW_EXPECT_NEAR(loads_of(&bench, PW_COLLECTIVE_ALL_GATHER, RING, gpus, &shape).total, 3.0 * path.count, 1e-12);
    test_close(&bench);
}

/* Eight groups of one GPU per node run on eight rails: together no link carries more than one group's share. */
PW_TEST(sibling_groups_have_rails_of_their_own) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, false);
    const pw_fabric *fabric = pw_cluster_fabric(bench.cluster);
    link_loads all = {.fabric = fabric, .bytes = calloc(pw_fabric_links(fabric), sizeof(double))};
    uint32_t gpus[4];
    for (uint32_t first = 0; first < 8; first++) {
        pw_group_shape shape = test_group(&bench, first, 8, 4, gpus);
        PW_EXPECT_NEAR(shape.network_Bps, pw_cluster_nic_Bps(bench.cluster), 1e-9);
        PW_EXPECT(pw_collective_loads(bench.collectives, PW_COLLECTIVE_ALL_REDUCE, RING, gpus, &shape, take_load, &all, NULL) ==
                  PW_OK);
    }
    double busiest = 0;
    for (uint32_t link = 0; link < pw_fabric_links(fabric); link++)
        if (pw_fabric_link(fabric, link)->kind == PW_LINK_NETWORK && all.bytes[link] > busiest) busiest = all.bytes[link];
    PW_EXPECT_NEAR(busiest, 1.5, 1e-12);
    free(all.bytes);
    test_close(&bench);
}

/* GPUs that share a port get half of it each; alone, one has all of it. */
PW_TEST(members_share_the_ports_that_they_have) {
    test_bench bench = test_open("AWS p4d", 2, SINGLE_SWITCH, false);
    uint32_t gpus[16];
    pw_group_shape lone = test_group(&bench, 0, 8, 2, gpus), full = test_group(&bench, 0, 1, 16, gpus);
    PW_EXPECT_NEAR(lone.network_Bps, pw_cluster_nic_Bps(bench.cluster), 1e-9);
    PW_EXPECT_NEAR(full.network_Bps, pw_cluster_nic_Bps(bench.cluster) / 2, 1e-9);
    test_close(&bench);
    bench = test_open("AWS p5en", 2, SINGLE_SWITCH, false);
    lone = test_group(&bench, 0, 8, 2, gpus);
    PW_EXPECT_NEAR(lone.network_Bps, 2 * pw_cluster_nic_Bps(bench.cluster), 0.2); /* two ports, perhaps one PCIe link */
    PW_EXPECT(lone.network_Bps > 1.1 * pw_cluster_nic_Bps(bench.cluster));
    test_close(&bench);
}

/* A mesh of direct links offers a pair one link and the whole group all of them. */
PW_TEST(a_mesh_gives_a_group_the_links_among_its_members) {
    test_bench bench = test_open("MI300X 8-OAM platform", 1, SINGLE_SWITCH, false);
    uint32_t gpus[8];
    pw_group_shape pair = test_group(&bench, 2, 3, 2, gpus), full = test_group(&bench, 0, 1, 8, gpus);
    PW_EXPECT_NEAR(full.scaleup_Bps, 7 * pair.scaleup_Bps, 1e-9);
    static const pw_collective_kind even_kinds[] = {PW_COLLECTIVE_ALL_REDUCE, PW_COLLECTIVE_ALL_GATHER,
                                                    PW_COLLECTIVE_REDUCE_SCATTER};
    for (int i = 0; i < 3; i++)
        for (int algorithm = RING; algorithm <= DIRECT; algorithm += DIRECT - RING)
            PW_EXPECT_NEAR(test_cost(&bench, even_kinds[i], algorithm, &full, 1e9).floor_s,
                           1e9 * loads_of(&bench, even_kinds[i], algorithm, gpus, &full).cut, 1e-9);
    test_close(&bench);
    bench = test_open("DGX-1 V100", 1, SINGLE_SWITCH, false);
    full = test_group(&bench, 0, 1, 8, gpus);
    PW_EXPECT_NEAR(full.scaleup_Bps, pw_cluster_scaleup_Bps(bench.cluster), 1e-9);
    test_close(&bench);
}

PW_TEST(a_message_loads_its_route_once) {
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, true);
    for (uint32_t to = 1; to < 16; to += 3) {
        link_loads loads = {.fabric = pw_cluster_fabric(bench.cluster), .network = pw_cluster_network(bench.cluster)};
        PW_EXPECT(pw_message_loads(bench.collectives, 0, to, take_load, &loads, NULL) == PW_OK);
        pw_path path = {0};
        PW_EXPECT(pw_cluster_route(bench.cluster, 0, to, 0, &path) == PW_OK);
        PW_EXPECT_NEAR(loads.total, path.count, 1e-9);
        pw_collective_cost cost;
        PW_EXPECT(pw_message_cost_of(bench.collectives, 0, to, 1e8, &cost, NULL) == PW_OK);
        PW_EXPECT_NEAR(cost.floor_s, loads.cut * 1e8, 1e-9);
        PW_EXPECT(cost.total_s > cost.floor_s && cost.sms > 0);
    }
    test_close(&bench);
}

/* --- Exchanges of many -------------------------------------------------------------------------------------------------- */

static void all_pairs(const test_bench *bench, double fraction, const uint32_t *gpus, uint32_t n, double *bytes) {
    link_loads loads = {.fabric = pw_cluster_fabric(bench->cluster), .bytes = calloc(pw_fabric_links(pw_cluster_fabric(bench->cluster)), sizeof(double))};
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (a != b) PW_EXPECT(pw_message_loads(bench->collectives, gpus[a], gpus[b], take_load, &loads, NULL) == PW_OK);
    for (uint32_t l = 0; l < pw_fabric_links(loads.fabric); l++) bytes[l] = fraction * loads.bytes[l];
    free(loads.bytes);
}

PW_TEST(an_exchange_by_sums_loads_every_link_as_all_its_pairs_do) {
    static const char *const names[] = {"single_switch", "fat_tree", "rail_optimized", "rail_only"};
    uint64_t random = 8192;
    static uint32_t gpus[1024];
    uint32_t compared = 0;
    for (uint32_t round = 0; round < 150 && !pw_test_failures; round++) {
        const char *server = servers[test_below(&random, 8)];
        pw_cluster_desc desc = test_describe(server, 3 + test_below(&random, 9), pw_topology_find(names[round % 4]));
        if (round % 4) desc.network.radix = 16 << test_below(&random, 3), desc.network.oversubscription = 1 + test_below(&random, 3);
        desc.network.planes = 1 + test_below(&random, 2);
        if (round % 4 && test_below(&random, 3) == 0) desc.network.leaves_per_port = 2;
        desc.node.pxn = test_below(&random, 3) > 0;
        pw_cluster *probe = NULL;
        if (pw_cluster_create(NULL, test_catalogue(), &desc, &probe, NULL) != PW_OK) continue;
        pw_cluster_destroy(probe);
        test_bench bench = test_open_desc(&desc, false);
        uint32_t step = test_below(&random, 2) ? 1 : 2, all = pw_cluster_gpus(bench.cluster), count = all / step;
        if (count > 128) count = 128 - 128 % pw_cluster_scaleup_domain(bench.cluster);
        pw_group_shape shape = {0};
        for (uint32_t i = 0; i < count; i++) gpus[i] = i * step;
        if (count < 2 || pw_collective_shape(bench.collectives, gpus, count, &shape, NULL) != PW_OK) {
            test_close(&bench);
            continue;
        }
        uint32_t links = pw_fabric_links(pw_cluster_fabric(bench.cluster));
        double *pairs = calloc(links, sizeof *pairs);
        link_loads sums = {.fabric = pw_cluster_fabric(bench.cluster), .bytes = calloc(links, sizeof(double))};
        all_pairs(&bench, 1.0 / count, gpus, count, pairs);
        PW_EXPECT(pw_collective_loads(bench.collectives, PW_COLLECTIVE_ALL_TO_ALL, DIRECT, gpus, &shape, take_load, &sums, NULL) == PW_OK);
        for (uint32_t l = 0; l < links; l++)
            if (fabs(sums.bytes[l] - pairs[l]) > 1e-9) {
                PW_FAILED("%s, %u of %u GPUs, %s: link %u carries %.12g, its pairs %.12g", server, count, all, names[round % 4], l, sums.bytes[l], pairs[l]);
                break;
            }
        compared += shape.even && shape.domains > 2;
        free(pairs), free(sums.bytes);
        test_close(&bench);
    }
    PW_EXPECT(compared > 50);
    printf("# %u compared\n", compared);
}

/* All pairs of 4,096 would be 17 million walks. */
PW_TEST(an_exchange_of_thousands_costs_a_few_walks_for_each) {
    test_bench bench = test_open("DGX H100", 512, RAIL_OPTIMIZED, true);
    static uint32_t many[4096];
    pw_group_shape shape = test_group(&bench, 0, 1, 4096, many);
    link_loads loads = {.fabric = pw_cluster_fabric(bench.cluster), .network = pw_cluster_network(bench.cluster)};
    clock_t before = clock();
    PW_EXPECT(pw_collective_loads(bench.collectives, PW_COLLECTIVE_ALL_TO_ALL, DIRECT, many, &shape, take_load, &loads, NULL) == PW_OK);
    PW_EXPECT((double)(clock() - before) / CLOCKS_PER_SEC < 1);
    PW_EXPECT_NEAR(loads.cut, (4096 - 8) / 4096.0 / 49e9, 1e-9);
    test_close(&bench);
}

PW_TEST(what_takes_long_ends_when_it_is_interrupted) {
    test_bench bench = test_open("DGX H100", 16, RAIL_OPTIMIZED, true);
    volatile int flag = 1;
    uint32_t gpus[128];
    pw_group_shape shape = test_group(&bench, 0, 1, 128, gpus);
    link_loads loads = {.fabric = pw_cluster_fabric(bench.cluster)};
    pw_collectives_watch(bench.collectives, &flag);
    PW_EXPECT_INT(pw_collective_loads(bench.collectives, PW_COLLECTIVE_ALL_TO_ALL, DIRECT, gpus, &shape, take_load, &loads, NULL), PW_INTERRUPTED);
    PW_EXPECT_INT(pw_collective_loads(bench.collectives, PW_COLLECTIVE_ALL_TO_ALL, PAIRWISE, gpus, &shape, take_load, &loads, NULL), PW_INTERRUPTED);
    test_close(&bench);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
