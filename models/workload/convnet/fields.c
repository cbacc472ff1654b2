/* Fields of layers, models, input pipelines and jobs, for the registry. */
#include <math.h>
#include <stddef.h>

#include "models/workload/convnet/convnet.h"

/* --- Layers ------------------------------------------------------------------------------------------------------- */

static const char *const activation_names[] = {"none", "relu", NULL};

#define AT(field) offsetof(pw_layer_desc, field)
#define LAYER_NAME                                                                              \
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "What other layers call it."}
#define LAYER_FROM                                                                              \
    {"from", PW_FIELD_TEXT, PW_UNIT_NONE, AT(from), 0, 0, "", NULL, NULL,                       \
     "Layer whose output it takes; without one, the layer before it."}
#define LAYER_ACTIVATION(preset)                                                                \
    {"activation", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(activation), 0, 0, preset, activation_names, NULL, \
     "What follows, element by element."}

static const pw_field conv_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"channels", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(channels), 1, 1048576, NULL, NULL, NULL, "Channels of the output."},
    {"kernel", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(kernel), 1, 1024, NULL, NULL, NULL, "Height of the window, in pixels."},
    {"kernel_width", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(kernel_width), 0, 1024, "0", NULL, NULL, "Width of the window; 0: its height."},
    {"stride", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(stride), 1, 1024, "1", NULL, NULL, "Pixels from one window to the next."},
    {"padding", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(padding), 0, 1024, "0", NULL, NULL, "Zeros around the input, on each side."},
    {"groups", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(groups), 1, 1048576, "1", NULL, NULL,
     "Groups of channels that do not mix; as many as channels: depthwise."},
    {"norm", PW_FIELD_BOOL, PW_UNIT_NONE, AT(norm), 0, 0, "false", NULL, NULL, "A batch norm follows."},
    {"bias", PW_FIELD_BOOL, PW_UNIT_NONE, AT(bias), 0, 0, "false", NULL, NULL, "A bias per channel is added."},
    LAYER_ACTIVATION("none"), {NULL}};

static const pw_field max_pool_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"kernel", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(kernel), 1, 1024, NULL, NULL, NULL, "Height and width of the window, in pixels."},
    {"stride", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(stride), 1, 1024, "1", NULL, NULL, "Pixels from one window to the next."},
    {"padding", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(padding), 0, 1024, "0", NULL, NULL, "Border around the input, on each side."},
    {NULL}};

static const pw_field mean_pool_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"kernel", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(kernel), 0, 1024, "0", NULL, NULL,
     "Height and width of the window, in pixels; 0: the whole map."},
    {"stride", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(stride), 1, 1024, "1", NULL, NULL, "Pixels from one window to the next."},
    {"padding", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(padding), 0, 1024, "0", NULL, NULL, "Border around the input, on each side."},
    {NULL}};

static const pw_field dense_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"channels", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(channels), 1, 100000000, NULL, NULL, NULL, "Width of the output."},
    {"bias", PW_FIELD_BOOL, PW_UNIT_NONE, AT(bias), 0, 0, "true", NULL, NULL, "A bias is added."},
    LAYER_ACTIVATION("none"), {NULL}};

static const pw_field add_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"with", PW_FIELD_TEXT, PW_UNIT_NONE, AT(with), 0, 0, NULL, NULL, NULL, "Layers that are added, separated by spaces."},
    LAYER_ACTIVATION("none"), {NULL}};

static const pw_field concat_fields[] = {
    LAYER_NAME, LAYER_FROM,
    {"with", PW_FIELD_TEXT, PW_UNIT_NONE, AT(with), 0, 0, NULL, NULL, NULL,
     "Layers that are put behind it, separated by spaces; maps of different sizes are flattened."},
    {NULL}};

static const pw_field norm_fields[] = {LAYER_NAME, LAYER_FROM, LAYER_ACTIVATION("none"), {NULL}};
#undef AT

#define LAYER_KIND(kind, text) const pw_kind pw_##kind##_kind = {#kind, text, sizeof(pw_layer_desc), kind##_fields, NULL}
LAYER_KIND(conv, "A convolution, with a batch norm and an activation if asked for.");
LAYER_KIND(max_pool, "The largest value of each window.");
LAYER_KIND(mean_pool, "The mean of each window, or of the whole map.");
LAYER_KIND(dense, "A fully connected layer over everything before it.");
LAYER_KIND(add, "The sum of several outputs: a residual connection.");
LAYER_KIND(concat, "Several outputs side by side.");
LAYER_KIND(norm, "A batch norm of its own.");

static const pw_kind *const layer_kinds[] = {&pw_conv_kind, &pw_max_pool_kind, &pw_mean_pool_kind, &pw_dense_kind,
                                             &pw_add_kind, &pw_concat_kind, &pw_norm_kind, NULL}; /* as PW_LAYER_MAP */

pw_layer_kind pw_layer_kind_of(const pw_kind *kind) {
    int k = 0;
    while (k < PW_LAYER_KIND_COUNT && layer_kinds[k] != kind) k++;
    return (pw_layer_kind)k;
}

/* --- Models ------------------------------------------------------------------------------------------------------- */

static const char *const loss_names[] = {"classes", "boxes", NULL};
static const pw_field layer_item = {"layer", PW_FIELD_ONE_OF, .kinds = layer_kinds, .text = "A layer."};

