/* Saturation levels: the solver of the fluid system.
 *
 * Every full capacity has a level s, the rate per share at which it freezes whoever nothing else limits. Max-min fair
 * rates are exactly the rates of a set of levels in which each level solves its own equation
 *
 *     sum over entries of draw x min(limit, s) = amount        (infinite when the limits keep the sum within amount)
 *
 * with limit = the smallest level elsewhere on the bundle's route, its own cap included: each bundle then has a full
 * capacity (or its cap) on which nobody's level is higher than its own, which is the bottleneck condition of max-min
 * fairness (Bertsekas and Gallager, Data Networks, section 6.5).
 *
 * Relaxation restores that state after a change. Capacities whose equation may be broken are dirty; the one with the
 * lowest level is solved first, its bundles' limits elsewhere follow, and another capacity becomes dirty only if a
 * limit moved across or below its level. Lower levels do not depend on higher ones, so work flows upward and each
 * capacity is solved few times. There is no useful bound for floating point with near ties, so relaxation has a budget
 * of a few full solves; beyond it, and when much has changed at once, water-filling solves everything.
 */
#include "sim/fluid_internal.h"

/* A capacity with no level whose demand is below this part of its amount is not full for sure: far above the error
 * of a demand kept by adding and subtracting. */
#define SURELY_NOT_FULL (1 - 1e-9)
#define DEMAND_UPDATES_MAX (1u << 20)

/* More changed bundles than this, plus a part of all, make a full solve cheaper than relaxation. */
#define FULL_SOLVE_CHANGES 16
#define FULL_SOLVE_PART 8

/* ---- heaps by (key, index) ---- */

static inline bool node_before(const struct node *a, const struct node *b) {
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

static void node_sink(struct node *heap, uint32_t count, uint32_t hole, struct node node) {
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= count) break;
        if (child + 1 < count && node_before(&heap[child + 1], &heap[child])) child++;
        if (!node_before(&heap[child], &node)) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = node;
}

static void node_rise(struct node *heap, uint32_t hole, struct node node) {
    while (hole > 0) {
        uint32_t parent = (hole - 1) / 2;
        if (!node_before(&node, &heap[parent])) break;
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = node;
}

/* ---- dirty capacities, draws and limits ---- */

void fluid_mark_dirty(pw_fluid *fluid, uint32_t index) {
    struct capacity *capacity = &fluid->capacities[index];
    if (capacity->dirty) return;
    capacity->dirty = true;
    node_rise(fluid->dirty, fluid->dirty_count++, (struct node){capacity->level, index});
}

/* Adds to the demand of a capacity that is not full; it becomes dirty when it may be full now. Infinite and NaN
 * demands fail the comparison and make it dirty. */
static inline void add_demand(pw_fluid *fluid, uint32_t index, struct capacity *capacity, double more) {
    capacity->demand += more;
    if (!(capacity->demand <= capacity->amount * SURELY_NOT_FULL) ||
        ++capacity->demand_updates > DEMAND_UPDATES_MAX)
        fluid_mark_dirty(fluid, index);
}

static inline void set_limit(pw_fluid *fluid, const struct link *link, double limit) {
    struct capacity *capacity = &fluid->capacities[link->capacity];
    struct entry *entry = &capacity->entries[link->position];
    double old = entry->limit;
    if (old == limit) return;
    entry->limit = limit;
    if (capacity->dirty) return;
    if (capacity->level == INFINITY) {
        add_demand(fluid, link->capacity, capacity, entry->draw * (limit - old));
    } else {
        double below = capacity->level * (1 - LEVEL_TOLERANCE);
        if ((old < below || limit < below) && !same_level(old, limit)) fluid_mark_dirty(fluid, link->capacity);
    }
}

void fluid_set_draws(pw_fluid *fluid, uint32_t index) {
    const struct bundle *bundle = &fluid->bundles[index];
    const struct bundle_limits *limits = &fluid->limits[index];
    for (uint32_t i = 0; i < limits->link_count; i++) {
        const struct link *link = &limits->links[i];
        struct capacity *capacity = &fluid->capacities[link->capacity];
        struct entry *entry = &capacity->entries[link->position];
        double draw = (double)bundle->count * bundle->share * link->weight, old = entry->draw;
        if (draw == old) continue;
        entry->draw = draw;
        if (capacity->dirty) continue;
        if (capacity->level == INFINITY)
            add_demand(fluid, link->capacity, capacity, (draw - old) * entry->limit);
        else
            fluid_mark_dirty(fluid, link->capacity);
    }
}

void fluid_forget_entry(pw_fluid *fluid, uint32_t index, uint32_t position) {
    struct capacity *capacity = &fluid->capacities[index];
    struct entry gone = capacity->entries[position];
    uint32_t last = --capacity->count;
    if (position != last) {
        struct entry_owner owner = capacity->owners[last];
        capacity->entries[position] = capacity->entries[last];
        capacity->owners[position] = owner;
        fluid->limits[owner.bundle].links[owner.link].position = position;
    }
    if (capacity->dirty || gone.draw == 0) return;
    if (capacity->level == INFINITY)
        add_demand(fluid, index, capacity, -gone.draw * gone.limit);
    else
        fluid_mark_dirty(fluid, index);
}

/* ---- a bundle's two lowest levels ---- */

static inline double level_at(const pw_fluid *fluid, const struct bundle_limits *limits, uint32_t link) {
    return fluid->capacities[limits->links[link].capacity].level;
}

static void find_lowest(const pw_fluid *fluid, const struct bundle_limits *limits, double cap_level, double *lowest,
                        double *second, uint32_t *lowest_at, uint32_t *second_at) {
    uint32_t count = limits->link_count, at1 = count, at2 = count;
    double level1 = cap_level, level2 = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        double level = level_at(fluid, limits, i);
        if (level < level1) {
            level2 = level1, at2 = at1;
            level1 = level, at1 = i;
        } else if (level < level2) {
            level2 = level, at2 = i;
        }
    }
    *lowest = level1, *lowest_at = at1;
    *second = level2, *second_at = at2;
}

