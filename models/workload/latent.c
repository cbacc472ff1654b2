/* Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): queries, keys and values are compressed to narrow latents,
 * which are expanded to heads again. Compression is on every tensor-parallel rank, on the tokens that its norm sees, as
 * Megatron-Core does; what the ranks gather are the latents. Expansion is split over heads.
 */
#include "models/workload/lower.h"

double attention_input_width(const pw_plan *plan) {
    const pw_model_desc *model = plan->model;
    if (!model->latent_rank) return (double)plan->shape.hidden;
    return (double)(model->query_rank ? model->query_rank : plan->shape.hidden) + (double)plan->shape.latent;
}

static void linear(lowering *low, int64_t tokens, int64_t n, int64_t k, bool backward) {
    pw_precision precision = low->plan->precision;
    multiply(low, precision, 1, tokens, backward ? k : n, backward ? n : k, 0);
    if (!backward) return;
    multiply(low, precision, 1, n, k, tokens, OUTPUT_COUNTED_APART);
    accumulate_add(low, low->plan->stack.wgrad_accumulate * (double)n * (double)k);
}

void latent_compress(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_model_desc *model = plan->model;
    if (!model->latent_rank) return;
    int64_t tokens = plan->tokens / (plan->sequence_parallel ? plan->t : 1);
    double normed = (double)tokens * (double)(model->query_rank + model->latent_rank);
    if (model->query_rank) linear(low, tokens, model->query_rank, plan->shape.hidden, backward);
    linear(low, tokens, plan->shape.latent, plan->shape.hidden, backward);
    move_bytes(low, PW_KERNEL_NORM, wide_bytes(plan, normed * (backward ? plan->stack.norm_backward : plan->stack.norm_forward)),
               (model->query_rank ? 2 : 1) * (backward ? plan->stack.norm_kernels_backward : plan->stack.norm_kernels_forward));
}

void latent_expand(lowering *low, bool backward) {
    const pw_plan *plan = low->plan;
    const pw_model_desc *model = plan->model;
    const pw_model_shape *shape = &plan->shape;
    int64_t queries = shape->query_width / plan->t, from = model->query_rank ? model->query_rank : shape->hidden;
    double elements = (double)plan->tokens * (double)(shape->query_width + shape->key_width) / (double)plan->t;
    int64_t keys_values = shape->heads / plan->t * (shape->head_dim - model->rotary_dim + shape->value_dim);
    for (int pass = backward && !pw_plan_recomputes(plan, PW_MODULE_LATENT); pass <= backward; pass++) { /* recompute: both */
        linear(low, plan->tokens, queries, from, pass);
        linear(low, plan->tokens, keys_values, model->latent_rank, pass);
        move_bytes(low, PW_KERNEL_ELEMENTWISE,
                   element_bytes(plan, elements * (pass ? plan->stack.experts.latent_backward : plan->stack.experts.latent_forward)),
                   pass ? plan->stack.experts.latent_kernels_backward : plan->stack.experts.latent_kernels_forward);
    }
}
