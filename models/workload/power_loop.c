/* Clocks as a fixed point of runs. */
#include "models/workload/power_loop.h"
#include "models/workload/power_dynamic.h"
#include "models/workload/power_heat.h"
#include "models/workload/power_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/math.h"
#include "sim/random.h"

enum {
    MOST_RUNS = 6,
    BINS = 512,
    DIES = 1000,   /* drawn to find the means of die classes */
    MOST_CLASSES = 16,
    MOST_ROUNDS = 80, /* of watts and temperatures */
    KEPT = 32      /* clocks at which the time of a load is kept */
};
#define FIRST_BIN_S 1e-3
#define SAME_CLOCK 1e-3 /* relative */
#define ENERGY_LAW 1e-9
#define SAME_TEMPERATURE_K 1e-3

/* A load that outlives its run: its time over 1 / clock is all but a straight line between these. */
typedef struct kept_load {
    pw_gpu_work work;
    double per_clock[KEPT], span_s[KEPT];
} kept_load;

typedef struct group {
    uint32_t program, die_class, seat, gpus;
    double clock_ratio, next; /* of this run; of the next one */
    pw_gpu_settled settled;
    pw_gpu_watts watts;       /* sums over GPUs */
    kept_load load;
    bool seen;
    double temperature_C;
    uint32_t class;           /* of the executor, that stands for it in this run */
    double clock_sum, by_reason_s[PW_CLOCK_REASON_COUNT]; /* of a controlled run, sums over GPUs */
} group;

struct pw_power_loop {
    bool keeps;               /* loads, for what happens to supplies */
    pw_allocator allocator;
    pw_arena *arena;
    pw_gpu_power *model;
    pw_gpu_limits limits;
    double temperature_C, cap_W, pace;
    double average_s, sample_s, node_sample_s, decision_s, margin;
    power_node node;          /* the server around the GPUs */
    double fan_W;             /* with cooling, of a node: the last program's */
    bool is_dynamic;          /* the last run */
    power_dynamic controller; /* of that run */
    uint32_t die_classes;
    pw_gpu_die dies[MOST_CLASSES];
    group *groups; /* [programs x die classes x seats] */
    power_heat *heat;         /* NULL: temperatures are as said */
    uint32_t places;          /* GPUs of a node */
    uint32_t *class_of_place;
    uint32_t group_count;
    double *clocks;
    const pw_job *job;
    pw_arena *results;        /* of the run under way */
    pw_power_result *power;
};

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the power of a run"); }

/* --- What was said ------------------------------------------------------------------------------------------------- */

static pw_status read_controller(pw_power_loop *loop, const pw_catalogue *catalogue, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "power-controller", &table, error));
    int row = pw_table_find_row(table, "default");
    if (row < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "add a row with that name", "there is no row 'default'");
    loop->average_s = pw_table_number_of(table, (size_t)row, "average");
    loop->sample_s = pw_table_number_of(table, (size_t)row, "sample");
    loop->decision_s = pw_table_number_of(table, (size_t)row, "decision");
    loop->node_sample_s = pw_table_number_of(table, (size_t)row, "node sample");
    loop->margin = pw_table_number_of(table, (size_t)row, "margin");
    if (!(loop->average_s > 0 && loop->average_s <= 100 && loop->sample_s > 0 && loop->sample_s <= 100 && loop->node_sample_s > 0 && loop->decision_s > 0 &&
          loop->decision_s <= loop->average_s && loop->margin > 0 && loop->margin < 0.5))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), NULL,
                       "average, decision and samples are times above 0 and up to 100 s, decision no more than average; margin is above 0 and below 0.5");
    return PW_OK;
}

static pw_status read_limits(pw_power_loop *loop, const pw_catalogue *catalogue, const pw_power_desc *desc, pw_error *error) {
    if (loop->heat && desc && !isnan(desc->temperature_C))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave one of them out", "power.temperature and cluster.cooling exclude each other");
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(loop->model);
    loop->temperature_C = figures->reference_C;
    loop->cap_W = figures->tdp_W;
    loop->die_classes = 1;
    if (!desc) return PW_OK;
    if (!isnan(desc->temperature_C)) loop->temperature_C = desc->temperature_C;
    if (!isnan(desc->cap_W)) loop->cap_W = loop->limits.cap_W = desc->cap_W;
    if (!isnan(desc->clock_Hz)) loop->limits.clock_ratio = desc->clock_Hz / figures->reference_Hz;
    if (desc->profile && *desc->profile)
        PW_TRY(pw_gpu_power_profile(catalogue, loop->model, desc->profile, &loop->limits.profile, error));
    loop->die_classes = (uint32_t)desc->die_classes;
    if (loop->temperature_C >= figures->shutdown_C)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "power.temperature %g degC: %s shuts down at %g degC", loop->temperature_C,
                       pw_gpu_power_device(loop->model)->name, figures->shutdown_C);
    return pw_gpu_power_check_limits(loop->model, &loop->limits, error);
}

