/* Names and tracks are interned in hash tables that are only ever looked up, never walked: ids follow the order of
 * registration. Reports go straight to the sinks, in order of attachment; nothing is stored here. */
#include "sim/record.h"

#include <string.h>

typedef struct entry {
    const char *text;
    uint32_t parent; /* of a track; 0 for names */
    uint32_t hash;
} entry;

/* Interned entries; id n is entries[n - 1]. slots: open addressing, a power of two, 0 is empty. */
typedef struct table {
    entry *entries;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
} table;

struct pw_recorder {
    const pw_allocator *allocator;
    pw_arena *arena;
    table names, tracks;
    pw_sink *sinks;
    size_t sink_count, sink_capacity;
    pw_span_id last_span;
    bool closed;
};

static uint32_t hash_of(const char *text, uint32_t parent) { /* FNV-1a */
    uint64_t hash = (UINT64_C(0xcbf29ce484222325) ^ parent) * UINT64_C(0x100000001b3);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash >> 32 ^ hash);
}

static size_t slot_of(const table *in, const char *text, uint32_t parent, uint32_t hash) {
    size_t mask = in->slot_count - 1, slot = hash & mask;
    for (; in->slots[slot]; slot = (slot + 1) & mask) {
        const entry *at = &in->entries[in->slots[slot] - 1];
        if (at->hash == hash && at->parent == parent && strcmp(at->text, text) == 0) break;
    }
    return slot;
}

