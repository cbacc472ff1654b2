/* A facility's account: closed forms of a year, tariffs, carbon, cost. */
#include <stdlib.h>
#include <unistd.h>

#include "models/facility/facility.h"
#include "models/facility/steps.h"
#include "tests/harness/catalogue.h"

#define DAY 86400.0
#define YEAR (365 * DAY)
#define KWH 3.6e6

static pw_cluster_desc cluster_of(const char *server, int64_t nodes) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    return desc;
}

/* A facility of defaults with one site; sites, economics: to be changed in place. */
typedef struct small {
    pw_facility_desc desc;
    pw_site_desc site;
    pw_economics_desc economics;
    pw_one_of item;
} small;

static small *make(void) {
    small *s = pw_arena_alloc(arena(), sizeof *s);
    pw_error error = {0};
    must(pw_description_defaults(&pw_facility_kind, &s->desc, arena(), &error), &error);
    must(pw_description_defaults(&pw_site_kind, &s->site, arena(), &error), &error);
    must(pw_description_defaults(&pw_economics_kind, &s->economics, arena(), &error), &error);
    s->item = (pw_one_of){&pw_site_kind, &s->site};
    s->desc.sites = (pw_list){&s->item, 1};
    s->desc.demand.idle_W = 250e3;
    s->desc.demand.peak_W = 1e6;
    s->site.pue = 1.2;
    s->site.price_per_kWh = 0.1;
    return s;
}

static pw_facility_result run_on(const pw_cluster_desc *cluster, const small *s) {
    pw_facility_result result;
    pw_error error = {0};
    must(pw_description_check(&pw_facility_kind, &s->desc, "t.lua", 1, &error), &error);
    must(pw_facility_run(NULL, catalogue(), cluster, &s->desc, 1, NULL, "t.lua", 1, arena(), &result, &error), &error);
    return result;
}
static pw_facility_result run(const small *s) {
    pw_cluster_desc cluster = cluster_of("DGX H100", 64);
    return run_on(&cluster, s);
}

PW_TEST(a_year_of_constant_load_is_power_times_time) {
    small *s = make();
    s->desc.demand.utilization = 0.6;
    s->desc.demand.fan_share = 0.1;
    s->desc.demand.supply_loss_share = 0.05;
    s->site.grid_kg_per_kWh = 0.4;
    pw_facility_result r = run(s);
    const pw_site_result *site = &r.sites[0];
    double it_W = 250e3 + 0.6 * 750e3, kWh = 1.2 * it_W * YEAR / KWH;
    PW_EXPECT_NEAR(site->it_J, it_W * YEAR, 1e-12);
    PW_EXPECT_NEAR(site->meter_J, 1.2 * it_W * YEAR, 1e-12);
    PW_EXPECT_NEAR(site->pue, 1.2, 1e-12);
    PW_EXPECT_NEAR(site->itue, 1 / 0.85, 1e-12);
    PW_EXPECT_NEAR(site->tue, 1.2 / 0.85, 1e-12);
    PW_EXPECT_NEAR(site->cue, 1.2 * 0.4, 1e-12);
    PW_EXPECT_NEAR(site->energy_cost, 0.1 * kWh, 1e-12);
    PW_EXPECT_NEAR(site->carbon_kg, 0.4 * kWh, 1e-12);
    PW_EXPECT_NEAR(site->carbon_idle_kg, 0.4 * kWh * 250e3 / it_W, 1e-12);
    PW_EXPECT_NEAR(site->peak_W, 1.2 * it_W, 1e-12);
    PW_EXPECT_INT(site->hour_count, 8760);
    PW_EXPECT_NEAR(site->hours[4321].meter_J, 1.2 * it_W * 3600, 1e-12);
    PW_EXPECT_NEAR(r.used_gpu_s, 0.6 * 512 * YEAR, 1e-12);
    PW_EXPECT(site->events < 10); /* nothing happens, so nothing is computed */
}

