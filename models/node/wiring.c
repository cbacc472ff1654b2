/* Resolves a node: the row of nodes.csv named by the server (or the row "generic"), what the user overrides, the GPU's
 * figures and the efficiencies and latencies of the catalogue. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "models/node/node_internal.h"
#include "sim/text.h"

#define GENERIC "generic"

typedef struct row_reader {
    const pw_table *table;
    size_t row;
} row_reader;

static pw_status bad_row(const row_reader *in, const char *column, pw_error *error, const char *what) {
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(in->table), pw_table_line(in->table, in->row), NULL,
                   "column '%s': %s", column, what);
}

static const char *row_text(const row_reader *in, const char *column) { return pw_table_text_of(in->table, in->row, column); }
static double row_number(const row_reader *in, const char *column) { return pw_table_number_of(in->table, in->row, column); }

/* An empty cell counts 0. */
static pw_status row_count(const row_reader *in, const char *column, uint32_t most, uint32_t *count, pw_error *error) {
    double value = row_number(in, column);
    if (isnan(value)) value = 0;
    if (value < 0 || value > most || value != floor(value)) return bad_row(in, column, error, "no usable count");
    *count = (uint32_t)value;
    return PW_OK;
}

/* "0", "cpu1": switch 0, CPU 1. *text moves on; false at the end. */
static pw_status next_attach(const row_reader *in, const char *column, const char **text, uint32_t switches,
                             uint32_t sockets, attach_point *attach, pw_error *error) {
    const char *at = *text;
    while (*at == ' ') at++;
    attach->on_cpu = !strncmp(at, "cpu", 3);
    if (attach->on_cpu) at += 3;
    int64_t index = 0;
    if (!pw_text_integer(at, &at, &index) || index < 0 || index >= (attach->on_cpu ? sockets : switches))
        return bad_row(in, column, error, "names too few places, or one that does not exist");
    attach->index = (uint32_t)index;
    *text = at;
    return PW_OK;
}

static pw_status read_attach(const row_reader *in, const char *column, uint32_t count, const node_wiring *wiring,
                             attach_point *attach, pw_error *error) {
    const char *text = row_text(in, column);
    for (uint32_t i = 0; i < count; i++)
        PW_TRY(next_attach(in, column, &text, wiring->switches, wiring->sockets, &attach[i], error));
    return PW_OK;
}

/* "0-1 0-2x2" or "all": pairs of GPUs and how many links join them. Pairs of GPUs that the node lacks are left out. */
static pw_status read_pairs(const row_reader *in, node_wiring *wiring, pw_error *error) {
    const char *column = "scaleup_pairs", *at = row_text(in, column);
    bool all = !strcmp(at, "all");
    for (uint32_t a = 0; all && a < wiring->gpus; a++)
        for (uint32_t b = 0; b < wiring->gpus; b++) wiring->pairs[a][b] = a != b;
    while (!all && *at) {
        int64_t a = 0, b = 0, links = 1;
        if (!pw_text_integer(at, &at, &a) || *at++ != '-' || !pw_text_integer(at, &at, &b))
            return bad_row(in, column, error, "is not a list like '0-1 0-2x2'");
        if (*at == 'x' && (at++, !pw_text_integer(at, &at, &links))) links = 0;
        if (a < 0 || b < 0 || a == b || a >= NODE_GPUS || b >= NODE_GPUS || links < 1 || links > 64)
            return bad_row(in, column, error, "holds an impossible pair");
        if (a < wiring->gpus && b < wiring->gpus) wiring->pairs[a][b] = wiring->pairs[b][a] = (uint8_t)links;
        while (*at == ' ') at++;
    }
    return PW_OK;
}

/* --- Resolving -------------------------------------------------------------------------------------------------- */

static pw_status find_row(const pw_catalogue *catalogue, const pw_node_desc *desc, row_reader *in, pw_error *error) {
    PW_TRY(pw_catalogue_need(catalogue, "nodes", &in->table, error));
    const char *name = desc->server && *desc->server ? desc->server : GENERIC;
    int row = pw_table_find_row(in->table, name);
    if (row >= 0) {
        in->row = (size_t)row;
        return PW_OK;
    }
    const pw_table *servers = pw_catalogue_table(catalogue, "servers");
    if (servers && pw_table_find_row(servers, name) >= 0)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "give node.gpu and node.gpus instead of node.server",
                       "the wiring of '%s' is not in nodes.csv", name);
    char hint[256] = "`podwright catalogue nodes` lists them";
    const char *near = pw_table_nearest(in->table, name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'? `podwright catalogue nodes` lists them", near);
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "no server is called '%s'", name);
}

