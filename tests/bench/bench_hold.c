/* The hold model with reschedules, through the public event API and on a bare heap.
 *
 * 4,096 events are pending. A step fires the earliest and schedules one successor after a random delay; half of the
 * delays come from {0, 80, 160, ...} x 1,024 ticks, so that many events share a time, the rest are exponential with mean
 * 2^17. Beside some steps one random pending event is rescheduled (2 in 3) or cancelled and a new one scheduled in its place
 * (1 in 3): 30 % of all operations, counting a step as one, and for comparison none.
 *
 * The bare heap is what one would write by hand for this loop: 4-ary, 16-byte keys (time, sequence, slot) compared as
 * one 128-bit number, the same slot array of handler, object and argument, calls through the same kind of pointer. It is
 * not indexed: rescheduling and cancelling mark the old key dead (its sequence no longer matches its slot) and push a
 * new one; dead keys are dropped when they come to the top. It has no priorities, handles, clock check, failure channel,
 * stop, instant queue or hooks.
 * Without changes it has nothing to do for them, and shows what those cost.
 *
 * Both fire the same events in the same order: a digest of (time, argument) is compared. Printed: the median over
 * interleaved repetitions of each one's steps per second and of their ratio, and rows for tests/bench/history.csv.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/event.h"
#include "sim/math.h"

enum { PENDING = 4096, TABLE = 4096, STEPS = 2000000, REPETITIONS = 15 };

typedef struct plan {
    int64_t delay;
    uint32_t victim;
    uint8_t change; /* 0 none, 1 reschedule, 2 cancel and schedule anew */
    int64_t new_delay;
} plan;
static plan plans[TABLE * 16];
enum { PLANS = sizeof plans / sizeof *plans };

