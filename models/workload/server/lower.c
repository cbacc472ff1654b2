/* A parameter server job as programs. Each step of a worker: pull, compute, push, on a stream each and one behind the other;
 * then, on a stream of its own, the meeting at which it reports that the step is done. A pull waits for the meeting of the step
 * that may not be exceeded. */
#include <math.h>
#include <stdio.h>

#include "models/workload/server/plan.h"

static const pw_category categories[] = {{"compute", PW_BLAME_COMPUTE},    {"pull", PW_BLAME_COMMUNICATION},
                                         {"push", PW_BLAME_COMMUNICATION}, {"others", PW_BLAME_OTHER},
                                         {"start", PW_BLAME_OTHER},        {"all-reduce", PW_BLAME_COMMUNICATION}};

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the programs of a parameter server job");
}

pw_op server_compute_op(const server_plan *plan, uint32_t worker, pw_random *random) {
    pw_op op = {.kind = PW_OP_COMPUTE, .stream = STREAM_COMPUTE, PW_OP_INIT, .category = CATEGORY_COMPUTE};
    op.waits[0] = SLOT_PULLED;
    op.signal = SLOT_COMPUTED;
    if (plan->as_segment) return op;
    op.kind = PW_OP_DELAY;
    op.delay.seconds = server_draw_s(plan, worker, random);
    return op;
}

pw_op server_io_op(const server_plan *plan, bool push) {
    pw_op op = {.kind = PW_OP_IO, .stream = push ? STREAM_PUSH : STREAM_PULL, PW_OP_INIT,
                .category = push ? CATEGORY_PUSH : CATEGORY_PULL,
                .io = {.write = push, .bytes = push ? plan->push_bytes : plan->pull_bytes, .operations = push ? 1 : 0}};
    op.waits[0] = SLOT_COMPUTED;
    op.waits[1] = push ? PW_NO_SLOT : SLOT_PUSHED;
    op.signal = push ? SLOT_PUSHED : SLOT_PULLED;
    return op;
}

typedef struct op_list {
    pw_op *ops;
    uint32_t count;
} op_list;

static void add(op_list *to, pw_op op) { to->ops[to->count++] = op; }

static pw_op plain(pw_op_kind kind, uint16_t stream, uint32_t category, int16_t wait) {
    pw_op op = {.kind = kind, .stream = stream, PW_OP_INIT, .category = category};
    op.waits[0] = wait;
    return op;
}

static void add_steps(const server_plan *plan, uint32_t worker, uint64_t seed, op_list *to) {
    const pw_parameter_server_desc *d = plan->desc;
    pw_random random = server_stream(seed, worker);
    bool waits = d->mode == PW_SERVER_SYNCHRONOUS || d->mode == PW_SERVER_BOUNDED;
    if (d->mode == PW_SERVER_ASYNCHRONOUS && worker > 0) { /* workers start one after the other, spread over a step */
        pw_op late = plain(PW_OP_DELAY, STREAM_PULL, CATEGORY_START, PW_NO_SLOT);
        late.delay.seconds = plan->compute_s * worker / plan->workers;
        add(to, late);
    }
    for (int64_t step = 0, steps = server_steps_of(plan, worker); step < steps; step++) {
        int64_t ring = d->staleness_bound + 1, seen = step - ring;
        if (d->mode == PW_SERVER_ALL_REDUCE) {
            pw_op reduce = plain(PW_OP_COLLECTIVE, STREAM_COMPUTE, CATEGORY_REDUCE, PW_NO_SLOT);
            reduce.collective.kind = PW_COLLECTIVE_ALL_REDUCE;
            reduce.collective.algorithm = PW_ALGORITHM_AUTO;
            reduce.collective.bytes = plan->push_bytes;
            add(to, server_compute_op(plan, worker, &random));
            add(to, reduce);
            continue;
        }
        if (step % d->fetch_every == 0) {
            pw_op pull = server_io_op(plan, false);
            if (waits && seen >= 0) pull.waits[2] = (int16_t)(SLOT_MET + seen % ring);
            add(to, pull);
        }
        add(to, server_compute_op(plan, worker, &random));
        if ((step + 1) % d->push_every == 0) add(to, server_io_op(plan, true));
        if (waits) {
            pw_op meet = plain(PW_OP_QUORUM, STREAM_MEET, CATEGORY_MEET, SLOT_PUSHED);
            meet.quorum.needed = plan->workers;
            meet.quorum.number = step;
            meet.signal = (int16_t)(SLOT_MET + step % ring);
            add(to, meet);
        }
        if (plan->apart) add(to, plain(PW_OP_SYNC, 0, CATEGORY_MEET, SLOT_COMPUTED)); /* few operations wait at a time */
    }
}

