/* Laws of the measured parameters: what they must keep, and the published figures that they must meet. */
#include "tests/unit/collective/groups.h"

static const double MiB = 1024.0 * 1024.0, GiB = 1024.0 * 1024.0 * 1024.0;

static double busbw(pw_collective_kind kind, const pw_group_shape *shape, double bytes, double seconds) {
    double n = shape->members;
    return bytes / seconds * (kind == PW_COLLECTIVE_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
}

PW_TEST(more_bytes_never_take_less_time) {
    static const char *const servers[] = {"DGX A100 640GB", "DGX H100", "DGX B200", "MI300X 8-OAM platform", "DGX-1 V100",
                                          "8xL40S server"};
    uint64_t random = 99;
    printf("# seed %llu\n", (unsigned long long)random);
    uint32_t gpus[64];
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        test_bench bench = test_open(servers[i], 8, FAT_TREE, true);
        for (int trial = 0; trial < 40; trial++) {
            uint32_t step = trial % 3 == 0 ? 8 : 1, n = 2 + test_below(&random, step == 8 ? 7 : 63);
            pw_group_shape shape = test_group(&bench, 0, step, n, gpus);
            int kind = (int)test_below(&random, PW_COLLECTIVE_KIND_COUNT);
            double before = 0;
            for (double S = 1; S < 1e11; S *= 1.7) {
                pw_collective_cost cost = test_cost(&bench, kind, PW_ALGORITHM_AUTO, &shape, S);
                if (!(cost.total_s >= before)) PW_FAILED("%s %s: %g bytes take less", servers[i], pw_collective_names[kind], S);
                if (!(cost.total_s >= cost.floor_s && cost.floor_s > 0)) PW_FAILED("%s: below the floor", servers[i]);
                before = cost.total_s;
            }
        }
        test_close(&bench);
    }
}

PW_TEST(auto_takes_the_fastest_that_has_measurements) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, true);
    uint32_t gpus[32];
    for (uint32_t n = 2; n <= 32; n *= 2) {
        pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
        for (double S = 1024; S < 1e11; S *= 5) {
            pw_collective_cost best = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S);
            PW_EXPECT(best.total_s == test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, best.algorithm, &shape, S).total_s);
            PW_EXPECT(best.total_s <= test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, S).total_s);
            PW_EXPECT(best.sms >= 1 && best.sms <= 32);
        }
    }
    test_close(&bench);
}

/* Small messages keep fewer SMs busy. */
PW_TEST(small_messages_hold_few_sms) {
    test_bench bench = test_open("DGX H100", 1, RAIL_OPTIMIZED, true);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, PW_ALGORITHM_AUTO, &shape, 1024).sms == 1);
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, PW_ALGORITHM_AUTO, &shape, GiB).sms == 24);
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, GiB).sms == 16);
    test_close(&bench);
}

/* Plateaus that vendors and operators publish for 8 GPUs and 8 GiB, GB/s. */
PW_TEST(one_node_meets_published_plateaus) {
    static const struct {
        const char *server;
        pw_collective_kind kind;
        double busbw, tolerance;
    } plateaus[] = {{"DGX A100 640GB", PW_COLLECTIVE_ALL_REDUCE, 234e9, 0.03},
                    {"DGX H100", PW_COLLECTIVE_ALL_REDUCE, 478e9, 0.06},
                    {"DGX H100", PW_COLLECTIVE_ALL_GATHER, 363e9, 0.05},
                    {"DGX B200", PW_COLLECTIVE_ALL_REDUCE, 838e9, 0.04},
                    {"DGX B200", PW_COLLECTIVE_ALL_GATHER, 670e9, 0.05},
                    {"MI300X 8-OAM platform", PW_COLLECTIVE_ALL_REDUCE, 313e9, 0.03},
                    {"DGX-1 V100", PW_COLLECTIVE_ALL_REDUCE, 135.5e9, 0.03}};
    uint32_t gpus[8];
    for (size_t i = 0; i < sizeof plateaus / sizeof *plateaus; i++) {
        test_bench bench = test_open(plateaus[i].server, 1, RAIL_OPTIMIZED, true);
        pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
        pw_collective_cost cost = test_cost(&bench, plateaus[i].kind, PW_ALGORITHM_AUTO, &shape, 8 * GiB);
        PW_EXPECT_NEAR(busbw(plateaus[i].kind, &shape, 8 * GiB, cost.total_s), plateaus[i].busbw, plateaus[i].tolerance);
        test_close(&bench);
    }
}

