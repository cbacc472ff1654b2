#include "models/power/node_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/csv.h"

enum { SYSTEMS = PW_NODE_TYPES * 2, FAMILIES = 256, FAMILY = 160 };

/* What power-systems.csv and split-power.csv say. */
typedef struct words {
    struct { char name[PW_NODE_NAME]; int type; double cap_W, gpu_idle_W; bool shapes; pw_node_power *model; } system[SYSTEMS];
    int systems;
    char family[FAMILIES][FAMILY];
    bool check[FAMILIES];
    int families;
} words;

static pw_status too_many(const pw_csv *csv, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, pw_csv_file(csv), pw_csv_line(csv), NULL, "there are too many rows");
}

/* Index of a name in a list that grows; -1 when it is full. */
static int place_of(char list[][PW_NODE_NAME], int *count, int most, const char *name) {
    for (int i = 0; i < *count; i++)
        if (!strcmp(list[i], name)) return i;
    if (*count == most || strlen(name) >= PW_NODE_NAME) return -1;
    snprintf(list[*count], PW_NODE_NAME, "%s", name);
    return (*count)++;
}

static pw_status columns_of(pw_csv *csv, const char *const *names, int *columns, pw_error *error) {
    for (int i = 0; names[i]; i++) PW_TRY(pw_csv_column(csv, names[i], &columns[i], error));
    return PW_OK;
}

static pw_status read_number(pw_csv *csv, int column, double *value, pw_error *error) {
    *value = NAN;
    return *pw_csv_text(csv, column) ? pw_csv_number(csv, column, value, error) : PW_OK;
}

static pw_status read_system(const pw_catalogue *catalogue, pw_csv *csv, const int *c, words *w, pw_node_rows *rows, pw_error *error) {
    const pw_device *gpu;
    if (w->systems == SYSTEMS || strlen(pw_csv_text(csv, c[0])) >= PW_NODE_NAME) return too_many(csv, error);
    int at = w->systems;
    snprintf(w->system[at].name, PW_NODE_NAME, "%s", pw_csv_text(csv, c[0]));
    w->system[at].type = place_of(rows->type, &rows->types, PW_NODE_TYPES, pw_csv_text(csv, c[2]));
    if (w->system[at].type < 0) return too_many(csv, error);
    PW_TRY(read_number(csv, c[3], &w->system[at].cap_W, error));
    w->system[at].shapes = strcmp(pw_csv_text(csv, c[5]), "yes") == 0;
    PW_TRY(pw_node_power_create(rows->allocator, catalogue, pw_csv_text(csv, c[1]), &w->system[at].model, error));
    rows->model[rows->models++] = w->system[at].model;
    PW_TRY(pw_catalogue_device(catalogue, pw_node_power_gpu(w->system[at].model), &gpu, error));
    PW_TRY(read_number(csv, c[4], &w->system[at].gpu_idle_W, error));
    if (isnan(w->system[at].gpu_idle_W)) w->system[at].gpu_idle_W = gpu->idle_W;
    w->systems++;
    return PW_OK;
}

static pw_status read_family(pw_csv *csv, const int *c, words *w, pw_error *error) {
    if (w->families == FAMILIES || strlen(pw_csv_text(csv, c[0])) >= FAMILY) return too_many(csv, error);
    snprintf(w->family[w->families], FAMILY, "%s", pw_csv_text(csv, c[0]));
    w->check[w->families++] = strcmp(pw_csv_text(csv, c[1]), "fit") != 0;
    return PW_OK;
}

