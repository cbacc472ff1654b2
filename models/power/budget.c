#include "models/power/budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(NAME_, name, text) #name,
const char *const pw_budget_policy_names[] = {PW_BUDGET_POLICY_MAP(NAME) NULL};
#define TEXT(NAME_, name, text) text,
const char *const pw_budget_policy_texts[] = {PW_BUDGET_POLICY_MAP(TEXT) NULL};

/* One division under way. Amounts start at the least power and only grow. */
typedef struct dividing {
    const pw_consumer *consumers;
    uint32_t count;
    double *amounts;  /* [count] */
    double *highs;    /* [count]: where the pass ends for each */
    double *weights;  /* [count] */
    struct bend { double level, slope, offset; } *bends; /* [2 count] */
    double left;
} dividing;

static int compare_bends(const void *a, const void *b) {
    double x = ((const struct bend *)a)->level, y = ((const struct bend *)b)->level;
    return x < y ? -1 : x > y;
}

/* Raises amounts to clip(weight x level, amount, high), at the level where the sum of rises is what is left. The sum is piecewise linear
 * in the level; each consumer bends it at amount / weight and at high / weight. */
static void raise(dividing *d) {
    double most = 0;
    uint32_t bends = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        double room = d->highs[i] - d->amounts[i], w = d->weights[i];
        if (!(room > 0) || !(w > 0)) continue;
        most += room;
        d->bends[bends++] = (struct bend){d->amounts[i] / w, w, -d->amounts[i]};
        d->bends[bends++] = (struct bend){d->highs[i] / w, -w, d->highs[i]};
    }
    if (!bends || !(d->left > 0)) return;
    double level = INFINITY;
    if (most > d->left) {
        qsort(d->bends, bends, sizeof *d->bends, compare_bends);
        double slope = 0, offset = 0; /* rise = slope x level + offset up to the next bend */
        for (uint32_t b = 0; b < bends; b++) {
            if (slope > 0 && slope * d->bends[b].level + offset >= d->left) break;
            slope += d->bends[b].slope;
            offset += d->bends[b].offset;
            level = slope > 0 ? (d->left - offset) / slope : d->bends[b].level;
        }
    }
    for (uint32_t i = 0; i < d->count; i++) {
        if (!(d->highs[i] > d->amounts[i]) || !(d->weights[i] > 0)) continue;
        double to = fmin(d->highs[i], fmax(d->amounts[i], d->weights[i] * level));
        d->left -= to - d->amounts[i];
        d->amounts[i] = to;
    }
    if (d->left < 0) d->left = 0;
}

static double wants(const pw_consumer *c) { return fmin(c->rated_W, fmax(c->least_W, c->wants_W)); }

/* Up to what each wants, or to its rated power; only those of one priority when `only`. */
static void pass(dividing *d, bool to_rated, bool by_wants, bool only, int priority) {
    for (uint32_t i = 0; i < d->count; i++) {
        const pw_consumer *c = &d->consumers[i];
        d->highs[i] = only && c->priority != priority ? d->amounts[i] : to_rated ? c->rated_W : wants(c);
        d->weights[i] = by_wants ? fmax(c->wants_W, 0) : 1;
    }
    raise(d);
}

static void divide_uniform(dividing *d) { pass(d, true, false, false, 0); }

static void divide_proportional(dividing *d) {
    pass(d, true, true, false, 0);
    pass(d, true, false, false, 0); /* who wants nothing has no weight */
}

static void divide_highest_first(dividing *d) {
    pass(d, false, false, false, 0);
    pass(d, true, false, false, 0);
}

static void divide_priority(dividing *d) {
    for (int round = 0; round < 2; round++) {
        for (int64_t below = INT64_MAX;;) { /* the next lower priority */
            int64_t next = INT64_MIN;
            for (uint32_t i = 0; i < d->count; i++)
                if (d->consumers[i].priority < below && d->consumers[i].priority > next) next = d->consumers[i].priority;
            if (next == INT64_MIN) break;
            pass(d, round == 1, false, true, (int)next);
            below = next;
        }
    }
}

#define DIVIDE(NAME_, name, text) divide_##name,
static void (*const policies[])(dividing *) = {PW_BUDGET_POLICY_MAP(DIVIDE)};

