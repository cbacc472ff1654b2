/* Several jobs on one fabric: they share its links, fold together exactly, begin and repeat when they are told to. */
#include "tests/unit/program/fixture.h"

enum { MOST_JOBS = 4 };

typedef struct together {
    pw_status status;
    pw_error error;
    pw_time *rank_end[MOST_JOBS];
    pw_time end[MOST_JOBS], blamed[MOST_JOBS];
    uint32_t classes[MOST_JOBS];
    bool exact;
    uint64_t spans, hash;
    double watched[MOST_JOBS][PW_LINK_KIND_COUNT], binned[MOST_JOBS], held[MOST_JOBS][MOST_JOBS];
    double totals[MOST_JOBS][PW_LINK_KIND_COUNT];
    bool met[MOST_JOBS][MOST_JOBS];
    size_t flows;
    double bytes_of_flows, longest_held_s;
} together;

static bool watching;

typedef struct timing {
    double start_s, gap_s;
    uint32_t repeats;
} timing;

static void hash_all(void *object, const pw_span *s) {
    together *t = object;
    t->spans++;
    t->hash = hash_in(hash_in(hash_in(t->hash, (uint64_t)s->start), (uint64_t)s->end), s->cause);
}

static void read_watch(together *t, pw_watch *watch, const pw_cluster *cluster, pw_executor *const *executors, uint32_t count) {
    pw_watch_close(watch);
    for (uint32_t l = 0; l < pw_watch_links(watch); l++) {
        pw_watched_link link = pw_watch_link(watch, l);
        PW_EXPECT(link.links > 0 && link.peak > 0 && link.peak <= 1 + 1e-9);
        pw_link_kind kind = pw_fabric_link(pw_cluster_fabric(cluster), link.link)->kind;
        for (uint32_t j = 0; j < count; j++) {
            t->watched[j][kind] += link.links * pw_watch_bytes(watch, l, j);
            for (uint32_t b = 0; b < 20; b++) t->binned[j] += link.links * pw_watch_bin_bytes(watch, l, j, b);
        }
    }
    for (uint32_t j = 0; j < count; j++) {
        for (int k = 0; k < PW_LINK_KIND_COUNT; k++) t->totals[j][k] = pw_executor_get_totals(executors[j]).link_bytes[k];
        for (uint32_t k = 0; k < count; k++) {
            t->held[j][k] = pw_watch_held_s(watch, j, k);
            t->met[j][k] = pw_watch_met(watch, j, k);
        }
    }
    const pw_watched_flow *flows = pw_watch_flows(watch, &t->flows, NULL);
    for (size_t f = 0; f < t->flows; f++) {
        t->bytes_of_flows += flows[f].bytes * flows[f].count * (flows[f].kind == 0 ? flows[f].members : 1);
        t->longest_held_s = fmax(t->longest_held_s, flows[f].held_s);
        PW_EXPECT((flows[f].held_s > 0) == (flows[f].limit != PW_NONE));
        PW_EXPECT(flows[f].bytes <= flows[f].free_Bps * pw_time_to_seconds(flows[f].end - flows[f].start, PW_TICKS_PER_SECOND_STEP) + 1);
    }
}

