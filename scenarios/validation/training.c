/* The training suite: a measured row becomes a cluster and a job, and runs through the simulator as a user's would.
 *
 * What the software of a row means (which stack), which server a GPU sits in and what the name of a model says are data:
 * software.csv, systems.csv and layouts.csv beside the splits. The baseline is one MFU per GPU and precision: the median over the fit rows that ship.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/stack.h"
#include "models/workload/train.h"
#include "scenarios/validation/layout.h"
#include "scenarios/validation/training.h"

typedef struct training_state {
    pw_measured software, systems, layouts;
    struct baseline_mfu {
        const pw_device *device;
        const char *width; /* "16", "8", "32" */
        double mfu;
    } *baseline;
    uint32_t baseline_count;
} training_state;

static pw_status skip(pw_prediction *prediction, const char *format, const char *value) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, format, value);
    return PW_OK;
}

static bool starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* Fills in what can be read from the row; false with a reason when this version cannot run it. */
static pw_status describe(const pw_validation_context *context, const pw_measured *input, uint32_t row, pw_arena *arena,
                          pw_training_row *out, pw_prediction *prediction, bool *runs, pw_error *error) {
    const training_state *state = context->state;
    *runs = false;
#define NUMBER(name, target) PW_TRY(pw_measured_integer(input, row, name, 0, &(target), error))
    const char *task = pw_measured_text(input, row, "task"), *arch = pw_measured_text(input, row, "arch");
    const char *sharding = pw_measured_text(input, row, "sharding"), *precision = pw_measured_text(input, row, "precision");
    const char *recompute = pw_measured_text(input, row, "recompute"), *gpu = pw_measured_text(input, row, "gpu");
    int64_t complete, experts, ep, grad_accum;
    PW_TRY(pw_measured_number(input, row, "step_time_s", &out->measured, error));
    PW_TRY(pw_measured_integer(input, row, "complete", 1, &complete, error));
    NUMBER("n_experts", experts);
    NUMBER("ep", ep);
    NUMBER("grad_accum", grad_accum);
    prediction->measured = out->measured;
    if (isnan(out->measured)) return skip(prediction, "no step time%s", "");
    if (out->measured <= 0) return skip(prediction, "the step time is not positive%s", "");
    if (complete != 1) return skip(prediction, "the source leaves out shape, batch or parallel sizes%s", "");
    if (*task && strcmp(task, "pretrain") != 0) return skip(prediction, "task '%s' is not modelled yet", task);
    if (experts > 1) return skip(prediction, "mixture of experts is not modelled yet%s", "");
    if (*arch && strcmp(arch, "gpt") != 0 && strcmp(arch, "llama") != 0 && strcmp(arch, "mpt") != 0)
        return skip(prediction, "architecture '%s' is not modelled yet", arch);
    pw_train_desc *job = &out->job;
    PW_TRY(pw_description_defaults(&pw_train_kind, job, arena, error));
    PW_TRY(pw_description_defaults(&pw_cluster_kind, &out->cluster, arena, error));
    pw_model_desc *model = pw_arena_alloc(arena, sizeof *model);
    if (!model) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_description_defaults(&pw_model_kind, model, arena, error));
    job->model = model;
    job->name = pw_measured_text(input, row, "id");
    model->name = pw_measured_text(input, row, "model");
    bool learned_positions;
    NUMBER("layers", model->layers);
    NUMBER("hidden", model->hidden);
    NUMBER("heads", model->heads);
    NUMBER("head_dim", model->head_dim);
    NUMBER("ffn", model->ffn);
    NUMBER("seq_len", job->sequence);
    NUMBER("gbs", job->global_batch);
    NUMBER("mbs", job->micro_batch);
    PW_TRY(pw_layout_complete(&state->layouts, input, row, model, &learned_positions, error));
    model->positions = learned_positions ? job->sequence : 0;
