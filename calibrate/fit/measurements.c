#include "calibrate/fit/measurements.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/kernel_loop.h"
#include "sim/csv.h"

enum { KEYS = 3, LOOPS = 16 };

typedef struct sides {
    int64_t (*keys)[KEYS];
    bool *check;
    size_t count, key_capacity, check_capacity;
} sides;

static void sides_free(sides *s, const pw_allocator *allocator) {
    pw_free(allocator, s->keys, s->key_capacity * sizeof *s->keys);
    pw_free(allocator, s->check, s->check_capacity * sizeof *s->check);
}

static pw_status out_of_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the measurements");
}

static pw_status read_sides_rows(pw_csv *csv, const char *const *columns, int keys, sides *s, const pw_allocator *allocator,
                                 pw_error *error) {
    int column[KEYS], side;
    for (int i = 0; i < keys; i++) PW_TRY(pw_csv_column(csv, columns[i], &column[i], error));
    PW_TRY(pw_csv_column(csv, "side", &side, error));
    for (bool row;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        if (pw_grow(allocator, (void **)&s->keys, &s->key_capacity, s->count + 1, sizeof *s->keys) ||
            pw_grow(allocator, (void **)&s->check, &s->check_capacity, s->count + 1, sizeof *s->check))
            return out_of_memory(error);
        for (int i = 0; i < KEYS; i++) s->keys[s->count][i] = 0;
        for (int i = 0; i < keys; i++) PW_TRY(pw_csv_integer(csv, column[i], &s->keys[s->count][i], error));
        const char *text = pw_csv_text(csv, side);
        if (strcmp(text, "fit") && strcmp(text, "check"))
            return pw_csv_fail(csv, side, "write fit or check", error, "unknown side \"%s\"", text);
        s->check[s->count++] = !strcmp(text, "check");
    }
}

static pw_status read_sides(const char *file, const char *const *columns, int keys, sides *s, const pw_allocator *allocator,
                            pw_error *error) {
    pw_csv *csv;
    PW_TRY(pw_csv_open(file, NULL, allocator, &csv, error));
    pw_status status = read_sides_rows(csv, columns, keys, s, allocator, error);
    pw_csv_close(csv);
    return status;
}

/* The group of a row; made on first sight. SIZE_MAX: the catalogue lacks the device. */
static pw_status group_of(pw_measurements *all, const pw_csv *csv, int gpu, int stack, int dtype, const char *primary,
                          const pw_catalogue *catalogue, size_t *index, pw_error *error) {
    const char *gpu_text = pw_csv_text(csv, gpu), *stack_text = pw_csv_text(csv, stack), *type = pw_csv_text(csv, dtype);
    int precision = 0;
    while (pw_precision_names[precision] && strcmp(pw_precision_names[precision], type)) precision++;
    if (!pw_precision_names[precision]) return pw_csv_fail(csv, dtype, NULL, error, "unknown precision \"%s\"", type);
    for (size_t i = 0; i < all->group_count; i++)
        if ((int)all->groups[i].precision == precision && !strcmp(all->groups[i].gpu, gpu_text) &&
            !strcmp(all->groups[i].stack, stack_text)) {
            *index = i;
            return PW_OK;
        }
    const pw_device *device;
    *index = SIZE_MAX;
    if (pw_catalogue_device(catalogue, gpu_text, &device, NULL) != PW_OK) return PW_OK;
    if (!(device->peak_flops[precision] > 0)) return PW_OK;
    if (pw_grow(all->allocator, (void **)&all->groups, &all->group_capacity, all->group_count + 1, sizeof *all->groups))
        return out_of_memory(error);
    pw_fit_group *group = &all->groups[all->group_count];
    *group = (pw_fit_group){.device = device, .precision = (pw_precision)precision,
                            .primary = !strncmp(stack_text, primary, strlen(primary))};
    snprintf(group->gpu, sizeof group->gpu, "%s", gpu_text);
    snprintf(group->stack, sizeof group->stack, "%s", stack_text);
    *index = all->group_count++;
    return PW_OK;
}

