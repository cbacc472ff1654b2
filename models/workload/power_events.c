#include "models/workload/power_events.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/budget.h"
#include "models/power/node_power.h"

/* Nodes that the same events touch. */
typedef struct node_class {
    uint64_t events, rack_events;
    double budget_W;           /* of a node, DC; infinite: none */
    uint32_t rack;             /* where nodes of a rack differ; else PW_NONE */
    uint32_t first_node, nodes, gpus;
    pw_box_mode mode;
    bool slower;               /* than free */
    double since_s;            /* that mode */
} node_class;

typedef struct change {
    double at_s, ratio, cap_W;
    uint32_t class;
    pw_box_mode mode;
    bool slower;               /* than free */
} change;

typedef struct acting {
    const pw_power_loop *loop;
    const pw_catalogue *catalogue;
    const pw_power_desc *desc;
    const pw_session_config *config;
    pw_job job;                /* with finer clock groups */
    pw_arena *arena;
    pw_power_events *out;
    pw_feed_config feed;
    pw_breaker breaker;
    pw_battery battery;
    pw_node_power *node;       /* NULL: parts are not on file */
    double other_W;            /* of a node beside its GPUs, as caps count it */
    uint32_t nodes, groups;    /* groups: of the loop */
    double *free_W, *budget_W; /* [nodes]: what the GPUs draw; DC power by the budget, NULL: there is none */
    pw_consumer *consumers;    /* [nodes], at the wall, and their caps and division */
    double *wall_cap_W;
    pw_division division;
    uint32_t per_node, *groups_of_node;
    uint32_t *class_of_node;
    node_class *classes;
    uint32_t class_count;
    double *clocks;            /* [classes x groups] */
    pw_feed_event *events;
    pw_feeds *feeds;
    pw_executor *executor;
    change *changes;
    uint32_t change_count, change_capacity;
} acting;

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for events of power"); }

bool pw_power_has_events(const pw_power_desc *desc) { return desc && (desc->supplies || desc->breaker || desc->battery || desc->budget || desc->events.count); }

/* --- What was said ------------------------------------------------------------------------------------------------- */

static const char *given(const char *text) { return text && *text ? text : NULL; }

static pw_status read_supplies(acting *a, pw_error *error) {
    pw_supplies_desc said;
    int units = 0;
    double unit_W = 0, rated_W = NAN;
    const char *redundancy = "", *server = pw_cluster_get_part(a->config->cluster, 0).server;
    if (a->desc->supplies) said = *a->desc->supplies;
    else PW_TRY(pw_description_defaults(&pw_supplies_kind, &said, a->arena, error));
    if (*server) PW_TRY(pw_supply_of_server(a->catalogue, server, &units, &unit_W, &redundancy, &rated_W, error));
    if (said.units && said.units != units) redundancy = "";
    if (said.units) units = (int)said.units;
    if (!isnan(said.unit_W)) unit_W = said.unit_W;
    if (given(said.redundancy)) redundancy = said.redundancy;
    if (!units || !(unit_W > 0) || !*redundancy)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "write power = o.power { supplies = o.supplies { units = 6, unit_power = 3.3 * u.kW, redundancy = \"4+2\" } }",
                       "the catalogue does not say how a node is supplied%s%s", *server ? ": " : "", server);
    PW_TRY(pw_supply_group_make(a->catalogue, said.kind, said.efficiency, unit_W, units, redundancy, said.feeds ? (int)said.feeds : units > 1 ? 2 : 1,
                                &a->feed.group, error));
    a->feed.group.cold_share = said.cold_share;
    a->feed.settle_s = isnan(said.settle_s) ? a->feed.group.settle_s : said.settle_s;
    a->feed.restore_s = isnan(said.restore_s) ? a->feed.group.restore_s : said.restore_s;
    a->feed.only_brakes = said.after_brake == PW_AFTER_BRAKE_STAY;
    a->out->node_W = isnan(said.node_W) ? rated_W : said.node_W;
    a->out->group = a->feed.group;
    if (!(a->out->node_W > 0))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "write supplies = o.supplies { node_power = 10 * u.kW }",
                       "the catalogue does not say how much a node may draw%s%s", *server ? ": " : "", server);
    a->feed.guard_W = said.guard == PW_GUARD_RATED ? a->out->node_W : 0; /* of what it draws: later */
    return PW_OK;
}

