/* Walks the field tables. A value is reached by the field's offset; every message names kind.field, what was given,
 * what is allowed and, where a name was mistyped, the nearest right one. */
#include "sim/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

enum { DEEPEST = 32 }; /* nesting of records; a cycle of pointers ends there */

static void *place_of(const pw_field *field, void *description) { return (char *)description + field->offset; }
static const void *value_of(const pw_field *field, const void *description) {
    return (const char *)description + field->offset;
}

static bool is_number(const pw_field *field) {
    return field->type == PW_FIELD_NUMBER || field->type == PW_FIELD_INTEGER;
}
static bool is_limited(const pw_field *field) { return field->minimum != 0 || field->maximum != 0; }
static bool is_required(const pw_field *field) { return field->preset == NULL; }
static bool may_be_absent(const pw_field *field) { return field->preset && !field->preset[0]; }

/* "conv, pool or norm" */
static const char *list_kinds(const pw_kind *const *kinds, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; kinds[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : kinds[i + 1] ? ", " : " or ", kinds[i]->name);
    return text;
}

static const char *items_text(const pw_field *item, char *text, size_t size) {
    switch (item->type) {
    case PW_FIELD_NUMBER: return "numbers";
    case PW_FIELD_INTEGER: return "whole numbers";
    case PW_FIELD_BOOL: return "true and false";
    case PW_FIELD_TEXT: return "texts";
    case PW_FIELD_CHOICE: return "names";
    default: return pw_field_wanted_text(item, text, size);
    }
}

const char *pw_field_wanted_text(const pw_field *field, char *text, size_t size) {
    char inner[256];
    switch (field->type) {
    case PW_FIELD_NUMBER: snprintf(text, size, "a number"); break;
    case PW_FIELD_INTEGER: snprintf(text, size, "a whole number"); break;
    case PW_FIELD_BOOL: snprintf(text, size, "true or false"); break;
    case PW_FIELD_TEXT: snprintf(text, size, "a text"); break;
    case PW_FIELD_CHOICE: snprintf(text, size, "one of its names"); break;
    case PW_FIELD_ONE_OF: snprintf(text, size, "a %s", list_kinds(field->kinds, inner, sizeof inner)); break;
    case PW_FIELD_LIST: snprintf(text, size, "a list of %s", items_text(field->item, inner, sizeof inner)); break;
    case PW_FIELD_HOOKS: snprintf(text, size, "a table of functions"); break;
    default: snprintf(text, size, "a %s", field->record->name);
    }
    return text;
}

const void *pw_field_record(const pw_field *field, const void *description, const pw_kind **kind) {
    const void *record = NULL;
    pw_one_of given;
    *kind = field->record;
    if (field->type == PW_FIELD_RECORD) return value_of(field, description);
    if (field->type == PW_FIELD_POINTER) memcpy(&record, value_of(field, description), sizeof record);
    if (field->type == PW_FIELD_ONE_OF) {
        memcpy(&given, value_of(field, description), sizeof given);
        *kind = given.kind;
        record = given.kind ? given.record : NULL;
    }
    return record;
}

const pw_kind *pw_field_kind(const pw_field *field, size_t index) {
    if (field->type == PW_FIELD_LIST) return pw_field_kind(field->item, index);
    if (field->type != PW_FIELD_ONE_OF) return index == 0 ? field->record : NULL;
    for (size_t i = 0; i < index; i++)
        if (!field->kinds[i]) return NULL;
    return field->kinds[index];
}

/* ---- lists ---- */

static size_t value_size(const pw_field *field) {
    switch (field->type) {
    case PW_FIELD_NUMBER: return sizeof(double);
    case PW_FIELD_INTEGER: return sizeof(int64_t);
    case PW_FIELD_BOOL: return sizeof(bool);
    case PW_FIELD_CHOICE: return sizeof(int);
    case PW_FIELD_TEXT: return sizeof(char *);
    case PW_FIELD_ONE_OF: return sizeof(pw_one_of);
    default: PW_CHECK(!"an item of a list is a scalar or one of several records"); return 0;
    }
}

