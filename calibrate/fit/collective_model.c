#include "calibrate/fit/collective_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double no_limit = 1e30;
static const double latency_s = 2.5e-6; /* of the longest hop of the networks that were measured; longer ones add */

typedef struct builder {
    const generation_values *g;
    collective_row_text *rows;
    size_t count;
} builder;

static parameter_row *add(builder *b, bool several, const char *kind, const char *algorithm, const char *piece, const char *protocol,
                          bool derived) {
    collective_row_text *text = &b->rows[b->count++];
    *text = (collective_row_text){several ? "several_domains" : "one_domain", kind, algorithm, piece, protocol, derived, {0}};
    parameter_row *row = &text->row;
    *row = (parameter_row){.several = several, .bandwidth_Bps = NAN, .link_Bps = NAN, .network_Bps = NAN, .network_link_Bps = NAN,
                           .channel_Bps = NAN, .latency_s = several ? latency_s : NAN, .sms = b->g->sms, .sm_bytes = b->g->sm_bytes,
                           .until_bytes = {no_limit, no_limit}};
    row->kind = PARAMETER_KIND_MESSAGE;
    for (int k = 0; pw_collective_names[k]; k++)
        if (!strcmp(pw_collective_names[k], kind)) row->kind = k;
    row->algorithm = -1;
    for (int a = 0; pw_algorithm_table[a].name; a++)
        if (!strcmp(pw_algorithm_table[a].name, algorithm)) row->algorithm = a;
    row->protocol = !strcmp(protocol, "LL") ? 0 : !strcmp(protocol, "LL128") ? 1 : 2;
    return row;
}

static void within(parameter_row *row, const generation_values *g, double rate_Bps) {
    row->bandwidth_Bps = rate_Bps;
    row->link_Bps = g->link_Bps;
}

static const double port_Bps = 100e9; /* shares of a port are written as a rate out of this */
static void between(parameter_row *row, double hop_s, bool doubling, double share) {
    row->network_hop_s = hop_s;
    row->by_doubling = doubling;
    row->network_Bps = share * port_Bps;
    row->network_link_Bps = port_Bps;
}

static double start_of(const generation_values *g, int piece) { return g->start[0] + (piece ? g->start[piece] : 0); }
static const char *const piece_names[COLLECTIVE_PIECES] = {"LL", "LL128 few channels", "LL128", "Simple few channels", "Simple"};
static const char *const piece_protocols[COLLECTIVE_PIECES] = {"LL", "LL128", "LL128", "Simple", "Simple"};
/* Which of the five the piece is: LL first, then as many of LL128 as there are, then Simple. */
static int piece_of(const generation_values *g, int piece) {
    return piece < g->low ? piece + (piece == 1 && g->low == 2) : COLLECTIVE_PIECES - (g->pieces - piece);
}

static void add_rings(builder *b) {
    static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "barrier"};
    const generation_values *g = b->g;
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < g->pieces; j++) {
            int piece = piece_of(g, j);
            parameter_row *row = add(b, false, kinds[k], "ring", piece_names[piece], piece_protocols[piece], k > 2);
            row->a_s = start_of(g, j);
            row->hop_s = g->hop[j];
            row->c = k < 3 ? g->own[k] : 0;
            within(row, g, g->rate_Bps[j]);
            if (j < g->low) row->until_bytes[1] = g->least_threads_bytes;
        }
    for (int j = 0; j < g->switches; j++) {
        parameter_row *row = add(b, false, "all_reduce", "nvls", j ? "large" : "medium", "Simple", false);
        row->a_s = g->switch_start[j];
        row->hop_s = g->switch_member[j];
        row->by_member = row->by_size = true;
        row->sms = g->nvls_sms;
        within(row, g, g->switch_Bps[j]);
    }
}

static void message_row(parameter_row *row, const generation_values *g, int size, bool by_member) {
    bool large = size > 0;
    row->a_s = g->message_start + (large ? g->large_start[size - 1] : 0);
    row->hop_s = g->peer + (large ? g->large_peer : 0);
    row->by_member = by_member;
    row->channel_Bps = large ? g->channel_large_Bps[size - 1] : g->channel_small_Bps;
    for (int threads = 0; threads < 2; threads++) {
        if (large) row->from_bytes[threads] = g->change_bytes[threads];
        else row->until_bytes[threads] = g->change_bytes[threads];
    }
    within(row, g, g->messages_Bps);
}

static void add_messages(builder *b) {
    static const struct { const char *kind, *algorithm; bool by_member; } uses[] = {
        {"all_to_all", "direct", true}, {"all_to_all_v", "direct", true}, {"gather", "direct", true}, {"scatter", "direct", true},
        {"send_recv", "ring", false}, {"message", "message", false}};
    if (!b->g->has_messages) return;
    for (size_t u = 0; u < sizeof uses / sizeof *uses; u++)
        for (int size = 0; size < 3; size++)
            message_row(add(b, false, uses[u].kind, uses[u].algorithm, size == 0 ? "LL" : size == 1 ? "Simple few channels" : "Simple",
                            size ? "Simple" : "LL", u != 0 && u != 4), b->g, size, uses[u].by_member);
}

/* The pieces of Simple cannot be told apart by times of one domain alone; over several domains the one with the shorter hop is taken. */
static int simple_piece(const generation_values *g) {
    int best = g->pieces - 1;
    for (int j = g->low; j < g->pieces; j++)
        if (g->hop[j] < g->hop[best]) best = j;
    return best;
}

