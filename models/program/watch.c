/* Between two settled instants every rate is constant. At the end of an instant in which a transfer began, ended or went over
 * to sharing, or a capacity changed, the hook reads all rates, after the fluid system has solved: levels per link and job, and
 * for each transfer below its cap the link that holds it. The next change first adds level x time to the integrals. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "models/program/run.h"

enum { LIMITS = 4, FIRST_BIN = 1000 }; /* links kept per transfer; ticks */
static const double NEARLY = 1 - 1e-9; /* rates and capacities, after rounding */

typedef struct live_flow {
    bool live, timed;
    uint32_t job, plan, next;
    pw_activity_id activity;
    pw_time start;
    double rate;    /* since the last settled instant */
    uint32_t limit; /* of capacities; PW_NONE: at its cap */
    struct { uint32_t capacity; pw_time ticks; } limits[LIMITS];
    pw_time held;
} live_flow;

typedef struct watched {
    pw_time full;
    double peak, top; /* top: the fastest transfer over it, scratch */
    bool active, known;
} watched;

struct pw_watch {
    pw_watch_config config;
    pw_allocator allocator;
    int hook;
    pw_executor **executors; /* [jobs] */
    uint32_t joined;
    link_share *share;
    size_t capacities;       /* above every one of the share */
    pw_time last, bin;
    live_flow *live;
    size_t live_capacity;
    uint32_t live_count, live_free;
    watched *links;          /* [capacities] */
    double *level, *bytes;   /* [capacities x jobs] */
    double **bins;           /* [capacities]: [jobs x bins], NULL until needed */
    uint32_t *active, active_count;
    double *held;            /* [jobs x jobs], ticks */
    bool *met;               /* [jobs x jobs] */
    pw_watched_flow *flows;
    size_t flow_count, flow_capacity;
    uint64_t left_out;
    uint32_t *order;         /* closed: [links] capacities that carried something */
    pw_link *first;          /* of them */
    uint32_t *alike;
    uint32_t order_count;
};

static void no_memory(pw_watch *w) {
    pw_sim_fail(w->config.sim, PW_NO_MEMORY, NULL, "no memory to watch the links");
}

/* What the capacity has now. */
static double amount_of(const pw_watch *w, uint32_t capacity) {
    if (w->share->folded) return w->share->classes.links[capacity].bandwidth_Bps;
    pw_capacity_id id = w->share->capacity[capacity];
    return id.generation ? pw_capacity_amount(w->config.fluid, id)
                         : pw_fabric_link(pw_cluster_fabric(w->config.cluster), capacity)->bandwidth_Bps;
}

/* --- Integrals ---------------------------------------------------------------------------------------------------- */

/* Halves what is in bins: pairs become one. */
static void widen(pw_watch *w) {
    uint32_t half = w->config.bins / 2;
    for (uint32_t c = 0; c < w->share->capacity_count; c++)
        for (uint32_t j = 0; w->bins[c] && j < w->config.jobs; j++) {
            double *row = w->bins[c] + (size_t)j * w->config.bins;
            for (uint32_t b = 0; b < half; b++) row[b] = row[2 * b] + row[2 * b + 1];
            memset(row + half, 0, half * sizeof *row);
        }
    w->bin *= 2;
}

static bool make_bins(pw_watch *w, uint32_t capacity) {
    if (!w->bins[capacity])
        w->bins[capacity] = pw_alloc_zero(&w->allocator, (size_t)w->config.jobs * w->config.bins * sizeof(double));
    if (!w->bins[capacity]) no_memory(w);
    return w->bins[capacity] != NULL;
}

static void fill_bins(pw_watch *w, uint32_t capacity, pw_time from, pw_time to) {
    double per_tick = 1 / pw_sim_ticks_per_second(w->config.sim);
    if (!make_bins(w, capacity)) return;
    for (uint32_t j = 0; j < w->config.jobs; j++) {
        double level = w->level[(size_t)capacity * w->config.jobs + j] * per_tick;
        double *row = w->bins[capacity] + (size_t)j * w->config.bins;
        for (pw_time at = from; level > 0 && at < to;) {
            uint32_t b = (uint32_t)(at / w->bin);
            pw_time end = (b + (pw_time)1) * w->bin;
            if (end > to) end = to;
            row[b] += level * (double)(end - at);
            at = end;
        }
    }
}