static bool is_generic(const row_reader *in) { return !strcmp(pw_table_text_at(in->table, in->row, 0), GENERIC); }

/* How many GPUs; a smaller node than the row's keeps the first ones. */
static pw_status count_gpus(const row_reader *in, const pw_node_desc *desc, node_wiring *wiring, uint32_t *row_gpus,
                            pw_error *error) {
    PW_TRY(row_count(in, "gpus", NODE_GPUS, row_gpus, error));
    if (desc->gpus < 0 || desc->gpus > NODE_GPUS)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "node.gpus is %lld; from 1 to %d are possible",
                       (long long)desc->gpus, NODE_GPUS);
    wiring->gpus = desc->gpus ? (uint32_t)desc->gpus : *row_gpus;
    if (is_generic(in)) {
        if (!desc->gpus)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say node.server = \"DGX H100\", or both node.gpu and node.gpus",
                           "a node needs a server, or a GPU and how many");
        *row_gpus = wiring->gpus;
    } else if (wiring->gpus > *row_gpus)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give node.gpu and node.gpus without node.server for a node of your own",
                       "node.gpus is %u, but a node of '%s' has %u GPUs", wiring->gpus,
                       pw_table_text_at(in->table, in->row, 0), *row_gpus);
    if (!wiring->gpus) return bad_row(in, "gpus", error, "a node without GPUs");
    return PW_OK;
}

/* The row's ports in proportion to the GPUs, or what the user says; one port or more per GPU, or GPUs share ports. */
static pw_status count_nics(const row_reader *in, const pw_node_desc *desc, node_wiring *wiring, uint32_t row_gpus,
                            uint32_t *row_nics, pw_error *error) {
    PW_TRY(row_count(in, "nics", NODE_NICS, row_nics, error));
    if (desc->nics < 0 || desc->nics > NODE_NICS)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "node.nics is %lld; from 1 to %d are possible",
                       (long long)desc->nics, NODE_NICS);
    const node_link *link = &wiring->port_link; /* the description names it, with its rate */
    wiring->is_nic_rate_given = desc->nic_Bps > 0 || link->table;
    wiring->nic_line_Bps = desc->nic_Bps > 0 ? desc->nic_Bps
                           : link->table     ? pw_table_number_of(link->table, link->row, "line_rate")
                                             : row_number(in, "nic_rate");
    wiring->nics = desc->nics ? (uint32_t)desc->nics : *row_nics * wiring->gpus / row_gpus;
    if (!wiring->nics && (*row_nics || (is_generic(in) && wiring->is_nic_rate_given))) wiring->nics = *row_nics ? 1 : wiring->gpus;
    if (wiring->nics && wiring->nics % wiring->gpus && wiring->gpus % wiring->nics)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take a multiple or a divisor of the number of GPUs",
                       "node.nics is %u, which does not go with %u GPUs", wiring->nics, wiring->gpus);
    if (wiring->nics && !(wiring->nic_line_Bps > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say for example node.nic_rate = 400 * u.Gbps",
                       "node.nic_rate is not known for %u network ports", wiring->nics);
    return PW_OK;
}

/* The generic tree: a switch for two GPUs, sockets share the switches evenly. */
static void attach_generic(node_wiring *wiring) {
    wiring->switches = (wiring->gpus + 1) / 2;
    if (wiring->sockets > wiring->switches) wiring->sockets = wiring->switches;
    for (uint32_t g = 0; g < wiring->gpus; g++) wiring->gpu[g] = (attach_point){false, g / 2};
    for (uint32_t s = 0; s < wiring->switches; s++) wiring->switch_socket[s] = s * wiring->sockets / wiring->switches;
}

/* Ports that the row does not place hang beside the GPUs they serve. */
static void attach_nics_beside_gpus(node_wiring *wiring) {
    for (uint32_t n = 0; n < wiring->nics; n++) wiring->nic[n] = wiring->gpu[(uint64_t)n * wiring->gpus / wiring->nics];
}

static pw_status attach_all(const row_reader *in, const pw_node_desc *desc, node_wiring *wiring, uint32_t row_nics,
                            pw_error *error) {
    PW_TRY(row_count(in, "sockets", NODE_SOCKETS, &wiring->sockets, error));
    if (!wiring->sockets) return bad_row(in, "sockets", error, "a node needs a CPU");
    if (is_generic(in)) {
        attach_generic(wiring);
        attach_nics_beside_gpus(wiring);
        return PW_OK;
    }
    PW_TRY(row_count(in, "pcie_switches", NODE_SWITCHES, &wiring->switches, error));
    const char *text = row_text(in, "switch_socket");
    for (uint32_t s = 0; s < wiring->switches; s++) {
        attach_point socket = {false, 0};
        PW_TRY(next_attach(in, "switch_socket", &text, wiring->sockets, 0, &socket, error));
        wiring->switch_socket[s] = socket.index;
    }
    PW_TRY(read_attach(in, "gpu_attach", wiring->gpus, wiring, wiring->gpu, error));
    if (wiring->nics <= row_nics && (!desc->nics || desc->nics == row_nics))
        return read_attach(in, "nic_attach", wiring->nics, wiring, wiring->nic, error);
    attach_nics_beside_gpus(wiring);
    return PW_OK;
}

