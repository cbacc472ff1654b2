/* The uncalibrated form against closed forms, and the laws that any cost keeps. */
#include "tests/unit/collective/groups.h"

static const double MiB = 1024.0 * 1024.0;

static double form(const test_bench *bench, pw_collective_kind kind, int algorithm, const pw_group_shape *shape, double S) {
    return test_cost(bench, kind, algorithm, shape, S).total_s;
}

/* Full-duplex ports of 50 GB/s on one switch, 500 ns per message, 8 ranks, 1 MiB. */
PW_TEST(one_switch_meets_the_closed_forms) {
    test_bench bench = test_open("DGX H100", 1, SINGLE_SWITCH, false);
    pw_group_shape shape = {8, 1, 8, true, 50e9, 0, 500e-9, 0, 0, 0, 0, false, NULL};
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, MiB), 43700.16e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_GATHER, RING, &shape, MiB), 21850.08e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_REDUCE_SCATTER, RING, &shape, MiB), 21850.08e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, DIRECT, &shape, MiB), 37700.16e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_TO_ALL, DIRECT, &shape, MiB), 18850.08e-9, 1e-12);
    /* 7 hops and half of the blocks times the mean distance over one direction */
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_TO_ALL, RING, &shape, MiB), 7 * 500e-9 + 73400.32e-9, 1e-12);
    PW_EXPECT_NEAR(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, MiB).floor_s, 36700.16e-9, 1e-12);
    PW_EXPECT_NEAR(test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, RING, &shape, MiB).floor_s, 18350.08e-9, 1e-12);
    /* in-switch reduction: algbw = B n / (n + 1) */
    pw_collective_cost nvls = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, NVLS, &shape, MiB);
    PW_EXPECT_NEAR(nvls.cap_Bps, 50e9 * 8 / 9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_REDUCE, RING, &shape, MiB), 7 * 500e-9 + MiB / 50e9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_GATHER, DIRECT, &shape, MiB), 18850.08e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_SCATTER, DIRECT, &shape, MiB), 18850.08e-9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_SEND_RECV, RING, &shape, MiB), 500e-9 + MiB / 50e9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_BARRIER, DIRECT, &shape, 0), 1000e-9, 1e-12);
    /* chain with pieces, hops and the whole message once */
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_BROADCAST, RING, &shape, MiB), 7 * 500e-9 + MiB / 50e9, 1e-12);
    test_close(&bench);
}

/* One ring per NIC: 4 nodes of 8 and 50 GB/s per GPU move 2 (n-1)/n S over 8 NICs. */
PW_TEST(rings_over_nodes_use_all_nics) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, false);
    pw_group_shape shape = {32, 4, 8, true, 400e9, 50e9, 1e-6, 0, 0, 0, 0, false, NULL};
    double S = 1e9, fluid = 2 * 31.0 / 32 * S / (8 * 50e9);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, S), 62e-6 + fluid, 1e-12);
    pw_group_shape one_each = {4, 4, 1, true, 0, 50e9, 1e-6, 0, 0, 0, 0, false, NULL};
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &one_each, S), 6e-6 + 1.5 * S / 50e9, 1e-12);
    /* two domains: a tree's halves cross once each way, 4 and more: twice */
    pw_group_shape two = {2, 2, 1, true, 0, 50e9, 1e-6, 0, 0, 0, 0, false, NULL};
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, TREE, &two, S), 2e-6 + S / 50e9, 1e-12);
    PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, TREE, &one_each, S), 4e-6 + 2 * S / 50e9, 1e-12);
    test_close(&bench);
}

PW_TEST(all_reduce_is_reduce_scatter_and_all_gather) {
    test_bench bench = test_open("DGX A100 640GB", 4, FAT_TREE, false);
    uint32_t gpus[32];
    for (uint32_t n = 2; n <= 32; n *= 2) {
        pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
        for (double S = 1024; S < 1e10; S *= 7)
            for (int algorithm = RING; algorithm <= DIRECT; algorithm += DIRECT - RING)
                PW_EXPECT_NEAR(form(&bench, PW_COLLECTIVE_ALL_REDUCE, algorithm, &shape, S),
                               form(&bench, PW_COLLECTIVE_REDUCE_SCATTER, algorithm, &shape, S) +
                                   form(&bench, PW_COLLECTIVE_ALL_GATHER, algorithm, &shape, S),
                               1e-12);
    }
    test_close(&bench);
}

