/* One size in full: where the time goes and what the links carry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/report/layout.h"
#include "scenarios/report/parts.h"
#include "scenarios/sweep/sweep.h"

enum { BUSIEST = 10 };

typedef struct loaded {
    pw_link link;
    double bytes, needed_s;
} loaded;

/* The ten links that need longest, longest first, of equal ones the lower number. Returns how many there are. */
static int busiest(const pw_sweep_report *r, const double *loads, double bytes, loaded *found, uint32_t *used) {
    const pw_fabric *fabric = pw_cluster_fabric(r->config->cluster);
    int count = 0;
    *used = 0;
    for (pw_link link = 0; link < pw_fabric_links(fabric); link++) {
        if (!(loads[link] > 0)) continue;
        loaded one = {link, loads[link] * bytes, loads[link] * bytes / pw_fabric_link(fabric, link)->bandwidth_Bps};
        int at = count;
        ++*used;
        while (at > 0 && found[at - 1].needed_s < one.needed_s) at--;
        if (at == BUSIEST) continue;
        if (count < BUSIEST) count++;
        memmove(&found[at + 1], &found[at], (size_t)(count - 1 - at) * sizeof *found);
        found[at] = one;
    }
    return count;
}

static void put_figure(pw_file *file, const char *name, const char *value, const char *text) {
    pw_file_print(file, "  %-15s %12s  %s\n", name, value, text);
}

static void put_seconds(pw_file *file, const char *name, double value_s, const char *text) {
    char number[64];
    put_figure(file, name, pw_layout_seconds(value_s, number, sizeof number), text);
}

static void put_rate(pw_file *file, const char *name, double value_Bps, const char *text) {
    char number[64];
    if (value_Bps <= 0 || isinf(value_Bps)) return;
    put_figure(file, name, pw_unit_format(value_Bps, PW_UNIT_BYTES_PER_SECOND, number, sizeof number), text);
}

static void put_times(const pw_sweep_report *r, const pw_sweep_row *row, pw_file *file) {
    const pw_collective_cost *cost = &row->cost;
    pw_group_shape none;
    const pw_algorithm *algorithm = pw_collectives_algorithm(r->config->collectives, cost->algorithm, &none);
    char text[256];
    put_seconds(file, "time", row->time_s, r->config->groups.count > 1 ? "mean over the groups, all at once" : "simulated");
    if (r->config->groups.count > 1) {
        put_seconds(file, "slowest group", row->slowest_s, "");
        put_seconds(file, "alone", cost->total_s, "the first group without the others");
    }
    snprintf(text, sizeof text, "%.120s", algorithm->text);
    put_figure(file, "algorithm", pw_collectives_algorithm_name(r->config->collectives, cost->algorithm), text);
    if (cost->protocol) put_figure(file, "protocol", cost->protocol, "");
    if (cost->parameter_line) {
        char line[32];
        snprintf(line, sizeof line, "line %d", cost->parameter_line);
        put_figure(file, "parameters", line, "of collective-parameters.csv");
    }
    put_seconds(file, "latency", cost->alpha_s, "alpha: no bytes flow");
    put_seconds(file, "bytes flow", row->slowest_s - cost->alpha_s, "the rest of the time");
    put_seconds(file, "cut bound", cost->floor_s, "what the group's busiest link needs at least for the bytes");
    put_rate(file, "protocol cap", cost->cap_Bps, "of S, while bytes flow");
    if (cost->floor_s > 0) put_rate(file, "links allow", (double)row->bytes / cost->floor_s, "of S, alone on the fabric");
    if (row->library.algorithm) {
        snprintf(text, sizeof text, "its own cost model, by which it chooses: %s, %s, %u channels", row->library.algorithm,
                 row->library.protocol, row->library.channels);
        put_seconds(file, "library expects", row->library.time_s, text);
    }
    snprintf(text, sizeof text, "%.4g", cost->sms);
    if (cost->sms > 0) put_figure(file, "SMs held", text, "of each GPU while it runs");
    put_rate(file, "HBM traffic", cost->memory_Bps, "of each GPU while it runs");
    put_figure(file, "limit", pw_sweep_limit_names[row->limit],
               row->limit == PW_SWEEP_LATENCY    ? "more than half of the time is latency"
               : row->limit == PW_SWEEP_PROTOCOL ? "the library reaches its cap before a link is full"
                                                 : "a link is full while bytes flow");
}

