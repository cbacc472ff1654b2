/* Folded Clos networks of one to three tiers.
 *
 * A leaf has n ports in use and ceil(n / oversubscription) uplinks, with both together at most the radix; nodes are dealt to as
 * few leaves as possible, evenly. Two tiers: every leaf reaches every spine with the same number of cables; the fewest
 * spines are taken that have enough ports. Three tiers: pods of radix / 2 leaves with one spine per uplink; a spine
 * has as many uplinks as downlinks; spine s of every pod meets in core group s. Only leaves are oversubscribed.
 *
 * fat_tree puts all rails of a node on one leaf. rail_optimized puts rail r of the nodes of a block on leaf r of the block.
 */
#include <math.h>

#include "models/fabric/network_internal.h"

typedef struct clos_shape {
    uint32_t leaves;
    uint32_t block_nodes;     /* nodes that share a leaf, or a set of leaves */
    uint32_t block_leaves;    /* leaves of such a block: 1, or one per rail */
    uint32_t leaf_ports;      /* ports in use on a leaf (the largest) */
    uint32_t uplinks;         /* cables of a leaf to its spines; 0: one leaf */
    uint32_t pods, pod_leaves;
    uint32_t pod_spines;      /* spines of a pod; every leaf reaches all spines of its pod */
    uint32_t spine_cores;     /* cores above one spine; spine s of every pod reaches the cores of group s; 0: two tiers */
    uint32_t leaf_cables;     /* parallel cables leaf to spine */
    uint32_t core_cables;     /* parallel cables spine to core */
    pw_link port_links, leaf_links, spine_links; /* the first of each group: cable k is links first + 2k up, first + 2k + 1 down */
} clos_shape;

static const clos_shape *shape_of(const pw_network *network) { return network->state; }

static uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

static uint32_t uplinks_for(uint32_t ports, double oversubscription) {
    double exact = (double)ports / oversubscription;
    uint32_t uplinks = (uint32_t)exact;
    return uplinks + (exact - uplinks > 1e-9);
}

/* --- Shape -------------------------------------------------------------------------------------------------- */

static pw_status too_large(const pw_network *network, uint64_t most, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix or network.oversubscription",
                   "%u nodes with %u ports need more than three tiers of switches with %lld ports (they join %llu leaves)",
                   network->nodes, network->rails, (long long)network->desc.radix, (unsigned long long)most);
}

/* Spines and cores above leaves and uplinks that are set. */
static pw_status shape_upper(const pw_network *network, clos_shape *shape, pw_error *error) {
    uint32_t radix = (uint32_t)network->desc.radix;
    shape->pods = 1;
    shape->pod_leaves = shape->leaves;
    if (shape->leaves <= radix) {
        uint32_t spines = 1; /* the fewest that divide the uplinks and have ports for all leaves */
        while (shape->uplinks % spines || (uint64_t)shape->leaves * (shape->uplinks / spines) > radix) spines++;
        shape->pod_spines = spines;
        shape->leaf_cables = shape->uplinks / spines;
        return PW_OK;
    }
    uint32_t half = radix / 2;
    shape->pod_spines = shape->uplinks;
    shape->leaf_cables = 1;
    /* whole blocks in a pod where they fit */
    shape->pod_leaves = half >= shape->block_leaves ? half - half % shape->block_leaves : half;
    shape->pods = ceil_div(shape->leaves, shape->pod_leaves);
    if (shape->pods > radix) return too_large(network, (uint64_t)radix * shape->pod_leaves, error);
    shape->pod_leaves = ceil_div(ceil_div(shape->leaves, shape->pods), shape->block_leaves) * shape->block_leaves;
    if (shape->pod_leaves > half) shape->pod_leaves = half;
    shape->pods = ceil_div(shape->leaves, shape->pod_leaves);
    uint32_t cores = 1;
    while (shape->pod_leaves % cores || (uint64_t)shape->pods * (shape->pod_leaves / cores) > radix) cores++;
    shape->spine_cores = cores;
    shape->core_cables = shape->pod_leaves / cores;
    return PW_OK;
}

