/* Weather files. */
#include "models/cooling/weather.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "models/cooling/weather_internal.h"
#include "sim/csv.h"
#include "sim/text.h"

#define SEA_LEVEL_Pa 101325.0
enum { MOST_POINTS = 1 << 22, NEW_YEAR = 101, LEAP_DAY = 229 };

pw_status weather_reserve(pw_weather *weather, size_t points, pw_error *error) {
    if (pw_grow(weather->allocator, (void **)&weather->point, &weather->capacity, points, sizeof *weather->point))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for %zu hours of weather", points);
    return PW_OK;
}

/* ---- CSV ---- */

/* Seconds of "2025-01-01T00:00[:00][Z]" or with a space, counted from an arbitrary day (days from civil, proleptic Gregorian); month_day: 101 to 1231. */
static bool read_time(const char *text, double *seconds, int *month_day) {
    int y, mo, d, h = 0, mi = 0, s = 0, used = 0;
    if (sscanf(text, "%d-%d-%d%n", &y, &mo, &d, &used) != 3 || mo < 1 || mo > 12 || d < 1 || d > 31) return false;
    const char *rest = text + used;
    if (*rest == 'T' || *rest == ' ') {
        used = 0;
        if (sscanf(rest + 1, "%d:%d%n", &h, &mi, &used) != 2 || h < 0 || h > 24 || mi < 0 || mi > 59) return false;
        rest += 1 + used;
        used = 0;
        if (*rest == ':') {
            if (sscanf(rest, ":%d%n", &s, &used) != 1 || s < 0 || s > 60) return false;
            rest += used;
        }
    }
    if (*rest && strcmp(rest, "Z")) return false;
    *month_day = mo * 100 + d;
    y -= mo <= 2;
    long long era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400, doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    long long days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy;
    *seconds = (double)days * 86400 + h * 3600.0 + mi * 60.0 + s;
    return true;
}

typedef struct columns {
    int hour, time, dry, humidity, wet, pressure;
} columns;

static pw_status find_columns(pw_csv *csv, columns *c, pw_error *error) {
    c->hour = pw_csv_find(csv, "hour");
    c->time = pw_csv_find(csv, "time");
    c->humidity = pw_csv_find(csv, "humidity_pct");
    c->wet = pw_csv_find(csv, "wet_bulb_C");
    c->pressure = pw_csv_find(csv, "pressure_Pa");
    PW_TRY(pw_csv_column(csv, "dry_bulb_C", &c->dry, error));
    if (c->hour < 0 && c->time < 0)
        return pw_fail(error, PW_BAD_INPUT, pw_csv_file(csv), 1, "hour: 0, 1, 2, ...; time: 2025-01-01T00:00", "weather needs a column hour or time");
    if (c->humidity < 0 && c->wet < 0)
        return pw_fail(error, PW_BAD_INPUT, pw_csv_file(csv), 1, "relative humidity in %, or the wet bulb in degrees Celsius", "weather needs a column humidity_pct or wet_bulb_C");
    return PW_OK;
}

/* Puts the place before what a callee says. */
static pw_status at_row(const pw_csv *csv, pw_status status, pw_error *error) {
    if (status != PW_OK && error && !error->line) {
        snprintf(error->file, sizeof error->file, "%s", pw_csv_file(csv));
        error->line = pw_csv_line(csv);
    }
    return status;
}

/* month_day: as read_time, 0 with hours. */
static pw_status read_point(const pw_csv *csv, const columns *c, double *time_s, int *month_day, pw_weather_point *point, pw_error *error) {
    double dry, value, pressure = SEA_LEVEL_Pa;
    *month_day = 0;
    if (c->hour >= 0) {
        PW_TRY(pw_csv_number(csv, c->hour, time_s, error));
        *time_s *= 3600;
    } else if (!read_time(pw_csv_text(csv, c->time), time_s, month_day))
        return pw_csv_fail(csv, c->time, "write it as 2025-01-01T00:00", error, "'%s' is no time", pw_csv_text(csv, c->time));
    PW_TRY(pw_csv_number(csv, c->dry, &dry, error));
    if (c->pressure >= 0) PW_TRY(pw_csv_number_or(csv, c->pressure, SEA_LEVEL_Pa, &pressure, error));
    if (c->wet >= 0) {
        PW_TRY(pw_csv_number(csv, c->wet, &value, error));
        return at_row(csv, pw_weather_from_wet_bulb(dry, value, pressure, point, error), error);
    }
    PW_TRY(pw_csv_number(csv, c->humidity, &value, error));
    return at_row(csv, pw_weather_from_humidity(dry, value / 100, pressure, point, error), error);
}

