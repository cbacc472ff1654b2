/* A folded run gives what an unfolded run gives, on regular jobs and on jobs made to break it. */
#include "tests/unit/program/fixture.h"

static void compare(world *w, uint32_t most_classes) {
    outcome folded = run(w, &(options){.fold = true}), plain = run(w, &(options){0}), again = run(w, &(options){.fold = true});
    EXPECT_RAN(folded);
    EXPECT_RAN(plain);
    for (uint32_t r = 0; r < w->job.ranks; r++)
        if (llabs((long long)(folded.rank_end[r] - plain.rank_end[r])) > 50) {
            PW_FAILED("rank %u ends at %lld folded, %lld unfolded", r, (long long)folded.rank_end[r],
                      (long long)plain.rank_end[r]);
            break;
        }
    PW_EXPECT_NEAR(folded.totals.flops, plain.totals.flops, 1e-12);
    PW_EXPECT_NEAR(folded.totals.collective_bytes, plain.totals.collective_bytes, 1e-12);
    for (int k = 0; k < PW_LINK_KIND_COUNT; k++)
        PW_EXPECT_NEAR(folded.totals.link_bytes[k], plain.totals.link_bytes[k], 1e-9);
    uint32_t links = pw_fabric_links(pw_cluster_fabric(w->cluster));
    double most = 0;
    for (uint32_t l = 0; l < links; l++) most = fmax(most, fabs(folded.link_bytes[l] - plain.link_bytes[l]));
    PW_EXPECT(most < 1);
    PW_EXPECT(folded.totals.exact && plain.totals.exact);
    PW_EXPECT(folded.totals.classes <= most_classes);
    if (folded.totals.classes > most_classes) printf("# %u classes\n", folded.totals.classes);
    PW_EXPECT(folded.hash == again.hash && folded.spans == again.spans && folded.spans > 0);
}

/* tp fastest, then dp, then pp: the usual layout. */
static uint32_t tp, dp, pp;
static uint32_t tp_rank(uint32_t g, uint32_t m) { return g * tp + m; }
static uint32_t dp_rank(uint32_t g, uint32_t m) { return g / tp * tp * dp + m * tp + g % tp; }

/* A step: forward and backward of micro-batches, tensor parallel inside, buckets at the end. */
static void stage_program(world *w, uint32_t t, uint32_t stage, uint32_t segment, uint16_t roles[2], uint16_t peers[2],
                          double extra_s) {
    enum { MICRO_BATCHES = 4 };
    for (int64_t m = 0; m < 2 * MICRO_BATCHES; m++) {
        bool back = m >= MICRO_BATCHES;
        bool takes = back ? stage + 1 < pp : stage > 0, gives = back ? stage > 0 : stage + 1 < pp;
        pw_op work = compute_op(0, segment);
        if (takes) {
            op(w, t, signals(message_op(PW_OP_RECV, back ? 4 : 1, peers[back ? 0 : 1], m, 4e6), 0));
            work = waits_for(work, 0);
        }
        op(w, t, work);
        if (extra_s > 0) op(w, t, delay_op(0, extra_s));
        op(w, t, signals(collective_op(0, PW_COLLECTIVE_ALL_REDUCE, roles[0], 8e6), 1));
        if (gives) op(w, t, waits_for(message_op(PW_OP_SEND, back ? 3 : 2, peers[back ? 1 : 0], m, 4e6), 1));
        if (back) op(w, t, waits_for(collective_op(5, PW_COLLECTIVE_REDUCE_SCATTER, roles[1], 30e6), 1));
    }
    op(w, t, signals(collective_op(5, PW_COLLECTIVE_ALL_GATHER, roles[1], 60e6), 2));
    op(w, t, waits_for(compute_op(0, segment), 2));
}

static world *step_on(const pw_cluster_desc *desc) {
    world *w = world_on(desc, tp * dp * pp);
    w->job.launch_s = 4e-6;
    uint16_t roles[2], peers[2];
    roles[0] = groups_of(w, "tp", dp * pp, tp, tp_rank);
    roles[1] = groups_of(w, "dp", tp * pp, dp, dp_rank);
    peers[0] = peers_of(w, "pp next", (int64_t)tp * dp);
    peers[1] = peers_of(w, "pp previous", -(int64_t)tp * dp);
    uint32_t segment = gemm_segment(w, "layer", 2048, 12);
    for (uint32_t stage = 0; stage < pp; stage++) {
        uint32_t t = template_of(w, "stage"), program = program_of(w, "stage", t);
        stage_program(w, t, stage, segment, roles, peers, 0);
        for (uint32_t r = 0; r < tp * dp; r++) w->program_of_rank[stage * tp * dp + r] = program;
    }
    return w;
}

