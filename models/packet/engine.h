/* State of a running packet simulation, shared by the files of this folder. Internal.
 *
 * Everything refers by index into arrays. A packet is in one list at a time: the data or urgent queue before a link, or the
 * wire of a link, whose arrivals come in order. So each link has at most two events, however many packets it holds: when its
 * transmitter is free and something waits, and when the first packet on its wire arrives. */
#ifndef PW_MODELS_PACKET_ENGINE_H
#define PW_MODELS_PACKET_ENGINE_H

#include "models/packet/packet.h"
#include "sim/event.h"
#include "sim/random.h"

enum {
    PACKET_MARKED = 1, /* ECN */
    PACKET_HEADER = 2, /* trimmed: its payload is gone */
    PACKET_LAST = 4,   /* of its flow, the one that may be short */
    PACKET_MOST = (1 << 25) - 1, /* bytes */
    PAUSE_BYTES = 64,  /* a pause frame, IEEE 802.1Qbb */
};

/* 32 bytes, so that two share a line of the cache. */
typedef struct packet {
    pw_time at;        /* when the next node has what it needs of it */
    pw_time tail;      /* when its last byte is there */
    uint32_t next;     /* in its list */
    uint32_t flow;
    uint32_t hop;      /* its place in run.hops: the link it queues for or is on */
    uint32_t bytes : 25, flags : 7;
} packet;

typedef struct list {
    uint32_t head, tail;
} list;

/* What every packet touches: two lines of the cache. */
typedef struct port {
    list data, urgent, wire;
    pw_time free_at;          /* the transmitter is busy until then */
    pw_time wake_at;          /* of the wake event; PW_TIME_MAX: none */
    pw_event_id wake;
    pw_time latency;
    double queued;            /* bytes of data before the transmitter */

    double ticks_per_byte;
    uint32_t injector;        /* index; PW_NONE: no host sends here */
    uint32_t vertex;          /* where its queue is */
    double bytes;             /* sent */
    uint64_t packets;         /* sent */
    double peak, found;       /* largest queue; sum of what arriving data found */
    uint64_t arrived;         /* data packets that came to its queue */
    float scale;              /* of thresholds, by the link's rate */
    bool paused;              /* by the other end */
    uint8_t headers;          /* sent in a row while data waited */
} port;
_Static_assert(sizeof(packet) == 32 && sizeof(port) == 128, "a packet is half a line of the cache, a port two");

/* The rest of a port: PFC and counts. */
typedef struct port_rest {
    uint32_t reverse;         /* the link the other way; PW_NONE */
    bool pausing;             /* as an ingress: its sender was told to pause */
    double ingress;           /* bytes that came over it and wait in the switch at its end */
    double pause_at, resume_at, pause_limit; /* ingress: pauses above, resumes at or below, is lost beyond */
    pw_time paused_since;
    double paused_s;
    uint64_t marks, trims, pauses;
} port_rest;

/* One way of a flow into the fabric: its paths that begin with the same link. */
typedef struct lane {
    uint32_t flow;
    uint32_t first_path, paths, turn; /* of the flow's block of paths */
    uint32_t injector;
    bool queued;                      /* in the injector's heap */
} lane;

typedef struct ready {
    pw_time at;
    uint64_t order;
    uint32_t lane;
} ready;

/* What a host may send over one link, earliest first. */
typedef struct injector {
    pw_link link;
    uint64_t order;
    ready *heap;
    size_t count, capacity;
} injector;

typedef struct flow_run {
    uint32_t from, to;
    uint32_t unsent, total, received; /* full packets to send, packets of the flow, those that arrived */
    uint32_t last_bytes;              /* of its last packet */
    bool last_unsent, started, asking, finished;
    uint32_t block;                   /* of paths; PW_NONE */
    uint32_t lane_first, lane_count;
    uint32_t credits;                 /* packets the sender may send */
    uint32_t ungranted, under_way;    /* credit: still to be asked for; asked for and not arrived */
    uint32_t ask_next;
    uint32_t waits;                   /* flows it still waits for */
    pw_time start, finish, notice_at;
    pw_time control;                  /* of a small packet back to the sender */
    uint32_t receiver;                /* who hands out its credits */
    pw_time grant_interval;           /* of the receiver, when this flow's turn comes */
    double ways_Bps;                  /* sum of the rates of its first links, or of its last links if less */
    pw_time least;                    /* latency of its shortest path */
} flow_run;

/* Of a DCQCN flow. */
typedef struct rate_run {
    double now_Bps, target_Bps, line_Bps, alpha;
    pw_time alpha_at, timer_at; /* next step of either */
    double bytes;               /* to the next step of the byte counter */
    int64_t by_timer, by_bytes; /* rises since the last notice */
} rate_run;

