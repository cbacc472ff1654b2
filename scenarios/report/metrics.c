/* Every quantity of every entity has its own clock: a level advances it alone, so that the order between tracks does not matter. */
#include "scenarios/report/metrics_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

enum { MOST_READINGS = 40000000 };

#define COLUMN(NAME, level, column, ...) column,
const char *const pw_metric_columns[] = {PW_METRIC_MAP(COLUMN) NULL};
#define SCALE(NAME, level, column, scale, ...) scale,
const double pw_metric_scales[] = {PW_METRIC_MAP(SCALE)};
#define LEVEL(NAME, level, ...) level,
static const char *const levels[] = {PW_METRIC_MAP(LEVEL)};
#define MEAN(NAME, level, column, scale, mean, ...) mean,
static const bool is_mean[] = {PW_METRIC_MAP(MEAN)};
const char *const pw_metric_of_names[] = {"site", "rack", "node", "gpu", NULL};

bool pw_metric_entity(const char *track, pw_metric_of *of, uint32_t *number) {
    *number = 0;
    if (strcmp(track, "site") == 0) {
        *of = PW_METRIC_OF_SITE;
        return true;
    }
    if (strncmp(track, "gpus ", 5) == 0) {
        *of = PW_METRIC_OF_GPU;
        *number = UINT32_MAX;
        return true;
    }
    for (*of = PW_METRIC_OF_RACK; *of < PW_METRIC_OF_COUNT; ++*of) {
        size_t length = strlen(pw_metric_of_names[*of]);
        const char *end;
        int64_t value;
        if (strncmp(track, pw_metric_of_names[*of], length) != 0 || track[length] != ' ') continue;
        if (!pw_text_integer(track + length + 1, &end, &value) || *end || value < 0 || value >= UINT32_MAX) return false;
        *number = (uint32_t)value;
        return true;
    }
    return false;
}

pw_status pw_metrics_create(const pw_allocator *allocator, const pw_metrics_options *options, pw_metrics **result, pw_error *error) {
    pw_metrics *m = pw_alloc_zero(allocator, sizeof *m);
    *result = m;
    if (!m) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for metrics");
    m->allocator = allocator;
    m->options = *options;
    m->interval = pw_time_from_seconds(options->interval_s, options->ticks_per_second);
    pw_signal_init(&m->site, allocator);
    return PW_OK;
}

void pw_metrics_destroy(pw_metrics *m) {
    if (!m) return;
    for (size_t i = 0; i < m->track_count; i++) {
        metric_entity *e = &m->tracks[i];
        for (int k = 0; e->series && k < PW_METRIC_COUNT; k++) pw_free(m->allocator, e->series[k].readings, e->series[k].room * sizeof(double));
        if (e->series) pw_free(m->allocator, e->series, PW_METRIC_COUNT * sizeof *e->series);
        if (e->name) pw_free(m->allocator, e->name, strlen(e->name) + 1);
    }
    pw_free(m->allocator, m->tracks, m->track_room * sizeof *m->tracks);
    pw_free(m->allocator, m->names, m->name_room);
    pw_signal_free(&m->site);
    pw_free(m->allocator, m, sizeof *m);
}

void pw_metrics_set_model(pw_metrics *m, const char *model) { m->options.model = model; }

static void fail_memory(pw_metrics *m) {
    if (m->error.status == PW_OK) pw_fail(&m->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for metrics");
}

static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    pw_metrics *m = object;
    if (pw_grow(m->allocator, (void **)&m->tracks, &m->track_room, track, sizeof *m->tracks) != 0) {
        fail_memory(m);
        return;
    }
    for (; m->track_count < track; m->track_count++) m->tracks[m->track_count] = (metric_entity){.of = PW_METRIC_OF_COUNT};
    metric_entity *e = &m->tracks[track - 1];
    if (!pw_metric_entity(name, &e->of, &e->number)) {
        e->of = PW_METRIC_OF_COUNT;
        return;
    }
    e->parent = parent;
    e->first_gpu = UINT32_MAX;
    e->is_kept = m->options.of >> e->of & 1;
    if (e->of == PW_METRIC_OF_GPU && parent && parent <= m->track_count && m->tracks[parent - 1].first_gpu > e->number)
        m->tracks[parent - 1].first_gpu = e->number;
    if (e->number != UINT32_MAX) return;
    e->name = pw_alloc(m->allocator, strlen(name + 5) + 1);
    if (e->name) strcpy(e->name, name + 5);
    else fail_memory(m);
}

