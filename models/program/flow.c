/* The bytes of transfers: timers while wires have room, sharing where they have not.
 *
 * While the caps of all transfers over a wire fit into it together, none of them feels the others: each runs at its cap (or at
 * what the narrowest of its wires gives to one), and its end is known when it starts. That is one timer. Where the caps of a
 * wire's transfers no longer fit, all that use it go on as fluid activities with what they have left, and so does everything
 * that joins until the caps fit again. Transfers in the fluid system never take more than their caps, so a wire whose caps fit
 * limits nobody in there either. The answer is the one of fluid sharing throughout.
 *
 * A transfer that is alone on a route that shares no wire is not even counted: one timer covers its latency and its
 * bytes. Whoever joins it there, or makes a route over one of its wires, has it counted first.
 *
 * Timers carry the fraction of a tick by which an event is late, so that a chain of 10^4 messages is not 10^4 roundings long.
 * Transfers that end in the same tick share an event. */
#include <float.h>
#include <math.h>

#include "models/program/run.h"

static bool is_capped(double cap_Bps) { return cap_Bps > 0 && cap_Bps <= 1e300; }

/* Rounded as the fluid system rounds: up, but for noise. */
static pw_time whole_ticks(double ticks) {
    if (!(ticks < 4e18)) return PW_TIME_MAX;
    if (ticks <= 0) return 0;
    int64_t whole = (int64_t)ticks;
    return (double)whole + 8 * DBL_EPSILON * ticks < ticks ? whole + 1 : whole;
}

static wire_route *route_of(const link_share *s, const flow_run *flow) { return &s->wires->routes[flow->route]; }

/* --- Timers: a list of transfers that end in one tick hangs on the event of its first -------------------------------- */

static void due(pw_sim *sim, void *object, uint64_t index);

static void set_timer(link_share *s, uint32_t index, pw_time at) {
    flow_run *flow = &s->flows[index];
    flow->due = at;
    flow->due_next = flow->due_previous = PW_NONE;
    if (s->due_first != PW_NONE && s->flows[s->due_first].due == at) {
        flow->due_previous = s->due_last;
        s->flows[s->due_last].due_next = index;
    } else {
        flow->timer = pw_event_at(s->sim, at, 0, due, s, index);
        s->due_first = index;
    }
    s->due_last = index;
}

static void clear_timer(link_share *s, uint32_t index) {
    flow_run *flow = &s->flows[index];
    uint32_t next = flow->due_next, previous = flow->due_previous;
    if (s->due_last == index) s->due_last = previous;
    if (next != PW_NONE) s->flows[next].due_previous = previous;
    if (previous != PW_NONE) {
        s->flows[previous].due_next = next;
        return;
    }
    pw_event_cancel(s->sim, flow->timer);
    if (next != PW_NONE) s->flows[next].timer = pw_event_at(s->sim, flow->due, 0, due, s, next);
    if (s->due_first == index) s->due_first = next;
}

/* --- Ends ---------------------------------------------------------------------------------------------------------- */

static void stop_counting(link_share *s, const flow_run *flow) {
    wire_route *route = route_of(s, flow);
    wires_vacate(s->wires, flow->route, flow->rate_Bps);
    if (flow->state != FLOW_TIMED) return;
    if (flow->next != PW_NONE) s->flows[flow->next].previous = flow->previous;
    if (flow->previous != PW_NONE) s->flows[flow->previous].next = flow->next;
    else route->first_timed = flow->next;
    PW_DEBUG_CHECK(route->timed > 0);
    if (--route->timed == 0) wires_unlist(s->wires, flow->route);
}

static void end(pw_sim *sim, link_share *s, uint32_t index) {
    flow_run flow = s->flows[index];
    wire_route *route = route_of(s, &flow);
    route->flows--;
    route->bytes += flow.bytes;
    s->flows_ended++;
    s->flows[index].state = FLOW_FREE;
    s->flows[index].next = s->flow_free;
    s->flow_free = index;
    s->flow_late = flow.late;
    if (flow.watched != PW_NONE) watch_end(flow.x->config.watch, flow.watched);
    flow.done(sim, flow.object, flow.argument);
}

static void end_all(pw_sim *sim, void *object, uint64_t index) {
    link_share *s = object;
    for (uint32_t i = (uint32_t)index, next; i != PW_NONE && pw_sim_error(sim)->status == PW_OK; i = next) {
        next = s->flows[i].due_next;
        end(sim, s, i);
    }
}

