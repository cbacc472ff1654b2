/* Options that change nothing in this plan. What can never have a meaning is refused; what has none at these sizes (one rank to
 * share with, one stage to send to) is said in a note, so that a sweep over sizes may pass through them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/workload/plan.h"
#include "models/workload/trainable.h"

#define REFUSE(hint, ...) return pw_fail(error, PW_BAD_INPUT, file, line, hint, __VA_ARGS__)

static bool is_switched(int value) { return value == 0 || value == 1; }

pw_status pw_plan_refuse_idle(const pw_plan *plan, const char *file, int line, pw_error *error) {
    if (pw_plan_recomputes(plan, PW_MODULE_CORE_ATTENTION) && plan->c > 1)
        return pw_fail(error, PW_UNSUPPORTED, file, line, "leave the module out, or use recompute = \"full\"",
                       "recompute_modules \"core_attn\" is not modelled with context parallel, whose exchange would be repeated");
    bool dense = false;
    for (int64_t i = 0; i < plan->shape.layers && !dense; i++) dense = !(pw_model_layer_kind(plan->model, i) & PW_LAYER_EXPERTS);
    if (pw_plan_recomputes(plan, PW_MODULE_MLP) && !dense)
        REFUSE("use moe_act, or leave it out", "recompute_modules \"mlp\" needs a layer without experts");
    return PW_OK;
}

void pw_plan_note_idle(const pw_plan *plan, pw_notes *notes) {
    const pw_train_desc *desc = plan->desc;
    bool alone = !pw_plan_shares_data(plan), lora = desc->trainable == PW_TRAIN_LORA;
    bool ranked = desc->lora_rank > 0 && desc->lora_rank != atoll(pw_kind_field(&pw_train_kind, "lora_rank")->preset);
    const struct { const char *option; bool idle; const char *reason; } options[] = {
        {"sequence_parallel", is_switched(desc->sequence_parallel) && plan->t == 1, "tensor_parallel is 1"},
        {"overlap_gradients", is_switched(desc->overlap_gradients) && alone, "no other rank has the same weights"},
        {"overlap_parameters", is_switched(desc->overlap_parameters) && alone, "no other rank has the same weights"},
        {"overlap_parameters", is_switched(desc->overlap_parameters) && !alone && plan->sharding == PW_SHARDING_NONE,
         "without sharding no parameters are gathered"},
        {"overlap_pipeline", is_switched(desc->overlap_pipeline) && plan->p == 1, "pipeline_parallel is 1"},
        {"bucket_bytes", !isnan(desc->bucket_bytes) && alone, "no other rank has the same weights"},
        {"bucket_bytes", !isnan(desc->bucket_bytes) && !alone && !plan->stack.overlap_gradients,
         "all gradients are reduced at the end"},
        {"optimizer_check", desc->optimizer_check == PW_CHECK_LATE && plan->p == 1, "pipeline_parallel is 1"},
        {"lora_rank", !lora && ranked, "trainable is not lora"},
        {"bucket_bytes", !isnan(desc->bucket_bytes) && !alone && plan->stack.overlap_gradients &&
             desc->bucket_bytes < pw_plan_layers_trained(plan, 0, 1) * plan->gradient_wire_bytes,
         "a bucket holds a layer at the least"},
        {"reshard", is_switched(desc->reshard) && alone, "no other rank has the same weights"},
        {"prefetch", !isnan(desc->prefetch) && alone, "no other rank has the same weights"},
        {"hold_gradients", is_switched(desc->hold_gradients) && (alone || plan->micro_batches == 1),
         alone ? "no other rank has the same weights" : "there is one micro-batch"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].idle) pw_note(notes, "train.%s changes nothing: %s.", options[i].option, options[i].reason);
}
