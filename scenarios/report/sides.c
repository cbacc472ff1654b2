/* The report of jobs side by side: what each lost to whom, the links most in use, then the report of each job. */
#include "scenarios/report/sides.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/report/layout.h"

enum { MOST_LINKS = 8, WIDEST = 28 };

/* ---- Links by use ---- */

typedef struct ranked { uint32_t index; double use; } ranked;

static int compare_use(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->use != b->use) return a->use > b->use ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static double bytes_of(const pw_side_by_side *sides, uint32_t link) {
    double bytes = 0;
    for (uint32_t j = 0; j < sides->count; j++) bytes += pw_watch_bytes(sides->watch, link, j);
    return bytes;
}

/* By mean use of their bandwidth; returns how many. */
static uint32_t rank_links(const pw_side_by_side *sides, ranked top[MOST_LINKS]) {
    uint32_t count = 0, links = pw_watch_links(sides->watch);
    double seconds = pw_time_to_seconds(pw_watch_span(sides->watch, NULL), PW_TICKS_PER_SECOND_STEP);
    for (uint32_t l = 0; l < links; l++) {
        ranked one = {l, bytes_of(sides, l) / seconds / pw_watch_link(sides->watch, l).bandwidth_Bps};
        uint32_t at = count;
        while (at > 0 && compare_use(&one, &top[at - 1]) < 0) at--;
        if (at == MOST_LINKS) continue;
        if (count < MOST_LINKS) count++;
        memmove(&top[at + 1], &top[at], (count - 1 - at) * sizeof *top);
        top[at] = one;
    }
    return count;
}

static void put_links(const pw_side_by_side *sides, pw_file *file) {
    ranked top[MOST_LINKS];
    char name[160], text[64];
    uint32_t count = rank_links(sides, top);
    if (count == 0) return;
    pw_file_print(file, "\n  links most in use (mean over the run)\n    %-34s %7s %8s %8s %10s  %s\n", "first of them", "alike", "mean", "peak",
                  "full for", "whose bytes");
    for (uint32_t i = 0; i < count; i++) {
        pw_watched_link link = pw_watch_link(sides->watch, top[i].index);
        double bytes = bytes_of(sides, top[i].index);
        pw_file_print(file, "    %-34.34s %7" PRIu32 " %6.1f %% %6.1f %% %10s ", pw_link_name(&sides->names, link.link, name, sizeof name),
                      link.links, 100 * top[i].use, 100 * link.peak, pw_layout_seconds(link.full_s, text, sizeof text));
        const char *comma = " ";
        for (uint32_t j = 0; j < sides->count; j++) {
            double own = pw_watch_bytes(sides->watch, top[i].index, j);
            if (!(own > 0)) continue;
            pw_file_print(file, "%s%.*s %.0f %%", comma, WIDEST, sides->jobs[j].name, 100 * own / bytes);
            comma = ", ";
        }
        pw_file_text(file, "\n");
    }
}

/* ---- Text ---- */

static const char *nodes_text(const pw_side_job *job, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (uint32_t i = 0, from; i < job->node_count && job->nodes; i++) {
        for (from = i; i + 1 < job->node_count && job->nodes[i + 1] == job->nodes[i] + 1;) i++;
        char one[40];
        if (from == i) snprintf(one, sizeof one, "%s%" PRIu32, used ? ", " : "", job->nodes[i]);
        else snprintf(one, sizeof one, "%s%" PRIu32 "-%" PRIu32, used ? ", " : "", job->nodes[from], job->nodes[i]);
        if (used + strlen(one) + 8 > size) {
            snprintf(text + used, size - used, ", ...");
            return text;
        }
        used += (size_t)snprintf(text + used, size - used, "%s", one);
    }
    return text;
}

static void put_losses(const pw_side_by_side *sides, const pw_side_job *job, pw_file *file) {
    char text[64];
    const char *comma = "  ";
    for (uint32_t k = 0; k < sides->count; k++) {
        if (job->lost_to_s[k] == 0) continue;
        pw_file_print(file, "%s%.*s %s", comma, WIDEST, sides->jobs[k].name, pw_layout_seconds(job->lost_to_s[k], text, sizeof text));
        comma = ", ";
    }
    if (job->unexplained_s != 0) pw_file_print(file, "%sno link explains %s", comma, pw_layout_seconds(job->unexplained_s, text, sizeof text));
    else if (*comma == ' ') pw_file_text(file, "  nothing");
}

