#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/convnet/layers.h"

static bool switched(int choice, bool stack) { return choice == 2 ? stack : choice == 1; }

static pw_status check_precision(const pw_device *device, pw_precision precision, const char *file, int line, pw_error *error) {
    char hint[200] = "formats of the device:";
    if (!device || device->peak_flops[precision] > 0) return PW_OK;
    size_t used = strlen(hint);
    for (int p = 0; p <= PW_PRECISION_BF16 && used < sizeof hint; p++)
        if (device->peak_flops[p] > 0)
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", pw_precision_names[p]);
    return pw_fail(error, PW_UNSUPPORTED, file, line, hint, "convnet.precision: %s has no %s arithmetic", device->name,
                   pw_precision_names[precision]);
}

pw_status pw_convnet_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, int64_t per_node,
                               const pw_convnet_desc *desc, pw_arena *arena, const char *file, int line,
                               pw_convnet_plan *plan, pw_error *error) {
    memset(plan, 0, sizeof *plan);
    plan->desc = desc;
    plan->batch = desc->batch;
    plan->precision = (pw_precision)desc->precision;
    plan->element_bytes = pw_precision_bytes(plan->precision);
    plan->per_node = per_node;
    plan->ranks = desc->data_parallel ? desc->data_parallel : gpus;
    PW_TRY(pw_image_resolve(desc->model, arena, file, line, &plan->shape, error));
    PW_TRY(pw_convnet_stack_read(catalogue, desc->stack, &plan->stack, file, line, error));
    PW_TRY(check_precision(device, plan->precision, file, line, error));
    bool last = plan->precision == PW_PRECISION_TF32 ? plan->stack.channels_last_tf32 : plan->stack.channels_last;
    plan->transposes = plan->precision != PW_PRECISION_FP32 && !switched(desc->channels_last, last);
    plan->stack.overlap_gradients = switched(desc->overlap_gradients, plan->stack.overlap_gradients);
    plan->bucket_bytes = desc->bucket_bytes > 0 ? desc->bucket_bytes : plan->stack.bucket;
    if (gpus == 0 || (plan->ranks >= 1 && plan->ranks <= gpus)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out to use them all",
                   "convnet.data_parallel %lld, but the cluster has %lld GPUs", (long long)plan->ranks, (long long)gpus);
}

/* --- Memory ------------------------------------------------------------------------------------------------------- */

/* Layers whose backward pass reads the layer's output: all takers but sums and concatenations. */
static bool is_read_again(const pw_image_shape *shape, uint32_t layer) {
    for (uint32_t i = layer + 1; i < shape->count; i++) {
        const pw_layer *taker = &shape->layers[i];
        if (taker->kind == PW_LAYER_ADD || taker->kind == PW_LAYER_CONCAT || taker->kind == PW_LAYER_MEAN_POOL) continue;
        for (uint32_t k = 0; k < taker->input_count; k++)
            if (taker->inputs[k] == layer) return true;
    }
    return false;
}

void pw_convnet_account(const pw_convnet_plan *plan, const pw_device *device, pw_convnet_memory *account) {
    const double fp32 = 4;
    double parameters = plan->shape.parameters, kept = 0, largest = 0;
    for (uint32_t i = 0; i < plan->shape.count; i++) {
        const pw_layer *layer = &plan->shape.layers[i];
        double out = pw_layer_outputs(layer) * (double)plan->batch * plan->element_bytes;
        bool norm = pw_layer_has_norm(layer);
        if (out > largest) largest = out;
        if (norm && layer->kind != PW_LAYER_NORM) kept += out; /* what the norm reads again */
        if (layer->desc->activation == PW_ACTIVATION_RELU || is_read_again(&plan->shape, i)) kept += out;
        if (layer->kind == PW_LAYER_MAX_POOL) kept += out / plan->element_bytes * plan->stack.pool_index;
    }
    const pw_image_model_desc *model = plan->desc->model;
    double images = (double)(model->height * model->width * model->channels) * (double)plan->batch * plan->element_bytes;
    *account = (pw_convnet_memory){.weights = parameters * (fp32 + (plan->element_bytes < fp32 ? plan->element_bytes : 0)),
                                   .gradients = parameters * fp32 + (plan->ranks > 1 ? parameters * plan->stack.gradient_wire : 0),
                                   .optimizer = parameters * fp32,
                                   .activations = kept + images,
                                   .buffers = 2 * largest + (plan->desc->input ? images : 0),
                                   .capacity = device ? device->memory_bytes : NAN};
    double used = account->weights + account->gradients + account->optimizer + account->activations + account->buffers;
    account->reserve = plan->stack.reserve + plan->stack.fragmentation * used;
    account->total = used + account->reserve;
}
