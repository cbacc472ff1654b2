/* Bundles: who shares a rate, how much each has been given, and who finishes next.
 *
 * A bundle counts the service S that one member staying in it has been given; a member that joins with work w is done
 * at S + w. So a change of rate costs nothing per member, and the earliest finish is the top of a heap. S is moved back
 * to zero (and the members with it) once per as many joins as there are members, so that it stays of the size of the
 * work in hand and loses no digits.
 *
 * The earliest finish of every bundle lies in one indexed 4-ary heap of the fluid system, and the earliest of those is
 * the system's one event. Finishing members of all bundles of an instant are handed over together, in order of start.
 */
#include <float.h>

#include "sim/fluid_internal.h"

/* ---- blocks: memory of a few sizes that goes back and forth without the allocator ---- */

void *fluid_block_take(pw_fluid *fluid, uint32_t class) {
    void *block = fluid->free_blocks[class];
    if (!block) return pw_alloc(fluid->allocator, BLOCK_BYTES(class));
    memcpy(&fluid->free_blocks[class], block, sizeof block);
    return block;
}

void fluid_block_give(pw_fluid *fluid, void *block, uint32_t class) {
    memcpy(block, &fluid->free_blocks[class], sizeof block);
    fluid->free_blocks[class] = block;
}

static uint32_t block_class(size_t bytes) {
    uint32_t class = 0;
    while (BLOCK_BYTES(class) < bytes) class ++;
    return class;
}

/* ---- service and time ---- */

double fluid_bundle_service(const pw_fluid *fluid, const struct bundle *bundle) {
    double ticks = (double)(pw_sim_now(fluid->sim) - bundle->since);
    return bundle->service + bundle->rate * (ticks * fluid->seconds_per_tick);
}

/* The tick at which service reaches `finish`, rounded up; a whole number of ticks but for rounding stays. */
static pw_time tick_of(const pw_fluid *fluid, const struct bundle *bundle, double finish) {
    double left = finish - bundle->service;
    if (left <= 0) return bundle->since;
    double ticks = left / bundle->rate * fluid->ticks_per_second;
    if (!(ticks < 4e18)) return PW_TIME_MAX; /* rate 0 too */
    int64_t whole = (int64_t)ticks;
    double over = ticks - (double)whole, noise = 8 * DBL_EPSILON * ticks;
    if (over > noise) whole++;
    return pw_time_add(bundle->since, whole);
}

/* ---- the heap of a bundle's members ---- */

static inline bool member_before(const struct member *a, const struct member *b) {
    return a->finish < b->finish || (a->finish == b->finish && a->order < b->order);
}

static void member_put(pw_fluid *fluid, struct member *members, uint32_t hole, struct member member) {
    members[hole] = member;
    fluid->activities[member.activity].position = hole;
}

static void member_rise(pw_fluid *fluid, struct member *members, uint32_t hole, struct member member) {
    while (hole > 0) {
        uint32_t parent = (hole - 1) / 2;
        if (!member_before(&member, &members[parent])) break;
        member_put(fluid, members, hole, members[parent]);
        hole = parent;
    }
    member_put(fluid, members, hole, member);
}

static void member_sink(pw_fluid *fluid, struct member *members, uint32_t count, uint32_t hole,
                        struct member member) {
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= count) break;
        if (child + 1 < count && member_before(&members[child + 1], &members[child])) child++;
        if (!member_before(&members[child], &member)) break;
        member_put(fluid, members, hole, members[child]);
        hole = child;
    }
    member_put(fluid, members, hole, member);
}

static void member_take_out(pw_fluid *fluid, struct bundle *bundle, uint32_t hole) {
    struct member *members = bundle_members(bundle);
    uint32_t count = --bundle->count;
    if (hole == count) return;
    struct member last = members[count];
    if (hole > 0 && member_before(&last, &members[(hole - 1) / 2]))
        member_rise(fluid, members, hole, last);
    else
        member_sink(fluid, members, count, hole, last);
}

