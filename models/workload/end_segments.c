/* Which kernels the ends of the model and the optimizer step run. */
#include "models/workload/lower.h"

void lower_end_segments(lowering *low) {
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
    cast_weights(low, (double)columns * (double)h, 1, false);
    multiply(low, plan->precision16, 1, plan->tokens, columns, h, 0);
    rows_of_last(low, columns);
    move_bytes(low, PW_KERNEL_LOSS, stack->loss_forward * logits, stack->loss_kernels_forward);
    low->head_forward = segment_end(low, "output layer");
    move_bytes(low, PW_KERNEL_LOSS, stack->loss_backward * logits, stack->loss_kernels_backward);
    multiply(low, plan->precision16, 1, plan->tokens, h, columns, 0);
    rows_of_last(low, columns);
    multiply(low, plan->precision16, 1, columns, h, plan->tokens, OUTPUT_COUNTED_APART);
    rows_of_last(low, columns);
    cast_weights(low, (double)columns * (double)h, 1, true);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->wgrad_accumulate * (double)columns * (double)h, ONE_SWEEP);
    low->head_backward = segment_end(low, "output layer backward");
    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, stack->norm_backward), stack->norm_kernels_backward);
    low->head_norm_backward = segment_end(low, "final norm backward");
}

uint32_t optimizer_segment(lowering *low, double parameters, bool of_norm) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    double own = parameters / (double)plan->shards;
    double bytes = stack->optimizer_norm * own;
    if (!of_norm)
        bytes = plan->sharding == PW_SHARDING_NONE    ? stack->optimizer_full * parameters
                : plan->sharding == PW_SHARDING_ZERO3 ? stack->optimizer_shard * own
                                                      : stack->optimizer_local * parameters + stack->optimizer_shard * own;
    move_bytes(low, PW_KERNEL_OPTIMIZER, bytes, of_norm ? stack->optimizer_norm_kernels : stack->optimizer_kernels);
    return segment_end(low, of_norm ? "gradient norm" : "optimizer");
}

uint32_t copy_segment(lowering *low, const char *name, double bytes) {
    move_bytes(low, PW_KERNEL_ELEMENTWISE, bytes, ONE_SWEEP);
    return segment_end(low, name);
}

uint32_t accumulate_segment(lowering *low, double parameters) {
    if (low->plan->precision == PW_PRECISION_FP16 || low->plan->format.gradient_bytes > 0) return PW_NONE;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, low->plan->stack.step_accumulate_bf16 * parameters, ONE_SWEEP);
    return segment_end(low, "gradient accumulation");
}
