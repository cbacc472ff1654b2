/* Counters that take years to wrap, set close to it: the file under test is compiled into the test. */
#include "sim/event.c"

#include "tests/harness/check.h"

static void nothing(pw_sim *sim, void *object, uint64_t argument) { (void)sim, (void)object, (void)argument; }

PW_TEST(a_slot_whose_generation_would_wrap_is_retired) {
    pw_sim *sim;
    PW_EXPECT_INT(pw_sim_create(NULL, &sim, NULL), PW_OK);
    pw_event_id first = pw_event_after(sim, 1, nothing, NULL, 0);
    PW_EXPECT_INT(pw_event_cancel(sim, first), PW_OK);
    sim->generations[first.index - 1] = UINT32_MAX;
    pw_event_id last = pw_event_after(sim, 1, nothing, NULL, 0);
    PW_EXPECT_INT(last.index, first.index);
    PW_EXPECT(last.generation == UINT32_MAX);
    PW_EXPECT_INT(pw_event_cancel(sim, last), PW_OK);
    pw_event_id other = pw_event_after(sim, 1, nothing, NULL, 0);
    PW_EXPECT(other.index != first.index);
    PW_EXPECT_INT(pw_event_cancel(sim, (pw_event_id){first.index, 0}), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_cancel(sim, first), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_cancel(sim, last), PW_STALE_HANDLE);
    PW_EXPECT_INT(pw_event_cancel(sim, other), PW_OK);
    pw_sim_destroy(sim);
}

PW_TEST(the_last_sequence_number_ends_the_run_with_a_message) {
    pw_sim *sim;
    PW_EXPECT_INT(pw_sim_create(NULL, &sim, NULL), PW_OK);
    sim->sequence = SEQUENCE_MAX - 1;
    PW_EXPECT(pw_event_at(sim, 1, INT16_MAX, nothing, NULL, 0).index != 0);
    PW_EXPECT_INT(pw_event_at(sim, 1, INT16_MAX, nothing, NULL, 0).index, 0);
    PW_EXPECT_INT(pw_sim_run(sim, PW_TIME_MAX), PW_LIMIT);
    pw_sim_destroy(sim);
}

PW_TEST(keys_order_by_time_priority_sequence_to_the_last_bit) {
    PW_EXPECT(make_key(1, INT16_MIN, 0) > make_key(0, INT16_MAX, SEQUENCE_MAX));
    PW_EXPECT(make_key(5, 0, 0) > make_key(5, -1, SEQUENCE_MAX));
    PW_EXPECT(make_key(PW_TIME_MAX, INT16_MAX, SEQUENCE_MAX) > make_key(PW_TIME_MAX, INT16_MAX, 0));
    for (int priority = INT16_MIN; priority <= INT16_MAX; priority++) {
        key k = make_key(priority + 40000, (int16_t)priority, 123);
        PW_EXPECT(key_priority(k) == priority && key_time(k) == priority + 40000);
    }
}

PW_TEST(children_of_a_node_share_a_cache_line) {
    pw_sim *sim;
    PW_EXPECT_INT(pw_sim_create(NULL, &sim, NULL), PW_OK);
    PW_EXPECT_INT((uintptr_t)&sim->keys[1] % LINE, 0);
    pw_sim_destroy(sim);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
