/* A model from HuggingFace's config.json. The row of the architecture says under which keys the sizes lie, in the order of
 * preference; what architectures write in their own way (Falcon's grouped queries, MPT's nested attention settings) are the
 * quirks below. Source of the keys: transformers, models/<model_type>/configuration_<model_type>.py.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "models/import/import.h"
#include "sim/json_read.h"

enum { LARGEST_FILE = 4 << 20, LONGEST_KEY = 96 };

typedef struct reader {
    const pw_table *table;
    size_t row;
    const char *path;
    const json_t *config;
    pw_model_desc *model;
    pw_arena *arena;
    pw_import_notes *notes;
    pw_error *error;
} reader;

static const char *cell(const reader *r, const char *column) { return pw_table_text_of(r->table, r->row, column); }

static const json_t *given(const json_t *config, const char *key) {
    const json_t *value = json_object_get(config, key);
    return value && !json_is_null(value) ? value : NULL;
}

static pw_status set_number(const reader *r, const char *name, double value) {
    return pw_field_set_number(&pw_model_kind, pw_kind_field(&pw_model_kind, name), r->model, value, false, PW_UNIT_NONE,
                               r->path, 0, r->error);
}

static pw_status set_bool(const reader *r, const char *name, bool value) {
    return pw_field_set_bool(&pw_model_kind, pw_kind_field(&pw_model_kind, name), r->model, value, r->path, 0, r->error);
}

static pw_status whole(const reader *r, const char *key, const json_t *value, int64_t *number) {
    if (!json_is_integer(value))
        return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, NULL, "'%s' is not a whole number", key);
    *number = json_integer_value(value);
    return PW_OK;
}

/* The first of the cell's keys that the file has; *found is false when it has none. */
static pw_status find_whole(const reader *r, const char *keys, bool *found, int64_t *number) {
    *found = false;
    for (char key[LONGEST_KEY]; *keys;) {
        size_t length = strcspn(keys, " ");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        keys += length + strspn(keys + length, " ");
        const json_t *value = given(r->config, key);
        if (!value) continue;
        *found = true;
        return whole(r, key, value, number);
    }
    return PW_OK;
}

/* Fields that are numbers; a cell that ends with "!" must be in the file, since the framework's default is no safe guess. */
static pw_status read_sizes(const reader *r) {
    static const char *const fields[] = {"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "positions",
                                         "experts", "experts_per_token", "expert_ffn", "dense_layers", "experts_every",
                                         "query_rank", "latent_rank", "rotary_dim", "value_dim"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char keys[200];
        snprintf(keys, sizeof keys, "%s", cell(r, fields[i]));
        size_t length = strlen(keys);
        bool is_needed = length && keys[length - 1] == '!', found;
        if (is_needed) keys[length - 1] = '\0';
        int64_t value;
        PW_TRY(find_whole(r, keys, &found, &value));
        if (!found && is_needed)
            return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, NULL, "a %s model needs '%s'", cell(r, "name"), keys);
        if (found) PW_TRY(set_number(r, fields[i], (double)value));
    }
    return PW_OK;
}

static pw_status read_flag(const reader *r, const char *key, const char *field) {
    const json_t *value = given(r->config, key);
    bool flag = pw_table_number_of(r->table, r->row, field) == 1;
    if (value && !json_is_boolean(value))
        return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, NULL, "'%s' is neither true nor false", key);
    return set_bool(r, field, value ? json_is_true(value) : flag);
}

/* ---- Quirks ---- */

/* Old files say multi_query; new ones num_kv_heads, which counts only for the new decoder architecture. */
static pw_status falcon(const reader *r) {
    const json_t *grouped = given(r->config, "new_decoder_architecture"), *single = given(r->config, "multi_query");
    bool found;
    int64_t kv_heads = r->model->heads;
    if (grouped && json_is_true(grouped)) PW_TRY(find_whole(r, "num_kv_heads n_head_kv", &found, &kv_heads));
    else if (!single || json_is_true(single)) kv_heads = 1;
    PW_TRY(set_number(r, "kv_heads", (double)kv_heads));
    return read_flag(r, "bias", "biases");
}

