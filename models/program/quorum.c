/* Quorums: a meeting of a group that goes on when `needed` of its members are there. Members that come later go on at once.
 * A number is closed for good, and with it every lower one, so that a late member need not be remembered. Equal members of a
 * folded class come together. */
#include "models/program/run.h"

static struct quorum_group *group_of(const pw_executor *x, const op_run *op) {
    return &x->quorum_groups[x->ranks[op->rank_class].group_class[op->op.quorum.group_role]];
}

static uint32_t find(const pw_executor *x, const op_run *op) {
    uint32_t i = group_of(x, op)->first;
    while (i != PW_NONE && x->quorums[i].number != op->op.quorum.number) i = x->quorums[i].next;
    return i;
}

static uint32_t open_new(pw_executor *x, const op_run *op) {
    uint32_t index = x->quorum_free;
    if (index != PW_NONE) {
        x->quorum_free = x->quorums[index].next;
    } else {
        if (pw_grow(&x->allocator, (void **)&x->quorums, &x->quorum_capacity, x->quorum_count + 1, sizeof *x->quorums)) {
            pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the quorums of \"%s\"", x->job->name);
            return PW_NONE;
        }
        index = (uint32_t)x->quorum_count++;
    }
    uint32_t *link = &group_of(x, op)->first;
    while (*link != PW_NONE) link = &x->quorums[*link].next;
    *link = index;
    x->quorums[index] =
        (struct quorum_run){.number = op->op.quorum.number, .first_op = PW_NONE, .last_op = PW_NONE, .next = PW_NONE};
    return index;
}

/* In order of arrival; the last to come lets all others go. */
static void let_go(pw_executor *x, uint32_t first, pw_span_id cause) {
    while (first != PW_NONE) {
        op_run *op = op_at(x, first);
        first = op->collective.next_member;
        report_wait(x, op, op->start);
        op->cause = cause;
        op_complete(x, op, report_op(x, op, pw_sim_now(x->config.sim)));
    }
}

/* Takes the open quorums up to a number out of the group's list; returns the operations that wait in them as one list. */
static uint32_t close_to(pw_executor *x, struct quorum_group *group, int64_t number) {
    uint32_t first = PW_NONE, last = PW_NONE;
    for (uint32_t *link = &group->first; *link != PW_NONE;) {
        struct quorum_run *one = &x->quorums[*link];
        if (one->number > number) {
            link = &one->next;
            continue;
        }
        if (last == PW_NONE) first = one->first_op;
        else op_at(x, last)->collective.next_member = one->first_op;
        last = one->last_op;
        uint32_t index = *link;
        *link = one->next;
        one->next = x->quorum_free;
        x->quorum_free = index;
    }
    group->closed = number + 1;
    return first;
}

void quorum_arrive(pw_executor *x, op_run *op) {
    struct quorum_group *group = group_of(x, op);
    if (op->op.quorum.number < group->closed) {
        op_complete(x, op, report_op(x, op, op->start));
        return;
    }
    uint32_t index = find(x, op);
    if (index == PW_NONE) index = open_new(x, op);
    if (index == PW_NONE) return;
    struct quorum_run *one = &x->quorums[index];
    op->phase = PHASE_ARRIVED;
    op->collective.next_member = PW_NONE;
    if (one->last_op == PW_NONE) one->first_op = op->index;
    else op_at(x, one->last_op)->collective.next_member = op->index;
    one->last_op = op->index;
    const group_class *members = &x->fold->groups[x->ranks[op->rank_class].group_class[op->op.quorum.group_role]];
    one->arrived += (double)x->ranks[op->rank_class].info.multiplicity / members->groups;
    if (one->arrived >= op->op.quorum.needed) let_go(x, close_to(x, group, op->op.quorum.number), op->cause);
}

uint32_t quorum_arrived(const pw_executor *x, const op_run *op) {
    uint32_t index = find(x, op);
    return index == PW_NONE ? 0 : (uint32_t)x->quorums[index].arrived;
}
