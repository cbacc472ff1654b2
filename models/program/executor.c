/* The executor's API: preparation, clock, results. Ranks run in host.c and operation.c. */
#include <string.h>

#include "models/program/run.h"

static pw_status no_memory(const pw_job *job, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to run \"%s\"", job->name);
}

static void begin(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    pw_executor *x = object;
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        rank_run *rank = &x->ranks[c];
        rank->host_time = rank->release = pw_sim_now(sim);
        for (uint32_t s = 0; s < x->job->streams; s++) rank->streams[s].last_time = pw_sim_now(sim);
        host_run(x, c);
        run_ready(x);
    }
}

/* What ended last in a rank, and when. */
static pw_span_id last_span(const pw_executor *x, const rank_run *rank, pw_time *end) {
    pw_span_id span = rank->release_span;
    *end = rank->release;
    for (uint32_t s = 0; s < x->job->streams; s++)
        if (rank->streams[s].last_time >= *end && rank->streams[s].last_span) {
            *end = rank->streams[s].last_time;
            span = rank->streams[s].last_span;
        }
    return span;
}

/* The next repetition begins where the last rank of this one ended; programs start again from their first operation. */
static void begin_again(pw_sim *sim, void *object, uint64_t argument) {
    pw_executor *x = object;
    pw_time now = pw_sim_now(sim), last = -1, end;
    pw_span_id cause = 0;
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        pw_span_id span = last_span(x, &x->ranks[c], &end);
        if (end > last) cause = span;
        if (end > last) last = end;
    }
    x->unfinished = x->fold->class_count;
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        rank_run *rank = &x->ranks[c];
        rank->ended = false;
        rank->host = HOST_RUNNING;
        rank->release_span = cause;
        if (now > last && x->recording)
            rank->release_span = report_span(x, c, rank->host_track, x->names.delay, 0, last, now, cause);
        pw_walker_restart(rank->walker);
        for (uint32_t s = 0; s < x->job->streams; s++) rank->streams[s].last_span = rank->release_span;
        for (uint32_t s = 0; s < x->job->slots; s++) rank->slots[s] = (slot_run){.op = PW_NONE};
    }
    begin(sim, x, argument);
}

void round_ended(pw_executor *x) {
    uint32_t repeats = x->config.repeats ? x->config.repeats : 1;
    pw_sim *sim = x->config.sim;
    x->round++;
    if (x->round < repeats || x->config.endless) {
        if (x->config.endless && pw_sim_now(sim) + x->config.gap == x->began) {
            pw_sim_fail(sim, PW_BAD_INPUT, "give it something that takes time", "\"%s\" is repeated without end, and takes no time",
                        x->job->name);
            return;
        }
        x->began = pw_sim_now(sim) + x->config.gap;
        pw_event_after(sim, x->config.gap, begin_again, x, 0);
        return;
    }
    x->ended = pw_sim_now(sim);
    if (x->config.ended) x->config.ended(sim, x->config.ended_object, x->config.ended_argument);
}

static uint32_t clock_group(const pw_job *job, uint32_t rank) {
    return job->clock_group_of_rank ? job->clock_group_of_rank[rank] : 0;
}

