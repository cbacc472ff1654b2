/* Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008) and dragonfly+ (Shpiner et al., HiPINEB 2017).
 *
 * Groups of switches, and the same number of cables between every two groups. A dragonfly's group is a full mesh of routers with nodes
 * and global cables; a dragonfly+'s is a full bipartite graph of leaves with nodes and spines with global cables. Cable q of `copies`
 * between groups i and j is number ((j - i - 1) mod groups) * copies + q of group i, and heads take them in order, each as many.
 *
 * A minimal route passes one global cable, one of those with the fewest local hops. A Valiant route goes to a group drawn from all others
 * first, and from there on minimally; within a group it is the minimal one. */
#include <math.h>

#include "models/fabric/network_internal.h"

typedef struct dragonfly {
    bool plus;
    uint32_t groups, leaves, heads; /* per group: switches with nodes, switches with global cables (the same, or spines) */
    uint32_t switch_nodes, copies;
    double trunk_Bps;
    pw_link port_links, local_links, global_links;
} dragonfly;

static const dragonfly *dragonfly_of(const network_part *part) { return part->state; }

/* --- Building ------------------------------------------------------------------------------------------------------- */

static uint32_t pair_of(uint32_t low, uint32_t high, uint32_t count) { return low * (2 * count - low - 1) / 2 + (high - low - 1); }

static uint32_t head_of(const dragonfly *d, uint32_t group, uint32_t other, uint32_t copy) {
    uint32_t offset = (other + d->groups - group - 1) % d->groups;
    return (uint32_t)(((uint64_t)offset * d->copies + copy) * d->heads / ((uint64_t)(d->groups - 1) * d->copies));
}

static uint32_t group_switches(const dragonfly *d) { return d->leaves + (d->plus ? d->heads : 0); }

/* Cables of the fullest leaf (router) and of the fullest spine. */
static void count_cables(const network_part *part, const dragonfly *d, uint32_t *leaf, uint32_t *spine) {
    uint32_t trunks = part_trunks(part), slots = d->groups > 1 ? (d->groups - 1) * d->copies : 0;
    uint32_t global = (slots + d->heads - 1) / d->heads * trunks, nodes = d->switch_nodes * part->rails;
    *leaf = nodes + (d->plus ? d->heads * trunks : (d->leaves - 1) * trunks + global);
    *spine = d->plus ? d->leaves * trunks + global : 0;
}

static pw_status shape(network_part *part, dragonfly *d, pw_error *error) {
    const pw_network_desc *desc = part->desc;
    if (desc->group_switches < 1 || desc->global_links < 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say for example network.group_switches = 16, network.global_links = 8",
                       "topology '%s' needs network.group_switches and network.global_links", part->topology->name);
    d->leaves = (uint32_t)desc->group_switches;
    d->heads = d->plus && desc->group_spines ? (uint32_t)desc->group_spines : d->leaves;
    d->switch_nodes = part_switch_nodes(part);
    d->trunk_Bps = part_trunk_Bps(part);
    uint64_t group_nodes = (uint64_t)d->leaves * d->switch_nodes, most = (uint64_t)d->heads * (uint64_t)desc->global_links;
    d->groups = (uint32_t)((part->nodes + group_nodes - 1) / group_nodes);
    if (d->groups > 1 && d->groups - 1 > most)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.global_links, network.group_switches or network.nodes_per_switch",
                       "%u nodes are %u groups, but %llu global cables of a group join only %llu", part->nodes, d->groups,
                       (unsigned long long)most, (unsigned long long)most + 1);
    d->copies = d->groups > 1 ? (uint32_t)(most / (d->groups - 1)) : 0;
    uint32_t leaf, spine;
    count_cables(part, d, &leaf, &spine);
    return part_check_radix(part, leaf > spine ? leaf : spine, error);
}

static bool add_group(network_part *part, dragonfly *d, pw_vertex first, uint32_t group) {
    pw_vertex leaf = first + group * group_switches(d), spine = leaf + d->leaves;
    for (uint32_t x = 0; x < d->leaves; x++)
        for (uint32_t y = d->plus ? 0 : x + 1; y < d->heads; y++)
            if (!part_add_trunk(part, leaf + x, d->plus ? spine + y : leaf + y, d->trunk_Bps, &d->local_links)) return false;
    return true;
}

