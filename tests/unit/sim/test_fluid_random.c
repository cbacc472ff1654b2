/* Fluid sharing against the textbook solver, on random systems with everything that can change. */
#include <stdlib.h>

#include "sim/fluid.h"
#include "sim/fluid_internal.h" /* only for the budget of relaxation */
#include "tests/harness/check.h"
#include "tests/harness/textbook_fluid.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
#define SANITIZED
#endif
#ifdef SANITIZED
#define SYSTEMS 20000
#else
#define SYSTEMS 100000
#endif

#define GOLDEN_HASH 0xf49b20faccb524cfu

/* Each finish is rounded up to a tick, and those before it too. */
#define TICKS 4e-12

enum { CAPACITIES = 24, ROUTES = 24, USES = 5, ACTIVITIES = 160 };

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static int below(uint64_t *state, int count) {
    return (int)(random_bits(state) % (uint64_t)count);
}
static double between(uint64_t *state, double low, double high) {
    return low + (high - low) * ((double)(random_bits(state) >> 11) * 0x1p-53);
}

struct system;
struct item {
    struct system *system;
    pw_activity_id id;
    int book;      /* its number in the textbook's list; -1: not started there */
    int child;     /* starts when this one is done; -1: none */
    int route;
    double share, cap, work;
    pw_time finish;
    double rate_before, book_before;
};

struct system {
    uint64_t seed, state;
    bool ties; /* small whole numbers, so that levels and finishes coincide */
    int capacity_count, route_count, use_count[ROUTES], item_count;
    double amounts[CAPACITIES];
    int use_capacity[ROUTES][USES];
    double use_weight[ROUTES][USES];
    pw_sim *sim;
    pw_fluid *fluid;
    pw_capacity_id capacities[CAPACITIES];
    pw_route_id routes[ROUTES];
    struct item items[ACTIVITIES];
    textbook book;
    int next_finished; /* finishes seen, for the order of handlers */
    double worst_rate, worst_finish;
};

static double draw_amount(struct system *system) {
    return system->ties ? 1 + below(&system->state, 3) : between(&system->state, 0.5, 10);
}

static double draw_cap(struct system *system, int route) {
    if (system->use_count[route] > 0 && below(&system->state, 2)) return INFINITY;
    return system->ties ? 0.5 * (1 + below(&system->state, 3)) : between(&system->state, 0.05, 3);
}

static void done(pw_sim *sim, void *object, uint64_t argument);

static void start_in_engine(struct system *system, struct item *item) {
    item->id = pw_activity_start(system->fluid, system->routes[item->route],
                                 &(pw_activity_config){.work = item->work, .rate_cap = item->cap, .share = item->share,
                                                       .done = done, .object = item});
}

static void start_in_book(struct system *system, struct item *item) {
    item->book = textbook_start(&system->book, system->use_capacity[item->route], system->use_weight[item->route],
                                system->use_count[item->route], item->work, item->share, item->cap);
}

static void done(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    struct item *item = object;
    item->finish = pw_sim_now(sim);
    if (item->child >= 0) start_in_engine(item->system, &item->system->items[item->child]);
}

static int new_item(struct system *system) {
    struct item *item = &system->items[system->item_count];
    int route = below(&system->state, system->route_count);
    *item = (struct item){.system = system, .book = -1, .child = -1, .route = route, .finish = -1};
    item->share = below(&system->state, 3) ? 1 : system->ties ? 2 : between(&system->state, 0.2, 4);
    item->cap = draw_cap(system, route);
    item->work = system->ties ? 0.5 * (1 + below(&system->state, 4)) : between(&system->state, 0.01, 2);
    return system->item_count++;
}

static void start_one(struct system *system) {
    int first = new_item(system);
    if (below(&system->state, 4) == 0 && system->item_count < ACTIVITIES) {
        int child = new_item(system);
        system->items[first].child = child;
        if (below(&system->state, 2)) { /* the same again: its bundle lives on */
            system->items[child].route = system->items[first].route;
            system->items[child].cap = system->items[first].cap;
            system->items[child].share = system->items[first].share;
        }
    }
    start_in_book(system, &system->items[first]);
    start_in_engine(system, &system->items[first]);
}

