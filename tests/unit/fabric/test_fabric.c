/* Laws of networks: routes are paths, flows are conserved, capacity across a cut is what theory says. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "models/fabric/fabric.h"
#include "tests/harness/check.h"
#include "tests/unit/fabric/flow.h"

enum { SINGLE, FAT_TREE, RAILS };

typedef struct setup {
    pw_fabric *fabric;
    pw_network *network;
    pw_vertex *ports;
    uint32_t nodes, rails;
} setup;

static uint64_t state;
static uint32_t draw(uint32_t below) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z >> 33) % below);
}

static pw_network_desc describe(int topology, double oversubscription, int64_t radix) {
    return (pw_network_desc){.topology = topology, .oversubscription = oversubscription, .radix = radix, .port_Bps = 50e9,
                             .efficiency = 0.98, .hop_latency_s = 200e-9, .cable_latency_s = 100e-9};
}

static pw_status make(setup *s, const pw_network_desc *desc, uint32_t nodes, uint32_t rails, const pw_allocator *allocator,
                      pw_error *error) {
    *s = (setup){.nodes = nodes, .rails = rails};
    pw_status status = pw_fabric_create(allocator, &s->fabric, error);
    if (status != PW_OK) return status;
    s->ports = malloc(sizeof *s->ports * nodes * rails);
    for (uint32_t i = 0; i < nodes * rails; i++)
        if ((s->ports[i] = pw_fabric_add_vertex(s->fabric, PW_VERTEX_NIC)) == PW_NONE) return PW_NO_MEMORY;
    return pw_network_create(allocator, s->fabric, desc, s->ports, nodes, rails, &s->network, error);
}
static void drop(setup *s) {
    pw_network_destroy(s->network);
    pw_fabric_destroy(s->fabric);
    free(s->ports);
}

/* A random network that exists; prints nothing, fails the test when a legal one is refused. */
static bool make_random(setup *s, int topology) {
    static const double ratios[] = {1, 1, 1.5, 2, 3, 4, 8};
    for (;;) {
        pw_network_desc desc = describe(topology, ratios[draw(7)], topology == SINGLE ? 0 : 4 + 2 * draw(15));
        uint32_t rails = 1u << draw(4), nodes = 1 + draw(40);
        pw_error error = {0};
        pw_status status = make(s, &desc, nodes, rails, NULL, &error);
        if (status == PW_OK) return true;
        bool expected = status == PW_BAD_INPUT && (strstr(error.what, "tiers") || strstr(error.what, "no room"));
        if (!expected) PW_FAILED("%u nodes x %u, radix %lld: %s", nodes, rails, (long long)desc.radix, error.what);
        drop(s);
        if (!expected) return false;
    }
}

static bool is_path(const setup *s, const pw_path *path, uint32_t a, uint32_t b) {
    pw_vertex at = s->ports[a];
    for (uint32_t i = 0; i < path->count; i++) {
        const pw_link_info *link = pw_fabric_link(s->fabric, path->links[i]);
        if (link->from != at) return false;
        at = link->to;
        for (uint32_t j = 0; j < i; j++)
            if (path->links[j] == path->links[i]) return false;
    }
    return at == s->ports[b];
}

PW_TEST(every_route_is_a_path_and_no_longer_than_the_tiers) {
    state = 1;
    for (int round = 0; round < 300; round++) {
        setup s;
        if (!make_random(&s, (int)draw(3))) break;
        pw_network_facts facts = pw_network_get_facts(s.network);
        uint32_t ports = s.nodes * s.rails, longest = 0;
        for (int i = 0; i < 40; i++) {
            uint32_t a = draw(ports), b = draw(ports);
            pw_path path = {0}, again = {0};
            uint64_t hash = draw(1000);
            PW_EXPECT(pw_network_route(s.network, a, b, hash, &path) == PW_OK);
            PW_EXPECT(is_path(&s, &path, a, b));
            PW_EXPECT(path.count <= facts.hops && path.count % 2 == 0 && (a == b) == (path.count == 0));
            pw_network_route(s.network, a, b, hash, &again);
            PW_EXPECT(memcmp(&path, &again, sizeof path) == 0);
            if (path.count > longest) longest = path.count;
        }
        pw_path whole = {0};
        if (ports > 1) pw_network_route(s.network, 0, ports - 1, 0, &whole);
        if (ports > 1 && facts.tiers > 1) PW_EXPECT_INT(whole.count > longest ? whole.count : longest, facts.hops);
        if (pw_test_failures) printf("# round %d of seed 1\n", round);
        drop(&s);
        if (pw_test_failures) break;
    }
}

