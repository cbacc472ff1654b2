/* The JSON report of nccl-tests (since 2.17). Booleans and NaN are strings in it, root too; a half that was not run is null or has
 * the time 0. A test that ended early leaves the report without its end: what is complete is read, after the brackets that
 * are open have been closed. `env` is not looked at. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/import/log_internal.h"
#include "sim/text.h"

enum { DEEPEST = 64 };

/* Where the last object or list ends that is complete, and what is open there. Strings are told from brackets, nothing else. */
static size_t last_complete(const char *text, size_t size, char open[DEEPEST], int *depth) {
    char stack[DEEPEST];
    size_t best = 0;
    int deep = 0;
    *depth = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"') {
            for (i++; i < size && text[i] != '"'; i++) i += text[i] == '\\';
        } else if (text[i] == '{' || text[i] == '[') {
            if (deep == DEEPEST) return 0;
            stack[deep++] = text[i] == '{' ? '}' : ']';
        } else if (text[i] == '}' || text[i] == ']') {
            if (!deep || stack[--deep] != text[i]) return 0;
            best = i + 1;
            *depth = deep;
            memcpy(open, stack, (size_t)deep);
        }
    }
    return best;
}

static pw_status load(log_builder *builder, const char *path, const char *text, size_t size, json_t **root, bool *cut) {
    json_error_t found, again;
    char open[DEEPEST];
    int depth;
    *cut = false;
    *root = json_loadb(text, size, JSON_DISABLE_EOF_CHECK, &found);
    if (*root) return PW_OK;
    size_t end = json_error_code(&found) == json_error_premature_end_of_input ? last_complete(text, size, open, &depth) : 0;
    if (end && depth) {
        char *mended = pw_alloc(NULL, end + (size_t)depth);
        if (!mended) return pw_fail(builder->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        memcpy(mended, text, end);
        for (int i = 0; i < depth; i++) mended[end + (size_t)i] = open[depth - 1 - i];
        *root = json_loadb(mended, end + (size_t)depth, 0, &again);
        pw_free(NULL, mended, end + (size_t)depth);
        *cut = true;
    }
    if (*root) return PW_OK;
    if (json_error_code(&found) == json_error_out_of_memory) return pw_fail(builder->error, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    return pw_fail(builder->error, PW_BAD_INPUT, path, found.line > 0 ? found.line : 0, NULL, "this is no JSON: %s", found.text);
}

/* A number, or a number in a string; "nan" and anything else: NaN. */
static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value), *end;
    double number;
    if (json_is_number(value)) return json_number_value(value);
    return text && pw_text_number(text + strspn(text, " "), &end, &number) && !*end ? number : (double)NAN;
}

static int64_t whole_of(const json_t *object, const char *key, int64_t fallback) {
    double value = number_of(object, key);
    return fabs(value) < 0x1p53 && value == floor(value) ? (int64_t)value : fallback;
}

static const char *text_of(log_builder *builder, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return log_copy(builder, text ? text : "", text ? strlen(text) : 0);
}

static bool is_true(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    return json_is_true(value) || (text && strcmp(text, "true") == 0);
}

static pw_log_half read_half(const json_t *row, const char *key, bool *cpu_time) {
    const json_t *half = json_object_get(row, key);
    pw_log_half read = log_no_half;
    if (!json_is_object(half)) return read;
    *cpu_time |= json_object_get(half, "cpu_time") != NULL;
    read.time_us = number_of(half, json_object_get(half, "cpu_time") ? "cpu_time" : "time");
    read.algbw_GBps = number_of(half, "alg_bw");
    read.busbw_GBps = number_of(half, "bus_bw");
    read.wrong = number_of(half, "nwrong");
    return read;
}

static pw_status read_rows(log_builder *builder, const json_t *results) {
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        pw_log_row row = {.size_bytes = whole_of(item, "size", -1),
                          .count = whole_of(item, "count", -1),
                          .type = text_of(builder, item, "type"),
                          .redop = text_of(builder, item, "redop"),
                          .root = whole_of(item, "root", PW_LOG_NO_ROOT),
                          .out_of_place = read_half(item, "out_of_place", &builder->table.cpu_time),
                          .in_place = read_half(item, "in_place", &builder->table.cpu_time)};
        if (!row.type || !row.redop) return PW_NO_MEMORY;
        if (row.size_bytes < 0 || row.count < 0) continue; /* cut off */
        PW_TRY(log_add_row(builder, &row));
    }
    return PW_OK;
}

/* Without MPI the report names the first GPU of the one process only. */
static pw_status read_devices(log_builder *builder, const json_t *config) {
    const json_t *devices = json_object_get(config, "devices");
    int64_t own = whole_of(config, "nthreads", 1) * whole_of(config, "ngpus", 1);
    bool one = json_array_size(devices) == 1 && own > 1 && own < 65536;
    size_t index;
    json_t *item;
    builder->table.gpus_per_process = own > 0 && own < 65536 ? (uint32_t)own : 0;
    json_array_foreach(devices, index, item) {
        const char *host = text_of(builder, item, "hostname"), *name = text_of(builder, item, "device_info");
        if (!host || !name) return PW_NO_MEMORY;
        for (int64_t i = 0; i < (one ? own : 1); i++)
            PW_TRY(log_add_device(builder, whole_of(item, "rank", 0) + i, whole_of(item, "group", 0), host, name));
    }
    return PW_OK;
}

static pw_status read_report(log_builder *builder, const char *path, const json_t *root, bool cut) {
    pw_log_table *table = &builder->table;
    const json_t *results = json_object_get(root, "results"), *bounds = json_object_get(root, "out_of_bounds");
    const json_t *average = json_object_get(root, "average_bus_bandwidth");
    const char *program = json_string_value(json_array_get(json_object_get(root, "args"), 0));
    int64_t version = whole_of(root, "nccl_version", 0);
    if (!json_is_array(results) && !(cut && json_object_get(root, "args")))
        return pw_fail(builder->error, PW_BAD_INPUT, path, 0, "it wants the file that nccl-tests writes with -J", "this JSON is no report of nccl-tests");
    log_new_test(builder);
    if (program) table->kind = log_kind_of_program(program);
    if (version >= 1000 && version < 1000000) {
        char text[32];
        log_version_text(version, text);
        if (!(table->library_version = log_copy(builder, text, strlen(text)))) return PW_NO_MEMORY;
    }
    PW_TRY(read_devices(builder, json_object_get(root, "config")));
    builder->open = true;
    PW_TRY(read_rows(builder, results));
    table->truncated = cut || !average;
    if (bounds) {
        table->out_of_bounds = whole_of(bounds, "count", -1);
        table->out_of_bounds_failed = !is_true(bounds, "okay");
    }
    table->average_busbw_GBps = number_of(average, "bandwidth");
    return log_end_table(builder);
}

pw_status log_read_json(log_builder *builder, const char *path, const char *text, size_t size) {
    json_t *root;
    bool cut;
    PW_TRY(load(builder, path, text, size, &root, &cut));
    pw_status status = read_report(builder, path, root, cut);
    json_decref(root);
    return status;
}
