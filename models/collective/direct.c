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

static void direct_round(pw_collective_kind kind, uint32_t members, uint32_t round, double fraction,
                         pw_collective_step_fn *emit, void *object) {
    bool gathers = kind == PW_COLLECTIVE_GATHER, rooted = gathers || kind == PW_COLLECTIVE_SCATTER;
    /* By distance, so that the first messages of all members go to different ones. */
    for (uint32_t distance = 1; distance < members; distance++)
        for (uint32_t from = 0; from < (rooted ? 1 : members); from++) {
            uint32_t to = from < members - distance ? from + distance : from - (members - distance);
            pw_collective_step step = {round, gathers ? to : from, gathers ? from : to, fraction};
            emit(object, &step);
        }
}

void direct_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    for (uint32_t round = 0; round < direct_rounds(kind, shape); round++)
        direct_round(kind, shape->members, round, 1.0 / shape->members, emit, object);
}

void direct_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    direct_round(kind, shape->members, 0, (double)direct_rounds(kind, shape) / shape->members, emit, object);
}

algorithm_load direct_load(pw_collective_kind kind, const pw_group_shape *shape) {
    double n = shape->members, p = shape->per_domain, rounds = direct_rounds(kind, shape);
    algorithm_load load = {rounds * (p - 1) / n, shape->domains > 1 ? rounds * (n - p) / n : 0};
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

void direct_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                    pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members;
    bool gathers = kind == PW_COLLECTIVE_GATHER, rooted = gathers || kind == PW_COLLECTIVE_SCATTER;
    for (uint32_t distance = 1; distance < n; distance++) {
        uint32_t after = member < n - distance ? member + distance : member - (n - distance);
        uint32_t before = member >= distance ? member - distance : member + n - distance;
        pw_collective_step step = {round, gathers ? after : member, gathers ? member : after, 1.0 / n};
        if (!rooted || member == 0) emit(object, &step);
        step = (pw_collective_step){round, gathers ? member : before, gathers ? before : member, 1.0 / n};
        if (!rooted || before == 0) emit(object, &step);
    }
}
