/* Walks the fields of a kind in their order and takes each value from the record's table, or from an item of a list in it. */
#include "scenarios/host/fill.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/host/locate.h"
#include "sim/text.h"

enum { DEEPEST = 16 }; /* records in records */

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left"); }

/* ---- Origins ---- */

enum { FEWEST_ORIGINS = 64 };

/* The array has room for a power of two of origins, and as many chains: a network cable by cable has a million. */
static size_t origin_slot(const char *path, size_t capacity) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *path; path++) hash = (hash ^ (unsigned char)*path) * 1099511628211u;
    return (hash ^ hash >> 32) & (capacity - 1);
}

/* The newest of a path. */
static const pw_origin *find_origin(const pw_origin *origins, size_t count, const char *path) {
    size_t capacity = FEWEST_ORIGINS;
    if (!count) return NULL;
    while (capacity < count) capacity *= 2;
    for (uint32_t i = origins[origin_slot(path, capacity)].chain; i; i = origins[i - 1].next)
        if (strcmp(origins[i - 1].path, path) == 0) return &origins[i - 1];
    return NULL;
}

static void chain_origin(pw_origin *origins, size_t capacity, size_t i) {
    pw_origin *slot = &origins[origin_slot(origins[i].path, capacity)];
    origins[i].next = slot->chain;
    slot->chain = (uint32_t)i + 1;
}

const pw_origin *pw_scenario_origin(const pw_scenario *scenario, const char *path) {
    return find_origin(scenario->origins, scenario->origin_count, path);
}

pw_status pw_fill_origin(pw_filler *b, const char *path, pw_origin_kind kind, const char *file, int line,
                         const char *text) {
    if (b->origin_count == b->origin_capacity) { /* the old array stays in the arena */
        size_t grown = b->origin_capacity ? 2 * b->origin_capacity : FEWEST_ORIGINS;
        pw_origin *origins = grown <= UINT32_MAX / 2 ? pw_arena_alloc(b->arena, grown * sizeof *origins) : NULL;
        if (!origins) return no_memory(&b->error);
        memset(origins, 0, grown * sizeof *origins);
        for (size_t i = 0; i < b->origin_count; i++) {
            uint32_t chain = origins[i].chain;
            origins[i] = b->origins[i];
            origins[i].chain = chain;
            chain_origin(origins, grown, i);
        }
        b->origins = origins;
        b->origin_capacity = grown;
    }
    pw_origin *origin = &b->origins[b->origin_count];
    *origin = (pw_origin){pw_arena_text(b->arena, path), kind, pw_arena_text(b->arena, file),
                          text ? pw_arena_text(b->arena, text) : NULL, line, origin->chain, 0};
    if (!origin->path || !origin->file || (text && !origin->text)) return no_memory(&b->error);
    chain_origin(b->origins, b->origin_capacity, b->origin_count++);
    return PW_OK;
}

static void join(char *path, const char *parent, const char *name) {
    snprintf(path, PW_LONGEST_PATH, "%s%s%s", parent, *parent ? "." : "", name);
}

