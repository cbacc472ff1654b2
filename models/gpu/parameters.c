#include "models/gpu/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/math.h"

static const char any_architecture[] = "*"; /* the last resort of the fallback table */
static const double unit_slack = 1e-12;     /* a limit written in another unit may lose its last bit */

double pw_device_peak16(const pw_device *device) {
    static const pw_precision order[] = {PW_PRECISION_BF16, PW_PRECISION_FP16, PW_PRECISION_FP32, PW_PRECISION_FP8,
                                         PW_PRECISION_TF32, PW_PRECISION_FP4};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double peak = device->peak_flops[order[i]];
        bool storage = i < 2 && peak < device->peak_flops[PW_PRECISION_FP32]; /* slower than 32 bits: no units to scale by */
        if (peak > 0 && !storage) return peak;
    }
    return NAN;
}

static pw_status find_column(const pw_table *table, const char *column, size_t *index, pw_error *error) {
    int found = pw_table_find_column(table, column);
    if (found < 0)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 1, NULL, "the table has no column \"%s\"", column);
    *index = (size_t)found;
    return PW_OK;
}

pw_status pw_parameter_text(const pw_table *table, size_t row, const char *column, const char **text, pw_error *error) {
    size_t index = 0;
    PW_TRY(find_column(table, column, &index, error));
    *text = pw_table_text_at(table, row, index);
    return PW_OK;
}

/* An optional cell may be empty: *value is NaN then. */
static pw_status read_number(const pw_table *table, size_t row, const char *column, double low, double high,
                             bool optional, double *value, pw_error *error) {
    size_t index = 0;
    PW_TRY(find_column(table, column, &index, error));
    const char *text = pw_table_text_at(table, row, index);
    *value = pw_table_number_at(table, row, index);
    if (optional && text[0] == 0) return PW_OK;
    if (!(*value >= low * (1 - unit_slack) && *value <= high * (1 + unit_slack)))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "podwright-fit writes this file",
                       "%s is \"%s\"; it must be a number from %g to %g", column, text, low, high);
    return PW_OK;
}

pw_status pw_gemm_parameters_read(const pw_table *table, size_t row, pw_gemm_parameters *parameters, pw_error *error) {
#define READ(field, column, low, high, guess, text)                                                                   \
    PW_TRY(read_number(table, row, column, low, high, !strncmp(column, "cast", 4), &parameters->field, error));
    PW_GEMM_PARAMETER_MAP(READ)
#undef READ
    if (isnan(parameters->cast) == isnan(parameters->cast_traffic)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "podwright-fit writes this file",
                   "cast and cast_traffic are both numbers or both empty");
}

pw_status pw_attention_parameters_read(const pw_table *table, size_t row, pw_attention_parameters *parameters,
                                       pw_error *error) {
#define READ(field, column, low, high, guess, text)                                                                   \
    PW_TRY(read_number(table, row, column, low, high, false, &parameters->field, error));
    PW_ATTENTION_PARAMETER_MAP(READ)
#undef READ
    if (parameters->flop_efficiency * parameters->backward_efficiency <= 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "podwright-fit writes this file",
                   "flop_efficiency x backward_efficiency is %g: a backward pass would beat peak flop/s",
                   parameters->flop_efficiency * parameters->backward_efficiency);
}

pw_status pw_traffic_parameters_read(const pw_table *table, size_t row, pw_traffic_parameters *parameters,
                                     pw_error *error) {
#define READ(field, column, low, high, guess, text)                                                                   \
    PW_TRY(read_number(table, row, column, low, high, false, &parameters->field, error));
    PW_TRAFFIC_PARAMETER_MAP(READ)
#undef READ
    return PW_OK;
}

pw_status pw_alignment_read(const pw_catalogue *catalogue, const pw_device *device, double slowdown[PW_ALIGNMENTS],
                            pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_ALIGNMENT, &table, error));
    for (int i = 0; i < PW_ALIGNMENTS; i++) {
        bool own = false;
        slowdown[i] = 0;
        for (size_t row = 0; row < pw_table_rows(table) && !own; row++) {
            const char *arch = pw_table_text_of(table, row, "arch");
            own = !strcmp(arch, device->arch);
            if (pw_table_number_of(table, row, "rows") != 1 << i || (!own && strcmp(arch, any_architecture) != 0)) {
                own = false;
                continue;
            }
            slowdown[i] = pw_table_number_of(table, row, "slowdown");
            if (!(slowdown[i] >= 1))
                return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "a slowdown is at least 1",
                               "the slowdown of rows of %d bytes is out of range", 1 << i);
        }
        if (slowdown[i] == 0)
            return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "add a row whose arch is *",
                           "no slowdown is on file for rows of %d bytes", 1 << i);
    }
    return PW_OK;
}

pw_status pw_convolution_parameters_read(const pw_catalogue *catalogue, pw_convolution_parameters *parameters, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_CONVOLUTION, &table, error));
    if (!pw_table_rows(table)) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 0, NULL, "the table has no row");
    return read_number(table, 0, "winograd_efficiency", 0.05, 1, false, &parameters->winograd_efficiency, error);
}

/* A table being searched. */
typedef struct search {
    const pw_catalogue *catalogue;
    const pw_table *table;
    size_t device_column, precision_column;
} search;

static bool same_precision(const char *text, pw_precision precision) {
    if (!strcmp(text, pw_precision_names[precision])) return true;
    return (precision == PW_PRECISION_FP16 && !strcmp(text, pw_precision_names[PW_PRECISION_BF16])) ||
           (precision == PW_PRECISION_BF16 && !strcmp(text, pw_precision_names[PW_PRECISION_FP16]));
}

