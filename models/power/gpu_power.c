/* Watts are a sum of terms; the settled clock is a binary search over the device's steps, as power rises with the clock. */
#include "models/power/gpu_power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/gpu_parameters.h"
#include "sim/math.h"
#include "sim/random.h"

const char *const pw_clock_reason_names[] = {
#define NAME(NAME, name, bit, text) name,
    PW_CLOCK_REASON_MAP(NAME)
#undef NAME
    NULL};
const uint32_t pw_clock_reason_bits[PW_CLOCK_REASON_COUNT] = {
#define BIT(NAME, name, bit, text) bit,
    PW_CLOCK_REASON_MAP(BIT)
#undef BIT
};
const pw_gpu_die pw_gpu_die_nominal = {1, 1};

struct pw_gpu_power {
    const pw_allocator *allocator;
    const pw_device *device;
    pw_gpu_power_parameters parameters;
    pw_gpu_power_figures figures;
    char text[240];
};

pw_status pw_gpu_power_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *device,
                              pw_gpu_power **result, pw_error *error) {
    const pw_device *found;
    const pw_table *table;
    *result = NULL;
    PW_TRY(pw_catalogue_device(catalogue, device, &found, error));
    PW_TRY(pw_catalogue_need(catalogue, "accelerators", &table, error));
    double boost = found->boost_Hz > 0 ? found->boost_Hz : found->tensor_peak_Hz > 0 ? found->tensor_peak_Hz : found->base_Hz;
    if (!(found->tdp_W > 0) || !(boost > 0))
        return pw_fail(error, PW_UNSUPPORTED, NULL, found->line, "see `podwright explain` for what the catalogue knows",
                       "%s has no TDP or no clock in the catalogue; its power needs both", found->name);
    pw_gpu_power *model = pw_alloc_zero(allocator, sizeof *model);
    if (!model) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a device's power parameters");
    model->allocator = allocator;
    model->device = found;
    pw_gpu_power_parameters *p = &model->parameters;
    pw_status status = pw_gpu_power_parameters_choose(catalogue, found, p, model->text, sizeof model->text, error);
    if (status != PW_OK) {
        pw_gpu_power_destroy(model);
        return status;
    }
    size_t row = (size_t)pw_table_find_row(table, found->name);
    model->figures = (pw_gpu_power_figures){.tdp_W = found->tdp_W,
                                            .cap_min_W = pw_table_number_of(table, row, "power_limit_min"),
                                            .boost_ratio = boost, /* in Hz until the parameters are set */
                                            .reference_Hz = 1,
                                            .max_operating_C = pw_table_number_of(table, row, "max_operating"),
                                            .slowdown_C = pw_table_number_of(table, row, "slowdown"),
                                            .shutdown_C = pw_table_number_of(table, row, "shutdown"),
                                            .memory_max_C = pw_table_number_of(table, row, "memory_max")};
    pw_gpu_power_set(model, p);
    *result = model;
    return PW_OK;
}

void pw_gpu_power_set(pw_gpu_power *model, const pw_gpu_power_parameters *parameters) {
    pw_gpu_power_parameters p = *parameters;
    pw_gpu_power_figures *g = &model->figures;
    double boost = g->boost_ratio * g->reference_Hz;
    double load = p.load_Hz < boost ? p.load_Hz : boost;
    /* short benchmark loops, which the kernels' parameters are fitted to, run at the highest clock under load */
    g->reference_Hz = load;
    g->boost_ratio = boost / load;
    g->load_ratio = 1;
    g->memory_ratio = p.memory_Hz < load ? p.memory_Hz / load : 1;
    g->min_ratio = (p.min_Hz < load ? p.min_Hz : load) / load;
    g->step_ratio = p.step_Hz / load;
    g->idle_W = p.idle_W;
    g->reference_C = p.reference_C;
    model->parameters = p;
}

void pw_gpu_power_destroy(pw_gpu_power *model) {
    if (model) pw_free(model->allocator, model, sizeof *model);
}

const pw_device *pw_gpu_power_device(const pw_gpu_power *model) { return model->device; }
const char *pw_gpu_power_provenance(const pw_gpu_power *model) { return model->text; }
const pw_gpu_power_figures *pw_gpu_power_figures_of(const pw_gpu_power *model) { return &model->figures; }

pw_gpu_die pw_gpu_die_draw(const pw_gpu_power *model, uint64_t seed, uint64_t number) {
    static const double least = 0.5; /* ten sigma and more; keeps a factor positive whatever the table says */
    pw_random random = pw_random_stream(seed, "gpu die", number);
    double still = pw_random_normal(&random, 1, model->parameters.sigma_still);
    double dynamic = pw_random_normal(&random, 1, model->parameters.sigma_dynamic);
    return (pw_gpu_die){still > least ? still : least, dynamic > least ? dynamic : least};
}

/* Everything of the state that watts need, once per clock. */
typedef struct state_factors {
    double still, leakage, voltage2, clock; /* clock to boost */
} state_factors;

