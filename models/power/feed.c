#include "models/power/feed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

const char *const pw_box_mode_names[] = {"free", "braked", "capped", "off", NULL};

typedef struct box {
    pw_feed_box now;
    double draw_W, braked_W;         /* free; with the brake on */
    uint8_t feed_events[PW_SUPPLY_FEEDS], unit_events[PW_SUPPLY_UNITS]; /* that take it away now */
    pw_supply_flow flow;
    pw_event_id brake, gone, overload, settle, release;
} box;

struct pw_feeds {
    pw_feed_config config;
    pw_allocator allocator;
    box *boxes;
    uint32_t racks;
    pw_breaker *breakers;            /* [racks x feeds] */
    pw_event_id *trips;              /* [racks x feeds] */
    pw_battery batteries[PW_SUPPLY_FEEDS];
    pw_event_id empty[PW_SUPPLY_FEEDS], generators[PW_SUPPLY_FEEDS];
    uint8_t mains_events[PW_SUPPLY_FEEDS];
    bool dead[PW_SUPPLY_FEEDS];      /* neither mains nor battery nor generators */
    pw_feed_event *events;
    uint32_t event_count;
    pw_feed_entry *log;
    size_t log_count, log_capacity;
    double since_s, feeds_J, boxes_J, loss_J;
};

/* ---- what can fail ---- */

pw_status pw_feed_event_part(const char *what, int feeds, int units, pw_feed_part *part, int *index, pw_error *error) {
    static const struct { const char *word; pw_feed_part part; } words[] = {
        {"feed ", PW_PART_FEED}, {"breaker ", PW_PART_BREAKER}, {"mains ", PW_PART_MAINS}, {"supply ", PW_PART_SUPPLY}};
    char hint[200];
    const char *end;
    int64_t number;
    if (!strcmp(what, "mains")) {
        *part = PW_PART_MAINS;
        *index = -1;
        return PW_OK;
    }
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t length = strlen(words[w].word);
        if (strncmp(what, words[w].word, length) != 0) continue;
        *part = words[w].part;
        if (*part == PW_PART_SUPPLY) {
            if (!pw_text_integer(what + length, &end, &number) || *end || number < 0 || number >= units) continue;
            *index = (int)number;
            return PW_OK;
        }
        *index = what[length] - 'a';
        if (*index >= 0 && *index < feeds && !what[length + 1]) return PW_OK;
    }
    char last = (char)('a' + feeds - 1);
    snprintf(hint, sizeof hint, "\"feed a\" to \"feed %c\", \"breaker a\" to \"breaker %c\", \"supply 0\" to \"supply %d\", \"mains\", \"mains a\"", last, last,
             units - 1);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "nothing here is called '%.60s'", what);
}

/* ---- log ---- */

static void enter(pw_feeds *p, uint32_t number, bool is_mode, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void enter(pw_feeds *p, uint32_t number, bool is_mode, const char *format, ...) {
    pw_feed_entry entry = {.at_s = pw_sim_seconds(p->config.sim), .first_box = number, .boxes = 1, .is_mode = is_mode,
                           .mode = p->boxes[number].now.mode, .capacity_W = p->boxes[number].now.capacity_W};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry.what, sizeof entry.what, format, arguments);
    va_end(arguments);
    for (size_t i = p->log_count; i-- > 0 && p->log[i].at_s == entry.at_s;)
        if (!strcmp(p->log[i].what, entry.what) && p->log[i].mode == entry.mode && p->log[i].capacity_W == entry.capacity_W && number >= p->log[i].first_box &&
            number - p->log[i].first_box <= p->log[i].boxes) { /* of it already, or next to it */
            p->log[i].boxes += number - p->log[i].first_box == p->log[i].boxes;
            return;
        }
    if (pw_grow(&p->allocator, (void **)&p->log, &p->log_capacity, p->log_count + 1, sizeof *p->log) != 0) {
        pw_sim_fail(p->config.sim, PW_NO_MEMORY, NULL, "no memory for the log of power events");
        return;
    }
    p->log[p->log_count++] = entry;
}

