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

enum { SPANS = 4096 }; /* of a chunk */

/* A run has millions of spans, so what is kept of one is small. It starts where its cause ends, or it is in the list of
 * those that do not; where and what it is, is one of a few thousand kinds. */
typedef struct kept_span {
    pw_time end;
    uint32_t cause; /* its number, counted from 1 in this run; 0: none */
    uint32_t kind : 31, apart : 1;
} kept_span;

typedef struct span_kind {
    uint32_t track;
    pw_name category, label;
} span_kind;

/* A span, unpacked. */
typedef struct known_span {
    pw_time start, end;
    uint32_t number, cause;
    span_kind is;
} known_span;

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
    kept_span **chunks;
    size_t chunk_count, chunk_capacity;
    uint32_t span_count;
    struct own_start { uint32_t number; pw_time start; } *starts; /* of spans apart from their causes, in order */
    size_t start_count, start_capacity;
    span_kind *kinds;
    size_t kind_count, kind_capacity;
    uint32_t *kind_table, kind_slots; /* open addressing; PW_NONE: free */
    pw_span_id first_id;
    pw_time begin, end, begin_of_all; /* begin_of_all: where spans without a cause start, as the first one did */
    uint32_t last;       /* the span that ends last; of several, the one reported last */
    uint32_t name_count; /* above every name seen */
    uint32_t *root, *rank; /* by track: the top track, and the one below it on the way there (itself at the top) */
    size_t root_capacity, rank_capacity;
    work_time *work;
    size_t work_count, work_capacity;
    bool failed;
    struct part_time { const char *name; pw_time ticks; } *parts;
    size_t part_count, part_capacity;
};

static kept_span *kept_at(const pw_blame *blame, uint32_t number) {
    return &blame->chunks[(number - 1) / SPANS][(number - 1) % SPANS];
}

/* Where a span starts that lets no time pass after its cause. */
static pw_time start_after(const pw_blame *blame, uint32_t cause) { return cause ? kept_at(blame, cause)->end : blame->begin_of_all; }

static known_span span_of(const pw_blame *blame, uint32_t number) {
    const kept_span *kept = kept_at(blame, number);
    known_span span = {.end = kept->end, .number = number, .cause = kept->cause, .is = blame->kinds[kept->kind]};
    if (!kept->apart) {
        span.start = start_after(blame, kept->cause);
        return span;
    }
    size_t low = 0, high = blame->start_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blame->starts[middle].number >= number) high = middle;
        else low = middle + 1;
    }
    span.start = blame->starts[low].start;
    return span;
}

static uint32_t *kind_slot(const pw_blame *blame, const span_kind *kind) {
    uint64_t hash = ((uint64_t)kind->track << 40) ^ ((uint64_t)kind->category << 20) ^ kind->label;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    uint32_t at = (uint32_t)(hash >> 32) & (blame->kind_slots - 1);
    for (;; at = (at + 1) & (blame->kind_slots - 1)) {
        uint32_t index = blame->kind_table[at];
        if (index == PW_NONE) return &blame->kind_table[at];
        const span_kind *known = &blame->kinds[index];
        if (known->track == kind->track && known->category == kind->category && known->label == kind->label)
            return &blame->kind_table[at];
    }
}

/* PW_NONE when memory is out. */
static uint32_t kind_of(pw_blame *blame, const span_kind *kind) {
    if (2 * (blame->kind_count + 1) > blame->kind_slots) {
        uint32_t slots = blame->kind_slots ? 2 * blame->kind_slots : 256;
        uint32_t *table = pw_alloc(&blame->allocator, slots * sizeof *table);
        if (!table) return PW_NONE;
        pw_free(&blame->allocator, blame->kind_table, blame->kind_slots * sizeof *table);
        blame->kind_table = table;
        blame->kind_slots = slots;
        for (uint32_t i = 0; i < slots; i++) table[i] = PW_NONE;
        for (size_t k = 0; k < blame->kind_count; k++) *kind_slot(blame, &blame->kinds[k]) = (uint32_t)k;
    }
    uint32_t *slot = kind_slot(blame, kind);
    if (*slot != PW_NONE) return *slot;
    if (pw_grow(&blame->allocator, (void **)&blame->kinds, &blame->kind_capacity, blame->kind_count + 1,
                sizeof *blame->kinds))
        return PW_NONE;
    blame->kinds[blame->kind_count] = *kind;
    if (kind->category >= blame->name_count) blame->name_count = kind->category + 1;
    if (kind->label >= blame->name_count) blame->name_count = kind->label + 1;
    return *slot = (uint32_t)blame->kind_count++;
}

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

