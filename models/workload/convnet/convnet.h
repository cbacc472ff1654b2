/* Training of convolutional networks: description, shapes and counts, memory account, lowering to a program, and one call
 * that runs it.
 *
 * A model is a list of layers; a layer takes what the layer before it (or the one it names) made. A job is a model, a
 * batch per GPU, a number format, a software stack, data parallel over all GPUs with gradient buckets reduced behind the
 * backward pass, and, if given, an input pipeline. Kernels follow from the shapes, the traffic beside convolutions from the
 * stack's row of the catalogue; step time and exposed communication come out of the execution.
 *
 * FLOPs are 2 x multiply-adds of convolutions and dense layers; a training step counts three times the forward pass, less the
 * first layer's gradient of the images.
 */
#ifndef PW_MODELS_CONVNET_H
#define PW_MODELS_CONVNET_H

#include "models/node/cluster.h"
#include "models/program/blame.h"
#include "models/program/executor.h"
#include "models/workload/interval.h"
#include "models/workload/machine.h"

/* --- Models ------------------------------------------------------------------------------------------------------- */

/* X(NAME, name): kinds of layers. */
#define PW_LAYER_MAP(X)         \
    X(CONV, "conv")             \
    X(MAX_POOL, "max_pool")     \
    X(MEAN_POOL, "mean_pool")   \
    X(DENSE, "dense")           \
    X(ADD, "add")               \
    X(CONCAT, "concat")         \
    X(NORM, "norm")
typedef enum pw_layer_kind {
#define PW_LAYER_ENUM(NAME, name) PW_LAYER_##NAME,
    PW_LAYER_MAP(PW_LAYER_ENUM)
#undef PW_LAYER_ENUM
    PW_LAYER_KIND_COUNT
} pw_layer_kind;

typedef enum pw_activation { PW_ACTIVATION_NONE, PW_ACTIVATION_RELU } pw_activation;

/* One struct for all kinds of layers; each kind's registry lists the fields that it has. Others are 0. */
typedef struct pw_layer_desc {
    const char *name;  /* so that others can name it; "" or NULL: none */
    const char *from;  /* layer whose output it takes; "" or NULL: the layer before */
    const char *with;  /* ADD, CONCAT: the other inputs, separated by spaces */
    int64_t channels;  /* CONV, DENSE: of the output */
    int64_t kernel, kernel_width; /* kernel_width 0: kernel. MEAN_POOL kernel 0: over the whole map */
    int64_t stride, padding, groups;
    bool norm, bias;   /* batch norm behind it */
    int activation;    /* behind that */
} pw_layer_desc;
extern const pw_kind pw_conv_kind, pw_max_pool_kind, pw_mean_pool_kind, pw_dense_kind, pw_add_kind, pw_concat_kind,
    pw_norm_kind;
pw_layer_kind pw_layer_kind_of(const pw_kind *kind);

typedef enum pw_image_loss { PW_LOSS_CLASSES, PW_LOSS_BOXES } pw_image_loss;
typedef struct pw_image_model_desc {
    const char *name;
    int64_t height, width, channels; /* of an image */
    int loss;                        /* pw_image_loss */
    pw_list layers;                  /* of pw_one_of: a layer kind and its pw_layer_desc */
} pw_image_model_desc;
extern const pw_kind pw_image_model_kind;
/* Presets by name: rows of the tables convnets and convnet-layers. */
pw_status pw_image_model_preset(const pw_catalogue *catalogue, const char *name, pw_image_model_desc *model, pw_arena *arena,
                            pw_error *error);

