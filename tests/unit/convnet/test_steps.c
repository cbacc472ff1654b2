/* Steps: gradients, folding, memory, and input pipelines that show only when they are the slowest part. */
#include "tests/unit/convnet/jobs.h"

static const double forever = 1e18;

static pw_input_desc *pipeline(double image_bytes, double store_Bps) {
    pw_error error = {0};
    pw_input_desc *input = pw_arena_alloc(arena(), sizeof *input);
    must(pw_description_defaults(&pw_input_kind, input, arena(), &error), &error);
    input->image_bytes = image_bytes;
    input->store_bandwidth_Bps = store_Bps;
    return input;
}

PW_TEST(flops_of_a_step_are_those_of_its_layers) {
    pw_convnet_desc desc = job("resnet50-v1.5", 64);
    pw_convnet_result ran = run_plain(&desc, 1, 1, false);
    PW_EXPECT_NEAR(ran.totals.flops, 64 * shape_of(desc.model).training_flops, 1e-9);
    PW_EXPECT_NEAR(ran.images_per_s, 64 / ran.step_s, 1e-12);
}

PW_TEST(every_gradient_is_reduced_once) {
    pw_convnet_desc desc = job("resnet50-v1.5", 64);
    desc.stack = "pytorch-2021";
    for (int overlap = 0; overlap < 2; overlap++) {
        desc.overlap_gradients = overlap;
        pw_convnet_result ran = run_plain(&desc, 1, 8, false);
        PW_EXPECT_NEAR(ran.totals.collective_bytes, 8 * 4 * ran.parameters, 1e-12);
    }
}

PW_TEST(reduction_behind_the_backward_pass_hides) {
    pw_convnet_desc desc = job("vgg16", 32);
    desc.overlap_gradients = 0;
    pw_convnet_result apart = run_plain(&desc, 2, 8, false);
    desc.overlap_gradients = 1;
    pw_convnet_result behind = run_plain(&desc, 2, 8, false);
    PW_EXPECT(part_of(&behind, "dp communication") < 0.8 * part_of(&apart, "dp communication"));
    PW_EXPECT(behind.step_s < apart.step_s);
}

PW_TEST(one_gpu_reduces_nothing) {
    pw_convnet_desc desc = job("resnet50-v1.5", 64);
    pw_convnet_result ran = run_plain(&desc, 1, 1, false);
    PW_EXPECT_NEAR(ran.totals.collective_bytes, 0, 0);
    PW_EXPECT_NEAR(part_of(&ran, "dp communication"), 0, 0);
}

PW_TEST(folding_changes_nothing) {
    pw_convnet_desc desc = job("resnet50-v1.5", 64);
    desc.input = pipeline(110e3, 5e9);
    pw_convnet_result folded = run_plain(&desc, 2, 4, false), whole = run_plain(&desc, 2, 4, true);
    PW_EXPECT_NEAR(folded.step_s, whole.step_s, 1e-9);
    PW_EXPECT_INT(folded.totals.classes, 1);
    PW_EXPECT_NEAR(folded.totals.io_bytes, 8 * 64 * 110e3, 1e-12);
}

/* --- Input -------------------------------------------------------------------------------------------------------- */

PW_TEST(a_slow_store_sets_the_pace) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    desc.input = pipeline(110e3, 0.5e9);
    pw_convnet_result ran = run_plain(&desc, 2, 8, false);
    PW_EXPECT_NEAR(ran.images_per_s, 0.5e9 / 110e3, 1e-9); /* store bandwidth / bytes of an image */
    PW_EXPECT(part_of(&ran, "input: store") > 0.5 * ran.step_s);
    desc.input->shared = false; /* every node has one */
    ran = run_plain(&desc, 2, 8, false);
    PW_EXPECT_NEAR(ran.images_per_s, 2 * 0.5e9 / 110e3, 1e-9);
}

PW_TEST(files_are_bound_by_requests) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    desc.input = pipeline(110e3, forever);
    desc.input->store_operations_per_s = 1000;
    PW_EXPECT_NEAR(run_plain(&desc, 1, 8, false).images_per_s, 1000, 1e-9);
    desc.input->images_per_request = 4;
    PW_EXPECT_NEAR(run_plain(&desc, 1, 8, false).images_per_s, 4000, 1e-9);
}

PW_TEST(slow_decoding_sets_the_pace) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    desc.input = pipeline(110e3, forever);
    desc.input->decode_per_core = 100;
    desc.input->cores = 5;
    PW_EXPECT_NEAR(run_plain(&desc, 1, 8, false).images_per_s_per_gpu, 500, 1e-9);
}

PW_TEST(a_fast_pipeline_does_not_show) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    double alone = run_plain(&desc, 1, 8, false).step_s;
    desc.input = pipeline(110e3, 1e12);
    desc.input->decode_per_core = 1000;
    desc.input->cores = 16;
    PW_EXPECT_NEAR(run_plain(&desc, 1, 8, false).step_s, alone, 1e-9);
}

