/* The kernels of a layer, forward and backward. Convolutions and dense layers follow from the shape; what lies between them
 * moves the layer's output so many times as the stack's row says. */
#include <string.h>

#include "models/workload/convnet/layers.h"

static void add_kernel(pw_kernel_list *to, const pw_kernel *kernel, double repeats) {
    uint32_t count = repeats >= 1 ? (uint32_t)repeats : 1;
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity ? 2 * to->capacity : 256;
        pw_kernel *kernels = pw_arena_alloc(to->arena, capacity * sizeof *kernels);
        uint32_t *counts = pw_arena_alloc(to->arena, capacity * sizeof *counts);
        if (!kernels || !counts) {
            to->out_of_memory = true;
            return;
        }
        if (to->count) {
            memcpy(kernels, to->kernels, to->count * sizeof *kernels);
            memcpy(counts, to->repeats, to->count * sizeof *counts);
        }
        to->kernels = kernels;
        to->repeats = counts;
        to->capacity = capacity;
    }
    to->kernels[to->count] = *kernel;
    to->repeats[to->count++] = count;
}

/* Traffic, over so many kernels. */
static void move(const pw_convnet_plan *plan, pw_kernel_list *to, pw_kernel_class kind, double bytes, double kernels) {
    if (!(bytes > 0)) return;
    double count = kernels >= 1 ? (double)(uint32_t)kernels : 1;
    add_kernel(to, &(pw_kernel){.kind = kind, .precision = plan->precision, .memory = {.bytes = bytes / count}}, count);
}

/* Bytes of one pass over a tensor of `elements` per image. */
static double pass_bytes(const pw_convnet_plan *plan, double elements) {
    return elements * (double)plan->batch * plan->element_bytes;
}

static void convolve(const pw_convnet_plan *plan, const pw_layer *layer, pw_convolution_pass pass, pw_kernel_list *to) {
    add_kernel(to, &(pw_kernel){.kind = PW_KERNEL_CONVOLUTION, .precision = plan->precision,
                                .convolution = pw_layer_convolution(layer, pass, plan->batch)}, 1);
    if (!plan->transposes) return;
    double both = pw_layer_inputs(layer) + pw_layer_outputs(layer);
    move(plan, to, PW_KERNEL_ELEMENTWISE, plan->stack.transpose * pass_bytes(plan, both), 2);
}

static void multiply(const pw_convnet_plan *plan, int64_t m, int64_t n, int64_t k, pw_kernel_list *to) {
    add_kernel(to, &(pw_kernel){.kind = PW_KERNEL_GEMM, .precision = plan->precision, .gemm = {.batch = 1, .m = m, .n = n, .k = k}}, 1);
}

static bool has_relu(const pw_layer *layer) { return layer->desc->activation == PW_ACTIVATION_RELU; }
/* A bias joins the ReLU behind it. */
static bool relu_is_apart(const pw_layer *layer) { return has_relu(layer) && !layer->desc->bias; }

void pw_convnet_forward(const pw_convnet_plan *plan, const pw_layer *layer, pw_kernel_list *to) {
    const pw_convnet_stack *s = &plan->stack;
    double in = pass_bytes(plan, pw_layer_inputs(layer)), out = pass_bytes(plan, pw_layer_outputs(layer));
    switch (layer->kind) {
        case PW_LAYER_CONV: convolve(plan, layer, PW_CONVOLUTION_FORWARD, to); break;
        case PW_LAYER_DENSE: multiply(plan, plan->batch, layer->out_channels, (int64_t)pw_layer_inputs(layer), to); break;
        case PW_LAYER_MAX_POOL:
            move(plan, to, PW_KERNEL_POOLING, in + out * (1 + s->pool_index / plan->element_bytes), 1);
            break;
        case PW_LAYER_MEAN_POOL: move(plan, to, PW_KERNEL_POOLING, in + out, 1); break;
        case PW_LAYER_ADD:
            move(plan, to, PW_KERNEL_ELEMENTWISE, s->add_forward * out * (layer->input_count - 1), layer->input_count - 1);
            break;
        case PW_LAYER_CONCAT: move(plan, to, PW_KERNEL_ELEMENTWISE, 2 * out, 1); break;
        default: break;
    }
    if (layer->desc->bias) move(plan, to, PW_KERNEL_ELEMENTWISE, s->bias_forward * out, 1);
    if (pw_layer_has_norm(layer)) move(plan, to, PW_KERNEL_NORM, s->norm_forward * out, s->norm_kernels);
    if (relu_is_apart(layer)) move(plan, to, PW_KERNEL_ELEMENTWISE, s->relu_forward * out, s->relu_kernels);
}

