/* Between two events of a node everything it draws is constant: its energies grow linearly and its temperatures follow models/cooling
 * exactly. An event (a change of load, or the look at every die once per aggregate) brings the node to now, settles the GPUs that changed or
 * warmed up, and sums the node anew. The site's watts are corrected by each node's difference and summed afresh at every look. */
#include "models/operations/load_trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/levels.h"

#define NODES_TABLE "load-nodes"
enum { POWER, UTILIZATION, CLOCK, TEMPERATURE, MEMORY_TEMPERATURE, REASONS, TENSOR, MEMORY, LINK, FAN };
static const char *const level_names[] = {PW_LEVEL_POWER, PW_LEVEL_UTILIZATION, PW_LEVEL_CLOCK, PW_LEVEL_TEMPERATURE, PW_LEVEL_MEMORY_TEMPERATURE,
                                          PW_LEVEL_CLOCK_REASONS, PW_LEVEL_TENSOR, PW_LEVEL_MEMORY, PW_LEVEL_LINK, PW_LEVEL_FAN};

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a load trace"); }

/* ---- Loads ---- */

static bool is_equal(const pw_load_phase_desc *a, const pw_load_phase_desc *b) {
    return a->tensor == b->tensor && a->vector == b->vector && a->precision == b->precision && a->memory == b->memory && a->link == b->link &&
           a->busy == b->busy && a->compute == b->compute;
}

/* Rates are per second at the reference clock, so a span is one second. */
static pw_status make_load(const trace *t, const pw_load_phase_desc *phase, trace_load *made, pw_error *error) {
    const pw_device *d = t->device;
    double peak = d->peak_flops[phase->precision], link_Bps = isnan(d->scaleup_Bps) || d->scaleup_Bps <= 0 ? d->pcie_Bps : d->scaleup_Bps;
    *made = (trace_load){.phase = *phase, .idle = phase->busy <= 0, .load = {.span_s = 1, .compute_s = phase->compute}};
    if (phase->tensor > 0 && !(peak > 0))
        return pw_fail(error, PW_UNSUPPORTED, t->options->file, t->options->line, "choose another precision", "load_phase.precision: the catalogue knows no %s peak of %s",
                       pw_precision_names[phase->precision], d->name);
    pw_gpu_work *work = &made->load.work;
    if (phase->tensor > 0) work->tensor_flops[phase->precision] = phase->tensor * peak;
    if (phase->vector > 0) work->vector_flops = phase->vector * d->vector_flops;
    work->memory_bytes = phase->memory * d->memory_Bps;
    if (phase->link > 0) work->link_bytes = 2 * phase->link * link_Bps; /* in and out */
    work->busy_s = phase->busy;
    if (!isfinite(work->memory_bytes + work->link_bytes + work->vector_flops))
        return pw_fail(error, PW_UNSUPPORTED, t->options->file, t->options->line, NULL, "the catalogue lacks bandwidths or peaks of %s that a load needs", d->name);
    made->free_s = 1 - phase->compute + phase->compute / pw_gpu_power_figures_of(t->power)->load_ratio;
    return PW_OK;
}

pw_status trace_find_load(trace *t, const pw_load_phase_desc *phase, uint32_t *number, pw_error *error) {
    for (*number = 0; *number < t->load_count; ++*number)
        if (is_equal(&t->loads[*number].phase, phase)) return PW_OK;
    if (t->load_count == TRACE_MOST_LOADS)
        return pw_fail(error, PW_LIMIT, t->options->file, t->options->line, NULL, "more than %d different phases", TRACE_MOST_LOADS);
    return make_load(t, phase, &t->loads[t->load_count++], error);
}

/* ---- One GPU, one node ---- */

