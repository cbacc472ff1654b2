/* Routers at the points of a grid, nodes attached to them: torus, mesh, ring, hypercube, HyperX, fully connected.
 *
 * Along each dimension the routers of a line form a ring, a chain or a full mesh. Routes correct one dimension after the other, the
 * first first (dimension order; Dally and Seitz, 1987), the shorter way round a ring; where both ways are as long, both are used.
 * Router r has coordinate r / stride % size in each dimension; node n sits at router n / nodes_per_switch. */
#include <math.h>

#include "models/fabric/network_internal.h"

enum { DIMENSIONS = 20, NODE_HOPS = 24 /* of a route inside nodes, at most */ };
typedef enum line_kind { LINE_RING, LINE_CHAIN, LINE_FULL } line_kind;

typedef struct dimension {
    line_kind kind;
    uint32_t size, stride, edges; /* edges: of a line */
    pw_link links;                /* edge e of line l is links + 2 (l edges + e) from its lower end */
} dimension;

typedef struct grid {
    uint32_t dimensions, routers, switch_nodes;
    double trunk_Bps; /* payload of all cables between two neighbours */
    pw_link port_links;
    dimension along[DIMENSIONS];
} grid;

static const grid *grid_of(const network_part *part) { return part->state; }

/* --- Building ------------------------------------------------------------------------------------------------------- */

static pw_status add_dimension(const network_part *part, grid *g, line_kind kind, uint64_t size, pw_error *error) {
    if (g->dimensions == DIMENSIONS || size * g->routers > UINT32_MAX / 4)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.dims of topology '%s' are too many or too large",
                       part->topology->name);
    if (kind == LINE_RING && size <= 2) kind = LINE_CHAIN;
    uint64_t edges = kind == LINE_RING ? size : kind == LINE_CHAIN ? size - 1 : size * (size - 1) / 2;
    g->along[g->dimensions++] =
        (dimension){.kind = kind, .size = (uint32_t)size, .stride = g->routers, .edges = (uint32_t)edges, .links = PW_NONE};
    g->routers *= (uint32_t)size;
    return PW_OK;
}

/* Sizes as given; all of them multiply to the routers. */
static pw_status given_dimensions(const network_part *part, grid *g, line_kind kind, uint32_t routers, pw_error *error) {
    const int64_t *sizes = part->desc->dims.items;
    if (!part->desc->dims.count)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say for example network.dims = { 8, 8 }",
                       "topology '%s' needs network.dims", part->topology->name);
    for (uint32_t i = 0; i < part->desc->dims.count; i++) PW_TRY(add_dimension(part, g, kind, (uint64_t)sizes[i], error));
    if (g->routers == routers) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "nodes / nodes_per_switch must be the product of network.dims",
                   "network.dims give %u switches, but %u nodes need %u", g->routers, part->nodes, routers);
}

static uint32_t neighbours(const dimension *along) {
    if (along->kind == LINE_FULL) return along->size - 1;
    return along->size > 2 ? 2 : along->size - 1;
}

static uint32_t line_hops(const dimension *along) {
    if (along->kind == LINE_RING) return along->size / 2;
    return along->kind == LINE_CHAIN ? along->size - 1 : along->size > 1;
}

static uint32_t most_cables(const network_part *part) {
    const grid *g = grid_of(part);
    uint32_t trunks = part_trunks(part), count = g->switch_nodes * part->rails;
    for (uint32_t i = 0; i < g->dimensions; i++) count += neighbours(&g->along[i]) * trunks;
    return count;
}

static uint32_t diameter(const grid *g) {
    uint32_t hops = 2;
    for (uint32_t i = 0; i < g->dimensions; i++) hops += line_hops(&g->along[i]);
    return hops;
}

static bool add_line(network_part *part, grid *g, dimension *along, pw_vertex first, uint32_t line) {
    uint32_t low = line % along->stride, high = line / along->stride;
    pw_vertex base = first + high * along->stride * along->size + low;
    for (uint32_t x = 0; x < along->size; x++) {
        uint32_t to = along->kind == LINE_FULL ? x + 1 : along->kind == LINE_RING ? (x + 1) % along->size : x + 1;
        uint32_t end = along->kind == LINE_FULL ? along->size : along->kind == LINE_CHAIN && to == along->size ? to : to + 1;
        for (uint32_t y = to; y < end; y++)
            if (!part_add_trunk(part, base + x * along->stride, base + y * along->stride, g->trunk_Bps, &along->links)) return false;
    }
    return true;
}

