#include "sim/event.h"

#include "tests/harness/check.h"

static uint64_t random_state;
static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static pw_sim *create(void) {
    pw_sim *sim;
    pw_error error;
    if (pw_sim_create(NULL, &sim, &error) != PW_OK) PW_FAILED("no simulation: %s", error.what);
    return sim;
}

/* A log of what fired, as text: argument characters. */
static char fired[4096];
static size_t fired_count;
static void write_down(pw_sim *sim, void *object, uint64_t argument) {
    (void)sim, (void)object;
    fired[fired_count++] = (char)argument;
    fired[fired_count] = '\0';
}
static void clear_log(void) { fired[fired_count = 0] = '\0'; }

PW_TEST(events_fire_by_time_then_priority_then_order_of_scheduling) {
    pw_sim *sim = create();
    clear_log();
    pw_event_at(sim, 20, 0, write_down, NULL, 'g');
    pw_event_at(sim, 10, 0, write_down, NULL, 'c');
    pw_event_at(sim, 10, 5, write_down, NULL, 'e');
    pw_event_at(sim, 10, -5, write_down, NULL, 'b');
    pw_event_at(sim, 10, INT16_MIN, write_down, NULL, 'a');
    pw_event_at(sim, 10, INT16_MAX, write_down, NULL, 'f');
    pw_event_at(sim, 10, 0, write_down, NULL, 'd');
    PW_EXPECT_INT(pw_sim_events_pending(sim), 7);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
    PW_EXPECT_TEXT(fired, "abcdefg");
    PW_EXPECT_INT(pw_sim_now(sim), 20);
    PW_EXPECT_INT(pw_sim_events_fired(sim), 7);
    pw_sim_destroy(sim);
}

PW_TEST(the_clock_stops_at_until_and_goes_on_from_there) {
    pw_sim *sim = create();
    clear_log();
    pw_event_after(sim, 10, write_down, NULL, 'a');
    pw_event_after(sim, 30, write_down, NULL, 'b');
    pw_sim_run(sim, 10);
    PW_EXPECT_TEXT(fired, "a");
    pw_sim_run(sim, 25);
    PW_EXPECT_TEXT(fired, "a");
    PW_EXPECT_INT(pw_sim_now(sim), 25);
    PW_EXPECT(pw_sim_seconds(sim) == 25e-12);
    pw_sim_run(sim, 5); /* the past: nothing happens */
    PW_EXPECT_INT(pw_sim_now(sim), 25);
    pw_event_after(sim, 5, write_down, NULL, 'c');
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "abc");
    PW_EXPECT_INT(pw_sim_now(sim), 30);
    pw_sim_destroy(sim);
}

static void reschedule(pw_sim *sim, void *object, uint64_t argument) {
    (void)object;
    write_down(sim, NULL, 'x');
    if (argument) pw_event_after(sim, 1, reschedule, NULL, argument - 1);
}

PW_TEST(an_event_at_never_does_not_fire) {
    pw_sim *sim = create();
    clear_log();
    pw_event_id parked = pw_event_after(sim, PW_TIME_MAX, write_down, NULL, 'p');
    pw_event_after(sim, 7, reschedule, NULL, 2);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
    PW_EXPECT_TEXT(fired, "xxx");
    PW_EXPECT_INT(pw_sim_now(sim), 9);
    PW_EXPECT(pw_event_is_pending(sim, parked));
    PW_EXPECT_INT(pw_event_move(sim, parked, 11), PW_OK);
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "xxxp");
    pw_sim_destroy(sim);
}

PW_TEST(a_moved_event_counts_as_scheduled_now_and_keeps_its_priority) {
    pw_sim *sim = create();
    clear_log();
    pw_event_id a = pw_event_at(sim, 5, 0, write_down, NULL, 'a');
    pw_event_at(sim, 5, 0, write_down, NULL, 'b');
    pw_event_id c = pw_event_at(sim, 50, -1, write_down, NULL, 'c');
    PW_EXPECT_INT(pw_event_move(sim, a, 5), PW_OK);
    PW_EXPECT_INT(pw_event_move(sim, c, 5), PW_OK);
    PW_EXPECT_INT(pw_event_time(sim, c), 5);
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "cba");
    pw_sim_destroy(sim);
}