/* About all boxes. */
static void enter_for_all(pw_feeds *p, int feed, const char *what) {
    enter(p, 0, false, "feed %c: %s", 'a' + feed, what);
    if (p->log_count) p->log[p->log_count - 1].boxes = p->config.boxes;
}

/* ---- watts ---- */

static uint32_t rack_of(const pw_feeds *p, uint32_t number) { return p->config.boxes_per_rack ? number / p->config.boxes_per_rack : 0; }
static pw_breaker *breaker_of(const pw_feeds *p, uint32_t rack, int feed) {
    return p->breakers ? &p->breakers[rack * (uint32_t)p->config.group.feeds + (uint32_t)feed] : NULL;
}

static double actual_W(const box *b) {
    switch (b->now.mode) {
    case PW_BOX_BRAKED: return b->braked_W;
    case PW_BOX_CAPPED: return fmin(b->draw_W, b->now.cap_W);
    case PW_BOX_OFF: return 0;
    default: return b->draw_W;
    }
}

double pw_feeds_feed_W(const pw_feeds *p, int feed) {
    double sum = 0;
    for (uint32_t i = 0; i < p->config.boxes; i++) sum += p->boxes[i].flow.feed_W[feed];
    return sum;
}

/* Adds up what flowed since the last change. Box by box input = output + loss, so the sums must agree too. */
static void account(pw_feeds *p) {
    double now_s = pw_sim_seconds(p->config.sim), length_s = now_s - p->since_s;
    p->since_s = now_s;
    if (length_s <= 0) return;
    for (int f = 0; f < p->config.group.feeds; f++) p->feeds_J += pw_feeds_feed_W(p, f) * length_s;
    for (uint32_t i = 0; i < p->config.boxes; i++) {
        p->boxes_J += p->boxes[i].flow.output_W * length_s;
        p->loss_J += p->boxes[i].flow.loss_W * length_s;
    }
    PW_LAW(p->config.sim, fabs(p->feeds_J - p->boxes_J - p->loss_J) <= 1e-9 * p->feeds_J, "feeds give what boxes draw and supplies lose",
           "%.17g J from feeds, %.17g J to boxes, %.17g J lost", p->feeds_J, p->boxes_J, p->loss_J);
}

static void cancel(pw_feeds *p, pw_event_id *id) {
    if (id->generation && pw_event_is_pending(p->config.sim, *id)) pw_event_cancel(p->config.sim, *id);
    *id = (pw_event_id){0};
}

static void plan(pw_feeds *p, pw_event_id *id, double delay_s, pw_event_handler *handler, uint64_t argument) {
    cancel(p, id);
    if (isinf(delay_s)) return;
    *id = pw_event_after(p->config.sim, pw_sim_ticks(p->config.sim, delay_s), handler, p, argument);
}

static void on_trip(pw_sim *sim, void *object, uint64_t which);
static void on_empty(pw_sim *sim, void *object, uint64_t feed);

/* New loads of the breakers of a rack, and when they trip now. */
static void load_rack(pw_feeds *p, uint32_t rack) {
    double now_s = pw_sim_seconds(p->config.sim);
    uint32_t first = rack * p->config.boxes_per_rack, end = first + p->config.boxes_per_rack;
    for (int f = 0; p->breakers && f < p->config.group.feeds; f++) {
        uint32_t which = rack * (uint32_t)p->config.group.feeds + (uint32_t)f;
        double load = 0;
        for (uint32_t i = first; i < end && i < p->config.boxes; i++) load += p->boxes[i].flow.feed_W[f];
        plan(p, &p->trips[which], pw_breaker_load(&p->breakers[which], now_s, load) - now_s, on_trip, which);
    }
}

static void load_batteries(pw_feeds *p) {
    double now_s = pw_sim_seconds(p->config.sim);
    for (int f = 0; p->config.battery && f < p->config.group.feeds; f++)
        plan(p, &p->empty[f], pw_battery_set(&p->batteries[f], now_s, p->batteries[f].input, pw_feeds_feed_W(p, f)) - now_s, on_empty, (uint64_t)f);
}

