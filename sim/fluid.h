/* Interface 2 of 5: fluid sharing. Activities share capacities at weighted max-min fair rates.
 *
 * A capacity gives so much per second (bytes/s of a link, 1/s of a device). An activity has work (bytes, or 1), a
 * route (a set of uses: capacity and weight, the amount of that capacity taken per unit of the activity's rate), a
 * rate cap and a share weight. Rates are weighted max-min fair: rate = share x level, where the level rises equally
 * for all until a capacity on the route is full or the cap is reached.
 *
 * Activities with the same route, share and cap form a bundle: one rate and one expected finish for all of them, members
 * ordered by the service at which they finish; the earliest finish of all bundles is the system's one event. Rates are
 * solved once per instant, incrementally (saturation levels), so a change costs in proportion to what it changes; an
 * untouched activity keeps a bit-identical rate.
 *
 * Work left is (work, t0, rate) advanced lazily. A finish is rounded up to a tick and the work forced to zero, so equal
 * activities end in one batch. Bytes are conserved: service given equals work when done (a law).
 *
 * Done handlers run through pw_event_soon of the instant of the finish, in order of start. Until its handler runs, an
 * activity whose work is done is still running by name (rate 0, nothing left) and can be stopped.
 */
#ifndef PW_SIM_FLUID_H
#define PW_SIM_FLUID_H

#include "sim/event.h"

typedef struct pw_fluid pw_fluid;

typedef struct pw_capacity_id {
    uint32_t index, generation;
} pw_capacity_id;
typedef struct pw_route_id {
    uint32_t index, generation;
} pw_route_id;
typedef struct pw_activity_id {
    uint32_t index, generation;
} pw_activity_id;

typedef struct pw_use {
    pw_capacity_id capacity;
    double weight; /* > 0: amount of the capacity per unit of rate */
} pw_use;

/* Creates a fluid system inside a simulation (which must outlive it). check_full: compare every incremental solve with
 * a full one (slow; for tests and for whoever doubts a result). */
pw_status pw_fluid_create(pw_sim *sim, bool check_full, pw_fluid **fluid, pw_error *error);
void pw_fluid_destroy(pw_fluid *fluid); /* when the simulation runs no more; NULL is fine */

/* amount_per_s >= 0 and finite. Returns the null id and fails the simulation when memory is out or the amount is bad. */
pw_capacity_id pw_capacity_add(pw_fluid *fluid, double amount_per_s);
pw_status pw_capacity_set(pw_fluid *fluid, pw_capacity_id id, double amount_per_s); /* from this instant on */
double pw_capacity_amount(const pw_fluid *fluid, pw_capacity_id id);
double pw_capacity_load(pw_fluid *fluid, pw_capacity_id id);   /* amount in use now, per second */
double pw_capacity_served(pw_fluid *fluid, pw_capacity_id id); /* integral of the load until now, e.g. bytes */

/* A route is an interned set of uses: the same set gives the same id, whatever its order; uses of one capacity add up.
 * count may be 0 (only the cap limits then). Routes stay valid until the fluid is destroyed. */
pw_route_id pw_fluid_route(pw_fluid *fluid, const pw_use *uses, uint32_t count);

typedef struct pw_activity_config {
    double work;       /* >= 0; 0 finishes in this instant */
    double rate_cap;   /* work per second; 0 or infinity: none (then the route must limit it) */
    double share;      /* weight of the max-min share; 0 means 1 */
    pw_event_handler *done; /* may be NULL */
    void *object;
    uint64_t argument;
} pw_activity_config;

pw_activity_id pw_activity_start(pw_fluid *fluid, pw_route_id route, const pw_activity_config *config);
/* Ends it without calling done; *work_left (may be NULL) gets what was left. */
pw_status pw_activity_stop(pw_fluid *fluid, pw_activity_id id, double *work_left);
pw_status pw_activity_set_cap(pw_fluid *fluid, pw_activity_id id, double rate_cap); /* 0: paused, not "none" */
pw_status pw_activity_set_route(pw_fluid *fluid, pw_activity_id id, pw_route_id route);
bool pw_activity_is_running(const pw_fluid *fluid, pw_activity_id id);
double pw_activity_rate(pw_fluid *fluid, pw_activity_id id);      /* settled: solves if need be; 0 for a stale id */
double pw_activity_work_left(pw_fluid *fluid, pw_activity_id id); /* at now; 0 for a stale id */

typedef struct pw_fluid_stats {
    uint64_t solves, levels_recomputed, full_fallbacks, bundles_peak, activities_peak;
} pw_fluid_stats;
pw_fluid_stats pw_fluid_get_stats(const pw_fluid *fluid);

#endif
