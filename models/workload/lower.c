/* Ranks, groups and peers of a job, and the job itself. Rank = tensor + t (context + c (data + d stage)): tensor-parallel
 * ranks sit together, pipeline stages furthest apart, as Megatron-LM lays them out. */
#include <math.h>
#include <string.h>

#include "models/workload/lower.h"
#include "models/workload/offload.h"
#include "sim/math.h"

static const pw_category categories[CATEGORY_COUNT] = {
    [CATEGORY_COMPUTE] = {"compute", PW_BLAME_COMPUTE},       [CATEGORY_TENSOR] = {"tp", PW_BLAME_LAYER_COMMUNICATION},
    [CATEGORY_PIPELINE] = {"pp", PW_BLAME_COMMUNICATION},     [CATEGORY_DATA] = {"dp", PW_BLAME_COMMUNICATION},
    [CATEGORY_CONTEXT] = {"cp", PW_BLAME_LAYER_COMMUNICATION}, [CATEGORY_MODEL] = {"gradient norm", PW_BLAME_COMMUNICATION},
    [CATEGORY_OPTIMIZER] = {"optimizer", PW_BLAME_OPTIMIZER}, [CATEGORY_OFFLOAD] = {"offload", PW_BLAME_COMMUNICATION},
    [CATEGORY_EXPERT] = {"ep", PW_BLAME_LAYER_COMMUNICATION}};

typedef struct place {
    int64_t tensor, context, data, stage;
} place;

static place place_of(const pw_plan *plan, int64_t rank) {
    place at;
    at.tensor = rank % plan->t;
    rank /= plan->t;
    at.context = rank % plan->c;
    rank /= plan->c;
    at.data = rank % plan->d;
    at.stage = rank / plan->d;
    return at;
}
static uint32_t rank_of(const pw_plan *plan, place at) {
    return (uint32_t)(at.tensor + plan->t * (at.context + plan->c * (at.data + plan->d * at.stage)));
}

/* Place among the ranks that data and context parallel make: shard groups are stretches of them. */
static int64_t share_of(const pw_plan *plan, place at) { return at.context + plan->c * at.data; }

/* Ranks of a stage counted through: expert tensor parallel fastest, then expert parallel, then expert data parallel. */
static uint32_t expert_group(const pw_plan *plan, enum group role, place at) {
    const pw_expert_plan *x = &plan->experts;
    int64_t within = at.tensor + plan->t * (at.context + plan->c * at.data), stage = at.stage;
    int64_t tensor = within % x->tensor, expert = within / x->tensor % x->parallel, data = within / (x->tensor * x->parallel);
    int64_t copies = x->data / plan->copies; /* of the experts, within a stage */
    if (role == GROUP_EXPERT) return (uint32_t)(tensor + x->tensor * (data + copies * stage));
    if (role == GROUP_EXPERT_TENSOR) return (uint32_t)(expert + x->parallel * (data + copies * stage));
    if (plan->copies == 2 && stage >= plan->p / 2) stage = plan->p - 1 - stage;
    return (uint32_t)(tensor + x->tensor * (expert + x->parallel * stage));
}

/* Neighbours that exchange heads, or all that gather keys. */
static int64_t context_group(const pw_plan *plan) {
    return plan->exchange == PW_CONTEXT_ALL_GATHER ? plan->c : plan->exchange_ranks;
}

/* Number of the group that a rank belongs to; members of a group are in order of rank. */
static uint32_t group_number(const pw_plan *plan, enum group role, place at) {
    if (plan->copies == 2 && (role == GROUP_SHARD || role == GROUP_REPLICA)) role = GROUP_DATA; /* no shard groups then */
    switch (role) {
        case GROUP_TENSOR: return (uint32_t)(at.context + plan->c * (at.data + plan->d * at.stage));
        case GROUP_DATA: /* with two copies of the model, a stage and its mirror image hold the same layers */
            if (plan->copies == 2 && at.stage >= plan->p / 2) at.stage = plan->p - 1 - at.stage;
            return (uint32_t)(at.tensor + plan->t * at.stage);
        case GROUP_MODEL: return (uint32_t)(at.context + plan->c * at.data);
        case GROUP_SHARD: return (uint32_t)(at.tensor + plan->t * (share_of(plan, at) / plan->shards + plan->replicas * at.stage));
        case GROUP_REPLICA: return (uint32_t)(at.tensor + plan->t * (share_of(plan, at) % plan->shards + plan->shards * at.stage));
        case GROUP_EXPERT: case GROUP_EXPERT_TENSOR: case GROUP_EXPERT_DATA: return expert_group(plan, role, at);
        case GROUP_CONTEXT: return (uint32_t)(at.tensor + plan->t * (at.context / context_group(plan) +
                                                                     plan->c / context_group(plan) * (at.data + plan->d * at.stage)));
        default:
            if (at.stage != 0 && at.stage != plan->p - 1) return PW_NONE;
            return (uint32_t)(at.tensor + plan->t * (at.context + plan->c * at.data));
    }
}

