/* Runs the script, then fills the descriptions from the records it returned, in the order of the registry's fields. */
#include "scenarios/host/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/host/locate.h"
#include "scenarios/host/lua_api.h"
#include "sim/text.h"

typedef struct builder {
    lua_State *L;
    pw_script *script;
    const pw_scenario_options *options;
    pw_arena *arena;
    pw_origin *origins;
    size_t origin_count, origin_capacity;
    pw_scenario_desc *desc;
    pw_status status;
    pw_error error;
} builder;

enum { LONGEST_PATH = 256 };

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left"); }

/* ---- Origins ---- */

static const pw_origin *find_origin(const pw_origin *origins, size_t count, const char *path) {
    for (size_t i = count; i-- > 0;)
        if (strcmp(origins[i].path, path) == 0) return &origins[i];
    return NULL;
}

const pw_origin *pw_scenario_origin(const pw_scenario *scenario, const char *path) {
    return find_origin(scenario->origins, scenario->origin_count, path);
}

static pw_status add_origin(builder *b, const char *path, pw_origin_kind kind, const char *file, int line,
                            const char *text) {
    if (b->origin_count == b->origin_capacity) { /* the old array stays in the arena */
        size_t grown = b->origin_capacity ? 2 * b->origin_capacity : 64;
        pw_origin *origins = pw_arena_alloc(b->arena, grown * sizeof *origins);
        if (!origins) return no_memory(&b->error);
        if (b->origin_count) memcpy(origins, b->origins, b->origin_count * sizeof *origins);
        b->origins = origins;
        b->origin_capacity = grown;
    }
    pw_origin *origin = &b->origins[b->origin_count];
    *origin = (pw_origin){pw_arena_text(b->arena, path), kind, pw_arena_text(b->arena, file),
                          text ? pw_arena_text(b->arena, text) : NULL, line};
    if (!origin->path || !origin->file || (text && !origin->text)) return no_memory(&b->error);
    b->origin_count++;
    return PW_OK;
}

static void join(char *path, const char *parent, const char *name) {
    snprintf(path, LONGEST_PATH, "%s%s%s", parent, *parent ? "." : "", name);
}

