/* Routes of a part with dead links. A pair of ports keeps the topology's own path where that is alive. Where it is dead the flow is
 * drawn again among the pair's own paths: what a switch cannot send over a link it divides among its others. A pair with no own path
 * left goes around each dead link, over one shortest path between its ends that is the same for all (as fast reroute does it: link
 * protection, RFC 4090), and around a dead switch over a shortest path to its destination. So what a dead link carried stays together,
 * living links carry no less than before, and one path never becomes several. A detour may go back where the flow came from. */
#include <string.h>

#include "models/fabric/table_internal.h"

enum { REDRAWS = 64, MOST_WAYS = 4096, NODE_HOPS = 24 };

/* --- Ways around links ------------------------------------------------------------------------------------------------ */

struct link_detours {
    uint32_t *first; /* [link_count + 1]: into links; a link without a detour has none there */
    pw_link *links;
    size_t count, capacity;
};

void detours_destroy(network_part *part) {
    link_detours *around = part->around;
    if (!around) return;
    if (around->first) pw_free(part->allocator, around->first, (part->link_count + (size_t)1) * sizeof *around->first);
    if (around->links) pw_free(part->allocator, around->links, around->capacity * sizeof *around->links);
    pw_free(part->allocator, around, sizeof *around);
    part->around = NULL;
}

/* Breadth first over the living trunks from one switch to another; via: the link by which each was reached. Appends the way. */
static bool append_way(const network_part *part, link_detours *around, uint32_t from, uint32_t to, pw_link *via, uint32_t *queue) {
    const path_table *t = part->detours;
    uint32_t head = 0, tail = 0, length = 0;
    for (uint32_t v = 0; v < t->switches; v++) via[v] = PW_NONE;
    queue[tail++] = from;
    while (head < tail && via[to] == PW_NONE) {
        uint32_t at = queue[head++];
        for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) {
            if (t->to[i] == from || via[t->to[i]] != PW_NONE) continue;
            via[t->to[i]] = t->out[i];
            queue[tail++] = t->to[i];
        }
    }
    if (via[to] == PW_NONE) return true;
    for (uint32_t at = to; at != from; at = pw_fabric_link(part->fabric, via[at])->from - part->first_vertex) length++;
    if (pw_grow(part->allocator, (void **)&around->links, &around->capacity, around->count + length, sizeof *around->links)) return false;
    around->count += length;
    uint32_t place = (uint32_t)around->count;
    for (uint32_t at = to; at != from; at = pw_fabric_link(part->fabric, via[at])->from - part->first_vertex)
        around->links[--place] = via[at];
    return true;
}

pw_status detours_create(network_part *part, pw_error *error) {
    PW_TRY(table_create(part, part->dead, &part->detours, error));
    link_detours *around = part->around = pw_alloc_zero(part->allocator, sizeof *around);
    if (!around) return part_no_memory(error);
    size_t switches = part->switch_count;
    around->first = pw_alloc_zero(part->allocator, (part->link_count + (size_t)1) * sizeof *around->first);
    uint32_t *scratch = pw_alloc(part->allocator, (2 * switches + 1) * sizeof *scratch);
    bool good = around->first && scratch;
    for (uint32_t l = 0; good && l < part->link_count; l++) {
        const pw_link_info *link = pw_fabric_link(part->fabric, part->first_link + l);
        if (part->dead[l] && link->kind == PW_LINK_TRUNK)
            good = append_way(part, around, link->from - part->first_vertex, link->to - part->first_vertex, scratch, scratch + switches);
        around->first[l + 1] = (uint32_t)around->count;
    }
    if (scratch) pw_free(part->allocator, scratch, (2 * switches + 1) * sizeof *scratch);
    return good ? PW_OK : part_no_memory(error);
}

/* --- Routes ----------------------------------------------------------------------------------------------------------- */

static bool is_dead(const network_part *part, pw_link link) { return part->dead[link - part->first_link]; }

static bool is_alive(const network_part *part, const pw_path *path) {
    for (uint32_t i = 0; i < path->count; i++)
        if (is_dead(part, path->links[i])) return false;
    return true;
}

static bool try_own(const network_part *part, uint32_t a, uint32_t b, uint64_t draw, pw_path *path) {
    path->count = 0;
    own_route(part, a, b, draw, path);
    return is_alive(part, path);
}

static bool go_around(const network_part *part, const pw_path *own, pw_path *path) {
    path->count = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t l = own->links[i] - part->first_link, first = l, end = l + 1;
        if (part->dead[l]) {
            first = part->around->first[l], end = part->around->first[l + 1];
            if (first == end) return false;
        }
        for (uint32_t k = first; k < end; k++) {
            if (path->count + NODE_HOPS == PW_ROUTE_MAX) return false;
            path_append(path, part->dead[l] ? part->around->links[k] : own->links[i]);
        }
    }
    return true;
}

/* Where all own paths are dead: one path, which a hash of the pair picks. */
static void searched(const network_part *part, uint32_t a, uint32_t b, pw_path *path) {
    pw_path own;
    own.count = 0;
    own_route(part, a, b, mix_flow(0, a, b), &own);
    if (go_around(part, &own, path)) return;
    path->count = 0;
    table_route(part->detours, a, b, mix_flow(0, a, b), path);
}

static bool draw_again(const network_part *part, uint32_t a, uint32_t b, uint64_t draw, pw_path *path) {
    uint64_t ways = own_ways(part, a, b);
    if (ways < 2) return false;
    for (uint32_t k = 1; k <= REDRAWS; k++)
        if (try_own(part, a, b, mix_flow(draw, k, 0), path)) return true;
    for (uint64_t way = 0; ways <= MOST_WAYS && way < ways; way++)
        if (try_own(part, a, b, way, path)) return true;
    return false;
}

