/* Algorithms with options, and lists of steps of one's own. */
#include "models/collective/custom.h"
#include "tests/unit/collective/groups.h"

enum { MEMBERS = 6, MOST = 200 };

/* The steps of a ring all_gather (or backwards a reduce_scatter), as a user would write them. */
static pw_custom_algorithm ring_list(pw_collective_kind kind, uint32_t n, pw_custom_step *steps) {
    pw_custom_algorithm made = {.name = "mine", .kind = kind, .members = n, .units = n, .steps = steps};
    for (uint32_t round = 0; round + 1 < n; round++)
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t block = (rank + 2 * n - round - (kind == PW_COLLECTIVE_REDUCE_SCATTER ? 1 : 0)) % n;
            steps[made.count++] = (pw_custom_step){round, rank, (rank + 1) % n, block, 1, rank};
        }
    return made;
}

static void refused(const pw_custom_algorithm *custom, const char *part) {
    pw_error error = {0};
    PW_EXPECT_INT(pw_custom_check(NULL, custom, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, part);
}

PW_TEST(a_list_that_does_its_kind_passes) {
    pw_custom_step steps[MOST];
    pw_error error = {0};
    for (uint32_t n = 2; n <= 10; n++)
        for (int kind = PW_COLLECTIVE_ALL_GATHER; kind <= PW_COLLECTIVE_REDUCE_SCATTER; kind++) {
            pw_custom_algorithm ring = ring_list(kind, n, steps);
            if (pw_custom_check(NULL, &ring, &error) != PW_OK) PW_FAILED("n = %u: %s", n, error.what);
        }
    pw_custom_step swap[] = {{0, 0, 1, 1, 1, 0}, {0, 1, 0, 0, 1, 1}}; /* each has its own block of its own buffer */
    PW_EXPECT(pw_custom_check(NULL, &(pw_custom_algorithm){"swap", PW_COLLECTIVE_ALL_TO_ALL, 2, 2, swap, 2}, NULL) == PW_OK);
}

PW_TEST(a_list_that_does_not_is_refused_with_the_reason) {
    pw_custom_step steps[MOST];
    pw_custom_algorithm ring = ring_list(PW_COLLECTIVE_ALL_GATHER, MEMBERS, steps);
    ring.count--;
    refused(&ring, "\"mine\" does not do all_gather: rank 0 ends without block 1 of 6");
    ring.count++;
    steps[0].block = 3;
    refused(&ring, "round 0: rank 0 sends block 3 of 6 to rank 1 and does not hold it");
    pw_custom_step twice[] = {{0, 0, 1, 0, 1, 0}, {1, 1, 2, 0, 1, 1}, {2, 0, 2, 0, 1, 0}};
    refused(&(pw_custom_algorithm){"twice", PW_COLLECTIVE_REDUCE, 3, 1, twice, 3}, "at rank 2 would count rank 0 twice");
    pw_custom_step away[] = {{0, 0, 1, 0, 1, 0}};
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_REDUCE, 2, 1, away, 1}, "rank 0 ends without rank 1's part of block 0 of 1");
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_TO_ALL, 2, 2, away, 1}, "rank 0 ends without block 0 of 2 from rank 1");
    away[0].round = 1;
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_REDUCE, 2, 1, away, 1}, "step 1 of \"away\" is of round 1");
    away[0] = (pw_custom_step){0, 0, 2, 0, 1, 0};
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_REDUCE, 2, 1, away, 1}, "from rank 0 to rank 2 of 2");
    away[0] = (pw_custom_step){0, 0, 1, 1, 1, 0};
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_REDUCE, 2, 1, away, 1}, "carries 1 blocks from block 1 on, of 1");
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_GATHER, 2, 3, away, 1}, "into 3 blocks");
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_GATHER, 1, 1, away, 1}, "2 to 1024 can be checked");
    refused(&(pw_custom_algorithm){"away", PW_COLLECTIVE_ALL_GATHER, 2, 2, away, 0}, "has no steps");
}

PW_TEST(a_list_takes_the_time_of_its_messages) {
    test_bench bench = test_open("DGX H100", 1, SINGLE_SWITCH, false);
    uint32_t gpus[8];
    pw_custom_step steps[MOST];
    for (uint32_t n = 2; n <= 8; n++) {
        pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
        pw_custom_algorithm ring = ring_list(PW_COLLECTIVE_ALL_GATHER, n, steps);
        int mine = 0;
        PW_EXPECT(pw_collectives_variant(bench.collectives, CUSTOM, &(pw_collective_options){.custom = &ring}, &mine, NULL) == PW_OK);
        PW_EXPECT(mine >= ALL_ALGORITHMS);
        PW_EXPECT_TEXT(pw_collectives_algorithm_name(bench.collectives, mine), "mine");
        pw_collective_cost own = test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, mine, &shape, 1e8);
        PW_EXPECT_INT(own.algorithm, mine);
        PW_EXPECT_NEAR(own.total_s, test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, RING, &shape, 1e8).total_s, 1e-12);
        pw_group_shape other = test_group(&bench, 0, 1, n == 2 ? 3 : n - 1, gpus);
        pw_collective_cost cost;
        pw_error error = {0};
        PW_EXPECT(pw_collective_cost_of(bench.collectives, PW_COLLECTIVE_ALL_GATHER, mine, &other, 1e8, &cost, &error) == PW_UNSUPPORTED);
        PW_EXPECT_CONTAINS(error.what, "the algorithm mine cannot do all_gather");
    }
    test_close(&bench);
}

