/* Temperatures of the GPUs of a run, from their watts: what closes the loop of power with heat.
 *
 * A run holds one clock for each group of GPUs, and steps repeat for much longer than a heat sink takes to warm, so temperatures are the
 * steady ones of mean watts, fans included (models/cooling). A node stands for all nodes of a program: each of its places draws what
 * the group of its program, class of dies and seat draws. Seats tell GPUs in front from those behind, where two stand in one air stream.
 */
#ifndef PW_MODELS_WORKLOAD_POWER_HEAT_H
#define PW_MODELS_WORKLOAD_POWER_HEAT_H

#include "models/node/cluster.h"

typedef struct power_heat power_heat;
/* *heat is NULL when nothing was said of cooling. In arena but for the cooling, which power_heat_destroy returns. */
pw_status power_heat_create(const pw_allocator *allocator, const pw_cluster *cluster, pw_arena *arena, power_heat **heat, pw_error *error);
void power_heat_destroy(power_heat *heat);

uint32_t power_heat_seats(const power_heat *heat); /* 1 or 2; NULL: 1 */
uint32_t power_heat_seat(const power_heat *heat, uint32_t place);

/* Die temperatures of a node whose places draw watts[places]; fan_W may be NULL. */
pw_status power_heat_settle(power_heat *heat, const double *watts, double *die_C, double *fan_W, pw_error *error);
const char *power_heat_row(const power_heat *heat); /* of cooling-devices */

#endif
