/* The algorithms of the table: their functions, and what they tell the cost model. */
#ifndef PW_MODELS_COLLECTIVE_ALGORITHM_H
#define PW_MODELS_COLLECTIVE_ALGORITHM_H

#include "models/collective/collective.h"

/* Sums that every member gets: a barrier is an all_reduce of next to nothing. */
static inline bool is_all_reduce(pw_collective_kind kind) {
    return kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_BARRIER;
}
static inline bool is_exchange(pw_collective_kind kind) {
    return kind == PW_COLLECTIVE_ALL_TO_ALL || kind == PW_COLLECTIVE_ALL_TO_ALL_V;
}

/* Pieces into which a chain or a tree cuts its message. */
static inline uint32_t pieces_of(const pw_group_shape *shape) {
    return shape->options && shape->options->pieces ? shape->options->pieces : PW_ALGORITHM_PIECES;
}

static inline void emit_step(pw_collective_step_fn *emit, void *object, uint32_t round, uint32_t from, uint32_t to,
                             double fraction, uint32_t part) {
    emit(object, &(pw_collective_step){round, from, to, fraction, part});
}
static inline void emit_move(pw_collective_move_fn *emit, void *object, uint32_t from, uint32_t to, uint32_t source,
                             uint32_t first, uint32_t count) {
    emit(object, &(pw_collective_move){from, to, source, first, count});
}

/* Bytes that the busiest member sends (or receives), per byte of S: inside its domain, and towards other domains. */
typedef struct algorithm_load {
    double scaleup, network;
} algorithm_load;

/* Hops that take time one after another, without the pieces of a pipeline: inside domains and between them. */
typedef struct algorithm_hops {
    double scaleup, network;
} algorithm_hops;

/* Each algorithm is one row: X(name, text, functions of pw_algorithm, functions of algorithm_form). Applies, rounds and
 * steps are there always. What is not there is found from the messages (figures.c). */
#define ALGORITHM_LIST(...) __VA_ARGS__
#define ALGORITHM_USUAL(name) .applies = name##_applies, .rounds = name##_rounds, .steps = name##_steps
#define ALGORITHM_PROVEN(name) ALGORITHM_USUAL(name), .units = name##_units, .carries = name##_carries
#define ALGORITHM_LOCAL(name) ALGORITHM_PROVEN(name), .touches = name##_touches
#define ALGORITHM_FORMS(name) .automatic = true, .load = name##_load, .hops = name##_hops
#define ALGORITHM_READY_MAP(X)                                                                                       \
    X(ring, "pieces pass from neighbour to neighbour; over several domains one ring per member, each on its own rail", \
      (ALGORITHM_PROVEN(ring), .edges = ring_edges, .touches = ring_touches), (ALGORITHM_FORMS(ring)))                \
    X(tree, "all_reduce: a chain in each domain, two binary trees between domains on half of the message each",       \
      (ALGORITHM_PROVEN(tree), .edges = tree_edges), (ALGORITHM_FORMS(tree)))                                         \
    X(nvls, "all_reduce: the NVSwitch of a domain reduces and multicasts, two binary trees join the domains",         \
      (ALGORITHM_PROVEN(nvls), .edges = nvls_edges), (ALGORITHM_FORMS(nvls)))                                         \
    X(direct, "every member exchanges a block with every other at once",                                             \
      (ALGORITHM_PROVEN(direct), .edges = direct_edges, .touches = direct_touches), (ALGORITHM_FORMS(direct)))                                   \
    X(nvls_tree, "nvls over several domains, by the library's name", (ALGORITHM_TREE_OF_SWITCHES),                     \
      (.load = nvls_load, .hops = nvls_hops))                                                                        \
    X(halving_doubling, "halves go to members at half the distance each round, then come back; others fold in",       \
      (ALGORITHM_LOCAL(halving_doubling)), ())                                                                      \
    X(recursive_doubling, "all_reduce: whole messages between members at twice the distance each round",              \
      (ALGORITHM_LOCAL(recursive_doubling)), ())                                                                    \
    X(bruck, "what a member holds doubles each round, near members first; all_to_all by bits of the distance",         \
      (ALGORITHM_LOCAL(bruck)), ())                                                                                 \
    X(pat, "all_gather, reduce_scatter: a binomial tree per member, far members first",                              \
      (ALGORITHM_LOCAL(pat)), ())                                                                                   \
    X(pairwise, "exchanges with one member after another, the nearest first", (ALGORITHM_LOCAL(pairwise)), ())       \
    X(binomial, "from or to the root, twice as many members each round", (ALGORITHM_PROVEN(binomial)), ())            \
    X(chain, "broadcast, reduce: pieces along one chain of all members", (ALGORITHM_LOCAL(chain)), ())               \
    X(scatter_allgather, "broadcast: a binomial scatter, then a ring all_gather", (ALGORITHM_PROVEN(scatter_allgather)), ()) \
    X(hierarchical, "a ring along one dimension after another, and back: domains, or dimensions given",              \
      (ALGORITHM_LOCAL(hierarchical)), ())                                                                          \
    X(sharp, "all_reduce: switches of the network sum what a ring in each domain has reduced",                       \
      (ALGORITHM_PROVEN(sharp)), ())
