#include "scenarios/report/parts.h"

#include <stdio.h>

pw_status pw_part_names_make(const pw_fabric *fabric, pw_arena *arena, pw_part_names *names, pw_error *error) {
    uint32_t vertices = pw_fabric_vertices(fabric);
    uint32_t *number = pw_arena_alloc(arena, (vertices + (size_t)1) * sizeof *number);
    if (!number) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the names of parts");
    *names = (pw_part_names){.fabric = fabric, .number = number};
    for (pw_vertex v = 0; v < vertices; v++) number[v] = names->counts[pw_fabric_vertex_kind(fabric, v)]++;
    return PW_OK;
}

const char *pw_part_kind(pw_vertex_kind kind) {
    static const char *const words[] = {[PW_VERTEX_PCIE_SWITCH] = "PCIe switch", [PW_VERTEX_NVSWITCH] = "NVSwitch"};
    bool has_word = (size_t)kind < sizeof words / sizeof *words && words[kind];
    return has_word ? words[kind] : pw_vertex_kind_names[kind];
}

const char *pw_part_name(const pw_part_names *names, pw_vertex vertex, char *text, size_t size) {
    snprintf(text, size, "%s %u", pw_part_kind(pw_fabric_vertex_kind(names->fabric, vertex)), names->number[vertex]);
    return text;
}
