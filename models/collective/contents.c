#include "models/collective/contents.h"

#include <math.h>
#include <string.h>

#include "models/collective/algorithm.h"

/* Rows: the members, then as many for what switches hold. A set of members is `words` words. */
typedef struct contents {
    const pw_allocator *allocator;
    const pw_algorithm *algorithm;
    pw_collective_kind kind;
    const pw_group_shape *shape;
    uint32_t members, units, words, round;
    uint64_t *held;
    struct change { uint32_t row, unit; } *changes; /* of this round, not made yet */
    uint64_t *parts;                                /* [changes x words] */
    size_t count, capacity, part_capacity;
    const pw_collective_step *step;
    uint32_t carried; /* blocks of the step between its own two members */
    bool through;     /* a switch takes part, so that its blocks are not its bytes */
    pw_status status;
    pw_error *error;
} contents;

static uint64_t *set_of(const contents *c, uint32_t row, uint32_t unit) {
    return c->held + ((size_t)row * c->units + unit) * c->words;
}
static void put(uint64_t *set, uint32_t member) { set[member / 64] |= UINT64_C(1) << (member % 64); }
static bool has(const uint64_t *set, uint32_t member) { return set[member / 64] >> (member % 64) & 1; }

static uint32_t lowest(const contents *c, const uint64_t *set) {
    uint32_t member = 0;
    while (member < c->members && !has(set, member)) member++;
    return member;
}

#define WRONG(...)                                                                          \
    (void)(c->status = c->status != PW_OK ? c->status : pw_fail(c->error, PW_BAD_INPUT, NULL, 0, NULL, __VA_ARGS__))

static bool is_sum(pw_collective_kind kind) {
    return kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_REDUCE_SCATTER;
}

/* --- Beginning and end --------------------------------------------------------------------------------------------- */

static uint32_t owner(const contents *c, uint32_t unit) { return (uint32_t)((uint64_t)unit * c->members / c->units); }

static bool starts_with(const contents *c, uint32_t member, uint32_t unit) {
    switch (c->kind) {
    case PW_COLLECTIVE_BROADCAST:
    case PW_COLLECTIVE_SCATTER: return member == 0;
    case PW_COLLECTIVE_ALL_GATHER:
    case PW_COLLECTIVE_GATHER: return owner(c, unit) == member;
    default: return true;
    }
}

/* Whether member `of` has to have a part in what `member` holds of a block in the end. */
static bool promised(const contents *c, uint32_t member, uint32_t unit, uint32_t of) {
    switch (c->kind) {
    case PW_COLLECTIVE_ALL_REDUCE:
    case PW_COLLECTIVE_BARRIER: return true;
    case PW_COLLECTIVE_BROADCAST: return of == 0;
    case PW_COLLECTIVE_SCATTER: return of == 0 && owner(c, unit) == member;
    case PW_COLLECTIVE_REDUCE: return member == 0;
    case PW_COLLECTIVE_GATHER: return member == 0 && owner(c, unit) == of;
    case PW_COLLECTIVE_ALL_GATHER: return owner(c, unit) == of;
    case PW_COLLECTIVE_SEND_RECV: return (of + 1) % c->members == member;
    default: return owner(c, unit) == member; /* reduce_scatter, all_to_all */
    }
}

static void check_end(contents *c) {
    for (uint32_t member = 0; member < c->members && c->status == PW_OK; member++)
        for (uint32_t unit = 0; unit < c->units && c->status == PW_OK; unit++)
            for (uint32_t of = 0; of < c->members; of++) {
                if (!promised(c, member, unit, of) || has(set_of(c, member, unit), of)) continue;
                if (is_sum(c->kind) || c->kind == PW_COLLECTIVE_BARRIER)
                    WRONG("rank %u ends without rank %u's part of block %u of %u", member, of, unit, c->units);
                else if (is_exchange(c->kind) || c->kind == PW_COLLECTIVE_SEND_RECV)
                    WRONG("rank %u ends without block %u of %u from rank %u", member, unit, c->units, of);
                else WRONG("rank %u ends without block %u of %u", member, unit, c->units);
                break;
            }
}

/* --- Steps --------------------------------------------------------------------------------------------------------- */

