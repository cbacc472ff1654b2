/* Reads and writes at a store. Every group of the store's role has one of its own; its bandwidth and its operations per
 * second are two capacities, which the group's members share. Equal groups are simulated once: each activity of a rank
 * class stands for its members in one group. The bytes of a placed store also take the links of the fabric. */
#include <math.h>

#include "models/program/links.h"
#include "models/program/run.h"

static void io_done(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    rank_run *rank = &x->ranks[op->rank_class];
    x->totals.io_bytes += op->op.io.bytes * rank->info.multiplicity;
    if (x->job->stores[op->op.io.store].hosts) {
        if (op->transfer.plan != PW_NONE) plan_finished(x, &x->plans[op->transfer.plan]);
        rank->info.communication_s +=
            pw_time_to_seconds(pw_sim_now(sim) - op->start, pw_sim_ticks_per_second(sim));
    }
    op_complete(x, op, report_op(x, op, op->start));
    run_ready(x);
}

uint32_t store_uses(pw_executor *x, uint32_t rank_class, const pw_op *op, pw_use uses[2]) {
    const pw_store *store = &x->job->stores[op->io.store];
    double bytes = op->io.bytes, operations = op->io.operations;
    uint32_t group = x->ranks[rank_class].group_class[store->group_role], count = 0;
    struct store_run *at = &x->stores[(size_t)op->io.store * x->fold->group_count + group];
    double members = (double)x->ranks[rank_class].info.multiplicity / x->fold->groups[group].groups;
    if (bytes > 0 && store->bandwidth_Bps <= 1e300) {
        if (at->bandwidth.generation == 0) at->bandwidth = pw_capacity_add(x->config.fluid, store->bandwidth_Bps);
        uses[count++] = (pw_use){at->bandwidth, members};
    }
    if (operations > 0 && store->operations_per_s <= 1e300) {
        if (at->operations.generation == 0) at->operations = pw_capacity_add(x->config.fluid, store->operations_per_s);
        uses[count++] = (pw_use){at->operations, members * (bytes > 0 ? operations / bytes : 1)};
    }
    return count;
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
    if (store->hosts && bytes > 0) {
        if (x->plans[op->transfer.plan].routed) flow_start(x, op->transfer.plan, io_done, index);
        else io_done(sim, x, index);
        return;
    }
    pw_use uses[2];
    uint32_t count = store_uses(x, op->rank_class, &op->op, uses);
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
    const pw_store *store = &x->job->stores[op->op.io.store];
    double latency_s = store->latency_s;
    op->transfer.plan = PW_NONE;
    if (store->hosts && op->op.io.bytes > 0) {
        op->transfer.plan = plan_io(x, op->rank_class, &op->op);
        if (op->transfer.plan == PW_NONE) return;
        latency_s += x->plans[op->transfer.plan].alpha_s;
    }
    pw_event_after(x->config.sim, pw_sim_ticks(x->config.sim, latency_s), io_share, x, op->index);
}

pw_status plan_store_loads(const pw_cluster *cluster, const pw_store *store, uint32_t gpu, bool write, pw_link_load_fn *add,
                           void *object, double *latency_s, pw_error *error) {
    *latency_s = 0;
    for (uint32_t h = 0; h < store->host_count; h++) {
        double here;
        PW_TRY(pw_cluster_memory_loads(cluster, gpu, store->hosts[h], write, 1.0 / store->host_count, add, object, &here, error));
        *latency_s = fmax(*latency_s, here);
    }
    return PW_OK;
}
