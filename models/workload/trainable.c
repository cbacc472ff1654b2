#include "models/workload/trainable.h"

#include <math.h>
#include <string.h>

#include "models/workload/head.h"

const char *const pw_trainable_names[] = {"all", "lora", "head", NULL};
static const char *const target_names[PW_TARGET_COUNT] = {"qkv", "proj", "fc1", "fc2"};

static pw_status read_targets(pw_plan *plan, const char *file, int line, pw_error *error) {
    const char *word = plan->desc->lora_targets;
    plan->targets = 0;
    if (!word || !*word) word = "qkv proj fc1 fc2";
    for (word += strspn(word, " ,"); *word; word += strspn(word, " ,")) {
        size_t length = strcspn(word, " ,");
        int found = 0;
        while (found < PW_TARGET_COUNT && (strlen(target_names[found]) != length || strncmp(word, target_names[found], length) != 0))
            found++;
        if (found == PW_TARGET_COUNT)
            return pw_fail(error, PW_BAD_INPUT, file, line, "words among qkv, proj, fc1 and fc2",
                           "train.lora_targets: there is no matrix '%.*s'", (int)length, word);
        plan->targets |= 1u << found;
        word += length;
    }
    if (plan->targets) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "name at least one of qkv, proj, fc1 and fc2",
                   "train.lora_targets names no matrix");
}

static pw_status read_adapter(const pw_catalogue *catalogue, pw_adapter *adapter, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "adapters", &table, error));
    int row = pw_table_find_row(table, "lora");
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, NULL, "the table has no row 'lora'");
    const struct { const char *column; double *value; } numbers[] = {
        {"input_forward", &adapter->input_forward},     {"output_forward", &adapter->output_forward},
        {"input_backward", &adapter->input_backward},   {"output_backward", &adapter->output_backward},
        {"kernels_forward", &adapter->kernels_forward}, {"kernels_backward", &adapter->kernels_backward},
        {"kept_input", &adapter->kept_input}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i].value = pw_table_number_of(table, (size_t)row, numbers[i].column);
        if (!(*numbers[i].value >= 0 && *numbers[i].value <= 1000))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "0 to 1000",
                           "lora: column '%s' is missing or out of range", numbers[i].column);
    }
    adapter->source = pw_table_text_of(table, (size_t)row, "source");
    return PW_OK;
}

/* Combinations that are not modelled. */
static pw_status refuse(const pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    const struct { bool holds; const char *what; } refused[] = {
        {plan->model->experts > 0, "experts"},
        {plan->shape.latent, "latent attention"},
        {plan->model->prediction_layers > 0, "modules that predict further tokens"},
        {plan->sharding >= PW_SHARDING_ZERO2, "sharding of gradients or parameters"},
        {plan->order->splits, "a schedule that computes weight gradients apart"},
        {plan->p > 1 && plan->frozen > 0, "frozen layers under a pipeline"},
        {desc->trainable == PW_TRAIN_LORA && plan->frozen > 0, "adapters in some layers alone"},
        {plan->optimizer.factored || plan->optimizer.tensor_kernels > 0, "an optimizer that works tensor by tensor"},
        {desc->offload_optimizer || desc->offload_activations, "offload"},
        {desc->trainable == PW_TRAIN_LORA && plan->model->head != PW_HEAD_LANGUAGE_MODEL, "a head that is new to the model"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].holds)
            return pw_fail(error, PW_UNSUPPORTED, file, line, "train all weights, or leave it out",
                           "partial training with %s is not modelled", refused[i].what);
    return PW_OK;
}

pw_status pw_plan_trainable(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    if (desc->frozen_layers > plan->shape.layers)
        return pw_fail(error, PW_BAD_INPUT, file, line, "at most as many as the model has",
                       "train.frozen_layers %lld are more than the model's %lld layers", (long long)desc->frozen_layers,
                       (long long)plan->shape.layers);
    plan->frozen = desc->trainable == PW_TRAIN_HEAD ? plan->shape.layers : desc->frozen_layers;
    if (pw_plan_trains_all(plan)) return PW_OK;
    PW_TRY(refuse(plan, file, line, error));
    if (desc->trainable != PW_TRAIN_LORA) return PW_OK;
    if (desc->lora_rank % plan->t)
        return pw_fail(error, PW_BAD_INPUT, file, line, "tensor-parallel ranks share out the rank of an adapter",
                       "train.lora_rank %lld is not a multiple of tensor_parallel %lld", (long long)desc->lora_rank,
                       (long long)plan->t);
    PW_TRY(read_targets(plan, file, line, error));
    return read_adapter(catalogue, &plan->adapter, error);
}

double pw_plan_adapter_parameters(const pw_plan *plan) {
    const pw_model_shape *s = &plan->shape;
    double h = (double)s->hidden, f = (double)s->ffn, edges = 0;
    if (pw_plan_targets(plan, PW_TARGET_QKV)) edges += h + (double)(s->query_width + 2 * s->key_width);
    if (pw_plan_targets(plan, PW_TARGET_PROJ)) edges += (double)s->output_width + h;
    if (pw_plan_targets(plan, PW_TARGET_FC1)) edges += h + (double)s->fc1 * f;
    if (pw_plan_targets(plan, PW_TARGET_FC2)) edges += f + h;
    return edges * (double)plan->desc->lora_rank;
}

double pw_plan_layers_trained(const pw_plan *plan, int64_t first, int64_t layers) {
    int64_t from = first > plan->frozen ? first : plan->frozen, count = first + layers - from;
    if (count <= 0) return 0;
    if (plan->desc->trainable == PW_TRAIN_LORA) return (double)count * pw_plan_adapter_parameters(plan) / (double)plan->t;
    return pw_plan_layers_parameters(plan, from, count);
}

double pw_plan_stage_trained(const pw_plan *plan, int64_t stage) {
    if (pw_plan_trains_all(plan)) return pw_plan_stage_parameters(plan, stage);
    double parameters = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++) {
        parameters += pw_plan_layers_trained(plan, pw_plan_first_layer(plan, stage, chunk), pw_plan_layers(plan, stage, chunk));
        if (pw_plan_has_head(plan, stage, chunk) && pw_plan_trains_head(plan)) parameters += pw_plan_head_parameters(plan);
    }
    return parameters;
}

double pw_plan_flops_per_token(const pw_plan *plan, bool causal_convention) {
    double flops = pw_model_flops_per_token(plan->model, plan->sequence, causal_convention);
    if (pw_plan_trains_all(plan)) return flops;
    double head = pw_head_matrix_weights(plan->model, plan->sequence), layers = (double)plan->shape.layers, weights = 0;
    for (int64_t i = 0; i < plan->shape.layers; i++)
        weights += pw_layer_matrix_weights(plan->model, pw_model_layer_kind(plan->model, i));
    double attention = (flops - 6 * (weights + head)) / layers; /* of a layer; a third of it forward */
    if (!pw_plan_trains_head(plan)) flops -= 2 * head;
    for (int64_t i = 0; i < plan->shape.layers; i++) {
        double own = pw_layer_matrix_weights(plan->model, pw_model_layer_kind(plan->model, i));
        if (!pw_plan_reaches(plan, i)) flops -= 4 * own + attention * 2 / 3;
        else if (plan->desc->trainable == PW_TRAIN_LORA) flops += 6 * pw_plan_adapter_parameters(plan) - 2 * own;
    }
    return flops;
}
