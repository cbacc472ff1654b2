/* A network in rows: nodes below, then leaves, spines and cores. A row of many shows its first ones, one box for the rest, and its
 * last. A line between two boxes stands for all cables between what they stand for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/drawing/drawing_internal.h"
#include "scenarios/report/layout.h"

enum { ROWS = PW_NETWORK_TIERS + 1, SHOWN = 8, MOST_SHOWN = 12, BOXES = ROWS * (MOST_SHOWN + 1), ROW_HEIGHT = 104, LEFT = 150, RIGHT = 180 };

typedef struct row {
    const char *class;
    char single[32], words[48];
    uint32_t count, boxes, first_box; /* members; boxes drawn, from first_box on */
    double y;
} row;

typedef struct box {
    double x, y, w;
    bool folded;
} box;

typedef struct tier_panel {
    drawing *d;
    row rows[ROWS];
    box boxes[BOXES];
    uint32_t row_count, box_count;
    uint32_t *box_of; /* by vertex; PW_NONE: not in the network */
    uint8_t *row_of;  /* of those that are */
    double bandwidth[BOXES][BOXES];
    double total[ROWS];    /* of links upwards from a row, one direction */
} tier_panel;

static uint32_t boxes_for(uint32_t count) { return count <= MOST_SHOWN ? count : SHOWN + 2; }

/* The box of the member with this number in its row. */
static uint32_t box_at(const row *r, uint32_t number) {
    if (r->count <= MOST_SHOWN || number < SHOWN) return r->first_box + number;
    return r->first_box + (number + 1 == r->count ? SHOWN + 1 : SHOWN);
}

static void count_rows(tier_panel *p) {
    static const char *const classes[] = {"node", "leaf", "spine", "core"};
    const pw_network_facts *network = &p->d->facts.network;
    p->row_count = 1 + network->tier_count;
    for (uint32_t r = 0; r < p->row_count; r++) {
        row *one = &p->rows[r];
        one->class = classes[r < 3 ? r : 3];
        one->count = r == 0 ? pw_cluster_nodes(p->d->cluster) : network->tier[r - 1].switches;
        snprintf(one->single, sizeof one->single, "%.30s", r == 0 ? "node" : network->tier[r - 1].name);
        snprintf(one->words, sizeof one->words, r == 0 ? "%snode%s" : "%s switch%s", r == 0 ? "" : one->single,
                 one->count == 1 ? "" : r == 0 ? "s" : "es");
        one->boxes = boxes_for(one->count);
        one->first_box = p->box_count;
        p->box_count += one->boxes;
    }
}

/* NICs are in their node's box. */
static pw_status map_vertices(tier_panel *p) {
    const drawing *d = p->d;
    uint32_t vertices = pw_fabric_vertices(d->fabric), seen[ROWS] = {0};
    p->box_of = pw_arena_alloc(d->arena, (vertices + (size_t)1) * sizeof *p->box_of);
    p->row_of = pw_arena_alloc(d->arena, vertices + (size_t)1);
    if (!p->box_of || !p->row_of) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    for (pw_vertex v = 0; v < vertices; v++) p->box_of[v] = PW_NONE;
    for (uint32_t i = 0; i < pw_network_switches(d->network); i++) {
        pw_switch_info one = pw_network_switch(d->network, i);
        p->row_of[one.vertex] = (uint8_t)(one.tier + 1);
        p->box_of[one.vertex] = box_at(&p->rows[one.tier + 1], seen[one.tier + 1]++);
    }
    for (uint32_t i = 0; i < pw_cluster_parts(d->cluster); i++) {
        pw_cluster_part part = pw_cluster_get_part(d->cluster, i);
        uint32_t own = part.gpus_per_node + part.nics_per_node + part.pcie_switches_per_node + part.sockets_per_node;
        pw_vertex first = pw_cluster_gpu_vertex(d->cluster, part.first_gpu);
        for (uint32_t n = 0; n < part.nodes; n++)
            for (uint32_t nic = 0; nic < part.nics_per_node; nic++)
                p->box_of[first + n * own + part.gpus_per_node + nic] = box_at(&p->rows[0], part.first_node + n);
    }
    return PW_OK;
}

static void sum_links(tier_panel *p) {
    const pw_fabric *fabric = p->d->fabric;
    for (pw_link i = 0; i < pw_fabric_links(fabric); i++) {
        const pw_link_info *link = pw_fabric_link(fabric, i);
        if (link->kind != PW_LINK_NETWORK && link->kind != PW_LINK_TRUNK) continue;
        uint32_t from = p->box_of[link->from], to = p->box_of[link->to];
        if (from == PW_NONE || to == PW_NONE || p->row_of[link->from] >= p->row_of[link->to]) continue; /* downwards: the same cable */
        p->bandwidth[from][to] += link->bandwidth_Bps;
        p->total[p->row_of[link->from]] += link->bandwidth_Bps;
    }
}