static bool keep_span(pw_blame *blame, const pw_span *span) {
    uint32_t index = blame->span_count;
    if (index % SPANS == 0) {
        kept_span *chunk = NULL;
        if (index == UINT32_MAX - SPANS + 1 || pw_grow(&blame->allocator, (void **)&blame->chunks, &blame->chunk_capacity,
                                                       blame->chunk_count + 1, sizeof *blame->chunks) ||
            !(chunk = pw_alloc(&blame->allocator, SPANS * sizeof *chunk)))
            return false;
        blame->chunks[blame->chunk_count++] = chunk;
    }
    uint32_t kind = kind_of(blame, &(span_kind){span->track, span->category, span->label});
    if (kind == PW_NONE) return false;
    if (index == 0) {
        blame->first_id = span->id;
        blame->begin = blame->begin_of_all = span->start;
        blame->end = span->end;
    }
    uint32_t cause = span->cause < blame->first_id ? 0 : (uint32_t)(span->cause - blame->first_id) + 1;
    if (cause > index) cause = 0;
    bool apart = span->start != start_after(blame, cause);
    if (apart) {
        if (pw_grow(&blame->allocator, (void **)&blame->starts, &blame->start_capacity, blame->start_count + 1,
                    sizeof *blame->starts))
            return false;
        blame->starts[blame->start_count++] = (struct own_start){index + 1, span->start};
    }
    blame->span_count++;
    *kept_at(blame, index + 1) = (kept_span){.end = span->end, .cause = cause, .kind = kind & INT32_MAX, .apart = apart};
    if (span->start < blame->begin) blame->begin = span->start;
    if (span->end >= blame->end) {
        blame->end = span->end;
        blame->last = index + 1;
    }
    return true;
}

static void on_span(void *object, const pw_span *span) {
    pw_blame *blame = object;
    if (!blame->failed && !keep_span(blame, span)) blame->failed = true;
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
    for (size_t i = 0; i < blame->chunk_count; i++) pw_free(&allocator, blame->chunks[i], SPANS * sizeof **blame->chunks);
    pw_free(&allocator, blame->chunks, blame->chunk_capacity * sizeof *blame->chunks);
    pw_free(&allocator, blame->starts, blame->start_capacity * sizeof *blame->starts);
    pw_free(&allocator, blame->kinds, blame->kind_capacity * sizeof *blame->kinds);
    pw_free(&allocator, blame->kind_table, blame->kind_slots * sizeof *blame->kind_table);
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
    bool *inside_layer;     /* [categories] */
    pw_name send, recv;
    uint64_t steps_left;    /* along round trips: bounds the effort */
} account;

/* Parallelism inside a layer is part of a stage's work: another stage's counts as waiting for it. */
static bool inside_layer(const char *category) {
    static const char *const names[] = {"tp", "cp", "ep", "sp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], category) == 0) return true;
    return false;
}

static bool prepare_account(pw_blame *blame, account *to) {
    const pw_job *job = blame->job;
    char text[256];
    pw_arena *arena = blame->arena;
    pw_name *labels = pw_arena_alloc(arena, (job->segment_count + 1) * sizeof *labels);
    pw_name *categories = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *categories);
    to->segments = pw_arena_alloc(arena, (job->segment_count + 1) * sizeof *to->segments);
    to->communication = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *to->communication);
    to->messages = pw_arena_alloc(arena, (job->category_count + 1) * sizeof *to->messages);
    to->inside_layer = pw_arena_alloc(arena, job->category_count + 1);
    to->send = pw_record_name(blame->recorder, "send");
    to->recv = pw_record_name(blame->recorder, "recv");
    if (!labels || !categories || !to->segments || !to->communication || !to->messages || !to->inside_layer || !to->send ||
        !to->recv)
        return false;
    for (uint32_t s = 0; s < job->segment_count; s++) {
        pw_segment_label(job, s, blame->repeated[s], text, sizeof text);
        labels[s] = pw_record_name(blame->recorder, text);
        if (labels[s] == 0) return false;
        if (labels[s] >= blame->name_count) blame->name_count = labels[s] + 1;
    }
    for (uint32_t c = 0; c < job->category_count; c++) {
        categories[c] = pw_record_name(blame->recorder, job->categories[c].name);
        if (categories[c] == 0) return false;
        if (categories[c] >= blame->name_count) blame->name_count = categories[c] + 1;
        to->inside_layer[c] = inside_layer(job->categories[c].name);
    }
    to->names = pw_arena_alloc(arena, (blame->name_count + 1) * sizeof *to->names);
    to->category_of = pw_arena_alloc(arena, (blame->name_count + 1) * sizeof *to->category_of);
    to->segment_of = pw_arena_alloc(arena, (blame->name_count + 1) * sizeof *to->segment_of);
    if (!to->names || !to->category_of || !to->segment_of) return false;
    for (uint32_t n = 0; n < blame->name_count; n++) to->category_of[n] = to->segment_of[n] = PW_NONE;
    for (uint32_t s = 0; s < job->segment_count; s++) to->segment_of[labels[s]] = s;
    for (uint32_t c = job->category_count; c-- > 0;) to->category_of[categories[c]] = c;
    to->steps_left = blame->span_count;
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
           class_of(blame, to, span) == PW_BLAME_COMMUNICATION && !to->inside_layer[to->category_of[span->is.category]];
}

