/* Laws of routing policies: ECMP collides as theory says, static routes of a shift never do, adaptive routing avoids what is full. */
#include <math.h>
#include <stdlib.h>

#include "models/fabric/fabric.h"
#include "tests/harness/check.h"

typedef struct setup {
    pw_fabric *fabric;
    pw_network *network;
    pw_vertex *ports;
    uint32_t nodes;
} setup;

static uint64_t state;
static uint32_t draw(uint32_t below) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z >> 33) % below);
}

static int fat_tree(void) {
    int t = 0;
    while (strcmp(pw_topology_names[t], "fat_tree")) t++;
    return t;
}

static void make(setup *s, uint32_t nodes, int64_t radix, pw_routing routing, int64_t flows) {
    *s = (setup){.nodes = nodes};
    pw_network_desc desc = {.topology = fat_tree(), .oversubscription = 1, .radix = radix, .port_Bps = 1, .efficiency = 1,
                            .hop_latency_s = 1e-7, .cable_latency_s = 1e-7, .routing = (int)routing, .flows_per_pair = flows};
    PW_EXPECT(pw_fabric_create(NULL, &s->fabric, NULL) == PW_OK);
    s->ports = malloc(sizeof *s->ports * nodes);
    for (uint32_t i = 0; i < nodes; i++) s->ports[i] = pw_fabric_add_vertex(s->fabric, PW_VERTEX_NIC);
    pw_error error = {0};
    if (pw_network_create(NULL, s->fabric, &desc, s->ports, nodes, 1, &s->network, &error) != PW_OK) PW_FAILED("%s", error.what);
}
static void drop(setup *s) {
    pw_network_destroy(s->network);
    pw_fabric_destroy(s->fabric);
    free(s->ports);
}

static void permute(uint32_t *to, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) to[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = draw(i + 1), kept = to[i];
        to[i] = to[j], to[j] = kept;
    }
}

/* --- What flows do to links ---------------------------------------------------------------------------------------------- */

typedef struct pattern {
    const setup *s;
    double *load;                /* per link, of all flows so far */
    uint32_t flow, count, *flow_of; /* visits: which flow uses which link */
    pw_link *link;
    double *share;
    size_t visits, capacity;
} pattern;

static void visit(void *object, pw_link link, double fraction) {
    pattern *p = object;
    if (p->visits == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->flow_of = realloc(p->flow_of, p->capacity * sizeof *p->flow_of);
        p->link = realloc(p->link, p->capacity * sizeof *p->link);
        p->share = realloc(p->share, p->capacity * sizeof *p->share);
    }
    p->flow_of[p->visits] = p->flow, p->link[p->visits] = link, p->share[p->visits++] = fraction;
    p->load[link] += fraction;
}
static double load_of(void *object, pw_link link) { return ((pattern *)object)->load[link]; }

static pattern send_all(const setup *s, const uint32_t *to) {
    pattern p = {.s = s, .load = calloc(pw_fabric_links(s->fabric), sizeof(double)), .count = s->nodes};
    for (p.flow = 0; p.flow < s->nodes; p.flow++)
        PW_EXPECT(pw_network_spread_loaded(s->network, p.flow, to[p.flow], 1, load_of, &p, visit, &p) == PW_OK);
    return p;
}
static void pattern_free(pattern *p) { free(p->load), free(p->flow_of), free(p->link), free(p->share); }

