#include "models/workload/replay/replay.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/replay/trace.h"

static const char *const format_names[] = {"chakra", "goal", NULL};

#define AT(field) offsetof(pw_replay_desc, field)
static const pw_field replay_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", .text = "Name of the job, for reports."},
    {"trace", PW_FIELD_TEXT, PW_UNIT_NONE, AT(trace), 0, 0, NULL,
     .text = "File of the trace, beside the scenario or below; chakra: one for each rank, \"%r\" stands for its number."},
    {"format", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(format), 0, 0, "chakra", format_names,
     .text = "chakra: execution traces in JSON or (.et) protobuf; goal: a schedule of all ranks, as LogGOPSim reads it."},
    {"ranks", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(ranks), 0, 1048576, "0",
     .text = "Number of ranks (GPUs); chakra needs it, goal says it in the file."},
    {"groups", PW_FIELD_TEXT, PW_UNIT_NONE, AT(groups), 0, 0, "",
     .text = "chakra: a JSON file of process groups, {\"name\": [ranks]}; collectives without one are among all ranks."},
    {"time_scale", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(time_scale), 1e-6, 1e6, "1",
     .text = "Factor on the times of computations that the trace holds."},
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "bf16", pw_precision_names,
     .text = "Number format of computations of which the trace has operations and bytes instead of a time."},
    {NULL}};
#undef AT

static pw_status check_replay(const void *description, const char *file, int line, pw_error *error) {
    const pw_replay_desc *desc = description;
    if (desc->format == PW_REPLAY_CHAKRA && desc->ranks < 1)
        return pw_fail(error, PW_BAD_INPUT, file, line, "a Chakra trace is one file for each rank", "replay.ranks is missing");
    if (desc->format == PW_REPLAY_CHAKRA && desc->ranks > 1 && desc->trace && !strstr(desc->trace, "%r"))
        return pw_fail(error, PW_BAD_INPUT, file, line, "write for example trace = \"trace.%r.json\"",
                       "replay.trace does not say where the number of the rank stands");
    if (desc->format == PW_REPLAY_GOAL && (desc->groups || desc->ranks))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "replay.%s is not for goal", desc->groups ? "groups" : "ranks");
    return PW_OK;
}

const pw_kind pw_replay_kind = {"replay", "A recorded or scheduled program (Chakra, GOAL), run on the cluster.",
                                sizeof(pw_replay_desc), replay_fields, check_replay};

/* ---- Paths ---- */

/* folder of `file` + name, with %r replaced; a name must not lead out of the folder. */
static pw_status resolve(const char *file, int line, const char *name, int64_t rank, char *path, pw_error *error) {
    const char *slash = strrchr(file, '/'), *mark = strstr(name, "%r");
    char folder[PATH_MAX], number[32] = "", real_path[PATH_MAX], real_folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) + 1 : 0, file);
    if (mark) snprintf(number, sizeof number, "%lld", (long long)rank);
    int length = snprintf(path, PATH_MAX, "%s%.*s%s%s", *name == '/' ? "" : folder, mark ? (int)(mark - name) : (int)strlen(name), name,
                          number, mark ? mark + 2 : "");
    if (length >= PATH_MAX) return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "replay.trace is too long");
    if (!realpath(path, real_path)) return PW_OK; /* there is none: reading it says so */
    size_t inside = realpath(*folder ? folder : ".", real_folder) ? strlen(real_folder) : 0;
    if (inside && (inside == 1 || (strncmp(real_path, real_folder, inside) == 0 && real_path[inside] == '/'))) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "copy it beside the scenario or below", "'%.300s' lies outside the folder of the scenario",
                   name);
}

/* ---- Reading ---- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static pw_status read_chakra(trace *t, const pw_replay_desc *desc, const char *file, int line) {
    char path[PATH_MAX];
    uint32_t ranks = t->ranks = (uint32_t)desc->ranks;
    t->files = pw_arena_alloc(t->arena, ranks * sizeof *t->files);
    t->first = pw_arena_alloc(t->arena, ((size_t)ranks + 1) * sizeof *t->first);
    uint32_t *all = pw_arena_alloc(t->arena, ranks * sizeof *all);
    if (!t->files || !t->first || !all) return trace_no_memory(t);
    for (uint32_t rank = 0; rank < ranks; rank++) all[rank] = rank;
    PW_TRY(trace_group_add(t, "0", all, ranks, NULL));
    if (desc->groups) {
        PW_TRY(resolve(file, line, desc->groups, 0, path, t->error));
        PW_TRY(trace_read_groups(t, path));
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        PW_TRY(resolve(file, line, desc->trace, rank, path, t->error));
        t->files[rank] = pw_arena_text(t->arena, path);
        if (!t->files[rank]) return trace_no_memory(t);
        t->first[rank] = (uint32_t)t->node_count;
        PW_TRY(ends_with(path, ".et") ? trace_read_chakra_et(t, path, rank) : trace_read_chakra(t, path, rank));
        PW_TRY(trace_resolve(t, rank));
    }
    return PW_OK;
}

static pw_status read_goal(trace *t, const pw_replay_desc *desc, const char *file, int line) {
    char path[PATH_MAX];
    PW_TRY(resolve(file, line, desc->trace, 0, path, t->error));
    return trace_read_goal(t, path);
}

/* ---- Run ---- */

