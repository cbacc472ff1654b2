/* Plants: heat balance, set points, modes, and a year of a Frontier-like plant. */
#include "models/cooling/chiller.h"
#include "models/cooling/plant.h"
#include "models/cooling/tower.h"
#include "tests/harness/catalogue.h"

static pw_plant_desc described(const char *type) {
    pw_plant_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_plant_kind, &desc, arena(), &error), &error);
    desc.type = type;
    return desc;
}

static pw_plant *make(pw_plant_desc desc, double liquid_W, double air_W) {
    pw_plant *plant;
    pw_error error = {0};
    must(pw_plant_create(NULL, catalogue(), &desc, liquid_W, air_W, &plant, &error), &error);
    return plant;
}

static pw_weather_point weather_of(double dry_C, double humidity) {
    pw_weather_point point;
    pw_error error = {0};
    must(pw_weather_from_humidity(dry_C, humidity, 101325, &point, &error), &error);
    return point;
}

static pw_plant_state step(const pw_plant *plant, double liquid_W, double air_W, pw_weather_point weather) {
    pw_plant_state state;
    pw_error error = {0};
    must(pw_plant_step(plant, liquid_W, air_W, &weather, &state, &error), &error);
    return state;
}

/* ---- parts ---- */

static pw_chiller chiller_of(const char *name, double capacity_W) {
    pw_chiller chiller;
    pw_error error = {0};
    must(pw_chiller_find(catalogue(), name, capacity_W, &chiller, &error), &error);
    return chiller;
}

/* EnergyPlus, unit test ChillerElectric_WaterCooled_Simulate: 20 kW on a machine of 20987.5 W, evaporator 6 C, condenser 12 C and 5 C; it expects
 * part loads above 0.77 and 0.73 and a power above 3 kW. */
PW_TEST(electric_chiller_is_that_of_energyplus) {
    pw_chiller c = chiller_of("water-cooled", 20987.509055700004);
    double x = (12 - 29.44) / 2.682759 - (6 - 6.667), ratio = 0.944836 - 0.0570088 * x - 0.00185486 * x * x;
    PW_EXPECT_NEAR(pw_chiller_capacity_W(&c, 6, 12), 20987.509055700004 * ratio, 1e-14);
    PW_EXPECT(20000 / pw_chiller_capacity_W(&c, 6, 12) > 0.77 && 20000 / pw_chiller_capacity_W(&c, 6, 5) > 0.73);
    double part = 20000 / (20987.509055700004 * ratio), power = (0.03303 + 0.6852 * part + 0.2818 * part * part) * (1.907846 - 1.204987 * ratio + 0.2634623 * ratio * ratio) *
                                                                 20987.509055700004 * ratio / 4.75;
    PW_EXPECT_NEAR(pw_chiller_power_W(&c, 20000, 6, 12), power, 1e-14);
    PW_EXPECT(power > 3000);
}

PW_TEST(air_cooled_chiller_is_that_of_energyplus) {
    pw_chiller c = chiller_of("air-cooled", 1e5);
    for (double outside = 10; outside <= 40; outside += 10)
        for (double load = 2e4; load < 9e4; load += 3e4) {
            double x = (outside - 35) / 2.778 - (7 - 6.67), ratio = 0.9949 - 0.045954 * x - 0.0013543 * x * x, part = load / (1e5 * ratio);
            double full = 2.333 - 1.975 * ratio + 0.6121 * ratio * ratio;
            PW_EXPECT_NEAR(pw_chiller_power_W(&c, load, 7, outside), (0.03303 + 0.6852 * part + 0.2818 * part * part) * full * 1e5 * ratio / 3, 1e-13);
        }
    double least = pw_chiller_power_W(&c, 0.05 * pw_chiller_capacity_W(&c, 7, 30), 7, 30); /* below, it cycles */
    PW_EXPECT_NEAR(pw_chiller_power_W(&c, 0.01 * pw_chiller_capacity_W(&c, 7, 30), 7, 30), least / 5, 1e-12);
}