static void count_link(pw_watch *w, uint32_t capacity, pw_time from, pw_time to) {
    uint32_t jobs = w->config.jobs;
    double seconds = (double)(to - from) / pw_sim_ticks_per_second(w->config.sim), sum = 0;
    double *level = &w->level[(size_t)capacity * jobs];
    for (uint32_t j = 0; j < jobs; j++) {
        w->bytes[(size_t)capacity * jobs + j] += level[j] * seconds;
        sum += level[j];
        for (uint32_t k = 0; level[j] > 0 && k < j; k++)
            if (level[k] > 0) w->met[j * jobs + k] = w->met[k * jobs + j] = true;
    }
    if (sum >= amount_of(w, capacity) * (1 - 1e-6)) w->links[capacity].full += to - from;
    if (w->config.bins) fill_bins(w, capacity, from, to);
}

static void count_flow(pw_watch *w, live_flow *flow, pw_time ticks) {
    if (flow->limit == PW_NONE) return;
    uint32_t jobs = w->config.jobs, slot = 0;
    flow->held += ticks;
    for (uint32_t l = 0; l < LIMITS; l++) {
        if (flow->limits[l].capacity == flow->limit) {
            slot = l;
            break;
        }
        if (flow->limits[l].ticks < flow->limits[slot].ticks) slot = l;
    }
    if (flow->limits[slot].capacity != flow->limit) flow->limits[slot].ticks = 0;
    flow->limits[slot].capacity = flow->limit;
    flow->limits[slot].ticks += ticks;
    const pw_executor *x = w->executors[flow->job];
    double amount = amount_of(w, flow->limit);
    double weight = (double)ticks * plan_count(x, &x->plans[flow->plan]);
    for (uint32_t k = 0; amount > 0 && k < jobs; k++)
        w->held[flow->job * jobs + k] += weight * w->level[(size_t)flow->limit * jobs + k] / amount;
}

static void advance(pw_watch *w) {
    pw_time now = pw_sim_now(w->config.sim), from = w->last;
    if (now == from) return;
    w->last = now;
    while (w->config.bins && now > w->bin * w->config.bins) widen(w);
    for (uint32_t i = 0; i < w->active_count; i++) count_link(w, w->active[i], from, now);
    for (uint32_t f = 0; f < w->live_count; f++)
        if (w->live[f].live) count_flow(w, &w->live[f], now - from);
}

/* --- Rates -------------------------------------------------------------------------------------------------------- */

static void forget_levels(pw_watch *w) {
    for (uint32_t i = 0; i < w->active_count; i++) {
        uint32_t c = w->active[i];
        memset(&w->level[(size_t)c * w->config.jobs], 0, w->config.jobs * sizeof *w->level);
        w->links[c].active = false;
        w->links[c].top = 0;
    }
    w->active_count = 0;
}

static void add_levels(pw_watch *w, const live_flow *flow) {
    const pw_executor *x = w->executors[flow->job];
    uint32_t count;
    const flow_use *uses = plan_uses(&x->plans[flow->plan], &count);
    for (uint32_t u = 0; u < count; u++) {
        watched *link = &w->links[uses[u].link_class];
        if (!link->active) w->active[w->active_count++] = uses[u].link_class;
        link->active = link->known = true;
        w->level[(size_t)uses[u].link_class * w->config.jobs + flow->job] += uses[u].load * flow->rate;
        if (flow->rate > link->top) link->top = flow->rate;
    }
}

static double level_of(const pw_watch *w, uint32_t capacity) {
    double sum = 0;
    for (uint32_t j = 0; j < w->config.jobs; j++) sum += w->level[(size_t)capacity * w->config.jobs + j];
    return sum;
}

/* The full link on which nothing is faster; of several the first. */
static uint32_t limit_of(pw_watch *w, const live_flow *flow) {
    const pw_executor *x = w->executors[flow->job];
    const plan *p = &x->plans[flow->plan];
    if (flow->timed || (plan_capped(p) && flow->rate >= p->cap_Bps * NEARLY)) return PW_NONE;
    uint32_t count;
    const flow_use *uses = plan_uses(p, &count);
    for (uint32_t u = 0; u < count; u++) {
        uint32_t c = uses[u].link_class;
        if (level_of(w, c) >= amount_of(w, c) * (1 - 1e-6) && flow->rate >= w->links[c].top * (1 - 1e-6)) return c;
    }
    return PW_NONE;
}

