/* Workers of a job with backup workers. Which gradients count is known only while the job runs, so each worker's program is a
 * source: it pulls the newest weights, computes, pushes, and reports to the step whose weights it had. The step is complete when
 * enough have; a gradient that comes later is dropped, and its worker goes on with the newest weights. */
#include "models/workload/server/plan.h"

typedef enum phase { PULL, COMPUTE, PUSH, ARRIVE, REPORT, MEET, NEXT } phase;

typedef struct worker {
    phase phase;
    int64_t step; /* whose weights it has */
    pw_random random;
} worker;

struct server_backup {
    const server_plan *plan;
    int64_t step;             /* under way */
    uint32_t needed, counted; /* gradients of a step; that have come */
    uint64_t pushes, dropped;
    pw_time end;
    worker *workers;
};

server_backup *server_backup_create(const server_plan *plan, uint64_t seed, pw_arena *arena) {
    server_backup *b = pw_arena_alloc(arena, sizeof *b);
    if (!b) return NULL;
    *b = (server_backup){.plan = plan, .needed = plan->workers - (uint32_t)plan->desc->backup_workers};
    b->workers = pw_arena_alloc(arena, plan->workers * sizeof *b->workers);
    if (!b->workers) return NULL;
    for (uint32_t w = 0; w < plan->workers; w++) b->workers[w].random = server_stream(seed, w);
    return b;
}

static pw_op host_waits(int16_t slot) {
    pw_op op = {.kind = PW_OP_SYNC, PW_OP_INIT, .category = CATEGORY_MEET};
    op.waits[0] = slot;
    return op;
}

bool server_backup_next(void *object, uint32_t rank, pw_time now, pw_op *op) {
    server_backup *b = object;
    worker *w = &b->workers[rank];
    if (w->phase == NEXT) {
        if (w->step == b->step) { /* the first to go on */
            b->step++;
            b->counted = 0;
            b->end = now;
        }
        w->phase = PULL;
    }
    switch (w->phase++) {
        case PULL:
            if (b->step >= b->plan->desc->steps) return false;
            w->step = b->step;
            *op = server_io_op(b->plan, false);
            return true;
        case COMPUTE: *op = server_compute_op(b->plan, rank, &w->random); return true;
        case PUSH: *op = server_io_op(b->plan, true); return true;
        case ARRIVE: *op = host_waits(SLOT_PUSHED); return true;
        case REPORT:
            b->pushes++;
            if (w->step == b->step && b->counted < b->needed) b->counted++;
            else b->dropped++;
            *op = (pw_op){.kind = PW_OP_QUORUM, .stream = STREAM_MEET, PW_OP_INIT, .category = CATEGORY_MEET,
                          .quorum = {.needed = b->needed, .number = w->step}};
            op->signal = SLOT_MET;
            return true;
        default: *op = host_waits(SLOT_MET); return true;
    }
}

pw_time server_backup_end(const server_backup *b) { return b->end; }
double server_backup_dropped(const server_backup *b) { return b->pushes ? (double)b->dropped / (double)b->pushes : 0; }
