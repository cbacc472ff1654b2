/* Laws of clusters: wiring is what the catalogue says, routes are paths over it. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "models/node/cluster.h"
#include "tests/harness/check.h"

static const pw_catalogue *catalogue(void) {
    static pw_catalogue *loaded;
    if (!loaded) pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &loaded, NULL);
    return loaded;
}

enum { SINGLE, FAT_TREE, RAILS };

static pw_cluster_desc describe(const char *server, int64_t nodes) {
    return (pw_cluster_desc){.name = "test",
                             .node = {.server = server, .nic_Bps = NAN, .nvlink_Bps = NAN, .gpudirect = true, .pxn = true},
                             .nodes = nodes,
                             .network = {RAILS, 1, 0, NAN, NAN, NAN, NAN}};
}

static pw_cluster *make(const pw_cluster_desc *desc) {
    pw_cluster *cluster = NULL;
    pw_error error = {0};
    if (pw_cluster_create(NULL, catalogue(), desc, &cluster, &error) != PW_OK)
        PW_FAILED("%s: %s (%s)", desc->node.server ? desc->node.server : "own node", error.what, error.hint);
    return cluster;
}

static bool is_path(const pw_cluster *cluster, const pw_path *path, pw_vertex from, pw_vertex to) {
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    for (uint32_t i = 0; i < path->count; i++) {
        const pw_link_info *link = pw_fabric_link(fabric, path->links[i]);
        if (link->from != from) return false;
        from = link->to;
        for (uint32_t j = 0; j < i; j++)
            if (path->links[j] == path->links[i]) return false;
    }
    return from == to;
}

/* "nvlink nvlink", "pcie pcie network ..." */
static const char *kinds_of(const pw_cluster *cluster, const pw_path *path) {
    static char text[512];
    text[0] = '\0';
    for (uint32_t i = 0; i < path->count; i++) {
        if (i) strcat(text, " ");
        strcat(text, pw_link_kind_names[pw_fabric_link(pw_cluster_fabric(cluster), path->links[i])->kind]);
    }
    return text;
}

static void expect_route(const pw_cluster *cluster, uint32_t from, uint32_t to, const char *kinds) {
    pw_path path;
    PW_EXPECT(pw_cluster_route(cluster, from, to, 0, &path) == PW_OK);
    PW_EXPECT(is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, from), pw_cluster_gpu_vertex(cluster, to)));
    PW_EXPECT_TEXT(kinds_of(cluster, &path), kinds);
}

PW_TEST(every_server_of_the_table_builds_and_every_pair_has_a_route) {
    const pw_table *nodes = pw_catalogue_table(catalogue(), "nodes");
    int built = 0;
    for (size_t row = 0; row < pw_table_rows(nodes); row++) {
        const char *server = pw_table_text_at(nodes, row, 0);
        if (!strcmp(server, "generic")) continue;
        int nics = pw_table_find_column(nodes, "nics");
        bool has_ports = pw_table_number_at(nodes, row, (size_t)nics) > 0;
        for (int topology = SINGLE; topology <= RAILS; topology++)
            for (int gpudirect = 0; gpudirect < 2; gpudirect++) {
                pw_cluster_desc desc = describe(server, has_ports ? 5 : 1);
                desc.network.topology = topology;
                desc.node.gpudirect = gpudirect;
                pw_cluster *cluster = make(&desc);
                if (!cluster) break;
                built++;
                uint32_t gpus = pw_cluster_gpus(cluster);
                for (uint32_t a = 0; a < gpus; a++)
                    for (uint32_t b = 0; b < gpus; b++) {
                        pw_path path;
                        PW_EXPECT(pw_cluster_route(cluster, a, b, a + b, &path) == PW_OK);
                        bool good = is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, a), pw_cluster_gpu_vertex(cluster, b));
                        if (!good) PW_FAILED("%s: no path from %u to %u", server, a, b);
                        PW_EXPECT((a == b) == (path.count == 0));
                    }
                for (uint32_t g = 0; g < gpus; g++) {
                    pw_path out, back;
                    PW_EXPECT(pw_cluster_host_route(cluster, g, true, &out) == PW_OK && out.count > 0);
                    PW_EXPECT(pw_cluster_host_route(cluster, g, false, &back) == PW_OK && back.count == out.count);
                    pw_vertex cpu = pw_fabric_link(pw_cluster_fabric(cluster), out.links[out.count - 1])->to;
                    PW_EXPECT(pw_fabric_vertex_kind(pw_cluster_fabric(cluster), cpu) == PW_VERTEX_CPU);
                    PW_EXPECT(is_path(cluster, &back, cpu, pw_cluster_gpu_vertex(cluster, g)));
                }
                pw_cluster_destroy(cluster);
            }
    }
    PW_EXPECT(built >= 25 * 6);
}