/* Jobs of several worlds on the cluster of the first. */
static together run_all(world *const *worlds, uint32_t count, bool fold, const timing *when) {
    together t = {.exact = true};
    pw_sim *sim = NULL;
    pw_fluid *fluid = NULL;
    pw_recorder *recorders[MOST_JOBS] = {0};
    pw_blame *blames[MOST_JOBS] = {0};
    pw_executor *executors[MOST_JOBS] = {0};
    pw_executor_config configs[MOST_JOBS];
    const pw_job *jobs[MOST_JOBS];
    pw_watch *watch = NULL;
    PW_CHECK(pw_sim_create(NULL, &sim, &t.error) == PW_OK && pw_fluid_create(sim, true, &fluid, &t.error) == PW_OK);
    if (watching)
        PW_CHECK(pw_watch_create(&(pw_watch_config){.sim = sim, .fluid = fluid, .cluster = worlds[0]->cluster, .jobs = count,
                                                    .bins = 20, .most_flows = 100000}, &watch, &t.error) == PW_OK);
    for (uint32_t j = 0; j < count; j++) {
        jobs[j] = &worlds[j]->job;
        PW_CHECK(pw_recorder_create(NULL, &recorders[j], &t.error) == PW_OK);
        PW_CHECK(pw_recorder_attach(recorders[j], &(pw_sink){.object = &t, .on_span = hash_all}) == PW_OK);
        PW_CHECK(pw_blame_create(NULL, jobs[j], worlds[j]->gpu, recorders[j], &blames[j], &t.error) == PW_OK);
        configs[j] = (pw_executor_config){.sim = sim, .fluid = fluid, .recorder = recorders[j], .cluster = worlds[0]->cluster,
                                          .collectives = worlds[0]->collectives, .gpu = worlds[0]->gpu, .clock_ratio = 1,
                                          .fold = fold, .watch = watch};
        if (when) {
            configs[j].start = ticks(when[j].start_s);
            configs[j].gap = ticks(when[j].gap_s);
            configs[j].repeats = when[j].repeats;
        }
    }
    t.status = pw_executors_create(configs, jobs, count, NULL, 0, executors, &t.error);
    if (!t.status) t.status = pw_sim_run(sim, PW_TIME_MAX);
    for (uint32_t j = 0; j < count && executors[j]; j++) {
        pw_status finished = pw_executor_finish(executors[j], &t.error);
        if (!t.status) t.status = finished;
        t.rank_end[j] = own(worlds[0], jobs[j]->ranks * sizeof(pw_time));
        for (uint32_t r = 0; r < jobs[j]->ranks; r++) {
            t.rank_end[j][r] = pw_executor_class(executors[j], pw_executor_class_of_rank(executors[j], r))->end;
            if (t.rank_end[j][r] > t.end[j]) t.end[j] = t.rank_end[j][r];
        }
        PW_EXPECT(t.status || pw_executor_ended(executors[j]) == t.end[j]);
        t.classes[j] = pw_executor_class_count(executors[j]);
        t.exact = t.exact && pw_executor_get_totals(executors[j]).exact;
        pw_recorder_close(recorders[j], pw_sim_now(sim));
        const pw_blame_part *parts;
        uint32_t parts_count;
        double total_s;
        const char *home;
        if (!t.status) t.status = pw_blame_result(blames[j], &parts, &parts_count, &total_s, &home, &t.error);
        if (!t.status) t.blamed[j] = ticks(total_s);
    }
    if (watch && !t.status) read_watch(&t, watch, worlds[0]->cluster, executors, count);
    for (uint32_t j = 0; j < count; j++) {
        pw_executor_destroy(executors[j]);
        pw_blame_destroy(blames[j]);
        pw_recorder_destroy(recorders[j]);
    }
    pw_watch_destroy(watch);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    return t;
}

/* Nodes of one GPU and one port; so many of them below a leaf, which has `oversubscription` times less upwards. */
static pw_cluster_desc small_nodes(int64_t nodes, int64_t radix, double oversubscription) {
    pw_cluster_desc desc = world_desc(nodes, 1);
    desc.node.nics = 1;
    desc.network.topology = 1; /* fat_tree */
    desc.network.radix = radix;
    desc.network.oversubscription = oversubscription;
    return desc;
}

static void place(world *w, uint32_t first, uint32_t stride) {
    for (uint32_t r = 0; r < w->job.ranks; r++) w->gpu_of_rank[r] = first + r * stride;
}

/* Rank r sends to rank r + half. */
static world *halves(const pw_cluster_desc *desc, uint32_t ranks, double bytes) {
    world *w = world_on(desc, ranks);
    uint16_t next = peers_of(w, "next", ranks / 2), previous = peers_of(w, "previous", -(int64_t)ranks / 2);
    uint32_t send = template_of(w, "send"), recv = template_of(w, "recv");
    op(w, send, message_op(PW_OP_SEND, 0, next, 0, bytes));
    op(w, recv, message_op(PW_OP_RECV, 0, previous, 0, bytes));
    uint32_t sends = program_of(w, "send", send), recvs = program_of(w, "recv", recv);
    for (uint32_t r = 0; r < ranks; r++) w->program_of_rank[r] = r < ranks / 2 ? sends : recvs;
    return w;
}

