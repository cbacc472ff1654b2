/* A Lua state for scenarios: sandboxed, deterministic, limited.
 *
 * What a script can reach: base without load, dofile, loadfile, collectgarbage and warn; table, string, utf8; math with
 * exp, log and pow from sim/math and without trigonometry; and `require` of "podwright", "podwright.units" and .lua files
 * in the folder of the scenario or below. Globals are strict: reading or setting an undeclared one is an error. The one
 * thing left to the platform's libm is the operator ^ on numbers, which Lua does not let a host replace.
 *
 * What stops a script:
 *   memory        the state's allocator refuses to go over the limit
 *   instructions  a hook counts them; once the budget is spent every further instruction fails, so that pcall cannot
 *                 swallow it
 *   Ctrl-C        the same hook reads the interrupt flag
 *   wall clock    a watchdog thread sets a flag that the hook reads. A script that is inside a library function by then
 *                 (a crafted string.find, table.move over 10^15 elements) never comes back to the hook: after one more
 *                 second the watchdog prints the error and ends the process with exit code 1. Nothing is lost: results are
 *                 written only after the script has returned.
 */
#ifndef PW_HOST_SCRIPT_H
#define PW_HOST_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/registry.h"
#include "sim/status.h"

typedef struct pw_script_limits { /* 0: the default */
    size_t memory_bytes;          /* 512 MB */
    uint64_t instructions;        /* 500 million */
    double seconds;               /* 30; negative: no watchdog */
} pw_script_limits;

typedef struct pw_script pw_script;
typedef struct lua_State lua_State; /* as in lua.h, which users of this header need not have */

/* interrupt may be NULL. The caller destroys it. */
pw_status pw_script_create(const pw_allocator *allocator, const pw_script_limits *limits, uint64_t seed,
                           const volatile int *interrupt, pw_script **script, pw_error *error);
void pw_script_destroy(pw_script *script); /* NULL is fine */

/* Runs the file ("-": stdin) and leaves the one value it returns on top of the stack. Errors carry file, line and hint. */
pw_status pw_script_run(pw_script *script, const char *path, pw_error *error);

/* The kind that the file is to return; `require "podwright"` has constructors for all kinds it reaches. Unset: scenario. */
void pw_script_set_root(pw_script *script, const pw_kind *root);

lua_State *pw_script_lua(pw_script *script);
const char *pw_script_path(const pw_script *script); /* as given to run */
/* Text of a file that the script has loaded, for finding lines; NULL when it has loaded no such file. */
const char *pw_script_source(const pw_script *script, const char *path);
size_t pw_script_peak_bytes(const pw_script *script);

/* Calls function with `object` in protected mode; function may raise. */
pw_status pw_script_protect(pw_script *script, int (*function)(lua_State *), void *object, pw_error *error);
/* The same for a function that runs code of the script after pw_script_run: with the limits of the script, anew for each call. */
pw_status pw_script_call(pw_script *script, int (*function)(lua_State *), void *object, pw_error *error);

#endif
