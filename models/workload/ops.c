/* Growing lists of operations: what layers, chunks and schedules are written with. */
#include <string.h>

#include "models/workload/lower.h"

void *list_add(lowering *low, list *to, size_t size) {
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity ? 2 * to->capacity : 16;
        void *items = capacity > to->capacity ? pw_arena_alloc(low->arena, capacity * size) : NULL;
        if (!items) {
            low->out_of_memory = true;
            if (to->capacity) return to->items; /* nothing is kept of such a job */
            return &low->spare;
        }
        if (to->count) memcpy(items, to->items, to->count * size);
        to->items = items;
        to->capacity = capacity;
    }
    void *item = (char *)to->items + to->count++ * size;
    memset(item, 0, size);
    return item;
}

pw_op *op_add(lowering *low, list *ops, pw_op_kind kind, uint16_t stream, uint32_t category) {
    pw_op *op = list_add(low, ops, sizeof *op);
    *op = (pw_op){.kind = kind, .stream = stream, .category = category, PW_OP_INIT};
    return op;
}

void compute_add(lowering *low, list *ops, uint32_t segment, int16_t wait, uint32_t category) {
    if (segment == PW_NONE) return;
    pw_op *op = op_add(low, ops, PW_OP_COMPUTE, STREAM_COMPUTE, category);
    op->compute.segment = segment;
    op->waits[0] = wait;
    op->signal = SLOT_COMPUTE;
}

void collective_add(lowering *low, list *ops, pw_collective_kind kind, enum group group, double bytes, uint32_t category,
                    uint16_t stream, int16_t wait, int16_t signal) {
    pw_op *op = op_add(low, ops, PW_OP_COLLECTIVE, stream, category);
    op->collective.kind = kind;
    op->collective.algorithm = PW_ALGORITHM_AUTO;
    op->collective.group_role = group;
    op->collective.bytes = bytes;
    op->waits[0] = wait;
    op->signal = signal;
}

uint32_t template_add(lowering *low, const char *name, const list *ops) {
    *(pw_template *)list_add(low, &low->templates, sizeof(pw_template)) =
        (pw_template){.name = name, .ops = ops->items, .count = ops->count};
    return low->templates.count - 1;
}

void call_add(lowering *low, list *ops, uint32_t template_index, int64_t times) {
    if (times <= 0) return;
    if (times > 1) {
        pw_op *loop = op_add(low, ops, PW_OP_LOOP, 0, 0);
        loop->loop.count = (uint32_t)times;
        loop->loop.length = 1;
    }
    op_add(low, ops, PW_OP_CALL, 0, 0)->call.template_index = template_index;
}
