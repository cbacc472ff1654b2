/* Where the time of a run went, seen from home.
 *
 * Every span names its cause, the span whose end let it start. From the span that ends last the causes lead back to the
 * beginning: the critical path. It finds home, the program that computes most on it, and in it the rank class. Among
 * equal stages of a pipeline the path zigzags, so it does not say how long home worked; home's own timeline does. What
 * home computed is its own; each gap is explained by the causes of the computation that ends it, read back as far as the
 * gap reaches.
 *
 * Round trips. Between two passes home may wait for an answer: a message there, work elsewhere, a message back. Home works
 * on meanwhile, and the end of that chain is all that shows in the gap. If the others' work alone took less than home's,
 * the gap would not be there but for the messages; so the messages of the hidden part of the chain take over as much of
 * the gap's bubble as they are long. Without that, a pipeline of equal stages would report half of its hops as bubble.
 * What messages took in earlier gaps that the same trip covers is not counted again.
 *
 * All times are whole ticks; what is given to the parts adds up to the length of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/program/blame.h"
#include "models/program/report.h"
#include "models/program/spans.h"

/* Work of home, in order and disjoint. */
typedef struct work_time {
    pw_time from, to, messages; /* messages: ticks of the gaps before it that were given to messages */
    uint32_t span;
} work_time;

struct pw_blame {
    pw_allocator allocator;
    pw_recorder *recorder;
    const pw_job *job;
    const pw_gpu *gpu;
    pw_arena *arena;
    bool *repeated; /* [segments] */
    span_log log;
    uint32_t *root, *rank; /* by track: the top track, and the one below it on the way there (itself at the top) */
    size_t root_capacity, rank_capacity;
    work_time *work;
    size_t work_count, work_capacity;
    bool failed;
    struct part_time { const char *name; pw_time ticks; } *parts;
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
    blame->rank[track] = parent == 0 || blame->root[parent] == parent ? track : blame->rank[parent];
}

static void on_span(void *object, const pw_span *span) {
    pw_blame *blame = object;
    if (!blame->failed && !spans_keep(&blame->log, span)) blame->failed = true;
}

pw_status pw_blame_create(const pw_allocator *allocator, const pw_job *job, const pw_gpu *gpu, pw_recorder *recorder,
                          pw_blame **out, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    pw_blame *blame = *out = pw_alloc_zero(allocator, sizeof *blame);
    if (!blame) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    blame->allocator = blame->log.allocator = *allocator;
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
    spans_free(&blame->log);
    pw_free(&allocator, blame->root, blame->root_capacity * sizeof *blame->root);
    pw_free(&allocator, blame->rank, blame->rank_capacity * sizeof *blame->rank);
    pw_free(&allocator, blame->work, blame->work_capacity * sizeof *blame->work);
    pw_free(&allocator, blame->parts, blame->part_capacity * sizeof *blame->parts);
    pw_arena_destroy(blame->arena);
    pw_free(&allocator, blame, sizeof *blame);
}

/* --- The account -------------------------------------------------------------------------------------------------- */

/* Ticks by what they go to, and what the names of the records mean. */
typedef struct account {
    uint32_t home; /* track of the rank class */
    pw_time optimizer, host, bubble, unexplained, message_total;
    pw_time *segments;      /* [segments] */
    pw_time *communication; /* [categories] */
    pw_time *messages;      /* [categories]: scratch of one gap */
    pw_time *names;         /* [names]: whatever else is called by its category */
    uint32_t *category_of, *segment_of; /* [names], PW_NONE: not the name of one */
    pw_name send, recv;
    uint64_t steps_left;    /* along round trips: bounds the effort */
} account;

static bool prepare_account(pw_blame *blame, account *to) {
    const pw_job *job = blame->job;
    char text[256];
    pw_arena *arena = blame->arena;
    pw_name *labels = pw_arena_alloc(arena, (job->segment_count + 1) * sizeof *labels);
    pw_name *categories = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *categories);
    to->segments = pw_arena_alloc(arena, (job->segment_count + 1) * sizeof *to->segments);
    to->communication = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *to->communication);
    to->messages = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *to->messages);
    to->send = pw_record_name(blame->recorder, "send");
    to->recv = pw_record_name(blame->recorder, "recv");
    if (!labels || !categories || !to->segments || !to->communication || !to->messages || !to->send || !to->recv) return false;
    for (uint32_t s = 0; s < job->segment_count; s++) {
        pw_segment_label(job, s, blame->repeated[s], text, sizeof text);
        labels[s] = pw_record_name(blame->recorder, text);
        if (labels[s] == 0) return false;
        if (labels[s] >= blame->log.name_count) blame->log.name_count = labels[s] + 1;
    }
    for (uint32_t c = 0; c < job->category_count; c++) {
        categories[c] = pw_record_name(blame->recorder, job->categories[c].name);
        if (categories[c] == 0) return false;
        if (categories[c] >= blame->log.name_count) blame->log.name_count = categories[c] + 1;
    }
    to->names = pw_arena_alloc(arena, (blame->log.name_count + 1) * sizeof *to->names);
    to->category_of = pw_arena_alloc(arena, (blame->log.name_count + 1) * sizeof *to->category_of);
    to->segment_of = pw_arena_alloc(arena, (blame->log.name_count + 1) * sizeof *to->segment_of);
    if (!to->names || !to->category_of || !to->segment_of) return false;
    for (uint32_t n = 0; n < blame->log.name_count; n++) to->category_of[n] = to->segment_of[n] = PW_NONE;
    for (uint32_t s = 0; s < job->segment_count; s++) to->segment_of[labels[s]] = s;
    for (uint32_t c = job->category_count; c-- > 0;) to->category_of[categories[c]] = c;
    to->steps_left = blame->log.count;
    return true;
}

