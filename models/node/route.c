/* Routes, put together from the paths of a node and the route between two network ports. */
#include <string.h>

#include "models/node/node_internal.h"

typedef struct place { /* a GPU of the cluster: its part, node and number in the node, first link of the node */
    const cluster_part *part;
    uint32_t node, gpu; /* node: within the part */
    pw_link first_link;
} place;

static place place_of(const pw_cluster *cluster, uint32_t gpu) {
    const cluster_part *part = part_of_gpu(cluster, gpu);
    uint32_t here = gpu - part->first_gpu, node = here / part->node.gpus;
    return (place){part, node, here % part->node.gpus, part->first_link + node * (uint32_t)part->node.link_count};
}

static bool same_node(place a, place b) { return a.part == b.part && a.node == b.node; }

/* Network port of one of the node's NICs. */
static uint32_t port_of(place at, uint32_t nic) { return at.part->first_port + at.node * at.part->wiring->nics + nic; }

static uint32_t nic_of(place at, uint32_t way) {
    const node_template *node = &at.part->node;
    return node->gpu_nics[at.gpu * node->nics_per_gpu + way];
}

static bool append(pw_path *path, pw_link link) {
    if (path->count >= PW_ROUTE_MAX) return false;
    path->links[path->count++] = link;
    return true;
}

/* Whether both GPUs share an NVSwitch, or a chain of direct links; appends the path. */
static bool scaleup_path(place from, place to, pw_path *path) {
    const cluster_part *part = from.part;
    if (part != to.part) return false;
    switch (part->wiring->scaleup) {
    case SCALEUP_NVSWITCH: {
        uint32_t gpus = part->node.gpus, domain = part->domain;
        if ((from.node * gpus + from.gpu) / domain != (to.node * gpus + to.gpu) / domain) return false;
        /* cable g of a node joins GPU g and its NVSwitch */
        return append(path, from.first_link + 2 * from.gpu) && append(path, to.first_link + 2 * to.gpu + 1);
    }
    case SCALEUP_MESH:
        return from.node == to.node && template_scaleup_path(&part->node, from.gpu, to.gpu, from.first_link, path);
    default: return false;
    }
}

/* Between a GPU and a NIC of its node: straight, or through the memory of the GPU's CPU. */
static bool nic_path(place at, uint32_t nic, bool outwards, pw_path *path) {
    const node_template *node = &at.part->node;
    uint32_t port = node->first_nic + nic, cpu = node->gpu_cpu[at.gpu];
    uint32_t from = outwards ? at.gpu : port, to = outwards ? port : at.gpu;
    if (at.part->wiring->gpudirect) return template_host_path(node, from, to, at.first_link, path);
    return template_host_path(node, from, cpu, at.first_link, path) && template_host_path(node, cpu, to, at.first_link, path);
}

/* Out of one NIC and into another. */
static bool port_path(const pw_cluster *cluster, place from, uint32_t out, place to, uint32_t in, uint64_t hash,
                      pw_path *path) {
    return nic_path(from, out, true, path) &&
           pw_network_route(cluster->network, port_of(from, out), port_of(to, in), hash, path) == PW_OK &&
           nic_path(to, in, false, path);
}

/* A NIC of the sender's node on the rail of the receiver's: number `in` where nodes are alike, else the first one. */
static uint32_t nic_on_rail(const pw_cluster *cluster, place from, uint32_t in) {
    uint32_t nics = from.part->wiring->nics, rail = in % cluster->rails;
    return in < nics ? in : rail;
}

/* The path is empty before. */
static bool network_path(const pw_cluster *cluster, place from, place to, uint64_t hash, pw_path *path) {
    uint32_t outs = from.part->node.nics_per_gpu, ins = to.part->node.nics_per_gpu;
    if (!cluster->network || !outs || !ins) return false;
    uint32_t out = nic_of(from, (uint32_t)(hash % outs)), in = nic_of(to, (uint32_t)(hash % ins));
    uint32_t there = nic_on_rail(cluster, from, in), beside = from.part->node.nic_gpu[there];
    bool changes = cluster->is_rail_aligned && out % cluster->rails != in % cluster->rails && from.part->wiring->pxn &&
                   from.part->wiring->scaleup != SCALEUP_NONE;
    if (changes && beside != NO_LINK) { /* first over NVLink to the rail */
        place helper = from;
        helper.gpu = beside;
        if ((helper.gpu == from.gpu || scaleup_path(from, helper, path)) &&
            port_path(cluster, helper, there, to, in, hash, path))
            return true;
        path->count = 0; /* no such way, or a longer one than a route may be */
    }
    return port_path(cluster, from, out, to, in, hash, path);
}

