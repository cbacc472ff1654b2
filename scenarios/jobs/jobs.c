#include "scenarios/jobs/jobs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "scenarios/report/layout.h"

#define DECLARE(job, registry) extern const pw_job_kind job; extern const pw_kind registry;
PW_JOB_KINDS(DECLARE)

#define JOB(job, registry) &job,
const pw_job_kind *const pw_job_kinds[] = {PW_JOB_KINDS(JOB) NULL};
#define REGISTRY(job, registry) &registry,
const pw_kind *const pw_job_registry_kinds[] = {PW_JOB_KINDS(REGISTRY) NULL};

const pw_job_kind *pw_job_kind_of(const pw_kind *kind) {
    for (const pw_job_kind *const *job = pw_job_kinds; *job; job++)
        if ((*job)->kind == kind) return *job;
    return NULL;
}

pw_status pw_job_check_cooling(const pw_job_kind *kind, const pw_cluster_desc *cluster, pw_error *error) {
    if (!cluster->cooling || kind->reads_cooling) return PW_OK;
    if (kind->draws_power) {
        if (cluster->power && cluster->power->model == PW_POWER_ON) return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add power = o.power { } to the cluster, or leave cooling out",
                       "cluster.cooling: without cluster.power no clock asks for temperatures");
    }
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out; `podwright describe` shows what it does to temperatures",
                   "cluster.cooling: jobs of the kind o.%s do not read it", kind->kind->name);
}

pw_run_options pw_job_options(const pw_job_call *call) {
    return (pw_run_options){.seed = call->seed, .ignore_memory = call->ignore_memory, .unfolded = call->unfolded,
                            .messages = call->messages, .interrupt = call->interrupt, .sinks = call->sinks,
                            .sink_count = call->sink_count, .runner = call->runner};
}

void pw_job_put_interval(const pw_interval *interval, pw_run_result *result) {
    char a[64], b[64];
    result->answer_class = interval->step_class;
    pw_result_figure(result, "interval_level", interval->level, "");
    pw_result_word(result, "step_class", interval->step_class);
    if (isnan(interval->low_s)) {
        pw_result_answer(result, "range", "not known: too few published steps of the class \"%s\"", interval->step_class);
        return;
    }
    pw_result_answer(result, "range", "%s to %s holds %.0f %% of measured steps (class \"%s\": %" PRId64 " published steps of %" PRId64
                     " families; kernel parameters +-%.1f %%)", pw_layout_seconds(interval->low_s, a, sizeof a),
                     pw_layout_seconds(interval->high_s, b, sizeof b), 100 * interval->level, interval->step_class, interval->rows,
                     interval->families, 100 * interval->kernel_sd);
    pw_result_figure(result, "interval_low", interval->low_s, "s");
    pw_result_figure(result, "interval_high", interval->high_s, "s");
}

void pw_job_take_session(pw_run_result *result, const pw_session_result *session, uint32_t program_count, const char *word) {
    result->parts = session->parts;
    result->part_count = session->part_count;
    result->home = session->home_program;
    result->hash = session->hash;
    pw_result_row *rows = pw_result_rows(result, word, program_count);
    for (uint32_t i = 0; rows && i < program_count; i++) {
        const pw_program_result *program = &session->programs[i];
        rows[i].name = strcmp(word, "program") == 0 ? program->name : NULL;
        rows[i].ranks = program->ranks;
        rows[i].compute_s = program->compute_s;
        rows[i].communication_s = program->communication_s;
        rows[i].idle_s = program->idle_s;
        rows[i].launch_wait_s = program->launch_wait_s;
    }
}