/* ---- what a box does ---- */

static void set_mode(pw_feeds *p, uint32_t number, pw_box_mode mode, double cap_W) {
    box *b = &p->boxes[number];
    bool new = mode != b->now.mode || (mode == PW_BOX_CAPPED && cap_W != b->now.cap_W);
    account(p);
    b->now.mode = mode;
    b->now.cap_W = mode == PW_BOX_CAPPED ? cap_W : INFINITY;
    b->now.draw_W = actual_W(b);
    b->flow = pw_supply_flow_at(&p->config.group, b->now.state, b->now.draw_W);
    load_rack(p, rack_of(p, number));
    load_batteries(p);
    if (!new) return;
    switch (mode) {
    case PW_BOX_BRAKED: enter(p, number, true, "power brake"); break;
    case PW_BOX_CAPPED: enter(p, number, true, "capped at %.0f W", cap_W); break;
    case PW_BOX_OFF: enter(p, number, true, "falls"); break;
    default: enter(p, number, true, "free"); break;
    }
    p->config.changed(p->config.object, number, &b->now);
}

static void fall(pw_feeds *p, uint32_t number) {
    box *b = &p->boxes[number];
    cancel(p, &b->brake);
    cancel(p, &b->gone);
    cancel(p, &b->overload);
    cancel(p, &b->settle);
    cancel(p, &b->release);
    set_mode(p, number, PW_BOX_OFF, 0);
}

static void on_overload(pw_sim *sim, void *object, uint64_t number) {
    pw_feeds *p = object;
    box *b = &p->boxes[number];
    (void)sim;
    b->overload = (pw_event_id){0};
    if (b->now.draw_W > b->now.capacity_W) fall(p, (uint32_t)number);
}

/* Units without input have stopped, or a draw has changed: the rest carries it, for a while, or not. */
static void check_rest(pw_feeds *p, uint32_t number) {
    box *b = &p->boxes[number];
    if (b->now.draw_W <= b->now.capacity_W) cancel(p, &b->overload);
    else if (b->now.draw_W > p->config.group.overload * b->now.capacity_W) fall(p, number);
    else if (!pw_event_is_pending(p->config.sim, b->overload)) plan(p, &b->overload, p->config.group.overload_s, on_overload, number);
}

static void on_gone(pw_sim *sim, void *object, uint64_t number) {
    pw_feeds *p = object;
    (void)sim;
    p->boxes[number].gone = (pw_event_id){0};
    check_rest(p, (uint32_t)number);
}

static void on_settle(pw_sim *sim, void *object, uint64_t number) {
    pw_feeds *p = object;
    box *b = &p->boxes[number];
    (void)sim;
    b->settle = (pw_event_id){0};
    if (b->now.mode == PW_BOX_BRAKED && b->now.capacity_W > 0) set_mode(p, (uint32_t)number, PW_BOX_CAPPED, b->now.capacity_W);
}

static void on_brake(pw_sim *sim, void *object, uint64_t number) {
    pw_feeds *p = object;
    box *b = &p->boxes[number];
    (void)sim;
    b->brake = (pw_event_id){0};
    if (b->now.capacity_W >= p->config.guard_W) return; /* it was a dip */
    set_mode(p, (uint32_t)number, PW_BOX_BRAKED, 0);
    if (!p->config.only_brakes) plan(p, &b->settle, p->config.settle_s, on_settle, number);
    if (!pw_event_is_pending(p->config.sim, b->gone)) check_rest(p, (uint32_t)number);
}

static void on_release(pw_sim *sim, void *object, uint64_t number) {
    pw_feeds *p = object;
    box *b = &p->boxes[number];
    (void)sim;
    b->release = (pw_event_id){0};
    if (b->now.capacity_W < p->config.guard_W || b->now.mode == PW_BOX_OFF) return;
    cancel(p, &b->settle);
    set_mode(p, (uint32_t)number, PW_BOX_FREE, 0);
}

