/* Breadth-first search over the switches from every switch with ports, 64 of them at a time: a word of bits per switch says which
 * searches have reached it (as in Then et al., "The more the merrier", VLDB 2014). One byte for each pair of switches is kept. */
#include <string.h>

#include "models/fabric/table_internal.h"

enum { NODE_HOPS = 24, LARGEST_TABLE = 1 << 30 };

static void *array(const network_part *part, size_t count, size_t size) { return pw_alloc_zero(part->allocator, (count + 1) * size); }
static void drop(const network_part *part, void *memory, size_t count, size_t size) {
    if (memory) pw_free(part->allocator, memory, (count + 1) * size);
}

void table_destroy(const network_part *part, path_table **table) {
    path_table *t = *table;
    if (!t) return;
    drop(part, t->first, t->switches + (size_t)1, sizeof *t->first);
    drop(part, t->out, t->trunks, sizeof *t->out);
    drop(part, t->to, t->trunks, sizeof *t->to);
    drop(part, t->port_first, t->ports + (size_t)1, sizeof *t->port_first);
    drop(part, t->attached, t->attachments, sizeof *t->attached);
    drop(part, t->edge_switch, t->edges, sizeof *t->edge_switch);
    drop(part, t->hops, (size_t)t->edges * t->switches, 1);
    pw_free(part->allocator, t, sizeof *t);
    *table = NULL;
}

/* --- The graph ------------------------------------------------------------------------------------------------------- */

typedef struct scratch {
    uint32_t *port_of, *edge_of; /* [vertices before the part]: port; [switches]: edge */
    uint64_t *reached, *now, *next;
} scratch;

static const pw_link_info *link_at(const network_part *part, uint32_t l) { return pw_fabric_link(part->fabric, part->first_link + l); }

static bool count_parts(network_part *part, path_table *t, const bool *dead) {
    for (uint32_t l = 0; l < part->link_count; l++) {
        if (dead && dead[l]) continue;
        if (link_at(part, l)->kind == PW_LINK_TRUNK) t->trunks++;
        else t->attachments += l % 2 == 0;
    }
    t->out = array(part, t->trunks, sizeof *t->out);
    t->to = array(part, t->trunks, sizeof *t->to);
    t->attached = array(part, t->attachments, sizeof *t->attached);
    return t->out && t->to && t->attached;
}

static uint32_t local(const network_part *part, pw_vertex vertex) { return vertex - part->first_vertex; }

/* Counting sort of trunks by switch and of port cables by port. A cable of a port goes up first, then down. */
static bool sort_links(network_part *part, path_table *t, const bool *dead, scratch *s) {
    uint32_t *used = array(part, (t->switches > t->ports ? t->switches : t->ports) + (size_t)1, sizeof *used);
    if (!used) return false;
    for (uint32_t l = 0; l < part->link_count; l++) {
        const pw_link_info *link = link_at(part, l);
        if (dead && dead[l]) continue;
        if (link->kind == PW_LINK_TRUNK) t->first[local(part, link->from) + 1]++;
        else if (l % 2 == 0) t->port_first[s->port_of[link->from] + 1]++, s->edge_of[local(part, link->to)] = 0;
    }
    for (uint32_t v = 0; v < t->switches; v++) t->first[v + 1] += t->first[v];
    for (uint32_t p = 0; p < t->ports; p++) t->port_first[p + 1] += t->port_first[p];
    for (uint32_t v = 0; v < t->switches; v++)
        if (s->edge_of[v] == 0) s->edge_of[v] = t->edges++;
    t->edge_switch = array(part, t->edges, sizeof *t->edge_switch);
    for (uint32_t v = 0; t->edge_switch && v < t->switches; v++)
        if (s->edge_of[v] != PW_NONE) t->edge_switch[s->edge_of[v]] = v;
    for (uint32_t l = 0; l < part->link_count; l++) {
        const pw_link_info *link = link_at(part, l);
        if ((dead && dead[l]) || link->kind != PW_LINK_TRUNK) continue;
        uint32_t at = t->first[local(part, link->from)] + used[local(part, link->from)]++;
        t->out[at] = part->first_link + l;
        t->to[at] = local(part, link->to);
    }
    memset(used, 0, t->ports * sizeof *used);
    for (uint32_t l = 0; l < part->link_count; l += 2) {
        const pw_link_info *link = link_at(part, l);
        if ((dead && dead[l]) || link->kind == PW_LINK_TRUNK) continue;
        uint32_t port = s->port_of[link->from];
        t->attached[t->port_first[port] + used[port]++] =
            (attachment){s->edge_of[local(part, link->to)], part->first_link + l, part->first_link + l + 1};
    }
    drop(part, used, (t->switches > t->ports ? t->switches : t->ports) + (size_t)1, sizeof *used);
    return t->edge_switch != NULL;
}

/* --- The search ------------------------------------------------------------------------------------------------------- */

