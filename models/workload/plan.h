/* A training job with every size resolved and checked: what lowering and the memory account both start from. */
#ifndef PW_MODELS_WORKLOAD_PLAN_H
#define PW_MODELS_WORKLOAD_PLAN_H

#include "models/workload/format.h"
#include "models/workload/attention.h"
#include "models/workload/notes.h"
#include "models/workload/order.h"
#include "models/workload/optimizer.h"
#include "models/workload/stack.h"
#include "models/workload/train.h"

typedef struct pw_model_shape {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn;
    int64_t value_dim;              /* of a head; head_dim but for latent attention, whose head_dim holds the rotary part */
    int64_t query_width, key_width; /* heads x head_dim, kv_heads x head_dim */
    int64_t value_width, output_width; /* kv_heads x value_dim, heads x value_dim */
    int64_t expert_ffn;
    int64_t latent; /* width of compressed keys and values with the rotary key; 0: plain attention */
    int64_t fc1;                    /* inner matrices of the MLP: 2 when gated */
} pw_model_shape;
pw_model_shape pw_model_shape_of(const pw_model_desc *model);

/* What sets a layer apart from a plain one (dense, attention over the whole sequence): a set of marks, its kind. Layers of
 * one kind are equal: they share kernels and templates. */
typedef enum pw_layer_mark { PW_LAYER_LOCAL = 1 /* attention within a window */, PW_LAYER_EXPERTS = 2 } pw_layer_mark;
typedef uint32_t pw_layer_kind;
enum { PW_LAYER_KINDS = 4 }; /* kinds are below this */
pw_layer_kind pw_model_layer_kind(const pw_model_desc *model, int64_t layer); /* layers count from 0 */
double pw_layer_matrix_weights(const pw_model_desc *model, pw_layer_kind kind); /* weights that multiply a token */
/* All weights of a layer on one of tensor_parallel ranks, but for experts that a router picks. */
double pw_layer_parameters(const pw_model_desc *model, pw_layer_kind kind, int64_t tensor_parallel);
double pw_layer_expert_parameters(const pw_model_desc *model, pw_layer_kind kind); /* those, all of a layer */
/* A module that predicts a further token, on one of tensor_parallel ranks, without picked experts, embedding and output. */
double pw_prediction_parameters(const pw_model_desc *model, int64_t tensor_parallel);

/* Parts of a layer that recompute_modules names: X(NAME, name) */
#define PW_MODULE_MAP(X) \
    X(CORE_ATTENTION, "core_attn") X(NORM, "layernorm") X(MLP, "mlp") X(EXPERT_ACTIVATION, "moe_act") X(LATENT, "mla_up_proj") \
    X(OPERATORS, "op") /* all but attention and every second multiply, in the order of PyTorch modules: torchtitan's policy */
typedef enum pw_module {
#define PW_MODULE_ENUM(NAME, name) PW_MODULE_##NAME,
    PW_MODULE_MAP(PW_MODULE_ENUM)
#undef PW_MODULE_ENUM
    PW_MODULE_COUNT
} pw_module;

/* How the experts of a layer are shared. As Megatron-Core lays them out: within a pipeline stage ranks are counted through,
 * expert tensor parallel fastest, then expert parallel, then expert data parallel. */
typedef struct pw_expert_plan {
    int64_t parallel, tensor, data; /* ranks; data: that hold the same experts */
    int64_t local;                  /* experts on a rank */
    int64_t rows;                   /* tokens that each local expert multiplies, of a micro-batch */
    double sent, arrived;           /* copies of tokens that a rank's tokens make; that its experts work on */
    int64_t domain;                 /* GPUs of a scale-up domain; 0: unknown, or all */
} pw_expert_plan;

/* Row of table adapters: bytes per element of a matrix's input and output, beside the adapter's multiplies. */
typedef struct pw_adapter {
    double input_forward, output_forward, input_backward, output_backward, kernels_forward, kernels_backward, kept_input;
    const char *source;
} pw_adapter;

