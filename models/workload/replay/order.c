/* Messages and collectives meet, then one walk over the graph of all ranks: always the node that can start earliest, on a network
 * without delay. The walk gives the order in which computations of a rank follow each other, and finds what waits for ever:
 * since every edge of the order leads forwards, lists of operations in that order cannot lock up when they run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/replay/trace.h"

/* ---- Meeting ---- */

/* Ends of messages from one rank to another with one tag meet in the order of the file. */
static uint32_t sender_of(const trace_node *node) { return node->kind == TRACE_SEND ? node->rank : node->other; }
static uint32_t receiver_of(const trace_node *node) { return node->kind == TRACE_SEND ? node->other : node->rank; }

static int compare_ends(const trace *t, uint32_t a, uint32_t b, bool whole) {
    const trace_node *left = &t->nodes[a], *right = &t->nodes[b];
    const int64_t keys[][2] = {{sender_of(left), sender_of(right)}, {receiver_of(left), receiver_of(right)}, {left->tag, right->tag},
                               {left->kind, right->kind}, {a, b}};
    for (size_t i = 0; i < (whole ? 5 : 3); i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void sift_down(const trace *t, uint32_t *list, size_t at, size_t count) { /* of a heap with the largest on top */
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && compare_ends(t, list[child], list[child + 1], true) < 0) child++;
        if (compare_ends(t, list[at], list[child], true) >= 0) return;
        uint32_t kept = list[at];
        list[at] = list[child];
        list[child] = kept;
        at = child;
    }
}

static void sort_ends(const trace *t, uint32_t *list, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sift_down(t, list, i, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t kept = list[0];
        list[0] = list[end];
        list[end] = kept;
        sift_down(t, list, 0, end);
    }
}

static pw_status alone(const trace *t, uint32_t index) {
    const trace_node *node = &t->nodes[index];
    bool sends = node->kind == TRACE_SEND;
    return trace_fail(t, node, PW_DEADLOCK, "the other rank has fewer messages with this tag",
                      "deadlock: rank %u waits for ever in node %lld, a %s rank %u with tag %lld that meets no %s", node->rank,
                      (long long)node->id, sends ? "send to" : "receive from", node->other, (long long)node->tag,
                      sends ? "receive" : "send");
}

/* list: ends of messages; each run with equal keys holds its sends, then its receives. */
static pw_status pair(trace *t, const uint32_t *list, size_t count) {
    for (size_t begin = 0, end; begin < count; begin = end) {
        size_t sends = 0;
        for (end = begin; end < count && compare_ends(t, list[begin], list[end], false) == 0; end++)
            sends += t->nodes[list[end]].kind == TRACE_SEND;
        size_t receives = end - begin - sends;
        if (sends != receives) return alone(t, list[sends > receives ? begin + receives : begin + 2 * sends]);
        for (size_t i = 0; i < sends; i++) {
            uint32_t from = list[begin + i], to = list[begin + sends + i];
            if (t->nodes[from].bytes != t->nodes[to].bytes)
                return trace_fail(t, &t->nodes[to], PW_BAD_INPUT, NULL,
                                  "rank %u: node %lld receives %.0f bytes, but node %lld of rank %u sends %.0f", t->nodes[to].rank,
                                  (long long)t->nodes[to].id, t->nodes[to].bytes, (long long)t->nodes[from].id, t->nodes[from].rank,
                                  t->nodes[from].bytes);
            t->nodes[from].partner = to;
            t->nodes[to].partner = from;
        }
    }
    return PW_OK;
}

static pw_status pair_messages(trace *t) {
    size_t count = 0;
    for (size_t i = 0; i < t->node_count; i++) count += t->nodes[i].kind == TRACE_SEND || t->nodes[i].kind == TRACE_RECV;
    uint32_t *list = pw_alloc(t->allocator, (count + 1) * sizeof *list);
    if (!list) return trace_no_memory(t);
    size_t used = 0;
    for (size_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].kind == TRACE_SEND || t->nodes[i].kind == TRACE_RECV) list[used++] = (uint32_t)i;
    sort_ends(t, list, count);
    pw_status status = pair(t, list, count);
    pw_free(t->allocator, list, (count + 1) * sizeof *list);
    return status;
}

/* The k-th collective of a group on each member is one meeting; nodes: that of each member. */
typedef struct meetings {
    size_t *offset;  /* [groups + 1]: first meeting of a group */
    size_t *base;    /* [groups]: first of its nodes; meeting k of a group of n members has n from base + k n on */
    uint32_t *nodes; /* PW_NONE: not there */
    uint32_t *arrived;
    double *time;
    size_t meeting_count, node_count;
} meetings;

