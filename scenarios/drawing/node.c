/* The inside of a node, drawn from its vertices and links: NVSwitches above, then GPUs and NICs side by side as they hang below
 * their PCIe switches, then these, then the CPUs. GPUs that are joined directly have their links as arcs above them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/drawing/drawing_internal.h"

enum { MOST_LEAVES = 40, MOST_HUBS = 64, ARCS = 110 };

typedef struct part_box {
    double x, y, w;
    pw_vertex vertex;
    uint32_t number; /* of its kind in the node */
} part_box;

typedef struct node_panel {
    drawing *d;
    uint32_t number;
    pw_cluster_part part;
    pw_vertex first, end;
    part_box *leaves; /* GPUs and NICs, from left to right */
    uint32_t leaf_count, leaf_total;
    part_box hubs[MOST_HUBS];
    uint32_t hub_count;
    part_box cpus[16];
    uint32_t cpu_count;
    const pw_link_info **links; /* that leave a part of the node */
    uint32_t link_count;
    double left, right, top;
} node_panel;

static pw_vertex_kind kind_of(const node_panel *p, pw_vertex v) { return pw_fabric_vertex_kind(p->d->fabric, v); }
static bool is_inside(const node_panel *p, pw_vertex v) { return v >= p->first && v < p->end; }