typedef struct pw_plan {
    const pw_train_desc *desc;
    const pw_model_desc *model;
    pw_model_shape shape;
    pw_stack stack; /* with the job's own switches applied */
    int64_t t, p, c, d, v; /* tensor, pipeline, context, data parallel; chunks per stage */
    int64_t ranks, micro_batches, micro_batch, sequence;
    int64_t tokens;      /* of a micro-batch on one rank */
    int64_t vocabulary;  /* padded, over all tensor-parallel ranks */
    int64_t head_tokens; /* of a micro-batch, that reach the output layer */
    const pw_order *order; /* the schedule */
    pw_context_exchange exchange;
    int64_t exchange_ranks, ring_ranks; /* of context parallel: that exchange heads; of the ring (1: none) */
    bool sends_anyway;   /* the schedule overlaps messages, which the stack does not */
    int64_t copies;      /* of the model in one pipeline: 2 for dualpipe */
    int64_t positions;   /* chunks of one copy, in order of the model's layers */
    int64_t slots;       /* layers that the split counts, */
    int64_t first_short, last_short; /* so many of them for the embedding and the output layer */
    bool sequence_parallel; /* and t > 1 */
    pw_sharding sharding;
    int64_t shards, replicas; /* ranks that share the sharded states (1: not sharded); groups of so many ranks */
    bool reshard;             /* zero3: parameters are dropped after the forward pass and gathered again */
    bool hold_gradients;      /* zero2, zero3: gradients stay whole until the last micro-batch */
    int64_t gather_pieces;    /* zero3: collectives that gather a layer */
    bool regathers;           /* zero3, full recompute: parameters are dropped between the second forward and the backward pass */
    int64_t ahead_forward, ahead_backward; /* zero3: layers gathered ahead */
    double sharded_parameter_bytes;   /* zero3: kept per parameter beside the optimizer's state */
    double live_parameters;           /* zero3: so many stay gathered, a unit at least */
    double gather_copy, scatter_copy; /* zero3: bytes moved on the GPU per parameter gathered, per gradient scattered */
    pw_format format;
    pw_precision precision, precision16; /* of linear layers; of the rest: the format's */
    double update_Bps; /* offload: of host memory for one GPU's optimizer; pw_host_update_rate sets it for a cluster */
    pw_attention_slowdown attention; /* of fused attention against the fitted kernel */
    double gradient_wire_bytes, parameter_wire_bytes, bucket_bytes;
    double gradient_bytes, optimizer_bytes; /* kept per parameter */
    double matrix_bytes; /* of a layer's weight in use: the format's, or fp8 and its transpose */
    pw_expert_plan experts;
    uint32_t modules; /* set of 1 << pw_module: computed again in the backward pass */
    pw_optimizer optimizer;
    int64_t frozen;      /* layers below which nothing is trained */
    uint32_t targets;    /* lora: set of 1 << pw_target */
    pw_adapter adapter;
    double update_bytes; /* moved by the optimizer per parameter, on top of what the stack counts for AdamW */
} pw_plan;

/* Resolves and checks. gpus 0: data_parallel must be given. device NULL: its precisions are not checked. */
pw_status pw_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, const pw_train_desc *desc,
                       pw_plan *plan, const char *file, int line, pw_error *error);

/* sharding.c: what is shared out, over which ranks and when; for pw_plan_make. */
pw_status pw_plan_shard(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error);
extern const char *const pw_sharding_names[];
/* memory.c: the closed account of a stage. */
pw_memory_account pw_plan_memory(const pw_plan *plan, const pw_device *device, int64_t stage);
/* memory.c: bytes that one layer and micro-batch leaves for the backward pass. */
double pw_plan_layer_activations(const pw_plan *plan, pw_layer_kind kind, int recompute);

/* fp8_weights.c: what weights of layers take where they are kept in fp8; for pw_plan_make. */
pw_status pw_plan_fp8_weights(const pw_catalogue *catalogue, const pw_device *device, pw_plan *plan, const char *file, int line,
                              pw_error *error);

