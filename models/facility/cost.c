/* Cost of ownership: straight-line depreciation, maintenance, energy, water; and the cloud beside it. */
#include "models/facility/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double given_or(double value, double otherwise) { return isnan(value) ? otherwise : value; }

/* "DGX H100 system price", "GB200 NVL72 rack price": the rows are called after the server. */
static pw_status server_price(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_economics_desc *desc, const facility_exchange *exchange,
                              pw_sourced *price, pw_error *error) {
    static const char *const words[] = {"system price", "rack price"};
    const char *server = pw_cluster_get_part(cluster, 0).server;
    const pw_table *table;
    char name[200];
    if (!isnan(desc->server_price)) return facility_price_or(catalogue, exchange, desc->server_price, "", "", "", price, error);
    if (pw_cluster_parts(cluster) > 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "server_price = the mean over all nodes", "economics.server_price is missing: the cluster mixes node types");
    PW_TRY(pw_catalogue_need(catalogue, "prices", &table, error));
    for (size_t i = 0; *server && i < sizeof words / sizeof *words; i++) {
        snprintf(name, sizeof name, "%.150s %s", server, words[i]);
        if (pw_table_find_row(table, name) >= 0) return facility_price(catalogue, exchange, name, "", "economics.server_price", price, error);
    }
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, "server_price = 350000, in the currency of the economics",
                   "economics.server_price is missing, and no row of prices is called '%.150s system price'", *server ? server : "<server>");
}

/* A node's share of switches, optics and cables: by the number of its ports and the tiers that so many nodes need. */
static pw_status network_price(const pw_catalogue *catalogue, const pw_cluster *cluster, double given, const facility_exchange *exchange, pw_sourced *price,
                               pw_error *error) {
    const pw_table *table;
    if (!isnan(given)) return facility_price_or(catalogue, exchange, given, "", "", "", price, error);
    *price = (pw_sourced){.value = 0, .low = NAN, .high = NAN};
    if (!pw_cluster_network(cluster)) return PW_OK;
    PW_TRY(pw_catalogue_need(catalogue, "network-prices", &table, error));
    for (size_t r = 0; r < pw_table_rows(table); r++) {
        double nodes, port;
        PW_TRY(pw_table_amount_of(table, r, "nodes_up_to", &nodes, error));
        PW_TRY(pw_table_amount_of(table, r, "port", &port, error));
        if (pw_cluster_nodes(cluster) > nodes) continue;
        double rate = exchange->currency == PW_CURRENCY_CNY ? exchange->cny_per_usd.value : 1;
        *price = (pw_sourced){.value = port * pw_cluster_nics_per_node(cluster) * rate, .row = pw_table_text_at(table, r, 0),
                              .provenance = pw_table_text_of(table, r, "provenance"), .low = NAN, .high = NAN};
        return PW_OK;
    }
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, "network_price = a node's share of the network", "economics.network_price: nothing is on file for %u nodes",
                   pw_cluster_nodes(cluster));
}

