#include "scenarios/report/alarms.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(pw_alarm_desc, field)
static const pw_field alarm_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "alarm", NULL, NULL, "Name of the alarm."},
    {"metric", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(metric), 0, 0, NULL, pw_metric_columns, NULL, "What is watched, as --metrics-csv writes it."},
    {"of", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(of), 0, 0, "gpu", pw_metric_of_names, NULL, "Whose: of every GPU, node or rack, or of the site."},
    {"above", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(above), -1e15, 1e15, "", NULL, NULL, "It is raised above so much, in the unit of the metric's name."},
    {"below", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(below), -1e15, 1e15, "", NULL, NULL, "It is raised below so much, in the unit of the metric's name."},
    {"for_at_least", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(for_at_least_s), 0, 1e8, "0 s", NULL, NULL, "Only when that has held for so long."},
    {NULL}};
#undef AT
static pw_status check_alarm(const void *description, const char *file, int line, pw_error *error) {
    const pw_alarm_desc *d = description;
    if (!isnan(d->above) || !isnan(d->below)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "say above = 85, say", "alarm.above or alarm.below is missing");
}
const pw_kind pw_alarm_kind = {"alarm", "A threshold on a metric of GPUs, nodes, racks or the site.", sizeof(pw_alarm_desc), alarm_fields, check_alarm};

/* One alarm at one entity. */
typedef struct watch {
    pw_time since;  /* the condition holds; -1: it does not */
    bool raised, has_raised; /* now; ever */
} watch;

typedef struct entity {
    pw_metric_of of;
    uint32_t number;
    char *name;
    double values[PW_METRIC_COUNT]; /* columns; NaN */
    watch *watches;                 /* one per alarm; NULL until one of them watches this entity */
} entity;

struct pw_alarms {
    const pw_allocator *allocator;
    const pw_one_of *items;
    uint32_t count;
    double ticks_per_second;
    pw_alarm_hook *hook;
    void *object;
    volatile int *stop;
    entity *entities;
    size_t entity_count, entity_room;
    int8_t *names;
    size_t name_count, name_room;
    pw_alarm_count *counts;
    bool heard;
    pw_error error;
};

static const pw_alarm_desc *desc_of(const pw_alarms *a, uint32_t alarm) { return a->items[alarm].record; }

pw_status pw_alarms_create(const pw_allocator *allocator, pw_list alarms, double ticks_per_second, pw_alarm_hook *hook, void *object, volatile int *stop,
                           pw_alarms **result, pw_error *error) {
    pw_alarms *a = pw_alloc_zero(allocator, sizeof *a);
    pw_alarm_count *counts = a ? pw_alloc_zero(allocator, (alarms.count + (size_t)1) * sizeof *counts) : NULL;
    *result = a;
    if (!counts) {
        if (a) pw_free(allocator, a, sizeof *a);
        *result = NULL;
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for alarms");
    }
    *a = (pw_alarms){.allocator = allocator, .items = alarms.items, .count = alarms.count, .ticks_per_second = ticks_per_second, .hook = hook, .object = object,
                     .stop = stop, .counts = counts};
    for (uint32_t i = 0; i < a->count; i++) counts[i] = (pw_alarm_count){.first_s = NAN, .first = "", .worst = NAN};
    return PW_OK;
}

void pw_alarms_destroy(pw_alarms *a) {
    if (!a) return;
    for (size_t i = 0; i < a->entity_count; i++) {
        entity *e = &a->entities[i];
        if (e->name) pw_free(a->allocator, e->name, strlen(e->name) + 1);
        if (e->watches) pw_free(a->allocator, e->watches, a->count * sizeof *e->watches);
    }
    pw_free(a->allocator, a->entities, a->entity_room * sizeof *a->entities);
    pw_free(a->allocator, a->names, a->name_room);
    pw_free(a->allocator, a->counts, (a->count + (size_t)1) * sizeof *a->counts);
    pw_free(a->allocator, a, sizeof *a);
}

static void end_watching(pw_alarms *a) {
    if (a->stop) *a->stop = 1;
}

static void fail_memory(pw_alarms *a) {
    if (a->error.status == PW_OK) pw_fail(&a->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for alarms");
    end_watching(a);
}

static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    pw_alarms *a = object;
    (void)parent;
    if (pw_grow(a->allocator, (void **)&a->entities, &a->entity_room, track, sizeof *a->entities) != 0) {
        fail_memory(a);
        return;
    }
    for (; a->entity_count < track; a->entity_count++) a->entities[a->entity_count] = (entity){.of = PW_METRIC_OF_COUNT};
    entity *e = &a->entities[track - 1];
    if (!pw_metric_entity(name, &e->of, &e->number)) {
        e->of = PW_METRIC_OF_COUNT;
        return;
    }
    for (int k = 0; k < PW_METRIC_COUNT; k++) e->values[k] = NAN;
    e->name = pw_alloc(a->allocator, strlen(name) + 1);
    if (e->name) strcpy(e->name, name);
    else fail_memory(a);
    for (uint32_t i = 0; i < a->count && !e->watches; i++)
        if (desc_of(a, i)->of == (int)e->of) {
            e->watches = pw_alloc_zero(a->allocator, a->count * sizeof *e->watches);
            if (!e->watches) fail_memory(a);
        }
    for (uint32_t i = 0; i < a->count && e->watches; i++) e->watches[i].since = -1;
}

