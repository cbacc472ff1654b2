/* Time of one collective, alone on an idle fabric. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/collective/collectives_internal.h"

static const pw_collective_cost no_cost = {.algorithm = 0, .cap_Bps = INFINITY};

static pw_status check_shape(const pw_group_shape *shape, pw_error *error) {
    if (shape->domains < 1 || shape->per_domain < 1 || shape->domains > shape->members ||
        (shape->even && (uint64_t)shape->domains * shape->per_domain != shape->members))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a group of %u members cannot fill %u domains of %u",
                       shape->members, shape->domains, shape->per_domain);
    if (shape->per_domain > 1 && !(shape->scaleup_Bps > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give the domain's GPUs a link", "no bandwidth inside a domain");
    if (shape->domains > 1 && !(shape->network_Bps > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give the nodes network ports", "no bandwidth between domains");
    return PW_OK;
}

typedef enum source { SOURCE_OWN, SOURCE_ANY, SOURCE_FORM } source;

/* Blocks for every peer go at once over the channels of the library; others pass one message. */
static bool goes_at_once(int kind) {
    return kind == PW_COLLECTIVE_ALL_TO_ALL || kind == PW_COLLECTIVE_ALL_TO_ALL_V || kind == PW_COLLECTIVE_GATHER ||
           kind == PW_COLLECTIVE_SCATTER;
}
static bool passes_one(int kind) { return kind == PARAMETER_KIND_MESSAGE || kind == PW_COLLECTIVE_SEND_RECV; }

typedef struct message_group { /* for which channels are counted */
    const library_constants *library;
    uint32_t members, peers;
} message_group;

static double part_of(const void *context, double member_bytes) {
    const message_group *group = context;
    return library_p2p_part(group->library, group->members, group->peers, member_bytes);
}

/* What the host's way of launching adds to every operation. */
static double launch_s(const pw_collectives *collectives, int kind, const pw_group_shape *shape) {
    return collectives->launch_s[goes_at_once(kind) || passes_one(kind)] + (shape->per_domain - 1) * collectives->launch_member_s;
}

static pw_collective_cost cost_with(const pw_collectives *collectives, int kind, int algorithm, source from,
                                    const pw_group_shape *shape, double bytes, int protocol, const algorithm_figures *figures) {
    pw_collective_cost cost = {.algorithm = algorithm};
    double cut = bytes * algorithm_cut(shape, figures->load), fluid = cut;
    if (from == SOURCE_FORM) {
        cost.alpha_s = figures->alpha_s;
        fluid = bytes * figures->span_spB;
    } else {
        parameter_query query = {.kind = kind,
                                 .algorithm = algorithm,
                                 .members = shape->members,
                                 .domains = shape->domains,
                                 .bytes = bytes,
                                 .scaleup_Bps = shape->scaleup_Bps,
                                 .network_Bps = shape->network_Bps,
                                 .latency_s = shape->latency_s,
                                 .load = figures->load,
                                 .hops = figures->hops,
                                 .threads = collectives->threads,
                                 .protocol = protocol,
                                 .stack = &collectives->stack};
        message_group group = {&collectives->library, shape->members, passes_one(kind) ? 1 : shape->members - 1};
        query.member_bytes = passes_one(kind) ? bytes : bytes / shape->members;
        query.part_of = part_of;
        query.context = &group;
        query.channel_bytes = part_of(&group, query.member_bytes);
        parameter_answer answer = parameters_least(&collectives->parameters, &query, from == SOURCE_OWN);
        cost.alpha_s = answer.alpha_s + launch_s(collectives, kind, shape);
        cost.sms = answer.sms;
        if (answer.row && answer.row->protocol >= 0) cost.protocol = library_protocol_names[answer.row->protocol];
        if (answer.row) cost.parameter_line = answer.row->line;
        if (answer.fluid_s > fluid) fluid = answer.fluid_s; /* the cut bound holds whatever was measured elsewhere */
    }
    cost.total_s = cost.alpha_s + fluid;
    cost.cap_Bps = fluid > 0 ? bytes / fluid : INFINITY;
    cost.floor_s = cut;
    if (fluid > 0 && kind < PW_COLLECTIVE_KIND_COUNT) /* uncalibrated: no traffic is on file; of messages none is counted */
        cost.memory_Bps = collectives->memory_traffic[kind] * cost.cap_Bps * (shape->members - 1.0) / shape->members;
    return cost;
}

