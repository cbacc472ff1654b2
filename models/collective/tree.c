/* Trees for all_reduce. Inside a domain a chain; between domains two binary trees on half of the message each, in which a
 * domain has children in at most one (P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan", 2009). Every member heads the chain of its own rail, so that all NICs of a domain
 * carry the same. "nvls" replaces the chain by the reducing and multicasting switch of the domain.
 */
#include "models/collective/algorithm.h"

/* --- The double tree over domains ---------------------------------------------------------------------------------- */

/* Tree 0: odd numbers are leaves, 0 is the root with one child. */
static uint32_t tree_parent(uint32_t domains, uint32_t domain) {
    if (domain == 0) return PW_NONE;
    uint32_t bit = domain & (0u - domain);
    uint32_t up = (domain ^ bit) | (bit << 1);
    return up < domains ? up : domain ^ bit;
}

/* Tree 1 is tree 0 under other names: mirrored for an even count, turned by one for an odd count. */
uint32_t double_tree_parent(uint32_t domains, int tree, uint32_t domain) {
    if (tree == 0) return tree_parent(domains, domain);
    bool mirror = domains % 2 == 0;
    uint32_t parent = tree_parent(domains, mirror ? domains - 1 - domain : (domain + domains - 1) % domains);
    if (parent == PW_NONE) return PW_NONE;
    return mirror ? domains - 1 - parent : (parent + 1) % domains;
}

static uint32_t tree_depth_of(uint32_t domains, int tree, uint32_t domain) {
    uint32_t depth = 0;
    while ((domain = double_tree_parent(domains, tree, domain)) != PW_NONE) depth++;
    return depth;
}

/* Number 1 or its mirror is always among the deepest. */
uint32_t double_tree_depth(uint32_t domains) {
    return domains < 2 ? 0 : tree_depth_of(domains, 0, 1);
}

static bool tree_adjacent(uint32_t domains, int tree, uint32_t a, uint32_t b) {
    return double_tree_parent(domains, tree, a) == b || double_tree_parent(domains, tree, b) == a;
}

void double_tree_edges(uint32_t domains, double_tree_edge_fn *emit, void *object) {
    for (int tree = 0; tree < 2; tree++)
        for (uint32_t domain = 0; domain < domains; domain++) {
            uint32_t parent = double_tree_parent(domains, tree, domain);
            if (parent == PW_NONE) continue;
            bool both = tree_adjacent(domains, 1 - tree, domain, parent);
            if (both && tree == 1) continue; /* emitted with tree 0 */
            emit(object, domain, parent, both ? 2 : 1);
            emit(object, parent, domain, both ? 2 : 1);
        }
}

void double_tree_hop(uint32_t domains, uint32_t hop, double_tree_edge_fn *emit, void *object) {
    uint32_t depth = double_tree_depth(domains);
    bool up = hop < depth;
    /* Up: the deepest send first. Down: the root's children receive first. */
    uint32_t level = up ? depth - hop : hop - depth + 1;
    for (int tree = 0; tree < 2; tree++)
        for (uint32_t domain = 0; domain < domains; domain++) {
            if (tree_depth_of(domains, tree, domain) != level) continue;
            uint32_t parent = double_tree_parent(domains, tree, domain);
            if (up) emit(object, domain, parent, 1);
            else emit(object, parent, domain, 1);
        }
}

/* A domain with three neighbours in one tree is a leaf in the other: four halves. Smaller trees have no such domain. */
double double_tree_load(uint32_t domains) {
    return domains < 2 ? 0 : domains == 2 ? 1 : domains == 3 ? 1.5 : 2;
}

/* --- Edges and steps of both algorithms ---------------------------------------------------------------------------- */

typedef struct tree_walk {
    const pw_group_shape *shape;
    uint32_t round;
    double share; /* of S, of one half on one rail in one message */
    pw_collective_step_fn *emit;
    void *object;
} tree_walk;

/* One edge between domains happens on every rail. */
static void tree_rails(void *object, uint32_t from, uint32_t to, double weight) {
    tree_walk *walk = object;
    uint32_t p = walk->shape->per_domain;
    for (uint32_t rail = 0; rail < p; rail++) {
        pw_collective_step step = {walk->round, from * p + rail, to * p + rail, weight * walk->share};
        walk->emit(walk->object, &step);
    }
}

/* --- tree ---------------------------------------------------------------------------------------------------------- */

bool tree_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    (void)multicast;
    return is_all_reduce(kind) && shape->members > 1 && shape->even;
}

/* Chains in a domain: one per rail between domains, otherwise one. */
static uint32_t tree_chains(const pw_group_shape *shape) {
    return shape->domains > 1 ? shape->per_domain : 1;
}

static uint32_t tree_hops_count(const pw_group_shape *shape) {
    return 2 * (shape->per_domain - 1) + 2 * double_tree_depth(shape->domains);
}

uint32_t tree_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->members < 2 ? 0 : tree_hops_count(shape) + ALGORITHM_PIECES - 1;
}

