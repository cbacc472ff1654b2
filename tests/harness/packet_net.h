/* Small fabrics for packet tests: one pw_fabric with routes by arithmetic. */
#ifndef PW_TESTS_PACKET_NET_H
#define PW_TESTS_PACKET_NET_H

#include "models/packet/packet.h"
#include "tests/harness/check.h"

typedef struct pw_test_net {
    pw_fabric *fabric;
    pw_network *network;   /* NULL: a chain or a star */
    uint32_t ends, hops;   /* of a chain */
    pw_link *up, *down;    /* of a star: host to switch, switch to host */
    uint32_t left;         /* dumbbell: hosts on the first of two switches; 0: a star */
    pw_link trunk[2];      /* from the first switch to the second, and back */
    pw_arena *arena;
} pw_test_net;

static inline pw_test_net pw_test_net_open(void) {
    pw_test_net net = {.arena = pw_arena_create(NULL)};
    PW_EXPECT_INT(pw_fabric_create(NULL, &net.fabric, NULL), PW_OK);
    return net;
}

static inline void pw_test_net_close(pw_test_net *net) {
    pw_network_destroy(net->network);
    pw_fabric_destroy(net->fabric);
    pw_arena_destroy(net->arena);
}

/* Hosts 0 and 1 with hops cables between them: links 0, 2, 4 ... lead from 0 to 1. */
static inline pw_test_net pw_test_chain(uint32_t hops, double bandwidth_Bps, double latency_s) {
    pw_test_net net = pw_test_net_open();
    net.ends = 2;
    net.hops = hops;
    pw_vertex at = pw_fabric_add_vertex(net.fabric, PW_VERTEX_NIC);
    for (uint32_t h = 0; h < hops; h++) {
        pw_vertex next = pw_fabric_add_vertex(net.fabric, h + 1 < hops ? PW_VERTEX_LEAF : PW_VERTEX_NIC);
        pw_fabric_add_cable(net.fabric, at, next, PW_LINK_NETWORK, bandwidth_Bps, latency_s);
        at = next;
    }
    return net;
}

/* Hosts around one switch; down_Bps is the rate towards host 0, up_Bps of all other links. */
static inline pw_test_net pw_test_star(uint32_t hosts, double up_Bps, double down_Bps, double latency_s) {
    pw_test_net net = pw_test_net_open();
    net.ends = hosts;
    net.up = pw_arena_alloc(net.arena, hosts * sizeof *net.up);
    net.down = pw_arena_alloc(net.arena, hosts * sizeof *net.down);
    pw_vertex hub = pw_fabric_add_vertex(net.fabric, PW_VERTEX_LEAF);
    for (uint32_t h = 0; h < hosts; h++) {
        pw_vertex nic = pw_fabric_add_vertex(net.fabric, PW_VERTEX_NIC);
        net.up[h] = pw_fabric_add_link(net.fabric, nic, hub, PW_LINK_NETWORK, up_Bps, latency_s);
        net.down[h] = pw_fabric_add_link(net.fabric, hub, nic, PW_LINK_NETWORK, h ? up_Bps : down_Bps, latency_s);
    }
    return net;
}

/* Two switches with a trunk between them; hosts 0 .. left - 1 are on the first. All links have one rate. */
static inline pw_test_net pw_test_dumbbell(uint32_t left, uint32_t right, double rate_Bps, double latency_s) {
    pw_test_net net = pw_test_net_open();
    net.ends = left + right;
    net.left = left;
    net.up = pw_arena_alloc(net.arena, net.ends * sizeof *net.up);
    net.down = pw_arena_alloc(net.arena, net.ends * sizeof *net.down);
    pw_vertex first = pw_fabric_add_vertex(net.fabric, PW_VERTEX_LEAF), second = pw_fabric_add_vertex(net.fabric, PW_VERTEX_LEAF);
    net.trunk[0] = pw_fabric_add_cable(net.fabric, first, second, PW_LINK_TRUNK, rate_Bps, latency_s);
    net.trunk[1] = net.trunk[0] + 1;
    for (uint32_t h = 0; h < net.ends; h++) {
        pw_vertex nic = pw_fabric_add_vertex(net.fabric, PW_VERTEX_NIC);
        net.up[h] = pw_fabric_add_cable(net.fabric, nic, h < left ? first : second, PW_LINK_NETWORK, rate_Bps, latency_s);
        net.down[h] = net.up[h] + 1;
    }
    return net;
}