static pw_blame_class class_of(const pw_blame *blame, const account *to, const known_span *span) {
    uint32_t category = to->category_of[span->is.category];
    return category == PW_NONE ? PW_BLAME_OTHER : blame->job->categories[category].blame;
}

static bool is_work(const pw_blame *blame, const account *to, const known_span *span) {
    pw_blame_class class = class_of(blame, to, span);
    return class == PW_BLAME_COMPUTE || class == PW_BLAME_OPTIMIZER;
}

/* A transfer between two programs' layers. */
static bool is_message(const pw_blame *blame, const account *to, const known_span *span) {
    return (span->is.label == to->send || span->is.label == to->recv) &&
           class_of(blame, to, span) == PW_BLAME_COMMUNICATION;
}

static bool is_home(const pw_blame *blame, const account *to, const known_span *span) {
    return blame->rank[span->is.track] == to->home;
}

/* --- Home --------------------------------------------------------------------------------------------------------- */

/* Of the tracks t with of[t] == t (and below `parent`, unless 0), the one with most ticks; of equals the one of the last
 * span, then the first. */
static uint32_t most(const pw_blame *blame, const uint32_t *of, uint32_t parent, const pw_time *ticks) {
    uint32_t best = of[spans_get(&blame->log, blame->log.last).is.track];
    if (parent && blame->root[best] != parent) best = 0;
    for (uint32_t t = 1; t < blame->root_capacity; t++)
        if (of[t] == t && (!parent || blame->root[t] == parent) && (best == 0 || ticks[t] > ticks[best])) best = t;
    return best;
}

/* Home is where the critical path computes longest; a run without computation is seen from where it is longest. */
static bool find_home(pw_blame *blame, account *to, uint32_t *program) {
    size_t count = blame->root_capacity + 1;
    pw_time *ticks = pw_arena_alloc(blame->arena, 4 * count * sizeof *ticks);
    if (!ticks) return false;
    pw_time *work[2] = {ticks, ticks + count}, *all[2] = {ticks + 2 * count, ticks + 3 * count}; /* program, rank class */
    trail path = {spans_get(&blame->log, blame->log.last), blame->log.end};
    piece p;
    pw_time worked = 0;
    while (spans_step_back(&blame->log, &path, blame->log.begin, &p)) {
        if (!p.span.number) continue;
        uint32_t at[2] = {blame->root[p.span.is.track], blame->rank[p.span.is.track]};
        bool works = is_work(blame, to, &p.span);
        if (works) worked += p.to - p.from;
        for (int level = 0; level < 2; level++) {
            all[level][at[level]] += p.to - p.from;
            if (works) work[level][at[level]] += p.to - p.from;
        }
    }
    *program = most(blame, blame->root, 0, worked > 0 ? work[0] : all[0]);
    to->home = most(blame, blame->rank, *program, worked > 0 ? work[1] : all[1]);
    return true;
}

static int compare_work(const void *left, const void *right) {
    const work_time *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->span < b->span ? -1 : a->span > b->span;
}

static void list_work(pw_blame *blame, const account *to) {
    blame->work_count = 0;
    bool *wanted = pw_arena_alloc(blame->arena, blame->log.kind_count + 1);
    if (!wanted) {
        blame->failed = true;
        return;
    }
    for (size_t k = 0; k < blame->log.kind_count; k++) {
        known_span any = {.is = blame->log.kinds[k]};
        wanted[k] = is_home(blame, to, &any) && is_work(blame, to, &any);
    }
    for (uint32_t number = 1; number <= blame->log.count; number++) {
        if (!wanted[spans_kind(&blame->log, number)]) continue;
        known_span span = spans_get(&blame->log, number);
        if (span.end == span.start) continue;
        if (pw_grow(&blame->allocator, (void **)&blame->work, &blame->work_capacity, blame->work_count + 1,
                    sizeof *blame->work)) {
            blame->failed = true;
            return;
        }
        blame->work[blame->work_count++] = (work_time){.from = span.start, .to = span.end, .span = number};
    }
    if (blame->work_count == 0) return;
    qsort(blame->work, blame->work_count, sizeof *blame->work, compare_work);
    size_t kept = 0; /* side by side: the first one counts */
    pw_time until = blame->work[0].from;
    for (size_t i = 0; i < blame->work_count; i++) {
        work_time next = blame->work[i];
        if (next.from < until) next.from = until;
        if (next.to <= next.from) continue;
        until = next.to;
        blame->work[kept++] = next;
    }
    blame->work_count = kept;
}

