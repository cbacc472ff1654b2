#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/import/import.h"

pw_status pw_import_note(pw_import_notes *notes, pw_arena *arena, pw_error *error, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (notes->count == notes->capacity) { /* the old array stays in the arena */
        size_t grown = notes->capacity ? 2 * notes->capacity : 8;
        const char **items = pw_arena_alloc(arena, grown * sizeof *items);
        if (!items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        if (notes->count) memcpy(items, notes->items, notes->count * sizeof *items);
        notes->items = items;
        notes->capacity = grown;
    }
    const char *copy = pw_arena_text(arena, text);
    if (!copy) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    notes->items[notes->count++] = copy;
    return PW_OK;
}