static pw_status add_all(network_part *part, grid *g, pw_error *error) {
    pw_vertex first = 0;
    PW_TRY(part_check_radix(part, most_cables(part), error));
    if (diameter(g) + NODE_HOPS > PW_ROUTE_MAX)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take more dimensions, or more nodes per switch",
                       "the longest route has %u links; a route may have %d outside the nodes", diameter(g), PW_ROUTE_MAX - NODE_HOPS);
    if (!part_add_switches(part, PW_VERTEX_LEAF, g->routers, &first)) return part_no_memory(error);
    for (uint32_t port = 0; port < part->nodes * part->rails; port++)
        if (!part_add_port(part, port, first + port / part->rails / g->switch_nodes, part->cable_Bps, &g->port_links))
            return part_no_memory(error);
    for (uint32_t i = 0; i < g->dimensions; i++)
        for (uint32_t line = 0; line < g->routers / g->along[i].size; line++)
            if (!add_line(part, g, &g->along[i], first, line)) return part_no_memory(error);
    return PW_OK;
}

typedef enum grid_shape { SHAPE_GIVEN, SHAPE_ONE, SHAPE_BINARY } grid_shape;

static pw_status build(network_part *part, line_kind kind, grid_shape shape, pw_error *error) {
    PW_TRY(part_begin(part, sizeof(grid), error));
    grid *g = part->state;
    g->routers = 1;
    g->port_links = PW_NONE;
    g->switch_nodes = part_switch_nodes(part);
    g->trunk_Bps = part_trunk_Bps(part);
    uint32_t routers = (part->nodes + g->switch_nodes - 1) / g->switch_nodes;
    if (shape == SHAPE_GIVEN) PW_TRY(given_dimensions(part, g, kind, routers, error));
    if (shape == SHAPE_ONE) PW_TRY(add_dimension(part, g, kind, routers, error));
    while (shape == SHAPE_BINARY && g->routers < routers) PW_TRY(add_dimension(part, g, kind, 2, error));
    if (g->routers != routers)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "change the nodes, or network.nodes_per_switch",
                       "a hypercube has a power of two of switches, not %u", routers);
    return add_all(part, g, error);
}

static pw_status build_torus(network_part *part, pw_error *error) { return build(part, LINE_RING, SHAPE_GIVEN, error); }
static pw_status build_mesh(network_part *part, pw_error *error) { return build(part, LINE_CHAIN, SHAPE_GIVEN, error); }
static pw_status build_hyperx(network_part *part, pw_error *error) { return build(part, LINE_FULL, SHAPE_GIVEN, error); }
static pw_status build_ring(network_part *part, pw_error *error) { return build(part, LINE_RING, SHAPE_ONE, error); }
static pw_status build_full(network_part *part, pw_error *error) { return build(part, LINE_FULL, SHAPE_ONE, error); }
static pw_status build_hypercube(network_part *part, pw_error *error) { return build(part, LINE_FULL, SHAPE_BINARY, error); }

static void destroy(network_part *part) { pw_free(part->allocator, part->state, sizeof(grid)); }

/* --- Routes --------------------------------------------------------------------------------------------------------- */

/* The link from coordinate x to its neighbour y on a line. */
static pw_link step(const dimension *along, uint32_t line, uint32_t x, uint32_t y) {
    uint32_t low = x < y ? x : y, high = x < y ? y : x, edge = low;
    bool back = x > y;
    if (along->kind == LINE_FULL) edge = low * (2 * along->size - low - 1) / 2 + (high - low - 1);
    if (along->kind == LINE_RING && low == 0 && high == along->size - 1) { /* over the seam: from the last to the first */
        edge = high;
        back = !back;
    }
    return along->links + 2 * (line * along->edges + edge) + back;
}

static void walk_line(const dimension *along, uint32_t line, uint32_t x, uint32_t y, bool forwards, double share, visit_fn *visit,
                      void *object) {
    while (x != y) {
        uint32_t next = along->kind == LINE_FULL ? y : forwards ? (x + 1) % along->size : (x + along->size - 1) % along->size;
        visit(object, step(along, line, x, next), share);
        x = next;
    }
}

static bool is_tie(const dimension *along, uint32_t x, uint32_t y) {
    return along->kind == LINE_RING && x != y && (y + along->size - x) % along->size * 2 == along->size;
}

static uint32_t router_of(const network_part *part, uint32_t port) { return port / part->rails / grid_of(part)->switch_nodes; }
static uint32_t coordinate(const dimension *along, uint32_t router) { return router / along->stride % along->size; }

