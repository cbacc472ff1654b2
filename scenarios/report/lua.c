#include "scenarios/report/lua.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void pw_report_lua_text(pw_file *file, const char *text) {
    pw_file_text(file, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') pw_file_text(file, "\\");
        if ((unsigned char)*text < 0x20) pw_file_print(file, "\\%03d", *text);
        else pw_file_write(file, text, 1);
    }
    pw_file_text(file, "\"");
}

static size_t size_of(const pw_field *field) {
    switch (field->type) {
    case PW_FIELD_BOOL: return sizeof(bool);
    case PW_FIELD_CHOICE: return sizeof(int);
    case PW_FIELD_NUMBER: return sizeof(double);
    case PW_FIELD_INTEGER: return sizeof(int64_t);
    default: return 0;
    }
}

static bool is_default(const pw_field *field, const void *description, const void *defaults) {
    const char *at = (const char *)description + field->offset;
    if (field->type == PW_FIELD_NUMBER) {
        double number;
        memcpy(&number, at, sizeof number);
        if (isnan(number)) return true;
    }
    if (field->type == PW_FIELD_TEXT) {
        const char *text;
        memcpy(&text, at, sizeof text);
        return !text || !*text;
    }
    return size_of(field) == 0 || memcmp(at, (const char *)defaults + field->offset, size_of(field)) == 0;
}

/* Texts, numbers and switches; a number with a unit in the unit whose factor is 1. */
static void put_value(pw_file *file, const pw_field *field, const void *description) {
    const char *at = (const char *)description + field->offset, *text;
    double number;
    int64_t whole;
    int choice;
    bool flag;
    switch (field->type) {
    case PW_FIELD_NUMBER: memcpy(&number, at, sizeof number), pw_file_number(file, number); break;
    case PW_FIELD_INTEGER: memcpy(&whole, at, sizeof whole), pw_file_print(file, "%" PRId64, whole); break;
    case PW_FIELD_BOOL: memcpy(&flag, at, sizeof flag), pw_file_text(file, flag ? "true" : "false"); break;
    case PW_FIELD_CHOICE: memcpy(&choice, at, sizeof choice), pw_file_print(file, "\"%s\"", field->choices[choice]); break;
    default: memcpy(&text, at, sizeof text), pw_report_lua_text(file, text);
    }
    for (const pw_unit_name *name = pw_unit_names(); field->unit != PW_UNIT_NONE && name->name; name++)
        if (name->unit == field->unit && name->factor == 1) {
            pw_file_print(file, " * u.%s", name->name);
            break;
        }
}

void pw_report_lua_fields(pw_file *file, const pw_kind *kind, const void *description, pw_arena *arena, const char *indent) {
    void *defaults = pw_arena_alloc(arena, kind->size);
    if (!defaults || pw_description_defaults(kind, defaults, arena, NULL) != PW_OK) return;
    for (const pw_field *field = kind->fields; field->name; field++) {
        if (is_default(field, description, defaults)) continue;
        pw_file_print(file, "%s%s = ", indent, field->name);
        put_value(file, field, description);
        pw_file_text(file, ",\n");
    }
}
