/* A site's simulation: events close the time since the last one with the power that held meanwhile.
 *
 * Every series (demand, price, grid) has one event pending, at its next change. A handler changes one input; the account is
 * booked before the first change of an instant. */
#include <math.h>
#include <string.h>

#include "models/facility/site.h"

enum { SERIES_DEMAND, SERIES_PRICE, SERIES_GRID, SERIES_COUNT };

typedef struct site_sim {
    const facility_run *run;
    pw_sim *sim;
    const facility_steps *series[SERIES_COUNT];
    double value[SERIES_COUNT]; /* NaN: not known */
    pw_time booked;             /* the account holds what was before */
    facility_account account;
    /* With a plant: */
    pw_weather_point weather;
    bool begun, idled; /* idled: by protection */
    int hook;
    pw_event_id look, trip;
} site_sim;

static double it_W(const site_sim *s, double utilization) {
    double none[PW_FACILITY_PART_COUNT] = {0};
    return facility_it_at(s->run->it, utilization, none);
}
static double utilization(const site_sim *s) { return s->idled ? 0 : s->value[SERIES_DEMAND]; }

/* What the parts drew from s->booked to now. */
static pw_status draw(site_sim *s, double seconds, facility_state *state, pw_error *error) {
    const pw_site_desc *desc = s->run->desc;
    *state = (facility_state){.utilization = utilization(s), .price_per_J = s->value[SERIES_PRICE] / PW_JOULES_PER_KWH,
                              .kg_per_J = s->value[SERIES_GRID] / PW_JOULES_PER_KWH, .idle_it_W = it_W(s, 0), .idled = s->idled,
                              .wet_C = NAN, .dry_C = NAN, .excess_K = NAN, .free_share = NAN};
    state->it_W = facility_it_at(s->run->it, state->utilization, state->W);
    if (!isnan(desc->pue)) {
        state->W[PW_FACILITY_STATED] = (desc->pue - 1) * state->it_W;
        state->meter_W = desc->pue * state->it_W;
        return PW_OK;
    }
    double other_W = state->W[PW_FACILITY_OTHER] = desc->other_share * it_W(s, 1);
    if (s->run->loop) PW_TRY(facility_loop_advance(s->run->loop, s->sim, state->it_W, seconds, &s->weather, state, error));
    for (int p = 0; p < PW_FACILITY_PART_COUNT; p++)
        if (pw_facility_part_groups[p] == PW_FACILITY_GROUP_COOLING) other_W += state->W[p];
    state->meter_W = facility_chain_at(s->run->chain, state->it_W, other_W, state->W);
    return PW_OK;
}

/* Books everything before this instant; the first event of an instant does it. */
static void book(site_sim *s) {
    pw_time now = pw_sim_now(s->sim);
    if (now == s->booked) return;
    facility_state state;
    pw_error error = {0};
    if (draw(s, (double)(now - s->booked) / PW_TICKS_PER_SECOND_OPERATIONS, &state, &error) != PW_OK) {
        pw_sim_fail_with(s->sim, &error);
        return;
    }
    facility_account_add(&s->account, s->sim, s->booked, now, &state);
    s->booked = now;
}

/* ---- Weather, failures, protection ---- */

/* The same, where what the plant must do has changed. */
static void book_and_look(site_sim *s) {
    book(s);
    if (s->run->loop) pw_sim_request_hook(s->sim, s->hook);
}

static void next_weather(pw_sim *sim, void *object, uint64_t index) {
    site_sim *s = object;
    book_and_look(s);
    s->weather = pw_weather_at(s->run->loop->weather, index);
    double next_s = (double)(index + 1) * pw_weather_step_s(s->run->loop->weather);
    if (pw_weather_points(s->run->loop->weather) > 1)
        pw_event_at(sim, pw_time_from_seconds(next_s, PW_TICKS_PER_SECOND_OPERATIONS), 0, next_weather, s, index + 1);
}

