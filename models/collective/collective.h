/* Collectives: algorithms as step graphs, and what they cost on a cluster.
 *
 * One step graph per algorithm is used by every mode. Fluid mode: a latency phase alpha(S) that holds SMs but no links,
 * then a fluid phase of S bytes with rate cap S / (T_cal(S) - alpha(S)) and link loads summed from the step graph. Alone
 * on an idle fabric the time is T_cal(S) to a tick; under contention max-min sharing decides. Message mode: every step
 * is a transfer of its own. The cap never exceeds the cut bound of the group's links.
 *
 * T_cal comes from parameters per GPU generation and library version in the catalogue (collective-parameters.csv). Where
 * a generation has none, the uncalibrated form holds: rounds x (hop latency) + loads over link bandwidth.
 *
 * Size S by the nccl-tests convention: all_reduce, broadcast, reduce: bytes per rank; all_gather, reduce_scatter, gather,
 * scatter: bytes in total (n x per rank); all_to_all: bytes per rank in total; all_to_all_v: the same, on average;
 * send_recv: bytes of each message, every member to the next and the last to the first; barrier: an all_reduce of S bytes,
 * 0 as a rule. The root of broadcast, reduce, gather and scatter is the first member.
 */
#ifndef PW_MODELS_COLLECTIVE_H
#define PW_MODELS_COLLECTIVE_H

#include "models/node/cluster.h"

#define PW_COLLECTIVE_MAP(X)            \
    X(ALL_REDUCE, "all_reduce")         \
    X(ALL_GATHER, "all_gather")         \
    X(REDUCE_SCATTER, "reduce_scatter") \
    X(ALL_TO_ALL, "all_to_all")         \
    X(BROADCAST, "broadcast")           \
    X(ALL_TO_ALL_V, "all_to_all_v")     \
    X(REDUCE, "reduce")                 \
    X(GATHER, "gather")                 \
    X(SCATTER, "scatter")               \
    X(SEND_RECV, "send_recv")           \
    X(BARRIER, "barrier")
typedef enum pw_collective_kind {
#define PW_COLLECTIVE_ENUM(NAME, name) PW_COLLECTIVE_##NAME,
    PW_COLLECTIVE_MAP(PW_COLLECTIVE_ENUM)
#undef PW_COLLECTIVE_ENUM
    PW_COLLECTIVE_KIND_COUNT
} pw_collective_kind;
extern const char *const pw_collective_names[]; /* NULL-terminated */
/* Bus bandwidth over S per second, as nccl-tests defines it: 2 (n - 1) / n for all_reduce, (n - 1) / n for kinds that leave a
 * member's own block where it is, 1 for the rest. */
double pw_collective_bus_factor(pw_collective_kind kind, uint32_t members);

/* One step of an algorithm: member `from` sends fraction x S bytes to member `to` in round `round`; a message may start
 * when its sender holds what it sends: every message of the sender's and receiver's earlier rounds that the algorithm
 * names is done (within one round messages are independent). Positions are indices into the group's member list. */
typedef struct pw_collective_step {
    uint32_t round, from, to;
    double fraction;
    uint32_t part; /* which of several messages of a pair and round: the algorithm's own number (of a ring, tree, piece) */
} pw_collective_step;
typedef void pw_collective_step_fn(void *object, const pw_collective_step *step);

/* What a message carries: blocks `first` to first + count - 1 of S, in units of the algorithm; of an exchange, those of
 * member `source`'s buffer. From and to are the message's, but where a switch reduces or multicasts: there they are who
 * gives and who gets, and numbers from `members` on stand for what the switches of the network hold. */
typedef struct pw_collective_move {
    uint32_t from, to, source, first, count;
} pw_collective_move;
typedef void pw_collective_move_fn(void *object, const pw_collective_move *move);

