/* What data-parallel ranks share out (ZeRO-1 to 3, FSDP, HSDP), over which of them, and when it moves. How a stack does it is its
 * row of `stack-sharding`, the row `other` where it has none; the job's own switches go before. */
#include <math.h>
#include <stdio.h>

#include "models/workload/lower.h"

const char *const pw_sharding_names[] = {"none", "zero1", "zero2", "zero3", NULL};

#define REFUSE(hint, ...) return pw_fail(error, PW_BAD_INPUT, file, line, hint, __VA_ARGS__)
#define LL(x) ((long long)(x))

typedef struct rules {
    double sharded_parameters, prefetch_forward, prefetch_backward, reshard, hold_gradients, gather_copy, scatter_copy, regathers, gather_pieces;
    double pipeline_reshard, pipeline_hold; /* in place of the switches, where there is a pipeline */
    double live_parameters;
} rules;

static pw_status read_rules(const pw_catalogue *catalogue, const char *stack, rules *to, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "stack-sharding", &table, error));
    int row = pw_table_find_row(table, stack);
    if (row < 0) row = pw_table_find_row(table, "other");
    if (row < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "add a row 'other' for stacks without their own",
                       "how stack %s shards parameters is unknown", stack);
    const struct { const char *column; double *value; double most; } cells[] = {
        {"sharded_parameters", &to->sharded_parameters, 1e3}, {"prefetch_forward", &to->prefetch_forward, MOST_AHEAD},
        {"prefetch_backward", &to->prefetch_backward, MOST_AHEAD}, {"reshard", &to->reshard, 1},
        {"hold_gradients", &to->hold_gradients, 1}, {"gather_copy", &to->gather_copy, 1e3},
        {"scatter_copy", &to->scatter_copy, 1e3}, {"regathers", &to->regathers, 1},
        {"gather_pieces", &to->gather_pieces, 1e3}, {"pipeline_reshard", &to->pipeline_reshard, 1},
        {"pipeline_hold", &to->pipeline_hold, 1}, {"live_parameters", &to->live_parameters, 1e12}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        *cells[i].value = pw_table_number_of(table, (size_t)row, cells[i].column);
        if (!(*cells[i].value >= 0 && *cells[i].value <= cells[i].most))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row),
                           "prefetch is at most 8, switches are 0 or 1", "%s: column '%s' is missing or out of range",
                           pw_table_text_at(table, (size_t)row, 0), cells[i].column);
    }
    return PW_OK;
}

static bool is_given(int value) { return value == 0 || value == 1; }

/* Options that would change nothing are refused: whoever wrote them expects something else. */
static pw_status check_options(const pw_train_desc *desc, const char *file, int line, pw_error *error) {
    bool zero3 = desc->sharding == PW_SHARDING_ZERO3;
    if (!zero3 && is_given(desc->reshard))
        REFUSE("use sharding = \"zero3\", which gathers parameters for each use", "train.reshard needs sharding zero3, not %s",
               pw_sharding_names[desc->sharding]);
    if (!zero3 && !isnan(desc->prefetch))
        REFUSE("use sharding = \"zero3\", which gathers parameters for each use", "train.prefetch needs sharding zero3, not %s",
               pw_sharding_names[desc->sharding]);
    if (desc->sharding < PW_SHARDING_ZERO2 && is_given(desc->hold_gradients))
        REFUSE("use sharding = \"zero2\" or \"zero3\", which share gradients out",
               "train.hold_gradients needs sharding zero2 or zero3, not %s", pw_sharding_names[desc->sharding]);
    if (desc->sharding == PW_SHARDING_NONE && desc->shard_group)
        REFUSE("leave shard_group out, or use zero1, zero2 or zero3", "train.shard_group %lld without sharding",
               LL(desc->shard_group));
    if (zero3 && !isnan(desc->bucket_bytes))
        REFUSE("leave bucket_bytes out: under zero3 a layer is a bucket", "train.bucket_bytes has no meaning with sharding zero3");
    if (!isnan(desc->prefetch) && desc->prefetch != floor(desc->prefetch))
        REFUSE("count whole layers", "train.prefetch %g is no whole number", desc->prefetch);
    return PW_OK;
}

