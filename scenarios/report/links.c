/* Names of links, and the table of their use over time. */
#include <inttypes.h>
#include <stdio.h>

#include "scenarios/report/sides.h"

const char *pw_link_name(const pw_part_names *names, pw_link link, char *text, size_t size) {
    const pw_link_info *info = pw_fabric_link(names->fabric, link);
    char from[64], to[64];
    snprintf(text, size, "%s -> %s", pw_part_name(names, info->from, from, sizeof from), pw_part_name(names, info->to, to, sizeof to));
    return text;
}

void pw_report_links_csv(const pw_side_by_side *sides, pw_file *file) {
    const pw_watch *watch = sides->watch;
    pw_time bin, end = pw_watch_span(watch, &bin);
    char name[160];
    static const char *const columns[] = {"link", "kind", "links", "bandwidth_Bps", "start_s", "end_s", "use"};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) pw_file_csv_text(file, columns[c]);
    for (uint32_t j = 0; j < sides->count; j++) {
        snprintf(name, sizeof name, "%.140s_Bps", sides->jobs[j].name);
        pw_file_csv_text(file, name);
    }
    pw_file_csv_end(file);
    for (uint32_t l = 0; l < pw_watch_links(watch); l++) {
        pw_watched_link link = pw_watch_link(watch, l);
        pw_link_name(&sides->names, link.link, name, sizeof name);
        uint32_t b = 0;
        for (pw_time from = 0; from < end; from += bin, b++) {
            pw_time to = from + bin < end ? from + bin : end;
            double seconds = pw_time_to_seconds(to - from, PW_TICKS_PER_SECOND_STEP), sum = 0;
            for (uint32_t j = 0; j < sides->count; j++) sum += pw_watch_bin_bytes(watch, l, j, b);
            pw_file_csv_text(file, name);
            pw_file_csv_text(file, pw_link_kind_names[pw_fabric_link(sides->names.fabric, link.link)->kind]);
            pw_file_csv_number(file, link.links);
            pw_file_csv_number(file, link.bandwidth_Bps);
            pw_file_csv_number(file, pw_time_to_seconds(from, PW_TICKS_PER_SECOND_STEP));
            pw_file_csv_number(file, pw_time_to_seconds(to, PW_TICKS_PER_SECOND_STEP));
            pw_file_csv_number(file, sum / seconds / link.bandwidth_Bps);
            for (uint32_t j = 0; j < sides->count; j++) pw_file_csv_number(file, pw_watch_bin_bytes(watch, l, j, b) / seconds);
            pw_file_csv_end(file);
        }
    }
}

static void put_what(const pw_side_job *job, const pw_watched_flow *flow, pw_file *file) {
    char text[200];
    switch (flow->kind) {
        case 0:
            snprintf(text, sizeof text, "%s %s", flow->role < job->role_count ? job->roles[flow->role] : "group",
                     pw_collective_names[flow->what]);
            break;
        case 1: snprintf(text, sizeof text, "send %s", flow->what < job->peer_count ? job->peers[flow->what] : "message"); break;
        case 2: snprintf(text, sizeof text, flow->what ? "copy to host" : "copy to device"); break;
        default: snprintf(text, sizeof text, flow->what & 1 ? "write" : "read"); break;
    }
    pw_file_csv_text(file, text);
}

static void put_gpu(uint32_t gpu, pw_file *file) {
    if (gpu == PW_NONE) pw_file_csv_text(file, "");
    else pw_file_csv_number(file, gpu);
}

void pw_report_flows_csv(const pw_side_by_side *sides, pw_file *file) {
    size_t count;
    uint64_t left_out;
    char name[160];
    const pw_watched_flow *flows = pw_watch_flows(sides->watch, &count, &left_out);
    pw_file_text(file, "job,what,from_gpu,to_gpu,members,count,bytes,start_s,end_s,rate_Bps,alone_Bps,slowdown,held_s,limit\n");
    for (size_t f = 0; f < count; f++) {
        const pw_watched_flow *flow = &flows[f];
        const pw_side_job *job = &sides->jobs[flow->job];
        double seconds = pw_time_to_seconds(flow->end - flow->start, PW_TICKS_PER_SECOND_STEP), rate = seconds > 0 ? flow->bytes / seconds : 0;
        pw_file_csv_text(file, job->name);
        put_what(job, flow, file);
        put_gpu(flow->from, file);
        put_gpu(flow->to, file);
        pw_file_csv_number(file, flow->members);
        pw_file_csv_number(file, flow->count);
        pw_file_csv_number(file, flow->bytes);
        pw_file_csv_number(file, pw_time_to_seconds(flow->start, PW_TICKS_PER_SECOND_STEP));
        pw_file_csv_number(file, pw_time_to_seconds(flow->end, PW_TICKS_PER_SECOND_STEP));
        pw_file_csv_number(file, rate);
        pw_file_csv_number(file, flow->free_Bps);
        pw_file_csv_number(file, rate > 0 ? flow->free_Bps / rate : 1);
        pw_file_csv_number(file, flow->held_s);
        pw_file_csv_text(file, flow->limit == PW_NONE ? "" : pw_link_name(&sides->names, pw_watch_link(sides->watch, flow->limit).link,
                                                                          name, sizeof name));
        pw_file_csv_end(file);
    }
    if (left_out) {
        snprintf(name, sizeof name, "(%" PRIu64 " more transfers are left out)", left_out);
        pw_file_csv_text(file, name);
        pw_file_csv_end(file);
    }
}
