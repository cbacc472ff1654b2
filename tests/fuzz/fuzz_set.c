/* --set PATH=VALUE over every field of the real kinds: the value is taken or refused with a reason, a refused one changes
 * nothing, the same text gives the same value, and what passes the checks has a memory account or a reason why not.
 *
 * One override a line. A first byte with its top bit set and the next name a path by number, so that the fuzzer need not spell it. */
#include <string.h>

#include "models/workload/train.h"
#include "scenarios/host/api.h"
#include "tests/fuzz/input.h"

enum { PATHS = 1024, PATH = 160, LINE = 256 };
static char paths[PATHS][PATH];
static size_t path_count;
static pw_catalogue *catalogue;
static const pw_device *device;

static void add_path(const char *path) {
    if (path_count == PATHS) abort(); /* raise PATHS */
    snprintf(paths[path_count++], PATH, "%s", path);
}

/* Kinds that hold their own kind end at some depth. */
static void list_paths(const pw_kind *kind, const char *parent, int depth) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        char path[PATH];
        const pw_kind *inner;
        snprintf(path, sizeof path, "%.60s%s%.60s", parent, *parent ? "." : "", field->name);
        if (field->type == PW_FIELD_LIST) {
            add_path(path);
            strcat(path, "[1]");
        }
        if (!pw_field_kind(field, 0)) add_path(path);
        for (size_t i = 0; depth < 4 && (inner = pw_field_kind(field, i)); i++) list_paths(inner, path, depth + 1);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    pw_error error = {0};
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    need(pw_catalogue_device(catalogue, "h100", &device, &error), &error);
    list_paths(&pw_scenario_kind, "", 0);
    return 0;
}

typedef struct whole { /* everything that a path of the scenario reaches */
    pw_scenario_desc scenario;
    pw_cluster_desc cluster;
    pw_train_desc job;
    pw_model_desc model;
} whole;

static void make(whole *it, pw_arena *arena) {
    pw_error error = {0};
    memset(it, 0, sizeof *it);
    need(pw_description_defaults(&pw_scenario_kind, &it->scenario, arena, &error), &error);
    need(pw_description_defaults(&pw_cluster_kind, &it->cluster, arena, &error), &error);
    need(pw_description_defaults(&pw_train_kind, &it->job, arena, &error), &error);
    need(pw_description_defaults(&pw_model_kind, &it->model, arena, &error), &error);
    need(pw_model_preset(catalogue, "llama3-8b", &it->model, arena, &error), &error);
    it->job.sequence = 8192;
    it->job.global_batch = 512;
    it->job.data_parallel = 1;
    it->job.model = &it->model;
    it->scenario.cluster = &it->cluster;
    it->scenario.job = (pw_one_of){&pw_train_kind, &it->job};
}

static bool is_equal(const pw_kind *kind, const void *a, const void *b);

/* Bytes of what the field leads to; texts by their letters. */
static bool is_equal_field(const pw_field *field, const void *a, const void *b) {
    const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset, *p, *q;
    size_t size = field->type == PW_FIELD_BOOL ? sizeof(bool) : field->type == PW_FIELD_CHOICE ? sizeof(int) : 8;
    const pw_kind *kind, *other;
    const void *record = pw_field_record(field, a, &kind), *second = pw_field_record(field, b, &other);
    if (record || second) return record && second && kind == other && is_equal(kind, record, second);
    if (pw_field_kind(field, 0) && field->type != PW_FIELD_LIST) return true;
    if (field->type == PW_FIELD_LIST) {
        pw_list one = pw_field_list(field, a), two = pw_field_list(field, b);
        if (one.count != two.count || !one.items != !two.items) return false;
        for (uint32_t i = 0; i < one.count; i++) {
            char name[PW_ITEM_NAME];
            pw_field item = pw_field_item(field, i, name);
            if (!is_equal_field(&item, pw_list_at(field, one, i), pw_list_at(field, two, i))) return false;
        }
        return true;
    }
    if (field->type != PW_FIELD_TEXT) return memcmp(x, y, size) == 0;
    memcpy(&p, x, sizeof p);
    memcpy(&q, y, sizeof q);
    return !p == !q && (!p || strcmp(p, q) == 0);
}

static bool is_equal(const pw_kind *kind, const void *a, const void *b) {
    for (const pw_field *field = kind->fields; field->name; field++)
        if (!is_equal_field(field, a, b)) return false;
    return true;
}

/* "PATH=VALUE", or two bytes, the first of 128 and more, and "VALUE"; false when it is neither. */
static bool split(const unsigned char *line, size_t size, char *path, char *value) {
    const unsigned char *sign = line;
    if (size > 1 && *line >= 128) { /* two bytes: a number below 32768 */
        memcpy(path, paths[((*line - 128u) * 256 + line[1]) % path_count], PATH);
        sign++;
    } else {
        sign = memchr(line, '=', size);
        if (!sign || sign - line >= PATH) return false;
        memcpy(path, line, (size_t)(sign - line));
        path[sign - line] = '\0';
    }
    size_t rest = size - (size_t)(sign - line) - 1; /* behind the sign, or behind the second byte */
    memcpy(value, sign + 1, rest);
    value[rest] = '\0';
    return true;
}

static void set_twice(pw_scenario_desc *one, pw_scenario_desc *two, const char *path, const char *value, pw_arena *arena) {
    pw_error error = {0};
    pw_status status = pw_description_set_path(&pw_scenario_kind, one, path, value, arena, &error);
    check_error(status, &error);
    if (status != PW_OK && !is_equal(&pw_scenario_kind, one, two)) abort();
    if (pw_description_set_path(&pw_scenario_kind, two, path, value, arena, &error) != status) abort();
    if (!is_equal(&pw_scenario_kind, one, two)) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    pw_arena *arena = pw_arena_create(NULL);
    if (!arena) abort();
    whole first, second;
    make(&first, arena);
    make(&second, arena);
    for (const unsigned char *end = data + size; data < end; data++) {
        const unsigned char *stop = memchr(data, '\n', (size_t)(end - data));
        if (!stop) stop = end;
        char path[PATH], value[LINE];
        if (stop - data < LINE && split(data, (size_t)(stop - data), path, value))
            set_twice(&first.scenario, &second.scenario, path, value, arena);
        data = stop;
    }
    pw_error error = {0};
    pw_status status = pw_description_check(&pw_scenario_kind, &first.scenario, "input", 1, &error);
    check_error(status, &error);
    if (status == PW_OK) {
        pw_memory_account account;
        status = pw_train_memory(catalogue, device, first.scenario.job.record, 0, &account, &error);
        check_error(status, &error);
        if (status == PW_OK && !(account.total > 0)) abort();
    }
    pw_arena_destroy(arena);
    return 0;
}
