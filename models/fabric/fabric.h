/* The fabric: a directed graph of vertices and links, and routes over it.
 *
 * A link carries its achievable payload bandwidth per direction (line rate x protocol efficiency of the catalogue) and a
 * latency. Topologies register in one table (TOPOLOGIES in network_internal.h); each builds switches and links between the network
 * ports of nodes and answers routes structurally, so that 100,000 ports need no tables.
 */
#ifndef PW_MODELS_FABRIC_H
#define PW_MODELS_FABRIC_H

#include "models/catalogue/catalogue.h"
#include "sim/memory.h"

typedef uint32_t pw_vertex; /* 0, 1, ...; PW_NONE: none */
typedef uint32_t pw_link;
#define PW_NONE UINT32_MAX

typedef enum pw_vertex_kind {
    PW_VERTEX_GPU,
    PW_VERTEX_CPU,
    PW_VERTEX_PCIE_SWITCH,
    PW_VERTEX_NVSWITCH,
    PW_VERTEX_NIC,
    PW_VERTEX_LEAF,
    PW_VERTEX_SPINE,
    PW_VERTEX_CORE,
    PW_VERTEX_KIND_COUNT
} pw_vertex_kind;
extern const char *const pw_vertex_kind_names[];

typedef enum pw_link_kind {
    PW_LINK_NVLINK,  /* GPU to NVSwitch or GPU */
    PW_LINK_PCIE,
    PW_LINK_SOCKET,  /* between CPUs */
    PW_LINK_NETWORK, /* NIC to leaf */
    PW_LINK_TRUNK,   /* switch to switch */
    PW_LINK_KIND_COUNT
} pw_link_kind;
extern const char *const pw_link_kind_names[];

typedef struct pw_link_info {
    pw_vertex from, to;
    pw_link_kind kind;
    double bandwidth_Bps; /* payload, one direction; parallel cables between two vertices are one link of their sum */
    double latency_s;
} pw_link_info;

typedef struct pw_fabric pw_fabric;

pw_status pw_fabric_create(const pw_allocator *allocator, pw_fabric **fabric, pw_error *error);
void pw_fabric_destroy(pw_fabric *fabric);
/* PW_NONE when memory is out. */
pw_vertex pw_fabric_add_vertex(pw_fabric *fabric, pw_vertex_kind kind);
/* One direction; pw_fabric_add_cable adds both and returns the forward link (the reverse one is the next number). */
pw_link pw_fabric_add_link(pw_fabric *fabric, pw_vertex from, pw_vertex to, pw_link_kind kind, double bandwidth_Bps,
                           double latency_s);
pw_link pw_fabric_add_cable(pw_fabric *fabric, pw_vertex a, pw_vertex b, pw_link_kind kind, double bandwidth_Bps,
                            double latency_s);
uint32_t pw_fabric_vertices(const pw_fabric *fabric);
uint32_t pw_fabric_links(const pw_fabric *fabric);
pw_vertex_kind pw_fabric_vertex_kind(const pw_fabric *fabric, pw_vertex vertex);
const pw_link_info *pw_fabric_link(const pw_fabric *fabric, pw_link link);

/* For builders that change what they added; bandwidth > 0, latency >= 0. */
void pw_fabric_set_bandwidth(pw_fabric *fabric, pw_link link, double bandwidth_Bps);
void pw_fabric_set_latency(pw_fabric *fabric, pw_link link, double latency_s);

/* A route: links in order from source to destination. */
#define PW_ROUTE_MAX 128
typedef struct pw_path {
    uint32_t count;
    pw_link links[PW_ROUTE_MAX];
} pw_path;
double pw_path_latency_s(const pw_fabric *fabric, const pw_path *path);
double pw_path_bandwidth_Bps(const pw_fabric *fabric, const pw_path *path); /* smallest on the path; infinity if empty */

/* --- Topologies between network ports ------------------------------------------------------------------------- */

/* One tier of a Clos network, the leaves first. What is left out is chosen. */
typedef struct pw_tier_desc {
    int64_t radix;           /* ports of a switch; 0: network.radix */
    double oversubscription; /* bandwidth down over bandwidth up; NaN: network.oversubscription for leaves, else 1 */
    double uplink_Bps;       /* line rate of a cable to the next tier; NaN: that of the cables from below */
    int64_t group;           /* leaves: nodes of a leaf; above: leaves of a pod, pods of a group, ...; 0: as many as fit, evenly */
} pw_tier_desc;
extern const pw_kind pw_tier_kind;

/* How the flows of one pair of ports use the equal paths between them. */
typedef enum pw_routing {
    PW_ROUTING_SPRAY,    /* evenly over all of them */
    PW_ROUTING_ECMP,     /* each flow on one that a hash of flow and ports picks */
    PW_ROUTING_STATIC,   /* on the one that belongs to the destination (D-mod-k) */
    PW_ROUTING_ADAPTIVE, /* each flow on the one that is least loaded by the flows of its collective so far */
    PW_ROUTING_COUNT
} pw_routing;