PW_TEST(dgx_h100_has_its_data_sheets_parts) {
    pw_cluster_desc desc = describe("dgx-h100", 4);
    pw_cluster *cluster = make(&desc);
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    PW_EXPECT_TEXT(facts.server, "DGX H100");
    PW_EXPECT_TEXT(facts.gpu, "H100-SXM5-80GB");
    PW_EXPECT_TEXT(facts.scaleup, "nvswitch");
    PW_EXPECT_TEXT(facts.host, "x86");
    PW_EXPECT_INT(facts.gpus, 32);
    PW_EXPECT_INT(facts.nics_per_node, 8);
    PW_EXPECT_INT(facts.scaleup_domain, 8);
    PW_EXPECT_INT(facts.scaleup_planes, 4);
    PW_EXPECT(facts.multicast);
    PW_EXPECT_INT(facts.radix, 64);
    PW_EXPECT_NEAR(facts.scaleup_line_Bps, 450e9, 1e-12);
    PW_EXPECT_NEAR(facts.scaleup_Bps, 396e9, 1e-12); /* the measured copy */
    PW_EXPECT_NEAR(facts.nic_line_Bps, 50e9, 1e-12);
    PW_EXPECT_NEAR(facts.nic_Bps, 49e9, 1e-12);
    PW_EXPECT(facts.wiring_line > 0 && strstr(facts.wiring_file, "nodes.csv") && *facts.wiring_source);
    expect_route(cluster, 0, 7, "nvlink nvlink");
    expect_route(cluster, 0, 8, "pcie pcie network network pcie pcie"); /* the same rail */
    pw_path path;
    pw_cluster_route(cluster, 0, 7, 0, &path);
    PW_EXPECT_NEAR(pw_path_bandwidth_Bps(pw_cluster_fabric(cluster), &path), 396e9, 1e-12);
    pw_cluster_route(cluster, 0, 8, 0, &path);
    PW_EXPECT_NEAR(pw_path_bandwidth_Bps(pw_cluster_fabric(cluster), &path), 49e9, 1e-12);
    double latency_s = pw_path_latency_s(pw_cluster_fabric(cluster), &path);
    PW_EXPECT(latency_s > 1e-6 && latency_s < 4e-6); /* a verbs write takes 1.8 to 3 us */
    pw_cluster_destroy(cluster);
}

PW_TEST(another_rail_is_reached_over_nvlink_only_where_rails_are_kept_apart) {
    pw_cluster_desc desc = describe("DGX H100", 4);
    pw_cluster *rails = make(&desc);
    desc.network.topology = FAT_TREE;
    pw_cluster *tree = make(&desc);
    /* 32 ports of 4 nodes share one leaf in the fat tree; rails have a leaf each */
    expect_route(rails, 0, 8 + 3, "nvlink nvlink pcie pcie network network pcie pcie");
    expect_route(tree, 0, 8 + 3, "pcie pcie network network pcie pcie");
    for (uint32_t a = 0; a < 8; a++)
        for (uint32_t b = 8; b < 32; b++) { /* never a trunk: data change rails in the node */
            pw_path path;
            pw_cluster_route(rails, a, b, 1, &path);
            PW_EXPECT(strstr(kinds_of(rails, &path), "trunk") == NULL);
            PW_EXPECT((a % 8 == b % 8) == (strstr(kinds_of(rails, &path), "nvlink") == NULL));
        }
    pw_cluster_destroy(rails), pw_cluster_destroy(tree);
}

PW_TEST(without_gpudirect_data_pass_through_host_memory) {
    pw_cluster_desc desc = describe("DGX A100 640GB", 2);
    desc.node.gpudirect = false;
    pw_cluster *cluster = make(&desc);
    expect_route(cluster, 0, 8, "pcie pcie pcie pcie network network pcie pcie pcie pcie");
    pw_path path;
    pw_cluster_route(cluster, 0, 8, 0, &path);
    pw_vertex middle = pw_fabric_link(pw_cluster_fabric(cluster), path.links[1])->to;
    PW_EXPECT(pw_fabric_vertex_kind(pw_cluster_fabric(cluster), middle) == PW_VERTEX_CPU);
    pw_cluster_destroy(cluster);
}

PW_TEST(an_nvl72_rack_is_one_nvlink_domain_of_eighteen_nodes) {
    pw_cluster_desc desc = describe("GB200 NVL72", 36); /* two racks */
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_gpus(cluster), 144);
    PW_EXPECT_INT(pw_cluster_scaleup_domain(cluster), 72);
    PW_EXPECT_TEXT(pw_cluster_host(cluster), "grace");
    expect_route(cluster, 0, 3, "nvlink nvlink");
    expect_route(cluster, 0, 71, "nvlink nvlink");
    expect_route(cluster, 72, 143, "nvlink nvlink");
    pw_path path;
    pw_cluster_route(cluster, 71, 72, 0, &path); /* another rack */
    PW_EXPECT_CONTAINS(kinds_of(cluster, &path), "network");
    pw_cluster_destroy(cluster);
    desc.nodes = 2; /* a part of a rack */
    cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_scaleup_domain(cluster), 8);
    expect_route(cluster, 0, 7, "nvlink nvlink");
    pw_cluster_destroy(cluster);
}

PW_TEST(nodes_spread_evenly_over_the_domains_they_need) {
    static const struct { int64_t nodes, given; uint32_t domain; } cases[] = {
        {36, 0, 72},  {128, 0, 64}, {384, 0, 64}, {19, 0, 72} /* a prime: one rack is full, one holds a tray */,
        {20, 0, 40},  {18, 0, 72},  {36, 48, 48}, {128, 72, 72},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_cluster_desc desc = describe("GB200 NVL72", cases[i].nodes);
        desc.node.scaleup_domain = cases[i].given;
        pw_cluster *cluster = make(&desc);
        PW_EXPECT_INT(pw_cluster_scaleup_domain(cluster), cases[i].domain);
        pw_cluster_destroy(cluster);
    }
}

