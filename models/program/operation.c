/* Operations of streams: issue, readiness, launch, completion.
 *
 * An operation is ready when it is at the front of its stream and the operations it waits for are done; it begins when the
 * host has launched it too. Whatever made it ready last is its cause. Readiness is worked off from a queue, so that a
 * chain of operations without length does not recurse. */
#include <string.h>

#include "models/program/run.h"

/* One more chunk; false when memory is out. */
static bool more_ops(pw_executor *x) {
    size_t count = x->chunk_count + 1;
    if (pw_grow(&x->allocator, (void **)&x->chunks, &x->chunk_capacity, count, sizeof *x->chunks) ||
        pw_grow(&x->allocator, (void **)&x->chunk_memory, &x->chunk_memory_capacity, count, sizeof *x->chunk_memory))
        return false;
    char *memory = pw_alloc_zero(&x->allocator, CHUNK_BYTES);
    if (!memory) return false;
    op_run *chunk = (op_run *)(memory + (64 - (uintptr_t)memory % 64) % 64);
    for (uint32_t i = CHUNK; i-- > 0;) {
        chunk[i].index = (uint32_t)(x->chunk_count * CHUNK) + i;
        chunk[i].next = x->op_free;
        x->op_free = chunk[i].index;
    }
    x->chunk_memory[x->chunk_count] = memory;
    x->chunks[x->chunk_count++] = chunk;
    return true;
}

op_run *op_new(pw_executor *x) {
    if (x->op_free == PW_NONE && !more_ops(x)) {
        pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the operations of \"%s\"", x->job->name);
        return NULL;
    }
    op_run *op = op_at(x, x->op_free);
    x->op_free = op->next;
    uint32_t index = op->index, generation = op->generation;
    memset(op, 0, sizeof *op);
    op->index = index;
    op->generation = generation;
    op->next = op->waiters = PW_NONE;
    for (int w = 0; w < PW_OP_WAITS; w++) op->wait_next[w] = PW_NONE;
    return op;
}

void op_free(pw_executor *x, op_run *op) {
    op->generation++;
    op->next = x->op_free;
    x->op_free = op->index;
}

static void push_ready(pw_executor *x, op_run *op) {
    if (x->ready_count == x->ready_capacity) {
        size_t old = x->ready_capacity;
        if (pw_grow(&x->allocator, (void **)&x->ready, &x->ready_capacity, old + 1, sizeof *x->ready)) {
            pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the operations of \"%s\"", x->job->name);
            return;
        }
        /* unroll the ring: what lies before ready_first continues behind the old end */
        size_t wrapped = x->ready_first, room = x->ready_capacity - old;
        size_t moved = wrapped < room ? wrapped : room;
        memcpy(x->ready + old, x->ready, moved * sizeof *x->ready);
        memmove(x->ready, x->ready + moved, (wrapped - moved) * sizeof *x->ready);
    }
    op_fetch(x, op->index, true);
    x->ready[(x->ready_first + x->ready_count++) % x->ready_capacity] = op->index;
}

bool op_bind_waits(pw_executor *x, op_run *op) {
    rank_run *rank = &x->ranks[op->rank_class];
    for (int w = 0; w < PW_OP_WAITS; w++) {
        if (op->op.waits[w] == PW_NO_SLOT) continue;
        slot_run *slot = &rank->slots[op->op.waits[w]];
        op_run *from = slot->op == PW_NONE ? NULL : op_at(x, slot->op);
        if (from && from->generation == slot->generation) {
            op->waits_open |= (uint8_t)(1u << w);
            op->wait_next[w] = from->waiters;
            from->waiters = op->index * PW_OP_WAITS + (uint32_t)w;
            op->waits_left++;
        } else if (slot->time > op->cause_time) {
            op->cause = slot->span;
            op->cause_time = slot->time;
        }
    }
    return op->waits_left == 0;
}

void op_issue(pw_executor *x, op_run *op) {
    rank_run *rank = &x->ranks[op->rank_class];
    stream_run *stream = &rank->streams[op->op.stream];
    if (stream->tail == PW_NONE) {
        op->front = true;
        op->cause = stream->last_span;
        op->cause_time = stream->last_time;
        stream->head = op->index;
    } else {
        op_at(x, stream->tail)->next = op->index;
    }
    stream->tail = op->index;
    if (op->op.kind == PW_OP_COLLECTIVE) op->collective.sequence = rank->sequence[op->op.collective.group_role]++;
    bool free_to_go = op_bind_waits(x, op);
    if (op->op.signal != PW_NO_SLOT) {
        rank->slots[op->op.signal].op = op->index;
        rank->slots[op->op.signal].generation = op->generation;
    }
    if (free_to_go && op->front) push_ready(x, op);
}

