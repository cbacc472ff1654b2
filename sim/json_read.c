#include "sim/json_read.h"

#include <jansson.h>
#include <string.h>

#include "sim/file.h"

pw_status pw_json_load(const char *path, size_t limit, const pw_allocator *allocator, json_t **root, pw_error *error) {
    char *text;
    size_t size;
    *root = NULL;
    PW_TRY(pw_file_read(path, limit, allocator, &text, &size, error));
    size_t mark = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    json_error_t found;
    *root = json_loadb(text + mark, size - mark, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &found);
    pw_status status = PW_OK;
    if (!*root && json_error_code(&found) == json_error_out_of_memory)
        status = pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    else if (!*root)
        status = pw_fail(error, PW_BAD_INPUT, path, found.line > 0 ? found.line : 0, NULL, "this is no JSON: %s", found.text);
    pw_free(allocator, text, size + 1);
    return status;
}