static void settle(trace *t, uint32_t gpu, uint32_t node) {
    const trace_load *l = &t->loads[t->load[node]];
    double die_C = pw_cooling_die_C(t->cooling)[gpu], idle_W, memory_W;
    t->settled_C[gpu] = (float)die_C;
    t->result->settles++;
    if (l->idle) {
        const pw_gpu_power_state state = {.clock_ratio = 0, .temperature_C = die_C, .die = t->die[gpu]};
        pw_gpu_watts w = pw_gpu_power_watts(t->power, &state, &l->load.work, l->load.span_s);
        t->watts[gpu] = w.total;
        idle_W = w.idle;
        memory_W = w.memory;
        t->clock[gpu] = 0;
        t->speed[gpu] = 0;
        t->reason[gpu] = PW_CLOCK_REASON_GPU_IDLE;
    } else {
        pw_gpu_settled s = pw_gpu_power_settle(t->power, &l->load, &t->limits, die_C, t->die[gpu]);
        t->watts[gpu] = s.watts.total;
        idle_W = s.watts.idle;
        memory_W = s.watts.memory;
        t->clock[gpu] = (float)s.clock_ratio;
        t->speed[gpu] = (float)(l->free_s / s.span_s);
        t->reason[gpu] = (uint8_t)s.reason;
    }
    memory_W += t->memory_share * idle_W;
    pw_cooling_set_gpu(t->cooling, gpu, t->watts[gpu] - memory_W, memory_W);
}

/* What a node draws beside its GPUs. */
static void ask_node(trace *t, uint32_t node, double gpu_W, const pw_cooling_state *air) {
    const trace_load *l = &t->loads[t->load[node]];
    if (!t->node_model) {
        t->fan_W[node] = air->fan_W;
        t->rest[node] = t->rest_W;
        return;
    }
    const pw_node_load load = {.gpu_W = gpu_W, .host = l->idle ? 0 : PW_NODE_HOST_FEEDS, .scaleup = l->phase.link, .fan_speed = air->fan_share > 0 ? air->fan_share : NAN};
    pw_node_watts w = pw_node_power_at(t->node_model, &load);
    t->fan_W[node] = w.part[PW_NODE_PART_FAN];
    t->rest[node] = w.output_W - gpu_W - t->fan_W[node];
    t->loss_W[node] = w.supply_loss_W;
    pw_cooling_set_rest(t->cooling, node, t->rest[node] + w.supply_loss_W);
}

/* Watts of the node from those of its parts; the site follows. A node whose GPUs and fans are as before draws what it drew. */
static void sum_node(trace *t, uint32_t node, bool is_new) {
    pw_cooling_state air = pw_cooling_node(t->cooling, node);
    double gpu_W = 0, fast = 0;
    uint32_t busy = 0, capped = 0, hot = 0;
    for (uint32_t g = node * t->gpus_per_node; g < (node + 1) * t->gpus_per_node; g++) {
        gpu_W += t->watts[g];
        fast += t->speed[g];
        busy += t->speed[g] > 0;
        capped += t->reason[g] == PW_CLOCK_REASON_SW_POWER_CAP;
        hot += t->reason[g] == PW_CLOCK_REASON_SW_THERMAL || t->reason[g] == PW_CLOCK_REASON_HW_THERMAL || t->reason[g] == PW_CLOCK_REASON_HW_SLOWDOWN;
    }
    if (is_new || gpu_W != t->gpu_W[node] || (float)air.fan_share != t->fan_share[node]) ask_node(t, node, gpu_W, &air);
    double node_W = gpu_W + t->fan_W[node] + t->rest[node] + t->loss_W[node];
    t->gpu_W[node] = gpu_W;
    t->fan_share[node] = (float)air.fan_share;
    t->busy[node] = (float)busy;
    t->fast[node] = (float)fast;
    t->capped[node] = (float)capped;
    t->hot[node] = (float)hot;
    t->site_W += node_W - t->node_W[node];
    t->node_W[node] = node_W;
}