PW_TEST(without_prefetch_the_stages_add_up) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    double alone = run_plain(&desc, 1, 1, false).step_s;
    desc.input = pipeline(1e6, 10e9); /* 25.6 ms */
    desc.input->decode_per_core = 500;
    desc.input->cores = 8; /* 64 ms */
    double stages = 256 * 1e6 / 10e9 + 256 / 4000.0;
    desc.input->prefetch = PW_PREFETCH_NONE;
    double in_turn = run_plain(&desc, 1, 1, false).step_s, copy = in_turn - alone - stages;
    PW_EXPECT(copy > 0 && copy < 0.02 * in_turn); /* 38.5 MB over PCIe */
    desc.input->prefetch = PW_PREFETCH_BATCH;
    double beside = run_plain(&desc, 1, 1, false).step_s;
    PW_EXPECT_NEAR(beside, fmax(alone, stages + copy), 1e-4);
    desc.input->prefetch = PW_PREFETCH_STAGES;
    desc.input->cores = 1; /* 512 ms: longer than the step */
    PW_EXPECT_NEAR(run_plain(&desc, 1, 1, false).step_s, 256 / 500.0, 1e-9);
}

/* --- Memory ------------------------------------------------------------------------------------------------------- */

PW_TEST(a_batch_that_does_not_fit_names_the_largest_that_does) {
    pw_convnet_desc desc = job("resnet50-v1.5", 4000);
    pw_cluster_desc cluster = nodes_of(1, 8);
    pw_convnet_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_convnet_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 3, arena(), &result, &error),
                  PW_DOES_NOT_FIT);
    PW_EXPECT_CONTAINS(error.what, "convnet.batch: 4000 images need");
    long long fits = 0;
    PW_EXPECT_INT(sscanf(error.hint, "the largest batch that fits is %lld", &fits), 1);
    desc.batch = fits;
    PW_EXPECT_INT(pw_convnet_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 3, arena(), &result, &error), PW_OK);
    desc.batch = fits + 1;
    PW_EXPECT_INT(pw_convnet_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 3, arena(), &result, &error),
                  PW_DOES_NOT_FIT);
}

/* Convolution output and normalised output of 11,113,984 elements in all, less those that a sum alone takes, plus sums. */
PW_TEST(what_the_backward_pass_reads_is_kept_once) {
    pw_convnet_desc desc = job("resnet50-v1.5", 1);
    pw_convnet_plan plan;
    pw_convnet_memory one, two;
    pw_error error = {0};
    must(pw_convnet_plan_make(catalogue(), NULL, 1, 1, &desc, arena(), NULL, 0, &plan, &error), &error);
    pw_convnet_account(&plan, NULL, &one);
    plan.batch = 2;
    pw_convnet_account(&plan, NULL, &two);
    double normed = 0, rectified = 0, pooled = 64.0 * 56 * 56;
    for (uint32_t i = 0; i < plan.shape.count; i++) {
        const pw_layer *layer = &plan.shape.layers[i];
        if (pw_layer_has_norm(layer)) normed += pw_layer_outputs(layer);
        if (layer->desc->activation == PW_ACTIVATION_RELU) rectified += pw_layer_outputs(layer);
    }
    double images = 224.0 * 224 * 3, classes_in = 2048;
    PW_EXPECT_NEAR(normed, 11113984, 0);
    PW_EXPECT_NEAR(two.activations - one.activations,
                   2 * (normed + rectified + pooled + images + classes_in) + plan.stack.pool_index * pooled, 1e-12);
    PW_EXPECT_NEAR(two.weights, one.weights, 0);
}

PW_TEST(formats_that_are_not_there_are_refused) {
    pw_convnet_desc desc = job("resnet50-v1.5", 8);
    pw_cluster_desc cluster = nodes_of(1, 1);
    cluster.node.server = "DGX-1 V100";
    cluster.node.gpu = "V100-SXM2-16GB";
    desc.precision = PW_PRECISION_TF32;
    pw_convnet_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_convnet_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 3, arena(), &result, &error), PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "no tf32 arithmetic");
    desc.precision = PW_PRECISION_FP8;
    PW_EXPECT_INT(pw_description_check(&pw_convnet_kind, &desc, "job.lua", 3, &error), PW_UNSUPPORTED);
    desc.precision = PW_PRECISION_FP16;
    desc.stack = "pytorch-1999";
    PW_EXPECT_INT(pw_convnet_run(NULL, catalogue(), &cluster, &desc, NULL, "job.lua", 3, arena(), &result, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "mxnet-2020");
}

PW_TEST(a_stack_that_fuses_is_faster_and_one_that_transposes_slower) {
    pw_convnet_desc desc = job("resnet50-v1.5", 256);
    desc.stack = "pytorch-2021";
    double unfused = run_plain(&desc, 1, 1, false).step_s;
    desc.channels_last = 0;
    PW_EXPECT(run_plain(&desc, 1, 1, false).step_s > 1.1 * unfused);
    desc.channels_last = 2;
    desc.stack = "mxnet-2020";
    PW_EXPECT(run_plain(&desc, 1, 1, false).step_s < 0.95 * unfused);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