pw_list pw_field_list(const pw_field *field, const void *description) {
    pw_list list = {NULL, 0};
    if (field->type == PW_FIELD_LIST) memcpy(&list, value_of(field, description), sizeof list);
    return list;
}

pw_field pw_field_item(const pw_field *field, uint32_t index, char name[PW_ITEM_NAME]) {
    pw_field item = *field->item;
    snprintf(name, PW_ITEM_NAME, "%.70s[%u]", field->name, (unsigned)index + 1);
    item.name = name;
    return item;
}

const void *pw_list_at(const pw_field *field, pw_list list, uint32_t index) {
    return (const char *)list.items + index * value_size(field->item);
}

/* "zero1, zero2, zero3" */
static const char *list_names(const char *const *names, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; names[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
    return text;
}

static const char *list_fields(const pw_kind *kind, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (const pw_field *field = kind->fields; field->name && used < size; field++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", field == kind->fields ? "" : ", ", field->name);
    return text;
}

const char *pw_nearest(const char *const *names, const char *name) {
    const char *best = NULL;
    unsigned least = 0;
    for (; *names; names++) {
        unsigned distance = pw_text_distance(name, *names);
        if (!pw_text_is_near(name, *names, distance) || (best && distance >= least)) continue;
        best = *names;
        least = distance;
    }
    return best;
}

const char *pw_kind_nearest(const pw_kind *kind, const char *name) {
    const char *best = NULL;
    unsigned least = 0;
    for (const pw_field *field = kind->fields; field->name; field++) {
        unsigned distance = pw_text_distance(name, field->name);
        if (!pw_text_is_near(name, field->name, distance) || (best && distance >= least)) continue;
        best = field->name;
        least = distance;
    }
    return best;
}

const pw_field *pw_kind_field(const pw_kind *kind, const char *name) {
    for (const pw_field *field = kind->fields; field->name; field++)
        if (strcmp(field->name, name) == 0) return field;
    return NULL;
}

/* A whole number in all its digits: nobody counts the zeros of 1e+18. */
static const char *whole_text(double value, char *text, size_t size) {
    if (fabs(value) < 1e15 || fabs(value) >= 1e21 || value != floor(value)) return pw_number_text(value, text, size);
    snprintf(text, size, "%.0f", value);
    return text;
}

/* A limit of the field, as the user would write it. */
static const char *limit_text(const pw_field *field, double value, char *text, size_t size) {
    bool is_count = field->type == PW_FIELD_INTEGER && field->unit == PW_UNIT_NONE && isfinite(value);
    return is_count ? whole_text(value, text, size) : pw_unit_format(value, field->unit, text, size);
}

static const char *list_range_text(const pw_field *field, char *text, size_t size) {
    char each[160];
    text[0] = '\0';
    if (is_limited(field) && field->minimum == field->maximum) snprintf(text, size, "%.0f items", field->minimum);
    else if (is_limited(field) && isinf(field->maximum)) snprintf(text, size, "at least %.0f items", field->minimum);
    else if (is_limited(field)) snprintf(text, size, "%.0f to %.0f items", field->minimum, field->maximum);
    pw_field_range_text(field->item, each, sizeof each);
    size_t used = strlen(text);
    if (*each) snprintf(text + used, size - used, "%seach %.100s", used ? ", " : "", each);
    return text;
}

const char *pw_field_range_text(const pw_field *field, char *text, size_t size) {
    char low[64], high[64];
    if (field->type == PW_FIELD_LIST) return list_range_text(field, text, size);
    text[0] = '\0';
    if (!is_number(field) || !is_limited(field)) return text;
    limit_text(field, field->minimum, low, sizeof low);
    limit_text(field, field->maximum, high, sizeof high);
    if (isinf(field->maximum)) snprintf(text, size, "at least %s", low);
    else if (isinf(field->minimum)) snprintf(text, size, "at most %s", high);
    else snprintf(text, size, "between %s and %s", low, high);
    return text;
}

/* ---- setters ---- */

/* "write stage_layers = { 8, ... }" */
static void list_hint(const pw_field *field, char *hint, size_t size) {
    const pw_field *item = field->item;
    const pw_kind *kind = pw_field_kind(item, 0);
    if (kind) snprintf(hint, size, "write %s = { o.%s { ... }, ... }", field->name, kind->name);
    else if (is_number(item)) snprintf(hint, size, "write %s = { %s, ... }", field->name, pw_unit_example(item->unit));
    else snprintf(hint, size, "write %s = { ... }", field->name);
}

static pw_status wrong_type(const pw_kind *kind, const pw_field *field, const char *given, const char *file, int line,
                            pw_error *error) {
    char hint[512] = "", names[400], wanted[300];
    if (field->type == PW_FIELD_CHOICE)
        snprintf(hint, sizeof hint, "choose one of: %s", list_names(field->choices, names, sizeof names));
    else if (is_number(field)) snprintf(hint, sizeof hint, "write for example %s", pw_unit_example(field->unit));
    else if (field->record) snprintf(hint, sizeof hint, "its fields: %s", list_fields(field->record, names, sizeof names));
    else if (field->type == PW_FIELD_LIST) list_hint(field, hint, sizeof hint);
    return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s takes %s, not %s", kind->name, field->name,
                   pw_field_wanted_text(field, wanted, sizeof wanted), given);
}

static bool is_in_range(const pw_field *field, double value) {
    return !is_limited(field) || (value >= field->minimum && value <= field->maximum);
}

static pw_status out_of_range(const pw_kind *kind, const pw_field *field, const char *given, const char *file, int line,
                              pw_error *error) {
    char range[160];
    return pw_fail(error, PW_BAD_INPUT, file, line, field->text, "%s.%s is %s, must be %s", kind->name, field->name,
                   given, pw_field_range_text(field, range, sizeof range));
}

static pw_status check_range(const pw_kind *kind, const pw_field *field, double value, const char *file, int line,
                             pw_error *error) {
    if (is_in_range(field, value)) return PW_OK;
    char given[64];
    if (field->unit == PW_UNIT_NONE) pw_number_text(value, given, sizeof given);
    else pw_unit_format(value, field->unit, given, sizeof given);
    return out_of_range(kind, field, given, file, line, error);
}

static pw_status check_integer_range(const pw_kind *kind, const pw_field *field, int64_t value, const char *file,
                                     int line, pw_error *error) {
    if (is_in_range(field, (double)value)) return PW_OK;
    char given[64];
    if (field->unit == PW_UNIT_NONE) snprintf(given, sizeof given, "%lld", (long long)value);
    else pw_unit_format((double)value, field->unit, given, sizeof given);
    return out_of_range(kind, field, given, file, line, error);
}

static pw_status store_integer(const pw_kind *kind, const pw_field *field, void *description, int64_t value,
                               const char *file, int line, pw_error *error) {
    PW_TRY(check_integer_range(kind, field, value, file, line, error));
    memcpy(place_of(field, description), &value, sizeof value);
    return PW_OK;
}

pw_status pw_field_set_number(const pw_kind *kind, const pw_field *field, void *description, double value,
                              bool has_unit, pw_unit unit, const char *file, int line, pw_error *error) {
    if (!is_number(field)) return wrong_type(kind, field, "a number", file, line, error);
    if (isnan(value))
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.%s is not a number (0/0?)", kind->name, field->name);
    if (!has_unit) unit = PW_UNIT_NONE;
    if (unit != field->unit) {
        char hint[160];
        snprintf(hint, sizeof hint, "write for example %s", pw_unit_example(field->unit));
        if (unit == PW_UNIT_NONE)
            return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s needs a unit of %s", kind->name, field->name,
                           pw_unit_text(field->unit));
        if (field->unit == PW_UNIT_NONE)
            return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s takes a plain number, not %s", kind->name,
                           field->name, pw_unit_text(unit));
        return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s is in %s, not in %s", kind->name, field->name,
                       pw_unit_text(field->unit), pw_unit_text(unit));
    }
    if (field->type == PW_FIELD_INTEGER) {
        char given[PW_NUMBER_TEXT];
        if (value != floor(value))
            return pw_fail(error, PW_BAD_INPUT, file, line, field->text, "%s.%s takes a whole number, not %s",
                           kind->name, field->name, pw_number_text(value, given, sizeof given));
        if (fabs(value) > 0x1p53) {
            if (field->unit == PW_UNIT_NONE) whole_text(value, given, sizeof given);
            else pw_unit_format(value, field->unit, given, sizeof given);
            if (!is_in_range(field, value)) return out_of_range(kind, field, given, file, line, error);
            return pw_fail(error, PW_BAD_INPUT, file, line, field->text,
                           "%s.%s is %s, beyond what a whole number holds here (2^53)", kind->name, field->name, given);
        }
        return store_integer(kind, field, description, (int64_t)value, file, line, error);
    }
    PW_TRY(check_range(kind, field, value, file, line, error));
    memcpy(place_of(field, description), &value, sizeof value);
    return PW_OK;
}

