/* Training of dense transformers, decoders and encoders: description, memory account, lowering to a program, and one call that runs it.
 *
 * A training job is a model, a batch and a way to split it: tensor parallel (with sequence parallel), pipeline parallel
 * (1F1B, interleaved), data parallel (bucketed overlap, ZeRO-1 to 3, FSDP, HSDP). Lowering gives one program per pipeline stage in the
 * order of operations that the named software stack issues; time, bubbles and exposed communication come out of its
 * execution. Layout of ranks: tensor fastest, then context, then data, then pipeline.
 *
 * Model FLOPs (for MFU): per token 6 N + 6 L s h causal attention ("model, causal") or 6 N + 12 L s h ("model, full", and
 * encoders); N counts the weights that multiply, with the output layer, without the input embedding, heads by the share of
 * tokens that reach them. Results name the convention.
 */
#ifndef PW_MODELS_TRAIN_H
#define PW_MODELS_TRAIN_H

#include "models/node/cluster.h"
#include "models/program/blame.h"
#include "models/program/executor.h"
#include "models/workload/format.h"
#include "models/workload/interval.h"
#include "models/workload/machine.h"

typedef enum pw_head { PW_HEAD_LANGUAGE_MODEL, PW_HEAD_MASKED_LM, PW_HEAD_SPAN } pw_head; /* see head.h */

typedef struct pw_model_desc {
    const char *name;
    int64_t layers, hidden, heads;
    int64_t kv_heads;  /* 0: heads */
    int64_t head_dim;  /* 0: hidden / heads */
    int64_t ffn;       /* inner width of the MLP; 0: 4 x hidden */
    bool gated;        /* three matrices (SwiGLU) instead of two */
    int64_t vocabulary;
    bool tied;         /* output layer shares the embedding's weights */
    bool biases;       /* linear layers and norms carry biases (GPT-2/3); false: weights alone (Llama) */
    int64_t positions; /* learned embeddings of so many positions; 0: rotary */
    /* Encoders (BERT): */
    bool bidirectional;  /* every token sees all of its sequence */
    bool post_norm;      /* norms behind the residuals: one behind the embedding, none behind the last layer */
    int64_t token_types; /* learned embeddings of so many kinds of segments */
    int head;            /* pw_head */
    double masked_share; /* of a sequence, that a masked_lm head predicts */
    int64_t window;       /* keys that a query of a local layer sees; 0: there are no such layers */
    bool window_chunks;   /* the window is a chunk of the sequence, not sliding */
    int64_t global_every; /* every so manieth layer is not local; 0: all are */
    int64_t experts, experts_per_token; /* 0: plain MLPs */
    int64_t expert_ffn, shared_ffn;     /* inner widths; 0: ffn; 0: no shared experts */
    int64_t dense_layers, experts_every; /* leading layers without experts; every so manieth of the layers has them */
    int64_t query_rank, latent_rank, rotary_dim, value_dim; /* latent attention; latent_rank 0: plain */
    bool query_norm;                    /* norms of queries and keys (Qwen3) */
    int64_t prediction_layers;          /* modules that predict further tokens */
} pw_model_desc;
extern const pw_kind pw_model_kind;
/* Presets by name ("gpt3-175b", "llama3-405b", ...): rows of the catalogue's models table. */
pw_status pw_model_preset(const pw_catalogue *catalogue, const char *name, pw_model_desc *model, pw_arena *arena,
                          pw_error *error);
double pw_model_parameters(const pw_model_desc *model); /* all weights */
/* Weights that one token is multiplied with: some of the experts, the output layer, not the embedding. */
double pw_model_active_parameters(const pw_model_desc *model);
/* Model FLOPs of one token, forward + backward, without recompute. */
double pw_model_flops_per_token(const pw_model_desc *model, int64_t sequence, bool causal_convention);

