/* The account of a site: every joule at the meter is booked on one part, one hour, one price. */
#include <math.h>

#include "models/facility/site.h"

const char *const pw_facility_part_names[] = {
#define NAME(NAME, name, group) name,
    PW_FACILITY_PART_MAP(NAME)
#undef NAME
    NULL};
const pw_facility_group pw_facility_part_groups[] = {
#define GROUP(NAME, name, group) PW_FACILITY_GROUP_##group,
    PW_FACILITY_PART_MAP(GROUP)
#undef GROUP
};

void facility_sum_add(facility_sum *sum, double value) {
    double total = sum->sum + value;
    sum->carry += fabs(sum->sum) >= fabs(value) ? (sum->sum - total) + value : (value - total) + sum->sum;
    sum->sum = total;
}
double facility_sum_get(const facility_sum *sum) { return sum->sum + sum->carry; }

static double group_W(const facility_state *state, pw_facility_group group) {
    double sum = 0;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++)
        if (pw_facility_part_groups[p] == group) sum += state->W[p];
    return sum;
}

/* Shares of hours: the bins are what the hour-by-hour table shows. */
static void add_hours(facility_account *account, pw_time from, pw_time to, const facility_state *state) {
    double cooling_W = group_W(state, PW_FACILITY_GROUP_COOLING), chain_W = group_W(state, PW_FACILITY_GROUP_CHAIN);
    for (pw_time at = from; at < to;) {
        pw_time hour = at / FACILITY_HOUR, next = (hour + 1) * FACILITY_HOUR < to ? (hour + 1) * FACILITY_HOUR : to;
        double seconds = (double)(next - at) / PW_TICKS_PER_SECOND_OPERATIONS;
        pw_facility_hour *bin = &account->result->hours[hour];
        bin->utilization += state->utilization * seconds; /* divided by the hour's length at the end */
        bin->it_J += state->it_W * seconds;
        bin->cooling_J += cooling_W * seconds;
        bin->chain_J += chain_W * seconds;
        bin->meter_J += state->meter_W * seconds;
        bin->water_L += state->water_Lps * seconds;
        bin->energy_cost += state->meter_W * state->price_per_J * seconds;
        bin->wet_C += state->wet_C * seconds;
        bin->dry_C += state->dry_C * seconds;
        bin->excess_K += state->excess_K * seconds;
        bin->free_share += state->free_share * seconds;
        bin->carbon_kg += state->meter_W * state->kg_per_J * seconds;
        at = next;
    }
}

void facility_account_add(facility_account *account, pw_sim *sim, pw_time from, pw_time to, const facility_state *state) {
    if (to <= from) return;
    double seconds = (double)(to - from) / PW_TICKS_PER_SECOND_OPERATIONS, parts_W = 0, it_W = group_W(state, PW_FACILITY_GROUP_IT);
    pw_site_result *r = account->result;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++) {
        PW_LAW(sim, state->W[p] >= 0 && isfinite(state->W[p]), "parts draw power", "%s draws %g W", pw_facility_part_names[p], state->W[p]);
        parts_W += state->W[p];
        facility_sum_add(&account->part_J[p], state->W[p] * seconds);
        if (state->W[p] > r->part_peak_W[p]) r->part_peak_W[p] = state->W[p];
    }
    PW_LAW(sim, fabs(parts_W - state->meter_W) <= 1e-9 * parts_W, "power at the meter = power of the parts", "the meter has %.17g W, the parts %.17g W",
           state->meter_W, parts_W);
    PW_LAW(sim, fabs(it_W - state->it_W) <= 1e-9 * it_W, "IT power = power of its parts", "%.17g W, the parts %.17g W", state->it_W, it_W);
    double joules = state->meter_W * seconds, dynamic = state->it_W > 0 ? 1 - state->idle_it_W / state->it_W : 0;
    facility_sum_add(&account->meter_J, joules);
    facility_sum_add(&account->idle_it_J, state->idle_it_W * seconds);
    facility_sum_add(&account->water_L, state->water_Lps * seconds);
    facility_sum_add(&account->carbon_kg, joules * state->kg_per_J);
    facility_sum_add(&account->carbon_idle_kg, joules * state->kg_per_J * (1 - dynamic));
    facility_sum_add(&account->energy_cost, joules * state->price_per_J);
    facility_sum_add(&account->dynamic_cost, joules * state->price_per_J * dynamic);
    facility_sum_add(&account->heat_J, state->it_W * seconds);
    facility_sum_add(&account->free_J, state->it_W * seconds * state->free_share);
    if (state->excess_K > r->excess_K) r->excess_K = state->excess_K;
    if (state->excess_K >= 0.1) r->excess_s += seconds;
    if (state->idled) r->idled_s += seconds;
    facility_sum_add(&account->used_s, state->utilization * seconds);
    if (state->meter_W > r->peak_W) r->peak_W = state->meter_W, r->peak_s = (double)from / PW_TICKS_PER_SECOND_OPERATIONS;
    if (!(state->meter_W >= r->least_W)) r->least_W = state->meter_W;
    if (state->meter_W > account->month_peak_W) account->month_peak_W = state->meter_W;
    add_hours(account, from, to, state);
}

