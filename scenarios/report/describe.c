/* The report of `describe`: what a cluster is made of, and every field with its value and origin. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/describe_internal.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/wiring.h"

typedef struct fact {
    const char *name, *text;
    double value;
    pw_unit unit;
} fact;
enum { MOST_FACTS = 32 };

static int facts_of(const pw_describe_report *r, fact *facts) {
    const pw_cluster *cluster = r->cluster;
    const pw_device *device = pw_cluster_device(cluster);
    const pw_network *network = pw_cluster_network(cluster);
    pw_cluster_part part = pw_cluster_get_part(cluster, 0);
    pw_longest_route route = pw_wiring_longest_route(cluster);
    double halves_Bps = pw_wiring_scaleup_bisection_Bps(cluster, 0);
    double memory_bytes = 0, peak_flops = 0;
    for (uint32_t i = 0; i < pw_cluster_parts(cluster); i++) {
        pw_cluster_part each = pw_cluster_get_part(cluster, i);
        memory_bytes += each.device->memory_bytes * each.gpus;
        peak_flops += each.device->peak_flops[PW_PRECISION_BF16] * each.gpus;
    }
    int count = 0;
#define ADD(...) facts[count++] = (fact){__VA_ARGS__}
    ADD("nodes", NULL, pw_cluster_nodes(cluster), PW_UNIT_NONE);
    ADD("gpus", NULL, pw_cluster_gpus(cluster), PW_UNIT_NONE);
    if (pw_cluster_parts(cluster) > 1) ADD("node_types", NULL, pw_cluster_parts(cluster), PW_UNIT_NONE); /* what follows is the first's */
    ADD("gpu", device->name, NAN, PW_UNIT_NONE);
    ADD("gpus_per_node", NULL, pw_cluster_gpus_per_node(cluster), PW_UNIT_NONE);
    ADD("host", pw_cluster_host(cluster), NAN, PW_UNIT_NONE);
    ADD("memory_per_gpu", NULL, device->memory_bytes, PW_UNIT_BYTES);
    ADD("memory_bandwidth", NULL, device->memory_Bps, PW_UNIT_BYTES_PER_SECOND);
    ADD("peak_bf16_per_gpu", NULL, device->peak_flops[PW_PRECISION_BF16], PW_UNIT_FLOPS);
    ADD("scale_up_bandwidth_per_gpu", NULL, pw_cluster_scaleup_Bps(cluster), PW_UNIT_BYTES_PER_SECOND);
    ADD("scale_up_domain", NULL, pw_cluster_scaleup_domain(cluster), PW_UNIT_NONE);
    if (halves_Bps > 0) ADD("scale_up_bisection", NULL, halves_Bps, PW_UNIT_BYTES_PER_SECOND);
    ADD("pcie_switches_per_node", NULL, part.pcie_switches_per_node, PW_UNIT_NONE);
    ADD("cpus_per_node", NULL, part.sockets_per_node, PW_UNIT_NONE);
    ADD("nics_per_node", NULL, pw_cluster_nics_per_node(cluster), PW_UNIT_NONE);
    ADD("nic_payload", NULL, pw_cluster_nic_Bps(cluster), PW_UNIT_BYTES_PER_SECOND);
    if (network) {
        pw_network_facts n = pw_network_get_facts(network);
        ADD("tiers", NULL, n.tiers, PW_UNIT_NONE);
        ADD("leaf_switches", NULL, n.leaves, PW_UNIT_NONE);
        ADD("spine_switches", NULL, n.spines, PW_UNIT_NONE);
        ADD("core_switches", NULL, n.cores, PW_UNIT_NONE);
        ADD("cables", NULL, n.cables, PW_UNIT_NONE);
        ADD("bisection", NULL, n.bisection_Bps, PW_UNIT_BYTES_PER_SECOND);
    }
    if (route.links) {
        ADD("links_of_longest_route", NULL, route.links, PW_UNIT_NONE);
        ADD("latency_of_longest_route", NULL, route.latency_s, PW_UNIT_SECONDS);
    }
    if (route.unreached) ADD("gpu_pairs_without_route", NULL, route.unreached, PW_UNIT_NONE);
    pw_cooling *cooling;
    if (pw_cluster_cooling(cluster) && pw_cluster_make_cooling(cluster, 0, 1, NULL, &cooling, NULL) == PW_OK) { /* said, and so tried before */
        for (uint32_t gpu = 0; gpu < pw_cluster_gpus_per_node(cluster); gpu++) pw_cooling_set_gpu(cooling, gpu, device->tdp_W, NAN);
        ADD("cooling", pw_cooling_get_facts(cooling).row, NAN, PW_UNIT_NONE);
        if (isfinite(device->tdp_W) && pw_cooling_settle(cooling, 0, 1, NULL) == PW_OK) {
            ADD("hottest_gpu_at_rated_power", NULL, pw_cooling_node(cooling, 0).hottest_C, PW_UNIT_CELSIUS);
            ADD("fan_power_of_a_node_then", NULL, pw_cooling_node(cooling, 0).fan_W, PW_UNIT_WATTS);
        }
        pw_cooling_destroy(cooling);
    }
    ADD("memory_of_all_gpus", NULL, memory_bytes, PW_UNIT_BYTES);
    ADD("peak_bf16_of_all_gpus", NULL, peak_flops, PW_UNIT_FLOPS);
