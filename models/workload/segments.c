/* Which kernels run between two communications. Matrix multiplies and attention follow from the shape; everything beside
 * them moves the bytes that the stack's row states.
 *
 * With sequence parallel a block (attention or MLP) is: residual and norm on 1/t of the tokens, gather, multiplies,
 * scatter. Without, the norm joins the multiplies and an all_reduce follows. With t = 1 a layer is one segment. The
 * residual that ends a block is counted at the beginning of the next one.
 */
#include "models/workload/lower.h"
#include "models/workload/trainable.h"

/* --- Blocks ---------------------------------------------------------------------------------------------------- */

static void norm(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    if (backward && pw_plan_recomputes(plan, PW_MODULE_OPERATORS))
        move_bytes(low, PW_KERNEL_ELEMENTWISE, hidden_bytes(plan, stack->residual_forward), stack->residual_kernels_forward);
    if (backward && pw_plan_recomputes(plan, PW_MODULE_NORM))
        move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, stack->norm_forward), stack->norm_kernels_forward);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, hidden_bytes(plan, backward ? stack->residual_backward : stack->residual_forward),
               backward ? stack->residual_kernels_backward : stack->residual_kernels_forward);
    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, backward ? stack->norm_backward : stack->norm_forward),
               backward ? stack->norm_kernels_backward : stack->norm_kernels_forward);
}

/* Scores, softmax and context as separate kernels; the whole square is computed, whatever the mask. */
static void unfused(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    int64_t batch = plan->micro_batch * (plan->shape.heads / plan->t), s = plan->sequence, dim = plan->shape.head_dim;
    for (int i = 0; i < (backward ? 2 : 1); i++) {
        multiply(low, plan->precision16, batch, s, s, dim, 0);
        multiply(low, plan->precision16, batch, s, dim, s, 0);
    }
    double scores = (double)batch * (double)s * (double)s;
    move_bytes(low, PW_KERNEL_SOFTMAX, wide_bytes(plan, scores * (backward ? plan->stack.softmax_backward : plan->stack.softmax_forward)),
               backward ? plan->stack.softmax_kernels_backward : plan->stack.softmax_kernels_forward);
}

static void attention_core(lowering *low, pw_layer_kind kind, bool backward) {
    if (!low->plan->stack.flash_attention) unfused(low, backward);
    else flash(low, kind & PW_LAYER_LOCAL, low->plan->sequence, low->plan->sequence, !low->plan->model->bidirectional, backward);
}

static void query_norm(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    if (!plan->model->query_norm) return;
    double elements = (double)plan->tokens * (double)(plan->shape.query_width + plan->shape.key_width) / (double)plan->t;
    move_bytes(low, PW_KERNEL_NORM, wide_bytes(plan, elements * (backward ? plan->stack.norm_backward : plan->stack.norm_forward)),
               2 * (backward ? plan->stack.norm_kernels_backward : plan->stack.norm_kernels_forward));
}

static void attention_in_forward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double t = (double)plan->t, q = (double)shape->query_width / t, k = (double)shape->key_width / t;
    cast(low, plan->stack.cast_input * attention_input_width(plan) + plan->stack.cast_inner * (double)shape->output_width / t);
    if (shape->latent) {
        latent_expand(low, false);
    } else {
        cast_weights(low, (double)shape->hidden * 2 * (q + k), 4, false);
        linear_forward(low, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden);
        adapter_add(low, PW_TARGET_QKV, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden, false);
    }
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               element_bytes(plan, (double)plan->tokens * (plan->stack.query_forward * q + plan->stack.key_forward * k)),
               plan->stack.attention_kernels_forward);
    query_norm(low, false);
}

static void attention_in_backward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double t = (double)plan->t, q = (double)shape->query_width / t, k = (double)shape->key_width / t;
    double weights = shape->latent ? 0 : (double)shape->hidden * 2 * (q + k); /* of latent attention: counted there */
    if (pw_plan_recomputes(plan, PW_MODULE_OPERATORS)) { /* of query, key, value and output the second and the fourth */
        linear_forward(low, shape->key_width / plan->t, shape->hidden);
        move_bytes(low, PW_KERNEL_ELEMENTWISE,
                   element_bytes(plan, (double)plan->tokens * (plan->stack.query_forward * q + plan->stack.key_forward * k)),
                   plan->stack.attention_kernels_forward);
    }
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               element_bytes(plan, (double)plan->tokens * (plan->stack.query_backward * q + plan->stack.key_backward * k)) +
                   weight_bytes(low, plan->stack.wgrad_accumulate * weights),
               plan->stack.attention_kernels_backward);
    query_norm(low, true);
    cast(low, plan->stack.cast_gradient * (double)shape->hidden +
                  plan->stack.cast_gradient_inner * (q + k + (double)shape->value_width / t));
    if (shape->latent) {
        latent_expand(low, true);
        return;
    }
    cast_weights(low, weights, 4, true);
    adapter_add(low, PW_TARGET_QKV, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden, true);
    linear_backward(low, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden);
}