pw_status pw_field_set_bool(const pw_kind *kind, const pw_field *field, void *description, bool value,
                            const char *file, int line, pw_error *error) {
    if (field->type != PW_FIELD_BOOL) return wrong_type(kind, field, value ? "true" : "false", file, line, error);
    memcpy(place_of(field, description), &value, sizeof value);
    return PW_OK;
}

static pw_status set_choice(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                            const char *file, int line, pw_error *error) {
    for (int i = 0; field->choices[i]; i++) {
        if (strcmp(field->choices[i], text) != 0) continue;
        memcpy(place_of(field, description), &i, sizeof i);
        return PW_OK;
    }
    char hint[512], names[400];
    const char *nearest = pw_nearest(field->choices, text);
    if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else snprintf(hint, sizeof hint, "choose one of: %s", list_names(field->choices, names, sizeof names));
    return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s has no choice '%s'", kind->name, field->name, text);
}

pw_status pw_field_set_text(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                            pw_arena *arena, const char *file, int line, pw_error *error) {
    if (field->type == PW_FIELD_CHOICE) return set_choice(kind, field, description, text, file, line, error);
    if (field->type != PW_FIELD_TEXT) {
        char given[160];
        snprintf(given, sizeof given, "the text '%.100s'", text);
        return wrong_type(kind, field, given, file, line, error);
    }
    const char *copy = pw_arena_text(arena, text);
    if (!copy) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory left for %s.%s", kind->name, field->name);
    memcpy(place_of(field, description), &copy, sizeof copy);
    return PW_OK;
}