/* split: both ways of a tie get half; else each tie takes the next bit of the draw. */
static void walk(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, bool split, visit_fn *visit,
                 void *object) {
    const grid *g = grid_of(part);
    uint32_t at = router_of(part, port_a), to = router_of(part, port_b);
    visit(object, g->port_links + 2 * port_a, 1);
    for (uint32_t i = 0; i < g->dimensions; i++) {
        const dimension *along = &g->along[i];
        uint32_t x = coordinate(along, at), y = coordinate(along, to);
        if (x == y) continue;
        uint32_t line = at / (along->stride * along->size) * along->stride + at % along->stride;
        bool forwards = along->kind == LINE_RING ? (y + along->size - x) % along->size * 2 <= along->size : x < y;
        bool tie = is_tie(along, x, y);
        if (tie && split) {
            walk_line(along, line, x, y, true, 0.5, visit, object);
            walk_line(along, line, x, y, false, 0.5, visit, object);
        } else {
            if (tie) {
                forwards = draw & 1;
                draw >>= 1;
            }
            walk_line(along, line, x, y, forwards, 1, visit, object);
        }
        at += (y - x) * along->stride;
    }
    visit(object, g->port_links + 2 * port_b + 1, 1);
}

static void append_link(void *object, pw_link link, double share) {
    (void)share;
    path_append(object, link);
}

static void route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path) {
    walk(part, port_a, port_b, draw, false, append_link, path);
}

static void spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    walk(part, port_a, port_b, 0, true, visit, object);
}

static uint64_t ways(const network_part *part, uint32_t port_a, uint32_t port_b) {
    const grid *g = grid_of(part);
    uint64_t count = 1;
    for (uint32_t i = 0; i < g->dimensions; i++) {
        const dimension *along = &g->along[i];
        count <<= is_tie(along, coordinate(along, router_of(part, port_a)), coordinate(along, router_of(part, port_b)));
    }
    return count;
}

/* --- Facts ---------------------------------------------------------------------------------------------------------- */

static pw_switch_info place(const network_part *part, uint32_t i) {
    uint32_t row = grid_of(part)->dimensions ? grid_of(part)->along[0].size : 1;
    return (pw_switch_info){.tier = 0, .group = i / row, .index = i % row};
}

static pw_network_facts facts(const network_part *part) {
    static const char *const names[] = {"dimension 1", "dimension 2", "dimension 3", "dimension 4", "dimension 5", "other dimensions"};
    const grid *g = grid_of(part);
    uint32_t ports = part->nodes * part->rails, trunks = part_trunks(part);
    pw_network_facts made = {.leaves = g->routers, .tiers = 1, .tier_count = 1, .cable_count = 1, .oversubscription = 1,
                             .hops = diameter(g), .cables = ports, .bisection_Bps = ports / 2 * part->cable_Bps};
    made.tier[0].name = "router";
    made.tier[0].switches = g->routers;
    made.tier[0].most_cables = most_cables(part);
    made.cable[0].name = "port";
    made.cable[0].cables = ports;
    made.cable[0].cable_Bps = part->cable_Bps;
    for (uint32_t i = 0; i < g->dimensions; i++) {
        const dimension *along = &g->along[i];
        uint32_t lines = g->routers / along->size, class = i < 5 ? i : 5, cables = lines * along->edges * trunks;
        made.cable[1 + class].name = names[class];
        made.cable[1 + class].cables += cables;
        made.cable[1 + class].cable_Bps = g->trunk_Bps / trunks;
        made.cable_count = 2 + class;
        made.cables += cables;
        if (along->size < 2) continue;
        /* Every line cut in the middle. */
        uint32_t half = along->size / 2;
        double cut = along->kind == LINE_RING ? 2 : along->kind == LINE_CHAIN ? 1 : (double)half * (along->size - half);
        made.bisection_Bps = fmin(made.bisection_Bps, cut * lines * g->trunk_Bps);
    }
    return made;
}

#define GRID .destroy = destroy, .route = route, .ways = ways, .spread = spread, .place = place, .facts = facts
const pw_topology topology_torus = {.name = "torus", .build = build_torus, .uses = USES_ROUTERS | USES_DIMS, GRID,
                                    .text = "routers in rings along each of network.dims"};
const pw_topology topology_mesh = {.name = "mesh", .build = build_mesh, .uses = USES_ROUTERS | USES_DIMS, GRID,
                                   .text = "routers in chains along each of network.dims"};
const pw_topology topology_hyperx = {.name = "hyperx", .build = build_hyperx, .uses = USES_ROUTERS | USES_DIMS, GRID,
                                     .text = "routers fully connected along each of network.dims"};
const pw_topology topology_ring = {.name = "ring", .build = build_ring, .uses = USES_ROUTERS, GRID, .text = "routers in one ring"};
const pw_topology topology_fully_connected = {.name = "fully_connected", .build = build_full, .uses = USES_ROUTERS, GRID,
                                              .text = "a cable between every two routers"};
const pw_topology topology_hypercube = {.name = "hypercube", .build = build_hypercube, .uses = USES_ROUTERS, GRID,
                                        .text = "2^n routers with n neighbours each"};
