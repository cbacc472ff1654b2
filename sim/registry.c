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

static const char *wanted_text(const pw_field *field) {
    switch (field->type) {
    case PW_FIELD_NUMBER: return "a number";
    case PW_FIELD_INTEGER: return "a whole number";
    case PW_FIELD_BOOL: return "true or false";
    case PW_FIELD_TEXT: return "a text";
    case PW_FIELD_CHOICE: return "one of its names";
    default: return field->record->name;
    }
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

const char *pw_field_range_text(const pw_field *field, char *text, size_t size) {
    char low[64], high[64];
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

static pw_status wrong_type(const pw_kind *kind, const pw_field *field, const char *given, const char *file, int line,
                            pw_error *error) {
    char hint[512] = "", names[400];
    if (field->type == PW_FIELD_CHOICE)
        snprintf(hint, sizeof hint, "choose one of: %s", list_names(field->choices, names, sizeof names));
    else if (is_number(field)) snprintf(hint, sizeof hint, "write for example %s", pw_unit_example(field->unit));
    else if (field->record) snprintf(hint, sizeof hint, "its fields: %s", list_fields(field->record, names, sizeof names));
    return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s takes %s, not %s", kind->name, field->name,
                   wanted_text(field), given);
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
    default: {
        char hint[512], fields[480];
        snprintf(hint, sizeof hint, "set one of its fields: %s", list_fields(field->record, fields, sizeof fields));
        return pw_fail(error, PW_BAD_INPUT, file, line, hint, "%s.%s is a group of fields, not one value", kind->name,
                       field->name);
    }
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
    default: break; /* false and NULL are there already */
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

static pw_status unknown_field(const pw_kind *kind, const char *name, const char *path, pw_error *error) {
    char hint[700], fields[600];
    const char *nearest = pw_kind_nearest(kind, name);
    if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else snprintf(hint, sizeof hint, "its fields: %s", list_fields(kind, fields, sizeof fields));
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s: %s has no field '%s'", path, kind->name, name);
}

pw_status pw_description_set_path(const pw_kind *kind, void *description, const char *path, const char *text,
                                  pw_arena *arena, pw_error *error) {
    const char *at = path;
    for (;;) {
        char name[64];
        size_t length = strcspn(at, ".");
        if (length == 0 || length >= sizeof name)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a path is written field.field, e.g. parallel.tensor",
                           "'%.200s' is not a path of fields", path);
        memcpy(name, at, length);
        name[length] = '\0';
        const pw_field *field = pw_kind_field(kind, name);
        if (!field) return unknown_field(kind, name, path, error);
        at += length;
        if (!*at) return pw_field_parse(kind, field, description, text, arena, NULL, 0, error);
        at++;
        if (field->type == PW_FIELD_RECORD) {
            description = place_of(field, description);
        } else if (field->type == PW_FIELD_POINTER) {
            void *shared, *own;
            memcpy(&shared, place_of(field, description), sizeof shared);
            if (!shared)
                return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s: %s.%s is not given, so it has no fields to set",
                               path, kind->name, field->name);
            own = pw_arena_alloc(arena, field->record->size);
            if (!own) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for %s", path);
            memcpy(own, shared, field->record->size);
            memcpy(place_of(field, description), &own, sizeof own);
            description = own;
        } else {
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s: %s.%s is one value and has no fields", path,
                           kind->name, field->name);
        }
        kind = field->record;
    }
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
    default: return PW_OK;
    }
}

static pw_status check_all(const pw_kind *kind, const void *description, const char *file, int line, int depth,
                           pw_error *error) {
    PW_CHECK(depth < DEEPEST);
    for (const pw_field *field = kind->fields; field->name; field++) {
        PW_TRY(check_field(kind, field, description, file, line, error));
        const void *inner = NULL;
        if (field->type == PW_FIELD_RECORD) inner = value_of(field, description);
        else if (field->type == PW_FIELD_POINTER) memcpy(&inner, value_of(field, description), sizeof inner);
        if (inner) PW_TRY(check_all(field->record, inner, file, line, depth + 1, error));
    }
    return kind->check ? kind->check(description, file, line, error) : PW_OK;
}

pw_status pw_description_check(const pw_kind *kind, const void *description, const char *file, int line,
                               pw_error *error) {
    return check_all(kind, description, file, line, 0, error);
}