static pw_supply_state state_of(const pw_feeds *p, uint32_t number) {
    const box *b = &p->boxes[number];
    pw_supply_state state = {0};
    for (int f = 0; f < p->config.group.feeds; f++) {
        const pw_breaker *breaker = breaker_of(p, rack_of(p, number), f);
        if (b->feed_events[f] || p->dead[f] || (breaker && breaker->open)) state.feeds_lost |= 1u << f;
    }
    for (int u = 0; u < p->config.group.units; u++)
        if (b->unit_events[u]) state.units_failed |= UINT64_C(1) << u;
    return state;
}

/* Something was taken away or came back. */
static void update(pw_feeds *p, uint32_t number) {
    box *b = &p->boxes[number];
    pw_supply_state state = state_of(p, number);
    if (state.feeds_lost == b->now.state.feeds_lost && state.units_failed == b->now.state.units_failed) return;
    double before_W = b->now.capacity_W, hold_up_s = pw_supply_hold_up_s(&p->config.group, b->flow.active ? b->now.draw_W / b->flow.active : 0);
    account(p);
    b->now.state = state;
    b->now.capacity_W = pw_supply_flow_at(&p->config.group, state, 0).capacity_W;
    b->flow = pw_supply_flow_at(&p->config.group, state, b->now.draw_W);
    if (b->now.mode == PW_BOX_OFF) return; /* a box that fell needs somebody to start it */
    if (b->now.capacity_W < before_W) {
        cancel(p, &b->release);
        if (!pw_event_is_pending(p->config.sim, b->gone)) plan(p, &b->gone, hold_up_s, on_gone, number);
        bool too_little = b->now.mode == PW_BOX_FREE ? b->now.capacity_W < p->config.guard_W : b->now.mode == PW_BOX_CAPPED && b->now.capacity_W < b->now.cap_W;
        if (too_little && !pw_event_is_pending(p->config.sim, b->brake)) plan(p, &b->brake, p->config.group.brake_s, on_brake, number);
    } else if (b->now.mode != PW_BOX_FREE && b->now.capacity_W >= p->config.guard_W) {
        plan(p, &b->release, p->config.restore_s, on_release, number);
    } else if (b->now.mode == PW_BOX_CAPPED) { /* a part came back */
        set_mode(p, number, PW_BOX_CAPPED, b->now.capacity_W);
    }
}

static void update_range(pw_feeds *p, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count && i < p->config.boxes; i++) update(p, i);
    for (uint32_t r = rack_of(p, first); r < p->racks && r <= rack_of(p, first + count - 1); r++) load_rack(p, r);
    load_batteries(p);
}

/* ---- breakers, batteries ---- */

static void on_trip(pw_sim *sim, void *object, uint64_t which) {
    pw_feeds *p = object;
    uint32_t rack = (uint32_t)which / (uint32_t)p->config.group.feeds, first = rack * p->config.boxes_per_rack;
    int feed = (int)(which % (uint64_t)p->config.group.feeds);
    p->trips[which] = (pw_event_id){0};
    account(p);
    pw_breaker_open(&p->breakers[which], pw_sim_seconds(sim));
    enter(p, first, false, "breaker %c of rack %u trips", 'a' + feed, (unsigned)rack);
    if (p->log_count) p->log[p->log_count - 1].boxes = first + p->config.boxes_per_rack > p->config.boxes ? p->config.boxes - first : p->config.boxes_per_rack;
    update_range(p, first, p->config.boxes_per_rack);
    if (p->log_count) p->log[p->log_count - 1].capacity_W = p->boxes[first].now.capacity_W;
}

static void set_dead(pw_feeds *p, int feed, bool dead, const char *why) {
    if (p->dead[feed] == dead) return;
    p->dead[feed] = dead;
    enter_for_all(p, feed, why);
    update_range(p, 0, p->config.boxes);
}

