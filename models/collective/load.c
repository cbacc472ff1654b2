/* What messages put on the links of a cluster. */
#include <math.h>
#include <string.h>

#include "models/collective/collectives_internal.h"

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the link loads of a collective");
}

void load_sum_create(const pw_collectives *collectives, load_sum *sum) {
    *sum = (load_sum){.collectives = collectives};
}

void load_sum_destroy(load_sum *sum) {
    const pw_allocator *allocator = sum->collectives->allocator;
    pw_free(allocator, sum->links, sum->links_capacity * sizeof *sum->links);
    pw_free(allocator, sum->bytes, sum->bytes_capacity * sizeof *sum->bytes);
    pw_free(allocator, sum->table, sum->table_size * sizeof *sum->table);
    *sum = (load_sum){.collectives = sum->collectives};
}

void load_sum_clear(load_sum *sum) {
    for (uint32_t i = 0; sum->count && i < sum->table_size; i++) sum->table[i] = PW_NONE;
    sum->count = 0;
}

static uint32_t place_of(const load_sum *sum, pw_link link) {
    uint32_t at = (link * UINT32_C(2654435769)) & (sum->table_size - 1);
    while (sum->table[at] != PW_NONE && sum->links[sum->table[at]] != link) at = (at + 1) & (sum->table_size - 1);
    return at;
}

static bool grow(load_sum *sum) {
    const pw_allocator *allocator = sum->collectives->allocator;
    if (pw_grow(allocator, (void **)&sum->links, &sum->links_capacity, sum->count + (size_t)1, sizeof *sum->links) ||
        pw_grow(allocator, (void **)&sum->bytes, &sum->bytes_capacity, sum->count + (size_t)1, sizeof *sum->bytes))
        return false;
    if (2 * (sum->count + 1) <= sum->table_size) return true;
    uint32_t size = sum->table_size ? 2 * sum->table_size : 64;
    uint32_t *table = pw_alloc(allocator, size * sizeof *table);
    if (!table) return false;
    pw_free(allocator, sum->table, sum->table_size * sizeof *table);
    sum->table = table;
    sum->table_size = size;
    for (uint32_t i = 0; i < size; i++) table[i] = PW_NONE;
    for (uint32_t i = 0; i < sum->count; i++) table[place_of(sum, sum->links[i])] = i;
    return true;
}

void load_sum_add(load_sum *sum, pw_link link, double bytes) {
    if (!(bytes > 0)) return;
    if (sum->failed || !grow(sum)) {
        sum->failed = true;
        return;
    }
    uint32_t *place = &sum->table[place_of(sum, link)];
    if (*place == PW_NONE) {
        *place = sum->count;
        sum->links[sum->count] = link;
        sum->bytes[sum->count++] = 0;
    }
    sum->bytes[*place] += bytes;
}

double load_sum_rate(const load_sum *sum) {
    const pw_fabric *fabric = pw_cluster_fabric(sum->collectives->cluster);
    double rate = INFINITY;
    for (uint32_t i = 0; i < sum->count; i++) {
        double here = pw_fabric_link(fabric, sum->links[i])->bandwidth_Bps / sum->bytes[i];
        if (here < rate) rate = here;
    }
    return rate;
}

/* --- One message --------------------------------------------------------------------------------------------------- */

/* Gives each link of a message with its share. The part of a route inside the network is replaced by the even spread. */
typedef struct message_walk {
    pw_link_load_fn *add;
    void *object;
    double share;
    const load_sum *before; /* what other messages put on links; NULL: nothing */
    network_part_fn *network; /* takes what goes through the network instead of its spread; NULL: that */
} message_walk;

static double bytes_before(void *object, pw_link link) {
    const load_sum *sum = object;
    if (!sum || sum->table_size == 0) return 0;
    uint32_t at = sum->table[place_of(sum, link)];
    return at == PW_NONE ? 0 : sum->bytes[at];
}

static void visit_network(void *object, pw_link link, double fraction) {
    message_walk *walk = object;
    walk->add(walk->object, link, fraction * walk->share);
}

