/* Power supplies: what they lose, how they share a load, and what is left when some are lost.
 *
 * A curve gives the loss of one unit over its load share. Points of a source are joined in loss over rated power (Steffen's monotone cubics
 * through GSL), not in efficiency: so input rises with output everywhere, the source's own points are met, and the line goes on
 * sensibly below the first point, where only the loss without load is left. Curves of the form (output + constant) / efficiency are taken as
 * they are.
 *
 * A group is the supplies of one box: `units` of them, `needed` to carry the full load, each on one of the feeds. Whether a box
 * runs, must brake or falls follows from the capacity that is left: 4+2 units of 3.3 kW on two feeds leave 9.9 kW when one feed is lost.
 *
 *   pw_supply_group group; PW_TRY(pw_supply_group_of_server(catalogue, "DGX H100", &group, error));
 *   pw_supply_flow whole = pw_supply_flow_at(&group, (pw_supply_state){0}, 9000);                      // whole.input_W at the wall
 *   pw_supply_state half = {.feeds_lost = 1};
 *   pw_supply_judge(&group, half, 10200, 5600);                                                        // PW_SUPPLY_BRAKES
 *
 * Plain values, no allocation; a call costs some tens of nanoseconds. Units: W, s; shares are of rated power.
 */
#ifndef PW_MODELS_POWER_SUPPLY_H
#define PW_MODELS_POWER_SUPPLY_H

#include "models/catalogue/catalogue.h"

#define PW_TABLE_SUPPLY_EFFICIENCY "supply-efficiency"
#define PW_TABLE_SUPPLY_UNITS "supply-units"

enum { PW_SUPPLY_POINTS = 12, PW_SUPPLY_UNITS = 64, PW_SUPPLY_FEEDS = 4 };

typedef struct pw_supply_curve {
    const char *name, *provenance, *source; /* as long as the catalogue */
    int points;                             /* 0: (output + constant_W) / efficiency */
    double share[PW_SUPPLY_POINTS], loss[PW_SUPPLY_POINTS], slope[PW_SUPPLY_POINTS]; /* loss over rated power; its derivative by share */
    double constant_W, efficiency;
    double low, high;                       /* shares between which the source has points; 0 and 1 without points */
} pw_supply_curve;
/* The curve of that name in supply-efficiency. PW_NOT_FOUND lists the known ones; PW_BAD_INPUT with file:line when points do not rise or
 * their losses fall. */
pw_status pw_supply_curve_find(const pw_catalogue *catalogue, const char *name, pw_supply_curve *curve, pw_error *error);
/* Of one unit. output_W at least 0; beyond rated power the loss goes on along its last slope. */
double pw_supply_loss_W(const pw_supply_curve *curve, double rated_W, double output_W);
double pw_supply_input_W(const pw_supply_curve *curve, double rated_W, double output_W);
/* The output for an input: the inverse, to 1e-12 of rated power; 0 when the input does not even cover the loss without load. */
double pw_supply_output_W(const pw_supply_curve *curve, double rated_W, double input_W);

typedef struct pw_supply_group {
    pw_supply_curve curve;
    double unit_W;                    /* rated output of one */
    int units, needed, feeds;
    uint8_t feed_of[PW_SUPPLY_UNITS]; /* of unit u: 0 .. feeds - 1 */
    double cold_share;                /* 0: all units share equally; else units stand by while the others stay below this share */
    double standby_W;                 /* a unit that stands by draws at the wall */
    double hold_up_s;                 /* a unit at full load goes on so long without input */
    double overload, overload_s;      /* load share that a unit bears for a while, and how long */
    double brake_s;                   /* from the loss of input to GPUs that have slowed down */
    double settle_s, restore_s;       /* from there to caps; from the return of input to full power */
} pw_supply_group;

/* kind: a row of supply-units; curve NULL: that row's. redundancy: "N" or "none" (all units are needed), "N+1", "N+2", "2N" or "N+N" (half
 * are), "4+2" (must add up to the units). Units are dealt to the feeds in blocks of equal size, as far as they go. PW_BAD_INPUT for anything
 * else. */
pw_status pw_supply_group_make(const pw_catalogue *catalogue, const char *kind, const char *curve, double unit_W, int units,
                               const char *redundancy, int feeds, pw_supply_group *group, pw_error *error);
/* What the row of servers says: units and unit_W 0 and redundancy "" when it does not, or not in these words. PW_NOT_FOUND: no such row. */
pw_status pw_supply_of_server(const pw_catalogue *catalogue, const char *server, int *units, double *unit_W, const char **redundancy,
                              double *rated_W, pw_error *error);
/* As that row says, on two feeds (one when units are single). PW_UNSUPPORTED when the row does not say its supplies in
 * these words. */
pw_status pw_supply_group_of_server(const pw_catalogue *catalogue, const char *server, pw_supply_group *group, pw_error *error);

typedef struct pw_supply_state { /* bit u: unit u, bit f: feed f */
    uint64_t units_failed;
    uint32_t feeds_lost;
} pw_supply_state;

typedef struct pw_supply_flow {
    int active, standing_by, lost;
    double capacity_W;               /* rated output of all that are not lost */
    double share;                    /* of one active unit; above 1: overload */
    double output_W, loss_W, input_W; /* input = output + loss, standby included */
    double feed_W[PW_SUPPLY_FEEDS];  /* input by feed; they add up to input_W */
    int spare;                       /* units that may still be lost at this load; below 0: it is too much already */
} pw_supply_flow;
/* Without a unit left, nothing flows: all zero but lost and spare. */
pw_supply_flow pw_supply_flow_at(const pw_supply_group *group, pw_supply_state state, double output_W);
/* Output that makes this input at the wall: what a budget leaves for the box. */
double pw_supply_group_output_W(const pw_supply_group *group, pw_supply_state state, double input_W);

typedef enum pw_supply_verdict { PW_SUPPLY_RUNS, PW_SUPPLY_BRAKES, PW_SUPPLY_FALLS } pw_supply_verdict;
extern const char *const pw_supply_verdict_names[];
/* After units were lost at once: demand_W is what the box draws on the DC side, braked_W what it draws with its GPUs slowed down. It falls
 * when braked_W is too much for what is left, or when the brake comes later than hold-up and overload of the rest last. */
pw_supply_verdict pw_supply_judge(const pw_supply_group *group, pw_supply_state state, double demand_W, double braked_W);
/* How long units without input go on at output_W each: stored energy over power; at most four times the rated hold-up, as their
 * controllers stop them. */
double pw_supply_hold_up_s(const pw_supply_group *group, double output_W);

#endif
