/* Builds the fabric of a cluster: first the NVSwitch crossbars (one vertex per NVLink domain; its planes are used evenly,
 * so they are folded into one), then part after part and node after node, then the network. Nodes of a part are alike: a
 * link of its node n is the template's link plus n times the number of links of a node, and a route is put together from
 * pieces. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/node/node_internal.h"

enum { LARGEST_CLUSTER = 1 << 20 };

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the cluster");
}

/* --- Parts ------------------------------------------------------------------------------------------------------ */

/* GPUs per scale-up domain. Nodes that do not fill the last domain are spread evenly where some number of nodes per
 * domain, at least half of the most, divides them: 128 trays of NVL72 racks sit 16 in each of 8 racks, as jobs get them. */
static uint32_t spread_domain(const node_wiring *wiring, uint32_t nodes, bool is_given) {
    uint32_t most = wiring->domain / wiring->gpus;
    if (is_given || most < 2 || nodes <= most) return wiring->domain;
    for (uint32_t each = most; each >= (most + 1) / 2; each--)
        if (nodes % each == 0) return each * wiring->gpus;
    return wiring->domain;
}

static pw_status resolve_part(pw_cluster *cluster, const pw_node_desc *desc, int64_t nodes, const char *field,
                              cluster_part *part, pw_error *error) {
    part->wiring = pw_arena_alloc(cluster->arena, sizeof *part->wiring);
    if (!part->wiring) return no_memory(error);
    node_wiring *wiring = part->wiring;
    PW_TRY(node_resolve(cluster->catalogue, desc, wiring, error));
    wiring->host = pw_arena_text(cluster->arena, wiring->host); /* the description may go away before the cluster */
    if (!wiring->host) return no_memory(error);
    if (nodes < 1 || nodes > LARGEST_CLUSTER || cluster->gpus + nodes * (int64_t)wiring->gpus > LARGEST_CLUSTER)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take fewer nodes, or fewer GPUs in each", "%s is %lld with %u GPUs each; 1 to %d GPUs are possible", field,
                       (long long)nodes, wiring->gpus, LARGEST_CLUSTER);
    part->nodes = (uint32_t)nodes;
    part->domain = spread_domain(wiring, part->nodes, desc->scaleup_domain > 0);
    part->first_node = cluster->nodes;
    part->first_gpu = cluster->gpus;
    part->first_port = cluster->ports;
    cluster->nodes += part->nodes;
    cluster->gpus += part->nodes * wiring->gpus;
    cluster->ports += part->nodes * wiring->nics;
    return PW_OK;
}

static pw_status resolve_parts(pw_cluster *cluster, const pw_cluster_desc *desc, pw_error *error) {
    const pw_one_of *more = desc->more.items;
    cluster->part_count = 1 + desc->more.count;
    cluster->parts = pw_arena_alloc(cluster->arena, cluster->part_count * sizeof *cluster->parts);
    if (!cluster->parts) return no_memory(error);
    memset(cluster->parts, 0, cluster->part_count * sizeof *cluster->parts);
    PW_TRY(resolve_part(cluster, &desc->node, desc->nodes, "cluster.nodes", cluster->parts, error));
    for (uint32_t i = 0; i < desc->more.count; i++) {
        const pw_nodes_desc *nodes = more[i].record;
        char field[48];
        snprintf(field, sizeof field, "cluster.more[%u].nodes", i + 1);
        PW_TRY(resolve_part(cluster, &nodes->node, nodes->nodes, field, &cluster->parts[i + 1], error));
    }
    return PW_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------------------------ */

static bool add_node_vertices(pw_fabric *fabric, const node_template *node) {
    for (uint32_t v = 0; v < node->vertices; v++) {
        pw_vertex_kind kind = v < node->first_nic      ? PW_VERTEX_GPU
                              : v < node->first_switch ? PW_VERTEX_NIC
                              : v < node->first_cpu    ? PW_VERTEX_PCIE_SWITCH
                                                       : PW_VERTEX_CPU;
        if (pw_fabric_add_vertex(fabric, kind) == PW_NONE) return false;
    }
    return true;
}

pw_vertex cluster_vertex(const cluster_part *part, uint32_t node, uint16_t local, uint16_t other) {
    if (local == LOCAL_NVSWITCH) return part->first_crossbar + (node * part->node.gpus + other) / part->domain;
    return part->first_vertex + node * part->node.vertices + local;
}

static uint32_t domain_count(const cluster_part *part) {
    uint64_t gpus = (uint64_t)part->nodes * part->node.gpus;
    return (uint32_t)((gpus + part->domain - 1) / part->domain);
}

static bool add_crossbars(pw_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        cluster_part *part = &cluster->parts[i];
        part->first_crossbar = pw_fabric_vertices(cluster->fabric);
        for (uint32_t c = 0; part->wiring->scaleup == SCALEUP_NVSWITCH && c < domain_count(part); c++)
            if (pw_fabric_add_vertex(cluster->fabric, PW_VERTEX_NVSWITCH) == PW_NONE) return false;
    }
    return true;
}