/* A layer with its sizes resolved. */
typedef struct pw_layer {
    pw_layer_kind kind;
    const pw_layer_desc *desc;
    int32_t in_height, in_width, in_channels, out_height, out_width, out_channels;
    uint32_t *inputs;      /* layers; PW_NONE: the images */
    uint32_t input_count;
    uint32_t uses;         /* layers that take its output */
    bool wants_gradient;   /* of its input: some layer before it has parameters */
    double parameters, tensors; /* weights, biases, norms; arrays that hold them */
} pw_layer;
typedef struct pw_image_shape {
    const pw_layer *layers;
    uint32_t count;
    double parameters, tensors;
    double forward_flops, training_flops; /* of one image */
} pw_image_shape;
/* Everything in *shape lives in arena. Fails with PW_BAD_INPUT on a layer that takes what is not there or does not fit. */
pw_status pw_image_resolve(const pw_image_model_desc *model, pw_arena *arena, const char *file, int line,
                             pw_image_shape *shape, pw_error *error);
/* Elements of one image's output of a layer, and of its (first) input. */
double pw_layer_outputs(const pw_layer *layer);
double pw_layer_inputs(const pw_layer *layer);

/* --- Jobs --------------------------------------------------------------------------------------------------------- */

/* What prepares the batches. */
typedef enum pw_prefetch { PW_PREFETCH_NONE, PW_PREFETCH_BATCH, PW_PREFETCH_STAGES } pw_prefetch;
typedef struct pw_input_desc {
    double image_bytes;         /* as stored */
    double images_per_request;  /* images that one operation of the store yields (1: a file each) */
    double store_bandwidth_Bps, store_operations_per_s, store_latency_s, reader_Bps; /* NaN operations, reader: no limit */
    bool shared;                /* one store for the cluster; false: one in every node */
    double decode_per_core;     /* images a core prepares per second; NaN: no time */
    double cores;               /* per GPU */
    double value_bytes;         /* of a pixel's channel on its way to the GPU */
    int prefetch;
} pw_input_desc;
extern const pw_kind pw_input_kind;

typedef enum pw_sgd { PW_SGD_MOMENTUM, PW_SGD_LARS } pw_sgd;
typedef struct pw_convnet_desc {
    const char *name;
    pw_image_model_desc *model;
    int64_t batch;           /* images per GPU and step */
    int64_t data_parallel;   /* 0: all GPUs of the cluster */
    int precision;           /* pw_precision: fp32, tf32, fp16, bf16 */
    int optimizer;           /* pw_sgd */
    const char *stack;       /* row of the table convnet-stacks; NULL: the newest */
    int overlap_gradients, channels_last; /* 0 off, 1 on, 2 as the stack does */
    double bucket_bytes;     /* gradient bucket on the wire; NaN: the stack's */
    pw_input_desc *input;    /* NULL: batches are there */
} pw_convnet_desc;
extern const pw_kind pw_convnet_kind;

typedef struct pw_convnet_memory { /* bytes per GPU */
    double weights, gradients, optimizer, activations, buffers, reserve, total, capacity;
} pw_convnet_memory;

typedef struct pw_convnet_result {
    double step_s, images_per_s, images_per_s_per_gpu, flops_per_gpu, mfu;
    double parameters, forward_flops;
    const pw_device *device;
    int64_t gpus;
    double compute_s, communication_s, idle_s, launch_wait_s; /* means over ranks */
    pw_convnet_memory memory;
    pw_interval interval;      /* of step_s */
    const pw_blame_part *parts;
    uint32_t part_count;
    const char *home_program;
    const char *const *notes;
    uint32_t note_count;
    pw_executor_totals totals;
    double simulated_events;
    const pw_power_result *power; /* NULL: clocks did not come from power */
    uint64_t hash;
} pw_convnet_result;

/* Checks desc against the cluster and lowers it; all arrays of the job live in arena. */
pw_status pw_convnet_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_convnet_desc *desc,
                           pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error);
/* Cluster, memory check (PW_DOES_NOT_FIT with the account and the largest batch that fits), lowering, execution, blame.
 * Results live in arena. */
pw_status pw_convnet_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                         const pw_convnet_desc *desc, const pw_run_options *options, const char *file, int line,
                         pw_arena *arena, pw_convnet_result *result, pw_error *error);

#endif
