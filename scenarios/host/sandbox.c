/* The environment of a scenario: what is opened, what is taken away, what `require` finds. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lualib.h>

#include "scenarios/host/api.h"
#include "scenarios/host/embedded.h"
#include "scenarios/host/lua_api.h"
#include "sim/math.h"

#define MODULES "podwright.modules" /* registry: name -> value, or false while it loads */

/* ---- require ---- */

/* "parts.network" -> "parts/network.lua"; only letters, digits, '_' and '-' between the dots, so that no name leads out
 * of the folder. */
static bool module_path(const char *name, const char *folder, char *path, size_t size) {
    size_t used = (size_t)snprintf(path, size, "%s", folder);
    bool at_start = true;
    for (; *name; name++) {
        bool is_plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9') || *name == '_' || *name == '-';
        if (!is_plain && (*name != '.' || at_start)) return false;
        at_start = *name == '.';
        if (used + 6 >= size) return false;
        path[used++] = *name == '.' ? '/' : *name;
    }
    if (at_start) return false;
    memcpy(path + used, ".lua", 5);
    return true;
}

bool lua_api_is_inside(const char *path, const char *folder) {
    char real_path[PATH_MAX], real_folder[PATH_MAX];
    if (!realpath(path, real_path)) return true; /* there is no such file: loading it says so */
    if (!realpath(*folder ? folder : ".", real_folder)) return false;
    size_t length = strlen(real_folder);
    if (length == 1) return true; /* "/" */
    return strncmp(real_path, real_folder, length) == 0 && real_path[length] == '/';
}

static int require(lua_State *L) {
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
    if (!name || lua_rawlen(L, 1) != strlen(name))
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "write require \"name\"", "require takes the name of a module");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, MODULES);
    int modules = lua_gettop(L);
    if (lua_getfield(L, modules, name) == LUA_TBOOLEAN && !lua_toboolean(L, -1))
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "module '%s' requires itself", name);
    if (!lua_isnil(L, -1)) return 1;
    lua_pop(L, 1);
    if (strcmp(name, "podwright") == 0) {
        lua_api_push_constructors(L);
    } else if (strcmp(name, "podwright.units") == 0) {
        lua_api_push_units(L);
    } else {
        char path[PATH_MAX];
        const char *folder = lua_api_folder(L);
        if (!module_path(name, folder, path, sizeof path))
            lua_api_raise(L, PW_BAD_INPUT, NULL, 0,
                          "names are like \"parts.network\": a file in the folder of the scenario or below",
                          "'%s' is no name of a module", name);
        if (!lua_api_is_inside(path, folder))
            lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "module '%s' lies outside the folder of the scenario", name);
        FILE *file = fopen(path, "re");
        if (!file)
            lua_api_raise(L, PW_BAD_INPUT, NULL, 0,
                          "there are \"podwright\", \"podwright.units\", and files in the folder of the scenario",
                          "there is no module '%s' (%s)", name, path);
        fclose(file);
        lua_pushboolean(L, 0);
        lua_setfield(L, modules, name);
        lua_api_load(L, path);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1))
            lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "end the file with: return ...", "module '%s' returns nothing", name);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, modules, name);
    return 1;
}

/* ---- strict globals ---- */

static int read_undeclared(lua_State *L) {
    const char *name = luaL_tolstring(L, 2, NULL), *hint = NULL;
    static const char *const absent[] = {"io", "os", "debug", "load", "loadfile", "loadstring", "dofile", "package",
                                         "collectgarbage", "coroutine", NULL};
    char text[160];
    for (int i = 0; absent[i]; i++)
        if (strcmp(name, absent[i]) == 0) hint = "scenarios are sandboxed: no files, no clock, no other programs";
    if (strcmp(name, "o") == 0) hint = "write at the top: local o = require \"podwright\"";
    if (strcmp(name, "u") == 0) hint = "write at the top: local u = require \"podwright.units\"";
    if (pw_api_kind(name)) hint = text, snprintf(text, sizeof text, "constructors live in podwright: local o = require \"podwright\"; o.%s", name);
    for (const pw_unit_name *unit = pw_unit_names(); unit->name && !hint; unit++)
        if (strcmp(unit->name, name) == 0)
            hint = text, snprintf(text, sizeof text, "units live in podwright.units: local u = require \"podwright.units\"; u.%s", name);
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, hint, "there is no variable '%s'", name);
}

static int set_undeclared(lua_State *L) {
    char text[160];
    const char *name = luaL_tolstring(L, 2, NULL);
    snprintf(text, sizeof text, "write: local %.100s = ...", name);
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, text, "variable '%s' is not declared", name);
}

/* ---- functions that replace library ones ---- */

