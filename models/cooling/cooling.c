/* Nodes of cooled GPUs. All GPUs share a table of networks, one per step of fan speed (coolant flow): only the conductance from the sink to what
 * flows past depends on it, as base + flow / share^exponent (turbulent convection: exponent 0.8, Dittus and Boelter). A change of
 * speed takes another network from the table and leaves temperatures as they are. */
#include "models/cooling/cooling.h"

#include <math.h>
#include <string.h>

#include "models/cooling/cooling_internal.h"
#include "sim/math.h"

/* Air at 20 degrees and sea level: 1.204 kg/m^3 x 1006 J/(kg K). */
#define AIR_JPKM3 (1.204 * 1006.0)
#define LEAST_SPEED 0.02 /* what still moves when fans or pumps stand: natural convection, in the terms of the flow law */

typedef struct level {
    bool made, has_tick;
    double other_s;
    pw_thermal thermal;
    pw_thermal_step tick, other; /* one control period; the last other length */
} level;

typedef struct node_state {
    double rest_W, inlet_C, coolant_C, fan_limit, clock_s; /* clock_s: since the last look of the control */
    uint16_t fan, flow;                                    /* in steps of 1 % */
} node_state;

struct pw_cooling {
    const pw_allocator *allocator;
    cooling_row row;
    pw_cooling_desc desc;
    uint32_t gpus_per_node, nodes;
    size_t gpus;
    double feedback_WpK, reference_C;
    double *temperature, *heat, *outside, *memory; /* memory: all of them; rows of `gpus` */
    size_t memory_size;
    node_state *node;
    level *levels;
};

static double speed_of(uint32_t step) { return step * 0.01; }

/* ---- networks ---- */

static pw_status make_level(pw_cooling *c, uint32_t step, pw_error *error) {
    const cooling_row *row = &c->row;
    level *at = &c->levels[step];
    if (at->made) return PW_OK;
    pw_thermal_network d = {.nodes = PART_NODES, .boundaries = 1, .heated = 2, .capacity_JpK = {row->die_JpK, row->memory_JpK, row->sink_JpK}};
    d.between_WpK[DIE][SINK] = 1 / row->die_sink_KpW;
    d.between_WpK[MEMORY][SINK] = 1 / row->memory_sink_KpW;
    d.outside_WpK[SINK][0] = 1 / (row->sink_base_KpW + row->sink_flow_KpW * pw_pow(fmax(speed_of(step), LEAST_SPEED), -row->flow_exponent));
    d.feedback_WpK[DIE] = c->feedback_WpK;
    d.reference_C[DIE] = c->reference_C;
    PW_TRY(pw_thermal_init(&at->thermal, &d, error));
    at->made = true;
    at->has_tick = false;
    at->other_s = -1;
    return PW_OK;
}

/* A row that was read makes sound networks, so that making one can only fail on a broken program. */
static level *level_of(pw_cooling *c, uint32_t step) {
    PW_CHECK(make_level(c, step, NULL) == PW_OK);
    return &c->levels[step];
}

static const pw_thermal_step *step_of(pw_cooling *c, level *at, double seconds) {
    if (seconds == c->row.control_s) {
        if (!at->has_tick) pw_thermal_make_step(&at->thermal, seconds, &at->tick);
        at->has_tick = true;
        return &at->tick;
    }
    if (at->other_s != seconds) pw_thermal_make_step(&at->thermal, seconds, &at->other);
    at->other_s = seconds;
    return &at->other;
}

static bool is_air(const pw_cooling *c) { return c->row.way == PW_COOLING_AIR; }
static uint32_t step_now(const pw_cooling *c, const node_state *node) { return is_air(c) ? node->fan : node->flow; }

/* ---- what reaches the GPUs ---- */

static double gpus_W(const pw_cooling *c, uint32_t n) {
    double sum = 0;
    const double *die = c->heat + (size_t)n * c->gpus_per_node, *memory = die + c->gpus, *die_C = c->temperature + (size_t)n * c->gpus_per_node;
    for (uint32_t g = 0; g < c->gpus_per_node; g++) sum += die[g] + memory[g];
    if (c->feedback_WpK != 0)
        for (uint32_t g = 0; g < c->gpus_per_node; g++) sum += c->feedback_WpK * (die_C[g] - c->reference_C);
    return sum;
}

