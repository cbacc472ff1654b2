/* Weather: dry bulb and wet bulb by the hour, and the air's properties that cooling plants need.
 *
 * A file is CSV with a header, one row a step, equal steps: a column `hour` (hours from the start) or `time` (ISO 8601,
 * "2025-01-01T00:00"), `dry_bulb_C`, and `humidity_pct` or `wet_bulb_C` (or both); `pressure_Pa` may be there. Other columns are ignored.
 * The first row is of 1 January (hour 0); rows of 29 February are left out, as years have 365 days. A file named *.epw is read as EnergyPlus weather. Anything without a dot and a slash is a climate of climates.csv ("cool-marine"): a
 * synthetic year of hours from a few monthly and daily figures (climate.c says how), the same on every machine. Weather beyond the
 * end begins anew, so that a year serves for any number of years.
 */
#ifndef PW_MODELS_COOLING_WEATHER_H
#define PW_MODELS_COOLING_WEATHER_H

#include <stddef.h>

#include "models/catalogue/catalogue.h"

typedef struct pw_weather_point {
    double dry_C, wet_C;
    double humidity;    /* 0 .. 1 */
    double pressure_Pa;
} pw_weather_point;

typedef struct pw_weather pw_weather;
/* name_or_path: see above; a path is opened as it is. catalogue may be NULL for a path. Errors carry file:line. The caller destroys it; immutable, may be shared between
 * threads. */
pw_status pw_weather_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *name_or_path, pw_weather **weather,
                          pw_error *error);
void pw_weather_destroy(pw_weather *weather); /* NULL is fine */

const char *pw_weather_name(const pw_weather *weather);
size_t pw_weather_points(const pw_weather *weather);
double pw_weather_step_s(const pw_weather *weather);
/* Point `index` modulo the number of points: holds from index x step to (index + 1) x step. */
pw_weather_point pw_weather_at(const pw_weather *weather, size_t index);

/* A point from dry bulb and relative humidity (0 .. 1), or from dry and wet bulb; PW_BAD_INPUT when no air is like that. */
pw_status pw_weather_from_humidity(double dry_C, double humidity, double pressure_Pa, pw_weather_point *point, pw_error *error);
pw_status pw_weather_from_wet_bulb(double dry_C, double wet_C, double pressure_Pa, pw_weather_point *point, pw_error *error);

/* ---- moist air (ASHRAE Handbook, Fundamentals, chapter Psychrometrics; Hyland and Wexler 1983) ---- */

double pw_air_saturation_Pa(double temperature_C);                            /* over water from 0 degrees up, over ice below */
double pw_air_moisture(double temperature_C, double humidity, double pressure_Pa); /* kg of water per kg of dry air */
double pw_air_enthalpy(double temperature_C, double moisture);                /* J per kg of dry air, 0 at 0 degrees */
double pw_air_saturated_enthalpy(double temperature_C, double pressure_Pa);

#endif
