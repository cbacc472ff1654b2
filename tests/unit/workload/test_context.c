/* Context parallel: volumes of each way to exchange, what is hidden, what is refused. */
#include "models/program/segment.h"
#include "tests/unit/workload/runs.h"

static pw_model_desc model_of(int64_t kv_heads) {
    pw_model_desc model = {.name = "context", .layers = 2, .hidden = 2048, .heads = 16, .kv_heads = kv_heads, .vocabulary = 1024};
    return model;
}

static pw_train_desc context(pw_model_desc *model, int exchange, int64_t c, int64_t inner) {
    pw_train_desc desc = job(model, "nemo-2024", 8192, 2 * 8 / c);
    desc.context_parallel = c;
    desc.context_exchange = exchange;
    desc.context_inner = inner;
    desc.data_parallel = 8 / c;
    return desc;
}

/* Bytes that a rank sends round the ring and sizes of its collectives, of one layer and micro-batch. */
typedef struct volume {
    double ring, all_to_all, all_gather, reduce_scatter;
} volume;

static volume volume_of(const pw_job *job, int64_t passes) {
    volume sum = {0};
    pw_walker *walker = pw_walker_create(NULL, job, 0);
    for (pw_op op; pw_walker_next(walker, &op);) {
        if (strcmp(job->categories[op.category].name, "cp")) continue;
        if (op.kind == PW_OP_SEND) sum.ring += op.message.bytes;
        if (op.kind != PW_OP_COLLECTIVE) continue;
        if (op.collective.kind == PW_COLLECTIVE_ALL_TO_ALL) sum.all_to_all += op.collective.bytes;
        if (op.collective.kind == PW_COLLECTIVE_ALL_GATHER) sum.all_gather += op.collective.bytes;
        if (op.collective.kind == PW_COLLECTIVE_REDUCE_SCATTER) sum.reduce_scatter += op.collective.bytes;
    }
    pw_walker_destroy(walker);
    double n = (double)passes;
    return (volume){sum.ring / n, sum.all_to_all / n, sum.all_gather / n, sum.reduce_scatter / n};
}

static void expect_volume(const pw_train_desc *desc, volume law) {
    bench b = bench_open(desc, "DGX H100", 1);
    volume is = volume_of(b.job, desc->model->layers * 2);
    PW_EXPECT_NEAR(is.ring, law.ring, 1e-12);
    PW_EXPECT_NEAR(is.all_to_all, law.all_to_all, 1e-12);
    PW_EXPECT_NEAR(is.all_gather, law.all_gather, 1e-12);
    PW_EXPECT_NEAR(is.reduce_scatter, law.reduce_scatter, 1e-12);
    bench_close(&b);
}

/* Per rank, forward and backward, elements of 2 bytes. Ring: (c-1)/c 2 s b h kv/a and twice that. all_to_all: 4 s b h / c each
 * way with as many kv heads as heads. all_gather: keys and values of the whole sequence twice, their gradients once. */
PW_TEST(volumes_of_context_exchanges_are_the_closed_forms) {
    for (int64_t kv = 4; kv <= 16; kv *= 2)
        for (int64_t c = 2; c <= 4; c *= 2) {
            pw_model_desc model = model_of(kv);
            double s = 8192, h = 2048, share = (double)kv / 16, n = (double)c;
            double keys = 2 * 2 * s * h * share, queries = 2 * s * h; /* of the whole sequence */
            pw_train_desc desc = context(&model, PW_CONTEXT_RING, c, 0);
            expect_volume(&desc, (volume){.ring = (n - 1) / n * keys * 3});
            desc = context(&model, PW_CONTEXT_ALL_TO_ALL, c, 0);
            expect_volume(&desc, (volume){.all_to_all = 2 * (2 * queries + keys) / n});
            if (kv == 16) PW_EXPECT_NEAR((2 * queries + keys) / n, 2 * 4 * s * h / n, 1e-12);
            desc = context(&model, PW_CONTEXT_ALL_GATHER, c, 0);
            expect_volume(&desc, (volume){.all_gather = 2 * keys, .reduce_scatter = keys});
            if (c < 4) continue;
            desc = context(&model, PW_CONTEXT_RING_OF_ALL_TO_ALL, c, 2);
            expect_volume(&desc, (volume){.ring = keys / n * 3, .all_to_all = 2 * (2 * queries + keys) / n});
        }
}