static uint32_t tp;
static uint32_t all_rank(uint32_t g, uint32_t m) { return g * tp + m; }
/* Computes, then reduces over groups of tp ranks, some times over. */
static world *reducer(const pw_cluster_desc *desc, uint32_t ranks, uint32_t group, double bytes, uint32_t rounds, int64_t gemm) {
    world *w = world_on(desc, ranks);
    w->job.launch_s = 3e-6;
    tp = group;
    uint16_t role = groups_of(w, "all", ranks / group, group, all_rank);
    uint32_t t = template_of(w, "step"), segment = gemm_segment(w, "layer", gemm, 3);
    for (uint32_t i = 0; i < rounds; i++) {
        op(w, t, signals(compute_op(0, segment), 0));
        op(w, t, waits_for(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, role, bytes * (1 + i)), 0));
    }
    uint32_t program = program_of(w, "step", t);
    for (uint32_t r = 0; r < ranks; r++) w->program_of_rank[r] = program;
    return w;
}

static void free_all(world *const *worlds, uint32_t count) {
    for (uint32_t j = count; j-- > 0;) world_free(worlds[j]);
}

static pw_time alone(world *w, world *where, bool fold, const timing *when) {
    pw_job job = w->job;
    world on = *where;
    on.job = job;
    on.owned_count = 0;
    world *one = &on;
    together t = run_all(&one, 1, fold, when);
    EXPECT_RAN(t);
    for (uint32_t i = 0; i < on.owned_count; i++) free(on.owned[i]);
    return t.end[0];
}

static void compare(world *const *worlds, uint32_t count, const timing *when, uint32_t most_classes) {
    together folded = run_all(worlds, count, true, when), plain = run_all(worlds, count, false, when),
             again = run_all(worlds, count, true, when);
    EXPECT_RAN(folded);
    EXPECT_RAN(plain);
    PW_EXPECT(folded.exact && plain.exact && folded.hash == again.hash && folded.spans == again.spans);
    for (uint32_t j = 0; j < count; j++) {
        PW_EXPECT(folded.classes[j] <= most_classes);
        if (folded.classes[j] > most_classes) printf("# job %u: %u classes\n", j, folded.classes[j]);
        for (uint32_t r = 0; r < worlds[j]->job.ranks; r++)
            if (llabs((long long)(folded.rank_end[j][r] - plain.rank_end[j][r])) > 50) {
                PW_FAILED("job %u rank %u ends at %lld folded, %lld unfolded", j, r, (long long)folded.rank_end[j][r],
                          (long long)plain.rank_end[j][r]);
                break;
            }
    }
}

PW_TEST(a_shared_uplink_is_halved) {
    pw_cluster_desc desc = small_nodes(8, 5, 4); /* 4 ports down, 1 up */
    world *worlds[2] = {halves(&desc, 2, 1e9), halves(&desc, 2, 1e9)};
    place(worlds[0], 0, 4);
    place(worlds[1], 1, 4);
    for (int fold = 0; fold < 2; fold++) {
        together both = run_all(worlds, 2, fold, NULL);
        EXPECT_RAN(both);
        pw_time one = alone(worlds[0], worlds[0], fold, NULL);
        double port_Bps = pw_cluster_nic_Bps(worlds[0]->cluster);
        PW_EXPECT(llabs((long long)(both.end[0] - one - ticks(1e9 / port_Bps))) <= 2);
        PW_EXPECT(both.end[0] == both.end[1]);
    }
    free_all(worlds, 2);
}

PW_TEST(jobs_that_share_no_link_do_not_feel_each_other) {
    pw_cluster_desc desc = small_nodes(16, 8, 1);
    world *worlds[2] = {reducer(&desc, 4, 4, 50e6, 3, 2048), reducer(&desc, 4, 2, 80e6, 2, 1024)};
    place(worlds[0], 0, 1);
    place(worlds[1], 8, 1);
    for (int fold = 0; fold < 2; fold++) {
        together both = run_all(worlds, 2, fold, NULL);
        EXPECT_RAN(both);
        for (int j = 0; j < 2; j++) PW_EXPECT(both.end[j] == alone(worlds[j], worlds[0], fold, NULL));
    }
    free_all(worlds, 2);
}