/* --- Dies ---------------------------------------------------------------------------------------------------------- */

static int by_dynamic(const void *a, const void *b) {
    double x = ((const pw_gpu_die *)a)->dynamic, y = ((const pw_gpu_die *)b)->dynamic;
    return x < y ? -1 : x > y;
}

/* Classes are equal parts of many dies in order of what they switch; each is represented by its mean. */
static pw_status make_dies(pw_power_loop *loop, uint64_t seed, pw_error *error) {
    loop->dies[0] = pw_gpu_die_nominal;
    if (loop->die_classes == 1) return PW_OK;
    pw_gpu_die *drawn = pw_arena_alloc(loop->arena, DIES * sizeof *drawn);
    if (!drawn) return no_memory(error);
    for (uint32_t i = 0; i < DIES; i++) drawn[i] = pw_gpu_die_draw(loop->model, seed, i);
    qsort(drawn, DIES, sizeof *drawn, by_dynamic);
    for (uint32_t c = 0; c < loop->die_classes; c++) {
        uint32_t first = c * DIES / loop->die_classes, end = (c + 1) * DIES / loop->die_classes;
        pw_gpu_die sum = {0, 0};
        for (uint32_t i = first; i < end; i++) {
            sum.still += drawn[i].still;
            sum.dynamic += drawn[i].dynamic;
        }
        loop->dies[c] = (pw_gpu_die){sum.still / (end - first), sum.dynamic / (end - first)};
    }
    return PW_OK;
}

/* Every node holds the same classes at the same places, shuffled by the seed, so that equal nodes stay equal and fold. */
static pw_status group_ranks(pw_power_loop *loop, const pw_cluster *cluster, uint64_t seed, pw_job *job, pw_error *error) {
    uint32_t places = pw_cluster_gpus_per_node(cluster), k = loop->die_classes, seats = power_heat_seats(loop->heat);
    uint32_t *class_of_place = pw_arena_alloc(loop->arena, (places + (size_t)1) * sizeof *class_of_place);
    uint32_t *groups = pw_arena_alloc(loop->arena, (job->ranks + (size_t)1) * sizeof *groups);
    loop->group_count = job->program_count * k * seats;
    loop->places = places;
    loop->class_of_place = class_of_place;
    loop->groups = pw_arena_alloc(loop->arena, (loop->group_count + (size_t)1) * sizeof *loop->groups);
    loop->clocks = pw_arena_alloc(loop->arena, (loop->group_count + (size_t)1) * sizeof *loop->clocks);
    if (!class_of_place || !groups || !loop->groups || !loop->clocks) return no_memory(error);
    for (uint32_t p = 0; p < places; p++) class_of_place[p] = p % k;
    pw_random random = pw_random_stream(seed, "die places", 0);
    for (uint32_t p = places; p > 1; p--) {
        uint32_t other = (uint32_t)pw_random_below(&random, p), kept = class_of_place[p - 1];
        class_of_place[p - 1] = class_of_place[other];
        class_of_place[other] = kept;
    }
    for (uint32_t g = 0; g < loop->group_count; g++) 
        loop->groups[g] = (group){.program = g / (k * seats), .die_class = g / seats % k, .seat = g % seats, .temperature_C = loop->temperature_C};
    for (uint32_t r = 0; r < job->ranks; r++) {
        uint32_t place = job->gpu_of_rank[r] % places;
        groups[r] = (job->program_of_rank[r] * k + class_of_place[place]) * seats + power_heat_seat(loop->heat, place);
        loop->groups[groups[r]].gpus++;
    }
    job->clock_group_of_rank = groups;
    job->clock_groups = loop->group_count;
    return PW_OK;
}

