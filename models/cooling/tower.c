#include "models/cooling/tower.h"

#include <math.h>

#include "sim/math.h"

#define WATER_JPKGK 4186.0
#define AIR_JPKGK 1006.0

/* Temperature of saturated air of an enthalpy: secants, from the slope at the guess. */
static double saturated_temperature(double enthalpy, double guess_C, double pressure_Pa) {
    double t = guess_C, h = pw_air_saturated_enthalpy(t, pressure_Pa), slope = (pw_air_saturated_enthalpy(t + 0.1, pressure_Pa) - h) / 0.1;
    for (int i = 0; i < 20; i++) {
        double step = (enthalpy - h) / slope;
        t += step;
        if (fabs(step) < 1e-8) break;
        double before = h;
        h = pw_air_saturated_enthalpy(t, pressure_Pa);
        slope = (h - before) / step;
    }
    return t;
}

/* Heat capacity rate of the air's side. out_C: where the saturated air leaves. */
static double air_rate(const pw_tower *tower, double heat_W, double air_kgps, const pw_weather_point *weather, double *out_C, double *per_kg) {
    if (tower->dry) {
        *out_C = weather->dry_C + heat_W / (air_kgps * AIR_JPKGK);
        *per_kg = AIR_JPKGK;
        return air_kgps * AIR_JPKGK;
    }
    double in = pw_air_saturated_enthalpy(weather->wet_C, weather->pressure_Pa), rise = heat_W / air_kgps;
    *out_C = saturated_temperature(in + rise, weather->wet_C + rise / 3500, weather->pressure_Pa);
    double warmer = *out_C - weather->wet_C;
    *per_kg = warmer > 1e-6 ? rise / warmer : (pw_air_saturated_enthalpy(weather->wet_C + 0.01, weather->pressure_Pa) - in) / 0.01;
    return air_kgps * *per_kg;
}

static double effectiveness(double ntu, double ratio) {
    if (ratio > 0.9999) return ntu / (1 + ntu);
    double e = pw_exp(-ntu * (1 - ratio));
    return (1 - e) / (1 - ratio * e);
}

static double inlet_air_C(const pw_tower *tower, const pw_weather_point *weather) { return tower->dry ? weather->dry_C : weather->wet_C; }

double pw_tower_outlet_C(const pw_tower *tower, double heat_W, double water_share, double fan_share, const pw_weather_point *weather) {
    double air_share = fmax(fan_share, tower->natural), water = tower->water_kgps * water_share * WATER_JPKGK, out_C, per_kg;
    double air = air_rate(tower, heat_W, tower->air_kgps * air_share, weather, &out_C, &per_kg);
    double conductance = tower->conductance_WpK * pw_pow(air_share, 0.6) * pw_pow(water_share, 0.4) * (tower->dry ? 1 : per_kg / AIR_JPKGK);
    double least = fmin(air, water), most = fmax(air, water);
    double inlet_C = inlet_air_C(tower, weather) + heat_W / (effectiveness(conductance / least, least / most) * least);
    return inlet_C - heat_W / water;
}

pw_status pw_tower_design(bool dry, double heat_W, double air_C, double approach_K, double range_K, double air_per_water, double fan_W, double natural,
                          pw_tower *tower, pw_error *error) {
    if (!(heat_W > 0 && approach_K > 0 && range_K > 0 && air_per_water > 0 && fan_W >= 0 && natural > 0 && natural < 1))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a tower needs heat, approach, range and air above 0, and a natural draught between 0 and 1");
    *tower = (pw_tower){.dry = dry, .water_kgps = heat_W / (WATER_JPKGK * range_K), .fan_W = fan_W, .natural = natural};
    tower->air_kgps = tower->water_kgps * air_per_water;
    pw_weather_point design;
    PW_TRY(pw_weather_from_humidity(air_C, 1, 101325, &design, error));
    double low = -5, high = 12; /* of the power of e over the water's rate */
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        tower->conductance_WpK = tower->water_kgps * AIR_JPKGK * pw_exp(middle);
        if (pw_tower_outlet_C(tower, heat_W, 1, 1, &design) > air_C + approach_K) low = middle;
        else high = middle;
    }
    if (high > 11) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "more air per water, or a larger approach", "no tower gets its water within %g K with so little air", approach_K);
    return PW_OK;
}

pw_tower_state pw_tower_run(const pw_tower *tower, double heat_W, double water_share, double target_C, double most_share, const pw_weather_point *weather) {
    pw_tower_state state = {.outlet_C = target_C};
    double at_most = heat_W > 0 ? pw_tower_outlet_C(tower, heat_W, water_share, most_share, weather) - target_C : -1;
    double at_rest = heat_W > 0 ? pw_tower_outlet_C(tower, heat_W, water_share, 0, weather) - target_C : -1;
    if (heat_W <= 0) return state;
    if (at_rest > 0) {
        if (at_most >= 0 || most_share <= tower->natural) {
            state.fan_share = most_share;
            state.outlet_C = target_C + fmax(at_most, 0);
        } else { /* Illinois: the outlet falls as fans speed up */
            double low = tower->natural, high = most_share, at_low = at_rest, at_high = at_most;
            for (int i = 0, side = 0; i < 60 && high - low > 1e-10; i++) {
                double middle = (low * at_high - high * at_low) / (at_high - at_low);
                if (!(middle > low && middle < high)) middle = (low + high) / 2;
                double at = pw_tower_outlet_C(tower, heat_W, water_share, middle, weather) - target_C;
                if (fabs(at) < 1e-8) low = high = middle;
                else if (at > 0) {
                    low = middle;
                    at_low = at;
                    if (side == 1) at_high /= 2;
                    side = 1;
                } else {
                    high = middle;
                    at_high = at;
                    if (side == -1) at_low /= 2;
                    side = -1;
                }
            }
            state.fan_share = high;
        }
    }
    state.fan_W = tower->fan_W * state.fan_share * state.fan_share * state.fan_share;
    if (!tower->dry) { /* all heat goes into the air through the fill, which leaves it saturated */
        double air = tower->air_kgps * fmax(state.fan_share, tower->natural), out_C, per_kg;
        air_rate(tower, heat_W, air, weather, &out_C, &per_kg);
        double gain = pw_air_moisture(out_C, 1, weather->pressure_Pa) - pw_air_moisture(weather->dry_C, weather->humidity, weather->pressure_Pa);
        state.evaporation_kgps = fmax(air * gain, 0);
    }
    return state;
}