static state_factors factors_at(const pw_gpu_power *model, double clock_ratio, double temperature_C, pw_gpu_die die) {
    const pw_gpu_power_parameters *p = &model->parameters;
    double x = clock_ratio / model->figures.boost_ratio;
    double v = 1 - p->voltage_slope * (1 - x);
    if (v < p->voltage_floor) v = p->voltage_floor;
    state_factors f = {.still = die.still > 0 ? die.still : 1, .clock = x};
    f.voltage2 = v * v * (die.dynamic > 0 ? die.dynamic : 1);
    f.leakage = clock_ratio > 0 ? v * v * pw_exp(p->leakage_per_K * (temperature_C - p->reference_C)) : 0;
    return f;
}

/* `rate`: 1 / span; `busy`: share of it with kernels; `dynamic`: a profile's factor. */
static pw_gpu_watts watts_of(const pw_gpu_power *model, const state_factors *f, const pw_gpu_work *work, double rate,
                             double busy, double dynamic) {
    const pw_gpu_power_parameters *p = &model->parameters;
    pw_gpu_watts w = {.idle = p->idle_W * f->still, .leakage = p->static_W * f->leakage * f->still};
    if (work) {
        double scale = f->voltage2 * dynamic, tensor_J = 0;
        for (int i = 0; i < PW_PRECISION_COUNT; i++) tensor_J += p->tensor_J[i] * work->tensor_flops[i];
        w.active = p->active_W * scale * f->clock * busy;
        w.tensor = tensor_J * scale * rate;
        w.vector = p->vector_J * work->vector_flops * scale * rate;
        w.memory = (p->memory_J + p->chip_J * scale) * work->memory_bytes * rate;
        w.link = p->link_J * work->link_bytes * rate;
    }
    w.total = w.idle + w.leakage + w.active + w.tensor + w.vector + w.memory + w.link;
    return w;
}

pw_gpu_watts pw_gpu_power_watts(const pw_gpu_power *model, const pw_gpu_power_state *state, const pw_gpu_work *work,
                                double span_s) {
    state_factors f = factors_at(model, state->clock_ratio, state->temperature_C, state->die);
    double busy = !work ? 0 : work->busy_s < span_s ? work->busy_s / span_s : 1;
    return watts_of(model, &f, work, 1 / span_s, busy, 1);
}

pw_status pw_gpu_power_profile(const pw_catalogue *catalogue, const pw_gpu_power *model, const char *name,
                               pw_gpu_profile *profile, pw_error *error) {
    const pw_table *table;
    char known[200];
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GPU_PROFILES, &table, error));
    bool elsewhere = false;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_of(table, row, "profile"), name) != 0) continue;
        elsewhere = true;
        if (strcmp(pw_table_text_of(table, row, "arch"), model->device->arch) != 0) continue;
        PW_TRY(pw_table_amount_of(table, row, "clock", &profile->clock, error));
        PW_TRY(pw_table_amount_of(table, row, "dynamic", &profile->dynamic, error));
        if (profile->clock > 0 && profile->clock <= 1 && profile->dynamic > 0) return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL,
                       "clock is above 0 and at most 1, dynamic above 0");
    }
    if (elsewhere)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "profiles came with Blackwell",
                       "%s has no power profile \"%s\" (architecture %s)", model->device->name, name, model->device->arch);
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "the profiles are", known, sizeof known),
                   "there is no power profile \"%s\"", name);
}

pw_status pw_gpu_power_check_limits(const pw_gpu_power *model, const pw_gpu_limits *limits, pw_error *error) {
    const pw_gpu_power_figures *g = &model->figures;
    const char *name = model->device->name;
    double least_W = g->cap_min_W > 0 ? g->cap_min_W : g->idle_W;
    if (limits->cap_W != 0 && !(limits->cap_W >= least_W && limits->cap_W <= g->tdp_W))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a power cap of %g W is outside the range of %s, %g to %g W",
                       limits->cap_W, name, least_W, g->tdp_W);
    if (limits->clock_ratio != 0 && !(limits->clock_ratio >= g->min_ratio * (1 - 1e-9) && limits->clock_ratio <= g->boost_ratio * (1 + 1e-9)))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a clock of %g MHz is outside the range of %s, %g to %g MHz",
                       limits->clock_ratio * g->reference_Hz / 1e6, name, g->min_ratio * g->reference_Hz / 1e6,
                       g->boost_ratio * g->reference_Hz / 1e6);
    return PW_OK;
}

