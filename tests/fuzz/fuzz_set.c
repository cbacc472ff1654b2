/* --set PATH=VALUE over every field of the real kinds: the value is taken or refused with a reason, a refused one changes
 * nothing, the same text gives the same value, and what passes the checks has a memory account or a reason why not.
 *
 * One override a line. A first byte with its top bit set names a path by number, so that the fuzzer need not spell it. */
#include <string.h>

#include "scenarios/host/api.h"
#include "tests/fuzz/input.h"

enum { PATHS = 128, PATH = 128, LINE = 256 };
static char paths[PATHS][PATH];
static size_t path_count;
static pw_catalogue *catalogue;
static const pw_device *device;

static void list_paths(const pw_kind *kind, const char *parent) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        char path[PATH];
        snprintf(path, sizeof path, "%.60s%s%.60s", parent, *parent ? "." : "", field->name);
        if (field->record) list_paths(field->record, path);
        else if (path_count < PATHS) memcpy(paths[path_count++], path, sizeof path);
        else abort(); /* raise PATHS */
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    pw_error error = {0};
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    need(pw_catalogue_device(catalogue, "h100", &device, &error), &error);
    list_paths(&pw_scenario_kind, "");
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
    it->scenario.job = &it->job;
}

/* Bytes of the structs that pointers of the scenario lead to; texts by their letters. */
static bool is_equal(const pw_kind *kind, const void *a, const void *b) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
        const void *p, *q;
        size_t size = field->type == PW_FIELD_BOOL ? sizeof(bool) : field->type == PW_FIELD_CHOICE ? sizeof(int) : 8;
        switch (field->type) {
        case PW_FIELD_RECORD:
            if (!is_equal(field->record, x, y)) return false;
            break;
        case PW_FIELD_TEXT:
        case PW_FIELD_POINTER:
            memcpy(&p, x, sizeof p);
            memcpy(&q, y, sizeof q);
            if (!p != !q) return false;
            if (!p) break;
            if (field->type == PW_FIELD_TEXT ? strcmp(p, q) != 0 : !is_equal(field->record, p, q)) return false;
            break;
        default:
            if (memcmp(x, y, size) != 0) return false;
        }
    }
    return true;
}

/* "PATH=VALUE", or one byte of 128 and more and "VALUE"; false when it is neither. */
static bool split(const unsigned char *line, size_t size, char *path, char *value) {
    const unsigned char *sign = line;
    if (size && *line >= 128) {
        memcpy(path, paths[(*line - 128u) % path_count], PATH);
    } else {
        sign = memchr(line, '=', size);
        if (!sign || sign - line >= PATH) return false;
        memcpy(path, line, (size_t)(sign - line));
        path[sign - line] = '\0';
    }
    size_t rest = size - (size_t)(sign - line) - 1;
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
        status = pw_train_memory(catalogue, device, first.scenario.job, 0, &account, &error);
        check_error(status, &error);
        if (status == PW_OK && !(account.total > 0)) abort();
    }
    pw_arena_destroy(arena);
    return 0;
}
