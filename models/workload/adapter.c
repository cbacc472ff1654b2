/* The kernels of an adapter: [tokens, k] x [k, r] x [r, n], added to what the frozen matrix gives. Column-parallel matrices
 * (query-key-value, the first of the MLP) split n, row-parallel ones k; the rank of the pair's other side is split with it. */
#include "models/workload/lower.h"
#include "models/workload/trainable.h"

static bool is_column(pw_target target) { return target == PW_TARGET_QKV || target == PW_TARGET_FC1; }

void adapter_add(lowering *low, int target, int64_t n, int64_t k, bool backward) {
    const pw_plan *plan = low->plan;
    if (!pw_plan_targets(plan, (pw_target)target)) return;
    const pw_adapter *adapter = &plan->adapter;
    bool column = is_column((pw_target)target);
    int64_t tokens = plan->tokens, rank = plan->desc->lora_rank, down = column ? rank / plan->t : rank;
    int64_t up = column ? rank : rank / plan->t; /* row-parallel: its outputs are gathered */
    pw_precision precision = plan->precision16;
    double in = (double)tokens * (double)k, out = (double)tokens * (double)n;
    if (!backward) {
        multiply(low, precision, 1, tokens, down, k, 0);
        multiply(low, precision, 1, tokens, n, up, 0);
        move_bytes(low, PW_KERNEL_ELEMENTWISE,
                   element_bytes(plan, adapter->input_forward * in + adapter->output_forward * out), adapter->kernels_forward);
        return;
    }
    move_bytes(low, PW_KERNEL_ELEMENTWISE,
               element_bytes(plan, adapter->input_backward * in + adapter->output_backward * out), adapter->kernels_backward);
    multiply(low, precision, 1, tokens, up, n, 0);
    multiply(low, precision, 1, n, up, tokens, 0);
    multiply(low, precision, 1, tokens, k, down, 0);
    multiply(low, precision, 1, down, k, tokens, 0);
}
