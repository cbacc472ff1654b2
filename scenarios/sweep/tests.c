/* What nccl-tests calls a collective and how it counts it (NVIDIA/nccl-tests 2.19.6, doc/PERFORMANCE.md and src/). */
#include <stdio.h>
#include <string.h>

#include "scenarios/sweep/sweep.h"
#include "sim/registry.h"
#include "sim/text.h"

static const pw_sweep_test tests[] = {
    {PW_COLLECTIVE_ALL_REDUCE, "all_reduce_perf", "sum", -1, false},
    {PW_COLLECTIVE_ALL_GATHER, "all_gather_perf", "none", -1, true},
    {PW_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter_perf", "sum", -1, true},
    {PW_COLLECTIVE_ALL_TO_ALL, "alltoall_perf", "none", -1, true},
    {PW_COLLECTIVE_ALL_TO_ALL_V, "alltoallv_perf", "none", -1, true},
    {PW_COLLECTIVE_BROADCAST, "broadcast_perf", "none", 0, false},
    {PW_COLLECTIVE_REDUCE, "reduce_perf", "sum", 0, false},
    {PW_COLLECTIVE_GATHER, "gather_perf", "none", 0, true},
    {PW_COLLECTIVE_SCATTER, "scatter_perf", "none", 0, true},
    {PW_COLLECTIVE_SEND_RECV, "sendrecv_perf", "sum", -1, false},
    {PW_COLLECTIVE_BARRIER, "barrier_perf", "none", -1, false}, /* none there; one row of 0 bytes here */
};
enum { TESTS = sizeof tests / sizeof *tests, PART_BYTES = 16, MOST_ROWS = 10000 };

static const pw_sweep_type types[] = {{"int8", 1},  {"uint8", 1},  {"int32", 4}, {"uint32", 4},   {"int64", 8},  {"uint64", 8},
                                      {"half", 2},  {"float", 4},  {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
enum { TYPES = sizeof types / sizeof *types };

const pw_sweep_test *pw_sweep_test_of(pw_collective_kind kind) {
    for (int i = 0; i < TESTS; i++)
        if (tests[i].kind == kind) return &tests[i];
    return NULL;
}

/* "alltoall_perf" is "alltoall", which is all_to_all but for its underscores. */
static bool is_called(const char *name, const char *other) {
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, "_perf") == 0) length -= 5;
    const char *end = name + length;
    while (name < end || *other) {
        if (name < end && *name == '_') name++;
        else if (*other == '_') other++;
        else if (name < end && *name == *other) name++, other++;
        else return false;
    }
    return true;
}

pw_status pw_sweep_kind(const char *name, pw_collective_kind *kind, pw_error *error) {
    const char *known[PW_COLLECTIVE_KIND_COUNT + 1];
    char hint[320] = "these are known:";
    int count = 0;
    for (int k = 0; k < PW_COLLECTIVE_KIND_COUNT; k++) {
        *kind = (pw_collective_kind)k;
        if (!pw_sweep_test_of(*kind)) continue;
        if (is_called(name, pw_collective_names[k])) return PW_OK;
        known[count++] = pw_collective_names[k];
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s %s", count > 1 ? "," : "", pw_collective_names[k]);
    }
    known[count] = NULL;
    const char *near = pw_nearest(known, name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no collective '%.100s'", name);
}

pw_status pw_sweep_type_of(const char *name, pw_sweep_type *type, pw_error *error) {
    const char *known[TYPES + 1] = {NULL};
    char hint[256] = "these are known:";
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].name, name) == 0) return *type = types[i], PW_OK;
        known[i] = types[i].name;
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", types[i].name);
    }
    const char *near = pw_nearest(known, name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no data type '%.100s'", name);
}

pw_status pw_sweep_size(const char *option, const char *text, int64_t *bytes, pw_error *error) {
    static const char suffixes[] = "KMGT";
    const char *end;
    double value;
    if (!pw_text_number(text, &end, &value) || value < 0) end = text;
    for (int i = 0; end > text && *end && suffixes[i]; i++)
        if ((*end & ~0x20) == suffixes[i]) {
            value *= (double)(INT64_C(1) << (10 * (i + 1)));
            end++;
            break;
        }
    if (end == text || *end || value > 0x1p50 || value != (double)(int64_t)value)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write 8, 512K, 64M or 16G: K, M, G and T are powers of 1024",
                       "--%s takes a size in bytes, not '%.100s'", option, text);
    *bytes = (int64_t)value;
    return PW_OK;
}

static int64_t round_down(int64_t bytes, const pw_sweep_test *test, uint32_t members, int type_bytes) {
    int64_t count = bytes / type_bytes;
    if (!test->parts) return count * type_bytes;
    return count / members / (PART_BYTES / type_bytes) * PART_BYTES * members;
}

static pw_status check_range(const pw_sweep_range *range, pw_error *error) {
    if (range->least > range->most)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "--minbytes (-b) is the smaller one",
                       "the sizes run from %lld down to %lld bytes", (long long)range->least, (long long)range->most);
    if (range->factor == 0 && range->step < 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --step 1M", "the step between sizes is 0 bytes");
    if (range->factor == 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write -f 2, or --step 1M", "sizes times 1 never grow");
    if (range->factor > 1 && range->least < 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write -b 8", "sizes that start at 0 bytes never grow by a factor");
    return PW_OK;
}

pw_status pw_sweep_sizes(const pw_sweep_range *range, const pw_sweep_test *test, uint32_t members, int type_bytes,
                         pw_arena *arena, int64_t **sizes, uint32_t *count, pw_error *error) {
    if (test->kind != PW_COLLECTIVE_BARRIER) PW_TRY(check_range(range, error));
    *count = 0;
    *sizes = pw_arena_alloc(arena, (MOST_ROWS + 1) * sizeof **sizes);
    if (!*sizes) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    if (test->kind == PW_COLLECTIVE_BARRIER) { /* moves nothing */
        (*sizes)[(*count)++] = 0;
        return PW_OK;
    }
    for (int64_t bytes = range->least; bytes <= range->most;) {
        int64_t rounded = round_down(bytes, test, members, type_bytes);
        if (*count == MOST_ROWS)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take a larger step", "the sweep has more than %d sizes", MOST_ROWS);
        if (rounded > 0 && (*count == 0 || (*sizes)[*count - 1] != rounded)) (*sizes)[(*count)++] = rounded;
        bytes = range->factor ? bytes * range->factor : bytes + range->step;
    }
    if (*count) return PW_OK;
    char hint[128];
    snprintf(hint, sizeof hint, "give at least %lld bytes", (long long)(test->parts ? (int64_t)PART_BYTES * members : type_bytes));
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "no size up to %lld bytes can be split over %u ranks",
                   (long long)range->most, members);
}
