/* Laws: a script reaches nothing but what it is given, cannot run or grow for ever, and gives the same answers in every run. */
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/host/script.h"
#include "sim/math.h"
#include "tests/harness/check.h"

static char folder[] = "/tmp/podwright-script-XXXXXX";
static pw_error error;
static char answer[4096];

static void write_text(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
}

/* Runs the text as a file; what it returns, as text, is in `answer`. */
static pw_status run_limited(const char *text, const pw_script_limits *limits, const volatile int *interrupt) {
    pw_script *script;
    char path[256];
    memset(&error, 0, sizeof error);
    answer[0] = '\0';
    write_text("main.lua", text);
    snprintf(path, sizeof path, "%s/main.lua", folder);
    pw_status status = pw_script_create(NULL, limits, 1, interrupt, &script, &error);
    if (status != PW_OK) return status;
    status = pw_script_run(script, path, &error);
    if (status == PW_OK && lua_isstring(pw_script_lua(script), -1))
        snprintf(answer, sizeof answer, "%s", lua_tostring(pw_script_lua(script), -1));
    pw_script_destroy(script);
    return status;
}
static pw_status run(const char *text) { return run_limited(text, NULL, NULL); }

PW_TEST(the_world_outside_cannot_be_reached) {
    static const char *const names[] = {"io", "os", "debug", "package", "load", "loadfile", "dofile", "collectgarbage",
                                        "coroutine", "warn", "loadstring", NULL};
    char text[128];
    for (int i = 0; names[i]; i++) {
        snprintf(text, sizeof text, "local ok = pcall(function() return %s end) return ok and 'open' or 'shut'", names[i]);
        PW_EXPECT_INT(run(text), PW_OK);
        PW_EXPECT_TEXT(answer, "shut");
    }
    PW_EXPECT_INT(run("return string.dump == nil and 'shut' or 'open'"), PW_OK);
    PW_EXPECT_TEXT(answer, "shut");
}
PW_TEST(no_bit_comes_from_the_libm_of_the_platform) {
    static const char *const names[] = {"acos", "asin", "atan", "atan2", "cos", "cosh", "sin", "sinh", "tan", "tanh", NULL};
    char text[128], wanted[128];
    for (int i = 0; names[i]; i++) {
        snprintf(text, sizeof text, "\nreturn math.%s(1)", names[i]);
        PW_EXPECT_INT(run(text), PW_BAD_INPUT);
        PW_EXPECT_INT(error.line, 2);
        snprintf(wanted, sizeof wanted, "no math.%s:", names[i]);
        PW_EXPECT_CONTAINS(error.what, wanted);
        PW_EXPECT_CONTAINS(error.hint, "math.sqrt, exp, log and pow");
    }
    static const struct {
        const char *call;
        double value;
    } cases[] = {{"exp(0.7)", 0}, {"log(0.7)", 0}, {"pow(2.1, 0.3)", 0}, {"log(1000, 10)", 3}, {"log10(1e15)", 15},
                 {"log(8, 2)", 3}, {"log(1e-3, 10)", -3}, {"log(3^20, 3)", 20}, {"log(0, 10)", -(double)INFINITY}};
    const double ours[] = {pw_exp(0.7), pw_log(0.7), pw_pow(2.1, 0.3)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "return string.format('%%a', math.%s)", cases[i].call);
        snprintf(wanted, sizeof wanted, "%a", i < 3 ? ours[i] : cases[i].value);
        PW_EXPECT_INT(run(text), PW_OK);
        PW_EXPECT_TEXT(answer, wanted);
    }
    PW_EXPECT_INT(run("local x = math.log(-1) return x ~= x and math.log(10, 1) .. ' ' .. math.pow(2, 10)"), PW_OK);
}
PW_TEST(require_does_not_leave_the_folder) {
    static const char *const names[] = {"../secret", "..secret", ".secret", "/etc/passwd", "a..b", "a/b", "", "secret.", NULL};
    char text[128], link[300];
    for (int i = 0; names[i]; i++) {
        snprintf(text, sizeof text, "return require '%s'", names[i]);
        PW_EXPECT_INT(run(text), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, "no name of a module");
    }
    snprintf(link, sizeof link, "%s/outside.lua", folder);
    if (symlink("/etc/hostname", link) == 0) {
        PW_EXPECT_INT(run("return require 'outside'"), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, "outside the folder");
    }
}
PW_TEST(require_loads_a_file_once) {
    write_text("part.lua", "local t = {} return t");
    PW_EXPECT_INT(run("local a, b = require 'part', require 'part' return a == b and 'same' or 'not'"), PW_OK);
    PW_EXPECT_TEXT(answer, "same");
    write_text("loop.lua", "return require 'loop'");
    PW_EXPECT_INT(run("return require 'loop'"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "requires itself");
    write_text("broken.lua", "\n\nlocal = 3");
    PW_EXPECT_INT(run("return require 'broken'"), PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 3);
    PW_EXPECT_CONTAINS(error.file, "broken.lua");
}
PW_TEST(globals_are_declared) {
    PW_EXPECT_INT(run("\nx = 1\nreturn x"), PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 2);
    PW_EXPECT_CONTAINS(error.hint, "local x");
    PW_EXPECT_INT(run("return sequnce"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "'sequnce'");
    PW_EXPECT_INT(run("return Gbps"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.hint, "podwright.units");
}
PW_TEST(an_endless_script_is_stopped_even_inside_pcall) {
    const pw_script_limits limits = {.instructions = 2000000};
    PW_EXPECT_INT(run_limited("\nwhile true do end", &limits, NULL), PW_LIMIT);
    PW_EXPECT_INT(error.line, 2);
    PW_EXPECT_INT(run_limited("while true do pcall(function() while true do end end) end", &limits, NULL), PW_LIMIT);
    PW_EXPECT_INT(run_limited("pcall(function() while true do end end) return 'swallowed'", &limits, NULL), PW_LIMIT);
    PW_EXPECT_INT(run_limited("local f f = function() local ok = pcall(f) return f() end f()", &limits, NULL), PW_LIMIT);
    PW_EXPECT_INT(run_limited("setmetatable({}, {__gc = function() while true do end end})", &limits, NULL), PW_BAD_INPUT);
    PW_EXPECT_INT(run_limited("return ('').rep('', 1 << 60)", &limits, NULL), PW_OK);
}
PW_TEST(a_slow_script_is_stopped_by_the_clock) {
    const pw_script_limits limits = {.seconds = 0.1, .instructions = UINT64_MAX / 2};
    PW_EXPECT_INT(run_limited("while true do end", &limits, NULL), PW_LIMIT);
    PW_EXPECT_CONTAINS(error.what, "seconds");
}
PW_TEST(a_greedy_script_is_stopped) {
    const pw_script_limits limits = {.memory_bytes = 4000000};
    PW_EXPECT_INT(run_limited("local t = {} for i = 1, 1e9 do t[i] = {i} end", &limits, NULL), PW_LIMIT);
    PW_EXPECT_CONTAINS(error.what, "4 MB");
    PW_EXPECT_INT(run_limited("return string.rep('x', 1 << 30)", &limits, NULL), PW_LIMIT);
    PW_EXPECT_INT(run_limited("local s = 'x' while true do s = s .. s end", &limits, NULL), PW_LIMIT);
}
PW_TEST(an_interrupt_stops_the_script) {
    const volatile int interrupt = 1;
    PW_EXPECT_INT(run_limited("while true do end", NULL, &interrupt), PW_INTERRUPTED);
}
PW_TEST(errors_have_file_line_and_words) {
    PW_EXPECT_INT(run("\n\nerror('my words')"), PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 3);
    PW_EXPECT_TEXT(error.what, "my words");
    PW_EXPECT_INT(run("local x\nreturn x.y"), PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 2);
    PW_EXPECT_INT(run("error({})"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "no text");
    PW_EXPECT_INT(run("error(nil)"), PW_BAD_INPUT);
    PW_EXPECT_INT(run("error(setmetatable({}, {__tostring = function() error('x') end}))"), PW_BAD_INPUT);
    PW_EXPECT_INT(run("local function f(x) return 1 + f(x) end return f(1)"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "stack overflow");
    PW_EXPECT_INT(run("local x = = 3"), PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 1);
    PW_EXPECT_INT(run(""), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "returns nothing");
    PW_EXPECT_INT(run("return 1, 2"), PW_BAD_INPUT);
    PW_EXPECT_INT(run("return '\xff'"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "UTF-8");
    PW_EXPECT_INT(run("\x1bLua"), PW_BAD_INPUT);
}
PW_TEST(the_same_script_gives_the_same_answer) {
    static const char text[] =
        "local t, out = {}, {}\n"
        "for i = 1, 50 do t['key' .. i * 7919 % 101] = i end\n"
        "t[3], t[1], t[true], t[2.5] = 0, 0, 0, 0\n"
        "for k, v in pairs(t) do out[#out + 1] = tostring(k) .. '=' .. v end\n"
        "local words = { 'bb', 'a', 'cc', 'd', 'ee' }\n"
        "table.sort(words, function(a, b) return #a < #b end)\n"
        "out[#out + 1] = table.concat(words, ' ')\n"
        "out[#out + 1] = math.random() .. ' ' .. math.random(1000) .. ' ' .. math.exp(1)\n"
        "out[#out + 1] = tostring({}) .. tostring(print) .. string.format('%s', {}) .. next({ z = 1, b = 2, y = 3 })\n"
        "return table.concat(out, ',')";
    char first[4096];
    PW_EXPECT_INT(run(text), PW_OK);
    snprintf(first, sizeof first, "%s", answer);
    PW_EXPECT_CONTAINS(first, "1=0,2.5=0,3=0,key");
    PW_EXPECT_CONTAINS(first, "a d bb cc ee");
    PW_EXPECT_CONTAINS(first, "tablefunctiontableb");
    for (int i = 0; i < 5; i++) {
        PW_EXPECT_INT(run(text), PW_OK);
        PW_EXPECT_TEXT(answer, first);
    }
}
PW_TEST(sorting_sorts) {
    PW_EXPECT_INT(run("local t, seed = {}, 7\n"
                      "for n = 0, 40 do\n"
                      "  for i = 1, n do seed = seed * 16807 % 2147483647; t[i] = seed % 10 end\n"
                      "  table.sort(t)\n"
                      "  for i = 2, n do if t[i] < t[i - 1] then return 'unsorted at ' .. n end end\n"
                      "end\nreturn 'sorted'"),
                  PW_OK);
    PW_EXPECT_TEXT(answer, "sorted");
}
PW_TEST(quantities_keep_their_units) {
    static const char head[] = "local u = require 'podwright.units' ";
    static const struct {
        const char *text, *expected; /* NULL: an error */
    } cases[] = {{"return tostring(400 * u.Gbps)", "50 GB/s"},
                 {"return tostring(u.GB / u.s)", "1 GB/s"},
                 {"return tostring(u.GB / (u.GB / u.s))", "1 s"},
                 {"return tostring((u.GB / u.s) * (2 * u.s))", "2 GB"},
                 {"return u.GB / u.MB", "1000.0"},
                 {"return tostring(-(2 * u.s) + 3 * u.s - u.s / 2)", "500 ms"},
                 {"return u.ms < u.s and u.s == 1000 * u.ms and 'yes'", "yes"},
                 {"return u.GB + u.s", NULL},
                 {"return u.GB + 1", NULL},
                 {"return u.GB * u.GB", NULL},
                 {"return 1 / u.s", NULL},
                 {"return u.s < 1", NULL},
                 {"return u.s ^ 2", NULL},
                 {"return u.Gbs", NULL},
                 {"u.Gbps = 1", NULL},
                 {"return 'x' * u.s", NULL},
                 {"return u.s.value", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s", head, cases[i].text);
        pw_status status = run(text);
        if (cases[i].expected) PW_EXPECT_TEXT(answer, cases[i].expected);
        else if (status != PW_BAD_INPUT) PW_FAILED("no error: %s", cases[i].text);
        else PW_EXPECT_INT(error.line, 1);
    }
}
PW_TEST(every_allocation_may_fail) {
    for (unsigned long long limit = 20000; limit < 200000; limit += 1777) {
        const pw_script_limits limits = {.memory_bytes = limit};
        pw_status status = run_limited("local o, u = require 'podwright', require 'podwright.units'\n"
                                       "local t = {} for i = 1, 300 do t[i] = { i .. 'x' } end\n"
                                       "return tostring(o.node { gpus = 3 * #t })", &limits, NULL);
        if (status != PW_OK && status != PW_LIMIT && status != PW_NO_MEMORY)
            PW_FAILED("limit %llu: %s", limit, error.what);
    }
}

int main(int argc, char **argv) {
    if (!mkdtemp(folder)) return 1;
    int code = pw_run_tests(argc, argv);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || code;
}