/* What an algorithm can be told. Zero in a field: its own choice. Held by the caller of pw_collectives_variant. */
#define PW_COLLECTIVE_DIMENSIONS 6
typedef struct pw_custom_algorithm pw_custom_algorithm; /* custom.h */
typedef struct pw_collective_options {
    uint32_t pieces;     /* that trees and chains cut a message into, so that all levels work at once */
    uint32_t dimensions; /* of `hierarchical`: how many, and members along each, the first varying fastest */
    uint32_t extents[PW_COLLECTIVE_DIMENSIONS];
    double imbalance;    /* all_to_all_v: the first member gets so many times the mean, the others alike; 1 to members */
    const double *matrix; /* all_to_all_v: [members x members] of S, by sender; each off-diagonal entry at least 0 */
    const pw_custom_algorithm *custom; /* the steps of the algorithm `custom` */
} pw_collective_options;

/* What an algorithm sees of a group: members in ring order and how they sit in nodes (or scale-up domains). */
typedef struct pw_group_shape {
    uint32_t members;
    uint32_t domains;      /* scale-up domains the group touches */
    uint32_t per_domain;   /* members per domain (largest) */
    bool even;             /* every domain holds per_domain members */
    double scaleup_Bps;    /* per GPU, one direction; 0: none */
    double network_Bps;    /* per member and direction towards other domains: NICs a domain's members can use / members */
    double latency_s;      /* of the longest neighbour hop */
    double lone_Bps;       /* the first member alone to all of another domain, whose NICs it may reach through others; 0: as above */
    double scaleup_latency_s; /* of the longest neighbour hop inside a domain; 0: latency_s */
    double exchange_Bps;   /* as network_Bps where neighbours have links of their own, which an exchange with all does not wait for: what
                              the members' ports give; 0: network_Bps */
    double pair_Bps;       /* what one member can send one other of its domain, where that is less than scaleup_Bps (a mesh); 0: that */
    bool network_reduces;  /* switches of the network can sum (SHARP) */
    const pw_collective_options *options; /* NULL: none */
} pw_group_shape;

typedef struct pw_algorithm {
    const char *name, *text; /* "ring": ... */
    bool (*applies)(pw_collective_kind kind, const pw_group_shape *shape, bool multicast);
    uint32_t (*rounds)(pw_collective_kind kind, const pw_group_shape *shape); /* rounds one after another */
    /* Every message, in order of round. Bytes of all messages together are the algorithm's volume. */
    void (*steps)(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object);
    /* The rest may be NULL. The same messages summed per ordered pair (round = 0), without an n^2 walk where the algorithm
     * has none; NULL: the steps themselves, of whatever round. */
    void (*edges)(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object);
    /* The messages of one round that a member sends or receives, in O(their number), so that a run of 10^7 messages keeps none
     * of them in memory. NULL: only `steps` is there, and a run indexes all messages first. */
    void (*touches)(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                    pw_collective_step_fn *emit, void *object);
    /* Blocks of equal size that S is cut into, and which of them a step carries: what a proof of its contents reads
     * (contents.h). Of all_gather, reduce_scatter, gather, scatter and all_to_all member m owns, or gets, the m-th of n equal
     * runs of blocks. */
    uint32_t (*units)(pw_collective_kind kind, const pw_group_shape *shape);
    void (*carries)(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                    pw_collective_move_fn *emit, void *object);
} pw_algorithm;
extern const pw_algorithm pw_algorithm_table[]; /* ends with a NULL name: ring, tree, nvls, direct, ... */
#define PW_ALGORITHM_PIECES 8u /* without other word; halves and rails of a tree are cut so each. Runs by messages: pw_collective_pieces */
extern const char *const pw_algorithm_names[];  /* "auto", then the table's, NULL-terminated */
extern const char *const pw_algorithm_choices[]; /* the same without the last, custom, which needs steps of its own */
#define PW_ALGORITHM_AUTO (-1)

typedef struct pw_collectives pw_collectives;
/* Parameters for a cluster's GPU generation and network. The cluster and catalogue must outlive it. calibrated false:
 * the uncalibrated form everywhere (for closed-form tests and for hardware without measurements). */
pw_status pw_collectives_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                                bool calibrated, pw_collectives **collectives, pw_error *error);
void pw_collectives_destroy(pw_collectives *collectives);
/* Where the parameters come from; names a fallback. */
const char *pw_collectives_provenance(const pw_collectives *collectives);

bool pw_collectives_calibrated(const pw_collectives *collectives);

/* What takes long ends with PW_INTERRUPTED when *interrupt is not 0 (NULL: never). */
void pw_collectives_watch(pw_collectives *collectives, const volatile int *interrupt);