static bool add_program(const server_plan *plan, uint32_t worker, uint64_t seed, server_backup *backup, const char *name,
                        pw_arena *arena, pw_job *job) {
    pw_program *program = (pw_program *)&job->programs[job->program_count++];
    *program = (pw_program){.name = pw_arena_text(arena, name), .template_index = job->template_count};
    if (plan->desc->mode == PW_SERVER_BACKUP) {
        program->source = server_backup_next;
        program->source_object = backup;
        program->only_io = true;
        return program->name != NULL;
    }
    op_list list = {.ops = pw_arena_alloc(arena, (5 * (size_t)server_steps_of(plan, worker) + 1) * sizeof(pw_op))};
    if (!list.ops || !program->name) return false;
    add_steps(plan, worker, seed, &list);
    *(pw_template *)&job->templates[job->template_count++] = (pw_template){.name = program->name, .ops = list.ops, .count = list.count};
    return true;
}

static pw_status add_programs(const server_plan *plan, uint64_t seed, server_backup *backup, pw_arena *arena, pw_job *job,
                              uint32_t *program_of, pw_error *error) {
    uint32_t n = plan->workers, slow = (uint32_t)plan->desc->slow_workers;
    job->programs = pw_arena_alloc(arena, (n + 2) * sizeof *job->programs);
    job->templates = pw_arena_alloc(arena, (n + 2) * sizeof *job->templates);
    if (!job->programs || !job->templates) return no_memory(error);
    for (uint32_t w = 0; w < n; w++) {
        char name[48];
        bool first = w == 0 || w == n - slow;
        if (plan->apart && plan->desc->mode != PW_SERVER_BACKUP) snprintf(name, sizeof name, "worker %u", w);
        else snprintf(name, sizeof name, "%s", server_is_slow(plan, w) ? "slow workers" : "workers");
        if ((first || (plan->apart && plan->desc->mode != PW_SERVER_BACKUP)) && !add_program(plan, w, seed, backup, name, arena, job))
            return no_memory(error);
        program_of[w] = job->program_count - 1;
    }
    return PW_OK;
}

static bool add_segment(const server_plan *plan, pw_arena *arena, pw_job *job) {
    pw_segment *segment = pw_arena_alloc(arena, sizeof *segment);
    pw_segment_part *parts = pw_arena_alloc(arena, (plan->kernel_count + 1) * sizeof *parts);
    if (!segment || !parts) return false;
    for (uint32_t k = 0; k < plan->kernel_count; k++) parts[k] = (pw_segment_part){.kernel = k, .repeats = 1};
    *segment = (pw_segment){.name = "layers", .parts = parts, .count = plan->kernel_count};
    job->kernels = plan->kernels;
    job->kernel_count = plan->kernel_count;
    job->segments = segment;
    job->segment_count = 1;
    return true;
}

pw_status server_lower(const server_plan *plan, uint64_t seed, server_backup *backup, pw_arena *arena, pw_job **result,
                       pw_error *error) {
    uint32_t n = plan->workers;
    pw_job *job = *result = pw_arena_alloc(arena, sizeof *job);
    pw_store *store = pw_arena_alloc(arena, sizeof *store);
    pw_group_role *role = pw_arena_alloc(arena, sizeof *role);
    uint32_t *numbers = pw_arena_alloc(arena, (n + 1) * sizeof *numbers), *zeros = pw_arena_alloc(arena, (n + 1) * sizeof *zeros);
    uint32_t *program_of = pw_arena_alloc(arena, (n + 1) * sizeof *program_of), *first = pw_arena_alloc(arena, 2 * sizeof *first);
    double *slowdown = pw_arena_alloc(arena, (n + 1) * sizeof *slowdown);
    if (!job || !store || !role || !numbers || !zeros || !program_of || !first || !slowdown) return no_memory(error);
    for (uint32_t w = 0; w < n; w++) {
        numbers[w] = w;
        slowdown[w] = server_is_slow(plan, w) ? plan->desc->slow_factor : 1;
    }
    first[1] = n;
    *role = (pw_group_role){.name = "workers", .groups = 1, .group_of_rank = zeros, .first = first, .members = numbers};
    *store = (pw_store){.name = "servers", .bandwidth_Bps = INFINITY, .reader_Bps = INFINITY, .hosts = plan->hosts,
                        .host_count = plan->servers,
                        .operations_per_s = plan->apply_s > 0 ? 1 / plan->apply_s : INFINITY};
    *job = (pw_job){.name = plan->desc->name && *plan->desc->name ? plan->desc->name : "parameter server", .ranks = n,
                    .gpu_of_rank = numbers, .program_of_rank = program_of, .slowdown_of_rank = slowdown, .group_roles = role,
                    .group_role_count = 1, .categories = categories, .category_count = sizeof categories / sizeof *categories,
                    .stores = store, .store_count = plan->hosts != NULL, .streams = SERVER_STREAMS,
                    .slots = (uint16_t)(SLOT_MET + plan->desc->staleness_bound + 1), .kernel_time_factor = 1};
    if (plan->as_segment && !add_segment(plan, arena, job)) return no_memory(error);
    return add_programs(plan, seed, backup, arena, job, program_of, error);
}
