/* Shapes that become SVG: panels lie below lines, lines below boxes, boxes below texts, in the order in which they were added. Coordinates in
 * pixels, y downwards. A class names a colour pair for light and for dark (canvas.c). A failed allocation is remembered and
 * reported by canvas_write.
 */
#ifndef PW_DRAWING_CANVAS_H
#define PW_DRAWING_CANVAS_H

#include <stdbool.h>

#include "sim/file.h"
#include "sim/memory.h"

typedef struct canvas canvas;
canvas *canvas_create(pw_arena *arena); /* NULL: no memory */
void canvas_panel(canvas *to, double x, double y, double w, double h); /* the ground of a part of the page */
void canvas_line(canvas *to, const char *class, double width, bool dashed, double x1, double y1, double x2, double y2);
/* A curve from (x1, y1) to (x2, y2) that bends towards (cx, cy). */
void canvas_curve(canvas *to, const char *class, double width, bool dashed, double x1, double y1, double cx, double cy,
                  double x2, double y2);
/* label in the middle, sub below it (NULL or "": none); stacked: with an edge behind it, for several. */
void canvas_box(canvas *to, const char *class, double x, double y, double w, double h, const char *label, const char *sub,
                bool stacked);
/* anchor: 's'tart, 'm'iddle, 'e'nd of the text is at x. */
void canvas_text(canvas *to, const char *class, char anchor, double x, double y, const char *text);
void canvas_print(canvas *to, const char *class, char anchor, double x, double y, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
pw_status canvas_write(const canvas *from, const char *title, double width, double height, pw_file *file, pw_error *error);

#endif
