/* What the tests of convolutional networks share: the catalogue, an arena, presets and jobs. */
#ifndef PW_TESTS_CONVNET_JOBS_H
#define PW_TESTS_CONVNET_JOBS_H

#include "models/workload/convnet/layers.h"
#include "tests/harness/catalogue.h"

static inline pw_image_model_desc *preset(const char *name) {
    pw_error error = {0};
    pw_image_model_desc *model = pw_arena_alloc(arena(), sizeof *model);
    must(pw_image_model_preset(catalogue(), name, model, arena(), &error), &error);
    return model;
}

static inline pw_image_shape shape_of(const pw_image_model_desc *model) {
    pw_error error = {0};
    pw_image_shape shape;
    must(pw_image_resolve(model, arena(), "model.lua", 1, &shape, &error), &error);
    return shape;
}

/* A job with every default; the caller sets what it is about. */
static inline pw_convnet_desc job(const char *model, int64_t batch) {
    pw_error error = {0};
    pw_convnet_desc desc;
    must(pw_description_defaults(&pw_convnet_kind, &desc, arena(), &error), &error);
    desc.model = preset(model);
    desc.batch = batch;
    return desc;
}

static inline pw_cluster_desc nodes_of(int64_t nodes, int64_t gpus) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = "DGX A100";
    desc.node.gpu = "A100-SXM4-80GB";
    desc.node.gpus = gpus;
    desc.nodes = nodes;
    return desc;
}

/* Plain (reference clock, no factor), whatever the memory. */
static inline pw_convnet_result run_plain(const pw_convnet_desc *desc, int64_t nodes, int64_t gpus, bool unfolded) {
    pw_cluster_desc cluster = nodes_of(nodes, gpus);
    pw_run_options options = {.ignore_memory = true, .plain = true, .unfolded = unfolded};
    pw_convnet_result result;
    pw_error error = {0};
    must(pw_convnet_run(NULL, catalogue(), &cluster, desc, &options, "job.lua", 1, arena(), &result, &error), &error);
    return result;
}

static inline double part_of(const pw_convnet_result *result, const char *name) {
    for (uint32_t i = 0; i < result->part_count; i++)
        if (strcmp(result->parts[i].name, name) == 0) return result->parts[i].seconds;
    return 0;
}

#endif
