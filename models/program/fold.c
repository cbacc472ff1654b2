/* Folding: partition refinement of ranks, groups and links (Hopcroft's idea, in the plain form that recolours everything
 * until nothing splits; the number of rounds is small because jobs are regular).
 *
 * Ranks start coloured by their program. A group's colour is the multiset of its members' colours, and its shape. A rank's
 * next colour adds the colours of the groups and peers in the roles that its program uses, and the cost of its messages
 * and copies. Positions within a group do not count. When that is stable, links are classified by the loads of the
 * classes (links.c), and what each group, sender and copier meets there (the link classes that can bind) refines once
 * more, until ranks and links agree. Jobs that run on a fabric together share the classes of links: the loads of all of them
 * count, so that what one job does to a link tells the ranks of another apart, where it can limit them.
 *
 * Static routing can make every group's links a little different, which would leave nothing folded. If telling links
 * apart more than quadruples the classes (and makes more than FEW), ranks stay as they were without it: a class then runs
 * at the pace of its most loaded links, and `exact` is false. */
#include <stdlib.h>
#include <string.h>

#include "models/program/links.h"

enum { FEW = 256, GROWTH = 4 };

typedef struct folding {
    const pw_allocator *allocator;
    pw_arena *arena, *scratch;
    const pw_cluster *cluster;
    const pw_collectives *collectives;
    const pw_job *job;
    const pw_usage *usage;
    fold *f;
    uint32_t unit_count;      /* groups of all roles */
    uint32_t *first_unit;     /* [roles + 1] */
    bool *role_used;          /* [roles] */
    digest *group_fixed;      /* [units]: shape and costs */
    digest *group_links, *rank_links; /* what they meet on links; zero before links are known */
    digest *rank_fixed;       /* [ranks]: costs of messages and copies, roles by which peers answer */
    digest *group_digest;     /* [units], of the current colours */
    uint32_t *colour, *next;  /* [ranks] */
    uint32_t colour_count;
    uint32_t *unit_class;     /* [units] */
    uint32_t unit_class_count;
    uint32_t *gpus;           /* [ranks] scratch */
    numbering numbers;
    link_table *links;        /* of all jobs */
    size_t first_carrier, end_carrier; /* its own */
    uint32_t first_flow;
    uint32_t limit, *kept;    /* classes at most, [ranks]: colours before links counted */
    bool coarse;              /* it went back to those */
} folding;

/* All jobs. */
typedef struct foldings {
    folding *jobs;
    uint32_t count;
    link_table links;
    pw_arena *shared;
    link_classes *classes;
    size_t first_apart; /* carriers of links that are kept apart */
} foldings;

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to fold ranks");
}

/* --- What does not change: shapes, costs, loads ------------------------------------------------------------------- */

static digest shape_digest(const pw_group_shape *shape) {
    digest d = digest_add(digest_add(digest_add((digest){1, 2}, shape->members), shape->domains), shape->per_domain);
    d = digest_number(digest_number(digest_add(d, shape->even), shape->scaleup_Bps), shape->network_Bps);
    return digest_number(d, shape->latency_s);
}

static digest cost_digest(digest d, const pw_collective_cost *cost) {
    d = digest_number(digest_number(digest_add(d, (uint64_t)(int64_t)cost->algorithm), cost->alpha_s), cost->cap_Bps);
    return digest_number(d, cost->sms);
}