PW_TEST(stale_handles_are_refused_and_change_nothing) {
    pw_sim *sim = create();
    clear_log();
    pw_event_id null = {0, 0}, wild = {999, 1}, half = {1, 0};
    pw_event_id a = pw_event_after(sim, 1, write_down, NULL, 'a');
    pw_event_id b = pw_event_after(sim, 2, write_down, NULL, 'b');
    PW_EXPECT_INT(pw_event_cancel(sim, a), PW_OK);
    PW_EXPECT_INT(pw_event_cancel(sim, a), PW_STALE_HANDLE);
    pw_event_id c = pw_event_after(sim, 3, write_down, NULL, 'c');
    PW_EXPECT_INT(c.index, a.index); /* the slot is used again, */
    PW_EXPECT(c.generation != a.generation);
    PW_EXPECT_INT(pw_event_move(sim, a, 9), PW_STALE_HANDLE); /* but the old handle does not reach it */
    PW_EXPECT_INT(pw_event_cancel(sim, null), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_cancel(sim, wild), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_cancel(sim, half), PW_STALE_HANDLE);
    PW_EXPECT(!pw_event_is_pending(sim, a) && pw_event_is_pending(sim, c));
    PW_EXPECT_INT(pw_event_time(sim, a), PW_TIME_MAX);
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "bc");
    PW_EXPECT_INT(pw_event_cancel(sim, b), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_sim_error(sim)->status, PW_OK);
    pw_sim_destroy(sim);
}

static pw_event_id own;
static void cancel_itself(pw_sim *sim, void *object, uint64_t argument) {
    (void)object;
    PW_EXPECT(!pw_event_is_pending(sim, own));
    PW_EXPECT_INT(pw_event_cancel(sim, own), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_move(sim, own, 100), PW_STALE_HANDLE);
    write_down(sim, NULL, argument);
}

PW_TEST(a_handler_finds_its_own_event_already_over) {
    pw_sim *sim = create();
    clear_log();
    own = pw_event_after(sim, 1, cancel_itself, NULL, 'o');
    pw_event_after(sim, 1, write_down, NULL, 'p');
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "op");
    pw_sim_destroy(sim);
}

static void expect_past(pw_sim *sim, void *object, uint64_t argument) {
    (void)object, (void)argument;
    pw_event_id id = pw_event_at(sim, 3, 0, write_down, NULL, 'x');
    PW_EXPECT_INT(id.generation, 0);
}

PW_TEST(scheduling_in_the_past_fails_the_run) {
    pw_sim *sim = create();
    clear_log();
    pw_event_after(sim, 5, expect_past, NULL, 0);
    pw_event_after(sim, 6, write_down, NULL, 'n');
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OUT_OF_RANGE);
    PW_EXPECT_CONTAINS(pw_sim_error(sim)->what, "2 ticks in the past");
    PW_EXPECT_TEXT(fired, "");
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OUT_OF_RANGE); /* a failed run stays failed */
    PW_EXPECT_TEXT(fired, "");
    pw_sim_destroy(sim);
}

PW_TEST(no_distance_into_the_past_is_too_far_to_tell) {
    const pw_time starts[] = {0, 5, INT64_MAX - 1}, times[] = {INT64_MIN, INT64_MIN + 1, -1};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) {
            pw_sim *sim = create();
            pw_event_id moved = pw_event_at(sim, starts[i], 0, write_down, NULL, 'x');
            if (starts[i]) PW_EXPECT_INT(pw_sim_run(sim, starts[i] - 1), PW_OK);
            char told[64];
            uint64_t distance = (uint64_t)pw_sim_now(sim) - (uint64_t)times[j];
            snprintf(told, sizeof told, "%llu ticks in the past", (unsigned long long)distance);
            if (j % 2) PW_EXPECT_INT(pw_event_move(sim, moved, times[j]), PW_OUT_OF_RANGE);
            else PW_EXPECT_INT(pw_event_at(sim, times[j], 0, write_down, NULL, 'y').index, 0);
            PW_EXPECT_CONTAINS(pw_sim_error(sim)->what, told);
            pw_sim_destroy(sim);
        }
}

/* ---- the current instant ---- */

