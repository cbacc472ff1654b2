/* podwright's own answer on the same links: the step graphs of models/collective, every message along the dimensions in order, one
 * latency a round and the bytes of the fullest link over its bandwidth. It is the form that podwright takes where nothing was
 * measured (collective.h), so no endpoint delay and no memory. */
#include <math.h>

#include "models/collective/collective.h"
#include "models/compat/astra.h"

enum { MOST_VISITS = 1 << 26 };

typedef struct load {
    const pw_astra_network *network;
    double *bytes; /* per link and byte of S */
    size_t count, first[PW_ASTRA_DIMENSIONS], width[PW_ASTRA_DIMENSIONS];
    double fullest;    /* bytes over rate */
    double latency_ns; /* of the longest message */
    uint64_t visits;
    bool is_too_much;
} load;

static void put(load *l, int dimension, int64_t npu, int64_t slot, double bytes) {
    double *at = &l->bytes[l->first[dimension] + (size_t)npu * l->width[dimension] + (size_t)slot];
    *at += bytes;
    l->fullest = fmax(l->fullest, *at / pw_astra_rate(&l->network->dimensions[dimension]));
    l->visits++;
}

/* Around a ring the shorter way, half of the bytes each way when both are equal. */
static int64_t put_ring(load *l, int dimension, int64_t npu, int64_t stride, int64_t from, int64_t to, double bytes) {
    int64_t n = l->network->dimensions[dimension].npus, ahead = (to - from + n) % n, back = n - ahead;
    bool both = ahead == back && n > 2;
    double part = both ? bytes / 2 : bytes;
    if (ahead <= back)
        for (int64_t i = 0, c = from; i < ahead; i++, c = (c + 1) % n) put(l, dimension, npu + (c - from) * stride, 0, part);
    if (back < ahead || both)
        for (int64_t i = 0, c = from; i < back; i++, c = (c + n - 1) % n) put(l, dimension, npu + (c - from) * stride, 1, part);
    return ahead < back ? ahead : back;
}

static void add(void *object, const pw_collective_step *step) {
    load *l = object;
    int64_t at = step->from, stride = 1;
    double latency = 0;
    if (step->from >= l->network->npus || step->to >= l->network->npus || l->visits > MOST_VISITS) {
        l->is_too_much = true;
        return;
    }
    for (int d = 0; d < l->network->count; stride *= l->network->dimensions[d].npus, d++) {
        const pw_astra_dimension *dimension = &l->network->dimensions[d];
        int64_t from = at / stride % dimension->npus, to = step->to / stride % dimension->npus, links = 1;
        if (from == to) continue;
        if (dimension->topology == PW_ASTRA_RING) links = put_ring(l, d, at, stride, from, to, step->fraction);
        else if (dimension->topology == PW_ASTRA_FULLY_CONNECTED) put(l, d, at, to, step->fraction);
        at += (to - from) * stride;
        if (dimension->topology == PW_ASTRA_SWITCH) {
            put(l, d, at - (to - from) * stride, 0, step->fraction);
            put(l, d, at, 1, step->fraction);
            links = 2;
        }
        latency += (double)links * dimension->latency_ns;
    }
    l->latency_ns = fmax(l->latency_ns, latency);
}

static pw_status prepare(load *l, const pw_allocator *allocator, pw_error *error) {
    for (int d = 0; d < l->network->count; d++) {
        const pw_astra_dimension *dimension = &l->network->dimensions[d];
        l->first[d] = l->count;
        l->width[d] = dimension->topology == PW_ASTRA_FULLY_CONNECTED ? (size_t)dimension->npus : 2;
        l->count += (size_t)l->network->npus * l->width[d];
        if (l->count > MOST_VISITS) return pw_fail(error, PW_LIMIT, NULL, 0, NULL, "more than %d links are not laid out", MOST_VISITS);
    }
    l->bytes = pw_alloc(allocator, l->count * sizeof *l->bytes);
    return l->bytes ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
}

static const pw_collective_kind kind_of[] = {PW_COLLECTIVE_ALL_REDUCE, PW_COLLECTIVE_ALL_GATHER, PW_COLLECTIVE_REDUCE_SCATTER,
                                             PW_COLLECTIVE_ALL_TO_ALL};

static void try_shape(load *l, pw_astra_collective kind, const pw_group_shape *shape, double bytes, pw_astra_answer *answer) {
    for (int a = 0; pw_algorithm_table[a].name; a++) {
        const pw_algorithm *algorithm = &pw_algorithm_table[a];
        if (!algorithm->applies(kind_of[kind], shape, false)) continue;
        for (size_t i = 0; i < l->count; i++) l->bytes[i] = 0;
        l->fullest = l->latency_ns = 0;
        l->visits = 0;
        l->is_too_much = false;
        (algorithm->edges ? algorithm->edges : algorithm->steps)(kind_of[kind], shape, add, l);
        double ns = algorithm->rounds(kind_of[kind], shape) * l->latency_ns + l->fullest * bytes;
        if (!l->is_too_much && (!answer->algorithm || ns < answer->ns)) *answer = (pw_astra_answer){ns, algorithm->name};
    }
}

pw_status pw_astra_physical(const pw_astra_network *network, pw_astra_collective kind, int64_t bytes, const pw_allocator *allocator,
                            pw_astra_answer *answer, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    load l = {.network = network};
    *answer = (pw_astra_answer){0};
    PW_TRY(prepare(&l, allocator, error));
    double size = kind == PW_ASTRA_ALL_GATHER ? (double)bytes * (double)network->npus : (double)bytes;
    uint32_t n = (uint32_t)network->npus, inner = 1;
    pw_collective_options options = {0};
    if (network->count > 1 && network->count <= PW_COLLECTIVE_DIMENSIONS) options.dimensions = (uint32_t)network->count; /* hierarchical's */
    for (uint32_t d = 0; d < options.dimensions; d++) options.extents[d] = (uint32_t)network->dimensions[d].npus;
    for (int d = 0; d < network->count; d++) { /* domains: one NPU, then the first dimension, then the first two, ... */
        pw_group_shape shape = {.members = n, .domains = n / inner, .per_domain = inner, .even = true,
                                .scaleup_Bps = pw_astra_rate(&network->dimensions[0]) * 1e9, .network_Bps = pw_astra_rate(&network->dimensions[d]) * 1e9,
                                .options = options.dimensions ? &options : NULL};
        try_shape(&l, kind, &shape, size, answer);
        inner *= (uint32_t)network->dimensions[d].npus;
    }
    pw_free(allocator, l.bytes, l.count * sizeof *l.bytes);
    if (!answer->algorithm) return pw_fail(error, PW_UNSUPPORTED, NULL, 0, NULL, "no algorithm of podwright's can be laid out on %u NPUs", n);
    if (answer->ns < pw_astra_floor(network, kind, bytes) * (1 - 1e-9))
        return pw_fail(error, PW_LAW, NULL, 0, NULL, "%s takes %.6g ns, less than the cut bound of %.6g", answer->algorithm, answer->ns,
                       pw_astra_floor(network, kind, bytes));
    return PW_OK;
}