static pw_status collect_links(node_panel *p) {
    uint32_t total = pw_fabric_links(p->d->fabric);
    for (int pass = 0; pass < 2; pass++) {
        p->link_count = 0;
        for (pw_link i = 0; i < total; i++) {
            const pw_link_info *link = pw_fabric_link(p->d->fabric, i);
            if (!is_inside(p, link->from)) continue;
            if (pass) p->links[p->link_count] = link;
            p->link_count++;
        }
        if (pass == 0) p->links = pw_arena_alloc(p->d->arena, (p->link_count + (size_t)1) * sizeof *p->links);
        if (!p->links) return pw_fail(p->d->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    }
    return PW_OK;
}

/* What a part hangs on by PCIe (or C2C): the first of that kind; PW_NONE: nothing. */
static pw_vertex pcie_above(const node_panel *p, pw_vertex v, pw_vertex_kind kind) {
    for (uint32_t i = 0; i < p->link_count; i++) {
        const pw_link_info *link = p->links[i];
        if (link->from == v && link->kind == PW_LINK_PCIE && is_inside(p, link->to) && kind_of(p, link->to) == kind) return link->to;
    }
    return PW_NONE;
}

/* The PCIe switch above a leaf, else its CPU. */
static pw_vertex hub_of(const node_panel *p, pw_vertex leaf) {
    pw_vertex found = pcie_above(p, leaf, PW_VERTEX_PCIE_SWITCH);
    return found != PW_NONE ? found : pcie_above(p, leaf, PW_VERTEX_CPU);
}

static pw_vertex cpu_above(const node_panel *p, pw_vertex hub) {
    return hub == PW_NONE || kind_of(p, hub) == PW_VERTEX_CPU ? hub : pcie_above(p, hub, PW_VERTEX_CPU);
}

static void add_leaf(node_panel *p, pw_vertex v) {
    uint32_t gpus = p->part.gpus_per_node;
    p->leaf_total++;
    if (p->leaf_count == MOST_LEAVES) return;
    bool is_gpu = kind_of(p, v) == PW_VERTEX_GPU;
    p->leaves[p->leaf_count++] = (part_box){.vertex = v, .number = is_gpu ? v - p->first : v - p->first - gpus};
}

/* Leaves in the order of CPUs, then of PCIe switches: GPUs first in each. */
static void order_leaves(node_panel *p, pw_vertex *hubs) {
    uint32_t leaves = p->part.gpus_per_node + p->part.nics_per_node;
    for (uint32_t i = 0; i < leaves; i++) hubs[i] = hub_of(p, p->first + i);
    pw_vertex first_hub = p->first + leaves;
    for (pw_vertex cpu = first_hub + p->part.pcie_switches_per_node; cpu < p->end; cpu++) {
        for (pw_vertex hub = first_hub; hub < first_hub + p->part.pcie_switches_per_node; hub++) {
            if (cpu_above(p, hub) != cpu) continue;
            for (uint32_t i = 0; i < leaves; i++)
                if (hubs[i] == hub) add_leaf(p, p->first + i);
        }
        for (uint32_t i = 0; i < leaves; i++)
            if (hubs[i] == cpu) add_leaf(p, p->first + i);
    }
}

static double middle(const part_box *box) { return box->x + box->w / 2; }

static part_box *find(part_box *boxes, uint32_t count, pw_vertex v) {
    for (uint32_t i = 0; i < count; i++)
        if (boxes[i].vertex == v) return &boxes[i];
    return NULL;
}

/* Leaves in a row with a gap between hubs; hubs and CPUs centred below what hangs on them. */
static void place(node_panel *p, const pw_vertex *hubs) {
    uint32_t gaps = 0;
    pw_vertex before = PW_NONE;
    for (uint32_t i = 0; i < p->leaf_count; i++) {
        pw_vertex hub = hubs[p->leaves[i].vertex - p->first];
        if (i > 0 && hub != before) gaps++;
        before = hub;
    }
    double gap = 14, room = p->right - p->left - gap * gaps, step = room / p->leaf_count;
    if (step > 110) step = 110;
    double x = p->left + (room - step * p->leaf_count) / 2;
    double hub_left = x;
    for (uint32_t i = 0; i < p->leaf_count; i++) {
        pw_vertex hub = hubs[p->leaves[i].vertex - p->first];
        if (i == 0 || hub != hubs[p->leaves[i - 1].vertex - p->first]) {
            if (i > 0) x += gap;
            hub_left = x;
        }
        p->leaves[i].x = x + 2;
        p->leaves[i].w = step - 4;
        p->leaves[i].y = p->top;
        x += step;
        if (hub == PW_NONE) continue;
        part_box *box = find(p->hubs, p->hub_count, hub);
        if (!box && p->hub_count < MOST_HUBS) {
            box = &p->hubs[p->hub_count++];
            *box = (part_box){.vertex = hub, .number = hub - p->first - p->part.gpus_per_node - p->part.nics_per_node};
        }
        if (!box) continue;
        box->x = hub_left + 2;
        box->w = x - hub_left - 4;
        box->y = p->top + 84;
    }
}

static void place_cpus(node_panel *p) {
    pw_vertex first = p->end - p->part.sockets_per_node;
    for (uint32_t i = 0; i < p->hub_count; i++) {
        const part_box *hub = &p->hubs[i];
        pw_vertex cpu = cpu_above(p, hub->vertex);
        part_box *box = find(p->cpus, p->cpu_count, cpu);
        if (cpu == PW_NONE) continue;
        if (!box && p->cpu_count < 16) {
            box = &p->cpus[p->cpu_count++];
            *box = (part_box){.vertex = cpu, .number = cpu - first, .x = hub->x, .y = p->top + 168};
        }
        if (box) box->w = hub->x + hub->w - box->x;
    }
    for (uint32_t i = 0; i < p->cpu_count; i++) { /* no wider than it need be */
        part_box *box = &p->cpus[i];
        double most = box->w < 220 ? box->w : 220;
        box->x += (box->w - most) / 2;
        box->w = most;
    }
}

/* NVLink as arcs over the row, wider with more links. */
static void draw_arcs(node_panel *p) {
    double thinnest = 0, farthest = 1;
    for (uint32_t i = 0; i < p->link_count; i++) {
        const pw_link_info *link = p->links[i];
        const part_box *a = find(p->leaves, p->leaf_count, link->from), *b = find(p->leaves, p->leaf_count, link->to);
        if (link->kind != PW_LINK_NVLINK || !a || !b) continue;
        if (thinnest == 0 || link->bandwidth_Bps < thinnest) thinnest = link->bandwidth_Bps;
        farthest = fmax(farthest, middle(b) - middle(a));
    }
    for (uint32_t i = 0; i < p->link_count; i++) {
        const pw_link_info *link = p->links[i];
        if (link->kind != PW_LINK_NVLINK || link->from > link->to) continue;
        const part_box *a = find(p->leaves, p->leaf_count, link->from), *b = find(p->leaves, p->leaf_count, link->to);
        if (!a || !b) continue;
        double x1 = middle(a), x2 = middle(b), across = x2 > x1 ? x2 - x1 : x1 - x2;
        double height = 30 + (2 * ARCS - 50) * across / farthest; /* a curve rises half as high as its bend */
        canvas_curve(p->d->canvas, "l-nvlink", 1.2 * link->bandwidth_Bps / thinnest, false, x1, p->top, (x1 + x2) / 2,
                     p->top - height, x2, p->top);
    }
}

static void draw_links(node_panel *p) {
    canvas *c = p->d->canvas;
    bool crossbar = strcmp(p->part.scaleup, "nvswitch") == 0;
    for (uint32_t i = 0; i < p->leaf_count; i++) {
        const part_box *leaf = &p->leaves[i];
        bool is_gpu = kind_of(p, leaf->vertex) == PW_VERTEX_GPU;
        if (crossbar && is_gpu) canvas_line(c, "l-nvlink", 2.5, false, middle(leaf), p->top, middle(leaf), p->top - 34);
        pw_vertex hub = pcie_above(p, leaf->vertex, PW_VERTEX_PCIE_SWITCH), cpu = pcie_above(p, leaf->vertex, PW_VERTEX_CPU);
        const part_box *to = find(p->hubs, p->hub_count, hub), *direct = find(p->cpus, p->cpu_count, cpu);
        if (to) canvas_line(c, "l-pcie", 1.5, false, middle(leaf), leaf->y + 40, middle(leaf), to->y + 4);
        if (direct) canvas_line(c, "l-pcie", is_gpu ? 2.5 : 1.5, false, middle(leaf), leaf->y + 40, middle(direct), direct->y + 4);
    }
    for (uint32_t i = 0; i < p->hub_count; i++) {
        const part_box *hub = &p->hubs[i], *cpu = find(p->cpus, p->cpu_count, cpu_above(p, hub->vertex));
        if (cpu && hub->vertex != cpu->vertex) canvas_line(c, "l-pcie", 1.5, false, middle(hub), hub->y + 30, middle(cpu), cpu->y + 4);
    }
    for (uint32_t i = 0; i + 1 < p->cpu_count; i++)
        canvas_line(c, "l-socket", 3, false, p->cpus[i].x + p->cpus[i].w, p->cpus[i].y + 18, p->cpus[i + 1].x, p->cpus[i + 1].y + 18);
}

static void draw_boxes(node_panel *p) {
    canvas *c = p->d->canvas;
    char text[96], rate[64];
    double wide = p->leaf_count ? p->leaves[0].w : 0;
    if (strcmp(p->part.scaleup, "nvswitch") == 0) {
        const part_box *last = &p->leaves[p->leaf_count - 1];
        snprintf(text, sizeof text, "NVSwitch: %u GPUs share it, %s each and direction", p->part.scaleup_domain,
                 rate_text(p->part.scaleup_Bps, rate, sizeof rate));
        canvas_box(c, "nvswitch", p->leaves[0].x, p->top - 66, last->x + last->w - p->leaves[0].x, 32, text, NULL,
                   p->d->facts.scaleup_planes > 1);
    }
    for (uint32_t i = 0; i < p->leaf_count; i++) {
        const part_box *leaf = &p->leaves[i];
        bool is_gpu = kind_of(p, leaf->vertex) == PW_VERTEX_GPU;
        snprintf(text, sizeof text, wide < 30 ? "%u" : wide < 44 ? (is_gpu ? "G%u" : "N%u") : is_gpu ? "GPU %u" : "NIC %u", leaf->number);
        canvas_box(c, is_gpu ? "gpu" : "nic", leaf->x, leaf->y, leaf->w, 40, text, NULL, false);
    }
    for (uint32_t i = 0; i < p->hub_count; i++) {
        const part_box *hub = &p->hubs[i];
        if (kind_of(p, hub->vertex) == PW_VERTEX_CPU) continue;
        snprintf(text, sizeof text, hub->w < 92 ? "PCIe %u" : "PCIe switch %u", hub->number);
        canvas_box(c, "pcie", hub->x, hub->y, hub->w, 30, text, NULL, false);
    }
    for (uint32_t i = 0; i < p->cpu_count; i++) {
        snprintf(text, sizeof text, "CPU %u", p->cpus[i].number);
        canvas_box(c, "cpu", p->cpus[i].x, p->cpus[i].y, p->cpus[i].w, 36, text, NULL, false);
    }
}

static void draw_key(node_panel *p, double y) {
    static const char *const classes[] = {"l-nvlink", "l-pcie", "l-socket", "l-port"};
    pw_link_generation links[PW_LINK_GENERATIONS];
    pw_cluster_link_generations(p->d->cluster, p->number, links); /* the first is what joins GPUs, where something does */
    const char *const names[] = {p->part.scaleup_Bps > 0 ? links[0].name : "", "PCIe", "between CPUs", "network port"};
    double rates[4] = {p->part.scaleup_Bps, 0, 0, p->d->network ? p->part.nic_Bps : 0}, x = MARGIN + 14;
    double slowest = 0;
    for (uint32_t i = 0; i < p->link_count; i++) {
        const pw_link_info *link = p->links[i];
        if (link->kind == PW_LINK_SOCKET) rates[2] = link->bandwidth_Bps;
        if (link->kind != PW_LINK_PCIE || kind_of(p, link->from) != PW_VERTEX_GPU) continue;
        if (link->bandwidth_Bps > rates[1]) rates[1] = link->bandwidth_Bps;
        if (slowest == 0 || link->bandwidth_Bps < slowest) slowest = link->bandwidth_Bps;
    }
    for (int i = 0; i < 4; i++) {
        char rate[64], low[96] = "", text[200];
        if (!(rates[i] > 0)) continue;
        rate_text(rates[i], rate, sizeof rate);
        if (i == 1 && slowest < rates[1]) {
            rate_text(slowest, text, sizeof text);
            snprintf(low, sizeof low, "%.40s, C2C ", text);
        }
        snprintf(text, sizeof text, "%.40s%s %s%s", names[i], i == 0 ? ", per GPU" : "", low, rate);
        canvas_line(p->d->canvas, classes[i], 3, false, x, y - 4, x + 26, y - 4);
        canvas_text(p->d->canvas, "note", 's', x + 34, y, text);
        x += 80 + 6.4 * (double)strlen(text);
    }
}

pw_status draw_node(drawing *d, uint32_t part) {
    node_panel p = {.d = d, .number = part, .part = pw_cluster_get_part(d->cluster, part), .left = MARGIN + 12, .right = PAGE_WIDTH - MARGIN - 12};
    uint32_t leaves = p.part.gpus_per_node + p.part.nics_per_node;
    char head[256], note[160];
    p.first = pw_cluster_gpu_vertex(d->cluster, p.part.first_gpu);
    p.end = p.first + leaves + p.part.pcie_switches_per_node + p.part.sockets_per_node;
    p.leaves = pw_arena_alloc(d->arena, MOST_LEAVES * sizeof *p.leaves);
    pw_vertex *hubs = pw_arena_alloc(d->arena, leaves * sizeof *hubs);
    if (!p.leaves || !hubs) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    snprintf(head, sizeof head, "Inside a node: %.120s", *p.part.server ? p.part.server : p.part.device->name);
    snprintf(note, sizeof note, "%u %s%s, %u x %.60s each, GPUDirect %s", p.part.nodes, p.part.nodes == 1 ? "node" : "nodes",
             pw_cluster_parts(d->cluster) > 1 ? " of this type" : "", p.part.gpus_per_node, p.part.device->name,
             p.part.gpudirect ? "on" : "off");
    panel_head(d, head, note);
    PW_TRY(collect_links(&p));
    order_leaves(&p, hubs);
    bool mesh = strcmp(p.part.scaleup, "mesh") == 0, crossbar = strcmp(p.part.scaleup, "nvswitch") == 0;
    double top = d->y;
    p.top = top + 16 + (mesh ? ARCS : crossbar ? 66 : 0);
    place(&p, hubs);
    place_cpus(&p);
    double height = p.top - top + 168 + 36 + 46;
    canvas_panel(d->canvas, MARGIN, top, PAGE_WIDTH - 2 * MARGIN, height);
    if (mesh) draw_arcs(&p);
    draw_links(&p);
    draw_boxes(&p);
    if (p.leaf_total > p.leaf_count)
        canvas_print(d->canvas, "note", 'e', p.right - 4, p.top + 56, "and %u more GPUs and NICs", p.leaf_total - p.leaf_count);
    draw_key(&p, top + height - 14);
    d->y = top + height + 20;
    return PW_OK;
}
