/* Laws of parameter servers: bounds and staleness that are known exactly, out of events. */
#include <math.h>

#include "models/workload/server/server.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_arena *arena;
static pw_error error;
static const double W = 100e6;

/* Nodes of one GPU and one port at one switch: all ways are equally long, so that pulls end and pushes begin together. */
static pw_cluster_desc machines(int64_t nodes) {
    pw_cluster_desc cluster;
    if (!arena) arena = pw_arena_create(NULL);
    if (!catalogue && pw_catalogue_load(NULL, NULL, &catalogue, &error)) PW_FAILED("%s", error.what);
    pw_description_defaults(&pw_cluster_kind, &cluster, arena, &error);
    cluster.node.gpu = "V100-SXM2-32GB";
    cluster.node.gpus = cluster.node.nics = 1;
    cluster.node.nic_Bps = 1.25e9;
    cluster.nodes = nodes;
    cluster.network.topology = 0;
    return cluster;
}

static pw_parameter_server_desc job_of(int mode, int64_t workers, int64_t servers) {
    pw_parameter_server_desc job;
    machines(1);
    pw_description_defaults(&pw_parameter_server_kind, &job, arena, &error);
    job.mode = mode;
    job.workers = workers;
    job.servers = job.server_nodes = servers;
    job.weights = W;
    job.compute_s = 0.1;
    return job;
}

static pw_parameter_server_result run_on(const pw_parameter_server_desc *job, pw_cluster_desc cluster, bool unfolded) {
    pw_parameter_server_result result = {0};
    const pw_server_options options = {.seed = 1, .unfolded = unfolded};
    if (pw_parameter_server_run(NULL, catalogue, &cluster, job, &options, "job.lua", 1, arena, &result, &error))
        PW_FAILED("%s", error.what);
    return result;
}

static pw_parameter_server_result run(const pw_parameter_server_desc *job) {
    return run_on(job, machines(job->workers + job->server_nodes), false);
}

static double port_Bps(void) {
    pw_cluster *cluster;
    pw_cluster_desc desc = machines(2);
    if (pw_cluster_create(NULL, catalogue, &desc, &cluster, &error)) PW_FAILED("%s", error.what);
    double port = pw_cluster_nic_Bps(cluster);
    pw_cluster_destroy(cluster);
    return port;
}

/* compute + max(2 W / worker's port, 2 n W / (S server's port)), and microseconds of latency. */
PW_TEST(a_synchronous_step_meets_its_bound) {
    const int64_t cases[][2] = {{1, 1}, {1, 8}, {4, 1}, {4, 2}, {4, 4}, {4, 16}, {100, 10}, {1000, 50}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double n = (double)cases[i][0], s = (double)cases[i][1];
        pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, cases[i][0], cases[i][1]);
        double bound = fmax(2 * W / port_Bps(), 2 * n * W / (s * port_Bps()));
        pw_parameter_server_result result = run(&job);
        PW_EXPECT(result.step_s >= 0.1 + bound);
        PW_EXPECT_NEAR(result.step_s, 0.1 + bound, 2e-4);
        PW_EXPECT_NEAR(result.session.totals.io_bytes, 2 * n * W * 20, 1e-9);
    }
}

PW_TEST(folded_and_unfolded_runs_agree) {
    for (int mode = PW_SERVER_SYNCHRONOUS; mode <= PW_SERVER_BACKUP; mode++) {
        pw_parameter_server_desc job = job_of(mode, 6, 2);
        job.slow_workers = 2;
        job.slow_factor = 2;
        job.staleness_bound = mode == PW_SERVER_BOUNDED ? 2 : 0;
        job.backup_workers = mode == PW_SERVER_BACKUP ? 1 : 0;
        pw_parameter_server_result folded = run(&job), unfolded = run_on(&job, machines(8), true);
        PW_EXPECT_NEAR(folded.step_s, unfolded.step_s, 1e-9);
        PW_EXPECT_INT(folded.row_count, 2);
        for (int row = 0; row < 2; row++) {
            PW_EXPECT_INT(folded.rows[row].ranks, row ? 2 : 4);
            PW_EXPECT_NEAR(folded.rows[row].compute_s, unfolded.rows[row].compute_s, 1e-9);
        }
        if (mode == PW_SERVER_SYNCHRONOUS) PW_EXPECT_NEAR(folded.rows[0].compute_s, 20 * 0.1, 1e-9);
        if (mode == PW_SERVER_SYNCHRONOUS) PW_EXPECT_NEAR(folded.rows[1].compute_s, 20 * 0.2, 1e-9);
    }
}