/* Exact max-min rates by progressive filling. */
static void fill(const pattern *p, double *rate) {
    uint32_t links = pw_fabric_links(p->s->fabric);
    double *left = malloc(links * sizeof *left), *load = malloc(links * sizeof *load);
    for (uint32_t l = 0; l < links; l++) left[l] = pw_fabric_link(p->s->fabric, l)->bandwidth_Bps;
    for (uint32_t f = 0; f < p->count; f++) rate[f] = -1;
    for (;;) {
        memset(load, 0, links * sizeof *load);
        for (size_t v = 0; v < p->visits; v++)
            if (rate[p->flow_of[v]] < 0) load[p->link[v]] += p->share[v];
        double level = INFINITY;
        for (uint32_t l = 0; l < links; l++)
            if (load[l] > 0 && left[l] / load[l] < level) level = left[l] / load[l];
        if (isinf(level)) break;
        for (size_t v = 0; v < p->visits; v++)
            if (rate[p->flow_of[v]] < 0 && left[p->link[v]] / load[p->link[v]] <= level * (1 + 1e-12)) rate[p->flow_of[v]] = -2 - level;
        for (uint32_t f = 0; f < p->count; f++)
            if (rate[f] <= -2) rate[f] = -2 - rate[f];
        for (uint32_t l = 0; l < links; l++) left[l] = pw_fabric_link(p->s->fabric, l)->bandwidth_Bps;
        for (size_t v = 0; v < p->visits; v++)
            if (rate[p->flow_of[v]] >= 0) left[p->link[v]] -= rate[p->flow_of[v]] * p->share[v];
    }
    free(left), free(load);
}

/* Monte-Carlo study of random permutations on a k-ary fat tree of three tiers, one hashed path for each flow, exact max-min rates:
 * mean rate 0.477 (k = 8, spread over seeds 0.021) and 0.428 (k = 16, 0.006); idle links between spines and cores 0.402 and 0.388. */
PW_TEST(ecmp_permutations_on_fat_trees_meet_the_monte_carlo_study) {
    static const struct {
        uint32_t k, seeds;
        double mean, idle, tolerance;
    } cases[] = {{8, 60, 0.477, 0.402, 0.015}, {16, 8, 0.428, 0.388, 0.015}};
    state = 21;
    for (size_t c = 0; c < 2; c++) {
        uint32_t k = cases[c].k, hosts = k * k * k / 4;
        setup s;
        make(&s, hosts, k, PW_ROUTING_ECMP, 1);
        uint32_t *to = malloc(hosts * sizeof *to);
        double *rate = malloc(hosts * sizeof *rate), sum = 0, idle = 0, upper = 0;
        for (uint32_t seed = 0; seed < cases[c].seeds; seed++) {
            permute(to, hosts);
            pattern p = send_all(&s, to);
            fill(&p, rate);
            for (uint32_t f = 0; f < hosts; f++) sum += to[f] == f ? 0 : fmin(rate[f], 1);
            for (uint32_t f = 0; f < hosts; f++) sum += to[f] == f; /* to itself: at full rate */
            for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++) {
                const pw_link_info *info = pw_fabric_link(s.fabric, l);
                if (pw_fabric_vertex_kind(s.fabric, info->to) != PW_VERTEX_CORE) continue;
                upper++;
                idle += p.load[l] == 0;
            }
            pattern_free(&p);
        }
        PW_EXPECT_NEAR(sum / hosts / cases[c].seeds, cases[c].mean, cases[c].tolerance);
        PW_EXPECT_NEAR(idle / upper, cases[c].idle, 0.03);
        free(to), free(rate);
        drop(&s);
    }
}

/* m flows from m ports of one leaf over its m uplinks to another leaf: (1 - 1/m)^m of the uplinks stay idle. */
PW_TEST(hashed_flows_leave_the_share_of_links_idle_that_theory_says) {
    uint32_t links = 0, idle = 0;
    enum { M = 32, LEAVES = 60 };
    setup s;
    make(&s, M * LEAVES, 64, PW_ROUTING_ECMP, 1);
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
        for (uint32_t other = 1; other < 4; other++) {
            pattern p = {.s = &s, .load = calloc(pw_fabric_links(s.fabric), sizeof(double))};
            for (uint32_t i = 0; i < M; i++)
                PW_EXPECT(pw_network_spread(s.network, leaf * M + i, (leaf + other) % LEAVES * M + i, visit, &p) == PW_OK);
            pw_vertex from = pw_fabric_link(s.fabric, p.link[0])->to;
            for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++)
                if (pw_fabric_link(s.fabric, l)->from == from && pw_fabric_link(s.fabric, l)->kind == PW_LINK_TRUNK) {
                    links++;
                    idle += p.load[l] == 0;
                }
            pattern_free(&p);
        }
    PW_EXPECT_INT(links, M * LEAVES * 3);
    PW_EXPECT_NEAR((double)idle / links, pow(1 - 1.0 / M, M), 0.03);
    drop(&s);
}

