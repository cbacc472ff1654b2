/* Unaware times in closed form, and the cut bound.
 *
 * Notation: n NPUs of a dimension, h(m) = floor(k L + m / B) one message over k links, r(m) = 3 floor(m / memory), e endpoint delay.
 *
 *   ring              all_reduce 2 (n - 1) h(S/n) + (n - 1) r(S/n) + (2n - 1) e; reduce_scatter half of it with n e; all_gather
 *                     (n - 1) h(S) + n e; all_to_all n (n - 1) / 2 h(S/n) + (n (n - 1) / 2 + 1) e
 *   direct            all_reduce 2h + r + 3e, reduce_scatter h + r + 2e, all_gather h(S) + 2e, all_to_all h + 2e; on a ring over n/2 links
 *   halving-doubling  2 sum h(S / 2^(i+1), distance 2^i) + sum over i >= 1 of r + (2 log2 n + 1) e: the first reduction is free
 *   binary tree       up and down log2 n hops of the whole: 2 sum (h(S) + r(S) + e) - (r + e) + 2e for the last rank
 */
#include <math.h>
#include <string.h>

#include "models/compat/astra_internal.h"

double pw_astra_rate(const pw_astra_dimension *dimension) { return dimension->bandwidth_GBps * 0x1p30 / 1e9; }

int astra_log2(int64_t n) {
    int log = 0;
    while ((INT64_C(1) << log) < n) log++;
    return log;
}

int64_t astra_reduction(const pw_astra_system *system, double bytes) { return 3 * (int64_t)(bytes / system->memory_GBps); }

pw_status astra_check_given(const pw_astra_system *system, pw_astra_collective kind, pw_error *error) {
    if (system->given[kind]) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add all-reduce-implementation and its like to the system file", "the system says no algorithm for %s",
                   pw_astra_collective_names[kind]);
}

pw_status astra_check(const astra_phase *phase, const pw_astra_system *system, pw_error *error) {
    bool is_tree = phase->algorithm == PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE, is_halving = phase->algorithm == PW_ASTRA_ALGORITHM_HALVING_DOUBLING;
    if (!is_tree && !is_halving) return PW_OK;
    const char *name = pw_astra_algorithm_names[phase->algorithm];
    if (phase->kind != PW_ASTRA_ALL_REDUCE)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "ring and direct are", "%s for %s is not modelled", name, pw_astra_collective_names[phase->kind]);
    int64_t n = phase->dimension->npus;
    if ((n & (n - 1)) != 0) return pw_fail(error, PW_UNSUPPORTED, NULL, 0, NULL, "%s on %lld NPUs is not modelled: it wants a power of two", name, (long long)n);
    if (is_tree && system->splits > 1)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "set preferred-dataset-splits to 1", "doubleBinaryTree with several chunks is not modelled");
    return PW_OK;
}

static int64_t hop(const pw_astra_dimension *dimension, int64_t distance, double bytes) {
    int64_t links = dimension->topology == PW_ASTRA_RING ? distance : dimension->topology == PW_ASTRA_SWITCH ? 2 : 1;
    return (int64_t)((double)links * dimension->latency_ns + bytes / pw_astra_rate(dimension));
}

static int64_t ring_time(const astra_phase *phase, const pw_astra_system *system) {
    int64_t n = phase->dimension->npus, e = system->endpoint_delay_ns, part = hop(phase->dimension, 1, phase->bytes / (double)n);
    int64_t r = astra_reduction(system, phase->bytes / (double)n);
    switch (phase->kind) {
    case PW_ASTRA_ALL_REDUCE: return 2 * (n - 1) * part + (n - 1) * r + (2 * n - 1) * e;
    case PW_ASTRA_REDUCE_SCATTER: return (n - 1) * (part + r) + n * e;
    case PW_ASTRA_ALL_GATHER: return (n - 1) * hop(phase->dimension, 1, phase->bytes) + n * e;
    default: return n * (n - 1) / 2 * part + (n * (n - 1) / 2 + 1) * e;
    }
}

static int64_t direct_time(const astra_phase *phase, const pw_astra_system *system) {
    int64_t n = phase->dimension->npus, e = system->endpoint_delay_ns, part = hop(phase->dimension, n / 2, phase->bytes / (double)n);
    int64_t r = astra_reduction(system, phase->bytes / (double)n);
    switch (phase->kind) {
    case PW_ASTRA_ALL_REDUCE: return 2 * part + r + 3 * e;
    case PW_ASTRA_REDUCE_SCATTER: return part + r + 2 * e;
    case PW_ASTRA_ALL_GATHER: return hop(phase->dimension, n / 2, phase->bytes) + 2 * e;
    default: return part + 2 * e;
    }
}

static int64_t halving_time(const astra_phase *phase, const pw_astra_system *system) {
    int log = astra_log2(phase->dimension->npus);
    int64_t time = (2 * log + 1) * system->endpoint_delay_ns;
    double part = phase->bytes;
    for (int i = 0; i < log; i++) {
        part /= 2;
        time += 2 * hop(phase->dimension, INT64_C(1) << i, part) + (i ? astra_reduction(system, part) : 0);
    }
    return time;
}

