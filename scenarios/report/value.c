#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/report.h"
#include "sim/text.h"

/* "12, 14, 14, 12"; what does not fit is counted: "12, 14, ... (96 items)". */
static void list_text(const pw_field *field, const void *description, char *text, size_t size) {
    pw_list list = pw_field_list(field, description);
    size_t used = 0;
    if (list.items && list.count == 0) snprintf(text, size, "empty");
    for (uint32_t i = 0; i < list.count; i++) {
        char name[PW_ITEM_NAME], one[128];
        pw_field item = pw_field_item(field, i, name);
        pw_report_value(&item, pw_list_at(field, list, i), one, sizeof one);
        if (used + strlen(one) + 2 + (i + 1 < list.count ? 24 : 0) > size) {
            snprintf(text + used, size - used, "%s... (%u items)", i ? ", " : "", (unsigned)list.count);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", one);
    }
}

const char *pw_report_value(const pw_field *field, const void *description, char *text, size_t size) {
    const char *at = (const char *)description + field->offset, *string;
    double number;
    int64_t whole;
    bool flag;
    int choice;
    const pw_kind *kind;
    snprintf(text, size, "-");
    switch (field->type) {
    case PW_FIELD_NUMBER:
        memcpy(&number, at, sizeof number);
        if (!isnan(number) && field->unit == PW_UNIT_NONE) pw_number_text(number, text, size);
        else if (!isnan(number)) pw_unit_format(number, field->unit, text, size);
        break;
    case PW_FIELD_INTEGER:
        memcpy(&whole, at, sizeof whole);
        if (whole == INT64_MIN || (whole == 0 && field->preset && !*field->preset)) break;
        if (field->unit == PW_UNIT_NONE) snprintf(text, size, "%" PRId64, whole);
        else pw_unit_format((double)whole, field->unit, text, size);
        break;
    case PW_FIELD_BOOL:
        memcpy(&flag, at, sizeof flag);
        snprintf(text, size, flag ? "true" : "false");
        break;
    case PW_FIELD_TEXT:
        memcpy(&string, at, sizeof string);
        if (string) snprintf(text, size, "%s", string);
        break;
    case PW_FIELD_CHOICE:
        memcpy(&choice, at, sizeof choice);
        if (choice >= 0) snprintf(text, size, "%s", field->choices[choice]);
        break;
    case PW_FIELD_LIST: list_text(field, description, text, size); break;
    default:
        if (pw_field_record(field, description, &kind)) snprintf(text, size, "o.%s", kind->name);
    }
    return text;
}

/* ---- JSON ---- */

static void json_value(pw_json *json, const char *key, const pw_field *field, const void *desc) {
    char text[256];
    const char *at = (const char *)desc + field->offset, *string;
    const pw_kind *kind;
    const void *inner;
    double number;
    int64_t whole;
    bool flag;
    pw_list list;
    switch (field->type) {
    case PW_FIELD_NUMBER:
        memcpy(&number, at, sizeof number);
        pw_json_number(json, key, number);
        break;
    case PW_FIELD_INTEGER:
        memcpy(&whole, at, sizeof whole);
        pw_json_integer(json, key, whole);
        break;
    case PW_FIELD_BOOL:
        memcpy(&flag, at, sizeof flag);
        pw_json_bool(json, key, flag);
        break;
    case PW_FIELD_TEXT:
        memcpy(&string, at, sizeof string);
        pw_json_text(json, key, string);
        break;
    case PW_FIELD_CHOICE:
        pw_report_value(field, desc, text, sizeof text);
        pw_json_text(json, key, strcmp(text, "-") ? text : NULL);
        break;
    case PW_FIELD_LIST:
        list = pw_field_list(field, desc);
        if (!list.items) {
            pw_json_null(json, key);
            break;
        }
        pw_json_array(json, key);
        for (uint32_t i = 0; i < list.count; i++) {
            char name[PW_ITEM_NAME];
            pw_field item = pw_field_item(field, i, name);
            json_value(json, NULL, &item, pw_list_at(field, list, i));
        }
        pw_json_end(json);
        break;
    default:
        inner = pw_field_record(field, desc, &kind);
        if (!inner) {
            pw_json_null(json, key);
            break;
        }
        pw_json_object(json, key);
        if (field->type == PW_FIELD_ONE_OF) pw_json_text(json, "kind", kind->name);
        pw_report_json_fields(json, kind, inner);
        pw_json_end(json);
    }
}

void pw_report_json_fields(pw_json *json, const pw_kind *kind, const void *description) {
    for (const pw_field *field = kind->fields; field->name; field++) json_value(json, field->name, field, description);
}
