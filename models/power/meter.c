#include "models/power/meter.h"

#include <math.h>
#include <stddef.h>

#include "models/power/meter_repeat.h"

enum { MOST_REPEATS = 1000000 };

#define AT(field) offsetof(pw_meter_desc, field)
static const pw_field instrument_item = {"instrument", PW_FIELD_TEXT, PW_UNIT_NONE, 0, 0, 0, .text = "A row of power-meters."};
static const pw_field meter_fields[] = {
    {"instruments", PW_FIELD_LIST, PW_UNIT_NONE, AT(instruments), 1, PW_METER_INSTRUMENTS, "fast,mlperf,facility", .item = &instrument_item,
     .text = "Rows of the table power-meters: how long each averages and how often it reads."},
    {"skip", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(skip_s), 0, 1e8, "0 s", NULL, NULL, "So much at the beginning is not looked at."},
    {"repeat_for", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(repeat_s), 1e-3, 1e6, "", NULL, NULL,
     "The signal, of one step say, over and over for so long; left out: as it is."},
    {"jitter", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(jitter), 0, 0.5, "0", NULL, NULL,
     "When repeated: nodes take longer by a share of this deviation, new in every repetition, and wait for each other."},
    {"spread", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(spread), 0, 0.5, "0", NULL, NULL, "When repeated: powers of nodes differ by a share of this deviation."},
    {"grid", PW_FIELD_POINTER, PW_UNIT_NONE, AT(grid), 0, 0, "", .record = &pw_grid_limits_kind, .text = "What the utility asks."},
    {"smoothing", PW_FIELD_POINTER, PW_UNIT_NONE, AT(smoothing), 0, 0, "", .record = &pw_smoothing_kind, .text = "What smooths power before the grid sees it."},
    {NULL}};
#undef AT
static pw_status check_meter(const void *description, const char *file, int line, pw_error *error) {
    const pw_meter_desc *d = description;
    if (!isnan(d->repeat_s) || (d->jitter == 0 && d->spread == 0)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "add repeat_for = 2 * u.min", "meter.%s has no meaning without meter.repeat_for", d->jitter > 0 ? "jitter" : "spread");
}
const pw_kind pw_meter_kind = {"meter", "The power meter of the site: instruments, limits of the utility, smoothing.", sizeof(pw_meter_desc), meter_fields, check_meter};

static pw_status read_side(const pw_meter_desc *desc, const pw_meter_report *report, const pw_signal *signal, pw_meter_side *side, pw_error *error) {
    for (uint32_t i = 0; i < report->instrument_count; i++) {
        side->has_reading[i] = pw_signal_readings(signal, &report->instruments[i]) > 0;
        if (side->has_reading[i]) PW_TRY(pw_signal_summarise(signal, &report->instruments[i], &side->readings[i], error));
    }
    side->has_ramp = signal->end_s >= 2;
    if (side->has_ramp) PW_TRY(pw_signal_ramp(signal, 1, &side->ramp, error));
    return desc->grid ? pw_grid_check(signal, desc->grid, &side->grid, error) : PW_OK;
}

static pw_status read_signal(const pw_meter_desc *desc, const pw_signal *signal, uint32_t gpus, pw_meter_report *report, pw_error *error) {
    report->length_s = signal->end_s;
    report->energy_J = pw_signal_energy_J(signal, 0, signal->end_s);
    PW_TRY(read_side(desc, report, signal, &report->plain, error));
    if (!desc->smoothing) return PW_OK;
    pw_signal smooth;
    PW_TRY(pw_smooth(signal, desc->smoothing, gpus, &smooth, &report->cost, error));
    report->is_smooth = true;
    /* The connection is that of the load, so that both sides are shares of the same. */
    pw_grid_limits grid;
    pw_meter_desc same = *desc;
    if (desc->grid) {
        grid = *desc->grid;
        grid.connection_W = report->plain.grid.connection_W;
        same.grid = &grid;
    }
    pw_status status = read_side(&same, report, &smooth, &report->smooth, error);
    pw_signal_free(&smooth);
    return status;
}

static pw_status repeat_signal(const pw_meter_desc *desc, const pw_signal *signal, uint32_t nodes, uint32_t gpus, uint64_t seed, pw_meter_report *report,
                               pw_error *error) {
    pw_signal node, sum;
    double times = ceil(desc->repeat_s / signal->end_s * (1 - 1e-12));
    if (times > MOST_REPEATS)
        return pw_fail(error, PW_LIMIT, NULL, 0, NULL, "meter.repeat_for: a signal of %g s would be repeated %.3g times", signal->end_s, times);
    report->repeats = (uint32_t)fmax(1, times);
    pw_signal_init(&node, signal->allocator);
    pw_status status = PW_OK;
    for (size_t i = 0; status == PW_OK && i < signal->count; i++) status = pw_signal_put(&node, signal->from_s[i], signal->watts[i] / nodes, error);
    if (status == PW_OK) status = pw_signal_end(&node, signal->end_s, error);
    if (status == PW_OK)
        status = pw_signal_repeat(&node, &(pw_repeat){.nodes = nodes, .times = report->repeats, .jitter = desc->jitter, .spread = desc->spread, .seed = seed}, &sum, error);
    pw_signal_free(&node);
    PW_TRY(status);
    status = read_signal(desc, &sum, gpus, report, error);
    pw_signal_free(&sum);
    return status;
}

pw_status pw_meter_read(const pw_catalogue *catalogue, const pw_meter_desc *desc, const pw_signal *site, uint32_t nodes, uint32_t gpus, uint64_t seed,
                        pw_meter_report *report, pw_error *error) {
    *report = (pw_meter_report){.instrument_count = desc->instruments.count};
    const char *const *names = desc->instruments.items;
    for (uint32_t i = 0; i < desc->instruments.count; i++)
        if (pw_instrument_of(catalogue, names[i], &report->instruments[i], error) != PW_OK) {
            char hint[300];
            const pw_table *table = pw_catalogue_table(catalogue, "power-meters");
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, table ? pw_table_names(table, "on file:", hint, sizeof hint) : NULL,
                           "meter.instruments[%u]: no row of power-meters is called '%.100s'", (unsigned)i + 1, names[i]);
        }
    if (desc->skip_s >= site->end_s)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "meter.skip leaves nothing of a signal of %g s", site->end_s);
    pw_signal part;
    PW_TRY(pw_signal_cut(site, desc->skip_s, site->end_s, &part, error));
    pw_status status = isnan(desc->repeat_s) ? read_signal(desc, &part, gpus, report, error) : repeat_signal(desc, &part, nodes, gpus, seed, report, error);
    pw_signal_free(&part);
    return status;
}
