/* From the ordered graph to a program per rank. All operations of a rank are issued at once, in the order of the walk; what holds
 * them up is their stream (operations of one run one after another) and the slots they wait for.
 *
 * Streams of a rank: one for each resource, one for each of its groups, one each way for each of its peers, and a few for joins.
 * Slots are given back when the last operation that waits for them has been issued, so that a long trace needs few.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/replay/trace.h"

enum { CATEGORY_COMPUTE, CATEGORY_MESSAGE, CATEGORY_COLLECTIVE, CATEGORY_COUNT };
enum { JOIN_STREAMS = 16, MOST_WAITS = 256, MOST_STREAMS = 60000, MOST_SLOTS = 32000 };

static const pw_category categories[CATEGORY_COUNT] = {[CATEGORY_COMPUTE] = {"compute", PW_BLAME_COMPUTE},
                                                       [CATEGORY_MESSAGE] = {"messages", PW_BLAME_COMMUNICATION},
                                                       [CATEGORY_COLLECTIVE] = {"collectives", PW_BLAME_COMMUNICATION}};

/* Nodes that an operation waits for: at most the last one of each stream. */
typedef struct wait_list {
    uint32_t nodes[MOST_WAITS], count;
} wait_list;

typedef struct lowering {
    trace *t;
    pw_arena *arena;
    const pw_device *device;
    const pw_replay_desc *desc;
    pw_job *job;
    uint32_t *stream;    /* [nodes] */
    uint32_t *position;  /* [nodes]: among its rank's, in order */
    uint32_t *last_use;  /* [nodes]: position of the last node that waits for it */
    int16_t *slot;       /* [nodes] */
    uint32_t *kept_first, *kept_count, *kept; /* what those wait for that wait for a node's start, or for a receive */
    size_t kept_used, kept_capacity;
    uint32_t **peers, *peer_count; /* [ranks] */
    uint32_t **groups, *group_count;
} lowering;

static void *get(lowering *low, size_t count, size_t size) { return pw_arena_alloc(low->arena, (count + 1) * size); }

static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static uint32_t unique(uint32_t *list, uint32_t count) {
    qsort(list, count, sizeof *list, compare_numbers);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!kept || list[kept - 1] != list[i]) list[kept++] = list[i];
    return kept;
}

static uint32_t place_of(const uint32_t *list, uint32_t count, uint32_t value) {
    const uint32_t *found = bsearch(&value, list, count, sizeof *list, compare_numbers);
    return (uint32_t)(found - list);
}

/* Peers and groups of a rank, in rising order. */
static pw_status find_partners(lowering *low, uint32_t rank) {
    const trace *t = low->t;
    uint32_t count = t->first[rank + 1] - t->first[rank], peers = 0, groups = 0;
    uint32_t *a = pw_alloc(t->allocator, (2 * (size_t)count + 1) * sizeof *a), *b = a + count;
    if (!a) return trace_no_memory(t);
    for (uint32_t i = t->first[rank]; i < t->first[rank + 1]; i++) {
        const trace_node *node = &t->nodes[i];
        if (node->kind == TRACE_SEND || node->kind == TRACE_RECV) a[peers++] = node->other;
        else if (node->kind == TRACE_COLLECTIVE) b[groups++] = node->other;
    }
    peers = unique(a, peers);
    groups = unique(b, groups);
    low->peers[rank] = get(low, peers, sizeof **low->peers);
    low->groups[rank] = get(low, groups, sizeof **low->groups);
    if (low->peers[rank] && low->groups[rank]) {
        memcpy(low->peers[rank], a, peers * sizeof *a);
        memcpy(low->groups[rank], b, groups * sizeof *b);
    }
    low->peer_count[rank] = peers;
    low->group_count[rank] = groups;
    pw_free(t->allocator, a, (2 * (size_t)count + 1) * sizeof *a);
    return low->peers[rank] && low->groups[rank] ? PW_OK : trace_no_memory(t);
}

