/* The collectives suite: published times of nccl-tests and its kin, each row a collective alone on an idle cluster.
 *
 * What the words of a row mean (which server, how many ports, which network stack) is data: collective-systems.csv beside the
 * splits. Sizes are as nccl-tests prints them, which is also the S of the models. Two baselines on the same rows: the time that
 * the communication library's own cost model expects, and a latency and a bandwidth per GPU generation and scope, fitted on the
 * fit rows. The variant "stack" adds one number per host (family): what its smallest sizes take beyond the prediction. */
#include "scenarios/validation/collective_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/text.h"

/* --- Labels: columns that follow from a row's cells ------------------------------------------------------------------ */

static double size_of(const pw_measured *input, uint32_t row) {
    double bytes;
    return pw_measured_number(input, row, "size_bytes", &bytes, NULL) == PW_OK ? bytes : NAN;
}

static const char *decade_of(double bytes) {
    return isnan(bytes) ? "" : bytes < 1e6 ? "1: below 1 MB" : bytes < 1e7 ? "2: 1-10 MB" : bytes < 1e8 ? "3: 10-100 MB" : "4: from 100 MB";
}

static bool holds(const char *text, const char *word) { return strstr(text, word) != NULL; }

static const char *class_of(const pw_measured *input, uint32_t row) {
    const char *inter = pw_measured_text(input, row, "inter"), *intra = pw_measured_text(input, row, "intra");
    const char *kind = pw_measured_text(input, row, "collective"), *gpu = pw_measured_text(input, row, "gpu");
    int64_t nodes = 1;
    (void)pw_measured_integer(input, row, "nodes", 1, &nodes, NULL);
    if (strncmp(gpu, "MI", 2) == 0) return "AMD";
    if (holds(inter, "EFA") || holds(inter, "TCP") || holds(inter, "socket")) return "software network stack";
    if (holds(intra, "PCIe") || holds(intra, "no NVLink")) return "PCIe";
    if (holds(inter, "NVL72 NVLink domain")) return "NVL72 domain";
    if (nodes > 1) return "InfiniBand RoCE";
    if (strcmp(kind, "all_reduce") == 0) return "one domain: all_reduce";
    if (strcmp(kind, "all_gather") == 0 || strcmp(kind, "reduce_scatter") == 0) return "one domain: gather and scatter";
    return "one domain: exchange";
}

static const char *label(const pw_measured *input, uint32_t row, const char *column) {
    if (strcmp(column, "class") == 0) return class_of(input, row);
    if (strcmp(column, "decade") == 0) return decade_of(size_of(input, row));
    return NULL;
}

/* --- The two-number baseline ----------------------------------------------------------------------------------------- */

/* T = a + b x, x = bytes of the bus: least squares of relative errors over the fit rows, a and b not negative. */
typedef struct line_sum {
    char key[64];
    double w, wx, wxx, wy, wxy; /* weights 1 / T^2 */
    double a, b;
} line_sum;

enum { MOST_LINES = 64 };
typedef struct collective_state {
    pw_benches *benches;
    struct host_offsets *hosts;
    line_sum lines[MOST_LINES];
    uint32_t line_count;
} collective_state;

static void solve(line_sum *s) {
    double determinant = s->w * s->wxx - s->wx * s->wx;
    s->b = determinant > 1e-9 * s->w * s->wxx ? (s->w * s->wxy - s->wx * s->wy) / determinant : 0;
    s->a = (s->wy - s->b * s->wx) / s->w;
    if (s->a < 0) s->a = 0, s->b = s->wxy / s->wxx;
    if (s->b < 0) s->b = 0, s->a = s->wy / s->w;
}

static line_sum *line_of(collective_state *state, const char *key, bool make) {
    for (uint32_t i = 0; i < state->line_count; i++)
        if (strcmp(state->lines[i].key, key) == 0) return &state->lines[i];
    if (!make || state->line_count == MOST_LINES) return NULL;
    line_sum *made = &state->lines[state->line_count++];
    snprintf(made->key, sizeof made->key, "%s", key);
    return made;
}

