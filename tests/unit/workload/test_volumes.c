/* What a lowered job computes and sends, as the executor counts it, against the closed forms. */
#include "tests/unit/workload/runs.h"

/* A model whose vocabulary needs no padding, so that formula and kernels count the same multiplies. */
static pw_model_desc small(bool gated) {
    pw_model_desc model = {.name = "small", .layers = 8, .hidden = 1024, .heads = 16, .kv_heads = gated ? 4 : 0,
                           .ffn = gated ? 3584 : 0, .gated = gated, .vocabulary = 16384};
    return model;
}

static double tokens_of(const pw_train_desc *desc) { return (double)desc->global_batch * (double)desc->sequence; }

/* Multiplies of the layers alone, per token and forward pass. */
static double layer_flops(const pw_model_desc *m) {
    double h = (double)m->hidden, kv = m->kv_heads ? (double)m->kv_heads / (double)m->heads * h : h;
    double f = m->ffn ? (double)m->ffn : 4 * h;
    return 2 * (double)m->layers * (h * (2 * h + 2 * kv) + (m->gated ? 3 : 2) * h * f);
}

PW_TEST(executed_flops_equal_the_model_formula) {
    const struct { int64_t t, p, v, b; int recompute; } cases[] = {
        {1, 1, 1, 1, PW_RECOMPUTE_NONE}, {2, 1, 1, 2, PW_RECOMPUTE_NONE},      {2, 2, 1, 1, PW_RECOMPUTE_SELECTIVE},
        {1, 4, 1, 2, PW_RECOMPUTE_FULL}, {2, 2, 2, 1, PW_RECOMPUTE_SELECTIVE}, {4, 2, 4, 1, PW_RECOMPUTE_FULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int gated = 0; gated < 2; gated++) {
            pw_model_desc model = small(gated);
            pw_train_desc desc = job(&model, "megatron-2021", 512, 64);
            desc.tensor_parallel = cases[i].t;
            desc.pipeline_parallel = cases[i].p;
            desc.virtual_stages = cases[i].v;
            desc.micro_batch = cases[i].b;
            desc.recompute = cases[i].recompute;
            double attention = 4 * (double)model.layers * 512 * 1024, again = 0; /* forward, the whole square */
            if (cases[i].recompute == PW_RECOMPUTE_SELECTIVE) again = attention;
            if (cases[i].recompute == PW_RECOMPUTE_FULL) again = attention + layer_flops(&model);
            double formula = tokens_of(&desc) * (pw_model_flops_per_token(&model, 512, false) + again);
            PW_EXPECT_NEAR(run_plain(&desc, "DGX A100 640GB", 1, false).totals.flops, formula, 1e-12);
        }
}

/* Flash attention counts the kept half of the scores, and 2.5 times as much backward (it computes the scores again). */
PW_TEST(executed_flops_with_flash_attention_equal_the_causal_formula) {
    for (int64_t c = 1; c <= 2; c++) {
        pw_model_desc model = small(true);
        pw_train_desc desc = job(&model, "nemo-2024", 4096, 16);
        desc.context_parallel = c;
        pw_gpu *gpu;
        pw_error error = {0};
        must(pw_gpu_create(NULL, catalogue(), "H100-SXM5-80GB", &gpu, &error), &error);
        double attention = 0;
        for (int backward = 0; backward < 2; backward++) {
            pw_kernel kernel = {.kind = PW_KERNEL_ATTENTION, .precision = PW_PRECISION_BF16,
                                .attention = {1, 4096, 4096, 16, 4, 64, true, backward}};
            pw_kernel_cost cost;
            must(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), &error);
            attention += cost.flops;
        }
        pw_gpu_destroy(gpu);
        double weights = pw_model_flops_per_token(&model, 4096, true) - 6.0 * 8 * 4096 * 1024;
        double formula = tokens_of(&desc) * weights + 16.0 * 8 * attention;
        PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops, formula, c == 1 ? 1e-12 : 1e-3);
        PW_EXPECT_NEAR(attention, 4.0 / 2 * (1 + 2.5) * 4096.0 * 4096 * 1024, 1e-3);
    }
}

/* Layers of two kinds, unevenly spread over stages and buckets: every layer runs once each way per micro-batch. */
PW_TEST(executed_flops_of_layers_of_two_kinds_equal_the_causal_formula) {
    for (int chunks = 0; chunks < 2; chunks++)
        for (int64_t p = 1; p <= 4; p *= 2) {
            pw_model_desc model = small(true);
            model.window = 512;
            model.window_chunks = chunks;
            model.global_every = 3;
            pw_train_desc desc = job(&model, "nemo-2024", 4096, 16);
            desc.pipeline_parallel = p;
            double weights = pw_model_flops_per_token(&model, 1, true) - 6.0 * 8 * 1024; /* a token alone sees half a key */
            /* 2 of 8 layers see all pairs, 6 those of a window; the backward pass takes 2.5 times the forward's */
            double all = 4096.0 * 4097 / 2, local = chunks ? 8 * 512.0 * 513 / 2 : 512.0 * 513 / 2 + (4096 - 512) * 512.0;
            double attention = 3.5 * 4 * 1024 * (2 * all + 6 * local);
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops,
                           tokens_of(&desc) * weights + 16 * attention, 1e-12);
        }
}

