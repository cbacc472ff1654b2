/* A cluster from a topology file of SimAI: servers behind NVSwitches, a port or two from every GPU to leaf switches (ASW), which reach
 * spine switches (PSW).
 *
 *   nodes gpus_per_server nvswitches other_switches links GPU_TYPE
 *   the numbers of the switches: NVSwitches, leaves, spines
 *   from to 2880Gbps 0.000025ms error_rate        a link, both ways
 *
 * GPUs are numbered from 0, server after server. What fits no topology of podwright's is refused with what is odd about it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/import/import.h"
#include "sim/file.h"
#include "sim/registry.h"
#include "sim/text.h"

enum { LARGEST_FILE = 64 << 20, MOST_NODES = 1 << 20, MOST_LINKS = 1 << 22, MOST_PORTS = 2 };

typedef struct link {
    uint32_t from, to;
    double rate_Bps, latency_s;
} link;

typedef struct gpu {
    double nvlink_Bps, port_Bps; /* port: of one link to a leaf */
    uint32_t leaves[MOST_PORTS], ports;
} gpu;

typedef struct leaf {
    double down_Bps, up_Bps;
    uint32_t servers, last_server, spine, spines; /* spine: the lowest that it reaches */
} leaf;

typedef struct reader {
    const char *path, *at;
    int line;
    int64_t nodes, per_server, nvswitches, others, links, gpus, servers;
    const char *gpu_type;
    gpu *gpu_of;
    leaf *leaf_of; /* by switch number - gpus - nvswitches */
    double latency_s;
    pw_arena *arena;
    pw_error *error;
} reader;

static pw_status bad(const reader *r, const char *hint, const char *what) {
    return pw_fail(r->error, PW_BAD_INPUT, r->path, r->line, hint, "%s", what);
}

/* The next word of the line; length 0 at its end. */
static const char *word(reader *r, size_t *length) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') r->at++;
    const char *from = r->at;
    while (*r->at && !strchr(" \t\r\n", *r->at)) r->at++;
    *length = (size_t)(r->at - from);
    return from;
}

static pw_status next_line(reader *r) {
    size_t length;
    word(r, &length);
    if (length) return bad(r, NULL, "the line has too many words");
    if (*r->at == '\n') r->at++, r->line++;
    return PW_OK;
}

static pw_status whole(reader *r, int64_t most, int64_t *value) {
    size_t length;
    const char *text = word(r, &length), *end;
    if (!length || !pw_text_integer(text, &end, value) || end != text + length || *value < 0 || *value > most)
        return bad(r, "nodes gpus_per_server nvswitches other_switches links GPU_TYPE, the switches, then one link a line", "a whole number is missing or out of range");
    return PW_OK;
}

/* "2880Gbps", "0.0005ms". */
static pw_status quantity(reader *r, pw_unit wanted, double *value) {
    char text[64];
    size_t length;
    const char *from = word(r, &length);
    bool has_unit;
    pw_unit unit;
    snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), from);
    if (!length || pw_unit_parse(text, wanted, value, &has_unit, &unit, NULL) != PW_OK || !has_unit || unit != wanted || !(*value >= 0))
        return bad(r, "a link is: from to 400Gbps 0.0005ms 0", "a rate or latency is missing or has no unit");
    return PW_OK;
}

static pw_status read_head(reader *r) {
    size_t length;
    PW_TRY(whole(r, MOST_NODES, &r->nodes));
    PW_TRY(whole(r, MOST_NODES, &r->per_server));
    PW_TRY(whole(r, MOST_NODES, &r->nvswitches));
    PW_TRY(whole(r, MOST_NODES, &r->others));
    PW_TRY(whole(r, MOST_LINKS, &r->links));
    const char *type = word(r, &length);
    char *copy = pw_arena_alloc(r->arena, length + 1);
    if (!copy) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    if (!length) return bad(r, NULL, "the type of GPU is missing");
    memcpy(copy, type, length);
    r->gpu_type = copy;
    r->gpus = r->nodes - r->nvswitches - r->others;
    if (r->gpus < 1 || r->per_server < 1 || r->gpus % r->per_server) return bad(r, NULL, "nodes without switches are no whole number of servers");
    r->servers = r->gpus / r->per_server;
    PW_TRY(next_line(r));
    for (int64_t i = 0, number; i < r->nvswitches + r->others; i++) {
        PW_TRY(whole(r, r->nodes - 1, &number));
        if (number != r->gpus + i) return pw_fail(r->error, PW_UNSUPPORTED, r->path, r->line, NULL, "switches are not numbered in order behind the GPUs");
    }
    return next_line(r);
}

