/* Model descriptions: fields, presets, parameter and FLOP counts. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/head.h"
#include "models/workload/plan.h"

static const char *const head_names[] = {"language_model", "masked_lm", "span", NULL};

#define AT(field) offsetof(pw_model_desc, field)
static const pw_field model_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the model, for reports."},
    {"layers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(layers), 1, 10000, NULL, NULL, NULL, "Transformer layers."},
    {"hidden", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(hidden), 1, 1048576, NULL, NULL, NULL, "Width of the hidden state."},
    {"heads", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(heads), 1, 16384, NULL, NULL, NULL, "Attention heads (of queries)."},
    {"kv_heads", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(kv_heads), 0, 16384, "0", NULL, NULL,
     "Heads of keys and values (grouped-query attention); 0: as many as heads."},
    {"head_dim", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(head_dim), 0, 65536, "0", NULL, NULL,
     "Width of a head; 0: hidden / heads."},
    {"ffn", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(ffn), 0, 16777216, "0", NULL, NULL,
     "Inner width of the MLP; 0: 4 x hidden."},
    {"gated", PW_FIELD_BOOL, PW_UNIT_NONE, AT(gated), 0, 0, "false", NULL, NULL,
     "The MLP has three matrices (SwiGLU) instead of two."},
    {"vocabulary", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(vocabulary), 1, 100000000, NULL, NULL, NULL,
     "Tokens of the vocabulary, before padding."},
    {"tied", PW_FIELD_BOOL, PW_UNIT_NONE, AT(tied), 0, 0, "false", NULL, NULL,
     "The output layer shares the embedding's weights."},
    {"biases", PW_FIELD_BOOL, PW_UNIT_NONE, AT(biases), 0, 0, "false", NULL, NULL,
     "Linear layers and norms carry biases (GPT-2/3); otherwise weights alone (Llama)."},
    {"positions", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(positions), 0, 100000000, "0", NULL, NULL,
     "Learned embeddings of so many positions; 0: rotary or none."},
    {"bidirectional", PW_FIELD_BOOL, PW_UNIT_NONE, AT(bidirectional), 0, 0, "false", NULL, NULL,
     "An encoder: every token sees its whole sequence, not only those before it."},
    {"post_norm", PW_FIELD_BOOL, PW_UNIT_NONE, AT(post_norm), 0, 0, "false", NULL, NULL,
     "Norms behind the residuals, one behind the embedding, none behind the last layer (BERT)."},
    {"token_types", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(token_types), 0, 1000000, "0", NULL, NULL,
     "Learned embeddings of so many kinds of segments (BERT: 2); 0: none."},
    {"head", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(head), 0, 0, "language_model", head_names, NULL,
     "What follows the last layer: the output layer for every token; for masked positions, with a next-sentence classifier "
     "(masked_lm); begin and end of an answer (span, SQuAD)."},
    {"masked_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(masked_share), 0, 1, "0.15", NULL, NULL,
     "Share of a sequence's positions that a masked_lm head predicts, rounded up, one at the least."},
    {"window", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(window), 0, 1073741824, "0", NULL, NULL,
     "Keys that a query of a local layer sees; 0: every layer sees the whole sequence."},
    {"window_chunks", PW_FIELD_BOOL, PW_UNIT_NONE, AT(window_chunks), 0, 0, "false", NULL, NULL,
     "The window is a chunk of the sequence (Llama 4) instead of sliding along."},
    {"global_every", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(global_every), 0, 10000, "0", NULL, NULL,
     "With a window, every so manieth layer sees the whole sequence; 0: none does."},
    {NULL}};
#undef AT

static pw_status check_model(const void *description, const char *file, int line, pw_error *error) {
    const pw_model_desc *model = description;
    int64_t kv_heads = model->kv_heads ? model->kv_heads : model->heads;
    if (!model->head_dim && model->hidden % model->heads)
        return pw_fail(error, PW_BAD_INPUT, file, line, "give head_dim, or let heads divide hidden",
                       "model.hidden %lld is not a multiple of model.heads %lld", (long long)model->hidden,
                       (long long)model->heads);
    if (model->heads % kv_heads)
        return pw_fail(error, PW_BAD_INPUT, file, line, "each group of query heads shares one key and value head",
                       "model.heads %lld is not a multiple of model.kv_heads %lld", (long long)model->heads,
                       (long long)kv_heads);
    if (model->window && model->bidirectional)
        return pw_fail(error, PW_UNSUPPORTED, file, line, "leave one of the two out",
                       "attention within a window is modelled for decoders only, but the model is bidirectional");
    if (!model->window && (model->global_every || model->window_chunks))
        return pw_fail(error, PW_BAD_INPUT, file, line, "give window, or leave out global_every and window_chunks",
                       "model.%s needs model.window", model->global_every ? "global_every" : "window_chunks");
    return PW_OK;
}

const pw_kind pw_model_kind = {"model", "A dense transformer, decoder or encoder: the shape that decides its cost.",
                               sizeof(pw_model_desc), model_fields, check_model};

pw_status pw_model_preset(const pw_catalogue *catalogue, const char *name, pw_model_desc *model, pw_arena *arena,
                          pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "models", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) {
        char hint[700] = "models:";
        size_t used = strlen(hint);
        for (size_t i = 0; i < pw_table_rows(table) && used < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", pw_table_text_at(table, i, 0));
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "no model is called '%s'", name);
    }
    PW_TRY(pw_description_defaults(&pw_model_kind, model, arena, error));
    for (const pw_field *field = model_fields; field->name; field++) {
        int column = pw_table_find_column(table, field->name);
        if (column < 0) continue;
        double value = pw_table_number_at(table, (size_t)row, (size_t)column);
        if (field->type == PW_FIELD_TEXT) {
            PW_TRY(pw_field_set_text(&pw_model_kind, field, model, pw_table_text_at(table, (size_t)row, (size_t)column),
                                     arena, pw_table_file(table), pw_table_line(table, (size_t)row), error));
        } else if (field->type == PW_FIELD_CHOICE) {
            const char *text = pw_table_text_at(table, (size_t)row, (size_t)column);
            if (!*text) continue;
            PW_TRY(pw_field_set_text(&pw_model_kind, field, model, text, arena, pw_table_file(table),
                                     pw_table_line(table, (size_t)row), error));
        } else if (isnan(value)) {
            continue; /* an empty cell: the default */
        } else if (field->type == PW_FIELD_BOOL) {
            PW_TRY(pw_field_set_bool(&pw_model_kind, field, model, value != 0, pw_table_file(table),
                                     pw_table_line(table, (size_t)row), error));
        } else {
            PW_TRY(pw_field_set_number(&pw_model_kind, field, model, value, false, PW_UNIT_NONE, pw_table_file(table),
                                       pw_table_line(table, (size_t)row), error));
        }
    }
    return pw_description_check(&pw_model_kind, model, pw_table_file(table), pw_table_line(table, (size_t)row), error);
}