pw_status pw_power_loop_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                               const pw_power_desc *desc, double pace, uint64_t seed, pw_arena *arena, pw_job *job,
                               pw_power_loop **result,
                               pw_error *error) {
    *result = NULL;
    pw_power_loop *loop = pw_arena_alloc(arena, sizeof *loop);
    if (!loop) return no_memory(error);
    loop->allocator = allocator ? *allocator : *pw_allocator_default();
    loop->arena = arena;
    loop->job = job;
    loop->pace = pace;
    loop->is_dynamic = desc && desc->mode == PW_POWER_DYNAMIC;
    PW_TRY(pw_gpu_power_create(&loop->allocator, catalogue, pw_cluster_device(cluster)->name, &loop->model, error));
    *result = loop; /* from here on the caller destroys it */
    PW_TRY(read_controller(loop, catalogue, error));
    PW_TRY(power_node_open(&loop->node, &loop->allocator, catalogue, cluster, error));
    PW_TRY(power_heat_create(&loop->allocator, cluster, arena, &loop->heat, error));
    PW_TRY(read_limits(loop, catalogue, desc, error));
    PW_TRY(make_dies(loop, seed, error));
    return group_ranks(loop, cluster, seed, job, error);
}

void pw_power_loop_destroy(pw_power_loop *loop) {
    if (!loop) return;
    power_node_close(&loop->node);
    pw_gpu_power_destroy(loop->model);
    power_heat_destroy(loop->heat);
}

/* --- Clocks from a run --------------------------------------------------------------------------------------------- */

/* How long the load of a class takes at another clock: its segments stretch, overlapped as they were; pauses stay. */
typedef struct class_time {
    const pw_executor *executor;
    uint32_t class;
    double pace, overlap, pauses_s;
} class_time;

static double time_of(void *context, double clock_ratio) {
    const class_time *t = context;
    double compute_s;
    if (pw_executor_compute_at(t->executor, t->class, t->pace * clock_ratio, &compute_s, NULL) != PW_OK) return t->pauses_s;
    return t->overlap * compute_s + t->pauses_s;
}

static void keep_load(const pw_power_loop *loop, const pw_gpu_load *load, kept_load *kept) {
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(loop->model);
    double slow = 1 / figures->min_ratio, fast = 1 / figures->boost_ratio;
    kept->work = load->work;
    for (int i = 0; i < KEPT; i++) {
        kept->per_clock[i] = fast + (slow - fast) * i / (KEPT - 1);
        kept->span_s[i] = load->time_of ? load->time_of(load->context, 1 / kept->per_clock[i]) : load->span_s;
    }
}

static double kept_time(void *context, double clock_ratio) {
    const kept_load *kept = context;
    double at = (1 / clock_ratio - kept->per_clock[0]) / (kept->per_clock[KEPT - 1] - kept->per_clock[0]) * (KEPT - 1);
    int i = at < 0 ? 0 : at >= KEPT - 1 ? KEPT - 2 : (int)at;
    return kept->span_s[i] + (at - i) * (kept->span_s[i + 1] - kept->span_s[i]);
}

void pw_power_loop_keep(pw_power_loop *loop) { loop->keeps = true; }
uint32_t pw_power_loop_groups(const pw_power_loop *loop) { return loop->group_count; }
double pw_power_loop_pace(const pw_power_loop *loop) { return loop->pace; }
double pw_power_loop_clock(const pw_power_loop *loop, uint32_t number) { return loop->groups[number].clock_ratio; }
const pw_gpu_power *pw_power_loop_model(const pw_power_loop *loop) { return loop->model; }

pw_gpu_settled pw_power_loop_settle(const pw_power_loop *loop, uint32_t number, double cap_W, bool brake) {
    group *of = &loop->groups[number];
    pw_gpu_load load = {.work = of->load.work, .span_s = kept_time(&of->load, 1), .time_of = kept_time, .context = &of->load};
    pw_gpu_limits limits = loop->limits;
    if (cap_W > 0 && (limits.cap_W == 0 || cap_W < limits.cap_W)) limits.cap_W = cap_W;
    limits.brake = limits.brake || brake;
    return pw_gpu_power_settle(loop->model, &load, &limits, of->temperature_C, loop->dies[of->die_class]);
}

static pw_status settle(const pw_power_loop *loop, const pw_executor *executor, uint32_t class, group *of, pw_error *error) {
    pw_effort effort = pw_executor_effort(executor, class);
    double alone_s;
    PW_TRY(pw_executor_compute_at(executor, class, loop->pace * of->clock_ratio, &alone_s, error));
    class_time time = {.executor = executor, .class = class, .pace = loop->pace, .pauses_s = effort.active_s - effort.compute_s};
    if (alone_s > 0) time.overlap = effort.compute_s / alone_s;
    pw_gpu_load load = {.work = effort.work, .span_s = time_of(&time, 1), .time_of = time_of, .context = &time};
    if (!(load.span_s > 0)) { /* computes nothing */
        load = (pw_gpu_load){.work = {.link_bytes = effort.work.link_bytes, .memory_bytes = effort.work.memory_bytes},
                             .span_s = effort.span_s > 0 ? effort.span_s : 1};
    }
    load.work.busy_s = load.span_s; /* a cap sees pauses as they are averaged, and nothing else */
    if (loop->keeps) keep_load(loop, &load, &of->load);
    of->settled = pw_gpu_power_settle(loop->model, &load, &loop->limits, of->temperature_C, loop->dies[of->die_class]);
    of->class = class;
    of->next = of->settled.mean_ratio;
    of->seen = true;
    return PW_OK;
}

