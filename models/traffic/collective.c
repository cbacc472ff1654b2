/* A collective's messages as flows. Waiting for every message of all earlier rounds of both ends is the same as waiting for
 * those of each end's last round before, since that round waited for the ones before it. */
#include "models/traffic/traffic.h"

typedef struct member {
    uint32_t round;        /* of its newest messages; PW_NONE: none yet */
    uint32_t newest, last; /* first of the list of messages in that round, and in the round before (entries) */
} member;

typedef struct entry {
    uint32_t flow, next;
} entry;

typedef struct collector {
    const pw_allocator *allocator;
    pw_flow *flows;
    size_t count, flow_capacity;
    member *members;
    entry *entries; /* two per flow: of its sender and of its receiver */
    size_t entry_count, entry_capacity;
    uint32_t *before; /* [count + 1] */
    size_t before_capacity;
    uint32_t *list;
    size_t list_count, list_capacity;
    double bytes;
    bool failed;
} collector;

static void enter(collector *c, member *m, uint32_t round, uint32_t flow) {
    if (m->round != round) {
        m->last = m->newest;
        m->newest = PW_NONE;
        m->round = round;
    }
    c->entries[c->entry_count] = (entry){flow, m->newest};
    m->newest = (uint32_t)c->entry_count++;
}

/* What a member's messages of `round` wait for. */
static uint32_t waits_of(const member *m, uint32_t round) { return m->round == round ? m->last : m->newest; }

static bool wait_for(collector *c, uint32_t first) {
    for (uint32_t at = first; at != PW_NONE; at = c->entries[at].next) {
        uint32_t flow = c->entries[at].flow;
        bool known = false; /* a message between the two ends is on both lists */
        for (size_t i = c->before[c->count]; i < c->list_count && !known; i++) known = c->list[i] == flow;
        if (known) continue;
        if (pw_grow(c->allocator, (void **)&c->list, &c->list_capacity, c->list_count + 1, sizeof *c->list)) return false;
        c->list[c->list_count++] = flow;
    }
    return true;
}

static void collect(void *object, const pw_collective_step *step) {
    collector *c = object;
    double bytes = step->fraction * c->bytes;
    if (c->failed || !(bytes > 0)) return;
    member *from = &c->members[step->from], *to = &c->members[step->to];
    c->failed = c->count >= PW_NONE / 4 ||
                pw_grow(c->allocator, (void **)&c->flows, &c->flow_capacity, c->count + 1, sizeof *c->flows) ||
                pw_grow(c->allocator, (void **)&c->before, &c->before_capacity, c->count + 2, sizeof *c->before) ||
                pw_grow(c->allocator, (void **)&c->entries, &c->entry_capacity, c->entry_count + 2, sizeof *c->entries);
    if (c->failed) return;
    c->before[c->count] = (uint32_t)c->list_count;
    c->failed = !wait_for(c, waits_of(from, step->round)) || !wait_for(c, waits_of(to, step->round));
    if (c->failed) return;
    enter(c, from, step->round, (uint32_t)c->count);
    enter(c, to, step->round, (uint32_t)c->count);
    c->flows[c->count++] = (pw_flow){step->from, step->to, bytes, 0};
    c->before[c->count] = (uint32_t)c->list_count;
}

static void *keep(pw_arena *arena, const void *memory, size_t bytes) {
    char *kept = pw_arena_alloc(arena, bytes + 1);
    for (size_t i = 0; kept && i < bytes; i++) kept[i] = ((const char *)memory)[i];
    return kept;
}

pw_status pw_traffic_of_collective(const pw_algorithm *algorithm, pw_collective_kind kind, const pw_group_shape *shape, double bytes,
                                   pw_arena *arena, pw_traffic *traffic, pw_error *error) {
    *traffic = (pw_traffic){0};
    const pw_allocator *allocator = pw_allocator_default();
    collector c = {.allocator = allocator, .bytes = bytes};
    c.members = pw_alloc(allocator, shape->members * sizeof *c.members);
    for (uint32_t m = 0; c.members && m < shape->members; m++) c.members[m] = (member){PW_NONE, PW_NONE, PW_NONE};
    c.failed = !c.members || pw_grow(allocator, (void **)&c.before, &c.before_capacity, 1, sizeof *c.before);
    if (!c.failed) {
        c.before[0] = 0;
        algorithm->steps(kind, shape, collect, &c);
    }
    if (!c.failed) {
        traffic->count = (uint32_t)c.count;
        traffic->flows = keep(arena, c.flows, c.count * sizeof *c.flows);
        traffic->before = keep(arena, c.before, (c.count + 1) * sizeof *c.before);
        traffic->before_list = keep(arena, c.list, c.list_count * sizeof *c.list);
        for (size_t f = 0; f < c.count; f++) traffic->bytes += c.flows[f].bytes;
    }
    bool failed = c.failed || !traffic->flows || !traffic->before || !traffic->before_list;
    pw_free(allocator, c.members, shape->members * sizeof *c.members);
    pw_free(allocator, c.flows, c.flow_capacity * sizeof *c.flows);
    pw_free(allocator, c.before, c.before_capacity * sizeof *c.before);
    pw_free(allocator, c.entries, c.entry_capacity * sizeof *c.entries);
    pw_free(allocator, c.list, c.list_capacity * sizeof *c.list);
    if (failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of a collective");
    return PW_OK;
}

void pw_traffic_turn(const pw_traffic *traffic, uint32_t *after, uint32_t *after_list) {
    for (uint32_t e = 0; e < traffic->before[traffic->count]; e++) after[traffic->before_list[e] + 2]++;
    for (uint32_t f = 0; f < traffic->count; f++) after[f + 2] += after[f + 1]; /* after[f + 1]: where f's list begins */
    for (uint32_t f = 0; f < traffic->count; f++)
        for (uint32_t e = traffic->before[f]; e < traffic->before[f + 1]; e++) after_list[after[traffic->before_list[e] + 1]++] = f;
}