PW_TEST(a_scaleup_domain_that_cannot_be_is_refused) {
    static const struct { const char *server; int64_t domain; const char *what; } cases[] = {
        {"GB200 NVL72", 70, "no multiple"}, {"DGX-1 V100", 8, "needs GPUs joined by NVSwitches"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_cluster_desc desc = describe(cases[i].server, 4);
        desc.node.scaleup_domain = cases[i].domain;
        pw_cluster *cluster;
        pw_error error = {0};
        PW_EXPECT(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error) == PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, cases[i].what);
    }
}

PW_TEST(a_hybrid_cube_mesh_uses_direct_links_then_a_neighbour) {
    pw_cluster_desc desc = describe("DGX-1 V100", 2);
    pw_cluster *cluster = make(&desc);
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    double per_gpu[8] = {0};
    for (uint32_t l = 0; l < pw_fabric_links(fabric); l++) {
        const pw_link_info *link = pw_fabric_link(fabric, l);
        if (link->kind != PW_LINK_NVLINK || link->from >= 8) continue;
        per_gpu[link->from] += link->bandwidth_Bps;
    }
    for (int g = 0; g < 8; g++) PW_EXPECT_NEAR(per_gpu[g], pw_cluster_scaleup_Bps(cluster), 1e-12); /* all six links */
    expect_route(cluster, 0, 3, "nvlink");
    expect_route(cluster, 0, 5, "nvlink nvlink");
    expect_route(cluster, 0, 8, "pcie pcie network network pcie pcie");
    PW_EXPECT(!pw_cluster_has_multicast(cluster));
    PW_EXPECT_INT(pw_cluster_nics_per_node(cluster), 4);
    PW_EXPECT_INT(pw_cluster_port(cluster, 0, 0), pw_cluster_port(cluster, 1, 0)); /* two GPUs share a port */
    pw_cluster_destroy(cluster);
}

PW_TEST(pcie_cards_talk_over_their_switch_or_their_cpus) {
    pw_cluster_desc desc = describe("8xA100-PCIe server", 1);
    pw_cluster *cluster = make(&desc);
    PW_EXPECT(pw_cluster_network(cluster) == NULL);
    PW_EXPECT(pw_cluster_scaleup_Bps(cluster) == 0);
    PW_EXPECT_INT(pw_cluster_scaleup_domain(cluster), 1);
    expect_route(cluster, 0, 1, "pcie pcie");
    expect_route(cluster, 0, 2, "pcie pcie pcie pcie");
    expect_route(cluster, 0, 7, "pcie pcie socket pcie pcie");
    pw_cluster_destroy(cluster);
}

PW_TEST(each_gpu_has_ports_of_its_own_when_there_are_enough) {
    static const char *const servers[] = {"DGX A100 640GB", "DGX H100", "DGX B200", "AWS p5", "AWS p5en", "GB300 NVL72"};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        pw_cluster_desc desc = describe(servers[i], 2);
        pw_cluster *cluster = make(&desc);
        uint32_t gpus = pw_cluster_gpus(cluster), nics = pw_cluster_nics_per_node(cluster), count = pw_cluster_ports_per_gpu(cluster);
        bool *used = calloc(gpus * count + 1, sizeof *used);
        for (uint32_t g = 0; g < gpus; g++)
            for (uint32_t k = 0; k < count; k++) {
                uint32_t port = pw_cluster_port(cluster, g, k);
                PW_EXPECT(port < 2 * nics && port / nics == pw_cluster_node_of(cluster, g));
                PW_EXPECT(!used[port]);
                used[port] = true;
            }
        PW_EXPECT(pw_cluster_port(cluster, gpus, 0) == PW_NONE && pw_cluster_port(cluster, 0, count) == PW_NONE);
        free(used);
        pw_cluster_destroy(cluster);
    }
}

PW_TEST(flows_of_a_gpu_with_four_ports_use_all_four) {
    pw_cluster_desc desc = describe("AWS p5", 2);
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_ports_per_gpu(cluster), 4);
    bool seen[32] = {false};
    int distinct = 0;
    for (uint64_t hash = 0; hash < 8; hash++) {
        pw_path path;
        PW_EXPECT(pw_cluster_route(cluster, 0, 8, hash, &path) == PW_OK);
        for (uint32_t i = 0; i < path.count; i++) {
            const pw_link_info *link = pw_fabric_link(pw_cluster_fabric(cluster), path.links[i]);
            if (link->kind != PW_LINK_NETWORK) continue;
            uint32_t nic = link->from % 32;
            if (!seen[nic]) distinct++, seen[nic] = true;
            break;
        }
    }
    PW_EXPECT_INT(distinct, 4);
    pw_cluster_destroy(cluster);
}

