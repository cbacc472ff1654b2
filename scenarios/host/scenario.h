/* A scenario loaded from a file: descriptions filled from the script and the command line, checked, with the origin of
 * every value. From here on nothing knows of Lua.
 */
#ifndef PW_HOST_SCENARIO_H
#define PW_HOST_SCENARIO_H

#include "models/import/import.h"
#include "scenarios/host/api.h"
#include "scenarios/host/script.h"

typedef enum pw_origin_kind {
    PW_ORIGIN_FILE,     /* written at place.file:place.line */
    PW_ORIGIN_OVERRIDE, /* --set */
    PW_ORIGIN_PRESET    /* of the catalogue's row `text` */
} pw_origin_kind;

typedef struct pw_origin {
    const char *path; /* "job.tensor_parallel", "job.layers[3].channels", or of a whole record: "job" */
    pw_origin_kind kind;
    const char *file, *text; /* text: PATH=VALUE of an override, name of a preset */
    int line;
    uint32_t chain, next; /* of pw_scenario_origin alone: the newest origin whose path hashes to this slot, and the one before; 0: none */
} pw_origin;

typedef struct pw_scenario {
    pw_scenario_desc desc;
    const char *file, *title;
    const pw_origin *origins;
    size_t origin_count;
    pw_import_notes notes; /* of models read from a config.json */
    size_t script_bytes; /* peak memory of the script */
    pw_script *script; /* kept for its hooks; NULL: it has none, or they are not called. pw_scenario_end frees it */
} pw_scenario;

typedef struct pw_scenario_options {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    const char *const *overrides; /* "path=value" */
    int override_count;
    uint64_t seed;
    pw_script_limits limits;
    const volatile int *interrupt;
    bool keeps_hooks; /* the caller calls them, and pw_scenario_end */
} pw_scenario_options;

/* Everything in *scenario lives in arena. path NULL: a scenario with a cluster of defaults, which the overrides fill. */
pw_status pw_scenario_load(const char *path, const pw_scenario_options *options, pw_arena *arena, pw_scenario *scenario,
                           pw_error *error);
/* The same for a file that returns a record of kind root, into desc; constructors are those of the kinds that root reaches.
 * Of *scenario everything but desc is filled. */
pw_status pw_scenario_load_as(const char *path, const pw_scenario_options *options, const pw_kind *root, void *desc,
                              pw_arena *arena, pw_scenario *scenario, pw_error *error);
/* Frees what a scenario keeps besides its arena; a zeroed or ended one is fine. */
void pw_scenario_end(pw_scenario *scenario);
/* Where a value comes from: of the path itself, or NULL for a default. */
const pw_origin *pw_scenario_origin(const pw_scenario *scenario, const char *path);
/* A message about "kind.field" gets the line in which the field below path (the record) was written. */
void pw_scenario_refine(const pw_scenario *scenario, const pw_kind *kind, const char *path, pw_error *error);

#endif
