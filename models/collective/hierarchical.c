/* One dimension after another. Member m has the coordinates c_0, c_1, ... with m = c_0 + n_0 (c_1 + n_1 (c_2 + ...)). A
 * ring along dimension 0 scatters sums of 1/n_0 of S, one along dimension 1 scatters those further, and so on; all_gather goes
 * the same way back. all_to_all hands every block to where its coordinate is right, one dimension after another. Dimensions
 * are the domains (members of one domain, then domains) unless they are given, as for a torus.
 *
 * sharp: rings inside the domains and, between them, switches that sum what comes up and send the sum down (SHARP).
 */
#include "models/collective/algorithm.h"

typedef struct dimensions {
    uint32_t count, extent[PW_COLLECTIVE_DIMENSIONS];
} dimensions;

static dimensions dimensions_of(const pw_group_shape *shape) {
    dimensions d = {0};
    const pw_collective_options *options = shape->options;
    if (options && options->dimensions) {
        for (uint32_t i = 0; i < options->dimensions; i++)
            if (options->extents[i] > 1) d.extent[d.count++] = options->extents[i];
    } else if (shape->even) {
        if (shape->per_domain > 1) d.extent[d.count++] = shape->per_domain;
        if (shape->domains > 1) d.extent[d.count++] = shape->domains;
    }
    return d;
}

static bool fill(const dimensions *d, uint32_t members) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < d->count; i++) product *= d->extent[i];
    return product == members;
}

bool hierarchical_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    dimensions d = dimensions_of(shape);
    bool given = shape->options && shape->options->dimensions;
    return (is_all_reduce(kind) || kind == PW_COLLECTIVE_REDUCE_SCATTER || kind == PW_COLLECTIVE_ALL_GATHER ||
            kind == PW_COLLECTIVE_ALL_TO_ALL) &&
           shape->members > 1 && d.count >= (given ? 1 : 2) && fill(&d, shape->members);
}

/* Where a round lies: its dimension, how many rounds that one has had, and members of all smaller dimensions together. */
typedef struct stage {
    bool gathers;
    uint32_t dimension, extent, at, inner;
} stage;

static uint32_t sweep_rounds(const dimensions *d) {
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < d->count; i++) rounds += d->extent[i] - 1;
    return rounds;
}

static stage stage_of(pw_collective_kind kind, const dimensions *d, uint32_t round) {
    uint32_t sweep = sweep_rounds(d);
    stage s = {.gathers = kind == PW_COLLECTIVE_ALL_GATHER || (is_all_reduce(kind) && round >= sweep), .at = round, .inner = 1};
    if (is_all_reduce(kind) && s.gathers) s.at -= sweep;
    s.dimension = s.gathers ? d->count - 1 : 0;
    while (s.at >= d->extent[s.dimension] - 1) {
        s.at -= d->extent[s.dimension] - 1;
        s.gathers ? s.dimension-- : s.dimension++;
    }
    s.extent = d->extent[s.dimension];
    for (uint32_t i = 0; i < s.dimension; i++) s.inner *= d->extent[i];
    return s;
}

/* The member `ahead` places on along the stage's dimension. */
static uint32_t along(const stage *s, uint32_t member, uint32_t ahead) {
    uint32_t c = member / s->inner % s->extent;
    return member - c * s->inner + (c + ahead) % s->extent * s->inner;
}

uint32_t hierarchical_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    dimensions d = dimensions_of(shape);
    return sweep_rounds(&d) * (is_all_reduce(kind) ? 2 : 1);
}

static double stage_share(pw_collective_kind kind, const stage *s) {
    return 1.0 / s->extent / (kind == PW_COLLECTIVE_ALL_TO_ALL ? 1 : s->inner);
}
static uint32_t stage_distance(pw_collective_kind kind, const stage *s) { return kind == PW_COLLECTIVE_ALL_TO_ALL ? s->at + 1 : 1; }

void hierarchical_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    dimensions d = dimensions_of(shape);
    uint32_t rounds = hierarchical_rounds(kind, shape);
    for (uint32_t round = 0; round < rounds; round++) {
        stage s = stage_of(kind, &d, round);
        for (uint32_t m = 0; m < shape->members; m++)
            emit_step(emit, object, round, m, along(&s, m, stage_distance(kind, &s)), stage_share(kind, &s), 0);
    }
}

void hierarchical_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                          pw_collective_step_fn *emit, void *object) {
    dimensions d = dimensions_of(shape);
    stage s = stage_of(kind, &d, round);
    uint32_t ahead = stage_distance(kind, &s);
    emit_step(emit, object, round, member, along(&s, member, ahead), stage_share(kind, &s), 0);
    emit_step(emit, object, round, along(&s, member, s.extent - ahead), member, stage_share(kind, &s), 0);
}

uint32_t hierarchical_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members;
}

void hierarchical_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                          pw_collective_move_fn *emit, void *object) {
    dimensions d = dimensions_of(shape);
    stage s = stage_of(kind, &d, step->round);
    uint32_t n = shape->members, outer = s.inner * s.extent;
    if (kind == PW_COLLECTIVE_ALL_TO_ALL) {
        /* In hand: buffers of those that differ in smaller dimensions, blocks for those that do not. */
        for (uint32_t source = step->from - step->from % s.inner, i = 0; i < s.inner; i++)
            for (uint32_t to = step->to % outer; to < n; to += outer) emit_move(emit, object, step->from, step->to, source + i, to, 1);
        return;
    }
    /* The block that ends at a place starts beyond it; a block that is spread starts where it lies. */
    uint32_t behind = s.extent - (s.gathers ? s.at : s.at + 1);
    for (uint32_t block = along(&s, step->from, behind) % outer; block < n; block += outer)
        emit_move(emit, object, step->from, step->to, 0, block, 1);
}

/* --- sharp --------------------------------------------------------------------------------------------------------- */

bool sharp_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return is_all_reduce(kind) && shape->network_reduces && shape->even && shape->domains > 1;
}

/* A ring in each domain, up, down, and the ring again. */
uint32_t sharp_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return 2 * (shape->per_domain - 1) + 2;
}

/* Up and down are half of a port's load each: a message to the same member of the next domain stands for what one port
 * sends and another gets. */
void sharp_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t n = shape->members, p = shape->per_domain;
    for (uint32_t round = 0; round < sharp_rounds(kind, shape); round++) {
        bool network = round == p - 1 || round == p;
        for (uint32_t m = 0; m < n; m++) {
            uint32_t next = network ? (m + p) % n : m - m % p + (m % p + 1) % p;
            emit_step(emit, object, round, m, next, network ? 0.5 / p : 1.0 / p, 0);
        }
    }
}

uint32_t sharp_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->per_domain;
}

void sharp_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                   pw_collective_move_fn *emit, void *object) {
    uint32_t n = shape->members, p = shape->per_domain, round = step->round, rail = step->from % p;
    (void)kind;
    if (round == p - 1) {
        emit_move(emit, object, step->from, n + rail, 0, rail, 1);
    } else if (round == p) {
        emit_move(emit, object, n + rail, step->to, 0, rail, 1);
    } else {
        uint32_t behind = round < p - 1 ? round + 1 : round - (p + 1);
        emit_move(emit, object, step->from, step->to, 0, (rail + 2 * p - behind) % p, 1);
    }
}
