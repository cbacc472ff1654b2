/* Collectives message by message: timers against the fluid system, messages against the coupled form, skew and slow links. */
#include "sim/random.h"
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }
static uint32_t per_node;
static uint32_t same_place(uint32_t group, uint32_t member) { return member * per_node + group; }

static int algorithm_named(const char *name) {
    int i = 0;
    while (pw_algorithm_table[i].name && strcmp(pw_algorithm_table[i].name, name)) i++;
    PW_CHECK(pw_algorithm_table[i].name);
    return i;
}

static int topology_named(const char *name) {
    int i = 0;
    while (pw_topology_names[i] && strcmp(pw_topology_names[i], name)) i++;
    PW_CHECK(pw_topology_names[i]);
    return i;
}

/* GPU and port per node under one switch: a ring uses every link for one message at a time. */
static world *flat_world(uint32_t nodes) {
    pw_cluster_desc desc = world_desc(nodes, 1);
    desc.node.nics = 1;
    desc.network.topology = topology_named("single_switch");
    return world_on(&desc, nodes);
}

static pw_op collective_by(int algorithm, uint16_t stream, pw_collective_kind kind, uint16_t role, double bytes) {
    pw_op made = collective_op(stream, kind, role, bytes);
    made.collective.algorithm = algorithm;
    return made;
}

static pw_link port_out(const world *w, uint32_t gpu) {
    pw_path path = {0};
    PW_CHECK(pw_cluster_route(w->cluster, gpu, (gpu + pw_cluster_gpus_per_node(w->cluster)) % pw_cluster_gpus(w->cluster), 0, &path) == PW_OK);
    for (uint32_t i = 0; i < path.count; i++)
        if (pw_fabric_link(pw_cluster_fabric(w->cluster), path.links[i])->kind == PW_LINK_NETWORK) return path.links[i];
    PW_CHECK(!"a port");
    return PW_NONE;
}

PW_TEST(messages_equal_the_coupled_form_on_an_idle_symmetric_fabric) {
    static const uint32_t sizes[] = {2, 3, 5, 8, 16, 33, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int domain = 0; domain < 2; domain++)
            for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
                for (int by = 0; by < 2; by++) {
                    uint32_t n = sizes[i];
                    int algorithm = algorithm_named(by ? "direct" : "ring");
                    if (domain && n > 8) continue;
                    if (kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE) continue; /* below */
                    pw_group_shape any = {.members = n, .domains = 1, .per_domain = n, .even = true};
                    if (!pw_algorithm_table[algorithm].applies((pw_collective_kind)kind, &any, true)) continue;
                    world *w = domain ? world_of(1, n) : flat_world(n);
                    uint16_t all = groups_of(w, "all", 1, n, across);
                    uint32_t t = template_of(w, "it");
                    op(w, t, collective_by(algorithm, 0, (pw_collective_kind)kind, all, 3e6 + 7));
                    program_of(w, "it", t);
                    outcome messages = run(w, &(options){.messages = true}), coupled = run(w, &(options){.fold = true});
                    EXPECT_RAN(messages);
                    EXPECT_RAN(coupled);
                    if (llabs((long long)(messages.end - coupled.end)) > 1)
                        PW_FAILED("%s by %s, %u members: %lld ticks in messages, %lld coupled", pw_collective_names[kind],
                                  pw_algorithm_table[algorithm].name, n, (long long)messages.end, (long long)coupled.end);
                    world_free(w);
                }
}

