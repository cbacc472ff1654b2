/* Placed stores and quorums: bytes to remote memory take the fabric's links, and a meeting goes on without the last. */
#include <math.h>

#include "tests/unit/program/fixture.h"

static uint32_t of_all(uint32_t group, uint32_t member) { return group + member; }

static pw_op io_op(bool write, double bytes) {
    return (pw_op){.kind = PW_OP_IO, .stream = 0, PW_OP_INIT, .category = DP, .io = {.store = 0, .write = write, .bytes = bytes}};
}
static pw_op quorum_op(uint16_t stream, uint32_t needed, int64_t number) {
    return (pw_op){.kind = PW_OP_QUORUM, .stream = stream, PW_OP_INIT, .category = DP,
                   .quorum = {.group_role = 0, .needed = needed, .number = number}};
}

/* Nodes of one GPU and one port: workers on the first ranks, `hosts` nodes behind them hold the store. */
static world *workers_of(uint32_t ranks, const uint32_t *hosts, uint32_t host_count, pw_store *store) {
    pw_cluster_desc desc = world_desc(ranks + host_count, 1);
    desc.node.nics = 1;
    world *w = world_on(&desc, ranks);
    *store = (pw_store){.name = "parameters", .group_role = groups_of(w, "workers", 1, ranks, of_all), .bandwidth_Bps = INFINITY,
                        .operations_per_s = INFINITY, .reader_Bps = INFINITY, .hosts = hosts, .host_count = host_count};
    w->job.stores = store;
    w->job.store_count = 1;
    return w;
}

/* n workers over S hosts' ports: the larger of W / port and n W / (S port), and the way's latency; folded or not. */
PW_TEST(ports_of_a_placed_store_are_shared) {
    static const uint32_t hosts[] = {8, 9};
    for (int write = 0; write < 2; write++)
        for (int fold = 0; fold < 2; fold++) {
            pw_store store;
            world *w = workers_of(8, hosts, 2, &store);
            uint32_t t = template_of(w, "push");
            op(w, t, io_op(write, 1e9));
            program_of(w, "worker", t);
            outcome o = run(w, &(options){.fold = fold});
            EXPECT_RAN(o);
            double latency;
            pw_cluster_memory_loads(w->cluster, 0, 8, write, 1, NULL, NULL, &latency, NULL);
            double expected = 8e9 / (2 * pw_cluster_nic_Bps(w->cluster)) + latency;
            for (int r = 0; r < 8; r++) PW_EXPECT_NEAR((double)o.rank_end[r], (double)ticks(expected), 1e-6);
            PW_EXPECT_NEAR(o.totals.io_bytes, 8e9, 1e-9);
            PW_EXPECT_NEAR(o.totals.link_bytes[PW_LINK_NETWORK], 16e9, 1e-6); /* out of one port, into another */
            if (fold) PW_EXPECT(o.totals.classes < 8);
            world_free(w);
        }
}

PW_TEST(a_placed_store_is_also_held_by_its_own_rate) {
    static const uint32_t hosts[] = {2};
    pw_store store;
    world *w = workers_of(2, hosts, 1, &store);
    store.bandwidth_Bps = 1e9;
    uint32_t t = template_of(w, "push");
    op(w, t, io_op(true, 1e9));
    program_of(w, "worker", t);
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT(o.rank_end[0] >= ticks(2) && o.rank_end[0] < ticks(2.001));
    world_free(w);
}

/* Four members that come at 1, 2, 3 and 9 s, three needed: three go on at 3 s, the last is not held up at 9 s. */
PW_TEST(a_quorum_goes_on_without_the_last) {
    static const uint32_t hosts[] = {4};
    static const double comes[] = {1, 2, 3, 9};
    for (int fold = 0; fold < 2; fold++) {
        pw_store store;
        world *w = workers_of(4, hosts, 1, &store);
        for (uint32_t r = 0; r < 4; r++) {
            char *name = own(w, 16);
            snprintf(name, 16, "worker %u", r);
            uint32_t t = template_of(w, name);
            op(w, t, delay_op(0, comes[r]));
            op(w, t, quorum_op(0, 3, 0));
            w->program_of_rank[r] = program_of(w, name, t);
        }
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        for (int r = 0; r < 4; r++) PW_EXPECT_INT(o.rank_end[r], ticks(r < 3 ? 3 : 9));
        world_free(w);
    }
}

PW_TEST(a_quorum_that_cannot_be_reached_is_a_deadlock) {
    static const uint32_t hosts[] = {2};
    pw_store store;
    world *w = workers_of(2, hosts, 1, &store);
    uint32_t t = template_of(w, "meet");
    op(w, t, quorum_op(0, 3, 7));
    program_of(w, "worker", t);
    outcome o = run(w, &(options){.fold = true});
    PW_EXPECT_INT(o.status, PW_DEADLOCK);
    PW_EXPECT_CONTAINS(o.error.what, "quorum 7");
    world_free(w);
}

typedef struct pushes {
    uint32_t left[2];
} pushes;
static bool next_push(void *object, uint32_t rank, pw_time now, pw_op *out) {
    pushes *p = object;
    (void)now;
    if (p->left[rank] == 0) return false;
    p->left[rank]--;
    *out = io_op(true, 1e9);
    return true;
}

/* A source that emits only io keeps its links folded, and its ranks apart. */
PW_TEST(sources_of_io_alone_fold_links) {
    static const uint32_t hosts[] = {2, 3, 4, 5};
    pw_store store;
    world *w = workers_of(2, hosts, 4, &store);
    pushes p = {{1, 3}};
    program_of(w, "pusher", 0);
    w->programs[0].source = next_push;
    w->programs[0].source_object = &p;
    w->programs[0].only_io = true;
    template_of(w, "none");
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.totals.classes, 2);
    PW_EXPECT_NEAR((double)o.rank_end[1] / (double)o.rank_end[0], 3, 1e-3);
    PW_EXPECT_NEAR(o.totals.io_bytes, 4e9, 1e-9);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
