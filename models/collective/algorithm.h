/* What the step graphs tell the cost model: hops in sequence and the load of the busiest member, without a walk. */
#ifndef PW_MODELS_COLLECTIVE_ALGORITHM_H
#define PW_MODELS_COLLECTIVE_ALGORITHM_H

#include "models/collective/collective.h"

/* Pieces into which a chain or a tree cuts its message, so that all levels work at once. */
#define ALGORITHM_PIECES 8u

/* Sums that every member gets: a barrier is an all_reduce of next to nothing. */
static inline bool is_all_reduce(pw_collective_kind kind) {
    return kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_BARRIER;
}

/* Bytes that the busiest member sends (or receives), per byte of S: inside its domain, and towards other domains. */
typedef struct algorithm_load {
    double scaleup, network;
} algorithm_load;

/* Hops that take time one after another, without the pieces of a pipeline: inside domains and between them. */
typedef struct algorithm_hops {
    double scaleup, network;
} algorithm_hops;

/* Each algorithm is one file that defines these functions; table.c joins them. X(name, text). */
#define ALGORITHM_MAP(X)                                                                                             \
    X(ring, "pieces pass from neighbour to neighbour; over several domains one ring per member, each on its own rail") \
    X(tree, "all_reduce: a chain in each domain, two binary trees between domains on half of the message each")       \
    X(nvls, "all_reduce: the NVSwitch of a domain reduces and multicasts, two binary trees join the domains")         \
    X(direct, "every member exchanges a block with every other at once")

#define ALGORITHM_FUNCTIONS(name, text)                                                                              \
    bool name##_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast);                       \
    uint32_t name##_rounds(pw_collective_kind kind, const pw_group_shape *shape);                                    \
    void name##_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object); \
    void name##_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object); \
    algorithm_load name##_load(pw_collective_kind kind, const pw_group_shape *shape);                                \
    algorithm_hops name##_hops(pw_collective_kind kind, const pw_group_shape *shape);
ALGORITHM_MAP(ALGORITHM_FUNCTIONS)

/* The messages of one member (see pw_algorithm); NULL for algorithms whose messages are indexed. */
void ring_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                  pw_collective_step_fn *emit, void *object);
void direct_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,
                    pw_collective_step_fn *emit, void *object);
#define tree_touches NULL
#define nvls_touches NULL

/* What the cost model asks, in the order of pw_algorithm_table. */
typedef struct algorithm_form {
    algorithm_load (*load)(pw_collective_kind kind, const pw_group_shape *shape);
    algorithm_hops (*hops)(pw_collective_kind kind, const pw_group_shape *shape);
} algorithm_form;
extern const algorithm_form algorithm_forms[];

/* Two binary trees over `domains` in which a domain is inner in at most one: parent of a domain in tree 0 or 1, PW_NONE
 * for the root; depth of the deepest domain. */
uint32_t double_tree_parent(uint32_t domains, int tree, uint32_t domain);
uint32_t double_tree_depth(uint32_t domains);
/* Both directions of both trees, summed per ordered pair; weight 1 is half of the message. */
typedef void double_tree_edge_fn(void *object, uint32_t from, uint32_t to, double weight);
void double_tree_edges(uint32_t domains, double_tree_edge_fn *emit, void *object);
/* What the busiest domain sends to others, per byte of the message. */
double double_tree_load(uint32_t domains);

/* Emits hop `hop` of the trees for one rail: up towards the roots for hop < depth, then down. */
void double_tree_hop(uint32_t domains, uint32_t hop, double_tree_edge_fn *emit, void *object);
#endif