void fluid_find_lowest(const pw_fluid *fluid, uint32_t index) {
    struct bundle_limits *limits = &fluid->limits[index];
    find_lowest(fluid, limits, fluid->bundles[index].cap_level, &limits->lowest, &limits->second, &limits->lowest_at,
                &limits->second_at);
}

/* Puts new lowest levels into the bundle and the limits that follow from them into its entries. */
static void publish(pw_fluid *fluid, uint32_t index, double lowest, double second, uint32_t lowest_at,
                    uint32_t second_at) {
    struct bundle_limits *limits = &fluid->limits[index];
    bool lowest_moved = lowest != limits->lowest, second_moved = second != limits->second;
    bool place_moved = lowest_at != limits->lowest_at;
    limits->lowest = lowest;
    limits->second = second;
    limits->lowest_at = lowest_at;
    limits->second_at = second_at;
    if (lowest_moved || place_moved) {
        for (uint32_t i = 0; i < limits->link_count; i++)
            if (i != lowest_at) set_limit(fluid, &limits->links[i], lowest);
        fluid_touch(fluid, index);
    }
    if ((second_moved || place_moved) && lowest_at < limits->link_count)
        set_limit(fluid, &limits->links[lowest_at], second);
}

/* The level of one link of a bundle became `level`. */
static inline void follow_level(pw_fluid *fluid, uint32_t index, uint32_t link, double level) {
    const struct bundle_limits *limits = &fluid->limits[index];
    double lowest = limits->lowest, second = limits->second;
    uint32_t lowest_at = limits->lowest_at, second_at = limits->second_at;
    if (link == lowest_at) {
        if (level <= second)
            lowest = level;
        else
            find_lowest(fluid, limits, fluid->bundles[index].cap_level, &lowest, &second, &lowest_at, &second_at);
    } else if (level < lowest) {
        second = lowest, second_at = lowest_at;
        lowest = level, lowest_at = link;
    } else if (link == second_at) {
        if (level <= second)
            second = level;
        else
            find_lowest(fluid, limits, fluid->bundles[index].cap_level, &lowest, &second, &lowest_at, &second_at);
    } else if (level < second) {
        second = level, second_at = link;
    } else {
        return;
    }
    publish(fluid, index, lowest, second, lowest_at, second_at);
}

