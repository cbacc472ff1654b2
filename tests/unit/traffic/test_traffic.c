#include "models/traffic/traffic.h"
#include "tests/harness/check.h"

static pw_traffic made;
static pw_arena *arena;

static pw_pattern_desc pattern(pw_traffic_pattern kind, double bytes) {
    return (pw_pattern_desc){.pattern = (int)kind, .bytes = bytes, .repeats = 1};
}

static pw_status make(const pw_pattern_desc *desc, uint32_t ends, uint64_t seed, pw_error *error) {
    if (!arena) arena = pw_arena_create(NULL);
    return pw_traffic_make(desc, "traffic", ends, seed, arena, &made, error);
}

PW_TEST(a_permutation_sends_and_receives_once_each_and_never_to_itself) {
    pw_pattern_desc desc = pattern(PW_TRAFFIC_PERMUTATION, 1e6);
    desc.repeats = 3;
    desc.interval_s = 1e-3;
    PW_EXPECT_INT(make(&desc, 16, 7, NULL), PW_OK);
    PW_EXPECT_INT(made.count, 48);
    PW_EXPECT_NEAR(made.bytes, 48e6, 0);
    bool differs = false;
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t sent = 0, received = 0;
        for (uint32_t i = 0; i < 16; i++) {
            const pw_flow *flow = &made.flows[16 * r + i];
            PW_EXPECT(flow->from != flow->to);
            PW_EXPECT_NEAR(flow->start_s, r * 1e-3, 1e-15);
            sent |= 1u << flow->from;
            received |= 1u << flow->to;
            differs |= flow->to != made.flows[i].to;
        }
        PW_EXPECT_INT(sent, 0xffff);
        PW_EXPECT_INT(received, 0xffff);
    }
    PW_EXPECT(differs);
}

PW_TEST(the_same_seed_draws_the_same_flows_and_another_one_others) {
    pw_pattern_desc desc = pattern(PW_TRAFFIC_RANDOM, 1e3);
    desc.count = 1000;
    desc.interval_s = 1e-6;
    PW_EXPECT_INT(make(&desc, 10, 1, NULL), PW_OK);
    pw_traffic first = made;
    PW_EXPECT_INT(make(&desc, 10, 1, NULL), PW_OK);
    PW_EXPECT(memcmp(first.flows, made.flows, 1000 * sizeof *made.flows) == 0);
    PW_EXPECT_INT(make(&desc, 10, 2, NULL), PW_OK);
    PW_EXPECT(memcmp(first.flows, made.flows, 1000 * sizeof *made.flows) != 0);
    PW_EXPECT_NEAR(made.flows[999].start_s, 1e-3, 0.1); /* 1000 gaps of 1 us, sd 3 % */
    for (uint32_t i = 0; i < 1000; i++) PW_EXPECT(made.flows[i].from != made.flows[i].to && made.flows[i].to < 10);
}

PW_TEST(incast_all_to_all_and_ring_have_their_flows) {
    pw_pattern_desc desc = pattern(PW_TRAFFIC_INCAST, 5);
    desc.target = 2;
    PW_EXPECT_INT(make(&desc, 4, 0, NULL), PW_OK);
    PW_EXPECT_INT(made.count, 3);
    for (uint32_t i = 0; i < 3; i++) PW_EXPECT(made.flows[i].to == 2 && made.flows[i].from != 2);
    desc = pattern(PW_TRAFFIC_ALL_TO_ALL, 5);
    desc.ends = 3;
    PW_EXPECT_INT(make(&desc, 4, 0, NULL), PW_OK);
    PW_EXPECT_INT(made.count, 6);
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < 6; i++) pairs |= 1u << (3 * made.flows[i].from + made.flows[i].to);
    PW_EXPECT_INT(pairs, 0x1ff & ~(1u | 1u << 4 | 1u << 8));
    desc = pattern(PW_TRAFFIC_RING, 5);
    PW_EXPECT_INT(make(&desc, 4, 0, NULL), PW_OK);
    PW_EXPECT_INT(made.count, 4);
    PW_EXPECT_INT(made.flows[3].to, 0);
}

PW_TEST(what_a_pattern_does_not_read_is_refused) {
    pw_error error;
    pw_pattern_desc desc = pattern(PW_TRAFFIC_RING, 5);
    desc.target = 1;
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "traffic.target has no meaning with pattern ring");
    desc = pattern(PW_TRAFFIC_INCAST, 5);
    desc.target = 4;
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_BAD_INPUT);
    desc = pattern(PW_TRAFFIC_PERMUTATION, NAN);
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "bytes is missing");
    desc = pattern(PW_TRAFFIC_PERMUTATION, 5);
    desc.ends = 5;
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_BAD_INPUT);
    desc = pattern(PW_TRAFFIC_LIST, NAN);
    pw_flow_desc flow = {0, 9, 1, 0};
    desc.flows = (pw_list){&(pw_one_of){&pw_flow_kind, &flow}, 1};
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "traffic.flows[1].to is 9");
    flow.to = 3;
    PW_EXPECT_INT(make(&desc, 4, 0, &error), PW_OK);
    PW_EXPECT_INT(made.flows[0].to, 3);
}

/* In a ring all-reduce of n members each of 2(n - 1) rounds waits for the round before at both ends. */
PW_TEST(messages_of_a_ring_wait_for_the_round_before) {
    if (!arena) arena = pw_arena_create(NULL);
    const pw_algorithm *ring = pw_algorithm_table;
    PW_EXPECT_TEXT(ring->name, "ring");
    pw_group_shape shape = {.members = 5, .domains = 1, .per_domain = 5, .even = true, .scaleup_Bps = 1e11, .latency_s = 1e-6};
    PW_EXPECT_INT(pw_traffic_of_collective(ring, PW_COLLECTIVE_ALL_REDUCE, &shape, 100, arena, &made, NULL), PW_OK);
    PW_EXPECT_INT(made.count, 40);
    PW_EXPECT_NEAR(made.bytes, 800, 1e-12); /* 2 (n - 1) S over all members */
    for (uint32_t f = 0; f < made.count; f++) {
        uint32_t waits = made.before[f + 1] - made.before[f];
        PW_EXPECT_INT(waits, f < 5 ? 0 : 3); /* what both sent and received: three messages */
        for (uint32_t w = made.before[f]; w < made.before[f + 1]; w++) PW_EXPECT_INT(made.before_list[w] / 5, f / 5 - 1);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
