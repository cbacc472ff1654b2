/* Running a job in a test: through pw_train_run, or lowered by hand so that the test can change the job first. */
#ifndef PW_TESTS_WORKLOAD_RUNS_H
#define PW_TESTS_WORKLOAD_RUNS_H

#include "tests/unit/workload/jobs.h"

static inline pw_cluster_desc nodes_of(const char *server, int64_t nodes) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    return desc;
}

/* Plain (reference clock, no variability), whatever the memory. */
static inline pw_train_result run_plain(const pw_train_desc *desc, const char *server, int64_t nodes, bool unfolded) {
    pw_cluster_desc cluster = nodes_of(server, nodes);
    pw_run_options options = {.ignore_memory = true, .plain = true, .unfolded = unfolded};
    pw_train_result result;
    pw_error error = {0};
    must(pw_train_run(NULL, catalogue(), &cluster, desc, &options, "job.lua", 1, arena(), &result, &error), &error);
    return result;
}

typedef struct bench {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    pw_job *job;
} bench;

static inline bench bench_open(const pw_train_desc *desc, const char *server, int64_t nodes) {
    bench b = {0};
    pw_error error = {0};
    pw_cluster_desc cluster = nodes_of(server, nodes);
    must(pw_cluster_create(NULL, catalogue(), &cluster, &b.cluster, &error), &error);
    must(pw_gpu_create(NULL, catalogue(), pw_cluster_device(b.cluster)->name, &b.gpu, &error), &error);
    must(pw_collectives_create(NULL, catalogue(), b.cluster, true, &b.collectives, &error), &error);
    must(pw_train_lower(catalogue(), b.cluster, desc, arena(), "job.lua", 1, &b.job, &error), &error);
    b.job->kernel_time_factor = 1;
    must(pw_job_check(b.job, &error), &error);
    return b;
}

static inline void bench_close(bench *b) {
    pw_collectives_destroy(b->collectives);
    pw_gpu_destroy(b->gpu);
    pw_cluster_destroy(b->cluster);
}

/* Runs the job; seconds of the whole run. compute_s, span_s (may be NULL): [programs], of one rank each; span_s from its
 * first computation to its end. */
static inline double bench_execute(const bench *b, double *compute_s, double *span_s, pw_executor_totals *totals) {
    pw_error error = {0};
    pw_sim *sim;
    pw_fluid *fluid;
    pw_executor *executor;
    must(pw_sim_create(NULL, &sim, &error), &error);
    must(pw_fluid_create(sim, false, &fluid, &error), &error);
    pw_executor_config config = {.sim = sim, .fluid = fluid, .cluster = b->cluster, .collectives = b->collectives,
                                 .gpu = b->gpu, .clock_ratio = 1, .fold = true};
    must(pw_executor_create(&config, b->job, &executor, &error), &error);
    if (pw_sim_run(sim, PW_TIME_MAX) != PW_OK) must(pw_sim_error(sim)->status, pw_sim_error(sim));
    must(pw_executor_finish(executor, &error), &error);
    double end = 0;
    for (uint32_t i = 0; i < pw_executor_class_count(executor); i++) {
        const pw_rank_class *class = pw_executor_class(executor, i);
        if (compute_s) compute_s[class->program] = class->compute_s;
        if (span_s) span_s[class->program] = pw_time_to_seconds(class->end - class->begin, PW_TICKS_PER_SECOND_STEP);
        double its = pw_time_to_seconds(class->end, PW_TICKS_PER_SECOND_STEP);
        if (its > end) end = its;
    }
    if (totals) *totals = pw_executor_get_totals(executor);
    pw_executor_destroy(executor);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    return end;
}

static inline double bench_run(const bench *b, double *compute_s, pw_executor_totals *totals) {
    return bench_execute(b, compute_s, NULL, totals);
}
static inline double bench_spans(const bench *b, double *compute_s, double *span_s) {
    return bench_execute(b, compute_s, span_s, NULL);
}

#endif