/* node_ports: ports of one node on one leaf; block_leaves: leaves of a block. */
static pw_status shape_leaves(pw_network *network, uint32_t node_ports, uint32_t block_leaves, pw_error *error) {
    clos_shape *shape = network->state;
    uint32_t radix = (uint32_t)network->desc.radix, nodes = network->nodes;
    double oversubscription = network->desc.oversubscription;
    shape->block_leaves = block_leaves;
    if (block_leaves == 1 && (uint64_t)nodes * node_ports <= radix) { /* one leaf, no uplinks */
        *shape = (clos_shape){.leaves = 1, .block_nodes = nodes, .block_leaves = 1, .leaf_ports = nodes * node_ports,
                              .pods = 1, .pod_leaves = 1};
        return PW_OK;
    }
    uint32_t most = radix / node_ports;
    while (most && most * node_ports + uplinks_for(most * node_ports, oversubscription) > radix) most--;
    if (!most)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix or network.oversubscription",
                       "a leaf switch with %u ports has no room for the %u ports of one node and their uplinks", radix,
                       node_ports);
    uint32_t blocks = ceil_div(nodes, most);
    shape->block_nodes = ceil_div(nodes, blocks);
    blocks = ceil_div(nodes, shape->block_nodes);
    shape->leaves = blocks * block_leaves;
    shape->leaf_ports = shape->block_nodes * node_ports;
    shape->uplinks = uplinks_for(shape->leaf_ports, oversubscription);
    return shape_upper(network, shape, error);
}

/* --- Building ------------------------------------------------------------------------------------------------- */

static uint32_t leaf_of(const pw_network *network, uint32_t port) {
    const clos_shape *shape = shape_of(network);
    uint32_t node = port / network->rails, rail = port % network->rails;
    return node / shape->block_nodes * shape->block_leaves + rail % shape->block_leaves;
}

/* A cable up and down: into a switch it costs a hop more than into a NIC. */
static bool add_cable(pw_network *network, pw_vertex below, pw_vertex above, pw_link_kind kind, uint32_t cables,
                      pw_link *first) {
    double bandwidth_Bps = cables * network->cable_Bps, cable_s = network->desc.cable_latency_s;
    double hop_s = cable_s + network->desc.hop_latency_s;
    pw_link up = pw_fabric_add_link(network->fabric, below, above, kind, bandwidth_Bps, hop_s);
    if (up == PW_NONE) return false;
    if (*first == PW_NONE) *first = up;
    return pw_fabric_add_link(network->fabric, above, below, kind, bandwidth_Bps,
                              kind == PW_LINK_NETWORK ? cable_s : hop_s) != PW_NONE;
}

static bool add_vertices(pw_fabric *fabric, pw_vertex_kind kind, uint32_t count, pw_vertex *first) {
    for (uint32_t i = 0; i < count; i++) {
        pw_vertex vertex = pw_fabric_add_vertex(fabric, kind);
        if (vertex == PW_NONE) return false;
        if (i == 0) *first = vertex;
    }
    return true;
}

static bool add_switches(pw_network *network) {
    clos_shape *shape = network->state;
    pw_vertex leaf = 0, spine = 0, core = 0;
    uint32_t spines = shape->pods * shape->pod_spines;
    shape->port_links = shape->leaf_links = shape->spine_links = PW_NONE;
    if (!add_vertices(network->fabric, PW_VERTEX_LEAF, shape->leaves, &leaf)) return false;
    if (!add_vertices(network->fabric, PW_VERTEX_SPINE, spines, &spine)) return false;
    if (!add_vertices(network->fabric, PW_VERTEX_CORE, shape->pod_spines * shape->spine_cores, &core)) return false;
    for (uint32_t port = 0; port < network->nodes * network->rails; port++)
        if (!add_cable(network, network->ports[port], leaf + leaf_of(network, port), PW_LINK_NETWORK, 1,
                       &shape->port_links))
            return false;
    for (uint32_t i = 0; i < shape->leaves; i++)
        for (uint32_t s = 0; s < shape->pod_spines; s++)
            if (!add_cable(network, leaf + i, spine + i / shape->pod_leaves * shape->pod_spines + s, PW_LINK_TRUNK,
                           shape->leaf_cables, &shape->leaf_links))
                return false;
    for (uint32_t i = 0; i < spines; i++)
        for (uint32_t c = 0; c < shape->spine_cores; c++)
            if (!add_cable(network, spine + i, core + i % shape->pod_spines * shape->spine_cores + c, PW_LINK_TRUNK,
                           shape->core_cables, &shape->spine_links))
                return false;
    return true;
}

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the network");
}