static pw_gpu_watts watts_of(const pw_power_loop *loop, const group *of, const pw_gpu_work *work, double span_s) {
    pw_gpu_power_state state = {of->clock_ratio, of->temperature_C, loop->dies[of->die_class]};
    if (loop->limits.profile.clock > 0) state.die.dynamic *= loop->limits.profile.dynamic;
    return pw_gpu_power_watts(loop->model, &state, work, span_s);
}

static void add_watts(pw_gpu_watts *sum, const pw_gpu_watts *watts, double factor) {
    sum->total += factor * watts->total;
    sum->idle += factor * watts->idle;
    sum->leakage += factor * watts->leakage;
    sum->active += factor * watts->active;
    sum->tensor += factor * watts->tensor;
    sum->vector += factor * watts->vector;
    sum->memory += factor * watts->memory;
    sum->link += factor * watts->link;
}

/* --- Heat ---------------------------------------------------------------------------------------------------------- */

/* Mean watts of a GPU of the group over the run, at the clock that its load allows. */
static double mean_watts(const pw_power_loop *loop, const pw_executor *executor, const group *of) {
    pw_effort effort = pw_executor_effort(executor, of->class);
    group at = *of;
    at.clock_ratio = of->next;
    return effort.span_s > 0 ? watts_of(loop, &at, &effort.work, effort.span_s).total : 0;
}

/* The group at a place of a node of a program; where the program has no GPU there, another's that sits alike. */
static const group *group_at(const pw_power_loop *loop, uint32_t program, uint32_t place) {
    uint32_t seats = power_heat_seats(loop->heat), in_program = loop->die_classes * seats;
    uint32_t at = loop->class_of_place[place] * seats + power_heat_seat(loop->heat, place);
    if (loop->groups[program * in_program + at].seen) return &loop->groups[program * in_program + at];
    for (uint32_t g = at; g < loop->group_count; g += in_program)
        if (loop->groups[g].seen) return &loop->groups[g];
    return NULL;
}

/* Temperatures from watts; each group goes a part of the way, less once it has turned round. Returns the largest step. */
static pw_status warm_up(pw_power_loop *loop, const pw_executor *executor, double *watts, double *die_C, double *parts, double *turns, double *largest, pw_error *error) {
    uint32_t in_program = loop->die_classes * power_heat_seats(loop->heat);
    *largest = 0;
    for (uint32_t program = 0; program * in_program < loop->group_count; program++) {
        for (uint32_t place = 0; place < loop->places; place++) {
            const group *of = group_at(loop, program, place);
            watts[place] = of ? mean_watts(loop, executor, of) : 0;
        }
        PW_TRY(power_heat_settle(loop->heat, watts, die_C, &loop->fan_W, error));
        for (uint32_t g = program * in_program; g < (program + 1) * in_program; g++) {
            group *of = &loop->groups[g];
            double sum = 0, count = 0;
            for (uint32_t place = 0; place < loop->places && of->seen; place++)
                if (loop->class_of_place[place] == of->die_class && power_heat_seat(loop->heat, place) == of->seat) {
                    sum += die_C[place];
                    count++;
                }
            if (count == 0) continue;
            double step = sum / count - of->temperature_C;
            if (step * turns[g] < 0) parts[g] /= 2;
            turns[g] = step;
            of->temperature_C += parts[g] * step;
            *largest = fmax(*largest, fabs(parts[g] * step));
        }
    }
    return PW_OK;
}

/* The temperature at which a GPU draws what keeps it at that temperature, with the clock that it allows. */
static pw_status settle_heat(pw_power_loop *loop, const pw_executor *executor, pw_error *error) {
    double *watts = pw_arena_alloc(loop->results, loop->places * sizeof *watts), *die_C = pw_arena_alloc(loop->results, loop->places * sizeof *die_C);
    double *parts = pw_arena_alloc(loop->results, loop->group_count * sizeof *parts), *turns = pw_arena_alloc(loop->results, loop->group_count * sizeof *turns);
    if (!watts || !die_C || !parts || !turns) return no_memory(error);
    for (uint32_t g = 0; g < loop->group_count; g++) parts[g] = 1;
    double largest = INFINITY;
    for (int round = 0; round < MOST_ROUNDS && largest > SAME_TEMPERATURE_K; round++) {
        PW_TRY(warm_up(loop, executor, watts, die_C, parts, turns, &largest, error));
        for (uint32_t g = 0; g < loop->group_count; g++)
            if (loop->groups[g].seen) PW_TRY(settle(loop, executor, loop->groups[g].class, &loop->groups[g], error));
    }
    return PW_OK;
}

