/* Lowering, inside this folder: a growing job, and the pieces that fill it.
 *
 *   kernels.c    single kernels, gathered into segments
 *   segments.c   which kernels of a layer run between two communications; end_segments.c: those of the ends and the optimizer
 *   head_segments.c  which kernels the head runs
 *   latent.c     kernels of latent attention around its core
 *   adapter.c    kernels of a LoRA adapter
 *   experts.c    kernels and operations of a layer's experts, and of modules that predict further tokens
 *   ops.c        growing lists of operations
 *   layers.c     templates: the passes of layers, embedding and output layer
 *   context.c    exchanges of context parallel
 *   chunks.c     the chunks of a stage, their parameter and gradient buckets
 *   sharded.c    passes of a chunk whose parameters are gathered unit by unit
 *   offload.c    copies to and from host memory, the update there
 *   schedule.c   the program of a stage: order of passes, messages, optimizer step
 *   split_passes.c  passes and messages of schedules with weight gradients apart
 *   lower.c      ranks, groups, peers; puts the job together
 */
#ifndef PW_MODELS_WORKLOAD_LOWER_H
#define PW_MODELS_WORKLOAD_LOWER_H

#include "models/workload/plan.h"

/* The second message streams and slots: of the chunk that goes the other way, up the stages. */
enum stream { STREAM_COMPUTE, STREAM_TENSOR, STREAM_SEND_FORWARD, STREAM_RECV_FORWARD, STREAM_SEND_BACKWARD,
              STREAM_RECV_BACKWARD, STREAM_DATA, STREAM_CONTEXT_SEND, STREAM_CONTEXT_RECV, STREAM_REPLICA, STREAM_EXPERT, STREAM_TO_HOST,
              STREAM_TO_DEVICE, STREAM_HOST, STREAM_SEND_FORWARD_2, STREAM_RECV_FORWARD_2, STREAM_SEND_BACKWARD_2,
              STREAM_RECV_BACKWARD_2, STREAM_COUNT };

enum { MOST_AHEAD = 8 }; /* units that zero3 gathers ahead, at most: the range of train.prefetch */

enum slot {
    SLOT_COMPUTE,      /* the last computation */
    SLOT_GATHER,       /* what the next multiply needs from tensor-parallel ranks */
    SLOT_SCATTER,      /* what the last multiply gave them */
    SLOT_RECV_FORWARD, SLOT_SEND_FORWARD, SLOT_RECV_BACKWARD, SLOT_SEND_BACKWARD,
    SLOT_SHARE,        /* a message that tensor-parallel ranks still have to put together */
    SLOT_KEYS,         /* keys and values of the next ring step */
    SLOT_PARAMETERS,   /* first bucket of a chunk; the next two take turns for the others */
    SLOT_PARAMETERS_EVEN, SLOT_PARAMETERS_ODD,
    SLOT_REDUCED,      /* the last gradient bucket */
    SLOT_NORM,
    SLOT_DISPATCH,     /* tokens at their experts; their gradients */
    SLOT_COMBINE,      /* and back */
    SLOT_SHARD,        /* the last gradient scattered within a shard group, not yet over the groups */
    SLOT_FREED,        /* zero3: the last unit whose parameters were dropped */
    SLOT_REGATHERED,   /* zero3: a layer's parameters once more */
    SLOT_OFFLOADED,    /* the last gradient in host memory */
    SLOT_FETCHED,      /* the last copy to the device */
    SLOT_UPDATED,      /* the last piece of the optimizer on the host */
    SLOT_STORED_EVEN, SLOT_STORED_ODD, /* activations of even and odd layers in host memory */
    SLOT_STARTED,      /* the last layer whose backward pass began */
    SLOT_UNIT,         /* zero3: gathers of units under way take turns */
    SLOT_UNIT_LAST = SLOT_UNIT + MOST_AHEAD,
    SLOT_RECV_FORWARD_2, SLOT_RECV_BACKWARD_2, SLOT_SHARE_2,
    SLOT_COUNT
};

enum category { CATEGORY_COMPUTE, CATEGORY_TENSOR, CATEGORY_PIPELINE, CATEGORY_DATA, CATEGORY_CONTEXT, CATEGORY_MODEL,
                CATEGORY_OPTIMIZER, CATEGORY_EXPERT, CATEGORY_OFFLOAD, CATEGORY_COUNT };

/* Group roles in the job's table; peers: PEER_. A job without pipeline or context parallel lacks those roles. */
enum group { GROUP_TENSOR, GROUP_DATA, GROUP_MODEL, GROUP_EMBEDDING, GROUP_SHARD, GROUP_REPLICA, GROUP_CONTEXT,
             GROUP_EXPERT, GROUP_EXPERT_TENSOR, GROUP_EXPERT_DATA, GROUP_COUNT }; /* the last three: models with experts */
enum peer { PEER_NEXT, PEER_PREVIOUS, PEER_RING_NEXT, PEER_RING_PREVIOUS, PEER_COUNT };
enum { CHANNEL_FORWARD, CHANNEL_BACKWARD, CHANNEL_RING };

