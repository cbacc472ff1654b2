/* All members do at once what a binomial tree does for one, turned by their number.
 *
 * Block b reaches the member at distance d beyond its owner over the bits of d. bruck takes the low bits first, so that far
 * messages are large (J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
 * systems", 1997); pat takes the high bits first, so that far messages are small (S. Jeaugey, "PAT: a new algorithm for
 * all-gather and reduce-scatter operations at scale", 2025). Any number of members: distances beyond n are left out.
 * reduce_scatter is all_gather backwards. bruck does all_to_all by the bits of each block's own distance, and a barrier by
 * hearing from twice as many each round. pairwise exchanges with one member after another.
 */
#include "models/collective/algorithm.h"

static uint32_t bits_of(uint32_t n) {
    uint32_t bits = 0;
    while ((UINT64_C(1) << bits) < n) bits++;
    return bits;
}

/* The distance that a round bridges. */
static uint32_t bridge(pw_collective_kind kind, uint32_t n, uint32_t round, bool far_first) {
    uint32_t bits = bits_of(n);
    bool back = kind == PW_COLLECTIVE_REDUCE_SCATTER;
    return 1u << (far_first != back ? bits - 1 - round : round);
}

/* Distances d that a block may have come before the bridge takes it to d + bridge: first, and every step-th from there. */
static uint32_t come_step(uint32_t across, bool far_first) { return far_first ? 2 * across : 1; }
static uint32_t come_count(uint32_t n, uint32_t across, bool far_first) {
    if (far_first) return (n - across + 2 * across - 1) / (2 * across);
    return across < n - across ? across : n - across;
}

/* Blocks of all_to_all that take a bridge: distances below n with that bit. */
static uint32_t crossing(uint32_t n, uint32_t across) {
    uint32_t whole = n / (2 * across) * across, rest = n % (2 * across);
    return whole + (rest > across ? rest - across : 0);
}

/* What a round is: every member sends the same share over the same distance, backwards in a reduce_scatter. */
typedef struct spread_round {
    uint32_t across;
    double fraction;
    bool back;
} spread_round;

static spread_round spread_round_of(pw_collective_kind kind, uint32_t n, uint32_t round, bool far_first) {
    spread_round r = {.across = bridge(kind, n, round, far_first), .back = kind == PW_COLLECTIVE_REDUCE_SCATTER};
    r.fraction = (double)come_count(n, r.across, far_first) / n;
    if (kind == PW_COLLECTIVE_ALL_TO_ALL) r.fraction = (double)crossing(n, r.across) / n;
    if (kind == PW_COLLECTIVE_BARRIER) r.fraction = 1;
    return r;
}

/* The message between a member and the one across. */
static void spread_message(uint32_t n, uint32_t round, const spread_round *r, uint32_t member, pw_collective_step_fn *emit,
                           void *object) {
    uint32_t far = (member + r->across) % n;
    emit_step(emit, object, round, r->back ? far : member, r->back ? member : far, r->fraction, 0);
}

static void spread_steps(pw_collective_kind kind, const pw_group_shape *shape, bool far_first, pw_collective_step_fn *emit,
                         void *object) {
    uint32_t n = shape->members;
    for (uint32_t round = 0; round < bits_of(n); round++) {
        spread_round r = spread_round_of(kind, n, round, far_first);
        for (uint32_t m = 0; m < n; m++) spread_message(n, round, &r, m, emit, object);
    }
}

static void spread_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member, bool far_first,
                           pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members;
    spread_round r = spread_round_of(kind, n, round, far_first);
    spread_message(n, round, &r, member, emit, object);
    spread_message(n, round, &r, (member + n - r.across) % n, emit, object);
}

static void spread_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step, bool far_first,
                           pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, across = bridge(kind, n, step->round, far_first);
    if (kind == PW_COLLECTIVE_BARRIER) {
        emit_move(emit, object, step->from, step->to, 0, 0, 1);
    } else if (kind == PW_COLLECTIVE_ALL_TO_ALL) {
        for (uint32_t distance = across; distance < n; distance++) {
            if (!(distance & across)) continue;
            uint32_t source = (step->from + n - distance % across) % n;
            emit_move(emit, object, step->from, step->to, source, (source + distance) % n, 1);
        }
    } else {
        uint32_t near = kind == PW_COLLECTIVE_REDUCE_SCATTER ? step->to : step->from;
        uint32_t count = come_count(n, across, far_first), apart = come_step(across, far_first);
        for (uint32_t i = 0; i < count; i++)
            emit_move(emit, object, step->from, step->to, 0, (near + n - i * apart) % n, 1);
    }
}

/* --- bruck --------------------------------------------------------------------------------------------------------- */

bool bruck_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return shape->members > 1 && (kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_REDUCE_SCATTER ||
                                  kind == PW_COLLECTIVE_ALL_TO_ALL || kind == PW_COLLECTIVE_BARRIER);
}
uint32_t bruck_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return bits_of(shape->members);
}
void bruck_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    spread_steps(kind, shape, false, emit, object);
}
void bruck_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                  pw_collective_step_fn *emit, void *object) {
    spread_touches(kind, shape, round, member, false, emit, object);
}
uint32_t bruck_units(pw_collective_kind kind, const pw_group_shape *shape) {
    return kind == PW_COLLECTIVE_BARRIER ? 1 : shape->members;
}
void bruck_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                   pw_collective_move_fn *emit, void *object) {
    spread_carries(kind, shape, step, false, emit, object);
}

/* --- pat ----------------------------------------------------------------------------------------------------------- */

bool pat_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return shape->members > 1 && (kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_REDUCE_SCATTER);
}
uint32_t pat_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return bits_of(shape->members);
}
void pat_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    spread_steps(kind, shape, true, emit, object);
}
void pat_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                pw_collective_step_fn *emit, void *object) {
    spread_touches(kind, shape, round, member, true, emit, object);
}
uint32_t pat_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members;
}
void pat_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                 pw_collective_move_fn *emit, void *object) {
    spread_carries(kind, shape, step, true, emit, object);
}

/* --- pairwise ------------------------------------------------------------------------------------------------------ */

bool pairwise_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return is_exchange(kind) && shape->members > 1;
}
uint32_t pairwise_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members < 2 ? 0 : shape->members - 1;
}
static void pairwise_message(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t from,
                             pw_collective_step_fn *emit, void *object) {
    uint32_t to = (from + round + 1) % shape->members;
    double share = exchange_share(kind, shape, from, to);
    if (share > 0) emit_step(emit, object, round, from, to, share, 0);
}
void pairwise_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    for (uint32_t round = 0; round < pairwise_rounds(kind, shape); round++)
        for (uint32_t from = 0; from < shape->members; from++) pairwise_message(kind, shape, round, from, emit, object);
}
void pairwise_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                      pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members;
    pairwise_message(kind, shape, round, member, emit, object);
    pairwise_message(kind, shape, round, (member + n - round - 1) % n, emit, object);
}
uint32_t pairwise_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members;
}
void pairwise_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                      pw_collective_move_fn *emit, void *object) {
    (void)kind, (void)shape;
    emit_move(emit, object, step->from, step->to, step->from, step->to, 1);
}
