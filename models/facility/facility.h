/* A site over hours to years: what its meter reads, where the energy goes, what it emits, drinks and costs.
 *
 * A facility is a demand (how busy the cluster is, as a step function of time) met on one or more sites. A site is a climate, a
 * cooling plant, a power chain, a tariff and a grid; several sites answer one demand side by side. Each site is a simulation of its own
 * with ticks of 1 ns: events are changes of weather, load, price and grid factor, beginnings of months, failures of plant parts and, after each change, the
 * settling of the cooling loop; between events nothing is computed, so that steady phases are jumped. Power is constant or an exact mean
 * between two events, and every joule at the meter is booked on one part (a law, to 1e-9).
 *
 * The calendar has years of 365 days; time 0 is 00:00 on 1 January. Money is in the currency of the description, energy in J, water in
 * litres, carbon in kg of CO2e.
 */
#ifndef PW_MODELS_FACILITY_H
#define PW_MODELS_FACILITY_H

#include "models/cooling/plant.h"
#include "models/node/cluster.h"

#define PW_JOULES_PER_KWH 3.6e6
#define PW_SECONDS_PER_YEAR (365.0 * 86400)
#include "sim/event.h"
#include "sim/registry.h"

/* ---- Description ---- */

typedef enum pw_demand_profile { PW_DEMAND_CONSTANT, PW_DEMAND_WEEK, PW_DEMAND_PHASES, PW_DEMAND_FILE } pw_demand_profile;
extern const char *const pw_demand_profile_names[];

/* One step of a mix of jobs. */
typedef struct pw_phase_desc {
    double duration_s, utilization;
} pw_phase_desc;
extern const pw_kind pw_phase_kind; /* "phase" */

/* How busy the cluster is: 0 (all nodes idle) to 1 (all at the power of a busy node). Numbers left out are NaN. */
typedef struct pw_demand_desc {
    int profile;          /* pw_demand_profile */
    double utilization;   /* CONSTANT: always; WEEK: in working hours */
    double night, weekend; /* WEEK: outside working hours; on Saturday and Sunday. NaN: as utilization */
    double day_from_s, day_to_s; /* WEEK: working hours, from midnight */
    pw_list phases;       /* PHASES: of pw_one_of: pw_phase_desc; repeated to the end */
    const char *file;     /* FILE: CSV with the column utilization or it_power_W, and hour or one row an hour */
    double gpu_W;         /* a busy GPU; NaN: what GPUs held by their cap draw on average */
    double switch_W;      /* a switch of the network; NaN: the catalogue's */
    double idle_W, peak_W; /* of all IT at utilization 0 and 1, in place of the cluster's nodes */
    double fan_share, supply_loss_share; /* of these watts; NaN: not known, and so is ITUE */
} pw_demand_desc;
extern const pw_kind pw_demand_kind; /* "demand" */

/* A part of the plant that works only in part for a while. */
typedef struct pw_plant_failure_desc {
    int part;                /* pw_plant_part */
    double at_s, duration_s; /* duration NaN: to the end */
    double left;             /* share that still works */
} pw_plant_failure_desc;
extern const pw_kind pw_plant_failure_kind; /* "plant_failure" */

