#include "scenarios/validation/layout.h"

#include <string.h>

pw_status pw_layout_table(const pw_validation_context *context, const char *file, pw_measured *table, pw_error *error) {
    char path[4608];
    snprintf(path, sizeof path, "%s/%s", context->folder, file);
    return pw_measured_read(path, context->arena, table, error);
}

int64_t pw_layout_match(const pw_measured *table, const char *result, const pw_measured *input, uint32_t row) {
    int patterns = pw_measured_find(table, result);
    for (uint32_t r = 0; patterns >= 0 && r < table->rows; r++) {
        const char **cells = table->cells + (size_t)r * table->columns;
        bool same = true;
        for (int c = 0; same && c < patterns; c++)
            same = strncmp(pw_measured_text(input, row, table->names[c]), cells[c], strlen(cells[c])) == 0;
        if (same) return r;
    }
    return -1;
}

const char *pw_layout_look_up(const pw_measured *table, const char *result, const pw_measured *input, uint32_t row) {
    int64_t found = pw_layout_match(table, result, input, row);
    return found < 0 ? NULL : pw_measured_text(table, (uint32_t)found, result);
}

pw_status pw_layout_complete(const pw_measured *layouts, const pw_measured *input, uint32_t row, pw_model_desc *model,
                             bool *learned_positions, pw_error *error) {
    int64_t found = pw_layout_match(layouts, "vocabulary", input, row);
    int64_t vocabulary = 0, kv_heads = 0, gated = 0, tied = 0, biases = 0, learned = 0;
    const struct { const char *own, *column; int64_t *value; } fields[] = {
        {"vocab", "vocabulary", &vocabulary}, {"kv_heads", "kv_heads", &kv_heads}, {"gated", "gated_mlp", &gated},
        {NULL, "tied", &tied},                {NULL, "biases", &biases},           {NULL, "learned_positions", &learned}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (found >= 0)
            PW_TRY(pw_measured_integer(layouts, (uint32_t)found, fields[i].column, 0, fields[i].value, error));
        if (fields[i].own)
            PW_TRY(pw_measured_integer(input, row, fields[i].own, *fields[i].value, fields[i].value, error));
    }
    model->vocabulary = vocabulary;
    model->kv_heads = kv_heads;
    model->gated = gated != 0;
    model->tied = tied != 0;
    model->biases = biases != 0;
    *learned_positions = learned != 0;
    return PW_OK;
}

pw_status pw_layout_sharding(const pw_measured *sharding, const pw_measured *input, uint32_t row, int64_t per_node,
                             pw_arena *arena, pw_train_desc *job, bool *known, pw_error *error) {
    job->sharding = PW_SHARDING_NONE;
    *known = true;
    if (!*pw_measured_text(input, row, "sharding")) return PW_OK;
    int64_t found = pw_layout_match(sharding, "method", input, row), offload;
    if (found < 0) {
        *known = false;
        return PW_OK;
    }
    uint32_t at = (uint32_t)found;
    PW_TRY(pw_field_set_text(&pw_train_kind, pw_kind_field(&pw_train_kind, "sharding"), job,
                             pw_measured_text(sharding, at, "method"), arena, sharding->file, sharding->lines[at], error));
    PW_TRY(pw_measured_integer(sharding, at, "group", 0, &job->shard_group, error));
    if (job->shard_group < 0) job->shard_group = per_node;
    PW_TRY(pw_measured_integer(sharding, at, "offload", 0, &offload, error));
    job->offload_optimizer = offload == 1;
    if (strcmp(pw_measured_text(sharding, at, "reshard"), "off") == 0) job->reshard = 0;
    return PW_OK;
}
