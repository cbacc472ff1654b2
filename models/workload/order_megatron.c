/* 1f1b, interleaved when a stage has several chunks, and gpipe: megatron/core/pipeline_parallel/schedules.py,
 * forward_backward_pipelining_without_interleaving and _with_interleaving.
 *
 * Passes are numbered k = 0, 1, ... in each direction. In groups of p micro-batches a stage works through its v chunks: pass
 * k is chunk (k mod pv) / p of micro-batch (k div pv) p + k mod p; backward the chunks count down. */
#include "models/workload/order.h"

int64_t pw_order_warmup(const pw_order_shape *shape, int64_t stage) {
    int64_t total = shape->micro_batches * shape->chunks, warmup = shape->stages - stage - 1;
    if (shape->chunks > 1) warmup = 2 * warmup + (shape->chunks - 1) * shape->stages;
    return warmup < total ? warmup : total;
}

static void numbered(const pw_order_shape *shape, int64_t k, bool backward, pw_pass_fn *emit, void *object) {
    int64_t group = shape->stages * shape->chunks, chunk = k % group / shape->stages;
    int64_t micro = shape->chunks == 1 ? k : k / group * shape->stages + k % shape->stages;
    emit(object, &(pw_pass){.kind = backward ? PW_PASS_BACKWARD : PW_PASS_FORWARD,
                            .chunk = (uint16_t)(shape->chunks == 1 ? 0 : backward ? shape->chunks - 1 - chunk : chunk),
                            .micro = (int32_t)micro});
}

static void after_warmup(const pw_order_shape *shape, int64_t warmup, pw_pass_fn *emit, void *object) {
    int64_t total = shape->micro_batches * shape->chunks;
    for (int64_t k = 0; k < warmup; k++) numbered(shape, k, false, emit, object);
    for (int64_t k = 0; k < total; k++) {
        if (warmup + k < total) numbered(shape, warmup + k, false, emit, object);
        numbered(shape, k, true, emit, object);
    }
}

void pw_order_1f1b(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    after_warmup(shape, pw_order_warmup(shape, stage), emit, object);
}

void pw_order_gpipe(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    (void)stage;
    after_warmup(shape, shape->micro_batches * shape->chunks, emit, object);
}
