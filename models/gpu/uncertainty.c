#include "models/gpu/uncertainty.h"

#include <math.h>
#include <string.h>

#include "models/gpu/parameters.h"
#include "sim/math.h"

enum { MOST_PARAMETERS = 16 };
static const double step = 0.01; /* of a logarithm, for differences */

typedef enum fit_kind { FIT_GEMM, FIT_ATTENTION, FIT_TRAFFIC, FIT_KINDS } fit_kind;
static const struct {
    const char *parameters, *covariance;
    const char *names[MOST_PARAMETERS]; /* in the order of the struct's doubles */
} fits[FIT_KINDS] = {
#define NAME(field, column, low, high, guess, text) column,
    [FIT_GEMM] = {PW_TABLE_GEMM, "kernel-gemm-covariance", {PW_GEMM_PARAMETER_MAP(NAME)}},
    [FIT_ATTENTION] = {PW_TABLE_ATTENTION, "kernel-attention-covariance", {PW_ATTENTION_PARAMETER_MAP(NAME)}},
    [FIT_TRAFFIC] = {PW_TABLE_TRAFFIC, "kernel-traffic-covariance", {PW_TRAFFIC_PARAMETER_MAP(NAME)}},
#undef NAME
};

/* One row of a parameter table, as the device uses it. */
typedef struct fit {
    fit_kind kind;
    pw_precision precision;
    const pw_device *device;
    const char *row_device, *row_precision; /* which row of the covariance table belongs to it */
    pw_convolution_parameters convolution;
    double gemm_memory_efficiency;          /* what attention takes from the multiply's row */
    int count;
    union {
        double values[MOST_PARAMETERS];
        pw_gemm_parameters gemm;
        pw_attention_parameters attention;
        pw_traffic_parameters traffic;
    };
} fit;
_Static_assert(sizeof(pw_gemm_parameters) <= MOST_PARAMETERS * sizeof(double), "room for every parameter");
_Static_assert(sizeof(pw_attention_parameters) <= MOST_PARAMETERS * sizeof(double), "room for every parameter");

static fit_kind kind_of(const pw_kernel *kernel) {
    if (kernel->kind == PW_KERNEL_ATTENTION) return FIT_ATTENTION;
    return kernel->kind == PW_KERNEL_GEMM || kernel->kind == PW_KERNEL_CONVOLUTION ? FIT_GEMM : FIT_TRAFFIC;
}

static pw_status fit_read(const pw_catalogue *catalogue, const pw_device *device, fit_kind kind, pw_precision precision,
                          fit *to, pw_error *error) {
    const pw_table *table;
    pw_parameter_choice choice;
    memset(to, 0, sizeof *to);
    to->kind = kind;
    to->precision = precision;
    to->device = device;
    if (kind == FIT_ATTENTION) {
        PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GEMM, &table, error));
        PW_TRY(pw_parameter_choose(catalogue, table, device, precision, &choice, error));
        PW_TRY(pw_gemm_parameters_read(table, choice.row, &to->gemm, error));
        to->gemm_memory_efficiency = choice.memory_efficiency > 0 ? choice.memory_efficiency : to->gemm.memory_efficiency;
    }
    PW_TRY(pw_convolution_parameters_read(catalogue, &to->convolution, error));
    PW_TRY(pw_catalogue_need(catalogue, fits[kind].parameters, &table, error));
    PW_TRY(pw_parameter_choose(catalogue, table, device, kind == FIT_TRAFFIC ? PW_PRECISION_BF16 : precision, &choice, error));
    switch (kind) {
        case FIT_GEMM: PW_TRY(pw_gemm_parameters_read(table, choice.row, &to->gemm, error)); break;
        case FIT_ATTENTION: PW_TRY(pw_attention_parameters_read(table, choice.row, &to->attention, error)); break;
        default: PW_TRY(pw_traffic_parameters_read(table, choice.row, &to->traffic, error)); break;
    }
    if (kind == FIT_GEMM && choice.memory_efficiency > 0) to->gemm.memory_efficiency = choice.memory_efficiency;
    if (kind == FIT_TRAFFIC && choice.memory_efficiency > 0) to->traffic.memory_efficiency = choice.memory_efficiency;
    if (kind == FIT_GEMM && choice.flop_efficiency > 0) to->gemm.flop_efficiency = choice.flop_efficiency;
    while (to->count < MOST_PARAMETERS && fits[kind].names[to->count]) to->count++;
    PW_TRY(pw_parameter_text(table, choice.row, "device", &to->row_device, error));
    return pw_parameter_text(table, choice.row, "precision", &to->row_precision, error);
}