PW_TEST(eir_chiller_is_that_of_energyplus) {
    pw_chiller c = chiller_of("centrifugal", 1e6);
    /* close to reference: capacity 1, COP 5.5 */
    PW_EXPECT_NEAR(pw_chiller_capacity_W(&c, 6.67, 29.4), 1e6, 0.01);
    PW_EXPECT_NEAR(1e6 / pw_chiller_power_W(&c, 1e6, 6.67, 29.4), 5.5, 0.015);
    double e = 8, t = 26, cap = 0.257896 + 0.0389016 * e - 0.00021708 * e * e + 0.0468684 * t - 0.00094284 * t * t - 0.00034344 * e * t;
    double eir = 0.933884 - 0.058212 * e + 0.00450036 * e * e + 0.00243 * t + 0.000486 * t * t - 0.001215 * e * t, part = 0.5;
    PW_EXPECT_NEAR(pw_chiller_power_W(&c, 0.5 * 1e6 * cap, e, t), (0.222903 + 0.313387 * part + 0.46371 * part * part) * eir * 1e6 * cap / 5.5, 1e-13);
}

PW_TEST(warm_water_saves_two_to_three_percent_per_kelvin) {
    pw_chiller c = chiller_of("warm-water", 1e6);
    double a = 1e6 / pw_chiller_power_W(&c, 1e6, 14, 29.4), b = 1e6 / pw_chiller_power_W(&c, 1e6, 15, 29.4);
    PW_EXPECT(b / a > 1.02 && b / a < 1.034);
    PW_EXPECT_NEAR(b, 7, 1e-12);
}

PW_TEST(towers_hold_their_design_and_the_cube_law) {
    pw_tower tower;
    pw_error error = {0};
    must(pw_tower_design(false, 1e6, 25.6, 3.9, 5.6, 0.775, 10500, 0.12, &tower, &error), &error);
    pw_weather_point design, cool;
    must(pw_weather_from_wet_bulb(35, 25.6, 101325, &design, &error), &error);
    must(pw_weather_from_wet_bulb(15, 10, 101325, &cool, &error), &error);
    PW_EXPECT_NEAR(pw_tower_outlet_C(&tower, 1e6, 1, 1, &design), 29.5, 1e-6);
    pw_tower_state s = pw_tower_run(&tower, 1e6, 1, 24, 1, &cool);
    PW_EXPECT_NEAR(s.outlet_C, 24, 1e-12);
    PW_EXPECT(s.fan_share > 0.2 && s.fan_share < 0.8);
    PW_EXPECT_NEAR(pw_tower_outlet_C(&tower, 1e6, 1, s.fan_share, &cool), 24, 1e-7);
    PW_EXPECT_NEAR(s.fan_W, 10500 * s.fan_share * s.fan_share * s.fan_share, 1e-12);
    /* no colder than the wet bulb, whatever the fans */
    PW_EXPECT(pw_tower_run(&tower, 1e5, 1, 5, 1, &cool).outlet_C > cool.wet_C);
    /* about 1.5 l of water leave with a kWh: latent heat is most of it */
    double litres = pw_tower_run(&tower, 1e6, 1, 29.5, 1, &design).evaporation_kgps * 3600 / 1000;
    PW_EXPECT(litres > 1.3 && litres < 2.3);
    PW_EXPECT(pw_tower_run(&tower, 2e5, 1, 29.5, 1, &cool).fan_W == 0); /* the draught of the warm water suffices */
}

PW_TEST(dry_coolers_follow_the_dry_bulb) {
    pw_tower tower;
    pw_error error = {0};
    must(pw_tower_design(true, 1e6, 32, 5, 10, 4.5, 22000, 0.1, &tower, &error), &error);
    pw_weather_point p = weather_of(32, 0.2);
    PW_EXPECT_NEAR(pw_tower_outlet_C(&tower, 1e6, 1, 1, &p), 37, 1e-6);
    p = weather_of(12, 0.9);
    PW_EXPECT_NEAR(pw_tower_outlet_C(&tower, 1e6, 1, 1, &p), 17, 1e-6); /* linear in the dry bulb */
    PW_EXPECT(pw_tower_run(&tower, 1e6, 1, 37, 1, &p).evaporation_kgps == 0);
}

/* ---- plants ---- */

