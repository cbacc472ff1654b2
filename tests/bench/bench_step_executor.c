/* The executor's own cost: time per simulated operation, and preparing (folding) jobs on large clusters.
 *
 * Prints each figure, and rows for tests/bench/history.csv behind "csv: ".
 *
 * Operations: one rank issues segments that signal, waits on a second stream, and free collectives in a loop; no sink.
 * Folding: tensor parallel 8, pipeline of 16, the rest data parallel, on DGX H100 nodes in a fat tree; one training step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "models/program/executor.h"

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(pw_status status, const pw_error *error) {
    char text[2000];
    if (status == PW_OK) return;
    fprintf(stderr, "bench_step_executor: %s\n", pw_error_text(error, text, sizeof text));
    exit(1);
}

enum { TP = 8, STAGES = 16, MICRO_BATCHES = 32, LAYERS = 6 };
static const pw_category categories[] = {{"compute", PW_BLAME_COMPUTE}, {"tp", PW_BLAME_COMMUNICATION},
                                         {"pp", PW_BLAME_COMMUNICATION}, {"dp", PW_BLAME_COMMUNICATION}};
static const pw_kernel kernels[] = {
    {.kind = PW_KERNEL_GEMM, .precision = PW_PRECISION_BF16, .gemm = {.batch = 1, .m = 2048, .n = 1536, .k = 12288}}};
static const pw_segment_part parts[] = {{0, 6}};
static const pw_segment segments[] = {{"layer", parts, 1, 1}};

static uint32_t append(pw_op *ops, uint32_t count, pw_op op) { return ops[count] = op, count + 1; }

/* One pass of a stage over its layers: TP collectives between segments. */
static uint32_t pass(pw_op *ops, uint32_t count, uint32_t stage, bool back) {
    bool takes = back ? stage + 1 < STAGES : stage > 0, gives = back ? stage > 0 : stage + 1 < STAGES;
    pw_op message = {.kind = PW_OP_RECV, .stream = back ? 4 : 1, PW_OP_INIT, .category = 2,
                     .message = {.peer_role = back ? 0 : 1, .tag = PW_ARGUMENT, .bytes = 2048 * 12288 * 2.0 / TP}};
    pw_op work = {.kind = PW_OP_COMPUTE, PW_OP_INIT};
    pw_op gather = {.kind = PW_OP_COLLECTIVE, PW_OP_INIT, .category = 1,
                    .collective = {PW_COLLECTIVE_ALL_GATHER, 0, 0, 2048 * 12288 * 2.0}};
    if (takes) {
        message.signal = 0;
        count = append(ops, count, message);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        gather.collective.kind = PW_COLLECTIVE_ALL_GATHER;
        gather.waits[0] = layer == 0 && takes ? 0 : PW_NO_SLOT;
        count = append(ops, count, gather);
        count = append(ops, count, work);
        gather.waits[0] = PW_NO_SLOT;
        gather.collective.kind = PW_COLLECTIVE_REDUCE_SCATTER;
        gather.signal = layer == LAYERS - 1 ? 1 : PW_NO_SLOT;
        count = append(ops, count, gather);
        gather.signal = PW_NO_SLOT;
    }
    if (gives) {
        message.kind = PW_OP_SEND;
        message.stream = back ? 3 : 2;
        message.message.peer_role = back ? 1 : 0;
        message.signal = PW_NO_SLOT;
        message.waits[0] = 1;
        count = append(ops, count, message);
    }
    return count;
}

typedef struct job_arrays {
    pw_op ops[STAGES][2][64], steps[STAGES][16];
    pw_template templates[3 * STAGES];
    pw_program programs[STAGES];
    pw_group_role groups[2];
    pw_peer_role peers[2];
    uint32_t *gpu_of_rank, *program_of_rank, *of[4], *first[2], *members[2];
} job_arrays;

