/* Reads the templates that a program reaches, each once, and lists the distinct collectives, messages and copies. */
#include <stdlib.h>
#include <string.h>

#include "models/program/usage.h"

/* Depth of nested loops within ops[begin, end) plus, at the deepest calls, that of the callee. */
static uint32_t range_depth(const pw_job *job, const pw_op *ops, uint32_t begin, uint32_t end) {
    uint32_t deepest = 1;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t depth = 0;
        if (ops[i].kind == PW_OP_CALL) depth = 1 + pw_template_depth(job, ops[i].call.template_index);
        if (ops[i].kind == PW_OP_LOOP) {
            depth = 1 + range_depth(job, ops, i + 1, i + 1 + ops[i].loop.length);
            i += ops[i].loop.length;
        }
        if (depth > deepest) deepest = depth;
    }
    return deepest;
}

uint32_t pw_template_depth(const pw_job *job, uint32_t template_index) {
    return range_depth(job, job->templates[template_index].ops, 0, job->templates[template_index].count);
}

typedef struct scan {
    const pw_allocator *allocator;
    pw_collective_use *collectives;
    size_t collective_count, collective_capacity;
    pw_message_use *messages;
    size_t message_count, message_capacity;
    uint32_t *stack; /* templates to read; seen[t]: already put there */
    bool *seen;
    uint32_t depth;
    bool copies[2];
    uint8_t *stores; /* of the program being read */
    bool *quorums;
} scan;

static int compare_collectives(const void *left, const void *right) {
    const pw_collective_use *a = left, *b = right;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->algorithm != b->algorithm) return a->algorithm < b->algorithm ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int compare_messages(const void *left, const void *right) {
    const pw_message_use *a = left, *b = right;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    if (a->send != b->send) return a->send < b->send ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static size_t unique(void *items, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    if (count == 0) return 0;
    qsort(items, count, size, compare);
    char *bytes = items;
    size_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        if (compare(bytes + (kept - 1) * size, bytes + i * size) == 0) continue;
        if (kept != i) memcpy(bytes + kept * size, bytes + i * size, size);
        kept++;
    }
    return kept;
}

static int read_op(scan *s, const pw_op *op) {
    switch (op->kind) {
        case PW_OP_CALL:
            if (!s->seen[op->call.template_index]) {
                s->seen[op->call.template_index] = true;
                s->stack[s->depth++] = op->call.template_index;
            }
            return 0;
        case PW_OP_COLLECTIVE:
            if (pw_grow(s->allocator, (void **)&s->collectives, &s->collective_capacity, s->collective_count + 1,
                        sizeof *s->collectives))
                return -1;
            memset(&s->collectives[s->collective_count], 0, sizeof *s->collectives);
            s->collectives[s->collective_count++] = (pw_collective_use){.role = op->collective.group_role,
                                                                        .kind = op->collective.kind,
                                                                        .algorithm = op->collective.algorithm,
                                                                        .bytes = op->collective.bytes};
            return 0;
        case PW_OP_SEND:
        case PW_OP_RECV:
            if (pw_grow(s->allocator, (void **)&s->messages, &s->message_capacity, s->message_count + 1,
                        sizeof *s->messages))
                return -1;
            s->messages[s->message_count++] = (pw_message_use){
                .role = op->message.peer_role, .send = op->kind == PW_OP_SEND, .bytes = op->message.bytes};
            return 0;
        case PW_OP_COPY: s->copies[op->copy.to_host] = true; return 0;
        case PW_OP_IO: s->stores[op->io.store] |= op->io.write ? PW_STORE_WRITE : PW_STORE_READ; return 0;
        case PW_OP_QUORUM: s->quorums[op->quorum.group_role] = true; return 0;
        default: return 0;
    }
}

static pw_status scan_program(scan *s, pw_arena *arena, const pw_job *job, uint32_t program, pw_usage *usage,
                              pw_error *error) {
    s->stores = pw_arena_alloc(arena, job->store_count + 1);
    s->quorums = pw_arena_alloc(arena, job->group_role_count + 1);
    if (!s->stores || !s->quorums)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to read program \"%s\"", job->programs[program].name);
    usage->stores = s->stores;
    usage->quorums = s->quorums;
    if (job->programs[program].source) {
        if (job->programs[program].only_io) {
            memset(s->stores, PW_STORE_READ | PW_STORE_WRITE, job->store_count);
            memset(s->quorums, true, job->group_role_count);
        }
        return PW_OK;
    }
    s->collective_count = s->message_count = 0;
    s->copies[0] = s->copies[1] = false;
    memset(s->seen, 0, job->template_count * sizeof *s->seen);
    s->depth = 0;
    s->seen[job->programs[program].template_index] = true;
    s->stack[s->depth++] = job->programs[program].template_index;
    while (s->depth > 0) {
        const pw_template *from = &job->templates[s->stack[--s->depth]];
        for (uint32_t i = 0; i < from->count; i++)
            if (read_op(s, &from->ops[i]))
                return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to read program \"%s\"",
                               job->programs[program].name);
    }
    s->collective_count = unique(s->collectives, s->collective_count, sizeof *s->collectives, compare_collectives);
    s->message_count = unique(s->messages, s->message_count, sizeof *s->messages, compare_messages);
    pw_collective_use *collectives = pw_arena_alloc(arena, (s->collective_count + 1) * sizeof *collectives);
    pw_message_use *messages = pw_arena_alloc(arena, (s->message_count + 1) * sizeof *messages);
    if (!collectives || !messages)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to read program \"%s\"",
                       job->programs[program].name);
    if (s->collective_count) memcpy(collectives, s->collectives, s->collective_count * sizeof *collectives);
    if (s->message_count) memcpy(messages, s->messages, s->message_count * sizeof *messages);
    *usage = (pw_usage){.collectives = collectives,
                        .collective_count = (uint32_t)s->collective_count,
                        .messages = messages,
                        .message_count = (uint32_t)s->message_count,
                        .copies = {s->copies[0], s->copies[1]},
                        .stores = s->stores,
                        .quorums = s->quorums};
    return PW_OK;
}

pw_status pw_usage_scan(pw_arena *arena, const pw_allocator *allocator, const pw_job *job, pw_usage **usage,
                        pw_error *error) {
    scan s = {.allocator = allocator};
    pw_status status = PW_OK;
    *usage = pw_arena_alloc(arena, (job->program_count + 1) * sizeof **usage);
    s.stack = pw_alloc(allocator, (job->template_count + 1) * sizeof *s.stack);
    s.seen = pw_alloc(allocator, (job->template_count + 1) * sizeof *s.seen);
    if (!*usage || !s.stack || !s.seen)
        status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to read the programs of \"%s\"", job->name);
    for (uint32_t p = 0; p < job->program_count && status == PW_OK; p++)
        status = scan_program(&s, arena, job, p, &(*usage)[p], error);
    pw_free(allocator, s.stack, (job->template_count + 1) * sizeof *s.stack);
    pw_free(allocator, s.seen, (job->template_count + 1) * sizeof *s.seen);
    pw_free(allocator, s.collectives, s.collective_capacity * sizeof *s.collectives);
    pw_free(allocator, s.messages, s.message_capacity * sizeof *s.messages);
    return status;
}
