/* Laws: a sweep takes what its collectives take, groups that run at once share links, and the report says so as nccl-tests does. */
#include <sys/mman.h>
#include <unistd.h>

#include "scenarios/sweep/sweep.h"
#include "tests/harness/catalogue.h"

typedef struct world {
    pw_cluster *cluster;
    pw_collectives *collectives;
    pw_sweep_config config;
    pw_sweep_result result;
} world;

static pw_cluster_desc describe(const char *server, int64_t nodes, const char *topology, double oversubscription) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    desc.network.oversubscription = oversubscription;
    for (desc.network.topology = 0; strcmp(pw_topology_names[desc.network.topology], topology) != 0;) desc.network.topology++;
    return desc;
}

static world make(pw_cluster_desc desc, pw_collective_kind kind, const char *ranks) {
    world w = {.config = {.kind = kind, .algorithm = PW_ALGORITHM_AUTO}};
    pw_error error = {0};
    must(pw_cluster_create(NULL, catalogue(), &desc, &w.cluster, &error), &error);
    must(pw_collectives_create(NULL, catalogue(), w.cluster, true, &w.collectives, &error), &error);
    must(pw_sweep_parse_groups(w.cluster, ranks, arena(), &w.config.groups, &error), &error);
    w.config.cluster = w.cluster;
    w.config.collectives = w.collectives;
    return w;
}

static void run(world *w, const int64_t *sizes, uint32_t count) {
    pw_error error = {0};
    w->config.sizes = sizes;
    w->config.size_count = count;
    must(pw_sweep_run(&w->config, arena(), &w->result, &error), &error);
}

static void drop(world *w) {
    pw_collectives_destroy(w->collectives);
    pw_cluster_destroy(w->cluster);
}

static const int64_t sizes[] = {8, 65536, 1 << 24, INT64_C(1) << 32};
enum { SIZES = sizeof sizes / sizeof *sizes };

PW_TEST(alone_a_row_takes_what_its_collective_costs) {
    for (int kind = 0; kind <= PW_COLLECTIVE_BROADCAST; kind++) {
        world w = make(describe("DGX H100", 4, "rail_optimized", 1), (pw_collective_kind)kind, "all");
        run(&w, sizes, SIZES);
        for (int i = 0; i < SIZES; i++) {
            const pw_sweep_row *row = &w.result.rows[i];
            PW_EXPECT(fabs(row->time_s - row->cost.total_s) <= 2.001e-12);
            PW_EXPECT(row->time_s >= row->cost.floor_s && row->bytes == sizes[i]);
            PW_EXPECT(row->fastest_s == row->slowest_s);
        }
        PW_EXPECT(w.result.rows[0].limit == PW_SWEEP_LATENCY && w.result.events > 0);
        drop(&w);
    }
}

PW_TEST(message_by_message_takes_the_same_time) {
    world w = make(describe("DGX H100", 2, "rail_optimized", 1), PW_COLLECTIVE_ALL_GATHER, "all"), m = w;
    m.config.messages = true;
    run(&w, sizes, SIZES);
    run(&m, sizes, SIZES);
    for (int i = 0; i < SIZES; i++) PW_EXPECT_NEAR(m.result.rows[i].time_s, w.result.rows[i].time_s, 1e-6);
    drop(&w);
}

PW_TEST(groups_that_meet_on_a_thin_trunk_take_longer_and_name_it) {
    const int64_t large[] = {INT64_C(1) << 32};
    world alone = make(describe("DGX H100", 64, "fat_tree", 8), PW_COLLECTIVE_ALL_TO_ALL, "0-511:8");
    world eight = make(describe("DGX H100", 64, "fat_tree", 8), PW_COLLECTIVE_ALL_TO_ALL, "each-rail");
    run(&alone, large, 1);
    run(&eight, large, 1);
    const pw_sweep_row *a = &alone.result.rows[0], *b = &eight.result.rows[0];
    PW_EXPECT(eight.config.groups.count == 8 && eight.config.groups.size == 64);
    PW_EXPECT(b->time_s > 1.9 * a->time_s);
    PW_EXPECT(b->limit == PW_SWEEP_LINK);
    PW_EXPECT(pw_fabric_link(pw_cluster_fabric(eight.cluster), b->link)->kind == PW_LINK_TRUNK);
    PW_EXPECT_NEAR(b->busy, 1, 0.02);
    drop(&alone);
    drop(&eight);
}

PW_TEST(rails_of_a_rail_network_do_not_meet) {
    const int64_t large[] = {INT64_C(1) << 30};
    world alone = make(describe("DGX H100", 8, "rail_optimized", 1), PW_COLLECTIVE_ALL_TO_ALL, "0-63:8");
    world eight = make(describe("DGX H100", 8, "rail_optimized", 1), PW_COLLECTIVE_ALL_TO_ALL, "each-rail");
    run(&alone, large, 1);
    run(&eight, large, 1);
    PW_EXPECT_NEAR(eight.result.rows[0].time_s, alone.result.rows[0].time_s, 1e-9);
    PW_EXPECT(alone.result.rows[0].limit == PW_SWEEP_PROTOCOL);
    drop(&alone);
    drop(&eight);
}

