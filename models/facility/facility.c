/* From a description to sites that have run: demand, prices, sites one after the other, cost. */
#include "models/facility/facility.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/facility/cost.h"
#include "models/facility/demand.h"
#include "models/facility/site.h"

typedef struct asked {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    const pw_facility_desc *desc;
    const pw_cluster *cluster;
    uint64_t seed;
    const volatile int *interrupt;
    const char *file;
    int line;
    pw_arena *arena;
    facility_exchange exchange;
    facility_it it;
    facility_steps demand;
    pw_facility_result *result;
    pw_sourced *prices, *grids;
    pw_error *error;
} asked;

/* The path of a file that a field names; *out NULL when it names none. */
static pw_status path_of(const asked *q, const char *what, const char *name, char path[FACILITY_PATH], const char **out) {
    *out = NULL;
    if (!name || !*name) return PW_OK;
    PW_TRY(facility_path(q->file, q->line, what, name, path, q->error));
    *out = path;
    return PW_OK;
}

static pw_status make_demand(asked *q) {
    char buffer[FACILITY_PATH];
    const char *path;
    double none[PW_FACILITY_PART_COUNT] = {0};
    pw_facility_result *r = q->result;
    pw_time end = pw_time_from_seconds(q->desc->duration_s, PW_TICKS_PER_SECOND_OPERATIONS);
    PW_TRY(facility_it_make(q->allocator, q->catalogue, q->cluster, &q->desc->demand, &q->it, r, q->error));
    r->it_idle_W = facility_it_at(&q->it, 0, none);
    memset(none, 0, sizeof none);
    r->it_peak_W = facility_it_at(&q->it, 1, none);
    PW_TRY(path_of(q, "demand.file", q->desc->demand.file, buffer, &path));
    PW_TRY(facility_demand(&q->desc->demand, q->desc->new_year, end, path, r->it_idle_W, r->it_peak_W, q->allocator, q->arena, &q->demand, q->error));
    for (uint32_t i = 0; i < q->demand.count; i++) {
        pw_time until = i + 1 < q->demand.count ? q->demand.at[i + 1] : end;
        r->used_gpu_s += q->demand.value[i] * (double)(until - q->demand.at[i]) / PW_TICKS_PER_SECOND_OPERATIONS * r->gpus;
    }
    r->tokens_per_s = q->desc->tokens_per_s;
    return PW_OK;
}

/* kg per kWh over the span; count 0 when nobody said it. */
static pw_status make_grid(asked *q, const pw_site_desc *site, const char *where, pw_time end, facility_steps *grid, pw_sourced *sourced) {
    static const facility_column columns[] = {{"kg_per_kWh", 0, 10}, {NULL}};
    char buffer[FACILITY_PATH], field[80];
    const char *path;
    int found;
    *sourced = (pw_sourced){.value = site->grid_kg_per_kWh, .low = NAN, .high = NAN};
    snprintf(field, sizeof field, "%s.grid_file", where);
    PW_TRY(path_of(q, field, site->grid_file, buffer, &path));
    if (path) return facility_read_steps(path, columns, &found, end, q->allocator, q->arena, grid, q->error);
    snprintf(field, sizeof field, "%s.grid", where);
    if (site->grid && *site->grid) PW_TRY(facility_price(q->catalogue, &q->exchange, site->grid, "kgCO2e/kWh", field, sourced, q->error));
    return isnan(sourced->value) ? PW_OK : facility_steps_add(grid, q->arena, 0, sourced->value, q->error);
}

/* What plants, weather and stages refuse is about a field of the site. */
static pw_status about(const asked *q, pw_status status, const char *where, const char *field) {
    char what[sizeof q->error->what];
    if (status == PW_OK || status == PW_NO_MEMORY || *q->error->file || strstr(q->error->what, where)) return status;
    snprintf(what, sizeof what, "%s", q->error->what);
    snprintf(q->error->what, sizeof q->error->what, "%s.%s: %.600s", where, field, what);
    return status;
}

/* The plant of a site, if it has one, and its chain; then it runs. */
static pw_status simulate_site(asked *q, const pw_site_desc *site, const char *where, facility_run *run, pw_site_result *result) {
    facility_loop loop = {.plant = NULL};
    facility_chain chain;
    facility_it it = q->it;
    char buffer[FACILITY_PATH], field[80];
    const char *path = NULL;
    double none[PW_FACILITY_PART_COUNT] = {0};
    pw_status status = PW_OK;
    if (site->plant) {
        snprintf(field, sizeof field, "%s.weather", where);
        bool is_file = strchr(site->weather, '.') || strchr(site->weather, '/');
        if (is_file) PW_TRY(path_of(q, field, site->weather, buffer, &path));
        status = facility_loop_make(q->allocator, q->catalogue, q->cluster, site, where, path, &q->it, &loop, &it, q->error);
        if (status != PW_OK) about(q, status, where, loop.it_peak_W > 0 && !loop.weather ? "weather" : "plant");
    }
    if (status == PW_OK) status = about(q, facility_chain_make(q->catalogue, site, facility_it_at(&it, 1, none), where, &chain, q->error), where, "chain");
    run->it = &it;
    run->chain = &chain;
    run->loop = site->plant ? &loop : NULL;
    if (status == PW_OK) status = facility_site_run(run, q->arena, result, q->error);
    facility_loop_end(&loop);
    return status;
}

