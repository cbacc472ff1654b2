/* The same traffic as fluid flows: each is spread evenly over its paths, starts after their mean latency, and shares links at max-min
 * fair rates. */
#include "models/packet/engine.h"
#include "sim/fluid.h"

typedef struct fluid_flow {
    pw_time start, finish, latency;
    uint32_t waits;
} fluid_flow;

typedef struct fluid_run {
    const pw_packet_config *config;
    const pw_packet_desc *desc;
    const pw_traffic *traffic;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_capacity_id *capacities; /* [links]; zero: not used yet */
    bool *used;
    fluid_flow *flows;
    uint32_t *after, *after_list;
    pw_use *uses;
    uint32_t left;
} fluid_run;

static void begin(pw_sim *sim, void *object, uint64_t index);

static void done(pw_sim *sim, void *object, uint64_t index) {
    fluid_run *x = object;
    pw_time now = pw_sim_now(sim);
    x->flows[index].finish = now;
    x->left--;
    for (uint32_t a = x->after ? x->after[index] : 0; x->after && a < x->after[index + 1]; a++) {
        uint32_t next = x->after_list[a];
        if (--x->flows[next].waits > 0) continue;
        pw_time at = pw_sim_ticks(sim, x->traffic->flows[next].start_s);
        pw_event_at(sim, at > now ? at : now, 0, begin, x, next);
    }
}

static void flow(pw_sim *sim, void *object, uint64_t index) {
    fluid_run *x = object;
    uint32_t count = 0, paths = (uint32_t)x->desc->paths;
    pw_error error = {0};
    for (uint32_t k = 0; k < paths; k++) {
        pw_path path;
        if (path_of(x->config, x->traffic, (uint32_t)index, k, &path, &error) != PW_OK) {
            pw_sim_fail_with(sim, &error);
            return;
        }
        for (uint32_t l = 0; l < path.count; l++) {
            pw_link link = path.links[l];
            if (!x->used[link]) {
                x->used[link] = true;
                x->capacities[link] = pw_capacity_add(x->fluid, pw_fabric_link(x->config->fabric, link)->bandwidth_Bps);
            }
            x->uses[count++] = (pw_use){x->capacities[link], 1.0 / paths};
        }
    }
    pw_activity_start(x->fluid, pw_fluid_route(x->fluid, x->uses, count),
                      &(pw_activity_config){.work = x->traffic->flows[index].bytes, .done = done, .object = x, .argument = index});
}

static void begin(pw_sim *sim, void *object, uint64_t index) {
    fluid_run *x = object;
    double latency_s = 0;
    uint32_t paths = (uint32_t)x->desc->paths;
    pw_error error = {0};
    x->flows[index].start = pw_sim_now(sim);
    for (uint32_t k = 0; k < paths; k++) {
        pw_path path;
        if (path_of(x->config, x->traffic, (uint32_t)index, k, &path, &error) != PW_OK) {
            pw_sim_fail_with(sim, &error);
            return;
        }
        latency_s += pw_path_latency_s(x->config->fabric, &path) / paths;
    }
    x->flows[index].latency = pw_sim_ticks(sim, latency_s);
    pw_event_after(sim, x->flows[index].latency, flow, x, index);
}

static bool set_after(fluid_run *x, pw_arena *arena) {
    const pw_traffic *t = x->traffic;
    if (!t->before) return true;
    uint32_t entries = t->before[t->count];
    x->after = pw_arena_alloc(arena, (t->count + (size_t)2) * sizeof *x->after);
    x->after_list = pw_arena_alloc(arena, (entries + (size_t)1) * sizeof *x->after_list);
    if (!x->after || !x->after_list) return false;
    pw_traffic_turn(t, x->after, x->after_list);
    for (uint32_t f = 0; f < t->count; f++) x->flows[f].waits = t->before[f + 1] - t->before[f];
    return true;
}

static pw_status simulate(fluid_run *x, pw_arena *arena, pw_error *error) {
    uint32_t flows = x->traffic->count, links = pw_fabric_links(x->config->fabric);
    PW_TRY(pw_sim_create(&(pw_sim_config){.allocator = x->config->allocator, .seed = x->config->seed}, &x->sim, error));
    pw_sim_watch(x->sim, x->config->interrupt);
    PW_TRY(pw_fluid_create(x->sim, false, &x->fluid, error));
    x->flows = pw_arena_alloc(arena, flows * sizeof *x->flows + 1);
    x->capacities = pw_arena_alloc(arena, links * sizeof *x->capacities + 1);
    x->used = pw_arena_alloc(arena, links * sizeof *x->used + 1);
    x->uses = pw_arena_alloc(arena, (size_t)x->desc->paths * PW_ROUTE_MAX * sizeof *x->uses);
    if (!x->flows || !x->capacities || !x->used || !x->uses || !set_after(x, arena))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for %u flows", flows);
    x->left = flows;
    for (uint32_t f = 0; f < flows; f++)
        if (x->flows[f].waits == 0) pw_event_at(x->sim, pw_sim_ticks(x->sim, x->traffic->flows[f].start_s), 0, begin, x, f);
    pw_status status = pw_sim_run(x->sim, PW_TIME_MAX);
    if (status != PW_OK && error) *error = *pw_sim_error(x->sim);
    return status;
}

static pw_status collect(fluid_run *x, pw_arena *arena, pw_packet_result *result, pw_error *error) {
    uint32_t flows = x->traffic->count, links = pw_fabric_links(x->config->fabric);
    double ticks_per_s = pw_sim_ticks_per_second(x->sim);
    result->start_s = pw_arena_alloc(arena, flows * sizeof *result->start_s + 1);
    result->finish_s = pw_arena_alloc(arena, flows * sizeof *result->finish_s + 1);
    result->links = pw_arena_alloc(arena, links * sizeof *result->links + 1);
    result->known_s = pw_arena_alloc(arena, flows * sizeof *result->known_s + 1);
    if (!result->start_s || !result->finish_s || !result->known_s || !result->links) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->hash = 0xcbf29ce484222325u;
    for (uint32_t f = 0; f < flows; f++) {
        result->start_s[f] = pw_time_to_seconds(x->flows[f].start, ticks_per_s);
        result->finish_s[f] = pw_time_to_seconds(x->flows[f].finish, ticks_per_s);
        result->known_s[f] = pw_time_to_seconds(x->flows[f].finish + x->flows[f].latency, ticks_per_s);
        if (result->finish_s[f] > result->end_s) result->end_s = result->finish_s[f];
        result->hash = (result->hash ^ (uint64_t)x->flows[f].finish) * 0x100000001b3u;
    }
    for (uint32_t l = 0; l < links; l++)
        if (x->used[l]) result->links[l].bytes = pw_capacity_served(x->fluid, x->capacities[l]);
    result->events = pw_sim_events_fired(x->sim);
    return PW_OK;
}

pw_status pw_packet_run_fluid(const pw_packet_config *config, const pw_packet_desc *desc, const pw_traffic *traffic, pw_arena *arena,
                              pw_packet_result *result, pw_error *error) {
    *result = (pw_packet_result){.fullest = PW_NONE};
    fluid_run x = {.config = config, .desc = desc, .traffic = traffic};
    pw_status status = simulate(&x, arena, error);
    if (status == PW_OK) status = collect(&x, arena, result, error);
    pw_fluid_destroy(x.fluid);
    pw_sim_destroy(x.sim);
    return status;
}
