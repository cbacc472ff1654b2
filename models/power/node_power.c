/* Parts first, then fans (whose heat is part of what they must move), then supplies. */
#include "models/power/node_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct pw_node_power {
    const pw_allocator *allocator;
    const char *server, *gpu;
    int gpus, parts;
    double rated_W, height, fans_W; /* fans_W NaN: by the law of rated power and height */
    bool own_supplies;
    pw_node_part part[PW_NODE_PARTS];
    pw_supply_group supplies;
    pw_node_parameters parameters;
};

pw_status pw_node_parameters_read(const pw_catalogue *catalogue, pw_node_parameters *parameters, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
#define READ(field, name, low, high)                                                                                          \
    {                                                                                                                          \
        int row = pw_table_find_row(table, name);                                                                              \
        if (row < 0)                                                                                                           \
            return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "podwright-fit node-power writes this file",          \
                           "there is no row '%s'", name);                                                                      \
        parameters->field = pw_table_number_of(table, (size_t)row, "value");                                                   \
        if (!(parameters->field >= (low) && parameters->field <= (high)))                                                      \
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row),                       \
                           "podwright-fit node-power writes this file", "%s is \"%s\"; it must be from %g to %g", name,        \
                           pw_table_text_of(table, (size_t)row, "value"), (double)(low), (double)(high));                      \
    }
    PW_NODE_POWER_MAP(READ)
#undef READ
    return PW_OK;
}

/* The cell of node-power.csv, else that of the row of servers.csv; NaN: neither has one. */
static double cell_or_servers(const pw_table *table, size_t row, const char *column, const pw_table *servers, int server,
                              const char *servers_column) {
    double value = pw_table_number_of(table, row, column);
    if (!isnan(value) || server < 0) return value;
    return pw_table_number_of(servers, (size_t)server, servers_column);
}

static pw_status read_supplies(const pw_catalogue *catalogue, const pw_table *table, size_t row, const pw_table *servers, int server,
                               pw_node_power *model, pw_error *error) {
    double units = cell_or_servers(table, row, "supplies", servers, server, "power_supplies");
    double unit_W = cell_or_servers(table, row, "supply", servers, server, "power_supply");
    const char *redundancy = pw_table_text_of(table, row, "redundancy"), *curve = pw_table_text_of(table, row, "curve");
    model->own_supplies = *curve != 0;
    if (!model->own_supplies) return PW_OK;
    if (!*redundancy && server >= 0) redundancy = pw_table_text_of(servers, (size_t)server, "power_supply_redundancy");
    if (!(units >= 1) || !(unit_W > 0))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),
                       "give supplies and supply, or leave curve empty when they stand outside", "the supplies of '%s' are not known",
                       model->server);
    return pw_supply_group_make(catalogue, "server", curve, unit_W, (int)units, redundancy, units > 1 ? 2 : 1, &model->supplies, error);
}

static pw_status read_model(const pw_catalogue *catalogue, const pw_table *table, size_t row, pw_node_power *model, pw_error *error) {
    const pw_table *servers;
    const pw_device *device;
    const char *file = pw_table_file(table);
    int line = pw_table_line(table, row);
    PW_TRY(pw_catalogue_need(catalogue, "servers", &servers, error));
    model->server = pw_table_text_of(table, row, "name");
    int server = pw_table_find_row(servers, model->server);
    PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(table, row, "gpu"), &device, error));
    model->gpu = device->name;
    double gpus = pw_table_number_of(table, row, "gpus");
    if (!(gpus >= 0 && gpus <= 1000)) return pw_fail(error, PW_BAD_INPUT, file, line, "from 0 to 1000", "'%s' has no number of GPUs", model->server);
    model->gpus = (int)gpus;
    PW_TRY(pw_node_parts_read(catalogue, pw_table_text_of(table, row, "parts"), file, line, model->part, &model->parts, error));
    model->rated_W = cell_or_servers(table, row, "rated", servers, server, "rated_max");
    if (!(model->rated_W > 0)) return pw_fail(error, PW_BAD_INPUT, file, line, "give its rated power", "the rated power of '%s' is not known", model->server);
    model->fans_W = pw_table_number_of(table, row, "fans");
    model->height = cell_or_servers(table, row, "height", servers, -1, "");
    if (isnan(model->height) && server >= 0) { /* a text there: "6", "tower" */
        double height = 0;
        if (sscanf(pw_table_text_of(servers, (size_t)server, "rack_units"), "%lf", &height) == 1) model->height = height;
    }
    if (isnan(model->fans_W) && !(model->height > 0))
        return pw_fail(error, PW_BAD_INPUT, file, line, "give its height in rack units, or what its fans draw", "the fans of '%s' are not known", model->server);
    PW_TRY(read_supplies(catalogue, table, row, servers, server, model, error));
    return pw_node_parameters_read(catalogue, &model->parameters, error);
}