static void charge(trace *t, uint32_t node, double seconds) {
    pw_load_trace_result *r = t->result;
    t->node_J[node] += t->node_W[node] * seconds;
    r->gpu_J += t->gpu_W[node] * seconds;
    r->fan_J += t->fan_W[node] * seconds;
    r->rest_J += t->rest[node] * seconds;
    r->loss_J += t->loss_W[node] * seconds;
    r->busy_gpu_s += (double)t->busy[node] * seconds;
    r->kept += (double)t->fast[node] * seconds;
    r->capped_gpu_s += (double)t->capped[node] * seconds;
    r->hot_gpu_s += (double)t->hot[node] * seconds;
}

/* Brings nodes first .. last - 1 to now, in runs of equal times. */
static void bring(trace *t, uint32_t first, uint32_t last) {
    double now_s = pw_sim_seconds(t->sim);
    for (uint32_t n = first; n < last;) {
        double from_s = t->last_s[n];
        uint32_t end = n;
        for (; end < last && t->last_s[end] == from_s; end++) {
            charge(t, end, now_s - from_s);
            t->last_s[end] = now_s;
        }
        if (now_s > from_s) pw_cooling_advance(t->cooling, n, end - n, now_s - from_s);
        n = end;
    }
}

static void report_gpu(trace *t, uint32_t gpu, uint32_t node) {
    const trace_load *l = &t->loads[t->load[node]];
    pw_time now = pw_sim_now(t->sim);
    pw_track track = t->gpu_track[gpu];
    double speed = l->idle ? 1 : t->speed[gpu] * l->load.span_s / l->free_s; /* of the reference clock */
    pw_record_level(t->recorder, track, t->names[POWER], now, t->watts[gpu]);
    pw_record_level(t->recorder, track, t->names[UTILIZATION], now, l->phase.busy);
    pw_record_level(t->recorder, track, t->names[CLOCK], now, (double)t->clock[gpu] * pw_gpu_power_figures_of(t->power)->reference_Hz);
    pw_record_level(t->recorder, track, t->names[REASONS], now, (double)pw_clock_reason_bits[t->reason[gpu]]);
    pw_record_level(t->recorder, track, t->names[TENSOR], now, l->phase.tensor * speed);
    pw_record_level(t->recorder, track, t->names[MEMORY], now, l->phase.memory * speed);
    pw_record_level(t->recorder, track, t->names[LINK], now, l->load.work.link_bytes / 2 * speed);
}

void trace_set(trace *t, uint32_t node, uint32_t load) {
    if (t->load[node] == load) return;
    bring(t, node, node + 1);
    t->load[node] = load;
    t->result->changes++;
    for (uint32_t g = node * t->gpus_per_node; g < (node + 1) * t->gpus_per_node; g++) {
        settle(t, g, node);
        if (t->recorder) report_gpu(t, g, node);
    }
    sum_node(t, node, true);
}

void trace_changed(trace *t) { pw_sim_request_hook(t->sim, t->hook); }

/* The site's watts once all of an instant is done. */
static void keep_site(pw_sim *sim, void *object) {
    trace *t = object;
    pw_error error = {0};
    (void)sim;
    double site_W = fmax(0, t->site_W);
    if (t->recorder) pw_record_level(t->recorder, t->site_track, t->names[POWER], pw_sim_now(t->sim), site_W);
    if (pw_signal_put(&t->result->site, pw_sim_seconds(t->sim), site_W, &error) != PW_OK) pw_sim_fail_with(t->sim, &error);
}

/* ---- The look once per aggregate ---- */

static void look_at_node(trace *t, uint32_t node) {
    const double *die_C = pw_cooling_die_C(t->cooling), *memory_C = pw_cooling_memory_C(t->cooling);
    pw_load_trace_result *r = t->result;
    for (uint32_t g = node * t->gpus_per_node; g < (node + 1) * t->gpus_per_node; g++) {
        if (fabs(die_C[g] - (double)t->settled_C[g]) > t->desc->tolerance_K) {
            settle(t, g, node);
            if (t->recorder) report_gpu(t, g, node);
        }
        if (die_C[g] > r->hottest_C) r->hottest_C = die_C[g], r->hottest_gpu = g;
        r->hottest_memory_C = fmax(r->hottest_memory_C, memory_C[g]);
        r->gpu_peak_W = fmax(r->gpu_peak_W, t->watts[g]);
    }
}