static void end_now(link_share *s, uint32_t index, double late) {
    flow_run *flow = &s->flows[index];
    flow->state = FLOW_ENDED;
    flow->late = late;
    flow->due_next = PW_NONE;
    pw_event_soon(s->sim, end_all, s, index);
}

/* As from the fluid system, what follows comes after all other events of the instant. */
static void due(pw_sim *sim, void *object, uint64_t index) {
    link_share *s = object;
    if (s->due_first == index) s->due_first = PW_NONE;
    double ticks_per_s = pw_sim_ticks_per_second(sim);
    for (uint32_t i = (uint32_t)index; i != PW_NONE; i = s->flows[i].due_next) {
        flow_run *flow = &s->flows[i];
        if (flow->state == FLOW_TIMED) stop_counting(s, flow);
        else route_of(s, flow)->lone = PW_NONE;
        flow->state = FLOW_ENDED;
        flow->late = (double)(flow->due - flow->sent) - (flow->begin + flow->bytes / flow->rate_Bps * ticks_per_s);
    }
    pw_event_soon(sim, end_all, s, index);
}

static void fluid_done(pw_sim *sim, void *object, uint64_t index) {
    link_share *s = object;
    stop_counting(s, &s->flows[index]);
    s->flows[index].late = 0;
    end(sim, s, (uint32_t)index);
}

/* --- Sharing ------------------------------------------------------------------------------------------------------- */

static pw_route_id fluid_route(pw_executor *x, uint32_t index) {
    const wires *w = x->share->wires;
    wire_route *route = &w->routes[index];
    if (route->fluid.generation) return route->fluid;
    x->use_count = 0;
    for (size_t u = route->first; u < route->first + route->count; u++) {
        const wire_use *use = &w->uses[u];
        plan_use(x, plan_capacity(x, use->wire), use->load);
    }
    return route->fluid = plan_route(x);
}

static void share(link_share *s, uint32_t index, double work) {
    flow_run *flow = &s->flows[index];
    flow->state = FLOW_SHARED;
    wires_occupy(s->wires, flow->route, flow->rate_Bps);
    pw_route_id route = fluid_route(flow->x, flow->route);
    if (pw_sim_error(s->sim)->status != PW_OK) return;
    flow->activity = pw_activity_start(s->fluid, route,
                                       &(pw_activity_config){.work = work,
                                                             .rate_cap = is_capped(flow->cap_Bps) ? flow->cap_Bps : 0,
                                                             .done = fluid_done,
                                                             .object = s,
                                                             .argument = index});
}

/* A transfer with a timer goes on in the fluid system, unless it ends in this instant. */
static void convert(link_share *s, uint32_t index) {
    flow_run *flow = &s->flows[index];
    pw_sim *sim = s->sim;
    pw_time now = pw_sim_now(sim);
    double ticks = (double)(now - flow->sent) - flow->begin;
    double left = flow->bytes - flow->rate_Bps * (ticks > 0 ? ticks * (1 / pw_sim_ticks_per_second(sim)) : 0);
    if (left <= 0 || flow->due == now) return;
    clear_timer(s, index);
    stop_counting(s, flow);
    share(s, index, left);
    if (flow->watched != PW_NONE) watch_convert(flow->x->config.watch, flow->watched, flow->activity);
}

/* Those that stay have their ends in this instant. */
static void convert_all(link_share *s, uint32_t on) {
    wires *w = s->wires;
    for (uint32_t use = w->wires[on].first_timed, next_use; use != PW_NONE; use = next_use) {
        next_use = w->uses[use].next;
        for (uint32_t f = w->routes[w->uses[use].route].first_timed, next; f != PW_NONE; f = next) {
            next = s->flows[f].next;
            convert(s, f);
        }
    }
}

/* Whether the transfer may run at its cap; if not, the timed transfers on wires that are too small now are converted. */
static bool fits(link_share *s, const flow_run *flow) {
    const wire_route *route = route_of(s, flow);
    bool all = !s->fluid_only && !flow->limited && flow->rate_Bps > 0;
    if (flow->x->config.watch && flow->rate_Bps != flow->cap_Bps) all = false; /* a watch asks what limits a transfer */
    for (size_t u = route->first; u < route->first + route->count; u++) {
        if (wires_fit(s->wires, &s->wires->uses[u], flow->rate_Bps)) continue;
        all = false;
        convert_all(s, s->wires->uses[u].wire);
    }
    return all;
}

/* --- Begins -------------------------------------------------------------------------------------------------------- */