PW_TEST(every_exchange_attends_to_the_same_pairs) {
    pw_model_desc model = model_of(8);
    pw_train_desc alone = context(&model, PW_CONTEXT_RING, 1, 0);
    alone.global_batch = 16;
    double flops = run_plain(&alone, "DGX H100", 1, false).totals.flops;
    for (int exchange = 0; exchange <= PW_CONTEXT_RING_OF_ALL_TO_ALL; exchange++)
        for (int64_t t = 1; t <= 2; t++) {
            bool nested = exchange == PW_CONTEXT_RING_OF_ALL_TO_ALL;
            pw_train_desc desc = context(&model, exchange, 4, nested ? 2 : 0);
            desc.tensor_parallel = t;
            desc.data_parallel = 2 / t;
            desc.global_batch = 16;
            pw_train_result folded = run_plain(&desc, "DGX H100", 1, false);
            PW_EXPECT_NEAR(folded.totals.flops, flops, 1e-3);
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, true).step_s, folded.step_s, 1e-9);
        }
}

/* A ring is hidden when a block's attention takes at least as long as the next keys need; an all_to_all never is. */
static double exposed(int exchange, double stretch, double *compute_s) {
    pw_model_desc model = model_of(16);
    pw_train_desc desc = context(&model, exchange, 4, 0);
    desc.overlap_gradients = desc.overlap_parameters = 0;
    bench b = bench_open(&desc, "DGX H100", 1);
    for (uint32_t t = 0; t < b.job->template_count; t++)
        for (uint32_t i = 0; i < b.job->templates[t].count; i++) {
            pw_op *op = (pw_op *)&b.job->templates[t].ops[i];
            if (op->kind == PW_OP_COLLECTIVE && strcmp(b.job->categories[op->category].name, "cp")) op->collective.bytes = 0;
        }
    b.job->launch_s = 0;
    b.job->kernel_time_factor = stretch;
    double end = bench_run(&b, compute_s, NULL);
    bench_close(&b);
    return end - *compute_s;
}

PW_TEST(a_ring_hides_behind_attention_when_the_closed_form_says_so) {
    double compute = 0, rest = exposed(PW_CONTEXT_RING, 1e3, &compute); /* latencies of what is no exchange */
    double bare = exposed(PW_CONTEXT_RING, 1e-9, &compute) - rest, messages = 3 * 2 * 2; /* steps, layers, micro-batches */
    double hop = bare / messages / 3; /* forward one, backward two units of bytes */
    pw_model_desc model = model_of(16);
    pw_train_desc desc = context(&model, PW_CONTEXT_RING, 4, 0);
    bench b = bench_open(&desc, "DGX H100", 1);
    double block = 0;
    for (uint32_t i = 0; i < b.job->segment_count; i++)
        if (!strcmp(b.job->segments[i].name, "ring attention")) {
            segment_cost cost;
            pw_error error = {0};
            segment_memo *memo = segment_memo_create(pw_allocator_default(), b.job, b.gpu);
            must(segment_memo_get(memo, i, 1, 0, 0, 1, &cost, &error), &error);
            block = cost.duration_s;
            segment_memo_destroy(memo);
        }
    bench_close(&b);
    PW_EXPECT(block > 0 && hop > 0);
    PW_EXPECT(exposed(PW_CONTEXT_RING, 1.1 * hop / block, &compute) - rest < 0.01 * bare);
    PW_EXPECT(exposed(PW_CONTEXT_RING, 0.5 * hop / block, &compute) - rest > 0.3 * bare);
    double swapped = exposed(PW_CONTEXT_ALL_TO_ALL, 1e-9, &compute), slow = exposed(PW_CONTEXT_ALL_TO_ALL, 10, &compute);
    PW_EXPECT_NEAR(slow, swapped, 1e-3);
    PW_EXPECT(slow > rest);
}

static void refused(pw_train_desc desc, const char *what) {
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT(pw_train_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 1, arena(), &result, &error) != PW_OK);
    PW_EXPECT_CONTAINS(error.what, what);
}

PW_TEST(exchanges_that_cannot_be_are_refused) {
    pw_model_desc model = model_of(2);
    refused(context(&model, PW_CONTEXT_ALL_TO_ALL, 4, 0), "does not divide the 16 heads and 2 kv_heads");
    refused(context(&model, PW_CONTEXT_RING_OF_ALL_TO_ALL, 4, 0), "must be a divisor of context_parallel 4");
    refused(context(&model, PW_CONTEXT_RING_OF_ALL_TO_ALL, 4, 3), "must be a divisor");
    refused(context(&model, PW_CONTEXT_RING, 4, 2), "context_inner has no meaning");
    refused(context(&model, PW_CONTEXT_ALL_GATHER, 1, 0), "needs context parallel ranks");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