static void on_name(void *object, pw_name name, const char *text) {
    pw_metrics *m = object;
    if (pw_grow(m->allocator, (void **)&m->names, &m->name_room, name, 1) != 0) {
        fail_memory(m);
        return;
    }
    for (; m->name_count < name; m->name_count++) m->names[m->name_count] = -1;
    for (int k = 0; k < PW_METRIC_COUNT; k++)
        if (strcmp(text, levels[k]) == 0) m->names[name - 1] = (int8_t)k;
}

static void put_reading(pw_metrics *m, metric_series *s, double reading) {
    if (m->error.status != PW_OK) return;
    if (++m->readings > MOST_READINGS)
        pw_fail(&m->error, PW_LIMIT, NULL, 0, "--metrics-interval 10s reads less often; --metrics-of rack,site leaves GPUs and nodes out",
                "more than %d readings", MOST_READINGS);
    else if (pw_grow(m->allocator, (void **)&s->readings, &s->room, s->count + 1, sizeof(double)) != 0) fail_memory(m);
    else s->readings[s->count++] = reading;
}

/* Takes the readings that are due up to time. */
static void advance(pw_metrics *m, metric_series *s, pw_metric metric, pw_time time) {
    double ticks = m->options.ticks_per_second;
    while (m->error.status == PW_OK) {
        pw_time due = (pw_time)(s->count + 1) * m->interval;
        if (due > time) break;
        if (!isnan(s->value)) s->integral += s->value * ((double)(due - s->since) / ticks);
        put_reading(m, s, is_mean[metric] && !isnan(s->value) ? s->integral / ((double)m->interval / ticks) : s->value);
        s->since = due;
        s->integral = 0;
    }
    if (!isnan(s->value) && time > s->since) s->integral += s->value * ((double)(time - s->since) / ticks);
    if (time > s->since) s->since = time;
}

static void put_site(pw_metrics *m, pw_time time, double watts) {
    double time_s = pw_time_to_seconds(time, m->options.ticks_per_second);
    pw_error error = {0};
    pw_status status = PW_OK;
    if (!m->site.count && time_s > 0) status = pw_signal_put(&m->site, 0, 0, &error);
    if (status == PW_OK) status = pw_signal_put(&m->site, time_s, watts, &error);
    if (status != PW_OK && m->error.status == PW_OK) m->error = error;
}

static void on_level(void *object, pw_track track, pw_name quantity, pw_time time, double value) {
    pw_metrics *m = object;
    if (quantity > m->name_count || track > m->track_count || m->error.status != PW_OK) return;
    metric_entity *e = &m->tracks[track - 1];
    int metric = m->names[quantity - 1];
    if (metric < 0 || e->of == PW_METRIC_OF_COUNT) return;
    m->heard = true;
    if (e->of == PW_METRIC_OF_SITE && metric == PW_METRIC_POWER) put_site(m, time, value);
    if (!e->is_kept) return;
    if (!e->series) {
        e->series = pw_alloc_zero(m->allocator, PW_METRIC_COUNT * sizeof *e->series);
        for (int k = 0; e->series && k < PW_METRIC_COUNT; k++) e->series[k].value = NAN;
    }
    if (!e->series) {
        fail_memory(m);
        return;
    }
    metric_series *s = &e->series[metric];
    /* A level at the time of a reading counts for it where it is taken at a time, and does not where it is a mean. */
    advance(m, s, (pw_metric)metric, is_mean[metric] || !time ? time : time - 1);
    s->value = value;
    s->heard = true;
}

static void on_close(void *object, pw_time end) {
    pw_metrics *m = object;
    pw_error error = {0};
    m->end = end;
    for (size_t i = 0; i < m->track_count; i++)
        for (int k = 0; m->tracks[i].series && k < PW_METRIC_COUNT; k++)
            if (m->tracks[i].series[k].heard) advance(m, &m->tracks[i].series[k], (pw_metric)k, end);
    m->has_site = m->site.count > 0 && end > 0;
    if (m->has_site && pw_signal_end(&m->site, pw_time_to_seconds(end, m->options.ticks_per_second), &error) != PW_OK && m->error.status == PW_OK) m->error = error;
}

pw_sink pw_metrics_sink(pw_metrics *m) {
    return (pw_sink){.object = m, .on_track = on_track, .on_name = on_name, .on_level = on_level, .on_close = on_close};
}

pw_status pw_metrics_check(const pw_metrics *m, bool *heard, pw_error *error) {
    *heard = m->heard;
    if (m->error.status != PW_OK && error) *error = m->error;
    return m->error.status;
}

const pw_signal *pw_metrics_site(const pw_metrics *m) { return m->has_site ? &m->site : NULL; }