static pw_status take_gpu_link(reader *r, const link *l) {
    gpu *of = &r->gpu_of[l->from];
    if (l->to < r->gpus) return pw_fail(r->error, PW_UNSUPPORTED, r->path, r->line, NULL, "a link from GPU to GPU is not modelled here");
    if (l->to < r->gpus + r->nvswitches) {
        of->nvlink_Bps += l->rate_Bps;
        return PW_OK;
    }
    if (of->ports == MOST_PORTS) return pw_fail(r->error, PW_UNSUPPORTED, r->path, r->line, NULL, "GPU %u has more than %d links to leaf switches", l->from, MOST_PORTS);
    leaf *to = &r->leaf_of[l->to - r->gpus - r->nvswitches];
    uint32_t server = l->from / (uint32_t)r->per_server;
    if (!to->servers || to->last_server != server) to->servers++, to->last_server = server;
    to->down_Bps += l->rate_Bps;
    of->leaves[of->ports++] = l->to;
    of->port_Bps = l->rate_Bps;
    r->latency_s = l->latency_s;
    return PW_OK;
}

static pw_status read_links(reader *r) {
    link *all = pw_alloc(NULL, ((size_t)r->links + 1) * sizeof *all);
    pw_status status = all ? PW_OK : pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (int64_t i = 0; status == PW_OK && i < r->links; i++) {
        int64_t from, to;
        size_t length;
        if ((status = whole(r, r->nodes - 1, &from)) != PW_OK || (status = whole(r, r->nodes - 1, &to)) != PW_OK ||
            (status = quantity(r, PW_UNIT_BYTES_PER_SECOND, &all[i].rate_Bps)) != PW_OK || (status = quantity(r, PW_UNIT_SECONDS, &all[i].latency_s)) != PW_OK)
            break;
        word(r, &length); /* the error rate */
        if (!length) status = bad(r, "a link is: from to 400Gbps 0.0005ms 0", "the error rate is missing");
        all[i].from = (uint32_t)(from < to ? from : to), all[i].to = (uint32_t)(from < to ? to : from);
        if (status == PW_OK && from == to) status = bad(r, NULL, "a link leads to where it starts");
        if (status == PW_OK && all[i].from < r->gpus) status = take_gpu_link(r, &all[i]);
        if (status == PW_OK) status = next_line(r);
    }
    int64_t first = r->gpus + r->nvswitches;
    for (int64_t i = 0; status == PW_OK && i < r->links; i++) { /* from leaves up */
        if (all[i].from < r->gpus) continue;
        if (all[i].from < first) {
            status = pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "an NVSwitch is linked to another switch, which is not modelled");
            break;
        }
        leaf *a = &r->leaf_of[all[i].from - first], *b = &r->leaf_of[all[i].to - first], *lower = a->servers ? a : b;
        if ((a->servers && b->servers) || (!a->servers && !b->servers)) {
            status = pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "a link between two leaves or two spines (%u and %u) is not modelled", all[i].from, all[i].to);
            break;
        }
        uint32_t spine = a->servers ? all[i].to : all[i].from;
        if (!lower->spines++ || spine < lower->spine) lower->spine = spine;
        lower->up_Bps += all[i].rate_Bps;
    }
    pw_free(NULL, all, ((size_t)r->links + 1) * sizeof *all);
    return status;
}

/* ---- Meaning ---- */

static const leaf *leaf_at(const reader *r, uint32_t number) { return &r->leaf_of[number - r->gpus - r->nvswitches]; }

static pw_status check_even(const reader *r) {
    const gpu *first = &r->gpu_of[0];
    for (int64_t g = 0; g < r->gpus; g++)
        if (r->gpu_of[g].ports != first->ports || r->gpu_of[g].port_Bps != first->port_Bps || r->gpu_of[g].nvlink_Bps != first->nvlink_Bps)
            return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "GPU %lld has other links than GPU 0", (long long)g);
    if (!first->ports) return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "GPUs have no link to a leaf switch");
    const leaf *one = leaf_at(r, first->leaves[0]);
    for (int64_t i = 0; i < r->others; i++) {
        const leaf *other = &r->leaf_of[i];
        if (other->servers && (other->servers != one->servers || other->down_Bps != one->down_Bps || other->up_Bps != one->up_Bps))
            return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "leaf %lld has other links than leaf %u", (long long)(i + r->gpus + r->nvswitches), first->leaves[0]);
    }
    return PW_OK;
}

/* Whether all GPUs of a server share their leaves (1), none do (0), or some (-1). */
static int shares_leaves(const reader *r) {
    bool all = true, none = true;
    for (int64_t g = 0; g < r->gpus; g++) {
        if (g % r->per_server == 0) continue;
        bool same = r->gpu_of[g].leaves[0] == r->gpu_of[g - 1].leaves[0];
        all &= same;
        none &= !same;
    }
    return r->per_server == 1 || all ? 1 : none ? 0 : -1;
}