static pw_status read_parts(acting *a, pw_error *error) {
    const pw_power_desc *d = a->desc;
    if (d->breaker) {
        PW_TRY(pw_breaker_make(a->catalogue, d->breaker->kind, d->breaker->rated_W, &a->breaker, error));
        a->feed.breaker = &a->breaker;
        a->feed.boxes_per_rack = (uint32_t)d->breaker->nodes;
    }
    if (d->battery) {
        PW_TRY(pw_battery_make(a->catalogue, d->battery->kind, d->battery->rated_W, &a->battery, error));
        a->feed.battery = &a->battery;
    }
    return PW_OK;
}

static pw_status place_in_list(pw_status status, uint32_t index, pw_error *error) {
    char text[400];
    if (status == PW_OK || !error) return status;
    snprintf(text, sizeof text, "%.300s (power.events[%u])", error->what, index + 1);
    snprintf(error->what, sizeof error->what, "%s", text);
    return status;
}

static pw_status read_event(acting *a, const pw_power_event_desc *said, pw_feed_event *event, pw_error *error) {
    uint32_t first = said->node < 0 ? 0 : (uint32_t)said->node, count = said->node < 0 ? a->nodes : (uint32_t)said->nodes;
    *event = (pw_feed_event){.at_s = said->at_s, .lasts_s = isnan(said->lasts_s) ? INFINITY : said->lasts_s, .first_box = first, .boxes = count};
    PW_TRY(pw_feed_event_part(said->what, a->feed.group.feeds, a->feed.group.units, &event->part, &event->index, error));
    if (first >= a->nodes || count > a->nodes - first)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "nodes are counted from 0", "the cluster has %u nodes, no node %" PRIu64, a->nodes, (uint64_t)first + count - 1);
    if (event->part == PW_PART_BREAKER && !a->feed.breaker)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write breaker = o.breaker { power = 44 * u.kW, nodes = 4 }", "racks have no breakers");
    return PW_OK;
}

static pw_status read_events(acting *a, pw_error *error) {
    const pw_one_of *said = a->desc->events.items;
    a->events = pw_arena_alloc(a->arena, (a->desc->events.count + 1) * sizeof *a->events);
    if (!a->events) return no_memory(error);
    for (uint32_t i = 0; i < a->desc->events.count; i++)
        PW_TRY(place_in_list(read_event(a, said[i].record, &a->events[i], error), i, error));
    return PW_OK;
}

/* --- Classes of nodes ---------------------------------------------------------------------------------------------- */

/* The clock groups of the GPUs of every node, [nodes x per_node]; PW_NONE where no rank runs. */
static pw_status list_gpus(acting *a, const pw_job *job, pw_error *error) {
    a->per_node = pw_cluster_gpus_per_node(a->config->cluster);
    size_t count = (size_t)a->nodes * a->per_node;
    a->groups_of_node = pw_arena_alloc(a->arena, count * sizeof *a->groups_of_node);
    if (!a->groups_of_node) return no_memory(error);
    for (size_t i = 0; i < count; i++) a->groups_of_node[i] = PW_NONE;
    for (uint32_t r = 0; r < job->ranks; r++) {
        uint32_t node = pw_cluster_node_of(a->config->cluster, job->gpu_of_rank[r]), at = 0, *of = &a->groups_of_node[(size_t)node * a->per_node];
        while (at < a->per_node && of[at] != PW_NONE) at++;
        if (at < a->per_node) of[at] = job->clock_group_of_rank[r];
    }
    return PW_OK;
}

static bool hold_alike(const acting *a, uint32_t node, uint32_t other) {
    return !memcmp(&a->groups_of_node[(size_t)node * a->per_node], &a->groups_of_node[(size_t)other * a->per_node], a->per_node * sizeof(uint32_t));
}

static uint64_t events_of(const acting *a, uint32_t node) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < a->desc->events.count; i++) {
        const pw_feed_event *e = &a->events[i];
        if (e->part == PW_PART_MAINS || (node >= e->first_box && node - e->first_box < e->boxes)) mask |= UINT64_C(1) << i;
    }
    return mask;
}

