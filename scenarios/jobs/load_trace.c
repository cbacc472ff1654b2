/* A changing load: what models/operations answers, in the words of a report. */
#include <inttypes.h>
#include <string.h>

#include "models/operations/load_trace.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"
#include "sim/time.h"

extern const pw_job_kind pw_job_load_trace;

static const char *watts(double value, char text[64]) { return pw_unit_format(value, PW_UNIT_WATTS, text, 64); }

static void put_head(const pw_load_trace_desc *d, const pw_load_trace_result *r, pw_run_result *result) {
    char a[64], b[64], c[64];
    if (d->random)
        pw_result_line(result, "load", "%s random jobs on %s GPUs over %s", pw_layout_count((int64_t)r->jobs, a, sizeof a), pw_layout_count(r->gpus, b, sizeof b),
                       pw_unit_format(d->lasts_s, PW_UNIT_SECONDS, c, sizeof c));
    else if (d->file && *d->file)
        pw_result_line(result, "load", "changes of %.200s on %s GPUs over %s", d->file, pw_layout_count(r->gpus, b, sizeof b),
                       pw_unit_format(d->lasts_s, PW_UNIT_SECONDS, c, sizeof c));
    else
        pw_result_line(result, "load", "%s load%s on %s GPUs over %s", pw_layout_count((int64_t)r->jobs, a, sizeof a), r->jobs == 1 ? "" : "s",
                       pw_layout_count(r->gpus, b, sizeof b), pw_unit_format(d->lasts_s, PW_UNIT_SECONDS, c, sizeof c));
    pw_result_line(result, "racks", "%s of %" PRId64 " nodes, cooling %s", pw_layout_count(r->racks, a, sizeof a), d->rack_nodes, r->cooling_row);
}

static void put_answers(const pw_load_trace_result *r, pw_run_result *result) {
    char a[64], b[64], c[64], d[64];
    pw_result_answer(result, "site", "mean %s, highest second %s, lowest %s at the wall; %s", watts(r->mean_W, a), watts(r->peak_W, b), watts(r->least_W, c),
                     pw_unit_format(r->site_J, PW_UNIT_JOULES, d, sizeof d));
    double all = r->site_J;
    pw_result_answer(result, "energy", "GPUs %.1f %%, fans %.1f %%, rest of the nodes %.1f %%, supplies' losses %.1f %%", 100 * r->gpu_J / all, 100 * r->fan_J / all,
                     100 * r->rest_J / all, 100 * r->loss_J / all);
    pw_result_answer(result, "racks", "highest %s in rack %u", watts(r->rack_peak_W, a), r->rack_peak);
    pw_result_answer(result, "GPUs", "highest %s; hottest die %.1f degC (GPU %u), memory %.1f degC", watts(r->gpu_peak_W, a), r->hottest_C, r->hottest_gpu,
                     r->hottest_memory_C);
    if (r->busy_gpu_s > 0)
        pw_result_answer(result, "speed", "%.1f %% of that at the highest clock, while under load; held by power %.1f %% of that time, by heat %.1f %%", 100 * r->kept,
                         100 * r->capped_gpu_s / r->busy_gpu_s, 100 * r->hot_gpu_s / r->busy_gpu_s);
}

static void put_figures(const pw_load_trace_result *r, pw_run_result *result) {
    const struct {
        const char *name;
        double value;
        const char *unit;
    } figures[] = {{"site_mean_W", r->mean_W, "W"}, {"site_peak_W", r->peak_W, "W"}, {"site_least_W", r->least_W, "W"}, {"site_J", r->site_J, "J"},
                   {"gpu_J", r->gpu_J, "J"}, {"fan_J", r->fan_J, "J"}, {"rest_J", r->rest_J, "J"}, {"loss_J", r->loss_J, "J"},
                   {"rack_peak_W", r->rack_peak_W, "W"}, {"gpu_peak_W", r->gpu_peak_W, "W"}, {"hottest_C", r->hottest_C, "degC"},
                   {"hottest_memory_C", r->hottest_memory_C, "degC"}, {"busy_gpu_s", r->busy_gpu_s, "s"}, {"kept_speed", r->kept, ""},
                   {"capped_gpu_s", r->capped_gpu_s, "s"}, {"hot_gpu_s", r->hot_gpu_s, "s"}, {"jobs", (double)r->jobs, ""},
                   {"changes", (double)r->changes, ""}, {"settles", (double)r->settles, ""}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) pw_result_figure(result, figures[i].name, figures[i].value, figures[i].unit);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_load_trace_desc *desc = call->desc;
    pw_load_trace_result *r = pw_arena_alloc(result->arena, sizeof *r);
    const pw_load_trace_options options = {.seed = call->seed, .interrupt = call->interrupt, .sinks = call->sinks, .sink_count = call->sink_count,
                                           .file = call->file, .line = call->line};
    if (!r) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    PW_TRY(pw_load_trace_run(call->allocator, call->catalogue, call->cluster, desc, &options, result->arena, r, error));
    pw_signal_free(&r->site);
    result->device = r->device;
    result->gpus = r->gpus;
    result->hash = r->hash;
    put_head(desc, r, result);
    put_answers(r, result);
    put_figures(r, result);
    pw_result_note(result, "GPU power: %.300s", r->power_source);
    pw_result_note(result, "node power: %s", r->node_source);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_load_trace = {.kind = &pw_load_trace_kind, .draws_power = true, .reads_cooling = true, .ticks_per_second = PW_TICKS_PER_SECOND_OPERATIONS, .run = run};