/* Messages speak of "kind.field"; finds that field's origin. */
static void refine(const pw_origin *origins, size_t count, const pw_kind *kind, const char *parent, pw_error *error) {
    const char *best = NULL;
    char path[LONGEST_PATH], spoken[128];
    const pw_origin *found = NULL;
    for (const pw_field *field = kind->fields; field->name; field++) {
        int length = snprintf(spoken, sizeof spoken, "%s.%s", kind->name, field->name);
        const char *at = strstr(error->what, spoken);
        while (at && (at[length] == '_' || (at[length] >= 'a' && at[length] <= 'z'))) at = strstr(at + 1, spoken);
        if (!at || (best && at >= best)) continue;
        join(path, parent, field->name);
        const pw_origin *origin = find_origin(origins, count, path);
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

static int line_of(const builder *b, const lua_api_record *record, const char *key) {
    return pw_locate_key(pw_script_source(b->script, record->file), record->line, record->kind->name, key);
}

/* The field list of the record at index is on top of the stack. Finds a key that is no field; of several the first in
 * alphabetical order, since the order of a table is not defined. */
static pw_status check_keys(builder *b, const lua_api_record *record) {
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

static pw_status build_record(builder *b, int index, const pw_kind *kind, void *desc, const char *path);

/* The value is on top of the stack. */
static pw_status set_record(builder *b, const lua_api_record *owner, const pw_field *field, void *desc, const char *path,
                            int line) {
    const lua_api_record *record = lua_api_to_record(b->L, -1);
    if (!record || record->kind != field->record) {
        char what[64], hint[128];
        snprintf(hint, sizeof hint, "write %s = o.%s { ... }", field->name, field->record->name);
        return pw_fail(&b->error, PW_BAD_INPUT, owner->file, line, hint, "%s.%s takes a %s, not %s", owner->kind->name,
                       field->name, field->record->name, lua_api_what(b->L, -1, what, sizeof what));
    }
    void *inner = (char *)desc + field->offset;
    if (field->type == PW_FIELD_POINTER) {
        void *made = pw_arena_alloc(b->arena, field->record->size);
        if (!made) return no_memory(&b->error);
        memcpy(inner, &made, sizeof made);
        inner = made;
    }
    return build_record(b, lua_gettop(b->L), field->record, inner, path);
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
static pw_status set_field(builder *b, const lua_api_record *owner, const pw_field *field, void *desc, const char *path) {
    lua_State *L = b->L;
    const pw_kind *kind = owner->kind;
    const lua_api_quantity *quantity = lua_api_to_quantity(L, -1);
    int line = line_of(b, owner, field->name);
    const char *file = owner->file;
    PW_TRY(add_origin(b, path, PW_ORIGIN_FILE, file, line, NULL));
    if (field->type == PW_FIELD_RECORD || field->type == PW_FIELD_POINTER) return set_record(b, owner, field, desc, path, line);
    if (quantity)
        return pw_field_set_number(kind, field, desc, quantity->value, true, quantity->unit, file, line, &b->error);
    char what[64], hint[600], type[500];
    size_t length;
    const char *text;
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        return pw_field_set_number(kind, field, desc, lua_tonumber(L, -1), false, PW_UNIT_NONE, file, line, &b->error);
    case LUA_TBOOLEAN:
        if (is_switch(field))
            return pw_field_set_text(kind, field, desc, lua_toboolean(L, -1) ? "on" : "off", b->arena, file, line, &b->error);
        return pw_field_set_bool(kind, field, desc, lua_toboolean(L, -1), file, line, &b->error);
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &length);
        if (!is_plain_text(text, length))
            return pw_fail(&b->error, PW_BAD_INPUT, file, line, NULL,
                           "%s.%s holds bytes that are no UTF-8 text, or control characters", kind->name, field->name);
        return pw_field_set_text(kind, field, desc, text, b->arena, file, line, &b->error);
    default:
        snprintf(hint, sizeof hint, "it takes: %s", pw_api_type_text(field, type, sizeof type));
        return pw_fail(&b->error, PW_BAD_INPUT, file, line, hint, "%s.%s cannot be %s", kind->name, field->name,
                       lua_api_what(L, -1, what, sizeof what));
    }
}

static void hint_at_models(const pw_catalogue *catalogue, const char *name, pw_error *error) {
    const pw_table *models = pw_catalogue_table(catalogue, "models");
    const char *names[512], *near = NULL;
    size_t count = 0;
    for (size_t row = 0; models && row < pw_table_rows(models) && count < 511; row++)
        names[count++] = pw_table_text_at(models, row, 0);
    names[count] = NULL;
    near = pw_nearest(names, name);
    if (near) snprintf(error->hint, sizeof error->hint, "did you mean '%s'? `podwright catalogue models` lists them", near);
    else
        snprintf(error->hint, sizeof error->hint,
                 "`podwright catalogue models` lists them; a model of your own: o.model { name = ..., layers = ... }");
}

/* A model with a name stands on the catalogue's preset of that name. */
static pw_status fill_from_preset(builder *b, const lua_api_record *record, const char *name, void *desc,
                                  const char *path) {
    pw_status status = pw_model_preset(b->options->catalogue, name, desc, b->arena, &b->error);
    if (status == PW_OK) return add_origin(b, path, PW_ORIGIN_PRESET, record->file, record->line, name);
    if (!b->error.file[0]) {
        snprintf(b->error.file, sizeof b->error.file, "%s", record->file);
        b->error.line = record->line;
    }
    if (status == PW_NOT_FOUND) hint_at_models(b->options->catalogue, name, &b->error);
    return status;
}

static pw_status build_record(builder *b, int index, const pw_kind *kind, void *desc, const char *parent) {
    lua_State *L = b->L;
    const lua_api_record *record = lua_api_to_record(L, index);
    if (!lua_checkstack(L, 10)) return no_memory(&b->error);
    PW_TRY(add_origin(b, parent, PW_ORIGIN_FILE, record->file, record->line, NULL));
    PW_TRY(pw_description_defaults(kind, desc, b->arena, &b->error));
    bool has_name = lua_getiuservalue(L, index, 2) == LUA_TSTRING;
    if (has_name && kind == &pw_model_kind) {
        PW_TRY(fill_from_preset(b, record, lua_tostring(L, -1), desc, parent));
    } else if (has_name) {
        size_t length;
        const char *name = lua_tolstring(L, -1, &length);
        if (!is_plain_text(name, length))
            return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line, NULL,
                           "the name holds bytes that are no UTF-8 text, or control characters");
        char path[LONGEST_PATH];
        join(path, parent, "name");
        PW_TRY(add_origin(b, path, PW_ORIGIN_FILE, record->file, record->line, NULL));
        PW_TRY(pw_field_set_text(kind, pw_kind_field(kind, "name"), desc, name, b->arena, record->file, record->line,
                                 &b->error));
    }
    lua_pop(L, 1);
    if (lua_getiuservalue(L, index, 1) != LUA_TTABLE) {
        lua_pop(L, 1);
        return PW_OK;
    }
    PW_TRY(check_keys(b, record));
    for (const pw_field *field = kind->fields; field->name; field++) {
        lua_pushstring(L, field->name);
        if (lua_rawget(L, -2) != LUA_TNIL) {
            char path[LONGEST_PATH];
            join(path, parent, field->name);
            PW_TRY(set_field(b, record, field, desc, path));
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return PW_OK;
}

static pw_status build_scenario(builder *b, int index) {
    const lua_api_record *record = lua_api_to_record(b->L, index);
    char what[64];
    const char *file = pw_script_path(b->script);
    if (!record)
        return pw_fail(&b->error, PW_BAD_INPUT, file, 0, "end the file with: return o.scenario { cluster = ..., job = ... }",
                       "the file returns %s, not a scenario", lua_api_what(b->L, index, what, sizeof what));
    if (record->kind == &pw_scenario_kind) return build_record(b, index, record->kind, b->desc, "");
    PW_TRY(pw_description_defaults(&pw_scenario_kind, b->desc, b->arena, &b->error));
    if (record->kind == &pw_cluster_kind) {
        b->desc->cluster = pw_arena_alloc(b->arena, sizeof *b->desc->cluster);
        if (!b->desc->cluster) return no_memory(&b->error);
        return build_record(b, index, record->kind, b->desc->cluster, "cluster");
    }
    return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line,
                   "end the file with: return o.scenario { cluster = ..., job = ... }",
                   "the file returns a %s, not a scenario", record->kind->name);
}

static int build(lua_State *L) {
    builder *b = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, b);
    b->status = build_scenario(b, lua_gettop(L));
    return 0;
}

/* ---- Overrides and checks ---- */

static pw_status override(builder *b, const char *text) {
    char path[LONGEST_PATH], place[LONGEST_PATH];
    const char *sign = strchr(text, '=');
    snprintf(place, sizeof place, "--set %.240s", text);
    if (!sign || sign == text || sign - text >= LONGEST_PATH)
        return pw_fail(&b->error, PW_BAD_INPUT, place, 0, "write --set job.tensor_parallel=4", "an override is PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)(sign - text), text);
    pw_status status;
    if (strcmp(path, "job.model") == 0 && b->desc->job && b->desc->job->model) {
        pw_model_desc *model = pw_arena_alloc(b->arena, sizeof *model);
        if (!model) return no_memory(&b->error);
        status = pw_description_defaults(&pw_model_kind, model, b->arena, &b->error);
        if (status == PW_OK) status = pw_model_preset(b->options->catalogue, sign + 1, model, b->arena, &b->error);
        if (status == PW_NOT_FOUND) hint_at_models(b->options->catalogue, sign + 1, &b->error);
        if (status == PW_OK) b->desc->job->model = model;
        if (status == PW_OK) status = add_origin(b, "job.model", PW_ORIGIN_PRESET, place, 0, sign + 1);
    } else {
        status = pw_description_set_path(&pw_scenario_kind, b->desc, path, sign + 1, b->arena, &b->error);
        if (status == PW_OK) status = add_origin(b, path, PW_ORIGIN_OVERRIDE, place, 0, text);
    }
    if (status != PW_OK && !b->error.file[0]) snprintf(b->error.file, sizeof b->error.file, "%s", place);
    return status;
}

/* Depth first, each record with its own place. */
static pw_status check(builder *b, const pw_kind *kind, const void *desc, const char *path) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        const void *inner = NULL;
        if (field->type == PW_FIELD_RECORD) inner = (const char *)desc + field->offset;
        else if (field->type == PW_FIELD_POINTER) memcpy(&inner, (const char *)desc + field->offset, sizeof inner);
        char below[LONGEST_PATH];
        join(below, path, field->name);
        /* A record that was left out is judged by its owner's place. */
        if (inner && find_origin(b->origins, b->origin_count, below)) PW_TRY(check(b, field->record, inner, below));
    }
    const pw_origin *place = find_origin(b->origins, b->origin_count, path);
    pw_status status = pw_description_check(kind, desc, place ? place->file : pw_script_path(b->script),
                                            place ? place->line : 0, &b->error);
    if (status != PW_OK) refine(b->origins, b->origin_count, kind, path, &b->error);
    return status;
}

