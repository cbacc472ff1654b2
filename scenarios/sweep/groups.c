/* Which GPUs take part in a sweep. */
#include <stdio.h>
#include <string.h>

#include "scenarios/sweep/sweep.h"
#include "sim/registry.h"
#include "sim/text.h"

const char *const pw_sweep_group_words[] = {"all", "one-per-node", "each-node", "each-domain", "each-rail", NULL};

typedef struct reading {
    const pw_cluster *cluster;
    const char *text;
    uint32_t gpus; /* of the cluster */
    pw_sweep_groups *groups;
    bool *taken;   /* by GPU */
    uint32_t total;
    pw_error *error;
} reading;

static pw_status wrong(reading *r, const char *hint) {
    return pw_fail(r->error, PW_BAD_INPUT, NULL, 0,
                   hint ? hint : "write all, one-per-node, each-node, each-domain, each-rail, 16, 0-7,16-23 or 0-63:8",
                   "--ranks cannot be '%.100s'", r->text);
}

static pw_status take(reading *r, int64_t gpu) {
    if (gpu >= r->gpus)
        return pw_fail(r->error, PW_BAD_INPUT, NULL, 0, "GPUs are numbered from 0, node after node",
                       "--ranks names GPU %lld of a cluster of %u", (long long)gpu, r->gpus);
    if (r->taken[gpu])
        return pw_fail(r->error, PW_BAD_INPUT, NULL, 0, "a GPU takes part once", "--ranks names GPU %lld twice", (long long)gpu);
    r->taken[gpu] = true;
    r->groups->gpus[r->total++] = (uint32_t)gpu;
    return PW_OK;
}

/* "8", "0-7", "0-63:8"; *text is set behind it. */
static pw_status take_item(reading *r, const char **text) {
    int64_t from, to, stride = 1;
    const char *at = *text;
    if (*at < '0' || *at > '9' || !pw_text_integer(at, &at, &from)) return wrong(r, NULL);
    to = from;
    if (*at == '-' && (at[1] < '0' || at[1] > '9' || !pw_text_integer(at + 1, &at, &to))) return wrong(r, NULL);
    if (*at == ':' && (at[1] < '0' || at[1] > '9' || !pw_text_integer(at + 1, &at, &stride))) return wrong(r, NULL);
    if (to < from || stride < 1) return wrong(r, "a range runs upwards: 0-63, or 0-63:8 for every eighth");
    for (int64_t gpu = from; gpu <= to; gpu += stride) PW_TRY(take(r, gpu));
    *text = at;
    return PW_OK;
}

static pw_status take_list(reading *r) {
    const char *at = r->text;
    uint32_t before = 0;
    for (;; at++) {
        PW_TRY(take_item(r, &at));
        if (*at == ',') continue;
        if (*at && *at != '/') return wrong(r, NULL);
        uint32_t size = r->total - before;
        if (r->groups->count > 0 && size != r->groups->size)
            return pw_fail(r->error, PW_UNSUPPORTED, NULL, 0, "groups that run at once have one size, so that a row has one",
                           "--ranks names groups of %u and of %u", r->groups->size, size);
        r->groups->size = size;
        r->groups->count++;
        before = r->total;
        if (!*at) return PW_OK;
    }
}

/* GPUs in a row of which `of` says the same are a group; one: only the first of each, all in one group. */
static pw_status take_runs(reading *r, uint32_t (*of)(const pw_cluster *cluster, uint32_t gpu), bool one, const char *what) {
    uint32_t size = 0;
    for (uint32_t gpu = 0; gpu < r->gpus; gpu++) {
        bool starts = gpu == 0 || of(r->cluster, gpu) != of(r->cluster, gpu - 1);
        bool ends = gpu + 1 == r->gpus || of(r->cluster, gpu) != of(r->cluster, gpu + 1);
        if (starts || !one) PW_TRY(take(r, gpu));
        size = starts ? 1 : size + 1;
        if (one || !ends) continue;
        if (r->groups->count++ > 0 && size != r->groups->size)
            return pw_fail(r->error, PW_UNSUPPORTED, NULL, 0, "list the groups: 0-7/8-15",
                           "not every %s has as many GPUs, and groups that run at once have one size", what);
        r->groups->size = size;
    }
    if (one) *r->groups = (pw_sweep_groups){r->groups->gpus, 1, r->total};
    return PW_OK;
}

/* GPU g of every node is group g. */
static pw_status take_rails(reading *r) {
    uint32_t per_node = pw_cluster_gpus_per_node(r->cluster), nodes = pw_cluster_nodes(r->cluster);
    PW_TRY(pw_cluster_need_equal(r->cluster, "--ranks each-rail", r->error));
    for (uint32_t rail = 0; rail < per_node; rail++)
        for (uint32_t node = 0; node < nodes; node++) PW_TRY(take(r, (int64_t)node * per_node + rail));
    *r->groups = (pw_sweep_groups){r->groups->gpus, per_node, nodes};
    return PW_OK;
}

static pw_status take_first(reading *r, uint32_t count) {
    for (uint32_t gpu = 0; gpu < count; gpu++) PW_TRY(take(r, gpu));
    *r->groups = (pw_sweep_groups){r->groups->gpus, 1, count};
    return PW_OK;
}

static pw_status read_groups(reading *r) {
    const char *text = r->text, *end;
    int64_t first;
    if (strcmp(text, "all") == 0) return take_first(r, r->gpus);
    if (strcmp(text, "one-per-node") == 0) return take_runs(r, pw_cluster_node_of, true, "node");
    if (strcmp(text, "each-node") == 0) return take_runs(r, pw_cluster_node_of, false, "node");
    if (strcmp(text, "each-domain") == 0) return take_runs(r, pw_cluster_domain_of, false, "NVLink domain");
    if (strcmp(text, "each-rail") == 0) return take_rails(r);
    if (pw_text_integer(text, &end, &first) && !*end) {
        if (first < 1) return wrong(r, "a number alone is a count: 16 is the first 16 GPUs");
        if (first > r->gpus)
            return pw_fail(r->error, PW_BAD_INPUT, NULL, 0, "give the cluster more nodes with --nodes",
                           "--ranks wants %lld GPUs of a cluster of %u", (long long)first, r->gpus);
        return take_first(r, (uint32_t)first);
    }
    if (*text < '0' || *text > '9') {
        const char *near = pw_nearest(pw_sweep_group_words, text);
        char hint[96];
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
        return wrong(r, near ? hint : NULL);
    }
    return take_list(r);
}

pw_sweep_place pw_sweep_place_of(const pw_cluster *cluster, uint32_t gpu) {
    pw_cluster_part part = pw_cluster_get_part(cluster, pw_cluster_part_of(cluster, gpu));
    return (pw_sweep_place){pw_cluster_node_of(cluster, gpu), (gpu - part.first_gpu) % part.gpus_per_node, part.device->name};
}

pw_status pw_sweep_parse_groups(const pw_cluster *cluster, const char *text, pw_arena *arena, pw_sweep_groups *groups,
                                pw_error *error) {
    reading r = {.cluster = cluster, .text = text, .gpus = pw_cluster_gpus(cluster), .groups = groups, .error = error};
    *groups = (pw_sweep_groups){.gpus = pw_arena_alloc(arena, (r.gpus + (size_t)1) * sizeof *groups->gpus)};
    r.taken = pw_arena_alloc(arena, r.gpus + (size_t)1);
    if (!groups->gpus || !r.taken) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(read_groups(&r));
    if (groups->size < 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "let two or more GPUs take part", "a group of one GPU has nothing to send");
    return PW_OK;
}
