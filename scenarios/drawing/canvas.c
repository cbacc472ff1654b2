#include "scenarios/drawing/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum shape_kind { SHAPE_PANEL, SHAPE_LINE, SHAPE_CURVE, SHAPE_BOX, SHAPE_TEXT } shape_kind;
typedef struct shape {
    shape_kind kind;
    bool dashed, stacked;
    char anchor;
    const char *class, *label, *sub; /* class is a constant of the caller */
    double width, at[6];
    struct shape *next;
} shape;

struct canvas {
    pw_arena *arena;
    shape *first, **end;
    bool failed;
};

canvas *canvas_create(pw_arena *arena) {
    canvas *made = pw_arena_alloc(arena, sizeof *made);
    if (!made) return NULL;
    made->arena = arena;
    made->end = &made->first;
    return made;
}

static void add(canvas *to, shape one) {
    shape *kept = pw_arena_alloc(to->arena, sizeof *kept);
    if (!kept) {
        to->failed = true;
        return;
    }
    *kept = one;
    *to->end = kept;
    to->end = &kept->next;
}

static const char *keep(canvas *to, const char *text) {
    const char *kept = pw_arena_text(to->arena, text ? text : "");
    if (!kept) to->failed = true;
    return kept ? kept : "";
}

void canvas_line(canvas *to, const char *class, double width, bool dashed, double x1, double y1, double x2, double y2) {
    add(to, (shape){.kind = SHAPE_LINE, .class = class, .width = width, .dashed = dashed, .at = {x1, y1, x2, y2}});
}

void canvas_curve(canvas *to, const char *class, double width, bool dashed, double x1, double y1, double cx, double cy,
                  double x2, double y2) {
    add(to, (shape){.kind = SHAPE_CURVE, .class = class, .width = width, .dashed = dashed, .at = {x1, y1, cx, cy, x2, y2}});
}

void canvas_box(canvas *to, const char *class, double x, double y, double w, double h, const char *label, const char *sub,
                bool stacked) {
    add(to, (shape){.kind = SHAPE_BOX, .class = class, .stacked = stacked, .label = keep(to, label), .sub = keep(to, sub),
                    .at = {x, y, w, h}});
}

void canvas_panel(canvas *to, double x, double y, double w, double h) {
    add(to, (shape){.kind = SHAPE_PANEL, .at = {x, y, w, h}});
}

void canvas_text(canvas *to, const char *class, char anchor, double x, double y, const char *text) {
    add(to, (shape){.kind = SHAPE_TEXT, .class = class, .anchor = anchor, .label = keep(to, text), .at = {x, y}});
}

void canvas_print(canvas *to, const char *class, char anchor, double x, double y, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    canvas_text(to, class, anchor, x, y, text);
}

/* --- SVG -------------------------------------------------------------------------------------------------------------- */

/* Class, then fill and stroke for light and for dark. Lines have no fill, texts no stroke. */
static const struct {
    const char *class, *fill, *stroke, *dark_fill, *dark_stroke;
} colours[] = {
    {"page", "#ffffff", "none", "#15191e", "none"},
    {"panel", "#f8f9fb", "#dde2e8", "#1b2026", "#343c45"},
    {"gpu", "#dff1e3", "#3f8f5b", "#1d3a27", "#63b884"},
    {"nic", "#e4eafc", "#4a63c0", "#232c4d", "#8397e6"},
    {"node", "#e9eef3", "#62717f", "#2a323a", "#94a3b1"},
    {"leaf", "#fdeed2", "#c08420", "#443210", "#e0aa4e"},
    {"spine", "#fbe0d6", "#c0603f", "#47261a", "#e68c6c"},
    {"core", "#eee0f7", "#8a4fb0", "#35233f", "#bb8adb"},
    {"nvswitch", "#d5f1ee", "#1f8f87", "#12393a", "#4fc4ba"},
    {"pcie", "#eceff3", "#7b8794", "#2c333b", "#9aa7b4"},
    {"cpu", "#f6f1da", "#96862c", "#3a3518", "#d1bf5d"},
    {"fold", "#ffffff", "#8a96a3", "#15191e", "#7f8b97"},
    {"l-nvlink", "none", "#1f8f87", "none", "#4fc4ba"},
    {"l-pcie", "none", "#a3aebb", "none", "#6b7885"},
    {"l-socket", "none", "#b3a240", "none", "#b5a54c"},
    {"l-trunk", "none", "#c79c80", "none", "#94735c"},
    {"l-port", "none", "#8b9bd0", "none", "#6777b0"},
    {"r0", "none", "#4a63c0", "none", "#8397e6"},
    {"r1", "none", "#c0603f", "none", "#e68c6c"},
    {"r2", "none", "#3f8f5b", "none", "#63b884"},
    {"r3", "none", "#b5358c", "none", "#e27cc2"},
    {"r4", "none", "#c08420", "none", "#e0aa4e"},
    {"r5", "none", "#1f8f87", "none", "#4fc4ba"},
    {"r6", "none", "#8a4fb0", "none", "#bb8adb"},
    {"r7", "none", "#62717f", "none", "#94a3b1"},
    {"title", "#1d2731", "none", "#e9edf1", "none"},
    {"head", "#1d2731", "none", "#e9edf1", "none"},
    {"label", "#1d2731", "none", "#e9edf1", "none"},
    {"sub", "#5d6a77", "none", "#a6b2be", "none"},
    {"note", "#5d6a77", "none", "#a6b2be", "none"},
};
enum { COLOURS = sizeof colours / sizeof *colours };

