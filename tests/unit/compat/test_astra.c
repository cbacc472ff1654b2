/* ASTRA-sim's own figures, to the ns: measured with ASTRA-sim 2 on networks of one and more dimensions. Endpoint delay 10 ns, memory
 * 1,600 GB/s, one chunk, unless the row says otherwise. */
#include <stdlib.h>

#include "models/compat/astra.h"
#include "tests/harness/check.h"

#define R PW_ASTRA_RING
#define F PW_ASTRA_FULLY_CONNECTED
#define S PW_ASTRA_SWITCH

static const int64_t MiB = 1 << 20, GiB = 1 << 30;

static pw_astra_network one(pw_astra_topology topology, int64_t npus, double bandwidth, double latency) {
    return (pw_astra_network){.dimensions = {{topology, npus, bandwidth, latency}}, .count = 1, .npus = npus};
}

static pw_astra_system plain(pw_astra_algorithm algorithm, int64_t splits, int64_t active) {
    pw_astra_system system = {.endpoint_delay_ns = 10, .splits = splits, .active_chunks = active, .memory_GBps = 1600, .local_bw_aware = true};
    for (int kind = 0; kind < PW_ASTRA_COLLECTIVE_COUNT; kind++) {
        system.given[kind] = PW_ASTRA_DIMENSIONS;
        for (int i = 0; i < PW_ASTRA_DIMENSIONS; i++) system.algorithms[kind][i] = algorithm;
    }
    return system;
}

static int64_t unaware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes) {
    int64_t ns = -1;
    pw_error error = {0};
    PW_EXPECT_INT(pw_astra_unaware(network, system, kind, bytes, &ns, &error), PW_OK);
    return ns;
}