static int64_t tree_time(const astra_phase *phase, const pw_astra_system *system) {
    int log = astra_log2(phase->dimension->npus);
    int64_t step = astra_reduction(system, phase->bytes) + system->endpoint_delay_ns, time = 2 * log * step - step + 2 * system->endpoint_delay_ns;
    for (int i = 0; i < log; i++) time += 2 * hop(phase->dimension, INT64_C(1) << i, phase->bytes);
    return time;
}

static pw_status phase_time(const astra_phase *phase, const pw_astra_system *system, int64_t *ns, pw_error *error) {
    PW_TRY(astra_check(phase, system, error));
    switch (phase->algorithm) {
    case PW_ASTRA_ALGORITHM_RING: *ns += ring_time(phase, system); break;
    case PW_ASTRA_ALGORITHM_DIRECT: *ns += direct_time(phase, system); break;
    case PW_ASTRA_ALGORITHM_HALVING_DOUBLING: *ns += halving_time(phase, system); break;
    case PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE: *ns += tree_time(phase, system); break;
    }
    return PW_OK;
}

pw_status pw_astra_unaware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes,
                           int64_t *ns, pw_error *error) {
    int last = network->count - 1;
    double chunk = (double)bytes / (double)system->splits;
    astra_phase phase;
    astra_stage stages[2 * PW_ASTRA_DIMENSIONS];
    uint32_t count = 0;
    PW_TRY(astra_check_given(system, kind, error));
#define RUN(which, at, size)                                                                        \
    do {                                                                                            \
        phase = (astra_phase){which, system->algorithms[kind][at], &network->dimensions[at], size}; \
        stages[count] = (astra_stage){at, 0};                                                       \
        PW_TRY(phase_time(&phase, system, &stages[count++].ns, error));                             \
    } while (0)
    if (kind == PW_ASTRA_ALL_REDUCE && system->local_bw_aware && last > 0) { /* scatter up, reduce at the top, gather down */
        for (int i = 0; i < last; chunk /= (double)network->dimensions[i].npus, i++) RUN(PW_ASTRA_REDUCE_SCATTER, i, chunk);
        RUN(PW_ASTRA_ALL_REDUCE, last, chunk);
        for (int i = last - 1; i >= 0; i--) {
            RUN(PW_ASTRA_ALL_GATHER, i, chunk);
            chunk *= (double)network->dimensions[i].npus;
        }
    } else if (kind == PW_ASTRA_ALL_GATHER) { /* from the last dimension to the first, growing */
        for (int i = last; i >= 0; chunk *= (double)network->dimensions[i].npus, i--) RUN(kind, i, chunk);
    } else if (kind == PW_ASTRA_REDUCE_SCATTER) {
        for (int i = 0; i <= last; chunk /= (double)network->dimensions[i].npus, i++) RUN(kind, i, chunk);
    } else {
        for (int i = 0; i <= last; i++) RUN(kind, i, chunk);
    }
#undef RUN
    *ns = 0;
    if (last > 0 && system->splits > system->active_chunks) return astra_chunks(stages, count, system, ns, error);
    for (uint32_t i = 0; i < count; i++) *ns += stages[i].ns;
    *ns *= (system->splits + system->active_chunks - 1) / system->active_chunks;
    return PW_OK;
}

/* ---- The cut bound ---- */

/* Bytes that must leave a part of `inside` of n ranks (or enter it, for all_gather). */
static double must_cross(pw_astra_collective kind, double bytes, double inside, double n) {
    switch (kind) {
    case PW_ASTRA_ALL_REDUCE: return inside == 1 || inside == n - 1 ? 2 * (n - 1) / n * bytes : bytes; /* a rank: its share of sums and of results */
    case PW_ASTRA_ALL_GATHER: return (n - inside) * bytes;
    case PW_ASTRA_REDUCE_SCATTER: return (n - inside) / n * bytes;
    default: return inside * (n - inside) / n * bytes;
    }
}

/* Links out of a part of one ring, clique or switch with m of its n members. */
static double links_out(const pw_astra_dimension *dimension, double m) {
    double n = (double)dimension->npus;
    if (dimension->topology == PW_ASTRA_RING) return n == 2 ? 1 : 2;
    return dimension->topology == PW_ASTRA_SWITCH ? fmin(m, n - m) : m * (n - m);
}

double pw_astra_floor(const pw_astra_network *network, pw_astra_collective kind, int64_t bytes) {
    double ports = 0, floor_ns, n = (double)network->npus;
    for (int i = 0; i < network->count; i++) ports += links_out(&network->dimensions[i], 1) * pw_astra_rate(&network->dimensions[i]);
    floor_ns = must_cross(kind, (double)bytes, 1, n) / ports; /* one rank */
    for (int i = 0; i < network->count; i++) {
        const pw_astra_dimension *dimension = &network->dimensions[i];
        double others = n / (double)dimension->npus, layers[] = {1, (double)(dimension->npus / 2)};
        for (int cut = 0; cut < 2; cut++) {
            double carried = links_out(dimension, layers[cut]) * others * pw_astra_rate(dimension);
            floor_ns = fmax(floor_ns, must_cross(kind, (double)bytes, layers[cut] * others, n) / carried);
        }
    }
    return floor_ns;
}
