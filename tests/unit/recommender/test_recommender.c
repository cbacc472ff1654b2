/* Recommenders: counts, what travels between the holders of tables and of samples, memory, and what cannot be. */
#include "models/workload/recommender/plan.h"
#include "tests/harness/catalogue.h"

static pw_recommender_desc job(const char *model, int64_t batch) {
    pw_error error = {0};
    pw_recommender_desc desc;
    must(pw_description_defaults(&pw_recommender_kind, &desc, arena(), &error), &error);
    desc.model = pw_arena_alloc(arena(), sizeof *desc.model);
    must(pw_recommender_preset(catalogue(), model, desc.model, arena(), &error), &error);
    desc.batch = batch;
    return desc;
}

static pw_status try_run(const pw_recommender_desc *desc, int64_t gpus, bool ignore_memory, bool unfolded, pw_recommender_result *result,
                         pw_error *error) {
    pw_cluster_desc cluster;
    must(pw_description_defaults(&pw_cluster_kind, &cluster, arena(), error), error);
    cluster.node.server = "DGX A100";
    cluster.node.gpu = "A100-SXM4-80GB";
    cluster.node.gpus = gpus;
    pw_run_options options = {.plain = true, .ignore_memory = ignore_memory, .unfolded = unfolded};
    return pw_recommender_run(NULL, catalogue(), &cluster, desc, &options, "job.lua", 1, arena(), result, error);
}

static pw_recommender_result run(const pw_recommender_desc *desc, int64_t gpus, bool unfolded) {
    pw_recommender_result result;
    pw_error error = {0};
    must(try_run(desc, gpus, true, unfolded, &result, &error), &error);
    return result;
}

PW_TEST(weights_and_flops_are_those_of_the_perceptrons) {
    pw_recommender_desc desc = job("dlrm-small", 65536);
    const double pairs = 128 + 27 * 26 / 2;
    double bottom = 13 * 512 + 512 * 256 + 256 * 128, top = pairs * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;
    PW_EXPECT_INT(pw_recommender_pairs(desc.model), 479);
    PW_EXPECT_NEAR(pw_recommender_mlp_parameters(desc.model), bottom + top + (512 + 256 + 128) + (1024 + 1024 + 512 + 256 + 1), 0);
    PW_EXPECT_NEAR(run(&desc, 1, false).totals.flops, 65536 * 2 * (3 * (bottom + top) - 13 * 512), 1e-9);
    PW_EXPECT_NEAR(run(&desc, 8, false).totals.flops, 65536 * 2 * (3 * (bottom + top) - 13 * 512), 1e-9);
}

PW_TEST(vectors_go_out_and_their_gradients_come_back) {
    pw_recommender_desc desc = job("dlrm-small", 65536);
    pw_recommender_result ran = run(&desc, 8, false);
    double vectors = 65536 * 26.0 * 128 * 2, gradients = 8 * 4 * pw_recommender_mlp_parameters(desc.model);
    PW_EXPECT_NEAR(ran.totals.collective_bytes, 2 * vectors + gradients, 1e-12);
    PW_EXPECT_NEAR(run(&desc, 1, false).totals.collective_bytes, 0, 0);
}

PW_TEST(folding_changes_nothing) {
    pw_recommender_desc desc = job("dlrm-small", 65536);
    for (int64_t gpus = 2; gpus <= 8; gpus *= 2) {
        pw_recommender_result folded = run(&desc, gpus, false), whole = run(&desc, gpus, true);
        PW_EXPECT_NEAR(folded.step_s, whole.step_s, 1e-9);
        PW_EXPECT_INT(folded.totals.classes, gpus == 2 ? 1 : 2); /* 26 tables: some have one more */
    }
}

PW_TEST(more_lookups_take_longer_and_more_gpus_less) {
    pw_recommender_desc desc = job("dlrm-small", 65536);
    double one = run(&desc, 1, false).step_s;
    PW_EXPECT(run(&desc, 8, false).step_s < 0.4 * one);
    desc.model->lookups = 10;
    PW_EXPECT(run(&desc, 1, false).step_s > 1.5 * one);
}

PW_TEST(tables_that_do_not_fit_say_how_many_gpus_would_hold_them) {
    pw_recommender_desc desc = job("dlrm-large", 65536);
    pw_recommender_result result;
    pw_error error = {0};
    PW_EXPECT_INT(try_run(&desc, 1, false, false, &result, &error), PW_DOES_NOT_FIT);
    PW_EXPECT_CONTAINS(error.hint, "2 GPUs would hold the tables");
    PW_EXPECT_INT(try_run(&desc, 2, false, false, &result, &error), PW_OK);
    PW_EXPECT_NEAR(result.memory.embeddings, 178e6 / 2 * 128 * 4, 1e-12);
}

PW_TEST(what_cannot_be_is_refused) {
    pw_recommender_desc desc = job("dlrm-small", 65537);
    pw_recommender_result result;
    pw_error error = {0};
    PW_EXPECT_INT(try_run(&desc, 8, true, false, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "recommender.batch 65537");
    desc.batch = 65536;
    desc.stack = "dlrm-1999";
    PW_EXPECT_INT(try_run(&desc, 8, true, false, &result, &error), PW_NOT_FOUND);
    desc.stack = NULL;
    desc.precision = PW_PRECISION_FP8;
    PW_EXPECT_INT(pw_description_check(&pw_recommender_kind, &desc, "job.lua", 1, &error), PW_UNSUPPORTED);
    desc.precision = PW_PRECISION_FP16;
    desc.model->width = 64;
    PW_EXPECT_INT(pw_description_check(&pw_recommender_kind, &desc, "job.lua", 1, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "bottom ends with a width of 128");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
