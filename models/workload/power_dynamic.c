#include "models/workload/power_dynamic.h"

#include <math.h>
#include <stdio.h>

#include "models/power/levels.h"
#include "sim/math.h"

enum { LATE = 2, MOST_STEPS = 8 }; /* behind all else of an instant; steps of the clock in one decision */

static double seconds(const power_dynamic *d, pw_time ticks) { return pw_time_to_seconds(ticks, pw_sim_ticks_per_second(d->sim)); }

static double allowed_of(const power_dynamic *d, const dynamic_gpu *gpu) { return pw_gpu_power_allowed(d->model, &gpu->limits); }

static pw_gpu_watts watts_at(const power_dynamic *d, const dynamic_gpu *gpu, double clock_ratio, double rate_factor) {
    pw_gpu_power_state state = {clock_ratio, gpu->temperature_C, gpu->die};
    if (gpu->limits.profile.clock > 0) state.die.dynamic *= gpu->limits.profile.dynamic;
    pw_gpu_work work = gpu->rate;
    if (rate_factor != 1) {
        work = (pw_gpu_work){0};
        pw_gpu_work_add(&work, &gpu->rate, rate_factor);
        work.busy_s = gpu->rate.busy_s;
    }
    return pw_gpu_power_watts(d->model, &state, &work, 1);
}

/* --- Time passes --------------------------------------------------------------------------------------------------- */

static void fill_bins(const power_dynamic *d, dynamic_gpu *gpu, double watts, double from_s, double to_s) {
    if (!gpu->bins_J) return;
    for (uint32_t b = (uint32_t)(from_s / d->bin_s); b < d->bins; b++) {
        double begin = fmax(from_s, b * d->bin_s), end = b + 1 < d->bins ? fmin(to_s, (b + 1) * d->bin_s) : to_s;
        if (end > begin) gpu->bins_J[b] += watts * (end - begin);
        if (to_s <= (b + 1) * d->bin_s) break;
    }
}

static void add_energy(pw_gpu_watts *sum, const pw_gpu_watts *watts, double s) {
    sum->total += s * watts->total;
    sum->idle += s * watts->idle;
    sum->leakage += s * watts->leakage;
    sum->active += s * watts->active;
    sum->tensor += s * watts->tensor;
    sum->vector += s * watts->vector;
    sum->memory += s * watts->memory;
    sum->link += s * watts->link;
}

/* Up to now, or to the end of the job. */
static void advance(power_dynamic *d, dynamic_gpu *gpu) {
    pw_time now = pw_sim_now(d->sim), end = pw_executor_ended(d->executor);
    if (now > end) now = end;
    double dt = seconds(d, now - gpu->since);
    if (!(dt > 0)) return;
    pw_gpu_watts watts = watts_at(d, gpu, gpu->clock_ratio, 1);
    gpu->average_W = watts.total + (gpu->average_W - watts.total) * pw_exp(-dt / d->average_s);
    gpu->clock_s += gpu->clock_ratio * dt;
    gpu->by_reason_s[gpu->reason] += dt;
    add_energy(&gpu->energy_J, &watts, dt);
    fill_bins(d, gpu, watts.total, seconds(d, gpu->since - d->origin), seconds(d, now - d->origin));
    gpu->since = now;
}

static void report(const power_dynamic *d, const dynamic_gpu *gpu) {
    if (!d->recorder) return;
    pw_time at = pw_sim_now(d->sim) - d->origin;
    pw_record_level(d->recorder, gpu->track, d->quantities[0], at, gpu->clock_ratio * pw_gpu_power_figures_of(d->model)->reference_Hz);
    pw_record_level(d->recorder, gpu->track, d->quantities[1], at, gpu->watts);
    pw_record_level(d->recorder, gpu->track, d->quantities[2], at, gpu->temperature_C);
    pw_record_level(d->recorder, gpu->track, d->quantities[3], at, (double)pw_clock_reason_bits[gpu->reason]);
}

/* --- Control ------------------------------------------------------------------------------------------------------- */

static void decide(pw_sim *sim, void *object, uint64_t rank_class);