PW_TEST(a_node_of_its_own_needs_only_a_gpu_a_count_and_a_rate) {
    pw_cluster_desc desc = describe(NULL, 3);
    desc.node.gpu = "h100", desc.node.gpus = 4, desc.node.nic_Bps = 25e9;
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_gpus(cluster), 12);
    PW_EXPECT_INT(pw_cluster_nics_per_node(cluster), 4);
    PW_EXPECT(pw_cluster_has_multicast(cluster)); /* as the servers with this GPU */
    PW_EXPECT_INT(pw_cluster_scaleup_domain(cluster), 4);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), 25e9 * 0.964, 1e-9);
    expect_route(cluster, 0, 3, "nvlink nvlink");
    pw_cluster_destroy(cluster);
    desc.node.gpu = "L40S", desc.node.gpus = 1;
    cluster = make(&desc);
    PW_EXPECT(pw_cluster_scaleup_Bps(cluster) == 0);
    expect_route(cluster, 0, 1, "pcie pcie network network pcie pcie");
    pw_cluster_destroy(cluster);
}

PW_TEST(overrides_of_rates_and_counts_take_effect) {
    pw_cluster_desc desc = describe("DGX H100", 2);
    desc.node.gpus = 4, desc.node.nvlink_Bps = 225e9, desc.node.nic_Bps = 100e9, desc.node.host = "grace";
    desc.network.efficiency = 0.5;
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_gpus_per_node(cluster), 4);
    PW_EXPECT_INT(pw_cluster_nics_per_node(cluster), 4);
    PW_EXPECT_NEAR(pw_cluster_scaleup_Bps(cluster), 225e9 * 0.88, 1e-12);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), 50e9, 1e-12);
    PW_EXPECT_TEXT(pw_cluster_host(cluster), "grace");
    PW_EXPECT_INT(pw_cluster_get_facts(cluster).radix, 144); /* the first switch with 800G ports */
    pw_cluster_destroy(cluster);
    desc = describe("DGX H100", 2);
    desc.node.nics = 2; /* eight GPUs share two ports */
    cluster = make(&desc);
    uint32_t share[2] = {0};
    for (uint32_t g = 0; g < 8; g++) share[pw_cluster_port(cluster, g, 0)]++;
    PW_EXPECT(share[0] == 4 && share[1] == 4);
    pw_cluster_destroy(cluster);
    desc.node.nics = 16;
    cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_ports_per_gpu(cluster), 2);
    pw_cluster_destroy(cluster);
    desc = describe("DGX H100", 2);
    desc.node.nic_Bps = 400e9; /* faster than the PCIe slot */
    cluster = make(&desc);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), pw_cluster_get_facts(cluster).pcie_Bps, 1e-12);
    pw_cluster_destroy(cluster);
}

PW_TEST(the_slower_of_nic_and_port_sets_the_rate) {
    static const struct {
        double nic_Gbps, port_Gbps, line_Gbps; /* 0: left out */
    } cases[] = {{0, 0, 400}, {0, 200, 200}, {0, 800, 800}, {200, 0, 200}, {200, 400, 200}, {400, 200, 200}, {800, 800, 800}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_cluster_desc desc = describe("DGX H100", 2);
        if (cases[i].nic_Gbps > 0) desc.node.nic_Bps = cases[i].nic_Gbps * 1e9 / 8;
        if (cases[i].port_Gbps > 0) desc.network.port_Bps = cases[i].port_Gbps * 1e9 / 8;
        pw_cluster *cluster = make(&desc);
        PW_EXPECT_NEAR(pw_cluster_get_facts(cluster).nic_line_Bps, cases[i].line_Gbps * 1e9 / 8, 1e-12);
        pw_cluster_destroy(cluster);
    }
}

PW_TEST(random_clusters_have_sound_routes) {
    static const char *const servers[] = {"DGX A100 640GB", "DGX H100", "HGX H100 8-GPU baseboard", "DGX-2", "GB200 NVL72",
                                          "MI300X 8-OAM platform", "8xL40S server", "AWS p4d"};
    srand(7); /* seed 7 */
    for (int round = 0; round < 60; round++) {
        pw_cluster_desc desc = describe(servers[rand() % 8], 1 + rand() % 200);
        desc.network.topology = rand() % 3;
        desc.network.oversubscription = 1 + rand() % 3;
        desc.node.gpudirect = rand() % 2;
        if (rand() % 2) desc.node.gpus = 1 << rand() % 3;
        pw_cluster *cluster = make(&desc);
        if (!cluster) break;
        uint32_t gpus = pw_cluster_gpus(cluster);
        for (int i = 0; i < 200; i++) {
            uint32_t a = (uint32_t)rand() % gpus, b = (uint32_t)rand() % gpus;
            pw_path path;
            PW_EXPECT(pw_cluster_route(cluster, a, b, (uint64_t)rand(), &path) == PW_OK);
            PW_EXPECT(is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, a), pw_cluster_gpu_vertex(cluster, b)));
            if (a != b) PW_EXPECT(pw_path_bandwidth_Bps(pw_cluster_fabric(cluster), &path) > 1e9);
        }
        if (pw_test_failures) printf("# round %d: %s, %lld nodes\n", round, desc.node.server, (long long)desc.nodes);
        pw_cluster_destroy(cluster);
        if (pw_test_failures) break;
    }
}

