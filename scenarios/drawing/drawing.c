/* The page: a title, then the panels one below the other. */
#include <stdio.h>
#include <string.h>

#include "scenarios/drawing/drawing.h"
#include "scenarios/drawing/drawing_internal.h"
#include "sim/registry.h"

const char *rate_text(double value_Bps, char *text, size_t size) {
    return pw_unit_format(value_Bps, PW_UNIT_BYTES_PER_SECOND, text, size);
}

void panel_head(drawing *d, const char *head, const char *note) {
    canvas_text(d->canvas, "head", 's', MARGIN, d->y + 18, head);
    canvas_text(d->canvas, "note", 'e', PAGE_WIDTH - MARGIN, d->y + 18, note);
    d->y += 32;
}

pw_status pw_draw_cluster(const pw_cluster *cluster, const char *title, const char *subtitle, pw_arena *arena, pw_file *file,
                          pw_error *error) {
    drawing d = {.cluster = cluster, .fabric = pw_cluster_fabric(cluster), .network = pw_cluster_network(cluster),
                 .facts = pw_cluster_get_facts(cluster), .arena = arena, .canvas = canvas_create(arena), .error = error};
    if (!d.canvas) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the drawing");
    canvas_text(d.canvas, "title", 's', MARGIN, 38, title);
    canvas_text(d.canvas, "note", 's', MARGIN, 60, subtitle);
    d.y = subtitle ? 78 : 58;
    bool drawn = true;
    if (d.network) PW_TRY(draw_round(&d, &drawn));
    if (!drawn) PW_TRY(draw_tiers(&d));
    for (uint32_t part = 0; part < pw_cluster_parts(cluster); part++) PW_TRY(draw_node(&d, part));
    return canvas_write(d.canvas, title, PAGE_WIDTH, d.y + MARGIN, file, error);
}
