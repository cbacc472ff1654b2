/* Which nodes each job of a list gets. Jobs that say where (first_node, node_list) are placed first, the others in order on
 * what is free; one that takes all that is left comes last. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/jobs/job_on.h"
#include "sim/random.h"

typedef struct placing {
    const pw_cluster *cluster;
    uint64_t seed;
    pw_arena *arena;
    pw_placed_job *jobs;
    uint32_t count, nodes, free;
    uint32_t *taken; /* [nodes]: 1 + job */
} placing;

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to place jobs");
}

static pw_status take(placing *p, uint32_t job, uint32_t at, int64_t node, pw_error *error) {
    if (node < 0 || node >= p->nodes)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "nodes are numbered from 0", "scenario.jobs[%u]: the cluster has no node %" PRId64
                       ", only %u", job + 1, node, p->nodes);
    if (p->taken[node])
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a node serves one job", "scenario.jobs[%u]: node %" PRId64 " is taken by \"%s\"%s",
                       job + 1, node, p->jobs[p->taken[node] - 1].name, p->taken[node] == job + 1 ? " itself" : "");
    p->taken[node] = job + 1;
    p->free--;
    p->jobs[job].nodes[at] = (uint32_t)node;
    return PW_OK;
}

static pw_status take_in_order(placing *p, uint32_t job, pw_error *error) {
    const pw_job_on_desc *d = &p->jobs[job].desc;
    uint32_t at = 0;
    int64_t step = d->placement == PW_PLACE_STRIDED ? d->stride : 1;
    int64_t node = d->first_node;
    if (node < 0)
        for (node = 0; node < p->nodes && p->taken[node];) node++;
    for (; at < p->jobs[job].node_count; node += step) {
        if (step == 1 && d->first_node < 0 && node < p->nodes && p->taken[node]) continue;
        PW_TRY(take(p, job, at++, node, error));
    }
    return PW_OK;
}

/* The switch that a node hangs at; PW_NONE: none. */
static pw_vertex leaf_of(const pw_cluster *cluster, uint32_t node) {
    uint32_t per_node = pw_cluster_gpus_per_node(cluster), other = node ? 0 : 1;
    uint32_t a = pw_cluster_port(cluster, node * per_node, 0), b = pw_cluster_port(cluster, other * per_node, 0);
    pw_path path = {0};
    if (!pw_cluster_network(cluster) || a == PW_NONE || b == PW_NONE ||
        pw_network_route(pw_cluster_network(cluster), a, b, 0, &path) != PW_OK || path.count == 0)
        return PW_NONE;
    return pw_fabric_link(pw_cluster_fabric(cluster), path.links[0])->to;
}

typedef struct turn { uint32_t round, leaf, node; } turn;

static int compare_turns(const void *left, const void *right) {
    const turn *a = left, *b = right;
    if (a->round != b->round) return a->round < b->round ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The k-th free node of every leaf comes before the k + 1st of any; what was chosen is listed in order. */
static pw_status take_spread(placing *p, uint32_t job, pw_error *error) {
    uint32_t vertices = pw_fabric_vertices(pw_cluster_fabric(p->cluster)), count = 0;
    turn *turns = pw_arena_alloc(p->arena, (p->nodes + (size_t)1) * sizeof *turns);
    uint32_t *seen = pw_arena_alloc(p->arena, (vertices + (size_t)1) * sizeof *seen);
    if (!turns || !seen) return no_memory(error);
    for (uint32_t n = 0; n < p->nodes; n++) {
        pw_vertex leaf = leaf_of(p->cluster, n);
        if (!p->taken[n]) turns[count++] = (turn){seen[leaf == PW_NONE ? vertices : leaf]++, leaf, n};
    }
    qsort(turns, count, sizeof *turns, compare_turns);
    uint32_t wanted = p->jobs[job].node_count;
    for (uint32_t at = 0; at < wanted; at++) PW_TRY(take(p, job, at, turns[at].node, error));
    qsort(p->jobs[job].nodes, wanted, sizeof *p->jobs[job].nodes, compare_numbers);
    return PW_OK;
}

static pw_status take_fragmented(placing *p, uint32_t job, pw_error *error) {
    uint32_t *nodes = pw_arena_alloc(p->arena, (p->nodes + (size_t)1) * sizeof *nodes), count = 0;
    if (!nodes) return no_memory(error);
    for (uint32_t n = 0; n < p->nodes; n++)
        if (!p->taken[n]) nodes[count++] = n;
    pw_random random = pw_random_stream(p->seed, "placement", job);
    uint32_t wanted = p->jobs[job].node_count;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t j = i + (uint32_t)pw_random_below(&random, count - i), kept = nodes[i];
        nodes[i] = nodes[j];
        nodes[j] = kept;
    }
    qsort(nodes, wanted, sizeof *nodes, compare_numbers);
    for (uint32_t at = 0; at < wanted; at++) PW_TRY(take(p, job, at, nodes[at], error));
    return PW_OK;
}

