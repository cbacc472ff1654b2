/* Output queues, transmitters and wires.
 *
 * A transmitter sends urgent packets (trimmed headers) first, then queued data, then what a host has; after HEADERS headers in
 * a row one packet of data goes that waits for them, else headers alone could fill a link for ever (NDP, section 3.1). A packet leaves its queue
 * when its transmission starts. With cut-through the header of a packet may be there while its tail still comes in: then its
 * transmission starts no earlier than (tail's arrival - own transmission time), so that it never runs dry. */
#include <math.h>

#include "models/packet/engine.h"

static void arrival(pw_sim *sim, void *object, uint64_t index);
static void wake(pw_sim *sim, void *object, uint64_t index);

enum { LINE = 64 /* of the cache */, HEADERS = 10 };

pw_status ports_open(run *x, pw_error *error) {
    const pw_fabric *fabric = x->config->fabric;
    x->port_count = pw_fabric_links(fabric);
    x->port_memory = pw_alloc_zero(x->allocator, x->port_count * sizeof *x->ports + LINE);
    x->rest = pw_alloc_zero(x->allocator, x->port_count * sizeof *x->rest + 1);
    bool limited = x->desc->buffer_bytes < INFINITY;
    if (limited) x->buffers = pw_alloc_zero(x->allocator, pw_fabric_vertices(fabric) * sizeof *x->buffers + 1);
    if (!x->port_memory || !x->rest || (limited && !x->buffers))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the queues of %u links", x->port_count);
    x->ports = (port *)(void *)(x->port_memory + LINE - (uintptr_t)x->port_memory % LINE);
    double ticks_per_s = pw_sim_ticks_per_second(x->sim);
    for (uint32_t l = 0; l < x->port_count; l++) {
        const pw_link_info *info = pw_fabric_link(fabric, l);
        x->ports[l] = (port){.data = {PW_NONE, PW_NONE}, .urgent = {PW_NONE, PW_NONE}, .wire = {PW_NONE, PW_NONE}, .wake_at = PW_TIME_MAX,
                             .latency = pw_sim_ticks(x->sim, info->latency_s), .ticks_per_byte = ticks_per_s / info->bandwidth_Bps,
                             .injector = PW_NONE, .vertex = info->from,
                             .scale = x->desc->port_Bps > 0 ? (float)(info->bandwidth_Bps / x->desc->port_Bps) : 1};
        double headroom = isnan(x->desc->headroom_bytes)
                              ? pw_packet_headroom(info->bandwidth_Bps, info->latency_s, x->desc->packet_bytes)
                              : x->desc->headroom_bytes;
        x->rest[l] = (port_rest){.reverse = PW_NONE, .pause_at = x->desc->pause_bytes * x->ports[l].scale,
                                 .resume_at = x->desc->resume_bytes * x->ports[l].scale,
                                 .pause_limit = x->desc->pause_bytes * x->ports[l].scale + headroom};
    }
    return x->desc->pfc ? pause_open(x, error) : PW_OK;
}

uint32_t packet_new(run *x) {
    uint32_t index = x->packet_free;
    if (index != PW_NONE) {
        x->packet_free = x->packets[index].next;
    } else if (pw_grow(x->allocator, (void **)&x->packets, &x->packet_capacity, x->packet_count + (size_t)1, sizeof *x->packets)) {
        pw_sim_fail(x->sim, PW_NO_MEMORY, "fewer flows, or larger packets", "no memory for %u packets", x->packet_count);
        return PW_NONE;
    } else {
        index = x->packet_count++;
    }
    x->packets_live++;
    return index;
}

/* --- Transmitters ------------------------------------------------------------------------------------------------ */

static void send(run *x, uint32_t index, uint32_t packet_index) {
    port *p = &x->ports[index];
    packet *k = &x->packets[packet_index];
    pw_time now = pw_sim_now(x->sim), ticks = service(p, k->bytes), start = now;
    if (k->tail - ticks > start) start = k->tail - ticks;
    pw_time done = start + ticks;
    bool last = x->hops[k->hop + 1] == PW_NONE;
    k->tail = done + p->latency;
    k->at = k->tail;
    if (x->desc->cut_through && !last) {
        pw_time head = start + service(p, x->header_bytes) + p->latency;
        if (head < k->at) k->at = head;
    }
    p->free_at = done;
    p->bytes += k->bytes;
    p->packets++;
    bool idle = p->wire.head == PW_NONE;
    list_push(&p->wire, x->packets, packet_index);
    if (idle) pw_event_at(x->sim, k->at, 0, arrival, x, index);
}

static void wake_by(run *x, uint32_t index, pw_time at) {
    port *p = &x->ports[index];
    if (at >= p->wake_at) return;
    if (p->wake_at == PW_TIME_MAX) p->wake = pw_event_at(x->sim, at, 0, wake, x, index);
    else pw_event_move(x->sim, p->wake, at);
    p->wake_at = at;
}

/* Switches mark what leaves, by the queue of that moment: notices are not late by the queue's own delay. */
static bool marked(run *x, const port *p) {
    const pw_packet_desc *desc = x->desc;
    double queue = p->queued / p->scale;
    if (queue <= desc->mark_from) return false;
    if (queue >= desc->mark_to) return true;
    double probability = desc->mark_probability * (queue - desc->mark_from) / (desc->mark_to - desc->mark_from);
    return pw_random_uniform(&x->marks) < probability;
}

