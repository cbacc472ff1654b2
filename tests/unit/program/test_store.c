/* A store has one owner: its readers share its bytes and its operations, and folding changes nothing. */
#include "tests/unit/program/fixture.h"

static uint32_t all_of(uint32_t group, uint32_t member) { return group * 8 + member; }
static uint32_t of_four(uint32_t group, uint32_t member) { return group * 4 + member; }

static pw_op io_op(uint16_t stream, uint16_t store, double bytes, double operations) {
    return (pw_op){.kind = PW_OP_IO, .stream = stream, PW_OP_INIT, .category = OTHER,
                   .io = {.store = store, .bytes = bytes, .operations = operations}};
}

static world *readers(pw_store *store, double bytes, double operations) {
    world *w = world_of(2, 4);
    uint32_t t = template_of(w, "read");
    program_of(w, "reader", t);
    op(w, t, io_op(0, 0, bytes, operations));
    w->job.stores = store;
    w->job.store_count = 1;
    return w;
}

PW_TEST(readers_share_the_bandwidth_of_their_store) {
    for (int fold = 0; fold < 2; fold++) {
        pw_store store = {"files", 0, 10e9, INFINITY, 0, INFINITY};
        world *w = readers(&store, 1e9, 0);
        groups_of(w, "all", 1, 8, all_of);
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        PW_EXPECT_INT(o.end, ticks(0.8)); /* 8 x 1 GB at 10 GB/s */
        PW_EXPECT_NEAR(o.totals.io_bytes, 8e9, 0);
        PW_EXPECT_INT(o.totals.classes, fold ? 1 : 8);
        world_free(w);
    }
}

PW_TEST(a_store_of_each_node_serves_its_own_ranks) {
    for (int fold = 0; fold < 2; fold++) {
        pw_store store = {"disk", 0, 10e9, INFINITY, 1e-3, INFINITY};
        world *w = readers(&store, 1e9, 0);
        groups_of(w, "node", 2, 4, of_four);
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        PW_EXPECT_INT(o.end, ticks(0.401));
        world_free(w);
    }
}

PW_TEST(many_small_files_are_bound_by_operations) {
    pw_store store = {"files", 0, 10e9, 1000, 0, INFINITY};
    world *w = readers(&store, 1e6, 100);
    groups_of(w, "all", 1, 8, all_of);
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(0.8)); /* 800 files at 1,000 a second, while the bytes need 0.8 ms */
    world_free(w);
    w = readers(&store, 0, 100); /* no bytes at all: opening files */
    groups_of(w, "all", 1, 8, all_of);
    o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(0.8));
    world_free(w);
}

PW_TEST(one_reader_takes_what_it_can_and_no_more) {
    pw_store store = {"files", 0, 10e9, INFINITY, 0, 0.5e9};
    world *w = readers(&store, 1e9, 0);
    groups_of(w, "all", 1, 8, all_of);
    outcome o = run(w, &(options){.fold = true});
    EXPECT_RAN(o);
    PW_EXPECT_INT(o.end, ticks(2));
    world_free(w);
}

/* Rank 0 reads twice as much: the others end when eight have read 1 GB each, rank 0 alone has the store then. */
PW_TEST(readers_of_different_sizes_are_told_apart) {
    for (int fold = 0; fold < 2; fold++) {
        pw_store store = {"files", 0, 10e9, INFINITY, 0, INFINITY};
        world *w = readers(&store, 1e9, 0);
        groups_of(w, "all", 1, 8, all_of);
        uint32_t t = template_of(w, "read twice");
        op(w, t, io_op(0, 0, 2e9, 0));
        w->program_of_rank[0] = program_of(w, "large reader", t);
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        PW_EXPECT_INT(o.rank_end[1], ticks(0.8));
        PW_EXPECT_INT(o.rank_end[0], ticks(0.9));
        PW_EXPECT_INT(o.totals.classes, fold ? 2 : 8);
        world_free(w);
    }
}

/* Two nodes, one rank of one of them computes before it reads: its node's store is free for the others meanwhile. */
PW_TEST(nodes_with_different_readers_are_told_apart) {
    pw_time ends[2][8];
    for (int fold = 0; fold < 2; fold++) {
        pw_store store = {"disk", 0, 10e9, INFINITY, 0, INFINITY};
        world *w = readers(&store, 1e9, 0);
        groups_of(w, "node", 2, 4, of_four);
        uint32_t t = template_of(w, "late");
        op(w, t, delay_op(0, 1));
        op(w, t, io_op(0, 0, 1e9, 0));
        w->program_of_rank[0] = program_of(w, "late reader", t);
        outcome o = run(w, &(options){.fold = fold});
        EXPECT_RAN(o);
        memcpy(ends[fold], o.rank_end, sizeof ends[fold]);
        world_free(w);
    }
    PW_EXPECT_INT(ends[0][0], ticks(1.1));
    PW_EXPECT_INT(ends[0][1], ticks(0.3));
    PW_EXPECT_INT(ends[0][4], ticks(0.4));
    for (int r = 0; r < 8; r++) PW_EXPECT_INT(ends[1][r], ends[0][r]);
}

PW_TEST(bad_stores_are_refused) {
    pw_store store = {"files", 0, 0, INFINITY, 0, INFINITY};
    pw_error error = {0};
    world *w = readers(&store, 1e9, 0);
    groups_of(w, "node", 1, 4, of_four);
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "store \"files\"");
    store.bandwidth_Bps = 1e9;
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT); /* ranks 4 to 7 have no group */
    PW_EXPECT_CONTAINS(error.what, "does not reach store");
    store.group_role = 3;
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT);
    w->job.store_count = 0;
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
