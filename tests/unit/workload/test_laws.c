/* Laws of whole steps, on random clusters and plans: nothing beats physics, parts sum to the whole, a folded run equals
 * an unfolded one, and better hardware is no slower. */
#include <math.h>

#include "models/workload/lower.h"
#include "sim/random.h"
#include "tests/unit/workload/runs.h"

enum { CASES = 60 };

typedef struct draw {
    pw_random random;
    pw_model_desc model;
    pw_train_desc job;
    pw_cluster_desc cluster;
    char text[200];
} draw;

static int64_t pick(draw *d, const int64_t *values, uint64_t count) { return values[pw_random_below(&d->random, count)]; }
#define PICK(...) pick(d, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void draw_case(draw *d) {
    static const char *const servers[] = {"DGX A100 640GB", "DGX H100", "GB200 NVL72", "8xA100-PCIe server", "DGX-1 V100",
                                          "MI300X 8-OAM platform"};
    const char *server = servers[pw_random_below(&d->random, sizeof servers / sizeof *servers)];
    int64_t per_node = server[0] == 'G' ? 4 : 8, t = PICK(1, 2, 4, 8), p = PICK(1, 1, 2, 3, 4), c = PICK(1, 1, 1, 2);
    d->cluster = nodes_of(server, 1);
    int64_t least = t * p * c, nodes = PICK(1, 2, 3, 5, 9);
    while (nodes * per_node % least) nodes++;
    d->cluster.nodes = nodes;
    d->cluster.network.topology = (int)PICK(0, 1, 2);
    d->cluster.network.oversubscription = (double)PICK(1, 1, 2, 4);
    d->cluster.node.gpudirect = PICK(0, 1, 1) == 1;
    d->model = (pw_model_desc){.name = "drawn", .layers = 12 * PICK(1, 2), .hidden = 256 * PICK(2, 4, 8), .heads = 16,
                               .kv_heads = PICK(0, 8), .gated = PICK(0, 1) == 1, .vocabulary = PICK(1000, 50257),
                               .tied = PICK(0, 1) == 1, .biases = PICK(0, 1) == 1};
    d->job = job(&d->model, NULL, 256 * PICK(1, 4), 0);
    d->job.tensor_parallel = t;
    d->job.pipeline_parallel = p;
    d->job.context_parallel = c;
    d->job.micro_batch = PICK(1, 2);
    d->job.virtual_stages = p > 1 && 12 % (2 * p) == 0 ? PICK(1, 2) : 1;
    d->job.global_batch = nodes * per_node / least * d->job.micro_batch * p * PICK(1, 2, 3);
    d->job.recompute = (int)PICK(PW_RECOMPUTE_NONE, PW_RECOMPUTE_SELECTIVE, PW_RECOMPUTE_FULL);
    d->job.sharding = (int)PICK(PW_SHARDING_NONE, PW_SHARDING_ZERO1, PW_SHARDING_ZERO2, PW_SHARDING_ZERO3);
    d->job.offload_optimizer = PICK(0, 0, 0, 1) == 1;
    d->job.offload_activations = PICK(0, 0, 0, 1) == 1;
    int64_t shares = nodes * per_node / t / p;
    if (d->job.sharding != PW_SHARDING_NONE && shares % 2 == 0) d->job.shard_group = PICK(0, 1) * shares / 2; /* HSDP: two groups */
    if (d->job.sharding == PW_SHARDING_ZERO3 && !d->job.offload_optimizer) d->job.reshard = (int)PICK(0, 1);
    d->job.overlap_gradients = (int)PICK(0, 1);
    d->job.precision = server[0] == 'D' && server[4] == '1' ? PW_PRECISION_FP16 : PW_PRECISION_BF16;
    snprintf(d->text, sizeof d->text, "%lld x %s, t %lld p %lld c %lld v %lld, batch %lld", (long long)nodes, server,
             (long long)t, (long long)p, (long long)c, (long long)d->job.virtual_stages, (long long)d->job.global_batch);
}

static bool run_case(draw *d, bool unfolded, double clock_ratio, pw_train_result *result) {
    pw_run_options options = {.ignore_memory = true, .unfolded = unfolded, .clock_ratio = clock_ratio};
    pw_error error = {0};
    if (pw_train_run(NULL, catalogue(), &d->cluster, &d->job, &options, "job.lua", 1, arena(), result, &error) == PW_OK)
        return true;
    PW_EXPECT_INT(error.status, PW_UNSUPPORTED); /* a stack without flash attention has no ring */
    if (error.status != PW_UNSUPPORTED) printf("# %s: %s\n", d->text, error.what);
    return false;
}

static void expect(bool holds, const draw *d, const char *law, double a, double b) {
    PW_EXPECT(holds);
    if (!holds) printf("# %s: %s: %.12g and %.12g\n", d->text, law, a, b);
}

