/* From the records that a script made to filled descriptions, with the origin of every value. Shared by the files that see a
 * Lua state.
 */
#ifndef PW_HOST_FILL_H
#define PW_HOST_FILL_H

#include "scenarios/host/lua_api.h"
#include "scenarios/host/scenario.h"

enum { PW_LONGEST_PATH = 256 };

typedef struct pw_filler {
    lua_State *L;
    pw_script *script;
    const pw_catalogue *catalogue;
    pw_arena *arena; /* of everything that is made */
    pw_origin *origins;
    size_t origin_count, origin_capacity;
    int depth; /* of records in records */
    bool has_hooks; /* the script must live on */
    pw_import_notes notes;
    pw_error error;
} pw_filler;

/* Fills desc from the record at stack index; path is that of the whole record ("job", "" for the root). */
pw_status pw_fill_record(pw_filler *filler, int index, const pw_kind *kind, void *desc, const char *path);
/* Required fields and the checks of every kind, depth first; each message has the place of its own record or item. */
pw_status pw_fill_check(pw_filler *filler, const pw_kind *kind, const void *desc, const char *path);
pw_status pw_fill_origin(pw_filler *filler, const char *path, pw_origin_kind kind, const char *file, int line,
                         const char *text);
/* Loads the preset `name` of a kind that has presets into desc; an unknown name gets a hint. */
pw_status pw_fill_preset(pw_filler *filler, const pw_preset_kind *presets, const char *name, void *desc);

#endif
