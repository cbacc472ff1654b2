#include "models/workload/session.h"

#include <math.h>
#include <string.h>

/* Everything that a run builds; torn down in reverse. */
typedef struct session {
    const pw_session_config *config;
    const pw_job *job;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_recorder *recorder;
    pw_blame *blame;
    pw_executor *executor;
    uint64_t hash;
} session;

static void tear_down(session *s) {
    if (s->executor) pw_executor_destroy(s->executor);
    if (s->blame) pw_blame_destroy(s->blame);
    if (s->recorder) pw_recorder_destroy(s->recorder);
    if (s->fluid) pw_fluid_destroy(s->fluid);
    if (s->sim) pw_sim_destroy(s->sim);
}

/* Over what a span says, word by word: a multiplication spreads each word upwards, a shift brings it down again. Runs have
 * millions of spans. */
static void hash_span(void *object, const pw_span *span) {
    uint64_t h = *(uint64_t *)object;
    const uint64_t words[] = {span->id, span->cause, (uint64_t)span->track << 32 | span->category, span->label,
                              (uint64_t)span->start, (uint64_t)span->end};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        h = (h ^ words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
        h ^= h >> 32;
    }
    *(uint64_t *)object = h;
}

static pw_status build(session *s, pw_error *error) {
    const pw_session_config *config = s->config;
    pw_sim_config sim = {.allocator = config->allocator, .seed = config->seed};
    PW_TRY(pw_sim_create(&sim, &s->sim, error));
    PW_TRY(pw_fluid_create(s->sim, false, &s->fluid, error));
    PW_TRY(pw_recorder_create(config->allocator, &s->recorder, error));
    PW_TRY(pw_blame_create(config->allocator, s->job, config->gpu, s->recorder, &s->blame, error));
    s->hash = UINT64_C(0xcbf29ce484222325);
    pw_sink hash = {.object = &s->hash, .on_span = hash_span};
    bool attached = pw_recorder_attach(s->recorder, &hash) == PW_OK;
    for (uint32_t i = 0; attached && i < config->sink_count; i++)
        attached = pw_recorder_attach(s->recorder, &config->sinks[i]) == PW_OK;
    if (!attached) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for what listens to the run");
    pw_executor_config executor = {.sim = s->sim, .fluid = s->fluid, .recorder = s->recorder, .cluster = config->cluster,
                                   .collectives = config->collectives, .gpu = config->gpu,
                                   .clock_ratio = config->clock_ratio, .fold = !config->unfolded};
    PW_TRY(pw_executor_create(&executor, s->job, &s->executor, error));
    if (config->interrupt) pw_sim_watch(s->sim, config->interrupt);
    return PW_OK;
}

static pw_status execute(session *s, pw_error *error) {
    pw_status status = pw_sim_run(s->sim, PW_TIME_MAX);
    if (status != PW_OK) {
        if (error) *error = *pw_sim_error(s->sim);
        return error && error->status == PW_OK
                   ? pw_fail(error, status, NULL, 0, NULL, "the run ended early: %s", pw_status_text(status))
                   : status;
    }
    PW_TRY(pw_executor_finish(s->executor, error));
    pw_recorder_close(s->recorder, pw_sim_now(s->sim));
    return PW_OK;
}

static pw_status copy_blame(session *s, pw_arena *arena, pw_session_result *result, pw_error *error) {
    const pw_blame_part *parts;
    const char *home;
    PW_TRY(pw_blame_result(s->blame, &parts, &result->part_count, &result->end_s, &home, error));
    pw_blame_part *kept = pw_arena_alloc(arena, (result->part_count + 1) * sizeof *kept);
    result->home_program = pw_arena_text(arena, home ? home : "");
    bool good = kept && result->home_program;
    for (uint32_t i = 0; good && i < result->part_count; i++) {
        kept[i] = parts[i];
        kept[i].name = pw_arena_text(arena, parts[i].name);
        good = kept[i].name != NULL;
    }
    if (!good) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->parts = kept;
    while (result->home + 1 < s->job->program_count && strcmp(s->job->programs[result->home].name, result->home_program) != 0)
        result->home++;
    return PW_OK;
}

static pw_status fill_programs(const session *s, pw_arena *arena, pw_session_result *result, pw_error *error) {
    uint32_t count = s->job->program_count;
    pw_program_result *programs = pw_arena_alloc(arena, (count + 1) * sizeof *programs);
    if (!programs) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    for (uint32_t i = 0; i < pw_executor_class_count(s->executor); i++) {
        const pw_rank_class *class = pw_executor_class(s->executor, i);
        pw_program_result *program = &programs[class->program];
        program->ranks += class->multiplicity;
        program->compute_s += class->compute_s * class->multiplicity;
        program->communication_s += class->communication_s * class->multiplicity;
        program->launch_wait_s += class->launch_wait_s * class->multiplicity;
        program->span_s = fmax(program->span_s, pw_time_to_seconds(class->end - class->begin, PW_TICKS_PER_SECOND_STEP));
    }
    for (uint32_t i = 0; i < count; i++) {
        pw_program_result *program = &programs[i];
        program->name = s->job->programs[i].name;
        if (!program->ranks) continue;
        program->compute_s /= program->ranks;
        program->communication_s /= program->ranks;
        program->launch_wait_s /= program->ranks;
        program->idle_s = fmax(0, result->end_s - program->compute_s);
    }
    result->programs = programs;
    return PW_OK;
}

static pw_status run(session *s, pw_arena *arena, pw_session_result *result, pw_error *error) {
    PW_TRY(build(s, error));
    PW_TRY(execute(s, error));
    PW_TRY(copy_blame(s, arena, result, error));
    PW_TRY(fill_programs(s, arena, result, error));
    result->totals = pw_executor_get_totals(s->executor);
    result->simulated_events = (double)pw_sim_events_fired(s->sim);
    result->hash = s->hash;
    return PW_OK;
}

pw_status pw_session_run(const pw_session_config *config, const pw_job *job, pw_arena *arena, pw_session_result *result,
                         pw_error *error) {
    session s = {.config = config, .job = job};
    memset(result, 0, sizeof *result);
    pw_status status = run(&s, arena, result, error);
    tear_down(&s);
    return status;
}
