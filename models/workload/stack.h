/* Software stacks: what a training framework of an era does, as one row of the catalogue's table `stacks`.
 *
 * A row holds behaviours (is sequence parallel on, is a gradient reduced behind the backward pass, ...), the HBM bytes
 * that the stack's kernels move beside the matrix multiplies, how many kernels that takes, and what it keeps in memory.
 * Bytes are per element of the tensor named: of the hidden state, of queries, of keys, of the inner MLP width, of a logit,
 * of a parameter. The code knows the places where such kernels run, never how many bytes they move.
 */
#ifndef PW_MODELS_WORKLOAD_STACK_H
#define PW_MODELS_WORKLOAD_STACK_H

#include "models/catalogue/catalogue.h"

/* X(column): 0 or 1 */
#define PW_STACK_SWITCH_MAP(X)                                                                           \
    X(sequence_parallel)    /* norms and dropout on 1/t of the tokens; gather and scatter, no all_reduce */ \
    X(flash_attention)      /* one fused kernel; else batched multiplies and a softmax */                \
    X(overlap_gradients)    /* buckets reduced behind the last backward pass */                          \
    X(overlap_parameters)   /* ZeRO-1: parameters gathered behind the first forward pass */              \
    X(overlap_pipeline)     /* messages do not hold up the compute stream */                             \
    X(scatter_gather)       /* a stage's tensor-parallel ranks send 1/t each */                          \
    X(cuda_graphs)          /* launches cost no host time */                                             \
    X(tp_behind_wgrad)      /* backward, a tensor-parallel reduction runs beside the last weight gradient of its block */ \
    X(tp_regather)          /* sequence parallel: the backward pass gathers a linear layer's input again */ \
    X(fp8_gather)           /* fp8: forward gathers carry fp8 */                                         \
    X(fp8_parameter_gather) /* fp8: ZeRO-1 gathers fp8 parameters */                                     \
    X(dropout)              /* masks are kept for the backward pass */                                   \
    X(layer_sync)           /* the host waits for the GPU after each tensor-parallel collective and each layer */

/* X(column): a number >= 0 */
#define PW_STACK_NUMBER_MAP(X)                                                                           \
    X(tp_exposed)           /* share of a tensor-parallel collective before (after) the multiply it feeds \
                               (drains); the rest runs beside it */                                      \
    X(gradient_reduce_fp16) X(gradient_reduce_bf16) /* bytes of a gradient on the wire */                \
    X(bucket_elements)                                                                                   \
    X(norm_forward) X(norm_backward) X(residual_forward) X(residual_backward) /* per block and element */ \
    X(query_forward) X(query_backward) X(key_forward) X(key_backward)                                    \
    X(mlp_forward) X(mlp_backward) X(gated_forward) X(gated_backward)                                    \
    X(softmax_forward) X(softmax_backward) /* per score */                                               \
    X(wgrad_accumulate)     /* per weight and micro-batch, on top of the multiply */                     \
    X(step_accumulate_bf16) /* per weight and micro-batch, a kernel of its own */                        \
    X(cast_input) X(cast_inner) X(cast_gradient) X(cast_gradient_inner)                                  \
    X(cast_factor)          /* casts run below the other kernels' bandwidth: bytes are multiplied */     \
    X(context_correction)   /* per element of the attention's output and ring step */                    \
    X(embedding_forward) X(embedding_backward) X(loss_forward) X(loss_backward)                          \
    X(optimizer_local) X(optimizer_shard) X(optimizer_norm) X(optimizer_full)                            \
    X(norm_kernels_forward) X(norm_kernels_backward) X(residual_kernels_forward) X(residual_kernels_backward) \
    X(attention_kernels_forward) X(attention_kernels_backward) X(mlp_kernels_forward) X(mlp_kernels_backward) \
    X(cast_kernels) X(optimizer_kernels) X(optimizer_norm_kernels) /* the update; the gradient norm before it */ \
    X(softmax_kernels_forward) X(softmax_kernels_backward)                                               \
    X(embedding_kernels_forward) X(embedding_kernels_backward)                                           \
    X(loss_kernels_forward) X(loss_kernels_backward)                                                     \
    X(vocabulary_multiple)  /* the vocabulary is padded to a multiple of this x tensor_parallel; 0: not padded */       \
    X(gradient_fp16) X(gradient_bf16) X(optimizer_fp16) X(optimizer_bf16) /* bytes kept per parameter */ \
    X(saved_input_fp8)      /* fp8: bytes kept per element of a linear layer's input; other formats keep 2 */ \
    X(logits)               /* bytes kept per logit at the peak */                                       \
    X(launch_factor)        /* host time per counted kernel over one launch: eager frameworks do more in between */

