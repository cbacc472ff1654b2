/* Flows at their hosts: when they start, which paths they have, whose packet a host sends next, when they end.
 *
 * A host's link serves the flows that have something to send in turn: what it serves next is the earliest entry of a heap by
 * (time, order). A transport decides when a flow's next packet may go. */
#include <stdlib.h>
#include <string.h>

#include "models/packet/engine.h"

/* --- Paths ------------------------------------------------------------------------------------------------------- */

/* As the hash of a packet's header: mixed from seed, flow and number of the path (SplitMix64's finaliser). */
uint64_t path_hash(uint64_t seed, uint32_t flow, uint32_t path) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (((uint64_t)flow << 32) | path) + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

pw_status path_of(const pw_packet_config *config, const pw_traffic *traffic, uint32_t flow, uint32_t number, pw_path *path, pw_error *error) {
    const pw_flow *f = &traffic->flows[flow];
    path->count = 0;
    pw_status status = config->route(config->route_object, f->from, f->to, path_hash(config->seed, flow, number), path);
    if (status != PW_OK) return pw_fail(error, status, NULL, 0, NULL, "there is no path from end %u to end %u", f->from, f->to);
    if (path->count == 0)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "flows between ends of one place need no network", "the path from end %u to end %u has no links",
                       f->from, f->to);
    return PW_OK;
}

static uint32_t *path_links(run *x, const flow_run *f, uint32_t path) {
    return x->hops + (size_t)f->block * x->block_hops + (size_t)path * x->stride + 1; /* behind the leading PW_NONE */
}

static bool block_take(run *x, flow_run *f) {
    if (x->block_free_count > 0) {
        f->block = x->block_free[--x->block_free_count];
        return true;
    }
    if (pw_grow(x->allocator, (void **)&x->hops, &x->hop_capacity, (size_t)(x->block_count + 1) * x->block_hops, sizeof *x->hops) ||
        pw_grow(x->allocator, (void **)&x->block_free, &x->block_free_capacity, x->block_count + (size_t)1, sizeof *x->block_free))
        return false;
    f->block = x->block_count++;
    return true;
}

static void block_release(run *x, flow_run *f) {
    x->block_free[x->block_free_count++] = f->block;
    f->block = PW_NONE;
}

static bool fill_paths(run *x, uint32_t index, pw_error *error) {
    flow_run *f = &x->flows[index];
    for (uint32_t k = 0; k < (uint32_t)x->desc->paths; k++) {
        pw_path path;
        if (path_of(x->config, x->traffic, index, k, &path, error) != PW_OK) return false;
        uint32_t *links = path_links(x, f, k);
        links[-1] = PW_NONE;
        memcpy(links, path.links, path.count * sizeof *links);
        links[path.count] = PW_NONE;
    }
    return true;
}

static uint32_t last_link(const uint32_t *links) {
    while (links[1] != PW_NONE) links++;
    return *links;
}

static void swap_paths(run *x, const flow_run *f, uint32_t a, uint32_t b) {
    uint32_t *one = path_links(x, f, a) - 1, *other = path_links(x, f, b) - 1;
    for (uint32_t i = 0; a != b && i < x->stride; i++) {
        uint32_t kept = one[i];
        one[i] = other[i];
        other[i] = kept;
    }
}

/* Sum of the rates of the different links with which the flow's paths begin, or end. */
static double rate_of_ends(run *x, const flow_run *f, bool first) {
    enum { MOST_ENDS = 64 };
    uint32_t known[MOST_ENDS], count = 0;
    double ticks_per_s = pw_sim_ticks_per_second(x->sim), sum = 0;
    for (uint32_t k = 0; k < (uint32_t)x->desc->paths && count < MOST_ENDS; k++) {
        uint32_t link = first ? *path_links(x, f, k) : last_link(path_links(x, f, k)), at = 0;
        while (at < count && known[at] != link) at++;
        if (at < count) continue;
        known[count++] = link;
        sum += ticks_per_s / x->ports[link].ticks_per_byte;
    }
    return sum;
}