static uint32_t place_in(const trace_group *group, uint32_t rank) {
    for (uint32_t m = 0; m < group->count; m++)
        if (group->members[m] == rank) return m;
    return PW_NONE;
}

/* counts, places: scratch [groups]. */
static pw_status number_collectives(trace *t, uint32_t rank, uint32_t *counts) {
    memset(counts, 0, t->group_count * sizeof *counts);
    for (uint32_t i = t->first[rank]; i < t->first[rank + 1]; i++) {
        trace_node *node = &t->nodes[i];
        if (node->kind != TRACE_COLLECTIVE) continue;
        if (!counts[node->other] && place_in(&t->groups[node->other], rank) == PW_NONE)
            return trace_fail(t, node, PW_BAD_INPUT, NULL, "rank %u: node %lld is a collective of group '%s', which rank %u is not in",
                              rank, (long long)node->id, t->groups[node->other].name, rank);
        node->partner = counts[node->other]++;
    }
    for (uint32_t g = 0; g < t->group_count; g++) {
        trace_group *group = &t->groups[g];
        uint32_t first = group->count ? group->members[0] : 0;
        for (uint32_t m = 1; m < group->count; m++) first = group->members[m] < first ? group->members[m] : first;
        if (rank == first) group->collectives = counts[g];
        else if (counts[g] != group->collectives && place_in(group, rank) != PW_NONE)
            return pw_fail(t->error, PW_DEADLOCK, t->files[rank], 0, "every member takes part in every collective of its group",
                           "deadlock: rank %u takes part in %u collectives of group '%s', rank %u in %u", rank, counts[g], group->name,
                           first, group->collectives);
    }
    return PW_OK;
}

static pw_status check_alike(const trace *t, const trace_node *node, const trace_node *known) {
    if (known->collective == node->collective && known->bytes == node->bytes) return PW_OK;
    return trace_fail(t, node, PW_BAD_INPUT, NULL,
                      "collective %u of group '%s' is %s of %.0f bytes in node %lld of rank %u, %s of %.0f bytes in node %lld of rank %u",
                      node->partner + 1, t->groups[node->other].name, pw_collective_names[node->collective], node->bytes,
                      (long long)node->id, node->rank, pw_collective_names[known->collective], known->bytes, (long long)known->id,
                      known->rank);
}

static pw_status meet_rank(trace *t, meetings *m, uint32_t rank, uint32_t *places) {
    for (uint32_t g = 0; g < t->group_count; g++) places[g] = place_in(&t->groups[g], rank);
    for (uint32_t i = t->first[rank]; i < t->first[rank + 1]; i++) {
        const trace_node *node = &t->nodes[i];
        if (node->kind != TRACE_COLLECTIVE) continue;
        uint32_t *nodes = &m->nodes[m->base[node->other] + (size_t)node->partner * t->groups[node->other].count];
        nodes[places[node->other]] = i;
        for (uint32_t k = 0; k < t->groups[node->other].count; k++)
            if (nodes[k] != PW_NONE && nodes[k] != i) {
                PW_TRY(check_alike(t, node, &t->nodes[nodes[k]]));
                break;
            }
    }
    return PW_OK;
}

static void free_meetings(const trace *t, meetings *m) {
    pw_free(t->allocator, m->offset, (t->group_count + 1) * sizeof *m->offset);
    pw_free(t->allocator, m->base, (t->group_count + 1) * sizeof *m->base);
    pw_free(t->allocator, m->nodes, (m->node_count + 1) * sizeof *m->nodes);
    pw_free(t->allocator, m->arrived, (m->meeting_count + 1) * sizeof *m->arrived);
    pw_free(t->allocator, m->time, (m->meeting_count + 1) * sizeof *m->time);
}

static pw_status meet(trace *t, meetings *m, uint32_t *scratch) {
    for (uint32_t rank = 0; rank < t->ranks; rank++) PW_TRY(number_collectives(t, rank, scratch));
    m->offset = pw_alloc_zero(t->allocator, (t->group_count + 1) * sizeof *m->offset);
    m->base = pw_alloc_zero(t->allocator, (t->group_count + 1) * sizeof *m->base);
    if (!m->offset || !m->base) return trace_no_memory(t);
    for (uint32_t g = 0; g < t->group_count; g++) {
        m->offset[g] = m->meeting_count;
        m->base[g] = m->node_count;
        m->meeting_count += t->groups[g].collectives;
        m->node_count += (size_t)t->groups[g].collectives * t->groups[g].count;
    }
    m->nodes = pw_alloc(t->allocator, (m->node_count + 1) * sizeof *m->nodes);
    m->arrived = pw_alloc_zero(t->allocator, (m->meeting_count + 1) * sizeof *m->arrived);
    m->time = pw_alloc_zero(t->allocator, (m->meeting_count + 1) * sizeof *m->time);
    if (!m->nodes || !m->arrived || !m->time) return trace_no_memory(t);
    memset(m->nodes, 0xff, (m->node_count + 1) * sizeof *m->nodes); /* PW_NONE */
    for (uint32_t rank = 0; rank < t->ranks; rank++) PW_TRY(meet_rank(t, m, rank, scratch));
    return PW_OK;
}

