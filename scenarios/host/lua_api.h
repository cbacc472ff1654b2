/* The inside of the Lua host: shared by the C files that see a lua_State. */
#ifndef PW_HOST_LUA_API_H
#define PW_HOST_LUA_API_H

#include <lauxlib.h>
#include <lua.h>

#include "scenarios/host/script.h"
#include "sim/registry.h"

/* The script a state belongs to. */
pw_script *lua_api_script(lua_State *L);

/* Raises an error object that holds place, text and hint. line 0: the place of the calling Lua function. */
_Noreturn void lua_api_raise(lua_State *L, pw_status status, const char *file, int line, const char *hint,
                             const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Place of the innermost Lua function that comes from a file. file: in the state's memory, valid while it runs. */
void lua_api_place(lua_State *L, const char **file, int *line);

/* script.c: loads a source file as a chunk onto the stack and keeps its text; raises on errors. path as in messages. */
void lua_api_load(lua_State *L, const char *path);
/* Folder of the scenario, "" for the current one; else it ends with '/'. */
const char *lua_api_folder(lua_State *L);

/* sandbox.c: whether a file of that path lies in the folder or below; a link inside must not lead out of it either. True
 * when there is no such file: loading it says so. */
bool lua_api_is_inside(const char *path, const char *folder);
/* sandbox.c: opens the libraries and makes the environment. */
void lua_api_open_sandbox(lua_State *L);
/* quantity.c: metatable; pushes the table of units. */
void lua_api_open_quantities(lua_State *L);
void lua_api_push_units(lua_State *L);
/* The kind that the file is to return. */
const pw_kind *lua_api_root(lua_State *L);
/* record.c: metatable; pushes the table of constructors. */
void lua_api_open_records(lua_State *L);
void lua_api_push_constructors(lua_State *L);
/* record.c: replaces the table on top by an empty one that reads it through index (upvalue 1: the table). */
void lua_api_push_frozen(lua_State *L, lua_CFunction index, lua_CFunction new_index);

/* A number with a unit. */
typedef struct lua_api_quantity {
    double value; /* SI */
    pw_unit unit;
} lua_api_quantity;
const lua_api_quantity *lua_api_to_quantity(lua_State *L, int index); /* NULL: it is none */

/* A record: what a constructor made. User value 1: its fields (a table) or nil; user value 2: its name or nil. */
typedef struct lua_api_record {
    const pw_kind *kind;
    int line;
    const char *file; /* in the script's memory */
} lua_api_record;
const lua_api_record *lua_api_to_record(lua_State *L, int index); /* NULL: it is none */

/* "a number", "a table", "a cluster": what stands at index, for messages. Returns text. */
const char *lua_api_what(lua_State *L, int index, char *text, size_t size);
/* Uniform draw in [0, 1) from the script's stream. */
double lua_api_uniform(lua_State *L);
/* The file's name as kept by the script, equal for equal names. */
const char *lua_api_keep_path(lua_State *L, const char *path);

#endif
