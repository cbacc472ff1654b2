/* The memory account against published closed forms. */
#include "models/workload/train.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/jobs.h"

static const double GIB = 1024.0 * 1024 * 1024;

static pw_memory_account account(const pw_train_desc *desc, const char *gpu, int64_t stage) {
    pw_memory_account result;
    pw_error error = {0};
    must(pw_train_memory(catalogue(), device(gpu), desc, stage, &result, &error), &error);
    return result;
}

/* Korthikanti et al. 2022, Fig. 1: activations per GPU on the first stage, in GiB. */
PW_TEST(activations_equal_korthikanti_figure_1) {
    const struct { const char *model; int64_t p, v, b; int recompute; double gib; } rows[] = {
        {"megatron-22b", 1, 1, 4, PW_RECOMPUTE_NONE, 59.25},
        {"mt-nlg-530b", 35, 3, 1, PW_RECOMPUTE_NONE, 114.0234375},
        {"mt-nlg-530b", 35, 3, 1, PW_RECOMPUTE_SELECTIVE, 23.076171875},
        {"megatron-1008b", 64, 1, 1, PW_RECOMPUTE_NONE, 131.25},
        {"megatron-1008b", 64, 1, 1, PW_RECOMPUTE_SELECTIVE, 26.5625}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pw_model_desc model = preset(rows[i].model);
        pw_train_desc desc = job(&model, "megatron-2022", 2048, rows[i].b * rows[i].p * 8);
        desc.micro_batch = rows[i].b;
        desc.tensor_parallel = 8;
        desc.pipeline_parallel = rows[i].p;
        desc.virtual_stages = rows[i].v;
        desc.data_parallel = 1;
        desc.precision = PW_PRECISION_FP16;
        desc.recompute = rows[i].recompute;
        desc.sequence_parallel = rows[i].recompute == PW_RECOMPUTE_SELECTIVE; /* the figure's two bars */
        PW_EXPECT_NEAR(account(&desc, "A100-SXM4-80GB", 0).activations / GIB, rows[i].gib, 1e-12);
    }
}

PW_TEST(weights_gradients_and_adam_take_18_bytes_a_parameter) {
    const struct { const char *model; int64_t p; double gib, weights; } rows[] = {
        {"megatron-22b", 1, 45.5625, 12.0 * 48 * 6144 * 6144}, {"megatron-1008b", 64, 32.958984375, 12.0 * 128 * 25600 * 25600}};
    for (size_t i = 0; i < 2; i++) {
        pw_model_desc model = preset(rows[i].model);
        pw_train_desc desc = job(&model, "megatron-2022", 2048, 64);
        desc.tensor_parallel = 8;
        desc.pipeline_parallel = rows[i].p;
        desc.data_parallel = 1;
        desc.sharding = PW_SHARDING_NONE;
        desc.precision = PW_PRECISION_FP16;
        pw_memory_account a = account(&desc, "A100-SXM4-80GB", rows[i].p / 2);
        PW_EXPECT_NEAR((a.weights + a.gradients + a.optimizer) / a.weights, 18.0 / 2, 1e-12);
        PW_EXPECT_NEAR(rows[i].weights / (8.0 * (double)rows[i].p) * 18 / GIB, rows[i].gib, 1e-9);
        if (rows[i].p > 1) /* a middle stage holds layers alone; norms and biases are 13 h of 12 h^2 */
            PW_EXPECT_NEAR((a.weights + a.gradients + a.optimizer) / GIB, rows[i].gib, 13.0 / (12 * 25600) * 8 + 1e-9);
    }
}

PW_TEST(zero1_divides_the_optimizer_state_by_the_data_parallel_ranks) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 128);
    desc.sharding = PW_SHARDING_NONE;
    desc.data_parallel = 8;
    double whole = account(&desc, "H100-SXM5-80GB", 0).optimizer;
    desc.sharding = PW_SHARDING_ZERO1;
    PW_EXPECT_NEAR(account(&desc, "H100-SXM5-80GB", 0).optimizer, whole / 8, 1e-12);
    desc.context_parallel = 2;
    PW_EXPECT_NEAR(account(&desc, "H100-SXM5-80GB", 0).optimizer, whole / 16, 1e-12);
}