/* ---- one capacity's equation ---- */

/* Newton's method on a concave, increasing, piecewise linear function: from any start the next point is at or below
 * the root, from there it rises to it through ever fewer open entries. Starting at the old level, it is usually done
 * after one or two passes. */
static double solve_level(struct capacity *capacity) {
    const struct entry *entries = capacity->entries;
    const double amount = capacity->amount, old = capacity->level;
    const uint32_t count = capacity->count;
    double s = old;
    bool below_root = false;
    for (;;) {
        double held[2] = {0, 0}, open[2] = {0, 0}; /* amount used by those held back below s; draw of the others */
        double highest_held = 0, lowest_open = INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            double draw = entries[i].draw, limit = entries[i].limit;
            if (limit < s) {
                held[i & 1] += draw * limit;
                if (limit > highest_held) highest_held = limit;
            } else {
                open[i & 1] += draw;
                if (limit < lowest_open) lowest_open = limit;
            }
        }
        double all_held = held[0] + held[1], all_open = open[0] + open[1];
        if (all_open == 0) {
            if (all_held <= amount * (1 + LEVEL_TOLERANCE)) {
                /* Just full and just not full give the same rates; stay with what it was. */
                if (old < INFINITY && all_held >= amount * (1 - LEVEL_TOLERANCE) && same_level(highest_held, old))
                    return old;
                capacity->demand = all_held;
                capacity->demand_updates = 0;
                return INFINITY;
            }
            s = highest_held;
            continue;
        }
        double next = (amount - all_held) / all_open;
        if (next < 0) next = 0;
        if (highest_held <= next && next <= lowest_open) return next;
        if (below_root && next <= s) return s;
        below_root = true;
        s = next;
    }
}

/* ---- relaxation ---- */

static bool relax(pw_fluid *fluid) {
    uint64_t budget = fluid->budget_constant + fluid->budget_per_entry * (uint64_t)fluid->entry_total;
    while (fluid->dirty_count > 0) {
        uint32_t index = fluid->dirty[0].index;
        if (--fluid->dirty_count > 0)
            node_sink(fluid->dirty, fluid->dirty_count, 0, fluid->dirty[fluid->dirty_count]);
        struct capacity *capacity = &fluid->capacities[index];
        capacity->dirty = false;
        fluid->stats.levels_recomputed++;
        uint64_t cost = capacity->count + 1u;
        if (cost > budget) {
            fluid_mark_dirty(fluid, index);
            return false;
        }
        budget -= cost;
        double level = solve_level(capacity);
        if (same_level(level, capacity->level)) continue;
        capacity->level = level;
        uint32_t count = capacity->count;
        for (uint32_t i = 0; i < count; i++) {
            struct entry_owner owner = capacity->owners[i];
            follow_level(fluid, owner.bundle, owner.link, level);
        }
    }
    return true;
}

/* ---- water-filling of everything ---- */

/* Entries serve as scratch: the limit of a frozen bundle's entries is its level, that of others is infinite. */
static void freeze(pw_fluid *fluid, uint32_t index, double level) {
    const struct bundle_limits *limits = &fluid->limits[index];
    fluid->fill_levels[index] = level;
    for (uint32_t i = 0; i < limits->link_count; i++) {
        const struct link *link = &limits->links[i];
        struct entry *entry = &fluid->capacities[link->capacity].entries[link->position];
        struct fill *fill = &fluid->fills[link->capacity];
        entry->limit = level;
        fill->left -= entry->draw * level;
        fill->draw -= entry->draw;
        fill->open--;
    }
}

