/* What a user may say of a network. */
#include <stddef.h>

#include "models/fabric/network_internal.h"

enum { LARGEST_RADIX = 4096, LARGEST_GROUP = 1 << 20 };

static pw_status check_radix(const char *what, int64_t radix, const char *file, int line, pw_error *error) {
    if (radix > LARGEST_RADIX)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s is %lld, must be at most %d", what, (long long)radix,
                       LARGEST_RADIX);
    if (radix != 0 && radix < 4)
        return pw_fail(error, PW_BAD_INPUT, file, line, "a switch has 4 ports or more; 0 takes the catalogue's", "%s is %lld",
                       what, (long long)radix);
    return PW_OK;
}

/* --- Tiers ---------------------------------------------------------------------------------------------------------- */

static pw_status check_tier(const void *description, const char *file, int line, pw_error *error) {
    return check_radix("tier.radix", ((const pw_tier_desc *)description)->radix, file, line, error);
}

#define AT(member) offsetof(pw_tier_desc, member)
static const pw_field tier_fields[] = {
    {"radix", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(radix), 0, LARGEST_RADIX, "0", .text = "ports of a switch; 0: network.radix"},
    {"oversubscription", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(oversubscription), 1, 1000, "",
     .text = "bandwidth down over bandwidth up of a switch; left out: network.oversubscription for leaves, 1 above"},
    {"uplink_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(uplink_Bps), 1e6, 1e13, "",
     .text = "line rate of a cable to the next tier, one direction; left out: that of the cables from below"},
    {"group", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(group), 0, LARGEST_GROUP, "0",
     .text = "what one group holds: nodes of a leaf (or of a block of leaves), leaves of a pod, pods of what is above; 0: as many as "
             "fit, dealt evenly"},
    {NULL},
};
#undef AT
const pw_kind pw_tier_kind = {"tier", "One tier of switches of a Clos network", sizeof(pw_tier_desc), tier_fields, check_tier};

/* --- Link by link --------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(pw_switch_desc, member)
static const pw_field switch_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, NULL, .text = "by which cables and attachments call it"},
    {"tier", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(tier), 1, PW_NETWORK_TIERS, "1", .text = "how high it stands in a picture and in counts"},
    {NULL},
};
#undef AT
const pw_kind pw_switch_kind = {"switch", "One switch of a custom network", sizeof(pw_switch_desc), switch_fields, NULL};

#define AT(member) offsetof(pw_cable_desc, member)
static const pw_field cable_fields[] = {
    {"from", PW_FIELD_TEXT, PW_UNIT_NONE, AT(from), 0, 0, NULL, .text = "name of a switch"},
    {"to", PW_FIELD_TEXT, PW_UNIT_NONE, AT(to), 0, 0, NULL, .text = "name of another"},
    {"count", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(count), 1, LARGEST_RADIX, "1", .text = "so many parallel ones"},
    {"rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(rate_Bps), 1e6, 1e13, "",
     .text = "line rate of each, one direction; left out: network.port_rate"},
    {"latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(latency_s), 0, 1, "", .text = "time along it; left out: network.cable_latency"},
    {NULL},
};
#undef AT
const pw_kind pw_cable_kind = {"cable", "Cables between two switches of a custom network", sizeof(pw_cable_desc), cable_fields, NULL};

#define AT(member) offsetof(pw_attach_desc, member)
static const pw_field attach_fields[] = {
    {"to", PW_FIELD_TEXT, PW_UNIT_NONE, AT(to), 0, 0, NULL, .text = "name of a switch"},
    {"nodes", PW_FIELD_TEXT, PW_UNIT_NONE, AT(nodes), 0, 0, "*", .text = "which nodes, counted from 0: \"*\", \"3\", \"0-7\", \"0-3,8\""},
    {"ports", PW_FIELD_TEXT, PW_UNIT_NONE, AT(ports), 0, 0, "*",
     .text = "which of their ports, written alike; a port at several switches divides its rate over them"},
    {NULL},
};
#undef AT
const pw_kind pw_attach_kind = {"attach", "Ports of nodes at a switch of a custom network", sizeof(pw_attach_desc), attach_fields, NULL};

/* --- Failures ------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(pw_failure_desc, member)
static const pw_field failure_fields[] = {
    {"node", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(node), -1, LARGEST_GROUP, "-1", .text = "a node, counted from 0: the cables of its ports"},
    {"port", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(port), -1, LARGEST_RADIX, "-1", .text = "one port of that node, counted from 0; -1: all"},
    {"tier", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(tier), 0, PW_NETWORK_TIERS, "1", .text = "tier of a switch, 1 for the leaves"},
    {"switch", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(index), -1, 1 << 30, "-1",
     .text = "a switch of that tier, counted from 0 over all planes and rails: all of its cables"},
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", .text = "a switch of a custom network"},
    {"link", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(link), -1, 1 << 30, "-1",
     .text = "only the cables to one neighbour of that switch, counted from 0 as they were built (of a leaf: uplink); -1: all"},
    {"capacity", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(capacity), 0, 1, "0", .text = "share of the bandwidth that is left; 0: dead, and routed around"},
    {NULL},
};
#undef AT
const pw_kind pw_failure_kind = {"failure", "A switch or cable that failed or lost bandwidth", sizeof(pw_failure_desc), failure_fields, NULL};

/* --- The network ---------------------------------------------------------------------------------------------------- */