typedef enum pw_recompute { PW_RECOMPUTE_NONE, PW_RECOMPUTE_SELECTIVE, PW_RECOMPUTE_FULL } pw_recompute;
/* What data-parallel ranks share out instead of each keeping a copy: nothing, the optimizer's state (ZeRO-1), gradients as
 * well (ZeRO-2), parameters as well (ZeRO-3, FSDP: gathered for each use). */
typedef enum pw_sharding { PW_SHARDING_NONE, PW_SHARDING_ZERO1, PW_SHARDING_ZERO2, PW_SHARDING_ZERO3 } pw_sharding;
typedef enum pw_schedule { /* rows of pw_orders; interleaved: 1f1b with virtual_stages > 1 */
    PW_SCHEDULE_1F1B, PW_SCHEDULE_GPIPE, PW_SCHEDULE_ZB_H1, PW_SCHEDULE_ZB_H2, PW_SCHEDULE_ZB_V, PW_SCHEDULE_V_HALF,
    PW_SCHEDULE_V_MIN, PW_SCHEDULE_DUALPIPE, PW_SCHEDULE_DUALPIPEV
} pw_schedule;
typedef enum pw_ends { PW_ENDS_NONE, PW_ENDS_EMBEDDING, PW_ENDS_OUTPUT, PW_ENDS_BOTH, PW_ENDS_AUTO } pw_ends;
typedef enum pw_context_exchange {
    PW_CONTEXT_RING, PW_CONTEXT_ALL_TO_ALL, PW_CONTEXT_ALL_GATHER, PW_CONTEXT_RING_OF_ALL_TO_ALL
} pw_context_exchange;
typedef enum pw_optimizer_check { PW_CHECK_GLOBAL, PW_CHECK_LATE } pw_optimizer_check;

typedef enum pw_trainable { PW_TRAIN_ALL, PW_TRAIN_LORA, PW_TRAIN_HEAD } pw_trainable; /* see trainable.h */

typedef struct pw_train_desc {
    const char *name;
    pw_model_desc *model;
    int64_t sequence, global_batch, micro_batch; /* tokens; sequences; sequences */
    double padding;          /* share of a sequence's positions that hold no token and are left out */
    int64_t tensor_parallel, pipeline_parallel, context_parallel;
    int context_exchange;    /* pw_context_exchange */
    int64_t context_inner;   /* ranks of each all_to_all inside a ring; 0: none */
    int64_t data_parallel;   /* 0: what is left of the cluster */
    int64_t virtual_stages;  /* model chunks per pipeline stage */
    pw_list stage_layers;    /* int64_t: layers of each stage or chunk; not given: spread evenly */
    int64_t first_stage_layers, last_stage_layers; /* 0: as the others */
    int ends_in_split;       /* pw_ends */
    int precision;           /* pw_precision, or a mixed format: index into pw_format_names */
    int recompute, sharding, schedule, optimizer_check;
    int trainable;           /* pw_trainable */
    int64_t frozen_layers;   /* lowest layers, with the embedding, that are not trained */
    int64_t lora_rank;
    const char *lora_targets; /* words among qkv, proj, fc1, fc2 */
    const char *optimizer;   /* row of the catalogue's optimizers table; empty: AdamW */
    const char *stack;       /* row of the catalogue's stacks table; NULL: the newest for the GPU */
    /* What the stack decides unless said here: 0 off, 1 on, 2 as the stack does. */
    int sequence_parallel, flash_attention, overlap_gradients, overlap_parameters, overlap_pipeline, cuda_graphs;
    double bucket_bytes;     /* gradient bucket; NaN: the stack's */
    double stack_factor;     /* on kernel and host time; NaN: the stack's on file */
    pw_variability_desc *variability; /* NULL: as on file */
    int64_t shard_group;     /* ranks (data x context) that share what is sharded, the rest repeat it (HSDP); 0: all */
    int reshard, hold_gradients; /* switches as above */
    bool offload_optimizer, offload_parameters, offload_activations; /* to host memory; the CPU updates the optimizer */
    bool fp8_activations; /* fp8: the input of the MLP's activation is kept in 8 bits */
    double prefetch;         /* zero3: layers gathered ahead of their use; NaN: the stack's */
    int64_t expert_parallel, expert_tensor_parallel; /* ranks that share the experts of a layer; that share every expert */
    double expert_imbalance; /* tokens of the busiest expert-parallel rank over the mean */
    double expert_capacity;  /* each expert gets exactly so many times the mean tokens (drop and pad); 0: what comes */
    const char *recompute_modules; /* with recompute none or selective: words, see plan.h */
} pw_train_desc;
extern const pw_kind pw_train_kind;