typedef struct list { /* grows in the arena */
    void *items;
    uint32_t count, capacity;
} list;

/* Segments of a layer. PW_NONE: none, because it is part of another. */
typedef struct layer_segments {
    uint32_t attention_norm, attention, attention_in, attention_out, mlp_norm, mlp;
    uint32_t attention_wgrad, mlp_wgrad; /* the last weight gradient of a block, where a reduction runs beside it */
    uint32_t ring_first, ring_next; /* context parallel: attention to own (or all) and to received keys */
    uint32_t router, shared, experts, combine; /* in place of mlp; shared: experts that every token passes, beside the others */
} layer_segments;

typedef struct layer_templates { /* of one kind of layer */
    bool lowered;
    layer_segments forward_segments, backward_segments, input_segments, weights_segments;
    uint32_t forward, backward, input, weights; /* templates; the last two where the order splits */
} layer_templates;

/* Which kernels of a backward pass are gathered into segments. */
enum half { HALF_BOTH, HALF_INPUT, HALF_WEIGHTS };

/* A stretch of a chunk whose parameters travel as one bucket. */
typedef enum unit_kind { UNIT_EMBEDDING, UNIT_LAYERS, UNIT_HEAD, UNIT_PREDICTION } unit_kind;
typedef struct unit {
    unit_kind kind;
    int64_t first, layers; /* layers of the model, of any kinds */
    double parameters; /* on one rank; without picked experts */
    double experts;    /* those */
} unit;

typedef struct chunk_templates {
    int64_t first, layers;
    bool embedding, head;
    const unit *units;
    uint32_t unit_count;
    double parameters, experts;
    uint32_t forward, forward_first, backward, backward_last; /* first: gathers parameters; last: reduces gradients */
    uint32_t input, weights, weights_last; /* where the order splits */
} chunk_templates;

typedef struct template_twin { /* the same operations on the streams of a second pass beside the first */
    uint32_t of, twin;
} template_twin;

typedef struct lowering {
    const pw_plan *plan;
    pw_arena *arena;
    bool out_of_memory; /* checked once, at the end */
    union { double align; char bytes[256]; } spare; /* what is written after that goes here */
    list kernels, segments, templates, chunks, twins;
    list parts; /* of the segment under construction */
    layer_templates layers[PW_LAYER_KINDS];
    enum half half;
    bool frozen;     /* weights get no gradients */
    bool of_weights; /* the next part belongs to the gradients of weights */
    uint32_t embedding_forward, embedding_backward, head_norm_forward, head_norm_backward, head_forward, head_backward;
    uint32_t prediction_forward, prediction_backward;
    bool gathers_parameters; /* zero1, zero2: behind the first forward pass; else at the end of the step */
    bool reduces_behind;     /* gradients leave bucket by bucket; else after a whole pass */
    bool reduces_once;       /* and of the last micro-batch only; else of each */
} lowering;

void *list_add(lowering *low, list *to, size_t size); /* zeroed; never NULL (a spare place when memory is out) */

/* kernels.c: parts of the segment under construction */
/* The gradient of a weight is written by the accumulation that the stack's row counts, so the multiply itself writes
 * nothing. A kernel's 0 bytes stand for "as the operands"; this is so little that all gradients of a model make no byte. */
#define OUTPUT_COUNTED_APART 1e-9

/* One sweep over one tensor is one kernel, however a stack fuses: it accumulates a gradient, or corrects a ring's output. */
enum { ONE_SWEEP = 1 };

void part_add(lowering *low, const pw_kernel *kernel, uint32_t repeats);
void move_bytes(lowering *low, pw_kernel_class kind, double bytes, double kernels); /* in so many kernels; 0 bytes: none */
void multiply(lowering *low, pw_precision precision, int64_t batch, int64_t m, int64_t n, int64_t k, double output_bytes);
/* The last multiply's operands have rows of that many elements of 16 bits. */
void rows_of_last(lowering *low, int64_t elements);
void linear_forward(lowering *low, int64_t n, int64_t k);
void linear_backward(lowering *low, int64_t n, int64_t k);
void cast(lowering *low, double per_token); /* fp8: bytes per token that casts move */
void flash(lowering *low, bool windowed, int64_t queries, int64_t keys, bool causal, bool backward);
double element_bytes(const pw_plan *plan, double bytes); /* a stack's count for 16-bit tensors, in the job's format */
double wide_bytes(const pw_plan *plan, double bytes);    /* the same for norms, residuals and softmax */
void accumulate_add(lowering *low, double bytes); /* to gradients of weights */
double weight_bytes(lowering *low, double bytes); /* to accumulate gradients: with others, or apart when halved (then 0) */
/* autocast: to the multiplies' format, in a kernel for each of so many matrices; backward: their gradients to fp32 */
void cast_weights(lowering *low, double weights, double matrices, bool backward);
double hidden_bytes(const pw_plan *plan, double per_element); /* of the tokens that a norm sees */
uint32_t segment_end(lowering *low, const char *name); /* PW_NONE: nothing was added since the last one */