static int64_t aware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes) {
    int64_t ns = -1;
    pw_error error = {0};
    PW_EXPECT_INT(pw_astra_aware(network, system, kind, bytes, NULL, &ns, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return ns;
}

PW_TEST(eight_npus_in_every_topology_and_algorithm) {
    static const struct {
        pw_astra_collective kind;
        pw_astra_algorithm algorithm;
        int64_t unaware[3], aware[3]; /* Ring, FullyConnected, Switch */
    } rows[] = {
        {PW_ASTRA_ALL_REDUCE, PW_ASTRA_ALGORITHM_RING, {43025, 43025, 50025}, {43025, 43025, 84199}},
        {PW_ASTRA_ALL_REDUCE, PW_ASTRA_ALGORITHM_DIRECT, {9155, 6155, 7155}, {51093, 6155, 41329}},
        {PW_ASTRA_ALL_REDUCE, PW_ASTRA_ALGORITHM_HALVING_DOUBLING, {41978, 37978, 40978}, {66388, 37978, 75154}},
        {PW_ASTRA_ALL_REDUCE, PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE, {134081, 130081, 133081}, {290329, 130081, 328391}},
        {PW_ASTRA_ALL_GATHER, PW_ASTRA_ALGORITHM_RING, {140297, 140297, 143797}, {140297, 140297, 280514}},
        {PW_ASTRA_ALL_GATHER, PW_ASTRA_ALGORITHM_DIRECT, {21551, 20051, 20551}, {196330, 20051, 157268}},
        {PW_ASTRA_REDUCE_SCATTER, PW_ASTRA_ALGORITHM_RING, {22368, 22368, 25868}, {22368, 22368, 42955}},
        {PW_ASTRA_REDUCE_SCATTER, PW_ASTRA_ALGORITHM_DIRECT, {4704, 3204, 3704}, {25673, 3204, 20791}},
        {PW_ASTRA_ALL_TO_ALL, PW_ASTRA_ALGORITHM_RING, {82638, 82638, 96638}, {82638, 82638, 164986}},
        {PW_ASTRA_ALL_TO_ALL, PW_ASTRA_ALGORITHM_DIRECT, {4461, 2961, 3461}, {25430, 2961, 20548}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int t = 0; t < 3; t++) {
            pw_astra_network network = one((pw_astra_topology)t, 8, 50, 500);
            pw_astra_system system = plain(rows[i].algorithm, 1, 1);
            PW_EXPECT_INT(unaware(&network, &system, rows[i].kind, MiB), rows[i].unaware[t]);
            PW_EXPECT_INT(aware(&network, &system, rows[i].kind, MiB), rows[i].aware[t]);
        }
}

PW_TEST(floors_are_those_of_one_port_a_rank) {
    pw_astra_network network = one(S, 8, 50, 500), pair = one(R, 2, 50, 0), ring = one(R, 8, 50, 0), mesh = one(F, 8, 50, 0);
    PW_EXPECT_INT(pw_astra_floor(&network, PW_ASTRA_ALL_REDUCE, MiB), 34179);
    PW_EXPECT_INT(pw_astra_floor(&network, PW_ASTRA_ALL_GATHER, MiB), 136718);
    PW_EXPECT_INT(pw_astra_floor(&network, PW_ASTRA_REDUCE_SCATTER, MiB), 17089);
    PW_EXPECT_INT(pw_astra_floor(&network, PW_ASTRA_ALL_TO_ALL, MiB), 17089);
    PW_EXPECT_NEAR(pw_astra_floor(&ring, PW_ASTRA_ALL_TO_ALL, MiB), 1048576 / (50 * 1.073741824), 1e-12); /* n / 8 S / B */
    PW_EXPECT_NEAR(pw_astra_floor(&mesh, PW_ASTRA_ALL_TO_ALL, MiB), 131072 / (50 * 1.073741824), 1e-12);
    PW_EXPECT_NEAR(pw_astra_floor(&pair, PW_ASTRA_ALL_REDUCE, MiB), 1048576 / (50 * 1.073741824), 1e-12);
    for (int t = 0; t < 3; t++) /* aware times obey the law, as links carry one message after another */
        for (int kind = 0; kind < PW_ASTRA_COLLECTIVE_COUNT; kind++)
            for (int64_t n = 2; n <= 33; n++) {
                network = one((pw_astra_topology)t, n, 50, 0);
                pw_astra_system system = plain(PW_ASTRA_ALGORITHM_DIRECT, 1, 1), ring_system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
                double floor_ns = pw_astra_floor(&network, (pw_astra_collective)kind, 64 * MiB) - (double)(n * n); /* rounding down a message */
                PW_EXPECT((double)aware(&network, &system, (pw_astra_collective)kind, 64 * MiB) >= floor_ns);
                PW_EXPECT((double)aware(&network, &ring_system, (pw_astra_collective)kind, 64 * MiB) >= floor_ns);
            }
}

PW_TEST(several_chunks_share_links_only_in_the_aware_mode) {
    static const int64_t active[] = {1, 2, 4, 8}, free[] = {2354712, 1177356, 588678, 294339}, shared[] = {2354712, 2187992, 2187992, 2187992};
    pw_astra_network network = one(R, 8, 50, 500);
    for (int i = 0; i < 4; i++) {
        pw_astra_system system = plain(PW_ASTRA_ALGORITHM_RING, 8, active[i]);
        PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, 64 * MiB), free[i]);
        PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_REDUCE, 64 * MiB), shared[i]);
    }
}

PW_TEST(bundled_examples_come_out) {
    pw_astra_network network = one(R, 16, 50, 500);
    pw_astra_system system = plain(PW_ASTRA_ALGORITHM_RING, 4, 1);
    PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_GATHER, MiB), 323560);
    network = one(R, 4, 50, 500);
    PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_REDUCE_SCATTER, MiB), 22240);
    network = one(R, 8, 50, 500);
    PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), 64440);
    PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), 64440);
    PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_TO_ALL, MiB), 125480);
    network = one(S, 8, 400, 936.25); /* HGX-H100-validated */
    system = plain(PW_ASTRA_ALGORITHM_RING, 4, 2);
    system.memory_GBps = 3350;
    PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), 55222);
    PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), 57426);
}

