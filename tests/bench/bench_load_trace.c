/* 16,384 GPUs over an hour of a changing load: clock, watts and temperature of each, sums of racks every second.
 *
 *   bench_load_trace [CASE...]
 *
 * CPU seconds and peak memory of one run; the energy law is asserted inside. Rows for tests/bench/history.csv follow "csv: ". Exit code 1: a
 * case is above its target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "models/operations/load_trace.h"

static const struct bench {
    const char *name;
    int64_t nodes;
    double mean_nodes, lasts_s, target_cpu_s;
} benches[] = {
    {"load trace: 16384 GPUs over an hour of random jobs", 2048, 16, 900, 5},
    {"load trace: 1024 GPUs over an hour of random jobs", 128, 8, 900, 0.5},
};

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void need(pw_status status, const pw_error *error) {
    if (status == PW_OK) return;
    fprintf(stderr, "bench_load_trace: %s\n", error->what);
    exit(1);
}

/* Phases by name and length, as a load of the mix. */
static pw_one_of load_of(const pw_catalogue *catalogue, pw_arena *arena, const char *const *names, const double *lasts_s, uint32_t count) {
    pw_error error = {0};
    pw_one_of *items = pw_arena_alloc(arena, count * sizeof *items);
    pw_load_desc *load = pw_arena_alloc(arena, sizeof *load);
    if (!items || !load) exit(1);
    for (uint32_t i = 0; i < count; i++) {
        pw_load_phase_desc *phase = pw_arena_alloc(arena, sizeof *phase);
        if (!phase) exit(1);
        need(pw_description_defaults(&pw_load_phase_kind, phase, arena, &error), &error);
        need(pw_load_phase_preset(catalogue, names[i], phase, arena, &error), &error);
        phase->lasts_s = lasts_s[i];
        items[i] = (pw_one_of){&pw_load_phase_kind, phase};
    }
    need(pw_description_defaults(&pw_load_kind, load, arena, &error), &error);
    load->phases = (pw_list){items, count};
    return (pw_one_of){&pw_load_kind, load};
}

static bool run(const struct bench *b, const pw_catalogue *catalogue) {
    pw_error error = {0};
    pw_arena *arena = pw_arena_create(NULL);
    pw_cluster_desc cluster;
    pw_random_jobs_desc jobs;
    pw_load_trace_desc desc;
    pw_load_trace_result result;
    const char *training[] = {"data-loading", "training", "evaluation", "training", "checkpoint"}, *serving[] = {"prefill", "decode"};
    const double training_s[] = {60, 240, 20, 240, 15}, serving_s[] = {5, 25};
    if (!arena) exit(1);
    need(pw_description_defaults(&pw_cluster_kind, &cluster, arena, &error), &error);
    need(pw_description_defaults(&pw_random_jobs_kind, &jobs, arena, &error), &error);
    need(pw_description_defaults(&pw_load_trace_kind, &desc, arena, &error), &error);
    cluster.node.server = "DGX H100";
    cluster.nodes = b->nodes;
    const pw_one_of mix[] = {load_of(catalogue, arena, training, training_s, 5), load_of(catalogue, arena, serving, serving_s, 2)};
    jobs.nodes = b->mean_nodes;
    jobs.lasts_s = b->lasts_s;
    jobs.mix = (pw_list){mix, 2};
    desc.random = &jobs;
    double before_s = cpu_s();
    need(pw_load_trace_run(NULL, catalogue, &cluster, &desc, &(pw_load_trace_options){.seed = 1}, arena, &result, &error), &error);
    double used_s = cpu_s() - before_s;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-46s %6.2f CPU-s (target %.1f), %.0f MB; %u GPUs, %llu jobs, %llu changes of nodes, %llu settled clocks; mean %.3f MW, peak %.3f MW, hottest %.1f C\n", b->name,
           used_s, b->target_cpu_s, (double)usage.ru_maxrss / 1e3, result.gpus, (unsigned long long)result.jobs, (unsigned long long)result.changes,
           (unsigned long long)result.settles, result.mean_W / 1e6, result.peak_W / 1e6, result.hottest_C);
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    time_t now = time(NULL);
    char date[16];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,%s,%.4g,CPU-s\n", date, commit ? commit : "", machine ? machine : "", b->name, used_s);
    pw_signal_free(&result.site);
    pw_arena_destroy(arena);
    return used_s <= b->target_cpu_s;
}

int main(int argc, char **argv) {
    pw_error error = {0};
    pw_catalogue *catalogue;
    bool good = true;
    need(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error), &error);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted = wanted || strstr(benches[i].name, argv[a]);
        if (wanted) good = run(&benches[i], catalogue) && good;
    }
    pw_catalogue_destroy(catalogue);
    return good ? 0 : 1;
}
