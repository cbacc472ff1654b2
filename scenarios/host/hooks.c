#include "scenarios/host/hooks.h"

#include <math.h>
#include <string.h>

#include "scenarios/host/lua_api.h"

typedef struct alarm_call {
    const pw_hook_call *hooks;
    const pw_alarm_event *event;
} alarm_call;

/* sim.value("gpu 98", "temperature_C"): a number, or nil when nobody has reported it. */
static int value_of(lua_State *L) {
    const pw_alarms *alarms = lua_touserdata(L, lua_upvalueindex(1));
    const char *entity = luaL_checkstring(L, 1), *metric = luaL_checkstring(L, 2);
    for (int k = 0; pw_metric_columns[k]; k++) {
        if (strcmp(pw_metric_columns[k], metric) != 0) continue;
        double value = pw_alarms_value(alarms, entity, k);
        if (isnan(value)) lua_pushnil(L);
        else lua_pushnumber(L, value);
        return 1;
    }
    char hint[256];
    const char *near = pw_nearest(pw_metric_columns, metric);
    snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "the columns of --metrics-csv are metrics%s", near ? near : "");
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, hint, "there is no metric '%s'", metric);
}

static void set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void set_number(lua_State *L, const char *key, double value) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, key);
}

static int call_alarm(lua_State *L) {
    const alarm_call *call = lua_touserdata(L, 1);
    const pw_alarm_event *e = call->event;
    lua_rawgeti(L, LUA_REGISTRYINDEX, (lua_Integer)call->hooks->scenario->desc.on.function[PW_HOOK_ALARM]);
    lua_createtable(L, 0, 7);
    set_text(L, "alarm", e->alarm->name);
    set_text(L, "of", pw_metric_of_names[e->alarm->of]);
    set_text(L, "entity", e->entity);
    set_text(L, "state", e->raised ? "raised" : "cleared");
    lua_pushinteger(L, e->number);
    lua_setfield(L, -2, "number");
    set_number(L, "time", e->time_s);
    set_number(L, "value", e->value);
    lua_createtable(L, 0, 2);
    set_number(L, "time", e->time_s);
    lua_pushlightuserdata(L, (void *)(uintptr_t)call->hooks->alarms);
    lua_pushcclosure(L, value_of, 1);
    lua_setfield(L, -2, "value");
    lua_call(L, 2, 0);
    return 0;
}

pw_status pw_hook_alarm(void *object, const pw_alarm_event *event, pw_error *error) {
    const pw_hook_call *hooks = object;
    alarm_call call = {hooks, event};
    return pw_script_call(hooks->scenario->script, call_alarm, &call, error);
}
