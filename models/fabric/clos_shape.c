/* How many switches of each tier a Clos network has.
 *
 * A leaf has n ports in use and as many uplinks as carry 1 / oversubscription of them, with both together at most the radix; nodes
 * are dealt to as few leaves as possible, evenly. A tier ends the network when its switches have ports for all subtrees below: the
 * fewest are taken that divide the uplinks. Else as many subtrees are joined to one larger as leave room for uplinks, again
 * evenly, with one switch per uplink. */
#include <math.h>

#include "models/fabric/clos.h"

static uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

/* One tier as described, with what was left out filled in. */
typedef struct tier_rule {
    uint32_t radix, group;
    double oversubscription;
    double up_Bps; /* line rate of a cable upwards; NaN: as below */
} tier_rule;

static tier_rule rule_of(const network_part *part, uint32_t tier) {
    const pw_network_desc *desc = part->desc;
    tier_rule rule = {(uint32_t)desc->radix, 0, tier == 0 ? desc->oversubscription : 1, NAN};
    if (tier >= desc->tiers.count) return rule;
    const pw_tier_desc *given = ((const pw_one_of *)desc->tiers.items)[tier].record;
    if (given->radix) rule.radix = (uint32_t)given->radix;
    if (given->oversubscription >= 1) rule.oversubscription = given->oversubscription;
    rule.group = (uint32_t)given->group;
    rule.up_Bps = given->uplink_Bps;
    return rule;
}

/* Cables of rate up that carry `cables` of rate down over the oversubscription. */
static uint32_t uplinks_for(uint32_t cables, const tier_rule *rule, double down_Bps) {
    double ratio = rule->up_Bps > 0 ? down_Bps / rule->up_Bps : 1, exact = (double)cables * ratio / rule->oversubscription;
    uint32_t uplinks = (uint32_t)exact;
    return uplinks + (exact - uplinks > 1e-9);
}

static double up_rate(const tier_rule *rule, double down_Bps) { return rule->up_Bps > 0 ? rule->up_Bps : down_Bps; }

/* The most cables downwards, in multiples of step, that leave room for their uplinks; 0: not even one step. */
static uint32_t most_down(const tier_rule *rule, uint32_t step, double down_Bps) {
    uint32_t most = rule->radix / step;
    while (most && (uint64_t)most * step + uplinks_for(most * step, rule, down_Bps) > rule->radix) most--;
    return most;
}

static const char *const tier_words[] = {"leaf", "spine", "core", "tier-4", "tier-5", "tier-6"};

static pw_status no_room(uint32_t tier, const tier_rule *rule, const char *what, uint32_t count, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix or network.oversubscription",
                   "a %s switch with %u ports has no room for %u %s and their uplinks", tier_words[tier], rule->radix, count, what);
}

static uint32_t most_tiers(const network_part *part) { return part->desc->tiers.count ? part->desc->tiers.count : CLOS_TIERS; }

/* Tier t is the last if its switches have ports for every subtree below. */
static bool close_at(clos_shape *shape, uint32_t t, const tier_rule *rule, uint32_t uplinks) {
    clos_tier *tier = &shape->tier[t], *below = tier - 1;
    if (below->subtrees > rule->radix || (rule->group && rule->group < below->subtrees)) return false;
    uint32_t ups = 1;
    while (uplinks % ups || (uint64_t)below->subtrees * (uplinks / ups) > rule->radix) ups++;
    below->ups = ups;
    below->cables = uplinks / ups;
    *tier = (clos_tier){.children = below->subtrees, .subtrees = 1, .width = below->width * ups,
                        .span = below->span * below->subtrees};
    return true;
}

