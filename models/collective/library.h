/* The communication library's own cost model: which algorithm and protocol it would pick, and the time it would expect.
 *
 * The library (NCCL, RCCL) estimates latency + bytes / bandwidth for every algorithm and protocol and takes the least. The
 * estimate chooses; it is 20 to 60 % off as a prediction. Here it serves as the rule of choice, as the rule of channels of
 * point-to-point messages, and as a baseline of predictions. Its constants are data: collective-library-*.csv, one row for
 * each (library, version from which it holds, ...).
 *
 * Source: NVIDIA/nccl 5067397 (2.30.7), src/graph/tuning.cc, topo.h, search.cc, src/enqueue.cc.
 */
#ifndef PW_MODELS_COLLECTIVE_LIBRARY_H
#define PW_MODELS_COLLECTIVE_LIBRARY_H

#include "models/collective/collective.h"

typedef enum library_algorithm { LIBRARY_TREE, LIBRARY_RING, LIBRARY_NVLS, LIBRARY_NVLS_TREE, LIBRARY_PAT, LIBRARY_ALGORITHMS } library_algorithm;
typedef enum library_protocol { LIBRARY_LL, LIBRARY_LL128, LIBRARY_SIMPLE, LIBRARY_PROTOCOLS } library_protocol;
extern const char *const library_algorithm_names[]; /* "tree", ..., NULL */
extern const char *const library_protocol_names[];  /* "LL", "LL128", "Simple", NULL */

enum { LIBRARY_SPEEDS = 24, LIBRARY_TREE_SIZES = 24 };

/* Constants of one library version on one GPU generation. Times in s, rates in bytes/s; NaN: the library lacks it. */
typedef struct library_constants {
    char name[16], version[24], generation[64];
    double base[LIBRARY_ALGORITHMS][LIBRARY_PROTOCOLS];
    double nvlink[LIBRARY_ALGORITHMS][LIBRARY_PROTOCOLS], pcie[LIBRARY_ALGORITHMS][LIBRARY_PROTOCOLS],
        network[LIBRARY_ALGORITHMS][LIBRARY_PROTOCOLS]; /* a hop over each */
    double link_Bps, pcie_share; /* what it takes one NVLink to carry; of a PCIe slot, the share of its line rate */
    double intra_Bps[LIBRARY_SPEEDS], inter_Bps[LIBRARY_SPEEDS]; /* speeds of a channel that it tries, falling; 0 ends */
    double ll_Bps[3], ring_ll128_Bps[3], tree_ll128_Bps[3], tree_Bps[3], nvls_tree_Bps[3]; /* one node, two, more */
    double ll_network_Bps[2][2]; /* cap of LL between nodes: hosts of Intel or AMD; two nodes, more */
    double nvls_efficiency;
    double p2p_channels, p2p_least_bytes, p2p_most_bytes; /* channels of all messages together; bytes of one at least, before it doubles */
    double sms, nvls_sms, sm_bytes; /* SMs of its kernels at most; bytes that make one more worth while */
    bool has_ratio; /* RCCL: bandwidth is a share of the channels' instead */
    double ratio[2][2][LIBRARY_PROTOCOLS]; /* tree and ring; up to two nodes, more */
    double tree_factor[LIBRARY_PROTOCOLS][LIBRARY_TREE_SIZES]; /* by powers of two from 64 bytes; 1 where none is on file */
} library_constants;

/* "2.18.3" as a number that grows with it; text without digits in front: 0. */
double library_version(const char *text);

/* The newest constants not newer than `version` ("": the newest) for an architecture; an unknown library is an error that
 * names those known. */
pw_status library_load(const pw_catalogue *catalogue, const char *library, const char *version, const char *arch,
                       library_constants *constants, pw_error *error);

/* A group as the library sees it. A "node" is a domain: GPUs that share NVLink, or a server. */
typedef struct library_group {
    uint32_t ranks, nodes, per_node;
    double links;         /* NVLinks of a GPU; 0: GPUs reach each other over PCIe */
    double pcie_Bps;      /* line rate of a GPU's slot, where links is 0 */
    double nic_Bps;       /* line rate of a port */
    uint32_t nics;        /* ports of a node that the group can use */
    bool multicast;       /* NVSwitch with in-switch reduction */
    bool amd_host;
} library_group;

typedef struct library_choice {
    library_algorithm algorithm;
    library_protocol protocol;
    uint32_t channels;
    double time_s; /* what the library expects */
} library_choice;
/* False: the library has no cost model for this kind (send and receive, all_to_all), or no algorithm applies. */
bool library_choose(const library_constants *constants, const library_group *group, pw_collective_kind kind, double bytes,
                    library_choice *choice);

/* Bytes that the busiest channel inside a node carries, for a message of `bytes` to each of `peers` others in a communicator of `members`.
 * Every peer gets an equal share of all channels, rounded down to a power of two, fewer for small messages; they double while a channel
 * would carry more than p2p_most_bytes, and then take turns. More bytes never carry less: between the sizes that were published (powers of
 * two) the library may be faster. */
double library_p2p_part(const library_constants *constants, uint32_t members, uint32_t peers, double bytes);

#endif
