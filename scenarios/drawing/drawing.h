/* A cluster as an SVG picture. */
#ifndef PW_DRAWING_DRAWING_H
#define PW_DRAWING_DRAWING_H

#include "models/node/cluster.h"
#include "sim/file.h"

/* Writes the whole file. title: a line of text for the head; subtitle: one below it (NULL: none). */
pw_status pw_draw_cluster(const pw_cluster *cluster, const char *title, const char *subtitle, pw_arena *arena, pw_file *file,
                          pw_error *error);

#endif
