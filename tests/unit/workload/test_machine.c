/* What every training job runs on: each factor on kernel time is there once. */
#include <math.h>

#include "models/workload/machine.h"
#include "models/workload/stack.h"
#include "tests/unit/workload/runs.h"

static double factor_of(const pw_run_options *options, double stack_factor, uint32_t ranks, double *clock_ratio) {
    pw_error error = {0};
    pw_machine machine;
    pw_job job = {.ranks = ranks};
    pw_cluster_desc desc = nodes_of("DGX H100", 1);
    must(pw_machine_open(NULL, catalogue(), &desc, &machine, &error), &error);
    must(pw_machine_prepare(&machine, NULL, catalogue(), options, PW_PRECISION_BF16, stack_factor, NULL, arena(), &job, &error), &error);
    *clock_ratio = machine.clock_ratio;
    pw_machine_close(&machine);
    return job.kernel_time_factor;
}

PW_TEST(stack_and_slowest_rank_multiply_and_a_given_factor_replaces_the_stack_alone) {
    pw_error error = {0};
    pw_variability_desc v;
    double clock;
    must(pw_variability_resolve(catalogue(), NULL, &v, &error), &error);
    double slowest = 1 + pw_variability_slowest(&v, 1024);
    PW_EXPECT(slowest > 1.01);
    PW_EXPECT_NEAR(factor_of(&(pw_run_options){0}, 1.25, 1024, &clock), 1.25 * slowest, 1e-15);
    PW_EXPECT(clock > 0.5 && clock < 1); /* sustained */
    PW_EXPECT_NEAR(factor_of(&(pw_run_options){.kernel_time_factor = 1.5, .clock_ratio = 0.75}, 1.25, 1024, &clock), 1.5 * slowest, 1e-15);
    PW_EXPECT_NEAR(clock, 0.75, 0);
    PW_EXPECT_NEAR(factor_of(&(pw_run_options){.plain = true}, 1.25, 1024, &clock), 1, 0);
    PW_EXPECT_NEAR(clock, 1, 0);
}

PW_TEST(more_stragglers_than_ranks_are_refused) {
    pw_error error = {0};
    pw_machine machine;
    pw_job job = {.ranks = 8};
    pw_variability_desc v;
    pw_cluster_desc desc = nodes_of("DGX H100", 1);
    must(pw_description_defaults(&pw_variability_kind, &v, arena(), &error), &error);
    v.stragglers = 9;
    must(pw_machine_open(NULL, catalogue(), &desc, &machine, &error), &error);
    PW_EXPECT_INT(pw_machine_prepare(&machine, NULL, catalogue(), &(pw_run_options){0}, PW_PRECISION_BF16, 1, &v, arena(), &job, &error),
                  PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "9");
    pw_machine_close(&machine);
}

PW_TEST(notes_keep_their_order_however_many_there_are) {
    pw_notes notes = {.arena = arena()};
    for (int i = 0; i < 100; i++) pw_note(&notes, "note %d", i);
    PW_EXPECT_INT(notes.count, 100);
    PW_EXPECT(!notes.out_of_memory);
    PW_EXPECT_TEXT(notes.items[0], "note 0");
    PW_EXPECT_TEXT(notes.items[99], "note 99");
}

PW_TEST(a_stack_without_a_row_has_a_factor_of_one) {
    pw_error error = {0};
    double factor = 0;
    must(pw_stack_factor(catalogue(), "no such stack", &factor, &error), &error);
    PW_EXPECT_NEAR(factor, 1, 0);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