static pw_status begin(pw_network *network, pw_error *error) {
    network->state = pw_alloc_zero(network->allocator, sizeof(clos_shape));
    return network->state ? PW_OK : no_memory(error);
}

static pw_status build(pw_network *network, pw_error *error) {
    return add_switches(network) ? PW_OK : no_memory(error);
}

static pw_status build_single(pw_network *network, pw_error *error) {
    uint32_t ports = network->nodes * network->rails;
    if (network->desc.radix && ports > network->desc.radix)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use topology 'fat_tree', or leave network.radix out",
                       "one switch with %lld ports cannot join %u", (long long)network->desc.radix, ports);
    PW_TRY(begin(network, error));
    *(clos_shape *)network->state = (clos_shape){.leaves = 1, .block_nodes = network->nodes, .block_leaves = 1,
                                                 .leaf_ports = ports, .pods = 1, .pod_leaves = 1};
    return build(network, error);
}

static pw_status build_fat_tree(pw_network *network, pw_error *error) {
    PW_TRY(begin(network, error));
    PW_TRY(shape_leaves(network, network->rails, 1, error));
    return build(network, error);
}

static pw_status build_rails(pw_network *network, pw_error *error) {
    PW_TRY(begin(network, error));
    PW_TRY(shape_leaves(network, 1, network->rails, error));
    return build(network, error);
}

static void destroy(pw_network *network) {
    pw_free(network->allocator, network->state, sizeof(clos_shape));
}

/* --- Routes --------------------------------------------------------------------------------------------------- */

