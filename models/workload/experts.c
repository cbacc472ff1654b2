/* A layer's experts (Megatron-Core's token dispatcher): a router picks experts for each token, an all_to_all takes copies of
 * tokens to the ranks that hold them, one grouped multiply works on all experts of a rank, an all_to_all takes the results
 * back, where they are weighed and added up. Backward the same way with gradients.
 *
 * An all_to_all comes before the work it feeds in the share `exposed` of the stack's row; the rest runs beside other work, as
 * when the passes of two micro-batches are interleaved. The expert stream is served in order, so what other work cannot
 * cover is exposed as well.
 */
#include <math.h>

#include "models/workload/lower.h"

/* --- Kernels ----------------------------------------------------------------------------------------------------- */

static double own_tokens(const pw_plan *plan) { return (double)plan->tokens / (double)plan->t; } /* that a rank routes */

static void router(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack_experts *stack = &plan->stack.experts;
    int64_t tokens = (int64_t)own_tokens(plan), n = plan->model->experts, h = plan->shape.hidden;
    double scores = (double)tokens * (double)n;
    if (backward) {
        move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->router_backward * scores, stack->router_kernels_backward);
        multiply(low, plan->precision16, 1, tokens, h, n, 0);
        multiply(low, plan->precision16, 1, n, h, tokens, OUTPUT_COUNTED_APART);
        return;
    }
    multiply(low, plan->precision16, 1, tokens, n, h, 0);
    move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->router_forward * scores, stack->router_kernels_forward);
}

/* Copies of tokens put in the order in which they travel, or are multiplied, and back. */
static void sort_copies(lowering *low, bool arrived) {
    const pw_plan *plan = low->plan;
    double copies = arrived ? plan->experts.arrived : plan->experts.sent;
    double bytes = arrived ? plan->stack.experts.sort_arrived : plan->stack.experts.sort_sent;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, element_bytes(plan, bytes * copies * (double)plan->shape.hidden),
               plan->stack.experts.sort_kernels);
}

/* [rows, k] x [k, n] for each local expert: one launch whose tiles fill waves over all experts, or several for some each. */
static void multiply_each(lowering *low, int64_t m, int64_t n, int64_t k, double output_bytes) {
    const pw_plan *plan = low->plan;
    int64_t local = plan->experts.local, together = (int64_t)plan->stack.experts.together;
    if (!together || together > local) together = local;
    low->of_weights = output_bytes == OUTPUT_COUNTED_APART;
    pw_kernel kernel = {.kind = PW_KERNEL_GEMM, .precision = plan->precision,
                        .gemm = {.batch = together, .m = m, .n = n, .k = k, .output_bytes_per_element = output_bytes,
                                 .quantised = true}};
    part_add(low, &kernel, (uint32_t)(local / together));
    kernel.gemm.batch = local % together;
    if (kernel.gemm.batch) part_add(low, &kernel, 1);
    low->of_weights = false;
}

static void cast_each(lowering *low, double per_token) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    double kernels = fmax(stack->cast_kernels, stack->experts.casts_each * (double)plan->experts.local);
    if (!pw_plan_casts(plan)) return;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, stack->experts.inner * per_token * plan->experts.arrived * stack->cast_factor, kernels);
}

static void activation(lowering *low, double inner, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    double bytes = plan->model->gated ? (backward ? stack->gated_backward : stack->gated_forward)
                                      : (backward ? stack->mlp_backward : stack->mlp_forward);
    if (plan->model->biases) bytes *= stack->experts.biased;
    move_bytes(low, PW_KERNEL_ELEMENTWISE, element_bytes(plan, stack->experts.inner * plan->experts.arrived * inner * bytes),
               backward ? stack->mlp_kernels_backward : stack->mlp_kernels_forward);
}

static void experts_forward(lowering *low) {
    const pw_plan *plan = low->plan;
    int64_t inner = plan->shape.expert_ffn / plan->experts.tensor, h = plan->shape.hidden, rows = plan->experts.rows;
    cast_each(low, plan->stack.cast_input * (double)h + plan->stack.cast_inner * (double)inner);
    multiply_each(low, rows, plan->shape.fc1 * inner, h, 0);
    activation(low, (double)inner, false);
    multiply_each(low, rows, h, inner, 0);
}

