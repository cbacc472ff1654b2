/* One question to a cluster's fabric, as a user asks it: which traffic, how it is sent, and whether it runs as flows, as packets or both. */
#ifndef PW_MODELS_PACKET_QUESTION_H
#define PW_MODELS_PACKET_QUESTION_H

#include "models/packet/packet.h"

typedef enum pw_question_mode { PW_QUESTION_FLOW, PW_QUESTION_PACKET, PW_QUESTION_BOTH } pw_question_mode;
typedef enum pw_question_between { PW_QUESTION_PORTS, PW_QUESTION_GPUS } pw_question_between;

/* Numbers left out are NaN: then the cluster or a table of the catalogue says them. */
typedef struct pw_question_desc {
    const char *name;
    pw_pattern_desc pattern;
    const char *collective, *algorithm; /* NULL or "": the pattern; else its messages */
    int between;                        /* pw_question_between */
    int mode;                           /* pw_question_mode */
    int transport, switches, pfc;       /* pw_transport; 0 cut_through, 1 store_and_forward; 0 auto, 1 on, 2 off */
    int64_t paths;
    double packet_bytes, header_bytes;
    double queue_bytes, buffer_bytes, window_bytes, pace;
    double mark_from, mark_to, mark_probability;
    double pause_bytes, resume_bytes, headroom_bytes;
    const char *congestion_control;     /* row of the table congestion-control */
    int64_t links;                      /* busiest links in the result */
} pw_question_desc;
extern const pw_kind pw_traffic_kind; /* "traffic" in the registry */

/* A link by what it carried, busiest first. */
typedef struct pw_question_link {
    pw_link link;
    const char *name;                      /* "leaf 3 > spine 0" */
    double flow_utilization, packet_utilization; /* over the time to the last finish; NaN: that mode did not run */
    pw_packet_link packet;                 /* zero: packets did not run */
} pw_question_link;

/* Completion times in s, from each flow's start to its last byte. */
typedef struct pw_question_times {
    double mean_s, p50_s, p99_s, worst_s, last_s; /* worst: of one flow; last: from the beginning to the end of all */
} pw_question_times;

typedef struct pw_question_result {
    pw_traffic traffic;
    pw_packet_desc packet_desc;            /* every figure known */
    bool has_flow, has_packet;
    pw_packet_result flow, packet;
    pw_question_times flow_times, packet_times;
    double worst_gap, mean_gap;            /* both modes: largest and mean of |packet / flow - 1| over flows */
    pw_question_link *links;
    uint32_t link_count, links_used;
    const char *fullest;                   /* name of the link with the largest queue; NULL: none */
    const pw_device *device;
    uint32_t gpus, ends;
    double round_trip_bytes;               /* bandwidth x round trip on the longest way */
    uint64_t hash;
} pw_question_result;

/* Everything of *result is the arena's. Messages about a field say traffic.FIELD and file:line. */
pw_status pw_question_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                          const pw_question_desc *desc, uint64_t seed, const volatile int *interrupt, const char *file, int line,
                          pw_arena *arena, pw_question_result *result, pw_error *error);

#endif