static bool add_links(pw_cluster *cluster, cluster_part *part) {
    part->first_link = pw_fabric_links(cluster->fabric);
    for (uint32_t n = 0; n < part->nodes; n++)
        for (size_t l = 0; l < part->node.link_count; l++) {
            const local_link *link = &part->node.links[l];
            if (pw_fabric_add_link(cluster->fabric, cluster_vertex(part, n, link->from, link->to),
                                   cluster_vertex(part, n, link->to, link->from), link->kind, link->bandwidth_Bps,
                                   link->latency_s) == PW_NONE)
                return false;
        }
    return true;
}

static pw_status add_nodes(pw_cluster *cluster, pw_error *error) {
    for (uint32_t i = 0; i < cluster->part_count; i++)
        PW_TRY(template_create(cluster->allocator, cluster->parts[i].wiring, &cluster->parts[i].node, error));
    if (!add_crossbars(cluster)) return no_memory(error);
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        cluster_part *part = &cluster->parts[i];
        part->first_vertex = pw_fabric_vertices(cluster->fabric);
        for (uint32_t n = 0; n < part->nodes; n++)
            if (!add_node_vertices(cluster->fabric, &part->node)) return no_memory(error);
    }
    for (uint32_t i = 0; i < cluster->part_count; i++)
        if (!add_links(cluster, &cluster->parts[i])) return no_memory(error);
    return PW_OK;
}

/* --- Network ----------------------------------------------------------------------------------------------------- */

/* The part with the fastest ports: the network is built for them. */
static const cluster_part *fastest_ports(const pw_cluster *cluster) {
    const cluster_part *fastest = cluster->parts;
    for (uint32_t i = 1; i < cluster->part_count; i++) {
        const cluster_part *part = &cluster->parts[i];
        if (part->wiring->nics && (!fastest->wiring->nics || part->wiring->nic_line_Bps > fastest->wiring->nic_line_Bps))
            fastest = part;
    }
    return fastest;
}

/* Fills what the description leaves open from node and catalogue. */
static pw_status complete_network(pw_cluster *cluster, pw_error *error) {
    pw_network_desc *desc = &cluster->network_desc;
    const node_wiring *wiring = fastest_ports(cluster)->wiring;
    if (!(desc->port_Bps > 0)) desc->port_Bps = wiring->nic_line_Bps;
    else if (wiring->is_nic_rate_given) desc->port_Bps = fmin(desc->port_Bps, wiring->nic_line_Bps);
    PW_TRY(node_port_link(cluster->catalogue, wiring, desc->port_Bps, &cluster->network_link, error));
    if (!(desc->efficiency > 0)) desc->efficiency = cluster->network_link.efficiency;
    if (!(desc->hop_latency_s >= 0)) /* of the protocol's own switches, where they are known to differ */
        desc->hop_latency_s = pw_table_number_of(cluster->network_link.table, cluster->network_link.row, "hop");
    if (!(desc->hop_latency_s >= 0))
        PW_TRY(node_latency(cluster->catalogue, "network switch hop", &desc->hop_latency_s, error));
    if (!(desc->cable_latency_s >= 0))
        PW_TRY(node_latency(cluster->catalogue, "network cable", &desc->cable_latency_s, error));
    /* a cable of a divided port is slower, and a switch has more ports of that rate */
    double split = (double)(desc->planes > 1 ? desc->planes : 1) * (double)(desc->leaves_per_port > 1 ? desc->leaves_per_port : 1);
    if (!desc->radix && pw_topology_has_radix(desc->topology))
        desc->radix = node_switch_radix(cluster->catalogue, wiring, desc->port_Bps / split);
    return PW_OK;
}