static pw_status prepare_rank(pw_executor *x, uint32_t rank_class, pw_error *error) {
    const pw_job *job = x->job;
    rank_run *rank = &x->ranks[rank_class];
    uint32_t representative = x->fold->representative[rank_class];
    rank->info = (pw_rank_class){.program = job->program_of_rank[representative],
                                 .multiplicity = x->fold->multiplicity[rank_class],
                                 .representative = representative,
                                 .begin = PW_TIME_MAX};
    rank->program = &job->programs[rank->info.program];
    rank->clock_ratio = x->config.clock_of_group ? x->config.clock_of_group[clock_group(job, representative)] : x->config.clock_ratio;
    if (!(rank->clock_ratio > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "1 is the reference clock", "clock ratio %g", rank->clock_ratio);
    rank->streams = pw_arena_alloc(x->arena, (job->streams + 1u) * sizeof *rank->streams);
    rank->slots = pw_arena_alloc(x->arena, (job->slots + 1u) * sizeof *rank->slots);
    rank->group_class = pw_arena_alloc(x->arena, (job->group_role_count + 1) * sizeof *rank->group_class);
    rank->sequence = pw_arena_alloc(x->arena, (job->group_role_count + 1) * sizeof *rank->sequence);
    if (!rank->streams || !rank->slots || !rank->group_class || !rank->sequence) return no_memory(job, error);
    for (uint32_t s = 0; s < job->streams; s++) rank->streams[s].head = rank->streams[s].tail = PW_NONE;
    for (uint32_t s = 0; s < job->slots; s++) rank->slots[s].op = PW_NONE;
    for (uint32_t r = 0; r < job->group_role_count; r++) {
        uint32_t group = job->group_roles[r].group_of_rank[representative];
        rank->group_class[r] = group == PW_NONE || !x->fold->class_of_group[r] ? PW_NONE : x->fold->class_of_group[r][group];
    }
    if (!rank->program->source) {
        rank->walker = pw_walker_create(&x->allocator, job, rank->info.program);
        if (!rank->walker) return no_memory(job, error);
    }
    return PW_OK;
}

static uint32_t power_of_two(uint32_t at_least) {
    uint32_t n = 64;
    while (n < at_least && n < UINT32_C(1) << 30) n *= 2;
    return n;
}

/* taken: [GPUs] of the cluster, 1 + the number of the job that has it. */
static pw_status check_config(const pw_executor_config *config, const pw_job *const *jobs, uint32_t own, uint32_t *taken,
                              pw_error *error) {
    const pw_job *job = jobs[own];
    if (!(config->clock_ratio > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "1 is the reference clock", "clock ratio %g", config->clock_ratio);
    uint32_t gpus = pw_cluster_gpus(config->cluster);
    pw_status status = PW_OK;
    for (uint32_t r = 0; r < job->ranks && status == PW_OK; r++) {
        uint32_t gpu = job->gpu_of_rank[r];
        if (gpu >= gpus)
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "rank %u runs on GPU %u of %u", r, gpu, gpus);
        else if (taken[gpu] == own + 1)
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, "give every rank its own", "rank %u shares GPU %u with another",
                             r, gpu);
        else if (taken[gpu])
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, "give every job its own", "\"%s\" and \"%s\" share GPU %u",
                             jobs[taken[gpu] - 1]->name, job->name, gpu);
        else
            taken[gpu] = own + 1;
    }
    for (uint32_t s = 0; s < job->store_count && status == PW_OK; s++)
        for (uint32_t h = 0; job->stores[s].hosts && h < job->stores[s].host_count; h++)
            if (job->stores[s].hosts[h] >= gpus)
                status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "store \"%s\" lies near GPU %u of %u",
                                 job->stores[s].name, job->stores[s].hosts[h], gpus);
    for (uint32_t p = 0; p < job->program_count && status == PW_OK; p++)
        if (job->programs[p].source && (config->repeats > 1 || config->endless))
            status = pw_fail(error, PW_UNSUPPORTED, NULL, 0, "run it once",
                             "\"%s\" cannot be repeated: its program \"%s\" is written as it runs", job->name, job->programs[p].name);
    return status;
}

/* Kernels that the device cannot run are found now, not in the middle of a run. */
static pw_status check_segments(pw_executor *x, pw_error *error) {
    for (uint32_t s = 0; s < x->job->segment_count; s++) {
        segment_cost cost;
        PW_TRY(segment_memo_get(x->memo, s, x->config.clock_ratio, 0, 0, 1, &cost, error));
    }
    return PW_OK;
}

static bool can_fold(const pw_executor *x) {
    bool folded = x->config.fold && !x->config.messages;
    for (uint32_t p = 0; p < x->job->program_count; p++)
        if (x->job->programs[p].source && !x->job->programs[p].only_io) folded = false;
    return folded;
}