pw_status pw_node_power_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *server, pw_node_power **model,
                               pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_POWER, &table, error));
    int row = pw_table_find_row(table, server);
    if (row < 0) {
        char hint[400];
        const char *near = pw_table_nearest(table, server);
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, near ? hint : pw_table_names(table, "known:", hint, sizeof hint),
                       "the parts of server '%s' are not on file (node-power.csv)", server);
    }
    if (!allocator) allocator = pw_allocator_default();
    pw_node_power *created = pw_alloc_zero(allocator, sizeof *created);
    if (!created) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the power of a node");
    created->allocator = allocator;
    pw_status status = read_model(catalogue, table, (size_t)row, created, error);
    if (status != PW_OK) {
        pw_node_power_destroy(created);
        return status;
    }
    *model = created;
    return PW_OK;
}

void pw_node_power_destroy(pw_node_power *model) {
    if (model) pw_free(model->allocator, model, sizeof *model);
}

void pw_node_power_set_parameters(pw_node_power *model, const pw_node_parameters *parameters) { model->parameters = *parameters; }

const char *pw_node_power_server(const pw_node_power *model) { return model->server; }
const char *pw_node_power_gpu(const pw_node_power *model) { return model->gpu; }
int pw_node_power_gpus(const pw_node_power *model) { return model->gpus; }
double pw_node_power_rated_W(const pw_node_power *model) { return model->rated_W; }
const pw_node_parameters *pw_node_power_parameters(const pw_node_power *model) { return &model->parameters; }
const pw_node_part *pw_node_power_parts(const pw_node_power *model, int *count) {
    *count = model->parts;
    return model->part;
}

double pw_node_power_fans_W(const pw_node_power *model) {
    if (!isnan(model->fans_W)) return model->fans_W;
    double rated_kW = model->rated_W / 1000;
    return 1000 * model->parameters.fan_constant * rated_kW * rated_kW * rated_kW / (model->height * model->height);
}

static double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Of one part of that kind. */
static double part_W(const pw_node_parameters *p, const pw_node_part *part, const pw_node_load *load) {
    double host = load->host < 0 ? p->host_activity : within(load->host, 0, 1);
    double idle = isnan(part->idle_W) ? p->switch_idle * part->active_W : part->idle_W, activity = 0;
    switch (part->kind) {
    case PW_NODE_PART_CPU:
        idle = fmin(idle * p->cpu_idle, part->active_W);
        activity = host;
        break;
    case PW_NODE_PART_MEMORY: activity = host; break;
    case PW_NODE_PART_SWITCH: activity = within(load->scaleup, 0, 1); break;
    case PW_NODE_PART_NIC: activity = within(load->network, 0, 1); break;
    case PW_NODE_PART_PCIE: activity = within(fmax(load->scaleup, load->network), 0, 1); break;
    case PW_NODE_PART_DRIVE: activity = within(load->drives, 0, 1); break;
    default: break;
    }
    return idle + activity * (part->active_W - idle);
}

/* Fans heat the air that they move, so their speed is a fixed point; heat grows by at most 3 x fans / rated < 1 of it per round. */
static double steady_fan_W(const pw_node_power *model, double others_W, double full_W, double *speed) {
    double rest = model->parameters.fan_rest, fans_W = 0;
    for (int round = 0; round < 60; round++) {
        *speed = rest + (1 - rest) * fmin(1, (others_W + fans_W) / model->rated_W);
        double next = full_W * *speed * *speed * *speed;
        if (fabs(next - fans_W) < 1e-9) return next;
        fans_W = next;
    }
    return fans_W;
}

