/* Random networks of every topology, and their graphs without asking the topology. */
#ifndef PW_TESTS_FABRIC_NETWORKS_H
#define PW_TESTS_FABRIC_NETWORKS_H

#include <math.h>
#include <stdlib.h>

#include "models/fabric/fabric.h"
#include "tests/harness/check.h"
#include "tests/unit/fabric/flow.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* no test needs all of it */

typedef struct setup {
    pw_fabric *fabric;
    pw_network *network;
    pw_vertex *ports;
    uint32_t nodes, rails;
    bool shortest; /* routes are as short as the graph allows */
    pw_network_desc desc;
    pw_tier_desc tiers[4];
    pw_one_of tier_items[4];
    int64_t dims[4];
} setup;

static uint64_t state;
static uint32_t draw(uint32_t below) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z >> 33) % below);
}

static int topology_named(const char *name) {
    for (int t = 0; pw_topology_names[t]; t++)
        if (!strcmp(pw_topology_names[t], name)) return t;
    return -1;
}

static void plain(setup *s, const char *topology, uint32_t nodes, uint32_t rails) {
    memset(s, 0, sizeof *s);
    s->nodes = nodes, s->rails = rails, s->shortest = true;
    s->desc = (pw_network_desc){.topology = topology_named(topology), .oversubscription = 1, .port_Bps = 50e9, .efficiency = 0.98,
                                .hop_latency_s = 200e-9, .cable_latency_s = 100e-9};
}

static pw_status make(setup *s, pw_error *error) {
    s->fabric = NULL, s->network = NULL, s->ports = NULL;
    PW_TRY(pw_fabric_create(NULL, &s->fabric, error));
    s->ports = malloc(sizeof *s->ports * s->nodes * s->rails);
    for (uint32_t i = 0; i < s->nodes * s->rails; i++) s->ports[i] = pw_fabric_add_vertex(s->fabric, PW_VERTEX_NIC);
    return pw_network_create(NULL, s->fabric, &s->desc, s->ports, s->nodes, s->rails, &s->network, error);
}

static void drop(setup *s) {
    pw_network_destroy(s->network);
    pw_fabric_destroy(s->fabric);
    free(s->ports);
}

/* --- Random networks --------------------------------------------------------------------------------------------------- */

static void random_clos(setup *s, const char *topology) {
    static const double ratios[] = {1, 1, 1.5, 2, 3, 4};
    plain(s, topology, 2 + draw(70), 1 + draw(4));
    s->desc.radix = 4 + 2 * draw(8);
    s->desc.oversubscription = ratios[draw(6)];
    s->desc.planes = 1 + draw(3) % 2;
    if (draw(3) == 0) s->desc.leaves_per_port = 2;
    if (draw(2)) return;
    uint32_t count = 2 + draw(3);
    for (uint32_t t = 0; t < count; t++) {
        s->tiers[t] = (pw_tier_desc){.radix = draw(2) ? 0 : 4 + 2 * draw(20), .oversubscription = draw(2) ? NAN : ratios[draw(6)],
                                     .uplink_Bps = draw(3) ? NAN : 100e9, .group = draw(4) ? 0 : 2 + draw(6)};
        s->tier_items[t] = (pw_one_of){&pw_tier_kind, &s->tiers[t]};
    }
    s->desc.tiers = (pw_list){s->tier_items, count};
}

static void random_routers(setup *s, const char *topology) {
    uint32_t each = 1 + draw(3), routers = 1;
    plain(s, topology, 0, 1 + draw(3));
    uint32_t count = 1 + draw(4);
    for (uint32_t i = 0; i < count; i++) routers *= (uint32_t)(s->dims[i] = 1 + draw(6));
    bool given = !strcmp(topology, "torus") || !strcmp(topology, "mesh") || !strcmp(topology, "hyperx");
    if (given) s->desc.dims = (pw_list){s->dims, count};
    else routers = !strcmp(topology, "hypercube") ? 1u << draw(7) : 1 + draw(40);
    s->desc.nodes_per_switch = each;
    s->nodes = routers * each - draw(each);
    s->desc.trunks = 1 + draw(3);
    if (draw(2)) s->desc.trunk_Bps = 25e9;
    if (draw(2)) s->desc.radix = 20 + draw(100);
}

static void random_dragonfly(setup *s, bool plus, int paths) {
    plain(s, plus ? "dragonfly_plus" : "dragonfly", 2 + draw(120), 1 + draw(2));
    s->desc.nodes_per_switch = 1 + draw(3);
    s->desc.group_switches = 1 + draw(6);
    s->desc.global_links = 1 + draw(4);
    if (plus) s->desc.group_spines = draw(6);
    s->desc.trunks = draw(3);
    s->desc.paths = paths;
    s->shortest = false; /* two global cables may be a shorter way, but are none to take */
}

static void random_network(setup *s, uint32_t kind) {
    static const char *const names[] = {"torus", "mesh", "ring", "hypercube", "hyperx", "fully_connected"};
    switch (kind) {
    case 0: random_clos(s, "fat_tree"); break;
    case 1: random_clos(s, "rail_optimized"); break;
    case 2: random_clos(s, "rail_only"); break;
    case 9: random_dragonfly(s, false, PW_PATHS_MINIMAL); break;
    case 10: random_dragonfly(s, true, PW_PATHS_MINIMAL); break;
    case 11: random_dragonfly(s, false, PW_PATHS_VALIANT); break;
    case 12: random_dragonfly(s, true, PW_PATHS_VALIANT); break;
    default: random_routers(s, names[kind - 3]); break;
    }
}
enum { KINDS = 13 };

