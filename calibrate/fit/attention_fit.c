/* The forward pass from measured rows; then the backward pass's efficiency, given the forward parameters, from published
 * rates. A device without published backward rates takes those of its architecture, else of the device before it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/tables.h"
#include "models/gpu/attention.h"
#include "models/gpu/parameters.h"

static const double knee = 0.05;
static const char source[] =
    "fitted by podwright-fit to the fit rows of tests/validation/data/kernel-attention.csv (ai-dynamo/aiconfigurator, "
    "Apache-2.0); backward_efficiency to tests/validation/data/attention-published.csv (charts of FlashAttention-2 and -3)";

enum {
#define COUNT(field, column, low, high, guess, text) attention_##field,
    PW_ATTENTION_PARAMETER_MAP(COUNT)
#undef COUNT
    PARAMETERS
};
_Static_assert(sizeof(pw_attention_parameters) == PARAMETERS * sizeof(double), "parameters are one array of numbers");

static const pw_fit_parameter parameters[PARAMETERS] = {
#define ENTRY(field, column, low, high, guess, text) {column, text, "", 1, low, high, guess},
    PW_ATTENTION_PARAMETER_MAP(ENTRY)
#undef ENTRY
};

typedef struct context {
    const pw_kernel_row **rows;
    size_t count;
    pw_attention_machine machine;
} context;

static void predict(void *pointer, const double *values, double *predicted) {
    const context *c = pointer;
    pw_attention_parameters p;
    memcpy(&p, values, sizeof p);
    for (size_t i = 0; i < c->count; i++) {
        const pw_kernel_row *row = c->rows[i];
        pw_attention_shape shape = {row->batch, row->queries, row->keys, row->heads, row->kv_heads, row->head_dim, row->causal,
                                    .value_dim = row->head_dim};
        pw_kernel_cost cost;
        predicted[i] = 0;
        if (row->forward) {
            pw_attention_cost(&p, &c->machine, &shape, 1, c->machine.sms, &cost);
            predicted[i] += cost.total_s;
        }
        if (row->backward) {
            shape.backward = true;
            pw_attention_cost(&p, &c->machine, &shape, 1, c->machine.sms, &cost);
            predicted[i] += cost.total_s;
        }
    }
}

typedef struct work {
    const pw_kernel_row **rows;
    double *measured, *predicted;
} work;

static pw_status machine_of(const pw_catalogue *catalogue, const pw_fit_group *group, pw_attention_machine *machine,
                            pw_error *error) {
    const pw_device *device = group->device;
    const pw_table *table;
    pw_parameter_choice choice;
    pw_gemm_parameters gemm;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GEMM, &table, error));
    PW_TRY(pw_parameter_choose(catalogue, table, device, group->precision, &choice, error));
    PW_TRY(pw_gemm_parameters_read(table, choice.row, &gemm, error));
    *machine = (pw_attention_machine){.peak_flops = device->peak_flops[group->precision],
                                      .sms = device->sm_count > 0 ? device->sm_count : 1,
                                      .memory_Bps = gemm.memory_efficiency * device->memory_Bps,
                                      .element_bytes = pw_precision_bytes(group->precision)};
    return PW_OK;
}

/* Rows of a group on one side; side 0: fit, 1: check. */
static size_t select_rows(const pw_measurements *all, const pw_fit_group *group, int side, work *w, size_t count) {
    for (size_t i = group->first; i < group->first + group->rows; i++)
        if (all->rows[i].check == (side == 1)) {
            w->measured[count] = all->rows[i].seconds;
            w->rows[count++] = &all->rows[i];
        }
    return count;
}

static pw_error_summary errors(const context *c, work *w, const double *values) {
    predict((void *)(uintptr_t)c, values, w->predicted);
    for (size_t i = 0; i < c->count; i++) w->predicted[i] = w->predicted[i] / w->measured[i] - 1;
    pw_error_summary summary;
    (void)pw_errors_summarise(w->predicted, c->count, NULL, &summary); /* no rows, no memory: a summary of 0 rows */
    return summary;
}

static bool one_head_dim(const context *c) {
    for (size_t i = 1; i < c->count; i++)
        if (c->rows[i]->head_dim != c->rows[0]->head_dim) return false;
    return true;
}

static pw_status solve(context *c, work *w, const double *guess, const bool *held, pw_fit_result *result, pw_error *error) {
    double low[PARAMETERS], high[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++) {
        low[i] = parameters[i].low;
        high[i] = parameters[i].high;
    }
    pw_fit_problem problem = {.rows = c->count, .parameters = PARAMETERS, .low = low, .high = high, .guess = guess,
                              .held = held, .measured = w->measured, .predict = predict, .context = c, .knee = knee,
                              .starts = 3};
    return pw_fit_robust(&problem, result, error);
}