/* Tier t joins subtrees to larger ones; *uplinks and *down_Bps become those of its switches. */
static pw_status join_at(clos_shape *shape, uint32_t t, const tier_rule *rule, uint32_t *uplinks, double *down_Bps,
                         pw_error *error) {
    clos_tier *tier = &shape->tier[t], *below = tier - 1;
    uint32_t most = most_down(rule, 1, *down_Bps), block = t == 1 ? shape->block_leaves : 1;
    if (most < block) block = t == 1 ? shape->sides : 1;
    most -= most % block;
    uint32_t children = rule->group ? rule->group : most;
    if (children > most || children < 2 || children % block)
        return no_room(t, rule, "switches of the tier below", children > 2 ? children : 2, error);
    if (!rule->group) {
        uint32_t groups = ceil_div(below->subtrees, children), even = ceil_div(ceil_div(below->subtrees, groups), block) * block;
        if (even < children) children = even;
    }
    below->ups = *uplinks;
    below->cables = 1;
    *tier = (clos_tier){.children = children, .subtrees = ceil_div(below->subtrees, children), .width = below->width * *uplinks,
                        .span = below->span * children};
    *uplinks = uplinks_for(children, rule, *down_Bps);
    *down_Bps = up_rate(rule, *down_Bps);
    return PW_OK;
}

static pw_status shape_upper(const network_part *part, clos_shape *shape, double down_Bps, pw_error *error) {
    tier_rule rule = rule_of(part, 0);
    uint32_t uplinks = uplinks_for(shape->leaf_ports, &rule, down_Bps), most = most_tiers(part);
    down_Bps = up_rate(&rule, down_Bps);
    for (uint32_t t = 1;; t++) {
        if (t >= most)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix or network.oversubscription",
                           "%u nodes with %u ports need more than %u tiers of switches with %u ports", part->nodes, part->rails,
                           most, rule.radix);
        shape->tier[t - 1].cable_Bps = down_Bps * part->desc->efficiency;
        shape->tiers = t + 1;
        rule = rule_of(part, t);
        if (close_at(shape, t, &rule, uplinks)) return PW_OK;
        if (t + 1 < most) PW_TRY(join_at(shape, t, &rule, &uplinks, &down_Bps, error));
    }
}

static void one_leaf(const network_part *part, clos_shape *shape, uint32_t sides) {
    *shape = (clos_shape){.tiers = 1, .sides = sides, .block_nodes = part->nodes, .block_leaves = sides,
                          .leaf_ports = part->nodes * part->rails};
    shape->tier[0] = (clos_tier){.subtrees = sides, .width = 1, .span = 1};
}

pw_status clos_shape_one(const network_part *part, clos_shape *shape, pw_error *error) {
    uint32_t ports = part->nodes * part->rails;
    if (part->desc->radix && ports > part->desc->radix)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use topology 'fat_tree', or leave network.radix out",
                       "one switch with %lld ports cannot join %u", (long long)part->desc->radix, ports);
    one_leaf(part, shape, 1);
    return PW_OK;
}

pw_status clos_shape_of(const network_part *part, clos_shape *shape, uint32_t node_ports, uint32_t block_rails,
                        pw_error *error) {
    tier_rule rule = rule_of(part, 0);
    uint32_t nodes = part->nodes, sides = part->desc->leaves_per_port > 1 ? (uint32_t)part->desc->leaves_per_port : 1;
    double port_Bps = part->cable_Bps / part->desc->efficiency / sides;
    if (block_rails == 1 && (uint64_t)nodes * node_ports <= rule.radix && (!rule.group || rule.group >= nodes)) {
        one_leaf(part, shape, sides); /* no uplinks */
        return PW_OK;
    }
    uint32_t most = most_down(&rule, node_ports, port_Bps);
    if (!most || rule.group > most) return no_room(0, &rule, rule.group > most ? "nodes" : "ports of one node",
                                                   rule.group > most ? rule.group : node_ports, error);
    uint32_t blocks = ceil_div(nodes, rule.group ? rule.group : most);
    shape->sides = sides;
    shape->block_nodes = rule.group ? rule.group : ceil_div(nodes, blocks);
    if (shape->block_nodes > nodes) shape->block_nodes = nodes;
    shape->block_leaves = block_rails * sides;
    shape->leaf_ports = shape->block_nodes * node_ports;
    shape->tier[0] = (clos_tier){.subtrees = ceil_div(nodes, shape->block_nodes) * shape->block_leaves, .width = 1, .span = 1};
    return shape_upper(part, shape, port_Bps, error);
}
