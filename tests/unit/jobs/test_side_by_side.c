/* Laws of jobs side by side: what was lost adds up, folding changes nothing, one job beside nobody is that job, a cable that is
 * down holds as long as it is down. */
#include <stdlib.h>

#include "models/workload/communication/communication.h"
#include "models/workload/train.h"
#include "scenarios/jobs/together.h"
#include "tests/harness/check.h"

static pw_arena *arena;
static pw_catalogue *catalogue;
static pw_error error;

enum { MOST = 4 };
static pw_cluster_desc cluster;
static pw_job_on_desc on[MOST];
static pw_one_of items[MOST];
static pw_collective_job_desc collectives[MOST];
static pw_background_desc background;
static pw_fail_desc failure;

static void *defaults(const pw_kind *kind, void *desc) {
    if (pw_description_defaults(kind, desc, arena, &error)) abort();
    return desc;
}

static void describe_cluster(double oversubscription) {
    defaults(&pw_cluster_kind, &cluster);
    cluster.node.server = "DGX H100";
    cluster.nodes = 16;
    cluster.network.topology = 1; /* fat_tree */
    cluster.network.radix = 64;
    cluster.network.oversubscription = oversubscription;
}

static pw_job_on_desc *place(uint32_t i, const char *name, const pw_kind *kind, const void *job, int64_t nodes, pw_placement placement) {
    defaults(&pw_job_on_kind, &on[i]);
    on[i].name = name;
    on[i].job = (pw_one_of){kind, job};
    on[i].nodes = nodes;
    on[i].placement = placement;
    items[i] = (pw_one_of){&pw_job_on_kind, &on[i]};
    return &on[i];
}

static pw_collective_job_desc *collective(uint32_t i, pw_collective_kind operation, double bytes, int64_t repeats) {
    defaults(&pw_collective_job_kind, &collectives[i]);
    collectives[i].operation = operation;
    collectives[i].bytes = bytes;
    collectives[i].repeats = repeats;
    return &collectives[i];
}

static pw_status run(uint32_t count, bool unfolded, pw_list events, pw_side_run *ran) {
    const pw_job_call call = {.catalogue = catalogue, .cluster = &cluster, .seed = 1, .unfolded = unfolded};
    const pw_side_call side = {.call = &call, .jobs = {items, count}, .events = events, .bins = 50, .most_flows = 100000};
    uint32_t failed;
    return pw_jobs_side_by_side(&side, arena, ran, &failed, &error);
}

static double lost(const pw_side_by_side *sides, uint32_t job) {
    double sum = sides->jobs[job].unexplained_s;
    for (uint32_t k = 0; k < sides->count; k++) sum += sides->jobs[job].lost_to_s[k];
    return sum;
}

static int algorithm(const char *name) {
    int index = 0;
    while (strcmp(pw_algorithm_names[index], name) != 0) index++;
    return index;
}

/* A ring over all leaves, an all-to-all, and a background, on a narrow spine. */
static void describe_three(void) {
    describe_cluster(4);
    place(0, "ring", &pw_collective_job_kind, collective(0, PW_COLLECTIVE_ALL_REDUCE, 200e6, 4), 6, PW_PLACE_SPREAD)->steps = 2;
    collectives[0].algorithm = algorithm("ring");
    place(1, "mesh", &pw_collective_job_kind, collective(1, PW_COLLECTIVE_ALL_TO_ALL, 64e6, 5), 4, PW_PLACE_SPREAD)->start_s = 2e-3;
    defaults(&pw_background_kind, &background);
    background.load = 0.4;
    place(2, "noise", &pw_background_kind, &background, 4, PW_PLACE_PACKED);
}

