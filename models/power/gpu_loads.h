/* Loads as numbers: what a step of a served language model does, and activity classes of whole workloads.
 *
 * A decode step of `batch` sequences reads every weight that it needs once and every sequence's cache, and multiplies each
 * token with the weights. What the GPU executes is more than what is useful: kernels work on tiles of rows (table
 * gpu-decode-tiles, by architecture). With B sequences, E experts of which a token takes k, and r prompt tokens per output
 * token:
 *
 *   experts hit     E (1 - (1 - k/E)^B)
 *   bytes           dense weights + experts hit + B (context x cache bytes + 2 x state bytes), over all GPUs
 *   flops           2 dense (max(B, tile) + r B) + 2 per expert x hit x max(B (1 + r) k / hit, tile)
 *                   + cache bytes x attention tile       (2 flops for each 2-byte element and row of the tile)
 *
 * An activity class (table gpu-activities) is shares of peaks while kernels are resident, for workloads known only by name.
 */
#ifndef PW_MODELS_POWER_GPU_LOADS_H
#define PW_MODELS_POWER_GPU_LOADS_H

#include "models/power/gpu_power.h"

#define PW_TABLE_SERVED_REQUESTS "served-requests"
#define PW_TABLE_SERVED_MODELS "served-models"
#define PW_TABLE_DECODE_TILES "gpu-decode-tiles"
#define PW_TABLE_ACTIVITIES "gpu-activities"

typedef struct pw_served_model {
    double dense, routed;          /* parameters read by every token, but the input embedding; of all routed experts */
    double experts, experts_per_token; /* 0, 0: none */
    double cache_bytes;            /* keys and values of one token */
    bool cache_replicated;         /* every GPU holds it whole (latent attention) */
    double state_bytes;            /* of one sequence, read and written in each step */
    double weight_bytes;           /* of one parameter */
} pw_served_model;

typedef struct pw_decode_tiles { /* rows */
    double dense, few_experts, experts, experts_8, attention; /* few_experts: 16 bits, at most as many sequences as experts */
} pw_decode_tiles;

/* PW_NOT_FOUND for an unknown model; file:line on a bad cell. */
pw_status pw_served_model_read(const pw_catalogue *catalogue, const char *name, pw_served_model *model, pw_error *error);
/* What a request looks like: mean tokens of its context, prompt tokens per output token. */
pw_status pw_served_request_read(const pw_catalogue *catalogue, const char *name, double *context, double *prompt, pw_error *error);
/* The row of the architecture, else that named "*". */
pw_status pw_decode_tiles_read(const pw_catalogue *catalogue, const char *arch, pw_decode_tiles *tiles, pw_error *error);
/* One decode step on one of `gpus` GPUs; busy_s is left 0. `context`: mean tokens in a cache; prompt: prompt tokens per output
 * token. eight_bit: the precision of the weights' multiplies is fp8, else bf16. */
pw_gpu_work pw_decode_work(const pw_served_model *model, const pw_decode_tiles *tiles, double batch, double gpus, double context,
                           double prompt, bool eight_bit);

typedef struct pw_activity {
    pw_precision precision;
    double tensor, memory; /* shares of peak flop/s and of memory bandwidth, at the reference clock */
    double compute;        /* share of the time that goes with 1/clock */
    double gap;            /* seconds without kernels per second with, at the reference clock */
} pw_activity;
/* The row whose task is `name`; PW_NOT_FOUND without one. */
pw_status pw_activity_read(const pw_catalogue *catalogue, const char *name, pw_activity *activity, pw_error *error);
/* One second of it on a device, and gap_s without kernels. PW_UNSUPPORTED when the device has no unit for the precision. */
pw_status pw_activity_load(const pw_activity *activity, const pw_device *device, double gap_s, pw_gpu_load *load, pw_error *error);

#endif
