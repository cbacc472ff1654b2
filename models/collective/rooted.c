/* From and to one member, the first. binomial: the members that hold (or have passed on) their part double each round; a
 * scatter halves what goes on. chain: pieces along all members in order. scatter_allgather (R. van de Geijn): a broadcast
 * that gives each its block first and lets them share.
 */
#include "models/collective/algorithm.h"

static uint32_t bits_of(uint32_t n) {
    uint32_t bits = 0;
    while ((UINT64_C(1) << bits) < n) bits++;
    return bits;
}

static bool to_root(pw_collective_kind kind) { return kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_GATHER; }
static bool in_blocks(pw_collective_kind kind) { return kind == PW_COLLECTIVE_SCATTER || kind == PW_COLLECTIVE_GATHER; }

/* --- binomial ------------------------------------------------------------------------------------------------------ */

bool binomial_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return shape->members > 1 && (kind == PW_COLLECTIVE_BROADCAST || to_root(kind) || in_blocks(kind));
}

uint32_t binomial_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return bits_of(shape->members);
}

/* Blocks below a member that is reached over a bridge. */
static uint32_t below(uint32_t n, uint32_t member, uint32_t across) {
    return member + across < n ? across : n - member;
}

static void binomial_round(pw_collective_kind kind, uint32_t n, uint32_t round, uint32_t across, pw_collective_step_fn *emit,
                           void *object) {
    bool blocks = in_blocks(kind), back = to_root(kind);
    for (uint32_t m = 0; m + across < n && (blocks || m < across); m += blocks ? 2 * across : 1) {
        double fraction = blocks ? (double)below(n, m + across, across) / n : 1;
        emit_step(emit, object, round, back ? m + across : m, back ? m : m + across, fraction, 0);
    }
}

static uint32_t binomial_bridge(pw_collective_kind kind, uint32_t n, uint32_t round) {
    return 1u << (in_blocks(kind) != to_root(kind) ? bits_of(n) - 1 - round : round);
}

void binomial_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members;
    for (uint32_t round = 0; round < bits_of(n); round++)
        binomial_round(kind, n, round, binomial_bridge(kind, n, round), emit, object);
}

uint32_t binomial_units(pw_collective_kind kind, const pw_group_shape *shape) {
    return in_blocks(kind) ? shape->members : 1;
}

void binomial_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                      pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, far = to_root(kind) ? step->from : step->to;
    if (in_blocks(kind))
        emit_move(emit, object, step->from, step->to, 0, far, below(n, far, binomial_bridge(kind, n, step->round)));
    else emit_move(emit, object, step->from, step->to, 0, 0, 1);
}

/* --- chain --------------------------------------------------------------------------------------------------------- */

bool chain_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return shape->members > 1 && (kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE);
}

uint32_t chain_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members < 2 ? 0 : shape->members - 2 + pieces_of(shape);
}

/* Piece c takes hop h in round h + c. */
static void chain_message(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t hop,
                          pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, pieces = pieces_of(shape);
    bool back = kind == PW_COLLECTIVE_REDUCE;
    if (hop + 1 >= n || round < hop || round - hop >= pieces) return;
    emit_step(emit, object, round, back ? n - 1 - hop : hop, back ? n - 2 - hop : hop + 1, 1.0 / pieces, hop);
}

void chain_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, pieces = pieces_of(shape);
    for (uint32_t round = 0; round < chain_rounds(kind, shape); round++)
        for (uint32_t hop = round + 1 > pieces ? round + 1 - pieces : 0; hop <= round && hop + 1 < n; hop++)
            chain_message(kind, shape, round, hop, emit, object);
}

void chain_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                   pw_collective_step_fn *emit, void *object) {
    uint32_t place = kind == PW_COLLECTIVE_REDUCE ? shape->members - 1 - member : member;
    chain_message(kind, shape, round, place, emit, object);
    if (place > 0) chain_message(kind, shape, round, place - 1, emit, object);
}

uint32_t chain_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return pieces_of(shape);
}

void chain_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                   pw_collective_move_fn *emit, void *object) {
    (void)kind, (void)shape;
    emit_move(emit, object, step->from, step->to, 0, step->round - step->part, 1);
}

/* --- scatter_allgather --------------------------------------------------------------------------------------------- */

bool scatter_allgather_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return kind == PW_COLLECTIVE_BROADCAST && shape->members > 1;
}

uint32_t scatter_allgather_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members < 2 ? 0 : bits_of(shape->members) + shape->members - 1;
}

void scatter_allgather_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, bits = bits_of(n);
    for (uint32_t round = 0; round < bits; round++)
        binomial_round(PW_COLLECTIVE_SCATTER, n, round, 1u << (bits - 1 - round), emit, object);
    for (uint32_t round = bits; round < scatter_allgather_rounds(kind, shape); round++)
        for (uint32_t m = 0; m < n; m++) emit_step(emit, object, round, m, m + 1 < n ? m + 1 : 0, 1.0 / n, 0);
}

uint32_t scatter_allgather_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members;
}

void scatter_allgather_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                               pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, bits = bits_of(n);
    (void)kind;
    if (step->round < bits)
        emit_move(emit, object, step->from, step->to, 0, step->to, below(n, step->to, 1u << (bits - 1 - step->round)));
    else emit_move(emit, object, step->from, step->to, 0, (step->from + n - (step->round - bits)) % n, 1);
}
