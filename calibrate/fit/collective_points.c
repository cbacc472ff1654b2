#include "calibrate/fit/collective_points.h"

#include <stdio.h>
#include <string.h>

#include "sim/csv.h"

enum { FAMILIES = 512, FAMILY = 96 };

typedef struct sides {
    char family[FAMILIES][FAMILY], health[FAMILIES][24];
    bool check[FAMILIES];
    size_t count;
} sides;

static pw_status read_sides(pw_csv *csv, sides *s, pw_error *error) {
    int family, health, side;
    PW_TRY(pw_csv_column(csv, "family", &family, error));
    PW_TRY(pw_csv_column(csv, "health", &health, error));
    PW_TRY(pw_csv_column(csv, "side", &side, error));
    for (bool row;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        if (s->count == FAMILIES) return pw_csv_fail(csv, family, NULL, error, "more than %d families", FAMILIES);
        snprintf(s->family[s->count], sizeof s->family[0], "%s", pw_csv_text(csv, family));
        snprintf(s->health[s->count], sizeof s->health[0], "%s", pw_csv_text(csv, health));
        const char *text = pw_csv_text(csv, side);
        if (strcmp(text, "fit") && strcmp(text, "check")) return pw_csv_fail(csv, side, "write fit or check", error, "unknown side \"%s\"", text);
        s->check[s->count++] = !strcmp(text, "check");
    }
}

static int side_of(const sides *s, const char *family, const char *health) {
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->family[i], family) && !strcmp(s->health[i], health)) return s->check[i];
    return -1;
}

static pw_status read_points(pw_csv *csv, const sides *s, pw_collective_points *all, pw_error *error) {
    int family, health, collective, size, time, words[PW_BENCH_WORDS];
    PW_TRY(pw_csv_column(csv, "family", &family, error));
    PW_TRY(pw_csv_column(csv, "health", &health, error));
    PW_TRY(pw_csv_column(csv, "collective", &collective, error));
    PW_TRY(pw_csv_column(csv, "size_bytes", &size, error));
    PW_TRY(pw_csv_column(csv, "time_us", &time, error));
    for (int w = 0; w < PW_BENCH_WORDS; w++) PW_TRY(pw_csv_column(csv, pw_bench_columns[w], &words[w], error));
    for (bool row;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) return PW_OK;
        int side = side_of(s, pw_csv_text(csv, family), pw_csv_text(csv, health)), kind = pw_bench_kind(pw_csv_text(csv, collective));
        if (side < 0 || kind < 0) continue;
        const char *texts[PW_BENCH_WORDS];
        const pw_bench *bench;
        double microseconds;
        pw_collective_point point = {.kind = (pw_collective_kind)kind, .check = side == 1};
        for (int w = 0; w < PW_BENCH_WORDS; w++) texts[w] = pw_csv_text(csv, words[w]);
        PW_TRY(pw_benches_add(all->benches, texts, &bench, error));
        PW_TRY(pw_csv_number(csv, size, &point.bytes, error));
        PW_TRY(pw_csv_number(csv, time, &microseconds, error));
        if (*bench->why || !(microseconds > 0) || !(point.bytes > 0)) continue;
        point.bench = bench;
        point.seconds = microseconds * 1e-6;
        if (pw_grow(all->allocator, (void **)&all->points, &all->capacity, all->count + 1, sizeof *all->points))
            return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the measurements");
        all->points[all->count++] = point;
    }
}

static pw_status read_both(const char *data, const char *split, sides *s, pw_collective_points *points, pw_error *error) {
    char path[1024];
    pw_csv *csv;
    snprintf(path, sizeof path, "%s/split-collectives.csv", split);
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    pw_status status = read_sides(csv, s, error);
    pw_csv_close(csv);
    PW_TRY(status);
    snprintf(path, sizeof path, "%s/collectives-measured.csv", data);
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    status = read_points(csv, s, points, error);
    pw_csv_close(csv);
    return status;
}

pw_status pw_collective_points_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_collective_points *points,
                                    pw_error *error) {
    char path[1024];
    *points = (pw_collective_points){.allocator = pw_allocator_default()};
    snprintf(path, sizeof path, "%s/collective-systems.csv", split);
    PW_TRY(pw_benches_create(NULL, catalogue, path, &points->benches, error));
    sides *s = pw_alloc_zero(points->allocator, sizeof *s);
    pw_status status = s ? read_both(data, split, s, points, error) : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the split");
    if (s) pw_free(points->allocator, s, sizeof *s);
    if (status != PW_OK) pw_collective_points_free(points);
    return status;
}

void pw_collective_points_free(pw_collective_points *points) {
    pw_free(points->allocator, points->points, points->capacity * sizeof *points->points);
    pw_benches_destroy(points->benches);
    *points = (pw_collective_points){0};
}