static bool add_all(network_part *part, dragonfly *d) {
    pw_vertex first = PW_NONE, here;
    for (uint32_t g = 0; g < d->groups; g++) {
        if (!part_add_switches(part, PW_VERTEX_LEAF, d->leaves, &here)) return false;
        if (first == PW_NONE) first = here;
        if (d->plus && !part_add_switches(part, PW_VERTEX_SPINE, d->heads, &here)) return false;
    }
    for (uint32_t port = 0; port < part->nodes * part->rails; port++) {
        uint32_t leaf = port / part->rails / d->switch_nodes;
        if (!part_add_port(part, port, first + leaf / d->leaves * group_switches(d) + leaf % d->leaves, part->cable_Bps, &d->port_links))
            return false;
    }
    for (uint32_t g = 0; g < d->groups; g++)
        if (!add_group(part, d, first, g)) return false;
    pw_vertex heads = first + (d->plus ? d->leaves : 0);
    for (uint32_t i = 0; i < d->groups; i++)
        for (uint32_t j = i + 1; j < d->groups; j++)
            for (uint32_t q = 0; q < d->copies; q++)
                if (!part_add_trunk(part, heads + i * group_switches(d) + head_of(d, i, j, q),
                                    heads + j * group_switches(d) + head_of(d, j, i, q), d->trunk_Bps, &d->global_links))
                    return false;
    return true;
}

static pw_status build(network_part *part, bool plus, pw_error *error) {
    PW_TRY(part_begin(part, sizeof(dragonfly), error));
    dragonfly *d = part->state;
    d->plus = plus;
    d->port_links = d->local_links = d->global_links = PW_NONE;
    PW_TRY(shape(part, d, error));
    return add_all(part, d) ? PW_OK : part_no_memory(error);
}

static pw_status build_dragonfly(network_part *part, pw_error *error) { return build(part, false, error); }
static pw_status build_plus(network_part *part, pw_error *error) { return build(part, true, error); }
static void destroy(network_part *part) { pw_free(part->allocator, part->state, sizeof(dragonfly)); }

/* --- Pieces of routes ------------------------------------------------------------------------------------------------ */

typedef struct spot { /* a leaf (router), or a head of a dragonfly+ */
    uint32_t group, index;
} spot;

static spot spot_of(const network_part *part, uint32_t port) {
    const dragonfly *d = dragonfly_of(part);
    uint32_t leaf = port / part->rails / d->switch_nodes;
    return (spot){leaf / d->leaves, leaf % d->leaves};
}

static void local_mesh(const dragonfly *d, uint32_t group, uint32_t x, uint32_t y, pw_path *path) {
    if (x == y) return;
    uint32_t pair = pair_of(x < y ? x : y, x < y ? y : x, d->leaves), pairs = d->leaves * (d->leaves - 1) / 2;
    path_append(path, d->local_links + 2 * (group * pairs + pair) + (x > y));
}

static pw_link local_up(const dragonfly *d, uint32_t group, uint32_t leaf, uint32_t spine) {
    return d->local_links + 2 * ((group * d->leaves + leaf) * d->heads + spine);
}

static void global(const dragonfly *d, uint32_t i, uint32_t j, uint32_t q, pw_path *path) {
    uint32_t pair = pair_of(i < j ? i : j, i < j ? j : i, d->groups);
    path_append(path, d->global_links + 2 * (pair * d->copies + q) + (i > j));
}

/* Local hops of the way from one spot over copy q to the other; PW_NONE for `at` or `to`: any place in its group. */
static uint32_t local_hops(const dragonfly *d, uint32_t i, uint32_t at, uint32_t j, uint32_t to, uint32_t q) {
    return (at != PW_NONE && at != head_of(d, i, j, q)) + (to != PW_NONE && to != head_of(d, j, i, q));
}

/* The copies with the fewest local hops: their number; *copy: number `pick` of them. */
static uint32_t best_copies(const dragonfly *d, uint32_t i, uint32_t at, uint32_t j, uint32_t to, uint64_t pick, uint32_t *copy) {
    uint32_t least = UINT32_MAX, count = 0;
    for (uint32_t q = 0; q < d->copies; q++) {
        uint32_t hops = local_hops(d, i, at, j, to, q);
        count = hops < least ? 1 : count + (hops == least);
        if (hops < least) least = hops;
    }
    uint64_t left = pick % count;
    for (uint32_t q = 0; q < d->copies; q++)
        if (local_hops(d, i, at, j, to, q) == least && left-- == 0) {
            *copy = q;
            break;
        }
    return count;
}

/* Choices among equal ways: taken off a draw, lowest digit first, or as the list says, which is then filled up. */
enum { MOST_CHOICES = 6 };
typedef struct choices {
    uint64_t draw;
    bool listed;
    uint32_t used, known, list[MOST_CHOICES], counts[MOST_CHOICES];
    double share; /* product of 1 / count */
} choices;

