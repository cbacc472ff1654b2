/* Which kernels run between two communications. Matrix multiplies and attention follow from the shape; everything beside
 * them moves the bytes that the stack's row states.
 *
 * With sequence parallel a block (attention or MLP) is: residual and norm on 1/t of the tokens, gather, multiplies,
 * scatter. Without, the norm joins the multiplies and an all_reduce follows. With t = 1 a layer is one segment. The
 * residual that ends a block is counted at the beginning of the next one.
 */
#include "models/workload/lower.h"

/* The gradient of a weight is written by the accumulation that the stack's row counts, so the multiply itself writes
 * nothing. A kernel's 0 bytes stand for "as the operands"; this is so little that all gradients of a model make no byte. */
#define OUTPUT_COUNTED_APART 1e-9

/* One sweep over one tensor is one kernel, however a stack fuses: it accumulates a gradient, or corrects a ring's output. */
enum { ONE_SWEEP = 1 };

static void part_add(lowering *low, const pw_kernel *kernel, uint32_t repeats) {
    if (repeats == 0) return;
    *(pw_kernel *)list_add(low, &low->kernels, sizeof *kernel) = *kernel;
    pw_segment_part *part = list_add(low, &low->parts, sizeof *part);
    part->kernel = low->kernels.count - 1;
    part->repeats = repeats;
}

static void move_bytes(lowering *low, pw_kernel_class kind, double bytes, double kernels) {
    if (!(bytes > 0)) return;
    uint32_t count = kernels >= 1 ? (uint32_t)kernels : 1;
    part_add(low, &(pw_kernel){.kind = kind, .precision = low->plan->precision16, .memory = {.bytes = bytes / count}}, count);
}

static void multiply(lowering *low, pw_precision precision, int64_t batch, int64_t m, int64_t n, int64_t k,
                     double output_bytes) {
    part_add(low, &(pw_kernel){.kind = PW_KERNEL_GEMM, .precision = precision,
                               .gemm = {.batch = batch, .m = m, .n = n, .k = k, .output_bytes_per_element = output_bytes,
                                        .quantised = true}}, 1);
}

/* out = in x weight, [tokens, k] x [k, n] */
static void linear_forward(lowering *low, int64_t n, int64_t k) {
    multiply(low, low->plan->precision, 1, low->plan->tokens, n, k, 0);
}
static void linear_backward(lowering *low, int64_t n, int64_t k) {
    multiply(low, low->plan->precision, 1, low->plan->tokens, k, n, 0);
    multiply(low, low->plan->precision, 1, n, k, low->plan->tokens, OUTPUT_COUNTED_APART);
}

static uint32_t segment_end(lowering *low, const char *name) {
    uint32_t count = low->parts.count;
    if (count == 0) return PW_NONE;
    pw_segment_part *parts = pw_arena_alloc(low->arena, count * sizeof *parts);
    if (!parts) {
        low->out_of_memory = true;
        return 0;
    }
    const pw_segment_part *from = low->parts.items;
    for (uint32_t i = 0; i < count; i++) parts[i] = from[i];
    low->parts.count = 0;
    *(pw_segment *)list_add(low, &low->segments, sizeof(pw_segment)) =
        (pw_segment){.name = name, .parts = parts, .count = count, .repeats = 1};
    return low->segments.count - 1;
}

/* --- Blocks ---------------------------------------------------------------------------------------------------- */

static double hidden_bytes(const pw_plan *plan, double per_element) { /* of the tokens that a norm sees */
    double tokens = (double)plan->tokens / (plan->sequence_parallel ? (double)plan->t : 1);
    return per_element * tokens * (double)plan->shape.hidden;
}

static void norm(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, hidden_bytes(plan, backward ? stack->residual_backward : stack->residual_forward),
               backward ? stack->residual_kernels_backward : stack->residual_kernels_forward);
    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, backward ? stack->norm_backward : stack->norm_forward),
               backward ? stack->norm_kernels_backward : stack->norm_kernels_forward);
}

static void cast(lowering *low, double per_token) {
    if (low->plan->precision != PW_PRECISION_FP8) return;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, per_token * (double)low->plan->tokens * low->plan->stack.cast_factor,
               low->plan->stack.cast_kernels);
}

