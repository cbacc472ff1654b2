/* Which kernels the head of a model runs, behind the final norm; head.h says what heads there are. */
#include "models/workload/lower.h"

/* [rows, k] x [k, n] with a weight's gradient that the multiply writes itself: small layers of a head. */
static void small_linear(lowering *low, int64_t rows, int64_t n, int64_t k, bool backward) {
    pw_precision precision = low->plan->precision16;
    if (!backward) {
        multiply(low, precision, 1, rows, n, k, 0);
        return;
    }
    multiply(low, precision, 1, rows, k, n, 0);
    multiply(low, precision, 1, n, k, rows, 0);
}

/* Picks the masked positions; transform, GELU and norm on them. */
static void transform(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    int64_t h = plan->shape.hidden;
    double elements = (double)plan->head_tokens * (double)h;
    if (!backward) {
        move_bytes(low, PW_KERNEL_EMBEDDING, 2 * plan->format.element_bytes * elements, ONE_SWEEP); /* read and written */
        small_linear(low, plan->head_tokens, h, h, false);
        move_bytes(low, PW_KERNEL_ELEMENTWISE, element_bytes(plan, stack->mlp_forward * elements), stack->mlp_kernels_forward);
        move_bytes(low, PW_KERNEL_NORM, wide_bytes(plan, stack->norm_forward * elements), stack->norm_kernels_forward);
        return;
    }
    move_bytes(low, PW_KERNEL_NORM, wide_bytes(plan, stack->norm_backward * elements), stack->norm_kernels_backward);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, element_bytes(plan, stack->mlp_backward * elements), stack->mlp_kernels_backward);
    small_linear(low, plan->head_tokens, h, h, true);
    /* all gradients of the last layer are zeroed, those of the positions put in */
    double whole = (double)plan->tokens * (double)h;
    move_bytes(low, PW_KERNEL_EMBEDDING, plan->format.element_bytes * (whole + 2 * elements), ONE_SWEEP);
}

static void output_layer(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    int64_t columns = plan->vocabulary / plan->t, h = plan->shape.hidden, rows = plan->head_tokens;
    double logits = (double)rows * (double)columns, weights = (double)columns * (double)h;
    if (!backward) {
        cast_weights(low, weights, 1, false);
        multiply(low, plan->precision16, 1, rows, columns, h, 0);
        rows_of_last(low, columns);
        move_bytes(low, PW_KERNEL_LOSS, stack->loss_forward * logits, stack->loss_kernels_forward);
        return;
    }
    move_bytes(low, PW_KERNEL_LOSS, stack->loss_backward * logits, stack->loss_kernels_backward);
    multiply(low, plan->precision16, 1, rows, h, columns, 0);
    rows_of_last(low, columns);
    multiply(low, plan->precision16, 1, columns, h, rows, OUTPUT_COUNTED_APART);
    rows_of_last(low, columns);
    cast_weights(low, weights, 1, true);
    if (!low->frozen) move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->wgrad_accumulate * weights, ONE_SWEEP);
}

/* The first token of every sequence: pooler and next-sentence classifier. */
static void pooler(lowering *low, bool backward) {
    int64_t h = low->plan->shape.hidden, sequences = low->plan->micro_batch;
    if (!backward) {
        small_linear(low, sequences, h, h, false);
        small_linear(low, sequences, 2, h, false);
    } else {
        small_linear(low, sequences, 2, h, true);
        small_linear(low, sequences, h, h, true);
    }
}

static void span(lowering *low, bool backward) {
    const pw_stack *stack = &low->plan->stack;
    double logits = 2 * (double)low->plan->tokens;
    if (!backward) {
        small_linear(low, low->plan->tokens, 2, low->plan->shape.hidden, false);
        move_bytes(low, PW_KERNEL_LOSS, stack->loss_forward * logits, stack->loss_kernels_forward);
    } else {
        move_bytes(low, PW_KERNEL_LOSS, stack->loss_backward * logits, stack->loss_kernels_backward);
        small_linear(low, low->plan->tokens, 2, low->plan->shape.hidden, true);
    }
}

void head_segment(lowering *low, bool backward) {
    switch ((pw_head)low->plan->model->head) {
        case PW_HEAD_LANGUAGE_MODEL: output_layer(low, backward); return;
        case PW_HEAD_SPAN: span(low, backward); return;
        case PW_HEAD_MASKED_LM: break;
    }
    if (!backward) {
        transform(low, false);
        output_layer(low, false);
        pooler(low, false);
    } else {
        pooler(low, true);
        output_layer(low, true);
        transform(low, true);
    }
}