static void attention_out_forward(lowering *low) {
    linear_forward(low, low->plan->shape.hidden, low->plan->shape.output_width / low->plan->t);
    adapter_add(low, PW_TARGET_PROJ, low->plan->shape.hidden, low->plan->shape.output_width / low->plan->t, false);
}
static void attention_out_backward(lowering *low) {
    if (pw_plan_recomputes(low->plan, PW_MODULE_OPERATORS)) attention_out_forward(low);
    adapter_add(low, PW_TARGET_PROJ, low->plan->shape.hidden, low->plan->shape.output_width / low->plan->t, true);
    linear_backward(low, low->plan->shape.hidden, low->plan->shape.output_width / low->plan->t);
}

void mlp_forward(lowering *low, int64_t ffn) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double f = (double)ffn / (double)plan->t;
    cast(low, plan->stack.cast_input * (double)shape->hidden + plan->stack.cast_inner * f);
    cast_weights(low, (double)shape->hidden * f * (double)(shape->fc1 + 1), (double)(shape->fc1 + 1), false);
    linear_forward(low, shape->fc1 * ffn / plan->t, shape->hidden);
    adapter_add(low, PW_TARGET_FC1, shape->fc1 * ffn / plan->t, shape->hidden, false);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               element_bytes(plan, (double)plan->tokens * f *
                                       (plan->model->gated ? plan->stack.gated_forward : plan->stack.mlp_forward)),
               plan->stack.mlp_kernels_forward);
    linear_forward(low, shape->hidden, ffn / plan->t);
    adapter_add(low, PW_TARGET_FC2, shape->hidden, ffn / plan->t, false);
}

void mlp_backward(lowering *low, int64_t ffn) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double f = (double)ffn / (double)plan->t, h = (double)shape->hidden, fc1 = (double)shape->fc1;
    bool operators = pw_plan_recomputes(plan, PW_MODULE_OPERATORS); /* the sixth multiply: of a gated MLP the second inner one */
    if (ffn == shape->ffn && (operators || pw_plan_recomputes(plan, PW_MODULE_MLP))) { /* up to the second matrix's input */
        int64_t inner = operators ? shape->fc1 - 1 : shape->fc1;
        if (inner) linear_forward(low, inner * ffn / plan->t, shape->hidden);
        move_bytes(low, PW_KERNEL_ELEMENTWISE,
                   element_bytes(plan, (double)plan->tokens * f *
                                           (plan->model->gated ? plan->stack.gated_forward : plan->stack.mlp_forward)),
                   plan->stack.mlp_kernels_forward);
    }
    cast(low, plan->stack.cast_gradient * h + plan->stack.cast_gradient_inner * fc1 * f);
    cast_weights(low, h * f * (fc1 + 1), fc1 + 1, true);
    adapter_add(low, PW_TARGET_FC2, shape->hidden, ffn / plan->t, true);
    linear_backward(low, shape->hidden, ffn / plan->t);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               element_bytes(plan, (double)plan->tokens * f *
                                       (plan->model->gated ? plan->stack.gated_backward : plan->stack.mlp_backward)) +
                   weight_bytes(low, plan->stack.wgrad_accumulate * h * f * (fc1 + 1)),
               plan->stack.mlp_kernels_backward);
    adapter_add(low, PW_TARGET_FC1, shape->fc1 * ffn / plan->t, shape->hidden, true);
    linear_backward(low, shape->fc1 * ffn / plan->t, shape->hidden);
}

/* Attention of a rank that shares its sequence. A causal ring with two slices per rank (one early, one late): the own keys
 * cost a causal square of the rank's tokens, each received block half of a full one. With all keys gathered the two slices
 * see half of them on average. After an all_to_all the heads are fewer and the tokens more. */
static void context_segments(lowering *low, layer_segments *to, pw_layer_kind kind, bool backward) {
    const pw_plan *plan = low->plan;
    int64_t local = plan->sequence / plan->ring_ranks;
    double output = (double)plan->tokens * (double)plan->shape.output_width / (double)plan->t;
    if (plan->exchange == PW_CONTEXT_ALL_GATHER)
        flash(low, false, plan->sequence / plan->c, plan->sequence / 2, false, backward);
    else if (plan->ring_ranks == 1) attention_core(low, kind, backward);
    else flash(low, false, local, local, true, backward);
    to->ring_first = segment_end(low, backward ? "attention backward" : "attention");
    if (plan->ring_ranks == 1) return;
    flash(low, false, local, local / 2, false, backward);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, plan->stack.context_correction * output, ONE_SWEEP);
    to->ring_next = segment_end(low, backward ? "ring attention backward" : "ring attention");
}