PW_TEST(later_stages_hold_fewer_micro_batches) {
    pw_model_desc model = preset("megatron-1008b");
    pw_train_desc desc = job(&model, "megatron-2022", 2048, 512);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 64;
    desc.data_parallel = 1;
    double first = account(&desc, "A100-SXM4-80GB", 0).activations, last = account(&desc, "A100-SXM4-80GB", 63).activations;
    PW_EXPECT_NEAR(first / last, 64, 1e-12);
    desc.schedule = PW_SCHEDULE_GPIPE; /* every micro-batch on every stage */
    PW_EXPECT_NEAR(account(&desc, "A100-SXM4-80GB", 63).activations / last, 512, 1e-12);
    desc.schedule = PW_SCHEDULE_1F1B;
    desc.global_batch = 16; /* never more than there are */
    PW_EXPECT_NEAR(account(&desc, "A100-SXM4-80GB", 0).activations / last, 16, 1e-12);
}

PW_TEST(interleaving_keeps_its_extra_share_on_the_first_stage) {
    pw_model_desc model = preset("gpt3-175b");
    pw_train_desc desc = job(&model, "megatron-2022", 2048, 512);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 8;
    desc.data_parallel = 1;
    double plain = account(&desc, "A100-SXM4-80GB", 0).activations;
    desc.virtual_stages = 3;
    PW_EXPECT_NEAR(account(&desc, "A100-SXM4-80GB", 0).activations / plain, 1 + 7.0 / (8 * 3), 1e-12);
}

PW_TEST(full_recompute_keeps_the_input_of_each_layer) {
    pw_model_desc model = preset("gpt3-175b");
    pw_train_desc desc = job(&model, "megatron-2021", 2048, 64);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 8;
    desc.data_parallel = 1;
    desc.recompute = PW_RECOMPUTE_FULL;
    PW_EXPECT_NEAR(account(&desc, "A100-SXM4-80GB", 0).activations, 2.0 * 2048 * 12288 * 12 * 8, 1e-12);
}

PW_TEST(fp8_keeps_the_inputs_of_linear_layers_in_a_byte) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 16);
    desc.data_parallel = 8;
    desc.tensor_parallel = 2;
    double wide = account(&desc, "H100-SXM5-80GB", 0).activations;
    desc.precision = PW_PRECISION_FP8;
    double narrow = account(&desc, "H100-SXM5-80GB", 0).activations;
    PW_EXPECT_NEAR(wide, 32.0 * 8192 / 2 * (8 * 4096 + 4 * 4096 + 4 * 1024 + 6 * 14336.0), 1e-12);
    /* Fused attention keeps its own output in 16 bits beside the narrow copy. */
    PW_EXPECT_NEAR(wide - narrow, 32.0 * 8192 / 2 * (2 * 4096 + 14336.0 - 4096), 1e-12);
    desc.fp8_activations = true; /* gate and input of SwiGLU in a byte each */
    PW_EXPECT_NEAR(narrow - account(&desc, "H100-SXM5-80GB", 0).activations, 32.0 * 8192 / 2 * 2 * 14336.0, 1e-12);
}

PW_TEST(fp8_weights_take_a_byte_and_one_for_the_transpose_where_it_is_needed) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2025", 8192, 16);
    desc.data_parallel = 8;
    double wide = account(&desc, "H100-SXM5-80GB", 0).weights;
    double matrices = pw_model_parameters(&model) - 2 * 128256.0 * 4096 - 4096;
    PW_EXPECT_NEAR(wide, 2 * pw_model_parameters(&model), 1e-12);
    desc.precision = PW_PRECISION_FP8;
    PW_EXPECT_NEAR(account(&desc, "H100-SXM5-80GB", 0).weights, wide, 1e-12);
    PW_EXPECT_NEAR(wide - account(&desc, "B200", 0).weights, matrices, 1e-12);
}

/* At the loss the logits are there and no layer is at work; in a layer's backward pass the logits are gone. */
PW_TEST(the_account_shows_the_fullest_moment) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 16);
    desc.data_parallel = 8;
    pw_memory_account loss = account(&desc, "H100-SXM5-80GB", 0);
    PW_EXPECT(loss.logits > 6.0 * 8192 * 128256);
    PW_EXPECT_NEAR(loss.buffers, 0, 0);
    model.vocabulary = 1024; /* the logits are few: gradients of a layer's output, of the activation, of gate and input */
    pw_memory_account layer = account(&desc, "H100-SXM5-80GB", 0);
    PW_EXPECT_NEAR(layer.buffers, 2.0 * 8192 * (4096 + 3 * 14336.0), 1e-12);
    PW_EXPECT_NEAR(layer.logits, 8.0 * 8192 + 4.0 * 8192 * 4096, 1e-12);
}