PW_TEST(losses_add_up_and_folding_changes_nothing) {
    describe_three();
    pw_side_run folded, plain, again;
    PW_EXPECT_INT(run(3, false, (pw_list){0}, &folded), PW_OK);
    PW_EXPECT_INT(run(3, true, (pw_list){0}, &plain), PW_OK);
    PW_EXPECT_INT(run(3, false, (pw_list){0}, &again), PW_OK);
    PW_EXPECT(folded.sides.hash == again.sides.hash);
    for (uint32_t j = 0; j < 2; j++) {
        const pw_side_job *job = &folded.sides.jobs[j];
        PW_EXPECT(job->ran_alone && job->alone_s > 0 && job->together_s > job->alone_s);
        PW_EXPECT_NEAR(lost(&folded.sides, j), job->together_s - job->alone_s, 1e-12);
        PW_EXPECT(job->unexplained_s == 0 && job->lost_to_s[j] == 0 && job->lost_to_s[1 - j] > 0 && job->lost_to_s[2] > 0);
        PW_EXPECT_NEAR(job->together_s, plain.sides.jobs[j].together_s, 1e-7);
        PW_EXPECT_NEAR(job->alone_s, plain.sides.jobs[j].alone_s, 1e-7);
        for (uint32_t k = 0; k < 3; k++) PW_EXPECT_NEAR(job->lost_to_s[k], plain.sides.jobs[j].lost_to_s[k], 1e-5);
    }
    PW_EXPECT(folded.sides.jobs[2].is_endless && folded.sides.jobs[0].rounds == 2);
    pw_side_run_end(&again);
    pw_side_run_end(&plain);
    pw_side_run_end(&folded);
}

PW_TEST(one_job_beside_nobody_is_that_job) {
    describe_cluster(1);
    collective(0, PW_COLLECTIVE_ALL_REDUCE, 1e9, 3);
    const pw_job_call call = {.catalogue = catalogue, .cluster = &cluster, .seed = 1, .desc = &collectives[0]};
    pw_run_result result = {.arena = arena};
    PW_EXPECT_INT(pw_job_kind_of(&pw_collective_job_kind)->run(&call, &result, &error), PW_OK);
    const pw_side_call side = {.call = &call, .job = {&pw_collective_job_kind, &collectives[0]}, .bins = 10, .most_flows = 10};
    pw_side_run ran;
    uint32_t failed;
    PW_EXPECT_INT(pw_jobs_side_by_side(&side, arena, &ran, &failed, &error), PW_OK);
    PW_EXPECT(ran.sides.jobs[0].result.hash == result.hash);
    size_t flows;
    pw_watch_flows(ran.sides.watch, &flows, NULL);
    PW_EXPECT(flows == 3);
    pw_side_run_end(&ran);
}

PW_TEST(a_port_that_is_down_holds_as_long_as_it_is_down) {
    describe_cluster(1);
    pw_side_run whole, down;
    place(0, "ring", &pw_collective_job_kind, collective(0, PW_COLLECTIVE_ALL_REDUCE, 4e9, 2), 16, PW_PLACE_PACKED);
    PW_EXPECT_INT(run(1, false, (pw_list){0}, &whole), PW_OK);
    defaults(&pw_fail_kind, &failure);
    failure.from = "nic 3";
    failure.to = "leaf 0";
    failure.at_s = 10e-3;
    failure.repaired_s = 35e-3;
    const pw_one_of events[] = {{&pw_fail_kind, &failure}};
    for (int unfolded = 0; unfolded < 2; unfolded++) {
        PW_EXPECT_INT(run(1, unfolded, (pw_list){events, 1}, &down), PW_OK);
        PW_EXPECT_NEAR(down.sides.jobs[0].together_s, whole.sides.jobs[0].together_s + 25e-3, 1e-9);
        pw_side_run_end(&down);
    }
    failure.repaired_s = NAN;
    PW_EXPECT_INT(run(1, false, (pw_list){events, 1}, &down), PW_DEADLOCK);
    PW_EXPECT(strstr(error.what, "\"ring\""));
    pw_side_run_end(&down);
    pw_side_run_end(&whole);
}

