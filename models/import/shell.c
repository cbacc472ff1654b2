/* Arguments out of a shell script: words, quotes, variables and arrays of the POSIX shell and bash; nothing is run. A value that
 * only running would tell ($1, $(date)) is marked as unknown, which is an error only where it matters. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "models/import/settings.h"
#include "sim/file.h"

enum { LARGEST_FILE = 4 << 20, LONGEST_WORD = 4000 };

typedef struct word {
    const char *text;
    int line;
    bool is_unknown, is_quoted;
} word;

typedef struct words {
    word *items;
    size_t count, capacity;
} words;

typedef struct variable {
    const char *name;
    words value;
} variable;

typedef struct reader {
    const char *at, *path;
    int line;
    pw_arena *arena;
    pw_error *error;
    variable *variables;
    size_t variable_count, variable_capacity;
    words current;              /* of the statement under construction */
    char text[LONGEST_WORD];    /* of the word under construction */
    size_t used;
    bool is_open, is_unknown, is_quoted; /* of that word */
    words command;              /* the one that was looked for */
    bool is_found;
} reader;

static pw_status no_memory(reader *r) { return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left"); }
#define REFUSE(r, hint, ...) return pw_fail((r)->error, PW_BAD_INPUT, (r)->path, (r)->line, hint, __VA_ARGS__)

static pw_status words_add(reader *r, words *to, word added) {
    if (to->count == to->capacity) {
        size_t grown = to->capacity ? 2 * to->capacity : 16;
        word *items = pw_arena_alloc(r->arena, grown * sizeof *items);
        if (!items) return no_memory(r);
        if (to->count) memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->capacity = grown;
    }
    to->items[to->count++] = added;
    return PW_OK;
}

static pw_status put(reader *r, char c) {
    if (r->used + 1 >= LONGEST_WORD) REFUSE(r, NULL, "a word is longer than %d characters", LONGEST_WORD);
    r->text[r->used++] = c;
    r->is_open = true;
    return PW_OK;
}

static pw_status end_word(reader *r) {
    if (!r->is_open) return PW_OK;
    r->text[r->used] = '\0';
    word made = {pw_arena_text(r->arena, r->text), r->line, r->is_unknown && strchr(r->text, '$'), r->is_quoted};
    r->used = 0;
    r->is_open = r->is_unknown = r->is_quoted = false;
    return made.text ? words_add(r, &r->current, made) : no_memory(r);
}

/* ---- Variables ---- */

static variable *find_variable(reader *r, const char *name, size_t length) {
    for (size_t i = r->variable_count; i-- > 0;)
        if (strlen(r->variables[i].name) == length && strncmp(r->variables[i].name, name, length) == 0)
            return &r->variables[i];
    return NULL;
}

static pw_status set_variable(reader *r, const char *name, size_t length, const words *value, bool appends) {
    variable *known = find_variable(r, name, length);
    if (!known) {
        char copy[200];
        if (r->variable_count == r->variable_capacity) {
            size_t grown = r->variable_capacity ? 2 * r->variable_capacity : 16;
            variable *items = pw_arena_alloc(r->arena, grown * sizeof *items);
            if (!items) return no_memory(r);
            if (r->variable_count) memcpy(items, r->variables, r->variable_count * sizeof *items);
            r->variables = items;
            r->variable_capacity = grown;
        }
        snprintf(copy, sizeof copy, "%.*s", (int)length, name);
        known = &r->variables[r->variable_count++];
        *known = (variable){.name = pw_arena_text(r->arena, copy)};
        if (!known->name) return no_memory(r);
    }
    if (!appends) known->value = (words){0};
    for (size_t i = 0; i < value->count; i++) PW_TRY(words_add(r, &known->value, value->items[i]));
    return PW_OK;
}

/* Puts a value into the word under construction; unquoted blanks part words. */
static pw_status put_value(reader *r, const char *text, bool quoted) {
    bool is_unknown = r->is_unknown; /* of each word that holds a "$" */
    for (; *text; text++) {
        if (!quoted && strchr(" \t\n", *text)) PW_TRY(end_word(r));
        else PW_TRY(put(r, *text));
        r->is_unknown = is_unknown;
    }
    return PW_OK;
}

static pw_status expand(reader *r, const char *name, size_t length, const char *fallback, size_t fallback_length, bool quoted) {
    const variable *known = find_variable(r, name, length);
    char text[LONGEST_WORD];
    if (!known && fallback) {
        snprintf(text, sizeof text, "%.*s", (int)fallback_length, fallback);
        return put_value(r, text, quoted);
    }
    if (!known) {
        r->is_unknown = r->is_open = true;
        snprintf(text, sizeof text, "$%.*s", (int)length, name);
        return put_value(r, text, true);
    }
    for (size_t i = 0; i < known->value.count; i++) {
        if (i) PW_TRY(end_word(r));
        int line = r->line;
        r->line = known->value.items[i].line; /* an argument's place is where it was written */
        r->is_unknown = r->is_unknown || known->value.items[i].is_unknown;
        PW_TRY(put_value(r, known->value.items[i].text, quoted));
        if (known->value.count > 1) PW_TRY(end_word(r));
        r->line = line;
    }
    return PW_OK;
}

/* Behind "$(" or "`": what only running would tell. */
static pw_status skip_command(reader *r, char close) {
    int depth = 1;
    r->is_unknown = r->is_open = true;
    for (; *r->at && depth; r->at++) {
        if (*r->at == '\n') r->line++;
        if (close == ')' && *r->at == '(') depth++;
        if (*r->at == close) depth--;
    }
    if (depth) REFUSE(r, NULL, "a command in the text has no end");
    return put_value(r, "$(...)", true);
}

/* At "$". */
static pw_status read_dollar(reader *r, bool quoted) {
    const char *name = ++r->at;
    if (*name == '(') {
        r->at++;
        return skip_command(r, ')');
    }
    if (*name == '{') {
        const char *end = strchr(++name, '}'), *fallback = NULL;
        size_t length = 0;
        if (!end) REFUSE(r, NULL, "'${' has no end");
        while (isalnum((unsigned char)name[length]) || name[length] == '_') length++;
        const char *more = name + length;
        if (strncmp(more, "[@]", 3) == 0 || strncmp(more, "[*]", 3) == 0) more += 3;
        if (strncmp(more, ":-", 2) == 0) fallback = more + 2;
        else if (*more == '-') fallback = more + 1;
        r->at = end + 1;
        if (more != end && !fallback) length = (size_t)(end - name); /* an expansion of another kind: not known */
        return expand(r, name, length, fallback, fallback ? (size_t)(end - fallback) : 0, quoted);
    }
    size_t length = 0;
    if (isdigit((unsigned char)*name) || (*name && strchr("@*#?$!", *name))) length = 1;
    else
        while (isalnum((unsigned char)name[length]) || name[length] == '_') length++;
    r->at += length;
    return length ? expand(r, name, length, NULL, 0, quoted) : put(r, '$');
}

static pw_status read_quotes(reader *r) {
    char quote = *r->at++;
    int line = r->line;
    r->is_open = r->is_quoted = true;
    while (*r->at != quote) {
        if (*r->at == '\0') return pw_fail(r->error, PW_BAD_INPUT, r->path, line, NULL, "a quote has no end");
        if (quote == '"' && *r->at == '$') {
            PW_TRY(read_dollar(r, true));
            continue;
        }
        if (quote == '"' && *r->at == '\\' && r->at[1]) r->at++;
        if (*r->at == '\n') r->line++;
        PW_TRY(put(r, *r->at++));
    }
    r->at++;
    return PW_OK;
}

/* ---- Statements ---- */

/* Length of the name in NAME=... or NAME+=..., 0 for another word. */
static size_t assigned(const char *text, bool *appends) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
    *appends = text[length] == '+' && text[length + 1] == '=';
    return length && !isdigit((unsigned char)*text) && (text[length] == '=' || *appends) ? length : 0;
}