/* Behind "kind.layers" a message may go on to "[3]" and ".channels": the origin that lies deepest, or that of path. */
static const pw_origin *deepest_origin(const pw_origin *origins, size_t count, char path[PW_LONGEST_PATH], const char *more) {
    const pw_origin *found = find_origin(origins, count, path);
    size_t used = strlen(path);
    for (;;) {
        size_t length = 0;
        if (*more == '[') length = strspn(more + 1, "0123456789") + 2;
        else if (*more == '.') length = strspn(more + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") + 1;
        if (length < 2 || strlen(more) < length || used + length >= PW_LONGEST_PATH) return found;
        memcpy(path + used, more, length);
        path[used += length] = '\0';
        more += length;
        const pw_origin *deeper = find_origin(origins, count, path);
        if (deeper) found = deeper;
    }
}

/* Messages speak of "kind.field"; finds that field's origin. */
static void refine(const pw_origin *origins, size_t count, const pw_kind *kind, const char *parent, pw_error *error) {
    const char *best = NULL;
    char path[PW_LONGEST_PATH], spoken[128];
    const pw_origin *found = NULL;
    for (const pw_field *field = kind->fields; field->name; field++) {
        int length = snprintf(spoken, sizeof spoken, "%s.%s", kind->name, field->name);
        const char *at = strstr(error->what, spoken);
        while (at && (at[length] == '_' || (at[length] >= 'a' && at[length] <= 'z'))) at = strstr(at + 1, spoken);
        if (!at || (best && at >= best)) continue;
        join(path, parent, field->name);
        const pw_origin *origin = deepest_origin(origins, count, path, at + length);
        if (origin) best = at, found = origin;
    }
    if (!found || found->kind == PW_ORIGIN_PRESET) return;
    if (found->kind == PW_ORIGIN_OVERRIDE) {
        snprintf(error->file, sizeof error->file, "--set %s", found->text);
        error->line = 0;
    } else {
        snprintf(error->file, sizeof error->file, "%s", found->file);
        error->line = found->line;
    }
}

void pw_scenario_refine(const pw_scenario *scenario, const pw_kind *kind, const char *path, pw_error *error) {
    refine(scenario->origins, scenario->origin_count, kind, path, error);
}

/* ---- From records to structs ---- */

static int line_of(const pw_filler *b, const lua_api_record *record, const char *key) {
    return pw_locate_key(pw_script_source(b->script, record->file), record->line, record->kind->name, key);
}

/* The field list of the record at index is on top of the stack. Finds a key that is no field; of several the first in
 * alphabetical order, since the order of a table is not defined. */
static pw_status check_keys(pw_filler *b, const lua_api_record *record) {
    lua_State *L = b->L;
    const pw_kind *kind = record->kind;
    const char *unknown = NULL;
    bool has_other = false;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) != LUA_TSTRING) has_other = true;
        else {
            const char *key = lua_tostring(L, -2);
            if (!pw_kind_field(kind, key) && (!unknown || strcmp(key, unknown) < 0)) unknown = key;
        }
        lua_pop(L, 1);
    }
    if (unknown) {
        char hint[700];
        const char *near = pw_kind_nearest(kind, unknown);
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
        else {
            size_t used = (size_t)snprintf(hint, sizeof hint, "its fields:");
            for (const pw_field *field = kind->fields; field->name && used < sizeof hint; field++)
                used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", field == kind->fields ? "" : ",", field->name);
        }
        return pw_fail(&b->error, PW_BAD_INPUT, record->file, line_of(b, record, unknown), hint,
                       "%s has no field '%.200s'", kind->name, unknown);
    }
    if (has_other)
        return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line, "write field = value",
                       "a %s takes named fields; one value here has no name", kind->name);
    return PW_OK;
}

static bool is_plain_text(const char *text, size_t length) {
    if (strlen(text) != length) return false;
    for (size_t size; *text; text += size) {
        size = pw_text_character(text);
        if (size == 0 || (unsigned char)*text < 0x20 || *text == 0x7F) return false;
    }
    return true;
}

/* A value's owner and place, for messages. */
typedef struct spot {
    const pw_kind *kind;
    const char *file;
    int line;
} spot;

/* The value is on top of the stack. */
static pw_status set_record(pw_filler *b, spot at, const pw_field *field, void *desc, const char *path) {
    const lua_api_record *record = lua_api_to_record(b->L, -1);
    char what[64], wanted[300], hint[360];
    if (!record) {
        const pw_kind *first = pw_field_kind(field, 0);
        if (strchr(field->name, '[')) snprintf(hint, sizeof hint, "write o.%s { ... }", first->name);
        else snprintf(hint, sizeof hint, "write %s = o.%s { ... }", field->name, first->name);
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s takes %s, not %s", at.kind->name, field->name,
                       pw_field_wanted_text(field, wanted, sizeof wanted), lua_api_what(b->L, -1, what, sizeof what));
    }
    void *inner = (char *)desc + field->offset;
    if (field->type == PW_FIELD_RECORD && record->kind == field->record)
        return pw_fill_record(b, lua_gettop(b->L), field->record, inner, path);
    void *made = pw_arena_alloc(b->arena, record->kind->size);
    if (!made) return no_memory(&b->error);
    PW_TRY(pw_field_set_record(at.kind, field, desc, (pw_one_of){record->kind, made}, at.file, at.line, &b->error));
    return pw_fill_record(b, lua_gettop(b->L), record->kind, made, path);
}

/* A choice with the names "on" and "off" takes true and false too. */
static bool is_switch(const pw_field *field) {
    bool on = false, off = false;
    for (int i = 0; field->type == PW_FIELD_CHOICE && field->choices[i]; i++) {
        on = on || strcmp(field->choices[i], "on") == 0;
        off = off || strcmp(field->choices[i], "off") == 0;
    }
    return on && off;
}