static void write_key(char *key, size_t size, const collective_row *row) {
    snprintf(key, size, "%.40s %s", pw_cluster_device(row->bench->cluster)->arch, row->bench->shape.domains > 1 ? "several" : "one");
}

static pw_status fit_lines(const pw_validation_context *context, collective_state *state, pw_error *error) {
    for (uint32_t r = 0; r < context->shipped->rows; r++) {
        collective_row row;
        pw_prediction unused = {0};
        char key[64];
        if (strcmp(pw_validation_side(context->split, context->shipped, r), "fit") != 0) continue;
        PW_TRY(collective_row_of(state->benches, context->shipped, r, &row, &unused, error));
        if (!row.bench || !(row.measured_s > 0)) continue;
        write_key(key, sizeof key, &row);
        line_sum *line = line_of(state, key, true);
        if (!line) continue;
        double x = row.bytes * pw_collective_bus_factor(row.kind, row.bench->shape.members), w = 1 / (row.measured_s * row.measured_s);
        line->w += w, line->wx += w * x, line->wxx += w * x * x, line->wy += w * row.measured_s, line->wxy += w * x * row.measured_s;
    }
    for (uint32_t i = 0; i < state->line_count; i++) solve(&state->lines[i]);
    return PW_OK;
}

/* --- The host's offset ------------------------------------------------------------------------------------------------ */

/* One number per family: the median over its tables of what the smallest size (at most PROBE_BYTES) takes beyond the prediction. The
 * rows that it comes from are not scored with it. */
typedef struct host_offset {
    const char *family;
    double seconds;
} host_offset;

static const double PROBE_BYTES = 4096;
enum { MOST_FAMILIES = 256, MOST_PROBES = 512 };

typedef struct probe { /* the smallest row of a table */
    const char *family, *table;
    uint32_t row;
    double bytes, beyond_s;
} probe;

struct host_offsets {
    probe probes[MOST_PROBES];
    host_offset offsets[MOST_FAMILIES];
    uint32_t probe_count, offset_count;
};

static bool is_healthy(const pw_measured *input, uint32_t row) {
    const char *health = pw_measured_text(input, row, "health");
    return !*health || strcmp(health, "healthy") == 0;
}

static void take_probe(struct host_offsets *h, const pw_measured *input, uint32_t r, const collective_row *row) {
    const char *family = pw_measured_text(input, r, "family"), *table = pw_measured_text(input, r, "table_id");
    double seconds;
    uint32_t at = 0;
    if (!*table || row->bytes > PROBE_BYTES || pw_bench_time(row->bench, row->kind, row->bytes, &seconds, NULL) != PW_OK) return;
    while (at < h->probe_count && strcmp(h->probes[at].table, table) != 0) at++;
    if (at == MOST_PROBES || (at < h->probe_count && h->probes[at].bytes <= row->bytes)) return;
    if (at == h->probe_count) h->probe_count++;
    h->probes[at] = (probe){*family ? family : table, table, r, row->bytes, row->measured_s - seconds};
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_offsets(struct host_offsets *h) {
    for (uint32_t i = 0; i < h->probe_count && h->offset_count < MOST_FAMILIES; i++) {
        double beyond[MOST_PROBES];
        uint32_t count = 0;
        bool first = true;
        for (uint32_t j = 0; j < h->probe_count; j++) {
            if (strcmp(h->probes[j].family, h->probes[i].family) != 0) continue;
            first = first && j >= i;
            beyond[count++] = h->probes[j].beyond_s;
        }
        if (!first) continue;
        qsort(beyond, count, sizeof *beyond, by_number);
        h->offsets[h->offset_count++] = (host_offset){h->probes[i].family, (beyond[(count - 1) / 2] + beyond[count / 2]) / 2};
    }
}

/* NaN: the family shows none, or the row is one that it comes from. */
static double offset_of(const struct host_offsets *h, const pw_measured *input, uint32_t r) {
    const char *family = pw_measured_text(input, r, "family");
    if (!*family) family = pw_measured_text(input, r, "table_id");
    for (uint32_t i = 0; i < h->probe_count; i++)
        if (h->probes[i].row == r) return NAN;
    for (uint32_t i = 0; i < h->offset_count; i++)
        if (strcmp(h->offsets[i].family, family) == 0) return h->offsets[i].seconds;
    return NAN;
}

static pw_status measure_hosts(const pw_validation_context *context, collective_state *state, pw_error *error) {
    state->hosts = pw_arena_alloc(context->arena, sizeof *state->hosts);
    if (!state->hosts) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    *state->hosts = (struct host_offsets){0};
    for (uint32_t r = 0; r < context->input->rows; r++) {
        collective_row row;
        pw_prediction unused = {0};
        if (collective_row_of(state->benches, context->input, r, &row, &unused, NULL) != PW_OK || !row.bench) continue;
        if (is_healthy(context->input, r)) take_probe(state->hosts, context->input, r, &row);
    }
    find_offsets(state->hosts);
    return PW_OK;
}

/* --- The suite ------------------------------------------------------------------------------------------------------- */

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    collective_state *state = pw_arena_alloc(context->arena, sizeof *state);
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    *state = (collective_state){0};
    context->state = state;
    PW_TRY(collective_benches_create(context, &state->benches, error));
    collective_benches_add(state->benches, context->shipped);
    if (context->input != context->shipped) collective_benches_add(state->benches, context->input);
    PW_TRY(measure_hosts(context, state, error));
    return fit_lines(context, state, error);
}