static pw_status refuse_keyword(const reader *r, const word *first) {
    static const char *const keywords[] = {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
                                           "esac", "function", "select", "{", "}", NULL};
    for (int i = 0; keywords[i] && !first->is_quoted; i++)
        if (strcmp(keywords[i], first->text) == 0)
            return pw_fail(r->error, PW_BAD_INPUT, r->path, first->line,
                           "put `echo` before the command that starts the training, run the script, and import what it prints",
                           "'%s' is not read: which arguments count would depend on a run", first->text);
    return PW_OK;
}

static bool is_program(const words *command, size_t i) {
    const char *text = command->items[i].text;
    size_t length = strlen(text);
    if (length > 3 && strcmp(text + length - 3, ".py") == 0 && text[0] != '-') return true;
    return i > 0 && strcmp(command->items[i - 1].text, "-m") == 0 && !strstr(text, "launch") && !strstr(text, "run");
}

static bool has_program(const words *command) {
    for (size_t i = 0; i < command->count; i++)
        if (is_program(command, i)) return true;
    return false;
}

static pw_status end_statement(reader *r) {
    PW_TRY(end_word(r));
    words statement = r->current;
    r->current = (words){0};
    if (!statement.count) return PW_OK;
    PW_TRY(refuse_keyword(r, &statement.items[0]));
    size_t first = 0;
    static const char *const declares[] = {"export", "declare", "local", "readonly", NULL};
    for (int i = 0; declares[i]; i++)
        if (strcmp(statement.items[0].text, declares[i]) == 0) first = 1;
    for (; first < statement.count; first++) {
        bool appends;
        word item = statement.items[first];
        size_t length = assigned(item.text, &appends);
        if (!length) break;
        word value = item;
        value.text += length + (appends ? 2 : 1);
        words list = {&value, 1, 1};
        PW_TRY(set_variable(r, item.text, length, &list, appends));
    }
    if (first == statement.count) return PW_OK;
    words command = {statement.items + first, statement.count - first, statement.count - first};
    bool is_bare = strncmp(command.items[0].text, "--", 2) == 0;
    if (!is_bare && !has_program(&command)) return PW_OK;
    if (r->is_found && is_bare && strncmp(r->command.items[0].text, "--", 2) == 0) { /* a list over lines */
        for (size_t i = 0; i < command.count; i++) PW_TRY(words_add(r, &r->command, command.items[i]));
        return PW_OK;
    }
    if (r->is_found)
        return pw_fail(r->error, PW_BAD_INPUT, r->path, command.items[0].line, "keep the one that is meant",
                       "the file has a second command with arguments");
    r->command = (words){0};
    for (size_t i = 0; i < command.count; i++) PW_TRY(words_add(r, &r->command, command.items[i]));
    r->is_found = true;
    return PW_OK;
}

