/* Folded Clos networks of any depth: parallel-ports generalized fat trees (Zahavi, "Fat-tree routing and fault tolerance",
 * 2011), so that every number of a switch or link is arithmetic.
 *
 * Tier 0 are the leaves. A subtree of tier t is what hangs under a set of equal switches of tier t: of tier 0 one leaf, of tier
 * 1 a pod with its spines. Switch i of a subtree has `ups` parents with `cables` parallel cables each; its parent c is switch
 * i * ups + c of the subtree above. clos_shape.c says how many there are of what.
 *
 * fat_tree puts all ports of a node on one leaf. rail_optimized puts port r of the nodes of a block on leaf r of the block.
 * Where a port is divided over several leaves (dual-ToR), these are neighbours, and every leaf reaches all spines. */
#include <math.h>

#include "models/fabric/clos.h"

static const clos_shape *shape_of(const network_part *part) { return part->state; }

/* The first of the leaves of a port. */
static uint32_t leaf_of(const network_part *part, uint32_t port) {
    const clos_shape *shape = shape_of(part);
    uint32_t node = port / part->rails, rail = port % part->rails;
    return node / shape->block_nodes * shape->block_leaves + rail * shape->sides % shape->block_leaves;
}

/* --- Building ------------------------------------------------------------------------------------------------- */

static bool add_all(network_part *part) {
    clos_shape *shape = part->state;
    for (uint32_t t = 0; t < shape->tiers; t++) {
        clos_tier *tier = &shape->tier[t];
        pw_vertex_kind kind = t == 0 ? PW_VERTEX_LEAF : t == 1 ? PW_VERTEX_SPINE : PW_VERTEX_CORE;
        tier->links = PW_NONE;
        if (!part_add_switches(part, kind, tier->subtrees * tier->width, &tier->first)) return false;
    }
    shape->port_links = PW_NONE;
    for (uint32_t port = 0; port < part->nodes * part->rails; port++)
        for (uint32_t side = 0; side < shape->sides; side++)
            if (!part_add_port(part, port, shape->tier[0].first + leaf_of(part, port) + side, part->cable_Bps / shape->sides,
                               &shape->port_links))
                return false;
    for (uint32_t t = 0; t + 1 < shape->tiers; t++) {
        clos_tier *tier = &shape->tier[t], *above = tier + 1;
        for (uint32_t i = 0; i < tier->subtrees * tier->width; i++) {
            uint32_t subtree = i / tier->width / above->children, parent = i % tier->width * tier->ups;
            for (uint32_t c = 0; c < tier->ups; c++)
                if (!part_add_trunk(part, tier->first + i, above->first + subtree * above->width + parent + c,
                                    tier->cables * tier->cable_Bps, &tier->links))
                    return false;
        }
    }
    return true;
}

static pw_status build(network_part *part, uint32_t node_ports, uint32_t block_rails, bool one_leaf, pw_error *error) {
    PW_TRY(part_begin(part, sizeof(clos_shape), error));
    PW_TRY(one_leaf ? clos_shape_one(part, part->state, error) : clos_shape_of(part, part->state, node_ports, block_rails, error));
    return add_all(part) ? PW_OK : part_no_memory(error);
}

static pw_status build_single(network_part *part, pw_error *error) { return build(part, part->rails, 1, true, error); }
static pw_status build_fat_tree(network_part *part, pw_error *error) { return build(part, part->rails, 1, false, error); }
static pw_status build_rails(network_part *part, pw_error *error) { return build(part, 1, part->rails, false, error); }

static void destroy(network_part *part) { pw_free(part->allocator, part->state, sizeof(clos_shape)); }

/* --- Routes --------------------------------------------------------------------------------------------------- */

/* Tiers to climb from one leaf until the other is below too. */
static uint32_t climb(const clos_shape *shape, uint32_t leaf_a, uint32_t leaf_b) {
    uint32_t t = 0;
    while (leaf_a / shape->tier[t].span != leaf_b / shape->tier[t].span) t++;
    return t;
}

/* Upward link c of switch i of a subtree; the one downward is the next number. */
static pw_link up_link(const clos_tier *tier, uint32_t subtree, uint32_t i, uint32_t c) {
    return tier->links + 2 * ((subtree * tier->width + i) * tier->ups + c);
}

static pw_link port_link(const clos_shape *shape, uint32_t port, uint32_t side) {
    return shape->port_links + 2 * (port * shape->sides + side);
}