bool fluid_bundle_reserve_member(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    uint32_t needed = bundle->count + 1;
    if (needed == 1 && !bundle->members) return true;
    if (bundle->members && BLOCK_BYTES(bundle->room_class) / sizeof(struct member) >= needed) return true;
    uint32_t class = block_class(needed * sizeof(struct member));
    struct member *members = fluid_block_take(fluid, class);
    if (!members) return false;
    memcpy(members, bundle_members(bundle), bundle->count * sizeof *members);
    if (bundle->members) fluid_block_give(fluid, bundle->members, bundle->room_class);
    bundle->members = members;
    bundle->room_class = class;
    return true;
}

/* ---- the heap of the bundles' earliest finishes ---- */

static inline bool finish_before(const struct finish *a, const struct finish *b) {
    return a->at < b->at || (a->at == b->at && a->bundle < b->bundle);
}

static inline void finish_put(pw_fluid *fluid, uint32_t hole, struct finish finish) {
    fluid->finishes[hole] = finish;
    fluid->bundles[finish.bundle].finish_position = hole;
}

static void finish_rise(pw_fluid *fluid, uint32_t hole, struct finish finish) {
    while (hole > 0) {
        uint32_t parent = (hole - 1) / 4;
        if (!finish_before(&finish, &fluid->finishes[parent])) break;
        finish_put(fluid, hole, fluid->finishes[parent]);
        hole = parent;
    }
    finish_put(fluid, hole, finish);
}

static void finish_sink(pw_fluid *fluid, uint32_t hole, struct finish finish) {
    for (;;) {
        uint32_t child = 4 * hole + 1, end = child + 4;
        if (child >= fluid->finish_count) break;
        if (end > fluid->finish_count) end = fluid->finish_count;
        for (uint32_t i = child + 1; i < end; i++)
            if (finish_before(&fluid->finishes[i], &fluid->finishes[child])) child = i;
        if (!finish_before(&fluid->finishes[child], &finish)) break;
        finish_put(fluid, hole, fluid->finishes[child]);
        hole = child;
    }
    finish_put(fluid, hole, finish);
}

static void finish_remove(pw_fluid *fluid, uint32_t index) {
    uint32_t hole = fluid->bundles[index].finish_position;
    if (hole == NOWHERE) return;
    fluid->bundles[index].finish_position = NOWHERE;
    struct finish last = fluid->finishes[--fluid->finish_count];
    if (last.bundle == index) return;
    if (hole > 0 && finish_before(&last, &fluid->finishes[(hole - 1) / 4]))
        finish_rise(fluid, hole, last);
    else
        finish_sink(fluid, hole, last);
}

void fluid_bundle_reschedule(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    pw_time due = bundle->count == 0 ? PW_TIME_MAX : tick_of(fluid, bundle, bundle_members(bundle)[0].finish);
    uint32_t hole = bundle->finish_position;
    if (due == PW_TIME_MAX) {
        finish_remove(fluid, index);
        return;
    }
    struct finish finish = {due, index};
    if (hole == NOWHERE)
        finish_rise(fluid, fluid->finish_count++, finish);
    else if (due < bundle->due)
        finish_rise(fluid, hole, finish);
    else if (due > bundle->due)
        finish_sink(fluid, hole, finish);
    bundle->due = due;
}

void fluid_schedule(pw_fluid *fluid) {
    pw_time at = PW_TIME_MAX;
    if (fluid->finished_count > 0)
        at = pw_sim_now(fluid->sim);
    else if (fluid->finish_count > 0)
        at = fluid->finishes[0].at;
    if (at == fluid->event_at) return;
    if (at == PW_TIME_MAX) {
        pw_event_cancel(fluid->sim, fluid->event);
        fluid->event = (pw_event_id){0, 0};
    } else if (fluid->event_at == PW_TIME_MAX) {
        fluid->event = pw_event_at(fluid->sim, at, 0, fluid_finish, fluid, 0);
        if (fluid->event.generation == 0) return; /* out of memory; the simulation knows */
    } else {
        pw_event_move(fluid->sim, fluid->event, at);
    }
    fluid->event_at = at;
}

