/* A site's simulation: events close the time since the last one with the power that held meanwhile.
 *
 * Every series (demand, price, grid) has one event pending, at its next change. A handler changes one input; the account is
 * booked before the first change of an instant. */
#include <math.h>
#include <string.h>

#include "models/facility/site.h"

#define JOULES_PER_KWH 3.6e6

enum { SERIES_DEMAND, SERIES_PRICE, SERIES_GRID, SERIES_COUNT };

typedef struct site_sim {
    const facility_run *run;
    pw_sim *sim;
    const facility_steps *series[SERIES_COUNT];
    double value[SERIES_COUNT]; /* NaN: not known */
    pw_time booked;             /* the account holds what was before */
    facility_account account;
} site_sim;

double facility_it_at(const facility_it *it, double utilization, double *W) {
    double sum = 0;
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++) {
        double watts = it->idle_W[p] + utilization * (it->peak_W[p] - it->idle_W[p]);
        W[p] += watts;
        sum += watts;
    }
    return sum;
}

/* What the parts drew from s->booked to now. */
static void draw(site_sim *s, facility_state *state) {
    const pw_site_desc *desc = s->run->desc;
    double none[PW_FACILITY_PART_COUNT] = {0}, peak[PW_FACILITY_PART_COUNT] = {0};
    *state = (facility_state){.utilization = s->value[SERIES_DEMAND], .price_per_J = s->value[SERIES_PRICE] / JOULES_PER_KWH,
                              .kg_per_J = s->value[SERIES_GRID] / JOULES_PER_KWH, .idle_it_W = facility_it_at(s->run->it, 0, none)};
    state->it_W = facility_it_at(s->run->it, state->utilization, state->W);
    state->W[PW_FACILITY_OTHER] = desc->other_share * facility_it_at(s->run->it, 1, peak);
    if (!isnan(desc->pue)) {
        state->W[PW_FACILITY_STATED] = (desc->pue - 1) * state->it_W;
        state->meter_W = desc->pue * state->it_W;
    } else state->meter_W = facility_chain_at(s->run->chain, state->it_W, state->W[PW_FACILITY_OTHER], state->W);
}

/* Books everything before this instant; the first event of an instant does it. */
static void book(site_sim *s) {
    pw_time now = pw_sim_now(s->sim);
    if (now == s->booked) return;
    facility_state state;
    draw(s, &state);
    facility_account_add(&s->account, s->sim, s->booked, now, &state);
    s->booked = now;
}

static void next_value(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    uint32_t which = (uint32_t)(argument >> 32), index = (uint32_t)argument;
    const facility_steps *series = s->series[which];
    book(s);
    s->value[which] = series->value[index];
    if (index + 1 < series->count) pw_event_at(sim, series->at[index + 1], 0, next_value, s, argument + 1);
}

static void next_month(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    book(s);
    facility_account_month(&s->account, s->run->desc->demand_charge);
    pw_event_at(sim, facility_next_month(pw_sim_now(sim)), 0, next_month, s, argument);
}

static void start(site_sim *s) {
    const facility_run *run = s->run;
    const facility_steps *series[SERIES_COUNT] = {run->demand, run->price, run->grid};
    for (uint32_t i = 0; i < SERIES_COUNT; i++) {
        s->series[i] = series[i];
        s->value[i] = NAN;
        if (series[i]->count) pw_event_at(s->sim, 0, 0, next_value, s, (uint64_t)i << 32);
    }
    if (run->desc->demand_charge > 0) pw_event_at(s->sim, facility_next_month(0), 0, next_month, s, 0);
}

static pw_status simulate(site_sim *s, pw_error *error) {
    const facility_run *run = s->run;
    start(s);
    pw_status status = pw_sim_run(s->sim, run->end);
    if (status == PW_OK) {
        book(s);
        if (run->desc->demand_charge > 0) facility_account_month(&s->account, run->desc->demand_charge);
        facility_account_close(&s->account, s->sim, run->it, run->desc);
        status = pw_sim_error(s->sim)->status; /* a law may have been broken after the run */
    }
    if (status != PW_OK && error) *error = *pw_sim_error(s->sim);
    s->account.result->events = pw_sim_events_fired(s->sim);
    return status;
}

pw_status facility_site_run(const facility_run *run, pw_arena *arena, pw_site_result *result, pw_error *error) {
    site_sim s = {.run = run};
    *result = (pw_site_result){.name = run->desc->name, .least_W = NAN, .embodied_kg = NAN,
                               .hour_count = (uint32_t)((run->end + FACILITY_HOUR - 1) / FACILITY_HOUR)};
    result->hours = pw_arena_alloc(arena, result->hour_count * sizeof *result->hours);
    if (!result->hours) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the hours of a site");
    s.account.result = result;
    const pw_sim_config config = {.allocator = run->allocator, .ticks_per_second = PW_TICKS_PER_SECOND_OPERATIONS, .seed = run->seed};
    PW_TRY(pw_sim_create(&config, &s.sim, error));
    pw_sim_watch(s.sim, run->interrupt);
    pw_status status = simulate(&s, error);
    pw_sim_destroy(s.sim);
    return status;
}
