/* Collectives over and over: what models/workload/communication answers, in the words of a report. */
#include <inttypes.h>

#include "models/workload/communication/communication.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

extern const pw_job_kind pw_job_collective, pw_job_background;

static pw_status run(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_collective_job_desc *d = call->desc;
    const pw_run_options options = pw_job_options(call);
    pw_collective_job_result ran;
    char a[64], b[64], c[64];
    PW_TRY(pw_collective_job_run(call->allocator, call->catalogue, call->cluster, d, &options, call->file, call->line, result->arena,
                                 &ran, error));
    result->device = ran.device;
    result->gpus = ran.gpus;
    pw_job_take_session(result, &ran.session, 1, "program");
    pw_result_line(result, "job", "%s of %s, %s time%s%s%s; %" PRIu32 " group%s of %" PRIu32 "%s", pw_collective_names[d->operation],
                   pw_unit_format(d->bytes, PW_UNIT_BYTES, a, sizeof a), pw_layout_count(d->repeats, b, sizeof b), d->repeats == 1 ? "" : "s",
                   d->gap_s > 0 ? ", gap " : "", d->gap_s > 0 ? pw_layout_seconds(d->gap_s, c, sizeof c) : "", ran.groups,
                   ran.groups == 1 ? "" : "s", ran.group_size, d->grouping == PW_GROUPING_STRIDED && ran.groups > 1 ? ", strided" : "");
    pw_result_answer(result, "time", "%s each, algorithm %s", pw_layout_seconds(ran.time_s, a, sizeof a), ran.algorithm);
    pw_result_answer(result, "rate", "algbw %s, busbw %s", pw_unit_format(ran.algbw_Bps, PW_UNIT_BYTES_PER_SECOND, a, sizeof a),
                     pw_unit_format(ran.busbw_Bps, PW_UNIT_BYTES_PER_SECOND, b, sizeof b));
    pw_result_figure(result, "time_s", ran.time_s, "s");
    pw_result_figure(result, "algbw", ran.algbw_Bps, "bytes/s");
    pw_result_figure(result, "busbw", ran.busbw_Bps, "bytes/s");
    pw_result_figure(result, "groups", ran.groups, "");
    pw_result_figure(result, "group_size", ran.group_size, "");
    pw_result_word(result, "algorithm", ran.algorithm);
    pw_result_note(result, "Collectives: %s.", ran.provenance);
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_collective = {.kind = &pw_collective_job_kind, .can_unfold = true, .run = run};

static pw_status run_background(const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_run_options options = pw_job_options(call);
    pw_background_result ran;
    char a[64], b[64];
    PW_TRY(pw_background_run(call->allocator, call->catalogue, call->cluster, call->desc, &options, call->file, call->line,
                             result->arena, &ran, error));
    result->device = ran.device;
    result->gpus = ran.gpus;
    result->hash = ran.session.hash;
    pw_result_line(result, "job", "background traffic: %s flow%s of up to %s", pw_layout_count(ran.flows, a, sizeof a),
                   ran.flows == 1 ? "" : "s", pw_unit_format(ran.rate_Bps, PW_UNIT_BYTES_PER_SECOND, b, sizeof b));
    pw_result_figure(result, "flows", ran.flows, "");
    pw_result_figure(result, "offered", ran.rate_Bps * ran.flows, "bytes/s");
    return pw_result_finish(result, error);
}

const pw_job_kind pw_job_background = {.kind = &pw_background_kind, .can_unfold = true, .is_endless = true, .run = run_background};