static pw_status add_row(pw_measurements *all, const pw_kernel_row *row, pw_error *error) {
    if (pw_grow(all->allocator, (void **)&all->rows, &all->capacity, all->count + 1, sizeof *all->rows))
        return out_of_memory(error);
    all->rows[all->count++] = *row;
    all->groups[row->group].rows++;
    return PW_OK;
}

/* Puts rows of a group together, in file order. */
static pw_status gather_groups(pw_measurements *all, pw_error *error) {
    if (all->count == 0) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "there is no usable row among the measurements");
    pw_kernel_row *sorted = pw_alloc(all->allocator, all->capacity * sizeof *sorted);
    if (!sorted) return out_of_memory(error);
    size_t next = 0;
    for (size_t g = 0; g < all->group_count; g++) {
        all->groups[g].first = next;
        for (size_t i = 0; i < all->count; i++)
            if (all->rows[i].group == g) sorted[next++] = all->rows[i];
    }
    pw_free(all->allocator, all->rows, all->capacity * sizeof *all->rows);
    all->rows = sorted;
    return PW_OK;
}

static pw_status side_of(const sides *s, const int64_t *keys, int count, const pw_csv *csv, bool *check, pw_error *error) {
    for (size_t i = 0; i < s->count; i++)
        if (!memcmp(s->keys[i], keys, (size_t)count * sizeof *keys)) {
            *check = s->check[i];
            return PW_OK;
        }
    return pw_csv_fail(csv, -1, "the split file must name every family", error, "no side for this row's family");
}

static pw_status read_positive(const pw_csv *csv, int column, double *value, pw_error *error) {
    PW_TRY(pw_csv_number(csv, column, value, error));
    return *value > 0 ? PW_OK : pw_csv_fail(csv, column, NULL, error, "\"%s\" is not above 0", pw_csv_text(csv, column));
}

/* Launches without a pause of the rows of each stack and GPU; the first row that fits counts. */
typedef struct loops {
    struct {
        char stack[32], gpu[64];
        double before, timed; /* NaN: not known */
    } rows[LOOPS];
    size_t count;
    double average_s; /* of the controller that holds a cap */
} loops;

static pw_status read_launches(const pw_csv *csv, int column, double *launches, pw_error *error) {
    *launches = NAN;
    return *pw_csv_text(csv, column) ? read_positive(csv, column, launches, error) : PW_OK;
}

static pw_status read_loop_rows(pw_csv *csv, loops *l, pw_error *error) {
    int stack, gpu, before, timed;
    PW_TRY(pw_csv_column(csv, "stack", &stack, error));
    PW_TRY(pw_csv_column(csv, "gpu", &gpu, error));
    PW_TRY(pw_csv_column(csv, "gemm_before", &before, error));
    PW_TRY(pw_csv_column(csv, "gemm_timed", &timed, error));
    for (bool more;;) {
        PW_TRY(pw_csv_next(csv, &more, error));
        if (!more) return PW_OK;
        if (l->count == LOOPS) return pw_csv_fail(csv, stack, NULL, error, "more than %d stacks", LOOPS);
        PW_TRY(read_launches(csv, before, &l->rows[l->count].before, error));
        PW_TRY(read_launches(csv, timed, &l->rows[l->count].timed, error));
        snprintf(l->rows[l->count].stack, sizeof l->rows->stack, "%s", pw_csv_text(csv, stack));
        snprintf(l->rows[l->count].gpu, sizeof l->rows->gpu, "%s", pw_csv_text(csv, gpu));
        l->count++;
    }
}

static pw_status read_loops(const char *file, const pw_catalogue *catalogue, loops *l, const pw_allocator *allocator, pw_error *error) {
    *l = (loops){0};
    PW_TRY(pw_kernel_loop_average(catalogue, &l->average_s, error));
    pw_csv *csv;
    PW_TRY(pw_csv_open(file, NULL, allocator, &csv, error));
    pw_status status = read_loop_rows(csv, l, error);
    pw_csv_close(csv);
    return status;
}

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* Half a time constant moves the average by 40 % of the way from rest: no device's multiply gets to its cap by that. */
static void set_loop(const loops *l, const pw_fit_group *group, pw_kernel_row *row) {
    for (size_t i = 0; i < l->count; i++) {
        if (!begins(group->stack, l->rows[i].stack) || !begins(group->gpu, l->rows[i].gpu)) continue;
        if (isnan(l->rows[i].before) || isnan(l->rows[i].timed)) return;
        row->loop_before = l->rows[i].before;
        row->loop_timed = l->rows[i].timed;
        row->throttled = (row->loop_before + row->loop_timed) * row->seconds > 0.5 * l->average_s;
        return;
    }
}

