#include "models/workload/head.h"

#include <math.h>

int64_t pw_head_positions(const pw_model_desc *model, int64_t sequence) {
    if (model->head != PW_HEAD_MASKED_LM) return sequence;
    int64_t positions = (int64_t)ceil(model->masked_share * (double)sequence);
    return positions < 1 ? 1 : positions;
}

double pw_head_own_parameters(const pw_model_desc *model, double columns) {
    double h = (double)model->hidden, pooler = h * h + h, pair = 2 * h + 2;
    switch ((pw_head)model->head) {
        case PW_HEAD_MASKED_LM: return h * h + h + 2 * h + columns + pooler + pair;
        case PW_HEAD_SPAN: return pooler + pair;
        case PW_HEAD_LANGUAGE_MODEL: break;
    }
    return 0;
}

double pw_head_own_tensors(const pw_model_desc *model) {
    switch ((pw_head)model->head) {
        case PW_HEAD_MASKED_LM: return 9; /* transform, norm, pooler, classifier: a weight and a bias each; output bias */
        case PW_HEAD_SPAN: return 4;
        case PW_HEAD_LANGUAGE_MODEL: break;
    }
    return 0;
}

double pw_head_matrix_weights(const pw_model_desc *model, int64_t sequence) {
    double h = (double)model->hidden, output = (double)model->vocabulary * h, s = (double)sequence;
    switch ((pw_head)model->head) {
        case PW_HEAD_MASKED_LM:
            return (double)pw_head_positions(model, sequence) / s * (h * h + output) + (h * h + 2 * h) / s;
        case PW_HEAD_SPAN: return 2 * h;
        case PW_HEAD_LANGUAGE_MODEL: break;
    }
    return output;
}