/* ---- members that finish ---- */

void fluid_bundle_bring_up(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    pw_time now = pw_sim_now(fluid->sim);
    if (bundle->since == now && (bundle->finish_position == NOWHERE || bundle->due > now)) return;
    double service = fluid_bundle_service(fluid, bundle), given = service - bundle->service;
    double delivered = given * bundle->count;
    if (bundle->finish_position != NOWHERE && bundle->due <= now) {
        double tick = bundle->rate * fluid->seconds_per_tick;
        while (bundle->count > 0) {
            struct member member = bundle_members(bundle)[0];
            if (tick_of(fluid, bundle, member.finish) > now) break;
            struct activity *activity = &fluid->activities[member.activity];
            double excess = service - member.finish, noise = 1e-9 * activity->work + 1e-14 * service;
            PW_LAW(fluid->sim, excess <= tick * (1 + 1e-6) + noise && excess >= -noise,
                   "the service of an activity equals its work", "activity of work %.17g ends %.17g over it",
                   activity->work, excess);
            delivered -= excess;
            member_take_out(fluid, bundle, 0);
            activity->bundle = NOWHERE;
            fluid->finished[fluid->finished_count++] = (struct pair){member.order, member.activity};
        }
        finish_remove(fluid, index);
        fluid_change(fluid, index);
    }
    bundle->delivered += delivered;
    bundle->service = service;
    bundle->since = now;
}

static void deliver(pw_sim *sim, void *object, uint64_t argument) {
    pw_fluid *fluid = object;
    uint32_t index = (uint32_t)argument, generation = (uint32_t)(argument >> 32);
    struct activity activity = fluid->activities[index];
    if (!activity.alive || activity.generation != generation) return; /* stopped in between */
    fluid_release_activity(fluid, index);
    activity.done(sim, activity.object, activity.argument);
}

void fluid_deliver_soon(pw_fluid *fluid, uint32_t index) {
    const struct activity *activity = &fluid->activities[index];
    if (activity->done)
        pw_event_soon(fluid->sim, deliver, fluid, (uint64_t)activity->generation << 32 | index);
    else
        fluid_release_activity(fluid, index);
}

void fluid_finish(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    pw_fluid *fluid = object;
    fluid->event_at = PW_TIME_MAX;
    fluid->event = (pw_event_id){0, 0};
    pw_time now = pw_sim_now(sim);
    while (fluid->finish_count > 0 && fluid->finishes[0].at <= now)
        fluid_bundle_bring_up(fluid, fluid->finishes[0].bundle);
    fluid_sort(fluid->finished, fluid->finished_count);
    for (uint32_t i = 0; i < fluid->finished_count; i++) fluid_deliver_soon(fluid, (uint32_t)fluid->finished[i].value);
    fluid->finished_count = 0;
    fluid_request(fluid); /* the next finish is scheduled when the rates are known */
}

/* ---- joining and leaving ---- */

void fluid_touch(pw_fluid *fluid, uint32_t index) {
    if (fluid->limits[index].touched) return;
    fluid->limits[index].touched = true;
    fluid->touched[fluid->touched_count++] = index;
}

void fluid_change(pw_fluid *fluid, uint32_t index) {
    fluid_touch(fluid, index);
    if (!fluid->limits[index].changed) {
        fluid->limits[index].changed = true;
        fluid->changed_count++;
    }
    fluid_request(fluid);
}

/* After as many joins as there are members: service starts at zero again. Subtraction keeps the heap's order. */
static void rebase(struct bundle *bundle) {
    if (bundle->joins++ < bundle->count) return;
    struct member *members = bundle_members(bundle);
    for (uint32_t i = 0; i < bundle->count; i++) members[i].finish -= bundle->service;
    bundle->service = 0;
    bundle->joins = 0;
}

