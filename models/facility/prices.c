/* Rows of prices, exchange, tariffs. */
#include "models/facility/prices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>


pw_status facility_exchange_read(const pw_catalogue *catalogue, pw_currency currency, facility_exchange *exchange, pw_error *error) {
    *exchange = (facility_exchange){.currency = currency};
    return facility_price(catalogue, NULL, "exchange CNY per USD", "CNY/USD", "economics.currency", &exchange->cny_per_usd, error);
}

/* Whether the row's unit is money of one kind and `unit`; *factor then turns it into the currency of the result. */
static bool is_money(const facility_exchange *exchange, const char *row_unit, const char *unit, double *factor) {
    for (int c = 0; exchange && pw_currency_names[c]; c++) {
        size_t length = strlen(pw_currency_names[c]);
        if (strncmp(row_unit, pw_currency_names[c], length) || strcmp(row_unit + length, unit)) continue;
        double rate = exchange->cny_per_usd.value;
        *factor = (pw_currency)c == exchange->currency ? 1 : c == PW_CURRENCY_CNY ? 1 / rate : rate;
        return true;
    }
    return false;
}

pw_status facility_price(const pw_catalogue *catalogue, const facility_exchange *exchange, const char *name, const char *unit, const char *field,
                         pw_sourced *price, pw_error *error) {
    const pw_table *table;
    char hint[300];
    double factor = 1;
    PW_TRY(pw_catalogue_need(catalogue, "prices", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) {
        const char *near = pw_table_nearest(table, name);
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'? `podwright catalogue prices` lists them", near);
        else snprintf(hint, sizeof hint, "`podwright catalogue prices` lists them");
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "%s: no row of prices is called '%.100s'", field, name);
    }
    const char *row_unit = pw_table_text_of(table, (size_t)row, "unit");
    if (strcmp(unit, "percent") == 0 && strcmp(row_unit, unit) == 0) factor = 0.01;
    else if (strcmp(row_unit, unit) != 0 && !is_money(exchange, row_unit, unit, &factor))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s: '%.100s' is in %.60s, not in %s%s", field, name, row_unit,
                       exchange && (!*unit || *unit == '/') ? pw_currency_names[exchange->currency] : "", unit);
    double value = pw_table_number_of(table, (size_t)row, "value");
    if (isnan(value)) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), NULL, "'%s' has no value", name);
    *price = (pw_sourced){.value = value * factor, .row = pw_table_text_at(table, (size_t)row, 0),
                          .provenance = pw_table_text_of(table, (size_t)row, "provenance"),
                          .low = pw_table_number_of(table, (size_t)row, "low") * factor,
                          .high = pw_table_number_of(table, (size_t)row, "high") * factor};
    return PW_OK;
}

pw_status facility_price_or(const pw_catalogue *catalogue, const facility_exchange *exchange, double given, const char *name, const char *unit,
                            const char *field, pw_sourced *price, pw_error *error) {
    if (isnan(given)) return facility_price(catalogue, exchange, name, unit, field, price, error);
    *price = (pw_sourced){.value = given, .low = NAN, .high = NAN};
    return PW_OK;
}

/* ---- Tariffs ---- */

typedef struct tariff_row {
    int month_from, month_to, days; /* days: 0 all, 1 Monday to Friday, 2 Saturday and Sunday */
    double from_h, to_h, factor;
} tariff_row;

enum { MOST_ROWS = 200 };

