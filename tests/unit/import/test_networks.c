/* Networks of other simulators are clusters with the links that their files say. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models/import/import.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_arena *arena;
static pw_error error;
static pw_import_notes notes;

static pw_status read_text(const char *text, bool is_astra, pw_cluster_desc *desc) {
    char path[64];
    int file = memfd_create("network", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) PW_FAILED("no file");
    error = (pw_error){0};
    notes = (pw_import_notes){0};
    pw_status status = is_astra ? pw_import_astra_network(catalogue, path, "H100", desc, arena, &notes, &error)
                                : pw_import_simai_topology(catalogue, path, desc, arena, &notes, &error);
    close(file);
    return status;
}

/* Builds it; the caller destroys it. */
static pw_cluster *build(const pw_cluster_desc *desc) {
    pw_cluster *cluster = NULL;
    PW_EXPECT_INT(pw_cluster_create(NULL, catalogue, desc, &cluster, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return cluster;
}

PW_TEST(a_switch_of_npus_is_one_switch) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text("topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n", true, &desc), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    PW_EXPECT_INT(desc.nodes, 8);
    PW_EXPECT_TEXT(desc.node.gpu, "H100-SXM5-80GB");
    PW_EXPECT_NEAR(desc.node.nic_Bps, 50 * 0x1p30, 1e-12);
    pw_cluster *cluster = build(&desc);
    if (!cluster) return;
    PW_EXPECT_INT(pw_cluster_gpus(cluster), 8);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), 50 * 0x1p30, 1e-12);
    pw_cluster_destroy(cluster);
}

PW_TEST(nodes_below_switches_have_a_switch_for_each_position) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text("topology: [ Switch, Switch ]\nnpus_count: [ 8, 16 ]\nbandwidth: [ 400, 50 ]\nlatency: [ 936.25, 1000 ]\n", true, &desc), PW_OK);
    PW_EXPECT_INT(desc.nodes, 16);
    PW_EXPECT_INT(desc.node.gpus, 8);
    PW_EXPECT_NEAR(desc.node.nvlink_Bps, 400 * 0x1p30, 1e-12);
    PW_EXPECT_NEAR(desc.network.cable_latency_s, 1e-6, 1e-12);
    pw_cluster *cluster = build(&desc);
    if (!cluster) return;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_TEXT(facts.topology, "rail_only");
    PW_EXPECT_INT(facts.network.leaves, 8);
    PW_EXPECT_INT(facts.network.tiers, 1);
    pw_cluster_destroy(cluster);
}

PW_TEST(rings_and_tori_keep_their_links) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text("topology: [ Ring, Ring ]\nnpus_count: [ 4, 4 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n", true, &desc), PW_OK);
    PW_EXPECT_INT(desc.nodes, 16);
    PW_EXPECT_NEAR(desc.node.nic_Bps, 4 * 50 * 0x1p30, 1e-9); /* as fast as its four links */
    pw_cluster *cluster = build(&desc);
    if (!cluster) return;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_TEXT(facts.topology, "torus");
    PW_EXPECT_NEAR(facts.network.bisection_Bps, 8 * 50 * 0x1p30, 1e-9); /* two links of each of four rings */
    pw_cluster_destroy(cluster);
    PW_EXPECT_INT(read_text("topology: [ FullyConnected ]\nnpus_count: [ 5 ]\nbandwidth: [ 10 ]\nlatency: [ 500 ]\n", true, &desc), PW_OK);
    cluster = build(&desc);
    if (!cluster) return;
    facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_TEXT(facts.topology, "fully_connected");
    pw_cluster_destroy(cluster);
}

PW_TEST(shapes_that_are_missing_are_refused) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text("topology: [ Ring, FullyConnected ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 200, 50 ]\nlatency: [ 50, 500 ]\n", true, &desc), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "no network of these dimensions");
}

/* ---- SimAI ---- */

