/* The whole run: errors with place and hint, results that agree with themselves, limits. */
#include "tests/unit/workload/runs.h"

static pw_status attempt(pw_train_desc *desc, const char *server, int64_t nodes, pw_error *error) {
    pw_cluster_desc cluster = nodes_of(server, nodes);
    pw_train_result result;
    memset(error, 0, sizeof *error);
    return pw_train_run(NULL, catalogue(), &cluster, desc, NULL, "job.lua", 12, arena(), &result, error);
}

static void expect_refusal(const char *what, const char *hint, void (*spoil)(pw_train_desc *)) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, NULL, 8192, 64);
    desc.tensor_parallel = 2;
    pw_error error;
    spoil(&desc);
    pw_status status = attempt(&desc, "DGX H100", 2, &error);
    PW_EXPECT(status != PW_OK);
    PW_EXPECT_CONTAINS(error.what, what);
    PW_EXPECT_CONTAINS(error.hint, hint);
    PW_EXPECT_TEXT(error.file, "job.lua");
    PW_EXPECT_INT(error.line, 12);
}

static void too_many_heads(pw_train_desc *d) { d->tensor_parallel = 64; }
static void odd_heads(pw_train_desc *d) { d->tensor_parallel = 3; }
static void odd_stages(pw_train_desc *d) { d->pipeline_parallel = 3; }
static void few_kv_heads(pw_train_desc *d) { d->tensor_parallel = 16; }
static void too_many_gpus(pw_train_desc *d) { d->pipeline_parallel = 32; }
static void wrong_product(pw_train_desc *d) { d->data_parallel = 3; }
static void wrong_batch(pw_train_desc *d) { d->global_batch = 63; }
static void empty_stages(pw_train_desc *d) { d->pipeline_parallel = 8; d->model->layers = 5; d->global_batch = 64; }
static void odd_micro_batches(pw_train_desc *d) { d->pipeline_parallel = 4; d->virtual_stages = 2; d->global_batch = 4; }
static void no_pipeline(pw_train_desc *d) { d->virtual_stages = 2; }
static void no_sequence(pw_train_desc *d) { d->sequence = 0; }
static void absurd_sequence(pw_train_desc *d) { d->sequence = 1000000000; d->micro_batch = 64; d->global_batch = 6400; }
static void unknown_stack(pw_train_desc *d) { d->stack = "megatron-1066"; }
static void narrow_format(pw_train_desc *d) { d->precision = PW_PRECISION_FP4; }
static void odd_context(pw_train_desc *d) { d->sequence = 8190; d->context_parallel = 4; }
static void no_flash(pw_train_desc *d) { d->context_parallel = 2; d->flash_attention = 0; }
static void no_model(pw_train_desc *d) { d->model = NULL; }
static void negative_copies(pw_train_desc *d) { d->data_parallel = -1; }
static void no_bucket(pw_train_desc *d) { d->bucket_bytes = 0; }
static void no_such_switch(pw_train_desc *d) { d->overlap_gradients = 3; }
static void no_such_schedule(pw_train_desc *d) { d->schedule = 9; }
static void bad_head(pw_train_desc *d) { d->model->heads = 33; }
static void odd_tokens(pw_train_desc *d) { d->sequence = 8191; }
static void interleaved_gpipe(pw_train_desc *d) { d->pipeline_parallel = 2; d->virtual_stages = 2; d->schedule = PW_SCHEDULE_GPIPE; }

