/* Breakers and batteries against closed forms. */
#include "models/power/breaker.h"
#include "models/power/chain_battery.h"
#include "tests/harness/check.h"
#include "tests/harness/catalogue.h"

static pw_breaker breaker_of(const char *name) {
    pw_breaker breaker;
    pw_error error = {0};
    must(pw_breaker_make(catalogue(), name, 10000, &breaker, &error), &error);
    return breaker;
}

PW_TEST(it_trips_when_the_strip_is_hot) {
    pw_breaker b = breaker_of("standard");
    PW_EXPECT(isinf(pw_breaker_load(&b, 5, 10500)));           /* at the pickup: never */
    b = breaker_of("standard");
    double when = pw_breaker_load(&b, 5, 20000);
    PW_EXPECT_NEAR(when, 5 + 60 * log(4 / (4 - 1.1025)), 1e-13);
    PW_EXPECT_NEAR(pw_breaker_theta(&b, when), 1.1025, 1e-13);
}

PW_TEST(heat_of_the_past_counts) {
    pw_breaker b = breaker_of("standard");
    pw_breaker_load(&b, 0, 13000);
    double theta = 1.69 * (1 - exp(-20 / 60.0));
    pw_breaker_load(&b, 20, 8000);
    double cooled = 0.64 + (theta - 0.64) * exp(-15 / 60.0);
    PW_EXPECT_NEAR(pw_breaker_load(&b, 35, 13000), 35 + 60 * log((1.69 - cooled) / (1.69 - 1.1025)), 1e-12);
}

PW_TEST(many_small_steps_are_one_large_one) {
    pw_breaker one = breaker_of("iec-60898-c"), many = one;
    double expected = pw_breaker_load(&one, 0, 25500), when = 0;
    for (int i = 0; i < 1000; i++) when = pw_breaker_load(&many, 0.02 * i, 25500);
    PW_EXPECT_NEAR(when, expected, 1e-12);
    PW_EXPECT(expected > 1 && expected < 60);                  /* IEC 60898-1 at 2.55 */
}

PW_TEST(curves_keep_to_their_standards) {
    pw_breaker a = breaker_of("iec-60898-c"), b = breaker_of("iec-60947-2"), row = breaker_of("row-panel"), standard = breaker_of("standard");
    PW_EXPECT(isinf(pw_breaker_trip_time_s(&a, 0, 1.13)) && pw_breaker_trip_time_s(&a, 0, 1.45) < 3600);
    PW_EXPECT(isinf(pw_breaker_trip_time_s(&b, 0, 1.05)) && pw_breaker_trip_time_s(&b, 0, 1.3) < 7200);
    PW_EXPECT_NEAR(pw_breaker_trip_time_s(&row, 0, 1.4), 60, 0.02);
    PW_EXPECT_NEAR(pw_breaker_trip_time_s(&row, 0, 1.1), 500, 0.2);
    PW_EXPECT(pw_breaker_trip_time_s(&standard, 0, 1.3) > 60 && pw_breaker_trip_time_s(&standard, 0, 2) < 30);
    for (double x = 1.11; x < 12; x += 0.1) PW_EXPECT(pw_breaker_trip_time_s(&row, 0.8, x) < pw_breaker_trip_time_s(&row, 0, x) || x >= 10);
}

PW_TEST(large_currents_trip_at_once) {
    pw_breaker b = breaker_of("standard");
    PW_EXPECT_NEAR(pw_breaker_load(&b, 1, 80000), 1.02, 1e-15);
    PW_EXPECT(pw_breaker_load(&b, 1.001, 79000) > 1.5);
}

PW_TEST(open_breakers_carry_nothing_and_close_when_cool) {
    pw_breaker b = breaker_of("standard");
    double when = pw_breaker_load(&b, 0, 20000);
    pw_error error = {0};
    pw_breaker_open(&b, when);
    PW_EXPECT(b.open && isinf(pw_breaker_load(&b, when, 20000)) && b.share == 0);
    PW_EXPECT(pw_breaker_close(&b, when, &error) == PW_BAD_INPUT || pw_breaker_theta(&b, when) < 1.1025);
    PW_EXPECT(pw_breaker_close(&b, when + 30, &error) == PW_OK && !b.open);
    PW_EXPECT_NEAR(pw_breaker_theta(&b, when + 30), 1.1025 * exp(-0.5), 1e-12);
    PW_EXPECT_NEAR(pw_breaker_continuous_W(&b), 8000, 1e-15);
    PW_EXPECT(pw_breaker_make(catalogue(), "fuse", 1, &b, &error) == PW_NOT_FOUND);
}

PW_TEST(batteries_last_as_long_as_their_charge) {
    pw_battery b;
    pw_error error = {0};
    must(pw_battery_make(catalogue(), "li-ion", 1e6, &b, &error), &error);
    PW_EXPECT_NEAR(pw_battery_set(&b, 100, false, 1e6), 100 + 300, 1e-13);
    PW_EXPECT_NEAR(pw_battery_set(&b, 200, false, 0.5e6), 200 + 400, 1e-13);
    PW_EXPECT_NEAR(pw_battery_state(&b, 200), 2.0 / 3, 1e-13);
    PW_EXPECT(isinf(pw_battery_set(&b, 300, true, 0.5e6)));
    PW_EXPECT_NEAR(pw_battery_state(&b, 300), 0.5, 1e-13);
    PW_EXPECT_NEAR(pw_battery_charge_J(&b, 310) - pw_battery_charge_J(&b, 300), 10 * 0.1e6 * 0.95, 1e-9);
    PW_EXPECT(pw_battery_charging_W(&b, 310) > 0 && pw_battery_charging_W(&b, 1e6) == 0);
    PW_EXPECT_NEAR(pw_battery_state(&b, 1e6), 1, 0);
    PW_EXPECT(pw_battery_make(catalogue(), "capacitor", 1, &b, &error) == PW_NOT_FOUND);
}

PW_TEST(energy_of_a_battery_adds_up) { /* what was charged, less losses, is what was stored; random changes */
    pw_battery b;
    pw_error error = {0};
    must(pw_battery_make(catalogue(), "rack-battery", 50e3, &b, &error), &error);
    double stored = b.charge_J, now = 0;
    uint64_t state = 7;
    for (int i = 0; i < 2000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double length = 1e-3 * (double)(1 + (state >> 33) % 3000), load = 50e3 * ((double)(state >> 40) / (1 << 24));
        bool input = (state >> 35) % 3 == 0;
        double empty = pw_battery_set(&b, now, input, load);
        double before = pw_battery_charge_J(&b, now), after = pw_battery_charge_J(&b, now + length);
        if (input) stored += fmin(b.store_J - before, length * b.charger_W * b.charge_efficiency);
        else stored -= fmin(before, length * load / b.discharge_efficiency);
        if (!input && load > 0) PW_EXPECT((after <= 0) == (now + length >= empty * (1 - 1e-12)));
        PW_EXPECT(fabs(stored - after) < 1e-9 * b.store_J);
        now += length;
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