static void flash(lowering *low, int64_t queries, int64_t keys, bool causal, bool backward) {
    const pw_plan *plan = low->plan;
    part_add(low, &(pw_kernel){.kind = PW_KERNEL_ATTENTION, .precision = plan->precision16,
                               .attention = {.batch = plan->micro_batch, .queries = queries, .keys = keys,
                                             .heads = plan->shape.heads / plan->t,
                                             .kv_heads = plan->shape.kv_heads / plan->t,
                                             .head_dim = plan->shape.head_dim, .causal = causal, .backward = backward}}, 1);
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
    move_bytes(low, PW_KERNEL_SOFTMAX, scores * (backward ? plan->stack.softmax_backward : plan->stack.softmax_forward),
               backward ? plan->stack.softmax_kernels_backward : plan->stack.softmax_kernels_forward);
}

static void attention_core(lowering *low, bool backward) {
    if (!low->plan->stack.flash_attention) unfused(low, backward);
    else flash(low, low->plan->sequence, low->plan->sequence, true, backward);
}

static void attention_in_forward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double t = (double)plan->t, q = (double)shape->query_width / t, k = (double)shape->key_width / t;
    cast(low, plan->stack.cast_input * (double)shape->hidden + plan->stack.cast_inner * q);
    linear_forward(low, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               (double)plan->tokens * (plan->stack.query_forward * q + plan->stack.key_forward * k),
               plan->stack.attention_kernels_forward);
}

static void attention_in_backward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double t = (double)plan->t, q = (double)shape->query_width / t, k = (double)shape->key_width / t;
    double weights = (double)shape->hidden * 2 * (q + k);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               (double)plan->tokens * (plan->stack.query_backward * q + plan->stack.key_backward * k) +
                   plan->stack.wgrad_accumulate * weights,
               plan->stack.attention_kernels_backward);
    cast(low, plan->stack.cast_gradient * (double)shape->hidden + plan->stack.cast_gradient_inner * (q + 2 * k));
    linear_backward(low, (shape->query_width + 2 * shape->key_width) / plan->t, shape->hidden);
}

static void attention_out_forward(lowering *low) {
    linear_forward(low, low->plan->shape.hidden, low->plan->shape.query_width / low->plan->t);
}
static void attention_out_backward(lowering *low) {
    linear_backward(low, low->plan->shape.hidden, low->plan->shape.query_width / low->plan->t);
}

static void mlp_forward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double f = (double)shape->ffn / (double)plan->t;
    cast(low, plan->stack.cast_input * (double)shape->hidden + plan->stack.cast_inner * f);
    linear_forward(low, shape->fc1 * shape->ffn / plan->t, shape->hidden);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               (double)plan->tokens * f * (plan->model->gated ? plan->stack.gated_forward : plan->stack.mlp_forward),
               plan->stack.mlp_kernels_forward);
    linear_forward(low, shape->hidden, shape->ffn / plan->t);
}

static void mlp_backward(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_model_shape *shape = &plan->shape;
    double f = (double)shape->ffn / (double)plan->t, h = (double)shape->hidden, fc1 = (double)shape->fc1;
    cast(low, plan->stack.cast_gradient * h + plan->stack.cast_gradient_inner * fc1 * f);
    linear_backward(low, shape->hidden, shape->ffn / plan->t);
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               (double)plan->tokens * f * (plan->model->gated ? plan->stack.gated_backward : plan->stack.mlp_backward) +
                   plan->stack.wgrad_accumulate * h * f * (fc1 + 1),
               plan->stack.mlp_kernels_backward);
    linear_backward(low, shape->fc1 * shape->ffn / plan->t, shape->hidden);
}

/* A causal ring with two slices per rank (one early, one late): the own keys cost a causal square of s/c, each received
 * block half of a full one. */
static void ring_segments(lowering *low, layer_segments *to, bool backward) {
    const pw_plan *plan = low->plan;
    int64_t local = plan->sequence / plan->c;
    double output = (double)plan->tokens * (double)plan->shape.query_width / (double)plan->t;
    flash(low, local, local, true, backward);
    to->ring_first = segment_end(low, backward ? "attention backward" : "attention");
    flash(low, local, local / 2, false, backward);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, plan->stack.context_correction * output, ONE_SWEEP);
    to->ring_next = segment_end(low, backward ? "ring attention backward" : "ring attention");
}