static double fans_W(const pw_cooling *c, uint32_t fan) {
    double speed = speed_of(fan);
    return c->row.fan_W * c->gpus_per_node * speed * speed * speed;
}

/* Heat capacity of the air through a node per s and K. */
static double air_WpK(const pw_cooling *c, uint32_t fan) {
    return AIR_JPKM3 * c->row.airflow_m3ps * c->gpus_per_node * fmax(speed_of(fan), LEAST_SPEED);
}

static double air_heat_W(const pw_cooling *c, uint32_t n, uint32_t fan) {
    double all = gpus_W(c, n) + c->node[n].rest_W + fans_W(c, fan);
    return all * (1 - c->desc.capture);
}

/* Air at the node's inlet: T = (1 - r) supply + r (T + Q / m cp). */
static double air_in_C(const pw_cooling *c, uint32_t n, uint32_t fan) {
    double r = c->desc.recirculation;
    return c->node[n].inlet_C + (r > 0 && c->row.airflow_m3ps > 0 ? r / (1 - r) * air_heat_W(c, n, fan) / air_WpK(c, fan) : 0);
}

static double gpu_W(const pw_cooling *c, size_t gpu) { return c->heat[gpu] + c->heat[c->gpus + gpu]; }

/* Fills the outside temperatures of a node's GPUs at a speed. */
static void surround(pw_cooling *c, uint32_t n, uint32_t fan) {
    const cooling_row *row = &c->row;
    size_t first = (size_t)n * c->gpus_per_node;
    double *outside = c->outside + first;
    if (!is_air(c)) {
        double stream = row->stream_JpKm3 * row->stream_m3ps * fmax(speed_of(c->node[n].flow), LEAST_SPEED);
        for (uint32_t g = 0; g < c->gpus_per_node; g++)
            outside[g] = c->node[n].coolant_C + (stream > 0 ? row->rise_share * gpu_W(c, first + g) / stream : 0);
        return;
    }
    double inlet = air_in_C(c, n, fan), stream = row->stream_JpKm3 * row->stream_m3ps * fmax(speed_of(fan), LEAST_SPEED);
    bool given = isfinite(c->desc.slot_offset_K);
    for (uint32_t g = 0; g < c->gpus_per_node; g++) {
        outside[g] = inlet;
        if (row->in_series == 2 && g % 2 == 1) outside[g] += given ? c->desc.slot_offset_K : gpu_W(c, first + g - 1) / stream;
    }
}

/* ---- fans ---- */

static double hottest_of(const pw_cooling *c, uint32_t n, uint32_t *where) {
    const double *die = c->temperature + (size_t)n * c->gpus_per_node;
    uint32_t best = 0;
    for (uint32_t g = 1; g < c->gpus_per_node; g++)
        if (die[g] > die[best]) best = g;
    if (where) *where = n * c->gpus_per_node + best;
    return die[best];
}

static double line(double at, double from, double full, double floor) {
    double share = (at - from) / (full - from);
    return floor + (1 - floor) * (share < 0 ? 0 : share > 1 ? 1 : share);
}

/* The step of speed that a node's fans should have, were its hottest die at hottest_C. */
static uint32_t wanted_fan(const pw_cooling *c, uint32_t n, uint32_t fan, double hottest_C) {
    const cooling_row *row = &c->row;
    if (row->fan_W == 0 && row->airflow_m3ps == 0) return 0;
    double speed;
    if (isfinite(c->desc.fan_share)) speed = c->desc.fan_share;
    else {
        speed = line(air_in_C(c, n, fan), row->inlet_from_C, row->inlet_full_C, row->fan_floor);
        if (is_air(c)) speed = fmax(speed, line(hottest_C, row->fan_from_C, row->fan_full_C, row->fan_floor));
        else {
            double heat = (gpus_W(c, n) + c->node[n].rest_W) * (1 - c->desc.capture);
            speed = fmax(speed, heat / (row->air_rise_K * AIR_JPKM3 * row->airflow_m3ps * c->gpus_per_node));
        }
    }
    speed = fmin(fmin(speed, 1), c->node[n].fan_limit);
    return (uint32_t)ceil(speed * 100 - 1e-9);
}

