/* Fluid sharing: the interface. Handles, routes, activities, queries.
 *
 * Bundles are in fluid_bundle.c, the solver of their rates in fluid_level.c. Whatever changes only marks what it
 * changes; the rates are solved when the instant is over, or when somebody asks for one.
 */
#include "sim/fluid_internal.h"

/* Relaxation may look at this many entries per entry of the system, plus a constant, before a full solve takes over. */
#define BUDGET_PER_ENTRY 8
#define BUDGET_CONSTANT 4096

/* ---- small tools ---- */

bool fluid_grow(const pw_allocator *allocator, void *array, size_t *room, size_t needed, size_t size) {
    void *memory;
    memcpy(&memory, array, sizeof memory);
    if (pw_grow(allocator, &memory, room, needed, size) != 0) return false;
    memcpy(array, &memory, sizeof memory);
    return true;
}

static inline bool pair_before(const struct pair *a, const struct pair *b) {
    return a->key < b->key || (a->key == b->key && a->value < b->value);
}

static void pair_sink(struct pair *pairs, uint32_t count, uint32_t hole, struct pair pair) {
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= count) break;
        if (child + 1 < count && pair_before(&pairs[child], &pairs[child + 1])) child++;
        if (!pair_before(&pair, &pairs[child])) break;
        pairs[hole] = pairs[child];
        hole = child;
    }
    pairs[hole] = pair;
}

/* Heapsort: it needs no memory. Most lists come sorted or of length one. */
void fluid_sort(struct pair *pairs, uint32_t count) {
    uint32_t sorted = 1;
    while (sorted < count && !pair_before(&pairs[sorted], &pairs[sorted - 1])) sorted++;
    if (sorted >= count) return;
    for (uint32_t i = count / 2; i-- > 0;) pair_sink(pairs, count, i, pairs[i]);
    while (count > 1) {
        struct pair last = pairs[--count];
        pairs[count] = pairs[0];
        pair_sink(pairs, count, 0, last);
    }
}

static void hook(pw_sim *sim, void *object) {
    (void)sim;
    fluid_settle(object);
}

void fluid_request(pw_fluid *fluid) {
    if (fluid->pending) return;
    fluid->pending = true;
    pw_sim_request_hook(fluid->sim, fluid->hook);
}

void fluid_out_of_memory(pw_fluid *fluid) {
    pw_sim_fail(fluid->sim, PW_NO_MEMORY, "allow more memory or simulate fewer activities",
                "no memory for %u activities on %u capacities", fluid->activity_live, fluid->capacity_count);
}

/* ---- life ---- */

pw_status pw_fluid_create(pw_sim *sim, bool check_full, pw_fluid **result, pw_error *error) {
    *result = NULL;
    const pw_allocator *allocator = pw_sim_allocator(sim);
    pw_fluid *fluid = pw_alloc_zero(allocator, sizeof *fluid);
    if (!fluid) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a fluid system");
    fluid->sim = sim;
    fluid->allocator = allocator;
    fluid->ticks_per_second = pw_sim_ticks_per_second(sim);
    fluid->seconds_per_tick = 1 / fluid->ticks_per_second;
    fluid->check_full = check_full;
    fluid->budget_constant = BUDGET_CONSTANT;
    fluid->budget_per_entry = BUDGET_PER_ENTRY;
    fluid->event_at = PW_TIME_MAX;
    fluid->free_bundle = fluid->free_activity = NOWHERE;
    fluid->next_order = 1;
    fluid->hook = pw_sim_add_instant_hook(sim, hook, fluid);
    if (fluid->hook < 0) {
        pw_free(allocator, fluid, sizeof *fluid);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the hook of a fluid system");
    }
    *result = fluid;
    return PW_OK;
}