/* An algorithm (PW_ALGORITHM_AUTO: whichever auto finds) with options of its own gets a number above those of the table,
 * which operations name and costs return. Options are copied; matrix and custom must outlive the object. Errors: options
 * out of range. */
pw_status pw_collectives_variant(pw_collectives *collectives, int algorithm, const pw_collective_options *options,
                                 int *variant, pw_error *error);
/* The row of the table behind the number of a cost, and the shape with that variant's options. */
const pw_algorithm *pw_collectives_algorithm(const pw_collectives *collectives, int algorithm, pw_group_shape *shape);
/* Its name, "auto" for PW_ALGORITHM_AUTO; a custom algorithm has its own. */
const char *pw_collectives_algorithm_name(const pw_collectives *collectives, int algorithm);

/* Shape of a group of GPUs (cluster numbering, in ring order). */
pw_status pw_collective_shape(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count,
                              pw_group_shape *shape, pw_error *error);

typedef struct pw_collective_cost {
    int algorithm;    /* index into pw_algorithm_table, or of a variant (pw_collectives_algorithm) */
    double alpha_s;   /* latency phase */
    double total_s;   /* T_cal(S): alone on an idle fabric */
    double cap_Bps;   /* of S: S / (total - alpha); infinite for S = 0 or one member */
    double sms;       /* SMs that its kernel holds while it runs */
    double memory_Bps; /* HBM traffic of each member while it runs; 0 when uncalibrated */
    double floor_s;   /* cut bound of the group's links: total_s is never below */
    const char *protocol; /* "LL", "LL128", "Simple"; NULL: not told apart */
    int parameter_line;   /* of collective-parameters.csv, which gave the time; 0: none */
} pw_collective_cost;

/* algorithm PW_ALGORITHM_AUTO: the fastest that applies. One member costs nothing. */
pw_status pw_collective_cost_of(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                                const pw_group_shape *shape, double bytes, pw_collective_cost *cost, pw_error *error);

/* What the communication library (NCCL, RCCL) expects itself: the algorithm and protocol that it would pick, and their time.
 * False: it has no cost model for the kind (all_to_all), or the object is uncalibrated. Source: library.h. */
typedef struct pw_library_estimate {
    const char *algorithm, *protocol;
    uint32_t channels;
    double time_s;
} pw_library_estimate;
bool pw_collective_library_estimate(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape,
                                    double bytes, pw_library_estimate *estimate);

/* Whether a message of a collective has a share of the whole one's cap. Not where an algorithm without measurements has
 * rounds of unlike messages: there links and latencies alone say how fast each goes. */
bool pw_collective_capped(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape);

/* The same for a group of GPUs of that shape: where its domains differ in size or share no NVSwitch, or the algorithm has no
 * form of its own, never below what the links of these very members need, and the choice is by that. */
pw_status pw_collective_group_cost(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                                   const uint32_t *gpus, const pw_group_shape *shape, double bytes, pw_collective_cost *cost,
                                   pw_error *error);

/* Adds up the load on every link, in bytes over the link per byte of S, for one group. Twins (pw_network_twins) are given
 * once: the first of them, with the load of each. */
typedef void pw_link_load_fn(void *object, pw_link link, double bytes_per_byte);
pw_status pw_collective_loads(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                              const uint32_t *gpus, const pw_group_shape *shape, pw_link_load_fn *add, void *object,
                              pw_error *error);

/* Pieces into which a run by messages cuts the message of a chain or tree that was given none: so many that filling the pipeline adds a
 * twentieth to the cost, which is the time of a stream (a library's slices are as fine), of at most 2^24 messages. 0: nothing to cut. */
uint32_t pw_collective_pieces(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape,
                              double alpha_s, double total_s);

/* One message GPU to GPU (send/recv): latency phase and cap, as for collectives. */
pw_status pw_message_cost_of(const pw_collectives *collectives, uint32_t from, uint32_t to, double bytes,
                             pw_collective_cost *cost, pw_error *error);
pw_status pw_message_loads(const pw_collectives *collectives, uint32_t from, uint32_t to, pw_link_load_fn *add,
                           void *object, pw_error *error);

#endif