/* When the average crosses a level under constant watts; infinity: never. */
static double crossing_s(const power_dynamic *d, const dynamic_gpu *gpu, double level) {
    double now = gpu->average_W - gpu->watts, then = level - gpu->watts;
    if (now == 0 || then == 0 || now / then < 1) return INFINITY; /* it moves away, or ends short of the level */
    return d->average_s * pw_log(now / then);
}

static void expect(power_dynamic *d, uint32_t rank_class) {
    dynamic_gpu *gpu = &d->gpus[rank_class];
    double high = allowed_of(d, gpu), low = (1 - d->margin) * high, wait = INFINITY;
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(d->model);
    bool can_fall = gpu->clock_ratio > figures->min_ratio * (1 + 1e-12), can_rise = gpu->clock_ratio < gpu->ceiling_ratio * (1 - 1e-12);
    if (gpu->average_W > high) wait = can_fall ? 0 : crossing_s(d, gpu, low);
    else if (gpu->average_W < low) wait = can_rise ? 0 : crossing_s(d, gpu, high);
    else if (gpu->watts > gpu->average_W) wait = can_fall ? crossing_s(d, gpu, high) : INFINITY;
    else wait = can_rise ? crossing_s(d, gpu, low) : INFINITY;
    if (pw_event_is_pending(d->sim, gpu->timer)) pw_event_cancel(d->sim, gpu->timer);
    gpu->timer = (pw_event_id){0};
    if (isinf(wait) || pw_executor_ended(d->executor) != PW_TIME_MAX) return;
    pw_time at = pw_time_add(pw_sim_now(d->sim), pw_sim_ticks(d->sim, wait) + 1);
    pw_time earliest = pw_time_add(gpu->decided, pw_sim_ticks(d->sim, d->decision_s));
    gpu->timer = pw_event_at(d->sim, at > earliest ? at : earliest, LATE, decide, d, rank_class);
}

/* Steps of the device by which the clock moves. */
static double steps_of(const power_dynamic *d, const dynamic_gpu *gpu, double missing_W) {
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(d->model);
    double nearby = gpu->clock_ratio + figures->step_ratio;
    double slope = watts_at(d, gpu, nearby, nearby / gpu->clock_ratio).total - gpu->watts; /* watts per step */
    double least = 0.5 * gpu->average_W * figures->step_ratio / gpu->clock_ratio; /* in a pause the slope says nothing of what comes */
    double steps = missing_W / fmax(slope, least) * d->decision_s / (2 * d->average_s);
    steps = missing_W < 0 ? fmin(floor(steps), -1) : fmax(floor(steps), 1);
    return fmax(fmin(steps, MOST_STEPS), -MOST_STEPS);
}

static void set_clock(power_dynamic *d, uint32_t rank_class, double clock_ratio) {
    dynamic_gpu *gpu = &d->gpus[rank_class];
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(d->model);
    bool free = clock_ratio >= gpu->ceiling_ratio * (1 - 1e-12);
    gpu->clock_ratio = fmax(figures->min_ratio, fmin(gpu->ceiling_ratio, clock_ratio));
    gpu->reason = free ? gpu->ceiling_reason : PW_CLOCK_REASON_SW_POWER_CAP;
    gpu->decided = pw_sim_now(d->sim);
    pw_executor_set_class_clock(d->executor, rank_class, d->pace * gpu->clock_ratio);
    dynamic_changed(d, d->executor, rank_class);
}

static void decide(pw_sim *sim, void *object, uint64_t rank_class) {
    power_dynamic *d = object;
    dynamic_gpu *gpu = &d->gpus[rank_class];
    (void)sim;
    advance(d, gpu);
    gpu->timer = (pw_event_id){0};
    if (pw_executor_ended(d->executor) != PW_TIME_MAX) return;
    double high = allowed_of(d, gpu), low = (1 - d->margin) * high, slack = 1e-9 * high;
    double middle = high * (1 - d->margin / 2);
    if (gpu->average_W < high - slack && gpu->average_W > low + slack) {
        expect(d, (uint32_t)rank_class);
        return;
    }
    double step = pw_gpu_power_figures_of(d->model)->step_ratio;
    set_clock(d, (uint32_t)rank_class, gpu->clock_ratio + step * steps_of(d, gpu, middle - gpu->average_W));
}

