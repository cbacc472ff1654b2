#include "scenarios/jobs/together.h"

#include <math.h>
#include <string.h>

typedef struct running running;
typedef struct turn_of { running *all; uint32_t number; } turn_of;

/* One run of some of the jobs. */
struct running {
    const pw_side_call *side;
    pw_placed_job *placed;
    const pw_link_event *events;
    uint32_t event_count;
    pw_cluster *cluster;
    pw_collectives *collectives;
    pw_arena *arena;
    uint32_t first, end;      /* jobs first .. end - 1 */
    pw_cluster_desc *clusters; /* [jobs]: what each is lowered for */
    turn_of *turns;            /* [jobs] */
    pw_together_job *jobs;     /* [jobs] */
    pw_session_result **sessions; /* of the kinds, while they wait */
    struct ended { double end_s; uint32_t rounds; uint64_t hash; } *ended; /* [jobs] */
    struct role_names { const char *const *roles, *const *peers; uint32_t role_count, peer_count; } *names; /* [jobs] */
    pw_run_result *results;    /* [jobs] */
    bool watched;
    pw_together *together;
    bool ran;                  /* the simulation was reached */
    uint32_t at;               /* the job about which an error is */
};

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for jobs side by side");
}

static pw_status call_kind(running *r, uint32_t number, pw_error *error);

static pw_status simulate(running *r, pw_error *error) {
    const pw_together_config config = {.allocator = r->side->call->allocator,
                                       .cluster = r->cluster,
                                       .collectives = r->collectives,
                                       .events = r->events,
                                       .event_count = r->event_count,
                                       .watched = r->watched,
                                       .bins = r->watched ? r->side->bins : 0,
                                       .most_flows = r->watched ? r->side->most_flows : 0};
    r->ran = true;
    PW_TRY(pw_together_run(&config, r->jobs + r->first, r->end - r->first, r->watched ? &r->together : NULL, error));
    for (uint32_t j = r->first; j < r->end; j++)
        r->ended[j] = (struct ended){r->sessions[j]->ended_s, r->sessions[j]->rounds, r->sessions[j]->hash};
    return PW_OK;
}

static bool name_roles(running *r, uint32_t number, const pw_job *job) {
    struct role_names *names = &r->names[number];
    const char **roles = pw_arena_alloc(r->arena, (job->group_role_count + (size_t)1) * sizeof *roles);
    const char **peers = pw_arena_alloc(r->arena, (job->peer_role_count + (size_t)1) * sizeof *peers);
    *names = (struct role_names){roles, peers, job->group_role_count, job->peer_role_count};
    if (!roles || !peers) return false;
    for (uint32_t i = 0; i < job->group_role_count; i++)
        if (!(roles[i] = pw_arena_text(r->arena, job->group_roles[i].name))) return false;
    for (uint32_t i = 0; i < job->peer_role_count; i++)
        if (!(peers[i] = pw_arena_text(r->arena, job->peer_roles[i].name))) return false;
    return true;
}

/* The session of one job: it waits here for the others. */
static pw_status run_session(void *object, const pw_session_config *config, const pw_job *job, pw_arena *arena,
                             pw_session_result *result, pw_error *error) {
    const turn_of *turn = object;
    running *r = turn->all;
    const pw_placed_job *placed = &r->placed[turn->number];
    pw_job *named = pw_arena_alloc(arena, sizeof *named);
    if (!named) return no_memory(error);
    *named = *job;
    named->name = placed->name;
    r->jobs[turn->number] = (pw_together_job){.config = config, .job = named, .arena = arena, .result = result, .gpus = placed->gpus,
                                              .start_s = placed->desc.start_s, .gap_s = placed->desc.gap_s,
                                              .repeats = (uint32_t)placed->desc.steps, .endless = placed->is_endless};
    r->sessions[turn->number] = result;
    if (!name_roles(r, turn->number, job)) return no_memory(error);
    if (turn->number + 1 < r->end) return call_kind(r, turn->number + 1, error);
    return simulate(r, error);
}

static pw_status call_kind(running *r, uint32_t number, pw_error *error) {
    const pw_side_call *side = r->side;
    const pw_placed_job *placed = &r->placed[number];
    pw_session_runner runner = {.object = &r->turns[number], .run = run_session};
    pw_job_call call = *side->call;
    r->turns[number] = (turn_of){r, number};
    r->at = number;
    r->clusters[number] = *side->call->cluster;
    r->clusters[number].nodes = placed->node_count;
    call.cluster = &r->clusters[number];
    call.desc = placed->desc.job.record;
    call.runner = &runner;
    if (side->files) {
        call.file = side->files[number];
        call.line = side->lines[number];
    }
    bool before = r->ran;
    PW_TRY(pw_job_check_cooling(placed->kind, call.cluster, error));
    pw_status status = placed->kind->run(&call, &r->results[number], error);
    if (status == PW_OK && before == r->ran)
        return pw_fail(error, PW_UNSUPPORTED, call.file, call.line, "run it alone: job = ...",
                       "o.%s does not run beside other jobs", placed->kind->kind->name);
    return status;
}