static void route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path) {
    const clos_shape *shape = shape_of(part);
    uint32_t leaf_a = leaf_of(part, port_a), leaf_b = leaf_of(part, port_b), side_a = 0, side_b = 0;
    if (shape->sides > 1) { /* the same leaf where they share all, else any two */
        side_a = side_b = (uint32_t)(draw % shape->sides);
        draw /= shape->sides;
        if (leaf_a != leaf_b) {
            side_b = (uint32_t)(draw % shape->sides);
            draw /= shape->sides;
        }
    }
    path_append(path, port_link(shape, port_a, side_a));
    leaf_a += side_a;
    leaf_b += side_b;
    uint32_t top = climb(shape, leaf_a, leaf_b), at = path->count, i = 0;
    for (uint32_t t = 0; t < top; t++) {
        const clos_tier *tier = &shape->tier[t];
        uint32_t c = (uint32_t)(draw % tier->ups);
        draw /= tier->ups;
        path->links[at + t] = up_link(tier, leaf_a / tier->span, i, c);
        path->links[at + 2 * top - 1 - t] = up_link(tier, leaf_b / tier->span, i, c) + 1;
        i = i * tier->ups + c;
    }
    path->count += 2 * top;
    path_append(path, port_link(shape, port_b, side_b) + 1);
}

static uint64_t ways(const network_part *part, uint32_t port_a, uint32_t port_b) {
    const clos_shape *shape = shape_of(part);
    uint32_t leaf_a = leaf_of(part, port_a), leaf_b = leaf_of(part, port_b), top = climb(shape, leaf_a, leaf_b);
    if (leaf_a == leaf_b) return shape->sides;
    uint64_t count = (uint64_t)shape->sides * shape->sides;
    for (uint32_t t = 0; t < top; t++) count *= shape->tier[t].ups;
    return count;
}

/* Ports of a leaf one after another, so that neighbours take different spines (D-mod-k). */
static uint64_t static_draw(const network_part *part, uint32_t port_b) {
    const clos_shape *shape = shape_of(part);
    uint32_t node = port_b / part->rails % shape->block_nodes, rail = port_b % part->rails;
    uint32_t position = shape->block_leaves == shape->sides ? node * part->rails + rail : node;
    return (uint64_t)leaf_of(part, port_b) / shape->sides * shape->leaf_ports + position;
}

/* twins: of links that carry the same, the first only. */
static void spread_any(const network_part *part, uint32_t port_a, uint32_t port_b, bool twins, visit_fn *visit, void *object) {
    const clos_shape *shape = shape_of(part);
    uint32_t leaf_a = leaf_of(part, port_a), leaf_b = leaf_of(part, port_b), top = climb(shape, leaf_a, leaf_b);
    if (leaf_a == leaf_b) top = 0;
    for (uint32_t side = 0; side < shape->sides; side++) visit(object, port_link(shape, port_a, side), 1.0 / shape->sides);
    for (uint32_t t = 0; t < top; t++) {
        const clos_tier *tier = &shape->tier[t];
        uint32_t sides = t == 0 ? shape->sides : 1, links = tier->width * tier->ups;
        double share = 1.0 / ((double)links * sides);
        for (uint32_t side = 0; side < sides; side++)
            for (uint32_t i = 0; i < (twins ? 1 : links); i++) {
                visit(object, up_link(tier, (leaf_a + side) / tier->span, i / tier->ups, i % tier->ups), share);
                visit(object, up_link(tier, (leaf_b + side) / tier->span, i / tier->ups, i % tier->ups) + 1, share);
            }
    }
    for (uint32_t side = 0; side < shape->sides; side++) visit(object, port_link(shape, port_b, side) + 1, 1.0 / shape->sides);
}

static void spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    spread_any(part, port_a, port_b, false, visit, object);
}

static void spread_twins(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    spread_any(part, port_a, port_b, true, visit, object);
}

/* --- Exchanges: sums over subtrees ------------------------------------------------------------------------------ */

typedef struct exchange_sums { /* out and in of ports below each subtree of a tier; what its own blocks keep from it */
    double *out, *in, *kept_out, *kept_in;
} exchange_sums;

static uint32_t subtree_of(const network_part *part, uint32_t t, uint32_t port) { return leaf_of(part, port) / shape_of(part)->tier[t].span; }