/* Ports of parts that are slower than the network's. Of one type of nodes, the description of the network decides. */
static pw_status rate_ports(pw_cluster *cluster, pw_error *error) {
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        node_wiring *wiring = cluster->parts[i].wiring;
        double payload_Bps = cluster->network_desc.port_Bps * cluster->network_desc.efficiency;
        wiring->nic_Bps = INFINITY;
        if (cluster->part_count > 1 && wiring->nics && wiring->nic_line_Bps < cluster->network_desc.port_Bps) {
            node_link link;
            PW_TRY(node_port_link(cluster->catalogue, wiring, wiring->nic_line_Bps, &link, error));
            wiring->nic_Bps = payload_Bps = fmin(payload_Bps, wiring->nic_line_Bps * link.efficiency);
            wiring->port_link = link;
        }
        cluster->parts[i].nic_Bps = wiring->nics ? fmin(payload_Bps, wiring->pcie_Bps) : 0;
    }
    return PW_OK;
}

/* A cluster without ports is one node, or GPUs of one NVSwitch domain. */
static pw_status check_ports(const pw_cluster *cluster, pw_error *error) {
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        const cluster_part *part = &cluster->parts[i];
        uint32_t domain_nodes = part->domain / part->wiring->gpus;
        bool alone = cluster->nodes == 1 || (cluster->part_count == 1 && part->wiring->scaleup == SCALEUP_NVSWITCH &&
                                             domain_nodes >= cluster->nodes);
        if (part->wiring->nics || alone) continue;
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "set node.nics and node.nic_rate, or make it one node",
                       "%u nodes without network ports cannot work together", part->nodes);
    }
    return PW_OK;
}

/* Rows of the network: nodes of one type are a row each. Nodes with different numbers of ports are rows of their greatest
 * common divisor, so that a node of 8 ports beside nodes of 4 is two rows. */
static pw_status count_rails(pw_cluster *cluster, pw_error *error) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        uint32_t a = cluster->rails, b = cluster->parts[i].wiring->nics;
        if (b < least) least = b;
        while (b) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        cluster->rails = a;
    }
    if (cluster->rails == least || !pw_topology_is_rail_aligned(cluster->network_desc.topology)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take network.topology = \"fat_tree\", or node.nics that divide each other",
                   "nodes with %u ports and with others that %u does not divide have no rails in common", least, least);
}

/* Parts of a network that no network has are not passed over. What also holds for more nodes (rates, oversubscription, routing) may
 * stand, so that a study can vary the number of nodes. */
static pw_status check_unused(const pw_cluster *cluster, pw_error *error) {
    const pw_network_desc *desc = &cluster->network_desc;
    const struct {
        const char *name;
        bool given;
    } fields[] = {{"switches", desc->switches.count != 0}, {"cables", desc->cables.count != 0}, {"attachments", desc->attachments.count != 0},
                  {"tiers", desc->tiers.count != 0}, {"dims", desc->dims.count != 0}, {"group_switches", desc->group_switches != 0},
                  {"group_spines", desc->group_spines != 0}, {"global_links", desc->global_links != 0}, {"planes", desc->planes > 1},
                  {"leaves_per_port", desc->leaves_per_port > 1}, {"trunks", desc->trunks > 1}, {"trunk_rate", desc->trunk_Bps > 0},
                  {"nodes_per_switch", desc->nodes_per_switch > 1}, {"paths", desc->paths != PW_PATHS_MINIMAL}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out, or take more nodes with network ports",
                           "network.%s builds a network, but none joins %u node%s", fields[i].name, cluster->nodes, cluster->nodes == 1 ? "" : "s");
    return PW_OK;
}

