/* Rings. Inside one domain: one ring in the order of the members. Over several domains of p members each: p rings, and
 * ring r carries 1/p of S. In even domains ring r goes r, r+1, ..., r-1 (mod p), in odd ones back from r-1 to r, so that it
 * leaves a domain and enters the next one on the same rail, and every member's NIC carries exactly one ring's traffic. A
 * group whose domains differ in size, or whose order mixes domains, has one flat ring. broadcast and reduce are chains from
 * and to the first member; send_recv is one round of the flat ring.
 */
#include "models/collective/algorithm.h"

bool ring_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return kind != PW_COLLECTIVE_GATHER && kind != PW_COLLECTIVE_SCATTER && kind != PW_COLLECTIVE_ALL_TO_ALL_V &&
           shape->members > 1;
}

static bool is_chain(pw_collective_kind kind) {
    return kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE;
}

static uint32_t ring_count(pw_collective_kind kind, const pw_group_shape *shape) {
    return kind != PW_COLLECTIVE_SEND_RECV && shape->even && shape->domains > 1 ? shape->per_domain : 1;
}

/* Member at a position of ring r; position may be members (the first again). */
static uint32_t ring_member(const pw_group_shape *shape, uint32_t rings, uint32_t ring, uint32_t position) {
    if (position == shape->members) position = 0;
    if (rings == 1) return position;
    uint32_t p = shape->per_domain, domain = position / p, step = position % p;
    uint32_t local = domain % 2 == 0 ? (ring + step) % p : (ring + 2 * p - 1 - step) % p;
    return domain * p + local;
}

uint32_t ring_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    uint32_t n = shape->members;
    if (n < 2) return 0;
    if (is_all_reduce(kind)) return 2 * (n - 1);
    if (is_chain(kind)) return n - 2 + pieces_of(shape);
    if (kind == PW_COLLECTIVE_SEND_RECV) return 1;
    return n - 1;
}

/* Bytes over one edge of a ring in all rounds, per byte that the ring carries. */
static double ring_volume(pw_collective_kind kind, uint32_t members) {
    double n = members;
    if (n < 2) return 0;
    switch (kind) {
    case PW_COLLECTIVE_ALL_REDUCE:
    case PW_COLLECTIVE_BARRIER: return 2 * (n - 1) / n;
    case PW_COLLECTIVE_ALL_TO_ALL: return (n - 1) / 2; /* a block for a member k places on travels k edges */
    case PW_COLLECTIVE_BROADCAST:
    case PW_COLLECTIVE_REDUCE:
    case PW_COLLECTIVE_SEND_RECV: return 1;
    default: return (n - 1) / n;
    }
}

/* Of one ring in one round: what all its messages carry, and where a chain sits in it. */
typedef struct ring_round {
    uint32_t rings, ring, first, edges;
    double fraction;
    bool back;
} ring_round;

static ring_round ring_round_of(pw_collective_kind kind, const pw_group_shape *shape, uint32_t ring, uint32_t round) {
    uint32_t n = shape->members, rings = ring_count(kind, shape);
    ring_round r = {.rings = rings, .ring = ring, .edges = n, .fraction = 1.0 / n / rings, .back = kind == PW_COLLECTIVE_REDUCE};
    if (kind == PW_COLLECTIVE_ALL_TO_ALL) r.fraction = (double)(n - 1 - round) / n / rings;
    if (kind == PW_COLLECTIVE_SEND_RECV) r.fraction = 1;
    if (is_chain(kind)) {
        /* From member 0, wherever it sits in this ring, or back to it; piece c takes hop h in round h + c. */
        r.fraction = 1.0 / pieces_of(shape) / rings;
        r.first = rings == 1 ? 0 : (shape->per_domain - ring) % shape->per_domain;
        r.edges = n - 1;
    }
    return r;
}

/* The message over the edge from position first + edge to the next, if there is one in this round. */
static void ring_message(pw_collective_kind kind, const pw_group_shape *shape, const ring_round *r, uint32_t round, uint32_t edge,
                         pw_collective_step_fn *emit, void *object) {
    uint32_t hop = r->back ? r->edges - 1 - edge : edge;
    if (is_chain(kind) && (round < hop || round - hop >= pieces_of(shape))) return;
    uint32_t position = (r->first + edge) % shape->members;
    uint32_t near = ring_member(shape, r->rings, r->ring, position), far = ring_member(shape, r->rings, r->ring, position + 1);
    emit_step(emit, object, round, r->back ? far : near, r->back ? near : far, r->fraction, r->ring);
}

void ring_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t rings = ring_count(kind, shape), rounds = ring_rounds(kind, shape);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t ring = 0; ring < rings; ring++) {
            ring_round r = ring_round_of(kind, shape, ring, round);
            for (uint32_t edge = 0; edge < r.edges; edge++) ring_message(kind, shape, &r, round, edge, emit, object);
        }
}

