/* Collectives, messages and copies inside a program: times, overlap, bytes, errors. */
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }
static uint32_t size_of_node; /* for groups across nodes */
static uint32_t same_place(uint32_t group, uint32_t member) { return member * size_of_node + group; }

static pw_collective_cost cost_of(world *w, pw_collective_kind kind, int algorithm, uint16_t role, double bytes,
                                  pw_group_shape *shape) {
    uint32_t gpus[64], count = w->group_roles[role].first[1];
    for (uint32_t m = 0; m < count; m++) gpus[m] = w->gpu_of_rank[w->group_roles[role].members[m]];
    pw_collective_cost cost;
    PW_CHECK(pw_collective_shape(w->collectives, gpus, count, shape, NULL) == PW_OK);
    PW_CHECK(pw_collective_cost_of(w->collectives, kind, algorithm, shape, bytes, &cost, NULL) == PW_OK);
    return cost;
}

PW_TEST(ring_all_reduce_in_messages_takes_2_n_minus_1_rounds) {
    for (uint32_t n = 2; n <= 8; n++) {
        world *w = world_of(1, n);
        uint16_t all = groups_of(w, "dp", 1, n, across);
        uint32_t t = template_of(w, "all_reduce");
        double bytes = 1 << 20;
        op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, all, bytes));
        program_of(w, "all_reduce", t);
        pw_group_shape shape;
        pw_collective_cost cost = cost_of(w, PW_COLLECTIVE_ALL_REDUCE, 0, all, bytes, &shape);
        double latency = cost.alpha_s / (2 * (n - 1)), rate = shape.scaleup_Bps;
        outcome o = run(w, &(options){.messages = true});
        EXPECT_RAN(o);
        /* each round's latency and transfer are rounded up to a tick */
        pw_time expected = 2 * (n - 1) * (ticks(latency) + ticks(bytes / (n * rate)));
        PW_EXPECT(llabs((long long)(o.end - expected)) <= 2 * (n - 1));
        outcome fluid = run(w, &(options){0});
        EXPECT_RAN(fluid);
        PW_EXPECT(llabs((long long)(fluid.end - ticks(cost.total_s))) <= 2);
        PW_EXPECT(llabs((long long)(o.end - fluid.end)) <= 4 * n);
        world_free(w);
    }
}

PW_TEST(message_mode_never_beats_the_cut_and_moves_the_same_bytes) {
    pw_cluster_desc desc = world_desc(4, 2);
    world *w = world_on(&desc, 8);
    uint16_t all = groups_of(w, "dp", 1, 8, across);
    uint32_t t = template_of(w, "all_reduce");
    op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, all, 64e6));
    program_of(w, "all_reduce", t);
    for (int algorithm = 0; algorithm < 2; algorithm++) {
        ((pw_op *)w->templates[t].ops)[0].collective.algorithm = algorithm;
        pw_group_shape shape;
        pw_collective_cost cost = cost_of(w, PW_COLLECTIVE_ALL_REDUCE, algorithm, all, 64e6, &shape);
        outcome fluid = run(w, &(options){0}), messages = run(w, &(options){.messages = true});
        EXPECT_RAN(fluid);
        EXPECT_RAN(messages);
        PW_EXPECT((double)messages.end / 1e12 >= cost.floor_s);
        PW_EXPECT((double)fluid.end / 1e12 >= cost.floor_s);
        for (int kind = 0; kind < PW_LINK_KIND_COUNT; kind++)
            PW_EXPECT_NEAR(messages.totals.link_bytes[kind], fluid.totals.link_bytes[kind], 1e-9);
    }
    world_free(w);
}

PW_TEST(buckets_hide_behind_compute_but_the_last_one) {
    enum { BUCKETS = 6 };
    for (int slow = 0; slow < 2; slow++) {
        world *w = world_of(1, 4);
        uint16_t all = groups_of(w, "dp", 1, 4, across);
        double bytes = 100e6;
        uint32_t t = template_of(w, "backward");
        pw_group_shape shape;
        pw_time bucket = ticks(cost_of(w, PW_COLLECTIVE_ALL_REDUCE, 0, all, bytes, &shape).total_s);
        double b = slow ? 0.2e-3 : 5e-3;
        for (int16_t i = 0; i < BUCKETS; i++) {
            op(w, t, signals(delay_op(0, b), i));
            op(w, t, waits_for(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, all, bytes), i));
        }
        program_of(w, "backward", t);
        outcome o = run(w, &(options){.fold = true});
        EXPECT_RAN(o);
        pw_time queued = ticks(b) + BUCKETS * bucket, hidden = BUCKETS * ticks(b) + bucket;
        PW_EXPECT(llabs((long long)(o.end - (queued > hidden ? queued : hidden))) <= 2 * BUCKETS);
        PW_EXPECT(slow == (queued > hidden));
        PW_EXPECT_INT(o.totals.classes, 1);
        world_free(w);
    }
}