/* What the transmitter would send now. */
static uint32_t take(run *x, port *p) {
    bool waits = !p->paused && p->data.head != PW_NONE;
    if (p->urgent.head != PW_NONE && (!waits || p->headers < HEADERS)) {
        p->headers = (uint8_t)(waits ? p->headers + 1 : 0);
        return list_pop(&p->urgent, x->packets);
    }
    p->headers = 0;
    if (p->paused) return PW_NONE;
    if (p->data.head == PW_NONE) return p->injector == PW_NONE ? PW_NONE : injector_take(x, p->injector, pw_sim_now(x->sim));
    uint32_t taken = list_pop(&p->data, x->packets);
    packet *k = &x->packets[taken];
    if (!(k->flags & PACKET_MARKED) && marked(x, p)) {
        k->flags |= PACKET_MARKED;
        x->rest[p - x->ports].marks++;
    }
    p->queued -= k->bytes;
    if (x->buffers) x->buffers[p->vertex] -= k->bytes;
    if (x->desc->pfc) ingress_leave(x, x->hops[k->hop - 1], k->bytes);
    return taken;
}

/* The transmitter is free: sends the next packet, if there is one, and sees to the one after it. */
static void transmit(run *x, uint32_t index) {
    port *p = &x->ports[index];
    uint32_t taken = take(x, p);
    if (taken != PW_NONE) send(x, index, taken);
    if (p->urgent.head != PW_NONE || (!p->paused && p->data.head != PW_NONE)) {
        wake_by(x, index, p->free_at);
    } else if (!p->paused && p->injector != PW_NONE) {
        pw_time next = injector_next(x, p->injector);
        if (next != PW_TIME_MAX) wake_by(x, index, next > p->free_at ? next : p->free_at);
    }
}

static void wake(pw_sim *sim, void *object, uint64_t index) {
    run *x = object;
    port *p = &x->ports[index];
    p->wake_at = PW_TIME_MAX;
    if (p->free_at > pw_sim_now(sim)) wake_by(x, (uint32_t)index, p->free_at);
    else transmit(x, (uint32_t)index);
}

void port_kick(run *x, uint32_t index) {
    const port *p = &x->ports[index];
    pw_time now = pw_sim_now(x->sim);
    if (p->free_at > now) wake_by(x, index, p->free_at);
    else if (p->wake_at != now) transmit(x, index);
}

/* --- Queues ------------------------------------------------------------------------------------------------------- */

static void lose(run *x, uint32_t index, uint32_t packet_index, const char *where) {
    pw_sim_fail(x->sim, PW_BAD_INPUT,
                x->desc->pfc ? "raise headroom, or leave it out: then it is what the link needs; the buffer of a switch must hold all of it"
                             : "use transport credit, or pfc, or no limit of queues",
                "a packet is lost before link %u for want of %s, and transport %s does not send it again", index, where,
                pw_transport_names[x->desc->transport]);
    x->lost++;
    packet_drop(x, packet_index);
}

static void enqueue(run *x, uint32_t index, uint32_t packet_index) {
    port *p = &x->ports[index];
    packet *k = &x->packets[packet_index];
    if (!(k->flags & PACKET_HEADER)) {
        bool full = p->queued + k->bytes > x->desc->queue_bytes * p->scale;
        bool no_buffer = x->buffers && x->buffers[p->vertex] + k->bytes > x->desc->buffer_bytes;
        if (full || no_buffer) {
            if (x->desc->transport != PW_TRANSPORT_CREDIT) {
                lose(x, index, packet_index, full ? "room in the queue" : "buffer in the switch");
                return;
            }
            k->flags |= PACKET_HEADER;
            k->bytes = x->header_bytes & PACKET_MOST;
            k->tail = pw_sim_now(x->sim); /* its header is in: it waits for no tail */
            x->rest[index].trims++;
        } else if (x->desc->pfc && !ingress_admit(x, x->hops[k->hop - 1], k->bytes)) {
            lose(x, index, packet_index, "headroom");
            return;
        }
    }
    if (k->flags & PACKET_HEADER) {
        list_push(&p->urgent, x->packets, packet_index);
    } else {
        p->found += p->queued;
        p->arrived++;
        p->queued += k->bytes;
        if (x->buffers) x->buffers[p->vertex] += k->bytes;
        list_push(&p->data, x->packets, packet_index);
    }
    port_kick(x, index);
    if (p->queued > p->peak) p->peak = p->queued;
}

static void arrival(pw_sim *sim, void *object, uint64_t index) {
    run *x = object;
    port *p = &x->ports[index];
    uint32_t taken = list_pop(&p->wire, x->packets);
    packet *k = &x->packets[taken];
    uint32_t next = x->hops[++k->hop];
    if (next != PW_NONE) {
        __builtin_prefetch(&x->ports[next]);
        __builtin_prefetch(&x->ports[next].ticks_per_byte);
    }
    if (p->wire.head != PW_NONE) pw_event_at(sim, x->packets[p->wire.head].at, 0, arrival, x, index);
    x->hops_done++;
    if (next == PW_NONE) packet_arrive(x, taken);
    else enqueue(x, next, taken);
}