/* segments.c */
void layer_segments_lower(lowering *low, pw_layer_kind kind);
void mlp_forward(lowering *low, int64_t ffn);
void mlp_backward(lowering *low, int64_t ffn);

/* latent.c: compress on the tokens that a norm sees, expand on all. */
void latent_compress(lowering *low, bool backward);
void latent_expand(lowering *low, bool backward);
double attention_input_width(const pw_plan *plan); /* of a token, as tensor-parallel ranks gather it */

/* experts.c: segments after those of attention (forward), or before (backward), where a router's kernels join the ones that
 * follow; operations; the same for prediction modules. */
void expert_segments_forward(lowering *low, layer_segments *to);
void expert_segments_backward(lowering *low, layer_segments *to);
void experts_add(lowering *low, list *ops, const layer_segments *s, bool backward);
void prediction_segments(lowering *low);
void prediction_add(lowering *low, list *ops, bool backward);

/* adapter.c: beside [tokens, k] x [k, n] on this rank; nothing where the target has no adapter. target: pw_target */
void adapter_add(lowering *low, int target, int64_t n, int64_t k, bool backward);

/* head_segments.c: parts of the head, for the segment under construction */
void head_segment(lowering *low, bool backward);

/* end_segments.c */
void lower_end_segments(lowering *low);
uint32_t optimizer_segment(lowering *low, double parameters, double experts, double tensors, bool norm);
uint32_t accumulate_segment(lowering *low, double parameters); /* PW_NONE when the stack needs none */
uint32_t copy_segment(lowering *low, const char *name, double bytes);  /* PW_NONE for 0 bytes */

/* ops.c */
pw_op *op_add(lowering *low, list *ops, pw_op_kind kind, uint16_t stream, uint32_t category);
void compute_add(lowering *low, list *ops, uint32_t segment, int16_t wait, uint32_t category); /* PW_NONE: nothing */
void collective_add(lowering *low, list *ops, pw_collective_kind kind, enum group group, double bytes, uint32_t category,
                    uint16_t stream, int16_t wait, int16_t signal);
uint32_t template_add(lowering *low, const char *name, const list *ops);
void call_add(lowering *low, list *ops, uint32_t template_index, int64_t times);

/* context.c: attention of ranks that share a sequence, between its two linear layers. */
void context_add(lowering *low, list *ops, const layer_segments *of, bool backward);

/* layers.c */
void host_wait_add(lowering *low, list *ops, int16_t slot); /* where the stack's host waits for the GPU; else nothing */
void tensor_add(lowering *low, list *ops, pw_collective_kind kind, double bytes, int16_t wait, int16_t signal);
void lower_layers(lowering *low); /* every kind that the model has */
void embedding_add(lowering *low, list *ops, bool backward);
void head_add(lowering *low, list *ops, bool backward);

/* chunks.c */
const chunk_templates *lower_chunk(lowering *low, int64_t stage, int64_t chunk);
void unit_add(lowering *low, list *ops, const unit *of, bool backward);
void layers_add(lowering *low, list *ops, const unit *of, pw_pass_kind pass); /* of a unit of layers */
void wait_add(lowering *low, list *ops, int16_t slot, uint32_t category); /* the compute stream waits */
void gather_add(lowering *low, list *ops, const unit *bucket, int16_t wait, int16_t signal);
void reduce_add(lowering *low, list *ops, double parameters, double experts);

/* offload.c */
void offload_gradients(lowering *low, list *ops, double parameters, double experts, int16_t wait); /* if the job does */
void fetch_parameters(lowering *low, list *ops, double parameters, double experts);
void update_on_host(lowering *low, list *ops, double parameters, double experts, int64_t layers);
void offload_layer(lowering *low, list *ops, int64_t layer, uint32_t template_index, bool backward);

/* sharded.c: the passes of a chunk under zero3. */
void sharded_passes(lowering *low, chunk_templates *of);
void regather_add(lowering *low, list *ops, pw_layer_kind kind); /* between a layer's second forward and its backward pass */

/* split_passes.c: templates and programs of schedules with weight gradients apart. */
void lower_split_chunk(lowering *low, chunk_templates *to, bool reduces_each);
void split_passes_add(lowering *low, list *ops, int64_t stage, const chunk_templates *const *chunks);

/* schedule.c */
double message_bytes(const pw_plan *plan); /* between stages, of a rank */
/* What a receive (the last of ops) signals: done when the input is whole; share when ranks still have to put it together. */
void arrival_add(lowering *low, list *ops, pw_op *receive, int16_t share, int16_t done);
/* Returns the stage's template. */
uint32_t lower_stage(lowering *low, int64_t stage);

/* lower.c: the job of a plan, without host launch time. */
pw_status pw_plan_lower(const pw_plan *plan, pw_arena *arena, pw_job **job, pw_error *error);

#endif