static pw_status place(placing *p, uint32_t job, pw_error *error) {
    pw_placed_job *to = &p->jobs[job];
    const pw_job_on_desc *d = &to->desc;
    uint32_t count = d->node_list.items ? d->node_list.count : d->nodes ? (uint32_t)d->nodes : p->free;
    if (count > p->free || count == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0,
                       count ? "give the jobs fewer nodes, or the cluster more" : "say how many each gets: o.job_on { nodes = 4, job = ... }",
                       "scenario.jobs[%u]: \"%s\" needs %u node%s, %u of %u are free", job + 1, to->name, count ? count : 1,
                       count > 1 ? "s" : "", p->free, p->nodes);
    to->nodes = pw_arena_alloc(p->arena, count * sizeof *to->nodes);
    if (!to->nodes) return no_memory(error);
    to->node_count = count;
    if (d->node_list.items) {
        for (uint32_t at = 0; at < count; at++) PW_TRY(take(p, job, at, ((const int64_t *)d->node_list.items)[at], error));
    } else if (d->placement == PW_PLACE_SPREAD) {
        PW_TRY(take_spread(p, job, error));
    } else if (d->placement == PW_PLACE_FRAGMENTED) {
        PW_TRY(take_fragmented(p, job, error));
    } else {
        PW_TRY(take_in_order(p, job, error));
    }
    uint32_t per_node = pw_cluster_gpus_per_node(p->cluster);
    to->gpus = pw_arena_alloc(p->arena, (size_t)count * per_node * sizeof *to->gpus);
    if (!to->gpus) return no_memory(error);
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t g = 0; g < per_node; g++) to->gpus[n * per_node + g] = to->nodes[n] * per_node + g;
    return PW_OK;
}

/* Whoever says where comes first, whoever takes the rest last. */
static int urgency(const pw_job_on_desc *d) {
    if (d->node_list.items || d->first_node >= 0) return 0;
    return d->nodes ? 1 : 2;
}

static pw_status name_jobs(placing *p, pw_error *error) {
    for (uint32_t j = 0; j < p->count; j++) {
        pw_placed_job *to = &p->jobs[j];
        char text[120];
        to->name = to->desc.name;
        if (!to->name || !*to->name) {
            snprintf(text, sizeof text, "%s %u", to->kind->kind->name, j + 1);
            to->name = pw_arena_text(p->arena, text);
        }
        if (!to->name) return no_memory(error);
        for (uint32_t k = 0; k < j; k++)
            if (strcmp(p->jobs[k].name, to->name) == 0)
                return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give each its own", "scenario.jobs[%u]: two jobs are called \"%.100s\"", j + 1,
                               to->name);
    }
    return PW_OK;
}

pw_status pw_jobs_place(const pw_cluster *cluster, pw_list jobs, uint64_t seed, pw_arena *arena, pw_placed_job **placed,
                        pw_error *error) {
    placing p = {.cluster = cluster, .seed = seed, .arena = arena, .count = jobs.count, .nodes = pw_cluster_nodes(cluster)};
    p.free = p.nodes;
    p.jobs = *placed = pw_arena_alloc(arena, (jobs.count + (size_t)1) * sizeof *p.jobs);
    p.taken = pw_arena_alloc(arena, (p.nodes + (size_t)1) * sizeof *p.taken);
    if (!p.jobs || !p.taken) return no_memory(error);
    PW_TRY(pw_cluster_need_equal(cluster, "a scenario with several jobs", error));
    const pw_one_of *items = jobs.items;
    for (uint32_t j = 0; j < jobs.count; j++) {
        pw_placed_job *to = &p.jobs[j];
        if (items[j].kind == &pw_job_on_kind) {
            to->desc = *(const pw_job_on_desc *)items[j].record;
        } else {
            PW_TRY(pw_description_defaults(&pw_job_on_kind, &to->desc, arena, error));
            to->desc.job = items[j];
        }
        to->kind = pw_job_kind_of(to->desc.job.kind);
        to->is_endless = to->desc.forever || to->kind->is_endless;
        if (to->kind->is_endless && to->desc.steps != 1)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "scenario.jobs[%u]: job_on.steps of a job that never ends", j + 1);
    }
    PW_TRY(name_jobs(&p, error));
    for (int when = 0; when < 3; when++)
        for (uint32_t j = 0; j < jobs.count; j++)
            if (urgency(&p.jobs[j].desc) == when) PW_TRY(place(&p, j, error));
    return PW_OK;
}
