/* Message mode against the closed forms of collectives: ports of full duplex on one switch, latency a per message, S bytes that
 * take t at a port. The forms are those of the literature: J. Bruck et al. 1997, R. Thakur et al. 2005, E. Chan et al.,
 * "Collective communication: theory, practice, and experience", 2007. */
#include "models/collective/algorithm.h"
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }

static double floor_log2(uint32_t n) { return 31 - __builtin_clz(n); }
static double ceil_log2(uint32_t n) { return n < 2 ? 0 : floor_log2(n - 1) + 1; }

/* --- The forms ------------------------------------------------------------------------------------------------------- */

typedef double form_fn(double n, double a, double t);

static double ring_both(double n, double a, double t) { return 2 * (n - 1) * (a + t / n); }
static double ring_half(double n, double a, double t) { return (n - 1) * (a + t / n); }
static double ring_relay(double n, double a, double t) { return (n - 1) * a + (n - 1) / 2 * t; }
static double direct_both(double n, double a, double t) { return 2 * a + 2 * (n - 1) / n * t; }
static double direct_once(double n, double a, double t) { return a + (n - 1) / n * t; }
static double one_message(double n, double a, double t) { return (void)n, a + t; }
static double folded(double n, double a, double t) { /* the members beyond a power of two, before and after */
    return n > exp2(floor_log2((uint32_t)n)) ? 2 * (a + t) : 0;
}
static double halving_both(double n, double a, double t) {
    double bits = floor_log2((uint32_t)n), p = exp2(bits);
    return 2 * bits * a + 2 * (p - 1) / p * t + folded(n, a, t);
}
static double doubling(double n, double a, double t) { return floor_log2((uint32_t)n) * (a + t) + folded(n, a, t); }
static double logarithmic(double n, double a, double t) { return ceil_log2((uint32_t)n) * a + (n - 1) / n * t; }
static double whole_each_round(double n, double a, double t) { return ceil_log2((uint32_t)n) * (a + t); }
static double scatter_then_ring(double n, double a, double t) { return (ceil_log2((uint32_t)n) + n - 1) * a + 2 * (n - 1) / n * t; }
static double by_bits(double n, double a, double t) { /* blocks whose distance has the bit */
    double time = 0;
    for (uint32_t bit = 1; bit < n; bit *= 2) {
        uint32_t blocks = 0;
        for (uint32_t distance = 1; distance < n; distance++) blocks += (distance & bit) != 0;
        time += a + blocks / n * t;
    }
    return time;
}
static double pieces; /* of the chains, set by the test */
static double chained(double n, double a, double t) { return (n - 2 + pieces) * (a + t / pieces); }
static double imbalance = 3;
static double to_the_busiest(double n, double a, double t) { return a + (n - 1) * (imbalance < n ? imbalance : n) / n * t; }
static double rounds_only(double n, double a, double t) { return (void)t, ceil_log2((uint32_t)n) * a; }

static const struct closed_form {
    const char *algorithm;
    pw_collective_kind kind;
    form_fn *form;
    double vector_ns; /* n = 8, S = 2^20, a = 500 ns, 50 GB/s; 0: none published */
    uint32_t powers;  /* only powers of two */
} forms[] = {
    {"ring", PW_COLLECTIVE_ALL_REDUCE, ring_both, 43700.16, 0},
    {"ring", PW_COLLECTIVE_ALL_GATHER, ring_half, 21850.08, 0},
    {"ring", PW_COLLECTIVE_REDUCE_SCATTER, ring_half, 21850.08, 0},
    {"ring", PW_COLLECTIVE_ALL_TO_ALL, ring_relay, 500 * 7 + 73400.32, 0},
    {"ring", PW_COLLECTIVE_SEND_RECV, one_message, 0, 0},
    {"halving_doubling", PW_COLLECTIVE_ALL_REDUCE, halving_both, 39700.16, 0},
    {"halving_doubling", PW_COLLECTIVE_REDUCE_SCATTER, logarithmic, 0, 1},
    {"halving_doubling", PW_COLLECTIVE_ALL_GATHER, logarithmic, 0, 1},
    {"recursive_doubling", PW_COLLECTIVE_ALL_REDUCE, doubling, 64414.56, 0},
    {"direct", PW_COLLECTIVE_ALL_REDUCE, direct_both, 37700.16, 0},
    {"direct", PW_COLLECTIVE_ALL_GATHER, direct_once, 0, 0},
    {"direct", PW_COLLECTIVE_REDUCE_SCATTER, direct_once, 0, 0},
    {"direct", PW_COLLECTIVE_ALL_TO_ALL, direct_once, 18850.08, 0},
    {"direct", PW_COLLECTIVE_GATHER, direct_once, 0, 0}, /* incast of n - 1 */
    {"direct", PW_COLLECTIVE_SCATTER, direct_once, 0, 0},
    {"pairwise", PW_COLLECTIVE_ALL_TO_ALL, ring_half, 21850.08, 0},
    {"bruck", PW_COLLECTIVE_ALL_GATHER, logarithmic, 0, 0},
    {"bruck", PW_COLLECTIVE_REDUCE_SCATTER, logarithmic, 0, 0},
    {"bruck", PW_COLLECTIVE_ALL_TO_ALL, by_bits, 0, 0},
    {"pat", PW_COLLECTIVE_ALL_GATHER, logarithmic, 0, 0},
    {"pat", PW_COLLECTIVE_REDUCE_SCATTER, logarithmic, 0, 0},
    {"binomial", PW_COLLECTIVE_BROADCAST, whole_each_round, 64414.56, 0},
    {"binomial", PW_COLLECTIVE_REDUCE, whole_each_round, 64414.56, 0},
    {"binomial", PW_COLLECTIVE_SCATTER, logarithmic, 0, 0},
    {"binomial", PW_COLLECTIVE_GATHER, logarithmic, 0, 0},
    {"scatter_allgather", PW_COLLECTIVE_BROADCAST, scatter_then_ring, 41700.16, 0}};

