/* A demand as steps over time. */
#ifndef PW_MODELS_FACILITY_DEMAND_H
#define PW_MODELS_FACILITY_DEMAND_H

#include "models/facility/facility.h"
#include "models/facility/steps.h"

/* Utilization over [0, end). path: of desc->file, or NULL. idle_W, peak_W: of all IT, for files that hold watts. */
pw_status facility_demand(const pw_demand_desc *desc, int new_year, pw_time end, const char *path, double idle_W, double peak_W,
                          const pw_allocator *allocator, pw_arena *arena, facility_steps *steps, pw_error *error);

#endif
