/* What a measured row means beyond its cells: tables beside the splits, looked up by patterns. */
#ifndef PW_SCENARIOS_VALIDATION_LAYOUT_H
#define PW_SCENARIOS_VALIDATION_LAYOUT_H

#include "models/workload/train.h"
#include "scenarios/validation/validation.h"

/* A table beside the splits; arena memory of the context. */
pw_status pw_layout_table(const pw_validation_context *context, const char *file, pw_measured *table, pw_error *error);

/* First row of the table whose pattern columns (those before `result`) are empty or begin the measured row's cells of the
 * same name; -1 when there is none, or no column `result`. */
int64_t pw_layout_match(const pw_measured *table, const char *result, const pw_measured *input, uint32_t row);
/* The cell of column `result` in that row; NULL when there is none. */
const char *pw_layout_look_up(const pw_measured *table, const char *result, const pw_measured *input, uint32_t row);

/* Vocabulary, key and value heads, kind of MLP: the row's own cells (vocab, kv_heads, gated), else those of layouts.csv,
 * which alone says what is tied, whether there are biases and whether positions are learned. A value that neither says
 * stays 0. */
pw_status pw_layout_complete(const pw_measured *layouts, const pw_measured *input, uint32_t row, pw_model_desc *model,
                             bool *learned_positions, pw_error *error);

/* What the word of a source for sharding means (a row of sharding.csv); *known false when no row says. per_node: GPUs. */
pw_status pw_layout_sharding(const pw_measured *sharding, const pw_measured *input, uint32_t row, int64_t per_node,
                             pw_arena *arena, pw_train_desc *job, bool *known, pw_error *error);

#endif