/* In-switch reduction moves S at one rate whatever the number of GPUs (259-270 GB/s for 5 to 8 H200). */
PW_TEST(nvls_keeps_its_algorithm_bandwidth) {
    test_bench bench = test_open("DGX H200", 1, RAIL_OPTIMIZED, true);
    uint32_t gpus[8];
    for (uint32_t n = 5; n <= 8; n++) {
        pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
        pw_collective_cost cost = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, NVLS, &shape, 16 * GiB);
        PW_EXPECT_NEAR(16 * GiB / cost.total_s, 267e9, 0.04);
    }
    pw_group_shape pair = test_group(&bench, 0, 1, 2, gpus);
    PW_EXPECT_INT(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &pair, GiB).algorithm, RING);
    test_close(&bench);
}

/* H100 with 8 NDR ports: all_reduce over 4 to 1024 nodes takes 88 us per doubling (within 15 %) and 366 GB/s busbw. */
PW_TEST(all_reduce_over_nodes_grows_with_their_logarithm) {
    uint32_t *gpus = malloc(8192 * sizeof *gpus);
    double before = 0;
    for (uint32_t nodes = 4; nodes <= 1024; nodes *= 2) {
        test_bench bench = test_open("DGX H100", nodes, RAIL_OPTIMIZED, true);
        pw_group_shape shape = test_group(&bench, 0, 1, 8 * nodes, gpus);
        double small = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, NVLS, &shape, 256 * MiB).total_s;
        if (before > 0) PW_EXPECT_NEAR(small - before, 88e-6, 0.15);
        before = small;
        double large = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, 16 * GiB).total_s;
        PW_EXPECT_NEAR(busbw(PW_COLLECTIVE_ALL_REDUCE, &shape, 16 * GiB, large), 370e9, 0.06);
        test_close(&bench);
    }
    free(gpus);
}

/* Two nodes beat the sum of their NICs, because a tree crosses once; four do not. */
PW_TEST(two_nodes_pass_the_rate_of_their_nics) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, true);
    uint32_t gpus[32];
    double nics = 8 * pw_cluster_nic_Bps(bench.cluster);
    pw_group_shape two = test_group(&bench, 0, 1, 16, gpus);
    double rate = busbw(PW_COLLECTIVE_ALL_REDUCE, &two, 8 * GiB,
                        test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &two, 8 * GiB).total_s);
    PW_EXPECT(rate > nics);
    PW_EXPECT_NEAR(rate, 468e9, 0.04); /* nccl-tests issue 309 */
    pw_group_shape four = test_group(&bench, 0, 1, 32, gpus);
    PW_EXPECT(busbw(PW_COLLECTIVE_ALL_REDUCE, &four, 8 * GiB,
                    test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &four, 8 * GiB).total_s) < nics);
    test_close(&bench);
}

PW_TEST(a_message_between_nodes_uses_one_port) {
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, true);
    pw_collective_cost across, inside;
    PW_EXPECT(pw_message_cost_of(bench.collectives, 0, 8, 64 * MiB, &across, NULL) == PW_OK);
    PW_EXPECT(pw_message_cost_of(bench.collectives, 0, 1, 64 * MiB, &inside, NULL) == PW_OK);
    PW_EXPECT_NEAR(across.total_s, 1871e-6, 0.05); /* published send/recv of 64 MiB */
    /* A profiled kernel of one way: 193 us; a two-rank all_to_all, both ways with the own block: 280 us for as many bytes. */
    PW_EXPECT(inside.total_s > 185e-6 && inside.total_s < 280e-6);
    PW_EXPECT(across.cap_Bps < pw_cluster_nic_Bps(bench.cluster));
    test_close(&bench);
}

