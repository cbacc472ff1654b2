/* Lowering, inside this folder: a growing job, and the pieces that fill it.
 *
 *   segments.c   which kernels run between two communications
 *   layers.c     templates: layers, embedding, output layer, chunks of a stage, their parameter and gradient buckets
 *   schedule.c   the program of a stage: order of passes, messages, optimizer step
 *   lower.c      ranks, groups, peers; puts the job together
 */
#ifndef PW_MODELS_WORKLOAD_LOWER_H
#define PW_MODELS_WORKLOAD_LOWER_H

#include "models/workload/plan.h"

enum stream { STREAM_COMPUTE, STREAM_TENSOR, STREAM_SEND_FORWARD, STREAM_RECV_FORWARD, STREAM_SEND_BACKWARD,
              STREAM_RECV_BACKWARD, STREAM_DATA, STREAM_CONTEXT_SEND, STREAM_CONTEXT_RECV, STREAM_COUNT };

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
    SLOT_COUNT
};

enum category { CATEGORY_COMPUTE, CATEGORY_TENSOR, CATEGORY_PIPELINE, CATEGORY_DATA, CATEGORY_CONTEXT, CATEGORY_MODEL,
                CATEGORY_OPTIMIZER, CATEGORY_COUNT };

/* Group roles in the job's table; peers: PEER_. A job without pipeline or context parallel lacks those roles. */
enum group { GROUP_TENSOR, GROUP_DATA, GROUP_MODEL, GROUP_EMBEDDING, GROUP_COUNT };
enum peer { PEER_NEXT, PEER_PREVIOUS, PEER_RING_NEXT, PEER_RING_PREVIOUS, PEER_COUNT };
enum { CHANNEL_FORWARD, CHANNEL_BACKWARD, CHANNEL_RING };

typedef struct list { /* grows in the arena */
    void *items;
    uint32_t count, capacity;
} list;

/* Segments of a layer. PW_NONE: none, because it is part of another. */
typedef struct layer_segments {
    uint32_t attention_norm, attention, attention_in, attention_out, mlp_norm, mlp;
    uint32_t ring_first, ring_next; /* context parallel: attention to own and to received keys */
} layer_segments;

/* A stretch of a chunk whose parameters travel as one bucket. */
typedef enum unit_kind { UNIT_EMBEDDING, UNIT_LAYERS, UNIT_HEAD } unit_kind;
typedef struct unit {
    unit_kind kind;
    uint32_t layers;
    double parameters; /* on one rank */
} unit;

typedef struct chunk_templates {
    int64_t layers;
    bool embedding, head;
    const unit *units;
    uint32_t unit_count;
    double parameters;
    uint32_t forward, forward_first, backward, backward_last; /* first: gathers parameters; last: reduces gradients */
} chunk_templates;

typedef struct lowering {
    const pw_plan *plan;
    pw_arena *arena;
    bool out_of_memory; /* checked once, at the end */
    union { double align; char bytes[256]; } spare; /* what is written after that goes here */
    list kernels, segments, templates, chunks;
    list parts; /* of the segment under construction */
    layer_segments forward, backward;
    uint32_t embedding_forward, embedding_backward, head_norm_forward, head_norm_backward, head_forward, head_backward;
    uint32_t layer_forward, layer_backward; /* templates */
    bool gathers_parameters, reduces_behind;
} lowering;

void *list_add(lowering *low, list *to, size_t size); /* zeroed; never NULL (a spare place when memory is out) */

/* segments.c */
void lower_segments(lowering *low);
uint32_t optimizer_segment(lowering *low, double parameters, bool norm);
uint32_t accumulate_segment(lowering *low, double parameters); /* PW_NONE when the stack needs none */

/* layers.c */
pw_op *op_add(lowering *low, list *ops, pw_op_kind kind, uint16_t stream, uint32_t category);
void compute_add(lowering *low, list *ops, uint32_t segment, int16_t wait, uint32_t category); /* PW_NONE: nothing */
void collective_add(lowering *low, list *ops, pw_collective_kind kind, enum group group, double bytes, uint32_t category,
                    uint16_t stream, int16_t wait, int16_t signal);
uint32_t template_add(lowering *low, const char *name, const list *ops);
void lower_layers(lowering *low);
const chunk_templates *lower_chunk(lowering *low, int64_t stage, int64_t chunk);
void gather_add(lowering *low, list *ops, const unit *bucket, int16_t signal);
void reduce_add(lowering *low, list *ops, double parameters);

/* schedule.c: returns the stage's template. */
uint32_t lower_stage(lowering *low, int64_t stage);

/* lower.c: the job of a plan, without host launch time. */
pw_status pw_plan_lower(const pw_plan *plan, pw_arena *arena, pw_job **job, pw_error *error);

#endif
