/* What sharded jobs send and keep, as executed, against the closed forms; gathers hide behind computation or show. */
#include <math.h>

#include "models/workload/lower.h"
#include "tests/unit/workload/runs.h"

static pw_model_desc small(void) {
    return (pw_model_desc){.name = "small", .layers = 8, .hidden = 1024, .heads = 16, .vocabulary = 16384};
}
static double of_layers(const pw_model_desc *model) { return (double)model->layers * pw_layer_parameters(model, 0, 1); }

static pw_train_desc sharded(pw_model_desc *model, int sharding, int64_t batch) {
    pw_train_desc desc = job(model, "nemo-2024", 512, batch);
    desc.sharding = sharding;
    return desc;
}
static double bytes_of(const pw_train_desc *desc, int64_t nodes) {
    return run_plain(desc, "DGX H100", nodes, false).totals.collective_bytes;
}

/* Per micro-batch two gathers and a scatter of 2 N bytes of the layers; the ends are gathered once. 1.5 x data parallel, whose
 * all_reduce is two halves. */
PW_TEST(zero3_moves_three_times_the_parameters_per_micro_batch) {
    pw_model_desc model = small();
    double layers = of_layers(&model), ends = pw_model_parameters(&model) - layers;
    for (int64_t m = 1; m <= 3; m++) {
        pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 8 * m);
        PW_EXPECT_NEAR(bytes_of(&desc, 1), 8.0 * (double)m * (3 * 2 * layers + 2 * 2 * ends), 1e-12);
        desc.reshard = 0;
        PW_EXPECT_NEAR(bytes_of(&desc, 1), 8.0 * (double)m * 2 * 2 * (layers + ends), 1e-12);
        desc.hold_gradients = 1;
        PW_EXPECT_NEAR(bytes_of(&desc, 1), 8.0 * (double)(m + 1) * 2 * (layers + ends), 1e-12);
        desc.reshard = 1;
        PW_EXPECT_NEAR(bytes_of(&desc, 1), 8.0 * ((double)m * (2 * 2 * layers + 2 * ends) + 2 * (layers + ends)), 1e-12);
    }
}

/* DeepSpeed, whose layers exceed its limits: gathered again between the second forward and the backward pass. */
PW_TEST(a_stack_that_gathers_again_moves_four_times_the_parameters) {
    pw_model_desc model = small();
    double layers = of_layers(&model), ends = pw_model_parameters(&model) - layers;
    pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 16);
    double step_s[2];
    desc.cuda_graphs = 1; /* else the host decides */
    for (int apart = 0; apart < 2; apart++) /* tensor by tensor: the same bytes, later */
        for (int full = 0; full < 2; full++) {
            desc.stack = apart ? "deepspeed-2021-zero3" : "deepspeed-2022";
            desc.recompute = full ? PW_RECOMPUTE_FULL : PW_RECOMPUTE_NONE;
            pw_train_result result = run_plain(&desc, "DGX H100", 1, false);
            PW_EXPECT_NEAR(result.totals.collective_bytes, 8.0 * 2 * ((full ? 4 : 3) * 2 * layers + 2 * 2 * ends), 1e-12);
            step_s[apart] = result.step_s;
        }
    PW_EXPECT(step_s[1] > step_s[0]);
}

PW_TEST(zero2_scatters_each_micro_batch_unless_held) {
    pw_model_desc model = small();
    double n = pw_model_parameters(&model);
    for (int overlap = 0; overlap < 2; overlap++)
        for (int64_t m = 1; m <= 3; m++) {
            pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO2, 8 * m);
            desc.overlap_gradients = desc.overlap_parameters = overlap;
            PW_EXPECT_NEAR(bytes_of(&desc, 1), 8 * ((double)m + 1) * 2 * n, 1e-12);
            desc.hold_gradients = 1;
            PW_EXPECT_NEAR(bytes_of(&desc, 1), 8 * 2 * 2 * n, 1e-12);
        }
}

/* Inside a group as ZeRO-3 among so many; across, an all_reduce of a share. Whole-node groups send over the network only the
 * latter: 2 (n - 1)/n of 2 N bytes per node. */