static void expect_refused(const pw_cluster_desc *desc, pw_status status, const char *what, const char *hint) {
    pw_cluster *cluster = NULL;
    pw_error error = {0};
    PW_EXPECT_INT(pw_cluster_create(NULL, catalogue(), desc, &cluster, &error), status);
    PW_EXPECT(cluster == NULL);
    PW_EXPECT_CONTAINS(error.what, what);
    PW_EXPECT_CONTAINS(error.hint, hint);
}

PW_TEST(impossible_clusters_are_refused_with_a_hint) {
    pw_cluster_desc desc = describe("DGX H10O", 1);
    expect_refused(&desc, PW_NOT_FOUND, "no server is called 'DGX H10O'", "DGX H100");
    desc = describe("Vera Rubin NVL72", 1);
    expect_refused(&desc, PW_UNSUPPORTED, "wiring", "node.gpu");
    desc = describe("DGX H100", 1);
    desc.node.gpu = "H100-SXM5-8OGB";
    expect_refused(&desc, PW_NOT_FOUND, "no accelerator", "H100-SXM5-80GB");
    desc = describe(NULL, 1);
    expect_refused(&desc, PW_BAD_INPUT, "needs a server", "node.gpus");
    desc.node.gpu = "h100";
    expect_refused(&desc, PW_BAD_INPUT, "needs a server", "node.gpus");
    desc = describe("DGX H100", 0);
    expect_refused(&desc, PW_BAD_INPUT, "nodes is 0", "");
    desc = describe("DGX H100", INT64_MAX);
    expect_refused(&desc, PW_BAD_INPUT, "between 1 and 1048576", "");
    desc = describe("DGX H100", 1 << 18);
    expect_refused(&desc, PW_BAD_INPUT, "1048576 GPUs are possible", "");
    desc = describe("DGX H100", 2);
    desc.node.gpus = 16;
    expect_refused(&desc, PW_BAD_INPUT, "has 8 GPUs", "without node.server");
    desc.node.gpus = -1;
    expect_refused(&desc, PW_BAD_INPUT, "node.gpus is -1", "");
    desc.node.gpus = 0, desc.node.nics = 3;
    expect_refused(&desc, PW_BAD_INPUT, "does not go with 8 GPUs", "multiple");
    desc.node.nics = INT64_MAX;
    expect_refused(&desc, PW_BAD_INPUT, "node.nics", "");
    desc = describe("DGX Station A100", 2);
    expect_refused(&desc, PW_BAD_INPUT, "without network ports", "nic_rate");
    desc.node.nics = 4;
    expect_refused(&desc, PW_BAD_INPUT, "nic_rate is not known", "Gbps");
    desc = describe("DGX H100", 2);
    desc.node.gpu = "TPU v5p";
    expect_refused(&desc, PW_UNSUPPORTED, "", "");
    desc = describe("DGX H100", 20000);
    desc.network.radix = 4;
    expect_refused(&desc, PW_BAD_INPUT, "more than 6 tiers", "radix");
    desc = describe("DGX H100", 2);
    desc.network.topology = -1;
    expect_refused(&desc, PW_BAD_INPUT, "topology", "");
    pw_cluster_desc good = describe("DGX H100", 2);
    pw_cluster *cluster = make(&good);
    pw_path path;
    PW_EXPECT(pw_cluster_route(cluster, 0, 16, 0, &path) == PW_BAD_INPUT && path.count == 0);
    PW_EXPECT(pw_cluster_host_route(cluster, 16, true, &path) == PW_BAD_INPUT);
    pw_cluster_destroy(cluster);
}

/* Any GPU in any server, and any number of any GPU: refused, or no more NVLink than the GPU has, and what is called a
 * domain can be reached over it. */
PW_TEST(no_gpu_has_more_links_than_its_data_sheet) {
    const pw_table *nodes = pw_catalogue_table(catalogue(), "nodes"), *gpus = pw_catalogue_table(catalogue(), "accelerators");
    int built = 0;
    for (size_t row = 0; row < pw_table_rows(nodes); row++)
        for (size_t gpu = 0; gpu < pw_table_rows(gpus); gpu++)
            for (int64_t count = 1; count <= 64; count += count < 10 ? 1 : 18) {
                const char *server = pw_table_text_at(nodes, row, 0);
                pw_cluster_desc desc = describe(strcmp(server, "generic") ? server : NULL, 1);
                if (desc.node.server && count > 8) continue;
                desc.node.gpu = pw_table_text_at(gpus, gpu, 0);
                desc.node.gpus = count;
                pw_cluster *cluster = NULL;
                if (pw_cluster_create(NULL, catalogue(), &desc, &cluster, NULL) != PW_OK) continue;
                built++;
                const pw_fabric *fabric = pw_cluster_fabric(cluster);
                double line_Bps = pw_cluster_scaleup_Bps(cluster), leaving[64] = {0};
                for (pw_link l = 0; l < pw_fabric_links(fabric); l++) {
                    const pw_link_info *link = pw_fabric_link(fabric, l);
                    for (uint32_t g = 0; link->kind == PW_LINK_NVLINK && g < pw_cluster_gpus(cluster); g++)
                        if (link->from == pw_cluster_gpu_vertex(cluster, g)) leaving[g] += link->bandwidth_Bps;
                }
                for (uint32_t g = 0; g < pw_cluster_gpus(cluster); g++) {
                    pw_path path;
                    PW_EXPECT(leaving[g] <= line_Bps * (1 + 1e-12));
                    PW_EXPECT(pw_cluster_route(cluster, 0, g, 0, &path) == PW_OK);
                    if (!g || g >= pw_cluster_scaleup_domain(cluster)) continue;
                    PW_EXPECT_INT(pw_fabric_link(fabric, path.links[0])->kind, PW_LINK_NVLINK);
                }
                if (pw_test_failures) printf("# %lld %s in %s\n", (long long)count, desc.node.gpu, server);
                pw_cluster_destroy(cluster);
                if (pw_test_failures) return;
            }
    PW_EXPECT(built > 1000);
    pw_cluster_desc desc = describe("DGX-1 V100", 1);
    desc.node.gpu = "P100-SXM2-16GB";
    expect_refused(&desc, PW_BAD_INPUT, "6 direct links, but P100-SXM2-16GB has 4", "without node.server");
    desc = describe(NULL, 1);
    desc.node.gpu = "MI300X", desc.node.gpus = 16;
    expect_refused(&desc, PW_UNSUPPORTED, "how 16 MI300X are joined is not known", "nodes.csv");
}