static uint32_t stream_of(const lowering *low, const trace_node *node) {
    uint32_t rank = node->rank, base = JOIN_STREAMS + TRACE_RESOURCES;
    if (node->kind == TRACE_COMPUTE) return JOIN_STREAMS + node->resource;
    if (node->kind == TRACE_COLLECTIVE) return base + place_of(low->groups[rank], low->group_count[rank], node->other);
    uint32_t peer = place_of(low->peers[rank], low->peer_count[rank], node->other);
    return base + low->group_count[rank] + 2 * peer + (node->kind == TRACE_RECV);
}

/* ---- Waits ---- */

/* Adds a node; of two on one stream the later is enough. */
static pw_status wait_add(const lowering *low, wait_list *list, uint32_t node, const trace_node *for_node) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (low->stream[list->nodes[i]] != low->stream[node]) continue;
        if (low->position[node] > low->position[list->nodes[i]]) list->nodes[i] = node;
        return PW_OK;
    }
    if (list->count == MOST_WAITS)
        return trace_fail(low->t, for_node, PW_UNSUPPORTED, NULL, "rank %u: node %lld waits for more than %d streams", for_node->rank,
                          (long long)for_node->id, MOST_WAITS);
    list->nodes[list->count++] = node;
    return PW_OK;
}

/* What a node waits for itself. A need stands for the needed node's operation and, where that has none or is posted ahead
 * (a receive), for what the needed node waits for. */
static pw_status wait_list_of(const lowering *low, const trace_node *node, wait_list *list) {
    list->count = 0;
    for (uint32_t k = node->first_need; k < node->first_need + node->needs; k++) {
        uint32_t need = low->t->needs[k].node;
        const trace_node *needed = &low->t->nodes[need];
        bool start = low->t->needs[k].start;
        if (!start && needed->kind != TRACE_NOTHING) PW_TRY(wait_add(low, list, need, node));
        if (!start && needed->kind != TRACE_NOTHING && needed->kind != TRACE_RECV) continue;
        for (uint32_t i = 0; i < low->kept_count[need]; i++)
            PW_TRY(wait_add(low, list, low->kept[low->kept_first[need] + i], node));
    }
    return PW_OK;
}

static pw_status keep(lowering *low, uint32_t index, const wait_list *list) {
    if (pw_grow(low->t->allocator, (void **)&low->kept, &low->kept_capacity, low->kept_used + list->count + 1, sizeof *low->kept))
        return trace_no_memory(low->t);
    low->kept_first[index] = (uint32_t)low->kept_used;
    low->kept_count[index] = list->count;
    memcpy(low->kept + low->kept_used, list->nodes, list->count * sizeof *list->nodes);
    low->kept_used += list->count;
    return PW_OK;
}

/* ---- Operations ---- */

static double seconds_of(const lowering *low, const trace_node *node) {
    if (!isnan(node->seconds)) return node->seconds * low->desc->time_scale;
    double arithmetic = node->operations / low->device->peak_flops[low->desc->precision];
    double traffic = node->bytes / low->device->memory_Bps;
    return fmax(node->operations > 0 ? arithmetic : 0, node->bytes > 0 ? traffic : 0);
}

static void fill_op(const lowering *low, const trace_node *node, pw_op *op) {
    uint32_t rank = node->rank;
    *op = (pw_op){PW_OP_INIT};
    op->stream = (uint16_t)stream_of(low, node);
    if (node->kind == TRACE_COMPUTE) {
        op->kind = PW_OP_DELAY;
        op->category = CATEGORY_COMPUTE;
        op->delay.seconds = seconds_of(low, node);
    } else if (node->kind == TRACE_COLLECTIVE) {
        op->kind = PW_OP_COLLECTIVE;
        op->category = CATEGORY_COLLECTIVE;
        op->collective.kind = (pw_collective_kind)node->collective;
        op->collective.algorithm = PW_ALGORITHM_AUTO;
        op->collective.group_role = (uint16_t)node->other;
        op->collective.bytes = node->bytes;
    } else {
        uint32_t sender = node->kind == TRACE_SEND ? (uint32_t)(node - low->t->nodes) : node->partner;
        op->kind = node->kind == TRACE_SEND ? PW_OP_SEND : PW_OP_RECV;
        op->category = CATEGORY_MESSAGE;
        op->message.peer_role = (uint16_t)place_of(low->peers[rank], low->peer_count[rank], node->other);
        op->message.tag = low->position[sender]; /* one of its own between these two */
        op->message.bytes = node->bytes;
    }
}

