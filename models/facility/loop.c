/* The plant behind a loop of water with a heat capacity. */
#include <math.h>
#include <string.h>

#include "models/cooling/cooling.h"
#include "models/facility/site.h"
#include "sim/math.h"

/* Power is a smooth curve of heat. CUT_K: of water temperature between two looks while it settles (a rise is some 10 K, so power is taken
 * at the mean of a change of some per cent). SAME: heats so close have one state. */
static const double CUT_K = 0.3, SAME = 2e-3;
/* Air in which a plant that is large enough takes all heat. */
static const double MILD_C = 10, MILD_HUMIDITY = 0.5;

/* Which kinds of heat a row takes: asked of a plant of 1 W, as only a plant can say. */
static pw_status read_facts(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_plant_desc *desc, pw_plant_facts *facts, pw_error *error) {
    pw_plant_desc small = *desc;
    pw_plant *plant;
    small.design_W = small.liquid_supply_C = small.air_supply_C = NAN;
    pw_status status = pw_plant_create(allocator, catalogue, &small, 0, 1, &plant, error);
    if (status == PW_UNSUPPORTED) status = pw_plant_create(allocator, catalogue, &small, 1, 0, &plant, error);
    if (status != PW_OK) return status;
    *facts = pw_plant_get_facts(plant);
    pw_plant_destroy(plant);
    return PW_OK;
}

/* How the nodes are cooled decides where a plant takes both kinds of heat, and wherever the cluster says it. */
static pw_status find_capture(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_site_desc *site,
                              const char *where, double *capture, pw_error *error) {
    pw_plant_facts facts;
    pw_cooling *cooling;
    *capture = site->capture;
    PW_TRY(read_facts(allocator, catalogue, site->plant, &facts, error));
    if (!isnan(*capture)) return PW_OK;
    *capture = facts.takes_liquid && !facts.takes_air;
    if (!pw_cluster_cooling(cluster) && (!facts.takes_liquid || !facts.takes_air)) return PW_OK;
    pw_status status = pw_cluster_make_cooling(cluster, 0, 1, allocator, &cooling, error);
    if (status == PW_NOT_FOUND)
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, "capture = 0.85", "%s.capture is missing: how %s is cooled is not on file, and the plant takes both kinds of heat",
                       where, pw_cluster_device(cluster)->name);
    if (status != PW_OK) return status;
    *capture = pw_cooling_get_facts(cooling).capture;
    pw_cooling_destroy(cooling);
    return PW_OK;
}

static pw_status plant_step(const facility_loop *loop, double heat_W, const pw_weather_point *weather, pw_plant_state *state, pw_error *error) {
    return pw_plant_step(loop->plant, heat_W * loop->capture, heat_W * (1 - loop->capture), weather, state, error);
}

/* How much warmer than it comes the water leaves the racks at design, by heat. */
static double rise_of(const facility_loop *loop, const pw_plant_state *state) {
    double rise = 0;
    if (loop->capture > 0) rise += loop->capture * (state->liquid_return_C - state->liquid_supply_C);
    if (loop->capture < 1) rise += (1 - loop->capture) * (state->air_return_C - state->air_supply_C);
    return rise;
}

/* A failure of what the plant does not have would change nothing. */
static pw_status check_failures(const facility_loop *loop, const pw_site_desc *site, const char *where, pw_error *error) {
    pw_plant_facts facts = pw_plant_get_facts(loop->plant);
    const bool has[PW_PLANT_PARTS] = {
        [PW_PLANT_CDU_PUMPS] = loop->capture > 0, [PW_PLANT_LOOP_PUMPS] = loop->capture > 0, [PW_PLANT_CHILLED_PUMPS] = loop->capture < 1,
        [PW_PLANT_CONDENSER_PUMPS] = true,        [PW_PLANT_FANS] = true,                    [PW_PLANT_CHILLERS] = *facts.chiller != '\0',
        [PW_PLANT_AIR_FANS] = loop->capture < 1};
    for (uint32_t i = 0; i < site->failures.count; i++) {
        int part = ((const pw_plant_failure_desc *)((const pw_one_of *)site->failures.items)[i].record)->part;
        if (!has[part])
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "%s.failures[%u].part: the plant '%s' has no %s here", where, i + 1, facts.type,
                           pw_plant_part_names[part]);
    }
    return PW_OK;
}