/* Whether the shape says all about what a form loads. Of a root's messages it says little: they leave by many ports. Rings over an
 * odd number of domains close on another rail, which may take a way inside the domain. */
static bool is_regular(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape) {
    if (shape->domains > 1 && (!collectives->full || shape->exchange_Bps > 0)) return false;
    if (collectives->rails && shape->domains % 2 && shape->domains > 1 && shape->per_domain > 1) return false;
    return shape->even && collectives->crossbar && kind != PW_COLLECTIVE_GATHER && kind != PW_COLLECTIVE_SCATTER;
}

/* Loads of a direct exchange are n^2 edges: of large groups only the chosen algorithm is measured. */
enum { MEASURE_EVERY = 256, MEASURE_UNEVEN = 2048 };

static pw_status measure(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape,
                         const uint32_t *gpus, double bytes, algorithm_figures *figures, pw_error *error) {
    if (gpus && !shape->even && !algorithm_forms[algorithm].load && shape->members <= MEASURE_UNEVEN)
        return collectives_measure_uneven(collectives, algorithm, kind, gpus, shape, bytes, figures, error);
    return algorithm_measure(collectives->allocator, algorithm, kind, shape, figures, error);
}

/* Best of the algorithms that apply and have rows of one source; of those without rows only the usual ones. `chosen` is a
 * number of the table or of a variant; the shape has its options. */
static pw_status best_of(const pw_collectives *collectives, pw_collective_kind kind, int chosen, int protocol, source from,
                         const pw_group_shape *shape, const uint32_t *gpus, double bytes, bool *found, pw_collective_cost *best, pw_error *error) {
    bool multicast = pw_cluster_has_multicast(collectives->cluster);
    const algorithm_variant *variant = variant_of(collectives, chosen);
    int algorithm = variant ? variant->algorithm : chosen;
    *found = false;
    for (int i = 0; i < algorithm_count(); i++) {
        if (algorithm == PW_ALGORITHM_AUTO ? from == SOURCE_FORM && !algorithm_forms[i].automatic : algorithm != i) continue;
        if (!pw_algorithm_table[i].applies(kind, shape, multicast)) continue;
        if (from != SOURCE_FORM &&
            !parameters_has(&collectives->parameters, kind, i, shape->domains > 1, from == SOURCE_OWN))
            continue;
        algorithm_figures figures;
        PW_TRY(measure(collectives, kind, i, shape, gpus, bytes, &figures, error));
        pw_collective_cost cost = cost_with(collectives, kind, i, from, shape, bytes, protocol, &figures);
        if (isinf(cost.total_s)) continue; /* no row holds */
        if (variant) cost.algorithm = algorithm == PW_ALGORITHM_AUTO ? chosen + 1 + i : chosen;
        bool known = is_regular(collectives, kind, shape) && algorithm_forms[i].load;
        if (gpus && shape->members <= MEASURE_EVERY && !known && (!*found || cost.total_s < best->total_s))
            PW_TRY(collectives_need(collectives, kind, gpus, shape, bytes, &cost, error));
        if (!*found || cost.total_s < best->total_s) *best = cost;
        *found = true;
    }
    return PW_OK;
}

static pw_status does_not_apply(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                                const pw_group_shape *shape, pw_error *error) {
    char hint[512] = "these do: auto";
    for (int i = 0; i < algorithm_count(); i++) {
        if (!pw_algorithm_table[i].applies(kind, shape, pw_cluster_has_multicast(collectives->cluster))) continue;
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, ", %s", pw_algorithm_table[i].name);
    }
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, hint, "the algorithm %s cannot do %s in a group of %u (%u x %u)",
                   pw_collectives_algorithm_name(collectives, algorithm), pw_collective_names[kind], shape->members, shape->domains,
                   shape->per_domain);
}