pw_status pw_field_set_record(const pw_kind *kind, const pw_field *field, void *description, pw_one_of value,
                              const char *file, int line, pw_error *error) {
    char hint[400], wanted[300], names[256];
    const pw_kind *permitted = NULL;
    if (field->type != PW_FIELD_LIST)
        for (size_t i = 0; !permitted && pw_field_kind(field, i); i++)
            if (pw_field_kind(field, i) == value.kind) permitted = value.kind;
    if (!permitted && field->type != PW_FIELD_LIST && pw_field_kind(field, 0)) {
        if (pw_field_kind(field, 1)) snprintf(hint, sizeof hint, "write o.%s { ... }", list_kinds(field->kinds, names, sizeof names));
        else snprintf(hint, sizeof hint, "write %s = o.%s { ... }", field->name, pw_field_kind(field, 0)->name);
        return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s takes %s, not a %s", kind->name, field->name,
                       pw_field_wanted_text(field, wanted, sizeof wanted), value.kind->name);
    }
    if (!permitted) {
        char given[128];
        snprintf(given, sizeof given, "a %.100s", value.kind->name);
        return wrong_type(kind, field, given, file, line, error);
    }
    if (field->type == PW_FIELD_ONE_OF) memcpy(place_of(field, description), &value, sizeof value);
    else if (field->type == PW_FIELD_POINTER) memcpy(place_of(field, description), &value.record, sizeof value.record);
    else memcpy(place_of(field, description), value.record, field->record->size);
    return PW_OK;
}