static pw_status mpt(const reader *r) {
    const json_t *ratio = given(r->config, "expansion_ratio"), *attention = given(r->config, "attn_config");
    const json_t *kv_heads = attention ? given(attention, "kv_n_heads") : NULL, *no_bias = given(r->config, "no_bias");
    int64_t value = 0;
    if (ratio) {
        PW_TRY(whole(r, "expansion_ratio", ratio, &value));
        PW_TRY(set_number(r, "ffn", (double)value * (double)r->model->hidden));
    }
    if (kv_heads) {
        PW_TRY(whole(r, "attn_config.kv_n_heads", kv_heads, &value));
        PW_TRY(set_number(r, "kv_heads", (double)value));
    }
    const json_t *alibi = attention ? given(attention, "alibi") : NULL;
    if (!alibi || !json_is_true(alibi)) {
        bool found;
        PW_TRY(find_whole(r, "max_seq_len", &found, &value));
        if (found) PW_TRY(set_number(r, "positions", (double)value));
    }
    return set_bool(r, "biases", no_bias && json_is_false(no_bias));
}

/* Two rows of the table of positions are padding. */
static pw_status opt(const reader *r) {
    bool found;
    int64_t width = 0;
    PW_TRY(find_whole(r, "word_embed_proj_dim", &found, &width));
    if (found && width != r->model->hidden)
        return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, "of the published OPT models this is the 350m alone",
                       "an embedding of another width (word_embed_proj_dim %lld) than the layers is not modelled",
                       (long long)width);
    return set_number(r, "positions", (double)r->model->positions + 2);
}

static pw_status starcoder(const reader *r) { return read_flag(r, "use_bias", "biases"); }

static pw_status bigcode(const reader *r) {
    const json_t *single = given(r->config, "multi_query");
    return set_number(r, "kv_heads", !single || json_is_true(single) ? 1 : 0);
}

/* The head follows from the class that the file was saved by: pre-training unless it says question answering. */
static pw_status bert(const reader *r) {
    const char *saved_by = json_string_value(json_array_get(given(r->config, "architectures"), 0));
    bool found;
    int64_t types = 0;
    PW_TRY(find_whole(r, "type_vocab_size", &found, &types));
    PW_TRY(set_number(r, "token_types", (double)types));
    PW_TRY(set_bool(r, "bidirectional", true));
    PW_TRY(set_bool(r, "post_norm", true));
    const char *head = saved_by && strstr(saved_by, "QuestionAnswering") ? "span" : "masked_lm";
    return pw_field_set_text(&pw_model_kind, pw_kind_field(&pw_model_kind, "head"), r->model, head, r->arena, r->path, 0,
                             r->error);
}

/* Qwen2-MoE says the width of all shared experts; DeepSeek how many there are of an expert's width. */
static pw_status shared(const reader *r) {
    bool found;
    int64_t width = 0;
    PW_TRY(find_whole(r, "shared_expert_intermediate_size", &found, &width));
    return set_number(r, "shared_ffn", (double)width);
}

static pw_status deepseek(const reader *r) {
    bool found;
    int64_t count = 0, every = 1;
    PW_TRY(find_whole(r, "n_shared_experts", &found, &count));
    PW_TRY(find_whole(r, "moe_layer_freq", &found, &every));
    if (every != 1)
        return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "experts in every %lldth layer behind dense ones are not modelled",
                       (long long)every);
    return set_number(r, "shared_ffn", (double)count * (double)r->model->expert_ffn);
}

/* One shared expert of an expert's width; attention in chunks, but for every fourth layer. */
static pw_status llama4(const reader *r) {
    bool found;
    int64_t chunk = 0, longest = INT64_MAX, every = 4;
    PW_TRY(set_number(r, "shared_ffn", (double)r->model->expert_ffn));
    PW_TRY(find_whole(r, "attention_chunk_size", &found, &chunk));
    PW_TRY(find_whole(r, "max_position_embeddings", &found, &longest));
    PW_TRY(find_whole(r, "no_rope_layer_interval", &found, &every));
    if (!chunk || chunk >= longest) return PW_OK;
    PW_TRY(set_number(r, "window", (double)chunk));
    PW_TRY(set_bool(r, "window_chunks", true));
    return set_number(r, "global_every", (double)every);
}

