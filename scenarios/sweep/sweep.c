/* The program of a sweep and its run. */
#include <string.h>

#include "scenarios/sweep/sweep.h"

/* All the run builds; torn down in reverse. */
typedef struct run {
    const pw_sweep_config *config;
    pw_arena *arena;
    pw_job job;
    pw_sim *sim;
    pw_fluid *fluid;
    pw_recorder *recorder;
    pw_executor *executor;
    pw_name category;      /* of the spans that count */
    uint32_t *next_of_track;
    size_t track_capacity, track_count;
    double *weights;       /* per row: ranks whose spans were seen */
    pw_sweep_row *rows;
    bool failed;
} run;

enum { STREAM = 0, GROUP_ROLE = 0, ALL_ROLE = 1 };

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the sweep");
}

static bool make_role(run *r, const char *name, uint32_t groups, uint32_t size, pw_group_role *role) {
    uint32_t ranks = groups * size;
    uint32_t *group_of = pw_arena_alloc(r->arena, ranks * sizeof *group_of);
    uint32_t *first = pw_arena_alloc(r->arena, (groups + (size_t)1) * sizeof *first);
    uint32_t *members = pw_arena_alloc(r->arena, ranks * sizeof *members);
    if (!group_of || !first || !members) return false;
    for (uint32_t i = 0; i < ranks; i++) {
        group_of[i] = i / size;
        members[i] = i;
    }
    for (uint32_t g = 0; g <= groups; g++) first[g] = g * size;
    *role = (pw_group_role){name, groups, group_of, first, members};
    return true;
}

/* One operation per size; between them, where several groups run at once, a meeting of all. */
static pw_status make_job(run *r, pw_error *error) {
    const pw_sweep_config *config = r->config;
    uint32_t groups = config->groups.count, ranks = groups * config->groups.size;
    pw_op *ops = pw_arena_alloc(r->arena, (2 * (size_t)config->size_count + 1) * sizeof *ops);
    pw_template *template = pw_arena_alloc(r->arena, sizeof *template);
    pw_program *program = pw_arena_alloc(r->arena, sizeof *program);
    pw_group_role *roles = pw_arena_alloc(r->arena, 2 * sizeof *roles);
    pw_category *category = pw_arena_alloc(r->arena, sizeof *category);
    uint32_t *programs = pw_arena_alloc(r->arena, ranks * sizeof *programs);
    if (!ops || !template || !program || !roles || !category || !programs ||
        !make_role(r, "group", groups, config->groups.size, &roles[GROUP_ROLE]) || !make_role(r, "all", 1, ranks, &roles[ALL_ROLE]))
        return no_memory(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < config->size_count; i++) {
        if (groups > 1)
            ops[count++] = (pw_op){PW_OP_INIT, .kind = PW_OP_QUORUM, .stream = STREAM, .category = 1,
                                   .quorum = {.group_role = ALL_ROLE, .needed = ranks, .number = i}};
        ops[count++] = (pw_op){PW_OP_INIT, .kind = PW_OP_COLLECTIVE, .stream = STREAM,
                               .collective = {config->kind, config->algorithm, GROUP_ROLE, (double)config->sizes[i]}};
    }
    pw_category *categories = pw_arena_alloc(r->arena, 2 * sizeof *categories);
    if (!categories) return no_memory(error);
    categories[0] = (pw_category){"collective", PW_BLAME_COMMUNICATION};
    categories[1] = (pw_category){"meeting", PW_BLAME_OTHER};
    *template = (pw_template){"sweep", ops, count};
    *program = (pw_program){.name = "rank"};
    r->job = (pw_job){.name = "sweep", .ranks = ranks, .gpu_of_rank = config->groups.gpus, .program_of_rank = programs,
                      .programs = program, .program_count = 1, .templates = template, .template_count = 1,
                      .group_roles = roles, .group_role_count = 2, .categories = categories, .category_count = 2,
                      .streams = 1, .slots = 1, .kernel_time_factor = 1};
    return PW_OK;
}

/* The i-th collective of a stream is the i-th row. */
static void on_span(void *object, const pw_span *span) {
    run *r = object;
    if (span->category != r->category || r->failed) return;
    if (span->track >= r->track_capacity) {
        size_t before = r->track_capacity;
        if (pw_grow(r->config->allocator, (void **)&r->next_of_track, &r->track_capacity, span->track + (size_t)1,
                    sizeof *r->next_of_track)) {
            r->failed = true;
            return;
        }
        memset(r->next_of_track + before, 0, (r->track_capacity - before) * sizeof *r->next_of_track);
    }
    uint32_t i = r->next_of_track[span->track]++;
    PW_CHECK(i < r->config->size_count);
    pw_sweep_row *row = &r->rows[i];
    double time_s = pw_time_to_seconds(span->end - span->start, pw_sim_ticks_per_second(r->sim));
    if (r->weights[i] == 0 || time_s < row->fastest_s) row->fastest_s = time_s;
    if (time_s > row->slowest_s) row->slowest_s = time_s;
    row->time_s += time_s * span->weight;
    r->weights[i] += span->weight;
}