static void put_colours(pw_file *file, bool dark) {
    for (int i = 0; i < COLOURS; i++)
        pw_file_print(file, ".%s{fill:%s;stroke:%s}\n", colours[i].class, dark ? colours[i].dark_fill : colours[i].fill,
                      dark ? colours[i].dark_stroke : colours[i].stroke);
}

static void put_style(pw_file *file) {
    pw_file_text(file, "<style>\ntext{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
                       ".title{font-size:20px;font-weight:600}\n.head{font-size:14px;font-weight:600}\n.label{font-size:12px}\n"
                       "line,path{stroke-opacity:.8}\n.sub{font-size:10px}\n.note{font-size:12px}\n.fold{stroke-dasharray:4 3}\n");
    put_colours(file, false);
    pw_file_text(file, "@media (prefers-color-scheme:dark){\n");
    put_colours(file, true);
    pw_file_text(file, "}\n</style>\n");
}

static void put_escaped(pw_file *file, const char *text) {
    for (; *text; text++) {
        const char *with = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (with) pw_file_text(file, with);
        else if ((unsigned char)*text >= 0x20) pw_file_write(file, text, 1);
    }
}

static void put_text(pw_file *file, const char *class, char anchor, double x, double y, const char *text) {
    const char *where = anchor == 'm' ? " text-anchor=\"middle\"" : anchor == 'e' ? " text-anchor=\"end\"" : "";
    if (!*text) return;
    pw_file_print(file, "<text class=\"%s\"%s x=\"%.1f\" y=\"%.1f\">", class, where, x, y);
    put_escaped(file, text);
    pw_file_text(file, "</text>\n");
}

static void put_rectangle(pw_file *file, const char *class, double x, double y, double w, double h) {
    pw_file_print(file, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>\n", class, x, y, w, h);
}

static void put_shape(pw_file *file, const shape *s) {
    const double *at = s->at;
    const char *dash = s->dashed ? " stroke-dasharray=\"4 3\"" : "";
    switch (s->kind) {
    case SHAPE_PANEL: put_rectangle(file, "panel", at[0], at[1], at[2], at[3]); break;
    case SHAPE_LINE:
        pw_file_print(file, "<line class=\"%s\" stroke-width=\"%.2f\"%s x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", s->class,
                      s->width, dash, at[0], at[1], at[2], at[3]);
        break;
    case SHAPE_CURVE:
        pw_file_print(file, "<path class=\"%s\" stroke-width=\"%.2f\"%s d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>\n", s->class, s->width,
                      dash, at[0], at[1], at[2], at[3], at[4], at[5]);
        break;
    case SHAPE_BOX: {
        double middle = at[0] + at[2] / 2, base = at[1] + at[3] / 2 + 4;
        if (s->stacked) put_rectangle(file, s->class, at[0] + 4, at[1] - 4, at[2], at[3]);
        put_rectangle(file, s->class, at[0], at[1], at[2], at[3]);
        put_text(file, "label", 'm', middle, *s->sub ? base - 6 : base, s->label);
        put_text(file, "sub", 'm', middle, base + 8, s->sub);
        break;
    }
    case SHAPE_TEXT: put_text(file, s->class, s->anchor, at[0], at[1], s->label); break;
    }
}

pw_status canvas_write(const canvas *from, const char *title, double width, double height, pw_file *file, pw_error *error) {
    if (from->failed) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    pw_file_print(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
                        "role=\"img\">\n<title>",
                  width, height, width, height);
    put_escaped(file, title);
    pw_file_text(file, "</title>\n");
    put_style(file);
    pw_file_print(file, "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
    static const shape_kind layers[][2] = {
        {SHAPE_PANEL, SHAPE_PANEL}, {SHAPE_LINE, SHAPE_CURVE}, {SHAPE_BOX, SHAPE_BOX}, {SHAPE_TEXT, SHAPE_TEXT}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (const shape *s = from->first; s; s = s->next)
            if (s->kind == layers[i][0] || s->kind == layers[i][1]) put_shape(file, s);
    pw_file_text(file, "</svg>\n");
    return PW_OK;
}