static pw_status add_network(pw_cluster *cluster, pw_error *error) {
    if ((!cluster->ports || cluster->nodes == 1) && cluster->network_desc.failures.count)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave network.failures out, or take more nodes with network ports",
                       "network.failures name parts of a network, but no network joins %u node%s", cluster->nodes, cluster->nodes == 1 ? "" : "s");
    if (!cluster->ports || cluster->nodes == 1) return check_unused(cluster, error);
    PW_TRY(count_rails(cluster, error));
    size_t count = cluster->ports, at = 0;
    pw_vertex *ports = pw_alloc(cluster->allocator, count * sizeof *ports);
    if (!ports) return no_memory(error);
    for (uint32_t i = 0; i < cluster->part_count; i++) {
        const cluster_part *part = &cluster->parts[i];
        for (uint32_t n = 0; n < part->nodes; n++)
            for (uint32_t nic = 0; nic < part->wiring->nics; nic++)
                ports[at++] = cluster_vertex(part, n, (uint16_t)(part->node.first_nic + nic), 0);
    }
    pw_status status = pw_network_create(cluster->allocator, cluster->fabric, &cluster->network_desc, ports,
                                         cluster->ports / cluster->rails, cluster->rails, &cluster->network, error);
    pw_free(cluster->allocator, ports, count * sizeof *ports);
    PW_TRY(status);
    cluster->is_rail_aligned = pw_network_is_rail_aligned(cluster->network);
    return PW_OK;
}

/* --- Life --------------------------------------------------------------------------------------------------------- */

/* The description may go away before the cluster. */
static pw_status keep_communication(pw_cluster *cluster, const pw_communication_desc *desc, pw_error *error) {
    pw_communication_desc *kept = &cluster->communication;
    *kept = *desc;
    const char **texts[] = {&kept->library, &kept->version, &kept->stack};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i] = pw_arena_text(cluster->arena, *texts[i] ? *texts[i] : ""))) return no_memory(error);
    return PW_OK;
}

static pw_status build(pw_cluster *cluster, const pw_cluster_desc *desc, pw_error *error) {
    PW_TRY(pw_description_check(&pw_cluster_kind, desc, NULL, 0, error));
    cluster->arena = pw_arena_create(cluster->allocator);
    if (!cluster->arena) return no_memory(error);
    cluster->name = pw_arena_text(cluster->arena, desc->name && *desc->name ? desc->name : "cluster");
    if (!cluster->name) return no_memory(error);
    PW_TRY(resolve_parts(cluster, desc, error));
    PW_TRY(keep_communication(cluster, &desc->communication, error));
    cluster->network_desc = desc->network;
    if (desc->network.topology < 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.topology is not given");
    PW_TRY(check_ports(cluster, error));
    if (cluster->ports) PW_TRY(complete_network(cluster, error));
    PW_TRY(rate_ports(cluster, error));
    PW_TRY(pw_fabric_create(cluster->allocator, &cluster->fabric, error));
    PW_TRY(add_nodes(cluster, error));
    PW_TRY(add_network(cluster, error));
    return keep_cooling(cluster, desc, error);
}

pw_status pw_cluster_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *desc,
                            pw_cluster **cluster, pw_error *error) {
    *cluster = NULL;
    if (!allocator) allocator = pw_allocator_default();
    pw_cluster *made = pw_alloc_zero(allocator, sizeof *made);
    if (!made) return no_memory(error);
    made->allocator = allocator;
    made->catalogue = catalogue;
    pw_status status = build(made, desc, error);
    if (status != PW_OK) pw_cluster_destroy(made);
    else *cluster = made;
    return status;
}

void pw_cluster_destroy(pw_cluster *cluster) {
    if (!cluster) return;
    pw_network_destroy(cluster->network);
    pw_fabric_destroy(cluster->fabric);
    for (uint32_t i = 0; cluster->parts && i < cluster->part_count; i++) template_destroy(&cluster->parts[i].node);
    pw_arena_destroy(cluster->arena);
    pw_free(cluster->allocator, cluster, sizeof *cluster);
}