PW_TEST(every_size_begins_when_all_groups_are_done) {
    /* Domains of 4 and 4: both groups in one node, so both rows are alike however often they run. */
    const int64_t twice[] = {1 << 20, 1 << 20, 1 << 20};
    world w = make(describe("DGX H100", 1, "single_switch", 1), PW_COLLECTIVE_ALL_REDUCE, "0-3/4-7");
    run(&w, twice, 3);
    PW_EXPECT(w.result.rows[0].time_s == w.result.rows[2].time_s && w.result.rows[0].time_s == w.result.rows[1].time_s);
    drop(&w);
}

PW_TEST(sizes_round_as_nccl_tests_rounds_them) {
    const struct {
        pw_collective_kind kind;
        pw_sweep_range range;
        uint32_t members, count;
        int64_t first, last;
    } cases[] = {{PW_COLLECTIVE_ALL_REDUCE, {8, 1024, 2, 0}, 3, 8, 8, 1024},
                 {PW_COLLECTIVE_ALL_REDUCE, {9, 30, 0, 10}, 3, 3, 8, 28},
                 {PW_COLLECTIVE_ALL_GATHER, {8, 1024, 2, 0}, 8, 4, 128, 1024},
                 {PW_COLLECTIVE_ALL_TO_ALL, {1000, 1000, 2, 0}, 24, 1, 768, 768},
                 {PW_COLLECTIVE_BARRIER, {8, 1024, 2, 0}, 8, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t *made;
        uint32_t count;
        pw_error error = {0};
        must(pw_sweep_sizes(&cases[i].range, pw_sweep_test_of(cases[i].kind), cases[i].members, 4, arena(), &made, &count, &error), &error);
        PW_EXPECT(count == cases[i].count && made[0] == cases[i].first && made[count - 1] == cases[i].last);
    }
    const pw_sweep_range none = {8, 64, 2, 0}, reversed = {64, 8, 2, 0}, stuck = {8, 64, 1, 0};
    const pw_sweep_range *const bad[] = {&none, &reversed, &stuck};
    for (int i = 0; i < 3; i++) {
        int64_t *made;
        uint32_t count;
        PW_EXPECT(pw_sweep_sizes(bad[i], pw_sweep_test_of(PW_COLLECTIVE_ALL_GATHER), 8, 4, arena(), &made, &count, NULL) == PW_BAD_INPUT);
    }
}

PW_TEST(sizes_read_binary_suffixes) {
    const struct { const char *text; int64_t bytes; } good[] = {{"8", 8}, {"1K", 1024}, {"1.5m", 1572864}, {"16G", INT64_C(1) << 34}};
    const char *const bad[] = {"", "K", "1KB", "-1", "1.3", "1e30", "2 K", "nan"};
    int64_t bytes;
    for (size_t i = 0; i < 4; i++) PW_EXPECT(pw_sweep_size("minbytes", good[i].text, &bytes, NULL) == PW_OK && bytes == good[i].bytes);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) PW_EXPECT(pw_sweep_size("minbytes", bad[i], &bytes, NULL) == PW_BAD_INPUT);
}

PW_TEST(kinds_have_the_names_of_nccl_tests_too) {
    pw_collective_kind kind;
    PW_EXPECT(pw_sweep_kind("alltoall_perf", &kind, NULL) == PW_OK && kind == PW_COLLECTIVE_ALL_TO_ALL);
    PW_EXPECT(pw_sweep_kind("alltoallv", &kind, NULL) == PW_OK && kind == PW_COLLECTIVE_ALL_TO_ALL_V);
    PW_EXPECT(pw_sweep_kind("sendrecv", &kind, NULL) == PW_OK && kind == PW_COLLECTIVE_SEND_RECV);
    PW_EXPECT(pw_sweep_kind("reduce_scatter", &kind, NULL) == PW_OK && kind == PW_COLLECTIVE_REDUCE_SCATTER);
    PW_EXPECT(pw_sweep_kind("all_reducer", &kind, NULL) == PW_BAD_INPUT);
    for (int k = 0; k < PW_COLLECTIVE_KIND_COUNT; k++) PW_EXPECT(pw_sweep_test_of((pw_collective_kind)k) != NULL);
}

