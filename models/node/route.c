/* Routes, put together from the paths of a node and the route between two network ports. */
#include <string.h>

#include "models/node/node_internal.h"

typedef struct place { /* a GPU of the cluster: node, number in the node, first link of the node */
    uint32_t node, gpu;
    pw_link first_link;
} place;

static place place_of(const pw_cluster *cluster, uint32_t gpu) {
    uint32_t node = gpu / cluster->node.gpus;
    return (place){node, gpu % cluster->node.gpus, cluster->first_link + node * (uint32_t)cluster->node.link_count};
}

static bool append(pw_path *path, pw_link link) {
    if (path->count >= PW_ROUTE_MAX) return false;
    path->links[path->count++] = link;
    return true;
}

/* Whether both GPUs share an NVSwitch, or a chain of direct links; appends the path. */
static bool scaleup_path(const pw_cluster *cluster, place from, place to, pw_path *path) {
    switch (cluster->wiring->scaleup) {
    case SCALEUP_NVSWITCH: {
        uint32_t gpus = cluster->node.gpus, domain = cluster->domain;
        if ((from.node * gpus + from.gpu) / domain != (to.node * gpus + to.gpu) / domain) return false;
        /* cable g of a node joins GPU g and its NVSwitch */
        return append(path, from.first_link + 2 * from.gpu) && append(path, to.first_link + 2 * to.gpu + 1);
    }
    case SCALEUP_MESH:
        return from.node == to.node && template_scaleup_path(&cluster->node, from.gpu, to.gpu, from.first_link, path);
    default: return false;
    }
}

/* Between a GPU and a NIC of its node: straight, or through the memory of the GPU's CPU. */
static bool nic_path(const pw_cluster *cluster, place at, uint32_t nic, bool outwards, pw_path *path) {
    const node_template *node = &cluster->node;
    uint32_t port = node->first_nic + nic, cpu = node->gpu_cpu[at.gpu];
    uint32_t from = outwards ? at.gpu : port, to = outwards ? port : at.gpu;
    if (cluster->wiring->gpudirect) return template_host_path(node, from, to, at.first_link, path);
    return template_host_path(node, from, cpu, at.first_link, path) && template_host_path(node, cpu, to, at.first_link, path);
}

/* Out of one NIC and into another. */
static bool port_path(const pw_cluster *cluster, place from, uint32_t out, place to, uint32_t in, uint64_t hash,
                      pw_path *path) {
    uint32_t nics = cluster->wiring->nics;
    return nic_path(cluster, from, out, true, path) &&
           pw_network_route(cluster->network, from.node * nics + out, to.node * nics + in, hash, path) == PW_OK &&
           nic_path(cluster, to, in, false, path);
}

/* The path is empty before. */
static bool network_path(const pw_cluster *cluster, place from, place to, uint64_t hash, pw_path *path) {
    const node_template *node = &cluster->node;
    uint32_t count = node->nics_per_gpu;
    if (!cluster->network || !count) return false;
    uint32_t out = node->gpu_nics[from.gpu * count + hash % count], in = node->gpu_nics[to.gpu * count + hash % count];
    if (out != in && cluster->is_rail_aligned && node->nic_gpu[in] != NO_LINK) { /* first over NVLink to the rail */
        place helper = from;
        helper.gpu = node->nic_gpu[in];
        if ((helper.gpu == from.gpu || scaleup_path(cluster, from, helper, path)) &&
            port_path(cluster, helper, in, to, in, hash, path))
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
    if (scaleup_path(cluster, a, b, path)) return PW_OK;
    bool found = a.node == b.node ? template_host_path(&cluster->node, a.gpu, b.gpu, a.first_link, path)
                                  : network_path(cluster, a, b, hash, path);
    if (found) return PW_OK;
    path->count = 0;
    return PW_UNSUPPORTED;
}

pw_status pw_cluster_host_route(const pw_cluster *cluster, uint32_t gpu, bool to_host, pw_path *path) {
    path->count = 0;
    if (gpu >= pw_cluster_gpus(cluster)) return PW_BAD_INPUT;
    place at = place_of(cluster, gpu);
    uint32_t cpu = cluster->node.gpu_cpu[at.gpu], from = to_host ? at.gpu : cpu, to = to_host ? cpu : at.gpu;
    return template_host_path(&cluster->node, from, to, at.first_link, path) ? PW_OK : PW_UNSUPPORTED;
}