static pw_status check_count(const pw_kind *kind, const pw_field *field, uint64_t count, const char *file, int line,
                             pw_error *error) {
    pw_field counted = *field;
    char range[160];
    bool in_range = is_in_range(field, (double)count);
    if (in_range && count <= PW_LIST_MOST) return PW_OK;
    if (in_range) counted.minimum = 0, counted.maximum = PW_LIST_MOST;
    if (counted.minimum == counted.maximum) snprintf(range, sizeof range, "%.0f", counted.minimum);
    else counted.type = PW_FIELD_INTEGER, counted.unit = PW_UNIT_NONE, pw_field_range_text(&counted, range, sizeof range);
    return pw_fail(error, PW_BAD_INPUT, file, line, field->text, "%s.%s has %llu item%s, must have %s", kind->name,
                   field->name, (unsigned long long)count, count == 1 ? "" : "s", range);
}

static void clear_field(const pw_field *field, void *description);

pw_status pw_field_set_list(const pw_kind *kind, const pw_field *field, void *description, uint64_t count,
                            pw_arena *arena, const char *file, int line, void **items, pw_error *error) {
    if (field->type != PW_FIELD_LIST) return wrong_type(kind, field, "a list", file, line, error);
    PW_TRY(check_count(kind, field, count, file, line, error));
    size_t size = value_size(field->item);
    *items = pw_arena_alloc(arena, (size_t)count * size + 1); /* an empty list has items too */
    if (!*items) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory left for %s.%s", kind->name, field->name);
    for (size_t i = 0; i < count; i++) clear_field(field->item, (char *)*items + i * size);
    pw_list list = {*items, (uint32_t)count};
    memcpy(place_of(field, description), &list, sizeof list);
    return PW_OK;
}

/* Text has no Lua: "400 * u.Gbps" is written 400 Gbps there. */
static void plain_example(pw_unit unit, char *text, size_t size) {
    const char *example = pw_unit_example(unit), *star = strstr(example, " * u.");
    if (star) snprintf(text, size, "%.*s %s", (int)(star - example), example, star + 5);
    else snprintf(text, size, "%s", example);
}

static pw_status parse_number(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                              const char *file, int line, pw_error *error) {
    double value;
    bool has_unit;
    pw_unit unit;
    pw_error inner;
    const char *end;
    int64_t whole;
    if (field->type == PW_FIELD_INTEGER && field->unit == PW_UNIT_NONE && pw_text_integer(text, &end, &whole) && !*end)
        return store_integer(kind, field, description, whole, file, line, error);
    pw_status status = pw_unit_parse(text, field->unit, &value, &has_unit, &unit, &inner);
    char hint[160] = "write for example ";
    plain_example(field->unit, hint + strlen(hint), sizeof hint - strlen(hint));
    if (status != PW_OK)
        return pw_fail(error, status, file, line, inner.hint[0] ? inner.hint : hint, "%s.%s: %s", kind->name,
                       field->name, inner.what);
    status = pw_field_set_number(kind, field, description, value, has_unit, unit, file, line, error);
    if (status == PW_BAD_INPUT && error && strstr(error->hint, " * u."))
        snprintf(error->hint, sizeof error->hint, "%s", hint);
    return status;
}

static pw_status is_group(const pw_kind *kind, const pw_field *field, const char *file, int line, pw_error *error) {
    char hint[512] = "set one of its fields", fields[460];
    if (field->record)
        snprintf(hint, sizeof hint, "set one of its fields: %s", list_fields(field->record, fields, sizeof fields));
    return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s is a group of fields, not one value", kind->name,
                   field->name);
}

