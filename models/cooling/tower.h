/* What gives heat to the outside: evaporative cooling towers and dry coolers, with fans of variable speed.
 *
 * Tower: Merkel's theory by effectiveness and NTU (EnergyPlus Engineering Reference, CoolingTower:VariableSpeed:Merkel): air is taken as a fluid
 * whose temperature is its wet bulb and whose specific heat is the slope of saturated enthalpy. The conductance grows with flows as fills are
 * measured to, KaV ~ air^0.6 water^0.4, and is set so that the design point holds exactly. Fan power goes with the cube of air flow.
 * Dry cooler: counterflow effectiveness between water and dry air, conductance ~ air^0.6.
 */
#ifndef PW_MODELS_COOLING_TOWER_H
#define PW_MODELS_COOLING_TOWER_H

#include <stdbool.h>

#include "models/cooling/weather.h"

/* Design: heat_W leaves water that comes out approach_K above the design wet bulb (dry: dry bulb) and went in range_K warmer. */
typedef struct pw_tower {
    bool dry;
    double water_kgps, air_kgps, conductance_WpK, fan_W; /* at design; air: dry air */
    double natural;                                      /* share of the air flow that moves with fans off */
} pw_tower;

/* PW_BAD_INPUT: no tower can do that (outlet at or below the wet bulb, or too little air). */
pw_status pw_tower_design(bool dry, double heat_W, double air_C, double approach_K, double range_K, double air_per_water, double fan_W, double natural,
                          pw_tower *tower, pw_error *error);

/* Temperature of the water that leaves, with heat_W to give off, a share of the design water flow and of the fans' speed. */
double pw_tower_outlet_C(const pw_tower *tower, double heat_W, double water_share, double fan_share, const pw_weather_point *weather);

typedef struct pw_tower_state {
    double outlet_C, fan_share, fan_W;
    double evaporation_kgps; /* 0: dry */
} pw_tower_state;
/* The slowest fans at most_share or below whose water leaves at target_C; warmer when they cannot; fans off and part of the water past the fill when
 * that suffices. */
pw_tower_state pw_tower_run(const pw_tower *tower, double heat_W, double water_share, double target_C, double most_share, const pw_weather_point *weather);

#endif