static void settle(pw_sim *sim, void *object) {
    (void)sim;
    pw_watch *w = object;
    advance(w);
    forget_levels(w);
    for (uint32_t f = 0; f < w->live_count; f++) {
        live_flow *flow = &w->live[f];
        if (!flow->live) continue;
        const plan *p = &w->executors[flow->job]->plans[flow->plan];
        flow->rate = flow->timed ? p->cap_Bps : pw_activity_rate(w->config.fluid, flow->activity);
        add_levels(w, flow);
    }
    for (uint32_t i = 0; i < w->active_count; i++) {
        uint32_t c = w->active[i];
        double amount = amount_of(w, c), use = level_of(w, c);
        double whole = w->share->folded ? w->share->classes.links[c].whole_Bps
                                        : pw_fabric_link(pw_cluster_fabric(w->config.cluster), c)->bandwidth_Bps;
        PW_LAW(w->config.sim, use <= amount * (1 + 1e-6) + 1e-3, "no link carries more than its capacity",
               "%.17g of %.17g bytes/s", use, amount);
        if (use / whole > w->links[c].peak) w->links[c].peak = use / whole;
    }
    for (uint32_t f = 0; f < w->live_count; f++)
        if (w->live[f].live) w->live[f].limit = limit_of(w, &w->live[f]);
}

/* --- What executors report ---------------------------------------------------------------------------------------- */

void watch_join(pw_watch *w, pw_executor *x) {
    PW_CHECK(w->joined < w->config.jobs);
    x->watched_as = w->joined;
    w->executors[w->joined++] = x;
    w->share = x->share;
}

bool watch_prepare(pw_watch *w) {
    if (w->links) return true;
    size_t capacities = w->capacities = w->share->capacity_count + (size_t)1, jobs = w->config.jobs;
    w->links = pw_alloc_zero(&w->allocator, capacities * sizeof *w->links);
    w->level = pw_alloc_zero(&w->allocator, capacities * jobs * sizeof *w->level);
    w->bytes = pw_alloc_zero(&w->allocator, capacities * jobs * sizeof *w->bytes);
    w->bins = pw_alloc_zero(&w->allocator, capacities * sizeof *w->bins);
    w->active = pw_alloc_zero(&w->allocator, capacities * sizeof *w->active);
    return w->links && w->level && w->bytes && w->bins && w->active;
}

uint32_t watch_begin(pw_watch *w, const pw_executor *x, uint32_t plan_index, bool timed, pw_activity_id activity) {
    advance(w);
    uint32_t index = w->live_free;
    if (index != PW_NONE) {
        w->live_free = w->live[index].next;
    } else if (pw_grow(&w->allocator, (void **)&w->live, &w->live_capacity, w->live_count + (size_t)1, sizeof *w->live)) {
        no_memory(w);
        return PW_NONE;
    } else {
        index = w->live_count++;
    }
    live_flow *flow = &w->live[index];
    *flow = (live_flow){.live = true, .timed = timed, .job = x->watched_as, .plan = plan_index, .activity = activity,
                        .start = w->last, .limit = PW_NONE};
    for (uint32_t l = 0; l < LIMITS; l++) flow->limits[l].capacity = PW_NONE;
    pw_sim_request_hook(w->config.sim, w->hook);
    uint32_t count;
    const flow_use *uses = plan_uses(&x->plans[plan_index], &count);
    for (uint32_t u = 0; u < count && !x->config.endless; u++)
        if (w->share->dead[uses[u].link_class])
            pw_sim_fail(w->config.sim, PW_DEADLOCK, "give it a time of repair, leave it some capacity, place the job elsewhere, or list it in network.failures",
                        "\"%s\" sends over a link that has failed and is not repaired: it never ends", x->job->name);
    return index;
}

