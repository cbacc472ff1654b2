/* Offload to host memory: what moves over the host link, what the CPUs take, what leaves the GPU's account. */
#include <math.h>
#include <string.h>

#include "models/workload/lower.h"
#include "models/workload/offload.h"
#include "tests/unit/workload/runs.h"

static pw_model_desc small(void) {
    return (pw_model_desc){.name = "small", .layers = 8, .hidden = 1024, .heads = 16, .vocabulary = 16384};
}

static pw_train_desc offloaded(pw_model_desc *model, int sharding) {
    pw_train_desc desc = job(model, "deepspeed-2025", 512, 32);
    desc.sharding = sharding;
    desc.offload_optimizer = true;
    return desc;
}

typedef struct moved {
    double to_host, to_device, host_s;
} moved;

/* Of one rank, as its program says. */
static moved moves_of(const pw_train_desc *desc) {
    bench b = bench_open(desc, "DGX H100", 1);
    moved sum = {0};
    pw_walker *walker = pw_walker_create(NULL, b.job, 0);
    for (pw_op op; pw_walker_next(walker, &op);) {
        if (op.kind == PW_OP_COPY) *(op.copy.to_host ? &sum.to_host : &sum.to_device) += op.copy.bytes;
        if (op.kind == PW_OP_DELAY) sum.host_s += op.delay.seconds;
    }
    pw_walker_destroy(walker);
    bench_run(&b, NULL, NULL);
    bench_close(&b);
    return sum;
}

/* Ren et al. 2021: gradients down and updated parameters up, 2 bytes each, of what the rank owns. */
PW_TEST(offloaded_optimizer_moves_gradients_down_and_parameters_up) {
    pw_model_desc model = small();
    double n = pw_model_parameters(&model);
    for (int sharding = PW_SHARDING_NONE; sharding <= PW_SHARDING_ZERO3; sharding++) {
        pw_train_desc desc = offloaded(&model, sharding); /* 8 ranks, 4 micro-batches */
        double own = sharding == PW_SHARDING_NONE ? n : n / 8, times = sharding >= PW_SHARDING_ZERO2 ? 4 : 1, Bps;
        moved m = moves_of(&desc);
        PW_EXPECT_NEAR(m.to_host, times * 2 * own, 1e-12);
        PW_EXPECT_NEAR(m.to_device, 2 * own, 1e-12);
        pw_error error = {0};
        must(pw_host_update_rate(catalogue(), "DGX H100", 8, &Bps, &error), &error);
        PW_EXPECT_NEAR(m.host_s, own * (2 + 4 * 4 + 2 * 12 + 2) / Bps, 1e-12);
    }
}

PW_TEST(offloaded_parameters_come_for_every_gather_and_do_not_go_back) {
    pw_model_desc model = small();
    pw_train_desc desc = offloaded(&model, PW_SHARDING_ZERO3);
    desc.offload_parameters = true;
    double layers = 8 * pw_layer_parameters(&model, 0, 1), n = pw_model_parameters(&model);
    PW_EXPECT_NEAR(moves_of(&desc).to_device, 4 * 2 * (layers + n) / 8, 1e-12);
    desc.global_batch = 4;
    desc.data_parallel = 0;
    desc.tensor_parallel = 8; /* one rank a replica: nothing to gather, but still far away */
    PW_EXPECT(moves_of(&desc).to_device > 0);
}

PW_TEST(offloaded_activations_go_and_come_once_a_micro_batch) {
    pw_model_desc model = small();
    for (int full = 0; full < 2; full++)
        for (int64_t p = 1; p <= 2; p++) {
            pw_train_desc desc = job(&model, "nemo-2024", 512, 32);
            desc.offload_activations = true;
            desc.pipeline_parallel = p;
            desc.recompute = full ? PW_RECOMPUTE_FULL : PW_RECOMPUTE_NONE;
            pw_error error = {0};
            pw_plan plan;
            must(pw_plan_make(catalogue(), device("H100-SXM5-80GB"), 8, &desc, &plan, NULL, 0, &error), &error);
            double layer = pw_plan_layer_activations(&plan, 0, desc.recompute), passes = 8.0 / (double)p * (double)plan.micro_batches;
            moved m = moves_of(&desc);
            PW_EXPECT_NEAR(m.to_host, passes * layer, 1e-12);
            PW_EXPECT_NEAR(m.to_device, passes * layer, 1e-12);
            if (full) PW_EXPECT_NEAR(layer, 2.0 * 512 * 1024, 1e-12);
        }
}

