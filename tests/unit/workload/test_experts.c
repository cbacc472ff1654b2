/* Models with experts, latent attention and prediction modules: sizes, executed FLOPs, volumes and memory against closed forms. */
#include "models/workload/plan.h"
#include <string.h>

#include "tests/unit/workload/runs.h"

/* 8 layers, the first dense; 16 experts of which 2 work on a token; shapes that divide, so that nothing is rounded. */
static pw_model_desc small(void) {
    pw_model_desc model = {.name = "small", .layers = 8, .hidden = 1024, .heads = 16, .kv_heads = 4, .ffn = 3584, .gated = true,
                           .vocabulary = 16384, .experts = 16, .experts_per_token = 2, .expert_ffn = 512, .dense_layers = 1};
    return model;
}

static double tokens_of(const pw_train_desc *desc) { return (double)desc->global_batch * (double)desc->sequence; }

PW_TEST(sizes_equal_published_ones) {
    const struct { const char *name; double all, active, tolerance; } cases[] = {
        {"mixtral-8x7b", 46.7e9, 12.9e9, 0.02},   {"mixtral-8x22b", 140.6e9, 39.1e9, 0.02}, {"deepseek-v2", 235.7e9, 21.4e9, 0.03},
        {"deepseek-v3", 671.0e9, 37.0e9, 0.02},   {"qwen3-235b-a22b", 235.1e9, 22.2e9, 0.04}, {"gpt-oss-120b", 116.83e9, 5.13e9, 0.01},
        {"gpt-oss-20b", 20.91e9, 3.61e9, 0.01},   {"grok-1", 314e9, 86e9, 0.03},            {"llama4-maverick", 400e9, 17e9, 0.06},
        {"llama4-scout", 108e9, 17e9, 0.06}}; /* Llama 4, Qwen3: published with the embedding */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_model_desc model = preset(cases[i].name);
        printf("# %s: %.4g of %.4g, active %.4g of %.4g\n", cases[i].name, pw_model_parameters(&model), cases[i].all,
               pw_model_active_parameters(&model), cases[i].active);
        PW_EXPECT_NEAR(pw_model_parameters(&model), cases[i].all, 0.01);
        PW_EXPECT_NEAR(pw_model_active_parameters(&model), cases[i].active, cases[i].tolerance);
    }
    pw_model_desc plain = preset("deepseek-v3"), predicts = preset("deepseek-v3-mtp");
    PW_EXPECT_NEAR(pw_model_parameters(&predicts) - pw_model_parameters(&plain), 11.6e9, 0.02); /* 14e9 less embedding and head */
}

/* Attention: 3.5 times the pairs' products, of which 1 is backward recomputation beyond the formula's 3. */
static double attention_flops(double layers, double sequence, double q, double v) {
    return 3.5 * 2 * (q + v) * layers * sequence * (sequence + 1) / 2;
}

PW_TEST(executed_flops_of_experts_are_six_times_the_active_weights) {
    const struct { int64_t t, p, e, et; bool apart; } cases[] = {{1, 1, 1, 1, false}, {1, 1, 8, 1, false}, {1, 2, 4, 1, false},
                                                                {2, 1, 8, 1, false}, {2, 2, 2, 2, false}, {1, 1, 4, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_model_desc model = small();
        if (cases[i].apart) model.shared_ffn = 1024;
        pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
        desc.tensor_parallel = cases[i].t;
        desc.pipeline_parallel = cases[i].p;
        desc.expert_parallel = cases[i].e;
        desc.expert_tensor_parallel = cases[i].et;
        double weights = 6 * pw_model_active_parameters(&model) * tokens_of(&desc);
        double formula = weights + 16 * attention_flops(8, 2048, 1024, 1024);
        PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops, formula, 1e-12);
    }
}

PW_TEST(executed_flops_of_latent_attention_and_prediction_equal_the_formula) {
    for (int64_t t = 1; t <= 2; t++)
        for (int64_t p = 1; p <= 2; p++) {
            pw_model_desc model = small();
            model.kv_heads = 0;
            model.head_dim = 64;
            model.query_rank = 256;
            model.latent_rank = 128;
            model.rotary_dim = 32;
            model.value_dim = 128;
            model.prediction_layers = 1;
            pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
            desc.tensor_parallel = t;
            desc.pipeline_parallel = p;
            desc.expert_parallel = 4;
            double weights = 6 * pw_model_active_parameters(&model) * tokens_of(&desc);
            double formula = weights + 16 * attention_flops(9, 2048, 16 * 96, 16 * 128);
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops, formula, 1e-12);
        }
}

/* 4 all_to_alls a layer and micro-batch of 2 s b h k bytes that leave a rank; gradients (2 bytes) scattered and parameters
 * gathered, experts over ranks that hold the same ones. A collective counts its size once per member. */