PW_TEST(free_partly_and_not) {
    pw_plant *plant = make(described("chilled water"), 0, 1e6);
    pw_plant_state cold = step(plant, 0, 8e5, weather_of(2, 0.8)), mild = step(plant, 0, 8e5, weather_of(16, 0.7)), hot = step(plant, 0, 8e5, weather_of(33, 0.6));
    PW_EXPECT(cold.free_share == 1 && cold.power_W[PW_PLANT_CHILLERS] == 0);
    PW_EXPECT(mild.free_share > 0.05 && mild.free_share < 0.95);
    PW_EXPECT(hot.free_share == 0);
    PW_EXPECT(cold.total_W < mild.total_W && mild.total_W < hot.total_W);
    PW_EXPECT(cold.excess_K == 0 && mild.excess_K == 0 && hot.excess_K == 0);
    PW_EXPECT_NEAR(hot.air_return_C - hot.air_supply_C, 12, 1e-9); /* fans follow the heat: the air's rise is the design's */
    PW_EXPECT_NEAR(hot.blowdown_kgps + hot.drift_kgps, hot.evaporation_kgps / 4, 1e-9); /* five cycles of concentration */
    pw_plant_desc without = described("chilled water");
    without.economiser = false;
    pw_plant *plain = make(without, 0, 1e6);
    PW_EXPECT(step(plain, 0, 8e5, weather_of(2, 0.8)).free_share == 0);
    pw_plant_destroy(plant);
    pw_plant_destroy(plain);
}

PW_TEST(racks_see_the_set_point_or_the_weather) {
    pw_plant *plant = make(described("dry coolers"), 1e6, 0);
    pw_plant_state mild = step(plant, 1e6, 0, weather_of(20, 0.5)), hot = step(plant, 1e6, 0, weather_of(45, 0.1));
    PW_EXPECT_NEAR(mild.liquid_supply_C, 40, 1e-9);
    PW_EXPECT_NEAR(mild.liquid_return_C, 50, 1e-9); /* rise of the row at design */
    PW_EXPECT(hot.liquid_supply_C > 48 && hot.excess_K > 8);
    PW_EXPECT_NEAR(hot.liquid_supply_C - 40, hot.excess_K, 1e-12);
    /* the chain of exchangers: return - 1e6 (with the pumps) / (0.9 x rate) = loop supply = tower water */
    double cdu = 1e6 + hot.power_W[PW_PLANT_CDU_PUMPS];
    double warm = hot.liquid_supply_C + cdu / 1e5;
    PW_EXPECT_NEAR(warm - cdu / (0.9 * 1e5), hot.tower_C, 1e-9);
    pw_plant_destroy(plant);
}

PW_TEST(what_fails_is_missed) {
    pw_plant *plant = make(described("air-cooled chillers"), 0, 1e6);
    pw_weather_point warm = weather_of(30, 0.5);
    PW_EXPECT(step(plant, 0, 1e6, warm).excess_K == 0);
    pw_plant_set_available(plant, PW_PLANT_CHILLERS, 0.3);
    pw_plant_state s = step(plant, 0, 1e6, warm);
    PW_EXPECT(s.excess_K == INFINITY); /* curves end at warm water: no steady state */
    PW_EXPECT(s.rejected_W < 0.7e6);
    PW_EXPECT(isfinite(s.total_W));
    pw_plant_destroy(plant);
    plant = make(described("warm-water towers"), 1e6, 0);
    pw_plant_set_available(plant, PW_PLANT_FANS, 0.3);
    s = step(plant, 1e6, 0, weather_of(30, 0.7));
    PW_EXPECT(s.excess_K > 1 && s.excess_K < 20 && s.fan_share == 0.3);
    pw_plant_destroy(plant);
}

