/* Load, hops and time of an algorithm from its messages, where it has no closed form of them: what each member's ports
 * carry in each round. Hops of a round that crosses domains count as network hops. */
#include "models/collective/algorithm.h"

double algorithm_cut(const pw_group_shape *shape, algorithm_load load) {
    double inside = load.scaleup > 0 ? load.scaleup / shape->scaleup_Bps : 0;
    double between = load.network > 0 ? load.network / shape->network_Bps : 0;
    return inside > between ? inside : between;
}

double exchange_share(pw_collective_kind kind, const pw_group_shape *shape, uint32_t from, uint32_t to) {
    double n = shape->members;
    const pw_collective_options *options = kind == PW_COLLECTIVE_ALL_TO_ALL_V ? shape->options : NULL;
    if (options && options->matrix) return options->matrix[(size_t)from * shape->members + to];
    if (options && options->imbalance > 0)
        return to == 0 ? options->imbalance / n : (1 - options->imbalance / n) / (n - 1);
    return 1 / n;
}

enum { OUT, IN, NETWORK_OUT, NETWORK_IN, PORTS };

typedef struct port_sums {
    uint32_t round; /* that `now` is of, counted from 1 */
    double now[PORTS], all[PORTS];
} port_sums;

typedef struct walk {
    const pw_group_shape *shape;
    port_sums *members;
    uint32_t round; /* counted from 1; 0: none yet */
    bool crossing;
    double scaleup, network, message; /* of the busiest port in this round, and of its largest message inside a domain */
    algorithm_figures figures;
} walk;

static void end_round(walk *w) {
    if (w->round == 0) return;
    *(w->crossing ? &w->figures.hops.network : &w->figures.hops.scaleup) += 1;
    double ports = algorithm_cut(w->shape, (algorithm_load){w->scaleup, w->network});
    double pair = w->shape->pair_Bps > 0 ? w->message / w->shape->pair_Bps : 0;
    w->figures.span_spB += pair > ports ? pair : ports;
    w->crossing = false;
    w->scaleup = w->network = w->message = 0;
}

static void add(walk *w, uint32_t member, int port, double bytes) {
    port_sums *sums = &w->members[member];
    if (sums->round != w->round) {
        for (int i = 0; i < PORTS; i++) sums->now[i] = 0;
        sums->round = w->round;
    }
    sums->now[port] += bytes;
    sums->all[port] += bytes;
    double *busiest = port >= NETWORK_OUT ? &w->network : &w->scaleup;
    double *total = port >= NETWORK_OUT ? &w->figures.load.network : &w->figures.load.scaleup;
    if (sums->now[port] > *busiest) *busiest = sums->now[port];
    if (sums->all[port] > *total) *total = sums->all[port];
}

/* In a group whose domains differ, any message may cross: it counts as both. */
static void take(void *object, const pw_collective_step *step) {
    walk *w = object;
    const pw_group_shape *shape = w->shape;
    if (step->round + 1 != w->round) {
        end_round(w);
        w->round = step->round + 1;
    }
    bool either = !shape->even && shape->domains > 1;
    bool crosses = shape->domains > 1 && (either || step->from / shape->per_domain != step->to / shape->per_domain);
    if (crosses) {
        w->crossing = true;
        add(w, step->from, NETWORK_OUT, step->fraction);
        add(w, step->to, NETWORK_IN, step->fraction);
    }
    if (!crosses || (either && shape->per_domain > 1)) {
        add(w, step->from, OUT, step->fraction);
        add(w, step->to, IN, step->fraction);
        if (step->fraction > w->message) w->message = step->fraction;
    }
}

pw_status algorithm_measure(const pw_allocator *allocator, int algorithm, pw_collective_kind kind, const pw_group_shape *shape,
                            algorithm_figures *figures, pw_error *error) {
    const algorithm_form *form = &algorithm_forms[algorithm];
    if (form->load) {
        figures->load = form->load(kind, shape);
        if (!(shape->scaleup_Bps > 0)) figures->load.scaleup = 0; /* no neighbour shares a domain */
        figures->hops = form->hops(kind, shape);
        figures->alpha_s = (figures->hops.scaleup + figures->hops.network) * shape->latency_s;
        figures->span_spB = algorithm_cut(shape, figures->load);
        return PW_OK;
    }
    walk w = {.shape = shape, .members = pw_alloc_zero(allocator, shape->members * sizeof *w.members)};
    if (!w.members) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the messages of a collective");
    pw_algorithm_table[algorithm].steps(kind, shape, take, &w);
    end_round(&w);
    pw_free(allocator, w.members, shape->members * sizeof *w.members);
    *figures = w.figures;
    double inside_s = shape->scaleup_latency_s > 0 ? shape->scaleup_latency_s : shape->latency_s;
    figures->alpha_s = figures->hops.scaleup * inside_s + figures->hops.network * shape->latency_s;
    return PW_OK;
}
