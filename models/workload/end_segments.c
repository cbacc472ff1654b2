/* Which kernels the ends of the model and the optimizer step run. */
#include <math.h>

#include "models/workload/lower.h"

static void final_norm(lowering *low, bool backward) {
    const pw_stack *stack = &low->plan->stack;
    move_bytes(low, PW_KERNEL_NORM, hidden_bytes(low->plan, backward ? stack->norm_backward : stack->norm_forward),
               backward ? stack->norm_kernels_backward : stack->norm_kernels_forward);
}

void lower_end_segments(lowering *low) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    move_bytes(low, PW_KERNEL_EMBEDDING, hidden_bytes(plan, stack->embedding_forward), stack->embedding_kernels_forward);
    if (plan->model->post_norm) final_norm(low, false);
    low->embedding_forward = segment_end(low, "embedding");
    if (plan->model->post_norm) final_norm(low, true);
    move_bytes(low, PW_KERNEL_EMBEDDING, hidden_bytes(plan, stack->embedding_backward),
               stack->embedding_kernels_backward);
    low->embedding_backward = segment_end(low, "embedding backward");

    if (!plan->model->post_norm) final_norm(low, false);
    low->head_norm_forward = segment_end(low, "final norm");
    head_segment(low, false);
    low->head_forward = segment_end(low, "output layer");
    head_segment(low, true);
    low->head_backward = segment_end(low, "output layer backward");
    if (!plan->model->post_norm) final_norm(low, true);
    low->head_norm_backward = segment_end(low, "final norm backward");
    prediction_segments(low);
}

/* Bytes of the update. Where the weights are no masters, the stack counts copies and casts with it, for AdamW. */
static double update_bytes(const pw_plan *plan, double parameters, double own) {
    const pw_stack *stack = &plan->stack;
    if (!isnan(plan->format.gradient_bytes)) return plan->optimizer.update_bytes * own;
    double stacks = plan->sharding == PW_SHARDING_NONE    ? stack->optimizer_full * parameters
                    : plan->sharding == PW_SHARDING_ZERO3 ? stack->optimizer_shard * own
                                                          : stack->optimizer_local * parameters + stack->optimizer_shard * own;
    return fmax(0, stacks + plan->update_bytes * own);
}

uint32_t optimizer_segment(lowering *low, double parameters, double experts, double tensors, bool of_norm) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    double own = parameters / (double)plan->shards;
    if (experts > 0) own += experts / (plan->sharding == PW_SHARDING_NONE ? 1 : (double)plan->experts.data);
    parameters += experts;
    if (of_norm) {
        move_bytes(low, PW_KERNEL_OPTIMIZER, stack->optimizer_norm * own, stack->optimizer_norm_kernels);
    } else {
        double each = plan->optimizer.tensor_kernels * tensors;
        move_bytes(low, PW_KERNEL_OPTIMIZER, update_bytes(plan, parameters, own), each > 0 ? each : stack->optimizer_kernels);
    }
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