PW_TEST(hsdp_scatters_inside_and_reduces_shares_across) {
    pw_model_desc model = small();
    double layers = of_layers(&model), ends = pw_model_parameters(&model) - layers;
    for (int64_t group = 1; group <= 16; group *= 2) {
        pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 16);
        desc.shard_group = group;
        double inside = group > 1 ? 16 * (3 * 2 * layers + 2 * 2 * ends) : 0;
        double across = group < 16 ? 16 * 2 * (layers + ends) / (double)group : 0;
        PW_EXPECT_NEAR(bytes_of(&desc, 2), inside + across, 1e-12);
        if (group != 8) continue;
        pw_train_result result = run_plain(&desc, "DGX H100", 2, false);
        double network = result.totals.link_bytes[PW_LINK_NETWORK];
        desc.sharding = PW_SHARDING_ZERO3;
        desc.shard_group = 0;
        PW_EXPECT(network > 0 && network < 0.5 * run_plain(&desc, "DGX H100", 2, false).totals.link_bytes[PW_LINK_NETWORK]);
    }
}

PW_TEST(sharding_leaves_the_arithmetic_alone_and_folds_exactly) {
    pw_model_desc model = small();
    const struct { int64_t t, p, c, v, group; int recompute; } cases[] = {
        {1, 1, 1, 1, 0, 0}, {2, 1, 1, 1, 4, 2}, {1, 2, 1, 1, 0, 0}, {2, 2, 1, 2, 2, 2}, {1, 1, 2, 1, 2, 0}, {1, 4, 2, 1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int reshard = 0; reshard < 2; reshard++) {
            pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 64);
            desc.tensor_parallel = cases[i].t;
            desc.pipeline_parallel = cases[i].p;
            desc.context_parallel = cases[i].c;
            desc.virtual_stages = cases[i].v;
            desc.shard_group = cases[i].group;
            desc.recompute = cases[i].recompute;
            desc.reshard = reshard;
            pw_train_result sharded_run = run_plain(&desc, "DGX H100", 2, false);
            pw_train_result unfolded = run_plain(&desc, "DGX H100", 2, true);
            PW_EXPECT_NEAR(sharded_run.step_s, unfolded.step_s, 1e-9);
            desc.sharding = PW_SHARDING_ZERO1;
            desc.reshard = 2;
            PW_EXPECT_NEAR(sharded_run.totals.flops, run_plain(&desc, "DGX H100", 2, false).totals.flops, 1e-12);
        }
}

/* torchtitan's policy: of a gated layer's seven multiplies (q, k, v, output, two inner, last) the second, fourth and sixth again. */
PW_TEST(recompute_by_operator_computes_every_second_multiply_again) {
    pw_model_desc model = small();
    model.gated = true;
    model.kv_heads = 4;
    model.ffn = 3584;
    pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 16);
    double none = run_plain(&desc, "DGX H100", 1, false).totals.flops;
    desc.recompute = PW_RECOMPUTE_SELECTIVE;
    desc.recompute_modules = "op";
    double again = 8 * 16 * 512.0 * 2 * 1024 * (256 + 1024 + 3584);
    PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops - none, again, 1e-9);
    pw_error error = {0};
    pw_plan plan;
    must(pw_plan_make(catalogue(), device("H100-SXM5-80GB"), 8, &desc, &plan, NULL, 0, &error), &error);
    PW_EXPECT_NEAR(pw_plan_layer_activations(&plan, 0, desc.recompute), 512.0 * 2 * (2 * 1024 + 2 * 1024 + 256 + 3584), 1e-12);
    desc.recompute_modules = "op layernorm";
    PW_EXPECT_INT(pw_plan_make(catalogue(), NULL, 8, &desc, &plan, NULL, 0, &error), PW_BAD_INPUT);
}

/* --- Hidden and exposed ------------------------------------------------------------------------------------------ */

enum { LAYERS = 8 };

/* A job whose gathers take gather_s each and scatters nothing; only its layers compute, with forward_alone only their forward
 * pass. */
