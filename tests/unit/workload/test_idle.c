/* No option is ignored in silence: on one rank, on eight that share data, and on stages, each either changes the answer, or is
 * refused, or a note names it. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/workload/runs.h"

static const char *const options[][2] = {
    {"sequence_parallel", "off"}, {"overlap_gradients", "off"}, {"overlap_parameters", "off"}, {"overlap_pipeline", "on"},
    {"bucket_bytes", "1 MB"}, {"reshard", "off"}, {"hold_gradients", "on"}, {"prefetch", "0"}, {"shard_group", "2"},
    {"lora_rank", "8"}, {"lora_targets", "qkv, proj"}, {"context_exchange", "all_gather"}, {"context_inner", "2"},
    {"virtual_stages", "2"}, {"schedule", "zb-h1"}, {"first_stage_layers", "1"}, {"last_stage_layers", "3"},
    {"optimizer_check", "late"}, {"expert_parallel", "2"}, {"expert_tensor_parallel", "2"}, {"expert_imbalance", "2"},
    {"expert_capacity", "1.5"}, {"recompute_modules", "moe_act"}, {"recompute_modules", "mla_up_proj"},
    {"offload_parameters", "true"}, {"padding", "0.25"}, {"stack_factor", "2"}, {"frozen_layers", "2"}, {"trainable", "head"},
    {"optimizer", "sgd"}, {"recompute", "full"}, {"micro_batch", "2"}, {"tensor_parallel", "2"}, {"context_parallel", "2"}};

static pw_train_desc described(pw_model_desc *model, int64_t stages, const char *sharding, const char *stack) {
    pw_train_desc desc = job(model, stack, 512, 32);
    pw_error error = {0};
    desc.pipeline_parallel = stages;
    must(pw_description_set_path(&pw_train_kind, &desc, "sharding", sharding, arena(), &error), &error);
    return desc;
}

static bool run(const pw_train_desc *desc, int64_t gpus, pw_train_result *result) {
    pw_cluster_desc cluster = nodes_of("DGX H100", 1);
    pw_run_options options_of = {.ignore_memory = true};
    pw_error error = {0};
    cluster.node.gpus = gpus;
    return pw_train_run(NULL, catalogue(), &cluster, desc, &options_of, "job.lua", 1, arena(), result, &error) == PW_OK;
}

static bool says(const pw_train_result *result, const char *option) {
    char name[64];
    snprintf(name, sizeof name, "%s", option);
    for (uint32_t i = 0; i < result->note_count; i++)
        if (strstr(result->notes[i], name)) return true;
    return false;
}

static bool differs(const pw_train_result *a, const pw_train_result *b) {
    return a->hash != b->hash || a->step_s != b->step_s || a->stages[0].memory.total != b->stages[0].memory.total;
}

PW_TEST(an_option_changes_the_answer_or_is_refused_or_noted) {
    const struct { int64_t gpus, stages; const char *sharding, *stack; } plans[] = {
        {1, 1, "zero1", "nemo-2024"}, {8, 1, "zero1", "nemo-2024"},         {8, 1, "none", "nemo-2024"},
        {8, 4, "zero1", "megatron-2023"}, {8, 1, "zero2", "deepspeed-2025"}, {8, 1, "zero3", "fms-fsdp-2024"}};
    pw_model_desc model = {.name = "small", .layers = 8, .hidden = 1024, .heads = 16, .vocabulary = 16384};
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        pw_train_desc plain = described(&model, plans[p].stages, plans[p].sharding, plans[p].stack);
        pw_train_result before, after;
        PW_EXPECT(run(&plain, plans[p].gpus, &before));
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            pw_train_desc desc = plain;
            pw_error error = {0};
            must(pw_description_set_path(&pw_train_kind, &desc, options[i][0], options[i][1], arena(), &error), &error);
            if (!run(&desc, plans[p].gpus, &after)) continue;
            /* What the stack does anyway, and sizes that are the same, are no change. */
            bool same = (!strcmp(options[i][0], "overlap_pipeline") && plans[p].stages > 1 && !differs(&before, &after));
            same |= !strcmp(options[i][0], "overlap_gradients") && !strcmp(plans[p].stack, "megatron-2023");
            same |= !strcmp(options[i][0], "overlap_parameters") && !strcmp(plans[p].stack, "megatron-2023");
            same |= !strcmp(options[i][0], "overlap_parameters") && !strcmp(plans[p].stack, "deepspeed-2025");
            same |= !strcmp(options[i][0], "shard_group") && plans[p].stages == 4;
            bool holds = same || differs(&before, &after) || says(&after, options[i][0]);
            if (!holds) fprintf(stderr, "plan %zu: train.%s = %s is ignored\n", p, options[i][0], options[i][1]);
            PW_EXPECT(holds);
        }
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