/* Of failures that overlap the worst counts, until it is repaired itself, and the smallest capacity is one. */
PW_TEST(overlapping_failures_do_not_repair_each_other) {
    describe_cluster(1);
    pw_side_run whole, down;
    pw_fail_desc second;
    place(0, "ring", &pw_collective_job_kind, collective(0, PW_COLLECTIVE_ALL_REDUCE, 4e9, 2), 16, PW_PLACE_PACKED);
    PW_EXPECT_INT(run(1, false, (pw_list){0}, &whole), PW_OK);
    defaults(&pw_fail_kind, &failure);
    failure.from = "nic 3";
    failure.to = "leaf 0";
    failure.at_s = 10e-3;
    failure.repaired_s = 35e-3;
    defaults(&pw_fail_kind, &second);
    const pw_one_of events[] = {{&pw_fail_kind, &failure}, {&pw_fail_kind, &second}};
    const double begin[] = {12e-3, 12e-3, 5e-3, 10e-3}, end[] = {20e-3, 50e-3, 11e-3, 35e-3}, part[] = {0, 0, 0, 0.5}, held_s[] = {25e-3, 40e-3, 30e-3, 25e-3};
    for (int i = 0; i < 8; i++) {
        int c = i / 2;
        second.from = c < 3 ? "nic 3" : NULL;
        second.to = c < 3 ? "leaf 0" : NULL;
        second.switch_name = c < 3 ? NULL : "leaf 0";
        second.at_s = begin[c];
        second.repaired_s = end[c];
        second.capacity = part[c];
        PW_EXPECT_INT(run(1, i % 2, (pw_list){events, 2}, &down), PW_OK);
        PW_EXPECT_NEAR(down.sides.jobs[0].together_s, whole.sides.jobs[0].together_s + held_s[c], 1e-9);
        pw_side_run_end(&down);
    }
    failure.at_s = 0;
    failure.repaired_s = NAN;
    failure.capacity = 1e-7;
    PW_EXPECT_INT(run(1, false, (pw_list){events, 1}, &down), PW_OK);
    PW_EXPECT(down.sides.jobs[0].together_s > 0.5e7 * whole.sides.jobs[0].together_s);
    pw_side_run_end(&down);
    pw_side_run_end(&whole);
}

/* Two spines: without one, the leaf that decides has half of its uplinks. */
PW_TEST(half_of_a_pool_carries_half) {
    describe_cluster(4);
    cluster.network.radix = 32;
    pw_side_run whole, down;
    place(0, "tree", &pw_collective_job_kind, collective(0, PW_COLLECTIVE_ALL_REDUCE, 8e9, 1), 16, PW_PLACE_PACKED);
    collectives[0].algorithm = algorithm("tree"); /* one leaf decides */
    PW_EXPECT_INT(run(1, false, (pw_list){0}, &whole), PW_OK);
    defaults(&pw_fail_kind, &failure);
    failure.switch_name = "spine 0";
    failure.at_s = 0;
    const pw_one_of events[] = {{&pw_fail_kind, &failure}};
    PW_EXPECT_INT(run(1, false, (pw_list){events, 1}, &down), PW_OK);
    double ratio = down.sides.jobs[0].together_s / whole.sides.jobs[0].together_s;
    PW_EXPECT(ratio > 1.96 && ratio < 2); /* its latency does not double */
    pw_side_run_end(&down);
    pw_side_run_end(&whole);
}

PW_TEST(placements_are_disjoint_and_as_asked) {
    describe_cluster(4);
    pw_cluster *built;
    pw_placed_job *placed;
    PW_EXPECT_INT(pw_cluster_create(NULL, catalogue, &cluster, &built, &error), PW_OK);
    collective(0, PW_COLLECTIVE_ALL_REDUCE, 1e6, 1);
    place(0, "rest", &pw_collective_job_kind, &collectives[0], 0, PW_PLACE_PACKED);
    place(1, "spread", &pw_collective_job_kind, &collectives[0], 3, PW_PLACE_SPREAD);
    place(2, "drawn", &pw_collective_job_kind, &collectives[0], 5, PW_PLACE_FRAGMENTED);
    place(3, "strided", &pw_collective_job_kind, &collectives[0], 2, PW_PLACE_STRIDED);
    on[3].first_node = 1;
    on[3].stride = 6;
    for (uint64_t seed = 1; seed < 20; seed++) {
        PW_EXPECT_INT(pw_jobs_place(built, (pw_list){items, 4}, seed, arena, &placed, &error), PW_OK);
        uint32_t seen = 0;
        for (uint32_t j = 0; j < 4; j++)
            for (uint32_t n = 0; n < placed[j].node_count; n++) {
                PW_EXPECT(!(seen >> placed[j].nodes[n] & 1));
                seen |= UINT32_C(1) << placed[j].nodes[n];
                PW_EXPECT(placed[j].gpus[n * 8 + 7] == placed[j].nodes[n] * 8 + 7);
            }
        PW_EXPECT(seen == 0xffff && placed[0].node_count == 6);
        PW_EXPECT(placed[3].nodes[0] == 1 && placed[3].nodes[1] == 7);
        PW_EXPECT(placed[1].nodes[2] - placed[1].nodes[0] > 4); /* leaves hold fewer than six nodes */
    }
    pw_cluster_destroy(built);
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) return 1;
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return failed;
}
