#include "scenarios/jobs/jobs.h"

#include <string.h>

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