/* In a rack with breakers what happens to one node is felt by the others. */
static node_class class_of(const acting *a, uint32_t node) {
    node_class c = {.events = events_of(a, node), .rack = PW_NONE, .first_node = node, .budget_W = a->budget_W ? a->budget_W[node] : INFINITY};
    uint32_t per_rack = a->feed.boxes_per_rack;
    if (!per_rack) return c;
    uint32_t first = node / per_rack * per_rack, end = first + per_rack;
    bool differs = end > a->nodes;
    for (uint32_t i = first; i < end && i < a->nodes; i++) {
        uint64_t mask = events_of(a, i);
        c.rack_events |= mask;
        differs = differs || mask != c.events || !hold_alike(a, node, i);
    }
    if (differs) c.rack = node / per_rack;
    return c;
}

static pw_status make_classes(acting *a, const pw_job *job, pw_error *error) {
    a->class_of_node = pw_arena_alloc(a->arena, a->nodes * sizeof *a->class_of_node);
    a->classes = pw_arena_alloc(a->arena, a->nodes * sizeof *a->classes);
    if (!a->class_of_node || !a->classes) return no_memory(error);
    for (uint32_t n = 0; n < a->nodes; n++) {
        node_class c = class_of(a, n);
        uint32_t k = 0;
        while (k < a->class_count && (a->classes[k].events != c.events || a->classes[k].rack_events != c.rack_events || a->classes[k].rack != c.rack ||
                                      a->classes[k].budget_W != c.budget_W || !hold_alike(a, a->classes[k].first_node, n))) k++;
        if (k == a->class_count) a->classes[a->class_count++] = c;
        a->classes[k].nodes++;
        a->class_of_node[n] = k;
    }
    uint32_t *groups = pw_arena_alloc(a->arena, (job->ranks + (size_t)1) * sizeof *groups);
    a->clocks = pw_arena_alloc(a->arena, (size_t)a->class_count * a->groups * sizeof *a->clocks);
    if (!groups || !a->clocks) return no_memory(error);
    for (uint32_t r = 0; r < job->ranks; r++) {
        uint32_t k = a->class_of_node[pw_cluster_node_of(a->config->cluster, job->gpu_of_rank[r])];
        groups[r] = k * a->groups + job->clock_group_of_rank[r];
        a->classes[k].gpus++;
    }
    for (uint32_t g = 0; g < a->class_count * a->groups; g++) a->clocks[g] = pw_power_loop_clock(a->loop, g % a->groups);
    a->job = *job;
    a->job.clock_groups = a->class_count * a->groups;
    a->job.clock_group_of_rank = groups;
    return PW_OK;
}

/* --- Watts of a node ----------------------------------------------------------------------------------------------- */

static double with_others(const acting *a, double gpu_W) {
    if (!a->node) return gpu_W + a->other_W;
    return pw_node_power_at(a->node, &(pw_node_load){.gpu_W = gpu_W, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN}).output_W;
}