/* --- Giving time to accounts -------------------------------------------------------------------------------------- */

static void give_work(const pw_blame *blame, account *to, const known_span *span, pw_time ticks) {
    uint32_t segment = to->segment_of[span->is.label];
    if (class_of(blame, to, span) == PW_BLAME_OPTIMIZER) to->optimizer += ticks;
    else if (segment != PW_NONE) to->segments[segment] += ticks;
    else to->names[span->is.category] += ticks;
}

/* A piece of a gap. */
static void give_piece(const pw_blame *blame, account *to, const piece *p) {
    pw_time ticks = p->to - p->from;
    if (!p->span.number) {
        to->unexplained += ticks;
        return;
    }
    bool home = is_home(blame, to, &p->span);
    uint32_t category = to->category_of[p->span.is.category];
    switch (class_of(blame, to, &p->span)) {
        case PW_BLAME_OPTIMIZER: to->optimizer += ticks; return; /* another program's */
        case PW_BLAME_LAYER_COMMUNICATION:
            if (!home) break;
            to->communication[category] += ticks;
            return;
        case PW_BLAME_COMMUNICATION:
            to->communication[category] += ticks;
            if (is_message(blame, to, &p->span)) to->message_total += ticks;
            return;
        case PW_BLAME_HOST:
            if (!home) break;
            to->host += ticks;
            return;
        default: /* launches, and what the job calls other */
            if (!home) break;
            to->names[p->span.is.category] += ticks;
            return;
    }
    to->bubble += ticks;
}

/* The trail goes on before the gap. When it comes back to home's work, its messages there take over bubble.
 * given: message_total before the gap. */
static void give_round_trip(const pw_blame *blame, account *to, trail *on, pw_time bubble, pw_time given) {
    pw_time length = 0;
    piece p;
    memset(to->messages, 0, blame->job->category_count * sizeof *to->messages);
    while (to->steps_left > 0 && spans_step_back(&blame->log, on, blame->log.begin, &p)) {
        to->steps_left--;
        if (!p.span.number) return;
        if (is_home(blame, to, &p.span) && is_work(blame, to, &p.span)) {
            size_t low = 0, high = blame->work_count; /* the first work that ends then or later */
            while (low < high) {
                size_t middle = (low + high) / 2;
                if (blame->work[middle].to >= p.to) high = middle;
                else low = middle + 1;
            }
            pw_time left = length - (given - blame->work[low].messages);
            if (left > bubble) left = bubble;
            for (uint32_t c = 0; c < blame->job->category_count && left > 0; c++) {
                pw_time ticks = to->messages[c] < left ? to->messages[c] : left;
                to->communication[c] += ticks;
                to->message_total += ticks;
                to->bubble -= ticks;
                left -= ticks;
            }
            return;
        }
        if (!is_message(blame, to, &p.span)) continue;
        to->messages[to->category_of[p.span.is.category]] += p.to - p.from;
        length += p.to - p.from;
    }
}

static void give_gap(const pw_blame *blame, account *to, const known_span *released, pw_time from, pw_time end) {
    trail on = {*released, end};
    piece p;
    pw_time bubble = to->bubble, given = to->message_total;
    while (spans_step_back(&blame->log, &on, from, &p)) give_piece(blame, to, &p);
    if (to->bubble > bubble && from > blame->log.begin) give_round_trip(blame, to, &on, to->bubble - bubble, given);
}

static void give_all(pw_blame *blame, account *to) {
    pw_time at = blame->log.begin;
    for (size_t i = 0; i < blame->work_count; i++) {
        work_time *work = &blame->work[i];
        known_span span = spans_get(&blame->log, work->span);
        if (work->from > at) give_gap(blame, to, &span, at, work->from);
        work->messages = to->message_total;
        give_work(blame, to, &span, work->to - work->from);
        at = work->to;
    }
    if (blame->log.end == at) return;
    known_span last = spans_get(&blame->log, blame->log.last);
    give_gap(blame, to, &last, at, blame->log.end);
}

/* --- Parts -------------------------------------------------------------------------------------------------------- */