static pw_status check_consumers(const pw_consumer *consumers, uint32_t count, double budget_W, pw_error *error) {
    if (!(budget_W >= 0) || !isfinite(budget_W)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a power budget of %g W", budget_W);
    for (uint32_t i = 0; i < count; i++) {
        const pw_consumer *c = &consumers[i];
        if (!(c->least_W >= 0) || !(c->rated_W >= c->least_W) || !isfinite(c->rated_W) || !isfinite(c->wants_W))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "least and rated power: 0 <= least <= rated", "consumer %u has powers of %g to %g W and wants %g W",
                           (unsigned)i, c->least_W, c->rated_W, c->wants_W);
    }
    return PW_OK;
}

pw_status pw_budget_divide(const pw_allocator *allocator, pw_budget_policy policy, double budget_W, const pw_consumer *consumers, uint32_t count,
                           double *caps_W, pw_division *division, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    *division = (pw_division){0};
    PW_CHECK((unsigned)policy < PW_BUDGET_POLICY_COUNT);
    PW_TRY(check_consumers(consumers, count, budget_W, error));
    size_t bytes = count * (2 * sizeof(double) + 2 * sizeof(struct bend)) + 1;
    double *memory = pw_alloc(allocator, bytes);
    if (!memory) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to divide a power budget");
    dividing d = {.consumers = consumers, .count = count, .amounts = caps_W, .highs = memory, .weights = memory + count,
                  .bends = (struct bend *)(memory + 2 * (size_t)count), .left = budget_W};
    for (uint32_t i = 0; i < count; i++) d.left -= caps_W[i] = consumers[i].least_W;
    if (d.left < 0) division->short_W = -d.left;
    else policies[policy](&d);
    for (uint32_t i = 0; i < count; i++) {
        division->caps_W += caps_W[i];
        division->cut += caps_W[i] < wants(&consumers[i]) * (1 - 1e-12);
    }
    pw_free(allocator, memory, bytes);
    return PW_OK;
}

void pw_budget_check(pw_sim *sim, double budget_W, const pw_consumer *consumers, uint32_t count, const double *caps_W, const pw_division *division) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += caps_W[i];
        PW_LAW(sim, caps_W[i] >= consumers[i].least_W && caps_W[i] <= consumers[i].rated_W, "a cap lies between least and rated power",
               "consumer %u: %g W, from %g to %g W", (unsigned)i, caps_W[i], consumers[i].least_W, consumers[i].rated_W);
    }
    PW_LAW(sim, sum <= (budget_W + division->short_W) * (1 + 1e-9), "caps add up to no more than the budget", "%.12g W for a budget of %.12g W", sum,
           budget_W);
}

double pw_budget_oversubscription(double budget_W, const pw_consumer *consumers, uint32_t count) {
    double rated = 0;
    for (uint32_t i = 0; i < count; i++) rated += consumers[i].rated_W;
    return rated / budget_W;
}

/* ---- rows ---- */

pw_status pw_budget_divide_row(const pw_allocator *allocator, pw_budget_policy policy, double row_W, const double *rack_limit_W, uint32_t racks,
                               const pw_consumer *nodes, const uint32_t *rack_of, uint32_t count, double *rack_caps_W, double *caps_W,
                               pw_division *division, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    size_t bytes = (racks + (size_t)count) * sizeof(pw_consumer) + count * sizeof(double) + 1;
    pw_consumer *sums = pw_alloc_zero(allocator, bytes), *mine = sums + racks;
    double *caps = (double *)(mine + count);
    if (!sums) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to divide a power budget");
    for (uint32_t r = 0; r < racks; r++) sums[r].priority = INT32_MIN;
    for (uint32_t i = 0; i < count; i++) {
        pw_consumer *rack = &sums[rack_of[i]];
        PW_CHECK(rack_of[i] < racks);
        rack->least_W += nodes[i].least_W;
        rack->rated_W += nodes[i].rated_W;
        rack->wants_W += wants(&nodes[i]);
        if (nodes[i].priority > rack->priority) rack->priority = nodes[i].priority;
    }
    for (uint32_t r = 0; r < racks; r++) {
        sums[r].rated_W = fmax(sums[r].least_W, fmin(sums[r].rated_W, rack_limit_W[r]));
        sums[r].wants_W = fmin(sums[r].wants_W, sums[r].rated_W);
    }
    pw_status status = pw_budget_divide(allocator, policy, row_W, sums, racks, rack_caps_W, division, error);
    double short_W = division->short_W;
    uint32_t cut = 0;
    for (uint32_t r = 0; r < racks && status == PW_OK; r++) {
        uint32_t here = 0;
        for (uint32_t i = 0; i < count; i++)
            if (rack_of[i] == r) mine[here++] = nodes[i];
        status = pw_budget_divide(allocator, policy, rack_caps_W[r], mine, here, caps, division, error);
        cut += division->cut;
        here = 0;
        for (uint32_t i = 0; i < count; i++)
            if (rack_of[i] == r) caps_W[i] = caps[here++];
    }
    *division = (pw_division){.short_W = short_W, .cut = cut};
    for (uint32_t i = 0; i < count; i++) division->caps_W += caps_W[i];
    pw_free(allocator, sums, bytes);
    return status;
}

