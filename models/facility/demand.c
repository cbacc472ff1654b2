/* Profiles of demand, laid out over the span. */
#include "models/facility/demand.h"

#include <math.h>

static double given_or(double value, double otherwise) { return isnan(value) ? otherwise : value; }
static pw_time ticks(double seconds) { return pw_time_from_seconds(seconds, PW_TICKS_PER_SECOND_OPERATIONS); }

static pw_status week(const pw_demand_desc *d, int new_year, pw_time end, pw_arena *arena, facility_steps *steps, pw_error *error) {
    double day = given_or(d->utilization, 1), night = given_or(d->night, day), weekend = given_or(d->weekend, night);
    pw_time from = ticks(given_or(d->day_from_s, 8 * 3600)), to = ticks(given_or(d->day_to_s, 20 * 3600));
    for (pw_time at = 0; at < end; at += FACILITY_DAY) {
        bool is_weekend = facility_weekday(at, new_year) >= 5;
        PW_TRY(facility_steps_add(steps, arena, at, is_weekend ? weekend : night, error));
        if (is_weekend) continue;
        if (at + from < end) PW_TRY(facility_steps_add(steps, arena, at + from, day, error));
        if (at + to < end) PW_TRY(facility_steps_add(steps, arena, at + to, night, error));
    }
    return PW_OK;
}

static pw_status phases(const pw_demand_desc *d, pw_time end, pw_arena *arena, facility_steps *steps, pw_error *error) {
    const pw_one_of *items = d->phases.items;
    for (pw_time at = 0; at < end;)
        for (uint32_t i = 0; i < d->phases.count && at < end; i++) {
            const pw_phase_desc *phase = items[i].record;
            PW_TRY(facility_steps_add(steps, arena, at, phase->utilization, error));
            at += ticks(phase->duration_s);
        }
    return PW_OK;
}

static pw_status from_file(pw_time end, const char *path, double idle_W, double peak_W, const pw_allocator *allocator, pw_arena *arena,
                           facility_steps *steps, pw_error *error) {
    const facility_column columns[] = {{"utilization", 0, 1}, {"it_power_W", idle_W, peak_W}, {NULL}};
    int found;
    PW_TRY(facility_read_steps(path, columns, &found, end, allocator, arena, steps, error));
    for (uint32_t i = 0; found == 1 && i < steps->count; i++)
        steps->value[i] = peak_W > idle_W ? (steps->value[i] - idle_W) / (peak_W - idle_W) : 1;
    return PW_OK;
}

pw_status facility_demand(const pw_demand_desc *desc, int new_year, pw_time end, const char *path, double idle_W, double peak_W,
                          const pw_allocator *allocator, pw_arena *arena, facility_steps *steps, pw_error *error) {
    switch ((pw_demand_profile)desc->profile) {
    case PW_DEMAND_CONSTANT: return facility_steps_add(steps, arena, 0, given_or(desc->utilization, 1), error);
    case PW_DEMAND_WEEK: return week(desc, new_year, end, arena, steps, error);
    case PW_DEMAND_PHASES: return phases(desc, end, arena, steps, error);
    case PW_DEMAND_FILE: return from_file(end, path, idle_W, peak_W, allocator, arena, steps, error);
    }
    return PW_OK;
}