static world *step(int64_t nodes, int64_t gpus) {
    pw_cluster_desc desc = world_desc(nodes, gpus);
    return step_on(&desc);
}

/* Gives a rank a program of its own, slower by extra_s per pass. */
static void straggle(world *w, uint32_t rank, double extra_s) {
    uint32_t t = template_of(w, "straggler");
    stage_program(w, t, rank / (tp * dp), 0, (uint16_t[2]){0, 1}, (uint16_t[2]){0, 1}, extra_s);
    w->program_of_rank[rank] = program_of(w, "straggler", t);
}

PW_TEST(equal_ranks_fold_to_one_class_per_stage) {
    tp = 4, dp = 4, pp = 4;
    world *w = step(16, 4);
    compare(w, 4);
    world_free(w);
}

PW_TEST(a_data_parallel_job_folds_to_one_class) {
    tp = 8, dp = 8, pp = 1;
    world *w = step(8, 8);
    compare(w, 1);
    world_free(w);
}

PW_TEST(a_straggler_splits_only_what_it_touches) {
    tp = 2, dp = 8, pp = 2;
    world *w = step(8, 4);
    straggle(w, 5, 3e-4);
    compare(w, 32);
    world_free(w);
}

PW_TEST(an_uneven_last_stage_folds_with_the_others) {
    tp = 2, dp = 4, pp = 4;
    world *w = step(8, 4);
    uint32_t t = template_of(w, "last"), head = gemm_segment(w, "head", 4096, 9);
    stage_program(w, t, 3, head, (uint16_t[2]){0, 1}, (uint16_t[2]){0, 1}, 0);
    uint32_t program = program_of(w, "last", t);
    for (uint32_t r = 24; r < 32; r++) w->program_of_rank[r] = program;
    compare(w, 4);
    world_free(w);
}

PW_TEST(an_oversubscribed_trunk_gives_the_same_times) {
    for (int shape = 0; shape < 2; shape++) {
        tp = 2, dp = shape ? 3 : 8, pp = shape ? 5 : 2;
        pw_cluster_desc desc = world_desc(shape ? 15 : 16, 2);
        desc.network.topology = 1; /* fat tree */
        desc.network.oversubscription = 4;
        desc.network.radix = 10;
        world *w = step_on(&desc);
        compare(w, 32);
        world_free(w);
    }
}

/* Random programs on random groups over random GPUs: nothing regular to rely on. */
PW_TEST(random_jobs_fold_to_the_same_times) {
    uint64_t seed = 2024;
    for (int round = 0; round < 30; round++) {
        enum { RANKS = 16 };
        pw_cluster_desc desc = world_desc(4, 4);
        desc.network.oversubscription = 2;
        world *w = world_on(&desc, RANKS);
        uint32_t order[RANKS];
#define DRAW(n) (seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407), (uint32_t)((seed >> 33) % (n)))
        bool shuffled = DRAW(2);
        for (uint32_t r = 0; r < RANKS; r++) order[r] = r;
        for (uint32_t r = RANKS - 1; r > 0 && shuffled; r--) {
            uint32_t other = DRAW(r + 1), kept = order[r];
            order[r] = order[other];
            order[other] = kept;
        }
        for (int role = 0; role < 2; role++) {
            uint32_t size = role ? 4 : 2, groups = RANKS / size;
            uint32_t *of = own(w, RANKS * 4), *first = own(w, (RANKS + 1) * 4), *members = own(w, RANKS * 4);
            for (uint32_t i = 0; i < RANKS; i++) {
                members[i] = role ? order[i % size * groups + i / size] : order[i];
                of[members[i]] = i / size;
            }
            for (uint32_t g = 0; g <= groups; g++) first[g] = g * size;
            w->group_roles[w->job.group_role_count++] = (pw_group_role){role ? "dp" : "tp", groups, of, first, members};
        }
        uint32_t programs = 1 + DRAW(3);
        for (uint32_t p = 0; p < programs; p++) {
            uint32_t t = template_of(w, "program");
            for (int16_t i = 0; i < 6; i++) {
                op(w, t, signals(delay_op(0, 1e-5 * (1 + DRAW(50) * (p > 0))), i));
                op(w, t, waits_for(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, 1, 20e6 * (1 + i % 3)), i));
                op(w, t, collective_op(0, PW_COLLECTIVE_ALL_GATHER, 0, 3e6));
            }
            program_of(w, "program", t);
        }
        for (uint32_t r = 0; r < RANKS; r++) w->program_of_rank[r] = DRAW(programs);
        int before = pw_test_failures;
        compare(w, RANKS);
        if (pw_test_failures != before) printf("# round %d, seed 2024\n", round);
        world_free(w);
    }
}

