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

static pw_status prepare_rank(pw_executor *x, uint32_t rank_class, pw_error *error) {
    const pw_job *job = x->job;
    rank_run *rank = &x->ranks[rank_class];
    uint32_t representative = x->fold->representative[rank_class];
    rank->info = (pw_rank_class){.program = job->program_of_rank[representative],
                                 .multiplicity = x->fold->multiplicity[rank_class],
                                 .representative = representative,
                                 .begin = PW_TIME_MAX};
    rank->program = &job->programs[rank->info.program];
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

static pw_status check_config(const pw_executor_config *config, const pw_job *job, pw_error *error) {
    if (!(config->clock_ratio > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "1 is the reference clock", "clock ratio %g", config->clock_ratio);
    uint32_t gpus = pw_cluster_gpus(config->cluster);
    bool *taken = pw_alloc_zero(pw_sim_allocator(config->sim), gpus + 1);
    if (!taken) return no_memory(job, error);
    pw_status status = PW_OK;
    for (uint32_t r = 0; r < job->ranks && status == PW_OK; r++) {
        uint32_t gpu = job->gpu_of_rank[r];
        if (gpu >= gpus)
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "rank %u runs on GPU %u of %u", r, gpu, gpus);
        else if (taken[gpu])
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, "give every rank its own", "rank %u shares GPU %u with another",
                             r, gpu);
        else
            taken[gpu] = true;
    }
    pw_free(pw_sim_allocator(config->sim), taken, gpus + 1);
    for (uint32_t s = 0; s < job->store_count && status == PW_OK; s++)
        for (uint32_t h = 0; job->stores[s].hosts && h < job->stores[s].host_count; h++)
            if (job->stores[s].hosts[h] >= gpus)
                status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "store \"%s\" lies near GPU %u of %u",
                                 job->stores[s].name, job->stores[s].hosts[h], gpus);
    return status;
}

/* Kernels that the device cannot run are found now, not in the middle of a run. */
static pw_status check_segments(pw_executor *x, pw_error *error) {
    for (uint32_t s = 0; s < x->job->segment_count; s++) {
        segment_cost cost;
        PW_TRY(segment_memo_get(x->memo, s, x->clock_ratio, 0, 0, 1, &cost, error));
    }
    return PW_OK;
}

static pw_status prepare(pw_executor *x, pw_error *error) {
    const pw_job *job = x->job;
    bool folded = x->config.fold && !x->config.messages;
    for (uint32_t p = 0; p < job->program_count; p++)
        if (job->programs[p].source && !job->programs[p].only_io) folded = false;
    x->arena = pw_arena_create(&x->allocator);
    x->memo = segment_memo_create(&x->allocator, job, x->config.gpu);
    if (!x->arena || !x->memo) return no_memory(job, error);
    PW_TRY(check_segments(x, error));
    PW_TRY(pw_usage_scan(x->arena, &x->allocator, job, &x->usage, error));
    PW_TRY(fold_create(x->arena, &x->allocator, x->config.cluster, x->config.collectives, job, x->usage, folded, &x->fold,
                       error));
    x->unfinished = x->fold->class_count;
    x->ranks = pw_arena_alloc(x->arena, x->fold->class_count * sizeof *x->ranks);
    x->group_live = pw_arena_alloc(x->arena, (x->fold->group_count + 1) * sizeof *x->group_live);
    x->link_capacity_count = folded ? x->fold->link_count : pw_fabric_links(pw_cluster_fabric(x->config.cluster));
    x->link_capacity = pw_arena_alloc(x->arena, (x->link_capacity_count + 1) * sizeof *x->link_capacity);
    x->stores = pw_arena_alloc(x->arena, ((size_t)job->store_count * x->fold->group_count + 1) * sizeof *x->stores);
    x->quorum_groups = pw_arena_alloc(x->arena, (x->fold->group_count + 1) * sizeof *x->quorum_groups);
    x->link_demands = pw_arena_alloc(x->arena, ((size_t)x->fold->link_count + 1) * sizeof *x->link_demands);
    x->pending_count = power_of_two(x->fold->class_count < UINT32_C(1) << 28 ? 4 * x->fold->class_count : 0);
    x->pending = pw_arena_alloc(x->arena, x->pending_count * sizeof *x->pending);
    x->plan_bucket_count = 64;
    x->plan_buckets = pw_alloc(&x->allocator, x->plan_bucket_count * sizeof *x->plan_buckets);
    if (!x->ranks || !x->group_live || !x->link_capacity || !x->stores || !x->quorum_groups || !x->link_demands || !x->pending || !x->plan_buckets) return no_memory(job, error);
    for (uint32_t i = 0; i < x->fold->group_count; i++) x->group_live[i] = x->quorum_groups[i].first = PW_NONE;
    for (uint32_t i = 0; i < x->pending_count; i++) x->pending[i] = PW_NONE;
    for (uint32_t i = 0; i < x->plan_bucket_count; i++) x->plan_buckets[i] = PW_NONE;
    for (uint32_t c = 0; c < x->fold->class_count; c++) PW_TRY(prepare_rank(x, c, error));
    return report_prepare(x, error);
}