/* Losses of a stage: rated (c + p x + q x^2) with rows as in power-stages; the UPS carries the IT, the transformer all. */
PW_TEST(a_power_chain_loses_what_its_stages_lose) {
    small *s = make();
    static const char *const stages[] = {"busway", "ups-double-conversion", "transformer-dry"};
    s->site.pue = NAN;
    s->site.chain = (pw_list){stages, 3};
    s->site.other_share = 0.05;
    s->desc.demand.utilization = 0.5;
    pw_facility_result r = run(s);
    double it = 625e3, load = it, peak = 1e6, losses[3];
    const double coefficients[3][3] = {{0.0003, 0, 0.004}, {0.008, 0.013, 0.013}, {0.00112, 0, 0.0076}};
    for (int i = 0; i < 3; i++) {
        double rated = peak / 0.8, xp = 0.8, x;
        if (i == 2) load += 0.05e6;
        x = load / rated;
        losses[i] = rated * (coefficients[i][0] + coefficients[i][1] * x + coefficients[i][2] * x * x);
        load += losses[i];
        peak += rated * (coefficients[i][0] + coefficients[i][1] * xp + coefficients[i][2] * xp * xp);
    }
    PW_EXPECT_NEAR(r.sites[0].part_J[PW_FACILITY_RACK], losses[0] * YEAR, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].part_J[PW_FACILITY_UPS], losses[1] * YEAR, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].part_J[PW_FACILITY_TRANSFORMER], losses[2] * YEAR, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].part_J[PW_FACILITY_OTHER], 0.05e6 * YEAR, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].meter_J, load * YEAR, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].pue, load / it, 1e-12);
}

PW_TEST(a_week_has_working_hours_nights_and_weekends) {
    small *s = make();
    s->desc.duration_s = 7 * DAY;
    s->desc.new_year = 3; /* Thursday: days 2 and 3 are the weekend */
    s->desc.demand.profile = PW_DEMAND_WEEK;
    s->desc.demand.utilization = 0.9;
    s->desc.demand.night = 0.5;
    s->desc.demand.weekend = 0.2;
    pw_facility_result r = run(s);
    double used_h = 5 * (12 * 0.9 + 12 * 0.5) + 2 * 24 * 0.2;
    PW_EXPECT_NEAR(r.used_gpu_s / 512 / 3600, used_h, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].it_J / 3600, 250e3 * 7 * 24 + 750e3 * used_h, 1e-12);
    const pw_facility_hour *hours = r.sites[0].hours;
    PW_EXPECT_NEAR(hours[7].utilization, 0.5, 1e-12);
    PW_EXPECT_NEAR(hours[8].utilization, 0.9, 1e-12);
    PW_EXPECT_NEAR(hours[19].utilization, 0.9, 1e-12);
    PW_EXPECT_NEAR(hours[20].utilization, 0.5, 1e-12);
    PW_EXPECT_NEAR(hours[48].utilization, 0.2, 1e-12);
    PW_EXPECT_NEAR(hours[95].utilization, 0.2, 1e-12);
    PW_EXPECT_NEAR(hours[96].utilization, 0.5, 1e-12);
}

PW_TEST(a_mix_of_jobs_repeats_and_crosses_hours) {
    small *s = make();
    static const pw_phase_desc phases[] = {{5400, 1}, {1800, 0}}; /* 1.5 h of work, half an hour of none */
    const pw_one_of items[] = {{&pw_phase_kind, &phases[0]}, {&pw_phase_kind, &phases[1]}};
    s->desc.demand.profile = PW_DEMAND_PHASES;
    s->desc.demand.phases = (pw_list){items, 2};
    s->desc.duration_s = 10 * DAY + 5000;
    pw_facility_result r = run(s);
    double used_s = 10 * DAY * 0.75 + 5000;
    PW_EXPECT_NEAR(r.used_gpu_s / 512, used_s, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].it_J, 250e3 * (10 * DAY + 5000) + 750e3 * used_s, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].hours[1].utilization, 0.5, 1e-12);
    PW_EXPECT_INT(r.sites[0].hour_count, 242);
    PW_EXPECT_NEAR(r.sites[0].hours[241].utilization, 1, 1e-12); /* the last hour is 1,400 s long */
}

