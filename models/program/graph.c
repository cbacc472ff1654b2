/* Message mode: a collective as the messages of its step graph.
 *
 * A member goes through the rounds in which it sends or receives, from the moment it arrives at the collective; a message
 * may start when its sender and its receiver both stand in its round, that is, when all messages of their earlier rounds are
 * done. The collective ends, for all members, with its last message. The latency phase of the whole collective is spread evenly
 * over the rounds, and its cap over the messages: with f_r the largest fraction of round r, a message runs at most at
 * cap x sum f_r, so that on an idle fabric the rounds add up to the collective's own time.
 *
 * No message is kept: an algorithm names those of one member and round, and a member knows how many are left. */
#include <math.h>
#include <string.h>

#include "models/program/run.h"
#include "models/program/touching.h"

/* When something happened: a tick, and by which fraction of one the event came late. */
typedef struct instant {
    pw_time tick;
    double late;
} instant;

typedef struct graph_member {
    uint32_t round; /* PW_NONE: not there yet, or done */
    uint32_t left;  /* messages of its round */
    instant entered, last;       /* into its round; end of a message of the round */
    uint32_t out_to, out_route;  /* whom it sent to last */
} graph_member;

struct message_graph {
    pw_executor *x;
    uint32_t instance, members, left; /* left: members that are not done */
    uint32_t entering;                /* the member whose round is being opened */
    pw_collective_kind kind;
    const pw_algorithm *algorithm;
    touching *index;
    pw_group_shape shape;
    graph_member *member;
    uint32_t *gpus;
    pw_collective_options options; /* where the run chooses the pieces */
    uint32_t rounds;
    double latency_ticks, cap_Bps, bytes; /* per message; S */
};

void graph_destroy(pw_executor *x, message_graph *graph) {
    if (!graph) return;
    const pw_allocator *a = &x->allocator;
    touching_destroy(graph->index);
    pw_free(a, graph->member, graph->members * sizeof *graph->member);
    pw_free(a, graph->gpus, graph->members * sizeof *graph->gpus);
    pw_free(a, graph, sizeof *graph);
}

/* --- Running ------------------------------------------------------------------------------------------------------- */

static void message_done(pw_sim *sim, void *object, uint64_t ends);

static instant later(instant a, instant b) {
    if (a.tick != b.tick) return a.tick > b.tick ? a : b;
    return a.late < b.late ? a : b;
}

static void send(message_graph *graph, const pw_collective_step *step) {
    pw_executor *x = graph->x;
    graph_member *from = &graph->member[step->from];
    if (from->out_to != step->to) {
        uint32_t route = flow_message_route(x, graph->gpus[step->from], graph->gpus[step->to]);
        if (route == PW_NONE) return;
        from->out_to = step->to;
        from->out_route = route;
    }
    flow_send(x, &(flow_order){.route = from->out_route,
                               .plan = PW_NONE,
                               .bytes = step->fraction * graph->bytes,
                               .cap_Bps = graph->cap_Bps,
                               .latency = graph->latency_ticks,
                               .late = later(from->entered, graph->member[step->to].entered).late,
                               .done = message_done,
                               .object = graph,
                               .argument = (uint64_t)step->from << 32 | step->to});
}

/* A message of the member that enters its round. It starts if the other end stands there already. */
static void meet(void *object, const pw_collective_step *step) {
    message_graph *graph = object;
    uint32_t entering = graph->entering, other = step->from == entering ? step->to : step->from;
    graph->member[entering].left++;
    if (graph->member[other].round == step->round) send(graph, step);
}

static void over(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    pw_executor *x = object;
    collective_finish(x, (uint32_t)index); /* destroys the graph */
    run_ready(x);
}

/* Enters the first round, of those from `round` on, in which the member sends or receives. */
static void enter(message_graph *graph, uint32_t index, uint32_t round, instant when) {
    graph_member *member = &graph->member[index];
    member->entered = when;
    graph->entering = index;
    for (; round < graph->rounds; round++) {
        member->round = round;
        if (graph->index) touching_of(graph->index, round, index, meet, graph);
        else graph->algorithm->touches(graph->kind, &graph->shape, round, index, meet, graph);
        if (member->left > 0) return;
    }
    member->round = PW_NONE;
    if (--graph->left == 0) pw_event_soon(graph->x->config.sim, over, graph->x, graph->instance);
}