/* Refusals are right where a radix is too small or a number does not divide; anything else fails the test. */
static bool make_random(setup *s, uint32_t kind) {
    for (int tries = 0; tries < 1000; tries++) {
        random_network(s, kind);
        pw_error error = {0};
        pw_status status = make(s, &error);
        if (status == PW_OK) return true;
        bool expected = strstr(error.what, "no room") || strstr(error.what, "need more than") || strstr(error.what, "radix") ||
                        strstr(error.what, "global cables");
        if (status != PW_BAD_INPUT || !expected) PW_FAILED("kind %u, %u nodes: %s", kind, s->nodes, error.what);
        drop(s);
        if (pw_test_failures) return false;
    }
    PW_FAILED("no network of kind %u can be built", kind);
    return false;
}

#define FOR_RANDOM_NETWORKS(s, rounds)                                                          \
    for (uint32_t round_ = 0; round_ < (rounds) * KINDS && pw_test_failures == 0; round_++)     \
        for (bool once_ = make_random(&(s), round_ % KINDS); once_; once_ = false,              \
                  pw_test_failures ? (void)printf("# kind %u, round %u\n", round_ % KINDS, round_) : (void)0, drop(&(s)))

/* --- The graph --------------------------------------------------------------------------------------------------------- */

/* Links of the network from every vertex, to walk the graph without asking the topology. */
typedef struct graph {
    uint32_t vertices, links, *first, *out;
} graph;

static graph graph_of(const setup *s) {
    graph g = {pw_fabric_vertices(s->fabric), pw_fabric_links(s->fabric), NULL, NULL};
    g.first = calloc(g.vertices + 2, sizeof *g.first);
    g.out = calloc(g.links + 1, sizeof *g.out);
    for (uint32_t l = 0; l < g.links; l++) g.first[pw_fabric_link(s->fabric, l)->from + 2]++;
    for (uint32_t v = 0; v < g.vertices; v++) g.first[v + 2] += g.first[v + 1];
    for (uint32_t l = 0; l < g.links; l++) g.out[g.first[pw_fabric_link(s->fabric, l)->from + 1]++] = l;
    return g;
}
static void graph_free(graph *g) { free(g->first), free(g->out); }

/* Hops from one vertex to all; NICs are ends, never passed through. */
static void distances(const setup *s, const graph *g, pw_vertex from, uint32_t *hops) {
    uint32_t *queue = malloc(sizeof *queue * g->vertices), head = 0, tail = 0;
    for (uint32_t v = 0; v < g->vertices; v++) hops[v] = PW_NONE;
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        pw_vertex at = queue[head++];
        if (at != from && pw_fabric_vertex_kind(s->fabric, at) == PW_VERTEX_NIC) continue;
        for (uint32_t i = g->first[at]; i < g->first[at + 1]; i++) {
            pw_vertex to = pw_fabric_link(s->fabric, g->out[i])->to;
            if (hops[to] != PW_NONE) continue;
            hops[to] = hops[at] + 1;
            queue[tail++] = to;
        }
    }
    free(queue);
}

static bool is_simple_path(const setup *s, const pw_path *path, uint32_t a, uint32_t b) {
    pw_vertex at = s->ports[a];
    for (uint32_t i = 0; i < path->count; i++) {
        const pw_link_info *link = pw_fabric_link(s->fabric, path->links[i]);
        if (link->from != at) return false;
        at = link->to;
        for (uint32_t j = 0; j <= i; j++)
            if (pw_fabric_link(s->fabric, path->links[j])->from == at) return false; /* seen before */
    }
    return at == s->ports[b];
}

static bool same_network(const setup *s, uint32_t a, uint32_t b) {
    return !pw_network_has_rails_apart(s->network) || a % s->rails == b % s->rails;
}

typedef struct flow {
    const setup *s;
    double *balance, *load; /* per vertex: in - out; per link */
} flow;
static void add_flow(void *object, pw_link link, double fraction) {
    flow *f = object;
    const pw_link_info *info = pw_fabric_link(f->s->fabric, link);
    f->balance[info->to] += fraction;
    f->balance[info->from] -= fraction;
    f->load[link] += fraction;
}
static flow flow_begin(const setup *s) {
    return (flow){s, calloc(pw_fabric_vertices(s->fabric), sizeof(double)), calloc(pw_fabric_links(s->fabric) + 1, sizeof(double))};
}
static void flow_end(flow *f) { free(f->balance), free(f->load); }

/* Largest flow from the ports of one half of the switches to those of the other; which: of a switch. */
static double flow_between(const setup *s, bool (*which)(const setup *s, uint32_t node, uint32_t parameter), uint32_t parameter) {
    uint32_t links = pw_fabric_links(s->fabric), vertices = pw_fabric_vertices(s->fabric), ports = s->nodes * s->rails;
    uint32_t most = links + 2 * ports, *from = malloc(sizeof *from * most), *to = malloc(sizeof *to * most);
    double *left = malloc(sizeof *left * most);
    for (uint32_t l = 0; l < links; l++) {
        const pw_link_info *link = pw_fabric_link(s->fabric, l);
        from[l] = link->from, to[l] = link->to, left[l] = link->bandwidth_Bps;
    }
    for (uint32_t port = 0, l = links; port < ports; port++, l += 2) {
        bool in_a = which(s, port / s->rails, parameter);
        from[l] = in_a ? vertices : s->ports[port], to[l] = in_a ? s->ports[port] : vertices + 1, left[l] = 1e30;
        from[l + 1] = to[l], to[l + 1] = from[l], left[l + 1] = 0;
    }
    double flow_Bps = max_flow(vertices + 2, most, from, to, left, vertices, vertices + 1);
    free(from), free(to), free(left);
    return flow_Bps;
}

#endif