static void build(struct system *system, uint64_t seed, bool check_full) {
    memset(system, 0, sizeof *system);
    system->seed = system->state = seed;
    int size = seed % 16 == 0 ? 3 : 1; /* some larger systems */
    system->ties = seed % 4 == 1;
    system->capacity_count = 1 + below(&system->state, 8 * size);
    system->route_count = 1 + below(&system->state, 8 * size);
    pw_error error;
    PW_EXPECT(pw_sim_create(&(pw_sim_config){.expected_events = 16, .seed = seed}, &system->sim, &error) == PW_OK);
    PW_EXPECT(pw_fluid_create(system->sim, check_full, &system->fluid, &error) == PW_OK);
    if (seed % 8 == 3) system->fluid->budget_constant = system->fluid->budget_per_entry = 1; /* soon in a full solve */
    textbook_init(&system->book, system->capacity_count, ACTIVITIES);
    for (int c = 0; c < system->capacity_count; c++) {
        system->book.amounts[c] = draw_amount(system);
        system->capacities[c] = pw_capacity_add(system->fluid, system->book.amounts[c]);
    }
    for (int r = 0; r < system->route_count; r++) {
        system->use_count[r] = below(&system->state, 12) ? 1 + below(&system->state, USES) : 0;
        pw_use uses[USES];
        for (int k = 0; k < system->use_count[r]; k++) {
            int c = below(&system->state, system->capacity_count);
            double weight = below(&system->state, 2) ? 1 : system->ties ? 0.5 : between(&system->state, 0.05, 3);
            system->use_capacity[r][k] = c;
            system->use_weight[r][k] = weight;
            uses[k] = (pw_use){system->capacities[c], weight};
        }
        system->routes[r] = pw_fluid_route(system->fluid, uses, (uint32_t)system->use_count[r]);
    }
}

static void tear_down(struct system *system) {
    pw_fluid_destroy(system->fluid);
    pw_sim_destroy(system->sim);
    textbook_free(&system->book);
}

/* The textbook's run, with children started when their parent is done. */
static void run_book(struct system *system, double time) {
    textbook *book = &system->book;
    for (;;) {
        textbook_solve(book);
        double next = textbook_next_finish(book);
        if (next == INFINITY || next > time) break;
        textbook_advance(book, next);
        for (int i = 0; i < system->item_count; i++) {
            struct item *item = &system->items[i];
            if (item->book >= 0 && item->child >= 0 && book->activities[item->book].finish >= 0 &&
                system->items[item->child].book < 0)
                start_in_book(system, &system->items[item->child]);
        }
    }
    if (time < INFINITY) textbook_advance(book, time);
}

static bool runs(const struct system *system, const struct item *item) {
    return item->book >= 0 && system->book.activities[item->book].running;
}

static double level_of(struct system *system, const struct item *item) {
    return pw_activity_rate(system->fluid, item->id) / item->share;
}

/* Nobody can rise without lowering somebody who is no faster: at its cap, or on a full capacity where it is on top. */
static void expect_max_min(struct system *system) {
    double load[CAPACITIES] = {0}, top[CAPACITIES] = {0};
    for (int i = 0; i < system->item_count; i++) {
        const struct item *item = &system->items[i];
        if (!runs(system, item)) continue;
        double level = level_of(system, item);
        for (int k = 0; k < system->use_count[item->route]; k++) {
            int c = system->use_capacity[item->route][k];
            load[c] += system->use_weight[item->route][k] * level * item->share;
            if (level > top[c]) top[c] = level;
        }
    }
    for (int c = 0; c < system->capacity_count; c++) {
        if (load[c] > system->book.amounts[c] * (1 + 1e-9))
            PW_FAILED("seed %" PRIu64 ": capacity %d gives %.17g of %.17g", system->seed, c, load[c],
                      system->book.amounts[c]);
        double own = pw_capacity_load(system->fluid, system->capacities[c]);
        if (fabs(own - load[c]) > 1e-9 * load[c]) PW_FAILED("seed %" PRIu64 ": load of capacity %d", system->seed, c);
    }
    for (int i = 0; i < system->item_count; i++) {
        const struct item *item = &system->items[i];
        if (!runs(system, item)) continue;
        double level = level_of(system, item);
        bool held = level * item->share >= system->book.activities[item->book].cap * (1 - 1e-9);
        for (int k = 0; k < system->use_count[item->route]; k++) {
            int c = system->use_capacity[item->route][k];
            held = held || (load[c] >= system->book.amounts[c] * (1 - 1e-9) && level >= top[c] * (1 - 1e-9));
        }
        if (!held) PW_FAILED("seed %" PRIu64 ": activity %d could rise", system->seed, i);
    }
}

