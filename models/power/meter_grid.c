#include "models/power/meter_grid.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#define AT(field) offsetof(pw_grid_band_desc, field)
static const pw_field band_fields[] = {
    {"from", PW_FIELD_NUMBER, PW_UNIT_HERTZ, AT(from_Hz), 1e-4, 1000, NULL, NULL, NULL, "Lower end of the band."},
    {"to", PW_FIELD_NUMBER, PW_UNIT_HERTZ, AT(to_Hz), 1e-4, 1000, NULL, NULL, NULL, "Upper end of the band."},
    {"amplitude", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(amplitude), 0, 1, NULL, NULL, NULL,
     "Most that power may swing in the band, as a share of the connection: half of peak to peak of a sine that swings as much as all of it."},
    {NULL}};
#undef AT
static pw_status check_band(const void *description, const char *file, int line, pw_error *error) {
    const pw_grid_band_desc *d = description;
    if (d->from_Hz < d->to_Hz) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "grid_band.to is %g Hz, not above grid_band.from, %g Hz", d->to_Hz, d->from_Hz);
}
const pw_kind pw_grid_band_kind = {"grid_band", "A band of frequencies in which a utility limits how much power may swing.", sizeof(pw_grid_band_desc), band_fields,
                                   check_band};

#define AT(field) offsetof(pw_grid_limits, field)
static const pw_kind *const band_kinds[] = {&pw_grid_band_kind, NULL};
static const pw_field band_item = {"band", PW_FIELD_ONE_OF, .kinds = band_kinds, .text = "A band."};
static const pw_field limits_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "A row of the table grid-limits, whose limits the other fields replace."},
    {"connection", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(connection_W), 1, 1e12, "", NULL, NULL,
     "Power that was agreed with the utility; the limits are shares of it. Left out: the largest mean of 15 s."},
    {"ramp_up", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(ramp_up), 0, 100, "", NULL, NULL, "Most that power may rise in a second, as a share of the connection."},
    {"ramp_down", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(ramp_down), 0, 100, "", NULL, NULL, "Most that power may fall in a second, as a share of the connection."},
    {"ramp_window", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(ramp_window_s), 1e-3, 86400, "1 s", NULL, NULL,
     "Ramps and the range compare means over so long."},
    {"range", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(range), 0, 1, "", NULL, NULL,
     "Most that the largest mean of a window may lie above the smallest, as a share of the connection."},
    {"band_from", PW_FIELD_NUMBER, PW_UNIT_HERTZ, AT(band_from_Hz), 1e-4, 1000, "0.1 Hz", NULL, NULL, "Lower end of the band that amplitude limits."},
    {"band_to", PW_FIELD_NUMBER, PW_UNIT_HERTZ, AT(band_to_Hz), 1e-4, 1000, "20 Hz", NULL, NULL, "Upper end of that band."},
    {"amplitude", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(amplitude), 0, 1, "", NULL, NULL,
     "Most that power may swing in the band, as a share of the connection: half of peak to peak of a sine that swings as much as all of it."},
    {"bands", PW_FIELD_LIST, PW_UNIT_NONE, AT(bands), 1, PW_GRID_BANDS - 1, "", .item = &band_item, .text = "Further bands with limits of their own."},
    {NULL}};
#undef AT
static pw_status check_limits(const void *description, const char *file, int line, pw_error *error) {
    const pw_grid_limits *d = description;
    if (d->band_from_Hz < d->band_to_Hz) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "grid_limits.band_to is %g Hz, not above grid_limits.band_from, %g Hz", d->band_to_Hz, d->band_from_Hz);
}
const pw_kind pw_grid_limits_kind = {"grid_limits", "What a utility asks of a load: ramps, range and swings, as shares of the connection.", sizeof(pw_grid_limits),
                                     limits_fields, check_limits};

pw_status pw_grid_limits_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    pw_grid_limits *d = desc;
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "grid-limits", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, NULL, "no row of grid-limits is called '%.100s'", name);
    const struct {
        const char *column;
        double *value;
    } optional[] = {{"ramp_up", &d->ramp_up}, {"ramp_down", &d->ramp_down}, {"range", &d->range}, {"amplitude", &d->amplitude}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        *optional[i].value = pw_table_number_of(table, (size_t)row, optional[i].column); /* NaN: no limit */
    PW_TRY(pw_table_amount_of(table, (size_t)row, "ramp_window", &d->ramp_window_s, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "band_from", &d->band_from_Hz, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "band_to", &d->band_to_Hz, error));
    d->name = pw_arena_text(arena, name);
    return d->name ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
}

