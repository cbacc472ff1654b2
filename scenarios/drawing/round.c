/* Networks whose switches of one tier are joined to each other. Switches that stand in a grid (a cable keeps the place in the row or the
 * row) are drawn as one; groups of switches lie on a circle, with the inside of the first beside it; all else lies on a circle. Of
 * planes and rails apart the first is drawn. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/drawing/drawing_internal.h"
#include "scenarios/report/layout.h"

enum { COLUMNS = 12, GRID_ROWS = 8, ON_CIRCLE = 48, IN_GROUP = 32 };

typedef struct place {
    pw_switch_info info;
    uint32_t ports; /* cables to NICs */
    double x, y;
    bool shown;
} place;

typedef struct edge {
    uint32_t a, b; /* switches, a < b */
    double bandwidth_Bps;
} edge;

typedef struct round_panel {
    drawing *d;
    place *places;
    edge *edges;
    uint32_t count, edge_count, groups, width; /* width: members of the largest group */
    uint32_t nets; /* planes x rails apart */
} round_panel;

static pw_status no_memory(drawing *d) {
    return pw_fail(d->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
}

static pw_status collect(round_panel *p) {
    drawing *d = p->d;
    uint32_t vertices = pw_fabric_vertices(d->fabric), links = pw_fabric_links(d->fabric), all = pw_network_switches(d->network);
    uint32_t *switch_of = pw_arena_alloc(d->arena, (vertices + (size_t)1) * sizeof *switch_of);
    p->places = pw_arena_alloc(d->arena, (all + (size_t)1) * sizeof *p->places);
    if (!switch_of || !p->places) return no_memory(d);
    for (pw_vertex v = 0; v < vertices; v++) switch_of[v] = PW_NONE;
    for (uint32_t i = 0; i < all; i++) {
        pw_switch_info info = pw_network_switch(d->network, i);
        if (info.plane > 0 || (info.rail != PW_NONE && info.rail > 0)) continue;
        switch_of[info.vertex] = p->count;
        p->places[p->count++] = (place){.info = info};
        if (info.group + 1 > p->groups) p->groups = info.group + 1;
        if (info.index + 1 > p->width) p->width = info.index + 1;
    }
    p->nets = p->count ? all / p->count : 1;
    for (int pass = 0; pass < 2; pass++) {
        p->edge_count = 0;
        for (pw_link i = 0; i < links; i++) {
            const pw_link_info *link = pw_fabric_link(d->fabric, i);
            uint32_t from = switch_of[link->from], to = switch_of[link->to];
            if (link->kind == PW_LINK_NETWORK && to != PW_NONE && pass) p->places[to].ports++;
            if (link->kind != PW_LINK_TRUNK || from == PW_NONE || to == PW_NONE || from >= to) continue;
            if (pass) p->edges[p->edge_count] = (edge){from, to, link->bandwidth_Bps};
            p->edge_count++;
        }
        if (!pass) p->edges = pw_arena_alloc(d->arena, (p->edge_count + (size_t)1) * sizeof *p->edges);
        if (!p->edges) return no_memory(d);
    }
    return PW_OK;
}

static bool joins_one_tier(const round_panel *p) {
    for (uint32_t i = 0; i < p->edge_count; i++)
        if (p->places[p->edges[i].a].info.tier == p->places[p->edges[i].b].info.tier) return true;
    return false;
}

static bool is_grid(const round_panel *p) {
    if (p->groups < 2 || p->width < 3) return false;
    for (uint32_t i = 0; i < p->edge_count; i++) {
        const pw_switch_info *a = &p->places[p->edges[i].a].info, *b = &p->places[p->edges[i].b].info;
        if (a->group != b->group && a->index != b->index) return false;
    }
    return true;
}

static double widest(const round_panel *p) {
    double most = 0;
    for (uint32_t i = 0; i < p->edge_count; i++) most = fmax(most, p->edges[i].bandwidth_Bps);
    return most > 0 ? most : 1;
}

/* A switch in the middle of x, y: its number, or the name that the user gave it. */
static void put_switch(round_panel *p, uint32_t i, const char *class, double w) {
    const place *at = &p->places[i];
    char text[32];
    if (at->info.name && 7 * (double)strlen(at->info.name) < w) snprintf(text, sizeof text, "%.30s", at->info.name);
    else snprintf(text, sizeof text, "%u", i);
    canvas_box(p->d->canvas, class, at->x - w / 2, at->y - 13, w, 26, text, NULL, false);
}

/* --- A grid ----------------------------------------------------------------------------------------------------------- */

static void draw_grid_edge(const round_panel *p, const edge *e, double step_x, double step_y, double widest_Bps) {
    const place *a = &p->places[e->a], *b = &p->places[e->b];
    double width = 0.6 + (p->edge_count > 3 * p->count ? 0.4 : 1.2) * e->bandwidth_Bps / widest_Bps;
    if (!a->shown || !b->shown) return;
    double dx = fabs(b->x - a->x), dy = fabs(b->y - a->y);
    if (dx < 1.1 * step_x && dy < 1.1 * step_y) {
        canvas_line(p->d->canvas, "l-trunk", width, false, a->x, a->y, b->x, b->y);
        return;
    }
    /* past others: a curve above the row, or beside the column */
    double bend_x = dy > dx ? -0.5 * step_x - 0.06 * dy : 0, bend_y = dy > dx ? 0 : -0.5 * step_y - 0.04 * dx;
    canvas_curve(p->d->canvas, "l-port", width, false, a->x, a->y, (a->x + b->x) / 2 + bend_x, (a->y + b->y) / 2 + bend_y, b->x, b->y);
}

static double draw_grid(round_panel *p) {
    drawing *d = p->d;
    uint32_t columns = p->width < COLUMNS ? p->width : COLUMNS, rows = p->groups < GRID_ROWS ? p->groups : GRID_ROWS;
    double room = PAGE_WIDTH - 2 * MARGIN - 290, step_x = room / columns, step_y = 64; /* cables are counted to the right */
    if (step_x > 110) step_x = 110;
    double left = MARGIN + 50 + room / 2 - step_x * (columns - 1) / 2, top = d->y + 60;
    for (uint32_t i = 0; i < p->count; i++) {
        place *at = &p->places[i];
        at->shown = at->info.index < columns && at->info.group < rows;
        at->x = left + at->info.index * step_x;
        at->y = top + at->info.group * step_y;
    }
    for (uint32_t i = 0; i < p->edge_count; i++) draw_grid_edge(p, &p->edges[i], step_x, step_y, widest(p));
    for (uint32_t i = 0; i < p->count; i++)
        if (p->places[i].shown) put_switch(p, i, "leaf", fmin(64, step_x - 20));
    double height = 60 + step_y * (rows - 1) + 13 + 40;
    char columns_text[96] = "";
    if (columns < p->width || rows < p->groups)
        snprintf(columns_text, sizeof columns_text, "; %u of %u columns and %u of %u rows shown", columns, p->width, rows, p->groups);
    canvas_print(d->canvas, "note", 's', MARGIN + 14, d->y + height - 12,
                 "%u ports of nodes at a switch; curves pass others or close a ring%s", p->places[0].ports, columns_text);
    return height;
}

/* --- A circle --------------------------------------------------------------------------------------------------------- */

/* Points on a circle, the first at the top. Sine and cosine by rotation, so that no library's rounding shows. */
static void on_circle(double x, double y, double radius, uint32_t i, uint32_t count, double *at_x, double *at_y) {
    double turn = 2 * 3.14159265358979323846 * i / count, reduced = turn > 3.14159265358979323846 ? turn - 2 * 3.14159265358979323846 : turn;
    double s = 0, c = 0, term = 1;
    for (int k = 0; k < 40; k++) { /* Taylor: 15 digits for an angle up to pi */
        if (k % 2 == 0) c += k % 4 == 0 ? term : -term;
        else s += k % 4 == 1 ? term : -term;
        term *= reduced / (k + 1);
    }
    *at_x = x + radius * s;
    *at_y = y - radius * c;
}

static void draw_circle(round_panel *p, double x, double y, double radius, const uint32_t *members, uint32_t count, const char *class) {
    double widest_Bps = widest(p);
    for (uint32_t i = 0; i < p->count; i++) p->places[i].shown = false;
    for (uint32_t i = 0; i < count; i++) {
        place *at = &p->places[members[i]];
        at->shown = true;
        on_circle(x, y, radius, i, count, &at->x, &at->y);
    }
    for (uint32_t i = 0; i < p->edge_count; i++) {
        const place *a = &p->places[p->edges[i].a], *b = &p->places[p->edges[i].b];
        if (a->shown && b->shown)
            canvas_line(p->d->canvas, "l-trunk", 0.6 + p->edges[i].bandwidth_Bps / widest_Bps, false, a->x, a->y, b->x, b->y);
    }
    double w = count > 24 ? 32 : 40;
    for (uint32_t i = 0; i < count; i++) put_switch(p, members[i], class, w);
}

static pw_status draw_all_on_circle(round_panel *p, double *height) {
    drawing *d = p->d;
    uint32_t count = p->count < ON_CIRCLE ? p->count : ON_CIRCLE;
    uint32_t *members = pw_arena_alloc(d->arena, (count + (size_t)1) * sizeof *members);
    double radius = count > 16 ? 230 : 160;
    if (!members) return no_memory(d);
    for (uint32_t i = 0; i < count; i++) members[i] = i;
    *height = 2 * radius + 100;
    draw_circle(p, PAGE_WIDTH / 2.0, d->y + 40 + radius, radius, members, count, "leaf");
    char more[64] = "";
    if (count < p->count) snprintf(more, sizeof more, "; the first %u of %u shown", count, p->count);
    canvas_print(d->canvas, "note", 's', MARGIN + 14, d->y + *height - 12, "%u ports of nodes at a switch%s", p->places[0].ports, more);
    return PW_OK;
}

/* --- Groups ----------------------------------------------------------------------------------------------------------- */

/* Groups on a circle, a chord as wide as all cables between two. */
static pw_status draw_groups(round_panel *p, double x, double y, double radius) {
    drawing *d = p->d;
    uint32_t groups = p->groups < ON_CIRCLE ? p->groups : ON_CIRCLE;
    double *between = pw_arena_alloc(d->arena, (size_t)groups * groups * sizeof *between), most = 0;
    if (!between) return no_memory(d);
    for (uint32_t i = 0; i < p->edge_count; i++) {
        uint32_t a = p->places[p->edges[i].a].info.group, b = p->places[p->edges[i].b].info.group;
        if (a == b || a >= groups || b >= groups) continue;
        double *sum = &between[a < b ? a * groups + b : b * groups + a];
        *sum += p->edges[i].bandwidth_Bps;
        most = fmax(most, *sum);
    }
    for (uint32_t a = 0; a < groups; a++)
        for (uint32_t b = a + 1; b < groups; b++) {
            double x1, y1, x2, y2;
            if (between[a * groups + b] == 0) continue;
            on_circle(x, y, radius, a, groups, &x1, &y1);
            on_circle(x, y, radius, b, groups, &x2, &y2);
            canvas_line(d->canvas, "l-port", 0.5 + (groups > 16 ? 0.6 : 1.4) * between[a * groups + b] / most, false, x1, y1, x2, y2);
        }
    for (uint32_t g = 0; g < groups; g++) {
        char text[32];
        double at_x, at_y, w = groups > 24 ? 32 : 58;
        on_circle(x, y, radius, g, groups, &at_x, &at_y);
        snprintf(text, sizeof text, groups > 24 ? "%u" : "group %u", g);
        canvas_box(d->canvas, "core", at_x - w / 2, at_y - 13, w, 26, text, NULL, false);
    }
    return PW_OK;
}

/* Two tiers of a group, one above the other. */
static void draw_bipartite(round_panel *p, const uint32_t *members, uint32_t count, double x, double y, double room) {
    uint32_t in_tier[2] = {0, 0}, seen[2] = {0, 0};
    for (uint32_t i = 0; i < p->count; i++) p->places[i].shown = false;
    for (uint32_t i = 0; i < count; i++) in_tier[p->places[members[i]].info.tier > 0]++;
    uint32_t most = in_tier[0] > in_tier[1] ? in_tier[0] : in_tier[1];
    double step = fmin(64, room / most);
    for (uint32_t i = 0; i < count; i++) {
        place *at = &p->places[members[i]];
        uint32_t tier = at->info.tier > 0;
        at->shown = true;
        at->x = x + (seen[tier]++ - (in_tier[tier] - 1) / 2.0) * step;
        at->y = tier ? y - 70 : y + 70;
    }
    for (uint32_t i = 0; i < p->edge_count; i++) {
        const place *a = &p->places[p->edges[i].a], *b = &p->places[p->edges[i].b];
        if (a->shown && b->shown) canvas_line(p->d->canvas, "l-trunk", 1, false, a->x, a->y, b->x, b->y);
    }
    for (uint32_t i = 0; i < count; i++)
        put_switch(p, members[i], p->places[members[i]].info.tier ? "spine" : "leaf", fmin(44, step - 6));
}

static pw_status draw_grouped(round_panel *p, double *height) {
    drawing *d = p->d;
    uint32_t members[IN_GROUP], count = 0, size = 0, upper = 0, ports = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->places[i].info.group != 0) continue;
        size++;
        upper += p->places[i].info.tier > 0;
        if (p->places[i].ports > ports) ports = p->places[i].ports;
        if (count < IN_GROUP) members[count++] = i;
    }
    double radius = p->groups > 16 ? 220 : 180, left = PAGE_WIDTH * 0.3, right = PAGE_WIDTH * 0.75, y = d->y + 50 + radius;
    *height = 2 * radius + 110;
    PW_TRY(draw_groups(p, left, y, radius));
    if (upper) draw_bipartite(p, members, count, right, y, PAGE_WIDTH * 0.45);
    else draw_circle(p, right, y, count > 12 ? 150 : 110, members, count, "leaf");
    canvas_print(d->canvas, "note", 'm', left, d->y + *height - 14, "%u groups, a line for the cables of two%s", p->groups,
                 p->groups > ON_CIRCLE ? "; the first 48 shown" : "");
    canvas_print(d->canvas, "note", 'm', right, d->y + *height - 14, "inside group 0: %u switches%s, %u ports of nodes at each%s", size,
                 size > count ? ", the first 32 shown" : "", ports, upper ? " of the lower ones" : "");
    return PW_OK;
}