PW_TEST(the_forms_give_the_published_vector) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].vector_ns > 0) PW_EXPECT_NEAR(forms[i].form(8, 500, 1048576 / 50.0) / forms[i].vector_ns, 1, 1e-12);
}

/* --- Worlds ---------------------------------------------------------------------------------------------------------- */

static int number_of(const char *algorithm) {
    int i = 0;
    while (strcmp(pw_algorithm_table[i].name, algorithm) != 0) i++;
    return i;
}

typedef struct fabric_bench {
    world *w;
    pw_group_shape shape;
} fabric_bench;

/* n GPUs: of one NVLink domain of 72, or one in each node of a network with one switch. */
static fabric_bench bench_of(uint32_t n, bool network) {
    pw_cluster_desc desc = world_desc(network ? n : 18, network ? 1 : 4);
    if (!network) desc.node.server = "GB200 NVL72";
    fabric_bench b = {.w = world_on(&desc, n)};
    groups_of(b.w, "all", 1, n, across);
    uint32_t t = template_of(b.w, "collective");
    op(b.w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 0));
    program_of(b.w, "collective", t);
    PW_CHECK(pw_collective_shape(b.w->collectives, b.w->gpu_of_rank, n, &b.shape, NULL) == PW_OK);
    PW_CHECK(b.shape.domains == (network ? n : 1));
    return b;
}

static double rate_of(const fabric_bench *b) { return b->shape.domains == 1 ? b->shape.scaleup_Bps : b->shape.network_Bps; }

static pw_time timed(const fabric_bench *b, pw_collective_kind kind, int algorithm, double bytes, bool messages) {
    pw_op *o = (pw_op *)b->w->templates[0].ops;
    o->collective.kind = kind;
    o->collective.algorithm = algorithm;
    o->collective.bytes = bytes;
    outcome done = run(b->w, &(options){.messages = messages});
    EXPECT_RAN(done);
    return done.end;
}

/* Message by message and as one activity, to a tick. */
static void lasts(const fabric_bench *b, const char *name, pw_collective_kind kind, int algorithm, double bytes, double seconds) {
    double n = b->shape.members, expected = seconds * 1e12;
    for (int messages = 1; messages >= 0; messages--) {
        double end = (double)timed(b, kind, algorithm, bytes, messages);
        if (fabs(end - expected) > 1 + 1e-12 * expected)
            PW_FAILED("%s %s, n = %.0f, %u domains, %s: %.0f ps, the form says %.3f", name, pw_collective_names[kind], n,
                      b->shape.domains, messages ? "messages" : "coupled", end, expected);
    }
}

static void meets(const fabric_bench *b, const char *name, pw_collective_kind kind, int algorithm, double bytes, form_fn *form) {
    lasts(b, name, kind, algorithm, bytes, form(b->shape.members, b->shape.latency_s, bytes / rate_of(b)));
}