typedef struct slots {
    int16_t *spare;
    uint32_t spare_count, used;
} slots;

/* PW_NO_SLOT: there are too many. */
static int16_t take_slot(slots *s) {
    if (s->spare_count) return s->spare[--s->spare_count];
    return s->used < MOST_SLOTS ? (int16_t)s->used++ : PW_NO_SLOT;
}

/* The operation waits for the list; beyond what it can name, joins take the rest together. */
static void put_waits(const lowering *low, pw_op *ops, uint32_t *count, pw_op *op, const wait_list *list, slots *s, uint32_t *join) {
    int16_t waits[MOST_WAITS];
    uint32_t left = list->count;
    for (uint32_t i = 0; i < left; i++) waits[i] = low->slot[list->nodes[i]];
    while (left > PW_OP_WAITS) {
        pw_op *made = &ops[(*count)++];
        *made = (pw_op){PW_OP_INIT};
        made->kind = PW_OP_DELAY;
        made->stream = (uint16_t)((*join)++ % JOIN_STREAMS);
        for (uint32_t i = 0; i < PW_OP_WAITS; i++) made->waits[i] = waits[--left];
        made->signal = take_slot(s);
        if (made->signal != PW_NO_SLOT) {
            waits[left++] = made->signal;
            s->spare[s->spare_count++] = made->signal; /* what waits for it is issued before it is taken again */
        }
    }
    for (uint32_t i = 0; i < left; i++) op->waits[i] = waits[i];
}

/* What every node waits for, in the order of the walk: a needed node comes before those that need it. */
static pw_status find_waits(lowering *low) {
    wait_list list;
    for (size_t i = 0; i < low->t->node_count; i++) {
        uint32_t index = low->t->order[i];
        const trace_node *node = &low->t->nodes[index];
        PW_TRY(wait_list_of(low, node, &list));
        PW_TRY(keep(low, index, &list));
        if (node->kind == TRACE_NOTHING || node->kind == TRACE_RECV) continue; /* others wait for its list in its stead */
        for (uint32_t k = 0; k < list.count; k++) {
            uint32_t *last = &low->last_use[list.nodes[k]];
            if (*last == PW_NONE || *last < low->position[index]) *last = low->position[index];
        }
    }
    return PW_OK;
}

/* Working memory of one rank. */
typedef struct rank_work {
    slots slots;
    uint32_t *ending_first, *ending_next; /* by position: whose last use it is */
    pw_op *ops;
    uint32_t made, join;
} rank_work;

static pw_status issue(lowering *low, rank_work *w, const uint32_t *order, uint32_t at) {
    const trace_node *node = &low->t->nodes[order[at]];
    uint32_t use = low->last_use[order[at]];
    pw_op op;
    if (node->kind == TRACE_NOTHING) return PW_OK;
    fill_op(low, node, &op);
    if (node->kind != TRACE_RECV) {
        wait_list list = {.count = low->kept_count[order[at]]};
        memcpy(list.nodes, low->kept + low->kept_first[order[at]], list.count * sizeof *list.nodes);
        put_waits(low, w->ops, &w->made, &op, &list, &w->slots, &w->join);
    }
    for (uint32_t k = w->ending_first[at]; k != PW_NONE; k = w->ending_next[k])
        w->slots.spare[w->slots.spare_count++] = low->slot[order[k]];
    if (use != PW_NONE) {
        op.signal = low->slot[order[at]] = take_slot(&w->slots);
        if (op.signal == PW_NO_SLOT)
            return trace_fail(low->t, node, PW_UNSUPPORTED, NULL, "rank %u: more than %d nodes are waited for at once", node->rank,
                              MOST_SLOTS);
        w->ending_next[at] = w->ending_first[use];
        w->ending_first[use] = at;
    }
    w->ops[w->made++] = op;
    return PW_OK;
}