void pw_fluid_destroy(pw_fluid *fluid) {
    if (!fluid) return;
    const pw_allocator *allocator = fluid->allocator;
    if (fluid->event_at != PW_TIME_MAX) pw_event_cancel(fluid->sim, fluid->event);
    for (uint32_t i = 0; i < fluid->bundle_count; i++)
        if (fluid->limits[i].alive) fluid_bundle_free(fluid, i);
    for (uint32_t class = 0; class < BLOCK_CLASSES; class ++) {
        void *block;
        while ((block = fluid->free_blocks[class])) {
            memcpy(&fluid->free_blocks[class], block, sizeof block);
            pw_free(allocator, block, BLOCK_BYTES(class));
        }
    }
    for (uint32_t i = 0; i < fluid->capacity_count; i++) {
        struct capacity *capacity = &fluid->capacities[i];
        pw_free(allocator, capacity->entries, capacity->entries_room * sizeof *capacity->entries);
        pw_free(allocator, capacity->owners, capacity->owners_room * sizeof *capacity->owners);
    }
    pw_free(allocator, fluid->route_hash, fluid->route_hash_size * sizeof *fluid->route_hash);
    pw_free(allocator, fluid->bundle_hash, fluid->bundle_hash_size * sizeof *fluid->bundle_hash);
#define FREE(field) pw_free(allocator, fluid->field, fluid->field##_room * sizeof *fluid->field)
    FREE(capacities), FREE(routes), FREE(route_uses), FREE(bundles), FREE(limits), FREE(activities), FREE(touched);
    FREE(dirty), FREE(finishes), FREE(finished), FREE(scratch), FREE(filling), FREE(fills), FREE(fill_levels);
#undef FREE
    pw_free(allocator, fluid, sizeof *fluid);
}

pw_fluid_stats pw_fluid_get_stats(const pw_fluid *fluid) {
    return fluid->stats;
}

/* ---- capacities ---- */

static struct capacity *find_capacity(const pw_fluid *fluid, pw_capacity_id id) {
    return id.generation == 1 && id.index < fluid->capacity_count ? &fluid->capacities[id.index] : NULL;
}

static bool is_amount(double amount) {
    return amount >= 0 && amount < INFINITY;
}

pw_capacity_id pw_capacity_add(pw_fluid *fluid, double amount_per_s) {
    pw_capacity_id none = {0, 0};
    if (!is_amount(amount_per_s)) {
        pw_sim_fail(fluid->sim, PW_BAD_INPUT, "give a finite amount, zero or more", "a capacity of %g per second",
                    amount_per_s);
        return none;
    }
    size_t needed = (size_t)fluid->capacity_count + 1;
    if (!GROW(fluid->allocator, fluid, capacities, needed) || !GROW(fluid->allocator, fluid, dirty, needed) ||
        !GROW(fluid->allocator, fluid, fills, needed) ||
        !GROW(fluid->allocator, fluid, filling, needed + fluid->bundle_count)) {
        fluid_out_of_memory(fluid);
        return none;
    }
    uint32_t index = fluid->capacity_count++;
    fluid->capacities[index] =
        (struct capacity){.level = INFINITY, .amount = amount_per_s, .amount_since = pw_sim_now(fluid->sim)};
    return (pw_capacity_id){index, 1};
}

static double integral_until_now(const pw_fluid *fluid, const struct capacity *capacity) {
    double ticks = (double)(pw_sim_now(fluid->sim) - capacity->amount_since);
    return capacity->amount_integral + capacity->amount * (ticks * fluid->seconds_per_tick);
}

pw_status pw_capacity_set(pw_fluid *fluid, pw_capacity_id id, double amount_per_s) {
    struct capacity *capacity = find_capacity(fluid, id);
    if (!capacity) return PW_STALE_HANDLE;
    if (!is_amount(amount_per_s)) return PW_BAD_INPUT;
    if (amount_per_s == capacity->amount) return PW_OK;
    capacity->amount_integral = integral_until_now(fluid, capacity);
    capacity->amount_since = pw_sim_now(fluid->sim);
    capacity->amount = amount_per_s;
    fluid_mark_dirty(fluid, id.index);
    fluid_request(fluid);
    return PW_OK;
}

double pw_capacity_amount(const pw_fluid *fluid, pw_capacity_id id) {
    const struct capacity *capacity = find_capacity(fluid, id);
    return capacity ? capacity->amount : 0;
}