PW_TEST(a_collective_starts_when_the_last_member_arrives) {
    world *w = world_of(1, 4);
    uint16_t all = groups_of(w, "dp", 1, 4, across);
    pw_group_shape shape;
    pw_time alone = ticks(cost_of(w, PW_COLLECTIVE_ALL_GATHER, 0, all, 1e6, &shape).total_s);
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t t = template_of(w, "member");
        op(w, t, delay_op(0, 1e-3 * (r == 2 ? 7 : r)));
        op(w, t, collective_op(0, PW_COLLECTIVE_ALL_GATHER, all, 1e6));
        w->program_of_rank[r] = program_of(w, "member", t);
    }
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    for (uint32_t r = 0; r < 4; r++) PW_EXPECT(llabs((long long)(o.rank_end[r] - ticks(7e-3) - alone)) <= 2);
    PW_EXPECT_NEAR(o.totals.collective_bytes, 4e6, 1e-12);
    world_free(w);
}

PW_TEST(a_group_of_one_is_free) {
    world *w = world_of(1, 2);
    uint32_t t = template_of(w, "alone");
    uint32_t *of = own(w, 8), *first = own(w, 12), *members = own(w, 8);
    of[1] = members[1] = 1, first[1] = 1, first[2] = 2;
    w->group_roles[w->job.group_role_count++] =
        (pw_group_role){.name = "tp", .groups = 2, .group_of_rank = of, .first = first, .members = members};
    for (int i = 0; i < 5000; i++) op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 1e9)); /* must not recurse */
    op(w, t, delay_op(0, 1e-3));
    program_of(w, "alone", t);
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(1e-3));
    PW_EXPECT_INT(o.totals.collective_bytes, 0);
    world_free(w);
}

PW_TEST(a_transfer_starts_when_both_ends_are_there_and_ends_both) {
    world *w = world_of(2, 2);
    uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
    uint32_t sender = template_of(w, "sender"), receiver = template_of(w, "receiver"), idle = template_of(w, "idle");
    op(w, sender, delay_op(0, 1e-3));
    op(w, sender, message_op(PW_OP_SEND, 0, next, 3, 50e6));
    op(w, receiver, delay_op(0, 4e-3));
    op(w, receiver, message_op(PW_OP_RECV, 0, previous, 3, 50e6));
    w->program_of_rank[0] = w->program_of_rank[3] = program_of(w, "idle", idle);
    w->program_of_rank[1] = program_of(w, "sender", sender);
    w->program_of_rank[2] = program_of(w, "receiver", receiver);
    outcome o = run(w, &(options){0});
    EXPECT_RAN(o);
    pw_collective_cost cost;
    PW_CHECK(pw_message_cost_of(w->collectives, 1, 2, 50e6, &cost, NULL) == PW_OK);
    PW_EXPECT(llabs((long long)(o.rank_end[1] - ticks(4e-3) - ticks(cost.total_s))) <= 2);
    PW_EXPECT_INT(o.rank_end[1], o.rank_end[2]);
    /* bytes: every link of the path carries the message once */
    pw_path path;
    double sum = 0, hops = 0;
    PW_CHECK(pw_cluster_route(w->cluster, 1, 2, 0, &path) == PW_OK);
    for (int kind = 0; kind < PW_LINK_KIND_COUNT; kind++) sum += o.totals.link_bytes[kind];
    hops = path.count;
    PW_EXPECT_NEAR(sum, hops * 50e6, 1e-9);
    world_free(w);
}

PW_TEST(bytes_on_links_are_messages_times_hops) {
    world *w = world_of(2, 4);
    size_of_node = 4;
    uint16_t dp = groups_of(w, "dp", 4, 2, same_place);
    uint32_t t = template_of(w, "step");
    op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, dp, 8e6));
    program_of(w, "step", t);
    outcome folded = run(w, &(options){.fold = true}), plain = run(w, &(options){0});
    EXPECT_RAN(folded);
    EXPECT_RAN(plain);
    /* two members swap: each sends S/2 twice, so 4 x S/2 per group, over each hop of the way */
    pw_path path;
    PW_CHECK(pw_cluster_route(w->cluster, 0, 4, 0, &path) == PW_OK);
    double sum = 0;
    uint32_t links = pw_fabric_links(pw_cluster_fabric(w->cluster));
    for (uint32_t l = 0; l < links; l++) {
        sum += folded.link_bytes[l];
        PW_EXPECT_NEAR(folded.link_bytes[l], plain.link_bytes[l], 1e-9);
    }
    PW_EXPECT_NEAR(sum, 4 * 4 * 4e6 * path.count, 1e-9);
    PW_EXPECT_INT(folded.totals.classes, 1);
    PW_EXPECT_INT(folded.end, plain.end);
    world_free(w);
}

