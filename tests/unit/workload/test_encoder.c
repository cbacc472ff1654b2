/* Encoders: counts of BERT, full attention, heads on few positions. */
#include <math.h>

#include "tests/harness/check.h"
#include "tests/unit/workload/runs.h"

PW_TEST(bert_counts_equal_the_released_weights) {
    /* Encoder and pooler hold 109.48M and 335.14M; the masked-LM head adds a transform, biases and a classifier. */
    const struct { const char *name; double hidden, encoder; } cases[] = {{"bert-base", 768, 109482240}, {"bert-large", 1024, 335141888}};
    for (size_t i = 0; i < 2; i++) {
        pw_model_desc model = preset(cases[i].name);
        double h = cases[i].hidden, head = h * h + h + 2 * h + 30522 + 2 * h + 2;
        PW_EXPECT_NEAR(pw_model_parameters(&model), cases[i].encoder + head, 1e-12);
        model.head = PW_HEAD_SPAN;
        PW_EXPECT_NEAR(pw_model_parameters(&model), cases[i].encoder + 2 * h + 2, 1e-12);
    }
}

PW_TEST(an_encoder_sees_the_whole_square) {
    pw_model_desc model = preset("bert-large");
    double causal = pw_model_flops_per_token(&model, 512, true), full = pw_model_flops_per_token(&model, 512, false);
    PW_EXPECT_NEAR(causal, full, 1e-15);
    model.bidirectional = false;
    PW_EXPECT_NEAR(full - pw_model_flops_per_token(&model, 512, true), 6.0 * 24 * 512 * 1024, 1e-9);
}

static double executed(pw_model_desc *model, int64_t sequence, int head, double share) {
    model->head = head;
    model->masked_share = share;
    model->vocabulary = 30592; /* a multiple of 128, so that no padding counts */
    pw_train_desc desc = job(model, "megatron-2021", sequence, 64);
    desc.micro_batch = 4;
    desc.sharding = PW_SHARDING_NONE;
    double formula = pw_model_flops_per_token(model, sequence, true) * 64 * (double)sequence;
    double flops = run_plain(&desc, "DGX A100 640GB", 1, false).totals.flops;
    PW_EXPECT_NEAR(flops, formula, 1e-12);
    return flops;
}

PW_TEST(executed_flops_of_encoders_equal_the_formula) {
    pw_model_desc model = preset("bert-base");
    double whole = executed(&model, 512, PW_HEAD_MASKED_LM, 1), some = executed(&model, 512, PW_HEAD_MASKED_LM, 0.15);
    double span = executed(&model, 384, PW_HEAD_SPAN, 0.15), few = executed(&model, 384, PW_HEAD_MASKED_LM, 0.15);
    PW_EXPECT(some < whole && span < few);
    /* 77 of 512 positions reach transform and output layer */
    PW_EXPECT_NEAR(whole - some, 64.0 * (512 - 77) * 6 * (768.0 * 768 + 30592.0 * 768), 1e-9);
}

PW_TEST(masked_positions_keep_fewer_logits) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "megatron-2021", 512, 8);
    pw_memory_account some, all;
    pw_error error = {0};
    desc.data_parallel = 1;
    desc.micro_batch = 8;
    must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, 0, &some, &error), &error);
    model.head = PW_HEAD_LANGUAGE_MODEL;
    must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, 0, &all, &error), &error);
    PW_EXPECT(some.logits < 0.25 * all.logits);
    PW_EXPECT_NEAR(some.activations, all.activations, 1e-12);
}

PW_TEST(flash_attention_of_an_encoder_has_no_mask) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 16);
    double full = run_plain(&desc, "DGX H100", 1, false).totals.flops;
    model.bidirectional = false;
    double causal = run_plain(&desc, "DGX H100", 1, false).totals.flops;
    PW_EXPECT_NEAR(full - causal, 16.0 * 24 * (4096.0 * 4095 / 2) * 4 * 1024 * 3.5, 1e-9);
}

PW_TEST(a_ring_of_an_encoder_is_refused) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 16);
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_train_result result;
    pw_error error = {0};
    desc.context_parallel = 2;
    PW_EXPECT_INT(pw_train_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 4, arena(), &result, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "context parallel is modelled for decoders alone");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
