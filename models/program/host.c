/* The host thread of a rank: takes operations from its program and issues them, in its own serial time.
 *
 * A template program does not look at the clock, so its host runs ahead of simulated time as far as the launch window
 * allows: operations carry the host's time at which they were launched, and no event is spent on launching. The host
 * stops for HOST (its own work), SYNC, a full window, and, when a source writes the program, whenever its time is ahead:
 * a source sees the state of the moment at which it is asked. */
#include "models/program/run.h"

static void host_continue(pw_sim *sim, void *object, uint64_t rank_class) {
    (void)sim;
    pw_executor *x = object;
    rank_run *rank = &x->ranks[rank_class];
    rank->host = HOST_RUNNING;
    host_run(x, (uint32_t)rank_class);
    run_ready(x);
}

static void host_work_done(pw_sim *sim, void *object, uint64_t rank_class) {
    (void)sim;
    pw_executor *x = object;
    rank_run *rank = &x->ranks[rank_class];
    if (x->recording) {
        pw_span_id cause = rank->release_span;
        if (rank->busy_from > rank->release)
            cause = report_span(x, (uint32_t)rank_class, rank->host_track, x->names.launch, 0, rank->release,
                                rank->busy_from, cause);
        rank->release_span = report_span(x, (uint32_t)rank_class, rank->host_track,
                                         x->names.categories[rank->busy_with.category], x->names.host, rank->busy_from,
                                         rank->host_time, cause);
    }
    rank->release = rank->host_time;
    rank->host = HOST_RUNNING;
    host_run(x, (uint32_t)rank_class);
    run_ready(x);
}

static void rank_ended(pw_sim *sim, void *object, uint64_t rank_class) {
    pw_executor *x = object;
    rank_run *rank = &x->ranks[rank_class];
    if (rank->ended) return; /* asked for twice when the last operation also released the host */
    rank->ended = true;
    rank->info.end = pw_sim_now(sim);
    if (rank->info.begin > rank->info.end) rank->info.begin = rank->info.end;
    if (--x->unfinished == 0) round_ended(x);
}

static bool next_op(pw_executor *x, rank_run *rank, pw_op *op) {
    if (rank->walker) return pw_walker_next(rank->walker, op);
    if (!rank->program->source(rank->program->source_object, rank->info.representative, pw_sim_now(x->config.sim), op))
        return false;
    if (op->kind == PW_OP_CALL || op->kind == PW_OP_LOOP || (unsigned)op->kind >= PW_OP_KIND_COUNT) {
        pw_sim_fail(x->config.sim, PW_BAD_INPUT, "a source emits plain operations", "the source of \"%s\" emitted a call or loop",
                    rank->program->name);
        return false;
    }
    pw_error error = {0};
    if (pw_op_check(x->job, rank->info.representative, op, &error) != PW_OK) {
        pw_sim_fail_with(x->config.sim, &error);
        return false;
    }
    return true;
}

static bool issue(pw_executor *x, rank_run *rank, uint32_t rank_class, const pw_op *op) {
    op_run *run = op_new(x);
    if (!run) return false;
    run->op = *op;
    run->rank_class = rank_class;
    run->launches = 1;
    run->host_start = rank->host_time;
    run->release = rank->release;
    run->release_span = rank->release_span;
    if (op->kind == PW_OP_COMPUTE) {
        segment_cost cost;
        if (compute_cost(x, run, &cost) != PW_OK) return false;
        run->launches = cost.launches;
        rank->host_time = pw_time_add(rank->host_time, pw_sim_ticks(x->config.sim, cost.host_s));
    }
    rank->in_flight += run->launches;
    rank->live++;
    op_issue(x, run);
    return true;
}

void host_run(pw_executor *x, uint32_t rank_class) {
    rank_run *rank = &x->ranks[rank_class];
    pw_sim *sim = x->config.sim;
    while (rank->host == HOST_RUNNING) {
        if (rank->in_flight >= WINDOW_LAUNCHES) {
            rank->host = HOST_WINDOW;
            return;
        }
        if (!rank->walker && rank->host_time > pw_sim_now(sim)) {
            rank->host = HOST_BUSY;
            pw_event_at(sim, rank->host_time, 0, host_continue, x, rank_class);
            return;
        }
        pw_op op;
        if (!next_op(x, rank, &op)) {
            rank->host = HOST_DONE;
            if (rank->live == 0) pw_event_at(sim, rank->host_time, 0, rank_ended, x, rank_class);
            return;
        }
        x->totals.operations++;
        if (op.kind == PW_OP_HOST) {
            rank->busy_with = op;
            rank->busy_from = rank->host_time;
            rank->host_time = pw_time_add(rank->host_time, pw_sim_ticks(sim, op.delay.seconds));
            rank->host = HOST_BUSY;
            pw_event_at(sim, rank->host_time, 0, host_work_done, x, rank_class);
            return;
        }
        if (op.kind == PW_OP_SYNC) {
            op_run *run = op_new(x);
            if (!run) return;
            run->op = op;
            run->rank_class = rank_class;
            run->on_host = true;
            if (op_bind_waits(x, run)) {
                op_free(x, run);
                continue;
            }
            rank->sync = run->index;
            rank->host = HOST_SYNC;
            return;
        }
        if (!issue(x, rank, rank_class, &op)) return;
    }
}

/* The host goes on now, or later if it was already ahead. */
static void release_host(pw_executor *x, rank_run *rank, pw_span_id span) {
    pw_time now = pw_sim_now(x->config.sim);
    if (now > rank->host_time) {
        rank->host_time = rank->release = now;
        rank->release_span = span;
    }
    rank->host = HOST_RUNNING;
}

void host_synced(pw_executor *x, op_run *op, pw_span_id span) {
    uint32_t rank_class = op->rank_class;
    op_free(x, op);
    release_host(x, &x->ranks[rank_class], span);
    host_run(x, rank_class);
}

void host_launched_done(pw_executor *x, uint32_t rank_class, pw_span_id span) {
    rank_run *rank = &x->ranks[rank_class];
    if (rank->host == HOST_WINDOW && rank->in_flight < WINDOW_LAUNCHES) {
        release_host(x, rank, span);
        host_run(x, rank_class);
    } else if (rank->host == HOST_DONE && rank->live == 0) {
        pw_time now = pw_sim_now(x->config.sim);
        pw_event_at(x->config.sim, rank->host_time > now ? rank->host_time : now, 0, rank_ended, x, rank_class);
    }
}
