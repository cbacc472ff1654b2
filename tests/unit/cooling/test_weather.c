/* Moist air against tables, weather files, synthetic climates. */
#include "models/cooling/weather.h"
#include "tests/harness/catalogue.h"

/* ASHRAE Handbook of Fundamentals, saturation pressures of water and ice. */
PW_TEST(saturation_pressure_is_that_of_the_tables) {
    const double table[][2] = {{-60, 1.08}, {-20, 103.24}, {-5, 401.74}, {5, 872.6}, {25, 3169.7}, {50, 12351.3}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) PW_EXPECT_NEAR(pw_air_saturation_Pa(table[i][0]), table[i][1], i ? 3e-4 : 1e-2);
}

PW_TEST(wet_bulb_is_that_of_the_psychrometric_chart) {
    const double table[][3] = {{25, 0.5, 17.9}, {20, 0.5, 13.8}, {30, 0.3, 18.0}, {10, 0.9, 9.1}, {35, 0.8, 31.8}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        pw_weather_point point;
        pw_error error = {0};
        must(pw_weather_from_humidity(table[i][0], table[i][1], 101325, &point, &error), &error);
        PW_EXPECT(fabs(point.wet_C - table[i][2]) < 0.15);
        /* Stull 2011, good to 0.65 K between 5 and 99 % and -20 and 50 degrees */
        double t = table[i][0], rh = table[i][1] * 100;
        double stull = t * atan(0.151977 * sqrt(rh + 8.313659)) + atan(t + rh) - atan(rh - 1.676331) + 0.00391838 * pow(rh, 1.5) * atan(0.023101 * rh) - 4.686035;
        PW_EXPECT(fabs(point.wet_C - stull) < 0.7);
    }
    pw_weather_point point; /* PsychroLib's own test of this equation */
    pw_error error = {0};
    must(pw_weather_from_humidity(7, 0.61, 1e5, &point, &error), &error);
    PW_EXPECT(fabs(point.wet_C - 3.92667433781955) < 1e-3);
}

PW_TEST(humidity_and_wet_bulb_are_inverse) {
    for (double dry = -25; dry <= 45; dry += 3.5)
        for (double humidity = 0.1; humidity <= 1; humidity += 0.15) {
            pw_weather_point a, b;
            pw_error error = {0};
            must(pw_weather_from_humidity(dry, humidity, 95000, &a, &error), &error);
            PW_EXPECT(a.wet_C <= a.dry_C);
            if (fabs(a.wet_C) < 0.4) continue; /* between water and ice there are two answers */
            must(pw_weather_from_wet_bulb(dry, a.wet_C, 95000, &b, &error), &error);
            PW_EXPECT(fabs(b.humidity - humidity) < 1e-8);
        }
}

