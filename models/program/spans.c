/* What is kept of a span is small, for a run has millions: where it ends, its cause, and what it is, as one of a few
 * thousand kinds. It starts where its cause ends, or it is in the list of those that do not. */
#include "models/program/spans.h"

enum { SPANS = 4096 }; /* of a chunk */
static const uint32_t NO_KIND = UINT32_MAX;

struct kept_span {
    pw_time end;
    uint32_t cause; /* its number, counted from 1 in this run; 0: none */
    uint32_t kind : 31, apart : 1;
};

static kept_span *kept_at(const span_log *log, uint32_t number) {
    return &log->chunks[(number - 1) / SPANS][(number - 1) % SPANS];
}

/* Where a span starts that lets no time pass after its cause. */
static pw_time start_after(const span_log *log, uint32_t cause) { return cause ? kept_at(log, cause)->end : log->begin_of_all; }

known_span spans_get(const span_log *log, uint32_t number) {
    const kept_span *kept = kept_at(log, number);
    known_span span = {.end = kept->end, .number = number, .cause = kept->cause, .is = log->kinds[kept->kind]};
    if (!kept->apart) {
        span.start = start_after(log, kept->cause);
        return span;
    }
    size_t low = 0, high = log->start_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (log->starts[middle].number >= number) high = middle;
        else low = middle + 1;
    }
    span.start = log->starts[low].start;
    return span;
}

static kind_slot *slot_of(const span_log *log, const span_kind *kind) {
    uint64_t hash = ((uint64_t)kind->track << 40) ^ ((uint64_t)kind->category << 20) ^ kind->label;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
        kind_slot *slot = &log->slots[at & (log->slot_count - 1)];
        if (slot->number == 0 || (slot->kind.track == kind->track && slot->kind.category == kind->category &&
                                  slot->kind.label == kind->label))
            return slot;
    }
}

/* NO_KIND when memory is out. */
static uint32_t kind_of(span_log *log, const span_kind *kind) {
    if (2 * (log->kind_count + 1) > log->slot_count) {
        uint32_t count = log->slot_count ? 2 * log->slot_count : 256;
        kind_slot *slots = pw_alloc_zero(&log->allocator, count * sizeof *slots);
        if (!slots) return NO_KIND;
        pw_free(&log->allocator, log->slots, log->slot_count * sizeof *slots);
        log->slots = slots;
        log->slot_count = count;
        for (uint32_t k = 0; k < log->kind_count; k++) *slot_of(log, &log->kinds[k]) = (kind_slot){log->kinds[k], k + 1};
    }
    kind_slot *slot = slot_of(log, kind);
    if (slot->number) return slot->number - 1;
    if (pw_grow(&log->allocator, (void **)&log->kinds, &log->kind_capacity, log->kind_count + 1, sizeof *log->kinds))
        return NO_KIND;
    log->kinds[log->kind_count] = *kind;
    if (kind->category >= log->name_count) log->name_count = kind->category + 1;
    if (kind->label >= log->name_count) log->name_count = kind->label + 1;
    *slot = (kind_slot){*kind, (uint32_t)++log->kind_count};
    return slot->number - 1;
}

bool spans_keep(span_log *log, const pw_span *span) {
    uint32_t index = log->count;
    if (index % SPANS == 0) {
        kept_span *chunk = NULL;
        if (index == UINT32_MAX - SPANS + 1 || pw_grow(&log->allocator, (void **)&log->chunks, &log->chunk_capacity,
                                                       log->chunk_count + 1, sizeof *log->chunks) ||
            !(chunk = pw_alloc(&log->allocator, SPANS * sizeof *chunk)))
            return false;
        log->chunks[log->chunk_count++] = chunk;
    }
    uint32_t kind = kind_of(log, &(span_kind){span->track, span->category, span->label});
    if (kind == NO_KIND) return false;
    if (index == 0) {
        log->first_id = span->id;
        log->begin = log->begin_of_all = span->start;
        log->end = span->end;
    }
    uint32_t cause = span->cause < log->first_id ? 0 : (uint32_t)(span->cause - log->first_id) + 1;
    if (cause > index) cause = 0;
    bool apart = span->start != start_after(log, cause);
    if (apart) {
        if (pw_grow(&log->allocator, (void **)&log->starts, &log->start_capacity, log->start_count + 1,
                    sizeof *log->starts))
            return false;
        log->starts[log->start_count++] = (struct own_start){index + 1, span->start};
    }
    log->count++;
    *kept_at(log, index + 1) = (kept_span){.end = span->end, .cause = cause, .kind = kind & INT32_MAX, .apart = apart};
    if (span->start < log->begin) log->begin = span->start;
    if (span->end >= log->end) {
        log->end = span->end;
        log->last = index + 1;
    }
    return true;
}

bool spans_step_back(const span_log *log, trail *on, pw_time floor, piece *out) {
    while (on->at > floor) {
        known_span *span = &on->span;
        bool covers = span->number && span->end >= on->at;
        if (covers && span->start >= on->at) {
            if (span->cause) *span = spans_get(log, span->cause);
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

uint32_t spans_kind(const span_log *log, uint32_t number) { return kept_at(log, number)->kind; }

void spans_free(span_log *log) {
    for (size_t i = 0; i < log->chunk_count; i++) pw_free(&log->allocator, log->chunks[i], SPANS * sizeof **log->chunks);
    pw_free(&log->allocator, log->chunks, log->chunk_capacity * sizeof *log->chunks);
    pw_free(&log->allocator, log->starts, log->start_capacity * sizeof *log->starts);
    pw_free(&log->allocator, log->kinds, log->kind_capacity * sizeof *log->kinds);
    pw_free(&log->allocator, log->slots, log->slot_count * sizeof *log->slots);
}