/* What servers apply per second limits the step as their ports do. */
PW_TEST(the_rate_of_applying_bounds_a_step) {
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 8, 2);
    job.apply_Bps = 0.2e9;
    double bound = 8 * W / (2 * 0.2e9) + 8 * W / (2 * port_Bps());
    PW_EXPECT_NEAR(run(&job).step_s, 0.1 + bound, 1e-3);
    job.apply_Bps = NAN;
    job.server_device = "Xeon 8168"; /* reads what came, reads and writes its half of the weights */
    PW_EXPECT(run(&job).apply_s > 3 * W / 2 / 128e9);
}

/* Servers beside the workers share their ports: of what a worker sends, (n - 1) / n leaves its machine. */
PW_TEST(servers_beside_workers_share_their_ports) {
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 8, 8);
    job.server_nodes = 0;
    double bound = 2 * W * 7 / 8 / port_Bps();
    PW_EXPECT_NEAR(run(&job).step_s, 0.1 + bound, 2e-3);
}

PW_TEST(equal_workers_are_stale_by_all_others) {
    const int64_t counts[] = {2, 3, 8, 50};
    for (int i = 0; i < 4; i++) {
        pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, counts[i], 4);
        job.weights = 1e6;
        pw_parameter_server_result result = run(&job);
        PW_EXPECT(result.has_staleness);
        PW_EXPECT_NEAR(result.staleness.mean, (double)counts[i] - 1, 0);
        PW_EXPECT_INT(result.staleness.largest, counts[i] - 1);
        PW_EXPECT_INT(result.staleness.histogram[counts[i] - 1], result.staleness.updates);
    }
}

/* One k times slower: its own delay is about k (n - 1), the others' (n - 2) + 1 / k. */
PW_TEST(a_slow_worker_is_stale_by_its_factor) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, 8, 4);
    job.weights = 1e3;
    job.slow_workers = 1;
    job.slow_factor = 4;
    job.steps = 400;
    pw_staleness s = run(&job).staleness;
    PW_EXPECT_NEAR(s.slow_mean, 4 * 7, 0.02);
    PW_EXPECT_NEAR(s.fast_mean, 6 + 0.25, 0.02);
}

/* The mean over all updates stays n - 1 whatever the spread: between two pushes of a worker the others' pushes lie once. */
PW_TEST(spread_widens_staleness_about_the_same_mean) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, 16, 4);
    job.weights = 1e3;
    job.spread = 0.5;
    job.steps = 200;
    pw_staleness s = run(&job).staleness;
    PW_EXPECT_NEAR(s.mean, 15, 0.02);
    PW_EXPECT(s.largest > 20 && s.histogram[15] < s.updates / 2);
}

/* W (1 / n_push + 1 / n_fetch) per step; weights kept for n_fetch steps add (n - 1) (n_fetch - 1) / 2 updates of others. */
PW_TEST(rare_pushes_and_pulls_move_fewer_bytes) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, 4, 4);
    job.push_every = 5;
    job.fetch_every = 2;
    pw_parameter_server_result result = run(&job);
    PW_EXPECT_NEAR(result.session.totals.io_bytes, 4 * 20 * W * (1 / 5.0 + 1 / 2.0), 1e-9);
    job.push_every = 1;
    job.fetch_every = 5;
    job.weights = 1e3;
    job.steps = 200;
    PW_EXPECT_NEAR(run(&job).staleness.mean, 3 + 3 * (5 - 1) / 2.0, 0.02);
}

PW_TEST(nobody_waits_when_asynchronous) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, 8, 16);
    job.slow_workers = 1;
    job.slow_factor = 10;
    job.weights = 1e3;
    job.steps = 100;
    PW_EXPECT_NEAR(run(&job).updates_per_s, 7 / 0.1 + 1 / 1.0, 0.02);
    job.mode = PW_SERVER_SYNCHRONOUS;
    PW_EXPECT_NEAR(run(&job).updates_per_s, 8 / 1.0, 0.02);
}