static uint64_t random_state = 5;
static uint64_t draw(void) {
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
static int64_t draw_delay(void) {
    if (draw() % 2) return (int64_t)(draw() % 4) * 80 * 1024;
    double u = ((double)(draw() >> 11) + 0.5) * 0x1p-53;
    return (int64_t)(-pw_log(u) * 0x1p17) + 1;
}
static void make_plans(double changes_per_step) {
    for (int i = 0; i < PLANS; i++) {
        plans[i] = (plan){draw_delay(), (uint32_t)(draw() % PENDING), 0, draw_delay()};
        if ((double)(draw() >> 11) * 0x1p-53 < changes_per_step) plans[i].change = draw() % 3 ? 1 : 2;
    }
}

/* Events carry a number 0 .. PENDING - 1; each number is pending exactly once. */
typedef struct run {
    uint64_t digest, steps, target;
    pw_event_id ids[PENDING];
    uint32_t slots[PENDING]; /* bare */
} run;
static run state;

static void mix(run *to, int64_t time, uint64_t number) {
    to->digest = (to->digest ^ (uint64_t)time * 31 ^ number) * 0x100000001b3u;
}

/* ---- through the public API ---- */

static void engine_step(pw_sim *sim, void *object, uint64_t number) {
    run *to = object;
    const plan *next = &plans[to->steps % PLANS];
    mix(to, pw_sim_now(sim), number);
    to->ids[number] = pw_event_after(sim, next->delay, engine_step, object, number);
    if (next->change == 1) {
        pw_event_move(sim, to->ids[next->victim], pw_sim_now(sim) + next->new_delay);
    } else if (next->change == 2) {
        pw_event_cancel(sim, to->ids[next->victim]);
        to->ids[next->victim] = pw_event_after(sim, next->new_delay, engine_step, object, next->victim);
    }
    if (++to->steps == to->target) pw_sim_stop(sim);
}

/* ---- the bare heap ---- */

typedef unsigned __int128 bare_key; /* time 64, sequence 40, slot 24 */
typedef struct bare bare;
struct bare {
    bare_key *heap; /* heap[0] at 3 mod 4, so that children share a cache line */
    uint32_t count, capacity, free_count;
    int64_t now;
    uint64_t sequence;
    struct bare_slot {
        void (*handler)(bare *list, void *object, uint64_t argument);
        void *object;
        uint64_t argument, sequence;
    } *slots;
    uint32_t *free_slots;
};

static void bare_push(bare *list, bare_key key) {
    uint32_t at = list->count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / 4;
        if (list->heap[parent] <= key) break;
        list->heap[at] = list->heap[parent];
        at = parent;
    }
    list->heap[at] = key;
}
static bare_key bare_pop(bare *list) {
    bare_key top = list->heap[0], key = list->heap[--list->count];
    uint32_t at = 0, count = list->count;
    for (;;) {
        uint32_t first = 4 * at + 1, best = first;
        if (first + 4 <= count) {
            const bare_key *keys = list->heap;
            uint32_t a = first + (keys[first + 1] < keys[first]), b = first + 2 + (keys[first + 3] < keys[first + 2]);
            best = keys[b] < keys[a] ? b : a;
        } else if (first >= count) break;
        else
            for (uint32_t child = first + 1; child < count; child++)
                if (list->heap[child] < list->heap[best]) best = child;
        if (key <= list->heap[best]) break;
        list->heap[at] = list->heap[best];
        at = best;
    }
    list->heap[at] = key;
    return top;
}
static void bare_queue(bare *list, uint32_t slot, int64_t at) {
    uint64_t sequence = ++list->sequence;
    list->slots[slot].sequence = sequence;
    bare_push(list, (bare_key)(uint64_t)at << 64 | (bare_key)sequence << 24 | slot);
}
static uint32_t bare_schedule(bare *list, int64_t at, void (*handler)(bare *, void *, uint64_t), void *object,
                              uint64_t argument) {
    uint32_t slot = list->free_slots[--list->free_count];
    list->slots[slot] = (struct bare_slot){handler, object, argument, 0};
    bare_queue(list, slot, at);
    return slot;
}
static void bare_free(bare *list, uint32_t slot) {
    list->slots[slot].sequence = 0;
    list->free_slots[list->free_count++] = slot;
}
static void bare_step(bare *list, void *object, uint64_t number) {
    run *to = object;
    const plan *next = &plans[to->steps % PLANS];
    mix(to, list->now, number);
    to->slots[number] = bare_schedule(list, list->now + next->delay, bare_step, object, number);
    if (next->change == 1) {
        bare_queue(list, to->slots[next->victim], list->now + next->new_delay);
    } else if (next->change == 2) {
        bare_free(list, to->slots[next->victim]);
        to->slots[next->victim] = bare_schedule(list, list->now + next->new_delay, bare_step, object, next->victim);
    }
    to->steps++;
}
static void bare_run(bare *list, const run *until) {
    while (until->steps < until->target) {
        bare_key top = bare_pop(list);
        uint32_t slot = (uint32_t)top & 0xFFFFFF;
        struct bare_slot due = list->slots[slot];
        if (due.sequence != ((uint64_t)(top >> 24) & 0xFFFFFFFFFF)) continue; /* dead */
        list->now = (int64_t)(uint64_t)(top >> 64);
        bare_free(list, slot);
        due.handler(list, due.object, due.argument);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_engine(uint64_t *digest) {
    pw_sim *sim;
    pw_sim_config config = {.expected_events = 2 * PENDING};
    if (pw_sim_create(&config, &sim, NULL) != PW_OK) exit(1);
    memset(&state, 0, sizeof state);
    for (uint32_t i = 0; i < PENDING; i++) state.ids[i] = pw_event_after(sim, plans[i].delay, engine_step, &state, i);
    state.target = STEPS / 4; /* warm-up */
    pw_sim_run(sim, PW_TIME_MAX);
    state.target += STEPS;
    double start = seconds();
    pw_status status = pw_sim_run(sim, PW_TIME_MAX);
    double took = seconds() - start;
    if (status != PW_OK || pw_sim_events_pending(sim) != PENDING) exit(1);
    *digest = state.digest;
    pw_sim_destroy(sim);
    return took;
}

static double time_bare(uint64_t *digest) {
    enum { ROOM = 16 * PENDING }; /* dead keys included */
    static bare_key heap[ROOM + 3] __attribute__((aligned(64)));
    static struct bare_slot slots[2 * PENDING];
    static uint32_t free_slots[2 * PENDING];
    bare list = {.heap = heap + 3, .slots = slots, .free_slots = free_slots};
    for (uint32_t i = 0; i < 2 * PENDING; i++) free_slots[list.free_count++] = 2 * PENDING - 1 - i;
    memset(&state, 0, sizeof state);
    for (uint32_t i = 0; i < PENDING; i++) state.slots[i] = bare_schedule(&list, plans[i].delay, bare_step, &state, i);
    state.target = STEPS / 4;
    bare_run(&list, &state);
    state.target += STEPS;
    double start = seconds();
    bare_run(&list, &state);
    double took = seconds() - start;
    *digest = state.digest;
    return took;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns 1 when the two differ or the engine is slower than `least` of the bare heap. */
static int measure(double share, double least) {
    double engine[REPETITIONS], plain[REPETITIONS], ratio[REPETITIONS];
    make_plans(share / (1 - share));
    for (int i = 0; i < REPETITIONS; i++) {
        uint64_t engine_digest = 0, plain_digest = 1;
        double t_engine, t_plain;
        if (i % 2) t_engine = time_engine(&engine_digest), t_plain = time_bare(&plain_digest);
        else t_plain = time_bare(&plain_digest), t_engine = time_engine(&engine_digest);
        if (engine_digest != plain_digest) {
            printf("the two fire different events\n");
            return 1;
        }
        engine[i] = STEPS / t_engine, plain[i] = STEPS / t_plain, ratio[i] = t_plain / t_engine;
    }
    qsort(engine, REPETITIONS, sizeof *engine, ascending);
    qsort(plain, REPETITIONS, sizeof *plain, ascending);
    qsort(ratio, REPETITIONS, sizeof *ratio, ascending);
    int middle = REPETITIONS / 2, percent = (int)(100 * share + 0.5);
    printf("hold model, %d pending, %d %% of operations reschedule or cancel, %d repetitions of %d steps\n", PENDING,
           percent, REPETITIONS, STEPS);
    printf("engine     %8.2f million steps/s (%.1f ns)\n", engine[middle] / 1e6, 1e9 / engine[middle]);
    printf("bare heap  %8.2f million steps/s (%.1f ns)\n", plain[middle] / 1e6, 1e9 / plain[middle]);
    printf("ratio      %8.3f (from %.3f to %.3f)\n", ratio[middle], ratio[0], ratio[REPETITIONS - 1]);
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    char today[16];
    time_t now = time(NULL);
    strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,hold with %d %% changes,%.2f,million steps/s\n", today, commit ? commit : "",
           machine ? machine : "", percent, engine[middle] / 1e6);
    printf("csv: %s,%s,%s,hold with %d %% changes: ratio to bare heap,%.3f,1\n", today, commit ? commit : "",
           machine ? machine : "", percent, ratio[middle]);
    if (ratio[middle] >= least) return 0;
    printf("the ratio is below its target of %g\n", least);
    return 1;
}

int main(void) { return measure(0.3, 0.85) | measure(0, 0); }