PW_TEST(a_route_between_unknown_ports_is_refused) {
    setup s;
    pw_network_desc desc = describe(FAT_TREE, 1, 8);
    PW_EXPECT(make(&s, &desc, 8, 2, NULL, NULL) == PW_OK);
    pw_path path = {0};
    PW_EXPECT(pw_network_route(s.network, 0, 16, 0, &path) == PW_BAD_INPUT);
    PW_EXPECT(pw_network_route(s.network, 16, 0, 0, &path) == PW_BAD_INPUT);
    PW_EXPECT_INT(path.count, 0);
    drop(&s);
}

PW_TEST(a_route_is_appended_whole_or_not_at_all) {
    setup s;
    pw_network_desc desc = describe(FAT_TREE, 1, 8);
    PW_EXPECT(make(&s, &desc, 64, 1, NULL, NULL) == PW_OK);
    for (uint32_t to = 1; to < 64; to += 31)
        for (uint32_t used = 0; used <= PW_ROUTE_MAX; used++) {
            pw_path alone = {0}, path = {.count = used};
            for (uint32_t i = 0; i < PW_ROUTE_MAX; i++) path.links[i] = 1000000 + i;
            PW_EXPECT(pw_network_route(s.network, 0, to, 7, &alone) == PW_OK);
            bool fits = used + alone.count <= PW_ROUTE_MAX;
            PW_EXPECT(pw_network_route(s.network, 0, to, 7, &path) == (fits ? PW_OK : PW_OUT_OF_RANGE));
            PW_EXPECT_INT(path.count, fits ? used + alone.count : used);
            for (uint32_t i = 0; i < path.count; i++)
                PW_EXPECT(path.links[i] == (i < used ? 1000000 + i : alone.links[i - used]));
        }
    drop(&s);
}

PW_TEST(cables_are_symmetric_and_numbered_in_pairs) {
    state = 2;
    for (int round = 0; round < 60; round++) {
        setup s;
        if (!make_random(&s, (int)draw(3))) break;
        for (uint32_t link = 0; link < pw_fabric_links(s.fabric); link++) {
            const pw_link_info *there = pw_fabric_link(s.fabric, link), *back = pw_fabric_link(s.fabric, link ^ 1);
            PW_EXPECT(there->from == back->to && there->to == back->from);
            PW_EXPECT(there->bandwidth_Bps == back->bandwidth_Bps && there->kind == back->kind);
        }
        drop(&s);
    }
}

typedef struct flow {
    const setup *s;
    double *balance; /* per vertex: in - out */
    double *load;    /* per link */
    uint32_t visits;
} flow;
static void add_flow(void *object, pw_link link, double fraction) {
    flow *f = object;
    const pw_link_info *info = pw_fabric_link(f->s->fabric, link);
    f->balance[info->to] += fraction;
    f->balance[info->from] -= fraction;
    if (f->load[link] != 0) PW_FAILED("link %u visited twice", link);
    f->load[link] += fraction;
    f->visits++;
}

PW_TEST(a_spread_flow_is_conserved_at_every_vertex) {
    state = 3;
    for (int round = 0; round < 150; round++) {
        setup s;
        if (!make_random(&s, (int)draw(3))) break;
        uint32_t ports = s.nodes * s.rails, a = draw(ports), b = draw(ports);
        uint32_t vertices = pw_fabric_vertices(s.fabric);
        flow f = {&s, calloc(vertices, sizeof(double)), calloc(pw_fabric_links(s.fabric) + 1, sizeof(double)), 0};
        PW_EXPECT(pw_network_spread(s.network, a, b, add_flow, &f) == PW_OK);
        for (uint32_t v = 0; v < vertices; v++) {
            double expected = a == b ? 0 : v == s.ports[b] ? 1 : v == s.ports[a] ? -1 : 0;
            PW_EXPECT_NEAR(f.balance[v], expected, 1e-12);
        }
        PW_EXPECT((f.visits == 0) == (a == b));
        /* every static route lies within the spread */
        for (uint64_t hash = 0; hash < 20; hash++) {
            pw_path path = {0};
            pw_network_route(s.network, a, b, hash, &path);
            for (uint32_t i = 0; i < path.count; i++) PW_EXPECT(f.load[path.links[i]] > 0);
        }
        free(f.balance), free(f.load);
        drop(&s);
    }
}