static void place(tier_panel *p, double top) {
    for (uint32_t r = 0; r < p->row_count; r++) {
        row *one = &p->rows[r];
        double room = PAGE_WIDTH - 2 * MARGIN - LEFT - RIGHT, step = room / one->boxes;
        if (step > 118) step = 118;
        double x = MARGIN + LEFT + (room - step * one->boxes) / 2;
        one->y = top + 18 + (p->row_count - 1 - r) * (double)ROW_HEIGHT;
        for (uint32_t b = 0; b < one->boxes; b++, x += step)
            p->boxes[one->first_box + b] = (box){x + 6, one->y, step - 12, one->count > MOST_SHOWN && b == SHOWN};
    }
}

static const char *const rail_classes[] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"};

static void draw_lines(tier_panel *p) {
    double widest = 0;
    for (uint32_t a = 0; a < p->box_count; a++)
        for (uint32_t b = 0; b < p->box_count; b++)
            if (!p->boxes[a].folded && !p->boxes[b].folded && p->bandwidth[a][b] > widest) widest = p->bandwidth[a][b];
    bool rails = p->d->network && pw_network_is_rail_aligned(p->d->network) && !pw_network_has_rails_apart(p->d->network);
    for (uint32_t a = 0; a < p->box_count; a++)
        for (uint32_t b = 0; b < p->box_count; b++) {
            const box *low = &p->boxes[a], *high = &p->boxes[b];
            bool folded = low->folded || high->folded;
            if (p->bandwidth[a][b] == 0) continue;
            const char *class = a >= p->rows[0].boxes ? "l-trunk"
                                : rails && !folded   ? rail_classes[(b - p->rows[1].first_box) % 8]
                                                     : "l-port";
            double width = folded ? 0.8 : 0.8 + fmin(1, p->bandwidth[a][b] / widest);
            canvas_line(p->d->canvas, class, width, folded, low->x + low->w / 2, low->y, high->x + high->w / 2, high->y + 36);
        }
}

/* "leaf 3", or "3" where that is too wide. */
static void name_box(const row *one, uint32_t index, double width, char *text, size_t size) {
    uint32_t number = index > SHOWN && one->count > MOST_SHOWN ? one->count - 1 : index;
    snprintf(text, size, "%s %u", one->single, number);
    if (7 * (double)strlen(text) > width) snprintf(text, size, "%u", number);
}

static void draw_rows(tier_panel *p) {
    canvas *c = p->d->canvas;
    char text[96], count[32], rate[64];
    for (uint32_t r = 0; r < p->row_count; r++) {
        const row *one = &p->rows[r];
        canvas_print(c, "label", 's', MARGIN + 14, one->y + 16, "%s", pw_layout_count(one->count, count, sizeof count));
        canvas_text(c, "sub", 's', MARGIN + 14, one->y + 31, one->words);
        for (uint32_t b = 0; b < one->boxes; b++) {
            const box *at = &p->boxes[one->first_box + b];
            if (at->folded) snprintf(text, sizeof text, "+ %s", pw_layout_count(one->count - SHOWN - 1, count, sizeof count));
            else name_box(one, b, at->w, text, sizeof text);
            canvas_box(c, at->folded ? "fold" : one->class, at->x, at->y, at->w, 36, text, NULL, at->folded);
        }
        const pw_network_facts *network = &p->d->facts.network;
        if (r + 1 == p->row_count || r >= network->cable_count) continue;
        double y = (one->y + p->rows[r + 1].y + 36) / 2;
        rate_text(network->cable[r].cable_Bps, rate, sizeof rate);
        canvas_print(c, "note", 'e', PAGE_WIDTH - MARGIN - 14, y - 2, "%s cables of %s",
                     pw_layout_count(network->cable[r].cables, count, sizeof count), rate);
        if (r > 0 && p->total[r] < 0.999 * p->total[r - 1])
            canvas_print(c, "sub", 'e', PAGE_WIDTH - MARGIN - 14, y + 14, "%.3g : 1 oversubscribed", p->total[r - 1] / p->total[r]);
    }
}

pw_status draw_tiers(drawing *d) {
    tier_panel *p = pw_arena_alloc(d->arena, sizeof *p);
    char note[256], rate[64];
    if (!p) return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    p->d = d;
    count_rows(p);
    snprintf(note, sizeof note, "%.60s, bisection %s, at most %u links between two ports", d->facts.topology,
             rate_text(d->facts.network.bisection_Bps, rate, sizeof rate), d->facts.network.hops);
    panel_head(d, "Network", note);
    PW_TRY(map_vertices(p));
    sum_links(p);
    place(p, d->y);
    double height = 18 + (p->row_count - 1) * (double)ROW_HEIGHT + 36 + 20;
    canvas_panel(d->canvas, MARGIN, d->y, PAGE_WIDTH - 2 * MARGIN, height);
    draw_lines(p);
    draw_rows(p);
    d->y += height + 20;
    return PW_OK;
}