static uint32_t take(choices *c, uint32_t count) {
    c->share /= count;
    if (!c->listed) {
        uint32_t taken = (uint32_t)(c->draw % count);
        c->draw /= count;
        return taken;
    }
    PW_CHECK(c->used < MOST_CHOICES);
    if (c->used == c->known) c->list[c->known++] = 0;
    c->counts[c->used] = count;
    return c->list[c->used++];
}

/* The list that follows in the order of an odometer; false after the last. */
static bool next_list(choices *c) {
    while (c->known && c->list[c->known - 1] + 1 == c->counts[c->known - 1]) c->known--;
    if (!c->known) return false;
    c->list[c->known - 1]++;
    c->used = 0;
    c->share = 1;
    return true;
}

static uint32_t take_copy(const dragonfly *d, spot at, spot to, choices *c) {
    uint32_t copy = 0, count = best_copies(d, at.group, at.index, to.group, to.index, 0, &copy);
    if (count > 1) best_copies(d, at.group, at.index, to.group, to.index, take(c, count), &copy);
    return copy;
}

static const uint32_t ANY = PW_NONE;

/* From leaf to leaf of different groups with one global cable. */
static void minimal(const dragonfly *d, spot a, spot b, choices *c, pw_path *path) {
    if (!d->plus) {
        uint32_t q = take_copy(d, a, b, c), out = head_of(d, a.group, b.group, q), in = head_of(d, b.group, a.group, q);
        local_mesh(d, a.group, a.index, out, path);
        global(d, a.group, b.group, q, path);
        local_mesh(d, b.group, in, b.index, path);
        return;
    }
    uint32_t q = take_copy(d, (spot){a.group, ANY}, (spot){b.group, ANY}, c);
    path_append(path, local_up(d, a.group, a.index, head_of(d, a.group, b.group, q)));
    global(d, a.group, b.group, q, path);
    path_append(path, local_up(d, b.group, b.index, head_of(d, b.group, a.group, q)) + 1);
}

/* Through group k, which is another one. */
static void valiant(const dragonfly *d, spot a, uint32_t k, spot b, choices *c, pw_path *path) {
    spot through = {k, ANY};
    uint32_t q = take_copy(d, d->plus ? (spot){a.group, ANY} : a, through, c);
    uint32_t out = head_of(d, a.group, k, q), in = head_of(d, k, a.group, q);
    if (!d->plus) {
        local_mesh(d, a.group, a.index, out, path);
        global(d, a.group, k, q, path);
        minimal(d, (spot){k, in}, b, c, path);
        return;
    }
    path_append(path, local_up(d, a.group, a.index, out));
    global(d, a.group, k, q, path);
    uint32_t onwards = take_copy(d, (spot){k, in}, (spot){b.group, ANY}, c), head = head_of(d, k, b.group, onwards);
    if (head != in) { /* down to a leaf and up again */
        uint32_t leaf = take(c, d->leaves);
        path_append(path, local_up(d, k, leaf, in) + 1);
        path_append(path, local_up(d, k, leaf, head));
    }
    global(d, k, b.group, onwards, path);
    path_append(path, local_up(d, b.group, b.index, head_of(d, b.group, k, onwards)) + 1);
}

/* --- Routes --------------------------------------------------------------------------------------------------------- */

static bool detours(const network_part *part, spot a, spot b) {
    return part->desc->paths == PW_PATHS_VALIANT && a.group != b.group && dragonfly_of(part)->groups > 2;
}

/* The path that the choices pick. */
static void pick(const network_part *part, uint32_t port_a, uint32_t port_b, choices *c, pw_path *path) {
    const dragonfly *d = dragonfly_of(part);
    spot a = spot_of(part, port_a), b = spot_of(part, port_b);
    path_append(path, d->port_links + 2 * port_a);
    if (detours(part, a, b)) {
        uint32_t k = take(c, d->groups - 2);
        k += k >= (a.group < b.group ? a.group : b.group);
        k += k >= (a.group < b.group ? b.group : a.group);
        valiant(d, a, k, b, c, path);
    } else if (a.group != b.group) {
        minimal(d, a, b, c, path);
    } else if (!d->plus) {
        local_mesh(d, a.group, a.index, b.index, path);
    } else if (a.index != b.index) {
        uint32_t spine = take(c, d->heads);
        path_append(path, local_up(d, a.group, a.index, spine));
        path_append(path, local_up(d, a.group, b.index, spine) + 1);
    }
    path_append(path, d->port_links + 2 * port_b + 1);
}

