/* The inside of the fluid system: shared by fluid.c, fluid_bundle.c and fluid_level.c, by nobody else.
 *
 * A bundle is every activity with one route, share and cap. It meets a capacity through a link; the capacity's side of
 * the link is an entry. Solving reads entries only, which lie packed in their capacity:
 *
 *   draw    amount of the capacity taken per unit of level: members x share x weight
 *   limit   the smallest level among the bundle's other capacities and its own cap: the level at which something else
 *           holds the bundle back
 *
 * A capacity's level s solves  sum over entries of draw x min(limit, s) = amount, and is infinite when the limits
 * alone keep the sum within the amount. A bundle's rate is share x (smallest level on its route, or its cap).
 */
#ifndef PW_SIM_FLUID_INTERNAL_H
#define PW_SIM_FLUID_INTERNAL_H

#include <math.h>
#include <string.h>

#include "sim/fluid.h"

#define NOWHERE UINT32_MAX

/* Levels closer than this, relatively, are one level: a change below it goes no further, and the rate keeps its bits. */
#define LEVEL_TOLERANCE 1e-13

struct entry {
    double draw, limit;
};

struct entry_owner {
    uint32_t bundle, link; /* link: its place in the bundle's links */
};

struct capacity {
    double level;  /* infinite: not full */
    double amount; /* per second */
    double demand; /* sum of draw x limit, kept up to date while the level is infinite and the capacity is not dirty */
    struct entry *entries;
    struct entry_owner *owners;
    size_t entries_room, owners_room;
    uint32_t count;
    uint32_t demand_updates; /* since demand was last summed exactly */
    bool dirty;              /* waits in the dirty heap */
    double served;           /* by bundles that are gone */
    double amount_integral;  /* of the amount until amount_since */
    pw_time amount_since;
};

struct link {
    uint32_t capacity, position; /* position: the entry's place in the capacity */
    double weight;
};

/* What relaxation reads and writes of a bundle. Index link_count stands for the bundle's own cap. */
struct bundle_limits {
    double lowest, second; /* the two smallest levels among links and cap */
    struct link *links;
    uint32_t lowest_at, second_at;
    uint32_t link_count;
    bool touched; /* in the list of bundles to look at when the solve is done */
    bool changed; /* members came or went since the last solve */
    bool alive;
};

struct member {
    double finish; /* the bundle's service at which this member is done */
    uint64_t order;
    uint32_t activity;
};

struct bundle {
    double share, cap, cap_level;
    double rate;     /* work per second of one member, from `since` on */
    double service;  /* work given to one member that stayed since the bundle's last rebase, until `since` */
    double delivered; /* work given to all members, ever, until `since` */
    pw_time since;
    pw_time due;             /* tick of the earliest finish; PW_TIME_MAX: none; valid while in the finish heap */
    struct member *members;  /* a binary heap by (finish, order); NULL: `only` holds the single member */
    struct member only;
    uint32_t count, room_class; /* room_class: of members, when not NULL */
    uint32_t joins;             /* since the last rebase */
    uint32_t route, next_in_hash, finish_position;
};

struct activity {
    pw_event_handler *done;
    void *object;
    uint64_t argument;
    double work;
    uint64_t order;
    uint32_t bundle;   /* NOWHERE: done, the handler has not run yet; or the slot is free */
    uint32_t position; /* in the bundle's members; next free slot when free */
    uint32_t generation;
    bool alive;
};

struct route {
    size_t first; /* in route_uses */
    uint32_t count, hash, next_in_hash;
};

struct route_use {
    uint32_t capacity;
    double weight;
};

struct pair {
    uint64_t key, value;
};

struct node { /* of the dirty heap and of the filling heap */
    double key;
    uint32_t index;
};

struct fill { /* a capacity in the full solve */
    double level;
    double left, draw;       /* of the bundles not frozen yet; estimates, kept by subtraction */
    double left_at, draw_at; /* when they were last summed exactly */
    uint32_t open;           /* bundles not frozen yet */
};

struct finish {
    pw_time at;
    uint32_t bundle;
};

#define BLOCK_CLASSES 40
#define BLOCK_BYTES(class) ((size_t)32 << (class))

struct pw_fluid {
    pw_sim *sim;
    const pw_allocator *allocator;
    double ticks_per_second, seconds_per_tick;
    bool check_full;
    int hook;
    bool pending; /* something changed since the last solve */
    uint32_t budget_constant, budget_per_entry; /* entries that relaxation may look at; tests make it small */
    pw_event_id event;
    pw_time event_at;
    uint64_t next_order;
    pw_fluid_stats stats;

