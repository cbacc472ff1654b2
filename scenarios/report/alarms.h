/* Alarms: a sink that watches levels (models/power/levels.h) against thresholds.
 *
 * A threshold holds for each entity of its kind (every GPU, say). It is raised once its condition has held for for_at_least, at that very
 * time, and cleared when the condition ends; then it may be raised again. Order is that of the reports: equal runs raise equal alarms. */
#ifndef PW_REPORT_ALARMS_H
#define PW_REPORT_ALARMS_H

#include "scenarios/report/metrics.h"
#include "sim/registry.h"

typedef struct pw_alarm_desc {
    const char *name;
    int metric, of;        /* pw_metric, pw_metric_of */
    double above, below;   /* in the unit of the column; NaN: not given */
    double for_at_least_s;
} pw_alarm_desc;
extern const pw_kind pw_alarm_kind; /* "alarm" */

typedef struct pw_alarm_event {
    const pw_alarm_desc *alarm;
    const char *entity;    /* the track: "gpu 98" */
    uint32_t number;       /* of the entity */
    bool raised;           /* false: cleared */
    double time_s, value;  /* in the unit of the column; of the time it was raised or cleared */
} pw_alarm_event;

/* What to call at each event; a status other than PW_OK, with its error filled, ends the watching and is what pw_alarms_check returns. */
typedef pw_status pw_alarm_hook(void *object, const pw_alarm_event *event, pw_error *error);

typedef struct pw_alarms pw_alarms;
/* alarms: a list of pw_one_of of pw_alarm_kind. hook may be NULL. stop is set to 1 when watching ends early, so that the run can end; may be NULL. */
pw_status pw_alarms_create(const pw_allocator *allocator, pw_list alarms, double ticks_per_second, pw_alarm_hook *hook, void *object, volatile int *stop,
                           pw_alarms **result, pw_error *error);
void pw_alarms_destroy(pw_alarms *alarms); /* NULL is fine */
pw_sink pw_alarms_sink(pw_alarms *alarms);
pw_status pw_alarms_check(const pw_alarms *alarms, bool *heard, pw_error *error); /* heard: a level of a known quantity */
/* The value of a metric of an entity now, in the unit of its column; NaN: not known. For hooks. */
double pw_alarms_value(const pw_alarms *alarms, const char *entity, int metric);

typedef struct pw_alarm_count {
    uint64_t raised;       /* times */
    uint32_t entities;     /* that raised it */
    double first_s;        /* NaN: never */
    const char *first;     /* entity; "" */
    double seconds;        /* it was raised, summed over entities */
    bool heard;            /* a value of such an entity */
    double worst;          /* value farthest beyond the threshold while raised; NaN */
} pw_alarm_count;
pw_alarm_count pw_alarms_count(const pw_alarms *alarms, uint32_t alarm); /* number in the list, from 0 */

#endif
