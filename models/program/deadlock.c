/* Who waits for whom: follows one thread of waiting from the first unfinished rank until it meets itself or an end. */
#include <stdio.h>
#include <string.h>

#include "models/program/run.h"

typedef struct place {
    uint32_t rank_class;
    uint32_t op; /* PW_NONE: the rank's host */
} place;

enum { MOST_STEPS = 64, SHOWN_STEPS = 8 };

static void name_op(const pw_executor *x, const op_run *op, char *text, size_t size) {
    const pw_job *job = x->job;
    switch (op->op.kind) {
        case PW_OP_COMPUTE: snprintf(text, size, "compute \"%s\"", job->segments[op->op.compute.segment].name); break;
        case PW_OP_COLLECTIVE:
            snprintf(text, size, "%s %u of \"%s\"", pw_collective_names[op->op.collective.kind], op->collective.sequence,
                     job->group_roles[op->op.collective.group_role].name);
            break;
        case PW_OP_SEND:
        case PW_OP_RECV:
            snprintf(text, size, "%s \"%s\" tag %lld", op->op.kind == PW_OP_SEND ? "send" : "recv",
                     job->peer_roles[op->op.message.peer_role].name, (long long)op->op.message.tag);
            break;
        case PW_OP_COPY: snprintf(text, size, "copy"); break;
        case PW_OP_IO: snprintf(text, size, "io at \"%s\"", job->stores[op->op.io.store].name); break;
        case PW_OP_QUORUM:
            snprintf(text, size, "quorum %lld of \"%s\"", (long long)op->op.quorum.number,
                     job->group_roles[op->op.quorum.group_role].name);
            break;
        case PW_OP_DELAY: snprintf(text, size, "delay"); break;
        case PW_OP_MARK: snprintf(text, size, "mark \"%s\"", op->op.mark.name ? op->op.mark.name : ""); break;
        case PW_OP_SYNC: snprintf(text, size, "sync"); break;
        default: snprintf(text, size, "operation"); break;
    }
}

static uint32_t blocked_front(const pw_executor *x, uint32_t rank_class) {
    const rank_run *rank = &x->ranks[rank_class];
    for (uint32_t s = 0; s < x->job->streams; s++)
        if (rank->streams[s].head != PW_NONE) return rank->streams[s].head;
    return PW_NONE;
}

/* The front of the stream in which an operation for which `matches` holds lies; PW_NONE when none was issued. */
static uint32_t front_before(const pw_executor *x, uint32_t rank_class,
                             bool (*matches)(const pw_executor *x, const op_run *theirs, const op_run *ours),
                             const op_run *ours) {
    const rank_run *rank = &x->ranks[rank_class];
    for (uint32_t s = 0; s < x->job->streams; s++)
        for (uint32_t i = rank->streams[s].head; i != PW_NONE; i = op_at(x, i)->next)
            if (matches(x, op_at(x, i), ours)) return rank->streams[s].head;
    return PW_NONE;
}

static bool same_collective(const pw_executor *x, const op_run *theirs, const op_run *ours) {
    (void)x;
    return theirs->op.kind == PW_OP_COLLECTIVE && theirs->op.collective.group_role == ours->op.collective.group_role &&
           theirs->collective.sequence == ours->collective.sequence;
}

static bool other_end(const pw_executor *x, const op_run *theirs, const op_run *ours) {
    if (theirs->op.kind != (ours->op.kind == PW_OP_SEND ? PW_OP_RECV : PW_OP_SEND)) return false;
    meeting a = message_meeting(x, theirs), b = message_meeting(x, ours);
    return a.sender == b.sender && a.role == b.role && a.channel == b.channel && a.tag == b.tag;
}

/* The first member that has not arrived. */
static uint32_t missing_member(const pw_executor *x, const op_run *op) {
    uint32_t group_index = x->ranks[op->rank_class].group_class[op->op.collective.group_role];
    const group_class *group = &x->fold->groups[group_index];
    uint32_t live = x->group_live[group_index];
    while (live != PW_NONE && x->instances[live].sequence != op->collective.sequence) live = x->instances[live].next;
    for (uint32_t c = 0; c < group->class_count; c++) {
        uint32_t i = live == PW_NONE ? PW_NONE : x->instances[live].first_op;
        while (i != PW_NONE && op_at(x, i)->rank_class != group->classes[c]) i = op_at(x, i)->collective.next_member;
        if (i == PW_NONE) return group->classes[c];
    }
    return group->classes[0];
}

/* The operation of the same rank in whose list of waits this one is. */
static const op_run *signaller(const pw_executor *x, uint32_t wait) {
    const rank_run *rank = &x->ranks[op_at(x, wait / PW_OP_WAITS)->rank_class];
    for (uint32_t s = 0; s < x->job->streams; s++)
        for (uint32_t i = rank->streams[s].head; i != PW_NONE; i = op_at(x, i)->next)
            for (uint32_t w = op_at(x, i)->waiters; w != PW_NONE; w = op_at(x, w / PW_OP_WAITS)->wait_next[w % PW_OP_WAITS])
                if (w == wait) return op_at(x, i);
    PW_CHECK(!"a wait for nobody");
    return NULL;
}

