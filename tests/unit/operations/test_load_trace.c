/* Load traces: energy, agreement of sources of changes, convergence of the tolerance, levels that sinks hear. */
#include <stdlib.h>

#include "models/cooling/cooling.h"
#include "models/operations/load_trace.h"
#include "models/power/gpu_power.h"
#include "models/power/levels.h"
#include "tests/harness/catalogue.h"

static pw_error error;
#define OK(call) must((call), &error)

static pw_one_of phase_of(const char *name, double lasts_s) {
    pw_load_phase_desc *phase = pw_arena_alloc(arena(), sizeof *phase);
    OK(pw_description_defaults(&pw_load_phase_kind, phase, arena(), &error));
    OK(pw_load_phase_preset(catalogue(), name, phase, arena(), &error));
    phase->lasts_s = lasts_s;
    return (pw_one_of){&pw_load_phase_kind, phase};
}

static pw_load_desc *load_of(const pw_one_of *phases, uint32_t count) {
    pw_load_desc *load = pw_arena_alloc(arena(), sizeof *load);
    OK(pw_description_defaults(&pw_load_kind, load, arena(), &error));
    load->phases = (pw_list){phases, count};
    return load;
}

static pw_load_trace_desc trace_of(pw_one_of *load, double lasts_s) {
    pw_load_trace_desc desc;
    OK(pw_description_defaults(&pw_load_trace_kind, &desc, arena(), &error));
    desc.loads = (pw_list){load, load ? 1 : 0};
    desc.lasts_s = lasts_s;
    return desc;
}

static pw_load_trace_result run_on(int64_t nodes, const pw_load_trace_desc *desc, uint64_t seed, const pw_sink *sink) {
    pw_cluster_desc cluster;
    pw_load_trace_result result;
    OK(pw_description_defaults(&pw_cluster_kind, &cluster, arena(), &error));
    cluster.node.server = "DGX H100";
    cluster.nodes = nodes;
    OK(pw_load_trace_run(NULL, catalogue(), &cluster, desc, &(pw_load_trace_options){.seed = seed, .sinks = sink, .sink_count = sink ? 1 : 0}, arena(), &result, &error));
    return result;
}

PW_TEST(a_steady_load_draws_what_the_power_model_settles_at) {
    const pw_one_of phases[] = {phase_of("training", 60)};
    ((pw_load_phase_desc *)(uintptr_t)phases[0].record)->tensor *= 0.5; /* below the cap, and cool */
    pw_one_of load = {&pw_load_kind, load_of(phases, 1)};
    pw_load_trace_desc desc = trace_of(&load, 1800);
    desc.dies = false;
    desc.tolerance_K = 0.02;
    pw_load_trace_result r = run_on(2, &desc, 1, NULL);
    pw_gpu_power *power;
    OK(pw_gpu_power_create(NULL, catalogue(), "H100-SXM5-80GB", &power, &error));
    const pw_load_phase_desc *p = phases[0].record;
    const pw_device *d = pw_gpu_power_device(power);
    pw_gpu_load g = {.span_s = 1, .compute_s = p->compute};
    g.work.tensor_flops[p->precision] = p->tensor * d->peak_flops[p->precision];
    g.work.vector_flops = p->vector * d->vector_flops;
    g.work.memory_bytes = p->memory * d->memory_Bps;
    g.work.link_bytes = 2 * p->link * d->scaleup_Bps;
    g.work.busy_s = p->busy;
    double at_C = pw_gpu_power_settle(power, &g, &(pw_gpu_limits){0}, r.hottest_C, pw_gpu_die_nominal).watts.total;
    PW_EXPECT_NEAR(r.gpu_peak_W, at_C, 2e-4);
    PW_EXPECT(r.gpu_J / r.site.end_s < 16 * at_C * (1 + 1e-9) && r.gpu_J / r.site.end_s > 0.95 * 16 * at_C);
    PW_EXPECT_NEAR(r.site_J, r.gpu_J + r.fan_J + r.rest_J + r.loss_J, 1e-9);
    PW_EXPECT(r.peak_W >= r.mean_W && r.mean_W >= r.least_W);
    PW_EXPECT_NEAR(r.busy_gpu_s, 16 * 1800, 1e-9);
    pw_gpu_power_destroy(power);
    pw_signal_free(&r.site);
}