pw_status pw_cluster_route(const pw_cluster *cluster, uint32_t from, uint32_t to, uint64_t hash, pw_path *path) {
    path->count = 0;
    uint32_t gpus = pw_cluster_gpus(cluster);
    if (from >= gpus || to >= gpus) return PW_BAD_INPUT;
    if (from == to) return PW_OK;
    place a = place_of(cluster, from), b = place_of(cluster, to);
    if (scaleup_path(a, b, path)) return PW_OK;
    bool found = same_node(a, b) ? template_host_path(&a.part->node, a.gpu, b.gpu, a.first_link, path)
                                 : network_path(cluster, a, b, hash, path);
    if (found) return PW_OK;
    path->count = 0;
    return PW_UNSUPPORTED;
}

pw_status pw_cluster_host_route(const pw_cluster *cluster, uint32_t gpu, bool to_host, pw_path *path) {
    path->count = 0;
    if (gpu >= pw_cluster_gpus(cluster)) return PW_BAD_INPUT;
    place at = place_of(cluster, gpu);
    uint32_t cpu = at.part->node.gpu_cpu[at.gpu], from = to_host ? at.gpu : cpu, to = to_host ? cpu : at.gpu;
    return template_host_path(&at.part->node, from, to, at.first_link, path) ? PW_OK : PW_UNSUPPORTED;
}

/* --- Loads of the way to remote memory ------------------------------------------------------------------------------ */

typedef struct load_visit {
    void (*visit)(void *object, pw_link link, double load);
    void *object;
    double share;
} load_visit;

static void visit_spread(void *object, pw_link link, double fraction) {
    const load_visit *to = object;
    to->visit(to->object, link, fraction * to->share);
}

static void visit_path(const load_visit *to, const pw_path *path) {
    for (uint32_t i = 0; to->visit && i < path->count; i++) to->visit(to->object, path->links[i], to->share);
}

/* By the ports number `way` near both. */
static pw_status remote_loads(const pw_cluster *cluster, place gpu, place at, bool to_memory, uint32_t way, load_visit *to,
                              double *latency_s) {
    const node_template *node = &at.part->node;
    uint32_t cpu = node->gpu_cpu[at.gpu], near = nic_of(gpu, way % gpu.part->node.nics_per_gpu);
    uint32_t far = nic_of(at, way % node->nics_per_gpu), port = node->first_nic + far;
    if (pw_network_has_rails_apart(cluster->network)) near = nic_on_rail(cluster, gpu, far); /* over PCIe to its rail's NIC */
    pw_path here = {0}, there = {0}, between = {0};
    if (!nic_path(gpu, near, to_memory, &here) ||
        !template_host_path(node, to_memory ? port : cpu, to_memory ? cpu : port, at.first_link, &there))
        return PW_UNSUPPORTED;
    uint32_t a = port_of(gpu, near), b = port_of(at, far);
    if (!to_memory) {
        uint32_t swapped = a;
        a = b;
        b = swapped;
    }
    PW_TRY(pw_network_route(cluster->network, a, b, way, &between));
    *latency_s = pw_path_latency_s(cluster->fabric, &here) + pw_path_latency_s(cluster->fabric, &between) +
                 pw_path_latency_s(cluster->fabric, &there);
    visit_path(to, &here);
    visit_path(to, &there);
    return to->visit ? pw_network_spread_twins(cluster->network, a, b, visit_spread, to) : PW_OK;
}

pw_status pw_cluster_memory_loads(const pw_cluster *cluster, uint32_t gpu, uint32_t at, bool to_memory, double share,
                                  void (*visit)(void *object, pw_link link, double load), void *object, double *latency_s,
                                  pw_error *error) {
    uint32_t gpus = pw_cluster_gpus(cluster);
    *latency_s = 0;
    if (gpu >= gpus || at >= gpus)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "no GPU %u in a cluster of %u", gpu >= gpus ? gpu : at, gpus);
    place one = place_of(cluster, gpu), other = place_of(cluster, at);
    uint32_t ways = one.part->node.nics_per_gpu, far_ways = other.part->node.nics_per_gpu;
    if (far_ways == 0) ways = 0;
    else if (ways && far_ways > ways) ways = far_ways; /* every port near both carries its share */
    pw_status status = PW_OK;
    if (same_node(one, other)) {
        pw_path path = {0};
        const node_template *node = &one.part->node;
        uint32_t cpu = node->gpu_cpu[other.gpu];
        if (!template_host_path(node, to_memory ? one.gpu : cpu, to_memory ? cpu : one.gpu, one.first_link, &path))
            status = PW_UNSUPPORTED;
        *latency_s = pw_path_latency_s(cluster->fabric, &path);
        visit_path(&(load_visit){visit, object, share}, &path);
    } else if (!cluster->network || ways == 0) {
        status = PW_UNSUPPORTED;
    } else {
        for (uint32_t way = 0; way < ways && status == PW_OK; way++)
            status = remote_loads(cluster, one, other, to_memory, way, &(load_visit){visit, object, share / ways}, latency_s);
    }
    if (status == PW_OK) return PW_OK;
    return pw_fail(error, status, NULL, 0, "give the nodes network ports", "no path between GPU %u and the memory near GPU %u",
                   gpu, at);
}
