#include "tests/harness/packet_net.h"

/* --- PFC ---------------------------------------------------------------------------------------------------------- */

static pw_packet_desc pfc(void) {
    pw_packet_desc desc = pw_packet_defaults();
    desc.packet_bytes = 4000;
    desc.pfc = true;
    desc.pause_bytes = 100e3;
    desc.resume_bytes = 80e3;
    return desc;
}

PW_TEST(pfc_loses_nothing_in_an_incast_and_keeps_the_link_full) {
    for (uint32_t senders = 2; senders <= 32; senders *= 4) {
        pw_test_net net = pw_test_star(senders + 1, 12.5e9, 12.5e9, 1e-6);
        pw_packet_desc desc = pfc();
        pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 4e6, 1);
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
        PW_EXPECT(result.pauses > 0);
        PW_EXPECT_INT(result.packets, senders * 1000); /* nothing was sent twice */
        PW_EXPECT_NEAR(result.end_s, 2e-6 + (4000 + senders * 4e6) / 12.5e9, 1e-9);
        /* no more waits than every sender's threshold and headroom */
        double bound = senders * (desc.pause_bytes + pw_packet_headroom(12.5e9, 1e-6, 4000));
        PW_EXPECT(result.links[net.down[0]].peak_bytes <= bound && result.links[net.down[0]].peak_bytes > 0.9 * senders * desc.pause_bytes);
        pw_test_net_close(&net);
    }
}

PW_TEST(headroom_that_is_too_small_loses_packets_and_says_so) {
    pw_test_net net = pw_test_star(9, 12.5e9, 12.5e9, 1e-6);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 4e6, 1);
    pw_packet_desc desc = pfc();
    pw_packet_result result;
    pw_error error = {0};
    desc.headroom_bytes = 0;
    PW_EXPECT_INT(pw_test_packets_or(&net, &desc, &traffic, 1, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "for want of headroom");
    /* two ways of the wire at line rate are the bulk of it: half of that is not enough */
    desc.headroom_bytes = 12.5e9 * 1e-6;
    PW_EXPECT_INT(pw_test_packets_or(&net, &desc, &traffic, 1, &result, &error), PW_BAD_INPUT);
    desc.headroom_bytes = 2 * 12.5e9 * 1e-6 + 3 * 4000 + 64;
    PW_EXPECT_NEAR(desc.headroom_bytes, pw_packet_headroom(12.5e9, 1e-6, 4000), 0);
    PW_EXPECT_INT(pw_test_packets_or(&net, &desc, &traffic, 1, &result, &error), PW_OK);
    pw_test_net_close(&net);
}

/* Host 0 (left) and n - 1 hosts on the right send to host H on the right; host 1 (left) sends to U on the right, whose link is idle.
 * Pauses of the trunk hold up host 1 too: it gets the hot spot's share C / n, not the half of the trunk that it gets without
 * PFC. */
PW_TEST(a_victim_of_pauses_gets_the_share_of_the_hot_spot) {
    for (uint32_t n = 4; n <= 8; n *= 2) {
        pw_test_net net = pw_test_dumbbell(2, n + 1, 12.5e9, 0.5e-6);
        enum { HOT = 2, IDLE = 3 };
        pw_flow flows[16];
        uint32_t count = 0;
        flows[count++] = (pw_flow){1, IDLE, 20e6, 0};
        flows[count++] = (pw_flow){0, HOT, 40e6, 0};
        for (uint32_t i = 1; i < n; i++) flows[count++] = (pw_flow){IDLE + i, HOT, 40e6, 0};
        pw_traffic traffic = {.flows = flows, .count = count};
        pw_packet_desc desc = pfc(), plain = pw_packet_defaults();
        plain.packet_bytes = 4000;
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1), without = pw_test_packets(&net, &plain, &traffic, 1);
        printf("# victim beside %u flows into one host: %.3f of the link, without PFC %.3f\n", n, 20e6 / result.finish_s[0] / 12.5e9,
               20e6 / without.finish_s[0] / 12.5e9);
        PW_EXPECT_NEAR(20e6 / result.finish_s[0], 12.5e9 / n, 0.10); /* a little less: its packets slow the refill of what the trunk may have waiting */
        PW_EXPECT_NEAR(20e6 / without.finish_s[0], 12.5e9 / 2, 0.05);
        PW_EXPECT(result.links[net.trunk[0]].paused_s > 0);
        pw_test_net_close(&net);
    }
}

/* --- DCQCN --------------------------------------------------------------------------------------------------------- */

