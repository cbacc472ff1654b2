/* The order of passes on a pipeline stage, for schedules that are a list known beforehand.
 *
 * A pass is the work of one chunk on one micro-batch: F (forward), B (gradient of the input), W (gradient of the weights),
 * or both gradients at once. Splitting the backward pass lets W wait: nothing downstream needs it, so it fills what would
 * be a bubble. A schedule is a rule for the order on every stage; the time comes out of its execution. The rules use
 * counts and unit times F = B = W alone, as their papers do.
 *
 *   order_megatron.c     1f1b, interleaved, gpipe: whole backward passes
 *   order_zero_bubble.c  zb-h1, zb-h2: one chunk per stage
 *   order_v.c            zb-v, v-half, v-min: two chunks, down the stages and up again
 *   order_dual.c         dualpipe: two copies of the model, micro-batches from both ends; dualpipev: its half, a V
 */
#ifndef PW_MODELS_WORKLOAD_ORDER_H
#define PW_MODELS_WORKLOAD_ORDER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pw_pass_kind { PW_PASS_FORWARD, PW_PASS_BACKWARD, PW_PASS_INPUT, PW_PASS_WEIGHT } pw_pass_kind;

typedef struct pw_pass {
    uint8_t kind;
    bool paired;    /* this forward pass and the backward pass after it run side by side */
    uint16_t chunk; /* of the stage */
    int32_t micro;  /* of its chunk, from 0; a chunk's passes of a kind come in its order */
} pw_pass;

/* Where the chunks of a stage sit in the model, as positions in order of its layers. */
typedef enum pw_placement {
    PW_PLACE_ROUND,    /* chunk c of stage s at c p + s: round and round the stages */
    PW_PLACE_V,        /* s, then 2p - 1 - s: down and up again */
    PW_PLACE_BOTH_WAYS /* two copies of the model: s of the first, p - 1 - s of the second */
} pw_placement;

typedef void pw_pass_fn(void *object, const pw_pass *pass);

typedef struct pw_order_shape {
    int64_t stages, chunks, micro_batches; /* micro-batches of each chunk */
} pw_order_shape;

/* Emits the passes of a stage in order. */
typedef void pw_order_fn(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object);
pw_order_fn pw_order_1f1b, pw_order_gpipe, pw_order_zb_h1, pw_order_zb_h2, pw_order_zb_v, pw_order_v_half, pw_order_v_min, pw_order_dualpipe,
    pw_order_dualpipev;

/* One row per schedule, in the order of pw_schedule. */
typedef struct pw_order {
    const char *name, *text;
    pw_order_fn *emit;
    bool splits;            /* weight gradients are passes of their own; else schedule.c writes Megatron-LM's messages */
    pw_placement placement;
    int64_t chunks;         /* per stage; 0: as the job says */
    int64_t least_rounds;   /* micro-batches are at least this times the stages; 0: any number */
    int64_t most_stages;    /* 0: any number */
} pw_order;
extern const pw_order pw_orders[];
enum { PW_ORDER_STAGES = 1024, PW_ORDER_V_STAGES = 128 }; /* at most, where the order splits; v-half and v-min */

/* Forward passes of a stage before its first backward pass under 1f1b (Megatron-LM's schedules). */
int64_t pw_order_warmup(const pw_order_shape *shape, int64_t stage);

/* What a chunk of a stage holds from F to B, or (kept) from B to W, of one micro-batch. */
typedef double pw_held_fn(const void *object, int64_t stage, int64_t chunk, bool kept);
/* The most that a stage holds at once. */
double pw_order_peak(const pw_order *order, const pw_order_shape *shape, int64_t stage, pw_held_fn *held, const void *object);

#endif
