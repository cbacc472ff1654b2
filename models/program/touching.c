/* All messages of an algorithm in order of round, and for each member the numbers of its own; a cursor per member goes through
 * them. 32 bytes per message. */
#include <string.h>

#include "models/program/touching.h"

struct touching {
    const pw_allocator *allocator;
    uint32_t members;
    pw_collective_step *steps;
    size_t count, capacity;
    uint32_t *own;            /* [2 x count]: by member */
    size_t *cursor, *end;     /* [members]: in own */
    bool failed;
};

static void collect(void *object, const pw_collective_step *step) {
    touching *t = object;
    if (t->failed || t->count >= UINT32_MAX / 2 ||
        pw_grow(t->allocator, (void **)&t->steps, &t->capacity, t->count + 1, sizeof *t->steps)) {
        t->failed = true;
        return;
    }
    t->steps[t->count++] = *step;
}

void touching_destroy(touching *t) {
    if (!t) return;
    const pw_allocator *a = t->allocator;
    pw_free(a, t->steps, t->capacity * sizeof *t->steps);
    pw_free(a, t->own, (2 * t->count + 1) * sizeof *t->own);
    pw_free(a, t->cursor, t->members * sizeof *t->cursor);
    pw_free(a, t->end, t->members * sizeof *t->end);
    pw_free(a, t, sizeof *t);
}

pw_status touching_create(const pw_allocator *allocator, const pw_algorithm *algorithm, pw_collective_kind kind,
                          const pw_group_shape *shape, touching **made, pw_error *error) {
    touching *t = *made = pw_alloc_zero(allocator, sizeof *t);
    if (!t) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of a collective");
    t->allocator = allocator;
    t->members = shape->members;
    algorithm->steps(kind, shape, collect, t);
    t->own = pw_alloc(allocator, (2 * t->count + 1) * sizeof *t->own);
    t->cursor = pw_alloc_zero(allocator, t->members * sizeof *t->cursor);
    t->end = pw_alloc_zero(allocator, t->members * sizeof *t->end);
    if (t->failed || !t->own || !t->cursor || !t->end)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of a collective");
    for (size_t s = 0; s < t->count; s++) {
        PW_CHECK(s == 0 || t->steps[s].round >= t->steps[s - 1].round);
        t->end[t->steps[s].from]++;
        t->end[t->steps[s].to]++;
    }
    size_t sum = 0;
    for (uint32_t m = 0; m < t->members; m++) {
        size_t own = t->end[m];
        t->cursor[m] = t->end[m] = sum;
        sum += own;
    }
    for (size_t s = 0; s < t->count; s++) {
        t->own[t->end[t->steps[s].from]++] = (uint32_t)s;
        t->own[t->end[t->steps[s].to]++] = (uint32_t)s;
    }
    return PW_OK;
}

void touching_of(touching *t, uint32_t round, uint32_t member, pw_collective_step_fn *emit, void *object) {
    while (t->cursor[member] < t->end[member] && t->steps[t->own[t->cursor[member]]].round < round) t->cursor[member]++;
    for (size_t at = t->cursor[member]; at < t->end[member] && t->steps[t->own[at]].round == round; at++) {
        pw_collective_step step = t->steps[t->own[at]];
        emit(object, &step);
    }
}
