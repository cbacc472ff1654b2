/* One site under simulation: what its parts draw between two events, and the account of it. */
#ifndef PW_MODELS_FACILITY_SITE_H
#define PW_MODELS_FACILITY_SITE_H

#include "models/facility/facility.h"
#include "models/facility/steps.h"
#include "models/power/chain.h"

/* Power of all IT by part, at utilization 0 and 1; nodes are busy or idle, so it is linear between. */
typedef struct facility_it {
    double idle_W[PW_FACILITY_PART_COUNT], peak_W[PW_FACILITY_PART_COUNT];
    bool split_known; /* fans and supplies are told apart */
} facility_it;
double facility_it_at(const facility_it *it, double utilization, double *W); /* adds to W by part; returns the sum */

/* The way from the meter: what carries the IT alone, and what carries all. Stages lose power by their load. */
typedef struct facility_chain {
    pw_power_chain critical, common; /* nearest to the racks first */
    pw_facility_part critical_part[PW_CHAIN_STAGES], common_part[PW_CHAIN_STAGES];
} facility_chain;
/* Of the rows that a site names, rated for an IT peak. where: the site in messages. */
pw_status facility_chain_make(const pw_catalogue *catalogue, const pw_site_desc *site, double it_peak_W, const char *where, facility_chain *chain,
                              pw_error *error);
/* Adds losses to W by part; returns what the meter reads. other_W: all that is no IT. */
double facility_chain_at(const facility_chain *chain, double it_W, double other_W, double *W);

/* A sum that keeps what rounding drops (Neumaier 1974). */
typedef struct facility_sum {
    double sum, carry;
} facility_sum;
void facility_sum_add(facility_sum *sum, double value);
double facility_sum_get(const facility_sum *sum);

/* What holds between two events: constant power, or its exact mean. */
typedef struct facility_state {
    double W[PW_FACILITY_PART_COUNT];
    double meter_W;  /* as the feed has it, not as the sum of the parts */
    double idle_it_W; /* IT at utilization 0 */
    double it_W;
    double utilization, price_per_J, kg_per_J, water_Lps;
} facility_state;

typedef struct facility_account {
    facility_sum part_J[PW_FACILITY_PART_COUNT], meter_J, idle_it_J, water_L, carbon_kg, carbon_idle_kg, energy_cost, dynamic_cost, used_s, demand_cost;
    double month_peak_W;
    pw_site_result *result; /* peaks, hours */
} facility_account;
/* Books the time from `from` to `to`. */
void facility_account_add(facility_account *account, pw_sim *sim, pw_time from, pw_time to, const facility_state *state);
void facility_account_month(facility_account *account, double charge_per_kW); /* the month is over */
/* Sums, ratios and laws, into the result. */
void facility_account_close(facility_account *account, pw_sim *sim, const facility_it *it, const pw_site_desc *desc);

/* Everything a site's run needs. Factors without a source are NaN and so are their sums. */
typedef struct facility_run {
    const pw_allocator *allocator;
    const facility_it *it;
    const facility_chain *chain;
    const pw_site_desc *desc;
    const facility_steps *demand, *price, *grid; /* price: per kWh; grid: kg per kWh; count 0: not known */
    pw_time end;
    uint64_t seed;
    const volatile int *interrupt;
} facility_run;
pw_status facility_site_run(const facility_run *run, pw_arena *arena, pw_site_result *result, pw_error *error);

#endif
