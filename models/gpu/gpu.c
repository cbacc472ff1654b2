/* A device's kernels: parameters resolved once, then one equation per class. */
#include "models/gpu/gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/gpu/parameters.h"

const char *const pw_kernel_class_names[] = {
#define NAME(NAME, name, text) name,
    PW_KERNEL_MAP(NAME)
#undef NAME
    NULL};

struct pw_gpu {
    const pw_allocator *allocator;
    const pw_device *device;
    double peak16, sms; /* a device that does not tell its SMs is one unit */
    bool has[PW_PRECISION_COUNT];
    bool casts[PW_PRECISION_COUNT];
    pw_gemm_model gemm[PW_PRECISION_COUNT];
    pw_attention_parameters attention[PW_PRECISION_COUNT];
    pw_attention_machine attention_machine[PW_PRECISION_COUNT];
    pw_traffic_parameters traffic;
    pw_convolution_parameters convolution;
    double saturation, memory_taken_most;
    double misaligned[PW_ALIGNMENTS]; /* slowdown of arithmetic, by the logarithm of the alignment */
    char gemm_text[PW_PRECISION_COUNT][sizeof(((pw_parameter_choice *)0)->text)];
    char attention_text[PW_PRECISION_COUNT][sizeof(((pw_parameter_choice *)0)->text)];
    char traffic_text[sizeof(((pw_parameter_choice *)0)->text)];
};

/* A 16-bit row for units of another rate. The fill of a tile's pipeline is a latency: in elements of k it goes with the rate.
 * Small tiles lose to the operands they need per flop: less where a flop takes longer or its operands are narrower. */
static void slow_down(pw_gemm_parameters *gemm, const pw_gemm_machine *machine) {
    double rate = machine->peak_flops / machine->peak16_flops;
    gemm->ramp_k *= rate;
    gemm->tile_discount *= rate * machine->element_bytes / 2;
}

/* Parameters of one precision, which the device has a unit for. */
static pw_status resolve(pw_gpu *gpu, const pw_catalogue *catalogue, pw_precision precision, pw_error *error) {
    const pw_device *device = gpu->device;
    const pw_table *table;
    pw_parameter_choice choice;
    pw_gemm_parameters gemm;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GEMM, &table, error));
    PW_TRY(pw_parameter_choose(catalogue, table, device, precision, &choice, error));
    PW_TRY(pw_gemm_parameters_read(table, choice.row, &gemm, error));
    double slower = 1; /* what the fallback table says against the row */
    if (choice.flop_efficiency > 0) {
        slower = choice.flop_efficiency / gemm.flop_efficiency;
        gemm.flop_efficiency = choice.flop_efficiency;
    }
    if (choice.memory_efficiency > 0) gemm.memory_efficiency = choice.memory_efficiency;
    pw_gemm_machine machine = {.peak_flops = device->peak_flops[precision],
                               .peak16_flops = gpu->peak16,
                               .sms = gpu->sms,
                               .memory_Bps = device->memory_Bps,
                               .element_bytes = pw_precision_bytes(precision)};
    if (choice.other_precision) slow_down(&gemm, &machine);
    pw_gemm_prepare(&gemm, &machine, &gpu->gemm[precision]);
    gpu->casts[precision] = gemm.cast_traffic > 0; /* only fitted where the layer quantises */
    memcpy(gpu->gemm_text[precision], choice.text, sizeof choice.text);

    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_ATTENTION, &table, error));
    PW_TRY(pw_parameter_choose(catalogue, table, device, precision, &choice, error));
    PW_TRY(pw_attention_parameters_read(table, choice.row, &gpu->attention[precision], error));
    gpu->attention[precision].flop_efficiency *= slower < 1 ? slower : 1;
    gpu->attention_machine[precision] = (pw_attention_machine){.peak_flops = machine.peak_flops,
                                                               .sms = machine.sms,
                                                               .memory_Bps = gemm.memory_efficiency * machine.memory_Bps,
                                                               .element_bytes = machine.element_bytes};
    memcpy(gpu->attention_text[precision], choice.text, sizeof choice.text);
    gpu->has[precision] = true;
    return PW_OK;
}