static pw_status add_group(folding *g, uint32_t role_index, uint32_t group, pw_error *error) {
    const pw_group_role *role = &g->job->group_roles[role_index];
    uint32_t unit = g->first_unit[role_index] + group, first = role->first[group];
    uint32_t members = role->first[group + 1] - first;
    digest fixed = digest_add((digest){3, 5}, role_index);
    g->group_fixed[unit] = digest_add(fixed, members);
    if (members == 1) return PW_OK;
    for (uint32_t m = 0; m < members; m++) g->gpus[m] = g->job->gpu_of_rank[role->members[first + m]];
    pw_group_shape shape;
    PW_TRY(pw_collective_shape(g->collectives, g->gpus, members, &shape, error));
    digest shaped = shape_digest(&shape);
    fixed = digest_add(digest_add(fixed, shaped.a), shaped.b);
    const pw_usage *uses = &g->usage[g->job->program_of_rank[role->members[first]]];
    size_t first_carrier = g->links->carrier_count;
    for (uint32_t i = 0; i < uses->collective_count; i++) {
        const pw_collective_use *use = &uses->collectives[i];
        if (use->role != role_index) continue;
        pw_collective_cost cost;
        PW_TRY(pw_collective_group_cost(g->collectives, use->kind, use->algorithm, g->gpus, &shape, use->bytes, &cost, error));
        fixed = cost_digest(fixed, &cost);
        bool known = false;
        for (size_t c = first_carrier; c < g->links->carrier_count && !known; c++)
            known = g->links->carriers[c].detail == (uint32_t)use->kind && g->links->carriers[c].algorithm == cost.algorithm;
        if (known) continue;
        link_table_begin(g->links, FLOW_COLLECTIVE, unit, use->kind, cost.algorithm);
        PW_TRY(pw_collective_loads(g->collectives, use->kind, cost.algorithm, g->gpus, &shape, link_table_add, g->links,
                                   error));
        link_table_end(g->links);
    }
    g->group_fixed[unit] = fixed;
    return PW_OK;
}

/* The roles by which the peer names this rank: so that classes pair up one to one (message.c). */
static digest answers(const pw_job *job, digest d, uint32_t rank, uint32_t peer) {
    for (uint32_t r = 0; r < job->peer_role_count; r++) {
        if (job->peer_roles[r].peer_of_rank[peer] == rank) d = digest_add(d, r);
        if (job->peer_roles[r].peer_of_rank[rank] == peer) d = digest_add(d, 1000 + r);
    }
    return d;
}

static pw_status add_copy(folding *g, uint32_t rank, bool to_host, digest *fixed, pw_error *error) {
    pw_path path;
    const pw_fabric *fabric = pw_cluster_fabric(g->cluster);
    if (pw_cluster_host_route(g->cluster, g->job->gpu_of_rank[rank], to_host, &path) != PW_OK)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "rank %u cannot reach its host's memory", rank);
    *fixed = digest_number(digest_number(*fixed, pw_path_latency_s(fabric, &path)), pw_path_bandwidth_Bps(fabric, &path));
    link_table_begin(g->links, FLOW_COPY, rank, to_host, 0);
    for (uint32_t i = 0; i < path.count; i++) link_table_add(g->links, path.links[i], 1);
    link_table_end(g->links);
    return PW_OK;
}

static pw_status add_io(folding *g, uint32_t rank, uint32_t store, bool write, digest *fixed, pw_error *error) {
    link_table_begin(g->links, FLOW_IO, rank, 2 * store + write, 0);
    double latency_s;
    PW_TRY(plan_store_loads(g->cluster, &g->job->stores[store], g->job->gpu_of_rank[rank], write, link_table_add, g->links,
                            &latency_s, error));
    link_table_end(g->links);
    *fixed = digest_number(*fixed, latency_s);
    return PW_OK;
}

static pw_status add_rank(folding *g, uint32_t rank, pw_error *error) {
    const pw_job *job = g->job;
    const pw_usage *uses = &g->usage[job->program_of_rank[rank]];
    digest fixed = {5, 7};
    if (job->slowdown_of_rank) fixed = digest_number(fixed, job->slowdown_of_rank[rank]);
    if (job->clock_group_of_rank) fixed = digest_add(fixed, job->clock_group_of_rank[rank] + UINT64_C(1));
    if (job->programs[job->program_of_rank[rank]].source) fixed = digest_add(fixed, rank + UINT64_C(1)); /* never folded */
    for (uint32_t i = 0; i < uses->message_count; i++) {
        const pw_message_use *use = &uses->messages[i];
        uint32_t peer = job->peer_roles[use->role].peer_of_rank[rank];
        fixed = answers(job, digest_add(fixed, use->role), rank, peer);
        if (!use->send) continue;
        uint32_t from = job->gpu_of_rank[rank], to = job->gpu_of_rank[peer];
        pw_collective_cost cost;
        PW_TRY(pw_message_cost_of(g->collectives, from, to, use->bytes, &cost, error));
        cost.algorithm = 0;
        fixed = cost_digest(fixed, &cost);
        if (i > 0 && uses->messages[i - 1].send && uses->messages[i - 1].role == use->role) continue; /* other size */
        link_table_begin(g->links, FLOW_MESSAGE, rank, use->role, 0);
        PW_TRY(pw_message_loads(g->collectives, from, to, link_table_add, g->links, error));
        link_table_end(g->links);
    }
    for (int to_host = 0; to_host < 2; to_host++)
        if (uses->copies[to_host]) PW_TRY(add_copy(g, rank, to_host, &fixed, error));
    for (uint32_t s = 0; s < job->store_count; s++)
        for (int write = 0; job->stores[s].hosts && write < 2; write++)
            if (uses->stores[s] & (write ? PW_STORE_WRITE : PW_STORE_READ)) PW_TRY(add_io(g, rank, s, write, &fixed, error));
    g->rank_fixed[rank] = fixed;
    return PW_OK;
}

