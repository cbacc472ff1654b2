#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/report.h"
#include "sim/text.h"

const char *pw_report_value(const pw_field *field, const void *description, char *text, size_t size) {
    const char *at = (const char *)description + field->offset, *string;
    double number;
    int64_t whole;
    bool flag;
    int choice;
    void *pointer;
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
    case PW_FIELD_POINTER:
        memcpy(&pointer, at, sizeof pointer);
        if (pointer) snprintf(text, size, "o.%s", field->record->name);
        break;
    default: snprintf(text, size, "o.%s", field->record->name);
    }
    return text;
}