static pw_status read_sharing(pw_gpu *gpu, const pw_catalogue *catalogue, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "kernel-sharing", &table, error));
    int row = pw_table_find_row(table, "memory");
    gpu->memory_taken_most = row < 0 ? NAN : pw_table_number_of(table, (size_t)row, "most_taken");
    if (gpu->memory_taken_most >= 0 && gpu->memory_taken_most < 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), row < 0 ? 0 : pw_table_line(table, (size_t)row),
                   "give a row 'memory' with most_taken from 0 to below 1", "what others take of the memory bandwidth at most is unknown");
}

pw_status pw_gpu_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *device, pw_gpu **result,
                        pw_error *error) {
    const pw_device *found;
    *result = NULL;
    PW_TRY(pw_catalogue_device(catalogue, device, &found, error));
    if (!(found->memory_Bps > 0) || !(pw_device_peak16(found) > 0))
        return pw_fail(error, PW_UNSUPPORTED, NULL, found->line, "see `podwright explain` for what the catalogue knows",
                       "%s has no memory bandwidth or no peak in the catalogue; kernel times need both", found->name);
    pw_gpu *gpu = pw_alloc_zero(allocator, sizeof *gpu);
    if (!gpu) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a device's kernel parameters");
    gpu->allocator = allocator;
    gpu->device = found;
    gpu->peak16 = pw_device_peak16(found);
    gpu->sms = found->sm_count > 0 ? found->sm_count : 1;

    pw_status status = PW_OK;
    for (int i = 0; i < PW_PRECISION_COUNT && status == PW_OK; i++)
        if (found->peak_flops[i] > 0) status = resolve(gpu, catalogue, (pw_precision)i, error);
    if (status == PW_OK) status = pw_alignment_read(catalogue, found, gpu->misaligned, error);
    const pw_table *table = NULL;
    pw_parameter_choice choice;
    if (status == PW_OK) status = read_sharing(gpu, catalogue, error);
    if (status == PW_OK) status = pw_convolution_parameters_read(catalogue, &gpu->convolution, error);
    if (status == PW_OK) status = pw_catalogue_need(catalogue, PW_TABLE_TRAFFIC, &table, error);
    if (status == PW_OK) status = pw_parameter_choose(catalogue, table, found, PW_PRECISION_BF16, &choice, error);
    if (status == PW_OK) status = pw_traffic_parameters_read(table, choice.row, &gpu->traffic, error);
    if (status != PW_OK) {
        pw_gpu_destroy(gpu);
        return status;
    }
    if (choice.memory_efficiency > 0) gpu->traffic.memory_efficiency = choice.memory_efficiency;
    memcpy(gpu->traffic_text, choice.text, sizeof choice.text);
    for (int i = PW_PRECISION_COUNT - 1; i >= 0; i--)
        if (gpu->has[i]) gpu->saturation = gpu->gemm[i].parameters.saturation;
    for (int i = PW_PRECISION_FP16; i <= PW_PRECISION_BF16; i++)
        if (gpu->has[i]) gpu->saturation = gpu->gemm[i].parameters.saturation;
    *result = gpu;
    return PW_OK;
}

void pw_gpu_destroy(pw_gpu *gpu) {
    if (gpu) pw_free(gpu->allocator, gpu, sizeof *gpu);
}

const pw_device *pw_gpu_device(const pw_gpu *gpu) { return gpu->device; }
double pw_gpu_memory_taken_most(const pw_gpu *gpu) { return gpu->memory_taken_most; }

static bool has_unit(const pw_gpu *gpu, pw_precision precision) {
    return (unsigned)precision < PW_PRECISION_COUNT && gpu->has[precision];
}

