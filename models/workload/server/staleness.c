/* Staleness, measured from the spans of pulls and pushes. A push counts when it has been applied; a pull reads what has been
 * applied when it begins. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/server/plan.h"

typedef struct track_of { /* by track number */
    uint32_t worker;      /* PW_NONE: not of a worker */
    int stream;           /* -1: none */
} track_of;

typedef struct push {
    pw_time end, pulled;
    uint32_t worker, own; /* own: pushes of the worker itself since the pull */
} push;

struct staleness_log {
    pw_allocator allocator;
    const server_plan *plan;
    track_of *tracks;
    size_t track_count, track_capacity;
    push *pushes; /* in order of time */
    size_t push_count, push_capacity;
    pw_time *pulled, *first, *last; /* [workers]: pull under way; first and last push */
    uint32_t *own;
    bool failed;
};

static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    staleness_log *log = object;
    while (!log->failed && log->track_count <= track) {
        if (pw_grow(&log->allocator, (void **)&log->tracks, &log->track_capacity, log->track_count + 1, sizeof *log->tracks)) {
            log->failed = true;
            return;
        }
        log->tracks[log->track_count++] = (track_of){PW_NONE, -1};
    }
    if (log->failed) return;
    track_of *made = &log->tracks[track];
    unsigned number;
    if (parent == 0) {
        if (sscanf(name, "worker %u", &number) == 1 && number < log->plan->workers) made->worker = number;
        return;
    }
    made->worker = log->tracks[parent].worker;
    if (sscanf(name, "stream %u", &number) == 1) made->stream = (int)number;
}

static void on_span(void *object, const pw_span *span) {
    staleness_log *log = object;
    if (log->failed || span->track >= log->track_count) return;
    track_of at = log->tracks[span->track];
    if (at.worker == PW_NONE || span->start == span->end) return;
    if (at.stream == STREAM_PULL) {
        log->pulled[at.worker] = span->start;
        log->own[at.worker] = 0;
    } else if (at.stream == STREAM_PUSH) {
        if (pw_grow(&log->allocator, (void **)&log->pushes, &log->push_capacity, log->push_count + 1, sizeof *log->pushes)) {
            log->failed = true;
            return;
        }
        log->pushes[log->push_count++] =
            (push){.end = span->end, .pulled = log->pulled[at.worker], .worker = at.worker, .own = log->own[at.worker]++};
        if (log->first[at.worker] == 0) log->first[at.worker] = span->end;
        log->last[at.worker] = span->end;
    }
}

staleness_log *staleness_log_create(const pw_allocator *allocator, const server_plan *plan) {
    if (!allocator) allocator = pw_allocator_default();
    staleness_log *log = pw_alloc_zero(allocator, sizeof *log);
    if (!log) return NULL;
    log->allocator = *allocator;
    log->plan = plan;
    log->pulled = pw_alloc_zero(allocator, plan->workers * sizeof *log->pulled);
    log->first = pw_alloc_zero(allocator, plan->workers * sizeof *log->first);
    log->last = pw_alloc_zero(allocator, plan->workers * sizeof *log->last);
    log->own = pw_alloc_zero(allocator, plan->workers * sizeof *log->own);
    if (log->pulled && log->first && log->last && log->own) return log;
    staleness_log_destroy(log);
    return NULL;
}

void staleness_log_destroy(staleness_log *log) {
    if (!log) return;
    pw_allocator a = log->allocator;
    pw_free(&a, log->pulled, log->plan->workers * sizeof *log->pulled);
    pw_free(&a, log->first, log->plan->workers * sizeof *log->first);
    pw_free(&a, log->last, log->plan->workers * sizeof *log->last);
    pw_free(&a, log->own, log->plan->workers * sizeof *log->own);
    pw_free(&a, log->tracks, log->track_capacity * sizeof *log->tracks);
    pw_free(&a, log->pushes, log->push_capacity * sizeof *log->pushes);
    pw_free(&a, log, sizeof *log);
}

pw_sink staleness_log_sink(staleness_log *log) { return (pw_sink){.object = log, .on_track = on_track, .on_span = on_span}; }

/* Pushes that had ended at a time. */
static size_t applied(const staleness_log *log, pw_time time) {
    size_t low = 0, high = log->push_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->pushes[middle].end <= time) low = middle + 1;
        else high = middle;
    }
    return low;
}

static uint32_t quantile(const pw_staleness *s, double share) {
    uint64_t below = 0, wanted = (uint64_t)ceil(share * (double)s->updates);
    uint32_t value = 0;
    while (value < s->largest && (below += s->histogram[value]) < wanted) value++;
    return value;
}

pw_status staleness_log_result(staleness_log *log, pw_arena *arena, pw_staleness *s, double *updates_per_s, pw_error *error) {
    memset(s, 0, sizeof *s);
    if (log->failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to measure staleness");
    pw_time from = 0, until = PW_TIME_MAX;
    for (uint32_t w = 0; w < log->plan->workers; w++) {
        if (log->first[w] > from) from = log->first[w];
        if (log->last[w] < until) until = log->last[w];
    }
    size_t begin = applied(log, from), end = applied(log, until);
    if (begin >= end)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "simulate more steps",
                       "there is no time in which all workers have begun and none has ended");
    for (size_t i = begin; i < end; i++) {
        uint32_t stale = (uint32_t)(i - applied(log, log->pushes[i].pulled)) - log->pushes[i].own;
        log->pushes[i].own = stale; /* from now on */
        if (stale > s->largest) s->largest = stale;
    }
    uint64_t *histogram = pw_arena_alloc(arena, (s->largest + (size_t)1) * sizeof *histogram), slow = 0;
    if (!histogram) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to measure staleness");
    double sum[2] = {0, 0};
    for (size_t i = begin; i < end; i++) {
        bool is_slow = server_is_slow(log->plan, log->pushes[i].worker);
        histogram[log->pushes[i].own]++;
        sum[is_slow] += log->pushes[i].own;
        slow += is_slow;
    }
    s->updates = end - begin;
    s->mean = (sum[0] + sum[1]) / (double)s->updates;
    s->slow_mean = slow ? sum[1] / (double)slow : NAN;
    s->fast_mean = s->updates > slow ? sum[0] / (double)(s->updates - slow) : NAN;
    s->histogram = histogram;
    s->median = quantile(s, 0.5);
    s->p90 = quantile(s, 0.9);
    *updates_per_s = (double)s->updates / pw_time_to_seconds(until - from, PW_TICKS_PER_SECOND_STEP);
    return PW_OK;
}
