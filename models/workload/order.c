/* The table of schedules, and what can be counted from an order alone. */
#include <stddef.h>

#include "models/workload/order.h"

const pw_order pw_orders[] = {
    {"1f1b", "one forward, one backward pass; interleaved with virtual_stages above 1", pw_order_1f1b, false, PW_PLACE_ROUND, 0, 0, 0},
    {"gpipe", "all forward passes, then all backward passes", pw_order_gpipe, false, PW_PLACE_ROUND, 1, 0, 0},
    {"zb-h1", "weight gradients apart, in the memory of 1f1b", pw_order_zb_h1, true, PW_PLACE_ROUND, 1, 0, PW_ORDER_STAGES},
    {"zb-h2", "weight gradients apart, no bubble, twice the memory", pw_order_zb_h2, true, PW_PLACE_ROUND, 1, 0, PW_ORDER_STAGES},
    {"zb-v", "two chunks down and up the stages, no bubble, in the memory of 1f1b", pw_order_zb_v, true, PW_PLACE_V, 2, 0, PW_ORDER_STAGES},
    {"v-half", "as zb-v, half the memory, half the bubble of 1f1b", pw_order_v_half, true, PW_PLACE_V, 2, 0, PW_ORDER_V_STAGES},
    {"v-min", "as zb-v, a third of the memory, two thirds of the bubble", pw_order_v_min, true, PW_PLACE_V, 2, 0, PW_ORDER_V_STAGES},
    {"dualpipe", "two copies of the model, micro-batches from both ends", pw_order_dualpipe, true, PW_PLACE_BOTH_WAYS, 2, 2, PW_ORDER_STAGES},
    {"dualpipev", "dualpipe folded at its middle: one copy, two chunks", pw_order_dualpipev, true, PW_PLACE_V, 2, 2, PW_ORDER_STAGES},
    {NULL, NULL, NULL, false, PW_PLACE_ROUND, 0, 0, 0}};

typedef struct level {
    pw_held_fn *held;
    const void *object;
    int64_t stage;
    double now, most;
} level;

static void count(void *object, const pw_pass *pass) {
    level *l = object;
    bool ends = pass->kind == PW_PASS_BACKWARD || pass->kind == PW_PASS_INPUT;
    double full = pass->kind != PW_PASS_WEIGHT ? l->held(l->object, l->stage, pass->chunk, false) : 0;
    double kept = pass->kind >= PW_PASS_INPUT ? l->held(l->object, l->stage, pass->chunk, true) : 0;
    l->now += (pass->kind == PW_PASS_FORWARD ? full : ends ? -full : 0) +
              (pass->kind == PW_PASS_INPUT ? kept : -kept);
    if (l->now > l->most) l->most = l->now;
}

double pw_order_peak(const pw_order *order, const pw_order_shape *shape, int64_t stage, pw_held_fn *held, const void *object) {
    level l = {.held = held, .object = object, .stage = stage};
    pw_order_shape few = *shape; /* the steady state repeats: more micro-batches make no higher peak */
    int64_t enough = 4 * shape->stages; /* a multiple of the stages, as interleaving needs */
    if (few.micro_batches > enough && order->emit != pw_order_gpipe) few.micro_batches = enough;
    order->emit(&few, stage, count, &l);
    return l.most;
}
