/* Laws that hold for every topology, on random sizes: routes are shortest paths, spreads are conserved, twins are twins, switches
 * have no more cables than ports, and facts are those of the graph. */
#include "tests/unit/fabric/networks.h"

PW_TEST(every_route_is_a_shortest_path) {
    setup s;
    state = 11;
    FOR_RANDOM_NETWORKS(s, 60) {
        graph g = graph_of(&s);
        uint32_t ports = s.nodes * s.rails, *hops = malloc(sizeof *hops * g.vertices), longest = 0;
        uint32_t most = pw_network_get_facts(s.network).hops;
        for (int i = 0; i < 6; i++) {
            uint32_t a = draw(ports);
            distances(&s, &g, s.ports[a], hops);
            for (uint32_t b = 0; b < ports; b++) {
                pw_path path = {0};
                pw_status status = pw_network_route(s.network, a, b, draw(1000), &path);
                PW_EXPECT_INT(status, same_network(&s, a, b) ? PW_OK : PW_UNSUPPORTED);
                if (status != PW_OK || a == b) continue;
                PW_EXPECT(is_simple_path(&s, &path, a, b));
                if (s.shortest) PW_EXPECT_INT(path.count, hops[s.ports[b]]);
                PW_EXPECT(path.count <= most);
                if (path.count > longest) longest = path.count;
            }
        }
        PW_EXPECT(longest > 0 || s.nodes * s.rails == 1 || !same_network(&s, 0, 1));
        free(hops);
        graph_free(&g);
    }
}

PW_TEST(a_spread_is_conserved_at_every_vertex_under_every_routing) {
    setup s;
    state = 12;
    for (int routing = 0; routing < PW_ROUTING_COUNT; routing++)
        FOR_RANDOM_NETWORKS(s, 25) {
            pw_network_destroy(s.network); /* once more, with the routing */
            pw_fabric_destroy(s.fabric);
            free(s.ports);
            s.desc.routing = routing;
            if (routing == PW_ROUTING_ECMP || routing == PW_ROUTING_ADAPTIVE) s.desc.flows_per_pair = 1 + draw(4);
            pw_error error = {0};
            if (make(&s, &error) != PW_OK) PW_FAILED("routing %d: %s", routing, error.what);
            uint32_t ports = s.nodes * s.rails;
            for (int i = 0; i < 8 && s.network; i++) {
                uint32_t a = draw(ports), b = draw(ports);
                flow f = flow_begin(&s);
                PW_EXPECT_INT(pw_network_spread(s.network, a, b, add_flow, &f), same_network(&s, a, b) ? PW_OK : PW_UNSUPPORTED);
                for (uint32_t v = 0; v < pw_fabric_vertices(s.fabric) && same_network(&s, a, b); v++)
                    PW_EXPECT_NEAR(f.balance[v], a == b ? 0 : v == s.ports[b] ? 1 : v == s.ports[a] ? -1 : 0, 1e-12);
                flow_end(&f);
            }
        }
}

static void add_twin_flow(void *object, pw_link link, double fraction) { ((double *)object)[link] += fraction; }

PW_TEST(twins_carry_the_same_and_their_first_stands_for_all) {
    setup s;
    state = 13;
    FOR_RANDOM_NETWORKS(s, 40) {
        uint32_t ports = s.nodes * s.rails, a = draw(ports), b = draw(ports), links = pw_fabric_links(s.fabric);
        flow f = flow_begin(&s);
        double *first = calloc(links + 1, sizeof *first);
        uint32_t *seen = calloc(links + 1, sizeof *seen);
        PW_EXPECT_INT(pw_network_spread(s.network, a, b, add_flow, &f), pw_network_spread_twins(s.network, a, b, add_twin_flow, first));
        for (pw_link link = 0; link < links; link++) {
            pw_twins twins = pw_network_twins(s.network, link);
            PW_EXPECT_NEAR(first[twins.first], f.load[link], 1e-12);
            PW_EXPECT(pw_fabric_link(s.fabric, link)->bandwidth_Bps == pw_fabric_link(s.fabric, twins.first)->bandwidth_Bps);
            seen[twins.first]++;
        }
        for (pw_link link = 0; link < links; link++)
            if (seen[link]) PW_EXPECT_INT(seen[link], pw_network_twins(s.network, link).count);
        free(first), free(seen);
        flow_end(&f);
    }
}