/* --- Refinement --------------------------------------------------------------------------------------------------- */

static digest of_colour(uint32_t colour) { return digest_add((digest){17, 19}, colour); }

static void digest_groups(folding *g) {
    for (uint32_t r = 0; r < g->job->group_role_count; r++) {
        if (!g->role_used[r]) continue;
        const pw_group_role *role = &g->job->group_roles[r];
        for (uint32_t i = 0; i < role->groups; i++) {
            uint32_t unit = g->first_unit[r] + i;
            digest members = {0, 0};
            for (uint32_t m = role->first[i]; m < role->first[i + 1]; m++)
                members = digest_sum(members, of_colour(g->colour[role->members[m]]));
            digest d = digest_add(digest_add(g->group_fixed[unit], members.a), members.b);
            g->group_digest[unit] = digest_add(digest_add(d, g->group_links[unit].a), g->group_links[unit].b);
        }
    }
}

static digest digest_rank(const folding *g, uint32_t rank) {
    const pw_job *job = g->job;
    const pw_usage *uses = &g->usage[job->program_of_rank[rank]];
    digest d = digest_add(g->rank_fixed[rank], g->colour[rank]);
    d = digest_add(digest_add(d, g->rank_links[rank].a), g->rank_links[rank].b);
    for (uint32_t i = 0; i < uses->collective_count; i++) {
        uint32_t role = uses->collectives[i].role;
        if (i > 0 && uses->collectives[i - 1].role == role) continue;
        digest group = g->group_digest[g->first_unit[role] + job->group_roles[role].group_of_rank[rank]];
        d = digest_add(digest_add(d, group.a), group.b);
    }
    for (uint32_t role = 0; role < job->group_role_count; role++) {
        if (!uses->quorums[role]) continue;
        digest group = g->group_digest[g->first_unit[role] + job->group_roles[role].group_of_rank[rank]];
        d = digest_add(digest_add(d, group.a), group.b);
    }
    for (uint32_t i = 0; i < job->store_count; i++) { /* who shares a store with whom */
        if (!uses->stores[i]) continue;
        uint32_t role = job->stores[i].group_role;
        digest group = g->group_digest[g->first_unit[role] + job->group_roles[role].group_of_rank[rank]];
        d = digest_add(digest_add(d, group.a), group.b);
    }
    for (uint32_t i = 0; i < uses->message_count; i++)
        d = digest_add(d, g->colour[job->peer_roles[uses->messages[i].role].peer_of_rank[rank]]);
    return d;
}

static pw_status refine(folding *g, pw_error *error) {
    for (;;) {
        digest_groups(g);
        numbering_clear(&g->numbers);
        for (uint32_t r = 0; r < g->job->ranks; r++) {
            g->next[r] = numbering_of(&g->numbers, digest_rank(g, r));
            if (g->next[r] == PW_NONE) return no_memory(error);
        }
        uint32_t *old = g->colour;
        g->colour = g->next;
        g->next = old;
        bool stable = g->numbers.count == g->colour_count;
        g->colour_count = (uint32_t)g->numbers.count;
        if (stable) break;
    }
    digest_groups(g);
    numbering_clear(&g->numbers);
    for (uint32_t r = 0; r < g->job->group_role_count; r++)
        for (uint32_t u = g->first_unit[r]; g->role_used[r] && u < g->first_unit[r + 1]; u++) {
            g->unit_class[u] = numbering_of(&g->numbers, g->group_digest[u]);
            if (g->unit_class[u] == PW_NONE) return no_memory(error);
        }
    g->unit_class_count = (uint32_t)g->numbers.count;
    return PW_OK;
}