static pw_status run_some(running *r, uint32_t first, uint32_t count, bool watched, pw_error *error) {
    r->first = first;
    r->end = first + count;
    r->watched = watched;
    r->ran = false;
    for (uint32_t j = first; j < r->end; j++) r->results[j] = (pw_run_result){.arena = r->arena};
    return call_kind(r, first, error);
}

static pw_status prepare(running *r, uint32_t count, pw_error *error) {
    r->clusters = pw_arena_alloc(r->arena, count * sizeof *r->clusters);
    r->turns = pw_arena_alloc(r->arena, count * sizeof *r->turns);
    r->jobs = pw_arena_alloc(r->arena, count * sizeof *r->jobs);
    r->sessions = pw_arena_alloc(r->arena, count * sizeof(pw_session_result *));
    r->results = pw_arena_alloc(r->arena, count * sizeof *r->results);
    r->ended = pw_arena_alloc(r->arena, count * sizeof *r->ended);
    r->names = pw_arena_alloc(r->arena, count * sizeof *r->names);
    return r->names && r->ended && r->clusters && r->turns && r->jobs && r->sessions && r->results ? PW_OK : no_memory(error);
}

/* Options that a kind does not know. */
static pw_status check_flags(const pw_side_call *side, const pw_placed_job *placed, uint32_t count, pw_error *error) {
    uint32_t draws = 0;
    for (uint32_t j = 0; j < count; j++) draws += placed[j].kind->draws_power;
    if (!draws && count) PW_TRY(pw_job_check_power(placed[0].kind, side->call->cluster, error));
    for (uint32_t j = 0; j < count; j++) {
        const pw_job_kind *kind = placed[j].kind;
        bool bad_memory = side->call->ignore_memory && !kind->can_ignore_memory && count == 1;
        if (bad_memory || (side->call->unfolded && !kind->can_unfold))
            return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out", "--%s is not for jobs of the kind o.%s",
                           bad_memory ? "ignore-memory" : "unfolded", kind->kind->name);
    }
    return PW_OK;
}

/* --- Losses ------------------------------------------------------------------------------------------------------- */

static bool met_anyone(const pw_watch *watch, uint32_t job, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (k != job && pw_watch_met(watch, job, k)) return true;
    return false;
}

static void split_loss(const pw_watch *watch, pw_side_job *job, uint32_t number, uint32_t count) {
    double loss = job->together_s - job->alone_s, weights = 0, given = 0;
    uint32_t largest = number;
    for (uint32_t k = 0; k < count; k++) {
        double weight = k == number ? 0 : pw_watch_held_s(watch, number, k);
        weights += weight;
        if (weight > 0 && (largest == number || weight > pw_watch_held_s(watch, number, largest))) largest = k;
    }
    job->unexplained_s = weights > 0 ? 0 : loss;
    if (!(weights > 0)) return;
    for (uint32_t k = 0; k < count; k++) {
        if (k == number || k == largest) continue;
        job->lost_to_s[k] = loss * (pw_watch_held_s(watch, number, k) / weights);
        given += job->lost_to_s[k];
    }
    job->lost_to_s[largest] = loss - given;
}

static pw_status fill_job(const running *r, uint32_t number, pw_side_by_side *out, pw_error *error) {
    const pw_placed_job *placed = &r->placed[number];
    const struct ended *ended = &r->ended[number];
    pw_side_job *job = &out->jobs[number];
    *job = (pw_side_job){.name = placed->name, 
                         .kind = placed->kind->kind, .desc = placed->desc.job.record, .nodes = placed->nodes,
                         .node_count = placed->node_count, .is_endless = placed->is_endless,
                         .result = r->results[number], .start_s = placed->desc.start_s, .end_s = ended->end_s,
                         .rounds = ended->rounds, .together_s = ended->end_s - placed->desc.start_s, .alone_s = NAN,
                         .roles = r->names[number].roles, .role_count = r->names[number].role_count,
                         .peers = r->names[number].peers, .peer_count = r->names[number].peer_count};
    job->lost_to_s = pw_arena_alloc(r->arena, (out->count + (size_t)1) * sizeof *job->lost_to_s);
    if (!job->lost_to_s) return no_memory(error);
    if (!job->is_endless && ended->end_s > out->end_s) out->end_s = ended->end_s;
    out->hash = (out->hash ^ ended->hash) * UINT64_C(0x9e3779b97f4a7c15);
    return PW_OK;
}