PW_TEST(expert_parallel_volume_is_four_exchanges_a_layer) {
    for (int64_t e = 2; e <= 8; e *= 2) {
        pw_model_desc model = small();
        pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
        desc.expert_parallel = e;
        double copies = 2.0 * 2048 * 1024 * 2, exchanges = 7 * 4 * 2 * copies; /* 7 layers, 2 micro-batches */
        double experts = 7.0 * 16 * 3 * 1024 * 512, all = pw_model_parameters(&model);
        double mine = experts / (double)e, wire = 2 + 2;
        double data = (all - experts) * wire + (e < 8 ? mine * wire : 0);
        PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * (exchanges + data), 1e-12);
        desc.sharding = PW_SHARDING_NONE; /* gradients are all-reduced, no parameters move */
        PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * (exchanges + data / 2), 1e-12);
    }
}

PW_TEST(a_token_that_travels_once_sends_less_and_never_more_than_its_copies) {
    pw_model_desc model = preset("deepseek-v3");
    double last = 0;
    for (int64_t ranks = 1; ranks <= 256; ranks *= 2) {
        double copies = pw_expert_copies(&model, ranks);
        PW_EXPECT(copies > last && copies <= fmin(8, (double)ranks) + 1e-9);
        last = copies;
    }
    PW_EXPECT_NEAR(pw_expert_copies(&model, 1), 1, 1e-12);
    PW_EXPECT_NEAR(pw_expert_copies(&model, 256), 8, 1e-12);
    pw_model_desc two = {.experts = 4, .experts_per_token = 2};
    PW_EXPECT_NEAR(pw_expert_copies(&two, 2), 2 - 1.0 / 3, 1e-12); /* the second shares the first one's rank 1 time in 3 */
}

PW_TEST(the_busiest_rank_sets_the_pace_and_capacity_bounds_it) {
    pw_model_desc model = small();
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 64);
    desc.micro_batch = 2;
    desc.expert_parallel = 8;
    double even = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.expert_imbalance = 1.5;
    double uneven = run_plain(&desc, "DGX H100", 1, false).step_s;
    PW_EXPECT(uneven > 1.05 * even && uneven < 1.5 * even);
    desc.expert_imbalance = 1;
    desc.expert_capacity = 1;
    PW_EXPECT(run_plain(&desc, "DGX H100", 1, false).step_s == even);
    desc.expert_capacity = 1.5;
    PW_EXPECT(run_plain(&desc, "DGX H100", 1, false).step_s == uneven);
}

PW_TEST(every_schedule_executes_the_flops_and_exchanges_of_experts) {
    const pw_field *field = pw_kind_field(&pw_train_kind, "schedule");
    double flops = 0, bytes = 0;
    for (int i = 0; field->choices[i]; i++) {
        pw_model_desc model = small();
        model.shared_ffn = 1024;
        pw_train_desc desc = job(&model, "nemo-2024", 2048, 64);
        desc.pipeline_parallel = 2;
        desc.expert_parallel = 4;
        desc.schedule = i;
        bool two = strstr(field->choices[i], "-v") || !strncmp(field->choices[i], "v-", 2) || strstr(field->choices[i], "dualpipev");
        if (two) desc.virtual_stages = 2;
        pw_train_result result = run_plain(&desc, "DGX H100", 1, false);
        if (!i) flops = result.totals.flops, bytes = result.totals.collective_bytes;
        PW_EXPECT_NEAR(result.totals.flops, flops, 1e-12);
        if (strcmp(field->choices[i], "dualpipe") != 0) /* whose ranks hold two stages' parameters */
            PW_EXPECT_NEAR(result.totals.collective_bytes, bytes, 1e-9);
    }
}

PW_TEST(a_model_that_does_not_fit_is_offered_more_expert_parallel) {
    pw_model_desc model = preset("qwen3-30b-a3b");
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 64);
    const char *text;
    pw_error error = {0};
    desc.recompute = PW_RECOMPUTE_FULL;
    must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 16, 8, &desc, arena(), &text, &error), &error);
    PW_EXPECT_CONTAINS(text, "expert_parallel = ");
}

PW_TEST(folded_experts_equal_unfolded_ones) {
    pw_model_desc model = small();
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
    desc.pipeline_parallel = 2;
    desc.tensor_parallel = 2;
    desc.expert_parallel = 4;
    PW_EXPECT(run_plain(&desc, "DGX H100", 2, false).step_s == run_plain(&desc, "DGX H100", 2, true).step_s);
}

