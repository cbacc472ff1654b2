/* A question to the network: what models/packet answers, in the words of a report. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/packet/question.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

extern const pw_job_kind pw_job_traffic;

static void put_head(const pw_question_desc *d, const pw_question_result *r, pw_run_result *result) {
    char a[64], b[64], c[64], size[64], of[72] = "";
    const char *what = d->collective && *d->collective ? d->collective : pw_traffic_pattern_names[d->pattern.pattern];
    pw_unit_format(r->traffic.bytes, PW_UNIT_BYTES, size, sizeof size);
    uint32_t part = d->pattern.ends ? (uint32_t)d->pattern.ends : r->ends;
    if (part < r->ends) snprintf(of, sizeof of, "of %s ", pw_layout_count(r->ends, c, sizeof c));
    pw_result_line(result, "traffic", "%.60s between %s %s%s: %s flows, %s in all", what, pw_layout_count(part, a, sizeof a), of,
                   d->between == PW_QUESTION_GPUS ? "GPUs" : "ports", pw_layout_count(r->traffic.count, b, sizeof b), size);
    const pw_packet_desc *p = &r->packet_desc;
    char paths[80];
    if (d->paths == 1) snprintf(paths, sizeof paths, "one path per flow by hash");
    else snprintf(paths, sizeof paths, "packets sprayed over %" PRId64 " hashes", d->paths);
    if (r->has_packet)
        pw_result_line(result, "packets", "transport %s%s, %s switches, %s, packets of %s", pw_transport_names[p->transport], p->pfc ? " over PFC" : "",
                       p->cut_through ? "cut-through" : "store-and-forward", paths, pw_unit_format(p->packet_bytes, PW_UNIT_BYTES, c, sizeof c));
    else pw_result_line(result, "paths", "%s", paths);
}

static void put_times(pw_run_result *result, const char *mode, const pw_question_times *t) {
    char a[64], b[64], c[64], d[64], name[64];
    pw_result_answer(result, mode, "mean %s, median %s, 99th percentile %s, last %s", pw_layout_seconds(t->mean_s, a, sizeof a),
                     pw_layout_seconds(t->p50_s, b, sizeof b), pw_layout_seconds(t->p99_s, c, sizeof c), pw_layout_seconds(t->last_s, d, sizeof d));
    const struct {
        const char *name;
        double value;
    } figures[] = {{"mean_s", t->mean_s}, {"p50_s", t->p50_s}, {"p99_s", t->p99_s}, {"worst_s", t->worst_s}, {"last_s", t->last_s}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        snprintf(name, sizeof name, "%s_%s", mode, figures[i].name);
        pw_result_figure(result, name, figures[i].value, "s");
    }
}

static void put_packets(const pw_question_result *r, pw_run_result *result) {
    char a[64], b[64], c[64], d[64];
    const pw_packet_result *p = &r->packet;
    pw_result_answer(result, "packets", "%s sent, %s trimmed and sent again, %s marked, %s lost", pw_layout_count((int64_t)p->packets, a, sizeof a),
                     pw_layout_count((int64_t)p->trims, b, sizeof b), pw_layout_count((int64_t)p->marks, c, sizeof c),
                     p->lost ? pw_layout_count((int64_t)p->lost, d, sizeof d) : "none");
    if (r->packet_desc.pfc)
        pw_result_answer(result, "pauses", "%s, %s of link time", pw_layout_count((int64_t)p->pauses, a, sizeof a), pw_layout_seconds(p->paused_s, b, sizeof b));
    double fullest = r->fullest ? p->links[p->fullest].peak_bytes : 0;
    if (r->fullest)
        pw_result_answer(result, "queue", "largest %s before %.100s", pw_unit_format(fullest, PW_UNIT_BYTES, d, sizeof d), r->fullest);
    pw_result_figure(result, "packets", (double)p->packets, "");
    pw_result_figure(result, "packet_hops", (double)p->packet_hops, "");
    pw_result_figure(result, "trims", (double)p->trims, "");
    pw_result_figure(result, "drops", (double)p->lost, "");
    pw_result_figure(result, "marks", (double)p->marks, "");
    pw_result_figure(result, "pauses", (double)p->pauses, "");
    pw_result_figure(result, "paused_s", p->paused_s, "s");
    pw_result_figure(result, "largest_queue", fullest, "bytes");
    pw_result_word(result, "largest_queue_link", r->fullest ? r->fullest : "");
}

static void put_gap(const pw_question_result *r, pw_run_result *result) {
    double mean = r->packet_times.mean_s / r->flow_times.mean_s - 1, last = r->packet_times.last_s / r->flow_times.last_s - 1;
    pw_result_answer(result, "gap", "packets over flows: mean %+.1f %%, last %+.1f %%; single flows differ by %.1f %% on average, %.1f %% at most", 100 * mean,
                     100 * last, 100 * r->mean_gap, 100 * r->worst_gap);
    pw_result_figure(result, "mean_packet_over_flow", mean + 1, "");
    pw_result_figure(result, "last_packet_over_flow", last + 1, "");
    pw_result_figure(result, "flow_gap_mean", r->mean_gap, "");
    pw_result_figure(result, "flow_gap_worst", r->worst_gap, "");
}

static void put_links(const pw_question_result *r, pw_run_result *result) {
    pw_result_row *rows = pw_result_rows(result, "link", r->link_count);
    result->bare_rows = true;
    for (uint32_t i = 0; rows && i < r->link_count; i++) {
        const pw_question_link *link = &r->links[i];
        rows[i].name = link->name;
        if (r->has_flow) pw_row_figure(result, &rows[i], "flow_use_%", 100 * link->flow_utilization, "%");
        if (!r->has_packet) continue;
        pw_row_figure(result, &rows[i], "packet_use_%", 100 * link->packet_utilization, "%");
        pw_row_figure(result, &rows[i], "queue_peak_kB", link->packet.peak_bytes / 1e3, "kB");
        pw_row_figure(result, &rows[i], "queue_mean_kB", link->packet.mean_bytes / 1e3, "kB");
        pw_row_figure(result, &rows[i], "marks", (double)link->packet.marks, "");
        pw_row_figure(result, &rows[i], "trims", (double)link->packet.trims, "");
        pw_row_figure(result, &rows[i], "paused_us", link->packet.paused_s * 1e6, "us");
    }
    pw_result_figure(result, "links_used", r->links_used, "");
}

/* Paths of a question are its own: what the network says of them beyond hashes and fixed ones would have no effect. */
static pw_status check_routing(const pw_job_call *call, pw_error *error) {
    const pw_network_desc *network = &call->cluster->network;
    const char *hint = "leave it out: traffic.paths says over how many hashes a flow is spread";
    if (network->routing == PW_ROUTING_ADAPTIVE)
        return pw_fail(error, PW_UNSUPPORTED, call->file, call->line, hint, "a question to the network has no adaptive routing (network.routing)");
    if (network->flows_per_pair > 1)
        return pw_fail(error, PW_UNSUPPORTED, call->file, call->line, hint, "a question to the network says its flows itself (network.flows_per_pair)");
    return PW_OK;
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    PW_TRY(check_routing(call, error));
    const pw_question_desc *desc = call->desc;
    pw_question_result *r = pw_arena_alloc(result->arena, sizeof *r);
    if (!r) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    PW_TRY(pw_question_run(call->allocator, call->catalogue, call->cluster, desc, call->seed, call->interrupt, call->file, call->line, result->arena, r,
                           error));
    result->device = r->device;
    result->gpus = r->gpus;
    result->hash = r->hash;
    put_head(desc, r, result);
    pw_result_figure(result, "flows", r->traffic.count, "");
    pw_result_figure(result, "bytes", r->traffic.bytes, "bytes");
    if (r->has_flow) put_times(result, "flow", &r->flow_times);
    if (r->has_packet) put_times(result, "packet", &r->packet_times);
    if (r->has_flow && r->has_packet) put_gap(r, result);
    if (r->has_packet) put_packets(r, result);
    put_links(r, result);
    if (r->has_packet && r->packet_desc.transport == PW_TRANSPORT_CREDIT) {
        char a[64], b[64];
        pw_result_note(result, "windows of %s, queues of %s", pw_unit_format(r->packet_desc.window_bytes, PW_UNIT_BYTES, a, sizeof a),
                       pw_unit_format(r->packet_desc.queue_bytes, PW_UNIT_BYTES, b, sizeof b));
    }
    if (r->has_packet && 2 * r->packet.trims > r->packet.packets)
        pw_result_note(result, "more than half of the packets were trimmed: credits are paced by the receivers' links, and the network between is smaller; "
                               "compare transport dcqcn");
    if (r->links_used > r->link_count) pw_result_note(result, "%u of %u used links are listed (links = %u)", r->link_count, r->links_used, r->link_count);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_traffic = {.kind = &pw_traffic_kind, .run = run};