static const char *title_of(const pw_scenario_desc *desc, const char *path) {
    if (desc->name) return desc->name;
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

pw_status pw_scenario_load(const char *path, const pw_scenario_options *options, pw_arena *arena, pw_scenario *scenario,
                           pw_error *error) {
    memset(scenario, 0, sizeof *scenario);
    builder b = {.options = options, .arena = arena, .desc = &scenario->desc};
    PW_TRY(pw_script_create(options->allocator, &options->limits, options->seed, options->interrupt, &b.script, error));
    b.L = pw_script_lua(b.script);
    pw_status status = pw_script_run(b.script, path, &b.error);
    if (status == PW_OK) {
        lua_rawsetp(b.L, LUA_REGISTRYINDEX, &b); /* overwrites nothing: the address is ours */
        status = pw_script_protect(b.script, build, &b, &b.error);
        if (status == PW_OK) status = b.status;
    }
    for (int i = 0; status == PW_OK && i < options->override_count; i++) status = override(&b, options->overrides[i]);
    if (status == PW_OK) status = check(&b, &pw_scenario_kind, &scenario->desc, "");
    scenario->script_bytes = pw_script_peak_bytes(b.script);
    scenario->origins = b.origins;
    scenario->origin_count = b.origin_count;
    scenario->file = pw_arena_text(arena, path);
    scenario->title = scenario->file ? title_of(&scenario->desc, scenario->file) : NULL;
    if (status == PW_OK && !scenario->title) status = no_memory(&b.error);
    pw_script_destroy(b.script);
    if (status != PW_OK && error) *error = b.error;
    return status;
}
