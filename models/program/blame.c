/* The critical path, walked back from the span that ends last along the causes.
 *
 * A step of the walk takes the time from the span's start to where the walk stands, then stands at that start. Between
 * the end of a cause and the start of what it released there is no time by construction; should there be any, it is
 * "unexplained". So the times of the path add up to the length of the run in whole ticks.
 *
 * Roots of tracks are programs, below them stand rank classes (report.c). Two passes: the first finds home, the program
 * with the most time on the path; the second names each piece. While the path runs through another program, home may
 * well be at work: a chain of hops around the pipeline that delays home by a microsecond is as long as a whole round. So of
 * such a piece, what home was busy with at that time is named first, and only the rest is what home waited for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/program/blame.h"
#include "models/program/report.h"

typedef struct kept_span {
    pw_span_id cause;
    pw_time start, end;
    uint32_t track, category, label;
} kept_span;

struct pw_blame {
    pw_allocator allocator;
    pw_recorder *recorder;
    const pw_job *job;
    const pw_gpu *gpu;
    pw_arena *arena;
    bool *repeated; /* [segments] */
    kept_span *spans;
    size_t span_count, span_capacity;
    pw_span_id first_id;
    uint32_t *root, *rank; /* by track: the top track, and the one below it on the way there (0: none) */
    size_t root_capacity, rank_capacity;
    struct busy_time { pw_time from, to; size_t span; } *busy; /* what home did, when: in order, disjoint */
    size_t busy_count, busy_capacity;
    bool failed;
    pw_blame_part *parts;
    size_t part_count, part_capacity;
};

static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    (void)name;
    pw_blame *blame = object;
    size_t old = blame->root_capacity, old_rank = blame->rank_capacity;
    if (pw_grow(&blame->allocator, (void **)&blame->root, &blame->root_capacity, track + (size_t)1, sizeof *blame->root) ||
        pw_grow(&blame->allocator, (void **)&blame->rank, &blame->rank_capacity, track + (size_t)1, sizeof *blame->rank)) {
        blame->failed = true;
        return;
    }
    memset(blame->root + old, 0, (blame->root_capacity - old) * sizeof *blame->root);
    memset(blame->rank + old_rank, 0, (blame->rank_capacity - old_rank) * sizeof *blame->rank);
    blame->root[track] = parent ? blame->root[parent] : track;
    blame->rank[track] = parent == 0 ? 0 : blame->rank[parent] ? blame->rank[parent] : track;
}

static void on_span(void *object, const pw_span *span) {
    pw_blame *blame = object;
    if (blame->failed || pw_grow(&blame->allocator, (void **)&blame->spans, &blame->span_capacity, blame->span_count + 1,
                                 sizeof *blame->spans)) {
        blame->failed = true;
        return;
    }
    if (blame->span_count == 0) blame->first_id = span->id;
    blame->spans[blame->span_count++] = (kept_span){.cause = span->cause,
                                                    .start = span->start,
                                                    .end = span->end,
                                                    .track = span->track,
                                                    .category = span->category,
                                                    .label = span->label};
}

pw_status pw_blame_create(const pw_allocator *allocator, const pw_job *job, const pw_gpu *gpu, pw_recorder *recorder,
                          pw_blame **out, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    pw_blame *blame = *out = pw_alloc_zero(allocator, sizeof *blame);
    if (!blame) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    blame->allocator = *allocator;
    blame->recorder = recorder;
    blame->job = job;
    blame->gpu = gpu;
    blame->arena = pw_arena_create(allocator);
    if (blame->arena) blame->repeated = pw_arena_alloc(blame->arena, job->segment_count + 1);
    pw_sink sink = {.object = blame, .on_track = on_track, .on_span = on_span};
    if (!blame->repeated || !pw_segments_repeated(&blame->allocator, job, blame->repeated) ||
        pw_recorder_attach(recorder, &sink) != PW_OK) {
        pw_blame_destroy(blame);
        *out = NULL;
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    }
    return PW_OK;
}

