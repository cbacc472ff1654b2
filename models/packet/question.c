/* Runs a question: builds the cluster, makes the flows, fills in what was left out, runs the modes, and sums up. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/packet/question.h"
#include "sim/stats.h"

typedef struct asked {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    const pw_question_desc *desc;
    pw_cluster *cluster;
    pw_packet_config config;
    const char *file;
    int line;
    pw_arena *arena;
    pw_question_result *result;
    pw_error *error;
} asked;

static pw_status route_ports(const void *object, uint32_t from, uint32_t to, uint64_t hash, pw_path *path) {
    return pw_network_route(object, from, to, hash, path);
}
static pw_status route_gpus(const void *object, uint32_t from, uint32_t to, uint64_t hash, pw_path *path) {
    return pw_cluster_route(object, from, to, hash, path);
}

static pw_status set_ends(asked *q) {
    q->config.fabric = pw_cluster_fabric(q->cluster);
    if (q->desc->between == PW_QUESTION_GPUS) {
        q->config.route = route_gpus;
        q->config.route_object = q->cluster;
        q->config.ends = pw_cluster_gpus(q->cluster);
        return PW_OK;
    }
    const pw_network *network = pw_cluster_network(q->cluster);
    if (!network)
        return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, "add nodes, or ask between = \"gpus\"", "traffic.between is ports, but one node has no network");
    q->config.route = route_ports;
    q->config.route_object = network;
    for (uint32_t p = 0; p < pw_cluster_parts(q->cluster); p++) {
        const pw_cluster_part part = pw_cluster_get_part(q->cluster, p);
        q->config.ends += part.nodes * part.nics_per_node;
    }
    return PW_OK;
}

/* --- Traffic ------------------------------------------------------------------------------------------------------ */

static pw_status find_collective(const asked *q, int *kind, const pw_algorithm **algorithm) {
    const char *name = q->desc->algorithm && *q->desc->algorithm ? q->desc->algorithm : "ring", *nearest;
    for (*kind = 0; pw_collective_names[*kind] && strcmp(pw_collective_names[*kind], q->desc->collective); ++*kind) {}
    if (!pw_collective_names[*kind]) {
        nearest = pw_nearest(pw_collective_names, q->desc->collective);
        return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, nearest ? nearest : "all_reduce, for one", "traffic.collective: no kind is called '%s'",
                       q->desc->collective);
    }
    for (*algorithm = pw_algorithm_table; (*algorithm)->name && strcmp((*algorithm)->name, name); ++*algorithm) {}
    if ((*algorithm)->name) return PW_OK;
    nearest = pw_nearest(pw_algorithm_names, name);
    return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, nearest ? nearest : "ring, for one", "traffic.algorithm: none is called '%s'", name);
}

static pw_status make_collective(asked *q) {
    int kind;
    const pw_algorithm *algorithm = NULL;
    PW_TRY(find_collective(q, &kind, &algorithm));
    uint32_t members = q->desc->pattern.ends ? (uint32_t)q->desc->pattern.ends : q->config.ends;
    if (members < 2 || members > q->config.ends)
        return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, NULL, "traffic.ends: %u members of %u GPUs", members, q->config.ends);
    uint32_t *gpus = pw_arena_alloc(q->arena, members * sizeof *gpus);
    if (!gpus) return pw_fail(q->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for %u GPUs", members);
    for (uint32_t g = 0; g < members; g++) gpus[g] = g;
    pw_collectives *collectives;
    PW_TRY(pw_collectives_create(q->allocator, q->catalogue, q->cluster, false, &collectives, q->error));
    pw_group_shape shape;
    pw_status status = pw_collective_shape(collectives, gpus, members, &shape, q->error);
    pw_collectives_destroy(collectives);
    if (status != PW_OK) return status;
    if (!algorithm->applies((pw_collective_kind)kind, &shape, pw_cluster_has_multicast(q->cluster)))
        return pw_fail(q->error, PW_UNSUPPORTED, q->file, q->line, NULL, "traffic.algorithm %s does not do %s on this cluster", algorithm->name,
                       q->desc->collective);
    return pw_traffic_of_collective(algorithm, (pw_collective_kind)kind, &shape, q->desc->pattern.bytes, q->arena, &q->result->traffic, q->error);
}

static pw_status make_traffic(asked *q) {
    if (q->desc->collective && *q->desc->collective) return make_collective(q);
    pw_status status = pw_traffic_make(&q->desc->pattern, "traffic", q->config.ends, q->config.seed, q->arena, &q->result->traffic, q->error);
    if (status == PW_BAD_INPUT && q->error && q->error->line == 0 && q->file) {
        snprintf(q->error->file, sizeof q->error->file, "%s", q->file);
        q->error->line = q->line;
    }
    return status;
}

/* --- Figures left out --------------------------------------------------------------------------------------------- */

