/* Whether a batch fits: two rows for every published largest batch, itself (it fits) and the next one (it does not). Values are
 * sides of 1: below it fits. The memory suite predicts the largest batch; this one asks on which side each of the two lies. */
#include <string.h>

#include "scenarios/validation/validation.h"

enum { ID, SOURCE, MODEL, GPU, SEQUENCE, BATCH, COLUMNS };
static const char *const columns[COLUMNS] = {"id", "source", "model", "gpu", "seq_len", "batch"};
static const double FITS = 0.5, FAILS = 2; /* measured: which side, no size */

static bool is_batch(const pw_validation *base, uint32_t row) {
    return base->predictions[row].ran && strcmp(pw_measured_text(base->input, row, "kind"), "max-batch") == 0;
}

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

static pw_status write_row(const pw_validation *base, uint32_t row, bool next, const char **cells, pw_prediction *to,
                           pw_arena *arena, pw_error *error) {
    const pw_prediction *p = &base->predictions[row];
    double batch = p->measured - 0.5 + next;
    char words[2][256];
    snprintf(words[0], sizeof words[0], "%.200s/%s", pw_measured_text(base->input, row, "id"), next ? "next" : "largest");
    snprintf(words[1], sizeof words[1], "%.0f", batch);
    cells[ID] = pw_arena_text(arena, words[0]);
    cells[BATCH] = pw_arena_text(arena, words[1]);
    if (!cells[ID] || !cells[BATCH]) return no_memory(error);
    for (int c = SOURCE; c < BATCH; c++) cells[c] = pw_measured_text(base->input, row, columns[c]);
    /* Their largest batches lie a half above: below 1 for every batch that fits. */
    *to = (pw_prediction){.ran = true, .side = p->side, .measured = next ? FAILS : FITS, .plain = batch / p->plain,
                          .stack = batch / p->stack, .baseline = batch / p->baseline};
    return PW_OK;
}

static pw_status derive(const pw_validation *base, pw_arena *arena, pw_validation *derived, pw_error *error) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < base->input->rows; row++) count += is_batch(base, row) ? 2 : 0;
    pw_measured *to = pw_arena_alloc(arena, sizeof *to);
    pw_prediction *predictions = pw_arena_alloc(arena, (count + 1u) * sizeof *predictions);
    if (!to || !predictions) return no_memory(error);
    *to = (pw_measured){.file = base->input->file, .rows = count, .columns = COLUMNS};
    to->names = pw_arena_alloc(arena, COLUMNS * sizeof *to->names);
    to->cells = pw_arena_alloc(arena, ((size_t)count * COLUMNS + 1) * sizeof *to->cells);
    to->lines = pw_arena_alloc(arena, (count + 1u) * sizeof *to->lines);
    if (!to->names || !to->cells || !to->lines) return no_memory(error);
    for (int c = 0; c < COLUMNS; c++) to->names[c] = columns[c];
    uint32_t at = 0;
    for (uint32_t row = 0; row < base->input->rows; row++)
        for (int next = 0; is_batch(base, row) && next < 2; next++, at++) {
            to->lines[at] = base->input->lines[row];
            PW_TRY(write_row(base, row, next, to->cells + (size_t)at * COLUMNS, &predictions[at], arena, error));
        }
    derived->input = to;
    derived->predictions = predictions;
    return PW_OK;
}

static const char *const by[] = {"side", "model", NULL};
const pw_suite pw_suite_batches = {
    .name = "batches",
    .text = "whether the largest published batch fits, and the next one does not: sides of 1, so that only 'right' counts",
    .unit = "ratio",
    .file = "training-memory.csv",
    .split = "split-memory.csv",
    .by = by,
    .baseline = "the largest batch by the memory suite's closed form",
    .from = &pw_suite_memory,
    .derive = derive,
    .ratio = true,
};
