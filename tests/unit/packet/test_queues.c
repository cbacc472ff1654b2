#include "sim/random.h"
#include "tests/harness/packet_net.h"

/* 12.5e9 bytes/s: 80 ticks of 1 ps a byte, so that every time below is exact. */
static const double RATE = 12.5e9, ALPHA_S = 1e-6;

static double one_flow(uint32_t hops, double bytes, const pw_packet_desc *desc) {
    pw_test_net net = pw_test_chain(hops, RATE, ALPHA_S);
    pw_flow flow = {0, 1, bytes, 3e-6};
    pw_packet_result result = pw_test_packets(&net, desc, &(pw_traffic){.flows = &flow, .count = 1}, 1);
    PW_EXPECT_NEAR(result.start_s[0], 3e-6, 0);
    double took_s = result.finish_s[0] - result.start_s[0];
    for (uint32_t h = 0; h < hops; h++) PW_EXPECT_NEAR(result.links[2 * h].bytes, bytes, 0);
    pw_test_net_close(&net);
    return took_s;
}

PW_TEST(k_packets_over_h_store_and_forward_hops_take_h_latencies_and_h_plus_k_minus_1_packet_times) {
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    for (uint32_t h = 1; h <= 7; h++)
        for (uint32_t k = 1; k <= 200; k = 3 * k + 1)
            PW_EXPECT_NEAR(one_flow(h, 4000.0 * k, &desc), h * ALPHA_S + (h + k - 1) * 4000 / RATE, 1e-12);
    /* a short last packet catches up with nobody: it is last by its own time behind the one before */
    PW_EXPECT_NEAR(one_flow(3, 4000 + 1000, &desc), 3 * ALPHA_S + (3 + 1 - 1) * 4000 / RATE + 1000 / RATE, 1e-12);
}

PW_TEST(cut_through_pays_the_packet_once_and_a_header_for_every_further_hop) {
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    desc.cut_through = true;
    for (uint32_t h = 1; h <= 7; h++)
        for (uint32_t k = 1; k <= 200; k = 3 * k + 1) {
            desc.header_bytes = 0;
            PW_EXPECT_NEAR(one_flow(h, 4000.0 * k, &desc), h * ALPHA_S + k * 4000 / RATE, 1e-12);
        }
    pw_test_net net = pw_test_chain(4, RATE, ALPHA_S);
    pw_flow flow = {0, 1, 3936, 0};
    desc.header_bytes = 64;
    pw_packet_result result = pw_test_packets(&net, &desc, &(pw_traffic){.flows = &flow, .count = 1}, 1);
    PW_EXPECT_NEAR(result.end_s, 4 * ALPHA_S + (4000 + 3 * 64) / RATE, 1e-12);
    pw_test_net_close(&net);
}

PW_TEST(a_faster_link_behind_a_slow_one_never_runs_dry_in_cut_through) {
    pw_test_net net = pw_test_star(2, RATE, 2 * RATE, ALPHA_S);
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    desc.cut_through = true;
    pw_flow flow = {1, 0, 8000, 0};
    pw_packet_result result = pw_test_packets(&net, &desc, &(pw_traffic){.flows = &flow, .count = 1}, 1);
    PW_EXPECT_NEAR(result.end_s, 2 * ALPHA_S + 8000 / RATE, 1e-12); /* the slow link sets the pace */
    pw_test_net_close(&net);
}

PW_TEST(an_incast_ends_with_the_bytes_of_all_senders_over_the_last_link) {
    for (uint32_t senders = 1; senders <= 15; senders += 7) {
        pw_test_net net = pw_test_star(senders + 1, RATE, RATE, ALPHA_S);
        pw_packet_desc desc = pw_packet_defaults();
        desc.packet_bytes = 4000;
        pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 40000, 1);
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
        PW_EXPECT_NEAR(result.end_s, 2 * ALPHA_S + 4000 / RATE + senders * 40000 / RATE, 1e-12);
        /* all but what the last link took meanwhile piles up before it: (N - 1) C while they send */
        PW_EXPECT_NEAR(result.links[net.down[0]].peak_bytes, senders * 40000 - 40000 + (senders > 1 ? 0 : -0.0), senders > 1 ? 0.11 : 0);
        PW_EXPECT_INT(senders == 1 ? PW_NONE : net.down[0], result.fullest);
        /* served in turn: the flows end within one round of packets */
        PW_EXPECT(result.end_s - pw_test_first_s(&result, traffic.count) <= senders * 4000 / RATE + 1e-12);
        pw_test_net_close(&net);
    }
}