/* The most that any node draws while its GPUs compute, and that with the brake on. Nodes of one kind of GPUs draw alike. */
static pw_status find_draws(acting *a, pw_error *error) {
    uint32_t per_node = pw_cluster_gpus_per_node(a->config->cluster);
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(pw_power_loop_model(a->loop));
    double *free_W = a->free_W = pw_arena_alloc(a->arena, a->nodes * sizeof *free_W), *braked_W = pw_arena_alloc(a->arena, a->nodes * sizeof *braked_W);
    double *of_group = pw_arena_alloc(a->arena, 2 * (size_t)a->groups * sizeof *of_group);
    if (!free_W || !braked_W || !of_group) return no_memory(error);
    const char *server = pw_cluster_get_part(a->config->cluster, 0).server;
    const pw_table *table = pw_catalogue_table(a->catalogue, PW_TABLE_NODE_POWER);
    if (*server && table && pw_table_find_row(table, server) >= 0)
        PW_TRY(pw_node_power_create(a->config->allocator, a->catalogue, server, &a->node, error));
    a->other_W = a->out->node_W - per_node * figures->tdp_W;
    if (!(a->other_W > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "supplies.node_power %.0f W is less than its %u GPUs may draw, %.0f W", a->out->node_W, per_node,
                       per_node * figures->tdp_W);
    for (uint32_t g = 0; g < a->groups; g++) {
        of_group[2 * g] = pw_power_loop_settle(a->loop, g, 0, false).watts.total;
        of_group[2 * g + 1] = pw_power_loop_settle(a->loop, g, 0, true).watts.total;
    }
    for (uint32_t n = 0; n < a->nodes; n++) free_W[n] = braked_W[n] = 0;
    for (uint32_t r = 0; r < a->job.ranks; r++) {
        uint32_t n = pw_cluster_node_of(a->config->cluster, a->job.gpu_of_rank[r]), g = a->job.clock_group_of_rank[r] % a->groups;
        free_W[n] += of_group[2 * g];
        braked_W[n] += of_group[2 * g + 1];
    }
    double most_W = 0;
    for (uint32_t n = 0; n < a->nodes; n++) {
        most_W = fmax(most_W, free_W[n]);
        a->feed.draw_W = fmax(a->feed.draw_W, with_others(a, free_W[n]));
        a->feed.braked_W = fmax(a->feed.braked_W, with_others(a, braked_W[n]));
    }
    if (a->feed.guard_W == 0) {
        a->feed.guard_W = a->feed.draw_W;
        a->other_W = a->feed.draw_W - most_W;
    }
    a->out->braked_W = a->feed.braked_W;
    a->out->flow = pw_supply_flow_at(&a->feed.group, (pw_supply_state){0}, a->feed.draw_W);
    a->out->draw_source = a->node ? "parts of the node" : "the most that it may draw, less that of its GPUs";
    return PW_OK;
}

/* --- Budgets ------------------------------------------------------------------------------------------------------- */

static double wall_W(const acting *a, double output_W) { return pw_supply_flow_at(&a->feed.group, (pw_supply_state){0}, output_W).input_W; }

/* Caps of nodes at the wall, from the budgets of racks and row, and what they leave behind the supplies. */
static pw_status divide_budgets(acting *a, pw_error *error) {
    const pw_power_budget_desc *said = a->desc->budget;
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(pw_power_loop_model(a->loop));
    a->out->oversubscription = NAN;
    if (!said) return PW_OK;
    uint32_t per_rack = (uint32_t)said->nodes, racks = (a->nodes - 1) / per_rack + 1, gpus = pw_cluster_gpus_per_node(a->config->cluster);
    double least_W = wall_W(a, a->other_W + gpus * (isnan(figures->cap_min_W) ? figures->idle_W : figures->cap_min_W)), row_W = racks * said->rack_W;
    if (!isnan(said->row_W) && said->row_W < row_W) row_W = said->row_W;
    double *limits = pw_arena_alloc(a->arena, 2 * (size_t)racks * sizeof *limits);
    uint32_t *rack_of = pw_arena_alloc(a->arena, a->nodes * sizeof *rack_of);
    a->budget_W = pw_arena_alloc(a->arena, a->nodes * sizeof *a->budget_W);
    a->wall_cap_W = pw_arena_alloc(a->arena, a->nodes * sizeof *a->wall_cap_W);
    a->consumers = pw_arena_alloc(a->arena, a->nodes * sizeof *a->consumers);
    if (!limits || !rack_of || !a->budget_W || !a->wall_cap_W || !a->consumers) return no_memory(error);
    for (uint32_t r = 0; r < racks; r++) limits[r] = said->rack_W;
    for (uint32_t n = 0; n < a->nodes; n++) {
        rack_of[n] = n / per_rack;
        a->consumers[n] = (pw_consumer){least_W, wall_W(a, a->out->node_W), wall_W(a, a->other_W + a->free_W[n]), -(int)n};
    }
    PW_TRY(pw_budget_divide_row(a->config->allocator, (pw_budget_policy)said->policy, row_W, limits, racks, a->consumers, rack_of, a->nodes,
                                limits + racks, a->wall_cap_W, &a->division, error));
    double least_rack_W = least_W * (a->nodes < per_rack ? a->nodes : per_rack);
    if (a->division.short_W > 0 || least_rack_W > said->rack_W)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "more power, or fewer nodes in a rack",
                       "power_budget: with the least caps of their GPUs nodes may draw %.0f W each, more than the budget holds", least_W);
    for (uint32_t n = 0; n < a->nodes; n++) a->budget_W[n] = pw_supply_group_output_W(&a->feed.group, (pw_supply_state){0}, a->wall_cap_W[n]);
    a->out->oversubscription = pw_budget_oversubscription(row_W, a->consumers, a->nodes);
    return PW_OK;
}

/* --- What nodes do ------------------------------------------------------------------------------------------------- */

static bool is_over(const acting *a) { return pw_executor_ended(a->executor) != PW_TIME_MAX; }

static void count_time(acting *a, node_class *c, double now_s) {
    double seconds = (now_s - c->since_s) * c->gpus;
    if (c->mode == PW_BOX_BRAKED) a->out->braked_gpu_s += seconds;
    if ((c->mode == PW_BOX_CAPPED || c->mode == PW_BOX_FREE) && c->slower) a->out->capped_gpu_s += seconds;
    c->since_s = now_s;
}