#define LEVEL(NAME, level, ...) level,
static const char *const levels[] = {PW_METRIC_MAP(LEVEL)};

static void on_name(void *object, pw_name name, const char *text) {
    pw_alarms *a = object;
    if (pw_grow(a->allocator, (void **)&a->names, &a->name_room, name, 1) != 0) {
        fail_memory(a);
        return;
    }
    for (; a->name_count < name; a->name_count++) a->names[a->name_count] = -1;
    for (int k = 0; k < PW_METRIC_COUNT; k++)
        if (strcmp(text, levels[k]) == 0) a->names[name - 1] = (int8_t)k;
}

static bool is_beyond(const pw_alarm_desc *d, double value) { return value > d->above || value < d->below; }

/* How far beyond the threshold. */
static double distance(const pw_alarm_desc *d, double value) { return fmax(isnan(d->above) ? -INFINITY : value - d->above, isnan(d->below) ? -INFINITY : d->below - value); }

static void tell(pw_alarms *a, entity *e, uint32_t alarm, pw_time time, double value, bool raised) {
    const pw_alarm_event event = {desc_of(a, alarm), e->name, e->number, raised, pw_time_to_seconds(time, a->ticks_per_second), value};
    pw_alarm_count *c = &a->counts[alarm];
    if (raised) {
        c->raised++;
        if (isnan(c->worst) || distance(event.alarm, value) > distance(event.alarm, c->worst)) c->worst = value;
        if (isnan(c->first_s)) c->first_s = event.time_s, c->first = e->name;
    }
    if (a->hook && a->error.status == PW_OK && a->hook(a->object, &event, &a->error) != PW_OK) end_watching(a);
}

/* Time has come to `time` with the value as it was: what has held long enough is raised. */
static void ripen(pw_alarms *a, entity *e, uint32_t alarm, pw_time time, double value) {
    const pw_alarm_desc *d = desc_of(a, alarm);
    watch *w = &e->watches[alarm];
    if (w->since < 0 || w->raised) return;
    pw_time due = pw_time_add(w->since, pw_time_from_seconds(d->for_at_least_s, a->ticks_per_second));
    if (due > time) return;
    w->raised = true;
    a->counts[alarm].entities += !w->has_raised;
    w->has_raised = true;
    w->since = due;
    tell(a, e, alarm, due, value, true);
}

static void clear(pw_alarms *a, entity *e, uint32_t alarm, pw_time time, double value, bool tells) {
    watch *w = &e->watches[alarm];
    if (w->raised) {
        a->counts[alarm].seconds += pw_time_to_seconds(time - w->since, a->ticks_per_second);
        if (tells) tell(a, e, alarm, time, value, false);
    }
    w->raised = false;
    w->since = -1;
}

static void on_level(void *object, pw_track track, pw_name quantity, pw_time time, double value) {
    pw_alarms *a = object;
    if (quantity > a->name_count || track > a->entity_count || a->error.status != PW_OK) return;
    entity *e = &a->entities[track - 1];
    int metric = a->names[quantity - 1];
    if (metric < 0 || e->of == PW_METRIC_OF_COUNT) return;
    double before = e->values[metric], now = value * pw_metric_scales[metric];
    a->heard = true;
    e->values[metric] = now;
    for (uint32_t i = 0; e->watches && i < a->count; i++) {
        const pw_alarm_desc *d = desc_of(a, i);
        if (d->metric != metric || d->of != (int)e->of) continue;
        watch *w = &e->watches[i];
        a->counts[i].heard = true;
        ripen(a, e, i, time, before);
        if (!is_beyond(d, now)) {
            clear(a, e, i, time, now, true);
            continue;
        }
        if (w->since < 0) w->since = time;
        ripen(a, e, i, time, now);
        pw_alarm_count *c = &a->counts[i];
        if (!w->raised) continue;
        if (isnan(c->worst) || distance(d, now) > distance(d, c->worst)) c->worst = now;
    }
}

static void on_close(void *object, pw_time end) {
    pw_alarms *a = object;
    for (size_t t = 0; t < a->entity_count; t++)
        for (uint32_t i = 0; a->entities[t].watches && i < a->count; i++) {
            entity *e = &a->entities[t];
            const pw_alarm_desc *d = desc_of(a, i);
            if (d->of != (int)e->of) continue;
            ripen(a, e, i, end, e->values[d->metric]);
            clear(a, e, i, end, e->values[d->metric], false);
        }
}

pw_sink pw_alarms_sink(pw_alarms *a) { return (pw_sink){.object = a, .on_track = on_track, .on_name = on_name, .on_level = on_level, .on_close = on_close}; }

pw_status pw_alarms_check(const pw_alarms *a, bool *heard, pw_error *error) {
    *heard = a->heard;
    if (a->error.status != PW_OK && error) *error = a->error;
    return a->error.status;
}

double pw_alarms_value(const pw_alarms *a, const char *name, int metric) {
    for (size_t i = 0; i < a->entity_count; i++)
        if (a->entities[i].name && strcmp(a->entities[i].name, name) == 0) return a->entities[i].values[metric];
    return NAN;
}

pw_alarm_count pw_alarms_count(const pw_alarms *a, uint32_t alarm) { return a->counts[alarm]; }