static void on_empty(pw_sim *sim, void *object, uint64_t feed) {
    pw_feeds *p = object;
    (void)sim;
    p->empty[feed] = (pw_event_id){0};
    set_dead(p, (int)feed, true, "the battery is empty");
}

static void on_generators(pw_sim *sim, void *object, uint64_t feed) {
    pw_feeds *p = object;
    p->generators[feed] = (pw_event_id){0};
    account(p);
    pw_battery_set(&p->batteries[feed], pw_sim_seconds(sim), true, pw_feeds_feed_W(p, (int)feed));
    cancel(p, &p->empty[feed]);
    enter_for_all(p, (int)feed, "generators carry it");
    set_dead(p, (int)feed, false, "on again");
    load_batteries(p);
}

static void take_mains(pw_feeds *p, int feed, bool away) {
    bool had = !p->mains_events[feed];
    p->mains_events[feed] = (uint8_t)(p->mains_events[feed] + (away ? 1 : -1));
    bool has = !p->mains_events[feed];
    if (had == has) return;
    account(p);
    if (!p->config.battery) {
        set_dead(p, feed, !has, has ? "the mains are back" : "mains lost");
        return;
    }
    double now_s = pw_sim_seconds(p->config.sim);
    pw_battery *battery = &p->batteries[feed];
    if (has) {
        cancel(p, &p->generators[feed]);
        enter_for_all(p, feed, "the mains are back");
        pw_battery_set(battery, now_s, true, pw_feeds_feed_W(p, feed));
        set_dead(p, feed, false, "on again");
    } else {
        enter_for_all(p, feed, "mains lost, on battery");
        pw_battery_set(battery, now_s, false, pw_feeds_feed_W(p, feed));
        plan(p, &p->generators[feed], battery->start_s, on_generators, (uint64_t)feed);
    }
    load_batteries(p);
}

/* ---- events ---- */

/* Whether another event still keeps the breaker open that `ended` gives back. */
static bool stays_open(const pw_feeds *p, const pw_feed_event *ended, uint32_t rack) {
    pw_time now = pw_sim_now(p->config.sim);
    for (uint32_t i = 0; i < p->event_count; i++) {
        const pw_feed_event *e = &p->events[i];
        if (e == ended || e->part != PW_PART_BREAKER || e->index != ended->index) continue;
        if (rack < rack_of(p, e->first_box) || rack > rack_of(p, e->first_box + e->boxes - 1)) continue;
        bool is_over = !isinf(e->lasts_s) && now >= pw_sim_ticks(p->config.sim, e->at_s + e->lasts_s);
        if (now >= pw_sim_ticks(p->config.sim, e->at_s) && !is_over) return true;
    }
    return false;
}

static void take(pw_feeds *p, const pw_feed_event *e, bool away) {
    size_t entries = p->log_count;
    account(p);
    for (int f = 0; e->part == PW_PART_MAINS && f < p->config.group.feeds; f++)
        if (e->index < 0 || e->index == f) take_mains(p, f, away);
    uint32_t end = e->part == PW_PART_MAINS ? 0 : e->first_box + e->boxes;
    for (uint32_t i = e->first_box; i < end && i < p->config.boxes; i++) {
        box *b = &p->boxes[i];
        uint8_t *count = e->part == PW_PART_FEED ? &b->feed_events[e->index] : &b->unit_events[e->index];
        pw_breaker *breaker = breaker_of(p, rack_of(p, i), e->index);
        if (e->part == PW_PART_BREAKER) {
            pw_error error = {0};
            if (away && !breaker->open) pw_breaker_open(breaker, pw_sim_seconds(p->config.sim));
            else if (!away && breaker->open && !stays_open(p, e, rack_of(p, i)) && pw_breaker_close(breaker, pw_sim_seconds(p->config.sim), &error) != PW_OK) {
                pw_sim_fail_with(p->config.sim, &error);
                return;
            }
        } else {
            *count = (uint8_t)(*count + (away ? 1 : -1));
        }
        static const char *const names[] = {"feed", "supply", "breaker"};
        if (e->part == PW_PART_SUPPLY) enter(p, i, false, "supply %d %s", e->index, away ? "fails" : "is back");
        else enter(p, i, false, "%s %c %s", names[e->part], 'a' + e->index, away ? (e->part == PW_PART_FEED ? "lost" : "opens") : "is back");
    }
    uint32_t first = e->first_box, count = e->boxes;
    if (e->part == PW_PART_BREAKER) { /* whole racks */
        first = rack_of(p, first) * p->config.boxes_per_rack;
        count = (rack_of(p, e->first_box + e->boxes - 1) + 1) * p->config.boxes_per_rack - first;
    }
    if (e->part != PW_PART_MAINS) update_range(p, first, count);
    for (; entries < p->log_count; entries++) p->log[entries].capacity_W = p->boxes[p->log[entries].first_box].now.capacity_W;
}

