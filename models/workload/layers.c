/* Templates: the passes of a layer and of the ends of the model.
 *
 * A tensor-parallel collective is exposed in the share tp_exposed that the stack's row states: that share comes before the
 * multiply which it feeds (after the one which it drains), the rest runs beside the multiply, as pipelined (chunked)
 * overlap does. What the multiply cannot cover is exposed as well; that comes out of the execution. The tensor stream is
 * served in order, so the last part of a collective ends after all of it.
 */
#include "models/workload/lower.h"

/* --- A block: gather, multiply, scatter ------------------------------------------------------------------------- */

void host_wait_add(lowering *low, list *ops, int16_t slot) {
    if (low->plan->stack.layer_sync) op_add(low, ops, PW_OP_SYNC, 0, CATEGORY_COMPUTE)->waits[0] = slot;
}

void tensor_add(lowering *low, list *ops, pw_collective_kind kind, double bytes, int16_t wait, int16_t signal) {
    if (!(bytes > 0)) return;
    collective_add(low, ops, kind, GROUP_TENSOR, bytes, CATEGORY_TENSOR, STREAM_TENSOR, wait, signal);
    if (signal != PW_NO_SLOT) host_wait_add(low, ops, signal);
}

typedef struct block {
    uint32_t norm, multiply; /* segments; multiply PW_NONE: the ring below */
    const layer_segments *ring;
    double gather_bytes, scatter_bytes;
    uint32_t wgrad; /* a weight gradient beside which the scatter runs; PW_NONE: none */
    double regather_bytes; /* of the input, gathered again for the weights' gradient; 0: none */
    bool backward;
} block;

static void multiply_add(lowering *low, list *ops, const block *b, int16_t wait) {
    if (!b->ring) {
        compute_add(low, ops, b->multiply, wait, CATEGORY_COMPUTE);
        return;
    }
    compute_add(low, ops, b->backward ? b->ring->attention_out : b->ring->attention_in, wait, CATEGORY_COMPUTE);
    context_add(low, ops, b->ring, b->backward);
    compute_add(low, ops, b->backward ? b->ring->attention_in : b->ring->attention_out, PW_NO_SLOT, CATEGORY_COMPUTE);
}

static void block_add(lowering *low, list *ops, const block *b) {
    const pw_plan *plan = low->plan;
    double exposed = plan->stack.tp_exposed;
    if (plan->t == 1) {
        multiply_add(low, ops, b, PW_NO_SLOT);
    } else if (plan->sequence_parallel) {
        compute_add(low, ops, b->norm, SLOT_SCATTER, CATEGORY_COMPUTE);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, exposed * b->gather_bytes, SLOT_COMPUTE, SLOT_GATHER);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, (1 - exposed) * b->gather_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, b->regather_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        tensor_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, (1 - exposed) * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
        multiply_add(low, ops, b, SLOT_GATHER);
        tensor_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, exposed * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
    } else {
        tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, (1 - exposed) * b->scatter_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        multiply_add(low, ops, b, SLOT_SCATTER);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, exposed * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
    }
    compute_add(low, ops, b->wgrad, PW_NO_SLOT, CATEGORY_COMPUTE);
}

/* --- Layers ------------------------------------------------------------------------------------------------------ */

/* Bytes that tensor-parallel ranks exchange of a micro-batch: its hidden states, and what they gather for attention. */
static double hidden_message(const pw_plan *plan) { return plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.hidden; }
static double attention_message(const pw_plan *plan) {
    return plan->format.element_bytes * (double)plan->tokens * attention_input_width(plan);
}

static void layer_forward_add(lowering *low, list *ops, pw_layer_kind kind) {
    const pw_plan *plan = low->plan;
    const layer_segments *s = &low->layers[kind].forward_segments;
    double hidden = hidden_message(plan), input = attention_message(plan);
    bool small = pw_plan_casts(plan) && plan->stack.fp8_gather;
    block b = {.norm = s->attention_norm, .multiply = s->attention, .ring = plan->c > 1 ? s : NULL, .wgrad = PW_NONE,
               .gather_bytes = small ? input / 2 : input, .scatter_bytes = hidden};
    if (b.ring || b.multiply != PW_NONE) block_add(low, ops, &b);
    if (kind & PW_LAYER_EXPERTS) {
        experts_add(low, ops, s, false);
        return;
    }
    b.norm = s->mlp_norm;
    b.multiply = s->mlp;
    b.ring = NULL;
    b.gather_bytes = small ? hidden / 2 : hidden;
    block_add(low, ops, &b);
}

/* regathers: the pass makes gradients of weights too, for which it gathers the inputs again. */
static void layer_backward_add(lowering *low, list *ops, pw_layer_kind kind, const layer_segments *s, bool regathers) {
    const pw_plan *plan = low->plan;
    double hidden = hidden_message(plan);
    bool small = pw_plan_casts(plan) && plan->stack.fp8_gather;
    block b = {.norm = s->mlp_norm, .multiply = s->mlp, .wgrad = s->mlp_wgrad, .backward = true, .gather_bytes = hidden, .scatter_bytes = hidden,
               .regather_bytes = plan->stack.tp_regather && regathers ? (small ? hidden / 2 : hidden) : 0};
    if (kind & PW_LAYER_EXPERTS) experts_add(low, ops, s, true);
    else if (b.multiply != PW_NONE) block_add(low, ops, &b);
    b.scatter_bytes = attention_message(plan);
    if (plan->stack.tp_regather && regathers) b.regather_bytes = small ? b.scatter_bytes / 2 : b.scatter_bytes;
    b.norm = s->attention_norm;
    b.multiply = s->attention;
    b.wgrad = s->attention_wgrad;
    b.ring = plan->c > 1 ? s : NULL;
    block_add(low, ops, &b);
}

