/* Descriptions written as Lua, the way a person would: the fields that differ from their defaults. */
#ifndef PW_REPORT_LUA_H
#define PW_REPORT_LUA_H

#include "sim/file.h"
#include "sim/registry.h"

/* A text as a Lua literal, quotes included. */
void pw_report_lua_text(pw_file *file, const char *text);
/* The fields inside the braces, one a line behind `indent`; records and lists in fields are left to the caller. */
void pw_report_lua_fields(pw_file *file, const pw_kind *kind, const void *description, pw_arena *arena, const char *indent);

#endif
