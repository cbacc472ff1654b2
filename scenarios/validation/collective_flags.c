#include "scenarios/validation/collective_flags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/collective_row.h"

const char *const pw_flag_measure_names[] = {"slow", "falls", "uneven", NULL};

static const double FALLS_FROM = 1e6, SLOW_FROM = 64e6, UNEVEN_FROM = 256e6; /* bytes */
enum { SLOW_SIZES = 6, SLOW_SMALL_SIZES = 2, UNEVEN_SIZES = 3 };

/* ---- Sizes of a table ---- */

typedef struct point {
    double bytes, measured, ratio; /* ratio of measured to predicted; NaN: no prediction */
} point;

static int by_size(const void *a, const void *b) {
    const point *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return (x->measured > y->measured) - (x->measured < y->measured);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count) {
    if (!count) return (double)NAN;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Sorts by size and leaves one point per size, with the middle of its repeats. */
static uint32_t merge_repeats(point *points, uint32_t count) {
    uint32_t kept = 0;
    qsort(points, count, sizeof *points, by_size);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && points[end].bytes == points[i].bytes;) end++;
        points[kept++] = points[i + (end - i - 1) / 2];
    }
    return kept;
}

/* Ratios of the largest sizes from `from` bytes on, at most `most`; scratch has room for all. */
static uint32_t large_ratios(const point *points, uint32_t count, double from, uint32_t most, double *scratch) {
    uint32_t found = 0;
    for (uint32_t i = count; i-- > 0 && found < most && points[i].bytes >= from;)
        if (!isnan(points[i].ratio)) scratch[found++] = points[i].ratio;
    return found;
}

static void measure(const point *points, uint32_t count, double *scratch, double values[PW_FLAG_MEASURE_COUNT]) {
    uint32_t found = large_ratios(points, count, SLOW_FROM, SLOW_SIZES, scratch);
    if (!found) found = large_ratios(points, count, FALLS_FROM, SLOW_SMALL_SIZES, scratch);
    values[PW_FLAG_SLOW] = median(scratch, found);
    double least = NAN, falls = NAN;
    for (uint32_t i = count; i-- > 0 && points[i].bytes >= FALLS_FROM;) {
        if (!isnan(least)) falls = fmax(isnan(falls) ? 0 : falls, points[i].measured / least);
        least = isnan(least) ? points[i].measured : fmin(least, points[i].measured);
    }
    values[PW_FLAG_FALLS] = falls;
    found = large_ratios(points, count, UNEVEN_FROM, count, scratch);
    values[PW_FLAG_UNEVEN] = NAN;
    if (found < UNEVEN_SIZES) return;
    double middle = median(scratch, found); /* sorts them */
    values[PW_FLAG_UNEVEN] = scratch[found - 1] / middle;
}

/* ---- Limits ---- */

typedef struct place {
    bool several_nodes, scaleup;
    const char *inter;
} place;

static bool is_for(const pw_table *table, size_t row, const place *at) {
    const char *nodes = pw_table_text_of(table, row, "nodes"), *scaleup = pw_table_text_of(table, row, "scaleup");
    const char *inter = pw_table_text_of(table, row, "inter");
    return (!*nodes || (strcmp(nodes, "several") == 0) == at->several_nodes) && (!*scaleup || (strcmp(scaleup, "yes") == 0) == at->scaleup) &&
           (!*inter || strstr(at->inter, inter));
}

/* The first row of the measure whose limits the value is in. */
static void raise(const pw_table *table, pw_flag_measure kind, const place *at, pw_diagnosis *of) {
    double value = of->values[kind];
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double from = pw_table_number_of(table, row, "from"), to = pw_table_number_of(table, row, "to");
        if (strcmp(pw_table_text_of(table, row, "measure"), pw_flag_measure_names[kind]) != 0 || !is_for(table, row, at)) continue;
        if (!(value >= from) || value >= to) continue; /* an empty limit is NaN, which nothing reaches */
        of->flags[of->flag_count++] = (pw_flag){pw_table_text_at(table, row, 0), pw_table_text_of(table, row, "text"), value};
        return;
    }
}

static pw_status check_limits(const pw_table *table, pw_error *error) {
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const char *kind = pw_table_text_of(table, row, "measure");
        bool known = false;
        for (int i = 0; pw_flag_measure_names[i]; i++) known |= strcmp(kind, pw_flag_measure_names[i]) == 0;
        if (!known)
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "it is slow, falls or uneven", "unknown measure '%s'", kind);
        if (isnan(pw_table_number_of(table, row, "from")))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL, "a flag needs a limit 'from'");
    }
    return PW_OK;
}

/* ---- Tables of a file ---- */

typedef struct doctor {
    const pw_catalogue *catalogue;
    const pw_table *limits;
    pw_measured input, split, health_split;
    pw_benches *benches;
    point *points;
    double *scratch;
    pw_arena *arena;
    pw_error *error;
} doctor;