double pw_capacity_load(pw_fluid *fluid, pw_capacity_id id) {
    const struct capacity *capacity = find_capacity(fluid, id);
    if (!capacity) return 0;
    fluid_settle(fluid);
    double load = 0;
    for (uint32_t i = 0; i < capacity->count; i++) {
        struct entry_owner owner = capacity->owners[i];
        const struct bundle *bundle = &fluid->bundles[owner.bundle];
        load += fluid->limits[owner.bundle].links[owner.link].weight * bundle->count * bundle->rate;
    }
    return load;
}

double pw_capacity_served(pw_fluid *fluid, pw_capacity_id id) {
    const struct capacity *capacity = find_capacity(fluid, id);
    if (!capacity) return 0;
    double served = capacity->served;
    for (uint32_t i = 0; i < capacity->count; i++) {
        struct entry_owner owner = capacity->owners[i];
        fluid_bundle_bring_up(fluid, owner.bundle);
        served += fluid->limits[owner.bundle].links[owner.link].weight * fluid->bundles[owner.bundle].delivered;
    }
    double most = integral_until_now(fluid, capacity);
    PW_LAW(fluid->sim, served <= most * (1 + 1e-9), "no capacity gives more than it has",
           "capacity %u gave %.17g of %.17g", id.index, served, most);
    return served;
}

/* ---- routes ---- */

static uint32_t route_hash(const struct route_use *uses, uint32_t count) {
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &uses[i].weight, sizeof bits);
        hash = (hash ^ uses[i].capacity) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ (hash >> 32) ^ bits) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 32);
}

static bool grow_route_hash(pw_fluid *fluid) {
    uint32_t size = fluid->route_hash_size;
    if (fluid->route_count < size) return true;
    uint32_t new_size = size ? 2 * size : 64;
    uint32_t *table = pw_resize(fluid->allocator, fluid->route_hash, size * sizeof *table, new_size * sizeof *table);
    if (!table) return false;
    fluid->route_hash = table;
    fluid->route_hash_size = new_size;
    for (uint32_t i = 0; i < new_size; i++) table[i] = NOWHERE;
    for (uint32_t i = 0; i < fluid->route_count; i++) {
        uint32_t *slot = &table[fluid->routes[i].hash & (new_size - 1)];
        fluid->routes[i].next_in_hash = *slot;
        *slot = i;
    }
    return true;
}

/* Writes the canonical uses behind the last route's: by capacity, each once. Returns their number. */
static uint32_t write_uses(pw_fluid *fluid, const pw_use *uses, uint32_t count, size_t first) {
    struct pair *pairs = fluid->scratch;
    for (uint32_t i = 0; i < count; i++) {
        pairs[i].key = uses[i].capacity.index;
        memcpy(&pairs[i].value, &uses[i].weight, sizeof pairs[i].value); /* positive: bits sort as values */
    }
    fluid_sort(pairs, count);
    struct route_use *out = fluid->route_uses + first;
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        double weight;
        memcpy(&weight, &pairs[i].value, sizeof weight);
        if (written > 0 && out[written - 1].capacity == pairs[i].key)
            out[written - 1].weight += weight;
        else
            out[written++] = (struct route_use){(uint32_t)pairs[i].key, weight};
    }
    return written;
}

pw_route_id pw_fluid_route(pw_fluid *fluid, const pw_use *uses, uint32_t count) {
    pw_route_id none = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!find_capacity(fluid, uses[i].capacity) || !(uses[i].weight > 0 && uses[i].weight < INFINITY)) {
            pw_sim_fail(fluid->sim, PW_BAD_INPUT, "uses need a capacity of this system and a weight above zero",
                        "use %u of a route: capacity %u, weight %g", i, uses[i].capacity.index, uses[i].weight);
            return none;
        }
    }
    size_t first = 0;
    if (fluid->route_count > 0) {
        const struct route *last = &fluid->routes[fluid->route_count - 1];
        first = last->first + last->count;
    }
    if (!GROW(fluid->allocator, fluid, scratch, count) ||
        !GROW(fluid->allocator, fluid, route_uses, first + count + 1) || !grow_route_hash(fluid)) {
        fluid_out_of_memory(fluid);
        return none;
    }
    count = write_uses(fluid, uses, count, first);
    const struct route_use *written = fluid->route_uses + first;
    uint32_t hash = route_hash(written, count);
    uint32_t *slot = &fluid->route_hash[hash & (fluid->route_hash_size - 1)];
    for (uint32_t i = *slot; i != NOWHERE; i = fluid->routes[i].next_in_hash) {
        const struct route *route = &fluid->routes[i];
        if (route->hash != hash || route->count != count) continue;
        const struct route_use *known = fluid->route_uses + route->first;
        uint32_t equal = 0;
        while (equal < count && known[equal].capacity == written[equal].capacity &&
               known[equal].weight == written[equal].weight)
            equal++;
        if (equal == count) return (pw_route_id){i, 1};
    }
    if (!GROW(fluid->allocator, fluid, routes, (size_t)fluid->route_count + 1)) {
        fluid_out_of_memory(fluid);
        return none;
    }
    uint32_t index = fluid->route_count++;
    fluid->routes[index] = (struct route){first, count, hash, *slot};
    *slot = index;
    return (pw_route_id){index, 1};
}