/* One look of the control. A step is kept while the wish lies in it or one below, so that fans do not hunt. */
static void control(pw_cooling *c, uint32_t n) {
    node_state *node = &c->node[n];
    uint32_t wish = wanted_fan(c, n, node->fan, hottest_of(c, n, NULL));
    if (wish > node->fan || wish + 1 < node->fan) node->fan = (uint16_t)wish;
}

/* ---- time ---- */

static void advance_node(pw_cooling *c, uint32_t n, double seconds) {
    level *at = level_of(c, step_now(c, &c->node[n]));
    size_t first = (size_t)n * c->gpus_per_node;
    surround(c, n, c->node[n].fan);
    pw_thermal_advance(step_of(c, at, seconds), c->gpus_per_node, c->gpus, c->temperature + first, c->heat + first, c->outside + first, NULL);
}

static bool is_fixed(const pw_cooling *c) { return isfinite(c->desc.fan_share) || c->row.airflow_m3ps == 0; }

/* Whether the control would leave the fans alone both now and at the end of the road at this speed. */
static bool will_stay(pw_cooling *c, uint32_t n) {
    node_state *node = &c->node[n];
    level *at = level_of(c, step_now(c, node));
    size_t first = (size_t)n * c->gpus_per_node;
    double end = -INFINITY, now = hottest_of(c, n, NULL);
    surround(c, n, node->fan);
    for (uint32_t g = 0; g < c->gpus_per_node; g++) {
        double heat[2] = {c->heat[first + g], c->heat[c->gpus + first + g]}, part[PART_NODES];
        if (pw_thermal_steady(&at->thermal, heat, &c->outside[first + g], part, NULL) != PW_OK) return false;
        end = fmax(end, part[DIE]);
    }
    uint32_t low = wanted_fan(c, n, node->fan, fmin(now, end)), high = wanted_fan(c, n, node->fan, fmax(now, end));
    return high <= node->fan && low + 1 >= node->fan;
}

static void advance_one(pw_cooling *c, uint32_t n, double seconds) {
    node_state *node = &c->node[n];
    double period = c->row.control_s;
    for (uint32_t looks = 0; seconds > 0;) {
        if (node->clock_s == 0) {
            uint16_t before = node->fan;
            control(c, n);
            /* Far from any change the rest of the way is one step; asked every few looks, it costs as much as they do. */
            if (seconds > 16 * period && node->fan == before && looks++ % 8 == 7 && will_stay(c, n)) {
                double whole = floor(seconds / period) * period;
                advance_node(c, n, whole);
                seconds -= whole;
                if (seconds < 1e-9 * period) return;
                continue;
            }
        }
        double left = period - node->clock_s;
        if (seconds < left * (1 - 1e-12)) {
            advance_node(c, n, seconds);
            node->clock_s += seconds;
            return;
        }
        advance_node(c, n, left);
        node->clock_s = 0;
        seconds -= left;
        if (seconds < 1e-12 * period) return;
    }
}

void pw_cooling_advance(pw_cooling *cooling, uint32_t first, uint32_t count, double seconds) {
    PW_CHECK(first <= cooling->nodes && count <= cooling->nodes - first && seconds >= 0 && isfinite(seconds));
    for (uint32_t n = first; n < first + count; n++) {
        if (is_fixed(cooling)) {
            control(cooling, n);
            advance_node(cooling, n, seconds);
        } else advance_one(cooling, n, seconds);
    }
}

