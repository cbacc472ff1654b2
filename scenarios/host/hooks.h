/* Functions of a scenario that are called while its job runs: on = { alarm = function(event, sim) ... end }. */
#ifndef PW_HOST_HOOKS_H
#define PW_HOST_HOOKS_H

#include "scenarios/host/scenario.h"

typedef struct pw_hook_call {
    const pw_scenario *scenario;
    const pw_alarms *alarms; /* what sim.value reads */
} pw_hook_call;

/* A pw_alarm_hook; object: pw_hook_call. The function gets event = { alarm, of, number, entity, state = "raised" or "cleared", time, value } and
 * sim = { time, value = function(entity, metric) }, tables of its own. An error in it carries its file and line. */
pw_status pw_hook_alarm(void *object, const pw_alarm_event *event, pw_error *error);

#endif