static bool multiplies(pw_kernel_class kind) {
    return kind == PW_KERNEL_GEMM || kind == PW_KERNEL_CONVOLUTION || kind == PW_KERNEL_ATTENTION;
}

const char *pw_gpu_provenance(const pw_gpu *gpu, pw_kernel_class kind, pw_precision precision) {
    if (!multiplies(kind)) return gpu->traffic_text;
    if (!has_unit(gpu, precision)) return "the device has no unit for this precision";
    return kind == PW_KERNEL_ATTENTION ? gpu->attention_text[precision] : gpu->gemm_text[precision];
}

static pw_status bad_dimension(const pw_kernel *kernel, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "counts are at least 1; bytes and flops are finite and at least 0",
                   "a %s kernel has a size out of range", pw_kernel_class_names[kernel->kind]);
}

/* Slowdown of the arithmetic of a multiply; 0: no such alignment. */
static double misalignment(const pw_gpu *gpu, int64_t row_alignment) {
    if (row_alignment == 0) return 1;
    for (int i = 0; i < PW_ALIGNMENTS; i++)
        if (row_alignment == INT64_C(1) << i) return gpu->misaligned[i];
    return 0;
}

/* Sizes near the end of what a number holds, or a clock near 0. */
static pw_status check_cost(const pw_kernel *kernel, const pw_kernel_cost *cost, pw_error *error) {
    if (isfinite(cost->total_s)) return PW_OK;
    return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "are its sizes, the clock and the SMs meant like this?",
                   "the time of a %s kernel is too long to be a number", pw_kernel_class_names[kernel->kind]);
}

/* How a kernel runs, its state resolved. */
typedef struct placement {
    double clock, sms, left; /* ratio; SMs; share of the memory bandwidth that others leave */
} placement;

static pw_status place(const pw_gpu *gpu, const pw_gpu_state *state, placement *at, pw_error *error) {
    *at = (placement){state ? state->clock_ratio : 1, state && state->sms != 0 ? state->sms : gpu->sms,
                      state ? 1 - state->memory_taken : 1};
    if (!(at->left > 0 && at->left <= 1))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the share that others take is at least 0 and below 1",
                       "%s cannot run on %g of its memory bandwidth", gpu->device->name, at->left);
    if (!(at->clock > 0 && isfinite(at->clock)) || !(at->sms > 0 && at->sms <= gpu->sms))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the clock ratio is above 0 and finite; SMs are above 0 and at most the device's",
                       "%s cannot run at clock ratio %g on %g of %g SMs", gpu->device->name, at->clock, at->sms, gpu->sms);
    return PW_OK;
}

static pw_status traffic_cost(const pw_gpu *gpu, const pw_kernel *kernel, const placement *at, pw_kernel_cost *cost, pw_error *error) {
    if (!(kernel->memory.bytes >= 0 && kernel->memory.flops >= 0) || isinf(kernel->memory.bytes + kernel->memory.flops))
        return bad_dimension(kernel, error);
    pw_traffic_cost(&gpu->traffic, at->left * gpu->device->memory_Bps, gpu->device->vector_flops, kernel->memory.bytes,
                    kernel->memory.flops, at->clock, at->sms / gpu->sms, gpu->saturation, cost);
    return PW_OK;
}

static pw_status gemm_cost(const pw_gpu *gpu, const pw_kernel *kernel, const placement *at, pw_kernel_cost *cost, pw_error *error) {
    pw_gemm_model multiply = gpu->gemm[kernel->precision];
    double output_bytes = kernel->gemm.output_bytes_per_element, slowdown = misalignment(gpu, kernel->gemm.row_alignment);
    if (kernel->gemm.batch < 1 || kernel->gemm.m < 1 || kernel->gemm.n < 1 || kernel->gemm.k < 1 || !(output_bytes >= 0) ||
        slowdown == 0)
        return bad_dimension(kernel, error);
    if (output_bytes == 0) output_bytes = fmax(2, pw_precision_bytes(kernel->precision));
    multiply.machine.memory_Bps *= at->left;
    pw_gemm_cost(&multiply, (double)kernel->gemm.batch, (double)kernel->gemm.m, (double)kernel->gemm.n, (double)kernel->gemm.k,
                 output_bytes, gpu->casts[kernel->precision] && !kernel->gemm.quantised, at->clock / slowdown, at->sms, cost);
    return PW_OK;
}

