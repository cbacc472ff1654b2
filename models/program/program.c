/* The walker: a stack of ranges over templates. A CALL pushes the callee's whole list, a LOOP pushes the range of its
 * body with a count of rounds left; nothing is ever copied or expanded, so a walk needs a frame per level of nesting. */
#include <string.h>

#include "models/program/program.h"
#include "models/program/usage.h"

typedef struct frame {
    const pw_op *ops;
    uint32_t next, begin, end; /* positions in ops */
    uint32_t rounds_left;      /* after this one */
    int64_t argument, stride;
} frame;

struct pw_walker {
    pw_allocator allocator;
    const pw_job *job;
    const pw_template *start;
    frame *frames;
    uint32_t depth, capacity;
};

static int64_t substitute(int64_t value, int64_t argument) {
    return pw_is_argument(value) ? argument + (value - PW_ARGUMENT) : value;
}

pw_walker *pw_walker_create(const pw_allocator *allocator, const pw_job *job, uint32_t program) {
    if (!allocator) allocator = pw_allocator_default();
    pw_walker *walker = pw_alloc_zero(allocator, sizeof *walker);
    if (!walker) return NULL;
    walker->allocator = *allocator;
    walker->job = job;
    walker->capacity = pw_template_depth(job, job->programs[program].template_index);
    walker->frames = pw_alloc(allocator, walker->capacity * sizeof *walker->frames);
    if (!walker->frames) {
        pw_free(allocator, walker, sizeof *walker);
        return NULL;
    }
    walker->start = &job->templates[job->programs[program].template_index];
    pw_walker_restart(walker);
    return walker;
}

void pw_walker_restart(pw_walker *walker) {
    walker->frames[0] = (frame){.ops = walker->start->ops, .end = walker->start->count};
    walker->depth = 1;
}

void pw_walker_destroy(pw_walker *walker) {
    if (!walker) return;
    pw_allocator allocator = walker->allocator;
    pw_free(&allocator, walker->frames, walker->capacity * sizeof *walker->frames);
    pw_free(&allocator, walker, sizeof *walker);
}

static void push(pw_walker *walker, frame added) {
    PW_CHECK(walker->depth < walker->capacity);
    walker->frames[walker->depth++] = added;
}

bool pw_walker_next(pw_walker *walker, pw_op *op) {
    while (walker->depth > 0) {
        frame *top = &walker->frames[walker->depth - 1];
        if (top->next == top->end) {
            if (top->rounds_left > 0) {
                top->rounds_left--;
                top->next = top->begin;
                top->argument += top->stride;
            } else {
                walker->depth--;
            }
            continue;
        }
        const pw_op *next = &top->ops[top->next++];
        switch (next->kind) {
            case PW_OP_CALL: {
                const pw_template *callee = &walker->job->templates[next->call.template_index];
                push(walker, (frame){.ops = callee->ops,
                                     .end = callee->count,
                                     .argument = substitute(next->call.argument, top->argument)});
                break;
            }
            case PW_OP_LOOP: {
                uint32_t begin = top->next, end = begin + next->loop.length;
                top->next = end;
                if (next->loop.count == 0 || next->loop.length == 0) break;
                push(walker, (frame){.ops = top->ops,
                                     .next = begin,
                                     .begin = begin,
                                     .end = end,
                                     .rounds_left = next->loop.count - 1,
                                     .argument = top->argument,
                                     .stride = next->loop.stride});
                break;
            }
            case PW_OP_SEND:
            case PW_OP_RECV:
                *op = *next;
                op->message.tag = substitute(next->message.tag, top->argument);
                return true;
            case PW_OP_QUORUM:
                *op = *next;
                op->quorum.number = substitute(next->quorum.number, top->argument);
                return true;
            default:
                *op = *next;
                return true;
        }
    }
    return false;
}
