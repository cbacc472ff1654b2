/* Reads and writes at a store. Every group of the store's role has one of its own; its bandwidth and its operations per
 * second are two capacities, which the group's members share. Equal groups are simulated once: each activity of a rank
 * class stands for its members in one group. */
#include <math.h>

#include "models/program/run.h"

static void io_done(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    rank_run *rank = &x->ranks[op->rank_class];
    (void)sim;
    x->totals.io_bytes += op->op.io.bytes * rank->info.multiplicity;
    op_complete(x, op, report_op(x, op, op->start));
    run_ready(x);
}

/* In bytes per second; of a request without bytes, in operations per second. */
static void io_share(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    const op_run *op = op_at(x, (uint32_t)index);
    const pw_store *store = &x->job->stores[op->op.io.store];
    double bytes = op->op.io.bytes, operations = op->op.io.operations;
    if (bytes == 0 && operations == 0) {
        io_done(sim, x, index);
        return;
    }
    uint32_t group = x->ranks[op->rank_class].group_class[store->group_role];
    struct store_run *at = &x->stores[(size_t)op->op.io.store * x->fold->group_count + group];
    double members = (double)x->ranks[op->rank_class].info.multiplicity / x->fold->groups[group].groups;
    pw_use uses[2];
    uint32_t count = 0;
    if (bytes > 0) {
        if (at->bandwidth.generation == 0) at->bandwidth = pw_capacity_add(x->config.fluid, store->bandwidth_Bps);
        uses[count++] = (pw_use){at->bandwidth, members};
    }
    if (operations > 0 && store->operations_per_s <= 1e300) {
        if (at->operations.generation == 0) at->operations = pw_capacity_add(x->config.fluid, store->operations_per_s);
        uses[count++] = (pw_use){at->operations, members * (bytes > 0 ? operations / bytes : 1)};
    }
    if (count == 0) {
        io_done(sim, x, index);
        return;
    }
    pw_activity_start(x->config.fluid, pw_fluid_route(x->config.fluid, uses, count),
                      &(pw_activity_config){.work = bytes > 0 ? bytes : operations,
                                            .rate_cap = bytes > 0 ? store->reader_Bps : INFINITY,
                                            .done = io_done,
                                            .object = x,
                                            .argument = index});
}

void io_begin(pw_executor *x, op_run *op) {
    double latency_s = x->job->stores[op->op.io.store].latency_s;
    pw_event_after(x->config.sim, pw_sim_ticks(x->config.sim, latency_s), io_share, x, op->index);
}
