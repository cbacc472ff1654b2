/* Message mode: a collective as the messages of its step graph.
 *
 * A member goes through the rounds in which it sends or receives; a message may start when its sender and its receiver
 * both stand in its round, that is, when all messages of their earlier rounds are done. The latency phase of the whole
 * collective is spread evenly over the rounds, and its cap over the messages: with f_r the largest fraction of round r, a
 * message runs at most at cap x sum f_r, so that on an idle fabric the rounds add up to the collective's own time. */
#include <math.h>
#include <string.h>

#include "models/program/run.h"

typedef struct graph_message {
    uint32_t round, from, to;
    double fraction;
} graph_message;

typedef struct member_round {
    uint32_t round, left;
    uint32_t first, end; /* its messages in message_graph.touching */
} member_round;

struct message_graph {
    pw_executor *x;
    uint32_t instance, left, members;
    graph_message *messages;
    size_t count, capacity;
    uint32_t *touching;       /* [2 x messages]: by member, in order of round */
    member_round *rounds;     /* by member, in order */
    uint32_t round_count, *current, *first_round; /* [members + 1]: current and first in rounds */
    uint32_t *gpus;
    pw_time latency;
    double cap_Bps, bytes; /* per unit of fraction summed as above; S */
    bool failed;
};

static void collect(void *object, const pw_collective_step *step) {
    message_graph *graph = object;
    if (graph->failed || pw_grow(&graph->x->allocator, (void **)&graph->messages, &graph->capacity, graph->count + 1,
                                 sizeof *graph->messages)) {
        graph->failed = true;
        return;
    }
    graph->messages[graph->count++] = (graph_message){step->round, step->from, step->to, step->fraction};
}

void graph_destroy(pw_executor *x, message_graph *graph) {
    if (!graph) return;
    const pw_allocator *a = &x->allocator;
    pw_free(a, graph->messages, graph->capacity * sizeof *graph->messages);
    pw_free(a, graph->touching, (2 * graph->count + 1) * sizeof *graph->touching);
    pw_free(a, graph->rounds, (2 * graph->count + 1) * sizeof *graph->rounds);
    pw_free(a, graph->current, graph->members * sizeof *graph->current);
    pw_free(a, graph->first_round, (graph->members + 1) * sizeof *graph->first_round);
    pw_free(a, graph->gpus, graph->members * sizeof *graph->gpus);
    pw_free(a, graph, sizeof *graph);
}

/* Lists each member's messages by round. The step graph comes in order of round already. */
static bool index_rounds(message_graph *graph) {
    const pw_allocator *a = &graph->x->allocator;
    uint32_t members = graph->members;
    graph->touching = pw_alloc(a, (2 * graph->count + 1) * sizeof *graph->touching);
    graph->rounds = pw_alloc(a, (2 * graph->count + 1) * sizeof *graph->rounds);
    graph->current = pw_alloc_zero(a, members * sizeof *graph->current);
    graph->first_round = pw_alloc_zero(a, (members + 1) * sizeof *graph->first_round);
    if (!graph->touching || !graph->rounds || !graph->current || !graph->first_round) return false;
    for (size_t m = 0; m < graph->count; m++) {
        graph->current[graph->messages[m].from]++;
        graph->current[graph->messages[m].to]++;
    }
    uint32_t sum = 0;
    for (uint32_t p = 0; p < members; p++) {
        uint32_t own = graph->current[p];
        graph->current[p] = sum;
        sum += own;
    }
    for (size_t m = 0; m < graph->count; m++) {
        graph->touching[graph->current[graph->messages[m].from]++] = (uint32_t)m;
        graph->touching[graph->current[graph->messages[m].to]++] = (uint32_t)m;
    }
    uint32_t first = 0;
    for (uint32_t p = 0; p < members; p++) {
        uint32_t end = graph->current[p];
        graph->first_round[p] = graph->current[p] = graph->round_count;
        for (uint32_t t = first; t < end; t++) {
            uint32_t round = graph->messages[graph->touching[t]].round;
            member_round *last = &graph->rounds[graph->round_count - 1];
            if (t == first || last->round != round) {
                PW_CHECK(t == first || last->round < round);
                graph->rounds[graph->round_count++] = (member_round){.round = round, .first = t, .end = t};
                last = &graph->rounds[graph->round_count - 1];
            }
            last->end++;
            last->left++;
        }
        first = end;
    }
    graph->first_round[members] = graph->round_count;
    return true;
}

static void message_done(pw_sim *sim, void *object, uint64_t index);