static int hook_a, hook_b;
static void two_soon(pw_sim *sim, void *object, uint64_t argument) {
    (void)object;
    write_down(sim, NULL, argument);
    pw_event_soon(sim, write_down, NULL, '1');
    pw_event_soon(sim, write_down, NULL, '2');
    pw_sim_request_hook(sim, hook_a);
    pw_sim_request_hook(sim, hook_a); /* once is enough */
}
static void first_hook(pw_sim *sim, void *object) {
    int *rounds = object;
    write_down(sim, NULL, 'A');
    if ((*rounds)++ == 0) pw_event_soon(sim, two_soon, NULL, 's');
    pw_sim_request_hook(sim, hook_b);
}
static void second_hook(pw_sim *sim, void *object) {
    (void)object;
    write_down(sim, NULL, 'B');
}

PW_TEST(an_instant_runs_events_then_fifo_then_hooks_until_quiet) {
    pw_sim *sim = create();
    clear_log();
    int rounds = 0;
    hook_a = pw_sim_add_instant_hook(sim, first_hook, &rounds);
    hook_b = pw_sim_add_instant_hook(sim, second_hook, NULL);
    PW_EXPECT(hook_a >= 0 && hook_b > hook_a);
    pw_event_at(sim, 4, 0, two_soon, NULL, 'e');
    pw_event_at(sim, 4, 0, write_down, NULL, 'f');
    pw_event_at(sim, 5, 0, write_down, NULL, 'g');
    pw_sim_run(sim, PW_TIME_MAX);
    PW_EXPECT_TEXT(fired, "ef12ABs12ABg");
    PW_EXPECT_INT(rounds, 2);
    pw_sim_destroy(sim);
}

PW_TEST(the_instant_fifo_keeps_order_while_it_wraps_and_grows) {
    pw_sim *sim = create();
    for (int round = 0; round < 3; round++) {
        clear_log();
        int count = 40 + 300 * round;
        for (int i = 0; i < count; i++) pw_event_soon(sim, write_down, NULL, (uint64_t)('0' + i % 70));
        PW_EXPECT_INT(pw_sim_events_pending(sim), count);
        pw_sim_run(sim, PW_TIME_MAX);
        PW_EXPECT_INT(fired_count, count);
        for (int i = 0; i < count; i++) PW_EXPECT(fired[i] == (char)('0' + i % 70));
    }
    pw_sim_destroy(sim);
}

/* ---- how a run ends ---- */

static void stop_here(pw_sim *sim, void *object, uint64_t argument) {
    (void)object;
    write_down(sim, NULL, argument);
    pw_sim_stop(sim);
}
static void fail_twice(pw_sim *sim, void *object, uint64_t argument) {
    (void)object, (void)argument;
    pw_sim_fail(sim, PW_DEADLOCK, "look at rank 3", "rank %d waits", 3);
    pw_sim_fail(sim, PW_LIMIT, NULL, "never seen");
}
static void break_law(pw_sim *sim, void *object, uint64_t argument) {
    (void)object;
    PW_LAW(sim, argument == 1, "bytes are conserved", "%d went in", 5);
    PW_LAW(sim, argument == 2, "bytes are conserved", "%d went in, %d came out", 5, 4);
}
static void set_flag(pw_sim *sim, void *object, uint64_t argument) {
    (void)sim;
    *(volatile int *)object = (int)argument;
}

PW_TEST(stop_ends_the_run_and_it_can_go_on) {
    pw_sim *sim = create();
    clear_log();
    pw_event_after(sim, 1, stop_here, NULL, 'a');
    pw_event_after(sim, 1, write_down, NULL, 'b');
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
    PW_EXPECT_TEXT(fired, "a");
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
    PW_EXPECT_TEXT(fired, "ab");
    pw_sim_destroy(sim);
}

PW_TEST(the_first_failure_wins_and_keeps_its_hint) {
    pw_sim *sim = create();
    pw_event_after(sim, 1, fail_twice, NULL, 0);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_DEADLOCK);
    PW_EXPECT_TEXT(pw_sim_error(sim)->what, "rank 3 waits");
    PW_EXPECT_TEXT(pw_sim_error(sim)->hint, "look at rank 3");
    pw_error other = {.status = PW_IO};
    pw_sim_fail_with(sim, &other);
    PW_EXPECT_INT(pw_sim_error(sim)->status, PW_DEADLOCK);
    pw_sim_destroy(sim);
}