static pw_catalogue *catalogue;

static pw_packet_desc dcqcn(const char *row, double link_Bps) {
    pw_packet_desc desc = pw_packet_defaults();
    pw_error error = {0};
    if (!catalogue && pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error) != PW_OK) {
        PW_FAILED("%s", error.what);
        return desc;
    }
    desc.transport = PW_TRANSPORT_DCQCN;
    desc.pfc = true;
    desc.packet_bytes = 1000;
    PW_EXPECT_INT(pw_packet_read_dcqcn(catalogue, row, link_Bps, &desc, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return desc;
}

/* N long flows into one host over 40 Gb/s. All carry the same bytes, so they end together when their shares are equal. The queue settles
 * where marking gives the p of the fluid model's fixed point (Zhu et al. 2016, ECN or Delay, in packets):
 * p^3 = R_AI N^2 / (tau C^2) x (1 / B + N / (T C))^2, and q = Kmin + p (Kmax - Kmin) / Pmax. */
PW_TEST(n_flows_of_dcqcn_share_a_link_in_n_parts_over_the_queue_of_the_fixed_point) {
    static const double C = 5e9, BYTES = 500e6;
    for (uint32_t n = 2; n <= 8; n *= 2) {
        pw_test_net net = pw_test_star(n + 1, C, C, 1e-6);
        pw_packet_desc desc = dcqcn("dcqcn-2015", C);
        pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, BYTES, 1);
        for (uint32_t f = 0; f < n; f++) traffic.flows[f].start_s = f * 1e-3 / n; /* not in step */
        pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
        const pw_packet_link *hot = &result.links[net.down[0]];
        double c = C / 1000, s = 1000 / desc.dcqcn.byte_counter + n / (desc.dcqcn.timer_s * c);
        double p = cbrt(desc.dcqcn.additive_Bps / 1000 * n * n / (desc.dcqcn.notice_interval_s * c * c) * s * s);
        double queue = desc.mark_from + p / desc.mark_probability * (desc.mark_to - desc.mark_from);
        printf("# dcqcn, %u flows: first %.1f ms, last %.1f ms, C / N %.1f ms; mean queue %.1f kB, fixed point %.1f kB, peak %.0f kB\n", n,
               pw_test_first_s(&result, n) * 1e3, result.end_s * 1e3, n * BYTES / C * 1e3, hot->mean_bytes / 1e3, queue / 1e3, hot->peak_bytes / 1e3);
        for (uint32_t f = 0; f < n; f++) PW_EXPECT_NEAR(BYTES / (result.finish_s[f] - result.start_s[f]), C / n, 0.05);
        PW_EXPECT_NEAR(hot->mean_bytes, queue, 0.10);
        PW_EXPECT(hot->peak_bytes < 350e3); /* of the start, when all are at line rate; then the queue is stable */
        PW_EXPECT_INT(result.pauses, 0);    /* the marks come first */
        pw_test_net_close(&net);
    }
}

PW_TEST(dcqcn_over_pfc_loses_nothing_where_many_start_at_once) {
    pw_test_net net = pw_test_star(33, 5e9, 5e9, 1e-6);
    pw_packet_desc desc = dcqcn("dcqcn-2015", 5e9);
    pw_traffic traffic = pw_test_pattern(&net, PW_TRAFFIC_INCAST, 2e6, 1);
    pw_packet_result result = pw_test_packets(&net, &desc, &traffic, 1);
    PW_EXPECT(result.pauses > 0 && result.marks > 0);
    PW_EXPECT_INT(result.packets, 32 * 2000);
    pw_test_net_close(&net);
}

PW_TEST(marking_and_rates_of_increase_grow_with_the_link_rate) {
    pw_packet_desc one = dcqcn("dcqcn-hpcc", 25e9 / 8), four = dcqcn("dcqcn-hpcc", 100e9 / 8);
    PW_EXPECT_NEAR(one.mark_from, 100e3, 1e-12);
    PW_EXPECT_NEAR(four.mark_to, 1600e3, 1e-12);
    PW_EXPECT_NEAR(four.dcqcn.additive_Bps, 20e6 / 8, 1e-12);
    PW_EXPECT_NEAR(four.dcqcn.timer_s, 55e-6, 1e-12);
    pw_packet_desc none;
    pw_error error = {0};
    PW_EXPECT_INT(pw_packet_read_dcqcn(catalogue, "dctcp", 1e9, &none, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "dcqcn-2015");
}

int main(int argc, char **argv) {
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return failed;
}
