/* The congestion-aware mode as events in ns.
 *
 * Every chunk is a program of rounds on every rank: the rank sends the messages of a round, waits until all those of the round that
 * are for it have come, spends the endpoint delay and, where it reduces, the reduction, and goes on. `active_chunks` of them run on
 * a rank at once. A link takes messages in the order in which they come and is busy floor(m / B) ns with each; a message is
 * at the next place floor(L + m / B) ns after its turn. Around a ring it takes the shorter way, clockwise when both are equal.
 *
 * The binary tree is the in-order tree over the ranks' numbers, with rank 0 above its top. */
#include <math.h>
#include <string.h>

#include "models/compat/astra_internal.h"
#include "sim/event.h"

enum { MOST_MESSAGES = 1 << 25, MOST_LINKS = 1 << 24, UP = 0, DOWN = 1 };

typedef struct message {
    uint32_t chunk, round, at, to; /* at: rank where it is; UINT32_MAX: in the switch */
    double bytes;
    uint32_t next_free;
} message;

typedef struct run {
    const pw_allocator *allocator;
    const pw_astra_system *system;
    astra_phase phase;
    uint32_t n, rounds, chunks, active;
    double rate;
    pw_sim *sim;
    int64_t *free_at; /* of links */
    size_t links;
    uint32_t *came;    /* [chunk][rank][round]: messages that have come */
    uint32_t *started; /* [rank]: chunks */
    size_t came_count;
    message *messages;
    size_t message_capacity;
    uint32_t message_count, first_free;
    int64_t done_ns;
} run;

/* ---- Programs ---- */

static uint32_t round_count(const astra_phase *phase) {
    uint32_t n = (uint32_t)phase->dimension->npus, twice = phase->kind == PW_ASTRA_ALL_REDUCE ? 2 : 1;
    switch (phase->algorithm) {
    case PW_ASTRA_ALGORITHM_RING: return phase->kind == PW_ASTRA_ALL_TO_ALL ? n * (n - 1) / 2 : twice * (n - 1);
    case PW_ASTRA_ALGORITHM_DIRECT: return twice;
    case PW_ASTRA_ALGORITHM_HALVING_DOUBLING: return 2 * (uint32_t)astra_log2(n);
    default: return 2; /* up, down */
    }
}

static uint32_t halving_level(const run *r, uint32_t round) { return round < r->rounds / 2 ? round : r->rounds - 1 - round; }

static double message_bytes(const run *r, uint32_t round) {
    switch (r->phase.algorithm) {
    case PW_ASTRA_ALGORITHM_HALVING_DOUBLING: return ldexp(r->phase.bytes, -(int)halving_level(r, round) - 1);
    case PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE: return r->phase.bytes;
    default: return r->phase.kind == PW_ASTRA_ALL_GATHER ? r->phase.bytes : r->phase.bytes / r->n;
    }
}

/* ns on a rank behind a round. */
static int64_t behind(const run *r, uint32_t round) {
    bool reduces = r->phase.kind == PW_ASTRA_ALL_REDUCE || r->phase.kind == PW_ASTRA_REDUCE_SCATTER;
    if (r->phase.kind == PW_ASTRA_ALL_REDUCE) reduces = round < r->rounds / 2;
    if (r->phase.algorithm == PW_ASTRA_ALGORITHM_HALVING_DOUBLING && round == 0) reduces = false; /* ASTRA-sim never charges it */
    return r->system->endpoint_delay_ns + (reduces ? astra_reduction(r->system, message_bytes(r, round)) : 0);
}

static uint32_t messages_per_round(const run *r) { return r->phase.algorithm == PW_ASTRA_ALGORITHM_DIRECT ? r->n - 1 : 1; }

/* The tree: rank i hangs 2^l below or above its parent, l being its lowest set bit; 0 is above the top. */
static uint32_t tree_parent(const run *r, uint32_t rank) {
    uint32_t bit = rank & (0u - rank), parent = (rank & ~bit) | bit << 1;
    return parent >= r->n ? 0 : parent;
}

static uint32_t tree_children(const run *r, uint32_t rank, uint32_t children[2]) {
    uint32_t bit = rank & (0u - rank);
    if (rank == 0) return children[0] = r->n / 2, 1;
    if (bit < 2) return 0;
    children[0] = rank - bit / 2;
    children[1] = rank + bit / 2;
    return 2;
}

/* ---- Messages and links ---- */

