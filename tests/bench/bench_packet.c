/* Packets on three-tier fat-trees of 100 Gb/s: CPU time, packet-hops per second, memory, and completion times beside those of htsim.
 *
 *   bench_packet [CASE...]
 *
 * Cases are htsim's (EQDS, packets of 4150 bytes, queues of 35 and windows of 64 packets, 1 us a link); its permutations are other draws.
 * CPU seconds are the best of three runs, network built already. A packet-hop is a packet's arrival at the next node. Rows for
 * tests/bench/history.csv follow "csv: ". Exit code 1: a case is below its target.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/packet/packet.h"

static const struct bench {
    const char *name;
    uint32_t hosts;
    int64_t radix, paths;
    pw_traffic_pattern pattern;
    double bytes;
    double htsim_cpu_s, htsim_mean_us, htsim_last_us;
    double target_hops_per_s;
} benches[] = {
    {"permutation 128 hosts 1 path", 128, 8, 1, PW_TRAFFIC_PERMUTATION, 2e6, 1.82, 453.1, 972.0, 3e6},
    {"permutation 128 hosts 128 paths", 128, 8, 128, PW_TRAFFIC_PERMUTATION, 2e6, 0.75, 195.2, 209.0, 3e6},
    {"incast 128 hosts", 128, 8, 128, PW_TRAFFIC_INCAST, 2e6, 0.48, 20840, 20962, 3e6},
    {"permutation 1024 hosts 1 path", 1024, 16, 1, PW_TRAFFIC_PERMUTATION, 2e6, 66.2, 478.2, 1198.5, 1e6},
    {"permutation 1024 hosts 128 paths", 1024, 16, 128, PW_TRAFFIC_PERMUTATION, 2e6, 23.9, 197.9, 206.4, 1e6},
    {"permutation 1024 hosts 128 paths 16 MB", 1024, 16, 128, PW_TRAFFIC_PERMUTATION, 16e6, 239, 1410, 1470, 1e6},
};
enum { BENCHES = sizeof benches / sizeof *benches, TRIES = 3 };

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void need(pw_status status, const pw_error *error) {
    if (status == PW_OK) return;
    fprintf(stderr, "bench_packet: %s\n", error->what);
    exit(1);
}

static pw_status route(const void *object, uint32_t from, uint32_t to, uint64_t hash, pw_path *path) {
    return pw_network_route(object, from, to, hash, path);
}

static bool run(const struct bench *b) {
    pw_error error = {0};
    pw_fabric *fabric;
    pw_network *network;
    need(pw_fabric_create(NULL, &fabric, &error), &error);
    pw_vertex *ports = calloc(b->hosts, sizeof *ports);
    if (!ports) exit(1);
    for (uint32_t h = 0; h < b->hosts; h++) ports[h] = pw_fabric_add_vertex(fabric, PW_VERTEX_NIC);
    pw_network_desc shape = {.oversubscription = 1, .radix = b->radix, .port_Bps = 12.5e9, .efficiency = 1, .cable_latency_s = 1e-6};
    while (strcmp(pw_topology_names[shape.topology], "fat_tree")) shape.topology++;
    need(pw_network_create(NULL, fabric, &shape, ports, b->hosts, 1, &network, &error), &error);
    pw_packet_desc desc = pw_packet_defaults();
    desc.transport = PW_TRANSPORT_CREDIT;
    desc.packet_bytes = 4150;
    desc.header_bytes = 64;
    desc.paths = b->paths;
    desc.queue_bytes = 35 * 4150;
    desc.window_bytes = 64 * 4150;
    desc.pace = 0.99;
    double best_s = INFINITY, mean_s = 0, last_s = 0;
    pw_packet_result result = {0};
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    for (int t = 0; t < TRIES; t++) {
        pw_arena *arena = pw_arena_create(NULL);
        pw_traffic traffic;
        const pw_pattern_desc pattern = {.pattern = (int)b->pattern, .bytes = b->bytes, .repeats = 1};
        need(pw_traffic_make(&pattern, "traffic", b->hosts, 1, arena, &traffic, &error), &error);
        const pw_packet_config config = {.allocator = &counting.allocator, .fabric = fabric, .route = route, .route_object = network, .ends = b->hosts, .seed = 1};
        double start_s = cpu_s();
        need(pw_packet_run(&config, &desc, &traffic, arena, &result, &error), &error);
        best_s = fmin(best_s, cpu_s() - start_s);
        mean_s = last_s = 0;
        for (uint32_t f = 0; f < traffic.count; f++) {
            mean_s += result.known_s[f] / traffic.count;
            last_s = fmax(last_s, result.known_s[f]);
        }
        pw_arena_destroy(arena);
    }
    double rate = (double)result.packet_hops / best_s;
    printf("%-40s %7.3f CPU-s (htsim %.2f), %5.2f M packet-hops/s, %5.2f M events/s, %4.0f MB; mean %.1f (htsim %.1f), last %.1f (%.1f) us\n", b->name, best_s,
           b->htsim_cpu_s, rate / 1e6, (double)result.events / best_s / 1e6, (double)counting.peak_bytes / 1e6, mean_s * 1e6, b->htsim_mean_us, last_s * 1e6,
           b->htsim_last_us);
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    time_t now = time(NULL);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,packets: %s,%.3f,CPU-s\n", date, commit ? commit : "", machine ? machine : "", b->name, best_s);
    printf("csv: %s,%s,%s,packets: %s,%.2f,million packet-hops/s\n", date, commit ? commit : "", machine ? machine : "", b->name, rate / 1e6);
    pw_network_destroy(network);
    pw_fabric_destroy(fabric);
    free(ports);
    return rate >= b->target_hops_per_s;
}

int main(int argc, char **argv) {
    bool good = true;
    for (int i = 0; i < BENCHES; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strstr(benches[i].name, argv[a]) != NULL;
        if (wanted && !run(&benches[i])) good = false;
    }
    if (!good) fprintf(stderr, "bench_packet: a case is below its target\n");
    return good ? 0 : 1;
}