/* Sum over ranks of collective sizes. Tensor parallel: 4 all_reduces of 2 s b h a layer and micro-batch, one for the
 * embedding, one for the output layer, 3 of 4 s b for the loss; and the gradient norm, once. */
PW_TEST(tensor_parallel_volume_is_four_all_reduces_a_layer) {
    for (int full = 0; full < 2; full++) {
        pw_model_desc model = small(false);
        pw_train_desc desc = job(&model, "megatron-2021", 512, 16);
        desc.tensor_parallel = 8;
        desc.recompute = full ? PW_RECOMPUTE_FULL : PW_RECOMPUTE_NONE;
        double hidden = 2.0 * 512 * 1024, per_micro = (full ? 6 : 4) * 8 * hidden + 2 * hidden + 3 * 4.0 * 512;
        PW_EXPECT_NEAR(run_plain(&desc, "DGX A100 640GB", 1, false).totals.collective_bytes, 8 * (16 * per_micro + 4), 1e-12);
    }
}

/* Sequence parallel: the same bytes as gather + scatter (two halves of an all_reduce), and each layer's two inputs
 * gathered again for the gradients of the weights. */
PW_TEST(sequence_parallel_volume_is_gathers_and_scatters) {
    pw_model_desc model = small(false);
    pw_train_desc desc = job(&model, "megatron-2022", 512, 16);
    desc.tensor_parallel = 8;
    double hidden = 2.0 * 512 * 1024;
    double layers = 8 * (2 * 2 + 2 * 2 + 2) * hidden, ends = (1 + 1) * hidden + (1 + 1 + 1) * hidden + 3 * 4.0 * 512;
    PW_EXPECT_NEAR(run_plain(&desc, "DGX A100 640GB", 1, false).totals.collective_bytes, 8 * (16 * (layers + ends) + 4), 1e-12);
    desc.stack = "nemo-2024"; /* the overlapped share changes no volume */
    desc.sequence_parallel = 1;
    PW_EXPECT_NEAR(run_plain(&desc, "DGX A100 640GB", 1, false).totals.collective_bytes, 8 * (16 * (layers + ends) + 4), 1e-12);
}

/* Data parallel: gradients once a step, whatever the buckets; ZeRO-1 the same gradients scattered and 2-byte parameters
 * gathered. */
PW_TEST(data_parallel_volume_is_the_parameters_once_a_step) {
    pw_model_desc model = small(false);
    double parameters = pw_model_parameters(&model);
    for (int overlap = 0; overlap < 2; overlap++)
        for (double bucket = 1e6; bucket < 1e9; bucket *= 10) {
            pw_train_desc desc = job(&model, "nemo-2024", 512, 32);
            desc.bucket_bytes = bucket;
            desc.overlap_gradients = desc.overlap_parameters = overlap;
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * (2 + 2) * parameters, 1e-12);
            desc.sharding = PW_SHARDING_NONE;
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.collective_bytes, 8 * 2 * parameters, 1e-12);
        }
}

/* Pipeline: 2 s b h each way over each of p v - 1 boundaries per micro-batch, a share of 1/t per rank with scatter-gather. */
PW_TEST(pipeline_volume_is_a_message_each_way_over_each_boundary) {
    for (int64_t v = 1; v <= 4; v *= 2) {
        pw_model_desc model = small(false);
        pw_train_desc desc = job(&model, "megatron-2022", 512, 16);
        desc.pipeline_parallel = 2;
        desc.virtual_stages = v;
        desc.data_parallel = 4;
        bench b = bench_open(&desc, "DGX A100 640GB", 1);
        pw_executor_totals totals;
        /* Only messages: no collective passes over a link. */
        for (uint32_t t = 0; t < b.job->template_count; t++)
            for (uint32_t i = 0; i < b.job->templates[t].count; i++) {
                pw_op *op = (pw_op *)&b.job->templates[t].ops[i];
                if (op->kind == PW_OP_COLLECTIVE) op->collective.bytes = 0;
            }
        bench_run(&b, NULL, &totals);
        pw_path path;
        must(pw_cluster_route(b.cluster, 0, 4, 0, &path), NULL);
        double messages = 4.0 * 4 * 2 * (double)(2 * v - 1); /* data parallel ranks, micro-batches, directions, boundaries */
        PW_EXPECT_NEAR(totals.link_bytes[PW_LINK_NVLINK], messages * 2 * 512 * 1024 * path.count, 1e-9);
        bench_close(&b);
    }
}

PW_TEST(context_parallel_ring_carries_keys_values_and_twice_as_much_backward) {
    pw_model_desc model = small(true);
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 16);
    desc.context_parallel = 4;
    bench b = bench_open(&desc, "DGX H100", 1);
    double sent = 0;
    pw_walker *walker = pw_walker_create(NULL, b.job, 0);
    for (pw_op op; pw_walker_next(walker, &op);)
        if (op.kind == PW_OP_SEND) sent += op.message.bytes;
    pw_walker_destroy(walker);
    /* (c-1) blocks of keys and values of s/c tokens, 2 bytes, kv heads of 64; 8 layers, 8 micro-batches of a rank */
    double block = 2 * 2 * 1024.0 * 4 * 64;
    PW_EXPECT_NEAR(sent, 8.0 * 8 * (4 - 1) * (block + 2 * block), 1e-12);
    bench_run(&b, NULL, NULL);
    bench_close(&b);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
