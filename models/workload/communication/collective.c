/* One program for all ranks: so many collectives on one stream, with a gap between them. */
#include <string.h>

#include "models/workload/communication/communication.h"

static const pw_category categories[] = {{"collective", PW_BLAME_COMMUNICATION}, {"gap", PW_BLAME_OTHER}};

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a collective");
}

static bool make_groups(pw_arena *arena, uint32_t ranks, uint32_t size, bool strided, pw_group_role *role) {
    uint32_t groups = ranks / size;
    uint32_t *of = pw_arena_alloc(arena, ranks * sizeof *of), *members = pw_arena_alloc(arena, ranks * sizeof *members);
    uint32_t *first = pw_arena_alloc(arena, (groups + (size_t)1) * sizeof *first);
    *role = (pw_group_role){.name = "group", .groups = groups, .group_of_rank = of, .first = first, .members = members};
    if (!of || !members || !first) return false;
    for (uint32_t g = 0; g <= groups; g++) first[g] = g * size;
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t m = 0; m < size; m++) {
            uint32_t rank = strided ? m * groups + g : g * size + m;
            members[g * size + m] = rank;
            of[rank] = g;
        }
    return true;
}

static pw_status lower(const pw_collective_job_desc *d, uint32_t ranks, uint32_t size, pw_arena *arena, pw_job **out,
                       pw_error *error) {
    pw_job *job = *out = pw_arena_alloc(arena, sizeof *job);
    pw_op *ops = pw_arena_alloc(arena, 4 * sizeof *ops);
    pw_template *template = pw_arena_alloc(arena, sizeof *template);
    pw_program *program = pw_arena_alloc(arena, sizeof *program);
    pw_group_role *role = pw_arena_alloc(arena, sizeof *role);
    uint32_t *gpus = pw_arena_alloc(arena, ranks * sizeof *gpus), *programs = pw_arena_alloc(arena, ranks * sizeof *programs);
    if (!job || !ops || !template || !program || !role || !gpus || !programs ||
        !make_groups(arena, ranks, size, d->grouping == PW_GROUPING_STRIDED, role))
        return no_memory(error);
    for (uint32_t r = 0; r < ranks; r++) gpus[r] = r;
    const pw_op collective = {.kind = PW_OP_COLLECTIVE, PW_OP_INIT, .category = 0,
                              .collective = {.kind = (pw_collective_kind)d->operation, .algorithm = d->algorithm - 1, .bytes = d->bytes}};
    uint32_t count = 0;
    if (d->repeats > 1) {
        ops[count++] = (pw_op){.kind = PW_OP_LOOP, PW_OP_INIT, .loop = {.count = (uint32_t)d->repeats - 1, .length = 1 + (d->gap_s > 0)}};
        ops[count++] = collective;
        if (d->gap_s > 0) ops[count++] = (pw_op){.kind = PW_OP_DELAY, PW_OP_INIT, .category = 1, .delay.seconds = d->gap_s};
    }
    ops[count++] = collective;
    *template = (pw_template){"collectives", ops, count};
    *program = (pw_program){.name = "ranks"};
    *job = (pw_job){.name = "collective", .ranks = ranks, .gpu_of_rank = gpus, .program_of_rank = programs, .programs = program,
                    .program_count = 1, .templates = template, .template_count = 1, .group_roles = role, .group_role_count = 1,
                    .categories = categories, .category_count = sizeof categories / sizeof *categories, .streams = 1,
                    .kernel_time_factor = 1};
    return PW_OK;
}

static pw_status name_algorithm(const pw_machine *m, const pw_collective_job_desc *d, const pw_group_role *role, pw_arena *arena,
                                pw_collective_job_result *result, pw_error *error) {
    pw_group_shape shape;
    pw_collective_cost cost;
    PW_TRY(pw_collective_shape(m->collectives, role->members, result->group_size, &shape, error));
    PW_TRY(pw_collective_cost_of(m->collectives, (pw_collective_kind)d->operation, d->algorithm - 1, &shape, d->bytes, &cost, error));
    result->algorithm = result->group_size == 1 ? "none" : pw_algorithm_table[cost.algorithm].name;
    result->provenance = pw_arena_text(arena, pw_collectives_provenance(m->collectives));
    return result->provenance ? PW_OK : no_memory(error);
}

static pw_status run(pw_machine *m, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_collective_job_desc *d, const pw_run_options *options, const char *file, int line, pw_arena *arena,
                     pw_collective_job_result *result, pw_error *error) {
    PW_TRY(pw_machine_open(allocator, catalogue, cluster, m, error));
    uint32_t gpus = pw_cluster_gpus(m->cluster), size = d->group_size ? (uint32_t)d->group_size : gpus;
    if (size > gpus || gpus % size)
        return pw_fail(error, PW_BAD_INPUT, file, line, "take a size that divides the GPUs",
                       "collective.group_size %u does not divide the %u GPUs", size, gpus);
    pw_job *job;
    PW_TRY(lower(d, gpus, size, arena, &job, error));
    PW_TRY(pw_collectives_create(allocator, catalogue, m->cluster, !options->plain, &m->collectives, error));
    pw_collectives_watch(m->collectives, options->interrupt);
    result->device = pw_cluster_device(m->cluster);
    result->gpus = gpus;
    result->group_size = size;
    result->groups = gpus / size;
    PW_TRY(name_algorithm(m, d, job->group_roles, arena, result, error));
    PW_TRY(pw_machine_run(m, allocator, options, job, arena, &result->session, error));
    double gaps_s = d->gap_s * (double)(d->repeats - 1);
    result->time_s = (result->session.end_s - gaps_s) / (double)d->repeats;
    result->algbw_Bps = result->time_s > 0 ? d->bytes / result->time_s : 0;
    result->busbw_Bps = result->algbw_Bps * pw_collective_bus_factor((pw_collective_kind)d->operation, size);
    return PW_OK;
}

pw_status pw_collective_job_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                                const pw_collective_job_desc *desc, const pw_run_options *options, const char *file, int line,
                                pw_arena *arena, pw_collective_job_result *result, pw_error *error) {
    pw_machine machine = {0};
    memset(result, 0, sizeof *result);
    pw_status status = run(&machine, allocator, catalogue, cluster, desc, options, file, line, arena, result, error);
    pw_machine_close(&machine);
    return status;
}
