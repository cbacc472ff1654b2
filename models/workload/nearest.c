/* The nearest plan that fits: every combination of a few changes is tried, and the one that costs least effort is named. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/plan.h"

/* The largest total over the stages. */
static double largest(const pw_plan *plan, const pw_device *device) {
    double most = 0;
    for (int64_t stage = 0; stage < plan->p && most <= device->memory_bytes; stage++) /* what does not fit is told by one stage */
        most = fmax(most, pw_plan_memory(plan, device, stage).total);
    return most;
}

/* One way to change the job; effort orders the ways by how much they change and cost. */
typedef struct change {
    pw_train_desc desc;
    double effort;
} change;

static void describe(const pw_train_desc *from, const pw_train_desc *to, double bytes, double capacity, char *text,
                     size_t size) {
    static const char *const recompute[] = {"none", "selective", "full"};
    size_t used = 0;
    text[0] = '\0';
#define SAY(...)                                                                                          \
    (used += used < size ? (size_t)snprintf(text + used, size - used, "%s", used ? ", " : "") : 0,        \
     used += used < size ? (size_t)snprintf(text + used, size - used, __VA_ARGS__) : 0)
    if (from->recompute != to->recompute) SAY("recompute = \"%s\"", recompute[to->recompute]);
    if (from->sharding != to->sharding) SAY("sharding = \"%s\"", pw_sharding_names[to->sharding]);
    if (from->offload_activations != to->offload_activations) SAY("offload_activations = true");
    if (from->offload_optimizer != to->offload_optimizer) SAY("offload_optimizer = true");
    if (from->micro_batch != to->micro_batch) SAY("micro_batch = %lld", (long long)to->micro_batch);
    if (from->tensor_parallel != to->tensor_parallel) SAY("tensor_parallel = %lld", (long long)to->tensor_parallel);
    if (from->pipeline_parallel != to->pipeline_parallel)
        SAY("pipeline_parallel = %lld", (long long)to->pipeline_parallel);
    if (from->expert_parallel != to->expert_parallel) SAY("expert_parallel = %lld", (long long)to->expert_parallel);
    if (from->virtual_stages != to->virtual_stages) SAY("virtual_stages = %lld", (long long)to->virtual_stages);
#undef SAY
    if (used < size) snprintf(text + used, size - used, " (%.1f of %.1f GB)", bytes / 1e9, capacity / 1e9);
}

/* What may change, and in how many steps. */
enum { RECOMPUTE, SHARDING, ACTIVATIONS, OPTIMIZER, BATCH, TENSOR, PIPELINE, STRAIGHT, EXPERTS, CHANGES };

static void count_steps(const pw_train_desc *desc, int *counts) {
    counts[RECOMPUTE] = PW_RECOMPUTE_FULL - desc->recompute + 1;
    counts[SHARDING] = PW_SHARDING_ZERO3 - desc->sharding + 1;
    counts[ACTIVATIONS] = desc->offload_activations ? 1 : 2;
    counts[OPTIMIZER] = desc->offload_optimizer ? 1 : 2;
    counts[BATCH] = desc->micro_batch > 1 ? 2 : 1;
    counts[TENSOR] = 5;
    counts[PIPELINE] = 7;
    counts[STRAIGHT] = desc->virtual_stages > 1 ? 2 : 1;
    counts[EXPERTS] = desc->model->experts ? 5 : 1;
}

static change changed(const pw_train_desc *desc, const int *steps) {
    static const double sharding_effort[] = {0, 0.5, 0.9, 1.5};
    change way = {.desc = *desc};
    way.desc.recompute += steps[RECOMPUTE];
    way.desc.sharding += steps[SHARDING];
    if (steps[ACTIVATIONS]) way.desc.offload_activations = true;
    if (steps[OPTIMIZER]) way.desc.offload_optimizer = true;
    if (steps[BATCH]) way.desc.micro_batch = 1;
    if (steps[STRAIGHT]) way.desc.virtual_stages = 1;
    way.desc.tensor_parallel <<= steps[TENSOR];
    way.desc.pipeline_parallel <<= steps[PIPELINE];
    if (steps[EXPERTS]) way.desc.expert_parallel = (desc->expert_parallel > 1 ? desc->expert_parallel : 1) << steps[EXPERTS];
    if (steps[TENSOR] || steps[PIPELINE]) way.desc.data_parallel = 0;
    way.effort = (steps[RECOMPUTE] > 0) + 1.5 * (steps[RECOMPUTE] > 1) + sharding_effort[way.desc.sharding] -
                 sharding_effort[desc->sharding] + 2.6 * steps[ACTIVATIONS] + 3 * steps[OPTIMIZER] + 0.75 * steps[BATCH] +
                 0.6 * steps[STRAIGHT] + 1.1 * steps[TENSOR] + 1.2 * steps[PIPELINE] + 0.7 * steps[EXPERTS];
    return way;
}

/* The next combination, counted like a number of mixed digits; false after the last. */
static bool advance(int *steps, const int *counts) {
    for (int i = CHANGES; i-- > 0; steps[i] = 0)
        if (++steps[i] < counts[i]) return true;
    return false;
}

pw_status pw_train_nearest_fit(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, int64_t close_gpus,
                               const pw_train_desc *desc, pw_arena *arena, const char **text, pw_error *error) {
    *text = "";
    change best = {.effort = INFINITY};
    double best_bytes = 0;
    int counts[CHANGES], steps[CHANGES] = {0};
    count_steps(desc, counts);
    while (advance(steps, counts)) {
        change way = changed(desc, steps);
        if (way.effort >= best.effort || (steps[TENSOR] && way.desc.tensor_parallel > close_gpus)) continue;
        pw_plan plan;
        way.desc.padding = 0; /* memory must hold a micro-batch without padding */
        if (pw_plan_make(catalogue, device, gpus, &way.desc, &plan, NULL, 0, NULL) != PW_OK) continue;
        double bytes = largest(&plan, device);
        if (bytes > device->memory_bytes) continue;
        best = way;
        best_bytes = bytes;
    }
    if (isinf(best.effort)) return PW_OK;
    char words[400];
    describe(desc, &best.desc, best_bytes, device->memory_bytes, words, sizeof words);
    *text = pw_arena_text(arena, words);
    if (!*text) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a message");
    return PW_OK;
}