/* A description that no script filled is held to the same ranges. */
PW_TEST(every_number_of_a_description_has_a_range) {
    static const double numbers[] = {-INFINITY, -1e300, -1, 1e300, INFINITY};
    static const int64_t counts[] = {INT64_MIN, -1, (int64_t)1 << 32, INT64_MAX};
    pw_cluster_desc desc, good = describe("DGX H100", 2);
    double *const figures[] = {&desc.node.nic_Bps,           &desc.node.nvlink_Bps,      &desc.network.oversubscription,
                               &desc.network.port_Bps,       &desc.network.efficiency,   &desc.network.hop_latency_s,
                               &desc.network.cable_latency_s};
    int64_t *const whole[] = {&desc.node.gpus, &desc.node.nics, &desc.nodes, &desc.network.radix};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            desc = good;
            *figures[i] = numbers[j];
            expect_refused(&desc, PW_BAD_INPUT, "", "");
        }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            desc = good;
            *whole[i] = counts[j];
            expect_refused(&desc, PW_BAD_INPUT, "", "");
        }
    desc = good;
    desc.node.host = "abacus";
    expect_refused(&desc, PW_BAD_INPUT, "abacus", "grace");
}

/* The catalogue with another table of nodes, in a folder of its own. */
static pw_catalogue *with_nodes(const char *rows) {
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/nodes-test-XXXXXX", PW_BINARY_DIR);
    PW_EXPECT(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < pw_catalogue_table_count(catalogue()); i++) {
        const pw_table *table = pw_catalogue_table_at(catalogue(), i);
        snprintf(path, sizeof path, "%s/%s.csv", folder, pw_table_kind(table));
        if (strcmp(pw_table_kind(table), "nodes") && strcmp(pw_table_kind(table), "aliases"))
            PW_EXPECT_INT(symlink(pw_table_file(table), path), 0);
    }
    snprintf(path, sizeof path, "%s/nodes.csv", folder);
    FILE *file = fopen(path, "wb");
    const pw_table *nodes = pw_catalogue_table(catalogue(), "nodes");
    for (size_t column = 0; column < pw_table_columns(nodes); column++) {
        const char *unit = pw_table_column_unit(nodes, column), *name = pw_table_column_name(nodes, column);
        fprintf(file, *unit ? "%s%s [%s]" : "%s%s", column ? "," : "", name, unit);
    }
    fprintf(file, "\n%s", rows);
    fclose(file);
    pw_catalogue *made = NULL;
    pw_error error = {0};
    if (pw_catalogue_load(NULL, folder, &made, &error) != PW_OK) PW_FAILED("%s:%d: %s", error.file, error.line, error.what);
    for (size_t i = 0; i < pw_catalogue_table_count(catalogue()); i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, pw_table_kind(pw_catalogue_table_at(catalogue(), i)));
        unlink(path);
    }
    rmdir(folder);
    return made;
}

/* GPUs in a long chain of direct links: a way over more links than a route holds is not taken. */
PW_TEST(a_chain_of_many_gpus_has_sound_routes) {
    for (int gpus = 2; gpus <= 40; gpus++) {
        char rows[4096];
        int used = snprintf(rows, sizeof rows, "chain,H100-SXM5-80GB,%d,x86,2,16,2,0 1,", gpus);
        for (int g = 0; g < gpus; g++) used += snprintf(rows + used, sizeof rows - (size_t)used, "%d ", g % 2);
        used += snprintf(rows + used, sizeof rows - (size_t)used, ",pcie,mesh,0,%d,", gpus);
        for (int g = 1; g < gpus; g++) used += snprintf(rows + used, sizeof rows - (size_t)used, "%d-%d ", g - 1, g);
        used += snprintf(rows + used, sizeof rows - (size_t)used, ",no,%d,400,NDR,", gpus);
        for (int g = 0; g < gpus; g++) used += snprintf(rows + used, sizeof rows - (size_t)used, "%d ", g % 2);
        snprintf(rows + used, sizeof rows - (size_t)used, ",,ASSUMED,none\n");
        pw_catalogue *own = with_nodes(rows);
        for (int gpudirect = 0; own && gpudirect < 2; gpudirect++) {
            pw_cluster_desc desc = describe("chain", 2);
            desc.node.gpudirect = gpudirect;
            pw_cluster *cluster = NULL;
            pw_error error = {0};
            if (pw_cluster_create(NULL, own, &desc, &cluster, &error) != PW_OK) PW_FAILED("%s", error.what);
            for (uint32_t a = 0; cluster && a < pw_cluster_gpus(cluster); a++)
                for (uint32_t b = 0; b < pw_cluster_gpus(cluster); b++) {
                    pw_path path;
                    PW_EXPECT(pw_cluster_route(cluster, a, b, a, &path) == PW_OK);
                    PW_EXPECT(is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, a), pw_cluster_gpu_vertex(cluster, b)));
                }
            pw_cluster_destroy(cluster);
        }
        pw_catalogue_destroy(own);
        if (pw_test_failures) break;
    }
}