/* A network of the table: hosts with one port each. */
static inline pw_test_net pw_test_network(const char *topology, uint32_t hosts, int64_t radix, double oversubscription, double port_Bps,
                                          double link_latency_s) {
    pw_test_net net = pw_test_net_open();
    net.ends = hosts;
    pw_vertex *ports = pw_arena_alloc(net.arena, hosts * sizeof *ports);
    for (uint32_t h = 0; h < hosts; h++) ports[h] = pw_fabric_add_vertex(net.fabric, PW_VERTEX_NIC);
    pw_network_desc desc = {.oversubscription = oversubscription, .radix = radix, .port_Bps = port_Bps, .efficiency = 1,
                            .hop_latency_s = 0, .cable_latency_s = link_latency_s};
    while (pw_topology_names[desc.topology] && strcmp(pw_topology_names[desc.topology], topology)) desc.topology++;
    pw_error error = {0};
    PW_EXPECT_INT(pw_network_create(NULL, net.fabric, &desc, ports, hosts, 1, &net.network, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return net;
}

static inline pw_status pw_test_route(const void *object, uint32_t from, uint32_t to, uint64_t hash, pw_path *path) {
    const pw_test_net *net = object;
    if (net->network) return pw_network_route(net->network, from, to, hash, path);
    if (net->up) {
        path->links[path->count++] = net->up[from];
        if ((from < net->left) != (to < net->left)) path->links[path->count++] = net->trunk[from >= net->left];
        path->links[path->count++] = net->down[to];
        return PW_OK;
    }
    for (uint32_t h = 0; h < net->hops; h++) path->links[path->count++] = from == 0 ? 2 * h : 2 * (net->hops - 1 - h) + 1;
    return PW_OK;
}

static inline pw_status pw_test_packets_or(const pw_test_net *net, const pw_packet_desc *desc, const pw_traffic *traffic, uint64_t seed,
                                           pw_packet_result *result, pw_error *error) {
    const pw_packet_config config = {.fabric = net->fabric, .route = pw_test_route, .route_object = net, .ends = net->ends, .seed = seed};
    return pw_packet_run(&config, desc, traffic, net->arena, result, error);
}

static inline pw_packet_result pw_test_packets(const pw_test_net *net, const pw_packet_desc *desc, const pw_traffic *traffic, uint64_t seed) {
    pw_packet_result result;
    pw_error error = {0};
    pw_status status = pw_test_packets_or(net, desc, traffic, seed, &result, &error);
    PW_EXPECT_INT(status, PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return result;
}

static inline pw_packet_result pw_test_fluid(const pw_test_net *net, const pw_packet_desc *desc, const pw_traffic *traffic, uint64_t seed) {
    const pw_packet_config config = {.fabric = net->fabric, .route = pw_test_route, .route_object = net, .ends = net->ends, .seed = seed};
    pw_packet_result result;
    pw_error error = {0};
    PW_EXPECT_INT(pw_packet_run_fluid(&config, desc, traffic, net->arena, &result, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return result;
}

static inline pw_traffic pw_test_pattern(const pw_test_net *net, pw_traffic_pattern pattern, double bytes, uint64_t seed) {
    pw_traffic traffic;
    pw_error error = {0};
    const pw_pattern_desc desc = {.pattern = (int)pattern, .bytes = bytes, .repeats = 1};
    PW_EXPECT_INT(pw_traffic_make(&desc, "traffic", net->ends, seed, net->arena, &traffic, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    return traffic;
}

static inline double pw_test_mean_s(const pw_packet_result *result, uint32_t flows) {
    double sum = 0;
    for (uint32_t f = 0; f < flows; f++) sum += result->finish_s[f] - result->start_s[f];
    return sum / flows;
}

static inline double pw_test_first_s(const pw_packet_result *result, uint32_t flows) {
    double least = INFINITY;
    for (uint32_t f = 0; f < flows; f++) least = fmin(least, result->finish_s[f] - result->start_s[f]);
    return least;
}

#endif
