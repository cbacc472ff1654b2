/* Wires and routes: tables, counts and lists. What runs over them is flow.c's. */
#include <math.h>
#include <string.h>

#include "models/program/wires.h"

/* Caps that add up to the whole of a wire, but for rounding, fit. */
static const double FULL = 1 + 1e-12;

enum { FIRST_PAIRS = 256 };

/* Where the pair stands, or would. */
static struct wire_pair *place_of(const wires *w, uint64_t pair) {
    uint32_t at = (uint32_t)mix64(pair) & (w->pair_size - 1);
    while (w->pairs[at].route != PW_NONE && w->pairs[at].pair != pair) at = (at + 1) & (w->pair_size - 1);
    return &w->pairs[at];
}

uint32_t wires_find(const wires *w, uint32_t from, uint32_t to) { return place_of(w, (uint64_t)from << 32 | to)->route; }

static bool grow_pairs(wires *w) {
    if (2 * (w->pair_count + 1) <= w->pair_size) return true;
    struct wire_pair *old = w->pairs;
    uint32_t old_size = w->pair_size, size = old_size ? 4 * old_size : FIRST_PAIRS;
    struct wire_pair *pairs = pw_alloc(w->allocator, size * sizeof *pairs);
    if (!pairs) return false;
    for (uint32_t i = 0; i < size; i++) pairs[i].route = PW_NONE;
    w->pairs = pairs;
    w->pair_size = size;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].route != PW_NONE) *place_of(w, old[i].pair) = old[i];
    pw_free(w->allocator, old, old_size * sizeof *old);
    return true;
}

pw_status wires_create(const pw_allocator *allocator, uint32_t count, wires **made, pw_error *error) {
    wires *w = *made = pw_alloc_zero(allocator, sizeof *w);
    if (w) {
        w->allocator = allocator;
        w->wire_count = count;
        w->wires = pw_alloc_zero(allocator, ((size_t)count + 1) * sizeof *w->wires);
        w->mark = pw_alloc_zero(allocator, ((size_t)count + 1) * sizeof *w->mark);
    }
    if (!w || !w->wires || !w->mark || !grow_pairs(w))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the links of a job");
    for (uint32_t i = 0; i < count; i++) w->wires[i].first_timed = PW_NONE;
    return PW_OK;
}

void wires_destroy(wires *w) {
    if (!w) return;
    const pw_allocator *a = w->allocator;
    pw_free(a, w->wires, ((size_t)w->wire_count + 1) * sizeof *w->wires);
    pw_free(a, w->mark, ((size_t)w->wire_count + 1) * sizeof *w->mark);
    pw_free(a, w->bytes, ((size_t)w->wire_count + 1) * sizeof *w->bytes);
    pw_free(a, w->pairs, w->pair_size * sizeof *w->pairs);
    pw_free(a, w->uses, w->use_capacity * sizeof *w->uses);
    pw_free(a, w->routes, w->route_capacity * sizeof *w->routes);
    pw_free(a, w, sizeof *w);
}

/* --- Routes -------------------------------------------------------------------------------------------------------- */

static size_t end_of_routes(const wires *w) {
    if (w->route_count == 0) return 0;
    const wire_route *last = &w->routes[w->route_count - 1];
    return last->first + last->count;
}

bool wires_add(wires *w, uint32_t on, double load) {
    if (load <= 0) return true;
    if (w->mark[on]) { /* a route may meet a wire more than once */
        w->uses[w->mark[on] - 1].load += load;
        return true;
    }
    if (w->use_count >= PW_NONE - 1 ||
        pw_grow(w->allocator, (void **)&w->uses, &w->use_capacity, w->use_count + 1, sizeof *w->uses))
        return false;
    w->uses[w->use_count] = (wire_use){.wire = on, .load = load};
    w->mark[on] = (uint32_t)++w->use_count;
    return true;
}

double wires_rate(const wires *w, uint32_t route) {
    const wire_route *r = &w->routes[route];
    double rate = INFINITY;
    for (size_t u = r->first; u < r->first + r->count; u++) {
        double here = w->wires[w->uses[u].wire].bandwidth_Bps / w->uses[u].load;
        if (here < rate) rate = here;
    }
    return rate;
}