PW_TEST(descriptions_default_check_and_override_by_the_registry) {
    pw_arena *arena = pw_arena_create(NULL);
    pw_cluster_desc desc;
    pw_error error = {0};
    PW_EXPECT(pw_description_defaults(&pw_cluster_kind, &desc, arena, &error) == PW_OK);
    PW_EXPECT_INT(desc.nodes, 1);
    PW_EXPECT(desc.node.gpudirect && isnan(desc.node.nic_Bps) && desc.network.oversubscription == 1);
    PW_EXPECT_TEXT(pw_topology_names[desc.network.topology], "rail_optimized");
    PW_EXPECT(pw_description_check(&pw_cluster_kind, &desc, "a.lua", 3, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "needs a server");
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "node.server", "DGX A100 640GB", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "nodes", "16", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "node.nic_rate", "100 Gbps", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "network.topology", "fat_tree", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "network.oversubscription", "0.5", arena, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "network.radix", "2", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_check(&pw_cluster_kind, &desc, "a.lua", 3, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_description_set_path(&pw_cluster_kind, &desc, "network.radix", "0", arena, &error) == PW_OK);
    PW_EXPECT(pw_description_check(&pw_cluster_kind, &desc, "a.lua", 3, &error) == PW_OK);
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_gpus(cluster), 128);
    PW_EXPECT_NEAR(pw_cluster_get_facts(cluster).nic_line_Bps, 12.5e9, 1e-12);
    pw_cluster_destroy(cluster);
    pw_arena_destroy(arena);
}

PW_TEST(building_survives_every_failing_allocation) {
    static const char *const servers[] = {"DGX H100", "DGX-1 V100"};
    for (int i = 0; i < 2; i++)
        for (unsigned long long n = 1;; n++) {
            pw_counting_allocator counting;
            pw_counting_allocator_init(&counting);
            counting.fail_at = n;
            pw_cluster_desc desc = describe(servers[i], 40);
            pw_cluster *cluster = NULL;
            pw_status status = pw_cluster_create(&counting.allocator, catalogue(), &desc, &cluster, NULL);
            pw_cluster_destroy(cluster);
            PW_EXPECT_INT(counting.live_bytes, 0);
            if (status == PW_OK) break;
            PW_EXPECT_INT(status, PW_NO_MEMORY);
            if (pw_test_failures) return;
        }
}

PW_TEST(sixteen_thousand_gpus_take_little_memory) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_cluster_desc desc = describe("DGX H100", 2048);
    pw_cluster *cluster = NULL;
    PW_EXPECT(pw_cluster_create(&counting.allocator, catalogue(), &desc, &cluster, NULL) == PW_OK);
    printf("# %.1f MB, %u vertices, %u links\n", (double)counting.live_bytes / 1e6,
           pw_cluster_get_facts(cluster).vertices, pw_cluster_get_facts(cluster).links);
    PW_EXPECT(counting.peak_bytes < 40e6);
    pw_path path;
    PW_EXPECT(pw_cluster_route(cluster, 0, 16383, 0, &path) == PW_OK);
    PW_EXPECT(is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, 0), pw_cluster_gpu_vertex(cluster, 16383)));
    pw_cluster_destroy(cluster);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

/* --- Several node types -------------------------------------------------------------------------------------------- */

static pw_nodes_desc more_nodes(const char *server, int64_t nodes) {
    pw_cluster_desc like = describe(server, nodes);
    return (pw_nodes_desc){like.node, nodes};
}

