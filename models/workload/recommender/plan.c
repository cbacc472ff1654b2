#include "models/workload/recommender/plan.h"

#include <math.h>
#include <string.h>

int64_t pw_recommender_pairs(const pw_recommender_model_desc *model) {
    return model->width + (model->tables + 1) * model->tables / 2;
}

/* Weights of the layers from an input of `in`; *first gets those of the first. */
static double weights_of(pw_list layers, int64_t in, double *first) {
    const int64_t *widths = layers.items;
    double sum = 0;
    *first = 0;
    for (uint32_t i = 0; i < layers.count; i++) {
        sum += (double)in * (double)widths[i];
        if (i == 0) *first = sum;
        in = widths[i];
    }
    return sum;
}

static double biases_of(pw_list layers) {
    double sum = 0;
    for (uint32_t i = 0; i < layers.count; i++) sum += (double)((const int64_t *)layers.items)[i];
    return sum;
}

double pw_recommender_mlp_parameters(const pw_recommender_model_desc *model) {
    double first;
    return weights_of(model->bottom, model->dense, &first) + weights_of(model->top, pw_recommender_pairs(model), &first) +
           biases_of(model->bottom) + biases_of(model->top);
}

double pw_recommender_training_flops(const pw_recommender_model_desc *model) {
    double first, other, bottom = weights_of(model->bottom, model->dense, &first);
    return 2 * (3 * (bottom + weights_of(model->top, pw_recommender_pairs(model), &other)) - first);
}

pw_status pw_recommender_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus,
                                   const pw_recommender_desc *desc, const char *file, int line, pw_recommender_plan *plan,
                                   pw_error *error) {
    memset(plan, 0, sizeof *plan);
    plan->desc = desc;
    plan->model = desc->model;
    plan->precision = (pw_precision)desc->precision;
    plan->element_bytes = pw_precision_bytes(plan->precision);
    plan->ranks = gpus;
    PW_TRY(pw_recommender_stack_read(catalogue, desc->stack, &plan->stack, file, line, error));
    plan->table_bytes = plan->stack.table > 0 ? plan->stack.table : plan->element_bytes;
    if (device && !(device->peak_flops[plan->precision] > 0))
        return pw_fail(error, PW_UNSUPPORTED, file, line, "`podwright explain` lists the formats of a device",
                       "recommender.precision: %s has no %s arithmetic", device->name, pw_precision_names[plan->precision]);
    if (desc->batch % gpus)
        return pw_fail(error, PW_BAD_INPUT, file, line, "every GPU takes as many samples",
                       "recommender.batch %lld is not a multiple of %lld GPUs", (long long)desc->batch, (long long)gpus);
    plan->samples = desc->batch / gpus;
    plan->tables = ceil((double)plan->model->tables / (double)gpus);
    return PW_OK;
}

/* Tables of equal size; plain SGD keeps no state. Activations: the vectors, the interaction, every layer's output, twice
 * where a gradient meets them. */
void pw_recommender_account(const pw_recommender_plan *plan, const pw_device *device, pw_recommender_memory *account) {
    const pw_recommender_model_desc *model = plan->model;
    const double fp32 = 4;
    double b = plan->element_bytes, vectors = (double)(model->tables + 1) * (double)model->width;
    double own = plan->tables * (double)model->width * (double)plan->desc->batch; /* before they are exchanged */
    double layers = biases_of(model->bottom) + biases_of(model->top) + (double)pw_recommender_pairs(model);
    *account = (pw_recommender_memory){
        .embeddings = model->rows / (double)model->tables * plan->tables * (double)model->width * plan->table_bytes,
        .perceptrons = pw_recommender_mlp_parameters(model) * (2 * fp32 + (b < fp32 ? b : 0)),
        .activations = 2 * b * ((double)plan->samples * (vectors + layers) + own),
        .reserve = plan->stack.reserve,
        .capacity = device ? device->memory_bytes : NAN};
    account->total = account->embeddings + account->perceptrons + account->activations + account->reserve;
}