/* Peak and valley of cn-peak-valley: 1.5 from 7 to 11 and 19 to 23, 0.5 from 23 to 7. */
PW_TEST(a_tariff_by_hour_bills_each_hour_at_its_price) {
    small *s = make();
    s->site.tariff = "cn-peak-valley";
    s->desc.duration_s = 7 * DAY;
    pw_facility_result flat = run(s);
    PW_EXPECT_NEAR(flat.sites[0].energy_cost, 0.1 * 1.2 * 1e3 * 7 * 24, 1e-12); /* its mean is 1 */
    s->desc.demand.profile = PW_DEMAND_WEEK;
    s->desc.demand.night = 0;
    s->desc.demand.weekend = 0;
    pw_facility_result r = run(s);
    double day = 3 * 1.5 + 8 * 1 + 1 * 1.5, all = 24; /* factors x hours from 8 to 20, and of a day */
    PW_EXPECT_NEAR(r.sites[0].energy_cost, 0.1 * 1.2 * (7 * all * 250 + 5 * day * 750), 1e-12);
    PW_EXPECT_NEAR(r.sites[0].hours[6].energy_cost, 0.1 * 1.2 * 250 * 0.5, 1e-12);
    PW_EXPECT_NEAR(r.sites[0].hours[9].energy_cost, 0.1 * 1.2 * 1000 * 1.5, 1e-12);
    double sum = 0;
    for (uint32_t h = 0; h < r.sites[0].hour_count; h++) sum += r.sites[0].hours[h].energy_cost;
    PW_EXPECT_NEAR(sum, r.sites[0].energy_cost, 1e-12);
}

PW_TEST(each_month_pays_for_its_own_peak) {
    small *s = make();
    static const pw_phase_desc phases[] = {{40 * DAY, 0}, {DAY, 1}, {400 * DAY, 0.2}}; /* the peak lies on 10 February */
    const pw_one_of items[] = {{&pw_phase_kind, &phases[0]}, {&pw_phase_kind, &phases[1]}, {&pw_phase_kind, &phases[2]}};
    s->desc.demand.profile = PW_DEMAND_PHASES;
    s->desc.demand.phases = (pw_list){items, 3};
    s->site.demand_charge = 10;
    pw_facility_result r = run(s);
    PW_EXPECT_NEAR(r.sites[0].demand_cost, 10 * 1.2 * (250 + 1000 + 10 * 400), 1e-12);
    PW_EXPECT_NEAR(r.sites[0].peak_s, 40 * DAY, 1e-12);
    s->desc.duration_s = 45 * DAY; /* half of February counts as a month */
    PW_EXPECT_NEAR(run(s).sites[0].demand_cost, 10 * 1.2 * (250 + 1000), 1e-12);
}

PW_TEST(the_calendar_has_twelve_months_and_seven_days) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    pw_time at = 0;
    for (int year = 0; year < 3; year++)
        for (int month = 1; month <= 12; month++) {
            PW_EXPECT_INT(facility_month(at), month);
            PW_EXPECT_INT(facility_month(at + lengths[month - 1] * FACILITY_DAY - 1), month);
            PW_EXPECT(facility_next_month(at) == at + lengths[month - 1] * FACILITY_DAY);
            PW_EXPECT(facility_next_month(at + 5 * FACILITY_DAY + 7) == at + lengths[month - 1] * FACILITY_DAY);
            at += lengths[month - 1] * FACILITY_DAY;
        }
    PW_EXPECT_INT(facility_weekday(0, 0), 0);
    PW_EXPECT_INT(facility_weekday(6 * FACILITY_DAY, 0), 6);
    PW_EXPECT_INT(facility_weekday(365 * FACILITY_DAY, 0), 1);
}

/* BLOOM (arXiv 2211.02001): 1,082,990 GPU-hours on 384 A100 at 0.4 kW are 433,196 kWh and 24.7 t on the French grid; 256,646 kWh of idle
 * and infrastructure are 14.6 t; with 11.2 t of making the machines 50.5 t. Its machines live 6 years and are used 85 % of the time. */
