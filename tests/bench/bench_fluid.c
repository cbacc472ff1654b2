/* Fluid sharing on published flow sets: CPU time, results, and the ratio to the textbook solver.
 *
 *   bench_fluid [SET...]
 *
 * A set is a file of tests/bench/data (see its README) by name; all by default. CPU seconds are the best of five whole
 * simulations, building capacities and routes included, reading the file not. Rows for tests/bench/history.csv follow
 * "csv: ". Exit code 1: a result is not the published one to 1e-9, or a time is above its target.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "sim/fluid.h"
#include "tests/harness/textbook_fluid.h"

static const struct published {
    const char *name;
    double makespan_s, mean_finish_s, target_cpu_s;
} published[] = {
    {"star_po1e5", 0.0714418003479, 0.0340490850126, 0.3},
    {"ft_ex10", 0.00919072224, 0.0023795712300, 0.6},
    {"ft_po1e4", 0.0120641392255, 0.0044261301878, 0.06},
};
#define PUBLISHED_COUNT (sizeof published / sizeof *published)

struct flow {
    double start_s, bytes;
    uint32_t first, count; /* in hops */
};

struct flow_set {
    uint32_t capacity_count, flow_count, hop_count;
    double *amounts;
    struct flow *flows;
    uint32_t *hops;
};

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void die(const char *what, const char *file) {
    fprintf(stderr, "bench_fluid: %s: %s\n", file, what);
    exit(1);
}

static void *take(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) die("out of memory", "flows");
    return memory;
}

static struct flow_set read_flows(const char *path) {
    struct flow_set set = {0};
    char line[4096];
    gzFile file = gzopen(path, "rb");
    if (!file) die("cannot open", path);
    if (!gzgets(file, line, sizeof line) ||
        sscanf(line, "%" SCNu32 " %" SCNu32, &set.capacity_count, &set.flow_count) != 2)
        die("no counts in line 1", path);
    set.amounts = take(set.capacity_count, sizeof *set.amounts);
    set.flows = take(set.flow_count, sizeof *set.flows);
    uint32_t room = 16 * set.flow_count;
    set.hops = take(room, sizeof *set.hops);
    for (uint32_t i = 0; i < set.capacity_count; i++) {
        if (!gzgets(file, line, sizeof line)) die("too few capacities", path);
        set.amounts[i] = strtod(line, NULL);
    }
    for (uint32_t i = 0; i < set.flow_count; i++) {
        if (!gzgets(file, line, sizeof line)) die("too few flows", path);
        char *rest = line;
        struct flow *flow = &set.flows[i];
        flow->start_s = strtod(rest, &rest);
        flow->bytes = strtod(rest, &rest);
        flow->count = (uint32_t)strtoul(rest, &rest, 10);
        flow->first = set.hop_count;
        if (flow->count > room - set.hop_count) die("routes too long", path);
        for (uint32_t k = 0; k < flow->count; k++) set.hops[set.hop_count++] = (uint32_t)strtoul(rest, &rest, 10);
    }
    gzclose(file);
    return set;
}

static void free_flows(struct flow_set *set) {
    free(set->amounts), free(set->flows), free(set->hops);
}

struct run {
    const struct flow_set *set;
    pw_fluid *fluid;
    pw_capacity_id *capacities;
    uint32_t next, finished;
    double makespan_s, finish_sum_s;
};

static void finished(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    struct run *run = object;
    double now_s = pw_sim_seconds(sim);
    run->finished++;
    run->finish_sum_s += now_s;
    run->makespan_s = now_s;
}

static void arrive(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    struct run *run = object;
    const struct flow_set *set = run->set;
    pw_use uses[64];
    for (;;) {
        const struct flow *flow = &set->flows[run->next++];
        for (uint32_t k = 0; k < flow->count; k++)
            uses[k] = (pw_use){run->capacities[set->hops[flow->first + k]], 1};
        pw_activity_start(run->fluid, pw_fluid_route(run->fluid, uses, flow->count),
                          &(pw_activity_config){.work = flow->bytes, .done = finished, .object = run});
        if (run->next == set->flow_count) return;
        pw_time at = pw_sim_ticks(sim, set->flows[run->next].start_s);
        if (at > pw_sim_now(sim)) {
            pw_event_at(sim, at, 0, arrive, run, 0);
            return;
        }
    }
}

