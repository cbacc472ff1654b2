/* The largest flow between two halves of the nodes, by Dinic's algorithm: layers by breadth-first search, blocking flows by depth-first
 * search with a current arc. The flow runs over the cables that are alive. */
#include <math.h>
#include <string.h>

#include "models/fabric/table_internal.h"

typedef struct cut {
    uint32_t vertices, arcs, source, sink;
    uint32_t *first, *arc_to, *twin, *level, *at, *queue; /* arcs sorted by their tails */
    double *left, least;
} cut;

static void *array(const network_part *part, size_t count, size_t size) { return pw_alloc_zero(part->allocator, (count + 1) * size); }

/* Vertices: switches, then ports, source, sink. Every link is an arc and has one back; those of the source have no end. */
typedef struct arc {
    uint32_t from, to;
    double Bps;
} arc;

static uint32_t list_arcs(const network_part *part, const path_table *t, arc *arcs) {
    uint32_t count = 0, source = t->switches + t->ports;
    for (uint32_t v = 0; v < t->switches; v++)
        for (uint32_t i = t->first[v]; i < t->first[v + 1]; i++, count++)
            if (arcs) arcs[count] = (arc){v, t->to[i], pw_fabric_link(part->fabric, t->out[i])->bandwidth_Bps};
    for (uint32_t p = 0; p < t->ports; p++) {
        bool first_half = p / part->rails < part->nodes / 2;
        if (arcs) arcs[count] = first_half ? (arc){source, t->switches + p, INFINITY} : (arc){t->switches + p, source + 1, INFINITY};
        count++;
        for (uint32_t i = t->port_first[p]; i < t->port_first[p + 1]; i++, count++) {
            uint32_t at = t->edge_switch[t->attached[i].edge];
            double up = pw_fabric_link(part->fabric, t->attached[i].up)->bandwidth_Bps;
            if (arcs) arcs[count] = first_half ? (arc){t->switches + p, at, up} : (arc){at, t->switches + p, up};
        }
    }
    return count;
}

static void enter_arcs(cut *c, const arc *arcs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) c->first[arcs[i].from + 1]++, c->first[arcs[i].to + 1]++;
    for (uint32_t v = 0; v < c->vertices; v++) c->first[v + 1] += c->first[v];
    memcpy(c->at, c->first, c->vertices * sizeof *c->at);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t there = c->at[arcs[i].from]++, back = c->at[arcs[i].to]++;
        c->arc_to[there] = arcs[i].to, c->twin[there] = back, c->left[there] = arcs[i].Bps;
        c->arc_to[back] = arcs[i].from, c->twin[back] = there, c->left[back] = 0;
        if (isfinite(arcs[i].Bps) && 1e-9 * arcs[i].Bps < c->least) c->least = 1e-9 * arcs[i].Bps;
    }
}

static bool layers(cut *c) {
    for (uint32_t v = 0; v < c->vertices; v++) c->level[v] = PW_NONE;
    uint32_t head = 0, tail = 0;
    c->level[c->source] = 0;
    c->queue[tail++] = c->source;
    while (head < tail) {
        uint32_t v = c->queue[head++];
        for (uint32_t i = c->first[v]; i < c->first[v + 1]; i++)
            if (c->left[i] > c->least && c->level[c->arc_to[i]] == PW_NONE) {
                c->level[c->arc_to[i]] = c->level[v] + 1;
                c->queue[tail++] = c->arc_to[i];
            }
    }
    return c->level[c->sink] != PW_NONE;
}

/* One path of the blocking flow; queue holds the arcs taken. */
static double push(cut *c) {
    uint32_t depth = 0, v = c->source;
    while (v != c->sink) {
        uint32_t i = c->at[v];
        while (i < c->first[v + 1] && !(c->left[i] > c->least && c->level[c->arc_to[i]] == c->level[v] + 1)) i++;
        c->at[v] = i;
        if (i < c->first[v + 1]) {
            c->queue[depth++] = i;
            v = c->arc_to[i];
        } else if (depth == 0) {
            return 0;
        } else {
            v = c->arc_to[c->twin[c->queue[--depth]]];
            c->at[v]++;
        }
    }
    double amount = INFINITY;
    for (uint32_t d = 0; d < depth; d++) amount = fmin(amount, c->left[c->queue[d]]);
    for (uint32_t d = 0; d < depth; d++) {
        c->left[c->queue[d]] -= amount;
        c->left[c->twin[c->queue[d]]] += amount;
    }
    return amount;
}

double table_cut(const network_part *part, const path_table *t) {
    uint32_t count = list_arcs(part, t, NULL), vertices = t->switches + t->ports + 2;
    cut c = {.vertices = vertices, .arcs = 2 * count, .source = vertices - 2, .sink = vertices - 1, .least = INFINITY};
    arc *arcs = array(part, count, sizeof *arcs);
    size_t words = (size_t)vertices + 1 + 2 * (size_t)c.arcs + 3 * (size_t)vertices;
    uint32_t *memory = array(part, words, sizeof *memory);
    c.left = array(part, c.arcs, sizeof *c.left);
    double total = NAN;
    if (arcs && memory && c.left) {
        c.first = memory;
        c.arc_to = c.first + vertices + 1;
        c.twin = c.arc_to + c.arcs;
        c.level = c.twin + c.arcs;
        c.at = c.level + vertices;
        c.queue = c.at + vertices;
        list_arcs(part, t, arcs);
        enter_arcs(&c, arcs, count);
        total = 0;
        while (part->nodes > 1 && layers(&c)) {
            memcpy(c.at, c.first, vertices * sizeof *c.at);
            for (double amount; (amount = push(&c)) > 0;) total += amount;
        }
    }
    if (arcs) pw_free(part->allocator, arcs, (count + (size_t)1) * sizeof *arcs);
    if (memory) pw_free(part->allocator, memory, (words + 1) * sizeof *memory);
    if (c.left) pw_free(part->allocator, c.left, (c.arcs + (size_t)1) * sizeof *c.left);
    return total;
}