static pw_status run_alone(const running *together, uint32_t number, double *seconds, uint32_t *failed, pw_error *error) {
    running r = *together;
    r.arena = pw_arena_create(together->side->call->allocator);
    r.together = NULL;
    pw_status status = r.arena ? prepare(&r, together->end, error) : no_memory(error);
    if (status == PW_OK) status = run_some(&r, number, 1, false, error);
    if (status == PW_OK) *seconds = r.ended[number].end_s - r.placed[number].desc.start_s;
    else *failed = number;
    pw_arena_destroy(r.arena);
    return status;
}

static pw_status find_losses(const running *r, pw_side_by_side *out, uint32_t *failed, pw_error *error) {
    const pw_watch *watch = out->watch;
    for (uint32_t j = 0; j < out->count; j++) {
        pw_side_job *job = &out->jobs[j];
        if (job->is_endless) continue;
        job->alone_s = job->together_s;
        job->ran_alone = met_anyone(watch, j, out->count);
        if (!job->ran_alone) continue;
        PW_TRY(run_alone(r, j, &job->alone_s, failed, error));
        split_loss(watch, job, j, out->count);
    }
    return PW_OK;
}

/* A cable between switches that is down while jobs run holds what goes over it: say so. */
static pw_status note_waits(const running *r, pw_side_by_side *out, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(r->cluster);
    pw_run_result *result = &out->jobs[0].result;
    for (uint32_t e = 0; e < r->event_count; e++) {
        const pw_link_event *event = &r->events[e];
        if (event->part > 0 || event->at_s >= out->end_s || pw_fabric_link(fabric, event->link)->kind != PW_LINK_TRUNK) continue;
        pw_result_note(result, "%s failed: what goes over it waits for its repair and is not moved to other paths. Parts that are down all "
                               "the time are network.failures, around which routes are searched.", event->name);
        break;
    }
    return pw_result_finish(result, error);
}

/* A job on the whole cluster, as in a scenario with one. */
static pw_status place_one(const pw_side_call *side, pw_arena *arena, pw_placed_job **placed, pw_error *error) {
    pw_placed_job *one = *placed = pw_arena_alloc(arena, sizeof *one);
    if (!one) return no_memory(error);
    PW_TRY(pw_description_defaults(&pw_job_on_kind, &one->desc, arena, error));
    one->desc.job = side->job;
    one->kind = pw_job_kind_of(side->job.kind);
    one->name = "job";
    one->node_count = (uint32_t)side->call->cluster->nodes;
    if (!one->kind->is_endless) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "put it beside other jobs: jobs = { o.train { ... }, o.background { ... } }",
                   "o.%s never ends, so it cannot run alone", side->job.kind->name);
}

static pw_status run(running *r, const pw_side_call *side, pw_side_run *made, uint32_t *failed, pw_error *error) {
    pw_side_by_side *out = &made->sides;
    const pw_job_call *call = side->call;
    pw_link_event *events;
    out->count = side->jobs.count ? side->jobs.count : 1;
    out->jobs = pw_arena_alloc(r->arena, out->count * sizeof *out->jobs);
    if (!out->jobs) return no_memory(error);
    PW_TRY(pw_cluster_create(call->allocator, call->catalogue, call->cluster, &made->cluster, error));
    PW_TRY(side->jobs.count ? pw_jobs_place(made->cluster, side->jobs, call->seed, r->arena, &r->placed, error)
                            : place_one(side, r->arena, &r->placed, error));
    PW_TRY(check_flags(side, r->placed, out->count, error));
    PW_TRY(pw_part_names_make(made->cluster, r->arena, &out->names, error));
    PW_TRY(pw_events_make(made->cluster, &out->names, side->events, r->arena, &events, &r->event_count, error));
    PW_TRY(pw_collectives_create(call->allocator, call->catalogue, made->cluster, true, &r->collectives, error));
    PW_TRY(prepare(r, out->count, error));
    r->events = events;
    r->cluster = made->cluster;
    pw_status status = run_some(r, 0, out->count, true, error);
    made->together = r->together;
    if (status != PW_OK) {
        *failed = r->at;
        return status;
    }
    out->watch = pw_together_watch(made->together);
    for (uint32_t j = 0; j < out->count; j++) PW_TRY(fill_job(r, j, out, error));
    PW_TRY(note_waits(r, out, error));
    return find_losses(r, out, failed, error);
}

pw_status pw_jobs_side_by_side(const pw_side_call *side, pw_arena *arena, pw_side_run *result, uint32_t *failed, pw_error *error) {
    uint32_t about = PW_NONE;
    running r = {.side = side, .arena = arena};
    memset(result, 0, sizeof *result);
    pw_status status = run(&r, side, result, &about, error);
    if (r.collectives) pw_collectives_destroy(r.collectives);
    if (failed) *failed = about;
    return status;
}

void pw_side_run_end(pw_side_run *result) {
    pw_together_destroy(result->together);
    if (result->cluster) pw_cluster_destroy(result->cluster);
    result->together = NULL;
    result->cluster = NULL;
}
