/* A list of layers becomes a graph with sizes: who takes whose output, how large it is, how many weights and operations. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/gpu/convolution.h"
#include "models/workload/convnet/layers.h"

typedef struct resolving {
    const pw_image_model_desc *model;
    pw_arena *arena;
    pw_layer *layers;
    bool *carries; /* [layers]: parameters lie in it or before it */
    uint32_t count; /* resolved so far */
    const char *file;
    int line;
    pw_error *error;
} resolving;

double pw_layer_outputs(const pw_layer *layer) {
    return (double)layer->out_height * layer->out_width * layer->out_channels;
}
double pw_layer_inputs(const pw_layer *layer) { return (double)layer->in_height * layer->in_width * layer->in_channels; }

pw_convolution pw_layer_convolution(const pw_layer *layer, pw_convolution_pass pass, int64_t batch) {
    const pw_layer_desc *desc = layer->desc;
    return (pw_convolution){.batch = batch,
                            .in_height = layer->in_height, .in_width = layer->in_width, .in_channels = layer->in_channels,
                            .out_height = layer->out_height, .out_width = layer->out_width, .out_channels = layer->out_channels,
                            .kernel_height = (int16_t)desc->kernel,
                            .kernel_width = (int16_t)(desc->kernel_width ? desc->kernel_width : desc->kernel),
                            .stride = (int16_t)desc->stride, .pass = (int16_t)pass, .groups = (int32_t)desc->groups};
}

__attribute__((format(printf, 4, 5))) static pw_status bad_layer(const resolving *r, const char *field, const char *hint,
                                                                  const char *format, ...) {
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return pw_fail(r->error, PW_BAD_INPUT, r->file, r->line, hint, "image_model.layers[%u]%s%s: %s", r->count + 1,
                   *field ? "." : "", field, what);
}

static pw_status no_memory(const resolving *r) {
    return pw_fail(r->error, PW_NO_MEMORY, r->file, r->line, NULL, "no memory for the layers of a model");
}

/* --- Who takes whose output --------------------------------------------------------------------------------------- */

static bool is_called(const pw_layer *layer, const char *name, size_t length) {
    return layer->desc->name && strlen(layer->desc->name) == length && !memcmp(layer->desc->name, name, length);
}

static pw_status find_layer(const resolving *r, const char *field, const char *name, size_t length, uint32_t *index) {
    for (*index = 0; *index < r->count; ++*index)
        if (is_called(&r->layers[*index], name, length)) return PW_OK;
    return bad_layer(r, field, "name a layer above it", "no layer before it is called \"%.*s\"", (int)length, name);
}

static pw_status find_inputs(resolving *r, pw_layer *layer) {
    const pw_layer_desc *desc = layer->desc;
    const char *with = desc->with ? desc->with : "";
    uint32_t most = 1;
    for (const char *c = with; *c; c++) most += *c != ' ' && (c == with || c[-1] == ' ');
    layer->inputs = pw_arena_alloc(r->arena, most * sizeof *layer->inputs);
    if (!layer->inputs) return no_memory(r);
    if (desc->from && *desc->from) PW_TRY(find_layer(r, "from", desc->from, strlen(desc->from), &layer->inputs[0]));
    else layer->inputs[0] = r->count ? r->count - 1 : PW_NONE;
    layer->input_count = 1;
    for (size_t length; *(with += strspn(with, " ")); with += length) {
        length = strcspn(with, " ");
        PW_TRY(find_layer(r, "with", with, length, &layer->inputs[layer->input_count++]));
    }
    if ((layer->kind == PW_LAYER_ADD || layer->kind == PW_LAYER_CONCAT) && layer->input_count < 2)
        return bad_layer(r, "with", "with = \"conv1\"", "it takes at least two layers");
    if (layer->input_count > 1 && layer->inputs[0] == PW_NONE)
        return bad_layer(r, "from", "name a layer above it", "the images cannot be added to a layer's output");
    for (uint32_t i = 0; i < layer->input_count; i++) {
        if (layer->inputs[i] == PW_NONE) continue;
        r->layers[layer->inputs[i]].uses++;
        layer->wants_gradient |= r->carries[layer->inputs[i]];
    }
    return PW_OK;
}

/* --- Sizes -------------------------------------------------------------------------------------------------------- */

static pw_status slide_window(resolving *r, pw_layer *layer) {
    const pw_layer_desc *d = layer->desc;
    int64_t height = d->kernel, width = d->kernel_width ? d->kernel_width : d->kernel;
    if (layer->kind == PW_LAYER_MEAN_POOL && d->kernel == 0) {
        layer->out_height = layer->out_width = 1;
        return PW_OK;
    }
    int64_t rows = layer->in_height + 2 * d->padding - height, columns = layer->in_width + 2 * d->padding - width;
    if (rows < 0 || columns < 0)
        return bad_layer(r, "kernel", "a smaller window, or more padding", "a window of %lld x %lld does not fit into %d x %d",
                         (long long)height, (long long)width, layer->in_height, layer->in_width);
    layer->out_height = (int32_t)(rows / d->stride + 1);
    layer->out_width = (int32_t)(columns / d->stride + 1);
    return PW_OK;
}

static pw_status size_conv(resolving *r, pw_layer *layer) {
    const pw_layer_desc *d = layer->desc;
    PW_TRY(slide_window(r, layer));
    layer->out_channels = (int32_t)d->channels;
    if (layer->in_channels % d->groups || d->channels % d->groups)
        return bad_layer(r, "groups", "groups divide both", "%lld groups of %d channels in and %lld out", (long long)d->groups,
                         layer->in_channels, (long long)d->channels);
    pw_convolution shape = pw_layer_convolution(layer, PW_CONVOLUTION_FORWARD, 1);
    double taps = (double)shape.kernel_height * shape.kernel_width;
    layer->parameters = (double)d->channels * (layer->in_channels / (double)d->groups) * taps;
    layer->tensors = 1;
    return PW_OK;
}