/* What follows from the paths: lanes, times of a small packet, rates. */
static bool set_lanes(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    uint32_t paths = (uint32_t)x->desc->paths;
    f->lane_first = (uint32_t)x->lane_count;
    for (uint32_t first = 0; first < paths;) {
        uint32_t link = *path_links(x, f, first), end = first + 1;
        for (uint32_t k = end; k < paths; k++)
            if (*path_links(x, f, k) == link) swap_paths(x, f, k, end++);
        if (x->ports[link].injector == PW_NONE) {
            if (pw_grow(x->allocator, (void **)&x->injectors, &x->injector_capacity, x->injector_count + 1, sizeof *x->injectors)) return false;
            x->injectors[x->injector_count] = (injector){.link = link};
            x->ports[link].injector = (uint32_t)x->injector_count++;
        }
        if (pw_grow(x->allocator, (void **)&x->lanes, &x->lane_capacity, x->lane_count + 1, sizeof *x->lanes)) return false;
        uint32_t many = end - first;
        x->lanes[x->lane_count++] = (lane){.flow = index, .first_path = first, .paths = many, .injector = x->ports[link].injector,
                                           .turn = (uint32_t)(path_hash(x->config->seed, index, PW_NONE) % many)};
        first = end;
    }
    f->lane_count = (uint32_t)x->lane_count - f->lane_first;
    f->least = PW_TIME_MAX;
    for (uint32_t k = 0; k < paths; k++) {
        pw_time latency = 0;
        for (const uint32_t *link = path_links(x, f, k); *link != PW_NONE; link++) {
            latency += x->ports[*link].latency;
            if (k == 0) f->control += x->ports[*link].latency + service(&x->ports[*link], x->header_bytes);
        }
        if (latency < f->least) f->least = latency;
    }
    double out_Bps = rate_of_ends(x, f, true), in_Bps = rate_of_ends(x, f, false);
    f->ways_Bps = out_Bps < in_Bps ? out_Bps : in_Bps;
    f->receiver = last_link(path_links(x, f, 0));
    for (uint32_t k = 1; k < paths; k++) {
        uint32_t link = last_link(path_links(x, f, k));
        if (link < f->receiver) f->receiver = link;
    }
    f->grant_interval = pw_sim_ticks(x->sim, x->full_bytes / (in_Bps * x->desc->pace));
    return true;
}

/* --- Starts ------------------------------------------------------------------------------------------------------ */

static void start(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    pw_error error = {0};
    f->start = pw_sim_now(x->sim);
    f->started = true;
    if (!block_take(x, f) || (fill_paths(x, index, &error) && !set_lanes(x, index))) {
        pw_sim_fail(x->sim, PW_NO_MEMORY, "fewer flows or paths", "no memory for the paths of a flow");
        return;
    }
    if (error.status != PW_OK) {
        pw_sim_fail_with(x->sim, &error);
        return;
    }
    switch ((pw_transport)x->desc->transport) {
    case PW_TRANSPORT_CREDIT: credit_start(x, index); break;
    case PW_TRANSPORT_DCQCN:
        if (f->lane_count > 1) {
            pw_sim_fail(x->sim, PW_UNSUPPORTED, "use one path per flow", "the paths of a flow leave its host by %u links; a rate of DCQCN is for one",
                        f->lane_count);
            return;
        }
        dcqcn_start(x, index);
        break;
    case PW_TRANSPORT_LINE:
    default: flow_can_send(x, index, f->start);
    }
}

static void start_one(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    start(object, (uint32_t)index);
}

static void start_due(pw_sim *sim, void *object, uint64_t unused) {
    run *x = object;
    (void)unused;
    while (x->due_next < x->due_count && x->dues[x->due_next].at <= pw_sim_now(sim)) start(x, x->dues[x->due_next++].flow);
    if (x->due_next < x->due_count) pw_event_at(sim, x->dues[x->due_next].at, 0, start_due, x, 0);
}

void flows_begin(run *x) {
    if (x->due_count > 0) pw_event_at(x->sim, x->dues[0].at, 0, start_due, x, 0);
}

static int earlier(const void *a, const void *b) {
    const due *one = a, *other = b;
    if (one->at != other->at) return one->at < other->at ? -1 : 1;
    return one->flow < other->flow ? -1 : one->flow > other->flow;
}

/* --- Setting up -------------------------------------------------------------------------------------------------- */

static pw_status no_memory(pw_error *error, uint32_t flows) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for %u flows", flows);
}

static bool set_after(run *x) {
    const pw_traffic *t = x->traffic;
    uint32_t entries = t->before[t->count];
    x->after = pw_alloc_zero(x->allocator, (t->count + (size_t)2) * sizeof *x->after);
    x->after_list = pw_alloc(x->allocator, (entries + (size_t)1) * sizeof *x->after_list);
    if (!x->after || !x->after_list) return false;
    pw_traffic_turn(t, x->after, x->after_list);
    for (uint32_t f = 0; f < t->count; f++) x->flows[f].waits = t->before[f + 1] - t->before[f];
    return true;
}