static void put_jobs(const pw_side_by_side *sides, pw_file *file) {
    char a[64], b[64], c[64];
    int width = 4;
    for (uint32_t j = 0; j < sides->count; j++)
        if (pw_layout_width(sides->jobs[j].name) > width) width = pw_layout_width(sides->jobs[j].name);
    if (width > WIDEST) width = WIDEST;
    pw_file_print(file, "\n    %-*s %6s %6s %10s %11s %11s %9s  %s\n", width, "job", "nodes", "steps", "start", "alone", "together", "slowdown",
                  "lost to");
    for (uint32_t j = 0; j < sides->count; j++) {
        const pw_side_job *job = &sides->jobs[j];
        pw_file_print(file, "    %-*.*s %6" PRIu32 " ", width, WIDEST, job->name, job->node_count);
        if (job->is_endless) {
            pw_file_print(file, "%6s %10s %11s %11s %9s  goes on until the others end\n", "", pw_layout_seconds(job->start_s, a, sizeof a), "",
                          pw_layout_seconds(job->together_s, b, sizeof b), "");
            continue;
        }
        pw_file_print(file, "%6" PRIu32 " %10s %11s %11s %7.3f x", job->rounds, pw_layout_seconds(job->start_s, a, sizeof a),
                      pw_layout_seconds(job->alone_s, b, sizeof b), pw_layout_seconds(job->together_s, c, sizeof c),
                      job->alone_s > 0 ? job->together_s / job->alone_s : 1);
        put_losses(sides, job, file);
        pw_file_text(file, "\n");
    }
}

void pw_report_sides_text(const pw_sides_report *r, pw_file *file) {
    const pw_side_by_side *sides = r->sides;
    char a[64], line[700], nodes[200];
    pw_file_print(file, "%s\n\n", r->title);
    snprintf(line, sizeof line, "%s node%s of %.200s%s%s", pw_layout_count(r->cluster->nodes, a, sizeof a), r->cluster->nodes == 1 ? "" : "s",
             r->server, r->cluster->nodes > 1 ? ", " : "",
             r->cluster->nodes > 1 ? pw_report_value(pw_kind_field(&pw_network_kind, "topology"), &r->cluster->network, nodes, sizeof nodes) : "");
    size_t used = strlen(line);
    if (r->cluster->nodes > 1 && r->cluster->network.oversubscription > 1)
        snprintf(line + used, sizeof line - used, ", %g:1 oversubscribed", r->cluster->network.oversubscription);
    pw_file_print(file, "  cluster  %s\n", line);
    put_jobs(sides, file);
    put_links(sides, file);
    for (uint32_t j = 0; j < sides->count; j++) {
        const pw_side_job *job = &sides->jobs[j];
        pw_file_print(file, "\n%s (o.%s%s%s)\n\n", job->name, job->kind->name, job->nodes ? ", nodes " : "", nodes_text(job, nodes, sizeof nodes));
        pw_report_result_text(&job->result, r->long_notes, file);
    }
    pw_file_print(file, "\n  run      podwright %s, seed %" PRIu64 ", hash %016" PRIx64 "\n", r->version, r->seed, sides->hash);
}

/* ---- JSON ---- */

void pw_report_json_links(pw_json *json, const pw_side_by_side *sides) {
    ranked top[MOST_LINKS];
    char name[160];
    uint32_t count = rank_links(sides, top);
    pw_json_array(json, "links");
    for (uint32_t i = 0; i < count; i++) {
        pw_watched_link link = pw_watch_link(sides->watch, top[i].index);
        pw_json_object(json, NULL);
        pw_json_text(json, "link", pw_link_name(&sides->names, link.link, name, sizeof name));
        pw_json_integer(json, "alike", link.links);
        pw_json_number(json, "bandwidth_Bps", link.bandwidth_Bps);
        pw_json_number(json, "mean_use", top[i].use);
        pw_json_number(json, "peak_use", link.peak);
        pw_json_number(json, "full_s", link.full_s);
        pw_json_object(json, "bytes");
        for (uint32_t j = 0; j < sides->count; j++) pw_json_number(json, sides->jobs[j].name, pw_watch_bytes(sides->watch, top[i].index, j));
        pw_json_end(json);
        pw_json_end(json);
    }
    pw_json_end(json);
}

