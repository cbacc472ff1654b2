/* The part of `describe` about switches, cables and links. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/describe_internal.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/wiring.h"

static void put_network(const pw_network_facts *network, pw_file *file) {
    char count[32], cables[32], rate[64];
    pw_file_print(file, "\n  %-24s %10s %24s\n", "switches", "count", "cables of the fullest");
    for (uint32_t t = 0; t < network->tier_count; t++)
        pw_file_print(file, "  %-24s %10s %24s\n", network->tier[t].name, pw_layout_count(network->tier[t].switches, count, sizeof count),
                      pw_layout_count(network->tier[t].most_cables, cables, sizeof cables));
    pw_file_print(file, "\n  %-24s %10s %24s\n", "cables of the network", "count", "payload, one direction");
    for (uint32_t c = 0; c < network->cable_count; c++)
        pw_file_print(file, "  %-24s %10s %24s\n", network->cable[c].name, pw_layout_count(network->cable[c].cables, count, sizeof count),
                      pw_unit_format(network->cable[c].cable_Bps, PW_UNIT_BYTES_PER_SECOND, rate, sizeof rate));
}

/* "READ: A100 copies, 274 GB/s", cut at a word where it is long. */
static void put_source(const char *provenance, const char *source, pw_file *file) {
    enum { LONGEST = 60 };
    size_t length = strlen(source), shown = length;
    if (length > LONGEST)
        for (shown = LONGEST; shown > 0 && source[shown] != ' ';) shown--;
    pw_file_print(file, "%s%s%.*s%s\n", provenance, *provenance && *source ? ": " : "", (int)shown, source, shown < length ? " ..." : "");
}

static void put_generations(const pw_cluster *cluster, pw_file *file) {
    char rate[64], payload[64];
    pw_file_print(file, "\n  %-34s %-12s %10s %10s %9s  %s\n", "links, one direction", "generation", "line rate", "payload", "latency",
                  "payload from");
    for (uint32_t part = 0; part < pw_cluster_parts(cluster); part++) {
        pw_link_generation links[PW_LINK_GENERATIONS];
        uint32_t count = pw_cluster_link_generations(cluster, part, links);
        if (pw_cluster_parts(cluster) > 1) {
            pw_cluster_part facts = pw_cluster_get_part(cluster, part);
            pw_file_print(file, "  of %.60s:\n", *facts.server ? facts.server : facts.device->name);
        }
        for (uint32_t i = 0; i < count; i++) {
            const pw_link_generation *link = &links[i];
            if (isnan(link->line_Bps)) snprintf(rate, sizeof rate, "-");
            else pw_unit_format(link->line_Bps, PW_UNIT_BYTES_PER_SECOND, rate, sizeof rate);
            pw_file_print(file, "  %-34s %-12s %10s %10s %6.0f ns  ", link->place, *link->name ? link->name : "-", rate,
                          pw_unit_format(link->payload_Bps, PW_UNIT_BYTES_PER_SECOND, payload, sizeof payload), link->latency_s * 1e9);
            put_source(link->provenance, link->source, file);
        }
    }
}

/* All cables of one medium. */
typedef struct cable_sum {
    const char *medium;
    double cables, power_W, price_USD, low_USD, high_USD, reach_m;
    bool complete; /* every class of cables has this medium */
    char names[96], provenance[32];
} cable_sum;