/* The kernel's solo time with the fit's parameters. */
static double time_of(const fit *f, const pw_kernel *kernel, double clock_ratio) {
    const pw_device *device = f->device;
    double sms = device->sm_count > 0 ? device->sm_count : 1;
    pw_kernel_cost cost = {0};
    if (f->kind == FIT_GEMM) {
        pw_gemm_machine machine = {.peak_flops = device->peak_flops[f->precision], .peak16_flops = pw_device_peak16(device),
                                   .sms = sms, .memory_Bps = device->memory_Bps,
                                   .element_bytes = pw_precision_bytes(f->precision)};
        pw_gemm_model model;
        pw_gemm_prepare(&f->gemm, &machine, &model);
        if (kernel->kind == PW_KERNEL_CONVOLUTION) {
            pw_convolution_cost(&model, &f->convolution, f->precision, device->vector_flops, &kernel->convolution, clock_ratio, sms, &cost);
            return cost.total_s;
        }
        double output = kernel->gemm.output_bytes_per_element;
        if (output == 0) output = fmax(2, machine.element_bytes);
        pw_gemm_cost(&model, (double)kernel->gemm.batch, (double)kernel->gemm.m, (double)kernel->gemm.n,
                     (double)kernel->gemm.k, output, f->gemm.cast_traffic > 0 && !kernel->gemm.quantised, clock_ratio, sms, &cost);
    } else if (f->kind == FIT_ATTENTION) {
        pw_attention_machine machine = {.peak_flops = device->peak_flops[f->precision], .sms = sms,
                                        .memory_Bps = f->gemm_memory_efficiency * device->memory_Bps,
                                        .element_bytes = pw_precision_bytes(f->precision)};
        pw_attention_shape shape = pw_attention_shape_of(kernel);
        pw_attention_cost(&f->attention, &machine, &shape, clock_ratio, sms, &cost);
    } else {
        pw_traffic_cost(&f->traffic, device->memory_Bps, device->vector_flops, kernel->memory.bytes, kernel->memory.flops,
                        clock_ratio, 1, 1, &cost);
    }
    return cost.total_s;
}

static bool belongs(const fit *f, const pw_kernel *kernel) {
    return kind_of(kernel) == f->kind && (f->kind == FIT_TRAFFIC || kernel->precision == f->precision);
}

static double total_of(const fit *f, const pw_kernel_count *kernels, size_t count, double clock_ratio) {
    double total = 0;
    for (size_t i = 0; i < count; i++)
        if (belongs(f, kernels[i].kernel)) total += kernels[i].count * time_of(f, kernels[i].kernel, clock_ratio);
    return total;
}

/* Change of the summed time, in s, per unit of each parameter's logarithm. */
static void gradient_of(const fit *f, const pw_kernel_count *kernels, size_t count, double clock_ratio, double *gradient) {
    for (int p = 0; p < f->count; p++) {
        fit low = *f, high = *f;
        gradient[p] = 0;
        if (!(f->values[p] > 0)) continue; /* an absent parameter */
        low.values[p] *= pw_exp(-step);
        high.values[p] *= pw_exp(step);
        gradient[p] = (total_of(&high, kernels, count, clock_ratio) - total_of(&low, kernels, count, clock_ratio)) / (2 * step);
    }
}