static uint32_t ring_position(const pw_group_shape *shape, uint32_t rings, uint32_t ring, uint32_t member) {
    if (rings == 1) return member;
    uint32_t p = shape->per_domain, domain = member / p, local = member % p;
    return domain * p + (domain % 2 == 0 ? (local + p - ring) % p : (ring + 2 * p - 1 - local) % p);
}

void ring_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                  pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, rings = ring_count(kind, shape);
    for (uint32_t ring = 0; ring < rings; ring++) {
        ring_round r = ring_round_of(kind, shape, ring, round);
        uint32_t edge = (ring_position(shape, rings, ring, member) + n - r.first) % n, before = edge == 0 ? n - 1 : edge - 1;
        if (edge < r.edges) ring_message(kind, shape, &r, round, edge, emit, object);
        if (before < r.edges) ring_message(kind, shape, &r, round, before, emit, object);
    }
}

uint32_t ring_units(pw_collective_kind kind, const pw_group_shape *shape) {
    if (kind == PW_COLLECTIVE_SEND_RECV) return 1;
    return ring_count(kind, shape) * (is_chain(kind) ? pieces_of(shape) : shape->members);
}

void ring_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                  pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, ring = step->part, round = step->round;
    ring_round r = ring_round_of(kind, shape, ring, round);
    uint32_t position = ring_position(shape, r.rings, ring, step->from);
    if (kind == PW_COLLECTIVE_SEND_RECV) {
        emit_move(emit, object, step->from, step->to, step->from, 0, 1);
    } else if (is_chain(kind)) {
        uint32_t distance = (position + n - r.first) % n, hop = r.back ? n - 1 - distance : distance;
        emit_move(emit, object, step->from, step->to, 0, ring * pieces_of(shape) + round - hop, 1);
    } else if (kind == PW_COLLECTIVE_ALL_TO_ALL) {
        uint32_t source = ring_member(shape, r.rings, ring, (position + n - round) % n);
        for (uint32_t ahead = 1; ahead + round < n; ahead++) {
            uint32_t to = ring_member(shape, r.rings, ring, (position + ahead) % n);
            emit_move(emit, object, step->from, step->to, source, to * r.rings + ring, 1);
        }
    } else {
        /* The block that ends at a position starts beyond it; a block that is spread starts where it lies. */
        bool scatters = kind == PW_COLLECTIVE_REDUCE_SCATTER || (is_all_reduce(kind) && round + 1 < n);
        uint32_t back = scatters ? round + 1 : is_all_reduce(kind) ? round - (n - 1) : round;
        uint32_t block = ring_member(shape, r.rings, ring, (position + n - back) % n);
        emit_move(emit, object, step->from, step->to, 0, block * r.rings + ring, 1);
    }
}

static void ring_edge(pw_collective_kind kind, uint32_t from, uint32_t to, double fraction, pw_collective_step_fn *emit,
                      void *object) {
    if (is_chain(kind) && to == 0) return; /* the chain ends before its root */
    bool back = kind == PW_COLLECTIVE_REDUCE;
    emit_step(emit, object, 0, back ? to : from, back ? from : to, fraction, 0);
}

void ring_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, rings = ring_count(kind, shape);
    double volume = ring_volume(kind, n);
    if (n < 2) return;
    if (rings == 1) {
        for (uint32_t i = 0; i < n; i++) ring_edge(kind, i, i + 1 == n ? 0 : i + 1, volume, emit, object);
        return;
    }
    uint32_t p = shape->per_domain;
    for (uint32_t d = 0; d < shape->domains; d++) {
        bool up = d % 2 == 0, last = d + 1 == shape->domains;
        for (uint32_t local = 0; local < p; local++) {
            uint32_t next = up ? (local + 1) % p : (local + p - 1) % p; /* taken by every ring that does not leave here */
            ring_edge(kind, d * p + local, d * p + next, volume * (p - 1) / p, emit, object);
            /* Ring r leaves even domains at r-1 and odd ones at r; domain 0 is entered at r. */
            uint32_t to = last ? (up ? (local + 1) % p : local) : (d + 1) * p + local;
            ring_edge(kind, d * p + local, to, volume / p, emit, object);
        }
    }
}

algorithm_load ring_load(pw_collective_kind kind, const pw_group_shape *shape) {
    double volume = ring_volume(kind, shape->members);
    if (shape->domains == 1) return (algorithm_load){volume, 0};
    if (kind == PW_COLLECTIVE_SEND_RECV) return (algorithm_load){shape->per_domain > 1 ? volume : 0, volume};
    if (!shape->even) return (algorithm_load){volume, volume};
    double p = shape->per_domain;
    return (algorithm_load){volume * (p - 1) / p, volume / p};
}

algorithm_hops ring_hops(pw_collective_kind kind, const pw_group_shape *shape) {
    double n = shape->members, passes = is_all_reduce(kind) ? 2 : 1;
    if (n < 2) return (algorithm_hops){0, 0};
    if (kind == PW_COLLECTIVE_SEND_RECV) return shape->domains > 1 ? (algorithm_hops){0, 1} : (algorithm_hops){1, 0};
    double network = passes * (shape->domains - 1);
    return (algorithm_hops){passes * (n - 1) - network, network};
}
