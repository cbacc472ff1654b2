/* Replay of traces: what models/workload/replay answers, in the words of a report. */
#include <stdio.h>
#include <string.h>

#include "models/workload/replay/replay.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

extern const pw_job_kind pw_job_replay;

enum { MOST_ROWS = 64 };

/* Ranks differ only in what they do; of many, those that compute most and least say enough. */
static void put_rows(const pw_replay_result *replay, pw_run_result *result) {
    uint32_t shown = replay->ranks < MOST_ROWS ? replay->ranks : MOST_ROWS;
    pw_result_row *rows = pw_result_rows(result, "rank", shown);
    for (uint32_t i = 0; rows && i < shown; i++) {
        const pw_program_result *program = &replay->session.programs[i];
        rows[i].ranks = 1;
        rows[i].compute_s = replay->compute_s[i];
        rows[i].communication_s = program->communication_s;
        rows[i].idle_s = replay->compute_s[i] < replay->session.end_s ? replay->session.end_s - replay->compute_s[i] : 0;
    }
    if (shown < replay->ranks) pw_result_note(result, "the table shows the first %u of %u ranks", shown, replay->ranks);
}

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_replay_desc *desc = call->desc;
    const pw_replay_options options = {.seed = call->seed, .messages = call->messages, .interrupt = call->interrupt, .sinks = call->sinks,
                                       .sink_count = call->sink_count, .runner = call->runner};
    pw_replay_result *replay = pw_arena_alloc(result->arena, sizeof *replay);
    char a[64], b[64], c[64], d[64];
    if (!replay) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    PW_TRY(pw_replay_run(call->allocator, call->catalogue, call->cluster, desc, &options, call->file, call->line, result->arena, replay,
                         error));
    const pw_session_result *session = &replay->session;
    result->device = replay->device;
    result->gpus = replay->ranks;
    result->hash = session->hash;
    result->parts = session->parts;
    result->part_count = session->part_count;
    result->home = session->home_program;
    pw_result_line(result, "job", "replay of %.200s: %s ranks, %s nodes, %s messages, %s collectives", desc->trace,
                   pw_layout_count(replay->ranks, a, sizeof a), pw_layout_count((int64_t)replay->nodes, b, sizeof b),
                   pw_layout_count((int64_t)replay->messages, c, sizeof c), pw_layout_count((int64_t)replay->collectives, d, sizeof d));
    double most = 0;
    for (uint32_t i = 0; i < replay->ranks; i++) most = replay->compute_s[i] > most ? replay->compute_s[i] : most;
    pw_result_answer(result, "time", "%s from the first node to the last; computation of the busiest rank %s",
                     pw_layout_seconds(session->end_s, a, sizeof a), pw_layout_seconds(most, b, sizeof b));
    pw_result_figure(result, "end_s", session->end_s, "s");
    pw_result_figure(result, "busiest_compute_s", most, "s");
    pw_result_figure(result, "ranks", replay->ranks, "");
    pw_result_figure(result, "nodes", replay->nodes, "");
    pw_result_figure(result, "messages", replay->messages, "");
    pw_result_figure(result, "message_bytes", replay->message_bytes, "bytes");
    pw_result_figure(result, "collectives", replay->collectives, "");
    put_rows(replay, result);
    if (desc->time_scale != 1) pw_result_note(result, "times of computations in the trace are multiplied by %g", desc->time_scale);
    if (replay->roofline_nodes > 0)
        pw_result_note(result, "%.0f computations without a time take what their operations and bytes need at the GPU's peaks",
                       replay->roofline_nodes);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_replay = {.kind = &pw_replay_kind, .can_message = true, .run = run};
