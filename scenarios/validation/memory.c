/* The memory suite: bytes per GPU from the account, against published measurements. The baseline is closed-form bytes that
 * anybody would write down: 18 bytes per parameter of the GPU (12 of them divided by data parallel under ZeRO-1) and the
 * activations of one micro-batch per stage layer, 34 s b h / t, times the micro-batches in flight. */
#include <math.h>
#include <string.h>

#include "scenarios/validation/training_row.h"

static double unit_bytes(const char *unit) {
    if (strncmp(unit, "GiB", 3) == 0) return 0x1p30;
    if (strncmp(unit, "GB", 2) == 0) return 1e9;
    if (strncmp(unit, "MB", 2) == 0) return 0x1p20; /* nvidia-smi prints MiB */
    return NAN;
}

#define PW_MOST_BATCH 1048576.0 /* sequences: a power of 2 */
enum { GPUS_PER_NODE = 8 }; /* of every row whose sharding knows nodes: the file does not say */

typedef enum amount_kind { AMOUNT_TOTAL, AMOUNT_ACTIVATIONS, AMOUNT_STATES, AMOUNT_STATIC, AMOUNT_BATCH, AMOUNT_KINDS } amount_kind;
static const char *const amount_names[AMOUNT_KINDS] = {"peak-device", "activations", "params+optimizer", "static-device", "max-batch"};

typedef struct memory_state {
    pw_measured layouts, software, plans, formats, optimizers, sharding;
} memory_state;

/* What the file says of a row's software, and of what its plan leaves out; "" where it says nothing. */
static const char *software_of(const pw_validation_context *context, uint32_t row, const char *column) {
    const memory_state *state = context->state;
    int64_t found = pw_layout_match(&state->software, "stack", context->input, row);
    return found < 0 ? "" : pw_measured_text(&state->software, (uint32_t)found, column);
}
static const char *plan_of(const memory_state *state, const pw_measured *input, uint32_t row, const char *column) {
    int64_t found = pw_layout_match(&state->plans, "tp", input, row);
    return found < 0 ? "" : pw_measured_text(&state->plans, (uint32_t)found, column);
}

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    memory_state *state = pw_arena_alloc(context->arena, sizeof *state);
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    context->state = state;
    PW_TRY(pw_layout_table(context, "layouts.csv", &state->layouts, error));
    PW_TRY(pw_layout_table(context, "formats.csv", &state->formats, error));
    PW_TRY(pw_layout_table(context, "sharding.csv", &state->sharding, error));
    PW_TRY(pw_layout_table(context, "optimizers.csv", &state->optimizers, error));
    PW_TRY(pw_layout_table(context, "memory-plans.csv", &state->plans, error));
    return pw_layout_table(context, "memory-software.csv", &state->software, error);
}

/* What was measured, in bytes; *kind AMOUNT_KINDS when the row is skipped. */
static pw_status read_amount(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, amount_kind *kind,
                             pw_error *error) {
    const pw_measured *input = context->input;
    *kind = AMOUNT_KINDS;
    double value;
    PW_TRY(pw_measured_number(input, row, "value", &value, error));
    const char *unit = software_of(context, row, "unit"), *name = pw_measured_text(input, row, "kind");
    if (!*unit) unit = pw_measured_text(input, row, "unit");
    if (isnan(value)) return skip(prediction, "no value%s", "");
    if (strcmp(name, amount_names[AMOUNT_BATCH]) == 0 && strcmp(unit, "sequences") == 0) {
        if (value < 0) return skip(prediction, "the value is negative%s", "");
        prediction->measured = value + 0.5; /* between the largest that fits and the next one; never 0 */
        *kind = AMOUNT_BATCH;
        return PW_OK;
    }
    if (value <= 0) return skip(prediction, "the value is not positive%s", "");
    prediction->measured = value * unit_bytes(unit); /* NaN where the unit is none */
    if (isinf(prediction->measured)) return skip(prediction, "the value is too large%s", "");
    if (isnan(prediction->measured)) return skip(prediction, "unit '%s' is no amount of memory", unit);
    int found = 0;
    while (found < AMOUNT_KINDS && strcmp(amount_names[found], name) != 0) found++;
    if (found == AMOUNT_BATCH) return skip(prediction, "a batch is counted in sequences, not in '%s'", unit);
    if (found == AMOUNT_KINDS) return skip(prediction, "kind '%s' is not modelled", name);
    *kind = (amount_kind)found;
    return PW_OK;
}

