/* Checks of a job: everything an executor relies on, so that a front end's slip is an error with a name, not a crash. */
#include <math.h>
#include <string.h>

#include "models/program/usage.h"

#define OP_ENUM(NAME, name) name,
static const char *const op_names[] = {PW_OP_MAP(OP_ENUM)};
#undef OP_ENUM

#define BAD(hint, ...) pw_fail(error, PW_BAD_INPUT, NULL, 0, (hint), __VA_ARGS__)

static bool is_amount(double value) { return isfinite(value) && value >= 0; }

static pw_status check_op(const pw_job *job, const pw_template *in, uint32_t index, uint32_t end, pw_error *error);

static pw_status check_range(const pw_job *job, const pw_template *in, uint32_t begin, uint32_t end, pw_error *error) {
    for (uint32_t i = begin; i < end; i++) {
        PW_TRY(check_op(job, in, i, end, error));
        if (in->ops[i].kind == PW_OP_LOOP) i += in->ops[i].loop.length;
    }
    return PW_OK;
}

static pw_status check_slots(const pw_job *job, const pw_template *in, uint32_t index, pw_error *error) {
    const pw_op *op = &in->ops[index];
    for (int w = 0; w < PW_OP_WAITS; w++)
        if (op->waits[w] != PW_NO_SLOT && (op->waits[w] < 0 || op->waits[w] >= job->slots))
            return BAD("initialise operations with PW_OP_INIT", "template \"%s\" operation %u waits for slot %d of %u",
                       in->name, index, op->waits[w], job->slots);
    if (op->signal != PW_NO_SLOT && (op->signal < 0 || op->signal >= job->slots))
        return BAD("initialise operations with PW_OP_INIT", "template \"%s\" operation %u signals slot %d of %u", in->name,
                   index, op->signal, job->slots);
    if (op->signal != PW_NO_SLOT && (op->kind == PW_OP_HOST || op->kind == PW_OP_SYNC))
        return BAD("only operations on a stream signal", "template \"%s\" operation %u: a %s cannot signal a slot",
                   in->name, index, op_names[op->kind]);
    return PW_OK;
}

static pw_status check_op(const pw_job *job, const pw_template *in, uint32_t index, uint32_t end, pw_error *error) {
    const pw_op *op = &in->ops[index];
    if ((unsigned)op->kind >= PW_OP_KIND_COUNT)
        return BAD(NULL, "template \"%s\" operation %u has no known kind (%d)", in->name, index, (int)op->kind);
    if (op->kind == PW_OP_CALL) {
        if (op->call.template_index >= job->template_count)
            return BAD(NULL, "template \"%s\" operation %u calls template %u of %u", in->name, index,
                       op->call.template_index, job->template_count);
        return PW_OK;
    }
    if (op->kind == PW_OP_LOOP) {
        if (op->loop.length > end - index - 1)
            return BAD("a loop's body lies in the same list, inside any outer loop",
                       "template \"%s\" operation %u loops over %u operations where %u are left", in->name, index,
                       op->loop.length, end - index - 1);
        return check_range(job, in, index + 1, index + 1 + op->loop.length, error);
    }
    if (op->stream >= job->streams && op->kind != PW_OP_HOST && op->kind != PW_OP_SYNC)
        return BAD(NULL, "template \"%s\" operation %u uses stream %u of %u", in->name, index, op->stream, job->streams);
    if (op->category >= job->category_count)
        return BAD(NULL, "template \"%s\" operation %u has category %u of %u", in->name, index, op->category,
                   job->category_count);
    PW_TRY(check_slots(job, in, index, error));
    bool good = true;
    switch (op->kind) {
        case PW_OP_COMPUTE: good = op->compute.segment < job->segment_count; break;
        case PW_OP_COPY: good = is_amount(op->copy.bytes); break;
        case PW_OP_IO:
            good = op->io.store < job->store_count && is_amount(op->io.bytes) && is_amount(op->io.operations);
            break;
        case PW_OP_SEND:
        case PW_OP_RECV: good = op->message.peer_role < job->peer_role_count && is_amount(op->message.bytes); break;
        case PW_OP_COLLECTIVE:
            good = op->collective.group_role < job->group_role_count && is_amount(op->collective.bytes) &&
                   (unsigned)op->collective.kind < PW_COLLECTIVE_KIND_COUNT;
            break;
        case PW_OP_QUORUM:
            good = op->quorum.group_role < job->group_role_count && op->quorum.needed >= 1;
            break;
        case PW_OP_DELAY:
        case PW_OP_HOST: good = is_amount(op->delay.seconds); break;
        default: break;
    }
    if (!good)
        return BAD("roles, stores and segments must exist; bytes and seconds are finite and not negative",
                   "template \"%s\" operation %u: bad %s", in->name, index, op_names[op->kind]);
    return PW_OK;
}