static pw_status make_water(facility_loop *loop, pw_error *error) {
    pw_plant_state state;
    pw_weather_point weather = pw_weather_at(loop->weather, 0);
    pw_plant_facts facts = pw_plant_get_facts(loop->plant);
    PW_TRY(plant_step(loop, loop->it_peak_W, &weather, &state, error));
    if (isinf(state.excess_K)) { /* the first hour may be too hot for it; water's rise does not depend on weather */
        PW_TRY(pw_weather_from_humidity(MILD_C, MILD_HUMIDITY, weather.pressure_Pa, &weather, error));
        PW_TRY(plant_step(loop, loop->it_peak_W, &weather, &state, error));
    }
    if (isinf(state.excess_K))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a larger plant.design, or none: then it fits", "built for %.4g W, it never takes the %.4g W that the IT makes at utilization 1",
                       facts.design_liquid_W + facts.design_air_W, loop->it_peak_W);
    loop->conductance_WpK = loop->it_peak_W / rise_of(loop, &state);
    loop->capacity_JpK = facts.mass_JpK;
    pw_thermal_network network = {.nodes = 1, .boundaries = 1, .heated = 1, .capacity_JpK = {loop->capacity_JpK}};
    PW_TRY(pw_thermal_init(&loop->stopped, &network, error));
    network.outside_WpK[0][0] = loop->conductance_WpK;
    return pw_thermal_init(&loop->lagged, &network, error);
}