#undef ADD
    return count;
}

static int links_of(const pw_cluster *cluster, double *counts, double *slowest, double *fastest) {
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    for (int kind = 0; kind < PW_LINK_KIND_COUNT; kind++) counts[kind] = 0, slowest[kind] = INFINITY, fastest[kind] = 0;
    for (uint32_t i = 0; i < pw_fabric_links(fabric); i++) {
        const pw_link_info *link = pw_fabric_link(fabric, i);
        counts[link->kind]++;
        if (link->bandwidth_Bps < slowest[link->kind]) slowest[link->kind] = link->bandwidth_Bps;
        if (link->bandwidth_Bps > fastest[link->kind]) fastest[link->kind] = link->bandwidth_Bps;
    }
    return PW_LINK_KIND_COUNT;
}

static void put_job_figure(const pw_figure *figure, bool is_first, pw_file *file) {
    char text[64];
    bool is_count = figure->value == (double)(int64_t)figure->value;
    if (figure->text) snprintf(text, sizeof text, "%.60s", figure->text);
    else if (strcmp(figure->unit, "s") == 0) pw_layout_seconds(figure->value, text, sizeof text);
    else if (strcmp(figure->unit, "bytes") == 0) pw_unit_format(figure->value, PW_UNIT_BYTES, text, sizeof text);
    else if (is_count) pw_layout_count((int64_t)figure->value, text, sizeof text);
    else pw_layout_rate(figure->value, text, sizeof text);
    bool has_unit = !figure->text && *figure->unit && strcmp(figure->unit, "s") != 0 && strcmp(figure->unit, "bytes") != 0;
    pw_file_print(file, "%s  %-28s %s%s%s\n", is_first ? "\n" : "", figure->name, text, has_unit ? " " : "",
                  has_unit ? figure->unit : "");
}

