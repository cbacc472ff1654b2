/* What the files of weather share. For this folder alone. */
#ifndef PW_MODELS_COOLING_WEATHER_INTERNAL_H
#define PW_MODELS_COOLING_WEATHER_INTERNAL_H

#include "models/cooling/weather.h"

struct pw_weather {
    const pw_allocator *allocator;
    char name[256];
    double step_s;
    pw_weather_point *point;
    size_t points, capacity;
};

pw_status weather_reserve(pw_weather *weather, size_t points, pw_error *error);
pw_status weather_from_climate(pw_weather *weather, const pw_table *table, size_t row, pw_error *error);

#endif