PW_TEST(bad_plans_are_refused_with_place_and_hint) {
    expect_refusal("tensor_parallel 64 is above the model's 32 heads", "whole heads", too_many_heads);
    expect_refusal("tensor_parallel 3 does not divide the model's heads 32", "divides heads", odd_heads);
    expect_refusal("16 GPUs are not a multiple of 6", "must divide the GPUs", odd_stages);
    expect_refusal("tensor_parallel 16 does not divide the model's kv_heads 8", "divides heads", few_kv_heads);
    expect_refusal("need 64 GPUs, the cluster has 16", "cluster larger", too_many_gpus);
    expect_refusal("use 6 GPUs, the cluster has 16", "leave data_parallel out", wrong_product);
    expect_refusal("global_batch 63 is not a multiple of data_parallel 8", "take global_batch 56 or 64", wrong_batch);
    expect_refusal("5 layers do not fill pipeline_parallel 8 x 1 chunks", "count as a layer each", empty_stages);
    expect_refusal("2 micro-batches are not a multiple of pipeline_parallel 4", "in groups of", odd_micro_batches);
    expect_refusal("virtual_stages 2 needs a pipeline", "at least 2", no_pipeline);
    expect_refusal("train.sequence is 0", "Tokens of a sequence", no_sequence);
    expect_refusal("too many tokens", "beyond any", absurd_sequence);
    expect_refusal("no software stack is called 'megatron-1066'", "megatron-2021", unknown_stack);
    expect_refusal("H100-SXM5-80GB has no fp4 arithmetic", "another precision or GPU", narrow_format);
    expect_refusal("sequence 8190 is not a multiple of 2 x context_parallel 4", "two equal slices", odd_context);
    expect_refusal("context parallel needs flash attention", "flash_attention", no_flash);
    expect_refusal("train.model is missing", "The model to train", no_model);
    expect_refusal("train.data_parallel is -1", "Copies of the model", negative_copies);
    expect_refusal("train.bucket_bytes is 0", "gradient bucket", no_bucket);
    expect_refusal("train.overlap_gradients has no choice number 3", "", no_such_switch);
    expect_refusal("train.schedule has no choice number 9", "", no_such_schedule);
    expect_refusal("hidden 4096 is not a multiple of model.heads 33", "head_dim", bad_head);
    expect_refusal("tensor_parallel 2 does not divide 8191 tokens", "sequence_parallel", odd_tokens);
    expect_refusal("cannot run as gpipe", "1f1b", interleaved_gpipe);
}

PW_TEST(a_precision_that_the_gpu_lacks_is_refused) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, NULL, 2048, 64);
    desc.precision = PW_PRECISION_FP8;
    pw_error error;
    PW_EXPECT_INT(attempt(&desc, "DGX A100 640GB", 1, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "has no fp8 arithmetic");
}

PW_TEST(a_plan_that_does_not_fit_shows_its_account_and_a_way_out) {
    pw_model_desc model = preset("llama3-70b");
    pw_train_desc desc = job(&model, NULL, 8192, 64);
    desc.tensor_parallel = 4;
    pw_error error;
    PW_EXPECT_INT(attempt(&desc, "DGX H100", 4, &error), PW_DOES_NOT_FIT);
    PW_EXPECT_CONTAINS(error.what, "stage 0 needs");
    PW_EXPECT_CONTAINS(error.what, "weights");
    PW_EXPECT_CONTAINS(error.what, "activations");
    PW_EXPECT_CONTAINS(error.what, "reserve");
    PW_EXPECT_CONTAINS(error.hint, "the nearest plan that fits: ");
    PW_EXPECT_TEXT(error.file, "job.lua");
}

PW_TEST(layers_that_need_the_ends_counted_run_with_shorter_ends) {
    pw_model_desc model = preset("llama3-8b");
    model.layers = 14;
    pw_train_desc desc = job(&model, NULL, 4096, 64);
    desc.pipeline_parallel = 4;
    pw_train_result result = run_plain(&desc, "DGX H100", 1, false);
    const uint32_t layers[] = {3, 4, 4, 3};
    PW_EXPECT_INT(result.stage_count, 4);
    for (uint32_t i = 0; i < 4; i++) PW_EXPECT_INT(result.stages[i].layers, layers[i]);
}