static const struct { const char *name; pw_status (*apply)(const reader *r); } quirks[] = {
    {"shared", shared}, {"deepseek", deepseek}, {"llama4", llama4},
    {"bert", bert},
    {"falcon", falcon}, {"mpt", mpt}, {"opt", opt}, {"starcoder2", starcoder}, {"gpt_bigcode", bigcode}};

/* ---- What only some layers do ---- */

/* Every so manieth layer sees all: from a list of layer types, or a pattern. 0: none does. */
static pw_status read_global_every(const reader *r, int64_t *every) {
    const json_t *types = given(r->config, "layer_types");
    bool found;
    double on_file = pw_table_number_of(r->table, r->row, "global_every"); /* NaN: an empty cell */
    *every = on_file > 0 ? (int64_t)on_file : 0;
    if (!types) return find_whole(r, "sliding_window_pattern", &found, every);
    size_t count = json_array_size(types), first = count;
    for (size_t i = count; i-- > 0;) {
        const char *type = json_string_value(json_array_get(types, i));
        if (type && strcmp(type, "full_attention") == 0) first = i;
        else if (!type || strcmp(type, "sliding_attention") != 0)
            return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "a layer of type '%s' is not modelled", type ? type : "");
    }
    *every = first == count ? 0 : (int64_t)first + 1;
    for (size_t i = 0; i < count; i++) {
        bool is_full = strcmp(json_string_value(json_array_get(types, i)), "full_attention") == 0;
        if (is_full != (*every && (i + 1) % (size_t)*every == 0))
            return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL,
                           "layers with and without a sliding window in no regular order are not modelled");
    }
    return PW_OK;
}

static pw_status read_window(const reader *r) {
    const json_t *used = given(r->config, "use_sliding_window"), *window = given(r->config, "sliding_window");
    bool found;
    int64_t width = 0, longest = INT64_MAX, every = 0;
    if (!window || (used && !json_is_true(used))) return PW_OK;
    PW_TRY(whole(r, "sliding_window", window, &width));
    PW_TRY(find_whole(r, "max_position_embeddings", &found, &longest));
    PW_TRY(read_global_every(r, &every));
    if (width >= longest || every == 1) return PW_OK;
    PW_TRY(set_number(r, "window", (double)width));
    return every ? set_number(r, "global_every", (double)every) : PW_OK;
}

/* ---- Keys that shape no field ---- */

static bool row_reads(const reader *r, const char *key) {
    size_t length = strlen(key);
    for (size_t column = 1; column < pw_table_columns(r->table); column++) {
        const char *name = pw_table_column_name(r->table, column), *text = pw_table_text_at(r->table, r->row, column);
        if (strcmp(name, "refuse") == 0) break; /* what follows is prose */
        for (const char *at = text; (at = strstr(at, key)); at += length)
            if ((at == text || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ' || at[length] == '!')) return true;
    }
    return false;
}

/* A switch that is off, an empty list, 0 or null: nothing to speak of. */
static bool is_idle(const json_t *value) {
    return json_is_null(value) || json_is_false(value) || (json_is_number(value) && json_number_value(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) || (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_string(value) && !*json_string_value(value));
}

static pw_status read_other_keys(const reader *r, const pw_table *keys) {
    char unknown[400] = "";
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, value) {
        int row = pw_table_find_row(keys, key);
        if (row_reads(r, key) || key[0] == '_') continue;
        if (row < 0) {
            if (!is_idle(value) && used < sizeof unknown)
                used += (size_t)snprintf(unknown + used, sizeof unknown - used, "%s%s", used ? ", " : "", key);
            continue;
        }
        const char *effect = pw_table_text_of(keys, (size_t)row, "effect"), *text = pw_table_text_of(keys, (size_t)row, "text");
        if (is_idle(value) || strcmp(effect, "harmless") == 0 || strcmp(effect, "read") == 0) continue;
        if (strcmp(effect, "refuse") == 0)
            return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "'%s': %s", key, text);
        PW_TRY(pw_import_note(r->notes, r->arena, r->error, "%s: %s", key, text));
    }
    if (!used) return PW_OK;
    return pw_import_note(r->notes, r->arena, r->error, "keys that podwright does not know: %s", unknown);
}

/* ---- The file ---- */

static pw_status unknown_type(const reader *r, const char *type) {
    char hint[700] = "it knows:";
    size_t used = strlen(hint);
    const char *near = pw_table_nearest(r->table, type);
    for (size_t row = 0; row < pw_table_rows(r->table) && used < sizeof hint; row++)
        if (!*pw_table_text_of(r->table, row, "refuse"))
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", pw_table_text_at(r->table, row, 0));
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, hint, "podwright does not know the architecture '%s'", type);
}