static pw_status read_csv(pw_weather *weather, pw_csv *csv, pw_error *error) {
    columns c;
    double first = 0, time_s;
    size_t rows = 0; /* with those of 29 February, which the years of a simulation do not have */
    PW_TRY(find_columns(csv, &c, error));
    weather->step_s = 3600;
    for (bool row = true;;) {
        PW_TRY(pw_csv_next(csv, &row, error));
        if (!row) break;
        if (weather->points >= MOST_POINTS) return pw_csv_fail(csv, -1, NULL, error, "more than %d rows", MOST_POINTS);
        PW_TRY(weather_reserve(weather, weather->points + 1, error));
        int month_day;
        PW_TRY(read_point(csv, &c, &time_s, &month_day, &weather->point[weather->points], error));
        if (rows == 0) first = time_s;
        if (rows == 0 && (c.hour >= 0 ? time_s != 0 : month_day != NEW_YEAR))
            return pw_csv_fail(csv, c.hour >= 0 ? c.hour : c.time, "put the rows in the order of a year from 1 January", error,
                               "weather begins on 1 January, as the simulation does");
        if (rows == 1) weather->step_s = time_s - first;
        if (!(weather->step_s > 0) || fabs(time_s - first - (double)rows * weather->step_s) > 1e-6 * weather->step_s)
            return pw_csv_fail(csv, c.hour >= 0 ? c.hour : c.time, "one row an hour, without gaps or repeats", error, "the steps are not equal");
        rows++;
        if (month_day != LEAP_DAY) weather->points++;
    }
    if (weather->points == 0) return pw_fail(error, PW_BAD_INPUT, pw_csv_file(csv), 1, NULL, "weather without a row");
    return PW_OK;
}

/* ---- EnergyPlus weather: 8 header lines; dry bulb, dew point, humidity, pressure are fields 7 to 10 of a row ---- */

static bool epw_field(const char *line, int index, double *value) {
    for (; index > 0; index--) {
        line = strchr(line, ',');
        if (!line) return false;
        line++;
    }
    const char *end;
    return pw_text_number(line, &end, value) && (*end == ',' || *end == '\0' || *end == '\r' || *end == '\n');
}

