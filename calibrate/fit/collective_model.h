/* Few parameters, many rows: how the rows of collective-parameters follow from what is fitted.
 *
 * Of a generation: a start, and for up to five pieces of the curve (LL, LL128 and Simple, the latter two with few and with all channels) a further start, a hop and
 * a bandwidth, shared by all_reduce, all_gather, reduce_scatter and chains; a copy of the own block for each of the three; the
 * in-switch reduction (a start, a time per member, a bandwidth); point-to-point messages (start, time per peer, rate of a channel at
 * LL and Simple, bandwidth of all). Of a network, for all generations: hop and share of the port of each protocol, of trees, rings and
 * messages.
 */
#ifndef PW_CALIBRATE_FIT_COLLECTIVE_MODEL_H
#define PW_CALIBRATE_FIT_COLLECTIVE_MODEL_H

#include "models/collective/fitting.h"
#include "sim/file.h"
#include "sim/stats.h"

enum { COLLECTIVE_PIECES = 5, COLLECTIVE_SWITCHES = 2, COLLECTIVE_ROWS = 128 };

typedef struct generation_values {
    const char *name;              /* as in the tables: "Hopper" */
    int pieces, low, switches;     /* how many are used; pieces of LL and LL128 */
    double link_Bps;               /* payload of a GPU's links on which it was measured */
    double sms, nvls_sms, sm_bytes;
    double own[3];                 /* copies of the own block: all_reduce, all_gather, reduce_scatter */
    double start[COLLECTIVE_PIECES], hop[COLLECTIVE_PIECES], rate_Bps[COLLECTIVE_PIECES]; /* start[0] is part of the others */
    double least_threads_bytes;    /* bytes of a member from which threads leave LL and LL128; infinity: by time alone */
    double switch_start[COLLECTIVE_SWITCHES], switch_member[COLLECTIVE_SWITCHES], switch_Bps[COLLECTIVE_SWITCHES];
    double switch_network_Bps;     /* in-switch reduction with trees behind it */
    double tree_Bps;               /* chain of a tree over several domains */
    double message_start, peer, channel_small_Bps, large_start[2], large_peer, channel_large_Bps[2], messages_Bps; /* few, all */
    double change_bytes[2];        /* where messages change to Simple: processes, threads */
    bool has_messages, has_network;
} generation_values;

typedef struct network_values {
    double tree_hop[3], tree_share[3]; /* LL, LL128: of a hop; Simple: of a doubling of the domains */
    double ring_hop[2], ring_share[2]; /* LL, Simple */
    double message_start[2], message_share[2];
} network_values;

typedef struct collective_row_text {
    const char *scope, *kind, *algorithm, *piece, *protocol;
    bool derived; /* tied to values that rows of other kinds fixed */
    parameter_row row;
} collective_row_text;

/* Builds the rows of a generation; returns how many. The order never depends on values. */
size_t collective_rows(const generation_values *g, const network_values *n, collective_row_text *rows);

/* One line of collective-parameters.csv per row. */
void collective_rows_header(pw_file *file);
void collective_rows_write(pw_file *file, const generation_values *g, const collective_row_text *rows, size_t count,
                           const pw_error_summary *summaries, const char *source);

#endif