/* Templates: 3 s forward, 3 s + 1 backward of a micro-batch, 3 s + 2 the step (1F1B). */
static void lower(job_arrays *a, uint32_t stage) {
    uint32_t warm_up = STAGES - stage - 1, n = 0;
    pw_op *ops = a->steps[stage];
    pw_op call = {.kind = PW_OP_CALL, .call = {.argument = PW_ARGUMENT}};
    for (int part = 0; part < 3; part++) {
        uint32_t count = part == 1 ? MICRO_BATCHES - warm_up : warm_up;
        n = append(ops, n, (pw_op){.kind = PW_OP_LOOP, .loop = {.count = count, .length = part == 1 ? 2 : 1, .stride = 1}});
        call.call.argument = PW_ARGUMENT + (part == 1 ? warm_up : 0);
        call.call.template_index = 3 * stage;
        if (part < 2) n = append(ops, n, call);
        call.call.argument = PW_ARGUMENT + 100000 + (part == 2 ? MICRO_BATCHES - warm_up : 0);
        call.call.template_index = 3 * stage + 1;
        if (part > 0) n = append(ops, n, call);
    }
    for (int k = 0; k < 2; k++)
        n = append(ops, n, (pw_op){.kind = PW_OP_COLLECTIVE, .stream = 5, PW_OP_INIT, .category = 3,
                                   .collective = {k ? PW_COLLECTIVE_ALL_GATHER : PW_COLLECTIVE_REDUCE_SCATTER, 0, 1, 2e9}});
    for (int back = 0; back < 2; back++)
        a->templates[3 * stage + (uint32_t)back] =
            (pw_template){"pass", a->ops[stage][back], pass(a->ops[stage][back], 0, stage, back)};
    a->templates[3 * stage + 2] = (pw_template){"step", ops, n};
    a->programs[stage] = (pw_program){.name = "stage", .template_index = 3 * stage + 2};
}

static pw_job make_job(job_arrays *a, uint32_t ranks) {
    uint32_t dp = ranks / TP / STAGES;
    uint32_t **all[] = {&a->gpu_of_rank, &a->program_of_rank, &a->of[0], &a->of[1], &a->of[2], &a->of[3],
                        &a->first[0],    &a->first[1],        &a->members[0], &a->members[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = malloc((ranks + 1) * sizeof(uint32_t));
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t t = r % TP, d = r / TP % dp, s = r / TP / dp, g = s * TP + t;
        a->gpu_of_rank[r] = r;
        a->program_of_rank[r] = s;
        a->of[0][r] = r / TP;
        a->members[0][r] = r;
        a->of[1][r] = g;
        a->members[1][g * dp + d] = r;
        a->of[2][r] = s + 1 < STAGES ? r + TP * dp : PW_NONE;
        a->of[3][r] = s > 0 ? r - TP * dp : PW_NONE;
    }
    for (uint32_t g = 0; g <= ranks / TP; g++) a->first[0][g] = g * TP;
    for (uint32_t g = 0; g <= TP * STAGES; g++) a->first[1][g] = g * dp;
    a->groups[0] = (pw_group_role){"tp", ranks / TP, a->of[0], a->first[0], a->members[0]};
    a->groups[1] = (pw_group_role){"dp", TP * STAGES, a->of[1], a->first[1], a->members[1]};
    a->peers[0] = (pw_peer_role){"pp next", a->of[2]};
    a->peers[1] = (pw_peer_role){"pp previous", a->of[3]};
    for (uint32_t s = 0; s < STAGES; s++) lower(a, s);
    return (pw_job){.name = "bench", .ranks = ranks, .gpu_of_rank = a->gpu_of_rank, .program_of_rank = a->program_of_rank,
                    .programs = a->programs, .program_count = STAGES, .templates = a->templates,
                    .template_count = 3 * STAGES, .segments = segments, .segment_count = 1, .kernels = kernels,
                    .kernel_count = 1, .group_roles = a->groups, .group_role_count = 2, .peer_roles = a->peers,
                    .peer_role_count = 2, .categories = categories, .category_count = 4, .streams = 6, .slots = 4,
                    .launch_s = 4e-6, .kernel_time_factor = 1};
}

static void report(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    char today[16] = "";
    time_t now = time(NULL);
    strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
    printf("%-40s %12.4g %s\n", what, value, unit);
    printf("csv: %s,%s,%s,executor: %s,%.4g,%s\n", today, commit ? commit : "", machine ? machine : "", what, value, unit);
}

typedef struct times {
    double cluster_s, create_s, run_s, operations, peak_bytes, classes, link_classes, step_s;
} times;

static times run_job(const pw_catalogue *catalogue, const pw_job *job, int64_t nodes, int64_t gpus) {
    pw_error error = {0};
    times t = {0};
    pw_arena *arena = pw_arena_create(NULL);
    pw_cluster_desc desc;
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena, &error), &error);
    desc.name = "bench";
    desc.nodes = nodes;
    desc.node.server = "DGX H100";
    desc.node.gpus = gpus;
    desc.network.topology = 1;
    pw_cluster *cluster;
    pw_collectives *collectives;
    pw_gpu *gpu;
    double start = cpu_s();
    must(pw_cluster_create(NULL, catalogue, &desc, &cluster, &error), &error);
    must(pw_collectives_create(NULL, catalogue, cluster, true, &collectives, &error), &error);
    must(pw_gpu_create(NULL, catalogue, "H100-SXM5-80GB", &gpu, &error), &error);
    t.cluster_s = cpu_s() - start;
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_sim *sim;
    pw_fluid *fluid;
    pw_executor *x;
    must(pw_sim_create(&(pw_sim_config){.allocator = &counting.allocator}, &sim, &error), &error);
    must(pw_fluid_create(sim, false, &fluid, &error), &error);
    pw_executor_config config = {.sim = sim, .fluid = fluid, .cluster = cluster, .collectives = collectives, .gpu = gpu,
                                 .clock_ratio = 1, .fold = true};
    start = cpu_s();
    must(pw_executor_create(&config, job, &x, &error), &error);
    t.create_s = cpu_s() - start;
    start = cpu_s();
    must(pw_sim_run(sim, PW_TIME_MAX), pw_sim_error(sim));
    must(pw_executor_finish(x, &error), &error);
    t.run_s = cpu_s() - start;
    pw_executor_totals totals = pw_executor_get_totals(x);
    t.operations = (double)totals.operations;
    t.classes = totals.classes;
    t.link_classes = totals.link_classes;
    t.peak_bytes = (double)counting.peak_bytes;
    t.step_s = pw_sim_seconds(sim);
    pw_executor_destroy(x);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    pw_gpu_destroy(gpu);
    pw_collectives_destroy(collectives);
    pw_cluster_destroy(cluster);
    pw_arena_destroy(arena);
    return t;
}