PW_TEST(smaller_tolerances_and_looks_change_little) {
    const pw_one_of phases[] = {phase_of("matrix-multiply", 37.3), phase_of("idle", 12.9), phase_of("decode", 21.1)};
    pw_one_of load = {&pw_load_kind, load_of(phases, 3)};
    pw_load_trace_desc desc = trace_of(&load, 600);
    pw_load_trace_result coarse = run_on(1, &desc, 1, NULL);
    desc.tolerance_K = 0.05;
    desc.aggregate_s = 0.25;
    pw_load_trace_result fine = run_on(1, &desc, 1, NULL);
    PW_EXPECT_NEAR(coarse.site_J, fine.site_J, 2e-3);
    PW_EXPECT(fabs(coarse.hottest_C - fine.hottest_C) < 0.5);
    pw_signal_free(&coarse.site);
    pw_signal_free(&fine.site);
}

PW_TEST(equal_runs_are_equal_and_seeds_differ) {
    const pw_one_of phases[] = {phase_of("training", 7), phase_of("evaluation", 3)};
    const pw_one_of mix[] = {{&pw_load_kind, load_of(phases, 2)}};
    pw_load_trace_desc desc = trace_of(NULL, 900);
    pw_random_jobs_desc jobs;
    OK(pw_description_defaults(&pw_random_jobs_kind, &jobs, arena(), &error));
    jobs.nodes = 3;
    jobs.lasts_s = 100;
    jobs.share = 0.75;
    jobs.mix = (pw_list){mix, 1};
    desc.random = &jobs;
    pw_load_trace_result a = run_on(16, &desc, 5, NULL), b = run_on(16, &desc, 5, NULL), c = run_on(16, &desc, 6, NULL);
    PW_EXPECT(a.hash == b.hash && a.hash != c.hash);
    PW_EXPECT(a.jobs > 10 && a.busy_gpu_s <= 0.75 * 16 * 8 * 900 * (1 + 1e-9) && a.busy_gpu_s > 0.4 * 16 * 8 * 900);
    pw_signal_free(&a.site);
    pw_signal_free(&b.site);
    pw_signal_free(&c.site);
}

PW_TEST(a_file_of_changes_is_the_load_it_describes) {
    const pw_one_of phases[] = {phase_of("training", 30), phase_of("evaluation", 10)};
    pw_load_desc *half = load_of(phases, 2);
    half->first_node = 1;
    half->nodes = 1;
    half->start_s = 5;
    half->lasts_s = 60;
    pw_one_of load = {&pw_load_kind, half};
    pw_load_trace_desc desc = trace_of(&load, 120);
    pw_load_trace_result a = run_on(2, &desc, 1, NULL);
    char path[] = "/tmp/podwright-load-XXXXXX";
    int file = mkstemp(path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (!out) exit(1);
    fputs("time_s,node,nodes,phase\n5,1,1,training\n35,1,1,evaluation\n45,1,1,training\n65,1,1,idle\n", out);
    fclose(out);
    desc.loads = (pw_list){0};
    desc.file = path;
    pw_load_trace_result b = run_on(2, &desc, 1, NULL);
    remove(path);
    PW_EXPECT(a.hash == b.hash);
    PW_EXPECT_NEAR(a.busy_gpu_s, 8 * 60, 1e-9);
    PW_EXPECT_INT((int)a.changes, 4);
    pw_signal_free(&a.site);
    pw_signal_free(&b.site);
}

PW_TEST(dies_differ_and_the_mean_stays) {
    const pw_one_of phases[] = {phase_of("training", 60)};
    ((pw_load_phase_desc *)(uintptr_t)phases[0].record)->tensor *= 0.5; /* below the cap, which would make all dies draw the same */
    pw_one_of load = {&pw_load_kind, load_of(phases, 1)};
    pw_load_trace_desc desc = trace_of(&load, 300);
    pw_load_trace_result with = run_on(32, &desc, 1, NULL);
    desc.dies = false;
    pw_load_trace_result without = run_on(32, &desc, 1, NULL);
    PW_EXPECT(with.gpu_peak_W > 1.02 * without.gpu_peak_W);
    PW_EXPECT_NEAR(with.gpu_J, without.gpu_J, 0.01);
    pw_signal_free(&with.site);
    pw_signal_free(&without.site);
}

typedef struct heard {
    uint32_t tracks;
    pw_track site, rack;
    double last_W, site_J, rack_J;
    pw_time last, rack_last;
    double rack_W;
    uint64_t temperatures;
    const pw_recorder *recorder;
} heard;

static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    heard *h = object;
    (void)parent;
    h->tracks++;
    if (!strcmp(name, "site")) h->site = track;
    if (!strcmp(name, "rack 0")) h->rack = track;
}

