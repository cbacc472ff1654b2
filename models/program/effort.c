/* Segments are counted by number, and their work added up at the end: a count is one increment per segment, and sums do not
 * hang on the order of events. Bins take work as it ends, spread evenly over the time that it took. */
#include "models/program/effort.h"

#include <string.h>

#include "models/program/run.h"
#include "sim/math.h"

static pw_status no_memory(const pw_executor *x, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to count what the GPUs of \"%s\" do", x->job->name);
}

pw_status effort_prepare(pw_executor *x, pw_error *error) {
    const pw_effort_config *config = x->config.effort;
    if (!config) return PW_OK;
    if (!(config->average_s >= 0) || (config->bins > 0 && !(config->bin_s > 0)) || config->bins == 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "times are above 0, bins are 2 or more", "effort over %g s in %u bins of %g s",
                       config->average_s, config->bins, config->bin_s);
    uint32_t classes = x->fold->class_count;
    x->efforts = pw_arena_alloc(x->arena, classes * sizeof *x->efforts);
    if (!x->efforts) return no_memory(x, error);
    for (uint32_t c = 0; c < classes; c++) {
        effort_run *effort = &x->efforts[c];
        effort->segments = pw_arena_alloc(x->arena, (x->job->segment_count + (size_t)1) * sizeof *effort->segments);
        if (!effort->segments) return no_memory(x, error);
        effort->first = effort->last = PW_TIME_MAX;
        if (config->bins == 0) continue;
        effort->bins = pw_arena_alloc(x->arena, config->bins * sizeof *effort->bins);
        if (!effort->bins) return no_memory(x, error);
    }
    x->effort_bin = config->bins ? pw_sim_ticks(x->config.sim, config->bin_s) : 0;
    if (config->bins && x->effort_bin < 1) x->effort_bin = 1;
    for (uint32_t s = 0; s < x->job->segment_count; s++) {
        const pw_gpu_work *work;
        PW_TRY(segment_memo_work(x->memo, s, &work, error));
    }
    return PW_OK;
}

static double seconds(const pw_executor *x, pw_time ticks) {
    return pw_time_to_seconds(ticks, pw_sim_ticks_per_second(x->config.sim));
}

/* What an average of the time constant has forgotten after the pause. */
static double pause(const pw_executor *x, pw_time ticks) {
    double tau = x->config.effort->average_s, gap = seconds(x, ticks);
    return tau > 0 && gap > 0 ? tau * (1 - pw_exp(-gap / tau)) : 0;
}

/* --- Bins ---------------------------------------------------------------------------------------------------------- */

static void widen(pw_executor *x, pw_time until) {
    uint32_t bins = x->config.effort->bins;
    while (until > x->origin && (until - x->origin - 1) / x->effort_bin >= (pw_time)bins) {
        x->effort_bin *= 2;
        for (uint32_t c = 0; c < x->fold->class_count; c++) {
            pw_gpu_work *bin = x->efforts[c].bins;
            for (uint32_t b = 0; b < bins; b++) {
                pw_gpu_work sum = {0};
                for (uint32_t half = 2 * b; half < 2 * b + 2 && half < bins; half++) pw_gpu_work_add(&sum, &bin[half], 1);
                bin[b] = sum;
            }
        }
    }
}

static void spread(pw_executor *x, effort_run *effort, const pw_gpu_work *work, pw_time from, pw_time to) {
    if (!effort->bins) return;
    widen(x, to > from ? to : to + 1);
    pw_time first = (from - x->origin) / x->effort_bin, last = to > from ? (to - x->origin - 1) / x->effort_bin : first;
    for (pw_time b = first; b <= last; b++) {
        pw_time begin = x->origin + b * x->effort_bin, end = begin + x->effort_bin;
        if (begin < from) begin = from;
        if (end > to) end = to;
        pw_gpu_work_add(&effort->bins[b], work, to > from ? (double)(end - begin) / (double)(to - from) : 1);
    }
}

/* --- Events -------------------------------------------------------------------------------------------------------- */

void effort_resident(pw_executor *x, uint32_t rank_class, int change) {
    effort_run *effort = &x->efforts[rank_class];
    pw_time now = pw_sim_now(x->config.sim);
    effort_changed(x, rank_class);
    if (change > 0 && effort->resident++ == 0) effort->resident_since = now;
    if (change > 0 || --effort->resident > 0) return;
    pw_gpu_work busy = {.busy_s = seconds(x, now - effort->resident_since)};
    pw_gpu_work_add(&effort->moved, &busy, 1);
    spread(x, effort, &busy, effort->resident_since, now);
}

void effort_changed(pw_executor *x, uint32_t rank_class) {
    if (x->config.effort_changed) x->config.effort_changed(x->config.effort_object, x, rank_class);
}

void effort_computes(pw_executor *x, uint32_t rank_class) {
    effort_run *effort = &x->efforts[rank_class];
    pw_time now = pw_sim_now(x->config.sim);
    if (effort->first == PW_TIME_MAX) effort->first = now;
    else effort->pauses_s += pause(x, now - effort->last);
}

void effort_segment(pw_executor *x, const op_run *op) {
    effort_run *effort = &x->efforts[op->rank_class];
    effort->last = pw_sim_now(x->config.sim);
    effort->segments[op->op.compute.segment]++;
    effort_resident(x, op->rank_class, -1);
    const pw_gpu_work *work;
    if (effort->bins && segment_memo_work(x->memo, op->op.compute.segment, &work, NULL) == PW_OK)
        spread(x, effort, work, op->start, effort->last);
}

