/* A chiller: capacity and power from load and two temperatures, by the curves of EnergyPlus.
 *
 * Rows of chillers.csv have one of three forms:
 *   ratio   Chiller:Electric: with x = (condenser in - reference) / rise - (evaporator out - reference), capacity ratio a(x), power ratio
 *           b(capacity ratio), part-load share c(load / capacity); all three quadratic
 *   eir     Chiller:Electric:EIR: capacity and energy input ratio biquadratic in (evaporator out, condenser in), part-load share quadratic
 *   carnot  a fixed share of the Carnot efficiency between the evaporator's and the condenser's refrigerant (water temperatures -/+ pinch)
 * Source: EnergyPlus Engineering Reference, chapter Chillers; figures and their sources are in the rows. Curves hold inside the ranges of the
 * row; temperatures outside are moved to the nearest end, as EnergyPlus does. Below the least part load the machine cycles: power falls in
 * proportion to load.
 */
#ifndef PW_MODELS_COOLING_CHILLER_H
#define PW_MODELS_COOLING_CHILLER_H

#include "models/catalogue/catalogue.h"

typedef enum pw_chiller_form { PW_CHILLER_RATIO, PW_CHILLER_EIR, PW_CHILLER_CARNOT } pw_chiller_form;

typedef struct pw_chiller {
    const char *name;
    pw_chiller_form form;
    bool air_cooled;             /* the condenser is in outside air, its fans are in the power */
    double capacity_W, cop;      /* at reference */
    double evaporator_C, condenser_C, rise_KpK;
    double capacity[6], input[6], part[3];
    double least, most;          /* part load */
    double evaporator_least_C, evaporator_most_C, condenser_least_C, condenser_most_C;
    double pinch_K;
} pw_chiller;

/* capacity_W: at reference conditions, of all machines of the plant together. Texts live as long as the catalogue. */
pw_status pw_chiller_find(const pw_catalogue *catalogue, const char *name, double capacity_W, pw_chiller *chiller, pw_error *error);

/* evaporator_C: chilled water as it leaves; condenser_C: water or outside air as it enters the condenser. */
double pw_chiller_capacity_W(const pw_chiller *chiller, double evaporator_C, double condenser_C);
/* Power for a load of at most the capacity (more is taken as that). 0 without load. */
double pw_chiller_power_W(const pw_chiller *chiller, double load_W, double evaporator_C, double condenser_C);

#endif