void op_complete(pw_executor *x, op_run *op, pw_span_id span) {
    uint32_t rank_class = op->rank_class;
    rank_run *rank = &x->ranks[rank_class];
    pw_time now = pw_sim_now(x->config.sim);
    stream_run *stream = &rank->streams[op->op.stream];
    PW_DEBUG_CHECK(stream->head == op->index);
    stream->head = op->next;
    if (stream->head == PW_NONE) stream->tail = PW_NONE;
    stream->last_time = now;
    stream->last_span = span;
    if (op->op.signal != PW_NO_SLOT) {
        slot_run *slot = &rank->slots[op->op.signal];
        if (slot->op == op->index && slot->generation == op->generation) slot->op = PW_NONE;
        slot->time = now;
        slot->span = span;
    }
    rank->in_flight -= op->launches;
    rank->live--;
    uint32_t waiting = op->waiters;
    op_free(x, op);
    while (waiting != PW_NONE) {
        op_run *waiter = op_at(x, waiting / PW_OP_WAITS);
        uint32_t which = waiting % PW_OP_WAITS;
        waiting = waiter->wait_next[which];
        waiter->waits_open &= (uint8_t)~(1u << which);
        waiter->cause = span;
        waiter->cause_time = now;
        if (--waiter->waits_left > 0) continue;
        if (waiter->on_host)
            host_synced(x, waiter, span);
        else if (waiter->front)
            push_ready(x, waiter);
    }
    if (stream->head != PW_NONE) {
        op_run *next = op_at(x, stream->head);
        if (!next->front) { /* an operation that the host issued just above is in front already */
            next->front = true;
            next->cause = span;
            next->cause_time = now;
            if (next->waits_left == 0) push_ready(x, next);
        }
    }
    host_launched_done(x, rank_class, span);
}

static void delay_done(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    op_complete(x, op, report_op(x, op, op->start));
    run_ready(x);
}

/* Time between the end of the cause and the start is the host's: what held it up last, then its launches. */
static void begin(pw_executor *x, op_run *op) {
    pw_time now = pw_sim_now(x->config.sim), from = op->cause_time;
    op->start = now;
    if (op->release > from) {
        from = op->release;
        op->cause = op->release_span;
    }
    if (now > from && x->recording)
        op->cause = report_span(x, op->rank_class, x->ranks[op->rank_class].tracks[op->op.stream], x->names.launch, 0, from,
                                now, op->cause);
    op->phase = PHASE_RUNNING;
    if (op->next != PW_NONE) op_fetch(x, op->next, true); /* its turn comes when this one ends */
    if (op->waiters != PW_NONE) op_fetch(x, op->waiters / PW_OP_WAITS, false);
    rank_run *rank = &x->ranks[op->rank_class];
    switch (op->op.kind) {
        case PW_OP_COMPUTE:
            rank->info.launch_wait_s += pw_time_to_seconds(now - from, pw_sim_ticks_per_second(x->config.sim));
            compute_begin(x, op);
            break;
        case PW_OP_COPY: copy_begin(x, op); break;
        case PW_OP_IO: io_begin(x, op); break;
        case PW_OP_SEND:
        case PW_OP_RECV: message_arrive(x, op); break;
        case PW_OP_COLLECTIVE: collective_arrive(x, op); break;
        case PW_OP_QUORUM: quorum_arrive(x, op); break;
        case PW_OP_DELAY:
            pw_event_after(x->config.sim, pw_sim_ticks(x->config.sim, op->op.delay.seconds), delay_done, x, op->index);
            break;
        case PW_OP_MARK: op_complete(x, op, report_op(x, op, now)); break;
        default: PW_CHECK(!"an operation that cannot be on a stream");
    }
}

static void begin_event(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    pw_executor *x = object;
    begin(x, op_at(x, (uint32_t)index));
    run_ready(x);
}

/* When the host lets a compute operation begin hangs on how long its kernels take, thus on the SMs that collectives hold,
 * and equal ranks reach a collective one after another within an instant. So it is decided when all else of the instant
 * has happened; every rank then sees the same, as a folded class does. */
static void launch_compute(pw_sim *sim, void *object, uint64_t index) {
    pw_executor *x = object;
    op_run *op = op_at(x, (uint32_t)index);
    segment_cost cost;
    /* The gaps that launches leave are counted beside no communication: whether some runs at just this instant may hang on a
     * tick, and must not move the rest of the step. */
    if (compute_cost_alone(x, op, &cost) != PW_OK) return;
    pw_time earliest = pw_time_add(op->host_start, pw_sim_ticks(sim, cost.reach_s - cost.duration_s));
    if (earliest > pw_sim_now(sim)) pw_event_at(sim, earliest, 0, begin_event, x, op->index);
    else begin_event(sim, x, index);
}

static void launch(pw_executor *x, op_run *op) {
    pw_sim *sim = x->config.sim;
    if (op->op.kind == PW_OP_COMPUTE && x->job->launch_s > 0) {
        op->phase = PHASE_LAUNCHING;
        pw_event_at(sim, pw_sim_now(sim), 1, launch_compute, x, op->index);
    } else if (op->host_start > pw_sim_now(sim)) {
        op->phase = PHASE_LAUNCHING;
        pw_event_at(sim, op->host_start, 0, begin_event, x, op->index);
    } else {
        begin(x, op);
    }
}

void run_ready(pw_executor *x) {
    while (x->ready_count > 0 && pw_sim_error(x->config.sim)->status == PW_OK) {
        uint32_t index = x->ready[x->ready_first];
        x->ready_first = (x->ready_first + 1) % x->ready_capacity;
        x->ready_count--;
        launch(x, op_at(x, index));
    }
}