/* Slower ports slow what crosses them in proportion; slower NVLink what stays inside. */
PW_TEST(parameters_follow_the_links_of_the_cluster) {
    uint32_t gpus[16];
    pw_cluster_desc desc = test_describe("DGX H100", 2, RAIL_OPTIMIZED);
    test_bench plain = test_open_desc(&desc, true);
    desc.node.nic_Bps = 25e9;
    desc.network.efficiency = 0.98;
    test_bench slow = test_open_desc(&desc, true);
    pw_group_shape a = test_group(&plain, 0, 8, 2, gpus), b = test_group(&slow, 0, 8, 2, gpus);
    PW_EXPECT_NEAR(b.network_Bps, a.network_Bps / 2, 1e-9);
    PW_EXPECT_NEAR(test_cost(&slow, PW_COLLECTIVE_ALL_GATHER, RING, &b, GiB).cap_Bps,
                   test_cost(&plain, PW_COLLECTIVE_ALL_GATHER, RING, &a, GiB).cap_Bps / 2, 1e-6);
    test_close(&slow);
    desc = test_describe("DGX H100", 2, RAIL_OPTIMIZED);
    desc.node.nvlink_Bps = 225e9;
    slow = test_open_desc(&desc, true);
    a = test_group(&plain, 0, 1, 4, gpus), b = test_group(&slow, 0, 1, 4, gpus);
    PW_EXPECT_NEAR(b.scaleup_Bps, a.scaleup_Bps / 2, 1e-9);
    PW_EXPECT_NEAR(test_cost(&slow, PW_COLLECTIVE_ALL_GATHER, RING, &b, GiB).cap_Bps,
                   test_cost(&plain, PW_COLLECTIVE_ALL_GATHER, RING, &a, GiB).cap_Bps / 2, 1e-6);
    test_close(&slow);
    test_close(&plain);
}

/* A cable that is 10 km longer adds its 50 us to every hop between nodes. */
PW_TEST(longer_cables_add_their_latency) {
    uint32_t gpus[4];
    pw_cluster_desc desc = test_describe("DGX H100", 4, SINGLE_SWITCH);
    test_bench near = test_open_desc(&desc, true);
    desc.network.cable_latency_s = 50e-6;
    test_bench far = test_open_desc(&desc, true);
    pw_group_shape a = test_group(&near, 0, 8, 4, gpus), b = test_group(&far, 0, 8, 4, gpus);
    double extra = test_cost(&far, PW_COLLECTIVE_ALL_GATHER, RING, &b, 1e9).total_s -
                   test_cost(&near, PW_COLLECTIVE_ALL_GATHER, RING, &a, 1e9).total_s;
    PW_EXPECT(extra > 3 * 95e-6 && extra < 3 * 105e-6);
    test_close(&near);
    test_close(&far);
}

PW_TEST(provenance_names_rows_and_fallbacks) {
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, true);
    PW_EXPECT_CONTAINS(pw_collectives_provenance(bench.collectives), "collective-parameters.csv");
    PW_EXPECT_CONTAINS(pw_collectives_provenance(bench.collectives), "for Hopper");
    test_close(&bench);
    pw_cluster_desc turing = test_describe("generic", 1, RAIL_OPTIMIZED);
    turing.node.gpu = "T4", turing.node.gpus = 8;
    bench = test_open_desc(&turing, true);
    PW_EXPECT_CONTAINS(pw_collectives_provenance(bench.collectives), "no measurements for T4");
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, 1e8).total_s > 0);
    test_close(&bench);
    bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, false);
    PW_EXPECT_CONTAINS(pw_collectives_provenance(bench.collectives), "uncalibrated");
    test_close(&bench);
    pw_nodes_desc others = {.node = test_describe("DGX A100 640GB", 1, RAIL_OPTIMIZED).node, .nodes = 2};
    const pw_one_of more = {&pw_nodes_kind, &others};
    pw_cluster_desc mixed = test_describe("DGX H100", 2, RAIL_OPTIMIZED);
    mixed.more = (pw_list){&more, 1};
    bench = test_open_desc(&mixed, true);
    PW_EXPECT_CONTAINS(pw_collectives_provenance(bench.collectives), "for Hopper, which stand for every type of node");
    test_close(&bench);
}

