/* A facility with a cooling plant: steady years, the lag of its water, failures, protection, published figures. */
#include <stdlib.h>
#include <unistd.h>

#include "models/facility/site.h"
#include "models/power/node_power.h"
#include "sim/math.h"
#include "tests/harness/catalogue.h"

#define DAY 86400.0
#define YEAR (365 * DAY)

static const char weather_file[] = "facility-test-weather.csv";

static pw_cluster_desc cluster_of(const char *server, int64_t nodes) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    return desc;
}

typedef struct small {
    pw_facility_desc desc;
    pw_site_desc site;
    pw_plant_desc plant;
    pw_one_of item;
} small;

static small *make(const char *plant, const char *weather) {
    small *s = pw_arena_alloc(arena(), sizeof *s);
    pw_error error = {0};
    must(pw_description_defaults(&pw_facility_kind, &s->desc, arena(), &error), &error);
    must(pw_description_defaults(&pw_site_kind, &s->site, arena(), &error), &error);
    must(pw_description_defaults(&pw_plant_kind, &s->plant, arena(), &error), &error);
    s->item = (pw_one_of){&pw_site_kind, &s->site};
    s->desc.sites = (pw_list){&s->item, 1};
    s->desc.demand.idle_W = 250e3;
    s->desc.demand.peak_W = 1e6;
    s->plant.type = plant;
    s->site.plant = &s->plant;
    s->site.weather = weather;
    return s;
}

static pw_site_result run_on(const pw_cluster_desc *cluster, const small *s) {
    pw_facility_result result;
    pw_error error = {0};
    must(pw_description_check(&pw_facility_kind, &s->desc, "t.lua", 1, &error), &error);
    must(pw_facility_run(NULL, catalogue(), cluster, &s->desc, 1, NULL, "t.lua", 1, arena(), &result, &error), &error);
    return result.sites[0];
}
static pw_site_result run(const small *s) {
    pw_cluster_desc cluster = cluster_of("DGX H100", 64);
    return run_on(&cluster, s);
}

/* Weather that does not change: 20 degrees, 50 % humidity. */
static const char *still_weather(void) {
    FILE *file = fopen(weather_file, "w");
    if (!file || fputs("hour,dry_bulb_C,humidity_pct\n0,20,50\n1,20,50\n", file) < 0 || fclose(file) != 0) exit(1);
    return weather_file;
}

PW_TEST(a_year_of_constant_load_and_weather_is_one_state) {
    small *s = make("chilled water", still_weather());
    s->desc.demand.utilization = 0.6;
    pw_site_result r = run(s);
    pw_plant *plant;
    pw_plant_state state;
    pw_weather_point weather;
    pw_error error = {0};
    must(pw_plant_create(NULL, catalogue(), &s->plant, 0, 1e6, &plant, &error), &error);
    must(pw_weather_from_humidity(20, 0.5, 101325, &weather, &error), &error);
    must(pw_plant_step(plant, 0, 700e3, &weather, &state, &error), &error);
    PW_EXPECT_NEAR(r.part_J[PW_FACILITY_CHILLERS], state.power_W[PW_PLANT_CHILLERS] * YEAR, 1e-9);
    PW_EXPECT_NEAR(r.part_J[PW_FACILITY_TOWER_FANS], state.power_W[PW_PLANT_FANS] * YEAR, 1e-9);
    PW_EXPECT_NEAR(r.part_J[PW_FACILITY_AIR_FANS], state.power_W[PW_PLANT_AIR_FANS] * YEAR, 1e-9);
    PW_EXPECT_NEAR(r.meter_J, (700e3 + state.total_W) * YEAR, 1e-9);
    PW_EXPECT_NEAR(r.pue, 1 + state.total_W / 700e3, 1e-9);
    PW_EXPECT_NEAR(r.wue, state.water_kgps * 3.6e6 / 700e3, 1e-9);
    PW_EXPECT_NEAR(r.free_share, state.free_share, 1e-9);
    pw_plant_destroy(plant);
}

