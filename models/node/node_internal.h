/* What the files of this folder share: the wiring of one node, resolved from catalogue and description, and its links.
 *
 * Vertices of a node are numbered GPUs, NICs, PCIe switches, CPUs. Links come in cables: link 2c one way, 2c + 1 back. All nodes of a
 * part of the cluster are alike, so a path is found once for a node and shifted to any other. */
#ifndef PW_MODELS_NODE_INTERNAL_H
#define PW_MODELS_NODE_INTERNAL_H

#include "models/node/cluster.h"

enum { NODE_GPUS = 128, NODE_NICS = 256, NODE_SWITCHES = 128, NODE_SOCKETS = 16 };

typedef enum scaleup_kind { SCALEUP_NONE, SCALEUP_NVSWITCH, SCALEUP_MESH } scaleup_kind;

typedef struct attach_point { /* where a GPU or NIC hangs */
    bool on_cpu;
    uint32_t index; /* of the PCIe switch or CPU */
} attach_point;

typedef struct node_link { /* a row of protocol-efficiency */
    const pw_table *table; /* NULL: none */
    size_t row;
    double efficiency; /* payload over line rate */
} node_link;

typedef struct node_wiring {
    const pw_device *device;
    const char *server, *host; /* server "": described by GPU and count */
    const pw_table *table;     /* nodes.csv and the row used */
    size_t row;
    uint32_t gpus, nics, switches, sockets;
    attach_point gpu[NODE_GPUS], nic[NODE_NICS];
    uint32_t switch_socket[NODE_SWITCHES];
    scaleup_kind scaleup;
    uint8_t pairs[NODE_GPUS][NODE_GPUS]; /* links between two GPUs of a mesh */
    uint32_t domain, planes;             /* GPUs that share NVSwitches */
    bool multicast, c2c, gpudirect, pxn;
    double scaleup_line_Bps, scaleup_Bps; /* per GPU and direction: line rate and payload */
    double link_Bps;                      /* payload of one link of a mesh */
    double pcie_Bps, c2c_Bps, socket_Bps; /* payload */
    double nic_line_Bps;
    double nic_Bps;           /* payload of a port that is slower than the network's; else infinity */
    bool is_nic_rate_given; /* by the description, not by the server */
    double scaleup_hop_s, pcie_hop_s, socket_hop_s, nic_s;
    node_link scaleup_link, pcie_link, c2c_link; /* where the payloads come from */
    node_link port_link; /* of the network ports, when the description names it */
} node_wiring;

/* wiring.c */
pw_status node_resolve(const pw_catalogue *catalogue, const pw_node_desc *desc, node_wiring *wiring, pw_error *error);

/* links.c */
/* Figures of latencies.csv, in seconds. */
pw_status node_latency(const pw_catalogue *catalogue, const char *name, double *latency_s, pw_error *error);
/* The link generation whose name begins text ("NVLink4 + C2C 900"). */
pw_status node_find_link(const pw_catalogue *catalogue, const char *text, node_link *link, pw_error *error);
/* The network protocol of that name; an unknown one gets a hint. */
pw_status node_find_protocol(const pw_catalogue *catalogue, const char *name, node_link *link, pw_error *error);
/* Of a network port: the one that the description names, the server's, or the one of the nearest line rate. */
pw_status node_port_link(const pw_catalogue *catalogue, const node_wiring *wiring, double port_Bps, node_link *link,
                         pw_error *error);
/* Switch radix for a NIC rate: the protocol's or the node's own switch, else the smallest network switch of links.csv that is
 * fast enough; a faster port is split into as many as it can serve. 0 when there is none. */
int64_t node_switch_radix(const pw_catalogue *catalogue, const node_wiring *wiring, double port_Bps);

typedef struct local_link {
    uint16_t from, to; /* local vertices; LOCAL_NVSWITCH */
    pw_link_kind kind;
    double bandwidth_Bps, latency_s;
} local_link;
enum { LOCAL_NVSWITCH = UINT16_MAX, NO_LINK = UINT16_MAX };

/* template.c: links and shortest paths of one node. */
typedef struct node_template {
    const pw_allocator *allocator;
    uint32_t vertices, first_nic, first_switch, first_cpu;
    local_link *links;
    size_t link_count, link_capacity;
    uint16_t *host_last;    /* [from][to]: the last link of the path over PCIe and sockets */
    uint16_t *scaleup_last; /* [gpu][gpu]: the same over direct NVLinks; mesh only */
    uint32_t gpus, nics_per_gpu;
    uint16_t *gpu_nics;   /* [gpu][nics_per_gpu]: nearest NICs */
    uint16_t *nic_gpu;    /* a GPU to which a NIC is near */
    uint16_t *gpu_cpu;    /* nearest CPU */
} node_template;
pw_status template_create(const pw_allocator *allocator, const node_wiring *wiring, node_template *made, pw_error *error);
void template_destroy(node_template *made);
/* Appends the path, shifted by first_link; false when there is none. */
bool template_host_path(const node_template *made, uint32_t from, uint32_t to, pw_link first_link, pw_path *path);
bool template_scaleup_path(const node_template *made, uint32_t from, uint32_t to, pw_link first_link, pw_path *path);

/* Nodes of one type. They, their GPUs, ports, vertices and links follow those of the part before. */
typedef struct cluster_part {
    node_wiring *wiring; /* in the arena */
    node_template node;
    uint32_t nodes, domain;                                     /* GPUs of a scale-up domain */
    uint32_t first_node, first_gpu, first_port, first_crossbar; /* crossbars are the domains: one each, also without NVSwitch */
    pw_vertex first_vertex;                                     /* of its first node */
    pw_link first_link;
    double nic_Bps; /* payload of one port */
} cluster_part;

struct pw_cluster {
    const pw_allocator *allocator;
    pw_arena *arena;
    const pw_catalogue *catalogue;
    const char *name;
    cluster_part *parts; /* in the arena */
    uint32_t part_count;
    uint32_t nodes, gpus, ports;
    uint32_t rails; /* ports of a row of the network: those of a node, or the most that fill the nodes of every part */
    pw_fabric *fabric;
    pw_network *network; /* NULL: one node or no ports */
    pw_network_desc network_desc;
    node_link network_link; /* of the ports for which the network is built */
    pw_communication_desc communication; /* texts in the arena */
    pw_cooling_desc cooling; /* as said, else defaults */
    bool is_rail_aligned, has_cooling;
};
pw_status keep_cooling(pw_cluster *cluster, const pw_cluster_desc *desc, pw_error *error);

/* The part that holds a GPU below pw_cluster_gpus. */
static inline const cluster_part *part_of_gpu(const pw_cluster *cluster, uint32_t gpu) {
    const cluster_part *part = cluster->parts;
    while (part + 1 < cluster->parts + cluster->part_count && gpu >= part[1].first_gpu) part++;
    return part;
}

/* Vertex of a node's part; node: within the part; other: the GPU at the other end when local is LOCAL_NVSWITCH. */
pw_vertex cluster_vertex(const cluster_part *part, uint32_t node, uint16_t local, uint16_t other);

#endif
