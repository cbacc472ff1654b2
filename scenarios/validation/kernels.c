/* The gemm and attention suites: kernel times alone, against tables measured in a CUDA graph. The baseline is the
 * data-sheet roofline: the larger of FLOP over peak and bytes over bandwidth. Long kernels reach the power cap while they are
 * measured: kernel-loops.csv says how often a stack's rows were launched, the power model what that did to the clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/power/kernel_loop.h"
#include "scenarios/validation/layout.h"
#include "scenarios/validation/validation.h"

typedef struct known_gpu {
    const char *name;
    pw_gpu *gpu;     /* NULL: it cannot be used */
    pw_gpu_power *power; /* NULL: nothing is known of its power */
    const char *why; /* "": it is not in the catalogue */
} known_gpu;

typedef struct kernel_state {
    known_gpu *gpus; /* the distinct GPU names of the input, in order of the text */
    uint32_t count;
    pw_measured loops; /* kernel-loops.csv */
    double average_s;  /* of the controller that holds a cap */
} kernel_state;

static int by_name(const void *a, const void *b) { return strcmp(((const known_gpu *)a)->name, ((const known_gpu *)b)->name); }

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

static pw_status create_gpu(const pw_validation_context *context, known_gpu *known, pw_error *error) {
    pw_error failure = {0};
    pw_status status = pw_gpu_create(pw_allocator_default(), context->catalogue, known->name, &known->gpu, &failure);
    known->why = "";
    if (status == PW_OK) {
        status = pw_gpu_power_create(pw_allocator_default(), context->catalogue, known->name, &known->power, &failure);
        if (status == PW_OK || status == PW_NOT_FOUND || status == PW_UNSUPPORTED) return PW_OK;
        if (error) *error = failure;
        return status;
    }
    known->gpu = NULL;
    if (status == PW_NO_MEMORY || status == PW_IO) {
        if (error) *error = failure;
        return status;
    }
    if (status != PW_NOT_FOUND) known->why = pw_arena_text(context->arena, failure.what);
    return known->why ? PW_OK : no_memory(error);
}

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    const pw_measured *input = context->input;
    kernel_state *state = pw_arena_alloc(context->arena, sizeof *state);
    context->state = state;
    if (!state) return no_memory(error);
    *state = (kernel_state){0};
    known_gpu *all = pw_arena_alloc(context->arena, (input->rows + 1u) * sizeof *all);
    if (!all) return no_memory(error);
    for (uint32_t row = 0; row < input->rows; row++) all[row] = (known_gpu){.name = pw_measured_text(input, row, "gpu")};
    if (input->rows) qsort(all, input->rows, sizeof *all, by_name);
    uint32_t distinct = 0;
    for (uint32_t row = 0; row < input->rows; row++)
        if (row == 0 || by_name(&all[row], &all[distinct - 1]) != 0) all[distinct++] = all[row];
    PW_TRY(pw_layout_table(context, "kernel-loops.csv", &state->loops, error));
    PW_TRY(pw_kernel_loop_average(context->catalogue, &state->average_s, error));
    state->gpus = all;
    for (; state->count < distinct; state->count++) PW_TRY(create_gpu(context, &all[state->count], error));
    return PW_OK;
}

static void finish(pw_validation_context *context) {
    kernel_state *state = context->state;
    for (uint32_t i = 0; state && i < state->count; i++) {
        pw_gpu_destroy(state->gpus[i].gpu);
        pw_gpu_power_destroy(state->gpus[i].power);
    }
}

static const known_gpu *gpu_of(const pw_validation_context *context, uint32_t row) {
    const kernel_state *state = context->state;
    known_gpu key = {.name = pw_measured_text(context->input, row, "gpu")};
    return bsearch(&key, state->gpus, state->count, sizeof key, by_name);
}

static pw_status skip(pw_prediction *prediction, const char *format, const char *value) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, format, value);
    return PW_OK;
}

static int precision_of(const char *text) {
    for (int i = 0; pw_precision_names[i]; i++)
        if (strcmp(pw_precision_names[i], text) == 0) return i;
    return -1;
}

/* Common to both: GPU, precision, measured time; *gpu NULL when the row is skipped. */
static pw_status begin(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_kernel *kernel,
                       const known_gpu **gpu, pw_error *error) {
    const pw_measured *input = context->input;
    prediction->side = pw_validation_side(context->split, input, row);
    *gpu = NULL;
    double latency_us;
    PW_TRY(pw_measured_number(input, row, "latency_us", &latency_us, error));
    prediction->measured = latency_us * 1e-6;
    if (!(latency_us > 0)) return skip(prediction, "no latency%s", "");
    const known_gpu *known = gpu_of(context, row);
    if (*known->why) return skip(prediction, "%s", known->why);
    if (!known->gpu) return skip(prediction, "GPU '%s' is not in the catalogue", known->name);
    int precision = precision_of(pw_measured_text(input, row, "dtype"));
    if (precision < 0) return skip(prediction, "precision '%s' is not modelled", pw_measured_text(input, row, "dtype"));
    kernel->precision = (pw_precision)precision;
    *gpu = known;
    return PW_OK;
}