PW_TEST(impossible_air_is_refused) {
    pw_weather_point point;
    pw_error error = {0};
    PW_EXPECT(pw_weather_from_humidity(20, 1.5, 101325, &point, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_weather_from_humidity(200, 0.5, 101325, &point, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_weather_from_wet_bulb(20, 25, 101325, &point, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "above a dry bulb");
    PW_EXPECT(pw_weather_from_wet_bulb(40, 5, 101325, &point, &error) == PW_BAD_INPUT);
}

static double mean_of(const pw_weather *weather, bool wet, size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += wet ? pw_weather_at(weather, i).wet_C : pw_weather_at(weather, i).dry_C;
    return sum / (double)(to - from);
}

PW_TEST(climates_have_the_figures_of_their_rows) {
    const pw_table *table = pw_catalogue_table(catalogue(), "climates");
    PW_EXPECT(pw_table_rows(table) >= 3);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        pw_weather *weather;
        pw_error error = {0};
        must(pw_weather_load(NULL, catalogue(), pw_table_text_at(table, row, 0), &weather, &error), &error);
        PW_EXPECT_INT(pw_weather_points(weather), 8760);
        PW_EXPECT(pw_weather_step_s(weather) == 3600);
        double mean = mean_of(weather, false, 0, 8760), yearly = pw_table_number_of(table, row, "yearly");
        double july = mean_of(weather, false, 181 * 24, 212 * 24), january = mean_of(weather, false, 0, 31 * 24);
        PW_EXPECT(fabs(mean - pw_table_number_of(table, row, "mean")) < 0.8);
        PW_EXPECT(fabs((july - january) / 2 - yearly) < 2);
        for (size_t i = 0; i < 8760; i++) {
            pw_weather_point p = pw_weather_at(weather, i);
            if (!(p.wet_C <= p.dry_C && p.humidity > 0.02 && p.humidity <= 1)) PW_FAILED("hour %zu: %g %g %g", i, p.dry_C, p.wet_C, p.humidity);
        }
        PW_EXPECT(pw_weather_at(weather, 8760 + 17).dry_C == pw_weather_at(weather, 17).dry_C);
        if (getenv("PW_SHOW")) printf("# %s: mean %.1f wet %.1f, January %.1f July %.1f\n", pw_weather_name(weather), mean, mean_of(weather, true, 0, 8760), january, july);
        pw_weather_destroy(weather);
    }
}

static pw_status load_text(const char *name, const char *text, pw_weather **weather, pw_error *error) {
    char path[256];
    snprintf(path, sizeof path, "%s/weather-test-%s", PW_BINARY_DIR, name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return pw_weather_load(NULL, catalogue(), path, weather, error);
}

PW_TEST(files_are_read_with_hours_or_times) {
    pw_weather *weather;
    pw_error error = {0};
    must(load_text("a.csv", "hour,dry_bulb_C,humidity_pct\n0,20,50\n1,21,45\n2,22,40\n", &weather, &error), &error);
    PW_EXPECT_INT(pw_weather_points(weather), 3);
    PW_EXPECT(fabs(pw_weather_at(weather, 0).wet_C - 13.8) < 0.1);
    pw_weather_destroy(weather);
    must(load_text("b.csv", "# a comment\ntime,wet_bulb_C,dry_bulb_C,pressure_Pa\n2024-01-01T23:30,10,15,99000\n2024-01-02T00:00,9,14,99000\n2024-01-02 00:30,8,12,\n", &weather, &error), &error);
    PW_EXPECT(pw_weather_step_s(weather) == 1800);
    PW_EXPECT(pw_weather_at(weather, 2).pressure_Pa == 101325);
    pw_weather_destroy(weather);
    const char *epw = "LOCATION,Somewhere\nb\nc\nd\ne\nf\ng\nDATA PERIODS\n"
                      "1999,1,1,1,60,?9?9,5.0,2.0,81,99000,0,0,0,0\n1999,1,1,2,60,?9?9,4.5,2.0,84,999999,0,0,0,0\n";
    must(load_text("c.epw", epw, &weather, &error), &error);
    PW_EXPECT_INT(pw_weather_points(weather), 2);
    PW_EXPECT_NEAR(pw_weather_at(weather, 0).dry_C, 5, 0);
    PW_EXPECT_NEAR(pw_weather_at(weather, 0).humidity, 0.81, 1e-15);
    PW_EXPECT(pw_weather_at(weather, 1).pressure_Pa == 101325);
    pw_weather_destroy(weather);
}

PW_TEST(a_year_has_365_days_and_steps_as_the_file_says) {
    char text[4096] = "time,dry_bulb_C,humidity_pct\n";
    pw_weather *weather;
    pw_error error = {0};
    const int days[] = {31, 29, 1};
    for (int month = 0; month < 3; month++)
        for (int day = 1; day <= days[month]; day++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "2024-%02d-%02d,%d,50\n", month + 1, day, month == 2 ? 30 : 20);
    must(load_text("leap.csv", text, &weather, &error), &error);
    PW_EXPECT_INT(pw_weather_points(weather), 60);
    PW_EXPECT_NEAR(pw_weather_at(weather, 59).dry_C, 30, 0);
    pw_weather_destroy(weather);
    must(load_text("half.epw", "LOCATION,x\n2\n3\n4\n5\n6\n7\nDATA PERIODS,1,2,Data\n2000,1,1,1,30,?9,5,2,81,99000\n2000,2,29,1,60,?9,6,2,81,99000\n2000,3,1,1,60,?9,7,2,81,99000\n",
                   &weather, &error), &error);
    PW_EXPECT_INT(pw_weather_points(weather), 2);
    PW_EXPECT_NEAR(pw_weather_step_s(weather), 1800, 0);
    PW_EXPECT_NEAR(pw_weather_at(weather, 1).dry_C, 7, 0);
    pw_weather_destroy(weather);
}

static void expect_error(const char *name, const char *text, int line, const char *what) {
    pw_weather *weather;
    pw_error error = {0};
    PW_EXPECT(load_text(name, text, &weather, &error) != PW_OK);
    PW_EXPECT(weather == NULL);
    PW_EXPECT_CONTAINS(error.what, what);
    PW_EXPECT_INT(error.line, line);
}

PW_TEST(bad_files_say_where) {
    expect_error("1.csv", "hour,dry_bulb_C\n0,20\n", 1, "humidity_pct or wet_bulb_C");
    expect_error("2.csv", "dry_bulb_C,humidity_pct\n20,50\n", 1, "hour or time");
    expect_error("3.csv", "hour,dry_bulb_C,humidity_pct\n0,20,50\n1,21,x\n", 3, "humidity_pct");
    expect_error("4.csv", "hour,dry_bulb_C,humidity_pct\n0,20,50\n1,21,50\n3,22,50\n", 4, "not equal");
    expect_error("5.csv", "hour,dry_bulb_C,humidity_pct\n0,20,50\n1,21,150\n", 3, "relative humidity of 1.5");
    expect_error("6.csv", "time,dry_bulb_C,humidity_pct\nyesterday,20,50\n", 2, "no time");
    expect_error("7.csv", "hour,dry_bulb_C,humidity_pct\n", 1, "without a row");
    expect_error("8.epw", "hour,dry_bulb_C,humidity_pct\n", 1, "LOCATION");
    expect_error("10.csv", "hour,dry_bulb_C,humidity_pct\n5,20,50\n6,21,50\n", 2, "1 January");
    expect_error("11.csv", "time,dry_bulb_C,humidity_pct\n2025-07-01T00:00,20,50\n", 2, "1 January");
    expect_error("12.epw", "LOCATION,\n2\n3\n4\n5\n6\n7\nDATA PERIODS,1,1\n1999,7,1,1,0,?9,20,10,50,101325\n", 9, "1 January");
    expect_error("13.epw", "LOCATION,\n2\n3\n4\n5\n6\n7\nDATA PERIODS,1,1\n1999,1,1,1,0,?9,99.9,10,50,101325\n", 9, "missing");
    expect_error("14.epw", "LOCATION,\n2\n3\n4\n5\n6\n7\nDATA PERIODS,1,0\n", 8, "records per hour");
    expect_error("9.epw", "LOCATION,\n2\n3\n4\n5\n6\n7\n8\n1999,1,1\n", 9, "fields 7, 9 and 10");
    pw_weather *weather;
    pw_error error = {0};
    PW_EXPECT(pw_weather_load(NULL, catalogue(), "cool-marin", &weather, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "cool-marine");
    PW_EXPECT(pw_weather_load(NULL, catalogue(), "/nowhere/x.epw", &weather, &error) == PW_IO);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
