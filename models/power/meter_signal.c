/* Everything rests on the energy up to a time, which is kept at each change: a mean is a difference of two energies. Walks over rising
 * times keep a cursor, so that a whole signal costs one pass. */
#include "models/power/meter_signal.h"

#include <math.h>
#include <stdlib.h>

void pw_signal_init(pw_signal *signal, const pw_allocator *allocator) {
    *signal = (pw_signal){.allocator = allocator ? allocator : pw_allocator_default()};
}

void pw_signal_free(pw_signal *signal) {
    pw_free(signal->allocator, signal->from_s, signal->room[0] * sizeof(double));
    pw_free(signal->allocator, signal->watts, signal->room[1] * sizeof(double));
    pw_free(signal->allocator, signal->joules, signal->room[2] * sizeof(double));
    pw_signal_init(signal, signal->allocator);
}

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a power signal"); }

static pw_status grow(pw_signal *s, pw_error *error) {
    void *arrays[] = {s->from_s, s->watts, s->joules};
    int failed = 0;
    for (int i = 0; i < 3; i++) failed |= pw_grow(s->allocator, &arrays[i], &s->room[i], s->count + 1, sizeof(double));
    s->from_s = arrays[0];
    s->watts = arrays[1];
    s->joules = arrays[2];
    return failed ? no_memory(error) : PW_OK;
}

pw_status pw_signal_put(pw_signal *s, double time_s, double watts, pw_error *error) {
    if (!(watts >= 0) || !isfinite(watts)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a power of %g W", watts);
    if (s->count ? !(time_s >= s->from_s[s->count - 1]) || !isfinite(time_s) : time_s != 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the first is 0, and they never fall", "a power signal changes at %g s", time_s);
    if (s->count && time_s == s->from_s[s->count - 1]) s->count--;
    if (s->count && s->watts[s->count - 1] == watts) return PW_OK;
    PW_TRY(grow(s, error));
    size_t i = s->count++;
    s->joules[i] = i ? s->joules[i - 1] + (time_s - s->from_s[i - 1]) * s->watts[i - 1] : 0;
    s->from_s[i] = time_s;
    s->watts[i] = watts;
    return PW_OK;
}

pw_status pw_signal_end(pw_signal *s, double end_s, pw_error *error) {
    if (!s->count || !(end_s > 0) || !isfinite(end_s) || end_s < s->from_s[s->count - 1])
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a signal has a length and at least one level", "a power signal ends at %g s", end_s);
    if (s->count > 1 && s->from_s[s->count - 1] == end_s) s->count--; /* a level that lasts no time */
    s->end_s = end_s;
    return PW_OK;
}

/* The step that holds time_s, from a cursor that is not beyond it. */
static size_t step_at(const pw_signal *s, double time_s, size_t cursor) {
    while (cursor + 1 < s->count && s->from_s[cursor + 1] <= time_s) cursor++;
    return cursor;
}

static double energy_at(const pw_signal *s, double time_s, size_t *cursor) {
    *cursor = step_at(s, time_s, *cursor);
    return s->joules[*cursor] + (time_s - s->from_s[*cursor]) * s->watts[*cursor];
}

static size_t step_search(const pw_signal *s, double time_s) {
    size_t low = 0, high = s->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->from_s[middle] <= time_s) low = middle;
        else high = middle;
    }
    return low;
}

double pw_signal_energy_J(const pw_signal *s, double from_s, double to_s) {
    PW_CHECK(s->end_s > 0 && from_s >= 0 && from_s <= to_s && to_s <= s->end_s);
    size_t a = step_search(s, from_s), b = step_search(s, to_s);
    return s->joules[b] + (to_s - s->from_s[b]) * s->watts[b] - (s->joules[a] + (from_s - s->from_s[a]) * s->watts[a]);
}

double pw_signal_mean_W(const pw_signal *s) { return pw_signal_energy_J(s, 0, s->end_s) / s->end_s; }

void pw_signal_range_W(const pw_signal *s, double *least_W, double *most_W) {
    *least_W = *most_W = s->watts[0];
    for (size_t i = 1; i < s->count; i++) {
        *least_W = fmin(*least_W, s->watts[i]);
        *most_W = fmax(*most_W, s->watts[i]);
    }
}

pw_status pw_signal_cut(const pw_signal *s, double from_s, double to_s, pw_signal *part, pw_error *error) {
    PW_CHECK(from_s >= 0 && from_s < to_s && to_s <= s->end_s);
    pw_signal_init(part, s->allocator);
    pw_status status = PW_OK;
    for (size_t i = step_search(s, from_s); status == PW_OK && i < s->count && s->from_s[i] < to_s; i++)
        status = pw_signal_put(part, fmax(0, s->from_s[i] - from_s), s->watts[i], error);
    if (status == PW_OK) status = pw_signal_end(part, to_s - from_s, error);
    if (status != PW_OK) pw_signal_free(part);
    return status;
}