/* gpus: not NULL when what their links need is to be measured wherever the shape does not say it and the group is small. */
static pw_status choose(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape,
                        const uint32_t *gpus, double bytes, pw_collective_cost *cost, pw_error *error) {
    *cost = no_cost;
    if ((int)kind < 0 || kind >= PW_COLLECTIVE_KIND_COUNT || algorithm < PW_ALGORITHM_AUTO ||
        algorithm >= algorithm_count() + (int)collectives->variant_count)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "no such collective or algorithm: %d, %d", (int)kind, algorithm);
    if (!(bytes >= 0) || isinf(bytes))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a collective cannot move %g bytes", bytes);
    if (shape->members < 2) return PW_OK;
    PW_TRY(check_shape(shape, error));
    pw_group_shape with = *shape;
    pw_collectives_algorithm(collectives, algorithm, &with);
    PW_TRY(variant_fits(collectives, algorithm, kind, &with, error));
    int protocol = -1;
    if (algorithm == PW_ALGORITHM_AUTO && collectives->chooses_library) algorithm = collectives_chosen(collectives, kind, &with, bytes, &protocol);
    for (source from = collectives->calibrated ? SOURCE_OWN : SOURCE_FORM; from <= SOURCE_FORM; from++) {
        bool found = false;
        if (protocol >= 0) PW_TRY(best_of(collectives, kind, algorithm, protocol, from, &with, gpus, bytes, &found, cost, error));
        if (found) return PW_OK;
        PW_TRY(best_of(collectives, kind, algorithm, -1, from, &with, gpus, bytes, &found, cost, error));
        if (found) return PW_OK;
    }
    return does_not_apply(collectives, kind, algorithm, &with, error);
}

pw_status pw_collective_cost_of(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                                const pw_group_shape *shape, double bytes, pw_collective_cost *cost, pw_error *error) {
    return choose(collectives, kind, algorithm, shape, NULL, bytes, cost, error);
}

pw_status pw_collective_group_cost(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                                   const uint32_t *gpus, const pw_group_shape *shape, double bytes, pw_collective_cost *cost,
                                   pw_error *error) {
    bool small = shape->members <= MEASURE_EVERY;
    PW_TRY(choose(collectives, kind, algorithm, shape, gpus, bytes, cost, error));
    bool known = small || shape->members < 2 || is_regular(collectives, kind, shape);
    return known ? PW_OK : collectives_need(collectives, kind, gpus, shape, bytes, cost, error);
}

bool pw_collective_capped(const pw_collectives *collectives, pw_collective_kind kind, int algorithm, const pw_group_shape *shape) {
    const algorithm_variant *variant = variant_of(collectives, algorithm);
    int row = variant ? variant->algorithm : algorithm;
    bool several = shape->domains > 1;
    return algorithm_forms[row].load || (collectives->calibrated &&
                                         (parameters_has(&collectives->parameters, kind, row, several, true) ||
                                          parameters_has(&collectives->parameters, kind, row, several, false)));
}

pw_status pw_message_cost_of(const pw_collectives *collectives, uint32_t from, uint32_t to, double bytes,
                             pw_collective_cost *cost, pw_error *error) {
    *cost = no_cost;
    if (!(bytes >= 0) || isinf(bytes))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a message cannot carry %g bytes", bytes);
    if (from == to) return PW_OK;
    bool inside = collectives_domain(collectives, from) == collectives_domain(collectives, to);
    pw_group_shape pair = {.members = 2, .domains = inside ? 1 : 2, .per_domain = inside ? 2 : 1, .even = true};
    double rate = 0;
    PW_TRY(collectives_message_path(collectives, from, to, &rate, &pair.latency_s, error));
    pair.scaleup_Bps = pair.network_Bps = rate;
    algorithm_figures figures = {.load = {inside ? 1 : 0, inside ? 0 : 1}, .hops = {inside ? 1 : 0, inside ? 0 : 1},
                                 .alpha_s = pair.latency_s};
    figures.span_spB = algorithm_cut(&pair, figures.load);
    source rows = SOURCE_FORM;
    if (collectives->calibrated && parameters_has(&collectives->parameters, PARAMETER_KIND_MESSAGE, -1, !inside, false))
        rows = SOURCE_ANY;
    if (collectives->calibrated && parameters_has(&collectives->parameters, PARAMETER_KIND_MESSAGE, -1, !inside, true))
        rows = SOURCE_OWN;
    *cost = cost_with(collectives, PARAMETER_KIND_MESSAGE, -1, rows, &pair, bytes, -1, &figures);
    return PW_OK;
}
