/* Steady states of a cooling plant. Each loop of water says which supply it needs for its set point; towers run as slowly as the neediest loop allows;
 * chillers take what is left; where even they do not suffice, the loop floats up until it does. Heat given off depends on the chillers' power and
 * that on the towers' water, so a few rounds are made; a compressor is a sixth of its heat, and each round shrinks the rest as much. */
#include "models/cooling/plant.h"

#include <math.h>
#include <string.h>

#include "models/cooling/plant_internal.h"
#include "sim/math.h"

enum { ROUNDS = 12 };
#define EVAPORATION_JPKG 2.45e6
#define LEAST_SHARE 0.02 /* of design flow: what still moves where pumps or fans stand, by convection */

struct pw_plant {
    const pw_allocator *allocator;
    plant_row row;
    bool economiser;
    double design_liquid_W, design_air_W, liquid_supply_C, air_supply_C, available[PW_PLANT_PARTS];
    bool has_tower, has_chiller;
    pw_tower tower;
    pw_chiller chiller;
};

/* A loop of water that must bring heat_W away at a supply of need_C or colder. */
typedef struct loop {
    double heat_W, need_C, rate_WpK; /* rate: flow x heat capacity, so that return = supply + heat / rate */
    bool free, chilled;              /* may use tower water, chillers */
    double free_W, chiller_W;        /* out: heat by way of tower water; by the chillers */
    double excess_K;                 /* out: supply above need */
} loop;

static double cube(double x) { return x * x * x; }

/* ---- towers and free cooling ---- */

/* Tower water that brings all heat of a loop away through the exchanger: heat = e rate (return - tower). */
static double tower_need_C(const pw_plant *plant, const loop *l) {
    double warm = l->need_C + l->heat_W / l->rate_WpK;
    return plant->row.exchanger > 0 ? warm - l->heat_W / (plant->row.exchanger * l->rate_WpK) : l->need_C;
}
static double free_heat_W(const pw_plant *plant, const loop *l, double tower_C) {
    double e = plant->row.exchanger > 0 ? plant->row.exchanger : 1, warm = l->need_C + l->excess_K + l->heat_W / l->rate_WpK;
    double heat = e * l->rate_WpK * (warm - tower_C);
    return heat < 0 ? 0 : heat > l->heat_W ? l->heat_W : heat;
}

static double condenser_C(const pw_plant *plant, double tower_C, const pw_weather_point *weather) {
    return plant->chiller.air_cooled || !plant->has_tower ? weather->dry_C : tower_C;
}

/* Heat and power of the chillers for both loops, colder one first at the common evaporator of the colder need. */
static double chill(const pw_plant *plant, loop *loops, int count, double tower_C, const pw_weather_point *weather, double *power_W) {
    double wanted = 0, evaporator_C = INFINITY;
    *power_W = 0;
    for (int i = 0; i < count; i++) {
        loop *l = &loops[i];
        l->free_W = l->free ? free_heat_W(plant, l, tower_C) : 0;
        l->chiller_W = l->chilled ? l->heat_W - l->free_W : 0;
        if (l->chiller_W <= 1e-12 * l->heat_W) continue;
        wanted += l->chiller_W;
        evaporator_C = fmin(evaporator_C, l->need_C + l->excess_K);
    }
    if (wanted <= 0) return 0;
    double outside_C = condenser_C(plant, tower_C, weather), capacity = plant->available[PW_PLANT_CHILLERS] * pw_chiller_capacity_W(&plant->chiller, evaporator_C, outside_C);
    pw_chiller machines = plant->chiller;
    machines.capacity_W *= plant->available[PW_PLANT_CHILLERS];
    double met = fmin(wanted, capacity);
    *power_W = pw_chiller_power_W(&machines, met, evaporator_C, outside_C);
    return wanted - met;
}

/* Supplies float up by one excess until all heat leaves; loops without a chiller float each for itself. *unmet_W: heat that does not leave
 * whatever the temperature; excesses are then 0, for there is no steady state. Returns the chillers' power. */