PW_TEST(bytes_and_bandwidth_scaled_alike_leave_the_time) {
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, false);
    pw_group_shape shape = {16, 2, 8, true, 400e9, 50e9, 2e-6, 0, 0, 0, 0, false, NULL}, fast = shape;
    fast.scaleup_Bps *= 4, fast.network_Bps *= 4;
    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
        PW_EXPECT_NEAR(form(&bench, kind, PW_ALGORITHM_AUTO, &shape, 1e8),
                       form(&bench, kind, PW_ALGORITHM_AUTO, &fast, 4e8), 1e-12);
    test_close(&bench);
}

PW_TEST(a_group_of_one_costs_nothing) {
    for (int calibrated = 0; calibrated < 2; calibrated++) {
        test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, calibrated);
        uint32_t gpus[1];
        pw_group_shape shape = test_group(&bench, 3, 1, 1, gpus);
        for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
            pw_collective_cost cost = test_cost(&bench, kind, PW_ALGORITHM_AUTO, &shape, 1e9);
            PW_EXPECT(cost.total_s == 0 && cost.alpha_s == 0 && cost.sms == 0 && isinf(cost.cap_Bps));
        }
        pw_collective_cost cost = {0};
        PW_EXPECT(pw_message_cost_of(bench.collectives, 5, 5, 1e9, &cost, NULL) == PW_OK);
        PW_EXPECT(cost.total_s == 0 && isinf(cost.cap_Bps));
        test_close(&bench);
    }
}

PW_TEST(no_bytes_cost_the_latency_alone) {
    test_bench bench = test_open("DGX H100", 2, RAIL_OPTIMIZED, true);
    uint32_t gpus[16];
    pw_group_shape shape = test_group(&bench, 0, 1, 16, gpus);
    pw_collective_cost cost = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, 0);
    PW_EXPECT(cost.total_s == cost.alpha_s && cost.alpha_s > 0 && isinf(cost.cap_Bps));
    test_close(&bench);
}

PW_TEST(errors_say_what_is_wrong) {
    test_bench bench = test_open("DGX A100 640GB", 2, FAT_TREE, true);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    pw_collective_cost cost;
    pw_error error = {0};
    PW_EXPECT(pw_collective_cost_of(bench.collectives, PW_COLLECTIVE_ALL_REDUCE, NVLS, &shape, 1e6, &cost, &error) ==
              PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "nvls cannot do all_reduce");
    PW_EXPECT_CONTAINS(error.hint, "ring, tree, direct");
    PW_EXPECT(pw_collective_cost_of(bench.collectives, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, -1, &cost, &error) ==
              PW_BAD_INPUT);
    PW_EXPECT(pw_collective_cost_of(bench.collectives, PW_COLLECTIVE_ALL_REDUCE, 99, &shape, 1, &cost, &error) ==
              PW_BAD_INPUT);
    uint32_t outside[2] = {0, 16}, twice[2] = {1, 1};
    PW_EXPECT(pw_collective_shape(bench.collectives, outside, 2, &shape, &error) == PW_OUT_OF_RANGE);
    PW_EXPECT(pw_collective_shape(bench.collectives, twice, 2, &shape, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_collective_shape(bench.collectives, twice, 0, &shape, &error) == PW_BAD_INPUT);
    test_close(&bench);
}

PW_TEST(failed_allocations_leave_nothing_behind) {
    pw_cluster_desc desc = test_describe("MI300X 8-OAM platform", 2, RAIL_OPTIMIZED);
    test_bench bench = test_open_desc(&desc, true);
    for (int at = 1; at < 40; at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = (unsigned long long)at;
        pw_collectives *made = NULL;
        pw_status status = pw_collectives_create(&counting.allocator, test_catalogue(), bench.cluster, true, &made, NULL);
        if (status == PW_OK) {
            uint32_t gpus[8] = {0, 1, 2, 3, 4, 5, 6, 7};
            pw_group_shape shape;
            status = pw_collective_shape(made, gpus, 8, &shape, NULL);
            PW_EXPECT(status == PW_OK || status == PW_NO_MEMORY);
        } else {
            PW_EXPECT_INT(status, PW_NO_MEMORY);
            PW_EXPECT(made == NULL);
        }
        pw_collectives_destroy(made);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    test_close(&bench);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