/* Temperatures of a node at the end of all time at a speed, into the state. */
static pw_status settle_at(pw_cooling *c, uint32_t n, uint32_t fan, pw_error *error) {
    size_t first = (size_t)n * c->gpus_per_node;
    c->node[n].fan = (uint16_t)fan;
    level *at = level_of(c, step_now(c, &c->node[n]));
    for (int again = 0; again < (c->feedback_WpK != 0 ? 40 : 1); again++) { /* leakage also warms the air that comes back */
        surround(c, n, fan);
        for (uint32_t g = 0; g < c->gpus_per_node; g++) {
            double heat[2] = {c->heat[first + g], c->heat[c->gpus + first + g]}, part[PART_NODES];
            PW_TRY(pw_thermal_steady(&at->thermal, heat, &c->outside[first + g], part, error));
            for (int k = 0; k < PART_NODES; k++) c->temperature[(size_t)k * c->gpus + first + g] = part[k];
        }
    }
    return PW_OK;
}

pw_status pw_cooling_settle(pw_cooling *cooling, uint32_t first, uint32_t count, pw_error *error) {
    PW_CHECK(first <= cooling->nodes && count <= cooling->nodes - first);
    for (uint32_t n = first; n < first + count; n++) {
        uint32_t low = 0, high = 100; /* the least speed at which no more is wished for: hotter means faster, faster means colder */
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            pw_status status = settle_at(cooling, n, middle, NULL);
            if (status == PW_OK && wanted_fan(cooling, n, middle, hottest_of(cooling, n, NULL)) <= middle) high = middle;
            else low = middle + 1;
        }
        PW_TRY(settle_at(cooling, n, fmin(high, wanted_fan(cooling, n, high, INFINITY)), error));
        cooling->node[n].clock_s = 0;
    }
    return PW_OK;
}

double pw_cooling_time_to(pw_cooling *c, uint32_t gpu, bool memory, double level_C, double horizon_s) {
    /* The node runs ahead and is put back. */
    PW_CHECK(gpu < c->gpus && isfinite(horizon_s));
    uint32_t n = gpu / c->gpus_per_node;
    size_t first = (size_t)n * c->gpus_per_node;
    double kept[PART_NODES][128];
    PW_CHECK(c->gpus_per_node <= 128);
    node_state state = c->node[n];
    for (int k = 0; k < PART_NODES; k++) memcpy(kept[k], c->temperature + (size_t)k * c->gpus + first, c->gpus_per_node * sizeof(double));
    double gone = 0, found = INFINITY;
    for (uint32_t looks = 0; gone < horizon_s;) {
        node_state *node = &c->node[n];
        double length = horizon_s - gone;
        if (is_fixed(c)) control(c, n);
        else {
            if (node->clock_s == 0) control(c, n);
            if (node->clock_s != 0 || looks++ % 8 != 7 || !will_stay(c, n)) length = fmin(length, c->row.control_s - node->clock_s);
        }
        level *at = level_of(c, step_now(c, node));
        surround(c, n, node->fan);
        double part[PART_NODES], heat[2] = {c->heat[gpu], c->heat[c->gpus + gpu]};
        for (int k = 0; k < PART_NODES; k++) part[k] = c->temperature[(size_t)k * c->gpus + gpu];
        double at_s = pw_thermal_time_to(&at->thermal, part, heat, &c->outside[gpu], memory ? MEMORY : DIE, level_C, length);
        if (at_s <= length) {
            found = gone + at_s;
            break;
        }
        advance_node(c, n, length);
        node->clock_s = 0;
        gone += length;
    }
    c->node[n] = state;
    for (int k = 0; k < PART_NODES; k++) memcpy(c->temperature + (size_t)k * c->gpus + first, kept[k], c->gpus_per_node * sizeof(double));
    return found <= horizon_s ? found : INFINITY;
}

/* ---- inputs and outputs ---- */