static void forward_segments(lowering *low, pw_layer_kind kind) {
    const pw_plan *plan = low->plan;
    layer_segments *to = &low->layers[kind].forward_segments;
    bool apart = plan->sequence_parallel; /* norms see other tokens than multiplies */
    norm(low, false);
    latent_compress(low, false);
    if (apart) to->attention_norm = segment_end(low, "attention norm");
    attention_in_forward(low);
    if (plan->c > 1) {
        to->attention_in = segment_end(low, "attention in");
        context_segments(low, to, kind, false);
    } else {
        attention_core(low, kind, false);
    }
    attention_out_forward(low);
    if (plan->c > 1) to->attention_out = segment_end(low, "attention out");
    else if (plan->t > 1) to->attention = segment_end(low, "attention");
    norm(low, false);
    if (kind & PW_LAYER_EXPERTS) {
        expert_segments_forward(low, to);
        return;
    }
    if (apart) to->mlp_norm = segment_end(low, "mlp norm");
    mlp_forward(low, plan->shape.ffn);
    to->mlp = segment_end(low, plan->t > 1 || plan->c > 1 ? "mlp" : "layer");
}

/* Ends a segment whose last kernel is a weight gradient, which the stack may keep for the time of the reduction. */
static void end_before_wgrad(lowering *low, const char *name, const char *wgrad_name, uint32_t *segment, uint32_t *wgrad) {
    bool apart = low->plan->stack.tp_behind_wgrad && low->plan->t > 1 && low->half == HALF_BOTH && low->parts.count > 1;
    pw_segment_part last = apart ? ((pw_segment_part *)low->parts.items)[--low->parts.count] : (pw_segment_part){0};
    *segment = segment_end(low, name);
    if (!apart) return;
    *(pw_segment_part *)list_add(low, &low->parts, sizeof last) = last;
    *wgrad = segment_end(low, wgrad_name);
}

static void backward_segments(lowering *low, pw_layer_kind kind, enum half half, layer_segments *to) {
    const pw_plan *plan = low->plan;
    low->half = half;
    bool apart = plan->sequence_parallel;
    norm(low, true);
    if (kind & PW_LAYER_EXPERTS) {
        expert_segments_backward(low, to);
    } else {
        if (apart) to->mlp_norm = segment_end(low, "mlp norm backward");
        mlp_backward(low, plan->shape.ffn);
        if (plan->t > 1) end_before_wgrad(low, "mlp backward", "mlp weight gradient", &to->mlp, &to->mlp_wgrad);
    }
    norm(low, true);
    latent_compress(low, true);
    if (apart) to->attention_norm = segment_end(low, "attention norm backward");
    attention_out_backward(low);
    if (plan->c > 1) {
        to->attention_out = segment_end(low, plan->t > 1 ? "attention out backward" : "mlp and attention out backward");
        context_segments(low, to, kind, true);
    } else {
        bool again = plan->desc->recompute == PW_RECOMPUTE_SELECTIVE && !plan->stack.flash_attention;
        if (again || pw_plan_recomputes(plan, PW_MODULE_CORE_ATTENTION)) attention_core(low, kind, false);
        attention_core(low, kind, true);
    }
    attention_in_backward(low);
    const char *name = plan->c > 1 ? "attention in backward" : plan->t > 1 ? "attention backward" : "layer backward";
    uint32_t *last = plan->c > 1 ? &to->attention_in : &to->attention;
    if (plan->shape.latent) *last = segment_end(low, name);
    else end_before_wgrad(low, name, "attention weight gradient", last, &to->attention_wgrad);
    low->half = HALF_BOTH;
}

void layer_segments_lower(lowering *low, pw_layer_kind kind) {
    layer_segments none = {PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE,
                           PW_NONE, PW_NONE};
    layer_templates *to = &low->layers[kind];
    to->forward_segments = to->backward_segments = to->input_segments = to->weights_segments = none;
    forward_segments(low, kind);
    backward_segments(low, kind, HALF_BOTH, &to->backward_segments);
    if (low->plan->order->splits) {
        backward_segments(low, kind, HALF_INPUT, &to->input_segments);
        backward_segments(low, kind, HALF_WEIGHTS, &to->weights_segments);
    }
}