/* The value is on top of the stack. */
static pw_status set_value(pw_filler *b, spot at, const pw_field *field, void *desc, const char *path) {
    lua_State *L = b->L;
    const pw_kind *kind = at.kind;
    const lua_api_quantity *quantity = lua_api_to_quantity(L, -1);
    if (field->type != PW_FIELD_LIST && pw_field_kind(field, 0)) return set_record(b, at, field, desc, path);
    if (quantity)
        return pw_field_set_number(kind, field, desc, quantity->value, true, quantity->unit, at.file, at.line, &b->error);
    char what[64], hint[600], type[500];
    size_t length;
    const char *text;
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        return pw_field_set_number(kind, field, desc, lua_tonumber(L, -1), false, PW_UNIT_NONE, at.file, at.line, &b->error);
    case LUA_TBOOLEAN:
        if (is_switch(field))
            return pw_field_set_text(kind, field, desc, lua_toboolean(L, -1) ? "on" : "off", b->arena, at.file, at.line,
                                     &b->error);
        return pw_field_set_bool(kind, field, desc, lua_toboolean(L, -1), at.file, at.line, &b->error);
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &length);
        if (!is_plain_text(text, length))
            return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, NULL,
                           "%s.%s holds bytes that are no UTF-8 text, or control characters", kind->name, field->name);
        return pw_field_set_text(kind, field, desc, text, b->arena, at.file, at.line, &b->error);
    default:
        snprintf(hint, sizeof hint, "it takes: %s", pw_api_type_text(field, type, sizeof type));
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s cannot be %s", kind->name, field->name,
                       lua_api_what(L, -1, what, sizeof what));
    }
}

/* The table on top of the stack is a list: its keys are 1, 2, ... count. */
static pw_status check_list(pw_filler *b, spot at, const pw_field *field, uint64_t count) {
    lua_State *L = b->L;
    uint64_t found = 0;
    bool has_other = false;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_Integer key = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (key >= 1) found += (uint64_t)key <= count ? 1 : count + 1; /* beyond a hole */
        else has_other = true;
        lua_pop(L, 1);
    }
    if (has_other || found != count)
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, "write the items one after the other: { a, b, c }",
                       "%s.%s is a list, and this one has %s", at.kind->name, field->name,
                       has_other ? "keys beside 1, 2, 3, ..." : "holes");
    return PW_OK;
}

/* The value is on top of the stack. */
static pw_status set_list(pw_filler *b, const lua_api_record *owner, spot at, const pw_field *field, void *desc,
                          const char *path) {
    lua_State *L = b->L;
    char what[64], hint[600], type[500], name[PW_ITEM_NAME], below[PW_LONGEST_PATH];
    if (lua_type(L, -1) != LUA_TTABLE) {
        const pw_kind *kind = pw_field_kind(field, 0);
        if (!kind) return set_value(b, at, field, desc, path); /* the setters refuse it */
        snprintf(hint, sizeof hint, "write %s = { o.%s { ... }, ... }", field->name, kind->name);
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s takes %s, not %s", at.kind->name, field->name,
                       pw_field_wanted_text(field, type, sizeof type), lua_api_what(L, -1, what, sizeof what));
    }
    uint64_t count = lua_rawlen(L, -1);
    void *items;
    PW_TRY(check_list(b, at, field, count));
    PW_TRY(pw_field_set_list(at.kind, field, desc, count, b->arena, at.file, at.line, &items, &b->error));
    int *lines = pw_arena_alloc(b->arena, (size_t)count * sizeof *lines + 1);
    if (!lines) return no_memory(&b->error);
    pw_locate_items(pw_script_source(b->script, owner->file), owner->line, owner->kind->name, field->name, lines,
                    (uint32_t)count);
    const pw_list list = {items, (uint32_t)count};
    for (uint32_t i = 0; i < list.count; i++) {
        pw_field item = pw_field_item(field, i, name);
        spot here = {at.kind, at.file, lines[i]};
        snprintf(below, sizeof below, "%.200s[%u]", path, (unsigned)i + 1);
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        if (item.type != PW_FIELD_ONE_OF) PW_TRY(pw_fill_origin(b, below, PW_ORIGIN_FILE, here.file, here.line, NULL));
        PW_TRY(set_value(b, here, &item, (char *)items + ((const char *)pw_list_at(field, list, i) - (const char *)items), below));
        lua_pop(L, 1);
    }
    return PW_OK;
}