/* A pipeline by messages fills and drains: cut finely, that is a twentieth at most, and nothing is faster than the stream. */
PW_TEST(chains_and_trees_by_messages_take_at_most_a_twentieth_longer) {
    static const struct { uint32_t nodes, gpus; } sizes[] = {{1, 8}, {9, 1}, {4, 8}, {32, 1}, {32, 8}};
    static const struct { int kind; const char *algorithm; } cases[] = {
        {PW_COLLECTIVE_BROADCAST, "ring"}, {PW_COLLECTIVE_REDUCE, "ring"}, {PW_COLLECTIVE_ALL_REDUCE, "tree"}, {PW_COLLECTIVE_ALL_REDUCE, "nvls"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            for (double bytes = 1e5; bytes < 1e10; bytes *= 1e3) {
                uint32_t n = sizes[i].nodes * sizes[i].gpus;
                int algorithm = algorithm_named(cases[c].algorithm);
                pw_group_shape any = {.members = n, .domains = sizes[i].nodes, .per_domain = sizes[i].gpus, .even = true};
                if (n == 256 && bytes > 1e6) continue; /* slow */
                if (!pw_algorithm_table[algorithm].applies((pw_collective_kind)cases[c].kind, &any, true)) continue;
                world *w = world_of(sizes[i].nodes, sizes[i].gpus);
                uint16_t all = groups_of(w, "all", 1, n, across);
                uint32_t t = template_of(w, "it");
                op(w, t, collective_by(algorithm, 0, (pw_collective_kind)cases[c].kind, all, bytes));
                program_of(w, "it", t);
                outcome messages = run(w, &(options){.messages = true}), coupled = run(w, &(options){.fold = true});
                EXPECT_RAN(messages);
                EXPECT_RAN(coupled);
                double ratio = (double)messages.end / (double)coupled.end;
                if (ratio > 1.05 || ratio < 1 - 1e-6)
                    PW_FAILED("%s by %s, %u x %u, %g bytes: messages take %.4f times as long", pw_collective_names[cases[c].kind],
                              cases[c].algorithm, sizes[i].nodes, sizes[i].gpus, bytes, ratio);
                world_free(w);
            }
}

/* The last to come decides when a ring is done; a slow link decides every round. */
PW_TEST(skew_adds_up_and_a_slow_link_sets_the_pace_of_a_ring) {
    enum { N = 64 };
    double bytes = 1 << 26;
    for (int slow = 0; slow < 2; slow++) {
        world *w = flat_world(N);
        uint16_t all = groups_of(w, "all", 1, N, across);
        pw_random random = pw_random_stream(7, "skew", 0);
        double latest_s = 0;
        for (uint32_t r = 0; r < N; r++) {
            double wait_s = slow ? 0 : 1e-3 * pw_random_uniform(&random);
            if (wait_s > latest_s) latest_s = wait_s;
            uint32_t t = r < MOST_TEMPLATES ? template_of(w, "rank") : 0;
            op(w, t, delay_op(0, wait_s));
            op(w, t, collective_by(algorithm_named("ring"), 0, PW_COLLECTIVE_ALL_REDUCE, all, bytes));
            w->program_of_rank[r] = program_of(w, "rank", t);
        }
        pw_group_shape shape;
        uint32_t gpus[N];
        for (uint32_t r = 0; r < N; r++) gpus[r] = r;
        pw_collective_cost cost;
        PW_CHECK(pw_collective_shape(w->collectives, gpus, N, &shape, NULL) == PW_OK);
        PW_CHECK(pw_collective_cost_of(w->collectives, PW_COLLECTIVE_ALL_REDUCE, algorithm_named("ring"), &shape, bytes, &cost,
                                       NULL) == PW_OK);
        options how = {.messages = true};
        if (slow) how.slow_link = port_out(w, 20), how.slow_part = 0.25;
        outcome o = run(w, &how);
        EXPECT_RAN(o);
        double factor = slow ? 4 : 1;
        pw_time expected = ticks(latest_s) + ticks(cost.alpha_s + factor * (cost.total_s - cost.alpha_s));
        if (llabs((long long)(o.end - expected)) > 2)
            PW_FAILED("slow %d: %lld ticks instead of %lld", slow, (long long)o.end, (long long)expected);
        world_free(w);
    }
}

/* --- Timers and the fluid system ----------------------------------------------------------------------------------- */

/* Collectives of everybody beside those across nodes, messages to a neighbour, waits of random length, a link that slows down. */
static void random_case(uint64_t seed) {
    pw_random random = pw_random_stream(seed, "messages", 0);
    uint32_t nodes = 1 + (uint32_t)pw_random_below(&random, 5), gpus = 1 + (uint32_t)pw_random_below(&random, 4);
    if (nodes * gpus < 2) nodes = 2;
    pw_cluster_desc desc = world_desc(nodes, gpus);
    static const char *const topologies[] = {"single_switch", "fat_tree", "rail_optimized"};
    desc.network.topology = topology_named(topologies[pw_random_below(&random, 3)]);
    desc.network.radix = desc.network.topology == topology_named("single_switch") ? 0 : 8 + 8 * (int64_t)pw_random_below(&random, 3);
    desc.network.oversubscription = 1 + 2 * pw_random_uniform(&random);
    uint32_t n = nodes * gpus, streams = 1 + (uint32_t)pw_random_below(&random, 2);
    world *w = world_on(&desc, n);
    per_node = gpus;
    uint16_t all = groups_of(w, "all", 1, n, across), rails = groups_of(w, "rails", gpus, nodes, same_place);
    uint16_t next = peers_of(w, "next", 1), before = peers_of(w, "before", -1);
    uint32_t rounds = 0, templates[20];
    double skew_s = pw_random_below(&random, 2) ? 2e-5 : 0;
    for (uint32_t r = 0; r < n; r++) {
        templates[r] = template_of(w, "rank");
        w->program_of_rank[r] = program_of(w, "rank", templates[r]);
        for (uint32_t s = 0; s < streams; s++)
            op(w, templates[r], delay_op((uint16_t)s, skew_s * pw_random_uniform(&random)));
    }
    for (int i = 0; i < 3; i++) {
        uint16_t stream = (uint16_t)pw_random_below(&random, streams);
        bool everybody = stream == 0 || nodes == 1;
        uint32_t members = everybody ? n : nodes;
        int kind = (int)pw_random_below(&random, PW_COLLECTIVE_KIND_COUNT), algorithm = -1;
        pw_group_shape shape = {.members = members, .domains = everybody ? nodes : nodes, .per_domain = everybody ? gpus : 1, .even = true};
        for (int tries = 0; tries < 50 && algorithm < 0; tries++) {
            int a = (int)pw_random_below(&random, 4);
            if (pw_algorithm_table[a].applies((pw_collective_kind)kind, &shape, false)) algorithm = a;
        }
        if (algorithm < 0) continue;
        rounds += 20 * pw_algorithm_table[algorithm].rounds((pw_collective_kind)kind, &shape); /* pipelines are cut finely */
        double bytes = 1e3 * pw_random_lognormal(&random, 3, 3);
        for (uint32_t r = 0; r < n; r++)
            op(w, templates[r], collective_by(algorithm, stream, (pw_collective_kind)kind, everybody ? all : rails, bytes));
    }
    for (uint32_t r = 0; r + 1 < n; r += 2) {
        op(w, templates[r], message_op(PW_OP_SEND, 2, next, 0, 1e5));
        op(w, templates[r + 1], message_op(PW_OP_RECV, 2, before, 0, 1e5));
    }
    options timers = {.messages = true}, fluid = {.messages = true, .fluid_only = true};
    if (nodes > 1 && pw_random_below(&random, 2)) {
        timers.slow_link = port_out(w, (uint32_t)(pw_random_below(&random, nodes) * gpus));
        timers.slow_part = 0.3 + 0.6 * pw_random_uniform(&random);
        timers.slow_at_s = 4e-5 * pw_random_uniform(&random);
        fluid.slow_link = timers.slow_link, fluid.slow_part = timers.slow_part, fluid.slow_at_s = timers.slow_at_s;
    }
    outcome a = run(w, &timers), b = run(w, &fluid);
    EXPECT_RAN(a);
    EXPECT_RAN(b);
    /* a transfer that is shared is rounded to a tick, twice with its latency; one with a timer is not */
    long long most = 4 * (rounds + 4);
    for (uint32_t r = 0; r < n; r++)
        if (llabs((long long)(a.rank_end[r] - b.rank_end[r])) > most) {
            PW_FAILED("seed %llu: rank %u of %u x %u ends at %lld with timers, at %lld in the fluid system", (unsigned long long)seed, r,
                      nodes, gpus, (long long)a.rank_end[r], (long long)b.rank_end[r]);
            break;
        }
    for (uint32_t l = 0; l < pw_fabric_links(pw_cluster_fabric(w->cluster)); l++)
        PW_EXPECT_NEAR(a.link_bytes[l], b.link_bytes[l], 1e-9);
    PW_EXPECT(a.end > 0);
    world_free(w);
}

PW_TEST(timers_give_the_answer_of_the_fluid_system) {
    for (uint64_t seed = 1; seed <= 150; seed++) random_case(seed);
}

/* A port carries five blocks of a million bytes. */
PW_TEST(every_message_is_counted_once_on_every_link_of_its_way) {
    world *w = flat_world(6);
    uint16_t all = groups_of(w, "all", 1, 6, across);
    uint32_t t = template_of(w, "it");
    op(w, t, collective_by(algorithm_named("direct"), 0, PW_COLLECTIVE_ALL_TO_ALL, all, 6e6));
    program_of(w, "it", t);
    outcome o = run(w, &(options){.messages = true});
    EXPECT_RAN(o);
    for (uint32_t r = 0; r < 6; r++) PW_EXPECT_NEAR(o.link_bytes[port_out(w, r)], 5e6, 1e-12);
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
