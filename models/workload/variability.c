#include "models/workload/variability.h"

#include <math.h>
#include <stddef.h>

#include "sim/math.h"
#include "sim/random.h"

static const char *const draws_names[] = {"expected", "sampled", NULL};
#define AT(field) offsetof(pw_variability_desc, field)
static const pw_field fields[] = {
    {"spread", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(spread), 0, 0.2, "", NULL, NULL,
     "Share by which the slowest rank gets slower for every doubling of the ranks; left out: as on file."},
    {"spread_from", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(spread_from), 1, 1e6, "", NULL, NULL,
     "Ranks whose slowest one the sustained clock holds already; left out: as on file."},
    {"tail_index", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(tail_index), 1.05, 100, "", NULL, NULL,
     "Exponent of the Pareto tail of stumbles; smaller: rarer and longer; left out: as on file."},
    {"tail_scale", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(tail_scale), 0, 1, "", NULL, NULL,
     "Least stumble of a rank in a step, as a share of its kernels' time; 0: none; left out: as on file."},
    {"draws", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(draws), 0, 0, "expected", draws_names, NULL,
     "expected: all ranks at the pace expected of the slowest; sampled: each rank draws its own, which simulates every rank."},
    {"stragglers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(stragglers), 0, 1e6, "0", NULL, NULL,
     "GPUs that are slow throughout; which ones, the seed decides."},
    {"straggler_slowdown", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(straggler_slowdown), 1, 100, "1.1", NULL, NULL,
     "Kernels of a straggler take so many times as long."},
    {NULL}};
#undef AT

const pw_kind pw_variability_kind = {"variability", "How much ranks and steps differ from each other.",
                                     sizeof(pw_variability_desc), fields, NULL};

pw_status pw_variability_resolve(const pw_catalogue *catalogue, const pw_variability_desc *desc, pw_variability_desc *to,
                                 pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "variability", &table, error));
    int row = pw_table_find_row(table, "default");
    if (row < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "add a row with that name", "there is no row 'default'");
    *to = desc ? *desc : (pw_variability_desc){NAN, NAN, NAN, NAN, PW_DRAWS_EXPECTED, 0, 1};
    const struct { const char *column; double *value, low, high; } numbers[] = {{"spread", &to->spread, 0, 0.2},
                                                                                {"spread_from", &to->spread_from, 1, 1e6},
                                                                                {"tail_index", &to->tail_index, 1.05, 100},
                                                                                {"tail_scale", &to->tail_scale, 0, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (isnan(*numbers[i].value)) *numbers[i].value = pw_table_number_of(table, (size_t)row, numbers[i].column);
        if (!(*numbers[i].value >= numbers[i].low && *numbers[i].value <= numbers[i].high))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), NULL,
                           "%s must be a number from %g to %g", numbers[i].column, numbers[i].low, numbers[i].high);
    }
    return PW_OK;
}

/* 1 + 1/2 + ... + 1/n: the expected largest of n exponentials of mean 1. */
static double harmonic(double n) {
    double sum = 0;
    if (n > 64) return pw_log(n) + 0.57721566490153286 + 1 / (2 * n) - 1 / (12 * n * n);
    for (double i = n; i >= 1; i--) sum += 1 / i;
    return sum;
}

/* log of the gamma function for x > 0: shifted to where Stirling's series is good to the last digits. */
static double log_gamma(double x) {
    double shift = 0;
    for (; x < 12; x++) shift += pw_log(x);
    double inverse = 1 / x, square = inverse * inverse;
    double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
    return (x - 0.5) * pw_log(x) - x + 0.91893853320467274 + series - shift;
}

/* Expected largest of n Pareto draws: scale n B(n, 1 - 1/index). */
static double longest_stumble(const pw_variability_desc *v, double n) {
    double rest = 1 - 1 / v->tail_index;
    if (v->tail_scale == 0) return 0;
    return v->tail_scale * pw_exp(log_gamma(n + 1) + log_gamma(rest) - log_gamma(n + rest));
}

static const double ln2 = 0.69314718055994531;

double pw_variability_slowest(const pw_variability_desc *v, int64_t ranks) {
    double n = (double)ranks;
    return v->spread / ln2 * (harmonic(n) - harmonic(v->spread_from)) + longest_stumble(v, n);
}

/* The largest of n draws lies below scale x (1 - q^(1/n))^(-1/index) with probability q. */
static double stumble_quantile(const pw_variability_desc *v, double n, double q) {
    double beyond = 1 - pw_exp(pw_log(q) / n);
    return v->tail_scale * pw_exp(-pw_log(beyond) / v->tail_index);
}

double pw_variability_step_spread(const pw_variability_desc *v, int64_t ranks) {
    if (v->tail_scale == 0) return 0;
    double n = (double)ranks, speed = 1 + v->spread / ln2 * (harmonic(n) - harmonic(v->spread_from));
    return (stumble_quantile(v, n, 0.9) - stumble_quantile(v, n, 0.1)) / (speed + stumble_quantile(v, n, 0.5));
}

static double pareto(pw_random *random, const pw_variability_desc *v) {
    if (v->tail_scale == 0) return 0;
    return v->tail_scale * pw_exp(pw_random_exponential(random, 1 / v->tail_index));
}

pw_status pw_variability_draw(const pw_variability_desc *v, uint64_t seed, int64_t ranks, pw_arena *arena,
                              const double **factors, pw_error *error) {
    *factors = NULL;
    if (v->draws == PW_DRAWS_EXPECTED && (v->stragglers == 0 || v->straggler_slowdown == 1)) return PW_OK;
    double *made = pw_arena_alloc(arena, (size_t)ranks * sizeof *made);
    uint32_t *order = pw_arena_alloc(arena, (size_t)ranks * sizeof *order);
    if (!made || !order) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the ranks' speeds");
    double taken = harmonic(v->spread_from);
    for (int64_t r = 0; r < ranks; r++) {
        made[r] = 1;
        order[r] = (uint32_t)r;
        if (v->draws != PW_DRAWS_SAMPLED) continue;
        pw_random speed = pw_random_stream(seed, "speed of rank", (uint64_t)r);
        pw_random stumble = pw_random_stream(seed, "stumble of rank", (uint64_t)r);
        made[r] += v->spread / ln2 * (pw_random_exponential(&speed, 1) - taken) + pareto(&stumble, v);
        if (!(made[r] > 0.01)) made[r] = 0.01; /* absurd spreads: still a time */
    }
    pw_random choice = pw_random_stream(seed, "stragglers", 0);
    pw_random_shuffle(&choice, order, (size_t)ranks);
    for (int64_t i = 0; i < v->stragglers && i < ranks; i++) made[order[i]] *= v->straggler_slowdown;
    *factors = made;
    return PW_OK;
}
