/* What settings of torchtitan mean together. Source: torchtitan/config/job_config.py and torchtitan/distributed/parallel_dims.py. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "models/import/import_internal.h"

/* model.name "llama3" with model.flavor "8B" is the preset llama3-8b. */
static pw_status model(const importer *in) {
    const pw_setting *name = importer_find(in, "model.name"), *flavor = importer_find(in, "model.flavor");
    char preset[200];
    const char *given = in->request->model;
    size_t length = given ? strlen(given) : 0;
    if (length > 5 && strcmp(given + length - 5, ".json") == 0)
        return pw_import_huggingface(in->catalogue, given, &in->job->model, in->arena, in->notes, in->error);
    if (given) snprintf(preset, sizeof preset, "%.190s", given);
    else if (!name || !flavor)
        return importer_fail(in, NULL, PW_BAD_INPUT, "or give --model NAME of the catalogue, or --model config.json",
                             "the settings lack %s", name ? "model.flavor" : "model.name");
    else snprintf(preset, sizeof preset, "%.90s-%.90s", name->value, flavor->value);
    for (char *at = preset; !given && *at; at++) *at = (char)tolower((unsigned char)*at);
    pw_status status = pw_model_preset(in->catalogue, preset, &in->job->model, in->arena, in->error);
    if (status == PW_NOT_FOUND)
        return importer_fail(in, given ? NULL : flavor, PW_BAD_INPUT,
                             "give --model NAME of the catalogue (`podwright catalogue models`), or --model config.json",
                             "no model of the catalogue is called '%s'", preset);
    in->job->preset = pw_arena_text(in->arena, in->job->model.name);
    return status;
}

/* FSDP shares everything out over shard_degree x context ranks; -1: all that are left. Groups of them repeat it. */
static pw_status sharding(const importer *in, int64_t *data_parallel) {
    const pw_train_desc *train = &in->job->train;
    int64_t copies, shards, split = train->tensor_parallel * train->pipeline_parallel * train->context_parallel;
    int64_t gpus = in->request->gpus ? in->request->gpus : in->job->nodes * in->job->gpus_per_node;
    PW_TRY(importer_whole(in, "parallelism.data_parallel_replicate_degree", 1, &copies));
    PW_TRY(importer_whole(in, "parallelism.data_parallel_shard_degree", -1, &shards));
    if (copies < 1 || shards == 0 || shards < -1)
        return importer_fail(in, NULL, PW_BAD_INPUT, NULL, "data parallel degrees are 1 or more, or -1 for what is left");
    *data_parallel = shards > 0 ? copies * shards : gpus && gpus % split == 0 ? gpus / split : 0;
    if (shards < 0 && *data_parallel) shards = *data_parallel / copies;
    if (shards == 1) return importer_set(in, "train.sharding", "none", NULL);
    PW_TRY(importer_set(in, "train.sharding", "zero3", NULL));
    if (copies == 1) return PW_OK;
    if (shards < 1)
        return importer_fail(in, NULL, PW_BAD_INPUT, "say the size of the cluster with --nodes",
                             "how many ranks share the parameters is not known");
    return importer_set_whole(in, "train.shard_group", shards * train->context_parallel, NULL);
}

static pw_status batch(const importer *in, int64_t data_parallel) {
    const pw_train_desc *train = &in->job->train;
    int64_t global, local = train->micro_batch, micro;
    PW_TRY(importer_whole(in, "training.global_batch_size", -1, &global));
    PW_TRY(importer_whole(in, "parallelism.pipeline_parallel_microbatch_size", 1, &micro));
    if (global < 0) {
        if (!data_parallel)
            return importer_fail(in, NULL, PW_BAD_INPUT, "say the size of the cluster with --nodes, or give training.global_batch_size",
                                 "the batch is local batch x data parallel, which is not known");
        global = local * data_parallel;
    }
    if (train->pipeline_parallel > 1) PW_TRY(importer_set_whole(in, "train.micro_batch", micro, NULL));
    return importer_set_whole(in, "train.global_batch", global, NULL);
}

