/* The two forms of metrics. Both begin with the site and end with GPUs, in order of tracks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/metrics_internal.h"
#include "sim/text.h"

static const metric_entity *above(const pw_metrics *m, const metric_entity *e, pw_metric_of of) {
    while (e->of != of && e->parent && e->parent <= m->track_count) e = &m->tracks[e->parent - 1];
    return e->of == of ? e : NULL;
}

static uint32_t gpu_in_node(const pw_metrics *m, const metric_entity *e) {
    const metric_entity *node = above(m, e, PW_METRIC_OF_NODE);
    return node && node->first_gpu <= e->number ? e->number - node->first_gpu : e->number;
}

/* ---- CSV ---- */

static void put_number(pw_file *file, const metric_entity *e) {
    if (e) pw_file_csv_integer(file, e->number);
    else pw_file_csv_number(file, NAN); /* empty */
}

static void put_place(const pw_metrics *m, const metric_entity *e, pw_file *file) {
    pw_file_csv_text(file, pw_metric_of_names[e->of]);
    put_number(file, above(m, e, PW_METRIC_OF_RACK));
    put_number(file, above(m, e, PW_METRIC_OF_NODE));
    if (e->of != PW_METRIC_OF_GPU) pw_file_csv_number(file, NAN);
    else if (e->name) pw_file_csv_text(file, e->name);
    else pw_file_csv_integer(file, gpu_in_node(m, e));
}

void pw_metrics_csv(const pw_metrics *m, pw_file *file) {
    static const char *const first[] = {"time_s", "of", "rack", "node", "gpu", "energy_J"};
    double interval_s = (double)m->interval / m->options.ticks_per_second;
    size_t most = 0;
    double *energy_J = pw_alloc_zero(m->allocator, (m->track_count + 1) * sizeof *energy_J);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) pw_file_csv_text(file, first[i]);
    for (int k = 0; k < PW_METRIC_COUNT; k++) pw_file_csv_text(file, pw_metric_columns[k]);
    pw_file_csv_end(file);
    for (size_t i = 0; i < m->track_count; i++)
        for (int k = 0; m->tracks[i].series && k < PW_METRIC_COUNT; k++)
            if (m->tracks[i].series[k].count > most) most = m->tracks[i].series[k].count;
    for (size_t reading = 0; energy_J && reading < most; reading++)
        for (int of = 0; of < PW_METRIC_OF_COUNT; of++)
            for (size_t i = 0; i < m->track_count; i++) {
                const metric_entity *e = &m->tracks[i];
                if ((int)e->of != of || !e->series) continue;
                pw_file_csv_number(file, (double)(reading + 1) * interval_s);
                put_place(m, e, file);
                const metric_series *power = &e->series[PW_METRIC_POWER];
                if (reading < power->count && !isnan(power->readings[reading])) energy_J[i] += power->readings[reading] * interval_s;
                pw_file_csv_number(file, reading < power->count ? energy_J[i] : NAN);
                for (int k = 0; k < PW_METRIC_COUNT; k++)
                    pw_file_csv_number(file, reading < e->series[k].count ? e->series[k].readings[reading] * pw_metric_scales[k] : NAN);
                pw_file_csv_end(file);
            }
    if (energy_J) pw_free(m->allocator, energy_J, (m->track_count + 1) * sizeof *energy_J);
}

/* ---- OpenMetrics ---- */

/* Family names of what is no GPU end with their unit, as the format asks; those of GPUs are DCGM's and have none. */
static const struct {
    pw_metric metric;
    const char *name, *unit;
    double scale;
    const char *text;
} own[] = {
    {PW_METRIC_POWER, "power", "watts", 1, "Power at the wall, mean over the interval."},
    {PW_METRIC_TEMPERATURE, "gpu_temperature", "celsius", 1, "Temperature of the hottest GPU."},
    {PW_METRIC_FAN, "fan", "ratio", 1, "Fan speed over full speed."},
};
enum { OWN = sizeof own / sizeof *own };

#define DCGM(NAME, level, column, scale, mean, dcgm, ...) dcgm,
static const char *const dcgm_names[] = {PW_METRIC_MAP(DCGM)};
#define TYPE(NAME, level, column, scale, mean, dcgm, type, text) type,
static const char *const types[] = {PW_METRIC_MAP(TYPE)};
#define TEXT(NAME, level, column, scale, mean, dcgm, type, text) text,
static const char *const texts[] = {PW_METRIC_MAP(TEXT)};