/* What stays in a block but would leave a subtree. */
static void keep_blocks(const network_part *part, uint32_t t, uint32_t block, const double *out, const double *in, exchange_sums *s) {
    uint32_t ports = part->nodes * part->rails, each = block * part->rails;
    for (uint32_t first = 0; first < ports; first += each) {
        uint32_t end = first + each < ports ? first + each : ports;
        for (uint32_t a = first; a < end; a++) {
            uint32_t from = subtree_of(part, t, a);
            for (uint32_t b = first; out[a] > 0 && b < end; b++) {
                uint32_t to = subtree_of(part, t, b);
                if (in[b] > 0 && from != to) s->kept_out[from] += out[a] * in[b], s->kept_in[to] += out[a] * in[b];
            }
        }
    }
}

static void exchange_tier(const network_part *part, uint32_t t, uint32_t block, const double *out, const double *in, exchange_sums *s,
                          visit_fn *visit, void *object) {
    const clos_shape *shape = shape_of(part);
    const clos_tier *tier = &shape->tier[t];
    uint32_t ports = part->nodes * part->rails, leaves = shape->tier[0].subtrees, sides = t == 0 ? shape->sides : 1;
    double all_out = 0, all_in = 0;
    for (uint32_t i = 0; i < leaves; i++) s->out[i] = s->in[i] = s->kept_out[i] = s->kept_in[i] = 0;
    for (uint32_t p = 0; p < ports; p++) {
        s->out[subtree_of(part, t, p)] += out[p], s->in[subtree_of(part, t, p)] += in[p];
        all_out += out[p], all_in += in[p];
    }
    keep_blocks(part, t, block, out, in, s);
    double share = 1.0 / ((double)tier->width * tier->ups * sides);
    for (uint32_t i = 0; i < leaves; i++) {
        double up = s->out[i] * (all_in - s->in[i]) - s->kept_out[i], down = s->in[i] * (all_out - s->out[i]) - s->kept_in[i];
        for (uint32_t side = 0; side < sides && (s->out[i] > 0 || s->in[i] > 0); side++) {
            visit(object, up_link(tier, i + side, 0, 0), up > 0 ? up * share : 0);
            visit(object, up_link(tier, i + side, 0, 0) + 1, down > 0 ? down * share : 0);
        }
    }
}

static void exchange_ports(const network_part *part, uint32_t block, const double *out, const double *in, visit_fn *visit, void *object) {
    const clos_shape *shape = shape_of(part);
    uint32_t ports = part->nodes * part->rails, each = block * part->rails;
    double all_out = 0, all_in = 0;
    for (uint32_t p = 0; p < ports; p++) all_out += out[p], all_in += in[p];
    for (uint32_t first = 0; first < ports; first += each) {
        uint32_t end = first + each < ports ? first + each : ports;
        double here_out = 0, here_in = 0;
        for (uint32_t p = first; p < end; p++) here_out += out[p], here_in += in[p];
        for (uint32_t p = first; p < end; p++)
            for (uint32_t side = 0; side < shape->sides; side++) {
                visit(object, port_link(shape, p, side), out[p] * (all_in - here_in) / shape->sides);
                visit(object, port_link(shape, p, side) + 1, in[p] * (all_out - here_out) / shape->sides);
            }
    }
}

static pw_status spread_exchange(const network_part *part, uint32_t block, const double *out, const double *in, visit_fn *visit,
                                 void *object) {
    const clos_shape *shape = shape_of(part);
    size_t leaves = shape->tier[0].subtrees, size = 4 * (leaves + 1) * sizeof(double);
    double *memory = pw_alloc(part->allocator, size);
    if (!memory) return PW_NO_MEMORY;
    exchange_sums sums = {memory, memory + leaves, memory + 2 * leaves, memory + 3 * leaves};
    exchange_ports(part, block, out, in, visit, object);
    for (uint32_t t = 0; t + 1 < shape->tiers; t++) exchange_tier(part, t, block, out, in, &sums, visit, object);
    pw_free(part->allocator, memory, size);
    return PW_OK;
}

static pw_twins twins(const network_part *part, pw_link link) {
    const clos_shape *shape = shape_of(part);
    for (uint32_t t = 0; t + 1 < shape->tiers; t++) {
        const clos_tier *tier = &shape->tier[t];
        uint32_t each = tier->width * tier->ups, offset = link - tier->links;
        if (link >= tier->links && offset < 2 * tier->subtrees * each)
            return (pw_twins){up_link(tier, offset / 2 / each, 0, 0) + offset % 2, each};
    }
    return (pw_twins){link, 1};
}