static pw_status walk_path(const pw_collectives *collectives, const pw_path *path, message_walk *walk, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(collectives->cluster);
    uint32_t port_a = PW_NONE, port_b = PW_NONE;
    for (uint32_t i = 0; i < path->count; i++) {
        const pw_link_info *info = pw_fabric_link(fabric, path->links[i]);
        if (info->kind != PW_LINK_NETWORK && info->kind != PW_LINK_TRUNK) {
            walk->add(walk->object, path->links[i], walk->share);
            continue;
        }
        if (port_a == PW_NONE) port_a = collectives->port_of[info->from];
        port_b = collectives->port_of[info->to]; /* PW_NONE until the last */
    }
    if (port_a == PW_NONE) return PW_OK;
    if (walk->network) {
        walk->network(walk->object, port_a, port_b, walk->share);
        return PW_OK;
    }
    if (pw_network_spread_loaded(pw_cluster_network(collectives->cluster), port_a, port_b, walk->share, bytes_before,
                                 (void *)walk->before, visit_network, walk) == PW_OK)
        return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "no way through the network from port %u to port %u", port_a, port_b);
}

static pw_status collectives_route(const pw_collectives *collectives, uint32_t from, uint32_t to, uint64_t hash,
                                   pw_path *path, pw_error *error) {
    pw_status status = pw_cluster_route(collectives->cluster, from, to, hash, path);
    if (status == PW_OK) return PW_OK;
    return pw_fail(error, status, NULL, 0, "give the nodes NVLink, a host path or network ports",
                   "no path from GPU %u to GPU %u", from, to);
}

static pw_status walk_message(const pw_collectives *collectives, uint32_t from, uint32_t to, double bytes,
                              pw_link_load_fn *add, void *object, const load_sum *before, network_part_fn *network, pw_error *error) {
    uint32_t ways = 1;
    if (collectives_domain(collectives, from) != collectives_domain(collectives, to))
        ways = pw_cluster_get_part(collectives->cluster, pw_cluster_part_of(collectives->cluster, from)).ports_per_gpu;
    if (ways == 0) ways = 1;
    message_walk walk = {add, object, bytes / ways, before, network};
    for (uint32_t way = 0; way < ways; way++) {
        pw_path path = {0};
        PW_TRY(collectives_route(collectives, from, to, way, &path, error));
        PW_TRY(walk_path(collectives, &path, &walk, error));
    }
    return PW_OK;
}

static void add_to_sum(void *object, pw_link link, double bytes) {
    load_sum_add(object, link, bytes);
}

pw_status load_sum_message(load_sum *sum, uint32_t from, uint32_t to, double bytes, pw_error *error) {
    PW_TRY(walk_message(sum->collectives, from, to, bytes, add_to_sum, sum, sum, NULL, error));
    return sum->failed ? no_memory(error) : PW_OK;
}

pw_status pw_message_loads(const pw_collectives *collectives, uint32_t from, uint32_t to, pw_link_load_fn *add,
                           void *object, pw_error *error) {
    return walk_message(collectives, from, to, 1, add, object, NULL, NULL, error);
}

pw_status collectives_message_parts(const pw_collectives *collectives, uint32_t from, uint32_t to, double bytes, pw_link_load_fn *add,
                                    network_part_fn *network, void *object, pw_error *error) {
    return walk_message(collectives, from, to, bytes, add, object, NULL, network, error);
}

pw_status collectives_message_path(const pw_collectives *collectives, uint32_t from, uint32_t to, double *rate_Bps,
                                   double *latency_s, pw_error *error) {
    load_sum sum;
    pw_path path = {0};
    load_sum_create(collectives, &sum);
    pw_status status = load_sum_message(&sum, from, to, 1, error);
    *rate_Bps = load_sum_rate(&sum);
    load_sum_destroy(&sum);
    PW_TRY(status);
    PW_TRY(collectives_route(collectives, from, to, 0, &path, error));
    *latency_s = pw_path_latency_s(pw_cluster_fabric(collectives->cluster), &path);
    return PW_OK;
}

pw_status collectives_direct_link(const pw_collectives *collectives, uint32_t from, uint32_t to, pw_link *link,
                                  double *bandwidth_Bps, pw_error *error) {
    pw_path path = {0};
    PW_TRY(collectives_route(collectives, from, to, 0, &path, error));
    *bandwidth_Bps = 0;
    if (path.count != 1) return PW_OK;
    *link = path.links[0];
    *bandwidth_Bps = pw_fabric_link(pw_cluster_fabric(collectives->cluster), *link)->bandwidth_Bps;
    return PW_OK;
}