PW_TEST(what_auto_finds_keeps_the_options) {
    test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, true);
    uint32_t gpus[32];
    pw_group_shape shape = test_group(&bench, 0, 1, 32, gpus);
    int variant = 0;
    PW_EXPECT(pw_collectives_variant(bench.collectives, PW_ALGORITHM_AUTO, &(pw_collective_options){.pieces = 3}, &variant, NULL) == PW_OK);
    PW_EXPECT_TEXT(pw_collectives_algorithm_name(bench.collectives, variant), "auto");
    for (double S = 1e4; S < 1e10; S *= 100) {
        pw_collective_cost plain = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, PW_ALGORITHM_AUTO, &shape, S);
        pw_collective_cost cut = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, variant, &shape, S);
        pw_group_shape with = shape;
        const pw_algorithm *row = pw_collectives_algorithm(bench.collectives, cut.algorithm, &with);
        PW_EXPECT(row == &pw_algorithm_table[plain.algorithm]);
        PW_EXPECT(with.options && with.options->pieces == 3);
        PW_EXPECT(plain.total_s == cut.total_s);
    }
    test_close(&bench);
}

/* Auto thinks of the four algorithms that libraries have, until rows of others are measured. */
PW_TEST(auto_takes_no_algorithm_that_was_not_measured) {
    for (int calibrated = 0; calibrated < 2; calibrated++) {
        test_bench bench = test_open("DGX H100", 4, RAIL_OPTIMIZED, calibrated);
        uint32_t gpus[32];
        for (uint32_t n = 2; n <= 32; n += 3)
            for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
                pw_group_shape shape = test_group(&bench, 0, 1, n, gpus);
                for (double S = 1; S < 1e10; S *= 1000)
                    PW_EXPECT(test_cost(&bench, kind, PW_ALGORITHM_AUTO, &shape, S).algorithm < ALGORITHMS);
            }
        test_close(&bench);
    }
}

PW_TEST(options_that_do_not_fit_are_refused) {
    test_bench bench = test_open("DGX H100", 1, SINGLE_SWITCH, false);
    double nothing[64] = {0}, negative[64] = {0};
    negative[1] = -1;
    const struct {
        int algorithm;
        pw_collective_kind kind;
        pw_collective_options options;
        const char *part;
    } cases[] = {{PAT, PW_COLLECTIVE_ALL_GATHER, {.pieces = 4}, "does not cut its messages"},
                 {RING, PW_COLLECTIVE_ALL_GATHER, {.pieces = 4}, "the ring of all_gather does not cut"},
                 {CHAIN, PW_COLLECTIVE_BROADCAST, {.pieces = 5000}, "4,096 pieces at most"},
                 {RING, PW_COLLECTIVE_ALL_REDUCE, {.dimensions = 2, .extents = {4, 2}}, "ring has no dimensions"},
                 {HIERARCHICAL, PW_COLLECTIVE_ALL_REDUCE, {.dimensions = 2, .extents = {4, 0}}, "dimension 2 of a collective"},
                 {HIERARCHICAL, PW_COLLECTIVE_ALL_REDUCE, {.dimensions = 2, .extents = {4, 3}}, "hierarchical cannot do all_reduce"},
                 {DIRECT, PW_COLLECTIVE_ALL_TO_ALL, {.imbalance = 2}, "all_to_all is not uneven"},
                 {DIRECT, PW_COLLECTIVE_ALL_TO_ALL_V, {.imbalance = 0.5}, "imbalance of 0.5"},
                 {DIRECT, PW_COLLECTIVE_ALL_TO_ALL_V, {.imbalance = 9}, "no member of 8 gets 9 times"},
                 {DIRECT, PW_COLLECTIVE_ALL_TO_ALL_V, {.matrix = nothing}, "nobody sends"},
                 {DIRECT, PW_COLLECTIVE_ALL_TO_ALL_V, {.matrix = negative}, "cannot send member 1"},
                 {CUSTOM, PW_COLLECTIVE_ALL_GATHER, {.pieces = 0}, "do not go together"}};
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int variant = 0;
        pw_error error = {0};
        pw_collective_cost cost;
        pw_status status = pw_collectives_variant(bench.collectives, cases[i].algorithm, &cases[i].options, &variant, &error);
        if (status == PW_OK) status = pw_collective_cost_of(bench.collectives, cases[i].kind, variant, &shape, 1e6, &cost, &error);
        PW_EXPECT(status == PW_BAD_INPUT || status == PW_UNSUPPORTED);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
    }
    test_close(&bench);
}

PW_TEST(failed_allocations_of_variants_leave_nothing_behind) {
    test_bench bench = test_open("DGX H100", 1, SINGLE_SWITCH, false);
    int failures = 0;
    for (unsigned long long at = 1; at < 60; at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        pw_collectives *made = NULL;
        int variant = 0;
        PW_EXPECT(pw_collectives_create(&counting.allocator, test_catalogue(), bench.cluster, false, &made, NULL) == PW_OK);
        counting.fail_at = counting.calls + at;
        pw_status status = pw_collectives_variant(made, PW_ALGORITHM_AUTO, &(pw_collective_options){.pieces = 2}, &variant, NULL);
        PW_EXPECT(status == PW_OK || status == PW_NO_MEMORY);
        failures += status == PW_NO_MEMORY;
        pw_collectives_destroy(made);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(failures > ALL_ALGORITHMS);
    test_close(&bench);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
