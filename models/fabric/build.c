/* What builders of topologies share: switches, the cables of ports and trunks. */
#include "models/fabric/network_internal.h"

pw_status part_no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the network");
}

pw_status part_begin(network_part *part, size_t size, pw_error *error) {
    part->state = pw_alloc_zero(part->allocator, size);
    return part->state ? PW_OK : part_no_memory(error);
}

bool part_add_switches(network_part *part, pw_vertex_kind kind, uint32_t count, pw_vertex *first) {
    for (uint32_t i = 0; i < count; i++) {
        pw_vertex vertex = pw_fabric_add_vertex(part->fabric, kind);
        if (vertex == PW_NONE) return false;
        if (i == 0) *first = vertex;
    }
    return true;
}

static bool add_cable(network_part *part, pw_vertex below, pw_vertex above, pw_link_kind kind, double bandwidth_Bps,
                      pw_link *first) {
    double cable_s = part->desc->cable_latency_s, hop_s = cable_s + part->desc->hop_latency_s;
    pw_link up = pw_fabric_add_link(part->fabric, below, above, kind, bandwidth_Bps, hop_s);
    if (up == PW_NONE) return false;
    if (*first == PW_NONE) *first = up;
    return pw_fabric_add_link(part->fabric, above, below, kind, bandwidth_Bps,
                              kind == PW_LINK_NETWORK ? cable_s : hop_s) != PW_NONE;
}

bool part_add_port(network_part *part, uint32_t port, pw_vertex leaf, double bandwidth_Bps, pw_link *first) {
    return add_cable(part, part_port(part, port), leaf, PW_LINK_NETWORK, bandwidth_Bps, first);
}

bool part_add_trunk(network_part *part, pw_vertex a, pw_vertex b, double bandwidth_Bps, pw_link *first) {
    return add_cable(part, a, b, PW_LINK_TRUNK, bandwidth_Bps, first);
}

uint32_t part_switch_nodes(const network_part *part) {
    return part->desc->nodes_per_switch > 1 ? (uint32_t)part->desc->nodes_per_switch : 1;
}

uint32_t part_trunks(const network_part *part) { return part->desc->trunks > 1 ? (uint32_t)part->desc->trunks : 1; }

double part_trunk_Bps(const network_part *part) {
    double line_Bps = part->desc->trunk_Bps;
    double cable_Bps = line_Bps > 0 ? line_Bps * part->desc->efficiency : part->cable_Bps;
    return cable_Bps * part_trunks(part);
}

pw_status part_check_radix(const network_part *part, uint32_t cables, pw_error *error) {
    if (!part->desc->radix || cables <= part->desc->radix) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix, or take fewer nodes per switch or cables",
                   "a switch of topology '%s' has %u cables, more than its radix %lld", part->topology->name, cables,
                   (long long)part->desc->radix);
}
