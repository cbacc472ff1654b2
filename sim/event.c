/* The future event list is an implicit 4-ary heap (Johnson 1975; LaMarca and Ladner 1996 for the cache view) of 16-byte
 * keys. A key is (time, priority, sequence) as one 128-bit number, so that the total order is one comparison. Beside the
 * keys stands the slot of each event, and for each slot its position in the heap: that makes cancel and move true
 * heap operations. The four children of a node share a cache line.
 *
 * A fired event leaves a hole at the root. A handler usually schedules a successor, which goes into the hole and sinks
 * from there: one pass instead of two. Anything else that looks at the heap closes the hole first.
 *
 * A slot's generation grows with every use; when it would wrap, the slot is retired, so a handle never comes back.
 */
#include "sim/event.h"

#include <stdio.h>
#include <string.h>

typedef unsigned __int128 key;

#define SEQUENCE_BITS 48
#define SEQUENCE_MAX ((UINT64_C(1) << SEQUENCE_BITS) - 1)
enum {
    ARITY = 4,
    LINE = 64,                 /* bytes of a cache line */
    PAD = LINE / sizeof(key) - 1, /* entries before the root: children then begin on a line */
    EXPECTED_EVENTS = 1024,
    NO_SLOT = -1
};
#define NOT_IN_HEAP UINT32_MAX
#define EVENTS_MAX (UINT32_C(1) << 29) /* 4 x position must stay below 2^32 */

typedef struct work {
    pw_event_handler *handler;
    void *object;
    uint64_t argument;
} work;

typedef struct hook {
    void (*run)(pw_sim *sim, void *object);
    void *object;
    bool wanted;
} hook;

struct pw_sim {
    pw_time now;
    key *keys;           /* the heap: count entries; keys[-PAD] begins a cache line */
    uint32_t *slots;     /* of the heap's entries */
    uint32_t *positions; /* of the slots; NOT_IN_HEAP when free */
    work *works;
    uint32_t *generations, *free_slots;
    uint32_t count, capacity, used_slots, free_count;
    bool hole; /* keys[0] is free, though counted */
    bool running, stopped, hooks_wanted;
    uint64_t sequence, fired;
    work *fifo; /* ring; fifo_capacity is a power of two */
    uint32_t fifo_first, fifo_count, fifo_capacity;
    hook *hooks;
    size_t hook_count, hook_capacity;
    const volatile int *watched;
    void *key_memory;
    const pw_allocator *allocator;
    double ticks_per_second;
    uint64_t seed;
    pw_error error;
};

static key make_key(pw_time at, int16_t priority, uint64_t sequence) {
    uint64_t low = (uint64_t)(uint16_t)(priority ^ INT16_MIN) << SEQUENCE_BITS | sequence;
    return (key)(uint64_t)at << 64 | low;
}
static pw_time key_time(key k) { return (pw_time)(uint64_t)(k >> 64); }
static int16_t key_priority(key k) { return (int16_t)((uint16_t)((uint64_t)k >> SEQUENCE_BITS) ^ INT16_MIN); }

/* ---- the heap ---- */

static inline void place(pw_sim *sim, uint32_t position, key k, uint32_t slot) {
    sim->keys[position] = k;
    sim->slots[position] = slot;
    sim->positions[slot] = position;
}

/* Places (k, slot) at position or above it. */
static void rise(pw_sim *sim, uint32_t position, key k, uint32_t slot) {
    while (position > 0) {
        uint32_t parent = (position - 1) / ARITY;
        if (sim->keys[parent] <= k) break;
        place(sim, position, sim->keys[parent], sim->slots[parent]);
        position = parent;
    }
    place(sim, position, k, slot);
}

/* The smallest of the children first .. first + 3. */
static inline uint32_t smallest(const key *keys, uint32_t first) {
    uint32_t a = first + (keys[first + 1] < keys[first]);
    uint32_t b = first + 2 + (keys[first + 3] < keys[first + 2]);
    return keys[b] < keys[a] ? b : a;
}

