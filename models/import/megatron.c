/* What arguments of Megatron-LM mean together. Source: megatron/training/arguments.py, validate_args. */
#include <stdio.h>
#include <string.h>

#include "models/import/import_internal.h"

static pw_status precision(const importer *in) {
    const pw_setting *bf16 = importer_find(in, "--bf16"), *fp16 = importer_find(in, "--fp16"), *fp8 = importer_find(in, "--fp8-format");
    if (bf16 && fp16) return importer_fail(in, fp16, PW_BAD_INPUT, NULL, "--fp16 and --bf16 exclude each other");
    if (fp8) return importer_set(in, "train.precision", "fp8", fp8);
    return importer_set(in, "train.precision", bf16 ? "bf16" : fp16 ? "fp16" : "fp32", bf16 ? bf16 : fp16);
}

/* Latent attention: what is not given has the defaults of Megatron-Core's MLATransformerConfig. */
static pw_status latent(const importer *in) {
    static const struct { const char *argument, *field, *usual; } sizes[] = {
        {"--kv-lora-rank", "model.latent_rank", "512"}, {"--q-lora-rank", "model.query_rank", "512"},
        {"--qk-head-dim", "model.head_dim", "128"},     {"--qk-pos-emb-head-dim", "model.rotary_dim", "64"},
        {"--v-head-dim", "model.value_dim", "128"}};
    bool is_latent = importer_find(in, "--multi-latent-attention") != NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const pw_setting *given = importer_find(in, sizes[i].argument);
        if (given && !is_latent)
            return importer_fail(in, given, PW_BAD_INPUT, NULL, "%s counts only with --multi-latent-attention", given->name);
        if (is_latent && !given) PW_TRY(importer_set(in, sizes[i].field, sizes[i].usual, NULL));
    }
    return PW_OK;
}

/* --moe-layer-freq: every so manieth layer, or a list like ([0]*3+[1]*58): dense layers, then those with experts. */
static pw_status expert_layers(const importer *in) {
    const pw_setting *given = importer_find(in, "--moe-layer-freq");
    long long dense, others;
    int end = 0;
    if (!given) return PW_OK;
    if (strchr(given->value, '[') == NULL) {
        int64_t every;
        PW_TRY(importer_whole(in, given->name, 1, &every));
        return importer_set_whole(in, "model.experts_every", every, given);
    }
    if (sscanf(given->value, "([0]*%lld+[1]*%lld)%n", &dense, &others, &end) == 2 && end && !given->value[end] &&
        dense + others == in->job->model.layers)
        return importer_set_whole(in, "model.dense_layers", dense, given);
    return importer_fail(in, given, PW_UNSUPPORTED, "write N, or ([0]*DENSE+[1]*OTHERS) with all layers",
                         "%s '%s' is not read", given->name, given->value);
}

static pw_status experts(const importer *in) {
    if (!in->job->model.experts) return PW_OK;
    if (!importer_find(in, "--moe-router-topk")) PW_TRY(importer_set(in, "model.experts_per_token", "2", NULL));
    if (!importer_find(in, "--expert-tensor-parallel-size")) /* as the other layers */
        PW_TRY(importer_set_whole(in, "train.expert_tensor_parallel", in->job->train.tensor_parallel, NULL));
    return expert_layers(in);
}

static pw_status model(const importer *in) {
    const pw_setting *grouped = importer_find(in, "--group-query-attention"), *groups = importer_find(in, "--num-query-groups");
    int64_t kv_heads, positions;
    PW_TRY(importer_whole(in, "--num-query-groups", 1, &kv_heads));
    if (grouped) PW_TRY(importer_set_whole(in, "model.kv_heads", kv_heads, groups));
    else if (groups)
        PW_TRY(pw_import_note(in->notes, in->arena, in->error,
                              "--num-query-groups counts only with --group-query-attention, which is not given"));
    bool is_learned = !importer_find(in, "--use-rotary-position-embeddings") &&
                      (!importer_find(in, "--position-embedding-type") ||
                       importer_is(in, "--position-embedding-type", "learned_absolute"));
    PW_TRY(importer_whole(in, "--max-position-embeddings", 0, &positions));
    if (is_learned) PW_TRY(importer_set_whole(in, "model.positions", positions ? positions : in->job->train.sequence, NULL));
    if (in->job->model.gated && !importer_find(in, "--ffn-hidden-size")) { /* two thirds of 4 h, in steps of 64 */
        int64_t width = in->job->model.hidden * 4 * 2 / 3 / 64 * 64;
        PW_TRY(importer_set_whole(in, "model.ffn", width, NULL));
    }
    PW_TRY(latent(in));
    PW_TRY(experts(in));
    if (in->job->model.vocabulary > 0) return PW_OK;
    bool is_gpt2 = importer_is(in, "--tokenizer-type", "GPT2BPETokenizer") ||
                   (!importer_find(in, "--tokenizer-type") && importer_find(in, "--merge-file")); /* the only one with such a file */
    if (is_gpt2) return importer_set(in, "model.vocabulary", "50257", NULL);
    for (size_t i = 0; i < in->request->field_count; i++)
        if (strstr(in->request->fields[i], "model.vocabulary=")) return PW_OK;
    return importer_fail(in, NULL, PW_BAD_INPUT, "add --vocab-size N, or give --set job.model.vocabulary=N",
                         "the arguments do not tell how many tokens the vocabulary has");
}