static void message_done(pw_sim *sim, void *object, uint64_t ends) {
    message_graph *graph = object;
    uint32_t pair[2] = {(uint32_t)(ends >> 32), (uint32_t)ends};
    instant now = {pw_sim_now(sim), graph->x->share->flow_late};
    bool on[2];
    for (int end = 0; end < 2; end++) {
        graph_member *member = &graph->member[pair[end]];
        member->last = later(member->last, now);
        on[end] = --member->left == 0;
    }
    for (int end = 0; end < 2; end++)
        if (on[end]) enter(graph, pair[end], graph->member[pair[end]].round + 1, graph->member[pair[end]].last);
}

/* --- Beginning ----------------------------------------------------------------------------------------------------- */

typedef struct fraction_sum {
    uint32_t round;
    double largest, sum;
} fraction_sum;

static void add_fraction(void *object, const pw_collective_step *step) {
    fraction_sum *sum = object;
    if (step->round != sum->round) {
        sum->sum += sum->largest;
        sum->largest = 0;
        sum->round = step->round;
    }
    if (step->fraction > sum->largest) sum->largest = step->fraction;
}

static pw_status no_memory(const pw_executor *x, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of \"%s\"", x->job->name);
}

static pw_status graph_create(pw_executor *x, instance *one, pw_error *error) {
    message_graph *graph = one->graph = pw_alloc_zero(&x->allocator, sizeof *graph);
    uint32_t count = plan_gpus(x, &x->fold->groups[one->group]);
    if (!graph || count == 0) return no_memory(x, error);
    const plan *p = &x->plans[one->plan];
    graph->x = x;
    graph->instance = one->index;
    graph->members = graph->left = count;
    graph->kind = (pw_collective_kind)p->detail;
    graph->bytes = p->bytes;
    graph->gpus = pw_alloc(&x->allocator, count * sizeof *graph->gpus);
    graph->member = pw_alloc_zero(&x->allocator, count * sizeof *graph->member);
    if (!graph->gpus || !graph->member) return no_memory(x, error);
    memcpy(graph->gpus, x->gpus, count * sizeof *graph->gpus);
    for (uint32_t m = 0; m < count; m++) graph->member[m].round = graph->member[m].out_to = PW_NONE;
    PW_TRY(pw_collective_shape(x->config.collectives, graph->gpus, count, &graph->shape, error));
    graph->algorithm = pw_collectives_algorithm(x->config.collectives, p->resolved, &graph->shape);
    uint32_t pieces = pw_collective_pieces(x->config.collectives, graph->kind, p->resolved, &graph->shape, p->alpha_s,
                                           p->alpha_s + (p->cap_Bps > 0 ? p->bytes / p->cap_Bps : 0));
    if (pieces) {
        if (graph->shape.options) graph->options = *graph->shape.options;
        graph->options.pieces = pieces;
        graph->shape.options = &graph->options;
    }
    graph->rounds = graph->algorithm->rounds(graph->kind, &graph->shape);
    fraction_sum sum = {0};
    graph->algorithm->steps(graph->kind, &graph->shape, add_fraction, &sum);
    bool capped = pw_collective_capped(x->config.collectives, graph->kind, p->resolved, &graph->shape);
    graph->cap_Bps = capped ? p->cap_Bps * (sum.sum + sum.largest) : INFINITY;
    graph->latency_ticks = graph->rounds ? p->alpha_s / graph->rounds * pw_sim_ticks_per_second(x->config.sim) : 0;
    if (graph->algorithm->touches) return PW_OK;
    return touching_create(&x->allocator, graph->algorithm, graph->kind, &graph->shape, &graph->index, error);
}

void graph_arrive(pw_executor *x, instance *one, const op_run *op) {
    pw_error error = {0};
    if (!one->graph && graph_create(x, one, &error) != PW_OK) {
        pw_sim_fail_with(x->config.sim, &error);
        return;
    }
    uint32_t rank = x->fold->representative[op->rank_class];
    uint32_t member = x->position_of_rank[x->fold->groups[one->group].role][rank];
    enter(one->graph, member, 0, (instant){pw_sim_now(x->config.sim), 0});
}
