/* What can be asked of a cluster that is built. */
#include <math.h>
#include <string.h>

#include "models/node/node_internal.h"

static const char *const scaleup_names[] = {"none", "nvswitch", "mesh"};

/* --- The whole ------------------------------------------------------------------------------------------------- */

const pw_fabric *pw_cluster_fabric(const pw_cluster *cluster) { return cluster->fabric; }
const pw_network *pw_cluster_network(const pw_cluster *cluster) { return cluster->network; }
const pw_device *pw_cluster_device(const pw_cluster *cluster) { return cluster->parts->wiring->device; }
const char *pw_cluster_host(const pw_cluster *cluster) { return cluster->parts->wiring->host; }
uint32_t pw_cluster_gpus(const pw_cluster *cluster) { return cluster->gpus; }
uint32_t pw_cluster_gpus_per_node(const pw_cluster *cluster) { return cluster->parts->node.gpus; }
uint32_t pw_cluster_nodes(const pw_cluster *cluster) { return cluster->nodes; }
uint32_t pw_cluster_nics_per_node(const pw_cluster *cluster) { return cluster->parts->wiring->nics; }
double pw_cluster_nic_Bps(const pw_cluster *cluster) { return cluster->parts->nic_Bps; }
double pw_cluster_scaleup_Bps(const pw_cluster *cluster) { return pw_cluster_get_part(cluster, 0).scaleup_Bps; }
uint32_t pw_cluster_ports_per_gpu(const pw_cluster *cluster) { return cluster->parts->node.nics_per_gpu; }
uint32_t pw_cluster_scaleup_domain(const pw_cluster *cluster) { return pw_cluster_get_part(cluster, 0).scaleup_domain; }

bool pw_cluster_has_multicast(const pw_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->part_count; i++)
        if (!cluster->parts[i].wiring->multicast) return false;
    return true;
}

/* --- One GPU --------------------------------------------------------------------------------------------------- */

uint32_t pw_cluster_node_of(const pw_cluster *cluster, uint32_t gpu) {
    const cluster_part *part = part_of_gpu(cluster, gpu);
    return part->first_node + (gpu - part->first_gpu) / part->node.gpus;
}

pw_vertex pw_cluster_gpu_vertex(const pw_cluster *cluster, uint32_t gpu) {
    if (gpu >= cluster->gpus) return PW_NONE;
    const cluster_part *part = part_of_gpu(cluster, gpu);
    uint32_t here = gpu - part->first_gpu;
    return cluster_vertex(part, here / part->node.gpus, (uint16_t)(here % part->node.gpus), 0);
}

uint32_t pw_cluster_port(const pw_cluster *cluster, uint32_t gpu, uint32_t index) {
    if (gpu >= cluster->gpus) return PW_NONE;
    const cluster_part *part = part_of_gpu(cluster, gpu);
    const node_template *node = &part->node;
    if (index >= node->nics_per_gpu) return PW_NONE;
    uint32_t here = gpu - part->first_gpu;
    return part->first_port + here / node->gpus * part->wiring->nics +
           node->gpu_nics[here % node->gpus * node->nics_per_gpu + index];
}

uint32_t pw_cluster_part_of(const pw_cluster *cluster, uint32_t gpu) {
    return (uint32_t)(part_of_gpu(cluster, gpu) - cluster->parts);
}

static uint32_t domain_gpus(const cluster_part *part) { return part->domain > 1 ? part->domain : part->node.gpus; }

uint32_t pw_cluster_domain_of(const pw_cluster *cluster, uint32_t gpu) {
    const cluster_part *part = part_of_gpu(cluster, gpu);
    uint32_t domain = (gpu - part->first_gpu) / domain_gpus(part);
    for (const cluster_part *before = cluster->parts; before < part; before++)
        domain += (before->nodes * before->node.gpus + domain_gpus(before) - 1) / domain_gpus(before);
    return domain;
}

/* --- Parts ------------------------------------------------------------------------------------------------------ */

uint32_t pw_cluster_parts(const pw_cluster *cluster) { return cluster->part_count; }

pw_cluster_part pw_cluster_get_part(const pw_cluster *cluster, uint32_t index) {
    const cluster_part *part = &cluster->parts[index];
    const node_wiring *wiring = part->wiring;
    uint32_t gpus = part->nodes * wiring->gpus;
    return (pw_cluster_part){
        .device = wiring->device, .server = wiring->server, .host = wiring->host, .scaleup = scaleup_names[wiring->scaleup],
        .first_gpu = part->first_gpu, .gpus = gpus, .first_node = part->first_node, .nodes = part->nodes,
        .gpus_per_node = wiring->gpus, .nics_per_node = wiring->nics, .ports_per_gpu = part->node.nics_per_gpu, .sockets_per_node = wiring->sockets,
        .pcie_switches_per_node = wiring->switches, .scaleup_domain = part->domain < gpus ? part->domain : gpus,
        .scaleup_Bps = wiring->scaleup == SCALEUP_NONE ? 0 : wiring->scaleup_Bps, .nic_Bps = part->nic_Bps,
        .multicast = wiring->multicast, .gpudirect = wiring->gpudirect, .pxn = wiring->pxn,
    };
}

pw_status pw_cluster_need_equal(const pw_cluster *cluster, const char *who, pw_error *error) {
    if (cluster->part_count == 1) return PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave cluster.more out, or ask for collectives and traffic only",
                   "%s needs nodes of one type, but the cluster has %u parts (%s x %u, %s x %u%s)", who, cluster->part_count,
                   cluster->parts[0].wiring->device->name, cluster->parts[0].nodes, cluster->parts[1].wiring->device->name,
                   cluster->parts[1].nodes, cluster->part_count > 2 ? ", ..." : "");
}