static void evaluate(pw_sim *sim, void *object, uint64_t rank_class) {
    power_dynamic *d = object;
    dynamic_gpu *gpu = &d->gpus[rank_class];
    (void)sim;
    advance(d, gpu);
    gpu->dirty = false;
    pw_executor_effort_rate(d->executor, (uint32_t)rank_class, &gpu->rate);
    gpu->watts = watts_at(d, gpu, gpu->clock_ratio, 1).total;
    report(d, gpu);
    expect(d, (uint32_t)rank_class);
}

void dynamic_changed(void *dynamic, pw_executor *executor, uint32_t rank_class) {
    power_dynamic *d = dynamic;
    (void)executor;
    if (!d->sim || d->gpus[rank_class].dirty) return;
    advance(d, &d->gpus[rank_class]);
    d->gpus[rank_class].dirty = true;
    pw_event_at(d->sim, pw_sim_now(d->sim), LATE, evaluate, d, rank_class);
}

/* --- Beginning, limits, end ---------------------------------------------------------------------------------------- */

static void find_ceiling(const power_dynamic *d, dynamic_gpu *gpu) {
    gpu->ceiling_ratio = pw_gpu_power_ceiling(d->model, &gpu->limits, gpu->temperature_C, &gpu->ceiling_reason);
}

pw_status dynamic_begin(power_dynamic *d, pw_executor *executor, pw_sim *sim, pw_recorder *recorder, pw_error *error) {
    d->executor = executor;
    d->sim = sim;
    d->recorder = pw_recorder_active(recorder) ? recorder : NULL;
    d->origin = pw_sim_now(sim);
    static const char *const names[] = {PW_LEVEL_CLOCK, PW_LEVEL_POWER, PW_LEVEL_TEMPERATURE, PW_LEVEL_CLOCK_REASONS, PW_LEVEL_MEMBERS};
    for (int q = 0; d->recorder && q < 5; q++) {
        d->quantities[q] = pw_record_name(d->recorder, names[q]);
        if (!d->quantities[q]) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for tracks of power");
    }
    for (uint32_t c = 0; c < d->count; c++) {
        dynamic_gpu *gpu = &d->gpus[c];
        char name[64];
        gpu->since = gpu->decided = d->origin;
        find_ceiling(d, gpu);
        gpu->clock_ratio = fmin(gpu->clock_ratio, gpu->ceiling_ratio);
        gpu->reason = gpu->clock_ratio < gpu->ceiling_ratio ? PW_CLOCK_REASON_SW_POWER_CAP : gpu->ceiling_reason;
        if (d->recorder) {
            snprintf(name, sizeof name, "gpus rank %u", pw_executor_class(executor, c)->representative);
            gpu->track = pw_record_track(d->recorder, 0, name);
            pw_record_level(d->recorder, gpu->track, d->quantities[4], 0, pw_executor_class(executor, c)->multiplicity);
        }
        pw_executor_set_class_clock(executor, c, d->pace * gpu->clock_ratio);
        dynamic_changed(d, executor, c);
    }
    return PW_OK;
}

void dynamic_limit(power_dynamic *d, uint32_t rank_class, const pw_gpu_limits *limits) {
    dynamic_gpu *gpu = &d->gpus[rank_class];
    advance(d, gpu);
    bool was_free = gpu->clock_ratio >= gpu->ceiling_ratio * (1 - 1e-12);
    gpu->limits = *limits;
    find_ceiling(d, gpu);
    set_clock(d, rank_class, was_free ? gpu->ceiling_ratio : fmin(gpu->clock_ratio, gpu->ceiling_ratio));
}

void dynamic_end(power_dynamic *d) {
    for (uint32_t c = 0; c < d->count; c++) {
        advance(d, &d->gpus[c]);
        if (pw_event_is_pending(d->sim, d->gpus[c].timer)) pw_event_cancel(d->sim, d->gpus[c].timer);
    }
}