static void experts_backward(lowering *low) {
    const pw_plan *plan = low->plan;
    int64_t inner = plan->shape.expert_ffn / plan->experts.tensor, h = plan->shape.hidden, rows = plan->experts.rows;
    double weights = (double)plan->experts.local * (double)(h * inner * (plan->shape.fc1 + 1));
    cast_each(low, plan->stack.cast_gradient * (double)h + plan->stack.cast_gradient_inner * (double)(plan->shape.fc1 * inner));
    if (pw_plan_recomputes(plan, PW_MODULE_EXPERT_ACTIVATION)) activation(low, (double)inner, false);
    multiply_each(low, rows, inner, h, 0);
    multiply_each(low, h, inner, rows, OUTPUT_COUNTED_APART);
    activation(low, (double)inner, true);
    multiply_each(low, rows, h, plan->shape.fc1 * inner, 0);
    multiply_each(low, plan->shape.fc1 * inner, h, rows, OUTPUT_COUNTED_APART);
    accumulate_add(low, plan->stack.wgrad_accumulate * weights);
}

/* Experts that every token passes: a plain MLP, in the open segment or in one of its own that can run beside the others. */
static void shared(lowering *low, layer_segments *to, bool backward, uint32_t *before) {
    const pw_plan *plan = low->plan;
    int64_t ffn = plan->model->shared_ffn;
    bool apart = plan->t > 1 || plan->stack.experts.shared_beside;
    if (!ffn) return;
    if (apart) *before = segment_end(low, backward ? "combine backward" : "router");
    if (backward) mlp_backward(low, ffn);
    else mlp_forward(low, ffn);
    if (apart) to->shared = segment_end(low, backward ? "shared experts backward" : "shared experts");
}

void expert_segments_forward(lowering *low, layer_segments *to) {
    router(low, false);
    sort_copies(low, false);
    shared(low, to, false, &to->router);
    if (to->router == PW_NONE) to->router = segment_end(low, "router");
    sort_copies(low, true);
    experts_forward(low);
    sort_copies(low, true);
    to->experts = segment_end(low, "experts");
    sort_copies(low, false);
    to->combine = segment_end(low, "combine");
}

void expert_segments_backward(lowering *low, layer_segments *to) {
    sort_copies(low, false);
    shared(low, to, true, &to->combine);
    if (to->combine == PW_NONE) to->combine = segment_end(low, "combine backward");
    sort_copies(low, true);
    experts_backward(low);
    sort_copies(low, true);
    to->experts = segment_end(low, "experts backward");
    sort_copies(low, false);
    router(low, true);
    if (low->plan->sequence_parallel) to->router = segment_end(low, "router backward"); /* else joins attention's */
}

/* --- Operations -------------------------------------------------------------------------------------------------- */

/* Bytes that leave a rank. Where a token travels once, several domains count: between them links are slow. */
static double travel_bytes(const pw_plan *plan, bool to_experts) {
    const pw_expert_plan *x = &plan->experts;
    int64_t span = x->parallel * x->tensor, units = x->parallel;
    if (x->domain && span > x->domain) units = (span + x->domain - 1) / x->domain;
    double copies = x->sent, element = plan->format.element_bytes;
    if (plan->stack.experts.once) {
        double share = pw_expert_copies(plan->model, units) / (double)plan->model->experts_per_token;
        if (share < 1) copies *= share;
    }
    if (to_experts && pw_plan_casts(plan)) element = plan->stack.experts.dispatch_fp8;
    return copies * (double)plan->shape.hidden * element;
}

static void exchange_add(lowering *low, list *ops, bool to_experts, int16_t signal) {
    const pw_plan *plan = low->plan;
    double bytes = travel_bytes(plan, to_experts), exposed = plan->stack.experts.exposed;
    double gathered = plan->experts.sent * (double)plan->experts.tensor * (double)plan->shape.hidden * plan->format.element_bytes;
    if (!to_experts && plan->experts.tensor > 1)
        collective_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, GROUP_EXPERT_TENSOR, gathered, CATEGORY_EXPERT, STREAM_EXPERT,
                       SLOT_COMPUTE, signal);
    if (exposed > 0)
        collective_add(low, ops, PW_COLLECTIVE_ALL_TO_ALL, GROUP_EXPERT, exposed * bytes, CATEGORY_EXPERT, STREAM_EXPERT,
                       SLOT_COMPUTE, signal);
    if (exposed < 1)
        collective_add(low, ops, PW_COLLECTIVE_ALL_TO_ALL, GROUP_EXPERT, (1 - exposed) * bytes, CATEGORY_EXPERT, STREAM_EXPERT,
                       SLOT_COMPUTE, PW_NO_SLOT);
    if (to_experts && plan->experts.tensor > 1)
        collective_add(low, ops, PW_COLLECTIVE_ALL_GATHER, GROUP_EXPERT_TENSOR, gathered, CATEGORY_EXPERT, STREAM_EXPERT,
                       SLOT_COMPUTE, signal);
}

