#include "models/power/budget.h"

#include <math.h>
#include <stdlib.h>

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