/* order: the nodes of the rank as they are issued. */
static pw_status lower_rank(lowering *low, const uint32_t *order, uint32_t count, pw_template *template) {
    const pw_allocator *a = low->t->allocator;
    size_t joins = 0, positions = ((size_t)count + 1) * sizeof(uint32_t);
    for (uint32_t i = 0; i < count; i++) joins += low->kept_count[order[i]] / (PW_OP_WAITS - 1) + 1;
    rank_work w = {.slots = {.spare = pw_alloc(a, (MOST_SLOTS + 1) * sizeof *w.slots.spare)}, .ending_first = pw_alloc(a, positions),
                   .ending_next = pw_alloc(a, positions), .ops = get(low, count + joins, sizeof *w.ops)};
    pw_status status = w.slots.spare && w.ending_first && w.ending_next && w.ops ? PW_OK : trace_no_memory(low->t);
    for (uint32_t i = 0; status == PW_OK && i < count; i++) w.ending_first[i] = PW_NONE;
    for (uint32_t i = 0; status == PW_OK && i < count; i++) status = issue(low, &w, order, i);
    if (w.slots.used > low->job->slots) low->job->slots = (uint16_t)w.slots.used;
    pw_free(a, w.slots.spare, (MOST_SLOTS + 1) * sizeof *w.slots.spare);
    pw_free(a, w.ending_first, positions);
    pw_free(a, w.ending_next, positions);
    *template = (pw_template){"", w.ops, w.made};
    return status;
}

/* ---- The job ---- */

static pw_status add_roles(lowering *low) {
    const trace *t = low->t;
    uint32_t roles = 0;
    for (uint32_t rank = 0; rank < t->ranks; rank++) roles = low->peer_count[rank] > roles ? low->peer_count[rank] : roles;
    pw_peer_role *peers = get(low, roles, sizeof *peers);
    pw_group_role *groups = get(low, t->group_count, sizeof *groups);
    if (!peers || !groups) return trace_no_memory(t);
    for (uint32_t i = 0; i < roles; i++) {
        uint32_t *of_rank = get(low, t->ranks, sizeof *of_rank);
        if (!of_rank) return trace_no_memory(t);
        for (uint32_t rank = 0; rank < t->ranks; rank++) of_rank[rank] = i < low->peer_count[rank] ? low->peers[rank][i] : PW_NONE;
        peers[i] = (pw_peer_role){"peer", of_rank};
    }
    for (uint32_t g = 0; g < t->group_count; g++) {
        uint32_t *of_rank = get(low, t->ranks, sizeof *of_rank), *first = get(low, 2, sizeof *first);
        if (!of_rank || !first) return trace_no_memory(t);
        for (uint32_t rank = 0; rank < t->ranks; rank++) of_rank[rank] = PW_NONE;
        for (uint32_t m = 0; m < t->groups[g].count; m++) of_rank[t->groups[g].members[m]] = 0;
        first[1] = t->groups[g].count;
        groups[g] = (pw_group_role){t->groups[g].name, 1, of_rank, first, t->groups[g].members};
    }
    low->job->peer_roles = peers;
    low->job->peer_role_count = roles;
    low->job->group_roles = groups;
    low->job->group_role_count = t->group_count;
    return PW_OK;
}

static void issue_next(lowering *low, uint32_t *sorted, uint32_t *start, uint32_t index) {
    uint32_t rank = low->t->nodes[index].rank;
    low->position[index] = start[rank] - low->t->first[rank];
    sorted[start[rank]++] = index;
}

