#include "sim/json.h"

#include <math.h>
#include <string.h>

#include "sim/text.h"

void pw_json_begin(pw_json *json, pw_file *file) {
    memset(json, 0, sizeof *json);
    json->file = file;
}

static void new_line(pw_json *json) {
    pw_file_write(json->file, "\n", 1);
    for (int i = 0; i < json->depth; i++) pw_file_write(json->file, "  ", 2);
}

static void quoted(pw_file *file, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    pw_file_write(file, "\"", 1);
    while (*at) {
        size_t length = pw_text_character((const char *)at);
        if (length == 0) {
            pw_file_text(file, "\xEF\xBF\xBD");
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            pw_file_print(file, "\\%c", *at);
        } else if (*at == '\n') {
            pw_file_text(file, "\\n");
        } else if (*at == '\t') {
            pw_file_text(file, "\\t");
        } else if (*at < 0x20 || *at == 0x7F) {
            pw_file_print(file, "\\u%04x", *at);
        } else {
            pw_file_write(file, at, length);
        }
        at += length;
    }
    pw_file_write(file, "\"", 1);
}

static void start_value(pw_json *json, const char *key) {
    if (json->depth == 0) {
        PW_CHECK(!json->done && !key);
        json->done = true;
        return;
    }
    int at = json->depth - 1;
    PW_CHECK((key != NULL) == (json->open[at] == '{'));
    if (!json->empty[at]) pw_file_write(json->file, ",", 1);
    json->empty[at] = false;
    new_line(json);
    if (!key) return;
    quoted(json->file, key);
    pw_file_write(json->file, ": ", 2);
}

static void finish_value(pw_json *json) {
    if (json->depth == 0) pw_file_write(json->file, "\n", 1);
}

static void open_group(pw_json *json, const char *key, char bracket) {
    start_value(json, key);
    PW_CHECK(json->depth < PW_JSON_DEPTH);
    json->open[json->depth] = bracket;
    json->empty[json->depth++] = true;
    pw_file_write(json->file, &bracket, 1);
}

void pw_json_object(pw_json *json, const char *key) { open_group(json, key, '{'); }
void pw_json_array(pw_json *json, const char *key) { open_group(json, key, '['); }

void pw_json_end(pw_json *json) {
    PW_CHECK(json->depth > 0);
    int at = --json->depth;
    if (!json->empty[at]) new_line(json);
    pw_file_write(json->file, json->open[at] == '{' ? "}" : "]", 1);
    finish_value(json);
}

void pw_json_null(pw_json *json, const char *key) {
    start_value(json, key);
    pw_file_text(json->file, "null");
    finish_value(json);
}

void pw_json_text(pw_json *json, const char *key, const char *text) {
    if (!text) {
        pw_json_null(json, key);
        return;
    }
    start_value(json, key);
    quoted(json->file, text);
    finish_value(json);
}

void pw_json_number(pw_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        pw_json_null(json, key);
        return;
    }
    start_value(json, key);
    pw_file_number(json->file, value);
    finish_value(json);
}

void pw_json_integer(pw_json *json, const char *key, int64_t value) {
    start_value(json, key);
    pw_file_print(json->file, "%lld", (long long)value);
    finish_value(json);
}

void pw_json_bool(pw_json *json, const char *key, bool value) {
    start_value(json, key);
    pw_file_text(json->file, value ? "true" : "false");
    finish_value(json);
}