/* A well-mixed function of flow and ports, as the hash of a packet's header is (Steele et al.'s SplitMix64 finaliser). */
static uint64_t mix(uint64_t hash, uint32_t a, uint32_t b) {
    uint64_t z = hash * 0x9e3779b97f4a7c15u + (((uint64_t)a << 32) | b);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static pw_link leaf_link(const pw_network *network, uint32_t leaf, uint32_t spine) {
    const clos_shape *shape = shape_of(network);
    return shape->leaf_links + 2 * (leaf * shape->pod_spines + spine);
}
static pw_link spine_link(const pw_network *network, uint32_t pod, uint32_t spine, uint32_t core) {
    const clos_shape *shape = shape_of(network);
    return shape->spine_links + 2 * ((pod * shape->pod_spines + spine) * shape->spine_cores + core);
}

static void append(pw_path *path, pw_link link) {
    PW_CHECK(path->count < PW_ROUTE_MAX);
    path->links[path->count++] = link;
}

static void route(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path) {
    const clos_shape *shape = shape_of(network);
    uint32_t leaf_a = leaf_of(network, port_a), leaf_b = leaf_of(network, port_b);
    append(path, shape->port_links + 2 * port_a);
    if (leaf_a != leaf_b) {
        uint64_t draw = mix(hash, port_a, port_b);
        uint32_t spine = (uint32_t)(draw % shape->pod_spines);
        uint32_t pod_a = leaf_a / shape->pod_leaves, pod_b = leaf_b / shape->pod_leaves;
        append(path, leaf_link(network, leaf_a, spine));
        if (pod_a != pod_b) {
            uint32_t core = (uint32_t)(draw / shape->pod_spines % shape->spine_cores);
            append(path, spine_link(network, pod_a, spine, core));
            append(path, spine_link(network, pod_b, spine, core) + 1);
        }
        append(path, leaf_link(network, leaf_b, spine) + 1);
    }
    append(path, shape->port_links + 2 * port_b + 1);
}

static void spread(const pw_network *network, uint32_t port_a, uint32_t port_b,
                 void (*visit)(void *object, pw_link link, double fraction), void *object) {
    const clos_shape *shape = shape_of(network);
    uint32_t leaf_a = leaf_of(network, port_a), leaf_b = leaf_of(network, port_b);
    visit(object, shape->port_links + 2 * port_a, 1);
    for (uint32_t spine = 0; leaf_a != leaf_b && spine < shape->pod_spines; spine++) {
        uint32_t pod_a = leaf_a / shape->pod_leaves, pod_b = leaf_b / shape->pod_leaves;
        double share = 1.0 / shape->pod_spines;
        visit(object, leaf_link(network, leaf_a, spine), share);
        for (uint32_t core = 0; pod_a != pod_b && core < shape->spine_cores; core++) {
            visit(object, spine_link(network, pod_a, spine, core), share / shape->spine_cores);
            visit(object, spine_link(network, pod_b, spine, core) + 1, share / shape->spine_cores);
        }
        visit(object, leaf_link(network, leaf_b, spine) + 1, share);
    }
    visit(object, shape->port_links + 2 * port_b + 1, 1);
}

static void spread_twins(const pw_network *network, uint32_t port_a, uint32_t port_b,
                       void (*visit)(void *object, pw_link link, double fraction), void *object) {
    const clos_shape *shape = shape_of(network);
    uint32_t leaf_a = leaf_of(network, port_a), leaf_b = leaf_of(network, port_b);
    visit(object, shape->port_links + 2 * port_a, 1);
    if (leaf_a != leaf_b) {
        uint32_t pod_a = leaf_a / shape->pod_leaves, pod_b = leaf_b / shape->pod_leaves;
        double share = 1.0 / shape->pod_spines;
        visit(object, leaf_link(network, leaf_a, 0), share);
        if (pod_a != pod_b && shape->spine_cores > 0) {
            visit(object, spine_link(network, pod_a, 0, 0), share / shape->spine_cores);
            visit(object, spine_link(network, pod_b, 0, 0) + 1, share / shape->spine_cores);
        }
        visit(object, leaf_link(network, leaf_b, 0) + 1, share);
    }
    visit(object, shape->port_links + 2 * port_b + 1, 1);
}

static pw_twins twins(const pw_network *network, pw_link link) {
    const clos_shape *shape = shape_of(network);
    uint32_t per_leaf = shape->pod_spines, leaf_cables = shape->leaves * per_leaf;
    uint32_t per_pod = shape->pod_spines * shape->spine_cores, pod_cables = shape->pods * per_pod;
    if (shape->leaf_links != PW_NONE && link >= shape->leaf_links && link - shape->leaf_links < 2 * leaf_cables) {
        uint32_t offset = link - shape->leaf_links;
        return (pw_twins){leaf_link(network, offset / 2 / per_leaf, 0) + offset % 2, per_leaf};
    }
    if (shape->spine_links != PW_NONE && link >= shape->spine_links && link - shape->spine_links < 2 * pod_cables) {
        uint32_t offset = link - shape->spine_links;
        return (pw_twins){spine_link(network, offset / 2 / per_pod, 0, 0) + offset % 2, per_pod};
    }
    return (pw_twins){link, 1};
}

static pw_network_facts facts(const pw_network *network) {
    const clos_shape *shape = shape_of(network);
    uint32_t ports = network->nodes * network->rails, spines = shape->pods * shape->pod_spines;
    pw_network_facts made = {.leaves = shape->leaves, .spines = spines, .cores = shape->pod_spines * shape->spine_cores,
                             .tiers = 1u + (spines != 0) + (shape->spine_cores != 0), .oversubscription = 1};
    made.hops = 2 * made.tiers;
    made.cables = ports + shape->leaves * shape->uplinks + spines * shape->spine_cores * shape->core_cables;
    made.bisection_Bps = ports / 2 * network->cable_Bps;
    if (spines) {
        /* Half of the leaves against the other half: the upper tiers carry what the leaves' uplinks do. */
        double cables = (double)shape->leaves * shape->uplinks / 2;
        made.bisection_Bps = fmin(made.bisection_Bps, cables * network->cable_Bps);
        made.oversubscription = (double)shape->leaf_ports / shape->uplinks;
    }
    return made;
}

#define CLOS .destroy = destroy, .route = route, .spread = spread, .twins = twins, .spread_twins = spread_twins, .facts = facts
const pw_topology topology_single_switch = {.name = "single_switch", .one_switch = true, .build = build_single,
                                            .text = "one switch that all ports share, as large as needed", CLOS};
const pw_topology topology_fat_tree = {.name = "fat_tree", .build = build_fat_tree, CLOS,
                                       .text = "leaves and spines (and cores when large); all ports of a node on one leaf"};
const pw_topology topology_rail_optimized = {
    .name = "rail_optimized", .rail_aligned = true, .build = build_rails, CLOS,
    .text = "leaves and spines (and cores when large); port r of the nodes of a block on leaf r"};
