/* The part of TOML 1.0 that configuration files of frameworks use: tables, dotted tables, plain keys, one-line texts, numbers,
 * switches, and lists of them over one or more lines. What else there is (inline tables, arrays of tables, texts over
 * several lines, dates) is refused. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "models/import/settings.h"
#include "sim/file.h"

enum { LARGEST_FILE = 4 << 20, LONGEST_NAME = 200, LONGEST_VALUE = 2000 };

typedef struct reader {
    const char *at, *path;
    int line;
    char section[LONGEST_NAME];
    pw_settings *settings;
    pw_error *error;
} reader;

#define REFUSE(r, hint, ...) return pw_fail((r)->error, PW_BAD_INPUT, (r)->path, (r)->line, hint, __VA_ARGS__)

static void skip_blanks(reader *r) { r->at += strspn(r->at, " \t"); }
static void skip_comment(reader *r) {
    skip_blanks(r);
    if (*r->at == '#') r->at += strcspn(r->at, "\n");
    if (*r->at == '\r') r->at++;
}

static pw_status end_line(reader *r) {
    skip_comment(r);
    if (*r->at == '\0') return PW_OK;
    if (*r->at != '\n') REFUSE(r, NULL, "nothing more is expected on this line, but there is '%.20s'", r->at);
    r->at++;
    r->line++;
    return PW_OK;
}

static pw_status read_key(reader *r, char *key, size_t size) {
    size_t used = 0;
    while (isalnum((unsigned char)*r->at) || (*r->at && strchr("_-.", *r->at))) {
        if (used + 1 >= size) REFUSE(r, NULL, "the name is too long");
        key[used++] = *r->at++;
    }
    key[used] = '\0';
    if (!used) REFUSE(r, "names are letters, digits, '_' and '-'", "a name is expected, not '%.20s'", r->at);
    return PW_OK;
}

static pw_status append(reader *r, char *text, size_t *used, char c) {
    if (*used + 1 >= LONGEST_VALUE) REFUSE(r, NULL, "the value is too long");
    text[(*used)++] = c;
    text[*used] = '\0';
    return PW_OK;
}

static pw_status read_text(reader *r, char *text, size_t *used) {
    char quote = *r->at++;
    if (r->at[0] == quote && r->at[1] == quote) REFUSE(r, "write it on one line", "a text over several lines is not read");
    while (*r->at != quote) {
        if (*r->at == '\0' || *r->at == '\n') REFUSE(r, NULL, "the text has no end");
        if (*r->at == '\\' && quote == '"') r->at++;
        PW_TRY(append(r, text, used, *r->at++));
    }
    r->at++;
    return PW_OK;
}

static pw_status read_plain(reader *r, char *text, size_t *used) {
    size_t length = strcspn(r->at, " \t\r\n,]#");
    if (!length) REFUSE(r, NULL, "a value is missing");
    if (*r->at == '{') REFUSE(r, "write [section.name] instead", "an inline table is not read");
    for (size_t i = 0; i < length; i++)
        if (r->at[i] != '_') PW_TRY(append(r, text, used, r->at[i])); /* 4_096 */
    r->at += length;
    return PW_OK;
}

static pw_status read_item(reader *r, char *text, size_t *used) {
    return *r->at == '"' || *r->at == '\'' ? read_text(r, text, used) : read_plain(r, text, used);
}

static pw_status read_list(reader *r, char *text, size_t *used, int *count) {
    r->at++;
    for (*count = 0;;) {
        for (skip_comment(r); *r->at == '\n' || *r->at == ','; skip_comment(r)) r->line += *r->at++ == '\n';
        if (*r->at == ']') break;
        if (*r->at == '\0') REFUSE(r, NULL, "the list has no end");
        if (*r->at == '[') REFUSE(r, NULL, "a list in a list is not read");
        if (*count) PW_TRY(append(r, text, used, ' '));
        PW_TRY(read_item(r, text, used));
        ++*count;
    }
    r->at++;
    return PW_OK;
}

static pw_status read_section(reader *r) {
    r->at++;
    if (*r->at == '[') REFUSE(r, NULL, "an array of tables is not read");
    skip_blanks(r);
    PW_TRY(read_key(r, r->section, sizeof r->section));
    skip_blanks(r);
    if (*r->at != ']') REFUSE(r, NULL, "a section ends with ']'");
    r->at++;
    return end_line(r);
}

static pw_status read_setting(reader *r) {
    char key[LONGEST_NAME], name[2 * LONGEST_NAME], value[LONGEST_VALUE] = "";
    size_t used = 0;
    pw_setting setting = {.name = name, .value = value, .file = r->path, .line = r->line, .values = 1};
    PW_TRY(read_key(r, key, sizeof key));
    skip_blanks(r);
    if (*r->at != '=') REFUSE(r, "write key = value", "'=' is missing behind '%s'", key);
    r->at++;
    skip_blanks(r);
    if (*r->at == '[') PW_TRY(read_list(r, value, &used, &setting.values));
    else PW_TRY(read_item(r, value, &used));
    snprintf(name, sizeof name, "%s%s%s", r->section, *r->section ? "." : "", key);
    PW_TRY(pw_settings_add(r->settings, &setting, r->error));
    return end_line(r);
}

pw_status pw_settings_toml(pw_settings *settings, const char *path, pw_error *error) {
    char *text;
    size_t size;
    PW_TRY(pw_file_read(path, LARGEST_FILE, NULL, &text, &size, error));
    reader r = {.at = text, .path = path, .line = 1, .settings = settings, .error = error};
    pw_status status = PW_OK;
    if (strlen(text) != size) status = pw_fail(error, PW_BAD_INPUT, path, 0, NULL, "this is no text");
    while (status == PW_OK && *r.at) {
        skip_blanks(&r);
        if (*r.at == '[') status = read_section(&r);
        else if (*r.at && strchr("#\r\n", *r.at)) status = end_line(&r);
        else if (*r.at) status = read_setting(&r);
    }
    pw_free(NULL, text, size + 1);
    return status;
}
