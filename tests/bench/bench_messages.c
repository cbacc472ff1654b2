/* Collectives message by message, at scale.
 *
 * Prints each case: simulated time, processor time, messages per second, peak memory; and rows for tests/bench/history.csv
 * behind "csv: ".
 *
 * ring skewed: a ring all_reduce of 4,096 nodes with a GPU and a port each, 2 n (n - 1) = 33.5 million messages; every
 * rank starts at a random time of its own and one link gives half, so that no two rounds are alike. ring symmetric: the same
 * without both. ring coupled: one fluid activity; its time beside the messages'. halving-doubling: 4,096 nodes, 98,304 messages,
 * with the skew and the slow link, where a round's messages go to members ever farther away. all-to-all: 1,024 nodes, direct, 1.05 million
 * messages at once; skewed: each rank starts at a time of its own, so that all share links all the time. large clos: 100,000
 * GPUs under three tiers, an all_reduce of all but two jobs' GPUs beside those two.
 *
 *   bench_messages [case]...
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "models/program/executor.h"
#include "sim/random.h"

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(pw_status status, const pw_error *error) {
    char text[2000];
    if (status == PW_OK) return;
    fprintf(stderr, "bench_messages: %s\n", pw_error_text(error, text, sizeof text));
    exit(1);
}

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) exit(1);
    return memory;
}

static const pw_category categories[] = {{"dp", PW_BLAME_COMMUNICATION}};

typedef struct bench {
    pw_catalogue *catalogue;
    pw_cluster *cluster;
    pw_collectives *collectives;
    pw_arena *arena;
} bench;

static bench open_bench(int64_t nodes, int64_t gpus, const char *topology, int64_t radix) {
    bench b = {0};
    pw_error error = {0};
    must(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &b.catalogue, &error), &error);
    b.arena = pw_arena_create(NULL);
    pw_cluster_desc desc = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, b.arena, &error), &error);
    desc.name = "bench";
    desc.nodes = nodes;
    desc.node.server = "DGX H100";
    desc.node.gpus = gpus;
    desc.node.nics = gpus;
    desc.network.radix = radix;
    desc.network.topology = -1;
    for (int i = 0; pw_topology_names[i]; i++)
        if (!strcmp(pw_topology_names[i], topology)) desc.network.topology = i;
    must(pw_cluster_create(NULL, b.catalogue, &desc, &b.cluster, &error), &error);
    must(pw_collectives_create(NULL, b.catalogue, b.cluster, false, &b.collectives, &error), &error);
    return b;
}

static void close_bench(bench *b) {
    pw_collectives_destroy(b->collectives);
    pw_cluster_destroy(b->cluster);
    pw_catalogue_destroy(b->catalogue);
    pw_arena_destroy(b->arena);
}

/* A job of one collective over ranks on GPUs first, first + 1, ... Each rank waits up to skew_s before it. */
typedef struct world_job {
    pw_job job;
    pw_op (*ops)[2];
    pw_template *templates;
    pw_program *programs;
    pw_group_role role;
    uint32_t *numbers; /* gpus, programs, groups, members */
    uint32_t first[2];
} world_job;

static int algorithm_of(const char *name) {
    for (int i = 0; pw_algorithm_table[i].name; i++)
        if (!strcmp(pw_algorithm_table[i].name, name)) return i;
    fprintf(stderr, "bench_messages: no algorithm %s\n", name);
    exit(1);
}

static world_job *make_job(const char *name, uint32_t first, uint32_t ranks, pw_collective_kind kind, const char *algorithm,
                           double bytes, double skew_s) {
    world_job *w = zeroed(1, sizeof *w);
    uint32_t programs = skew_s > 0 ? ranks : 1;
    w->ops = zeroed(programs, sizeof *w->ops);
    w->templates = zeroed(programs, sizeof *w->templates);
    w->programs = zeroed(programs, sizeof *w->programs);
    w->numbers = zeroed(4 * (size_t)ranks, sizeof *w->numbers);
    pw_random random = pw_random_stream(1, "skew", 0);
    for (uint32_t p = 0; p < programs; p++) {
        double wait_s = skew_s > 0 ? skew_s * pw_random_uniform(&random) : 0;
        w->ops[p][0] = (pw_op){.kind = PW_OP_DELAY, PW_OP_INIT, .delay.seconds = wait_s};
        w->ops[p][1] = (pw_op){.kind = PW_OP_COLLECTIVE, PW_OP_INIT,
                               .collective = {.kind = kind, .algorithm = algorithm_of(algorithm), .bytes = bytes}};
        w->templates[p] = (pw_template){.name = "rank", .ops = w->ops[p], .count = 2};
        w->programs[p] = (pw_program){.name = "rank", .template_index = p};
    }
    for (uint32_t r = 0; r < ranks; r++) {
        w->numbers[r] = first + r;
        w->numbers[ranks + r] = programs > 1 ? r : 0;
        w->numbers[3 * ranks + r] = r;
    }
    w->first[1] = ranks;
    w->role = (pw_group_role){.name = "all", .groups = 1, .group_of_rank = w->numbers + 2 * ranks, .first = w->first,
                              .members = w->numbers + 3 * ranks};
    w->job = (pw_job){.name = name, .ranks = ranks, .gpu_of_rank = w->numbers, .program_of_rank = w->numbers + ranks,
                      .programs = w->programs, .program_count = programs, .templates = w->templates,
                      .template_count = programs, .group_roles = &w->role, .group_role_count = 1,
                      .categories = categories, .category_count = 1, .streams = 1, .slots = 1, .kernel_time_factor = 1};
    return w;
}

static void free_job(world_job *w) {
    free(w->ops);
    free(w->templates);
    free(w->programs);
    free(w->numbers);
    free(w);
}

