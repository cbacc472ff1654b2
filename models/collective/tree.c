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

void double_tree_walk(uint32_t domains, uint32_t hop, double_tree_hop_fn *emit, void *object) {
    uint32_t depth = double_tree_depth(domains);
    bool up = hop < depth;
    /* Up: the deepest send first. Down: the root's children receive first. */
    uint32_t level = up ? depth - hop : hop - depth + 1;
    for (int tree = 0; tree < 2; tree++)
        for (uint32_t domain = 0; domain < domains; domain++) {
            if (tree_depth_of(domains, tree, domain) != level) continue;
            uint32_t parent = double_tree_parent(domains, tree, domain);
            emit(object, tree, up ? domain : parent, up ? parent : domain);
        }
}

typedef struct hop_walk {
    double_tree_edge_fn *emit;
    void *object;
} hop_walk;
static void hop_edge(void *object, int tree, uint32_t from, uint32_t to) {
    const hop_walk *walk = object;
    (void)tree;
    walk->emit(walk->object, from, to, 1);
}
void double_tree_hop(uint32_t domains, uint32_t hop, double_tree_edge_fn *emit, void *object) {
    double_tree_walk(domains, hop, hop_edge, &(hop_walk){emit, object});
}

/* A domain with three neighbours in one tree is a leaf in the other: four halves. Smaller trees have no such domain. */
double double_tree_load(uint32_t domains) {
    return domains < 2 ? 0 : domains == 2 ? 1 : domains == 3 ? 1.5 : 2;
}

/* --- Edges and steps of both algorithms ---------------------------------------------------------------------------- */

typedef struct tree_walk {
    const pw_group_shape *shape;
    uint32_t round, piece;
    double share; /* of S, of one half on one rail in one message */
    pw_collective_step_fn *emit;
    void *object;
} tree_walk;

/* What a message is, as its `part`. */
enum { PART_TREE_0, PART_TREE_1, PART_UP, PART_DOWN, PART_KINDS };
static uint32_t part_of(uint32_t chain, uint32_t piece, uint32_t what) {
    return (chain << 16 | piece) * PART_KINDS + what; /* pieces: 4,095 at most */
}

/* One edge between domains happens on every rail. */
static void tree_rails(const tree_walk *walk, uint32_t from, uint32_t to, double weight, uint32_t what) {
    uint32_t p = walk->shape->per_domain;
    for (uint32_t rail = 0; rail < p; rail++)
        emit_step(walk->emit, walk->object, walk->round, from * p + rail, to * p + rail, weight * walk->share,
                  part_of(rail, walk->piece, what));
}
static void tree_hop_rails(void *object, int tree, uint32_t from, uint32_t to) {
    tree_rails(object, from, to, 1, tree == 0 ? PART_TREE_0 : PART_TREE_1);
}
static void tree_edge_rails(void *object, uint32_t from, uint32_t to, double weight) {
    tree_rails(object, from, to, weight, 0);
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
    return shape->members < 2 ? 0 : tree_hops_count(shape) + pieces_of(shape) - 1;
}

/* Link `place` of the chains, counted from the head, of every domain; up goes to the head. */
static void tree_chain_hop(const tree_walk *walk, uint32_t place, bool up) {
    const pw_group_shape *shape = walk->shape;
    uint32_t p = shape->per_domain, chains = tree_chains(shape);
    for (uint32_t domain = 0; domain < shape->domains; domain++)
        for (uint32_t chain = 0; chain < chains; chain++) {
            uint32_t near = domain * p + (chain + place) % p, far = domain * p + (chain + place + 1) % p;
            emit_step(walk->emit, walk->object, walk->round, up ? far : near, up ? near : far,
                      1.0 / chains / pieces_of(shape), part_of(chain, walk->piece, up ? PART_UP : PART_DOWN));
        }
}

void tree_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    uint32_t hops = tree_hops_count(shape), chain = shape->per_domain - 1, rounds = tree_rounds(kind, shape);
    tree_walk walk = {shape, 0, 0, 0.5 / shape->per_domain / pieces_of(shape), emit, object};
    for (; walk.round < rounds; walk.round++)
        for (uint32_t piece = 0; piece < pieces_of(shape) && piece <= walk.round; piece++) {
            uint32_t hop = walk.round - piece;
            walk.piece = piece;
            if (hop >= hops) continue;
            if (hop < chain) tree_chain_hop(&walk, chain - 1 - hop, true);
            else if (hop >= hops - chain) tree_chain_hop(&walk, hop - (hops - chain), false);
            else double_tree_walk(shape->domains, hop - chain, tree_hop_rails, &walk);
        }
}

/* Every chain (or rail) carries its own run of pieces, each in two halves. */
uint32_t tree_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return tree_chains(shape) * pieces_of(shape) * 2;
}

