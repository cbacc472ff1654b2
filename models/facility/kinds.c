/* The fields of a facility, and what does not go together. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "models/facility/facility.h"

const char *const pw_demand_profile_names[] = {"constant", "week", "phases", "file", NULL};
const char *const pw_currency_names[] = {"USD", "CNY", NULL};
static const char *const weekday_names[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", NULL};

static bool is_given(const char *text) { return text && *text; }

/* A row of "given although it has no meaning here". */
typedef struct misplaced {
    const char *field, *with;
    bool given, used;
} misplaced;

static pw_status refuse_misplaced(const char *kind, const misplaced *fields, size_t count, const char *file, int line, pw_error *error) {
    for (size_t i = 0; i < count; i++)
        if (fields[i].given && !fields[i].used)
            return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "%s.%s goes with %s alone", kind, fields[i].field, fields[i].with);
    return PW_OK;
}

/* ---- phase ---- */

#define AT(field) offsetof(pw_phase_desc, field)
static const pw_field phase_fields[] = {
    {"duration", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(duration_s), 1, 6.3072e8, NULL, NULL, NULL, "How long this step of the mix lasts."},
    {"utilization", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(utilization), 0, 1, NULL, NULL, NULL, "How busy the cluster is meanwhile."},
    {NULL}};
#undef AT
const pw_kind pw_phase_kind = {"phase", "One step of a mix of jobs: so busy for so long.", sizeof(pw_phase_desc), phase_fields, NULL};

/* ---- demand ---- */

#define AT(field) offsetof(pw_demand_desc, field)
static const pw_kind *const phase_kinds[] = {&pw_phase_kind, NULL};
static const pw_field phase_item = {"phase", PW_FIELD_ONE_OF, .kinds = phase_kinds, .text = "A step of the mix."};
static const pw_field demand_fields[] = {
    {"profile", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(profile), 0, 0, "constant", pw_demand_profile_names, NULL,
     "Shape over time: constant; week (working hours, nights, weekends); phases (a mix of jobs, repeated); file (CSV)."},
    {"utilization", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(utilization), 0, 1, "", NULL, NULL,
     "How busy the cluster is, 0 to 1: always (profile constant) or in working hours (week); left out: 1."},
    {"night", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(night), 0, 1, "", NULL, NULL, "Profile week: utilization outside working hours; left out: as utilization."},
    {"weekend", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(weekend), 0, 1, "", NULL, NULL, "Profile week: utilization on Saturday and Sunday; left out: as night."},
    {"day_from", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(day_from_s), 0, 86400, "", NULL, NULL, "Profile week: working hours begin, from midnight; left out: 8 hours."},
    {"day_to", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(day_to_s), 0, 86400, "", NULL, NULL, "Profile week: working hours end, from midnight; left out: 20 hours."},
    {"phases", PW_FIELD_LIST, PW_UNIT_NONE, AT(phases), 1, 100000, "", .item = &phase_item,
     .text = "Profile phases: the steps of the mix, repeated to the end of the span."},
    {"file", PW_FIELD_TEXT, PW_UNIT_NONE, AT(file), 0, 0, "", NULL, NULL,
     "Profile file: CSV with the column utilization or it_power_W, and hour (from the beginning, rising), or one row for each hour, repeated."},
    {"gpu_power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(gpu_W), 1, 1e5, "", NULL, NULL,
     "Mean power of a GPU of a busy node; left out: what GPUs that their power limit holds draw on average."},
    {"switch_power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(switch_W), 0, 1e6, "", NULL, NULL,
     "Power of one switch of the cluster's network; left out: the catalogue's, or none where that is not known."},
    {"idle", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(idle_W), 0, 1e11, "", NULL, NULL,
     "Power of all IT at utilization 0, in place of the cluster's nodes; goes with peak."},
    {"peak", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(peak_W), 1, 1e11, "", NULL, NULL, "Power of all IT at utilization 1, in place of the cluster's nodes."},
    {"fan_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(fan_share), 0, 0.5, "", NULL, NULL,
     "With peak: share of IT power that the nodes' fans take; left out: not known, and no ITUE."},
    {"supply_loss_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(supply_loss_share), 0, 0.5, "", NULL, NULL,
     "With peak: share of IT power lost in the nodes' supplies; left out: not known, and no ITUE."},
    {NULL}};
