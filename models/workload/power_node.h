/* What the nodes of a run draw at the wall: each GPU stands for a node of its like, whose parts follow models/power/node_power.h. Internal to
 * power_loop. */
#ifndef PW_MODELS_WORKLOAD_POWER_NODE_H
#define PW_MODELS_WORKLOAD_POWER_NODE_H

#include "models/node/cluster.h"
#include "models/power/node_power.h"

typedef struct power_node {
    pw_node_power *model;   /* NULL: the server is not on file, nothing is said */
    uint32_t gpus;
    double scaleup_Bps;     /* in and out of all GPUs of a node */
    pw_node_energy energy;  /* of all nodes */
} power_node;

pw_status power_node_open(power_node *node, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                          pw_error *error);
void power_node_close(power_node *node);
/* A node of GPUs that each draw gpu_W and move link_Bps; fan_speed NaN: by heat. */
pw_node_watts power_node_at(const power_node *node, double gpu_W, double link_Bps, double fan_speed);
/* Watts of what is neither GPU nor fan. */
double power_node_rest_W(const power_node *node, double gpu_W);

#endif