typedef enum pw_paths { PW_PATHS_MINIMAL, PW_PATHS_VALIANT, PW_PATHS_COUNT } pw_paths; /* of a dragonfly */

/* A network link by link (topology custom). */
typedef struct pw_switch_desc {
    const char *name;
    int64_t tier; /* 1 for the lowest, where it is drawn; 0: 1 */
} pw_switch_desc;
typedef struct pw_cable_desc {
    const char *from, *to; /* names of switches */
    int64_t count;         /* parallel ones; 0: 1 */
    double rate_Bps;       /* line rate of each, one direction; NaN or 0: port_Bps */
    double latency_s;      /* NaN or below 0: cable_latency_s */
} pw_cable_desc;
typedef struct pw_attach_desc {
    const char *to;            /* name of a switch */
    const char *nodes, *ports; /* "*", "3", "0-7", "0-3,8", counted from 0; NULL: all */
} pw_attach_desc;
extern const pw_kind pw_switch_kind, pw_cable_kind, pw_attach_kind;

/* A part that failed: the cables of a node or of one of its ports; those of a switch, or one of its trunks. All from 0; below 0:
 * not given. */
typedef struct pw_failure_desc {
    int64_t node, port;
    int64_t tier, index; /* tier from 1 (0: 1); index of the switch among those of its tier, over planes and rails */
    const char *name;    /* of a switch of a custom network */
    int64_t link;        /* trunk of that switch, in the order of building; below 0: all of its cables */
    double capacity;     /* share of the bandwidth that is left; 0: dead */
} pw_failure_desc;
extern const pw_kind pw_failure_kind;

typedef struct pw_network_desc {
    int topology;            /* index into pw_topology_names */
    double oversubscription; /* >= 1: leaf downlinks over uplinks */
    int64_t radix;           /* ports of a switch; 0: the catalogue's switch for the node, else 64; single_switch: no limit */
    double port_Bps;         /* line rate of a NIC port; NaN: the node's NIC */
    double efficiency;       /* payload over line rate; NaN: from the catalogue */
    double hop_latency_s;    /* per switch hop; NaN: from the catalogue */
    double cable_latency_s;  /* NaN: from the catalogue */
    pw_list tiers;           /* of pw_one_of: pw_tier_desc, leaves first; not given: as many as needed, all alike */
    int64_t planes;          /* networks of their own that share the rate of every port; 0: 1 */
    int64_t leaves_per_port; /* leaves over which the rate of a port is divided (2: dual-ToR); 0: 1 */
    int routing;             /* pw_routing */
    int64_t flows_per_pair;  /* flows of a pair of ports, for ECMP and adaptive routing; 0: 1 */
    bool reduces;            /* its switches can sum what passes (SHARP) */
    /* Networks of routers, with nodes attached to each. */
    int64_t nodes_per_switch; /* 0: 1 */
    int64_t trunks;           /* cables between two neighbours; 0: 1 */
    double trunk_Bps;         /* line rate of each; NaN or 0: port_Bps (of a plane: its share) */
    pw_list dims;             /* of int64_t: sizes of a torus, mesh or HyperX */
    int64_t group_switches;   /* of a dragonfly: routers (leaves) of a group */
    int64_t group_spines;     /* of a dragonfly+; 0: as many as leaves */
    int64_t global_links;     /* at most so many global cables of a router (spine) */
    int paths;                /* pw_paths */
    pw_list switches, cables, attachments; /* of pw_one_of: pw_switch_desc, pw_cable_desc, pw_attach_desc */
    pw_list failures;                      /* of pw_one_of: pw_failure_desc */
} pw_network_desc;
extern const pw_kind pw_network_kind; /* "network" in the registry */

typedef struct pw_network pw_network;
typedef struct pw_topology pw_topology;
extern const char *const pw_topology_names[]; /* "single_switch", "fat_tree", ..., NULL-terminated, for the registry */

/* ports: NIC vertices already in the fabric. The fabric must outlive the network. Here every figure of desc must be
 * known (pw_cluster_create fills in those of the catalogue). Links into a switch carry hop and cable latency, links into
 * a NIC the cable's. */
pw_status pw_network_create(const pw_allocator *allocator, pw_fabric *fabric, const pw_network_desc *desc,
                            const pw_vertex *ports, uint32_t nodes, uint32_t rails, pw_network **network,
                            pw_error *error);
void pw_network_destroy(pw_network *network);
bool pw_network_reduces(const pw_network *network); /* as described */
bool pw_network_has_routers(const pw_network *network); /* a torus, dragonfly, graph, ...: links between neighbours, no tiers */
/* Appends the links from port a to port b to *path (none when a is b). The same arguments always give the same route; hash
 * stands for the flow. Fails with PW_BAD_INPUT when a port does not exist, with PW_UNSUPPORTED when the two are on networks
 * of their own (rails), with PW_OUT_OF_RANGE when *path has no room. Costs under 200 ns. */
