/* How long segments take: sums over their kernels, kept per clock, number of SMs held by communication and slowdown. Internal. */
#ifndef PW_MODELS_PROGRAM_SEGMENT_H
#define PW_MODELS_PROGRAM_SEGMENT_H

#include "models/gpu/work.h"
#include "models/program/program.h"

/* With kernel i of n (1, 2, ...) taking d_i and launched i launch times after the host began, a segment that is ready at
 * `start` ends at max(start + duration, host + reach), reach = max over i of (i launches + d_i + ... + d_n). So it ends
 * as if all kernels ran without a gap from max(start, host + reach - duration) on. */
typedef struct segment_cost {
    double clock_ratio, held_sms, held_memory, slowdown; /* for which it holds */
    double duration_s;            /* sum of kernel times x the stack's factor */
    double reach_s;
    double host_s;                /* of the host: launches x launch time */
    double compute_s, memory_s;   /* time of its arithmetic and of its traffic alone, each <= duration_s */
    double flops;
    uint32_t launches;
} segment_cost;

typedef struct segment_memo segment_memo;
/* The job and gpu must outlive it. gpu may be NULL for a job without segments. */
segment_memo *segment_memo_create(const pw_allocator *allocator, const pw_job *job, const pw_gpu *gpu);
void segment_memo_destroy(segment_memo *memo);
pw_status segment_memo_get(segment_memo *memo, uint32_t segment, double clock_ratio, double held_sms, double held_memory,
                           double slowdown, segment_cost *cost, pw_error *error);
/* What a segment does, whatever the clock: operations and bytes; busy_s is 0. Lives as long as the memo. */
pw_status segment_memo_work(segment_memo *memo, uint32_t segment, const pw_gpu_work **work, pw_error *error);

#endif
