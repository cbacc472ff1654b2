#include "tests/harness/packet_net.h"

/* --- The receiver-paced transport against htsim's EQDS ----------------------------------------------------------------
 *
 * htsim's runs: three-tier fat-tree of 128 hosts, 100 Gb/s, 1 us a link, flows of 2 MB, packets of 4150 bytes with a header of 64, queues
 * of 35 packets, windows of 64. Flow completion times (at the sender, when all is acknowledged) min / mean / max in us: permutation over
 * 128 paths 170.0 / 195.2 / 209.0, over one path 170.6 / 453.1 / 972.0; incast of 127 flows 20,779 / 20,840 / 20,962. Its
 * permutation comes from its own generator; ours are other draws, so that distributions are compared. */
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

static pw_test_net eqds_net(uint32_t hosts) { return pw_test_network("fat_tree", hosts, 8, 1, 12.5e9, 1e-6); }

typedef struct spread {
    double least_s, mean_s, last_s; /* as the senders see it */
    double fluid_s, fluid_last_s;   /* the same traffic as a fluid, at the receivers */
} spread;

static spread known(const pw_packet_result *result, uint32_t flows) {
    spread s = {.least_s = INFINITY};
    for (uint32_t f = 0; f < flows; f++) {
        s.least_s = fmin(s.least_s, result->known_s[f]);
        s.last_s = fmax(s.last_s, result->known_s[f]);
        s.mean_s += result->known_s[f] / flows;
    }
    return s;
}

static spread permutations(int64_t paths, uint32_t seeds) {
    spread mean = {0};
    pw_test_net net = eqds_net(128);
    pw_packet_desc desc = eqds(paths);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_PERMUTATION, 2e6, seed);
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, seed), fluid = pw_test_fluid(&net, &desc, &traffic, seed);
        spread s = known(&result, 128);
        mean.fluid_s += pw_test_mean_s(&fluid, 128) / seeds;
        mean.fluid_last_s += fluid.end_s / seeds;
        mean.least_s += s.least_s / seeds;
        mean.mean_s += s.mean_s / seeds;
        mean.last_s += s.last_s / seeds;
    }
    pw_test_net_close(&net);
    printf("# permutation, %d paths, mean of %u seeds: %.1f / %.1f / %.1f us; fluid %.1f, last %.1f us\n", (int)paths, seeds, mean.least_s * 1e6,
           mean.mean_s * 1e6, mean.last_s * 1e6, mean.fluid_s * 1e6, mean.fluid_last_s * 1e6);
    return mean;
}

PW_TEST(a_sprayed_permutation_takes_what_htsim_says) {
    spread s = permutations(128, 8);
    PW_EXPECT_NEAR(s.least_s, 170.0e-6, 0.05);
    PW_EXPECT_NEAR(s.mean_s, 195.2e-6, 0.05);
    PW_EXPECT_NEAR(s.last_s, 209.0e-6, 0.05);
}

/* One path per flow: how often paths collide is the luck of the draw, so each is compared with the fluid of its own draw. htsim's
 * permutation has a max-min fluid mean of 420.1 to 437.7 us (five choices of paths, mean 430.0) and a fluid last of 0.80 to 0.96 ms. */
PW_TEST(a_permutation_on_single_paths_is_as_far_from_its_fluid_as_htsims) {
    spread s = permutations(1, 16);
    PW_EXPECT_NEAR(s.least_s, 170.6e-6, 0.05);
    PW_EXPECT_NEAR(s.mean_s / s.fluid_s, 453.1 / 430.0, 0.05);
    PW_EXPECT_NEAR(s.last_s / s.fluid_last_s, 972.0 / 880.0, 0.10);
}

/* 127 flows of 490 packets at 0.99 of the receiver's rate: 20.87 ms, after the first packet is there. */
PW_TEST(an_incast_is_paced_by_its_receiver) {
    pw_test_net net = eqds_net(128);
    pw_packet_desc desc = eqds(128);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 2e6, 1);
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
    spread s = known(&result, 127);
    printf("# incast: %.1f / %.1f / %.1f us, %llu trims\n", s.least_s * 1e6, s.mean_s * 1e6, s.last_s * 1e6, (unsigned long long)result.trims);
    PW_EXPECT_NEAR(s.last_s, 127 * 490 * 4150 * 8 / (100e9 * 0.99), 0.005);
    PW_EXPECT_NEAR(s.last_s, 20962e-6, 0.01);
    PW_EXPECT_NEAR(s.mean_s, 20840e-6, 0.01);
    PW_EXPECT(result.trims > 0);
    PW_EXPECT_INT(result.packets, 127 * 490 + result.trims); /* whatever was trimmed was sent again */
    pw_test_net_close(&net);
}