static pw_grid_finding *find(pw_grid_report *report, double watts, double limit, double at) {
    pw_grid_finding *f = &report->findings[report->count++];
    f->value = watts / report->connection_W;
    f->watts = watts;
    f->limit = limit;
    f->at = at;
    f->broken = f->value > limit * (1 + 1e-9);
    report->broken += f->broken;
    return f;
}

static pw_status find_range(const pw_signal *signal, const pw_grid_limits *limits, pw_grid_report *report, pw_error *error) {
    /* Means over a sliding window are piecewise linear in its place: extremes lie where an edge meets a change. */
    double least = INFINITY, most = -INFINITY, window_s = limits->ramp_window_s;
    if (window_s > signal->end_s)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, NULL, "grid_limits.ramp_window of %g s is longer than the signal, %g s", window_s, signal->end_s);
    for (size_t i = 0; i <= signal->count; i++)
        for (int edge = 0; edge < 2; edge++) {
            double from_s = (i < signal->count ? signal->from_s[i] : signal->end_s) - edge * window_s;
            if (from_s < 0 || from_s + window_s > signal->end_s) continue;
            double mean_W = pw_signal_energy_J(signal, from_s, from_s + window_s) / window_s;
            least = fmin(least, mean_W);
            most = fmax(most, mean_W);
        }
    snprintf(find(report, most - least, limits->range, NAN)->name, 48, "range of means of %g s", window_s);
    return PW_OK;
}

static pw_status find_band(const pw_signal *signal, double from_Hz, double to_Hz, double limit, pw_grid_report *report, pw_error *error) {
    pw_spectrum spectrum;
    PW_TRY(pw_spectrum_make(signal, from_Hz, to_Hz, &spectrum, error));
    pw_band band = pw_spectrum_band(&spectrum, from_Hz, to_Hz);
    pw_spectrum_free(&spectrum);
    snprintf(find(report, band.amplitude_W, limit, band.strongest_Hz)->name, 48, "swing from %g to %g Hz", from_Hz, to_Hz);
    return PW_OK;
}

static pw_status find_connection(const pw_signal *signal, double *connection_W, pw_error *error) {
    const pw_instrument meter = {"a meter of 15 s", fmin(15, signal->end_s), fmin(1, signal->end_s)};
    pw_reading_summary summary;
    PW_TRY(pw_signal_summarise(signal, &meter, &summary, error));
    *connection_W = summary.most_W;
    return *connection_W > 0 ? PW_OK : pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "say grid_limits.connection", "the signal has no power");
}

pw_status pw_grid_check(const pw_signal *signal, const pw_grid_limits *limits, pw_grid_report *report, pw_error *error) {
    *report = (pw_grid_report){.connection_W = limits->connection_W};
    pw_ramp ramp;
    if (isnan(report->connection_W)) PW_TRY(find_connection(signal, &report->connection_W, error));
    PW_TRY(pw_signal_ramp(signal, limits->ramp_window_s, &ramp, error));
    snprintf(find(report, ramp.up_Wps, limits->ramp_up, ramp.up_at_s)->name, 48, "ramp up per s");
    snprintf(find(report, ramp.down_Wps, limits->ramp_down, ramp.down_at_s)->name, 48, "ramp down per s");
    PW_TRY(find_range(signal, limits, report, error));
    bool has_band = !isnan(limits->amplitude) || limits->band_from_Hz * signal->end_s >= 1;
    if (has_band) PW_TRY(find_band(signal, limits->band_from_Hz, limits->band_to_Hz, limits->amplitude, report, error));
    const pw_one_of *bands = limits->bands.items;
    for (uint32_t i = 0; i < limits->bands.count; i++) {
        const pw_grid_band_desc *band = bands[i].record;
        PW_TRY(find_band(signal, band->from_Hz, band->to_Hz, band->amplitude, report, error));
    }
    return PW_OK;
}