PW_TEST(a_broken_law_names_law_time_and_seed) {
    pw_sim_config config = {.seed = 77, .ticks_per_second = 1e9};
    pw_sim *sim;
    PW_EXPECT_INT(pw_sim_create(&config, &sim, NULL), PW_OK);
    PW_EXPECT_INT(pw_sim_seed(sim), 77);
    pw_event_after(sim, pw_sim_ticks(sim, 2.5), break_law, NULL, 1);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), (PW_LAW));
    PW_EXPECT_TEXT(pw_sim_error(sim)->what,
                   "the law 'bytes are conserved' is broken at 2.5 s (seed 77): 5 went in, 4 came out");
    pw_sim_destroy(sim);
}

PW_TEST(a_raised_flag_interrupts) {
    pw_sim *sim = create();
    volatile int flag = 0;
    clear_log();
    pw_sim_watch(sim, &flag);
    pw_event_after(sim, 1, write_down, NULL, 'a');
    pw_event_after(sim, 2, set_flag, (void *)&flag, 1);
    pw_event_after(sim, 3, write_down, NULL, 'b');
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_INTERRUPTED);
    PW_EXPECT_TEXT(fired, "a");
    pw_sim_destroy(sim);
}

PW_TEST(a_bad_configuration_is_refused) {
    pw_sim *sim;
    pw_error error;
    pw_sim_config config = {.ticks_per_second = -1};
    PW_EXPECT_INT(pw_sim_create(&config, &sim, &error), PW_BAD_INPUT);
    PW_EXPECT(sim == NULL);
    config = (pw_sim_config){.expected_events = UINT32_MAX};
    PW_EXPECT_INT(pw_sim_create(&config, &sim, &error), PW_NO_MEMORY);
    pw_sim_destroy(NULL);
}

/* ---- memory ---- */

static void hold(pw_sim *sim, void *object, uint64_t argument) {
    pw_event_id *victim = object;
    pw_event_after(sim, (pw_time)(draw() % 1000), hold, object, argument);
    pw_event_soon(sim, write_down, NULL, 'x');
    fired_count = 0;
    if (pw_event_is_pending(sim, *victim)) pw_event_cancel(sim, *victim);
    *victim = pw_event_after(sim, 500, write_down, NULL, 'v');
    if (pw_sim_events_fired(sim) >= argument) pw_sim_stop(sim);
}

PW_TEST(nothing_is_allocated_after_warm_up) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_sim_config config = {.allocator = &counting.allocator};
    pw_sim *sim;
    pw_event_id victim = {0, 0};
    random_state = 1;
    PW_EXPECT_INT(pw_sim_create(&config, &sim, NULL), PW_OK);
    PW_EXPECT(pw_sim_allocator(sim) == &counting.allocator);
    for (int i = 0; i < 1000; i++) pw_event_after(sim, i, hold, &victim, 5000);
    pw_sim_run(sim, PW_TIME_MAX);
    unsigned long long calls = counting.calls;
    pw_event_after(sim, 1, hold, &victim, 200000);
    while (pw_sim_events_fired(sim) < 200000) pw_sim_run(sim, pw_sim_now(sim) + 1000);
    PW_EXPECT_INT(counting.calls, calls);
    pw_sim_destroy(sim);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

static void nothing(pw_sim *sim, void *object) { (void)sim, (void)object; }