static pw_status describe(const reader *r, const pw_catalogue *catalogue, pw_cluster_desc *desc, pw_import_notes *notes) {
    const gpu *first = &r->gpu_of[0];
    const pw_device *device;
    PW_TRY(check_even(r));
    PW_TRY(pw_catalogue_device(catalogue, r->gpu_type, &device, r->error));
    const leaf *one = leaf_at(r, first->leaves[0]), *two = first->ports > 1 ? leaf_at(r, first->leaves[1]) : NULL;
    int shared = shares_leaves(r);
    if (shared < 0) return pw_fail(r->error, PW_UNSUPPORTED, r->path, 0, NULL, "some GPUs of a server share a leaf and others do not");
    PW_TRY(pw_description_defaults(&pw_cluster_kind, desc, r->arena, r->error));
    PW_TRY(pw_description_defaults(&pw_node_kind, &desc->node, r->arena, r->error));
    PW_TRY(pw_description_defaults(&pw_network_kind, &desc->network, r->arena, r->error));
    desc->nodes = r->servers;
    desc->node.gpu = device->name;
    desc->node.gpus = desc->node.nics = r->per_server;
    desc->node.nic_Bps = first->port_Bps * first->ports;
    if (first->nvlink_Bps > 0) desc->node.nvlink_Bps = first->nvlink_Bps;
    const char *name = shared ? "fat_tree" : "rail_optimized";
    PW_TRY(pw_field_set_text(&pw_network_kind, pw_kind_field(&pw_network_kind, "topology"), &desc->network, name, r->arena, r->path, 0, r->error));
    desc->network.cable_latency_s = r->latency_s;
    desc->network.hop_latency_s = 0;
    if (one->up_Bps > 0 && one->down_Bps > one->up_Bps) desc->network.oversubscription = one->down_Bps / one->up_Bps;
    if (two && one->spine != two->spine) desc->network.planes = 2;
    else if (two) desc->network.leaves_per_port = 2;
    if (one->servers < r->servers) { /* as many servers on a leaf as there */
        pw_tier_desc *tiers = pw_arena_alloc(r->arena, 2 * sizeof *tiers);
        pw_one_of *items = pw_arena_alloc(r->arena, 2 * sizeof *items);
        if (!tiers || !items) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        for (int i = 0; i < 2; i++) {
            PW_TRY(pw_description_defaults(&pw_tier_kind, &tiers[i], r->arena, r->error));
            items[i] = (pw_one_of){&pw_tier_kind, &tiers[i]};
        }
        tiers[0].group = one->servers;
        double uplink_Bps = one->spines ? one->up_Bps / one->spines : 0; /* of one link, often faster than a port */
        if (uplink_Bps > 0 && uplink_Bps != first->port_Bps) tiers[0].uplink_Bps = uplink_Bps;
        desc->network.tiers = (pw_list){items, 2};
    }
    int64_t down = (int64_t)(one->down_Bps / first->port_Bps + 0.5), up = one->spines;
    int64_t spine_ports = up ? (int64_t)one->spines * (r->servers / one->servers) * (shared ? 1 : r->per_server) : 0;
    desc->network.radix = down + up > spine_ports ? down + up : spine_ports; /* room for every link of the file */
    if (desc->network.radix < 4) desc->network.radix = 4;
    PW_TRY(pw_import_note(notes, r->arena, r->error, "SimAI's latency of a link is taken for the cable, that of a switch is 0"));
    return pw_import_note(notes, r->arena, r->error, "spines are dealt as podwright deals them; the file has %lld switches above the leaves",
                          (long long)(r->others - (r->gpus * first->ports) / (int64_t)(one->down_Bps / first->port_Bps + 0.5)));
}

pw_status pw_import_simai_topology(const pw_catalogue *catalogue, const char *path, pw_cluster_desc *desc, pw_arena *arena,
                                   pw_import_notes *notes, pw_error *error) {
    char *text;
    size_t size;
    reader r = {.path = path, .line = 1, .arena = arena, .error = error};
    PW_TRY(pw_file_read(path, LARGEST_FILE, NULL, &text, &size, error));
    r.at = text;
    pw_status status = read_head(&r);
    if (status == PW_OK) {
        r.gpu_of = pw_arena_alloc(arena, (size_t)r.gpus * sizeof *r.gpu_of);
        r.leaf_of = pw_arena_alloc(arena, ((size_t)r.others + 1) * sizeof *r.leaf_of);
        status = r.gpu_of && r.leaf_of ? read_links(&r) : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    }
    pw_free(NULL, text, size + 1);
    if (status != PW_OK) return status;
    r.line = 0;
    return describe(&r, catalogue, desc, notes);
}