/* "12, 14, 14": the list is replaced only when every item is right. */
static pw_status parse_list(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                            pw_arena *arena, const char *file, int line, pw_error *error) {
    if (field->item->type == PW_FIELD_ONE_OF) {
        char hint[200];
        snprintf(hint, sizeof hint, "set a field of an item: %.90s[1].%.60s", field->name, field->item->kinds[0]->fields->name);
        return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s is a list of records, not one value", kind->name,
                       field->name);
    }
    pw_list list = {NULL, 0}; /* stands for the field until every item is right */
    pw_field whole = *field;
    void *items;
    uint64_t count = 1;
    whole.offset = 0;
    for (const char *at = text; *at; at++) count += *at == ',';
    if (!text[strspn(text, " ")]) count = 0;
    if (count > 0 || !may_be_absent(field))
        PW_TRY(pw_field_set_list(kind, &whole, &list, count, arena, file, line, &items, error));
    for (uint32_t i = 0; i < count; i++) {
        char part[256], name[PW_ITEM_NAME];
        pw_field item = pw_field_item(field, i, name);
        text += strspn(text, " ");
        size_t length = strcspn(text, ","), shown = length;
        while (shown > 0 && text[shown - 1] == ' ') shown--;
        if (shown >= sizeof part)
            return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.%s is longer than %zu letters", kind->name, name,
                           sizeof part - 1);
        memcpy(part, text, shown);
        part[shown] = '\0';
        PW_TRY(pw_field_parse(kind, &item, (char *)items + i * value_size(&item), part, arena, file, line, error));
        text += length + 1;
    }
    memcpy(place_of(field, description), &list, sizeof list);
    return PW_OK;
}

pw_status pw_field_parse(const pw_kind *kind, const pw_field *field, void *description, const char *text,
                         pw_arena *arena, const char *file, int line, pw_error *error) {
    switch (field->type) {
    case PW_FIELD_NUMBER:
    case PW_FIELD_INTEGER: return parse_number(kind, field, description, text, file, line, error);
    case PW_FIELD_BOOL:
        if (strcmp(text, "true") == 0) return pw_field_set_bool(kind, field, description, true, file, line, error);
        if (strcmp(text, "false") == 0) return pw_field_set_bool(kind, field, description, false, file, line, error);
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.%s takes true or false, not '%.100s'", kind->name,
                       field->name, text);
    case PW_FIELD_TEXT:
    case PW_FIELD_CHOICE: return pw_field_set_text(kind, field, description, text, arena, file, line, error);
    case PW_FIELD_LIST: return parse_list(kind, field, description, text, arena, file, line, error);
    case PW_FIELD_HOOKS:
        return pw_fail(error, PW_BAD_INPUT, file, line, "write it in the file: on = { alarm = function(event, sim) ... end }", "%s.%s takes functions, not text",
                       kind->name, field->name);
    default: return is_group(kind, field, file, line, error);
    }
}

/* ---- whole descriptions ---- */

static void clear_field(const pw_field *field, void *description) {
    const double unknown = (double)NAN;
    const int64_t unset = is_required(field) ? INT64_MIN : 0;
    const int no_choice = -1;
    switch (field->type) {
    case PW_FIELD_NUMBER: memcpy(place_of(field, description), &unknown, sizeof unknown); break;
    case PW_FIELD_INTEGER: memcpy(place_of(field, description), &unset, sizeof unset); break;
    case PW_FIELD_CHOICE: memcpy(place_of(field, description), &no_choice, sizeof no_choice); break;
    default: break; /* false, NULL and the empty list are there already */
    }
}

static pw_status set_defaults(const pw_kind *kind, void *description, pw_arena *arena, int depth, pw_error *error) {
    PW_CHECK(depth < DEEPEST);
    for (const pw_field *field = kind->fields; field->name; field++) {
        if (field->type == PW_FIELD_RECORD) {
            PW_TRY(set_defaults(field->record, place_of(field, description), arena, depth + 1, error));
        } else {
            clear_field(field, description);
            if (field->preset && field->preset[0])
                PW_TRY(pw_field_parse(kind, field, description, field->preset, arena, NULL, 0, error));
        }
    }
    return PW_OK;
}

