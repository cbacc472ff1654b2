/* Shared by the readers of arguments. */
#ifndef PW_MODELS_IMPORT_INTERNAL_H
#define PW_MODELS_IMPORT_INTERNAL_H

#include "models/import/import.h"
#include "models/import/settings.h"

typedef struct importer {
    const pw_catalogue *catalogue;
    const pw_import_request *request;
    const pw_table *table;
    pw_settings settings;
    pw_import_job *job;
    pw_arena *arena;
    pw_import_notes *notes;
    pw_error *error;
} importer;

/* The last setting of that name; NULL: it is not given. */
const pw_setting *importer_find(const importer *in, const char *name);
/* Its value as a whole number; fallback when it is not given. */
pw_status importer_whole(const importer *in, const char *name, int64_t fallback, int64_t *value);
bool importer_is(const importer *in, const char *name, const char *value); /* given with that value */
/* Sets "train.x" or "model.x" from text; at: where that was said, for messages (NULL: nowhere). */
pw_status importer_set(const importer *in, const char *field, const char *text, const pw_setting *at);
pw_status importer_set_whole(const importer *in, const char *field, int64_t value, const pw_setting *at);
pw_status importer_fail(const importer *in, const pw_setting *at, pw_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What several arguments say together. */
pw_status importer_megatron(const importer *in);
pw_status importer_torchtitan(const importer *in);

#endif
