#include "models/packet/question.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_arena *arena;

static pw_cluster_desc cluster_of(int64_t nodes) {
    pw_cluster_desc cluster;
    PW_EXPECT_INT(pw_description_defaults(&pw_cluster_kind, &cluster, arena, NULL), PW_OK);
    cluster.nodes = nodes;
    cluster.node.server = "DGX H100";
    return cluster;
}

static pw_question_desc asking(pw_traffic_pattern pattern, double bytes) {
    pw_question_desc desc;
    pw_error error = {0};
    PW_EXPECT_INT(pw_description_defaults(&pw_traffic_kind, &desc, arena, &error), PW_OK);
    desc.pattern.pattern = (int)pattern;
    desc.pattern.bytes = bytes;
    return desc;
}

static pw_question_result ask(const pw_cluster_desc *cluster, const pw_question_desc *desc) {
    pw_question_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_question_run(NULL, catalogue, cluster, desc, 1, NULL, "here.lua", 3, arena, &result, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return result;
}

PW_TEST(both_modes_answer_the_same_question) {
    pw_cluster_desc cluster = cluster_of(16);
    pw_question_desc desc = asking(PW_TRAFFIC_PERMUTATION, 2e6);
    desc.paths = 32;
    pw_question_result both = ask(&cluster, &desc);
    PW_EXPECT_INT(both.ends, 128);
    PW_EXPECT_INT(both.traffic.count, 128);
    PW_EXPECT(both.has_flow && both.has_packet);
    PW_EXPECT_NEAR(both.packet_times.mean_s, both.flow_times.mean_s, 0.15);
    PW_EXPECT(both.packet_times.p50_s <= both.packet_times.p99_s && both.packet_times.p99_s <= both.packet_times.worst_s);
    PW_EXPECT(both.links[0].packet_utilization > 0.5 && both.links[0].packet_utilization <= 1);
    desc.mode = PW_QUESTION_FLOW;
    pw_question_result flow = ask(&cluster, &desc);
    PW_EXPECT(!flow.has_packet);
    PW_EXPECT(flow.flow.hash == both.flow.hash);
    desc.mode = PW_QUESTION_PACKET;
    pw_question_result packet = ask(&cluster, &desc);
    PW_EXPECT(!packet.has_flow);
    PW_EXPECT(packet.packet.hash == both.packet.hash);
}

PW_TEST(a_collective_between_gpus_goes_through_nodes_and_network) {
    pw_cluster_desc cluster = cluster_of(2);
    pw_question_desc desc = asking(PW_TRAFFIC_PERMUTATION, 64e6);
    desc.between = PW_QUESTION_GPUS;
    desc.collective = "all_reduce";
    pw_question_result result = ask(&cluster, &desc);
    PW_EXPECT_NEAR(result.traffic.bytes, 2 * 15 * 64e6, 1e-9); /* a ring sends 2 (n - 1) S in all */
    PW_EXPECT_NEAR(result.packet_times.last_s, result.flow_times.last_s, 0.10);
    desc.collective = "all_reduec";
    pw_question_result none;
    pw_error error = {0};
    PW_EXPECT_INT(pw_question_run(NULL, catalogue, &cluster, &desc, 1, NULL, "here.lua", 3, arena, &none, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "no kind is called 'all_reduec'");
    PW_EXPECT_INT(error.line, 3);
}

PW_TEST(figures_left_out_come_from_the_tables_and_the_round_trip) {
    pw_cluster_desc cluster = cluster_of(16);
    pw_question_desc desc = asking(PW_TRAFFIC_INCAST, 1e6);
    desc.pattern.ends = 32;
    pw_question_result credit = ask(&cluster, &desc);
    PW_EXPECT_NEAR(credit.packet_desc.window_bytes, fmax(1.5 * credit.round_trip_bytes, 8 * 4096), 1e-12);
    PW_EXPECT_NEAR(credit.packet_desc.pace, 0.99, 0);
    PW_EXPECT(!credit.packet_desc.pfc);
    desc.transport = PW_TRANSPORT_DCQCN;
    pw_question_result rated = ask(&cluster, &desc);
    PW_EXPECT(rated.packet_desc.pfc && rated.packet.marks > 0);
    /* 40 Gb/s in the table */
    PW_EXPECT_NEAR(rated.packet_desc.mark_to, 200e3 * rated.packet_desc.mark_from / 5e3, 1e-12);
    PW_EXPECT(rated.packet_desc.mark_from > 5e3);
    desc.mark_from = 1e5;
    PW_EXPECT_NEAR(ask(&cluster, &desc).packet_desc.mark_from, 1e5, 0);
}

int main(int argc, char **argv) {
    pw_error error = {0};
    arena = pw_arena_create(NULL);
    if (pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error) != PW_OK) {
        printf("not ok - %s\n", error.what);
        return 1;
    }
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return failed;
}
