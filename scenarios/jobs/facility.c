/* A facility over hours to years: what models/facility answers, in the words of a report. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/facility/facility.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

extern const pw_job_kind pw_job_facility;

#define KWH PW_JOULES_PER_KWH
#define MWH (1000 * PW_JOULES_PER_KWH)

static const pw_site_desc *site_of(const pw_facility_desc *d, uint32_t index) { return ((const pw_one_of *)d->sites.items)[index].record; }

/* "site 2" for a site without a name. */
static const char *name_of(const pw_facility_result *r, uint32_t index, char text[64]) {
    const char *name = r->sites[index].name;
    if (name && *name) snprintf(text, 64, "%.60s", name);
    else snprintf(text, 64, "site %u", index + 1);
    return text;
}

static const char *energy(double joules, char text[64]) {
    double mwh = joules / MWH;
    if (mwh >= 1e4) snprintf(text, 64, "%.4g GWh", mwh / 1e3);
    else if (mwh >= 1) snprintf(text, 64, "%.4g MWh", mwh);
    else snprintf(text, 64, "%.4g kWh", joules / KWH);
    return text;
}

static const char *watts(double W, char text[64]) { return pw_unit_format(W, PW_UNIT_WATTS, text, 64); }

static const char *mass(double kg, char text[64]) {
    if (kg >= 1000) snprintf(text, 64, "%.4g t", kg / 1000);
    else snprintf(text, 64, "%.4g kg", kg);
    return text;
}

static const char *money(double amount, char text[64]) {
    if (fabs(amount) >= 1e6) snprintf(text, 64, "%.4g M", amount / 1e6);
    else if (fabs(amount) >= 1e4) snprintf(text, 64, "%.4g k", amount / 1e3);
    else snprintf(text, 64, "%.4g", amount);
    return text;
}

/* "1 January, 13 h": the hour that begins at `s` seconds; years have 365 days. */
static const char *date(double s, char text[64]) {
    static const struct { const char *name; int days; } months[] = {
        {"January", 31}, {"February", 28}, {"March", 31}, {"April", 30}, {"May", 31}, {"June", 30},
        {"July", 31}, {"August", 31}, {"September", 30}, {"October", 31}, {"November", 30}, {"December", 31}};
    int hours = (int)fmod(floor(s / 3600), 365 * 24), day = hours / 24, month = 0;
    while (day >= months[month].days) day -= months[month++].days;
    snprintf(text, 64, "%d %s, %d h", day + 1, months[month].name, hours % 24);
    return text;
}

/* ---- Head ---- */

static void put_head(const pw_facility_desc *d, const pw_facility_result *r, pw_run_result *result) {
    char a[64], b[64], span[64];
    double days = d->duration_s / 86400;
    if (days >= 2) snprintf(span, sizeof span, "%.5g days", days);
    else snprintf(span, sizeof span, "%.4g hours", days * 24);
    pw_result_line(result, "span", "%s from 1 January, %u site%s, demand %s: mean utilization %.1f %%", span, r->site_count, r->site_count == 1 ? "" : "s",
                   pw_demand_profile_names[d->demand.profile], 100 * r->used_gpu_s / (r->gpus * d->duration_s));
    const char *note = r->server && r->sites[0].it_peak_W != r->it_peak_W && r->site_count > 1 ? " (air cooled)" : "";
    pw_result_line(result, "IT", "%s idle, %s at utilization 1%s", watts(r->it_idle_W, a), watts(r->it_peak_W, b), note);
}

/* ---- One site ---- */

static void put_energy(const pw_site_result *s, const pw_facility_result *r, pw_run_result *result) {
    char a[64], b[64], c[64], d[64], e[64], f[64];
    pw_result_answer(result, "energy", "%s at the meter, %s of IT; mean %s, peak %s (%s), least %s", energy(s->meter_J, a), energy(s->it_J, b),
                     watts(s->meter_J / r->duration_s, c), watts(s->peak_W, d), date(s->peak_s, f), watts(s->least_W, e));
    if (isnan(s->itue)) pw_result_answer(result, "PUE", "%.3f (ITUE and TUE not known: the nodes' fans and supplies are not told apart)", s->pue);
    else pw_result_answer(result, "PUE", "%.3f; ITUE %.3f, TUE %.3f", s->pue, s->itue, s->tue);
}