void pw_blame_destroy(pw_blame *blame) {
    if (!blame) return;
    pw_allocator allocator = blame->allocator;
    pw_free(&allocator, blame->spans, blame->span_capacity * sizeof *blame->spans);
    pw_free(&allocator, blame->root, blame->root_capacity * sizeof *blame->root);
    pw_free(&allocator, blame->rank, blame->rank_capacity * sizeof *blame->rank);
    pw_free(&allocator, blame->busy, blame->busy_capacity * sizeof *blame->busy);
    pw_free(&allocator, blame->parts, blame->part_capacity * sizeof *blame->parts);
    pw_arena_destroy(blame->arena);
    pw_free(&allocator, blame, sizeof *blame);
}

/* --- The walk ----------------------------------------------------------------------------------------------------- */

/* The path from one time to another is in span; NULL: unexplained. */
typedef void piece_fn(pw_blame *blame, void *object, const kept_span *span, pw_time from, pw_time to);

static void walk(pw_blame *blame, pw_time begin, piece_fn *piece, void *object) {
    size_t last = 0;
    for (size_t i = 1; i < blame->span_count; i++)
        if (blame->spans[i].end >= blame->spans[last].end) last = i;
    pw_time at = blame->spans[last].end;
    const kept_span *span = &blame->spans[last];
    while (at > begin) {
        if (span->end < at) {
            piece(blame, object, NULL, span->end, at);
            at = span->end;
        }
        if (span->start < at) {
            piece(blame, object, span, span->start, at);
            at = span->start;
        }
        if (span->cause < blame->first_id || span->cause >= blame->first_id + blame->span_count) break;
        span = &blame->spans[span->cause - blame->first_id];
    }
    if (at > begin) piece(blame, object, NULL, begin, at);
}

static void add_to_tracks(pw_blame *blame, void *object, const kept_span *span, pw_time from, pw_time to) {
    pw_time *by_track = object;
    if (!span) return;
    by_track[blame->root[span->track]] += to - from;
    if (blame->rank[span->track]) by_track[blame->rank[span->track]] += to - from;
}

/* --- Names -------------------------------------------------------------------------------------------------------- */

static void add_part(pw_blame *blame, const char *name, double ticks) {
    if (ticks == 0 || blame->failed) return;
    for (size_t i = 0; i < blame->part_count; i++)
        if (strcmp(blame->parts[i].name, name) == 0) {
            blame->parts[i].seconds += ticks;
            return;
        }
    char *kept = pw_arena_text(blame->arena, name);
    if (!kept || pw_grow(&blame->allocator, (void **)&blame->parts, &blame->part_capacity, blame->part_count + 1,
                         sizeof *blame->parts)) {
        blame->failed = true;
        return;
    }
    blame->parts[blame->part_count++] = (pw_blame_part){.name = kept, .seconds = ticks};
}

static const pw_category *category_of(const pw_blame *blame, const char *name) {
    for (uint32_t c = 0; c < blame->job->category_count; c++)
        if (strcmp(blame->job->categories[c].name, name) == 0) return &blame->job->categories[c];
    return NULL;
}

