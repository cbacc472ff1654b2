/* What the files of this folder share: a network is a Clos of one, two or three tiers. Links are numbered structurally
 * (cable k of a group is links first + 2k upwards and first + 2k + 1 downwards), so that a route is arithmetic. */
#ifndef PW_MODELS_FABRIC_NETWORK_INTERNAL_H
#define PW_MODELS_FABRIC_NETWORK_INTERNAL_H

#include "models/fabric/fabric.h"

typedef struct clos_shape {
    uint32_t leaves;
    uint32_t block_nodes;     /* nodes that share a leaf, or a set of leaves */
    uint32_t block_leaves;    /* leaves of such a block: 1, or one per rail */
    uint32_t leaf_ports;      /* ports in use on a leaf (the largest) */
    uint32_t uplinks;         /* cables of a leaf to its spines; 0: one leaf */
    uint32_t pods, pod_leaves;
    uint32_t pod_spines;      /* spines of a pod; every leaf reaches all spines of its pod */
    uint32_t spine_cores;     /* cores above one spine; spine s of every pod reaches the cores of group s; 0: two tiers */
    uint32_t leaf_cables;     /* parallel cables leaf to spine */
    uint32_t core_cables;     /* parallel cables spine to core */
} clos_shape;

struct pw_network {
    const pw_allocator *allocator;
    pw_fabric *fabric;
    const pw_vertex *ports; /* only while building */
    pw_network_desc desc;
    uint32_t nodes, rails;
    double cable_Bps; /* payload of one cable */
    clos_shape shape;
    pw_link port_links, leaf_links, spine_links; /* the first of each group */
};

/* clos.c */
pw_status clos_build_single(pw_network *network, pw_error *error);
pw_status clos_build_fat_tree(pw_network *network, pw_error *error);
pw_status clos_build_rails(pw_network *network, pw_error *error);
void clos_route(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path);
void clos_spread(const pw_network *network, uint32_t port_a, uint32_t port_b,
                 void (*visit)(void *object, pw_link link, double fraction), void *object);
void clos_spread_twins(const pw_network *network, uint32_t port_a, uint32_t port_b,
                       void (*visit)(void *object, pw_link link, double fraction), void *object);
pw_twins clos_twins(const pw_network *network, pw_link link);

#endif
