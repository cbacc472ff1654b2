#include "models/power/chain_battery.h"

#include <math.h>

pw_status pw_battery_make(const pw_catalogue *catalogue, const char *name, double rated_W, pw_battery *battery, pw_error *error) {
    const pw_table *table;
    char hint[300];
    double store_s, charge;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_POWER_BATTERIES, &table, error));
    int found = pw_table_find_row(table, name);
    if (found < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "batteries:", hint, sizeof hint), "no battery '%.60s'", name);
    if (!(rated_W > 0) || !isfinite(rated_W)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a battery for %g W", rated_W);
    size_t row = (size_t)found;
    pw_battery made = {.name = pw_table_text_at(table, row, 0), .provenance = pw_table_text_of(table, row, "provenance"),
                       .source = pw_table_text_of(table, row, "source"), .rated_W = rated_W, .input = true};
    PW_TRY(pw_table_amount_of(table, row, "store", &store_s, error));
    PW_TRY(pw_table_amount_of(table, row, "charge", &charge, error));
    PW_TRY(pw_table_amount_of(table, row, "charge_efficiency", &made.charge_efficiency, error));
    PW_TRY(pw_table_amount_of(table, row, "discharge_efficiency", &made.discharge_efficiency, error));
    PW_TRY(pw_table_amount_of(table, row, "start", &made.start_s, error));
    if (!(made.charge_efficiency > 0 && made.charge_efficiency <= 1 && made.discharge_efficiency > 0 && made.discharge_efficiency <= 1))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL, "battery '%s': efficiencies lie between 0 and 1", made.name);
    made.charger_W = charge * rated_W;
    made.store_J = made.charge_J = store_s * rated_W / made.discharge_efficiency; /* what it gives at rated load for store_s */
    *battery = made;
    return PW_OK;
}

static double rate_W(const pw_battery *battery) { /* of the charge, limits apart */
    return battery->input ? battery->charger_W * battery->charge_efficiency : -battery->load_W / battery->discharge_efficiency;
}

double pw_battery_charge_J(const pw_battery *battery, double now_s) {
    return fmax(0, fmin(battery->store_J, battery->charge_J + rate_W(battery) * (now_s - battery->since_s)));
}

double pw_battery_state(const pw_battery *battery, double now_s) { return pw_battery_charge_J(battery, now_s) / battery->store_J; }

double pw_battery_set(pw_battery *battery, double now_s, bool input, double load_W) {
    PW_CHECK(now_s >= battery->since_s && load_W >= 0);
    battery->charge_J = pw_battery_charge_J(battery, now_s);
    battery->since_s = now_s;
    battery->input = input;
    battery->load_W = load_W;
    return input ? INFINITY : now_s + pw_battery_ride_s(battery, now_s, load_W);
}

double pw_battery_charging_W(const pw_battery *battery, double now_s) {
    return battery->input && pw_battery_charge_J(battery, now_s) < battery->store_J ? battery->charger_W : 0;
}

double pw_battery_ride_s(const pw_battery *battery, double now_s, double load_W) {
    return load_W > 0 ? pw_battery_charge_J(battery, now_s) * battery->discharge_efficiency / load_W : INFINITY;
}
