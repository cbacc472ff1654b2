/* Groups whose domains hold different numbers of members, or in mixed order. Their shape does not say which message crosses and which
 * ports it meets there: one member beside eight takes what those send through its own port. So the messages are put on the links of
 * these very members and run once, alone (rehearse.c). Of those with more than MOST messages a round lasts as long as its busiest link. */
#include <math.h>

#include "models/collective/algorithm.h"
#include "models/collective/collectives_internal.h"

enum { MOST = 50000 };

typedef struct round_walk {
    const pw_collectives *collectives;
    const pw_group_shape *shape;
    const uint32_t *gpus;
    load_sum now, all;
    double longest; /* fraction of the longest message inside a domain of a mesh */
    uint32_t round; /* counted from 1; 0: none yet */
    uint32_t count;
    bool crossing;
    algorithm_figures figures;
    pw_status status;
    pw_error *error;
} round_walk;

static void end_round(round_walk *w) {
    if (w->round == 0) return;
    double rate = load_sum_rate(&w->now), links = isinf(rate) ? 0 : 1 / rate;
    double pair = w->shape->pair_Bps > 0 ? w->longest / w->shape->pair_Bps : 0;
    w->figures.span_spB += pair > links ? pair : links;
    *(w->crossing ? &w->figures.hops.network : &w->figures.hops.scaleup) += 1;
    w->crossing = false;
    w->longest = 0;
    load_sum_clear(&w->now);
}

static void take(void *object, const pw_collective_step *step) {
    round_walk *w = object;
    if (w->status == PW_OK && w->count++ % 1024 == 0) w->status = collectives_check(w->collectives, w->error);
    if (w->status != PW_OK) return;
    if (step->round + 1 != w->round) {
        end_round(w);
        w->round = step->round + 1;
    }
    uint32_t from = w->gpus[step->from], to = w->gpus[step->to];
    bool crosses = collectives_domain(w->collectives, from) != collectives_domain(w->collectives, to);
    w->crossing |= crosses;
    if (!crosses && step->fraction > w->longest) w->longest = step->fraction;
    w->status = load_sum_message(&w->now, from, to, step->fraction, w->error);
    if (w->status == PW_OK) w->status = load_sum_message(&w->all, from, to, step->fraction, w->error);
}

pw_status collectives_measure_uneven(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const uint32_t *gpus,
                                     const pw_group_shape *shape, double bytes, algorithm_figures *figures, pw_error *error) {
    round_walk w = {.collectives = collectives, .shape = shape, .gpus = gpus, .status = PW_OK, .error = error};
    load_sum_create(collectives, &w.now);
    load_sum_create(collectives, &w.all);
    pw_algorithm_table[algorithm].steps(kind, shape, take, &w);
    if (w.status == PW_OK) end_round(&w);
    double rate = load_sum_rate(&w.all), cut_spB = isinf(rate) ? 0 : 1 / rate;
    load_sum_destroy(&w.all);
    load_sum_destroy(&w.now);
    PW_TRY(w.status);
    *figures = w.figures;
    if (shape->domains > 1) figures->load.network = cut_spB * shape->network_Bps;
    else figures->load.scaleup = cut_spB * shape->scaleup_Bps;
    double inside_s = shape->scaleup_latency_s > 0 ? shape->scaleup_latency_s : shape->latency_s;
    figures->alpha_s = figures->hops.scaleup * inside_s + figures->hops.network * shape->latency_s;
    uint32_t rounds = pw_algorithm_table[algorithm].rounds(kind, shape);
    if (!(bytes > 0) || rounds == 0) return PW_OK;
    double seconds;
    PW_TRY(collectives_rehearse(collectives, algorithm, kind, gpus, shape, bytes, figures->alpha_s / rounds,
                                figures->alpha_s + bytes * figures->span_spB, MOST, &seconds, error));
    if (!isnan(seconds)) figures->span_spB = seconds > figures->alpha_s ? (seconds - figures->alpha_s) / bytes : 0;
    return PW_OK;
}