static bool fill_group(const pw_plan *plan, pw_arena *arena, enum group role, pw_group_role *to) {
    static const char *const names[GROUP_COUNT] = {"tp", "dp", "gradient norm", "embedding", "shard", "replica", "cp",
                                                    "ep", "expert tp", "expert dp"};
    const pw_expert_plan *x = &plan->experts;
    int64_t data = plan->t * plan->p / plan->copies;
    const int64_t counts[GROUP_COUNT] = {plan->c * plan->d * plan->p, data, plan->c * plan->d, plan->t * plan->c * plan->d,
                                         plan->copies == 2 ? data : plan->t * plan->replicas * plan->p,
                                         plan->copies == 2 ? data : plan->t * plan->shards * plan->p,
                                         plan->t * (plan->c / context_group(plan)) * plan->d * plan->p,
                                         x->tensor * x->data / plan->copies * plan->p,
                                         x->parallel * x->data / plan->copies * plan->p,
                                         x->tensor * x->parallel * plan->p / plan->copies};
    uint32_t ranks = (uint32_t)plan->ranks, groups = (uint32_t)counts[role];
    uint32_t *group_of = pw_arena_alloc(arena, ranks * sizeof *group_of);
    uint32_t *first = pw_arena_alloc(arena, ((size_t)groups + 2) * sizeof *first);
    uint32_t *members = pw_arena_alloc(arena, ranks * sizeof *members);
    if (!group_of || !first || !members) return false;
    for (uint32_t r = 0; r < ranks; r++) {
        group_of[r] = group_number(plan, role, place_of(plan, r));
        if (group_of[r] != PW_NONE) first[group_of[r] + 2]++;
    }
    for (uint32_t g = 0; g < groups; g++) first[g + 2] += first[g + 1];
    for (uint32_t r = 0; r < ranks; r++) /* first[g + 1] runs from the group's begin to its end */
        if (group_of[r] != PW_NONE) members[first[group_of[r] + 1]++] = r;
    *to = (pw_group_role){names[role], groups, group_of, first, members};
    return true;
}

static uint32_t peer_rank(const pw_plan *plan, enum peer role, place at) {
    int64_t step = role == PEER_NEXT || role == PEER_RING_NEXT ? 1 : -1;
    bool ring = role == PEER_RING_NEXT || role == PEER_RING_PREVIOUS;
    int64_t *moves = ring ? &at.context : &at.stage, size = ring ? plan->c : plan->p;
    if (size == 1 || (ring && plan->ring_ranks == 1)) return PW_NONE;
    if (ring) step *= plan->exchange_ranks;
    *moves = (*moves + step + size) % size;
    return rank_of(plan, at);
}

static bool fill_peer(const pw_plan *plan, pw_arena *arena, enum peer role, pw_peer_role *to) {
    static const char *const names[PEER_COUNT] = {"pp next", "pp previous", "cp next", "cp previous"};
    uint32_t *peer_of = pw_arena_alloc(arena, (size_t)plan->ranks * sizeof *peer_of);
    if (!peer_of) return false;
    for (int64_t r = 0; r < plan->ranks; r++) peer_of[r] = peer_rank(plan, role, place_of(plan, r));
    *to = (pw_peer_role){names[role], peer_of};
    return true;
}