/* Bandwidth x round trip of a full packet on the longest way among the first flows, and the rate of its slowest link. */
static pw_status measure_path(asked *q, double *link_Bps) {
    enum { MOST_LOOKED_AT = 4096 };
    const pw_traffic *traffic = &q->result->traffic;
    double longest_s = -1;
    for (uint32_t f = 0; f < traffic->count && f < MOST_LOOKED_AT; f++) {
        const pw_flow *flow = &traffic->flows[f];
        pw_path path = {.count = 0};
        if (q->config.route(q->config.route_object, flow->from, flow->to, 0, &path) != PW_OK || path.count == 0)
            return pw_fail(q->error, PW_UNSUPPORTED, q->file, q->line, NULL, "there is no path from end %u to end %u", flow->from, flow->to);
        double latency_s = pw_path_latency_s(q->config.fabric, &path), trip_s = 2 * latency_s;
        if (latency_s <= longest_s) continue;
        longest_s = latency_s;
        *link_Bps = pw_path_bandwidth_Bps(q->config.fabric, &path);
        for (uint32_t l = 0; l < path.count; l++)
            if (q->desc->switches == 1 || l == 0) trip_s += q->desc->packet_bytes / pw_fabric_link(q->config.fabric, path.links[l])->bandwidth_Bps;
        q->result->round_trip_bytes = *link_Bps * trip_s;
    }
    return PW_OK;
}

static double given_or(double given, double otherwise) { return isnan(given) ? otherwise : given; }

static pw_status complete(asked *q) {
    const pw_question_desc *d = q->desc;
    pw_packet_desc *p = &q->result->packet_desc;
    double link_Bps = 0;
    PW_TRY(measure_path(q, &link_Bps));
    *p = pw_packet_defaults();
    p->transport = d->transport;
    p->cut_through = d->switches == 0;
    p->packet_bytes = d->packet_bytes;
    p->header_bytes = d->header_bytes;
    p->paths = d->paths;
    p->port_Bps = link_Bps;
    p->pfc = d->pfc == 1 || (d->pfc == 0 && d->transport != PW_TRANSPORT_CREDIT);
    if (d->transport == PW_TRANSPORT_DCQCN || p->pfc) {
        pw_packet_desc row = *p;
        pw_status status = pw_packet_read_dcqcn(q->catalogue, d->congestion_control, link_Bps, &row, q->error);
        if (status == PW_NOT_FOUND && q->error)
            return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, q->error->hint, "traffic.congestion_control: no row is called '%s'", d->congestion_control);
        PW_TRY(status);
        if (d->transport == PW_TRANSPORT_DCQCN) *p = row;
        p->pause_bytes = given_or(d->pause_bytes, row.pause_bytes);
        p->resume_bytes = given_or(d->resume_bytes, fmin(row.resume_bytes, p->pause_bytes));
        p->headroom_bytes = d->headroom_bytes;
        if (d->transport == PW_TRANSPORT_DCQCN) {
            p->mark_from = given_or(d->mark_from, p->mark_from);
            p->mark_to = given_or(d->mark_to, p->mark_to);
            p->mark_probability = given_or(d->mark_probability, p->mark_probability);
        }
    }
    p->buffer_bytes = given_or(d->buffer_bytes, INFINITY);
    if (d->transport == PW_TRANSPORT_CREDIT) {
        PW_TRY(pw_packet_read_credit(q->catalogue, q->result->round_trip_bytes, p, q->error));
        p->queue_bytes = given_or(d->queue_bytes, fmax(p->queue_bytes, 8 * p->packet_bytes));
        p->window_bytes = given_or(d->window_bytes, fmax(p->window_bytes, 8 * p->packet_bytes));
        p->pace = given_or(d->pace, p->pace);
    }
    return PW_OK;
}

/* --- Summing up --------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

static bool sum_times(const asked *q, const pw_packet_result *run, pw_question_times *times) {
    uint32_t flows = q->result->traffic.count;
    double *took_s = pw_arena_alloc(q->arena, flows * sizeof *took_s + 1);
    if (!took_s) return false;
    for (uint32_t f = 0; f < flows; f++) {
        took_s[f] = run->finish_s[f] - run->start_s[f];
        times->mean_s += took_s[f] / flows;
    }
    qsort(took_s, flows, sizeof *took_s, ascending);
    times->p50_s = pw_quantile(took_s, flows, 0.5);
    times->p99_s = pw_quantile(took_s, flows, 0.99);
    times->worst_s = took_s[flows - 1];
    times->last_s = run->end_s;
    return true;
}

static void compare(pw_question_result *r) {
    for (uint32_t f = 0; f < r->traffic.count; f++) {
        double flow_s = r->flow.finish_s[f] - r->flow.start_s[f], gap = fabs((r->packet.finish_s[f] - r->packet.start_s[f]) / flow_s - 1);
        r->mean_gap += gap / r->traffic.count;
        if (gap > r->worst_gap) r->worst_gap = gap;
    }
}

typedef struct busy {
    double bytes_per_capacity;
    pw_link link;
} busy;

static int busier(const void *a, const void *b) {
    const busy *one = a, *other = b;
    if (one->bytes_per_capacity != other->bytes_per_capacity) return one->bytes_per_capacity > other->bytes_per_capacity ? -1 : 1;
    return one->link < other->link ? -1 : one->link > other->link;
}

/* "leaf 3": the number counts vertices of its kind. */
static const char *link_name(const asked *q, const uint32_t *ordinal, pw_link link) {
    const pw_link_info *info = pw_fabric_link(q->config.fabric, link);
    char text[120];
    snprintf(text, sizeof text, "%s %u > %s %u", pw_vertex_kind_names[pw_fabric_vertex_kind(q->config.fabric, info->from)], ordinal[info->from],
             pw_vertex_kind_names[pw_fabric_vertex_kind(q->config.fabric, info->to)], ordinal[info->to]);
    return pw_arena_text(q->arena, text);
}