/* Two blocks of two servers of two GPUs; every rail of a block has a leaf, all leaves reach two spines. */
static const char rails[] = "18 2 4 6 24 H100\n8 9 10 11 12 13 14 15 16 17\n"
                            "0 8 2880Gbps 0.000025ms 0\n1 8 2880Gbps 0.000025ms 0\n2 9 2880Gbps 0.000025ms 0\n3 9 2880Gbps 0.000025ms 0\n"
                            "4 10 2880Gbps 0.000025ms 0\n5 10 2880Gbps 0.000025ms 0\n6 11 2880Gbps 0.000025ms 0\n7 11 2880Gbps 0.000025ms 0\n"
                            "0 12 400Gbps 0.0005ms 0\n2 12 400Gbps 0.0005ms 0\n1 13 400Gbps 0.0005ms 0\n3 13 400Gbps 0.0005ms 0\n"
                            "4 14 400Gbps 0.0005ms 0\n6 14 400Gbps 0.0005ms 0\n5 15 400Gbps 0.0005ms 0\n7 15 400Gbps 0.0005ms 0\n"
                            "12 16 200Gbps 0.0005ms 0\n12 17 200Gbps 0.0005ms 0\n13 16 200Gbps 0.0005ms 0\n13 17 200Gbps 0.0005ms 0\n"
                            "14 16 200Gbps 0.0005ms 0\n14 17 200Gbps 0.0005ms 0\n15 16 200Gbps 0.0005ms 0\n15 17 200Gbps 0.0005ms 0\n";

PW_TEST(rails_of_simai_are_rails) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text(rails, false, &desc), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    PW_EXPECT_INT(desc.nodes, 4);
    PW_EXPECT_INT(desc.node.gpus, 2);
    PW_EXPECT_NEAR(desc.node.nvlink_Bps, 360e9, 1e-12);
    PW_EXPECT_NEAR(desc.node.nic_Bps, 50e9, 1e-12);
    PW_EXPECT_NEAR(desc.network.oversubscription, 2, 1e-12); /* 800 down, 400 up */
    PW_EXPECT_NEAR(desc.network.cable_latency_s, 500e-9, 1e-9);
    pw_cluster *cluster = build(&desc);
    if (!cluster) return;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_TEXT(facts.topology, "rail_optimized");
    PW_EXPECT_INT(facts.network.leaves, 4);
    PW_EXPECT_INT(facts.network.tiers, 2);
    PW_EXPECT_NEAR(facts.network.oversubscription, 2, 1e-9);
    pw_cluster_destroy(cluster);
}

/* One link of 800 Gb/s from a leaf of two ports to its spine. */
PW_TEST(uplinks_of_simai_keep_their_rate) {
    pw_cluster_desc desc;
    PW_EXPECT_INT(read_text("9 2 2 3 10 H100\n4 5 6 7 8\n"
                            "0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n"
                            "0 6 400Gbps 0.0005ms 0\n1 6 400Gbps 0.0005ms 0\n2 7 400Gbps 0.0005ms 0\n3 7 400Gbps 0.0005ms 0\n"
                            "6 8 800Gbps 0.0005ms 0\n7 8 800Gbps 0.0005ms 0\n", false, &desc), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    PW_EXPECT_INT(desc.network.tiers.count, 2);
    pw_cluster *cluster = build(&desc);
    if (!cluster) return;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_INT(facts.network.spines, 1);
    PW_EXPECT_INT(facts.network.cables, 6);
    PW_EXPECT_NEAR(facts.network.cable[1].cable_Bps, 2 * facts.network.cable[0].cable_Bps, 1e-9);
    pw_cluster_destroy(cluster);
}

PW_TEST(odd_files_of_simai_are_refused_with_their_line) {
    static const struct {
        const char *text, *what;
        int line;
    } bad[] = {{"x", "whole number", 1},
               {"4 2 1 1 1\n", "type of GPU is missing", 1},
               {"5 2 1 1 1 H100\n", "no whole number of servers", 1},
               {"4 2 1 1 1 H100\n3 2\n", "not numbered in order", 2},
               {"4 2 1 1 1 H100\n2 3\n0 2 2880 0.000025ms 0\n", "has no unit", 3},
               {"4 2 1 1 1 H100\n2 3\n0 1 2880Gbps 0.000025ms 0\n", "from GPU to GPU", 3},
               {"4 2 1 1 1 H100\n2 3\n0 3 400Gbps 0.0005ms 0\n", "has other links than GPU 0", 0},
               {"4 2 1 1 2 H9\n2 3\n0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n", "H9", 0},
               {"4 2 1 1 3 H100\n2 3\n0 3 400Gbps 0.0005ms 0\n", "whole number", 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pw_cluster_desc desc;
        PW_EXPECT(read_text(bad[i].text, false, &desc) != PW_OK);
        PW_EXPECT_CONTAINS(error.what, bad[i].what);
        if (bad[i].line) PW_EXPECT_INT(error.line, bad[i].line);
    }
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    if (!arena || pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) return 1;
    int status = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return status;
}