static const char *side_of(const doctor *d, uint32_t row, const char *health) {
    const char *side = pw_validation_side(&d->split, &d->input, row);
    return *side || !*health ? side : pw_validation_side(&d->health_split, &d->input, row);
}

static pw_status diagnose_table(const doctor *d, const uint32_t *rows, uint32_t count, pw_diagnosis *of) {
    uint32_t found = 0;
    const char *health = pw_measured_text(&d->input, rows[0], "health");
    place at = {.inter = pw_measured_text(&d->input, rows[0], "inter")};
    *of = (pw_diagnosis){.table_id = pw_measured_text(&d->input, rows[0], "table_id"), .health = health, .side = side_of(d, rows[0], health),
                         .line = d->input.lines[rows[0]], .rows = count};
    for (uint32_t i = 0; i < count; i++) {
        collective_row row;
        pw_prediction prediction = {0};
        double predicted = NAN;
        pw_error failure = {0};
        PW_TRY(collective_row_of(d->benches, &d->input, rows[i], &row, &prediction, d->error));
        if (!(row.bytes > 0) || !(row.measured_s > 0)) continue;
        if (!row.bench) snprintf(of->why, sizeof of->why, "%s", prediction.why);
        else {
            int64_t nodes;
            PW_TRY(pw_measured_integer(&d->input, rows[i], "nodes", 1, &nodes, d->error));
            at.scaleup = pw_cluster_scaleup_Bps(row.bench->cluster) > 0;
            at.several_nodes = nodes > 1;
            if (pw_bench_time(row.bench, row.kind, row.bytes, &predicted, &failure) != PW_OK) {
                if (failure.status == PW_NO_MEMORY) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
                snprintf(of->why, sizeof of->why, "%.390s", failure.what);
                predicted = NAN;
            }
        }
        d->points[found++] = (point){row.bytes, row.measured_s, row.measured_s / predicted};
    }
    found = merge_repeats(d->points, found);
    measure(d->points, found, d->scratch, of->values);
    for (int kind = 0; kind < PW_FLAG_MEASURE_COUNT; kind++) raise(d->limits, (pw_flag_measure)kind, &at, of);
    return PW_OK;
}

static pw_status read_files(doctor *d, const char *data) {
    static const char *const needed[] = {"table_id", "gpu", "nodes", "gpus_per_node", "collective", "size_bytes", "time_us", NULL};
    char *folder = pw_arena_alloc(d->arena, 4096);
    char path[4300];
    if (!folder) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_validation_find(d->catalogue, folder, 4096, d->error));
    snprintf(path, sizeof path, "%s/data/collectives-measured.csv", folder);
    PW_TRY(pw_measured_read(data ? data : path, d->arena, &d->input, d->error));
    for (int i = 0; needed[i]; i++)
        if (pw_measured_find(&d->input, needed[i]) < 0)
            return pw_fail(d->error, PW_BAD_INPUT, d->input.file, 1, "podwright calibrate import LOG -o FILE writes such a file", "column '%s' is missing", needed[i]);
    snprintf(path, sizeof path, "%s/split-collectives.csv", folder);
    PW_TRY(pw_measured_read(path, d->arena, &d->split, d->error));
    snprintf(path, sizeof path, "%s/split-collective-health.csv", folder);
    PW_TRY(pw_measured_read(path, d->arena, &d->health_split, d->error));
    pw_validation_context context = {.catalogue = d->catalogue, .folder = folder, .input = &d->input, .arena = d->arena};
    PW_TRY(collective_benches_create(&context, &d->benches, d->error));
    PW_TRY(pw_catalogue_need(d->catalogue, "collective-flags", &d->limits, d->error));
    PW_TRY(check_limits(d->limits, d->error));
    collective_benches_add(d->benches, &d->input);
    return PW_OK;
}

/* The rows of every table together, tables in the order of their first rows: *first[t] .. *first[t + 1] of *order. */
static pw_status group_rows(const doctor *d, uint32_t **order, uint32_t **first, uint32_t *tables) {
    uint32_t rows = d->input.rows, at = 0;
    bool *taken = pw_arena_alloc(d->arena, rows + 1u);
    *order = pw_arena_alloc(d->arena, (rows + 1u) * sizeof **order);
    *first = pw_arena_alloc(d->arena, (rows + 1u) * sizeof **first);
    *tables = 0;
    if (!taken || !*order || !*first) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t r = 0; r < rows; r++) {
        if (taken[r]) continue;
        const char *id = pw_measured_text(&d->input, r, "table_id");
        (*first)[(*tables)++] = at;
        for (uint32_t s = r; s < rows; s++)
            if (!taken[s] && strcmp(pw_measured_text(&d->input, s, "table_id"), id) == 0) taken[s] = true, (*order)[at++] = s;
    }
    (*first)[*tables] = at;
    return PW_OK;
}

