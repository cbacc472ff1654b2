/* Partial training: FLOPs, volumes and memory follow what is trained. */
#include <math.h>

#include "models/workload/trainable.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/runs.h"

static pw_train_desc tuning(pw_model_desc *model, int trainable) {
    pw_train_desc desc = job(model, "nemo-2024", 512, 32);
    model->vocabulary = 32768; /* no padding */
    model->layers = 8;
    desc.trainable = trainable;
    desc.flash_attention = 0; /* whose backward pass would compute scores again */
    return desc;
}

static double planned_flops(const pw_train_desc *desc) {
    pw_plan plan;
    pw_error error = {0};
    must(pw_plan_make(catalogue(), device("H100-SXM5-80GB"), 8, desc, &plan, "job.lua", 1, &error), &error);
    return pw_plan_flops_per_token(&plan, false) * 32 * 512;
}

static double executed(const pw_train_desc *desc) { return run_plain(desc, "DGX H100", 1, false).totals.flops; }

PW_TEST(executed_flops_of_partial_training_equal_the_formula) {
    const struct { int trainable; int64_t frozen; const char *targets; int64_t rank; } cases[] = {
        {PW_TRAIN_ALL, 0, "qkv", 8}, {PW_TRAIN_LORA, 0, "qkv proj fc1 fc2", 16}, {PW_TRAIN_LORA, 0, "qkv", 8},
        {PW_TRAIN_LORA, 0, "fc2 proj", 32}, {PW_TRAIN_ALL, 3, "qkv", 8}, {PW_TRAIN_ALL, 8, "qkv", 8}, {PW_TRAIN_HEAD, 0, "qkv", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int preset_index = 0; preset_index < 2; preset_index++) {
            pw_model_desc model = preset(preset_index ? "llama3-8b" : "gpt3-1.3b");
            pw_train_desc desc = tuning(&model, cases[i].trainable);
            desc.frozen_layers = cases[i].frozen;
            desc.lora_targets = cases[i].targets;
            desc.lora_rank = cases[i].rank;
            if (!(fabs(executed(&desc) / planned_flops(&desc) - 1) <= 1e-12))
                PW_FAILED("case %zu, model %d: %.17g executed, %.17g by the formula", i, preset_index, executed(&desc), planned_flops(&desc));
        }
}

PW_TEST(lora_takes_about_two_thirds_of_the_flops) {
    pw_model_desc model = preset("llama2-70b");
    pw_train_desc desc = tuning(&model, PW_TRAIN_ALL);
    double all = planned_flops(&desc);
    desc.trainable = PW_TRAIN_LORA;
    PW_EXPECT(planned_flops(&desc) > 0.66 * all && planned_flops(&desc) < 0.70 * all);
}

/* One gradient of every adapter weight, and its gathered update: 2 + 2 bytes of rank (k + n) a matrix. */
PW_TEST(only_adapters_are_reduced_and_gathered) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = tuning(&model, PW_TRAIN_LORA);
    desc.lora_rank = 4;
    desc.lora_targets = "proj fc1";
    double trained = 8 * 4 * ((4096.0 + 4096) + (4096 + 2 * 14336));
    PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * (2 + 2) * trained, 1e-12);
    desc.trainable = PW_TRAIN_HEAD;
    double head = 32768.0 * 4096 + 4096;
    PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * (2 + 2) * head, 1e-12);
}

/* Tensor parallel: k r / t on the side that is split, and the rank of the other. */
PW_TEST(tensor_parallel_ranks_share_an_adapter) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = tuning(&model, PW_TRAIN_LORA);
    double alone = executed(&desc);
    desc.tensor_parallel = 4;
    PW_EXPECT_NEAR(executed(&desc), alone, 1e-12);
}

static pw_memory_account account(const pw_train_desc *desc) {
    pw_memory_account result;
    pw_error error = {0};
    pw_train_desc one = *desc;
    one.data_parallel = 1;
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), &one, 0, &result, &error), &error);
    return result;
}

PW_TEST(frozen_weights_have_no_states_and_keep_no_inputs) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = tuning(&model, PW_TRAIN_ALL);
    desc.flash_attention = 1;
    pw_memory_account all = account(&desc);
    desc.trainable = PW_TRAIN_LORA;
    desc.lora_targets = "qkv";
    desc.lora_rank = 8;
    pw_memory_account lora = account(&desc);
    double trained = 8 * 8 * (4096.0 + 4096 + 2 * 1024), parameters = pw_model_parameters(&model);
    PW_EXPECT_NEAR(lora.weights, 2 * (parameters + trained), 1e-12);
    PW_EXPECT_NEAR(lora.gradients / all.gradients, trained / parameters, 1e-12);
    PW_EXPECT_NEAR(lora.optimizer / all.optimizer, trained / parameters, 1e-12);
    /* The inputs of the first and the second MLP matrix are not needed: 2 T (h + f) a layer. */
    PW_EXPECT_NEAR(all.activations - lora.activations, 8 * 512 * (4 * 4096.0 + 2 * 14336 - 3 * 4096), 1e-12);
    desc.trainable = PW_TRAIN_ALL;
    desc.frozen_layers = 6;
    PW_EXPECT_NEAR(account(&desc).activations, all.activations / 4, 1e-12);
}

static void expect_refusal(const pw_train_desc *desc, pw_status status, const char *what) {
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_train_run(NULL, catalogue(), &cluster, desc, NULL, "job.lua", 4, arena(), &result, &error), status);
    PW_EXPECT_CONTAINS(error.what, what);
}

PW_TEST(what_is_not_modelled_is_refused) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = tuning(&model, PW_TRAIN_LORA);
    desc.lora_targets = "qkv query";
    expect_refusal(&desc, PW_BAD_INPUT, "there is no matrix 'query'");
    desc.lora_targets = " ";
    expect_refusal(&desc, PW_BAD_INPUT, "names no matrix");
    desc.lora_targets = "qkv";
    desc.tensor_parallel = 8;
    desc.lora_rank = 12;
    expect_refusal(&desc, PW_BAD_INPUT, "lora_rank 12 is not a multiple of tensor_parallel 8");
    desc.lora_rank = 16;
    desc.frozen_layers = 9;
    expect_refusal(&desc, PW_BAD_INPUT, "frozen_layers 9 are more than the model's 8 layers");
    desc.frozen_layers = 1;
    desc.tensor_parallel = 1;
    expect_refusal(&desc, PW_UNSUPPORTED, "adapters in some layers alone");
    desc.trainable = PW_TRAIN_ALL;
    desc.pipeline_parallel = 2;
    expect_refusal(&desc, PW_UNSUPPORTED, "frozen layers under a pipeline");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