static void expect_equal_rates(struct system *system, bool untouched_too) {
    for (int i = 0; i < system->item_count; i++) {
        struct item *item = &system->items[i];
        bool running = runs(system, item);
        double rate = pw_activity_rate(system->fluid, item->id);
        double expected = running ? system->book.activities[item->book].rate : 0;
        if (running != pw_activity_is_running(system->fluid, item->id))
            PW_FAILED("seed %" PRIu64 ": activity %d runs in one solver only, at %.12f", system->seed, i,
                      pw_sim_seconds(system->sim));
        double off = expected > 0 ? fabs(rate / expected - 1) : rate;
        if (off > system->worst_rate) system->worst_rate = off;
        if (off > 1e-9)
            PW_FAILED("seed %" PRIu64 ": activity %d at %.12f has rate %.17g, not %.17g", system->seed, i,
                      pw_sim_seconds(system->sim), rate, expected);
        if (untouched_too && running && item->book_before > 0 && fabs(expected / item->book_before - 1) <= 1e-15 &&
            rate != item->rate_before)
            PW_FAILED("seed %" PRIu64 ": activity %d is untouched but %.17g became %.17g", system->seed, i,
                      item->rate_before, rate);
    }
}

static void remember_rates(struct system *system) {
    for (int i = 0; i < system->item_count; i++) {
        struct item *item = &system->items[i];
        item->rate_before = pw_activity_rate(system->fluid, item->id);
        item->book_before = runs(system, item) ? system->book.activities[item->book].rate : 0;
    }
}

static struct item *some_running(struct system *system) {
    int number = 0;
    for (int i = 0; i < system->item_count; i++) number += runs(system, &system->items[i]);
    if (number == 0) return NULL;
    number = below(&system->state, number);
    for (int i = 0;; i++)
        if (runs(system, &system->items[i]) && number-- == 0) return &system->items[i];
}

static void set_capacity(struct system *system, int c, double amount) {
    system->book.amounts[c] = amount;
    PW_EXPECT(pw_capacity_set(system->fluid, system->capacities[c], amount) == PW_OK);
}

static void set_cap(struct system *system, struct item *item, double cap) {
    system->book.activities[item->book].cap = cap;
    item->book_before = 0; /* touched, whatever its rate */
    PW_EXPECT(pw_activity_set_cap(system->fluid, item->id, cap) == PW_OK);
}

static void act(struct system *system) {
    int kind = below(&system->state, 10);
    struct item *item = some_running(system);
    if (kind < 5 || !item) {
        int number = below(&system->state, 6) ? 1 : 1 + below(&system->state, 20);
        while (number-- > 0 && system->item_count < ACTIVITIES) start_one(system);
    } else if (kind == 5) {
        double left, expected = system->book.activities[item->book].left;
        PW_EXPECT(pw_activity_stop(system->fluid, item->id, &left) == PW_OK);
        if (fabs(left - expected) > 1e-9 * item->work)
            PW_FAILED("seed %" PRIu64 ": stopped with %.17g left, not %.17g", system->seed, left, expected);
        PW_EXPECT(pw_activity_stop(system->fluid, item->id, &left) == PW_STALE_HANDLE);
        textbook_remove(&system->book, item->book);
    } else if (kind == 6) {
        set_cap(system, item, below(&system->state, 3) ? draw_cap(system, item->route) : 0);
    } else if (kind == 7) {
        int route = below(&system->state, system->route_count);
        textbook_activity *a = &system->book.activities[item->book];
        if (system->use_count[route] == 0 && a->cap == INFINITY) {
            PW_EXPECT(pw_activity_set_route(system->fluid, item->id, system->routes[route]) == PW_BAD_INPUT);
            return;
        }
        item->route = route;
        item->book_before = 0;
        a->capacities = system->use_capacity[route];
        a->weights = system->use_weight[route];
        a->count = system->use_count[route];
        PW_EXPECT(pw_activity_set_route(system->fluid, item->id, system->routes[route]) == PW_OK);
    } else {
        int c = below(&system->state, system->capacity_count);
        set_capacity(system, c, below(&system->state, 8) ? draw_amount(system) : 0);
    }
}