void pw_convnet_backward(const pw_convnet_plan *plan, const pw_layer *layer, pw_kernel_list *to) {
    const pw_convnet_stack *s = &plan->stack;
    double in = pass_bytes(plan, pw_layer_inputs(layer)), out = pass_bytes(plan, pw_layer_outputs(layer));
    bool trains = layer->parameters > 0 || layer->wants_gradient;
    if (!trains) return;
    if (layer->uses > 1) move(plan, to, PW_KERNEL_ELEMENTWISE, s->sum_gradients * out * (layer->uses - 1), layer->uses - 1);
    if (relu_is_apart(layer)) move(plan, to, PW_KERNEL_ELEMENTWISE, s->relu_backward * out, s->relu_kernels);
    if (pw_layer_has_norm(layer)) move(plan, to, PW_KERNEL_NORM, s->norm_backward * out, s->norm_kernels);
    if (layer->desc->bias) move(plan, to, PW_KERNEL_ELEMENTWISE, s->bias_backward * out, 1);
    switch (layer->kind) {
        case PW_LAYER_CONV:
            if (layer->wants_gradient) convolve(plan, layer, PW_CONVOLUTION_DATA, to);
            convolve(plan, layer, PW_CONVOLUTION_WEIGHT, to);
            break;
        case PW_LAYER_DENSE:
            if (layer->wants_gradient) multiply(plan, plan->batch, (int64_t)pw_layer_inputs(layer), layer->out_channels, to);
            multiply(plan, layer->out_channels, (int64_t)pw_layer_inputs(layer), plan->batch, to);
            break;
        case PW_LAYER_MAX_POOL:
            move(plan, to, PW_KERNEL_POOLING, in + out * (1 + s->pool_index / plan->element_bytes), 1);
            break;
        case PW_LAYER_MEAN_POOL: move(plan, to, PW_KERNEL_POOLING, in + out, 1); break;
        case PW_LAYER_ADD: move(plan, to, PW_KERNEL_ELEMENTWISE, s->add_backward * out * (layer->input_count - 1), 1); break;
        case PW_LAYER_CONCAT: move(plan, to, PW_KERNEL_ELEMENTWISE, 2 * out, layer->input_count); break;
        default: break;
    }
}

/* Softmax and cross entropy in fp32: read and written once each way; matching boxes to their classes moves more. */
void pw_convnet_loss(const pw_convnet_plan *plan, bool backward, pw_kernel_list *to) {
    double scores = pw_layer_outputs(&plan->shape.layers[plan->shape.count - 1]) * (double)plan->batch;
    bool boxes = plan->desc->model->loss == PW_LOSS_BOXES;
    const double fp32 = 4;
    if (boxes) move(plan, to, PW_KERNEL_LOSS, plan->stack.box_loss * scores / 2, plan->stack.box_loss_kernels / 2);
    else move(plan, to, PW_KERNEL_LOSS, (backward ? 2 : 3) * fp32 * scores, 2);
}

void pw_convnet_optimizer(const pw_convnet_plan *plan, pw_kernel_list *to) {
    const pw_convnet_stack *s = &plan->stack;
    double parameters = plan->shape.parameters, tensors = plan->shape.tensors;
    if (plan->element_bytes < 4) move(plan, to, PW_KERNEL_OPTIMIZER, s->cast * parameters, s->cast_kernels * tensors);
    move(plan, to, PW_KERNEL_OPTIMIZER, (plan->desc->optimizer == PW_SGD_LARS ? s->optimizer_lars : s->optimizer_sgd) * parameters,
         s->optimizer_kernels * tensors);
}