pw_cluster_facts pw_cluster_get_facts(const pw_cluster *cluster) {
    const node_wiring *wiring = cluster->parts->wiring;
    const pw_cluster_part part = pw_cluster_get_part(cluster, 0);
    pw_cluster_facts facts = {
        .name = cluster->name, .server = wiring->server, .gpu = wiring->device->name, .host = wiring->host,
        .topology = cluster->network ? pw_network_topology(cluster->network) : "",
        .scaleup = part.scaleup,
        .wiring_source = pw_table_text_of(wiring->table, wiring->row, "source"),
        .wiring_provenance = pw_table_text_of(wiring->table, wiring->row, "provenance"),
        .wiring_file = pw_table_file(wiring->table), .wiring_line = pw_table_line(wiring->table, wiring->row),
        .gpus = cluster->gpus, .nodes = cluster->nodes, .gpus_per_node = part.gpus_per_node,
        .nics_per_node = wiring->nics, .sockets_per_node = wiring->sockets, .pcie_switches_per_node = wiring->switches,
        .scaleup_domain = part.scaleup_domain, .scaleup_planes = wiring->planes,
        .multicast = wiring->multicast, .gpudirect = wiring->gpudirect,
        .scaleup_line_Bps = wiring->scaleup == SCALEUP_NONE ? 0 : wiring->scaleup_line_Bps,
        .scaleup_Bps = part.scaleup_Bps, .pcie_Bps = wiring->pcie_Bps,
        .nic_line_Bps = wiring->nics ? cluster->network_desc.port_Bps : 0, .nic_Bps = part.nic_Bps,
        .network_efficiency = cluster->network_desc.efficiency,
        .radix = cluster->network ? cluster->network_desc.radix : 0,
        .vertices = pw_fabric_vertices(cluster->fabric), .links = pw_fabric_links(cluster->fabric),
        .has_network = cluster->network != NULL,
    };
    if (cluster->network) facts.network = pw_network_get_facts(cluster->network);
    return facts;
}

/* --- Links ------------------------------------------------------------------------------------------------------- */

static pw_link_generation generation_of(const char *place, const node_link *link, double line_Bps, double payload_Bps,
                                        double latency_s) {
    bool known = link && link->table;
    return (pw_link_generation){.place = place, .name = known ? pw_table_text_at(link->table, link->row, 0) : "",
                                .line_Bps = line_Bps, .payload_Bps = payload_Bps, .latency_s = latency_s,
                                .provenance = known ? pw_table_text_of(link->table, link->row, "provenance") : "",
                                .source = known ? pw_table_text_of(link->table, link->row, "source") : ""};
}

uint32_t pw_cluster_link_generations(const pw_cluster *cluster, uint32_t part, pw_link_generation *links) {
    const node_wiring *wiring = cluster->parts[part].wiring;
    const pw_network_desc *network = &cluster->network_desc;
    uint32_t count = 0;
    if (wiring->scaleup != SCALEUP_NONE)
        links[count++] = generation_of(wiring->scaleup == SCALEUP_MESH ? "GPU to GPU, all links of one" : "GPU to NVSwitch", &wiring->scaleup_link,
                                       wiring->scaleup_line_Bps, wiring->scaleup_Bps, wiring->scaleup_hop_s);
    links[count++] = generation_of("PCIe of a GPU or NIC", &wiring->pcie_link, wiring->device->pcie_Bps, wiring->pcie_Bps, wiring->pcie_hop_s);
    if (wiring->c2c)
        links[count++] = generation_of("GPU to CPU", &wiring->c2c_link, wiring->c2c_Bps / wiring->c2c_link.efficiency, wiring->c2c_Bps,
                                       wiring->pcie_hop_s);
    if (wiring->sockets > 1) {
        links[count] = generation_of("CPU to CPU", NULL, NAN, wiring->socket_Bps, wiring->socket_hop_s);
        links[count].provenance = pw_table_text_of(wiring->table, wiring->row, "provenance");
        links[count++].source = pw_table_text_of(wiring->table, wiring->row, "source");
    }
    if (!cluster->network || !wiring->nics) return count;
    double port_Bps = network->port_Bps * network->efficiency, slower = wiring->nic_Bps < port_Bps ? wiring->nic_Bps : port_Bps;
    links[count++] = generation_of("network port", wiring->nic_Bps < port_Bps ? &wiring->port_link : &cluster->network_link,
                                   fmin(network->port_Bps, wiring->nic_line_Bps), slower, wiring->nic_s);
    if (part == 0)
        links[count++] = generation_of("switch, each hop with its cable", &cluster->network_link, network->port_Bps, port_Bps,
                                       network->hop_latency_s + network->cable_latency_s);
    return count;
}

const pw_communication_desc *pw_cluster_communication(const pw_cluster *cluster) { return &cluster->communication; }

const char *pw_cluster_nic_protocol(const pw_cluster *cluster) {
    const node_wiring *wiring = cluster->parts->wiring;
    if (wiring->port_link.table) return pw_table_text_at(wiring->port_link.table, wiring->port_link.row, 0); /* node.nic_protocol */
    int column = pw_table_find_column(wiring->table, "nic_protocol");
    return column < 0 ? "" : pw_table_text_at(wiring->table, wiring->row, (size_t)column);
}