pw_status pw_description_defaults(const pw_kind *kind, void *description, pw_arena *arena, pw_error *error) {
    memset(description, 0, kind->size);
    return set_defaults(kind, description, arena, 0, error);
}

static pw_status missing(const pw_kind *kind, const pw_field *field, const char *file, int line, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, file, line, field->text, "%s.%s is missing", kind->name, field->name);
}

static pw_status check_field(const pw_kind *kind, const pw_field *field, const void *description, const char *file,
                             int line, pw_error *error) {
    const void *value = value_of(field, description);
    double number;
    int64_t whole;
    int choice;
    const void *pointer;
    const pw_kind *given;
    pw_list list;
    switch (field->type) {
    case PW_FIELD_NUMBER:
        memcpy(&number, value, sizeof number);
        if (isnan(number)) return may_be_absent(field) ? PW_OK : missing(kind, field, file, line, error);
        return check_range(kind, field, number, file, line, error);
    case PW_FIELD_INTEGER:
        memcpy(&whole, value, sizeof whole);
        if (is_required(field) && whole == INT64_MIN) return missing(kind, field, file, line, error);
        if (may_be_absent(field) && whole == 0) return PW_OK;
        return check_integer_range(kind, field, whole, file, line, error);
    case PW_FIELD_CHOICE:
        memcpy(&choice, value, sizeof choice);
        if (choice == -1) return may_be_absent(field) ? PW_OK : missing(kind, field, file, line, error);
        for (int i = 0; field->choices[i]; i++)
            if (i == choice) return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.%s has no choice number %d", kind->name, field->name,
                       choice);
    case PW_FIELD_TEXT:
    case PW_FIELD_POINTER:
        memcpy(&pointer, value, sizeof pointer);
        return !pointer && is_required(field) ? missing(kind, field, file, line, error) : PW_OK;
    case PW_FIELD_ONE_OF:
        pointer = pw_field_record(field, description, &given);
        if (!pointer) return is_required(field) ? missing(kind, field, file, line, error) : PW_OK;
        for (size_t i = 0; field->kinds[i]; i++)
            if (field->kinds[i] == given) return PW_OK;
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "%s.%s cannot be a %s", kind->name, field->name, given->name);
    case PW_FIELD_LIST:
        list = pw_field_list(field, description);
        if (!list.items) return may_be_absent(field) ? PW_OK : missing(kind, field, file, line, error);
        return check_count(kind, field, list.count, file, line, error);
    default: return PW_OK;
    }
}

static pw_status check_all(const pw_kind *kind, const void *description, const char *file, int line, int depth,
                           pw_error *error);

static pw_status check_value(const pw_kind *kind, const pw_field *field, const void *description, const char *file,
                             int line, int depth, pw_error *error) {
    PW_TRY(check_field(kind, field, description, file, line, error));
    const pw_kind *inner_kind;
    const void *inner = pw_field_record(field, description, &inner_kind);
    if (inner) PW_TRY(check_all(inner_kind, inner, file, line, depth + 1, error));
    pw_list list = pw_field_list(field, description);
    for (uint32_t i = 0; i < list.count; i++) {
        char name[PW_ITEM_NAME];
        pw_field item = pw_field_item(field, i, name);
        PW_TRY(check_value(kind, &item, pw_list_at(field, list, i), file, line, depth, error));
    }
    return PW_OK;
}

static pw_status check_all(const pw_kind *kind, const void *description, const char *file, int line, int depth,
                           pw_error *error) {
    PW_CHECK(depth < DEEPEST);
    for (const pw_field *field = kind->fields; field->name; field++)
        PW_TRY(check_value(kind, field, description, file, line, depth, error));
    return kind->check ? kind->check(description, file, line, error) : PW_OK;
}

pw_status pw_description_check(const pw_kind *kind, const void *description, const char *file, int line,
                               pw_error *error) {
    return check_all(kind, description, file, line, 0, error);
}