PW_TEST(several_dimensions_run_one_after_another) {
    static const struct {
        pw_astra_dimension dimensions[3];
        int count;
        int64_t ns[4];
    } rows[] = {
        {{{R, 4, 200, 50}, {R, 2, 50, 500}}, 2, {15322, 49536, 8521, 17975}},
        {{{R, 4, 200, 50}, {S, 2, 50, 500}}, 2, {16322, 50036, 9021, 18475}},
        {{{F, 2, 200, 50}, {R, 4, 50, 500}}, 2, {24448, 79734, 13084, 34873}},
        {{{S, 8, 200, 50}, {R, 2, 50, 500}}, 2, {15391, 89186, 8611, 30455}},
        {{{R, 2, 200, 50}, {F, 8, 100, 500}, {S, 4, 50, 2000}}, 3, {48533, 503967, 25227, 104323}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pw_astra_network network = {.count = rows[i].count, .npus = 1};
        for (int d = 0; d < rows[i].count; d++) network.dimensions[d] = rows[i].dimensions[d], network.npus *= rows[i].dimensions[d].npus;
        pw_astra_system system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
        for (int kind = 0; kind < 4; kind++) PW_EXPECT_INT(unaware(&network, &system, (pw_astra_collective)kind, MiB), rows[i].ns[kind]);
        if (i != 1) continue;
        system.local_bw_aware = false;
        PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), 31698);
    }
}

PW_TEST(chunks_follow_each_other_through_dimensions) {
    pw_astra_network network = {.dimensions = {{S, 8, 400, 936.25}, {R, 2, 50, 1000}}, .count = 2, .npus = 16}; /* ASTRA-sim's input for 16 H100 */
    pw_astra_system system = plain(PW_ASTRA_ALGORITHM_RING, 4, 2);
    system.endpoint_delay_ns = 1;
    system.memory_GBps = 3350;
    PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, GiB), 2742660);
    PW_EXPECT(pw_astra_floor(&network, PW_ASTRA_ALL_REDUCE, GiB) > 2742660);
    for (int kind = 0; kind < 4; kind++) { /* one chunk at a time: whole chunks one after another only where a dimension comes once */
        system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
        int64_t one_chunk = unaware(&network, &system, (pw_astra_collective)kind, MiB);
        system = plain(PW_ASTRA_ALGORITHM_RING, 6, 6);
        int64_t at_once = unaware(&network, &system, (pw_astra_collective)kind, 6 * MiB), ns = 0;
        PW_EXPECT_INT(at_once, one_chunk);
        system = plain(PW_ASTRA_ALGORITHM_RING, 6, 2);
        if (pw_astra_unaware(&network, &system, (pw_astra_collective)kind, 6 * MiB, &ns, NULL) == PW_OK) PW_EXPECT(ns > at_once && ns < 3 * at_once);
    }
}

PW_TEST(times_over_the_number_of_npus) {
    static const struct {
        int64_t n, ring, switched, aware_switched;
    } rows[] = {{16, 53710, 68710, 105310},      {32, 71310, 102310, 140130},     {64, 104590, 167590, 206020},        {128, 170063, 297063, 335671},
                {256, 300400, 555400, 594160},   {512, 561599, 1072599, 1111435}, {1024, 1082344, 2105344, 0},           {2048, 2124796, 4171796, 0},
                {4096, 4209670, 8304670, 0}};
    pw_astra_system system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pw_astra_network ring = one(R, rows[i].n, 50, 500), switched = one(S, rows[i].n, 50, 500);
        PW_EXPECT_INT(unaware(&ring, &system, PW_ASTRA_ALL_REDUCE, MiB), rows[i].ring);
        PW_EXPECT_INT(unaware(&switched, &system, PW_ASTRA_ALL_REDUCE, MiB), rows[i].switched);
        if (rows[i].n > 128) continue;
        PW_EXPECT_INT(aware(&ring, &system, PW_ASTRA_ALL_REDUCE, MiB), rows[i].ring);
        PW_EXPECT_INT(aware(&switched, &system, PW_ASTRA_ALL_REDUCE, MiB), rows[i].aware_switched);
    }
    static const struct {
        int64_t n, halving, direct, aware_direct;
    } others[] = {{64, 51518, 20551, 1251004}, {256, 56035, 5902, 1250812}, {1024, 60192, 2240, 0}, {4096, 64258, 0, 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        pw_astra_network network = one(S, others[i].n, 50, 500);
        system = plain(PW_ASTRA_ALGORITHM_HALVING_DOUBLING, 1, 1);
        PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB), others[i].halving);
        system = plain(PW_ASTRA_ALGORITHM_DIRECT, 1, 1);
        if (others[i].direct) PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_TO_ALL, 64 * MiB), others[i].direct);
        if (others[i].aware_direct) PW_EXPECT_INT(aware(&network, &system, PW_ASTRA_ALL_TO_ALL, 64 * MiB), others[i].aware_direct);
    }
    static const struct {
        int64_t n, ns;
    } pods[] = {{16, 8792833}, {32, 10113783}, {64, 10786309}, {128, 11146674}, {256, 11375107}, {512, 11585646}, {1024, 11883953}, {2048, 12418389}, {4096, 13456487}, {8192, 15518319}};
    system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        pw_astra_network network = {.dimensions = {{S, 8, 400, 936.25}, {S, pods[i].n / 8, 50, 1000}}, .count = 2, .npus = pods[i].n};
        PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, GiB), pods[i].ns);
    }
    static const int64_t tori[] = {26609402, 27002935, 27097535};
    for (int i = 0; i < 3; i++) {
        pw_astra_dimension side = {R, INT64_C(4) << i, 80, 1000};
        pw_astra_network network = {.dimensions = {side, side, side}, .count = 3, .npus = side.npus * side.npus * side.npus};
        PW_EXPECT_INT(unaware(&network, &system, PW_ASTRA_ALL_REDUCE, GiB), tori[i]);
    }
}

