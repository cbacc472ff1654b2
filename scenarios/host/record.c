/* Records: what the constructors make. A record is a kind, a name, a table of fields and the place in the file where it
 * was written; it does nothing. Fields are looked at when the script has returned (scenario.c).
 *
 *   o.cluster "pod" { nodes = 4 }   a name, then the fields
 *   o.node { server = "..." }       no name
 *   o.model "gpt3-175b"             a name alone; calling it with a table gives a new record with that name
 */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/api.h"
#include "scenarios/host/lua_api.h"

#define RECORD "podwright.record"

const lua_api_record *lua_api_to_record(lua_State *L, int index) { return luaL_testudata(L, index, RECORD); }

const char *lua_api_what(lua_State *L, int index, char *text, size_t size) {
    const lua_api_record *record = lua_api_to_record(L, index);
    if (record) snprintf(text, size, "a %s", record->kind->name);
    else if (lua_api_to_quantity(L, index)) snprintf(text, size, "a quantity");
    else if (lua_type(L, index) <= LUA_TNIL) snprintf(text, size, "nothing");
    else if (lua_type(L, index) == LUA_TUSERDATA) snprintf(text, size, "an error");
    else snprintf(text, size, "a %s", lua_typename(L, lua_type(L, index)));
    return text;
}

/* Copies the table at index and the lists in it, so that what the script does to its own tables later changes nothing. */
static void copy_table(lua_State *L, int index, bool with_lists) {
    index = lua_absindex(L, index);
    luaL_checkstack(L, 8, NULL);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, index)) { /* the order does not matter to a copy */
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        if (with_lists && lua_type(L, -1) == LUA_TTABLE) {
            copy_table(L, -1, false);
            lua_remove(L, -2);
        }
        lua_rawset(L, -4);
    }
}

static void push_record(lua_State *L, const pw_kind *kind, const char *file, int line) {
    lua_api_record *record = lua_newuserdatauv(L, sizeof *record, 2);
    *record = (lua_api_record){kind, line, file};
    luaL_setmetatable(L, RECORD);
}

static int construct(lua_State *L) {
    const pw_kind *kind = lua_touserdata(L, lua_upvalueindex(1));
    const char *file;
    char hint[160], what[64];
    int line;
    lua_api_place(L, &file, &line);
    file = lua_api_keep_path(L, file);
    snprintf(hint, sizeof hint, "write o.%s { ... } or o.%s \"name\" { ... }", kind->name, kind->name);
    if (lua_gettop(L) != 1)
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, hint, "o.%s takes one thing, not %d", kind->name, lua_gettop(L));
    push_record(L, kind, file, line);
    if (lua_type(L, 1) == LUA_TSTRING) {
        if (!pw_kind_field(kind, "name"))
            lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "a %s has no name; write o.%s { ... }", kind->name, kind->name);
        lua_pushvalue(L, 1);
        lua_setiuservalue(L, -2, 2);
    } else if (lua_type(L, 1) == LUA_TTABLE) {
        copy_table(L, 1, true);
        lua_setiuservalue(L, -2, 1);
    } else {
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, hint, "o.%s takes a name or a table of fields, not %s", kind->name,
                      lua_api_what(L, 1, what, sizeof what));
    }
    return 1;
}

/* record { fields }: a new record with the same name. */
static int fill(lua_State *L) {
    const lua_api_record *record = luaL_checkudata(L, 1, RECORD);
    char what[64];
    const char *file;
    int line;
    if (lua_gettop(L) != 2 || lua_type(L, 2) != LUA_TTABLE)
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "the fields of a %s are a table, not %s", record->kind->name,
                      lua_api_what(L, 2, what, sizeof what));
    if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE)
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "is a comma missing before this line?", "this %s has its fields already",
                      record->kind->name);
    lua_api_place(L, &file, &line);
    push_record(L, record->kind, lua_api_keep_path(L, file), line);
    copy_table(L, 2, true);
    lua_setiuservalue(L, -2, 1);
    lua_getiuservalue(L, 1, 2);
    lua_setiuservalue(L, -2, 2);
    return 1;
}

static int read_field(lua_State *L) {
    const lua_api_record *record = luaL_checkudata(L, 1, RECORD);
    const char *name = luaL_tolstring(L, 2, NULL);
    const pw_field *field = pw_kind_field(record->kind, name);
    if (!field) {
        char hint[128];
        const char *near = pw_kind_nearest(record->kind, name);
        if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, near ? hint : NULL, "a %s has no field '%s'", record->kind->name, name);
    }
    if (strcmp(name, "name") == 0 && lua_getiuservalue(L, 1, 2) == LUA_TSTRING) return 1;
    if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushstring(L, name);
    if (lua_rawget(L, -2) == LUA_TTABLE) copy_table(L, -1, false); /* the record's own list cannot be reached */
    return 1;
}

static int no_change(lua_State *L) {
    const lua_api_record *record = luaL_checkudata(L, 1, RECORD);
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "write the value where the record is made", "a %s cannot be changed",
                  record->kind->name);
}

static int to_text(lua_State *L) {
    const lua_api_record *record = luaL_checkudata(L, 1, RECORD);
    if (lua_getiuservalue(L, 1, 2) == LUA_TSTRING) lua_pushfstring(L, "%s \"%s\"", record->kind->name, lua_tostring(L, -1));
    else lua_pushstring(L, record->kind->name);
    return 1;
}

void lua_api_open_records(lua_State *L) {
    static const luaL_Reg functions[] = {{"__call", fill},       {"__index", read_field}, {"__newindex", no_change},
                                         {"__tostring", to_text}, {NULL, NULL}};
    luaL_newmetatable(L, RECORD);
    luaL_setfuncs(L, functions, 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

static int find_constructor(lua_State *L) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const pw_kind *kinds[PW_API_MOST];
    const char *names[PW_API_MOST], *name = luaL_tolstring(L, 2, NULL);
    size_t count = pw_api_kinds(lua_api_root(L), kinds);
    for (size_t i = 0; i < count; i++) names[i] = kinds[i]->name;
    names[count] = NULL;
    char hint[512];
    const char *near = pw_nearest(names, name);
    if (near) snprintf(hint, sizeof hint, "did you mean 'o.%s'?", near);
    else {
        size_t used = (size_t)snprintf(hint, sizeof hint, "there is");
        for (size_t i = 0; i < count && used < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s o.%s", i ? "," : "", names[i]);
    }
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, hint, "podwright has no '%s'", name);
}

static int no_new_constructor(lua_State *L) {
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "the table of constructors cannot be changed");
}

void lua_api_push_frozen(lua_State *L, lua_CFunction index, lua_CFunction new_index) {
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, new_index);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

void lua_api_push_constructors(lua_State *L) {
    const pw_kind *kinds[PW_API_MOST];
    pw_api_kinds(lua_api_root(L), kinds);
    lua_newtable(L);
    for (const pw_kind **kind = kinds; *kind; kind++) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)*kind);
        lua_pushcclosure(L, construct, 1);
        lua_setfield(L, -2, (*kind)->name);
    }
    lua_api_push_frozen(L, find_constructor, no_new_constructor);
}
