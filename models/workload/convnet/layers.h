/* What the files of this folder share: a plan, its kernels, its job. Internal. */
#ifndef PW_MODELS_CONVNET_LAYERS_H
#define PW_MODELS_CONVNET_LAYERS_H

#include "models/workload/convnet/convnet.h"
#include "models/workload/convnet/stack.h"

static inline bool pw_layer_has_norm(const pw_layer *layer) { return layer->kind == PW_LAYER_NORM || layer->desc->norm; }
pw_convolution pw_layer_convolution(const pw_layer *layer, pw_convolution_pass pass, int64_t batch);

/* A job with every size resolved and checked. */
typedef struct pw_convnet_plan {
    const pw_convnet_desc *desc;
    pw_image_shape shape;
    pw_convnet_stack stack; /* with the job's own switches applied */
    pw_precision precision;
    double element_bytes;   /* of an activation */
    bool transposes;        /* what a convolution takes and gives */
    int64_t batch, ranks, per_node;
    double bucket_bytes;
} pw_convnet_plan;

/* device NULL: its precisions are not checked. gpus 0: data_parallel must be given. */
pw_status pw_convnet_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, int64_t per_node,
                               const pw_convnet_desc *desc, pw_arena *arena, const char *file, int line,
                               pw_convnet_plan *plan, pw_error *error);

typedef struct pw_kernel_list { /* grows in the arena; out_of_memory is checked once, at the end */
    pw_arena *arena;
    pw_kernel *kernels;
    uint32_t *repeats;
    uint32_t count, capacity;
    bool out_of_memory;
} pw_kernel_list;
/* kernels.c: what a layer runs. */
void pw_convnet_forward(const pw_convnet_plan *plan, const pw_layer *layer, pw_kernel_list *to);
void pw_convnet_backward(const pw_convnet_plan *plan, const pw_layer *layer, pw_kernel_list *to);
void pw_convnet_loss(const pw_convnet_plan *plan, bool backward, pw_kernel_list *to);
void pw_convnet_optimizer(const pw_convnet_plan *plan, pw_kernel_list *to);

/* plan.c: bytes per GPU; the capacity is NaN without a device. */
void pw_convnet_account(const pw_convnet_plan *plan, const pw_device *device, pw_convnet_memory *account);
/* lower.c: the job of a plan, without host launch time; all its arrays live in arena. PW_NO_MEMORY alone. */
pw_status pw_convnet_plan_lower(const pw_convnet_plan *plan, pw_arena *arena, pw_job **job, pw_error *error);

#endif