void fluid_bundle_join(pw_fluid *fluid, uint32_t index, uint32_t activity, double work) {
    fluid_bundle_bring_up(fluid, index);
    struct bundle *bundle = &fluid->bundles[index];
    rebase(bundle);
    struct member member = {bundle->service + work, fluid->activities[activity].order, activity};
    fluid->activities[activity].bundle = index;
    member_rise(fluid, bundle_members(bundle), bundle->count++, member);
    fluid_change(fluid, index);
}

double fluid_bundle_leave(pw_fluid *fluid, uint32_t activity) {
    uint32_t index = fluid->activities[activity].bundle, position = fluid->activities[activity].position;
    struct bundle *bundle = &fluid->bundles[index];
    double left = bundle_members(bundle)[position].finish - bundle->service;
    member_take_out(fluid, bundle, position);
    fluid->activities[activity].bundle = NOWHERE;
    fluid_change(fluid, index);
    return left > 0 ? left : 0;
}

/* ---- making and removing bundles ---- */

static uint32_t bundle_hash(uint32_t route, double share, double cap) {
    uint64_t bits, hash = route;
    memcpy(&bits, &share, sizeof bits);
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
    memcpy(&bits, &cap, sizeof bits);
    hash = (hash ^ (hash >> 32) ^ bits) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

static uint32_t *hash_slot(const pw_fluid *fluid, const struct bundle *bundle) {
    return &fluid->bundle_hash[bundle_hash(bundle->route, bundle->share, bundle->cap) & (fluid->bundle_hash_size - 1)];
}

static bool grow_hash(pw_fluid *fluid) {
    uint32_t size = fluid->bundle_hash_size;
    if (fluid->bundle_live < size) return true;
    uint32_t new_size = size ? 2 * size : 64;
    uint32_t *table = pw_resize(fluid->allocator, fluid->bundle_hash, size * sizeof *table, new_size * sizeof *table);
    if (!table) return false;
    fluid->bundle_hash = table;
    fluid->bundle_hash_size = new_size;
    for (uint32_t i = 0; i < new_size; i++) table[i] = NOWHERE;
    for (uint32_t i = 0; i < fluid->bundle_count; i++) {
        if (!fluid->limits[i].alive) continue;
        uint32_t *slot = hash_slot(fluid, &fluid->bundles[i]);
        fluid->bundles[i].next_in_hash = *slot;
        *slot = i;
    }
    return true;
}

/* A slot for a bundle: memory for all that grows with the number of bundles. */
static bool reserve_slot(pw_fluid *fluid) {
    if (fluid->free_bundle != NOWHERE) return true;
    size_t needed = (size_t)fluid->bundle_count + 1;
    const pw_allocator *allocator = fluid->allocator;
    return GROW(allocator, fluid, bundles, needed) && GROW(allocator, fluid, limits, needed) &&
           GROW(allocator, fluid, touched, needed) && GROW(allocator, fluid, finishes, needed) &&
           GROW(allocator, fluid, fill_levels, needed) &&
           GROW(allocator, fluid, filling, needed + fluid->capacity_count);
}

uint32_t fluid_bundle_get(pw_fluid *fluid, uint32_t route_index, double share, double cap) {
    if (!grow_hash(fluid)) return NOWHERE;
    uint32_t *slot = &fluid->bundle_hash[bundle_hash(route_index, share, cap) & (fluid->bundle_hash_size - 1)];
    for (uint32_t i = *slot; i != NOWHERE; i = fluid->bundles[i].next_in_hash) {
        const struct bundle *bundle = &fluid->bundles[i];
        if (bundle->route == route_index && bundle->share == share && bundle->cap == cap) return i;
    }

    /* First everything that can fail, then everything that changes. */
    const struct route *route = &fluid->routes[route_index];
    const struct route_use *uses = fluid->route_uses + route->first;
    if (!reserve_slot(fluid)) return NOWHERE;
    for (uint32_t i = 0; i < route->count; i++) {
        struct capacity *capacity = &fluid->capacities[uses[i].capacity];
        size_t needed = (size_t)capacity->count + 1;
        if (!GROW(fluid->allocator, capacity, entries, needed) || !GROW(fluid->allocator, capacity, owners, needed))
            return NOWHERE;
    }
    struct link *links = NULL;
    if (route->count > 0) {
        links = fluid_block_take(fluid, block_class(route->count * sizeof *links));
        if (!links) return NOWHERE;
    }

    uint32_t index = fluid->free_bundle;
    if (index != NOWHERE)
        fluid->free_bundle = fluid->bundles[index].next_in_hash;
    else
        index = fluid->bundle_count++;
    fluid->bundles[index] = (struct bundle){.share = share,
                                            .cap = cap,
                                            .cap_level = cap / share,
                                            .since = pw_sim_now(fluid->sim),
                                            .due = PW_TIME_MAX,
                                            .route = route_index,
                                            .next_in_hash = *slot,
                                            .finish_position = NOWHERE};
    *slot = index;
    fluid->limits[index] = (struct bundle_limits){.links = links, .link_count = route->count, .alive = true};
    for (uint32_t i = 0; i < route->count; i++)
        links[i] = (struct link){.capacity = uses[i].capacity, .weight = uses[i].weight};
    fluid_find_lowest(fluid, index);
    for (uint32_t i = 0; i < route->count; i++) {
        const struct bundle_limits *limits = &fluid->limits[index];
        struct capacity *capacity = &fluid->capacities[links[i].capacity];
        links[i].position = capacity->count++;
        capacity->entries[links[i].position] =
            (struct entry){.limit = i == limits->lowest_at ? limits->second : limits->lowest};
        capacity->owners[links[i].position] = (struct entry_owner){index, i};
    }
    fluid->entry_total += route->count;
    if (++fluid->bundle_live > fluid->stats.bundles_peak) fluid->stats.bundles_peak = fluid->bundle_live;
    fluid_change(fluid, index); /* one without members goes at the next solve */
    return index;
}

void fluid_bundle_free(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    struct bundle_limits *limits = &fluid->limits[index];
    if (bundle->members) fluid_block_give(fluid, bundle->members, bundle->room_class);
    if (limits->links) fluid_block_give(fluid, limits->links, block_class(limits->link_count * sizeof(struct link)));
    bundle->members = NULL;
    limits->links = NULL;
    limits->alive = false;
}

void fluid_bundle_remove(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    const struct bundle_limits *limits = &fluid->limits[index];
    pw_time now = pw_sim_now(fluid->sim);
    for (uint32_t i = 0; i < limits->link_count; i++) {
        const struct link *link = &limits->links[i];
        struct capacity *capacity = &fluid->capacities[link->capacity];
        capacity->served += link->weight * bundle->delivered;
        double most = capacity->amount_integral +
                      capacity->amount * ((double)(now - capacity->amount_since) * fluid->seconds_per_tick);
        PW_LAW(fluid->sim, capacity->served <= most * (1 + 1e-9), "no capacity gives more than it has",
               "capacity %u gave %.17g of %.17g", link->capacity, capacity->served, most);
        fluid_forget_entry(fluid, link->capacity, link->position);
    }
    finish_remove(fluid, index);
    uint32_t *slot = hash_slot(fluid, bundle);
    while (*slot != index) slot = &fluid->bundles[*slot].next_in_hash;
    *slot = bundle->next_in_hash;
    fluid->entry_total -= limits->link_count;
    fluid->bundle_live--;
    fluid_bundle_free(fluid, index);
    bundle->next_in_hash = fluid->free_bundle;
    fluid->free_bundle = index;
}
