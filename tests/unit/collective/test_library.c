/* The communication library's own cost model, against its formulas written out by hand. */
#include <math.h>
#include <string.h>

#include "models/collective/library.h"
#include "tests/unit/collective/groups.h"

static const double KiB = 1024, GiB = 1073741824.0;

static library_constants constants(const char *library, const char *version, const char *arch) {
    library_constants k;
    pw_error error = {0};
    if (library_load(test_catalogue(), library, version, arch, &k, &error) != PW_OK) PW_FAILED("%s", error.what);
    return k;
}

static library_choice choose(const library_constants *k, const library_group *g, pw_collective_kind kind, double bytes) {
    library_choice choice = {0};
    PW_EXPECT(library_choose(k, g, kind, bytes, &choice));
    return choice;
}

static library_group node(uint32_t ranks, double links) {
    return (library_group){.ranks = ranks, .nodes = 1, .per_node = ranks, .links = links, .pcie_Bps = 63e9, .multicast = links == 18};
}

static library_group nodes(uint32_t count, double links, double nic_Bps) {
    library_group g = node(8, links);
    g.nodes = count, g.ranks = 8 * count, g.nics = 8, g.nic_Bps = nic_Bps;
    return g;
}

/* The search of channels: total bandwidth of the rings of known machines. */
PW_TEST(rings_of_known_machines_have_their_bandwidth) {
    const struct { const char *arch; double links, nic_Bps; uint32_t nodes; double total_Bps; } machines[] = {
        {"Ampere", 12, 0, 1, 240e9}, {"Hopper", 18, 0, 1, 360e9}, {"Blackwell", 18, 0, 1, 720e9},
        {"Hopper", 18, 50e9, 4, 360e9}, {"Ampere", 12, 25e9, 4, 192e9}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        library_constants k = constants("nccl", "", machines[i].arch);
        library_group g = machines[i].nodes > 1 ? nodes(machines[i].nodes, machines[i].links, machines[i].nic_Bps) : node(8, machines[i].links);
        double a = choose(&k, &g, PW_COLLECTIVE_ALL_GATHER, 64 * GiB).time_s, b = choose(&k, &g, PW_COLLECTIVE_ALL_GATHER, 128 * GiB).time_s;
        double n = g.ranks, slope = 64 * GiB / (b - a) * (n - 1) / n;
        if (g.multicast && g.nodes == 1) PW_EXPECT(slope >= 0.999 * machines[i].total_Bps); /* the switch may beat rings */
        else PW_EXPECT_NEAR(slope, machines[i].total_Bps, 1e-6);
    }
}

PW_TEST(small_all_reduce_is_latency_of_its_hops) {
    library_constants k = constants("nccl", "2.30.7", "Hopper");
    library_group one = node(8, 18), two = nodes(2, 18, 50e9);
    library_choice choice = choose(&k, &one, PW_COLLECTIVE_ALL_REDUCE, KiB);
    PW_EXPECT_INT(choice.algorithm, LIBRARY_RING);
    PW_EXPECT_INT(choice.protocol, LIBRARY_LL);
    PW_EXPECT_NEAR(choice.time_s, (6.6 + 14 * 0.6) * 1e-6 + KiB / (141e9 * 8 / 14), 1e-9);
    choice = choose(&k, &two, PW_COLLECTIVE_ALL_REDUCE, 8);
    PW_EXPECT_INT(choice.algorithm, LIBRARY_TREE);
    PW_EXPECT_NEAR(choice.time_s, (6.8 + 2 * (7 * 0.6 + 5.0)) * 1e-6, 1e-4);
}

PW_TEST(large_all_reduce_takes_the_switch) {
    library_constants k = constants("nccl", "2.30.7", "Hopper");
    library_group g = node(8, 18);
    library_choice choice = choose(&k, &g, PW_COLLECTIVE_ALL_REDUCE, GiB);
    PW_EXPECT_INT(choice.algorithm, LIBRARY_NVLS);
    PW_EXPECT_NEAR(choice.time_s, 25e-6 + GiB / (8 * 40e9 * 0.85 * 7 / 8 * 2 * 8 / 14), 1e-9);
    g.multicast = false;
    PW_EXPECT_INT(choose(&k, &g, PW_COLLECTIVE_ALL_REDUCE, GiB).algorithm, LIBRARY_RING);
}

