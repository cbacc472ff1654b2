#include <string.h>

#include "models/program/fold.h"

pw_status fold_create(pw_arena *arena, const pw_allocator *allocator, const pw_cluster *cluster,
                      const pw_collectives *collectives, const pw_job *job, const pw_usage *usage, bool folded,
                      fold **out, pw_error *error) {
    (void)allocator, (void)cluster, (void)collectives, (void)usage, (void)folded, (void)error;
    fold *f = *out = pw_arena_alloc(arena, sizeof *f);
    f->class_count = job->ranks;
    f->class_of_rank = pw_arena_alloc(arena, job->ranks * 4);
    f->representative = pw_arena_alloc(arena, job->ranks * 4);
    f->multiplicity = pw_arena_alloc(arena, job->ranks * 4);
    f->class_of_group = pw_arena_alloc(arena, (job->group_role_count + 1) * sizeof *f->class_of_group);
    for (uint32_t r = 0; r < job->ranks; r++) f->class_of_rank[r] = f->representative[r] = r, f->multiplicity[r] = 1;
    uint32_t total = 0;
    for (uint32_t i = 0; i < job->group_role_count; i++) total += job->group_roles[i].groups;
    f->groups = pw_arena_alloc(arena, (total + 1) * sizeof *f->groups);
    for (uint32_t i = 0; i < job->group_role_count; i++) {
        const pw_group_role *role = &job->group_roles[i];
        f->class_of_group[i] = pw_arena_alloc(arena, (role->groups + 1) * 4);
        for (uint32_t g = 0; g < role->groups; g++) {
            uint32_t n = role->first[g + 1] - role->first[g];
            f->class_of_group[i][g] = f->group_count;
            f->groups[f->group_count++] = (group_class){.role = i, .representative = g, .groups = 1, .members = n, .classes = role->members + role->first[g], .class_count = n};
        }
    }
    return PW_OK;
}
flow_class *fold_find_flow(fold *f, flow_kind kind, uint32_t owner, uint32_t detail, int algorithm) {
    (void)f, (void)kind, (void)owner, (void)detail, (void)algorithm;
    return NULL;
}
