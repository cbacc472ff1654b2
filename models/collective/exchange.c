/* What an exchange of all members with all puts on links, without walking all pairs. Domains are alike: each has the same members and ports
 * by number, so that what a pair of domains does inside them, every pair does. Between the ports of domains the same matrix of bytes goes
 * from every domain to every other, and the network spreads a row of it, the same from all domains at once, by sums over its
 * subtrees (pw_network_spread_exchange). n members in domains of p cost n p walks instead of n^2. */
#include <math.h>
#include <string.h>

#include "models/collective/collectives_internal.h"

enum { FEWEST_DOMAINS = 3 };

typedef struct exchange {
    const pw_collectives *collectives;
    const uint32_t *gpus;
    const pw_group_shape *shape;
    uint32_t ports, all_ports;  /* of a domain, of the cluster */
    uint32_t from, to;          /* domains that are walked now */
    double *first, *now;        /* [ports x ports] bytes between the ports of two domains: of the first pair, of this one */
    double *out, *in;           /* [all_ports] */
    load_sum sum;
    double times;               /* how often what is walked happens */
    bool irregular;
} exchange;

static uint32_t domain_at(const exchange *e, uint32_t run) { return e->gpus[run * e->shape->per_domain] / e->collectives->domain_gpus; }

/* Same members by number in every domain. */
static bool is_alike(const exchange *e) {
    uint32_t p = e->shape->per_domain, size = e->collectives->domain_gpus;
    for (uint32_t m = 0; m < e->shape->members; m++)
        if (e->gpus[m] / size != domain_at(e, m / p) || e->gpus[m] % size != e->gpus[m % p] % size) return false;
    return true;
}

static void add_inside(void *object, pw_link link, double bytes) {
    exchange *e = object;
    load_sum_add(&e->sum, link, bytes * e->times);
}

static void add_between(void *object, uint32_t port_a, uint32_t port_b, double bytes) {
    exchange *e = object;
    uint32_t a = port_a - e->from * e->ports, b = port_b - e->to * e->ports;
    if (a < e->ports && b < e->ports) e->now[a * e->ports + b] += bytes;
    else e->irregular = true;
}

static pw_status walk_pairs(exchange *e, uint32_t from, uint32_t to, double bytes, pw_error *error) {
    uint32_t p = e->shape->per_domain;
    e->from = domain_at(e, from), e->to = domain_at(e, to);
    PW_TRY(collectives_check(e->collectives, error));
    for (uint32_t i = 0; i < p; i++)
        for (uint32_t j = 0; j < p && !e->irregular; j++)
            if (from != to || i != j)
                PW_TRY(collectives_message_parts(e->collectives, e->gpus[from * p + i], e->gpus[to * p + j], bytes, add_inside, add_between, e,
                                                 error));
    return PW_OK;
}

static pw_status walk_domains(exchange *e, double bytes, pw_error *error) {
    size_t size = (size_t)e->ports * e->ports;
    uint32_t domains = e->shape->domains;
    for (uint32_t d = 0; d < domains && !e->irregular; d++) {
        memset(e->now, 0, size * sizeof *e->now);
        e->times = domains - 1.0;
        PW_TRY(walk_pairs(e, d, (d + 1) % domains, bytes, error));
        if (d == 0) memcpy(e->first, e->now, size * sizeof *e->now);
        for (size_t i = 0; i < size; i++) e->irregular |= fabs(e->now[i] - e->first[i]) > 1e-12 * bytes;
        memset(e->now, 0, size * sizeof *e->now);
        e->times = 1;
        PW_TRY(walk_pairs(e, d, d, bytes, error));
        for (size_t i = 0; i < size; i++) e->irregular |= e->now[i] > 0; /* through the network to a neighbour */
    }
    return PW_OK;
}

static pw_status spread_rows(exchange *e, pw_error *error) {
    const pw_network *network = pw_cluster_network(e->collectives->cluster);
    e->times = 1;
    for (uint32_t a = 0; a < e->ports; a++) {
        const double *row = &e->first[(size_t)a * e->ports];
        double any = 0;
        for (uint32_t b = 0; b < e->ports; b++) any += row[b];
        if (!(any > 0)) continue;
        memset(e->out, 0, e->all_ports * sizeof *e->out);
        memset(e->in, 0, e->all_ports * sizeof *e->in);
        for (uint32_t d = 0; d < e->shape->domains; d++) {
            e->out[domain_at(e, d) * e->ports + a] = 1;
            memcpy(&e->in[domain_at(e, d) * e->ports], row, e->ports * sizeof *row);
        }
        pw_status status = pw_network_spread_exchange(network, e->ports, e->out, e->in, add_inside, e);
        if (status == PW_NO_MEMORY) return pw_fail(error, status, NULL, 0, NULL, "no memory for the link loads of a collective");
        if (status != PW_OK) {
            e->irregular = true;
            return PW_OK;
        }
    }
    return PW_OK;
}

pw_status exchange_loads(const pw_collectives *collectives, const uint32_t *gpus, const pw_group_shape *shape, double bytes, load_sum *sum,
                         bool *done, pw_error *error) {
    const pw_allocator *allocator = collectives->allocator;
    exchange e = {.collectives = collectives, .gpus = gpus, .shape = shape};
    *done = false;
    if (!shape->even || shape->domains < FEWEST_DOMAINS || collectives->domain_gpus == 0 || !pw_cluster_network(collectives->cluster)) return PW_OK;
    for (uint32_t v = 0; v < collectives->vertices; v++) e.all_ports += collectives->port_of[v] != PW_NONE;
    uint32_t domains = pw_cluster_gpus(collectives->cluster) / collectives->domain_gpus;
    e.ports = domains ? e.all_ports / domains : 0;
    if (e.ports == 0 || e.ports * domains != e.all_ports || domains * collectives->domain_gpus != pw_cluster_gpus(collectives->cluster) || !is_alike(&e))
        return PW_OK;
    size_t size = (size_t)e.ports * e.ports, doubles = 2 * size + 2 * (size_t)e.all_ports;
    e.first = pw_alloc_zero(allocator, doubles * sizeof *e.first);
    if (!e.first) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the link loads of a collective");
    e.now = e.first + size;
    e.out = e.now + size;
    e.in = e.out + e.all_ports;
    load_sum_create(collectives, &e.sum);
    pw_status status = walk_domains(&e, bytes, error);
    if (status == PW_OK && !e.irregular) status = spread_rows(&e, error);
    *done = status == PW_OK && !e.irregular;
    for (uint32_t i = 0; *done && i < e.sum.count; i++) load_sum_add(sum, e.sum.links[i], e.sum.bytes[i]);
    sum->failed |= e.sum.failed;
    load_sum_destroy(&e.sum);
    pw_free(allocator, e.first, doubles * sizeof *e.first);
    return status;
}