static pw_status check_network(const void *description, const char *file, int line, pw_error *error) {
    const pw_network_desc *desc = description;
    PW_TRY(check_radix("network.radix", desc->radix, file, line, error));
    if (desc->routing < 0 || desc->routing >= PW_ROUTING_COUNT)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "there is no routing number %d", desc->routing);
    if (desc->paths < 0 || desc->paths >= PW_PATHS_COUNT)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "there is no network.paths number %d", desc->paths);
    if (desc->flows_per_pair > 1 && desc->routing != PW_ROUTING_ECMP && desc->routing != PW_ROUTING_ADAPTIVE)
        return pw_fail(error, PW_BAD_INPUT, file, line, "take routing 'ecmp' or 'adaptive', or leave it out",
                       "network.flows_per_pair is %lld, which changes nothing with this routing", (long long)desc->flows_per_pair);
    return PW_OK;
}

static const pw_kind *const tier_kinds[] = {&pw_tier_kind, NULL};
static const pw_field tier_item = {"tier", PW_FIELD_ONE_OF, .kinds = tier_kinds, .text = "a tier of switches"};
static const pw_field dim_item = {"dim", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 1, LARGEST_GROUP, .text = "switches along one dimension"};
static const pw_kind *const switch_kinds[] = {&pw_switch_kind, NULL}, *const cable_kinds[] = {&pw_cable_kind, NULL};
static const pw_kind *const attach_kinds[] = {&pw_attach_kind, NULL}, *const failure_kinds[] = {&pw_failure_kind, NULL};
static const pw_field switch_item = {"switch", PW_FIELD_ONE_OF, .kinds = switch_kinds, .text = "a switch"};
static const pw_field cable_item = {"cable", PW_FIELD_ONE_OF, .kinds = cable_kinds, .text = "cables between two switches"};
static const pw_field attach_item = {"attach", PW_FIELD_ONE_OF, .kinds = attach_kinds, .text = "ports at a switch"};
static const pw_field failure_item = {"failure", PW_FIELD_ONE_OF, .kinds = failure_kinds, .text = "what failed"};
static const char *const paths_names[] = {"minimal", "valiant", NULL};
static const char *const routing_names[] = {"spray", "ecmp", "static", "adaptive", NULL};