static const struct route *find_route(const pw_fluid *fluid, pw_route_id id) {
    return id.generation == 1 && id.index < fluid->route_count ? &fluid->routes[id.index] : NULL;
}

/* ---- activities ---- */

static struct activity *find_activity(const pw_fluid *fluid, pw_activity_id id) {
    if (id.index >= fluid->activity_count) return NULL;
    struct activity *activity = &fluid->activities[id.index];
    return activity->alive && activity->generation == id.generation ? activity : NULL;
}

void fluid_release_activity(pw_fluid *fluid, uint32_t index) {
    struct activity *activity = &fluid->activities[index];
    activity->alive = false;
    activity->position = fluid->free_activity;
    fluid->free_activity = index;
    fluid->activity_live--;
}

static uint32_t take_activity(pw_fluid *fluid, const pw_activity_config *config) {
    uint32_t index = fluid->free_activity, generation = 1;
    if (index != NOWHERE) {
        generation = fluid->activities[index].generation + 1;
        if (generation == 0) generation = 1;
        fluid->free_activity = fluid->activities[index].position;
    } else {
        size_t needed = (size_t)fluid->activity_count + 1;
        if (!GROW(fluid->allocator, fluid, activities, needed) || !GROW(fluid->allocator, fluid, finished, needed))
            return NOWHERE;
        index = fluid->activity_count++;
    }
    fluid->activities[index] = (struct activity){.done = config->done,
                                                 .object = config->object,
                                                 .argument = config->argument,
                                                 .work = config->work,
                                                 .order = fluid->next_order++,
                                                 .bundle = NOWHERE,
                                                 .generation = generation,
                                                 .alive = true};
    if (++fluid->activity_live > fluid->stats.activities_peak) fluid->stats.activities_peak = fluid->activity_live;
    return index;
}

pw_activity_id pw_activity_start(pw_fluid *fluid, pw_route_id route_id, const pw_activity_config *config) {
    pw_activity_id none = {0, 0};
    const struct route *route = find_route(fluid, route_id);
    double share = config->share == 0 ? 1 : config->share, cap = config->rate_cap == 0 ? INFINITY : config->rate_cap;
    bool fine = route && is_amount(config->work) && share > 0 && share < INFINITY && cap > 0;
    if (!fine || (route->count == 0 && cap == INFINITY)) {
        pw_sim_fail(fluid->sim, PW_BAD_INPUT,
                    fine ? "give it a rate cap or a route with uses"
                         : "it needs a route of this system, finite work >= 0, a share and a cap that are not negative",
                    fine ? "nothing limits the rate of an activity of work %g (share %g, cap %g)"
                         : "an activity of work %g, share %g, rate cap %g",
                    config->work, config->share, config->rate_cap);
        return none;
    }
    uint32_t index = take_activity(fluid, config);
    if (index == NOWHERE) {
        fluid_out_of_memory(fluid);
        return none;
    }
    pw_activity_id id = {index, fluid->activities[index].generation};
    if (config->work == 0) {
        fluid_deliver_soon(fluid, index);
        return id;
    }
    uint32_t bundle = fluid_bundle_get(fluid, route_id.index, share, cap);
    if (bundle == NOWHERE || !fluid_bundle_reserve_member(fluid, bundle)) {
        fluid_release_activity(fluid, index);
        fluid_out_of_memory(fluid);
        return none;
    }
    fluid_bundle_join(fluid, bundle, index, config->work);
    return id;
}