/* Numbers the flows of a job; they follow those of the jobs before it. */
static pw_status number_flows(folding *g, uint32_t first, pw_error *error) {
    numbering_clear(&g->numbers);
    g->first_flow = first;
    for (size_t c = g->first_carrier; c < g->end_carrier; c++) {
        carrier *one = &g->links->carriers[c];
        uint32_t owner = one->kind == FLOW_COLLECTIVE ? g->unit_class[one->unit] : g->colour[one->unit];
        digest key = digest_add(digest_add((digest){23, 29}, one->kind), owner);
        one->flow = numbering_of(&g->numbers, digest_add(digest_add(key, one->detail), (uint64_t)(int64_t)one->algorithm));
        if (one->flow == PW_NONE) return no_memory(error);
        one->flow += first;
    }
    g->f->flow_count = (uint32_t)g->numbers.count;
    return PW_OK;
}

static pw_status classify_links(foldings *all, pw_error *error) {
    link_classes *classes = all->classes;
    uint32_t flows = 0;
    for (uint32_t j = 0; j < all->count; j++) {
        PW_TRY(number_flows(&all->jobs[j], flows, error));
        flows += all->jobs[j].f->flow_count;
    }
    for (size_t c = all->first_apart; c < all->links.carrier_count; c++) all->links.carriers[c].flow = flows++;
    classes->flow_count = flows;
    classes->flows = pw_arena_alloc(all->shared, (flows + 1) * sizeof *classes->flows);
    if (!classes->flows) return no_memory(error);
    for (uint32_t j = 0; j < all->count; j++) {
        folding *g = &all->jobs[j];
        g->f->flows = classes->flows + g->first_flow;
        for (size_t c = g->end_carrier; c-- > g->first_carrier;) {
            const carrier *one = &g->links->carriers[c];
            classes->flows[one->flow] = (flow_class){
                .kind = one->kind,
                .owner = one->kind == FLOW_COLLECTIVE ? g->unit_class[one->unit] : g->colour[one->unit],
                .detail = one->detail,
                .algorithm = one->algorithm};
        }
    }
    PW_TRY(link_table_classify(&all->links, all->jobs->cluster, all->shared, classes, error));
    for (uint32_t j = 0; j < all->count; j++) {
        fold *f = all->jobs[j].f;
        f->links = classes->links;
        f->link_count = classes->link_count;
        f->class_of_link = classes->class_of_link;
    }
    return PW_OK;
}

/* Adds what carriers meet on links to their groups and ranks. */
static void read_links(folding *g, const link_classes *classes) {
    memset(g->group_links, 0, g->unit_count * sizeof *g->group_links);
    memset(g->rank_links, 0, g->job->ranks * sizeof *g->rank_links);
    for (size_t c = g->first_carrier; c < g->end_carrier; c++) {
        const carrier *one = &g->links->carriers[c];
        digest *at = one->kind == FLOW_COLLECTIVE ? &g->group_links[one->unit] : &g->rank_links[one->unit];
        digest meets = link_table_signature(g->links, classes, one);
        *at = digest_add(digest_add(*at, meets.a), meets.b);
    }
}

static pw_status begin_ranks(folding *g, pw_error *error) {
    uint32_t ranks = g->job->ranks;
    for (uint32_t r = 0; r < ranks; r++) g->colour[r] = g->job->program_of_rank[r];
    PW_TRY(refine(g, error));
    g->limit = g->colour_count * GROWTH > FEW ? g->colour_count * GROWTH : FEW;
    g->kept = pw_arena_alloc(g->scratch, (ranks + 1) * sizeof *g->kept);
    if (!g->kept) return no_memory(error);
    memcpy(g->kept, g->colour, ranks * sizeof *g->kept);
    return PW_OK;
}

