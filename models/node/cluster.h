/* A cluster: nodes with their real wiring, joined by a network.
 *
 * A node type (a row of servers, with its wiring in nodes.csv) says which GPU, how many, how GPUs are joined (NVSwitch
 * planes or point to point), which PCIe switch each GPU and NIC hangs under, NIC rate, CPUs. The builder makes fabric
 * vertices and links from it. GPU g of node n is GPU number n * gpus_per_node + g.
 *
 * A cluster may mix node types: it is then a row of parts, each of equal nodes, and GPUs, nodes and ports are numbered part
 * after part. What is asked of the whole cluster (device, GPUs per node, ...) is what its first part says; who needs equal
 * nodes asks pw_cluster_need_equal first.
 */
#ifndef PW_MODELS_CLUSTER_H
#define PW_MODELS_CLUSTER_H

#include "models/catalogue/catalogue.h"
#include "models/cooling/cooling.h"
#include "models/fabric/fabric.h"
#include "models/node/power_desc.h"

/* What a user may say of a node. Fields left out come from the catalogue row `server`. */
typedef struct pw_node_desc {
    const char *server;    /* catalogue name: "DGX H100"; NULL only when gpu and gpus are given */
    const char *gpu;       /* catalogue name; NULL: the server's */
    int64_t gpus;          /* per node; 0: the server's */
    int64_t nics;          /* network ports for GPUs; 0: the server's */
    double nic_Bps;        /* line rate per port, one direction; NaN: the server's */
    const char *nic_protocol; /* a row of protocol-efficiency of kind network: "NDR", "RoCE 400G"; NULL: the server's */
    double nvlink_Bps;     /* per GPU, one direction; NaN: the GPU's */
    int64_t scaleup_domain; /* GPUs that share NVSwitches; 0: the server's, evenly filled where nodes divide so */
    const char *host;      /* a row of kernel-launch ("x86", "grace"); NULL: the server's */
    bool gpudirect;        /* GPUDirect RDMA: NIC reads GPU memory below the same PCIe switch */
    bool pxn;              /* traffic for another rail changes rails over NVLink in the sender's node */
} pw_node_desc;
extern const pw_kind pw_node_kind;

/* More nodes, of another type. */
typedef struct pw_nodes_desc {
    pw_node_desc node;
    int64_t nodes;
} pw_nodes_desc;
extern const pw_kind pw_nodes_kind;

/* The communication library (NCCL, RCCL) and how the host drives it. Texts NULL or "": by the rest of the cluster. */
typedef struct pw_communication_desc {
    const char *library, *version, *stack;
    int choice, launch; /* indices into the names below */
} pw_communication_desc;
extern const pw_kind pw_communication_kind;
typedef enum pw_choice { PW_CHOICE_FASTEST, PW_CHOICE_LIBRARY } pw_choice;
extern const char *const pw_choice_names[];
typedef enum pw_launch { PW_LAUNCH_PROCESS_PER_GPU, PW_LAUNCH_THREADS, PW_LAUNCH_PROCESS_FOR_ALL, PW_LAUNCH_GRAPH, PW_LAUNCH_KERNEL_ONLY,
                         PW_LAUNCH_XLA } pw_launch;
extern const char *const pw_launch_names[];

typedef struct pw_cluster_desc {
    const char *name;
    pw_node_desc node;
    int64_t nodes;
    pw_list more; /* of pw_one_of: pw_nodes_desc */
    pw_network_desc network;
    pw_communication_desc communication;
    pw_power_desc *power; /* NULL: nothing is said */
    pw_cooling_desc *cooling; /* NULL: nothing is said */
} pw_cluster_desc;
extern const pw_kind pw_cluster_kind;

typedef struct pw_cluster pw_cluster;
/* Builds the fabric. Absurd sizes (more than 2^20 GPUs) are refused. The caller destroys it; the catalogue must
 * outlive it. */
pw_status pw_cluster_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *desc,
                            pw_cluster **cluster, pw_error *error);
void pw_cluster_destroy(pw_cluster *cluster);

/* What was said of cooling; NULL: nothing. Lives as long as the cluster. */
const pw_cooling_desc *pw_cluster_cooling(const pw_cluster *cluster);
/* Makes the cooling of `nodes` nodes of a part, as it was said, or else as such GPUs are usually sold. The caller destroys it. */
pw_status pw_cluster_make_cooling(const pw_cluster *cluster, uint32_t part, uint32_t nodes, const pw_allocator *allocator, pw_cooling **cooling,
                                  pw_error *error);
const pw_communication_desc *pw_cluster_communication(const pw_cluster *cluster);
const char *pw_cluster_nic_protocol(const pw_cluster *cluster); /* of the first part's ports: "NDR", "EFA", ...; "" when unknown */
const pw_fabric *pw_cluster_fabric(const pw_cluster *cluster);
const pw_network *pw_cluster_network(const pw_cluster *cluster); /* NULL for one node */
const pw_device *pw_cluster_device(const pw_cluster *cluster);   /* of the first part */
const char *pw_cluster_host(const pw_cluster *cluster);
uint32_t pw_cluster_gpus(const pw_cluster *cluster);
uint32_t pw_cluster_gpus_per_node(const pw_cluster *cluster);
uint32_t pw_cluster_nodes(const pw_cluster *cluster);
uint32_t pw_cluster_node_of(const pw_cluster *cluster, uint32_t gpu);
pw_vertex pw_cluster_gpu_vertex(const pw_cluster *cluster, uint32_t gpu);
uint32_t pw_cluster_nics_per_node(const pw_cluster *cluster);
double pw_cluster_nic_Bps(const pw_cluster *cluster);        /* payload per port */
double pw_cluster_scaleup_Bps(const pw_cluster *cluster);    /* per GPU, one direction; 0: no NVLink */
uint32_t pw_cluster_ports_per_gpu(const pw_cluster *cluster); /* ports near one GPU; 1 also when GPUs share one; 0: none */
/* Network port (node * nics_per_node + rail, the numbering of pw_network_route) near a GPU; index below ports_per_gpu. */
uint32_t pw_cluster_port(const pw_cluster *cluster, uint32_t gpu, uint32_t index);
bool pw_cluster_has_multicast(const pw_cluster *cluster);    /* NVSwitch with in-network reduction (NVLS) */
uint32_t pw_cluster_scaleup_domain(const pw_cluster *cluster); /* GPUs that share NVLink (8; 72 for NVL72) */