PW_TEST(podwrights_own_answer_obeys_the_cut_bound) {
    pw_astra_network networks[] = {one(R, 8, 50, 500), one(F, 8, 50, 500), one(S, 8, 50, 500), one(S, 6, 50, 0), one(R, 7, 50, 0),
                                   {.dimensions = {{R, 4, 200, 50}, {S, 2, 50, 500}}, .count = 2, .npus = 8},
                                   {.dimensions = {{R, 2, 200, 50}, {F, 8, 100, 500}, {S, 4, 50, 2000}}, .count = 3, .npus = 64}};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (int kind = 0; kind < PW_ASTRA_COLLECTIVE_COUNT; kind++) {
            pw_astra_answer small, large;
            pw_error error = {0};
            double floor_ns = pw_astra_floor(&networks[i], (pw_astra_collective)kind, GiB);
            PW_EXPECT_INT(pw_astra_physical(&networks[i], (pw_astra_collective)kind, 1024, NULL, &small, &error), PW_OK);
            PW_EXPECT_INT(pw_astra_physical(&networks[i], (pw_astra_collective)kind, GiB, NULL, &large, &error), PW_OK);
            PW_EXPECT_TEXT(error.what, "");
            PW_EXPECT(small.ns < large.ns && large.ns > 0.999999 * floor_ns && large.ns < 5 * floor_ns);
        }
    pw_astra_answer answer; /* a switch: the ring's closed form, 14 (1000 + S / 8 B), or what is faster */
    PW_EXPECT_INT(pw_astra_physical(&networks[2], PW_ASTRA_ALL_REDUCE, GiB, NULL, &answer, NULL), PW_OK);
    PW_EXPECT(answer.ns <= 14 * (1000 + (double)GiB / 8 / (50 * 1.073741824)));
}

PW_TEST(what_is_not_known_is_refused) {
    pw_error error = {0};
    int64_t ns;
    pw_astra_network network = one(R, 6, 50, 500), two = {.dimensions = {{R, 2, 1, 1}, {R, 2, 1, 1}}, .count = 2, .npus = 4};
    pw_astra_system system = plain(PW_ASTRA_ALGORITHM_HALVING_DOUBLING, 1, 1);
    PW_EXPECT_INT(pw_astra_unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB, &ns, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "power of two");
    PW_EXPECT_INT(pw_astra_unaware(&network, &system, PW_ASTRA_ALL_GATHER, MiB, &ns, &error), PW_UNSUPPORTED);
    PW_EXPECT_INT(pw_astra_aware(&two, &system, PW_ASTRA_ALL_REDUCE, MiB, NULL, &ns, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "one dimension");
    network.npus = network.dimensions[0].npus = 8;
    system = plain(PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE, 2, 1);
    PW_EXPECT_INT(pw_astra_unaware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB, &ns, &error), PW_UNSUPPORTED);
    network.npus = network.dimensions[0].npus = 1 << 16;
    system = plain(PW_ASTRA_ALGORITHM_RING, 1, 1);
    PW_EXPECT_INT(pw_astra_aware(&network, &system, PW_ASTRA_ALL_REDUCE, MiB, NULL, &ns, &error), PW_LIMIT);
}