PW_TEST(results_agree_with_themselves) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, NULL, 4096, 64);
    desc.tensor_parallel = 2;
    desc.pipeline_parallel = 2;
    pw_train_result r = run_plain(&desc, "DGX H100", 1, false), again = run_plain(&desc, "DGX H100", 1, false);
    PW_EXPECT(r.hash == again.hash && r.step_s == again.step_s);
    PW_EXPECT_INT(r.gpus, 8);
    PW_EXPECT_INT(r.data_parallel, 2);
    PW_EXPECT_INT(r.micro_batches, 32);
    PW_EXPECT_NEAR(r.tokens_per_s * r.step_s, 64.0 * 4096, 1e-12);
    PW_EXPECT_NEAR(r.mfu, pw_model_flops_per_token(&model, 4096, true) * r.tokens_per_s / 8 / 989.4e12, 1e-3);
    PW_EXPECT(r.mfu > 0.2 && r.mfu < 0.8 && r.mfu_full > r.mfu);
    PW_EXPECT_CONTAINS(r.mfu_convention, "causal");
    PW_EXPECT_CONTAINS(r.mfu_convention, "bf16 peak 989");
    double parts = 0;
    for (uint32_t i = 0; i < r.part_count; i++) parts += r.parts[i].seconds;
    PW_EXPECT_NEAR(parts, r.step_s, 1e-9);
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < r.stage_count; i++) ranks += r.stages[i].ranks;
    PW_EXPECT_INT(ranks, 8);
    PW_EXPECT(r.note_count >= 5);
}

/* The note is there exactly when the step and the memory are those of recompute = "none". */
PW_TEST(recompute_that_changes_nothing_is_noted) {
    pw_model_desc model = preset("llama3-8b");
    for (int flash = 0; flash < 2; flash++) {
        pw_train_desc desc = job(&model, "nemo-2024", 4096, 64);
        desc.tensor_parallel = 2;
        desc.flash_attention = flash;
        pw_train_result of[3];
        bool noted[3] = {false, false, false};
        for (int recompute = PW_RECOMPUTE_NONE; recompute <= PW_RECOMPUTE_FULL; recompute++) {
            desc.recompute = recompute;
            of[recompute] = run_plain(&desc, "DGX H100", 1, false);
            for (uint32_t i = 0; i < of[recompute].note_count; i++)
                noted[recompute] |= strstr(of[recompute].notes[i], "changes nothing") != NULL;
        }
        bool same = of[PW_RECOMPUTE_SELECTIVE].hash == of[PW_RECOMPUTE_NONE].hash &&
                    of[PW_RECOMPUTE_SELECTIVE].stages[0].memory.total == of[PW_RECOMPUTE_NONE].stages[0].memory.total;
        PW_EXPECT_INT(same, flash);
        PW_EXPECT_INT(noted[PW_RECOMPUTE_SELECTIVE], same);
        PW_EXPECT(!noted[PW_RECOMPUTE_NONE] && !noted[PW_RECOMPUTE_FULL]);
    }
}

PW_TEST(overlap_never_costs_time) {
    pw_model_desc model = preset("llama3-8b");
    for (int which = 0; which < 3; which++) {
        pw_train_desc desc = job(&model, NULL, 4096, 128);
        desc.pipeline_parallel = 2;
        double step[2];
        for (int on = 0; on < 2; on++) {
            desc.overlap_gradients = which == 0 ? on : 1;
            desc.overlap_parameters = which == 1 ? on : 1;
            desc.overlap_pipeline = which == 2 ? on : 1;
            step[on] = run_plain(&desc, "DGX H100", 4, false).step_s;
        }
        PW_EXPECT(step[1] <= step[0]);
    }
}