static void search(path_table *t, uint32_t first_edge, uint32_t count, scratch *s) {
    memset(s->reached, 0, t->switches * sizeof *s->reached);
    memset(s->now, 0, t->switches * sizeof *s->now);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = t->edge_switch[first_edge + i];
        s->now[v] |= UINT64_C(1) << i;
        t->hops[(size_t)(first_edge + i) * t->switches + v] = 0;
    }
    memcpy(s->reached, s->now, t->switches * sizeof *s->reached);
    bool more = true;
    for (uint32_t depth = 1; more && depth < UNREACHED; depth++) {
        memset(s->next, 0, t->switches * sizeof *s->next);
        for (uint32_t v = 0; v < t->switches; v++)
            for (uint32_t i = t->first[v]; s->now[v] && i < t->first[v + 1]; i++) s->next[t->to[i]] |= s->now[v];
        more = false;
        for (uint32_t v = 0; v < t->switches; v++) {
            s->now[v] = s->next[v] & ~s->reached[v];
            s->reached[v] |= s->now[v];
            more |= s->now[v] != 0;
            for (uint64_t bits = s->now[v]; bits; bits &= bits - 1)
                t->hops[(size_t)(first_edge + (uint32_t)__builtin_ctzll(bits)) * t->switches + v] = (uint8_t)depth;
        }
    }
}

static pw_status check_reach(const network_part *part, path_table *t, pw_error *error) {
    for (uint32_t p = 0; p < t->ports; p++) {
        uint32_t node = p / part->rails, rail = part->rail == PW_NONE ? p % part->rails : part->rail;
        bool reached = t->port_first[p] < t->port_first[p + 1];
        for (uint32_t i = t->port_first[p]; reached && i < t->port_first[p + 1]; i++)
            reached = t->hops[t->edge_switch[t->attached[i].edge]] != UNREACHED; /* of edge 0 */
        if (!reached)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "every port needs a way to every other",
                           "port %u of node %u has no way through the network to the others", rail, node);
    }
    for (uint32_t e = 0; e < t->edges; e++)
        for (uint32_t f = 0; f < t->edges; f++) {
            uint32_t hops = t->hops[(size_t)e * t->switches + t->edge_switch[f]];
            if (hops > t->longest && hops != UNREACHED) t->longest = hops;
        }
    if (t->longest + 2 + NODE_HOPS > PW_ROUTE_MAX)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "the longest route has %u links; a route may have %d outside the nodes",
                       t->longest + 2, PW_ROUTE_MAX - NODE_HOPS);
    return PW_OK;
}

static pw_status fill(network_part *part, path_table *t, const bool *dead, scratch *s, pw_error *error) {
    t->first = array(part, t->switches + (size_t)1, sizeof *t->first);
    t->port_first = array(part, t->ports + (size_t)1, sizeof *t->port_first);
    s->port_of = array(part, part->first_vertex, sizeof *s->port_of);
    s->edge_of = array(part, t->switches, sizeof *s->edge_of);
    s->reached = array(part, t->switches, sizeof *s->reached);
    s->now = array(part, t->switches, sizeof *s->now);
    s->next = array(part, t->switches, sizeof *s->next);
    if (!t->first || !t->port_first || !s->port_of || !s->edge_of || !s->reached || !s->now || !s->next ||
        !count_parts(part, t, dead))
        return part_no_memory(error);
    for (uint32_t p = 0; p < t->ports; p++) s->port_of[part_port(part, p)] = p;
    for (uint32_t v = 0; v < t->switches; v++) s->edge_of[v] = PW_NONE;
    if (!sort_links(part, t, dead, s)) return part_no_memory(error);
    if ((uint64_t)t->edges * t->switches > LARGEST_TABLE)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%u switches, %u of them with ports, are too many for tables of paths",
                       t->switches, t->edges);
    t->hops = array(part, (size_t)t->edges * t->switches, 1);
    if (!t->hops) return part_no_memory(error);
    memset(t->hops, UNREACHED, (size_t)t->edges * t->switches);
    for (uint32_t e = 0; e < t->edges; e += 64) search(t, e, t->edges - e < 64 ? t->edges - e : 64, s);
    return check_reach(part, t, error);
}

pw_status table_create(network_part *part, const bool *dead, path_table **table, pw_error *error) {
    path_table *t = *table = pw_alloc_zero(part->allocator, sizeof *t);
    if (!t) return part_no_memory(error);
    t->switches = part->switch_count;
    t->ports = part->nodes * part->rails;
    scratch s = {0};
    pw_status status = fill(part, t, dead, &s, error);
    drop(part, s.port_of, part->first_vertex, sizeof *s.port_of);
    drop(part, s.edge_of, t->switches, sizeof *s.edge_of);
    drop(part, s.reached, t->switches, sizeof *s.reached);
    drop(part, s.now, t->switches, sizeof *s.now);
    drop(part, s.next, t->switches, sizeof *s.next);
    if (status != PW_OK) table_destroy(part, table);
    return status;
}

