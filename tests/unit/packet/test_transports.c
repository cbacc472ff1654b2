#include "tests/harness/packet_net.h"

/* htsim's EQDS runs (three-tier fat-tree of 128 hosts, 100 Gb/s, 1 us a link, packets of 4150 bytes with a header of 64, queues of 35
 * packets, windows of 64): shared/knowledge figures. Its permutations come from its own generator; ours are other draws. */
static pw_packet_desc eqds(int64_t paths) {
    pw_packet_desc desc = pw_packet_defaults();
    desc.transport = PW_TRANSPORT_CREDIT;
    desc.packet_bytes = 4150;
    desc.header_bytes = 64;
    desc.paths = paths;
    desc.queue_bytes = 35 * 4150;
    desc.window_bytes = 64 * 4150;
    desc.pace = 0.99;
    return desc;
}

PW_TEST(eqds_figures) {
    pw_test_net net = pw_test_network("fat_tree", 128, 8, 1, 12.5e9, 1e-6);
    for (int paths = 1; paths <= 128; paths += 127)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            pw_packet_desc desc = eqds(paths);
            pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_PERMUTATION, 2e6, seed);
            pw_packet_result result = pw_test_packets(&net, &desc, &traffic, seed), fluid = pw_test_fluid(&net, &desc, &traffic, seed);
            printf("# paths %d seed %d: %.1f / %.1f / %.1f us; fluid mean %.1f last %.1f; trims %llu packets %llu hops %llu events %llu\n", paths, (int)seed,
                   pw_test_first_s(&result, 128) * 1e6, pw_test_mean_s(&result, 128) * 1e6, result.end_s * 1e6, pw_test_mean_s(&fluid, 128) * 1e6, fluid.end_s * 1e6,
                   (unsigned long long)result.trims, (unsigned long long)result.packets, (unsigned long long)result.packet_hops, (unsigned long long)result.events);
        }
    pw_packet_desc desc = eqds(128);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 2e6, 1);
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
    printf("# incast %.1f / %.1f / %.1f us trims %llu\n", pw_test_first_s(&result, 127) * 1e6, pw_test_mean_s(&result, 127) * 1e6, result.end_s * 1e6, (unsigned long long)result.trims);
    pw_test_net_close(&net);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