/* For a node of its own: joined as the first known server with that GPU, else by NVSwitch without multicast. */
static row_reader scaleup_row(const row_reader *in, const pw_device *device) {
    row_reader other = *in;
    for (size_t row = 0; is_generic(in) && row < pw_table_rows(in->table); row++) {
        other.row = row;
        if (!strcasecmp(row_text(&other, "gpu"), device->name)) return other;
    }
    return *in;
}

/* The row's pairs must be those of this GPU and of so many: no GPU has more links than its data sheet. */
static pw_status check_mesh(const row_reader *in, const node_wiring *wiring, pw_error *error) {
    const char *server = pw_table_text_at(in->table, in->row, 0), *gpu = wiring->device->name;
    uint32_t known = 0;
    PW_TRY(row_count(in, "gpus", NODE_GPUS, &known, error));
    if (wiring->gpus > known)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "add a row to nodes.csv for such a node",
                       "how %u %s are joined is not known, only %u as in '%s'", wiring->gpus, gpu, known, server);
    for (uint32_t a = 0; a < wiring->gpus; a++) {
        uint32_t links = 0;
        for (uint32_t b = 0; b < wiring->gpus; b++) links += wiring->pairs[a][b];
        if (links > wiring->device->scaleup_links)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give node.gpu and node.gpus without node.server for a node of your own",
                           "a GPU of '%s' has %u direct links, but %s has %g", server, links, gpu,
                           wiring->device->scaleup_links);
    }
    return PW_OK;
}

static pw_status resolve_scaleup(const pw_catalogue *catalogue, const row_reader *node, const pw_node_desc *desc,
                                 node_wiring *wiring, uint32_t row_gpus, pw_error *error) {
    const pw_device *device = wiring->device;
    row_reader in = scaleup_row(node, device);
    const char *kind = row_text(&in, "scaleup");
    double line = desc->nvlink_Bps > 0 ? desc->nvlink_Bps : device->scaleup_Bps;
    wiring->domain = 1;
    if (!*kind) kind = strcmp(device->form_factor, "PCIe") ? "nvswitch" : "none"; /* a card may have bridges, at most */
    if (!strcmp(kind, "none") || !(line > 0)) return PW_OK;
    const pw_table *accelerators = pw_catalogue_table(catalogue, "accelerators");
    row_reader gpu = {accelerators, (size_t)pw_table_find_row(accelerators, device->name)};
    PW_TRY(node_find_link(catalogue, row_text(&gpu, "scaleup"), &wiring->scaleup_link, error));
    wiring->scaleup_line_Bps = line;
    wiring->scaleup_Bps = line * wiring->scaleup_link.efficiency;
    wiring->multicast = !strcmp(row_text(&in, "multicast"), "yes");
    PW_TRY(row_count(&in, "scaleup_planes", 1024, &wiring->planes, error));
    PW_TRY(node_latency(catalogue, "scaleup hop", &wiring->scaleup_hop_s, error));
    if (strcmp(kind, "nvswitch") && desc->scaleup_domain > 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "node.scaleup_domain needs GPUs joined by NVSwitches");
    if (!strcmp(kind, "mesh")) {
        if (!(device->scaleup_links > 0)) return bad_row(&gpu, "scaleup_links", error, "a mesh needs the number of links");
        wiring->scaleup = SCALEUP_MESH;
        wiring->domain = wiring->gpus;
        wiring->link_Bps = wiring->scaleup_Bps / device->scaleup_links;
        PW_TRY(read_pairs(&in, wiring, error));
        return check_mesh(&in, wiring, error);
    }
    if (strcmp(kind, "nvswitch")) return bad_row(&in, "scaleup", error, "must be nvswitch, mesh or none");
    uint32_t domain = 0, domain_gpus = row_gpus;
    PW_TRY(row_count(&in, "scaleup_domain", 1 << 20, &domain, error));
    if (in.row != node->row) PW_TRY(row_count(&in, "gpus", NODE_GPUS, &domain_gpus, error));
    wiring->scaleup = SCALEUP_NVSWITCH;
    /* nodes per domain stay */
    wiring->domain = domain > domain_gpus && domain_gpus ? domain / domain_gpus * wiring->gpus : wiring->gpus;
    if (desc->scaleup_domain <= 0) return PW_OK;
    if (desc->scaleup_domain % wiring->gpus)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a scale-up domain holds whole nodes",
                       "node.scaleup_domain is %lld, no multiple of the %u GPUs of a node", (long long)desc->scaleup_domain,
                       wiring->gpus);
    wiring->domain = (uint32_t)desc->scaleup_domain;
    return PW_OK;
}