static pw_status longest_path(run *x, uint32_t *longest, pw_error *error) {
    *longest = 0;
    for (uint32_t f = 0; f < x->traffic->count; f++)
        for (uint32_t k = 0; k < (uint32_t)x->desc->paths; k++) {
            pw_path path;
            PW_TRY(path_of(x->config, x->traffic, f, k, &path, error));
            if (path.count > *longest) *longest = path.count;
        }
    return PW_OK;
}

pw_status flows_open(run *x, pw_error *error) {
    const pw_traffic *t = x->traffic;
    bool rated = x->desc->transport == PW_TRANSPORT_DCQCN, credited = x->desc->transport == PW_TRANSPORT_CREDIT;
    x->flows = pw_alloc_zero(x->allocator, t->count * sizeof *x->flows + 1);
    x->dues = pw_alloc(x->allocator, t->count * sizeof *x->dues + 1);
    if (rated) x->rates = pw_alloc_zero(x->allocator, t->count * sizeof *x->rates + 1);
    if (credited) x->receivers = pw_alloc(x->allocator, x->port_count * sizeof *x->receivers + 1);
    if (!x->flows || !x->dues || (rated && !x->rates) || (credited && !x->receivers)) return no_memory(error, t->count);
    for (uint32_t r = 0; credited && r < x->port_count; r++) x->receivers[r] = (receiver){.asking = {PW_NONE, PW_NONE}};
    uint32_t longest;
    PW_TRY(longest_path(x, &longest, error));
    x->stride = longest + 2;
    x->block_hops = (size_t)x->desc->paths * x->stride;
    double payload = x->full_bytes - x->desc->header_bytes;
    for (uint32_t i = 0; i < t->count; i++) {
        const pw_flow *flow = &t->flows[i];
        double packets = flow->bytes / payload;
        if (!(packets < 2e9))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "packet by packet is for short questions; use the flow mode", "flow %u has %.3g packets", i, packets);
        uint32_t total = (uint32_t)packets;
        if (total < packets || total == 0) total++;
        double last = flow->bytes - (total - 1.0) * payload;
        x->flows[i] = (flow_run){.from = flow->from, .to = flow->to, .unsent = total - 1, .total = total, .last_unsent = true, .block = PW_NONE,
                                 .last_bytes = (uint32_t)(last + x->desc->header_bytes + 0.5)};
        if (x->flows[i].last_bytes == 0) x->flows[i].last_bytes = 1;
    }
    if (t->before && !set_after(x)) return no_memory(error, t->count);
    for (uint32_t i = 0; i < t->count; i++)
        if (x->flows[i].waits == 0) x->dues[x->due_count++] = (due){pw_sim_ticks(x->sim, t->flows[i].start_s), i};
    qsort(x->dues, x->due_count, sizeof *x->dues, earlier);
    x->left = t->count;
    return PW_OK;
}

/* --- Injection --------------------------------------------------------------------------------------------------- */

static bool before(const ready *a, const ready *b) { return a->at < b->at || (a->at == b->at && a->order < b->order); }

static void lane_push(run *x, uint32_t index, pw_time at) {
    lane *l = &x->lanes[index];
    injector *in = &x->injectors[l->injector];
    if (l->queued) return;
    if (pw_grow(x->allocator, (void **)&in->heap, &in->capacity, in->count + 1, sizeof *in->heap)) {
        pw_sim_fail(x->sim, PW_NO_MEMORY, NULL, "no memory for the flows of a host");
        return;
    }
    l->queued = true;
    ready added = {at, in->order++, index};
    size_t hole = in->count++;
    for (; hole > 0 && before(&added, &in->heap[(hole - 1) / 2]); hole = (hole - 1) / 2) in->heap[hole] = in->heap[(hole - 1) / 2];
    in->heap[hole] = added;
}

static uint32_t lane_pop(run *x, injector *in) {
    uint32_t taken = in->heap[0].lane;
    ready moved = in->heap[--in->count];
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < in->count; hole = child) {
        if (child + 1 < in->count && before(&in->heap[child + 1], &in->heap[child])) child++;
        if (!before(&in->heap[child], &moved)) break;
        in->heap[hole] = in->heap[child];
    }
    in->heap[hole] = moved;
    x->lanes[taken].queued = false;
    return taken;
}

