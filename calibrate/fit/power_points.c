#include "calibrate/fit/power_points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/fit/measurements.h"
#include "sim/csv.h"

enum { TEXT = 96 };
enum { FAMILY, CATEGORY, DEVICE, TASK, METRIC, DTYPE, CONFIG, PROVENANCE, TEXTS };
static const char *const text_columns[TEXTS] = {"family", "category", "device", "task", "metric", "dtype", "config", "provenance"};
enum { GPUS, BATCH, CAP, DEFAULT_CAP, VALUE, NUMBERS };
static const char *const number_columns[NUMBERS] = {"n_gpus", "batch", "gpu_power_cap_w", "default_cap_w", "value"};

typedef struct cells {
    char text[TEXTS][TEXT];
    double number[NUMBERS];
} cells;

typedef struct side_row {
    char family[TEXT];
    bool check;
} side_row;

typedef struct reader {
    const pw_allocator *allocator;
    cells *rows;
    side_row *sides;
    size_t count, capacity, side_count, side_capacity;
} reader;

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the measurements"); }

static pw_status read_sides(reader *r, pw_csv *csv, pw_error *error) {
    int family, side;
    PW_TRY(pw_csv_column(csv, "family", &family, error));
    PW_TRY(pw_csv_column(csv, "side", &side, error));
    for (bool row;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        if (pw_grow(r->allocator, (void **)&r->sides, &r->side_capacity, r->side_count + 1, sizeof *r->sides)) return no_memory(error);
        side_row *to = &r->sides[r->side_count++];
        const char *text = pw_csv_text(csv, side);
        if (strcmp(text, "fit") && strcmp(text, "check")) return pw_csv_fail(csv, side, "write fit or check", error, "unknown side \"%s\"", text);
        snprintf(to->family, sizeof to->family, "%s", pw_csv_text(csv, family));
        to->check = !strcmp(text, "check");
    }
}

static pw_status read_rows(reader *r, pw_csv *csv, pw_error *error) {
    int texts[TEXTS], numbers[NUMBERS];
    for (int i = 0; i < TEXTS; i++) PW_TRY(pw_csv_column(csv, text_columns[i], &texts[i], error));
    for (int i = 0; i < NUMBERS; i++) PW_TRY(pw_csv_column(csv, number_columns[i], &numbers[i], error));
    for (bool row;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        if (pw_grow(r->allocator, (void **)&r->rows, &r->capacity, r->count + 1, sizeof *r->rows)) return no_memory(error);
        cells *to = &r->rows[r->count++];
        for (int i = 0; i < TEXTS; i++) snprintf(to->text[i], TEXT, "%s", pw_csv_text(csv, texts[i]));
        for (int i = 0; i < NUMBERS; i++) {
            to->number[i] = NAN;
            if (*pw_csv_text(csv, numbers[i])) PW_TRY(pw_csv_number(csv, numbers[i], &to->number[i], error));
        }
    }
}

/* Value of the same workload's row with another metric: of the same configuration, or at the default cap. NaN: none. */
static double related(const reader *r, const cells *of, const char *metric, bool at_default) {
    for (size_t i = 0; i < r->count; i++) {
        const cells *c = &r->rows[i];
        if (strcmp(c->text[METRIC], metric) || strcmp(c->text[FAMILY], of->text[FAMILY]) || strcmp(c->text[CONFIG], of->text[CONFIG])) continue;
        if (!at_default || c->number[CAP] == c->number[DEFAULT_CAP]) return c->number[VALUE];
    }
    return NAN;
}

static pw_status make(const reader *r, const pw_catalogue *catalogue, pw_fit_power_points *points, pw_error *error) {
    for (size_t i = 0; i < r->count; i++) {
        const cells *c = &r->rows[i];
        int side = -1;
        for (size_t s = 0; s < r->side_count; s++)
            if (!strcmp(r->sides[s].family, c->text[FAMILY])) side = r->sides[s].check;
        if (side < 0 || !strcmp(c->text[PROVENANCE], "MEMORY") || !(c->number[VALUE] > 0)) continue;
        pw_power_row row = {.category = c->text[CATEGORY], .device = c->text[DEVICE], .task = c->text[TASK], .metric = c->text[METRIC],
                            .dtype = c->text[DTYPE], .gpus = c->number[GPUS], .batch = c->number[BATCH], .cap_W = c->number[CAP],
                            .default_cap_W = c->number[DEFAULT_CAP]};
        row.throughput = related(r, c, "output_throughput", false);
        row.default_W = related(r, c, "mean_gpu_power", true);
        pw_fit_power_point made = {.measured = c->number[VALUE], .check = side == 1};
        bool known;
        char why[256];
        PW_TRY(pw_power_point_make(catalogue, &row, &made.point, &known, why, sizeof why, error));
        if (!known) continue;
        if (made.point.quantity == PW_POWER_BOARD_HZ) made.measured *= 1e6; /* the file counts in MHz */
        snprintf(made.task, sizeof made.task, "%s", c->text[TASK]);
        if (pw_grow(points->allocator, (void **)&points->points, &points->capacity, points->count + 1, sizeof *points->points)) return no_memory(error);
        points->points[points->count++] = made;
    }
    return PW_OK;
}