static void sweep(const char *algorithm) {
    int count = 0;
    for (uint32_t n = 2; n <= 64; n += n < 18 ? 1 : n == 63 ? 1 : 9)
        for (int network = 0; network < 2; network++) {
            fabric_bench b = bench_of(n, network);
            for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
                const struct closed_form *f = &forms[i];
                if (strcmp(f->algorithm, algorithm) != 0 || (f->powers && (n & (n - 1)))) continue;
                meets(&b, f->algorithm, f->kind, number_of(f->algorithm), 1 << 20, f->form);
                count++;
            }
            world_free(b.w);
        }
    PW_EXPECT(count > 0);
}
PW_TEST(rings_meet_their_closed_forms) { sweep("ring"); }
PW_TEST(direct_exchanges_meet_their_closed_forms) { sweep("direct"); }
PW_TEST(halving_doubling_meets_its_closed_form) { sweep("halving_doubling"); }
PW_TEST(recursive_doubling_meets_its_closed_form) { sweep("recursive_doubling"); }
PW_TEST(bruck_meets_its_closed_forms) { sweep("bruck"); }
PW_TEST(pat_meets_its_closed_forms) { sweep("pat"); }
PW_TEST(pairwise_exchange_meets_its_closed_form) { sweep("pairwise"); }
PW_TEST(binomial_trees_meet_their_closed_forms) { sweep("binomial"); }
PW_TEST(scatter_allgather_meets_its_closed_form) { sweep("scatter_allgather"); }

/* (n - 2 + k)(a + S/(kB)): the latency of a piece keeps the port of the next one waiting. */
PW_TEST(chains_meet_their_closed_form_for_any_number_of_pieces) {
    for (uint32_t n = 2; n <= 64; n += 1 + n / 4) {
        fabric_bench b = bench_of(n, n % 2);
        for (uint32_t k = 1; k <= 64; k *= 4) {
            int chain = 0;
            pieces = k;
            PW_CHECK(pw_collectives_variant(b.w->collectives, number_of("chain"), &(pw_collective_options){.pieces = k}, &chain, NULL) == PW_OK);
            meets(&b, "chain", PW_COLLECTIVE_BROADCAST, chain, 1 << 20, chained);
            meets(&b, "chain", PW_COLLECTIVE_REDUCE, chain, 1 << 20, chained);
        }
        world_free(b.w);
    }
}

PW_TEST(an_uneven_exchange_takes_what_its_busiest_receiver_takes) {
    for (uint32_t n = 2; n <= 64; n += 1 + n / 4) {
        fabric_bench b = bench_of(n, n % 2);
        int uneven = 0, given = 0;
        imbalance = n < 3 ? n : 3;
        double *matrix = own(b.w, (size_t)n * n * sizeof *matrix);
        for (uint32_t i = 0; i < n * n; i++) matrix[i] = i % n == 0 ? imbalance / n : (1 - imbalance / n) / (n - 1);
        PW_CHECK(pw_collectives_variant(b.w->collectives, number_of("direct"), &(pw_collective_options){.imbalance = imbalance}, &uneven, NULL) == PW_OK);
        PW_CHECK(pw_collectives_variant(b.w->collectives, PW_ALGORITHM_AUTO, &(pw_collective_options){.matrix = matrix}, &given, NULL) == PW_OK);
        meets(&b, "direct", PW_COLLECTIVE_ALL_TO_ALL_V, uneven, 1 << 20, to_the_busiest);
        meets(&b, "auto", PW_COLLECTIVE_ALL_TO_ALL_V, given, 1 << 20, to_the_busiest);
        world_free(b.w);
    }
}

PW_TEST(barriers_take_their_rounds) {
    for (uint32_t n = 2; n <= 64; n += 1 + n / 4) {
        fabric_bench b = bench_of(n, n % 2);
        meets(&b, "bruck", PW_COLLECTIVE_BARRIER, number_of("bruck"), 0, rounds_only);
        meets(&b, "direct", PW_COLLECTIVE_BARRIER, number_of("direct"), 0, direct_both);
        meets(&b, "ring", PW_COLLECTIVE_BARRIER, number_of("ring"), 0, ring_both);
        world_free(b.w);
    }
}

/* --- Several dimensions, meshes, trees and switches -------------------------------------------------------------------- */

static fabric_bench nodes_of(const char *server, uint32_t nodes, uint32_t gpus, int topology) {
    pw_cluster_desc desc = world_desc(nodes, gpus);
    desc.node.server = server;
    desc.network.topology = topology;
    fabric_bench b = {.w = world_on(&desc, nodes * gpus)};
    groups_of(b.w, "all", 1, nodes * gpus, across);
    uint32_t t = template_of(b.w, "collective");
    op(b.w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 0));
    program_of(b.w, "collective", t);
    PW_CHECK(pw_collective_shape(b.w->collectives, b.w->gpu_of_rank, nodes * gpus, &b.shape, NULL) == PW_OK);
    return b;
}