/* What one byte of a transfer puts on the links of each GPU that takes part, in and out. */
static double link_factor(const pw_executor *x, const plan *p) {
    if (p->kind == PLAN_IO) return 0; /* storage is reached by the host */
    if (p->kind != PLAN_COLLECTIVE) return 1;
    return 2 * pw_collective_bus_factor((pw_collective_kind)p->detail, x->fold->groups[p->owner].members);
}

static pw_gpu_work transfer_work(const pw_executor *x, const plan *p) {
    pw_gpu_work work = {.link_bytes = link_factor(x, p) * p->bytes};
    /* what leaves a link is read from memory, what comes is written, unless it is known better */
    work.memory_bytes = p->memory_Bps > 0 && plan_capped(p) ? p->memory_Bps * p->bytes / p->cap_Bps : work.link_bytes;
    return work;
}

void effort_transfer(pw_executor *x, uint32_t rank_class, const plan *p, pw_time start) {
    effort_run *effort = &x->efforts[rank_class];
    pw_gpu_work work = transfer_work(x, p);
    effort_changed(x, rank_class);
    pw_gpu_work_add(&effort->moved, &work, 1);
    spread(x, effort, &work, start, pw_sim_now(x->config.sim));
}

/* --- Now ----------------------------------------------------------------------------------------------------------- */

static void add_segment_rate(const pw_executor *x, const op_run *op, pw_gpu_work *rate) {
    const pw_gpu_work *work;
    double pace = op->compute.duration_s > 0 ? 1 / op->compute.duration_s : 0;
    if (op->fluid) pace = pw_activity_rate(x->config.fluid, op->compute.activity);
    if (segment_memo_work(x->memo, op->op.compute.segment, &work, NULL) == PW_OK) pw_gpu_work_add(rate, work, pace);
}

static void add_transfer_rate(const pw_executor *x, const op_run *op, pw_gpu_work *rate) {
    const plan *p = op->op.kind == PW_OP_COLLECTIVE ? collective_plan(x, op) : op->transfer.plan != PW_NONE ? &x->plans[op->transfer.plan] : NULL;
    if (!p || p->kind == PLAN_IO) return;
    double alone_s = p->alpha_s + (plan_capped(p) ? p->bytes / p->cap_Bps : 0);
    pw_gpu_work work = transfer_work(x, p);
    if (alone_s > 0) pw_gpu_work_add(rate, &work, 1 / alone_s);
}

void pw_executor_effort_rate(const pw_executor *x, uint32_t index, pw_gpu_work *rate) {
    const rank_run *rank = &x->ranks[index];
    *rate = (pw_gpu_work){0};
    if (!x->efforts) return;
    for (uint32_t s = 0; s < x->job->streams; s++) {
        if (rank->streams[s].head == PW_NONE) continue;
        const op_run *op = op_at(x, rank->streams[s].head);
        if (op->phase != PHASE_RUNNING) continue;
        if (op->op.kind == PW_OP_COMPUTE) add_segment_rate(x, op, rate);
        else if (op->op.kind == PW_OP_COLLECTIVE || op->op.kind == PW_OP_SEND || op->op.kind == PW_OP_RECV || op->op.kind == PW_OP_COPY)
            add_transfer_rate(x, op, rate);
    }
    rate->busy_s = x->efforts[index].resident > 0;
}

/* --- Results ------------------------------------------------------------------------------------------------------- */

bool pw_executor_counts_effort(const pw_executor *x) { return x->efforts != NULL; }

pw_effort pw_executor_effort(const pw_executor *x, uint32_t index) {
    pw_effort sum = {0};
    if (!x->efforts) return sum;
    const effort_run *effort = &x->efforts[index];
    pw_time end = x->ended == PW_TIME_MAX ? pw_sim_now(x->config.sim) : x->ended;
    for (uint32_t s = 0; s < x->job->segment_count; s++) {
        const pw_gpu_work *work;
        if (effort->segments[s] && segment_memo_work(x->memo, s, &work, NULL) == PW_OK)
            pw_gpu_work_add(&sum.work, work, effort->segments[s]);
    }
    pw_gpu_work_add(&sum.work, &effort->moved, 1);
    sum.span_s = seconds(x, end - x->origin);
    sum.compute_s = x->ranks[index].info.compute_s;
    sum.active_s = sum.compute_s + effort->pauses_s;
    if (effort->first != PW_TIME_MAX && effort->last != PW_TIME_MAX)
        sum.active_s += pause(x, end - effort->last + effort->first - x->origin);
    return sum;
}

pw_status pw_executor_compute_at(const pw_executor *x, uint32_t index, double clock_ratio, double *compute_s, pw_error *error) {
    *compute_s = 0;
    if (!x->efforts) return PW_OK;
    const double *slowdowns = x->job->slowdown_of_rank;
    double slowdown = slowdowns ? slowdowns[x->ranks[index].info.representative] : 1;
    for (uint32_t s = 0; s < x->job->segment_count; s++) {
        segment_cost cost;
        if (x->efforts[index].segments[s] == 0) continue;
        PW_TRY(segment_memo_get(x->memo, s, clock_ratio, 0, 0, slowdown, &cost, error));
        *compute_s += x->efforts[index].segments[s] * cost.duration_s;
    }
    return PW_OK;
}

const pw_gpu_work *pw_executor_effort_bins(const pw_executor *x, uint32_t index, uint32_t *count, double *bin_s) {
    *count = 0;
    *bin_s = 0;
    if (!x->efforts || !x->efforts[index].bins) return NULL;
    pw_time end = x->ended == PW_TIME_MAX ? pw_sim_now(x->config.sim) : x->ended;
    *count = end > x->origin ? (uint32_t)((end - x->origin - 1) / x->effort_bin) + 1 : 0;
    if (*count > x->config.effort->bins) *count = x->config.effort->bins;
    *bin_s = seconds(x, x->effort_bin);
    return x->efforts[index].bins;
}