/* --- Watts over time ----------------------------------------------------------------------------------------------- */

typedef struct sample {
    double watts, gpus;
} sample;

static int by_watts(const void *a, const void *b) {
    double x = ((const sample *)a)->watts, y = ((const sample *)b)->watts;
    return x < y ? -1 : x > y;
}

/* Joules of a periodic series of bins from the start of bin 0 until `at` seconds; the last bin ends with the span. */
static double until(const double *energy, uint32_t bins, double bin_s, double span_s, double at) {
    double periods = floor(at / span_s), rest = at - periods * span_s;
    uint32_t whole = (uint32_t)(rest / bin_s);
    if (whole >= bins) whole = bins - 1;
    double begin = whole * bin_s, length = whole + 1 < bins ? bin_s : span_s - begin, part = length > 0 ? (rest - begin) / length : 0;
    return periods * energy[bins] + energy[whole] + (part < 1 ? part : 1) * (energy[whole + 1] - energy[whole]);
}

/* The run repeats, so windows go on behind its end. samples: [bins]. */
static void sample_windows(const double *energy, uint32_t bins, double bin_s, double span_s, double window_s, double gpus, sample *samples) {
    for (uint32_t b = 0; b < bins; b++) {
        double from = b * bin_s;
        samples[b] = (sample){(until(energy, bins, bin_s, span_s, from + window_s) - until(energy, bins, bin_s, span_s, from)) / window_s, gpus};
    }
}

static double quantile(const sample *sorted, size_t count, double q) {
    double all = 0, sum = 0;
    for (size_t i = 0; i < count; i++) all += sorted[i].gpus;
    for (size_t i = 0; i < count; i++) {
        sum += sorted[i].gpus;
        if (sum >= q * all) return sorted[i].watts;
    }
    return count ? sorted[count - 1].watts : 0;
}

/* Energy of one class over bins, as a running sum in energy[bins + 1]; adds its watts to those of all GPUs. */
static double add_bins(const pw_power_loop *loop, const group *of, const pw_gpu_work *work, uint32_t bins, double bin_s, double span_s,
                       double gpus, double *all_W, double *energy) {
    energy[0] = 0;
    for (uint32_t b = 0; b < bins; b++) {
        double length = b + 1 < bins ? bin_s : span_s - b * bin_s;
        double watts = length > 0 ? watts_of(loop, of, &work[b], length).total : 0;
        energy[b + 1] = energy[b] + watts * (length > 0 ? length : 0);
        all_W[b] += gpus * watts;
    }
    return energy[bins];
}

/* Each GPU stands for its share of a node whose GPUs are all like it. energy: of the GPU until each bin; wall: [bins + 1], scratch. */
static void node_windows(pw_power_loop *loop, pw_sim *sim, const double *energy, uint32_t bins, double bin_s, double span_s, double link_Bps,
                         double gpus, double *wall, sample *samples) {
    double full_W = pw_node_power_fans_W(loop->node.model);
    double fan_speed = loop->heat && full_W > 0 ? fmin(1, pw_pow(loop->fan_W / full_W, 1.0 / 3)) : NAN; /* NaN: as heat goes */
    wall[0] = 0;
    for (uint32_t b = 0; b < bins; b++) {
        double length = b + 1 < bins ? bin_s : span_s - b * bin_s;
        wall[b + 1] = wall[b];
        if (!(length > 0)) continue;
        pw_node_watts watts = power_node_at(&loop->node, (energy[b + 1] - energy[b]) / length, link_Bps, fan_speed);
        pw_node_energy_add(sim, &loop->node.energy, &watts, length, gpus / loop->node.gpus);
        wall[b + 1] += watts.wall_W * length;
    }
    sample_windows(wall, bins, bin_s, span_s, loop->node_sample_s, gpus, samples);
}

static void take_nodes(const pw_power_loop *loop, pw_power_result *power, double rounds, double gpus) {
    const pw_node_energy *e = &loop->node.energy;
    double node_s = power->span_s * rounds * gpus / loop->node.gpus;
    power->node_server = pw_node_power_server(loop->node.model);
    power->node_mean_W = e->wall_J / node_s;
    power->node_dc_W = (e->wall_J - e->supply_loss_J) / node_s;
    power->node_sample_s = loop->node_sample_s;
    power->wall_J = e->wall_J / rounds;
}

