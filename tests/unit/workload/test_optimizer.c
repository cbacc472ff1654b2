/* Optimizers: what they keep and move; the published closed forms of BERT-Large's memory. */
#include <math.h>

#include "tests/harness/check.h"
#include "tests/unit/workload/runs.h"

static const double MIB = 1024.0 * 1024;

static pw_memory_account bert_account(int format, int64_t batch, const char *optimizer) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "huggingface-eager", 512, batch);
    pw_memory_account account;
    pw_error error = {0};
    model.head = PW_HEAD_SPAN; /* a head of no size, as the demonstration's */
    desc.micro_batch = batch;
    desc.precision = format;
    desc.optimizer = optimizer;
    desc.sharding = PW_SHARDING_NONE;
    desc.data_parallel = 1;
    must(pw_train_memory(catalogue(), device("V100-SXM2-16GB"), &desc, 0, &account, &error), &error);
    return account;
}

/* 2,629 MB of context and weights, 12 bytes a parameter, 24 layers s b h (66 + 9 a s/h): in MiB, as nvidia-smi counts. */
PW_TEST(bert_large_in_fp32_takes_the_published_13088_mb) {
    pw_memory_account a = bert_account(PW_PRECISION_FP32, 4, "adamw");
    PW_EXPECT_NEAR((a.weights + a.reserve - a.fragmentation) / MIB, 2629, 1e-3);
    PW_EXPECT_NEAR((a.gradients + a.optimizer) / MIB, 3835, 1e-3);
    PW_EXPECT_NEAR(a.activations / MIB, 6624, 1e-4);
    PW_EXPECT_NEAR((a.weights + a.reserve - a.fragmentation + a.gradients + a.optimizer + a.activations) / MIB, 13088, 1e-3);
}

/* The published form halves all activations; autocast keeps norms and softmax in fp32, so the account holds more. */
PW_TEST(bert_large_in_mixed_precision_takes_the_published_10655_mb) {
    pw_memory_account amp = bert_account(PW_FORMAT_FP16_AMP, 4, "adamw"), halves = bert_account(PW_PRECISION_FP16, 4, "adamw");
    double states = amp.weights + amp.reserve - amp.fragmentation + amp.gradients + amp.optimizer;
    PW_EXPECT_NEAR((states + halves.activations) / MIB, 10655, 1e-3);
    PW_EXPECT(amp.activations > 1.2 * halves.activations);
}

PW_TEST(states_follow_the_optimizers_row) {
    double n = bert_account(PW_PRECISION_FP32, 1, "adamw").weights / 4;
    const struct { const char *name; double bytes; } rows[] = {{"adamw", 8}, {"lamb", 8}, {"adamw-8bit", 2.004}, {"sgd-momentum", 4}, {"sgd", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        PW_EXPECT_NEAR(bert_account(PW_PRECISION_FP32, 1, rows[i].name).optimizer, rows[i].bytes * n, 1e-12);
    double factors = bert_account(PW_PRECISION_FP32, 1, "adafactor").optimizer; /* rows and columns, not their product */
    PW_EXPECT(factors > 0 && factors < 0.01 * n);
    /* 16-bit weights keep the stack's masters beside them. */
    PW_EXPECT_NEAR(bert_account(PW_PRECISION_FP16, 1, "adamw").optimizer - bert_account(PW_PRECISION_FP16, 1, "sgd").optimizer, 8 * n, 1e-9);
}

static double step_of(const char *optimizer) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "huggingface-eager", 128, 8);
    desc.precision = PW_PRECISION_FP32;
    desc.optimizer = optimizer;
    desc.sharding = PW_SHARDING_NONE;
    desc.cuda_graphs = 1; /* the device alone */
    return run_plain(&desc, "DGX A100 640GB", 1, false).step_s;
}

PW_TEST(an_update_moves_the_bytes_of_its_row) {
    double sgd = step_of("sgd"), adam = step_of("adamw"), lamb = step_of("lamb");
    PW_EXPECT(adam > sgd && lamb > adam);
    PW_EXPECT_NEAR((lamb - adam) / (adam - sgd), (48.0 - 28) / (28 - 12), 1e-3);
    PW_EXPECT(step_of("adamw-unfused") > lamb);
}

PW_TEST(whole_tensors_cannot_be_shared_out) {
    pw_model_desc model = preset("bert-large");
    pw_train_desc desc = job(&model, "huggingface-eager", 512, 8);
    pw_memory_account account;
    pw_error error = {0};
    desc.optimizer = "lamb";
    desc.sharding = PW_SHARDING_ZERO1;
    desc.data_parallel = 8;
    PW_EXPECT_INT(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, 0, &account, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "lamb needs whole tensors");
    desc.optimizer = "adamwx";
    PW_EXPECT_INT(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, 0, &account, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "adafactor");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
