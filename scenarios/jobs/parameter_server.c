/* Training with parameter servers, in the words of a report. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "models/workload/server/server.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"

extern const pw_job_kind pw_job_parameter_server;

static const char *choice(const char *name, const pw_parameter_server_desc *job, char *text, size_t size) {
    return pw_report_value(pw_kind_field(&pw_parameter_server_kind, name), job, text, size);
}

static void put_head(const pw_parameter_server_desc *job, const pw_parameter_server_result *ran, pw_run_result *result) {
    char a[64], b[64], c[64];
    pw_result_line(result, "job", "%s; %" PRId64 " workers, %" PRId64 " steps of %s each", choice("mode", job, a, sizeof a), job->workers,
                   job->steps, pw_layout_seconds(ran->compute_s, b, sizeof b));
    if (job->mode == PW_SERVER_ALL_REDUCE) return;
    pw_result_line(result, "servers", "%" PRId64 " %s; a push of %s, a pull of %s", job->servers,
                   job->server_nodes > 0 ? "on nodes of their own" : "beside the workers",
                   pw_unit_format(ran->push_bytes, PW_UNIT_BYTES, a, sizeof a), pw_unit_format(ran->pull_bytes, PW_UNIT_BYTES, b, sizeof b));
    if (job->layers.count > 0)
        pw_result_line(result, "layers", "%u, of which %u send activations and error gradients", job->layers.count,
                       ran->activation_layers);
    if (ran->apply_s > 0) pw_result_line(result, "apply", "%s per push, all servers at once", pw_layout_seconds(ran->apply_s, c, sizeof c));
}

static void put_staleness(const pw_staleness *s, pw_run_result *result) {
    pw_result_answer(result, "staleness", "mean %.2f updates, median %u, 90 %% below %u, largest %u (%" PRIu64 " updates)", s->mean,
                     s->median, s->p90 + 1, s->largest, s->updates);
    pw_result_figure(result, "staleness_mean", s->mean, "updates");
    pw_result_figure(result, "staleness_median", s->median, "updates");
    pw_result_figure(result, "staleness_p90", s->p90, "updates");
    pw_result_figure(result, "staleness_largest", s->largest, "updates");
    if (!isnan(s->slow_mean) && !isnan(s->fast_mean)) {
        pw_result_answer(result, "by worker", "slow ones %.2f, the others %.2f", s->slow_mean, s->fast_mean);
        pw_result_figure(result, "staleness_slow", s->slow_mean, "updates");
        pw_result_figure(result, "staleness_others", s->fast_mean, "updates");
    }
    enum { BINS = 10 };
    uint32_t width = s->largest / BINS + 1;
    char text[400];
    size_t used = 0;
    text[0] = 0;
    for (uint32_t low = 0; low <= s->largest; low += width) {
        uint64_t sum = 0;
        for (uint32_t v = low; v < low + width && v <= s->largest; v++) sum += s->histogram[v];
        if (sum == 0 || used + 40 > sizeof text) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, width > 1 ? "%s%u-%u: %.1f %%" : "%s%u%.0u: %.1f %%", used ? ", " : "",
                                 low, width > 1 ? low + width - 1 : 0, 100 * (double)sum / (double)s->updates);
    }
    pw_result_answer(result, "histogram", "%s", text);
    pw_result_word(result, "staleness_histogram", text);
}

static void put_answers(const pw_parameter_server_desc *job, const pw_parameter_server_result *ran, pw_run_result *result) {
    char a[64], b[64];
    pw_result_answer(result, "step", "%s, %s updates/s", pw_layout_seconds(ran->step_s, a, sizeof a),
                     pw_layout_rate(ran->updates_per_s, b, sizeof b));
    pw_result_figure(result, "step_s", ran->step_s, "s");
    pw_result_figure(result, "updates_per_s", ran->updates_per_s, "updates/s");
    pw_result_figure(result, "workers", (double)job->workers, "");
    pw_result_figure(result, "push_bytes", ran->push_bytes, "bytes");
    pw_result_figure(result, "pull_bytes", ran->pull_bytes, "bytes");
    pw_result_figure(result, "compute_s", ran->compute_s, "s");
    pw_result_figure(result, "apply_s", ran->apply_s, "s");
    if (!isnan(ran->examples_per_s)) {
        pw_result_answer(result, "examples", "%s examples/s that count", pw_layout_rate(ran->examples_per_s, a, sizeof a));
        pw_result_figure(result, "examples_per_s", ran->examples_per_s, "examples/s");
    }
    if (job->mode == PW_SERVER_BACKUP) {
        pw_result_answer(result, "dropped", "%.1f %% of pushes", 100 * ran->dropped_share);
        pw_result_figure(result, "dropped_share", ran->dropped_share, "");
    }
    if (ran->has_staleness) put_staleness(&ran->staleness, result);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_parameter_server_desc *job = call->desc;
    const pw_server_options options = {.seed = call->seed, .unfolded = call->unfolded, .interrupt = call->interrupt,
                                       .sinks = call->sinks, .sink_count = call->sink_count, .runner = call->runner};
    pw_parameter_server_result ran;
    PW_TRY(pw_parameter_server_run(call->allocator, call->catalogue, call->cluster, job, &options, call->file, call->line,
                                   result->arena, &ran, error));
    result->parts = ran.session.parts;
    result->part_count = ran.session.part_count;
    result->home = ran.session.home_program;
    result->hash = ran.session.hash;
    result->device = ran.device;
    result->gpus = job->workers;
    put_head(job, &ran, result);
    put_answers(job, &ran, result);
    pw_result_row *rows = pw_result_rows(result, "worker", ran.row_count);
    for (uint32_t i = 0; rows && i < ran.row_count; i++) {
        rows[i].name = ran.rows[i].name;
        rows[i].ranks = ran.rows[i].ranks;
        rows[i].compute_s = ran.rows[i].compute_s;
        rows[i].communication_s = ran.rows[i].communication_s;
        rows[i].idle_s = ran.rows[i].idle_s;
    }
    pw_result_note(result, "Compute time: %s.", ran.compute_source);
    if (job->mode == PW_SERVER_ALL_REDUCE) pw_result_note(result, "Collectives: %s.", ran.collectives);
    if (ran.has_staleness)
        pw_result_note(result, "Staleness costs no time; how much it costs in accuracy is not modelled (often taken as a learning rate "
                               "divided by 1 + staleness).");
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_parameter_server = {.kind = &pw_parameter_server_kind, .can_unfold = true, .run = run};