PW_TEST(the_carbon_of_bloom_is_as_published) {
    small *s = make();
    double hours = 1082990.0 / 384, dynamic_kWh = 433196, idle_kWh = 256646;
    s->desc.duration_s = hours * 3600;
    s->desc.demand.idle_W = idle_kWh / hours * 1e3;
    s->desc.demand.peak_W = (idle_kWh + dynamic_kWh) / hours * 1e3;
    s->desc.economics = &s->economics;
    s->economics.server_price = 1;
    s->economics.server_years = 6 * 0.85;
    s->site.pue = 1;
    s->site.grid = "grid carbon France (BLOOM)";
    pw_cluster_desc cluster = cluster_of("DGX A100 640GB", 48);
    pw_facility_result r = run_on(&cluster, s);
    const pw_site_result *site = &r.sites[0];
    PW_EXPECT_NEAR((site->carbon_kg - site->carbon_idle_kg) / 1e3, 24.7, 0.005);
    PW_EXPECT_NEAR(site->carbon_idle_kg / 1e3, 14.6, 0.005);
    PW_EXPECT_NEAR(site->embodied_kg / 1e3, 11.2, 0.02);
    PW_EXPECT_NEAR((site->carbon_kg + site->embodied_kg) / 1e3, 50.5, 0.01);
}

PW_TEST(cost_is_depreciation_maintenance_and_energy) {
    small *s = make();
    s->desc.economics = &s->economics;
    s->desc.duration_s = YEAR / 2;
    s->desc.demand.utilization = 0.5;
    s->desc.tokens_per_s = 1e6;
    pw_economics_desc *e = &s->economics;
    e->server_price = 300e3, e->network_price = 30e3, e->facility_price_per_W = 10;
    e->server_years = 5, e->facility_years = 20, e->server_maintenance = 0.06, e->facility_maintenance = 0.02;
    e->cloud_price = 2;
    pw_facility_result r = run(s);
    const pw_site_cost *c = &r.costs[0];
    double energy = 0.1 * 1.2 * 625 * 24 * 182.5, hours = 512 * 24 * 182.5;
    PW_EXPECT_NEAR(c->servers, 64 * 300e3 / 10, 1e-12);
    PW_EXPECT_NEAR(c->network, 64 * 30e3 / 10, 1e-12);
    PW_EXPECT_NEAR(c->facility, 10e6 / 40, 1e-12);
    PW_EXPECT_NEAR(c->maintenance, (64 * 330e3 * 0.06 + 10e6 * 0.02) / 2, 1e-12);
    PW_EXPECT_NEAR(c->energy, energy, 1e-12);
    PW_EXPECT_NEAR(c->total, c->servers + c->network + c->facility + c->maintenance + energy, 1e-12);
    PW_EXPECT_NEAR(c->per_gpu_hour, c->total / hours, 1e-12);
    PW_EXPECT_NEAR(c->per_used_gpu_hour, c->total / (0.5 * hours), 1e-12);
    PW_EXPECT_NEAR(c->per_million_tokens, c->total / (0.5 * 24 * 182.5 * 3600), 1e-12);
    PW_EXPECT_NEAR(c->cloud, 2 * 0.5 * hours, 1e-12);
}

PW_TEST(at_the_break_even_utilization_owning_costs_what_the_cloud_does) {
    small *s = make();
    s->desc.economics = &s->economics;
    s->economics.cloud_price = 2.5;
    s->economics.cloud_discount = 0.2;
    s->desc.demand.utilization = 0.3;
    s->site.tariff = "cn-peak-valley";
    s->site.demand_charge = 0;
    double even = run(s).costs[0].break_even;
    PW_EXPECT(even > 0.3 && even < 1);
    s->desc.demand.utilization = even;
    pw_facility_result r = run(s);
    PW_EXPECT_NEAR(r.costs[0].total, r.costs[0].cloud, 1e-9);
    PW_EXPECT_NEAR(r.costs[0].break_even, even, 1e-9);
    s->economics.cloud_price = 0.01; /* less than the energy of a used GPU-hour */
    PW_EXPECT(isinf(run(s).costs[0].break_even));
}