static void forward_segments(lowering *low) {
    const pw_plan *plan = low->plan;
    layer_segments *to = &low->forward;
    bool apart = plan->sequence_parallel; /* norms see other tokens than multiplies */
    norm(low, false);
    if (apart) to->attention_norm = segment_end(low, "attention norm");
    attention_in_forward(low);
    if (plan->c > 1) {
        to->attention_in = segment_end(low, "attention in");
        ring_segments(low, to, false);
    } else {
        attention_core(low, false);
    }
    attention_out_forward(low);
    if (plan->c > 1) to->attention_out = segment_end(low, "attention out");
    else if (plan->t > 1) to->attention = segment_end(low, "attention");
    norm(low, false);
    if (apart) to->mlp_norm = segment_end(low, "mlp norm");
    mlp_forward(low);
    to->mlp = segment_end(low, plan->t > 1 || plan->c > 1 ? "mlp" : "layer");
}

static void backward_segments(lowering *low) {
    const pw_plan *plan = low->plan;
    layer_segments *to = &low->backward;
    bool apart = plan->sequence_parallel;
    norm(low, true);
    if (apart) to->mlp_norm = segment_end(low, "mlp norm backward");
    mlp_backward(low);
    if (plan->t > 1) to->mlp = segment_end(low, "mlp backward");
    norm(low, true);
    if (apart) to->attention_norm = segment_end(low, "attention norm backward");
    attention_out_backward(low);
    if (plan->c > 1) {
        to->attention_out = segment_end(low, plan->t > 1 ? "attention out backward" : "mlp and attention out backward");
        ring_segments(low, to, true);
    } else {
        bool again = plan->desc->recompute == PW_RECOMPUTE_SELECTIVE && !plan->stack.flash_attention;
        if (again) attention_core(low, false);
        attention_core(low, true);
    }
    attention_in_backward(low);
    uint32_t last = segment_end(low, plan->c > 1 ? "attention in backward" : plan->t > 1 ? "attention backward" : "layer backward");
    if (plan->c > 1) to->attention_in = last;
    else to->attention = last;
}

/* --- Ends, optimizer ------------------------------------------------------------------------------------------- */

static void end_segments(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    int64_t columns = plan->vocabulary / plan->t, h = plan->shape.hidden;
    double logits = (double)plan->tokens * (double)columns;
    move_bytes(low, PW_KERNEL_EMBEDDING, hidden_bytes(plan, stack->embedding_forward), stack->embedding_kernels_forward);
    low->embedding_forward = segment_end(low, "embedding");
    move_bytes(low, PW_KERNEL_EMBEDDING, hidden_bytes(plan, stack->embedding_backward),
               stack->embedding_kernels_backward);
    low->embedding_backward = segment_end(low, "embedding backward");

    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, stack->norm_forward), stack->norm_kernels_forward);
    low->head_norm_forward = segment_end(low, "final norm");
    multiply(low, plan->precision16, 1, plan->tokens, columns, h, 0);
    move_bytes(low, PW_KERNEL_LOSS, stack->loss_forward * logits, stack->loss_kernels_forward);
    low->head_forward = segment_end(low, "output layer");
    move_bytes(low, PW_KERNEL_LOSS, stack->loss_backward * logits, stack->loss_kernels_backward);
    multiply(low, plan->precision16, 1, plan->tokens, h, columns, 0);
    multiply(low, plan->precision16, 1, columns, h, plan->tokens, OUTPUT_COUNTED_APART);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->wgrad_accumulate * (double)columns * (double)h, ONE_SWEEP);
    low->head_backward = segment_end(low, "output layer backward");
    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, stack->norm_backward), stack->norm_kernels_backward);
    low->head_norm_backward = segment_end(low, "final norm backward");
}

uint32_t optimizer_segment(lowering *low, double parameters, bool of_norm) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    double own = plan->zero1 ? parameters / (double)(plan->d * plan->c) : parameters;
    double bytes = stack->optimizer_norm * own;
    if (!of_norm)
        bytes = plan->zero1 ? stack->optimizer_local * parameters + stack->optimizer_shard * own
                            : stack->optimizer_full * parameters;
    move_bytes(low, PW_KERNEL_OPTIMIZER, bytes, of_norm ? stack->optimizer_norm_kernels : stack->optimizer_kernels);
    return segment_end(low, of_norm ? "gradient norm" : "optimizer");
}

uint32_t accumulate_segment(lowering *low, double parameters) {
    if (low->plan->precision == PW_PRECISION_FP16) return PW_NONE;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, low->plan->stack.step_accumulate_bf16 * parameters, ONE_SWEEP);
    return segment_end(low, "gradient accumulation");
}

void lower_segments(lowering *low) {
    layer_segments none = {PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE, PW_NONE};
    low->forward = low->backward = none;
    forward_segments(low);
    backward_segments(low);
    end_segments(low);
}
