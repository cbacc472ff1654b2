/* Send and receive meet by (sender, receiver, channel, tag); the transfer starts when both are at the front of their
 * streams. Latency, then the fluid phase; both operations end together. Copies to and from host memory run alike, alone. */
#include "models/program/run.h"

/* Smallest role by which `from` reaches `to`. */
static uint16_t role_between(const pw_job *job, uint32_t from, uint32_t to) {
    for (uint32_t r = 0; r < job->peer_role_count; r++)
        if (job->peer_roles[r].peer_of_rank[from] == to) return (uint16_t)r;
    return UINT16_MAX;
}

meeting message_meeting(const pw_executor *x, const op_run *op) {
    uint32_t rank = x->fold->representative[op->rank_class];
    uint32_t peer = x->job->peer_roles[op->op.message.peer_role].peer_of_rank[rank];
    bool sends = op->op.kind == PW_OP_SEND;
    uint32_t sender = sends ? rank : peer, receiver = sends ? peer : rank;
    return (meeting){.sender = x->fold->class_of_rank[sender],
                     .role = role_between(x->job, sender, receiver),
                     .channel = op->op.message.channel,
                     .tag = op->op.message.tag};
}

static uint32_t *bucket_of(pw_executor *x, const meeting *at) {
    uint64_t h = ((uint64_t)at->sender << 32) ^ ((uint64_t)at->role << 16) ^ at->channel;
    h = (h ^ (h >> 31)) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)at->tag;
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return &x->pending[(h >> 33) & (x->pending_count - 1)];
}

static bool same(const meeting *a, const meeting *b) {
    return a->sender == b->sender && a->role == b->role && a->channel == b->channel && a->tag == b->tag;
}

static void transfer_done(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    op_run *partner = op->transfer.partner == PW_NONE ? NULL : op_at(x, op->transfer.partner);
    const plan *p = &x->plans[op->transfer.plan];
    plan_finished(x, p);
    pw_time from = op->transfer.start;
    for (int end = 0; end < 2; end++) {
        op_run *each = end ? partner : op;
        if (!each) break;
        x->ranks[each->rank_class].info.communication_s +=
            pw_time_to_seconds(pw_sim_now(sim) - from, pw_sim_ticks_per_second(sim));
        if (x->efforts) effort_transfer(x, each->rank_class, p, from);
        if (x->efforts && p->kind == PLAN_MESSAGE) effort_resident(x, each->rank_class, -1);
        op_complete(x, each, report_op(x, each, from));
    }
    run_ready(x);
}

static void transfer_flow(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    const plan *p = &x->plans[op_at(x, (uint32_t)index)->transfer.plan];
    if (p->bytes == 0 || (!p->routed && !(p->cap_Bps > 0 && p->cap_Bps <= 1e300))) {
        transfer_done(sim, x, index);
        return;
    }
    flow_start(x, op_at(x, (uint32_t)index)->transfer.plan, transfer_done, index);
}

static void transfer_start(pw_executor *x, op_run *op) {
    pw_sim *sim = x->config.sim;
    op->transfer.start = pw_sim_now(sim);
    pw_event_after(sim, pw_sim_ticks(sim, x->plans[op->transfer.plan].alpha_s), transfer_flow, x, op->index);
}

void copy_begin(pw_executor *x, op_run *op) {
    op->transfer.partner = PW_NONE;
    op->transfer.plan = plan_copy(x, op->rank_class, op->op.copy.to_host, op->op.copy.bytes);
    if (op->transfer.plan != PW_NONE) transfer_start(x, op);
}

void message_arrive(pw_executor *x, op_run *op) {
    meeting at = message_meeting(x, op);
    op->phase = PHASE_ARRIVED;
    if (x->efforts) effort_resident(x, op->rank_class, 1);
    op->transfer.pending_next = PW_NONE;
    uint32_t *link = bucket_of(x, &at);
    for (; *link != PW_NONE; link = &op_at(x, *link)->transfer.pending_next) {
        op_run *other = op_at(x, *link);
        if (other->op.kind == op->op.kind) continue;
        meeting its = message_meeting(x, other);
        if (!same(&at, &its)) continue;
        *link = other->transfer.pending_next;
        op_run *send = op->op.kind == PW_OP_SEND ? op : other, *receive = send == op ? other : op;
        if (send->op.message.bytes != receive->op.message.bytes) {
            pw_sim_fail(x->config.sim, PW_BAD_INPUT, NULL,
                        "rank %u sends %.17g bytes to rank %u, which expects %.17g (tag %lld)",
                        x->fold->representative[send->rank_class], send->op.message.bytes,
                        x->fold->representative[receive->rank_class], receive->op.message.bytes, (long long)at.tag);
            return;
        }
        send->transfer.partner = receive->index;
        send->transfer.plan = plan_message(x, send->rank_class, send->op.message.peer_role, send->op.message.bytes);
        if (send->transfer.plan == PW_NONE) return;
        report_wait(x, other, other->start);
        send->cause = receive->cause = op->cause;
        send->phase = receive->phase = PHASE_RUNNING;
        receive->transfer.plan = send->transfer.plan;
        if (x->efforts) effort_changed(x, send->rank_class);
        if (x->efforts) effort_changed(x, receive->rank_class);
        transfer_start(x, send);
        return;
    }
    *link = op->index;
}