/* Finalisers run with hooks off, so that an endless one could not be stopped. */
static int set_metatable(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "scenarios have no finalisers (__gc)");
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "this metatable cannot be changed");
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static int math_exp(lua_State *L) {
    lua_pushnumber(L, pw_exp(luaL_checknumber(L, 1)));
    return 1;
}

static int math_pow(lua_State *L) {
    lua_pushnumber(L, pw_pow(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
    return 1;
}

/* A quotient of logarithms is rounded three times: log(1000, 10) must still be 3, not the number below. */
static double log_of_base(double x, double base) {
    double value = pw_log(x) / pw_log(base), whole = floor(value + 0.5);
    return pw_pow(base, whole) == x ? whole : value;
}

static int math_log(lua_State *L) {
    double x = luaL_checknumber(L, 1);
    lua_pushnumber(L, lua_isnoneornil(L, 2) ? pw_log(x) : log_of_base(x, luaL_checknumber(L, 2)));
    return 1;
}

static int math_log10(lua_State *L) {
    lua_pushnumber(L, log_of_base(luaL_checknumber(L, 1), 10));
    return 1;
}

/* What the platform's libm computes: its last bit differs between versions and processors. */
static int refuse_math(lua_State *L) {
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "math.sqrt, exp, log and pow give the same bits everywhere",
                  "scenarios have no math.%s: its last digits differ between machines", lua_tostring(L, lua_upvalueindex(1)));
}

static int uniform(lua_State *L) {
    lua_pushnumber(L, lua_api_uniform(L));
    return 1;
}

static int say(lua_State *L) {
    fprintf(stderr, "%s\n", luaL_checkstring(L, 1));
    return 0;
}

/* With empty pieces the library's loop takes n steps and no memory, and n may be 10^18. */
static int string_rep(lua_State *L) {
    size_t length, between;
    luaL_checklstring(L, 1, &length);
    luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &between);
    if (length + between == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 1);
    return 1;
}

static void remove_names(lua_State *L, const char *library, const char *const *names) {
    lua_getglobal(L, library);
    for (; *names; names++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *names);
    }
    lua_pop(L, 1);
}

static void replace(lua_State *L, const char *library, const char *name, lua_CFunction function) {
    lua_getglobal(L, library);
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, function, 1); /* the library's own function is at hand as upvalue 1 */
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* The function finds the name it was called by in upvalue 1. */
static void refuse(lua_State *L, const char *library, const char *const *names, lua_CFunction function) {
    lua_getglobal(L, library);
    for (; *names; names++) {
        lua_pushstring(L, *names);
        lua_pushcclosure(L, function, 1);
        lua_setfield(L, -2, *names);
    }
    lua_pop(L, 1);
}

void lua_api_open_sandbox(lua_State *L) {
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base}, {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_UTF8LIBNAME, luaopen_utf8}, {NULL, NULL}};
    static const char *const base[] = {"load", "loadfile", "dofile", "collectgarbage", "warn", NULL};
    static const char *const string[] = {"dump", NULL};
    static const char *const compatible[] = {"frexp", "ldexp", NULL}; /* some builds of Lua have these, some have not */
    static const char *const platform_math[] = {"acos", "asin", "atan", "atan2", "cos", "cosh", "sin", "sinh", "tan", "tanh",
                                                NULL};
    for (const luaL_Reg *library = libraries; library->name; library++) {
        luaL_requiref(L, library->name, library->func, 1);
        lua_pop(L, 1);
    }
    remove_names(L, LUA_GNAME, base);
    remove_names(L, LUA_STRLIBNAME, string);
    remove_names(L, LUA_MATHLIBNAME, compatible);
    replace(L, LUA_GNAME, "setmetatable", set_metatable);
    replace(L, LUA_MATHLIBNAME, "exp", math_exp);
    replace(L, LUA_MATHLIBNAME, "log", math_log);
    replace(L, LUA_MATHLIBNAME, "log10", math_log10);
    replace(L, LUA_MATHLIBNAME, "pow", math_pow);
    refuse(L, LUA_MATHLIBNAME, platform_math, refuse_math);
    replace(L, LUA_STRLIBNAME, "rep", string_rep);
    lua_pushcfunction(L, require);
    lua_setglobal(L, "require");
    if (luaL_loadbufferx(L, pw_embedded_prelude, pw_embedded_prelude_size, "=podwright", "t") != LUA_OK) lua_error(L);
    lua_pushglobaltable(L);
    lua_pushcfunction(L, uniform);
    lua_pushcfunction(L, say);
    lua_call(L, 3, 0);
    static const luaL_Reg strict[] = {{"__index", read_undeclared}, {"__newindex", set_undeclared}, {NULL, NULL}};
    lua_pushglobaltable(L);
    lua_newtable(L);
    luaL_setfuncs(L, strict, 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
