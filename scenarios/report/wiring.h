/* What a cluster's wiring comes to: figures that need its graph, for `describe` and drawings.
 */
#ifndef PW_REPORT_WIRING_H
#define PW_REPORT_WIRING_H

#include "models/node/cluster.h"

/* The longest way between two GPUs: from the first GPU and from the last one to every other (of more than 2^16, to that many spread
 * evenly), the first of equal paths. */
typedef struct pw_longest_route {
    uint32_t links;     /* on the way with most links */
    double latency_s;   /* of the way with the longest latency */
    uint32_t unreached; /* pairs without a way */
} pw_longest_route;
pw_longest_route pw_wiring_longest_route(const pw_cluster *cluster);

/* Payload of NVLink, one direction, between two halves of a scale-up domain of a part: through an NVSwitch half of the GPUs' rates, of a
 * mesh the worst way to halve it. 0: none; NaN: a mesh of more than 16 GPUs. */
double pw_wiring_scaleup_bisection_Bps(const pw_cluster *cluster, uint32_t part);

/* What joins two ports: a row of the table cables, of the slowest rate that is enough. */
typedef struct pw_cable_choice {
    const char *name, *medium, *provenance, *source;
    double reach_m, end_power_W, price_USD, low_USD, high_USD; /* price of a cable with what sits at both ends; NaN: not known */
} pw_cable_choice;
enum { PW_CABLE_CHOICES = 8 };
/* One for each medium that has a row; returns how many. */
uint32_t pw_wiring_cables(const pw_catalogue *catalogue, double line_Bps, pw_cable_choice *choices);

#endif