uint32_t table_longest(const path_table *t) { return t->longest + 2; }

/* --- Routes --------------------------------------------------------------------------------------------------------- */

static uint32_t hops_to(const path_table *t, uint32_t at, uint32_t port) {
    uint32_t least = UNREACHED;
    for (uint32_t i = t->port_first[port]; i < t->port_first[port + 1]; i++) {
        uint32_t hops = t->hops[(size_t)t->attached[i].edge * t->switches + at];
        if (hops < least) least = hops;
    }
    return least;
}

static uint32_t switch_of(const path_table *t, uint32_t attached) { return t->edge_switch[t->attached[attached].edge]; }

/* Cables of port a at switches from which port b is nearest. */
static uint32_t least_hops(const path_table *t, uint32_t a, uint32_t b, uint32_t *count) {
    uint32_t least = UNREACHED;
    *count = 0;
    for (uint32_t i = t->port_first[a]; i < t->port_first[a + 1]; i++) {
        uint32_t hops = hops_to(t, switch_of(t, i), b);
        *count = hops < least ? 1 : *count + (hops == least);
        if (hops < least) least = hops;
    }
    return least;
}

static uint32_t take(uint64_t *draw, uint32_t count) {
    uint32_t taken = (uint32_t)(*draw % count);
    *draw /= count;
    return taken;
}

void table_route(const path_table *t, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path) {
    uint32_t count, hops = least_hops(t, port_a, port_b, &count), pick = take(&draw, count), at = 0;
    for (uint32_t i = t->port_first[port_a]; i < t->port_first[port_a + 1]; i++)
        if (hops_to(t, switch_of(t, i), port_b) == hops && pick-- == 0) {
            path_append(path, t->attached[i].up);
            at = switch_of(t, i);
            break;
        }
    for (; hops > 0; hops--) {
        count = 0;
        for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) count += hops_to(t, t->to[i], port_b) == hops - 1;
        pick = take(&draw, count);
        for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++)
            if (hops_to(t, t->to[i], port_b) == hops - 1 && pick-- == 0) {
                path_append(path, t->out[i]);
                at = t->to[i];
                break;
            }
    }
    for (uint32_t i = t->port_first[port_b]; i < t->port_first[port_b + 1]; i++)
        if (switch_of(t, i) == at) {
            path_append(path, t->attached[i].down);
            return;
        }
}

/* Level by level: all switches with a share, then all that are one hop nearer. share: [switches], zero outside the level. */
static void spread_levels(const path_table *t, uint32_t b, uint32_t hops, double *share, uint32_t *level, uint32_t *next,
                          uint32_t count, visit_fn *visit, void *object) {
    for (; hops > 0; hops--) {
        uint32_t next_count = 0;
        for (uint32_t l = 0; l < count; l++) {
            uint32_t at = level[l], ways = 0;
            for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) ways += hops_to(t, t->to[i], b) == hops - 1;
            for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++) {
                uint32_t to = t->to[i];
                if (hops_to(t, to, b) != hops - 1) continue;
                visit(object, t->out[i], share[at] / ways);
                if (share[to] == 0) next[next_count++] = to;
                share[to] += share[at] / ways;
            }
            share[at] = 0;
        }
        uint32_t *kept = level;
        level = next;
        next = kept;
        count = next_count;
    }
    for (uint32_t l = 0; l < count; l++)
        for (uint32_t i = t->port_first[b]; i < t->port_first[b + 1]; i++)
            if (switch_of(t, i) == level[l]) {
                visit(object, t->attached[i].down, share[level[l]]);
                break;
            }
}

pw_status table_spread(const network_part *part, const path_table *t, uint32_t port_a, uint32_t port_b, visit_fn *visit,
                       void *object) {
    double *share = array(part, t->switches, sizeof *share);
    uint32_t *level = array(part, 2 * (size_t)t->switches, sizeof *level);
    if (share && level) {
        uint32_t count, hops = least_hops(t, port_a, port_b, &count), begun = 0;
        for (uint32_t i = t->port_first[port_a]; i < t->port_first[port_a + 1]; i++) {
            if (hops_to(t, switch_of(t, i), port_b) != hops) continue;
            visit(object, t->attached[i].up, 1.0 / count);
            if (share[switch_of(t, i)] == 0) level[begun++] = switch_of(t, i);
            share[switch_of(t, i)] += 1.0 / count;
        }
        spread_levels(t, port_b, hops, share, level, level + t->switches, begun, visit, object);
    }
    bool good = share && level;
    drop(part, share, t->switches, sizeof *share);
    drop(part, level, 2 * (size_t)t->switches, sizeof *level);
    return good ? PW_OK : PW_NO_MEMORY;
}