static void operations(const pw_catalogue *catalogue) {
    pw_op ops[] = {{.kind = PW_OP_LOOP, .loop = {.count = 200000, .length = 5}},
                   {.kind = PW_OP_COMPUTE, .stream = 0, .waits = {-1, -1, -1, -1}, .signal = 0},
                   {.kind = PW_OP_DELAY, .stream = 1, .waits = {0, -1, -1, -1}, .signal = 1, .delay.seconds = 1e-4},
                   {.kind = PW_OP_COMPUTE, .stream = 0, PW_OP_INIT},
                   {.kind = PW_OP_DELAY, .stream = 0, PW_OP_INIT, .delay.seconds = 1e-5},
                   {.kind = PW_OP_COMPUTE, .stream = 0, .waits = {1, -1, -1, -1}, .signal = PW_NO_SLOT}};
    pw_template template = {"loop", ops, sizeof ops / sizeof *ops};
    pw_program program = {.name = "loop"};
    uint32_t zero = 0;
    pw_job job = {.name = "operations", .ranks = 1, .gpu_of_rank = &zero, .program_of_rank = &zero, .programs = &program,
                  .program_count = 1, .templates = &template, .template_count = 1, .segments = segments,
                  .segment_count = 1, .kernels = kernels, .kernel_count = 1, .categories = categories,
                  .category_count = 4, .streams = 2, .slots = 2, .launch_s = 4e-6, .kernel_time_factor = 1};
    times best = {.run_s = 1e9};
    for (int i = 0; i < 5; i++) {
        times t = run_job(catalogue, &job, 1, 1);
        if (t.run_s < best.run_s) best = t;
    }
    report("one rank: time per operation", best.run_s / best.operations * 1e6, "us");
    report("one rank: peak memory", best.peak_bytes / 1e6, "MB");
}

static void step(const pw_catalogue *catalogue, uint32_t ranks) {
    job_arrays *arrays = calloc(1, sizeof *arrays);
    pw_job job = make_job(arrays, ranks);
    times t = run_job(catalogue, &job, ranks / 8, 8);
    char name[100];
#define LINE(what, value, unit) (snprintf(name, sizeof name, "%u ranks: %s", ranks, what), report(name, value, unit))
    LINE("build the cluster", t.cluster_s, "s");
    LINE("fold and prepare", t.create_s, "s");
    LINE("run a step", t.run_s, "s");
    LINE("time per operation", t.run_s / t.operations * 1e6, "us");
    LINE("operations", t.operations, "1");
    LINE("classes", t.classes, "1");
    LINE("link classes", t.link_classes, "1");
    LINE("peak memory", t.peak_bytes / 1e6, "MB");
    LINE("step", t.step_s, "s");
    uint32_t *all[] = {arrays->gpu_of_rank, arrays->program_of_rank, arrays->of[0], arrays->of[1], arrays->of[2], arrays->of[3],
                       arrays->first[0],    arrays->first[1],        arrays->members[0], arrays->members[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(arrays);
}

int main(void) {
    pw_error error = {0};
    pw_catalogue *catalogue;
    must(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    operations(catalogue);
    step(catalogue, 1024);
    step(catalogue, 16384);
    step(catalogue, 65536);
    pw_catalogue_destroy(catalogue);
    return 0;
}