static void put_escaped(pw_file *file, const char *text) {
    for (; *text; text++) {
        if (*text == '\n') pw_file_text(file, "\\n");
        else if (*text == '"' || *text == '\\') pw_file_print(file, "\\%c", *text);
        else pw_file_write(file, text, 1);
    }
}

static void put_labels(const pw_metrics *m, const metric_entity *e, pw_file *file) {
    const metric_entity *node = above(m, e, PW_METRIC_OF_NODE), *rack = above(m, e, PW_METRIC_OF_RACK);
    const char *before = "{";
    if (e->of == PW_METRIC_OF_GPU) {
        pw_file_text(file, "{gpu=\"");
        if (e->name) put_escaped(file, e->name);
        else pw_file_print(file, "%" PRIu32, gpu_in_node(m, e));
        pw_file_text(file, "\"");
        before = ",";
        if (m->options.model) {
            pw_file_text(file, ",modelName=\"");
            put_escaped(file, m->options.model);
            pw_file_text(file, "\"");
        }
    }
    if (node) {
        pw_file_print(file, "%sHostname=\"node%" PRIu32 "\"", before, node->number);
        before = ",";
    }
    if (rack) {
        pw_file_print(file, "%srack=\"%" PRIu32 "\"", before, rack->number);
        before = ",";
    }
    if (*before == ',') pw_file_text(file, "}");
}

static void put_sample(const pw_metrics *m, const metric_entity *e, const char *name, const char *suffix, double value, size_t reading, pw_file *file) {
    pw_file_text(file, name);
    pw_file_text(file, suffix);
    put_labels(m, e, file);
    pw_file_text(file, " ");
    pw_file_number(file, value);
    pw_file_text(file, " ");
    pw_file_number(file, (double)(reading + 1) * ((double)m->interval / m->options.ticks_per_second));
    pw_file_text(file, "\n");
}

static bool has_metric(const pw_metrics *m, pw_metric_of of, pw_metric metric) {
    for (size_t i = 0; i < m->track_count; i++)
        if (m->tracks[i].of == of && m->tracks[i].series && m->tracks[i].series[metric].count) return true;
    return false;
}

static void put_family(const pw_metrics *m, pw_metric_of of, pw_metric metric, bool energy, const char *name, const char *type, const char *unit, double scale,
                       const char *text, pw_file *file) {
    double interval_s = (double)m->interval / m->options.ticks_per_second;
    if (!has_metric(m, of, metric)) return;
    pw_file_print(file, "# TYPE %s %s\n", name, type);
    if (*unit) pw_file_print(file, "# UNIT %s %s\n", name, unit);
    pw_file_print(file, "# HELP %s %s\n", name, text);
    for (size_t i = 0; i < m->track_count; i++) {
        const metric_entity *e = &m->tracks[i];
        if (e->of != of || !e->series) continue;
        const metric_series *s = &e->series[metric];
        double sum = 0;
        for (size_t reading = 0; reading < s->count; reading++) {
            if (isnan(s->readings[reading])) continue;
            sum += s->readings[reading] * interval_s;
            put_sample(m, e, name, energy ? "_total" : "", (energy ? sum : s->readings[reading]) * scale, reading, file);
        }
    }
}

void pw_metrics_openmetrics(const pw_metrics *m, pw_file *file) {
    char name[80];
    for (int of = PW_METRIC_OF_SITE; of < PW_METRIC_OF_GPU; of++) {
        for (int k = 0; k < OWN; k++) {
            snprintf(name, sizeof name, "podwright_%s_%s_%s", pw_metric_of_names[of], own[k].name, own[k].unit);
            put_family(m, (pw_metric_of)of, own[k].metric, false, name, "gauge", own[k].unit, own[k].scale, own[k].text, file);
        }
        snprintf(name, sizeof name, "podwright_%s_energy_joules", pw_metric_of_names[of]);
        put_family(m, (pw_metric_of)of, PW_METRIC_POWER, true, name, "counter", "joules", 1, "Energy at the wall since the beginning.", file);
    }
    for (int k = 0; k < PW_METRIC_COUNT; k++)
        if (dcgm_names[k]) put_family(m, PW_METRIC_OF_GPU, (pw_metric)k, false, dcgm_names[k], types[k], "", pw_metric_scales[k], texts[k], file);
    put_family(m, PW_METRIC_OF_GPU, PW_METRIC_POWER, true, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "", 1e3,
               "Total energy consumption since the beginning (in mJ).", file);
    pw_file_text(file, "# EOF\n");
}
