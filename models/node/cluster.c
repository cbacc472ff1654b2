/* Builds the fabric of a cluster: first the NVSwitch crossbars (one vertex per NVLink domain; its planes are used evenly,
 * so they are folded into one), then node after node, all alike, then the network. A link of node n is therefore the
 * template's link plus n times the number of links of a node, and a route is put together from pieces. */
#include <math.h>
#include <string.h>

#include "models/node/node_internal.h"

enum { LARGEST_CLUSTER = 1 << 20 };

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the cluster");
}

/* --- Building -------------------------------------------------------------------------------------------------- */

static bool add_node_vertices(pw_cluster *cluster) {
    const node_template *node = &cluster->node;
    for (uint32_t v = 0; v < node->vertices; v++) {
        pw_vertex_kind kind = v < node->first_nic      ? PW_VERTEX_GPU
                              : v < node->first_switch ? PW_VERTEX_NIC
                              : v < node->first_cpu    ? PW_VERTEX_PCIE_SWITCH
                                                       : PW_VERTEX_CPU;
        if (pw_fabric_add_vertex(cluster->fabric, kind) == PW_NONE) return false;
    }
    return true;
}

pw_vertex cluster_vertex(const pw_cluster *cluster, uint32_t node, uint16_t local, uint16_t other) {
    if (local == LOCAL_NVSWITCH) return (node * cluster->node.gpus + other) / cluster->domain;
    return cluster->first_vertex + node * cluster->node.vertices + local;
}

static bool add_nodes(pw_cluster *cluster) {
    const node_template *node = &cluster->node;
    uint64_t gpus = (uint64_t)cluster->nodes * node->gpus;
    uint32_t crossbars = 0;
    if (cluster->wiring->scaleup == SCALEUP_NVSWITCH) crossbars = (uint32_t)((gpus + cluster->domain - 1) / cluster->domain);
    for (uint32_t i = 0; i < crossbars; i++)
        if (pw_fabric_add_vertex(cluster->fabric, PW_VERTEX_NVSWITCH) == PW_NONE) return false;
    cluster->first_vertex = crossbars;
    for (uint32_t n = 0; n < cluster->nodes; n++)
        if (!add_node_vertices(cluster)) return false;
    cluster->first_link = pw_fabric_links(cluster->fabric);
    for (uint32_t n = 0; n < cluster->nodes; n++)
        for (size_t l = 0; l < node->link_count; l++) {
            const local_link *link = &node->links[l];
            if (pw_fabric_add_link(cluster->fabric, cluster_vertex(cluster, n, link->from, link->to),
                                   cluster_vertex(cluster, n, link->to, link->from), link->kind, link->bandwidth_Bps,
                                   link->latency_s) == PW_NONE)
                return false;
        }
    return true;
}

/* Fills what the description leaves open from node and catalogue. */
static pw_status complete_network(pw_cluster *cluster, pw_error *error) {
    pw_network_desc *desc = &cluster->network_desc;
    const node_wiring *wiring = cluster->wiring;
    if (!(desc->port_Bps > 0)) desc->port_Bps = wiring->nic_line_Bps;
    else if (wiring->is_nic_rate_given) desc->port_Bps = fmin(desc->port_Bps, wiring->nic_line_Bps);
    if (!(desc->efficiency > 0))
        PW_TRY(node_port_efficiency(cluster->catalogue, wiring, desc->port_Bps, &desc->efficiency, error));
    if (!(desc->hop_latency_s >= 0))
        PW_TRY(node_latency(cluster->catalogue, "network switch hop", &desc->hop_latency_s, error));
    if (!(desc->cable_latency_s >= 0))
        PW_TRY(node_latency(cluster->catalogue, "network cable", &desc->cable_latency_s, error));
    if (!desc->radix && pw_topology_has_radix(desc->topology))
        desc->radix = node_switch_radix(cluster->catalogue, wiring, desc->port_Bps);
    return PW_OK;
}

