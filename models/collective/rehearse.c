/* A collective alone on its links, message by message, in a simulation of its own: what rounds that overlap, and messages that share
 * a link, do to an algorithm in a group without order, no sum over rounds says. The rules are those of a run by messages: a message
 * starts when its sender and its receiver both stand in its round, takes a latency and then its share of the links of its way. */
#include <math.h>

#include "models/collective/algorithm.h"
#include "models/collective/collectives_internal.h"
#include "sim/fluid.h"

#define LONG_S 1e4 /* of the simulation, which may last 10^6 s */

typedef struct message {
    pw_collective_step step;
    pw_route_id route;
    bool sent;
} message;

typedef struct member {
    uint32_t next, end; /* in `own` */
    uint32_t left;      /* messages of its round; the round is that of message own[next] */
} member;

typedef struct rehearsal {
    const pw_collectives *collectives;
    const uint32_t *gpus;
    double bytes, latency_s, slow; /* how many times as slow as it is, so that ticks round nothing off */
    pw_sim *sim;
    pw_fluid *fluid;
    message *messages;
    size_t capacity;
    uint32_t count, most, members;
    member *member;
    uint32_t *own; /* [2 x count] messages of each member, in order */
    pw_capacity_id *links; /* [links of the fabric] */
    pw_use *uses;
    size_t use_capacity;
    uint32_t use_count;
    pw_time end;
    bool failed, many;
} rehearsal;

static void collect(void *object, const pw_collective_step *step) {
    rehearsal *r = object;
    if (r->failed || r->many) return;
    r->many = r->count == r->most;
    r->failed = !r->many && pw_grow(r->collectives->allocator, (void **)&r->messages, &r->capacity, r->count + (size_t)1, sizeof *r->messages);
    if (!r->many && !r->failed) r->messages[r->count++] = (message){.step = *step};
}

static void add_use(void *object, pw_link link, double weight) {
    rehearsal *r = object;
    pw_capacity_id *id = &r->links[link];
    if (id->generation == 0) *id = pw_capacity_add(r->fluid, pw_fabric_link(pw_cluster_fabric(r->collectives->cluster), link)->bandwidth_Bps / r->slow);
    if (r->failed || pw_grow(r->collectives->allocator, (void **)&r->uses, &r->use_capacity, r->use_count + (size_t)1, sizeof *r->uses)) r->failed = true;
    else r->uses[r->use_count++] = (pw_use){*id, weight};
}

static void enter(rehearsal *r, uint32_t index);

static void done(pw_sim *sim, void *object, uint64_t number) {
    rehearsal *r = object;
    const pw_collective_step *step = &r->messages[number].step;
    uint32_t ends[2] = {step->from, step->to};
    bool over[2];
    r->end = pw_sim_now(sim);
    for (int e = 0; e < 2; e++) over[e] = --r->member[ends[e]].left == 0;
    for (int e = 0; e < 2; e++)
        if (over[e]) enter(r, ends[e]);
}

static void flow(pw_sim *sim, void *object, uint64_t number) {
    rehearsal *r = object;
    message *m = &r->messages[number];
    if (m->step.fraction * r->bytes > 0) pw_activity_start(r->fluid, m->route, &(pw_activity_config){.work = m->step.fraction * r->bytes, .done = done, .object = r, .argument = number});
    else done(sim, r, number);
}

static uint32_t round_of(const rehearsal *r, uint32_t index) {
    const member *m = &r->member[index];
    return m->left ? r->messages[r->own[m->next - 1]].step.round : PW_NONE;
}

/* The next round in which the member sends or receives: `next` goes behind its messages, of which those start that are met. */
static void enter(rehearsal *r, uint32_t index) {
    member *m = &r->member[index];
    uint32_t first = m->next;
    while (m->next < m->end && r->messages[r->own[m->next]].step.round == r->messages[r->own[first]].step.round) m->next++, m->left++;
    for (uint32_t i = first; i < m->next; i++) {
        message *sent = &r->messages[r->own[i]];
        uint32_t other = sent->step.from == index ? sent->step.to : sent->step.from;
        if (sent->sent || round_of(r, other) != sent->step.round) continue;
        sent->sent = true;
        pw_event_after(r->sim, pw_sim_ticks(r->sim, r->latency_s * r->slow), flow, r, r->own[i]);
    }
}

