/* Names of the parts of a cluster: "gpu 11", "nic 3", "leaf 0", "router 5". Parts are numbered by kind over the whole cluster, node
 * after node, switches by tier; a switch that the user named has its name.
 */
#ifndef PW_REPORT_PARTS_H
#define PW_REPORT_PARTS_H

#include "models/node/cluster.h"

typedef struct pw_part_names {
    const pw_cluster *cluster;
    const pw_fabric *fabric; /* of it */
    const uint32_t *number, *switch_of; /* by vertex; of the network's switches one more than their index there, else 0 */
    pw_network_facts network;
    uint32_t counts[PW_VERTEX_KIND_COUNT];
} pw_part_names;
pw_status pw_part_names_make(const pw_cluster *cluster, pw_arena *arena, pw_part_names *names, pw_error *error);
/* Returns text. */
const char *pw_part_name(const pw_part_names *names, pw_vertex vertex, char *text, size_t size);
const char *pw_part_kind(pw_vertex_kind kind); /* in words: "PCIe switch" */

#endif