static bool fill_ranks(const pw_plan *plan, pw_arena *arena, pw_job *job) {
    uint32_t *gpu_of = pw_arena_alloc(arena, (size_t)plan->ranks * sizeof *gpu_of);
    uint32_t *program_of = pw_arena_alloc(arena, (size_t)plan->ranks * sizeof *program_of);
    pw_group_role *groups = pw_arena_alloc(arena, GROUP_COUNT * sizeof *groups);
    pw_peer_role *peers = pw_arena_alloc(arena, PEER_COUNT * sizeof *peers);
    if (!gpu_of || !program_of || !groups || !peers) return false;
    for (uint32_t r = 0; r < plan->ranks; r++) {
        gpu_of[r] = r;
        program_of[r] = (uint32_t)place_of(plan, r).stage;
    }
    int roles = plan->model->experts ? GROUP_COUNT : GROUP_EXPERT;
    for (int i = 0; i < roles; i++)
        if (!fill_group(plan, arena, (enum group)i, &groups[i])) return false;
    for (int i = 0; i < PEER_COUNT; i++)
        if (!fill_peer(plan, arena, (enum peer)i, &peers[i])) return false;
    job->ranks = (uint32_t)plan->ranks;
    job->gpu_of_rank = gpu_of;
    job->program_of_rank = program_of;
    job->group_roles = groups;
    job->group_role_count = (uint32_t)roles;
    job->peer_roles = peers;
    job->peer_role_count = PEER_COUNT;
    return true;
}

pw_status pw_plan_lower(const pw_plan *plan, pw_arena *arena, pw_job **result, pw_error *error) {
    lowering low = {.plan = plan, .arena = arena, .frozen = plan->desc->trainable == PW_TRAIN_LORA};
    bool shares_data = pw_plan_shares_data(plan);
    bool whole = plan->sharding == PW_SHARDING_ZERO1 || plan->sharding == PW_SHARDING_ZERO2; /* parameters are */
    low.reduces_behind = shares_data && plan->stack.overlap_gradients;
    low.reduces_once = plan->sharding < PW_SHARDING_ZERO2 || plan->hold_gradients;
    low.gathers_parameters = shares_data && whole && plan->stack.overlap_parameters;
    pw_job *job = pw_arena_alloc(arena, sizeof *job);
    pw_program *programs = pw_arena_alloc(arena, (size_t)plan->p * sizeof *programs);
    const char *name = pw_arena_text(arena, plan->desc->name && *plan->desc->name ? plan->desc->name : "training");
    if (!job || !name || !programs || !fill_ranks(plan, arena, job)) low.out_of_memory = true;
    if (!low.out_of_memory) {
        lower_layers(&low);
        lower_end_segments(&low);
        for (int64_t stage = 0; stage < plan->p && !low.out_of_memory; stage++) {
            uint32_t template_index = lower_stage(&low, stage);
            if (low.out_of_memory) break;
            programs[stage] = (pw_program){.name = ((pw_template *)low.templates.items)[template_index].name,
                                           .template_index = template_index};
        }
    }
    if (low.out_of_memory)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, "a smaller job needs less", "no memory to lower '%s'",
                       name ? name : "training");
    job->name = name;
    job->programs = programs;
    job->program_count = (uint32_t)plan->p;
    job->templates = low.templates.items;
    job->template_count = low.templates.count;
    job->segments = low.segments.items;
    job->segment_count = low.segments.count;
    job->kernels = low.kernels.items;
    job->kernel_count = low.kernels.count;
    job->categories = categories;
    job->category_count = CATEGORY_COUNT;
    job->streams = low.twins.count ? 2 * STREAM_COUNT : STREAM_COUNT;
    job->slots = low.twins.count ? 2 * SLOT_COUNT : SLOT_COUNT;
    job->kernel_time_factor = plan->stack.kernel_time_factor;
    *result = job;
    return PW_OK;
}

pw_status pw_train_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_train_desc *desc,
                         pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error) {
    /* The plan points into desc; the job keeps nothing of either but the name. */
    pw_plan *plan = pw_arena_alloc(arena, sizeof *plan);
    if (!plan) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory for a job");
    PW_TRY(pw_plan_make(catalogue, pw_cluster_device(cluster), pw_cluster_gpus(cluster), desc, plan, file, line, error));
    uint32_t node = pw_cluster_gpus_per_node(cluster), domain = pw_cluster_scaleup_domain(cluster);
    plan->experts.domain = domain > node ? domain : node;
    if (desc->offload_optimizer)
        PW_TRY(pw_host_update_rate(catalogue, pw_cluster_get_facts(cluster).server, node, &plan->update_Bps, error));
    PW_TRY(pw_plan_lower(plan, arena, job, error));
    if (plan->stack.cuda_graphs) return PW_OK;
    PW_TRY(pw_gpu_launch_s(catalogue, pw_cluster_host(cluster), &(*job)->launch_s, error));
    (*job)->launch_s *= plan->stack.launch_factor;
    return PW_OK;
}