/* Places (k, slot) at position or below it. */
static void sink(pw_sim *sim, uint32_t position, key k, uint32_t slot) {
    const key *keys = sim->keys;
    uint32_t count = sim->count;
    for (;;) {
        uint32_t first = ARITY * position + 1, best = first;
        if (first + ARITY <= count) best = smallest(keys, first);
        else if (first >= count) break;
        else
            for (uint32_t child = first + 1; child < count; child++)
                if (keys[child] < keys[best]) best = child;
        if (k <= keys[best]) break;
        place(sim, position, keys[best], sim->slots[best]);
        position = best;
    }
    place(sim, position, k, slot);
}

/* Takes the entry at position out; the last one fills its place. */
static void take_out(pw_sim *sim, uint32_t position) {
    uint32_t last = --sim->count;
    if (position == last) return;
    key k = sim->keys[last];
    uint32_t slot = sim->slots[last];
    if (position > 0 && k < sim->keys[(position - 1) / ARITY]) rise(sim, position, k, slot);
    else sink(sim, position, k, slot);
}

static inline void close_hole(pw_sim *sim) {
    if (!sim->hole) return;
    sim->hole = false;
    take_out(sim, 0);
}

/* ---- slots ---- */

static int resize_array(pw_sim *sim, void **array, size_t old_count, size_t new_count, size_t size) {
    void *memory = pw_resize(sim->allocator, *array, old_count * size, new_count * size);
    if (!memory) return -1;
    *array = memory;
    return 0;
}

static size_t key_bytes(uint32_t capacity) { return ((size_t)capacity + PAD) * sizeof(key) + LINE; }

static int grow_keys(pw_sim *sim, uint32_t capacity) {
    void *memory = pw_alloc(sim->allocator, key_bytes(capacity));
    if (!memory) return -1;
    uintptr_t line = ((uintptr_t)memory + LINE - 1) / LINE * LINE;
    key *keys = (key *)((char *)memory + (line - (uintptr_t)memory)) + PAD;
    if (sim->count) memcpy(keys, sim->keys, sim->count * sizeof *keys);
    pw_free(sim->allocator, sim->key_memory, key_bytes(sim->capacity));
    sim->key_memory = memory;
    sim->keys = keys;
    return 0;
}

/* All arrays have the same capacity. When one cannot grow, those that did are cut back, which cannot fail. */
static int grow_events(pw_sim *sim, uint32_t capacity) {
    struct {
        void **array;
        size_t size;
    } arrays[] = {{(void **)&sim->slots, sizeof *sim->slots},
                  {(void **)&sim->positions, sizeof *sim->positions},
                  {(void **)&sim->works, sizeof *sim->works},
                  {(void **)&sim->generations, sizeof *sim->generations},
                  {(void **)&sim->free_slots, sizeof *sim->free_slots}};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    uint32_t old = sim->capacity;
    int grown = 0;
    while (grown < ARRAYS && resize_array(sim, arrays[grown].array, old, capacity, arrays[grown].size) == 0) grown++;
    if (grown == ARRAYS && grow_keys(sim, capacity) == 0) {
        sim->capacity = capacity;
        return 0;
    }
    while (grown-- > 0) {
        if (old) (void)resize_array(sim, arrays[grown].array, capacity, old, arrays[grown].size);
        else {
            pw_free(sim->allocator, *arrays[grown].array, capacity * arrays[grown].size);
            *arrays[grown].array = NULL;
        }
    }
    return -1;
}

static int64_t new_slot(pw_sim *sim) {
    if (sim->free_count) return sim->free_slots[--sim->free_count];
    if (sim->used_slots == sim->capacity) {
        if (sim->capacity >= EVENTS_MAX || grow_events(sim, sim->capacity * 2) != 0) return NO_SLOT;
    }
    uint32_t slot = sim->used_slots++;
    sim->generations[slot] = 1;
    return slot;
}

