/* What all IT draws, by part, at utilization 0 and 1. Nodes are busy or idle, so that power is linear between. */
#ifndef PW_MODELS_FACILITY_IT_H
#define PW_MODELS_FACILITY_IT_H

#include "models/facility/facility.h"

typedef struct facility_it {
    double idle_W[PW_FACILITY_PART_COUNT], peak_W[PW_FACILITY_PART_COUNT];
    bool split_known; /* fans and supplies are told apart */
} facility_it;

/* Adds to W by part; returns the sum. */
double facility_it_at(const facility_it *it, double utilization, double *W);

/* From the watts that a demand gives, or from the cluster's nodes: fills it and what result says of IT. */
pw_status facility_it_make(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_demand_desc *demand,
                           facility_it *it, pw_facility_result *result, pw_error *error);
/* The same IT where liquid takes a share of the heat: the nodes' fans slow down. node_fans: their power over that without liquid; NaN:
 * speed follows the heat that is left, from its rest without heat to what it was, and power the cube of speed. */
pw_status facility_it_with_liquid(const pw_catalogue *catalogue, const facility_it *air, double capture, double node_fans, facility_it *it, pw_error *error);

#endif