/* The mean of a launch in the loop of the row's stack; alone where no loop is on file. kind: "gemm" or "attention". */
static pw_status in_loop(const pw_validation_context *context, uint32_t row, const char *kind, const known_gpu *known,
                         const pw_kernel *kernel, const pw_kernel_cost *cost, double *mean_s, pw_error *error) {
    const kernel_state *state = context->state;
    *mean_s = cost->total_s;
    int64_t found = pw_layout_match(&state->loops, "gemm_before", context->input, row);
    if (found < 0 || !known->power) return PW_OK;
    char column[32];
    pw_kernel_loop loop = {.average_s = state->average_s};
    snprintf(column, sizeof column, "%s_before", kind);
    PW_TRY(pw_measured_number(&state->loops, (uint32_t)found, column, &loop.before, error));
    snprintf(column, sizeof column, "%s_timed", kind);
    PW_TRY(pw_measured_number(&state->loops, (uint32_t)found, column, &loop.timed, error));
    if (!(loop.before > 0 && loop.timed > 0)) return PW_OK;
    *mean_s = pw_kernel_loop_mean_s(known->power, known->gpu, kernel, cost, &loop);
    return PW_OK;
}

static pw_status end(const pw_validation_context *context, uint32_t row, const char *kind, const known_gpu *known,
                     const pw_kernel *kernel, double flops, double bytes, pw_prediction *prediction, pw_error *error) {
    pw_kernel_cost cost;
    pw_error failure = {0};
    pw_status status = pw_gpu_kernel_cost(known->gpu, kernel, NULL, &cost, &failure);
    if (status != PW_OK && status != PW_NO_MEMORY) return skip(prediction, "%.390s", failure.what);
    if (status != PW_OK) return no_memory(error);
    const pw_device *device = pw_gpu_device(known->gpu);
    prediction->ran = true;
    prediction->plain = cost.total_s;
    PW_TRY(in_loop(context, row, kind, known, kernel, &cost, &prediction->stack, error));
    prediction->baseline = fmax(flops / device->peak_flops[kernel->precision], bytes / device->memory_Bps);
    return PW_OK;
}

#define INTEGER(name, target)                                                     \
    PW_TRY(pw_measured_integer(context->input, row, name, 0, &(target), error)); \
    if ((target) < 1) return skip(prediction, "column %s is empty or not positive", name)

static pw_status predict_gemm(const pw_validation_context *context, uint32_t row, pw_prediction *prediction,
                              pw_error *error) {
    pw_kernel kernel = {.kind = PW_KERNEL_GEMM, .gemm = {.batch = 1}};
    const known_gpu *gpu;
    PW_TRY(begin(context, row, prediction, &kernel, &gpu, error));
    if (!gpu) return PW_OK;
    INTEGER("m", kernel.gemm.m);
    INTEGER("n", kernel.gemm.n);
    INTEGER("k", kernel.gemm.k);
    double m = (double)kernel.gemm.m, n = (double)kernel.gemm.n, k = (double)kernel.gemm.k;
    double bytes = pw_precision_bytes(kernel.precision) * (m * k + n * k) + 2 * m * n;
    return end(context, row, "gemm", gpu, &kernel, 2 * m * n * k, bytes, prediction, error);
}

static pw_status predict_attention(const pw_validation_context *context, uint32_t row, pw_prediction *prediction,
                                   pw_error *error) {
    pw_kernel kernel = {.kind = PW_KERNEL_ATTENTION};
    const known_gpu *gpu;
    PW_TRY(begin(context, row, prediction, &kernel, &gpu, error));
    if (!gpu) return PW_OK;
    const char *pass = pw_measured_text(context->input, row, "pass");
    if (strncmp(pass, "forward", 7) != 0 && strncmp(pass, "backward", 8) != 0)
        return skip(prediction, "pass '%s' is not modelled", pass);
    kernel.attention.causal = strstr(pass, "causal") != NULL;
    kernel.attention.backward = pass[0] == 'b';
    INTEGER("batch", kernel.attention.batch);
    INTEGER("seq", kernel.attention.queries);
    INTEGER("heads", kernel.attention.heads);
    INTEGER("kv_heads", kernel.attention.kv_heads);
    INTEGER("head_dim", kernel.attention.head_dim);
    kernel.attention.keys = kernel.attention.queries;
    double b = (double)kernel.attention.batch, s = (double)kernel.attention.queries, d = (double)kernel.attention.head_dim,
           h = (double)kernel.attention.heads, g = (double)kernel.attention.kv_heads;
    double flops = 4 * b * h * s * s * d * (kernel.attention.causal ? 0.5 : 1) * (kernel.attention.backward ? 2.5 : 1);
    double bytes = pw_precision_bytes(kernel.precision) * b * s * d * (2 * h + 2 * g);
    return end(context, row, "attention", gpu, &kernel, flops, bytes, prediction, error);
}

static const char *const gemm_required[] = {"gpu", "dtype", "m", "n", "k", "latency_us", NULL};
static const char *const attention_required[] = {"gpu", "dtype", "pass", "batch", "seq", "heads", "kv_heads", "head_dim",
                                                 "latency_us", NULL};
static const char *const by[] = {"side", "gpu", "dtype", "stack", NULL};
const pw_suite pw_suite_gemm = {
    .name = "gemm",
    .text = "matrix multiply kernels, predicted against measured times",
    .unit = "s",
    .file = "kernel-gemm.csv",
    .split = "split-gemm.csv",
    .required = gemm_required,
    .by = by,
    .baseline = "data-sheet roofline",
    .prepare = prepare,
    .predict = predict_gemm,
    .finish = finish,
};
const pw_suite pw_suite_attention = {
    .name = "attention",
    .text = "fused attention kernels, predicted against measured times",
    .unit = "s",
    .file = "kernel-attention.csv",
    .split = "split-attention.csv",
    .required = attention_required,
    .by = by,
    .baseline = "data-sheet roofline",
    .prepare = prepare,
    .predict = predict_attention,
    .finish = finish,
};
