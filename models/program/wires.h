/* Links in use and the routes over them, for transfers that run by timers (flow.c). Internal to this folder.
 *
 * A wire is what has a capacity: a link of an unfolded run, a link class of a folded one. A route is a set of wires with the
 * load of each per byte. Every wire knows what the transfers under way over it take at most (their caps), so that a
 * transfer learns in O(its wires) whether all caps fit, and then needs no sharing. A route none of whose wires belongs to
 * another route is alone: its transfers need not even be counted, as long as there is one at a time. */
#ifndef PW_MODELS_PROGRAM_WIRES_H
#define PW_MODELS_PROGRAM_WIRES_H

#include "models/program/links.h"
#include "sim/fluid.h"

typedef struct wire {
    double bandwidth_Bps;
    double demand_Bps;    /* what the transfers counted here take at most */
    uint32_t flows;       /* so many are counted */
    uint32_t routes;      /* that use it */
    uint32_t only;        /* the route, when there is one */
    uint32_t first_timed; /* uses of routes that have transfers with timers; PW_NONE: none */
} wire;

typedef struct wire_use {
    uint32_t wire;
    uint32_t route;
    uint32_t next, previous; /* in the wire's list of timed routes */
    double load;
} wire_use;

typedef struct wire_route {
    size_t first;         /* its uses */
    uint32_t count;
    uint32_t from, to;    /* GPUs of a message; PW_NONE: of a plan */
    uint32_t flows;       /* under way */
    uint32_t timed, first_timed; /* transfers with timers that are counted on its wires */
    uint32_t lone;        /* the transfer that is under way uncounted; PW_NONE: none */
    bool alone;           /* no other route uses one of its wires */
    pw_route_id fluid;    /* null: not made yet */
    double rate_Bps;      /* the most that its wires give to one transfer; infinity: no wire */
    double bytes;         /* carried so far */
} wire_route;

typedef struct wires {
    const pw_allocator *allocator;
    wire *wires;
    uint32_t wire_count;
    wire_use *uses;
    size_t use_count, use_capacity;
    wire_route *routes;
    size_t route_count, route_capacity;
    struct wire_pair { uint64_t pair; uint32_t route; } *pairs; /* routes of messages by GPUs: open addressing, PW_NONE: free */
    uint32_t pair_size, pair_count;  /* size: a power of two */
    uint32_t *mark;                  /* [wires] scratch, zero between uses */
    double *bytes;                   /* [wires]: as of bytes_at; NULL: never asked for */
    uint64_t bytes_at;
} wires;

pw_status wires_create(const pw_allocator *allocator, uint32_t count, wires **made, pw_error *error);
void wires_destroy(wires *w);
uint32_t wires_find(const wires *w, uint32_t from, uint32_t to); /* PW_NONE: not made yet */
/* Adds uses to the route that is being made; wires_end enters it and gives its number (PW_NONE: memory is out). Wires are set
 * up by the maker. A route that shares wires ends the solitude of others, whose lone transfers the caller must count. */
bool wires_add(wires *w, uint32_t on, double load);
uint32_t wires_end(wires *w, uint32_t from, uint32_t to);

/* A transfer of at most rate_Bps is counted on the wires of its route, or no more. */
void wires_occupy(wires *w, uint32_t route, double rate_Bps);
void wires_vacate(wires *w, uint32_t route, double rate_Bps);
/* Whether one more of at most rate_Bps fits beside those that are counted. */
bool wires_fit(const wires *w, const wire_use *use, double rate_Bps);
/* The route has timed transfers, or no more: it is in the lists of its wires. */
void wires_list(wires *w, uint32_t route);
void wires_unlist(wires *w, uint32_t route);
/* The least of bandwidth over load. */
double wires_rate(const wires *w, uint32_t route);
/* Bytes over each wire so far, [wires], valid until the next call; NULL: memory is out. changes: of the routes' bytes. */
const double *wires_bytes(wires *w, uint64_t changes);

#endif