static void finish(pw_validation_context *context) {
    collective_state *state = context->state;
    if (state) pw_benches_destroy(state->benches);
}

static pw_status predict(const pw_validation_context *context, uint32_t r, pw_prediction *prediction, pw_error *error) {
    collective_state *state = context->state;
    collective_row row;
    pw_error failure = {0};
    char key[64];
    prediction->side = pw_validation_side(context->split, context->input, r);
    PW_TRY(collective_row_of(state->benches, context->input, r, &row, prediction, error));
    prediction->measured = row.measured_s;
    if (!row.bench) return PW_OK;
    if (!is_healthy(context->input, r)) {
        snprintf(prediction->why, sizeof prediction->why, "not healthy: %.100s", pw_measured_text(context->input, r, "health"));
        return PW_OK;
    }
    pw_status status = pw_bench_time(row.bench, row.kind, row.bytes, &prediction->plain, &failure);
    if (status == PW_NO_MEMORY) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    if (status != PW_OK) {
        snprintf(prediction->why, sizeof prediction->why, "%.390s", failure.what);
        return PW_OK;
    }
    prediction->ran = true;
    double offset = offset_of(state->hosts, context->input, r);
    prediction->stack = prediction->plain + (isnan(offset) ? offset : fmax(offset, -0.9 * prediction->plain));
    pw_library_estimate estimate;
    prediction->baseline = pw_collective_library_estimate(row.bench->collectives, row.kind, &row.bench->shape, row.bytes, &estimate) ? estimate.time_s : NAN;
    write_key(key, sizeof key, &row);
    const line_sum *line = line_of(state, key, false);
    prediction->second = line ? line->a + line->b * row.bytes * pw_collective_bus_factor(row.kind, row.bench->shape.members) : NAN;
    return PW_OK;
}

static const char *const required[] = {"gpu", "nodes", "gpus_per_node", "collective", "size_bytes", "time_us", NULL};
static const char *const by[] = {"side", "decade", "class", "collective", NULL};
static const char *const labels[] = {"class", "decade", NULL};
const pw_suite pw_suite_collectives = {
    .name = "collectives",
    .text = "collectives alone on an idle cluster, predicted against published times",
    .unit = "s",
    .file = "collectives-measured.csv",
    .split = "split-collectives.csv",
    .required = required,
    .by = by,
    .baseline = "the communication library's own cost model (none for all_to_all and messages)",
    .second = "a latency and a bus bandwidth per GPU generation and scope, fitted on the fit rows",
    .prepare = prepare,
    .predict = predict,
    .finish = finish,
    .label = label,
    .labels = labels,
};
