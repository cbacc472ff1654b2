#include "models/power/gpu_loads.h"

#include <math.h>
#include <string.h>

#include "sim/math.h"

/* Peaks are quoted at a tensor clock that can lie below the highest one. */
static const double most_of_peak = 1.2;

static pw_status row_named(const pw_catalogue *catalogue, const char *kind, const char *name, const pw_table **table, size_t *row,
                           pw_error *error) {
    char known[200];
    PW_TRY(pw_catalogue_need(catalogue, kind, table, error));
    int found = pw_table_find_row(*table, name);
    if (found < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(*table), 0, pw_table_names(*table, "it knows", known, sizeof known),
                       "no row is named \"%s\"", name);
    *row = (size_t)found;
    return PW_OK;
}

pw_status pw_served_model_read(const pw_catalogue *catalogue, const char *name, pw_served_model *m, pw_error *error) {
    const pw_table *table;
    size_t row = 0;
    double replicated;
    PW_TRY(row_named(catalogue, PW_TABLE_SERVED_MODELS, name, &table, &row, error));
    PW_TRY(pw_table_amount_of(table, row, "dense", &m->dense, error));
    PW_TRY(pw_table_amount_of(table, row, "routed", &m->routed, error));
    PW_TRY(pw_table_amount_of(table, row, "experts", &m->experts, error));
    PW_TRY(pw_table_amount_of(table, row, "experts_per_token", &m->experts_per_token, error));
    PW_TRY(pw_table_amount_of(table, row, "cache", &m->cache_bytes, error));
    PW_TRY(pw_table_amount_of(table, row, "cache_replicated", &replicated, error));
    PW_TRY(pw_table_amount_of(table, row, "state", &m->state_bytes, error));
    PW_TRY(pw_table_amount_of(table, row, "weight", &m->weight_bytes, error));
    m->dense *= 1e9; /* the columns count in thousand millions */
    m->routed *= 1e9;
    m->cache_replicated = replicated > 0;
    if (m->routed > 0 && !(m->experts >= 1 && m->experts_per_token >= 1 && m->experts_per_token <= m->experts))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL,
                       "routed parameters need 1 <= experts_per_token <= experts");
    return PW_OK;
}

pw_status pw_served_request_read(const pw_catalogue *catalogue, const char *name, double *context, double *prompt, pw_error *error) {
    const pw_table *table;
    size_t row = 0;
    PW_TRY(row_named(catalogue, PW_TABLE_SERVED_REQUESTS, name, &table, &row, error));
    PW_TRY(pw_table_amount_of(table, row, "context", context, error));
    return pw_table_amount_of(table, row, "prompt", prompt, error);
}

pw_status pw_decode_tiles_read(const pw_catalogue *catalogue, const char *arch, pw_decode_tiles *t, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_DECODE_TILES, &table, error));
    size_t row = 0;
    int own = pw_table_find_row(table, arch);
    if (own >= 0) row = (size_t)own;
    else PW_TRY(row_named(catalogue, PW_TABLE_DECODE_TILES, "*", &table, &row, error));
    PW_TRY(pw_table_amount_of(table, row, "dense", &t->dense, error));
    PW_TRY(pw_table_amount_of(table, row, "few_experts", &t->few_experts, error));
    PW_TRY(pw_table_amount_of(table, row, "experts", &t->experts, error));
    PW_TRY(pw_table_amount_of(table, row, "experts_8", &t->experts_8, error));
    return pw_table_amount_of(table, row, "attention", &t->attention, error);
}

pw_gpu_work pw_decode_work(const pw_served_model *m, const pw_decode_tiles *t, double batch, double gpus, double context,
                           double prompt, bool eight_bit) {
    pw_gpu_work work = {0};
    pw_precision weights = eight_bit ? PW_PRECISION_FP8 : PW_PRECISION_BF16;
    double cache = batch * context * m->cache_bytes / (m->cache_replicated ? 1 : gpus);
    double state = batch * m->state_bytes / gpus;
    double flops = 2 * m->dense * (fmax(batch, t->dense) + batch * prompt) / gpus, bytes = m->dense * m->weight_bytes / gpus;
    if (m->routed > 0) {
        double share = m->experts_per_token / m->experts;
        double hit = m->experts * (1 - pw_pow(1 - share, batch));
        double tile = eight_bit ? t->experts_8 : batch <= m->experts ? t->few_experts : t->experts;
        double rows = fmax(batch * (1 + prompt) * m->experts_per_token / hit, tile);
        flops += 2 * m->routed / m->experts * hit * rows / gpus;
        bytes += m->routed / m->experts * hit * m->weight_bytes / gpus;
    }
    work.tensor_flops[weights] += flops;
    work.tensor_flops[PW_PRECISION_BF16] += (cache + state) * t->attention;
    work.memory_bytes = bytes + cache + state;
    return work;
}

pw_status pw_activity_read(const pw_catalogue *catalogue, const char *name, pw_activity *a, pw_error *error) {
    const pw_table *table;
    size_t row = 0;
    PW_TRY(row_named(catalogue, PW_TABLE_ACTIVITIES, name, &table, &row, error));
    const char *precision = pw_table_text_of(table, row, "precision");
    int p = 0;
    while (p < PW_PRECISION_COUNT && strcmp(precision, pw_precision_names[p]) != 0) p++;
    if (p == PW_PRECISION_COUNT)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL, "unknown precision \"%s\"", precision);
    a->precision = (pw_precision)p;
    PW_TRY(pw_table_amount_of(table, row, "tensor", &a->tensor, error));
    PW_TRY(pw_table_amount_of(table, row, "memory", &a->memory, error));
    PW_TRY(pw_table_amount_of(table, row, "compute", &a->compute, error));
    PW_TRY(pw_table_amount_of(table, row, "gap", &a->gap, error));
    if (a->tensor <= most_of_peak && a->memory <= 1 && a->compute <= 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL, "shares are at most 1, of peak at most %g", most_of_peak);
}

pw_status pw_activity_load(const pw_activity *a, const pw_device *device, double gap_s, pw_gpu_load *load, pw_error *error) {
    double peak = device->peak_flops[a->precision];
    if (!(peak > 0) || !(device->memory_Bps > 0))
        return pw_fail(error, PW_UNSUPPORTED, NULL, device->line, NULL, "%s has no %s peak or no memory bandwidth in the catalogue",
                       device->name, pw_precision_names[a->precision]);
    *load = (pw_gpu_load){.span_s = 1 + gap_s, .compute_s = a->compute};
    load->work.busy_s = 1;
    load->work.tensor_flops[a->precision] = a->tensor * peak;
    load->work.memory_bytes = a->memory * device->memory_Bps;
    return PW_OK;
}
