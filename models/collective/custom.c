#include "models/collective/custom.h"

#include "models/collective/algorithm.h"
#include "models/collective/contents.h"

static const pw_custom_algorithm *custom_of(const pw_group_shape *shape) {
    return shape->options ? shape->options->custom : NULL;
}

bool custom_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    const pw_custom_algorithm *custom = custom_of(shape);
    return custom && custom->kind == kind && custom->members == shape->members;
}

uint32_t custom_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    const pw_custom_algorithm *custom = custom_of(shape);
    return custom->count ? custom->steps[custom->count - 1].round + 1 : 0;
}

void custom_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    (void)kind;
    const pw_custom_algorithm *custom = custom_of(shape);
    for (size_t i = 0; i < custom->count; i++) {
        const pw_custom_step *step = &custom->steps[i];
        emit_step(emit, object, step->round, step->from, step->to, (double)step->blocks / custom->units, (uint32_t)i);
    }
}

uint32_t custom_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return custom_of(shape)->units;
}

void custom_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                    pw_collective_move_fn *emit, void *object) {
    (void)kind;
    const pw_custom_step *given = &custom_of(shape)->steps[step->part];
    emit_move(emit, object, given->from, given->to, given->source, given->block, given->blocks);
}

static bool owns_blocks(pw_collective_kind kind) {
    return kind != PW_COLLECTIVE_ALL_REDUCE && kind != PW_COLLECTIVE_BARRIER && kind != PW_COLLECTIVE_BROADCAST &&
           kind != PW_COLLECTIVE_REDUCE && kind != PW_COLLECTIVE_SEND_RECV;
}

static const double LARGEST_PROOF = 1 << 30; /* bytes of sets of parts; an eighth of it as many blocks carried */
#define WRONG(...) pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, __VA_ARGS__)

pw_status pw_custom_check(const pw_allocator *allocator, const pw_custom_algorithm *custom, pw_error *error) {
    uint32_t n = custom->members, round = 0;
    uint64_t carried = 0;
    if (n < 2 || n > PW_CUSTOM_MEMBERS)
        return WRONG("\"%s\" is for %u ranks; 2 to %u can be checked", custom->name, n, PW_CUSTOM_MEMBERS);
    if (custom->count == 0) return WRONG("\"%s\" has no steps", custom->name);
    if (custom->units < 1 || (owns_blocks(custom->kind) && custom->units % n != 0))
        return WRONG("\"%s\" cuts %s among %u ranks into %u blocks; each rank needs as many as the next", custom->name,
                     pw_collective_names[custom->kind], n, custom->units);
    for (size_t i = 0; i < custom->count; i++) {
        const pw_custom_step *step = &custom->steps[i];
        if (step->from >= n || step->to >= n || step->source >= n || step->from == step->to)
            return WRONG("step %zu of \"%s\" goes from rank %u to rank %u of %u (ranks count from 0)", i + 1, custom->name, step->from,
                         step->to, n);
        if (step->block >= custom->units || step->blocks < 1 || step->blocks > custom->units)
            return WRONG("step %zu of \"%s\" carries %u blocks from block %u on, of %u (blocks count from 0)", i + 1, custom->name,
                         step->blocks, step->block, custom->units);
        if (step->round != round && step->round != (i == 0 ? 0 : round + 1))
            return WRONG("step %zu of \"%s\" is of round %u; rounds count from 0, in order and without gaps", i + 1, custom->name,
                         step->round);
        round = step->round;
        carried += step->blocks;
    }
    double sets = 2.0 * n * custom->units * ((n + 63) / 64) * sizeof(uint64_t);
    if (sets > LARGEST_PROOF || (double)carried > LARGEST_PROOF / 8)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "cut the buffer into fewer blocks",
                       "\"%s\" moves %.0f blocks, %u for each of %u ranks: more than can be checked", custom->name, (double)carried,
                       custom->units, n);
    pw_collective_options options = {.custom = custom};
    pw_group_shape shape = {.members = n, .domains = 1, .per_domain = n, .even = true, .options = &options};
    const pw_algorithm *row = pw_algorithm_table;
    while (row->steps != custom_steps) row++;
    pw_error proof = {0};
    pw_status status = pw_collective_prove(allocator, row, custom->kind, &shape, &proof);
    if (status == PW_BAD_INPUT)
        return WRONG("\"%s\" does not do %s: %s", custom->name, pw_collective_names[custom->kind], proof.what);
    if (status != PW_OK && error) *error = proof;
    return status;
}
