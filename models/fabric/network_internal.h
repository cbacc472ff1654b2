/* What the files of this folder share: a network and the table of topologies.
 *
 * A topology is one file. Its build adds switches and links to network->fabric and keeps what its other functions need in
 * network->state. Links that are numbered structurally make a route arithmetic. */
#ifndef PW_MODELS_FABRIC_NETWORK_INTERNAL_H
#define PW_MODELS_FABRIC_NETWORK_INTERNAL_H

#include "models/fabric/fabric.h"

struct pw_network {
    const pw_allocator *allocator;
    pw_fabric *fabric;
    const pw_vertex *ports; /* only while building */
    pw_network_desc desc;
    uint32_t nodes, rails;
    double cable_Bps; /* payload of one cable */
    const pw_topology *topology;
    void *state; /* the topology's own; NULL until build sets it */
};

struct pw_topology {
    const char *name, *text; /* "fat_tree": ... */
    bool rail_aligned;       /* port r of a node belongs to rail r: traffic for another rail changes rails inside the node first */
    bool one_switch;         /* radix 0 means no limit, not the default */
    /* Builds switches and links for nodes x rails ports (ports[node * rails + rail] are NIC vertices). */
    pw_status (*build)(pw_network *network, pw_error *error);
    /* Frees the state, which is not NULL; also after a build that failed. */
    void (*destroy)(pw_network *network);
    /* Appends the links from port a to port b (different ports); hash picks among equal paths (static ECMP). */
    void (*route)(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path);
    /* Visits every link of every equal path with its share of an evenly spread flow of 1 from port a to port b. */
    void (*spread)(const pw_network *network, uint32_t port_a, uint32_t port_b,
                   void (*visit)(void *object, pw_link link, double fraction), void *object);
    /* As pw_network_twins and pw_network_spread_twins; both NULL: no link has a twin. */
    pw_twins (*twins)(const pw_network *network, pw_link link);
    void (*spread_twins)(const pw_network *network, uint32_t port_a, uint32_t port_b,
                         void (*visit)(void *object, pw_link link, double fraction), void *object);
    pw_network_facts (*facts)(const pw_network *network);
};

/* One line per topology: X(variable). The order is that of pw_topology_names; 0 is not the default. */
#define TOPOLOGIES(X)      \
    X(single_switch)       \
    X(fat_tree)            \
    X(rail_optimized)
#define TOPOLOGY_DECLARED(name) extern const pw_topology topology_##name;
TOPOLOGIES(TOPOLOGY_DECLARED)
#undef TOPOLOGY_DECLARED

#endif