/* Dealt over the four leaves of an oversubscribed tree, so that every hop of a ring crosses the spine. */
PW_TEST(jobs_that_share_a_spine_fold_exactly) {
    for (int over = 1; over <= 4; over *= 4) {
        pw_cluster_desc desc = small_nodes(64, 20, over);
        world *worlds[2] = {reducer(&desc, 32, 32, 200e6, 4, 2048), reducer(&desc, 32, 8, 100e6, 5, 1024)};
        for (int j = 0; j < 2; j++)
            for (uint32_t r = 0; r < 32; r++) worlds[j]->gpu_of_rank[r] = r % 4 * 16 + (uint32_t)j * 8 + r / 4;
        compare(worlds, 2, NULL, 8);
        together both = run_all(worlds, 2, true, NULL);
        PW_EXPECT(both.end[0] >= alone(worlds[0], worlds[0], true, NULL));
        if (over == 4) PW_EXPECT(both.end[0] > alone(worlds[0], worlds[0], true, NULL));
        free_all(worlds, 2);
    }
}

/* A small job loads the uplinks of two leaves alone: the groups of the large one that pass there become a class of their own. */
PW_TEST(a_job_in_a_corner_splits_the_classes_of_another) {
    pw_cluster_desc desc = small_nodes(64, 20, 4);
    world *worlds[3] = {halves(&desc, 16, 300e6), halves(&desc, 4, 500e6), reducer(&desc, 6, 3, 90e6, 4, 1024)};
    for (uint32_t r = 0; r < 16; r++) worlds[0]->gpu_of_rank[r] = r / 8 * 32 + r % 8 * 4; /* two ports of a leaf */
    const uint32_t corner[] = {1, 2, 33, 34}, ring[] = {17, 18, 49, 50, 51, 19};
    for (uint32_t r = 0; r < 4; r++) worlds[1]->gpu_of_rank[r] = corner[r];
    for (uint32_t r = 0; r < 6; r++) worlds[2]->gpu_of_rank[r] = ring[r];
    const timing when[] = {{0}, {.start_s = 1e-3, .gap_s = 0.5e-3, .repeats = 4}, {.start_s = 0.2e-3}};
    compare(worlds, 3, when, 16);
    together folded = run_all(worlds, 3, true, when);
    PW_EXPECT(folded.rank_end[0][0] != folded.rank_end[0][7]);
    free_all(worlds, 3);
}