static pw_status add_network(pw_cluster *cluster, pw_error *error) {
    uint32_t nics = cluster->wiring->nics, domain_nodes = cluster->domain / cluster->node.gpus;
    if (!nics) {
        if (cluster->nodes <= 1 || (cluster->wiring->scaleup == SCALEUP_NVSWITCH && domain_nodes >= cluster->nodes))
            return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "set node.nics and node.nic_rate, or make it one node",
                       "%u nodes without network ports cannot work together", cluster->nodes);
    }
    PW_TRY(complete_network(cluster, error));
    if (cluster->nodes == 1) return PW_OK;
    size_t count = (size_t)cluster->nodes * nics;
    pw_vertex *ports = pw_alloc(cluster->allocator, count * sizeof *ports);
    if (!ports) return no_memory(error);
    for (size_t i = 0; i < count; i++)
        ports[i] = cluster_vertex(cluster, (uint32_t)(i / nics), (uint16_t)(cluster->node.first_nic + i % nics), 0);
    pw_status status = pw_network_create(cluster->allocator, cluster->fabric, &cluster->network_desc, ports, cluster->nodes,
                                         nics, &cluster->network, error);
    pw_free(cluster->allocator, ports, count * sizeof *ports);
    PW_TRY(status);
    cluster->is_rail_aligned = pw_network_is_rail_aligned(cluster->network) && cluster->wiring->scaleup != SCALEUP_NONE;
    return PW_OK;
}

/* GPUs per scale-up domain. Nodes that do not fill the last domain are spread evenly where some number of nodes per
 * domain, at least half of the most, divides them: 128 trays of NVL72 racks sit 16 in each of 8 racks, as jobs get them. */
static uint32_t spread_domain(const node_wiring *wiring, uint32_t nodes, bool is_given) {
    uint32_t most = wiring->domain / wiring->gpus;
    if (is_given || most < 2 || nodes <= most) return wiring->domain;
    for (uint32_t each = most; each >= (most + 1) / 2; each--)
        if (nodes % each == 0) return each * wiring->gpus;
    return wiring->domain;
}

static pw_status build(pw_cluster *cluster, const pw_cluster_desc *desc, pw_error *error) {
    PW_TRY(pw_description_check(&pw_cluster_kind, desc, NULL, 0, error));
    cluster->arena = pw_arena_create(cluster->allocator);
    if (!cluster->arena) return no_memory(error);
    cluster->wiring = pw_arena_alloc(cluster->arena, sizeof *cluster->wiring);
    cluster->name = pw_arena_text(cluster->arena, desc->name && *desc->name ? desc->name : "cluster");
    if (!cluster->wiring || !cluster->name) return no_memory(error);
    PW_TRY(node_resolve(cluster->catalogue, &desc->node, cluster->wiring, error));
    /* the description may go away before the cluster */
    cluster->wiring->host = pw_arena_text(cluster->arena, cluster->wiring->host);
    if (!cluster->wiring->host) return no_memory(error);
    if (desc->nodes < 1 || desc->nodes > LARGEST_CLUSTER || desc->nodes * (int64_t)cluster->wiring->gpus > LARGEST_CLUSTER)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL,
                       "cluster.nodes is %lld with %u GPUs each; 1 to %d GPUs are possible", (long long)desc->nodes,
                       cluster->wiring->gpus, LARGEST_CLUSTER);
    cluster->nodes = (uint32_t)desc->nodes;
    cluster->network_desc = desc->network;
    if (desc->network.topology < 0) /* what is too large was refused above */
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.topology is not given");
    cluster->domain = spread_domain(cluster->wiring, cluster->nodes, desc->node.scaleup_domain > 0);
    PW_TRY(template_create(cluster->allocator, cluster->wiring, &cluster->node, error));
    PW_TRY(pw_fabric_create(cluster->allocator, &cluster->fabric, error));
    if (!add_nodes(cluster)) return no_memory(error);
    return add_network(cluster, error);
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
    template_destroy(&cluster->node);
    pw_arena_destroy(cluster->arena);
    pw_free(cluster->allocator, cluster, sizeof *cluster);
}

/* --- Facts ------------------------------------------------------------------------------------------------------- */