#define AT(member) offsetof(pw_network_desc, member)
static const pw_field network_fields[] = {
    {"topology", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(topology), 0, 0, "rail_optimized", pw_topology_names, NULL,
     "how switches join the nodes' network ports"},
    {"oversubscription", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(oversubscription), 1, 1000, "1", NULL, NULL,
     "bandwidth of the ports in use of a leaf switch over that of its uplinks; 1 is non-blocking"},
    {"radix", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(radix), 0, LARGEST_RADIX, "0", NULL, NULL,
     "ports of a switch; 0 takes those of the catalogue's switch for the node"},
    {"port_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(port_Bps), 1e6, 1e13, "", NULL, NULL,
     "line rate of one port and cable, one direction; with node.nic_rate the slower counts; left out: the node's NIC"},
    {"efficiency", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(efficiency), 0.01, 1, "", NULL, NULL,
     "achievable payload over line rate; left out: the catalogue's figure for the link generation"},
    {"hop_latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(hop_latency_s), 0, 1, "", NULL, NULL,
     "time through one switch; left out: the catalogue's"},
    {"cable_latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(cable_latency_s), 0, 1, "", NULL, NULL,
     "time along one cable; left out: the catalogue's"},
    {"tiers", PW_FIELD_LIST, PW_UNIT_NONE, AT(tiers), 1, 6, "", .item = &tier_item,
     .text = "at most these tiers of a Clos network, leaves first; left out: as many as the nodes need, all of network.radix"},
    {"planes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(planes), 0, 64, "1",
     .text = "networks of their own that share the rate of every port; bytes are spread over them"},
    {"leaves_per_port", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(leaves_per_port), 0, 8, "1",
     .text = "leaves over which the rate of a port is divided; 2 is dual-ToR"},
    {"routing", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(routing), 0, 0, "spray", routing_names,
     .text = "how flows use equal paths: evenly over all, one by a hash, one for each destination, or the least loaded one"},
    {"flows_per_pair", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(flows_per_pair), 0, 1024, "1",
     .text = "flows (queue pairs) that share what one port sends to another, for routing 'ecmp' and 'adaptive'"},
    {"reduces", PW_FIELD_BOOL, PW_UNIT_NONE, AT(reduces), 0, 0, "false",
     .text = "its switches can sum what passes (SHARP): the algorithm sharp of collectives needs it"},
    {"nodes_per_switch", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes_per_switch), 0, LARGEST_RADIX, "1",
     .text = "nodes with all their ports at one switch of a torus, mesh, ring, hypercube, hyperx, dragonfly or full mesh"},
    {"trunks", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(trunks), 0, LARGEST_RADIX, "1",
     .text = "parallel cables between two neighbouring switches of such a network"},
    {"trunk_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(trunk_Bps), 0, 1e13, "",
     .text = "line rate of each of these cables, one direction; left out or 0: that of a port's cable"},
    {"dims", PW_FIELD_LIST, PW_UNIT_NONE, AT(dims), 1, 16, "", .item = &dim_item,
     .text = "sizes of a torus, mesh or hyperx in switches; their product is nodes / nodes_per_switch"},
    {"group_switches", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(group_switches), 0, LARGEST_RADIX, "0",
     .text = "routers of a group of a dragonfly, leaves of one of a dragonfly_plus"},
    {"group_spines", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(group_spines), 0, LARGEST_RADIX, "0",
     .text = "spines of a group of a dragonfly_plus; 0: as many as leaves"},
    {"global_links", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(global_links), 0, LARGEST_RADIX, "0",
     .text = "links to other groups that a router (spine) of a dragonfly has at most; every two groups get equally many"},
    {"paths", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(paths), 0, 0, "minimal", paths_names,
     .text = "ways through a dragonfly: with one global link, or over a third group first"},
    {"switches", PW_FIELD_LIST, PW_UNIT_NONE, AT(switches), 1, 65536, "", .item = &switch_item, .text = "of a custom network"},
    {"cables", PW_FIELD_LIST, PW_UNIT_NONE, AT(cables), 1, PW_LIST_MOST, "", .item = &cable_item, .text = "of a custom network, between switches"},
    {"attachments", PW_FIELD_LIST, PW_UNIT_NONE, AT(attachments), 1, PW_LIST_MOST, "", .item = &attach_item,
     .text = "of a custom network: which ports are at which switch"},
    {"failures", PW_FIELD_LIST, PW_UNIT_NONE, AT(failures), 1, 10000, "", .item = &failure_item,
     .text = "switches and cables that failed or lost bandwidth; routes avoid the dead ones"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_network_kind = {"network", "The switches and cables between nodes", sizeof(pw_network_desc),
                                 network_fields, check_network};