/* What a cluster says of its communication library: who chooses, how it is launched, what lies below it. */
PW_TEST(the_librarys_choice_is_its_cost_models) {
    pw_cluster_desc desc = test_describe("DGX H100", 4, RAIL_OPTIMIZED);
    desc.communication.choice = PW_CHOICE_LIBRARY;
    test_bench library = test_open_desc(&desc, true), fastest = test_open("DGX H100", 4, RAIL_OPTIMIZED, true);
    uint32_t gpus[32];
    bool differs = false;
    for (uint32_t n = 4; n <= 32; n *= 2) {
        pw_group_shape shape = test_group(&library, 0, 1, n, gpus);
        for (double S = 1024; S < 1e11; S *= 3) {
            pw_library_estimate estimate;
            pw_collective_cost chosen = test_cost(&library, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S);
            pw_collective_cost least = test_cost(&fastest, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S);
            PW_EXPECT(pw_collective_library_estimate(library.collectives, PW_COLLECTIVE_ALL_REDUCE, &shape, S, &estimate));
            PW_EXPECT(strncmp(estimate.algorithm, pw_algorithm_table[chosen.algorithm].name, 4) == 0); /* nvls_tree is nvls */
            PW_EXPECT(chosen.total_s >= least.total_s);
            differs = differs || chosen.total_s > least.total_s;
        }
    }
    PW_EXPECT(differs);
    pw_group_shape rail = test_group(&library, 0, 8, 4, gpus); /* one GPU a node, where the library takes PAT, which nobody measured */
    for (double S = 1024; S < 1e11; S *= 3)
        PW_EXPECT(test_cost(&library, PW_COLLECTIVE_ALL_GATHER, PW_ALGORITHM_AUTO, &rail, S).total_s >=
                  test_cost(&fastest, PW_COLLECTIVE_ALL_GATHER, PW_ALGORITHM_AUTO, &rail, S).total_s);
    test_close(&fastest);
    test_close(&library);
}

/* nvls_tree is the library's name of nvls over several domains: it takes as long. */
PW_TEST(two_names_of_one_algorithm_take_as_long) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, true);
    uint32_t gpus[32];
    pw_group_shape shape = test_group(&bench, 0, 1, 32, gpus);
    int nvls = -1, nvls_tree = -1;
    for (int i = 0; pw_algorithm_table[i].name; i++) {
        if (!strcmp(pw_algorithm_table[i].name, "nvls")) nvls = i;
        if (!strcmp(pw_algorithm_table[i].name, "nvls_tree")) nvls_tree = i;
    }
    for (double S = 1024; S < 1e11; S *= 7) {
        pw_collective_cost one = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, nvls, &shape, S);
        pw_collective_cost other = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, nvls_tree, &shape, S);
        PW_EXPECT(one.total_s > 0 && one.total_s == other.total_s && one.parameter_line == other.parameter_line);
    }
    test_close(&bench);
}

PW_TEST(another_network_stack_starts_later_and_is_slower) {
    double before_small = 0, before_large = 0;
    static const char *const stacks[] = {"rdma", "tcpxo", "efa"};
    for (size_t i = 0; i < 3; i++) {
        pw_cluster_desc desc = test_describe("DGX H100", 2, RAIL_OPTIMIZED);
        desc.communication.stack = stacks[i];
        test_bench bench = test_open_desc(&desc, true);
        uint32_t gpus[16];
        pw_group_shape shape = test_group(&bench, 0, 1, 16, gpus), one = test_group(&bench, 0, 1, 8, gpus);
        double small = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, 1024).total_s;
        double large = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, GiB).total_s;
        PW_EXPECT(i == 0 ? small < 60e-6 : small > 2 * before_small || i > 1);
        PW_EXPECT(i == 0 || large > before_large || i == 1);
        if (i == 0) before_small = small, before_large = large;
        PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &one, 1024).total_s < 20e-6); /* no network there */
        test_close(&bench);
    }
    pw_cluster_desc aws = test_describe("AWS p5", 2, RAIL_OPTIMIZED), unknown = test_describe("DGX H100", 2, RAIL_OPTIMIZED);
    test_bench bench = test_open_desc(&aws, true);
    uint32_t gpus[16];
    pw_group_shape shape = test_group(&bench, 0, 1, 16, gpus);
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, 1024).total_s > 80e-6); /* by its ports */
    test_close(&bench);
    unknown.communication.stack = "carrier pigeon";
    pw_error error = {0};
    bench = (test_bench){0};
    PW_EXPECT(pw_cluster_create(NULL, test_catalogue(), &unknown, &bench.cluster, &error) == PW_OK);
    PW_EXPECT(pw_collectives_create(NULL, test_catalogue(), bench.cluster, true, &bench.collectives, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.what, "carrier pigeon");
    PW_EXPECT_CONTAINS(error.hint, "efa");
    test_close(&bench);
}