/* ---- Order ---- */

typedef struct walk {
    trace *t;
    meetings *meetings;
    uint32_t *needs_open; /* [nodes]: needs that still hold it up */
    bool *done;           /* [nodes] */
    uint32_t *first_user; /* [nodes]: first need that names it */
    uint32_t *next_user, *owner; /* [needs]: the next one; whose need it is */
    double *ready;        /* [nodes] */
    double *busy;         /* [ranks x TRACE_RESOURCES]: until when */
    uint32_t *heap;
    size_t heap_count, done_count;
} walk;

static bool before(const walk *w, uint32_t a, uint32_t b) {
    if (w->ready[a] != w->ready[b]) return w->ready[a] < w->ready[b];
    return a < b; /* the order of ranks, then of the file */
}

static void push(walk *w, uint32_t node) {
    size_t at = w->heap_count++;
    for (; at && before(w, node, w->heap[(at - 1) / 2]); at = (at - 1) / 2) w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = node;
}

static uint32_t pop(walk *w) {
    uint32_t top = w->heap[0], last = w->heap[--w->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->heap_count) break;
        if (child + 1 < w->heap_count && before(w, w->heap[child + 1], w->heap[child])) child++;
        if (!before(w, w->heap[child], last)) break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return top;
}

/* Nothing that it needs holds the node up any more: it starts, but for a receive whose message has still to be sent. */
static bool is_startable(const walk *w, uint32_t node) {
    return w->needs_open[node] == 0 && (w->t->nodes[node].kind != TRACE_RECV || w->done[w->t->nodes[node].partner]);
}

static void raise_ready(walk *w, uint32_t node, double time) {
    if (time > w->ready[node]) w->ready[node] = time;
}

/* The users that wait for the node's start (or for its end). Depth: a chain of receives that wait for starts, cut by the list. */
static void tell_users(walk *w, uint32_t node, bool start, double time) {
    for (uint32_t k = w->first_user[node]; k != PW_NONE; k = w->next_user[k]) {
        uint32_t user = w->owner[k];
        if (w->t->needs[k].start != start) continue;
        raise_ready(w, user, time);
        if (--w->needs_open[user] == 0) push(w, user);
    }
}

static void finish(walk *w, uint32_t node, double time) {
    trace *t = w->t;
    t->order[w->done_count++] = node;
    w->done[node] = true;
    tell_users(w, node, false, time);
    if (t->nodes[node].kind != TRACE_SEND) return;
    uint32_t partner = t->nodes[node].partner;
    raise_ready(w, partner, time);
    if (w->needs_open[partner] == 0) push(w, partner);
}

static void visit_collective(walk *w, uint32_t index) {
    const trace_node *node = &w->t->nodes[index];
    const trace_group *group = &w->t->groups[node->other];
    size_t meeting = w->meetings->offset[node->other] + node->partner;
    double *time = &w->meetings->time[meeting];
    if (w->ready[index] > *time) *time = w->ready[index];
    if (++w->meetings->arrived[meeting] < group->count) return;
    const uint32_t *nodes = &w->meetings->nodes[w->meetings->base[node->other] + (size_t)node->partner * group->count];
    for (uint32_t m = 0; m < group->count; m++) finish(w, nodes[m], *time);
}

/* A receive comes here twice: when its needs are met (its users of its start go on), and when its message is sent. */
static void visit(walk *w, uint32_t index, bool *started) {
    trace *t = w->t;
    const trace_node *node = &t->nodes[index];
    if (!started[index]) {
        started[index] = true;
        tell_users(w, index, true, w->ready[index]);
    }
    if (w->done[index] || !is_startable(w, index)) return;
    double start = w->ready[index];
    if (node->kind == TRACE_COMPUTE) {
        double *busy = &w->busy[(size_t)node->rank * TRACE_RESOURCES + node->resource];
        if (*busy > start) start = *busy;
        *busy = start + (isnan(node->seconds) ? 0 : node->seconds);
        finish(w, index, *busy);
    } else if (node->kind == TRACE_COLLECTIVE) visit_collective(w, index);
    else finish(w, index, start);
}