PW_TEST(every_switch_is_listed_once_in_its_tier_with_cables_for_its_ports) {
    setup s;
    state = 14;
    FOR_RANDOM_NETWORKS(s, 40) {
        pw_network_facts facts = pw_network_get_facts(s.network);
        uint32_t vertices = pw_fabric_vertices(s.fabric), count = pw_network_switches(s.network), tiers[PW_NETWORK_TIERS] = {0};
        uint32_t cables = 0, most[PW_NETWORK_TIERS] = {0};
        bool *seen = calloc(vertices, sizeof *seen);
        double *bandwidth = calloc(vertices, sizeof *bandwidth), payload = 0, sum = 0;
        for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++) {
            bandwidth[pw_fabric_link(s.fabric, l)->from] += pw_fabric_link(s.fabric, l)->bandwidth_Bps;
            sum += pw_fabric_link(s.fabric, l)->bandwidth_Bps / 2;
        }
        for (uint32_t i = 0; i < count; i++) {
            pw_switch_info info = pw_network_switch(s.network, i);
            PW_EXPECT(pw_fabric_vertex_kind(s.fabric, info.vertex) >= PW_VERTEX_LEAF && !seen[info.vertex]);
            PW_EXPECT(info.tier < facts.tier_count && info.plane < (s.desc.planes > 1 ? s.desc.planes : 1));
            PW_EXPECT((info.rail != PW_NONE) == pw_network_has_rails_apart(s.network));
            seen[info.vertex] = true;
            tiers[info.tier]++;
        }
        PW_EXPECT_INT(count, vertices - s.nodes * s.rails);
        for (uint32_t t = 0; t < facts.tier_count; t++) PW_EXPECT_INT(tiers[t], facts.tier[t].switches);
        for (uint32_t c = 0; c < facts.cable_count; c++) {
            cables += facts.cable[c].cables;
            payload += facts.cable[c].cables * facts.cable[c].cable_Bps;
        }
        PW_EXPECT_INT(cables, facts.cables);
        PW_EXPECT_NEAR(payload, sum, 1e-9);
        for (uint32_t t = 0; t < facts.tier_count; t++) {
            int64_t radix = s.desc.tiers.count > t && s.tiers[t].radix ? s.tiers[t].radix : s.desc.radix;
            most[t] = facts.tier[t].most_cables;
            if (radix) PW_EXPECT(most[t] <= radix);
        }
        free(seen), free(bandwidth);
    }
}

/* --- Dragonflies ---------------------------------------------------------------------------------------------------------- */

static uint32_t *groups_of(const setup *s) { /* of every switch; PW_NONE: a NIC */
    uint32_t *group = malloc(sizeof *group * pw_fabric_vertices(s->fabric));
    for (uint32_t v = 0; v < pw_fabric_vertices(s->fabric); v++) group[v] = PW_NONE;
    for (uint32_t i = 0; i < pw_network_switches(s->network); i++) {
        pw_switch_info info = pw_network_switch(s->network, i);
        group[info.vertex] = info.group;
    }
    return group;
}

/* Fewest hops with at most one cable between groups: breadth first over (vertex, cables between groups so far). */
static uint32_t hops_with_one_global(const setup *s, const graph *g, const uint32_t *group, pw_vertex from, pw_vertex to) {
    uint32_t states = 2 * g->vertices, *hops = malloc(sizeof *hops * states), *queue = malloc(sizeof *queue * states);
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < states; v++) hops[v] = PW_NONE;
    hops[2 * from] = 0;
    queue[tail++] = 2 * from;
    while (head < tail) {
        uint32_t at = queue[head++], vertex = at / 2;
        if (vertex != from && group[vertex] == PW_NONE) continue;
        for (uint32_t i = g->first[vertex]; i < g->first[vertex + 1]; i++) {
            pw_vertex next = pw_fabric_link(s->fabric, g->out[i])->to;
            bool global = group[vertex] != PW_NONE && group[next] != PW_NONE && group[vertex] != group[next];
            if ((global && at % 2) || hops[2 * next + (at % 2 || global)] != PW_NONE) continue;
            hops[2 * next + (at % 2 || global)] = hops[at] + 1;
            queue[tail++] = 2 * next + (at % 2 || global);
        }
    }
    uint32_t best = hops[2 * to] < hops[2 * to + 1] ? hops[2 * to] : hops[2 * to + 1];
    free(hops), free(queue);
    return best;
}

