/* What a model predicts with: the parts behind its last layer. Forms without operations; end_segments.c has the kernels.
 *
 *   language_model  every token through the output layer [h, V]
 *   masked_lm       the masked positions of a sequence through a transform [h, h], its norm and the output layer; the first
 *                   token of a sequence through a pooler [h, h] and a next-sentence classifier [h, 2] (Devlin et al. 2018)
 *   span            every token through [h, 2]: begin and end of an answer (SQuAD); the pooler belongs to the encoder
 */
#ifndef PW_MODELS_WORKLOAD_HEAD_H
#define PW_MODELS_WORKLOAD_HEAD_H

#include "models/workload/train.h"

/* Positions of a sequence that reach the output layer. */
int64_t pw_head_positions(const pw_model_desc *model, int64_t sequence);
/* Weights beside final norm and output layer; the bias of the output layer covers `columns` tokens of the vocabulary. */
double pw_head_own_parameters(const pw_model_desc *model, double columns);
/* Tensors that hold them. */
double pw_head_own_tensors(const pw_model_desc *model);
/* Weights that multiply, each times the share of tokens that pass through it. */
double pw_head_matrix_weights(const pw_model_desc *model, int64_t sequence);

#endif