typedef struct pw_site_desc {
    const char *name;
    const char *weather;     /* a climate, or a file; NULL: no plant */
    pw_plant_desc *plant;    /* NULL: nothing cools */
    double capture;          /* share of the IT's heat that goes to liquid; NaN: by plant and nodes */
    double node_fans;        /* power of the nodes' fans over that without liquid; NaN: by the law of fan_factor (docs/models/facility.md) */
    double trip_K;           /* the IT goes idle when the loops' water is so far above its steady place; NaN: never */
    pw_list failures;        /* of pw_one_of: pw_plant_failure_desc */
    double pue;              /* stated, in place of a simulated plant and chain; NaN: simulate */
    pw_list chain;           /* of const char *: rows of power-stages from the racks to the meter; empty: no losses on the way */
    double chain_share;      /* of their rated output that stages carry at the IT's peak */
    double other_share;      /* lighting, offices: share of IT power */
    const char *price;       /* row of prices, in money per kWh */
    double price_per_kWh;    /* in place of the row, in the currency of the result; NaN: the row */
    const char *tariff;      /* rows of the table tariffs: factors on the price by hour; NULL: none */
    const char *tariff_file; /* CSV: price per kWh by hour */
    double demand_charge;    /* money per kW of a month's peak */
    const char *grid;        /* row of prices, in kgCO2e/kWh */
    double grid_kg_per_kWh;  /* in place of the row */
    const char *grid_file;   /* CSV: kg_per_kWh by hour */
    double grid_water_L_per_kWh; /* water that the grid drinks for a kWh; NaN: not asked */
    double water_price;      /* money per m^3 */
} pw_site_desc;
extern const pw_kind pw_site_kind; /* "site" */

/* Capital and what stands against it. Numbers left out come from rows of prices. */
typedef struct pw_economics_desc {
    int currency;                 /* pw_currency */
    double server_price, network_price, facility_price_per_W; /* a node; a node's share of the network; a W of IT power */
    double server_years, facility_years; /* straight line to 0 */
    double server_maintenance, facility_maintenance; /* shares of their price a year */
    const char *cloud;            /* row of prices, in money per GPU-h; NULL: no comparison */
    double cloud_price, cloud_discount, cloud_gpu_share; /* per GPU-h; share off; share of the bill that GPUs are */
    double embodied_kg;           /* of a node; NaN: the table embodied-carbon */
} pw_economics_desc;
extern const pw_kind pw_economics_kind; /* "economics" */
typedef enum pw_currency { PW_CURRENCY_USD, PW_CURRENCY_CNY } pw_currency;
extern const char *const pw_currency_names[];

typedef struct pw_facility_desc {
    const char *name;
    double duration_s;
    int new_year;               /* weekday of 1 January: 0 Monday ... 6 Sunday */
    pw_demand_desc demand;
    pw_list sites;              /* of pw_one_of: pw_site_desc; at least 1 */
    pw_economics_desc *economics; /* NULL: no money but energy */
    double tokens_per_s;        /* that the cluster yields at utilization 1; NaN: not asked */
} pw_facility_desc;
extern const pw_kind pw_facility_kind; /* "facility" */

/* ---- Result ---- */

/* What the energy at the meter went into: (NAME, name, group). Groups in order: it, chain, cooling, other. */
#define PW_FACILITY_PART_MAP(X)                    \
    X(COMPUTE, "compute", IT)                      \
    X(NETWORK, "network", IT)                      \
    X(FANS, "node fans", IT)                       \
    X(SUPPLIES, "power supplies", IT)              \
    X(RACK, "rack distribution", CHAIN)            \
    X(UPS, "ups", CHAIN)                           \
    X(TRANSFORMER, "transformer", CHAIN)           \
    X(CDU_PUMPS, "cdu pumps", COOLING)             \
    X(WATER_PUMPS, "water pumps", COOLING)         \
    X(CHILLERS, "chillers", COOLING)               \
    X(TOWER_FANS, "tower fans", COOLING)           \
    X(AIR_FANS, "air handlers", COOLING)           \
    X(STATED, "overhead as stated", OTHER)         \
    X(OTHER, "lighting and other", OTHER)
typedef enum pw_facility_part {
#define PW_FACILITY_ENUM(NAME, name, group) PW_FACILITY_##NAME,
    PW_FACILITY_PART_MAP(PW_FACILITY_ENUM)
#undef PW_FACILITY_ENUM
    PW_FACILITY_PART_COUNT
} pw_facility_part;
typedef enum pw_facility_group { PW_FACILITY_GROUP_IT, PW_FACILITY_GROUP_CHAIN, PW_FACILITY_GROUP_COOLING, PW_FACILITY_GROUP_OTHER } pw_facility_group;
extern const char *const pw_facility_part_names[];
extern const pw_facility_group pw_facility_part_groups[];