/* Before jobs are folded. */
static pw_status prepare_usage(pw_executor *x, pw_error *error) {
    const pw_job *job = x->job;
    x->arena = pw_arena_create(&x->allocator);
    x->memo = segment_memo_create(&x->allocator, job, x->config.gpu);
    if (!x->arena || !x->memo) return no_memory(job, error);
    PW_TRY(check_segments(x, error));
    PW_TRY(pw_usage_scan(x->arena, &x->allocator, job, &x->usage, error));
    bool again = x->config.repeats > 1 || x->config.endless;
    for (uint32_t p = 0; again && p < job->program_count; p++)
        for (uint32_t r = 0; r < job->group_role_count; r++)
            if (x->usage[p].quorums[r])
                return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "run it once",
                               "\"%s\" cannot be repeated: its quorums are numbered", job->name);
    return PW_OK;
}

static pw_status prepare_positions(pw_executor *x, pw_error *error) {
    const pw_job *job = x->job;
    x->position_of_rank = pw_arena_alloc(x->arena, (job->group_role_count + 1) * sizeof *x->position_of_rank);
    if (!x->position_of_rank) return no_memory(job, error);
    for (uint32_t r = 0; r < job->group_role_count; r++) {
        const pw_group_role *role = &job->group_roles[r];
        uint32_t *position = x->position_of_rank[r] = pw_arena_alloc(x->arena, (job->ranks + 1) * sizeof *position);
        if (!position) return no_memory(job, error);
        for (uint32_t g = 0; g < role->groups; g++)
            for (uint32_t m = role->first[g]; m < role->first[g + 1]; m++) position[role->members[m]] = m - role->first[g];
    }
    return PW_OK;
}

/* After that. */
static pw_status prepare(pw_executor *x, pw_error *error) {
    const pw_job *job = x->job;
    x->unfinished = x->fold->class_count;
    x->ranks = pw_arena_alloc(x->arena, x->fold->class_count * sizeof *x->ranks);
    x->group_live = pw_arena_alloc(x->arena, (x->fold->group_count + 1) * sizeof *x->group_live);
    x->stores = pw_arena_alloc(x->arena, ((size_t)job->store_count * x->fold->group_count + 1) * sizeof *x->stores);
    x->quorum_groups = pw_arena_alloc(x->arena, (x->fold->group_count + 1) * sizeof *x->quorum_groups);
    x->pending_count = power_of_two(x->fold->class_count < UINT32_C(1) << 28 ? 4 * x->fold->class_count : 0);
    x->pending = pw_arena_alloc(x->arena, x->pending_count * sizeof *x->pending);
    x->plan_bucket_count = 64;
    x->plan_buckets = pw_alloc(&x->allocator, x->plan_bucket_count * sizeof *x->plan_buckets);
    if (!x->ranks || !x->group_live || !x->stores || !x->quorum_groups || !x->pending || !x->plan_buckets) return no_memory(job, error);
    for (uint32_t i = 0; i < x->fold->group_count; i++) x->group_live[i] = x->quorum_groups[i].first = PW_NONE;
    for (uint32_t i = 0; i < x->pending_count; i++) x->pending[i] = PW_NONE;
    for (uint32_t i = 0; i < x->plan_bucket_count; i++) x->plan_buckets[i] = PW_NONE;
    for (uint32_t c = 0; c < x->fold->class_count; c++) PW_TRY(prepare_rank(x, c, error));
    if (x->config.messages) PW_TRY(prepare_positions(x, error));
    PW_TRY(effort_prepare(x, error));
    return report_prepare(x, error);
}