#define PARALLEL(name, target) PW_TRY(pw_measured_integer(input, row, name, 1, &(target), error))
    PARALLEL("tp", job->tensor_parallel);
    PARALLEL("pp", job->pipeline_parallel);
    PARALLEL("cp", job->context_parallel);
    PARALLEL("vp", job->virtual_stages);
    PARALLEL("dp", job->data_parallel);
    if (job->virtual_stages < 1) job->virtual_stages = 1;
    if (job->context_parallel < 1) job->context_parallel = 1;
    if (job->pipeline_parallel == 1) job->virtual_stages = 1;
    int64_t gpus, per_node;
    NUMBER("n_gpus", gpus);
    PW_TRY(pw_measured_integer(input, row, "gpus_per_node", 8, &per_node, error));
    if (gpus < 1 || per_node < 1) return skip(prediction, "number of GPUs is not given%s", "");
    if (ep > 1) return skip(prediction, "expert parallel is not modelled yet%s", "");
    if ((double)job->tensor_parallel * (double)job->pipeline_parallel * (double)job->context_parallel *
            (double)job->data_parallel != (double)gpus)
        return skip(prediction, "tp x pp x cp x dp is not the number of GPUs printed%s", "");

    /* Precision: fp8 recipes that scale by tensor or block are one precision here. */
    int number_format = -1;
    if (strcmp(precision, "fp16") == 0 || strcmp(precision, "amp") == 0) number_format = PW_PRECISION_FP16;
    else if (starts_with(precision, "bf16")) number_format = PW_PRECISION_BF16;
    else if (starts_with(precision, "fp8") || starts_with(precision, "mxfp8")) number_format = PW_PRECISION_FP8;
    if (number_format < 0) return skip(prediction, "precision '%s' is not modelled yet", precision);
    job->precision = number_format;
    out->width = number_format == PW_PRECISION_FP8 ? "8" : "16";

    if (!*recompute || strcmp(recompute, "none") == 0) job->recompute = PW_RECOMPUTE_NONE;
    else if (strcmp(recompute, "selective") == 0) job->recompute = PW_RECOMPUTE_SELECTIVE;
    else if (strcmp(recompute, "full") == 0) job->recompute = PW_RECOMPUTE_FULL;
    else return skip(prediction, "recompute '%s' is not modelled yet", recompute);

    /* With a pipeline, ZeRO-2 as published reduces once per step like ZeRO-1: the same communication. */
    if (!*sharding || strcmp(sharding, "none") == 0) job->sharding = PW_SHARDING_NONE;
    else if (strstr(sharding, "ZeRO1") || strcmp(sharding, "ZeRO2") == 0) job->sharding = PW_SHARDING_ZERO1;
    else return skip(prediction, "sharding '%s' is not modelled yet", sharding);

    out->stack = pw_layout_look_up(&state->software, "stack", input, row);
    if (!out->stack || !*out->stack) return skip(prediction, "software '%s' has no stack on file", pw_measured_text(input, row, "software"));
    job->stack = out->stack;

    /* The machine. */
    PW_TRY(pw_description_defaults(&pw_network_kind, &out->cluster.network, arena, error));
    const char *server = pw_layout_look_up(&state->systems, "server", input, row);
    if (!server) return skip(prediction, "GPU '%s' has no server on file", gpu);
    pw_error unknown = {0};
    if (pw_catalogue_device(context->catalogue, gpu, &out->device, &unknown) != PW_OK)
        return skip(prediction, "GPU '%s' is not in the catalogue", gpu);
    double network_Gbps;
    PW_TRY(pw_measured_number(input, row, "inter_node_gbps_per_gpu", &network_Gbps, error));
    if (gpus > per_node && gpus % per_node) return skip(prediction, "GPUs do not fill whole nodes%s", "");
    pw_node_desc *node = &out->cluster.node;
    node->server = server;
    node->gpu = gpu;
    node->gpus = gpus < per_node ? gpus : per_node;
    if (!isnan(network_Gbps)) {
        node->nics = node->gpus;
        node->nic_Bps = network_Gbps * 1e9 / 8;
    }
    out->cluster.name = job->name;
    out->cluster.nodes = gpus / node->gpus;
    for (int i = 0; pw_topology_names[i]; i++)
        if (strcmp(pw_topology_names[i], "rail_optimized") == 0) out->cluster.network.topology = i;
    out->gpus = gpus;
    if (model->layers < 1 || model->hidden < 1 || model->heads < 1 || model->vocabulary < 1 || job->sequence < 1 ||
        job->global_batch < 1 || job->micro_batch < 1)
        return skip(prediction, "model shape or batch is not given%s", "");
    *runs = true;
    return PW_OK;