/* A bound of b lets a worker run ahead b steps: jitter is hidden, a slow worker is not. A bound of 0 is synchronous. */
PW_TEST(a_bound_lies_between_both) {
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 8, 16);
    job.weights = 1e3;
    job.spread = 0.5;
    job.steps = 100;
    double synchronous = run(&job).step_s;
    job.mode = PW_SERVER_BOUNDED;
    double none = run(&job).step_s;
    job.staleness_bound = 4;
    pw_parameter_server_result four = run(&job);
    job.staleness_bound = 20;
    double twenty = run(&job).step_s;
    PW_EXPECT_NEAR(none, synchronous, 1e-12);
    PW_EXPECT(four.step_s < 0.8 * synchronous && twenty <= four.step_s && twenty > 0.095);
    PW_EXPECT(four.staleness.largest <= 7 * (2 * 4 + 1)); /* at most b ahead and b behind of every other */
    job.staleness_bound = 4;
    job.spread = 0;
    job.slow_workers = 1;
    job.slow_factor = 3;
    PW_EXPECT_NEAR(run(&job).step_s, 0.3, 0.03);
}

PW_TEST(backup_workers_hide_the_slowest) {
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 8, 16);
    job.weights = 1e3;
    job.slow_workers = 1;
    job.slow_factor = 5;
    PW_EXPECT_NEAR(run(&job).step_s, 0.5, 1e-2);
    job.mode = PW_SERVER_BACKUP;
    job.backup_workers = 1;
    pw_parameter_server_result result = run(&job);
    PW_EXPECT_NEAR(result.step_s, 0.1, 1e-2);
    PW_EXPECT_NEAR(result.dropped_share, 5 / (7 * 20 + 5.0), 1e-9); /* the slow one's, every fifth step */
}

PW_TEST(an_all_reduce_needs_no_servers) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ALL_REDUCE, 8, 1);
    job.server_nodes = 0;
    double step = run(&job).step_s;
    PW_EXPECT(step >= 0.1 + 2 * W * 7 / 8 / port_Bps());
}

PW_TEST(two_thousand_workers_run) {
    pw_parameter_server_desc job = job_of(PW_SERVER_ASYNCHRONOUS, 2000, 50);
    job.steps = 4;
    pw_parameter_server_result result = run(&job);
    PW_EXPECT_NEAR(result.staleness.mean, 1999, 0.01);
    double ports = 50 * port_Bps() / W; /* between one way at a time and both */
    PW_EXPECT(result.updates_per_s > 0.5 * ports && result.updates_per_s <= ports);
}

/* --- Exchange of activations ------------------------------------------------------------------------------------------ */

PW_TEST(activations_win_below_the_break_even) {
    PW_EXPECT_NEAR(pw_exchange_break_even(4096, 4096), 2048, 0);
    PW_EXPECT_NEAR(pw_exchange_break_even(9216, 4096), 2835.69, 1e-5);
    PW_EXPECT_NEAR(pw_exchange_break_even(4096, 1000), 803.77, 1e-5);
    double gradients = pw_exchange_bytes(PW_EXCHANGE_GRADIENTS, 9216, 4096, 32, 4);
    PW_EXPECT_NEAR(gradients / pw_exchange_bytes(PW_EXCHANGE_ACTIVATIONS, 9216, 4096, 32, 4), 89, 0.01);
    const int64_t shapes[][3] = {{4096, 4096, 2048}, {9216, 4096, 2835}, {4096, 1000, 803}};
    for (int i = 0; i < 3; i++)
        for (int above = 0; above < 2; above++) {
            pw_fully_connected_desc layer = {.inputs = shapes[i][0], .outputs = shapes[i][1]};
            pw_one_of items[] = {{&pw_fully_connected_kind, &layer}};
            pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 2, 2);
            job.weights = NAN;
            job.layers = (pw_list){items, 1};
            job.batch = shapes[i][2] + (above ? 1 : -1);
            job.steps = 2;
            pw_parameter_server_result result = run(&job);
            PW_EXPECT_INT(result.activation_layers, !above);
            PW_EXPECT_NEAR(result.push_bytes, pw_exchange_bytes(PW_EXCHANGE_AUTO, (double)layer.inputs, (double)layer.outputs, (double)job.batch, 4), 0);
            PW_EXPECT_NEAR(result.pull_bytes, 4.0 * (double)(layer.inputs * layer.outputs), 0);
        }
}