static void flow_from_supplies(const pw_node_power *model, const pw_node_load *load, pw_node_watts *watts) {
    watts->wall_W = watts->output_W;
    if (!model->own_supplies) return;
    watts->flow = pw_supply_flow_at(&model->supplies, load->supplies, watts->output_W);
    if (!watts->flow.active) { /* dark */
        memset(watts->part, 0, sizeof watts->part);
        watts->output_W = watts->wall_W = 0;
        return;
    }
    watts->supply_loss_W = watts->flow.loss_W;
    watts->wall_W = watts->flow.input_W;
}

pw_node_watts pw_node_power_at(const pw_node_power *model, const pw_node_load *load) {
    const pw_node_parameters *p = &model->parameters;
    pw_node_watts watts = {0};
    watts.part[PW_NODE_PART_GPU] = fmax(0, load->gpu_W);
    watts.part[PW_NODE_PART_OPTICS] = fmax(0, load->optics_W);
    double host_W = watts.part[PW_NODE_PART_OPTICS];
    for (int i = 0; i < model->parts; i++) {
        double these_W = model->part[i].count * part_W(p, &model->part[i], load);
        watts.part[model->part[i].kind] += these_W;
        host_W += these_W;
    }
    watts.part[PW_NODE_PART_CONVERSION] = p->board_loss * host_W;
    double others_W = watts.part[PW_NODE_PART_GPU] + (1 + p->board_loss) * host_W, full_W = pw_node_power_fans_W(model);
    if (!(full_W > 0)) watts.fan_speed = 0;
    else if (isnan(load->fan_speed)) watts.part[PW_NODE_PART_FAN] = steady_fan_W(model, others_W, full_W, &watts.fan_speed);
    else {
        double speed = watts.fan_speed = within(load->fan_speed, 0, 1);
        watts.part[PW_NODE_PART_FAN] = full_W * speed * speed * speed;
    }
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) watts.output_W += watts.part[kind];
    flow_from_supplies(model, load, &watts);
    return watts;
}

double pw_node_energy_gap(const pw_node_energy *energy) {
    double sum = energy->supply_loss_J;
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) sum += energy->part_J[kind];
    return energy->wall_J > 0 ? fabs(energy->wall_J - sum) / energy->wall_J : fabs(sum);
}

void pw_node_energy_add(pw_sim *sim, pw_node_energy *energy, const pw_node_watts *watts, double span_s, double times) {
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) energy->part_J[kind] += times * watts->part[kind] * span_s;
    energy->supply_loss_J += times * watts->supply_loss_W * span_s;
    energy->wall_J += times * watts->wall_W * span_s;
    energy->span_s += span_s;
    PW_LAW(sim, pw_node_energy_gap(energy) <= 1e-9, "energy at the wall is that of all parts and losses",
           "%.12g J at the wall, apart from the parts by %.3g of it", energy->wall_J, pw_node_energy_gap(energy));
}

pw_status pw_node_switch_W(const pw_catalogue *catalogue, const char *box, double traffic, double *watts, pw_error *error) {
    const pw_table *links;
    PW_TRY(pw_catalogue_need(catalogue, "links", &links, error));
    int row = pw_table_find_row(links, box);
    if (row < 0) {
        const char *near = pw_table_nearest(links, box);
        char hint[200];
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, near ? hint : NULL, "unknown switch '%s'", box);
    }
    double typical_W = pw_table_number_of(links, (size_t)row, "typical_power"), most_W = pw_table_number_of(links, (size_t)row, "max_power");
    if (isnan(typical_W))
        return pw_fail(error, PW_UNSUPPORTED, pw_table_file(links), pw_table_line(links, (size_t)row), "fill its cell typical_power",
                       "the power of switch '%s' is not known", box);
    *watts = isnan(most_W) ? typical_W : typical_W + within(traffic, 0, 1) * (most_W - typical_W);
    return PW_OK;
}

pw_rack_watts pw_rack_sum(const pw_node_watts *node, int nodes, double switch_W, int switches) {
    pw_rack_watts rack = {.nodes_W = nodes * node->wall_W, .switches_W = switches * switch_W};
    rack.wall_W = rack.nodes_W + rack.switches_W;
    return rack;
}
