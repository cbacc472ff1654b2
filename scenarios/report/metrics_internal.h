/* What the two files of metrics share. */
#ifndef PW_REPORT_METRICS_INTERNAL_H
#define PW_REPORT_METRICS_INTERNAL_H

#include "scenarios/report/metrics.h"

/* One quantity of one entity. */
typedef struct metric_series {
    double *readings;  /* NaN: not known yet then */
    size_t count, room;
    double value;      /* NaN: none yet */
    pw_time since;     /* the integral is up to here */
    double integral;   /* of the interval under way */
    bool heard;
} metric_series;

typedef struct metric_entity {
    pw_metric_of of;
    uint32_t number, first_gpu; /* first_gpu: of a node, its first GPU's number */
    pw_track parent;
    char *name;                 /* of a track "gpus CLASS": CLASS; else NULL */
    bool is_kept;
    metric_series *series;      /* PW_METRIC_COUNT; NULL until something is heard */
} metric_entity;

struct pw_metrics {
    const pw_allocator *allocator;
    pw_metrics_options options;
    pw_time interval, end;
    metric_entity *tracks;      /* by track - 1; of PW_METRIC_OF_COUNT: nothing known */
    size_t track_count, track_room;
    int8_t *names;              /* by name - 1: the metric, or -1 */
    size_t name_count, name_room;
    size_t readings;
    bool heard, has_site;
    pw_signal site;
    pw_error error;
};

#endif