/* Sizes of the model and of the plan; *why set when the row cannot be run. */
static pw_status describe_sizes(const memory_state *state, const pw_measured *input, uint32_t row, pw_arena *arena,
                                pw_train_desc *job, pw_model_desc *model, const char **why, pw_error *error) {
    PW_TRY(pw_description_defaults(&pw_train_kind, job, arena, error));
    PW_TRY(pw_description_defaults(&pw_model_kind, model, arena, error));
    job->model = model;
    job->name = "memory";
    model->name = pw_measured_text(input, row, "model");
    const struct { const char *name; int64_t fallback, *target; } numbers[] = {
        {"layers", 0, &model->layers},    {"hidden", 0, &model->hidden},  {"heads", 0, &model->heads},
        {"ffn", 0, &model->ffn},          {"seq_len", 0, &job->sequence}, {"mbs", 0, &job->micro_batch},
        {"gbs", 0, &job->global_batch},   {"tp", 0, &job->tensor_parallel}, {"pp", 0, &job->pipeline_parallel},
        {"dp", 0, &job->data_parallel},   {"cp", 1, &job->context_parallel}, {"vp", 1, &job->virtual_stages}};
    int64_t gpus, plan = pw_layout_match(&state->plans, "tp", input, row);
    PW_TRY(pw_measured_integer(input, row, "n_gpus", 0, &gpus, error));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t *target = numbers[i].target;
        *target = numbers[i].fallback;
        if (plan >= 0) PW_TRY(pw_measured_integer(&state->plans, (uint32_t)plan, numbers[i].name, *target, target, error));
        PW_TRY(pw_measured_integer(input, row, numbers[i].name, *target, target, error));
    }
    bool learned_positions; /* not counted here: 2.5 % of the first stage of the GPT rows at most */
    PW_TRY(pw_layout_complete(&state->layouts, input, row, model, &learned_positions, error));
    if (gpus == 1) job->tensor_parallel = job->pipeline_parallel = job->data_parallel = 1;
    if (model->vocabulary < 1) *why = "the model is no dense decoder of a known family";
    else if (job->tensor_parallel < 1 || job->pipeline_parallel < 1 || job->data_parallel < 1 || job->micro_batch < 1)
        *why = "the source leaves out the plan";
    /* A batch that is not given is large enough to fill the pipeline. */
    double fills = 8.0 * (double)job->micro_batch * (double)job->data_parallel * (double)job->pipeline_parallel;
    if (job->global_batch < 1) job->global_batch = fills < 1e15 ? (int64_t)fills : 0;
    return PW_OK;
}

/* Sharding, recompute, precision and software, which the sources write as words. */
static void describe_method(const memory_state *state, const pw_measured *input, uint32_t row, pw_train_desc *job,
                            const char **why) {
    const char *recompute = pw_measured_text(input, row, "recompute");
    const char *format = plan_of(state, input, row, "format"), *meaning = pw_measured_text(input, row, "meaning");
    /* As the stack does, unless the source says. */
    if (strstr(recompute, "sequence parallel") || strstr(meaning, "sequence parallel")) job->sequence_parallel = 1;
    else if (strstr(meaning, "tensor parallel only")) job->sequence_parallel = 0;
    job->recompute = strncmp(recompute, "selective", 9) == 0 ? PW_RECOMPUTE_SELECTIVE
                     : strcmp(recompute, "full") == 0        ? PW_RECOMPUTE_FULL
                                                             : PW_RECOMPUTE_NONE;
    if (strcmp(recompute, "selective(op)") == 0) job->recompute_modules = "op";
    if (!*format) format = pw_layout_look_up(&state->formats, "format", input, row);
    if (format) job->precision = format_index(format);
    else *why = "this precision is not modelled";
    job->optimizer = pw_layout_look_up(&state->optimizers, "name", input, row);
    job->fp8_activations = strcmp(plan_of(state, input, row, "fp8_activations"), "1") == 0;
    job->stack = pw_layout_look_up(&state->software, "stack", input, row);
    if (!job->stack) *why = "its software is not on file";
}