void watch_convert(pw_watch *w, uint32_t index, pw_activity_id activity) {
    if (index == PW_NONE) return;
    advance(w);
    w->live[index].timed = false;
    w->live[index].activity = activity;
    pw_sim_request_hook(w->config.sim, w->hook);
}

void watch_change(pw_watch *w) {
    advance(w);
    pw_sim_request_hook(w->config.sim, w->hook);
}

static void keep_flow(pw_watch *w, const live_flow *live) {
    if (w->flow_count >= w->config.most_flows) {
        w->left_out += w->config.most_flows > 0;
        return;
    }
    if (pw_grow(&w->allocator, (void **)&w->flows, &w->flow_capacity, w->flow_count + 1, sizeof *w->flows)) {
        no_memory(w);
        return;
    }
    pw_watched_flow *flow = &w->flows[w->flow_count++];
    *flow = (pw_watched_flow){.job = live->job, .start = live->start, .end = w->last, .limit = PW_NONE,
                              .held_s = (double)live->held / pw_sim_ticks_per_second(w->config.sim)};
    pw_time longest = 0;
    for (uint32_t l = 0; l < LIMITS; l++)
        if (live->limits[l].ticks > longest) {
            longest = live->limits[l].ticks;
            flow->limit = live->limits[l].capacity;
        }
    const pw_executor *x = w->executors[live->job];
    const plan *p = &x->plans[live->plan];
    plan_describe(x, p, flow);
    flow->free_Bps = plan_capped(p) ? p->cap_Bps : INFINITY;
    uint32_t count;
    const flow_use *uses = plan_uses(p, &count);
    for (uint32_t u = 0; u < count; u++) flow->free_Bps = fmin(flow->free_Bps, amount_of(w, uses[u].link_class) / uses[u].load);
}

void watch_end(pw_watch *w, uint32_t index) {
    if (index == PW_NONE) return;
    advance(w);
    keep_flow(w, &w->live[index]);
    w->live[index].live = false;
    w->live[index].next = w->live_free;
    w->live_free = index;
    pw_sim_request_hook(w->config.sim, w->hook);
}

bool watch_uses(const pw_watch *w, uint32_t capacity, const pw_executor **who) {
    for (uint32_t f = 0; f < w->live_count; f++) {
        const live_flow *flow = &w->live[f];
        if (!flow->live) continue;
        uint32_t count;
        const flow_use *uses = plan_uses(&w->executors[flow->job]->plans[flow->plan], &count);
        *who = w->executors[flow->job];
        for (uint32_t u = 0; u < count && !(*who)->config.endless; u++)
            if (uses[u].link_class == capacity) return true;
    }
    return false;
}

/* --- Life and results --------------------------------------------------------------------------------------------- */

pw_status pw_watch_create(const pw_watch_config *config, pw_watch **watch, pw_error *error) {
    const pw_allocator *allocator = pw_sim_allocator(config->sim);
    pw_watch *w = *watch = pw_alloc_zero(allocator, sizeof *w);
    if (w) {
        w->config = *config;
        w->config.bins += config->bins % 2;
        w->allocator = *allocator;
        w->bin = FIRST_BIN;
        w->live_free = PW_NONE;
        w->executors = pw_alloc_zero(allocator, (config->jobs + 1) * sizeof(pw_executor *));
        w->held = pw_alloc_zero(allocator, ((size_t)config->jobs * config->jobs + 1) * sizeof *w->held);
        w->met = pw_alloc_zero(allocator, (size_t)config->jobs * config->jobs + 1);
        w->hook = pw_sim_add_instant_hook(config->sim, settle, w);
        if (w->executors && w->held && w->met && w->hook >= 0) return PW_OK;
    }
    pw_watch_destroy(w);
    *watch = NULL;
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to watch the links");
}

