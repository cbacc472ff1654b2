/* The cooling plant of a site: heat of a room in, electric power, water and supply temperatures out.
 *
 * A row of cooling-plants.csv says what the plant is made of; figures are per W of design heat, so that any size can be built.
 * Heat comes in two kinds: liquid_W reaches the plant through CDUs (cold plates, immersion), air_W through air handlers or rear doors.
 *
 *   racks - CDU - loop - [heat exchanger] - towers or dry coolers     liquid; set point reached or missed with the weather
 *   racks - air handlers - chilled loop - [economiser] - chiller - towers, dry coolers or outside air
 *
 * A step is a steady state: heats and weather hold for as long as the caller says. First as much heat as the weather allows leaves without a chiller
 * (free, part or none), chillers do the rest, and what cannot be held appears as a supply above its set point. Heat of pumps and
 * compressors is given off as well: rejected_W = liquid_W + air_W + power of all that warms water or air (a law, to 1e-9).
 */
#ifndef PW_MODELS_COOLING_PLANT_H
#define PW_MODELS_COOLING_PLANT_H

#include "models/cooling/weather.h"

/* o.plant { ... }: a row, and what differs from it. NaN: the row's. */
typedef struct pw_plant_desc {
    const char *type;        /* a row of cooling-plants */
    double liquid_supply_C;  /* set point of the liquid that goes to racks */
    double air_supply_C;     /* set point of the air that goes to racks */
    double design_W;         /* heat it is built for; NaN: as pw_plant_create is told */
    bool economiser;         /* false: chillers do all that they can do */
} pw_plant_desc;
extern const pw_kind pw_plant_kind;

typedef enum pw_plant_part {
    PW_PLANT_CDU_PUMPS,       /* in the racks' loop; facility power here, though some count them as IT */
    PW_PLANT_LOOP_PUMPS,      /* water between CDUs and heat rejection */
    PW_PLANT_CHILLED_PUMPS,   /* water between air handlers and chillers */
    PW_PLANT_CONDENSER_PUMPS, /* tower water, dry cooler fluid */
    PW_PLANT_FANS,            /* of towers or dry coolers */
    PW_PLANT_CHILLERS,        /* with the fans of air-cooled condensers */
    PW_PLANT_AIR_FANS,        /* of air handlers and rear doors */
    PW_PLANT_PARTS
} pw_plant_part;
extern const char *const pw_plant_part_names[]; /* "cdu_pumps", ..., NULL */

typedef struct pw_plant pw_plant;
/* design_liquid_W, design_air_W: the most heat of each kind, at least 0, not both 0. PW_NOT_FOUND: no such row; PW_UNSUPPORTED: the row has no way for one of
 * the heats. The caller destroys it; the catalogue must outlive it. */
pw_status pw_plant_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_plant_desc *desc, double design_liquid_W,
                          double design_air_W, pw_plant **plant, pw_error *error);
void pw_plant_destroy(pw_plant *plant); /* NULL is fine */

typedef struct pw_plant_facts {
    const char *type, *text, *provenance, *source;
    const char *chiller; /* "" : none */
    bool takes_liquid, takes_air, drinks; /* drinks: it evaporates water */
    double design_liquid_W, design_air_W, liquid_supply_C, air_supply_C;
    double mass_JpK;     /* heat capacity of the water in the loops: a plant that stops warms by heat / mass_JpK per s */
} pw_plant_facts;
pw_plant_facts pw_plant_get_facts(const pw_plant *plant);

/* Share of a part that works, 0 .. 1: pumps (of their flow), fans (of their speed), chillers (of their capacity). */
void pw_plant_set_available(pw_plant *plant, pw_plant_part part, double share);

typedef struct pw_plant_state {
    double power_W[PW_PLANT_PARTS], total_W;
    double liquid_supply_C, liquid_return_C; /* at the racks; NaN: no liquid */
    double air_supply_C, air_return_C;       /* NaN: no air */
    double excess_K;                         /* the most by which a supply is above its set point; 0: held; infinity: no steady state, the
                                                water warms by (heat - rejected) / mass_JpK per s */
    double tower_C;                          /* water as it leaves towers or dry coolers; NaN: none */
    double fan_share;                        /* speed of their fans */
    double free_share;                       /* of the heat that leaves without a chiller */
    double rejected_W;                       /* to the outside */
    double evaporation_kgps, blowdown_kgps, drift_kgps, water_kgps; /* water: their sum, as it must be made up */
} pw_plant_state;
/* Heats at least 0; a heat that the plant has no way for is PW_UNSUPPORTED. Some microseconds. */
pw_status pw_plant_step(const pw_plant *plant, double liquid_W, double air_W, const pw_weather_point *weather, pw_plant_state *state, pw_error *error);

#endif