static size_t link_of(const run *r, uint32_t from, uint32_t to, uint32_t *next) {
    const uint32_t n = r->n;
    switch (r->phase.dimension->topology) {
    case PW_ASTRA_RING: {
        uint32_t ahead = to >= from ? to - from : to + n - from;
        bool clockwise = ahead <= n - ahead;
        *next = clockwise ? from + 1 == n ? 0 : from + 1 : from == 0 ? n - 1 : from - 1;
        return 2 * (size_t)from + !clockwise;
    }
    case PW_ASTRA_SWITCH: *next = from == UINT32_MAX ? to : UINT32_MAX; return from == UINT32_MAX ? (size_t)n + to : from;
    default: *next = to; return (size_t)from * n + to;
    }
}

static void arrive(run *r, const message *m);

static void travel(pw_sim *sim, void *object, uint64_t argument) {
    run *r = object;
    message *m = &r->messages[argument];
    if (m->at == m->to) {
        message here = *m;
        m->next_free = r->first_free;
        r->first_free = (uint32_t)argument;
        arrive(r, &here);
        return;
    }
    uint32_t next;
    int64_t *free_at = &r->free_at[link_of(r, m->at, m->to, &next)], now = pw_sim_now(sim), turn = *free_at > now ? *free_at : now;
    *free_at = turn + (int64_t)(m->bytes / r->rate);
    m->at = next;
    pw_event_at(sim, turn + (int64_t)(r->phase.dimension->latency_ns + m->bytes / r->rate), 0, travel, r, argument);
}

static void send(run *r, uint32_t chunk, uint32_t round, uint32_t from, uint32_t to) {
    uint32_t at = r->first_free;
    if (at == UINT32_MAX) {
        void *grown = r->messages;
        if (pw_grow(r->allocator, &grown, &r->message_capacity, r->message_count + 1u, sizeof *r->messages) != 0) {
            pw_sim_fail(r->sim, PW_NO_MEMORY, NULL, "no memory left");
            return;
        }
        r->messages = grown;
        at = r->message_count++;
    } else {
        r->first_free = r->messages[at].next_free;
    }
    r->messages[at] = (message){chunk, round, from, to, message_bytes(r, round), 0};
    travel(r->sim, r, at);
}

/* ---- Ranks ---- */

/* What an event of a rank carries: chunk, round, rank. */
static uint64_t pack(uint32_t chunk, uint32_t round, uint32_t rank) { return (uint64_t)chunk << 48 | (uint64_t)round << 24 | rank; }

static void send_round(run *r, uint32_t chunk, uint32_t round, uint32_t rank) {
    uint32_t to[2], children;
    switch (r->phase.algorithm) {
    case PW_ASTRA_ALGORITHM_RING: send(r, chunk, round, rank, rank + 1 == r->n ? 0 : rank + 1); break;
    case PW_ASTRA_ALGORITHM_HALVING_DOUBLING: send(r, chunk, round, rank, rank ^ 1u << halving_level(r, round)); break;
    case PW_ASTRA_ALGORITHM_DIRECT:
        for (uint32_t k = 1; k < r->n; k++) send(r, chunk, round, rank, rank + k >= r->n ? rank + k - r->n : rank + k);
        break;
    case PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE:
        if (round == UP && rank != 0) send(r, chunk, UP, rank, tree_parent(r, rank));
        else if (children = tree_children(r, rank, to), children > 0)
            for (uint32_t c = 0; c < children; c++) send(r, chunk, DOWN, rank, to[c]);
        break;
    }
}

static void go_on(pw_sim *sim, void *object, uint64_t argument);

static void start_chunk(run *r, uint32_t rank) {
    uint32_t to[2];
    if (r->started[rank] == r->chunks) return;
    uint32_t chunk = r->started[rank]++;
    if (r->phase.algorithm == PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE && tree_children(r, rank, to)) return; /* waits for its children */
    pw_event_after(r->sim, r->system->endpoint_delay_ns, go_on, r, pack(chunk, 0, rank));
}

/* Begins a round, or ends the chunk. */
static void go_on(pw_sim *sim, void *object, uint64_t argument) {
    run *r = object;
    uint32_t chunk = (uint32_t)(argument >> 48), round = argument >> 24 & 0xFFFFFF, rank = argument & 0xFFFFFF;
    if (round < r->rounds) {
        send_round(r, chunk, round, rank);
        return;
    }
    r->done_ns = pw_sim_now(sim);
    start_chunk(r, rank);
}