/* What the limits other than power leave, and which of them binds. */
static double ceiling_of(const pw_gpu_power *model, const pw_gpu_limits *limits, double temperature_C, pw_clock_reason *reason) {
    const pw_gpu_power_figures *g = &model->figures;
    double ceiling = g->load_ratio, slowdown = model->parameters.slowdown;
    *reason = PW_CLOCK_REASON_NONE;
#define LIMIT(value, why)          \
    {                              \
        double limit = value;      \
        if (limit < ceiling) {     \
            ceiling = limit;       \
            *reason = why;         \
        }                          \
    }
    if (limits->profile.clock > 0) LIMIT(limits->profile.clock * g->load_ratio, PW_CLOCK_REASON_CLOCKS_SETTING)
    if (limits->clock_ratio > 0) LIMIT(limits->clock_ratio, PW_CLOCK_REASON_CLOCKS_SETTING)
    if (temperature_C > g->max_operating_C) {
        double slowdown_C = g->slowdown_C > g->max_operating_C ? g->slowdown_C : g->max_operating_C;
        if (temperature_C < slowdown_C) {
            double share = (temperature_C - g->max_operating_C) / (slowdown_C - g->max_operating_C);
            LIMIT(g->boost_ratio * (1 - (1 - slowdown) * share), PW_CLOCK_REASON_SW_THERMAL)
        } else {
            LIMIT(g->boost_ratio * slowdown, PW_CLOCK_REASON_HW_THERMAL)
        }
    }
    if (limits->brake) LIMIT(g->boost_ratio * slowdown, PW_CLOCK_REASON_HW_POWER_BRAKE)
#undef LIMIT
    return ceiling > g->min_ratio ? ceiling : g->min_ratio;
}

double pw_gpu_power_allowed(const pw_gpu_power *model, const pw_gpu_limits *limits) {
    return (limits->cap_W > 0 ? limits->cap_W : model->figures.tdp_W) * model->parameters.held;
}

double pw_gpu_power_ceiling(const pw_gpu_power *model, const pw_gpu_limits *limits, double temperature_C, pw_clock_reason *reason) {
    const pw_gpu_power_figures *g = &model->figures;
    double steps = floor((ceiling_of(model, limits, temperature_C, reason) - g->min_ratio) / g->step_ratio * (1 + 1e-12) + 1e-9);
    return g->min_ratio + steps * g->step_ratio;
}

typedef struct search {
    const pw_gpu_power *model;
    const pw_gpu_load *load;
    double temperature_C, idle_s, dynamic;
    pw_gpu_die die;
} search;

static double span_at(const search *s, double clock_ratio) {
    if (s->load->time_of) return s->load->time_of(s->load->context, clock_ratio);
    return s->load->span_s + s->load->compute_s * (1 / clock_ratio - 1);
}

/* Mean watts at a clock: over the time with kernels, or over all of it. */
static pw_gpu_watts watts_at(const search *s, double clock_ratio, bool whole) {
    state_factors f = factors_at(s->model, clock_ratio, s->temperature_C, s->die);
    double span_s = span_at(s, clock_ratio), busy_s = span_s - s->idle_s;
    if (!(busy_s > 0)) return watts_of(s->model, &f, &s->load->work, 1 / span_s, 0, s->dynamic);
    if (!whole) return watts_of(s->model, &f, &s->load->work, 1 / busy_s, 1, s->dynamic);
    return watts_of(s->model, &f, &s->load->work, 1 / span_s, busy_s / span_s, s->dynamic);
}

pw_gpu_settled pw_gpu_power_settle(const pw_gpu_power *model, const pw_gpu_load *load, const pw_gpu_limits *limits,
                                   double temperature_C, pw_gpu_die die) {
    const pw_gpu_power_figures *g = &model->figures;
    search s = {.model = model, .load = load, .temperature_C = temperature_C, .die = die, .dynamic = 1};
    s.idle_s = load->span_s > load->work.busy_s ? load->span_s - load->work.busy_s : 0;
    if (limits->profile.clock > 0) s.dynamic = limits->profile.dynamic;
    pw_gpu_settled result;
    double ceiling = ceiling_of(model, limits, temperature_C, &result.reason);
    double traffic = load->work.busy_s > 0 ? load->work.memory_bytes / load->work.busy_s / model->device->memory_Bps : 0;
    if (traffic > model->parameters.memory_from && ceiling > g->memory_ratio) ceiling = g->memory_ratio;
    double allowed_W = pw_gpu_power_allowed(model, limits);
    double steps = floor((ceiling - g->min_ratio) / g->step_ratio * (1 + 1e-12) + 1e-9);
    result.clock_ratio = g->min_ratio + steps * g->step_ratio;
    result.over_cap = false;
    if (watts_at(&s, result.clock_ratio, false).total > allowed_W) {
        result.reason = PW_CLOCK_REASON_SW_POWER_CAP;
        double low = 0, high = steps; /* steps; at high there is too much power */
        while (high - low > 1) {
            double middle = floor((low + high) / 2);
            if (watts_at(&s, g->min_ratio + middle * g->step_ratio, false).total > allowed_W)
                high = middle;
            else
                low = middle;
        }
        result.clock_ratio = g->min_ratio + low * g->step_ratio;
        result.over_cap = watts_at(&s, result.clock_ratio, false).total > allowed_W;
    }
    result.mean_ratio = result.clock_ratio;
    if (result.reason == PW_CLOCK_REASON_SW_POWER_CAP && !result.over_cap) {
        double below_W = watts_at(&s, result.clock_ratio, false).total;
        double above_W = watts_at(&s, result.clock_ratio + g->step_ratio, false).total;
        result.mean_ratio += g->step_ratio * (allowed_W - below_W) / (above_W - below_W);
    }
    result.span_s = span_at(&s, result.clock_ratio);
    result.watts = watts_at(&s, result.clock_ratio, true);
    return result;
}
