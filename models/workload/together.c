/* One simulation, one fluid system, one executor with recorder and blame for each job. */
#include "models/workload/together.h"

#include <math.h>
#include <string.h>

typedef struct session {
    const pw_together_job *is;
    const pw_job *job;      /* on the GPUs of the shared cluster */
    pw_recorder *recorder;
    pw_blame *blame;
    uint64_t hash;
} session;

/* Everything that a run builds; torn down in reverse. */
struct pw_together {
    pw_allocator allocator;
    const pw_together_config *config;
    pw_arena *arena;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_watch *watch;
    session *sessions;
    uint32_t count, to_end;
    pw_executor **executors;
};

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a run");
}

static void end_jobs(pw_together *t) {
    for (uint32_t j = 0; t->executors && j < t->count; j++) pw_executor_destroy(t->executors[j]);
    for (uint32_t j = 0; t->sessions && j < t->count; j++) {
        if (t->sessions[j].blame) pw_blame_destroy(t->sessions[j].blame);
        if (t->sessions[j].recorder) pw_recorder_destroy(t->sessions[j].recorder);
    }
    t->executors = NULL;
    t->sessions = NULL;
}

void pw_together_destroy(pw_together *t) {
    if (!t) return;
    end_jobs(t);
    pw_watch_destroy(t->watch);
    if (t->fluid) pw_fluid_destroy(t->fluid);
    if (t->sim) pw_sim_destroy(t->sim);
    pw_arena_destroy(t->arena);
    pw_allocator allocator = t->allocator;
    pw_free(&allocator, t, sizeof *t);
}

const pw_watch *pw_together_watch(const pw_together *t) { return t->watch; }

/* --- Building ----------------------------------------------------------------------------------------------------- */

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

static pw_status listen(const pw_together *t, session *s, pw_error *error) {
    const pw_session_config *config = s->is->config;
    PW_TRY(pw_recorder_create(&t->allocator, &s->recorder, error));
    if (!s->is->endless) PW_TRY(pw_blame_create(&t->allocator, s->job, config->gpu, s->recorder, &s->blame, error));
    s->hash = UINT64_C(0xcbf29ce484222325);
    pw_sink hash = {.object = &s->hash, .on_span = hash_span};
    bool attached = pw_recorder_attach(s->recorder, &hash) == PW_OK;
    for (uint32_t i = 0; attached && i < config->sink_count; i++)
        attached = pw_recorder_attach(s->recorder, &config->sinks[i]) == PW_OK;
    return attached ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for what listens to the run");
}

static bool map(pw_arena *arena, const uint32_t *gpus, const uint32_t *from, uint32_t count, const uint32_t **to) {
    uint32_t *mapped = pw_arena_alloc(arena, (count + (size_t)1) * sizeof *mapped);
    for (uint32_t i = 0; mapped && i < count; i++) mapped[i] = gpus[from[i]];
    *to = mapped;
    return mapped != NULL;
}

/* The job on the GPUs that were given to it. */
static pw_status place(pw_together *t, session *s, pw_error *error) {
    const pw_job *job = s->is->job;
    s->job = job;
    if (!s->is->gpus) return PW_OK;
    pw_job *placed = pw_arena_alloc(t->arena, sizeof *placed);
    pw_store *stores = pw_arena_alloc(t->arena, (job->store_count + 1) * sizeof *stores);
    if (!placed || !stores) return no_memory(error);
    *placed = *job;
    if (!map(t->arena, s->is->gpus, job->gpu_of_rank, job->ranks, &placed->gpu_of_rank)) return no_memory(error);
    for (uint32_t i = 0; i < job->store_count; i++) {
        stores[i] = job->stores[i];
        if (stores[i].hosts && !map(t->arena, s->is->gpus, job->stores[i].hosts, job->stores[i].host_count, &stores[i].hosts))
            return no_memory(error);
    }
    placed->stores = stores;
    s->job = placed;
    return PW_OK;
}

static void job_ended(pw_sim *sim, void *object, uint64_t number) {
    (void)number;
    pw_together *t = object;
    if (--t->to_end == 0 && t->count > 1) pw_sim_stop(sim);
}

static void change_link(pw_sim *sim, void *object, uint64_t number) {
    pw_together *t = object;
    const pw_link_event *event = &t->config->events[number];
    const char *waits = NULL;
    pw_status status = pw_executor_set_link(t->executors[0], event->link, event->part, event->last, &waits);
    if (status != PW_OK) pw_sim_fail(sim, status, NULL, "%s: its capacity cannot change", event->name);
    else if (waits)
        pw_sim_fail(sim, PW_DEADLOCK, "give it a time of repair, leave it some capacity, place the job elsewhere, or list it in network.failures",
                    "%s fails at %.9g s and is not repaired: \"%s\" has data under way there that goes no other way, and never ends",
                    event->name, event->at_s, waits);
}