/* Lets everything that is paused or starved go on, so that all can finish. */
static void wake_all(struct system *system) {
    for (int c = 0; c < system->capacity_count; c++)
        if (system->book.amounts[c] == 0) set_capacity(system, c, 1);
    for (int i = 0; i < system->item_count; i++)
        if (runs(system, &system->items[i]) && system->book.activities[system->items[i].book].cap == 0)
            set_cap(system, &system->items[i], 0.5);
}

struct summary {
    double worst_rate, worst_finish;
    uint64_t solves, full_fallbacks, levels_recomputed;
};

static uint64_t one_system(uint64_t seed, struct summary *summary) {
    static struct system system;
    build(&system, seed, seed % 8 == 0);
    int steps = 2 + below(&system.state, 10);
    pw_time now = 0;
    for (int step = 0; step <= steps; step++) {
        if (step > 0) now += 1 + (pw_time)between(&system.state, 0, 4e11);
        PW_EXPECT(pw_sim_run(system.sim, now) == PW_OK);
        run_book(&system, pw_time_to_seconds(now, 1e12));
        textbook_solve(&system.book);
        expect_equal_rates(&system, false);
        remember_rates(&system);
        int actions = below(&system.state, 4) ? 1 : 1 + below(&system.state, 4);
        while (actions-- > 0) act(&system);
        if (step == steps) wake_all(&system);
        textbook_solve(&system.book);
        PW_EXPECT(pw_sim_run(system.sim, now) == PW_OK);
        expect_equal_rates(&system, true);
        expect_max_min(&system);
    }
    if (pw_sim_run(system.sim, PW_TIME_MAX) != PW_OK)
        PW_FAILED("seed %" PRIu64 ": %s", seed, pw_sim_error(system.sim)->what);
    run_book(&system, INFINITY);
    uint64_t hash = seed;
    for (int i = 0; i < system.item_count; i++) {
        const struct item *item = &system.items[i];
        double expected = item->book >= 0 ? system.book.activities[item->book].finish : -1;
        double finish = item->finish < 0 ? -1 : pw_time_to_seconds(item->finish, 1e12);
        double off = fmax(fabs(finish - expected) - TICKS, 0) / (expected > 0 ? expected : 1);
        if (off > system.worst_finish) system.worst_finish = off;
        if (off > 1e-9)
            PW_FAILED("seed %" PRIu64 ": activity %d ends at %.15f, not %.15f", seed, i, finish, expected);
        hash = (hash ^ (uint64_t)item->finish) * 0x100000001B3u;
    }
    for (int c = 0; c < system.capacity_count; c++) {
        double served = pw_capacity_served(system.fluid, system.capacities[c]), expected = system.book.served[c];
        if (fabs(served - expected) > 1e-9 * (expected + 1))
            PW_FAILED("seed %" PRIu64 ": capacity %d served %.17g, not %.17g", seed, c, served, expected);
    }
    PW_EXPECT(pw_sim_error(system.sim)->status == PW_OK);
    pw_fluid_stats stats = pw_fluid_get_stats(system.fluid);
    summary->worst_rate = fmax(summary->worst_rate, system.worst_rate);
    summary->worst_finish = fmax(summary->worst_finish, system.worst_finish);
    summary->solves += stats.solves;
    summary->full_fallbacks += stats.full_fallbacks;
    summary->levels_recomputed += stats.levels_recomputed;
    tear_down(&system);
    return hash;
}

/* Also the golden hash: finish ticks of the first systems are the same bits with every compiler and level. */
PW_TEST(rates_and_finishes_equal_the_textbook_solver) {
    struct summary summary = {0};
    uint64_t hash = 0;
    for (uint64_t seed = 1; seed <= SYSTEMS && pw_test_failures < 20; seed++) {
        uint64_t own = one_system(seed, &summary);
        if (seed <= 2000) hash = (hash ^ own) * 0x100000001B3u;
    }
    printf("# %d systems, %" PRIu64 " solves, %" PRIu64 " of them full, %" PRIu64 " levels; worst relative difference: "
           "rate %.1e, finish %.1e; hash %016" PRIx64 "\n", SYSTEMS, summary.solves, summary.full_fallbacks,
           summary.levels_recomputed, summary.worst_rate, summary.worst_finish, hash);
    PW_EXPECT(hash == GOLDEN_HASH);
    PW_EXPECT(summary.full_fallbacks > SYSTEMS / 100); /* both ways of solving were tried */
    PW_EXPECT(summary.full_fallbacks < summary.solves / 2);
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