static pw_status fit_forward(const pw_catalogue *catalogue, const pw_measurements *all, const pw_fit_group *group, work *w,
                             pw_fit_row *row, FILE *report, pw_error *error) {
    context c = {.rows = w->rows};
    double guess[PARAMETERS];
    bool held[PARAMETERS] = {[attention_backward_efficiency] = true};
    PW_TRY(machine_of(catalogue, group, &c.machine, error));
    c.count = select_rows(all, group, 0, w, 0);
    for (size_t i = 0; i < PARAMETERS; i++) guess[i] = parameters[i].guess;
    *row = (pw_fit_row){.group = group};
    if (one_head_dim(&c)) {
        held[attention_softmax_flops] = true;
        snprintf(row->notes, sizeof row->notes, "softmax_flops held: one head_dim measured; ");
    }
    PW_TRY(solve(&c, w, guess, held, &row->result, error));
    row->fit = errors(&c, w, row->result.value);
    pw_fit_report_line(report, "attention", group, "fit", &row->fit);
    c.count = select_rows(all, group, 1, w, 0);
    pw_error_summary check = errors(&c, w, row->result.value);
    pw_fit_report_line(report, "attention", group, "check", &check);
    return PW_OK;
}

/* Published backward rates of the row's device, if any. */
static pw_status fit_backward(const pw_catalogue *catalogue, const pw_measurements *published, work *w, pw_fit_row *row,
                              FILE *report, bool *found, pw_error *error) {
    context c = {.rows = w->rows};
    const pw_fit_group *group = NULL;
    for (size_t g = 0; g < published->group_count; g++) {
        const pw_fit_group *each = &published->groups[g];
        if (each->device != row->group->device || each->precision != row->group->precision) continue;
        c.count = select_rows(published, each, 0, w, c.count);
        group = each;
    }
    *found = group != NULL;
    if (!group) return PW_OK;
    PW_TRY(machine_of(catalogue, group, &c.machine, error));
    double guess[PARAMETERS];
    bool held[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++) {
        guess[i] = row->result.value[i];
        held[i] = i != attention_backward_efficiency;
    }
    pw_fit_result result;
    PW_TRY(solve(&c, w, guess, held, &result, error));
    size_t k = attention_backward_efficiency;
    row->result.value[k] = result.value[k];
    row->result.error[k] = result.error[k];
    row->result.fitted[k] = result.fitted[k];
    row->result.covariance[k][k] = result.covariance[k][k];
    size_t used = strlen(row->notes);
    snprintf(row->notes + used, sizeof row->notes - used, "backward_efficiency from %zu published rates", c.count);
    pw_error_summary fit = errors(&c, w, row->result.value);
    pw_fit_report_line(report, "backward", group, "fit", &fit);
    return PW_OK;
}

/* Backward efficiency of a row without rates, from one of the rows with them. */
static void borrow_backward(pw_fit_row *rows, size_t count, const bool *found, size_t index) {
    size_t from = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!found[i]) continue;
        bool same = !strcmp(rows[i].group->device->arch, rows[index].group->device->arch);
        if (same || i < index || from == SIZE_MAX) from = i;
        if (same) break;
    }
    if (from == SIZE_MAX) return;
    size_t k = attention_backward_efficiency, used = strlen(rows[index].notes);
    rows[index].result.value[k] = rows[from].result.value[k];
    snprintf(rows[index].notes + used, sizeof rows[index].notes - used, "backward_efficiency from %s",
             rows[from].group->device->name);
}

static pw_status run(const pw_catalogue *catalogue, const pw_measurements *all, const pw_measurements *published,
                     const pw_fit_paths *paths, FILE *report, pw_error *error) {
    size_t largest = all->count > published->count ? all->count : published->count, count = 0;
    work w = {malloc(largest * sizeof *w.rows), malloc(largest * sizeof *w.measured), malloc(largest * sizeof *w.predicted)};
    pw_fit_row *rows = calloc(all->group_count, sizeof *rows);
    bool *found = calloc(all->group_count, sizeof *found);
    pw_status status = PW_OK;
    if (!w.rows || !w.measured || !w.predicted || !rows || !found)
        status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit");
    for (size_t g = 0; g < all->group_count && status == PW_OK; g++) {
        if (!all->groups[g].primary) continue;
        status = fit_forward(catalogue, all, &all->groups[g], &w, &rows[count], report, error);
        if (status == PW_OK) status = fit_backward(catalogue, published, &w, &rows[count], report, &found[count], error);
        count++;
    }
    for (size_t i = 0; i < count && status == PW_OK; i++)
        if (!found[i]) borrow_backward(rows, count, found, i);
    if (status == PW_OK) {
        pw_fit_parameter units[PARAMETERS];
        memcpy(units, parameters, sizeof units);
        units[attention_start].unit = units[attention_block].unit = "us";
        units[attention_start].scale = units[attention_block].scale = 1e6;
        status = pw_fit_write_tables(paths->folder, "kernel-attention", units, PARAMETERS, rows, count, source, error);
    }
    free(w.rows);
    free(w.measured);
    free(w.predicted);
    free(rows);
    free(found);
    return status;
}

pw_status pw_fit_attention(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    char data[512], split[512], rates[512];
    pw_measurements all, published = {0};
    snprintf(data, sizeof data, "%s/kernel-attention.csv", paths->data);
    snprintf(rates, sizeof rates, "%s/attention-published.csv", paths->data);
    snprintf(split, sizeof split, "%s/split-attention.csv", paths->split);
    PW_TRY(pw_measurements_read_attention(data, split, paths->stack, catalogue, &all, error));
    pw_status status = pw_measurements_read_published_attention(rates, catalogue, &published, error);
    if (status == PW_OK) status = run(catalogue, &all, &published, paths, report, error);
    pw_measurements_free(&published);
    pw_measurements_free(&all);
    return status;
}