#undef NUMBER
#undef PARALLEL
}

/* --- Baseline: one MFU per GPU and precision ----------------------------------------------------------------------- */

static double model_flops_per_gpu(const pw_training_row *row) {
    return pw_model_flops_per_token(row->job.model, row->job.sequence, true) * (double)row->job.sequence *
           (double)row->job.global_batch / (double)row->gpus;
}

static double peak_of(const pw_training_row *row) { return row->device->peak_flops[row->job.precision]; }

typedef struct mfu_sample {
    const pw_device *device;
    const char *width, *source;
    double mfu, weight;
} mfu_sample;

static int by_mfu(const void *a, const void *b) {
    double x = ((const mfu_sample *)a)->mfu, y = ((const mfu_sample *)b)->mfu;
    return (x > y) - (x < y);
}

/* Median MFU of the samples with this device and width (NULL: any), every source weighing the same; NaN when there is
 * none. */
static double median_mfu(const mfu_sample *samples, uint32_t count, const pw_device *device, const char *width,
                         mfu_sample *scratch) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((!device || samples[i].device == device) && (!width || strcmp(samples[i].width, width) == 0))
            scratch[n++] = samples[i];
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t twins = 0;
        for (uint32_t k = 0; k < n; k++) twins += strcmp(scratch[k].source, scratch[i].source) == 0;
        scratch[i].weight = 1.0 / twins;
        total += scratch[i].weight;
    }
    if (n) qsort(scratch, n, sizeof *scratch, by_mfu);
    for (uint32_t i = 0; i < n; i++)
        if ((sum += scratch[i].weight) >= 0.5 * total) return scratch[i].mfu;
    return n ? scratch[n - 1].mfu : NAN;
}

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    training_state *state = pw_arena_alloc(context->arena, sizeof *state);
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    context->state = state;
    PW_TRY(pw_layout_table(context, "software.csv", &state->software, error));
    PW_TRY(pw_layout_table(context, "systems.csv", &state->systems, error));
    PW_TRY(pw_layout_table(context, "layouts.csv", &state->layouts, error));

    const pw_measured *shipped = context->shipped;
    mfu_sample *samples = pw_arena_alloc(context->arena, (shipped->rows + 1u) * sizeof *samples);
    mfu_sample *scratch = pw_arena_alloc(context->arena, (shipped->rows + 1u) * sizeof *scratch);
    state->baseline = pw_arena_alloc(context->arena, (2 * (size_t)shipped->rows + 1) * sizeof *state->baseline);
    if (!samples || !scratch || !state->baseline) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    uint32_t count = 0;
    for (uint32_t row = 0; row < shipped->rows; row++) {
        if (strcmp(pw_validation_side(context->split, shipped, row), "fit") != 0) continue;
        pw_training_row described = {0};
        pw_prediction unused = {0};
        bool runs;
        PW_TRY(describe(context, shipped, row, context->arena, &described, &unused, &runs, error));
        if (!runs) continue;
        samples[count++] = (mfu_sample){described.device, described.width, pw_measured_text(shipped, row, "source"),
                                        model_flops_per_gpu(&described) / described.measured / peak_of(&described), 0};
    }
    /* Every (device, width) of the samples, then per device, then overall: looked up in that order. */
    for (int level = 0; level < 3; level++)
        for (uint32_t i = 0; i < (level == 2 ? 1 : count); i++) {
            const pw_device *device = level < 2 ? samples[i].device : NULL;
            const char *width = level == 0 ? samples[i].width : NULL;
            double mfu = median_mfu(samples, count, device, width, scratch);
            if (!isnan(mfu)) state->baseline[state->baseline_count++] = (struct baseline_mfu){device, width, mfu};
        }
    return PW_OK;
}

