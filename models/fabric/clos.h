/* The shape of a folded Clos network. Internal to this folder. */
#ifndef PW_MODELS_FABRIC_CLOS_H
#define PW_MODELS_FABRIC_CLOS_H

#include "models/fabric/network_internal.h"

enum { CLOS_TIERS = 6 }; /* at most */

typedef struct clos_tier {
    uint32_t children;    /* subtrees of the tier below in one of this tier */
    uint32_t subtrees;    /* of this tier in the network */
    uint32_t width;       /* switches of this tier at the top of one subtree */
    uint32_t span;        /* leaves below one subtree, when full */
    uint32_t ups, cables; /* parents of a switch, and parallel cables to each; 0 at the top */
    double cable_Bps;     /* payload of a cable upwards */
    pw_vertex first;
    pw_link links;        /* the first upwards: link c of switch s is links + 2 (s ups + c) */
} clos_tier;

typedef struct clos_shape {
    uint32_t tiers;
    uint32_t sides;        /* leaves over which a port is divided */
    uint32_t block_nodes;  /* nodes that share a leaf, or a set of leaves */
    uint32_t block_leaves; /* leaves of such a block */
    uint32_t leaf_ports;   /* ports in use on a leaf (the largest) */
    pw_link port_links;    /* side s of port p is port_links + 2 (p sides + s) */
    clos_tier tier[CLOS_TIERS];
} clos_shape;

/* node_ports: ports of one node on one leaf; block_rails: rails that have leaves of their own. */
pw_status clos_shape_of(const network_part *part, clos_shape *shape, uint32_t node_ports, uint32_t block_rails,
                        pw_error *error);
/* One switch for all. */
pw_status clos_shape_one(const network_part *part, clos_shape *shape, pw_error *error);

#endif
