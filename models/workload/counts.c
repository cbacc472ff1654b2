/* Kinds of layers, and how many weights and FLOPs they have. */
#include <math.h>

#include "models/workload/head.h"
#include "models/workload/plan.h"

pw_model_shape pw_model_shape_of(const pw_model_desc *model) {
    int64_t kv_heads = model->kv_heads ? model->kv_heads : model->heads;
    int64_t head_dim = model->head_dim ? model->head_dim : model->hidden / model->heads;
    int64_t value_dim = model->value_dim ? model->value_dim : head_dim, ffn = model->ffn ? model->ffn : 4 * model->hidden;
    head_dim += model->rotary_dim;
    pw_model_shape shape = {.layers = model->layers,
                            .hidden = model->hidden,
                            .heads = model->heads,
                            .kv_heads = kv_heads,
                            .head_dim = head_dim,
                            .value_dim = value_dim,
                            .ffn = ffn,
                            .query_width = model->heads * head_dim,
                            .key_width = kv_heads * head_dim,
                            .value_width = kv_heads * value_dim,
                            .output_width = model->heads * value_dim,
                            .fc1 = model->gated ? 2 : 1,
                            .expert_ffn = model->expert_ffn ? model->expert_ffn : ffn,
                            .latent = model->latent_rank + model->rotary_dim};
    return shape;
}

pw_layer_kind pw_model_layer_kind(const pw_model_desc *model, int64_t layer) {
    bool sees_all = !model->window || (model->global_every && (layer + 1) % model->global_every == 0);
    bool experts = model->experts && layer >= model->dense_layers && (!model->experts_every || (layer + 1) % model->experts_every == 0);
    return (sees_all ? 0u : PW_LAYER_LOCAL) | (experts ? PW_LAYER_EXPERTS : 0u);
}

/* --- Weights ----------------------------------------------------------------------------------------------------- */

/* Of latent attention: those that compress are on every tensor-parallel rank. */
static double compressing_weights(const pw_model_desc *model, const pw_model_shape *shape) {
    if (!model->latent_rank) return 0;
    return (double)shape->hidden * (double)(model->query_rank + shape->latent);
}

static double attention_weights(const pw_model_desc *model, const pw_model_shape *shape) { /* without the former */
    double h = (double)shape->hidden, q = (double)shape->query_width, output = (double)shape->output_width;
    if (!model->latent_rank) return h * (double)(shape->query_width + shape->key_width + shape->value_width) + output * h;
    double plain_width = (double)(shape->heads * (shape->head_dim - model->rotary_dim + shape->value_dim));
    return q * (model->query_rank ? (double)model->query_rank : h) + (double)model->latent_rank * plain_width + output * h;
}

static double mlp_weights(const pw_model_shape *shape, int64_t ffn) {
    return (double)shape->hidden * (double)((shape->fc1 + 1) * ffn);
}

double pw_layer_matrix_weights(const pw_model_desc *model, pw_layer_kind kind) {
    pw_model_shape shape = pw_model_shape_of(model);
    double attention = attention_weights(model, &shape) + compressing_weights(model, &shape);
    if (!(kind & PW_LAYER_EXPERTS)) return attention + mlp_weights(&shape, shape.ffn);
    return attention + (double)(shape.hidden * model->experts) + mlp_weights(&shape, model->shared_ffn) +
           (double)model->experts_per_token * mlp_weights(&shape, shape.expert_ffn);
}

double pw_layer_parameters(const pw_model_desc *model, pw_layer_kind kind, int64_t tensor_parallel) {
    pw_model_shape shape = pw_model_shape_of(model);
    bool experts = kind & PW_LAYER_EXPERTS;
    int64_t ffn = experts ? model->shared_ffn : shape.ffn;
    double t = (double)tensor_parallel, h = (double)shape.hidden;
    double split = attention_weights(model, &shape) + mlp_weights(&shape, ffn), whole = 2 * h; /* two norms */
    whole += compressing_weights(model, &shape) + (double)(model->query_rank + model->latent_rank); /* and their norms */
    if (experts) whole += h * (double)model->experts;
    if (model->query_norm) whole += 2 * (double)shape.head_dim;
    if (model->biases) {
        split += (double)(shape.query_width + shape.key_width + shape.value_width + shape.fc1 * ffn);
        whole += 2 * h + 2 * h; /* of the norms; of the two row-parallel layers */
    }
    return split / t + whole;
}

double pw_layer_expert_parameters(const pw_model_desc *model, pw_layer_kind kind) {
    if (!(kind & PW_LAYER_EXPERTS)) return 0;
    pw_model_shape shape = pw_model_shape_of(model);
    double biases = model->biases ? (double)(shape.fc1 * shape.expert_ffn + shape.hidden) : 0;
    return (double)model->experts * (mlp_weights(&shape, shape.expert_ffn) + biases);
}

double pw_prediction_parameters(const pw_model_desc *model, int64_t tensor_parallel) {
    double h = (double)model->hidden;
    pw_layer_kind kind = pw_model_layer_kind(model, model->layers - 1);
    return 2 * h * h / (double)tensor_parallel + 3 * h + pw_layer_parameters(model, kind, tensor_parallel);
}

double pw_model_parameters(const pw_model_desc *model) {
    double h = (double)model->hidden, embedding = (double)model->vocabulary * h, layers = 0;
    double norm = model->biases ? 2 * h : h; /* behind the last layer, or behind the embedding */
    bool own_output = !model->tied && model->head != PW_HEAD_SPAN;
    for (int64_t i = 0; i < model->layers; i++) {
        pw_layer_kind kind = pw_model_layer_kind(model, i);
        layers += pw_layer_parameters(model, kind, 1) + pw_layer_expert_parameters(model, kind);
    }
    double predictions = pw_prediction_parameters(model, 1) +
                         pw_layer_expert_parameters(model, pw_model_layer_kind(model, model->layers - 1));
    return layers + embedding * (own_output ? 2 : 1) + (double)(model->positions + model->token_types) * h + norm +
           pw_head_own_parameters(model, (double)model->vocabulary) + (double)model->prediction_layers * predictions;
}

/* A token's share of the head depends on the sequence. */
static double active_weights(const pw_model_desc *model, int64_t sequence) {
    double h = (double)model->hidden, head = pw_head_matrix_weights(model, sequence), weights = head;
    for (int64_t i = 0; i < model->layers; i++) weights += pw_layer_matrix_weights(model, pw_model_layer_kind(model, i));
    pw_layer_kind last = pw_model_layer_kind(model, model->layers - 1);
    return weights + (double)model->prediction_layers * (2 * h * h + head + pw_layer_matrix_weights(model, last));
}

double pw_model_active_parameters(const pw_model_desc *model) { return active_weights(model, 1); }

/* --- FLOPs ------------------------------------------------------------------------------------------------------- */

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
    double keys = 0; /* seen by a token, over all layers */
    for (int64_t i = 0; i < model->layers; i++)
        keys += mean_keys(model, pw_model_layer_kind(model, i), sequence, causal);
    keys += (double)model->prediction_layers *
            mean_keys(model, pw_model_layer_kind(model, model->layers - 1), sequence, causal);
    return 6 * active_weights(model, sequence) + 6 * keys * (double)(shape.query_width + shape.output_width);
}
