/* Exchanges at doubling distances (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", 2005). halving_doubling: halves of S go to the member at half the distance, so that each ends with the
 * sum of its own block; the same way back gathers them. recursive_doubling: all of S at once, log2 n times.
 *
 * n = p + q members, p the largest power of two: the last q fold in, member p + i with member i, before and after. Between, a
 * block of member i stands for that of p + i too.
 */
#include "models/collective/algorithm.h"

static uint32_t power_below(uint32_t n) {
    uint32_t p = 1;
    while (2 * p <= n) p *= 2;
    return p;
}

static uint32_t log2_of(uint32_t power) {
    uint32_t bits = 0;
    while (power > 1) power /= 2, bits++;
    return bits;
}

typedef enum phase { FOLD, HALVE, DOUBLE, UNFOLD } phase;

/* What happens in a round, and at which distance. */
typedef struct doubling_round {
    phase phase;
    uint32_t distance;
} doubling_round;

static bool halves(pw_collective_kind kind) { return kind != PW_COLLECTIVE_ALL_GATHER; }
static bool doubles(pw_collective_kind kind) { return kind != PW_COLLECTIVE_REDUCE_SCATTER; }

static uint32_t halving_rounds(pw_collective_kind kind, uint32_t n) {
    uint32_t p = power_below(n), folds = n > p ? 2 : 0;
    return folds + log2_of(p) * ((halves(kind) ? 1 : 0) + (doubles(kind) ? 1 : 0));
}

static doubling_round halving_round(pw_collective_kind kind, uint32_t n, uint32_t round) {
    uint32_t p = power_below(n), bits = log2_of(p);
    if (n > p && round == 0) return (doubling_round){FOLD, p};
    if (n > p && round + 1 == halving_rounds(kind, n)) return (doubling_round){UNFOLD, p};
    uint32_t at = round - (n > p ? 1 : 0);
    if (halves(kind) && at < bits) return (doubling_round){HALVE, p >> (at + 1)};
    return (doubling_round){DOUBLE, 1u << (halves(kind) ? at - bits : at)};
}

/* Blocks first to first + count - 1 of the p, and those of folded members that they stand for. */
typedef struct run {
    uint32_t first, count, more;
} run;

static run halving_run(pw_collective_kind kind, uint32_t n, doubling_round r, uint32_t from, uint32_t to) {
    uint32_t q = n - power_below(n), kept = r.phase == HALVE ? to : from;
    run made = {kept & ~(r.distance - 1), r.distance, 0};
    if (!is_all_reduce(kind) && made.first < q)
        made.more = (made.first + made.count < q ? made.first + made.count : q) - made.first;
    return made;
}

bool halving_doubling_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return shape->members > 1 &&
           (is_all_reduce(kind) || kind == PW_COLLECTIVE_REDUCE_SCATTER || kind == PW_COLLECTIVE_ALL_GATHER);
}

uint32_t halving_doubling_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    return shape->members < 2 ? 0 : halving_rounds(kind, shape->members);
}

uint32_t halving_doubling_units(pw_collective_kind kind, const pw_group_shape *shape) {
    return is_all_reduce(kind) ? power_below(shape->members) : shape->members;
}

/* What member m (of a fold: m of the p) sends in a round. */
static void halving_message(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, doubling_round r, uint32_t m,
                            pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n);
    if (r.phase == FOLD) {
        emit_step(emit, object, round, p + m, m, kind == PW_COLLECTIVE_ALL_GATHER ? 1.0 / n : 1, 0);
    } else if (r.phase == UNFOLD) {
        double back = is_all_reduce(kind) ? 1 : kind == PW_COLLECTIVE_ALL_GATHER ? (n - 1.0) / n : 1.0 / n;
        emit_step(emit, object, round, m, p + m, back, 0);
    } else {
        run sent = halving_run(kind, n, r, m, m ^ r.distance);
        emit_step(emit, object, round, m, m ^ r.distance, (double)(sent.count + sent.more) / halving_doubling_units(kind, shape), 0);
    }
}