/* Writes what the place waits for and moves on to it. False: it waits for nothing that could come. */
static bool follow(const pw_executor *x, place *at, char *text, size_t size) {
    char name[160], theirs[160];
    const rank_run *rank = &x->ranks[at->rank_class];
    uint32_t number = rank->info.representative;
    if (at->op == PW_NONE) {
        if (rank->host == HOST_SYNC) {
            at->op = rank->sync;
            snprintf(text, size, "rank %u (\"%s\"): its host waits in a sync", number, rank->program->name);
            return true;
        }
        at->op = blocked_front(x, at->rank_class);
        snprintf(text, size, at->op == PW_NONE ? "rank %u (\"%s\"): its program has ended" : "rank %u (\"%s\"): its host waits "
                 "for room in the launch queue", number, rank->program->name);
        return at->op != PW_NONE;
    }
    const op_run *op = op_at(x, at->op);
    name_op(x, op, name, sizeof name);
    for (int w = 0; w < PW_OP_WAITS; w++) {
        if (!(op->waits_open & 1u << w)) continue;
        const op_run *other = signaller(x, at->op * PW_OP_WAITS + (uint32_t)w);
        name_op(x, other, theirs, sizeof theirs);
        snprintf(text, size, "rank %u (\"%s\") stream %u: %s waits for its own %s (slot %d)", number, rank->program->name,
                 op->op.stream, name, theirs, op->op.waits[w]);
        at->op = other->front ? other->index : rank->streams[other->op.stream].head;
        return true;
    }
    bool message = op->op.kind == PW_OP_SEND || op->op.kind == PW_OP_RECV;
    if (op->phase == PHASE_ARRIVED && op->op.kind == PW_OP_QUORUM) {
        snprintf(text, size, "rank %u (\"%s\") stream %u: %s waits for more members than %u have come", number,
                 rank->program->name, op->op.stream, name, quorum_arrived(x, op));
        return false;
    }
    if (op->phase != PHASE_ARRIVED || !(message || op->op.kind == PW_OP_COLLECTIVE)) {
        snprintf(text, size, "rank %u (\"%s\") stream %u: %s is under way", number, rank->program->name, op->op.stream, name);
        return false;
    }
    uint32_t next;
    if (message) {
        uint32_t peer = x->job->peer_roles[op->op.message.peer_role].peer_of_rank[number];
        next = x->fold->class_of_rank[peer];
        at->op = front_before(x, next, other_end, op);
        snprintf(text, size, "rank %u (\"%s\") stream %u: %s waits for rank %u", number, rank->program->name, op->op.stream,
                 name, peer);
    } else {
        next = missing_member(x, op);
        at->op = front_before(x, next, same_collective, op);
        snprintf(text, size, "rank %u (\"%s\") stream %u: %s waits for rank %u", number, rank->program->name, op->op.stream,
                 name, x->fold->representative[next]);
    }
    at->rank_class = next;
    return true;
}

/* An operation that runs but ends after the last tick is no deadlock. */
static bool never_ends(const pw_executor *x, const place *at) {
    return at->op != PW_NONE && op_at(x, at->op)->phase == PHASE_RUNNING;
}

pw_status deadlock_describe(pw_executor *x, pw_error *error) {
    place at = {0, PW_NONE}, seen[MOST_STEPS];
    while (x->ranks[at.rank_class].ended) at.rank_class++;
    at.op = x->ranks[at.rank_class].host == HOST_SYNC ? PW_NONE : blocked_front(x, at.rank_class);
    char what[sizeof error->what], step[400];
    size_t length = (size_t)snprintf(what, sizeof what, "%u of %u rank classes never finish", x->unfinished,
                                     x->fold->class_count);
    for (uint32_t s = 0; s < MOST_STEPS; s++) {
        seen[s] = at;
        bool more = follow(x, &at, step, sizeof step);
        if (s < SHOWN_STEPS && length < sizeof what)
            length += (size_t)snprintf(what + length, sizeof what - length, "%s%s", s == 0 ? ": " : "; ", step);
        if (!more && never_ends(x, &at))
            return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "are its sizes and rates meant like this?",
                           "the run takes longer than %.0f days, which is as far as time goes: %s",
                           pw_time_to_seconds(PW_TIME_MAX - 1, pw_sim_ticks_per_second(x->config.sim)) / 86400, step);
        if (!more) break;
        uint32_t again = 0;
        while (again <= s && (seen[again].rank_class != at.rank_class || seen[again].op != at.op)) again++;
        if (again > s) continue;
        if (length < sizeof what)
            length += (size_t)snprintf(what + length, sizeof what - length, "; and so on in a circle");
        break;
    }
    return pw_fail(error, PW_DEADLOCK, NULL, 0,
                   "every send needs a recv with the same tag, and all members of a group issue its collectives in one order",
                   "%s", what);
}