static pw_status diagnose(doctor *d, const char *data, pw_diagnosis **diagnoses, uint32_t *count) {
    uint32_t *order, *first, tables;
    PW_TRY(read_files(d, data));
    PW_TRY(group_rows(d, &order, &first, &tables));
    d->points = pw_arena_alloc(d->arena, (d->input.rows + 1u) * sizeof *d->points);
    d->scratch = pw_arena_alloc(d->arena, (d->input.rows + 1u) * sizeof *d->scratch);
    *diagnoses = pw_arena_alloc(d->arena, (tables + 1u) * sizeof **diagnoses);
    if (!d->points || !d->scratch || !*diagnoses) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t t = 0; t < tables; t++) PW_TRY(diagnose_table(d, order + first[t], first[t + 1] - first[t], &(*diagnoses)[t]));
    *count = tables;
    return PW_OK;
}

pw_status pw_collective_diagnose(const pw_catalogue *catalogue, const char *data, pw_arena *arena, pw_diagnosis **diagnoses,
                                 uint32_t *count, pw_error *error) {
    pw_error unused;
    doctor d = {.catalogue = catalogue, .arena = arena, .error = error ? error : &unused};
    *diagnoses = NULL;
    *count = 0;
    pw_status status = diagnose(&d, data, diagnoses, count);
    pw_benches_destroy(d.benches);
    return status;
}

/* ---- Reports ---- */

pw_flag_score pw_flag_score_of(const pw_diagnosis *diagnoses, uint32_t count, const char *side) {
    pw_flag_score score = {0};
    for (uint32_t i = 0; i < count; i++) {
        const pw_diagnosis *of = &diagnoses[i];
        if (side && strcmp(of->side, side) != 0) continue;
        if (strcmp(of->health, "healthy") == 0) score.healthy++, score.wrong += of->flag_count > 0;
        else if (strcmp(of->health, "degraded") == 0 || strcmp(of->health, "pathological") == 0) score.ill++, score.found += of->flag_count > 0;
    }
    return score;
}

static void put_score(pw_file *file, const char *name, pw_flag_score score) {
    pw_file_print(file, "  %-6s %3u of %3u degraded or pathological tables flagged (%.0f %%), %3u of %3u healthy ones (%.1f %%)\n", name, score.found,
                  score.ill, score.ill ? 100.0 * score.found / score.ill : 0.0, score.wrong, score.healthy,
                  score.healthy ? 100.0 * score.wrong / score.healthy : 0.0);
}

void pw_collective_flags_write_text(const pw_diagnosis *diagnoses, uint32_t count, pw_file *file) {
    static const char *const meaning[] = {"%.2f times the predicted time", "%.2f times the time of a larger size", "%.2f times as far behind as the median"};
    uint32_t flagged = 0, known = 0, silent = 0;
    for (uint32_t i = 0; i < count; i++) {
        const pw_diagnosis *of = &diagnoses[i];
        flagged += of->flag_count > 0;
        known += *of->health != '\0';
        silent += isnan(of->values[PW_FLAG_SLOW]);
        for (uint32_t f = 0; f < of->flag_count; f++) {
            int kind = 0;
            while (of->values[kind] != of->flags[f].value) kind++;
            pw_file_print(file, "%.200s%s%.40s: %s (", of->table_id, *of->health ? ", " : "", of->health, of->flags[f].name);
            char text[64];
            snprintf(text, sizeof text, kind == 0 ? meaning[0] : kind == 1 ? meaning[1] : meaning[2], of->flags[f].value);
            pw_file_print(file, "%s): %.400s\n", text, of->flags[f].text);
        }
    }
    pw_file_print(file, "%u of %u tables flagged; %u compared with themselves only, as they have no prediction at large sizes\n", flagged, count, silent);
    if (!known) return;
    put_score(file, "all", pw_flag_score_of(diagnoses, count, NULL));
    put_score(file, "fit", pw_flag_score_of(diagnoses, count, "fit"));
    put_score(file, "check", pw_flag_score_of(diagnoses, count, "check"));
}

void pw_collective_flags_write_csv(const pw_diagnosis *diagnoses, uint32_t count, pw_file *file) {
    pw_file_text(file, "table_id,health,side,rows,slow,falls,uneven,flags\n");
    for (uint32_t i = 0; i < count; i++) {
        const pw_diagnosis *of = &diagnoses[i];
        char names[200] = "", text[32];
        for (uint32_t f = 0, at = 0; f < of->flag_count; f++)
            at += (uint32_t)snprintf(names + at, sizeof names - at, "%s%.40s", f ? " " : "", of->flags[f].name);
        pw_file_csv_text(file, of->table_id);
        pw_file_csv_text(file, of->health);
        pw_file_csv_text(file, of->side);
        pw_file_csv_integer(file, of->rows);
        for (int kind = 0; kind < PW_FLAG_MEASURE_COUNT; kind++) {
            snprintf(text, sizeof text, "%.4g", of->values[kind]);
            pw_file_csv_text(file, isnan(of->values[kind]) ? "" : text);
        }
        pw_file_csv_text(file, names);
        pw_file_csv_end(file);
    }
}
