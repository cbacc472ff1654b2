/* Feeds, supplies, breakers and batteries of many boxes in a simulation: what fails when, and what each box does about it.
 *
 * A box (a node) has a group of power supplies on two or more feeds. In a rack every feed has a breaker; every feed of the site may have a
 * battery that bridges an outage of the mains until generators run. Events take a feed, a supply, a breaker or the mains away for a while. Then,
 * in this order and each at its own time:
 *
 *   1. supplies without input go on for their hold-up time;
 *   2. when what is left is less than the box guards, its alarm pulls the power brake: brake_s later its GPUs run at half their clock;
 *   3. supplies that are left and overloaded shut down after overload_s, beyond their overload at once: the box falls;
 *   4. settle_s after the brake the box's controller divides what is left into caps and lets the brake go (unless it only brakes);
 *   5. breakers of the other feed carry more and may trip minutes later, which is known and scheduled when their load changes;
 *   6. restore_s after everything is back the box is free again.
 *
 * The plant says what a box does (free, braked, capped, off); whoever runs jobs turns that into clocks. Nothing is polled. Between
 * events draws are constant. The energy law (feeds = boxes + losses of their supplies, to 1e-9) is checked at every change.
 */
#ifndef PW_MODELS_POWER_FEED_H
#define PW_MODELS_POWER_FEED_H

#include "models/power/breaker.h"
#include "models/power/chain_battery.h"
#include "models/power/supply.h"
#include "sim/event.h"

typedef enum pw_box_mode { PW_BOX_FREE, PW_BOX_BRAKED, PW_BOX_CAPPED, PW_BOX_OFF } pw_box_mode;
extern const char *const pw_box_mode_names[];

/* What is taken away, and what an entry of the log is about. */
typedef enum pw_feed_part { PW_PART_FEED, PW_PART_SUPPLY, PW_PART_BREAKER, PW_PART_MAINS } pw_feed_part;
typedef struct pw_feed_event {
    double at_s, lasts_s;        /* infinite: for good; of a breaker: until somebody closes it */
    pw_feed_part part;
    int index;                   /* feed (0: a), or supply of a box; of the mains: feed, -1: all */
    uint32_t first_box, boxes;   /* feeds and supplies of these boxes; of a breaker: their racks; not read for the mains */
} pw_feed_event;
/* "feed a", "supply 3", "breaker b", "mains", "mains a". PW_BAD_INPUT lists what can fail. feeds, units: of the group. */
pw_status pw_feed_event_part(const char *what, int feeds, int units, pw_feed_part *part, int *index, pw_error *error);

typedef struct pw_feed_box {     /* of one box, now */
    pw_supply_state state;
    pw_box_mode mode;
    double capacity_W;           /* rated output of the supplies that are left */
    double cap_W;                /* of the whole box, when capped */
    double draw_W;               /* on the DC side */
} pw_feed_box;

typedef struct pw_feed_entry {   /* of the log, in order of time; equal entries of an instant are one with a count */
    double at_s;
    char what[72];               /* "feed a lost", "brake", "capped at 9900 W", "breaker b of rack 0 trips", "falls" */
    uint32_t first_box, boxes;
    bool is_mode;                /* boxes changed what they do: mode */
    pw_box_mode mode;
    double capacity_W;           /* left to the first of them, after it */
} pw_feed_entry;

typedef struct pw_feed_config {
    pw_sim *sim;
    const pw_allocator *allocator;
    pw_supply_group group;       /* of every box */
    uint32_t boxes, boxes_per_rack;
    double guard_W;              /* what a box must be able to draw; with less than that left it brakes */
    double draw_W, braked_W;     /* what it draws, DC; with the brake on */
    bool only_brakes;            /* no caps: braked until everything is back */
    double settle_s, restore_s;
    const pw_breaker *breaker;   /* one like it for each rack and feed; NULL: none */
    const pw_battery *battery;   /* one like it for each feed; NULL: none */
    void (*changed)(void *object, uint32_t box, const pw_feed_box *now); /* its mode or its cap */
    void *object;
} pw_feed_config;

typedef struct pw_feeds pw_feeds;
/* Everything is on; schedules the events. Fails with PW_BAD_INPUT when a box draws more than all its supplies give, or a breaker or battery
 * would not carry the normal load. */
pw_status pw_feeds_create(const pw_feed_config *config, const pw_feed_event *events, uint32_t count, pw_feeds **feeds, pw_error *error);
void pw_feeds_destroy(pw_feeds *feeds); /* NULL is fine */
pw_feed_box pw_feeds_box(const pw_feeds *feeds, uint32_t box);
/* From now on: other draws of one box (its work changed). */
void pw_feeds_draw(pw_feeds *feeds, uint32_t box, double draw_W, double braked_W);
const pw_feed_entry *pw_feeds_log(const pw_feeds *feeds, uint32_t *count);
double pw_feeds_feed_W(const pw_feeds *feeds, int feed);               /* drawn from it now */
const pw_breaker *pw_feeds_breaker(const pw_feeds *feeds, uint32_t rack, int feed); /* NULL: none */
/* Energies until now: drawn from feeds, on the DC side of boxes, lost in supplies. */
void pw_feeds_energy(pw_feeds *feeds, double *feeds_J, double *boxes_J, double *loss_J);

#endif