/* Link `place` of the chains, counted from the head, of every domain; up goes to the head. */
static void tree_chain_hop(const tree_walk *walk, uint32_t place, bool up) {
    uint32_t p = walk->shape->per_domain, chains = tree_chains(walk->shape);
    for (uint32_t domain = 0; domain < walk->shape->domains; domain++)
        for (uint32_t chain = 0; chain < chains; chain++) {
            uint32_t near = domain * p + (chain + place) % p, far = domain * p + (chain + place + 1) % p;
            pw_collective_step step = {walk->round, up ? far : near, up ? near : far, 1.0 / chains / ALGORITHM_PIECES};
            walk->emit(walk->object, &step);
        }
}

void tree_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t hops = tree_hops_count(shape), chain = shape->per_domain - 1, rounds = tree_rounds(kind, shape);
    tree_walk walk = {shape, 0, 0.5 / shape->per_domain / ALGORITHM_PIECES, emit, object};
    for (; walk.round < rounds; walk.round++)
        for (uint32_t piece = 0; piece < ALGORITHM_PIECES && piece <= walk.round; piece++) {
            uint32_t hop = walk.round - piece;
            if (hop >= hops) continue;
            if (hop < chain) tree_chain_hop(&walk, chain - 1 - hop, true);
            else if (hop >= hops - chain) tree_chain_hop(&walk, hop - (hops - chain), false);
            else double_tree_hop(shape->domains, hop - chain, tree_rails, &walk);
        }
}

void tree_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    (void)kind;
    uint32_t p = shape->per_domain, chains = tree_chains(shape);
    for (uint32_t domain = 0; domain < shape->domains && p > 1; domain++)
        for (uint32_t local = 0; local < p; local++) {
            /* Member local and the next are linked in every chain but the one whose head is the next. */
            if (chains == 1 && local + 1 == p) continue;
            uint32_t near = domain * p + local, far = domain * p + (local + 1) % p;
            double fraction = chains == 1 ? 1 : (double)(p - 1) / p;
            if (p == 2 && chains == 2) {
                /* Both links join the same pair: up on one and down on the other add up. */
                fraction = 1;
                pw_collective_step step = {0, near, far, fraction};
                emit(object, &step);
                continue;
            }
            pw_collective_step down = {0, near, far, fraction}, up = {0, far, near, fraction};
            emit(object, &down);
            emit(object, &up);
        }
    tree_walk walk = {shape, 0, 0.5 / p, emit, object};
    double_tree_edges(shape->domains, tree_rails, &walk);
}

algorithm_load tree_load(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    double p = shape->per_domain;
    if (shape->domains == 1) return (algorithm_load){p < 2 ? 0 : p == 2 ? 1 : 2, 0};
    return (algorithm_load){2 * (p - 1) / p, double_tree_load(shape->domains) / p};
}

algorithm_hops tree_hops(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return (algorithm_hops){2.0 * (shape->per_domain - 1), 2.0 * double_tree_depth(shape->domains)};
}

/* --- nvls ---------------------------------------------------------------------------------------------------------- */

bool nvls_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    return is_all_reduce(kind) && multicast && shape->even && shape->per_domain > 2;
}

uint32_t nvls_rounds(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    uint32_t depth = double_tree_depth(shape->domains);
    return depth == 0 ? 2 : 2 + 2 * depth + ALGORITHM_PIECES - 1;
}

/* Every member's port carries S towards the switch, which reduces, and 1/p of S back; then the same turned round. A
 * message to the next member stands for a port's share up and the next port's share down. */
static void nvls_switch_hop(const pw_group_shape *shape, uint32_t round, double fraction, pw_collective_step_fn *emit,
                            void *object) {
    uint32_t p = shape->per_domain;
    for (uint32_t member = 0; member < shape->members; member++) {
        uint32_t next = member % p + 1 < p ? member + 1 : member + 1 - p;
        pw_collective_step step = {round, member, next, fraction};
        emit(object, &step);
    }
}

static double nvls_volume(const pw_group_shape *shape) {
    double p = shape->per_domain;
    return 1 + 1 / p;
}

void nvls_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    double half = nvls_volume(shape) / 2;
    uint32_t depth = double_tree_depth(shape->domains), hops = 2 + 2 * depth, rounds = nvls_rounds(kind, shape);
    uint32_t pieces = depth == 0 ? 1 : ALGORITHM_PIECES;
    tree_walk walk = {shape, 0, 0.5 / shape->per_domain / pieces, emit, object};
    for (; walk.round < rounds; walk.round++)
        for (uint32_t piece = 0; piece < pieces && piece <= walk.round; piece++) {
            uint32_t hop = walk.round - piece;
            if (hop >= hops) continue;
            if (hop == 0 || hop + 1 == hops) nvls_switch_hop(shape, walk.round, half / pieces, emit, object);
            else double_tree_hop(shape->domains, hop - 1, tree_rails, &walk);
        }
}

void nvls_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    (void)kind;
    nvls_switch_hop(shape, 0, nvls_volume(shape), emit, object);
    tree_walk walk = {shape, 0, 0.5 / shape->per_domain, emit, object};
    double_tree_edges(shape->domains, tree_rails, &walk);
}

algorithm_load nvls_load(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return (algorithm_load){nvls_volume(shape), double_tree_load(shape->domains) / shape->per_domain};
}

algorithm_hops nvls_hops(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return (algorithm_hops){2, 2.0 * double_tree_depth(shape->domains)};
}