static void add_twin_flow(void *object, pw_link link, double fraction) {
    ((double *)object)[link] += fraction;
}

PW_TEST(twins_carry_the_same_share_and_the_first_stands_for_all) {
    state = 4;
    for (int round = 0; round < 150; round++) {
        setup s;
        if (!make_random(&s, (int)draw(3))) break;
        uint32_t ports = s.nodes * s.rails, a = draw(ports), b = draw(ports), links = pw_fabric_links(s.fabric);
        flow f = {&s, calloc(pw_fabric_vertices(s.fabric), sizeof(double)), calloc(links + 1, sizeof(double)), 0};
        double *first = calloc(links + 1, sizeof *first);
        uint32_t *seen = calloc(links + 1, sizeof *seen);
        PW_EXPECT(pw_network_spread(s.network, a, b, add_flow, &f) == PW_OK);
        PW_EXPECT(pw_network_spread_twins(s.network, a, b, add_twin_flow, first) == PW_OK);
        for (pw_link link = 0; link < links; link++) {
            pw_twins twins = pw_network_twins(s.network, link);
            PW_EXPECT_NEAR(first[twins.first], f.load[link], 1e-12);
            PW_EXPECT(pw_fabric_link(s.fabric, link)->bandwidth_Bps == pw_fabric_link(s.fabric, twins.first)->bandwidth_Bps);
            seen[twins.first]++;
        }
        for (pw_link link = 0; link < links; link++)
            if (seen[link]) PW_EXPECT_INT(seen[link], pw_network_twins(s.network, link).count);
        free(f.balance), free(f.load), free(first), free(seen);
        drop(&s);
    }
}

PW_TEST(static_routes_approach_the_even_spread_over_many_flows) {
    setup s;
    pw_network_desc desc = describe(FAT_TREE, 1, 16);
    PW_EXPECT(make(&s, &desc, 64, 8, NULL, NULL) == PW_OK); /* 512 ports, three tiers */
    PW_EXPECT_INT(pw_network_get_facts(s.network).tiers, 3);
    double *hits = calloc(pw_fabric_links(s.fabric), sizeof *hits);
    enum { FLOWS = 20000 };
    for (uint64_t hash = 0; hash < FLOWS; hash++) {
        pw_path path = {0};
        pw_network_route(s.network, 0, 511, hash, &path);
        for (uint32_t i = 0; i < path.count; i++) hits[path.links[i]]++;
    }
    flow f = {&s, calloc(pw_fabric_vertices(s.fabric), sizeof(double)), calloc(pw_fabric_links(s.fabric), sizeof(double)), 0};
    pw_network_spread(s.network, 0, 511, add_flow, &f);
    for (uint32_t link = 0; link < pw_fabric_links(s.fabric); link++) {
        double expected = f.load[link] * FLOWS;
        PW_EXPECT(fabs(hits[link] - expected) <= 6 * sqrt(expected));
    }
    free(hits), free(f.balance), free(f.load);
    drop(&s);
}

/* --- Capacity across a cut: an independent maximum flow ------------------------------------------------------- */

static pw_vertex leaf_at(const setup *s, uint32_t port) {
    for (uint32_t l = 0; l < pw_fabric_links(s->fabric); l++)
        if (pw_fabric_link(s->fabric, l)->from == s->ports[port]) return pw_fabric_link(s->fabric, l)->to;
    return PW_NONE;
}