static pw_status prepare_wires(link_share *share, pw_error *error) {
    PW_TRY(wires_create(&share->allocator, share->capacity_count, &share->wires, error));
    const pw_fabric *fabric = pw_cluster_fabric(share->executors[0]->config.cluster);
    for (uint32_t i = 0; i < share->capacity_count; i++)
        share->wires->wires[i].bandwidth_Bps =
            share->folded ? share->classes.links[i].bandwidth_Bps : pw_fabric_link(fabric, i)->bandwidth_Bps;
    return PW_OK;
}

static pw_status fold_all(link_share *share, const pw_link *apart, uint32_t apart_count, pw_error *error) {
    const pw_cluster *cluster = share->executors[0]->config.cluster;
    fold_job *jobs = pw_arena_alloc(share->arena, share->count * sizeof *jobs);
    pw_link *firsts = pw_arena_alloc(share->arena, (apart_count + 1) * sizeof *firsts);
    if (!jobs || !firsts) return no_memory(share->executors[0]->job, error);
    for (uint32_t i = 0; i < apart_count; i++) firsts[i] = fold_twins(cluster, apart[i]).first;
    share->folded = true;
    for (uint32_t e = 0; e < share->count; e++) {
        const pw_executor *x = share->executors[e];
        jobs[e] = (fold_job){.arena = x->arena, .collectives = x->config.collectives, .job = x->job, .usage = x->usage};
        share->folded = share->folded && can_fold(x);
    }
    PW_TRY(fold_create(share->arena, &share->allocator, cluster, jobs, share->count, share->folded, firsts, apart_count,
                       &share->classes, error));
    for (uint32_t e = 0; e < share->count; e++) share->executors[e]->fold = jobs[e].fold;
    share->capacity_count = share->folded ? share->classes.link_count : pw_fabric_links(pw_cluster_fabric(cluster));
    share->capacity = pw_arena_alloc(share->arena, (share->capacity_count + 1) * sizeof *share->capacity);
    share->dead = pw_arena_alloc(share->arena, share->capacity_count + (size_t)1);
    if (!share->capacity || !share->dead) return no_memory(share->executors[0]->job, error);
    bool timers = share->folded;
    for (uint32_t e = 0; e < share->count; e++) {
        timers = timers || share->executors[e]->config.messages;
        share->fluid_only = share->fluid_only || share->executors[e]->config.fluid_only;
    }
    bool watched = share->executors[0]->config.watch != NULL;
    share->fluid_only = share->fluid_only || !timers;
    return timers || watched ? prepare_wires(share, error) : PW_OK;
}

static pw_status check_all(const pw_executor_config *configs, const pw_job *const *jobs, uint32_t count, const pw_link *apart,
                           uint32_t apart_count, pw_error *error) {
    const pw_allocator *allocator = pw_sim_allocator(configs->sim);
    uint32_t gpus = pw_cluster_gpus(configs->cluster);
    for (uint32_t j = 0; j < count; j++) PW_TRY(pw_job_check(jobs[j], error));
    for (uint32_t i = 0; i < apart_count; i++)
        if (apart[i] >= pw_fabric_links(pw_cluster_fabric(configs->cluster)))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "link %u of %u", apart[i],
                           pw_fabric_links(pw_cluster_fabric(configs->cluster)));
    uint32_t *taken = pw_alloc_zero(allocator, (gpus + 1) * sizeof *taken);
    if (!taken) return no_memory(jobs[0], error);
    pw_status status = PW_OK;
    for (uint32_t j = 0; j < count && status == PW_OK; j++) status = check_config(&configs[j], jobs, j, taken, error);
    pw_free(allocator, taken, (gpus + 1) * sizeof *taken);
    for (uint32_t j = 0; j < count && status == PW_OK; j++)
        if (configs[j].messages && configs[j].watch)
            status = pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave the watch away", "links are not watched in message mode");
    return status;
}

