#include "tests/harness/packet_net.h"

/* Flow model against packets on a three-tier fat-tree of 100 Gb/s, 1 us a link, where nothing is trimmed or marked. Their mean completion
 * time and their last one are within 10 %. */

enum { HOSTS = 128 };

static pw_packet_desc plain(pw_transport transport, int64_t paths) {
    pw_packet_desc desc = pw_packet_defaults();
    desc.transport = (int)transport;
    desc.paths = paths;
    desc.window_bytes = 64 * 4096;
    return desc;
}

typedef struct gaps {
    double mean, last;
} gaps;

static gaps compare(const char *name, const pw_test_net *net, const pw_packet_desc *desc, const pw_traffic *traffic, uint64_t seed) {
    pw_packet_result packets = pw_test_packets(net, desc, traffic, seed), flows = pw_test_fluid(net, desc, traffic, seed);
    gaps g = {pw_test_mean_s(&packets, traffic->count) / pw_test_mean_s(&flows, traffic->count) - 1, packets.end_s / flows.end_s - 1};
    printf("# | %s | %s | %d | %.1f | %.1f | %+.1f %% | %.1f | %.1f | %+.1f %% |\n", name, pw_transport_names[desc->transport], (int)desc->paths,
           pw_test_mean_s(&flows, traffic->count) * 1e6, pw_test_mean_s(&packets, traffic->count) * 1e6, 100 * g.mean, flows.end_s * 1e6, packets.end_s * 1e6,
           100 * g.last);
    PW_EXPECT_INT(packets.trims + packets.marks + packets.pauses, 0);
    /* both carry the same bytes over the same links */
    for (uint32_t l = 0; l < pw_fabric_links(net->fabric) && desc->paths == 1; l++) PW_EXPECT_NEAR(packets.links[l].bytes, flows.links[l].bytes, 1e-6);
    return g;
}

static void agree(const char *name, const pw_packet_desc *desc, const pw_traffic *traffic) {
    pw_test_net net = pw_test_network("fat_tree", HOSTS, 8, 1, 12.5e9, 1e-6);
    gaps g = compare(name, &net, desc, traffic, 1);
    PW_EXPECT(fabs(g.mean) <= 0.10);
    PW_EXPECT(fabs(g.last) <= 0.10);
    pw_test_net_close(&net);
}

PW_TEST(flows_and_packets_agree_on_patterns) {
    pw_test_net net = pw_test_network("fat_tree", HOSTS, 8, 1, 12.5e9, 1e-6);
    pw_traffic one = pw_test_pattern(&net, PW_TRAFFIC_PERMUTATION, 2e6, 1), ring = pw_test_pattern(&net, PW_TRAFFIC_RING, 2e6, 1);
    pw_traffic incast = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 2e5, 1), all = pw_test_pattern(&net, PW_TRAFFIC_ALL_TO_ALL, 20480, 1);
    pw_packet_desc credit = plain(PW_TRANSPORT_CREDIT, 128), line = plain(PW_TRANSPORT_LINE, 128), credit1 = plain(PW_TRANSPORT_CREDIT, 1),
                   line1 = plain(PW_TRANSPORT_LINE, 1);
    agree("permutation", &credit, &one);
    agree("permutation", &credit1, &one);
    agree("permutation", &line1, &one);
    agree("ring", &credit, &ring);
    agree("ring", &line1, &ring);
    gaps g = compare("incast", &net, &line, &incast, 1);
    PW_EXPECT(fabs(g.last) <= 0.001); /* the end is the receiver's link; one queue serves in order of arrival, so near hosts end earlier */
    PW_EXPECT(g.mean > -0.15 && g.mean < 0);
    credit.paths = 16;
    agree("all to all", &credit, &all);
    pw_test_net_close(&net);
}

PW_TEST(flows_and_packets_agree_on_the_messages_of_collectives) {
    pw_test_net net = pw_test_network("fat_tree", HOSTS, 8, 1, 12.5e9, 1e-6);
    const pw_group_shape shape = {.members = 32, .domains = 32, .per_domain = 1, .even = true, .network_Bps = 12.5e9, .latency_s = 6e-6};
    for (const pw_algorithm *a = pw_algorithm_table; a->name; a++) {
        pw_traffic traffic;
        pw_error error = {0};
        if (!a->applies(PW_COLLECTIVE_ALL_REDUCE, &shape, false) && !a->applies(PW_COLLECTIVE_ALL_TO_ALL, &shape, false)) continue;
        pw_collective_kind kind = a->applies(PW_COLLECTIVE_ALL_REDUCE, &shape, false) ? PW_COLLECTIVE_ALL_REDUCE : PW_COLLECTIVE_ALL_TO_ALL;
        if (!strcmp(a->name, "sharp") || !strcmp(a->name, "nvls")) continue;
        PW_EXPECT_INT(pw_traffic_of_collective(a, kind, &shape, 8e6, net.arena, &traffic, &error), PW_OK);
        char name[100];
        snprintf(name, sizeof name, "%s %s of 8 MB", a->name, pw_collective_names[kind]);
        pw_packet_desc desc = plain(PW_TRANSPORT_CREDIT, 16);
        agree(name, &desc, &traffic);
    }
    pw_test_net_close(&net);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