static pw_status prepare(rehearsal *r, pw_error *error) {
    for (uint32_t i = 0; i < r->count; i++) {
        const pw_collective_step *step = &r->messages[i].step;
        r->member[step->from].end++, r->member[step->to].end++;
        r->use_count = 0;
        PW_TRY(pw_message_loads(r->collectives, r->gpus[step->from], r->gpus[step->to], add_use, r, error));
        if (!r->failed) r->messages[i].route = pw_fluid_route(r->fluid, r->uses, r->use_count);
    }
    uint32_t sum = 0;
    for (uint32_t m = 0; m < r->members; m++) {
        uint32_t own = r->member[m].end;
        r->member[m].next = r->member[m].end = sum;
        sum += own;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const pw_collective_step *step = &r->messages[i].step;
        r->own[r->member[step->from].end++] = i;
        r->own[r->member[step->to].end++] = i;
    }
    return PW_OK;
}

static pw_status run(rehearsal *r, pw_error *error) {
    PW_TRY(prepare(r, error));
    for (uint32_t m = 0; m < r->members; m++) enter(r, m);
    pw_status status = pw_sim_run(r->sim, PW_TIME_MAX);
    if (status == PW_OK) return PW_OK;
    return pw_fail(error, status, NULL, 0, NULL, "%s", pw_sim_error(r->sim)->what);
}

pw_status collectives_rehearse(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const uint32_t *gpus,
                               const pw_group_shape *shape, double bytes, double latency_s, double about_s, uint32_t most, double *seconds,
                               pw_error *error) {
    const pw_allocator *a = collectives->allocator;
    uint32_t links = pw_fabric_links(pw_cluster_fabric(collectives->cluster));
    rehearsal r = {.collectives = collectives, .gpus = gpus, .bytes = bytes, .latency_s = latency_s, .most = most, .members = shape->members,
                   .slow = about_s > 0 ? LONG_S / about_s : 1};
    *seconds = NAN;
    pw_algorithm_table[algorithm].steps(kind, shape, collect, &r);
    pw_status status = PW_OK;
    if (!r.many && !r.failed) {
        r.member = pw_alloc_zero(a, r.members * sizeof *r.member);
        r.own = pw_alloc(a, (2 * (size_t)r.count + 1) * sizeof *r.own);
        r.links = pw_alloc_zero(a, (links + (size_t)1) * sizeof *r.links);
        status = pw_sim_create(&(pw_sim_config){.allocator = a}, &r.sim, error);
        if (status == PW_OK) status = pw_fluid_create(r.sim, false, &r.fluid, error);
        r.failed = !r.member || !r.own || !r.links;
        if (status == PW_OK && collectives->interrupt) pw_sim_watch(r.sim, collectives->interrupt);
        if (status == PW_OK && !r.failed) status = run(&r, error);
        if (status == PW_OK && !r.failed) *seconds = pw_time_to_seconds(r.end, pw_sim_ticks_per_second(r.sim)) / r.slow;
    }
    pw_fluid_destroy(r.fluid);
    pw_sim_destroy(r.sim);
    if (r.member) pw_free(a, r.member, r.members * sizeof *r.member);
    if (r.own) pw_free(a, r.own, (2 * (size_t)r.count + 1) * sizeof *r.own);
    if (r.links) pw_free(a, r.links, (links + (size_t)1) * sizeof *r.links);
    pw_free(a, r.messages, r.capacity * sizeof *r.messages);
    pw_free(a, r.uses, r.use_capacity * sizeof *r.uses);
    if (status == PW_OK && r.failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of a collective");
    return status;
}
