/* The spans of a run, kept small, and the way back along their causes. Internal to this folder. */
#ifndef PW_MODELS_PROGRAM_SPANS_H
#define PW_MODELS_PROGRAM_SPANS_H

#include "sim/record.h"

typedef struct span_kind {
    uint32_t track;
    pw_name category, label;
} span_kind;

/* Numbers of spans count from 1 in order of report; cause 0: none. */
typedef struct known_span {
    pw_time start, end;
    uint32_t number, cause;
    span_kind is;
} known_span;

typedef struct kind_slot {
    span_kind kind;
    uint32_t number; /* from 1; 0: free */
} kind_slot;

typedef struct kept_span kept_span;
typedef struct span_log {
    pw_allocator allocator;
    kept_span **chunks;
    size_t chunk_count, chunk_capacity;
    uint32_t count;
    struct own_start { uint32_t number; pw_time start; } *starts; /* of spans apart from their causes, in order */
    size_t start_count, start_capacity;
    span_kind *kinds;
    size_t kind_count, kind_capacity;
    kind_slot *slots;    /* open addressing */
    uint32_t slot_count;
    pw_span_id first_id;
    pw_time begin, end, begin_of_all; /* begin_of_all: where spans without a cause start, as the first one did */
    uint32_t last;       /* the span that ends last; of several, the one reported last */
    uint32_t name_count; /* above every name seen */
} span_log;

bool spans_keep(span_log *log, const pw_span *span); /* false when memory is out */
void spans_free(span_log *log);
known_span spans_get(const span_log *log, uint32_t number);
uint32_t spans_kind(const span_log *log, uint32_t number); /* index into kinds */

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
bool spans_step_back(const span_log *log, trail *on, pw_time floor, piece *out);

#endif
