/* Synthetic climates: a year of hours from a row of climates.csv.
 *
 *   season          M + A cos(2 pi (day - hottest day) / 365)
 *   dry bulb        season + front + D cos(2 pi (hour - hottest hour) / 24)
 *   dew point       season + w front - depression, at most the dry bulb
 *
 * D and the deviation of fronts go from the winter's to the summer's value with the year. Fronts that pass are a first-order process by the hour
 * (AR(1)) with a given correlation time; a share w of them is moist. The draws are those of a stream named after the climate. Cosines come from rotating by a
 * fixed angle, so that every machine gets the same bits. */
#include <math.h>
#include <stdio.h>

#include "models/cooling/weather_internal.h"
#include "sim/math.h"
#include "sim/random.h"

enum { DAYS = 365, HOURS = 24 };

/* e^(i angle) for a small angle, by its series. */
static void turn_of(double angle, double *cosine, double *sine) {
    double c = 1, s = angle, tc = 1, ts = angle;
    for (int k = 1; k < 12; k++) {
        tc *= -angle * angle / ((2 * k - 1) * (2 * k));
        ts *= -angle * angle / ((2 * k) * (2 * k + 1));
        c += tc;
        s += ts;
    }
    *cosine = c;
    *sine = s;
}

static void cosines(double *to, int count, double first) { /* cos(2 pi (k - first) / count), k = 0 .. count - 1 */
    double c, s, x, y;
    const double whole = 6.283185307179586 / count;
    turn_of(whole, &c, &s);
    turn_of(whole * (first - floor(first)), &x, &y);
    y = -y;
    for (int k = 0; k < (count - (int)floor(first) % count) % count; k++) { /* from -frac up to the angle of k = 0 */
        double next = x * c - y * s;
        y = y * c + x * s;
        x = next;
    }
    for (int k = 0; k < count; k++) {
        to[k] = x;
        double next = x * c - y * s;
        y = y * c + x * s;
        x = next;
    }
}

pw_status weather_from_climate(pw_weather *weather, const pw_table *table, size_t row, pw_error *error) {
    double pressure, yearly, summer_daily, winter_daily, hottest_day, hottest_hour, summer_front, winter_front, correlation, moist, depression;
    const struct { const char *column; double *value; } amounts[] = {
        {"yearly", &yearly}, {"summer_daily", &summer_daily}, {"winter_daily", &winter_daily}, {"hottest_day", &hottest_day}, {"hottest_hour", &hottest_hour},
        {"summer_front", &summer_front}, {"winter_front", &winter_front}, {"correlation", &correlation}, {"moist", &moist}, {"depression", &depression}, {"pressure", &pressure}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) PW_TRY(pw_table_amount_of(table, row, amounts[i].column, amounts[i].value, error));
    double mean = pw_table_number_of(table, row, "mean"), year[DAYS], day[HOURS];
    if (!isfinite(mean)) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL, "a climate needs its mean");
    cosines(year, DAYS, hottest_day);
    cosines(day, HOURS, hottest_hour);
    PW_TRY(weather_reserve(weather, DAYS * HOURS, error));
    pw_random random = pw_random_stream(1, pw_table_text_of(table, row, "name"), 0);
    double keep = correlation > 0 ? pw_exp(-3600 / correlation) : 0, draw = sqrt(1 - keep * keep), front = pw_random_normal(&random, 0, 1);
    for (int d = 0; d < DAYS; d++)
        for (int h = 0; h < HOURS; h++) {
            front = keep * front + pw_random_normal(&random, 0, draw);
            double season = mean + yearly * year[d], warm = (1 + year[d]) / 2, swing = winter_daily + (summer_daily - winter_daily) * warm;
            double passing = front * (winter_front + (summer_front - winter_front) * warm);
            double dry = season + passing + swing * day[h], dew = season + moist * passing - depression;
            double humidity = dew < dry ? pw_air_saturation_Pa(dew) / pw_air_saturation_Pa(dry) : 1;
            PW_TRY(pw_weather_from_humidity(dry, humidity, pressure, &weather->point[weather->points++], error));
        }
    weather->step_s = 3600;
    return PW_OK;
}