PW_TEST(ranks_are_words_counts_and_lists) {
    pw_cluster_desc desc = describe("DGX H100", 2, "rail_optimized", 1);
    pw_cluster *cluster;
    pw_sweep_groups groups;
    pw_error error = {0};
    must(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error), &error);
    const struct { const char *text; uint32_t count, size, second; } good[] = {
        {"all", 1, 16, 1}, {"one-per-node", 1, 2, 8}, {"each-node", 2, 8, 1}, {"each-domain", 2, 8, 1}, {"each-rail", 8, 2, 8},
        {"6", 1, 6, 1}, {"3,9,0-2", 1, 5, 9}, {"0-15:4", 1, 4, 4}, {"0-1/4-5/8,12", 3, 2, 1}};
    const char *const bad[] = {"", "none", "0", "1", "17", "0,0", "0-1/1-2", "16", "0-16", "5-2", "0-3:0", "0,", "0-1/2", "0;1", "1x", "-1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        must(pw_sweep_parse_groups(cluster, good[i].text, arena(), &groups, &error), &error);
        PW_EXPECT(groups.count == good[i].count && groups.size == good[i].size && groups.gpus[1] == good[i].second);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strcmp(bad[i], "16") != 0) PW_EXPECT(pw_sweep_parse_groups(cluster, bad[i], arena(), &groups, NULL) != PW_OK);
    pw_cluster_destroy(cluster);
}

static char text[1 << 18];
static const char *report_of(world *w, pw_status (*write)(const pw_sweep_report *, pw_arena *, pw_file *, pw_error *)) {
    pw_file *file = NULL;
    pw_error error = {0};
    int memory = memfd_create("report", 0);
    must(pw_file_attach(memory, NULL, &file, &error), &error);
    pw_sweep_report report = {.title = "two nodes", .version = "1", .config = &w->config, .result = &w->result,
                              .range = {8, INT64_C(1) << 32, 2, 0}, .type = {"float", 4}};
    must(write(&report, arena(), file, &error), &error);
    must(pw_file_commit(file, &error), &error);
    ssize_t length = pread(memory, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(memory);
    return text;
}

/* The row of a size, read as a program would that knows nccl-tests. */
PW_TEST(the_table_reads_back) {
    world w = make(describe("DGX H100", 2, "rail_optimized", 1), PW_COLLECTIVE_ALL_REDUCE, "all");
    run(&w, sizes, SIZES);
    const char *at = strstr(report_of(&w, pw_sweep_text), "(elements)");
    PW_EXPECT(at != NULL);
    for (int i = 0; at && i < SIZES; i++) {
        long long size = 0, count = 0;
        double time[2], algbw[2], busbw[2];
        char type[16], redop[16], algorithm[16];
        int root;
        at = strchr(at, '\n') + 1;
        int read = sscanf(at, "%lld %lld %15s %15s %d %lf %lf %lf N/A %lf %lf %lf N/A # %15s", &size, &count, type, redop, &root,
                          &time[0], &algbw[0], &busbw[0], &time[1], &algbw[1], &busbw[1], algorithm);
        const pw_sweep_row *row = &w.result.rows[i];
        PW_EXPECT(read == 12 && size == sizes[i] && count == sizes[i] / 4 && root == -1);
        PW_EXPECT(strcmp(type, "float") == 0 && strcmp(redop, "sum") == 0);
        algorithm[strcspn(algorithm, "/")] = '\0'; /* the protocol follows */
        PW_EXPECT(strcmp(algorithm, pw_algorithm_table[row->cost.algorithm].name) == 0);
        PW_EXPECT(fabs(time[0] - row->time_s * 1e6) <= 0.00501 + 1e-5 * time[0]);
        PW_EXPECT(fabs(algbw[0] - (double)size / row->time_s / 1e9) <= 0.00501);
        PW_EXPECT(fabs(busbw[0] - algbw[0] * 2 * 15 / 16) <= 0.015);
        PW_EXPECT(time[0] == time[1] && busbw[0] == busbw[1]);
    }
    PW_EXPECT(strstr(text, "# Collective test starting: all_reduce_perf\n") && strstr(text, "# Out of bounds values : 0 OK\n"));
    PW_EXPECT(strstr(text, "# Avg bus bandwidth    : ") != NULL);
    drop(&w);
}

PW_TEST(an_explanation_adds_up) {
    world w = make(describe("DGX A100 640GB", 1, "single_switch", 1), PW_COLLECTIVE_ALL_GATHER, "4");
    const int64_t one[] = {1 << 26};
    run(&w, one, 1);
    double *loads = pw_arena_alloc(arena(), pw_fabric_links(pw_cluster_fabric(w.cluster)) * sizeof *loads), sum = 0, most = 0;
    pw_error error = {0};
    must(pw_sweep_loads(&w.config, 1, loads, &error), &error);
    for (uint32_t i = 0; i < pw_fabric_links(pw_cluster_fabric(w.cluster)); i++) {
        sum += loads[i];
        most = fmax(most, loads[i]);
    }
    PW_EXPECT_NEAR(sum, 4 * 0.75 * 2, 1e-12); /* every byte of a ring crosses two links of the NVSwitch */
    PW_EXPECT_NEAR(most, 0.75, 1e-12);
    PW_EXPECT(w.result.rows[0].alike == 1);
    drop(&w);
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
