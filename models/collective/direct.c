/* Direct exchange: every member sends a block of S / n to every other at once. The port of a member takes the blocks one
 * after another, so the time is that of its bytes. all_reduce does it twice: scatter of partial sums, gather of sums. gather
 * and scatter are the messages to and from the first member alone. */
#include "models/collective/algorithm.h"

bool direct_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return kind != PW_COLLECTIVE_BROADCAST && kind != PW_COLLECTIVE_REDUCE && kind != PW_COLLECTIVE_SEND_RECV &&
           shape->members > 1;
}

uint32_t direct_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    return shape->members < 2 ? 0 : is_all_reduce(kind) ? 2 : 1;
}

/* factor: of all rounds, when they are summed up. */
static void direct_round(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, double factor,
                         pw_collective_step_fn *emit, void *object) {
    uint32_t members = shape->members;
    bool gathers = kind == PW_COLLECTIVE_GATHER, rooted = gathers || kind == PW_COLLECTIVE_SCATTER;
    /* By distance, so that the first messages of all members go to different ones. */
    for (uint32_t distance = 1; distance < members; distance++)
        for (uint32_t from = 0; from < (rooted ? 1 : members); from++) {
            uint32_t to = from < members - distance ? from + distance : from - (members - distance);
            double share = factor * exchange_share(kind, shape, from, to);
            if (share > 0) emit_step(emit, object, round, gathers ? to : from, gathers ? from : to, share, 0);
        }
}

void direct_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    for (uint32_t round = 0; round < direct_rounds(kind, shape); round++)
        direct_round(kind, shape, round, 1, emit, object);
}

void direct_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                    pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members;
    bool in = kind != PW_COLLECTIVE_GATHER || member == 0, out = kind != PW_COLLECTIVE_SCATTER || member == 0;
    if (kind == PW_COLLECTIVE_GATHER) out = member != 0;
    if (kind == PW_COLLECTIVE_SCATTER) in = member != 0;
    bool rooted = (kind == PW_COLLECTIVE_GATHER || kind == PW_COLLECTIVE_SCATTER) && member != 0;
    for (uint32_t distance = 1; distance < n; distance++) {
        uint32_t to = (member + distance) % n, from = (member + n - distance) % n;
        if (out && (!rooted || to == 0) && exchange_share(kind, shape, member, to) > 0)
            emit_step(emit, object, round, member, to, exchange_share(kind, shape, member, to), 0);
        if (in && (!rooted || from == 0) && exchange_share(kind, shape, from, member) > 0)
            emit_step(emit, object, round, from, member, exchange_share(kind, shape, from, member), 0);
    }
}

void direct_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    direct_round(kind, shape, 0, direct_rounds(kind, shape), emit, object);
}

uint32_t direct_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members;
}

void direct_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                    pw_collective_move_fn *emit, void *object) {
    (void)shape;
    bool own = kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_GATHER || (is_all_reduce(kind) && step->round == 1);
    emit_move(emit, object, step->from, step->to, step->from, own ? step->from : step->to, 1);
}

static double larger(double a, double b) { return a > b ? a : b; }

/* The busiest port of an uneven exchange. With a stated imbalance that is where the first member receives. */
static algorithm_load uneven_load(const pw_group_shape *shape) {
    uint32_t n = shape->members, p = shape->per_domain;
    bool stated = !shape->options->matrix;
    algorithm_load load = {0, 0};
    for (uint32_t member = 0; member < (stated ? 1 : n); member++) {
        double inside_out = 0, inside_in = 0, out = 0, in = 0;
        for (uint32_t other = 0; other < n; other++) {
            if (other == member) continue;
            bool here = shape->domains == 1 || (shape->even && other / p == member / p);
            *(here ? &inside_out : &out) += exchange_share(PW_COLLECTIVE_ALL_TO_ALL_V, shape, member, other);
            *(here ? &inside_in : &in) += exchange_share(PW_COLLECTIVE_ALL_TO_ALL_V, shape, other, member);
        }
        load.scaleup = larger(load.scaleup, larger(inside_out, inside_in));
        load.network = larger(load.network, larger(out, in));
    }
    if (stated) { /* the others send to the first and to each other */
        double most = exchange_share(PW_COLLECTIVE_ALL_TO_ALL_V, shape, 1, 0), rest = exchange_share(PW_COLLECTIVE_ALL_TO_ALL_V, shape, 0, 1);
        load.scaleup = larger(load.scaleup, p > 1 ? most + (p - 2.0) * rest : 0);
        load.network = larger(load.network, n > p ? most + (n - p - 1.0) * rest : 0);
    }
    return load;
}

algorithm_load direct_load(pw_collective_kind kind, const pw_group_shape *shape) {
    double n = shape->members, p = shape->per_domain, rounds = direct_rounds(kind, shape);
    double others = shape->exchange_Bps > 0 ? shape->network_Bps / shape->exchange_Bps : 1; /* as if over links to neighbours */
    if (kind == PW_COLLECTIVE_ALL_TO_ALL_V && shape->options) {
        algorithm_load uneven = uneven_load(shape);
        return (algorithm_load){uneven.scaleup, uneven.network * others};
    }
    algorithm_load load = {rounds * (p - 1) / n, shape->domains > 1 ? others * rounds * (n - p) / n : 0};
    if (kind == PW_COLLECTIVE_SCATTER && shape->domains > 1 && shape->lone_Bps > shape->network_Bps) {
        /* Through its neighbours' NICs the root reaches more than its own carries; it pays with its link to them. */
        double own = shape->network_Bps / shape->lone_Bps;
        load.scaleup += load.network * (1 - own);
        load.network *= own;
    }
    return load;
}

algorithm_hops direct_hops(pw_collective_kind kind, const pw_group_shape *shape) {
    double rounds = direct_rounds(kind, shape);
    return shape->domains > 1 ? (algorithm_hops){0, rounds} : (algorithm_hops){rounds, 0};
}
