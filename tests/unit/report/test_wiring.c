/* Laws: figures of a cluster's wiring follow from its graph. */
#include "scenarios/report/wiring.h"

#include "scenarios/report/parts.h"
#include "tests/harness/catalogue.h"

static pw_cluster *make(const char *server, int64_t nodes, const char *topology) {
    pw_cluster_desc desc;
    pw_cluster *cluster;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    for (desc.network.topology = 0; strcmp(pw_topology_names[desc.network.topology], topology) != 0;) desc.network.topology++;
    must(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error), &error);
    return cluster;
}

PW_TEST(nvlink_is_halved_where_it_is_thinnest) {
    const struct {
        const char *server;
        int64_t nodes;
        double links; /* in rates of one GPU */
    } cases[] = {{"DGX H100", 4, 4},          /* half of the GPUs of an NVSwitch */
                 {"GB200 NVL72", 36, 36},     /* 72 in a rack */
                 {"DGX-1 V100", 1, 6.0 / 6},  /* 0-3 from 4-7: 6 links, as many as a GPU has */
                 {"MI300X 8-OAM platform", 1, 16.0 / 7}, /* all pairs: 4 x 4 links of the 7 of a GPU */
                 {"8xL40S server", 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_cluster *cluster = make(cases[i].server, cases[i].nodes, "fat_tree");
        PW_EXPECT_NEAR(pw_wiring_scaleup_bisection_Bps(cluster, 0), cases[i].links * pw_cluster_scaleup_Bps(cluster), 1e-9);
        pw_cluster_destroy(cluster);
    }
}

PW_TEST(the_longest_route_is_that_of_the_farthest_pair) {
    const struct {
        const char *topology;
        int64_t nodes;
        uint32_t links;
    } cases[] = {{"single_switch", 1, 2},   /* NVSwitch */
                 {"single_switch", 2, 6},   /* PCIe, PCIe, port, port, PCIe, PCIe */
                 {"fat_tree", 64, 8},       /* and over a spine */
                 {"fat_tree", 1024, 10}};   /* and a core */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_cluster *cluster = make("DGX H100", cases[i].nodes, cases[i].topology);
        pw_longest_route route = pw_wiring_longest_route(cluster);
        PW_EXPECT(route.links == cases[i].links && route.unreached == 0);
        PW_EXPECT(route.latency_s >= route.links * 100e-9 && route.latency_s < route.links * 1e-6);
        pw_cluster_destroy(cluster);
    }
}

PW_TEST(a_cable_is_the_slowest_that_is_fast_enough) {
    pw_cable_choice choices[PW_CABLE_CHOICES];
    const struct {
        double line_Bps;
        const char *optics;
    } cases[] = {{10e9, "100G optics"}, {50e9, "400G optics"}, {50.1e9, "800G optics"}, {200e9, "1.6T optics"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t count = pw_wiring_cables(catalogue(), cases[i].line_Bps, choices), optics = 0;
        for (uint32_t c = 0; c < count; c++) {
            bool is_optics = strcmp(choices[c].medium, "optics") == 0;
            optics += is_optics;
            PW_EXPECT(!is_optics || strcmp(choices[c].name, cases[i].optics) == 0);
            PW_EXPECT(choices[c].low_USD <= choices[c].price_USD && choices[c].price_USD <= choices[c].high_USD);
            PW_EXPECT(choices[c].end_power_W > 0 && choices[c].reach_m > 0 && *choices[c].source);
        }
        PW_EXPECT(optics == 1);
    }
    PW_EXPECT(pw_wiring_cables(catalogue(), 1e12, choices) == 0);
}

PW_TEST(parts_are_numbered_by_kind) {
    pw_cluster *cluster = make("DGX H100", 2, "rail_optimized");
    pw_part_names names;
    pw_error error = {0};
    char text[64];
    must(pw_part_names_make(cluster, arena(), &names, &error), &error);
    PW_EXPECT(names.counts[PW_VERTEX_GPU] == 16 && names.counts[PW_VERTEX_NIC] == 16 && names.counts[PW_VERTEX_LEAF] == 8);
    PW_EXPECT(strcmp(pw_part_name(&names, pw_cluster_gpu_vertex(cluster, 11), text, sizeof text), "gpu 11") == 0);
    PW_EXPECT(strcmp(pw_part_kind(PW_VERTEX_PCIE_SWITCH), "PCIe switch") == 0);
    for (uint32_t i = 0; i < pw_network_switches(pw_cluster_network(cluster)); i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, i < 8 ? "leaf %u" : "spine %u", i < 8 ? i : i - 8);
        pw_vertex vertex = pw_network_switch(pw_cluster_network(cluster), i).vertex;
        PW_EXPECT(strcmp(pw_part_name(&names, vertex, text, sizeof text), wanted) == 0);
    }
    pw_cluster_destroy(cluster);
    cluster = make("DGX H100", 8, "hypercube");
    must(pw_part_names_make(cluster, arena(), &names, &error), &error);
    PW_EXPECT(strcmp(pw_part_name(&names, pw_network_switch(pw_cluster_network(cluster), 5).vertex, text, sizeof text), "router 5") == 0);
    pw_cluster_destroy(cluster);
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
