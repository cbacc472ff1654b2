/* Links of one node and the shortest paths between its parts, found once by breadth-first search. Over PCIe only switches and
 * CPUs pass traffic on; over direct NVLinks GPUs do. Ties: the wider link first, then the lower number. */
#include <string.h>

#include "models/node/node_internal.h"

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for a node");
}

static bool add_cable(node_template *made, uint32_t from, uint32_t to, pw_link_kind kind, double bandwidth_Bps,
                      double latency_s) {
    if (pw_grow(made->allocator, (void **)&made->links, &made->link_capacity, made->link_count + 2, sizeof *made->links))
        return false;
    made->links[made->link_count++] = (local_link){(uint16_t)from, (uint16_t)to, kind, bandwidth_Bps, latency_s};
    made->links[made->link_count++] = (local_link){(uint16_t)to, (uint16_t)from, kind, bandwidth_Bps, latency_s};
    return true;
}

static uint32_t attach_vertex(const node_template *made, attach_point attach) {
    return (attach.on_cpu ? made->first_cpu : made->first_switch) + attach.index;
}

static bool add_scaleup(node_template *made, const node_wiring *wiring) {
    for (uint32_t a = 0; wiring->scaleup == SCALEUP_NVSWITCH && a < wiring->gpus; a++)
        if (!add_cable(made, a, LOCAL_NVSWITCH, PW_LINK_NVLINK, wiring->scaleup_Bps, wiring->scaleup_hop_s)) return false;
    for (uint32_t a = 0; wiring->scaleup == SCALEUP_MESH && a < wiring->gpus; a++)
        for (uint32_t b = a + 1; b < wiring->gpus; b++)
            if (wiring->pairs[a][b] && !add_cable(made, a, b, PW_LINK_NVLINK, wiring->pairs[a][b] * wiring->link_Bps,
                                                  wiring->scaleup_hop_s))
                return false;
    return true;
}

static bool add_host(node_template *made, const node_wiring *wiring) {
    for (uint32_t g = 0; g < wiring->gpus; g++) {
        bool direct = wiring->c2c && wiring->gpu[g].on_cpu;
        if (!add_cable(made, g, attach_vertex(made, wiring->gpu[g]), PW_LINK_PCIE,
                       direct ? wiring->c2c_Bps : wiring->pcie_Bps, wiring->pcie_hop_s))
            return false;
        if (wiring->c2c && !direct &&
            !add_cable(made, g, made->first_cpu + wiring->switch_socket[wiring->gpu[g].index], PW_LINK_PCIE,
                       wiring->c2c_Bps, wiring->pcie_hop_s))
            return false;
    }
    for (uint32_t n = 0; n < wiring->nics; n++)
        if (!add_cable(made, made->first_nic + n, attach_vertex(made, wiring->nic[n]), PW_LINK_PCIE,
                       wiring->nic_Bps < wiring->pcie_Bps ? wiring->nic_Bps : wiring->pcie_Bps,
                       wiring->pcie_hop_s + wiring->nic_s))
            return false;
    for (uint32_t s = 0; s < wiring->switches; s++)
        if (!add_cable(made, made->first_switch + s, made->first_cpu + wiring->switch_socket[s], PW_LINK_PCIE,
                       wiring->pcie_Bps, wiring->pcie_hop_s))
            return false;
    for (uint32_t a = 0; a < wiring->sockets; a++)
        for (uint32_t b = a + 1; b < wiring->sockets; b++)
            if (!add_cable(made, made->first_cpu + a, made->first_cpu + b, PW_LINK_SOCKET, wiring->socket_Bps,
                           wiring->socket_hop_s))
                return false;
    return true;
}

/* Fills last[to] for one source. scaleup: only NVLinks, and GPUs pass traffic on. queue and distance hold one entry per
 * vertex. */
static void search(const node_template *made, uint32_t source, bool scaleup, uint16_t *last, uint16_t *queue,
                   uint16_t *distance) {
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < made->vertices; v++) last[v] = NO_LINK, distance[v] = UINT16_MAX;
    queue[tail++] = (uint16_t)source;
    distance[source] = 0;
    while (head < tail) {
        uint16_t at = queue[head++];
        if (!scaleup && at != source && at < made->first_switch) continue;
        for (size_t l = 0; l < made->link_count; l++) {
            const local_link *link = &made->links[l];
            if (link->from != at || link->to == LOCAL_NVSWITCH || (link->kind == PW_LINK_NVLINK) != scaleup) continue;
            bool is_new = distance[link->to] == UINT16_MAX;
            if (is_new) {
                distance[link->to] = (uint16_t)(distance[at] + 1);
                queue[tail++] = link->to;
            }
            bool is_wider = !is_new && distance[link->to] == distance[at] + 1 && last[link->to] != NO_LINK &&
                            link->bandwidth_Bps > made->links[last[link->to]].bandwidth_Bps;
            if (is_new || is_wider) last[link->to] = (uint16_t)l;
        }
    }
}

static uint32_t path_length(const node_template *made, const uint16_t *last, uint32_t from, uint32_t to) {
    uint32_t length = 0;
    for (uint32_t at = to; at != from; at = made->links[last[at]].from, length++)
        if (last[at] == NO_LINK) return UINT32_MAX;
    return length;
}

