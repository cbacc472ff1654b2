/* Dense matrix multiply: the equation, free of any catalogue. The fit program fits exactly this function.
 *
 *   T = start + min over tile and split of [ (C^4 + M^4)^(1/4) + reduction(split) ] + cast
 *   C = turns(tiles x splits / SMs, resident blocks) x max(2 tm tn, (tm + tn) b x rate / feed) x (k / splits + ramp)
 *       / rate / clock ratio
 *   M = bytes / (memory efficiency x bandwidth x share of the SMs that ask for data)
 *
 * A library picks the fastest kernel of its table; the minimum stands for that choice. Every parameter is relative to
 * the device's data sheet, so that one set serves devices of one architecture. See docs/models/gpu-kernels.md.
 */
#ifndef PW_MODELS_GPU_GEMM_H
#define PW_MODELS_GPU_GEMM_H

#include "models/gpu/gpu.h"

/* X(field, column, lowest, highest, first guess, text): the parameters, their columns in the catalogue and their
 * limits. Seconds are seconds; the rest is dimensionless or as the text says. */
#define PW_GEMM_PARAMETER_MAP(X)                                                                                      \
    X(start, "start", 2e-7, 8e-6, 2.5e-6, "start-up of the kernel, s")                                                \
    X(flop_efficiency, "flop_efficiency", 0.1, 1, 0.85, "best share of peak flop/s inside a tile")                    \
    X(memory_efficiency, "memory_efficiency", 0.1, 1, 0.8, "best share of memory bandwidth")                          \
    X(ramp_k, "ramp_k", 1, 1000, 100, "pipeline fill and drain of a tile, in elements of k")                          \
    X(feed, "feed", 0.002, 0.1, 0.015, "operand bytes the SMs take in per flop of 16-bit peak")                       \
    X(saturation, "saturation", 1, 8, 2, "bandwidth one SM can draw, in shares of an SM's equal part")                \
    X(split, "split", 5e-8, 6e-6, 1.5e-6, "reduction after splitting k, s")                                           \
    X(quantisation, "quantisation", 0.02, 1, 0.9, "0: SMs share work evenly; 1: whole waves")                         \
    X(tile_discount, "tile_discount", 0.001, 1.5, 0.1, "exponent of the loss of tiles with less reuse")               \
    X(split_traffic, "split_traffic", 0.05, 3, 0.7, "partial sums of a split that move, as a share of one write and read") \
    X(cast, "cast", 1e-7, 2e-5, 6e-6, "start-up of the kernels that quantise the left operand, s")                    \
    X(cast_traffic, "cast_traffic", 0.3, 20, 5, "bytes they move per element of the left operand")

typedef struct pw_gemm_parameters {
#define PW_GEMM_FIELD(field, column, low, high, guess, text) double field;
    PW_GEMM_PARAMETER_MAP(PW_GEMM_FIELD)
#undef PW_GEMM_FIELD
} pw_gemm_parameters;

/* Splits of k: a plain multiply uses the first PW_GEMM_SPLITS, as its parameters were fitted with; the weight gradient of a
 * convolution, whose k is every pixel of a batch, uses all. */
enum { PW_GEMM_TILES = 8, PW_GEMM_SPLITS = 7, PW_GEMM_SPLITS_LONG = 11 };

/* The device, as its data sheet has it. */
typedef struct pw_gemm_machine {
    double peak_flops;    /* at the precision, at the reference clock */
    double peak16_flops;  /* at 16 bits: the scale of `feed` */
    double sms;
    double memory_Bps;
    double element_bytes; /* of a stored operand */
} pw_gemm_machine;

/* Parameters and machine, multiplied out once. */
typedef struct pw_gemm_model {
    pw_gemm_parameters parameters;
    pw_gemm_machine machine;
    double tile_s[PW_GEMM_TILES]; /* one element of k of one tile on one SM */
    double resident[PW_GEMM_TILES]; /* blocks of the tile that one SM works on at a time */
} pw_gemm_model;

void pw_gemm_prepare(const pw_gemm_parameters *parameters, const pw_gemm_machine *machine, pw_gemm_model *model);

/* A multiply whose traffic is given: a convolution reads pixels once that its implicit matrix holds many times. */
typedef struct pw_gemm_shape {
    double batch, m, n, k;
    double bytes; /* HBM traffic without partial sums of a split */
    int splits;   /* PW_GEMM_SPLITS or PW_GEMM_SPLITS_LONG */
} pw_gemm_shape;
void pw_gemm_shape_cost(const pw_gemm_model *model, const pw_gemm_shape *shape, double clock_ratio, double sms,
                        pw_kernel_cost *cost);

/* Fills cost. Dimensions >= 1, clock_ratio > 0, sms in (0, machine.sms]. casts: add the cast of the left operand. */
void pw_gemm_cost(const pw_gemm_model *model, double batch, double m, double n, double k, double output_bytes, bool casts,
                  double clock_ratio, double sms, pw_kernel_cost *cost);

#endif
