/* Numbers as text, both ways, without the locale: "1.5" is one and a half everywhere, and what is written reads back
 * as the same bits. Characters of UTF-8, and how far one text is from another.
 */
#ifndef PW_SIM_TEXT_H
#define PW_SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a decimal number ([+-]digits[.digits][e[+-]digits]) at the start of text, correctly rounded. *end (may be NULL)
 * is set behind it. False when there is none or it overflows; no hexadecimal, "inf" or "nan". */
bool pw_text_number(const char *text, const char **end, double *value);
/* The same for a whole number [+-]digits that fits. */
bool pw_text_integer(const char *text, const char **end, int64_t *value);

enum { PW_NUMBER_TEXT = 32 }; /* room enough for any number */
/* Writes the shortest text that reads back as value ("0.1", "450000000000", "1e+100"); "nan", "inf", "-inf" otherwise.
 * size >= PW_NUMBER_TEXT. Returns text. */
const char *pw_number_text(double value, char *text, size_t size);

/* Bytes of the well-formed UTF-8 character at text (Unicode, table 3-7), 0 when it is none. */
size_t pw_text_character(const char *text);

/* Edit distance: insertions, deletions, replacements and swaps of neighbours, letters of either case alike. Only the
 * first 63 bytes count. */
unsigned pw_text_distance(const char *a, const char *b);
/* Whether b is a likely meaning of the mistyped a, given their distance. */
bool pw_text_is_near(const char *a, const char *b, unsigned distance);

#endif
