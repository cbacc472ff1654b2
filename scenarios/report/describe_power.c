/* The part of `describe` about power: what a node draws part by part, and what all nodes and switches come to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/gpu_power.h"
#include "models/power/node_power.h"
#include "scenarios/report/describe_internal.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/wiring.h"

enum { IDLE, GPUS, ALL, COLUMNS };
static const char *const column_names[COLUMNS] = {"idle", "gpus_at_limit", "all_at_most"};

typedef struct budget {
    bool known; /* the parts of its server are on file */
    char why[200];
    double rated_W, optics_W, fan_speed; /* fan_speed NaN: it follows heat */
    const char *optics;
    pw_node_watts watts[COLUMNS];
} budget;

/* Transceivers at the node's ends of its network cables, of the medium that reaches farthest. */
static void add_optics(const pw_describe_report *r, const pw_cluster_part *part, budget *to) {
    pw_cluster_facts facts = pw_cluster_get_facts(r->cluster);
    pw_cable_choice choices[PW_CABLE_CHOICES];
    double reach_m = -1;
    if (!facts.has_network || !part->nics_per_node || !(facts.nic_line_Bps > 0)) return;
    uint32_t count = pw_wiring_cables(r->catalogue, facts.nic_line_Bps, choices);
    for (uint32_t i = 0; i < count; i++) {
        if (!(choices[i].reach_m > reach_m) || isnan(choices[i].end_power_W)) continue;
        reach_m = choices[i].reach_m;
        to->optics = choices[i].name;
        to->optics_W = part->nics_per_node * choices[i].end_power_W;
    }
}

/* With cooling said, fans turn as that has them; else as their heat asks for. */
static double fan_speed_at(const pw_cluster *cluster, uint32_t index, const pw_cluster_part *part, double gpu_W) {
    pw_cooling *cooling;
    double speed = NAN;
    if (!pw_cluster_cooling(cluster) || pw_cluster_make_cooling(cluster, index, 1, NULL, &cooling, NULL) != PW_OK) return NAN;
    for (uint32_t gpu = 0; gpu < part->gpus_per_node; gpu++) pw_cooling_set_gpu(cooling, gpu, gpu_W / part->gpus_per_node, NAN);
    if (pw_cooling_settle(cooling, 0, 1, NULL) == PW_OK) speed = pw_cooling_node(cooling, 0).fan_share;
    pw_cooling_destroy(cooling);
    return speed;
}

/* NaN: not known. */
static double gpu_idle_W(const pw_catalogue *catalogue, const pw_device *device) {
    pw_gpu_power *model;
    if (!isnan(device->idle_W) || pw_gpu_power_create(NULL, catalogue, device->name, &model, NULL) != PW_OK) return device->idle_W;
    double idle_W = pw_gpu_power_figures_of(model)->idle_W;
    pw_gpu_power_destroy(model);
    return idle_W;
}

static budget budget_of(const pw_describe_report *r, uint32_t index) {
    pw_cluster_part part = pw_cluster_get_part(r->cluster, index);
    budget b = {.fan_speed = NAN};
    pw_node_power *model;
    pw_error error = {0};
    if (!*part.server) {
        snprintf(b.why, sizeof b.why, "a node of its own has no list of parts");
        return b;
    }
    if (pw_node_power_create(NULL, r->catalogue, part.server, &model, &error) != PW_OK) {
        snprintf(b.why, sizeof b.why, "%.190s", error.what);
        return b;
    }
    double cap_W = r->cluster_desc->power ? r->cluster_desc->power->cap_W : NAN;
    double gpu_W = part.gpus_per_node * (cap_W < part.device->tdp_W ? cap_W : part.device->tdp_W);
    double idle_W = gpu_idle_W(r->catalogue, part.device);
    b.known = isfinite(gpu_W) && isfinite(idle_W);
    if (!b.known) snprintf(b.why, sizeof b.why, "the rated or idle power of %.100s is not known", part.device->name);
    b.rated_W = pw_node_power_rated_W(model);
    add_optics(r, &part, &b);
    for (int column = 0; b.known && column < COLUMNS; column++) {
        pw_node_load load = {.gpu_W = gpu_W, .host = PW_NODE_HOST_FEEDS, .optics_W = b.optics_W};
        if (column == IDLE) load.gpu_W = part.gpus_per_node * idle_W, load.host = 0;
        if (column == ALL) load.host = load.scaleup = load.network = load.drives = 1;
        load.fan_speed = column == ALL ? 1 : fan_speed_at(r->cluster, index, &part, load.gpu_W);
        b.watts[column] = pw_node_power_at(model, &load);
    }
    pw_node_power_destroy(model);
    return b;
}

