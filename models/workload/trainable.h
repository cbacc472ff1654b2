/* Partial training: which weights get gradients. The rest is frozen: no weight gradients, no reduction, no optimizer; the
 * backward pass ends where nothing below it is trained.
 *
 *   all   every weight; with frozen_layers those above them alone
 *   lora  a low-rank pair [k, r], [r, n] beside each target matrix [k, n] (Hu et al. 2021); all else frozen
 *   head  what follows the last layer
 *
 * On one of t tensor-parallel ranks a pair takes (k + n) r / t weights: the side that the matrix splits is split, and so is
 * the other's rank. Their collectives of r values a token are left out.
 */
#ifndef PW_MODELS_WORKLOAD_TRAINABLE_H
#define PW_MODELS_WORKLOAD_TRAINABLE_H

#include "models/workload/plan.h"

/* The four multiplies of a dense layer, in the order of their names in `lora_targets`. */
typedef enum pw_target { PW_TARGET_QKV, PW_TARGET_PROJ, PW_TARGET_FC1, PW_TARGET_FC2, PW_TARGET_COUNT } pw_target;
extern const char *const pw_trainable_names[];

/* Reads and checks the fields; for pw_plan_make, which has resolved the sizes and the sharding. */
pw_status pw_plan_trainable(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error);

static inline bool pw_plan_targets(const pw_plan *plan, pw_target target) { return plan->targets >> target & 1; }
static inline bool pw_plan_trains_all(const pw_plan *plan) {
    return plan->desc->trainable == PW_TRAIN_ALL && plan->desc->frozen_layers == 0;
}
/* Whether the backward pass goes through a layer; whether the embedding, and the head, are trained. */
static inline bool pw_plan_reaches(const pw_plan *plan, int64_t layer) { return layer >= plan->frozen; }
static inline bool pw_plan_trains_embedding(const pw_plan *plan) { return pw_plan_trains_all(plan); }
static inline bool pw_plan_trains_head(const pw_plan *plan) { return plan->desc->trainable != PW_TRAIN_LORA; }

/* Trained parameters on one rank: of a stretch of layers, of a stage. */
double pw_plan_layers_trained(const pw_plan *plan, int64_t first, int64_t layers);
double pw_plan_stage_trained(const pw_plan *plan, int64_t stage);
double pw_plan_adapter_parameters(const pw_plan *plan); /* of a layer, over all ranks */

/* Model FLOPs of a token: 2 per weight forward, 2 for the input's gradient where the backward pass goes through, 2 for the
 * gradients of trained weights. LoRA comes to about two thirds of full training. */
double pw_plan_flops_per_token(const pw_plan *plan, bool causal_convention);

#endif