static void report_node(trace *t, uint32_t node, double mean_W, const pw_cooling_state *state) {
    const double *die_C = pw_cooling_die_C(t->cooling), *memory_C = pw_cooling_memory_C(t->cooling);
    pw_time now = pw_sim_now(t->sim);
    for (uint32_t g = node * t->gpus_per_node; g < (node + 1) * t->gpus_per_node; g++) {
        pw_record_level(t->recorder, t->gpu_track[g], t->names[TEMPERATURE], now, die_C[g]);
        pw_record_level(t->recorder, t->gpu_track[g], t->names[MEMORY_TEMPERATURE], now, memory_C[g]);
    }
    pw_record_level(t->recorder, t->node_track[node], t->names[POWER], t->last_tick, mean_W);
    pw_record_level(t->recorder, t->node_track[node], t->names[TEMPERATURE], now, state->hottest_C);
    pw_record_level(t->recorder, t->node_track[node], t->names[FAN], now, state->fan_share);
}

static void hash_watts(pw_load_trace_result *r, double watts) {
    uint64_t bits;
    memcpy(&bits, &watts, sizeof bits);
    r->hash = (r->hash ^ bits) * 1099511628211u;
}

/* Means since the last look. */
static void look_at_racks(trace *t, double seconds) {
    pw_load_trace_result *r = t->result;
    double site_J = 0;
    for (uint32_t k = 0; k < t->racks; k++) {
        double rack_J = 0;
        for (uint32_t n = k * t->rack_nodes; n < t->nodes && n < (k + 1) * t->rack_nodes; n++) rack_J += t->node_J[n];
        double mean_W = (rack_J - t->rack_before_J[k]) / seconds;
        t->rack_before_J[k] = rack_J;
        site_J += rack_J;
        if (mean_W > r->rack_peak_W) r->rack_peak_W = mean_W, r->rack_peak = k;
        if (t->recorder) pw_record_level(t->recorder, t->rack_track[k], t->names[POWER], t->last_tick, mean_W);
    }
    double mean_W = (site_J - t->site_before_J) / seconds;
    t->site_before_J = site_J;
    r->peak_W = fmax(r->peak_W, mean_W);
    r->least_W = fmin(r->least_W, mean_W);
    hash_watts(r, mean_W);
}

static void look(pw_sim *sim, void *object, uint64_t argument) {
    trace *t = object;
    pw_time now = pw_sim_now(sim), end = pw_sim_ticks(sim, t->desc->lasts_s);
    double seconds = pw_time_to_seconds(now - t->last_tick, pw_sim_ticks_per_second(sim)), total_W = 0;
    bring(t, 0, t->nodes);
    for (uint32_t n = 0; n < t->nodes; n++) {
        look_at_node(t, n);
        sum_node(t, n, seconds <= 0);
        total_W += t->node_W[n];
        if (!t->recorder) continue;
        pw_cooling_state state = pw_cooling_node(t->cooling, n);
        report_node(t, n, seconds > 0 ? (t->node_J[n] - t->node_before_J[n]) / seconds : t->node_W[n], &state);
        t->node_before_J[n] = t->node_J[n];
    }
    t->site_W = total_W;
    if (seconds > 0) look_at_racks(t, seconds);
    t->last_tick = now;
    trace_changed(t);
    (void)argument;
    pw_time next = pw_time_add(now, pw_sim_ticks(sim, t->desc->aggregate_s));
    if (now < end) pw_event_at(sim, next < end ? next : end, 1, look, t, 0);
}

/* ---- Building and running ---- */