/* Back to the classes without links. */
static pw_status go_back(folding *g, pw_error *error) {
    uint32_t ranks = g->job->ranks;
    g->coarse = true;
    memcpy(g->colour, g->kept, ranks * sizeof *g->kept);
    memset(g->group_links, 0, g->unit_count * sizeof *g->group_links);
    memset(g->rank_links, 0, ranks * sizeof *g->rank_links);
    g->colour_count = 0;
    return refine(g, error);
}

static pw_status fold_ranks(foldings *all, pw_error *error) {
    for (uint32_t j = 0; j < all->count; j++) PW_TRY(begin_ranks(&all->jobs[j], error));
    for (bool stable = false; !stable;) {
        PW_TRY(classify_links(all, error));
        stable = true;
        for (uint32_t j = 0; j < all->count; j++) {
            folding *g = &all->jobs[j];
            uint32_t colours = g->colour_count, units = g->unit_class_count;
            if (g->coarse) continue;
            read_links(g, all->classes);
            PW_TRY(refine(g, error));
            stable = stable && g->colour_count == colours && g->unit_class_count == units;
            if (g->colour_count > g->limit) {
                stable = false;
                PW_TRY(go_back(g, error));
            }
        }
    }
    for (uint32_t j = 0; j < all->count; j++) all->jobs[j].f->exact = !all->jobs[j].coarse;
    return PW_OK;
}

/* --- Result ------------------------------------------------------------------------------------------------------- */

static bool fill_ranks(folding *g) {
    fold *f = g->f;
    f->class_count = g->colour_count;
    f->class_of_rank = pw_arena_alloc(g->arena, g->job->ranks * sizeof *f->class_of_rank);
    f->representative = pw_arena_alloc(g->arena, f->class_count * sizeof *f->representative);
    f->multiplicity = pw_arena_alloc(g->arena, f->class_count * sizeof *f->multiplicity);
    if (!f->class_of_rank || !f->representative || !f->multiplicity) return false;
    for (uint32_t r = g->job->ranks; r-- > 0;) {
        f->class_of_rank[r] = g->colour[r];
        f->representative[g->colour[r]] = r;
        f->multiplicity[g->colour[r]]++;
    }
    return true;
}

static int compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static bool fill_group(folding *g, uint32_t role_index, uint32_t group) {
    const pw_group_role *role = &g->job->group_roles[role_index];
    fold *f = g->f;
    uint32_t index = g->unit_class[g->first_unit[role_index] + group];
    f->class_of_group[role_index][group] = index;
    group_class *made = &f->groups[index];
    if (made->groups++ > 0) return true;
    uint32_t first = role->first[group], members = role->first[group + 1] - first, kept = 0;
    uint32_t *classes = pw_arena_alloc(g->arena, members * sizeof *classes);
    if (!classes) return false;
    for (uint32_t m = 0; m < members; m++) classes[m] = g->colour[role->members[first + m]];
    qsort(classes, members, sizeof *classes, compare_numbers);
    for (uint32_t m = 0; m < members; m++)
        if (m == 0 || classes[m] != classes[kept - 1]) classes[kept++] = classes[m];
    *made = (group_class){.role = role_index,
                          .representative = group,
                          .groups = 1,
                          .members = members,
                          .classes = classes,
                          .class_count = kept};
    return true;
}

static pw_status fill(folding *g, pw_error *error) {
    fold *f = g->f;
    const pw_job *job = g->job;
    f->group_count = g->unit_class_count;
    f->groups = pw_arena_alloc(g->arena, (f->group_count + 1) * sizeof *f->groups);
    f->class_of_group = pw_arena_alloc(g->arena, (job->group_role_count + 1) * sizeof *f->class_of_group);
    if (!f->groups || !f->class_of_group || !fill_ranks(g)) return no_memory(error);
    for (uint32_t r = 0; r < job->group_role_count; r++) {
        if (!g->role_used[r]) continue;
        f->class_of_group[r] = pw_arena_alloc(g->arena, (job->group_roles[r].groups + 1) * sizeof **f->class_of_group);
        if (!f->class_of_group[r]) return no_memory(error);
        for (uint32_t i = 0; i < job->group_roles[r].groups; i++)
            if (!fill_group(g, r, i)) return no_memory(error);
    }
    return PW_OK;
}