static pw_status read_tariff(const pw_catalogue *catalogue, const char *name, const char *where, tariff_row *rows, int *count, pw_error *error) {
    static const char *const days[] = {"all", "weekdays", "weekend", NULL};
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "tariffs", &table, error));
    *count = 0;
    for (size_t r = 0; r < pw_table_rows(table); r++) {
        if (strcmp(pw_table_text_of(table, r, "tariff"), name)) continue;
        tariff_row row = {.days = -1};
        double month_from, month_to;
        PW_TRY(pw_table_amount_of(table, r, "month_from", &month_from, error));
        PW_TRY(pw_table_amount_of(table, r, "month_to", &month_to, error));
        PW_TRY(pw_table_amount_of(table, r, "from_hour", &row.from_h, error));
        PW_TRY(pw_table_amount_of(table, r, "to_hour", &row.to_h, error));
        PW_TRY(pw_table_amount_of(table, r, "factor", &row.factor, error));
        row.month_from = (int)month_from;
        row.month_to = (int)month_to;
        for (int d = 0; days[d]; d++)
            if (strcmp(pw_table_text_of(table, r, "days"), days[d]) == 0) row.days = d;
        if (*count == MOST_ROWS || row.days < 0 || row.month_from < 1 || row.month_to > 12 || row.to_h > 24 || row.from_h >= row.to_h)
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, r), "months 1 to 12, days all, weekdays or weekend, hours 0 to 24",
                           "a row of the tariff '%.60s' is out of range", name);
        rows[(*count)++] = row;
    }
    if (*count) return PW_OK;
    char hint[400] = "on file:";
    for (size_t r = 0, used = strlen(hint); r < pw_table_rows(table) && used < sizeof hint; r++)
        if (r == 0 || strcmp(pw_table_text_of(table, r, "tariff"), pw_table_text_of(table, r - 1, "tariff")))
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", pw_table_text_of(table, r, "tariff"));
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "%s.tariff: no tariff is called '%.100s'", where, name);
}

/* The factor of the last row that holds; 1 where none does. */
static double factor_at(const tariff_row *rows, int count, int month, bool weekend, double hour) {
    double factor = 1;
    for (int r = 0; r < count; r++) {
        const tariff_row *row = &rows[r];
        bool in_months = row->month_from <= row->month_to ? month >= row->month_from && month <= row->month_to
                                                          : month >= row->month_from || month <= row->month_to;
        if (in_months && (row->days == 0 || (row->days == 2) == weekend) && hour >= row->from_h && hour < row->to_h) factor = row->factor;
    }
    return factor;
}

static int ascending(double a, double b) { return (a > b) - (a < b); }

pw_status facility_tariff(const pw_catalogue *catalogue, const facility_exchange *exchange, const pw_site_desc *site, const char *where, int new_year,
                          pw_time end, const char *path, const pw_allocator *allocator, pw_arena *arena, facility_steps *steps, pw_sourced *price,
                          pw_error *error) {
    static const facility_column columns[] = {{"price_per_kWh", -100, 100}, {NULL}};
    tariff_row rows[MOST_ROWS];
    double cuts[2 * MOST_ROWS + 1] = {0};
    char field[80];
    int count = 0, cut_count = 1, found;
    if (path) {
        *price = (pw_sourced){.value = NAN, .low = NAN, .high = NAN};
        return facility_read_steps(path, columns, &found, end, allocator, arena, steps, error);
    }
    snprintf(field, sizeof field, "%s.price", where);
    PW_TRY(facility_price_or(catalogue, exchange, site->price_per_kWh, site->price ? site->price : "", "/kWh", field, price, error));
    if (!site->tariff || !*site->tariff) return facility_steps_add(steps, arena, 0, price->value, error);
    PW_TRY(read_tariff(catalogue, site->tariff, where, rows, &count, error));
    for (int r = 0; r < count; r++) cuts[cut_count++] = rows[r].from_h, cuts[cut_count++] = rows[r].to_h;
    for (int i = 1; i < cut_count; i++) /* insertion: a few numbers */
        for (int j = i; j > 0 && ascending(cuts[j - 1], cuts[j]) > 0; j--) {
            double swap = cuts[j];
            cuts[j] = cuts[j - 1];
            cuts[j - 1] = swap;
        }
    for (pw_time day = 0; day < end; day += FACILITY_DAY) {
        bool weekend = facility_weekday(day, new_year) >= 5;
        for (int i = 0; i < cut_count && cuts[i] < 24; i++) {
            pw_time at = day + pw_time_from_seconds(cuts[i] * 3600, PW_TICKS_PER_SECOND_OPERATIONS);
            if (at < end) PW_TRY(facility_steps_add(steps, arena, at, price->value * factor_at(rows, count, facility_month(day), weekend, cuts[i]), error));
        }
    }
    return PW_OK;
}
