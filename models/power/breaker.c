#include "models/power/breaker.h"

#include <math.h>

#include "sim/math.h"

pw_status pw_breaker_make(const pw_catalogue *catalogue, const char *name, double rated_W, pw_breaker *breaker, pw_error *error) {
    const pw_table *table;
    char hint[300];
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_BREAKERS, &table, error));
    int found = pw_table_find_row(table, name);
    if (found < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "breakers:", hint, sizeof hint), "no breaker '%.60s'", name);
    if (!(rated_W > 0) || !isfinite(rated_W)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a breaker rated for %g W", rated_W);
    size_t row = (size_t)found;
    pw_breaker made = {.name = pw_table_text_at(table, row, 0), .provenance = pw_table_text_of(table, row, "provenance"),
                       .source = pw_table_text_of(table, row, "source"), .rated_W = rated_W, .trips_s = INFINITY};
    PW_TRY(pw_table_amount_of(table, row, "pickup", &made.pickup, error));
    PW_TRY(pw_table_amount_of(table, row, "time_constant", &made.tau_s, error));
    PW_TRY(pw_table_amount_of(table, row, "instantaneous", &made.instantaneous, error));
    PW_TRY(pw_table_amount_of(table, row, "clearing", &made.clearing_s, error));
    PW_TRY(pw_table_amount_of(table, row, "continuous", &made.continuous, error));
    if (!(made.pickup >= 1) || !(made.tau_s > 0) || !(made.instantaneous > made.pickup) || !(made.continuous > 0 && made.continuous <= 1))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL,
                       "breaker '%s' needs 1 <= pickup < instantaneous, a time constant above 0 and a continuous share up to 100 %%", made.name);
    *breaker = made;
    return PW_OK;
}

double pw_breaker_theta(const pw_breaker *breaker, double now_s) {
    double target = breaker->share * breaker->share;
    return target + (breaker->theta - target) * pw_exp(-(now_s - breaker->since_s) / breaker->tau_s);
}

/* Time from theta to the trip at a constant share. */
static double until_trip(const pw_breaker *breaker, double theta, double share) {
    double limit = breaker->pickup * breaker->pickup, target = share * share, thermal = INFINITY;
    if (theta >= limit) thermal = 0;
    else if (share > breaker->pickup) thermal = breaker->tau_s * pw_log((target - theta) / (target - limit));
    return share >= breaker->instantaneous ? fmin(thermal, breaker->clearing_s) : thermal;
}

static void go_on(pw_breaker *breaker, double now_s, double share) {
    PW_CHECK(now_s >= breaker->since_s && share >= 0 && isfinite(share));
    breaker->theta = pw_breaker_theta(breaker, now_s);
    breaker->since_s = now_s;
    breaker->share = share;
}

double pw_breaker_load(pw_breaker *breaker, double now_s, double load_W) {
    go_on(breaker, now_s, breaker->open ? 0 : load_W / breaker->rated_W);
    breaker->trips_s = breaker->open ? INFINITY : now_s + until_trip(breaker, breaker->theta, breaker->share);
    return breaker->trips_s;
}

void pw_breaker_open(pw_breaker *breaker, double now_s) {
    go_on(breaker, now_s, 0);
    breaker->open = true;
    breaker->trips_s = INFINITY;
}

pw_status pw_breaker_close(pw_breaker *breaker, double now_s, pw_error *error) {
    go_on(breaker, now_s, 0);
    if (breaker->theta >= breaker->pickup * breaker->pickup)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "let it cool down first", "breaker '%s' is still too hot to close", breaker->name);
    breaker->open = false;
    return PW_OK;
}

double pw_breaker_continuous_W(const pw_breaker *breaker) { return breaker->continuous * breaker->rated_W; }

double pw_breaker_trip_time_s(const pw_breaker *breaker, double share_before, double share) {
    return until_trip(breaker, share_before * share_before, share);
}
