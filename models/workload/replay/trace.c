#include "models/workload/replay/trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

pw_status trace_no_memory(const trace *t) { return pw_fail(t->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the trace"); }

pw_status trace_fail(const trace *t, const trace_node *node, pw_status status, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pw_fail_v(t->error, status, t->files[node->rank], node->line, hint, format, arguments);
    va_end(arguments);
    return status;
}

trace_node *trace_add(trace *t, uint32_t rank) {
    if (t->node_count >= UINT32_MAX - 1 ||
        pw_grow(t->allocator, (void **)&t->nodes, &t->node_capacity, t->node_count + 1, sizeof *t->nodes))
        return NULL;
    trace_node *node = &t->nodes[t->node_count++];
    *node = (trace_node){.seconds = NAN, .rank = rank, .first_need = (uint32_t)t->need_count, .partner = PW_NONE};
    return node;
}

bool trace_need_add(trace *t, trace_node *node, int64_t id, bool start) {
    if (t->need_count >= UINT32_MAX - 1 ||
        pw_grow(t->allocator, (void **)&t->needs, &t->need_capacity, t->need_count + 1, sizeof *t->needs))
        return false;
    t->needs[t->need_count++] = (trace_need){id, PW_NONE, start};
    node->needs++;
    return true;
}

typedef struct known_id {
    int64_t id;
    uint32_t node;
} known_id;

static int compare_ids(const void *a, const void *b) {
    const known_id *left = a, *right = b;
    if (left->id != right->id) return left->id < right->id ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

static const known_id *find_id(const known_id *ids, size_t count, int64_t id) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low < count && ids[low].id == id ? &ids[low] : NULL;
}

static pw_status resolve(trace *t, uint32_t rank, known_id *ids, size_t count) {
    for (size_t i = 0; i < count; i++) ids[i] = (known_id){t->nodes[t->first[rank] + i].id, t->first[rank] + (uint32_t)i};
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        if (ids[i].id == ids[i - 1].id)
            return trace_fail(t, &t->nodes[ids[i].node], PW_BAD_INPUT, NULL, "rank %u has two nodes %lld", rank,
                              (long long)ids[i].id);
    for (size_t i = 0; i < count; i++) {
        trace_node *node = &t->nodes[t->first[rank] + i];
        for (uint32_t k = 0; k < node->needs; k++) {
            trace_need *need = &t->needs[node->first_need + k];
            const known_id *found = find_id(ids, count, need->id);
            if (!found)
                return trace_fail(t, node, PW_BAD_INPUT, NULL, "rank %u: node %lld depends on node %lld, which is not there", rank,
                                  (long long)node->id, (long long)need->id);
            need->node = found->node;
        }
    }
    return PW_OK;
}

pw_status trace_resolve(trace *t, uint32_t rank) {
    size_t count = t->node_count - t->first[rank];
    t->first[rank + 1] = (uint32_t)t->node_count;
    known_id *ids = pw_alloc(t->allocator, (count + 1) * sizeof *ids);
    if (!ids) return trace_no_memory(t);
    pw_status status = resolve(t, rank, ids, count);
    pw_free(t->allocator, ids, (count + 1) * sizeof *ids);
    return status;
}

uint32_t trace_group_find(const trace *t, const char *name) {
    for (uint32_t i = 0; i < t->group_count; i++)
        if (strcmp(t->groups[i].name, name) == 0) return i;
    return PW_NONE;
}

pw_status trace_group_add(trace *t, const char *name, const uint32_t *members, uint32_t count, uint32_t *group) {
    if (t->group_count == t->group_capacity) { /* the old array stays in the arena */
        uint32_t grown = t->group_capacity ? 2 * t->group_capacity : 16;
        trace_group *groups = pw_arena_alloc(t->arena, grown * sizeof *groups);
        if (!groups) return trace_no_memory(t);
        if (t->group_count) memcpy(groups, t->groups, t->group_count * sizeof *groups);
        t->groups = groups;
        t->group_capacity = grown;
    }
    trace_group *made = &t->groups[t->group_count];
    *made = (trace_group){pw_arena_text(t->arena, name), pw_arena_alloc(t->arena, (count + 1) * sizeof *members), count, 0};
    if (!made->name || !made->members) return trace_no_memory(t);
    memcpy(made->members, members, count * sizeof *members);
    if (group) *group = t->group_count;
    t->group_count++;
    return PW_OK;
}
