/* Laws: every kind of job of the table can be found, described and run, and nothing of a result is lost on its way to a report. */
#include <stdlib.h>

#include "scenarios/jobs/jobs.h"
#include "scenarios/jobs/train.h"
#include "tests/harness/check.h"

static pw_arena *arena;
static pw_catalogue *catalogue;
static pw_error error;

static double figure(const pw_run_result *result, const char *name) {
    for (uint32_t i = 0; i < result->figure_count; i++)
        if (strcmp(result->figures[i].name, name) == 0) return result->figures[i].value;
    PW_FAILED("no figure %s", name);
    return NAN;
}

PW_TEST(the_tables_of_kinds_agree) {
    size_t count = 0;
    for (; pw_job_kinds[count]; count++) {
        const pw_job_kind *kind = pw_job_kinds[count];
        PW_EXPECT(kind->kind == pw_job_registry_kinds[count]);
        PW_EXPECT(pw_job_kind_of(kind->kind) == kind);
        PW_EXPECT(kind->run != NULL);
        PW_EXPECT(!kind->suite || kind->answers);
    }
    PW_EXPECT(count >= 1 && pw_job_registry_kinds[count] == NULL);
    PW_EXPECT(pw_job_kind_of(&pw_cluster_kind) == NULL);
}

static pw_model_desc model;
static pw_cluster_desc cluster;
static pw_train_desc job;

static void describe_small_job(void) {
    pw_status status = pw_description_defaults(&pw_cluster_kind, &cluster, arena, &error);
    if (!status) status = pw_description_defaults(&pw_train_kind, &job, arena, &error);
    if (!status) status = pw_model_preset(catalogue, "llama2-7b", &model, arena, &error);
    if (status) abort();
    cluster.node.server = "DGX H100";
    cluster.nodes = 1;
    job.model = &model;
    job.sequence = 4096;
    job.global_batch = 16;
    job.tensor_parallel = 2;
    job.pipeline_parallel = 2;
}

PW_TEST(a_training_run_says_all_that_its_model_says) {
    describe_small_job();
    pw_job_call call = {.catalogue = catalogue, .cluster = &cluster, .desc = &job, .seed = 1, .file = "a.lua", .line = 3};
    pw_run_result result = {.arena = arena};
    const pw_job_kind *kind = pw_job_kind_of(&pw_train_kind);
    PW_EXPECT_INT(kind->run(&call, &result, &error), PW_OK);
    const pw_run_options options = {.seed = 1};
    pw_train_result train;
    PW_EXPECT_INT(pw_train_run(NULL, catalogue, &cluster, &job, &options, "a.lua", 3, arena, &train, &error), PW_OK);
    PW_EXPECT(result.hash == train.hash && result.gpus == 8 && result.device == train.device);
    PW_EXPECT_NEAR(figure(&result, "step_s"), train.step_s, 0);
    PW_EXPECT_NEAR(figure(&result, "tokens_per_s"), train.tokens_per_s, 0);
    PW_EXPECT_NEAR(figure(&result, "mfu"), train.mfu, 0);
    PW_EXPECT_NEAR(figure(&result, "micro_batches"), (double)train.micro_batches, 0);
    PW_EXPECT_TEXT(result.row_word, "stage");
    PW_EXPECT_INT(result.row_count, 2);
    PW_EXPECT_INT(result.note_count, train.note_count);
    for (uint32_t i = 0; i < 2; i++) {
        const pw_result_row *row = &result.rows[i];
        double sum = 0;
        for (uint32_t k = 0; k < row->memory_count; k++) sum += row->memory[k].value;
        PW_EXPECT_NEAR(sum, row->memory_total, 1e-9 * sum); /* the account is whole */
        PW_EXPECT_NEAR(row->compute_s, train.stages[i].compute_s, 0);
        PW_EXPECT_INT(row->ranks, 4);
    }
}
PW_TEST(options_reach_the_run) {
    describe_small_job();
    job.global_batch = 64;
    volatile int interrupt = 1;
    pw_job_call call = {.catalogue = catalogue, .cluster = &cluster, .desc = &job, .interrupt = &interrupt, .file = "a.lua", .line = 3};
    pw_run_result result = {.arena = arena};
    const pw_job_kind *kind = pw_job_kind_of(&pw_train_kind);
    PW_EXPECT_INT(kind->run(&call, &result, &error), PW_INTERRUPTED);
    job.tensor_parallel = 1;
    job.micro_batch = 16;
    call.interrupt = NULL;
    result = (pw_run_result){.arena = arena};
    PW_EXPECT_INT(kind->run(&call, &result, &error), PW_DOES_NOT_FIT);
    PW_EXPECT(error.line == 3);
    call.ignore_memory = true;
    result = (pw_run_result){.arena = arena};
    PW_EXPECT_INT(kind->run(&call, &result, &error), PW_OK);
    PW_EXPECT(result.row_count && result.rows[0].memory_total > result.rows[0].memory_capacity);
}
PW_TEST(a_description_has_figures_without_a_run) {
    describe_small_job();
    pw_run_result facts = {.arena = arena};
    pw_job_kind_of(&pw_train_kind)->describe(&job, &facts);
    PW_EXPECT_NEAR(figure(&facts, "model_parameters"), pw_model_parameters(&model), 0);
}
PW_TEST(a_session_brings_its_programs) {
    static const pw_program_result programs[] = {{"worker", 8, 1, 2, 3, 4}, {"server", 2, 5, 6, 7, 8}};
    static const pw_blame_part parts[] = {{"gemm", 1, 1}};
    const pw_session_result session = {.parts = parts, .part_count = 1, .home_program = "worker", .programs = programs, .hash = 7};
    pw_run_result result = {.arena = arena};
    pw_job_take_session(&result, &session, 2, "program");
    PW_EXPECT(result.row_count == 2 && result.hash == 7 && result.part_count == 1);
    PW_EXPECT_TEXT(result.rows[1].name, "server");
    PW_EXPECT(result.rows[1].compute_s == 5 && result.rows[1].communication_s == 6 && result.rows[1].idle_s == 8);
    PW_EXPECT(result.rows[0].launch_wait_s == 3 && result.rows[0].ranks == 8);
    pw_job_take_session(&result, &session, 2, "stage");
    PW_EXPECT(result.rows[0].name == NULL);
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) {
        printf("Bail out! %s\n", error.what);
        return 1;
    }
    int code = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return code;
}