static pw_status convolution_cost(const pw_gpu *gpu, const pw_kernel *kernel, const placement *at, pw_kernel_cost *cost,
                                  pw_error *error) {
    pw_gemm_model multiply = gpu->gemm[kernel->precision];
    if (!pw_convolution_is_valid(&kernel->convolution)) return bad_dimension(kernel, error);
    multiply.machine.memory_Bps *= at->left;
    pw_convolution_cost(&multiply, &gpu->convolution, kernel->precision, gpu->device->vector_flops, &kernel->convolution,
                        at->clock, at->sms, cost);
    return PW_OK;
}

static pw_status attention_cost(const pw_gpu *gpu, const pw_kernel *kernel, const placement *at, pw_kernel_cost *cost,
                                pw_error *error) {
    pw_attention_shape shape = pw_attention_shape_of(kernel);
    if (shape.batch < 1 || shape.queries < 1 || shape.keys < 1 || shape.heads < 1 || shape.kv_heads < 1 ||
        shape.head_dim < 1 || shape.value_dim < 1 || !(kernel->attention.slowdown >= 0) || shape.window < 0 ||
        (shape.window > 0 && !shape.causal))
        return bad_dimension(kernel, error);
    pw_attention_machine machine = gpu->attention_machine[kernel->precision];
    machine.memory_Bps *= at->left;
    pw_attention_cost(&gpu->attention[kernel->precision], &machine, &shape, at->clock, at->sms, cost);
    return PW_OK;
}

pw_status pw_gpu_kernel_cost(const pw_gpu *gpu, const pw_kernel *kernel, const pw_gpu_state *state, pw_kernel_cost *cost,
                             pw_error *error) {
    placement at;
    PW_CHECK((unsigned)kernel->kind < PW_KERNEL_CLASS_COUNT);
    PW_TRY(place(gpu, state, &at, error));
    if (multiplies(kernel->kind) && !has_unit(gpu, kernel->precision))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "choose a precision that `podwright explain` lists for the device",
                       "%s has no %s arithmetic", gpu->device->name,
                       (unsigned)kernel->precision < PW_PRECISION_COUNT ? pw_precision_names[kernel->precision] : "such");
    switch (kernel->kind) {
        case PW_KERNEL_GEMM: PW_TRY(gemm_cost(gpu, kernel, &at, cost, error)); break;
        case PW_KERNEL_CONVOLUTION: PW_TRY(convolution_cost(gpu, kernel, &at, cost, error)); break;
        case PW_KERNEL_ATTENTION: PW_TRY(attention_cost(gpu, kernel, &at, cost, error)); break;
        default: PW_TRY(traffic_cost(gpu, kernel, &at, cost, error));
    }
    return check_cost(kernel, cost, error);
}

pw_status pw_gpu_launch_s(const pw_catalogue *catalogue, const char *host, double *launch_s, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_LAUNCH, &table, error));
    int row = pw_table_find_row(table, host), column = pw_table_find_column(table, "launch");
    if (column < 0)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 1, NULL, "the table has no column \"launch\"");
    if (row < 0) {
        char hint[200];
        pw_table_names(table, "known kinds:", hint, sizeof hint);
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, hint, "unknown kind of host CPU \"%s\"", host);
    }
    *launch_s = pw_table_number_at(table, (size_t)row, (size_t)column);
    if (!(*launch_s >= 0))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), NULL,
                       "the launch cost of \"%s\" is not a number", host);
    return PW_OK;
}