/* ---- controller ---- */

struct pw_budget_controller {
    pw_budget_controller_config config;
    pw_allocator allocator;
    pw_consumer *consumers;
    double *caps, *wanted; /* in force; of the last division */
    pw_event_id next;
    bool stopped, divided;
    uint64_t divisions;
};

static void divide(pw_budget_controller *c) {
    const pw_budget_controller_config *config = &c->config;
    pw_division division;
    pw_error error = {0};
    config->read(config->object, c->consumers);
    if (pw_budget_divide(&c->allocator, config->policy, config->budget_W, c->consumers, config->count, c->wanted, &division, &error) != PW_OK) {
        pw_sim_fail_with(config->sim, &error);
        return;
    }
    c->divisions++;
    double kept = 0;
    bool near = c->divided;
    for (uint32_t i = 0; i < config->count; i++) {
        kept += c->caps[i];
        near = near && fabs(c->wanted[i] - c->caps[i]) <= config->deadband * c->caps[i] && c->caps[i] >= c->consumers[i].least_W &&
               c->caps[i] <= c->consumers[i].rated_W;
    }
    if (near && kept <= config->budget_W) return; /* the old caps still keep the budget */
    memcpy(c->caps, c->wanted, config->count * sizeof *c->caps);
    c->divided = true;
    pw_budget_check(config->sim, config->budget_W, c->consumers, config->count, c->caps, &division);
    config->set(config->object, c->caps, &division);
}

static void tick(pw_sim *sim, void *object, uint64_t argument) {
    pw_budget_controller *c = object;
    (void)argument;
    c->next = (pw_event_id){0};
    divide(c);
    if (!c->stopped && c->config.period_s > 0) c->next = pw_event_after(sim, pw_sim_ticks(sim, c->config.period_s), tick, c, 0);
}

pw_status pw_budget_controller_create(const pw_budget_controller_config *config, pw_budget_controller **controller, pw_error *error) {
    const pw_allocator *allocator = config->allocator ? config->allocator : pw_allocator_default();
    *controller = NULL;
    if (!(config->period_s >= 0) || !(config->deadband >= 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a budget controller with a period of %g s and a dead band of %g", config->period_s,
                       config->deadband);
    pw_budget_controller *c = pw_alloc_zero(allocator, sizeof *c);
    if (!c) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a budget controller");
    c->config = *config;
    c->allocator = *allocator;
    c->consumers = pw_alloc_zero(allocator, (config->count + (size_t)1) * sizeof *c->consumers);
    c->caps = pw_alloc_zero(allocator, (config->count + (size_t)1) * sizeof *c->caps);
    c->wanted = pw_alloc_zero(allocator, (config->count + (size_t)1) * sizeof *c->wanted);
    if (!c->consumers || !c->caps || !c->wanted) {
        pw_budget_controller_destroy(c);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a budget controller");
    }
    tick(config->sim, c, 0);
    *controller = c;
    return PW_OK;
}

void pw_budget_controller_destroy(pw_budget_controller *c) {
    if (!c) return;
    pw_budget_controller_stop(c);
    size_t count = c->config.count + (size_t)1;
    pw_allocator allocator = c->allocator;
    pw_free(&allocator, c->consumers, count * sizeof *c->consumers);
    pw_free(&allocator, c->caps, count * sizeof *c->caps);
    pw_free(&allocator, c->wanted, count * sizeof *c->wanted);
    pw_free(&allocator, c, sizeof *c);
}

void pw_budget_controller_cross(pw_budget_controller *c) { divide(c); }

void pw_budget_controller_budget(pw_budget_controller *c, double budget_W) {
    c->config.budget_W = budget_W;
    divide(c);
}

void pw_budget_controller_stop(pw_budget_controller *c) {
    c->stopped = true;
    if (c->next.generation) pw_event_cancel(c->config.sim, c->next);
    c->next = (pw_event_id){0};
}

uint64_t pw_budget_controller_divisions(const pw_budget_controller *c) { return c->divisions; }