static void hand_over(contents *c, uint32_t row, uint32_t unit, const uint64_t *parts) {
    uint64_t *set = set_of(c, row, unit);
    bool apart = true, whole = true;
    for (uint32_t w = 0; w < c->words; w++) {
        if (set[w] & parts[w]) apart = false;
        if (set[w] & ~parts[w]) whole = false;
    }
    if (is_sum(c->kind) && !apart && !whole) {
        uint32_t twice = 0;
        while (!has(set, twice) || !has(parts, twice)) twice++;
        WRONG("round %u: block %u of %u at rank %u would count rank %u twice", c->round, unit, c->units, row, twice);
        return;
    }
    for (uint32_t w = 0; w < c->words; w++) set[w] |= parts[w];
}

static void end_round(contents *c) {
    for (size_t i = 0; i < c->count && c->status == PW_OK; i++)
        hand_over(c, c->changes[i].row, c->changes[i].unit, c->parts + i * c->words);
    c->count = 0;
}

static void take_move(void *object, const pw_collective_move *move) {
    contents *c = object;
    bool own = move->from == c->step->from && move->to == c->step->to;
    if (own) c->carried += move->count;
    else c->through = true;
    for (uint32_t i = 0; i < move->count && c->status == PW_OK; i++) {
        uint32_t unit = (move->first + i) % c->units;
        const uint64_t *from = set_of(c, move->from, unit);
        bool exchange = is_exchange(c->kind) || c->kind == PW_COLLECTIVE_SEND_RECV;
        bool there = exchange ? has(from, move->source) : lowest(c, from) < c->members;
        if (!there) {
            if (exchange)
                WRONG("round %u: rank %u sends block %u of %u from rank %u to rank %u and does not hold it", c->round, move->from,
                      unit, c->units, move->source, move->to);
            else
                WRONG("round %u: rank %u sends block %u of %u to rank %u and does not hold it", c->round, move->from, unit,
                      c->units, move->to);
            return;
        }
        if (pw_grow(c->allocator, (void **)&c->changes, &c->capacity, c->count + 1, sizeof *c->changes) ||
            pw_grow(c->allocator, (void **)&c->parts, &c->part_capacity, (c->count + 1) * c->words, sizeof *c->parts)) {
            c->status = pw_fail(c->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the contents of a collective");
            return;
        }
        uint64_t *parts = c->parts + c->count * c->words;
        memcpy(parts, set_of(c, move->from, unit), c->words * sizeof *parts);
        if (exchange) {
            memset(parts, 0, c->words * sizeof *parts);
            put(parts, move->source);
        }
        c->changes[c->count++] = (struct change){move->to, unit};
    }
}

static void take_step(void *object, const pw_collective_step *step) {
    contents *c = object;
    if (c->status != PW_OK) return;
    if (step->round != c->round) end_round(c);
    c->round = step->round;
    c->step = step;
    c->carried = 0;
    c->through = false;
    c->algorithm->carries(c->kind, c->shape, step, take_move, c);
    if (c->status != PW_OK || c->through || c->kind == PW_COLLECTIVE_ALL_TO_ALL_V) return;
    if (fabs((double)c->carried / c->units - step->fraction) > 1e-12)
        WRONG("round %u: rank %u sends rank %u %.9g of S in %u blocks of %u", c->round, step->from, step->to, step->fraction,
              c->carried, c->units);
}

pw_status pw_collective_prove(const pw_allocator *allocator, const pw_algorithm *algorithm, pw_collective_kind kind,
                              const pw_group_shape *shape, pw_error *error) {
    contents c = {.allocator = allocator ? allocator : pw_allocator_default(), .algorithm = algorithm, .kind = kind,
                  .shape = shape, .members = shape->members, .error = error};
    if (c.members < 2) return PW_OK;
    c.units = algorithm->units(kind, shape);
    c.words = (c.members + 63) / 64;
    size_t size = 2 * (size_t)c.members * c.units * c.words * sizeof *c.held;
    c.held = pw_alloc_zero(c.allocator, size);
    if (!c.held) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the contents of a collective");
    for (uint32_t member = 0; member < c.members; member++)
        for (uint32_t unit = 0; unit < c.units; unit++)
            if (starts_with(&c, member, unit)) put(set_of(&c, member, unit), member);
    algorithm->steps(kind, shape, take_step, &c);
    if (c.status == PW_OK) end_round(&c);
    if (c.status == PW_OK) check_end(&c);
    pw_free(c.allocator, c.held, size);
    pw_free(c.allocator, c.changes, c.capacity * sizeof *c.changes);
    pw_free(c.allocator, c.parts, c.part_capacity * sizeof *c.parts);
    return c.status;
}
