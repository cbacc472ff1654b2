/* Runs the script, fills the descriptions from the records it returned (fill.c), applies overrides, checks. */
#include "scenarios/host/scenario.h"

#include <stdio.h>
#include <string.h>

#include "scenarios/host/fill.h"

typedef struct loading {
    pw_filler filler;
    const pw_kind *root;
    void *desc;
    pw_status status;
} loading;

static const char *wanted_return(const loading *load, char *text, size_t size) {
    if (load->root == &pw_scenario_kind) snprintf(text, size, "end the file with: return o.scenario { cluster = ..., job = ... }");
    else snprintf(text, size, "end the file with: return o.%s { ... }", load->root->name);
    return text;
}

static pw_status fill_root(loading *load, int index) {
    pw_filler *b = &load->filler;
    const lua_api_record *record = lua_api_to_record(b->L, index);
    char what[64], hint[160];
    wanted_return(load, hint, sizeof hint);
    if (!record)
        return pw_fail(&b->error, PW_BAD_INPUT, pw_script_path(b->script), 0, hint, "the file returns %s, not a %s",
                       lua_api_what(b->L, index, what, sizeof what), load->root->name);
    if (record->kind == load->root) return pw_fill_record(b, index, record->kind, load->desc, "");
    if (load->root == &pw_scenario_kind && record->kind == &pw_cluster_kind) { /* a scenario without a job */
        pw_scenario_desc *desc = load->desc;
        PW_TRY(pw_description_defaults(&pw_scenario_kind, desc, b->arena, &b->error));
        desc->cluster = pw_arena_alloc(b->arena, sizeof *desc->cluster);
        if (!desc->cluster) return pw_fail(&b->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        return pw_fill_record(b, index, record->kind, desc->cluster, "cluster");
    }
    return pw_fail(&b->error, PW_BAD_INPUT, record->file, record->line, hint, "the file returns a %s, not a %s",
                   record->kind->name, load->root->name);
}

/* No file: a scenario of defaults, with a cluster of defaults, for overrides to fill. */
static pw_status fill_defaults(loading *load) {
    pw_filler *b = &load->filler;
    PW_CHECK(load->root == &pw_scenario_kind);
    pw_scenario_desc *desc = load->desc;
    PW_TRY(pw_description_defaults(&pw_scenario_kind, desc, b->arena, &b->error));
    desc->cluster = pw_arena_alloc(b->arena, sizeof *desc->cluster);
    if (!desc->cluster) return pw_fail(&b->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    return pw_description_defaults(&pw_cluster_kind, desc->cluster, b->arena, &b->error);
}

static int build(lua_State *L) {
    loading *load = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, load);
    load->status = fill_root(load, lua_gettop(L));
    return 0;
}

/* ---- Overrides ---- */

/* The kind with presets that a field takes; NULL: the field takes something else. */
static const pw_preset_kind *presets_of(const pw_field *field) {
    if (field->type == PW_FIELD_LIST) return NULL;
    for (size_t i = 0; pw_field_kind(field, i); i++)
        if (pw_api_presets(pw_field_kind(field, i))) return pw_api_presets(pw_field_kind(field, i));
    return NULL;
}

/* --set job.model=NAME: a whole record from the catalogue. */
static pw_status replace_by_preset(pw_filler *b, const pw_reached *at, const pw_preset_kind *presets, const char *name) {
    void *made = pw_arena_alloc(b->arena, presets->kind->size);
    if (!made) return pw_fail(&b->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(pw_fill_preset(b, presets, name, made));
    return pw_field_set_record(at->kind, &at->field, at->description, (pw_one_of){presets->kind, made}, NULL, 0, &b->error);
}

static pw_status override(loading *load, const char *text) {
    pw_filler *b = &load->filler;
    char path[PW_LONGEST_PATH], place[PW_LONGEST_PATH];
    const char *sign = strchr(text, '=');
    pw_reached at;
    snprintf(place, sizeof place, "--set %.240s", text);
    if (!sign || sign == text || sign - text >= PW_LONGEST_PATH)
        return pw_fail(&b->error, PW_BAD_INPUT, place, 0, "write --set job.tensor_parallel=4", "an override is PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)(sign - text), text);
    pw_status status = pw_description_reach(load->root, load->desc, path, b->arena, &at, &b->error);
    const pw_preset_kind *presets = status == PW_OK ? presets_of(&at.field) : NULL;
    if (status == PW_OK && presets) status = replace_by_preset(b, &at, presets, sign + 1);
    else if (status == PW_OK)
        status = pw_field_parse(at.kind, &at.field, at.description, sign + 1, b->arena, NULL, 0, &b->error);
    if (status == PW_OK && presets) status = pw_fill_origin(b, path, PW_ORIGIN_PRESET, place, 0, sign + 1);
    else if (status == PW_OK) status = pw_fill_origin(b, path, PW_ORIGIN_OVERRIDE, place, 0, text);
    if (status != PW_OK && !b->error.file[0]) snprintf(b->error.file, sizeof b->error.file, "%s", place);
    return status;
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

pw_status pw_scenario_load_as(const char *path, const pw_scenario_options *options, const pw_kind *root, void *desc,
                              pw_arena *arena, pw_scenario *scenario, pw_error *error) {
    loading load = {.filler = {.catalogue = options->catalogue, .arena = arena}, .root = root, .desc = desc};
    pw_filler *b = &load.filler;
    PW_TRY(pw_script_create(options->allocator, &options->limits, options->seed, options->interrupt, &b->script, error));
    b->L = pw_script_lua(b->script);
    pw_script_set_root(b->script, root);
    pw_status status = path ? pw_script_run(b->script, path, &b->error) : fill_defaults(&load);
    if (path && status == PW_OK) {
        lua_rawsetp(b->L, LUA_REGISTRYINDEX, &load); /* overwrites nothing: the address is ours */
        status = pw_script_protect(b->script, build, &load, &b->error);
        if (status == PW_OK) status = load.status;
    }
    for (int i = 0; status == PW_OK && i < options->override_count; i++) status = override(&load, options->overrides[i]);
    if (status == PW_OK) status = pw_fill_check(b, root, desc, "");
    scenario->script_bytes = pw_script_peak_bytes(b->script);
    scenario->origins = b->origins;
    scenario->origin_count = b->origin_count;
    scenario->notes = b->notes;
    scenario->file = pw_arena_text(arena, path ? path : "podwright");
    scenario->title = scenario->file ? file_name(scenario->file) : NULL;
    if (status == PW_OK && !scenario->title) status = pw_fail(&b->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    scenario->script = NULL;
    if (status == PW_OK && b->has_hooks && options->keeps_hooks) scenario->script = b->script;
    else pw_script_destroy(b->script);
    if (status != PW_OK && error) *error = b->error;
    return status;
}

void pw_scenario_end(pw_scenario *scenario) {
    pw_script_destroy(scenario->script);
    scenario->script = NULL;
}

pw_status pw_scenario_load(const char *path, const pw_scenario_options *options, pw_arena *arena, pw_scenario *scenario,
                           pw_error *error) {
    memset(scenario, 0, sizeof *scenario);
    PW_TRY(pw_scenario_load_as(path, options, &pw_scenario_kind, &scenario->desc, arena, scenario, error));
    if (scenario->desc.name) scenario->title = scenario->desc.name;
    return PW_OK;
}