static pw_status read_gemm_rows(pw_csv *csv, const sides *s, const loops *l, const char *primary, const pw_catalogue *catalogue,
                                pw_measurements *all, pw_error *error) {
    static const char *const names[] = {"gpu", "stack", "dtype", "m", "n", "k", "latency_us"};
    int column[7];
    for (int i = 0; i < 7; i++) PW_TRY(pw_csv_column(csv, names[i], &column[i], error));
    for (bool more;;) {
        PW_TRY(pw_csv_next(csv, &more, error));
        if (!more) return PW_OK;
        pw_kernel_row row = {0};
        int64_t keys[2];
        PW_TRY(group_of(all, csv, column[0], column[1], column[2], primary, catalogue, &row.group, error));
        if (row.group == SIZE_MAX) {
            all->skipped++;
            continue;
        }
        PW_TRY(read_positive(csv, column[3], &row.m, error));
        PW_TRY(read_positive(csv, column[4], &row.n, error));
        PW_TRY(read_positive(csv, column[5], &row.k, error));
        PW_TRY(read_positive(csv, column[6], &row.seconds, error));
        row.seconds *= 1e-6;
        PW_TRY(pw_csv_integer(csv, column[4], &keys[0], error));
        PW_TRY(pw_csv_integer(csv, column[5], &keys[1], error));
        PW_TRY(side_of(s, keys, 2, csv, &row.check, error));
        const pw_fit_group *group = &all->groups[row.group];
        double bytes = pw_precision_bytes(group->precision) * (row.m + row.n) * row.k + 2 * row.m * row.n;
        row.cached = bytes > group->device->memory_Bps * row.seconds;
        set_loop(l, group, &row);
        PW_TRY(add_row(all, &row, error));
    }
}

pw_status pw_measurements_read_gemm(const char *file, const char *split, const char *loop, const char *primary,
                                    const pw_catalogue *catalogue, pw_measurements *all, pw_error *error) {
    static const char *const keys[] = {"n", "k"};
    sides s = {0};
    loops l;
    pw_csv *csv = NULL;
    *all = (pw_measurements){.allocator = pw_allocator_default()};
    PW_TRY(read_loops(loop, catalogue, &l, all->allocator, error));
    pw_status status = read_sides(split, keys, 2, &s, all->allocator, error);
    if (status == PW_OK) status = pw_csv_open(file, NULL, all->allocator, &csv, error);
    if (status == PW_OK) status = read_gemm_rows(csv, &s, &l, primary, catalogue, all, error);
    if (status == PW_OK) status = gather_groups(all, error);
    pw_csv_close(csv);
    sides_free(&s, all->allocator);
    if (status != PW_OK) pw_measurements_free(all);
    return status;
}

static pw_status read_attention_rows(pw_csv *csv, const sides *s, const char *primary, const pw_catalogue *catalogue,
                                     pw_measurements *all, pw_error *error) {
    static const char *const names[] = {"gpu", "stack", "dtype", "pass", "batch", "seq", "heads", "kv_heads", "head_dim",
                                        "latency_us"};
    int column[10];
    for (int i = 0; i < 10; i++) PW_TRY(pw_csv_column(csv, names[i], &column[i], error));
    for (bool more;;) {
        PW_TRY(pw_csv_next(csv, &more, error));
        if (!more) return PW_OK;
        pw_kernel_row row = {.causal = true, .forward = true};
        int64_t keys[3];
        PW_TRY(group_of(all, csv, column[0], column[1], column[2], primary, catalogue, &row.group, error));
        if (row.group == SIZE_MAX) {
            all->skipped++;
            continue;
        }
        if (strcmp(pw_csv_text(csv, column[3]), "forward-causal"))
            return pw_csv_fail(csv, column[3], "this file holds forward-causal rows", error, "unknown pass \"%s\"",
                               pw_csv_text(csv, column[3]));
        double *value[] = {&row.batch, &row.queries, &row.heads, &row.kv_heads, &row.head_dim, &row.seconds};
        for (int i = 0; i < 6; i++) PW_TRY(read_positive(csv, column[4 + i], value[i], error));
        row.keys = row.queries;
        row.seconds *= 1e-6;
        for (int i = 0; i < 3; i++) PW_TRY(pw_csv_integer(csv, column[6 + i], &keys[i], error));
        PW_TRY(side_of(s, keys, 3, csv, &row.check, error));
        PW_TRY(add_row(all, &row, error));
    }
}