/* One loop alone: dT/dt = (P - G T) / C. */
PW_TEST(the_water_of_the_loops_lags_behind_the_load_exactly) {
    small *s = make("warm-water towers", still_weather());
    s->site.capture = 1;
    pw_cluster_desc desc = cluster_of("DGX H100", 64);
    pw_cluster *cluster;
    pw_error error = {0};
    facility_it air = {.peak_W = {[PW_FACILITY_COMPUTE] = 1e6}}, it;
    facility_loop loop;
    pw_sim *sim;
    must(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error), &error);
    must(facility_loop_make(NULL, catalogue(), cluster, &s->site, "facility.sites[1]", weather_file, &air, &loop, &it, &error), &error);
    must(pw_sim_create(NULL, &sim, &error), &error);
    pw_weather_point weather = pw_weather_at(loop.weather, 0);
    must(facility_loop_settle(&loop, 300e3, &weather, &error), &error);
    PW_EXPECT_NEAR(loop.above_K, 300e3 / loop.conductance_WpK, 1e-12);
    must(facility_loop_look(&loop, 900e3, &weather, &error), &error);
    double rate = loop.conductance_WpK / loop.capacity_JpK, t = 0;
    for (int i = 0; i < 20; i++) {
        facility_state state = {{0}};
        double seconds = 10 * (i + 1);
        must(facility_loop_advance(&loop, sim, 900e3, seconds, &weather, &state, &error), &error);
        t += seconds;
        PW_EXPECT_NEAR(loop.above_K, (900e3 - 600e3 * pw_exp(-rate * t)) / loop.conductance_WpK, 1e-12);
    }
    PW_EXPECT_INT(pw_sim_error(sim)->status, PW_OK);
    PW_EXPECT(rate > 1e-5 && rate < 1e-1);
    pw_sim_destroy(sim);
    facility_loop_end(&loop);
    pw_cluster_destroy(cluster);
}

/* Settling may be jumped: what a change of load costs hardly depends on how finely it is cut, and energy is conserved. */
PW_TEST(a_changing_load_costs_what_its_mean_states_cost) {
    small *s = make("chilled water", still_weather());
    static const pw_phase_desc phases[] = {{12 * 3600, 1}, {12 * 3600, 0.4}};
    const pw_one_of items[] = {{&pw_phase_kind, &phases[0]}, {&pw_phase_kind, &phases[1]}};
    s->desc.duration_s = 20 * DAY;
    s->desc.demand.utilization = 1;
    double full = run(s).meter_J;
    s->desc.demand.utilization = 0.4;
    double part = run(s).meter_J;
    s->desc.demand.utilization = NAN;
    s->desc.demand.profile = PW_DEMAND_PHASES;
    s->desc.demand.phases = (pw_list){items, 2};
    pw_site_result r = run(s);
    PW_EXPECT_NEAR(r.meter_J, (full + part) / 2, 2e-3);
    PW_EXPECT(r.meter_J != (full + part) / 2);
}

/* Without chillers, and nothing else to take the heat, the water warms by P / C until protection acts. */
PW_TEST(a_plant_that_stops_warms_its_water_until_protection_acts) {
    small *s = make("air-cooled chillers", still_weather());
    static const pw_plant_failure_desc failure = {PW_PLANT_CHILLERS, 5 * DAY, NAN, 0};
    const pw_one_of items[] = {{&pw_plant_failure_kind, &failure}};
    s->site.failures = (pw_list){items, 1};
    s->site.trip_K = 6;
    s->desc.duration_s = 6 * DAY;
    pw_site_result r = run(s);
    pw_plant *plant;
    pw_error error = {0};
    must(pw_plant_create(NULL, catalogue(), &s->plant, 0, 1e6, &plant, &error), &error);
    double warming_s = 6 * pw_plant_get_facts(plant).mass_JpK / 1e6;
    pw_plant_destroy(plant);
    PW_EXPECT_NEAR(r.idled_s, DAY - warming_s, 1e-9);
    PW_EXPECT_NEAR(r.used_s, 5 * DAY + warming_s, 1e-9);
    PW_EXPECT(r.excess_K > 6);
    s->site.trip_K = NAN;
    PW_EXPECT_NEAR(run(s).used_s, 6 * DAY, 1e-12);
}