/* ---- Files ---- */

static const char *keep(const char *name, const char *text) {
    static char paths[2][256];
    char *path = paths[name[0] == 's'];
    snprintf(path, sizeof paths[0], "%s/astra-%s", P_tmpdir, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) PW_FAILED("cannot write %s", path);
    return path;
}

PW_TEST(files_are_read_or_refused_with_their_line) {
    pw_astra_network network;
    pw_astra_system system;
    pw_error error = {0};
    const char *path = keep("network.yml", "# pods\ntopology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 200.0, 50.0 ] # GB/s\nlatency:\n  - 50\n  - 500\n");
    PW_EXPECT_INT(pw_astra_network_read(path, &network, &error), PW_OK);
    PW_EXPECT_INT(network.npus, 8);
    PW_EXPECT_INT(network.dimensions[1].topology, PW_ASTRA_SWITCH);
    PW_EXPECT_NEAR(network.dimensions[0].bandwidth_GBps, 200, 0);
    PW_EXPECT_NEAR(network.dimensions[1].latency_ns, 500, 0);
    static const struct {
        const char *text, *what;
        int line;
    } bad[] = {{"topology: [ Ring ]\nnpus_count: [ 4, 2 ]\n", "another list has 1", 2},
               {"topology: [ Rings ]\n", "no topology 'Rings'", 1},
               {"topology: [ Ring ]\nnpus_count: [ 1 ]\n", "out of range", 2},
               {"topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwith: [ 1 ]\n", "no key 'bandwith'", 3},
               {"topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 1 ]\n", "'latency' is missing", 0},
               {"topology: [ Ring", "no YAML", 1},
               {"[ 1, 2 ]", "no network", 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pw_astra_network other;
        error = (pw_error){0};
        PW_EXPECT_INT(pw_astra_network_read(keep("network.yml", bad[i].text), &other, &error), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, bad[i].what);
        if (bad[i].line) PW_EXPECT_INT(error.line, bad[i].line);
    }
    path = keep("system.json", "{\"scheduling-policy\": \"LIFO\", \"endpoint-delay\": 10, \"active-chunks-per-dimension\": 2, \"preferred-dataset-splits\": 4,"
                               "\"all-reduce-implementation\": [\"ring\", \"halvingDoubling\"], \"collective-optimization\": \"localBWAware\", \"local-mem-bw\": 3350}");
    error = (pw_error){0};
    PW_EXPECT_INT(pw_astra_system_read(path, &network, NULL, &system, &error), PW_OK);
    PW_EXPECT_INT(system.splits, 4);
    PW_EXPECT_INT(system.algorithms[PW_ASTRA_ALL_REDUCE][1], PW_ASTRA_ALGORITHM_HALVING_DOUBLING);
    PW_EXPECT(system.local_bw_aware && system.given[PW_ASTRA_ALL_GATHER] == 0);
    static const char *const wrong[][2] = {{"{\"endpoint-delay\": 10}", "local-mem-bw is missing"},
                                           {"{\"all-reduce-implementation\": [\"ring\"]}", "one algorithm for each dimension"},
                                           {"{\"all-reduce-implementation\": [\"ring\", \"oneRing\"]}", "'oneRing' is not modelled"},
                                           {"{\"all-reduce-implementation-custom\": [\"x\"]}", "is not modelled"},
                                           {"{\"endpoint-delay\": -1}", "out of range"},
                                           {"[]", "no system"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error = (pw_error){0};
        PW_EXPECT(pw_astra_system_read(keep("system.json", wrong[i][0]), &network, NULL, &system, &error) != PW_OK);
        PW_EXPECT_CONTAINS(error.what, wrong[i][1]);
    }
    remove(keep("network.yml", ""));
    remove(keep("system.json", ""));
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