PW_TEST(minimal_routes_of_a_dragonfly_are_the_shortest_with_one_global_cable) {
    state = 15;
    for (int round = 0; round < 60 && !pw_test_failures; round++) {
        setup s;
        if (!make_random(&s, 9 + round % 2)) break;
        graph g = graph_of(&s);
        uint32_t ports = s.nodes * s.rails, *group = groups_of(&s);
        for (int i = 0; i < 60; i++) {
            uint32_t a = draw(ports), b = draw(ports);
            pw_path path = {0};
            pw_network_route(s.network, a, b, draw(100), &path);
            PW_EXPECT_INT(path.count, hops_with_one_global(&s, &g, group, s.ports[a], s.ports[b]));
        }
        free(group);
        graph_free(&g);
        drop(&s);
    }
}

/* Every node of group g sends to the node at its place in group g + 1: the rate of a node in port rates. */
static double adversarial_rate(int paths) {
    setup s;
    plain(&s, "dragonfly", 33 * 32, 1);
    s.desc.nodes_per_switch = 4, s.desc.group_switches = 8, s.desc.global_links = 4; /* a = 2 p = 2 h, 33 groups */
    s.desc.paths = paths;
    PW_EXPECT(make(&s, NULL) == PW_OK);
    flow f = flow_begin(&s);
    for (uint32_t n = 0; n < s.nodes; n++) pw_network_spread(s.network, n, (n + 32) % s.nodes, add_flow, &f);
    double rate = INFINITY;
    for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++)
        if (f.load[l] > 0) rate = fmin(rate, pw_fabric_link(s.fabric, l)->bandwidth_Bps / f.load[l] / 49e9);
    flow_end(&f);
    drop(&s);
    return rate;
}

/* Kim et al. 2008: all a p nodes of a group share one global cable; over random groups at most half of the rate. */
PW_TEST(a_dragonfly_under_adversarial_traffic_runs_at_one_over_a_p_and_with_valiant_at_half) {
    PW_EXPECT_NEAR(adversarial_rate(PW_PATHS_MINIMAL), 1.0 / 32, 1e-12);
    double valiant = adversarial_rate(PW_PATHS_VALIANT);
    PW_EXPECT_NEAR(valiant, 0.5, 0.04); /* 31 groups to go through for 32 */
}

/* --- Capacity across a cut ------------------------------------------------------------------------------------------------- */

static bool low_coordinate(const setup *s, uint32_t node, uint32_t dimension) {
    uint32_t at = node / (uint32_t)s->desc.nodes_per_switch;
    for (uint32_t i = 0; i < dimension; i++) at /= (uint32_t)s->dims[i];
    return at % s->dims[dimension] < s->dims[dimension] / 2;
}

PW_TEST(bisection_of_a_grid_is_the_largest_flow_across_its_weakest_dimension) {
    static const struct {
        const char *topology;
        int64_t dims[3];
        uint32_t count, each;
    } cases[] = {{"torus", {4, 4}, 2, 2},    {"torus", {6, 4, 2}, 3, 3}, {"torus", {8, 2}, 2, 1}, {"mesh", {4, 6}, 2, 2},
                 {"mesh", {2, 4, 4}, 3, 4},  {"hyperx", {4, 4}, 2, 6},   {"hyperx", {2, 6}, 2, 9}, {"ring", {10}, 1, 3},
                 {"fully_connected", {8}, 1, 7}, {"hypercube", {2, 2, 2}, 4, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        setup s;
        plain(&s, cases[c].topology, cases[c].each, 1);
        for (uint32_t i = 0; i < cases[c].count; i++) s.nodes *= (uint32_t)(s.dims[i] = i < 3 && cases[c].dims[i] ? cases[c].dims[i] : 2);
        s.desc.nodes_per_switch = cases[c].each;
        if (!strcmp(cases[c].topology, "torus") || !strcmp(cases[c].topology, "mesh") || !strcmp(cases[c].topology, "hyperx"))
            s.desc.dims = (pw_list){s.dims, cases[c].count};
        PW_EXPECT(make(&s, NULL) == PW_OK);
        double least = INFINITY;
        for (uint32_t i = 0; i < cases[c].count; i++) least = fmin(least, flow_between(&s, low_coordinate, i));
        PW_EXPECT_NEAR(pw_network_get_facts(s.network).bisection_Bps, least, 1e-12);
        if (pw_test_failures) printf("# case %zu\n", c);
        drop(&s);
    }
}

static bool low_group(const setup *s, uint32_t node, uint32_t groups) {
    return node / (uint32_t)(s->desc.nodes_per_switch * s->desc.group_switches) < groups / 2;
}

PW_TEST(bisection_of_a_dragonfly_is_the_largest_flow_between_its_halves) {
    for (int plus = 0; plus < 2; plus++)
        for (uint32_t groups = 2; groups <= 8; groups += 2) {
            setup s;
            plain(&s, plus ? "dragonfly_plus" : "dragonfly", groups * 12, 1);
            s.desc.nodes_per_switch = 3, s.desc.group_switches = 4, s.desc.global_links = 2;
            PW_EXPECT(make(&s, NULL) == PW_OK);
            PW_EXPECT_NEAR(pw_network_get_facts(s.network).bisection_Bps, flow_between(&s, low_group, groups), 1e-12);
            if (pw_test_failures) printf("# plus %d, %u groups\n", plus, groups);
            drop(&s);
        }
}

PW_TEST(a_torus_uses_both_ways_where_they_are_as_long) {
    setup s;
    plain(&s, "torus", 16, 1);
    s.dims[0] = s.dims[1] = 4;
    s.desc.dims = (pw_list){s.dims, 2};
    PW_EXPECT(make(&s, NULL) == PW_OK);
    flow f = flow_begin(&s);
    pw_network_spread(s.network, 0, 10, add_flow, &f); /* (0,0) to (2,2): two ties */
    uint32_t halves = 0;
    for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++)
        if (pw_fabric_link(s.fabric, l)->kind == PW_LINK_TRUNK && f.load[l] > 0) {
            PW_EXPECT_NEAR(f.load[l], 0.5, 1e-12);
            halves++;
        }
    PW_EXPECT_INT(halves, 8);
    flow_end(&f);
    drop(&s);
}