/* Caps of the GPUs of a node of the class from what the node may draw; GPUs that want less leave it to the others. caps_W: [groups]. False: the least
 * caps are too much. */
static bool divide_caps(acting *a, const node_class *c, double node_cap_W, double *cap_of_group_W) {
    const pw_gpu_power_figures *figures = pw_gpu_power_figures_of(pw_power_loop_model(a->loop));
    const uint32_t *groups = &a->groups_of_node[(size_t)c->first_node * a->per_node];
    pw_consumer *gpus = pw_arena_alloc(a->arena, a->per_node * sizeof *gpus);
    double *caps = pw_arena_alloc(a->arena, a->per_node * sizeof *caps);
    uint32_t count = 0;
    pw_division division;
    pw_error error = {0};
    if (!gpus || !caps) {
        pw_sim_fail(a->feed.sim, PW_NO_MEMORY, NULL, "no memory for events of power");
        return false;
    }
    while (count < a->per_node && groups[count] != PW_NONE) count++;
    for (uint32_t i = 0; i < count; i++)
        gpus[i] = (pw_consumer){isnan(figures->cap_min_W) ? figures->idle_W : figures->cap_min_W, figures->tdp_W,
                                pw_power_loop_settle(a->loop, groups[i], 0, false).watts.total, 0};
    double budget_W = fmax(0, node_cap_W - a->other_W);
    if (pw_budget_divide(a->config->allocator, PW_BUDGET_HIGHEST_FIRST, budget_W, gpus, count, caps, &division, &error) != PW_OK) {
        pw_sim_fail_with(a->feed.sim, &error);
        return false;
    }
    pw_budget_check(a->feed.sim, budget_W, gpus, count, caps, &division);
    for (uint32_t i = 0; i < count; i++) cap_of_group_W[groups[i]] = caps[i];
    return division.short_W <= 1e-6 * budget_W;
}

static void set_clocks(acting *a, uint32_t k, const pw_feed_box *now) {
    node_class *c = &a->classes[k];
    double *caps = pw_arena_alloc(a->arena, (a->groups + (size_t)1) * sizeof *caps), ratios = 0, lowest_W = INFINITY;
    if (!caps) {
        pw_sim_fail(a->feed.sim, PW_NO_MEMORY, NULL, "no memory for events of power");
        return;
    }
    bool brake = now->mode == PW_BOX_BRAKED;
    double node_cap_W = fmin(c->budget_W, now->mode == PW_BOX_CAPPED ? now->cap_W : INFINITY);
    bool capped = isfinite(node_cap_W), enough = !capped || divide_caps(a, c, node_cap_W, caps);
    brake = brake || !enough; /* caps do not go so low */
    c->slower = false;
    for (uint32_t g = 0; g < a->groups; g++) {
        double held = pw_power_loop_clock(a->loop, g), ratio = held;
        if (capped && caps[g] > 0) /* by how much it is slower than without, which is held but for the loop's last steps */
            ratio *= fmin(1, pw_power_loop_settle(a->loop, g, caps[g], false).mean_ratio / pw_power_loop_settle(a->loop, g, 0, false).mean_ratio);
        if (brake) ratio = fmin(ratio, pw_power_loop_settle(a->loop, g, 0, true).mean_ratio);
        a->clocks[k * a->groups + g] = ratio;
        c->slower = c->slower || ratio < held;
        if (capped && caps[g] > 0) lowest_W = fmin(lowest_W, caps[g]);
        pw_status status = pw_executor_set_group_clock(a->executor, k * a->groups + g, pw_power_loop_pace(a->loop) * ratio);
        if (status != PW_OK) pw_sim_fail(a->feed.sim, status, NULL, "the clock of GPUs cannot change");
    }
    for (uint32_t r = 0; r < a->job.ranks; r++)
        if (a->job.clock_group_of_rank[r] / a->groups == k) ratios += a->clocks[a->job.clock_group_of_rank[r]];
    if (a->change_count < a->change_capacity)
        a->changes[a->change_count++] = (change){pw_sim_seconds(a->feed.sim), ratios / c->gpus, brake ? NAN : lowest_W, k, now->mode, c->slower};
}