/* Every tensor-parallel rank holds a part of each shared expert, and a part of the tokens. */
static void shared_add(lowering *low, list *ops, const layer_segments *s) {
    const pw_plan *plan = low->plan;
    double hidden = plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.hidden;
    if (s->shared == PW_NONE) return;
    if (plan->t > 1) tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, SLOT_GATHER);
    compute_add(low, ops, s->shared, plan->t > 1 ? SLOT_GATHER : PW_NO_SLOT, CATEGORY_COMPUTE);
    if (plan->t > 1) tensor_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, hidden, SLOT_COMPUTE, SLOT_SCATTER);
}

void experts_add(lowering *low, list *ops, const layer_segments *s, bool backward) {
    bool beside = low->plan->stack.experts.shared_beside;
    compute_add(low, ops, backward ? s->combine : s->router, SLOT_SCATTER, CATEGORY_COMPUTE);
    if (!beside) shared_add(low, ops, s);
    if (!backward && low->plan->stack.experts.host_waits && !low->plan->stack.cuda_graphs)
        op_add(low, ops, PW_OP_SYNC, STREAM_COMPUTE, CATEGORY_COMPUTE)->waits[0] = SLOT_COMPUTE;
    exchange_add(low, ops, true, SLOT_DISPATCH);
    if (beside) shared_add(low, ops, s);
    compute_add(low, ops, s->experts, SLOT_DISPATCH, CATEGORY_COMPUTE);
    exchange_add(low, ops, false, SLOT_COMBINE);
    if (backward && s->router == PW_NONE) { /* its kernels join the ones of attention: those wait */
        op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_EXPERT)->waits[0] = SLOT_COMBINE;
        return;
    }
    compute_add(low, ops, backward ? s->router : s->combine, SLOT_COMBINE, CATEGORY_COMPUTE);
}

/* --- Modules that predict further tokens (DeepSeek-V3, arXiv 2412.19437, section 2.2) ------------------------------- */

static void prediction_kernels(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_stack *stack = &plan->stack;
    int64_t h = plan->shape.hidden;
    move_bytes(low, PW_KERNEL_EMBEDDING, hidden_bytes(plan, backward ? stack->embedding_backward : stack->embedding_forward),
               backward ? stack->embedding_kernels_backward : stack->embedding_kernels_forward);
    for (int i = 0; i < 2; i++) /* of the hidden state; of the next token's embedding */
        move_bytes(low, PW_KERNEL_NORM, hidden_bytes(plan, backward ? stack->norm_backward : stack->norm_forward),
                   backward ? stack->norm_kernels_backward : stack->norm_kernels_forward);
    if (backward) linear_backward(low, h / plan->t, 2 * h);
    else linear_forward(low, h / plan->t, 2 * h);
}

void prediction_segments(lowering *low) {
    low->prediction_forward = low->prediction_backward = PW_NONE;
    if (!low->plan->model->prediction_layers) return;
    prediction_kernels(low, false);
    low->prediction_forward = segment_end(low, "prediction in");
    prediction_kernels(low, true);
    low->prediction_backward = segment_end(low, "prediction in backward");
}

void prediction_add(lowering *low, list *ops, bool backward) {
    const pw_plan *plan = low->plan;
    const layer_templates *layer = &low->layers[pw_model_layer_kind(plan->model, plan->shape.layers - 1)];
    double both = 2 * plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.hidden;
    for (int64_t i = 0; i < plan->model->prediction_layers; i++) {
        if (backward) {
            head_add(low, ops, true);
            call_add(low, ops, layer->backward, 1);
        }
        if (plan->t > 1) /* the two states in, or their gradients out */
            tensor_add(low, ops, backward ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_GATHER, both, SLOT_COMPUTE, SLOT_GATHER);
        compute_add(low, ops, backward ? low->prediction_backward : low->prediction_forward, SLOT_GATHER, CATEGORY_COMPUTE);
        if (!backward) {
            call_add(low, ops, layer->forward, 1);
            head_add(low, ops, false);
        }
    }
}