void pw_cooling_set_gpu(pw_cooling *cooling, uint32_t gpu, double die_W, double memory_W) {
    PW_CHECK(gpu < cooling->gpus);
    if (!isfinite(memory_W)) {
        memory_W = die_W * cooling->row.memory_share;
        die_W -= memory_W;
    }
    cooling->heat[gpu] = die_W;
    cooling->heat[cooling->gpus + gpu] = memory_W;
}
double *pw_cooling_die_W(pw_cooling *cooling) { return cooling->heat; }
double *pw_cooling_memory_W(pw_cooling *cooling) { return cooling->heat + cooling->gpus; }
void pw_cooling_set_rest(pw_cooling *cooling, uint32_t node, double rest_W) { cooling->node[node].rest_W = rest_W; }
void pw_cooling_set_inlet(pw_cooling *cooling, uint32_t node, double air_C) { cooling->node[node].inlet_C = air_C; }
void pw_cooling_set_coolant(pw_cooling *cooling, uint32_t node, double coolant_C) {
    if (!is_air(cooling)) cooling->node[node].coolant_C = coolant_C;
}
void pw_cooling_set_flow(pw_cooling *cooling, uint32_t node, double share) {
    if (!is_air(cooling)) cooling->node[node].flow = (uint16_t)(fmin(fmax(share, 0), 2) * 100 + 0.5);
}
void pw_cooling_set_fan_limit(pw_cooling *cooling, uint32_t node, double share) { cooling->node[node].fan_limit = fmin(fmax(share, 0), 1); }

pw_status pw_cooling_set_feedback(pw_cooling *cooling, double feedback_WpK, double reference_C, pw_error *error) {
    if (!isfinite(feedback_WpK) || !isfinite(reference_C))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a feedback of %g W/K above %g degrees is no number", feedback_WpK, reference_C);
    cooling->feedback_WpK = feedback_WpK;
    cooling->reference_C = reference_C;
    for (int i = 0; i < LEVELS; i++) cooling->levels[i].made = false;
    return PW_OK;
}

const double *pw_cooling_die_C(const pw_cooling *cooling) { return cooling->temperature + DIE * cooling->gpus; }
const double *pw_cooling_memory_C(const pw_cooling *cooling) { return cooling->temperature + MEMORY * cooling->gpus; }

pw_cooling_state pw_cooling_node(const pw_cooling *c, uint32_t n) {
    PW_CHECK(n < c->nodes);
    const node_state *node = &c->node[n];
    pw_cooling_state s = {.fan_share = speed_of(node->fan), .fan_W = fans_W(c, node->fan), .coolant_out_C = NAN};
    s.hottest_C = hottest_of(c, n, &s.hottest_gpu);
    s.airflow_m3ps = c->row.airflow_m3ps * c->gpus_per_node * s.fan_share;
    double all = gpus_W(c, n) + node->rest_W + s.fan_W;
    s.liquid_W = all * c->desc.capture;
    s.air_W = all - s.liquid_W;
    s.air_in_C = air_in_C(c, n, node->fan);
    s.air_out_C = s.air_in_C + (c->row.airflow_m3ps > 0 ? s.air_W / air_WpK(c, node->fan) : 0);
    if (!is_air(c)) {
        double stream = c->row.stream_JpKm3 * c->row.stream_m3ps * c->gpus_per_node * fmax(speed_of(node->flow), LEAST_SPEED);
        s.coolant_out_C = node->coolant_C + (stream > 0 ? s.liquid_W / stream : 0);
    }
    return s;
}

pw_cooling_facts pw_cooling_get_facts(const pw_cooling *c) {
    const cooling_row *row = &c->row;
    return (pw_cooling_facts){.row = row->name, .provenance = row->provenance, .source = row->source, .way = row->way, .gpus_per_node = c->gpus_per_node,
                              .nodes = c->nodes, .in_series = is_air(c) ? row->in_series : 1, .inlet_C = c->desc.inlet_C, .coolant_C = c->desc.coolant_C, .capture = c->desc.capture,
                              .fan_full_W = row->fan_W * c->gpus_per_node, .airflow_m3ps = row->airflow_m3ps * c->gpus_per_node,
                              .control_s = row->control_s, .memory_share = row->memory_share,
                              .resistance_KpW = row->die_sink_KpW + row->sink_base_KpW + row->sink_flow_KpW};
}

/* ---- life ---- */