pw_status draw_round(drawing *d, bool *drawn) {
    round_panel p = {.d = d};
    char note[256], rate[64];
    PW_TRY(collect(&p));
    *drawn = joins_one_tier(&p);
    if (!*drawn) return PW_OK;
    snprintf(note, sizeof note, "%.60s, %u switches%s, bisection %s, at most %u links between two ports", d->facts.topology,
             p.count * p.nets, p.nets > 1 ? " on networks apart, the first drawn" : "",
             rate_text(d->facts.network.bisection_Bps, rate, sizeof rate), d->facts.network.hops);
    panel_head(d, "Network", note);
    double height = 0;
    if (is_grid(&p)) height = draw_grid(&p);
    else if (p.groups > 1 && p.groups < p.count && p.width > 2) PW_TRY(draw_grouped(&p, &height));
    else PW_TRY(draw_all_on_circle(&p, &height));
    double y = d->y + 24;
    for (uint32_t c = 0; c < d->facts.network.cable_count; c++, y += 18) {
        char count[32];
        canvas_print(d->canvas, "note", 'e', PAGE_WIDTH - MARGIN - 14, y, "%s: %s cables of %s", d->facts.network.cable[c].name,
                     pw_layout_count(d->facts.network.cable[c].cables, count, sizeof count),
                     rate_text(d->facts.network.cable[c].cable_Bps, rate, sizeof rate));
    }
    canvas_panel(d->canvas, MARGIN, d->y, PAGE_WIDTH - 2 * MARGIN, height);
    d->y += height + 20;
    return PW_OK;
}