#undef AT

static pw_status check_demand(const void *description, const char *file, int line, pw_error *error) {
    const pw_demand_desc *d = description;
    bool week = d->profile == PW_DEMAND_WEEK, watts = !isnan(d->peak_W);
    if (watts && (!isnan(d->gpu_W) || !isnan(d->switch_W)))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out the one or the other", "demand.peak is all the IT draws, and gpu_power and switch_power are parts of it");
    const misplaced fields[] = {
        {"utilization", "profile constant or week", !isnan(d->utilization), week || d->profile == PW_DEMAND_CONSTANT},
        {"night", "profile week", !isnan(d->night), week},
        {"weekend", "profile week", !isnan(d->weekend), week},
        {"day_from", "profile week", !isnan(d->day_from_s), week},
        {"day_to", "profile week", !isnan(d->day_to_s), week},
        {"phases", "profile phases", d->phases.count > 0, d->profile == PW_DEMAND_PHASES},
        {"file", "profile file", is_given(d->file), d->profile == PW_DEMAND_FILE},
        {"idle", "peak", !isnan(d->idle_W), watts},
        {"fan_share", "peak", !isnan(d->fan_share), watts},
        {"supply_loss_share", "peak", !isnan(d->supply_loss_share), watts},
    };
    PW_TRY(refuse_misplaced("demand", fields, sizeof fields / sizeof *fields, file, line, error));
    if (d->profile == PW_DEMAND_PHASES && !d->phases.count)
        return pw_fail(error, PW_BAD_INPUT, file, line, "phases = { o.phase { duration = 6 * u.day, utilization = 1 }, ... }", "demand.phases is missing");
    if (d->profile == PW_DEMAND_FILE && !is_given(d->file))
        return pw_fail(error, PW_BAD_INPUT, file, line, "file = \"load.csv\"", "demand.file is missing");
    if (watts && d->idle_W > d->peak_W)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "demand.idle is %g W and peak %g W: an idle cluster draws less", d->idle_W, d->peak_W);
    if (watts && isnan(d->fan_share) != isnan(d->supply_loss_share))
        return pw_fail(error, PW_BAD_INPUT, file, line, "ITUE needs both; 0 is a share too", "demand.fan_share and supply_loss_share go together");
    double from = isnan(d->day_from_s) ? 8 * 3600 : d->day_from_s, to = isnan(d->day_to_s) ? 20 * 3600 : d->day_to_s;
    if (from >= to)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "demand.day_to is no later than day_from (%g and %g hours)", to / 3600, from / 3600);
    return PW_OK;
}
const pw_kind pw_demand_kind = {"demand", "How busy the cluster of a facility is, over time, and what it then draws.", sizeof(pw_demand_desc), demand_fields,
                                check_demand};

/* ---- plant_failure ---- */

#define AT(field) offsetof(pw_plant_failure_desc, field)
static const pw_field failure_fields[] = {
    {"part", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(part), 0, 0, NULL, pw_plant_part_names, NULL, "What fails: pumps (flow), fans (speed), chillers (capacity)."},
    {"at", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(at_s), 0, 6.3072e8, NULL, NULL, NULL, "When it fails, from the beginning."},
    {"duration", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(duration_s), 1, 6.3072e8, "", NULL, NULL, "How long it is down; left out: to the end."},
    {"left", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(left), 0, 1, "0", NULL, NULL, "Share of all such parts that still works."},
    {NULL}};
#undef AT
const pw_kind pw_plant_failure_kind = {"plant_failure", "Parts of a cooling plant that are down for a while.", sizeof(pw_plant_failure_desc), failure_fields, NULL};