/* With experts or latent attention: columns of the table stack-experts, numbers >= 0. Bytes are per element of a token's copy, or per token and
 * expert. */
#define PW_STACK_EXPERT_MAP(X)                                                                           \
    X(together)             /* local experts that one kernel multiplies for; 0: all */                   \
    X(casts_each)           /* fp8: kernels of a cast per local expert; 0: one set for all */            \
    X(inner)                /* share of the experts' activation and cast bytes that multiplies do not do on the way */ \
    X(biased)               /* factor on the activation's bytes where experts carry biases */            \
    X(host_waits)           /* 1: the host learns how many tokens came before it launches a forward pass's experts */ \
    X(once)                 /* 1: a token travels once to a rank (between domains: to a domain) that needs it; 0: one copy \
                               per expert */                                                             \
    X(shared_beside)        /* 1: shared experts work while tokens are on their way */                    \
    X(exposed)              /* share of an all_to_all that comes before the work it feeds; the rest runs beside other work */ \
    X(dispatch_fp8)         /* fp8: bytes per element on the way to the experts; other formats send theirs */ \
    X(router_forward) X(router_backward) X(router_kernels_forward) X(router_kernels_backward)            \
    X(latent_forward) X(latent_backward) X(latent_kernels_forward) X(latent_kernels_backward) /* latent attention: per \
                               element of queries and keys, to take heads apart, turn them and join them */ \
    X(sort_sent) X(sort_arrived) X(sort_kernels) /* moved around each all_to_all, at either end */

typedef struct pw_stack_experts {
    const char *text, *source;
#define PW_STACK_EXPERT(column) double column;
    PW_STACK_EXPERT_MAP(PW_STACK_EXPERT)
#undef PW_STACK_EXPERT
} pw_stack_experts;

typedef struct pw_stack {
    const char *name, *text, *source;
    int64_t year;
#define PW_STACK_SWITCH(column) bool column;
    PW_STACK_SWITCH_MAP(PW_STACK_SWITCH)
#undef PW_STACK_SWITCH
#define PW_STACK_NUMBER(column) double column;
    PW_STACK_NUMBER_MAP(PW_STACK_NUMBER)
#undef PW_STACK_NUMBER
    double kernel_time_factor; /* table stack-factors: fitted on whole steps; 1 where there is none */
    double reserve_bytes, fragmentation; /* table memory-reserve: context and libraries; share of activations and buffers */
    double split_logits;    /* likewise: bytes per logit at the peak where tensor-parallel ranks share them; NaN: as `logits` */
    double gradient_bucket; /* likewise: elements of a buffer that gradients leave through under zero1 */
    double inner_gradients; /* likewise: 1: gradients of the inner matrices' outputs have tensors of their own; 0: they overwrite them */
    pw_stack_experts experts;            /* read by pw_stack_read_experts */
} pw_stack;

/* Reads the row `name`; NULL: the newest default stack that knows the device's architecture. Fails with PW_NOT_FOUND and
 * the nearest name, or with file:line on a cell that is out of range. */
pw_status pw_stack_read(const pw_catalogue *catalogue, const char *name, const pw_device *device, pw_stack *stack,
                        const char *file, int line, pw_error *error);
/* Factor of a stack of any kind of training on kernel and host time: table stack-factors, 1 where it has no row. Fails with file:line on
 * a bad cell. */
pw_status pw_stack_factor(const pw_catalogue *catalogue, const char *name, double *factor, pw_error *error);
/* Fills stack->experts; PW_UNSUPPORTED when the stack has no row in stack-experts. */
pw_status pw_stack_read_experts(const pw_catalogue *catalogue, pw_stack *stack, const char *file, int line, pw_error *error);

#endif