pw_time injector_next(const run *x, uint32_t index) {
    const injector *in = &x->injectors[index];
    return in->count > 0 ? in->heap[0].at : PW_TIME_MAX;
}

static bool has_more(const run *x, const flow_run *f) {
    return (f->unsent > 0 || f->last_unsent) && (x->desc->transport != PW_TRANSPORT_CREDIT || f->credits > 0);
}

static uint32_t take_packet(run *x, uint32_t lane_index, pw_time now) {
    lane *l = &x->lanes[lane_index];
    flow_run *f = &x->flows[l->flow];
    uint32_t taken = packet_new(x);
    if (taken == PW_NONE) return PW_NONE;
    bool last = f->unsent == 0;
    if (last) f->last_unsent = false;
    else f->unsent--;
    const uint32_t *links = path_links(x, f, l->first_path + l->turn);
    if (++l->turn == l->paths) l->turn = 0;
    x->packets[taken] = (packet){.tail = now, .next = PW_NONE, .flow = l->flow, .hop = (uint32_t)(links - x->hops),
                                 .bytes = (last ? f->last_bytes : x->full_bytes) & PACKET_MOST, .flags = last ? PACKET_LAST : 0};
    x->sent++;
    pw_time next = now + service(&x->ports[*links], x->packets[taken].bytes); /* behind flows that became ready meanwhile */
    if (x->desc->transport == PW_TRANSPORT_CREDIT) f->credits--;
    else if (x->desc->transport == PW_TRANSPORT_DCQCN) next = dcqcn_sent(x, l->flow, x->packets[taken].bytes, now);
    if (has_more(x, f)) lane_push(x, lane_index, next);
    return taken;
}

uint32_t injector_take(run *x, uint32_t index, pw_time now) {
    injector *in = &x->injectors[index];
    while (in->count > 0 && in->heap[0].at <= now) {
        uint32_t lane_index = lane_pop(x, in);
        if (has_more(x, &x->flows[x->lanes[lane_index].flow])) return take_packet(x, lane_index, now);
    }
    return PW_NONE;
}

void flow_can_send(run *x, uint32_t index, pw_time at) {
    const flow_run *f = &x->flows[index];
    if (!has_more(x, f)) return;
    for (uint32_t l = f->lane_first; l < f->lane_first + f->lane_count; l++) {
        if (x->lanes[l].queued) continue;
        lane_push(x, l, at);
        port_kick(x, x->injectors[x->lanes[l].injector].link);
    }
}

/* --- Ends -------------------------------------------------------------------------------------------------------- */

static void finish(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    pw_time now = pw_sim_now(x->sim);
    double least_s = (x->traffic->flows[index].bytes * (1 - 1e-9)) / f->ways_Bps + pw_time_to_seconds(f->least, pw_sim_ticks_per_second(x->sim));
    PW_LAW(x->sim, pw_time_to_seconds(now - f->start, pw_sim_ticks_per_second(x->sim)) >= least_s * (1 - 1e-9) - 1e-12, "no flow beats its links",
           "flow %u of %.17g bytes took %lld ticks", index, x->traffic->flows[index].bytes, (long long)(now - f->start));
    f->finish = now;
    f->finished = true;
    block_release(x, f);
    x->left--;
    for (uint32_t a = x->after ? x->after[index] : 0; x->after && a < x->after[index + 1]; a++) {
        uint32_t next = x->after_list[a];
        if (--x->flows[next].waits > 0) continue;
        pw_time at = pw_sim_ticks(x->sim, x->traffic->flows[next].start_s);
        pw_event_at(x->sim, at > now ? at : now, 0, start_one, x, next);
    }
}

void packet_arrive(run *x, uint32_t packet_index) {
    const packet k = x->packets[packet_index];
    flow_run *f = &x->flows[k.flow];
    packet_drop(x, packet_index);
    if (!(k.flags & PACKET_HEADER) && ++f->received == f->total) finish(x, k.flow);
    if (x->desc->transport == PW_TRANSPORT_CREDIT) credit_arrived(x, k.flow, k.flags);
    else if (x->desc->transport == PW_TRANSPORT_DCQCN && k.flags & PACKET_MARKED && !f->finished) dcqcn_notice(x, k.flow);
}
