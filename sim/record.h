/* Interface 4 of 5: records. The one channel on which models report what happens while it happens.
 *
 * Models report spans (something occupied a track from t0 to t1, and which span released it), levels (a quantity has a
 * value from now on) and counts (an amount was added). Sinks attach to a recorder: the blame (critical path), a trace
 * file, a statistic. Totals that a model keeps as state of its own (the executor's bytes per link and time per class of
 * ranks) are not reported: their getters are read when the run is over. With no sink attached a report costs one branch.
 *
 * Names are interned: register tracks, categories and quantities once, report with small numbers.
 */
#ifndef PW_SIM_RECORD_H
#define PW_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"
#include "sim/time.h"

typedef struct pw_recorder pw_recorder;

/* A track is one serial resource (a stream, a link direction, a host thread); parent 0: top level. Ids start at 1. */
typedef uint32_t pw_track;
typedef uint32_t pw_name; /* an interned category or quantity; ids start at 1 */
typedef uint64_t pw_span_id; /* 1, 2, ... in order of report; 0: none */

typedef struct pw_span {
    pw_span_id id;     /* set by the recorder */
    pw_span_id cause;  /* the span whose end let this one start; 0: the beginning of time */
    pw_track track;
    pw_name category;  /* what kind of work, e.g. "gemm", "tp all_reduce" */
    pw_name label;     /* detail, e.g. the operation's name; 0: none */
    pw_time start, end;
    double weight;     /* how many equal entities it stands for (folding); 1 if not folded */
} pw_span;

typedef struct pw_sink {
    void *object;
    void (*on_track)(void *object, pw_track track, pw_track parent, const char *name); /* any of these may be NULL */
    void (*on_span)(void *object, const pw_span *span);
    void (*on_level)(void *object, pw_track track, pw_name quantity, pw_time time, double value);
    void (*on_count)(void *object, pw_track track, pw_name quantity, pw_time time, double amount);
    void (*on_close)(void *object, pw_time end);
    void (*on_name)(void *object, pw_name name, const char *text); /* an interned category or quantity, before its first use */
} pw_sink;

pw_status pw_recorder_create(const pw_allocator *allocator, pw_recorder **recorder, pw_error *error);
void pw_recorder_destroy(pw_recorder *recorder);
/* Copies *sink; sinks are called in order of attachment. Tracks and names registered earlier are announced to it at once. */
pw_status pw_recorder_attach(pw_recorder *recorder, const pw_sink *sink);
bool pw_recorder_active(const pw_recorder *recorder); /* any sink; NULL recorder: false */

pw_track pw_record_track(pw_recorder *recorder, pw_track parent, const char *name); /* 0 when memory is out */
pw_name pw_record_name(pw_recorder *recorder, const char *text); /* interned; 0 when memory is out */
const char *pw_record_name_text(const pw_recorder *recorder, pw_name name); /* "" for 0 */
const char *pw_record_track_text(const pw_recorder *recorder, pw_track track);

/* Assigns span->id and hands the span to the sinks. Returns the id (also without sinks: ids are always counted). */
pw_span_id pw_record_span(pw_recorder *recorder, pw_span *span);
void pw_record_level(pw_recorder *recorder, pw_track track, pw_name quantity, pw_time time, double value);
void pw_record_count(pw_recorder *recorder, pw_track track, pw_name quantity, pw_time time, double amount);
void pw_recorder_close(pw_recorder *recorder, pw_time end); /* tells the sinks the run is over; once */

#endif