static inline void free_slot(pw_sim *sim, uint32_t slot) {
    sim->positions[slot] = NOT_IN_HEAP;
    if (++sim->generations[slot] != 0) sim->free_slots[sim->free_count++] = slot; /* 0: retired */
}

/* The slot of a pending event, or NO_SLOT. */
static inline int64_t find(const pw_sim *sim, pw_event_id id) {
    uint32_t slot = id.index - 1;
    if (id.index == 0 || slot >= sim->used_slots || sim->generations[slot] != id.generation ||
        sim->positions[slot] == NOT_IN_HEAP)
        return NO_SLOT;
    return slot;
}

/* ---- life ---- */

pw_status pw_sim_create(const pw_sim_config *config, pw_sim **result, pw_error *error) {
    static const pw_sim_config standard;
    if (!config) config = &standard;
    *result = NULL;
    double ticks = config->ticks_per_second != 0 ? config->ticks_per_second : PW_TICKS_PER_SECOND_STEP;
    if (!(ticks > 0 && ticks <= 1e18))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%g ticks per second are not between 0 and 1e18", ticks);
    uint32_t expected = config->expected_events ? config->expected_events : EXPECTED_EVENTS;
    if (expected < 16) expected = 16;
    pw_sim *sim = expected <= EVENTS_MAX ? pw_alloc_zero(config->allocator, sizeof *sim) : NULL;
    if (sim) {
        sim->allocator = config->allocator ? config->allocator : pw_allocator_default();
        sim->ticks_per_second = ticks;
        sim->seed = config->seed;
        sim->fifo_capacity = 64;
        sim->fifo = pw_alloc(sim->allocator, sim->fifo_capacity * sizeof *sim->fifo);
        if (sim->fifo && grow_events(sim, expected) == 0) {
            *result = sim;
            return PW_OK;
        }
        pw_sim_destroy(sim);
    }
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for a simulation of %u events", expected);
}

void pw_sim_destroy(pw_sim *sim) {
    if (!sim) return;
    const pw_allocator *allocator = sim->allocator;
    pw_free(allocator, sim->slots, sim->capacity * sizeof *sim->slots);
    pw_free(allocator, sim->positions, sim->capacity * sizeof *sim->positions);
    pw_free(allocator, sim->works, sim->capacity * sizeof *sim->works);
    pw_free(allocator, sim->generations, sim->capacity * sizeof *sim->generations);
    pw_free(allocator, sim->free_slots, sim->capacity * sizeof *sim->free_slots);
    pw_free(allocator, sim->key_memory, key_bytes(sim->capacity));
    pw_free(allocator, sim->fifo, sim->fifo_capacity * sizeof *sim->fifo);
    pw_free(allocator, sim->hooks, sim->hook_capacity * sizeof *sim->hooks);
    pw_free(allocator, sim, sizeof *sim);
}

pw_time pw_sim_now(const pw_sim *sim) { return sim->now; }
double pw_sim_ticks_per_second(const pw_sim *sim) { return sim->ticks_per_second; }
double pw_sim_seconds(const pw_sim *sim) { return pw_time_to_seconds(sim->now, sim->ticks_per_second); }
pw_time pw_sim_ticks(const pw_sim *sim, double duration_s) {
    return pw_time_from_seconds(duration_s, sim->ticks_per_second);
}
uint64_t pw_sim_seed(const pw_sim *sim) { return sim->seed; }
const pw_allocator *pw_sim_allocator(const pw_sim *sim) { return sim->allocator; }
uint64_t pw_sim_events_fired(const pw_sim *sim) { return sim->fired; }
uint32_t pw_sim_events_pending(const pw_sim *sim) { return sim->count - sim->hole + sim->fifo_count; }

/* ---- scheduling ---- */

static bool next_sequence(pw_sim *sim, uint64_t *sequence) {
    if (sim->sequence >= SEQUENCE_MAX) {
        pw_sim_fail(sim, PW_LIMIT, NULL, "more than 2^48 events were scheduled");
        return false;
    }
    *sequence = ++sim->sequence;
    return true;
}