void halving_doubling_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n);
    for (uint32_t round = 0; round < halving_rounds(kind, n); round++) {
        doubling_round r = halving_round(kind, n, round);
        for (uint32_t m = 0; m < (r.phase == HALVE || r.phase == DOUBLE ? p : n - p); m++)
            halving_message(kind, shape, round, r, m, emit, object);
    }
}

void halving_doubling_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                              pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n);
    doubling_round r = halving_round(kind, n, round);
    if (r.phase == FOLD || r.phase == UNFOLD) {
        uint32_t m = member < p ? member : member - p;
        if (m < n - p) halving_message(kind, shape, round, r, m, emit, object);
    } else if (member < p) {
        halving_message(kind, shape, round, r, member, emit, object);
        halving_message(kind, shape, round, r, member ^ r.distance, emit, object);
    }
}

void halving_doubling_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                              pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n), from = step->from, to = step->to;
    doubling_round r = halving_round(kind, n, step->round);
    if (r.phase == HALVE || r.phase == DOUBLE) {
        run sent = halving_run(kind, n, r, from, to);
        emit_move(emit, object, from, to, 0, sent.first, sent.count);
        if (sent.more > 0) emit_move(emit, object, from, to, 0, sent.first + p, sent.more);
    } else if (is_all_reduce(kind)) {
        emit_move(emit, object, from, to, 0, 0, p);
    } else if (kind == PW_COLLECTIVE_REDUCE_SCATTER) {
        emit_move(emit, object, from, to, 0, r.phase == FOLD ? 0 : to, r.phase == FOLD ? n : 1);
    } else {
        /* What the folded member gathered last is its own block, which lies in none of the others. */
        emit_move(emit, object, from, to, 0, r.phase == FOLD ? from : to + 1, r.phase == FOLD ? 1 : n - 1);
    }
}

/* --- recursive_doubling ------------------------------------------------------------------------------------------- */

bool recursive_doubling_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return is_all_reduce(kind) && shape->members > 1;
}

uint32_t recursive_doubling_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    uint32_t n = shape->members, p = power_below(n);
    return n < 2 ? 0 : log2_of(p) + (n > p ? 2 : 0);
}

/* The messages of member m of the p, or of the pair that folds it. */
static void doubling_message(uint32_t n, uint32_t round, uint32_t rounds, uint32_t m, pw_collective_step_fn *emit, void *object) {
    uint32_t p = power_below(n);
    bool folds = n > p;
    if (folds && round == 0) emit_step(emit, object, round, p + m, m, 1, 0);
    else if (folds && round + 1 == rounds) emit_step(emit, object, round, m, p + m, 1, 0);
    else emit_step(emit, object, round, m, m ^ (1u << (round - folds)), 1, 0);
}

void recursive_doubling_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n), rounds = recursive_doubling_rounds(kind, shape);
    for (uint32_t round = 0; round < rounds; round++) {
        bool folding = n > p && (round == 0 || round + 1 == rounds);
        for (uint32_t m = 0; m < (folding ? n - p : p); m++) doubling_message(n, round, rounds, m, emit, object);
    }
}

void recursive_doubling_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                                pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = power_below(n), rounds = recursive_doubling_rounds(kind, shape);
    if (n > p && (round == 0 || round + 1 == rounds)) {
        uint32_t m = member < p ? member : member - p;
        if (m < n - p) doubling_message(n, round, rounds, m, emit, object);
    } else if (member < p) {
        doubling_message(n, round, rounds, member, emit, object);
        doubling_message(n, round, rounds, member ^ (1u << (round - (n > p))), emit, object);
    }
}

uint32_t recursive_doubling_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind, (void)shape;
    return 1;
}

void recursive_doubling_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                                pw_collective_move_fn *emit, void *object) {
    (void)kind, (void)shape;
    emit_move(emit, object, step->from, step->to, 0, 0, 1);
}
