/* Experts in a plan: how ranks share them, how many tokens come, what is computed again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/plan.h"

#define REFUSE(status, hint, ...) return pw_fail(error, status, file, line, hint, __VA_ARGS__)
#define LL(x) ((long long)(x))

static const char *const module_names[] = {
#define NAME(NAME, name) name,
    PW_MODULE_MAP(NAME)
#undef NAME
};

/* The names of modules that one word begins with, or -1. */
static int module_of(const char *word, size_t length) {
    for (int i = 0; i < PW_MODULE_COUNT; i++)
        if (strlen(module_names[i]) == length && !strncmp(module_names[i], word, length)) return i;
    return -1;
}

static pw_status read_modules(pw_plan *plan, const char *file, int line, pw_error *error) {
    const char *words = plan->desc->recompute_modules ? plan->desc->recompute_modules : "";
    for (words += strspn(words, " ,"); *words; words += strspn(words, " ,")) {
        size_t length = strcspn(words, " ,");
        int module = module_of(words, length);
        if (module < 0)
            REFUSE(PW_BAD_INPUT, "modules: core_attn layernorm mlp moe_act mla_up_proj op",
                   "train.recompute_modules names '%.*s', which is no module", (int)length, words);
        plan->modules |= 1u << module;
        words += length;
    }
    if (plan->modules && plan->desc->recompute == PW_RECOMPUTE_FULL)
        REFUSE(PW_BAD_INPUT, "use recompute = \"selective\", or leave the modules out",
               "recompute = \"full\" computes whole layers again; train.recompute_modules would add nothing");
    if (pw_plan_recomputes(plan, PW_MODULE_OPERATORS)) {
        if (plan->modules != 1u << PW_MODULE_OPERATORS)
            REFUSE(PW_BAD_INPUT, "name it alone", "recompute_modules \"op\" is a policy for the whole layer; other modules contradict it");
        if (plan->model->experts || plan->model->latent_rank || !plan->stack.flash_attention)
            REFUSE(PW_UNSUPPORTED, "use other modules, or recompute = \"full\"",
                   "recompute_modules \"op\" is modelled for dense layers with fused attention only");
        plan->modules |= 1u << PW_MODULE_NORM;
    }
    if (pw_plan_recomputes(plan, PW_MODULE_LATENT) && !plan->model->latent_rank)
        REFUSE(PW_BAD_INPUT, "leave it out", "mla_up_proj needs a model with latent attention");
    if (pw_plan_recomputes(plan, PW_MODULE_EXPERT_ACTIVATION) && !plan->model->experts)
        REFUSE(PW_BAD_INPUT, "leave it out", "moe_act needs a model with experts");
    return PW_OK;
}

double pw_expert_copies(const pw_model_desc *model, int64_t units) {
    double experts = (double)model->experts, per_unit = experts / (double)units, missed = 1;
    for (int64_t i = 0; i < model->experts_per_token; i++) /* a unit holds none of the experts picked so far */
        missed *= fmax(0, (experts - per_unit - (double)i) / (experts - (double)i));
    return (double)units * (1 - missed);
}

static pw_status check_sizes(const pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_expert_plan *x = &plan->experts;
    const pw_model_desc *model = plan->model;
    int64_t ranks = plan->t * plan->c * plan->d;
    if (model->experts % x->parallel)
        REFUSE(PW_BAD_INPUT, "every rank holds the same number of whole experts", "train.expert_parallel %lld does not divide %lld experts",
               LL(x->parallel), LL(model->experts));
    if ((double)x->parallel * (double)x->tensor > (double)ranks || ranks % (x->parallel * x->tensor))
        REFUSE(PW_BAD_INPUT, "experts are shared within a pipeline stage",
               "expert %lld x expert tensor parallel %lld does not divide the %lld GPUs of a stage "
               "(tensor %lld x context %lld x data %lld)",
               LL(x->parallel), LL(x->tensor), LL(ranks), LL(plan->t), LL(plan->c), LL(plan->d));
    if (plan->shape.expert_ffn % x->tensor)
        REFUSE(PW_BAD_INPUT, "choose one that divides expert_ffn",
               "train.expert_tensor_parallel %lld does not divide the experts' inner width %lld", LL(x->tensor),
               LL(plan->shape.expert_ffn));
    if (model->shared_ffn % plan->t)
        REFUSE(PW_BAD_INPUT, "choose a tensor_parallel that divides shared_ffn",
               "train.tensor_parallel %lld does not divide the model's shared_ffn %lld", LL(plan->t), LL(model->shared_ffn));
    if (plan->t > 1 && !plan->sequence_parallel)
        REFUSE(PW_UNSUPPORTED, "use sequence_parallel = \"on\"",
               "experts with tensor parallel need sequence parallel: each rank routes its own tokens");
    if (plan->sharding > PW_SHARDING_ZERO1 || (plan->sharding == PW_SHARDING_ZERO1 && plan->replicas > 1))
        REFUSE(PW_UNSUPPORTED, "use sharding = \"none\" or \"zero1\", without shard_group",
               "experts are modelled with an optimizer that is sharded or not, no more");
    if (plan->desc->expert_capacity > 0 && plan->desc->expert_imbalance > 1)
        REFUSE(PW_BAD_INPUT, "leave expert_imbalance out",
               "with train.expert_capacity every expert gets as many tokens, so expert_imbalance means nothing");
    return PW_OK;
}

pw_status pw_plan_experts(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    const pw_model_desc *model = plan->model;
    pw_expert_plan *x = &plan->experts;
    *x = (pw_expert_plan){.parallel = desc->expert_parallel > 1 ? desc->expert_parallel : 1,
                          .tensor = desc->expert_tensor_parallel > 1 ? desc->expert_tensor_parallel : 1};
    PW_TRY(read_modules(plan, file, line, error));
    if (model->experts || model->latent_rank) PW_TRY(pw_stack_read_experts(catalogue, &plan->stack, file, line, error));
    if (!model->experts) {
        if (x->parallel > 1 || x->tensor > 1 || desc->expert_imbalance > 1 || desc->expert_capacity > 0)
            REFUSE(PW_BAD_INPUT, "leave the expert_ fields out, or give model.experts",
                   "the model has no experts to share out");
        return PW_OK;
    }
    PW_TRY(check_sizes(plan, file, line, error));
    double tokens = (double)plan->tokens / (double)plan->t; /* of one rank: with tensor parallel, sequence parallel is on */
    double load = desc->expert_capacity > 0 ? desc->expert_capacity : fmax(1, desc->expert_imbalance);
    x->data = plan->t * plan->c * plan->d / (x->parallel * x->tensor) * plan->copies;
    x->local = model->experts / x->parallel;
    x->sent = tokens * (double)model->experts_per_token * load;
    x->rows = (int64_t)ceil(x->sent * (double)x->tensor / (double)x->local);
    x->arrived = x->sent * (double)x->tensor;
    return PW_OK;
}
