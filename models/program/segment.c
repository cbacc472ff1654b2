/* The memo is a small ring of entries per segment: a run meets few clocks and few counts of held SMs at a time. */
#include <string.h>

#include "models/program/segment.h"

enum { ENTRIES = 6 };

typedef struct entry_ring {
    segment_cost entries[ENTRIES];
    uint32_t used, oldest, last;
} entry_ring;

struct segment_memo {
    pw_allocator allocator;
    const pw_job *job;
    const pw_gpu *gpu;
    entry_ring *rings; /* [segments] */
    pw_gpu_work *work; /* [segments]; NULL: never asked for */
    bool *counted;     /* [segments] */
};

segment_memo *segment_memo_create(const pw_allocator *allocator, const pw_job *job, const pw_gpu *gpu) {
    segment_memo *memo = pw_alloc_zero(allocator, sizeof *memo);
    if (!memo) return NULL;
    memo->allocator = *allocator;
    memo->job = job;
    memo->gpu = gpu;
    memo->rings = pw_alloc_zero(allocator, (job->segment_count + 1) * sizeof *memo->rings);
    if (!memo->rings) {
        pw_free(allocator, memo, sizeof *memo);
        return NULL;
    }
    return memo;
}

void segment_memo_destroy(segment_memo *memo) {
    if (!memo) return;
    pw_allocator allocator = memo->allocator;
    size_t room = memo->job->segment_count + (size_t)1;
    pw_free(&allocator, memo->rings, room * sizeof *memo->rings);
    if (memo->work) pw_free(&allocator, memo->work, room * sizeof *memo->work);
    if (memo->counted) pw_free(&allocator, memo->counted, room * sizeof *memo->counted);
    pw_free(&allocator, memo, sizeof *memo);
}

/* Walks the kernels from the last to the first. Within equal kernels and over equal rounds, i launches + the suffix is
 * linear in i, so its largest value lies at an end of each run, in the first or the last round. */
static pw_status sum_up(const segment_memo *memo, uint32_t index, segment_cost *cost, pw_error *error) {
    const pw_job *job = memo->job;
    const pw_segment *segment = &job->segments[index];
    if (!memo->gpu)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give the executor a GPU", "segment \"%s\" has no device to run on",
                       segment->name);
    double most = pw_gpu_memory_taken_most(memo->gpu);
    pw_gpu_state state = {.clock_ratio = cost->clock_ratio, .memory_taken = cost->held_memory < most ? cost->held_memory : most};
    if (cost->held_sms > 0) {
        double all = pw_gpu_device(memo->gpu)->sm_count;
        state.sms = all - cost->held_sms > 1 ? all - cost->held_sms : 1;
    }
    double rounds = segment->repeats ? segment->repeats : 1, launch_s = job->launch_s, factor = job->kernel_time_factor * cost->slowdown;
    double launches = 0, duration = 0, compute = 0, memory = 0;
    for (uint32_t p = 0; p < segment->count; p++) launches += segment->parts[p].repeats;
    double before = launches, reach = 0, round_s = 0;
    /* first pass: the length of a round; second: how far each kernel reaches */
    for (int pass = 0; pass < 2; pass++) {
        double suffix = 0;
        before = launches;
        for (uint32_t p = segment->count; p-- > 0;) {
            double repeats = segment->parts[p].repeats;
            if (repeats == 0) continue;
            pw_kernel_cost kernel;
            PW_TRY(pw_gpu_kernel_cost(memo->gpu, &job->kernels[segment->parts[p].kernel], &state, &kernel, error));
            double each = kernel.total_s * factor;
            if (pass == 0) {
                duration += repeats * each;
                compute += repeats * (kernel.compute_s * factor < each ? kernel.compute_s * factor : each);
                memory += repeats * (kernel.memory_s * factor < each ? kernel.memory_s * factor : each);
                cost->flops += rounds * repeats * kernel.flops;
                continue;
            }
            double last = before, first = before - repeats + 1; /* numbers of its launches in a round */
            double after_last = suffix + each, after_first = suffix + repeats * each;
            double later = (rounds - 1) * round_s, earlier = (rounds - 1) * launches;
            double reaches[4] = {last * launch_s + after_last + later, first * launch_s + after_first + later,
                                 (earlier + last) * launch_s + after_last, (earlier + first) * launch_s + after_first};
            for (int r = 0; r < 4; r++)
                if (reaches[r] > reach) reach = reaches[r];
            suffix = after_first;
            before -= repeats;
        }
        round_s = duration;
    }
    cost->duration_s = rounds * duration;
    cost->compute_s = rounds * compute;
    cost->memory_s = rounds * memory;
    cost->launches = (uint32_t)(rounds * launches);
    cost->host_s = rounds * launches * launch_s;
    cost->reach_s = reach > cost->duration_s ? reach : cost->duration_s;
    return PW_OK;
}

pw_status segment_memo_get(segment_memo *memo, uint32_t segment, double clock_ratio, double held_sms, double held_memory,
                           double slowdown, segment_cost *cost, pw_error *error) {
    entry_ring *ring = &memo->rings[segment];
    for (uint32_t tried = 0, e = ring->last; tried < ring->used; tried++, e = (e + 1) % ring->used) {
        if (ring->entries[e].clock_ratio != clock_ratio || ring->entries[e].held_sms != held_sms ||
            ring->entries[e].held_memory != held_memory || ring->entries[e].slowdown != slowdown)
            continue;
        ring->last = e;
        *cost = ring->entries[e];
        return PW_OK;
    }
    segment_cost fresh = {.clock_ratio = clock_ratio, .held_sms = held_sms, .held_memory = held_memory, .slowdown = slowdown};
    PW_TRY(sum_up(memo, segment, &fresh, error));
    uint32_t place = ring->used < ENTRIES ? ring->used++ : ring->oldest;
    if (ring->used == ENTRIES) ring->oldest = (place + 1) % ENTRIES;
    ring->entries[place] = fresh;
    ring->last = place;
    *cost = fresh;
    return PW_OK;
}

pw_status segment_memo_work(segment_memo *memo, uint32_t index, const pw_gpu_work **work, pw_error *error) {
    size_t room = memo->job->segment_count + (size_t)1;
    if (!memo->work) memo->work = pw_alloc_zero(&memo->allocator, room * sizeof *memo->work);
    if (!memo->counted) memo->counted = pw_alloc_zero(&memo->allocator, room * sizeof *memo->counted);
    if (!memo->work || !memo->counted) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the work of segments");
    *work = &memo->work[index];
    if (memo->counted[index]) return PW_OK;
    const pw_segment *segment = &memo->job->segments[index];
    double rounds = segment->repeats ? segment->repeats : 1;
    for (uint32_t p = 0; p < segment->count; p++) {
        const pw_kernel *kernel = &memo->job->kernels[segment->parts[p].kernel];
        pw_kernel_cost cost;
        if (segment->parts[p].repeats == 0) continue;
        PW_TRY(pw_gpu_kernel_cost(memo->gpu, kernel, NULL, &cost, error));
        pw_gpu_work_add_kernel(&memo->work[index], kernel, &cost, rounds * segment->parts[p].repeats);
    }
    memo->counted[index] = true;
    return PW_OK;
}