static void put_cooling(const pw_facility_desc *d, const pw_site_result *s, pw_run_result *result) {
    const pw_site_desc *site = site_of(d, 0);
    char a[64];
    double cooling_J = 0;
    if (!site->plant) return;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++)
        if (pw_facility_part_groups[p] == PW_FACILITY_GROUP_COOLING) cooling_J += s->part_J[p];
    char held[100] = "set points held";
    if (s->excess_s > 0) snprintf(held, sizeof held, "set points held but for %.4g hours (at most %.1f K above)", s->excess_s / 3600, s->excess_K);
    pw_result_answer(result, "cooling", "%s, %.1f %% of IT; %.1f %% of the heat left without chillers; %s", energy(cooling_J, a), 100 * cooling_J / s->it_J,
                     100 * s->free_share, held);
    pw_result_figure(result, "cooling_kWh", cooling_J / KWH, "kWh");
    pw_result_figure(result, "free_share", s->free_share, "");
    pw_result_figure(result, "excess_K", s->excess_K, "K");
    pw_result_figure(result, "excess_hours", s->excess_s / 3600, "h");
    pw_result_figure(result, "liquid_share", s->capture, "");
    if (!isnan(site->trip_K)) {
        pw_result_figure(result, "idled_hours", s->idled_s / 3600, "h");
        pw_result_answer(result, "trip", "protection kept the IT idle for %.4g hours", s->idled_s / 3600);
    }
}

static void put_water(const pw_site_result *s, pw_run_result *result) {
    if (s->water_L > 0 || !isnan(s->wue_source)) {
        char source[64] = "";
        if (!isnan(s->wue_source)) snprintf(source, sizeof source, ", %.3g L/kWh with the grid's", s->wue_source);
        pw_result_answer(result, "water", "%.4g m^3, WUE %.3g L/kWh%s", s->water_L / 1000, s->wue, source);
    }
}

static void put_carbon(const pw_site_result *s, const pw_facility_result *r, pw_run_result *result) {
    char a[64], b[64], c[64], d[64];
    if (isnan(s->carbon_kg)) {
        if (!isnan(s->embodied_kg)) pw_result_answer(result, "carbon", "of making the nodes %s; the grid's is not known", mass(s->embodied_kg, a));
        return;
    }
    if (isnan(s->embodied_kg))
        pw_result_answer(result, "carbon", "%s CO2e of the grid, %s of it for idle IT; of making the nodes: not known", mass(s->carbon_kg, a), mass(s->carbon_idle_kg, b));
    else
        pw_result_answer(result, "carbon", "%s CO2e: grid %s (%s of it for idle IT), making the nodes %s (%.0f %%); %.4g g per GPU-hour used",
                         mass(s->carbon_kg + s->embodied_kg, a), mass(s->carbon_kg, b), mass(s->carbon_idle_kg, c), mass(s->embodied_kg, d),
                         100 * s->embodied_kg / (s->carbon_kg + s->embodied_kg), 1000 * (s->carbon_kg + s->embodied_kg) / (s->used_s * r->gpus / 3600));
}

static void put_cost(const pw_facility_desc *d, const pw_facility_result *r, uint32_t index, pw_run_result *result) {
    const pw_site_cost *c = r->costs ? &r->costs[index] : NULL;
    const char *currency = pw_currency_names[d->economics ? d->economics->currency : PW_CURRENCY_USD];
    char a[64], b[64], e[64], f[64], g[64], h[64];
    if (!c) {
        pw_result_answer(result, "cost", "energy %s %s", money(r->sites[index].energy_cost + r->sites[index].demand_cost, a), currency);
        return;
    }
    pw_result_answer(result, "cost", "%s %s: servers %s, network %s, building %s, maintenance %s, energy %s %s", money(c->total, a), currency, money(c->servers, b),
                     money(c->network, e), money(c->facility, f), money(c->maintenance, g), money(c->energy, h), currency);
    pw_result_answer(result, "GPU-hour", "%.3g %s over all hours, %.3g %s over used ones; energy is %.1f %%", c->per_gpu_hour, currency, c->per_used_gpu_hour, currency,
                     100 * c->energy / c->total);
    if (isnan(c->cloud)) return;
    if (c->break_even <= 1)
        pw_result_answer(result, "cloud", "%s %s for the same GPU-hours; owning is cheaper from utilization %.1f %% on", money(c->cloud, a), currency, 100 * c->break_even);
    else pw_result_answer(result, "cloud", "%s %s for the same GPU-hours; owning is not cheaper at any utilization", money(c->cloud, a), currency);
}

