/* Settings of another program, before anyone asks what they mean: names with values, in order, each with its line.
 *
 *   shell.c   arguments in a text file or a shell script: --tensor-model-parallel-size 8, with variables and arrays
 *   toml.c    the part of TOML that configuration files of frameworks use: [section], key = value
 */
#ifndef PW_MODELS_IMPORT_SETTINGS_H
#define PW_MODELS_IMPORT_SETTINGS_H

#include <stdbool.h>

#include "sim/memory.h"
#include "sim/status.h"

typedef struct pw_setting {
    const char *name;  /* "--num-layers", "training.seq_len" */
    const char *value; /* NULL: a flag; several values stand with a space between */
    const char *file;
    int line, values;  /* number of values */
    bool is_unknown;   /* the value holds a variable or command that the file does not tell */
} pw_setting;

typedef struct pw_settings {
    pw_setting *items; /* in the arena */
    size_t count, capacity;
    pw_arena *arena;
} pw_settings;

pw_status pw_settings_add(pw_settings *settings, const pw_setting *setting, pw_error *error); /* copies its texts */

/* Words of a bare list of arguments, or of the command with a Python program in a shell script; what stands before the
 * program belongs to its launcher and is read too. Underscores in names become hyphens, but not behind a dot. Conditions, loops
 * and functions are refused. */
pw_status pw_settings_shell(pw_settings *settings, const char *path, pw_error *error);
/* The same from words; file stands for them in messages. */
pw_status pw_settings_words(pw_settings *settings, const char *const *words, size_t count, const char *file, pw_error *error);
/* "section.key"; texts without quotes, lists as their items with spaces between. */
pw_status pw_settings_toml(pw_settings *settings, const char *path, pw_error *error);

#endif
