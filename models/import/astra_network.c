/* A cluster from a network of ASTRA-sim, where podwright has one of that shape: a switch, a ring or a full mesh of single GPUs, a torus, or
 * nodes behind a switch whose GPUs meet those of other nodes on a switch for each position. */
#include <stdio.h>
#include <string.h>

#include "models/compat/astra.h"
#include "models/import/import.h"

enum { MOST_GPUS = 128 };

typedef struct importer {
    const char *path;
    const pw_astra_network *network;
    pw_cluster_desc *desc;
    pw_arena *arena;
    pw_import_notes *notes;
    pw_error *error;
} importer;

static pw_status unsupported(const importer *in, const char *what) {
    return pw_fail(in->error, PW_UNSUPPORTED, in->path, 0, "one dimension, a torus of equal dimensions, and a Switch or FullyConnected below a Switch are", "%s",
                   what);
}

static pw_status set(const importer *in, const char *field, const char *text) {
    const pw_field *found = pw_kind_field(&pw_network_kind, field);
    if (!found) return unsupported(in, "podwright's networks cannot hold this one");
    return pw_field_parse(&pw_network_kind, found, &in->desc->network, text, in->arena, in->path, 0, in->error);
}

static pw_status set_rate(const importer *in, const char *field, double rate_Bps) {
    char text[64];
    snprintf(text, sizeof text, "%.17g Bps", rate_Bps);
    return set(in, field, text);
}

static double rate_Bps(const pw_astra_dimension *dimension) { return pw_astra_rate(dimension) * 1e9; }

/* Rings and meshes are made of routers here, one for each GPU: a message passes its own router as well. */
static pw_status on_routers(const importer *in, const char *topology) {
    const pw_astra_network *network = in->network;
    const pw_astra_dimension *first = &network->dimensions[0];
    double ports = 0;
    PW_TRY(set(in, "topology", topology));
    PW_TRY(set_rate(in, "trunk_rate", rate_Bps(first)));
    if (network->count > 1) {
        char sizes[256] = "";
        for (int d = 0, at = 0; d < network->count; d++) at += snprintf(sizes + at, sizeof sizes - (size_t)at, "%s%lld", d ? "," : "", (long long)network->dimensions[d].npus);
        PW_TRY(set(in, "dims", sizes));
    }
    for (int d = 0; d < network->count; d++) {
        int64_t n = network->dimensions[d].npus;
        ports += (first->topology == PW_ASTRA_FULLY_CONNECTED ? (double)(n - 1) : n > 2 ? 2.0 : 1.0) * rate_Bps(first);
    }
    in->desc->node.nic_Bps = ports; /* as fast as all links of the GPU together */
    in->desc->network.hop_latency_s = first->latency_ns / 1e9;
    in->desc->network.cable_latency_s = 0;
    return pw_import_note(in->notes, in->arena, in->error, "links end in a router beside the GPU: a message over k links costs k + 1 latencies, not k");
}

static pw_status one_dimension(const importer *in) {
    const pw_astra_dimension *only = &in->network->dimensions[0];
    in->desc->nodes = only->npus;
    in->desc->node.gpus = in->desc->node.nics = 1;
    if (only->topology == PW_ASTRA_RING) return on_routers(in, "ring");
    if (only->topology == PW_ASTRA_FULLY_CONNECTED) return on_routers(in, "fully_connected");
    PW_TRY(set(in, "topology", "single_switch"));
    in->desc->node.nic_Bps = rate_Bps(only);
    in->desc->network.cable_latency_s = only->latency_ns / 1e9;
    in->desc->network.hop_latency_s = 0;
    return PW_OK;
}

static pw_status node_and_switches(const importer *in) {
    const pw_astra_dimension *node = &in->network->dimensions[0], *above = &in->network->dimensions[1];
    bool full = node->topology == PW_ASTRA_FULLY_CONNECTED;
    if (node->npus > MOST_GPUS) return unsupported(in, "a first dimension of more than 128 NPUs is no node");
    in->desc->nodes = above->npus;
    in->desc->node.gpus = in->desc->node.nics = node->npus;
    in->desc->node.nvlink_Bps = rate_Bps(node) * (full ? (double)(node->npus - 1) : 1);
    in->desc->node.nic_Bps = rate_Bps(above);
    PW_TRY(set(in, "topology", "rail_only"));
    in->desc->network.radix = above->npus < 4 ? 4 : above->npus;
    in->desc->network.cable_latency_s = above->latency_ns / 1e9;
    in->desc->network.hop_latency_s = 0;
    if (full) PW_TRY(pw_import_note(in->notes, in->arena, in->error, "links between the GPUs of a node are joined in a switch of the same bandwidth"));
    return pw_import_note(in->notes, in->arena, in->error, "the latency inside a node is the catalogue's, not %.6g ns", node->latency_ns);
}

static pw_status translate(const importer *in) {
    const pw_astra_network *network = in->network;
    if (network->count == 1) return one_dimension(in);
    if (network->count == 2 && network->dimensions[0].topology != PW_ASTRA_RING && network->dimensions[1].topology == PW_ASTRA_SWITCH) return node_and_switches(in);
    for (int d = 0; d < network->count; d++) {
        const pw_astra_dimension *dimension = &network->dimensions[d], *first = &network->dimensions[0];
        if (dimension->topology != PW_ASTRA_RING || dimension->bandwidth_GBps != first->bandwidth_GBps || dimension->latency_ns != first->latency_ns)
            return unsupported(in, "podwright has no network of these dimensions");
    }
    in->desc->nodes = network->npus;
    in->desc->node.gpus = in->desc->node.nics = 1;
    return on_routers(in, "torus");
}

pw_status pw_import_astra_network(const pw_catalogue *catalogue, const char *path, const char *gpu, pw_cluster_desc *desc, pw_arena *arena,
                                  pw_import_notes *notes, pw_error *error) {
    pw_astra_network network;
    const pw_device *device;
    importer in = {path, &network, desc, arena, notes, error};
    PW_TRY(pw_astra_network_read(path, &network, error));
    PW_TRY(pw_catalogue_device(catalogue, gpu, &device, error));
    PW_TRY(pw_description_defaults(&pw_cluster_kind, desc, arena, error));
    PW_TRY(pw_description_defaults(&pw_node_kind, &desc->node, arena, error));
    PW_TRY(pw_description_defaults(&pw_network_kind, &desc->network, arena, error));
    desc->node.gpu = device->name;
    desc->network.efficiency = 1;
    return translate(&in);
}
