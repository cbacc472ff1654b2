/* Finds the line of a field in source text. Tables carry no positions, so that a message about a field reads the file
 * again, from the line of the record.
 */
#ifndef PW_HOST_LOCATE_H
#define PW_HOST_LOCATE_H

/* The line of `key = ...` in the table of the constructor `kind` that begins in `line`; line itself when there is none. */
int pw_locate_key(const char *source, int line, const char *kind, const char *key);

#endif