PW_TEST(random_steps_keep_the_laws) {
    const uint64_t seed = 20240607;
    printf("# seed %llu\n", (unsigned long long)seed);
    int ran = 0;
    for (int i = 0; i < CASES; i++) {
        draw d = {0};
        pw_train_result folded, unfolded, faster, wider;
        d.random = pw_random_stream(seed, "plans", (uint64_t)i);
        draw_case(&d);
        if (!run_case(&d, false, 1, &folded)) continue;
        ran++;
        expect(folded.mfu > 0 && folded.mfu <= 1, &d, "no FLOP beyond the peak", folded.mfu, 1);
        double sum = 0;
        for (uint32_t k = 0; k < folded.part_count; k++) sum += folded.parts[k].seconds;
        expect(fabs(sum - folded.step_s) <= 1e-9 * folded.step_s, &d, "blame sums to the step", sum, folded.step_s);
        for (uint32_t s = 0; s < folded.stage_count; s++) {
            const pw_memory_account *m = &folded.stages[s].memory;
            double bytes = m->weights + m->gradients + m->optimizer + m->activations + m->logits + m->buffers + m->reserve;
            expect(fabs(bytes - m->total) <= 1e-9 * m->total, &d, "memory adds up", bytes, m->total);
            expect(folded.stages[s].compute_s <= folded.step_s * (1 + 1e-9), &d, "a stage computes within the step",
                   folded.stages[s].compute_s, folded.step_s);
        }
        if (run_case(&d, true, 1, &unfolded))
            expect(fabs(unfolded.step_s - folded.step_s) <= 1e-9 * folded.step_s, &d, "folding changes nothing",
                   unfolded.step_s, folded.step_s);
        if (run_case(&d, false, 1.1, &faster))
            expect(faster.step_s <= folded.step_s * (1 + 1e-3), &d, "a faster clock is no slower", faster.step_s, folded.step_s);
        d.cluster.network.oversubscription = 1;
        if (run_case(&d, false, 1, &wider))
            expect(wider.step_s <= folded.step_s * (1 + 1e-3), &d, "more uplinks are no slower", wider.step_s, folded.step_s);
    }
    PW_EXPECT(ran > CASES / 2);
}

/* The host barely keeps ahead while gradients are reduced behind the backward pass: ranks reach each collective in one
 * instant, one after another, and must see the same SMs all the same. */
PW_TEST(ranks_that_wait_for_their_host_fold_exactly) {
    draw d = {.model = {.name = "m", .layers = 24, .hidden = 2048, .heads = 16, .vocabulary = 50257, .gated = true, .tied = true},
              .cluster = nodes_of("GB200 NVL72", 1), .text = "2 GPUs of a tray"};
    pw_train_result folded, unfolded;
    d.cluster.node.gpus = 2;
    d.job = job(&d.model, NULL, 1024, 4);
    d.job.sharding = PW_SHARDING_NONE;
    d.job.overlap_gradients = 1;
    PW_EXPECT(run_case(&d, false, 0, &folded) && run_case(&d, true, 0, &unfolded));
    expect(folded.step_s == unfolded.step_s, &d, "folding changes nothing", folded.step_s, unfolded.step_s);
    expect(folded.stages[0].launch_wait_s > 0.001, &d, "the host holds it up", folded.stages[0].launch_wait_s, 0.001);
}

/* How many kernels stand beside the multiplies, and from how many GPUs on the slowest rank counts, is the stack's row. */
static double launches_of(const pw_job *job, const char *name, pw_kernel_class kind) {
    double launches = 0;
    for (uint32_t s = 0; s < job->segment_count; s++)
        for (uint32_t p = 0; !strcmp(job->segments[s].name, name) && p < job->segments[s].count; p++)
            if (job->kernels[job->segments[s].parts[p].kernel].kind == kind) launches += job->segments[s].parts[p].repeats;
    return launches;
}

PW_TEST(counts_of_kernels_are_the_row_of_the_stack) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "megatron-2021", 4096, 32);
    pw_error error = {0};
    pw_plan plan;
    must(pw_plan_make(catalogue(), device("H100-SXM5-80GB"), 32, &desc, &plan, NULL, 0, &error), &error);
    pw_stack *row = &plan.stack;
    row->optimizer_kernels = 11;
    row->optimizer_norm_kernels = 3;
    row->softmax_kernels_forward = 4;
    row->softmax_kernels_backward = 5;
    row->embedding_kernels_forward = 6;
    row->embedding_kernels_backward = 7;
    row->loss_kernels_forward = 8;
    row->loss_kernels_backward = 9;
    pw_job *lowered;
    must(pw_plan_lower(&plan, arena(), &lowered, &error), &error);
    PW_EXPECT_NEAR(lowered->kernel_time_factor, row->kernel_time_factor, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "optimizer", PW_KERNEL_OPTIMIZER), 11, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "gradient norm", PW_KERNEL_OPTIMIZER), 3, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "layer", PW_KERNEL_SOFTMAX), 4, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "layer backward", PW_KERNEL_SOFTMAX), 5, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "embedding", PW_KERNEL_EMBEDDING), 6, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "embedding backward", PW_KERNEL_EMBEDDING), 7, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "output layer", PW_KERNEL_LOSS), 8, 0);
    PW_EXPECT_NEAR(launches_of(lowered, "output layer backward", PW_KERNEL_LOSS), 9, 0);
}