static pw_status schedule_events(pw_together *t, pw_error *error) {
    for (uint32_t e = 0; e < t->config->event_count; e++)
        pw_event_at(t->sim, pw_sim_ticks(t->sim, t->config->events[e].at_s), -1, change_link, t, e);
    if (pw_sim_error(t->sim)->status == PW_OK) return PW_OK;
    if (error) *error = *pw_sim_error(t->sim);
    return pw_sim_error(t->sim)->status;
}

static pw_status build_executors(pw_together *t, pw_error *error) {
    const pw_together_config *config = t->config;
    pw_executor_config *configs = pw_arena_alloc(t->arena, t->count * sizeof *configs);
    const pw_job **jobs = pw_arena_alloc(t->arena, t->count * sizeof *jobs);
    pw_link *apart = pw_arena_alloc(t->arena, (config->event_count + 1) * sizeof *apart);
    if (!configs || !jobs || !apart) return no_memory(error);
    for (uint32_t e = 0; e < config->event_count; e++) apart[e] = config->events[e].link;
    for (uint32_t j = 0; j < t->count; j++) {
        const session *s = &t->sessions[j];
        const pw_session_config *own = s->is->config;
        jobs[j] = s->job;
        configs[j] = (pw_executor_config){.sim = t->sim,
                                          .fluid = t->fluid,
                                          .recorder = s->recorder,
                                          .cluster = config->cluster ? config->cluster : own->cluster,
                                          .collectives = config->collectives ? config->collectives : own->collectives,
                                          .gpu = own->gpu,
                                          .clock_ratio = own->clock_ratio,
                                          .clock_of_group = own->clock_of_group,
                                          .effort = own->effort,
                                          .effort_changed = own->effort_changed,
                                          .effort_object = own->observer,
                                          .fold = !own->unfolded,
                                          .messages = own->messages,
                                          .watch = t->watch,
                                          .start = pw_sim_ticks(t->sim, s->is->start_s),
                                          .gap = pw_sim_ticks(t->sim, s->is->gap_s),
                                          .repeats = s->is->repeats,
                                          .endless = s->is->endless,
                                          .ended = s->is->endless ? NULL : job_ended,
                                          .ended_object = t,
                                          .ended_argument = j};
    }
    return pw_executors_create(configs, jobs, t->count, apart, config->event_count, t->executors, error);
}

