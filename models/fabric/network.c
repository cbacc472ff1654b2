/* Networks: the table of topologies, the fields a user may set, creation and facts. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "models/fabric/network_internal.h"

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

enum { DEFAULT_RADIX = 64, LARGEST_RADIX = 4096, LARGEST_PORTS = 1 << 23 };

static pw_status check_network(const void *description, const char *file, int line, pw_error *error) {
    const pw_network_desc *desc = description;
    if (desc->radix > LARGEST_RADIX)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "network.radix is %lld, must be at most %d",
                       (long long)desc->radix, LARGEST_RADIX);
    if (desc->radix != 0 && desc->radix < 4)
        return pw_fail(error, PW_BAD_INPUT, file, line, "a switch has 4 ports or more; 0 takes the catalogue's",
                       "network.radix is %lld", (long long)desc->radix);
    return PW_OK;
}

static const pw_field network_fields[] = {
    {"topology", PW_FIELD_CHOICE, PW_UNIT_NONE, offsetof(pw_network_desc, topology), 0, 0, "rail_optimized", pw_topology_names, NULL,
     "how switches join the nodes' network ports"},
    {"oversubscription", PW_FIELD_NUMBER, PW_UNIT_NONE, offsetof(pw_network_desc, oversubscription), 1, 1000, "1", NULL, NULL,
     "ports in use of a leaf switch over its uplinks; 1 is non-blocking"},
    {"radix", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_network_desc, radix), 0, LARGEST_RADIX, "0", NULL, NULL,
     "ports of a switch; 0 takes those of the catalogue's switch for the node"},
    {"port_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, offsetof(pw_network_desc, port_Bps), 1e6, 1e13, "", NULL, NULL,
     "line rate of one port and cable, one direction; with node.nic_rate the slower counts; left out: the node's NIC"},
    {"efficiency", PW_FIELD_NUMBER, PW_UNIT_NONE, offsetof(pw_network_desc, efficiency), 0.01, 1, "", NULL, NULL,
     "achievable payload over line rate; left out: the catalogue's figure for the link generation"},
    {"hop_latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, offsetof(pw_network_desc, hop_latency_s), 0, 1, "", NULL, NULL,
     "time through one switch; left out: the catalogue's"},
    {"cable_latency", PW_FIELD_NUMBER, PW_UNIT_SECONDS, offsetof(pw_network_desc, cable_latency_s), 0, 1, "", NULL, NULL,
     "time along one cable; left out: the catalogue's"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_network_kind = {"network", "The switches and cables between nodes", sizeof(pw_network_desc),
                                 network_fields, check_network};

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
    PW_TRY(check_network(desc, NULL, 0, error));
    if (!allocator) allocator = pw_allocator_default();
    pw_network *made = pw_alloc_zero(allocator, sizeof *made);
    if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the network");
    *made = (pw_network){.allocator = allocator, .fabric = fabric, .ports = ports, .desc = *desc, .nodes = nodes,
                         .rails = rails, .cable_Bps = desc->port_Bps * desc->efficiency,
                         .topology = topologies[desc->topology]};
    if (!made->desc.radix && !made->topology->one_switch) made->desc.radix = DEFAULT_RADIX;
    pw_status status = made->topology->build(made, error);
    made->ports = NULL;
    if (status != PW_OK) pw_network_destroy(made);
    else *network = made;
    return status;
}

void pw_network_destroy(pw_network *network) {
    if (!network) return;
    if (network->state) network->topology->destroy(network);
    pw_free(network->allocator, network, sizeof *network);
}

static bool has_ports(const pw_network *network, uint32_t a, uint32_t b) {
    uint32_t ports = network->nodes * network->rails;
    return a < ports && b < ports;
}

pw_status pw_network_route(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path) {
    if (!has_ports(network, port_a, port_b)) return PW_BAD_INPUT;
    if (port_a == port_b) return PW_OK;
    pw_path made = {.count = 0};
    network->topology->route(network, port_a, port_b, hash, &made);
    if (path->count > PW_ROUTE_MAX - made.count) return PW_OUT_OF_RANGE;
    memcpy(path->links + path->count, made.links, made.count * sizeof *made.links);
    path->count += made.count;
    return PW_OK;
}

pw_status pw_network_spread(const pw_network *network, uint32_t port_a, uint32_t port_b,
                            void (*visit)(void *object, pw_link link, double fraction), void *object) {
    if (!has_ports(network, port_a, port_b)) return PW_BAD_INPUT;
    if (port_a != port_b) network->topology->spread(network, port_a, port_b, visit, object);
    return PW_OK;
}

pw_status pw_network_spread_twins(const pw_network *network, uint32_t port_a, uint32_t port_b,
                                  void (*visit)(void *object, pw_link link, double fraction), void *object) {
    if (!has_ports(network, port_a, port_b)) return PW_BAD_INPUT;
    const pw_topology *topology = network->topology;
    if (port_a != port_b) (topology->spread_twins ? topology->spread_twins : topology->spread)(network, port_a, port_b, visit, object);
    return PW_OK;
}

pw_twins pw_network_twins(const pw_network *network, pw_link link) {
    return network->topology->twins ? network->topology->twins(network, link) : (pw_twins){link, 1};
}

pw_network_facts pw_network_get_facts(const pw_network *network) { return network->topology->facts(network); }
const char *pw_network_topology(const pw_network *network) { return network->topology->name; }
bool pw_network_is_rail_aligned(int topology) {
    return topology >= 0 && topology < TOPOLOGY_COUNT && topologies[topology]->rail_aligned;
}
bool pw_topology_has_radix(int topology) {
    return topology >= 0 && topology < TOPOLOGY_COUNT && !topologies[topology]->one_switch;
}