pw_status pw_measurements_read_attention(const char *file, const char *split, const char *primary,
                                         const pw_catalogue *catalogue, pw_measurements *all, pw_error *error) {
    static const char *const keys[] = {"heads", "kv_heads", "head_dim"};
    sides s = {0};
    pw_csv *csv = NULL;
    *all = (pw_measurements){.allocator = pw_allocator_default()};
    pw_status status = read_sides(split, keys, 3, &s, all->allocator, error);
    if (status == PW_OK) status = pw_csv_open(file, NULL, all->allocator, &csv, error);
    if (status == PW_OK) status = read_attention_rows(csv, &s, primary, catalogue, all, error);
    if (status == PW_OK) status = gather_groups(all, error);
    pw_csv_close(csv);
    sides_free(&s, all->allocator);
    if (status != PW_OK) pw_measurements_free(all);
    return status;
}

static pw_status read_published_rows(pw_csv *csv, const pw_catalogue *catalogue, pw_measurements *all, pw_error *error) {
    static const char *const names[] = {"gpu", "stack", "dtype", "pass", "batch", "seq", "heads", "head_dim", "tflops"};
    int column[9];
    for (int i = 0; i < 9; i++) PW_TRY(pw_csv_column(csv, names[i], &column[i], error));
    for (bool more;;) {
        PW_TRY(pw_csv_next(csv, &more, error));
        if (!more) return PW_OK;
        pw_kernel_row row = {.backward = true};
        double tflops;
        PW_TRY(group_of(all, csv, column[0], column[1], column[2], "", catalogue, &row.group, error));
        if (row.group == SIZE_MAX) {
            all->skipped++;
            continue;
        }
        const char *pass = pw_csv_text(csv, column[3]), *mask = strrchr(pass, '-');
        row.forward = !strncmp(pass, "forward+backward-", 17);
        row.causal = mask && !strcmp(mask, "-causal");
        if ((!row.forward && strncmp(pass, "backward-", 9)) || (!row.causal && (!mask || strcmp(mask, "-full"))))
            return pw_csv_fail(csv, column[3], "write backward or forward+backward, then -full or -causal", error,
                               "unknown pass \"%s\"", pass);
        double *value[] = {&row.batch, &row.queries, &row.heads, &row.head_dim, &tflops};
        for (int i = 0; i < 5; i++) PW_TRY(read_positive(csv, column[4 + i], value[i], error));
        row.keys = row.queries;
        row.kv_heads = row.heads;
        double forward = 4 * row.batch * row.heads * row.queries * row.queries * row.head_dim / (row.causal ? 2 : 1);
        row.seconds = forward * (row.forward ? 3.5 : 2.5) / (tflops * 1e12);
        PW_TRY(add_row(all, &row, error));
    }
}

pw_status pw_measurements_read_published_attention(const char *file, const pw_catalogue *catalogue, pw_measurements *all,
                                                   pw_error *error) {
    pw_csv *csv = NULL;
    *all = (pw_measurements){.allocator = pw_allocator_default()};
    pw_status status = pw_csv_open(file, NULL, all->allocator, &csv, error);
    if (status == PW_OK) status = read_published_rows(csv, catalogue, all, error);
    if (status == PW_OK) status = gather_groups(all, error);
    pw_csv_close(csv);
    if (status != PW_OK) pw_measurements_free(all);
    return status;
}

void pw_measurements_free(pw_measurements *all) {
    if (!all->allocator) return;
    pw_free(all->allocator, all->rows, all->capacity * sizeof *all->rows);
    pw_free(all->allocator, all->groups, all->group_capacity * sizeof *all->groups);
    *all = (pw_measurements){0};
}
