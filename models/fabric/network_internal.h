/* What the files of this folder share: a network, its parts and the table of topologies.
 *
 * A network is one or several parts that are alike: a plane, or one rail of it where rails are apart. A topology is one file
 * that builds and routes a part. Its build adds switches and links to part->fabric and keeps what its other functions need in
 * part->state. Links that are numbered structurally make a route arithmetic. */
#ifndef PW_MODELS_FABRIC_NETWORK_INTERNAL_H
#define PW_MODELS_FABRIC_NETWORK_INTERNAL_H

#include "models/fabric/fabric.h"

typedef struct path_table path_table;
typedef struct link_detours link_detours;

typedef struct network_part {
    const pw_allocator *allocator;
    pw_fabric *fabric;
    const pw_vertex *ports; /* only while building; part_port reads it */
    const pw_network_desc *desc;
    uint32_t nodes, rails;            /* of this part: port number = node * rails + rail */
    uint32_t plane, rail, node_ports; /* rail PW_NONE: all; node_ports: of a node in the whole network */
    double cable_Bps;                 /* payload of the cable of a port */
    const pw_topology *topology;
    void *state; /* the topology's own; NULL until build sets it */
    pw_vertex first_vertex; /* switches and links of the part are numbered one after another */
    pw_link first_link;
    uint32_t switch_count, link_count;
    path_table *table;   /* routes by search (table.h) of a topology without a rule; else NULL */
    bool *dead;          /* [link_count] links that carry nothing; NULL: all do */
    path_table *detours; /* of what is alive, where something is dead; else NULL */
    link_detours *around; /* the same: ways around single links (detours.c) */
} network_part;

struct pw_network {
    const pw_allocator *allocator;
    pw_fabric *fabric;
    pw_network_desc desc;
    uint32_t nodes, rails;
    network_part *parts; /* [rail, where they are apart][plane] */
    uint32_t part_count, planes;
    bool irregular; /* links differ from what the topology says: there are no twins */
    const pw_topology *topology;
};

typedef void visit_fn(void *object, pw_link link, double fraction);

struct pw_topology {
    const char *name, *text; /* "fat_tree": ... */
    bool rail_aligned;       /* port r of a node belongs to rail r: traffic for another rail changes rails inside the node first */
    bool rails_apart;        /* every rail is a part of its own */
    bool folded_clos;        /* without oversubscription no port slows another down */
    bool searched;           /* no route, ways, spread: they are searched for */
    bool one_switch;         /* radix 0 means no limit, not the default */
    unsigned uses;           /* fields that only some topologies have: USES_... */
    /* Builds switches and links for nodes x rails ports. */
    pw_status (*build)(network_part *part, pw_error *error);
    /* Frees the state, which is not NULL; also after a build that failed. */
    void (*destroy)(network_part *part);
    /* Appends the links from port a to port b (different ports); draw picks among equal paths: draws 0, 1, ..., ways - 1 give
     * each of them at least once. */
    void (*route)(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path);
    uint64_t (*ways)(const network_part *part, uint32_t port_a, uint32_t port_b);
    /* The draw for all traffic to port b under static routing; NULL: the port's number. */
    uint64_t (*static_draw)(const network_part *part, uint32_t port_b);
    /* Visits the links of every equal path with their share of an evenly spread flow of 1 from port a to port b. */
    void (*spread)(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object);
    /* As pw_network_twins and pw_network_spread_twins; both NULL: no link has a twin. */
    pw_twins (*twins)(const network_part *part, pw_link link);
    void (*spread_twins)(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object);
    /* As pw_network_spread_exchange, of a part; block in nodes. NULL: unsupported. */
    pw_status (*spread_exchange)(const network_part *part, uint32_t block, const double *out, const double *in, visit_fn *visit,
                                 void *object);
    /* Of switch number i of the part: all but vertex, plane and rail. */
    pw_switch_info (*place)(const network_part *part, uint32_t i);
    pw_network_facts (*facts)(const network_part *part);
};

/* Fields of pw_network_desc that not every topology has. */
enum {
    USES_OVERSUBSCRIPTION = 1,
    USES_TIERS = 2,   /* and leaves_per_port */
    USES_ROUTERS = 4, /* nodes_per_switch, trunks, trunk_rate */
    USES_DIMS = 8,
    USES_GROUPS = 16, /* group_switches, global_links, paths */
    USES_SPINES = 32,
    USES_GRAPH = 64   /* switches, cables, attachments */
};

/* One line per topology: X(variable). The order is that of pw_topology_names; 0 is not the default. */
#define TOPOLOGIES(X)      \
    X(single_switch)       \
    X(fat_tree)            \
    X(rail_optimized)      \
    X(rail_only)           \
    X(torus)               \
    X(mesh)                \
    X(ring)                \
    X(hypercube)           \
    X(hyperx)              \
    X(fully_connected)     \
    X(dragonfly)           \
    X(dragonfly_plus)      \
    X(custom)
#define TOPOLOGY_DECLARED(name) extern const pw_topology topology_##name;
TOPOLOGIES(TOPOLOGY_DECLARED)
#undef TOPOLOGY_DECLARED

static inline pw_vertex part_port(const network_part *part, uint32_t port) {
    uint32_t node = port / part->rails, rail = part->rail == PW_NONE ? port % part->rails : part->rail;
    return part->ports[node * part->node_ports + rail];
}

/* build.c: what builders share. first: PW_NONE before, then the first link of a group that is numbered one after another: cable
 * k is links first + 2k there and first + 2k + 1 back. A link into a switch costs a hop and the cable, one into a NIC the cable. */
bool part_add_switches(network_part *part, pw_vertex_kind kind, uint32_t count, pw_vertex *first);
bool part_add_port(network_part *part, uint32_t port, pw_vertex leaf, double bandwidth_Bps, pw_link *first);
bool part_add_trunk(network_part *part, pw_vertex a, pw_vertex b, double bandwidth_Bps, pw_link *first);
pw_status part_no_memory(pw_error *error);
/* Of networks of routers: nodes of a switch, cables between two neighbours, the payload of all of these. */
uint32_t part_switch_nodes(const network_part *part);
uint32_t part_trunks(const network_part *part);
double part_trunk_Bps(const network_part *part);
/* Refuses more cables at one switch than network.radix. */
pw_status part_check_radix(const network_part *part, uint32_t cables, pw_error *error);
/* state = size zeroed bytes. */
pw_status part_begin(network_part *part, size_t size, pw_error *error);

/* failures.c: takes network.failures into account; every part is built. */
pw_status network_fail_parts(pw_network *network, pw_error *error);
/* network.c: the part a link belongs to, NULL for a link of a node. */
const network_part *network_part_of(const pw_network *network, pw_link link);
/* routing.c: routes as though nothing were dead. Ways: equal paths, of which draws give each; what was searched for is drawn at random. */
void own_route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path);
pw_status own_spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object);
uint64_t own_ways(const network_part *part, uint32_t port_a, uint32_t port_b);
/* A well-mixed function of flow and ports, as the hash of a packet's header is. */
uint64_t mix_flow(uint64_t hash, uint32_t a, uint32_t b);

static inline void path_append(pw_path *path, pw_link link) {
    PW_CHECK(path->count < PW_ROUTE_MAX);
    path->links[path->count++] = link;
}

#endif