/* ---- site ---- */

#define AT(field) offsetof(pw_site_desc, field)
static const double CHAIN_SHARE = 0.8; /* the preset */
static const pw_kind *const failure_kinds[] = {&pw_plant_failure_kind, NULL};
static const pw_field failure_item = {"failure", PW_FIELD_ONE_OF, .kinds = failure_kinds, .text = "A failure."};
static const pw_field stage_item = {"stage", PW_FIELD_TEXT, .text = "A row of power-stages."};
static const pw_field site_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the site, for reports."},
    {"weather", PW_FIELD_TEXT, PW_UNIT_NONE, AT(weather), 0, 0, "", NULL, NULL,
     "A climate of the catalogue (`podwright catalogue climates`), or a file: CSV by the hour, or EnergyPlus weather (.epw)."},
    {"plant", PW_FIELD_POINTER, PW_UNIT_NONE, AT(plant), 0, 0, "", NULL, &pw_plant_kind, "What takes the heat outside; left out: nothing does."},
    {"capture", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(capture), 0, 1, "", NULL, NULL,
     "Share of the IT's heat that goes to liquid; left out: all or none where the plant takes one kind of heat alone, else as the nodes' GPUs are cooled."},
    {"node_fans", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(node_fans), 0, 1, "", NULL, NULL,
     "Power of the nodes' fans over that of nodes cooled by air alone; left out: from the heat that is left to air."},
    {"trip", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(trip_K), 0.1, 60, "", NULL, NULL,
     "Protection: the IT goes idle when the loops' water is so much warmer than in steady state at full load; left out: never."},
    {"failures", PW_FIELD_LIST, PW_UNIT_NONE, AT(failures), 1, 10000, "", .item = &failure_item, .text = "Parts of the plant that fail and come back."},
    {"pue", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(pue), 1, 10, "", NULL, NULL,
     "A PUE as stated: cooling and losses are pue - 1 of IT power at all times, and nothing of them is simulated."},
    {"chain", PW_FIELD_LIST, PW_UNIT_NONE, AT(chain), 1, 16, "", .item = &stage_item,
     .text = "Stages of the power chain, rows of power-stages, from the racks to the meter; PDUs, busways and UPS carry the IT, transformers all; left out: no losses."},
    {"chain_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(chain_share), 0.01, 1, "0.8", NULL, NULL,
     "Share of their rated output that the stages carry at the IT's peak; half as much where feeds are doubled."},
    {"other", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(other_share), 0, 1, "0", NULL, NULL, "Lighting, offices and the like, as a share of the IT's peak power, at all times."},
    {"price", PW_FIELD_TEXT, PW_UNIT_NONE, AT(price), 0, 0, "electricity US industrial average", NULL, NULL, "Row of prices with the price of a kWh."},
    {"price_per_kWh", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(price_per_kWh), 0, 100, "", NULL, NULL,
     "Price of a kWh in the currency of the economics, in place of the row."},
    {"tariff", PW_FIELD_TEXT, PW_UNIT_NONE, AT(tariff), 0, 0, "", NULL, NULL, "Rows of the table tariffs: factors on the price by hour, weekday and month."},
    {"tariff_file", PW_FIELD_TEXT, PW_UNIT_NONE, AT(tariff_file), 0, 0, "", NULL, NULL,
     "CSV with the column price_per_kWh, and hour, or one row for each hour, repeated; in place of price and tariff."},
    {"demand_charge", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(demand_charge), 0, 1000, "0", NULL, NULL, "Money for each kW of a month's peak."},
    {"grid", PW_FIELD_TEXT, PW_UNIT_NONE, AT(grid), 0, 0, "", NULL, NULL, "Row of prices with the grid's kg of CO2e for a kWh."},
    {"grid_kg_per_kWh", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(grid_kg_per_kWh), 0, 3, "", NULL, NULL, "The grid's kg of CO2e for a kWh, in place of the row."},
    {"grid_file", PW_FIELD_TEXT, PW_UNIT_NONE, AT(grid_file), 0, 0, "", NULL, NULL,
     "CSV with the column kg_per_kWh, and hour, or one row for each hour, repeated; in place of the row."},
    {"grid_water", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(grid_water_L_per_kWh), 0, 100, "", NULL, NULL,
     "Litres of water that the grid consumes for a kWh; with it the result has WUE at the source."},
    {"water_price", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(water_price), 0, 1000, "0", NULL, NULL, "Money for a m^3 of water."},
    {NULL}};