static int index_of(fit_kind kind, const char *name) {
    for (int i = 0; i < MOST_PARAMETERS && fits[kind].names[i]; i++)
        if (strcmp(fits[kind].names[i], name) == 0) return i;
    return -1;
}

/* Variance of the summed time, in s^2, from the covariance of the row's parameters. */
static pw_status fitted_variance(const pw_catalogue *catalogue, const fit *f, const double *gradient, double *variance,
                                 pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, fits[f->kind].covariance, &table, error));
    *variance = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_of(table, row, "device"), f->row_device) != 0 ||
            strcmp(pw_table_text_of(table, row, "precision"), f->row_precision) != 0)
            continue;
        int a = index_of(f->kind, pw_table_text_of(table, row, "parameter"));
        int b = index_of(f->kind, pw_table_text_of(table, row, "with"));
        double covariance = pw_table_number_of(table, row, "covariance_of_logs");
        if (a < 0 || b < 0 || !isfinite(covariance))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "podwright-fit writes this file",
                           "a covariance is missing or of an unknown parameter");
        *variance += (a == b ? 1 : 2) * covariance * gradient[a] * gradient[b]; /* one triangle is on file */
    }
    if (*variance < 0) *variance = 0; /* rounding of a nearly singular matrix */
    return PW_OK;
}

/* Variance between devices of a parameter's logarithm, over the rows of the table. */
static double variance_between(const pw_table *table, const char *name) {
    double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double value = pw_table_number_of(table, row, name);
        if (!(value > 0)) continue;
        double log_value = pw_log(value);
        sum += log_value;
        squares += log_value * log_value;
        n++;
    }
    return n > 1 ? fmax(0, (squares - sum * sum / (double)n) / (double)(n - 1)) : 0;
}

static pw_status borrowed_variance(const pw_catalogue *catalogue, const fit *f, const double *gradient, double *variance,
                                   pw_error *error) {
    static const char *const shared[] = {"start", "flop_efficiency", "memory_efficiency"};
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, fits[f->kind].parameters, &table, error));
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        int p = index_of(f->kind, shared[i]);
        if (p >= 0) *variance += variance_between(table, shared[i]) * gradient[p] * gradient[p];
    }
    return PW_OK;
}

static pw_status add_fit(const pw_catalogue *catalogue, const fit *f, const pw_kernel_count *kernels, size_t count,
                         double clock_ratio, double *total, double *variance, pw_error *error) {
    double gradient[MOST_PARAMETERS], own;
    gradient_of(f, kernels, count, clock_ratio, gradient);
    PW_TRY(fitted_variance(catalogue, f, gradient, &own, error));
    if (strcmp(f->row_device, f->device->name) != 0) PW_TRY(borrowed_variance(catalogue, f, gradient, &own, error));
    *total += total_of(f, kernels, count, clock_ratio);
    *variance += own;
    return PW_OK;
}

pw_status pw_gpu_time_sd(const pw_catalogue *catalogue, const pw_device *device, const pw_kernel_count *kernels, size_t count,
                         double clock_ratio, double *relative_sd, pw_error *error) {
    bool used[FIT_KINDS][PW_PRECISION_COUNT] = {{false}};
    for (size_t i = 0; i < count; i++) {
        const pw_kernel *kernel = kernels[i].kernel;
        fit_kind kind = kind_of(kernel);
        used[kind][kind == FIT_TRAFFIC ? PW_PRECISION_BF16 : kernel->precision] = true;
    }
    double total = 0, variance = 0;
    for (int kind = 0; kind < FIT_KINDS; kind++)
        for (int precision = 0; precision < PW_PRECISION_COUNT; precision++) {
            if (!used[kind][precision]) continue;
            fit f;
            PW_TRY(fit_read(catalogue, device, (fit_kind)kind, (pw_precision)precision, &f, error));
            PW_TRY(add_fit(catalogue, &f, kernels, count, clock_ratio, &total, &variance, error));
        }
    *relative_sd = total > 0 ? sqrt(variance) / total : 0;
    return PW_OK;
}