static void keep_timed(link_share *s, uint32_t index) {
    flow_run *flow = &s->flows[index];
    wire_route *route = route_of(s, flow);
    flow->state = FLOW_TIMED;
    wires_occupy(s->wires, flow->route, flow->rate_Bps);
    flow->previous = PW_NONE;
    flow->next = route->first_timed;
    if (flow->next != PW_NONE) s->flows[flow->next].previous = index;
    route->first_timed = index;
    if (route->timed++ == 0) wires_list(s->wires, flow->route);
}

static pw_time end_of(const link_share *s, const flow_run *flow) {
    double ticks = flow->begin + flow->bytes / flow->rate_Bps * pw_sim_ticks_per_second(s->sim);
    return pw_time_add(flow->sent, whole_ticks(ticks));
}

/* The latency is over. */
static void join(link_share *s, uint32_t index) {
    flow_run *flow = &s->flows[index];
    pw_time now = pw_sim_now(s->sim);
    if (!(flow->bytes > 0) || flow->rate_Bps > 1e300) {
        end_now(s, index, (double)(now - flow->sent) - flow->begin);
    } else if (fits(s, flow)) {
        keep_timed(s, index);
        pw_time at = end_of(s, flow);
        set_timer(s, index, at > now ? at : now);
    } else {
        share(s, index, flow->bytes);
    }
}

static void join_all(pw_sim *sim, void *object, uint64_t first) {
    link_share *s = object;
    if (s->latent_first == first) s->latent_first = PW_NONE;
    for (uint32_t i = (uint32_t)first, next; i != PW_NONE && pw_sim_error(sim)->status == PW_OK; i = next) {
        next = s->flows[i].due_next;
        join(s, i);
    }
}

/* Latencies that end in the same tick share an event too. */
static void set_latency(link_share *s, uint32_t index, pw_time at) {
    flow_run *flow = &s->flows[index];
    flow->due = at;
    flow->due_next = PW_NONE;
    if (s->latent_first != PW_NONE && s->flows[s->latent_first].due == at) {
        s->flows[s->latent_last].due_next = index;
    } else {
        pw_event_at(s->sim, at, 0, join_all, s, index);
        s->latent_first = index;
    }
    s->latent_last = index;
}

/* A transfer that was alone on its wires no longer is. */
static void count(link_share *s, uint32_t route_index) {
    wire_route *route = &s->wires->routes[route_index];
    uint32_t index = route->lone;
    if (index == PW_NONE) return;
    route->lone = PW_NONE;
    flow_run *flow = &s->flows[index];
    pw_time begins = pw_time_add(flow->sent, whole_ticks(flow->begin));
    if (begins < pw_sim_now(s->sim)) {
        keep_timed(s, index);
        return;
    }
    clear_timer(s, index);
    flow->state = FLOW_LATENT;
    set_latency(s, index, begins);
}

static uint32_t take(link_share *s) {
    uint32_t index = s->flow_free;
    if (index != PW_NONE) {
        s->flow_free = s->flows[index].next;
        return index;
    }
    if (pw_grow(&s->allocator, (void **)&s->flows, &s->flow_capacity, s->flow_count + (size_t)1, sizeof *s->flows)) {
        pw_sim_fail(s->sim, PW_NO_MEMORY, NULL, "no memory for %u transfers at once", s->flow_count);
        return PW_NONE;
    }
    return s->flow_count++;
}

/* The rate that a cap leaves of a route. */
static double rate_of(const wire_route *route, double cap_Bps) {
    return is_capped(cap_Bps) && cap_Bps < route->rate_Bps ? cap_Bps : route->rate_Bps;
}

static uint32_t begin(pw_executor *x, const flow_order *order) {
    link_share *s = x->share;
    uint32_t index = take(s);
    if (index == PW_NONE) return index;
    wire_route *route = &s->wires->routes[order->route];
    s->flows[index] = (flow_run){.route = order->route,
                                 .state = FLOW_LATENT,
                                 .limited = order->limited,
                                 .plan = order->plan,
                                 .watched = PW_NONE,
                                 .bytes = order->bytes,
                                 .cap_Bps = order->cap_Bps,
                                 .rate_Bps = rate_of(route, order->cap_Bps),
                                 .sent = pw_sim_now(s->sim),
                                 .begin = order->latency - order->late,
                                 .x = x,
                                 .done = order->done,
                                 .object = order->object,
                                 .argument = order->argument};
    route->flows++;
    return index;
}

static void watch(pw_executor *x, flow_run *flow) {
    if (!x->config.watch || (flow->state != FLOW_TIMED && flow->state != FLOW_SHARED)) return;
    bool timed = flow->state == FLOW_TIMED;
    flow->watched = watch_begin(x->config.watch, x, flow->plan, timed, timed ? (pw_activity_id){0} : flow->activity);
}