static pw_status pipeline(const importer *in) {
    int64_t stages = in->job->train.pipeline_parallel, layers;
    if (stages == 1) return PW_OK;
    PW_TRY(importer_set(in, "train.ends_in_split", "both", NULL)); /* the embedding and the output layer count as one layer each */
    bool is_interleaved = importer_is(in, "parallelism.pipeline_parallel_schedule", "Interleaved1F1B");
    const pw_setting *per_stage = importer_find(in, "parallelism.pipeline_parallel_layers_per_stage");
    PW_TRY(importer_whole(in, "parallelism.pipeline_parallel_layers_per_stage", 0, &layers));
    if (!is_interleaved) return PW_OK;
    /* Two stages on each rank unless their length is given. */
    int64_t chunks = layers > 0 ? (in->job->model.layers + 2 + layers - 1) / layers / stages : 2;
    return importer_set_whole(in, "train.virtual_stages", chunks, per_stage);
}

static pw_status recompute(const importer *in) {
    const pw_setting *mode = importer_find(in, "activation_checkpoint.mode");
    if (!mode) { /* selective, operation by operation, is the default */
        static const pw_setting absent = {.name = "activation_checkpoint.mode", .value = "selective"};
        mode = &absent;
    }
    if (strcmp(mode->value, "none") == 0) return importer_set(in, "train.recompute", "none", mode);
    if (strcmp(mode->value, "full") == 0) return importer_set(in, "train.recompute", "full", mode);
    if (strcmp(mode->value, "selective") != 0)
        return importer_fail(in, mode, PW_UNSUPPORTED, "none, selective or full", "activation_checkpoint.mode '%s' is not modelled",
                             mode->value);
    PW_TRY(importer_set(in, "train.recompute", "selective", NULL));
    const pw_setting *option = importer_find(in, "activation_checkpoint.selective_ac_option");
    bool is_dense = !in->job->model.experts && !in->job->model.latent_rank;
    if (is_dense && option && strcmp(option->value, "op") == 0) return importer_set(in, "train.recompute_modules", "op", option);
    return pw_import_note(in->notes, in->arena, in->error,
                          "activation_checkpoint.mode selective: the attention core is computed again here, in torchtitan whole layers, "
                          "every so manieth; memory and time differ");
}

static pw_status precision(const importer *in) {
    const pw_setting *converters = importer_find(in, "model.converters");
    bool fp8 = (converters && converters->value && strstr(converters->value, "float8")) ||
               importer_is(in, "float8.enable_float8_linear", "true");
    const pw_setting *format = importer_find(in, "training.mixed_precision_param");
    if (fp8) return importer_set(in, "train.precision", "fp8", converters);
    if (!format || strcmp(format->value, "bfloat16") == 0) return importer_set(in, "train.precision", "bf16", format);
    if (strcmp(format->value, "float32") == 0) return importer_set(in, "train.precision", "tf32", format);
    return importer_fail(in, format, PW_UNSUPPORTED, "bfloat16 or float32", "training.mixed_precision_param '%s' is not modelled",
                         format->value);
}

/* Stacks of the catalogue: with torch.compile, without, and with asynchronous tensor parallel (which needs it). */
static pw_status stack(const importer *in) {
    bool is_compiled = importer_is(in, "compile.enable", "true") || importer_is(in, "training.compile", "true");
    bool is_async = importer_is(in, "parallelism.enable_async_tensor_parallel", "true") ||
                    importer_is(in, "experimental.enable_async_tensor_parallel", "true");
    if (is_async && !is_compiled)
        return importer_fail(in, NULL, PW_BAD_INPUT, "add compile.enable = true", "asynchronous tensor parallel needs torch.compile");
    return importer_set(in, "train.stack", is_async ? "torchtitan-2024-async" : is_compiled ? "torchtitan-2024" : "torchtitan-2024-eager",
                        NULL);
}

pw_status importer_torchtitan(const importer *in) {
    int64_t data_parallel = 0;
    if (!(in->job->train.sequence > 0))
        return importer_fail(in, NULL, PW_BAD_INPUT, NULL, "training.seq_len is missing");
    PW_TRY(model(in));
    PW_TRY(precision(in));
    PW_TRY(stack(in));
    PW_TRY(sharding(in, &data_parallel));
    PW_TRY(batch(in, data_parallel));
    PW_TRY(pipeline(in));
    return recompute(in);
}