static void sum_fill(const struct capacity *capacity, struct fill *fill) {
    double held[2] = {0, 0}, open[2] = {0, 0}; /* in the order of solve_level, for the same bits */
    for (uint32_t i = 0; i < capacity->count; i++) {
        if (capacity->entries[i].limit < INFINITY)
            held[i & 1] += capacity->entries[i].draw * capacity->entries[i].limit;
        else
            open[i & 1] += capacity->entries[i].draw;
    }
    fill->left = fill->left_at = capacity->amount - (held[0] + held[1]);
    fill->draw = fill->draw_at = open[0] + open[1];
}

static double fill_key(const struct fill *fill) {
    return fill->left > 0 ? fill->left / fill->draw : 0;
}

/* Leaves levels in fills and fill_levels, and entries' limits overwritten. */
static void fill_all(pw_fluid *fluid) {
    struct node *heap = fluid->filling;
    uint32_t count = 0, capacity_count = fluid->capacity_count;
    for (uint32_t c = 0; c < capacity_count; c++) {
        struct capacity *capacity = &fluid->capacities[c];
        struct fill *fill = &fluid->fills[c];
        for (uint32_t i = 0; i < capacity->count; i++) capacity->entries[i].limit = INFINITY;
        fill->level = INFINITY;
        fill->open = capacity->count;
        if (fill->open == 0) continue;
        sum_fill(capacity, fill);
        heap[count++] = (struct node){fill_key(fill), c};
    }
    for (uint32_t b = 0; b < fluid->bundle_count; b++) {
        fluid->fill_levels[b] = -1;
        if (fluid->limits[b].alive && fluid->bundles[b].cap_level < INFINITY)
            heap[count++] = (struct node){fluid->bundles[b].cap_level, capacity_count + b};
    }
    for (uint32_t i = count / 2; i-- > 0;) node_sink(heap, count, i, heap[i]);
    while (count > 0) {
        struct node top = heap[0];
        bool gone = true; /* the top leaves the heap; else it is back with a higher key */
        if (top.index >= capacity_count) {
            uint32_t b = top.index - capacity_count;
            if (fluid->fill_levels[b] < 0) freeze(fluid, b, top.key);
        } else if (fluid->fills[top.index].open > 0) {
            struct capacity *capacity = &fluid->capacities[top.index];
            struct fill *fill = &fluid->fills[top.index];
            /* Estimates lose digits as they shrink; sum anew once they have shrunk much, and before freezing. */
            bool good = fill->left > 1e-3 * fill->left_at && fill->draw > 1e-3 * fill->draw_at;
            double key = good ? fill_key(fill) : -1;
            if (!(key > top.key * (1 + 1e-9))) {
                sum_fill(capacity, fill);
                key = fill_key(fill);
            }
            if (key > top.key * (1 + 1e-12)) {
                gone = false;
                node_sink(heap, count, 0, (struct node){key, top.index});
            } else {
                fill->level = key;
                for (uint32_t i = 0; i < capacity->count; i++) {
                    uint32_t b = capacity->owners[i].bundle;
                    if (fluid->fill_levels[b] < 0) freeze(fluid, b, key);
                }
            }
        }
        if (gone && --count > 0) node_sink(heap, count, 0, heap[count]);
    }
}

static void solve_full(pw_fluid *fluid) {
    fluid->stats.full_fallbacks++;
    while (fluid->dirty_count > 0) fluid->capacities[fluid->dirty[--fluid->dirty_count].index].dirty = false;
    fill_all(fluid);
    for (uint32_t c = 0; c < fluid->capacity_count; c++) {
        struct capacity *capacity = &fluid->capacities[c];
        if (!same_level(capacity->level, fluid->fills[c].level)) capacity->level = fluid->fills[c].level;
        capacity->demand = 0;
        capacity->demand_updates = 0;
    }
    for (uint32_t b = 0; b < fluid->bundle_count; b++) {
        struct bundle_limits *limits = &fluid->limits[b];
        if (!limits->alive) continue;
        double lowest = limits->lowest;
        uint32_t lowest_at = limits->lowest_at;
        fluid_find_lowest(fluid, b);
        if (limits->lowest != lowest || limits->lowest_at != lowest_at) fluid_touch(fluid, b);
        for (uint32_t i = 0; i < limits->link_count; i++) {
            const struct link *link = &limits->links[i];
            struct capacity *capacity = &fluid->capacities[link->capacity];
            struct entry *entry = &capacity->entries[link->position];
            entry->limit = i == limits->lowest_at ? limits->second : limits->lowest;
            capacity->demand += entry->draw * entry->limit;
        }
    }
}