/* A word of the tables as a field of a description; nothing where it is empty. */
static pw_status set_word(const pw_kind *kind, const char *field, void *to, const char *word, pw_arena *arena,
                          pw_error *error) {
    return *word ? pw_field_set_text(kind, pw_kind_field(kind, field), to, word, arena, NULL, 0, error) : PW_OK;
}

/* What training-memory.csv has no columns for: an encoder's layer and head, what is trained, sharding that the source leaves out. */
static pw_status describe_rest(const pw_validation_context *context, uint32_t row, pw_train_desc *job, pw_model_desc *model,
                               pw_arena *arena, pw_error *error) {
    const memory_state *state = context->state;
    const char *layout = software_of(context, row, "layout");
    if (*layout) PW_TRY(share_layout(context->catalogue, layout, model, arena, error));
    PW_TRY(set_word(&pw_model_kind, "head", model, software_of(context, row, "head"), arena, error));
    PW_TRY(set_word(&pw_train_kind, "trainable", job, software_of(context, row, "trainable"), arena, error));
    int64_t software = pw_layout_match(&state->software, "stack", context->input, row);
    if (software >= 0) PW_TRY(pw_measured_integer(&state->software, (uint32_t)software, "rank", job->lora_rank, &job->lora_rank, error));
    PW_TRY(set_word(&pw_train_kind, "optimizer", job, software_of(context, row, "optimizer"), arena, error));
    PW_TRY(set_word(&pw_train_kind, "lora_targets", job, software_of(context, row, "targets"), arena, error));
    return set_word(&pw_train_kind, "sharding", job, plan_of(state, context->input, row, "sharding"), arena, error);
}

/* What a source's figure holds of the account. */
static double counted(const pw_memory_account *account, const char *counts) {
    double tensors = account->total - account->reserve;
    return strcmp(counts, "allocated") == 0  ? tensors
           : strcmp(counts, "reserved") == 0 ? tensors + account->fragmentation
                                             : account->total;
}

static double amount_of(const pw_memory_account *account, amount_kind kind, const char *counts) {
    switch (kind) {
        case AMOUNT_ACTIVATIONS: return account->activations;
        case AMOUNT_STATES: return account->weights + account->gradients + account->optimizer;
        case AMOUNT_STATIC: return account->weights + account->reserve - account->fragmentation;
        default: return counted(account, counts);
    }
}

/* The amount by the account: the fullest stage for a whole device, else the first, which the sources speak of. */
static pw_status account_bytes(const pw_validation_context *context, uint32_t row, const pw_device *device,
                               const pw_train_desc *job, amount_kind kind, double *bytes, pw_error *error) {
    const char *counts = software_of(context, row, "counts");
    bool first = kind != AMOUNT_TOTAL || strcmp(software_of(context, row, "stage"), "first") == 0;
    *bytes = 0;
    for (int64_t stage = 0; stage < (first ? 1 : job->pipeline_parallel); stage++) {
        pw_memory_account account;
        PW_TRY(pw_train_memory(context->catalogue, device, job, stage, &account, error));
        *bytes = fmax(*bytes, amount_of(&account, kind, counts));
    }
    return PW_OK;
}