static bool prepare(folding *g) {
    const pw_job *job = g->job;
    pw_arena *s = g->scratch;
    g->first_unit = pw_arena_alloc(s, (job->group_role_count + 1) * sizeof *g->first_unit);
    g->role_used = pw_arena_alloc(s, job->group_role_count + 1);
    if (!g->first_unit || !g->role_used) return false;
    for (uint32_t r = 0; r < job->group_role_count; r++)
        g->first_unit[r + 1] = g->first_unit[r] + job->group_roles[r].groups;
    g->unit_count = g->first_unit[job->group_role_count];
    for (uint32_t p = 0; p < job->program_count; p++)
        for (uint32_t i = 0; i < g->usage[p].collective_count; i++) g->role_used[g->usage[p].collectives[i].role] = true;
    for (uint32_t p = 0; p < job->program_count; p++)
        for (uint32_t i = 0; i < job->store_count; i++)
            if (g->usage[p].stores[i]) g->role_used[job->stores[i].group_role] = true;
    for (uint32_t p = 0; p < job->program_count; p++)
        for (uint32_t r = 0; r < job->group_role_count; r++)
            if (g->usage[p].quorums[r]) g->role_used[r] = true;
    g->group_fixed = pw_arena_alloc(s, (g->unit_count + 1) * sizeof *g->group_fixed);
    g->group_links = pw_arena_alloc(s, (g->unit_count + 1) * sizeof *g->group_links);
    g->group_digest = pw_arena_alloc(s, (g->unit_count + 1) * sizeof *g->group_digest);
    g->unit_class = pw_arena_alloc(s, (g->unit_count + 1) * sizeof *g->unit_class);
    g->rank_fixed = pw_arena_alloc(s, job->ranks * sizeof *g->rank_fixed);
    g->rank_links = pw_arena_alloc(s, job->ranks * sizeof *g->rank_links);
    g->colour = pw_arena_alloc(s, job->ranks * sizeof *g->colour);
    g->next = pw_arena_alloc(s, job->ranks * sizeof *g->next);
    g->gpus = pw_arena_alloc(s, job->ranks * sizeof *g->gpus);
    return g->group_fixed && g->group_links && g->group_digest && g->unit_class && g->rank_fixed && g->rank_links &&
           g->colour && g->next && g->gpus;
}

static pw_status add_job(folding *g, pw_error *error) {
    if (!prepare(g)) return no_memory(error);
    g->first_carrier = g->links->carrier_count;
    for (uint32_t r = 0; r < g->job->group_role_count; r++)
        for (uint32_t i = 0; g->role_used[r] && i < g->job->group_roles[r].groups; i++) PW_TRY(add_group(g, r, i, error));
    for (uint32_t r = 0; r < g->job->ranks; r++) PW_TRY(add_rank(g, r, error));
    g->end_carrier = g->links->carrier_count;
    return g->links->failed ? no_memory(error) : PW_OK;
}

static pw_status fold_jobs(foldings *all, const pw_link *apart, uint32_t apart_count, pw_error *error) {
    PW_TRY(link_table_create(all->links.allocator, pw_cluster_fabric(all->jobs->cluster), &all->links, error));
    for (uint32_t j = 0; j < all->count; j++) PW_TRY(add_job(&all->jobs[j], error));
    all->first_apart = all->links.carrier_count;
    for (uint32_t i = 0; i < apart_count; i++) {
        link_table_begin(&all->links, FLOW_COPY, PW_NONE, i, 0);
        link_table_add(&all->links, apart[i], 1);
        link_table_end(&all->links);
    }
    if (all->links.failed) return no_memory(error);
    PW_TRY(fold_ranks(all, error));
    for (uint32_t j = 0; j < all->count; j++) PW_TRY(fill(&all->jobs[j], error));
    return PW_OK;
}