/* The network's switch boxes, as the wiring of the first part's server names them; 0 when their power is not known. */
static double switches_W(const pw_describe_report *r, double *count) {
    pw_cluster_facts facts = pw_cluster_get_facts(r->cluster);
    const pw_table *nodes = pw_catalogue_table(r->catalogue, "nodes");
    double each_W;
    *count = 0;
    int row = nodes && facts.has_network ? pw_table_find_row(nodes, facts.server) : -1;
    if (row < 0) return 0;
    const char *box = pw_table_text_of(nodes, (size_t)row, "network_switch");
    if (!*box || pw_node_switch_W(r->catalogue, box, 0, &each_W, NULL) != PW_OK) return 0;
    for (uint32_t t = 0; t < facts.network.tier_count; t++) *count += facts.network.tier[t].switches;
    return *count * each_W;
}

static void put_row(pw_file *file, const char *name, const double *values) {
    char text[32];
    pw_file_print(file, "  %-48s", name);
    for (int column = 0; column < COLUMNS; column++) pw_file_print(file, " %14s", pw_layout_count((int64_t)(values[column] + 0.5), text, sizeof text));
    pw_file_text(file, "\n");
}

static void put_budget(const budget *b, const pw_cluster_part *part, pw_file *file) {
    double row[COLUMNS];
    pw_file_print(file, "\n  %-48s %14s %14s %14s\n", "power of a node, W", "idle", "GPUs at limit", "all at most");
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) {
        double sum = 0;
        for (int column = 0; column < COLUMNS; column++) sum += row[column] = b->watts[column].part[kind];
        if (sum > 0) put_row(file, pw_node_part_texts[kind], row);
    }
    for (int column = 0; column < COLUMNS; column++) row[column] = b->watts[column].supply_loss_W;
    if (row[ALL] > 0) put_row(file, "loss of the supplies", row);
    bool has_supplies = row[ALL] > 0; /* else they stand in the rack */
    for (int column = 0; column < COLUMNS; column++) row[column] = b->watts[column].wall_W;
    put_row(file, has_supplies ? "at the wall" : "from the rack's supplies", row);
    char rated[32];
    pw_file_print(file, "  the maker of %s says %s W at most", part->server, pw_layout_count((int64_t)(b->rated_W + 0.5), rated, sizeof rated));
    if (b->optics) pw_file_print(file, "; transceivers of %.60s", b->optics);
    pw_file_text(file, "\n");
}

void describe_power_text(const pw_describe_report *r, pw_file *file) {
    double total[COLUMNS] = {0}, boxes, switch_W = switches_W(r, &boxes);
    bool all_known = true;
    char text[64], count[32];
    for (uint32_t index = 0; index < pw_cluster_parts(r->cluster); index++) {
        pw_cluster_part part = pw_cluster_get_part(r->cluster, index);
        budget b = budget_of(r, index);
        all_known = all_known && b.known;
        if (b.known) put_budget(&b, &part, file);
        else pw_file_print(file, "\n  power of a node is not known: %s\n", b.why);
        for (int column = 0; column < COLUMNS; column++) total[column] += part.nodes * b.watts[column].wall_W;
    }
    if (!all_known) return;
    pw_file_print(file, "  all nodes, GPUs at limit: %s", pw_unit_format(total[GPUS], PW_UNIT_WATTS, text, sizeof text));
    if (switch_W > 0)
        pw_file_print(file, "; %s network switches: %s", pw_layout_count((int64_t)boxes, count, sizeof count),
                      pw_unit_format(switch_W, PW_UNIT_WATTS, text, sizeof text));
    pw_file_text(file, "\n");
}

void describe_power_json(const pw_describe_report *r, pw_json *json) {
    double boxes, switch_W = switches_W(r, &boxes);
    pw_json_array(json, "node_power");
    for (uint32_t index = 0; index < pw_cluster_parts(r->cluster); index++) {
        pw_cluster_part part = pw_cluster_get_part(r->cluster, index);
        budget b = budget_of(r, index);
        pw_json_object(json, NULL);
        pw_json_integer(json, "part", index);
        pw_json_text(json, "server", part.server);
        if (!b.known) pw_json_text(json, "why_unknown", b.why);
        if (b.known) pw_json_number(json, "rated_W", b.rated_W);
        for (int column = 0; b.known && column < COLUMNS; column++) {
            pw_json_object(json, column_names[column]);
            for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) {
                char name[48];
                snprintf(name, sizeof name, "%s_W", pw_node_part_names[kind]);
                pw_json_number(json, name, b.watts[column].part[kind]);
            }
            pw_json_number(json, "supply_loss_W", b.watts[column].supply_loss_W);
            pw_json_number(json, "wall_W", b.watts[column].wall_W);
            pw_json_number(json, "fan_speed", b.watts[column].fan_speed);
            pw_json_end(json);
        }
        pw_json_end(json);
    }
    pw_json_end(json);
    if (switch_W > 0) pw_json_number(json, "network_switches_W", switch_W);
}
