/* Closed forms of collectives on rings, tori and full meshes of routers, message by message: what the links between routers carry. */
#include "models/collective/algorithm.h"
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }

static int number_of(const char *algorithm) {
    int i = 0;
    while (strcmp(pw_algorithm_table[i].name, algorithm) != 0) i++;
    return i;
}

typedef struct grid_bench {
    world *w;
    pw_group_shape shape;
    double trunk_Bps; /* payload of a link between routers, one direction */
} grid_bench;

/* A GPU on each router; links between routers of an eighth of a port's rate, so that they alone limit. */
static grid_bench bench_of(const char *topology, const int64_t *sizes, uint32_t count, uint32_t nodes) {
    pw_cluster_desc desc = world_desc(nodes, 1);
    desc.network.topology = 0;
    while (strcmp(pw_topology_names[desc.network.topology], topology) != 0) desc.network.topology++;
    if (count) desc.network.dims = (pw_list){sizes, count};
    desc.network.trunk_Bps = 50e9 / 8;
    grid_bench b = {.w = world_on(&desc, nodes)};
    groups_of(b.w, "all", 1, nodes, across);
    uint32_t t = template_of(b.w, "collective");
    op(b.w, t, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 0, 0));
    program_of(b.w, "collective", t);
    PW_CHECK(pw_collective_shape(b.w->collectives, b.w->gpu_of_rank, nodes, &b.shape, NULL) == PW_OK);
    const pw_fabric *fabric = pw_cluster_fabric(b.w->cluster);
    for (pw_link link = 0; link < pw_fabric_links(fabric); link++)
        if (pw_fabric_link(fabric, link)->kind == PW_LINK_TRUNK) b.trunk_Bps = pw_fabric_link(fabric, link)->bandwidth_Bps;
    PW_CHECK(b.trunk_Bps > 0);
    return b;
}

static double timed(const grid_bench *b, pw_collective_kind kind, int algorithm, double bytes, bool messages) {
    pw_op *o = (pw_op *)b->w->templates[0].ops;
    o->collective.kind = kind;
    o->collective.algorithm = algorithm;
    o->collective.bytes = bytes;
    outcome done = run(b->w, &(options){.messages = messages});
    EXPECT_RAN(done);
    return (double)done.end;
}

static void lasts(const grid_bench *b, const char *name, pw_collective_kind kind, int algorithm, double bytes, double seconds) {
    double expected = seconds * 1e12;
    for (int messages = strcmp(name, "direct") != 0; messages < 2; messages++) { /* an exchange at once is one activity as well */
        double time = timed(b, kind, algorithm, bytes, messages);
        if (fabs(time - expected) > 1 + 1e-12 * expected)
            PW_FAILED("%s %s on %u routers, %s: %.0f ps, the form says %.3f", name, pw_collective_names[kind], b->shape.members,
                      messages ? "messages" : "coupled", time, expected);
    }
}

/* Halves of what goes to the far side take each way: a directed link carries n/8 of S, (n^2 - 1)/(8n) for odd n. */
PW_TEST(an_exchange_on_a_ring_takes_what_its_links_carry) {
    for (uint32_t n = 3; n <= 24; n++) {
        grid_bench b = bench_of("ring", NULL, 0, n);
        double S = 1 << 24, load = n % 2 ? ((double)n * n - 1) / (8.0 * n) : n / 8.0;
        lasts(&b, "direct", PW_COLLECTIVE_ALL_TO_ALL, number_of("direct"), S, b.shape.latency_s + load * S / b.trunk_Bps);
        world_free(b.w);
    }
}

/* All dimensions alike: k/8 of S on each link. */
PW_TEST(an_exchange_on_a_torus_takes_what_its_links_carry) {
    static const int64_t sizes[][3] = {{4, 4}, {6, 6}, {8, 8}, {4, 4, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t k = (uint32_t)sizes[i][0], count = sizes[i][2] ? 3 : 2, n = count == 3 ? k * k * k : k * k;
        grid_bench b = bench_of("torus", sizes[i], count, n);
        double S = 1 << 24;
        lasts(&b, "direct", PW_COLLECTIVE_ALL_TO_ALL, number_of("direct"), S, b.shape.latency_s + k / 8.0 * S / b.trunk_Bps);
        world_free(b.w);
    }
}

/* One ring of each dimension after another: sum of 2 (n_i - 1)(a + S / (B n_1 .. n_i)). */
PW_TEST(rings_along_the_dimensions_of_a_torus_add_up) {
    static const int64_t sizes[][3] = {{8, 1}, {4, 4}, {8, 4}, {5, 3}, {4, 4, 4}, {3, 4, 5}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t count = sizes[i][2] ? 3 : 2, n = 1;
        pw_collective_options given = {.dimensions = count};
        for (uint32_t d = 0; d < count; d++) n *= given.extents[d] = (uint32_t)sizes[i][d];
        grid_bench b = bench_of("torus", sizes[i], count, n);
        int variant = 0;
        PW_CHECK(pw_collectives_variant(b.w->collectives, number_of("hierarchical"), &given, &variant, NULL) == PW_OK);
        double S = 1 << 24, half = 0, inner = 1;
        for (uint32_t d = 0; d < count; d++) {
            inner *= given.extents[d];
            half += (given.extents[d] - 1) * (b.shape.latency_s + S / inner / b.trunk_Bps);
        }
        lasts(&b, "hierarchical", PW_COLLECTIVE_ALL_REDUCE, variant, S, 2 * half);
        lasts(&b, "hierarchical", PW_COLLECTIVE_REDUCE_SCATTER, variant, S, half);
        lasts(&b, "hierarchical", PW_COLLECTIVE_ALL_GATHER, variant, S, half);
        world_free(b.w);
    }
}

/* A link for each pair: the slices go at once. */
PW_TEST(an_exchange_on_a_full_mesh_sends_all_slices_at_once) {
    for (uint32_t n = 2; n <= 8; n++) {
        grid_bench b = bench_of("fully_connected", NULL, 0, n);
        double S = 1 << 24, once = b.shape.latency_s + S / n / b.trunk_Bps;
        lasts(&b, "direct", PW_COLLECTIVE_ALL_TO_ALL, number_of("direct"), S, once);
        lasts(&b, "direct", PW_COLLECTIVE_ALL_REDUCE, number_of("direct"), S, 2 * once);
        world_free(b.w);
    }
}

/* Messages to far members share links with others; those to neighbours do not. */
PW_TEST(neighbours_beat_far_members_on_a_ring) {
    for (uint32_t n = 4; n <= 32; n *= 2) {
        grid_bench b = bench_of("ring", NULL, 0, n);
        double S = 1 << 26, ring = timed(&b, PW_COLLECTIVE_ALL_REDUCE, number_of("ring"), S, true);
        double far = timed(&b, PW_COLLECTIVE_ALL_REDUCE, number_of("recursive_doubling"), S, true);
        PW_EXPECT(far > ring);
        PW_EXPECT(ring / 1e12 >= 2 * (n - 1.0) / n * S / b.trunk_Bps);
        world_free(b.w);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
