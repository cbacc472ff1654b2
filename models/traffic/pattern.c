/* Patterns of flows. Random draws come from the stream "traffic" of the seed, one stream per repeat. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "models/traffic/traffic.h"
#include "sim/random.h"

#define NAME(NAME, name) name,
const char *const pw_traffic_pattern_names[] = {PW_TRAFFIC_PATTERN_MAP(NAME) NULL};
#undef NAME

enum { MOST_FLOWS = 100000000 };

#define AT(field) offsetof(pw_flow_desc, field)
static const pw_field flow_fields[] = {
    {"from", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(from), 0, 1 << 20, NULL, NULL, NULL, "The end that sends, counted from 0."},
    {"to", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(to), 0, 1 << 20, NULL, NULL, NULL, "The end that receives."},
    {"bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(bytes), 1, 1e15, NULL, NULL, NULL, "Bytes to send."},
    {"start", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(start_s), 0, 1e6, "0 s", NULL, NULL, "When it starts."},
    {NULL}};
#undef AT

static pw_status check_flow(const void *description, const char *file, int line, pw_error *error) {
    const pw_flow_desc *flow = description;
    if (flow->from == flow->to)
        return pw_fail(error, PW_BAD_INPUT, file, line, "a flow needs two different ends", "flow.to is %" PRId64 ", which sends it", flow->to);
    return PW_OK;
}
const pw_kind pw_flow_kind = {"flow", "One flow of a pattern: bytes from one end to another.", sizeof(pw_flow_desc), flow_fields,
                              check_flow};
static const pw_kind *const item_kinds[] = {&pw_flow_kind, NULL};
const pw_field pw_traffic_flow_item = {"flow", PW_FIELD_ONE_OF, .kinds = item_kinds, .text = "A flow."};

/* A field that this pattern does not read must not be given. */
static pw_status check_unused(const pw_pattern_desc *desc, const char *kind, const char *file, int line, pw_error *error) {
    const struct {
        const char *field;
        bool given, used;
    } fields[] = {
        {"bytes", !isnan(desc->bytes), desc->pattern != PW_TRAFFIC_LIST},
        {"target", desc->target != 0, desc->pattern == PW_TRAFFIC_INCAST},
        {"count", desc->count != 0, desc->pattern == PW_TRAFFIC_RANDOM},
        {"flows", desc->flows.items != NULL, desc->pattern == PW_TRAFFIC_LIST},
        {"interval", desc->interval_s != 0, desc->pattern == PW_TRAFFIC_RANDOM || desc->repeats > 1},
        {"ends", desc->ends != 0, desc->pattern != PW_TRAFFIC_LIST},
    };
    const char *pattern = pw_traffic_pattern_names[desc->pattern];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given && !fields[i].used)
            return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "%s.%s has no meaning with pattern %s%s", kind, fields[i].field,
                           pattern, desc->repeats == 1 && i == 4 ? " laid down once" : "");
    if (desc->pattern != PW_TRAFFIC_LIST && isnan(desc->bytes))
        return pw_fail(error, PW_BAD_INPUT, file, line, "say the bytes of a flow: bytes = 2 * u.MB", "%s.bytes is missing", kind);
    if (desc->pattern == PW_TRAFFIC_LIST && !desc->flows.items)
        return pw_fail(error, PW_BAD_INPUT, file, line, "flows = { o.flow { from = 0, to = 1, bytes = 2 * u.MB } }",
                       "%s.flows is missing", kind);
    if (desc->pattern == PW_TRAFFIC_RANDOM && desc->count == 0)
        return pw_fail(error, PW_BAD_INPUT, file, line, "count = 1000", "%s.count is missing: how many flows pattern random draws", kind);
    return PW_OK;
}

static uint32_t taking_part(const pw_pattern_desc *desc, uint32_t ends) { return desc->ends ? (uint32_t)desc->ends : ends; }

static double flows_of(const pw_pattern_desc *desc, uint32_t n) {
    switch ((pw_traffic_pattern)desc->pattern) {
    case PW_TRAFFIC_PERMUTATION:
    case PW_TRAFFIC_RING: return n;
    case PW_TRAFFIC_INCAST: return n - 1.0;
    case PW_TRAFFIC_ALL_TO_ALL: return (double)n * (n - 1);
    case PW_TRAFFIC_RANDOM: return (double)desc->count;
    case PW_TRAFFIC_LIST:
    default: return desc->flows.count;
    }
}