static double step_of(const pw_train_desc *desc, double gather_s, bool forward_alone, double *layer_s) {
    bench b = bench_open(desc, "DGX H100", 1);
    double compute_s = 0;
    for (uint32_t t = 0; t < b.job->template_count; t++)
        for (uint32_t i = 0; i < b.job->templates[t].count; i++) {
            pw_op *op = (pw_op *)&b.job->templates[t].ops[i];
            if (op->kind != PW_OP_COLLECTIVE) continue;
            if (op->collective.kind == PW_COLLECTIVE_ALL_GATHER) {
                op->kind = PW_OP_DELAY;
                op->delay.seconds = gather_s;
            } else {
                op->collective.bytes = 0;
            }
        }
    b.job->launch_s = 0;
    for (uint32_t s = 0; s < b.job->segment_count; s++) { /* ends and optimizer take nothing */
        bool is_layer = !strcmp(b.job->segments[s].name, "layer") || (!forward_alone && !strcmp(b.job->segments[s].name, "layer backward"));
        if (!is_layer) ((pw_segment *)b.job->segments)[s].count = 0;
    }
    double end = bench_run(&b, &compute_s, NULL);
    bench_close(&b);
    if (layer_s) *layer_s = compute_s;
    return end;
}
static double step_with(const pw_train_desc *desc, double gather_s, double *layer_s) {
    return step_of(desc, gather_s, false, layer_s);
}

/* All gathers are in the forward pass here: two units (embedding and first layer) are gathered before anything is computed, then
 * each gather has a layer to hide behind. Slow ones are a chain that computation follows: twice as slow is one chain longer. */
PW_TEST(a_gather_faster_than_a_layer_hides_and_a_slower_one_shows_by_the_difference) {
    pw_model_desc model = small();
    pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 8);
    const double units = LAYERS + 2;
    desc.reshard = 0;
    for (int ahead = 0; ahead <= 2; ahead++) {
        desc.prefetch = ahead;
        double compute_s, base = step_with(&desc, 0, &compute_s), layer = compute_s / LAYERS; /* forward and backward */
        double fast = layer / 8, slow = layer, exposed = step_with(&desc, fast, NULL) - base;
        PW_EXPECT_NEAR(exposed, (ahead ? 2 : units) * fast, 1e-6);
        PW_EXPECT_NEAR(step_with(&desc, 2 * slow, NULL) - step_with(&desc, slow, NULL), units * slow, 1e-6);
        if (ahead == 0) continue;
        /* each gather but the first two shows by what a layer's forward pass cannot cover; the last, of the output layer, has
         * the last layer to hide behind as well */
        double forward;
        step_of(&desc, 0, true, &forward);
        forward /= LAYERS;
        double covered = step_with(&desc, slow, NULL) - base - 2 * slow;
        PW_EXPECT_NEAR(covered, LAYERS * (slow - forward), 1e-6);
    }
}

/* --- Memory ------------------------------------------------------------------------------------------------------ */

static pw_memory_account account(const pw_train_desc *desc) {
    pw_memory_account result;
    pw_error error = {0};
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), desc, 0, &result, &error), &error);
    return result;
}

/* Rajbhandari et al. 2020, figure 1, with the stack's 4-byte gradients and 12 bytes of fp32 state: 2 + 4 + 12 without sharding. */
PW_TEST(memory_of_states_follows_the_stage_of_zero) {
    pw_model_desc model = small();
    double n = pw_model_parameters(&model);
    for (int64_t d = 1; d <= 64; d *= 4)
        for (int sharding = 0; sharding <= PW_SHARDING_ZERO3; sharding++) {
            pw_train_desc desc = sharded(&model, sharding, 64);
            desc.stack = "megatron-2023";
            desc.data_parallel = d;
            pw_memory_account a = account(&desc);
            double share = 1.0 / (double)d, w = sharding == PW_SHARDING_ZERO3 ? share : 1,
                   g = sharding >= PW_SHARDING_ZERO2 ? share : 1, o = sharding >= PW_SHARDING_ZERO1 ? share : 1;
            PW_EXPECT_NEAR(a.weights + a.gradients + a.optimizer, (2 * w + 4 * g + 12 * o) * n, 1e-12);
        }
}

/* What is whole for use: the unit at work and those ahead; shares of a group of eight stay eighths however many there are. */
PW_TEST(memory_of_gathered_units_grows_with_the_layers_ahead) {
    pw_model_desc model = small();
    pw_train_desc desc = sharded(&model, PW_SHARDING_ZERO3, 64);
    desc.data_parallel = 64;
    desc.prefetch = 1;
    double one = account(&desc).buffers, largest = fmax(pw_layer_parameters(&model, 0, 1), 16384.0 * 1024 + 1024);
    desc.prefetch = 4;
    PW_EXPECT_NEAR(account(&desc).buffers - one, 3 * 2 * largest, 1e-12);
    desc.shard_group = 8;
    pw_memory_account grouped = account(&desc);
    desc.data_parallel = 8;
    desc.shard_group = 0;
    PW_EXPECT_NEAR(grouped.optimizer, account(&desc).optimizer, 1e-12);
}