static pw_status size_several(resolving *r, pw_layer *layer) {
    bool flat = false;
    double elements = pw_layer_inputs(layer), channels = layer->in_channels;
    for (uint32_t i = 1; i < layer->input_count; i++) {
        const pw_layer *other = &r->layers[layer->inputs[i]];
        bool same_map = other->out_height == layer->in_height && other->out_width == layer->in_width;
        if (layer->kind == PW_LAYER_ADD && !(same_map && other->out_channels == layer->in_channels))
            return bad_layer(r, "with", "sums are of outputs of one shape", "%d x %d x %d cannot be added to %d x %d x %d",
                             other->out_height, other->out_width, other->out_channels, layer->in_height, layer->in_width,
                             layer->in_channels);
        flat |= !same_map;
        elements += pw_layer_outputs(other);
        channels += other->out_channels;
    }
    if (layer->kind == PW_LAYER_ADD) return PW_OK;
    if (flat) layer->out_height = layer->out_width = 1;
    if ((flat ? elements : channels) > 2e9) return bad_layer(r, "with", NULL, "the result is too large");
    layer->out_channels = (int32_t)(flat ? elements : channels);
    return PW_OK;
}

static pw_status size_layer(resolving *r, pw_layer *layer) {
    const pw_layer *before = layer->inputs[0] == PW_NONE ? NULL : &r->layers[layer->inputs[0]];
    layer->in_height = before ? before->out_height : (int32_t)r->model->height;
    layer->in_width = before ? before->out_width : (int32_t)r->model->width;
    layer->in_channels = before ? before->out_channels : (int32_t)r->model->channels;
    layer->out_height = layer->in_height;
    layer->out_width = layer->in_width;
    layer->out_channels = layer->in_channels;
    switch (layer->kind) {
        case PW_LAYER_CONV: PW_TRY(size_conv(r, layer)); break;
        case PW_LAYER_MAX_POOL:
        case PW_LAYER_MEAN_POOL: PW_TRY(slide_window(r, layer)); break;
        case PW_LAYER_DENSE:
            layer->out_height = layer->out_width = 1;
            layer->out_channels = (int32_t)layer->desc->channels;
            layer->parameters = pw_layer_inputs(layer) * (double)layer->desc->channels;
            layer->tensors = 1;
            break;
        case PW_LAYER_ADD:
        case PW_LAYER_CONCAT: PW_TRY(size_several(r, layer)); break;
        default: break;
    }
    if (layer->desc->bias) layer->parameters += layer->out_channels, layer->tensors++;
    if (pw_layer_has_norm(layer)) layer->parameters += 2.0 * layer->out_channels, layer->tensors += 2;
    return PW_OK;
}

static pw_status resolve_layer(resolving *r, const pw_one_of *item) {
    pw_layer *layer = &r->layers[r->count];
    layer->kind = pw_layer_kind_of(item->kind);
    layer->desc = item->record;
    const char *name = layer->desc->name ? layer->desc->name : "";
    for (uint32_t i = 0; *name && i < r->count; i++)
        if (is_called(&r->layers[i], name, strlen(name)))
            return bad_layer(r, "name", "names tell layers apart", "layer %u is called \"%s\" too", i + 1, name);
    PW_TRY(find_inputs(r, layer));
    PW_TRY(size_layer(r, layer));
    r->carries[r->count] = layer->wants_gradient || layer->parameters > 0;
    return PW_OK;
}

static double layer_flops(const pw_layer *layer) {
    if (layer->kind == PW_LAYER_DENSE) return 2 * pw_layer_inputs(layer) * layer->out_channels;
    if (layer->kind != PW_LAYER_CONV) return 0;
    pw_convolution shape = pw_layer_convolution(layer, PW_CONVOLUTION_FORWARD, 1);
    return pw_convolution_flops(&shape);
}

pw_status pw_image_resolve(const pw_image_model_desc *model, pw_arena *arena, const char *file, int line,
                           pw_image_shape *shape, pw_error *error) {
    resolving r = {.model = model, .arena = arena, .file = file, .line = line, .error = error};
    memset(shape, 0, sizeof *shape);
    r.layers = pw_arena_alloc(arena, (model->layers.count + 1) * sizeof *r.layers);
    r.carries = pw_arena_alloc(arena, model->layers.count + 1);
    if (!r.layers || !r.carries) return no_memory(&r);
    for (; r.count < model->layers.count; r.count++)
        PW_TRY(resolve_layer(&r, (const pw_one_of *)model->layers.items + r.count));
    for (r.count = 0; r.count + 1 < model->layers.count; r.count++)
        if (!r.layers[r.count].uses) return bad_layer(&r, "", "name it in `from` or `with` of a later layer", "nothing takes its output");
    shape->layers = r.layers;
    shape->count = model->layers.count;
    for (uint32_t i = 0; i < shape->count; i++) {
        const pw_layer *layer = &r.layers[i];
        double flops = layer_flops(layer);
        shape->parameters += layer->parameters;
        shape->tensors += layer->tensors;
        shape->forward_flops += flops;
        shape->training_flops += flops * (layer->wants_gradient ? 3 : 2);
    }
    if (shape->parameters > 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "add a conv or a dense layer", "image_model.layers: nothing in it can be trained");
}
