/* The nearest plan that fits: combinations of a few changes in the order of their effort (`plan-efforts`); the first that fits
 * is named. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/plan.h"

/* The largest total over the stages. */
static double largest(const pw_plan *plan, const pw_device *device) {
    double most = 0;
    for (int64_t stage = 0; stage < plan->p && most <= device->memory_bytes; stage++) /* what does not fit is told by one stage */
        most = fmax(most, pw_plan_memory(plan, device, stage).total);
    return most;
}

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
    if (from->offload_parameters != to->offload_parameters) SAY("offload_parameters = true");
    if (from->fp8_activations != to->fp8_activations) SAY("fp8_activations = true");
    if (from->micro_batch != to->micro_batch) SAY("micro_batch = %lld", (long long)to->micro_batch);
    if (from->tensor_parallel != to->tensor_parallel) SAY("tensor_parallel = %lld", (long long)to->tensor_parallel);
    if (from->pipeline_parallel != to->pipeline_parallel)
        SAY("pipeline_parallel = %lld", (long long)to->pipeline_parallel);
    if (from->context_parallel != to->context_parallel) SAY("context_parallel = %lld", (long long)to->context_parallel);
    if (from->expert_parallel != to->expert_parallel) SAY("expert_parallel = %lld", (long long)to->expert_parallel);
    if (from->virtual_stages != to->virtual_stages) SAY("virtual_stages = %lld", (long long)to->virtual_stages);
#undef SAY
    if (used < size) snprintf(text + used, size - used, " (%.1f of %.1f GB)", bytes / 1e9, capacity / 1e9);
}

/* X(NAME, row of plan-efforts): what may change. Steps of recompute and sharding have rows of their own. */
#define CHANGE_MAP(X)                                                                                                          \
    X(RECOMPUTE, "recompute") X(SHARDING, "sharding") X(ACTIVATIONS, "offload_activations") X(OPTIMIZER, "offload_optimizer") \
    X(PARAMETERS, "offload_parameters") X(NARROW, "fp8_activations") X(BATCH, "micro_batch") X(TENSOR, "tensor_parallel")     \
    X(PIPELINE, "pipeline_parallel") X(CONTEXT, "context_parallel") X(STRAIGHT, "virtual_stages") X(EXPERTS, "expert_parallel")
#define CHANGE_ENUM(NAME, row) NAME,
#define CHANGE_NAME(NAME, row) row,
enum { CHANGE_MAP(CHANGE_ENUM) CHANGES };
static const char *const change_names[CHANGES] = {CHANGE_MAP(CHANGE_NAME)};
enum { MOST_STEPS = 8, MOST_CHANGED = 4 /* at once: a plan that differs in more is another plan */ };

typedef struct way {
    double effort;
    uint8_t steps[CHANGES];
} way;

static void count_steps(const pw_train_desc *desc, int *counts) {
    counts[RECOMPUTE] = PW_RECOMPUTE_FULL - desc->recompute + 1;
    counts[SHARDING] = PW_SHARDING_ZERO3 - desc->sharding + 1;
    counts[ACTIVATIONS] = desc->offload_activations ? 1 : 2;
    counts[OPTIMIZER] = desc->offload_optimizer ? 1 : 2;
    counts[PARAMETERS] = desc->offload_parameters ? 1 : 2;
    counts[NARROW] = desc->fp8_activations || (desc->precision != PW_PRECISION_FP8 && desc->precision != PW_PRECISION_FP4) ? 1 : 2;
    counts[BATCH] = desc->micro_batch > 1 ? 2 : 1;
    counts[TENSOR] = 5;
    counts[PIPELINE] = 7;
    counts[CONTEXT] = 4;
    counts[STRAIGHT] = desc->virtual_stages > 1 ? 2 : 1;
    counts[EXPERTS] = desc->model->experts ? 5 : 1;
}

/* Effort of so many steps of a change. */
static pw_status read_efforts(const pw_catalogue *catalogue, const pw_train_desc *desc, const int *counts,
                              double efforts[CHANGES][MOST_STEPS], pw_error *error) {
    static const char *const recompute[] = {"none", "selective", "full"};
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "plan-efforts", &table, error));
    for (int c = 0; c < CHANGES; c++)
        for (int step = 0; step < counts[c]; step++) {
            char name[80];
            bool word = c == RECOMPUTE || c == SHARDING;
            const char *to = c == RECOMPUTE ? recompute[desc->recompute + step] : c == SHARDING ? pw_sharding_names[desc->sharding + step] : "";
            snprintf(name, sizeof name, "%s%s%s", change_names[c], word ? " " : "", to);
            int row = pw_table_find_row(table, name);
            double effort = row < 0 ? NAN : pw_table_number_of(table, (size_t)row, "effort");
            if (!(effort >= 0))
                return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 0, "give a number of at least 0", "the effort of '%s' is missing", name);
            efforts[c][step] = word ? effort - (step ? efforts[c][0] : 0) : effort * step;
        }
    efforts[RECOMPUTE][0] = efforts[SHARDING][0] = 0;
    return PW_OK;
}