PW_TEST(memory_of_experts_is_shared_over_expert_parallel_ranks) {
    pw_model_desc model = small();
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
    pw_error error = {0};
    desc.data_parallel = 8;
    desc.expert_parallel = 4;
    pw_memory_account account;
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), &desc, 0, &account, &error), &error);
    double experts = 7.0 * 16 * 3 * 1024 * 512 / 4, rest = pw_model_parameters(&model) - 4 * experts;
    PW_EXPECT_NEAR(account.weights, 2 * (rest + experts), 1e-12);
    PW_EXPECT_NEAR(account.optimizer, 12 * (rest / 8 + experts / 2), 1e-12);
    /* A token keeps: two norms' inputs and outputs, queries, keys, values, attention's output; a dense layer its inner widths,
     * a layer of experts its two copies with theirs, and scores and their gradients in fp32. */
    double attention = 2 * (2 + 2) * 1024 + 2 * (1024 + 2 * 256) + 2 * 1024;
    double dense = 2 * 3 * 3584, expert = 2 * (2 * 1024 + 2 * 3 * 512) + 2 * 4 * 16;
    PW_EXPECT_NEAR(account.activations, 2048 * (8 * attention + dense + 7 * expert), 1e-12);
    desc.recompute_modules = "layernorm moe_act mlp";
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), &desc, 0, &account, &error), &error);
    PW_EXPECT_NEAR(account.activations, 2048 * (8 * (attention - 2 * 2 * 1024) + 7 * (expert - 2 * 2 * 512)), 1e-12);
}

PW_TEST(recomputed_modules_cost_time_and_save_memory) {
    pw_model_desc model = small();
    model.kv_heads = 0;
    model.latent_rank = 256;
    static const char *const modules[] = {"core_attn", "layernorm", "mlp", "moe_act", "mla_up_proj", "moe_act, layernorm"};
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
    desc.expert_parallel = 4;
    double plain = run_plain(&desc, "DGX H100", 1, false).step_s;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        desc.recompute_modules = modules[i];
        PW_EXPECT(run_plain(&desc, "DGX H100", 1, false).step_s > plain);
    }
}

static void expect_refusal(const pw_train_desc *desc, const char *what) {
    pw_error error = {0};
    pw_plan plan;
    PW_EXPECT(pw_plan_make(catalogue(), device("H100-SXM5-80GB"), 16, desc, &plan, "job.lua", 9, &error) != PW_OK);
    PW_EXPECT_CONTAINS(error.what, what);
    PW_EXPECT_INT(error.line, 9);
    PW_EXPECT(error.hint[0] != '\0');
}

PW_TEST(expert_sizes_that_do_not_fit_are_refused) {
    pw_model_desc model = small(), dense = preset("llama3-8b");
    pw_train_desc good = job(&model, "nemo-2024", 2048, 64), bad = good;
    bad.expert_parallel = 3;
    expect_refusal(&bad, "expert_parallel 3 does not divide 16 experts");
    bad.expert_parallel = 16;
    bad.expert_tensor_parallel = 2;
    expect_refusal(&bad, "does not divide the 16 GPUs of a stage");
    bad = good;
    bad.tensor_parallel = 2;
    bad.sequence_parallel = 0;
    expect_refusal(&bad, "need sequence parallel");
    bad = good;
    bad.sharding = PW_SHARDING_ZERO3;
    expect_refusal(&bad, "sharded or not");
    bad = good;
    bad.expert_capacity = 1;
    bad.expert_imbalance = 2;
    expect_refusal(&bad, "means nothing");
    bad = good;
    bad.recompute_modules = "moe_act everything";
    expect_refusal(&bad, "'everything', which is no module");
    bad.recompute_modules = "mla_up_proj";
    expect_refusal(&bad, "latent attention");
    bad = good;
    bad.stack = "megatron-2021";
    expect_refusal(&bad, "how stack megatron-2021 runs experts and latent attention is not on file");
    bad = job(&dense, "nemo-2024", 2048, 64);
    bad.expert_parallel = 2;
    expect_refusal(&bad, "no experts to share out");
}

PW_TEST(gathers_a_tick_apart_do_not_part_folded_and_unfolded_steps) {
    pw_model_desc model = preset("mixtral-8x7b");
    model.layers = 8;
    model.hidden = 2048;
    model.heads = 16;
    model.kv_heads = 16;
    model.head_dim = 128;
    model.ffn = model.expert_ffn = 4096;
    pw_train_desc desc = job(&model, "bridge-alltoall-2025", 2048, 64); /* launch-bound, parameters gathered behind it */
    desc.expert_parallel = 4;
    pw_train_result folded = run_plain(&desc, "DGX H100", 2, false), unfolded = run_plain(&desc, "DGX H100", 2, true);
    PW_EXPECT(folded.totals.classes < unfolded.totals.classes);
    PW_EXPECT_NEAR(folded.step_s, unfolded.step_s, 1e-10);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