static void arrive_in_tree(run *r, const message *m) {
    uint32_t to[2], children = tree_children(r, m->to, to), *came = &r->came[2 * (size_t)m->to + m->round];
    if (m->round == UP && ++*came < children) return;
    int64_t e = r->system->endpoint_delay_ns, step = e + astra_reduction(r->system, r->phase.bytes);
    bool is_leaf = m->round == DOWN && !children;
    uint32_t next = is_leaf ? r->rounds : m->round == UP && m->to != 0 ? UP : DOWN;
    pw_event_after(r->sim, is_leaf ? e : step, go_on, r, pack(m->chunk, next, m->to));
}

static void arrive(run *r, const message *m) {
    if (r->phase.algorithm == PW_ASTRA_ALGORITHM_DOUBLE_BINARY_TREE) {
        arrive_in_tree(r, m);
        return;
    }
    /* rounds end in order: what came early waits for its turn */
    uint32_t *came = &r->came[((size_t)m->chunk * r->n + m->to) * (r->rounds + 1)], *round = &came[r->rounds], each = messages_per_round(r);
    came[m->round]++;
    if (m->round != *round || came[*round] < each) return;
    pw_event_after(r->sim, behind(r, *round), go_on, r, pack(m->chunk, *round + 1, m->to));
    ++*round;
}

/* ---- The run ---- */

static void release(run *r) {
    pw_sim_destroy(r->sim);
    pw_free(r->allocator, r->free_at, r->links * sizeof *r->free_at);
    pw_free(r->allocator, r->came, r->came_count * sizeof *r->came);
    pw_free(r->allocator, r->started, r->n * sizeof *r->started);
    pw_free(r->allocator, r->messages, r->message_capacity * sizeof *r->messages);
}

static pw_status prepare(run *r, pw_error *error) {
    double total = (double)r->n * r->rounds * messages_per_round(r) * r->chunks;
    r->links = r->phase.dimension->topology == PW_ASTRA_FULLY_CONNECTED ? (size_t)r->n * r->n : 2 * (size_t)r->n;
    if (total > MOST_MESSAGES || r->links > MOST_LINKS || r->rounds >= 1u << 24 || r->chunks >= 1u << 16)
        return pw_fail(error, PW_LIMIT, NULL, 0, "the unaware mode has a closed form", "the aware mode would run %.0f messages; the limit is %d", total, MOST_MESSAGES);
    r->came_count = (size_t)r->chunks * r->n * (r->rounds + 1);
    r->free_at = pw_alloc_zero(r->allocator, r->links * sizeof *r->free_at);
    r->came = pw_alloc_zero(r->allocator, r->came_count * sizeof *r->came);
    r->started = pw_alloc_zero(r->allocator, r->n * sizeof *r->started);
    if (!r->free_at || !r->came || !r->started) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    pw_sim_config config = {.allocator = r->allocator, .ticks_per_second = 1e9};
    return pw_sim_create(&config, &r->sim, error);
}

pw_status pw_astra_aware(const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, int64_t bytes,
                         const pw_allocator *allocator, int64_t *ns, pw_error *error) {
    if (network->count != 1)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, NULL, "ASTRA-sim's congestion-aware mode takes one dimension, not %d", network->count);
    PW_TRY(astra_check_given(system, kind, error));
    run r = {.allocator = allocator ? allocator : pw_allocator_default(), .system = system, .n = (uint32_t)network->npus, .chunks = (uint32_t)system->splits,
             .phase = {kind, system->algorithms[kind][0], &network->dimensions[0], (double)bytes / (double)system->splits},
             .rate = pw_astra_rate(&network->dimensions[0]), .first_free = UINT32_MAX};
    r.active = (uint32_t)(system->active_chunks < system->splits ? system->active_chunks : system->splits);
    PW_TRY(astra_check(&r.phase, system, error));
    r.rounds = round_count(&r.phase);
    pw_status status = prepare(&r, error);
    if (status == PW_OK) {
        for (uint32_t rank = 0; rank < r.n; rank++)
            for (uint32_t chunk = 0; chunk < r.active; chunk++) start_chunk(&r, rank);
        status = pw_sim_run(r.sim, PW_TIME_MAX);
        if (status != PW_OK && error) *error = *pw_sim_error(r.sim);
        *ns = r.done_ns;
    }
    release(&r);
    return status;
}
