/* Plans: what a collective, message or copy of one size costs, and which capacities it uses. Made at first use, kept by
 * (owner, what, bytes). Unfolded, links are capacities of their own; folded, link classes are, with the loads of the whole
 * class of groups or ranks (fold.c). */
#include <math.h>
#include <string.h>

#include "models/program/links.h"
#include "models/program/run.h"

static void no_memory(pw_executor *x) {
    pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the transfers of \"%s\"", x->job->name);
}

static uint32_t bucket_of(const pw_executor *x, plan_kind kind, uint32_t owner, uint32_t detail, int algorithm,
                          double bytes) {
    uint64_t bits;
    memcpy(&bits, &bytes, sizeof bits);
    uint64_t h = bits ^ ((uint64_t)owner << 24) ^ ((uint64_t)detail << 8) ^ (uint64_t)kind ^ ((uint64_t)(uint32_t)algorithm << 40);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(h >> 32) & (x->plan_bucket_count - 1);
}

static uint32_t find(const pw_executor *x, plan_kind kind, uint32_t owner, uint32_t detail, int algorithm, double bytes) {
    uint32_t i = x->plan_buckets[bucket_of(x, kind, owner, detail, algorithm, bytes)];
    for (; i != PW_NONE; i = x->plans[i].next) {
        const plan *p = &x->plans[i];
        if (p->kind == kind && p->owner == owner && p->detail == detail && p->algorithm == algorithm && p->bytes == bytes)
            return i;
    }
    return PW_NONE;
}

static void enter(pw_executor *x, uint32_t index) {
    plan *p = &x->plans[index];
    uint32_t bucket = bucket_of(x, p->kind, p->owner, p->detail, p->algorithm, p->bytes);
    p->next = x->plan_buckets[bucket];
    x->plan_buckets[bucket] = index;
}

static uint32_t keep(pw_executor *x, const plan *made) {
    if (x->plan_count == x->plan_bucket_count) {
        uint32_t count = 2 * x->plan_bucket_count;
        uint32_t *buckets = pw_alloc(&x->allocator, count * sizeof *buckets);
        if (!buckets) return no_memory(x), PW_NONE;
        pw_free(&x->allocator, x->plan_buckets, x->plan_bucket_count * sizeof *buckets);
        x->plan_buckets = buckets;
        x->plan_bucket_count = count;
        for (uint32_t i = 0; i < count; i++) buckets[i] = PW_NONE;
        for (uint32_t i = 0; i < x->plan_count; i++) enter(x, i);
    }
    if (pw_grow(&x->allocator, (void **)&x->plans, &x->plan_capacity, x->plan_count + 1, sizeof *x->plans))
        return no_memory(x), PW_NONE;
    x->plans[x->plan_count] = *made;
    enter(x, (uint32_t)x->plan_count);
    return (uint32_t)x->plan_count++;
}

static pw_capacity_id capacity(pw_executor *x, uint32_t index, double amount) {
    pw_capacity_id *made = &x->share->capacity[index];
    if (made->generation == 0) *made = pw_capacity_add(x->config.fluid, amount);
    return *made;
}

pw_capacity_id plan_capacity(pw_executor *x, uint32_t index) {
    if (x->share->wires) return capacity(x, index, x->share->wires->wires[index].bandwidth_Bps);
    return capacity(x, index, pw_fabric_link(pw_cluster_fabric(x->config.cluster), index)->bandwidth_Bps);
}

pw_capacity_id plan_link(pw_executor *x, pw_link link) { return plan_capacity(x, link); }

/* link: index into the share's capacities; PW_NONE: no link. */
static void add_use(pw_executor *x, pw_capacity_id id, uint32_t link, double weight) {
    if (weight <= 0) return;
    if (pw_grow(&x->allocator, (void **)&x->uses, &x->use_capacity, x->use_count + 1, sizeof *x->uses) ||
        pw_grow(&x->allocator, (void **)&x->use_links, &x->use_link_capacity, x->use_count + 1, sizeof *x->use_links)) {
        no_memory(x);
        return;
    }
    x->use_links[x->use_count] = link;
    x->uses[x->use_count++] = (pw_use){id, weight};
}

void plan_use(pw_executor *x, pw_capacity_id id, double weight) { add_use(x, id, PW_NONE, weight); }

void plan_add_link(void *object, pw_link link, double load) {
    pw_executor *x = object;
    add_use(x, plan_link(x, link), link, load);
    if (x->share->wires) flow_add_wire(x, link, load);
}

static void route_folded(pw_executor *x, plan *p, flow_kind kind) {
    p->flow = fold_find_flow(x->fold, kind, p->owner, p->detail, p->resolved);
    PW_CHECK(p->flow != NULL);
    for (uint32_t i = 0; i < p->flow->use_count; i++) {
        const link_class *links = &x->fold->links[p->flow->uses[i].link_class];
        if (links->binding) plan_add_link(x, p->flow->uses[i].link_class, p->flow->uses[i].load);
    }
}