PW_TEST(bad_plants_are_refused) {
    pw_plant *plant;
    pw_plant_state state;
    pw_error error = {0};
    pw_plant_desc desc = described("warm water towers");
    PW_EXPECT(pw_plant_create(NULL, catalogue(), &desc, 1e6, 0, &plant, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "warm-water towers");
    desc = described("chilled water");
    PW_EXPECT(pw_plant_create(NULL, catalogue(), &desc, 1e6, 0, &plant, &error) == PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "no heat from liquid");
    desc.liquid_supply_C = 30;
    PW_EXPECT(pw_plant_create(NULL, catalogue(), &desc, 0, 1e6, &plant, &error) == PW_BAD_INPUT);
    desc = described("rear doors");
    must(pw_plant_create(NULL, catalogue(), &desc, 0, 1e6, &plant, &error), &error);
    pw_weather_point point = weather_of(20, 0.5);
    PW_EXPECT(pw_plant_step(plant, 1, 0, &point, &state, &error) == PW_UNSUPPORTED);
    PW_EXPECT(pw_plant_step(plant, 0, -1, &point, &state, &error) == PW_BAD_INPUT);
    pw_plant_destroy(plant);
}

/* Frontier: PUE 1.03; of the power of towers and pumps, fans take 73 % (arXiv:2603.01198). Heat between 8 and 30 MW, half days long. */
PW_TEST(a_year_of_a_frontier_like_plant) {
    pw_plant *plant = make(described("Frontier-like"), 25 * 3 * 350e3, 25 * 3 * 20e3);
    pw_weather *weather;
    pw_error error = {0};
    must(pw_weather_load(NULL, catalogue(), "warm-temperate", &weather, &error), &error);
    double parts[PW_PLANT_PARTS] = {0}, it = 0, total = 0, fans = 0, pumps = 0, warm = 0;
    for (size_t h = 0; h < 8760; h++) {
        uint64_t z = (h / 12 + 1) * 0x9E3779B97F4A7C15u;
        z ^= z >> 31;
        double it_W = 8e6 + 22e6 * (0.25 + 0.5 * (double)(z * 0xBF58476D1CE4E5B9u >> 11) * 0x1p-53);
        pw_plant_state s = step(plant, 0.945 * it_W, 0.055 * it_W, pw_weather_at(weather, h)), water = step(plant, 0.945 * it_W, 0, pw_weather_at(weather, h));
        for (int part = 0; part < PW_PLANT_PARTS; part++) parts[part] += s.power_W[part];
        it += it_W;
        total += s.total_W;
        fans += water.power_W[PW_PLANT_FANS];
        pumps += water.power_W[PW_PLANT_LOOP_PUMPS] + water.power_W[PW_PLANT_CONDENSER_PUMPS];
        warm += s.excess_K > 0.5;
        PW_EXPECT(water.liquid_return_C > 30 && water.liquid_return_C < 48);
    }
    PW_EXPECT(fabs(1 + total / it - 1.03) < 0.01);
    PW_EXPECT(fabs(fans / (fans + pumps) - 0.73) < 0.02);
    PW_EXPECT(warm / 8760 < 0.03);
    if (getenv("PW_SHOW")) {
        printf("# mean %.2f MW, 1 + cooling / IT %.4f, fans %.3f of towers and pumps, warm %.4f of the hours\n", it / 8760e6, 1 + total / it, fans / (fans + pumps), warm / 8760);
        for (int part = 0; part < PW_PLANT_PARTS; part++) printf("#   %s %.4f\n", pw_plant_part_names[part], parts[part] / it);
    }
    pw_plant_destroy(plant);
    pw_weather_destroy(weather);
}

PW_TEST(heat_is_balanced_in_all_plants_and_climates) {
    const pw_table *plants = pw_catalogue_table(catalogue(), "cooling-plants"), *climates = pw_catalogue_table(catalogue(), "climates");
    for (size_t p = 0; p < pw_table_rows(plants); p++)
        for (size_t c = 0; c < pw_table_rows(climates); c++) {
            pw_plant_desc desc = described(pw_table_text_at(plants, p, 0));
            pw_plant *plant;
            pw_error error = {0};
            double l = 0.8e6, a = 0.2e6;
            if (pw_plant_create(NULL, catalogue(), &desc, l, a, &plant, &error) != PW_OK) {
                l = 0, a = 1e6;
                if (pw_plant_create(NULL, catalogue(), &desc, l, a, &plant, &error) != PW_OK) l = 1e6, a = 0, plant = make(desc, l, a);
            }
            pw_weather *weather;
            must(pw_weather_load(NULL, catalogue(), pw_table_text_at(climates, c, 0), &weather, &error), &error);
            double total = 0, water = 0, excess = 0, freed = 0, heat = 0;
            for (size_t h = 0; h < 8760; h += 7) {
                double share = 0.6 + 0.2 * (double)(h % 24 >= 8);
                pw_plant_state s = step(plant, share * l, share * a, pw_weather_at(weather, h));
                double warms = s.total_W - s.power_W[PW_PLANT_FANS];
                if (!(fabs(s.rejected_W - share * (l + a) - warms) <= 1e-9 * s.rejected_W)) PW_FAILED("%s hour %zu: heat %g, power %g, rejected %g", pw_table_text_at(plants, p, 0), h, share * (l + a), warms, s.rejected_W);
                total += s.total_W;
                water += s.water_kgps * 3600;
                excess = fmax(excess, s.excess_K);
                freed += s.free_share;
                heat += share * (l + a);
            }
            if (getenv("PW_SHOW")) printf("# %-20s %-15s power/heat %.4f, water %.3f l/kWh, free %.2f, excess %.1f K\n", pw_table_text_at(plants, p, 0), pw_table_text_at(climates, c, 0), total / heat, water / (heat / 1e3), freed / 1252, excess);
            pw_plant_destroy(plant);
            pw_weather_destroy(weather);
        }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
