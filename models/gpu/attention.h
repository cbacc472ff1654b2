/* Fused attention: the equation, free of any catalogue. The fit program fits exactly this function.
 *
 * Thread blocks take 128 queries each and walk over the keys they see; SMs take blocks as they come free.
 *   per  = 128 (2 (d + value d) + softmax flops) / (flop efficiency x peak / SMs)       one key of one block
 *   C    = (work / SMs + tail x longest block + blocks / SMs x block overhead) x pass factor / clock ratio
 *   T    = start + (C^4 + M^4)^(1/4) + preparation x M
 * Backward: 2.5 times the arithmetic at its own efficiency, twice the traffic, no preparation.
 */
#ifndef PW_MODELS_GPU_ATTENTION_H
#define PW_MODELS_GPU_ATTENTION_H

#include "models/gpu/gpu.h"

/* As PW_GEMM_PARAMETER_MAP. */
#define PW_ATTENTION_PARAMETER_MAP(X)                                                                                 \
    X(start, "start", 2e-7, 4e-5, 1e-5, "start-up of the kernels, s")                                                 \
    X(flop_efficiency, "flop_efficiency", 0.05, 1, 0.7, "best share of peak flop/s inside a block")                   \
    X(softmax_flops, "softmax_flops", 1, 3000, 140, "cost of one score's softmax, in flops of the matrix unit")       \
    X(tail, "tail", 0.01, 1.5, 0.5, "share of the longest block that no other work covers")                           \
    X(block, "block", 5e-8, 3e-5, 3e-6, "set-up of one block, s")                                                     \
    X(preparation, "preparation", 0.001, 10, 1, "extra traffic (rotary, cache), in units of q, k, v and o once")      \
    X(backward_efficiency, "backward_efficiency", 0.1, 3, 0.8, "flop/s of the backward pass over the forward's")

typedef struct pw_attention_parameters {
#define PW_ATTENTION_FIELD(field, column, low, high, guess, text) double field;
    PW_ATTENTION_PARAMETER_MAP(PW_ATTENTION_FIELD)
#undef PW_ATTENTION_FIELD
} pw_attention_parameters;

typedef struct pw_attention_machine {
    double peak_flops, sms, memory_Bps; /* memory_Bps: achievable, not the data sheet's */
    double element_bytes;
} pw_attention_machine;

typedef struct pw_attention_shape {
    double batch, queries, keys, heads, kv_heads, head_dim;
    bool causal, backward;
    double window; /* causal: keys that a query sees at most; 0: all before it */
    double value_dim; /* of v and the output */
    double slowdown; /* of the arithmetic, against the kernel that was fitted; 0: 1 */
} pw_attention_shape;

pw_attention_shape pw_attention_shape_of(const pw_kernel *kernel); /* of a kernel of that kind; a value_dim of 0 is head_dim */
/* Fills cost. Dimensions >= 1; causal: the last query sees all keys. clock_ratio > 0, sms in (0, machine.sms]. */
void pw_attention_cost(const pw_attention_parameters *parameters, const pw_attention_machine *machine,
                       const pw_attention_shape *shape, double clock_ratio, double sms, pw_kernel_cost *cost);

#endif