static pw_executor *new_executor(const pw_executor_config *config, const pw_job *job, link_share *share) {
    const pw_allocator *allocator = pw_sim_allocator(config->sim);
    pw_executor *x = pw_alloc_zero(allocator, sizeof *x);
    if (!x) return NULL;
    x->config = *config;
    x->allocator = *allocator;
    x->job = job;
    x->origin = x->began = config->start;
    x->ended = PW_TIME_MAX;
    x->op_free = x->instance_free = x->quorum_free = PW_NONE;
    x->share = share;
    share->executors[share->count++] = x;
    share->left++;
    if (config->watch) watch_join(config->watch, x);
    return x;
}

static link_share *new_share(const pw_executor_config *config, uint32_t count) {
    const pw_allocator *allocator = pw_sim_allocator(config->sim);
    link_share *share = pw_alloc_zero(allocator, sizeof *share);
    if (!share) return NULL;
    share->allocator = *allocator;
    share->sim = config->sim;
    share->fluid = config->fluid;
    share->flow_free = share->due_first = share->latent_first = PW_NONE;
    share->arena = pw_arena_create(allocator);
    if (share->arena) share->executors = pw_arena_alloc(share->arena, count * sizeof(pw_executor *));
    if (share->executors) return share;
    pw_arena_destroy(share->arena);
    pw_free(allocator, share, sizeof *share);
    return NULL;
}

static pw_status create_all(const pw_executor_config *configs, const pw_job *const *jobs, uint32_t count, const pw_link *apart,
                            uint32_t apart_count, pw_executor **executors, pw_error *error) {
    link_share *share = new_share(configs, count);
    if (!share) return no_memory(jobs[0], error);
    for (uint32_t j = 0; j < count; j++) {
        executors[j] = new_executor(&configs[j], jobs[j], share);
        if (executors[j]) continue;
        if (j == 0) {
            pw_arena_destroy(share->arena);
            pw_free(pw_sim_allocator(configs->sim), share, sizeof *share);
        }
        return no_memory(jobs[j], error);
    }
    for (uint32_t j = 0; j < count; j++) PW_TRY(prepare_usage(executors[j], error));
    PW_TRY(fold_all(share, apart, apart_count, error));
    if (configs->watch && !watch_prepare(configs->watch)) return no_memory(jobs[0], error);
    for (uint32_t j = 0; j < count; j++) PW_TRY(prepare(executors[j], error));
    return PW_OK;
}

pw_status pw_executors_create(const pw_executor_config *configs, const pw_job *const *jobs, uint32_t count,
                              const pw_link *apart, uint32_t apart_count, pw_executor **executors, pw_error *error) {
    for (uint32_t j = 0; j < count; j++) executors[j] = NULL;
    PW_TRY(check_all(configs, jobs, count, apart, apart_count, error));
    pw_status status = create_all(configs, jobs, count, apart, apart_count, executors, error);
    if (status != PW_OK) {
        for (uint32_t j = 0; j < count; j++) {
            pw_executor_destroy(executors[j]);
            executors[j] = NULL;
        }
        return status;
    }
    for (uint32_t j = 0; j < count; j++) {
        pw_sim *sim = configs[j].sim;
        if (configs[j].start > pw_sim_now(sim)) {
            pw_event_at(sim, configs[j].start, 0, begin, executors[j], 0);
            continue;
        }
        executors[j]->origin = pw_sim_now(sim);
        pw_event_soon(sim, begin, executors[j], 0);
    }
    return PW_OK;
}

pw_status pw_executor_create(const pw_executor_config *config, const pw_job *job, pw_executor **executor,
                             pw_error *error) {
    return pw_executors_create(config, &job, 1, NULL, 0, executor, error);
}