uint32_t wires_end(wires *w, uint32_t from, uint32_t to) {
    size_t first = end_of_routes(w);
    for (size_t u = first; u < w->use_count; u++) w->mark[w->uses[u].wire] = 0;
    if (w->route_count >= PW_NONE - 1 || !grow_pairs(w) ||
        pw_grow(w->allocator, (void **)&w->routes, &w->route_capacity, w->route_count + 1, sizeof *w->routes)) {
        w->use_count = first;
        return PW_NONE;
    }
    uint32_t index = (uint32_t)w->route_count++;
    wire_route *made = &w->routes[index];
    *made = (wire_route){.first = first,
                         .count = (uint32_t)(w->use_count - first),
                         .from = from,
                         .to = to,
                         .first_timed = PW_NONE,
                         .lone = PW_NONE,
                         .alone = true};
    for (size_t u = first; u < w->use_count; u++) {
        wire *on = &w->wires[w->uses[u].wire];
        w->uses[u].route = index;
        if (on->routes++ == 0) {
            on->only = index;
            continue;
        }
        made->alone = false;
        w->routes[on->only].alone = false; /* it was, or has not been for long */
    }
    made->rate_Bps = wires_rate(w, index);
    if (from == PW_NONE) return index;
    *place_of(w, (uint64_t)from << 32 | to) = (struct wire_pair){(uint64_t)from << 32 | to, index};
    w->pair_count++;
    return index;
}

/* --- Counts and lists ---------------------------------------------------------------------------------------------- */

bool wires_fit(const wires *w, const wire_use *use, double rate_Bps) {
    const wire *on = &w->wires[use->wire];
    return on->demand_Bps + use->load * rate_Bps <= on->bandwidth_Bps * FULL;
}

void wires_occupy(wires *w, uint32_t route, double rate_Bps) {
    const wire_route *r = &w->routes[route];
    for (size_t u = r->first; u < r->first + r->count; u++) {
        wire *on = &w->wires[w->uses[u].wire];
        on->flows++;
        on->demand_Bps += w->uses[u].load * rate_Bps;
    }
}

void wires_vacate(wires *w, uint32_t route, double rate_Bps) {
    const wire_route *r = &w->routes[route];
    for (size_t u = r->first; u < r->first + r->count; u++) {
        wire *on = &w->wires[w->uses[u].wire];
        if (--on->flows == 0) on->demand_Bps = 0;
        else on->demand_Bps -= w->uses[u].load * rate_Bps;
    }
}

void wires_list(wires *w, uint32_t route) {
    const wire_route *r = &w->routes[route];
    for (size_t u = r->first; u < r->first + r->count; u++) {
        wire *on = &w->wires[w->uses[u].wire];
        w->uses[u].previous = PW_NONE;
        w->uses[u].next = on->first_timed;
        if (on->first_timed != PW_NONE) w->uses[on->first_timed].previous = (uint32_t)u;
        on->first_timed = (uint32_t)u;
    }
}

void wires_unlist(wires *w, uint32_t route) {
    const wire_route *r = &w->routes[route];
    for (size_t u = r->first; u < r->first + r->count; u++) {
        wire_use *use = &w->uses[u];
        if (use->next != PW_NONE) w->uses[use->next].previous = use->previous;
        if (use->previous != PW_NONE) w->uses[use->previous].next = use->next;
        else w->wires[use->wire].first_timed = use->next;
    }
}

const double *wires_bytes(wires *w, uint64_t changes) {
    if (w->bytes && w->bytes_at == changes) return w->bytes;
    if (!w->bytes) w->bytes = pw_alloc(w->allocator, ((size_t)w->wire_count + 1) * sizeof *w->bytes);
    if (!w->bytes) return NULL;
    w->bytes_at = changes;
    for (uint32_t i = 0; i < w->wire_count; i++) w->bytes[i] = 0;
    for (size_t u = 0; u < w->use_count; u++)
        w->bytes[w->uses[u].wire] += w->uses[u].load * w->routes[w->uses[u].route].bytes;
    return w->bytes;
}