/* Maximum flow from the ports of one half of the leaves to the ports of the other half. */
static double measured_bisection(const setup *s) {
    uint32_t links = pw_fabric_links(s->fabric), vertices = pw_fabric_vertices(s->fabric), ports = s->nodes * s->rails;
    uint32_t most = links + 2 * ports, count = links;
    uint32_t *from = malloc(sizeof *from * most), *to = malloc(sizeof *to * most);
    double *left = malloc(sizeof *left * most);
    uint32_t leaves = pw_network_get_facts(s->network).leaves;
    for (uint32_t l = 0; l < links; l++) {
        const pw_link_info *link = pw_fabric_link(s->fabric, l);
        from[l] = link->from, to[l] = link->to, left[l] = link->bandwidth_Bps;
    }
    pw_vertex first = PW_NONE;
    for (uint32_t v = 0; v < vertices && first == PW_NONE; v++)
        if (pw_fabric_vertex_kind(s->fabric, v) == PW_VERTEX_LEAF) first = v;
    for (uint32_t port = 0; port < ports; port++) {
        bool in_a = leaf_at(s, port) - first < leaves / 2;
        from[count] = in_a ? vertices : s->ports[port], to[count] = in_a ? s->ports[port] : vertices + 1;
        left[count++] = 1e30;
        from[count] = to[count - 1], to[count] = from[count - 1];
        left[count++] = 0;
    }
    double flow_Bps = max_flow(vertices + 2, count, from, to, left, vertices, vertices + 1);
    free(from), free(to), free(left);
    return flow_Bps;
}

PW_TEST(bisection_equals_the_maximum_flow_between_halves) {
    static const struct {
        int topology;
        double oversubscription;
        int64_t radix;
        uint32_t nodes, rails, tiers;
    } cases[] = {
        {FAT_TREE, 1, 8, 8, 2, 2},  {FAT_TREE, 1, 8, 32, 1, 2}, {FAT_TREE, 2, 12, 16, 2, 2}, {FAT_TREE, 3, 8, 24, 1, 2},
        {FAT_TREE, 1, 4, 16, 1, 3}, {FAT_TREE, 2, 6, 32, 1, 3}, {FAT_TREE, 1, 8, 64, 1, 3},  {RAILS, 1, 8, 8, 4, 2},
        {RAILS, 2, 12, 16, 4, 2},   {RAILS, 1, 8, 16, 4, 3},    {RAILS, 4, 10, 16, 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup s;
        pw_network_desc desc = describe(cases[i].topology, cases[i].oversubscription, cases[i].radix);
        PW_EXPECT(make(&s, &desc, cases[i].nodes, cases[i].rails, NULL, NULL) == PW_OK);
        pw_network_facts facts = pw_network_get_facts(s.network);
        if (facts.leaves % 2) PW_FAILED("case %zu has an odd number of leaves", i);
        PW_EXPECT_NEAR(facts.bisection_Bps, measured_bisection(&s), 1e-12);
        PW_EXPECT_INT(facts.tiers, cases[i].tiers);
        if (pw_test_failures) printf("# case %zu\n", i);
        drop(&s);
    }
}

PW_TEST(bisection_is_half_the_ports_over_the_oversubscription) {
    static const uint32_t sizes[] = {16, 64, 256, 2048};
    for (size_t i = 0; i < 4; i++)
        for (int topology = FAT_TREE; topology <= RAILS; topology++)
            for (double oversubscription = 1; oversubscription <= 4; oversubscription *= 2) {
                setup s;
                pw_network_desc desc = describe(topology, oversubscription, 64);
                PW_EXPECT(make(&s, &desc, sizes[i], 8, NULL, NULL) == PW_OK);
                pw_network_facts facts = pw_network_get_facts(s.network);
                double ideal = sizes[i] * 8 / 2 * 50e9 * 0.98 / facts.oversubscription;
                /* the last leaf may be partly full, its uplinks are all there */
                double full = facts.leaves * ceil(sizes[i] / (facts.leaves / (topology == RAILS ? 8.0 : 1.0))) *
                              (topology == RAILS ? 1 : 8) / (sizes[i] * 8.0);
                PW_EXPECT(facts.bisection_Bps >= ideal * (1 - 1e-12) && facts.bisection_Bps <= ideal * full * (1 + 1e-12));
                PW_EXPECT_NEAR(facts.oversubscription, oversubscription, 0.1);
                drop(&s);
            }
}

/* Every switch has at most radix cables. */
PW_TEST(no_switch_has_more_cables_than_its_radix) {
    state = 4;
    for (int round = 0; round < 200; round++) {
        setup s;
        double ratio = 1 + draw(4);
        pw_network_desc desc = describe(FAT_TREE + (int)draw(2), ratio, 4 + 2 * draw(15));
        if (make(&s, &desc, 1 + draw(60), 1u << draw(3), NULL, NULL) == PW_OK) {
            uint32_t vertices = pw_fabric_vertices(s.fabric);
            double *cables = calloc(vertices, sizeof *cables), all = 0;
            for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++) {
                const pw_link_info *link = pw_fabric_link(s.fabric, l);
                cables[link->from] += link->bandwidth_Bps / (50e9 * 0.98);
                all += link->bandwidth_Bps / (50e9 * 0.98) / 2;
            }
            for (uint32_t v = 0; v < vertices; v++)
                if (cables[v] > desc.radix + 1e-9) PW_FAILED("vertex %u has %g cables, radix %lld", v, cables[v], (long long)desc.radix);
            PW_EXPECT_NEAR(pw_network_get_facts(s.network).cables, all, 1e-9);
            free(cables);
        }
        drop(&s);
    }
}