pw_status facility_loop_make(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_site_desc *site,
                             const char *where, const char *path, const facility_it *air, facility_loop *loop, facility_it *it, pw_error *error) {
    double none[PW_FACILITY_PART_COUNT] = {0};
    *loop = (facility_loop){.plant = NULL, .looked_W = NAN};
    PW_TRY(find_capture(allocator, catalogue, cluster, site, where, &loop->capture, error));
    if (!isnan(site->node_fans) && air->peak_W[PW_FACILITY_FANS] <= 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say demand.fan_share, or leave it out", "%s.node_fans: nothing is known of the nodes' fans", where);
    PW_TRY(facility_it_with_liquid(catalogue, air, loop->capture, site->node_fans, it, error));
    loop->it_peak_W = facility_it_at(it, 1, none);
    PW_TRY(pw_weather_load(allocator, catalogue, path ? path : site->weather, &loop->weather, error));
    PW_TRY(pw_plant_create(allocator, catalogue, site->plant, loop->it_peak_W * loop->capture, loop->it_peak_W * (1 - loop->capture), &loop->plant, error));
    PW_TRY(check_failures(loop, site, where, error));
    return make_water(loop, error);
}

void facility_loop_end(facility_loop *loop) {
    pw_plant_destroy(loop->plant);
    pw_weather_destroy(loop->weather);
}

/* Of the heat of racks, pumps and compressors what does not get outside. */
static double unheld_W(double heat_W, const pw_plant_state *state) {
    double unheld = heat_W + state->total_W - state->power_W[PW_PLANT_FANS] - state->rejected_W;
    return unheld < 0 ? 0 : unheld > heat_W ? heat_W : unheld;
}

pw_status facility_loop_look(facility_loop *loop, double it_W, const pw_weather_point *weather, pw_error *error) {
    pw_plant_state state = loop->looked;
    bool is_same = loop->looked_W == it_W && loop->looked_at.dry_C == weather->dry_C && loop->looked_at.wet_C == weather->wet_C &&
                   loop->looked_at.pressure_Pa == weather->pressure_Pa;
    if (!is_same) PW_TRY(plant_step(loop, it_W, weather, &state, error));
    loop->looked = state;
    loop->looked_W = it_W;
    loop->looked_at = *weather;
    loop->excess_K = state.excess_K;
    loop->is_stopped = true;
    if (isinf(state.excess_K)) {
        loop->excess_K = loop->above_K; /* nobody asks while it is stopped */
        loop->taken_W = it_W - unheld_W(it_W, &state);
        return PW_OK;
    }
    double flows_W = loop->conductance_WpK * (loop->above_K - loop->excess_K);
    loop->taken_W = 0;
    if (flows_W <= 0) return PW_OK; /* too cold yet for the plant to take anything */
    loop->is_stopped = false;
    if (flows_W <= 1.02 * (loop->is_hurt ? it_W : loop->it_peak_W)) return PW_OK;
    PW_TRY(plant_step(loop, flows_W, weather, &state, error)); /* heat that was stored comes on top, as much as the plant can take */
    if (!isinf(state.excess_K)) return PW_OK;
    loop->is_stopped = true;
    loop->taken_W = flows_W - unheld_W(flows_W, &state);
    return PW_OK;
}

pw_status facility_loop_settle(facility_loop *loop, double it_W, const pw_weather_point *weather, pw_error *error) {
    pw_plant_state state;
    PW_TRY(plant_step(loop, it_W, weather, &state, error));
    loop->above_K = it_W / loop->conductance_WpK + (isinf(state.excess_K) ? 0 : state.excess_K);
    return PW_OK;
}

/* Heat into the network that holds now. */
static const pw_thermal *network_of(const facility_loop *loop, double it_W, double *heat_W) {
    *heat_W = loop->is_stopped ? it_W - loop->taken_W : it_W;
    return loop->is_stopped ? &loop->stopped : &loop->lagged;
}

pw_status facility_loop_advance(facility_loop *loop, pw_sim *sim, double it_W, double seconds, const pw_weather_point *weather, facility_state *state,
                                pw_error *error) {
    pw_thermal_step step;
    pw_plant_state plant;
    double heat_W, mean_K, before_K = loop->above_K;
    const pw_thermal *network = network_of(loop, it_W, &heat_W);
    pw_thermal_make_step(network, seconds, &step);
    pw_thermal_advance(&step, 1, 1, &loop->above_K, &heat_W, &loop->excess_K, &mean_K);
    double taken_W = loop->is_stopped ? loop->taken_W : pw_thermal_heat_out(network, &mean_K, &loop->excess_K, 0);
    double in_J = it_W * seconds, stored_J = loop->capacity_JpK * (loop->above_K - before_K);
    double scale_J = in_J + loop->capacity_JpK * (fabs(loop->above_K) + fabs(before_K));
    PW_LAW(sim, fabs(in_J - taken_W * seconds - stored_J) <= 1e-9 * scale_J, "heat of the IT = heat to the plant + heat stored in the loops",
           "%.17g J in, %.17g J taken, %.17g J stored", in_J, taken_W * seconds, stored_J);
    if (fabs(taken_W - loop->looked_W) <= SAME * loop->looked_W) plant = loop->looked;
    else PW_TRY(plant_step(loop, fmax(taken_W, 0), weather, &plant, error));
    static const pw_facility_part parts[PW_PLANT_PARTS] = {
        [PW_PLANT_CDU_PUMPS] = PW_FACILITY_CDU_PUMPS,         [PW_PLANT_LOOP_PUMPS] = PW_FACILITY_WATER_PUMPS, [PW_PLANT_CHILLED_PUMPS] = PW_FACILITY_WATER_PUMPS,
        [PW_PLANT_CONDENSER_PUMPS] = PW_FACILITY_WATER_PUMPS, [PW_PLANT_FANS] = PW_FACILITY_TOWER_FANS,        [PW_PLANT_CHILLERS] = PW_FACILITY_CHILLERS,
        [PW_PLANT_AIR_FANS] = PW_FACILITY_AIR_FANS};
    for (int p = 0; p < PW_PLANT_PARTS; p++) state->W[parts[p]] += plant.power_W[p];
    state->water_Lps = plant.water_kgps; /* a kg is a litre */
    state->wet_C = weather->wet_C;
    state->dry_C = weather->dry_C;
    state->excess_K = fmax(mean_K - taken_W / loop->conductance_WpK, 0);
    if (state->excess_K < 1e-9) state->excess_K = 0;
    state->free_share = plant.free_share;
    return PW_OK;
}

double facility_loop_next_look_s(const facility_loop *loop, double it_W) {
    double lag_s = loop->capacity_JpK / loop->conductance_WpK;
    if (loop->is_stopped) {
        double gain_W = it_W - loop->taken_W, level_K = loop->excess_K + loop->taken_W / loop->conductance_WpK;
        double time_s = (level_K - loop->above_K) * loop->capacity_JpK / gain_W; /* to where the plant takes what flows */
        return gain_W != 0 && time_s > 0 ? fmax(time_s, 1e-3) : INFINITY;
    }
    double away_K = fabs(loop->above_K - loop->excess_K - it_W / loop->conductance_WpK);
    return away_K < CUT_K ? INFINITY : -lag_s * pw_log(1 - CUT_K / fmax(away_K, 1.25 * CUT_K));
}

double facility_loop_time_to_s(const facility_loop *loop, double it_W, double above_K) {
    double heat_W;
    const pw_thermal *network = network_of(loop, it_W, &heat_W);
    if (loop->above_K >= above_K) return 0;
    return pw_thermal_time_to(network, &loop->above_K, &heat_W, &loop->excess_K, 0, above_K, PW_SECONDS_PER_YEAR);
}

pw_status facility_loop_would_hold(const facility_loop *loop, double it_W, double above_K, const pw_weather_point *weather, bool *holds, pw_error *error) {
    pw_plant_state state;
    PW_TRY(plant_step(loop, it_W, weather, &state, error));
    *holds = state.excess_K + it_W / loop->conductance_WpK < above_K;
    return PW_OK;
}