#undef AT

static pw_status check_site(const void *description, const char *file, int line, pw_error *error) {
    const pw_site_desc *d = description;
    bool price_file = is_given(d->tariff_file), grid_file = is_given(d->grid_file);
    if (price_file && (is_given(d->tariff) || !isnan(d->price_per_kWh)))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out tariff and price_per_kWh", "site.tariff_file says the whole price");
    if ((grid_file + is_given(d->grid) + !isnan(d->grid_kg_per_kWh)) > 1)
        return pw_fail(error, PW_BAD_INPUT, file, line, "keep one", "site.grid, grid_kg_per_kWh and grid_file stand in place of each other");
    if (!isnan(d->pue) && (d->plant || is_given(d->weather)))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out the one or the other", "site.pue is stated, and a plant in its weather would make another");
    if (!d->plant != !is_given(d->weather))
        return pw_fail(error, PW_BAD_INPUT, file, line, "plant = o.plant { type = \"chilled water\" }, weather = \"continental\"", "site.%s is missing: plant and weather go together",
                       d->plant ? "weather" : "plant");
    const misplaced with_plant[] = {{"capture", "plant", !isnan(d->capture), d->plant}, {"node_fans", "plant", !isnan(d->node_fans), d->plant},
                                    {"trip", "plant", !isnan(d->trip_K), d->plant}, {"failures", "plant", d->failures.count > 0, d->plant}};
    PW_TRY(refuse_misplaced("site", with_plant, sizeof with_plant / sizeof *with_plant, file, line, error));
    if (!isnan(d->pue) && d->chain.count)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out the one or the other", "site.pue is stated, and site.chain would lose the same energy again");
    if (!d->chain.count && d->chain_share != CHAIN_SHARE)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "site.chain_share goes with chain alone");
    if (!isnan(d->pue) && d->other_share > 0)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "site.other is part of a stated pue");
    return PW_OK;
}
const pw_kind pw_site_kind = {"site", "Where a facility stands: what cools and feeds it, what its energy costs and emits.", sizeof(pw_site_desc), site_fields,
                              check_site};

/* ---- economics ---- */

#define AT(field) offsetof(pw_economics_desc, field)
#define MONEY(name, field, most, text) {name, PW_FIELD_NUMBER, PW_UNIT_NONE, AT(field), 0, most, "", NULL, NULL, text}
static const pw_field economics_fields[] = {
    {"currency", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(currency), 0, 0, "USD", pw_currency_names, NULL,
     "Currency of every figure of money here and in the result; rows of prices are converted by the row 'exchange CNY per USD'."},
    MONEY("server_price", server_price, 1e9, "Price of a node; left out: the row of prices called after the server ('DGX H100 system price')."),
    MONEY("network_price", network_price, 1e9, "A node's share of the network; left out: by ports and tiers, from the table network-prices."),
    MONEY("facility_price", facility_price_per_W, 1000, "Building, power and cooling for a W of IT power at utilization 1; left out: the row 'facility capex'."),
    {"server_years", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(server_years), 0.1, 50, "", NULL, NULL,
     "Years over which servers and network are written off, in equal parts; left out: the row 'depreciation of GPU servers'."},
    {"facility_years", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(facility_years), 0.1, 100, "", NULL, NULL,
     "Years over which the building is written off; left out: the row 'facility depreciation'."},
    MONEY("server_maintenance", server_maintenance, 1, "A year's maintenance of servers and network as a share of their price; left out: the row 'maintenance of servers'."),
    MONEY("facility_maintenance", facility_maintenance, 1, "The same for the building; left out: the row 'maintenance of facility'."),
    {"cloud", PW_FIELD_TEXT, PW_UNIT_NONE, AT(cloud), 0, 0, "", NULL, NULL, "Row of prices with the price of a GPU-hour, to compare with."},
    MONEY("cloud_price", cloud_price, 10000, "Price of a GPU-hour to compare with, in place of the row."),
    MONEY("cloud_discount", cloud_discount, 1, "Share taken off that price for a reservation; left out: none."),
    {"cloud_gpu_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(cloud_gpu_share), 0.05, 1, "", NULL, NULL,
     "Share of the cloud's bill that GPUs are (the rest: storage, egress); left out: all."},
    MONEY("embodied_kg", embodied_kg, 1e7, "kg of CO2e of making a node; left out: the table embodied-carbon by GPU."),
    {NULL}};