/* Returns CPU seconds. */
static double simulate(const struct flow_set *set, struct run *run, pw_fluid_stats *stats) {
    double start_s = cpu_s();
    pw_sim *sim;
    pw_error error = {0};
    *run = (struct run){.set = set};
    if (pw_sim_create(NULL, &sim, &error) != PW_OK || pw_fluid_create(sim, false, &run->fluid, &error) != PW_OK)
        die(error.what, "create");
    run->capacities = take(set->capacity_count, sizeof *run->capacities);
    for (uint32_t i = 0; i < set->capacity_count; i++)
        run->capacities[i] = pw_capacity_add(run->fluid, set->amounts[i]);
    pw_event_at(sim, pw_sim_ticks(sim, set->flows[0].start_s), 0, arrive, run, 0);
    if (pw_sim_run(sim, PW_TIME_MAX) != PW_OK) die(pw_sim_error(sim)->what, "run");
    *stats = pw_fluid_get_stats(run->fluid);
    pw_fluid_destroy(run->fluid);
    pw_sim_destroy(sim);
    free(run->capacities);
    return cpu_s() - start_s;
}

static double simulate_by_textbook(const struct flow_set *set, double *makespan_s) {
    double start_s = cpu_s();
    double *ones = take(64, sizeof *ones);
    for (int i = 0; i < 64; i++) ones[i] = 1;
    textbook book;
    textbook_init(&book, (int)set->capacity_count, (int)set->flow_count);
    memcpy(book.amounts, set->amounts, set->capacity_count * sizeof *set->amounts);
    for (uint32_t i = 0; i < set->flow_count; i++) {
        const struct flow *flow = &set->flows[i];
        if (flow->start_s > book.now) textbook_run(&book, flow->start_s);
        textbook_start(&book, (const int *)set->hops + flow->first, ones, (int)flow->count, flow->bytes, 1, INFINITY);
    }
    textbook_run(&book, INFINITY);
    *makespan_s = book.now;
    textbook_free(&book);
    free(ones);
    return cpu_s() - start_s;
}

static void print_row(const char *bench, double value, int digits, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    char today[16];
    time_t now = time(NULL);
    strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,fluid %s,%.*f,%s\n", today, commit ? commit : "", machine ? machine : "", bench, digits, value,
           unit);
}

/* Returns 1 when the result or the time misses. */
static int measure(const struct published *known) {
    char path[1024];
    snprintf(path, sizeof path, PW_SOURCE_DIR "/tests/bench/data/%s.txt.gz", known->name);
    struct flow_set set = read_flows(path);
    struct run run;
    pw_fluid_stats stats;
    double best_s = INFINITY;
    for (int again = 0; again < 5; again++) best_s = fmin(best_s, simulate(&set, &run, &stats));
    double mean_s = run.finish_sum_s / set.flow_count;
    double makespan_off = fabs(run.makespan_s / known->makespan_s - 1);
    double mean_off = fabs(mean_s / known->mean_finish_s - 1);
    bool right = run.finished == set.flow_count && makespan_off <= 1e-9 && mean_off <= 1e-9;
    printf("%-12s %8.4f %8.2f %16.13f %16.13f %9.1e %9.1e %8" PRIu64 " %8" PRIu64 " %6" PRIu64 "%s\n", known->name, best_s,
           known->target_cpu_s, run.makespan_s, mean_s, makespan_off, mean_off, stats.solves, stats.levels_recomputed,
           stats.full_fallbacks, right ? "" : "  WRONG RESULT");
    print_row(known->name, best_s, 4, "CPU-s");
    free_flows(&set);
    return !right || best_s > known->target_cpu_s;
}

/* The first flows of a set, few enough for the textbook solver. */
static int compare_with_textbook(const struct published *known, uint32_t flows) {
    char path[1024];
    snprintf(path, sizeof path, PW_SOURCE_DIR "/tests/bench/data/%s.txt.gz", known->name);
    struct flow_set set = read_flows(path);
    set.flow_count = flows;
    struct run run;
    pw_fluid_stats stats;
    double makespan_s, own_s = INFINITY, slow_s = simulate_by_textbook(&set, &makespan_s);
    for (int again = 0; again < 5; again++) own_s = fmin(own_s, simulate(&set, &run, &stats));
    double off = fabs(run.makespan_s / makespan_s - 1);
    printf("%s, first %" PRIu32 " flows: %.5f s, textbook solver %.2f s, ratio %.0f; makespans differ by %.1e\n",
           known->name, flows, own_s, slow_s, slow_s / own_s, off);
    print_row("ratio to textbook", slow_s / own_s, 0, "1");
    free_flows(&set);
    return !(off <= 1e-9);
}

int main(int argc, char **argv) {
    int missed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%-12s %8s %8s %16s %16s %9s %9s %8s %8s %6s\n", "set", "CPU s", "target", "makespan s", "mean finish s",
           "off", "off", "solves", "levels", "full");
    for (size_t i = 0; i < PUBLISHED_COUNT; i++) {
        bool chosen = argc == 1;
        for (int k = 1; k < argc; k++) chosen = chosen || !strcmp(argv[k], published[i].name);
        if (chosen) missed += measure(&published[i]);
    }
    if (argc == 1) missed += compare_with_textbook(&published[0], 1000);
    return missed > 0;
}