/* The last one needs steps of its own. */
#define ALGORITHM_MAP(X) ALGORITHM_READY_MAP(X) X(custom, "steps written in a scenario", (ALGORITHM_PROVEN(custom)), ())
#define ALGORITHM_TREE_OF_SWITCHES                                                                                   \
    .applies = nvls_tree_applies, .rounds = nvls_rounds, .steps = nvls_steps, .units = nvls_units,                   \
    .carries = nvls_carries, .edges = nvls_edges

#define ALGORITHM_FUNCTIONS(name, text, functions, forms)                                                            \
    bool name##_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast);                       \
    uint32_t name##_rounds(pw_collective_kind kind, const pw_group_shape *shape);                                    \
    void name##_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object); \
    void name##_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object); \
    void name##_touches(pw_collective_kind kind, const pw_group_shape *shape, uint32_t round, uint32_t member,       \
                        pw_collective_step_fn *emit, void *object);                                                  \
    uint32_t name##_units(pw_collective_kind kind, const pw_group_shape *shape);                                     \
    void name##_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,        \
                        pw_collective_move_fn *emit, void *object);                                                  \
    algorithm_load name##_load(pw_collective_kind kind, const pw_group_shape *shape);                                \
    algorithm_hops name##_hops(pw_collective_kind kind, const pw_group_shape *shape);
ALGORITHM_MAP(ALGORITHM_FUNCTIONS)

/* What the cost model asks, in the order of pw_algorithm_table. */
typedef struct algorithm_form {
    bool automatic; /* auto takes it where nothing was measured; the rest only with rows of their own, or when it is told to */
    algorithm_load (*load)(pw_collective_kind kind, const pw_group_shape *shape);
    algorithm_hops (*hops)(pw_collective_kind kind, const pw_group_shape *shape);
} algorithm_form;
extern const algorithm_form algorithm_forms[];
int algorithm_count(void);

/* What an algorithm needs of a group, from its form or else from one walk over its messages, in O(messages). */
typedef struct algorithm_figures {
    algorithm_load load;
    algorithm_hops hops;
    double alpha_s;  /* the hops at the latencies of the shape */
    double span_spB; /* seconds per byte of S when rounds follow each other and nothing but the members' ports limits: the busiest
                        port of each round, summed. With a form: of the busiest port of all rounds together */
} algorithm_figures;
/* Of groups that are not even every message counts as crossing and as staying: collectives_measure_uneven knows better. */
pw_status algorithm_measure(const pw_allocator *allocator, int algorithm, pw_collective_kind kind, const pw_group_shape *shape,
                            algorithm_figures *figures, pw_error *error);
/* Seconds per byte of S that the busiest of the group's links needs. */
double algorithm_cut(const pw_group_shape *shape, algorithm_load load);

/* Share of S that one member sends another in an exchange: 1/n, or as the options of all_to_all_v say. */
double exchange_share(pw_collective_kind kind, const pw_group_shape *shape, uint32_t from, uint32_t to);

/* Two binary trees over `domains` in which a domain is inner in at most one: parent of a domain in tree 0 or 1, PW_NONE
 * for the root; depth of the deepest domain. */
uint32_t double_tree_parent(uint32_t domains, int tree, uint32_t domain);
uint32_t double_tree_depth(uint32_t domains);
/* Both directions of both trees, summed per ordered pair; weight 1 is half of the message. */
typedef void double_tree_edge_fn(void *object, uint32_t from, uint32_t to, double weight);
void double_tree_edges(uint32_t domains, double_tree_edge_fn *emit, void *object);
/* What the busiest domain sends to others, per byte of the message. */
double double_tree_load(uint32_t domains);

/* Emits hop `hop` of the trees for one rail: up towards the roots for hop < depth, then down. First those of tree 0. */
void double_tree_hop(uint32_t domains, uint32_t hop, double_tree_edge_fn *emit, void *object);
/* The same, with the tree. */
typedef void double_tree_hop_fn(void *object, int tree, uint32_t from, uint32_t to);
void double_tree_walk(uint32_t domains, uint32_t hop, double_tree_hop_fn *emit, void *object);
#endif
