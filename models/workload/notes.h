/* Notes of a run: provenance and fallbacks, one sentence each, for whoever reads the result. */
#ifndef PW_MODELS_WORKLOAD_NOTES_H
#define PW_MODELS_WORKLOAD_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"

typedef struct pw_notes {
    pw_arena *arena;     /* the caller sets it; sentences and the array lie there */
    const char *const *items;
    uint32_t count;
    const char **room;   /* the array behind items */
    uint32_t capacity;
    bool out_of_memory;
} pw_notes;

/* Adds a sentence of at most 900 bytes, cut beyond. Without memory it sets out_of_memory and adds nothing. */
void pw_note(pw_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