/* torchtitan: with a pipeline parameters stay gathered and gradients whole until the last micro-batch. */
PW_TEST(a_pipeline_may_keep_what_is_sharded_whole) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "torchtitan-2024", 8192, 64);
    desc.sharding = PW_SHARDING_ZERO3;
    desc.data_parallel = 8;
    PW_EXPECT_NEAR(account(&desc, "H100-SXM5-80GB", 0).weights, 0, 0);
    desc.pipeline_parallel = 4;
    pw_memory_account a = account(&desc, "H100-SXM5-80GB", 1);
    PW_EXPECT_NEAR(a.gradients / a.weights, 4.0 / 2, 1e-12);
    PW_EXPECT(a.weights > 2 * 8 * 200e6);
    desc.reshard = 1;
    PW_EXPECT_NEAR(account(&desc, "H100-SXM5-80GB", 1).weights, 0, 0);
}

PW_TEST(parts_of_the_account_add_up_to_its_total) {
    pw_model_desc model = preset("llama3-405b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 2048);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 16;
    desc.data_parallel = 128;
    for (int64_t stage = 0; stage < 16; stage++) {
        pw_memory_account a = account(&desc, "H100-SXM5-80GB", stage);
        PW_EXPECT_NEAR(a.weights + a.gradients + a.optimizer + a.activations + a.logits + a.buffers + a.reserve, a.total, 1e-12);
        PW_EXPECT(a.capacity > 70e9 && a.total > 10e9);
    }
}

PW_TEST(the_nearest_plan_fits_and_changes_little) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 512);
    desc.micro_batch = 4;
    const char *text = NULL;
    pw_error error = {0};
    must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 8, 8, &desc, arena(), &text, &error), &error);
    PW_EXPECT_CONTAINS(text, "= ");
    PW_EXPECT_CONTAINS(text, "GB)");
    pw_model_desc huge = preset("megatron-1008b"); /* no plan on one GPU */
    desc = job(&huge, "nemo-2024", 8192, 512);
    must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 1, 1, &desc, arena(), &text, &error), &error);
    PW_EXPECT_TEXT(text, "");
}

/* What costs least goes first: in fp8 a narrower store of SwiGLU's input, where that is enough. */
PW_TEST(the_nearest_plan_takes_the_least_effort_that_is_enough) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "nemo-2025", 8192, 8);
    desc.precision = PW_PRECISION_FP8;
    desc.data_parallel = 8;
    desc.sharding = PW_SHARDING_ZERO3;
    const pw_device *gpu = device("H100-SXM5-80GB");
    double before = account(&desc, "H100-SXM5-80GB", 0).total;
    desc.fp8_activations = true;
    double after = account(&desc, "H100-SXM5-80GB", 0).total;
    desc.fp8_activations = false;
    pw_device smaller = *gpu;
    smaller.memory_bytes = (before + after) / 2;
    const char *text = NULL;
    pw_error error = {0};
    must(pw_train_nearest_fit(catalogue(), &smaller, 8, 1, &desc, arena(), &text, &error), &error);
    PW_EXPECT_CONTAINS(text, "fp8_activations = true (");
}

/* How far tensor parallel may grow is the cluster's to say: with one GPU alone other ways are found. */
PW_TEST(the_nearest_plan_keeps_tensor_parallel_within_close_gpus) {
    pw_model_desc model = preset("llama3-70b");
    pw_train_desc desc = job(&model, "nemo-2024", 8192, 16);
    desc.recompute = PW_RECOMPUTE_FULL;
    int proposed = 0;
    for (int64_t close = 1; close <= 64; close *= 2) {
        const char *text = NULL;
        pw_error error = {0};
        must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 64, close, &desc, arena(), &text, &error), &error);
        const char *tensor = strstr(text, "tensor_parallel = ");
        long ways = tensor ? strtol(tensor + strlen("tensor_parallel = "), NULL, 10) : 1;
        PW_EXPECT(*text && ways <= close);
        proposed += ways > 1;
    }
    PW_EXPECT(proposed > 0);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