/* GPUs below one PCIe switch share its way to the host: copies of two at once take twice as long as of one. */
PW_TEST(copies_contend_for_the_way_to_the_host) {
    pw_model_desc model = small();
    model.hidden = 4096;
    double step_s[2];
    for (int two = 0; two < 2; two++) {
        pw_cluster_desc cluster = nodes_of("DGX A100 640GB", 1);
        cluster.node.gpus = two ? 2 : 1; /* neighbours below one switch */
        pw_train_desc desc = job(&model, "nemo-2024", 4096, two ? 2 : 1);
        desc.offload_activations = true; /* so much that the way to the host decides */
        pw_run_options options = {.ignore_memory = true, .plain = true};
        pw_train_result result;
        pw_error error = {0};
        must(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, "job.lua", 1, arena(), &result, &error), &error);
        step_s[two] = result.step_s;
    }
    PW_EXPECT(step_s[1] > 1.4 * step_s[0]);
}

PW_TEST(host_link_hides_behind_computation_when_it_is_fast_enough) {
    pw_model_desc model = small();
    model.hidden = 4096;
    pw_train_desc desc = job(&model, "nemo-2024", 4096, 8);
    double without = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.recompute = PW_RECOMPUTE_FULL;
    double again = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.offload_activations = true;
    double offload = run_plain(&desc, "DGX H100", 1, false).step_s; /* 34 MB a layer */
    PW_EXPECT(again > without && offload >= again && offload < 1.02 * again);
    desc.recompute = PW_RECOMPUTE_NONE; /* 17 times as much does not fit behind a layer */
    PW_EXPECT(run_plain(&desc, "DGX H100", 1, false).step_s > 1.2 * without);
    PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, true).step_s, run_plain(&desc, "DGX H100", 1, false).step_s, 1e-9);
}

PW_TEST(memory_that_is_offloaded_leaves_the_gpu_for_the_host) {
    pw_model_desc model = small();
    double n = pw_model_parameters(&model);
    pw_train_desc desc = offloaded(&model, PW_SHARDING_ZERO3);
    desc.data_parallel = 8;
    desc.recompute = PW_RECOMPUTE_FULL;
    pw_error error = {0};
    pw_memory_account a, b;
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), &desc, 0, &a, &error), &error);
    PW_EXPECT_NEAR(a.host, (12 + 4) * n / 8, 1e-12);
    PW_EXPECT_NEAR(a.weights, 2 * n / 8, 1e-12);
    PW_EXPECT_NEAR(a.optimizer + a.gradients, 0, 0);
    desc.offload_parameters = desc.offload_activations = true;
    must(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), &desc, 0, &b, &error), &error);
    double layer = 2.0 * 512 * 1024;
    PW_EXPECT_NEAR(b.host, a.host + 2 * n / 8 + 5 * layer, 1e-12);
    PW_EXPECT_NEAR(b.weights, 0, 0);
    PW_EXPECT_NEAR(b.activations, 3 * layer, 1e-12);
}

PW_TEST(a_host_serves_its_gpus_evenly_and_unknown_cpus_have_a_row) {
    double eight, four, rack, unknown;
    pw_error error = {0};
    must(pw_host_update_rate(catalogue(), "DGX H100", 8, &eight, &error), &error);
    PW_EXPECT_NEAR(eight, 2 * 307.2e9 * 0.46 / 8, 1e-12);
    must(pw_host_update_rate(catalogue(), "8xA100-PCIe server", 4, &four, &error), &error);
    must(pw_host_update_rate(catalogue(), "GB200 NVL72", 4, &rack, &error), &error);
    PW_EXPECT_NEAR(rack, 36 * 512e9 * 0.46 / 72, 1e-12);
    must(pw_host_update_rate(catalogue(), "", 8, &unknown, &error), &error);
    PW_EXPECT(four > 0 && unknown > 0);
}

static void expect_refused(const pw_train_desc *desc, pw_status status, const char *what) {
    pw_memory_account unused;
    pw_error error = {0};
    PW_EXPECT_INT(pw_train_memory(catalogue(), device("H100-SXM5-80GB"), desc, 0, &unused, &error), status);
    PW_EXPECT_CONTAINS(error.what, what);
}

PW_TEST(combinations_that_are_not_modelled_are_refused) {
    pw_model_desc model = small();
    pw_train_desc desc = offloaded(&model, PW_SHARDING_ZERO1);
    desc.data_parallel = 8;
    desc.offload_parameters = true;
    expect_refused(&desc, PW_BAD_INPUT, "needs sharding zero3");
    desc.sharding = PW_SHARDING_ZERO3;
    desc.offload_optimizer = false;
    expect_refused(&desc, PW_BAD_INPUT, "without offload_optimizer");
    desc.offload_optimizer = true;
    desc.reshard = 0;
    expect_refused(&desc, PW_UNSUPPORTED, "reshard");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