/* Parallelism inside a layer is part of a stage's work: another stage's counts as waiting for it. */
static bool inside_layer(const char *category) {
    static const char *const names[] = {"tp", "cp", "ep", "sp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], category) == 0) return true;
    return false;
}

/* Splits the time of a segment over the classes of its kernels, by their share at the reference clock. */
static void add_segment(pw_blame *blame, uint32_t index, double ticks) {
    const pw_segment *segment = &blame->job->segments[index];
    double of_class[PW_KERNEL_CLASS_COUNT] = {0}, sum = 0;
    for (uint32_t p = 0; p < segment->count; p++) {
        const pw_kernel *kernel = &blame->job->kernels[segment->parts[p].kernel];
        pw_kernel_cost cost;
        if (pw_gpu_kernel_cost(blame->gpu, kernel, NULL, &cost, NULL) != PW_OK) continue;
        of_class[kernel->kind] += segment->parts[p].repeats * cost.total_s;
        sum += segment->parts[p].repeats * cost.total_s;
    }
    for (int k = 0; k < PW_KERNEL_CLASS_COUNT; k++)
        if (sum > 0) add_part(blame, pw_kernel_class_names[k], ticks * of_class[k] / sum);
    if (sum == 0) add_part(blame, "compute", ticks);
}

typedef struct naming {
    uint32_t home, home_rank; /* tracks */
    pw_time sum;
    pw_time *by_segment; /* of home, named at the end */
    uint32_t *segment_of_label, label_count;
} naming;

/* Segments by the label of their spans. */
static bool index_labels(pw_blame *blame, naming *to) {
    char text[256];
    pw_name *labels = pw_arena_alloc(blame->arena, (blame->job->segment_count + 1) * sizeof *labels);
    if (!labels) return false;
    for (uint32_t s = 0; s < blame->job->segment_count; s++) {
        pw_segment_label(blame->job, s, blame->repeated[s], text, sizeof text);
        labels[s] = pw_record_name(blame->recorder, text);
        if (labels[s] == 0) return false;
        if (labels[s] >= to->label_count) to->label_count = labels[s] + 1;
    }
    to->segment_of_label = pw_arena_alloc(blame->arena, (to->label_count + 1) * sizeof *to->segment_of_label);
    if (!to->segment_of_label) return false;
    for (uint32_t i = 0; i < to->label_count; i++) to->segment_of_label[i] = PW_NONE;
    for (uint32_t s = 0; s < blame->job->segment_count; s++) to->segment_of_label[labels[s]] = s;
    return true;
}

static void name_span(pw_blame *blame, naming *to, const kept_span *span, bool home, pw_time ticks) {
    const char *name = pw_record_name_text(blame->recorder, span->category);
    const pw_category *category = category_of(blame, name);
    char text[256];
    switch (category ? category->blame : PW_BLAME_OTHER) {
        case PW_BLAME_OPTIMIZER: add_part(blame, "optimizer", (double)ticks); return;
        case PW_BLAME_COMMUNICATION:
            if (!home && inside_layer(name)) break;
            snprintf(text, sizeof text, "%s communication", name);
            add_part(blame, text, (double)ticks);
            return;
        case PW_BLAME_COMPUTE: {
            if (!home) break;
            uint32_t segment = span->label < to->label_count ? to->segment_of_label[span->label] : PW_NONE;
            if (segment == PW_NONE)
                add_part(blame, name, (double)ticks);
            else
                to->by_segment[segment] += ticks;
            return;
        }
        case PW_BLAME_HOST: add_part(blame, "host", (double)ticks); return;
        default:
            if (!category || home) { /* launches have no category of the job */
                add_part(blame, name, (double)ticks);
                return;
            }
    }
    add_part(blame, "bubble", (double)ticks);
}

static void name_piece(pw_blame *blame, void *object, const kept_span *span, pw_time from, pw_time end) {
    naming *to = object;
    to->sum += end - from;
    if (!span) {
        add_part(blame, "unexplained", (double)(end - from));
        return;
    }
    if (blame->root[span->track] == to->home) {
        name_span(blame, to, span, true, end - from);
        return;
    }
    size_t low = 0, high = blame->busy_count; /* the first busy time that ends after `from` */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blame->busy[middle].to > from) high = middle;
        else low = middle + 1;
    }
    pw_time left = end - from;
    for (; low < blame->busy_count && blame->busy[low].from < end; low++) {
        pw_time first = blame->busy[low].from > from ? blame->busy[low].from : from;
        pw_time last = blame->busy[low].to < end ? blame->busy[low].to : end;
        name_span(blame, to, &blame->spans[blame->busy[low].span], true, last - first);
        left -= last - first;
    }
    if (left > 0) name_span(blame, to, span, false, left);
}

static int compare_busy(const void *left, const void *right) {
    const struct busy_time *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->span < b->span ? -1 : a->span > b->span;
}