PW_TEST(another_currency_changes_no_ratio) {
    small *s = make();
    s->desc.economics = &s->economics;
    s->site.price_per_kWh = NAN;
    s->economics.cloud = "H100-SXM5 on-demand specialty cloud";
    pw_facility_result usd = run(s);
    s->economics.currency = PW_CURRENCY_CNY;
    pw_facility_result cny = run(s);
    PW_EXPECT_NEAR(cny.costs[0].total, 7.2 * usd.costs[0].total, 1e-12);
    PW_EXPECT_NEAR(cny.costs[0].break_even, usd.costs[0].break_even, 1e-12);
}

/* ---- Files ---- */

static const char *write_file(const char *text) {
    static char path[64];
    snprintf(path, sizeof path, "facility-test-%ld.csv", (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) exit(1);
    return path;
}

static pw_status run_file(small *s, pw_error *error) {
    pw_cluster_desc cluster = cluster_of("DGX H100", 64);
    static pw_facility_result r;
    pw_status status = pw_facility_run(NULL, catalogue(), &cluster, &s->desc, 1, NULL, "t.lua", 1, arena(), &r, error);
    unlink(s->desc.demand.file);
    return status;
}

PW_TEST(a_file_of_loads_repeats_by_the_hour_or_holds_at_given_hours) {
    pw_cluster_desc cluster = cluster_of("DGX H100", 64);
    small *s = make();
    s->desc.demand.profile = PW_DEMAND_FILE;
    s->desc.duration_s = 10 * 3600;
    s->desc.demand.file = write_file("utilization\n1\n0.5\n0\n");
    pw_facility_result r = run_on(&cluster, s);
    PW_EXPECT_NEAR(r.used_gpu_s / 512 / 3600, 3 * 1.5 + 1, 1e-12);
    write_file("hour,it_power_W\n0,250e3\n2.5,1000e3\n4,625e3\n");
    r = run_on(&cluster, s);
    PW_EXPECT_NEAR(r.sites[0].it_J / 3600, 2.5 * 250e3 + 1.5 * 1000e3 + 6 * 625e3, 1e-12);
    unlink(s->desc.demand.file);
}

PW_TEST(a_bad_file_is_named_with_its_line) {
    static const struct {
        const char *text, *says;
    } files[] = {{"utilization\n0.5\n1.5\n", ":3: column 'utilization': 1.5 is not between 0 and 1"},
                 {"hour,utilization\n1,0.5\n", ":2: column 'hour': the first hour is 1, not 0"},
                 {"hour,utilization\n0,0.5\n0,0.6\n", ":3: column 'hour': hours do not rise"},
                 {"hour,it_power_W\n0,100\n", ":2: column 'it_power_W': 100 is not between 250000 and 1e+06"},
                 {"utilization\n", "the file has no rows"},
                 {"hour,utilisation\n0,1\n", "utilization"}};
    small *s = make();
    s->desc.demand.profile = PW_DEMAND_FILE;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pw_error error = {0};
        char text[2048];
        s->desc.demand.file = write_file(files[i].text);
        PW_EXPECT_INT(run_file(s, &error), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(pw_error_text(&error, text, sizeof text), files[i].says);
    }
    pw_error error = {0};
    s->desc.demand.file = "/etc/hostname";
    pw_cluster_desc cluster = cluster_of("DGX H100", 64);
    pw_facility_result r;
    PW_EXPECT_INT(pw_facility_run(NULL, catalogue(), &cluster, &s->desc, 1, NULL, "t.lua", 1, arena(), &r, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "outside the folder");
}

PW_TEST(every_failed_allocation_is_reported_and_nothing_leaks) {
    small *s = make();
    s->desc.duration_s = DAY;
    s->desc.economics = &s->economics;
    s->site.tariff = "cn-peak-valley";
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

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