/* The value is on top of the stack: a table of functions, which the registry of Lua keeps. */
static pw_status set_hooks(pw_filler *b, spot at, const pw_field *field, void *desc) {
    lua_State *L = b->L;
    pw_hooks hooks = {0};
    char what[64], hint[160];
    snprintf(hint, sizeof hint, "write %s = { %s = function(event, sim) ... end }", field->name, field->choices[0]);
    if (lua_type(L, -1) != LUA_TTABLE)
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s takes a table of functions, not %s", at.kind->name, field->name,
                       lua_api_what(L, -1, what, sizeof what));
    size_t known = 0, all = 0;
    for (int i = 0; field->choices[i]; i++) {
        int type = lua_getfield(L, -1, field->choices[i]);
        if (type != LUA_TNIL && type != LUA_TFUNCTION)
            return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s.%s is no function but %s", at.kind->name, field->name, field->choices[i],
                           lua_api_what(L, -1, what, sizeof what));
        known += type != LUA_TNIL;
        if (type == LUA_TNIL) lua_pop(L, 1);
        else hooks.function[i] = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) all++;
    if (all != known)
        return pw_fail(&b->error, PW_BAD_INPUT, at.file, at.line, hint, "%s.%s has a key that is no hook", at.kind->name, field->name);
    b->has_hooks = b->has_hooks || known > 0;
    memcpy((char *)desc + field->offset, &hooks, sizeof hooks);
    return PW_OK;
}

/* The value is on top of the stack. */
static pw_status set_field(pw_filler *b, const lua_api_record *owner, const pw_field *field, void *desc, const char *path) {
    spot at = {owner->kind, owner->file, line_of(b, owner, field->name)};
    PW_TRY(pw_fill_origin(b, path, PW_ORIGIN_FILE, at.file, at.line, NULL));
    if (field->type == PW_FIELD_LIST) return set_list(b, owner, at, field, desc, path);
    if (field->type == PW_FIELD_HOOKS) return set_hooks(b, at, field, desc);
    return set_value(b, at, field, desc, path);
}

static void hint_at_presets(const pw_filler *b, const pw_preset_kind *presets, const char *name, pw_error *error) {
    const pw_table *table = pw_catalogue_table(b->catalogue, presets->table);
    const char *names[512], *near = NULL;
    size_t count = 0;
    for (size_t row = 0; table && row < pw_table_rows(table) && count < 511; row++)
        names[count++] = pw_table_text_at(table, row, 0);
    names[count] = NULL;
    near = pw_nearest(names, name);
    if (near)
        snprintf(error->hint, sizeof error->hint, "did you mean '%s'? `podwright catalogue %s` lists them", near, presets->table);
    else
        snprintf(error->hint, sizeof error->hint, "`podwright catalogue %s` lists them; a %s of your own: o.%s { name = ..., %s = ... }",
                 presets->table, presets->kind->name, presets->kind->name, presets->kind->fields[1].name);
}

static bool is_import(const pw_preset_kind *presets, const char *name) {
    size_t length = strlen(name);
    return presets->import && length > 5 && strcmp(name + length - 5, ".json") == 0;
}

pw_status pw_fill_preset(pw_filler *b, const pw_preset_kind *presets, const char *name, void *desc) {
    PW_TRY(pw_description_defaults(presets->kind, desc, b->arena, &b->error));
    if (is_import(presets, name)) {
        pw_status imported = presets->import(b->catalogue, name, desc, b->arena, &b->notes, &b->error);
        if (imported == PW_IO || imported == PW_LIMIT) b->error.status = PW_BAD_INPUT; /* the user named this file */
        return b->error.status;
    }
    pw_status status = presets->load(b->catalogue, name, desc, b->arena, &b->error);
    if (status == PW_NOT_FOUND) hint_at_presets(b, presets, name, &b->error);
    return status;
}

/* A record with a name stands on the catalogue's preset of that name, or on a file in the folder of the scenario or below. */
static pw_status fill_from_preset(pw_filler *b, const lua_api_record *record, const pw_preset_kind *presets,
                                  const char *name, void *desc, const char *path) {
    char file[PATH_MAX];
    const char *preset = name;
    if (is_import(presets, name)) {
        const char *folder = lua_api_folder(b->L);
        preset = file;
        if (snprintf(file, sizeof file, "%s%s", *name == '/' ? "" : folder, name) >= (int)sizeof file ||
            !lua_api_is_inside(file, folder))
            return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line,
                           "copy it beside the scenario, or name it on the command line: --set job.model=PATH",
                           "'%.200s' lies outside the folder of the scenario", name);
    }
    pw_status status = pw_fill_preset(b, presets, preset, desc);
    if (status == PW_OK) return pw_fill_origin(b, path, PW_ORIGIN_PRESET, record->file, record->line, name);
    if (!b->error.file[0]) {
        snprintf(b->error.file, sizeof b->error.file, "%s", record->file);
        b->error.line = record->line;
    }
    return status;
}

