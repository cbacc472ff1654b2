#include "models/workload/power_node.h"

#include <math.h>

pw_status power_node_open(power_node *node, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                          pw_error *error) {
    const pw_cluster_part part = pw_cluster_get_part(cluster, 0);
    pw_error not_there = {0};
    *node = (power_node){.gpus = part.gpus_per_node, .scaleup_Bps = 2 * part.scaleup_Bps * part.gpus_per_node};
    if (!*part.server) return PW_OK;
    pw_status status = pw_node_power_create(allocator, catalogue, part.server, &node->model, &not_there);
    if (status == PW_NOT_FOUND) return PW_OK;
    if (status != PW_OK && error) *error = not_there;
    if (status != PW_OK) return status;
    if (pw_node_power_gpus(node->model) == (int)part.gpus_per_node) return PW_OK;
    power_node_close(node); /* other GPUs than the server's: its parts and supplies are not those */
    return PW_OK;
}

void power_node_close(power_node *node) {
    pw_node_power_destroy(node->model);
    node->model = NULL;
}

static pw_node_load load_of(const power_node *node, double gpu_W, double link_Bps, double fan_speed) {
    double scaleup = node->scaleup_Bps > 0 ? fmin(1, link_Bps * node->gpus / node->scaleup_Bps) : 0;
    return (pw_node_load){.gpu_W = gpu_W * node->gpus, .host = PW_NODE_HOST_FEEDS, .scaleup = scaleup, .fan_speed = fan_speed};
}

pw_node_watts power_node_at(const power_node *node, double gpu_W, double link_Bps, double fan_speed) {
    const pw_node_load load = load_of(node, gpu_W, link_Bps, fan_speed);
    return pw_node_power_at(node->model, &load);
}

double power_node_rest_W(const power_node *node, double gpu_W) {
    pw_node_watts watts = power_node_at(node, gpu_W, 0, 0);
    return watts.output_W - watts.part[PW_NODE_PART_GPU] - watts.part[PW_NODE_PART_FAN];
}