static double float_up(const pw_plant *plant, loop *loops, int count, double tower_C, const pw_weather_point *weather, double *unmet_W) {
    double power_W = 0;
    *unmet_W = 0;
    for (int i = 0; i < count; i++) {
        loop *l = &loops[i];
        l->excess_K = l->free && !l->chilled && l->heat_W > 0 ? fmax(tower_C - tower_need_C(plant, l), 0) : 0;
    }
    double unmet = chill(plant, loops, count, tower_C, weather, &power_W), kept_W = power_W;
    if (!(unmet > 1e-9)) return power_W;
    double low = 0, high = 80;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        for (int k = 0; k < count; k++)
            if (loops[k].chilled) loops[k].excess_K = middle;
        if (chill(plant, loops, count, tower_C, weather, &power_W) > 0) low = middle;
        else high = middle;
    }
    if (high == 80) {
        *unmet_W = unmet;
        for (int k = 0; k < count; k++)
            if (loops[k].chilled) loops[k].excess_K = 0;
        return kept_W;
    }
    for (int k = 0; k < count; k++)
        if (loops[k].chilled) loops[k].excess_K = loops[k].chiller_W > 0 ? high : 0;
    chill(plant, loops, count, tower_C, weather, &power_W);
    return power_W;
}

/* ---- the two ways of heat ---- */

/* Racks to CDU to loop. Adds pumps; pump power ends in the water. */
static void liquid_side(const pw_plant *plant, double heat_W, loop *l, pw_plant_state *state, double *rack_rate) {
    const plant_row *row = &plant->row;
    double share = heat_W / plant->design_liquid_W, cdu = fmax(row->cdu_least, fmin(share, 1)) * plant->available[PW_PLANT_CDU_PUMPS];
    double flow = fmax(row->loop_least, fmin(share, 1)) * plant->available[PW_PLANT_LOOP_PUMPS];
    cdu = fmax(cdu, LEAST_SHARE);
    flow = fmax(flow, LEAST_SHARE);
    state->power_W[PW_PLANT_CDU_PUMPS] = row->cdu_pump * plant->design_liquid_W * cube(cdu);
    state->power_W[PW_PLANT_LOOP_PUMPS] = row->loop_pump * plant->design_liquid_W * cube(flow);
    double all = heat_W + state->power_W[PW_PLANT_CDU_PUMPS], rate = plant->design_liquid_W / row->loop_rise_K * flow;
    *rack_rate = plant->design_liquid_W / row->rack_rise_K * cdu;
    double warm = plant->liquid_supply_C + all / *rack_rate;
    l->need_C = warm - all / (row->cdu_effectiveness * fmin(*rack_rate, rate));
    l->heat_W = all + state->power_W[PW_PLANT_LOOP_PUMPS];
    l->rate_WpK = rate;
    l->free = plant->has_tower && (plant->economiser || row->serves != SERVES_BOTH);
    l->chilled = row->serves == SERVES_BOTH;
}

/* Room to air handlers to chilled water; or outside air. Returns the heat that outside air takes; *water_kgps: what it drinks. */
static double air_side(const pw_plant *plant, double heat_W, const pw_weather_point *weather, loop *l, pw_plant_state *state, double *water_kgps) {
    const plant_row *row = &plant->row;
    double share = heat_W / plant->design_air_W, flow = fmax(row->air_least, fmin(share, 1)) * plant->available[PW_PLANT_AIR_FANS];
    flow = fmax(flow, LEAST_SHARE);
    state->power_W[PW_PLANT_AIR_FANS] = row->air_fan * plant->design_air_W * cube(flow);
    double all = heat_W + state->power_W[PW_PLANT_AIR_FANS], air_rate = plant->design_air_W / row->air_rise_K * flow;
    state->air_supply_C = plant->air_supply_C;
    state->air_return_C = plant->air_supply_C + heat_W / air_rate;
    double outside_W = 0;
    *water_kgps = 0;
    if (row->free == FREE_OUTSIDE && plant->economiser) {
        double cooled = weather->dry_C - row->adiabatic * (weather->dry_C - weather->wet_C), fresh = fmin(weather->dry_C, fmax(cooled, plant->air_supply_C));
        double warm = plant->air_supply_C + all / air_rate;
        outside_W = all * fmin(fmax((warm - fmin(fresh, warm)) / (warm - plant->air_supply_C), 0), 1);
        if (outside_W > 0) *water_kgps = air_rate * (weather->dry_C - fresh) / EVAPORATION_JPKG;
    }
    double left = all - outside_W;
    double water = fmax(row->chilled_least, fmin(left / plant->design_air_W, 1)) * plant->available[PW_PLANT_CHILLED_PUMPS];
    water = fmax(water, LEAST_SHARE);
    state->power_W[PW_PLANT_CHILLED_PUMPS] = left > 0 ? row->chilled_pump * plant->design_air_W * cube(water) : 0;
    l->heat_W = left > 0 ? left + state->power_W[PW_PLANT_CHILLED_PUMPS] : 0;
    l->need_C = plant->air_supply_C - row->coil_approach_K * left / plant->design_air_W / flow;
    l->rate_WpK = plant->design_air_W / row->chilled_rise_K * water;
    l->chilled = row->serves != SERVES_NONE;
    l->free = plant->has_tower && (l->chilled ? row->free == FREE_WATER && plant->economiser : true);
    return outside_W;
}

