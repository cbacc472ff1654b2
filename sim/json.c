#include "sim/json.h"

#include <math.h>
#include <string.h>

void pw_json_begin(pw_json *json, pw_file *file) {
    memset(json, 0, sizeof *json);
    json->file = file;
}

static void new_line(pw_json *json) {
    pw_file_write(json->file, "\n", 1);
    for (int i = 0; i < json->depth; i++) pw_file_write(json->file, "  ", 2);
}

/* Length of the well-formed UTF-8 character at text, or 0 (Unicode, table 3-7). */
static size_t character(const unsigned char *text) {
    unsigned char lead = text[0], low = 0x80, high = 0xBF;
    size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (size_t i = 1; i < length; i++, low = 0x80, high = 0xBF)
        if (text[i] < low || text[i] > high) return 0;
    return length;
}

static void quoted(pw_file *file, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    pw_file_write(file, "\"", 1);
    while (*at) {
        size_t length = character(at);
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
