/* What the panels of a drawing share. */
#ifndef PW_DRAWING_INTERNAL_H
#define PW_DRAWING_INTERNAL_H

#include "models/node/cluster.h"
#include "scenarios/drawing/canvas.h"

enum { PAGE_WIDTH = 1200, MARGIN = 24 };

typedef struct drawing {
    const pw_cluster *cluster;
    const pw_fabric *fabric;
    const pw_network *network; /* NULL: none */
    pw_cluster_facts facts;
    pw_arena *arena;
    canvas *canvas;
    double y; /* where the next panel begins; a panel moves it on */
    pw_error *error;
} drawing;

/* The panels. A panel that has nothing to show draws nothing. */
pw_status draw_tiers(drawing *d);
pw_status draw_round(drawing *d, bool *drawn); /* false: the switches stand in tiers */
pw_status draw_node(drawing *d, uint32_t part);

/* "49 GB/s". Returns text. */
const char *rate_text(double value_Bps, char *text, size_t size);
/* A heading, with a note in grey after it; moves y below. */
void panel_head(drawing *d, const char *head, const char *note);

#endif
