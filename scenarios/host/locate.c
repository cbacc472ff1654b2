/* A small lexer of Lua: names, strings, comments, braces. */
#include "scenarios/host/locate.h"

#include <stdbool.h>
#include <string.h>

enum { DEEPEST = 64, END = 0, NAME = 'n', STRING = 's', OTHER = 'o' }; /* else the character itself */

typedef struct token {
    int type, line;
    const char *text; /* of a name, or of a string's inside */
    int length;
} token;

typedef struct lexer {
    const char *at;
    int line;
} lexer;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void step(lexer *lex) {
    if (*lex->at == '\n') lex->line++;
    if (*lex->at) lex->at++;
}

/* At "[" or "[=": the level of a long bracket, or -1. */
static int bracket_level(const char *at) {
    int level = 0;
    if (*at++ != '[') return -1;
    while (*at == '=') at++, level++;
    return *at == '[' ? level : -1;
}

static void skip_long(lexer *lex, int level) {
    for (int i = 0; i < level + 2; i++) step(lex);
    while (*lex->at) {
        if (*lex->at == ']') {
            const char *at = lex->at + 1;
            int found = 0;
            while (*at == '=') at++, found++;
            if (*at == ']' && found == level) {
                for (int i = 0; i < level + 2; i++) step(lex);
                return;
            }
        }
        step(lex);
    }
}

static void skip_space(lexer *lex) {
    for (;;) {
        while (*lex->at && strchr(" \t\r\n\f\v", *lex->at)) step(lex);
        if (strncmp(lex->at, "--", 2) != 0) return;
        int level = bracket_level(lex->at + 2);
        step(lex), step(lex);
        if (level >= 0) skip_long(lex, level);
        else while (*lex->at && *lex->at != '\n') step(lex);
    }
}

static token next_token(lexer *lex) {
    skip_space(lex);
    token result = {END, lex->line, lex->at, 0};
    char c = *lex->at;
    if (!c) return result;
    int level = bracket_level(lex->at);
    if (is_letter(c)) {
        while (is_letter(*lex->at) || is_digit(*lex->at)) step(lex);
        result.type = NAME;
        result.length = (int)(lex->at - result.text);
    } else if (c == '"' || c == '\'') {
        step(lex);
        result.text = lex->at;
        while (*lex->at && *lex->at != c && *lex->at != '\n') {
            if (*lex->at == '\\') step(lex);
            step(lex);
        }
        result.type = STRING;
        result.length = (int)(lex->at - result.text);
        step(lex);
    } else if (level >= 0) {
        skip_long(lex, level);
        result.type = STRING;
    } else if (strchr("{}[](),;", c)) {
        step(lex);
        result.type = c;
    } else if (c == '=') {
        bool is_comparison = lex->at[1] == '=';
        step(lex);
        if (is_comparison) step(lex);
        result.type = is_comparison ? OTHER : '=';
    } else {
        while (is_digit(*lex->at)) step(lex);
        if (lex->at == result.text) step(lex);
        result.type = OTHER;
    }
    return result;
}

static bool is_text(const token *t, int type, const char *text) {
    return t->type == type && (int)strlen(text) == t->length && strncmp(t->text, text, (size_t)t->length) == 0;
}

/* Only tables of `kind` whose constructor stands in `line`; kind NULL: every table. 0 when the key is not there, else *end is
 * behind its "=". */
static int find_key(const char *source, int line, const char *kind, const char *key, lexer *end) {
    lexer lex = {source, 1};
    while (lex.line < line && *lex.at) step(&lex);
    bool wanted[DEEPEST] = {false};
    int depth = 0;
    token before[4] = {{0}}; /* the last four tokens, newest first */
    for (;;) {
        token t = next_token(&lex);
        if (t.type == END) return 0;
        if (t.type == '{') {
            const token *name = &before[0];
            if (name->type == '(') name++;    /* kind ({ */
            if (name->type == STRING) name++; /* kind "name" { */
            bool matches = !kind || (is_text(name, NAME, kind) && name->line == line);
            if (++depth < DEEPEST) wanted[depth] = matches;
        } else if (t.type == '}') {
            if (depth > 0) depth--;
        } else if (t.type == '=' && depth > 0 && depth < DEEPEST && wanted[depth]) {
            *end = lex;
            if (is_text(&before[0], NAME, key) && strchr("{,;", before[1].type)) return before[0].line;
            if (before[0].type == ']' && is_text(&before[1], STRING, key)) return before[1].line;
        }
        memmove(before + 1, before, sizeof before - sizeof *before);
        before[0] = t;
    }
}

static int locate(const char *source, int line, const char *kind, const char *key, lexer *end) {
    *end = (lexer){"", line};
    if (!source || line <= 0) return line;
    int found = find_key(source, line, kind, key, end);
    if (!found) found = find_key(source, line, NULL, key, end);
    if (!found) *end = (lexer){"", line};
    return found ? found : line;
}

int pw_locate_key(const char *source, int line, const char *kind, const char *key) {
    lexer end;
    return locate(source, line, kind, key, &end);
}

void pw_locate_items(const char *source, int line, const char *kind, const char *key, int *lines, uint32_t count) {
    lexer lex;
    int first = locate(source, line, kind, key, &lex), depth = 0;
    for (uint32_t i = 0; i < count; i++) lines[i] = first;
    bool at_start = true;
    if (next_token(&lex).type != '{') return;
    for (uint32_t i = 0; i < count;) {
        token t = next_token(&lex);
        if (t.type == END || (depth == 0 && t.type == '}')) return;
        if (depth == 0 && (t.type == ',' || t.type == ';')) {
            at_start = true;
            i++;
            continue;
        }
        if (at_start) lines[i] = t.line;
        at_start = false;
        depth += strchr("{([", t.type) != NULL;
        depth -= depth > 0 && strchr("})]", t.type) != NULL;
    }
}
