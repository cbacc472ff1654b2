#include "scenarios/report/parts.h"

#include <stdio.h>

pw_status pw_part_names_make(const pw_cluster *cluster, pw_arena *arena, pw_part_names *names, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    const pw_network *network = pw_cluster_network(cluster);
    uint32_t vertices = pw_fabric_vertices(fabric), in_tier[PW_NETWORK_TIERS] = {0};
    uint32_t *number = pw_arena_alloc(arena, (vertices + (size_t)1) * sizeof *number);
    uint32_t *switch_of = pw_arena_alloc(arena, (vertices + (size_t)1) * sizeof *switch_of);
    if (!number || !switch_of) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the names of parts");
    *names = (pw_part_names){.cluster = cluster, .fabric = fabric, .number = number, .switch_of = switch_of};
    for (pw_vertex v = 0; v < vertices; v++) number[v] = names->counts[pw_fabric_vertex_kind(fabric, v)]++;
    if (!network) return PW_OK;
    names->network = pw_network_get_facts(network);
    for (uint32_t i = 0; i < pw_network_switches(network); i++) {
        pw_switch_info one = pw_network_switch(network, i);
        switch_of[one.vertex] = i + 1;
        number[one.vertex] = in_tier[one.tier]++;
    }
    return PW_OK;
}

const char *pw_part_kind(pw_vertex_kind kind) {
    static const char *const words[] = {[PW_VERTEX_PCIE_SWITCH] = "PCIe switch", [PW_VERTEX_NVSWITCH] = "NVSwitch"};
    bool has_word = (size_t)kind < sizeof words / sizeof *words && words[kind];
    return has_word ? words[kind] : pw_vertex_kind_names[kind];
}

const char *pw_part_name(const pw_part_names *names, pw_vertex vertex, char *text, size_t size) {
    const char *kind = pw_part_kind(pw_fabric_vertex_kind(names->fabric, vertex));
    if (names->switch_of[vertex]) {
        pw_switch_info one = pw_network_switch(pw_cluster_network(names->cluster), names->switch_of[vertex] - 1);
        if (one.name) return snprintf(text, size, "%.60s", one.name), text;
        kind = names->network.tier[one.tier].name;
    }
    snprintf(text, size, "%s %u", kind, names->number[vertex]);
    return text;
}