static double unlikeness(double a, double b) { return a > 0 && b > 0 ? fabs(pw_log(a / b)) : 0; }

/* The best row at the precision: of the device itself (own), else of its architecture. false: none. */
static pw_status find_row(const search *s, const pw_device *device, pw_precision precision, size_t *row, bool *own,
                          bool *found, pw_error *error) {
    double least = INFINITY;
    *found = *own = false;
    for (size_t i = 0; i < pw_table_rows(s->table); i++) {
        const pw_device *other;
        if (!same_precision(pw_table_text_at(s->table, i, s->precision_column), precision)) continue;
        PW_TRY(pw_catalogue_device(s->catalogue, pw_table_text_at(s->table, i, s->device_column), &other, error));
        bool self = !strcmp(other->name, device->name);
        if (!self && strcmp(other->arch, device->arch)) continue;
        double distance = self ? -1
                               : unlikeness(pw_device_peak16(other), pw_device_peak16(device)) +
                                     unlikeness(other->memory_Bps, device->memory_Bps) +
                                     unlikeness(other->sm_count, device->sm_count);
        if (distance >= least) continue;
        least = distance;
        *row = i;
        *own = self;
        *found = true;
    }
    return PW_OK;
}

/* Steps 1 to 3 at one precision. */
static pw_status choose_at(const search *s, const pw_device *device, pw_precision precision, pw_parameter_choice *choice,
                           bool *found, pw_error *error) {
    bool own;
    PW_TRY(find_row(s, device, precision, &choice->row, &own, found, error));
    if (*found) {
        const char *from = pw_table_text_at(s->table, choice->row, s->device_column),
                   *row_precision = pw_table_text_at(s->table, choice->row, s->precision_column), *rows, *stack;
        if (own) {
            PW_TRY(pw_parameter_text(s->table, choice->row, "rows", &rows, error));
            PW_TRY(pw_parameter_text(s->table, choice->row, "stack", &stack, error));
            snprintf(choice->text, sizeof choice->text, "fitted on %s %s, %s rows (%s)", from, row_precision, rows, stack);
        } else {
            snprintf(choice->text, sizeof choice->text, "from %s %s (same architecture %s)", from, row_precision,
                     device->arch);
        }
        return PW_OK;
    }
    const pw_table *fallback;
    PW_TRY(pw_catalogue_need(s->catalogue, PW_TABLE_FALLBACK, &fallback, error));
    int line = pw_table_find_row(fallback, device->arch);
    if (line < 0) line = pw_table_find_row(fallback, any_architecture);
    if (line < 0)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(fallback), 0, NULL,
                       "there is no row for architecture \"%s\" and none named \"%s\"", device->arch, any_architecture);
    const char *kin_name;
    const pw_device *kin;
    PW_TRY(pw_parameter_text(fallback, (size_t)line, "device", &kin_name, error));
    if (!strcmp(pw_table_kind(s->table), PW_TABLE_TRAFFIC)) { /* memory of another kind may be more alike elsewhere */
        const char *other;
        PW_TRY(pw_parameter_text(fallback, (size_t)line, "traffic_device", &other, error));
        if (*other) kin_name = other;
    }
    PW_TRY(pw_catalogue_device(s->catalogue, kin_name, &kin, error));
    PW_TRY(find_row(s, kin, precision, &choice->row, &own, found, error));
    if (!*found) return PW_OK;
    PW_TRY(read_number(fallback, (size_t)line, "flop_efficiency", 0.01, 1, true, &choice->flop_efficiency, error));
    PW_TRY(read_number(fallback, (size_t)line, "memory_efficiency", 0.01, 1, true, &choice->memory_efficiency, error));
    int used = snprintf(choice->text, sizeof choice->text, "from %s %s (no measurements of architecture %s",
                        pw_table_text_at(s->table, choice->row, s->device_column),
                        pw_table_text_at(s->table, choice->row, s->precision_column), device->arch);
    if (choice->flop_efficiency > 0 && used > 0 && (size_t)used < sizeof choice->text)
        snprintf(choice->text + used, sizeof choice->text - (size_t)used, "; flop efficiency %g as published)",
                 choice->flop_efficiency);
    else if (used > 0 && (size_t)used < sizeof choice->text)
        snprintf(choice->text + used, sizeof choice->text - (size_t)used, ")");
    return PW_OK;
}

pw_status pw_parameter_choose(const pw_catalogue *catalogue, const pw_table *table, const pw_device *device,
                              pw_precision precision, pw_parameter_choice *choice, pw_error *error) {
    search s = {.catalogue = catalogue, .table = table};
    bool found;
    PW_TRY(find_column(table, "device", &s.device_column, error));
    PW_TRY(find_column(table, "precision", &s.precision_column, error));
    choice->flop_efficiency = choice->memory_efficiency = NAN;
    choice->other_precision = false;
    PW_TRY(choose_at(&s, device, precision, choice, &found, error));
    if (found) return PW_OK;
    if (precision == PW_PRECISION_FP4) PW_TRY(choose_at(&s, device, PW_PRECISION_FP8, choice, &found, error)); /* the nearest kin */
    if (!found) PW_TRY(choose_at(&s, device, PW_PRECISION_BF16, choice, &found, error));
    if (!found)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "podwright-fit writes this file",
                       "no row serves %s, architecture %s", device->name, device->arch);
    choice->other_precision = true;
    size_t used = strlen(choice->text);
    snprintf(choice->text + used, sizeof choice->text - used, ", no %s measurements: own peak, same efficiency",
             pw_precision_names[precision]);
    return PW_OK;
}
