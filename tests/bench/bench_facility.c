/* A facility year: 1 MW of IT, hourly weather, a plant with towers and chillers, a power chain, a tariff by hour. Exit code 1 above the target. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/facility/facility.h"

static const double target_s = 1;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(pw_status status, const pw_error *error) {
    char text[2048];
    if (status == PW_OK) return;
    printf("%s\n", pw_error_text(error, text, sizeof text));
    exit(1);
}

static void row(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    time_t seconds = time(NULL);
    char date[16];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&seconds));
    printf("csv: %s,%s,%s,facility: %s,%.4g,%s\n", date, commit ? commit : "", machine ? machine : "", what, value, unit);
}

/* Seconds of one year. */
static double measure(const pw_catalogue *catalogue, pw_arena *arena, const char *what, const char *plant_type, double capture, int profile) {
    static const char *const stages[] = {"busway", "ups-double-conversion", "transformer-dry"};
    pw_facility_desc desc;
    pw_site_desc site;
    pw_plant_desc plant;
    pw_cluster_desc cluster;
    pw_facility_result result;
    pw_error error = {0};
    must(pw_description_defaults(&pw_facility_kind, &desc, arena, &error), &error);
    must(pw_description_defaults(&pw_site_kind, &site, arena, &error), &error);
    must(pw_description_defaults(&pw_plant_kind, &plant, arena, &error), &error);
    must(pw_description_defaults(&pw_cluster_kind, &cluster, arena, &error), &error);
    const pw_one_of item = {&pw_site_kind, &site};
    cluster.node.server = "DGX H100";
    cluster.nodes = 96;
    plant.type = plant_type;
    site.plant = &plant;
    site.weather = "continental";
    site.capture = capture;
    site.tariff = "cn-peak-valley";
    site.chain = (pw_list){stages, 3};
    desc.sites = (pw_list){&item, 1};
    desc.demand.profile = profile;
    desc.demand.utilization = 1;
    if (profile == PW_DEMAND_WEEK) desc.demand.night = 0.6;
    desc.demand.idle_W = 250e3;
    desc.demand.peak_W = 1e6;
    double start = now();
    must(pw_facility_run(NULL, catalogue, &cluster, &desc, 1, NULL, NULL, 0, arena, &result, &error), &error);
    double took = now() - start;
    printf("%-60s %.3f s, %llu events, PUE %.3f\n", what, took, (unsigned long long)result.sites[0].events, result.sites[0].pue);
    row(what, took, "CPU-s");
    return took;
}

int main(void) {
    pw_catalogue *catalogue;
    pw_error error = {0};
    must(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error), &error);
    pw_arena *arena = pw_arena_create(NULL);
    const double took[] = {measure(catalogue, arena, "a year at 1 MW, chilled water, constant load", "chilled water", NAN, PW_DEMAND_CONSTANT),
                           measure(catalogue, arena, "a year at 1 MW, chilled water, days and nights", "chilled water", NAN, PW_DEMAND_WEEK),
                           measure(catalogue, arena, "a year at 1 MW, warm water and air, days and nights", "warm-water towers", 0.8, PW_DEMAND_WEEK)};
    pw_arena_destroy(arena);
    pw_catalogue_destroy(catalogue);
    for (size_t i = 0; i < sizeof took / sizeof *took; i++)
        if (took[i] > target_s) return 1;
    return 0;
}
