#include "models/workload/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The array that was too small stays in the arena. */
static bool grow(pw_notes *notes) {
    uint32_t capacity = notes->capacity ? 2 * notes->capacity : 16;
    const char **room = pw_arena_alloc(notes->arena, capacity * sizeof *room);
    if (!room) return false;
    if (notes->count) memcpy(room, notes->room, notes->count * sizeof *room);
    notes->items = notes->room = room;
    notes->capacity = capacity;
    return true;
}

void pw_note(pw_notes *notes, const char *format, ...) {
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = notes->count < notes->capacity || grow(notes) ? pw_arena_text(notes->arena, text) : NULL;
    if (kept) notes->room[notes->count++] = kept;
    else notes->out_of_memory = true;
}