/* Operations of a step on one rank of every stage together, roughly. */
double pw_plan_operations(const pw_plan *plan);
/* context.c: how context parallel ranks meet; for pw_plan_make. Bytes that their exchanges need beside the activations. */
pw_status pw_plan_context(pw_plan *plan, const char *file, int line, pw_error *error);
double pw_plan_context_buffers(const pw_plan *plan);
extern const char *const pw_context_names[];

/* layout.c: the order's needs, and the layers of chunks; for pw_plan_make. */
pw_status pw_plan_layout(pw_plan *plan, const char *file, int line, pw_error *error);
bool pw_plan_spreads(const pw_plan *plan); /* layers are spread evenly: the job does not say where they are */
int64_t pw_plan_position(const pw_plan *plan, int64_t stage, int64_t chunk);
int64_t pw_plan_layers(const pw_plan *plan, int64_t stage, int64_t chunk);
int64_t pw_plan_first_layer(const pw_plan *plan, int64_t stage, int64_t chunk); /* of the model, from 0 */
int64_t pw_plan_stage_layers(const pw_plan *plan, int64_t stage);
/* Weights of so many consecutive layers on one rank: all but picked experts; those. */
double pw_plan_layers_parameters(const pw_plan *plan, int64_t first, int64_t layers);
double pw_plan_layers_experts(const pw_plan *plan, int64_t first, int64_t layers);
static inline bool pw_plan_has_embedding(const pw_plan *plan, int64_t stage, int64_t chunk) {
    return pw_plan_position(plan, stage, chunk) == 0;
}
static inline bool pw_plan_has_head(const pw_plan *plan, int64_t stage, int64_t chunk) {
    return pw_plan_position(plan, stage, chunk) == plan->positions - 1;
}
/* Forward passes of a stage before its first backward pass (Megatron-LM's schedules); GPipe: all. */
int64_t pw_plan_warmup(const pw_plan *plan, int64_t stage);
pw_order_shape pw_plan_order_shape(const pw_plan *plan);
double pw_plan_peak(const pw_plan *plan, int64_t stage, pw_held_fn *held, const void *object); /* held at once, at most */
/* Ranks that share gradients: data and context parallel ones, and the two copies of the model. */
static inline int64_t pw_plan_data_ranks(const pw_plan *plan) { return plan->d * plan->c * plan->copies; }

/* Parameters on one rank. */
double pw_plan_embedding_parameters(const pw_plan *plan);
double pw_plan_head_parameters(const pw_plan *plan);   /* output layer and final norm */
double pw_plan_prediction_parameters(const pw_plan *plan); /* of all modules that predict further tokens */
double pw_plan_stage_parameters(const pw_plan *plan, int64_t stage); /* without experts that a router picks */
double pw_plan_stage_tensors(const pw_plan *plan, int64_t stage); /* that an optimizer updates one by one */
double pw_plan_largest_unit(const pw_plan *plan, int64_t stage); /* parameters that zero3 gathers at once */
double pw_plan_stage_experts(const pw_plan *plan, int64_t stage);    /* those */
/* Linear layers in 8 bits or fewer: their operands are cast. */
static inline bool pw_plan_casts(const pw_plan *plan) {
    return plan->precision == PW_PRECISION_FP8 || plan->precision == PW_PRECISION_FP4;
}
static inline bool pw_plan_shares_data(const pw_plan *plan) { return pw_plan_data_ranks(plan) > 1 || plan->experts.data > 1; }
static inline bool pw_plan_recomputes(const pw_plan *plan, pw_module module) { return plan->modules >> module & 1; }

/* idle.c: options that mean nothing are refused, for pw_plan_make; those that change nothing at these sizes are noted. */
pw_status pw_plan_refuse_idle(const pw_plan *plan, const char *file, int line, pw_error *error);
void pw_plan_note_idle(const pw_plan *plan, pw_notes *notes);

/* plan_experts.c: sizes of expert parallel, modules to recompute. Needs the other sizes, the stack and the shape. */
pw_status pw_plan_experts(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error);
/* Copies of a token that travel when each goes once to every one of so many units (ranks, nodes) that holds one of its
 * experts: expected value for independent choices. */
double pw_expert_copies(const pw_model_desc *model, int64_t units);

#endif
