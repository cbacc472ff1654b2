/* Collectives: an instance gathers the operation of every rank class of its group; the last one to arrive starts it.
 *
 * Members meet by their order of issue on the group (as communicators do), so the n-th collective of one member is the
 * n-th of all. Latency phase, then fluid phase; it holds SMs of all members meanwhile. Message by message (graph.c), each
 * member begins when it arrives; all end together. */
#include "models/program/run.h"

static instance *find_or_make(pw_executor *x, uint32_t group, uint32_t sequence) {
    uint32_t last = PW_NONE;
    for (uint32_t i = x->group_live[group]; i != PW_NONE; last = i, i = x->instances[i].next)
        if (x->instances[i].sequence == sequence) return &x->instances[i];
    uint32_t index = x->instance_free;
    if (index != PW_NONE) {
        x->instance_free = x->instances[index].next;
    } else {
        if (pw_grow(&x->allocator, (void **)&x->instances, &x->instance_capacity, x->instance_count + 1,
                    sizeof *x->instances)) {
            pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the collectives of \"%s\"", x->job->name);
            return NULL;
        }
        index = (uint32_t)x->instance_count++;
    }
    x->instances[index] =
        (instance){.index = index, .group = group, .sequence = sequence, .first_op = PW_NONE, .plan = PW_NONE, .next = PW_NONE};
    if (last == PW_NONE)
        x->group_live[group] = index;
    else
        x->instances[last].next = index;
    return &x->instances[index];
}

const plan *collective_plan(const pw_executor *x, const op_run *op) {
    uint32_t group = x->ranks[op->rank_class].group_class[op->op.collective.group_role];
    for (uint32_t i = x->group_live[group]; i != PW_NONE; i = x->instances[i].next)
        if (x->instances[i].sequence == op->collective.sequence && x->instances[i].plan != PW_NONE) return &x->plans[x->instances[i].plan];
    return NULL;
}

static void release(pw_executor *x, instance *one) {
    uint32_t *link = &x->group_live[one->group];
    while (*link != one->index) link = &x->instances[*link].next;
    *link = one->next;
    one->next = x->instance_free;
    x->instance_free = one->index;
}

/* A collective takes SMs and memory bandwidth from the kernels of a rank (sign 1), and gives them back (-1). */
static void hold(pw_executor *x, uint32_t rank_class, const plan *p, double sign) {
    double sms = sign * p->sms, memory = sign * (x->config.gpu ? p->memory_Bps / pw_gpu_device(x->config.gpu)->memory_Bps : 0);
    if (sms == 0 && memory == 0) return;
    rank_run *rank = &x->ranks[rank_class];
    rank->held_sms += sms;
    rank->held_memory += memory;
    if (rank->held_sms < 1e-9) rank->held_sms = 0;
    if (rank->held_memory < 1e-9) rank->held_memory = 0;
    compute_rescale(x, rank_class);
}

static void hold_all(pw_executor *x, const instance *one, const plan *p, double sign) {
    const group_class *group = &x->fold->groups[one->group];
    for (uint32_t c = 0; c < group->class_count; c++) hold(x, group->classes[c], p, sign);
}

void collective_finish(pw_executor *x, uint32_t index) {
    instance *one = &x->instances[index];
    const plan *p = &x->plans[one->plan];
    pw_sim *sim = x->config.sim;
    hold_all(x, one, p, -1);
    plan_finished(x, p);
    uint32_t next = one->first_op;
    pw_time start = one->start;
    graph_destroy(x, one->graph);
    one->graph = NULL;
    release(x, one);
    while (next != PW_NONE) {
        op_run *op = op_at(x, next);
        next = op->collective.next_member;
        x->ranks[op->rank_class].info.communication_s +=
            pw_time_to_seconds(pw_sim_now(sim) - start, pw_sim_ticks_per_second(sim));
        if (x->efforts) effort_transfer(x, op->rank_class, p, start);
        if (x->efforts) effort_resident(x, op->rank_class, -1);
        op_complete(x, op, report_op(x, op, start));
    }
}

static void done(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    pw_executor *x = object;
    collective_finish(x, (uint32_t)index);
    run_ready(x);
}

static void flow(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    const plan *p = &x->plans[x->instances[index].plan];
    if (p->bytes == 0 || (!p->routed && !(p->cap_Bps > 0 && p->cap_Bps <= 1e300))) {
        done(sim, x, index);
        return;
    }
    flow_start(x, x->instances[index].plan, done, index);
}

static void start(pw_executor *x, instance *one, const op_run *last) {
    pw_sim *sim = x->config.sim;
    if (one->plan == PW_NONE) one->plan = plan_collective(x, one->group, &last->op);
    if (one->plan == PW_NONE) return;
    const plan *p = &x->plans[one->plan];
    one->start = pw_sim_now(sim);
    for (uint32_t i = one->first_op; i != PW_NONE; i = op_at(x, i)->collective.next_member) {
        op_run *op = op_at(x, i);
        op->phase = PHASE_RUNNING;
        if (x->efforts) effort_changed(x, op->rank_class);
        report_wait(x, op, op->start);
        op->cause = last->cause;
    }
    if (x->config.messages) return; /* its messages are under way */
    hold_all(x, one, p, 1);
    pw_event_after(sim, pw_sim_ticks(sim, p->alpha_s), flow, x, one->index);
}

static bool agree(pw_executor *x, const op_run *a, const op_run *b, const group_class *group) {
    const pw_op *p = &a->op, *q = &b->op;
    if (p->collective.kind == q->collective.kind && p->collective.algorithm == q->collective.algorithm &&
        p->collective.bytes == q->collective.bytes)
        return true;
    pw_sim_fail(x->config.sim, PW_BAD_INPUT, "all members issue the collectives of a group in the same order",
                "collective %u of \"%s\": rank %u issues %s of %.17g bytes, rank %u %s of %.17g bytes",
                a->collective.sequence, x->job->group_roles[group->role].name, x->fold->representative[a->rank_class],
                pw_collective_names[p->collective.kind], p->collective.bytes, x->fold->representative[b->rank_class],
                pw_collective_names[q->collective.kind], q->collective.bytes);
    return false;
}

void collective_arrive(pw_executor *x, op_run *op) {
    uint32_t group_index = x->ranks[op->rank_class].group_class[op->op.collective.group_role];
    const group_class *group = &x->fold->groups[group_index];
    if (group->members == 1) {
        op_complete(x, op, op->cause);
        return;
    }
    instance *one = find_or_make(x, group_index, op->collective.sequence);
    if (!one) return;
    op->phase = PHASE_ARRIVED;
    if (x->efforts) effort_resident(x, op->rank_class, 1);
    if (one->first_op != PW_NONE && !agree(x, op, op_at(x, one->first_op), group)) return;
    op->collective.next_member = one->first_op;
    one->first_op = op->index;
    if (x->config.messages) { /* a member takes part as soon as it is there */
        if (one->plan == PW_NONE) one->plan = plan_collective(x, group_index, &op->op);
        if (one->plan == PW_NONE) return;
        hold(x, op->rank_class, &x->plans[one->plan], 1);
        graph_arrive(x, one, op);
    }
    if (++one->arrived == group->class_count) start(x, one, op);
}