    struct capacity *capacities;
    struct route *routes;
    struct route_use *route_uses;
    uint32_t *route_hash, *bundle_hash; /* chains; sizes are powers of two */
    struct bundle *bundles;
    struct bundle_limits *limits;
    struct activity *activities;
    uint32_t *touched;
    struct node *dirty;       /* heap by (level, index) */
    struct finish *finishes;  /* indexed 4-ary heap by (at, bundle) */
    struct pair *finished;    /* (order, activity): done, to be handed over in order of start */
    struct pair *scratch;     /* uses of a route being interned */
    struct node *filling;     /* heap of the full solve: capacities, then bundles with a cap */
    struct fill *fills;       /* per capacity */
    double *fill_levels;      /* per bundle; negative: not frozen yet */
    size_t capacities_room, routes_room, route_uses_room, bundles_room, limits_room, activities_room, touched_room,
        dirty_room, finishes_room, finished_room, scratch_room, filling_room, fills_room, fill_levels_room;
    uint32_t capacity_count, route_count, bundle_count, bundle_live, activity_count, activity_live, touched_count,
        changed_count, dirty_count, finish_count, finished_count;
    uint32_t route_hash_size, bundle_hash_size;
    uint32_t free_bundle, free_activity;
    size_t entry_total; /* links of all live bundles */
    void *free_blocks[BLOCK_CLASSES];
};

static inline bool same_level(double a, double b) {
    if (a == b) return true;
    double smaller = a < b ? a : b; /* of the two, so that an infinite one is never "close" */
    return fabs(a - b) <= LEVEL_TOLERANCE * smaller;
}

/* Grows a typed array field. */
bool fluid_grow(const pw_allocator *allocator, void *array, size_t *room, size_t needed, size_t size);
#define GROW(allocator, object, field, needed) \
    fluid_grow((allocator), &(object)->field, &(object)->field##_room, (needed), sizeof *(object)->field)
void fluid_sort(struct pair *pairs, uint32_t count); /* by (key, value) */

/* fluid_bundle.c */
void *fluid_block_take(pw_fluid *fluid, uint32_t class);
void fluid_block_give(pw_fluid *fluid, void *block, uint32_t class);
uint32_t fluid_bundle_get(pw_fluid *fluid, uint32_t route, double share, double cap); /* NOWHERE: out of memory */
bool fluid_bundle_reserve_member(pw_fluid *fluid, uint32_t bundle);
void fluid_bundle_join(pw_fluid *fluid, uint32_t bundle, uint32_t activity, double work);
double fluid_bundle_leave(pw_fluid *fluid, uint32_t activity); /* returns the work left */
void fluid_bundle_bring_up(pw_fluid *fluid, uint32_t bundle);  /* to now; members due now become finished */
double fluid_bundle_service(const pw_fluid *fluid, const struct bundle *bundle); /* at now */
void fluid_bundle_remove(pw_fluid *fluid, uint32_t bundle);    /* it has no members */
void fluid_bundle_free(pw_fluid *fluid, uint32_t bundle);      /* its memory, at the end */
void fluid_bundle_reschedule(pw_fluid *fluid, uint32_t bundle);
void fluid_schedule(pw_fluid *fluid); /* the one event of the earliest finish */
void fluid_finish(pw_sim *sim, void *object, uint64_t argument); /* its handler */
void fluid_deliver_soon(pw_fluid *fluid, uint32_t activity);
static inline struct member *bundle_members(struct bundle *bundle) {
    return bundle->members ? bundle->members : &bundle->only;
}
void fluid_touch(pw_fluid *fluid, uint32_t bundle);
void fluid_change(pw_fluid *fluid, uint32_t bundle); /* members came or went */

/* fluid_level.c */
void fluid_mark_dirty(pw_fluid *fluid, uint32_t capacity);
void fluid_find_lowest(const pw_fluid *fluid, uint32_t bundle); /* sets lowest and second from the levels */
void fluid_set_draws(pw_fluid *fluid, uint32_t bundle);
void fluid_forget_entry(pw_fluid *fluid, uint32_t capacity, uint32_t position);
void fluid_settle(pw_fluid *fluid);

/* fluid.c */
void fluid_request(pw_fluid *fluid);
void fluid_release_activity(pw_fluid *fluid, uint32_t activity);
void fluid_out_of_memory(pw_fluid *fluid);

#endif