PW_TEST(a_slower_clock_and_a_host_that_launches_cost_time) {
    pw_model_desc model = preset("gpt3-125m");
    pw_train_desc desc = job(&model, NULL, 1024, 64);
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_run_options options = {.ignore_memory = true, .clock_ratio = 1};
    pw_train_result fast, slow, graphs;
    pw_error error = {0};
    must(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, NULL, 0, arena(), &fast, &error), &error);
    options.clock_ratio = 0.5;
    must(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, NULL, 0, arena(), &slow, &error), &error);
    options.clock_ratio = 1;
    desc.cuda_graphs = 1;
    must(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, NULL, 0, arena(), &graphs, &error), &error);
    PW_EXPECT(slow.step_s > fast.step_s || slow.stages[0].launch_wait_s > 0);
    PW_EXPECT(graphs.step_s < fast.step_s); /* launches decide small models */
    PW_EXPECT_NEAR(graphs.stages[0].launch_wait_s, 0, 1e-12);
}

/* 405 billion parameters on 2,048 GPUs: a folded step needs little. */
PW_TEST(a_large_job_stays_within_its_memory) {
    pw_model_desc model = preset("llama3-405b");
    pw_train_desc desc = job(&model, NULL, 8192, 2048);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 16;
    desc.virtual_stages = 2;
    pw_cluster_desc cluster = nodes_of("DGX H100", 256);
    pw_run_options options = {.ignore_memory = true};
    pw_train_result result;
    pw_error error = {0};
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_arena *own = pw_arena_create(&counting.allocator);
    must(pw_train_run(&counting.allocator, catalogue(), &cluster, &desc, &options, NULL, 0, own, &result, &error), &error);
    PW_EXPECT(result.mfu > 0.3 && result.mfu < 0.7);
    PW_EXPECT(counting.peak_bytes < 500e6);
    PW_EXPECT(result.totals.operations < 3000000);
    pw_arena_destroy(own);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(a_failed_allocation_ends_the_run_and_leaks_nothing) {
    pw_model_desc model = preset("gpt3-125m");
    pw_train_desc desc = job(&model, NULL, 1024, 16);
    desc.pipeline_parallel = 2;
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_counting_allocator counting;
    for (unsigned long long n = 1;; n += 1 + n / 16) {
        pw_counting_allocator_init(&counting);
        counting.fail_at = n;
        pw_arena *own = pw_arena_create(&counting.allocator);
        if (!own) continue;
        pw_train_result result;
        pw_error error = {0};
        pw_status status = pw_train_run(&counting.allocator, catalogue(), &cluster, &desc, NULL, NULL, 0, own, &result, &error);
        unsigned long long calls = counting.calls;
        pw_arena_destroy(own);
        PW_EXPECT_INT(counting.live_bytes, 0);
        if (calls < n) {
            PW_EXPECT_INT(status, PW_OK);
            break;
        }
        if (status != PW_NO_MEMORY) PW_FAILED("allocation %llu: %s", n, pw_status_text(status));
    }
}

/* Sizes that no computer could step through are refused at once, by the work they make and not by one number alone. */
static void many_micro_batches(pw_train_desc *d) { d->global_batch = 1000000000; }
static void many_layers(pw_train_desc *d) { d->global_batch = 80000; d->model->layers = 10000; }
static void long_ring(pw_train_desc *d) { d->global_batch = 1000000; d->context_parallel = 8; }

PW_TEST(steps_of_too_many_operations_are_refused) {
    expect_refusal("too many to simulate", "larger micro_batch", many_micro_batches);
    expect_refusal("10000 layers", "larger micro_batch", many_layers);
    expect_refusal("too many to simulate", "larger micro_batch", long_ring);
}

PW_TEST(a_step_beyond_the_last_tick_is_no_deadlock) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, NULL, 1000000000, 8);
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_run_options options = {.ignore_memory = true};
    pw_train_result result;
    pw_error error = {0};
    pw_status status = pw_train_run(NULL, catalogue(), &cluster, &desc, &options, "job.lua", 1, arena(), &result, &error);
    PW_EXPECT_INT(status, PW_OUT_OF_RANGE);
    PW_EXPECT_CONTAINS(error.what, "longer than 107 days");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
