#include "sim/time.h"
#include "tests/harness/check.h"

PW_TEST(durations_round_up_but_exact_ticks_stay) {
    PW_EXPECT_INT(pw_time_from_seconds(1, 1e12), 1000000000000);
    PW_EXPECT_INT(pw_time_from_seconds(0.1, 1e12), 100000000000);
    PW_EXPECT_INT(pw_time_from_seconds(1.5e-12, 1e12), 2);
    PW_EXPECT_INT(pw_time_from_seconds(1.0001e-12, 1e12), 2);
    PW_EXPECT_INT(pw_time_from_seconds(1e-300, 1e12), 1);
    PW_EXPECT_INT(pw_time_from_seconds(0, 1e12), 0);
    for (int64_t t = 1; t < 100000; t++) PW_EXPECT_INT(pw_time_from_seconds((double)t / 1e12, 1e12), t);
    for (int64_t t = 1; t < 100000; t++) PW_EXPECT_INT(pw_time_from_seconds((double)t * 1e-12, 1e12), t);
}

PW_TEST(any_tick_of_a_long_run_survives_the_round_trip) {
    uint64_t state = 42;
    for (int i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        pw_time t = (pw_time)(state >> (13 + i % 40));
        PW_EXPECT_INT(pw_time_from_seconds(pw_time_to_seconds(t, 1e12), 1e12), t);
        PW_EXPECT_INT(pw_time_from_seconds(pw_time_to_seconds(t, 1e9), 1e9), t);
    }
}

PW_TEST(nonsense_durations_are_zero_and_huge_ones_never) {
    PW_EXPECT_INT(pw_time_from_seconds(-1, 1e12), 0);
    PW_EXPECT_INT(pw_time_from_seconds(NAN, 1e12), 0);
    PW_EXPECT_INT(pw_time_from_seconds(-INFINITY, 1e12), 0);
    PW_EXPECT_INT(pw_time_from_seconds(INFINITY, 1e12), PW_TIME_MAX);
    PW_EXPECT_INT(pw_time_from_seconds(9.3e6, 1e12), PW_TIME_MAX);
    PW_EXPECT(pw_time_from_seconds(9.2e6, 1e12) < PW_TIME_MAX);
    PW_EXPECT(isinf(pw_time_to_seconds(PW_TIME_MAX, 1e12)));
    PW_EXPECT(pw_time_to_seconds(1500, 1e9) == 1.5e-6);
}

PW_TEST(addition_saturates) {
    PW_EXPECT_INT(pw_time_add(2, 3), 5);
    PW_EXPECT_INT(pw_time_add(PW_TIME_MAX - 2, 2), PW_TIME_MAX);
    PW_EXPECT_INT(pw_time_add(PW_TIME_MAX - 2, 3), PW_TIME_MAX);
    PW_EXPECT_INT(pw_time_add(PW_TIME_MAX, -3), PW_TIME_MAX); /* never stays never */
    PW_EXPECT_INT(pw_time_add(INT64_MIN, -3), INT64_MIN);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