static double baseline_bytes(const pw_train_desc *job, amount_kind kind) {
    const pw_model_desc *model = job->model;
    double b = (double)job->micro_batch, s = (double)job->sequence / (double)job->context_parallel, h = (double)model->hidden,
           t = (double)job->tensor_parallel, p = (double)job->pipeline_parallel, l = (double)model->layers,
           d = (double)job->data_parallel;
    double per_gpu = pw_model_parameters(model) / (t * p);
    double states = job->sharding == PW_SHARDING_ZERO1 ? per_gpu * (6 + 12 / d) : per_gpu * 18;
    double micro_batches = (double)job->global_batch / (b * d);
    double kept = 34 * s * b * h / t * (l / p) * fmin(p, micro_batches);
    return kind == AMOUNT_ACTIVATIONS ? kept : kind == AMOUNT_STATES ? states : kind == AMOUNT_STATIC ? 2 * per_gpu : states + kept;
}

/* The largest micro-batch within the GPU's memory, and a half. NULL device: by the baseline's closed form. */
static pw_status largest_batch(const pw_validation_context *context, uint32_t row, const pw_device *device, const pw_train_desc *job,
                               double *batch, pw_error *error) {
    double gib, fits = 0, fails = PW_MOST_BATCH;
    PW_TRY(pw_measured_number(context->input, row, "gpu_mem_gib", &gib, error));
    for (double tried = 1; fails - fits > 1; tried = fails == PW_MOST_BATCH ? 2 * fits : floor((fits + fails) / 2)) {
        pw_train_desc larger = *job;
        larger.micro_batch = larger.global_batch = (int64_t)tried;
        double bytes = baseline_bytes(&larger, AMOUNT_TOTAL);
        if (device) PW_TRY(account_bytes(context, row, device, &larger, AMOUNT_TOTAL, &bytes, error));
        if (bytes <= gib * 0x1p30) fits = tried;
        else fails = tried;
    }
    *batch = fits + 0.5;
    return PW_OK;
}

static pw_status predict_amount(const pw_validation_context *context, uint32_t row, amount_kind kind, pw_arena *arena,
                                pw_prediction *prediction, pw_error *error) {
    const memory_state *state = context->state;
    const char *why = NULL;
    pw_train_desc job;
    pw_model_desc model;
    PW_TRY(describe_sizes(state, context->input, row, arena, &job, &model, &why, error));
    bool known;
    PW_TRY(pw_layout_sharding(&state->sharding, context->input, row, GPUS_PER_NODE, arena, &job, &known, error));
    if (!known) why = "this sharding is not modelled";
    describe_method(state, context->input, row, &job, &why);
    PW_TRY(describe_rest(context, row, &job, &model, arena, error));
    if (why) return skip(prediction, "%s", why);
    const pw_device *device = NULL;
    pw_error failure = {0};
    if (pw_catalogue_device(context->catalogue, pw_measured_text(context->input, row, "gpu"), &device, &failure) != PW_OK)
        return skip(prediction, "%s", "the GPU is not in the catalogue");
    double bytes, baseline = 0;
    pw_status status = kind == AMOUNT_BATCH ? largest_batch(context, row, device, &job, &bytes, &failure)
                                            : account_bytes(context, row, device, &job, kind, &bytes, &failure);
    if (kind != AMOUNT_BATCH) baseline = baseline_bytes(&job, kind);
    else if (status == PW_OK) status = largest_batch(context, row, NULL, &job, &baseline, &failure);
    if (status == PW_UNSUPPORTED || status == PW_BAD_INPUT) return skip(prediction, "%.390s", failure.what);
    if (status != PW_OK) {
        if (error) *error = failure;
        return status;
    }
    prediction->ran = true;
    prediction->plain = prediction->stack = bytes;
    prediction->baseline = baseline;
    return PW_OK;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    amount_kind kind;
    prediction->side = pw_validation_side(context->split, context->input, row);
    PW_TRY(read_amount(context, row, prediction, &kind, error));
    if (kind == AMOUNT_KINDS) return PW_OK;
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_status status = predict_amount(context, row, kind, arena, prediction, error);
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
    .prepare = prepare,
    .predict = predict,
};
