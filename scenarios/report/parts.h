/* Names of the parts of a fabric: "gpu 11", "nic 3", "leaf 0". Parts are numbered by kind over the whole cluster, node after node.
 */
#ifndef PW_REPORT_PARTS_H
#define PW_REPORT_PARTS_H

#include "models/fabric/fabric.h"

typedef struct pw_part_names {
    const pw_fabric *fabric;
    const uint32_t *number; /* by vertex */
    uint32_t counts[PW_VERTEX_KIND_COUNT];
} pw_part_names;
pw_status pw_part_names_make(const pw_fabric *fabric, pw_arena *arena, pw_part_names *names, pw_error *error);
/* Returns text. */
const char *pw_part_name(const pw_part_names *names, pw_vertex vertex, char *text, size_t size);
const char *pw_part_kind(pw_vertex_kind kind); /* in words: "PCIe switch" */

#endif
