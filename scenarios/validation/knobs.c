/* The knobs suite: pairs of published steps that differ in one knob. Predicted is the ratio of the two predicted step times,
 * measured that of the two published ones: what a design study asks, with the errors that both rows share taken out.
 *
 * Two rows make a pair when they agree in everything that names the run (machine, model, batch, software) and differ in
 * exactly one of the knobs below. Data-parallel size and accumulation steps follow from the others and may differ.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/validation.h"
#include "sim/math.h"
#include "sim/text.h"

static const char *const knobs[] = {"tp", "pp", "vp", "mbs", "recompute", "sharding", "precision"};
enum { KNOBS = sizeof knobs / sizeof *knobs };
static const char *const same[] = {"source",   "task",       "model",       "layers", "hidden",        "heads",
                                   "seq_len",  "vocab",      "n_experts",   "gpu",    "gpu_mem_gb",    "n_gpus",
                                   "gpus_per_node", "intra_node", "inter_node_gbps_per_gpu", "cp", "ep", "gbs",
                                   "seq_parallel", "software", "year"};
enum { SAME = sizeof same / sizeof *same };
enum { ID, KNOB, FROM, TO, SOURCE, MODEL, GPU, SOFTWARE, COLUMNS };
static const char *const columns[COLUMNS] = {"id", "knob", "from", "to", "source", "model", "gpu", "software"};

typedef struct keyed { /* a row that ran: its text in all columns but one knob, and that knob */
    const char *key, *value;
    uint32_t row;
} keyed;

typedef struct pair {
    int knob;
    uint32_t from, to; /* rows */
    double steps;      /* doublings of a count; 1 for a word */
} pair;

/* Words are ordered by spelling, counts by size; an empty cell is 1. */
static const char *cell_of(const pw_measured *input, uint32_t row, const char *column) {
    const char *text = pw_measured_text(input, row, column);
    return *text ? text : "1";
}

static double number_of(const char *text) {
    const char *end;
    double value;
    return pw_text_number(text, &end, &value) && !*end && value > 0 ? value : NAN;
}

static int by_value(const keyed *x, const keyed *y) {
    double a = number_of(x->value), b = number_of(y->value);
    if (!isnan(a) && !isnan(b)) return (a > b) - (a < b);
    return strcmp(x->value, y->value);
}

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order == 0) order = by_value(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static const char *make_key(const pw_measured *input, uint32_t row, int knob, pw_arena *arena) {
    char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < SAME + KNOBS && used < sizeof text; i++) {
        if (i - SAME == knob) continue;
        const char *cell = i < SAME ? pw_measured_text(input, row, same[i]) : cell_of(input, row, knobs[i - SAME]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", cell);
    }
    return pw_arena_text(arena, text);
}

typedef struct pairing {
    const pw_validation *base;
    pw_arena *arena;
    keyed *rows;
    pair *pairs;
    size_t count, capacity;
} pairing;

static bool pair_add(pairing *p, pair one) {
    if (p->count == p->capacity) {
        size_t grown = p->capacity ? 2 * p->capacity : 256;
        pair *pairs = pw_arena_alloc(p->arena, grown * sizeof *pairs);
        if (!pairs) return false;
        if (p->count) memcpy(pairs, p->pairs, p->count * sizeof *pairs);
        p->pairs = pairs;
        p->capacity = grown;
    }
    p->pairs[p->count++] = one;
    return true;
}

/* All pairs that differ in one knob. */
static bool find_pairs(pairing *p, int knob) {
    const pw_measured *input = p->base->input;
    uint32_t count = 0;
    for (uint32_t row = 0; row < input->rows; row++) {
        if (!p->base->predictions[row].ran) continue;
        const char *key = make_key(input, row, knob, p->arena);
        if (!key) return false;
        p->rows[count++] = (keyed){key, cell_of(input, row, knobs[knob]), row};
    }
    if (count) qsort(p->rows, count, sizeof *p->rows, by_key);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count && strcmp(p->rows[k].key, p->rows[i].key) == 0; k++) {
            if (by_value(&p->rows[i], &p->rows[k]) == 0) continue;
            double a = number_of(p->rows[i].value), b = number_of(p->rows[k].value);
            double steps = isnan(a) || isnan(b) ? 1 : pw_log2(b / a);
            if (!pair_add(p, (pair){knob, p->rows[i].row, p->rows[k].row, steps})) return false;
        }
    return true;
}

static double ratio_of(const pw_validation *base, const pair *one, double (*value)(const pw_prediction *)) {
    return value(&base->predictions[one->to]) / value(&base->predictions[one->from]);
}
static double measured_of(const pw_prediction *p) { return p->measured; }
static double plain_of(const pw_prediction *p) { return p->plain; }
static double stack_of(const pw_prediction *p) { return p->stack; }