pw_status pw_instrument_of(const pw_catalogue *catalogue, const char *name, pw_instrument *instrument, pw_error *error) {
    const pw_table *table = pw_catalogue_table(catalogue, "power-meters");
    char names[600];
    int row = table ? pw_table_find_row(table, name) : -1;
    if (row < 0)
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, table ? pw_table_names(table, "on file:", names, sizeof names) : NULL,
                       "no row of power-meters is called '%.100s'", name);
    instrument->name = pw_table_text_at(table, (size_t)row, 0);
    PW_TRY(pw_table_amount_of(table, (size_t)row, "window", &instrument->window_s, error));
    return pw_table_amount_of(table, (size_t)row, "every", &instrument->every_s, error);
}

/* ---- Readings ---- */

/* Times are multiples, not sums, so that the last one is not lost to rounding. */
size_t pw_signal_readings(const pw_signal *s, const pw_instrument *instrument) {
    double count = floor(s->end_s / instrument->every_s * (1 + 1e-12));
    return count > 0 ? (size_t)count : 0;
}

static double reading_time(const pw_signal *s, const pw_instrument *instrument, size_t k) {
    return fmin((double)(k + 1) * instrument->every_s, s->end_s);
}

void pw_signal_read(const pw_signal *s, const pw_instrument *instrument, double *watts) {
    size_t count = pw_signal_readings(s, instrument), early = 0, late = 0;
    for (size_t k = 0; k < count; k++) {
        double to_s = reading_time(s, instrument, k), from_s = fmax(0, to_s - instrument->window_s);
        double before_J = energy_at(s, from_s, &early);
        watts[k] = (energy_at(s, to_s, &late) - before_J) / (to_s - from_s);
    }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pw_status pw_signal_summarise(const pw_signal *s, const pw_instrument *instrument, pw_reading_summary *summary, pw_error *error) {
    size_t count = pw_signal_readings(s, instrument);
    if (!count)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, NULL, "the signal of %g s ends before the first reading of %s, every %g s", s->end_s,
                       instrument->name, instrument->every_s);
    double *watts = pw_alloc(s->allocator, count * sizeof *watts);
    if (!watts) return no_memory(error);
    pw_signal_read(s, instrument, watts);
    *summary = (pw_reading_summary){.count = count, .least_W = watts[0], .most_W = watts[0]};
    double sum = 0;
    for (size_t k = 0; k < count; k++) {
        sum += watts[k];
        summary->least_W = fmin(summary->least_W, watts[k]);
        summary->most_W = fmax(summary->most_W, watts[k]);
        if (!k) continue;
        summary->rise_W = fmax(summary->rise_W, watts[k] - watts[k - 1]);
        summary->fall_W = fmax(summary->fall_W, watts[k - 1] - watts[k]);
    }
    summary->mean_W = sum / (double)count;
    double to_s = reading_time(s, instrument, count - 1), true_W = pw_signal_energy_J(s, 0, to_s) / to_s;
    summary->bias = true_W > 0 ? summary->mean_W / true_W - 1 : 0;
    qsort(watts, count, sizeof *watts, by_size);
    summary->p95_W = watts[(size_t)(0.95 * (double)(count - 1) + 0.5)];
    pw_free(s->allocator, watts, count * sizeof *watts);
    return PW_OK;
}

/* ---- Ramps ---- */

typedef struct ramp_walk {
    const pw_signal *signal;
    double window_s;
    size_t before, here, after;
    pw_ramp *ramp;
} ramp_walk;

/* Places come in rising order. */
static void try_place(ramp_walk *w, double time_s) {
    const pw_signal *s = w->signal;
    if (time_s < w->window_s || time_s > s->end_s - w->window_s) return;
    double rate = (energy_at(s, fmin(time_s + w->window_s, s->end_s), &w->after) - 2 * energy_at(s, time_s, &w->here) +
                   energy_at(s, fmax(0, time_s - w->window_s), &w->before)) / (w->window_s * w->window_s);
    if (rate > w->ramp->up_Wps) *w->ramp = (pw_ramp){rate, w->ramp->down_Wps, time_s, w->ramp->down_at_s};
    if (-rate > w->ramp->down_Wps) *w->ramp = (pw_ramp){w->ramp->up_Wps, -rate, w->ramp->up_at_s, time_s};
}

pw_status pw_signal_ramp(const pw_signal *s, double window_s, pw_ramp *ramp, pw_error *error) {
    if (!(window_s > 0) || 2 * window_s > s->end_s)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, NULL, "a ramp over windows of %g s needs a signal of at least %g s; this one has %g s", window_s,
                       2 * window_s, s->end_s);
    *ramp = (pw_ramp){0};
    for (int edge = -1; edge <= 1; edge++) {
        ramp_walk w = {.signal = s, .window_s = window_s, .ramp = ramp};
        try_place(&w, window_s);
        for (size_t i = 0; i < s->count; i++) try_place(&w, s->from_s[i] + edge * window_s);
        try_place(&w, s->end_s - window_s);
    }
    return PW_OK;
}