static void message_flow(pw_sim *sim, void *object, uint64_t index) {
    message_graph *graph = object;
    pw_executor *x = graph->x;
    const graph_message *m = &graph->messages[index];
    double bytes = m->fraction * graph->bytes;
    x->use_count = 0;
    pw_error error = {0};
    if (pw_message_loads(x->config.collectives, graph->gpus[m->from], graph->gpus[m->to], plan_add_link, x, &error) != PW_OK) {
        pw_sim_fail_with(sim, &error);
        return;
    }
    bool capped = graph->cap_Bps > 0 && graph->cap_Bps <= 1e300;
    if (bytes == 0 || (!capped && x->use_count == 0)) {
        message_done(sim, graph, index);
        return;
    }
    pw_activity_start(x->config.fluid, plan_route(x),
                      &(pw_activity_config){.work = bytes,
                                            .rate_cap = capped ? graph->cap_Bps : 0,
                                            .done = message_done,
                                            .object = graph,
                                            .argument = index});
}

static bool stands_in(const message_graph *graph, uint32_t member, uint32_t round) {
    uint32_t at = graph->current[member];
    return at < graph->first_round[member + 1] && graph->rounds[at].round == round;
}

/* Starts the messages of a member's round whose other end stands in it too. from_only: a sweep over all members would meet
 * each message twice. */
static void start_round(message_graph *graph, uint32_t member, bool from_only) {
    uint32_t at = graph->current[member];
    if (at == graph->first_round[member + 1]) return;
    for (uint32_t t = graph->rounds[at].first; t < graph->rounds[at].end; t++) {
        uint32_t index = graph->touching[t];
        const graph_message *m = &graph->messages[index];
        uint32_t other = m->from == member ? m->to : m->from;
        if ((from_only && m->from != member) || !stands_in(graph, other, m->round)) continue;
        pw_event_after(graph->x->config.sim, graph->latency, message_flow, graph, index);
    }
}

static void message_done(pw_sim *sim, void *object, uint64_t index) {
    (void)sim;
    message_graph *graph = object;
    const graph_message *m = &graph->messages[index];
    bool from_on = --graph->rounds[graph->current[m->from]].left == 0;
    bool to_on = --graph->rounds[graph->current[m->to]].left == 0;
    if (from_on) {
        graph->current[m->from]++;
        start_round(graph, m->from, false);
    }
    if (to_on) {
        graph->current[m->to]++;
        start_round(graph, m->to, false);
    }
    if (--graph->left == 0) {
        pw_executor *x = graph->x;
        collective_finish(x, graph->instance); /* destroys the graph */
        run_ready(x);
    }
}

bool graph_start(pw_executor *x, instance *one) {
    const plan *p = &x->plans[one->plan];
    pw_error error = {0};
    message_graph *graph = pw_alloc_zero(&x->allocator, sizeof *graph);
    uint32_t count = plan_gpus(x, &x->fold->groups[one->group]);
    one->graph = graph;
    bool good = graph && count > 0;
    if (good) {
        graph->x = x;
        graph->instance = one->index;
        graph->members = count;
        graph->gpus = pw_alloc(&x->allocator, count * sizeof *graph->gpus);
        good = graph->gpus != NULL;
    }
    if (good) {
        memcpy(graph->gpus, x->gpus, count * sizeof *graph->gpus);
        pw_group_shape shape;
        if (pw_collective_shape(x->config.collectives, graph->gpus, count, &shape, &error) != PW_OK) {
            pw_sim_fail_with(x->config.sim, &error);
            return false;
        }
        const pw_algorithm *algorithm = &pw_algorithm_table[p->resolved];
        algorithm->steps((pw_collective_kind)p->detail, &shape, collect, graph);
        uint32_t rounds = algorithm->rounds((pw_collective_kind)p->detail, &shape);
        graph->latency = pw_sim_ticks(x->config.sim, rounds ? p->alpha_s / rounds : 0);
        graph->left = (uint32_t)graph->count;
        graph->bytes = p->bytes;
        double fractions = 0, largest = 0;
        for (size_t m = 0; m < graph->count; m++) {
            if (m > 0 && graph->messages[m].round != graph->messages[m - 1].round) {
                fractions += largest;
                largest = 0;
            }
            if (graph->messages[m].fraction > largest) largest = graph->messages[m].fraction;
        }
        graph->cap_Bps = p->cap_Bps * (fractions + largest);
        good = !graph->failed && index_rounds(graph);
    }
    if (!good) {
        pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the messages of \"%s\"", x->job->name);
        return false;
    }
    PW_CHECK(graph->count > 0);
    for (uint32_t m = 0; m < count; m++) start_round(graph, m, true);
    return true;
}