pw_route_id plan_route(pw_executor *x) {
    static const pw_use none[1];
    return pw_fluid_route(x->config.fluid, x->use_count ? x->uses : none, (uint32_t)x->use_count);
}

/* For the watch: uses of one link add up. */
static bool keep_uses(pw_executor *x, plan *p) {
    flow_use *uses = pw_arena_alloc(x->arena, (x->use_count + 1) * sizeof *uses);
    p->uses = uses;
    for (size_t i = 0; uses && i < x->use_count; i++) {
        uint32_t u = 0;
        if (x->use_links[i] == PW_NONE) continue;
        while (u < p->use_count && uses[u].link_class != x->use_links[i]) u++;
        if (u == p->use_count) uses[p->use_count++] = (flow_use){.link_class = x->use_links[i]};
        uses[u].load += x->uses[i].weight;
    }
    return uses != NULL;
}

static uint32_t finish(pw_executor *x, plan *p, const pw_collective_cost *cost) {
    p->alpha_s = cost->alpha_s;
    p->cap_Bps = cost->cap_Bps;
    p->sms = cost->sms;
    p->memory_Bps = cost->memory_Bps;
    p->routed = x->use_count > 0;
    if (x->config.watch && !p->flow && !keep_uses(x, p)) return no_memory(x), PW_NONE;
    p->route = plan_route(x);
    if (x->share->wires) {
        p->wire_route = flow_end_route(x, PW_NONE, PW_NONE);
        if (p->wire_route != PW_NONE) x->share->wires->routes[p->wire_route].fluid = p->route;
    }
    return pw_sim_error(x->config.sim)->status == PW_OK ? keep(x, p) : PW_NONE;
}

static uint32_t failed(pw_executor *x, const pw_error *error) {
    pw_sim_fail_with(x->config.sim, error);
    return PW_NONE;
}

uint32_t plan_gpus(pw_executor *x, const group_class *group) {
    const pw_group_role *role = &x->job->group_roles[group->role];
    uint32_t first = role->first[group->representative], count = role->first[group->representative + 1] - first;
    if (pw_grow(&x->allocator, (void **)&x->gpus, &x->gpu_capacity, count, sizeof *x->gpus)) return no_memory(x), 0;
    for (uint32_t m = 0; m < count; m++) x->gpus[m] = x->job->gpu_of_rank[role->members[first + m]];
    return count;
}

uint32_t plan_collective(pw_executor *x, uint32_t group, const pw_op *op) {
    uint32_t found = find(x, PLAN_COLLECTIVE, group, op->collective.kind, op->collective.algorithm, op->collective.bytes);
    if (found != PW_NONE) return found;
    plan made = {.kind = PLAN_COLLECTIVE,
                 .owner = group,
                 .detail = op->collective.kind,
                 .algorithm = op->collective.algorithm,
                 .bytes = op->collective.bytes};
    uint32_t count = plan_gpus(x, &x->fold->groups[group]);
    if (count == 0) return PW_NONE;
    pw_error error = {0};
    pw_group_shape shape;
    pw_collective_cost cost;
    const pw_collectives *collectives = x->config.collectives;
    pw_status status = pw_collective_shape(collectives, x->gpus, count, &shape, &error);
    if (status == PW_OK)
        status = pw_collective_group_cost(collectives, op->collective.kind, made.algorithm, x->gpus, &shape, made.bytes, &cost, &error);
    if (status != PW_OK) return failed(x, &error);
    made.resolved = cost.algorithm;
    x->use_count = 0;
    if (x->fold->folded) {
        route_folded(x, &made, FLOW_COLLECTIVE);
    } else if (!x->config.messages) {
        status = pw_collective_loads(collectives, op->collective.kind, cost.algorithm, x->gpus, &shape, plan_add_link, x, &error);
        if (status != PW_OK) return failed(x, &error);
    }
    return finish(x, &made, &cost);
}

uint32_t plan_message(pw_executor *x, uint32_t rank_class, uint32_t role, double bytes) {
    uint32_t found = find(x, PLAN_MESSAGE, rank_class, role, 0, bytes);
    if (found != PW_NONE) return found;
    plan made = {.kind = PLAN_MESSAGE, .owner = rank_class, .detail = role, .bytes = bytes};
    uint32_t rank = x->fold->representative[rank_class];
    uint32_t from = x->job->gpu_of_rank[rank];
    uint32_t to = x->job->gpu_of_rank[x->job->peer_roles[role].peer_of_rank[rank]];
    pw_error error = {0};
    pw_collective_cost cost;
    pw_status status = pw_message_cost_of(x->config.collectives, from, to, bytes, &cost, &error);
    if (status != PW_OK) return failed(x, &error);
    double rate_Bps = x->job->peer_roles[role].rate_Bps;
    if (rate_Bps > 0 && !(cost.cap_Bps > 0 && cost.cap_Bps < rate_Bps)) cost.cap_Bps = rate_Bps;
    x->use_count = 0;
    if (x->fold->folded) {
        route_folded(x, &made, FLOW_MESSAGE);
    } else {
        status = pw_message_loads(x->config.collectives, from, to, plan_add_link, x, &error);
        if (status != PW_OK) return failed(x, &error);
    }
    return finish(x, &made, &cost);
}

