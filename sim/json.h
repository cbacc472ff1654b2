/* JSON, written as a stream with the same bytes every time: members in the order of the calls, two spaces of indent,
 * numbers as the shortest text that reads back, NaN and infinities as null.
 *
 *   pw_json json;
 *   pw_json_begin(&json, file);
 *   pw_json_object(&json, NULL);
 *   pw_json_text(&json, "name", "h100");
 *   pw_json_array(&json, "times_s");
 *   pw_json_number(&json, NULL, 0.5);
 *   pw_json_end(&json);
 *   pw_json_end(&json);
 *
 * Inside an object every value has a key, elsewhere key is NULL; a mistake is caught by PW_CHECK.
 */
#ifndef PW_SIM_JSON_H
#define PW_SIM_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/file.h"

enum { PW_JSON_DEPTH = 32 };

typedef struct pw_json {
    pw_file *file;
    int depth;
    char open[PW_JSON_DEPTH]; /* '{' or '[' */
    bool empty[PW_JSON_DEPTH], done;
} pw_json;

void pw_json_begin(pw_json *json, pw_file *file); /* file outlives json; nothing to release */
void pw_json_object(pw_json *json, const char *key);
void pw_json_array(pw_json *json, const char *key);
void pw_json_end(pw_json *json); /* of the innermost object or array */
void pw_json_text(pw_json *json, const char *key, const char *text); /* NULL: null. Bad UTF-8 becomes U+FFFD */
void pw_json_number(pw_json *json, const char *key, double value);
void pw_json_integer(pw_json *json, const char *key, int64_t value);
void pw_json_bool(pw_json *json, const char *key, bool value);
void pw_json_null(pw_json *json, const char *key);

#endif
