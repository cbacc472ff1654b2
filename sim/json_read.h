/* JSON read whole, by libjansson: its functions (json_object_get and so on) read the tree.
 *
 *   json_t *root;
 *   PW_TRY(pw_json_load("config.json", 4 << 20, NULL, &root, error));
 *   ...
 *   json_decref(root);
 *
 * A repeated key is an error, as is what follows the value. Errors say `file:line: what`. Members keep their order. The tree
 * lies in the C library's memory, some ten times the file.
 */
#ifndef PW_SIM_JSON_READ_H
#define PW_SIM_JSON_READ_H

#include "sim/memory.h"
#include "sim/status.h"

typedef struct json_t json_t; /* as in jansson.h, which only users of the tree include */

/* Reads a file of at most limit bytes. The caller releases *root with json_decref. */
pw_status pw_json_load(const char *path, size_t limit, const pw_allocator *allocator, json_t **root, pw_error *error);

#endif