static void put_tokens(const pw_facility_desc *d, const pw_facility_result *r, uint32_t index, pw_run_result *result) {
    const pw_site_result *s = &r->sites[index];
    char a[64];
    double tokens = r->tokens_per_s * s->used_s;
    if (isnan(tokens)) return;
    double per_MW = tokens / (s->meter_J / 1e6), J_per_token = s->meter_J / tokens;
    pw_result_figure(result, "tokens", tokens, "tokens");
    pw_result_figure(result, "tokens_per_s_per_MW", per_MW, "tokens/s/MW");
    pw_result_figure(result, "J_per_token", J_per_token, "J");
    if (r->costs) {
        double cost = r->costs[index].per_million_tokens;
        pw_result_figure(result, "cost_per_million_tokens", cost, pw_currency_names[d->economics->currency]);
        pw_result_answer(result, "tokens", "%s per s and MW at the meter, %.3g J each; a million costs %.3g %s, %.1f %% of it energy", pw_layout_rate(per_MW, a, sizeof a), J_per_token, cost,
                         pw_currency_names[d->economics->currency], 100 * r->costs[index].energy / r->costs[index].total);
    } else pw_result_answer(result, "tokens", "%s per s and MW at the meter, %.3g J each", pw_layout_rate(per_MW, a, sizeof a), J_per_token);
}

static void put_site_figures(const pw_facility_desc *d, const pw_facility_result *r, uint32_t index, pw_run_result *result) {
    const pw_site_result *s = &r->sites[index];
    const pw_site_cost *c = r->costs ? &r->costs[index] : NULL;
    const char *unit = pw_currency_names[d->economics ? d->economics->currency : PW_CURRENCY_USD];
    const pw_figure figures[] = {{"meter_kWh", s->meter_J / KWH, "kWh"}, {"it_kWh", s->it_J / KWH, "kWh"}, {"idle_it_kWh", s->idle_it_J / KWH, "kWh"},
                                 {"pue", s->pue, ""}, {"itue", s->itue, ""}, {"tue", s->tue, ""}, {"wue", s->wue, "L/kWh"}, {"wue_source", s->wue_source, "L/kWh"},
                                 {"cue", s->cue, "kg/kWh"}, {"peak_W", s->peak_W, "W"}, {"peak_hour", floor(s->peak_s / 3600), "h"}, {"least_W", s->least_W, "W"},
                                 {"water_L", s->water_L, "L"}, {"carbon_kg", s->carbon_kg, "kg"}, {"carbon_idle_kg", s->carbon_idle_kg, "kg"},
                                 {"embodied_kg", s->embodied_kg, "kg"}, {"energy_cost", s->energy_cost, unit}, {"demand_cost", s->demand_cost, unit}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isnan(figures[i].value)) pw_result_figure(result, figures[i].name, figures[i].value, figures[i].unit);
    if (!c) return;
    const pw_figure costs[] = {{"cost_total", c->total, unit}, {"cost_servers", c->servers, unit}, {"cost_network", c->network, unit},
                               {"cost_facility", c->facility, unit}, {"cost_maintenance", c->maintenance, unit}, {"cost_energy", c->energy, unit},
                               {"cost_water", c->water, unit}, {"cost_per_gpu_hour", c->per_gpu_hour, unit}, {"cost_per_used_gpu_hour", c->per_used_gpu_hour, unit},
                               {"cost_cloud", c->cloud, unit}, {"break_even_utilization", c->break_even, ""}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (isfinite(costs[i].value)) pw_result_figure(result, costs[i].name, costs[i].value, costs[i].unit);
}

static void put_parts(const pw_site_result *s, const pw_facility_result *r, pw_run_result *result) {
    uint32_t count = 0, row = 0;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++) count += s->part_J[p] > 0;
    pw_result_row *rows = pw_result_rows(result, "part", count);
    result->bare_rows = true;
    for (int p = 0; rows && p < PW_FACILITY_PART_COUNT; p++) {
        if (!(s->part_J[p] > 0)) continue;
        rows[row].name = pw_facility_part_names[p];
        pw_row_figure(result, &rows[row], "energy_MWh", s->part_J[p] / MWH, "MWh");
        pw_row_figure(result, &rows[row], "share_%", 100 * s->part_J[p] / s->meter_J, "%");
        pw_row_figure(result, &rows[row], "mean_kW", s->part_J[p] / r->duration_s / 1e3, "kW");
        pw_row_figure(result, &rows[row++], "peak_kW", s->part_peak_W[p] / 1e3, "kW");
    }
}

/* ---- Several sites ---- */