pw_status pw_activity_stop(pw_fluid *fluid, pw_activity_id id, double *work_left) {
    if (work_left) *work_left = 0;
    struct activity *activity = find_activity(fluid, id);
    if (!activity) return PW_STALE_HANDLE;
    if (activity->bundle != NOWHERE) fluid_bundle_bring_up(fluid, activity->bundle);
    if (activity->bundle != NOWHERE) {
        double left = fluid_bundle_leave(fluid, id.index);
        if (work_left) *work_left = left;
        fluid_release_activity(fluid, id.index);
        return PW_OK;
    }
    /* Its work is done. If the handler is queued, it will not find the activity; if it waits to be queued: */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fluid->finished_count; i++)
        if (fluid->finished[i].value != id.index) fluid->finished[kept++] = fluid->finished[i];
    fluid->finished_count = kept;
    fluid_release_activity(fluid, id.index);
    return PW_OK;
}

/* Moves a running activity to the bundle of another route or cap. */
static pw_status move(pw_fluid *fluid, uint32_t index, uint32_t route, double cap) {
    struct activity *activity = &fluid->activities[index];
    if (activity->bundle == NOWHERE) return PW_OK; /* done already */
    double share = fluid->bundles[activity->bundle].share;
    uint32_t bundle = fluid_bundle_get(fluid, route, share, cap);
    if (bundle == NOWHERE || !fluid_bundle_reserve_member(fluid, bundle)) {
        fluid_out_of_memory(fluid);
        return PW_NO_MEMORY;
    }
    if (bundle == activity->bundle) return PW_OK;
    fluid_bundle_bring_up(fluid, activity->bundle);
    if (activity->bundle == NOWHERE) return PW_OK; /* done in this very instant */
    double left = fluid_bundle_leave(fluid, index);
    fluid_bundle_join(fluid, bundle, index, left);
    return PW_OK;
}

pw_status pw_activity_set_cap(pw_fluid *fluid, pw_activity_id id, double rate_cap) {
    const struct activity *activity = find_activity(fluid, id);
    if (!activity) return PW_STALE_HANDLE;
    if (!(rate_cap >= 0)) return PW_BAD_INPUT;
    if (activity->bundle == NOWHERE) return PW_OK;
    uint32_t route = fluid->bundles[activity->bundle].route;
    if (rate_cap == INFINITY && fluid->routes[route].count == 0) return PW_BAD_INPUT;
    return move(fluid, id.index, route, rate_cap);
}

pw_status pw_activity_set_route(pw_fluid *fluid, pw_activity_id id, pw_route_id route_id) {
    const struct activity *activity = find_activity(fluid, id);
    const struct route *route = find_route(fluid, route_id);
    if (!activity || !route) return PW_STALE_HANDLE;
    if (activity->bundle == NOWHERE) return PW_OK;
    double cap = fluid->bundles[activity->bundle].cap;
    if (cap == INFINITY && route->count == 0) return PW_BAD_INPUT;
    return move(fluid, id.index, route_id.index, cap);
}

bool pw_activity_is_running(const pw_fluid *fluid, pw_activity_id id) {
    return find_activity(fluid, id) != NULL;
}

double pw_activity_rate(pw_fluid *fluid, pw_activity_id id) {
    fluid_settle(fluid);
    const struct activity *activity = find_activity(fluid, id);
    return activity && activity->bundle != NOWHERE ? fluid->bundles[activity->bundle].rate : 0;
}

double pw_activity_work_left(pw_fluid *fluid, pw_activity_id id) {
    const struct activity *activity = find_activity(fluid, id);
    if (!activity || activity->bundle == NOWHERE) return 0;
    struct bundle *bundle = &fluid->bundles[activity->bundle];
    double left = bundle_members(bundle)[activity->position].finish - fluid_bundle_service(fluid, bundle);
    return left > 0 ? left : 0;
}
