/* Packets: a fabric's traffic packet by packet, for one question at a time.
 *
 * Every directed link has an output queue at its head. A packet is served in order of arrival at the link's rate and reaches the
 * other end after the link's latency. A store-and-forward switch passes a packet on when its last byte is in; a cut-through switch
 * when the header is in, but never so early that the next link would run dry. Hosts send by a transport:
 *
 *   line    at the link's rate until all is sent; needs PFC or queues without a limit
 *   credit  paced by the receiver; full queues trim packets to their headers, which are sent again (as EQDS and NDP do)
 *   dcqcn   rates that fall with ECN marks and recover by timer and byte counter
 *
 * The same traffic over the same paths can be run as a fluid too (pw_packet_run_fluid), so that both answers can be compared.
 * Acknowledgements, credits and congestion notices take the way's latency but no bandwidth. docs/models/packets.md has the
 * equations, sources and limits.
 */
#ifndef PW_MODELS_PACKET_H
#define PW_MODELS_PACKET_H

#include "models/traffic/traffic.h"
#include "sim/time.h"

#define PW_TRANSPORT_MAP(X) \
    X(LINE, "line")         \
    X(CREDIT, "credit")     \
    X(DCQCN, "dcqcn")
typedef enum pw_transport {
#define PW_TRANSPORT_ENUM(NAME, name) PW_TRANSPORT_##NAME,
    PW_TRANSPORT_MAP(PW_TRANSPORT_ENUM)
#undef PW_TRANSPORT_ENUM
    PW_TRANSPORT_COUNT
} pw_transport;
extern const char *const pw_transport_names[]; /* NULL-terminated */

/* The rate machine of DCQCN and the marking it is tuned with (a row of the table congestion-control). Rates in bytes/s. */
typedef struct pw_dcqcn {
    double gain;                       /* g: weight of the newest notice in alpha */
    double notice_interval_s;          /* at most one notice per flow in this time (N) */
    double alpha_interval_s;           /* alpha falls after so long without a notice (K) */
    double timer_s, byte_counter;      /* T, B: each makes the rate rise once */
    int64_t fast_rounds;               /* F: rises of fast recovery */
    double additive_Bps, hyper_Bps;    /* R_AI, R_HAI */
    double least_Bps;
} pw_dcqcn;

typedef struct pw_packet_desc {
    bool cut_through;
    int transport;              /* pw_transport */
    double packet_bytes;        /* of a full packet with its header */
    double header_bytes;        /* of each packet; bytes of a trimmed one. The network's efficiency has paid for headers when 0 */
    int64_t paths;              /* 1: one path per flow, by hash (ECMP); more: packets take them in turn (spray) */
    double port_Bps;            /* thresholds below but buffer_bytes are for a link of this rate, of others in proportion (a link may stand for
                                   many parallel cables); 0: the same for all links */
    double queue_bytes;         /* limit of an output queue; infinite: none */
    double buffer_bytes;        /* limit of all queues of a switch; infinite: none */
    double mark_from, mark_to;  /* ECN: bytes in the queue at which marking begins and is certain; infinite: no marks */
    double mark_probability;    /* at mark_to */
    bool pfc;
    double pause_bytes, resume_bytes; /* PFC: bytes of one ingress link in a switch at which it is paused, and resumed */
    double headroom_bytes;            /* beyond pause_bytes; NaN: what the link needs for no drop */
    double window_bytes;        /* credit: most that is under way to a receiver */
    double pace;                /* credit: share of its links that the receiver asks for */
    pw_dcqcn dcqcn;
} pw_packet_desc;
/* Store-and-forward, line, 4096 B packets without headers, one path, no limits, no marks, no PFC. */
pw_packet_desc pw_packet_defaults(void);

/* Fills window, queue limit and pace from the table credit-transport; round_trip_bytes: bandwidth x round trip of a full packet. */
pw_status pw_packet_read_credit(const pw_catalogue *catalogue, double round_trip_bytes, pw_packet_desc *desc, pw_error *error);
/* Fills dcqcn, marking and PFC thresholds from a row of the table congestion-control, in proportion to the rate of the hosts' links.
 * PW_NOT_FOUND lists the rows. */
pw_status pw_packet_read_dcqcn(const pw_catalogue *catalogue, const char *name, double link_Bps, pw_packet_desc *desc, pw_error *error);

/* Links from end `from` to end `to`, by hash; the same arguments give the same path. */
typedef pw_status pw_packet_route_fn(const void *object, uint32_t from, uint32_t to, uint64_t hash, pw_path *path);

typedef struct pw_packet_config {
    const pw_allocator *allocator; /* NULL: the C library */
    const pw_fabric *fabric;
    pw_packet_route_fn *route;
    const void *route_object;
    uint32_t ends;
    uint64_t seed;                 /* of path choice and marks */
    const volatile int *interrupt; /* may be NULL */
} pw_packet_config;

typedef struct pw_packet_link {
    double bytes;       /* carried, headers included */
    double peak_bytes;  /* largest queue before it, without the packet that is being sent */
    double mean_bytes;  /* queue that arriving data found, on average */
    double paused_s;    /* by PFC */
    uint64_t packets, marks, trims, pauses;
} pw_packet_link;

/* Times are from the start of the simulation. All arrays are the arena's. */
typedef struct pw_packet_result {
    double *start_s, *finish_s; /* [flows]: may start; last byte is there */
    double *known_s;            /* [flows]: the sender knows so: the way back after finish_s */
    double end_s;               /* last finish */
    pw_packet_link *links;      /* [links of the fabric] */
    uint64_t packets;           /* sent by hosts, those sent again included */
    uint64_t packet_hops, marks, trims, pauses, events;
    uint64_t lost;              /* gone for good: a run with any fails, and says where */
    double paused_s;            /* sum over links */
    pw_link fullest;            /* link with the largest queue; PW_NONE: no queue ever */
    uint64_t hash;              /* of all finish times */
} pw_packet_result;

/* PW_BAD_INPUT: what does not go together, or a packet was lost under a transport that never loses one; PW_DEADLOCK: PFC
 * pauses in a circle. */
pw_status pw_packet_run(const pw_packet_config *config, const pw_packet_desc *desc, const pw_traffic *traffic, pw_arena *arena,
                        pw_packet_result *result, pw_error *error);
/* The same traffic over the same paths (spread evenly over desc->paths) as max-min fair fluid flows that start after the latency of
 * their path. Of the result: start_s, finish_s, known_s, end_s, links[].bytes, hash. */
pw_status pw_packet_run_fluid(const pw_packet_config *config, const pw_packet_desc *desc, const pw_traffic *traffic, pw_arena *arena,
                              pw_packet_result *result, pw_error *error);

/* What a link's headroom must hold so that nothing is lost: both ways of the wire, a packet on its way out at each end, the
 * pause frame. */
double pw_packet_headroom(double bandwidth_Bps, double latency_s, double packet_bytes);

#endif