PW_TEST(work_goes_on_when_a_part_is_mended) {
    small *s = make("air-cooled chillers", still_weather());
    static const pw_plant_failure_desc failure = {PW_PLANT_CHILLERS, 5 * DAY, 3600, 0};
    const pw_one_of items[] = {{&pw_plant_failure_kind, &failure}};
    s->site.failures = (pw_list){items, 1};
    s->site.trip_K = 6;
    s->desc.duration_s = 6 * DAY;
    pw_site_result r = run(s);
    PW_EXPECT(r.idled_s > 1800 && r.idled_s < 4 * 3600);
    PW_EXPECT_NEAR(r.hours[5 * 24 + 10].utilization, 1, 1e-12);
    PW_EXPECT_NEAR(r.hours[5 * 24 + 10].excess_K + 1, 1, 1e-6);
    PW_EXPECT_NEAR(r.used_s + r.idled_s, 6 * DAY, 1e-12);
}

/* Frontier: PUE 1.03, and tower fans take 73 % of the power of towers and pumps of the plant (arXiv 2603.01198; docs/models/facility.md). It draws
 * 8 to 30 MW (Sun et al. 2024). CDU pumps stand in the machine room. */
PW_TEST(a_year_of_an_exascale_machine_has_its_published_pue) {
    small *s = make("Frontier-like", "warm-temperate");
    static const char *const stages[] = {"transformer-oil"};
    s->desc.demand.idle_W = 8e6;
    s->desc.demand.peak_W = 28e6;
    s->site.capture = 1;
    s->site.chain = (pw_list){stages, 1};
    for (int i = 0; i < 3; i++) { /* little, usual and full load */
        s->desc.demand.utilization = 0.3 + 0.35 * i;
        pw_site_result r = run(s);
        PW_EXPECT_NEAR(r.pue, 1.03, 0.01 / 1.03);
        double fans = r.part_J[PW_FACILITY_TOWER_FANS];
        if (i == 1) PW_EXPECT_NEAR(fans / (fans + r.part_J[PW_FACILITY_WATER_PUMPS]), 0.73, 0.05);
    }
}

PW_TEST(hotter_and_damper_climates_never_cool_better) {
    static const char *const climates[] = {"cool-marine", "warm-temperate", "hot-humid"}, *const plants[] = {"chilled water", "dry coolers", "air-cooled chillers"};
    for (int p = 0; p < 3; p++) {
        double last = 1;
        for (int c = 0; c < 3; c++) {
            small *s = make(plants[p], climates[c]);
            if (p == 1) s->site.capture = 0.8;
            double pue = run(s).pue;
            PW_EXPECT(pue > last);
            last = pue;
        }
    }
}

/* Liquid takes heat from the nodes' fans, which are IT: TUE shows it and PUE hides it. */
PW_TEST(liquid_shows_in_tue_more_than_in_pue) {
    small *air = make("chilled water", "continental"), *liquid = make("warm-water towers", "continental");
    air->desc.demand.fan_share = liquid->desc.demand.fan_share = 0.15;
    air->desc.demand.supply_loss_share = liquid->desc.demand.supply_loss_share = 0.05;
    liquid->site.capture = 0.8;
    pw_site_result a = run(air), l = run(liquid);
    PW_EXPECT(l.meter_J < a.meter_J && l.it_J < a.it_J);
    PW_EXPECT(1 - l.tue / a.tue > 1.5 * (1 - l.pue / a.pue));
    PW_EXPECT_NEAR(l.compute_J, a.compute_J, 1e-12); /* the same work */
}