PW_TEST(a_fat_tree_keeps_a_node_on_one_leaf_and_rails_are_kept_apart) {
    setup fat, rail;
    pw_network_desc desc = describe(FAT_TREE, 1, 64);
    PW_EXPECT(make(&fat, &desc, 64, 8, NULL, NULL) == PW_OK);
    desc.topology = RAILS;
    PW_EXPECT(make(&rail, &desc, 64, 8, NULL, NULL) == PW_OK);
    PW_EXPECT_INT(pw_network_get_facts(fat.network).leaves, 16);
    PW_EXPECT_INT(pw_network_get_facts(rail.network).leaves, 16);
    pw_path path = {0};
    pw_network_route(fat.network, 0, 7, 0, &path); /* two ports of one node */
    PW_EXPECT_INT(path.count, 2);
    path.count = 0;
    pw_network_route(fat.network, 0, 31 * 8, 0, &path); /* port 0 of another node */
    PW_EXPECT_INT(path.count, 4);
    path.count = 0;
    pw_network_route(rail.network, 0, 31 * 8, 0, &path); /* the same rail in the same block */
    PW_EXPECT_INT(path.count, 2);
    path.count = 0;
    pw_network_route(rail.network, 0, 7, 0, &path); /* another rail */
    PW_EXPECT_INT(path.count, 4);
    path.count = 0;
    pw_network_route(rail.network, 0, 32 * 8, 0, &path); /* the same rail, another block */
    PW_EXPECT_INT(path.count, 4);
    drop(&fat), drop(&rail);
}

PW_TEST(latency_counts_hops_and_cables) {
    setup s;
    pw_network_desc desc = describe(FAT_TREE, 1, 8);
    PW_EXPECT(make(&s, &desc, 64, 1, NULL, NULL) == PW_OK);
    pw_path path = {0};
    pw_network_route(s.network, 0, 1, 0, &path);
    PW_EXPECT_NEAR(pw_path_latency_s(s.fabric, &path), 1 * 200e-9 + 2 * 100e-9, 1e-12);
    path.count = 0;
    pw_network_route(s.network, 0, 63, 0, &path);
    PW_EXPECT_INT(path.count, 6);
    PW_EXPECT_NEAR(pw_path_latency_s(s.fabric, &path), 5 * 200e-9 + 6 * 100e-9, 1e-12);
    PW_EXPECT_NEAR(pw_path_bandwidth_Bps(s.fabric, &path), 49e9, 1e-12);
    pw_path none = {0};
    PW_EXPECT(isinf(pw_path_bandwidth_Bps(s.fabric, &none)) && pw_path_latency_s(s.fabric, &none) == 0);
    drop(&s);
}