void tree_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                  pw_collective_move_fn *emit, void *object) {
    (void)kind;
    uint32_t what = step->part % PART_KINDS, chain = step->part / PART_KINDS >> 16, piece = step->part / PART_KINDS & 0xffff;
    uint32_t first = (chain * pieces_of(shape) + piece) * 2;
    bool half = what == PART_TREE_0 || what == PART_TREE_1;
    emit_move(emit, object, step->from, step->to, 0, first + (what == PART_TREE_1), half ? 1 : 2);
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
                emit_step(emit, object, 0, near, far, fraction, 0);
                continue;
            }
            emit_step(emit, object, 0, near, far, fraction, 0);
            emit_step(emit, object, 0, far, near, fraction, 0);
        }
    tree_walk walk = {shape, 0, 0, 0.5 / p, emit, object};
    double_tree_edges(shape->domains, tree_edge_rails, &walk);
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
    return depth == 0 ? 2 : 2 + 2 * depth + pieces_of(shape) - 1;
}

/* Every member's port carries S towards the switch, which reduces, and 1/p of S back; then the same turned round. A
 * message to the next member stands for a port's share up and the next port's share down. */
static void nvls_switch_hop(const pw_group_shape *shape, uint32_t round, double fraction, uint32_t part,
                            pw_collective_step_fn *emit, void *object) {
    uint32_t p = shape->per_domain;
    for (uint32_t member = 0; member < shape->members; member++) {
        uint32_t next = member % p + 1 < p ? member + 1 : member + 1 - p;
        emit_step(emit, object, round, member, next, fraction, part);
    }
}

static double nvls_volume(const pw_group_shape *shape) {
    double p = shape->per_domain;
    return 1 + 1 / p;
}

static uint32_t nvls_pieces(const pw_group_shape *shape) {
    return double_tree_depth(shape->domains) == 0 ? 1 : pieces_of(shape);
}

void nvls_steps(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    double half = nvls_volume(shape) / 2;
    uint32_t depth = double_tree_depth(shape->domains), hops = 2 + 2 * depth, rounds = nvls_rounds(kind, shape);
    uint32_t pieces = nvls_pieces(shape);
    tree_walk walk = {shape, 0, 0, 0.5 / shape->per_domain / pieces, emit, object};
    for (; walk.round < rounds; walk.round++)
        for (uint32_t piece = 0; piece < pieces && piece <= walk.round; piece++) {
            uint32_t hop = walk.round - piece;
            walk.piece = piece;
            if (hop >= hops) continue;
            if (hop == 0 || hop + 1 == hops) nvls_switch_hop(shape, walk.round, half / pieces, part_of(0, piece, hop == 0 ? PART_UP : PART_DOWN),
                                                               emit, object);
            else double_tree_walk(shape->domains, hop - 1, tree_hop_rails, &walk);
        }
}

/* Member `rail` of a domain reads the sum of its own part of S out of the switch, and writes the result to all. */
uint32_t nvls_units(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return shape->per_domain * nvls_pieces(shape) * 2;
}

void nvls_carries(pw_collective_kind kind, const pw_group_shape *shape, const pw_collective_step *step,
                  pw_collective_move_fn *emit, void *object) {
    (void)kind;
    uint32_t what = step->part % PART_KINDS, piece = step->part / PART_KINDS & 0xffff, p = shape->per_domain;
    uint32_t rail = step->from % p, head = step->from - rail, first = (rail * nvls_pieces(shape) + piece) * 2;
    if (what == PART_TREE_0 || what == PART_TREE_1) {
        emit_move(emit, object, step->from, step->to, 0, first + (what == PART_TREE_1), 1);
        return;
    }
    for (uint32_t other = head; other < head + p; other++)
        if (other != step->from)
            emit_move(emit, object, what == PART_UP ? other : step->from, what == PART_UP ? step->from : other, 0, first, 2);
}

bool nvls_tree_applies(pw_collective_kind kind, const pw_group_shape *shape, bool multicast) {
    return shape->domains > 1 && nvls_applies(kind, shape, multicast);
}

void nvls_edges(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    (void)kind;
    nvls_switch_hop(shape, 0, nvls_volume(shape), 0, emit, object);
    tree_walk walk = {shape, 0, 0, 0.5 / shape->per_domain, emit, object};
    double_tree_edges(shape->domains, tree_edge_rails, &walk);
}

algorithm_load nvls_load(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return (algorithm_load){nvls_volume(shape), double_tree_load(shape->domains) / shape->per_domain};
}

algorithm_hops nvls_hops(pw_collective_kind kind, const pw_group_shape *shape) {
    (void)kind;
    return (algorithm_hops){2, 2.0 * double_tree_depth(shape->domains)};
}