/* Alignment of the output layer's multiply. */
static int64_t alignment_of(const char *stack, int64_t words, int64_t tensor_parallel) {
    pw_model_desc model = preset("llama3-8b");
    model.vocabulary = words;
    pw_train_desc desc = job(&model, stack, 1024, 8);
    desc.tensor_parallel = tensor_parallel;
    pw_error error = {0};
    pw_plan plan;
    pw_job *lowered;
    must(pw_plan_make(catalogue(), device("A100-SXM4-80GB"), 8, &desc, &plan, NULL, 0, &error), &error);
    must(pw_plan_lower(&plan, arena(), &lowered, &error), &error);
    for (uint32_t s = 0; s < lowered->segment_count; s++)
        if (!strcmp(lowered->segments[s].name, "output layer"))
            return lowered->kernels[lowered->segments[s].parts[0].kernel].gemm.row_alignment;
    return -1;
}

PW_TEST(a_vocabulary_that_is_not_padded_leaves_rows_of_odd_length) {
    const int64_t rows[] = {2, 0, 8, 4}; /* 50,257 / t words of two bytes: odd, 8 x 3,141, 4 x 3,141, 2 x 3,141 */
    for (int i = 0; i < 4; i++) {
        PW_EXPECT_INT(alignment_of("vtrain-2023", 50257, 1 << i), rows[i]);
        PW_EXPECT_INT(alignment_of("megatron-2021", 50257, 1 << i), 0);
    }
}

PW_TEST(a_host_that_waits_for_each_layer_hides_no_collective_behind_its_launches) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, "megatron-2021", 1024, 8);
    desc.tensor_parallel = 8;
    double seconds[2][2]; /* [waits][launches take time] */
    for (int waits = 0; waits < 2; waits++) {
        bench b = bench_open(&desc, "DGX A100 640GB", 1);
        pw_error error = {0};
        pw_plan plan;
        must(pw_plan_make(catalogue(), device("A100-SXM4-80GB"), 8, &desc, &plan, NULL, 0, &error), &error);
        plan.stack.layer_sync = waits;
        must(pw_plan_lower(&plan, arena(), &b.job, &error), &error);
        for (int slow = 0; slow < 2; slow++) {
            b.job->launch_s = slow ? 1e-3 : 0; /* far longer than any kernel or collective here */
            seconds[waits][slow] = bench_run(&b, NULL, NULL);
        }
        bench_close(&b);
    }
    PW_EXPECT_NEAR(seconds[1][0], seconds[0][0], 1e-9); /* a host that takes no time holds up nothing by waiting */
    double gpu_s = seconds[0][0];
    PW_EXPECT(seconds[1][1] > seconds[0][1] + 0.1 * gpu_s && seconds[1][1] < seconds[0][1] + gpu_s);
}

PW_TEST(a_reduction_beside_a_weight_gradient_hides_time_and_changes_no_work) {
    pw_model_desc model = preset("llama3-8b");
    for (int sequence_parallel = 0; sequence_parallel < 2; sequence_parallel++) {
        for (int64_t tensor = 1; tensor <= 8; tensor *= 8) {
            pw_train_desc desc = job(&model, "megatron-2022", 2048, 8);
            desc.tensor_parallel = tensor;
            desc.sequence_parallel = sequence_parallel;
            double seconds[2];
            pw_executor_totals totals[2];
            for (int beside = 0; beside < 2; beside++) {
                bench b = bench_open(&desc, "DGX A100 640GB", 1);
                pw_error error = {0};
                pw_plan plan;
                must(pw_plan_make(catalogue(), device("A100-SXM4-80GB"), 8, &desc, &plan, NULL, 0, &error), &error);
                plan.stack.tp_behind_wgrad = beside;
                must(pw_plan_lower(&plan, arena(), &b.job, &error), &error);
                seconds[beside] = bench_run(&b, NULL, &totals[beside]);
                bench_close(&b);
            }
            PW_EXPECT_NEAR(totals[1].flops, totals[0].flops, 1e-9 * totals[0].flops);
            if (tensor == 1) PW_EXPECT_NEAR(seconds[1], seconds[0], 0);
            else PW_EXPECT(seconds[1] < 0.98 * seconds[0]);
        }
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