pw_status pw_pattern_check(const pw_pattern_desc *desc, const char *kind, uint32_t ends, const char *file, int line, pw_error *error) {
    PW_TRY(check_unused(desc, kind, file, line, error));
    if (desc->pattern == PW_TRAFFIC_LIST) {
        const pw_one_of *items = desc->flows.items;
        for (uint32_t i = 0; ends && i < desc->flows.count; i++) {
            const pw_flow_desc *flow = items[i].record;
            for (int to = 0; to < 2; to++)
                if ((to ? flow->to : flow->from) >= ends)
                    return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.flows[%u].%s is %" PRId64 ", but there are %u ends", kind,
                                   i + 1, to ? "to" : "from", to ? flow->to : flow->from, ends);
        }
    } else {
        if (ends && desc->ends > ends)
            return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.ends is %" PRId64 ", but there are %u", kind, desc->ends, ends);
        uint32_t n = taking_part(desc, ends);
        if (desc->pattern == PW_TRAFFIC_INCAST && n && desc->target >= n)
            return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.target is %" PRId64 ", but %u ends take part", kind, desc->target, n);
        if (n == 1) return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.ends is 1: a flow needs two ends", kind);
        if (n && flows_of(desc, n) * (double)desc->repeats > MOST_FLOWS)
            return pw_fail(error, PW_BAD_INPUT, file, line, "lower ends, count or repeats", "%s makes more than %d flows", kind, MOST_FLOWS);
    }
    return PW_OK;
}

static void put(pw_traffic *traffic, uint32_t from, uint32_t to, double bytes, double start_s) {
    traffic->flows[traffic->count++] = (pw_flow){from, to, bytes, start_s};
    traffic->bytes += bytes;
}

/* A cyclic permutation (Sattolo's shuffle): nobody sends to itself. */
static void put_permutation(pw_traffic *traffic, const pw_pattern_desc *desc, uint32_t n, double start_s, pw_random *random, uint32_t *to) {
    for (uint32_t i = 0; i < n; i++) to[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = (uint32_t)pw_random_below(random, i), kept = to[i];
        to[i] = to[j];
        to[j] = kept;
    }
    for (uint32_t i = 0; i < n; i++) put(traffic, i, to[i], desc->bytes, start_s);
}

static void put_random(pw_traffic *traffic, const pw_pattern_desc *desc, uint32_t n, double start_s, pw_random *random) {
    for (int64_t f = 0; f < desc->count; f++) {
        if (desc->interval_s > 0) start_s += pw_random_exponential(random, desc->interval_s);
        uint32_t from = (uint32_t)pw_random_below(random, n), to = (uint32_t)pw_random_below(random, n - 1);
        put(traffic, from, to + (to >= from), desc->bytes, start_s);
    }
}

static void put_pattern(pw_traffic *traffic, const pw_pattern_desc *desc, uint32_t n, double start_s, pw_random *random, uint32_t *scratch) {
    switch ((pw_traffic_pattern)desc->pattern) {
    case PW_TRAFFIC_PERMUTATION: put_permutation(traffic, desc, n, start_s, random, scratch); break;
    case PW_TRAFFIC_INCAST:
        for (uint32_t i = 0; i < n; i++)
            if (i != desc->target) put(traffic, i, (uint32_t)desc->target, desc->bytes, start_s);
        break;
    case PW_TRAFFIC_ALL_TO_ALL: /* each starts with its right neighbour, so that nobody is everybody's first */
        for (uint32_t k = 1; k < n; k++)
            for (uint32_t i = 0; i < n; i++) put(traffic, i, (i + k) % n, desc->bytes, start_s);
        break;
    case PW_TRAFFIC_RING:
        for (uint32_t i = 0; i < n; i++) put(traffic, i, (i + 1) % n, desc->bytes, start_s);
        break;
    case PW_TRAFFIC_RANDOM: put_random(traffic, desc, n, start_s, random); break;
    case PW_TRAFFIC_LIST:
    default:
        for (uint32_t i = 0; i < desc->flows.count; i++) {
            const pw_flow_desc *flow = ((const pw_one_of *)desc->flows.items)[i].record;
            put(traffic, (uint32_t)flow->from, (uint32_t)flow->to, flow->bytes, start_s + flow->start_s);
        }
    }
}

pw_status pw_traffic_make(const pw_pattern_desc *desc, const char *kind, uint32_t ends, uint64_t seed, pw_arena *arena,
                          pw_traffic *traffic, pw_error *error) {
    *traffic = (pw_traffic){0};
    if (ends < 2) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s needs two ends or more, there is %u", kind, ends);
    PW_TRY(pw_pattern_check(desc, kind, ends, NULL, 0, error));
    uint32_t n = taking_part(desc, ends);
    size_t most = (size_t)(flows_of(desc, n) * (double)desc->repeats);
    traffic->flows = pw_arena_alloc(arena, most * sizeof *traffic->flows + 1);
    uint32_t *scratch = pw_arena_alloc(arena, n * sizeof *scratch);
    if (!traffic->flows || !scratch) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the flows of %s", kind);
    bool poisson = desc->pattern == PW_TRAFFIC_RANDOM;
    double start_s = desc->start_s;
    for (int64_t r = 0; r < desc->repeats; r++) {
        pw_random random = pw_random_stream(seed, "traffic", (uint64_t)r);
        put_pattern(traffic, desc, n, start_s, &random, scratch);
        if (poisson && traffic->count) start_s = traffic->flows[traffic->count - 1].start_s; /* repeats follow each other */
        if (!poisson) start_s += desc->interval_s;
    }
    return PW_OK;
}