static pw_status read_epw(pw_weather *weather, const char *path, FILE *file, pw_error *error) {
    char line[4096];
    double per_hour = 1;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        double month, day, dry, humidity, pressure;
        if (!strchr(line, '\n') && !feof(file)) return pw_fail(error, PW_BAD_INPUT, path, number, NULL, "the line is longer than %d bytes", (int)sizeof line);
        if (number == 1 && strncasecmp(line, "LOCATION,", 9)) return pw_fail(error, PW_BAD_INPUT, path, 1, NULL, "no EnergyPlus weather: the first line does not begin with LOCATION");
        if (!strncasecmp(line, "DATA PERIODS,", 13) && (!epw_field(line, 2, &per_hour) || !(per_hour >= 1 && per_hour <= 60)))
            return pw_fail(error, PW_BAD_INPUT, path, number, NULL, "field 3 must be records per hour");
        if (number <= 8 || line[strspn(line, " \r\n")] == '\0') continue;
        if (!epw_field(line, 1, &month) || !epw_field(line, 2, &day))
            return pw_fail(error, PW_BAD_INPUT, path, number, NULL, "fields 2 and 3 must be month and day");
        int month_day = (int)month * 100 + (int)day;
        if (weather->points == 0 && month_day != NEW_YEAR)
            return pw_fail(error, PW_BAD_INPUT, path, number, "put the rows in the order of a year from 1 January", "weather begins on 1 January, as the simulation does");
        if (month_day == LEAP_DAY) continue;
        if (!epw_field(line, 6, &dry) || !epw_field(line, 8, &humidity) || !epw_field(line, 9, &pressure))
            return pw_fail(error, PW_BAD_INPUT, path, number, NULL, "fields 7, 9 and 10 must be dry bulb, humidity and pressure");
        if (dry > 99.8 || humidity > 998) return pw_fail(error, PW_BAD_INPUT, path, number, "fill the gap from its neighbours", "dry bulb or humidity is marked as missing");
        if (pressure > 999998) pressure = SEA_LEVEL_Pa; /* missing */
        PW_TRY(weather_reserve(weather, weather->points + 1, error));
        pw_status status = pw_weather_from_humidity(dry, humidity / 100, pressure, &weather->point[weather->points], error);
        if (status != PW_OK) {
            if (error && !error->line) {
                snprintf(error->file, sizeof error->file, "%s", path);
                error->line = number;
            }
            return status;
        }
        weather->points++;
    }
    weather->step_s = 3600 / per_hour;
    if (weather->points == 0) return pw_fail(error, PW_BAD_INPUT, path, 0, NULL, "weather without a row");
    return PW_OK;
}

/* ---- life ---- */

static pw_status create(const pw_allocator *allocator, const char *name, pw_weather **weather, pw_error *error) {
    if (!allocator) allocator = pw_allocator_default();
    *weather = pw_alloc_zero(allocator, sizeof **weather);
    if (!*weather) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for weather");
    (*weather)->allocator = allocator;
    snprintf((*weather)->name, sizeof (*weather)->name, "%s", name);
    return PW_OK;
}

static pw_status load_climate(pw_weather *weather, const pw_catalogue *catalogue, const char *name, pw_error *error) {
    const pw_table *table;
    char names[768];
    if (!catalogue) return pw_fail(error, PW_NOT_FOUND, NULL, 0, "give the path of a file", "no climates are at hand for '%s'", name);
    PW_TRY(pw_catalogue_need(catalogue, "climates", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "a file of your own, or one of:", names, sizeof names), "there is no climate '%s'", name);
    return weather_from_climate(weather, table, (size_t)row, error);
}

static pw_status load_file(pw_weather *weather, const char *path, pw_error *error) {
    size_t length = strlen(path);
    if (length > 4 && !strcasecmp(path + length - 4, ".epw")) {
        FILE *file = fopen(path, "r");
        if (!file) return pw_fail(error, PW_IO, path, 0, NULL, "cannot open the weather file");
        pw_status status = read_epw(weather, path, file, error);
        fclose(file);
        return status;
    }
    pw_csv *csv;
    PW_TRY(pw_csv_open(path, NULL, weather->allocator, &csv, error));
    pw_status status = read_csv(weather, csv, error);
    pw_csv_close(csv);
    return status;
}

pw_status pw_weather_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *name_or_path, pw_weather **weather, pw_error *error) {
    PW_TRY(create(allocator, name_or_path, weather, error));
    bool is_file = strpbrk(name_or_path, "/.") != NULL;
    pw_status status = is_file ? load_file(*weather, name_or_path, error) : load_climate(*weather, catalogue, name_or_path, error);
    if (status != PW_OK) {
        pw_weather_destroy(*weather);
        *weather = NULL;
    }
    return status;
}

void pw_weather_destroy(pw_weather *weather) {
    if (!weather) return;
    pw_free(weather->allocator, weather->point, weather->capacity * sizeof *weather->point);
    pw_free(weather->allocator, weather, sizeof *weather);
}

const char *pw_weather_name(const pw_weather *weather) { return weather->name; }
size_t pw_weather_points(const pw_weather *weather) { return weather->points; }
double pw_weather_step_s(const pw_weather *weather) { return weather->step_s; }
pw_weather_point pw_weather_at(const pw_weather *weather, size_t index) { return weather->point[index % weather->points]; }