/* --- Facts ----------------------------------------------------------------------------------------------------- */

static const char *const tier_names[] = {"leaf", "spine", "core", "tier 4", "tier 5", "tier 6"};

static pw_switch_info place(const network_part *part, uint32_t i) {
    const clos_shape *shape = shape_of(part);
    uint32_t t = 0;
    for (; i >= shape->tier[t].subtrees * shape->tier[t].width; t++) i -= shape->tier[t].subtrees * shape->tier[t].width;
    return (pw_switch_info){.tier = t, .group = i / shape->tier[t].width, .index = i % shape->tier[t].width};
}

static pw_network_facts facts(const network_part *part) {
    static const char *const cable_names[] = {"leaf to spine", "spine to core", "core to tier 4", "tier 4 to tier 5",
                                              "tier 5 to tier 6"};
    const clos_shape *shape = shape_of(part);
    uint32_t ports = part->nodes * part->rails;
    pw_network_facts made = {.tiers = shape->tiers, .tier_count = shape->tiers, .cable_count = shape->tiers,
                             .hops = 2 * shape->tiers, .oversubscription = 1};
    made.cables = ports * shape->sides;
    made.cable[0].name = "port";
    made.cable[0].cables = made.cables;
    made.cable[0].cable_Bps = part->cable_Bps / shape->sides;
    made.bisection_Bps = ports / 2 * part->cable_Bps;
    uint32_t below = shape->leaf_ports; /* cables of a switch downwards */
    for (uint32_t t = 0; t < shape->tiers; t++) {
        const clos_tier *tier = &shape->tier[t];
        uint32_t up = tier->ups * tier->cables;
        made.tier[t].name = tier_names[t];
        made.tier[t].switches = tier->subtrees * tier->width;
        made.tier[t].most_cables = below + up;
        *(t == 0 ? &made.leaves : t == 1 ? &made.spines : &made.cores) += made.tier[t].switches;
        if (t + 1 == shape->tiers) break;
        made.cable[t + 1].name = cable_names[t];
        made.cable[t + 1].cables = made.tier[t].switches * up;
        made.cable[t + 1].cable_Bps = tier->cable_Bps;
        made.cables += made.cable[t + 1].cables;
        /* Half of a tier's subtrees against the other half: the tightest tier decides. */
        made.bisection_Bps = fmin(made.bisection_Bps, made.cable[t + 1].cables / 2.0 * tier->cable_Bps);
        below = tier[1].children * tier->cables;
    }
    if (shape->tiers > 1)
        made.oversubscription = shape->leaf_ports * part->cable_Bps / shape->sides /
                                (shape->tier[0].ups * shape->tier[0].cables * shape->tier[0].cable_Bps);
    return made;
}

#define CLOS                                                                                                          \
    .folded_clos = true, .destroy = destroy, .route = route, .ways = ways, .static_draw = static_draw, .spread = spread, \
    .twins = twins, .spread_twins = spread_twins, .spread_exchange = spread_exchange, .place = place, .facts = facts
const pw_topology topology_single_switch = {.name = "single_switch", .one_switch = true, .build = build_single,
                                            .uses = USES_OVERSUBSCRIPTION,
                                            .text = "one switch that all ports share, as large as needed", CLOS};
const pw_topology topology_fat_tree = {
    .name = "fat_tree", .build = build_fat_tree, CLOS, .uses = USES_OVERSUBSCRIPTION | USES_TIERS,
    .text = "leaves and spines (and more tiers when large); all ports of a node on one leaf"};
const pw_topology topology_rail_optimized = {
    .name = "rail_optimized", .rail_aligned = true, .build = build_rails, CLOS, .uses = USES_OVERSUBSCRIPTION | USES_TIERS,
    .text = "leaves and spines (and more tiers when large); port r of the nodes of a block on leaf r"};
const pw_topology topology_rail_only = {
    .name = "rail_only", .rail_aligned = true, .rails_apart = true, .build = build_fat_tree, CLOS,
    .uses = USES_OVERSUBSCRIPTION | USES_TIERS,
    .text = "every rail is a network of its own; data for another rail change rails over NVLink inside a node"};