static void json_job(pw_json *json, const pw_side_by_side *sides, uint32_t number) {
    const pw_side_job *job = &sides->jobs[number];
    pw_json_object(json, NULL);
    pw_json_text(json, "name", job->name);
    pw_json_array(json, "nodes");
    for (uint32_t i = 0; job->nodes && i < job->node_count; i++) pw_json_integer(json, NULL, job->nodes[i]);
    pw_json_end(json);
    pw_json_number(json, "start_s", job->start_s);
    pw_json_number(json, "end_s", job->end_s);
    pw_json_bool(json, "endless", job->is_endless);
    pw_json_number(json, "together_s", job->together_s);
    if (!job->is_endless) {
        pw_json_integer(json, "steps", job->rounds);
        pw_json_number(json, "alone_s", job->alone_s);
        pw_json_number(json, "slowdown", job->alone_s > 0 ? job->together_s / job->alone_s : 1);
        pw_json_object(json, "lost_to_s");
        for (uint32_t k = 0; k < sides->count; k++)
            if (k != number) pw_json_number(json, sides->jobs[k].name, job->lost_to_s[k]);
        pw_json_end(json);
        pw_json_number(json, "unexplained_s", job->unexplained_s);
    }
    pw_json_object(json, "job");
    pw_json_text(json, "kind", job->kind->name);
    pw_report_json_fields(json, job->kind, job->desc);
    pw_json_end(json);
    pw_json_object(json, "result");
    pw_report_result_json(json, &job->result);
    pw_json_end(json);
    pw_json_end(json);
}

void pw_report_sides_json(const pw_sides_report *r, pw_file *file) {
    char hash[32];
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.jobs/1");
    pw_json_text(&json, "version", r->version);
    pw_json_integer(&json, "seed", (int64_t)r->seed);
    pw_json_text(&json, "scenario", r->title);
    pw_json_object(&json, "cluster");
    pw_report_json_fields(&json, &pw_cluster_kind, r->cluster);
    pw_json_end(&json);
    pw_json_number(&json, "end_s", r->sides->end_s);
    pw_json_array(&json, "jobs");
    for (uint32_t j = 0; j < r->sides->count; j++) json_job(&json, r->sides, j);
    pw_json_end(&json);
    pw_report_json_links(&json, r->sides);
    snprintf(hash, sizeof hash, "%016" PRIx64, r->sides->hash);
    pw_json_text(&json, "hash", hash);
    pw_json_end(&json);
}

/* ---- CSV ---- */

static void csv_line(pw_file *file, const char *job, const char *name, double value, const char *unit) {
    char text[300];
    snprintf(text, sizeof text, "%.100s.%.160s", job, name);
    pw_file_csv_text(file, text);
    pw_file_csv_number(file, value);
    pw_file_csv_text(file, unit);
    pw_file_csv_end(file);
}

void pw_report_sides_csv(const pw_sides_report *r, pw_file *file) {
    const pw_side_by_side *sides = r->sides;
    char name[160];
    pw_file_text(file, "name,value,unit\n");
    for (uint32_t j = 0; j < sides->count; j++) {
        const pw_side_job *job = &sides->jobs[j];
        csv_line(file, job->name, "start", job->start_s, "s");
        csv_line(file, job->name, "together", job->together_s, "s");
        if (!job->is_endless) {
            csv_line(file, job->name, "steps", job->rounds, "");
            csv_line(file, job->name, "alone", job->alone_s, "s");
            for (uint32_t k = 0; k < sides->count; k++) {
                if (k == j) continue;
                snprintf(name, sizeof name, "lost_to.%.100s", sides->jobs[k].name);
                csv_line(file, job->name, name, job->lost_to_s[k], "s");
            }
            csv_line(file, job->name, "unexplained", job->unexplained_s, "s");
        }
        for (uint32_t i = 0; i < job->result.figure_count; i++)
            if (!job->result.figures[i].text)
                csv_line(file, job->name, job->result.figures[i].name, job->result.figures[i].value, job->result.figures[i].unit);
        for (uint32_t i = 0; i < job->result.part_count; i++) {
            snprintf(name, sizeof name, "blame.%.100s", job->result.parts[i].name);
            csv_line(file, job->name, name, job->result.parts[i].seconds, "s");
        }
    }
}