static void on_away(pw_sim *sim, void *object, uint64_t number) {
    (void)sim;
    take(object, &((pw_feeds *)object)->events[number], true);
}
static void on_back(pw_sim *sim, void *object, uint64_t number) {
    (void)sim;
    take(object, &((pw_feeds *)object)->events[number], false);
}

static pw_status schedule(pw_feeds *p, pw_error *error) {
    for (uint32_t i = 0; i < p->event_count; i++) {
        const pw_feed_event *e = &p->events[i];
        if (e->part == PW_PART_BREAKER && !p->breakers)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say which breaker the racks have", "a breaker is to open, and there is none");
        if (e->part != PW_PART_MAINS && (e->boxes == 0 || e->first_box >= p->config.boxes || e->boxes > p->config.boxes - e->first_box))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "power event %u is about boxes from %u on, %u of them; there are %u", i + 1, e->first_box,
                           e->boxes, p->config.boxes);
        pw_event_at(p->config.sim, pw_sim_ticks(p->config.sim, e->at_s), -1, on_away, p, i);
        if (!isinf(e->lasts_s)) pw_event_at(p->config.sim, pw_sim_ticks(p->config.sim, e->at_s + e->lasts_s), -1, on_back, p, i);
    }
    return pw_sim_error(p->config.sim)->status == PW_OK ? PW_OK : (error ? (*error = *pw_sim_error(p->config.sim)).status : PW_BAD_INPUT);
}

/* ---- life ---- */

static pw_status check_normal(const pw_feeds *p, pw_error *error) {
    const pw_feed_config *c = &p->config;
    double capacity_W = c->group.units * c->group.unit_W;
    if (!(c->draw_W <= capacity_W) || !(c->braked_W <= c->draw_W) || !(c->braked_W >= 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take more or larger supplies", "a box draws %.0f W, %.0f W with the brake on; its supplies give %.0f W",
                       c->draw_W, c->braked_W, capacity_W);
    for (uint32_t i = 0; p->breakers && i < p->racks * (uint32_t)c->group.feeds; i++)
        if (!isinf(p->breakers[i].trips_s))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take a larger breaker, or fewer boxes in a rack",
                           "the breaker of a feed carries %.0f W in normal operation and trips: it is rated for %.0f W",
                           p->breakers[i].share * p->breakers[i].rated_W, p->breakers[i].rated_W);
    for (int f = 0; c->battery && f < c->group.feeds; f++)
        if (pw_feeds_feed_W(p, f) > c->battery->rated_W)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take a larger one", "the battery of a feed carries %.0f W and is rated for %.0f W",
                           pw_feeds_feed_W(p, f), c->battery->rated_W);
    return PW_OK;
}

static bool make_parts(pw_feeds *p, const pw_feed_event *events) {
    const pw_feed_config *c = &p->config;
    size_t breakers = (size_t)p->racks * (size_t)c->group.feeds;
    p->boxes = pw_alloc_zero(&p->allocator, c->boxes * sizeof *p->boxes);
    p->events = pw_alloc_zero(&p->allocator, (p->event_count + (size_t)1) * sizeof *p->events);
    if (!p->boxes || !p->events) return false;
    if (p->event_count) memcpy(p->events, events, p->event_count * sizeof *events);
    if (!c->breaker) return true;
    p->breakers = pw_alloc_zero(&p->allocator, breakers * sizeof *p->breakers);
    p->trips = pw_alloc_zero(&p->allocator, breakers * sizeof *p->trips);
    for (size_t i = 0; p->breakers && i < breakers; i++) p->breakers[i] = *c->breaker;
    return p->breakers && p->trips;
}