/* ---- a step ---- */

static pw_status check_step(const pw_plant *plant, double liquid_W, double air_W, pw_error *error) {
    if (!(liquid_W >= 0 && air_W >= 0 && isfinite(liquid_W) && isfinite(air_W)))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a cooling plant cannot take %g W of liquid and %g W of air heat", liquid_W, air_W);
    if (liquid_W > 0 && plant->design_liquid_W == 0)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "another plant, or air-cooled nodes", "the cooling plant '%s' takes no heat from liquid", plant->row.name);
    if (air_W > 0 && plant->design_air_W == 0)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "another plant, or liquid for all heat", "the cooling plant '%s' takes no heat from air", plant->row.name);
    return PW_OK;
}

static double target_of(const pw_plant *plant, const loop *loops, int count, const pw_weather_point *weather) {
    const plant_row *row = &plant->row;
    double need = INFINITY;
    for (int i = 0; i < count; i++)
        if (loops[i].free && loops[i].heat_W > 0) need = fmin(need, tower_need_C(plant, &loops[i]));
    double outside_C = row->rejection == REJECT_DRY ? weather->dry_C : weather->wet_C;
    double held = fmax(row->outlet_least_C, outside_C + (isfinite(row->approach_set_K) ? row->approach_set_K : row->approach_K));
    if (!isfinite(need)) return held; /* only condensers */
    return isfinite(row->approach_set_K) ? fmin(need, held) : need;
}

static void reject(const pw_plant *plant, loop *loops, int count, const pw_weather_point *weather, pw_plant_state *state, double *chiller_W, double *unmet_W) {
    const plant_row *row = &plant->row;
    *chiller_W = 0;
    state->tower_C = NAN;
    if (!plant->has_tower) {
        *chiller_W = float_up(plant, loops, count, NAN, weather, unmet_W);
        return;
    }
    double design_W = plant->design_liquid_W + plant->design_air_W, target = target_of(plant, loops, count, weather);
    pw_tower_state tower = {0};
    for (int round = 0; round < ROUNDS; round++) {
        double heat = 0, before = *chiller_W;
        for (int i = 0; i < count; i++) heat += loops[i].heat_W;
        bool condenser = plant->has_chiller && !plant->chiller.air_cooled;
        if (round > 0 && !condenser) { /* air-cooled chillers give off theirs themselves */
            heat = 0;
            for (int i = 0; i < count; i++) heat += loops[i].free_W;
        }
        if (condenser) heat += *chiller_W;
        double flow = fmax(row->condenser_least, fmin(heat / design_W, 1)) * plant->available[PW_PLANT_CONDENSER_PUMPS];
        flow = fmax(flow, LEAST_SHARE);
        state->power_W[PW_PLANT_CONDENSER_PUMPS] = heat > 0 ? row->condenser_pump * design_W * cube(flow) : 0;
        heat += state->power_W[PW_PLANT_CONDENSER_PUMPS];
        tower = pw_tower_run(&plant->tower, heat, flow, target, plant->available[PW_PLANT_FANS], weather);
        *chiller_W = float_up(plant, loops, count, tower.outlet_C, weather, unmet_W);
        if (!plant->has_chiller || (round > 1 && fabs(*chiller_W - before) <= 1e-10 * (heat + 1))) break;
    }
    state->tower_C = tower.outlet_C;
    state->fan_share = tower.fan_share;
    state->power_W[PW_PLANT_FANS] = tower.fan_W;
    state->evaporation_kgps = tower.evaporation_kgps;
    if (row->rejection == REJECT_TOWER && tower.evaporation_kgps > 0) {
        state->drift_kgps = row->drift * plant->tower.water_kgps;
        state->blowdown_kgps = fmax(tower.evaporation_kgps / (row->cycles - 1) - state->drift_kgps, 0);
    }
}

