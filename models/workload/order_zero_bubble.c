/* zb-h1 and zb-h2: Qi et al. 2023, "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241), section 2.2.
 *
 * Stage s starts with as many forward passes as are needed until its first gradient comes back: p - s, the warm-up of
 * 1F1B, or 2(p - s) - 1, which fills the wait as well. Then B and F alternate. Late stages get their gradients early;
 * they hold back s (2s) weight gradients, which leaves the others no wait and fills their own end, when early stages still
 * work. So every stage keeps p (2p - 1) micro-batches at the most. */
#include "models/workload/order.h"

static void one_chunk(const pw_order_shape *shape, int64_t warmup, int64_t behind, pw_pass_fn *emit, void *object) {
    int64_t micro = shape->micro_batches, forward = 0, weight = 0;
    pw_pass pass = {0};
#define EMIT(what, which) (pass.kind = what, pass.micro = (int32_t)(which), emit(object, &pass))
    for (; forward < warmup && forward < micro; forward++) EMIT(PW_PASS_FORWARD, forward);
    for (int64_t input = 0; input < micro; input++) {
        EMIT(PW_PASS_INPUT, input);
        if (input >= behind) EMIT(PW_PASS_WEIGHT, weight), weight++;
        if (forward < micro) EMIT(PW_PASS_FORWARD, forward), forward++;
    }
    for (; weight < micro; weight++) EMIT(PW_PASS_WEIGHT, weight);
#undef EMIT
}

void pw_order_zb_h1(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    one_chunk(shape, shape->stages - stage, stage, emit, object);
}

void pw_order_zb_h2(const pw_order_shape *shape, int64_t stage, pw_pass_fn *emit, void *object) {
    one_chunk(shape, 2 * (shape->stages - stage) - 1, 2 * stage, emit, object);
}