/* podwright computes whole layers again, or modules of them, in every layer of a stage. */
static pw_status recompute(const importer *in) {
    const pw_setting *grain = importer_find(in, "--recompute-granularity"), *layers = importer_find(in, "--recompute-num-layers");
    const pw_setting *modules = importer_find(in, "--recompute-modules");
    int64_t count;
    if (!grain) return importer_find(in, "--recompute-activations") ? importer_set(in, "train.recompute", "selective", NULL) : PW_OK;
    if (importer_is(in, "--recompute-granularity", "selective")) {
        if (modules && strcmp(modules->value, "core_attn") != 0) return importer_set(in, "train.recompute_modules", modules->value, modules);
        return importer_set(in, "train.recompute", "selective", grain);
    }
    PW_TRY(importer_set(in, "train.recompute", "full", grain));
    PW_TRY(importer_whole(in, "--recompute-num-layers", 1, &count));
    int64_t chunks = in->job->train.pipeline_parallel * in->job->train.virtual_stages;
    bool is_block = importer_is(in, "--recompute-method", "block");
    if (is_block && count * chunks < in->job->model.layers)
        return importer_fail(in, layers, PW_UNSUPPORTED, "a block of all layers of a stage, or --recompute-method uniform",
                             "computing only %lld layers of a stage again is not modelled", (long long)count);
    if (!is_block && count > 1)
        return pw_import_note(in->notes, in->arena, in->error,
                              "--recompute-num-layers %lld: every layer keeps its input here, which takes more memory",
                              (long long)count);
    return PW_OK;
}

static pw_status pipeline(const importer *in) {
    const pw_setting *setting = importer_find(in, "--num-layers-per-virtual-pipeline-stage");
    bool embedding = importer_find(in, "--account-for-embedding-in-pipeline-split") != NULL;
    bool loss = importer_find(in, "--account-for-loss-in-pipeline-split") != NULL;
    int64_t layers, stages = in->job->train.pipeline_parallel;
    if (stages > 1)
        PW_TRY(importer_set(in, "train.ends_in_split", embedding && loss ? "both" : embedding ? "embedding" : loss ? "output" : "none", NULL));
    if (!setting) return PW_OK;
    if (embedding || loss)
        return importer_fail(in, setting, PW_UNSUPPORTED, "use --num-virtual-stages-per-pipeline-rank",
                             "%s with a split that counts the ends as layers is not read", setting->name);
    PW_TRY(importer_whole(in, setting->name, 0, &layers));
    if (layers <= 0 || stages < 1 || in->job->model.layers % (layers * stages))
        return importer_fail(in, setting, PW_BAD_INPUT, NULL,
                             "%lld layers do not split into %lld stages with chunks of %lld layers", (long long)in->job->model.layers,
                             (long long)stages, (long long)layers);
    return importer_set_whole(in, "train.virtual_stages", in->job->model.layers / (layers * stages), setting);
}

static pw_status batch(const importer *in) {
    const pw_train_desc *train = &in->job->train;
    int64_t gpus = in->request->gpus ? in->request->gpus : in->job->nodes * in->job->gpus_per_node, elements;
    const pw_setting *bucket = importer_find(in, "--ddp-bucket-size");
    if (bucket) {
        char text[64];
        PW_TRY(importer_whole(in, bucket->name, 0, &elements));
        snprintf(text, sizeof text, "%lld B", (long long)elements * (importer_find(in, "--fp16") ? 2 : 4));
        PW_TRY(importer_set(in, "train.bucket_bytes", text, bucket));
    }
    if (train->global_batch > 0) return PW_OK;
    int64_t split = train->tensor_parallel * train->pipeline_parallel * train->context_parallel;
    if (!gpus || gpus % split)
        return importer_fail(in, NULL, PW_BAD_INPUT, "add --global-batch-size, or say the size of the cluster with --nodes",
                             "without --global-batch-size the batch is micro-batch x data parallel, which is not known");
    return importer_set_whole(in, "train.global_batch", train->micro_batch * (gpus / split), NULL);
}

pw_status importer_megatron(const importer *in) {
    static const char *const needed[] = {"--num-layers", "--hidden-size", "--num-attention-heads", "--seq-length", "--micro-batch-size"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!importer_find(in, needed[i]))
            return importer_fail(in, NULL, PW_BAD_INPUT, NULL, "%s is missing", needed[i]);
    PW_TRY(precision(in));
    PW_TRY(pipeline(in));
    PW_TRY(recompute(in));
    PW_TRY(batch(in));
    return model(in);
}