pw_status pw_plant_step(const pw_plant *plant, double liquid_W, double air_W, const pw_weather_point *weather, pw_plant_state *state, pw_error *error) {
    loop loops[2] = {{0}};
    int count = 0, liquid_at = -1, air_at = -1;
    double rack_rate = 0, outside_W = 0, outside_water = 0, chiller_W, unmet_W = 0;
    PW_TRY(check_step(plant, liquid_W, air_W, error));
    memset(state, 0, sizeof *state);
    state->liquid_supply_C = state->liquid_return_C = state->air_supply_C = state->air_return_C = NAN;
    if (liquid_W > 0) liquid_side(plant, liquid_W, &loops[liquid_at = count++], state, &rack_rate);
    if (air_W > 0) {
        outside_W = air_side(plant, air_W, weather, &loops[air_at = count++], state, &outside_water);
        if (plant->row.air_on_liquid_loop && liquid_at >= 0) { /* one water for both: as cold as the needier one wants it */
            loop *liquid = &loops[liquid_at], *air = &loops[air_at];
            liquid->need_C = air->need_C = fmin(liquid->need_C, air->need_C);
        }
    }
    reject(plant, loops, count, weather, state, &chiller_W, &unmet_W);
    state->power_W[PW_PLANT_CHILLERS] = chiller_W;
    double heat = outside_W, free_W = outside_W;
    for (int i = 0; i < count; i++) {
        heat += loops[i].heat_W;
        free_W += loops[i].heat_W - loops[i].chiller_W;
        if (unmet_W > 0 && loops[i].chilled) loops[i].excess_K = INFINITY;
        state->excess_K = fmax(state->excess_K, loops[i].excess_K);
    }
    state->free_share = heat > 0 ? free_W / heat : 1;
    if (liquid_at >= 0) {
        state->liquid_supply_C = plant->liquid_supply_C + loops[liquid_at].excess_K;
        state->liquid_return_C = state->liquid_supply_C + liquid_W / rack_rate;
    }
    if (air_at >= 0) {
        state->air_supply_C += loops[air_at].excess_K;
        state->air_return_C += loops[air_at].excess_K;
    }
    state->evaporation_kgps += outside_water;
    state->water_kgps = state->evaporation_kgps + state->blowdown_kgps + state->drift_kgps;
    for (int part = 0; part < PW_PLANT_PARTS; part++) state->total_W += state->power_W[part];
    state->rejected_W = heat - unmet_W + chiller_W + state->power_W[PW_PLANT_CONDENSER_PUMPS]; /* tower fans stand outside */
    return PW_OK;
}

/* ---- life ---- */