static pw_status fill_desc(pw_cooling *c, const pw_cooling_desc *desc, const pw_device *device, pw_error *error) {
    const cooling_row *row = &c->row;
    c->desc = *desc;
    if (row->way == PW_COOLING_AIR && (isfinite(desc->coolant_C) || isfinite(desc->flow) || isfinite(desc->capture)))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out, or say cooling.kind = \"cold_plate\"",
                       "cooling.%s: %s is cooled by air here, which has no coolant", isfinite(desc->coolant_C) ? "coolant" : isfinite(desc->flow) ? "flow" : "capture",
                       device->name);
    bool series = row->way == PW_COOLING_AIR && row->in_series == 2;
    if (isfinite(desc->slot_offset_K) && !series)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "cooling.slot_offset: with '%s' no GPU stands in the air of another", row->name);
    if (row->airflow_m3ps == 0 && (isfinite(desc->fan_share) || isfinite(desc->inlet_C) || desc->recirculation > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out; cooling.coolant is the fluid's temperature", "cooling.%s: with '%s' there is no air",
                       isfinite(desc->fan_share) ? "fan_speed" : isfinite(desc->inlet_C) ? "inlet" : "recirculation", row->name);
    if (!isfinite(c->desc.inlet_C)) c->desc.inlet_C = row->inlet_C;
    if (!isfinite(c->desc.coolant_C)) c->desc.coolant_C = row->coolant_C;
    if (!isfinite(c->desc.capture)) c->desc.capture = row->capture;
    if (!isfinite(c->desc.flow)) c->desc.flow = 1;
    return PW_OK;
}

static void start(pw_cooling *c) {
    for (uint32_t n = 0; n < c->nodes; n++) {
        c->node[n] = (node_state){.inlet_C = c->desc.inlet_C, .coolant_C = c->desc.coolant_C, .fan_limit = 1, .flow = (uint16_t)(c->desc.flow * 100 + 0.5)};
        c->node[n].fan = (uint16_t)wanted_fan(c, n, 100, c->desc.inlet_C);
        surround(c, n, c->node[n].fan);
    }
    for (size_t i = 0; i < c->gpus; i++)
        for (int k = 0; k < PART_NODES; k++) c->temperature[(size_t)k * c->gpus + i] = c->outside[i];
}

pw_status pw_cooling_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cooling_desc *desc, const pw_device *device,
                            uint32_t gpus_per_node, uint32_t nodes, pw_cooling **cooling, pw_error *error) {
    *cooling = NULL;
    if (gpus_per_node < 1 || gpus_per_node > 128 || nodes < 1 || nodes > 1u << 20)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, NULL, "cooling of %u nodes of %u GPUs; at most 2^20 of 128", nodes, gpus_per_node);
    if (!allocator) allocator = pw_allocator_default();
    pw_cooling *c = pw_alloc_zero(allocator, sizeof *c);
    if (!c) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for cooling");
    c->allocator = allocator;
    c->gpus_per_node = gpus_per_node;
    c->nodes = nodes;
    c->gpus = (size_t)gpus_per_node * nodes;
    pw_status status = cooling_find_row(catalogue, device, (pw_cooling_way)desc->way, &c->row, error);
    if (status == PW_OK) status = fill_desc(c, desc, device, error);
    if (status == PW_OK) {
        c->memory_size = c->gpus * (PART_NODES + 3) * sizeof(double);
        c->memory = pw_alloc_zero(allocator, c->memory_size);
        c->node = pw_alloc_zero(allocator, nodes * sizeof *c->node);
        c->levels = pw_alloc_zero(allocator, LEVELS * sizeof *c->levels);
        if (!c->memory || !c->node || !c->levels) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the cooling of %u nodes", nodes);
    }
    if (status != PW_OK) {
        pw_cooling_destroy(c);
        return status;
    }
    c->temperature = c->memory;
    c->heat = c->temperature + PART_NODES * c->gpus;
    c->outside = c->heat + 2 * c->gpus;
    start(c);
    *cooling = c;
    return PW_OK;
}

void pw_cooling_destroy(pw_cooling *c) {
    if (!c) return;
    pw_free(c->allocator, c->memory, c->memory_size);
    pw_free(c->allocator, c->node, c->nodes * sizeof *c->node);
    pw_free(c->allocator, c->levels, LEVELS * sizeof *c->levels);
    pw_free(c->allocator, c, sizeof *c);
}