pw_status pw_network_route(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path);
/* The load of what one port sends to another, by network.routing: calls visit for every link used, once or more, with a share
 * of the bytes that it carries. Adaptive routing finds the network idle here. Fails as pw_network_route does, and with
 * PW_NO_MEMORY. */
pw_status pw_network_spread(const pw_network *network, uint32_t port_a, uint32_t port_b,
                            void (*visit)(void *object, pw_link link, double fraction), void *object);
/* Links that every spread loads alike are twins: all uplinks of a leaf, all links between the spines of a pod and the cores,
 * each direction by itself. They have one bandwidth, so the first of them can stand for all. There are none unless traffic is
 * sprayed over a regular network. */
typedef struct pw_twins {
    pw_link first;
    uint32_t count; /* 1: the link has no twin, and is the first */
} pw_twins;
pw_twins pw_network_twins(const pw_network *network, pw_link link);
/* pw_network_spread with the first of twins only, and the share of the flow on each of them. A large fabric has thousands of
 * links between two ports, but two sets of twins for each tier. */
pw_status pw_network_spread_twins(const pw_network *network, uint32_t port_a, uint32_t port_b,
                                  void (*visit)(void *object, pw_link link, double fraction), void *object);
/* The same where `bytes` meet what other flows put on links before: adaptive routing takes the path whose fullest link stays
 * least full, load_bytes(loads, link) being the bytes on it. Other routing does not ask. */
pw_status pw_network_spread_loaded(const pw_network *network, uint32_t port_a, uint32_t port_b, double bytes,
                                   double (*load_bytes)(void *loads, pw_link link), void *loads,
                                   void (*visit)(void *object, pw_link link, double fraction), void *object);

/* The loads of an exchange: every port a sends every port b of another block (block b / block) out[a] in[b] bytes, out and in being
 * [ports]. Of twins the first only. In O(ports + links), where traffic is sprayed over a regular folded Clos; PW_UNSUPPORTED without a
 * message where it is not, and nothing was visited then. PW_NO_MEMORY. Rails that are apart carry only what stays on them. */
pw_status pw_network_spread_exchange(const pw_network *network, uint32_t block, const double *out, const double *in,
                                     void (*visit)(void *object, pw_link link, double bytes), void *object);

/* Facts for `describe`, over all planes and rails. */
enum { PW_NETWORK_TIERS = 8, PW_NETWORK_CABLES = 12 };
typedef struct pw_network_facts {
    uint32_t leaves, spines, cores, tiers; /* switches of the first tier, the second, and all above */
    double bisection_Bps;    /* payload, one direction, at most half of the ports; docs/models/fabric.md says which cut */
    uint32_t cables;         /* physical ones, both directions in each */
    uint32_t hops;           /* links on the longest route between ports; ways around single dead links are not counted */
    double oversubscription; /* as built: bandwidth of the ports in use of a leaf over that of its uplinks; 1 without uplinks */
    uint32_t tier_count, cable_count;
    struct {
        const char *name; /* "leaf", "spine", "core", "tier 4", "router" */
        uint32_t switches, most_cables; /* and the cables of the fullest of them */
    } tier[PW_NETWORK_TIERS];
    struct {
        const char *name; /* "port", "leaf to spine", "dimension 1", "local", "global" */
        uint32_t cables;
        double cable_Bps; /* payload of one */
    } cable[PW_NETWORK_CABLES];
} pw_network_facts;
pw_network_facts pw_network_get_facts(const pw_network *network);

/* Every switch, so that a network can be drawn. */
typedef struct pw_switch_info {
    pw_vertex vertex;
    uint32_t tier;          /* index into pw_network_facts.tier */
    uint32_t group, index;  /* leaf: its number, 0; above: its pod or group, and which switch of that; routers: see the topology */
    uint32_t plane, rail;   /* the network of its own that it is part of; rail PW_NONE: of all rails */
    const char *name;       /* given by the user; NULL: none */
} pw_switch_info;
uint32_t pw_network_switches(const pw_network *network);
pw_switch_info pw_network_switch(const pw_network *network, uint32_t index); /* index below pw_network_switches */
const char *pw_network_topology(const pw_network *network);  /* its name */
bool pw_network_is_rail_aligned(const pw_network *network);  /* port r of every node is on rail r */
bool pw_network_has_rails_apart(const pw_network *network);  /* rails are networks of their own */
/* Every port reaches every other at its own rate, whatever the others do: a folded Clos without oversubscription. */
bool pw_network_is_nonblocking(const pw_network *network);
/* Of topologies, by their number in pw_topology_names; -1: no topology has that name. */
int pw_topology_find(const char *name);
bool pw_topology_is_rail_aligned(int topology); /* before a network is built */
/* Whether the switches of topology number t have a radix to be looked up; the single switch is as large as needed. */
bool pw_topology_has_radix(int topology);

#endif