static int topology_of(const char *name) {
    int i = 0;
    while (strcmp(pw_topology_names[i], name) != 0) i++;
    return i;
}

/* T = sum over dimensions of c (n_i - 1)(a_i + S / (B_i n_1 .. n_i)), c = 2 for all_reduce; all_to_all: without the product. */
PW_TEST(dimensions_one_after_another_add_up) {
    static const uint32_t shapes[][2] = {{2, 2}, {4, 2}, {3, 4}, {2, 8}, {5, 3}, {8, 8}, {7, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fabric_bench b = nodes_of("DGX H100", shapes[i][0], shapes[i][1], topology_of("rail_optimized"));
        double p = b.shape.per_domain, d = b.shape.domains, S = 1 << 20, inside_s = b.shape.scaleup_latency_s;
        PW_EXPECT(inside_s > 0 && inside_s < b.shape.latency_s);
        double in = S / b.shape.scaleup_Bps, out = S / b.shape.network_Bps;
        double half = (p - 1) * (inside_s + in / p) + (d - 1) * (b.shape.latency_s + out / (p * d));
        double exchange = (p - 1) * (inside_s + in / p) + (d - 1) * (b.shape.latency_s + out / d);
        int hierarchical = number_of("hierarchical");
        lasts(&b, "hierarchical", PW_COLLECTIVE_ALL_REDUCE, hierarchical, S, 2 * half);
        lasts(&b, "hierarchical", PW_COLLECTIVE_REDUCE_SCATTER, hierarchical, S, half);
        lasts(&b, "hierarchical", PW_COLLECTIVE_ALL_GATHER, hierarchical, S, half);
        lasts(&b, "hierarchical", PW_COLLECTIVE_ALL_TO_ALL, hierarchical, S, exchange);
        world_free(b.w);
    }
}

/* Links of their own to each other member: the slices go at once. */
PW_TEST(fully_connected_members_send_all_slices_at_once) {
    for (uint32_t n = 2; n <= 8; n++) {
        fabric_bench b = nodes_of("MI300X 8-OAM platform", 1, n, topology_of("single_switch"));
        double a = b.shape.latency_s, S = 1 << 20, link = b.shape.scaleup_Bps / (n - 1);
        lasts(&b, "direct", PW_COLLECTIVE_ALL_TO_ALL, number_of("direct"), S, a + S / (n * link));
        lasts(&b, "direct", PW_COLLECTIVE_ALL_REDUCE, number_of("direct"), S, 2 * (a + S / (n * link)));
        lasts(&b, "recursive_doubling", PW_COLLECTIVE_ALL_REDUCE, number_of("recursive_doubling"), S, doubling(n, a, S / link));
        world_free(b.w);
    }
    double t = 1048576 / 50.0;
    PW_EXPECT_NEAR((500 + t / 8) / 3121.44, 1, 1e-12);
    PW_EXPECT_NEAR(2 * (500 + t / 8) / 6242.88, 1, 1e-12);
}

/* A member is inner in one tree and a leaf in the other: it gets 2 S. The switch of a domain: S (1 + 1/n) on each port. */
PW_TEST(trees_and_switches_keep_their_bounds) {
    for (uint32_t n = 4; n <= 64; n += 1 + n / 3) {
        fabric_bench b = bench_of(n, true);
        double S = 1 << 26, bound = 2 * S / rate_of(&b), alone = 2 * ceil_log2(n) * b.shape.latency_s;
        double time = (double)timed(&b, PW_COLLECTIVE_ALL_REDUCE, number_of("tree"), S, true) / 1e12;
        PW_EXPECT(time >= bound);
        int fine = 0;
        PW_CHECK(pw_collectives_variant(b.w->collectives, number_of("tree"), &(pw_collective_options){.pieces = 512}, &fine, NULL) == PW_OK);
        double finer = (double)timed(&b, PW_COLLECTIVE_ALL_REDUCE, fine, S, true) / 1e12;
        PW_EXPECT(finer >= bound && finer < time && finer < 1.1 * (bound + alone));
        world_free(b.w);
        fabric_bench one = bench_of(n, false);
        double cut = (1 + 1.0 / n) * S / rate_of(&one);
        lasts(&one, "nvls", PW_COLLECTIVE_ALL_REDUCE, number_of("nvls"), S, 2 * one.shape.latency_s + cut);
        world_free(one.w);
    }
}

/* Rings inside, and between the domains a port's S/p up and down at once. */
PW_TEST(sums_in_the_network_cross_each_port_once) {
    fabric_bench plain = nodes_of("DGX H100", 4, 8, topology_of("rail_optimized"));
    PW_EXPECT(!pw_algorithm_table[number_of("sharp")].applies(PW_COLLECTIVE_ALL_REDUCE, &plain.shape, true));
    world_free(plain.w);
    pw_cluster_desc desc = world_desc(4, 8);
    desc.network.reduces = true;
    fabric_bench b = {.w = world_on(&desc, 32)};
    groups_of(b.w, "all", 1, 32, across);
    uint32_t t = template_of(b.w, "collective");
    op(b.w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 0));
    program_of(b.w, "collective", t);
    PW_CHECK(pw_collective_shape(b.w->collectives, b.w->gpu_of_rank, 32, &b.shape, NULL) == PW_OK);
    double S = 1 << 20, inside = b.shape.scaleup_latency_s + S / 8 / b.shape.scaleup_Bps;
    lasts(&b, "sharp", PW_COLLECTIVE_ALL_REDUCE, number_of("sharp"), S, 14 * inside + 2 * b.shape.latency_s + S / 8 / b.shape.network_Bps);
    world_free(b.w);
}