pw_model_shape pw_model_shape_of(const pw_model_desc *model) {
    int64_t kv_heads = model->kv_heads ? model->kv_heads : model->heads;
    int64_t head_dim = model->head_dim ? model->head_dim : model->hidden / model->heads;
    pw_model_shape shape = {.layers = model->layers,
                            .hidden = model->hidden,
                            .heads = model->heads,
                            .kv_heads = kv_heads,
                            .head_dim = head_dim,
                            .ffn = model->ffn ? model->ffn : 4 * model->hidden,
                            .query_width = model->heads * head_dim,
                            .key_width = kv_heads * head_dim,
                            .fc1 = model->gated ? 2 : 1};
    return shape;
}

pw_layer_kind pw_model_layer_kind(const pw_model_desc *model, int64_t layer) {
    bool sees_all = !model->window || (model->global_every && (layer + 1) % model->global_every == 0);
    return sees_all ? 0 : PW_LAYER_LOCAL;
}

double pw_layer_matrix_weights(const pw_model_shape *shape, pw_layer_kind kind) {
    (void)kind;
    double h = (double)shape->hidden;
    return h * (double)(2 * shape->query_width + 2 * shape->key_width) + h * (double)((shape->fc1 + 1) * shape->ffn);
}

double pw_layer_parameters(const pw_model_desc *model, pw_layer_kind kind, int64_t tensor_parallel) {
    pw_model_shape shape = pw_model_shape_of(model);
    double t = (double)tensor_parallel, h = (double)shape.hidden;
    double split = pw_layer_matrix_weights(&shape, kind), whole = 2 * h; /* two norms */
    if (model->biases) {
        split += (double)(shape.query_width + 2 * shape.key_width + shape.fc1 * shape.ffn);
        whole += 2 * h + 2 * h; /* of the norms; of the two row-parallel layers */
    }
    return split / t + whole;
}

double pw_model_parameters(const pw_model_desc *model) {
    double h = (double)model->hidden, embedding = (double)model->vocabulary * h;
    double norm = model->biases ? 2 * h : h; /* behind the last layer, or behind the embedding */
    bool own_output = !model->tied && model->head != PW_HEAD_SPAN;
    double layers = 0;
    for (int64_t i = 0; i < model->layers; i++) layers += pw_layer_parameters(model, pw_model_layer_kind(model, i), 1);
    return layers + embedding * (own_output ? 2 : 1) + (double)(model->positions + model->token_types) * h + norm +
           pw_head_own_parameters(model, (double)model->vocabulary);
}

/* Half of what can be seen under a causal mask; a sliding window is seen whole but for the beginning. */
static double mean_keys(const pw_model_desc *model, pw_layer_kind kind, int64_t sequence, bool causal) {
    double all = (double)sequence, window = fmin((double)model->window, all);
    if (!(kind & PW_LAYER_LOCAL)) return causal ? all / 2 : all;
    if (model->window_chunks) return causal ? window / 2 : window;
    return causal ? window * (1 - window / (2 * all)) : window;
}

double pw_model_flops_per_token(const pw_model_desc *model, int64_t sequence, bool causal_convention) {
    pw_model_shape shape = pw_model_shape_of(model);
    bool causal = causal_convention && !model->bidirectional;
    double weights = pw_head_matrix_weights(model, sequence), keys = 0; /* keys: seen by a token, over all layers */
    for (int64_t i = 0; i < model->layers; i++) {
        pw_layer_kind kind = pw_model_layer_kind(model, i);
        weights += pw_layer_matrix_weights(&shape, kind);
        keys += mean_keys(model, kind, sequence, causal);
    }
    return 6 * weights + 12 * keys * (double)shape.query_width;
}
