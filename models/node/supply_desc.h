/* What a user may say of how nodes are supplied: power supplies, breakers, batteries, what fails when, and a budget.
 *
 * Inert: models/power/supply.h and feed.h say what it means. NaN, 0 or "": not said; then the catalogue's row of the server, or that of the
 * kind of supply, is taken.
 */
#ifndef PW_MODELS_NODE_SUPPLY_DESC_H
#define PW_MODELS_NODE_SUPPLY_DESC_H

#include "sim/registry.h"

typedef enum pw_guard { PW_GUARD_RATED, PW_GUARD_DRAW } pw_guard;
typedef enum pw_after_brake { PW_AFTER_BRAKE_CAP, PW_AFTER_BRAKE_STAY } pw_after_brake;
extern const char *const pw_after_brake_names[];

typedef struct pw_supplies_desc {
    int64_t units, feeds;      /* of a node */
    double unit_W;
    const char *redundancy, *kind, *efficiency;
    double cold_share;
    double node_W;             /* the most that a node may draw */
    int guard, after_brake;
    double settle_s, restore_s;
} pw_supplies_desc;
extern const pw_kind pw_supplies_kind;

typedef struct pw_breaker_desc {
    const char *kind;
    double rated_W;
    int64_t nodes;             /* that hang on one: a rack */
} pw_breaker_desc;
extern const pw_kind pw_breaker_kind;

typedef struct pw_battery_desc {
    const char *kind;
    double rated_W;
} pw_battery_desc;
extern const pw_kind pw_battery_kind;

typedef struct pw_power_budget_desc {
    double rack_W, row_W;      /* at the wall; row NaN: no limit but those of its racks */
    int64_t nodes;             /* of a rack */
    int policy;                /* pw_budget_policy of models/power/budget.h, whose names these are */
} pw_power_budget_desc;
extern const pw_kind pw_power_budget_kind;
extern const char *const pw_power_policy_names[];

typedef struct pw_power_event_desc {
    const char *what;
    double at_s, lasts_s;      /* NaN: for good */
    int64_t node, nodes;       /* first; -1: all */
} pw_power_event_desc;
extern const pw_kind pw_power_event_kind;
extern const pw_kind *const pw_power_event_kinds[]; /* of the list power.events */

#endif
