/* Tables while they are read: devices counted, the collective found out, rows checked against themselves. */
#include "calibrate/import/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/import/log_internal.h"
#include "sim/file.h"

enum { LARGEST_LOG = 256 << 20 };

const char *const pw_log_kind_names[] = {
#define PW_LOG_KIND_NAME(NAME, name, factor) name,
    PW_LOG_KIND_MAP(PW_LOG_KIND_NAME)
#undef PW_LOG_KIND_NAME
    NULL};

const pw_log_half log_no_half = {NAN, NAN, NAN, NAN};

double pw_log_factor(pw_log_kind kind, uint32_t ranks) {
    double n = ranks ? ranks : 1;
    switch (kind) {
#define PW_LOG_KIND_FACTOR(NAME, name, factor) \
    case PW_LOG_##NAME: return factor;
        PW_LOG_KIND_MAP(PW_LOG_KIND_FACTOR)
#undef PW_LOG_KIND_FACTOR
    default: return (double)NAN;
    }
}

/* ---- Growing ---- */

void *log_more(pw_arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t element, pw_error *error) {
    if (count < *capacity) return array;
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = pw_arena_alloc(arena, wanted * element);
    if (!grown) {
        pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        return NULL;
    }
    if (count) memcpy(grown, array, count * element);
    *capacity = wanted;
    return grown;
}

const char *log_copy(log_builder *builder, const char *text, size_t length) {
    char *copy = pw_arena_alloc(builder->arena, length + 1);
    if (!copy) pw_fail(builder->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    else memcpy(copy, text, length);
    return copy;
}

void log_new_test(log_builder *builder) {
    builder->device_count = builder->row_capacity = 0;
    builder->open = false;
    builder->table = (pw_log_table){.kind = PW_LOG_UNKNOWN, .library = "nccl", .library_version = "", .tests_version = "",
                                    .gpu = "", .network = "", .out_of_bounds = -1, .average_busbw_GBps = NAN, .truncated = true};
}

pw_status log_add_device(log_builder *builder, int64_t rank, int64_t group, const char *host, const char *name) {
    log_device *devices = log_more(builder->arena, builder->devices, builder->device_count, &builder->device_capacity,
                                   sizeof *devices, builder->error);
    if (!devices) return PW_NO_MEMORY;
    builder->devices = devices;
    log_device *device = &devices[builder->device_count];
    *device = (log_device){rank, group, log_copy(builder, host, strlen(host)), log_copy(builder, name, strlen(name))};
    if (!device->host || !device->name) return PW_NO_MEMORY;
    builder->device_count++;
    return PW_OK;
}

pw_status log_add_row(log_builder *builder, const pw_log_row *row) {
    pw_log_table *table = &builder->table;
    pw_log_row *rows = log_more(builder->arena, table->rows, table->row_count, &builder->row_capacity, sizeof *rows, builder->error);
    if (!rows) return PW_NO_MEMORY;
    table->rows = rows;
    rows[table->row_count++] = *row;
    return PW_OK;
}

/* ---- Devices ---- */

static bool seen_host(const log_builder *builder, uint32_t before, const char *host, bool first_group) {
    for (uint32_t i = before; i-- > 0;)
        if ((!first_group || builder->devices[i].group == builder->devices[0].group) &&
            strcmp(builder->devices[i].host, host) == 0)
            return true;
    return false;
}

static bool seen_group(const log_builder *builder, uint32_t before, int64_t group) {
    for (uint32_t i = before; i-- > 0;)
        if (builder->devices[i].group == group) return true;
    return false;
}

static uint32_t on_host(const log_builder *builder, const char *host) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < builder->device_count; i++)
        count += builder->devices[i].group == builder->devices[0].group && strcmp(builder->devices[i].host, host) == 0;
    return count;
}

static void count_devices(log_builder *builder) {
    pw_log_table *table = &builder->table;
    const log_device *devices = builder->devices;
    uint32_t per_node = 0, zeros = 0;
    table->ranks = builder->device_count;
    table->hosts = table->groups = table->group_ranks = table->group_hosts = 0;
    for (uint32_t i = 0; i < builder->device_count; i++) {
        bool first_group = devices[i].group == devices[0].group;
        table->hosts += !seen_host(builder, i, devices[i].host, false);
        table->groups += !seen_group(builder, i, devices[i].group);
        table->group_ranks += first_group;
        zeros += first_group && devices[i].rank == 0;
        table->mixed_gpus |= strcmp(devices[i].name, devices[0].name) != 0;
        if (!first_group || seen_host(builder, i, devices[i].host, true)) continue;
        table->group_hosts++;
        uint32_t here = on_host(builder, devices[i].host);
        table->uneven |= per_node && here != per_node;
        per_node = here;
    }
    table->alone = zeros > 1;
    if (builder->device_count) table->gpu = devices[0].name;
    if (!table->groups) table->groups = 1;
}

/* ---- Which collective ---- */

pw_log_kind log_kind_of_program(const char *text) {
    for (const char *end = text; (end = strstr(end, "_perf")); end++) {
        const char *from = end;
        while (from > text && ((from[-1] >= 'a' && from[-1] <= 'z') || from[-1] == '_')) from--;
        for (int kind = 0; pw_log_kind_names[kind]; kind++)
            if (strlen(pw_log_kind_names[kind]) == (size_t)(end - from) &&
                strncmp(from, pw_log_kind_names[kind], (size_t)(end - from)) == 0)
                return (pw_log_kind)kind;
    }
    return PW_LOG_UNKNOWN;
}