static pw_status read_file(reader *r, const char *folder, const char *name, pw_status (*read)(reader *, pw_csv *, pw_error *), pw_error *error) {
    char path[1024];
    pw_csv *csv;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    pw_status status = read(r, csv, error);
    pw_csv_close(csv);
    return status;
}

pw_status pw_fit_power_points_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_fit_power_points *points,
                                   pw_error *error) {
    *points = (pw_fit_power_points){.allocator = pw_allocator_default()};
    reader r = {.allocator = points->allocator};
    pw_status status = read_file(&r, split, "split-power.csv", read_sides, error);
    if (status == PW_OK) status = read_file(&r, data, "power-measured.csv", read_rows, error);
    if (status == PW_OK) status = make(&r, catalogue, points, error);
    pw_free(r.allocator, r.rows, r.capacity * sizeof *r.rows);
    pw_free(r.allocator, r.sides, r.side_capacity * sizeof *r.sides);
    if (status != PW_OK) pw_fit_power_points_free(points);
    return status;
}

static pw_status gpu_of(const pw_catalogue *catalogue, const pw_device *device, pw_fit_power_points *points, const pw_gpu **gpu,
                        pw_error *error) {
    for (size_t i = 0; i < points->gpu_count; i++)
        if (pw_gpu_device(points->gpus[i]) == device) {
            *gpu = points->gpus[i];
            return PW_OK;
        }
    if (pw_grow(points->allocator, (void **)&points->gpus, &points->gpu_capacity, points->gpu_count + 1, sizeof(pw_gpu *))) return no_memory(error);
    PW_TRY(pw_gpu_create(NULL, catalogue, device->name, &points->gpus[points->gpu_count], error));
    *gpu = points->gpus[points->gpu_count++];
    return PW_OK;
}

static pw_status add_loops(const pw_catalogue *catalogue, const pw_measurements *all, pw_fit_power_points *points, pw_error *error) {
    double average_s;
    PW_TRY(pw_kernel_loop_average(catalogue, &average_s, error));
    for (size_t i = 0; i < all->count; i++) {
        const pw_kernel_row *row = &all->rows[i];
        const pw_fit_group *group = &all->groups[row->group];
        if (!group->primary || !((row->loop_before + row->loop_timed) * row->seconds > 2 * average_s)) continue;
        pw_fit_power_point made = {.point = {.device = group->device}, .measured = row->seconds, .check = row->check,
                                   .loop = {row->loop_before, row->loop_timed, average_s}};
        made.kernel = (pw_kernel){.kind = PW_KERNEL_GEMM, .precision = group->precision, .gemm = {.batch = 1}};
        made.kernel.gemm.m = (int64_t)row->m;
        made.kernel.gemm.n = (int64_t)row->n;
        made.kernel.gemm.k = (int64_t)row->k;
        PW_TRY(gpu_of(catalogue, group->device, points, &made.gpu, error));
        snprintf(made.task, sizeof made.task, "multiply");
        if (pw_grow(points->allocator, (void **)&points->points, &points->capacity, points->count + 1, sizeof *points->points)) return no_memory(error);
        points->points[points->count++] = made;
    }
    return PW_OK;
}

pw_status pw_fit_power_points_add_loops(const pw_catalogue *catalogue, const char *data, const char *split, const char *stack,
                                        pw_fit_power_points *points, pw_error *error) {
    char rows[1024], sides[1024], loops[1024];
    pw_measurements all;
    snprintf(rows, sizeof rows, "%s/kernel-gemm.csv", data);
    snprintf(sides, sizeof sides, "%s/split-gemm.csv", split);
    snprintf(loops, sizeof loops, "%s/kernel-loops.csv", split);
    PW_TRY(pw_measurements_read_gemm(rows, sides, loops, stack, catalogue, &all, error));
    pw_status status = add_loops(catalogue, &all, points, error);
    pw_measurements_free(&all);
    return status;
}

double pw_fit_power_loop_s(const pw_gpu_power *model, const pw_fit_power_point *point) {
    pw_kernel_cost cost;
    if (pw_gpu_kernel_cost(point->gpu, &point->kernel, NULL, &cost, NULL) != PW_OK) return NAN;
    return pw_kernel_loop_mean_s(model, point->gpu, &point->kernel, &cost, &point->loop);
}

void pw_fit_power_points_free(pw_fit_power_points *points) {
    for (size_t i = 0; i < points->gpu_count; i++) pw_gpu_destroy(points->gpus[i]);
    pw_free(points->allocator, points->gpus, points->gpu_capacity * sizeof *points->gpus);
    pw_free(points->allocator, points->points, points->capacity * sizeof *points->points);
    *points = (pw_fit_power_points){0};
}