static void add_part(pw_blame *blame, const char *name, pw_time ticks) {
    if (ticks == 0 || blame->failed) return;
    for (size_t i = 0; i < blame->part_count; i++)
        if (strcmp(blame->parts[i].name, name) == 0) {
            blame->parts[i].ticks += ticks;
            return;
        }
    char *kept = pw_arena_text(blame->arena, name);
    if (!kept || pw_grow(&blame->allocator, (void **)&blame->parts, &blame->part_capacity, blame->part_count + 1,
                         sizeof *blame->parts)) {
        blame->failed = true;
        return;
    }
    blame->parts[blame->part_count++] = (struct part_time){kept, ticks};
}

/* Splits the time of a segment over the classes of its kernels, by their share at the reference clock, in whole ticks. */
static void add_segment(pw_blame *blame, uint32_t index, pw_time ticks) {
    const pw_segment *segment = &blame->job->segments[index];
    double of_class[PW_KERNEL_CLASS_COUNT] = {0}, sum = 0;
    if (ticks == 0) return;
    for (uint32_t p = 0; p < segment->count; p++) {
        const pw_kernel *kernel = &blame->job->kernels[segment->parts[p].kernel];
        pw_kernel_cost cost;
        if (pw_gpu_kernel_cost(blame->gpu, kernel, NULL, &cost, NULL) != PW_OK) continue;
        of_class[kernel->kind] += segment->parts[p].repeats * cost.total_s;
        sum += segment->parts[p].repeats * cost.total_s;
    }
    int last = PW_KERNEL_CLASS_COUNT - 1; /* takes what rounding leaves */
    while (last > 0 && of_class[last] == 0) last--;
    pw_time given = 0;
    for (int k = 0; k < last && sum > 0; k++) {
        pw_time part = (pw_time)((double)ticks * (of_class[k] / sum));
        if (part > ticks - given) part = ticks - given;
        add_part(blame, pw_kernel_class_names[k], part);
        given += part;
    }
    add_part(blame, sum > 0 ? pw_kernel_class_names[last] : "compute", ticks - given);
}

static void add_parts(pw_blame *blame, const account *from) {
    char text[256];
    for (uint32_t s = 0; s < blame->job->segment_count; s++) add_segment(blame, s, from->segments[s]);
    for (uint32_t c = 0; c < blame->job->category_count; c++) {
        snprintf(text, sizeof text, "%s communication", blame->job->categories[c].name);
        add_part(blame, text, from->communication[c]);
    }
    for (uint32_t n = 0; n < blame->log.name_count; n++)
        add_part(blame, pw_record_name_text(blame->recorder, n), from->names[n]);
    add_part(blame, "optimizer", from->optimizer);
    add_part(blame, "host", from->host);
    add_part(blame, "bubble", from->bubble);
    add_part(blame, "unexplained", from->unexplained);
}

static int compare_parts(const void *left, const void *right) {
    const struct part_time *a = left, *b = right;
    if (a->ticks != b->ticks) return a->ticks > b->ticks ? -1 : 1;
    return strcmp(a->name, b->name);
}

pw_status pw_blame_result(pw_blame *blame, const pw_blame_part **parts, uint32_t *count, double *total_s,
                          const char **home_program, pw_error *error) {
    blame->part_count = 0;
    *parts = NULL;
    *count = 0;
    *total_s = 0;
    *home_program = "";
    account to = {0};
    uint32_t program;
    if (blame->failed || !prepare_account(blame, &to))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    if (blame->log.count == 0) return PW_OK;
    bool good = find_home(blame, &to, &program);
    if (good) list_work(blame, &to);
    if (good && !blame->failed) {
        give_all(blame, &to);
        add_parts(blame, &to);
    }
    if (!good || blame->failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    *home_program = pw_record_track_text(blame->recorder, program);
    pw_time length = blame->log.end - blame->log.begin, sum = 0;
    for (size_t i = 0; i < blame->part_count; i++) sum += blame->parts[i].ticks;
    if (sum != length)
        return pw_fail(error, PW_LAW, NULL, 0, NULL, "the parts of the run add up to %lld ticks of %lld", (long long)sum,
                       (long long)length);
    pw_blame_part *kept = pw_arena_alloc(blame->arena, (blame->part_count + 1) * sizeof *kept);
    if (!kept) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    if (blame->part_count) qsort(blame->parts, blame->part_count, sizeof *blame->parts, compare_parts);
    for (size_t i = 0; i < blame->part_count; i++)
        kept[i] = (pw_blame_part){.name = blame->parts[i].name,
                                  .seconds = (double)blame->parts[i].ticks / PW_TICKS_PER_SECOND_STEP,
                                  .share = (double)blame->parts[i].ticks / (double)length};
    *parts = kept;
    *count = (uint32_t)blame->part_count;
    *total_s = (double)length / PW_TICKS_PER_SECOND_STEP;
    return PW_OK;
}