static const pw_log_half *best_half(const pw_log_table *table, const pw_log_row **of) {
    const pw_log_half *best = NULL;
    for (uint32_t i = 0; i < table->row_count; i++) {
        const pw_log_half *halves[] = {&table->rows[i].out_of_place, &table->rows[i].in_place};
        for (int h = 0; h < 2; h++)
            if (halves[h]->algbw_GBps > (best ? best->algbw_GBps : 0) && halves[h]->busbw_GBps > 0) best = halves[h], *of = &table->rows[i];
    }
    return best;
}

/* Without a program's name: what root, redop and the factor leave possible. Two ranks have the factor 1 for all-reduce too. */
static pw_log_kind guess_kind(const pw_log_table *table) {
    const pw_log_row *row = NULL;
    const pw_log_half *half = best_half(table, &row);
    double n = table->group_ranks;
    if (!half || n < 2) return PW_LOG_UNKNOWN;
    double factor = half->busbw_GBps / half->algbw_GBps;
    bool reduces = row->redop && strcmp(row->redop, "none") != 0, rooted = row->root >= 0;
    bool is_one = fabs(factor - 1) < 0.01, is_share = fabs(factor * n / (n - 1) - 1) < 0.01, is_double = fabs(factor * n / (n - 1) - 2) < 0.02;
    if (rooted) return is_one ? reduces ? PW_LOG_REDUCE : PW_LOG_BROADCAST : PW_LOG_UNKNOWN; /* gather or scatter */
    if (reduces) return is_double ? PW_LOG_ALL_REDUCE : is_share ? PW_LOG_REDUCE_SCATTER : PW_LOG_UNKNOWN;
    if (is_one && n > 2) return PW_LOG_SENDRECV;
    bool unchecked_in_place = is_share && !isnan(row->out_of_place.wrong) && isnan(row->in_place.wrong);
    return unchecked_in_place ? PW_LOG_ALLTOALL : PW_LOG_UNKNOWN; /* all_gather, alltoall */
}

pw_status log_end_table(log_builder *builder) {
    pw_log_table *table = &builder->table, *tables;
    bool has_something = table->row_count || table->out_of_bounds >= 0;
    if (builder->open && has_something) {
        count_devices(builder);
        if (table->kind == PW_LOG_UNKNOWN) table->kind = guess_kind(table);
        tables = log_more(builder->arena, builder->log->tables, builder->log->count, &builder->table_capacity, sizeof *tables,
                          builder->error);
        if (!tables) return PW_NO_MEMORY;
        builder->log->tables = tables;
        tables[builder->log->count++] = *table;
    }
    table->rows = NULL;
    table->row_count = builder->row_capacity = 0;
    table->out_of_bounds = -1;
    table->out_of_bounds_failed = false;
    table->average_busbw_GBps = NAN;
    table->truncated = true;
    builder->open = false;
    return PW_OK;
}

const char *log_version_text(int64_t code, char text[32]) {
    int64_t major = code >= 10000 ? 10000 : 1000; /* since 2.9 two digits for the minor number */
    snprintf(text, 32, "%lld.%lld.%lld", (long long)(code / major), (long long)(code % major / 100), (long long)(code % 100));
    return text;
}

/* ---- Rows against themselves ---- */

/* Half a unit of the last digit that nccl-tests prints: columns are 6 or 7 wide, with at most two decimals. */
static double rounding(double value, double most) {
    double step = 0.005;
    for (double limit = most; value >= limit && step < 1e9; limit *= 10) step *= 10;
    return step;
}

bool pw_log_contradicts(const pw_log_table *table, const pw_log_row *row, const pw_log_half *half, char *text, size_t size) {
    double time = half->time_us, algbw = half->algbw_GBps, busbw = half->busbw_GBps;
    if (!(time > 0) || isnan(algbw) || row->size_bytes <= 0) return false;
    double own = (double)row->size_bytes / time / 1e3;
    double slack = rounding(algbw, 1000) * 1.01 + own * rounding(time, 100) / time + 1e-3 * own;
    if (!table->cpu_time && fabs(own - algbw) > slack) {
        snprintf(text, size, "%lld bytes in %.6g us are %.4g GB/s, but the row says algbw %.6g", (long long)row->size_bytes, time, own, algbw);
        return true;
    }
    double factor = pw_log_factor(table->kind, table->group_ranks);
    if (isnan(factor) || isnan(busbw) || table->group_ranks < 2) return false;
    slack = rounding(busbw, 1000) * 1.01 + factor * rounding(algbw, 1000) + 1e-3 * busbw;
    if (fabs(busbw - factor * algbw) <= slack) return false;
    snprintf(text, size, "busbw %.6g is %.4g times algbw, but %s of %u ranks has the factor %.4g", busbw, busbw / algbw,
             pw_log_kind_names[table->kind], table->group_ranks, factor);
    return true;
}

/* ---- A file ---- */

pw_status pw_log_read(const char *path, pw_arena *arena, pw_log *log, pw_error *error) {
    char *text;
    size_t size, first = 0;
    *log = (pw_log){0};
    log_builder builder = {.arena = arena, .error = error, .log = log};
    PW_TRY(pw_file_read(path, LARGEST_LOG, NULL, &text, &size, error));
    for (size_t i = 0; i < size; i++)
        if (!text[i]) text[i] = ' ';
    while (first < size && strchr(" \t\r\n\xEF\xBB\xBF", text[first])) first++;
    log_new_test(&builder);
    pw_status status = text[first] == '{' ? log_read_json(&builder, path, text, size) : log_read_text(&builder, path, text, size);
    pw_free(NULL, text, size + 1);
    if (status == PW_OK && !log->count)
        status = pw_fail(error, PW_BAD_INPUT, path, 0, "it wants the output of nccl-tests or rccl-tests, with its header of columns, or its JSON report",
                         "no table of a collective test found");
    return status;
}
