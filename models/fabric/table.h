/* Shortest paths of a part by search, for graphs without a rule and for regular ones with dead cables. Internal to this folder. */
#ifndef PW_MODELS_FABRIC_TABLE_H
#define PW_MODELS_FABRIC_TABLE_H

#include "models/fabric/network_internal.h"

/* dead[link - first_link]: not to be used (NULL: none). Sets part->table. PW_BAD_INPUT when some port cannot reach another. */
pw_status table_create(network_part *part, const bool *dead, pw_error *error);
void table_destroy(network_part *part);
/* As of a topology; every hop of a route picks among the neighbours that are one hop nearer, all alike. */
void table_route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path);
/* Half of what arrives at a switch goes to each of two such neighbours. PW_NO_MEMORY. */
pw_status table_spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object);
uint32_t table_longest(const network_part *part); /* links of the longest route */
/* Largest flow from the ports of the first half of the nodes to those of the others, in bytes/s; NAN: no memory. */
double table_cut(const network_part *part);

#endif
