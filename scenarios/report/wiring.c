#include "scenarios/report/wiring.h"

#include <math.h>
#include <string.h>

enum { ROUTES = 1 << 16, MESH = 16 };

static void look_at(const pw_cluster *cluster, uint32_t from, uint32_t to, pw_longest_route *longest) {
    pw_path path = {0};
    if (from == to) return;
    if (pw_cluster_route(cluster, from, to, 0, &path) != PW_OK) {
        longest->unreached++;
        return;
    }
    double latency = pw_path_latency_s(pw_cluster_fabric(cluster), &path);
    if (path.count > longest->links) longest->links = path.count;
    if (latency > longest->latency_s) longest->latency_s = latency;
}

pw_longest_route pw_wiring_longest_route(const pw_cluster *cluster) {
    uint32_t gpus = pw_cluster_gpus(cluster), last = gpus - 1, step = gpus / ROUTES + 1;
    pw_longest_route longest = {0};
    for (uint32_t gpu = 0; gpu < gpus; gpu += step) {
        look_at(cluster, 0, gpu, &longest);
        if (gpu > 0) look_at(cluster, last, gpu, &longest);
    }
    if (step > 1) look_at(cluster, 0, last, &longest);
    return longest;
}

/* Every half that holds the first GPU, as a set of bits. */
static double worst_half(double between[MESH][MESH], uint32_t gpus) {
    double least = INFINITY;
    for (uint32_t set = 1; set < UINT32_C(1) << gpus; set += 2) {
        uint32_t members = (uint32_t)__builtin_popcount(set);
        if (members != gpus / 2 && members != (gpus + 1) / 2) continue;
        double sum = 0;
        for (uint32_t a = 0; a < gpus; a++)
            for (uint32_t b = 0; b < gpus; b++)
                if ((set >> a & 1) && !(set >> b & 1)) sum += between[a][b];
        if (sum < least) least = sum;
    }
    return least;
}

double pw_wiring_scaleup_bisection_Bps(const pw_cluster *cluster, uint32_t part) {
    pw_cluster_part facts = pw_cluster_get_part(cluster, part);
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    if (!(facts.scaleup_Bps > 0) || facts.scaleup_domain < 2) return 0;
    if (strcmp(facts.scaleup, "nvswitch") == 0) return facts.scaleup_domain / 2 * facts.scaleup_Bps;
    if (facts.gpus_per_node > MESH) return NAN;
    double between[MESH][MESH] = {{0}};
    pw_vertex first = pw_cluster_gpu_vertex(cluster, facts.first_gpu), end = first + facts.gpus_per_node;
    for (pw_link i = 0; i < pw_fabric_links(fabric); i++) {
        const pw_link_info *link = pw_fabric_link(fabric, i);
        if (link->kind == PW_LINK_NVLINK && link->from >= first && link->from < end && link->to >= first && link->to < end)
            between[link->from - first][link->to - first] += link->bandwidth_Bps;
    }
    return worst_half(between, facts.gpus_per_node);
}

uint32_t pw_wiring_cables(const pw_catalogue *catalogue, double line_Bps, pw_cable_choice *choices) {
    const pw_table *table = pw_catalogue_table(catalogue, "cables");
    double rates[PW_CABLE_CHOICES];
    uint32_t count = 0;
    for (size_t row = 0; table && row < pw_table_rows(table); row++) {
        const char *medium = pw_table_text_of(table, row, "medium");
        double rate = pw_table_number_of(table, row, "rate");
        if (!(rate >= line_Bps * (1 - 1e-9))) continue;
        uint32_t at = 0;
        while (at < count && strcmp(choices[at].medium, medium) != 0) at++;
        if (at == PW_CABLE_CHOICES || (at < count && rates[at] <= rate)) continue;
        if (at == count) count++;
        rates[at] = rate;
        choices[at] = (pw_cable_choice){.name = pw_table_text_at(table, row, 0), .medium = medium,
                                        .provenance = pw_table_text_of(table, row, "provenance"),
                                        .source = pw_table_text_of(table, row, "source"),
                                        .reach_m = pw_table_number_of(table, row, "reach"),
                                        .end_power_W = pw_table_number_of(table, row, "end_power"),
                                        .price_USD = pw_table_number_of(table, row, "price"),
                                        .low_USD = pw_table_number_of(table, row, "low"),
                                        .high_USD = pw_table_number_of(table, row, "high")};
    }
    return count;
}