/* A receiver that hands out credits for a link, or for all links by which a flow's paths end: then it has the number of the first. */
typedef struct receiver {
    list asking; /* flows, by ask_next */
    pw_time next_at;
    bool waiting;
} receiver;

typedef struct due {
    pw_time at;
    uint32_t flow;
} due;

typedef struct run {
    const pw_allocator *allocator;
    const pw_packet_config *config;
    const pw_packet_desc *desc;
    const pw_traffic *traffic;
    pw_sim *sim;
    pw_random marks;
    port *ports;     /* in port_memory, from the beginning of a line of the cache on */
    port_rest *rest;
    char *port_memory;
    uint32_t port_count;
    double *buffers; /* [vertices]: bytes in the queues of a switch; NULL: they have no limit */
    packet *packets;
    size_t packet_capacity;
    uint32_t packet_count, packet_free, packets_live;
    uint64_t headers_in_a_row; /* trimmed packets that arrived since the last whole one */
    uint32_t *hops;  /* blocks of paths; each path: PW_NONE, links, PW_NONE */
    size_t hop_capacity, block_hops;
    uint32_t block_count, stride;
    uint32_t *block_free;
    size_t block_free_count, block_free_capacity;
    lane *lanes;
    size_t lane_count, lane_capacity;
    injector *injectors;
    size_t injector_count, injector_capacity;
    flow_run *flows;
    rate_run *rates;     /* dcqcn */
    receiver *receivers; /* credit: [links]: one for each link into an end, so that its slow links do not hold up its fast ones */
    due *dues;           /* flows that wait for nothing, by start */
    uint32_t due_next, due_count;
    uint32_t *after, *after_list; /* [flows + 1]: who waits for a flow */
    uint32_t full_bytes, header_bytes, left; /* header_bytes: of a trimmed packet, and of credits and notices */
    uint64_t sent, hops_done, lost;
} run;

/* --- ports.c: queues, transmitters, wires */
pw_status ports_open(run *x, pw_error *error);
void port_kick(run *x, uint32_t port);             /* something may be sent now */
uint32_t packet_new(run *x);                       /* PW_NONE: the simulation failed */
/* --- pause.c: PFC */
pw_status pause_open(run *x, pw_error *error);
bool ingress_admit(run *x, uint32_t from, uint32_t bytes); /* false: lost */
void ingress_leave(run *x, uint32_t from, uint32_t bytes);
/* --- flows.c: starts, paths, injection, ends of flows */
uint64_t path_hash(uint64_t seed, uint32_t flow, uint32_t path);
pw_status path_of(const pw_packet_config *config, const pw_traffic *traffic, uint32_t flow, uint32_t number, pw_path *path, pw_error *error);
pw_status flows_open(run *x, pw_error *error);
void flows_begin(run *x);
/* The next packet that a host has for the link, ready by now; PW_NONE: none. */
uint32_t injector_take(run *x, uint32_t index, pw_time now);
pw_time injector_next(const run *x, uint32_t index); /* when to take the next; PW_TIME_MAX: nothing waits */
void flow_can_send(run *x, uint32_t flow, pw_time at);
void packet_arrive(run *x, uint32_t packet_index); /* at its last end; frees it */
/* --- credit.c */
void credit_start(run *x, uint32_t flow);
void credit_arrived(run *x, uint32_t flow, uint32_t flags); /* data, or a header */
/* --- dcqcn.c */
void dcqcn_start(run *x, uint32_t flow);
pw_time dcqcn_sent(run *x, uint32_t flow, uint32_t bytes, pw_time at); /* when the next packet may go */
void dcqcn_notice(run *x, uint32_t flow);                              /* a marked packet arrived */

static inline void list_push(list *l, packet *packets, uint32_t index) {
    packets[index].next = PW_NONE;
    if (l->head == PW_NONE) l->head = index;
    else packets[l->tail].next = index;
    l->tail = index;
}

static inline uint32_t list_pop(list *l, const packet *packets) {
    uint32_t index = l->head;
    l->head = packets[index].next;
    return index;
}

static inline void packet_drop(run *x, uint32_t index) {
    x->packets[index].next = x->packet_free;
    x->packet_free = index;
    x->packets_live--;
}

/* Ticks that bytes take on the port, rounded up. */
static inline pw_time service(const port *p, uint32_t bytes) {
    double ticks = bytes * p->ticks_per_byte;
    pw_time whole = (pw_time)ticks;
    return whole + ((double)whole < ticks);
}

#endif