/* --- Laws -------------------------------------------------------------------------------------------------------------- */

PW_TEST(all_reduce_is_reduce_scatter_then_all_gather) {
    static const char *const names[] = {"ring", "direct", "halving_doubling", "hierarchical"};
    fabric_bench b = nodes_of("DGX H100", 4, 4, topology_of("rail_optimized"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int algorithm = number_of(names[i]);
        double S = 48 << 20, both = (double)timed(&b, PW_COLLECTIVE_ALL_REDUCE, algorithm, S, true);
        double halves = (double)timed(&b, PW_COLLECTIVE_REDUCE_SCATTER, algorithm, S, true) +
                        (double)timed(&b, PW_COLLECTIVE_ALL_GATHER, algorithm, S, true);
        PW_EXPECT(fabs(both - halves) <= 2 + 1e-12 * both);
    }
    world_free(b.w);
}

PW_TEST(pieces_do_not_change_the_bytes_of_a_link) {
    fabric_bench b = nodes_of("DGX H100", 4, 4, topology_of("rail_optimized"));
    static const struct { const char *name; pw_collective_kind kind; } cases[] = {
        {"tree", PW_COLLECTIVE_ALL_REDUCE}, {"ring", PW_COLLECTIVE_BROADCAST}, {"chain", PW_COLLECTIVE_REDUCE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *whole = NULL;
        uint32_t links = pw_fabric_links(pw_cluster_fabric(b.w->cluster));
        for (uint32_t k = 1; k <= 27; k *= 3) {
            pw_op *o = (pw_op *)b.w->templates[0].ops;
            o->collective.kind = cases[i].kind;
            o->collective.bytes = 27 << 20;
            PW_CHECK(pw_collectives_variant(b.w->collectives, number_of(cases[i].name), &(pw_collective_options){.pieces = k},
                                            &o->collective.algorithm, NULL) == PW_OK);
            outcome done = run(b.w, &(options){.messages = true});
            EXPECT_RAN(done);
            double most = 0, sum = 0;
            for (uint32_t l = 0; whole && l < links; l++) {
                most = fmax(most, fabs(done.link_bytes[l] - whole[l]));
                sum += whole[l];
            }
            if (whole) PW_EXPECT(sum > 0 && most <= 1e-9 * sum);
            else whole = done.link_bytes;
        }
    }
    world_free(b.w);
}

PW_TEST(other_numbers_of_the_ranks_change_nothing) {
    uint32_t n = 24;
    fabric_bench b = bench_of(n, false);
    uint64_t state = 3;
    static const char *const names[] = {"ring", "halving_doubling", "bruck", "pairwise", "binomial"};
    static const pw_collective_kind kinds[] = {PW_COLLECTIVE_ALL_REDUCE, PW_COLLECTIVE_ALL_REDUCE, PW_COLLECTIVE_ALL_GATHER,
                                               PW_COLLECTIVE_ALL_TO_ALL, PW_COLLECTIVE_BROADCAST};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pw_time plain = timed(&b, kinds[i], number_of(names[i]), 3e6, true);
        for (int trial = 0; trial < 5; trial++) {
            for (uint32_t at = n - 1; at > 0; at--) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
                uint32_t other = (uint32_t)(state >> 33) % (at + 1), swap = b.w->gpu_of_rank[at];
                b.w->gpu_of_rank[at] = b.w->gpu_of_rank[other];
                b.w->gpu_of_rank[other] = swap;
            }
            PW_EXPECT(timed(&b, kinds[i], number_of(names[i]), 3e6, true) == plain);
        }
    }
    world_free(b.w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