/* NAME=( ... ): the word under construction is "NAME=". */
static pw_status read_array(reader *r) {
    bool appends;
    char name[LONGEST_WORD];
    r->text[r->used] = '\0';
    memcpy(name, r->text, r->used + 1);
    size_t length = assigned(name, &appends);
    words before = r->current;
    r->current = (words){0};
    r->used = 0;
    r->is_open = r->is_unknown = r->is_quoted = false;
    r->at++;
    while (*r->at != ')') {
        if (*r->at == '\0') REFUSE(r, NULL, "the array %.*s has no end", (int)length, name);
        if (*r->at == '#' && !r->is_open) r->at += strcspn(r->at, "\n");
        else if (*r->at == '\\' && (r->at[1] == '\n' || r->at[1] == '\r')) {
            PW_TRY(end_word(r));
            r->at += r->at[1] == '\r' ? 3 : 2;
            r->line++;
        } else if (strchr(" \t\r\n", *r->at)) {
            PW_TRY(end_word(r));
            r->line += *r->at++ == '\n';
        } else if (*r->at == '"' || *r->at == '\'') PW_TRY(read_quotes(r));
        else if (*r->at == '$') PW_TRY(read_dollar(r, false));
        else PW_TRY(put(r, *r->at++));
    }
    PW_TRY(end_word(r));
    r->at++;
    words value = r->current;
    r->current = before;
    return set_variable(r, name, length, &value, appends);
}

static pw_status read_script(reader *r) {
    while (*r->at) {
        char c = *r->at;
        bool appends;
        r->text[r->used] = '\0';
        if (c == '#' && !r->is_open) r->at += strcspn(r->at, "\n");
        else if (c == '\\' && r->at[1] == '\n') {
            PW_TRY(end_word(r));
            r->at += 2;
            r->line++;
        } else if (c == '\\' && r->at[1]) {
            PW_TRY(put(r, r->at[1]));
            r->at += 2;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            PW_TRY(end_word(r));
            r->at++;
        } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
            PW_TRY(end_statement(r));
            r->line += *r->at++ == '\n';
        } else if (c == '>' || c == '<') { /* a redirection: its file is no argument */
            if (r->used && strspn(r->text, "0123456789") == r->used && !r->is_quoted) r->used = 0, r->is_open = false; /* 2>&1 */
            PW_TRY(end_statement(r));
            r->at += strcspn(r->at, "\n;|");
        } else if (c == '(' && r->used && assigned(r->text, &appends) + (appends ? 2u : 1u) == r->used) PW_TRY(read_array(r));
        else if (c == '(' || c == ')') REFUSE(r, NULL, "functions and groups of commands are not read");
        else if (c == '"' || c == '\'') PW_TRY(read_quotes(r));
        else if (c == '`') {
            r->at++;
            PW_TRY(skip_command(r, '`'));
        } else if (c == '$') PW_TRY(read_dollar(r, false));
        else PW_TRY(put(r, *r->at++));
    }
    return end_statement(r);
}