const pw_fabric *pw_cluster_fabric(const pw_cluster *cluster) { return cluster->fabric; }
const pw_network *pw_cluster_network(const pw_cluster *cluster) { return cluster->network; }
const pw_device *pw_cluster_device(const pw_cluster *cluster) { return cluster->wiring->device; }
const char *pw_cluster_host(const pw_cluster *cluster) { return cluster->wiring->host; }
uint32_t pw_cluster_gpus(const pw_cluster *cluster) { return cluster->nodes * cluster->node.gpus; }
uint32_t pw_cluster_gpus_per_node(const pw_cluster *cluster) { return cluster->node.gpus; }
uint32_t pw_cluster_nodes(const pw_cluster *cluster) { return cluster->nodes; }
uint32_t pw_cluster_node_of(const pw_cluster *cluster, uint32_t gpu) { return gpu / cluster->node.gpus; }
pw_vertex pw_cluster_gpu_vertex(const pw_cluster *cluster, uint32_t gpu) {
    if (gpu >= pw_cluster_gpus(cluster)) return PW_NONE;
    return cluster_vertex(cluster, gpu / cluster->node.gpus, (uint16_t)(gpu % cluster->node.gpus), 0);
}
uint32_t pw_cluster_nics_per_node(const pw_cluster *cluster) { return cluster->wiring->nics; }
double pw_cluster_nic_Bps(const pw_cluster *cluster) {
    if (!cluster->wiring->nics) return 0;
    double port_Bps = cluster->network_desc.port_Bps * cluster->network_desc.efficiency;
    return fmin(port_Bps, cluster->wiring->pcie_Bps);
}
double pw_cluster_scaleup_Bps(const pw_cluster *cluster) {
    return cluster->wiring->scaleup == SCALEUP_NONE ? 0 : cluster->wiring->scaleup_Bps;
}
bool pw_cluster_has_multicast(const pw_cluster *cluster) { return cluster->wiring->multicast; }
uint32_t pw_cluster_scaleup_domain(const pw_cluster *cluster) {
    uint32_t gpus = pw_cluster_gpus(cluster);
    return cluster->domain < gpus ? cluster->domain : gpus;
}
uint32_t pw_cluster_ports_per_gpu(const pw_cluster *cluster) { return cluster->node.nics_per_gpu; }
uint32_t pw_cluster_port(const pw_cluster *cluster, uint32_t gpu, uint32_t index) {
    const node_template *node = &cluster->node;
    if (gpu >= pw_cluster_gpus(cluster) || index >= node->nics_per_gpu) return PW_NONE;
    return gpu / node->gpus * cluster->wiring->nics + node->gpu_nics[gpu % node->gpus * node->nics_per_gpu + index];
}

pw_cluster_facts pw_cluster_get_facts(const pw_cluster *cluster) {
    static const char *const scaleup_names[] = {"none", "nvswitch", "mesh"};
    const node_wiring *wiring = cluster->wiring;
    pw_cluster_facts facts = {
        .name = cluster->name, .server = wiring->server, .gpu = wiring->device->name, .host = wiring->host,
        .topology = cluster->network ? pw_network_topology(cluster->network) : "",
        .scaleup = scaleup_names[wiring->scaleup],
        .wiring_source = pw_table_text_of(wiring->table, wiring->row, "source"),
        .wiring_provenance = pw_table_text_of(wiring->table, wiring->row, "provenance"),
        .wiring_file = pw_table_file(wiring->table), .wiring_line = pw_table_line(wiring->table, wiring->row),
        .gpus = pw_cluster_gpus(cluster), .nodes = cluster->nodes, .gpus_per_node = cluster->node.gpus,
        .nics_per_node = wiring->nics, .sockets_per_node = wiring->sockets, .pcie_switches_per_node = wiring->switches,
        .scaleup_domain = pw_cluster_scaleup_domain(cluster), .scaleup_planes = wiring->planes,
        .multicast = wiring->multicast, .gpudirect = wiring->gpudirect,
        .scaleup_line_Bps = wiring->scaleup == SCALEUP_NONE ? 0 : wiring->scaleup_line_Bps,
        .scaleup_Bps = pw_cluster_scaleup_Bps(cluster), .pcie_Bps = wiring->pcie_Bps,
        .nic_line_Bps = wiring->nics ? cluster->network_desc.port_Bps : 0, .nic_Bps = pw_cluster_nic_Bps(cluster),
        .radix = cluster->network ? cluster->network_desc.radix : 0,
        .vertices = pw_fabric_vertices(cluster->fabric), .links = pw_fabric_links(cluster->fabric),
        .has_network = cluster->network != NULL,
    };
    if (cluster->network) facts.network = pw_network_get_facts(cluster->network);
    return facts;
}