void pw_watch_destroy(pw_watch *w) {
    if (!w) return;
    pw_allocator a = w->allocator;
    size_t capacities = w->capacities, jobs = w->config.jobs;
    for (size_t c = 0; w->bins && c < capacities; c++) pw_free(&a, w->bins[c], jobs * w->config.bins * sizeof(double));
    pw_free(&a, w->links, capacities * sizeof *w->links);
    pw_free(&a, w->level, capacities * jobs * sizeof *w->level);
    pw_free(&a, w->bytes, capacities * jobs * sizeof *w->bytes);
    pw_free(&a, w->bins, capacities * sizeof *w->bins);
    pw_free(&a, w->active, capacities * sizeof *w->active);
    pw_free(&a, w->order, capacities * sizeof *w->order);
    pw_free(&a, w->first, capacities * sizeof *w->first);
    pw_free(&a, w->alike, capacities * sizeof *w->alike);
    pw_free(&a, w->live, w->live_capacity * sizeof *w->live);
    pw_free(&a, w->flows, w->flow_capacity * sizeof *w->flows);
    pw_free(&a, w->executors, (jobs + 1) * sizeof(pw_executor *));
    pw_free(&a, w->held, (jobs * jobs + 1) * sizeof *w->held);
    pw_free(&a, w->met, jobs * jobs + 1);
    pw_free(&a, w, sizeof *w);
}

/* Capacities in order of their first link, and so numbered in the flows too. */
void pw_watch_close(pw_watch *w) {
    if (!w->links || w->order) return;
    advance(w);
    w->order = pw_alloc_zero(&w->allocator, w->capacities * sizeof *w->order);
    w->first = pw_alloc_zero(&w->allocator, w->capacities * sizeof *w->first);
    w->alike = pw_alloc_zero(&w->allocator, w->capacities * sizeof *w->alike);
    uint32_t *number = pw_alloc(&w->allocator, w->capacities * sizeof *number);
    if (!w->order || !w->first || !w->alike || !number) {
        no_memory(w);
        pw_free(&w->allocator, number, w->capacities * sizeof *number);
        return;
    }
    for (size_t c = 0; c < w->capacities; c++) number[c] = PW_NONE;
    uint32_t links = pw_fabric_links(pw_cluster_fabric(w->config.cluster));
    for (pw_link l = 0; l < links; l++) {
        uint32_t c = w->share->folded ? w->share->classes.class_of_link[l] : l;
        if (c == PW_NONE || !w->links[c].known) continue;
        if (number[c] == PW_NONE) {
            number[c] = w->order_count;
            w->order[w->order_count] = c;
            w->first[w->order_count++] = l;
        }
        w->alike[number[c]] += fold_twins(w->config.cluster, l).count;
    }
    for (size_t f = 0; f < w->flow_count; f++)
        if (w->flows[f].limit != PW_NONE) w->flows[f].limit = number[w->flows[f].limit];
    pw_free(&w->allocator, number, w->capacities * sizeof *number);
}

uint32_t pw_watch_links(const pw_watch *w) { return w->order_count; }

pw_watched_link pw_watch_link(const pw_watch *w, uint32_t index) {
    const watched *link = &w->links[w->order[index]];
    return (pw_watched_link){.link = w->first[index],
                             .links = w->alike[index],
                             .bandwidth_Bps = pw_fabric_link(pw_cluster_fabric(w->config.cluster), w->first[index])->bandwidth_Bps,
                             .peak = link->peak,
                             .full_s = (double)link->full / pw_sim_ticks_per_second(w->config.sim)};
}

double pw_watch_bytes(const pw_watch *w, uint32_t index, uint32_t job) {
    return w->bytes[(size_t)w->order[index] * w->config.jobs + job];
}

pw_time pw_watch_span(const pw_watch *w, pw_time *bin) {
    if (bin) *bin = w->bin;
    return w->last;
}

double pw_watch_bin_bytes(const pw_watch *w, uint32_t index, uint32_t job, uint32_t bin) {
    const double *rows = w->bins[w->order[index]];
    return rows && bin < w->config.bins ? rows[(size_t)job * w->config.bins + bin] : 0;
}

const pw_watched_flow *pw_watch_flows(const pw_watch *w, size_t *count, uint64_t *left_out) {
    *count = w->flow_count;
    if (left_out) *left_out = w->left_out;
    return w->flows;
}

double pw_watch_held_s(const pw_watch *w, uint32_t job, uint32_t other) {
    return w->held[job * w->config.jobs + other] / pw_sim_ticks_per_second(w->config.sim);
}

bool pw_watch_met(const pw_watch *w, uint32_t job, uint32_t other) { return w->met[job * w->config.jobs + other]; }
