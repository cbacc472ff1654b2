/* Networks: the table of topologies, creation of their parts, and facts over all parts. */
#include <math.h>
#include <string.h>

#include "models/fabric/table.h"

static const pw_topology *const topologies[] = {
#define TOPOLOGY_ENTRY(name) &topology_##name,
    TOPOLOGIES(TOPOLOGY_ENTRY)
#undef TOPOLOGY_ENTRY
};
enum { TOPOLOGY_COUNT = sizeof topologies / sizeof *topologies };
const char *const pw_topology_names[] = {
#define TOPOLOGY_NAME(name) #name,
    TOPOLOGIES(TOPOLOGY_NAME)
#undef TOPOLOGY_NAME
    NULL};

enum { DEFAULT_RADIX = 64, LARGEST_PORTS = 1 << 23 };

/* Positive, finite and known. */
static pw_status check_figures(const pw_network_desc *desc, pw_error *error) {
    const struct {
        const char *name;
        double value, least, most;
    } figures[] = {
        {"oversubscription", desc->oversubscription, 1, 1000}, {"port_rate", desc->port_Bps, 1e-300, 1e300},
        {"efficiency", desc->efficiency, 1e-6, 1},             {"hop_latency", desc->hop_latency_s, 0, 1e6},
        {"cable_latency", desc->cable_latency_s, 0, 1e6},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!(figures[i].value >= figures[i].least && figures[i].value <= figures[i].most))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.%s is %s", figures[i].name,
                           isnan(figures[i].value) ? "unknown" : "out of range");
    return PW_OK;
}

/* A field that the topology does not have is not passed over in silence. */
static pw_status check_uses(const pw_network_desc *desc, const pw_topology *topology, pw_error *error) {
    const struct {
        const char *name;
        bool given;
        unsigned uses;
    } fields[] = {
        {"oversubscription", desc->oversubscription != 1, USES_OVERSUBSCRIPTION},
        {"tiers", desc->tiers.count != 0, USES_TIERS},
        {"leaves_per_port", desc->leaves_per_port > 1, USES_TIERS},
        {"nodes_per_switch", desc->nodes_per_switch > 1, USES_ROUTERS},
        {"trunks", desc->trunks > 1, USES_ROUTERS},
        {"trunk_rate", desc->trunk_Bps > 0, USES_ROUTERS},
        {"dims", desc->dims.count != 0, USES_DIMS},
        {"group_switches", desc->group_switches != 0, USES_GROUPS},
        {"global_links", desc->global_links != 0, USES_GROUPS},
        {"paths", desc->paths != PW_PATHS_MINIMAL, USES_GROUPS},
        {"switches", desc->switches.count != 0, USES_GRAPH},
        {"cables", desc->cables.count != 0, USES_GRAPH},
        {"attachments", desc->attachments.count != 0, USES_GRAPH},
        {"group_spines", desc->group_spines != 0, USES_SPINES},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given && !(topology->uses & fields[i].uses))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "network.%s does not go with topology '%s'",
                           fields[i].name, topology->name);
    return PW_OK;
}

static pw_status build_part(pw_network *network, network_part *part, pw_error *error) {
    uint32_t before = pw_fabric_vertices(network->fabric);
    part->first_vertex = before;
    part->first_link = pw_fabric_links(network->fabric);
    PW_TRY(part->topology->build(part, error));
    part->switch_count = pw_fabric_vertices(network->fabric) - before;
    part->link_count = pw_fabric_links(network->fabric) - part->first_link;
    return part->topology->searched ? table_create(part, NULL, &part->table, error) : PW_OK;
}

static pw_status build(pw_network *network, const pw_vertex *ports, pw_error *error) {
    const pw_network_desc *desc = &network->desc;
    bool apart = network->topology->rails_apart;
    uint32_t rails = apart ? network->rails : 1, count = rails * network->planes;
    network->parts = pw_alloc_zero(network->allocator, count * sizeof *network->parts);
    if (!network->parts) return part_no_memory(error);
    network->part_count = count;
    for (uint32_t i = 0; i < count; i++) {
        network_part *part = &network->parts[i];
        *part = (network_part){.allocator = network->allocator, .fabric = network->fabric, .ports = ports, .desc = desc,
                               .nodes = network->nodes, .rails = apart ? 1 : network->rails, .plane = i % network->planes,
                               .rail = apart ? i / network->planes : PW_NONE, .node_ports = network->rails,
                               .cable_Bps = desc->port_Bps * desc->efficiency / network->planes,
                               .topology = network->topology};
        PW_TRY(build_part(network, part, error));
    }
    return network_fail_parts(network, error);
}

