/* One site under simulation: what its parts draw between two events, and the account of it. */
#ifndef PW_MODELS_FACILITY_SITE_H
#define PW_MODELS_FACILITY_SITE_H

#include "models/facility/it.h"
#include "models/facility/steps.h"
#include "models/cooling/thermal.h"
#include "models/power/chain.h"

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
    double wet_C, dry_C, excess_K, free_share; /* NaN without a plant */
    bool idled;
} facility_state;

typedef struct facility_account {
    facility_sum part_J[PW_FACILITY_PART_COUNT], meter_J, idle_it_J, water_L, carbon_kg, carbon_idle_kg, energy_cost, dynamic_cost, used_s, demand_cost, heat_J, free_J;
    double month_peak_W;
    pw_site_result *result; /* peaks, hours */
} facility_account;
/* Books the time from `from` to `to`. */
void facility_account_add(facility_account *account, pw_sim *sim, pw_time from, pw_time to, const facility_state *state);
void facility_account_month(facility_account *account, double charge_per_kW); /* the month is over */
/* Sums, ratios and laws, into the result. */
void facility_account_close(facility_account *account, pw_sim *sim, const facility_it *it, const pw_site_desc *desc);

/* The plant and the water between it and the racks. The water is one heat capacity: it gains the IT's heat and loses
 * conductance x (above - excess) to the plant, where `above` is its temperature over its place without heat and `excess` how much warmer it must get
 * in this weather, or with what has failed, before the plant takes that heat. Advanced exactly (models/cooling/thermal.h). */
typedef struct facility_loop {
    pw_plant *plant;
    pw_weather *weather;
    pw_thermal lagged, stopped; /* with the conductance to the plant; without */
    double capture, conductance_WpK, capacity_JpK, it_peak_W;
    double above_K, excess_K;
    bool is_stopped;            /* the plant takes taken_W whatever the water does, until the next look */
    double taken_W;
    pw_plant_state looked;      /* the steady state at the last look, for looked_W and looked_at */
    double looked_W;
    pw_weather_point looked_at;
    bool is_hurt;               /* a part has failed: whoever changes what works sets it, and looked_W to NaN */
} facility_loop;
/* *it: the air-cooled IT with the fans that are left. where: the site in messages; path: of a weather file, or NULL. After a failure
 * too, facility_loop_end. */
pw_status facility_loop_make(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_site_desc *site,
                             const char *where, const char *path, const facility_it *air, facility_loop *loop, facility_it *it, pw_error *error);
void facility_loop_end(facility_loop *loop);
/* The water is where this heat leads to. */
pw_status facility_loop_settle(facility_loop *loop, double it_W, const pw_weather_point *weather, pw_error *error);
/* Something has changed: what the plant can do from now on with this heat. */
pw_status facility_loop_look(facility_loop *loop, double it_W, const pw_weather_point *weather, pw_error *error);
/* Advances by seconds of it_W and fills the state's cooling, water and weather. Law: heat in = heat taken + heat stored. */
pw_status facility_loop_advance(facility_loop *loop, pw_sim *sim, double it_W, double seconds, const pw_weather_point *weather, facility_state *state,
                                pw_error *error);
/* Seconds to the next moment that is worth a look while the water settles; infinity: it has settled. */
double facility_loop_next_look_s(const facility_loop *loop, double it_W);
/* Seconds until the water is `above_K`; infinity: not within a year. */
double facility_loop_time_to_s(const facility_loop *loop, double it_W, double above_K);
/* Whether the plant as it is holds so much heat below that mark. */
pw_status facility_loop_would_hold(const facility_loop *loop, double it_W, double above_K, const pw_weather_point *weather, bool *holds, pw_error *error);

/* Everything a site's run needs. Factors without a source are NaN and so are their sums. */
typedef struct facility_run {
    const pw_allocator *allocator;
    const facility_it *it;
    const facility_chain *chain;
    facility_loop *loop; /* NULL: no plant */
    const pw_site_desc *desc;
    const facility_steps *demand, *price, *grid; /* price: per kWh; grid: kg per kWh; count 0: not known */
    pw_time end;
    uint64_t seed;
    const volatile int *interrupt;
} facility_run;
pw_status facility_site_run(const facility_run *run, pw_arena *arena, pw_site_result *result, pw_error *error);

#endif