/* Every rank, and every group, is its own class. */
static pw_status keep_apart(pw_arena *arena, const pw_job *job, fold *f, pw_error *error) {
    f->exact = true;
    f->class_count = job->ranks;
    f->class_of_rank = pw_arena_alloc(arena, job->ranks * sizeof *f->class_of_rank);
    f->representative = pw_arena_alloc(arena, job->ranks * sizeof *f->representative);
    f->multiplicity = pw_arena_alloc(arena, job->ranks * sizeof *f->multiplicity);
    f->class_of_group = pw_arena_alloc(arena, (job->group_role_count + 1) * sizeof *f->class_of_group);
    uint32_t groups = 0;
    for (uint32_t r = 0; r < job->group_role_count; r++) groups += job->group_roles[r].groups;
    f->groups = pw_arena_alloc(arena, (groups + 1) * sizeof *f->groups);
    if (!f->class_of_rank || !f->representative || !f->multiplicity || !f->class_of_group || !f->groups)
        return no_memory(error);
    for (uint32_t r = 0; r < job->ranks; r++) {
        f->class_of_rank[r] = f->representative[r] = r;
        f->multiplicity[r] = 1;
    }
    for (uint32_t r = 0; r < job->group_role_count; r++) {
        const pw_group_role *role = &job->group_roles[r];
        f->class_of_group[r] = pw_arena_alloc(arena, (role->groups + 1) * sizeof **f->class_of_group);
        if (!f->class_of_group[r]) return no_memory(error);
        for (uint32_t i = 0; i < role->groups; i++) {
            uint32_t members = role->first[i + 1] - role->first[i];
            f->class_of_group[r][i] = f->group_count;
            f->groups[f->group_count++] = (group_class){.role = r,
                                                        .representative = i,
                                                        .groups = 1,
                                                        .members = members,
                                                        .classes = role->members + role->first[i],
                                                        .class_count = members};
        }
    }
    return PW_OK;
}

static pw_status fold_together(foldings *all, const pw_allocator *allocator, const pw_cluster *cluster, fold_job *jobs,
                               const pw_link *apart, uint32_t apart_count, pw_error *error) {
    for (uint32_t j = 0; j < all->count; j++) {
        all->jobs[j] = (folding){.allocator = allocator,
                                 .arena = jobs[j].arena,
                                 .cluster = cluster,
                                 .collectives = jobs[j].collectives,
                                 .job = jobs[j].job,
                                 .usage = jobs[j].usage,
                                 .f = jobs[j].fold,
                                 .numbers.allocator = allocator,
                                 .links = &all->links};
    }
    for (uint32_t j = 0; j < all->count; j++)
        if (!(all->jobs[j].scratch = pw_arena_create(allocator))) return no_memory(error);
    return fold_jobs(all, apart, apart_count, error);
}

pw_status fold_create(pw_arena *shared, const pw_allocator *allocator, const pw_cluster *cluster, fold_job *jobs,
                      uint32_t count, bool folded, const pw_link *apart, uint32_t apart_count, link_classes *classes,
                      pw_error *error) {
    for (uint32_t j = 0; j < count; j++) {
        fold *f = jobs[j].fold = pw_arena_alloc(jobs[j].arena, sizeof *f);
        if (!f) return no_memory(error);
        f->folded = folded;
        if (!folded) PW_TRY(keep_apart(jobs[j].arena, jobs[j].job, f, error));
    }
    if (!folded) return PW_OK;
    foldings all = {.count = count,
                    .shared = shared,
                    .classes = classes,
                    .links = {.allocator = allocator, .numbers.allocator = allocator},
                    .jobs = pw_alloc_zero(allocator, count * sizeof *all.jobs)};
    if (!all.jobs) return no_memory(error);
    pw_status status = fold_together(&all, allocator, cluster, jobs, apart, apart_count, error);
    for (uint32_t j = 0; j < count; j++) {
        numbering_free(&all.jobs[j].numbers);
        pw_arena_destroy(all.jobs[j].scratch);
    }
    link_table_free(&all.links);
    pw_free(allocator, all.jobs, count * sizeof *all.jobs);
    return status;
}

flow_class *fold_find_flow(fold *f, flow_kind kind, uint32_t owner, uint32_t detail, int algorithm) {
    for (uint32_t i = 0; i < f->flow_count; i++) {
        flow_class *flow = &f->flows[i];
        if (flow->kind == kind && flow->owner == owner && flow->detail == detail &&
            (kind != FLOW_COLLECTIVE || flow->algorithm == algorithm))
            return flow;
    }
    return NULL;
}