void detour_route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path) {
    pw_path made;
    if (!try_own(part, port_a, port_b, draw, &made) && !draw_again(part, port_a, port_b, draw, &made))
        searched(part, port_a, port_b, &made);
    for (uint32_t i = 0; i < made.count; i++) path_append(path, made.links[i]);
}

/* --- Spreads -------------------------------------------------------------------------------------------------------- */

/* The own spread of a pair, one entry per link, sorted by the vertices that they leave. Links of minimal paths make no circles. */
typedef struct entry {
    pw_link link;
    pw_vertex from, to;
    uint32_t next;       /* first entry that leaves `to`; the count: none, `to` is the destination */
    bool alive;          /* some own path over this link is */
    double share;        /* of the flow */
    double in, flow;     /* of the first entry of a vertex: what arrives there; of each: what it carries */
} entry;

typedef struct own_flow {
    const network_part *part;
    entry *entries;
    uint32_t count, capacity, dead;
    bool full;
} own_flow;

static bool grow(own_flow *f) {
    uint32_t capacity = f->capacity ? 2 * f->capacity : 64;
    entry *entries = pw_alloc(f->part->allocator, capacity * sizeof *entries);
    if (!entries) return false;
    if (f->count) memcpy(entries, f->entries, f->count * sizeof *entries);
    if (f->capacity) pw_free(f->part->allocator, f->entries, f->capacity * sizeof *entries);
    f->entries = entries;
    f->capacity = capacity;
    return true;
}

static void collect(void *object, pw_link link, double fraction) {
    own_flow *f = object;
    if (f->full || (f->count == f->capacity && !grow(f))) {
        f->full = true;
        return;
    }
    const pw_link_info *info = pw_fabric_link(f->part->fabric, link);
    f->entries[f->count++] = (entry){.link = link, .from = info->from, .to = info->to, .share = fraction};
    f->dead += is_dead(f->part, link);
}

static bool before(const entry *a, const entry *b) { return a->from != b->from ? a->from < b->from : a->link < b->link; }

static void sort_and_merge(own_flow *f) { /* shell sort */
    for (uint32_t gap = f->count / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < f->count; i++) {
            entry moved = f->entries[i];
            uint32_t at = i;
            for (; at >= gap && before(&moved, &f->entries[at - gap]); at -= gap) f->entries[at] = f->entries[at - gap];
            f->entries[at] = moved;
        }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->count; i++)
        if (kept && f->entries[kept - 1].link == f->entries[i].link) f->entries[kept - 1].share += f->entries[i].share;
        else f->entries[kept++] = f->entries[i];
    f->count = kept;
}

static uint32_t first_from(const own_flow *f, pw_vertex vertex) {
    uint32_t low = 0, high = f->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->entries[middle].from < vertex) low = middle + 1;
        else high = middle;
    }
    return low < f->count && f->entries[low].from == vertex ? low : f->count;
}

/* Whether a path is alive from the vertex that entry `first` leaves. */
static bool alive_from(const own_flow *f, uint32_t first) {
    bool any = false;
    for (uint32_t i = first; i < f->count && f->entries[i].from == f->entries[first].from; i++) any |= f->entries[i].alive;
    return any;
}

/* Backwards from the destination, in as many passes as a path has links. */
static void find_alive(own_flow *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        f->entries[i].next = first_from(f, f->entries[i].to);
        f->entries[i].alive = !is_dead(f->part, f->entries[i].link);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->count; i++) {
            entry *e = &f->entries[i];
            if (e->next == f->count || is_dead(f->part, e->link)) continue;
            bool now = alive_from(f, e->next);
            changed |= now != e->alive;
            e->alive = now;
        }
    }
}

/* Forwards from the source: what arrives at a vertex leaves it over those of its links with a living way on, in proportion to their own
 * shares. */
static void find_flow(own_flow *f, uint32_t source) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->count; i++) f->entries[i].in = i == source;
        for (uint32_t i = 0; i < f->count; i++)
            if (f->entries[i].next < f->count) f->entries[f->entries[i].next].in += f->entries[i].flow;
        for (uint32_t i = 0, end; i < f->count; i = end) {
            double weight = 0;
            for (end = i; end < f->count && f->entries[end].from == f->entries[i].from; end++)
                weight += f->entries[end].alive ? f->entries[end].share : 0;
            for (uint32_t j = i; j < end && weight > 0; j++) {
                entry *e = &f->entries[j];
                double now = e->alive ? f->entries[i].in * (e->share / weight) : 0;
                changed |= now != e->flow;
                e->flow = now;
            }
        }
    }
}

pw_status detour_spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    own_flow f = {.part = part};
    pw_status status = own_spread(part, port_a, port_b, collect, &f);
    if (status == PW_OK && f.full) status = PW_NO_MEMORY;
    if (status == PW_OK && f.dead == 0) {
        for (uint32_t i = 0; i < f.count; i++) visit(object, f.entries[i].link, f.entries[i].share);
    } else if (status == PW_OK) {
        pw_path path;
        pw_vertex source = f.entries[0].from; /* own spreads begin at the port */
        sort_and_merge(&f);
        find_alive(&f);
        uint32_t first = first_from(&f, source);
        if (alive_from(&f, first)) {
            find_flow(&f, first);
            for (uint32_t i = 0; i < f.count; i++)
                if (f.entries[i].flow > 0) visit(object, f.entries[i].link, f.entries[i].flow);
        } else {
            searched(part, port_a, port_b, &path);
            for (uint32_t i = 0; i < path.count; i++) visit(object, path.links[i], 1);
        }
    }
    if (f.capacity) pw_free(part->allocator, f.entries, f.capacity * sizeof *f.entries);
    return status;
}
