/* Which layers sit on which stage. */
#include "tests/unit/workload/runs.h"

static pw_model_desc model_of(int64_t layers) {
    pw_model_desc model = {.name = "layout", .layers = layers, .hidden = 1024, .heads = 8, .vocabulary = 1024};
    return model;
}

static pw_train_desc pipeline(pw_model_desc *model, int64_t p, int64_t v) {
    pw_train_desc desc = job(model, "nemo-2024", 512, 16);
    desc.pipeline_parallel = p;
    desc.virtual_stages = v;
    return desc;
}

static void expect_layers(const pw_train_desc *desc, const uint32_t *law) {
    pw_train_result result = run_plain(desc, "DGX H100", 1, false);
    for (uint32_t i = 0; i < result.stage_count; i++)
        if (result.stages[i].layers != law[i])
            PW_FAILED("schedule %d, stage %u holds %u layers, not %u", desc->schedule, i, result.stages[i].layers, law[i]);
}

static pw_list list_of(const int64_t *items, uint32_t count) { return (pw_list){items, count}; }

PW_TEST(layers_that_divide_are_spread_evenly_and_others_leave_room_at_the_ends) {
    const struct { int64_t layers, p, v; uint32_t stages[8]; } cases[] = {
        {16, 4, 1, {4, 4, 4, 4}}, {14, 4, 1, {3, 4, 4, 3}}, {14, 4, 2, {3, 4, 4, 3}},
        {15, 4, 1, {3, 4, 4, 4}}, {13, 4, 1, {2, 4, 4, 3}}, {9, 8, 1, {0, 1, 2, 1, 1, 2, 1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_model_desc model = model_of(cases[i].layers);
        pw_train_desc desc = pipeline(&model, cases[i].p, cases[i].v);
        uint32_t sum = 0;
        pw_train_result result = run_plain(&desc, "DGX H100", 1, false);
        for (uint32_t s = 0; s < result.stage_count; s++) sum += result.stages[s].layers;
        PW_EXPECT_INT(sum, cases[i].layers);
        expect_layers(&desc, cases[i].stages);
    }
}

PW_TEST(a_job_says_what_its_stages_hold) {
    pw_model_desc model = model_of(16);
    static const int64_t stages[] = {2, 6, 6, 2}, chunks[] = {1, 2, 3, 2, 1, 2, 3, 2}, apart[] = {0, 8, 8, 0};
    pw_train_desc desc = pipeline(&model, 4, 1);
    desc.stage_layers = list_of(stages, 4);
    expect_layers(&desc, (uint32_t[]){2, 6, 6, 2});
    desc.stage_layers = list_of(apart, 4); /* the embedding and the output layer alone */
    expect_layers(&desc, (uint32_t[]){0, 8, 8, 0});
    desc.virtual_stages = 2;
    desc.stage_layers = list_of(stages, 4);
    expect_layers(&desc, (uint32_t[]){2, 6, 6, 2});
    desc.stage_layers = list_of(chunks, 8);
    expect_layers(&desc, (uint32_t[]){2, 4, 6, 4});
    desc.virtual_stages = 1;
    desc.schedule = PW_SCHEDULE_ZB_V; /* chunks in order of the model: down the stages, and up */
    expect_layers(&desc, (uint32_t[]){3, 5, 5, 3});
}

PW_TEST(the_ends_may_hold_what_they_are_told) {
    pw_model_desc model = model_of(16);
    pw_train_desc desc = pipeline(&model, 4, 1);
    desc.first_stage_layers = 2;
    desc.last_stage_layers = 4;
    expect_layers(&desc, (uint32_t[]){2, 5, 5, 4});
    desc.first_stage_layers = 0;
    expect_layers(&desc, (uint32_t[]){4, 4, 4, 4});
    desc.last_stage_layers = 1;
    expect_layers(&desc, (uint32_t[]){5, 5, 5, 1});
    desc.last_stage_layers = 0;
    desc.model->layers = 15;
    desc.ends_in_split = PW_ENDS_OUTPUT;
    expect_layers(&desc, (uint32_t[]){4, 4, 4, 3});
    desc.ends_in_split = PW_ENDS_EMBEDDING;
    expect_layers(&desc, (uint32_t[]){3, 4, 4, 4});
}

/* The stage that holds most decides: a step with one heavy stage is longer than an even one, by its share. */
PW_TEST(an_uneven_split_costs_what_its_fullest_stage_costs) {
    pw_model_desc model = model_of(16);
    pw_train_desc desc = pipeline(&model, 4, 1);
    desc.global_batch = 512;
    double even = run_plain(&desc, "DGX H100", 1, false).step_s;
    static const int64_t heavy[] = {4, 2, 8, 2};
    desc.stage_layers = list_of(heavy, 4);
    double uneven = run_plain(&desc, "DGX H100", 1, false).step_s;
    PW_EXPECT(uneven > 1.7 * even && uneven < 2.05 * even);
}

static void refused(pw_train_desc desc, const char *what) {
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT(pw_train_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 1, arena(), &result, &error) != PW_OK);
    PW_EXPECT_CONTAINS(error.what, what);
}

PW_TEST(layouts_that_do_not_add_up_are_refused) {
    pw_model_desc model = model_of(16);
    static const int64_t odd[] = {3, 5, 5, 3}, few[] = {4, 4, 4, 3};
    pw_train_desc desc = pipeline(&model, 4, 1);
    desc.stage_layers = list_of(few, 4);
    refused(desc, "sum up to 15, but the model has 16 layers");
    desc.stage_layers = list_of(few, 3);
    refused(desc, "has 3 items for pipeline_parallel 4 x 1 chunks");
    desc.virtual_stages = 2;
    desc.stage_layers = list_of(odd, 4);
    refused(desc, "stage_layers[1] is 3, which does not divide into 2 chunks");
    desc = pipeline(&model, 4, 1);
    desc.first_stage_layers = 3;
    refused(desc, "13 layers are left for 3 stages of 1 chunks");
    desc.stage_layers = list_of(odd, 4);
    refused(desc, "so nothing else can");
    desc = pipeline(&model, 1, 1);
    desc.first_stage_layers = 3;
    refused(desc, "needs stages, but there is one");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
