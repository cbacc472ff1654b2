/* Laws: a port carries what its protocol carries, and every generation of links builds a cluster. */
#include "models/node/cluster.h"
#include "tests/harness/catalogue.h"

static pw_cluster_desc describe(const char *server, int64_t nodes) {
    pw_cluster_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    for (desc.network.topology = 0; strcmp(pw_topology_names[desc.network.topology], "fat_tree") != 0;) desc.network.topology++;
    return desc;
}

static pw_cluster *make(const pw_cluster_desc *desc) {
    pw_cluster *cluster;
    pw_error error = {0};
    must(pw_cluster_create(NULL, catalogue(), desc, &cluster, &error), &error);
    return cluster;
}

static const pw_link_generation *find(const pw_link_generation *links, uint32_t count, const char *place) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(links[i].place, place) == 0) return &links[i];
    return NULL;
}

PW_TEST(every_network_protocol_builds_a_cluster_that_carries_its_payload) {
    const pw_table *table = pw_catalogue_table(catalogue(), "protocol-efficiency"), *switches = pw_catalogue_table(catalogue(), "links");
    int protocols = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_of(table, row, "kind"), "network") != 0) continue;
        pw_cluster_desc desc = describe("DGX B300", 32); /* PCIe 6: no port is slower behind it */
        desc.node.nic_protocol = pw_table_text_at(table, row, 0);
        pw_cluster *cluster = make(&desc);
        pw_cluster_facts facts = pw_cluster_get_facts(cluster);
        double line = pw_table_number_of(table, row, "line_rate"), hop = pw_table_number_of(table, row, "hop");
        pw_link_generation links[PW_LINK_GENERATIONS];
        uint32_t count = pw_cluster_link_generations(cluster, 0, links);
        const pw_link_generation *port = find(links, count, "network port"), *hops = find(links, count, "switch, each hop with its cable");
        PW_EXPECT_NEAR(facts.nic_line_Bps, line, 1e-12);
        PW_EXPECT_NEAR(facts.nic_Bps, line * pw_table_number_of(table, row, "efficiency"), 1e-12);
        PW_EXPECT(port && strcmp(port->name, desc.node.nic_protocol) == 0 && *port->source && port->payload_Bps == facts.nic_Bps);
        PW_EXPECT(hops && fabs(hops->latency_s - ((hop > 0 ? hop : 200e-9) + 100e-9)) < 1e-15);
        int with = pw_table_find_row(switches, pw_table_text_of(table, row, "switch"));
        PW_EXPECT(with >= 0);
        if (with >= 0)
            PW_EXPECT(facts.radix == (int64_t)(pw_table_number_of(switches, (size_t)with, "ports") *
                                               floor(pw_table_number_of(switches, (size_t)with, "port_rate") / line)));
        pw_cluster_destroy(cluster);
        protocols++;
    }
    PW_EXPECT(protocols >= 15);
}

PW_TEST(a_rate_beside_a_protocol_holds) {
    pw_cluster_desc desc = describe("DGX H100", 4);
    desc.node.nic_protocol = "RoCE 400G";
    desc.node.nic_Bps = 25e9;
    pw_cluster *cluster = make(&desc);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), 25e9 * 0.98, 1e-12);
    pw_cluster_destroy(cluster);
}

PW_TEST(an_unknown_protocol_names_those_that_are_known) {
    pw_cluster_desc desc = describe("DGX H100", 4);
    pw_cluster *cluster;
    pw_error error = {0};
    desc.node.nic_protocol = "PCIe5"; /* no network */
    PW_EXPECT(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error) == PW_BAD_INPUT);
    PW_EXPECT(strstr(error.what, "'PCIe5'") && strstr(error.hint, "RoCE 400G") && !strstr(error.hint, "NVLink"));
}

PW_TEST(a_node_of_its_own_gets_ports_from_a_protocol) {
    pw_cluster_desc desc = describe(NULL, 4);
    desc.node.gpu = "H100";
    desc.node.gpus = 4;
    desc.node.nic_protocol = "Slingshot 11";
    pw_cluster *cluster = make(&desc);
    PW_EXPECT(pw_cluster_nics_per_node(cluster) == 4);
    PW_EXPECT_NEAR(pw_cluster_nic_Bps(cluster), 24e9, 1e-12);
    pw_cluster_destroy(cluster);
}

/* Servers that ship, over all generations of links inside a node: none carries more than its line. */
PW_TEST(every_server_says_where_its_payloads_come_from) {
    const pw_table *nodes = pw_catalogue_table(catalogue(), "nodes");
    for (size_t row = 0; row < pw_table_rows(nodes); row++) {
        const char *name = pw_table_text_at(nodes, row, 0);
        if (strcmp(name, "generic") == 0) continue;
        pw_cluster_desc desc = describe(name, 1);
        pw_cluster *cluster = make(&desc);
        pw_link_generation links[PW_LINK_GENERATIONS];
        uint32_t count = pw_cluster_link_generations(cluster, 0, links);
        PW_EXPECT(count >= 1);
        for (uint32_t i = 0; i < count; i++) {
            PW_EXPECT(links[i].payload_Bps > 0 && links[i].latency_s > 0 && *links[i].source && *links[i].provenance);
            PW_EXPECT(isnan(links[i].line_Bps) || links[i].payload_Bps < links[i].line_Bps);
        }
        pw_cluster_destroy(cluster);
    }
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