static pw_status run_site(asked *q, uint32_t index) {
    const pw_site_desc *site = ((const pw_one_of *)q->desc->sites.items)[index].record;
    facility_steps price = {0}, grid = {0};
    char buffer[FACILITY_PATH], where[40], field[80];
    const char *path;
    pw_facility_result *r = q->result;
    pw_time end = pw_time_from_seconds(q->desc->duration_s, PW_TICKS_PER_SECOND_OPERATIONS);
    snprintf(where, sizeof where, "facility.sites[%u]", index + 1);
    snprintf(field, sizeof field, "%s.tariff_file", where);
    PW_TRY(path_of(q, field, site->tariff_file, buffer, &path));
    PW_TRY(facility_tariff(q->catalogue, &q->exchange, site, where, q->desc->new_year, end, path, q->allocator, q->arena, &price, &q->prices[index], q->error));
    PW_TRY(make_grid(q, site, where, end, &grid, &q->grids[index]));
    facility_run run = {.allocator = q->allocator, .desc = site, .demand = &q->demand, .price = &price, .grid = &grid, .end = end, .seed = q->seed,
                        .interrupt = q->interrupt};
    PW_TRY(simulate_site(q, site, where, &run, &r->sites[index]));
    pw_site_result *ran = &r->sites[index];
    ran->embodied_kg = r->embodied_kg.value * r->nodes * r->duration_s / (r->server_years.value * PW_SECONDS_PER_YEAR);
    for (uint32_t h = 0; h < ran->hour_count; h++) {
        uint64_t bits;
        memcpy(&bits, &ran->hours[h].meter_J, sizeof bits);
        r->hash = (r->hash ^ bits) * UINT64_C(0x100000001b3);
    }
    if (q->desc->economics) facility_site_cost(r, q->desc->economics, ran, &r->costs[index]);
    return PW_OK;
}

static pw_status answer(asked *q) {
    const pw_economics_desc *economics = q->desc->economics;
    pw_facility_result *r = q->result;
    r->site_count = q->desc->sites.count;
    r->duration_s = q->desc->duration_s;
    r->sites = pw_arena_alloc(q->arena, r->site_count * sizeof *r->sites);
    r->costs = economics ? pw_arena_alloc(q->arena, r->site_count * sizeof *r->costs) : NULL;
    r->site_prices = q->prices = pw_arena_alloc(q->arena, r->site_count * sizeof *q->prices);
    r->site_grids = q->grids = pw_arena_alloc(q->arena, r->site_count * sizeof *q->grids);
    if (!r->sites || (economics && !r->costs) || !q->prices || !q->grids) return pw_fail(q->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    PW_TRY(facility_exchange_read(q->catalogue, economics ? (pw_currency)economics->currency : PW_CURRENCY_USD, &q->exchange, q->error));
    r->exchange = q->exchange.cny_per_usd;
    PW_TRY(make_demand(q));
    if (economics) PW_TRY(facility_cost_prices(q->catalogue, q->cluster, economics, &q->exchange, r, q->error));
    else PW_TRY(facility_price(q->catalogue, &q->exchange, "depreciation of GPU servers", "years", "facility", &r->server_years, q->error));
    PW_TRY(facility_embodied(q->catalogue, q->cluster, economics ? economics->embodied_kg : NAN, &r->embodied_kg, q->error));
    for (uint32_t i = 0; i < r->site_count; i++) PW_TRY(run_site(q, i));
    return PW_OK;
}

pw_status pw_facility_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                          const pw_facility_desc *desc, uint64_t seed, const volatile int *interrupt, const char *file, int line,
                          pw_arena *arena, pw_facility_result *result, pw_error *error) {
    *result = (pw_facility_result){.hash = UINT64_C(0xcbf29ce484222325)};
    pw_cluster *built;
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &built, error));
    asked q = {.allocator = allocator, .catalogue = catalogue, .desc = desc, .cluster = built, .seed = seed, .interrupt = interrupt, .file = file,
               .line = line, .arena = arena, .result = result, .error = error};
    pw_error own = {0};
    if (!error) q.error = &own;
    result->device = pw_cluster_device(built);
    result->gpus = pw_cluster_gpus(built);
    result->nodes = pw_cluster_nodes(built);
    pw_status status = answer(&q);
    pw_cluster_destroy(built);
    if (status != PW_OK && q.error->line == 0 && file && status != PW_INTERRUPTED && status != PW_NO_MEMORY && !*q.error->file) {
        snprintf(q.error->file, sizeof q.error->file, "%s", file);
        q.error->line = line;
    }
    return status;
}