/* Depth-first: 1 on the way down, 2 when done; meeting a 1 again is a recursion. */
static pw_status check_calls(const pw_job *job, uint32_t index, unsigned char *state, pw_error *error) {
    const pw_template *in = &job->templates[index];
    state[index] = 1;
    for (uint32_t i = 0; i < in->count; i++) {
        if (in->ops[i].kind != PW_OP_CALL) continue;
        uint32_t callee = in->ops[i].call.template_index;
        if (state[callee] == 1)
            return BAD("use a loop", "template \"%s\" calls itself through \"%s\"", job->templates[callee].name, in->name);
        if (state[callee] == 0) PW_TRY(check_calls(job, callee, state, error));
    }
    state[index] = 2;
    return PW_OK;
}

static pw_status check_groups(const pw_job *job, const pw_group_role *role, pw_error *error) {
    uint32_t members = 0;
    for (uint32_t r = 0; r < job->ranks; r++) {
        if (role->group_of_rank[r] == PW_NONE) continue;
        if (role->group_of_rank[r] >= role->groups)
            return BAD(NULL, "role \"%s\": rank %u is in group %u of %u", role->name, r, role->group_of_rank[r],
                       role->groups);
        members++;
    }
    if (role->groups == 0 ? members != 0 : role->first[0] != 0 || role->first[role->groups] != members)
        return BAD("every member is listed once", "role \"%s\": the groups list %u members, %u ranks have a group",
                   role->name, role->groups ? role->first[role->groups] : 0, members);
    for (uint32_t g = 0; g < role->groups; g++) {
        if (role->first[g + 1] <= role->first[g])
            return BAD("leave out groups without members", "role \"%s\": group %u is empty", role->name, g);
        for (uint32_t m = role->first[g]; m < role->first[g + 1]; m++)
            if (role->members[m] >= job->ranks || role->group_of_rank[role->members[m]] != g)
                return BAD("members and group_of_rank must agree", "role \"%s\": rank %u is listed in group %u but not of it",
                           role->name, role->members[m], g);
    }
    return PW_OK;
}

static pw_status check_ranks(const pw_job *job, pw_error *error) {
    for (uint32_t r = 0; r < job->ranks; r++)
        if (job->program_of_rank[r] >= job->program_count)
            return BAD(NULL, "rank %u runs program %u of %u", r, job->program_of_rank[r], job->program_count);
    for (uint32_t i = 0; i < job->group_role_count; i++) PW_TRY(check_groups(job, &job->group_roles[i], error));
    for (uint32_t i = 0; i < job->peer_role_count; i++)
        for (uint32_t r = 0; r < job->ranks; r++) {
            uint32_t peer = job->peer_roles[i].peer_of_rank[r];
            if (peer != PW_NONE && (peer >= job->ranks || peer == r))
                return BAD("a peer is another rank of the job", "role \"%s\": rank %u has peer %u of %u ranks",
                           job->peer_roles[i].name, r, peer, job->ranks);
        }
    return PW_OK;
}