static double baseline_seconds(const training_state *state, const pw_training_row *row) {
    for (uint32_t i = 0; i < state->baseline_count; i++) {
        const struct baseline_mfu *b = &state->baseline[i];
        if ((!b->device || b->device == row->device) && (!b->width || strcmp(b->width, row->width) == 0))
            return model_flops_per_gpu(row) / (b->mfu * peak_of(row));
    }
    return NAN;
}

/* --- Prediction ---------------------------------------------------------------------------------------------------- */

pw_status pw_training_predict(const pw_validation_context *context, const pw_training_row *row, double factor,
                              double clock_ratio, double *step_s, pw_error *error) {
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_train_result result;
    pw_train_options options = {
        .ignore_memory = true, .interrupt = context->interrupt, .kernel_time_factor = factor, .clock_ratio = clock_ratio};
    pw_status status = pw_train_run(pw_allocator_default(), context->catalogue, &row->cluster, &row->job, &options, NULL, 0,
                                    arena, &result, error);
    if (status == PW_OK) *step_s = result.step_s;
    pw_arena_destroy(arena);
    return status;
}

pw_status pw_training_describe(const pw_validation_context *context, uint32_t row, pw_arena *arena, pw_training_row *out,
                               pw_prediction *prediction, bool *runs, pw_error *error) {
    return describe(context, context->input, row, arena, out, prediction, runs, error);
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_training_row described = {0};
    bool runs = false;
    prediction->side = pw_validation_side(context->split, context->input, row);
    pw_status status = describe(context, context->input, row, arena, &described, prediction, &runs, error);
    if (status == PW_OK && runs) {
        pw_error failure = {0};
        status = pw_training_predict(context, &described, 1, 0, &prediction->plain, &failure);
        pw_stack stack;
        if (status == PW_OK)
            status = pw_stack_read(context->catalogue, described.stack, described.device, &stack, NULL, 0, &failure);
        prediction->stack = prediction->plain;
        if (status == PW_OK && stack.kernel_time_factor != 1)
            status = pw_training_predict(context, &described, stack.kernel_time_factor, 0, &prediction->stack, &failure);
        prediction->baseline = baseline_seconds(context->state, &described);
        prediction->ran = status == PW_OK;
        if (status == PW_UNSUPPORTED || status == PW_BAD_INPUT || status == PW_NOT_FOUND || status == PW_DOES_NOT_FIT) {
            status = PW_OK;
            skip(prediction, "%.390s", failure.what);
        } else if (status != PW_OK && error) {
            *error = failure;
        }
    }
    pw_arena_destroy(arena);
    return status;
}

static const char *const required[] = {"id", "layers", "hidden", "heads", "vocab", "seq_len", "gpu", "n_gpus", "tp", "pp",
                                       "dp", "mbs", "gbs", "precision", "step_time_s", NULL};
static const char *const by[] = {"side", "source", "gpu", NULL};
const pw_suite pw_suite_training = {
    .name = "training",
    .text = "training steps, predicted against published step times",
    .unit = "s",
    .file = "training-measured.csv",
    .split = "split-training.csv",
    .required = required,
    .by = by,
    .baseline = "one MFU per GPU and precision, the median over fit rows (every source weighing the same)",
    .prepare = prepare,
    .predict = predict,
};