pw_status facility_cost_prices(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_economics_desc *desc,
                               const facility_exchange *exchange, pw_facility_result *r, pw_error *error) {
    const struct {
        double given;
        const char *row, *unit, *field;
        pw_sourced *price;
    } wanted[] = {{desc->facility_price_per_W, "facility capex", "/W of IT", "economics.facility_price", &r->facility_price},
                  {desc->server_years, "depreciation of GPU servers", "years", "economics.server_years", &r->server_years},
                  {desc->facility_years, "facility depreciation", "years", "economics.facility_years", &r->facility_years},
                  {desc->server_maintenance, "maintenance of servers", "percent", "economics.server_maintenance", &r->server_maintenance},
                  {desc->facility_maintenance, "maintenance of facility", "percent", "economics.facility_maintenance", &r->facility_maintenance}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        PW_TRY(facility_price_or(catalogue, exchange, wanted[i].given, wanted[i].row, wanted[i].unit, wanted[i].field, wanted[i].price, error));
    PW_TRY(server_price(catalogue, cluster, desc, exchange, &r->server_price, error));
    PW_TRY(network_price(catalogue, cluster, desc->network_price, exchange, &r->network_price, error));
    r->cloud_price = (pw_sourced){.value = NAN, .low = NAN, .high = NAN};
    if (desc->cloud && *desc->cloud) PW_TRY(facility_price(catalogue, exchange, desc->cloud, "/GPU-h", "economics.cloud", &r->cloud_price, error));
    else if (!isnan(desc->cloud_price)) r->cloud_price.value = desc->cloud_price;
    r->capex_servers = r->server_price.value * r->nodes;
    r->capex_network = r->network_price.value * r->nodes;
    r->capex_facility = r->facility_price.value * r->it_peak_W;
    return PW_OK;
}

/* Owning costs fixed + dynamic x used GPU-hours, a cloud price x used GPU-hours: they meet at the break-even utilization. */
static void compare(const pw_facility_result *r, const pw_economics_desc *desc, const pw_site_result *site, pw_site_cost *cost) {
    double used_h = site->used_s * r->gpus / 3600, all_h = r->gpus * r->duration_s / 3600;
    double price = r->cloud_price.value * (1 - given_or(desc->cloud_discount, 0)) / given_or(desc->cloud_gpu_share, 1);
    double fixed = cost->total - site->dynamic_energy_cost, dynamic = used_h > 0 ? site->dynamic_energy_cost / used_h : 0;
    cost->cloud = price * used_h;
    cost->break_even = isnan(price) ? NAN : price > dynamic ? fixed / ((price - dynamic) * all_h) : INFINITY;
}

void facility_site_cost(const pw_facility_result *r, const pw_economics_desc *desc, const pw_site_result *site, pw_site_cost *cost) {
    double years = r->duration_s / PW_SECONDS_PER_YEAR, hardware = r->capex_servers + r->capex_network;
    *cost = (pw_site_cost){.servers = r->capex_servers / r->server_years.value * years,
                           .network = r->capex_network / r->server_years.value * years,
                           .facility = r->capex_facility / r->facility_years.value * years,
                           .maintenance = (hardware * r->server_maintenance.value + r->capex_facility * r->facility_maintenance.value) * years,
                           .energy = site->energy_cost + site->demand_cost,
                           .water = site->water_cost};
    cost->total = cost->servers + cost->network + cost->facility + cost->maintenance + cost->energy + cost->water;
    cost->per_gpu_hour = cost->total / (r->gpus * r->duration_s / 3600);
    cost->per_used_gpu_hour = cost->total / (site->used_s * r->gpus / 3600);
    cost->per_million_tokens = cost->total / (r->tokens_per_s * site->used_s / 1e6);
    compare(r, desc, site, cost);
}

pw_status facility_embodied(const pw_catalogue *catalogue, const pw_cluster *cluster, double given_kg, pw_sourced *embodied, pw_error *error) {
    const pw_table *table;
    *embodied = (pw_sourced){.value = given_kg, .low = NAN, .high = NAN};
    if (!isnan(given_kg) || pw_cluster_parts(cluster) > 1) return PW_OK;
    PW_TRY(pw_catalogue_need(catalogue, "embodied-carbon", &table, error));
    int row = pw_table_find_row(table, pw_cluster_device(cluster)->name);
    if (row < 0) return PW_OK;
    double gpu, rest;
    PW_TRY(pw_table_amount_of(table, (size_t)row, "gpu", &gpu, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "rest_of_8_GPU_server", &rest, error));
    embodied->value = gpu * pw_cluster_gpus_per_node(cluster) + rest * pw_cluster_gpus_per_node(cluster) / 8;
    embodied->row = pw_table_text_at(table, (size_t)row, 0);
    embodied->provenance = pw_table_text_of(table, (size_t)row, "provenance");
    return PW_OK;
}
