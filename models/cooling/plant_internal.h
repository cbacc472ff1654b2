/* What the files of plants share. For this folder alone. */
#ifndef PW_MODELS_COOLING_PLANT_INTERNAL_H
#define PW_MODELS_COOLING_PLANT_INTERNAL_H

#include "models/cooling/chiller.h"
#include "models/cooling/plant.h"
#include "models/cooling/tower.h"

typedef enum plant_rejection { REJECT_NONE, REJECT_TOWER, REJECT_DRY } plant_rejection;
typedef enum plant_air { AIR_NONE, AIR_HANDLER, AIR_REAR_DOOR } plant_air;
typedef enum plant_free { FREE_NONE, FREE_WATER, FREE_OUTSIDE } plant_free;
typedef enum plant_serves { SERVES_NONE, SERVES_AIR, SERVES_BOTH } plant_serves;

/* A row of cooling-plants: powers in W per W of design heat, shares, K and degrees. */
typedef struct plant_row {
    const char *name, *text, *provenance, *source, *chiller;
    bool takes_liquid;
    double liquid_supply_C, rack_rise_K, cdu_effectiveness, cdu_pump, cdu_least;
    double loop_rise_K, loop_pump, loop_least;
    plant_rejection rejection;
    double exchanger, condenser_pump, condenser_least;
    double outside_C, approach_K, range_K, air_per_water, fan, natural;
    double outlet_least_C, approach_set_K; /* tower water is held at the larger of these and what free cooling needs; NaN approach: at need */
    double cycles, drift;
    plant_air air;
    bool air_on_liquid_loop;
    double air_supply_C, air_rise_K, air_fan, air_least, coil_approach_K, chilled_rise_K, chilled_pump, chilled_least;
    plant_free free;
    double adiabatic;
    plant_serves serves;
    double chiller_size, mass_s;
} plant_row;

pw_status plant_find_row(const pw_catalogue *catalogue, const char *name, plant_row *row, pw_error *error);

#endif