static void on_change(void *object, uint32_t node, const pw_feed_box *now) {
    acting *a = object;
    uint32_t k = a->class_of_node[node];
    node_class *c = &a->classes[k];
    if (is_over(a) || node != c->first_node || c->gpus == 0) return; /* the others of its class do the same at the same time */
    count_time(a, c, pw_sim_seconds(a->feed.sim));
    c->mode = now->mode;
    if (now->mode != PW_BOX_OFF) {
        set_clocks(a, k, now);
        return;
    }
    char others[40] = "";
    uint32_t alike = 0;
    for (uint32_t i = 0; i < a->class_count; i++)
        if (a->classes[i].events == c->events && a->classes[i].rack == c->rack) alike += a->classes[i].nodes;
    if (alike > 1) snprintf(others, sizeof others, " and %u more", alike - 1);
    pw_sim_fail(a->feed.sim, PW_DEADLOCK, "give nodes more supplies, a guard that brakes in time, or a battery; or let the event last less than the hold-up",
                "node %u%s falls at %.9g s: %.0f W are left of %.0f W that it draws, and the job waits for its GPUs for ever", node, others,
                pw_sim_seconds(a->feed.sim), now->capacity_W, a->feed.draw_W);
}

static pw_status on_start(void *object, pw_executor *executor, pw_sim *sim, pw_recorder *recorder, pw_error *error) {
    acting *a = object;
    (void)recorder;
    a->executor = executor;
    a->feed.sim = sim;
    PW_TRY(pw_feeds_create(&a->feed, a->events, a->desc->events.count, &a->feeds, error));
    if (!a->budget_W) return PW_OK;
    pw_budget_check(sim, a->division.caps_W, a->consumers, a->nodes, a->wall_cap_W, &a->division);
    for (uint32_t n = 0; n < a->nodes; n++)
        if (a->budget_W[n] < a->feed.draw_W) pw_feeds_draw(a->feeds, n, a->budget_W[n], fmin(a->feed.braked_W, a->budget_W[n]));
    for (uint32_t k = 0; k < a->class_count; k++)
        if (a->classes[k].gpus) set_clocks(a, k, &(pw_feed_box){.mode = PW_BOX_FREE});
    return pw_sim_error(sim)->status == PW_OK ? PW_OK : (error ? (*error = *pw_sim_error(sim)).status : pw_sim_error(sim)->status);
}

/* While the executor lives: until when it ran. */
static pw_status on_end(void *object, const pw_executor *executor, pw_sim *sim, pw_error *error) {
    acting *a = object;
    double end_s = pw_time_to_seconds(pw_executor_ended(executor), pw_sim_ticks_per_second(sim));
    (void)error;
    for (uint32_t k = 0; k < a->class_count; k++) count_time(a, &a->classes[k], fmax(end_s, a->classes[k].since_s));
    a->out->run_s = end_s;
    return PW_OK;
}

/* --- What there is to tell ------------------------------------------------------------------------------------------ */

static const change *change_at(const acting *a, const pw_feed_entry *entry) {
    for (uint32_t i = 0; i < a->change_count; i++) {
        const change *c = &a->changes[i];
        if (c->at_s == entry->at_s && c->mode == entry->mode && c->class == a->class_of_node[entry->first_box]) return c;
    }
    return NULL;
}

static pw_clock_reason reason_of(const change *did) {
    if (!did || !did->slower) return PW_CLOCK_REASON_NONE;
    return isfinite(did->cap_W) ? PW_CLOCK_REASON_SW_POWER_CAP : PW_CLOCK_REASON_HW_POWER_BRAKE;
}

static const char *effect_text(const acting *a, const pw_feed_entry *entry, const change *did, char *text, size_t size) {
    pw_clock_reason reason = reason_of(did);
    if (!did) {
        snprintf(text, size, "%.4g of %.4g kW of supplies are left", entry->capacity_W / 1e3, a->feed.group.units * a->feed.group.unit_W / 1e3);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "GPUs at %.0f MHz", did->ratio * pw_gpu_power_figures_of(pw_power_loop_model(a->loop))->reference_Hz / 1e6);
    if (reason != PW_CLOCK_REASON_NONE) used += (size_t)snprintf(text + used, size - used, " (%s)", pw_clock_reason_names[reason]);
    if (isfinite(did->cap_W)) snprintf(text + used, size - used, ", at most %.0f W", did->cap_W);
    return text;
}