PW_TEST(all_to_all_fills_the_hosts_links) {
    for (uint32_t hosts = 64; hosts <= 128; hosts *= 2) {
        pw_test_net net = eqds_net(hosts);
        pw_packet_desc desc = eqds(64);
        pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_ALL_TO_ALL, 5 * 4086, 1);
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
        double least_s = (hosts - 1) * 5 * 4150 / 12.5e9;
        printf("# all to all, %u hosts: %.1f us, host links alone %.1f us\n", hosts, result.end_s * 1e6, least_s * 1e6);
        PW_EXPECT(result.end_s > least_s && result.end_s < 1.25 * least_s);
        double bytes = 0;
        for (uint32_t h = 0; h < hosts; h++) {
            pw_path path = {.count = 0};
            PW_EXPECT_INT(pw_test_route(&net, h, (h + 1) % hosts, 0, &path), PW_OK);
            bytes += result.links[path.links[0]].bytes;
        }
        PW_EXPECT_NEAR(bytes, (double)result.packets * 4150, 1e-12); /* every packet left its host once */
        pw_test_net_close(&net);
    }
}

/* Uplinks of 16 cables: a header that waited there for the tail that was cut off would hold up all data behind it. */
PW_TEST(trimmed_headers_do_not_wait_in_cut_through) {
    pw_test_net net = pw_test_network("fat_tree", 128, 64, 1, 50e9, 0.25e-6);
    pw_packet_desc desc = pw_packet_defaults();
    desc.transport = PW_TRANSPORT_CREDIT;
    desc.cut_through = true;
    desc.paths = 32;
    desc.queue_bytes = 90e3;
    desc.window_bytes = 160e3;
    desc.pace = 0.99;
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_PERMUTATION, 2e6, 1);
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1), fluid = pw_test_fluid(&net, &desc, &traffic, 1);
    PW_EXPECT(result.trims > 0);
    PW_EXPECT(result.end_s < 2 * fluid.end_s); /* the queue of one port before 16 is short: what it trims is sent again */
    pw_test_net_close(&net);
}

/* Seven hosts into one link: headers of 64 bytes for packets of 100 would fill it alone. */
PW_TEST(trimmed_headers_do_not_keep_data_waiting_for_ever) {
    pw_test_net net = pw_test_dumbbell(8, 8, 12.5e9, 1e-6);
    pw_packet_desc desc = eqds(1);
    desc.packet_bytes = 100;
    desc.queue_bytes = 2000;
    desc.window_bytes = 20000;
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_ALL_TO_ALL, 2e4, 1);
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1), fluid = pw_test_fluid(&net, &desc, &traffic, 1);
    PW_EXPECT(result.trims > result.packets / 2);
    PW_EXPECT(result.end_s < 20 * fluid.end_s);
    pw_test_net_close(&net);
}

PW_TEST(a_run_out_of_memory_says_so_and_leaks_nothing) {
    pw_test_net net = pw_test_dumbbell(3, 3, 12.5e9, 1e-6);
    pw_packet_desc desc = eqds(4);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_ALL_TO_ALL, 1e5, 1);
    pw_status status = PW_NO_MEMORY;
    uint32_t failures = 0;
    for (unsigned long long n = 1; status == PW_NO_MEMORY && n < 10000; n++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = n;
        const pw_packet_config config = {.allocator = &counting.allocator, .fabric = net.fabric, .route = pw_test_route, .route_object = &net,
                                         .ends = net.ends, .seed = 1};
        pw_packet_result result;
        status = pw_packet_run(&config, &desc, &traffic, net.arena, &result, NULL);
        failures += status == PW_NO_MEMORY;
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT_INT(status, PW_OK);
    PW_EXPECT(failures > 20);
    pw_test_net_close(&net);
}

PW_TEST(the_same_seed_gives_the_same_run) {
    pw_test_net net = eqds_net(128);
    pw_packet_desc desc = eqds(16);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_PERMUTATION, 2e5, 1);
    uint64_t hash = pw_test_packets(&net, &desc, &traffic, 1).hash;
    PW_EXPECT(hash == pw_test_packets(&net, &desc, &traffic, 1).hash);
    PW_EXPECT(hash != pw_test_packets(&net, &desc, &traffic, 2).hash);
    pw_test_net_close(&net);
}

PW_TEST(what_loses_packets_without_a_way_to_send_them_again_is_refused) {
    pw_test_net net = pw_test_star(3, 12.5e9, 12.5e9, 1e-6);
    pw_packet_desc desc = pw_packet_defaults();
    desc.queue_bytes = 1e5;
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 1e6, 1);
    pw_packet_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_test_packets_or(&net, &desc, &traffic, 1, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "sends no packet again");
    pw_test_net_close(&net);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