#define AT(field) offsetof(pw_image_model_desc, field)
static const pw_field image_model_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the model, for reports."},
    {"height", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(height), 1, 1000000, "224", NULL, NULL, "Height of an image, in pixels."},
    {"width", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(width), 1, 1000000, "224", NULL, NULL, "Width of an image, in pixels."},
    {"channels", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(channels), 1, 65536, "3", NULL, NULL, "Channels of an image: 3 colours."},
    {"loss", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(loss), 0, 0, "classes", loss_names, NULL,
     "What the last layer says: the class of the image, or boxes and their classes (SSD)."},
    {"layers", PW_FIELD_LIST, PW_UNIT_NONE, AT(layers), 1, 10000, NULL, .item = &layer_item,
     .text = "Layers in the order in which they run."},
    {NULL}};
#undef AT
const pw_kind pw_image_model_kind = {"image_model", "A convolutional network: images in, a list of layers, a loss.",
                                     sizeof(pw_image_model_desc), image_model_fields, NULL};

/* --- Jobs --------------------------------------------------------------------------------------------------------- */

static const char *const prefetch_names[] = {"none", "batch", "stages", NULL};
static const char *const sgd_names[] = {"sgd", "lars", NULL};
static const char *const switch_names[] = {"off", "on", "stack", NULL};

#define AT(field) offsetof(pw_input_desc, field)
static const pw_field input_fields[] = {
    {"image_size", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(image_bytes), 1, 1e12, NULL, NULL, NULL, "Bytes of an image as stored."},
    {"images_per_request", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(images_per_request), 1e-6, 1e9, "1", NULL, NULL,
     "Images that one request to the store yields; 1: every image is a file."},
    {"store_bandwidth", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(store_bandwidth_Bps), 1, 1e18, NULL, NULL, NULL,
     "What the store delivers to all its readers together."},
    {"store_requests", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(store_operations_per_s), 1e-3, 1e15, "", NULL, NULL,
     "Requests per second that the store serves; without it, as many as the bandwidth allows."},
    {"store_latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(store_latency_s), 0, 1e4, "0 s", NULL, NULL,
     "Time until a batch's first byte comes."},
    {"reader_bandwidth", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(reader_Bps), 1, 1e18, "", NULL, NULL,
     "What the readers of one GPU take at most; without it, all that the store gives."},
    {"shared", PW_FIELD_BOOL, PW_UNIT_NONE, AT(shared), 0, 0, "true", NULL, NULL,
     "One store serves the cluster; otherwise every node has one of its own."},
    {"decode_per_core", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(decode_per_core), 1e-6, 1e9, "", NULL, NULL,
     "Images that a CPU core decodes and augments per second; without it, that takes no time."},
    {"cores", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(cores), 0.01, 10000, "8", NULL, NULL, "CPU cores that prepare the images of one GPU."},
    {"value_bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(value_bytes), 0.125, 16, "1 B", NULL, NULL,
     "Bytes of one colour of one pixel on the way to the GPU."},
    {"prefetch", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(prefetch), 0, 0, "stages", prefetch_names, NULL,
     "What is prepared while a step runs: nothing; the next batch from end to end; a batch in each of store, decoding and copy."},
    {NULL}};
#undef AT

static pw_status check_input(const void *description, const char *file, int line, pw_error *error) {
    const pw_input_desc *input = description;
    if (input->images_per_request == 1 || !isnan(input->store_operations_per_s)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "give store_requests, or leave it out",
                   "input.images_per_request changes nothing where requests are not limited");
}

const pw_kind pw_input_kind = {"input", "An input pipeline: store, CPU decoding, copy to the GPU.", sizeof(pw_input_desc),
                               input_fields, check_input};

#define AT(field) offsetof(pw_convnet_desc, field)
static const pw_field convnet_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the job, for reports."},
    {"model", PW_FIELD_POINTER, PW_UNIT_NONE, AT(model), 0, 0, NULL, NULL, &pw_image_model_kind, "The network to train."},
    {"batch", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(batch), 1, 10000000, NULL, NULL, NULL, "Images per GPU and step."},
    {"data_parallel", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(data_parallel), 0, 1000000, "0", NULL, NULL,
     "GPUs that share a step; 0: all of the cluster."},
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "fp16", pw_precision_names, NULL,
     "Number format of convolutions and activations; weights are updated in fp32."},
    {"optimizer", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(optimizer), 0, 0, "sgd", sgd_names, NULL,
     "SGD with momentum, or LARS, which also takes two norms of every array."},
    {"stack", PW_FIELD_TEXT, PW_UNIT_NONE, AT(stack), 0, 0, "", NULL, NULL,
     "Software stack, a row of the table convnet-stacks; without one, the newest default."},
    {"overlap_gradients", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(overlap_gradients), 0, 0, "stack", switch_names, NULL,
     "Gradient buckets are reduced behind the backward pass."},
    {"channels_last", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(channels_last), 0, 0, "stack", switch_names, NULL,
     "Tensors keep the channels of a pixel together, as tensor units want them; otherwise convolutions transpose."},
    {"bucket", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(bucket_bytes), 1, 1e15, "", NULL, NULL,
     "Gradient bytes that are reduced together; without it, the stack's."},
    {"input", PW_FIELD_POINTER, PW_UNIT_NONE, AT(input), 0, 0, "", NULL, &pw_input_kind,
     "What prepares the batches; without it they are there in time."},
    {NULL}};
#undef AT

static pw_status check_convnet(const void *description, const char *file, int line, pw_error *error) {
    const pw_convnet_desc *desc = description;
    if (desc->precision == PW_PRECISION_FP8 || desc->precision == PW_PRECISION_FP4)
        return pw_fail(error, PW_UNSUPPORTED, file, line, "choose fp32, tf32, fp16 or bf16",
                       "convnet.precision: convolutions in %s are not modelled", pw_precision_names[desc->precision]);
    return PW_OK;
}

const pw_kind pw_convnet_kind = {"convnet", "Training of a convolutional network, data parallel.", sizeof(pw_convnet_desc),
                                 convnet_fields, check_convnet};