void pw_executor_destroy(pw_executor *x) {
    if (!x) return;
    pw_allocator allocator = x->allocator;
    if (x->ranks)
        for (uint32_t c = 0; c < x->fold->class_count; c++) pw_walker_destroy(x->ranks[c].walker);
    for (size_t i = 0; i < x->instance_count; i++) graph_destroy(x, x->instances[i].graph);
    for (size_t i = 0; i < x->chunk_count; i++) pw_free(&allocator, x->chunk_memory[i], CHUNK_BYTES);
    pw_free(&allocator, x->chunk_memory, x->chunk_memory_capacity * sizeof *x->chunk_memory);
    pw_free(&allocator, x->chunks, x->chunk_capacity * sizeof *x->chunks);
    pw_free(&allocator, x->ready, x->ready_capacity * sizeof *x->ready);
    pw_free(&allocator, x->instances, x->instance_capacity * sizeof *x->instances);
    pw_free(&allocator, x->quorums, x->quorum_capacity * sizeof *x->quorums);
    pw_free(&allocator, x->plans, x->plan_capacity * sizeof *x->plans);
    pw_free(&allocator, x->plan_buckets, x->plan_bucket_count * sizeof *x->plan_buckets);
    pw_free(&allocator, x->uses, x->use_capacity * sizeof *x->uses);
    pw_free(&allocator, x->use_links, x->use_link_capacity * sizeof *x->use_links);
    pw_free(&allocator, x->gpus, x->gpu_capacity * sizeof *x->gpus);
    segment_memo_destroy(x->memo);
    pw_arena_destroy(x->arena);
    link_share *share = x->share;
    for (uint32_t e = 0; e < share->count; e++)
        if (share->executors[e] == x) share->executors[e] = NULL;
    if (--share->left == 0) {
        wires_destroy(share->wires);
        pw_free(&allocator, share->flows, share->flow_capacity * sizeof *share->flows);
        pw_arena_destroy(share->arena);
        pw_free(&allocator, share, sizeof *share);
    }
    pw_free(&allocator, x, sizeof *x);
}

pw_status pw_executor_finish(pw_executor *x, pw_error *error) {
    const pw_error *failed = pw_sim_error(x->config.sim);
    if (failed->status != PW_OK) {
        if (error) *error = *failed;
        return failed->status;
    }
    return x->unfinished == 0 ? PW_OK : deadlock_describe(x, error);
}

pw_status pw_executor_set_clock(pw_executor *x, double clock_ratio) {
    if (!(clock_ratio > 0)) return PW_BAD_INPUT;
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        x->ranks[c].clock_ratio = clock_ratio;
        compute_rescale(x, c);
    }
    return pw_sim_error(x->config.sim)->status;
}

pw_status pw_executor_set_group_clock(pw_executor *x, uint32_t group, double clock_ratio) {
    if (!(clock_ratio > 0) || group >= (x->job->clock_groups ? x->job->clock_groups : 1)) return PW_BAD_INPUT;
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        if (clock_group(x->job, x->ranks[c].info.representative) != group || x->ranks[c].clock_ratio == clock_ratio) continue;
        x->ranks[c].clock_ratio = clock_ratio;
        compute_rescale(x, c);
    }
    return pw_sim_error(x->config.sim)->status;
}

pw_status pw_executor_set_class_clock(pw_executor *x, uint32_t index, double clock_ratio) {
    if (!(clock_ratio > 0) || index >= x->fold->class_count) return PW_BAD_INPUT;
    if (x->ranks[index].clock_ratio == clock_ratio) return PW_OK;
    x->ranks[index].clock_ratio = clock_ratio;
    compute_rescale(x, index);
    return pw_sim_error(x->config.sim)->status;
}

double pw_executor_clock(const pw_executor *x, uint32_t index) { return x->ranks[index].clock_ratio; }

