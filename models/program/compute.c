/* Segments on a GPU.
 *
 * Alone, a segment is work 1 at rate 1 / duration: one timer. When a second one runs on the same GPU they share it: each
 * becomes a fluid activity with that rate as its cap, using the GPU's arithmetic and its memory traffic by the seconds
 * that its own arithmetic and traffic need alone. Both weights are at most the duration, so a lone segment is never held
 * back (measured kernels may beat the data sheet's memory bandwidth through caches), while two side by side gain only
 * where one computes and the other moves data. */
#include "models/program/run.h"

static pw_status cost_beside(pw_executor *x, const op_run *op, double held_sms, double held_memory, segment_cost *cost) {
    pw_error error; /* large, and rarely written */
    const double *slowdowns = x->job->slowdown_of_rank;
    const rank_run *rank = &x->ranks[op->rank_class];
    double slowdown = slowdowns ? slowdowns[rank->info.representative] : 1;
    pw_status status = segment_memo_get(x->memo, op->op.compute.segment, rank->clock_ratio, held_sms, held_memory, slowdown, cost, &error);
    if (status != PW_OK) pw_sim_fail_with(x->config.sim, &error);
    return status;
}

pw_status compute_cost(pw_executor *x, const op_run *op, segment_cost *cost) {
    const rank_run *rank = &x->ranks[op->rank_class];
    return cost_beside(x, op, rank->held_sms, rank->held_memory, cost);
}

pw_status compute_cost_alone(pw_executor *x, const op_run *op, segment_cost *cost) { return cost_beside(x, op, 0, 0, cost); }

static void compute_done(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    rank_run *rank = &x->ranks[op->rank_class];
    if (--rank->running == 0)
        rank->info.compute_s += pw_time_to_seconds(pw_sim_now(sim) - rank->computes_since, pw_sim_ticks_per_second(sim));
    x->totals.flops += op->compute.flops * rank->info.multiplicity;
    if (x->efforts) effort_segment(x, op);
    op_complete(x, op, report_op(x, op, op->start));
    run_ready(x);
}

static double cap_of(double duration_s) { return duration_s > 0 ? 1 / duration_s : 0; }

static pw_route_id route_of(pw_executor *x, rank_run *rank, const segment_cost *cost) {
    pw_use uses[2];
    uint32_t count = 0;
    if (cost->compute_s > 0) uses[count++] = (pw_use){rank->arithmetic, cost->compute_s};
    if (cost->memory_s > 0) uses[count++] = (pw_use){rank->traffic, cost->memory_s};
    return pw_fluid_route(x->config.fluid, uses, count);
}

/* Brings work_left of a timed segment up to now. */
static void advance(pw_executor *x, op_run *op) {
    pw_time now = pw_sim_now(x->config.sim);
    double elapsed_s = pw_time_to_seconds(now - op->compute.since, pw_sim_ticks_per_second(x->config.sim));
    if (op->compute.duration_s > 0) op->compute.work_left -= elapsed_s / op->compute.duration_s;
    if (op->compute.work_left < 0) op->compute.work_left = 0;
    op->compute.since = now;
}

static void start_fluid(pw_executor *x, op_run *op, const segment_cost *cost) {
    rank_run *rank = &x->ranks[op->rank_class];
    op->fluid = true;
    op->compute.activity = pw_activity_start(x->config.fluid, route_of(x, rank, cost),
                                             &(pw_activity_config){.work = cost->duration_s > 0 ? op->compute.work_left : 0,
                                                                   .rate_cap = cap_of(cost->duration_s),
                                                                   .done = compute_done,
                                                                   .object = x,
                                                                   .argument = op->index});
}

/* The segment that runs on a stream, or NULL. */
static op_run *running_on(const pw_executor *x, const rank_run *rank, uint32_t stream) {
    if (rank->streams[stream].head == PW_NONE) return NULL;
    op_run *op = op_at(x, rank->streams[stream].head);
    return op->op.kind == PW_OP_COMPUTE && op->phase == PHASE_RUNNING ? op : NULL;
}

void compute_begin(pw_executor *x, op_run *op) {
    rank_run *rank = &x->ranks[op->rank_class];
    pw_sim *sim = x->config.sim;
    segment_cost cost;
    if (compute_cost(x, op, &cost) != PW_OK) return;
    op->compute.duration_s = cost.duration_s;
    op->compute.flops = cost.flops;
    op->compute.work_left = 1;
    op->compute.since = pw_sim_now(sim);
    if (rank->info.begin > op->compute.since) rank->info.begin = op->compute.since;
    op->fluid = false;
    if (rank->running == 0) rank->computes_since = pw_sim_now(sim);
    if (x->efforts && rank->running == 0) effort_computes(x, op->rank_class);
    if (x->efforts) effort_resident(x, op->rank_class, 1);
    if (rank->running++ == 0 || !(cost.duration_s > 0)) { /* what takes no time shares nothing */
        op->compute.timer = pw_event_after(sim, pw_sim_ticks(sim, cost.duration_s), compute_done, x, op->index);
        return;
    }
    if (rank->arithmetic.generation == 0) {
        rank->arithmetic = pw_capacity_add(x->config.fluid, 1);
        rank->traffic = pw_capacity_add(x->config.fluid, 1);
    }
    for (uint32_t s = 0; s < x->job->streams; s++) {
        op_run *other = running_on(x, rank, s);
        if (!other || other == op || other->fluid || !(other->compute.duration_s > 0)) continue;
        segment_cost its;
        if (compute_cost(x, other, &its) != PW_OK) return;
        advance(x, other);
        pw_event_cancel(sim, other->compute.timer);
        start_fluid(x, other, &its);
    }
    start_fluid(x, op, &cost);
}

void compute_rescale(pw_executor *x, uint32_t rank_class) {
    rank_run *rank = &x->ranks[rank_class];
    if (rank->running == 0) return;
    if (x->efforts) effort_changed(x, rank_class);
    pw_sim *sim = x->config.sim;
    for (uint32_t s = 0, left = rank->running; s < x->job->streams && left > 0; s++) {
        op_run *op = running_on(x, rank, s);
        segment_cost cost;
        if (!op) continue;
        left--;
        if (compute_cost(x, op, &cost) != PW_OK) return;
        if (cost.duration_s == op->compute.duration_s) continue;
        if (op->fluid) {
            if (!pw_activity_is_running(x->config.fluid, op->compute.activity)) continue; /* done in this instant */
            pw_activity_set_route(x->config.fluid, op->compute.activity, route_of(x, rank, &cost));
            pw_activity_set_cap(x->config.fluid, op->compute.activity, cap_of(cost.duration_s));
        } else {
            if (!pw_event_is_pending(sim, op->compute.timer)) continue;
            advance(x, op);
            pw_event_move(sim, op->compute.timer,
                          pw_time_add(op->compute.since, pw_sim_ticks(sim, op->compute.work_left * cost.duration_s)));
        }
        op->compute.duration_s = cost.duration_s;
    }
}