PW_TEST(each_failing_allocation_ends_in_a_clean_failure) {
    unsigned long long fail_at = 1;
    for (int failed = 1; failed; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_sim_config config = {.allocator = &counting.allocator, .expected_events = 16};
        pw_sim *sim;
        pw_error error;
        failed = 0;
        if (pw_sim_create(&config, &sim, &error) != PW_OK) {
            PW_EXPECT_INT(error.status, PW_NO_MEMORY);
            PW_EXPECT(sim == NULL);
            failed = 1;
        } else {
            fired_count = 0;
            int good = 0;
            for (int i = 0; i < 100; i++) good += pw_event_after(sim, 100 - i, write_down, NULL, 'x').index != 0;
            for (int i = 0; i < 100; i++) pw_event_soon(sim, write_down, NULL, 'y');
            failed = pw_sim_add_instant_hook(sim, nothing, NULL) < 0;
            pw_status status = pw_sim_run(sim, PW_TIME_MAX);
            PW_EXPECT(status == PW_OK || status == PW_NO_MEMORY);
            PW_EXPECT(status == PW_OK ? good == 100 && fired_count == 200 : fired_count == 0);
            failed |= status != PW_OK;
            pw_sim_destroy(sim);
        }
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(fail_at > 20);
}

/* ---- a million operations against a plain list ---- */

typedef struct model_event {
    pw_time at;
    int16_t priority;
    uint64_t order;
    pw_event_id id;
    int alive;
} model_event;

enum { MODEL_SIZE = 600, OPERATIONS = 1000000 };
static model_event model[MODEL_SIZE];
static uint64_t model_order;
static int model_alive, model_wrong, operations_left, times;
static pw_event_id stale[64];

static int comes_before(const model_event *a, const model_event *b) {
    if (a->at != b->at) return a->at < b->at;
    if (a->priority != b->priority) return a->priority < b->priority;
    return a->order < b->order;
}

static void model_fire(pw_sim *sim, void *object, uint64_t argument);

static void model_operate(pw_sim *sim) {
    uint64_t choice = draw();
    model_event *one = &model[choice % MODEL_SIZE];
    pw_time at = pw_sim_now(sim) + (pw_time)(draw() % (uint64_t)times);
    operations_left--;
    if (!one->alive) {
        *one = (model_event){at, (int16_t)(draw() % 3) - 1, ++model_order, {0, 0}, 1};
        one->id = pw_event_at(sim, at, one->priority, model_fire, one, one->order);
        model_alive++;
        if (!one->id.index) model_wrong++;
    } else if (choice >> 32 & 1) {
        one->at = at;
        one->order = ++model_order;
        if (pw_event_move(sim, one->id, at) != PW_OK) model_wrong++;
        if (pw_event_time(sim, one->id) != at) model_wrong++;
    } else {
        if (pw_event_cancel(sim, one->id) != PW_OK) model_wrong++;
        one->alive = 0;
        model_alive--;
        stale[draw() % 64] = one->id;
    }
    if (pw_event_cancel(sim, stale[draw() % 64]) != PW_STALE_HANDLE) model_wrong++;
    if (pw_sim_events_pending(sim) != (uint32_t)model_alive) model_wrong++;
}

static void model_fire(pw_sim *sim, void *object, uint64_t argument) {
    model_event *due = object;
    (void)argument;
    if (!due->alive || due->at != pw_sim_now(sim)) model_wrong++;
    for (int i = 0; i < MODEL_SIZE; i++)
        if (model[i].alive && comes_before(&model[i], due)) {
            model_wrong++;
            break;
        }
    due->alive = 0;
    model_alive--;
    stale[draw() % 64] = due->id;
    int count = operations_left > 0 ? (int)(draw() % 60) : 0;
    for (int i = 0; i < count; i++) model_operate(sim);
}

PW_TEST(a_million_random_operations_agree_with_a_plain_list) {
    const int spread[] = {1, 20, 100000};
    for (int run = 0; run < 3; run++) {
        uint64_t seed = 20240 + (uint64_t)run;
        random_state = seed;
        times = spread[run];
        memset(model, 0, sizeof model);
        memset(stale, 0, sizeof stale);
        model_wrong = model_alive = 0;
        operations_left = OPERATIONS / 3;
        pw_sim_config config = {.expected_events = 16};
        pw_sim *sim;
        PW_EXPECT_INT(pw_sim_create(&config, &sim, NULL), PW_OK);
        while (operations_left > 0) {
            for (int i = 0; i < 40; i++) model_operate(sim);
            pw_sim_run(sim, PW_TIME_MAX);
            if (model_alive) model_wrong++;
        }
        if (model_wrong) PW_FAILED("%d disagreements, seed %" PRIu64 ", times %d", model_wrong, seed, times);
        PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_OK);
        pw_sim_destroy(sim);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