/* One hour of the span; the last may be shorter. */
typedef struct pw_facility_hour {
    double utilization, it_J, cooling_J, chain_J, meter_J, water_L, energy_cost, carbon_kg; /* utilization: mean */
    double wet_C, dry_C, excess_K, free_share; /* means: weather; supply above its set point; heat that left without chillers */
} pw_facility_hour;

typedef struct pw_site_result {
    const char *name;
    double part_J[PW_FACILITY_PART_COUNT], part_peak_W[PW_FACILITY_PART_COUNT];
    double meter_J, it_J, idle_it_J;  /* idle_it_J: what the IT would have drawn at utilization 0 all the time */
    double compute_J;                 /* past the nodes' supplies and fans; NaN: not known */
    double pue, itue, tue;            /* NaN: not known */
    double wue, wue_source, cue;      /* L, L and kg per kWh of IT; wue_source NaN: not asked */
    double peak_W, peak_s, least_W;   /* of the meter, between two events; peak_s: when */
    double water_L;
    double carbon_kg, carbon_idle_kg, embodied_kg; /* operational; of it the share of idle IT; of the span. NaN: not known */
    double energy_cost, demand_cost, water_cost;   /* NaN: no economics */
    double dynamic_energy_cost;       /* of energy_cost, for what IT draws above idle */
    pw_facility_hour *hours;
    uint32_t hour_count;
    double excess_K, excess_s;        /* most that a supply was above its set point; for how long it was, by 0.1 K or more */
    double free_share;                /* of the heat, that left without chillers; NaN: no plant */
    double used_s;                    /* utilization x time, less what protection took */
    double idled_s;                   /* that protection kept the IT idle */
    double capture;                   /* share of heat to liquid; NaN: no plant */
    double it_peak_W;
    uint64_t events;
} pw_site_result;

/* A figure that came out of the catalogue or the description, with where from. */
typedef struct pw_sourced {
    double value;
    const char *row, *provenance; /* row NULL: given in the description */
    double low, high;             /* NaN: not known */
} pw_sourced;

/* Money of one site over the span. */
typedef struct pw_site_cost {
    double servers, network, facility;      /* depreciation */
    double maintenance, energy, water;      /* energy with demand charges */
    double total;
    double per_gpu_hour, per_used_gpu_hour; /* over all hours of all GPUs; over those used */
    double per_million_tokens;              /* NaN: no throughput */
    double cloud;                           /* the used GPU-hours, bought; NaN: not asked */
    double break_even;                      /* utilization from which owning is cheaper; infinity: never; NaN: not asked */
} pw_site_cost;

typedef struct pw_facility_result {
    const pw_device *device;
    uint32_t gpus, nodes;
    double used_gpu_s;                 /* utilization x GPUs x time */
    double it_peak_W, it_idle_W;       /* at utilization 1 and 0, air cooled */
    const char *server;                /* whose parts these watts come from; NULL: given */
    double gpu_busy_W, switch_W;       /* NaN: given as a sum; switch_W 0: not known */
    uint32_t switches;
    double tokens_per_s;               /* at utilization 1; NaN: not asked */
    double capex_servers, capex_network, capex_facility;
    pw_sourced server_price, network_price, facility_price, server_years, facility_years, server_maintenance, facility_maintenance, cloud_price,
        exchange, embodied_kg;
    pw_site_result *sites;
    pw_site_cost *costs;               /* NULL: no economics */
    const pw_sourced *site_prices, *site_grids; /* per site */
    uint32_t site_count;
    double duration_s;
    uint64_t hash;
} pw_facility_result;

/* Everything of *result is the arena's. File names in the description are relative to the folder of `file` and lie in it or
 * below. Messages about a field say facility.sites[1].FIELD, economics.FIELD, ... and file:line. */
pw_status pw_facility_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                          const pw_facility_desc *desc, uint64_t seed, const volatile int *interrupt, const char *file, int line,
                          pw_arena *arena, pw_facility_result *result, pw_error *error);

#endif