/* Gradients of the weights alone: no neighbour waits for them. What sequence parallel gathers again comes before each. */
static void layer_weights_add(lowering *low, list *ops, const layer_segments *s) {
    const pw_plan *plan = low->plan;
    bool small = pw_plan_casts(plan) && plan->stack.fp8_gather;
    bool gathers = plan->sequence_parallel && plan->stack.tp_regather;
    double hidden = hidden_message(plan), input = attention_message(plan);
    const struct { uint32_t segment; double gathers; } parts[] = {
        {s->mlp, hidden}, {s->shared, hidden}, {s->combine, 0}, {s->experts, 0}, {s->router, 0},
        {s->attention_out, 0}, {s->attention_in, input}, {s->attention, input}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].segment == PW_NONE) continue;
        bool first = gathers && parts[i].gathers > 0;
        if (first)
            tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, parts[i].gathers / (small ? 2 : 1), PW_NO_SLOT, SLOT_GATHER);
        compute_add(low, ops, parts[i].segment, first ? SLOT_GATHER : PW_NO_SLOT, CATEGORY_COMPUTE);
    }
}

static void lower_split_kind(lowering *low, pw_layer_kind kind, layer_templates *to) {
    list input = {0}, weights = {0};
    if (low->plan->desc->recompute == PW_RECOMPUTE_FULL) call_add(low, &input, to->forward, 1);
    layer_backward_add(low, &input, kind, &to->input_segments, false);
    host_wait_add(low, &input, SLOT_COMPUTE);
    to->input = template_add(low, "layer backward (input)", &input);
    layer_weights_add(low, &weights, &to->weights_segments);
    host_wait_add(low, &weights, SLOT_COMPUTE);
    to->weights = template_add(low, "layer backward (weights)", &weights);
}

static void lower_kind(lowering *low, pw_layer_kind kind) {
    layer_templates *to = &low->layers[kind];
    if (to->lowered) return;
    to->lowered = true;
    layer_segments_lower(low, kind);
    list forward = {0}, backward = {0};
    layer_forward_add(low, &forward, kind);
    host_wait_add(low, &forward, SLOT_COMPUTE);
    to->forward = template_add(low, "layer", &forward);
    if (low->plan->desc->recompute == PW_RECOMPUTE_FULL) call_add(low, &backward, to->forward, 1);
    if (low->plan->regathers) regather_add(low, &backward, kind);
    layer_backward_add(low, &backward, kind, &to->backward_segments, true);
    host_wait_add(low, &backward, SLOT_COMPUTE);
    to->backward = template_add(low, "layer backward", &backward);
    if (low->plan->order->splits) lower_split_kind(low, kind, to);
}

void lower_layers(lowering *low) {
    for (int64_t layer = 0; layer < low->plan->shape.layers; layer++)
        lower_kind(low, pw_model_layer_kind(low->plan->model, layer));
}

/* --- The ends of the model --------------------------------------------------------------------------------------- */

void embedding_add(lowering *low, list *ops, bool backward) {
    const pw_plan *plan = low->plan;
    double hidden = hidden_message(plan);
    if (!backward) {
        compute_add(low, ops, low->embedding_forward, SLOT_SCATTER, CATEGORY_COMPUTE);
        if (plan->t > 1)
            tensor_add(low, ops, plan->sequence_parallel ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, hidden,
                       SLOT_COMPUTE, SLOT_SCATTER);
        return;
    }
    if (plan->sequence_parallel) tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, SLOT_GATHER);
    compute_add(low, ops, low->embedding_backward, plan->sequence_parallel ? SLOT_GATHER : SLOT_SCATTER, CATEGORY_COMPUTE);
}

void head_add(lowering *low, list *ops, bool backward) {
    const pw_plan *plan = low->plan;
    double hidden = hidden_message(plan);
    if (!backward) {
        compute_add(low, ops, low->head_norm_forward, SLOT_SCATTER, CATEGORY_COMPUTE);
        if (plan->sequence_parallel) tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, SLOT_GATHER);
        compute_add(low, ops, low->head_forward, SLOT_GATHER, CATEGORY_COMPUTE);
        if (plan->t == 1 || plan->model->head == PW_HEAD_SPAN) return;
        /* cross entropy over a split vocabulary: the largest logit, the sum of exponents, the target's logit */
        for (int i = 0; i < 3; i++)
            tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, 4 * (double)plan->head_tokens, SLOT_COMPUTE, SLOT_SCATTER);
        return;
    }
    if (plan->sequence_parallel && plan->stack.tp_regather)
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, PW_NO_SLOT);
    compute_add(low, ops, low->head_backward, SLOT_SCATTER, CATEGORY_COMPUTE);
    if (plan->t > 1)
        tensor_add(low, ops, plan->sequence_parallel ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, hidden,
                   SLOT_COMPUTE, SLOT_SCATTER);
    compute_add(low, ops, low->head_norm_backward, SLOT_SCATTER, CATEGORY_COMPUTE);
}