static pw_status tell(acting *a, pw_error *error) {
    uint32_t count;
    const pw_feed_entry *log = pw_feeds_log(a->feeds, &count);
    pw_power_effect *effects = pw_arena_alloc(a->arena, (count + (size_t)a->class_count + 1) * sizeof *effects);
    if (!effects) return no_memory(error);
    for (uint32_t i = 0; a->budget_W && i < a->change_count && a->changes[i].at_s == 0; i++) { /* the division at the start */
        const change *did = &a->changes[i];
        const node_class *c = &a->classes[did->class];
        char text[160], what[60];
        if (a->out->effect_count == a->class_count) break;
        snprintf(what, sizeof what, "budget of %.4g kW", a->wall_cap_W[c->first_node] / 1e3);
        pw_power_effect *e = &effects[a->out->effect_count++];
        *e = (pw_power_effect){.what = pw_arena_text(a->arena, what), .effect = pw_arena_text(a->arena, effect_text(a, NULL, did, text, sizeof text)),
                               .first_node = c->first_node, .nodes = c->nodes, .clock_ratio = did->ratio, .reason = reason_of(did),
                               .left_W = a->feed.group.units * a->feed.group.unit_W};
        if (!e->what || !e->effect) return no_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        char text[160];
        const change *did = log[i].is_mode ? change_at(a, &log[i]) : NULL;
        if (log[i].at_s > a->out->run_s) break;
        pw_power_effect *e = &effects[a->out->effect_count++];
        *e = (pw_power_effect){.at_s = log[i].at_s, .what = pw_arena_text(a->arena, log[i].what), .first_node = log[i].first_box, .nodes = log[i].boxes,
                               .effect = pw_arena_text(a->arena, effect_text(a, &log[i], did, text, sizeof text)), .clock_ratio = did ? did->ratio : NAN, .reason = reason_of(did),
                               .left_W = log[i].capacity_W};
        if (!e->what || !e->effect) return no_memory(error);
    }
    a->out->effects = effects;
    return PW_OK;
}

static pw_status prepare(acting *a, const pw_job *job, pw_error *error) {
    if (a->config->runner)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "run it alone: job = ..., without scenario.events",
                       "power.supplies, breaker, battery, budget and events are not for jobs side by side");
    a->nodes = pw_cluster_nodes(a->config->cluster);
    a->groups = pw_power_loop_groups(a->loop);
    a->feed.allocator = a->config->allocator;
    a->feed.boxes = a->nodes;
    a->feed.changed = on_change;
    a->feed.object = a;
    PW_TRY(read_supplies(a, error));
    PW_TRY(read_parts(a, error));
    PW_TRY(read_events(a, error));
    a->job = *job;
    PW_TRY(list_gpus(a, job, error));
    PW_TRY(find_draws(a, error));
    PW_TRY(divide_budgets(a, error));
    PW_TRY(make_classes(a, job, error));
    a->change_capacity = 64 * (1 + a->desc->events.count) * a->class_count;
    a->changes = pw_arena_alloc(a->arena, a->change_capacity * sizeof *a->changes);
    return a->changes ? PW_OK : no_memory(error);
}

pw_status pw_power_events_run(const pw_power_loop *loop, const pw_catalogue *catalogue, const pw_power_desc *desc, const pw_session_config *config,
                              const pw_job *job, double calm_s, pw_arena *arena, pw_session_result *result, pw_power_events *events,
                              pw_error *error) {
    acting a = {.loop = loop, .catalogue = catalogue, .desc = desc, .config = config, .arena = arena, .out = events};
    *events = (pw_power_events){.calm_s = calm_s};
    pw_status status = prepare(&a, job, error);
    if (status == PW_OK) {
        pw_session_config own = *config;
        double *paced = pw_arena_alloc(arena, ((size_t)a.class_count * a.groups + 1) * sizeof *paced);
        if (!paced) return no_memory(error);
        for (uint32_t g = 0; g < a.class_count * a.groups; g++) paced[g] = pw_power_loop_pace(loop) * a.clocks[g];
        own.clock_of_group = paced;
        own.attach = on_start;
        own.observe = on_end;
        own.observer = &a;
        own.effort = NULL;
        own.effort_changed = NULL;
        status = pw_session_run(&own, &a.job, arena, result, error);
    }
    if (status == PW_OK) status = tell(&a, error);
    pw_feeds_destroy(a.feeds);
    pw_node_power_destroy(a.node);
    return status;
}
