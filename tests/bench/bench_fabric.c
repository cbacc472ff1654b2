/* A Clos network for 100,000 ports: building, routes, spreads, and the same with a dead spine, which is searched.
 *
 * 12,500 nodes of 8 ports, rail-optimised, in three tiers of switches with 128 ports and in four of 64. Printed: seconds to build,
 * nanoseconds a route and a spread by twins take, resident memory, and rows for tests/bench/history.csv. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "models/fabric/fabric.h"

enum { NODES = 12500, RAILS = 8, ROUTES = 4000000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_MB(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void row(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    time_t seconds = time(NULL);
    char date[16];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&seconds));
    printf("csv: %s,%s,%s,fabric: %s,%.4g,%s\n", date, commit ? commit : "", machine ? machine : "", what, value, unit);
}

static void visit(void *object, pw_link link, double fraction) { *(double *)object += fraction * link; }

static void measure(const char *what, int64_t radix, const pw_failure_desc *failed, uint32_t routes) {
    char text[128];
    pw_one_of failure = {&pw_failure_kind, failed};
    pw_network_desc desc = {.oversubscription = 1, .radix = radix, .port_Bps = 50e9, .efficiency = 0.98, .hop_latency_s = 3e-7,
                            .cable_latency_s = 0, .failures = {failed ? &failure : NULL, failed != NULL}};
    while (strcmp(pw_topology_names[desc.topology], "rail_optimized")) desc.topology++;
    double t0 = now();
    pw_fabric *fabric;
    pw_network *network;
    pw_error error = {0};
    pw_vertex *ports = malloc(sizeof *ports * NODES * RAILS);
    if (pw_fabric_create(NULL, &fabric, &error) != PW_OK) exit(1);
    for (uint32_t i = 0; i < NODES * RAILS; i++) ports[i] = pw_fabric_add_vertex(fabric, PW_VERTEX_NIC);
    if (pw_network_create(NULL, fabric, &desc, ports, NODES, RAILS, &network, &error) != PW_OK) {
        printf("%s\n", error.what);
        exit(1);
    }
    double t1 = now(), sum = 0;
    uint64_t links = 0, state = 1;
    for (uint32_t i = 0; i < routes; i++) {
        pw_path path;
        path.count = 0;
        state = state * 6364136223846793005u + 1442695040888963407u;
        pw_network_route(network, (uint32_t)(state >> 33) % (NODES * RAILS), (uint32_t)(state >> 13) % (NODES * RAILS), state, &path);
        links += path.count;
    }
    double t2 = now();
    for (uint32_t i = 0; i < routes / 10; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        pw_network_spread_twins(network, (uint32_t)(state >> 33) % (NODES * RAILS), (uint32_t)(state >> 13) % (NODES * RAILS), visit, &sum);
    }
    double t3 = now();
    printf("# %s: %u links, %.2f links a route, checksum %g\n", what, pw_fabric_links(fabric), (double)links / routes, sum);
    snprintf(text, sizeof text, "100000 ports in %s: build", what);
    row(text, t1 - t0, "CPU-s");
    snprintf(text, sizeof text, "100000 ports in %s: a route", what);
    row(text, 1e9 * (t2 - t1) / routes, "ns");
    snprintf(text, sizeof text, "100000 ports in %s: a spread", what);
    row(text, 1e9 * (t3 - t2) / (routes / 10.0), "ns");
    row("resident memory so far", peak_MB(), "MB");
    pw_network_destroy(network);
    pw_fabric_destroy(fabric);
    free(ports);
}

int main(void) {
    const pw_failure_desc dead = {.node = -1, .port = -1, .tier = 2, .index = 5, .link = -1};
    measure("three tiers of 128", 128, NULL, ROUTES);
    measure("four tiers of 64", 64, NULL, ROUTES);
    measure("three tiers of 128 with a dead spine", 128, &dead, 4000);
    return 0;
}