static pw_status split_ranks(pw_plan *plan, const char *file, int line, pw_error *error) {
    int64_t ranks = pw_plan_data_ranks(plan), group = plan->desc->shard_group;
    plan->shards = 1;
    plan->replicas = ranks;
    if (plan->sharding == PW_SHARDING_NONE) return PW_OK;
    if (group && plan->copies == 2)
        REFUSE("leave shard_group out, or use another schedule", "train.shard_group is not modelled with schedule %s",
               plan->order->name);
    if (plan->sharding == PW_SHARDING_ZERO3 && plan->order->splits)
        REFUSE("use zero1 or zero2, or schedule 1f1b", "sharding zero3 is not modelled with schedule %s", plan->order->name);
    if (group && ranks % group) {
        char hint[200];
        size_t used = (size_t)snprintf(hint, sizeof hint, "groups that work:");
        for (int64_t n = 1; n <= ranks && n <= 65536 && used + 12 < sizeof hint; n++)
            if (ranks % n == 0) used += (size_t)snprintf(hint + used, sizeof hint - used, " %lld", LL(n));
        REFUSE(hint, "train.shard_group %lld does not divide the %lld ranks of data x context parallel", LL(group), LL(ranks));
    }
    plan->shards = group ? group : ranks;
    plan->replicas = ranks / plan->shards;
    return PW_OK;
}

pw_status pw_plan_shard(const pw_catalogue *catalogue, pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    plan->sharding = (pw_sharding)desc->sharding;
    PW_TRY(check_options(desc, file, line, error));
    PW_TRY(split_ranks(plan, file, line, error));
    rules of;
    PW_TRY(read_rules(catalogue, plan->stack.name, &of, error));
    plan->reshard = is_given(desc->reshard) ? desc->reshard == 1 : (plan->p > 1 ? of.pipeline_reshard : of.reshard) != 0;
    double hold = plan->p > 1 ? of.pipeline_hold : of.hold_gradients;
    plan->hold_gradients = is_given(desc->hold_gradients) ? desc->hold_gradients == 1 : hold != 0;
    plan->live_parameters = of.live_parameters;
    plan->ahead_forward = (int64_t)(isnan(desc->prefetch) ? of.prefetch_forward : desc->prefetch);
    plan->ahead_backward = (int64_t)(isnan(desc->prefetch) ? of.prefetch_backward : desc->prefetch);
    if (!plan->stack.overlap_parameters) {
        if (desc->prefetch > 0)
            REFUSE("leave one of them out", "train.prefetch %g and overlap_parameters = \"off\" exclude each other", desc->prefetch);
        plan->ahead_forward = plan->ahead_backward = 0;
    }
    /* Weights that are the masters themselves are what is sharded. */
    plan->sharded_parameter_bytes = isnan(plan->format.gradient_bytes) ? of.sharded_parameters : plan->format.weight_bytes;
    plan->regathers = plan->sharding == PW_SHARDING_ZERO3 && desc->recompute == PW_RECOMPUTE_FULL && of.regathers != 0 &&
                      plan->reshard && pw_plan_shares_data(plan);
    plan->gather_pieces = of.gather_pieces < 1 ? 1 : (int64_t)of.gather_pieces;
    plan->gather_copy = of.gather_copy;
    plan->scatter_copy = of.scatter_copy;
    return PW_OK;
}

double pw_plan_largest_unit(const pw_plan *plan, int64_t stage) {
    double most = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++)
        for (int64_t i = 0, first = pw_plan_first_layer(plan, stage, chunk); i < pw_plan_layers(plan, stage, chunk); i++)
            most = fmax(most, pw_plan_layers_parameters(plan, first + i, 1) + pw_plan_layers_experts(plan, first + i, 1));
    if (stage == 0) most = fmax(most, pw_plan_embedding_parameters(plan));
    if (stage == plan->p - 1) most = fmax(most, pw_plan_head_parameters(plan));
    return most;
}