#undef MONEY
#undef AT

static pw_status check_economics(const void *description, const char *file, int line, pw_error *error) {
    const pw_economics_desc *d = description;
    bool cloud = is_given(d->cloud) || !isnan(d->cloud_price);
    if (is_given(d->cloud) && !isnan(d->cloud_price))
        return pw_fail(error, PW_BAD_INPUT, file, line, "keep one", "economics.cloud and cloud_price stand in place of each other");
    const misplaced fields[] = {{"cloud_discount", "cloud or cloud_price", !isnan(d->cloud_discount), cloud},
                                {"cloud_gpu_share", "cloud or cloud_price", !isnan(d->cloud_gpu_share), cloud}};
    return refuse_misplaced("economics", fields, sizeof fields / sizeof *fields, file, line, error);
}
const pw_kind pw_economics_kind = {"economics", "What a facility's hardware costs, over how long, and what it is compared with.", sizeof(pw_economics_desc),
                                   economics_fields, check_economics};

/* ---- facility ---- */

#define AT(field) offsetof(pw_facility_desc, field)
static const pw_kind *const site_kinds[] = {&pw_site_kind, NULL};
static const pw_field site_item = {"site", PW_FIELD_ONE_OF, .kinds = site_kinds, .text = "A site."};
static const pw_field facility_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the facility, for reports."},
    {"duration", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(duration_s), 1, 6.3072e8, "365 day", NULL, NULL,
     "Simulated span, from 00:00 on 1 January; years have 365 days; up to 20 of them."},
    {"new_year", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(new_year), 0, 0, "monday", weekday_names, NULL, "Weekday of 1 January."},
    {"demand", PW_FIELD_RECORD, PW_UNIT_NONE, AT(demand), 0, 0, "", NULL, &pw_demand_kind, "How busy the cluster is."},
    {"sites", PW_FIELD_LIST, PW_UNIT_NONE, AT(sites), 1, 64, "", .item = &site_item,
     .text = "Where it stands; several sites meet the same demand side by side, to compare them."},
    {"economics", PW_FIELD_POINTER, PW_UNIT_NONE, AT(economics), 0, 0, "", NULL, &pw_economics_kind, "Prices and lifetimes; left out: no cost but energy's."},
    {"tokens_per_s", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(tokens_per_s), 0, 1e15, "", NULL, NULL,
     "Tokens that the whole cluster yields per second at utilization 1, from a job's own run."},
    {NULL}};
#undef AT

static pw_status check_facility(const void *description, const char *file, int line, pw_error *error) {
    const pw_facility_desc *d = description;
    if (d->sites.count) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "sites = { o.site { ... } }", "facility.sites is missing");
}
const pw_kind pw_facility_kind = {"facility", "A site or several over hours to years: energy by part, PUE, carbon, water, cost.", sizeof(pw_facility_desc),
                                  facility_fields, check_facility};