pw_status pw_executor_set_link(pw_executor *x, pw_link link, double part, bool last, const char **waits) {
    const pw_fabric *fabric = pw_cluster_fabric(x->config.cluster);
    if (link >= pw_fabric_links(fabric) || !(part >= 0 && part <= 1)) return PW_BAD_INPUT;
    link = fold_twins(x->config.cluster, link).first;
    double amount = part * pw_fabric_link(fabric, link)->bandwidth_Bps;
    link_share *share = x->share;
    uint32_t index = share->folded ? share->classes.class_of_link[link] : link;
    if (index == PW_NONE) return PW_OK; /* nobody uses it */
    if (x->config.watch) watch_change(x->config.watch);
    share->dead[index] = part == 0 && last;
    if (share->folded) share->classes.links[index].bandwidth_Bps = amount;
    if (share->wires) flow_set_wire(share, index, amount);
    const pw_executor *who;
    if (share->dead[index] && x->config.watch && watch_uses(x->config.watch, index, &who) && waits) *waits = who->job->name;
    if (share->capacity[index].generation == 0) {
        share->capacity[index] = pw_capacity_add(share->fluid, amount);
        return pw_sim_error(x->config.sim)->status;
    }
    return pw_capacity_set(share->fluid, share->capacity[index], amount);
}

pw_time pw_executor_ended(const pw_executor *x) { return x->ended; }
uint32_t pw_executor_rounds(const pw_executor *x) { return x->round; }

uint32_t pw_executor_class_count(const pw_executor *x) { return x->fold->class_count; }
const pw_rank_class *pw_executor_class(const pw_executor *x, uint32_t index) { return &x->ranks[index].info; }
uint32_t pw_executor_class_of_rank(const pw_executor *x, uint32_t rank) { return x->fold->class_of_rank[rank]; }

/* Bytes over each link of a class; unfolded, over the link. */
static double class_bytes(const pw_executor *x, uint32_t index) {
    if (!x->fold->folded && x->share->wires) {
        const double *all = wires_bytes(x->share->wires, x->share->flows_ended);
        return all ? all[index] : 0;
    }
    if (!x->fold->folded)
        return x->share->capacity[index].generation ? pw_capacity_served(x->config.fluid, x->share->capacity[index]) : 0;
    double bytes = 0;
    for (uint32_t f = 0; f < x->fold->flow_count; f++) {
        const flow_class *flow = &x->fold->flows[f];
        for (uint32_t u = 0; flow->bytes > 0 && u < flow->use_count; u++)
            if (flow->uses[u].link_class == index) bytes += flow->uses[u].load * flow->bytes;
    }
    return bytes;
}

double pw_executor_link_bytes(const pw_executor *x, pw_link link) {
    if (link >= pw_fabric_links(pw_cluster_fabric(x->config.cluster))) return 0;
    link = fold_twins(x->config.cluster, link).first;
    if (!x->fold->folded) return class_bytes(x, link);
    return x->fold->class_of_link[link] == PW_NONE ? 0 : class_bytes(x, x->fold->class_of_link[link]);
}

pw_executor_totals pw_executor_get_totals(const pw_executor *x) {
    pw_executor_totals totals = x->totals;
    totals.classes = x->fold->class_count;
    totals.exact = x->fold->exact;
    for (uint32_t c = 0; x->efforts && c < totals.classes; c++) {
        pw_effort effort = pw_executor_effort(x, c);
        pw_gpu_work_add(&totals.work, &effort.work, x->ranks[c].info.multiplicity);
    }
    if (x->fold->folded) {
        totals.link_classes = x->fold->link_count;
        for (uint32_t f = 0; f < x->fold->flow_count; f++) {
            const flow_class *flow = &x->fold->flows[f];
            for (uint32_t u = 0; u < flow->use_count; u++) {
                const link_class *links = &x->fold->links[flow->uses[u].link_class];
                totals.link_bytes[links->kind] += flow->uses[u].load * flow->bytes * links->links;
            }
        }
        return totals;
    }
    const pw_fabric *fabric = pw_cluster_fabric(x->config.cluster);
    for (uint32_t l = 0; l < x->share->capacity_count; l++) {
        if (x->share->wires ? x->share->wires->wires[l].routes == 0 : x->share->capacity[l].generation == 0) continue;
        totals.link_classes++;
        totals.link_bytes[pw_fabric_link(fabric, l)->kind] += class_bytes(x, l) * fold_twins(x->config.cluster, l).count;
    }
    return totals;
}