void pw_report_describe_text(const pw_describe_report *r, pw_file *file) {
    fact facts[MOST_FACTS];
    char text[128], count[64];
    int fact_count = facts_of(r, facts);
    pw_file_print(file, "%s\n\n", r->title);
    for (int i = 0; i < fact_count; i++) {
        const fact *f = &facts[i];
        if (!f->text && f->unit == PW_UNIT_NONE) pw_layout_count((int64_t)f->value, text, sizeof text);
        else if (!f->text) pw_unit_format(f->value, f->unit, text, sizeof text);
        pw_file_print(file, "  %-28s %s\n", f->name, f->text ? f->text : text);
    }
    pw_file_text(file, "\n  links of the fabric, one direction (payload)\n");
    double counts[PW_LINK_KIND_COUNT], slowest[PW_LINK_KIND_COUNT], fastest[PW_LINK_KIND_COUNT];
    int kinds = links_of(r->cluster, counts, slowest, fastest);
    for (int kind = 0; kind < kinds; kind++) {
        if (counts[kind] == 0) continue;
        pw_file_print(file, "  %-14s %10s x %s", pw_link_kind_names[kind],
                      pw_layout_count((int64_t)counts[kind], count, sizeof count),
                      pw_unit_format(slowest[kind], PW_UNIT_BYTES_PER_SECOND, text, sizeof text));
        if (fastest[kind] > slowest[kind])
            pw_file_print(file, " to %s", pw_unit_format(fastest[kind], PW_UNIT_BYTES_PER_SECOND, text, sizeof text));
        pw_file_text(file, "\n");
    }
    describe_wiring_text(r, file);
    describe_power_text(r, file);
    for (uint32_t i = 0; r->job && i < r->job->figure_count; i++) put_job_figure(&r->job->figures[i], i == 0, file);
    for (uint32_t i = 0; r->job && i < r->job->note_count; i++)
        pw_file_print(file, "%s    - %.900s\n", i ? "" : "\n  notes\n", r->job->notes[i]);
    pw_file_print(file, "\n  %-32s %-24s %s\n", "field", "value", "from");
    for (size_t i = 0; i < r->field_count; i++) {
        const pw_described_field *f = &r->fields[i];
        pw_file_print(file, "  %-32s %-24s %s\n", f->path, pw_report_value(f->field, f->description, text, sizeof text),
                      f->origin);
    }
}

void pw_report_describe_json(const pw_describe_report *r, pw_file *file) {
    fact facts[MOST_FACTS];
    char text[256];
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.describe/1");
    pw_json_text(&json, "version", r->version);
    pw_json_text(&json, "scenario", r->title);
    pw_json_object(&json, "cluster");
    int count = facts_of(r, facts);
    for (int i = 0; i < count; i++) {
        if (facts[i].text) pw_json_text(&json, facts[i].name, facts[i].text);
        else pw_json_number(&json, facts[i].name, facts[i].value);
    }
    pw_json_array(&json, "links");
    double counts[PW_LINK_KIND_COUNT], slowest[PW_LINK_KIND_COUNT], fastest[PW_LINK_KIND_COUNT];
    int kinds = links_of(r->cluster, counts, slowest, fastest);
    for (int kind = 0; kind < kinds; kind++) {
        if (counts[kind] == 0) continue;
        pw_json_object(&json, NULL);
        pw_json_text(&json, "kind", pw_link_kind_names[kind]);
        pw_json_number(&json, "count", counts[kind]);
        pw_json_number(&json, "slowest_Bps", slowest[kind]);
        pw_json_number(&json, "fastest_Bps", fastest[kind]);
        pw_json_end(&json);
    }
    pw_json_end(&json);
    describe_wiring_json(r, &json);
    describe_power_json(r, &json);
    pw_json_end(&json);
    if (r->job) {
        pw_json_object(&json, "job");
        for (uint32_t i = 0; i < r->job->figure_count; i++) {
            const pw_figure *figure = &r->job->figures[i];
            if (figure->text) pw_json_text(&json, figure->name, figure->text);
            else pw_json_number(&json, figure->name, figure->value);
        }
        pw_json_end(&json);
        if (r->job->note_count) pw_json_array(&json, "notes");
        for (uint32_t i = 0; i < r->job->note_count; i++) pw_json_text(&json, NULL, r->job->notes[i]);
        if (r->job->note_count) pw_json_end(&json);
    }
    pw_json_array(&json, "fields");
    for (size_t i = 0; i < r->field_count; i++) {
        const pw_described_field *f = &r->fields[i];
        pw_json_object(&json, NULL);
        pw_json_text(&json, "path", f->path);
        pw_json_text(&json, "value", pw_report_value(f->field, f->description, text, sizeof text));
        pw_json_text(&json, "from", f->origin);
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_end(&json);
}