/* Several failures of one part leave the least of what they leave. argument: of the list. */
static void change_plant(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    const pw_one_of *items = s->run->desc->failures.items;
    int part = ((const pw_plant_failure_desc *)items[argument].record)->part;
    double left = 1;
    pw_time now = pw_sim_now(sim);
    facility_loop *loop = s->run->loop;
    book_and_look(s);
    loop->is_hurt = false;
    for (uint32_t i = 0; i < s->run->desc->failures.count; i++) {
        const pw_plant_failure_desc *f = items[i].record;
        bool is_over = !isnan(f->duration_s) && now >= pw_sim_ticks(sim, f->at_s + f->duration_s);
        bool is_down = now >= pw_sim_ticks(sim, f->at_s) && !is_over;
        loop->is_hurt |= is_down;
        if (is_down && f->part == part && f->left < left) left = f->left;
    }
    loop->looked_W = NAN;
    pw_plant_set_available(loop->plant, (pw_plant_part)part, left);
}

static void look_again(pw_sim *sim, void *object, uint64_t argument) {
    (void)sim;
    (void)argument;
    book_and_look(object);
}

static void trip(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    (void)sim;
    (void)argument;
    book_and_look(s);
    s->idled = true;
}

static pw_event_id again(site_sim *s, pw_event_id old, double seconds, pw_event_handler *handler) {
    if (pw_event_is_pending(s->sim, old)) pw_event_cancel(s->sim, old);
    if (!(seconds < 1e9)) return (pw_event_id){0, 0};
    return pw_event_after(s->sim, pw_sim_ticks(s->sim, seconds), handler, s, 0);
}

/* The end of an instant in which something changed: what the plant can do now, when to look again, when protection acts. */
static pw_status look(site_sim *s, pw_error *error) {
    facility_loop *loop = s->run->loop;
    double trip_K = loop->it_peak_W / loop->conductance_WpK + s->run->desc->trip_K;
    if (!s->begun) PW_TRY(facility_loop_settle(loop, it_W(s, utilization(s)), &s->weather, error));
    s->begun = true;
    if (s->idled && loop->above_K < trip_K) {
        bool holds;
        PW_TRY(facility_loop_would_hold(loop, it_W(s, s->value[SERIES_DEMAND]), trip_K, &s->weather, &holds, error));
        s->idled = !holds;
    }
    double watts = it_W(s, utilization(s));
    PW_TRY(facility_loop_look(loop, watts, &s->weather, error));
    s->look = again(s, s->look, facility_loop_next_look_s(loop, watts), look_again);
    if (!isnan(trip_K)) s->trip = again(s, s->trip, s->idled ? INFINITY : facility_loop_time_to_s(loop, watts, trip_K), trip);
    return PW_OK;
}

static void look_hook(pw_sim *sim, void *object) {
    pw_error error = {0};
    if (look(object, &error) != PW_OK) pw_sim_fail_with(sim, &error);
}

/* ---- Series ---- */

static void next_value(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    uint32_t which = (uint32_t)(argument >> 32), index = (uint32_t)argument;
    const facility_steps *series = s->series[which];
    if (which == SERIES_DEMAND) book_and_look(s);
    else book(s);
    s->value[which] = series->value[index];
    if (index + 1 < series->count) pw_event_at(sim, series->at[index + 1], 0, next_value, s, argument + 1);
}

static void next_month(pw_sim *sim, void *object, uint64_t argument) {
    site_sim *s = object;
    book(s);
    facility_account_month(&s->account, s->run->desc->demand_charge);
    pw_event_at(sim, facility_next_month(pw_sim_now(sim)), 0, next_month, s, argument);
}

static void start_plant(site_sim *s) {
    const pw_one_of *items = s->run->desc->failures.items;
    s->hook = pw_sim_add_instant_hook(s->sim, look_hook, s);
    if (s->hook < 0) pw_sim_fail(s->sim, PW_NO_MEMORY, NULL, "no memory for a site");
    pw_event_at(s->sim, 0, 0, next_weather, s, 0);
    for (uint32_t i = 0; i < s->run->desc->failures.count; i++) {
        const pw_plant_failure_desc *f = items[i].record;
        pw_event_at(s->sim, pw_sim_ticks(s->sim, f->at_s), 0, change_plant, s, i);
        if (!isnan(f->duration_s)) pw_event_at(s->sim, pw_sim_ticks(s->sim, f->at_s + f->duration_s), 0, change_plant, s, i);
    }
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
    if (run->loop) start_plant(s);
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
    *result = (pw_site_result){.name = run->desc->name, .least_W = NAN, .embodied_kg = NAN, .capture = run->loop ? run->loop->capture : NAN, .it_peak_W = it_W(&s, 1),
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
