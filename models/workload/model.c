/* Model descriptions: fields and presets. */
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
    {"experts", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(experts), 0, 65536, "0", NULL, NULL,
     "Experts of a layer, of which a router picks some for each token; 0: a plain MLP."},
    {"experts_per_token", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(experts_per_token), 0, 65536, "0", NULL, NULL,
     "Experts that work on a token."},
    {"expert_ffn", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(expert_ffn), 0, 16777216, "0", NULL, NULL,
     "Inner width of an expert; 0: as ffn."},
    {"shared_ffn", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(shared_ffn), 0, 16777216, "0", NULL, NULL,
     "Inner width of the experts that every token passes, together; 0: there are none."},
    {"dense_layers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(dense_layers), 0, 10000, "0", NULL, NULL,
     "Layers at the beginning that have a plain MLP in place of experts."},
    {"experts_every", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(experts_every), 0, 10000, "0", NULL, NULL,
     "Every so manieth layer has experts, the others a plain MLP; 0: all have."},
    {"query_rank", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(query_rank), 0, 1048576, "0", NULL, NULL,
     "Latent attention: width to which queries are compressed; 0: they are not."},
    {"latent_rank", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(latent_rank), 0, 1048576, "0", NULL, NULL,
     "Latent attention (DeepSeek MLA): width to which keys and values are compressed; 0: plain attention."},
    {"rotary_dim", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(rotary_dim), 0, 65536, "0", NULL, NULL,
     "Latent attention: rotary width of a head, beside head_dim; all heads share its keys."},
    {"value_dim", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(value_dim), 0, 65536, "0", NULL, NULL,
     "Latent attention: width of a head's values; 0: head_dim."},
    {"query_norm", PW_FIELD_BOOL, PW_UNIT_NONE, AT(query_norm), 0, 0, "false", NULL, NULL,
     "Norms of queries and keys, head by head (Qwen3)."},
    {"prediction_layers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(prediction_layers), 0, 100, "0", NULL, NULL,
     "Modules that predict further tokens (DeepSeek-V3): each a projection, a layer and the output layer once more."},
    {NULL}};
#undef AT

static pw_status check_experts(const pw_model_desc *model, const char *file, int line, pw_error *error) {
    if (model->experts && (model->experts_per_token < 1 || model->experts_per_token > model->experts))
        return pw_fail(error, PW_BAD_INPUT, file, line, "at least 1 and at most model.experts",
                       "model.experts_per_token %lld does not fit %lld experts", (long long)model->experts_per_token,
                       (long long)model->experts);
    if (!model->experts && (model->experts_per_token || model->expert_ffn || model->shared_ffn || model->dense_layers ||
                            model->experts_every > 1))
        return pw_fail(error, PW_BAD_INPUT, file, line, "give experts, or leave the others out",
                       "experts_per_token, expert_ffn, shared_ffn, dense_layers and experts_every need model.experts");
    if (!model->latent_rank && (model->query_rank || model->rotary_dim || model->value_dim))
        return pw_fail(error, PW_BAD_INPUT, file, line, "give latent_rank, or leave the others out",
                       "query_rank, rotary_dim and value_dim need model.latent_rank");
    if (model->latent_rank && model->kv_heads && model->kv_heads != model->heads)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave kv_heads out",
                       "with latent attention every head has its own keys, but model.kv_heads is %lld of %lld heads",
                       (long long)model->kv_heads, (long long)model->heads);
    return PW_OK;
}

static const double usual_masked_share = 0.15; /* the field's default */

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
    if (model->head != PW_HEAD_MASKED_LM && model->masked_share != 0 && model->masked_share != usual_masked_share)
        return pw_fail(error, PW_BAD_INPUT, file, line, "head = \"masked_lm\", or leave it out",
                       "model.masked_share needs a head that predicts masked positions");
    return check_experts(model, file, line, error);
}

const pw_kind pw_model_kind = {"model", "A transformer, decoder or encoder, dense or with experts: the shape that decides its cost.",
                               sizeof(pw_model_desc), model_fields, check_model};

pw_status pw_model_preset(const pw_catalogue *catalogue, const char *name, pw_model_desc *model, pw_arena *arena,
                          pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "models", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) {
        char hint[700];
        pw_table_names(table, "models:", hint, sizeof hint);
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