/* 13 billion parameters on one node: with the states shared out it fits as it is. */
PW_TEST(the_nearest_plan_names_sharding_and_offload) {
    pw_model_desc model = preset("gpt3-13b");
    pw_train_desc desc = job(&model, "fms-fsdp-2024", 2048, 8);
    desc.sharding = PW_SHARDING_ZERO1;
    desc.recompute = PW_RECOMPUTE_FULL;
    pw_error error = {0};
    const char *text = "";
    must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 8, 1, &desc, arena(), &text, &error), &error);
    PW_EXPECT_CONTAINS(text, "sharding = \"zero");
    desc.global_batch = 1;
    must(pw_train_nearest_fit(catalogue(), device("H100-SXM5-80GB"), 1, 1, &desc, arena(), &text, &error), &error);
    PW_EXPECT_CONTAINS(text, "offload_optimizer = true");
}

/* --- Refusals ---------------------------------------------------------------------------------------------------- */

static void expect_refused(const pw_train_desc *desc, const char *what) {
    pw_memory_account unused;
    pw_error error = {0};
    PW_EXPECT_INT(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), desc, 0, &unused, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, what);
}

PW_TEST(options_that_would_change_nothing_are_refused) {
    pw_model_desc model = small();
    pw_train_desc plain = sharded(&model, PW_SHARDING_ZERO1, 64), desc;
    plain.data_parallel = 8;
    desc = plain, desc.reshard = 1, expect_refused(&desc, "reshard");
    desc = plain, desc.prefetch = 2, expect_refused(&desc, "prefetch");
    desc = plain, desc.hold_gradients = 1, expect_refused(&desc, "hold_gradients");
    desc = plain, desc.shard_group = 3, expect_refused(&desc, "does not divide the 8 ranks");
    plain.sharding = PW_SHARDING_NONE;
    desc = plain, desc.shard_group = 4, expect_refused(&desc, "without sharding");
    plain.sharding = PW_SHARDING_ZERO3;
    desc = plain, desc.bucket_bytes = 1e6, expect_refused(&desc, "bucket_bytes");
    desc = plain, desc.prefetch = 1.5, expect_refused(&desc, "whole number");
    desc = plain, desc.prefetch = 2, desc.overlap_parameters = 0, expect_refused(&desc, "exclude each other");
}

/* --- Data -------------------------------------------------------------------------------------------------------- */

PW_TEST(rules_of_sharding_and_attention_belong_to_stacks_on_file) {
    const char *const tables[] = {"stack-sharding", "attention-kernels"};
    for (size_t t = 0; t < 2; t++) {
        const pw_table *table = pw_catalogue_table(catalogue(), tables[t]);
        PW_EXPECT(table && pw_table_rows(table) > 1);
        for (size_t row = 0; table && row < pw_table_rows(table); row++) {
            const char *name = t == 0 ? pw_table_text_at(table, row, 0) : pw_table_text_of(table, row, "stack");
            if (strcmp(name, "other") == 0) continue;
            pw_error error = {0};
            pw_stack stack;
            PW_EXPECT_INT(pw_stack_read(catalogue(), name, NULL, &stack, NULL, 0, &error), PW_OK);
        }
    }
}

PW_TEST(an_older_attention_kernel_takes_its_ratio_longer) {
    pw_gpu *gpu;
    pw_error error = {0};
    must(pw_gpu_create(NULL, catalogue(), "A100-SXM4-80GB", &gpu, &error), &error);
    for (int backward = 0; backward < 2; backward++) {
        pw_kernel kernel = {.kind = PW_KERNEL_ATTENTION, .precision = PW_PRECISION_BF16,
                            .attention = {.batch = 1, .queries = 8192, .keys = 8192, .heads = 16, .kv_heads = 16, .head_dim = 128,
                                          .causal = true, .backward = backward}};
        pw_kernel_cost fitted, older;
        must(pw_gpu_kernel_cost(gpu, &kernel, NULL, &fitted, &error), &error);
        kernel.attention.slowdown = 2;
        must(pw_gpu_kernel_cost(gpu, &kernel, NULL, &older, &error), &error);
        PW_EXPECT_NEAR(older.compute_s, 2 * fitted.compute_s, 1e-12);
        PW_EXPECT_NEAR(older.flops, fitted.flops, 0);
    }
    pw_gpu_destroy(gpu);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