/* By the parts of the server where they are on file. */
static pw_status make_node(trace *t, const char *server, pw_error *error) {
    const pw_table *table;
    double rest_W;
    pw_error none = {0};
    PW_TRY(pw_catalogue_need(t->catalogue, NODES_TABLE, &table, error));
    int row = pw_table_find_row(table, "any");
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, NULL, "no row of %s is called 'any'", NODES_TABLE);
    PW_TRY(pw_table_amount_of(table, (size_t)row, "rest", &rest_W, error));
    t->rest_W = rest_W * t->gpus_per_node;
    pw_status status = server && *server ? pw_node_power_create(t->allocator, t->catalogue, server, &t->node_model, &none) : PW_NOT_FOUND;
    if (status == PW_OK && (pw_node_power_gpus(t->node_model) != (int)t->gpus_per_node || strcmp(pw_node_power_gpu(t->node_model), t->device->name) != 0)) {
        pw_node_power_destroy(t->node_model); /* the row's server, with other GPUs */
        t->node_model = NULL;
    }
    t->result->node_source = t->node_model ? "parts of the server" : "the row 'any' of load-nodes";
    if (status == PW_OK || status == PW_NOT_FOUND) return PW_OK;
    if (error) *error = none;
    return status;
}

static void *array(trace *t, size_t count, size_t size, bool *failed) {
    void *memory = pw_arena_alloc(t->arena, count * size);
    if (!memory) *failed = true;
    return memory;
}

static pw_status make_arrays(trace *t, pw_error *error) {
    bool failed = false;
    size_t gpus = t->gpus, nodes = t->nodes;
    t->die = array(t, gpus, sizeof *t->die, &failed);
    t->settled_C = array(t, gpus, sizeof *t->settled_C, &failed);
    t->clock = array(t, gpus, sizeof *t->clock, &failed);
    t->speed = array(t, gpus, sizeof *t->speed, &failed);
    t->watts = array(t, gpus, sizeof *t->watts, &failed);
    t->reason = array(t, gpus, sizeof *t->reason, &failed);
    t->load = array(t, nodes, sizeof *t->load, &failed);
    double **doubles[] = {&t->last_s, &t->node_W, &t->node_J, &t->node_before_J, &t->gpu_W, &t->fan_W, &t->rest, &t->loss_W};
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) *doubles[i] = array(t, nodes, sizeof(double), &failed);
    float **floats[] = {&t->fan_share, &t->busy, &t->fast, &t->capped, &t->hot};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) *floats[i] = array(t, nodes, sizeof(float), &failed);
    t->rack_before_J = array(t, t->racks, sizeof(double), &failed);
    t->loads = array(t, TRACE_MOST_LOADS, sizeof *t->loads, &failed);
    return failed ? no_memory(error) : PW_OK;
}

/* Tracks in the order site, racks with their nodes, nodes with their GPUs. */
static pw_status listen(trace *t, pw_error *error) {
    bool failed = false;
    char name[32];
    if (!t->options->sink_count) return PW_OK;
    PW_TRY(pw_recorder_create(t->allocator, &t->recorder, error));
    for (uint32_t i = 0; i < t->options->sink_count; i++) PW_TRY(pw_recorder_attach(t->recorder, &t->options->sinks[i]));
    t->gpu_track = array(t, t->gpus, sizeof(pw_track), &failed);
    t->node_track = array(t, t->nodes, sizeof(pw_track), &failed);
    t->rack_track = array(t, t->racks, sizeof(pw_track), &failed);
    if (failed) return no_memory(error);
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) failed |= !(t->names[i] = pw_record_name(t->recorder, level_names[i]));
    failed |= !(t->site_track = pw_record_track(t->recorder, 0, "site"));
    for (uint32_t n = 0; n < t->nodes && !failed; n++) {
        uint32_t rack = n / t->rack_nodes;
        if (n % t->rack_nodes == 0) {
            snprintf(name, sizeof name, "rack %u", rack);
            failed |= !(t->rack_track[rack] = pw_record_track(t->recorder, t->site_track, name));
        }
        snprintf(name, sizeof name, "node %u", n);
        failed |= !(t->node_track[n] = pw_record_track(t->recorder, t->rack_track[rack], name));
        for (uint32_t g = n * t->gpus_per_node; g < (n + 1) * t->gpus_per_node; g++) {
            snprintf(name, sizeof name, "gpu %u", g);
            failed |= !(t->gpu_track[g] = pw_record_track(t->recorder, t->node_track[n], name));
        }
    }
    return failed ? no_memory(error) : PW_OK;
}