static pw_status build(pw_plant *plant, const pw_catalogue *catalogue, const pw_plant_desc *desc, double liquid_W, double air_W, pw_error *error) {
    const plant_row *row = &plant->row;
    if (!(liquid_W >= 0 && air_W >= 0 && liquid_W + air_W > 0 && isfinite(liquid_W + air_W)))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a cooling plant for %g W of liquid and %g W of air heat", liquid_W, air_W);
    PW_TRY(plant_find_row(catalogue, desc->type, &plant->row, error));
    if (isfinite(desc->design_W)) {
        double scale = desc->design_W / (liquid_W + air_W);
        liquid_W *= scale;
        air_W *= scale;
    }
    plant->design_liquid_W = liquid_W;
    plant->design_air_W = air_W;
    if (liquid_W > 0 && !row->takes_liquid)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "another plant, or air-cooled nodes", "the cooling plant '%s' takes no heat from liquid", row->name);
    if (air_W > 0 && row->air == AIR_NONE)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "another plant, or liquid for all heat", "the cooling plant '%s' takes no heat from air", row->name);
    if (isfinite(desc->liquid_supply_C) && !row->takes_liquid)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "plant.liquid_supply: '%s' has no liquid for racks", row->name);
    if (isfinite(desc->air_supply_C) && row->air == AIR_NONE)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "plant.air_supply: '%s' has no air for racks", row->name);
    if (isfinite(desc->liquid_supply_C) && liquid_W == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say capture, or leave it out", "plant.liquid_supply: no heat goes to liquid here");
    if (isfinite(desc->air_supply_C) && air_W == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say capture, or leave it out", "plant.air_supply: no heat goes to air here");
    if (!desc->economiser && row->free == FREE_NONE && row->serves != SERVES_BOTH)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "plant.economiser: '%s' has none to switch off", row->name);
    plant->economiser = desc->economiser;
    plant->liquid_supply_C = isfinite(desc->liquid_supply_C) ? desc->liquid_supply_C : row->liquid_supply_C;
    plant->air_supply_C = isfinite(desc->air_supply_C) ? desc->air_supply_C : row->air_supply_C;
    plant->has_chiller = *row->chiller != '\0';
    plant->has_tower = row->rejection != REJECT_NONE;
    for (int part = 0; part < PW_PLANT_PARTS; part++) plant->available[part] = 1;
    double served = row->serves == SERVES_BOTH ? liquid_W + air_W : air_W;
    if (plant->has_chiller) PW_TRY(pw_chiller_find(catalogue, row->chiller, fmax(row->chiller_size * served, 1e-9), &plant->chiller, error));
    if (plant->has_tower) {
        double heat = liquid_W + air_W + (plant->has_chiller && !plant->chiller.air_cooled ? row->chiller_size * served / plant->chiller.cop : 0);
        PW_TRY(pw_tower_design(row->rejection == REJECT_DRY, heat, row->outside_C, row->approach_K, row->range_K, row->air_per_water, row->fan * heat, row->natural,
                               &plant->tower, error));
    }
    return PW_OK;
}

pw_status pw_plant_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_plant_desc *desc, double design_liquid_W,
                          double design_air_W, pw_plant **plant, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    pw_plant *made = pw_alloc_zero(allocator, sizeof *made);
    *plant = NULL;
    if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a cooling plant");
    made->allocator = allocator;
    pw_status status = build(made, catalogue, desc, design_liquid_W, design_air_W, error);
    if (status != PW_OK) pw_free(allocator, made, sizeof *made);
    else *plant = made;
    return status;
}

void pw_plant_destroy(pw_plant *plant) {
    if (plant) pw_free(plant->allocator, plant, sizeof *plant);
}

pw_plant_facts pw_plant_get_facts(const pw_plant *plant) {
    const plant_row *row = &plant->row;
    return (pw_plant_facts){.type = row->name, .text = row->text, .provenance = row->provenance, .source = row->source, .chiller = row->chiller,
                            .takes_liquid = row->takes_liquid, .takes_air = row->air != AIR_NONE,
                            .drinks = row->rejection == REJECT_TOWER || (row->free == FREE_OUTSIDE && row->adiabatic > 0),
                            .design_liquid_W = plant->design_liquid_W, .design_air_W = plant->design_air_W,
                            .liquid_supply_C = row->takes_liquid ? plant->liquid_supply_C : NAN, .air_supply_C = row->air != AIR_NONE ? plant->air_supply_C : NAN,
                            .mass_JpK = row->mass_s * (plant->design_liquid_W + plant->design_air_W)};
}

void pw_plant_set_available(pw_plant *plant, pw_plant_part part, double share) { plant->available[part] = share < 0 ? 0 : share > 1 ? 1 : share; }