static void on_level(void *object, pw_track track, pw_name quantity, pw_time time, double value) {
    heard *h = object;
    if (quantity > 1) h->temperatures += quantity == 4;
    else if (track == h->site) {
        h->site_J += h->last_W * 1e-9 * (double)(time - h->last);
        h->last = time;
        h->last_W = value;
    } else if (track == h->rack) {
        h->rack_J += h->rack_W * 1e-9 * (double)(time - h->rack_last);
        h->rack_last = time;
        h->rack_W = value;
    }
}

PW_TEST(levels_of_site_and_rack_hold_the_energy) {
    const pw_one_of phases[] = {phase_of("training", 3.3), phase_of("all-reduce", 0.7)};
    pw_one_of load = {&pw_load_kind, load_of(phases, 2)};
    pw_load_trace_desc desc = trace_of(&load, 100);
    heard h = {0};
    const pw_sink sink = {.object = &h, .on_track = on_track, .on_level = on_level};
    pw_load_trace_result r = run_on(4, &desc, 1, &sink);
    PW_EXPECT_INT((int)h.tracks, 1 + 1 + 4 + 32);
    PW_EXPECT_NEAR(h.site_J + h.last_W * 1e-9 * (double)(100000000000 - h.last), r.site_J, 1e-9);
    PW_EXPECT_NEAR(h.rack_J + h.rack_W * 1e-9 * (double)(100000000000 - h.rack_last), r.site_J, 1e-9);
    PW_EXPECT(h.temperatures > 32 * 100);
    pw_signal_free(&r.site);
}

PW_TEST(what_does_not_fit_is_refused) {
    const pw_one_of phases[] = {phase_of("training", 60)};
    pw_load_desc *far = load_of(phases, 1);
    far->first_node = 1;
    far->nodes = 2;
    pw_one_of loads[] = {{&pw_load_kind, far}, {&pw_load_kind, load_of(phases, 1)}};
    pw_load_trace_desc desc = trace_of(loads, 10);
    pw_cluster_desc cluster;
    pw_load_trace_result result;
    OK(pw_description_defaults(&pw_cluster_kind, &cluster, arena(), &error));
    cluster.node.server = "DGX H100";
    cluster.nodes = 2;
    PW_EXPECT_INT(pw_load_trace_run(NULL, catalogue(), &cluster, &desc, &(pw_load_trace_options){.seed = 1}, arena(), &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "loads[1].nodes");
    far->nodes = 1;
    desc.loads.count = 2;
    PW_EXPECT_INT(pw_load_trace_run(NULL, catalogue(), &cluster, &desc, &(pw_load_trace_options){.seed = 1}, arena(), &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "has a load already");
    PW_EXPECT_INT(pw_description_check(&pw_load_trace_kind, &(pw_load_trace_desc){.tolerance_K = 1}, "x", 1, &error), PW_BAD_INPUT);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