/* The same from the controller's own account. */
static double take_dynamic(const pw_power_loop *loop, group *of, uint32_t class, uint32_t bins, double bin_s, double span_s, double gpus,
                           pw_gpu_watts *watts, double *all_W, double *energy) {
    const dynamic_gpu *gpu = &loop->controller.gpus[class];
    *watts = (pw_gpu_watts){0};
    add_watts(watts, &gpu->energy_J, 1 / span_s);
    energy[0] = 0;
    for (uint32_t b = 0; b < bins; b++) {
        double length = b + 1 < bins ? bin_s : span_s - b * bin_s;
        energy[b + 1] = energy[b] + gpu->bins_J[b];
        all_W[b] += length > 0 ? gpus * gpu->bins_J[b] / length : 0;
    }
    of->clock_sum += gpus * gpu->clock_s / span_s;
    for (int r = 0; r < PW_CLOCK_REASON_COUNT; r++) of->by_reason_s[r] += gpus * gpu->by_reason_s[r];
    return energy[bins];
}

static pw_status measure(pw_power_loop *loop, const pw_executor *executor, pw_sim *sim, bool dynamic, pw_error *error) {
    pw_power_result *power = loop->power;
    uint32_t classes = pw_executor_class_count(executor), bins;
    double bin_s, gpus = 0, rounds = pw_executor_rounds(executor) ? pw_executor_rounds(executor) : 1;
    pw_executor_effort_bins(executor, 0, &bins, &bin_s);
    if (dynamic) bin_s = loop->controller.bin_s;
    if (dynamic) bins = (uint32_t)fmin(loop->controller.bins, ceil(pw_executor_effort(executor, 0).span_s / bin_s));
    sample *samples = pw_arena_alloc(loop->results, ((size_t)classes * bins + 1) * sizeof *samples);
    double *energy = pw_arena_alloc(loop->results, (bins + (size_t)1) * sizeof *energy);
    double *all_W = pw_arena_alloc(loop->results, (bins + (size_t)1) * sizeof *all_W);
    sample *node_samples = pw_arena_alloc(loop->results, ((size_t)classes * bins + 1) * sizeof *node_samples);
    double *wall = pw_arena_alloc(loop->results, (bins + (size_t)1) * sizeof *wall);
    if (!samples || !energy || !all_W || !node_samples || !wall) return no_memory(error);
    loop->node.energy = (pw_node_energy){0};
    for (uint32_t c = 0; c < classes; c++) {
        const pw_rank_class *class = pw_executor_class(executor, c);
        group *of = &loop->groups[loop->job->clock_group_of_rank[class->representative]];
        pw_effort effort = pw_executor_effort(executor, c);
        if (!(effort.span_s > 0)) continue;
        pw_gpu_watts watts = watts_of(loop, of, &effort.work, effort.span_s);
        uint32_t counted;
        double width_s, joules;
        const pw_gpu_work *work = pw_executor_effort_bins(executor, c, &counted, &width_s);
        if (dynamic) joules = take_dynamic(loop, of, c, bins, bin_s, effort.span_s, class->multiplicity, &watts, all_W, energy);
        else joules = add_bins(loop, of, work, bins, bin_s, effort.span_s, class->multiplicity, all_W, energy);
        PW_LAW(sim, fabs(joules - watts.total * effort.span_s) <= ENERGY_LAW * joules, "energy",
               "%.17g J over time, %.17g J from all that was done, of a GPU of \"%s\"", joules, watts.total * effort.span_s,
               loop->job->programs[class->program].name);
        add_watts(&of->watts, &watts, class->multiplicity);
        if (loop->node.model)
            node_windows(loop, sim, energy, bins, bin_s, effort.span_s, effort.work.link_bytes / effort.span_s, class->multiplicity, wall,
                         node_samples + (size_t)c * bins);
        sample_windows(energy, bins, bin_s, effort.span_s, loop->sample_s, class->multiplicity, samples + (size_t)c * bins);
        power->span_s = effort.span_s;
        power->energy_J += joules * class->multiplicity;
        gpus += class->multiplicity;
    }
    qsort(samples, (size_t)classes * bins, sizeof *samples, by_watts);
    power->mean_W = power->span_s > 0 ? power->energy_J / power->span_s / gpus : 0;
    power->span_s /= rounds;
    power->energy_J /= rounds;
    power->p95_W = quantile(samples, (size_t)classes * bins, 0.95);
    power->peak_W = quantile(samples, (size_t)classes * bins, 1);
    if (loop->node.model && power->span_s > 0) {
        qsort(node_samples, (size_t)classes * bins, sizeof *node_samples, by_watts);
        power->node_p95_W = quantile(node_samples, (size_t)classes * bins, 0.95);
        take_nodes(loop, power, rounds, gpus);
    }
    power->bins_W = all_W;
    power->bin_count = bins;
    power->bin_s = bin_s;
    return pw_sim_error(sim)->status == PW_OK ? PW_OK : (error ? (*error = *pw_sim_error(sim)).status : pw_sim_error(sim)->status);
}