static int grow_slots(const pw_allocator *allocator, table *in) {
    size_t grown = in->slot_count ? in->slot_count * 2 : 64;
    uint32_t *slots = pw_alloc_zero(allocator, grown * sizeof *slots);
    if (!slots) return -1;
    pw_free(allocator, in->slots, in->slot_count * sizeof *slots);
    in->slots = slots;
    in->slot_count = grown;
    for (size_t i = 0; i < in->count; i++) {
        size_t slot = in->entries[i].hash & (grown - 1);
        while (slots[slot]) slot = (slot + 1) & (grown - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    return 0;
}

static uint32_t intern(pw_recorder *recorder, table *in, const char *text, uint32_t parent, bool *is_new) {
    const pw_allocator *allocator = recorder->allocator;
    *is_new = false;
    if (4 * (in->count + 1) > 3 * in->slot_count && grow_slots(allocator, in) != 0) return 0;
    uint32_t hash = hash_of(text, parent);
    size_t slot = slot_of(in, text, parent, hash);
    if (in->slots[slot]) return in->slots[slot];
    if (in->count >= UINT32_MAX - 1 ||
        pw_grow(allocator, (void **)&in->entries, &in->capacity, in->count + 1, sizeof *in->entries) != 0)
        return 0;
    char *copy = pw_arena_text(recorder->arena, text);
    if (!copy) return 0;
    in->entries[in->count++] = (entry){copy, parent, hash};
    in->slots[slot] = (uint32_t)in->count;
    *is_new = true;
    return (uint32_t)in->count;
}

static void free_table(const pw_allocator *allocator, table *in) {
    pw_free(allocator, in->entries, in->capacity * sizeof *in->entries);
    pw_free(allocator, in->slots, in->slot_count * sizeof *in->slots);
}

pw_status pw_recorder_create(const pw_allocator *allocator, pw_recorder **result, pw_error *error) {
    *result = NULL;
    pw_recorder *recorder = pw_alloc_zero(allocator, sizeof *recorder);
    pw_arena *arena = recorder ? pw_arena_create(allocator) : NULL;
    if (!arena) {
        pw_free(allocator, recorder, sizeof *recorder);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for a recorder");
    }
    recorder->allocator = allocator;
    recorder->arena = arena;
    *result = recorder;
    return PW_OK;
}

void pw_recorder_destroy(pw_recorder *recorder) {
    if (!recorder) return;
    const pw_allocator *allocator = recorder->allocator;
    free_table(allocator, &recorder->names);
    free_table(allocator, &recorder->tracks);
    pw_free(allocator, recorder->sinks, recorder->sink_capacity * sizeof *recorder->sinks);
    pw_arena_destroy(recorder->arena);
    pw_free(allocator, recorder, sizeof *recorder);
}

pw_status pw_recorder_attach(pw_recorder *recorder, const pw_sink *sink) {
    if (pw_grow(recorder->allocator, (void **)&recorder->sinks, &recorder->sink_capacity, recorder->sink_count + 1,
                sizeof *recorder->sinks) != 0)
        return PW_NO_MEMORY;
    recorder->sinks[recorder->sink_count++] = *sink;
    for (size_t i = 0; sink->on_name && i < recorder->names.count; i++)
        sink->on_name(sink->object, (pw_name)i + 1, recorder->names.entries[i].text);
    if (!sink->on_track) return PW_OK;
    for (size_t i = 0; i < recorder->tracks.count; i++)
        sink->on_track(sink->object, (pw_track)i + 1, recorder->tracks.entries[i].parent,
                       recorder->tracks.entries[i].text);
    return PW_OK;
}

bool pw_recorder_active(const pw_recorder *recorder) { return recorder && recorder->sink_count > 0; }

pw_track pw_record_track(pw_recorder *recorder, pw_track parent, const char *name) {
    bool is_new;
    if (!recorder) return 0;
    PW_CHECK(parent <= recorder->tracks.count);
    pw_track track = intern(recorder, &recorder->tracks, name, parent, &is_new);
    for (size_t i = 0; is_new && i < recorder->sink_count; i++) {
        const pw_sink *sink = &recorder->sinks[i];
        if (sink->on_track) sink->on_track(sink->object, track, parent, name);
    }
    return track;
}

pw_name pw_record_name(pw_recorder *recorder, const char *text) {
    bool is_new;
    if (!recorder) return 0;
    pw_name name = intern(recorder, &recorder->names, text, 0, &is_new);
    for (size_t i = 0; is_new && i < recorder->sink_count; i++)
        if (recorder->sinks[i].on_name) recorder->sinks[i].on_name(recorder->sinks[i].object, name, text);
    return name;
}

static const char *text_of(const table *in, uint32_t id) {
    return id > 0 && id <= in->count ? in->entries[id - 1].text : "";
}
const char *pw_record_name_text(const pw_recorder *recorder, pw_name name) {
    return recorder ? text_of(&recorder->names, name) : "";
}
const char *pw_record_track_text(const pw_recorder *recorder, pw_track track) {
    return recorder ? text_of(&recorder->tracks, track) : "";
}

pw_span_id pw_record_span(pw_recorder *recorder, pw_span *span) {
    if (!recorder) return span->id = 0;
    span->id = ++recorder->last_span;
    for (size_t i = 0; i < recorder->sink_count; i++) {
        const pw_sink *sink = &recorder->sinks[i];
        if (sink->on_span) sink->on_span(sink->object, span);
    }
    return span->id;
}

void pw_record_level(pw_recorder *recorder, pw_track track, pw_name quantity, pw_time time, double value) {
    if (!recorder) return;
    for (size_t i = 0; i < recorder->sink_count; i++) {
        const pw_sink *sink = &recorder->sinks[i];
        if (sink->on_level) sink->on_level(sink->object, track, quantity, time, value);
    }
}

void pw_record_count(pw_recorder *recorder, pw_track track, pw_name quantity, pw_time time, double amount) {
    if (!recorder) return;
    for (size_t i = 0; i < recorder->sink_count; i++) {
        const pw_sink *sink = &recorder->sinks[i];
        if (sink->on_count) sink->on_count(sink->object, track, quantity, time, amount);
    }
}

void pw_recorder_close(pw_recorder *recorder, pw_time end) {
    if (!recorder || recorder->closed) return;
    recorder->closed = true;
    for (size_t i = 0; i < recorder->sink_count; i++) {
        const pw_sink *sink = &recorder->sinks[i];
        if (sink->on_close) sink->on_close(sink->object, end);
    }
}