static pw_status fill_name(pw_filler *b, const lua_api_record *record, const char *name, size_t length, void *desc,
                           const char *parent) {
    char path[PW_LONGEST_PATH];
    const pw_kind *kind = record->kind;
    if (!is_plain_text(name, length))
        return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line, NULL,
                       "the name holds bytes that are no UTF-8 text, or control characters");
    join(path, parent, "name");
    PW_TRY(pw_fill_origin(b, path, PW_ORIGIN_FILE, record->file, record->line, NULL));
    return pw_field_set_text(kind, pw_kind_field(kind, "name"), desc, name, b->arena, record->file, record->line, &b->error);
}

/* The table of fields is on top of the stack. */
static pw_status fill_fields(pw_filler *b, const lua_api_record *record, void *desc, const char *parent) {
    lua_State *L = b->L;
    PW_TRY(check_keys(b, record));
    for (const pw_field *field = record->kind->fields; field->name; field++) {
        lua_pushstring(L, field->name);
        if (lua_rawget(L, -2) != LUA_TNIL) {
            char path[PW_LONGEST_PATH];
            join(path, parent, field->name);
            PW_TRY(set_field(b, record, field, desc, path));
        }
        lua_pop(L, 1);
    }
    return PW_OK;
}

pw_status pw_fill_record(pw_filler *b, int index, const pw_kind *kind, void *desc, const char *parent) {
    lua_State *L = b->L;
    const lua_api_record *record = lua_api_to_record(L, index);
    if (!lua_checkstack(L, 12)) return no_memory(&b->error);
    if (b->depth == DEEPEST)
        return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line, NULL, "records lie more than %d deep in each other",
                       DEEPEST);
    b->depth++;
    PW_TRY(pw_fill_origin(b, parent, PW_ORIGIN_FILE, record->file, record->line, NULL));
    PW_TRY(pw_description_defaults(kind, desc, b->arena, &b->error));
    if (lua_getiuservalue(L, index, 2) == LUA_TSTRING) {
        size_t length;
        const char *name = lua_tolstring(L, -1, &length);
        const pw_preset_kind *presets = pw_api_presets(kind);
        if (presets) PW_TRY(fill_from_preset(b, record, presets, name, desc, parent));
        else PW_TRY(fill_name(b, record, name, length, desc, parent));
    }
    lua_pop(L, 1);
    if (lua_getiuservalue(L, index, 1) == LUA_TTABLE) PW_TRY(fill_fields(b, record, desc, parent));
    lua_pop(L, 1);
    b->depth--;
    return PW_OK;
}

/* ---- Checks ---- */

static pw_status check_inside(pw_filler *b, const pw_field *field, const void *desc, const char *path) {
    const pw_kind *kind;
    const void *inner = pw_field_record(field, desc, &kind);
    /* A record that was left out is judged by its owner's place. */
    if (inner && find_origin(b->origins, b->origin_count, path)) PW_TRY(pw_fill_check(b, kind, inner, path));
    pw_list list = pw_field_list(field, desc);
    for (uint32_t i = 0; i < list.count && field->item->type == PW_FIELD_ONE_OF; i++) {
        char name[PW_ITEM_NAME], below[PW_LONGEST_PATH];
        pw_field item = pw_field_item(field, i, name);
        snprintf(below, sizeof below, "%.200s[%u]", path, (unsigned)i + 1);
        PW_TRY(check_inside(b, &item, pw_list_at(field, list, i), below));
    }
    return PW_OK;
}

pw_status pw_fill_check(pw_filler *b, const pw_kind *kind, const void *desc, const char *path) {
    char below[PW_LONGEST_PATH];
    for (const pw_field *field = kind->fields; field->name; field++) {
        join(below, path, field->name);
        PW_TRY(check_inside(b, field, desc, below));
    }
    const pw_origin *place = find_origin(b->origins, b->origin_count, path);
    pw_status status = pw_description_check(kind, desc, place ? place->file : pw_script_path(b->script),
                                            place ? place->line : 0, &b->error);
    if (status != PW_OK) refine(b->origins, b->origin_count, kind, path, &b->error);
    return status;
}