PW_TEST(a_copy_takes_the_host_route) {
    world *w = world_of(1, 1);
    uint32_t t = template_of(w, "copy");
    op(w, t, (pw_op){.kind = PW_OP_COPY, PW_OP_INIT, .category = OTHER, .copy = {.bytes = 1e9, .to_host = true}});
    program_of(w, "copy", t);
    pw_path path;
    PW_CHECK(pw_cluster_host_route(w->cluster, 0, true, &path) == PW_OK);
    const pw_fabric *fabric = pw_cluster_fabric(w->cluster);
    for (int fold = 0; fold < 2; fold++) {
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        double expected = pw_path_latency_s(fabric, &path) + 1e9 / pw_path_bandwidth_Bps(fabric, &path);
        PW_EXPECT(llabs((long long)(o.end - ticks(expected))) <= 2);
    }
    world_free(w);
}

PW_TEST(communication_slows_compute_by_the_sms_and_the_memory_bandwidth_it_takes) {
    world *w = world_of(1, 8);
    pw_collectives_destroy(w->collectives);
    PW_CHECK(pw_collectives_create(NULL, w->catalogue, w->cluster, true, &w->collectives, NULL) == PW_OK);
    uint16_t all = groups_of(w, "dp", 1, 8, across);
    uint32_t alone = template_of(w, "alone"), beside = template_of(w, "beside");
    uint32_t big = gemm_segment(w, "big", 8192, 20);
    op(w, alone, compute_op(0, big));
    op(w, beside, compute_op(0, big));
    op(w, beside, collective_op(1, PW_COLLECTIVE_ALL_REDUCE, all, 200e6));
    program_of(w, "alone", alone);
    program_of(w, "beside", beside);
    outcome first = run(w, &(options){.fold = true});
    for (uint32_t r = 0; r < 8; r++) w->program_of_rank[r] = 1;
    outcome second = run(w, &(options){.fold = true});
    EXPECT_RAN(first);
    EXPECT_RAN(second);
    pw_group_shape shape;
    pw_collective_cost cost = cost_of(w, PW_COLLECTIVE_ALL_REDUCE, 0, all, 200e6, &shape);
    pw_collective_cost message;
    PW_EXPECT(pw_message_cost_of(w->collectives, 0, 1, 1e6, &message, NULL) == PW_OK && message.memory_Bps == 0);
    PW_EXPECT(cost.sms > 0 && cost.memory_Bps > 0);
    PW_EXPECT_NEAR(cost.memory_Bps, 5 * 7.0 / 8 * cost.cap_Bps, 1e-9); /* 5 bytes of memory traffic for one of the buffer */
    double taken = cost.memory_Bps / pw_gpu_device(w->gpu)->memory_Bps;
    PW_EXPECT(taken > 0.05 && taken < 0.5);
    pw_kernel_cost full, less;
    double sms = pw_gpu_device(w->gpu)->sm_count - cost.sms;
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[0], NULL, &full, NULL) == PW_OK);
    PW_CHECK(pw_gpu_kernel_cost(w->gpu, &w->kernels[0], &(pw_gpu_state){1, sms, taken}, &less, NULL) == PW_OK);
    PW_EXPECT_NEAR((double)first.end, full.total_s * 20 * 1e12, 1e-9);
    /* slowed for the length of the collective, then at full speed */
    double done = cost.total_s / (less.total_s * 20), expected = cost.total_s + (1 - done) * full.total_s * 20;
    PW_EXPECT_NEAR((double)second.end, expected * 1e12, 1e-9);
    PW_EXPECT(second.end > first.end);
    printf("# a large multiply beside an all_reduce in a node: %.1f %% slower\n", 100 * (less.total_s / full.total_s - 1));
    world_free(w);
}

PW_TEST(members_that_disagree_are_an_error) {
    world *w = world_of(1, 2);
    uint16_t all = groups_of(w, "dp", 1, 2, across);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t t = template_of(w, "member");
        op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, all, 1e6 * (r + 1)));
        w->program_of_rank[r] = program_of(w, "member", t);
    }
    outcome o = run(w, &(options){.fold = true});
    PW_EXPECT_INT(o.status, PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(o.error.what, "rank 1 issues all_reduce of 2000000 bytes");
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
