/* Single kernels, gathered into segments. Matrix multiplies and attention follow from the shape; everything beside them moves
 * the bytes that the stack's row states.
 */
#include <stdio.h>

#include "models/workload/lower.h"

void part_add(lowering *low, const pw_kernel *kernel, uint32_t repeats) {
    if (repeats == 0 || (low->frozen && low->of_weights) || (low->half != HALF_BOTH && low->of_weights != (low->half == HALF_WEIGHTS))) return;
    *(pw_kernel *)list_add(low, &low->kernels, sizeof *kernel) = *kernel;
    pw_segment_part *part = list_add(low, &low->parts, sizeof *part);
    part->kernel = low->kernels.count - 1;
    part->repeats = repeats;
}

void move_bytes(lowering *low, pw_kernel_class kind, double bytes, double kernels) {
    if (!(bytes > 0)) return;
    uint32_t count = kernels >= 1 ? (uint32_t)kernels : 1;
    part_add(low, &(pw_kernel){.kind = kind, .precision = low->plan->precision16, .memory = {.bytes = bytes / count}}, count);
}

void multiply(lowering *low, pw_precision precision, int64_t batch, int64_t m, int64_t n, int64_t k,
                     double output_bytes) {
    low->of_weights = output_bytes == OUTPUT_COUNTED_APART;
    part_add(low, &(pw_kernel){.kind = PW_KERNEL_GEMM, .precision = precision,
                               .gemm = {.batch = batch, .m = m, .n = n, .k = k, .output_bytes_per_element = output_bytes,
                                        .quantised = true}}, 1);
    low->of_weights = false;
}

void accumulate_add(lowering *low, double bytes) {
    low->of_weights = true;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, bytes, ONE_SWEEP);
    low->of_weights = false;
}

double weight_bytes(lowering *low, double bytes) {
    if (low->frozen) return 0;
    if (low->half == HALF_BOTH) return bytes;
    accumulate_add(low, bytes);
    return 0;
}

void rows_of_last(lowering *low, int64_t elements) {
    int64_t bytes = 2 * elements, whole = bytes & -bytes; /* the largest power of two that divides it */
    if (low->kernels.count == 0 || whole >= 16) return;
    ((pw_kernel *)low->kernels.items)[low->kernels.count - 1].gemm.row_alignment = whole;
}

/* out = in x weight, [tokens, k] x [k, n] */
void linear_forward(lowering *low, int64_t n, int64_t k) {
    multiply(low, low->plan->precision, 1, low->plan->tokens, n, k, 0);
}
void linear_backward(lowering *low, int64_t n, int64_t k) {
    multiply(low, low->plan->precision, 1, low->plan->tokens, k, n, 0);
    multiply(low, low->plan->precision, 1, n, k, low->plan->tokens, OUTPUT_COUNTED_APART);
}

uint32_t segment_end(lowering *low, const char *name) {
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
    if (low->half != HALF_BOTH) {
        char text[80];
        snprintf(text, sizeof text, "%s (%s)", name, low->half == HALF_INPUT ? "input" : "weights");
        name = pw_arena_text(low->arena, text);
        if (!name) low->out_of_memory = true;
    }
    *(pw_segment *)list_add(low, &low->segments, sizeof(pw_segment)) =
        (pw_segment){.name = name, .parts = parts, .count = count, .repeats = 1};
    return low->segments.count - 1;
}

/* A stack's row counts bytes of 16-bit tensors. */
double element_bytes(const pw_plan *plan, double bytes) { return plan->format.element_bytes / 2 * bytes; }
double wide_bytes(const pw_plan *plan, double bytes) { return plan->format.wide_bytes / 2 * bytes; }

void cast_weights(lowering *low, double weights, double matrices, bool backward) {
    const pw_format *format = &low->plan->format;
    low->of_weights = backward;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, weights * (backward ? format->cast_gradient : format->cast_weight), matrices);
    low->of_weights = false;
}

double hidden_bytes(const pw_plan *plan, double per_element) { /* of the tokens that a norm sees */
    double tokens = (double)plan->tokens / (plan->sequence_parallel ? (double)plan->t : 1);
    return wide_bytes(plan, per_element) * tokens * (double)plan->shape.hidden;
}

void cast(lowering *low, double per_token) {
    if (!pw_plan_casts(low->plan)) return;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, per_token * (double)low->plan->tokens * low->plan->stack.cast_factor,
               low->plan->stack.cast_kernels);
}

static void attend(lowering *low, int64_t batch, int64_t queries, int64_t keys, int64_t window, bool causal, bool backward) {
    const pw_plan *plan = low->plan;
    if (batch < 1 || queries < 1) return;
    part_add(low, &(pw_kernel){.kind = PW_KERNEL_ATTENTION, .precision = plan->precision16,
                               .attention = {.batch = batch, .queries = queries, .keys = keys,
                                             .heads = plan->shape.heads / plan->t / plan->exchange_ranks,
                                             .kv_heads = plan->shape.kv_heads / plan->t / plan->exchange_ranks,
                                             .head_dim = plan->shape.head_dim, .causal = causal, .backward = backward,
                                             .window = window, .value_dim = plan->shape.value_dim,
                                             .slowdown = backward ? plan->attention.backward : plan->attention.forward}}, 1);
}

void flash(lowering *low, bool windowed, int64_t queries, int64_t keys, bool causal, bool backward) {
    const pw_model_desc *model = low->plan->model;
    int64_t batch = low->plan->micro_batch, window = model->window;
    if (windowed && model->window_chunks && window < queries) { /* whole chunks side by side, and what is left */
        attend(low, batch * (queries / window), window, window, 0, true, backward);
        attend(low, batch, queries % window, queries % window, 0, true, backward);
    } else {
        attend(low, batch, queries, keys, windowed && window < keys ? window : 0, causal, backward);
    }
}
