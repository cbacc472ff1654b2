/* Receiver-paced transport, after NDP (Handley et al. 2017) and EQDS (Olteanu et al. 2022): a sender starts with a window of packets;
 * from then on the receiver hands out one credit per packet time of its links (times pace), in turn to the flows that still have
 * packets to ask for, and never has more than a window of one flow under way. A full queue trims a packet; its header tells
 * the receiver to ask for it again. */
#include "models/packet/engine.h"

static uint32_t window_of(const run *x) {
    double packets = x->desc->window_bytes / x->full_bytes;
    return packets < 1 ? 1 : packets > 1e9 ? 1000000000 : (uint32_t)packets;
}

static void credited(pw_sim *sim, void *object, uint64_t index) {
    run *x = object;
    x->flows[index].credits++;
    flow_can_send(x, (uint32_t)index, pw_sim_now(sim));
}

static void resend(pw_sim *sim, void *object, uint64_t argument) {
    run *x = object;
    flow_run *f = &x->flows[argument >> 1];
    (void)sim;
    if (argument & 1) f->last_unsent = true;
    else f->unsent++;
}

static void ask(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    receiver *r = &x->receivers[f->receiver];
    if (f->asking || !f->ungranted || f->under_way >= window_of(x)) return;
    f->asking = true;
    f->ask_next = PW_NONE;
    if (r->asking.head == PW_NONE) r->asking.head = index;
    else x->flows[r->asking.tail].ask_next = index;
    r->asking.tail = index;
}

static void grant(pw_sim *sim, void *object, uint64_t number) {
    run *x = object;
    receiver *r = &x->receivers[number];
    r->waiting = false;
    uint32_t index = r->asking.head;
    if (index == PW_NONE) return;
    flow_run *f = &x->flows[index];
    r->asking.head = f->ask_next;
    f->asking = false;
    f->ungranted--;
    f->under_way++;
    pw_event_after(sim, f->control, credited, x, index);
    ask(x, index);
    r->next_at = pw_sim_now(sim) + f->grant_interval;
    if (r->asking.head == PW_NONE) return;
    r->waiting = true;
    pw_event_at(sim, r->next_at, 0, grant, x, number);
}

static void serve(run *x, uint32_t number) {
    receiver *r = &x->receivers[number];
    if (r->waiting || r->asking.head == PW_NONE) return;
    if (r->next_at > pw_sim_now(x->sim)) {
        r->waiting = true;
        pw_event_at(x->sim, r->next_at, 0, grant, x, number);
    } else {
        grant(x->sim, x, number);
    }
}

void credit_start(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    uint32_t window = window_of(x);
    f->credits = f->under_way = f->total < window ? f->total : window;
    f->ungranted = f->total - f->credits;
    flow_can_send(x, index, pw_sim_now(x->sim));
}

/* Switches whose buffers are full of each other's packets can trim for ever what could empty them. */
static void check_progress(run *x) {
    enum { MANY = 1000000 };
    if (++x->headers_in_a_row < MANY + 10 * (uint64_t)x->packets_live) return;
    pw_sim_fail(x->sim, PW_DEADLOCK, "raise buffer or queue, take larger packets, or another transport",
                "the last %llu packets that arrived were all trimmed: %u of %u flows get no further", (unsigned long long)x->headers_in_a_row, x->left,
                x->traffic->count);
}

void credit_arrived(run *x, uint32_t index, uint32_t flags) {
    flow_run *f = &x->flows[index];
    f->under_way--;
    if (!(flags & PACKET_HEADER)) x->headers_in_a_row = 0;
    if (flags & PACKET_HEADER) {
        check_progress(x);
        f->ungranted++;
        pw_event_after(x->sim, f->control, resend, x, (uint64_t)index << 1 | ((flags & PACKET_LAST) != 0));
    }
    ask(x, index);
    serve(x, f->receiver);
}