PW_TEST(parts_of_different_nodes_are_numbered_one_after_another) {
    pw_nodes_desc extra[] = {more_nodes("DGX H100", 3), more_nodes("GB200 NVL72", 36)};
    const pw_one_of more[] = {{&pw_nodes_kind, &extra[0]}, {&pw_nodes_kind, &extra[1]}};
    pw_cluster_desc desc = describe("DGX A100 640GB", 2);
    desc.more = (pw_list){more, 2};
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_INT(pw_cluster_parts(cluster), 3);
    PW_EXPECT_INT(pw_cluster_gpus(cluster), 16 + 24 + 144);
    PW_EXPECT_INT(pw_cluster_nodes(cluster), 41);
    PW_EXPECT_INT(pw_cluster_part_of(cluster, 15), 0);
    PW_EXPECT_INT(pw_cluster_part_of(cluster, 16), 1);
    PW_EXPECT_INT(pw_cluster_part_of(cluster, 40), 2);
    PW_EXPECT_INT(pw_cluster_node_of(cluster, 16), 2);
    PW_EXPECT_INT(pw_cluster_node_of(cluster, 44), 6);
    PW_EXPECT_TEXT(pw_cluster_get_part(cluster, 1).device->arch, "Hopper");
    /* domains: 2 + 3 nodes of 8, two racks of 72 */
    PW_EXPECT_INT(pw_cluster_domain_of(cluster, 7), 0);
    PW_EXPECT_INT(pw_cluster_domain_of(cluster, 16), 2);
    PW_EXPECT_INT(pw_cluster_domain_of(cluster, 40), 5);
    PW_EXPECT_INT(pw_cluster_domain_of(cluster, 40 + 71), 5);
    PW_EXPECT_INT(pw_cluster_domain_of(cluster, 40 + 72), 6);
    /* every pair has a path, and it is one; ports are numbered as their vertices are */
    for (uint32_t from = 0; from < 184; from += 3)
        for (uint32_t to = 0; to < 184; to++) {
            pw_path path;
            if (pw_cluster_route(cluster, from, to, from + to, &path) != PW_OK ||
                !is_path(cluster, &path, pw_cluster_gpu_vertex(cluster, from), pw_cluster_gpu_vertex(cluster, to)))
                PW_FAILED("GPU %u to GPU %u", from, to);
        }
    PW_EXPECT_INT(pw_cluster_port(cluster, 0, 0), 0);
    PW_EXPECT_INT(pw_cluster_port(cluster, 16, 0), 16);
    PW_EXPECT_INT(pw_cluster_port(cluster, 40, 0), 40);
    pw_cluster_destroy(cluster);
}

static double route_rate(const pw_cluster *cluster, uint32_t from, uint32_t to) {
    pw_path path;
    PW_EXPECT(pw_cluster_route(cluster, from, to, 0, &path) == PW_OK);
    return pw_path_bandwidth_Bps(pw_cluster_fabric(cluster), &path);
}

PW_TEST(a_slower_port_limits_its_own_node_and_no_other) {
    pw_cluster_desc old = describe("DGX A100 640GB", 2), new = describe("DGX H100", 2);
    pw_nodes_desc extra = more_nodes("DGX H100", 2);
    const pw_one_of more = {&pw_nodes_kind, &extra};
    pw_cluster *a = make(&old), *h = make(&new);
    double slow = route_rate(a, 0, 8), fast = route_rate(h, 0, 8);
    PW_EXPECT(slow < 0.6 * fast);
    pw_cluster_desc mixed = old;
    mixed.more = (pw_list){&more, 1};
    pw_cluster *both = make(&mixed);
    PW_EXPECT_NEAR(route_rate(both, 0, 8), slow, 1e-12);
    PW_EXPECT_NEAR(route_rate(both, 16, 24), fast, 1e-12);
    PW_EXPECT_NEAR(route_rate(both, 0, 16), slow, 1e-12);
    PW_EXPECT_NEAR(route_rate(both, 24, 8), slow, 1e-12);
    PW_EXPECT_NEAR(pw_cluster_get_part(both, 0).nic_Bps, slow, 1e-12);
    pw_error error = {0};
    PW_EXPECT(pw_cluster_need_equal(a, "a job", &error) == PW_OK);
    PW_EXPECT(pw_cluster_need_equal(both, "a job", &error) == PW_UNSUPPORTED);
    PW_EXPECT_CONTAINS(error.what, "a job needs nodes of one type");
    pw_cluster_destroy(both);
    pw_cluster_destroy(h);
    pw_cluster_destroy(a);
}

PW_TEST(nothing_fails_in_a_network_that_is_not_there) {
    pw_failure_desc port = {.node = 900, .port = -1, .index = -1, .link = -1};
    const pw_one_of failure = {&pw_failure_kind, &port};
    pw_cluster_desc desc = describe("DGX H100", 1);
    desc.network.failures = (pw_list){&failure, 1};
    expect_refused(&desc, PW_BAD_INPUT, "no network joins 1 node", "leave network.failures out");
}

PW_TEST(rails_need_ports_that_divide_each_other) {
    pw_nodes_desc extra = more_nodes("DGX H100", 2);
    const pw_one_of more = {&pw_nodes_kind, &extra};
    pw_cluster_desc desc = describe("DGX H100", 2);
    desc.node.gpus = desc.node.nics = 6;
    desc.more = (pw_list){&more, 1};
    pw_cluster *cluster = NULL;
    pw_error error = {0};
    PW_EXPECT(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "no rails in common");
    desc.network.topology = FAT_TREE;
    PW_EXPECT(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error) == PW_OK);
    pw_cluster_destroy(cluster);
}

PW_TEST(without_pxn_another_rail_is_reached_through_the_spines) {
    pw_cluster_desc desc = describe("DGX H100", 16);
    pw_cluster *with = make(&desc);
    expect_route(with, 1, 8, "nvlink nvlink pcie pcie network network pcie pcie");
    pw_cluster_destroy(with);
    desc.node.pxn = false;
    pw_cluster *without = make(&desc);
    expect_route(without, 1, 8, "pcie pcie network trunk trunk network pcie pcie");
    pw_cluster_destroy(without);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
