/* Shortest paths of a part by search, for graphs without a rule and for pairs of ports whose own paths are dead. Internal to this
 * folder. */
#ifndef PW_MODELS_FABRIC_TABLE_H
#define PW_MODELS_FABRIC_TABLE_H

#include "models/fabric/network_internal.h"

/* dead[link - first_link]: not to be used (NULL: none). *table: part->table or part->detours; the caller destroys it, also after an
 * error. PW_BAD_INPUT when some port cannot reach another. */
pw_status table_create(network_part *part, const bool *dead, path_table **table, pw_error *error);
void table_destroy(const network_part *part, path_table **table);
/* As of a topology; every hop of a route picks among the neighbours that are one hop nearer, all alike. */
void table_route(const path_table *table, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path);
/* Half of what arrives at a switch goes to each of two such neighbours. PW_NO_MEMORY. */
pw_status table_spread(const network_part *part, const path_table *table, uint32_t port_a, uint32_t port_b, visit_fn *visit,
                       void *object);
uint32_t table_longest(const path_table *table); /* links of the longest route */
/* Largest flow from the ports of the first half of the nodes to those of the others, in bytes/s; NAN: no memory. */
double table_cut(const network_part *part, const path_table *table);

/* detours.c, of a part with dead links (part->dead). Sets part->detours and part->around; detours_destroy frees the latter. */
pw_status detours_create(network_part *part, pw_error *error);
void detours_destroy(network_part *part);
/* The own route where that is alive, else another of its own, else a searched one. */
void detour_route(const network_part *part, uint32_t port_a, uint32_t port_b, uint64_t draw, pw_path *path);
/* The own spread where all of it is alive; else the share of its dead paths goes to those that are left, in proportion; where none is
 * left, all goes over one searched path. PW_NO_MEMORY. */
pw_status detour_spread(const network_part *part, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object);

#endif