typedef struct figures {
    pw_time end;
    double prepare_s, run_s;
    uint64_t events;
} figures;

static figures run(const bench *b, world_job *const *jobs, uint32_t count, bool fold, bool messages, bool slow) {
    pw_error error = {0};
    pw_sim *sim;
    pw_fluid *fluid;
    figures out = {0};
    must(pw_sim_create(NULL, &sim, &error), &error);
    must(pw_fluid_create(sim, false, &fluid, &error), &error);
    double start = cpu_s();
    pw_executor_config configs[4];
    const pw_job *described[4];
    pw_executor *x[4];
    for (uint32_t j = 0; j < count; j++) {
        configs[j] = (pw_executor_config){.sim = sim, .fluid = fluid, .cluster = b->cluster, .collectives = b->collectives,
                                          .clock_ratio = 1, .fold = fold, .messages = messages};
        described[j] = &jobs[j]->job;
    }
    must(pw_executors_create(configs, described, count, NULL, 0, x, &error), &error);
    if (slow) { /* half of what the port of GPU 1000 sends */
        pw_path path = {0};
        must(pw_cluster_route(b->cluster, 1000, 1001, 0, &path), &error);
        for (uint32_t i = 0; i < path.count; i++)
            if (pw_fabric_link(pw_cluster_fabric(b->cluster), path.links[i])->kind == PW_LINK_NETWORK) {
                must(pw_executor_set_link(x[0], path.links[i], 0.5, false, NULL), &error);
                break;
            }
    }
    out.prepare_s = cpu_s() - start;
    start = cpu_s();
    pw_status status = pw_sim_run(sim, PW_TIME_MAX);
    must(status, pw_sim_error(sim));
    out.run_s = cpu_s() - start;
    for (uint32_t j = 0; j < count; j++) must(pw_executor_finish(x[j], &error), &error);
    out.end = pw_sim_now(sim);
    out.events = pw_sim_events_fired(sim);
    for (uint32_t j = 0; j < count; j++) pw_executor_destroy(x[j]);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    return out;
}

static void csv(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,%s,%.4g,%s\n", date, commit ? commit : "", machine ? machine : "", what, value, unit);
}

static double peak_MB(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3;
}

static void show(const char *name, figures f, double messages) {
    printf("%-26s %14.6f ms  %8.3f s to prepare  %8.3f s to run  %9.0f events", name, (double)f.end / 1e9, f.prepare_s, f.run_s,
           (double)f.events);
    if (messages > 0) printf("  %.2f million messages/s", messages / (f.prepare_s + f.run_s) / 1e6);
    printf("  peak %.0f MB\n", peak_MB());
    char what[80];
    snprintf(what, sizeof what, "%s: processor time", name);
    csv(what, f.prepare_s + f.run_s, "s");
    snprintf(what, sizeof what, "%s: peak memory so far", name);
    csv(what, peak_MB(), "MB");
}

static bool wanted(int count, char **names, const char *name) {
    for (int i = 1; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return count < 2;
}

static void single(int argc, char **argv, const char *name, uint32_t ranks, pw_collective_kind kind, const char *algorithm,
                   double bytes, double skew_s, bool messages, bool slow, double message_count) {
    if (!wanted(argc, argv, name)) return;
    bench b = open_bench(ranks, 1, "single_switch", 0);
    world_job *job = make_job(name, 0, ranks, kind, algorithm, bytes, skew_s);
    show(name, run(&b, &job, 1, !messages, messages, slow), message_count);
    free_job(job);
    close_bench(&b);
}

static void large_clos(int argc, char **argv) {
    const char *name = "large clos";
    if (!wanted(argc, argv, name)) return;
    double start = cpu_s();
    bench b = open_bench(12500, 8, "fat_tree", 128);
    double built = cpu_s() - start;
    world_job *jobs[3] = {
        make_job("large", 0, 98000, PW_COLLECTIVE_ALL_REDUCE, "ring", 1e9, 0),
        make_job("second", 98000, 1000, PW_COLLECTIVE_ALL_REDUCE, "ring", 4e9, 0),
        make_job("third", 99000, 1000, PW_COLLECTIVE_ALL_GATHER, "ring", 4e9, 0),
    };
    printf("%-26s built in %.3f s\n", name, built);
    figures f = run(&b, jobs, 3, true, false, false);
    f.prepare_s += built;
    show(name, f, 0);
    for (int j = 0; j < 3; j++) free_job(jobs[j]);
    close_bench(&b);
}

int main(int argc, char **argv) {
    double n = 4096, ring = 2 * n * (n - 1), all = 1024.0 * 1023;
    single(argc, argv, "ring coupled", 4096, PW_COLLECTIVE_ALL_REDUCE, "ring", 1 << 30, 0, false, false, 0);
    single(argc, argv, "ring symmetric", 4096, PW_COLLECTIVE_ALL_REDUCE, "ring", 1 << 30, 0, true, false, ring);
    single(argc, argv, "ring skewed", 4096, PW_COLLECTIVE_ALL_REDUCE, "ring", 1 << 30, 1e-3, true, true, ring);
    single(argc, argv, "halving-doubling", 4096, PW_COLLECTIVE_ALL_REDUCE, "halving_doubling", 1 << 30, 1e-3, true, true, n * 24);
    single(argc, argv, "all-to-all", 1024, PW_COLLECTIVE_ALL_TO_ALL, "direct", 1 << 26, 0, true, false, all);
    single(argc, argv, "all-to-all skewed", 1024, PW_COLLECTIVE_ALL_TO_ALL, "direct", 1 << 26, 1e-3, true, true, all);
    large_clos(argc, argv);
    return 0;
}
