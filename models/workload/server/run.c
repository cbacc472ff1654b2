/* One call from a description to an answer: cluster, plan, programs, execution, staleness. */
#include <math.h>
#include <string.h>

#include "models/workload/server/plan.h"

typedef struct prepared {
    pw_cluster *cluster;
    pw_gpu *gpu;
    pw_collectives *collectives;
    server_plan plan;
    server_backup *backup;
    staleness_log *log;
    pw_job *job;
} prepared;

static void tear_down(prepared *s) {
    staleness_log_destroy(s->log);
    if (s->collectives) pw_collectives_destroy(s->collectives);
    if (s->gpu) pw_gpu_destroy(s->gpu);
    if (s->cluster) pw_cluster_destroy(s->cluster);
}

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to run a parameter server job");
}

static pw_status execute(prepared *s, const pw_allocator *allocator, const pw_server_options *options, pw_arena *arena,
                         pw_session_result *ran, pw_error *error) {
    pw_sink *sinks = pw_arena_alloc(arena, (options->sink_count + 1) * sizeof *sinks);
    if (!sinks) return no_memory(error);
    uint32_t count = options->sink_count;
    if (count) memcpy(sinks, options->sinks, count * sizeof *sinks);
    const pw_parameter_server_desc *d = s->plan.desc;
    if (s->plan.apart && (d->mode == PW_SERVER_ASYNCHRONOUS || d->mode == PW_SERVER_BOUNDED)) {
        s->log = staleness_log_create(allocator, &s->plan);
        if (!s->log) return no_memory(error);
        sinks[count++] = staleness_log_sink(s->log);
    }
    pw_session_config config = {.allocator = allocator, .cluster = s->cluster, .gpu = s->gpu, .collectives = s->collectives,
                                .clock_ratio = 1, .seed = options->seed, .unfolded = options->unfolded,
                                .interrupt = options->interrupt, .sinks = sinks, .sink_count = count,
                                .runner = options->runner};
    return pw_session_run(&config, s->job, arena, ran, error);
}

/* Programs of single workers are summed up. */
static pw_status sum_rows(const prepared *s, pw_arena *arena, pw_parameter_server_result *result, pw_error *error) {
    const char **names = pw_arena_alloc(arena, 2 * sizeof *names);
    if (!names) return no_memory(error);
    uint32_t slow = (uint32_t)s->plan.desc->slow_workers, fast = s->plan.workers - slow;
    names[0] = fast ? "workers" : "slow workers";
    names[1] = "slow workers";
    result->row_names = names;
    result->row_count = (fast > 0) + (slow > 0);
    for (uint32_t w = 0; w < s->plan.workers; w++) {
        const pw_program_result *from = &result->session.programs[s->job->program_of_rank[w]];
        pw_program_result *to = &result->rows[fast && server_is_slow(&s->plan, w)];
        to->ranks++;
        bool own = s->plan.apart || s->backup;
        double compute_s = s->plan.as_segment ? from->compute_s : s->plan.drawn_s[own ? w : server_is_slow(&s->plan, w) ? fast : 0];
        to->compute_s += compute_s;
        to->communication_s += from->communication_s;
        to->idle_s += fmax(0, result->session.end_s - compute_s);
    }
    for (uint32_t r = 0; r < result->row_count; r++) {
        pw_program_result *to = &result->rows[r];
        to->name = names[r];
        to->compute_s /= to->ranks;
        to->communication_s /= to->ranks;
        to->idle_s /= to->ranks;
    }
    return PW_OK;
}

static pw_status fill(prepared *s, pw_arena *arena, pw_parameter_server_result *result, pw_error *error) {
    const server_plan *plan = &s->plan;
    const pw_parameter_server_desc *d = plan->desc;
    double workers = plan->workers, end_s = result->session.end_s;
    bool servers = d->mode != PW_SERVER_ALL_REDUCE;
    result->push_bytes = servers ? plan->push_bytes : 0;
    result->pull_bytes = servers ? plan->pull_bytes : 0;
    result->compute_s = plan->compute_s;
    result->apply_s = plan->apply_s;
    result->activation_layers = plan->activation_layers;
    result->compute_source = plan->compute_source;
    result->device = pw_cluster_device(s->cluster);
    result->step_s = end_s / (double)d->steps;
    result->updates_per_s = workers / result->step_s;
    double used = workers; /* gradients per step */
    if (d->mode == PW_SERVER_BACKUP) {
        result->step_s = pw_time_to_seconds(server_backup_end(s->backup), PW_TICKS_PER_SECOND_STEP) / (double)d->steps;
        used = workers - (double)d->backup_workers;
        result->updates_per_s = used / result->step_s;
        result->dropped_share = server_backup_dropped(s->backup);
    }
    if (s->log) {
        double rate;
        PW_TRY(staleness_log_result(s->log, arena, &result->staleness, &rate, error));
        result->has_staleness = true;
        if (d->mode == PW_SERVER_ASYNCHRONOUS) {
            result->updates_per_s = rate;
            result->step_s = workers / (rate * (double)d->push_every);
        }
    }
    result->examples_per_s = d->batch > 0 ? (double)d->batch * used / result->step_s : NAN;
    return sum_rows(s, arena, result, error);
}

static pw_status run(prepared *s, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_parameter_server_desc *desc, const pw_server_options *options, const char *file, int line,
                     pw_arena *arena, pw_parameter_server_result *result, pw_error *error) {
    PW_TRY(pw_cluster_create(allocator, catalogue, cluster, &s->cluster, error));
    PW_TRY(pw_cluster_need_equal(s->cluster, "a parameter server", error));
    PW_TRY(pw_gpu_create(allocator, catalogue, pw_cluster_device(s->cluster)->name, &s->gpu, error));
    PW_TRY(pw_collectives_create(allocator, catalogue, s->cluster, true, &s->collectives, error));
    PW_TRY(server_plan_make(catalogue, s->cluster, s->gpu, desc, file, line, arena, &s->plan, error));
    if (desc->mode == PW_SERVER_BACKUP && !(s->backup = server_backup_create(&s->plan, options->seed, arena))) return no_memory(error);
    PW_TRY(server_lower(&s->plan, options->seed, s->backup, arena, &s->job, error));
    PW_TRY(execute(s, allocator, options, arena, &result->session, error));
    result->collectives = pw_arena_text(arena, pw_collectives_provenance(s->collectives));
    result->compute_source = pw_arena_text(arena, s->plan.compute_source);
    PW_TRY(fill(s, arena, result, error));
    return result->collectives && result->compute_source ? PW_OK : no_memory(error);
}

pw_status pw_parameter_server_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                                  const pw_parameter_server_desc *desc, const pw_server_options *options, const char *file,
                                  int line, pw_arena *arena, pw_parameter_server_result *result, pw_error *error) {
    prepared s = {0};
    memset(result, 0, sizeof *result);
    PW_TRY(pw_description_check(&pw_parameter_server_kind, desc, file, line, error));
    pw_status status = run(&s, allocator, catalogue, cluster, desc, options, file, line, arena, result, error);
    tear_down(&s);
    return status;
}