static void expect_refused(setup *s, const char *part) {
    pw_error error = {0};
    PW_EXPECT_INT(make(s, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, part);
    drop(s);
}

PW_TEST(what_a_topology_does_not_have_is_refused) {
    setup s;
    plain(&s, "torus", 16, 1);
    expect_refused(&s, "needs network.dims");
    s.dims[0] = 4, s.dims[1] = 5;
    s.desc.dims = (pw_list){s.dims, 2};
    expect_refused(&s, "give 20 switches, but 16 nodes need 16");
    s.dims[1] = 4;
    s.desc.oversubscription = 2;
    expect_refused(&s, "network.oversubscription does not go with topology 'torus'");
    plain(&s, "hypercube", 12, 1);
    expect_refused(&s, "a power of two");
    plain(&s, "fully_connected", 80, 1);
    s.desc.radix = 64;
    expect_refused(&s, "80 cables, more than its radix 64");
    plain(&s, "ring", 600, 1);
    expect_refused(&s, "longest route has 302 links");
    plain(&s, "dragonfly", 12, 1);
    expect_refused(&s, "needs network.group_switches");
    s.desc.group_switches = 2, s.desc.global_links = 1;
    expect_refused(&s, "join only 3");
    plain(&s, "fat_tree", 12, 1);
    s.desc.dims = (pw_list){s.dims, 1};
    expect_refused(&s, "network.dims does not go with");
    plain(&s, "fat_tree", 12, 1);
    s.desc.flows_per_pair = 4;
    expect_refused(&s, "flows_per_pair");
}

/* --- What a network is for ---------------------------------------------------------------------------------------------- */

PW_TEST(rails_that_are_apart_meet_nowhere) {
    setup s;
    plain(&s, "rail_only", 64, 8);
    s.desc.radix = 64;
    PW_EXPECT(make(&s, NULL) == PW_OK);
    pw_network_facts facts = pw_network_get_facts(s.network);
    PW_EXPECT_INT(facts.leaves, 8); /* one switch for each rail, nothing above */
    PW_EXPECT_INT(facts.tiers, 1);
    PW_EXPECT_INT(facts.cables, 512);
    graph g = graph_of(&s);
    uint32_t *hops = malloc(sizeof *hops * g.vertices);
    distances(&s, &g, s.ports[0], hops);
    for (uint32_t port = 0; port < 512; port++) PW_EXPECT_INT(hops[s.ports[port]], port == 0 ? 0 : port % 8 ? PW_NONE : 2);
    free(hops);
    graph_free(&g);
    drop(&s);
}

PW_TEST(planes_divide_a_port_and_double_the_switch_count) {
    setup one, two;
    plain(&one, "rail_optimized", 128, 8);
    one.desc.radix = 64;
    two = one;
    two.desc.planes = 2;
    PW_EXPECT(make(&one, NULL) == PW_OK && make(&two, NULL) == PW_OK);
    pw_network_facts a = pw_network_get_facts(one.network), b = pw_network_get_facts(two.network);
    PW_EXPECT_INT(b.leaves, 2 * a.leaves);
    PW_EXPECT_INT(b.cables, 2 * a.cables);
    PW_EXPECT_NEAR(b.bisection_Bps, a.bisection_Bps, 1e-12);
    flow f = flow_begin(&two);
    pw_network_spread(two.network, 0, 512, add_flow, &f);
    for (uint32_t l = 0; l < pw_fabric_links(two.fabric); l++) { /* half of the bytes on each of the two cables of the port */
        const pw_link_info *link = pw_fabric_link(two.fabric, l);
        if (link->from != two.ports[0]) continue;
        PW_EXPECT_NEAR(link->bandwidth_Bps, 24.5e9, 1e-12);
        PW_EXPECT_NEAR(f.load[l], 0.5, 1e-12);
    }
    flow_end(&f);
    drop(&one), drop(&two);
}

PW_TEST(a_port_of_two_leaves_uses_both) {
    setup s;
    plain(&s, "fat_tree", 64, 1);
    s.desc.radix = 16;
    s.desc.leaves_per_port = 2;
    PW_EXPECT(make(&s, NULL) == PW_OK);
    flow f = flow_begin(&s);
    pw_network_spread(s.network, 0, 63, add_flow, &f);
    pw_vertex leaves[2];
    uint32_t count = 0;
    for (uint32_t l = 0; l < pw_fabric_links(s.fabric); l++)
        if (pw_fabric_link(s.fabric, l)->from == s.ports[0]) {
            PW_EXPECT_NEAR(f.load[l], 0.5, 1e-12);
            if (count < 2) leaves[count] = pw_fabric_link(s.fabric, l)->to;
            count++;
        }
    PW_EXPECT(count == 2 && leaves[0] != leaves[1]);
    flow_end(&f);
    drop(&s);
}

PW_TEST(tiers_take_their_radix_and_oversubscription) {
    setup s;
    plain(&s, "fat_tree", 512, 1);
    s.tiers[0] = (pw_tier_desc){.radix = 32, .oversubscription = NAN, .uplink_Bps = NAN, .group = 16};
    s.tiers[1] = (pw_tier_desc){.radix = 64, .oversubscription = 4, .uplink_Bps = NAN, .group = 8};
    s.tiers[2] = (pw_tier_desc){.radix = 16, .oversubscription = NAN, .uplink_Bps = NAN};
    for (int t = 0; t < 3; t++) s.tier_items[t] = (pw_one_of){&pw_tier_kind, &s.tiers[t]};
    s.desc.tiers = (pw_list){s.tier_items, 3};
    PW_EXPECT(make(&s, NULL) == PW_OK);
    pw_network_facts facts = pw_network_get_facts(s.network);
    PW_EXPECT_INT(facts.leaves, 32);
    PW_EXPECT_INT(facts.tier[0].most_cables, 32); /* 16 down, 16 up */
    PW_EXPECT_INT(facts.spines, 4 * 16);
    PW_EXPECT_INT(facts.tier[1].most_cables, 8 + 2); /* four to one */
    PW_EXPECT_NEAR(facts.bisection_Bps, 512 / 2 / 4 * 49e9, 1e-12);
    drop(&s);
    s.tiers[1].uplink_Bps = 200e9; /* four times the rate: no need for more than one cable in four */
    PW_EXPECT(make(&s, NULL) == PW_OK);
    PW_EXPECT_INT(pw_network_get_facts(s.network).tier[1].most_cables, 8 + 1);
    drop(&s);
    pw_error error = {0};
    s.tiers[2].radix = 4; /* 4 pods: fits */
    PW_EXPECT(make(&s, &error) == PW_OK);
    drop(&s);
    s.nodes = 1024; /* 8 pods: do not */
    PW_EXPECT(make(&s, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "need more than 3 tiers");
    drop(&s);
}

PW_TEST(twelve_thousand_five_hundred_nodes_of_eight_rails_build_with_64_ports) {
    setup s;
    plain(&s, "rail_optimized", 12500, 8);
    s.desc.radix = 64;
    PW_EXPECT(make(&s, NULL) == PW_OK);
    pw_network_facts facts = pw_network_get_facts(s.network);
    PW_EXPECT_INT(facts.tiers, 4);
    PW_EXPECT_NEAR(facts.bisection_Bps, 50000 * 49e9, 0.01);
    pw_path path = {0};
    PW_EXPECT(pw_network_route(s.network, 0, 99999, 1, &path) == PW_OK && is_simple_path(&s, &path, 0, 99999));
    PW_EXPECT_INT(path.count, 8);
    drop(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