/* A model of text inside one of several kinds: its settings lie one level down. */
static pw_status enter_text_model(reader *r) {
    const json_t *inner = given(r->config, "text_config");
    if (!inner || !json_is_object(inner)) return PW_OK;
    r->config = inner;
    return pw_import_note(r->notes, r->arena, r->error,
                          "the language model of text_config alone; vision and audio parts are left out");
}

static pw_status find_type(reader *r, const char **type) {
    const json_t *outer = given(r->config, "model_type");
    PW_TRY(enter_text_model(r));
    const json_t *value = given(r->config, "model_type");
    if (!value) value = outer;
    if (!value || !json_is_string(value))
        return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, "a config.json of HuggingFace Transformers names its architecture so",
                       "the file has no 'model_type'");
    *type = json_string_value(value);
    int row = pw_table_find_row(r->table, *type);
    if (row < 0) return unknown_type(r, *type);
    r->row = (size_t)row;
    return PW_OK;
}

static pw_status read_model(reader *r, const pw_table *keys) {
    const char *type = NULL;
    if (!json_is_object(r->config))
        return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, NULL, "the file holds no object of settings");
    PW_TRY(find_type(r, &type));
    if (*cell(r, "refuse"))
        return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "a %s model: %s", type, cell(r, "refuse"));
    PW_TRY(pw_description_defaults(&pw_model_kind, r->model, r->arena, r->error));
    PW_TRY(pw_field_set_text(&pw_model_kind, pw_kind_field(&pw_model_kind, "name"), r->model, type, r->arena, r->path, 0,
                             r->error));
    PW_TRY(read_sizes(r));
    PW_TRY(read_flag(r, "tie_word_embeddings", "tied"));
    PW_TRY(set_bool(r, "gated", pw_table_number_of(r->table, r->row, "gated") == 1));
    PW_TRY(set_bool(r, "query_norm", pw_table_number_of(r->table, r->row, "query_norm") == 1));
    PW_TRY(set_bool(r, "biases", pw_table_number_of(r->table, r->row, "biases") == 1));
    for (size_t i = 0; i < sizeof quirks / sizeof *quirks; i++)
        if (strcmp(quirks[i].name, cell(r, "quirk")) == 0) PW_TRY(quirks[i].apply(r));
    PW_TRY(read_window(r));
    if (*cell(r, "note")) PW_TRY(pw_import_note(r->notes, r->arena, r->error, "%s: %s", type, cell(r, "note")));
    PW_TRY(read_other_keys(r, keys));
    return pw_description_check(&pw_model_kind, r->model, r->path, 0, r->error);
}

pw_status pw_import_huggingface(const pw_catalogue *catalogue, const char *path, pw_model_desc *model, pw_arena *arena,
                                pw_import_notes *notes, pw_error *error) {
    reader r = {.path = path, .model = model, .arena = arena, .notes = notes, .error = error};
    const pw_table *keys;
    json_t *root;
    PW_TRY(pw_catalogue_need(catalogue, "huggingface-models", &r.table, error));
    PW_TRY(pw_catalogue_need(catalogue, "huggingface-keys", &keys, error));
    PW_TRY(pw_json_load(path, LARGEST_FILE, NULL, &root, error));
    r.config = root;
    pw_status status = read_model(&r, keys);
    json_decref(root);
    return status;
}
