/* Descriptions from what other programs read: a model from a config.json of HuggingFace Transformers.
 *
 * Which key of an architecture means what is a row of the catalogue's table huggingface-models; what a key that shapes no
 * field does to speed is one of huggingface-keys. What is in the file and not in the description is either said in a note
 * or refused; nothing is dropped in silence.
 */
#ifndef PW_MODELS_IMPORT_H
#define PW_MODELS_IMPORT_H

#include "models/workload/train.h"

/* What a reader should know about an imported description: one sentence each, in the arena. */
typedef struct pw_import_notes {
    const char **items;
    size_t count, capacity;
} pw_import_notes;
pw_status pw_import_note(pw_import_notes *notes, pw_arena *arena, pw_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills *model (defaults included) from the file at path. Fails with PW_UNSUPPORTED where podwright cannot describe the
 * architecture. */
pw_status pw_import_huggingface(const pw_catalogue *catalogue, const char *path, pw_model_desc *model, pw_arena *arena,
                                pw_import_notes *notes, pw_error *error);

#endif