pw_status pw_network_create(const pw_allocator *allocator, pw_fabric *fabric, const pw_network_desc *desc,
                            const pw_vertex *ports, uint32_t nodes, uint32_t rails, pw_network **network,
                            pw_error *error) {
    *network = NULL;
    if (desc->topology < 0 || desc->topology >= TOPOLOGY_COUNT)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "there is no topology number %d", desc->topology);
    if (!nodes || !rails) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a network needs nodes with ports");
    if ((uint64_t)nodes * rails > LARGEST_PORTS)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%u nodes with %u ports: more than %d ports are not modelled",
                       nodes, rails, LARGEST_PORTS);
    PW_TRY(check_figures(desc, error));
    PW_TRY(pw_network_kind.check(desc, NULL, 0, error));
    PW_TRY(check_uses(desc, topologies[desc->topology], error));
    if (!allocator) allocator = pw_allocator_default();
    pw_network *made = pw_alloc_zero(allocator, sizeof *made);
    if (!made) return part_no_memory(error);
    *made = (pw_network){.allocator = allocator, .fabric = fabric, .desc = *desc, .nodes = nodes, .rails = rails,
                         .planes = desc->planes > 1 ? (uint32_t)desc->planes : 1, .topology = topologies[desc->topology]};
    if (!made->desc.radix && !made->topology->one_switch) made->desc.radix = DEFAULT_RADIX;
    pw_status status = build(made, ports, error);
    for (uint32_t p = 0; p < made->part_count; p++) made->parts[p].ports = NULL; /* they and the description may go away now */
    made->desc.tiers = made->desc.dims = made->desc.failures = (pw_list){NULL, 0};
    made->desc.switches = made->desc.cables = made->desc.attachments = (pw_list){NULL, 0};
    if (status != PW_OK) pw_network_destroy(made);
    else *network = made;
    return status;
}

void pw_network_destroy(pw_network *network) {
    if (!network) return;
    for (uint32_t i = 0; i < network->part_count; i++) {
        network_part *part = &network->parts[i];
        table_destroy(part, &part->table);
        table_destroy(part, &part->detours);
        detours_destroy(part);
        if (part->dead) pw_free(network->allocator, part->dead, part->link_count + (size_t)1);
        if (part->state) network->topology->destroy(part);
    }
    if (network->parts) pw_free(network->allocator, network->parts, network->part_count * sizeof *network->parts);
    pw_free(network->allocator, network, sizeof *network);
}

bool pw_network_reduces(const pw_network *network) { return network->desc.reduces; }
bool pw_network_has_routers(const pw_network *network) { return (network->topology->uses & (USES_ROUTERS | USES_GRAPH)) != 0; }

/* --- Facts ---------------------------------------------------------------------------------------------------------- */

static pw_network_facts facts_of(const network_part *part) {
    pw_network_facts facts = part->topology->facts(part);
    const path_table *alive = part->detours ? part->detours : part->table;
    if (part->table) facts.hops = table_longest(part->table);
    if (part->detours && table_longest(part->detours) > facts.hops) facts.hops = table_longest(part->detours);
    if (alive) facts.bisection_Bps = table_cut(part, alive);
    return facts;
}

pw_network_facts pw_network_get_facts(const pw_network *network) {
    pw_network_facts sum = facts_of(&network->parts[0]);
    for (uint32_t p = 1; p < network->part_count; p++) {
        pw_network_facts one = facts_of(&network->parts[p]);
        sum.leaves += one.leaves, sum.spines += one.spines, sum.cores += one.cores, sum.cables += one.cables;
        sum.bisection_Bps += one.bisection_Bps;
        if (one.hops > sum.hops) sum.hops = one.hops;
        for (uint32_t t = 0; t < one.tier_count; t++) sum.tier[t].switches += one.tier[t].switches;
        for (uint32_t c = 0; c < one.cable_count; c++) sum.cable[c].cables += one.cable[c].cables;
    }
    return sum;
}

uint32_t pw_network_switches(const pw_network *network) {
    uint32_t count = 0;
    for (uint32_t p = 0; p < network->part_count; p++) count += network->parts[p].switch_count;
    return count;
}

pw_switch_info pw_network_switch(const pw_network *network, uint32_t index) {
    uint32_t p = 0;
    for (; p + 1 < network->part_count && index >= network->parts[p].switch_count; p++) index -= network->parts[p].switch_count;
    const network_part *part = &network->parts[p];
    PW_CHECK(index < part->switch_count);
    pw_switch_info info = part->topology->place(part, index);
    info.vertex = part->first_vertex + index;
    info.plane = part->plane;
    info.rail = part->rail;
    return info;
}

const network_part *network_part_of(const pw_network *network, pw_link link) {
    for (uint32_t p = 0; p < network->part_count; p++) {
        const network_part *part = &network->parts[p];
        if (link >= part->first_link && link - part->first_link < part->link_count) return part;
    }
    return NULL;
}

const char *pw_network_topology(const pw_network *network) { return network->topology->name; }
bool pw_network_is_rail_aligned(const pw_network *network) { return network->topology->rail_aligned; }
bool pw_network_has_rails_apart(const pw_network *network) { return network->topology->rails_apart; }
bool pw_network_is_nonblocking(const pw_network *network) {
    return network->topology->folded_clos && !network->irregular && pw_network_get_facts(network).oversubscription <= 1 + 1e-9;
}
int pw_topology_find(const char *name) {
    for (int t = 0; t < TOPOLOGY_COUNT; t++)
        if (!strcmp(pw_topology_names[t], name)) return t;
    return -1;
}
bool pw_topology_is_rail_aligned(int topology) {
    return topology >= 0 && topology < TOPOLOGY_COUNT && topologies[topology]->rail_aligned;
}
bool pw_topology_has_radix(int topology) {
    return topology >= 0 && topology < TOPOLOGY_COUNT && !topologies[topology]->one_switch;
}