static bool in_the_past(pw_sim *sim, pw_time at) {
    if (at >= sim->now) return false;
    pw_sim_fail(sim, PW_OUT_OF_RANGE, NULL, "an event was scheduled for tick %lld, %llu ticks in the past",
                (long long)at, (unsigned long long)sim->now - (unsigned long long)at);
    return true;
}

pw_event_id pw_event_at(pw_sim *sim, pw_time at, int16_t priority, pw_event_handler *handler, void *object,
                        uint64_t argument) {
    static const pw_event_id none = {0, 0};
    uint64_t sequence;
    if (in_the_past(sim, at) || !next_sequence(sim, &sequence)) return none;
    int64_t got = new_slot(sim);
    if (got == NO_SLOT) {
        pw_sim_fail(sim, PW_NO_MEMORY, NULL, "no memory left for another event (%u are pending)",
                    pw_sim_events_pending(sim));
        return none;
    }
    uint32_t slot = (uint32_t)got;
    sim->works[slot] = (work){handler, object, argument};
    key k = make_key(at, priority, sequence);
    if (sim->hole) {
        sim->hole = false;
        sink(sim, 0, k, slot);
    } else {
        rise(sim, sim->count++, k, slot);
    }
    return (pw_event_id){slot + 1, sim->generations[slot]};
}

pw_event_id pw_event_after(pw_sim *sim, pw_time delay, pw_event_handler *handler, void *object, uint64_t argument) {
    return pw_event_at(sim, pw_time_add(sim->now, delay), 0, handler, object, argument);
}

void pw_event_soon(pw_sim *sim, pw_event_handler *handler, void *object, uint64_t argument) {
    if (sim->fifo_count == sim->fifo_capacity) {
        uint32_t old = sim->fifo_capacity;
        if (old > UINT32_MAX / 2 ||
            resize_array(sim, (void **)&sim->fifo, old, (size_t)old * 2, sizeof *sim->fifo) != 0) {
            pw_sim_fail(sim, PW_NO_MEMORY, NULL, "no memory left for work in this instant (%u are waiting)", old);
            return;
        }
        /* what had wrapped to the front now follows the rest */
        memcpy(sim->fifo + old, sim->fifo, sim->fifo_first * sizeof *sim->fifo);
        sim->fifo_capacity = old * 2;
    }
    sim->fifo[(sim->fifo_first + sim->fifo_count++) & (sim->fifo_capacity - 1)] = (work){handler, object, argument};
}

pw_status pw_event_cancel(pw_sim *sim, pw_event_id id) {
    int64_t slot = find(sim, id);
    if (slot == NO_SLOT) return PW_STALE_HANDLE;
    close_hole(sim);
    take_out(sim, sim->positions[slot]);
    free_slot(sim, (uint32_t)slot);
    return PW_OK;
}

pw_status pw_event_move(pw_sim *sim, pw_event_id id, pw_time at) {
    int64_t slot = find(sim, id);
    uint64_t sequence;
    if (slot == NO_SLOT) return PW_STALE_HANDLE;
    if (in_the_past(sim, at) || !next_sequence(sim, &sequence)) return sim->error.status;
    close_hole(sim);
    uint32_t position = sim->positions[slot];
    key old = sim->keys[position], k = make_key(at, key_priority(old), sequence);
    if (k < old) rise(sim, position, k, (uint32_t)slot);
    else sink(sim, position, k, (uint32_t)slot);
    return PW_OK;
}

bool pw_event_is_pending(const pw_sim *sim, pw_event_id id) { return find(sim, id) != NO_SLOT; }

pw_time pw_event_time(const pw_sim *sim, pw_event_id id) {
    int64_t slot = find(sim, id);
    return slot == NO_SLOT ? PW_TIME_MAX : key_time(sim->keys[sim->positions[slot]]);
}

/* ---- the run loop ---- */