pw_status pw_op_check(const pw_job *job, uint32_t rank, const pw_op *op, pw_error *error) {
    pw_template in = {.name = job->programs[job->program_of_rank[rank]].name, .ops = op, .count = 1};
    PW_TRY(check_op(job, &in, 0, 1, error));
    bool message = op->kind == PW_OP_SEND || op->kind == PW_OP_RECV;
    if (op->kind == PW_OP_COLLECTIVE && job->group_roles[op->collective.group_role].group_of_rank[rank] == PW_NONE)
        return BAD(NULL, "rank %u has no group in role \"%s\"", rank, job->group_roles[op->collective.group_role].name);
    if (op->kind == PW_OP_QUORUM && job->group_roles[op->quorum.group_role].group_of_rank[rank] == PW_NONE)
        return BAD(NULL, "rank %u has no group in role \"%s\"", rank, job->group_roles[op->quorum.group_role].name);
    if (job->programs[job->program_of_rank[rank]].only_io &&
        (message || op->kind == PW_OP_COPY || op->kind == PW_OP_COLLECTIVE))
        return BAD("leave only_io out", "the source of \"%s\" said that it emits only io, but emitted a %s", in.name,
                   op_names[op->kind]);
    if (op->kind == PW_OP_IO && job->group_roles[job->stores[op->io.store].group_role].group_of_rank[rank] == PW_NONE)
        return BAD(NULL, "rank %u does not reach store \"%s\"", rank, job->stores[op->io.store].name);
    if (message && job->peer_roles[op->message.peer_role].peer_of_rank[rank] == PW_NONE)
        return BAD(NULL, "rank %u has no peer in role \"%s\"", rank, job->peer_roles[op->message.peer_role].name);
    return PW_OK;
}

/* A rank needs a group and a peer for every role that its program uses. */
static pw_status check_roles(const pw_job *job, const pw_usage *usage, pw_error *error) {
    for (uint32_t r = 0; r < job->ranks; r++) {
        const pw_usage *uses = &usage[job->program_of_rank[r]];
        const char *program = job->programs[job->program_of_rank[r]].name;
        for (uint32_t i = 0; i < uses->collective_count; i++) {
            const pw_group_role *role = &job->group_roles[uses->collectives[i].role];
            if (role->group_of_rank[r] == PW_NONE)
                return BAD(NULL, "rank %u runs \"%s\" but has no group in role \"%s\"", r, program, role->name);
        }
        for (uint32_t i = 0; i < job->group_role_count; i++)
            if (uses->quorums[i] && job->group_roles[i].group_of_rank[r] == PW_NONE)
                return BAD(NULL, "rank %u runs \"%s\" but has no group in role \"%s\"", r, program, job->group_roles[i].name);
        for (uint32_t s = 0; s < job->store_count; s++) {
            if (!uses->stores[s] || job->group_roles[job->stores[s].group_role].group_of_rank[r] != PW_NONE) continue;
            return BAD("the store's role must have a group for it", "rank %u runs \"%s\" but does not reach store \"%s\"", r,
                       program, job->stores[s].name);
        }
        for (uint32_t i = 0; i < uses->message_count; i++) {
            const pw_peer_role *role = &job->peer_roles[uses->messages[i].role];
            if (role->peer_of_rank[r] == PW_NONE)
                return BAD(NULL, "rank %u runs \"%s\" but has no peer in role \"%s\"", r, program, role->name);
        }
    }
    return PW_OK;
}

static pw_status check_segments(const pw_job *job, pw_error *error) {
    for (uint32_t s = 0; s < job->segment_count; s++)
        for (uint32_t i = 0; i < job->segments[s].count; i++)
            if (job->segments[s].parts[i].kernel >= job->kernel_count)
                return BAD(NULL, "segment \"%s\" names kernel %u of %u", job->segments[s].name,
                           job->segments[s].parts[i].kernel, job->kernel_count);
    return PW_OK;
}