static double fullest(const pattern *p) {
    double most = 0;
    for (uint32_t l = 0; l < pw_fabric_links(p->s->fabric); l++) {
        double here = p->load[l] / pw_fabric_link(p->s->fabric, l)->bandwidth_Bps;
        if (here > most) most = here;
    }
    return most;
}

/* Zahavi: with D-mod-k every shift permutation runs without contention on a full fat tree. */
PW_TEST(static_routes_of_a_shift_share_no_link) {
    setup s;
    make(&s, 128, 8, PW_ROUTING_STATIC, 1);
    uint32_t to[128];
    for (uint32_t shift = 1; shift < 128; shift++) {
        for (uint32_t i = 0; i < 128; i++) to[i] = (i + shift) % 128;
        pattern p = send_all(&s, to);
        PW_EXPECT_NEAR(fullest(&p), 1, 1e-12);
        pattern_free(&p);
    }
    drop(&s);
}

PW_TEST(adaptive_routes_collide_less_than_hashed_ones_and_spray_never) {
    uint32_t to[1024];
    double most[PW_ROUTING_COUNT] = {0};
    for (int routing = 0; routing < PW_ROUTING_COUNT; routing++) {
        setup s;
        make(&s, 1024, 16, (pw_routing)routing, 0);
        state = 23;
        for (int seed = 0; seed < 5; seed++) {
            permute(to, 1024);
            pattern p = send_all(&s, to);
            most[routing] += fullest(&p) / 5;
            pattern_free(&p);
        }
        drop(&s);
    }
    PW_EXPECT_NEAR(most[PW_ROUTING_SPRAY], 1, 1e-9);
    PW_EXPECT(most[PW_ROUTING_ECMP] > 5 && most[PW_ROUTING_ECMP] < 7); /* the study: 5.70 */
    PW_EXPECT(most[PW_ROUTING_STATIC] > 3 && most[PW_ROUTING_STATIC] < 8);
    PW_EXPECT(most[PW_ROUTING_ADAPTIVE] >= 1 && most[PW_ROUTING_ADAPTIVE] <= 2);
}

PW_TEST(more_flows_per_pair_even_out_ecmp) {
    uint32_t to[128];
    double before = INFINITY;
    for (int64_t flows = 1; flows <= 256; flows *= 16) {
        setup s;
        make(&s, 128, 8, PW_ROUTING_ECMP, flows);
        state = 25;
        permute(to, 128);
        pattern p = send_all(&s, to);
        PW_EXPECT(fullest(&p) < before);
        before = fullest(&p);
        pattern_free(&p);
        drop(&s);
    }
    PW_EXPECT(before < 1.3);
}

PW_TEST(a_pair_always_takes_the_same_way) {
    setup s;
    make(&s, 128, 8, PW_ROUTING_ECMP, 2);
    pattern p = {.s = &s, .load = calloc(pw_fabric_links(s.fabric), sizeof(double))};
    pw_network_spread(s.network, 3, 100, visit, &p);
    size_t count = p.visits;
    pw_network_spread(s.network, 3, 100, visit, &p);
    PW_EXPECT_INT(p.visits, 2 * count);
    for (size_t v = 0; v < count; v++) PW_EXPECT_INT(p.link[v], p.link[v + count]);
    pattern_free(&p);
    drop(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