/* What an unfinished node waits for; PW_NONE: nothing that is known. */
static uint32_t waits_for(const walk *w, uint32_t at) {
    const trace_node *node = &w->t->nodes[at];
    for (uint32_t k = 0; k < node->needs; k++) {
        uint32_t need = w->t->needs[node->first_need + k].node;
        if (!w->done[need]) return need;
    }
    if (node->kind == TRACE_RECV && !w->done[node->partner]) return node->partner;
    if (node->kind != TRACE_COLLECTIVE) return PW_NONE;
    const trace_group *group = &w->t->groups[node->other];
    const uint32_t *nodes = &w->meetings->nodes[w->meetings->base[node->other] + (size_t)node->partner * group->count];
    for (uint32_t m = 0; m < group->count; m++)
        if (w->needs_open[nodes[m]] > 0) return nodes[m];
    return PW_NONE;
}

static pw_status describe_cycle(const walk *w) {
    const trace *t = w->t;
    uint32_t at = 0;
    while (w->done[at]) at++;
    for (size_t i = 0; i < t->node_count && waits_for(w, at) != PW_NONE; i++) at = waits_for(w, at); /* into the cycle */
    uint32_t first = at;
    char text[500] = "";
    size_t used = 0;
    for (int step = 0; step < 8 && used < sizeof text; step++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%srank %u node %lld", step ? " waits for " : "", t->nodes[at].rank,
                                 (long long)t->nodes[at].id);
        if ((step && at == first) || waits_for(w, at) == PW_NONE) break;
        at = waits_for(w, at);
    }
    return trace_fail(t, &t->nodes[first], PW_DEADLOCK, "dependencies, messages and collectives must not lead back to where they start",
                      "deadlock: %s", text);
}

static pw_status run_walk(walk *w, bool *started) {
    trace *t = w->t;
    for (size_t i = 0; i < t->node_count; i++) w->first_user[i] = PW_NONE;
    for (uint32_t i = 0; i < t->node_count; i++) {
        const trace_node *node = &t->nodes[i];
        w->needs_open[i] = node->needs;
        for (uint32_t k = node->first_need; k < node->first_need + node->needs; k++) {
            w->owner[k] = i;
            w->next_user[k] = w->first_user[t->needs[k].node];
            w->first_user[t->needs[k].node] = k;
        }
    }
    for (uint32_t i = 0; i < t->node_count; i++)
        if (!w->needs_open[i]) push(w, i);
    while (w->heap_count) visit(w, pop(w), started);
    return w->done_count == t->node_count ? PW_OK : describe_cycle(w);
}

static pw_status walk_graph(trace *t, meetings *m) {
    size_t nodes = t->node_count + 1, needs = t->need_count + 1, resources = (size_t)t->ranks * TRACE_RESOURCES;
    const pw_allocator *a = t->allocator;
    walk w = {.t = t, .meetings = m, .needs_open = pw_alloc_zero(a, nodes * sizeof *w.needs_open), .done = pw_alloc_zero(a, nodes),
              .first_user = pw_alloc(a, nodes * sizeof *w.first_user), .next_user = pw_alloc(a, needs * sizeof *w.next_user),
              .owner = pw_alloc(a, needs * sizeof *w.owner), .ready = pw_alloc_zero(a, nodes * sizeof *w.ready),
              .busy = pw_alloc_zero(a, resources * sizeof *w.busy), .heap = pw_alloc(a, 2 * nodes * sizeof *w.heap)};
    bool *started = pw_alloc_zero(a, nodes);
    bool good = w.needs_open && w.done && w.first_user && w.next_user && w.owner && w.ready && w.busy && w.heap && started;
    pw_status status = good ? run_walk(&w, started) : trace_no_memory(t);
    pw_free(a, w.needs_open, nodes * sizeof *w.needs_open);
    pw_free(a, w.done, nodes);
    pw_free(a, w.first_user, nodes * sizeof *w.first_user);
    pw_free(a, w.next_user, needs * sizeof *w.next_user);
    pw_free(a, w.owner, needs * sizeof *w.owner);
    pw_free(a, w.ready, nodes * sizeof *w.ready);
    pw_free(a, w.busy, resources * sizeof *w.busy);
    pw_free(a, w.heap, 2 * nodes * sizeof *w.heap);
    pw_free(a, started, nodes);
    return status;
}

pw_status trace_order(trace *t) {
    meetings m = {0};
    PW_TRY(pair_messages(t));
    t->order = pw_alloc(t->allocator, (t->node_count + 1) * sizeof *t->order);
    uint32_t *scratch = pw_alloc(t->allocator, (t->group_count + 1) * sizeof *scratch);
    pw_status status = t->order && scratch ? meet(t, &m, scratch) : trace_no_memory(t);
    if (status == PW_OK) status = walk_graph(t, &m);
    pw_free(t->allocator, scratch, (t->group_count + 1) * sizeof *scratch);
    free_meetings(t, &m);
    return status;
}