static void forget(pw_power_loop *loop) {
    for (uint32_t g = 0; g < loop->group_count; g++) {
        loop->groups[g].seen = false;
        loop->groups[g].watts = (pw_gpu_watts){0};
    }
    *loop->power = (pw_power_result){.runs = loop->power->runs + 1};
}

static pw_status observe(void *object, const pw_executor *executor, pw_sim *sim, pw_error *error) {
    pw_power_loop *loop = object;
    forget(loop);
    for (uint32_t c = 0; c < pw_executor_class_count(executor); c++) {
        group *of = &loop->groups[loop->job->clock_group_of_rank[pw_executor_class(executor, c)->representative]];
        if (!of->seen) PW_TRY(settle(loop, executor, c, of, error));
    }
    if (loop->heat) PW_TRY(settle_heat(loop, executor, error));
    return measure(loop, executor, sim, false, error);
}

/* --- The controlled run -------------------------------------------------------------------------------------------- */

/* It begins as in the middle of many steps: at the clocks of the steady state, the average as it is there. */
static pw_status attach(void *object, pw_executor *executor, pw_sim *sim, pw_recorder *recorder, pw_error *error) {
    pw_power_loop *loop = object;
    uint32_t classes = pw_executor_class_count(executor);
    power_dynamic *d = &loop->controller;
    *d = (power_dynamic){.model = loop->model, .average_s = loop->average_s, .decision_s = loop->decision_s, .margin = loop->margin, .pace = loop->pace,
                         .count = classes, .bins = BINS, .bin_s = loop->power->bin_s > 0 ? 2 * loop->power->bin_s : FIRST_BIN_S};
    d->gpus = pw_arena_alloc(loop->results, (classes + (size_t)1) * sizeof *d->gpus);
    if (!d->gpus) return no_memory(error);
    for (uint32_t c = 0; c < classes; c++) {
        const group *of = &loop->groups[loop->job->clock_group_of_rank[pw_executor_class(executor, c)->representative]];
        d->gpus[c] = (dynamic_gpu){.clock_ratio = of->clock_ratio, .average_W = of->watts.total / (of->gpus ? of->gpus : 1),
                                   .temperature_C = of->temperature_C, .die = loop->dies[of->die_class], .limits = loop->limits};
        d->gpus[c].bins_J = pw_arena_alloc(loop->results, BINS * sizeof(double));
        if (!d->gpus[c].bins_J) return no_memory(error);
    }
    return dynamic_begin(d, executor, sim, recorder, error);
}

static void changed(void *object, pw_executor *executor, uint32_t rank_class) {
    dynamic_changed(&((pw_power_loop *)object)->controller, executor, rank_class);
}

static pw_status observe_controlled(void *object, const pw_executor *executor, pw_sim *sim, pw_error *error) {
    pw_power_loop *loop = object;
    dynamic_end(&loop->controller);
    forget(loop);
    for (uint32_t g = 0; g < loop->group_count; g++) {
        loop->groups[g].clock_sum = 0;
        for (int r = 0; r < PW_CLOCK_REASON_COUNT; r++) loop->groups[g].by_reason_s[r] = 0;
    }
    PW_TRY(measure(loop, executor, sim, true, error));
    for (uint32_t g = 0; g < loop->group_count; g++) {
        group *of = &loop->groups[g];
        if (!of->gpus) continue;
        of->clock_ratio = of->clock_sum / of->gpus;
        for (int r = 0; r < PW_CLOCK_REASON_COUNT; r++)
            if (of->by_reason_s[r] > of->by_reason_s[of->settled.reason]) of->settled.reason = (pw_clock_reason)r;
    }
    return PW_OK;
}

/* --- Runs ---------------------------------------------------------------------------------------------------------- */