static const char *side_of(const pw_validation *base, const pair *one) {
    const char *a = base->predictions[one->from].side, *b = base->predictions[one->to].side;
    return strcmp(a, b) == 0 ? a : "";
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The knob's usual effect: the median over fit pairs of log(ratio) per step. NaN: no fit pair. */
static double usual_effect(const pairing *p, int knob, double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->pairs[i].knob == knob && strcmp(side_of(p->base, &p->pairs[i]), "fit") == 0)
            scratch[count++] = pw_log(ratio_of(p->base, &p->pairs[i], measured_of)) / p->pairs[i].steps;
    if (count == 0) return NAN;
    qsort(scratch, count, sizeof *scratch, by_number);
    return count % 2 ? scratch[count / 2] : 0.5 * (scratch[count / 2 - 1] + scratch[count / 2]);
}

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

static pw_status write_rows(const pairing *p, pw_measured *to, pw_prediction *predictions, pw_error *error) {
    const pw_measured *input = p->base->input;
    double *scratch = pw_arena_alloc(p->arena, (p->count + 1) * sizeof *scratch);
    if (!scratch) return no_memory(error);
    double effects[KNOBS];
    for (int knob = 0; knob < KNOBS; knob++) effects[knob] = usual_effect(p, knob, scratch);
    for (size_t i = 0; i < p->count; i++) {
        const pair *one = &p->pairs[i];
        const char **cells = to->cells + i * COLUMNS;
        char id[256];
        snprintf(id, sizeof id, "%.120s/%.120s", pw_measured_text(input, one->from, "id"), pw_measured_text(input, one->to, "id"));
        cells[ID] = pw_arena_text(p->arena, id);
        if (!cells[ID]) return no_memory(error);
        cells[KNOB] = knobs[one->knob];
        cells[FROM] = cell_of(input, one->from, knobs[one->knob]);
        cells[TO] = cell_of(input, one->to, knobs[one->knob]);
        for (int c = SOURCE; c < COLUMNS; c++) cells[c] = pw_measured_text(input, one->from, columns[c]);
        to->lines[i] = input->lines[one->from];
        double effect = effects[one->knob];
        predictions[i] = (pw_prediction){.ran = true,
                                         .side = side_of(p->base, one),
                                         .measured = ratio_of(p->base, one, measured_of),
                                         .plain = ratio_of(p->base, one, plain_of),
                                         .stack = ratio_of(p->base, one, stack_of),
                                         .baseline = isnan(effect) ? 1 : pw_exp(effect * one->steps)};
    }
    return PW_OK;
}

static pw_status derive(const pw_validation *base, pw_arena *arena, pw_validation *derived, pw_error *error) {
    pairing p = {.base = base, .arena = arena};
    p.rows = pw_arena_alloc(arena, (base->input->rows + 1u) * sizeof *p.rows);
    if (!p.rows) return no_memory(error);
    for (int knob = 0; knob < KNOBS; knob++)
        if (!find_pairs(&p, knob)) return no_memory(error);
    if (p.count > UINT32_MAX / COLUMNS)
        return pw_fail(error, PW_OUT_OF_RANGE, base->input->file, 0, "give fewer rows of one run", "%zu pairs are too many", p.count);
    pw_measured *to = pw_arena_alloc(arena, sizeof *to);
    pw_prediction *predictions = pw_arena_alloc(arena, (p.count + 1) * sizeof *predictions);
    if (!to || !predictions) return no_memory(error);
    *to = (pw_measured){.file = base->input->file, .rows = (uint32_t)p.count, .columns = COLUMNS};
    to->names = pw_arena_alloc(arena, (COLUMNS + 1) * sizeof *to->names);
    to->cells = pw_arena_alloc(arena, (p.count * COLUMNS + 1) * sizeof *to->cells);
    to->lines = pw_arena_alloc(arena, (p.count + 1) * sizeof *to->lines);
    if (!to->names || !to->cells || !to->lines) return no_memory(error);
    for (int c = 0; c < COLUMNS; c++) to->names[c] = columns[c];
    PW_TRY(write_rows(&p, to, predictions, error));
    derived->input = to;
    derived->predictions = predictions;
    return PW_OK;
}

static const char *const by[] = {"side", "knob", "source", NULL};
const pw_suite pw_suite_knobs = {
    .name = "knobs",
    .text = "ratio of two published training steps that differ in one knob",
    .unit = "ratio",
    .file = "training-measured.csv",
    .split = "split-training.csv",
    .by = by,
    .baseline = "the knob's usual effect: median over fit pairs, per doubling of a count",
    .from = &pw_suite_training,
    .derive = derive,
    .ratio = true,
};
