/* Quantities: numbers that carry their unit from `400 * u.Gbps` to the field that takes them. Arithmetic keeps units
 * straight; what makes no sense (bytes + seconds) is an error. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/host/lua_api.h"
#include "sim/text.h"

#define QUANTITY "podwright.quantity"

const lua_api_quantity *lua_api_to_quantity(lua_State *L, int index) { return luaL_testudata(L, index, QUANTITY); }

static void push(lua_State *L, double value, pw_unit unit) {
    if (unit == PW_UNIT_NONE) {
        lua_pushnumber(L, value);
        return;
    }
    lua_api_quantity *quantity = lua_newuserdatauv(L, sizeof *quantity, 0);
    *quantity = (lua_api_quantity){value, unit};
    luaL_setmetatable(L, QUANTITY);
}

/* A number or a quantity; anything else is an error. */
static lua_api_quantity operand(lua_State *L, int index) {
    const lua_api_quantity *quantity = lua_api_to_quantity(L, index);
    if (quantity) return *quantity;
    if (lua_type(L, index) == LUA_TNUMBER) return (lua_api_quantity){lua_tonumber(L, index), PW_UNIT_NONE};
    char what[64];
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "a quantity is a number times a unit: 400 * u.Gbps",
                  "a quantity cannot be combined with %s", lua_api_what(L, index, what, sizeof what));
}

static const char *dimension(pw_unit unit) { return unit == PW_UNIT_NONE ? "a plain number" : pw_unit_text(unit); }

static _Noreturn void no_meaning(lua_State *L, lua_api_quantity a, const char *operator, lua_api_quantity b) {
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "%s %s %s has no meaning here", dimension(a.unit), operator,
                  dimension(b.unit));
}

static int multiply(lua_State *L) {
    lua_api_quantity a = operand(L, 1), b = operand(L, 2);
    if (a.unit == PW_UNIT_NONE) push(L, a.value * b.value, b.unit);
    else if (b.unit == PW_UNIT_NONE) push(L, a.value * b.value, a.unit);
    else if ((a.unit == PW_UNIT_BYTES_PER_SECOND && b.unit == PW_UNIT_SECONDS) ||
             (b.unit == PW_UNIT_BYTES_PER_SECOND && a.unit == PW_UNIT_SECONDS))
        push(L, a.value * b.value, PW_UNIT_BYTES);
    else no_meaning(L, a, "*", b);
    return 1;
}

static int divide(lua_State *L) {
    lua_api_quantity a = operand(L, 1), b = operand(L, 2);
    if (a.unit == b.unit) push(L, a.value / b.value, PW_UNIT_NONE);
    else if (b.unit == PW_UNIT_NONE) push(L, a.value / b.value, a.unit);
    else if (a.unit == PW_UNIT_BYTES && b.unit == PW_UNIT_SECONDS) push(L, a.value / b.value, PW_UNIT_BYTES_PER_SECOND);
    else if (a.unit == PW_UNIT_BYTES && b.unit == PW_UNIT_BYTES_PER_SECOND) push(L, a.value / b.value, PW_UNIT_SECONDS);
    else no_meaning(L, a, "/", b);
    return 1;
}

static void operands_alike(lua_State *L, const char *operator, lua_api_quantity *a, lua_api_quantity *b) {
    *a = operand(L, 1), *b = operand(L, 2);
    if (a->unit != b->unit) no_meaning(L, *a, operator, *b);
}

static int add(lua_State *L) {
    lua_api_quantity a, b;
    operands_alike(L, "+", &a, &b);
    push(L, a.value + b.value, a.unit);
    return 1;
}

static int subtract(lua_State *L) {
    lua_api_quantity a, b;
    operands_alike(L, "-", &a, &b);
    push(L, a.value - b.value, a.unit);
    return 1;
}

static int negate(lua_State *L) {
    lua_api_quantity a = operand(L, 1);
    push(L, -a.value, a.unit);
    return 1;
}

static int is_equal(lua_State *L) {
    const lua_api_quantity *a = lua_api_to_quantity(L, 1), *b = lua_api_to_quantity(L, 2);
    lua_pushboolean(L, a && b && a->unit == b->unit && a->value == b->value);
    return 1;
}

static int is_less(lua_State *L) {
    lua_api_quantity a, b;
    operands_alike(L, "<", &a, &b);
    lua_pushboolean(L, a.value < b.value);
    return 1;
}

static int is_at_most(lua_State *L) {
    lua_api_quantity a, b;
    operands_alike(L, "<=", &a, &b);
    lua_pushboolean(L, a.value <= b.value);
    return 1;
}

static int to_text(lua_State *L) {
    char text[64];
    lua_api_quantity a = operand(L, 1);
    lua_pushstring(L, pw_unit_format(a.value, a.unit, text, sizeof text));
    return 1;
}

static int no_other(lua_State *L) {
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, "quantities know + - * / and comparisons",
                  "a quantity has no such operation");
}

void lua_api_open_quantities(lua_State *L) {
    static const luaL_Reg functions[] = {{"__mul", multiply}, {"__div", divide},   {"__add", add},       {"__sub", subtract},
                                         {"__unm", negate},   {"__eq", is_equal},  {"__lt", is_less},    {"__le", is_at_most},
                                         {"__tostring", to_text}, {"__index", no_other}, {"__newindex", no_other},
                                         {"__pow", no_other}, {"__mod", no_other}, {"__idiv", no_other}, {NULL, NULL}};
    luaL_newmetatable(L, QUANTITY);
    luaL_setfuncs(L, functions, 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

/* How many characters of name stand in unit too, their case included: tells Gbps from GBps. */
static int alike(const char *name, const char *unit) {
    int count = 0;
    for (; *name; name++) count += strchr(unit, *name) != NULL;
    return count;
}

static const char *nearest_unit(const char *name) {
    static const char *const spelled[][2] = {{"h", "hour"}, {"hr", "hour"}, {"d", "day"}, {"sec", "s"}, {"C", "degC"}};
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
        if (strcmp(name, spelled[i][0]) == 0) return spelled[i][1];
    const char *best = NULL;
    unsigned least = 0;
    for (const pw_unit_name *unit = pw_unit_names(); unit->name; unit++) {
        unsigned distance = pw_text_distance(name, unit->name);
        if (!pw_text_is_near(name, unit->name, distance)) continue;
        if (best && (distance > least || (distance == least && alike(name, unit->name) <= alike(name, best)))) continue;
        best = unit->name;
        least = distance;
    }
    return best;
}

static int find_unit(lua_State *L) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const char *name = luaL_tolstring(L, 2, NULL), *near = nearest_unit(name);
    char hint[96];
    if (near) snprintf(hint, sizeof hint, "did you mean 'u.%s'?", near);
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, near ? hint : "`podwright explain units` lists the units",
                  "there is no unit '%s'", name);
}

static int no_new_unit(lua_State *L) {
    lua_api_raise(L, PW_BAD_INPUT, NULL, 0, NULL, "the table of units cannot be changed");
}

void lua_api_push_units(lua_State *L) {
    lua_newtable(L);
    for (const pw_unit_name *unit = pw_unit_names(); unit->name; unit++) {
        push(L, unit->factor, unit->unit);
        lua_setfield(L, -2, unit->name);
    }
    lua_api_push_frozen(L, find_unit, no_new_unit);
}
