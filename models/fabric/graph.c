/* The graph: two growing arrays. Vertices and links are numbered in the order in which they are added, so that a builder
 * who adds them in a regular order can compute numbers instead of searching. */
#include <math.h>

#include "models/fabric/fabric.h"

const char *const pw_vertex_kind_names[] = {"gpu", "cpu", "pcie_switch", "nvswitch", "nic", "leaf", "spine", "core", NULL};
const char *const pw_link_kind_names[] = {"nvlink", "pcie", "socket", "network", "trunk", NULL};

struct pw_fabric {
    const pw_allocator *allocator;
    uint8_t *vertices; /* kinds */
    pw_link_info *links;
    size_t vertex_count, vertex_capacity, link_count, link_capacity;
};

pw_status pw_fabric_create(const pw_allocator *allocator, pw_fabric **fabric, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    *fabric = pw_alloc_zero(allocator, sizeof **fabric);
    if (!*fabric) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for a fabric");
    (*fabric)->allocator = allocator;
    return PW_OK;
}

void pw_fabric_destroy(pw_fabric *fabric) {
    if (!fabric) return;
    const pw_allocator *allocator = fabric->allocator;
    pw_free(allocator, fabric->vertices, fabric->vertex_capacity * sizeof *fabric->vertices);
    pw_free(allocator, fabric->links, fabric->link_capacity * sizeof *fabric->links);
    pw_free(allocator, fabric, sizeof *fabric);
}

pw_vertex pw_fabric_add_vertex(pw_fabric *fabric, pw_vertex_kind kind) {
    PW_CHECK((unsigned)kind < PW_VERTEX_KIND_COUNT);
    if (fabric->vertex_count >= PW_NONE || pw_grow(fabric->allocator, (void **)&fabric->vertices, &fabric->vertex_capacity,
                                                   fabric->vertex_count + 1, sizeof *fabric->vertices))
        return PW_NONE;
    fabric->vertices[fabric->vertex_count] = (uint8_t)kind;
    return (pw_vertex)fabric->vertex_count++;
}

pw_link pw_fabric_add_link(pw_fabric *fabric, pw_vertex from, pw_vertex to, pw_link_kind kind, double bandwidth_Bps,
                           double latency_s) {
    PW_CHECK(from < fabric->vertex_count && to < fabric->vertex_count && from != to);
    PW_CHECK((unsigned)kind < PW_LINK_KIND_COUNT && bandwidth_Bps > 0 && latency_s >= 0);
    if (fabric->link_count >= PW_NONE || pw_grow(fabric->allocator, (void **)&fabric->links, &fabric->link_capacity,
                                                 fabric->link_count + 1, sizeof *fabric->links))
        return PW_NONE;
    fabric->links[fabric->link_count] = (pw_link_info){from, to, kind, bandwidth_Bps, latency_s};
    return (pw_link)fabric->link_count++;
}

pw_link pw_fabric_add_cable(pw_fabric *fabric, pw_vertex a, pw_vertex b, pw_link_kind kind, double bandwidth_Bps,
                            double latency_s) {
    pw_link there = pw_fabric_add_link(fabric, a, b, kind, bandwidth_Bps, latency_s);
    if (there == PW_NONE) return PW_NONE;
    pw_link back = pw_fabric_add_link(fabric, b, a, kind, bandwidth_Bps, latency_s);
    return back == PW_NONE ? PW_NONE : there;
}

uint32_t pw_fabric_vertices(const pw_fabric *fabric) { return (uint32_t)fabric->vertex_count; }
uint32_t pw_fabric_links(const pw_fabric *fabric) { return (uint32_t)fabric->link_count; }

pw_vertex_kind pw_fabric_vertex_kind(const pw_fabric *fabric, pw_vertex vertex) {
    PW_CHECK(vertex < fabric->vertex_count);
    return (pw_vertex_kind)fabric->vertices[vertex];
}

const pw_link_info *pw_fabric_link(const pw_fabric *fabric, pw_link link) {
    PW_CHECK(link < fabric->link_count);
    return &fabric->links[link];
}

void pw_fabric_set_bandwidth(pw_fabric *fabric, pw_link link, double bandwidth_Bps) {
    PW_CHECK(link < fabric->link_count && bandwidth_Bps > 0);
    fabric->links[link].bandwidth_Bps = bandwidth_Bps;
}

void pw_fabric_set_latency(pw_fabric *fabric, pw_link link, double latency_s) {
    PW_CHECK(link < fabric->link_count && latency_s >= 0);
    fabric->links[link].latency_s = latency_s;
}

double pw_path_latency_s(const pw_fabric *fabric, const pw_path *path) {
    double latency_s = 0;
    for (uint32_t i = 0; i < path->count; i++) latency_s += pw_fabric_link(fabric, path->links[i])->latency_s;
    return latency_s;
}

double pw_path_bandwidth_Bps(const pw_fabric *fabric, const pw_path *path) {
    double smallest = INFINITY;
    for (uint32_t i = 0; i < path->count; i++) {
        double bandwidth_Bps = pw_fabric_link(fabric, path->links[i])->bandwidth_Bps;
        if (bandwidth_Bps < smallest) smallest = bandwidth_Bps;
    }
    return smallest;
}