uint32_t plan_copy(pw_executor *x, uint32_t rank_class, bool to_host, double bytes) {
    uint32_t found = find(x, PLAN_COPY, rank_class, to_host, 0, bytes);
    if (found != PW_NONE) return found;
    plan made = {.kind = PLAN_COPY, .owner = rank_class, .detail = to_host, .bytes = bytes};
    const pw_fabric *fabric = pw_cluster_fabric(x->config.cluster);
    pw_path path;
    pw_status status =
        pw_cluster_host_route(x->config.cluster, x->job->gpu_of_rank[x->fold->representative[rank_class]], to_host, &path);
    if (status != PW_OK) {
        pw_sim_fail(x->config.sim, status, NULL, "rank %u cannot reach its host's memory",
                    x->fold->representative[rank_class]);
        return PW_NONE;
    }
    pw_collective_cost cost = {.alpha_s = pw_path_latency_s(fabric, &path), .cap_Bps = pw_path_bandwidth_Bps(fabric, &path)};
    x->use_count = 0;
    if (x->fold->folded)
        route_folded(x, &made, FLOW_COPY);
    else
        for (uint32_t i = 0; i < path.count; i++) plan_add_link(x, path.links[i], 1);
    return finish(x, &made, &cost);
}

uint32_t plan_io(pw_executor *x, uint32_t rank_class, const pw_op *op) {
    uint32_t detail = 2u * op->io.store + op->io.write;
    double bytes = op->io.bytes;
    uint32_t i = x->plan_buckets[bucket_of(x, PLAN_IO, rank_class, detail, 0, bytes)];
    for (; i != PW_NONE; i = x->plans[i].next) {
        const plan *p = &x->plans[i];
        if (p->kind == PLAN_IO && p->owner == rank_class && p->detail == detail && p->bytes == bytes &&
            p->operations == op->io.operations)
            return i;
    }
    const pw_store *store = &x->job->stores[op->io.store];
    plan made = {.kind = PLAN_IO, .owner = rank_class, .detail = detail, .bytes = bytes, .operations = op->io.operations};
    uint32_t gpu = x->job->gpu_of_rank[x->fold->representative[rank_class]];
    pw_collective_cost cost = {.cap_Bps = store->reader_Bps};
    pw_error error = {0};
    x->use_count = 0;
    if (plan_store_loads(x->config.cluster, store, gpu, op->io.write, x->fold->folded ? NULL : plan_add_link, x,
                         &cost.alpha_s, &error) != PW_OK)
        return failed(x, &error);
    if (x->fold->folded) route_folded(x, &made, FLOW_IO);
    pw_use uses[2];
    uint32_t count = store_uses(x, rank_class, op, uses);
    for (uint32_t u = 0; u < count; u++) add_use(x, uses[u].capacity, PW_NONE, uses[u].weight);
    made.limited = count > 0;
    return finish(x, &made, &cost);
}

void plan_finished(pw_executor *x, const plan *p) {
    if (p->flow) p->flow->bytes += p->bytes;
    if (p->kind != PLAN_COLLECTIVE) return;
    const group_class *group = &x->fold->groups[p->owner];
    x->totals.collective_bytes += p->bytes * group->members * group->groups;
}

double plan_count(const pw_executor *x, const plan *p) {
    return p->kind == PLAN_COLLECTIVE ? x->fold->groups[p->owner].groups : x->fold->multiplicity[p->owner];
}

void plan_describe(const pw_executor *x, const plan *p, pw_watched_flow *flow) {
    const pw_job *job = x->job;
    flow->kind = p->kind == PLAN_COLLECTIVE ? 0 : p->kind == PLAN_MESSAGE ? 1 : p->kind == PLAN_COPY ? 2 : 3;
    flow->what = p->detail;
    flow->bytes = p->bytes;
    flow->count = (uint32_t)plan_count(x, p);
    flow->role = flow->from = flow->to = PW_NONE;
    flow->members = 1;
    if (p->kind == PLAN_COLLECTIVE) {
        const group_class *group = &x->fold->groups[p->owner];
        const pw_group_role *role = &job->group_roles[group->role];
        const uint32_t *members = role->members + role->first[group->representative];
        flow->role = group->role;
        flow->members = group->members;
        flow->from = job->gpu_of_rank[members[0]];
        flow->to = job->gpu_of_rank[members[group->members - 1]];
        return;
    }
    uint32_t rank = x->fold->representative[p->owner], gpu = job->gpu_of_rank[rank];
    if (p->kind == PLAN_MESSAGE) {
        flow->from = gpu;
        flow->to = job->gpu_of_rank[job->peer_roles[p->detail].peer_of_rank[rank]];
    } else if (p->detail & 1) { /* a copy to the host, or written */
        flow->from = gpu;
    } else {
        flow->to = gpu;
    }
}
