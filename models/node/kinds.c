/* What a user may say of a node and of a cluster. */
#include <stddef.h>

#include "models/node/node_internal.h"

enum { CLUSTER_PARTS = 64 };

static pw_status check_node(const void *description, const char *file, int line, pw_error *error) {
    const pw_node_desc *desc = description;
    bool has_server = desc->server && *desc->server, has_gpu = desc->gpu && *desc->gpu;
    if (!has_server && !(has_gpu && desc->gpus > 0))
        return pw_fail(error, PW_BAD_INPUT, file, line, "say node.server = \"DGX H100\", or both node.gpu and node.gpus",
                       "a node needs a server, or a GPU and how many");
    return PW_OK;
}

static const pw_field node_fields[] = {
    {"server", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_node_desc, server), 0, 0, "", NULL, NULL,
     "a server of the catalogue (`podwright catalogue nodes`), e.g. \"DGX H100\""},
    {"gpu", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_node_desc, gpu), 0, 0, "", NULL, NULL,
     "an accelerator of the catalogue; left out: the server's"},
    {"gpus", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_node_desc, gpus), 0, NODE_GPUS, "0", NULL, NULL,
     "GPUs per node; 0: the server's"},
    {"nics", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_node_desc, nics), 0, NODE_NICS, "0", NULL, NULL,
     "network ports per node, a multiple or a divisor of gpus; 0: the server's"},
    {"nic_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, offsetof(pw_node_desc, nic_Bps), 1e6, 1e13, "", NULL, NULL,
     "line rate of one port, one direction; left out: network.port_rate, else the server's"},
    {"nic_protocol", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_node_desc, nic_protocol), 0, 0, "", NULL, NULL,
     "what the network ports speak (\"NDR\", \"RoCE 400G\", \"EFA v3\", \"Slingshot 11\"): payload, switch, and rate where none is given; left out: the server's"},
    {"nvlink_rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, offsetof(pw_node_desc, nvlink_Bps), 1e6, 1e14, "", NULL, NULL,
     "line rate of all NVLinks of one GPU, one direction; left out: the GPU's"},
    {"scaleup_domain", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_node_desc, scaleup_domain), 0, 1 << 20, "0", NULL, NULL,
     "GPUs that share NVSwitches, a multiple of gpus; 0: the server's, nodes spread evenly over the domains they need"},
    {"host", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_node_desc, host), 0, 0, "", NULL, NULL,
     "kind of CPU, a row of kernel-launch (\"x86\", \"grace\"); left out: the server's"},
    {"gpudirect", PW_FIELD_BOOL, PW_UNIT_NONE, offsetof(pw_node_desc, gpudirect), 0, 0, "true", NULL, NULL,
     "GPUDirect RDMA: a NIC reads and writes GPU memory; false: data pass through host memory"},
    {"pxn", PW_FIELD_BOOL, PW_UNIT_NONE, offsetof(pw_node_desc, pxn), 0, 0, "true", NULL, NULL,
     "with rails: data for another rail first go over NVLink to the GPU beside that rail's port; false: through the spines"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_node_kind = {"node", "One server: its GPUs, how they are joined, and its network ports",
                              sizeof(pw_node_desc), node_fields, check_node};

static const pw_field nodes_fields[] = {
    {"node", PW_FIELD_RECORD, PW_UNIT_NONE, offsetof(pw_nodes_desc, node), 0, 0, "", NULL, &pw_node_kind,
     "each of these nodes is like this one"},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_nodes_desc, nodes), 1, 1 << 20, "1", NULL, NULL, "how many"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_nodes_kind = {"nodes", "Nodes of another type in the same cluster", sizeof(pw_nodes_desc), nodes_fields,
                               NULL};

static const pw_kind *const more_kinds[] = {&pw_nodes_kind, NULL};
static const pw_field more_item = {"nodes", PW_FIELD_ONE_OF, .kinds = more_kinds, .text = "nodes of one type"};

static const pw_field cluster_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_cluster_desc, name), 0, 0, "", NULL, NULL, "shown in reports"},
    {"node", PW_FIELD_RECORD, PW_UNIT_NONE, offsetof(pw_cluster_desc, node), 0, 0, "", NULL, &pw_node_kind,
     "every node is like this one, but those of `more`"},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pw_cluster_desc, nodes), 1, 1 << 20, "1", NULL, NULL,
     "how many nodes; of an NVL72 rack a node is one tray of 4 GPUs"},
    {"more", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(pw_cluster_desc, more), 1, CLUSTER_PARTS - 1, "", .item = &more_item,
     .text = "nodes of other types on the same network, numbered after those above"},
    {"network", PW_FIELD_RECORD, PW_UNIT_NONE, offsetof(pw_cluster_desc, network), 0, 0, "", NULL, &pw_network_kind,
     "switches and cables between nodes"},
    {"communication", PW_FIELD_RECORD, PW_UNIT_NONE, offsetof(pw_cluster_desc, communication), 0, 0, "", NULL, &pw_communication_kind,
     "the library that runs collectives and messages"},
    {"power", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_cluster_desc, power), 0, 0, "", NULL, &pw_power_kind,
     "limits and governor of the GPUs; left out: sustained clocks, and no power is reported"},
    {"cooling", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_cluster_desc, cooling), 0, 0, "", NULL, &pw_cooling_kind,
     "how GPUs give off their heat; left out: as they are usually sold, where temperatures are asked for"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_cluster_kind = {"cluster", "Nodes joined by a network", sizeof(pw_cluster_desc), cluster_fields, NULL};