static bool sum_links(asked *q) {
    pw_question_result *r = q->result;
    uint32_t links = pw_fabric_links(q->config.fabric), vertices = pw_fabric_vertices(q->config.fabric), seen[PW_VERTEX_KIND_COUNT] = {0};
    busy *order = pw_arena_alloc(q->arena, links * sizeof *order + 1);
    uint32_t *ordinal = pw_arena_alloc(q->arena, vertices * sizeof *ordinal + 1);
    if (!order || !ordinal) return false;
    for (uint32_t v = 0; v < vertices; v++) ordinal[v] = seen[pw_fabric_vertex_kind(q->config.fabric, v)]++;
    for (pw_link l = 0; l < links; l++) {
        double bytes = r->has_packet ? r->packet.links[l].bytes : r->flow.links[l].bytes;
        order[l] = (busy){bytes / pw_fabric_link(q->config.fabric, l)->bandwidth_Bps, l};
        r->links_used += bytes > 0;
    }
    qsort(order, links, sizeof *order, busier);
    r->link_count = q->desc->links < r->links_used ? (uint32_t)q->desc->links : r->links_used;
    r->links = pw_arena_alloc(q->arena, r->link_count * sizeof *r->links + 1);
    if (!r->links) return false;
    for (uint32_t i = 0; i < r->link_count; i++) {
        pw_link l = order[i].link;
        double capacity_Bps = pw_fabric_link(q->config.fabric, l)->bandwidth_Bps;
        r->links[i] = (pw_question_link){.link = l, .name = link_name(q, ordinal, l), .flow_utilization = NAN, .packet_utilization = NAN};
        if (!r->links[i].name) return false;
        if (r->has_flow) r->links[i].flow_utilization = r->flow.links[l].bytes / capacity_Bps / r->flow.end_s;
        if (r->has_packet) {
            r->links[i].packet_utilization = r->packet.links[l].bytes / capacity_Bps / r->packet.end_s;
            r->links[i].packet = r->packet.links[l];
        }
    }
    if (r->has_packet && r->packet.fullest != PW_NONE) {
        r->fullest = link_name(q, ordinal, r->packet.fullest);
        if (!r->fullest) return false;
    }
    return true;
}

static pw_status place_of(const asked *q, pw_status status) { /* what the engine refuses is about the question */
    if (status != PW_OK && q->error && q->error->line == 0 && q->file && status != PW_INTERRUPTED && status != PW_NO_MEMORY) {
        snprintf(q->error->file, sizeof q->error->file, "%s", q->file);
        q->error->line = q->line;
    }
    return status;
}

static pw_status answer(asked *q) {
    pw_question_result *r = q->result;
    PW_TRY(set_ends(q));
    r->ends = q->config.ends;
    PW_TRY(make_traffic(q));
    if (r->traffic.count == 0) return pw_fail(q->error, PW_BAD_INPUT, q->file, q->line, NULL, "the traffic has no flows");
    PW_TRY(complete(q));
    r->has_flow = q->desc->mode != PW_QUESTION_PACKET;
    r->has_packet = q->desc->mode != PW_QUESTION_FLOW;
    if (r->has_flow) PW_TRY(place_of(q, pw_packet_run_fluid(&q->config, &r->packet_desc, &r->traffic, q->arena, &r->flow, q->error)));
    if (r->has_packet) PW_TRY(place_of(q, pw_packet_run(&q->config, &r->packet_desc, &r->traffic, q->arena, &r->packet, q->error)));
    bool made = (!r->has_flow || sum_times(q, &r->flow, &r->flow_times)) && (!r->has_packet || sum_times(q, &r->packet, &r->packet_times)) && sum_links(q);
    if (!made) return pw_fail(q->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    if (r->has_flow && r->has_packet) compare(r);
    r->hash = r->flow.hash * 0x9e3779b97f4a7c15u ^ r->packet.hash;
    return PW_OK;
}

pw_status pw_question_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                          const pw_question_desc *desc, uint64_t seed, const volatile int *interrupt, const char *file, int line,
                          pw_arena *arena, pw_question_result *result, pw_error *error) {
    *result = (pw_question_result){0};
    asked q = {.allocator = allocator, .catalogue = catalogue, .desc = desc, .file = file, .line = line, .arena = arena, .result = result, .error = error,
               .config = {.allocator = allocator, .seed = seed, .interrupt = interrupt}};
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &q.cluster, error));
    result->device = pw_cluster_device(q.cluster);
    result->gpus = pw_cluster_gpus(q.cluster);
    pw_status status = answer(&q);
    pw_cluster_destroy(q.cluster);
    return status;
}