/* The law behind check_full: rates of the relaxed state are those of a full solve, and no capacity is overdrawn. */
static void check_against_full(pw_fluid *fluid) {
    fill_all(fluid);
    for (uint32_t b = 0; b < fluid->bundle_count; b++) {
        const struct bundle_limits *limits = &fluid->limits[b];
        if (!limits->alive) continue;
        PW_LAW(fluid->sim, fabs(limits->lowest - fluid->fill_levels[b]) <= 1e-9 * fluid->fill_levels[b],
               "incremental rates equal those of a full solve", "bundle %u has level %.17g, the full solve gives %.17g",
               b, limits->lowest, fluid->fill_levels[b]);
        for (uint32_t i = 0; i < limits->link_count; i++) {
            const struct link *link = &limits->links[i];
            fluid->capacities[link->capacity].entries[link->position].limit =
                i == limits->lowest_at ? limits->second : limits->lowest;
        }
    }
    for (uint32_t c = 0; c < fluid->capacity_count; c++) {
        const struct capacity *capacity = &fluid->capacities[c];
        double load = 0;
        for (uint32_t i = 0; i < capacity->count; i++)
            load += capacity->entries[i].draw * fluid->limits[capacity->owners[i].bundle].lowest;
        PW_LAW(fluid->sim, load <= capacity->amount * (1 + 1e-9), "no capacity gives more than it has",
               "capacity %u gives %.17g of %.17g per second", c, load, capacity->amount);
    }
}

/* ---- one solve ---- */

static void apply_rate(pw_fluid *fluid, uint32_t index) {
    struct bundle *bundle = &fluid->bundles[index];
    const struct bundle_limits *limits = &fluid->limits[index];
    double rate = limits->lowest_at == limits->link_count ? bundle->cap : bundle->share * limits->lowest;
    if (!same_level(rate, bundle->rate)) {
        fluid_bundle_bring_up(fluid, index);
        bundle->rate = rate;
    }
    fluid_bundle_reschedule(fluid, index);
}

static void solve(pw_fluid *fluid) {
    fluid->stats.solves++;
    uint32_t changed = fluid->changed_count;
    /* Bundles that lost their last member go now, so that one restarted within the instant is not rebuilt. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fluid->touched_count; i++) {
        uint32_t index = fluid->touched[i];
        struct bundle_limits *limits = &fluid->limits[index];
        if (limits->changed && fluid->bundles[index].count == 0) {
            limits->touched = limits->changed = false;
            fluid_bundle_remove(fluid, index);
            continue;
        }
        if (limits->changed) fluid_set_draws(fluid, index);
        limits->changed = false;
        fluid->touched[kept++] = index;
    }
    fluid->touched_count = kept;
    fluid->changed_count = 0;

    if (fluid->dirty_count > 0) {
        bool relaxed = changed <= FULL_SOLVE_CHANGES + fluid->bundle_live / FULL_SOLVE_PART && relax(fluid);
        if (!relaxed)
            solve_full(fluid);
        else if (fluid->check_full)
            check_against_full(fluid);
    }
    fluid->pending = false;
    uint32_t touched = fluid->touched_count;
    for (uint32_t i = 0; i < touched; i++) fluid->limits[fluid->touched[i]].touched = false;
    fluid->touched_count = 0;
    /* A bundle brought up to now may finish members and touch itself: that lands at or before the place just read. */
    for (uint32_t i = 0; i < touched; i++) apply_rate(fluid, fluid->touched[i]);
    fluid_schedule(fluid);
}

void fluid_settle(pw_fluid *fluid) {
    while (fluid->pending) solve(fluid);
}