/* Everything idle, at the temperatures it has after a long while. */
static pw_status begin_idle(trace *t, pw_error *error) {
    const pw_load_phase_desc nothing = {.name = "idle"};
    uint32_t idle;
    PW_TRY(trace_find_load(t, &nothing, &idle, error));
    PW_CHECK(idle == TRACE_IDLE);
    for (int round = 0; round < 3; round++) { /* leakage follows temperature, which follows leakage */
        for (uint32_t g = 0; g < t->gpus; g++) settle(t, g, g / t->gpus_per_node);
        PW_TRY(pw_cooling_settle(t->cooling, 0, t->nodes, error));
    }
    t->result->settles = 0;
    if (t->recorder)
        for (uint32_t g = 0; g < t->gpus; g++) report_gpu(t, g, g / t->gpus_per_node);
    return PW_OK;
}

/* cluster.power: cap, clock and profile. */
static pw_status read_limits(trace *t, const pw_power_desc *desc, pw_error *error) {
    if (!desc) return PW_OK;
    const char *given = desc->model == PW_POWER_OFF ? "model" : !isnan(desc->temperature_C) ? "temperature" : desc->die_classes > 1 ? "die_classes" : NULL;
    if (desc->model != PW_POWER_OFF && desc->mode == PW_POWER_DYNAMIC) given = "mode";
    if (given)
        return pw_fail(error, PW_UNSUPPORTED, t->options->file, t->options->line, "leave it out", "power.%s has no meaning for a load trace, which follows power and heat of each GPU", given);
    if (!isnan(desc->cap_W)) t->limits.cap_W = desc->cap_W;
    if (!isnan(desc->clock_Hz)) t->limits.clock_ratio = desc->clock_Hz / pw_gpu_power_figures_of(t->power)->reference_Hz;
    if (desc->profile && *desc->profile) PW_TRY(pw_gpu_power_profile(t->catalogue, t->power, desc->profile, &t->limits.profile, error));
    return pw_gpu_power_check_limits(t->power, &t->limits, error);
}

static pw_status build(trace *t, const pw_cluster_desc *desc, pw_error *error) {
    pw_cluster *cluster;
    const pw_sim_config config = {.allocator = t->allocator, .ticks_per_second = PW_TICKS_PER_SECOND_OPERATIONS, .seed = t->options->seed};
    PW_TRY(pw_cluster_create(t->allocator, t->catalogue, desc, &cluster, error));
    pw_status status = pw_cluster_need_equal(cluster, "a load trace", error);
    t->nodes = pw_cluster_nodes(cluster);
    t->gpus = pw_cluster_gpus(cluster);
    t->gpus_per_node = pw_cluster_gpus_per_node(cluster);
    t->device = pw_cluster_device(cluster);
    if (status == PW_OK) status = pw_cluster_make_cooling(cluster, 0, t->nodes, t->allocator, &t->cooling, error);
    pw_cluster_destroy(cluster);
    PW_TRY(status);
    t->rack_nodes = t->desc->rack_nodes < t->nodes ? (uint32_t)t->desc->rack_nodes : t->nodes;
    t->racks = (t->nodes + t->rack_nodes - 1) / t->rack_nodes;
    PW_TRY(make_arrays(t, error));
    PW_TRY(pw_sim_create(&config, &t->sim, error));
    pw_sim_watch(t->sim, t->options->interrupt);
    t->hook = pw_sim_add_instant_hook(t->sim, keep_site, t);
    if (t->hook < 0) return no_memory(error);
    PW_TRY(pw_gpu_power_create(t->allocator, t->catalogue, t->device->name, &t->power, error));
    PW_TRY(read_limits(t, desc->power, error));
    pw_cooling_facts facts = pw_cooling_get_facts(t->cooling);
    t->memory_share = facts.memory_share;
    t->result->cooling_row = facts.row;
    PW_TRY(make_node(t, desc->node.server, error));
    for (uint32_t n = 0; n < t->nodes; n++) pw_cooling_set_rest(t->cooling, n, t->rest_W);
    for (uint32_t g = 0; g < t->gpus; g++) t->die[g] = t->desc->dies ? pw_gpu_die_draw(t->power, t->options->seed, g) : pw_gpu_die_nominal;
    PW_TRY(listen(t, error));
    return begin_idle(t, error);
}