static pw_status lower_all(lowering *low, double *compute_s) {
    trace *t = low->t;
    pw_job *job = low->job;
    uint32_t *gpu = get(low, t->ranks, sizeof *gpu), *program = get(low, t->ranks, sizeof *program), most = 0;
    pw_program *programs = get(low, t->ranks, sizeof *programs);
    pw_template *templates = get(low, t->ranks, sizeof *templates);
    uint32_t *start = get(low, t->ranks + (size_t)1, sizeof *start), *sorted = get(low, t->node_count, sizeof *sorted);
    if (!gpu || !program || !programs || !templates || !start || !sorted) return trace_no_memory(t);
    for (uint32_t rank = 0; rank < t->ranks; rank++) {
        PW_TRY(find_partners(low, rank));
        uint32_t streams = JOIN_STREAMS + TRACE_RESOURCES + low->group_count[rank] + 2 * low->peer_count[rank];
        most = streams > most ? streams : most;
        start[rank] = t->first[rank];
    }
    if (most > MOST_STREAMS)
        return pw_fail(t->error, PW_UNSUPPORTED, t->files[0], 0, NULL, "a rank has more than %d partners and groups", MOST_STREAMS);
    for (size_t i = 0; i < t->node_count; i++) { /* a receive is posted in the order in which its peer sends */
        uint32_t index = t->order[i];
        if (t->nodes[index].kind == TRACE_RECV) continue;
        issue_next(low, sorted, start, index);
        if (t->nodes[index].kind == TRACE_SEND) issue_next(low, sorted, start, t->nodes[index].partner);
    }
    for (size_t i = 0; i < t->node_count; i++) {
        low->stream[i] = t->nodes[i].kind == TRACE_NOTHING ? 0 : stream_of(low, &t->nodes[i]);
        low->last_use[i] = PW_NONE;
        if (t->nodes[i].kind == TRACE_COMPUTE) compute_s[t->nodes[i].rank] += seconds_of(low, &t->nodes[i]);
    }
    PW_TRY(find_waits(low));
    for (uint32_t rank = 0; rank < t->ranks; rank++) {
        char name[32];
        uint32_t count = t->first[rank + 1] - t->first[rank];
        PW_TRY(lower_rank(low, sorted + t->first[rank], count, &templates[rank]));
        snprintf(name, sizeof name, "rank %u", rank);
        programs[rank] = (pw_program){.name = pw_arena_text(low->arena, name), .template_index = rank};
        if (!programs[rank].name) return trace_no_memory(t);
        templates[rank].name = programs[rank].name;
        gpu[rank] = program[rank] = rank;
    }
    job->gpu_of_rank = gpu;
    job->program_of_rank = program;
    job->programs = programs;
    job->templates = templates;
    job->program_count = job->template_count = job->ranks = t->ranks;
    job->streams = (uint16_t)most;
    job->slots = (uint16_t)(job->slots + 1);
    job->categories = categories;
    job->category_count = CATEGORY_COUNT;
    job->kernel_time_factor = 1;
    return add_roles(low);
}

pw_status trace_lower(trace *t, const pw_device *device, const pw_replay_desc *desc, pw_arena *arena, pw_job **job, double *compute_s) {
    lowering low = {.t = t, .arena = arena, .device = device, .desc = desc};
    size_t nodes = t->node_count;
    *job = low.job = get(&low, 1, sizeof **job);
    low.stream = get(&low, nodes, sizeof *low.stream);
    low.position = get(&low, nodes, sizeof *low.position);
    low.last_use = get(&low, nodes, sizeof *low.last_use);
    low.slot = get(&low, nodes, sizeof *low.slot);
    low.kept_first = get(&low, nodes, sizeof *low.kept_first);
    low.kept_count = get(&low, nodes, sizeof *low.kept_count);
    low.peers = get(&low, t->ranks, sizeof *low.peers);
    low.peer_count = get(&low, t->ranks, sizeof *low.peer_count);
    low.groups = get(&low, t->ranks, sizeof *low.groups);
    low.group_count = get(&low, t->ranks, sizeof *low.group_count);
    bool good = *job && low.stream && low.position && low.last_use && low.slot && low.kept_first && low.kept_count && low.peers &&
                low.peer_count && low.groups && low.group_count;
    pw_status status = good ? lower_all(&low, compute_s) : trace_no_memory(t);
    pw_free(t->allocator, low.kept, low.kept_capacity * sizeof *low.kept);
    if (status == PW_OK) low.job->name = desc->name && *desc->name ? desc->name : "replay";
    return status;
}
