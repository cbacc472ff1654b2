/* Finds the line of a field in source text. Tables carry no positions, so that a message about a field reads the file
 * again, from the line of the record.
 */
#ifndef PW_HOST_LOCATE_H
#define PW_HOST_LOCATE_H

#include <stdint.h>

/* The line of `key = ...` in the table of the constructor `kind` that begins in `line`; line itself when there is none. */
int pw_locate_key(const char *source, int line, const char *kind, const char *key);
/* The lines in which the items of the list `key = { item, item }` begin, `count` of them; the key's line where the list is
 * not written out there. */
void pw_locate_items(const char *source, int line, const char *kind, const char *key, int *lines, uint32_t count);

#endif