static void put_shape(const pw_sweep_report *r, const pw_group_shape *shape, pw_file *file) {
    char text[64];
    pw_file_print(file, "  %-15s %12u  %u %s, %s%u in each\n", "ranks", shape->members, shape->domains,
                  shape->domains > 1 ? "NVLink domains or nodes" : "NVLink domain or node", shape->even ? "" : "at most ", shape->per_domain);
    if (r->config->groups.count > 1) pw_file_print(file, "  %-15s %12u  at once\n", "groups", r->config->groups.count);
    put_rate(file, "scale-up", shape->scaleup_Bps, "payload of a GPU inside its domain");
    put_rate(file, "network", shape->network_Bps, "payload of a GPU towards other domains");
    pw_file_print(file, "  %-15s %12s  the longest hop between neighbours\n", "hop",
                  pw_layout_seconds(shape->latency_s, text, sizeof text));
}

static void put_links(const pw_sweep_report *r, const pw_sweep_row *row, const double *loads, const pw_part_names *names,
                      pw_file *file) {
    const pw_fabric *fabric = pw_cluster_fabric(r->config->cluster);
    loaded found[BUSIEST + 1];
    uint32_t used;
    int count = busiest(r, loads, (double)row->bytes, found, &used);
    char text[64], from[64], to[64], route[160];
    pw_file_print(file, "\n  %-36s %-8s %12s %12s %6s\n", "busiest links", "kind", "carries", "payload", "busy");
    for (int i = 0; i < count; i++) {
        const pw_link_info *link = pw_fabric_link(fabric, found[i].link);
        snprintf(route, sizeof route, "%s -> %s", pw_part_name(names, link->from, from, sizeof from),
                 pw_part_name(names, link->to, to, sizeof to));
        pw_file_print(file, "  %-36s %-8s %12s", route, pw_link_kind_names[link->kind],
                      pw_unit_format(found[i].bytes, PW_UNIT_BYTES, text, sizeof text));
        pw_file_print(file, " %12s %4.0f %%\n", pw_unit_format(link->bandwidth_Bps, PW_UNIT_BYTES_PER_SECOND, text, sizeof text),
                      100 * fmin(1, found[i].needed_s / row->slowest_s));
    }
    pw_file_print(file, "  %s of %s links carry something; of links that carry alike the first stands for all\n",
                  pw_layout_count(used, from, sizeof from), pw_layout_count(pw_fabric_links(fabric), to, sizeof to));
}

pw_status pw_sweep_explain(const pw_sweep_report *r, const pw_sweep_row *row, pw_arena *arena, pw_file *file, pw_error *error) {
    const pw_sweep_config *config = r->config;
    const pw_fabric *fabric = pw_cluster_fabric(config->cluster);
    double *loads = pw_arena_alloc(arena, (pw_fabric_links(fabric) + (size_t)1) * sizeof *loads);
    pw_part_names names;
    pw_group_shape shape;
    char size[64];
    if (!loads) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(pw_part_names_make(r->config->cluster, arena, &names, error));
    PW_TRY(pw_collective_shape(config->collectives, config->groups.gpus, config->groups.size, &shape, error));
    PW_TRY(pw_sweep_loads(config, (double)row->bytes, loads, error));
    pw_file_print(file, "%s of %s bytes, %.200s\n\n", pw_collective_names[config->kind], pw_layout_count(row->bytes, size, sizeof size),
                  r->title);
    put_shape(r, &shape, file);
    put_times(r, row, file);
    put_links(r, row, loads, &names, file);
    pw_file_print(file, "\n  parameters: %.800s\n", pw_collectives_provenance(config->collectives));
    return PW_OK;
}
