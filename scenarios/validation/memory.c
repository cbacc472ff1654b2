/* The memory suite: bytes per GPU from the account, against published measurements. The baseline is closed-form bytes that
 * anybody would write down: 18 bytes per parameter of the GPU (12 of them divided by data parallel under ZeRO-1) and the
 * activations of one micro-batch per stage layer, 34 s b h / t, times the micro-batches in flight. */
#include <math.h>
#include <string.h>

#include "models/workload/train.h"
#include "scenarios/validation/validation.h"

static pw_status skip(pw_prediction *prediction, const char *format, const char *value) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, format, value);
    return PW_OK;
}

static double unit_bytes(const char *unit) {
    if (strncmp(unit, "GiB", 3) == 0) return 0x1p30;
    if (strncmp(unit, "GB", 2) == 0) return 1e9;
    if (strncmp(unit, "MB", 2) == 0) return 0x1p20; /* nvidia-smi prints MiB */
    return NAN;
}

/* Vocabulary and layout that the file leaves out, by name of the model: the family's published values. */
static pw_status complete_model(const pw_validation_context *context, const char *name, pw_model_desc *model, bool *known) {
    static const char *const families[] = {"llama", "gpt", "megatron", "mt-nlg", NULL};
    (void)context;
    *known = false;
    for (int i = 0; families[i]; i++) *known |= strncmp(name, families[i], strlen(families[i])) == 0;
    if (strncmp(name, "llama3", 6) == 0) {
        model->vocabulary = 128256;
        model->gated = true;
        model->kv_heads = 8;
    } else if (strncmp(name, "llama2", 6) == 0) {
        model->vocabulary = 32000;
        model->gated = true;
        model->kv_heads = model->heads == 64 ? 8 : 0;
    } else {
        model->vocabulary = 51200;
        model->tied = model->biases = true;
    }
    return PW_OK;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    const pw_measured *input = context->input;
    prediction->side = pw_validation_side(context->split, input, row);
    double value;
    PW_TRY(pw_measured_number(input, row, "value", &value, error));
    double unit = unit_bytes(pw_measured_text(input, row, "unit"));
    if (isnan(value)) return skip(prediction, "no value%s", "");
    if (value <= 0) return skip(prediction, "the value is not positive%s", "");
    prediction->measured = value * unit; /* NaN where the unit is none */
    const char *kind = pw_measured_text(input, row, "kind"), *sharding = pw_measured_text(input, row, "sharding");
    const char *recompute = pw_measured_text(input, row, "recompute"), *precision = pw_measured_text(input, row, "precision");
    const char *meaning = pw_measured_text(input, row, "meaning"), *model_name = pw_measured_text(input, row, "model");
    if (isinf(prediction->measured)) return skip(prediction, "the value is too large%s", "");
    if (isnan(unit)) return skip(prediction, "unit '%s' is no amount of memory", pw_measured_text(input, row, "unit"));
    bool activations = strcmp(kind, "activations") == 0, parameters = strcmp(kind, "params+optimizer") == 0;
    if (!activations && !parameters && strcmp(kind, "peak-device") != 0)
        return skip(prediction, "kind '%s' is not modelled yet", kind);
    if (strstr(pw_measured_text(input, row, "source"), "lora")) return skip(prediction, "LoRA is not modelled yet%s", "");

    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_train_desc job;
    pw_model_desc model;
    pw_error failure = {0};
    pw_status status = pw_description_defaults(&pw_train_kind, &job, arena, error);
    if (status == PW_OK) status = pw_description_defaults(&pw_model_kind, &model, arena, error);
    job.model = &model;
    model.name = model_name;
    job.name = "memory";
    const struct { const char *name; int64_t fallback, *target; } numbers[] = {
        {"layers", 0, &model.layers},    {"hidden", 0, &model.hidden},  {"heads", 0, &model.heads},
        {"ffn", 0, &model.ffn},          {"seq_len", 0, &job.sequence}, {"mbs", 0, &job.micro_batch},
        {"gbs", 0, &job.global_batch},   {"tp", 0, &job.tensor_parallel}, {"pp", 0, &job.pipeline_parallel},
        {"dp", 0, &job.data_parallel},   {"cp", 1, &job.context_parallel}, {"vp", 1, &job.virtual_stages}};
    for (size_t i = 0; status == PW_OK && i < sizeof numbers / sizeof *numbers; i++)
        status = pw_measured_integer(input, row, numbers[i].name, numbers[i].fallback, numbers[i].target, error);
    bool known = false;
    if (status == PW_OK) status = complete_model(context, model_name, &model, &known);
    if (status != PW_OK) {
        pw_arena_destroy(arena);
        return status;
    }
    const char *why = NULL;
    if (!known) why = "the model is no dense decoder of a known family";
    else if (job.tensor_parallel < 1 || job.pipeline_parallel < 1 || job.data_parallel < 1 || job.micro_batch < 1)
        why = "the source leaves out the plan";
    /* A batch that is not given is large enough to fill the pipeline. */
    double fills = 8.0 * (double)job.micro_batch * (double)job.data_parallel * (double)job.pipeline_parallel;
    if (job.global_batch < 1) job.global_batch = fills < 1e15 ? (int64_t)fills : 0;
    job.sharding = PW_SHARDING_NONE;
    if (strstr(sharding, "ZeRO1")) job.sharding = PW_SHARDING_ZERO1;
    else if (*sharding && strcmp(sharding, "none") != 0) why = "this sharding is not modelled yet";
    job.sequence_parallel = strstr(recompute, "sequence parallel") || strstr(meaning, "sequence parallel") ? 1
                            : strstr(meaning, "tensor parallel only")                                     ? 0
                                                                                                          : -1;
    job.recompute = strncmp(recompute, "selective", 9) == 0 ? PW_RECOMPUTE_SELECTIVE
                    : strcmp(recompute, "full") == 0        ? PW_RECOMPUTE_FULL
                                                            : PW_RECOMPUTE_NONE;
    if (strcmp(recompute, "selective(op)") == 0) why = "recompute by operator is not modelled yet";
    job.precision = strncmp(precision, "fp16", 4) == 0 ? PW_PRECISION_FP16
                    : strncmp(precision, "bf16", 4) == 0 ? PW_PRECISION_BF16
                    : strncmp(precision, "fp8", 3) == 0  ? PW_PRECISION_FP8
                                                         : -1;
    if (job.precision < 0) why = "this precision is not modelled yet";
    /* Software of before flash attention keeps the scores; the stack by year of the family. */
    job.stack = strncmp(pw_measured_text(input, row, "source"), "bigscience", 10) == 0 ? "deepspeed-2021"
                : model.gated ? "nemo-2024" : activations && job.sequence_parallel == 1 ? "megatron-2022" : "megatron-2021";
    const pw_device *device = NULL;
    if (!why && pw_catalogue_device(context->catalogue, pw_measured_text(input, row, "gpu"), &device, &failure) != PW_OK)
        why = "the GPU is not in the catalogue";
    double worst = 0, first = 0;
    for (int64_t stage = 0; !why && status == PW_OK && stage < job.pipeline_parallel; stage++) {
        pw_memory_account account;
        status = pw_train_memory(context->catalogue, device, &job, stage, &account, &failure);
        if (status != PW_OK) break;
        double bytes = activations ? account.activations
                       : parameters ? account.weights + account.gradients + account.optimizer
                                    : account.total;
        worst = fmax(worst, bytes);
        if (stage == 0) first = bytes;
    }
    if (why) {
        skip(prediction, "%s", why);
    } else if (status == PW_OK) {
        double b = (double)job.micro_batch, s = (double)job.sequence / (double)job.context_parallel, h = (double)model.hidden,
               t = (double)job.tensor_parallel, p = (double)job.pipeline_parallel, l = (double)model.layers,
               d = (double)job.data_parallel;
        double per_gpu = pw_model_parameters(&model) / (t * p);
        double states = job.sharding == PW_SHARDING_ZERO1 ? per_gpu * (6 + 12 / d) : per_gpu * 18;
        double micro_batches = (double)job.global_batch / (b * d);
        double kept = 34 * s * b * h / t * (l / p) * fmin(p, micro_batches);
        prediction->ran = true;
        prediction->plain = prediction->stack = strcmp(kind, "peak-device") == 0 ? worst : first;
        prediction->baseline = activations ? kept : parameters ? states : states + kept;
    } else if (status == PW_UNSUPPORTED || status == PW_BAD_INPUT) {
        skip(prediction, "%.390s", failure.what);
        status = PW_OK;
    } else if (error) {
        *error = failure;
    }
    pw_arena_destroy(arena);
    return status;
}

static const char *const required[] = {"id", "kind", "model", "gpu", "layers", "hidden", "heads", "value", "unit", NULL};
static const char *const by[] = {"side", "kind", "source", NULL};
const pw_suite pw_suite_memory = {
    .name = "memory",
    .text = "memory per GPU, predicted against published figures",
    .unit = "bytes",
    .file = "training-memory.csv",
    .split = "split-memory.csv",
    .required = required,
    .by = by,
    .baseline = "closed-form bytes: 18 per parameter and 34 s b h / t per layer and micro-batch in flight",
    .predict = predict,
};