static pw_status check_stores(const pw_job *job, pw_error *error) {
    for (uint32_t s = 0; s < job->store_count; s++) {
        const pw_store *store = &job->stores[s];
        if (store->group_role >= job->group_role_count)
            return BAD(NULL, "store \"%s\" is shared by role %u of %u", store->name, store->group_role, job->group_role_count);
        if (store->hosts && (store->host_count == 0 || job->group_roles[store->group_role].groups != 1))
            return BAD("a placed store has hosts, and all its readers in one group", "store \"%s\" has %u hosts and %u groups",
                       store->name, store->host_count, job->group_roles[store->group_role].groups);
        if (!(store->bandwidth_Bps > 0 && (isfinite(store->bandwidth_Bps) || store->hosts) && store->operations_per_s > 0 &&
              store->reader_Bps > 0) || !is_amount(store->latency_s))
            return BAD("rates are above 0, the bandwidth of a store that is not placed is finite, the latency is not negative",
                       "store \"%s\": %g B/s, %g operations/s, %g B/s per reader, latency %g s", store->name,
                       store->bandwidth_Bps, store->operations_per_s, store->reader_Bps, store->latency_s);
    }
    return PW_OK;
}

static pw_status check_templates(const pw_job *job, unsigned char *state, pw_error *error) {
    for (uint32_t t = 0; t < job->template_count; t++)
        PW_TRY(check_range(job, &job->templates[t], 0, job->templates[t].count, error));
    for (uint32_t p = 0; p < job->program_count; p++)
        if (!job->programs[p].source && job->programs[p].template_index >= job->template_count)
            return BAD(NULL, "program \"%s\" starts at template %u of %u", job->programs[p].name,
                       job->programs[p].template_index, job->template_count);
    for (uint32_t t = 0; t < job->template_count; t++)
        if (state[t] == 0) PW_TRY(check_calls(job, t, state, error));
    return PW_OK;
}

pw_status pw_job_check(const pw_job *job, pw_error *error) {
    if (job->ranks == 0) return BAD(NULL, "job \"%s\" has no rank", job->name);
    for (uint32_t r = 0; job->slowdown_of_rank && r < job->ranks; r++)
        if (!(isfinite(job->slowdown_of_rank[r]) && job->slowdown_of_rank[r] > 0))
            return BAD("above 0", "job \"%s\": rank %u has slowdown %g", job->name, r, job->slowdown_of_rank[r]);
    for (uint32_t r = 0; job->clock_group_of_rank && r < job->ranks; r++)
        if (job->clock_group_of_rank[r] >= (job->clock_groups ? job->clock_groups : 1))
            return BAD(NULL, "job \"%s\": rank %u has clock %u of %u", job->name, r, job->clock_group_of_rank[r],
                       job->clock_groups ? job->clock_groups : 1);
    if (!is_amount(job->launch_s) || !(isfinite(job->kernel_time_factor) && job->kernel_time_factor > 0))
        return BAD("launch_s >= 0, kernel_time_factor > 0", "job \"%s\": launch_s %g, kernel_time_factor %g", job->name,
                   job->launch_s, job->kernel_time_factor);
    const pw_allocator *allocator = pw_allocator_default();
    unsigned char *state = pw_alloc_zero(allocator, job->template_count + 1);
    pw_arena *arena = pw_arena_create(allocator);
    pw_usage *usage = NULL;
    pw_status status = state && arena ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to check a job");
    if (status == PW_OK) status = check_segments(job, error);
    if (status == PW_OK) status = check_stores(job, error);
    if (status == PW_OK) status = check_templates(job, state, error);
    if (status == PW_OK) status = check_ranks(job, error);
    if (status == PW_OK) status = pw_usage_scan(arena, allocator, job, &usage, error);
    if (status == PW_OK) status = check_roles(job, usage, error);
    pw_free(allocator, state, job->template_count + 1);
    pw_arena_destroy(arena);
    return status;
}