void flow_send(pw_executor *x, const flow_order *order) {
    link_share *s = x->share;
    uint32_t index = begin(x, order);
    if (index == PW_NONE) return;
    flow_run *flow = &s->flows[index];
    wire_route *route = route_of(s, flow);
    if (route->flows > 1) count(s, flow->route);
    bool alone = route->alone && route->flows == 1 && !s->fluid_only && !flow->limited;
    if (alone && flow->bytes > 0 && flow->rate_Bps > 0 && flow->rate_Bps <= 1e300) {
        flow->state = FLOW_LONE;
        route->lone = index;
        set_timer(s, index, end_of(s, flow));
    } else {
        set_latency(s, index, pw_time_add(flow->sent, whole_ticks(flow->begin)));
    }
}

void flow_start(pw_executor *x, uint32_t plan_index, pw_event_handler *done, uint64_t argument) {
    link_share *s = x->share;
    const plan *p = &x->plans[plan_index];
    if (!s->wires) {
        pw_activity_start(s->fluid, p->route,
                          &(pw_activity_config){
                              .work = p->bytes, .rate_cap = p->cap_Bps, .done = done, .object = x, .argument = argument});
        return;
    }
    uint32_t index = begin(x, &(flow_order){.route = p->wire_route,
                                            .plan = plan_index,
                                            .bytes = p->bytes,
                                            .cap_Bps = p->cap_Bps,
                                            .limited = p->limited,
                                            .done = done,
                                            .object = x,
                                            .argument = argument});
    if (index == PW_NONE) return;
    count(s, p->wire_route);
    join(s, index);
    watch(x, &s->flows[index]);
}

/* --- Routes -------------------------------------------------------------------------------------------------------- */

static void no_memory(const pw_executor *x) {
    pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the routes of \"%s\"", x->job->name);
}

void flow_add_wire(void *object, uint32_t on, double load) {
    pw_executor *x = object;
    if (!wires_add(x->share->wires, on, load)) no_memory(x);
}

uint32_t flow_end_route(pw_executor *x, uint32_t from, uint32_t to) {
    wires *w = x->share->wires;
    uint32_t made = wires_end(w, from, to);
    if (made == PW_NONE) return no_memory(x), PW_NONE;
    const wire_route *route = &w->routes[made];
    for (uint32_t u = 0; u < route->count && !route->alone; u++) count(x->share, w->wires[w->uses[route->first + u].wire].only);
    return made;
}

uint32_t flow_message_route(pw_executor *x, uint32_t from, uint32_t to) {
    uint32_t found = wires_find(x->share->wires, from, to);
    if (found != PW_NONE) return found;
    pw_error error = {0};
    if (pw_message_loads(x->config.collectives, from, to, flow_add_wire, x, &error) != PW_OK) {
        pw_sim_fail_with(x->config.sim, &error);
        flow_end_route(x, PW_NONE, PW_NONE);
        return PW_NONE;
    }
    return flow_end_route(x, from, to);
}

static void set_rate(link_share *s, uint32_t index) {
    wires *w = s->wires;
    flow_run *flow = &s->flows[index];
    const wire_route *route = route_of(s, flow);
    double rate = rate_of(route, flow->cap_Bps);
    if (rate == flow->rate_Bps) return;
    if (flow->state == FLOW_SHARED) wires_vacate(w, flow->route, flow->rate_Bps);
    flow->rate_Bps = rate;
    if (flow->state != FLOW_SHARED) return;
    for (size_t u = route->first; u < route->first + route->count; u++)
        if (!wires_fit(w, &w->uses[u], rate)) convert_all(s, w->uses[u].wire);
    wires_occupy(w, flow->route, rate);
}

/* What is under way over the wire goes on in the fluid system. */
void flow_set_wire(link_share *s, uint32_t index, double bandwidth_Bps) {
    wires *w = s->wires;
    for (size_t u = 0; u < w->use_count; u++)
        if (w->uses[u].wire == index) count(s, w->uses[u].route);
    convert_all(s, index);
    w->wires[index].bandwidth_Bps = bandwidth_Bps;
    for (size_t u = 0; u < w->use_count; u++)
        if (w->uses[u].wire == index) w->routes[w->uses[u].route].rate_Bps = wires_rate(w, w->uses[u].route);
    for (uint32_t f = 0; f < s->flow_count; f++)
        if (s->flows[f].state == FLOW_SHARED || s->flows[f].state == FLOW_LATENT) set_rate(s, f);
}