static void add_trees(builder *b, const network_values *n) {
    const generation_values *g = b->g;
    for (int p = 0; p < 3; p++) {
        int piece = p == 2 ? simple_piece(g) : p;
        const char *protocol = piece_protocols[p == 2 ? COLLECTIVE_PIECES - 1 : p];
        parameter_row *row = add(b, true, "all_reduce", "tree", protocol, protocol, p == 2);
        row->a_s = start_of(g, piece);
        row->hop_s = g->hop[piece];
        within(row, g, p == 2 ? g->tree_Bps : g->rate_Bps[piece]);
        between(row, (p == 2 ? 1 : 2) * n->tree_hop[p], true, n->tree_share[p]);
    }
    if (g->switches == 0) return;
    parameter_row *row = add(b, true, "all_reduce", "nvls", "Simple", "Simple", false);
    row->a_s = g->switch_start[0];
    row->hop_s = g->switch_member[0];
    row->by_member = row->by_size = true;
    row->sms = g->nvls_sms;
    within(row, g, g->switch_network_Bps);
    between(row, n->tree_hop[2], true, n->tree_share[2]);
}

static void add_rings_between(builder *b, const network_values *n) {
    static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "barrier"};
    const generation_values *g = b->g;
    for (int k = 0; k < 6; k++)
        for (int large = 0; large < 2; large++) {
            int piece = large ? simple_piece(g) : 0;
            parameter_row *row = add(b, true, kinds[k], "ring", large ? "Simple" : "LL", large ? "Simple" : "LL", k != 2);
            row->a_s = start_of(g, piece);
            row->hop_s = g->hop[piece];
            within(row, g, g->rate_Bps[piece]);
            between(row, n->ring_hop[large], false, n->ring_share[large]);
        }
    static const struct { const char *kind, *algorithm; } messages[] = {{"send_recv", "ring"}, {"message", "message"}};
    for (int m = 0; m < 2; m++)
        for (int large = 0; large < 2; large++) {
            parameter_row *row = add(b, true, messages[m].kind, messages[m].algorithm, large ? "Simple" : "LL", large ? "Simple" : "LL", m == 1);
            row->a_s = n->message_start[large];
            row->sms = 2;
            between(row, 0, false, n->message_share[large]);
        }
}

size_t collective_rows(const generation_values *g, const network_values *n, collective_row_text *rows) {
    builder b = {g, rows, 0};
    add_rings(&b);
    add_messages(&b);
    if (g->has_network) {
        add_trees(&b, n);
        add_rings_between(&b, n);
    }
    return b.count;
}

/* --- Writing --------------------------------------------------------------------------------------------------------- */

void collective_rows_header(pw_file *file) {
    pw_file_text(file, "name,generation,library,version,scope,kind,algorithm,protocol,from [KiB],from_threads [KiB],until [KiB],"
                       "until_threads [KiB],a [us],hop [us],hop_of,network_hop [us],network_hop_of,latency [us],channel [GB/s],"
                       "bandwidth [GB/s],bandwidth_of,link [GB/s],network_bandwidth [GB/s],network_link [GB/s],c [ratio],sms [count],"
                       "sm_bytes [KiB],rows [count],median_error [%],p90_error [%],provenance,source\n");
}

/* Four digits are more than is known; empty when there is none. */
static void number(pw_file *file, double value, double unit, double none) {
    pw_file_text(file, ",");
    if (!isnan(value) && value != none && value < no_limit) pw_file_print(file, "%.4g", value / unit);
}

void collective_rows_write(pw_file *file, const generation_values *g, const collective_row_text *rows, size_t count,
                           const pw_error_summary *summaries, const char *source) {
    for (size_t i = 0; i < count; i++) {
        const collective_row_text *t = &rows[i];
        const parameter_row *r = &t->row;
        pw_file_print(file, "%s %s %s %s %s,%s,nccl,,%s,%s,%s,%s", g->name, t->kind, r->several ? "network" : "domain", t->algorithm, t->piece,
                      g->name, t->scope, t->kind, t->algorithm, t->protocol);
        number(file, r->from_bytes[0], 1024, 0);
        number(file, r->from_bytes[1], 1024, 0);
        number(file, r->until_bytes[0], 1024, no_limit);
        number(file, r->until_bytes[1], 1024, no_limit);
        number(file, r->a_s, 1e-6, NAN);
        number(file, r->hop_s, 1e-6, NAN);
        pw_file_print(file, ",%s", r->by_member ? "member" : "hop");
        number(file, r->network_hop_s, 1e-6, 0);
        pw_file_print(file, ",%s", r->by_doubling ? "doubling" : "hop");
        number(file, r->latency_s, 1e-6, NAN);
        number(file, r->channel_Bps, 1e9, NAN);
        number(file, r->bandwidth_Bps, 1e9, NAN);
        pw_file_print(file, ",%s", r->by_size ? "size" : "load");
        number(file, r->link_Bps, 1e9, NAN);
        number(file, r->network_Bps, 1e9, NAN);
        number(file, r->network_link_Bps, 1e9, NAN);
        number(file, r->c, 1, 0);
        number(file, r->sms, 1, NAN);
        number(file, r->sm_bytes, 1024, NAN);
        if (summaries[i].count && !t->derived)
            pw_file_print(file, ",%zu,%.1f,%.1f", summaries[i].count, 100 * summaries[i].median, 100 * summaries[i].p90);
        else pw_file_text(file, ",,,");
        pw_file_print(file, ",%s,\"%s\"\n", t->derived ? "DERIVED" : "FITTED", source);
    }
}
