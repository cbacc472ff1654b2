/* Priority flow control (IEEE 802.1Qbb): a switch counts, for each link into it, the bytes that came over it and still wait. Above the
 * pause threshold it sends a pause frame back, at or below the resume threshold a resume frame. A frame goes before all data, but a packet
 * on its way out is not cut off. Trimmed headers are not paused. */
#include <stdlib.h>

#include "models/packet/engine.h"

double pw_packet_headroom(double bandwidth_Bps, double latency_s, double packet_bytes) {
    return 2 * bandwidth_Bps * latency_s + 3 * packet_bytes + PAUSE_BYTES;
}

typedef struct way {
    uint64_t key; /* from and to */
    pw_link link;
} way;

static int by_key(const void *a, const void *b) {
    const way *one = a, *other = b;
    if (one->key != other->key) return one->key < other->key ? -1 : 1;
    return one->link < other->link ? -1 : one->link > other->link;
}

/* Finds the link the other way of each, on which pause frames go. */
pw_status pause_open(run *x, pw_error *error) {
    const pw_fabric *fabric = x->config->fabric;
    way *ways = pw_alloc(x->allocator, x->port_count * sizeof *ways + 1);
    if (!ways) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the ways back of %u links", x->port_count);
    for (pw_link l = 0; l < x->port_count; l++) {
        const pw_link_info *info = pw_fabric_link(fabric, l);
        ways[l] = (way){(uint64_t)info->from << 32 | info->to, l};
    }
    qsort(ways, x->port_count, sizeof *ways, by_key);
    for (pw_link l = 0; l < x->port_count; l++) {
        const pw_link_info *info = pw_fabric_link(fabric, l);
        const way wanted = {(uint64_t)info->to << 32 | info->from, 0};
        uint32_t low = 0, high = x->port_count; /* the first not before what is wanted */
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (by_key(&ways[middle], &wanted) < 0) low = middle + 1;
            else high = middle;
        }
        if (low < x->port_count && ways[low].key == wanted.key) x->rest[l].reverse = ways[low].link;
    }
    pw_free(x->allocator, ways, x->port_count * sizeof *ways + 1);
    return PW_OK;
}

static void paused(pw_sim *sim, void *object, uint64_t argument) {
    run *x = object;
    uint32_t index = (uint32_t)(argument >> 1);
    port *p = &x->ports[index];
    bool pause = argument & 1;
    if (p->paused == pause) return;
    p->paused = pause;
    port_rest *rest = &x->rest[index];
    if (pause) {
        rest->paused_since = pw_sim_now(sim);
        rest->pauses++;
        return;
    }
    rest->paused_s += pw_time_to_seconds(pw_sim_now(sim) - rest->paused_since, pw_sim_ticks_per_second(sim));
    port_kick(x, index);
}

static void tell(run *x, uint32_t from, bool pause) {
    const port *p = &x->ports[from], *back = x->rest[from].reverse == PW_NONE ? p : &x->ports[x->rest[from].reverse];
    pw_time now = pw_sim_now(x->sim), wait = back != p && back->free_at > now ? back->free_at - now : 0;
    pw_event_after(x->sim, wait + service(back, PAUSE_BYTES) + back->latency, paused, x, (uint64_t)from << 1 | pause);
}

bool ingress_admit(run *x, uint32_t from, uint32_t bytes) {
    port_rest *p = &x->rest[from];
    if (p->ingress + bytes > p->pause_limit) return false;
    p->ingress += bytes;
    if (p->ingress > p->pause_at && !p->pausing) {
        p->pausing = true;
        tell(x, from, true);
    }
    return true;
}

void ingress_leave(run *x, uint32_t from, uint32_t bytes) {
    port_rest *p = &x->rest[from];
    p->ingress -= bytes;
    if (p->pausing && p->ingress <= p->resume_at) {
        p->pausing = false;
        tell(x, from, false);
    }
}