static void expect_refused(const pw_network_desc *desc, uint32_t nodes, uint32_t rails, const char *part) {
    setup s;
    pw_error error = {0};
    PW_EXPECT(make(&s, desc, nodes, rails, NULL, &error) == PW_BAD_INPUT);
    PW_EXPECT(s.network == NULL);
    PW_EXPECT_CONTAINS(error.what, part);
    drop(&s);
}

PW_TEST(impossible_networks_are_refused_with_a_reason) {
    pw_network_desc desc = describe(FAT_TREE, 1, 8);
    expect_refused(&desc, 4, 8, "no room");
    desc.radix = 4;
    expect_refused(&desc, 1000, 1, "tiers");
    desc = describe(SINGLE, 1, 8);
    expect_refused(&desc, 9, 1, "cannot join 9");
    desc = describe(FAT_TREE, 0.5, 8);
    expect_refused(&desc, 9, 1, "oversubscription");
    desc = describe(FAT_TREE, 1, 3);
    expect_refused(&desc, 9, 1, "radix");
    const int64_t impossible[] = {INT64_MIN, -1, 1, 3, 4097, ((int64_t)1 << 32) + 64, INT64_MAX};
    for (int topology = SINGLE; topology <= RAILS; topology++)
        for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
            desc = describe(topology, 1, impossible[i]);
            expect_refused(&desc, 9, 1, "radix");
        }
    desc = describe(FAT_TREE, 1, 8);
    desc.efficiency = NAN;
    expect_refused(&desc, 9, 1, "efficiency is unknown");
    desc = describe(99, 1, 8);
    expect_refused(&desc, 9, 1, "topology");
    desc = describe(FAT_TREE, 1, 64);
    expect_refused(&desc, 1, 0, "needs nodes");
}

PW_TEST(building_survives_every_failing_allocation) {
    pw_counting_allocator counting;
    for (int topology = SINGLE; topology <= RAILS; topology++)
        for (unsigned long long n = 1;; n++) {
            pw_counting_allocator_init(&counting);
            counting.fail_at = n;
            setup s;
            pw_network_desc desc = describe(topology, 1, topology == SINGLE ? 0 : 8);
            pw_status status = make(&s, &desc, 48, 2, &counting.allocator, NULL);
            drop(&s);
            PW_EXPECT_INT(counting.live_bytes, 0);
            if (status == PW_OK) break;
            PW_EXPECT_INT(status, PW_NO_MEMORY);
            if (pw_test_failures) return;
        }
}

PW_TEST(sixteen_thousand_ports_build_and_route_fast) {
    struct timespec t0, t1;
    setup s;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    pw_network_desc desc = describe(RAILS, 1, 64);
    PW_EXPECT(make(&s, &desc, 2048, 8, NULL, NULL) == PW_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    double build_s = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
    enum { ROUTES = 1000000 };
    uint64_t sum = 0;
    state = 5;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    for (uint32_t i = 0; i < ROUTES; i++) {
        pw_path path;
        path.count = 0;
        pw_network_route(s.network, i * 7919 % 16384, i * 104729 % 16384, i, &path);
        sum += path.count ? path.links[path.count - 1] : 0;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    double route_ns = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / ROUTES;
    pw_network_facts facts = pw_network_get_facts(s.network);
    printf("# build %.1f ms, route %.0f ns, %u leaves, %u spines, %u cores (%llu)\n", build_s * 1e3, route_ns, facts.leaves,
           facts.spines, facts.cores, (unsigned long long)sum);
    /* ten times the target, so that a loaded machine, a debug build or a sanitizer does not fail it */
    PW_EXPECT(build_s < 1.0 && route_ns < 2000);
    drop(&s);
}

PW_TEST(a_hundred_thousand_ports_fit) {
    setup s;
    pw_network_desc desc = describe(FAT_TREE, 1, 144);
    PW_EXPECT(make(&s, &desc, 12500, 8, NULL, NULL) == PW_OK);
    pw_path path = {0};
    pw_network_route(s.network, 0, 99999, 3, &path);
    PW_EXPECT_INT(path.count, 6);
    PW_EXPECT(is_path(&s, &path, 0, 99999));
    drop(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
