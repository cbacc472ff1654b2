/* Small helpers for readable text: wrapped paragraphs, counts with thousands separators, bars.
 */
#ifndef PW_REPORT_LAYOUT_H
#define PW_REPORT_LAYOUT_H

#include <stdint.h>

#include "sim/file.h"

/* Words of text in lines of at most width characters; every line but the first begins with indent spaces (the first is
 * taken to stand at that column already). Ends with a line break. */
void pw_layout_wrap(pw_file *file, int indent, int width, const char *text);
void pw_layout_repeat(pw_file *file, char c, int count);

/* 16384 -> "16,384". size >= 32. Returns text. */
const char *pw_layout_count(int64_t value, char *text, size_t size);
/* Number of columns that UTF-8 text takes (one a character). */
int pw_layout_width(const char *text);
/* Numbers as people read them; size >= 32. Return text.
 *   large    1.83 million, three digits; below a million as pw_layout_count
 *   seconds  four digits that matter: 4.812 s, 31.25 ms
 *   rate     185.4, 2,591, 3.36 million */
const char *pw_layout_large(double value, char *text, size_t size);
const char *pw_layout_seconds(double value, char *text, size_t size);
const char *pw_layout_rate(double value, char *text, size_t size);

#endif
