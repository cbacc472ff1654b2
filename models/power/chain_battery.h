/* The battery of an uninterruptible supply: bridges the time until generators carry the load.
 *
 * Stored energy falls with the power that the inverter draws, over the efficiency of discharge, and rises with that of the charger;
 * both are constant between two changes, so the charge is a straight line and the moment it is empty is known at once. A battery without input
 * waits start_s for generators. Plain values. Units: W, J, s; times are the caller's.
 */
#ifndef PW_MODELS_POWER_CHAIN_BATTERY_H
#define PW_MODELS_POWER_CHAIN_BATTERY_H

#include "models/catalogue/catalogue.h"

#define PW_TABLE_POWER_BATTERIES "power-batteries"

typedef struct pw_battery {
    const char *name, *provenance, *source;      /* as long as the catalogue */
    double rated_W, store_J, charger_W, charge_efficiency, discharge_efficiency, start_s;
    double charge_J, since_s, load_W;            /* charge at since_s; load on the battery from then on, 0: none */
    bool input;                                  /* mains or generators are there */
} pw_battery;
/* A row of power-batteries for so much rated output; full, with input, at 0 s. PW_NOT_FOUND lists the known ones. */
pw_status pw_battery_make(const pw_catalogue *catalogue, const char *name, double rated_W, pw_battery *battery, pw_error *error);
double pw_battery_charge_J(const pw_battery *battery, double now_s); /* 0 .. store_J */
/* State of charge, 0 to 1. */
double pw_battery_state(const pw_battery *battery, double now_s);
/* From now_s on: input or not, and the load behind it. Returns when it is empty; infinite: not at this load. */
double pw_battery_set(pw_battery *battery, double now_s, bool input, double load_W);
/* What the charger draws at now_s; 0 when full or without input. */
double pw_battery_charging_W(const pw_battery *battery, double now_s);
/* How long it would carry a load from its charge at now_s. */
double pw_battery_ride_s(const pw_battery *battery, double now_s, double load_W);

#endif
