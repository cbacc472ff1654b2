/* Paths such as "job.model.layers[3].channels": each part is looked up, what is shared on the way is copied. */
#include <stdio.h>
#include <string.h>

#include "sim/registry.h"
#include "sim/text.h"

static pw_status unknown_field(const pw_kind *kind, const char *name, const char *path, pw_error *error) {
    char hint[700];
    const char *nearest = pw_kind_nearest(kind, name);
    if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else {
        size_t used = (size_t)snprintf(hint, sizeof hint, "its fields:");
        for (const pw_field *field = kind->fields; field->name && used < sizeof hint; field++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", field == kind->fields ? "" : ",", field->name);
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s: %s has no field '%s'", path, kind->name, name);
}

static pw_status no_path(const char *path, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a path is written field.field, e.g. parallel.tensor, and layers[3] is an item",
                   "'%.200s' is not a path of fields", path);
}

static pw_status no_memory(const char *path, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for %.200s", path);
}

/* A copy of the list's items in the arena takes their place. */
static char *own_items(const pw_field *field, void *description, pw_arena *arena) {
    pw_list list = pw_field_list(field, description);
    size_t size = list.count ? (size_t)((const char *)pw_list_at(field, list, 1) - (const char *)list.items) : 0;
    pw_list own = {pw_arena_alloc(arena, list.count * size + 1), list.count};
    if (!own.items) return NULL;
    memcpy((char *)(uintptr_t)own.items, list.items, list.count * size);
    memcpy((char *)description + field->offset, &own, sizeof own);
    return (char *)(uintptr_t)own.items;
}

/* At "[3]": goes from the list to its item. */
static pw_status reach_item(const char *path, const char **at, pw_arena *arena, pw_reached *reached, pw_error *error) {
    const pw_field field = reached->field;
    const char *end;
    char hint[80] = "";
    int64_t index;
    if (!pw_text_integer(*at + 1, &end, &index) || *end != ']') return no_path(path, error);
    *at = end + 1;
    if (field.type != PW_FIELD_LIST)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s: %s.%s is no list", path, reached->kind->name, field.name);
    pw_list list = pw_field_list(&field, reached->description);
    if (index < 1 || index > (int64_t)list.count) {
        if (list.count) snprintf(hint, sizeof hint, "items are counted from 1; the last is [%u]", (unsigned)list.count);
        else snprintf(hint, sizeof hint, "--set changes items; write the list in the file first");
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s: %s.%s has %u item%s, none is [%lld]", path,
                       reached->kind->name, field.name, (unsigned)list.count, list.count == 1 ? "" : "s", (long long)index);
    }
    char *items = own_items(&field, reached->description, arena);
    if (!items) return no_memory(path, error);
    uint32_t place = (uint32_t)(index - 1);
    reached->field = pw_field_item(&field, place, reached->name);
    reached->description = items + ((const char *)pw_list_at(&field, (pw_list){items, list.count}, place) - items);
    return PW_OK;
}

/* Goes into the record of what was reached. */
static pw_status enter(const char *path, pw_arena *arena, pw_reached *reached, pw_error *error) {
    const pw_field *field = &reached->field;
    const pw_kind *kind;
    const void *record = pw_field_record(field, reached->description, &kind);
    char hint[160];
    if (field->type == PW_FIELD_LIST) {
        snprintf(hint, sizeof hint, "say which item: %.80s[1]", field->name);
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s: %s.%s is a list and has no fields", path,
                       reached->kind->name, field->name);
    }
    if (!pw_field_kind(field, 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s: %s.%s is one value and has no fields", path,
                       reached->kind->name, field->name);
    if (!record && pw_field_kind(field, 1)) {
        snprintf(hint, sizeof hint, "say in the file which kind: %.40s = o.%.40s { ... }", field->name,
                 pw_field_kind(field, 0)->name);
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s: %s.%s is not given, so it has no fields to set", path,
                       reached->kind->name, field->name);
    }
    void *own = (char *)reached->description + field->offset; /* of an embedded record */
    if (field->type != PW_FIELD_RECORD) {
        if (!record) kind = pw_field_kind(field, 0);
        own = pw_arena_alloc(arena, kind->size);
        if (!own) return no_memory(path, error);
        if (record) memcpy(own, record, kind->size);
        else PW_TRY(pw_description_defaults(kind, own, arena, error));
        void *reference = (char *)reached->description + field->offset;
        PW_TRY(pw_field_set_record(reached->kind, field, reached->description, (pw_one_of){kind, own}, NULL, 0, error));
        if (!record && !reached->made) {
            reached->made = reference;
            reached->made_bytes = field->type == PW_FIELD_POINTER ? sizeof(void *) : sizeof(pw_one_of);
        }
    }
    reached->kind = kind;
    reached->description = own;
    return PW_OK;
}

/* A path that leads nowhere, or a value that is refused, leaves no record behind. */
static pw_status undo(const pw_reached *reached, pw_status status) {
    if (status != PW_OK && reached->made) memset(reached->made, 0, reached->made_bytes);
    return status;
}

static pw_status reach(const char *path, pw_arena *arena, pw_reached *reached, pw_error *error) {
    for (const char *at = path;; at++) {
        char name[64];
        size_t length = strcspn(at, ".[");
        if (length == 0 || length >= sizeof name) return no_path(path, error);
        memcpy(name, at, length);
        name[length] = '\0';
        const pw_field *field = pw_kind_field(reached->kind, name);
        if (!field) return unknown_field(reached->kind, name, path, error);
        reached->field = *field;
        at += length;
        if (*at == '[') PW_TRY(reach_item(path, &at, arena, reached, error));
        if (!*at) return PW_OK;
        if (*at != '.') return no_path(path, error);
        PW_TRY(enter(path, arena, reached, error));
    }
}

pw_status pw_description_reach(const pw_kind *kind, void *description, const char *path, pw_arena *arena,
                               pw_reached *reached, pw_error *error) {
    *reached = (pw_reached){.kind = kind, .description = description};
    return undo(reached, reach(path, arena, reached, error));
}

pw_status pw_description_set_path(const pw_kind *kind, void *description, const char *path, const char *text,
                                  pw_arena *arena, pw_error *error) {
    pw_reached reached;
    PW_TRY(pw_description_reach(kind, description, path, arena, &reached, error));
    return undo(&reached, pw_field_parse(reached.kind, &reached.field, reached.description, text, arena, NULL, 0, error));
}
