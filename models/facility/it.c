/* IT power: models/power/node_power for the nodes, the catalogue for switches. */
#include "models/facility/it.h"

#include <math.h>

#include "models/power/node_power.h"

double facility_it_at(const facility_it *it, double utilization, double *W) {
    double sum = 0;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++) {
        double watts = it->idle_W[p] + utilization * (it->peak_W[p] - it->idle_W[p]);
        W[p] += watts;
        sum += watts;
    }
    return sum;
}

/* ---- Given ---- */

static void make_given(const pw_demand_desc *d, facility_it *it) {
    double idle_W = isnan(d->idle_W) ? 0 : d->idle_W, fans = isnan(d->fan_share) ? 0 : d->fan_share,
           supplies = isnan(d->supply_loss_share) ? 0 : d->supply_loss_share;
    it->split_known = !isnan(d->fan_share);
    const struct {
        pw_facility_part part;
        double share;
    } parts[] = {{PW_FACILITY_COMPUTE, 1 - fans - supplies}, {PW_FACILITY_FANS, fans}, {PW_FACILITY_SUPPLIES, supplies}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        it->idle_W[parts[i].part] = idle_W * parts[i].share;
        it->peak_W[parts[i].part] = d->peak_W * parts[i].share;
    }
}

/* ---- From nodes ---- */

static pw_facility_part part_of(int kind) {
    switch (kind) {
    case PW_NODE_PART_NIC:
    case PW_NODE_PART_OPTICS: return PW_FACILITY_NETWORK;
    case PW_NODE_PART_FAN:
    case PW_NODE_PART_PUMP: return PW_FACILITY_FANS;
    case PW_NODE_PART_CONVERSION: return PW_FACILITY_SUPPLIES;
    default: return PW_FACILITY_COMPUTE;
    }
}

static void add_node(const pw_node_watts *watts, double nodes, double *W) {
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) W[part_of(kind)] += nodes * watts->part[kind];
    W[PW_FACILITY_SUPPLIES] += nodes * watts->supply_loss_W;
}

static pw_status add_part(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_part *part, const pw_demand_desc *d,
                          facility_it *it, pw_facility_result *r, pw_error *error) {
    pw_node_power *model;
    const char *hint = "demand = o.demand { idle = ..., peak = ... } gives the watts of all IT";
    if (!*part->server) return pw_fail(error, PW_UNSUPPORTED, NULL, 0, hint, "demand.peak is missing: the power of a node that is no row of servers is not known");
    PW_TRY(pw_node_power_create(allocator, catalogue, part->server, &model, error));
    double cap_draw = pw_node_power_parameters(model)->cap_draw, gpu_W = isnan(d->gpu_W) ? cap_draw * part->device->tdp_W : d->gpu_W;
    pw_status status = PW_OK;
    if (isnan(gpu_W) || isnan(part->device->idle_W))
        status = pw_fail(error, PW_UNSUPPORTED, NULL, 0, hint, "demand.gpu_power: idle or rated power of '%s' is not known", part->device->name);
    if (status == PW_OK) {
        const pw_node_load idle = {.gpu_W = part->gpus_per_node * part->device->idle_W, .fan_speed = NAN};
        const pw_node_load busy = {.gpu_W = part->gpus_per_node * gpu_W, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN};
        pw_node_watts idle_watts = pw_node_power_at(model, &idle), busy_watts = pw_node_power_at(model, &busy);
        add_node(&idle_watts, part->nodes, it->idle_W);
        add_node(&busy_watts, part->nodes, it->peak_W);
        if (!r->server) r->server = part->server, r->gpu_busy_W = gpu_W;
    }
    pw_node_power_destroy(model);
    return status;
}

/* Switches draw the same whatever goes through them, near enough. */
static pw_status add_switches(const pw_catalogue *catalogue, const pw_cluster *cluster, double given_W, facility_it *it, pw_facility_result *r,
                              pw_error *error) {
    const pw_table *nodes;
    const pw_network *network = pw_cluster_network(cluster);
    r->switches = network ? pw_network_switches(network) : 0;
    r->switch_W = isnan(given_W) ? 0 : given_W;
    if (!r->switches) return PW_OK;
    PW_TRY(pw_catalogue_need(catalogue, "nodes", &nodes, error));
    int row = pw_table_find_row(nodes, r->server);
    const char *box = row < 0 ? "" : pw_table_text_of(nodes, (size_t)row, "network_switch");
    pw_error none;
    if (isnan(given_W) && *box && pw_node_switch_W(catalogue, box, 0, &r->switch_W, &none) != PW_OK) r->switch_W = 0; /* a note says so */
    it->idle_W[PW_FACILITY_NETWORK] += r->switches * r->switch_W;
    it->peak_W[PW_FACILITY_NETWORK] += r->switches * r->switch_W;
    return PW_OK;
}

pw_status facility_it_make(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_demand_desc *demand,
                           facility_it *it, pw_facility_result *result, pw_error *error) {
    *it = (facility_it){.split_known = true};
    result->gpu_busy_W = result->switch_W = NAN;
    if (!isnan(demand->peak_W)) {
        make_given(demand, it);
        return PW_OK;
    }
    for (uint32_t i = 0; i < pw_cluster_parts(cluster); i++) {
        pw_cluster_part part = pw_cluster_get_part(cluster, i);
        PW_TRY(add_part(allocator, catalogue, &part, demand, it, result, error));
    }
    return add_switches(catalogue, cluster, demand->switch_W, it, result, error);
}

/* ---- Liquid ---- */

pw_status facility_it_with_liquid(const pw_catalogue *catalogue, const facility_it *air, double capture, double node_fans, facility_it *it, pw_error *error) {
    pw_node_parameters parameters;
    *it = *air;
    if (isnan(node_fans)) {
        PW_TRY(pw_node_parameters_read(catalogue, &parameters, error));
        double speed = parameters.fan_rest + (1 - parameters.fan_rest) * (1 - capture);
        node_fans = speed * speed * speed;
    }
    it->idle_W[PW_FACILITY_FANS] *= node_fans;
    it->peak_W[PW_FACILITY_FANS] *= node_fans;
    return PW_OK;
}