static void put_sites(const pw_facility_desc *d, const pw_facility_result *r, pw_run_result *result) {
    pw_result_row *rows = pw_result_rows(result, "site", r->site_count);
    char name[64];
    bool split = false, water = false, carbon = false;
    for (uint32_t i = 0; i < r->site_count; i++) {
        split |= !isnan(r->sites[i].tue);
        water |= r->sites[i].water_L > 0;
        carbon |= !isnan(r->sites[i].carbon_kg);
    }
    result->bare_rows = true;
    for (uint32_t i = 0; rows && i < r->site_count; i++) {
        const pw_site_result *s = &r->sites[i];
        double kg = isnan(s->embodied_kg) ? s->carbon_kg : s->carbon_kg + s->embodied_kg;
        rows[i].name = pw_arena_text(result->arena, name_of(r, i, name));
        pw_row_figure(result, &rows[i], "PUE", s->pue, "");
        if (split) pw_row_figure(result, &rows[i], "TUE", s->tue, "");
        if (water) pw_row_figure(result, &rows[i], "WUE", s->wue, "L/kWh");
        pw_row_figure(result, &rows[i], "meter_MWh", s->meter_J / MWH, "MWh");
        pw_row_figure(result, &rows[i], "peak_kW", s->peak_W / 1e3, "kW");
        if (carbon) pw_row_figure(result, &rows[i], "CO2e_t", kg / 1e3, "t");
        pw_row_figure(result, &rows[i], "energy_cost_k", (s->energy_cost + s->demand_cost) / 1e3, pw_currency_names[d->economics ? d->economics->currency : 0]);
        if (r->costs) pw_row_figure(result, &rows[i], "per_GPU_hour", r->costs[i].per_used_gpu_hour, pw_currency_names[d->economics->currency]);
    }
}

static void put_range(const pw_facility_result *r, pw_run_result *result) {
    uint32_t best = 0, worst = 0;
    char a[64], b[64];
    for (uint32_t i = 1; i < r->site_count; i++) {
        if (r->sites[i].pue < r->sites[best].pue) best = i;
        if (r->sites[i].pue > r->sites[worst].pue) worst = i;
    }
    pw_result_answer(result, "PUE", "%.3f (%s) to %.3f (%s)", r->sites[best].pue, name_of(r, best, a), r->sites[worst].pue, name_of(r, worst, b));
}

/* ---- Where figures come from ---- */

static void note_source(const char *what, const pw_sourced *s, const char *unit, pw_run_result *result) {
    char range[80] = "";
    if (!s->row) return;
    if (!isnan(s->low) && !isnan(s->high)) snprintf(range, sizeof range, ", %.6g to %.6g", s->low, s->high);
    pw_result_note(result, "%s: %.6g %s, from '%s' (%s%s)", what, s->value, unit, s->row, s->provenance, range);
}

/* What stands behind the watts and the plants. */
static void put_models(const pw_facility_desc *d, const pw_facility_result *r, pw_run_result *result) {
    char a[64], b[64], name[64];
    if (r->server) {
        pw_result_note(result, "a busy GPU draws %s (%s); power of a node from the parts of '%s'", watts(r->gpu_busy_W, a),
                       isnan(d->demand.gpu_W) ? "the mean of GPUs at their power limit; demand.gpu_power changes it" : "as given", r->server);
        if (r->switches && r->switch_W > 0) pw_result_note(result, "%u switches of the network draw %s each", r->switches, watts(r->switch_W, b));
        else if (r->switches) pw_result_note(result, "the %u switches of the network are left out: their power is not on file; demand.switch_power gives it", r->switches);
    }
    for (uint32_t i = 0; i < r->site_count; i++) {
        const pw_site_desc *site = site_of(d, i);
        if (site->plant)
            pw_result_note(result, "%s: plant '%s', weather '%s', %.0f %% of the heat to liquid", name_of(r, i, name), site->plant->type, site->weather,
                           100 * r->sites[i].capture);
        else if (isnan(site->pue)) pw_result_note(result, "%s: nothing is said of its cooling, and none is counted", name_of(r, i, name));
    }
}

static void put_sources(const pw_facility_desc *d, const pw_facility_result *r, pw_run_result *result) {
    const char *currency = pw_currency_names[d->economics ? d->economics->currency : PW_CURRENCY_USD];
    char what[100], name[64];
    for (uint32_t i = 0; i < r->site_count; i++) {
        snprintf(what, sizeof what, "price of a kWh (%s)", name_of(r, i, name));
        note_source(what, &r->site_prices[i], currency, result);
        snprintf(what, sizeof what, "grid (%s)", name);
        note_source(what, &r->site_grids[i], "kg CO2e per kWh", result);
        if (!isnan(site_of(d, i)->pue)) pw_result_note(result, "PUE of %s is as stated: nothing of its cooling was simulated", name);
    }
    note_source("making a node", &r->embodied_kg, "kg CO2e", result);
    note_source("nodes are written off over", &r->server_years, "years", result);
    if (!r->costs) return;
    note_source("price of a node", &r->server_price, currency, result);
    note_source("network of a node", &r->network_price, currency, result);
    note_source("building for a W of IT", &r->facility_price, currency, result);
    note_source("the building is written off over", &r->facility_years, "years", result);
    note_source("maintenance of servers and network", &r->server_maintenance, "of their price a year", result);
    note_source("maintenance of the building", &r->facility_maintenance, "of its price a year", result);
    note_source("cloud", &r->cloud_price, currency, result);
    if (d->economics->currency != PW_CURRENCY_USD) note_source("exchange", &r->exchange, "CNY per USD", result);
}