static void route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path) {
    pick(part, port_a, port_b, &(choices){.draw = draw}, path);
}

/* Valiant routes of one group may be more than those of another: as many draws as give each at least once. */
static uint64_t ways(const network_part *part, uint32_t port_a, uint32_t port_b) {
    const dragonfly *d = dragonfly_of(part);
    spot a = spot_of(part, port_a), b = spot_of(part, port_b);
    uint32_t copy;
    if (detours(part, a, b)) return (uint64_t)(d->groups - 2) * d->copies * d->copies * (d->plus ? d->leaves : 1);
    if (a.group == b.group) return d->plus && a.index != b.index ? d->heads : 1;
    return d->plus ? d->copies : best_copies(d, a.group, a.index, b.group, b.index, 0, &copy);
}

static void spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    choices c = {.listed = true, .share = 1};
    do {
        pw_path path;
        path.count = 0;
        pick(part, port_a, port_b, &c, &path);
        for (uint32_t i = 0; i < path.count; i++) visit(object, path.links[i], c.share);
    } while (next_list(&c));
}

/* --- Facts ---------------------------------------------------------------------------------------------------------- */

static pw_switch_info place(const network_part *part, uint32_t i) {
    const dragonfly *d = dragonfly_of(part);
    uint32_t index = i % group_switches(d);
    bool spine = index >= d->leaves;
    return (pw_switch_info){.tier = spine, .group = i / group_switches(d), .index = spine ? index - d->leaves : index};
}

static uint32_t longest(const network_part *part, const dragonfly *d) {
    bool valiant_ways = part->desc->paths == PW_PATHS_VALIANT && d->groups > 2;
    uint32_t mesh = d->leaves > 1;
    if (d->groups == 1) return 2 + (d->plus ? 2 * mesh : mesh);
    if (d->plus) return 2 + (valiant_ways ? 6 : 3);
    return 2 + (valiant_ways ? 2 + 3 * mesh : 1 + 2 * mesh);
}

static pw_network_facts facts(const network_part *part) {
    const dragonfly *d = dragonfly_of(part);
    uint32_t ports = part->nodes * part->rails, trunks = part_trunks(part), g = d->groups, leaf, spine;
    count_cables(part, d, &leaf, &spine);
    uint32_t local = g * (d->plus ? d->leaves * d->heads : d->leaves * (d->leaves - 1) / 2), across = g * (g - 1) / 2 * d->copies;
    pw_network_facts made = {.leaves = g * d->leaves, .spines = d->plus ? g * d->heads : 0, .tiers = 1 + d->plus,
                             .tier_count = 1 + d->plus, .cable_count = 3, .hops = longest(part, d), .oversubscription = 1,
                             .cables = ports + (local + across) * trunks};
    made.tier[0].name = d->plus ? "leaf" : "router";
    made.tier[0].switches = made.leaves;
    made.tier[0].most_cables = leaf;
    made.tier[1].name = d->plus ? "spine" : NULL;
    made.tier[1].switches = made.spines;
    made.tier[1].most_cables = spine;
    made.cable[0].name = "port", made.cable[0].cables = ports, made.cable[0].cable_Bps = part->cable_Bps;
    made.cable[1].name = "local", made.cable[1].cables = local * trunks, made.cable[1].cable_Bps = d->trunk_Bps / trunks;
    made.cable[2].name = "global", made.cable[2].cables = across * trunks, made.cable[2].cable_Bps = d->trunk_Bps / trunks;
    /* Half of the groups against the others; of one group, half of its leaves. */
    uint32_t half = d->leaves / 2;
    double cut = g > 1 ? (double)(g / 2) * (g - g / 2) * d->copies : d->plus ? (double)half * d->heads : (double)half * (d->leaves - half);
    made.bisection_Bps = ports / 2 * part->cable_Bps;
    if (g > 1 || half) made.bisection_Bps = fmin(made.bisection_Bps, cut * d->trunk_Bps);
    return made;
}

#define DRAGONFLY .destroy = destroy, .route = route, .ways = ways, .spread = spread, .place = place, .facts = facts
const pw_topology topology_dragonfly = {.name = "dragonfly", .build = build_dragonfly, .uses = USES_ROUTERS | USES_GROUPS, DRAGONFLY,
                                        .text = "groups of fully connected routers, cables between every two groups"};
const pw_topology topology_dragonfly_plus = {
    .name = "dragonfly_plus", .build = build_plus, .uses = USES_ROUTERS | USES_GROUPS | USES_SPINES, DRAGONFLY,
    .text = "groups of leaves and spines, cables between the spines of every two groups"};
