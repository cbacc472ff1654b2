/* What limits a row: the link that is busiest for its bandwidth, the protocol, or latency. The loads are those of the step graph
 * that the run used; of twins the first stands for all. */
#include <math.h>
#include <string.h>

#include "scenarios/sweep/sweep.h"

const char *const pw_sweep_limit_names[] = {"latency", "protocol", "link", NULL};

/* A link counts as full when it is busy for this share of the time in which bytes flow; the rest is rounding to ticks. */
static const double full = 0.999;

static void add_load(void *object, pw_link link, double bytes) {
    double *loads = object;
    loads[link] += bytes;
}

pw_status pw_sweep_loads(const pw_sweep_config *config, double bytes, double *loads, pw_error *error) {
    uint32_t size = config->groups.size;
    memset(loads, 0, pw_fabric_links(pw_cluster_fabric(config->cluster)) * sizeof *loads);
    for (uint32_t g = 0; g < config->groups.count; g++) {
        const uint32_t *gpus = config->groups.gpus + (size_t)g * size;
        pw_group_shape shape;
        pw_collective_cost cost;
        PW_TRY(pw_collective_shape(config->collectives, gpus, size, &shape, error));
        PW_TRY(pw_collective_group_cost(config->collectives, config->kind, config->algorithm, gpus, &shape, bytes, &cost, error));
        PW_TRY(pw_collective_loads(config->collectives, config->kind, cost.algorithm, gpus, &shape, add_load, loads, error));
    }
    return PW_OK;
}

/* The link that needs longest for its load. */
static pw_link busiest(const pw_sweep_config *config, const double *loads) {
    const pw_fabric *fabric = pw_cluster_fabric(config->cluster);
    uint32_t links = pw_fabric_links(fabric);
    pw_link found = PW_NONE;
    double longest = 0;
    for (pw_link link = 0; link < links; link++) {
        double needed = loads[link] > 0 ? loads[link] / pw_fabric_link(fabric, link)->bandwidth_Bps : 0;
        if (needed <= longest) continue;
        longest = needed;
        found = link;
    }
    return found;
}

static uint32_t twins_of(const pw_sweep_config *config, pw_link link) {
    const pw_network *network = pw_cluster_network(config->cluster);
    pw_link_kind kind = pw_fabric_link(pw_cluster_fabric(config->cluster), link)->kind;
    return network && (kind == PW_LINK_TRUNK || kind == PW_LINK_NETWORK) ? pw_network_twins(network, link).count : 1;
}

pw_status pw_sweep_find_limits(const pw_sweep_config *config, pw_arena *arena, pw_sweep_row *rows, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(config->cluster);
    double *loads = pw_arena_alloc(arena, (pw_fabric_links(fabric) + (size_t)1) * sizeof *loads);
    if (!loads) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the loads of a sweep");
    for (uint32_t i = 0; i < config->size_count; i++) {
        pw_sweep_row *row = &rows[i];
        double bytes = (double)row->bytes, flowing_s = row->slowest_s - row->cost.alpha_s;
        if (i > 0 && rows[i - 1].cost.algorithm == row->cost.algorithm) {
            row->link = rows[i - 1].link; /* loads are in proportion to S; groups of one size choose alike */
        } else {
            PW_TRY(pw_sweep_loads(config, bytes, loads, error));
            row->link = busiest(config, loads);
        }
        row->limit = row->cost.alpha_s > row->slowest_s / 2 ? PW_SWEEP_LATENCY : PW_SWEEP_PROTOCOL;
        if (row->link == PW_NONE) continue;
        double needed_s = loads[row->link] * bytes / pw_fabric_link(fabric, row->link)->bandwidth_Bps;
        row->alike = twins_of(config, row->link);
        row->busy = row->slowest_s > 0 ? fmin(1, needed_s / row->slowest_s) : 0;
        if (row->limit != PW_SWEEP_LATENCY && needed_s >= full * flowing_s) row->limit = PW_SWEEP_LINK;
    }
    return PW_OK;
}