static pw_status check_cluster(const trace *t, const pw_cluster *cluster, const pw_replay_desc *desc, const char *file, int line) {
    const pw_device *device = pw_cluster_device(cluster);
    if (t->ranks > pw_cluster_gpus(cluster))
        return pw_fail(t->error, PW_BAD_INPUT, file, line, "take a larger cluster", "replay.trace has %u ranks, the cluster %u GPUs",
                       t->ranks, pw_cluster_gpus(cluster));
    for (size_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].kind == TRACE_COMPUTE && isnan(t->nodes[i].seconds) && !(device->peak_flops[desc->precision] > 0))
            return pw_fail(t->error, PW_BAD_INPUT, file, line, NULL, "replay.precision: %s has no %s arithmetic", device->name,
                           pw_precision_names[desc->precision]);
    return PW_OK;
}

static void count(const trace *t, pw_replay_result *result) {
    result->ranks = t->ranks;
    result->nodes = (double)t->node_count;
    for (size_t i = 0; i < t->node_count; i++) {
        const trace_node *node = &t->nodes[i];
        if (node->kind == TRACE_SEND) result->messages++, result->message_bytes += node->bytes;
        if (node->kind == TRACE_COMPUTE && isnan(node->seconds)) result->roofline_nodes++;
    }
    for (uint32_t g = 0; g < t->group_count; g++) result->collectives += t->groups[g].collectives;
}

typedef struct replay {
    trace trace;
    pw_cluster *cluster;
    pw_collectives *collectives;
} replay;

static pw_status run(replay *r, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_replay_desc *desc, const pw_replay_options *options, const char *file, int line, pw_arena *arena,
                     pw_replay_result *result, pw_error *error) {
    trace *t = &r->trace;
    pw_job *job;
    PW_TRY(pw_description_check(&pw_replay_kind, desc, file, line, error));
    PW_TRY(desc->format == PW_REPLAY_GOAL ? read_goal(t, desc, file, line) : read_chakra(t, desc, file, line));
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &r->cluster, error));
    PW_TRY(pw_cluster_need_equal(r->cluster, "a replayed trace", error));
    PW_TRY(check_cluster(t, r->cluster, desc, file, line));
    PW_TRY(trace_order(t));
    double *compute_s = pw_arena_alloc(arena, ((size_t)t->ranks + 1) * sizeof *compute_s);
    if (!compute_s) return trace_no_memory(t);
    PW_TRY(trace_lower(t, pw_cluster_device(r->cluster), desc, arena, &job, compute_s));
    PW_TRY(pw_collectives_create(allocator, catalogue, r->cluster, !options->plain, &r->collectives, error));
    pw_session_config config = {.allocator = allocator, .cluster = r->cluster, .collectives = r->collectives, .clock_ratio = 1,
                                .seed = options->seed, .unfolded = true, .messages = options->messages,
                                .interrupt = options->interrupt, .sinks = options->sinks, .sink_count = options->sink_count,
                                .runner = options->runner};
    PW_TRY(pw_session_run(&config, job, arena, &result->session, error));
    result->device = pw_cluster_device(r->cluster);
    result->compute_s = compute_s;
    count(t, result);
    return PW_OK;
}

pw_status pw_replay_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                        const pw_replay_desc *desc, const pw_replay_options *options, const char *file, int line, pw_arena *arena,
                        pw_replay_result *result, pw_error *error) {
    pw_error own = {0};
    memset(result, 0, sizeof *result);
    if (!allocator) allocator = pw_allocator_default();
    replay r = {.trace = {.allocator = allocator, .error = error ? error : &own}};
    r.trace.arena = arena; /* names of groups go into the job */
    pw_status status = run(&r, allocator, catalogue, cluster, desc, options, file, line, arena, result, r.trace.error);
    trace *t = &r.trace;
    pw_free(allocator, t->order, (t->node_count + 1) * sizeof *t->order);
    pw_free(allocator, t->nodes, t->node_capacity * sizeof *t->nodes);
    pw_free(allocator, t->needs, t->need_capacity * sizeof *t->needs);
    if (r.collectives) pw_collectives_destroy(r.collectives);
    if (r.cluster) pw_cluster_destroy(r.cluster);
    return status;
}