static pw_status read_measured(pw_csv *csv, const int *c, const words *w, pw_node_rows *rows, pw_error *error) {
    enum { FAMILY_AT, SYSTEM, TASK, CAP, METRIC, VALUE, SCOPE };
    const char *metric = pw_csv_text(csv, c[METRIC]);
    bool idle = !strcmp(metric, "idle_node_power");
    if ((!idle && strcmp(metric, "mean_node_power") != 0) || strcmp(pw_csv_text(csv, c[SCOPE]), "node_ac") != 0) return PW_OK;
    int system = 0, family = 0;
    while (system < w->systems && strcmp(w->system[system].name, pw_csv_text(csv, c[SYSTEM])) != 0) system++;
    if (system == w->systems) return PW_OK;
    while (family < w->families && strcmp(w->family[family], pw_csv_text(csv, c[FAMILY_AT])) != 0) family++;
    pw_node_row row = {.line = pw_csv_line(csv), .type = w->system[system].type, .task = -1, .model = w->system[system].model};
    row.check = family == w->families || w->check[family];
    row.shapes = w->system[system].shapes;
    double cap_W, gpus = pw_node_power_gpus(row.model);
    if (read_number(csv, c[CAP], &cap_W, NULL) != PW_OK || read_number(csv, c[VALUE], &row.measured_W, NULL) != PW_OK) return PW_OK;
    if (isnan(cap_W)) cap_W = w->system[system].cap_W;
    row.gpu_W = gpus * (idle ? w->system[system].gpu_idle_W : cap_W);
    if (!(row.gpu_W > 0) || !(row.measured_W > 0)) return PW_OK;
    if (!idle && (row.task = place_of(rows->task, &rows->tasks, PW_NODE_TASKS, pw_csv_text(csv, c[TASK]))) < 0) return too_many(csv, error);
    if (pw_grow(rows->allocator, (void **)&rows->rows, &rows->capacity, rows->count + 1, sizeof *rows->rows) != 0)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the measurements");
    rows->rows[rows->count++] = row;
    return PW_OK;
}

typedef enum part { SYSTEM_ROWS, FAMILY_ROWS, MEASURED_ROWS } part;

static pw_status read_file(const pw_catalogue *catalogue, const char *path, part which, words *w, pw_node_rows *rows, pw_error *error) {
    static const char *const names[][10] = {{"system", "server", "type", "cap_w", "gpu_idle_w", "shapes", NULL},
                                            {"family", "side", NULL},
                                            {"family", "system", "task", "gpu_power_cap_w", "metric", "value", "scope", NULL}};
    pw_csv *csv;
    int columns[10];
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    pw_status status = columns_of(csv, names[which], columns, error);
    for (bool row = true; status == PW_OK;) {
        status = pw_csv_next(csv, &row, error);
        if (status != PW_OK || !row) break;
        if (which == SYSTEM_ROWS) status = read_system(catalogue, csv, columns, w, rows, error);
        else if (which == FAMILY_ROWS) status = read_family(csv, columns, w, error);
        else status = read_measured(csv, columns, w, rows, error);
    }
    pw_csv_close(csv);
    return status;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* Tasks in order of name, so that results do not hang on the order of rows. */
static void sort_tasks(pw_node_rows *rows) {
    char before[PW_NODE_TASKS][PW_NODE_NAME];
    memcpy(before, rows->task, sizeof before);
    qsort(rows->task, (size_t)rows->tasks, PW_NODE_NAME, by_text);
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].task >= 0) rows->rows[i].task = place_of(rows->task, &rows->tasks, PW_NODE_TASKS, before[rows->rows[i].task]);
}

pw_status pw_node_rows_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_node_rows *rows, pw_error *error) {
    char path[1024];
    *rows = (pw_node_rows){.allocator = pw_allocator_default()};
    words *w = pw_alloc_zero(rows->allocator, sizeof *w);
    if (!w) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the measurements");
    snprintf(path, sizeof path, "%s/power-systems.csv", split);
    pw_status status = read_file(catalogue, path, SYSTEM_ROWS, w, rows, error);
    snprintf(path, sizeof path, "%s/split-power.csv", split);
    if (status == PW_OK) status = read_file(catalogue, path, FAMILY_ROWS, w, rows, error);
    if (status == PW_OK) status = read_file(catalogue, data, MEASURED_ROWS, w, rows, error);
    pw_free(rows->allocator, w, sizeof *w);
    if (status != PW_OK) pw_node_rows_free(rows);
    else sort_tasks(rows);
    return status;
}

void pw_node_rows_free(pw_node_rows *rows) {
    for (int i = 0; i < rows->models; i++) pw_node_power_destroy(rows->model[i]);
    if (rows->allocator) pw_free(rows->allocator, rows->rows, rows->capacity * sizeof *rows->rows);
    *rows = (pw_node_rows){0};
}