void facility_account_month(facility_account *account, double charge_per_kW) {
    facility_sum_add(&account->demand_cost, account->month_peak_W / 1e3 * charge_per_kW);
    account->month_peak_W = 0;
}

/* The whole is the sum of the hours, and of the parts, however they were booked. */
static void check_laws(const facility_account *account, pw_sim *sim, double parts_J) {
    const pw_site_result *r = account->result;
    facility_sum hours = {0};
    for (uint32_t h = 0; h < r->hour_count; h++) facility_sum_add(&hours, r->hours[h].meter_J);
    PW_LAW(sim, fabs(parts_J - r->meter_J) <= 1e-9 * r->meter_J, "energy at the meter = energy of the parts", "the meter has %.17g J, the parts %.17g J",
           r->meter_J, parts_J);
    PW_LAW(sim, fabs(facility_sum_get(&hours) - r->meter_J) <= 1e-9 * r->meter_J, "energy at the meter = energy of the hours",
           "the meter has %.17g J, the hours %.17g J", r->meter_J, facility_sum_get(&hours));
}

void facility_account_close(facility_account *account, pw_sim *sim, const facility_it *it, const pw_site_desc *desc) {
    pw_site_result *r = account->result;
    facility_sum it_J = {0}, parts_J = {0}, compute_J = {0};
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++) {
        r->part_J[p] = facility_sum_get(&account->part_J[p]);
        facility_sum_add(&parts_J, r->part_J[p]);
        if (pw_facility_part_groups[p] == PW_FACILITY_GROUP_IT) facility_sum_add(&it_J, r->part_J[p]);
        if (p == PW_FACILITY_COMPUTE || p == PW_FACILITY_NETWORK) facility_sum_add(&compute_J, r->part_J[p]);
    }
    r->meter_J = facility_sum_get(&account->meter_J);
    r->it_J = facility_sum_get(&it_J);
    r->idle_it_J = facility_sum_get(&account->idle_it_J);
    r->compute_J = it->split_known ? facility_sum_get(&compute_J) : NAN;
    check_laws(account, sim, facility_sum_get(&parts_J));
    r->pue = r->meter_J / r->it_J;
    r->itue = r->it_J / r->compute_J;
    r->tue = r->meter_J / r->compute_J;
    r->water_L = facility_sum_get(&account->water_L);
    double it_kWh = r->it_J / PW_JOULES_PER_KWH;
    r->wue = r->water_L / it_kWh;
    r->wue_source = r->wue + desc->grid_water_L_per_kWh * r->pue;
    r->carbon_kg = facility_sum_get(&account->carbon_kg);
    r->carbon_idle_kg = facility_sum_get(&account->carbon_idle_kg);
    r->cue = r->carbon_kg / it_kWh;
    r->energy_cost = facility_sum_get(&account->energy_cost);
    r->dynamic_energy_cost = facility_sum_get(&account->dynamic_cost);
    r->demand_cost = facility_sum_get(&account->demand_cost);
    r->water_cost = r->water_L / 1e3 * desc->water_price;
    r->used_s = facility_sum_get(&account->used_s);
    r->free_share = facility_sum_get(&account->free_J) / facility_sum_get(&account->heat_J);
    for (uint32_t h = 0; h < r->hour_count; h++) {
        pw_facility_hour *hour = &r->hours[h];
        double *const means[] = {&hour->utilization, &hour->wet_C, &hour->dry_C, &hour->excess_K, &hour->free_share};
        for (size_t i = 0; i < sizeof means / sizeof *means; i++) *means[i] /= fmin(3600, pw_sim_seconds(sim) - 3600.0 * h);
    }
}