/* Parts: nodes of one type. */
typedef struct pw_cluster_part {
    const pw_device *device;
    const char *server, *host;     /* server "": a node of its own */
    const char *scaleup;           /* "nvswitch", "mesh" or "none" */
    uint32_t first_gpu, gpus, first_node, nodes, gpus_per_node, nics_per_node, sockets_per_node, pcie_switches_per_node;
    uint32_t ports_per_gpu;        /* as pw_cluster_ports_per_gpu */
    uint32_t scaleup_domain;       /* GPUs that share NVLink */
    double scaleup_Bps, nic_Bps;   /* per GPU; per port; payload of one direction */
    bool multicast, gpudirect, pxn;
} pw_cluster_part;
uint32_t pw_cluster_parts(const pw_cluster *cluster); /* at least 1 */
pw_cluster_part pw_cluster_get_part(const pw_cluster *cluster, uint32_t index);
uint32_t pw_cluster_part_of(const pw_cluster *cluster, uint32_t gpu);
/* Scale-up domain of a GPU, numbered over the cluster in order of GPUs: those that share NVSwitches or a mesh; without
 * NVLink those of a node. */
uint32_t pw_cluster_domain_of(const pw_cluster *cluster, uint32_t gpu);
/* Fails when the cluster mixes node types; who: "a training job". */
pw_status pw_cluster_need_equal(const pw_cluster *cluster, const char *who, pw_error *error);

/* The path GPU to GPU: NVLink inside a domain (over a neighbour where two GPUs have no direct link), else PCIe and host
 * inside a node, else from the NIC near the source to the one near the destination. With the topology rail_optimized
 * and NVLink in the node, data for another rail first go over NVLink to a local GPU on that rail (node.pxn). Without GPUDirect
 * a network path passes through host memory at both ends. The same GPU gives an empty path; PW_UNSUPPORTED: no path. */
pw_status pw_cluster_route(const pw_cluster *cluster, uint32_t from, uint32_t to, uint64_t hash, pw_path *path);
/* GPU to and from host memory of its socket. */
pw_status pw_cluster_host_route(const pw_cluster *cluster, uint32_t gpu, bool to_host, pw_path *path);

/* What `share` of every byte between a GPU and the memory of the socket near another GPU (`at`) puts on links: inside a node
 * over PCIe, else by the ports near both, spread evenly over them and over equal paths; of twins, on the first. visit is
 * called once or more for a link; NULL: only the latency of the way is wanted. PW_UNSUPPORTED: no path. */
pw_status pw_cluster_memory_loads(const pw_cluster *cluster, uint32_t gpu, uint32_t at, bool to_memory, double share,
                                  void (*visit)(void *object, pw_link link, double load), void *object, double *latency_s,
                                  pw_error *error);

/* What was built, for `describe`. Texts live as long as cluster and catalogue. NaN: not known or none. */
typedef struct pw_cluster_facts {
    const char *name, *server, *gpu, *host, *topology; /* server "" for a node of its own; topology "" for one node */
    const char *scaleup;                               /* "nvswitch", "mesh" or "none" */
    const char *wiring_source, *wiring_provenance, *wiring_file;
    int wiring_line;
    uint32_t gpus, nodes, gpus_per_node, nics_per_node, sockets_per_node, pcie_switches_per_node;
    uint32_t scaleup_domain, scaleup_planes; /* planes: NVSwitch chips, folded into one crossbar here; 0: none or unknown */
    bool multicast, gpudirect;
    double scaleup_line_Bps, scaleup_Bps, pcie_Bps, nic_line_Bps, nic_Bps; /* per GPU, GPU, GPU, port, port; one direction */
    int64_t radix;                                                         /* of a network switch; 0: no limit */
    double network_efficiency;                                             /* payload over line rate of the network's cables */
    uint32_t vertices, links;
    bool has_network;
    pw_network_facts network;
} pw_cluster_facts;
pw_cluster_facts pw_cluster_get_facts(const pw_cluster *cluster);

/* A kind of link that a part of the cluster uses, one direction, and where its payload comes from. */
typedef struct pw_link_generation {
    const char *place; /* "GPU to NVSwitch" */
    const char *name;  /* "NVLink4"; "" where it has none */
    double line_Bps, payload_Bps, latency_s; /* of what one GPU, card or port has; NaN: not known */
    const char *provenance, *source;
} pw_link_generation;
enum { PW_LINK_GENERATIONS = 8 };
/* Fills at most PW_LINK_GENERATIONS; returns how many. The network's are given with the first part. */
uint32_t pw_cluster_link_generations(const pw_cluster *cluster, uint32_t part, pw_link_generation *links);

#endif