/* A kind of CPU is one whose launch cost is known. */
static pw_status check_host(const pw_catalogue *catalogue, const char *host, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "kernel-launch", &table, error));
    if (pw_table_find_row(table, host) >= 0) return PW_OK;
    char hint[200] = "known are";
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s '%s'", row ? "," : "", pw_table_text_at(table, row, 0));
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "node.host is '%s'", host);
}

static pw_status resolve_host(const pw_catalogue *catalogue, const row_reader *in, const pw_node_desc *desc,
                              node_wiring *wiring, pw_error *error) {
    const pw_device *device = wiring->device;
    wiring->host = desc->host && *desc->host ? desc->host : row_text(in, "host");
    PW_TRY(check_host(catalogue, wiring->host, error));
    wiring->gpudirect = desc->gpudirect;
    wiring->pxn = desc->pxn;
    if (!(device->pcie_Bps > 0))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "`podwright explain` shows what is known of it",
                       "the host link of '%s' is not known", device->name);
    const pw_table *accelerators = pw_catalogue_table(catalogue, "accelerators");
    row_reader gpu = {accelerators, (size_t)pw_table_find_row(accelerators, device->name)};
    char generation[64];
    snprintf(generation, sizeof generation, "PCIe%s", row_text(&gpu, "pcie_generation"));
    PW_TRY(node_find_link(catalogue, generation, &wiring->pcie_link, error));
    wiring->pcie_Bps = device->pcie_Bps * wiring->pcie_link.efficiency;
    wiring->socket_Bps = row_number(in, "socket_link");
    if (wiring->sockets > 1 && !(wiring->socket_Bps > 0)) return bad_row(in, "socket_link", error, "two CPUs need a link");
    wiring->c2c = !strcmp(row_text(in, "host_link"), "c2c");
    if (wiring->c2c) {
        const pw_table *links = pw_catalogue_table(catalogue, "links");
        int row = links ? pw_table_find_row(links, "NVLink-C2C") : -1;
        row_reader c2c = {links, (size_t)row};
        double line = row < 0 ? NAN : row_number(&c2c, "port_per_direction");
        if (!(line > 0)) return pw_fail(error, PW_NOT_FOUND, NULL, 0, NULL, "links.csv has no rate for NVLink-C2C");
        PW_TRY(node_find_link(catalogue, "C2C", &wiring->c2c_link, error));
        wiring->c2c_Bps = line * wiring->c2c_link.efficiency;
    }
    PW_TRY(node_latency(catalogue, "pcie hop", &wiring->pcie_hop_s, error));
    PW_TRY(node_latency(catalogue, "socket hop", &wiring->socket_hop_s, error));
    return node_latency(catalogue, "network interface", &wiring->nic_s, error);
}

pw_status node_resolve(const pw_catalogue *catalogue, const pw_node_desc *desc, node_wiring *wiring, pw_error *error) {
    memset(wiring, 0, sizeof *wiring);
    row_reader in = {NULL, 0};
    uint32_t row_gpus = 0, row_nics = 0;
    PW_TRY(find_row(catalogue, desc, &in, error));
    wiring->table = in.table;
    wiring->row = in.row;
    wiring->server = is_generic(&in) ? "" : pw_table_text_at(in.table, in.row, 0);
    const char *gpu = desc->gpu && *desc->gpu ? desc->gpu : row_text(&in, "gpu");
    if (!*gpu)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "say node.server = \"DGX H100\", or both node.gpu and node.gpus",
                       "a node needs a server, or a GPU and how many");
    PW_TRY(pw_catalogue_device(catalogue, gpu, &wiring->device, error));
    if (desc->nic_protocol && *desc->nic_protocol)
        PW_TRY(node_find_protocol(catalogue, desc->nic_protocol, &wiring->port_link, error));
    PW_TRY(count_gpus(&in, desc, wiring, &row_gpus, error));
    PW_TRY(count_nics(&in, desc, wiring, row_gpus, &row_nics, error));
    PW_TRY(attach_all(&in, desc, wiring, row_nics, error));
    PW_TRY(resolve_scaleup(catalogue, &in, desc, wiring, row_gpus, error));
    return resolve_host(catalogue, &in, desc, wiring, error);
}