/* ---- Arguments ---- */

static void normalise(char *name) {
    if (strchr(name, '.')) return; /* a section and its key */
    for (; *name; name++)
        if (*name == '_') *name = '-';
}

static pw_status add_arguments(pw_settings *settings, const word *list, size_t count, const char *file, pw_error *error) {
    for (size_t i = 0; i < count;) {
        char name[LONGEST_WORD], value[LONGEST_WORD] = "";
        const word *head = &list[i++];
        if (strncmp(head->text, "--", 2) != 0 || !head->text[2])
            return pw_fail(error, PW_BAD_INPUT, file, head->line, "an argument begins with --", "'%.60s' is no argument", head->text);
        snprintf(name, sizeof name, "%s", head->text);
        char *sign = strchr(name, '=');
        pw_setting setting = {.name = name, .file = file, .line = head->line, .is_unknown = head->is_unknown};
        size_t used = 0;
        if (sign) {
            *sign = '\0';
            used = (size_t)snprintf(value, sizeof value, "%s", sign + 1);
            setting.values = 1;
        }
        normalise(name);
        for (; !sign && i < count && strncmp(list[i].text, "--", 2) != 0; i++) {
            if (used + strlen(list[i].text) + 2 > sizeof value)
                return pw_fail(error, PW_BAD_INPUT, file, list[i].line, NULL, "'%s' has too many values", name);
            used += (size_t)snprintf(value + used, sizeof value - used, "%s%s", setting.values ? " " : "", list[i].text);
            setting.is_unknown = setting.is_unknown || list[i].is_unknown;
            setting.values++;
        }
        if (setting.values) setting.value = value;
        PW_TRY(pw_settings_add(settings, &setting, error));
    }
    return PW_OK;
}

pw_status pw_settings_words(pw_settings *settings, const char *const *list, size_t count, const char *file, pw_error *error) {
    word *items = pw_arena_alloc(settings->arena, (count + 1) * sizeof *items);
    if (!items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (size_t i = 0; i < count; i++) items[i] = (word){.text = list[i]};
    return add_arguments(settings, items, count, file, error);
}

/* torchrun --nproc_per_node 8 pretrain.py --num-layers 32: first what the launcher gets, from its first argument on. */
static pw_status add_command(pw_settings *settings, const words *command, const char *path, pw_error *error) {
    size_t program = 0, launcher = 0;
    if (strncmp(command->items[0].text, "--", 2) == 0)
        return add_arguments(settings, command->items, command->count, path, error);
    while (!is_program(command, program)) program++;
    size_t end = program && strcmp(command->items[program - 1].text, "-m") == 0 ? program - 1 : program;
    while (launcher < end && strncmp(command->items[launcher].text, "--", 2) != 0) launcher++;
    PW_TRY(add_arguments(settings, command->items + launcher, end - launcher, path, error));
    return add_arguments(settings, command->items + program + 1, command->count - program - 1, path, error);
}

pw_status pw_settings_shell(pw_settings *settings, const char *path, pw_error *error) {
    char *text;
    size_t size;
    PW_TRY(pw_file_read(path, LARGEST_FILE, NULL, &text, &size, error));
    reader *r = pw_arena_alloc(settings->arena, sizeof *r);
    pw_status status = PW_OK;
    if (!r) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    else if (strlen(text) != size) status = pw_fail(error, PW_BAD_INPUT, path, 0, NULL, "this is no text");
    else {
        *r = (reader){.at = text, .path = path, .line = 1, .arena = settings->arena, .error = error};
        status = read_script(r);
    }
    if (status == PW_OK && !r->is_found)
        status = pw_fail(error, PW_BAD_INPUT, path, 0,
                         "a list of --arguments, or a script that starts a Python program with them",
                         "the file has no command with arguments");
    if (status == PW_OK) status = add_command(settings, &r->command, path, error);
    pw_free(NULL, text, size + 1);
    return status;
}