static bool is_home(const pw_blame *blame, const account *to, const known_span *span) {
    return blame->rank[span->is.track] == to->home;
}

/* --- The chain of causes ------------------------------------------------------------------------------------------ */

typedef struct trail {
    known_span span; /* what lies before `at`; number 0: nothing */
    pw_time at;
} trail;

typedef struct piece {
    known_span span; /* number 0: unexplained */
    pw_time from, to;
} piece;

/* The next piece back, cut at `floor`; false when the trail has got there. Between the end of a cause and the start of what
 * it released there is no time by construction. */
static bool step_back(const pw_blame *blame, trail *on, pw_time floor, piece *out) {
    while (on->at > floor) {
        known_span *span = &on->span;
        bool covers = span->number && span->end >= on->at;
        if (covers && span->start >= on->at) {
            if (span->cause) *span = span_of(blame, span->cause);
            else span->number = 0;
            continue;
        }
        pw_time from = covers ? span->start : span->number ? span->end : floor;
        if (from < floor) from = floor;
        *out = (piece){.from = from, .to = on->at};
        if (covers) out->span = *span;
        on->at = from;
        return true;
    }
    return false;
}

/* --- Home --------------------------------------------------------------------------------------------------------- */

/* Of the tracks t with of[t] == t (and below `parent`, unless 0), the one with most ticks; of equals the one of the last
 * span, then the first. */
static uint32_t most(const pw_blame *blame, const uint32_t *of, uint32_t parent, const pw_time *ticks) {
    uint32_t best = of[span_of(blame, blame->last).is.track];
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
    trail path = {span_of(blame, blame->last), blame->end};
    piece p;
    pw_time worked = 0;
    while (step_back(blame, &path, blame->begin, &p)) {
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
    bool *wanted = pw_arena_alloc(blame->arena, blame->kind_count + 1);
    if (!wanted) {
        blame->failed = true;
        return;
    }
    for (size_t k = 0; k < blame->kind_count; k++) {
        known_span any = {.is = blame->kinds[k]};
        wanted[k] = is_home(blame, to, &any) && is_work(blame, to, &any);
    }
    for (uint32_t number = 1; number <= blame->span_count; number++) {
        if (!wanted[kept_at(blame, number)->kind]) continue;
        known_span span = span_of(blame, number);
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
        case PW_BLAME_COMMUNICATION:
            if (!home && to->inside_layer[category]) break;
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
    while (to->steps_left > 0 && step_back(blame, on, blame->begin, &p)) {
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
    while (step_back(blame, &on, from, &p)) give_piece(blame, to, &p);
    if (to->bubble > bubble && from > blame->begin) give_round_trip(blame, to, &on, to->bubble - bubble, given);
}

static void give_all(pw_blame *blame, account *to) {
    pw_time at = blame->begin;
    for (size_t i = 0; i < blame->work_count; i++) {
        work_time *work = &blame->work[i];
        known_span span = span_of(blame, work->span);
        if (work->from > at) give_gap(blame, to, &span, at, work->from);
        work->messages = to->message_total;
        give_work(blame, to, &span, work->to - work->from);
        at = work->to;
    }
    if (blame->end == at) return;
    known_span last = span_of(blame, blame->last);
    give_gap(blame, to, &last, at, blame->end);
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
    for (uint32_t n = 0; n < blame->name_count; n++)
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
    if (blame->span_count == 0) return PW_OK;
    bool good = find_home(blame, &to, &program);
    if (good) list_work(blame, &to);
    if (good && !blame->failed) {
        give_all(blame, &to);
        add_parts(blame, &to);
    }
    if (!good || blame->failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the critical path");
    *home_program = pw_record_track_text(blame->recorder, program);
    pw_time length = blame->end - blame->begin, sum = 0;
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