/* Where the servers multiply, the choice counts their time too: one slow server for many workers takes gradients. */
PW_TEST(servers_pay_for_what_workers_save) {
    pw_fully_connected_desc layer = {.inputs = 9216, .outputs = 4096};
    pw_one_of items[] = {{&pw_fully_connected_kind, &layer}};
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 16, 16);
    job.weights = job.compute_s = NAN;
    job.layers = (pw_list){items, 1};
    job.batch = 1024;
    job.device = job.server_device = "EPYC 7742";
    PW_EXPECT_INT(run(&job).activation_layers, 1);
    job.server_device = "Core i7-960";
    job.device = NULL; /* the GPU's weight gradient costs it little */
    job.servers = job.server_nodes = 1;
    PW_EXPECT_INT(run(&job).activation_layers, 0);
    layer.exchange = PW_EXCHANGE_ACTIVATIONS;
    PW_EXPECT_INT(run(&job).activation_layers, 1);
}

/* Layers on a GPU run as kernels; a CPU takes its roofline, and longer. */
PW_TEST(layers_compute_on_gpu_or_cpu) {
    pw_fully_connected_desc layers[] = {{4096, 4096, 1}, {4096, 1000, 1}};
    pw_one_of items[] = {{&pw_fully_connected_kind, &layers[0]}, {&pw_fully_connected_kind, &layers[1]}};
    pw_parameter_server_desc job = job_of(PW_SERVER_SYNCHRONOUS, 1, 1);
    job.weights = job.compute_s = NAN;
    job.layers = (pw_list){items, 2};
    job.batch = 4096;
    pw_parameter_server_result on_gpu = run(&job);
    job.device = "Xeon 8168";
    pw_parameter_server_result on_cpu = run(&job);
    double flops = 2.0 * 4096 * (2.0 * 4096 * 4096 + 3.0 * 4096 * 1000), traffic = 2.0 * on_gpu.pull_bytes / port_Bps();
    PW_EXPECT(on_cpu.compute_s >= flops / (24 * 2.7e9 * 64) && on_cpu.compute_s > on_gpu.compute_s);
    PW_EXPECT_NEAR(on_gpu.step_s, on_gpu.compute_s + traffic, 1e-3);
    PW_EXPECT_NEAR(on_cpu.step_s, on_cpu.compute_s + traffic, 1e-3);
}

PW_TEST(what_does_not_fit_together_is_refused) {
    pw_parameter_server_desc good = job_of(PW_SERVER_SYNCHRONOUS, 4, 2), bad;
    pw_cluster_desc cluster = machines(6);
    pw_parameter_server_result result;
    const pw_server_options options = {0};
#define REFUSED(change, part)                                                                                           \
    do {                                                                                                                \
        bad = good;                                                                                                     \
        change;                                                                                                         \
        PW_EXPECT(pw_parameter_server_run(NULL, catalogue, &cluster, &bad, &options, "job.lua", 7, arena, &result, &error) != PW_OK); \
        PW_EXPECT_CONTAINS(error.what, part);                                                                           \
        PW_EXPECT_INT(error.line, 7);                                                                                   \
    } while (0)
    REFUSED(bad.weights = NAN, "weights");
    REFUSED(bad.compute_s = NAN, "compute");
    REFUSED(bad.workers = 5, "workers");
    REFUSED(bad.server_nodes = 6, "server_nodes");
    REFUSED(bad.push_every = 2, "push_every");
    REFUSED(bad.fetch_every = 2, "fetch_every");
    REFUSED(bad.staleness_bound = 2, "staleness_bound");
    REFUSED(bad.backup_workers = 2, "backup_workers");
    REFUSED((bad.mode = PW_SERVER_BACKUP, bad.backup_workers = 4), "backup_workers");
    REFUSED(bad.slow_workers = 1, "slow_factor");
    REFUSED((bad.slow_workers = 9, bad.slow_factor = 2), "slow_workers");
    REFUSED((bad.apply_Bps = 1e9, bad.server_device = "Grace"), "apply");
    REFUSED(bad.server_device = "Grase", "Grase");
    REFUSED(bad.device = "Grace", "device");
    REFUSED((bad.distribution = PW_SPREAD_EXPONENTIAL, bad.spread = 2), "spread");
    REFUSED(bad.mode = PW_SERVER_ALL_REDUCE, "server_nodes");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
