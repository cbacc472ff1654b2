/* What happens to the power of nodes while a job runs, and what it does to the job.
 *
 * The power loop has found the clocks that GPUs hold (power_loop.h). Then the job runs once more with the events: models/power/feed.h says
 * what each node does (power brake, caps, fall), and this turns it into clocks of GPUs: the brake into half the boost clock, a cap of the node into
 * caps of its GPUs (models/power/budget.h) and those into the clocks at which their load keeps them. A node that falls ends the run with a
 * message: its ranks never answer.
 *
 * Nodes that the same events touch hold one clock, so the job still folds; ranks on nodes that are held up by others wait for them in
 * their collectives, as always.
 */
#ifndef PW_MODELS_WORKLOAD_POWER_EVENTS_H
#define PW_MODELS_WORKLOAD_POWER_EVENTS_H

#include "models/power/feed.h"
#include "models/workload/power_loop.h"

typedef struct pw_power_effect {
    double at_s;
    const char *what, *effect;     /* "feed a lost"; "GPUs at 990 MHz" */
    uint32_t first_node, nodes;
    double clock_ratio;            /* mean of the GPUs of such a node from then on; NaN: it changes nothing of theirs */
    pw_clock_reason reason;        /* why it is below what the GPUs hold without the event */
    double left_W;                 /* rated output of the supplies that such a node has left */
} pw_power_effect;

typedef struct pw_power_events {
    pw_supply_flow flow;           /* of a node before anything happens; it draws flow.output_W and flow.input_W at the wall */
    pw_supply_group group;
    double node_W, braked_W;       /* the most that a node may draw; what one draws with the brake on */
    double calm_s, run_s;          /* the run without the events, and with them */
    double braked_gpu_s, capped_gpu_s; /* sums over GPUs of the time under the brake, and of that in which caps of their nodes slow them */
    const pw_power_effect *effects; /* until the run has ended */
    uint32_t effect_count;
    double oversubscription;       /* rated power of nodes over the budgets of their racks and row; NaN: no budget */
    const char *draw_source;       /* where what a node draws beside GPUs comes from */
} pw_power_events;

/* Whether the user said anything about supplies. */
bool pw_power_has_events(const pw_power_desc *desc);
/* Runs the job once more, with everything that happens. *result: of that run, calm: of the run that went before. Everything in *events lies in
 * arena. Errors: a server without figures of its supplies, parts that do not exist, supplies that do not suffice; PW_DEADLOCK when a node
 * falls. config->runner must be NULL: a message says that jobs side by side have no events of power. */
pw_status pw_power_events_run(const pw_power_loop *loop, const pw_catalogue *catalogue, const pw_power_desc *desc, const pw_session_config *config,
                              const pw_job *job, double calm_s, pw_arena *arena, pw_session_result *result, pw_power_events *events,
                              pw_error *error);

#endif