PW_TEST(one_process_for_all_gpus_starts_later) {
    pw_cluster_desc desc = test_describe("DGX H100", 1, RAIL_OPTIMIZED);
    desc.communication.launch = PW_LAUNCH_PROCESS_FOR_ALL;
    test_bench slow = test_open_desc(&desc, true), plain = test_open("DGX H100", 1, RAIL_OPTIMIZED, true);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&plain, 0, 1, 8, gpus);
    for (double S = 64; S < 1e9; S *= 64)
        PW_EXPECT_NEAR(test_cost(&slow, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S).total_s -
                           test_cost(&plain, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S).total_s,
                       14e-6, 1e-6); /* 2 us for each further GPU */
    test_close(&plain);
    test_close(&slow);
}

/* Eight GPUs get 4 of 32 channels each until a channel carries 16 MiB; then channels double and time stands nearly still. */
PW_TEST(messages_stand_still_while_their_channels_double) {
    test_bench bench = test_open("DGX B200", 1, RAIL_OPTIMIZED, true);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    double at = test_cost(&bench, PW_COLLECTIVE_SEND_RECV, PW_ALGORITHM_AUTO, &shape, 64 * MiB).total_s;
    double far = test_cost(&bench, PW_COLLECTIVE_SEND_RECV, PW_ALGORITHM_AUTO, &shape, 512 * MiB).total_s;
    double before = test_cost(&bench, PW_COLLECTIVE_SEND_RECV, PW_ALGORITHM_AUTO, &shape, 8 * MiB).total_s;
    PW_EXPECT_NEAR(at, 0.79e-3, 0.08); /* published */
    PW_EXPECT(far / at < 1.6);
    PW_EXPECT(at / before > 5);
    test_close(&bench);
}

/* all_to_all of 64 GPUs in a rack of NVLink against 128 in two: published 667 and 48 GB/s. */
PW_TEST(a_second_rack_is_a_cliff_for_all_to_all) {
    pw_cluster_desc desc = test_describe("GB300 NVL72", 32, RAIL_OPTIMIZED);
    desc.node.scaleup_domain = 64;
    test_bench bench = test_open_desc(&desc, true);
    uint32_t gpus[128];
    pw_group_shape rack = test_group(&bench, 0, 1, 64, gpus), racks = test_group(&bench, 0, 1, 128, gpus);
    double in = busbw(PW_COLLECTIVE_ALL_TO_ALL, &rack, 16 * GiB, test_cost(&bench, PW_COLLECTIVE_ALL_TO_ALL, PW_ALGORITHM_AUTO, &rack, 16 * GiB).total_s);
    double across = busbw(PW_COLLECTIVE_ALL_TO_ALL, &racks, 16 * GiB, test_cost(&bench, PW_COLLECTIVE_ALL_TO_ALL, PW_ALGORITHM_AUTO, &racks, 16 * GiB).total_s);
    PW_EXPECT_NEAR(in, 667e9, 0.12);
    PW_EXPECT(across < in / 3 && across <= 2.1 * pw_cluster_nic_Bps(bench.cluster));
    double reduce_in = busbw(PW_COLLECTIVE_ALL_REDUCE, &rack, 16 * GiB, test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &rack, 16 * GiB).total_s);
    double reduce_across = busbw(PW_COLLECTIVE_ALL_REDUCE, &racks, 16 * GiB, test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &racks, 16 * GiB).total_s);
    PW_EXPECT_NEAR(reduce_in, 930e9, 0.05); /* published: 930 and 738 GB/s */
    PW_EXPECT_NEAR(reduce_across, 738e9, 0.06);
    test_close(&bench);
}

PW_TEST(same_question_same_answer) {
    uint32_t gpus[32];
    for (int i = 0; i < 2; i++) {
        test_bench a = test_open("DGX B200", 4, FAT_TREE, true), b = test_open("DGX B200", 4, FAT_TREE, true);
        for (uint32_t n = 2; n < 32; n += 3) {
            pw_group_shape left = test_group(&a, 0, 1, n, gpus), right = test_group(&b, 0, 1, n, gpus);
            pw_collective_cost x = test_cost(&a, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &left, 1e7 * n);
            pw_collective_cost y = test_cost(&b, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &right, 1e7 * n);
            PW_EXPECT(x.total_s == y.total_s && x.cap_Bps == y.cap_Bps && x.algorithm == y.algorithm);
        }
        test_close(&a);
        test_close(&b);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