static uint64_t drawn;
static uint32_t draw(uint32_t below) {
    drawn = (drawn ^ (drawn >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) + UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((drawn ^ (drawn >> 32)) % below);
}

/* Two or three jobs anywhere on a tree of any width, at any time. */
PW_TEST(random_jobs_fold_together_to_the_same_times) {
    for (uint32_t seed = 1; seed <= 40; seed++) {
        drawn = seed;
        enum { NODES = 24 };
        pw_cluster_desc desc = small_nodes(NODES, 4 + draw(16), 1 + draw(4));
        world *worlds[3];
        timing when[3] = {{0}};
        uint32_t order[NODES], at = 0, count = 2 + draw(2);
        for (uint32_t n = 0; n < NODES; n++) order[n] = n;
        for (uint32_t n = NODES - 1; draw(4) && n > 0; n--) {
            uint32_t other = draw(n + 1), kept = order[n];
            order[n] = order[other];
            order[other] = kept;
        }
        for (uint32_t j = 0; j < count; j++) {
            uint32_t ranks = draw(2) ? 4 : 8;
            worlds[j] = draw(3) ? reducer(&desc, ranks, ranks >> draw(2), 1e6 * (1 + draw(200)), 1 + draw(4), 512 << draw(3))
                                : halves(&desc, ranks, 1e6 * (1 + draw(500)));
            for (uint32_t r = 0; r < ranks; r++) worlds[j]->gpu_of_rank[r] = order[at++];
            when[j] = (timing){.start_s = 1e-4 * draw(30), .gap_s = 1e-4 * draw(3), .repeats = 1 + draw(3)};
        }
        int before = pw_test_failures;
        compare(worlds, count, when, NODES);
        if (pw_test_failures != before) printf("# seed %u\n", seed);
        free_all(worlds, count);
    }
}

PW_TEST(repeats_add_up_to_the_tick) {
    pw_cluster_desc desc = small_nodes(8, 0, 1);
    world *w = reducer(&desc, 8, 4, 30e6, 3, 2048);
    pw_time one = alone(w, w, true, NULL);
    for (int fold = 0; fold < 2; fold++) {
        timing when = {.start_s = 1e-3, .gap_s = 2e-3, .repeats = 5};
        together five = run_all(&w, 1, fold, &when);
        EXPECT_RAN(five);
        PW_EXPECT(five.end[0] == ticks(1e-3) + 5 * one + 4 * ticks(2e-3));
        PW_EXPECT(llabs((long long)(five.blamed[0] - (five.end[0] - ticks(1e-3)))) <= 1);
    }
    world_free(w);
}

PW_TEST(a_watch_changes_nothing_and_counts_every_byte) {
    pw_cluster_desc desc = small_nodes(64, 20, 4);
    world *worlds[2] = {reducer(&desc, 32, 32, 200e6, 4, 2048), reducer(&desc, 32, 8, 100e6, 5, 1024)};
    for (int j = 0; j < 2; j++)
        for (uint32_t r = 0; r < 32; r++) worlds[j]->gpu_of_rank[r] = r % 4 * 16 + (uint32_t)j * 8 + r / 4;
    together seen[2];
    for (int fold = 0; fold < 2; fold++) {
        watching = false;
        together plain = run_all(worlds, 2, fold, NULL);
        watching = true;
        seen[fold] = run_all(worlds, 2, fold, NULL);
        watching = false;
        PW_EXPECT(plain.hash == seen[fold].hash && plain.end[0] == seen[fold].end[0] && plain.end[1] == seen[fold].end[1]);
    }
    for (int j = 0; j < 2; j++) {
        double sum = 0;
        for (int k = 0; k < PW_LINK_KIND_COUNT; k++) {
            PW_EXPECT_NEAR(seen[1].watched[j][k], seen[1].totals[j][k], 1e-6);
            PW_EXPECT_NEAR(seen[1].watched[j][k], seen[0].watched[j][k], 1e-6);
            sum += seen[1].watched[j][k];
        }
        PW_EXPECT(sum > 1e9);
        for (int fold = 0; fold < 2; fold++) PW_EXPECT_NEAR(seen[fold].binned[j], sum, 1e-6);
        PW_EXPECT(seen[1].met[j][1 - j] && seen[0].met[j][1 - j] && seen[1].held[j][1 - j] > 0);
        PW_EXPECT_NEAR(seen[1].held[j][1 - j], seen[0].held[j][1 - j], 1e-6);
    }
    PW_EXPECT_NEAR(seen[1].bytes_of_flows, seen[0].bytes_of_flows, 1e-9);
    free_all(worlds, 2);
}

PW_TEST(held_time_is_the_loss_where_one_link_decides) {
    pw_cluster_desc desc = small_nodes(8, 5, 4);
    world *worlds[2] = {halves(&desc, 2, 1e9), halves(&desc, 2, 1e9)};
    place(worlds[0], 0, 4);
    place(worlds[1], 1, 4);
    watching = true;
    together both = run_all(worlds, 2, true, NULL), apart = run_all(worlds, 1, true, NULL);
    watching = false;
    double loss_s = pw_time_to_seconds(both.end[0] - apart.end[0], PW_TICKS_PER_SECOND_STEP);
    PW_EXPECT_NEAR(both.held[0][1], loss_s, 1e-6);
    PW_EXPECT_NEAR(both.held[1][0], loss_s, 1e-6);
    PW_EXPECT(both.flows == 2 && both.longest_held_s > loss_s && apart.flows == 1 && apart.longest_held_s == 0);
    free_all(worlds, 2);
}

PW_TEST(a_gpu_serves_one_job) {
    pw_cluster_desc desc = small_nodes(8, 0, 1);
    world *worlds[2] = {halves(&desc, 2, 1e6), halves(&desc, 2, 1e6)};
    worlds[1]->job.name = "other";
    place(worlds[1], 1, 1);
    together both = run_all(worlds, 2, true, NULL);
    PW_EXPECT(both.status == PW_BAD_INPUT && strstr(both.error.what, "share GPU 1"));
    free_all(worlds, 2);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