/* Pairs of random GPUs on an oversubscribed fabric: every pair meets other links, so links would tell all ranks apart. */
PW_TEST(folding_survives_links_that_all_differ) {
    enum { RANKS = 640 };
    pw_cluster_desc desc = world_desc(RANKS / 8, 8);
    desc.network.topology = 1;
    desc.network.oversubscription = 8;
    desc.network.radix = 24;
    world *w = world_on(&desc, RANKS);
    uint32_t *of = own(w, RANKS * 4), *first = own(w, (RANKS + 1) * 4), *members = own(w, RANKS * 4);
    uint64_t seed = 7;
    for (uint32_t r = 0; r < RANKS; r++) members[r] = r;
    for (uint32_t r = RANKS - 1; r > 0; r--) {
        uint32_t other = DRAW(r + 1), kept = members[r];
        members[r] = members[other];
        members[other] = kept;
    }
    for (uint32_t r = 0; r < RANKS; r++) of[members[r]] = r / 2;
    for (uint32_t g = 0; g <= RANKS / 2; g++) first[g] = 2 * g;
    w->group_roles[w->job.group_role_count++] = (pw_group_role){"dp", RANKS / 2, of, first, members};
    uint32_t t = template_of(w, "step");
    op(w, t, delay_op(0, 1e-3));
    op(w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 50e6));
    program_of(w, "step", t);
    outcome folded = run(w, &(options){.fold = true}), plain = run(w, &(options){0});
    EXPECT_RAN(folded);
    EXPECT_RAN(plain);
    PW_EXPECT(!folded.totals.exact && plain.totals.exact);
    PW_EXPECT(folded.totals.classes < 10);
    PW_EXPECT_NEAR(folded.totals.collective_bytes, plain.totals.collective_bytes, 1e-12);
    for (int k = 0; k < PW_LINK_KIND_COUNT; k++)
        PW_EXPECT_NEAR(folded.totals.link_bytes[k], plain.totals.link_bytes[k], 1e-9);
    /* the class runs at the pace of its worst links: the last to end is told right */
    PW_EXPECT((double)folded.end >= (double)plain.end * (1 - 1e-9));
    PW_EXPECT_NEAR((double)folded.end, (double)plain.end, 0.05);
    world_free(w);
}

/* A ring of peers inside one class: every rank sends to the next. */
PW_TEST(a_class_can_send_to_itself) {
    world *w = world_of(4, 2);
    uint32_t *next = own(w, 32), *previous = own(w, 32);
    for (uint32_t r = 0; r < 8; r++) next[r] = (r + 1) % 8, previous[r] = (r + 7) % 8;
    w->peer_roles[w->job.peer_role_count++] = (pw_peer_role){"next", next};
    w->peer_roles[w->job.peer_role_count++] = (pw_peer_role){"previous", previous};
    uint32_t t = template_of(w, "ring");
    for (int64_t i = 0; i < 5; i++) {
        op(w, t, signals(delay_op(0, 1e-4), 0));
        op(w, t, waits_for(message_op(PW_OP_SEND, 1, 0, i, 1e7), 0));
        op(w, t, signals(message_op(PW_OP_RECV, 2, 1, i, 1e7), 1));
        op(w, t, waits_for(delay_op(0, 1e-5), 1));
    }
    program_of(w, "ring", t);
    compare(w, 8);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