static pw_status fill(pw_power_loop *loop, const char *provenance, pw_power_result *power, pw_error *error) {
    pw_power_group *groups = pw_arena_alloc(loop->results, (loop->group_count + (size_t)1) * sizeof *groups);
    if (!groups) return no_memory(error);
    double gpus = 0, warmth = 0;
    power->lowest_ratio = INFINITY;
    power->hottest_C = -INFINITY;
    for (uint32_t g = 0; g < loop->group_count; g++) {
        const group *of = &loop->groups[g];
        if (!of->gpus) continue;
        pw_power_group *to = &groups[power->group_count++];
        *to = (pw_power_group){.program = loop->job->programs[of->program].name, .die_class = of->die_class, .gpus = of->gpus,
                               .clock_ratio = of->clock_ratio, .reason = of->settled.reason, .over_cap = of->settled.over_cap};
        add_watts(&to->watts, &of->watts, 1.0 / of->gpus);
        power->by_reason[to->reason] += of->gpus;
        power->clock_ratio += of->gpus * of->clock_ratio;
        if (of->clock_ratio < power->lowest_ratio) power->lowest_ratio = of->clock_ratio;
        to->temperature_C = of->temperature_C;
        power->hottest_C = fmax(power->hottest_C, of->temperature_C);
        warmth += of->gpus * of->temperature_C;
        gpus += of->gpus;
    }
    power->clock_ratio /= gpus;
    power->groups = groups;
    power->sample_s = loop->sample_s;
    power->cap_W = loop->cap_W;
    power->pace = loop->pace;
    power->temperature_C = warmth / gpus;
    power->cooling = loop->heat ? power_heat_row(loop->heat) : NULL;
    power->reference_Hz = pw_gpu_power_figures_of(loop->model)->reference_Hz;
    power->provenance = pw_arena_text(loop->results, provenance);
    return power->provenance ? PW_OK : no_memory(error);
}

/* True when the clocks of the run are those that its load allows; else takes the latter over. */
static bool holds(pw_power_loop *loop) {
    bool same = true;
    for (uint32_t g = 0; g < loop->group_count; g++)
        if (loop->groups[g].seen && fabs(loop->groups[g].next - loop->groups[g].clock_ratio) > SAME_CLOCK * loop->groups[g].next) same = false;
    for (uint32_t g = 0; !same && g < loop->group_count; g++) {
        if (loop->groups[g].seen) loop->groups[g].clock_ratio = loop->groups[g].next;
        loop->clocks[g] = loop->pace * loop->groups[g].clock_ratio;
    }
    return same;
}

pw_status pw_power_loop_run(pw_power_loop *loop, const pw_session_config *config, const pw_job *job, pw_arena *arena,
                            pw_session_result *result, pw_power_result *power, pw_error *error) {
    const pw_effort_config effort = {.average_s = loop->average_s, .bins = BINS, .bin_s = FIRST_BIN_S};
    pw_session_config own = *config;
    const bool again = config->sink_count > 0 || config->runner;
    own.effort = &effort;
    own.clock_of_group = loop->clocks;
    own.observe = observe;
    own.observer = loop;
    own.sink_count = 0;
    own.runner = NULL;
    loop->job = job;
    loop->results = arena;
    loop->power = power;
    *power = (pw_power_result){0};
    for (uint32_t g = 0; g < loop->group_count; g++) {
        loop->groups[g].clock_ratio = config->clock_ratio;
        loop->clocks[g] = loop->pace * config->clock_ratio;
    }
    bool settled = false;
    for (uint32_t run = 0; run < MOST_RUNS && !settled; run++) {
        PW_TRY(pw_session_run(&own, job, arena, result, error));
        settled = holds(loop);
    }
    if (loop->is_dynamic) {
        own.attach = attach;
        own.effort_changed = changed;
        own.observe = observe_controlled;
    }
    if (again || loop->is_dynamic) {
        own.sink_count = config->sink_count;
        own.runner = config->runner;
        PW_TRY(pw_session_run(&own, job, arena, result, error));
    }
    return fill(loop, pw_gpu_power_provenance(loop->model), power, error);
}

void pw_power_loop_note(const pw_power_result *power, pw_notes *notes) {
    if (power->cooling)
        pw_note(notes, "Clocks come from power and heat: cap %g W, dies at %.1f degC in the mean, cooled by \"%s\"; %s.", power->cap_W, power->temperature_C,
                power->cooling, power->provenance);
    else pw_note(notes, "Clocks come from power: cap %g W, dies at %g degC; %s.", power->cap_W, power->temperature_C, power->provenance);
    if (power->pace != 1)
        pw_note(notes, "At one clock arithmetic runs at %.3f of the pace of benchmarked kernels (training-pace).", power->pace);
}