int pw_sim_add_instant_hook(pw_sim *sim, void (*run)(pw_sim *sim, void *object), void *object) {
    if (sim->hook_count >= INT32_MAX || pw_grow(sim->allocator, (void **)&sim->hooks, &sim->hook_capacity,
                                                sim->hook_count + 1, sizeof *sim->hooks) != 0)
        return -1;
    sim->hooks[sim->hook_count] = (hook){run, object, false};
    return (int)sim->hook_count++;
}

void pw_sim_request_hook(pw_sim *sim, int number) {
    PW_CHECK(number >= 0 && (size_t)number < sim->hook_count);
    sim->hooks[number].wanted = sim->hooks_wanted = true;
}

static bool keep_running(pw_sim *sim) {
    if (sim->stopped || sim->error.status != PW_OK) return false;
    if (!sim->watched || !*sim->watched) return true;
    pw_sim_fail(sim, PW_INTERRUPTED, NULL, "interrupted at %.9g s of simulated time", pw_sim_seconds(sim));
    return false;
}

static void fire_root(pw_sim *sim) {
    uint32_t slot = sim->slots[0];
    work due = sim->works[slot];
    sim->hole = true;
    sim->fired++;
    free_slot(sim, slot);
    due.handler(sim, due.object, due.argument);
    close_hole(sim);
}

static void fire_fifo(pw_sim *sim) {
    work due = sim->fifo[sim->fifo_first];
    sim->fifo_first = (sim->fifo_first + 1) & (sim->fifo_capacity - 1);
    sim->fifo_count--;
    sim->fired++;
    due.handler(sim, due.object, due.argument);
}

/* One round over the hooks asked for; an earlier hook asked for meanwhile waits for the next round. */
static void run_hooks(pw_sim *sim) {
    sim->hooks_wanted = false;
    for (size_t i = 0; i < sim->hook_count && sim->error.status == PW_OK; i++) {
        if (!sim->hooks[i].wanted) continue;
        sim->hooks[i].wanted = false;
        sim->hooks[i].run(sim, sim->hooks[i].object);
    }
}

pw_status pw_sim_run(pw_sim *sim, pw_time until) {
    PW_CHECK(!sim->running);
    sim->running = true;
    sim->stopped = false;
    while (keep_running(sim) && sim->now <= until) {
        pw_time next = sim->count ? key_time(sim->keys[0]) : PW_TIME_MAX;
        if (next == sim->now && next != PW_TIME_MAX) fire_root(sim);
        else if (sim->fifo_count) fire_fifo(sim);
        else if (sim->hooks_wanted) run_hooks(sim);
        else if (next == PW_TIME_MAX || next > until) {
            if (until != PW_TIME_MAX) sim->now = until;
            break;
        } else {
            sim->now = next;
            fire_root(sim);
        }
    }
    sim->running = false;
    return sim->error.status;
}

void pw_sim_stop(pw_sim *sim) { sim->stopped = true; }
void pw_sim_watch(pw_sim *sim, const volatile int *flag) { sim->watched = flag; }

/* ---- failure ---- */

void pw_sim_fail(pw_sim *sim, pw_status status, const char *hint, const char *format, ...) {
    if (sim->error.status != PW_OK || status == PW_OK) return;
    va_list arguments;
    va_start(arguments, format);
    pw_fail_v(&sim->error, status, NULL, 0, hint, format, arguments);
    va_end(arguments);
}

void pw_sim_fail_with(pw_sim *sim, const pw_error *error) {
    if (sim->error.status == PW_OK) sim->error = *error;
}

const pw_error *pw_sim_error(const pw_sim *sim) { return &sim->error; }

void pw_sim_break_law(pw_sim *sim, const char *law, const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    pw_sim_fail(sim, (PW_LAW), "this is an error in a model; please report it with the input",
                "the law '%s' is broken at %.12g s (seed %llu): %s", law, pw_sim_seconds(sim),
                (unsigned long long)sim->seed, what);
}