static pw_train_desc changed(const pw_train_desc *desc, const uint8_t *steps) {
    pw_train_desc to = *desc;
    to.recompute += steps[RECOMPUTE];
    to.sharding += steps[SHARDING];
    if (steps[ACTIVATIONS]) to.offload_activations = true;
    if (steps[OPTIMIZER]) to.offload_optimizer = true;
    if (steps[PARAMETERS]) to.offload_parameters = true;
    if (steps[NARROW]) to.fp8_activations = true;
    if (steps[BATCH]) to.micro_batch = 1;
    if (steps[STRAIGHT]) to.virtual_stages = 1;
    to.tensor_parallel <<= steps[TENSOR];
    to.pipeline_parallel <<= steps[PIPELINE];
    to.context_parallel <<= steps[CONTEXT];
    if (steps[EXPERTS]) to.expert_parallel = (desc->expert_parallel > 1 ? desc->expert_parallel : 1) << steps[EXPERTS];
    if (steps[TENSOR] || steps[PIPELINE] || steps[CONTEXT]) to.data_parallel = 0;
    to.padding = 0; /* memory must hold a micro-batch without padding */
    return to;
}

/* The next combination, counted like a number of mixed digits; false after the last. */
static bool advance(uint8_t *steps, const int *counts) {
    for (int i = CHANGES; i-- > 0; steps[i] = 0)
        if (++steps[i] < counts[i]) return true;
    return false;
}

static int by_effort(const void *a, const void *b) { /* then in the order of the digits */
    const way *x = a, *y = b;
    if (x->effort != y->effort) return x->effort < y->effort ? -1 : 1;
    return memcmp(x->steps, y->steps, sizeof x->steps);
}

/* All ways with few enough changes, least effort first. */
static pw_status list_ways(const pw_catalogue *catalogue, const pw_train_desc *desc, pw_arena *arena, way **ways, size_t *count,
                           pw_error *error) {
    int counts[CHANGES];
    double efforts[CHANGES][MOST_STEPS];
    count_steps(desc, counts);
    PW_TRY(read_efforts(catalogue, desc, counts, efforts, error));
    for (int pass = 0; pass < 2; pass++) {
        uint8_t steps[CHANGES] = {0};
        *count = 0;
        while (advance(steps, counts)) {
            int many = 0;
            for (int c = 0; c < CHANGES; c++) many += steps[c] > 0;
            if (many > MOST_CHANGED) continue;
            if (pass) {
                way *to = &(*ways)[*count];
                memcpy(to->steps, steps, sizeof steps);
                to->effort = 0;
                for (int c = 0; c < CHANGES; c++) to->effort += efforts[c][steps[c]];
            }
            ++*count;
        }
        if (!pass && !(*ways = pw_arena_alloc(arena, (*count + 1) * sizeof **ways)))
            return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for plans");
    }
    qsort(*ways, *count, sizeof **ways, by_effort);
    return PW_OK;
}

pw_status pw_train_nearest_fit(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, int64_t close_gpus,
                               const pw_train_desc *desc, pw_arena *arena, const char **text, pw_error *error) {
    *text = "";
    way *ways = NULL;
    size_t count = 0;
    PW_TRY(list_ways(catalogue, desc, arena, &ways, &count, error));
    for (size_t i = 0; i < count; i++) {
        pw_train_desc tried = changed(desc, ways[i].steps);
        if (ways[i].steps[TENSOR] && tried.tensor_parallel > close_gpus) continue;
        pw_plan plan;
        if (pw_plan_make(catalogue, device, gpus, &tried, &plan, NULL, 0, NULL) != PW_OK) continue;
        double bytes = largest(&plan, device);
        if (bytes > device->memory_bytes) continue;
        char words[400];
        describe(desc, &tried, bytes, device->memory_bytes, words, sizeof words);
        *text = pw_arena_text(arena, words);
        return *text ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a message");
    }
    return PW_OK;
}