static pw_status build(pw_together *t, const pw_together_job *jobs, pw_error *error) {
    const pw_together_config *config = t->config;
    pw_sim_config sim = {.allocator = &t->allocator, .seed = jobs[0].config->seed};
    PW_TRY(pw_sim_create(&sim, &t->sim, error));
    PW_TRY(pw_fluid_create(t->sim, false, &t->fluid, error));
    t->arena = pw_arena_create(&t->allocator);
    if (t->arena) t->sessions = pw_arena_alloc(t->arena, t->count * sizeof *t->sessions);
    if (t->arena) t->executors = pw_arena_alloc(t->arena, t->count * sizeof(pw_executor *));
    if (!t->sessions || !t->executors) return no_memory(error);
    for (uint32_t j = 0; j < t->count; j++) {
        t->sessions[j].is = &jobs[j];
        t->to_end += !jobs[j].endless;
        PW_TRY(place(t, &t->sessions[j], error));
        PW_TRY(listen(t, &t->sessions[j], error));
    }
    if (t->to_end == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give one of the jobs a number of steps", "every job goes on without end");
    pw_watch_config watch = {.sim = t->sim, .fluid = t->fluid, .cluster = config->cluster ? config->cluster : jobs[0].config->cluster,
                             .jobs = t->count, .bins = config->bins, .most_flows = config->most_flows};
    if (config->watched) PW_TRY(pw_watch_create(&watch, &t->watch, error));
    PW_TRY(build_executors(t, error));
    for (uint32_t j = 0; j < t->count; j++) {
        const pw_session_config *own = jobs[j].config;
        if (own->attach) PW_TRY(own->attach(own->observer, t->executors[j], t->sim, t->sessions[j].recorder, error));
    }
    PW_TRY(schedule_events(t, error));
    if (jobs[0].config->interrupt) pw_sim_watch(t->sim, jobs[0].config->interrupt);
    return PW_OK;
}

/* --- Results ------------------------------------------------------------------------------------------------------ */

static pw_status execute(pw_together *t, pw_error *error) {
    pw_status status = pw_sim_run(t->sim, PW_TIME_MAX);
    if (status != PW_OK) {
        if (error) *error = *pw_sim_error(t->sim);
        return error && error->status == PW_OK
                   ? pw_fail(error, status, NULL, 0, NULL, "the run ended early: %s", pw_status_text(status))
                   : status;
    }
    for (uint32_t j = 0; j < t->count; j++) {
        const session *s = &t->sessions[j];
        if (!s->is->endless) PW_TRY(pw_executor_finish(t->executors[j], error));
        pw_time end = s->is->endless ? pw_sim_now(t->sim) : pw_executor_ended(t->executors[j]);
        pw_recorder_close(s->recorder, end - pw_sim_ticks(t->sim, s->is->start_s));
    }
    if (t->watch) pw_watch_close(t->watch);
    return PW_OK;
}

/* Of one repetition. */
static pw_status copy_blame(const session *s, pw_session_result *result, pw_error *error) {
    pw_arena *arena = s->is->arena;
    const pw_blame_part *parts;
    const char *home;
    PW_TRY(pw_blame_result(s->blame, &parts, &result->part_count, &result->end_s, &home, error));
    pw_blame_part *kept = pw_arena_alloc(arena, (result->part_count + 1) * sizeof *kept);
    result->home_program = pw_arena_text(arena, home ? home : "");
    result->end_s /= result->rounds;
    bool good = kept && result->home_program;
    for (uint32_t i = 0; good && i < result->part_count; i++) {
        kept[i] = parts[i];
        kept[i].seconds /= result->rounds;
        kept[i].name = pw_arena_text(arena, parts[i].name);
        good = kept[i].name != NULL;
    }
    if (!good) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->parts = kept;
    while (result->home + 1 < s->job->program_count && strcmp(s->job->programs[result->home].name, result->home_program) != 0)
        result->home++;
    return PW_OK;
}

static pw_status fill_programs(const session *s, const pw_executor *executor, pw_session_result *result, pw_error *error) {
    uint32_t count = s->job->program_count, rounds = result->rounds;
    pw_program_result *programs = pw_arena_alloc(s->is->arena, (count + 1) * sizeof *programs);
    if (!programs) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    for (uint32_t i = 0; i < pw_executor_class_count(executor); i++) {
        const pw_rank_class *class = pw_executor_class(executor, i);
        pw_program_result *program = &programs[class->program];
        program->ranks += class->multiplicity;
        program->compute_s += class->compute_s * class->multiplicity;
        program->communication_s += class->communication_s * class->multiplicity;
        program->launch_wait_s += class->launch_wait_s * class->multiplicity;
        if (class->end >= class->begin)
            program->span_s = fmax(program->span_s, pw_time_to_seconds(class->end - class->begin, PW_TICKS_PER_SECOND_STEP) / rounds);
    }
    for (uint32_t i = 0; i < count; i++) {
        pw_program_result *program = &programs[i];
        program->name = s->job->programs[i].name;
        if (!program->ranks) continue;
        program->compute_s /= (double)program->ranks * rounds;
        program->communication_s /= (double)program->ranks * rounds;
        program->launch_wait_s /= (double)program->ranks * rounds;
        program->idle_s = fmax(0, result->end_s - program->compute_s);
    }
    result->programs = programs;
    return PW_OK;
}

static pw_status fill(const pw_together *t, uint32_t number, pw_error *error) {
    const session *s = &t->sessions[number];
    const pw_executor *executor = t->executors[number];
    pw_session_result *result = s->is->result;
    uint32_t done = pw_executor_rounds(executor);
    result->rounds = done ? done : 1;
    pw_time end = s->is->endless ? pw_sim_now(t->sim) : pw_executor_ended(executor);
    result->ended_s = pw_time_to_seconds(end, PW_TICKS_PER_SECOND_STEP);
    if (s->blame) {
        PW_TRY(copy_blame(s, result, error));
    } else {
        result->end_s = fmax(0, result->ended_s - s->is->start_s);
        result->home_program = s->job->programs[0].name;
    }
    PW_TRY(fill_programs(s, executor, result, error));
    result->totals = pw_executor_get_totals(executor);
    result->simulated_events = (double)pw_sim_events_fired(t->sim);
    result->hash = s->hash;
    return PW_OK;
}

static pw_status run(pw_together *t, const pw_together_job *jobs, pw_error *error) {
    PW_TRY(build(t, jobs, error));
    PW_TRY(execute(t, error));
    for (uint32_t j = 0; j < t->count; j++) {
        const pw_session_config *own = jobs[j].config;
        if (own->observe) PW_TRY(own->observe(own->observer, t->executors[j], t->sim, error));
        PW_TRY(fill(t, j, error));
    }
    return PW_OK;
}

pw_status pw_together_run(const pw_together_config *config, const pw_together_job *jobs, uint32_t count,
                          pw_together **together, pw_error *error) {
    const pw_allocator *allocator = config->allocator ? config->allocator : pw_allocator_default();
    if (together) *together = NULL;
    for (uint32_t j = 0; j < count; j++) memset(jobs[j].result, 0, sizeof *jobs[j].result);
    pw_together *t = pw_alloc_zero(allocator, sizeof *t);
    if (!t) return no_memory(error);
    t->allocator = *allocator;
    t->config = config;
    t->count = count;
    pw_status status = run(t, jobs, error);
    end_jobs(t); /* what they refer to may be gone when the watch is read */
    if (together) *together = t;
    else pw_together_destroy(t);
    return status;
}
