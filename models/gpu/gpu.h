/* GPU kernels: how long a kernel takes alone on a device, from its shape and the clock.
 *
 * A kernel is an activity of work 1 with rate cap 1 / T_solo; T_solo joins start-up, arithmetic (tile and wave
 * quantisation, K ramp) and memory traffic. Parameters per (device, precision) are fitted from measured kernels at the
 * device's reference clock and live in the catalogue; a device without measurements takes those of its architecture,
 * scaled by its own data-sheet figures, and says so. The arithmetic part goes with 1/clock, the memory part does not.
 */
#ifndef PW_MODELS_GPU_H
#define PW_MODELS_GPU_H

#include "models/catalogue/catalogue.h"

/* The table of kernel classes: X(NAME, name, text). Blame and reports speak in these names. */
#define PW_KERNEL_MAP(X)                                                                          \
    X(GEMM, "gemm", "dense matrix multiply")                                                      \
    X(CONVOLUTION, "convolution", "convolution as an implicit matrix multiply, forward or either gradient") \
    X(ATTENTION, "attention", "fused (flash) attention, forward or backward")                     \
    X(SOFTMAX, "softmax", "softmax, mask and dropout of unfused attention")                       \
    X(NORM, "norm", "layer norm, RMS norm or batch norm")                                         \
    X(POOLING, "pooling", "maximum or mean over windows, and its gradient")                       \
    X(ELEMENTWISE, "elementwise", "activation, bias, dropout, residual, rotary embedding, casts") \
    X(EMBEDDING, "embedding", "embedding lookup and its gradient")                                \
    X(LOSS, "loss", "cross entropy over the vocabulary")                                          \
    X(OPTIMIZER, "optimizer", "parameter update, gradient norm and scaling")

typedef enum pw_kernel_class {
#define PW_KERNEL_ENUM(NAME, name, text) PW_KERNEL_##NAME,
    PW_KERNEL_MAP(PW_KERNEL_ENUM)
#undef PW_KERNEL_ENUM
    PW_KERNEL_CLASS_COUNT
} pw_kernel_class;
extern const char *const pw_kernel_class_names[]; /* NULL-terminated */

/* y[batch, out_height, out_width, out_channels] from x[batch, in_height, in_width, in_channels] by kernel_height x kernel_width
 * windows, channels last. Padding is what the sizes of x and y imply. */
typedef enum pw_convolution_pass { PW_CONVOLUTION_FORWARD, PW_CONVOLUTION_DATA, PW_CONVOLUTION_WEIGHT } pw_convolution_pass;
typedef struct pw_convolution {
    int64_t batch;
    int32_t in_height, in_width, in_channels, out_height, out_width, out_channels;
    int16_t kernel_height, kernel_width, stride;
    int16_t pass;   /* pw_convolution_pass: y; the gradient of x; the gradient of the weights */
    int32_t groups; /* divides both channel counts; in_channels: depthwise */
} pw_convolution;

/* One kernel launch. Dimensions are counts >= 1; bytes are HBM traffic. */
typedef struct pw_kernel {
    pw_kernel_class kind;
    pw_precision precision; /* of the operands that are multiplied */
    union {
        struct { /* GEMM: batch x [m,k] times [k,n] */
            int64_t batch, m, n, k;
            double output_bytes_per_element; /* 0: as the operands, at least 2 */
            int64_t row_alignment; /* bytes of which all rows in memory are whole multiples: 1, 2, 4, 8; 0: 16 */
            bool quantised; /* fp8: the left operand comes quantised; false: its cast is part of the kernel */
        } gemm;
        struct { /* ATTENTION: q [batch, queries, heads, head_dim], k and v [batch, keys, kv_heads, head_dim] */
            int64_t batch, queries, keys, heads, kv_heads, head_dim;
            bool causal, backward;
            int64_t window; /* causal: keys that a query sees at most; 0: all before it */
            int64_t value_dim; /* of v and the output; 0: head_dim */
            double slowdown; /* of the arithmetic, against the fitted kernel; 0: 1 */
        } attention;
        pw_convolution convolution;
        struct { /* all others: traffic-bound */
            double bytes; /* read + written */
            double flops; /* 0 when it does not matter */
        } memory;
    };
} pw_kernel;

typedef struct pw_kernel_cost {
    double start_s;   /* start-up on the device (not the host's launch cost) */
    double compute_s; /* arithmetic alone at this clock */
    double memory_s;  /* traffic alone */
    double total_s;   /* T_solo */
    double flops;     /* useful multiply-adds x 2 */
    double hbm_bytes;
} pw_kernel_cost;

typedef struct pw_gpu pw_gpu;

/* Resolves one device's parameters. Fails with PW_NOT_FOUND for an unknown device. The catalogue must outlive it. */
pw_status pw_gpu_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *device, pw_gpu **gpu,
                        pw_error *error);
void pw_gpu_destroy(pw_gpu *gpu);
const pw_device *pw_gpu_device(const pw_gpu *gpu);
double pw_gpu_memory_taken_most(const pw_gpu *gpu); /* what memory_taken of a state is at most, whatever runs beside (kernel-sharing) */
/* Where the parameters for a class and precision come from, e.g. "fitted on A100-SXM4-80GB, 1,220 rows" or "from
 * H100-SXM5-80GB (same architecture Hopper)". */
const char *pw_gpu_provenance(const pw_gpu *gpu, pw_kernel_class kind, pw_precision precision);

typedef struct pw_gpu_state {
    double clock_ratio; /* clock / reference clock: the one at which the measured kernels ran, the highest under load */
    double sms;         /* SMs available; 0: all */
    double memory_taken; /* share of the memory bandwidth that others use, 0 to below 1 */
} pw_gpu_state;

/* T_solo. state NULL: reference clock, all SMs. Fails (PW_UNSUPPORTED) when the device has no unit for the precision,
 * (PW_BAD_INPUT) on a dimension < 1, a clock ratio that is not above 0 and finite, or SMs that the device lacks,
 * (PW_OUT_OF_RANGE) when the time is no finite number. Costs under a microsecond. */
pw_status pw_gpu_kernel_cost(const pw_gpu *gpu, const pw_kernel *kernel, const pw_gpu_state *state, pw_kernel_cost *cost,
                             pw_error *error);

/* Host side: seconds of a host thread per kernel launch for a host CPU kind ("x86", "grace"); from the catalogue. */
pw_status pw_gpu_launch_s(const pw_catalogue *catalogue, const char *host, double *launch_s, pw_error *error);

#endif