PW_TEST(fans_of_nodes_follow_the_heat_that_is_left_to_air) {
    facility_it air = {.peak_W = {[PW_FACILITY_FANS] = 1000, [PW_FACILITY_COMPUTE] = 9000}}, it;
    pw_node_parameters parameters;
    pw_error error = {0};
    must(pw_node_parameters_read(catalogue(), &parameters, &error), &error);
    must(facility_it_with_liquid(catalogue(), &air, 0, NAN, &it, &error), &error);
    PW_EXPECT_NEAR(it.peak_W[PW_FACILITY_FANS], 1000, 1e-12);
    must(facility_it_with_liquid(catalogue(), &air, 1, NAN, &it, &error), &error);
    PW_EXPECT_NEAR(it.peak_W[PW_FACILITY_FANS], 1000 * parameters.fan_rest * parameters.fan_rest * parameters.fan_rest, 1e-12);
    must(facility_it_with_liquid(catalogue(), &air, 1, 0.3, &it, &error), &error);
    PW_EXPECT_NEAR(it.peak_W[PW_FACILITY_FANS], 300, 1e-12);
    PW_EXPECT_NEAR(it.peak_W[PW_FACILITY_COMPUTE], 9000, 1e-12);
}

/* Power of the IT from its nodes: so many of them busy, the others idle; every part of models/power/node_power has a place. */
PW_TEST(a_cluster_draws_what_its_nodes_draw) {
    small *s = make("chilled water", still_weather());
    s->desc.demand.idle_W = s->desc.demand.peak_W = NAN;
    s->desc.demand.gpu_W = 600;
    s->desc.demand.switch_W = 500;
    s->desc.demand.utilization = 0.25;
    pw_site_result r = run(s);
    pw_node_power *model;
    const pw_device *device;
    pw_error error = {0};
    must(pw_node_power_create(NULL, catalogue(), "DGX H100", &model, &error), &error);
    must(pw_catalogue_device(catalogue(), "h100", &device, &error), &error);
    pw_node_watts busy = pw_node_power_at(model, &(pw_node_load){.gpu_W = 8 * 600, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN});
    pw_node_watts idle = pw_node_power_at(model, &(pw_node_load){.gpu_W = 8 * device->idle_W, .fan_speed = NAN});
    double switches = r.part_J[PW_FACILITY_NETWORK] / YEAR - 16 * busy.part[PW_NODE_PART_NIC] - 48 * idle.part[PW_NODE_PART_NIC];
    PW_EXPECT_NEAR(r.it_J / YEAR, 16 * busy.wall_W + 48 * idle.wall_W + switches, 1e-9);
    PW_EXPECT_NEAR(r.part_J[PW_FACILITY_FANS] / YEAR, 16 * busy.part[PW_NODE_PART_FAN] + 48 * idle.part[PW_NODE_PART_FAN], 1e-9);
    PW_EXPECT_NEAR(switches / 500, round(switches / 500), 1e-9);
    PW_EXPECT(switches > 0 && r.itue > 1.02 && r.itue < 1.5);
    pw_node_power_destroy(model);
}

PW_TEST(every_failed_allocation_with_a_plant_is_reported_and_nothing_leaks) {
    static const char *const stages[] = {"busway", "transformer-dry"};
    small *s = make("warm-water towers", "continental");
    s->desc.duration_s = DAY;
    s->desc.demand.idle_W = s->desc.demand.peak_W = NAN; /* from the nodes */
    s->site.chain = (pw_list){stages, 2};
    pw_cluster_desc cluster = cluster_of("DGX H100", 2);
    bool done = false;
    for (unsigned long long n = 1; !done && n < 5000; n++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = n;
        pw_arena *own = pw_arena_create(&counting.allocator);
        pw_facility_result r;
        pw_error error = {0};
        pw_status status = own ? pw_facility_run(&counting.allocator, catalogue(), &cluster, &s->desc, 1, NULL, "t.lua", 1, own, &r, &error) : PW_NO_MEMORY;
        PW_EXPECT(status == PW_OK || status == PW_NO_MEMORY);
        done = status == PW_OK;
        pw_arena_destroy(own);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(done);
}

int main(int argc, char **argv) {
    int failed = pw_run_tests(argc, argv);
    unlink(weather_file);
    return failed;
}
