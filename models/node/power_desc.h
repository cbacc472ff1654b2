/* What a user may say of the power of a cluster's GPUs: `power` in `o.cluster`. It is only said here; models/power and the jobs
 * give it its meaning. */
#ifndef PW_MODELS_POWER_DESC_H
#define PW_MODELS_POWER_DESC_H

#include "models/node/supply_desc.h"

typedef enum pw_power_model { PW_POWER_ON, PW_POWER_OFF } pw_power_model;
typedef enum pw_governor { PW_GOVERNOR_DEFAULT, PW_GOVERNOR_FIXED, PW_GOVERNOR_CAP, PW_GOVERNOR_PROFILE } pw_governor;
typedef enum pw_power_mode { PW_POWER_STEADY, PW_POWER_DYNAMIC } pw_power_mode;

typedef struct pw_power_desc {
    int model, governor, mode;     /* of the enums above */
    double cap_W, clock_Hz;        /* NaN: not given */
    const char *profile;           /* NULL or "": not given */
    double temperature_C;          /* of the dies; NaN: what the parameters were fitted at */
    int64_t die_classes;           /* 1: all dies are the nominal one */
    pw_supplies_desc *supplies;    /* NULL: not said; for events, as the catalogue has them */
    pw_breaker_desc *breaker;      /* NULL: none */
    pw_battery_desc *battery;      /* NULL: none */
    pw_power_budget_desc *budget;  /* NULL: none */
    pw_list events;                /* of pw_one_of: pw_power_event_desc */
} pw_power_desc;
extern const pw_kind pw_power_kind;

#endif