/* GPUs take turns to pick the nearest, least taken NIC. */
static void pair_nics(node_template *made, const node_wiring *wiring) {
    uint16_t taken[NODE_NICS] = {0};
    for (uint32_t n = 0; n < wiring->nics; n++) made->nic_gpu[n] = NO_LINK;
    for (uint32_t g = 0; g < made->gpus; g++)
        for (uint32_t k = 0; k < made->nics_per_gpu; k++) {
            uint32_t best = 0, best_length = UINT32_MAX;
            for (uint32_t n = 0; n < wiring->nics; n++) {
                bool own = false;
                for (uint32_t i = 0; i < k; i++) own = own || made->gpu_nics[g * made->nics_per_gpu + i] == n;
                uint32_t length = path_length(made, made->host_last + g * made->vertices, g, made->first_nic + n);
                /* a port that is already shared by as many GPUs as must share one is left to others */
                uint32_t most = (made->gpus * made->nics_per_gpu + wiring->nics - 1) / wiring->nics;
                if (own || taken[n] >= most) continue;
                if (length < best_length || (length == best_length && taken[n] < taken[best])) best = n, best_length = length;
            }
            made->gpu_nics[g * made->nics_per_gpu + k] = (uint16_t)best;
            taken[best]++;
            if (made->nic_gpu[best] == NO_LINK) made->nic_gpu[best] = (uint16_t)g;
        }
}

static pw_status find_paths(node_template *made, const node_wiring *wiring, pw_error *error) {
    uint32_t n = made->vertices;
    uint16_t *scratch = pw_alloc(made->allocator, 2 * n * sizeof *scratch);
    if (!scratch) return no_memory(error);
    for (uint32_t v = 0; v < n; v++) search(made, v, false, made->host_last + v * n, scratch, scratch + n);
    for (uint32_t g = 0; g < made->gpus; g++) search(made, g, true, made->scaleup_last + g * n, scratch, scratch + n);
    pw_free(made->allocator, scratch, 2 * n * sizeof *scratch);
    for (uint32_t g = 0; g < made->gpus; g++) {
        uint32_t shortest = UINT32_MAX;
        for (uint32_t c = made->first_cpu; c < n; c++) {
            uint32_t length = path_length(made, made->host_last + g * n, g, c);
            if (length < shortest) shortest = length, made->gpu_cpu[g] = (uint16_t)c;
        }
    }
    if (wiring->nics) pair_nics(made, wiring);
    return PW_OK;
}

static bool allocate(node_template *made, uint32_t nics) {
    const pw_allocator *allocator = made->allocator;
    size_t n = made->vertices, gpus = made->gpus;
    made->host_last = pw_alloc(allocator, n * n * sizeof(uint16_t));
    made->scaleup_last = pw_alloc(allocator, gpus * n * sizeof(uint16_t));
    made->gpu_nics = pw_alloc_zero(allocator, gpus * made->nics_per_gpu * sizeof(uint16_t));
    made->nic_gpu = pw_alloc_zero(allocator, nics * sizeof(uint16_t));
    made->gpu_cpu = pw_alloc_zero(allocator, gpus * sizeof(uint16_t));
    return made->host_last && made->scaleup_last && made->gpu_nics && made->nic_gpu && made->gpu_cpu;
}

pw_status template_create(const pw_allocator *allocator, const node_wiring *wiring, node_template *made, pw_error *error) {
    uint32_t nics_per_gpu = wiring->nics > wiring->gpus ? wiring->nics / wiring->gpus : wiring->nics != 0;
    *made = (node_template){.allocator = allocator, .gpus = wiring->gpus, .nics_per_gpu = nics_per_gpu,
                            .first_nic = wiring->gpus, .first_switch = wiring->gpus + wiring->nics};
    made->first_cpu = made->first_switch + wiring->switches;
    made->vertices = made->first_cpu + wiring->sockets;
    if (!add_scaleup(made, wiring) || !add_host(made, wiring) || !allocate(made, wiring->nics)) return no_memory(error);
    return find_paths(made, wiring, error);
}

void template_destroy(node_template *made) {
    const pw_allocator *allocator = made->allocator;
    if (!allocator) return;
    size_t n = made->vertices, gpus = made->gpus, nics = made->first_switch - made->first_nic;
    pw_free(allocator, made->links, made->link_capacity * sizeof *made->links);
    pw_free(allocator, made->host_last, n * n * sizeof(uint16_t));
    pw_free(allocator, made->scaleup_last, gpus * n * sizeof(uint16_t));
    pw_free(allocator, made->gpu_nics, gpus * made->nics_per_gpu * sizeof(uint16_t));
    pw_free(allocator, made->nic_gpu, nics * sizeof(uint16_t));
    pw_free(allocator, made->gpu_cpu, gpus * sizeof(uint16_t));
}

static bool append(const node_template *made, const uint16_t *last, uint32_t from, uint32_t to, pw_link first_link,
                   pw_path *path) {
    uint32_t length = path_length(made, last, from, to);
    if (length == UINT32_MAX || length > PW_ROUTE_MAX - path->count) return false;
    path->count += length;
    uint32_t place = path->count;
    for (uint32_t at = to; at != from; at = made->links[last[at]].from) path->links[--place] = first_link + last[at];
    return true;
}

bool template_host_path(const node_template *made, uint32_t from, uint32_t to, pw_link first_link, pw_path *path) {
    return append(made, made->host_last + from * made->vertices, from, to, first_link, path);
}

bool template_scaleup_path(const node_template *made, uint32_t from, uint32_t to, pw_link first_link, pw_path *path) {
    return append(made, made->scaleup_last + from * made->vertices, from, to, first_link, path);
}