PW_TEST(constants_follow_the_version) {
    library_constants old = constants("nccl", "2.10", "Ampere"), middle = constants("nccl", "2.18.3", "Ampere"),
                      newest = constants("nccl", "", "Ampere");
    PW_EXPECT_NEAR(old.base[LIBRARY_RING][LIBRARY_LL], 3.6e-6, 1e-12);
    PW_EXPECT_NEAR(middle.base[LIBRARY_RING][LIBRARY_LL], 6.6e-6, 1e-12);
    PW_EXPECT_NEAR(middle.base[LIBRARY_TREE][LIBRARY_SIMPLE], 0, 1e-12);
    PW_EXPECT_NEAR(newest.base[LIBRARY_TREE][LIBRARY_SIMPLE], 8.4e-6, 1e-12);
    PW_EXPECT(isnan(old.nvlink[LIBRARY_NVLS][LIBRARY_SIMPLE]) && !isnan(middle.nvlink[LIBRARY_NVLS][LIBRARY_SIMPLE]));
    PW_EXPECT_NEAR(constants("nccl", "2.20", "Hopper").ll_Bps[0], 87.7e9, 1);
    PW_EXPECT_NEAR(constants("nccl", "2.30", "Hopper").ll_Bps[0], 141e9, 1);
    pw_error error = {0};
    library_constants none;
    PW_EXPECT(library_load(test_catalogue(), "accl", "", "Hopper", &none, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.what, "accl");
}

PW_TEST(exchanges_have_no_cost_model) {
    library_constants k = constants("nccl", "", "Hopper");
    library_group g = node(8, 18);
    library_choice choice;
    PW_EXPECT(!library_choose(&k, &g, PW_COLLECTIVE_ALL_TO_ALL, GiB, &choice));
    test_bench bench = test_open("DGX H100", 1, SINGLE_SWITCH, true);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    pw_library_estimate estimate;
    PW_EXPECT(!pw_collective_library_estimate(bench.collectives, PW_COLLECTIVE_ALL_TO_ALL, &shape, GiB, &estimate));
    PW_EXPECT(pw_collective_library_estimate(bench.collectives, PW_COLLECTIVE_ALL_REDUCE, &shape, GiB, &estimate));
    PW_EXPECT(strcmp(estimate.algorithm, "nvls") == 0 && strcmp(estimate.protocol, "Simple") == 0);
    test_close(&bench);
}

PW_TEST(channels_of_messages_follow_the_number_of_ranks_and_bytes) {
    library_constants k = constants("nccl", "", "Blackwell");
    const double MiB = 1048576;
    static const struct { uint32_t members, peers; double mebibytes, part; } cases[] = {
        {8, 1, 64, 16},  {8, 1, 65, 16},   {8, 1, 256, 16},  {8, 1, 512, 16},   {8, 1, 1024, 32}, {8, 7, 8, 2},
        {8, 7, 128, 32}, {8, 7, 512, 112}, {2, 1, 64, 4},    {16, 15, 1, 0.5},  {18, 17, 1, 1},   {18, 17, 32, 32},
        {36, 35, 1, 2},  {8, 1, 1.0 / 64, 1.0 / 64}, {8, 1, 1.0 / 32, 1.0 / 64}, {8, 1, 1.0 / 16, 1.0 / 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        PW_EXPECT_NEAR(library_p2p_part(&k, cases[i].members, cases[i].peers, cases[i].mebibytes * MiB), cases[i].part * MiB, 1e-12);
    for (uint32_t n = 2; n < 80; n += 3)
        for (double bytes = 1, before = 0; bytes < 1e11; bytes *= 1.3) {
            double part = library_p2p_part(&k, n, n - 1, bytes);
            PW_EXPECT(part >= before);
            before = part;
        }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