static uint32_t sum_cables(const pw_describe_report *r, const pw_cluster_facts *facts, cable_sum *sums) {
    uint32_t count = 0;
    for (uint32_t c = 0; c < facts->network.cable_count; c++) {
        pw_cable_choice choices[PW_CABLE_CHOICES];
        double line_Bps = facts->network.cable[c].cable_Bps / facts->network_efficiency, cables = facts->network.cable[c].cables;
        uint32_t media = pw_wiring_cables(r->catalogue, line_Bps, choices);
        for (uint32_t i = 0; i < count; i++) sums[i].complete = false;
        for (uint32_t i = 0; i < media; i++) {
            uint32_t at = 0;
            while (at < count && strcmp(sums[at].medium, choices[i].medium) != 0) at++;
            if (at == count) {
                if (c > 0 || count == PW_CABLE_CHOICES) continue; /* an earlier class has no such cable */
                sums[count++] = (cable_sum){.medium = choices[i].medium, .reach_m = INFINITY};
            }
            cable_sum *sum = &sums[at];
            sum->complete = true;
            sum->cables += cables;
            sum->power_W += 2 * cables * choices[i].end_power_W;
            sum->price_USD += cables * choices[i].price_USD;
            sum->low_USD += cables * choices[i].low_USD;
            sum->high_USD += cables * choices[i].high_USD;
            sum->reach_m = fmin(sum->reach_m, choices[i].reach_m);
            snprintf(sum->provenance, sizeof sum->provenance, "%.30s", choices[i].provenance);
            if (strstr(sum->names, choices[i].name)) continue;
            size_t used = strlen(sum->names);
            snprintf(sum->names + used, sizeof sum->names - used, "%s%.40s", used ? " and " : "", choices[i].name);
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (sums[i].complete) sums[kept++] = sums[i];
    return kept;
}

static void put_cables(const pw_describe_report *r, const pw_cluster_facts *facts, pw_file *file) {
    cable_sum sums[PW_CABLE_CHOICES];
    uint32_t count = sum_cables(r, facts, sums);
    char price[64], low[64], high[64], power[64], reach[32];
    if (count) pw_file_print(file, "\n  %-34s %10s %12s  %s\n", "if all cables of the network are", "reach", "ends draw", "price");
    for (uint32_t i = 0; i < count; i++) {
        const cable_sum *sum = &sums[i];
        snprintf(reach, sizeof reach, "%g m", sum->reach_m);
        pw_file_print(file, "  %-34s %10s %12s  %s USD, %s to %s (%s)\n", sum->names, reach,
                      pw_unit_format(sum->power_W, PW_UNIT_WATTS, power, sizeof power), pw_layout_large(sum->price_USD, price, sizeof price),
                      pw_layout_large(sum->low_USD, low, sizeof low), pw_layout_large(sum->high_USD, high, sizeof high), sum->provenance);
    }
}

void describe_wiring_text(const pw_describe_report *r, pw_file *file) {
    pw_cluster_facts facts = pw_cluster_get_facts(r->cluster);
    if (facts.has_network) put_network(&facts.network, file);
    put_generations(r->cluster, file);
    if (facts.has_network) put_cables(r, &facts, file);
}

static void put_generations_json(const pw_cluster *cluster, pw_json *json) {
    pw_json_array(json, "generations");
    for (uint32_t part = 0; part < pw_cluster_parts(cluster); part++) {
        pw_link_generation links[PW_LINK_GENERATIONS];
        uint32_t count = pw_cluster_link_generations(cluster, part, links);
        for (uint32_t i = 0; i < count; i++) {
            pw_json_object(json, NULL);
            pw_json_integer(json, "part", part);
            pw_json_text(json, "place", links[i].place);
            pw_json_text(json, "name", links[i].name);
            pw_json_number(json, "line_Bps", links[i].line_Bps);
            pw_json_number(json, "payload_Bps", links[i].payload_Bps);
            pw_json_number(json, "latency_s", links[i].latency_s);
            pw_json_text(json, "provenance", links[i].provenance);
            pw_json_text(json, "source", links[i].source);
            pw_json_end(json);
        }
    }
    pw_json_end(json);
}

void describe_wiring_json(const pw_describe_report *r, pw_json *json) {
    pw_cluster_facts facts = pw_cluster_get_facts(r->cluster);
    put_generations_json(r->cluster, json);
    if (!facts.has_network) return;
    pw_json_array(json, "switches");
    for (uint32_t t = 0; t < facts.network.tier_count; t++) {
        pw_json_object(json, NULL);
        pw_json_text(json, "tier", facts.network.tier[t].name);
        pw_json_integer(json, "count", facts.network.tier[t].switches);
        pw_json_integer(json, "most_cables", facts.network.tier[t].most_cables);
        pw_json_end(json);
    }
    pw_json_end(json);
    pw_json_array(json, "network_cables");
    for (uint32_t c = 0; c < facts.network.cable_count; c++) {
        pw_json_object(json, NULL);
        pw_json_text(json, "class", facts.network.cable[c].name);
        pw_json_integer(json, "count", facts.network.cable[c].cables);
        pw_json_number(json, "payload_Bps", facts.network.cable[c].cable_Bps);
        pw_json_end(json);
    }
    pw_json_end(json);
    cable_sum sums[PW_CABLE_CHOICES];
    uint32_t count = sum_cables(r, &facts, sums);
    pw_json_array(json, "cable_choices");
    for (uint32_t i = 0; i < count; i++) {
        pw_json_object(json, NULL);
        pw_json_text(json, "cables", sums[i].names);
        pw_json_text(json, "medium", sums[i].medium);
        pw_json_number(json, "reach_m", sums[i].reach_m);
        pw_json_number(json, "power_W", sums[i].power_W);
        pw_json_number(json, "price_USD", sums[i].price_USD);
        pw_json_number(json, "low_USD", sums[i].low_USD);
        pw_json_number(json, "high_USD", sums[i].high_USD);
        pw_json_text(json, "provenance", sums[i].provenance);
        pw_json_end(json);
    }
    pw_json_end(json);
}
