/* Interface 1 of 5: events. The future event list and the run loop.
 *
 * A pw_sim is one simulation: a clock and a totally ordered list of future events. Order is (time, priority,
 * sequence): earlier first, then smaller priority, then first scheduled first. There is no global state; any number of
 * simulations can live in a process, each used by one thread at a time.
 *
 * Work for the current instant goes through pw_event_soon (a FIFO, no heap); an entry runs when no event of this instant
 * is left. When every event and FIFO entry of an instant is done, the instant hooks run (the fluid solver settles there,
 * once per instant); they may put work into the FIFO, and hooks and FIFO alternate until both are quiet. Only then does
 * time advance.
 *
 * Handles are {index, generation} by value. Zero is null. A handle of a fired or cancelled event is stale: using it
 * returns PW_STALE_HANDLE and changes nothing.
 *
 * Cost: schedule, fire, cancel and move are O(log n) in an indexed 4-ary heap; after warm-up nothing is allocated.
 */
#ifndef PW_SIM_EVENT_H
#define PW_SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"
#include "sim/time.h"

typedef struct pw_sim pw_sim;

typedef struct pw_event_id {
    uint32_t index, generation;
} pw_event_id;

/* object and argument are what was given when scheduling. A handler that fails calls pw_sim_fail and returns. */
typedef void pw_event_handler(pw_sim *sim, void *object, uint64_t argument);

typedef struct pw_sim_config {
    const pw_allocator *allocator; /* NULL: the C library */
    double ticks_per_second;       /* 0: PW_TICKS_PER_SECOND_STEP */
    uint64_t seed;                 /* printed in messages; root of named random streams */
    uint32_t expected_events;      /* pre-allocation; 0: a default */
} pw_sim_config;

/* Creates a simulation at time 0. config may be NULL. The caller destroys it. */
pw_status pw_sim_create(const pw_sim_config *config, pw_sim **sim, pw_error *error);
void pw_sim_destroy(pw_sim *sim); /* NULL is fine */

pw_time pw_sim_now(const pw_sim *sim);
double pw_sim_ticks_per_second(const pw_sim *sim);
double pw_sim_seconds(const pw_sim *sim);                       /* now, in seconds */
pw_time pw_sim_ticks(const pw_sim *sim, double duration_s);     /* rounded up */
uint64_t pw_sim_seed(const pw_sim *sim);
const pw_allocator *pw_sim_allocator(const pw_sim *sim);
uint64_t pw_sim_events_fired(const pw_sim *sim);
uint32_t pw_sim_events_pending(const pw_sim *sim); /* work queued for this instant included */

/* Schedules handler at an absolute time >= now; an event at PW_TIME_MAX never fires and does not keep the run going, but
 * can be moved. On failure (memory, time in the past) the simulation fails (see
 * pw_sim_fail) and the null id is returned. */
pw_event_id pw_event_at(pw_sim *sim, pw_time at, int16_t priority, pw_event_handler *handler, void *object,
                        uint64_t argument);
/* The same, delay ticks from now (>= 0, saturating). Priority 0. */
pw_event_id pw_event_after(pw_sim *sim, pw_time delay, pw_event_handler *handler, void *object, uint64_t argument);
/* Runs handler in this instant, after what is already queued for it. Cannot be cancelled. */
void pw_event_soon(pw_sim *sim, pw_event_handler *handler, void *object, uint64_t argument);

pw_status pw_event_cancel(pw_sim *sim, pw_event_id id);
/* Moves a pending event to another time >= now; it takes a new sequence number, as if scheduled now. */
pw_status pw_event_move(pw_sim *sim, pw_event_id id, pw_time at);
bool pw_event_is_pending(const pw_sim *sim, pw_event_id id);
pw_time pw_event_time(const pw_sim *sim, pw_event_id id); /* PW_TIME_MAX for a stale id */

/* Called at the end of an instant, in order of registration, whenever pw_sim_request_hook asked for it since the last
 * call. Returns a hook number >= 0, or -1 when memory is out. */
int pw_sim_add_instant_hook(pw_sim *sim, void (*hook)(pw_sim *sim, void *object), void *object);
void pw_sim_request_hook(pw_sim *sim, int hook);

/* Runs until no event is left, until the next event would be after `until` (the clock then stands at until unless
 * until is PW_TIME_MAX), until pw_sim_stop, or until a failure. Returns PW_OK or the failure's status. */
pw_status pw_sim_run(pw_sim *sim, pw_time until);
void pw_sim_stop(pw_sim *sim); /* the run loop returns PW_OK after the current handler */

/* The run loop reads *flag between events; non-zero ends the run with PW_INTERRUPTED. NULL: none. */
void pw_sim_watch(pw_sim *sim, const volatile int *flag);

/* Ends the run with a status and a message; the first failure wins. */
void pw_sim_fail(pw_sim *sim, pw_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void pw_sim_fail_with(pw_sim *sim, const pw_error *error);
const pw_error *pw_sim_error(const pw_sim *sim); /* status PW_OK when nothing failed */

/* Laws of physics: always on. A broken law ends the run with PW_LAW; the message names the law, the simulated time
 * and the seed. */
void pw_sim_break_law(pw_sim *sim, const char *law, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define PW_LAW(sim, condition, law, ...) ((condition) ? (void)0 : pw_sim_break_law((sim), (law), __VA_ARGS__))

#endif