/* ---- Hour by hour ---- */

static void put_series(const pw_facility_result *r, pw_run_result *result) {
    static const char *const columns[] = {"hour", "utilization", "it_W", "cooling_W", "chain_W", "meter_W", "dry_bulb_C", "wet_bulb_C", "supply_excess_K",
                                         "free_share", "water_L", "energy_cost", "carbon_kg"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    uint64_t hours = r->sites[0].hour_count, rows = hours * r->site_count;
    double *values = pw_arena_alloc(result->arena, rows * COLUMNS * sizeof *values), *value = values;
    const char **labels = pw_arena_alloc(result->arena, r->site_count * sizeof *labels);
    char name[64];
    if (!values || !labels) {
        result->is_out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < r->site_count; i++) {
        labels[i] = pw_arena_text(result->arena, name_of(r, i, name));
        if (!labels[i]) result->is_out_of_memory = true;
        for (uint64_t h = 0; h < hours; h++) {
            const pw_facility_hour *hour = &r->sites[i].hours[h];
            double seconds = fmin(3600, r->duration_s - 3600.0 * (double)h);
            const double row[COLUMNS] = {(double)h, hour->utilization, hour->it_J / seconds, hour->cooling_J / seconds, hour->chain_J / seconds,
                                         hour->meter_J / seconds, hour->dry_C, hour->wet_C, hour->excess_K, hour->free_share, hour->water_L, hour->energy_cost, hour->carbon_kg};
            memcpy(value, row, sizeof row);
            value += COLUMNS;
        }
    }
    result->series = (pw_series){.label_name = "site", .labels = labels, .block_rows = hours, .columns = columns, .column_count = COLUMNS, .row_count = rows,
                                 .values = values};
}

/* Of o.cooling a facility reads the kind and the share of heat that goes to liquid; temperatures of chips are not followed here. */
static pw_status check_cooling(const pw_job_call *call, pw_error *error) {
    const pw_cooling_desc *c = call->cluster->cooling;
    if (!c || (isnan(c->inlet_C) && isnan(c->coolant_C) && isnan(c->slot_offset_K) && c->recirculation == 0 && isnan(c->fan_share) && isnan(c->flow)))
        return PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, call->file, call->line, "leave out the other fields; site.plant sets supplies, site.node_fans the nodes' fans",
                   "cluster.cooling: a facility reads kind and capture alone");
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_facility_desc *desc = call->desc;
    pw_facility_result *r = pw_arena_alloc(result->arena, sizeof *r);
    if (!r) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    if (call->runner)
        return pw_fail(error, PW_UNSUPPORTED, call->file, call->line, "run it alone", "a facility does not run beside other jobs: it goes on for hours, not steps");
    PW_TRY(check_cooling(call, error));
    PW_TRY(pw_facility_run(call->allocator, call->catalogue, call->cluster, desc, call->seed, call->interrupt, call->file, call->line, result->arena, r, error));
    result->device = r->device;
    result->gpus = r->gpus;
    result->hash = r->hash;
    put_head(desc, r, result);
    pw_result_figure(result, "it_peak_W", r->it_peak_W, "W");
    pw_result_figure(result, "it_idle_W", r->it_idle_W, "W");
    pw_result_figure(result, "used_gpu_hours", r->used_gpu_s / 3600, "h");
    if (r->site_count == 1) {
        put_energy(&r->sites[0], r, result);
        put_cooling(desc, &r->sites[0], result);
        put_water(&r->sites[0], result);
        put_carbon(&r->sites[0], r, result);
        put_cost(desc, r, 0, result);
        put_site_figures(desc, r, 0, result);
        put_tokens(desc, r, 0, result);
        put_parts(&r->sites[0], r, result);
    } else {
        put_range(r, result);
        put_sites(desc, r, result);
    }
    put_models(desc, r, result);
    put_sources(desc, r, result);
    put_series(r, result);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_facility = {.kind = &pw_facility_kind, .reads_cooling = true, .run = run};
