/* The fluid phase of transfers, in a folded run (unfolded, all of them are activities).
 *
 * While the caps of all transfers over a link fit into it together, none of them feels the others: each runs at its cap, and
 * its end is known when it starts. That is one timer. Where the caps of a link's transfers no longer fit, all that
 * use it go on as fluid activities with what they have left, and so does everything that joins until the caps fit again.
 * Transfers in the fluid system never take more than their caps, so a link whose caps fit limits nobody in there either.
 * The answer is the one of fluid sharing throughout. */
#include <float.h>
#include <math.h>

#include "models/program/run.h"

/* Sums of caps and their rounding stay below a link that is this full. */
static const double SURELY_FITS = 1 - 1e-9;

static const flow_use *uses_of(const pw_executor *x, const flow_run *flow, uint32_t *count) {
    const flow_class *class = x->plans[flow->plan].flow;
    *count = class ? class->use_count : 0;
    return class ? class->uses : NULL;
}

static double demand_of(const pw_executor *x, const flow_run *flow, const flow_use *use) {
    const plan *p = &x->plans[flow->plan];
    return plan_capped(p) ? use->load * p->cap_Bps : INFINITY;
}

/* Binding links of a flow come or go. */
static void occupy(pw_executor *x, const flow_run *flow, bool timed) {
    uint32_t count;
    const flow_use *uses = uses_of(x, flow, &count);
    for (uint32_t u = 0; u < count; u++) {
        link_demand *link = &x->share->demands[uses[u].link_class];
        link->flows++;
        link->timed += timed;
        link->caps_Bps += demand_of(x, flow, &uses[u]);
    }
}

static void vacate(pw_executor *x, const flow_run *flow) {
    uint32_t count;
    const flow_use *uses = uses_of(x, flow, &count);
    for (uint32_t u = 0; u < count; u++) {
        link_demand *link = &x->share->demands[uses[u].link_class];
        link->timed -= flow->timed;
        if (--link->flows > 0) link->caps_Bps -= demand_of(x, flow, &uses[u]);
        else link->caps_Bps = 0; /* also after infinite demand, which leaves no number: such a link is full till then */
    }
}

static void flow_done(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    flow_run flow = x->flows[index];
    if (!flow.timed) vacate(x, &flow);
    if (x->config.watch) watch_end(x->config.watch, flow.watched);
    x->flows[index].live = false;
    x->flows[index].next = x->flow_free;
    x->flow_free = (uint32_t)index;
    flow.done(sim, x, flow.argument);
}

/* As from the fluid system, what follows comes after all other events of the instant. */
static void flow_due(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    vacate(x, &x->flows[index]);
    pw_event_soon(sim, flow_done, x, index);
}

/* Rounded as the fluid system rounds: up, but for noise. */
static pw_time ticks_at_cap(const pw_executor *x, const plan *p) {
    double ticks = p->bytes / p->cap_Bps * pw_sim_ticks_per_second(x->config.sim);
    if (!(ticks < 4e18)) return PW_TIME_MAX;
    int64_t whole = (int64_t)ticks;
    return (double)whole + 8 * DBL_EPSILON * ticks < ticks ? whole + 1 : whole;
}

static pw_activity_id share(pw_executor *x, uint32_t index, double work) {
    const plan *p = &x->plans[x->flows[index].plan];
    return pw_activity_start(x->config.fluid, p->route,
                             &(pw_activity_config){
                                 .work = work, .rate_cap = p->cap_Bps, .done = flow_done, .object = x, .argument = index});
}

static bool uses_link(const pw_executor *x, const flow_run *flow, uint32_t link) {
    uint32_t count;
    const flow_use *uses = uses_of(x, flow, &count);
    for (uint32_t u = 0; u < count; u++)
        if (uses[u].link_class == link) return true;
    return false;
}

/* A flow with a timer goes on in the fluid system, unless it ends in this instant. */
static void convert(pw_executor *x, uint32_t index) {
    flow_run *flow = &x->flows[index];
    const plan *p = &x->plans[flow->plan];
    pw_sim *sim = x->config.sim;
    pw_time now = pw_sim_now(sim);
    double left = p->bytes - p->cap_Bps * ((double)(now - flow->since) * (1 / pw_sim_ticks_per_second(sim)));
    if (left <= 0 || pw_event_time(sim, flow->timer) == now) return;
    pw_event_cancel(sim, flow->timer);
    vacate(x, flow);
    flow->timed = false;
    occupy(x, flow, false);
    pw_activity_id activity = share(x, index, left);
    if (x->config.watch) watch_convert(x->config.watch, flow->watched, activity);
}

/* The timed flows of all executors over a link become activities. */
void flow_convert_all(pw_executor *x, uint32_t link) {
    const link_demand *on = &x->share->demands[link];
    for (uint32_t e = 0; e < x->share->count; e++) {
        pw_executor *other = x->share->executors[e];
        for (uint32_t f = 0; other && f < other->flow_count && on->timed > 0; f++)
            if (other->flows[f].live && other->flows[f].timed && uses_link(other, &other->flows[f], link) &&
                pw_event_is_pending(other->config.sim, other->flows[f].timer))
                convert(other, f);
    }
}

/* Whether the flow may run at its cap; if not, the timed flows on links that are too small now are converted. */
static bool fits(pw_executor *x, const flow_run *flow) {
    uint32_t count;
    const flow_use *uses = uses_of(x, flow, &count);
    bool all = plan_capped(&x->plans[flow->plan]);
    for (uint32_t u = 0; u < count; u++) {
        const link_class *link = &x->fold->links[uses[u].link_class];
        const link_demand *on = &x->share->demands[uses[u].link_class];
        if (!link->binding || on->caps_Bps + demand_of(x, flow, &uses[u]) <= link->bandwidth_Bps * SURELY_FITS) continue;
        all = false;
        flow_convert_all(x, uses[u].link_class);
    }
    return all;
}

void flow_start(pw_executor *x, uint32_t plan_index, pw_event_handler *done, uint64_t argument) {
    const plan *p = &x->plans[plan_index];
    if (!x->fold->folded && !x->config.watch) {
        pw_activity_start(x->config.fluid, p->route,
                          &(pw_activity_config){
                              .work = p->bytes, .rate_cap = p->cap_Bps, .done = done, .object = x, .argument = argument});
        return;
    }
    uint32_t index = x->flow_free;
    if (index != PW_NONE) {
        x->flow_free = x->flows[index].next;
    } else if (pw_grow(&x->allocator, (void **)&x->flows, &x->flow_capacity, x->flow_count + (size_t)1, sizeof *x->flows)) {
        pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the transfers of \"%s\"", x->job->name);
        return;
    } else {
        index = x->flow_count++;
    }
    flow_run *flow = &x->flows[index];
    *flow = (flow_run){.plan = plan_index, .since = pw_sim_now(x->config.sim), .done = done, .argument = argument};
    flow->timed = x->fold->folded && fits(x, flow) && !p->limited;
    flow->live = true;
    occupy(x, flow, flow->timed);
    pw_activity_id activity = {0};
    if (flow->timed) flow->timer = pw_event_after(x->config.sim, ticks_at_cap(x, p), flow_due, x, index);
    else activity = share(x, index, p->bytes);
    if (x->config.watch) flow->watched = watch_begin(x->config.watch, x, plan_index, flow->timed, activity);
}