static pw_status build(run *r, pw_error *error) {
    const pw_sweep_config *config = r->config;
    pw_sim_config sim = {.allocator = config->allocator, .seed = config->seed};
    PW_TRY(pw_sim_create(&sim, &r->sim, error));
    PW_TRY(pw_fluid_create(r->sim, false, &r->fluid, error));
    PW_TRY(pw_recorder_create(config->allocator, &r->recorder, error));
    pw_sink sink = {.object = r, .on_span = on_span};
    r->category = pw_record_name(r->recorder, "collective");
    if (!r->category || pw_recorder_attach(r->recorder, &sink) != PW_OK) return no_memory(error);
    pw_executor_config executor = {.sim = r->sim, .fluid = r->fluid, .recorder = r->recorder, .cluster = config->cluster,
                                   .collectives = config->collectives, .clock_ratio = 1, .fold = true,
                                   .messages = config->messages};
    PW_TRY(pw_executor_create(&executor, &r->job, &r->executor, error));
    if (config->interrupt) pw_sim_watch(r->sim, config->interrupt);
    return PW_OK;
}

static pw_status execute(run *r, pw_error *error) {
    pw_status status = pw_sim_run(r->sim, PW_TIME_MAX);
    if (status != PW_OK) {
        const pw_error *failed = pw_sim_error(r->sim);
        if (failed->status == PW_OK) return pw_fail(error, status, NULL, 0, NULL, "the sweep ended early: %s", pw_status_text(status));
        if (error) *error = *failed;
        return failed->status;
    }
    PW_TRY(pw_executor_finish(r->executor, error));
    return r->failed ? no_memory(error) : PW_OK;
}

/* What the first group's collective costs alone: the algorithm, its latency and its bounds. */
static pw_status add_costs(run *r, pw_error *error) {
    const pw_sweep_config *config = r->config;
    pw_group_shape shape;
    PW_TRY(pw_collective_shape(config->collectives, config->groups.gpus, config->groups.size, &shape, error));
    for (uint32_t i = 0; i < config->size_count; i++) {
        pw_sweep_row *row = &r->rows[i];
        double bytes = (double)config->sizes[i];
        PW_TRY(pw_collective_group_cost(config->collectives, config->kind, config->algorithm, config->groups.gpus, &shape, bytes, &row->cost, error));
        if (!pw_collective_library_estimate(config->collectives, config->kind, &shape, bytes, &row->library))
            row->library = (pw_library_estimate){0};
    }
    return PW_OK;
}

static pw_status sweep(run *r, pw_sweep_result *result, pw_error *error) {
    const pw_sweep_config *config = r->config;
    r->rows = pw_arena_alloc(r->arena, (config->size_count + (size_t)1) * sizeof *r->rows);
    r->weights = pw_arena_alloc(r->arena, (config->size_count + (size_t)1) * sizeof *r->weights);
    if (!r->rows || !r->weights) return no_memory(error);
    PW_TRY(add_costs(r, error));
    PW_TRY(make_job(r, error));
    PW_TRY(build(r, error));
    PW_TRY(execute(r, error));
    for (uint32_t i = 0; i < config->size_count; i++) {
        r->rows[i].bytes = config->sizes[i];
        PW_CHECK(r->weights[i] == r->job.ranks);
        r->rows[i].time_s /= r->weights[i];
    }
    result->rows = r->rows;
    result->events = (double)pw_sim_events_fired(r->sim);
    return pw_sweep_find_limits(config, r->arena, r->rows, error);
}

static void tear_down(run *r) {
    if (r->executor) pw_executor_destroy(r->executor);
    if (r->recorder) pw_recorder_destroy(r->recorder);
    if (r->fluid) pw_fluid_destroy(r->fluid);
    if (r->sim) pw_sim_destroy(r->sim);
    pw_free(r->config->allocator, r->next_of_track, r->track_capacity * sizeof *r->next_of_track);
}

pw_status pw_sweep_run(const pw_sweep_config *config, pw_arena *arena, pw_sweep_result *result, pw_error *error) {
    pw_sweep_config own = *config;
    if (!own.allocator) own.allocator = pw_allocator_default();
    run r = {.config = &own, .arena = arena};
    *result = (pw_sweep_result){0};
    pw_status status = sweep(&r, result, error);
    tear_down(&r);
    return status;
}