pw_status pw_feeds_create(const pw_feed_config *config, const pw_feed_event *events, uint32_t count, pw_feeds **feeds, pw_error *error) {
    const pw_allocator *allocator = config->allocator ? config->allocator : pw_allocator_default();
    *feeds = NULL;
    if (config->boxes == 0 || (config->breaker && config->boxes_per_rack == 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "feeds need boxes, and breakers need racks");
    pw_feeds *p = pw_alloc_zero(allocator, sizeof *p);
    if (!p) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for feeds");
    p->config = *config;
    p->allocator = *allocator;
    p->event_count = count;
    p->racks = config->boxes_per_rack ? (config->boxes - 1) / config->boxes_per_rack + 1 : 1;
    p->since_s = pw_sim_seconds(config->sim);
    pw_status status = make_parts(p, events) ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for feeds");
    for (int f = 0; config->battery && f < config->group.feeds; f++) p->batteries[f] = *config->battery;
    for (uint32_t i = 0; status == PW_OK && i < config->boxes; i++) {
        box *b = &p->boxes[i];
        b->draw_W = b->now.draw_W = config->draw_W;
        b->braked_W = config->braked_W;
        b->now.cap_W = INFINITY;
        b->now.capacity_W = config->group.units * config->group.unit_W;
        b->flow = pw_supply_flow_at(&config->group, b->now.state, config->draw_W);
    }
    for (uint32_t r = 0; status == PW_OK && p->breakers && r < p->racks; r++) load_rack(p, r);
    if (status == PW_OK) load_batteries(p);
    if (status == PW_OK) status = check_normal(p, error);
    if (status == PW_OK) status = schedule(p, error);
    if (status == PW_OK) *feeds = p;
    else pw_feeds_destroy(p);
    return status;
}

void pw_feeds_destroy(pw_feeds *p) {
    if (!p) return;
    pw_allocator allocator = p->allocator;
    size_t breakers = (size_t)p->racks * (size_t)p->config.group.feeds;
    pw_free(&allocator, p->boxes, p->config.boxes * sizeof *p->boxes);
    pw_free(&allocator, p->events, (p->event_count + (size_t)1) * sizeof *p->events);
    pw_free(&allocator, p->breakers, breakers * sizeof *p->breakers);
    pw_free(&allocator, p->trips, breakers * sizeof *p->trips);
    pw_free(&allocator, p->log, p->log_capacity * sizeof *p->log);
    pw_free(&allocator, p, sizeof *p);
}

pw_feed_box pw_feeds_box(const pw_feeds *p, uint32_t number) { return p->boxes[number].now; }

void pw_feeds_draw(pw_feeds *p, uint32_t number, double draw_W, double braked_W) {
    box *b = &p->boxes[number];
    account(p);
    b->draw_W = draw_W;
    b->braked_W = braked_W;
    set_mode(p, number, b->now.mode, b->now.cap_W);
    if (b->now.mode != PW_BOX_OFF && !pw_event_is_pending(p->config.sim, b->gone)) check_rest(p, number);
}

const pw_feed_entry *pw_feeds_log(const pw_feeds *p, uint32_t *count) {
    *count = (uint32_t)p->log_count;
    return p->log;
}

const pw_breaker *pw_feeds_breaker(const pw_feeds *p, uint32_t rack, int feed) { return breaker_of(p, rack, feed); }

void pw_feeds_energy(pw_feeds *p, double *feeds_J, double *boxes_J, double *loss_J) {
    account(p);
    *feeds_J = p->feeds_J;
    *boxes_J = p->boxes_J;
    *loss_J = p->loss_J;
}