PW_TEST(flows_of_one_host_take_turns) {
    pw_test_net net = pw_test_star(3, RATE, RATE, ALPHA_S);
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    pw_flow flows[] = {{0, 1, 400000, 0}, {0, 2, 40000, 0}};
    pw_packet_result result = pw_test_packets(&net, &desc, &(pw_traffic){.flows = flows, .count = 2}, 1);
    PW_EXPECT_NEAR(result.finish_s[1], 2 * ALPHA_S + 4000 / RATE + 80000 / RATE, 1e-12);
    PW_EXPECT_NEAR(result.finish_s[0], 2 * ALPHA_S + 4000 / RATE + 440000 / RATE, 1e-12);
    pw_test_net_close(&net);
}

PW_TEST(a_flow_that_waits_starts_when_the_last_of_the_others_has_arrived) {
    pw_test_net net = pw_test_chain(2, RATE, ALPHA_S);
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    pw_flow flows[] = {{0, 1, 4000, 0}, {1, 0, 8000, 0}, {0, 1, 4000, 0}, {0, 1, 4000, 1e-3}};
    uint32_t before[] = {0, 0, 0, 2, 3}, list[] = {0, 1, 2};
    pw_traffic traffic = {.flows = flows, .count = 4, .before = before, .before_list = list};
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1), fluid = pw_test_fluid(&net, &desc, &traffic, 1);
    PW_EXPECT_NEAR(result.start_s[2], result.finish_s[1], 0);
    PW_EXPECT_NEAR(result.start_s[3], 1e-3, 0);
    PW_EXPECT_NEAR(fluid.start_s[2], 2 * ALPHA_S + 8000 / RATE, 1e-9);
    PW_EXPECT_NEAR(fluid.finish_s[2], 4 * ALPHA_S + 12000 / RATE, 1e-9);
    pw_test_net_close(&net);
}

/* --- One queue against its formulas ------------------------------------------------------------------------------ */

/* Mean wait in the queue of a link of rate 1e9 bytes/s, fed by packets of mean size 1000 with Poisson arrivals over links that take no
 * time (each packet over one of its own, so that no packet waits before the queue). */
static double mean_wait_s(double load, bool exponential, uint32_t packets, uint64_t seed) {
    enum { HOSTS = 65 };
    static const double BYTES = 1000, SLOW = 1e9;
    pw_test_net net = pw_test_star(HOSTS, 1e15, SLOW, 0);
    pw_random random = pw_random_stream(seed, "arrivals", 0);
    pw_flow *flows = pw_arena_alloc(net.arena, packets * sizeof *flows);
    double now_s = 0, service_s = 0;
    for (uint32_t i = 0; i < packets; i++) {
        now_s += pw_random_exponential(&random, BYTES / SLOW / load);
        /* sizes are whole bytes: rounded up, which is a mean of half a byte more in a thousand */
        double bytes = exponential ? ceil(pw_random_exponential(&random, BYTES)) : BYTES;
        flows[i] = (pw_flow){1 + i % (HOSTS - 1), 0, bytes > 0 ? bytes : 1, now_s};
        service_s += flows[i].bytes / SLOW;
    }
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 1 << 20;
    pw_packet_result result = pw_test_packets(&net, &desc, &(pw_traffic){.flows = flows, .count = packets}, seed);
    double mean_s = pw_test_mean_s(&result, packets) - service_s / packets;
    pw_test_net_close(&net);
    return mean_s;
}

PW_TEST(packets_of_one_size_wait_as_in_an_M_D_1_queue) {
    static const double loads[] = {0.3, 0.5, 0.7, 0.8};
    for (size_t i = 0; i < 4; i++) { /* W = rho / (2 (1 - rho)) x service */
        double wait_s = mean_wait_s(loads[i], false, 400000, 11), expected_s = loads[i] / (2 * (1 - loads[i])) * 1e-6;
        printf("# M/D/1 load %.1f: wait %.4f us, formula %.4f us (%+.2f %%)\n", loads[i], wait_s * 1e6, expected_s * 1e6, 100 * (wait_s / expected_s - 1));
        PW_EXPECT_NEAR(wait_s, expected_s, 0.05);
    }
}

PW_TEST(packets_of_exponential_size_wait_as_in_an_M_M_1_queue) {
    static const double loads[] = {0.3, 0.5, 0.7, 0.8};
    for (size_t i = 0; i < 4; i++) { /* W = rho / (1 - rho) x service */
        double wait_s = mean_wait_s(loads[i], true, 400000, 11), expected_s = loads[i] / (1 - loads[i]) * 1e-6;
        printf("# M/M/1 load %.1f: wait %.4f us, formula %.4f us (%+.2f %%)\n", loads[i], wait_s * 1e6, expected_s * 1e6, 100 * (wait_s / expected_s - 1));
        PW_EXPECT_NEAR(wait_s, expected_s, 0.05);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