static void check_energy(const trace *t) {
    const pw_load_trace_result *r = t->result;
    double parts_J = r->gpu_J + r->fan_J + r->rest_J + r->loss_J, site_J = pw_signal_energy_J(&r->site, 0, r->site.end_s);
    PW_LAW(t->sim, fabs(parts_J - site_J) <= 1e-9 * site_J, "energy of the site is that of its parts", "the site takes %.12g J, its parts %.12g", site_J, parts_J);
    double nodes_J = 0;
    for (uint32_t n = 0; n < t->nodes; n++) nodes_J += t->node_J[n];
    PW_LAW(t->sim, fabs(nodes_J - site_J) <= 1e-9 * site_J, "energy of the site is that of its nodes", "the site takes %.12g J, its nodes %.12g", site_J, nodes_J);
}

static pw_status run(trace *t, pw_error *error) {
    pw_load_trace_result *r = t->result;
    r->least_W = INFINITY;
    r->hottest_C = r->hottest_memory_C = -INFINITY;
    r->hash = 14695981039346656037u;
    pw_event_at(t->sim, 0, -1, look, t, 0); /* sums what is idle */
    PW_TRY(trace_start_jobs(t, error));
    pw_status status = pw_sim_run(t->sim, pw_sim_ticks(t->sim, t->desc->lasts_s));
    if (status == PW_OK) status = pw_signal_end(&r->site, pw_sim_seconds(t->sim), error);
    else if (error) *error = *pw_sim_error(t->sim);
    PW_TRY(status);
    check_energy(t);
    if (pw_sim_error(t->sim)->status != PW_OK) {
        if (error) *error = *pw_sim_error(t->sim);
        return pw_sim_error(t->sim)->status;
    }
    if (t->recorder) pw_recorder_close(t->recorder, pw_sim_now(t->sim));
    r->site_J = pw_signal_energy_J(&r->site, 0, r->site.end_s);
    r->mean_W = r->site_J / r->site.end_s;
    r->kept = r->busy_gpu_s > 0 ? r->kept / r->busy_gpu_s : 1;
    return PW_OK;
}

pw_status pw_load_trace_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster, const pw_load_trace_desc *desc,
                            const pw_load_trace_options *options, pw_arena *arena, pw_load_trace_result *result, pw_error *error) {
    trace t = {.allocator = allocator, .catalogue = catalogue, .desc = desc, .options = options, .result = result, .arena = pw_arena_create(allocator)};
    *result = (pw_load_trace_result){0};
    pw_signal_init(&result->site, allocator);
    if (!t.arena) return no_memory(error);
    pw_status status = build(&t, cluster, error);
    if (status == PW_OK) status = run(&t, error);
    result->device = t.device;
    result->gpus = t.gpus;
    result->nodes = t.nodes;
    result->racks = t.racks;
    if (t.power && status == PW_OK) {
        result->power_source = pw_arena_text(arena, pw_gpu_power_provenance(t.power));
        if (!result->power_source) status = no_memory(error);
    }
    if (status != PW_OK) pw_signal_free(&result->site);
    pw_recorder_destroy(t.recorder);
    pw_cooling_destroy(t.cooling);
    pw_gpu_power_destroy(t.power);
    pw_node_power_destroy(t.node_model);
    pw_sim_destroy(t.sim);
    pw_arena_destroy(t.arena);
    return status;
}