pw_status pw_executor_create(const pw_executor_config *config, const pw_job *job, pw_executor **executor,
                             pw_error *error) {
    *executor = NULL;
    PW_TRY(pw_job_check(job, error));
    PW_TRY(check_config(config, job, error));
    const pw_allocator *allocator = pw_sim_allocator(config->sim);
    pw_executor *x = pw_alloc_zero(allocator, sizeof *x);
    if (!x) return no_memory(job, error);
    x->config = *config;
    x->allocator = *allocator;
    x->job = job;
    x->clock_ratio = config->clock_ratio;
    x->op_free = x->instance_free = x->flow_free = x->quorum_free = PW_NONE;
    pw_status status = prepare(x, error);
    if (status != PW_OK) {
        pw_executor_destroy(x);
        return status;
    }
    pw_event_soon(config->sim, begin, x, 0);
    *executor = x;
    return PW_OK;
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
    pw_free(&allocator, x->flows, x->flow_capacity * sizeof *x->flows);
    pw_free(&allocator, x->plans, x->plan_capacity * sizeof *x->plans);
    pw_free(&allocator, x->plan_buckets, x->plan_bucket_count * sizeof *x->plan_buckets);
    pw_free(&allocator, x->uses, x->use_capacity * sizeof *x->uses);
    pw_free(&allocator, x->gpus, x->gpu_capacity * sizeof *x->gpus);
    segment_memo_destroy(x->memo);
    pw_arena_destroy(x->arena);
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
    x->clock_ratio = clock_ratio;
    for (uint32_t c = 0; c < x->fold->class_count; c++) compute_rescale(x, c);
    return pw_sim_error(x->config.sim)->status;
}

uint32_t pw_executor_class_count(const pw_executor *x) { return x->fold->class_count; }
const pw_rank_class *pw_executor_class(const pw_executor *x, uint32_t index) { return &x->ranks[index].info; }
uint32_t pw_executor_class_of_rank(const pw_executor *x, uint32_t rank) { return x->fold->class_of_rank[rank]; }

/* Bytes over each link of a class; unfolded, over the link. */
static double class_bytes(const pw_executor *x, uint32_t index) {
    if (!x->fold->folded)
        return x->link_capacity[index].generation ? pw_capacity_served(x->config.fluid, x->link_capacity[index]) : 0;
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
    for (uint32_t l = 0; l < x->link_capacity_count; l++) {
        if (x->link_capacity[l].generation == 0) continue;
        totals.link_classes++;
        totals.link_bytes[pw_fabric_link(fabric, l)->kind] += class_bytes(x, l) * fold_twins(x->config.cluster, l).count;
    }
    return totals;
}