/* The compute of home's rank on the path, and the communication inside its layers. */
static void list_busy(pw_blame *blame, const naming *to) {
    blame->busy_count = 0;
    for (size_t i = 0; i < blame->span_count && !blame->failed; i++) {
        const kept_span *span = &blame->spans[i];
        if (span->end == span->start || blame->rank[span->track] != to->home_rank) continue;
        const char *name = pw_record_name_text(blame->recorder, span->category);
        const pw_category *category = category_of(blame, name);
        if (!category || !(category->blame == PW_BLAME_COMPUTE || category->blame == PW_BLAME_OPTIMIZER ||
                           (category->blame == PW_BLAME_COMMUNICATION && inside_layer(name))))
            continue;
        if (pw_grow(&blame->allocator, (void **)&blame->busy, &blame->busy_capacity, blame->busy_count + 1,
                    sizeof *blame->busy)) {
            blame->failed = true;
            return;
        }
        blame->busy[blame->busy_count++] = (struct busy_time){span->start, span->end, i};
    }
    if (blame->busy_count == 0) return;
    qsort(blame->busy, blame->busy_count, sizeof *blame->busy, compare_busy);
    size_t kept = 0;
    pw_time until = blame->busy[0].from;
    for (size_t i = 0; i < blame->busy_count; i++) {
        struct busy_time next = blame->busy[i];
        if (next.from < until) next.from = until;
        if (next.to <= next.from) continue;
        until = next.to;
        blame->busy[kept++] = next;
    }
    blame->busy_count = kept;
}

static int compare_parts(const void *left, const void *right) {
    const pw_blame_part *a = left, *b = right;
    if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
    return strcmp(a->name, b->name);
}

pw_status pw_blame_result(pw_blame *blame, const pw_blame_part **parts, uint32_t *count, double *total_s,
                          const char **home_program, pw_error *error) {
    blame->part_count = 0;
    *parts = NULL;
    *count = 0;
    *total_s = 0;
    *home_program = "";
    pw_time *by_track = pw_arena_alloc(blame->arena, (blame->root_capacity + 1) * sizeof *by_track);
    naming to = {.by_segment = pw_arena_alloc(blame->arena, (blame->job->segment_count + 1) * sizeof *to.by_segment)};
    if (blame->failed || !by_track || !to.by_segment || !index_labels(blame, &to))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    if (blame->span_count == 0) return PW_OK;
    pw_time begin = blame->spans[0].start, end = blame->spans[0].end;
    for (size_t i = 1; i < blame->span_count; i++) {
        if (blame->spans[i].start < begin) begin = blame->spans[i].start;
        if (blame->spans[i].end > end) end = blame->spans[i].end;
    }
    walk(blame, begin, add_to_tracks, by_track);
    for (uint32_t t = 1; t < blame->root_capacity; t++)
        if (blame->root[t] == t && (to.home == 0 ? by_track[t] > 0 : by_track[t] > by_track[to.home])) to.home = t;
    for (uint32_t t = 1; t < blame->root_capacity; t++)
        if (blame->rank[t] == t && blame->root[t] == to.home && (to.home_rank == 0 || by_track[t] > by_track[to.home_rank]))
            to.home_rank = t;
    if (to.home_rank) list_busy(blame, &to);
    if (to.home) *home_program = pw_record_track_text(blame->recorder, to.home);
    walk(blame, begin, name_piece, &to);
    for (uint32_t s = 0; s < blame->job->segment_count; s++)
        if (to.by_segment[s] > 0) add_segment(blame, s, (double)to.by_segment[s]);
    if (blame->failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    if (to.sum != end - begin)
        return pw_fail(error, PW_LAW, NULL, 0, NULL, "the critical path is %lld ticks long in a run of %lld",
                       (long long)to.sum, (long long)(end - begin));
    for (size_t i = 0; i < blame->part_count; i++) {
        blame->parts[i].share = blame->parts[i].seconds / (double)(end - begin);
        blame->parts[i].seconds /= PW_TICKS_PER_SECOND_STEP;
    }
    qsort(blame->parts, blame->part_count, sizeof *blame->parts, compare_parts);
    *parts = blame->parts;
    *count = (uint32_t)blame->part_count;
    *total_s = (double)(end - begin) / PW_TICKS_PER_SECOND_STEP;
    return PW_OK;
}