/* --- Memory ----------------------------------------------------------------------------------------------------- */

typedef struct pw_memory_account {
    double weights, gradients, optimizer; /* bytes per GPU of the stage */
    double activations;  /* of the layers, of all micro-batches in flight */
    double logits;       /* embedding, output layer and loss, at the peak */
    double buffers;      /* gathered activations, messages, the layer being recomputed */
    double reserve;      /* context, libraries, fragmentation */
    double fragmentation; /* of the reserve: what an allocator holds beside the tensors */
    double total, capacity;
    double host;         /* offloaded: bytes of host memory per GPU, not in the total */
} pw_memory_account;
/* Closed account per stage (0 .. pipeline_parallel - 1). data_parallel must be given. */
pw_status pw_train_memory(const pw_catalogue *catalogue, const pw_device *device, const pw_train_desc *desc,
                          int64_t stage, pw_memory_account *account, pw_error *error);
/* Nearest plan that fits, in words ("recompute = \"selective\" (71.2 of 80.0 GB)"); empty when none was found. More tensor
 * parallel is proposed up to close_gpus only: the GPUs that share a scale-up network, or else a node. */
pw_status pw_train_nearest_fit(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, int64_t close_gpus,
                               const pw_train_desc *desc, pw_arena *arena, const char **text, pw_error *error);

/* --- Running ------------------------------------------------------------------------------------------------------ */

/* Checks desc against the cluster and lowers it. All arrays of the job live in arena. file/line: where the user wrote
 * the job, for messages. */
pw_status pw_train_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_train_desc *desc,
                         pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error);

typedef struct pw_stage_result {
    uint32_t stage, layers, ranks;
    double compute_s, communication_s, idle_s, launch_wait_s; /* of the step */
    pw_memory_account memory;
} pw_stage_result;

typedef struct pw_train_result {
    pw_interval interval;   /* of step_s */
    double step_spread;     /* (p90 - p10) / median of one run's steps, expected */
    double step_s, tokens_per_s, tokens_per_s_per_gpu, flops_per_gpu; /* flops: model, causal */
    double mfu, mfu_full;   /* causal and full-attention conventions, of the dense peak of the precision named below */
    const char *mfu_convention; /* "model FLOPs, causal attention, dense bf16 peak 989.4 TFLOP/s" */
    double parameters;
    const pw_device *device; /* of every node; lives as long as the catalogue */
    int64_t gpus, data_parallel, micro_batches;
    const pw_blame_part *parts; /* along the critical path */
    uint32_t part_count;
    const char *home_program;
    const pw_stage_result *stages;
    uint32_t stage_count;
    const char *const *notes;   /* provenance and fallbacks, one sentence each */
    uint32_t note_count;
    pw_executor_totals totals;
    double simulated_events;
    const pw_power_result *power; /* NULL: clocks did not come from power */
    uint64_t hash;              /* of all spans: equal runs have equal hashes */
} pw_train_result;

/* The whole run: cluster, memory check (PW_DOES_NOT_FIT with the account and the nearest plan), lowering, execution,
 * blame. Results live in arena. */
pw_status pw_train_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                       const pw_train_desc *desc, const pw_run_options *options, const char *file, int line,
                       pw_arena *arena, pw_train_result *result, pw_error *error);

#endif
